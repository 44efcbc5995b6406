"""Writes in place into an expanded tensor, of which several elements are one place in memory. Plain
data in and out, knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.records import Call, Tensor
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields

_EXPANDING = {"expand", "expand_as", "broadcast_to", "broadcast_tensors"}


def elements_shared(line: FailedLine, failure: Failure) -> Fields:
    """Return what was written to, the writes, and the calls that expanded it; None where no such
    write is known."""
    found = {
        made.source: (writer, written, made)
        for writer, written in _writes(failure)
        if (made := _expanded_by(failure, written)) is not None
    }
    if not found:
        return None
    own = [writer.source if writer is not None else line.place for writer, _, _ in found.values()]
    return {
        "writes": [place.code for place in own if place is not None],
        "names": failure.all_in_code(written for _, written, _ in found.values()),
        "makers": [failure.written(made) for _, _, made in found.values()],
        "n": len(found),
        "at": [*own, *found],
    }


def _writes(failure: Failure) -> Iterator[tuple[Call | None, Tensor]]:
    """Yield the calls that may have written there, each with what was written into: the one that
    raised, or else, of those before a backward, the last one first."""
    tensor = failure.graph.tensor
    if failure.call is None or failure.run is None:
        yield from ((None, given) for given in failure.inputs)
        return
    for event in reversed(failure.facts.writes):
        if event.call_id < failure.call.id and not event.alias:
            yield failure.graph.call[event.call_id], tensor[event.before_id]


def _expanded_by(failure: Failure, written: Tensor) -> Call | None:
    """Return the call that expanded a tensor, or what it is a view of."""
    seen, one = set[int](), written
    while one.object_id not in seen:
        seen.add(one.object_id)
        maker = failure.facts.first_maker.get(one.object_id)
        if maker is None or not maker.inputs:
            return None
        if plain_name(maker.function) in _EXPANDING:
            return maker
        given = failure.graph.tensor[maker.inputs[0]]
        if failure.family(given) != failure.family(written):
            return None
        one = given
    return None
