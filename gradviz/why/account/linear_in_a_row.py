"""Linear layers one behind the other, with nothing between: a row is told once. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed
from gradviz.words.words import Words


def linear_in_a_row(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a linear layer that is given what another one made, and alone takes it, where the
    values between are at least as many as go in or come out: fewer are meant, as in LoRA; and of
    one network: a generator and its discriminator are two."""
    behind = facts.in_losses
    ending_at = dict[int, list[Call]]()
    for call in facts.ordinary_calls:
        before = _linear_before(facts, call)
        if before is not None and not behind.isdisjoint(call.outputs):
            ending_at[call.id] = [*ending_at.pop(before.id, [before]), call]
    # of the passes of a loop the last
    found = {tuple((line_of(c), c.module) for c in row): row for row in ending_at.values()}
    for row in found.values():
        fields = {
            "n": len(row),
            "one": _at(facts, words, row[0]),
            "other": _at(facts, words, row[-1]),
        }
        key = "linear_in_a_row" if len(row) == 2 else "many_linear_in_a_row"
        yield Remark(Weight.ORDINARY, key, fields, tuple(row))


def _at(facts: Facts, words: Words, call: Call) -> str:
    """Return a layer and where it stands: by its place in the model where the code there calls a
    module around it, of which it is the last layer."""
    under_way = [facts.module_call[i] for i in facts.module_calls_around(call.module_call)]
    if not any(outer.code == words.code(call) for outer in under_way[1:]):
        return words.at(call)
    root = next(m.name for m in facts.graph.modules if m.id == under_way[0].module_id)
    return words.at(call, ".".join(filter(None, (root, under_way[0].path))))


def _linear_before(facts: Facts, call: Call) -> Call | None:
    """Return the linear layer before another one, whose result that alone reads."""
    if call.function != "linear" or not call.inputs:
        return None
    given = computed(facts, call.inputs[0], frozenset({"flatten", "view", "reshape"}))
    before = facts.maker.get(given)
    if before is None or before.function != "linear" or not before.inputs:
        return None
    tensor = facts.graph.tensor
    shapes = [tensor[i].shape or () for i in (before.inputs[0], given, *call.outputs[:1])]
    alone = len(facts.calls_reading.get(given, ())) == 1
    if not alone or not all(shapes):
        return None
    wide = shapes[1][-1] >= min(shapes[0][-1], shapes[2][-1])
    return before if wide and _in_one_forward(facts, before, call) else None


def _in_one_forward(facts: Facts, before: Call, call: Call) -> bool:
    """Say whether one call of a module made both calls, or none made either."""
    one, other = (_module_calls(facts, made) for made in (before, call))
    return not one.isdisjoint(other) or not (one or other)


def _module_calls(facts: Facts, call: Call) -> set[int]:
    """Return the calls of modules under way while a call ran."""
    parents = {c.id: c.parent_id for c in facts.graph.module_calls}
    under_way, inner = set[int](), call.module_call
    while inner is not None:
        under_way.add(inner)
        inner = parents.get(inner)
    return under_way
