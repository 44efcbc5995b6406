"""Why a gradient is None, zero or unchanged: every cause in several disguises, PyTorch says whether
it is so."""

from __future__ import annotations

import contextlib
import copy
import re
import warnings
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz as gv
from gradviz.graph.records import CutReason
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words import en
from gradviz.words.words import Words

Program = Callable[[], Any]
KEPT: list[nn.Module] = []  # alive when the question is asked, as a notebook's model is
PROGRAMS: list[tuple[Program, str, str]] = []


def is_(cause: str, says: str = "") -> Callable[[Program], Program]:
    """A program that returns the tensor whose ``.grad`` is asked for; what the explanation has to
    say of it."""

    def add(program: Program) -> Program:
        PROGRAMS.append((program, cause, says))
        return program

    return add


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


# --- cut ------------------------------------------------------------------------------------------


@is_("cut", r"detach cuts it from loss.*detach\(\)")
def detached_state_of_a_recurrence() -> Any:
    a, b = leaf(), leaf()
    state = a * 2
    for _ in range(2):
        state = torch.tanh(state.detach() * b)
    loss = state.sum()
    loss.backward()
    return a


@is_("cut", r"inference_mode cuts it from loss")
def frozen_features_in_inference_mode() -> Any:
    a, b = leaf(), leaf()
    with torch.inference_mode():
        features = a.exp()
    loss = (features.clone() + b).sum()
    loss.backward()
    return a


@is_("cut", r"non-differentiable function cuts it.*argmax")
def index_from_argmax() -> Any:
    scores, table = leaf(), torch.eye(3, requires_grad=True)
    best = scores.argmax()
    loss = table[best].sum()
    loss.backward()
    return scores


@is_("cut", r"integer or bool dtype cuts it")
def rounded_to_long() -> Any:
    a, b = leaf(), leaf()
    counts = (a * 2).long()
    loss = (counts * b).sum()
    loss.backward()
    return a


@is_("cut", r"\.data cuts it from loss.*4 places|\.data cuts it from loss")
def data_in_a_list() -> Any:
    a, b = leaf(), leaf()
    parts = [x.data for x in (a * 2).unbind()]
    loss = (torch.stack(parts) * b).sum()
    loss.backward()
    return a


@is_("cut", r"detach_ cuts it from loss")
def detached_in_place() -> Any:
    a, b = leaf(), leaf()
    h = a * 2
    h.detach_()
    loss = (h * b).sum()
    loss.backward()
    return a


@is_("cut", r"custom Function without a gradient")
def custom_function_that_marks() -> Any:
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.sort().values
            ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g

    a, b = leaf(), leaf()
    loss = (Sorted.apply(a) * b).sum()
    loss.backward()
    return a


@is_("cut", r"no_grad cuts it from loss")
def reached_by_another_loss_only() -> Any:
    a, b = leaf(), leaf()
    (a * 1).sum().backward()
    a.grad = None
    with torch.no_grad():
        h = a * 2
    loss = (h * b).sum()
    loss.backward()
    return a


# --- its value left torch -------------------------------------------------------------------------


@is_("rebuilt_from_value", r"value left torch.*item")
def scale_from_item() -> Any:
    a, b = leaf(), leaf()
    scale = a.sum().item()
    loss = (b * scale).sum()
    loss.backward()
    return a


@is_("rebuilt_from_value", r"value copied out cuts it")
def tensor_of_a_tensor() -> Any:
    a, b = leaf(), leaf()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = torch.tensor(a * 2)
    loss = (again * b).sum()
    loss.backward()
    return a


@is_("rebuilt_from_value", r"value left torch")
def through_numpy_and_back() -> Any:
    a, b = leaf(), leaf()
    array = (a * 2).detach().numpy() ** 2
    again = torch.from_numpy(array)
    loss = (again * b).sum()
    loss.backward()
    return a


@is_("not_in_loss", r"no recorded call takes it to loss")
def item_was_for_printing_and_the_loss_is_another() -> Any:
    a, b = leaf(), leaf()
    other = (a * 2).sum()
    assert other.item() > 0
    loss = (b * 3).sum()
    loss.backward()
    other.backward()
    a.grad = None
    loss = (b * 2).sum()
    loss.backward()
    return a, loss


# --- frozen, never tracked, no leaf ---------------------------------------------------------------


@is_("frozen", r"is frozen")
def one_layer_of_a_model() -> Any:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    net[0].requires_grad_(False)
    net(torch.ones(1, 2)).sum().backward()
    return net[0].weight


