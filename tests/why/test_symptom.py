"""A question that names nothing: it starts at the symptom in the program, and calls nothing healthy
that nobody looked at."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from torch import nn

import gradviz as gv
from gradviz.why.code import reading
from gradviz.why.question import subjects
from gradviz.why.question.failing import failing_looks, starved
from gradviz.words.en import ENGLISH

pytestmark = pytest.mark.dear(30)


@pytest.fixture
def shell(shell_after: Callable[[str], InteractiveShell]) -> InteractiveShell:
    return shell_after("%load_ext gradviz\nimport torch\nfrom torch import nn")


def run(shell: InteractiveShell, *cells: str) -> str:
    """Run cells and return what a bare why says then."""
    for cell in cells:
        with capture_output():
            shell.run_cell(cell)
    with capture_output() as captured:
        shell.run_cell("%gradviz why")
    texts = [output.data["text/plain"] for output in captured.outputs]
    return "\n".join([*texts, captured.stderr])


def ran(program: str) -> tuple[Any, BaseException | None, dict[str, Any]]:
    """Run a program under a recording, as a script does; returns what it raised too."""
    torch.manual_seed(0)
    name = "program.py"
    linecache.cache[name] = len(program), None, program.splitlines(True), name
    names: dict[str, Any] = {"torch": torch, "nn": nn, "__name__": "__main__"}
    error = None
    with gv.record() as recording:
        try:
            exec(compile(program, name, "exec"), names)
        except Exception as raised:
            error = raised
    return recording, error, names


def asked(program: str) -> Any:
    """Return the bare answer about a program."""
    recording, error, names = ran(program)
    return gv.explain(recording=recording, error=error, names=names)


# --- the gradients that a program read ------------------------------------------------------------

VIEWED = """
x = torch.rand(5, requires_grad=True)
x = x.view(5, 1)
x.sum().backward()
print(x.grad)
"""
MOVED = """
x = torch.rand(5, requires_grad=True)
x = x.to("cpu", copy=True)
y = 10 * (x ** 2).sum()
y.backward()
g = x.grad
"""
BROKEN = """
x = torch.ones(2, requires_grad=True)
y = 2 * x
z = y.detach().requires_grad_()
out = (z * z).mean()
out.backward()
x.grad
"""
COPIED = """
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([a.item()])
b.requires_grad = True
b.sum().backward()
print(a.grad)
"""


@pytest.mark.parametrize(
    ("program", "cause", "line", "word"),
    [
        (VIEWED, "rebound", 3, "x.grad is None"),
        (MOVED, "made_non_leaf", 3, "x.grad is None"),
        (BROKEN, "cut", 4, "x.grad is None"),
        (COPIED, "rebuilt_from_value", 3, "a.grad is None"),
    ],
)
def test_what_the_program_read_and_found_none_is_the_question(
    shell: InteractiveShell, program: str, cause: str, line: int, word: str
) -> None:
    told = asked(program)
    assert (told.cause, told.lines[0]) == (cause, line), told
    assert word in told.verdict
    text = run(shell, f"%%gradviz{program}")
    assert word in text
    assert f"line {line}," in text


def test_locals_of_a_function_are_told_too() -> None:
    def train() -> Any:
        with gv.record() as recording:
            x = torch.rand(3, requires_grad=True)
            x = x.double()
            (x * x).sum().backward()
            print(x.grad)
        return recording, x

    with pytest.warns(UserWarning, match="not a leaf"):
        recording, _x = train()
    told = gv.explain(recording=recording)
    assert told.cause == "made_non_leaf"
    assert told.verdict.startswith("x.grad is None")


def test_what_objects_hold_is_known_by_their_names(shell: InteractiveShell) -> None:
    agent = """
class Agent:
    def __init__(self):
        self.encoder, self.head = nn.Linear(3, 2), nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD([*self.encoder.parameters(), *self.head.parameters()], 0.1)

    def update(self, x):
        with torch.no_grad():
            h = self.encoder(x)
        loss = self.head(h).sum()
        loss.backward()
        self.optimizer.step()
        return loss

