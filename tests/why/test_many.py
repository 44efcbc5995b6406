"""One answer for many tensors: their names stand in one place, and nothing else of the sentence
changes."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.findings import Cause
from gradviz.why.rules.many import pattern


def made_in_inference_mode(*names: str) -> dict[str, torch.Tensor]:
    with torch.inference_mode():
        return {name: torch.ones(1) for name in names}


@pytest.mark.parametrize(
    ("names", "together"),
    [
        (("a", "i"), "{a,i}"),  # letters of the sentence
        (("in", "was"), "{in,was}"),  # words of the sentence
        (("grad", "it"), "{grad,it}"),
        (("blocks.0.w", "blocks.1.w"), "blocks.{0,1}.w"),
    ],
)
def test_a_name_that_stands_in_the_sentence_too_changes_no_word(
    names: tuple[str, ...], together: str
) -> None:
    told = gv.explain(made_in_inference_mode(*names), names={})
    assert told.verdict == f"{together}: .grad is None: it was made in inference_mode."
    alone = gv.explain(made_in_inference_mode(names[0]), names={})
    assert alone.verdict == f"{names[0]}.grad is None: {names[0]} was made in inference_mode."
    assert (told.cause, told.why) == (alone.cause, alone.why) != (Cause.NOT_KNOWN, "")


def test_what_is_told_of_all_says_what_was_found() -> None:
    """The finding is that of the sentence: of all of them, not of the first."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    with gv.record() as rec:
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
    told = rec.explain(net, loss)
    assert told.verdict == (
        "4 of 4 trainable parameters have a gradient; none is None, all zeros or NaN."
    )
    assert told.finding is not None
    assert (told.finding.cause, told.finding.form) == (Cause.HEALTHY, "fine")
    net.requires_grad_(False)
    told = gv.explain(net, loss)
    assert told.verdict.endswith(" are frozen: none of these 4 parameters gets a gradient.")
    assert told.finding is not None
    assert (told.finding.cause, told.finding.form) == (Cause.FROZEN, "all_frozen")


def test_some_of_them_are_frozen() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    net[0].requires_grad_(False)
    unused = nn.Linear(2, 1)
    with gv.record() as rec:
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
    told = rec.explain(net, loss)
    assert told.verdict == (
        "2 of 2 trainable parameters have a gradient, 2 frozen; none is None, all zeros or NaN."
    )
    told = rec.explain([*net.parameters(), *unused.parameters()], loss)
    assert told.more[0] == "4 trainable parameters: 2 reached, 2 not, 2 frozen."


class Parts(nn.Module):
    """A stem that is cut off, a head that trains, and layers that nobody calls."""

    def __init__(self, spare: int) -> None:
        super().__init__()
        self.stem = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)
        self.spare = nn.ModuleList(nn.Linear(2, 2) for _ in range(spare))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.stem(x).detach())


@pytest.mark.parametrize("spare", [1, 3, 9])
def test_the_graver_fault_is_told_however_many_share_a_lighter_one(spare: int) -> None:
    """A layer that is not called may be meant; a detach before the head cannot be."""
    net = Parts(spare)
    with gv.record() as rec:
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
    told = rec.explain(net, loss)
    assert told.cause is Cause.CUT
    assert told.verdict.startswith("net.stem.{weight,bias}: ")
    spares = "0" if spare == 1 else f"{{0..{spare - 1}}}"
    assert told.more[1].startswith(f"net.spare.{spares}.{{weight,bias}}: .grad is None: no call")


def test_of_equally_grave_faults_what_points_at_something_is_told_first() -> None:
    """NaN in four parameters whose origin nobody saw, and a cut in two: the cut has a line."""
    net = Parts(0)
    with gv.record() as rec:
        loss = net(torch.ones(1, 2)).sum()
        loss.backward()
    broken = [nn.Parameter(torch.ones(2)) for _ in range(4)]
    for p in broken:
        p.grad = torch.full((2,), torch.nan)
    told = rec.explain([*broken, *net.stem.parameters()])
    assert told.cause is Cause.CUT
    assert told.lines


def test_of_equally_grave_faults_the_one_that_more_share_is_told_first() -> None:
    net = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2)})
    head = nn.Linear(2, 1)
    with gv.record() as rec:
        one = net["a"](torch.ones(1, 2)).detach()
        two = net["b"](torch.ones(1, 2)).detach()
        loss = head(one + two).sum()
        loss.backward()
    told = rec.explain(net, loss)
    assert told.verdict.startswith("net.b.{weight,bias}: ")
    assert told.more[1].startswith("net.a.weight.grad is None: detach")


@pytest.mark.parametrize(
    ("names", "together"),
    [
        ([f"l.{i}.{w}" for i in range(12) for w in ("q", "k")], "l.{0..11}.{q,k}"),
        ([f"l.{w}" for w in "abcd"], "l.{a,b,c,d}"),
        ([f"l.{w}" for w in "abcde"], "l.{a,b,c,…} (5 in all)"),
        (["l.a", "l.b.c"], "l.a and l.b.c"),
        (["l.a.x", "l.b.y"], "l.a.x and l.b.y"),
        (["a", "b.c", "d.e.f", "g.h"], "a, b.c and 2 more"),
    ],
)
def test_one_name_for_many(names: list[str], together: str) -> None:
    assert pattern(names) == together
