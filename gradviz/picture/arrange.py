"""Scene -> Scene with room for its lines: name tags for leaves that many calls read, short signs
for many cuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gradviz.picture.scene import Arrow, Box, Card, Row, Scene
from gradviz.words.speech import say

USES = 4  # arrows that the card of one leaf bears; beyond, every use gets a name tag of its own
LISTED = 6  # leaves that one small card names
TOGETHER = 3  # such leaves that one call reads: from here on they share a small card
# kinds of arrows, the one that tells most last
STRENGTH = ("edge", "forward", "zeros", "gradient", "raise")
CUTS = 4  # cuts that leave one card; from here on their words stand in the cards at their ends


def arranged(scene: Scene, like: Scene | None = None) -> Scene:
    """Return the scene as it is drawn, with room for its lines.

    One leaf that is tied to all steps of a loop makes the layout hang and the picture a fan, so
    each use gets a small card with its name; the many leaves that one step reads so, as a recurrent
    cell does, share one. Leaves that a shaded region cuts off get one small card and one arrow for
    the whole region.
    """
    like = like or scene
    leaves = _leaves(scene, like)
    cut_groups = _cuts_into_regions(like, leaves)
    fans = _fans(like, leaves)
    read_together = _read_together(like, fans)
    merged = {i for same in (*cut_groups, *read_together) for i in same}
    cards = list(scene.cards)
    arrows = _with_tags(scene, fans, merged, cards)
    for places in _first_reads(like, read_together):
        same = [scene.arrows[i] for i in places]
        cards.append(_tag([fans[i] for i in dict.fromkeys(a.tail for a in same)], len(cards)))
        arrows.append(_read_as_one(same, cards[-1].id))
        cards[-1] = cards[-1]._replace(absent=arrows[-1].absent)
    for places in cut_groups:
        every = [scene.arrows[i] for i in places]
        same = [a for a in every if not a.absent] or every[:1]
        tag = _tag([leaves[i] for i in dict.fromkeys(a.tail for a in same)], len(cards))
        cards.append(tag._replace(absent=same[0].absent))
        arrows.append(_as_one(same, tag.id))
    with_tags = scene._replace(cards=tuple(cards), arrows=tuple(arrows))
    return _short_cuts(_with_badges(with_tags, like))


def _with_badges(scene: Scene, like: Scene) -> Scene:
    """Return the scene without frames around single cards that ran without recording: such a card
    says so itself."""
    alone = [box.kind == "region" and len(box.members) == 1 for box in like.boxes]
    if not any(alone):
        return scene
    cards = list(scene.cards)
    for box, is_alone in zip(scene.boxes, alone, strict=True):
        if is_alone and not box.absent and not cards[box.members[0]].absent:
            card = cards[box.members[0]]
            badge = Row("untracked", "", box.mode)
            cards[box.members[0]] = card._replace(rows=(*card.rows, badge))
    frames = [box for box, is_alone in zip(scene.boxes, alone, strict=True) if not is_alone]
    arrows = [a._replace(to_frame=False) for a in scene.arrows]
    kept = tuple(arrows) if not any(box.kind == "region" for box in frames) else scene.arrows
    return scene._replace(cards=tuple(cards), arrows=kept, boxes=tuple(frames))


def _leaves(scene: Scene, like: Scene) -> dict[int, Card]:
    """Return the cards that nothing made, by their ids."""
    made = {a.head for a in like.arrows if a.kind != "of"}
    return {c.id: scene.cards[c.id] for c in like.cards if c.id not in made and c.kind != "node"}


def _with_tags(
    scene: Scene, fans: dict[int, Card], left_out: set[int], cards: list[Card]
) -> list[Arrow]:
    """Return the arrows, each use of a leaf of ``fans`` from a small card of its own; the small
    cards go to ``cards``."""
    arrows = []
    for i, a in enumerate(scene.arrows):
        if i in left_out:
            continue
        if a.tail in fans and a.kind not in ("cut", "of"):
            cards.append(_tag([fans[a.tail]], len(cards))._replace(absent=a.absent))
            a = a._replace(tail=cards[-1].id)
        arrows.append(a)
    return arrows


def _fans(scene: Scene, leaves: dict[int, Card]) -> dict[int, Card]:
    """Return the leaves that are read more often than one card bears arrows."""
    uses = Counter(a.tail for a in scene.arrows if a.kind not in ("cut", "of"))
    return {i: leaf for i, leaf in leaves.items() if uses[i] > USES}


def _read_together(scene: Scene, fans: dict[int, Card]) -> list[list[int]]:
    """Return the places of arrows by which one card reads so many of these leaves that they share a
    small card."""
    into: dict[tuple[int, bool], list[int]] = {}
    for i, a in enumerate(scene.arrows):
        if a.tail in fans and a.kind not in ("cut", "of"):
            into.setdefault((a.head, a.to_frame), []).append(i)
    leaves = {head: {scene.arrows[i].tail for i in places} for head, places in into.items()}
    return [places for head, places in into.items() if len(leaves[head]) >= TOGETHER]


def _first_reads(scene: Scene, read_together: list[list[int]]) -> Iterator[list[int]]:
    """Yield those of the places at which the values are read first: not again where they reach a
    call's result from another card of the same call, which reads them, too, and no gradient came
    back from the result alone."""
    calls = {card.id: set(card.call_ids) for card in scene.cards}
    feeds = {(a.tail, a.head) for a in scene.arrows if a.kind not in ("cut", "of")}
    heads = {places[0]: scene.arrows[places[0]].head for places in read_together}
    tails = {places[0]: {scene.arrows[i].tail for i in places} for places in read_together}
    for first, *others in read_together:
        comes_back = any(scene.arrows[i].kind != "forward" for i in [first, *others])
        is_again = not comes_back and any(
            tails[first] <= tails[one]
            and (heads[one], heads[first]) in feeds
            and calls[heads[one]] & calls[heads[first]]
            for one in heads
            if one != first
        )
        if not is_again:
            yield [first, *others]


def _read_as_one(reads: list[Arrow], tail: int) -> Arrow:
    """Return one arrow for all reads of some leaves by one card: the strongest of them, which says
    how many gradients came back."""
    there = [a for a in reads if not a.absent] or reads[:1]
    strongest = max(there, key=lambda a: STRENGTH.index(a.kind))
    came = sum(a.kind in ("gradient", "zeros") for a in there)
    is_counted = came > 1 and strongest.kind != "raise"  # whose label says what happened
    label = say("card.gradients", n=came) if is_counted else strongest.label
    return strongest._replace(tail=tail, label=label)


def _cuts_into_regions(scene: Scene, leaves: dict[int, Card]) -> list[list[int]]:
    """Return the places of arrows by which one shaded region cuts off several leaves, by region and
    reason."""
    regions = [(k, box) for k, box in enumerate(scene.boxes) if box.kind == "region"]
    region = {i: k for k, box in regions for i in box.members}
    into: dict[tuple[int, str], list[int]] = {}
    for i, a in enumerate(scene.arrows):
        crosses = a.tail in leaves and a.tail not in region and a.head in region
        if a.kind == "cut" and crosses:
            into.setdefault((region[a.head], a.label), []).append(i)
    return [places for places in into.values() if len(places) > 1]


def _as_one(cuts: list[Arrow], tail: int) -> Arrow:
    """Return one arrow for all cuts between a region and the small card of the leaves."""
    heads = {a.head for a in cuts}
    label = cuts[0].label
    if len(cuts) > 1:
        label = say("card.times", what=label, n=len(cuts))
    return cuts[0]._replace(tail=tail, head=min(heads), label=label, to_frame=len(heads) > 1)


def _tag(leaves: list[Card], number: int) -> Card:
    """Make the small card that names some leaves."""
    rows = [leaf.rows[0]._replace(text=leaf.name or leaf.title) for leaf in leaves]
    if len(rows) > LISTED:
        rows[LISTED - 1 :] = [Row("code", say("card.more_leaves", n=len(rows) - LISTED + 1))]
    return Card(
        number, "tag", tuple(rows), tensor_ids=tuple(i for leaf in leaves for i in leaf.tensor_ids)
    )


def _short_cuts(scene: Scene) -> Scene:
    """Move the reasons of cuts, where many leave one card, into the cards at their ends: the arrows
    have no room."""
    leaving = Counter(a.tail for a in scene.arrows if a.kind == "cut")
    cards, arrows = list(scene.cards), list(scene.arrows)
    for i, a in enumerate(scene.arrows):
        if a.kind == "cut" and leaving[a.tail] >= CUTS:
            first, *rest = cards[a.head].rows
            if not a.absent:
                cards[a.head] = cards[a.head]._replace(rows=(first, Row("cut", a.short), *rest))
            arrows[i] = a._replace(label="✂")
    return scene._replace(cards=tuple(cards), arrows=tuple(arrows))


def side_by_side(box: Box, arrows: Sequence[Arrow]) -> bool:
    """Tell whether a leaf and what was cut from it can share a row: no other way leads from one to
    the other."""
    after: dict[int, list[tuple[str, int]]] = {}
    for a in arrows:
        after.setdefault(a.tail, []).append((a.kind, a.head))
    first, *others = box.members
    above = [a for a in arrows if a.head == first]
    if len(others) != 1 or ("cut", others[0]) not in after.get(first, ()) or len(above) > 1:
        return False  # several arrows from above would run through the words of the frame
    seen: set[int] = set()
    todo = [head for _, head in after[first] if head != others[0]]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += [head for _, head in after.get(one, ())]
    return others[0] not in seen
