"""A tensor that was kept under a second name, written in place under the first, and read under the
second."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from gradviz.graph.effects import DETACHED
from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Call, Frame, Node, Source, Tensor, Wrote
from gradviz.names.written import Second, argument_read_again, names_read, seconds_before
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.softmaxes import SOFTMAX
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

_RESULTS = ("result", "output")  # what torch calls a result that its own node saved


class _Reading(NamedTuple):
    """One call that reads a tensor after a write, under a name that it got before."""

    call: Call
    tensor: Tensor
    wrote: Call
    second: Second


def second_name_overwritten(silent: Silent) -> Iterator[Explanation]:
    """Tell of tensors that a line kept under a second name (``identity = x``), that were
    written in place under the first, and then read as if they were what they had been."""
    seen = set[tuple[str, int, int]]()
    for event in silent.facts.writes:
        wrote = silent.graph.call[event.call_id]
        if event.alias or not _computes_in_place(silent, wrote, event) or wrote.source is None:
            continue
        for call in silent.facts.readers.get(silent.graph.tensor[event.after_id].object_id, ()):
            if call.source is None or call.id <= wrote.id or event.after_id not in call.inputs:
                continue
            key = (call.source.file, wrote.source.line, call.source.line)
            if key in seen or call.source.file != wrote.source.file:
                continue
            seen.add(key)
            found = _read_by_second_name(silent, wrote, call, event)
            if found is not None:
                yield _told_second(silent, found)
                return


class _Past(NamedTuple):
    """A result whose numbers were written past its history, and the first call that read them then.
    ``way`` gave the untracked tensor through which they were written."""

    wrote: Call
    way: Call
    result: Tensor
    read: Call


def argument_overwritten(silent: Silent) -> Iterator[Explanation]:
    """Tell of a variable that was handed to a call, written in place inside of it, and read by a
    later line of the same function as if it were what it had been: a skip connection around a block
    that begins with ``ReLU(inplace=True)``."""
    for event in silent.facts.writes:
        wrote = silent.graph.call[event.call_id]
        before = silent.facts.maker.get(event.before_id)
        if event.alias or wrote.source is None or before is None or _says_in_place(wrote):
            continue
        if _place(before) == _place(wrote):
            continue  # made and written inside of one call: no variable holds it
        if not _computes_in_place(silent, wrote, event):
            continue
        for call in silent.facts.calls_reading.get(event.after_id, ()):
            name = argument_read_again(wrote.source, call.source) if call.source else None
            if name is None or not _is_concerned(silent, call):
                continue
            yield silent.answer(
                Cause.CHANGED_BEFORE_READ,
                "argument",
                subject=name,
                calls=[wrote, call],
                tensors=[event.after_id],
                function=wrote.function,
                code=_as_written(wrote.source).code,
                reader=silent.words.line(call),
            )
            return


def _says_in_place(call: Call) -> bool:
    """Say whether a call tells by its own words that it writes: ``x.relu_()``, or
    ``F.relu(x, inplace=True)``."""
    return call.function.endswith("_") or "inplace" in code_of(call)


def _as_written(source: Source) -> Source | Frame:
    """Return the innermost line of the user's at which a call stands."""
    return source.frames[0] if source.frames else source


def _place(call: Call) -> tuple[str, int] | None:
    """Return the file and the line at which a call stands."""
    place = None if call.source is None else _as_written(call.source)
    return None if place is None else (place.file, place.line)


def written_past_autograd(silent: Silent) -> Iterator[Explanation]:
    """Tell of a result whose numbers were written through its ``.data`` or a detached view, and
    that a loss read then: its gradient is that of what it was made by."""
    for past in (*_seen_past(silent), *_unseen_past(silent)):
        yield silent.answer(
            Cause.CHANGED_BEFORE_READ,
            "past_autograd",
            subject=silent.words.name(past.result.id),
            calls=[past.wrote, past.read],
            tensors=[past.result.id],
            way=".data" if past.way.function == "data" else f"{past.way.function}()",
            writer=silent.words.code(past.wrote),
            reader=silent.words.line(past.read),
        )
        return


def _seen_past(silent: Silent) -> Iterator[_Past]:
    """Yield the writes past a history that were seen at the result itself: its version moved, or
    its numbers were read."""
    facts, tensor = silent.facts, silent.graph.tensor
    in_loss = facts.in_losses
    for event in (e for e in facts.writes if e.alias and e.after_id in in_loss):
        wrote, after = silent.graph.call[event.call_id], tensor[event.after_id]
        way = _way_past(silent, event) if _computes_in_place(silent, wrote, event) else None
        read = [c for c in facts.calls_reading.get(after.id, ()) if _is_concerned(silent, c)]
        if way is not None and read:
            yield _Past(wrote, way, after, read[0])


def _way_past(silent: Silent, event: Wrote) -> Call | None:
    """Return the call by which a write reached a tensor past its history: what that gave shares
    its memory and is not tracked; None where the write has a history."""
    facts, tensor = silent.facts, silent.graph.tensor
    before, after = tensor[event.before_id], tensor[event.after_id]
    node = facts.grad_fn(after)
    if before.gradient_edge != after.gradient_edge or node is None or _may_use(silent, node, after):
        return None
    readers = (c for c in facts.readers.get(after.object_id, ()) if c.id < event.call_id)
    return next((c for c in readers if _is_untracked_view(silent, c, after)), None)


