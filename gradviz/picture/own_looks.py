"""Cards, arrows and frames of several pictures that were laid out as one: what each shows in its
own, and whether it has room there."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradviz.picture import theme
from gradviz.picture.arrangements import ONE_COLUMN, Arrangement
from gradviz.picture.card_tables import label_of, room, table, table_height, table_width
from gradviz.picture.chip_labels import chip, chip_lines, chip_width, frame_chip, label_of_arrow
from gradviz.picture.dot import beside, larger_first, shown_label
from gradviz.picture.legend import footer
from gradviz.picture.scene import Arrow, Card, Scene

STOPPED = "✕"  # the sign of a backward that stopped, where there is no room for words
SPARE = 60  # points; a layout with boxes that much wider than they have to be is kept


class OwnLook(NamedTuple):
    """A card or an arrow of one of several pictures that were laid out as one.

    Attributes:
        id: that it has in its own picture.
        kind: of card or arrow.
        label: DOT's label.
        less: points by which a card is narrower and lower than its place.
        to_frame: whether an arrow ends at a frame.
    """

    id: str
    kind: str
    label: str
    less: tuple[float, float] = (0, 0)
    to_frame: bool = False


def own_look(card: Card, place: Card, how: Arrangement) -> OwnLook:
    """Return a card in its own size, for a place with room for its rows in every picture."""
    width, height = room(place, how.lines)
    less = (
        width - table_width(card.rows, how.lines),
        height - table_height(card.rows, how.lines),
    )
    label = table(card.kind, card.rows, how.lines)
    return OwnLook(f"n{card.id}", card.kind, label, less)


def has_room_for(laid_out: Scene, scene: Scene, how: Arrangement) -> bool:
    """Tell whether the layout of one scene is good for another, too: the same cards, arrows and
    frames, each box and chip as large as it has to be, and no box much larger than that.

    >>> from gradviz.picture.arrangements import ACROSS
    >>> from gradviz.picture.scene import Row
    >>> of = lambda text: Scene((Card(0, "leaf", (Row("code", text),)),))
    >>> wide, narrow = of("a = [1, 0.0625]"), of("a = [1, 0.5]")
    >>> has_room_for(wide, narrow, ACROSS[0]), has_room_for(narrow, wide, ACROSS[0])
    (True, False)
    """
    if _bare_of_words(laid_out) != _bare_of_words(scene):
        return False
    boxes = zip(_box_sizes(laid_out, how), _box_sizes(scene, how), strict=True)
    chips = zip(_chip_sizes(laid_out, how), _chip_sizes(scene, how), strict=True)
    return all(
        0 <= width - least_width <= SPARE and height == least_height
        for (width, height), (least_width, least_height) in boxes
    ) and all(
        width >= least_width and height >= least_height
        for (width, height), (least_width, least_height) in chips
    )


def _bare_of_words(scene: Scene) -> tuple[Any, ...]:
    """Return what a layout hangs on besides the sizes of boxes and chips."""
    arrows = [(a.tail, a.head, a.kind, a.to_frame) for a in scene.arrows]
    return [(c.id, c.kind) for c in scene.cards], arrows, scene.boxes, scene.is_bare


def _box_sizes(scene: Scene, how: Arrangement) -> list[tuple[float, float]]:
    """Return the size of the box of each card, in points."""
    return [
        room(c, how.lines)
        if c.room
        else (table_width(c.rows, how.lines), table_height(c.rows, how.lines))
        for c in scene.cards
    ]


def _chip_sizes(scene: Scene, how: Arrangement) -> list[tuple[float, int]]:
    """Return how wide the chip of each arrow is, in points, and how high, in lines."""
    cards = {c.id: c for c in scene.cards}
    texts = [shown_label(a, cards[a.head], how) for a in scene.arrows]
    return [(chip_width(text), len(chip_lines(text))) if text else (0, 0) for text in texts]


def arrow_look(number: int, arrow: Arrow, head: Card, how: Arrangement) -> OwnLook:
    """Return an arrow with its own chip.

    Args:
        number: of the arrow in its picture.
        arrow: itself.
        head: the card that it leads to.
        how: the arrangement of all pictures.
    """
    is_stopped = how.across and arrow.kind == "raise"  # cards of other states may be close by
    text = STOPPED if is_stopped else shown_label(arrow, head, how)
    label = chip(text, theme.CHIPS[arrow.kind]) if text else ""
    return OwnLook(f"e{number}", arrow.kind, label, to_frame=arrow.to_frame)


def frame_looks(scene: Scene, how: Arrangement) -> dict[str, str]:
    """Return the labels of those frames that are not absent, by their names in DOT."""
    level = beside(scene, how)
    return {
        f"cluster_{k}": frame_chip(box, box.members in level)
        for k, box in enumerate(larger_first(scene))
        if not box.absent
    }


class Piece(NamedTuple):
    """What one part of a picture shows at one step. ``of``: "n3", "e4", "cluster_1", or "" for the
    legend."""

    of: str
    kind: str
    label: str
    title: str = ""


def pieces(scene: Scene, how: Arrangement) -> list[Piece]:
    """List everything in the scene that is not absent, for ``render.pieces``.

    Args:
        scene: one of several with the same cards, arrows and frames, of which one was laid out.
        how: the arrangement of that layout.
    """
    level = beside(scene, how)
    labels = [label_of_arrow(a) for a in scene.arrows]
    chips = [
        chip(label, theme.CHIPS[a.kind], (a.tail, a.head) in level) if label else ""
        for label, a in zip(labels, scene.arrows, strict=True)
    ]
    return [
        Piece("", "legend", footer(scene, how in ONE_COLUMN)),
        *(
            Piece(f"cluster_{i}", box.kind, frame_chip(box, box.members in level))
            for i, box in enumerate(larger_first(scene))
            if not box.absent
        ),
        *(
            Piece(f"n{c.id}", c.kind, label_of(c, how.lines), c.detail)
            for c in scene.cards
            if not c.absent
        ),
        *(Piece(f"e{i}", a.kind, chips[i]) for i, a in enumerate(scene.arrows) if not a.absent),
    ]
