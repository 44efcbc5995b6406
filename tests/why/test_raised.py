"""Why something raised: torch raises the errors here, and what is said of them is checked against
the program.

In the programs ``# wrote``, ``# saved``, ``# cut``, ``# first`` and ``# stop`` mark the lines that
the answer has to name.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import inspect
import re
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import helper_library as helpers
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.findings import Sure, Symptom
from gradviz.graph.records import Graph
from gradviz.watch.capture import capture
from gradviz.why.answering.answer import explain_error
from gradviz.why.evidence import messages
from gradviz.why.evidence.messages import _TEXTS, cause_of, read_error
from gradviz.why.rules.errors import failure as raised
from gradviz.why.shown.explanation import LINES, WIDTH, Explanation

Program = Callable[[], None]
PROGRAMS: list[tuple[Program, str, str]] = []  # with the cause, and what the answer has to say


def raises(cause: str, says: str = "") -> Callable[[Program], Program]:
    def add(program: Program) -> Program:
        PROGRAMS.append((program, cause, says))
        return program

    return add


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def recorded(program: Program) -> tuple[Exception, Graph]:
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rec = gv.record()
        with pytest.raises((RuntimeError, ValueError)) as caught, rec:
            program()
    return caught.value, rec.graph


def marked(program: Program, word: str) -> set[int]:
    """Numbers of the program's lines that are marked with a word."""
    lines, start = inspect.getsourcelines(program)
    return {start + i for i, line in enumerate(lines) if re.search(rf"# .*\b{word}\b", line)}


# --- nothing to start from ------------------------------------------------------------------------


@raises("no_grad_fn", "a requires grad")
def detached() -> None:
    a = leaf()
    b = a.detach()  # cut
    loss = (b * 2).sum()
    loss.backward()  # stop


@raises("no_grad_fn", "Before that, ")
def model_under_no_grad() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    with torch.no_grad():
        out = net(torch.ones(2, 3))  # cut
    loss = (out - 1).pow(2).mean()
    loss.backward()


@raises("no_grad_fn", "logits")
def only_the_cut_nearest_to_the_loss_is_to_blame() -> None:
    body, head = nn.Linear(3, 3), nn.Linear(3, 4)
    with torch.no_grad():
        features = body(torch.ones(2, 3))
    logits = head(features)
    loss = (logits.argmax(1) - 1).float().mean()  # cut
    loss.backward()


@raises("no_grad_fn", "Possible, not proven")
def through_numpy_and_back() -> None:
    a = leaf()
    array = (a * 2).detach().numpy()  # cut
    loss = torch.tensor(float(array.sum()))
    loss.backward()  # stop


@raises("no_grad_fn", "Possible, not proven")
def through_from_numpy() -> None:
    a = leaf()
    pooled = helpers.pool_with_numpy(torch.ones(2, 3) * a)
    loss = pooled.sum()
    loss.backward()  # stop


@raises("no_grad_fn", "Likely, not proven")
def losses_added_as_numbers() -> None:
    a, total = leaf(), 0.0
    for _ in range(2):
        total += (a * 2).sum().item()  # cut
    loss = torch.tensor(total)
    loss.backward()  # stop


@raises("no_grad_fn", "torch.tensor")
def made_anew_from_the_value() -> None:
    a = leaf()
    total = (a * 2).sum()
    loss = torch.tensor(total.item())  # stop
    loss.backward()


@raises("no_grad_fn", "frozen there: net.weight and net.bias")
def all_frozen() -> None:
    net = nn.Linear(3, 1)
    for p in net.parameters():
        p.requires_grad_(False)  # cut
    loss = net(torch.ones(1, 3)).sum()
    loss.backward()


@raises("no_grad_fn", "nothing that loss was computed from requires grad: x and y. Fix")
def nothing_tracked() -> None:
    x, y = torch.ones(3), torch.zeros(3)
    loss = (x - y).pow(2).sum()  # stop
    loss.backward()


@raises("no_grad_fn", "use_reentrant=False")
def reentrant_checkpoint() -> None:
    layer = nn.Linear(3, 3)
    x = torch.ones(1, 3)
    h = checkpoint(layer, x, use_reentrant=True)  # cut
    h.sum().backward()


@raises("no_grad_fn", "element two has no grad_fn")
def the_second_of_two_losses() -> None:
    a = leaf()
    one, element_two = a.sum(), a.detach().sum()  # cut
    torch.autograd.backward([one, element_two])


@raises("no_grad_fn", "features")
def cut_in_a_library() -> None:
    features = nn.Linear(3, 2)(torch.ones(1, 3))
    loss = helpers.detached_mean(features).sum()
    loss.backward()


# --- modified by an in-place operation ------------------------------------------------------------


