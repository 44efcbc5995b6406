"""A fix is enough: applied alone, as it is written, it takes the symptom away, also where the thing
named is registered, where several places have the same fault, and where the tensor has no name.

Each program is asked bare, has its symptom, and is run again with the edit that the answer tells.
"""

from __future__ import annotations

import linecache
import warnings
from typing import Any, NamedTuple

import pytest
import torch
from torch import nn
from torch.nn import functional

import gradviz as gv
from gradviz.why.shown.explanation import Explanation


class Told(NamedTuple):
    """What a program was told, its variables, and whether it raised."""

    answer: Explanation
    known: dict[str, Any]
    error: Exception | None


def run(program: str) -> tuple[dict[str, Any], Exception | None]:
    """Run a program; return its variables, and the error that ended it."""
    torch.manual_seed(0)
    known = {"torch": torch, "nn": nn, "F": functional, "__name__": "__main__"}
    linecache.cache["program.py"] = len(program), None, program.splitlines(True), "program.py"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(program, "program.py", "exec"), known)
    except (RuntimeError, TypeError, AttributeError) as error:
        return known, error
    return known, None


def told(program: str) -> Told:
    """Run a program under a recording, and ask bare."""
    with gv.record() as recording:
        known, error = run(program)
    names = {n: v for n, v in known.items() if n not in ("torch", "nn", "F") and n[0] != "_"}
    return Told(gv.explain(error=error, recording=recording, names=names), known, error)


def words_of(answer: Explanation) -> str:
    return " ".join([answer.verdict, answer.why, answer.mend, *answer.odd, *answer.more])


def is_gone(program: str, edits: dict[str, str], expression: str) -> bool:
    """Say whether a program that is edited raises no more, and an expression is true of it."""
    for old, new in edits.items():
        assert old in program
        program = program.replace(old, new)
    known, error = run(program)
    assert error is None, error
    return bool(eval(expression, known))


# --- a result in the .data of what is registered --------------------------------------------------

GATED = """
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.loc = nn.Parameter(torch.ones(3))
        self.mask = nn.Parameter(torch.zeros(3), requires_grad=False)
        self.layer = nn.Linear(3, 1)
    def forward(self, x):
        self.mask.data = torch.sigmoid(self.loc * 2)
        return self.layer(x * self.mask) + 0.001 * self.loc.sum()
net = Gate()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(4, 3)
net(x).pow(2).mean().backward()
optimizer.step()
far = (net.loc.grad - net.loc.grad[0]).abs().max()
"""


def test_what_is_given_to_data_is_to_be_read_itself() -> None:
    answer = told(GATED).answer
    assert (
        "keep torch.sigmoid(self.loc * 2) in a variable, and read that in the place of self.mask"
    ) in words_of(answer)
    edits = {
        "self.mask.data = torch.sigmoid": "mask = torch.sigmoid",
        "x * self.mask": "x * mask",
    }
    assert is_gone(GATED, edits, "far > 0")
    assert not is_gone(GATED, {}, "far > 0")


def test_other_data_is_to_be_left_out() -> None:
    program = GATED.replace("self.mask.data = torch.sigmoid(self.loc * 2)", "").replace(
        "x * self.mask", "x * torch.sigmoid(self.loc * 2).data"
    )
    answer = told(program).answer
    assert "leave .data out there" in words_of(answer)
    assert is_gone(program, {"(self.loc * 2).data": "(self.loc * 2)"}, "far > 0")


# --- the same fault at several places -------------------------------------------------------------

SCALED = """
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
        self.factor = nn.Parameter(torch.ones(1)).to(torch.float64)
        self.shift = nn.Parameter(torch.zeros(1)).to(torch.float64)
    def forward(self, x):
        return self.layer(x).double() * self.factor + self.shift
net = Scale()
net(torch.ones(4, 3)).mean().backward()
net.factor.grad *= 0.01
net.shift.grad *= 0.01
"""


def test_parameters_that_were_moved_alike_are_all_named() -> None:
    asked = told(SCALED)
    assert isinstance(asked.error, TypeError)
    assert asked.answer.form == "parameters_moved"
    assert "self.shift (line 7) too" in asked.answer.mend
    edits = {
        "nn.Parameter(torch.ones(1)).to(torch.float64)": (
            "nn.Parameter(torch.ones(1).to(torch.float64))"
        ),
        "nn.Parameter(torch.zeros(1)).to(torch.float64)": (
            "nn.Parameter(torch.zeros(1).to(torch.float64))"
        ),
    }
    assert is_gone(SCALED, edits, "net.factor.grad is not None")


def test_a_parameter_beside_that_was_moved_first_is_not_named() -> None:
    right = SCALED.replace(
        "nn.Parameter(torch.zeros(1)).to(torch.float64)",
        "nn.Parameter(torch.zeros(1).to(torch.float64))",
    )
    asked = told(right)
    assert asked.answer.form == "parameter_moved"
    assert "shift" not in asked.answer.mend


FROZEN = """
net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
for p in net[0].parameters():
    p.requires_grad = False
for p in net[1].parameters():
    p.requires_grad = False
loss = net(torch.ones(2, 3)).mean()
loss.backward()
"""