agent = Agent()
loss = agent.update(torch.ones(1, 3))
"""
    text = run(shell, f"%%gradviz{agent}")
    assert text.startswith("agent.encoder.{weight,bias}: .grad is None: no_grad cuts it from loss.")


def test_an_unrecorded_cell_that_read_a_gradient_is_looked_at(shell: InteractiveShell) -> None:
    text = run(
        shell,
        "x = torch.ones(2, requires_grad=True)\nx = x.double()\ny = x.sum()\ny.backward()",
        "print(x.grad)",
    )
    assert text.startswith("x.grad is None: x is a result")
    text = run(
        shell,
        "v = torch.ones(2, requires_grad=True)\nout = (v.detach().requires_grad_() * 2).sum()"
        "\nout.backward()",
        "print(v.grad)",
    )
    assert text.startswith("v.grad is None; the cause is not known.")


FINE = """
net = nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    loss = net(torch.ones(1, 2)).pow(2).sum()
    for p in net.parameters():
        if p.grad is not None:
            p.grad.zero_()
    loss.backward()
    norm = sum(p.grad.norm() for p in net.parameters())
    optimizer.step()
"""
CLEARED = FINE + "    optimizer.zero_grad(set_to_none=True)\n"
PENALTY = (
    FINE
    + """
x = torch.ones(1, 2, requires_grad=True)
(g,) = torch.autograd.grad(net(x).sum(), x)
"""
)
LOOKED_AT = FINE + "print(torch.ones(2).requires_grad, loss.grad_fn, loss.requires_grad)\n"
STATISTICS = FINE + "print(nn.BatchNorm1d(3).running_mean.requires_grad)\n"
LOGGED = """
w = torch.ones(2, requires_grad=True)
total = torch.zeros(())
for _ in range(2):
    w.grad = None
    loss = (w * w).sum()
    loss.backward()
    total += loss.detach()
    with torch.no_grad():
        w -= 0.1 * w.grad
"""


@pytest.mark.parametrize(
    "program",
    [FINE, CLEARED, PENALTY, LOOKED_AT, STATISTICS, LOGGED],
    ids=["norms", "cleared", "penalty", "looked_at", "statistics", "logged"],
)
def test_a_program_that_reads_gradients_and_is_right_gets_no_fault(
    shell: InteractiveShell, program: str
) -> None:
    told = asked(program)
    assert told.cause in ("healthy", "no_backward_yet"), told
    text = run(shell, f"%%gradviz{program}")
    assert "[not judged]" in text
    assert "was not checked" in text


@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_graver_fault_than_what_was_read_is_told_first() -> None:
    """The .grad of a loss is None in every program."""
    program = """
frozen, net = nn.Linear(2, 2), nn.Linear(2, 1)
loss = net(frozen(torch.ones(1, 2)).detach()).sum()
loss.backward()
print(loss.grad)
"""
    told = asked(program)
    assert told.cause == "cut"
    assert told.lines == (3,)
    told = asked("w = torch.ones(2, requires_grad=True)\ny = (w * w).sum()\ny.backward()\ny.grad")
    assert told.verdict.startswith("y.grad is None: y is a result")


# --- NaN ------------------------------------------------------------------------------------------


def test_a_gradient_that_is_nan_in_one_place_is_never_called_fine() -> None:
    told = asked(
        "x = torch.tensor([0.0, 4.0], requires_grad=True)\n"
        "y = torch.where(x > 1, x.sqrt(), x * 0).sum()\ny.backward()"
    )
    assert told.cause == "nan"
    assert told.verdict == "x.grad has NaN in 1 of its 2 elements."
    assert told.lines == (2,)


def test_what_autograd_grad_returned_is_looked_at() -> None:
    program = """
