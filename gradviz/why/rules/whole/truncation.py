"""Steps of a loop that are cut from each other: only the last uses of a parameter get a
gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import site_of
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Cut
from gradviz.why.rules.many import pattern
from gradviz.why.rules.whole.losses import LETTING_GO
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def with_truncation(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with parameters of which only the last uses get a gradient: what
    one use hands to the next is cut off between them."""
    words, names = case.words, dict[Between, list[str]]()
    for loss in case.every_loss[:1]:
        flow, known = Flow(case.graph, [loss]), dict[int, set[int]]()
        for tensor_id in case.target_ids:
            if (cut := cut_between_uses(flow, tensor_id, known)) is not None:
                names.setdefault(cut, []).append(words.name(tensor_id))
    told = [
        say(
            "losses.truncated",
            names=pattern(alike),
            reached=between.reached,
            uses=between.uses,
            value=words.name(between.cut.input_id),
            place=words.where(case.graph.call[between.cut.call_id]),
        )
        for between, alike in names.items()
    ]
    return case.beside(found, *told) if told else None


class Between(NamedTuple):
    """A cut between two uses of a leaf: to how many of them a gradient comes, of how many."""

    reached: int
    uses: int
    cut: Cut


def cut_between_uses(flow: Flow, tensor_id: int, known: dict[int, set[int]]) -> Between | None:
    """Return the last cut between two uses of a leaf at one line, of which only later ones get a
    gradient; None where there is no such.

    Args:
        flow: of the loss.
        tensor_id: the leaf.
        known: what the inputs of a call were computed from, by call id: parameters share it.
    """
    steps, reached = steps_of(flow, tensor_id)
    if not reached or len(reached) == len(steps):
        return None
    first = reached[0]
    if first.id not in known:
        known[first.id] = flow.facts.ancestors(first.inputs)
    written = (c for c in flow.separating(tensor_id) if c.reason in LETTING_GO)
    cuts = [c for c in written if c.output_id in known[first.id]]
    return Between(len(reached), len(steps), cuts[-1]) if cuts else None


def steps_of(flow: Flow, tensor_id: int) -> tuple[list[Call], list[Call]]:
    """Return the calls of one line that use a leaf on the way to a loss, and those of them to which
    a gradient comes; of the line of the first such. None of those that ran with gradients switched
    off: what a policy did while it collected data is no step that was cut from the next."""
    facts, states = flow.facts, flow.states(tensor_id)
    readers = facts.readers.get(states[-1].object_id, []) if states else []
    uses = [c for c in readers if c.grad_mode and not flow.behind.isdisjoint(c.outputs)]
    # what another loss sent a gradient to is not lost
    met = [c for c in uses if has_gradient(c, flow)]
    site = site_of(met[0]) if met else None
    return [c for c in uses if site_of(c) == site], [c for c in met if site_of(c) == site]


def has_gradient(call: Call, flow: Flow) -> bool:
    """Say whether a gradient comes to a result of a call, from this loss or in a recorded run."""
    ends = (flow.graph.tensor[i].gradient_edge for i in call.outputs)
    return any(e and (e.node_id in flow.nodes or e.node_id in flow.facts.ran) for e in ends)