@raises("modified_in_place", "saved b for its gradient at version 0; it is at version 1 now")
def result_written() -> None:
    a = leaf()
    b = a.exp()  # saved
    b += 1  # wrote
    b.sum().backward()


@raises(
    "modified_in_place", "opt.step() changed net.2.weight between the forward and this backward"
)
def step_between_two_backwards() -> None:
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    loss = net(torch.ones(5, 2)).sum()  # saved
    loss.backward(retain_graph=True)
    opt.step()  # wrote
    loss.backward()


@raises("modified_in_place", "wrote h in place")
def buffer_filled_in_a_loop() -> None:
    w, h = leaf(), torch.zeros(3, 3)
    for i in range(3):
        h[i] = (h * w).sum(0)  # saved, wrote
    h.sum().backward()


@raises("modified_in_place", "inplace=False")
def in_place_activation() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid(), nn.ReLU(inplace=True))
    loss = net(torch.ones(1, 3)).sum()  # saved, wrote
    loss.backward()


@raises("modified_in_place", "saved w for its gradient at version 0; it is at version 1 now")
def written_through_a_view() -> None:
    a, w = leaf(), torch.ones(3)
    loss = (a * w).sum()  # saved
    w.view(-1)[0] = 5.0  # wrote
    loss.backward()


@raises("modified_in_place", "1 more place")
def written_twice() -> None:
    a, w = leaf(), torch.ones(3)
    loss = (a * w).sum()  # saved
    w.add_(1)  # wrote
    w.mul_(3)
    loss.backward()


@raises("modified_in_place", "saved a for its gradient")
def saved_by_a_custom_function() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    a = leaf() * 1
    y = Square.apply(a)  # saved
    a.zero_()  # wrote
    y.sum().backward()


# --- second backward ------------------------------------------------------------------------------


@raises("second_backward", "leave one of the two out")
def the_same_loss_twice() -> None:
    a = leaf()
    loss = (a * a).sum()
    loss.backward()  # first
    loss.backward()  # stop


@raises("second_backward", "h = h.detach() after each backward")
def hidden_state_carried_over() -> None:
    cell, h = nn.RNNCell(2, 3), torch.zeros(1, 3)
    for _ in range(3):
        h = cell(torch.ones(1, 2), h)
        loss = h.pow(2).sum()
        loss.backward()  # first


@raises("second_backward", "h, c = h.detach(), c.detach() after each backward")
def both_states_of_an_lstm() -> None:
    cell, h, c = nn.LSTMCell(2, 3), torch.zeros(1, 3), torch.zeros(1, 3)
    for _ in range(2):
        h, c = cell(torch.ones(1, 2), (h, c))
        (h * h).sum().backward()  # first


@raises("second_backward", "Both losses go through h")
def two_losses_of_one_encoder() -> None:
    enc = nn.Linear(3, 3)
    h = torch.tanh(enc(torch.ones(1, 3)))
    one = (h * h).sum()
    two = h.exp().sum()
    one.backward()  # first
    two.backward()  # stop


@raises("second_backward", "compute it anew in each iteration")
def computed_once_before_the_loop() -> None:
    a = leaf()
    scaled = a.exp()
    for i in range(2):
        loss = (scaled * i).sum()
        loss.backward()  # first


class Remembers(nn.Module):
    """Keeps its state on itself."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.head, self.h = nn.GRU(3, 5), nn.Linear(5, 1), torch.zeros(1, 1, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # HERE
        out, self.h = self.rnn(x, self.h)
        return self.head(out)


# What a loop carries over, and what the mend has to say; the mend is put in the place of HERE and
# run.
CARRIED = {
    "state = state.detach() after each backward": (
        """
rnn, head, state = nn.GRU(3, 5, batch_first=True), nn.Linear(5, 1), None
for chunk in torch.randn(3, 1, 4, 3):
    out, state = rnn(chunk, state)
    head(out).pow(2).mean().backward()
    # HERE
"""
    ),
    "state = tuple(s.detach() for s in state) after each backward": (
        """
rnn, head, state = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1), None
for chunk in torch.randn(3, 1, 4, 3):
    out, state = rnn(chunk, state)
    head(out).pow(2).mean().backward()
    # HERE
"""
    ),
    "keep h.detach() and c.detach() for the next iteration": (
        """
rnn, head, hc = nn.LSTM(3, 5), nn.Linear(5, 1), None
for chunk in torch.randn(3, 4, 1, 3):
    out, (h, c) = rnn(chunk, hc)
    hc = h, c
    head(out).sum().backward()
"""
    ),
    "self.h = self.h.detach() right above": inspect.getsource(Remembers)
    + """
model = Remembers()
for x in torch.ones(3, 4, 1, 3):
    model(x).sum().backward()
""",
    "hs[i] = hs[i].detach() after each backward": (
        """
