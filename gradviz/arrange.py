"""Scene -> Scene with room for its lines: name tags for leaves that many calls read, short signs for many cuts."""

from __future__ import annotations

from collections import Counter

from .scene import Arrow, Card, Row, Scene

USES = 4  # arrows that the card of one leaf bears; beyond, every use gets a name tag of its own
CUTS = 4  # cuts that leave one card; from here on their words stand in the cards at their ends


def arranged(scene: Scene) -> Scene:
    """The scene as it is drawn.

    One leaf that is tied to all steps of a loop makes the layout hang and the picture a fan, so each use gets a small
    card with its name. So do leaves that are cut from several calls of one shaded region: one small card for a call.
    """
    made = {a.head for a in scene.arrows if a.kind != "of"}
    leaves = {c.id: c for c in scene.cards if c.id not in made and c.kind != "node"}
    uses = Counter(a.tail for a in scene.arrows if a.kind not in ("cut", "of"))
    region = {i: k for k, box in enumerate(scene.boxes) if box.kind == "region" for i in box.members}
    into = Counter(region[a.head] for a in scene.arrows if a.kind == "cut" and a.tail in leaves and a.head in region)
    cards, arrows = list(scene.cards), list[Arrow]()
    tags: dict[tuple[int, str], int] = {}
    for a in scene.arrows:
        if a.tail in leaves and a.kind == "cut" and a.tail not in region and into[region.get(a.head, -1)] > 1:
            if (a.head, a.label) in tags:
                tag = cards[tags[a.head, a.label]]
                cards[tag.id] = tag._replace(rows=(*tag.rows, *_tag(leaves[a.tail], 0).rows))
                continue
            tags[a.head, a.label] = len(cards)
        elif a.tail not in leaves or a.kind in ("cut", "of") or uses[a.tail] <= USES:
            arrows.append(a)
            continue
        cards.append(_tag(leaves[a.tail], len(cards)))
        arrows.append(a._replace(tail=cards[-1].id))
    return _short_cuts(scene._replace(cards=tuple(cards), arrows=tuple(arrows)))


def _tag(leaf: Card, number: int) -> Card:
    return leaf._replace(id=number, kind="tag", rows=(leaf.rows[0]._replace(text=leaf.name or leaf.title),))


def _short_cuts(scene: Scene) -> Scene:
    """Where many cuts leave one card, their reasons stand in the cards at their ends: the arrows have no room."""
    leaving = Counter(a.tail for a in scene.arrows if a.kind == "cut")
    cards, arrows = list(scene.cards), list(scene.arrows)
    for i, a in enumerate(scene.arrows):
        if a.kind == "cut" and leaving[a.tail] >= CUTS:
            first, *rest = cards[a.head].rows
            cards[a.head] = cards[a.head]._replace(rows=(first, Row("cut", a.label), *rest))
            arrows[i] = a._replace(label="✂")
    return scene._replace(cards=tuple(cards), arrows=tuple(arrows))