x = torch.tensor([0.0, {value}], requires_grad=True)
y = torch.where(x < 1.0, torch.cos(x), torch.zeros_like(x))
g, = torch.autograd.grad(y.sum(), x)
"""
    told = asked(program.format(value="float('inf')"))
    assert told.cause == "nan"
    assert told.verdict == "What autograd.grad returned for x has NaN in it."
    assert told.lines == (3,)
    assert asked(program.format(value="5.0")).cause != "nan"


# --- the failing line -----------------------------------------------------------------------------

UPDATED = """
w = torch.tensor(1.0, requires_grad=True)
for _ in range(2):
    loss = (w - 3) ** 2
    loss.backward()
    with torch.no_grad():
        {update}
    w.grad.zero_()
"""


def test_a_name_that_an_update_gave_away_is_told_at_the_failing_line(
    shell: InteractiveShell,
) -> None:
    program = UPDATED.format(update="w = w - 0.1 * w.grad")
    told = asked(program)
    assert (told.cause, told.lines) == ("rebound", (7,))
    assert "w -= lr * w.grad under no_grad" in told.mend
    assert "it raised AttributeError" in told.more[0]
    assert "w.grad is None: the name w holds a new tensor now" in run(shell, f"%%gradviz{program}")
    mended = UPDATED.format(update="w -= 0.1 * w.grad")
    assert ran(mended)[1] is None


@pytest.mark.parametrize(
    "failing_line",
    [
        "h.grad.zero_()",
        "h -= 0.1 * h.grad",
        "g = h.grad\ng.norm()",
        "assert h.grad is not None",
        "[t.grad.norm() for t in (h,)]",
        "box = {'h': [h]}\nbox['h'][0].grad.norm()",
    ],
)
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_of_whose_gradient_the_failing_line_speaks_is_the_question(failing_line: str) -> None:
    told = asked(
        "w = torch.ones(3, requires_grad=True)\nh = w.tanh()\nh.sum().backward()\n" + failing_line
    )
    assert told.cause == "non_leaf", told
    assert told.verdict.startswith("h.grad is None: h is a result")


def test_an_assertion_that_something_requires_grad_is_about_that() -> None:
    told = asked(
        "net = nn.Linear(2, 2)\nwith torch.inference_mode():\n    y = net(torch.ones(1, 2))\n"
        "assert y.requires_grad"
    )
    assert told.cause == "cut"
    assert told.verdict.startswith("y has no gradient: inference_mode")
    assert told.lines == (2, 3)  # the block, then the call under it


@pytest.mark.parametrize("line", ["1 / 0", "torch.ones(2) @ torch.ones(3)", "assert w is None"])
def test_an_error_that_shows_no_gradient_stays_unexplained(line: str) -> None:
    told = asked(f"w = torch.ones(3, requires_grad=True)\n(w * 2).sum().backward()\n{line}")
    assert told.cause == "not_known"


def test_the_failing_line_is_the_users_not_a_librarys() -> None:
    library = types.ModuleType("library")
    code = "def norm(t):\n    return t.detach().norm()\n"
    exec(compile(code, "/opt/site-packages/library.py", "exec"), vars(library))
    sys.modules["library"] = library
    try:
        told = asked(
            "import library\nw = torch.ones(2, requires_grad=True)\nh = w * 2\n"
            "h.sum().backward()\nlibrary.norm(w.grad)\nlibrary.norm(h.grad)"
        )
    finally:
        del sys.modules["library"]
    assert told.verdict.startswith("h.grad is None: h is a result")


ANOTHERS = """
net = nn.Linear(1, 1)
def other():
    g = net.weight.grad
def find():
    return None
def failing(net):
    g = find()
    g.zero_()
