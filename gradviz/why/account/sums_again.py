"""Losses that are added to those of the iterations before, and differentiated in each: the earlier
ones send their gradients again and again. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import LINEAR
from gradviz.why.evidence.summands import SUMS, single
from gradviz.words.words import Words

_AGAIN = 2  # backwards that send what an earlier one had sent, from which on it is a habit


def sums_again(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line that calls backward on a running sum: of what it was called on before, and
    one more summand.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    runs = {b.call_id for b in facts.graph.backwards if b.kind == "backward"}
    calls = [facts.graph.call[i] for i in sorted(runs)]
    for every in grouped((line_of(call), call) for call in calls if call.inputs).values():
        adding = [_last_sum(facts, call.inputs[0]) for call in every]
        again = [other for one, other in pairwise(adding) if _goes_on(one, other)]
        if len(again) >= _AGAIN and again[-1] is not None:
            yield from _told(facts, words, every[-1], again[-1], len(again))


def _told(facts: Facts, words: Words, backward: Call, added: Call, n: int) -> Iterator[Remark]:
    """Tell of the call that added to a running sum last, as far as its new summand is known."""
    new = [i for i in added.inputs if not _is_running(facts, i, added)]
    if len(new) == 1:
        fields = {
            "total": words.name(added.outputs[0]),
            "adding": words.at(added),
            "backward": words.at(backward),
            "new": words.name(new[0]),
            "n": words.times(n),
        }
        yield Remark(Weight.WEIGHTY, "sums_again", fields, (added, backward))


def _is_running(facts: Facts, tensor_id: int, added: Call) -> bool:
    """Say whether a summand was made by the line that adds it to another one."""
    maker = facts.maker.get(tensor_id)
    return maker is not None and line_of(maker) == line_of(added) and maker.function in SUMS


def _last_sum(facts: Facts, loss: int) -> Call | None:
    """Return the call that added the last summand of a loss, behind what only scales it; None
    where none did."""
    maker = facts.maker.get(loss)
    while maker is not None and maker.function not in SUMS:
        tracked = [i for i in maker.inputs if facts.graph.tensor[i].requires_grad]
        if maker.function not in LINEAR or len(tracked) != 1:
            return None
        maker = facts.maker.get(tracked[0])
    return maker if maker is not None and single(facts.graph.tensor[maker.outputs[0]]) else None


def _goes_on(one: Call | None, other: Call | None) -> bool:
    """Say whether a sum adds to what another one made, which was differentiated before."""
    if one is None or other is None or one is other:
        return False
    return not {*one.outputs}.isdisjoint(other.inputs)
