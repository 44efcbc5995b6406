"""Flow: what belongs to one loss. Compared with torch's own answer on random programs."""

from __future__ import annotations

import random

import pytest
import torch

import gradviz as gv
from gradviz.graph.flow import Flow
from gradviz.graph.records import Graph


def torch_reaches(loss: torch.Tensor, leaf: torch.Tensor) -> bool:
    """Whether torch computes a gradient of the loss for a leaf."""
    (grad,) = torch.autograd.grad(loss, leaf, allow_unused=True, retain_graph=True)
    return grad is not None


@pytest.mark.parametrize("seed", range(40))
def test_a_path_is_seen_where_torch_computes_a_gradient(seed: int) -> None:
    draw = random.Random(seed)
    leaves = [torch.rand(3, requires_grad=True) for _ in range(5)]
    uses: list[set[int]] = [{i} for i in range(5)]  # of which leaves a value was computed
    with gv.record() as rec:
        values = list(leaves)
        for _ in range(12):
            i, j = draw.randrange(len(values)), draw.randrange(len(values))
            first = values[i].detach() if draw.random() < 0.3 else values[i]
            values.append(first * values[j] if draw.random() < 0.5 else first + values[j])
            uses.append(uses[i] | uses[j])
        loss = (values[-1] + leaves[draw.randrange(5)]).sum()
    flow = Flow(rec.graph, [rec.find(loss).id])
    cut_off = 0
    for i, leaf in enumerate(leaves):
        state = rec.find(leaf)
        if state is None:
            continue
        assert flow.reaches(state.id) == torch_reaches(loss, leaf)
        if not flow.reaches(state.id):
            assert bool(flow.separating(state.id)) == (i in uses[-1])
            cut_off += i in uses[-1]
        leads_there = rec.graph.tensor[flow.losses[0]].id in flow.connected(state.id)
        assert leads_there == flow.reaches(state.id)
    assert cut_off == sum(
        i in uses[-1] and not torch_reaches(loss, leaf) for i, leaf in enumerate(leaves)
    )


def test_without_a_loss_it_is_that_of_the_recorded_backwards() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        (a * 2).sum().backward()
        loss = (b * a).sum()
    flow = Flow(rec.graph)
    assert flow.reaches(rec.find(a).id)
    assert not flow.reaches(rec.find(b).id)
    assert Flow(rec.graph, [rec.find(loss).id]).reaches(rec.find(b).id)
    assert flow.filled(rec.find(a).id)
    assert not flow.filled(rec.find(b).id)


def test_what_the_graph_does_not_have_has_no_path() -> None:
    flow = Flow(Graph())
    assert flow.end_of(None) is None
    assert flow.states(None) == flow.writes_to(None) == flow.cuts_after(None) == []
    assert not flow.reaches(None)
    assert not flow.filled(None)