cells, hs = [nn.RNNCell(3, 3), nn.RNNCell(3, 3)], [torch.zeros(1, 3), torch.zeros(1, 3)]
for x in torch.ones(3, 1, 3):
    for i, cell in enumerate(cells):
        hs[i] = cell(x, hs[i])
        x = hs[i]
    x.sum().backward()
    for i in range(2):
        pass
        # HERE
"""
    ),
    "h = h.detach() after each backward": (
        """
cell, head, hidden = nn.GRUCell(3, 5), nn.Linear(5, 1), torch.zeros(1, 5)
def step(x, h):
    h = cell(x, h)
    head(h).pow(2).mean().backward()
    # HERE
    return h
for x in torch.ones(3, 1, 3):
    hidden = step(x, hidden)
"""
    ),
    "total = total.detach() after each backward": (
        """
w, total = torch.ones(3, requires_grad=True), torch.zeros(())
for _ in range(3):
    total = total + w.pow(2).sum()
    total.backward()
    # HERE
"""
    ),
    "v = nv.detach(): the next iteration": (
        """
net = nn.Linear(3, 1)
v = net(torch.ones(1, 3))
for _ in range(3):
    nv = net(torch.ones(1, 3))
    (v - nv).pow(2).sum().backward()
    v = nv
"""
    ),
    "keep z.detach() for the next iteration": (
        """
net, bank = nn.Linear(3, 3), {}
for i, x in enumerate(torch.ones(3, 2, 3)):
    z = net(x).tanh()
    bank.update({i: z})
    torch.stack([*bank.values()]).pow(2).mean().backward()
"""
    ),
}


def executed(text: str, path: Path) -> None:
    path.write_text(text)
    exec(compile(text, str(path), "exec"), {"torch": torch, "nn": nn, "__name__": "__main__"})


@pytest.mark.parametrize("mend", CARRIED)
def test_what_a_loop_carries_over_is_to_be_detached(mend: str, tmp_path: Path) -> None:
    rec = gv.record()
    with pytest.raises(RuntimeError, match="second time"), rec:
        executed(CARRIED[mend], tmp_path / "program.py")
    told = rec.explain()
    well_formed(told)
    assert told.cause == "second_backward"
    assert "carr" in told.verdict
    assert mend in told.mend
    assert "retain_graph" not in str(told)
    if "HERE" in CARRIED[mend]:
        line = mend.partition(" after ")[0].partition(" right above")[0]
        executed(CARRIED[mend].replace("# HERE", line), tmp_path / "mended.py")


def told_of(text: str, path: Path, match: str = "second time") -> Explanation:
    """Return the answer about the error of a program, whose frames live as in a notebook."""
    rec = gv.record()
    with pytest.raises((RuntimeError, ValueError), match=match) as caught, rec:
        executed(text, path)
    answer = rec.explain()
    assert caught.tb is not None
    return answer


THROUGH_A_MODULE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.RNN(3, 5), nn.Linear(5, 1)
    def forward(self, x, h):
        out, h = self.rnn(x, h)
        return self.head(out), h
net, state = Net(), None
for x in torch.randn(3, 4, 1, 3):
    y, state = net(x, state)
    y.sum().backward()
"""


def test_the_line_to_change_is_the_one_of_the_loop(tmp_path: Path) -> None:
    """Not the one inside of the module, where detach() would cut what the loss needs."""
    told = told_of(THROUGH_A_MODULE, tmp_path / "program.py")
    assert "program.py line 11, y, state = net(x, state)" in told.where
    assert told.mend.startswith("state = state.detach() after each backward")


def test_a_dropped_detach_is_blamed_only_for_what_is_carried(tmp_path: Path) -> None:
    carried = THROUGH_A_MODULE.rstrip() + "\n    state.detach()\n"
    told = told_of(carried, tmp_path / "program.py")
    assert (told.form, told.lines[0]) == ("dropped", 13)
    assert "state.detach_() there" in told.mend
    other = told_of(carried.replace("state.detach()", "y.detach()"), tmp_path / "other.py")
    assert other.form == "carried"
    taken = told_of(carried.replace("state.detach()", "kept = [state.detach()]"), tmp_path / "b.py")
    assert taken.form == "carried"


def test_a_dropped_detach_that_harms_nothing_is_not_told(tmp_path: Path) -> None:
    text = "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.detach()\nh.sum().backward()\n"
    with gv.record() as rec:
        executed(text, tmp_path / "program.py")
    told = rec.explain()
    assert (told.cause, told.form) == ("result_unused", "thrown_away"), str(told)