failing(net)
"""


def test_a_name_of_another_function_is_not_the_one_that_failed() -> None:
    told = ran(ANOTHERS)
    assert failing_looks(told[1]) == []
    same = ran(ANOTHERS.replace("g = find()", "g = net.weight.grad"))
    assert [look.word for look in failing_looks(same[1])] == ["net.weight"]


# --- an optimizer without parameters --------------------------------------------------------------

EMPTY = {
    "tensor": "self.w = torch.ones(3)",
    "result": "self.w = nn.Parameter(torch.ones(3)).double()",
    "list": "self.layers = [nn.Linear(2, 2)]",
    "buffer": "self.register_buffer('w', torch.ones(3))",
    "none": "self.size = 3",
}
MODULE = """
class Net(nn.Module):
    def {init}(self):
        super().__init__()
        {line}

net = Net()
optimizer = torch.optim.SGD({given}, lr=0.1)
"""


@pytest.mark.parametrize("form", EMPTY)
def test_what_a_module_holds_in_place_of_parameters_is_told(form: str) -> None:
    told = asked(MODULE.format(init="__init__", line=EMPTY[form], given="net.parameters()"))
    assert (told.cause, told.form) == ("not_a_parameter", form), told
    assert told.lines == ((8,) if form == "none" else (5,))  # that of the optimizer, or the part


def test_parameters_of_another_function_were_not_handed_over() -> None:
    program = """
class Empty(nn.Module): pass
net, empty = nn.Linear(1, 1), Empty()
def other():
    given = net.parameters()
def failing():
    given = list(empty.parameters())
    return net, torch.optim.SGD(given, 0.1)
failing()
"""
    assert starved(ran(program)[1]).module == "empty"


@pytest.mark.parametrize("name", ["_init_", "__int__", "init", "_init__"])
def test_a_constructor_that_python_never_ran(name: str) -> None:
    line = "self.layer = nn.Linear(2, 2)"
    told = asked(MODULE.format(init=name, line=line, given="net.parameters()"))
    assert (told.form, told.lines) == ("init", (3,))
    assert f"is called {name}, so Python never ran it" in told.verdict


def test_a_method_beside_a_constructor_is_not_taken_for_one() -> None:
    program = MODULE.format(init="__init__", line="pass", given="net.parameters()")
    told = asked(program.replace("\nnet =", "    def init(self):\n        pass\n\nnet ="))
    assert told.form == "none"


def test_parameters_that_did_not_come_through() -> None:
    line = "self.layer = nn.Linear(2, 2)"
    frozen = "filter(lambda p: p.requires_grad, net.requires_grad_(False).parameters())"
    told = asked(MODULE.format(init="__init__", line=line, given=frozen))
    assert told.cause == "not_a_parameter"
    program = MODULE.format(init="__init__", line=line, given="params")
    program = program.replace("optimizer =", "params = net.parameters()\nlist(params)\noptimizer =")
    told = asked(program)
    assert (told.form, "left in params" in told.verdict) == ("spent", True)
    kept = program.replace("params = net.parameters()", "params = [net.parameters()]")
    kept = kept.replace("list(params)", "list(params[0])").replace("(params, ", "(params[0], ")
    told = asked(kept)
    assert (told.form, "net has 2 parameters" in told.verdict) == ("read_before", True)
    told = asked("optimizer = torch.optim.SGD([], lr=0.1)")
    assert told.form == "unknown"


def test_a_buffer_that_was_looked_at_is_no_parameter() -> None:
    program = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mu", torch.ones(2))
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x * self.mu)

net = Net()
net(torch.ones(1, 2)).sum().backward()
"""
    told = asked(program + "print(net.mu.requires_grad)")
    assert (told.cause, told.lines) == ("not_a_parameter", (5,))
    assert asked(program).cause == "healthy"


# --- expressions are read, not run ----------------------------------------------------------------


class Loud:
    """Whose properties and calls would be noticed."""

    def __init__(self) -> None:
        self.plain = torch.ones(2)
        self.ran: list[str] = []

    @property
    def weight(self) -> Any:
        self.ran.append("property")
        return self.plain

    def __getattr__(self, name: str) -> Any:
        self.ran.append(name)
        raise AttributeError(name)

    def __getitem__(self, key: Any) -> Any:
        self.ran.append("item")
        return self.plain


