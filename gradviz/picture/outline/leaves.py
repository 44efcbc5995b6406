"""The card of one parameter: what became of its gradient, and who adds to it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.operations import LOST, Fate, Operation, Operations, Weight
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.numbers import number_rows
from gradviz.picture.outline.scene import Rail, Row, Span, Tone
from gradviz.picture.outline.unit import Unit
from gradviz.picture.outline.units import function_of
from gradviz.words.speech import say

USES = 6  # that are told of, each with what it adds


def weight_of(unit: Unit, operations: Operations) -> Weight:
    """Return the parameter that a card stands for."""
    return operations.weight[operations.graph.tensor[unit.tensor_id or 0].object_id]


def leaf_title(unit: Unit, operations: Operations) -> Row:
    """Return the first row of a parameter's card: name and shape."""
    weight = weight_of(unit, operations)
    shape = "" if weight.shape is None else f"[{', '.join(map(str, weight.shape))}]"
    kind = Span(say("outline.parameter"), "grey")
    return Row(Tone.TITLE, (Span(weight.name, "name"), kind), shape)


def leaf_rows(unit: Unit, operations: Operations, links: Links) -> list[Row]:
    """Return the rows of a parameter's card: what became of its gradient, its AccumulateGrad, and
    of several operations that use it what each adds."""
    weight = weight_of(unit, operations)
    summary = operations.graph.tensor[unit.tensor_id or 0].summary
    rows = [leaf_title(unit, operations), *number_rows(summary), _state(weight, operations)]
    if weight.fate is Fate.FROZEN:
        return rows
    rows.append(Row(Tone.GRAD_FN, (Span(say("outline.leaf_fills", name=weight.name)),)))
    return [*rows, *_added(weight, operations, links)]


def _state(weight: Weight, operations: Operations) -> Row:
    norm = operations.gradients.last_norm(weight.key)
    right = "" if math.isnan(norm) else figure(norm)
    if weight.fate is Fate.FROZEN:
        return Row(Tone.FROZEN, (Span(say("outline.leaf_frozen")),))
    if weight.fate is Fate.REACHED:
        return Row(Tone.CAN, (Span(say("outline.leaf_reached")),), "", Rail.CAN)
    if weight.fate is Fate.UNREACHED:
        return Row(Tone.LOST, (Span(say("outline.leaf_unreached")),), "", Rail.NONE)
    if alarm := _alarm(weight.fate):
        return Row(Tone.ALARM, (Span(alarm),), right, Rail.COMES)
    if weight.fate not in LOST:
        return Row(Tone.GETS, (Span(say("outline.leaf_some")),), right, Rail.COMES)
    if operations.should_get(weight):
        return Row(Tone.LOST, (Span(say("outline.leaf_lost")),), "", Rail.NONE)
    return Row(Tone.OFF, (Span(say("outline.leaf_off")),))


def _alarm(fate: Fate) -> str:
    """Say what is wrong with a gradient that came; "": nothing is."""
    if fate is Fate.ZERO:
        return say("outline.leaf_zero")
    if fate is Fate.VANISHED:
        return say("outline.leaf_vanished")
    return say("outline.leaf_nan") if fate is Fate.NAN else ""


def _added(weight: Weight, operations: Operations, links: Links) -> Iterator[Row]:
    """Tell what each of several operations that use a parameter added to its gradient in the last
    run."""
    by_op = operations.filled_from.get(weight.key, {})
    run = max((sent.run for sents in by_op.values() for sent in sents), default=0)
    added = {at: [s for s in sents if s.run == run] for at, sents in by_op.items()}
    used = [(at, sents) for at, sents in added.items() if at is not None and sents]
    if len(used) < 2:
        return
    for at, sents in used[:USES]:
        norm = operations.gradients.norm_of(sents)
        right = "" if math.isnan(norm) else figure(norm)
        yield Row(Tone.SAID, (Span(_from(operations.all[at], links)),), right)
    if len(used) > USES:
        more = say("outline.leaf_added_more", n=len(used) - USES)
        yield Row(Tone.SAID, (Span(more),))


def _from(op: Operation, links: Links) -> str:
    """Say which operation adds to a parameter's gradient."""
    inner = op.call.module_call
    call = None if inner is None else links.expansion.tree.call[inner]
    if call is None or not call.path:
        return say("outline.leaf_added_outside", function=function_of(op))
    return say("outline.leaf_added", function=function_of(op), module=call.path)