def test_a_result_that_a_function_returns_in_vain_is_dropped(tmp_path: Path) -> None:
    helper = "def cut(h):\n    return h.detach()\n"
    called = helper + THROUGH_A_MODULE.rstrip() + "\n    cut(state)\n"
    told = told_of(called, tmp_path / "program.py")
    assert told.form == "dropped"
    kept = called.replace("    cut(state)", "    state = cut(state)")
    executed(kept, tmp_path / "kept.py")


MADE_IN_A_CONSTRUCTOR = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.log = nn.Parameter(torch.zeros(1))
        self.scale = self.log.exp()
    def forward(self, x):
        return (x * self.scale).sum()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(3, 2):
    opt.zero_grad()
    net(x).backward()
    opt.step()
"""


def test_what_a_constructor_computed_is_told_at_its_line(tmp_path: Path) -> None:
    told = told_of(MADE_IN_A_CONSTRUCTOR, tmp_path / "program.py")
    assert told.form == "once_learning_above"
    assert told.where == "program.py line 6, self.scale = self.log.exp()"


def test_what_a_model_computed_before_the_loop_is_told_where_it_was_called(tmp_path: Path) -> None:
    text = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        return self.fc(x).tanh()
teacher, student = Net(), nn.Linear(2, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.ones(4, 2)
target = teacher(x)
for _ in range(3):
    opt.zero_grad()
    (student(x) - target).pow(2).sum().backward()
    opt.step()
"""
    told = told_of(text, tmp_path / "program.py")
    assert told.form == "once"
    assert told.where.startswith("program.py line 11, target = teacher(x)")


def test_two_losses_of_one_iteration_are_not_computed_once(tmp_path: Path) -> None:
    text = """
net = nn.Linear(2, 2)
for x in torch.ones(3, 1, 2):
    h = net(x).exp()
    h.sum().backward()
    h.pow(2).sum().backward()
"""
    assert told_of(text, tmp_path / "program.py").form == "shared"


def test_a_helper_that_is_called_twice_is_no_loop(tmp_path: Path) -> None:
    text = """
net = nn.Linear(2, 2)
def back(loss):
    loss.backward()
h = net(torch.ones(1, 2)).exp()
back(h.sum())
back(h.pow(2).sum())
"""
    assert told_of(text, tmp_path / "program.py").form == "shared"


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("np.log(loss)", "raised"),
        ("[np.log(v) for v in kept]", "kept_in"),
        ("copy.deepcopy(net)", "kept_on"),
        ("copy.deepcopy(loss)", "raised"),
        ("copy.deepcopy(kept)", "raised"),
    ],
)
def test_a_keeper_is_told_only_where_it_was_given(line: str, form: str, tmp_path: Path) -> None:
    text = f"""
import copy
import numpy as np
class Net(nn.Linear):
    def forward(self, x):
        loss = super().forward(x).sum()
        self.last = loss
        return loss
net, kept = Net(2, 1), []
for _ in range(2):
    loss = net(torch.ones(1, 2))
    kept.append(loss)
{line}
"""
    told = told_of(text, tmp_path / "program.py", "numpy|deepcopy")
    assert told.form.removesuffix("_made") == form
    where = {"kept_in": "line 12, kept.append(loss)", "kept_on": "line 7, self.last = loss"}
    assert where.get(form, "line 13") in told.where


def test_of_two_odd_dtypes_none_is_blamed(tmp_path: Path) -> None:
    text = """
x = torch.ones(2, 2, dtype=torch.float64)
y = torch.ones(2, 2, dtype=torch.float16)
x @ y
"""
    assert told_of(text, tmp_path / "program.py", "same dtype").form == "raised"


def test_two_losses_of_a_stack_of_blocks_carry_nothing_over() -> None:
    """The same lines run for each block, and yet h is no iteration's state: to detach it would cut
    the block off."""

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.lin(x))

    first, second, head = Block(), Block(), nn.Linear(3, 1)
    rec = gv.record()

    def train() -> None:
        h = torch.ones(1, 3)
        for block in (first, second):
            h = block(h)
            head(h).sum().backward()

    with pytest.raises(RuntimeError), rec:
        train()
    told = rec.explain()
    assert "carr" not in str(told)
    assert "one backward of the sum" in told.mend


# --- the others -----------------------------------------------------------------------------------


@raises("leaf_in_place", "net.weight")
def parameter_filled_by_hand() -> None:
    net = nn.Linear(3, 1)
    net(torch.ones(1, 3))
    net.weight.fill_(0.0)  # stop


@raises("view_of_leaf_in_place", "a view of w")
def row_of_a_leaf() -> None:
    w = leaf()
    w[1:].mul_(2)  # stop


@raises("not_scalar", "loss has shape [2, 1]")
def loss_without_reduction() -> None:
    net = nn.Linear(3, 1)
    loss = nn.functional.mse_loss(net(torch.ones(2, 3)), torch.zeros(2, 1), reduction="none")
    loss.backward()  # stop


