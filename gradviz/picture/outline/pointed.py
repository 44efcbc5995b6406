"""The cards and arrows of an outline that an explanation points at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gradviz.graph.facts import grouped
from gradviz.picture.outline.links import Link, Links, Pair
from gradviz.picture.outline.unit import Unit


class Pointed(NamedTuple):
    """What an explanation points at: cards by their places, and links that are arrows."""

    cards: set[int]
    pairs: set[Pair]


def pointed(links: Links) -> Pointed:
    """Find what the explanation that an outline is drawn for points at; nothing without one."""
    points = links.expansion.asked.points
    found = Pointed(set(), set())
    if points.parameter:
        found.cards.update(k for k, unit in enumerate(links.units) if _has_unused(unit, links))
    operations, owner = links.operations, links.owner
    cut_by = _cut_by(links) if points.calls else {}
    for call_id in sorted(points.calls):
        at = operations.of_call.get(call_id)
        if at in owner:
            found.cards.add(owner[at])
        elif call_id in cut_by:
            found.cards.update(cut_by[call_id].cards)
            found.pairs.update(cut_by[call_id].pairs)
        else:  # it is no card, nor between cards: those that made what it reads stand for it
            made = map(operations.source_of, operations.graph.call[call_id].inputs)
            found.cards.update(owner[source] for source in made if source in owner)
    return found


def _has_unused(unit: Unit, links: Links) -> bool:
    """Say whether the parameter that an explanation points at is in a module of a card that was
    never called."""
    root, _, name = links.expansion.asked.points.parameter.partition(".")
    known = any(module.name == root for module in links.operations.graph.modules)
    return known and any(name.startswith(f"{path}.") for path in unit.unused)


def _cut_by(links: Links) -> Mapping[int, Pointed]:
    """Find the arrows that each call cuts, by its id, or else the cards that tell of its cut."""
    inside = grouped(
        (call_id, place)
        for place, inner in links.inner.items()
        for _, link in inner
        for call_id in _cut_in(link)
    )
    between = grouped(
        (call_id, link.pair) for link in links.all.values() for call_id in _cut_in(link)
    )
    drawn = {link.pair for link in links.drawn if links.is_cut_arrow(link)}
    found: dict[int, Pointed] = {}
    for call_id in {*inside, *between}:
        pairs = set(between.get(call_id, ()))
        ends = (place for pair in pairs - drawn for place in pair)
        found[call_id] = Pointed({*inside.get(call_id, ()), *ends}, pairs & drawn)
    return found


def _cut_in(link: Link) -> set[int]:
    """Return the calls that cut a link."""
    return {cut.call_id for cut in link.cuts}