@pytest.mark.parametrize(
    "word", ["o.weight", "o.missing", "o[0]", "o()", "o.plain[0]", "o.plain.T", "[o][0]", "o + o"]
)
def test_reading_an_expression_runs_nothing(word: str) -> None:
    loud = Loud()
    assert reading.value_of(ast.parse(word, mode="eval").body, {"o": loud}) is (reading.UNREAD)
    assert loud.ran == []


def test_plain_expressions_are_read() -> None:
    loud, net = Loud(), nn.Sequential(nn.Linear(2, 1), nn.ModuleList([nn.Linear(3, 1)]))
    names = {"o": loud, "net": net, "parts": {"a": [loud]}}
    for word, value in {
        "o.plain": loud.plain,
        "parts['a'][-1].plain": loud.plain,
        "net[0].weight": net[0].weight,
        "net[1][0].bias": net[1][0].bias,
    }.items():
        assert reading.value_of(ast.parse(word, mode="eval").body, names) is value
    assert [*reading.with_parts({"o": loud})] == ["o"]
    assert loud.ran == []


def test_looking_changes_nothing_and_keeps_nothing() -> None:
    with gv.record() as recording:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        grad = x.grad
    assert [look.attribute for _, look in recording.looked_at()] == ["grad"]
    assert grad is not None
    gone = weakref.ref(x)
    del x, grad
    gc.collect()
    assert gone() is None
    assert recording.looked_at() == []


# --- words ----------------------------------------------------------------------------------------


def test_no_sentence_calls_anything_healthy() -> None:
    answers = [part for answer in ENGLISH.answers.values() for part in answer if part]
    texts = [*ENGLISH.sentences.values(), *map(str, answers)]
    assert len(texts) > 500
    assert not [text for text in texts if "healthy" in text.lower()]


def test_where_no_fault_was_found_it_says_what_was_not_checked() -> None:
    told = asked(FINE)
    assert told.verdict == (
        "2 of 2 trainable parameters have a gradient; none is None, all zeros or NaN."
    )
    assert told.why == "Whether these are the gradients that you want was not checked."
    assert told.tag == "not judged"


# --- what a script ran ----------------------------------------------------------------------------

ADAPTED = """
class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.a = nn.Parameter(torch.randn(2, 4))

    def forward(self, x):
        return self.base(x) + (x @ self.a.T).sum(1, keepdim=True)

net = nn.Sequential(nn.Embedding(5, 4).requires_grad_(False), Adapter(), Adapter())
net[0].register_forward_hook(lambda module, given, made: made.requires_grad_(True))
with {mode}:
    loss = net(torch.tensor([1, 2, 3])).pow(2).sum()
"""


def test_an_output_that_was_told_to_require_grad_is_no_parameter() -> None:
    program = ADAPTED.format(mode="torch.enable_grad()")
    told = asked(program + "loss.backward()\nembedded = net[0](torch.tensor([1]))")
    assert "2 of 2 trainable parameters have a gradient, 5 frozen" in told.more[0]
    # one that the program makes and names itself is asked about
    told = asked(
        "w = torch.ones(2)\nh = (w * 2).requires_grad_()\nk = (h.detach() * 3).requires_grad_()\n"
        "k.sum().backward()\nh.grad"
    )
    assert told.verdict.startswith("h.grad is None: detach cuts it")


@pytest.mark.parametrize("mode", ["torch.no_grad()", "torch.inference_mode()"])
def test_a_model_that_ran_with_gradients_off_is_not_called_fine(mode: str) -> None:
    program = ADAPTED.format(mode=mode)
    for frozen in (program, program.replace("with torch", "net.requires_grad_(False)\nwith torch")):
        told = asked(frozen)
        assert told.cause == "no_grad_fn", told
        assert told.verdict.startswith("Nothing can train: loss has no grad_fn")