def _unseen_past(silent: Silent) -> Iterator[_Past]:
    """Yield the writes past a history that nothing showed at the result: ``.data`` counts its own
    versions, and the numbers of large tensors are not read."""
    facts = silent.facts
    in_loss = facts.in_losses
    for event in (e for e in facts.writes if not e.alias and facts.writes_memory(e)):
        wrote, way = silent.graph.call[event.call_id], _untracked_by(silent, event)
        if way is None or wrote.bookkeeping:
            continue
        for result in facts.in_memory[silent.graph.tensor[way.inputs[0]].storage_id]:
            read = _read_since(silent, result, wrote, in_loss)
            if read is not None and not _only_masks(wrote, read):
                yield _Past(wrote, way, result, read)


def _read_since(silent: Silent, result: Tensor, wrote: Call, in_loss: Set[int]) -> Call | None:
    """Return the call on the way to a loss that reads an older result after a write, where the
    result's own node does not use the numbers."""
    facts = silent.facts
    maker, node = facts.maker.get(result.id), facts.grad_fn(result)
    if maker is None or maker.id > wrote.id or result.id not in in_loss:
        return None
    if node is None or _may_use(silent, node, result):
        return None
    readers = (c for c in facts.calls_reading.get(result.id, ()) if c.id > wrote.id)
    return next((c for c in readers if in_loss & {*c.outputs} and _is_concerned(silent, c)), None)


def _untracked_by(silent: Silent, event: Wrote) -> Call | None:
    """Return the call that took what was written out of the history of a result; None where what
    was written is tracked itself, or shares no result's memory."""
    tensor = silent.graph.tensor
    written, after = tensor[event.before_id], tensor[event.after_id]
    if written.values is not None and written.values == after.values:
        return None
    way = silent.facts.maker.get(silent.facts.states[written.object_id][0].id)
    if way is None or way.function not in DETACHED or not way.inputs or written.requires_grad:
        return None
    of = tensor[way.inputs[0]]
    shared = of.storage_id is not None and of.storage_id == written.storage_id
    return way if shared and of.requires_grad and not of.is_leaf else None


def _only_masks(wrote: Call, read: Call) -> bool:
    """Say whether a write put -inf where a softmax reads it: it sends a 0 there by itself."""
    return plain_name(wrote.function) == "masked_fill" and plain_name(read.function) in SOFTMAX


def _may_use(silent: Silent, node: Node, made: Tensor) -> bool:
    """Say whether a node may use in backward what stands in the memory of what it made."""
    if any(saved.attribute in _RESULTS for saved in node.saved):
        return True
    tensors = (silent.graph.tensor.get(saved.tensor_id) for saved in node.saved)
    return any(t is not None and t.storage_id == made.storage_id for t in tensors)


def _is_untracked_view(silent: Silent, call: Call, of: Tensor) -> bool:
    """Say whether a call gave another view of a tensor's memory that has no history."""
    made = (silent.graph.tensor[i] for i in call.outputs)
    is_view = any(t.requires_grad is False and t.storage_id == of.storage_id for t in made)
    return is_view and call.function in DETACHED


def _computes_in_place(silent: Silent, wrote: Call, event: Wrote) -> bool:
    """Say whether a call of the user's changed the numbers of a result on the way to a loss."""
    before, after = silent.graph.tensor[event.before_id], silent.graph.tensor[event.after_id]
    if wrote.bookkeeping or not silent.facts.writes_memory(event) or not after.requires_grad:
        return False
    if event.call_id in silent.facts.backward_calls or before.is_leaf:
        return False
    return before.values is None or before.values != after.values


def _read_by_second_name(silent: Silent, wrote: Call, call: Call, event: Wrote) -> _Reading | None:
    """Return what the text says of a write and a reading after it: that they use two names of one
    tensor, of which the second was given before the write."""
    if wrote.source is None or call.source is None or call.source.line <= wrote.source.line:
        return None
    written, read_names = names_read(wrote.source), names_read(call.source)
    # the reading may name the first as well: then it has to read the tensor twice
    twice = call.inputs.count(event.after_id) > 1
    for second in seconds_before(call.source):
        first_then_second = second.of in written and second.name in read_names
        only_first_written = second.name not in written and second.line <= wrote.source.line
        only_second_read = twice or second.of not in read_names
        if not (first_then_second and only_first_written and only_second_read):
            continue
        if not _made_since(silent, event, second, wrote) and _is_concerned(silent, call):
            return _Reading(call, silent.graph.tensor[event.after_id], wrote, second)
    return None


def _made_since(silent: Silent, event: Wrote, second: Second, wrote: Call) -> bool:
    """Say whether a tensor was made after the second name was given, as in a loop: then that is
    another tensor's."""
    states = silent.facts.states[silent.graph.tensor[event.before_id].object_id]
    maker = silent.facts.maker.get(states[0].id)
    if maker is None or maker.source is None or wrote.source is None:
        return False
    same = maker.source.file == wrote.source.file
    return same and second.line < maker.source.line <= wrote.source.line


def _is_concerned(silent: Silent, call: Call) -> bool:
    """Say whether a result of a call leads to what is asked about."""
    edges = [silent.graph.tensor[i].gradient_edge for i in call.outputs]
    nodes = [edge.node_id for edge in edges if edge is not None]
    return bool(nodes) and silent.concerns(silent.facts.reachable(nodes))


def _told_second(silent: Silent, found: _Reading) -> Explanation:
    """Tell of one tensor that was overwritten under its second name."""
    return silent.answer(
        Cause.CHANGED_BEFORE_READ,
        "second_name",
        subject=found.second.name,
        calls=[found.wrote, found.call],
        tensors=[found.tensor.id],
        sure=Sure.PROVEN,
        first=found.second.of,
        line=found.second.line,
        writer=found.wrote.function,
        reader=silent.words.line(found.call),
    )
