"""The quick way to note a usual call and the general way give the same graph."""

from __future__ import annotations

import warnings

import programs
import pytest
import torch
from oracle import record_program
from sampling import sampled

import gradviz as gv
from gradviz.graph.records import CutReason, Graph
from gradviz.watch import cuts

PROGRAMS, BLOCK = 400, 50


# Without the first no call is taken for a usual one; without the second the general way takes over
# after it has run.
WAYS = pytest.mark.parametrize("without", ["given", "entry"])


def numbered(graph: Graph) -> Graph:
    """Torch's numbers of nodes go on from run to run: only their order is the same. Of the
    statements around a call only its own: the test itself runs twice, from two lines."""
    order = sorted(n.sequence_nr for n in graph.nodes if n.sequence_nr is not None)
    own = [
        c._replace(source=c.source and c.source._replace(frames=c.source.frames[:1]))
        for c in graph.calls
    ]
    return graph.replace(
        calls=own,
        nodes=[
            n._replace(sequence_nr=n.sequence_nr and order.index(n.sequence_nr))
            for n in graph.nodes
        ],
    )


def compared(run, without: str, monkeypatch) -> int:
    """Runs with and without the quick way, and compares. Returns how many calls were noted the
    quick way."""
    quick = run()
    with monkeypatch.context() as patch:
        patch.setattr(cuts, without, lambda *_: None)
        general = run()
    assert numbered(quick.graph).to_json() == numbered(general.graph).to_json()
    found = [sum(kind == "usual" for kind, *_ in rec._recorder.log) for rec in (quick, general)]
    assert found[1] == 0
    return found[0]


@pytest.fixture
def filled_memory():
    """``empty_like`` gives what lies in memory, unless torch is asked to fill it."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


def in_programs(first, compared):
    """How much was compared in a block of random programs, each recorded by a function of nothing."""

    def run():
        torch.manual_seed(0)
        return record_program(program, "<program>")[1]

    found = 0
    for seed in range(first, first + BLOCK):
        program = programs.build(programs.statement_seeds(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += compared(run)
    return found


@WAYS
@pytest.mark.parametrize("first", sampled(range(0, PROGRAMS, BLOCK), 2))
@pytest.mark.usefixtures("filled_memory")
def test_random_programs(first, without, monkeypatch):
    found = in_programs(first, lambda run: compared(run, without, monkeypatch))
    assert found > 2 * BLOCK  # else this compares nothing


@WAYS
def test_a_loop_on_known_tensors(without, monkeypatch):
    def run():
        h = torch.ones(3, requires_grad=True)
        w = torch.nn.Parameter(torch.full((3,), 0.5))
        old = w * 2
        with gv.record() as rec:
            for _ in range(300):  # longer than an unguarded path
                k = torch.sigmoid(h * w + 1.0)
                h = torch.sub(k.view(3, 1).sum(dim=1), old, alpha=0.25)
            h.sum().backward()
        return rec

    assert compared(run, without, monkeypatch) > 1500


@WAYS
def test_tensors_in_lists(without, monkeypatch):
    class Joined(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([[2.0, 3.0]]))

        def forward(self, x, y):
            return torch.nn.functional.bilinear(x, y, torch.ones(1, 2, 2)) + torch.cat(
                (self.scale, y)
            ).sum(0)

    def run():
        torch.manual_seed(0)
        a = torch.ones(1, 2, requires_grad=True)
        joined = Joined()
        with gv.record() as rec:
            for _ in range(3):
                b, number = a * 2, a.detach() + 1
                c = torch.cat([a, b, number])
                d = torch.stack(tensors=(b, b), dim=0)
                e = torch.einsum("ij,ij->i", [c, c * 2])
                torch.hstack([number, number])
                torch.cat([number, number], out=torch.zeros(2, 2))
                picked = c[torch.tensor([0, 2]), 1:]
                deep = torch.block_diag(*[b, b])
                torch.broadcast_tensors(a, b)
                with torch.no_grad():
                    torch.cat([a, b])
                    b.mul_(1.0)
                loss = joined(a, number).sum() + d.sum() + e.sum() + picked.sum() + deep.sum()
                loss.backward()
            with pytest.raises(RuntimeError):
                torch.cat([a, torch.ones(3, 3)])
        return rec

    assert compared(run, without, monkeypatch) > 12


@WAYS
def test_an_input_in_a_list_that_is_cut_off_is_cut_either_way(without, monkeypatch):
    def run():
        a = torch.ones(2, requires_grad=True)
        with gv.record() as rec:
            torch.stack([a * 2, a * 3]).argmax(0)
            torch.isin(torch.cat([a, a]), a)
            torch.cat([(a * 2).long(), (a * 3).long()])
        return rec

    compared(run, without, monkeypatch)
    graph = run().graph
    assert [(graph.call[c.call_id].function, c.reason) for c in graph.cuts] == [
        ("argmax", CutReason.NOT_DIFFERENTIABLE),
        *[("isin", CutReason.NOT_DIFFERENTIABLE)] * 2,
        *[("long", CutReason.INTEGER_DTYPE)] * 2,
    ]


@WAYS
def test_a_call_that_raises(without, monkeypatch):
    def run():
        h = torch.ones(3, requires_grad=True)
        with gv.record() as rec:
            k = h * 2
            k = k * h
            with pytest.raises(RuntimeError):
                torch.matmul(k, h.view(1, 3))
            k = k + h
        return rec

    assert compared(run, without, monkeypatch) == 4