def test_parameters_of_modules_are_named_by_their_paths() -> None:
    program = """
class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.weight * x

def build():
    model = nn.Sequential(Norm(), Norm())
    with torch.no_grad():
        loss = model(torch.ones(4)).sum()
    return model, loss

kept = build()
"""
    recording, _, names = ran(program)
    told = gv.explain(recording=recording, names={})
    assert names["kept"]
    assert "self.weight" not in str(told).partition("Where")[0], told
    assert told.cause == "no_grad_fn"


def test_statistics_of_a_frozen_layer_are_told_unasked() -> None:
    told = asked(
        "net = nn.Sequential(nn.BatchNorm1d(3).requires_grad_(False), nn.Linear(3, 1))\n"
        "net(torch.randn(4, 3)).sum().backward()"
    )
    assert told.cause == "batch_norm_moves"
    mended = asked(
        "net = nn.Sequential(nn.BatchNorm1d(3).requires_grad_(False).eval(), nn.Linear(3, 1))\n"
        "net(torch.randn(4, 3)).pow(2).sum().backward()"
    )
    assert mended.cause == "healthy"


def test_a_module_that_only_a_checkpoint_called_has_its_class_for_a_name() -> None:
    """No call of the graph says how it was called."""
    told = asked(
        "from torch.utils.checkpoint import checkpoint\nlayer = nn.Linear(2, 2)\n"
        "x = torch.ones(1, 2, requires_grad=True)\n"
        "h = checkpoint(lambda t: torch.tanh(layer(t)), x, use_reentrant=True)\n"
        "h.pow(2).mean().backward()"
    )
    assert told.cause == "healthy", told


# --- two networks that are trained in turns -------------------------------------------------------

IN_TURNS = """
G, D = nn.Linear(2, 4), nn.Linear(4, 1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
loss = D(G(torch.ones(3, 2)).detach()).sum()
loss.backward()
"""


def test_of_two_networks_in_turns_one_rests() -> None:
    told = asked(IN_TURNS + "opt_d.step()")
    assert told.cause == "kept_off"
    assert "its optimizer is not stepped here" in told.verdict


def test_a_generator_that_is_stepped_and_gets_nothing_does_not_rest() -> None:
    assert asked(IN_TURNS + "opt_g.step()").cause == "cut"
    assert asked(IN_TURNS + "for o in (opt_d, opt_g):\n    o.step()").cause == "cut"


# --- what cannot be read --------------------------------------------------------------------------


class _Key:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class _Closed:
    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no variables")


def unreadable_view() -> Any:
    """Return a view of which torch does not say whether it is a leaf."""
    base = torch.ones(4, requires_grad=True).clone()
    with torch.no_grad():
        views = base.chunk(2)
    base.mul_(2.0)
    with pytest.raises(RuntimeError):
        _ = views[0].is_leaf
    return views[0]


def test_objects_that_refuse_are_passed_over() -> None:
    nameless = type("Nameless", (), {"__module__": None})()
    nameless.net = nn.Linear(1, 1)
    mine = type("Mine", (), {"__module__": "torchlike.agents"})()
    mine.net = nn.Linear(1, 1)
    names = {
        "by_key": {_Key(): nn.Linear(1, 1), 0: nn.Linear(1, 1)},
        "closed": _Closed(),
        "nameless": nameless,
        "mine": mine,
        "views": [unreadable_view()],
    }
    found = reading.with_parts(names).keys() - names.keys()
    assert found == {"by_key[0]", "nameless.net", "mine.net"}


def test_a_view_that_torch_does_not_describe_stops_no_explanation() -> None:
    with gv.record() as recording:
        w = torch.ones(2, requires_grad=True)
        view = unreadable_view()
        (w * 2).sum().backward()
    told = recording.explain()
    assert told.cause in ("healthy", "not_in_loss", "branch_not_taken"), told
    assert view is not None


ELSEWHERE = """
def helper(p):
    q = p.item()
    return q
w = torch.ones(1, requires_grad=True)
helper(w * 2)
q = torch.Tensor([3.0])
print(q.requires_grad)
"""