@is_("frozen", r"did not require grad yet when that was made")
def unfrozen_after_the_forward() -> Any:
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    net[0].requires_grad_(False)
    loss = net(torch.ones(1, 2)).sum()
    net[0].requires_grad_(True)
    loss.backward()
    return net[0].weight


@is_("never_tracked", r"does not ask for one")
def plain_input() -> Any:
    x, w = torch.ones(3), leaf()
    (x * w).sum().backward()
    return x


@is_("never_tracked", r"int64")
def integer_input() -> Any:
    x, w = torch.tensor([1, 2, 3]), leaf()
    (x * w).sum().backward()
    return x


@is_("never_tracked", r"did not require grad yet")
def asked_for_too_late() -> Any:
    x, w = torch.ones(3), leaf()
    loss = (x * w).sum()
    x.requires_grad_()
    loss.backward()
    return x


@is_("cut", r"detach cuts it off")
def result_that_was_cut_off() -> Any:
    a = leaf()
    b = (a * 2).detach()
    (b * a).sum().backward()
    return b


@is_("non_leaf", r"read \.grad of w|call h\.retain_grad\(\)")
def intermediate() -> Any:
    w = leaf()
    h = w.exp()
    loss = h.sum()
    loss.backward()
    return h


@is_("non_leaf")
def scaled_copy_of_a_leaf_that_is_used_elsewhere() -> Any:
    w = leaf()
    h = w * 0.5
    ((h * 2).sum() + w.sum()).backward()
    return h


@is_("made_non_leaf", r"the leaf is its input")
def cast_at_birth() -> Any:
    w = torch.ones(3, requires_grad=True).double()
    (w * 2).sum().backward()
    return w


@is_("made_non_leaf", r"div made w a result")
def divided_at_birth() -> Any:
    w = torch.randn(4, requires_grad=True) / 10
    for _ in range(2):
        (w * 2).sum().backward(retain_graph=True)
    return w


@is_("rebound", r"the name w holds a result")
def update_by_assignment() -> Any:
    w = leaf()
    for step in range(2):
        loss = (w * w).sum()
        loss.backward()
        w = w if step else w - 0.1 * w.grad  # type: ignore[operator]
    return w


@is_("rebound", r"the name w holds a result")
def normalised_by_assignment() -> Any:
    w = leaf()
    (w * w).sum().backward()
    w = w / w.norm()
    (w * 2).sum().backward()
    return w


# --- not in this loss -----------------------------------------------------------------------------


@is_("not_in_loss", r"no recorded call takes it to loss")
def head_of_another_loss() -> Any:
    body, one, two = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
    h = body(torch.ones(1, 2))
    other = two(h).sum()
    loss = one(h).sum()
    loss.backward()
    assert other.requires_grad
    return two.weight


@is_("branch_not_taken", r"no call of this run used")
def module_list_entry_that_is_skipped() -> Any:
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(3))
    h = torch.ones(1, 2)
    for layer in list(layers)[:2]:
        h = layer(h)
    loss = h.sum()
    loss.backward()
    return layers[2].weight


@is_("no_grad_write", r"in-place write under no_grad")
def buffer_filled_under_no_grad() -> Any:
    a, b = leaf(), leaf()
    memory = torch.zeros(3)
    with torch.no_grad():
        memory.copy_(a)
    loss = (memory * b).sum()
    loss.backward()
    return a


# --- no backward ----------------------------------------------------------------------------------


@is_("no_backward_yet", r"no backward has run")
def forward_only() -> Any:
    w = leaf()
    loss = (w * w).sum()
    return w, loss


@is_("no_backward_yet", r"cleared after the last backward")
def cleared_by_zero_grad() -> Any:
    net = nn.Linear(2, 1)
    net(torch.ones(1, 2)).sum().backward()
    net.zero_grad()
    return net.weight


@is_("no_backward_yet", r"autograd\.grad returns gradients")
def autograd_grad() -> Any:
    w = leaf()
    torch.autograd.grad((w * w).sum(), w)
    return w


@is_("not_in_loss", r"it was only copied \(deepcopy\).*read the copy's \.grad")
def only_a_copy_of_a_layer_was_used() -> Any:
    layer = nn.Linear(2, 2)
    copied = copy.deepcopy(layer)
    loss = copied(torch.ones(2)).sum()
    loss.backward()
    KEPT.append(layer)
    return layer.weight


