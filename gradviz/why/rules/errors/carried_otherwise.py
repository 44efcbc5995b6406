"""Backward a second time through one graph, as one iteration of a loop, or one call of a module,
leaves it to the next: where the line that computed it did not run again in the same way, or the two
backwards stand in several lines. Plain data in and out, knows no torch."""

from __future__ import annotations

from gradviz.graph.facts import site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Tensor
from gradviz.names.frames import (
    frames,
    keepers,
    names_in,
    place_at,
    place_of_keeper,
    value_kept,
    variables_of,
)
from gradviz.names.statements import Statements, loop_around, stands_in
from gradviz.why.rules.errors.carried_over import names_in_code
from gradviz.why.rules.errors.detaching import each_of
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.rules.errors.second_backward import of_an_earlier_iteration, place_of_binding
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def carried_from_one_iteration(failure: Failure) -> Explanation | None:
    """Tell what one iteration of a loop computed in a line of its own, as under ``if step == 0``,
    and the next one reads: the loop carries it over, though that line did not run again."""
    found = of_an_earlier_iteration(failure)
    if found is None or failure.statements is None:
        return None
    node, maker, earlier, first = found
    place = place_of_binding(failure, maker, first)
    if not _are_in_one_loop(failure.statements, place, failure.call):
        return None
    names = _read_in_the_next_iteration(failure, place, first)
    if not names:
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried",
        calls=[place],
        also_at=[failure.call],
        tensors=failure.shared(earlier.ran),
        nodes=[node],
        names=names,
        node=failure.made_by(node),
        first=failure.written(first),
        targets=", ".join(names),
        values=", ".join(failure.detaching(name) or f"{name}.detach()" for name in names),
    )


def _are_in_one_loop(statements: Statements, place: Call, backward: Call | None) -> bool:
    """Say whether a statement stands in the innermost loop around a backward."""
    one, other = statements.node_at(place.source), statements.node_at(backward and backward.source)
    loop = None if other is None else loop_around(other[1])
    return one is not None and loop is not None and stands_in(one[1], loop)


def _read_in_the_next_iteration(failure: Failure, place: Call, first: Call) -> list[str]:
    """Return what a statement binds and others of the scope of the backward read after an earlier
    one, and bind anew: what none binds anew is computed once, and kept."""
    if failure.call is None:
        return []
    scopes = {variables_of(frame) for frame in frames(failure.call)[:1]}
    after = failure.calls_between(first, failure.call)
    here = [frame for call in after for frame in frames(call) if variables_of(frame) in scopes]
    bound, read = ({n for f in here for n in names_in(f.code)[k]} for k in (0, 1))
    return [name for name in names_in_code(place)[0] if name in bound & read]


def read_from_before(failure: Failure) -> Explanation | None:
    """Tell of what an earlier iteration computed, by a line that ran again since, and a line reads
    all the same that had not run before: it was kept, in an attribute or a list."""
    if failure.freed is None or failure.call is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    if site_of(first) != site_of(failure.call) or not failure.in_a_loop(first, failure.call):
        return None
    shared = failure.shared(earlier.ran)
    reads = [read for tensor in shared for read in _reads_of_before(failure, tensor, first)]
    if not reads or any(word == "" for _, word in reads):
        return None
    edits = [
        say("raised.detached_in", value=Code(word), code=failure.written(place_at(reader, 0)))
        for reader, word in reads
    ]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried_read",
        calls=[reader for reader, _ in reads],
        also_at=[first, failure.call],
        tensors=shared,
        nodes=[node],
        names=list(dict.fromkeys(word for _, word in reads)),
        node=failure.made_by(node),
        first=failure.written(first),
        edits=list(dict.fromkeys(edits)),
    )


def _reads_of_before(failure: Failure, tensor: Tensor, first: Call) -> list[tuple[Call, str]]:
    """Return the calls that take an earlier iteration's result into this loss, each with what its
    code calls that; with "" where that is not known, or it is none."""
    maker = failure.facts.maker.get(tensor.id)
    if maker is None or failure.call is None or maker.id > first.id:
        return []
    behind = failure.facts.ancestors(failure.call.inputs)
    readers = failure.facts.calls_reading.get(tensor.id, ())
    later = [c for c in readers if c.id > first.id and not behind.isdisjoint(c.outputs)]
    if not failure.made_again(maker, first, failure.call):
        return [(maker, "")]
    return [(reader, _word_for(tensor, reader)) for reader in later]


def _word_for(tensor: Tensor, reader: Call) -> str:
    """Return what the code of a call calls a result that something kept; "" where that is not
    known."""
    read = names_in_code(reader)[1]
    named = [name for name in (tensor.name, tensor.code_name) if name and name in read]
    kept = [name for name in read if name.startswith("self.")]
    return named[0] if named else kept[0] if len(kept) == 1 else ""


def carried_in_an_attribute(failure: Failure) -> Explanation | None:
    """Tell of what a call left in an attribute, and the same line read again for another loss,
    whose backward stands in another line than the one that freed it: the state of a cell."""
    if failure.freed is None or failure.call is None:
        return None
    node, earlier = failure.freed
    first, maker = failure.graph.call[earlier.call_id], failure.maker(node)
    if maker is None or failure.in_a_loop(first, failure.call):
        return None
    reader, kept = _reads_again(failure, maker, first), _keeping(maker)
    if reader is None or kept is None:
        return None
    keeper, name, value = kept
    carried = [i for i in reader.inputs if failure.facts.maker.get(i) is maker]
    several = each_of(value) if len(carried) > 1 else f"{value}.detach()"
    detached = failure.detaching(value) or several
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried_between" if value != name else "carried_between_itself",
        calls=[keeper, reader],
        also_at=[first, failure.call],
        tensors=[failure.graph.tensor[i] for i in carried],
        nodes=[node],
        name=name,
        node=failure.made_by(node),
        first=failure.written(first),
        second=failure.written(failure.call),
        keeper=failure.code(keeper, LINE),
        anew=Code(f"{name} = {detached}"),
    )


def _reads_again(failure: Failure, maker: Call, first: Call) -> Call | None:
    """Return the call of the maker's own line that reads what it made, after an earlier backward
    and on the way of the one that raised; None where it was made after that itself."""
    if maker.id > first.id:
        return None
    met = failure.facts.reachable(failure.run.roots if failure.run else ())
    on_the_way = {failure.graph.node[n].call_id for n in met}
    after = failure.calls_between(first, failure.call) if failure.call else []
    again = (c for c in after if c.id in on_the_way and site_of(c) == site_of(maker))
    made = {*maker.outputs}
    return next((c for c in again if made & {*c.inputs}), None)


def _keeping(maker: Call) -> tuple[Call, str, str] | None:
    """Return the statement that keeps what a call made in an attribute that the call's own line
    reads, with the attribute and what it is given; None where none does."""
    read = names_in_code(maker)[1]
    for frame, line, code in keepers(maker):
        for name in names_in(code)[0]:
            if "." in name and name in read:
                value = name if code == frame.code else value_kept(frame, code)
                return place_of_keeper(maker, frame, line, code), name, value
    return None