@raises("unused_input", "of which probe is a copy")
def gradient_for_a_copy() -> None:
    x = leaf()
    y = (x * 2).sum()
    probe = x.clone()
    torch.autograd.grad(y, probe)  # stop


@raises("unused_input", "was cut there: detach")
def gradient_through_a_cut() -> None:
    x, w = leaf(), leaf()
    y = (x.detach() * w).sum()  # cut
    torch.autograd.grad(y, [w, x])


@raises("unused_input", "y was not computed from b.")
def gradient_for_something_else() -> None:
    a, b = leaf(), leaf(7.0)
    y = (a * 2).sum()
    torch.autograd.grad(y, [a, b])  # stop


@raises("never_tracked", "x, which does not require grad")
def gradient_for_an_input() -> None:
    w, x = leaf(), torch.ones(3)
    torch.autograd.grad((w * x).sum(), [w, x])  # stop


@raises("inference_tensor", "f was made in inference_mode")
def inference_features() -> None:
    body, head = nn.Linear(3, 3), nn.Linear(3, 1)
    with torch.inference_mode():
        f = body(torch.ones(1, 3))  # cut
    head(f)  # stop


@raises("inference_tensor", "x was made in inference_mode")
def inference_tensor_written() -> None:
    with torch.inference_mode():
        x = torch.ones(3)  # cut
    x.add_(1)  # stop


@raises("numpy_on_tracked", "h requires grad")
def numpy_in_a_helper() -> None:
    h = leaf() * 2
    helpers.to_numpy(h)


@raises("numpy_on_tracked", "w requires grad")
def array_of_a_leaf() -> None:
    w = leaf()
    np.asarray(w)  # stop


@raises("deepcopy_non_leaf", "h is a result")
def deep_copy() -> None:
    h = leaf() * 2
    copy.deepcopy({"best": h})  # stop


@raises("requires_grad_non_float", "ids is int64")
def ids_that_require_grad() -> None:
    ids = torch.arange(3)
    ids.requires_grad = True  # stop


@raises("requires_grad_non_leaf", "h is a result")
def frozen_too_late() -> None:
    h = leaf() * 2
    h.requires_grad_(False)  # stop


@raises("detach_view_in_place", "row is a view of h")
def row_detached_in_place() -> None:
    h = torch.ones(2, 3, requires_grad=True) * 2
    row = h[0]
    row.detach_()  # stop


@raises("view_in_place", "first of h")
def one_of_several_views() -> None:
    h = torch.ones(2, 3, requires_grad=True) * 2
    first, second = h.unbind()
    first.add_(1)  # stop
    second.sum()


@raises("non_leaf_in_optimizer", "Likely, not proven: w.")
def scaled_parameter() -> None:
    w = torch.randn(3, requires_grad=True) * 0.01  # stop
    torch.optim.SGD([w], lr=0.1)


IDS = [f"{p.__name__}-{i}" for i, (p, _, _) in enumerate(PROGRAMS)]


@pytest.mark.parametrize(("program", "cause", "says"), PROGRAMS, ids=IDS)
def test_what_torch_raises_is_explained(program: Program, cause: str, says: str) -> None:
    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    text = " ".join(str(told).split()).replace("element_two", "element two")
    assert told.cause == cause
    assert says in text
    wanted = set().union(
        *(marked(program, word) for word in ("wrote", "saved", "cut", "first", "stop"))
    )
    assert wanted <= set(told.lines), (wanted, told.lines)
    assert told.graph is graph
    well_formed(told)


CAUSES = {program: cause for program, cause, _ in PROGRAMS}


@pytest.mark.parametrize("program", CAUSES, ids=lambda p: p.__name__)
def test_a_reader_gets_the_same_answer(program: Program) -> None:
    cause = CAUSES[program]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rec = gv.record()
        with pytest.raises((RuntimeError, ValueError)) as caught, rec:
            program()
    assert rec.explain(error=caught.value).cause == cause
    assert gv.explain(error=caught.value, names={}).cause == cause
    alone = (
        rec.explain()
    )  # an optimizer is made, and refuses what it is given, outside of all recorded calls
    assert (alone.cause == cause) is (cause != "non_leaf_in_optimizer")


def well_formed(told: Explanation) -> None:
    lines = str(told).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    bundle = told._repr_mimebundle_()
    assert bundle["text/plain"] == str(told)
    if told.graph is not None:
        assert all(i in told.graph.tensor for i in told.tensor_ids)
        assert all(i in told.graph.node for i in told.node_ids)
        assert set(told.cuts) <= set(told.graph.cuts)


