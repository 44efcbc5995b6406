"""Indices that an earlier iteration made and that are out of range for what is there now. Plain
data in and out, knows no torch."""

from __future__ import annotations

from gradviz.graph.facts import site_of
from gradviz.graph.records import Call, Tensor
from gradviz.names.frames import attribute_of, keepers, place_of_keeper
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code


def index_kept(line: FailedLine, failure: Failure) -> Fields:
    """Return the statement that keeps the indices of an earlier, larger tensor; None where the line
    did not take the same ones before."""
    for index in failure.inputs:
        earlier = _taken_before(failure, index) if (index.dtype or "").startswith("int") else None
        data = next((t for t in failure.inputs if t is not index and t.shape), None)
        if earlier is None or data is None:
            continue
        before = failure.graph.tensor[earlier.inputs[failure.inputs.index(data)]]
        keeper = _keeper(failure, index)
        if keeper is None or not _is_smaller(data, before):
            continue
        place, attribute = keeper
        return {
            "kept": Code(attribute),
            "keeper": failure.code(place),
            "data": failure.name(data),
            "shape": list(data.shape or ()),
            "before": list(before.shape or ()),
            "at": place.source,
        }
    return None


def _taken_before(failure: Failure, index: Tensor) -> Call | None:
    """Return the first call of the line that took the same indices, or a part of them."""
    own = failure.call
    earlier = [] if own is None else failure.calls_before(own)
    same_line = [c for c in earlier if own is not None and site_of(c) == site_of(own) and c.outputs]
    for call in same_line:
        given = [failure.graph.tensor[i] for i in call.inputs]
        is_same = failure.family(index) in map(failure.family, given)
        if is_same and len(given) == len(failure.inputs):
            return call
    return None


def _is_smaller(now: Tensor, before: Tensor) -> bool:
    """Say whether a tensor has as many dimensions as an earlier one, and one of them is smaller."""
    sizes = [*zip(now.shape or (), before.shape or (), strict=False)]
    return len(now.shape or ()) == len(before.shape or ()) and any(a < b for a, b in sizes)


def _keeper(failure: Failure, index: Tensor) -> tuple[Call, str] | None:
    """Return the statement that keeps indices in an attribute, and that."""
    maker = failure.facts.first_maker.get(failure.family(index))
    for frame, line, code in keepers(maker) if maker is not None else ():
        if maker is not None and (attribute := attribute_of(code)):
            return place_of_keeper(maker, frame, line, code), attribute
    return None