@is_("not_in_loss", r"it was only copied \(deepcopy\)")
def only_a_copy_of_a_parameter_in_a_dict_was_used() -> Any:
    w = nn.Parameter(torch.ones(3))
    copied = copy.deepcopy({"w": w})
    loss = copied["w"].exp().sum()
    loss.backward()
    return w


@is_("not_in_loss", r"it was only copied \(deepcopy\)")
def only_a_copy_under_another_name_was_used() -> Any:
    w, twin_of = leaf(), copy.deepcopy
    copied = twin_of(w)
    loss = copied.exp().sum()
    loss.backward()
    return w


@is_("cut", r"\.data cuts it from loss")
def a_copied_parameter_whose_data_was_used() -> Any:
    w, b = nn.Parameter(torch.ones(3)), leaf()
    KEPT.append(copy.deepcopy(nn.ParameterList([w])))
    d = w.data
    loss = (d * b).sum()
    loss.backward()
    return w


# --- zeros ----------------------------------------------------------------------------------------


@is_("zero_gradient", r"ReluBackward0.*flat part")
def dead_relu() -> Any:
    w = leaf(-1.0, -2.0)
    loss = torch.relu(w * 3).sum()
    loss.backward()
    return w


@is_("zero_gradient", r"multiplied by mask")
def masked_away() -> Any:
    w, mask = leaf(), torch.zeros(3)
    loss = (w.exp() * mask).sum()
    loss.backward()
    return w


@is_("zero_gradient", r"they were written after the last backward")
def zero_grad_without_none() -> Any:
    w = leaf()
    opt = torch.optim.SGD([w], lr=0.1)
    (w * 2).sum().backward()
    opt.zero_grad(set_to_none=False)
    opt.step()
    return w


@is_("zero_gradient", r"^(?!.*written after).*multiplied by off")
def zeros_that_a_backward_brought_after_zero_grad() -> Any:
    w, off = leaf(), torch.zeros(3)
    (w * w).sum().backward()
    w.grad.zero_()
    loss = (w * off).sum()
    loss.backward()
    return w


@is_("zero_gradient", r"^(?!.*written after).*ReluBackward0.*flat part")
def zeros_that_a_backward_brought_after_a_step_and_zero_grad() -> Any:
    w = leaf()
    opt = torch.optim.SGD([w], lr=0.1)
    (w * w).sum().backward()
    opt.step()
    opt.zero_grad(set_to_none=False)
    loss = torch.relu(w * -1).sum()
    loss.backward()
    return w


@is_("zero_gradient", r"they were written after the last backward")
def zero_grad_without_none_after_a_second_backward() -> Any:
    w = leaf()
    (w * w).sum().backward()
    w.grad.zero_()
    (w * 3).sum().backward()
    w.grad.zero_()
    return w


@is_("zero_gradient", r"its factor gate are both all zeros")
def gate_and_value_are_both_zero() -> Any:
    value, gate = leaf(0.0, 0.0), leaf(0.0, 0.0)
    loss = (value * gate).sum()
    loss.backward()
    return value