@pytest.mark.parametrize(
    "program", list(dict.fromkeys(p for p, _, _ in PROGRAMS)), ids=lambda p: p.__name__
)
def test_without_a_recording_only_the_message_speaks(program: Program) -> None:
    error, graph = recorded(program)
    alone = explain_error(*read_error(error))
    assert alone.cause == explain_error(*read_error(error), graph).cause
    assert (alone.lines, alone.cuts, alone.node_ids) == ((), (), ())
    assert "was not recorded" in str(alone)
    well_formed(alone)


def test_the_cut_is_the_recorded_one() -> None:
    error, graph = recorded(detached)
    told = explain_error(*read_error(error), graph)
    assert told.cuts == tuple(graph.cuts)
    assert told.cuts[0].reason.value == "detach"


def test_frozen_parameters_are_counted() -> None:
    error, graph = recorded(all_frozen)
    told = explain_error(*read_error(error), graph, None, {"weight": False, "bias": False})
    assert "all 2 parameters are frozen" in told.verdict


def test_one_frozen_parameter_is_the_only_one() -> None:
    error, graph = recorded(all_frozen)
    told = explain_error(*read_error(error), graph, None, {"weight": False})
    assert told.verdict.endswith("has no grad_fn, and the only parameter is frozen.")


def names_that_are_words_too() -> list[Program]:
    def written() -> None:
        input = leaf().exp()
        input += 1
        input.sum().backward()

    def read() -> None:
        one = leaf()
        one.numpy()

    def switched() -> None:
        the = leaf() * 2
        the.requires_grad_(False)

    def not_used() -> None:
        x, backward = leaf(), leaf()
        torch.autograd.grad(x.sum(), [x, backward])

    def by_module() -> None:
        only = nn.Sequential(nn.Sigmoid(), nn.ReLU(inplace=True))
        only(leaf() * 1).sum().backward()

    return [written, read, switched, not_used, by_module]


@pytest.mark.parametrize("program", names_that_are_words_too(), ids=lambda p: p.__name__)
def test_a_name_at_the_beginning_stays_as_it_is_written(program: Program) -> None:
    error, graph = recorded(program)
    verdict = explain_error(*read_error(error), graph).verdict
    assert re.match(r"(input \+= 1|one|the|backward|only\.1 \(relu\)) ", verdict), verdict


def test_a_phrase_at_the_beginning_is_written_upper_case() -> None:
    error, _ = recorded(array_of_a_leaf)
    assert explain_error(*read_error(error)).verdict.startswith("The tensor requires grad")
    error, _ = recorded(parameter_filled_by_hand)
    assert explain_error(*read_error(error)).verdict.startswith("The call writes the tensor in")


def test_an_input_behind_a_sample_is_to_be_sampled_otherwise() -> None:
    def program() -> None:
        mu, w = leaf(), leaf()
        drawn = torch.distributions.Normal(mu, 1.0).sample()
        torch.autograd.grad((drawn * w).sum(), [w, mu])

    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    assert (told.cause, told.cuts[0].reason) == ("unused_input", "no_grad")
    assert told.mend.startswith("rsample()")


SURE = {
    detached: Sure.PROVEN,
    losses_added_as_numbers: Sure.LIKELY,
    through_from_numpy: Sure.POSSIBLE,
    scaled_parameter: Sure.LIKELY,
}


@pytest.mark.parametrize("program", SURE, ids=lambda p: p.__name__)
def test_how_sure_an_answer_is_stands_in_its_finding_too(program: Program) -> None:
    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    assert told.finding is not None
    assert (told.finding.symptom, told.finding.sure) == (Symptom.RAISED, SURE[program])
    word = {Sure.LIKELY: "Likely, not proven", Sure.POSSIBLE: "Possible, not proven"}
    assert word.get(SURE[program], told.why) in told.why
    assert ("not proven" in told.why) is (SURE[program] is not Sure.PROVEN)


def test_a_captured_graph_names_what_it_can() -> None:
    a, w = leaf(), torch.ones(3)
    loss = (a * w).sum()
    w.add_(1)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    told = explain_error(*read_error(caught.value), capture(loss, names={"a": a, "w": w}))
    assert (told.cause, told.lines) == ("modified_in_place", ())
    assert "MulBackward0 saved w for its gradient at version 0" in told.why
    twice = (a * a).sum()
    twice.backward()
    with pytest.raises(RuntimeError) as caught:
        twice.backward()
    told = explain_error(*read_error(caught.value), capture(twice))
    assert (told.cause, told.why) == (
        "second_backward",
        "MulBackward0 has no saved tensors any more.",
    )


