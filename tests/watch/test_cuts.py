"""Every reason for a cut, in several disguises. Each program says in comments what it expects:

``# ✂ REASON input -> output``, where ``_`` is an unnamed value or one outside torch, ``*`` any
name, and ``|`` separates words that are both right.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import math
import re
import warnings
from pathlib import Path

import numpy as np
import programs
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import gradviz as gv
from gradviz.graph.records import CutReason

PROGRAMS = []


def program(function):
    """A program of this table."""
    PROGRAMS.append(function)
    return function


def expected_cuts(function) -> list[tuple[int, set[CutReason], set[str], set[str]]]:
    """(line, reasons, input names, output names) for each arrow of its comments."""
    lines, first = inspect.getsourcelines(function)
    found = []
    for line, text in enumerate(lines, first):
        if mark := re.search(r"# ✂ ([A-Z_|]+) (.*)$", text):
            reasons = {CutReason[word] for word in mark[1].split("|")}
            for arrow in mark[2].split(", "):
                source, target = (set(side.split("|")) for side in arrow.split(" -> "))
                found.append((line, reasons, source, target))
    return found


def actual_cuts(graph) -> list[tuple[int, CutReason, str, str]]:
    """(line, reason, input name, output name), ``_`` for a value that no variable holds."""

    def variable(tensor_id):
        name = None if tensor_id is None else graph.tensor[tensor_id].code_name
        # "a.data" and "layer.weight" are not variables
        return name if name and name.isidentifier() else "_"

    return [
        (graph.call[c.call_id].source.line, c.reason, variable(c.input_id), variable(c.output_id))
        for c in graph.cuts
    ]


def fits(expected, actual) -> bool:
    (line, reasons, source, target), cut = expected, actual
    return (
        cut[0] == line
        and cut[1] in reasons
        and all(
            name in names or "*" in names for name, names in ((cut[2], source), (cut[3], target))
        )
    )


# detach -------------------------------------------------------------------------------------------


@program
def detach_method():
    a = torch.ones(3, requires_grad=True)
    b = a.detach()  # ✂ DETACH a -> b
    return b * 2


@program
def detach_function_with_keyword():
    a = torch.ones(3, requires_grad=True)
    return torch.detach(input=a)  # ✂ DETACH a -> _


@program
def detach_a_result():
    a = torch.ones(3, requires_grad=True)
    b = (a * 2).detach()  # ✂ DETACH _ -> b
    return b


@program
def detach_then_clone():
    a = torch.ones(3, requires_grad=True)
    b = a.detach().clone()  # ✂ DETACH a -> _
    return b


@program
def detach_then_track_again():
    a = torch.ones(3, requires_grad=True)
    d = a.detach().requires_grad_()  # ✂ DETACH a -> _|d
    return (a * d).sum()


@program
def detach_a_view_of_a_leaf():
    a = torch.ones(3, requires_grad=True)
    v = a[0:2]
    b = v.detach()  # ✂ DETACH v -> b
    return b


@program
def detach_in_a_loop():
    h = torch.ones(3, requires_grad=True)
    for _ in range(3):
        h = h * 2
        h = h.detach().requires_grad_()  # ✂ DETACH h -> _|h
    return h


@program
def detach_in_a_comprehension():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    return [t.detach() for t in (a, b)]  # ✂ DETACH a -> _, b -> _


class StopGradient(nn.Module):
    def forward(self, x):
        return x.detach()


@program
def detach_in_a_lambda():
    a = torch.ones(3, requires_grad=True)
    stop = lambda t: t.detach()  # noqa: E731  # ✂ DETACH a -> b
    b = stop(a)
    return b


@program
def detach_one_side_only():
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    loss = y.detach() * x + y  # ✂ DETACH y -> _
    loss.backward()


@program
def detach_for_numpy():
    a = torch.ones(3, requires_grad=True)
    return a.detach().numpy()  # ✂ DETACH a -> _


@program
def detach_in_place():
    a = torch.ones(3, requires_grad=True)
    h = a * 2
    h.detach_()  # ✂ DETACH_IN_PLACE h -> h
    return h


@program
def detach_in_place_function():
    a = torch.ones(3, requires_grad=True)
    h = a * 2
    torch.detach_(h)  # ✂ DETACH_IN_PLACE h -> h


@program
def detach_in_place_a_leaf():
    a = torch.ones(3, requires_grad=True)
    a.detach_()  # ✂ DETACH_IN_PLACE a -> a


@program
def detach_in_place_hidden_state_of_a_loop():
    w = torch.ones(3, requires_grad=True)
    h = torch.zeros(3)
    for _ in range(2):
        h = torch.tanh(h + w)
        h.detach_()  # ✂ DETACH_IN_PLACE h -> h


# .data --------------------------------------------------------------------------------------------


@program
def data_read():
    a = torch.ones(3, requires_grad=True)
    b = a.data  # ✂ DATA a -> b
    return b


@program
def data_read_by_getattr():
    a = torch.ones(3, requires_grad=True)
    b = getattr(a, "data")  # noqa: B009  # ✂ DATA a -> b
    return b


@program
def data_read_then_copied():
    a = torch.ones(3, requires_grad=True)
    b = a.data.clone()  # ✂ DATA a -> _
    return b


@program
def data_written_through():
    a = torch.ones(3, requires_grad=True)
    a.data.mul_(2)  # ✂ DATA a -> _
    a.data[0] = 5.0  # ✂ DATA a -> _


@program
def data_augmented():
    a = torch.ones(3, requires_grad=True)
    a.data -= 0.1  # ✂ DATA a -> _


@program
def data_of_a_parameter():
    layer = nn.Linear(2, 2)
    layer.weight.data.fill_(1.0)  # ✂ DATA * -> _


@program
def data_assigned_a_tracked_value():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    h = a * 2
    k.data = h  # ✂ DATA h -> k
    return k


@program
def data_of_a_leaf_assigned_a_tracked_value():
    a = torch.ones(3, requires_grad=True)
    h = a * 2
    a.data = h  # ✂ DATA h -> a


# no_grad, set_grad_enabled ------------------------------------------------------------------------


@program
def no_grad_block():
    a = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        b = a * 2  # ✂ NO_GRAD a -> b
        c = b + 1
    return c


@torch.no_grad()
def double_untracked(x):
    y = x * 2
    return y


@program
def no_grad_two_inputs_and_one_twice():
    a = torch.ones(3, requires_grad=True)
    c = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        b = a + c  # ✂ NO_GRAD a -> b, c -> b
        d = a * a  # ✂ NO_GRAD a -> d
    return b + d


@program
def no_grad_constant_beside_it():
    a = torch.ones(3, requires_grad=True)
    k = torch.ones(3)
    with torch.no_grad():
        b = torch.mul(input=k, other=a)  # ✂ NO_GRAD a -> b
    return b


@program
def no_grad_list_input():
    a = torch.ones(3, requires_grad=True)
    h, g = a * 2, a * 3
    with torch.no_grad():
        s = torch.stack([h, g])  # ✂ NO_GRAD h -> s, g -> s
    return s


@program
def no_grad_view():
    a = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        v = a.view(2, 2)  # ✂ NO_GRAD a -> v
        w = a[0:2]  # ✂ NO_GRAD a -> w
    return v.sum() + w.sum()


@program
def no_grad_several_outputs():
    a = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        p, q = a.unbind()  # ✂ NO_GRAD a -> p|q|*
    return p + q


@program
def no_grad_layer():
    x = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(4, 3, requires_grad=True)
    with torch.no_grad():
        y = F.linear(x, weight=w)  # ✂ NO_GRAD x -> y, w -> y
    return y


@program
def no_grad_around_a_custom_function():
    a = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        b = programs.Square.apply(a)  # ✂ NO_GRAD a -> b
    return b


@program
def no_grad_with_an_enabled_island():
    a = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        b = a * 2  # ✂ NO_GRAD a -> b
        with torch.enable_grad():
            c = a * 3
    return b + c


@program
def no_grad_in_a_loop_by_exit_stack():
    a = torch.ones(3, requires_grad=True)
    for frozen in (True, False):
        with contextlib.ExitStack() as stack:
            if frozen:
                stack.enter_context(torch.no_grad())
            b = a * 2  # ✂ NO_GRAD a -> b
    return b


@program
def no_grad_evaluation():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    x = torch.ones(1, 2)
    with torch.no_grad():
        y = model(x)  # ✂ NO_GRAD * -> *, * -> *
    return y


@program
def set_grad_enabled_block():
    a = torch.ones(3, requires_grad=True)
    with torch.set_grad_enabled(False):
        b = a.exp()  # ✂ NO_GRAD a -> b
    with torch.set_grad_enabled(True):
        c = a.exp()
    return b + c


@program
def set_grad_enabled_statement():
    a = torch.ones(3, requires_grad=True)
    torch.set_grad_enabled(False)
    b = a.exp()  # ✂ NO_GRAD a -> b
    torch.set_grad_enabled(True)
    return b


# inference_mode -----------------------------------------------------------------------------------


@program
def inference_mode_block():
    a = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        b = a * 2  # ✂ INFERENCE_MODE a -> b
        c = b + 1
    return c


@program
def inference_mode_is_not_lifted_by_enable_grad():
    a = torch.ones(3, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        b = a * 2  # ✂ INFERENCE_MODE a -> b
    return b


@program
def inference_mode_view_and_layer():
    x = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(4, 3, requires_grad=True)
    with torch.inference_mode():
        v = x[0]  # ✂ INFERENCE_MODE x -> v
        y = F.linear(v, w)  # ✂ INFERENCE_MODE w -> y
    return y


# non-differentiable functions ---------------------------------------------------------------------


@program
def argmax():
    a = torch.ones(3, requires_grad=True)
    i = a.argmax()  # ✂ NOT_DIFFERENTIABLE a -> i
    return a[i]


@program
def argmin_argsort_functions():
    a = torch.ones(3, requires_grad=True)
    i = torch.argmin(a, dim=0)  # ✂ NOT_DIFFERENTIABLE a -> i
    j = torch.argsort(input=a)  # ✂ NOT_DIFFERENTIABLE a -> j
    return i, j


@program
def comparison_operator():
    a = torch.ones(3, requires_grad=True)
    m = a > 0  # ✂ NOT_DIFFERENTIABLE a -> m
    n = 0 < a  # noqa: SIM300  # ✂ NOT_DIFFERENTIABLE a -> n
    return m, n


@program
def comparison_of_two_tracked_values():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    m = a == b  # ✂ NOT_DIFFERENTIABLE a -> m, b -> m
    return m


@program
def comparison_with_a_constant():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    m = torch.ge(k, a)  # ✂ NOT_DIFFERENTIABLE a -> m
    return m


@program
def comparison_inside_where():
    a = torch.ones(3, requires_grad=True)
    b = torch.where(a > 0, a, a * 0.1)  # ✂ NOT_DIFFERENTIABLE a -> _
    return b


@program
def comparison_in_an_if():
    a = torch.ones(3, requires_grad=True)
    loss = a.sum()
    if loss > 1:  # ✂ NOT_DIFFERENTIABLE loss -> _
        loss = loss * 2
    return loss


@program
def comparisons_combined():
    a = torch.ones(3, requires_grad=True)
    c = torch.ones(3, requires_grad=True)
    m = (a > 0) & (c < 2)  # ✂ NOT_DIFFERENTIABLE a -> _, c -> _
    return m


@program
def comparison_as_mask_index():
    a = torch.ones(3, requires_grad=True)
    b = a[a > 0]  # ✂ NOT_DIFFERENTIABLE a -> _
    return b


@program
def special_values():
    a = torch.ones(3, requires_grad=True)
    n = torch.isnan(a)  # ✂ NOT_DIFFERENTIABLE a -> n
    f = a.isfinite()  # ✂ NOT_DIFFERENTIABLE a -> f
    return n, f


@program
def comparison_to_python_bool():
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    return torch.equal(a, b)  # ✂ NOT_DIFFERENTIABLE|COPIED_OUT a -> _, b -> _


@program
def accuracy():
    a = torch.ones(2, 3, requires_grad=True)
    target = torch.tensor([0, 1])
    hits = (a.argmax(dim=1) == target).float().mean()  # ✂ NOT_DIFFERENTIABLE a -> _
    return hits


# integer and bool dtypes --------------------------------------------------------------------------


@program
def integer_casts():
    a = torch.ones(3, requires_grad=True)
    b = a.long()  # ✂ INTEGER_DTYPE a -> b
    c = a.to(torch.int32)  # ✂ INTEGER_DTYPE a -> c
    d = a.to(dtype=torch.uint8)  # ✂ INTEGER_DTYPE a -> d
    e = a.type(torch.int16)  # ✂ INTEGER_DTYPE a -> e
    f = a.int().float()  # ✂ INTEGER_DTYPE a -> _
    return b, c, d, e, f


@program
def bool_cast():
    a = torch.ones(3, requires_grad=True)
    b = a.bool()  # ✂ INTEGER_DTYPE a -> b
    return b


@program
def cast_to_the_dtype_of_another():
    a = torch.ones(3, requires_grad=True)
    k = torch.tensor([1, 2, 3])
    b = a.to(k)  # ✂ INTEGER_DTYPE a -> b
    return b


@program
def cast_in_a_write():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3, dtype=torch.long)
    k.copy_(a)  # ✂ INTEGER_DTYPE a -> k
    return k


@program
def cast_in_a_loop_through_a_dict():
    a = torch.ones(3, requires_grad=True)
    made = {}
    for dtype in (torch.int64, torch.float64):
        made[dtype] = a.to(dtype)  # ✂ INTEGER_DTYPE a -> *
    return made


# values copied out --------------------------------------------------------------------------------


@program
def item():
    a = torch.tensor(2.0, requires_grad=True)
    x = a.item()  # ✂ COPIED_OUT a -> _
    return a * x


@program
def item_of_a_loss_in_a_loop():
    a = torch.ones(3, requires_grad=True)
    total = 0.0
    for _ in range(2):
        loss = (a * 2).sum()
        total += loss.item()  # ✂ COPIED_OUT loss -> _
    return total


@program
def tolist():
    a = torch.ones(3, requires_grad=True)
    x = a.tolist()  # ✂ COPIED_OUT a -> _
    return torch.tensor(x)


@program
def python_numbers():
    a = torch.tensor(2.0, requires_grad=True)
    x = float(a)  # ✂ COPIED_OUT a -> _
    i = int(a)  # ✂ COPIED_OUT a -> _
    b = bool(a)  # ✂ COPIED_OUT a -> _
    return x, i, b


@program
def truth_of_a_tensor():
    a = torch.tensor(2.0, requires_grad=True)
    if a:  # ✂ COPIED_OUT a -> _
        a = a * 2
    return a


@program
def math_function():
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(math.sqrt(a))  # ✂ COPIED_OUT a -> _
    return b


@program
def torch_tensor_of_a_tensor():
    a = torch.ones(3, requires_grad=True)
    b = torch.tensor(a)  # ✂ COPIED_OUT a -> b
    return b


@program
def torch_tensor_of_a_list():
    a = torch.tensor(2.0, requires_grad=True)
    c = a * 2
    b = torch.tensor([a, c])  # ✂ COPIED_OUT a -> b, c -> b
    return b


@program
def torch_tensor_that_requires_grad():
    a = torch.ones(3, requires_grad=True)
    b = torch.tensor(a, requires_grad=True)  # ✂ COPIED_OUT a -> b
    return b


@program
def new_tensor():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    b = a.new_tensor(a)  # ✂ COPIED_OUT a -> b
    c = k.new_tensor(data=a)  # ✂ COPIED_OUT a -> c
    return b, c


@program
def numpy_by_force():
    a = torch.ones(3, requires_grad=True)
    x = a.numpy(force=True)  # ✂ COPIED_OUT a -> _
    return x


@program
def numpy_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        x = a.numpy()  # ✂ COPIED_OUT a -> _
        y = np.asarray(a)  # ✂ COPIED_OUT a -> _
    return x, y


@program
def deep_copy_of_a_leaf():
    a = torch.ones(3, requires_grad=True)
    b = copy.deepcopy(a)  # ✂ COPIED_OUT a -> b
    return b


@program
def item_of_a_view():
    a = torch.ones(3, requires_grad=True)
    x = a[0].item()  # ✂ COPIED_OUT _ -> _
    return x


@program
def item_in_a_comprehension():
    a = torch.ones(2, requires_grad=True)
    p, q = a.unbind()
    return [t.item() for t in (p, q)]  # ✂ COPIED_OUT p -> _, q -> _


# in-place writes under no_grad --------------------------------------------------------------------


@program
def copy_into_a_buffer_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    with torch.no_grad():
        k.copy_(a)  # ✂ NO_GRAD_WRITE a -> k
    return k


@program
def augmented_add_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    with torch.no_grad():
        k += a  # ✂ NO_GRAD_WRITE a -> k
    return k


@program
def write_of_one_leaf_into_another():
    a = torch.ones(3, requires_grad=True)
    b = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        b.copy_(src=a) if False else b.copy_(a)  # ✂ NO_GRAD_WRITE a -> b
    return b


@program
def item_assignment_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    with torch.no_grad():
        k[...] = a  # ✂ NO_GRAD_WRITE a -> k
    return k


@program
def moving_average_of_parameters():
    a = torch.ones(3, requires_grad=True)
    average = torch.zeros(3)
    for _ in range(2):
        with torch.no_grad():
            average.mul_(0.9).add_(a, alpha=0.1)  # ✂ NO_GRAD_WRITE a -> average
    return average


@program
def moving_average_by_lerp_():
    a = torch.ones(3, requires_grad=True)
    average = torch.zeros(3)
    with torch.set_grad_enabled(False):
        average.lerp_(a, 0.1)  # ✂ NO_GRAD_WRITE a -> average
    return average


@program
def out_argument_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    with torch.no_grad():
        torch.add(a, 1.0, out=k)  # ✂ NO_GRAD_WRITE|NO_GRAD a -> k
    return k


@program
def foreach_copy_under_no_grad():
    a = torch.ones(3, requires_grad=True)
    b = torch.ones(2, requires_grad=True)
    k, m = torch.zeros(3), torch.zeros(2)
    with torch.no_grad():
        torch._foreach_copy_([k, m], [a, b])  # ✂ NO_GRAD_WRITE a -> k|m, b -> k|m
    return k, m


@program
def write_into_a_view_under_no_grad():
    a = torch.ones(2, requires_grad=True)
    k = torch.zeros(4)
    v = k[0:2]
    with torch.no_grad():
        v.copy_(a)  # ✂ NO_GRAD_WRITE a -> v
    return k


@program
def write_under_inference_mode():
    a = torch.ones(3, requires_grad=True)
    k = torch.zeros(3)
    with torch.inference_mode():
        k.copy_(a)  # ✂ INFERENCE_MODE|NO_GRAD_WRITE a -> k
    return k


# flags switched off -------------------------------------------------------------------------------


@program
def flag_off_by_method():
    a = torch.ones(3, requires_grad=True)
    a.requires_grad_(False)  # ✂ FLAG_OFF a -> a
    return a * 2


@program
def flag_off_by_keyword():
    a = torch.ones(3, requires_grad=True)
    a.requires_grad_(requires_grad=False)  # ✂ FLAG_OFF a -> a


@program
def flag_off_by_attribute():
    a = torch.ones(3, requires_grad=True)
    a.requires_grad = False  # ✂ FLAG_OFF a -> a
    return a * 2


@program
def flag_off_by_setattr_and_on_again():
    a = torch.ones(3, requires_grad=True)
    setattr(a, "requires_grad", False)  # noqa: B010  # ✂ FLAG_OFF a -> a
    a.requires_grad = False
    a.requires_grad = True
    return a * 2


@program
def freeze_parameters_one_by_one():
    layer = nn.Linear(2, 2)
    for p in layer.parameters():
        p.requires_grad_(False)  # ✂ FLAG_OFF * -> *, * -> *


@program
def freeze_a_model():
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    model.requires_grad_(False)  # ✂ FLAG_OFF * -> *


# custom Functions ---------------------------------------------------------------------------------


@program
def custom_non_differentiable_output():
    a = torch.ones(3, requires_grad=True)
    b = programs.Step.apply(a)  # ✂ CUSTOM_NON_DIFFERENTIABLE a -> b
    return b


@program
def custom_non_differentiable_output_of_a_view():
    a = torch.ones(3, requires_grad=True)
    v = a[1:]
    b = programs.Step.apply(v) * 2  # ✂ CUSTOM_NON_DIFFERENTIABLE v -> _
    return b


@program
def several_reasons_in_one_program():
    a = torch.ones(3, requires_grad=True)
    b = a.detach() + a.data  # ✂ DETACH a -> _
    c = a * b
    with torch.no_grad():
        c = c.exp()  # ✂ NO_GRAD c -> c
    return c


def record(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.tensor(tensor) and float(tensor) warn
        with gv.record() as rec:
            kept = [function()]  # a result that nobody keeps is gone before it can be looked at
    del kept
    return rec.graph


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_cuts_are_those_of_the_comments(function):
    expected, actual = expected_cuts(function), actual_cuts(record(function))
    # two cuts on one line: one stands in its comment
    if function is several_reasons_in_one_program:
        line, _, source, target = expected[0]
        expected.append((line, {CutReason.DATA}, source, target))
    assert expected, "every program of this table has a cut"
    assert [a for a in actual if not any(fits(e, a) for e in expected)] == [], (
        "cuts that nobody expects"
    )
    assert [e for e in expected if not any(fits(e, a) for a in actual)] == [], (
        "cuts that were missed"
    )


@pytest.mark.parametrize(
    "reason", [r for r in CutReason if r is not CutReason.UNKNOWN], ids=lambda r: r.name
)
def test_every_reason_stands_in_the_table(reason):
    assert (
        sum(any(reasons == {reason} for _, reasons, _, _ in expected_cuts(f)) for f in PROGRAMS)
        >= 2
    )


def test_a_loop_cuts_once_a_turn():
    graph = record(detach_in_a_loop)
    assert len(graph.cuts) == 3
    assert len({c.call_id for c in graph.cuts}) == 3


def test_one_value_read_twice_by_a_call_is_one_cut():
    def square():
        a = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            return a * a

    assert len(record(square).cuts) == 1


def test_a_cut_in_another_file_names_that_file():
    def call():
        a = torch.ones(3, requires_grad=True)
        b = programs.cut_elsewhere(a)
        return b

    (cut,) = (graph := record(call)).cuts
    source = graph.call[cut.call_id].source
    assert Path(source.file).name == "programs.py"
    assert "x.detach()" in inspect.getsourcelines(programs)[0][source.line - 1]
    assert (graph.tensor[cut.input_id].name, graph.tensor[cut.output_id].name) == ("a", "b")


def test_a_cut_in_a_module_names_line_and_caller():
    model = nn.Sequential(StopGradient())

    def call():
        a = torch.ones(3, requires_grad=True)
        b = model(a)
        return b

    (cut,) = (graph := record(call)).cuts
    lines, first = inspect.getsourcelines(StopGradient)
    assert graph.call[cut.call_id].source.line == first + len(lines) - 1
    assert graph.tensor[cut.input_id].name == "a"


def test_a_decorated_function_cuts_inside():
    def call():
        a = torch.ones(3, requires_grad=True)
        b = double_untracked(a)
        return b

    (cut,) = (graph := record(call)).cuts
    assert cut.reason is CutReason.NO_GRAD
    assert graph.tensor[cut.input_id].name == "a"
    lines, first = inspect.getsourcelines(double_untracked)
    assert "y = x * 2" in lines[graph.call[cut.call_id].source.line - first]


def test_leaves_older_than_the_recording_are_named_by_their_use():
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        b = a.detach()
    (cut,) = (graph := rec.graph).cuts
    assert (graph.tensor[cut.input_id].name, graph.tensor[cut.output_id].name) == ("a", "b")
    assert b.requires_grad is False


@pytest.mark.parametrize(
    "reader",
    [lambda a: a.max(dim=0), torch.sort, programs.Best.apply, lambda a: a.topk(1)],
    ids=["max", "sort", "custom", "topk"],
)
def test_a_value_that_reaches_one_of_several_outputs_is_not_cut(reader):
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        reader(a)
    assert list(rec.graph.cuts) == []


def test_a_value_that_reaches_only_some_outputs_of_multihead_attention_is_not_cut():
    attention = nn.MultiheadAttention(4, 2)
    x = torch.ones(3, 1, 4, requires_grad=True)
    with gv.record() as rec:
        attention(x, x, x)
    assert list(rec.graph.cuts) == []


def test_what_is_given_back_to_data_leaves_no_value_outside_of_torch():
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        a.data -= 0.1
    (cut,) = rec.graph.cuts
    assert cut.output_id is not None
    assert rec.graph.tensor[cut.output_id].object_id != rec.graph.tensor[cut.input_id].object_id
