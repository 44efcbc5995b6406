"""What a picture keeps of an earlier one: which card had what, and where it stood.

Recordings of one model have different ids, so a card is known by what stands in it: module calls by
name and number, losses by number, statements by their code, inputs by their name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.records import ModuleCall
from gradviz.picture.outline.asked import Before
from gradviz.picture.outline.unit import Kind, Unit
from gradviz.picture.outline.units import Expansion

Keys = tuple[Hashable, ...]


def keys_of(units: Sequence[Unit], expansion: Expansion) -> list[Keys]:
    """Return what the cards of a recording are known by."""
    found: list[Keys] = []
    times: Counter[Hashable] = Counter()
    for unit in units:
        keys = _keys(unit, expansion)
        if unit.kind in (Kind.LOSS, Kind.STATEMENT, Kind.PIECE):
            (key,) = keys
            keys = ((key, times[key]),)
            times[key] += 1
        found.append(keys)
    return found


def _keys(unit: Unit, expansion: Expansion) -> Keys:
    tree, operations = expansion.tree, expansion.operations
    if unit.kind is Kind.CALL:
        calls = [tree.call[i] for i in unit.calls]
        return tuple(key_of(call, expansion) for call in calls)
    if unit.kind is Kind.INPUT:
        return ((Kind.INPUT, operations.graph.tensor[unit.tensor_id].code_name),)
    if unit.kind is Kind.LEAF:
        weight = operations.weight[operations.graph.tensor[unit.tensor_id].object_id]
        return ((Kind.LEAF, weight.module_id, weight.name),)
    if unit.kind is Kind.UNUSED:
        return tuple((Kind.UNUSED, path) for path in unit.unused)
    if unit.kind is Kind.PIECE:
        call = tree.call[unit.parent if unit.parent is not None else unit.calls[0]]
        return ((Kind.PIECE, key_of(call, expansion), unit.part),)
    source = operations.all[unit.ops[-1]].call.source
    return ((unit.kind, source.code if source and unit.kind is Kind.STATEMENT else None),)


def key_of(call: ModuleCall, expansion: Expansion) -> tuple[str, int]:
    """Return what a module call is known by; without the name of the only model."""
    alone = len(expansion.operations.graph.modules) == 1
    return call.path if alone else expansion.tree.name(call), call.number


class Like(NamedTuple):
    """Where cards stood in an earlier picture, by their places in this one.

    Attributes:
        x: their middle, in points; of a part of an earlier card, that card's.
        columns: how many columns wide those were that are the same as earlier.
        same: the cards that are the same as earlier.
    """

    x: Mapping[int, float] = {}
    columns: Mapping[int, int] = {}
    same: frozenset[int] = frozenset()

    def moved(self, boxes: Mapping[int, tuple[float, float, float]]) -> float:
        """Return by how many points the same cards stand beside their earlier places, all
        together."""
        return sum(abs(boxes[k][0] - self.x[k]) for k in self.same & boxes.keys())


ANYHOW = Like()


def like(keys: Iterable[Keys], before: Before | None) -> Like:
    """Return where the cards of a picture stood in an earlier one."""
    if before is None:
        return ANYHOW
    sizes = Counter(before.card_of.values())
    x, same = {}, set()
    columns = {}
    for place, some in enumerate(keys):
        was = [before.card_of[key] for key in some if key in before.card_of]
        if was and was[0] in before.x:
            x[place] = before.x[was[0]]
            if {*was} == {was[0]} and len(was) == len(some) == sizes[was[0]]:
                same.add(place)
                columns[place] = before.columns.get(was[0], 1)
    return Like(x, columns, frozenset(same))


def before_of(
    keys: Iterable[Keys],
    boxes: Mapping[int, tuple[float, float, float]],
    columns: Mapping[int, int],
    *,
    width: int,
    inputs: bool,
) -> Before:
    """Return what a later picture is to keep of this one."""
    card_of = {key: place for place, some in enumerate(keys) for key in some}
    x = {place: box[0] for place, box in boxes.items()}
    return Before(card_of, x, dict(columns), width, inputs)