def test_a_backward_after_the_recording_is_looked_up_by_its_root() -> None:
    rec = gv.record()
    with rec:
        a, w, other = leaf(), torch.ones(3), torch.ones(3)
        loss = (a * w).sum()
        unrelated = (a * other).sum()
        w.add_(1)
        other.add_(1)
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    at = rec.find(loss)
    assert at is not None
    told = explain_error(*read_error(caught.value), rec.graph, root_id=at.id)
    assert "w.add_(1) wrote w in place" in told.verdict
    # which of the two it was is not known
    unsure = explain_error(*read_error(caught.value), rec.graph)
    assert "something wrote a tensor of shape [3]" in unsure.verdict.lower()
    assert unsure.lines == ()
    assert unrelated.requires_grad


# --- messages -------------------------------------------------------------------------------------

INPLACE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation"
)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        (
            (
                f"{INPLACE}: [torch.FloatTensor [3]], which is output 0 of AddBackward0, is at"
                " version 1; expected version 0 instead. Hint: the backtrace further above shows"
                " the operation"
            ),
            "modified_in_place",
        ),
        (
            (
                f"{INPLACE}: [torch.cuda.HalfTensor [2, 3]], which is output 0 of struct"
                " torch::autograd::CopySlices, is at version 2; expected version 1 instead."
            ),
            "modified_in_place",
        ),
        (INPLACE, "modified_in_place"),
        (
            (
                "One of the differentiated Tensors appears to not have been used in the graph. Set"
                " allow_unused=True if this is the desired behavior."
            ),
            "unused_input",
        ),
        (
            (
                "Trying to backward through the graph a second time, but the buffers have already"
                " been freed. Specify retain_graph=True when calling backward the first time."
            ),
            "second_backward",
        ),
        (
            (
                "Trying to backward through the graph a second time (or directly access saved"
                " variables after they have already been freed)."
            ),
            "second_backward",
        ),
        (
            "a leaf Variable that requires grad has been used in an in-place operation.",
            "leaf_in_place",
        ),
        ("leaf variable has been moved into the graph interior", "leaf_in_place"),
        (
            "a view of a leaf Variable that requires grad is being used in an in-place operation.",
            "view_of_leaf_in_place",
        ),
        (
            (
                "Output 0 of UnbindBackward is a view and is being modified inplace. This view is"
                " the output of a function that returns multiple views."
            ),
            "view_in_place",
        ),
        (
            "Can't call numpy() on Variable that requires grad. Use var.detach().numpy() instead.",
            "numpy_on_tracked",
        ),
        ("only Tensors of floating point dtype can require gradients", "requires_grad_non_float"),
        (
            "element 0 of variables tuple does not require grad and does not have a grad_fn",
            "no_grad_fn",
        ),
        (
            "Inplace update to inference tensor outside InferenceMode is not allowed.",
            "inference_tensor",
        ),
        (
            (
                "Caught RuntimeError in DataLoader worker process 0.\nOriginal Traceback (most"
                ' recent call last):\n  File "data.py", line 3, in __getitem__\n    return'
                " self.x.numpy()\nRuntimeError: Can't call numpy() on Tensor that requires grad."
                " Use tensor.detach().numpy() instead.\n"
            ),
            "numpy_on_tracked",
        ),
        ("cannot assign 'torch.FloatTensor' as parameter 'weight'", "not_a_parameter"),
    ],
)
def test_words_of_other_versions_and_wrappers(message: str, cause: str) -> None:
    told = explain_error("TrainingError", f"step 3 failed: {message}")
    assert cause_of(message) == told.cause == cause
    well_formed(told)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "CUDA out of memory",
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        "grad and value differ",
        "the inference tensor pool is empty",
        "element 0 of the list has no name",
    ],
)
def test_an_unknown_error_is_called_unknown(message: str) -> None:
    told = explain_error("RuntimeError", message)
    assert (told.cause, told.mend, told.lines) == ("not_known", "", ())
    assert told.ruled_out
    well_formed(told)


def test_an_unknown_error_of_a_recording_keeps_its_line() -> None:
    def program() -> None:
        leaf() @ torch.ones(5)  # stop

    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    assert told.cause == "not_known"
    assert marked(program, "stop") <= set(told.lines)


@pytest.mark.parametrize(
    "message",
    [
        "element 999999999999999999 of tensors does not require grad",
        "element 7 of tensors does not require grad",
        (
            f"{INPLACE}: [torch.FloatTensor [{'9, ' * 90}9]], which is output 0 of X, is at version"
            " 9; expected version 8"
        ),
        f"{INPLACE}: [[[[ is at version ; expected version",
        "a\x00b\u202e\ud800 can't optimize a non-leaf {name} {0}",
        "differentiated Tensor at index 999 appears to not have been used",
        "[torch." * 20_000 + INPLACE,
        "x" * 1_000_000 + "grad can be implicitly created only for scalar outputs",
        "{" * 100 + " a view of a leaf Variable that requires grad is being used in an in-place",
    ],
)
def test_hostile_messages(message: str) -> None:
    _, graph = recorded(detached)
    for given in (None, graph):
        well_formed(explain_error("Run\nError\u202e", message, given))