@is_(
    "healthy",
    r"exactly 0 because net\.B is all zeros|exactly 0 because self\.B is all zeros|B is all zeros",
)
def low_rank_adapter() -> Any:
    class Adapter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.A, self.B = nn.Parameter(torch.randn(3, 20)), nn.Parameter(torch.zeros(20, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + functional.linear(functional.linear(x, self.A), self.B) * 0.5

    net = Adapter()
    loss = net(torch.randn(4, 20)).pow(2).sum()
    loss.backward()
    KEPT.append(net)
    return net.A


@is_("healthy", r"exactly 0 because gain is all zeros")
def residual_gain_that_starts_at_zero() -> Any:
    w, gain = leaf(), leaf(0.0)
    loss = (torch.ones(3) + gain * w.sin()).sum()
    loss.backward()
    return w


@is_("healthy", r"exactly 0 because scale is all zeros")
def asked_after_the_optimizer_moved_what_was_zero() -> Any:
    w, scale = leaf(), leaf(0.0, 0.0, 0.0)
    opt = torch.optim.SGD([w, scale], lr=0.1)
    (w * scale).sum().backward()
    opt.step()
    return w


@is_("cut", r"all made from it ends at non-differentiable function.*argmax")
def hard_choice_by_a_python_number() -> Any:
    gate, one, two = leaf(), leaf(), leaf()
    best = gate.exp().argmax()
    loss = ([one, two][int(best) % 2] * 2).sum()
    loss.backward()
    return gate


@is_("cut", r"ends at value copied out")
def only_watched() -> Any:
    probe, w = leaf(), leaf()
    seen = [(probe * 2).sum().item()]
    assert seen
    loss = (w * 3).sum()
    loss.backward()
    return probe


@is_(
    "not_in_loss",
    r"no call used raw, but w, which shares its memory|no call used .*, which shares its memory",
)
def wrapped_again() -> Any:
    net = nn.Linear(3, 1)
    KEPT.append(net)
    w = nn.Parameter(net.weight)
    (w * 2).sum().backward()
    return net.weight


@is_("cut", r"the backward of HalfBackward returned None towards it")
def custom_backward_that_returns_none() -> Any:
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            return x * scale

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g, None

    x, scale = leaf(), leaf()
    Half.apply(x, scale).sum().backward()
    return scale


@is_("rebuilt_from_value", r"Likely, not proven: .* came from code\.tolist\(\)|Likely, not proven")
def list_of_numbers() -> Any:
    enc, w = leaf(), leaf()
    rows = []
    for _ in range(2):
        code = enc * 2
        rows.append(code.tolist())
    again = torch.tensor(rows)
    (again * w).sum().backward()
    return enc


# --- hard negatives -------------------------------------------------------------------------------


@is_("healthy")
def straight_through() -> Any:
    w = leaf()
    loss = (w + (w.round() - w).detach()).sum()
    loss.backward()
    return w


@is_("healthy")
def only_some_zeros() -> Any:
    w = leaf(-1.0, 2.0)
    torch.relu(w).sum().backward()
    return w


@is_("healthy")
def logged_and_detached_beside_the_loss() -> Any:
    w = leaf()
    h = w * 2
    history = [h.detach(), h.sum().item()]
    assert history
    loss = h.sum()
    loss.backward()
    return w


@is_("healthy")
def retained() -> Any:
    w = leaf()
    h = w * 2
    h.retain_grad()
    h.sum().backward()
    return h


@is_("healthy")
def updated_in_place_as_it_should_be() -> Any:
    w = leaf()
    for _ in range(2):
        w.grad = None
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad  # type: ignore[operator]
    return w


def asked(program: Program) -> tuple[Explanation, torch.Tensor, gv.Recording]:
    torch.manual_seed(0)
    with gv.record() as rec:
        found = program()
    subjects = found if isinstance(found, tuple) else (found,)
    return rec.explain(*subjects), subjects[0], rec


IDS = [p.__name__ for p, _, _ in PROGRAMS]
# A quarter of them, by their names: a new one changes none of the others.
DRAWN = [row for row in PROGRAMS if zlib.crc32(row[0].__name__.encode()) % 4 == 0]


@pytest.mark.parametrize(("program", "cause", "says"), PROGRAMS, ids=IDS)
def test_the_cause_is_found(program: Program, cause: str, says: str) -> None:
    explanation, tensor, _ = asked(program)
    text = str(explanation)
    assert explanation.cause == cause, text
    assert re.search(says, " ".join(text.split())), text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grad = tensor.grad
    if cause == "healthy":
        assert grad is not None
    elif cause == "zero_gradient":
        assert grad is not None
        assert not grad.any()
    else:
        assert grad is None
    lines = text.splitlines()
    assert len(lines) <= 8
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize(("program", "cause", "says"), PROGRAMS, ids=IDS)
def test_without_a_recording_nothing_is_claimed_that_only_a_recording_proves(
    program: Program, cause: str, says: str
) -> None:
    found = program()
    subjects = found if isinstance(found, tuple) else (found,)
    told = gv.explain(*subjects, names={})
    sure = {
        "frozen",
        "never_tracked",
        "non_leaf",
        "healthy",
        "not_known",
        "zero_gradient",
        "no_backward_yet",
    }
    assert told.cause in sure
    if told.cause == "healthy":
        assert cause == "healthy"
    if told.cause == "frozen" or (told.cause == "never_tracked" and cause != "cut"):
        assert told.cause == cause
    assert told.cause != "non_leaf" or not subjects[0].is_leaf


@pytest.mark.parametrize(("program", "cause", "says"), DRAWN, ids=[p.__name__ for p, _, _ in DRAWN])
def test_its_picture_can_be_drawn(program: Program, cause: str, says: str) -> None:
    explanation, _, rec = asked(program)
    bundle = explanation._repr_mimebundle_()
    assert bundle["text/plain"] == str(explanation)
    assert cause == "no_backward_yet" or "<img" in bundle["text/html"]
    assert explanation.figure is not None
    assert len(explanation.figure.scene.cards) <= len(rec.figure().scene.cards)


def test_it_says_which_line() -> None:
    with gv.record() as rec:
        a, b = leaf(), leaf()
        h = a.detach()
        (h * b).sum().backward()
    found = rec.explain(a)
    assert [c.reason.value for c in found.cuts] == ["detach"]
    assert found.lines == tuple(rec.graph.call[c.call_id].source.line for c in found.cuts)  # type: ignore[union-attr]
    assert "h = a.detach()" in found.where


def test_a_recording_that_saw_only_a_part_claims_no_more() -> None:
    a, b = leaf(), leaf()
    h = a.detach() * b
    with gv.record() as rec:
        loss = h.sum()
        loss.backward()
    assert rec.explain(a, loss).cause == "not_known"
    with gv.record(max_events=3) as rec:
        for _ in range(4):
            loss = (a.detach() * b).sum()
        loss.backward()
    assert rec.explain(a, loss).cause in ("not_known", "cut")


@pytest.mark.parametrize("seed", range(12))
def test_of_random_programs_torch_agrees_on_what_is_reached(seed: int) -> None:
    """A leaf is called cut, unused or healthy exactly as ``autograd.grad(allow_unused=True)`` sees
    it."""
    import random

    dice = random.Random(seed)
    torch.manual_seed(seed)
    with gv.record() as rec:
        leaves = [torch.randn(3, requires_grad=True) for _ in range(4)]
        values = list(leaves)
        for _ in range(8):
            one, two = dice.choice(values), dice.choice(values)
            mode = torch.no_grad() if dice.random() < 0.2 else contextlib.nullcontext()
            with mode:
                made = one * two if dice.random() < 0.5 else one + two.sin()
            values.append(made.detach() if dice.random() < 0.2 else made)
        loss = sum(v.sum() for v in values[-2:])
        if loss.requires_grad:  # type: ignore[union-attr]
            loss.backward(retain_graph=True)  # type: ignore[union-attr]
    if not loss.requires_grad:  # type: ignore[union-attr]
        assert rec.explain(loss).cause == "no_grad_fn"
        return
    for w, grad in zip(leaves, torch.autograd.grad(loss, leaves, allow_unused=True), strict=True):  # type: ignore[arg-type]
        cause = rec.explain(w, loss).cause
        reached = cause in ("healthy", "zero_gradient", "constant_summand")
        assert reached is (grad is not None)
        assert grad is not None or cause in ("cut", "not_in_loss"), str(rec.explain(w, loss))


def test_a_view_made_under_no_grad_is_not_told_to_be_used():
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        with torch.no_grad():
            v = a.view(2)
        (a * 2).sum().backward()
    told = rec.explain(v)
    (v * 2).sum().backward()
    assert v.grad is None  # using it would not mend it
    assert "use v itself" not in str(told)
    assert "v is a view made under no_grad" in str(told)


# --- words ----------------------------------------------------------------------------------------


def test_every_reason_of_a_cut_has_its_word() -> None:
    assert set(en.CUT) == {reason.name.lower() for reason in CutReason}


def test_whatever_cuts_can_be_told_with_each_cause_of_a_cut() -> None:
    for form in ("severed", "cut_behind"):
        causes = {"cut", "rebuilt_from_value", "no_grad_write"}
        assert {cause for cause, known in en.GRADIENT if known == form} == causes


def test_many_tensors_are_told_by_the_sentences_of_one() -> None:
    """A name of one letter stands inside of other words, too."""
    a, b = leaf(), leaf()
    with gv.record() as rec:
        loss = (a.detach() * b).sum()
        loss.backward()
    found = rec.explain(a, loss)
    assert found.verdict == "a.grad is None: detach cuts it from loss."
    assert found.finding is not None
    many = worded(found.finding, Words(rec.graph), group="2 under net")
    assert many.verdict == "2 under net: .grad is None: detach cuts it from loss."


def test_only_the_memory_of_it_was_met() -> None:
    """The recording never saw the parameter, made afterwards, but the tensor whose memory it
    shares."""
    x = leaf()
    with gv.record() as rec:
        loss = (x * 2).sum()
        loss.backward()
    p = nn.Parameter(x.detach())
    assert p.data_ptr() == x.data_ptr()
    told = rec.explain(p, loss)
    assert told.cause == "not_in_loss"
    assert told.verdict == "p.grad is None: no call used p, but x, which shares its memory."
    assert told.mend == "use p itself."
