"""Data that each pass changes in place, by what is the same in all of them: ``x -= mean`` in a
dataset. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call, Tensor, Wrote
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_CHANGES = {"sub", "add", "mul", "div", "true_divide", "__isub__", "__iadd__", "__imul__"}
_CHANGES |= {"__itruediv__", "__idiv__", "__rmul__", "neg"}
_DRAWS = {"rand", "randn", "rand_like", "randn_like", "normal"}


def drifting(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of lines that change data in place again in a later pass, where nothing else wrote that
    memory, and what they change it by is no result of one. A pass ends with its backward.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    found = dict[object, list[Call]]()
    for events in _by_part(facts).values():
        calls = [facts.graph.call[e.call_id] for e in events]
        if not all(_is_change(facts, calls[0], e) for e in events):
            continue
        for line, own in grouped((line_of(c), c) for c in calls).items():
            if any(_is_pass_between(facts, *pair) for pair in pairwise(own)):
                found.setdefault(line, []).extend(own)
    told = sorted(found.values(), key=lambda calls: calls[0].id)
    if told:
        calls = [every[-1] for every in told]
        fields = {"code": [words.at(call) for call in calls], "data": _data(facts, words, calls[0])}
        yield Remark(Weight.NOTABLE, "drifting", fields, tuple(calls))


def _by_part(facts: Facts) -> dict[object, list[Wrote]]:
    """Return what wrote plain data of which a loss was computed, by the part of memory."""
    tensor, behind = facts.graph.tensor, facts.in_losses
    events = [e for e in facts.writes if facts.writes_memory(e)]
    parts = grouped((_part(tensor[e.after_id]), e) for e in events)
    return {
        part: [*every]
        for part, every in parts.items()
        if part is not None and any(e.after_id in behind for e in every)
    }


def _part(state: Tensor) -> object:
    """Return the part of memory that a tensor of several floats has; None where that is not known,
    or it is asked for a gradient."""
    is_float = (state.dtype or "").startswith(("float", "bfloat"))
    if state.requires_grad or not is_float or math.prod(state.shape or ()) < 2:
        return None
    block = state.storage_id
    return None if block is None else (block, state.storage_offset, state.shape)


def _is_change(facts: Facts, first: Call, event: Wrote) -> bool:
    """Say whether a write is one of arithmetic, by what was there before the first one or is
    drawn."""
    call = facts.graph.call[event.call_id]
    others = [i for i in call.inputs if i != event.before_id]
    is_arithmetic = plain_name(call.function) in _CHANGES and not call.bookkeeping
    return is_arithmetic and all(_is_no_result(facts, i, first) for i in others)


def _is_no_result(facts: Facts, tensor_id: int, first: Call) -> bool:
    """Say whether a value was there before a call, or is drawn at random, or scaled from such: no
    weight, which an average follows."""
    maker, state = facts.maker.get(tensor_id), facts.graph.tensor[tensor_id]
    if state.requires_grad or state.object_id in facts.of_modules:
        return False
    if maker is None or maker.id < first.id or plain_name(maker.function) in _DRAWS:
        return True
    is_scaled = plain_name(maker.function) in _CHANGES
    return is_scaled and all(_is_no_result(facts, i, first) for i in maker.inputs)


def _is_pass_between(facts: Facts, one: Call, other: Call) -> bool:
    """Say whether a backward ran between two calls."""
    return any(one.id < b.call_id < other.id for b in facts.graph.backwards)


def _data(facts: Facts, words: Words, call: Call) -> str:
    """Return what the memory is called that a call wrote: the largest tensor with a name there."""
    block = facts.graph.tensor[call.inputs[0]].storage_id
    every: Iterable[Tensor] = facts.in_memory.get(block, ()) if block is not None else ()
    named = [t for t in every if t.name] or [facts.graph.tensor[call.inputs[0]]]
    return words.name(max(named, key=lambda t: math.prod(t.shape or ())).id)