def test_every_known_text_is_told() -> None:
    found = [explain_error("E", message) for message in SAMPLES]
    assert [told.cause for told in found] == [cause_of(message) for message in SAMPLES]
    assert {told.cause for told in found} == set(_TEXTS), "a text without a sample"
    for told in found:
        well_formed(told)


SAMPLES = [
    "element 0 of tensors does not require grad and does not have a grad_fn",
    INPLACE,
    "Trying to backward through the graph a second time",
    "One of the differentiated Tensors appears to not have been used in the graph",
    "a leaf Variable that requires grad is being used in an in-place operation",
    "a view of a leaf Variable that requires grad is being used in an in-place operation",
    "grad can be implicitly created only for scalar outputs",
    "One of the differentiated Tensors does not require grad",
    "Inference tensors cannot be saved for backward",
    "Can't call numpy() on Tensor that requires grad",
    (
        "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol"
        " at the moment"
    ),
    "only Tensors of floating point dtype can require gradients",
    "you can only change requires_grad flags of leaf variables",
    "Can't detach views in-place",
    "A view was created in no_grad mode and is being modified inplace",
    "can't optimize a non-leaf Tensor",
    "optimizer got an empty parameter list",
    "function SquareBackward returned an incorrect number of gradients (expected 2, got 1)",
    "cannot register a hook on a tensor that doesn't require gradient",
    "expected m1 and m2 to have the same dtype, but got: double != float",
    "Mismatch in shape: grad_output[0] has a shape of torch.Size([3])",
    "Function 'SqrtBackward0' returned nan values in its 0th output.",
    "'float' object has no attribute 'backward'",
]


class Unreadable(RuntimeError):
    def __str__(self) -> str:
        raise ValueError("no text")


def chained() -> list[BaseException]:
    inner = RuntimeError("Can't call numpy() on Tensor that requires grad.")
    caused, handled, hidden = ValueError("failed"), ValueError("failed"), ValueError("failed")
    caused.__cause__ = inner
    handled.__context__ = inner
    deep: BaseException = inner
    for _ in range(5):
        outer = ValueError("again")
        outer.__cause__, deep = deep, outer
    hidden.__context__, hidden.__suppress_context__ = inner, True
    circle, other = ValueError("one"), ValueError("two")
    circle.__cause__, other.__cause__ = other, circle
    return [caused, handled, deep, hidden, circle, Unreadable()]


def test_errors_behind_errors() -> None:
    found = [cause_of(read_error(error)[1]) for error in chained()]
    assert found == ["numpy_on_tracked"] * 3 + [None] * 3
    assert read_error(Unreadable()) == ("Unreadable", "")


def test_an_error_raised_anew_by_a_library_keeps_its_lines() -> None:
    def program() -> None:
        a = leaf()
        b = a.exp()
        b += 1  # wrote
        try:
            b.sum().backward()
        except RuntimeError as error:
            raise ValueError(f"backward failed in step 3: {error}") from None

    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    assert told.cause == "modified_in_place"
    assert marked(program, "wrote") <= set(told.lines)


def test_of_two_recorded_errors_the_right_one_is_told() -> None:
    def program() -> None:
        a = leaf()
        with contextlib.suppress(RuntimeError):
            a.numpy()
        (a * 2).backward()  # stop

    error, graph = recorded(program)
    told = explain_error(*read_error(error), graph)
    assert told.cause == "not_scalar"
    assert marked(program, "stop") <= set(told.lines)


def test_nothing_is_kept_alive_and_nothing_changes() -> None:
    made: list[Any] = []

    def program() -> None:
        a = leaf()
        big = a.exp()
        big += 1
        made.extend([weakref.ref(big), weakref.ref(a)])
        big.sum().backward()

    error, graph = recorded(program)
    before = error.args, error.__traceback__, made[0]()._version
    told = explain_error(*read_error(error), graph)
    assert before == (error.args, error.__traceback__, made[0]()._version)
    del error, before
    gc.collect()
    assert [ref() for ref in made] == [None, None]
    assert told.cause == "modified_in_place"


def test_it_knows_no_torch() -> None:
    for module in (raised, messages):
        source = Path(module.__file__).read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) torch", source, re.MULTILINE)


def test_a_long_error_that_is_not_known_is_cut_at_a_word() -> None:
    text = " ".join(f"shape{i}" for i in range(60))
    verdict = explain_error("ValueError", text).verdict
    assert len(verdict) <= 160
    assert verdict.endswith(" …")
    assert set(verdict.removesuffix(" …").split()) <= {"ValueError:", *text.split()}