def test_of_several_lines_that_freeze_one_has_to_go() -> None:
    answer = told(FROZEN).answer
    assert "in that one of these lines whose parameters are to learn, and only there" in answer.mend
    assert "line 4 (net.0.{weight,bias})" in answer.mend
    assert "line 6 (net.1.{weight,bias})" in answer.mend
    edits = {"net[1].parameters():\n    p.requires_grad = False": "net[1].parameters(): pass"}
    assert is_gone(FROZEN, edits, "net[1].weight.grad is not None and net[0].weight.grad is None")


def test_one_line_that_freezes_all_is_told_as_it_was() -> None:
    program = FROZEN.replace("net[0].parameters()", "net.parameters()").replace(
        "for p in net[1].parameters():\n    p.requires_grad = False\n", ""
    )
    answer = told(program).answer
    assert answer.mend == "leave requires_grad on, until the forward has run, for what is to learn."
    assert is_gone(program, {"= False": "= True"}, "net[1].weight.grad is not None")


# --- a flag that only silences the error ----------------------------------------------------------

SILENCED = """
net = nn.Linear(3, 1)
def loss_of(x):
    with torch.no_grad():
        out = net(x).mean()
    out.requires_grad = True
    return out
loss = loss_of(torch.ones(2, 3))
loss.backward()
"""


def test_a_flag_that_was_set_by_another_name_has_to_go_too() -> None:
    answer = told(SILENCED).answer
    assert "leave out.requires_grad = True (program.py line 6) out too" in answer.mend
    assert "…" not in str(answer)
    edits = {
        "    with torch.no_grad():\n        out": "    out",
        "    out.requires_grad = True\n": "",
    }
    assert is_gone(SILENCED, edits, "net.weight.grad is not None")


def test_a_loss_of_another_name_made_of_a_number_is_not_to_be_left_out() -> None:
    program = """
net = nn.Linear(3, 1)
loss = net(torch.ones(2, 3)).mean()
total = torch.tensor(loss.item(), requires_grad=True)
total.backward()
"""
    answer = told(program).answer
    assert "out too" not in answer.mend
    assert "makes it one" in answer.mend


# --- a tensor that has no name --------------------------------------------------------------------

IN_A_BATCH = """
net = nn.Linear(3, 1)
batches = [{'image': torch.rand(2, 3), 'label': torch.ones(2)} for _ in range(3)]
for batch in batches:
    loss = (net(batch['image'])[:, 0] - batch['label']).pow(2).mean()
    loss.backward()
    seen = batch['image'].grad
"""


def test_a_tensor_without_a_name_is_called_as_the_code_calls_it() -> None:
    answer = told(IN_A_BATCH).answer
    assert answer.cause == "never_tracked"
    assert answer.verdict.startswith("batch['image'].grad is None")
    assert answer.lines == (3,)
    assert "batch['image'].requires_grad_() before the forward" in answer.mend
    edits = {"    loss =": "    batch['image'].requires_grad_()\n    loss ="}
    assert is_gone(IN_A_BATCH, edits, "seen is not None")


def test_of_a_loop_the_last_one_is_meant() -> None:
    program = """
net = nn.Linear(3, 1)
xs = [torch.rand(2, 3) for _ in range(3)]
for x in xs:
    net(x).sum().backward()
for x in xs:
    seen = x.grad
"""
    answer = told(program).answer
    assert answer.verdict.startswith("x.grad is None")
    assert "this tensor" not in words_of(answer)
    assert is_gone(
        program, {"    net(x)": "    x.requires_grad_()\n    net(x)"}, "seen is not None"
    )


def test_where_a_gradient_is_there_no_such_tensor_is_told() -> None:
    asked = told(
        IN_A_BATCH.replace("    loss =", "    batch['image'].requires_grad_()\n    loss =")
    )
    assert asked.answer.cause == "healthy"


# --- the numbers of entries -----------------------------------------------------------------------


def test_the_indices_beside_the_values_cut_the_loss_off() -> None:
    """They were told as "nothing requires grad", though the net does."""
    program = """
net = nn.Linear(3, 4)
label = net(torch.ones(2, 3)).max(1)[1].float()
loss = (label - 1).pow(2).mean()
loss.backward()
"""
    answer = told(program).answer
    assert (answer.cause, answer.form) == ("no_grad_fn", "cut")
    assert answer.lines[0] == 3
    assert "an index has no gradient" in answer.mend


@pytest.mark.parametrize("taken", ["max(1)[0]", "topk(2).values", "sort(1)[0]", "median(1).values"])
def test_the_values_cut_nothing_off(taken: str) -> None:
    program = f"""
net = nn.Linear(3, 4)
best = net(torch.ones(2, 3)).{taken}
best.pow(2).mean().backward()
"""
    assert told(program).answer.cause == "healthy"


def test_a_loss_of_plain_numbers_is_cut_by_no_index() -> None:
    program = """
x = torch.ones(2, 4)
loss = x.max(1)[1].float().mean()
loss.backward()
"""
    assert told(program).answer.form != "cut"
