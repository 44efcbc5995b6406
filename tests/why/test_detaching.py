"""What a loop carries over is detached as the kind of thing that the name really holds."""

from __future__ import annotations

import pytest
import torch
from test_fixes import Fix, executed, told
from torch import nn

import gradviz as gv
from gradviz.why.rules.errors.detaching import detached

LOOP = """
import dataclasses
from collections import namedtuple
State = namedtuple("State", "v i")
@dataclasses.dataclass
class Held:
    v: torch.Tensor
    i: torch.Tensor
layer, s = nn.Linear(2, 2), {begin}
def cell(x, s):
    v, i = {read}
    a = torch.tanh(layer(x) * v) * i
    return a, {made}
for x in torch.ones(3, 1, 2):
    out, s = cell(x, s)
    out.sum().backward()
"""
ZEROS = "torch.ones(2), torch.ones(2)"


@pytest.mark.parametrize(
    ("begin", "read", "made", "mended"),
    [
        (f"State({ZEROS})", "s", "State(a, a * 2)", "s._make(t.detach() for t in s)"),
        (f"({ZEROS})", "s", "(a, a * 2)", "tuple(t.detach() for t in s)"),
        (f"[{ZEROS}]", "s", "[a, a * 2]", "[t.detach() for t in s]"),
        (
            "dict(v=torch.ones(2), i=torch.ones(2))",
            "s.values()",
            "dict(v=a, i=a * 2)",
            "{k: t.detach() for k, t in s.items()}",
        ),
        (
            f"Held({ZEROS})",
            "(s.v, s.i)",
            "Held(a, a * 2)",
            "dataclasses.replace(s, v=s.v.detach(), i=s.i.detach())",
        ),
    ],
    ids=["namedtuple", "tuple", "list", "dict", "dataclass"],
)
def test_the_mend_works_on_what_the_name_holds(
    begin: str, read: str, made: str, mended: str
) -> None:
    program = LOOP.format(begin=begin, read=read, made=made).strip("\n")
    answer, _ = told(Fix("", "", "", program, ()))
    assert answer.cause == "second_backward"
    line = f"s = {mended}"
    assert line in answer.mend, answer.mend
    _, error = executed(f"{program}\n    {line}\n", "mended.py")
    assert error is None


def test_of_what_is_no_tensor_nothing_is_said() -> None:
    assert detached("n", 3) == detached("n", [torch.ones(1), 3]) == detached("n", ()) == ""
    assert detached("h", ((torch.ones(1),), (torch.ones(1),))) == (
        "tuple(tuple(s.detach() for s in part) for part in h)"
    )


def test_the_line_of_a_statement_that_switches_gradients_off_is_told() -> None:
    net = nn.Linear(2, 1)
    try:
        with gv.record() as rec:
            torch.set_grad_enabled(False)
            loss = net(torch.ones(1, 2)).sum()
            loss.backward()
    except RuntimeError as error:
        answer = gv.explain(error=error, recording=rec)
    finally:
        torch.set_grad_enabled(True)
    line = answer.lines[0]
    assert f"line {line} switches gradients off" in answer.where
    assert f"line {line}" in answer.mend


def test_a_switch_that_was_taken_back_is_not_told() -> None:
    """Nor is one that was the context of a ``with``."""
    net = nn.Linear(2, 1)
    off = torch.no_grad()
    torch.set_grad_enabled(False)
    torch.set_grad_enabled(True)
    with gv.record() as rec:
        torch.set_grad_enabled(False)
        torch.set_grad_enabled(True)
        with torch.set_grad_enabled(False):
            net(torch.ones(1, 2))
        off.__enter__()
        h = net(torch.ones(1, 2))
        off.__exit__(None, None, None)
        (h * net(torch.ones(1, 2)).detach()).sum()
    (made,) = (c for c in rec.graph.calls if c.outputs and rec.find(h).id in c.outputs)  # type: ignore[union-attr]
    assert not made.grad_mode
    assert made.source is not None
    assert made.source.off is None
