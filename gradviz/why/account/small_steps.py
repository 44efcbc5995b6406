"""Steps that hardly move anything, because the gradients are so small for their learning rate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.preview import number
from gradviz.graph.sent import SentGradients, root_of_squares
from gradviz.graph.training import Did
from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.graph.records import Call
    from gradviz.why.rules.whole.case import Case

_HARDLY = 1e-6  # of the parameters' size: steps that move them by less are told
_MOST_MOMENTUM = 0.99  # what is kept from step to step adds up to a hundred gradients at most


def small_steps(case: Case) -> Iterator[Remark]:
    """Tell of each known optimizer of plain SGD whose steps, by the largest of the recorded
    gradients, moved its parameters by next to nothing. Others divide gradients by their size."""
    sent = SentGradients(case.facts)
    for optimizer in case.known_optimizers:
        step = _last_step(case, optimizer) if type(optimizer) is torch.optim.SGD else None
        share = None if step is None else _largest_share(case, sent, optimizer)
        if step is None or share is None or not 0 < share < _HARDLY:
            continue
        fields = {
            "optimizer": case.optimizer_name(optimizer),
            "step": case.words.at(step),
            "share": number(share),
            "rate": number(optimizer.param_groups[0]["lr"]),
        }
        yield Remark(Weight.WEIGHTY, "moves_hardly", fields, (step,), _held(case, optimizer))


def _held(case: Case, optimizer: Any) -> frozenset[int]:
    """Return the objects of an optimizer's parameters that the recording met."""
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    states = (case.recording.find(p) for p in parameters) if case.recording else ()
    return frozenset(state.object_id for state in states if state is not None)


def _last_step(case: Case, optimizer: Any) -> Call | None:
    """Return the last recorded step that moved what an optimizer holds."""
    moments = (m for i in _held(case, optimizer) for m in case.training.moments.get(i, ()))
    steps = [m.call for m in moments if m.did is Did.STEPPED]
    return max(steps, key=lambda call: call.id, default=None)


def _largest_share(case: Case, sent: SentGradients, optimizer: Any) -> float | None:
    """Return the largest share of their size by which the gradients of one backward can have moved
    an optimizer's parameters in one step; None where they were not measured."""
    moves, sizes = list[float](), list[float]()
    for group in optimizer.param_groups:
        # a schedule, or the code, may have let it fall since
        rate = max(group["lr"], group.get("initial_lr", 0), optimizer.defaults["lr"])
        rate /= 1 - min(group["momentum"], _MOST_MOMENTUM)
        for p in group["params"]:
            state = case.recording.find(p) if case.recording else None
            node = None if state is None else case.facts.accumulate_node.get(state.object_id)
            arrived = [
                sent.arrived[key] for key in sent.arrivals_at.get(-1 if node is None else node, ())
            ]
            if arrived:
                moves.append(rate * max(arrived))
                sizes.append(_size(p))
    share = root_of_squares(moves) / (root_of_squares(sizes) or math.nan) if sizes else math.nan
    return None if math.isnan(share) else share


def _size(parameter: Any) -> float:
    """Return the norm of a parameter; nan where it cannot be read."""
    size = read(lambda: float(torch.linalg.vector_norm(parameter.detach())))
    return math.nan if size is None else size