def test_a_number_of_another_function_made_no_tensor_here() -> None:
    assert not asked(ELSEWHERE).cuts
    here = ELSEWHERE.replace("torch.Tensor([3.0])", "torch.Tensor([w * 2])")
    told = asked(here)
    assert told.lines == (7,), told


def test_a_result_that_reads_a_gradient_of_a_longer_name_is_no_update() -> None:
    program = """
raw = torch.ones(2, requires_grad=True)
(raw * 2).sum().backward()
w = torch.ones(2, requires_grad=True) * {name}.grad
w.sum().backward()
"""
    asked(program.format(name="raw"))
    recording, _, _ = ran(program.format(name="raw"))
    assert "w" not in {recording.find(t).name for t in subjects.leaves_of(recording)}


# --- a result that is gone ------------------------------------------------------------------------

SALIENCY = """
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 3))
def saliency(image):
    x = torch.tensor(image, requires_grad=True)
    x = {prepared}  # made
    net(x)[0].max().backward()
    return {read}
result = saliency([[[[0.7] * 4] * 4]])
"""


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")
@pytest.mark.parametrize(
    ("name", "prepared", "cause"),
    [
        ("image", "image * 2 - 0.3", "non_leaf"),
        ("x", "x * 2 - 0.3", "rebound"),
        ("x", "x; y = x.detach() * 2 - 0.3", "cut"),
    ],
)
def test_a_grad_that_a_function_found_none_is_told_of_what_is_gone(
    name: str, prepared: str, cause: str
) -> None:
    program = "from torch import nn\n" + SALIENCY.format(prepared=prepared, read="x.grad")
    program = program.replace("    x = torch.tensor(image", f"    {name} = torch.tensor(image")
    if "y = " in prepared:
        program = program.replace("net(x)[0]", "net(y)[0]")
    answer = asked(program)
    assert answer.cause == cause
    assert "x.grad is None" in answer.verdict
    number = next(n for n, text in enumerate(program.split("\n"), 1) if "# made" in text)
    assert number in answer.lines


@pytest.mark.parametrize(
    ("prepared", "read"),
    [
        ("x", "x.grad"),
        ("(x * 2 - 0.3).detach().requires_grad_()", "x.grad"),
        ("x * 2 - 0.3", "x.shape"),
        ("[z := x * 2 - 0.3, z.retain_grad()][0]", "x.grad"),
    ],
)
def test_a_grad_that_was_there_is_not_told(prepared: str, read: str) -> None:
    program = "from torch import nn\n" + SALIENCY.format(prepared=prepared, read=read)
    assert asked(program).cause == "healthy"


# --- what earlier cells left ----------------------------------------------------------------------

TRAINED_EARLIER = """%%gradviz
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
model(torch.ones(5, 3)).sum().backward()
optimizer.step()
"""
BY_HAND = """%%gradviz
w = torch.ones(3, requires_grad=True)
def step(lr):
    loss = ((w * 100) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(w.grad * lr)
        w.grad.zero_()
for _ in range(4):
    step(0.01)
"""


def test_the_model_and_the_optimizer_of_an_earlier_cell_are_not_asked_about(
    shell: InteractiveShell,
) -> None:
    told = run(shell, TRAINED_EARLIER, BY_HAND)
    assert "loss grew from backward to backward" in told
    assert "moved w by the gradient of loss" in told
    assert "model" not in told
    assert "0.001" not in told  # the rate of an optimizer that did not step here


def test_an_optimizer_that_stepped_what_a_cell_does_not_compute_with_is_asked_about(
    shell: InteractiveShell,
) -> None:
    """Made in an earlier cell of a model that another one has replaced since."""
    replaced = "%%gradviz\nmodel = nn.Linear(3, 1)\nmodel(torch.ones(5, 3)).sum().backward()\noptimizer.step()"
    assert "optimizer" in run(shell, TRAINED_EARLIER, replaced).partition("Ruled out")[0]
