"""Backward a second time through results of earlier iterations that a list of the program still
has, from which an iteration takes some: a memory of experiences. Looks at lists that variables
hold, runs none of the program's code."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.names.frames import FILLING
from gradviz.names.position import dotted
from gradviz.why.code.reading import UNREAD, WIDTH, own_variables
from gradviz.why.rules.errors.carried_over import unbound_from_earlier
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.rules.errors.lists_never_emptied import is_filled_since, is_nothing_else
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


class _Memory(NamedTuple):
    """A list of the program's that something fills.

    Attributes:
        place: the statement that fills it.
        word: how the code that called backward writes it.
        items: the list.
    """

    place: Source
    word: str
    items: Any


def kept_in_a_memory(failure: Failure) -> Explanation | None:
    """Tell of a list that still has what an earlier iteration computed."""
    found = unbound_from_earlier(failure)
    if found is None:
        return None
    every, node, first = found
    is_read = any(is_filled_since(failure, one, first) for one in every)
    memory = _memory_of(failure, {one.tensor.object_id for one in every}, first)
    if memory is None or not (is_read or is_nothing_else(failure, every)):
        return None
    place, word = call_at(memory.place), Code(memory.word)
    clears, second = [Code(f"{word}.clear()")], failure.written(failure.call)
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried_in_memory",
        calls=[place],
        also_at=[every[0].reader, first],
        tensors=[one.tensor for one in every],
        nodes=[node],
        list=word,
        node=failure.made_by(node),
        first=failure.written(first),
        place=failure.words.where(place),
        mends=[
            say("raised.list_cleared", clears=clears, second=second),
            say("raised.list_of_inputs", list=word),
        ],
    )


def _memories(failure: Failure) -> Iterator[_Memory]:
    """Yield the lists that the program fills and that the code which called backward can name."""
    line, code = failure.failed, failure.statements
    names = line.frames[-1].names if line is not None and line.frames else {}
    calls = () if code is None else (c for method in FILLING for c in code.calls(method))
    for place, call in calls:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        written = None if owner is None else dotted(owner)
        if written is None:
            continue
        for word, items in _named(written, names):
            if isinstance(items, (list, deque)):
                yield _Memory(place, word, items)


def _named(written: str, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a name may stand for where backward was called: a variable; of an attribute that
    a method writes with ``self``, that of each object at hand."""
    owner, _, attribute = written.rpartition(".")
    if not owner:
        yield written, names.get(written, UNREAD)
    elif owner == "self":
        for word, held in _objects(names):
            yield f"{word}.{attribute}", own_variables(held).get(attribute, UNREAD)


def _objects(names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield objects with the code that names them: variables, and what ``self`` holds."""
    yield from islice(names.items(), WIDTH)
    held = own_variables(names.get("self", UNREAD))
    yield from ((f"self.{name}", value) for name, value in islice(held.items(), WIDTH))


def _memory_of(failure: Failure, old: set[int], first: Call) -> _Memory | None:
    """Return the list that has one of some objects, and something that was made since a call."""
    for memory in _memories(failure):
        found = [state for t in _tensors(memory.items) if (state := failure.find(t)) is not None]
        makers = (failure.facts.first_maker.get(state.object_id) for state in found)
        is_filled = any(maker is not None and maker.id > first.id for maker in makers)
        if is_filled and any(state.object_id in old for state in found):
            return memory
    return None


def _tensors(items: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a list: its items, and what these hold."""
    for item in islice(items, WIDTH):
        if isinstance(item, (tuple, list)):
            parts = [*item]
        elif isinstance(item, dict):
            parts = [*item.values()]
        else:
            parts = [item, *own_variables(item).values()]
        yield from (part for part in parts if isinstance(part, torch.Tensor))
