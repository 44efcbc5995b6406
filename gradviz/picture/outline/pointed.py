"""The cards and arrows of an outline that an explanation points at."""

from __future__ import annotations

from typing import NamedTuple

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
    for call_id in sorted(points.calls):
        at = operations.of_call.get(call_id)
        if at in owner:
            found.cards.add(owner[at])
        elif (cut := _cut_by(call_id, links)) is not None:
            found.cards.update(cut.cards)
            found.pairs.update(cut.pairs)
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


def _cut_by(call_id: int, links: Links) -> Pointed | None:
    """Find the arrows that a call cuts, or else the cards that tell of its cut; None: it cuts
    nothing."""
    inside = {
        place
        for place, inner in links.inner.items()
        if any(_is_cut_by(call_id, link) for _, link in inner)
    }
    between = [link for link in links.all.values() if _is_cut_by(call_id, link)]
    if not inside and not between:
        return None
    drawn = {link.pair for link in links.drawn if links.is_cut_arrow(link)}
    ends = (link.pair for link in between if link.pair not in drawn)
    return Pointed(inside.union(*ends), drawn.intersection(link.pair for link in between))


def _is_cut_by(call_id: int, link: Link) -> bool:
    return any(cut.call_id == call_id for cut in link.cuts)
