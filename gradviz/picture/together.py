"""Several pictures of one program with everything in the same place: what is the same stands where
it stood.

The pictures that a live panel has shown, and the one that it shows, are laid over each other; that
is laid out once, with each card in the largest of its boxes. A picture then draws its own cards in
their own sizes at these places, and lengthens its arrows to their borders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gradviz.picture import fold, render, theme
from gradviz.picture.figure import WIDTH
from gradviz.picture.own_looks import arrow_look, frame_looks, has_room_for, own_look
from gradviz.picture.scene import Arrow, Box, Card, Row, Scene
from gradviz.picture.state import name_of
from gradviz.picture.table import Keys
from gradviz.words.speech import say

MOST = 40  # pictures that are laid over each other
TIMES = 2  # as many cards as a picture has, which they may have together
LEGIBLE = 0.9  # of its size, at which a picture's smallest letters have 12 CSS pixels
GROWN = 4  # CSS pixels by which a picture may be wider in the end than it was laid out
MARGINS = 8  # CSS pixels at both sides of a picture
NARROW = 374  # CSS pixels of the picture for a phone: its screen shows 348 of them

Key = tuple[int, int, int]  # tail, head, which of several alike
Layout = tuple[Scene, int, int]


def width_in(room: int) -> int:
    """Return how wide a picture may be that is read whole in so much room.

    Args:
        room: CSS pixels; 0 where that is not known.

    Example:
        >>> width_in(0), width_in(2000), width_in(548), width_in(100)
        (860, 860, 596, 374)
    """
    if room <= 0:
        return WIDTH
    return min(WIDTH, max(NARROW, int((room - MARGINS) / LEGIBLE) - GROWN))


def widths_in(rooms: Iterable[int]) -> tuple[int, int]:
    """Return how wide the pictures for several places may be: that for the widest of them, and that
    for the narrowest, 0 where one does for all.

    Example:
        >>> widths_in([]), widths_in([548, 548]), widths_in([800, 548])
        ((860, 0), (596, 0), (860, 596))
    """
    widths = sorted({width_in(room) for room in rooms}) or [WIDTH]
    return widths[-1], widths[0] if len(widths) > 1 else 0


def is_too_wide(svg: str, width: int) -> bool:
    """Tell whether a picture is wider than it may be, in a place as ``width_in`` tells."""
    return bool(svg) and render.size(svg)[0] > width + GROWN


def is_narrower(svg: str, other: str) -> bool:
    """Tell whether less of a picture is out of sight than of another one."""
    return render.size(svg)[0] < render.size(other)[0]


def _keyed(arrows: Iterable[Arrow]) -> Iterator[tuple[Key, Arrow]]:
    """Yield each arrow after the key that it has in every scene with it."""
    alike: Counter[tuple[int, int]] = Counter()
    for a in arrows:
        ends = (a.tail, a.head)
        yield (*ends, alike[ends]), a
        alike[ends] += 1


def _is(whole: Box, box: Box, scene: Scene) -> bool:
    """Tell whether a frame of the whole, as far as its cards are there, is this frame of a step."""
    return whole.kind == box.kind and {*whole.members} & {c.id for c in scene.cards} == {
        *box.members
    }


def _nested(one: Box, other: Box) -> bool:
    """Tell whether one of two frames can stand within the other, or beside it."""
    a, b = {*one.members}, {*other.members}
    return a <= b or b <= a or not a & b


def _in_terms_of(union: Scene, keys: Sequence[Key], scene: Scene) -> Scene:
    """Return a scene with the cards, arrows and frames of the union; what it lacks is absent."""
    cards = {card.id: card for card in scene.cards}
    arrows = dict(_keyed(scene.arrows))
    return Scene(
        tuple(cards.get(c.id, c._replace(absent=True)) for c in union.cards),
        tuple(
            arrows.get(key, a._replace(absent=True))
            for key, a in zip(keys, union.arrows, strict=True)
        ),
        tuple(_frame_in(scene, frame) for frame in union.boxes),
        (*scene.notes, *_notes_on_frames_left_out(union, scene)),
    )


def _frame_in(scene: Scene, frame: Box) -> Box:
    """Return a frame of the union with the label that it has in a scene, absent where it is not
    there."""
    for box in scene.boxes:
        if _is(frame, box, scene):
            return frame._replace(label=box.label, absent=False)
    return frame._replace(absent=True)


def _notes_on_frames_left_out(union: Scene, scene: Scene) -> Iterator[str]:
    """Say what is inside of the scene's frames that are none of the union's."""
    names = {card.id: card.name or card.title for card in scene.cards}
    for box in scene.boxes:
        if any(_is(frame, box, scene) for frame in union.boxes):
            continue
        members = ", ".join(names[member] for member in box.members)
        yield say("card.frame_left_out", frame=box.label, members=members)


def laid_over(placed: Sequence[Scene]) -> tuple[Scene, list[Scene]]:
    """Return a scene of everything that is ever there, and each scene in its terms. The last one
    decides about order.

    Args:
        placed: scenes in which whatever is the same has the same id.
    """
    latest_cards: dict[int, Card] = {}
    arrows: dict[Key, Arrow] = {}
    boxes: list[Box] = []
    for scene in reversed(placed):
        latest_cards = {c.id: c for c in scene.cards} | latest_cards
        arrows = arrows | {key: a for key, a in _keyed(scene.arrows) if key not in arrows}
        for box in scene.boxes:
            if not any(_is(u, box, scene) for u in boxes) and all(_nested(u, box) for u in boxes):
                boxes.append(box)
    union = Scene(
        tuple(latest_cards[i] for i in sorted(latest_cards)), tuple(arrows.values()), tuple(boxes)
    )
    return union, [_in_terms_of(union, list(arrows), scene) for scene in placed]


def rooms_of(scenes: Iterable[Scene]) -> dict[int, tuple[tuple[Row, ...], ...]]:
    """Return the rows that each card has in any of the pictures, for which its box is to be large
    enough."""
    rooms: dict[int, dict[tuple[Row, ...], None]] = {}
    for card in (c for scene in scenes for c in scene.cards if not c.absent):
        rooms.setdefault(card.id, {})[card.rows] = None
    return {card_id: tuple(rows) for card_id, rows in rooms.items()}


def whole_of(scenes: Sequence[Scene]) -> Scene:
    """Return what is laid out: every card and frame, and every arrow with its largest chip."""
    last = scenes[-1]
    arrows = []
    for i, a in enumerate(last.arrows):
        looks = [s.arrows[i] for s in scenes if not s.arrows[i].absent]
        widest = max(looks, key=lambda a: len(a.mark + (a.short or a.label)))
        kind = _widest({look.kind for look in looks})
        arrows.append(widest._replace(tail=a.tail, head=a.head, kind=kind))
    boxes = [
        max((s.boxes[i] for s in scenes), key=lambda b: len(b.label))._replace(absent=False)
        for i in range(len(last.boxes))
    ]
    notes = tuple(dict.fromkeys(note for s in scenes for note in s.notes))
    cards_present = [
        max((s.cards[i] for s in scenes), key=lambda c: not c.absent)
        for i in range(len(last.cards))
    ]
    return Scene(
        tuple(c._replace(rows=c.room[-1], absent=False) for c in cards_present),
        tuple(arrows),
        tuple(boxes),
        notes,
    )


def _widest(kinds: set[str]) -> str:
    """Return the kind that takes the most room of those that an arrow has: two lines, if any."""
    both = kinds & theme.RETURNED.keys()
    return min(both or kinds, key=fold.STRENGTH.index)


class Together:
    """Places that several pictures share.

    Example:
        >>> from gradviz.picture.scene import Card, Row, Scene
        >>> scene = Scene((Card(0, "leaf", (Row("code", "a"),), tensor_ids=(0,)),))
        >>> together = Together()
        >>> together.add("first", scene)
        >>> together.svg(scene)[:4]
        '<svg'
    """

    def __init__(self, most: int | None = MOST) -> None:
        self._most = most
        self.whole = Scene()  # what is laid out
        self._newest = Scene()  # what was to be laid out last: ``whole`` has room for it
        self.width = WIDTH  # CSS pixels that a picture has at most, if it can
        self.narrow = 0  # those of a second one, for a narrower place; 0 where there is none
        self._ids: dict[str, int] = {}  # of cards, by their keys
        self._scenes: dict[str, Scene] = {}  # by their settings, the newest last
        self._order: list[str] = []  # settings, as they first came
        self._last: dict[int, render.Arranged] = {}  # how it was arranged last, by widths

    def add(self, settings: str, scene: Scene) -> None:
        """Take in the picture that is shown now, and let go of what is too old or too different."""
        new = self._renumbered(scene)
        is_known = self._scenes.pop(settings, None) == new
        self._scenes[settings] = new
        if settings not in self._order:
            self._order.append(settings)
        if is_known:
            return
        while self._most is not None and len(self._scenes) > self._most:
            del self._scenes[next(iter(self._scenes))]
        self._lay_over()
        lost = self._terms(new).notes != new.notes
        if lost or len(self.whole.cards) > TIMES * len(scene.cards):
            self._scenes, self._last = {settings: self._scenes[settings]}, {}
            self._lay_over()

    @property
    def layout(self) -> Layout:
        """What is laid out, and in which widths: all that places hang on."""
        return self.whole, self.width, self.narrow

    def fit(self, rooms: Sequence[int]) -> bool:
        """Draw from now on for places of these widths; return whether that changes anything.

        Args:
            rooms: CSS pixels of each place in which the pictures are shown.
        """
        before = self.width, self.narrow
        self.width, self.narrow = widths_in(rooms)
        return (self.width, self.narrow) != before

    def pictures(self, scene: Scene, narrow: int = 0) -> dict[str, str]:
        """Draw one of the pictures as a state has it: as "svg", and for a narrower place as
        "narrow", where that is another one.

        Args:
            scene: it was added before.
            narrow: how wide the second one may be; 0: as wide as that of all, if they have one.

        Raises:
            CannotDraw: as ``render.render``.
        """
        svg, width = self.svg(scene), narrow or self.narrow
        second = self.svg(scene, width) if width and is_too_wide(svg, width) else svg
        return {"svg": svg, **({"narrow": second} if is_narrower(second, svg) else {})}

    def svg(self, scene: Scene, width: int | None = None) -> str:
        """Draw one of the pictures, without a legend. One that is too wide at the places of all is
        drawn at its own, if more of it is seen there.

        Args:
            scene: it was added before.
            width: another one than that of all.

        Raises:
            CannotDraw: as ``render.render``.
        """
        width = self.width if width is None else width
        if width not in self._last:
            self.whole = self._newest
        drawn = self._drawn(scene, width)
        if len(self._scenes) == 1 or not is_too_wide(drawn, width):
            return drawn
        alone = Together()
        alone.add("", scene)
        other = alone._drawn(scene, width)
        return other if is_narrower(other, drawn) else drawn

    def _drawn(self, scene: Scene, width: int) -> str:
        """Draw one of the pictures at the places of all."""
        # the arrangement that all had before is tried first: others take long, and cards would move
        source, how, flaws = render.best(self.whole, width, self._last.get(width))
        self._last[width] = render.Arranged("", how, flaws)
        numbers = self._numbers(scene)
        new = self._renumbered(scene, numbers)
        places = {key: i for i, (key, _) in enumerate(_keyed(self.whole.arrows))}
        own = {card.id: card for card in scene.cards}
        titles = {f"n{c.id}": c.detail for c in scene.cards if c.detail}
        rooms = {c.id: c for c in self.whole.cards}
        cards = {
            f"n{numbers[i]}": own_look(card, rooms[numbers[i]], how) for i, card in own.items()
        }
        heads = {c.id: c for c in new.cards}
        arrows = {
            f"e{places[key]}": arrow_look(i, arrow, heads[arrow.head], how)
            for i, (key, arrow) in enumerate(_keyed(new.arrows))
        }
        frames = frame_looks(self._terms(new), how)
        drawn = render.placed(source, cards, arrows, frames, titles)
        if is_too_wide(drawn, width):  # seen whole is more than that no card moves
            drawn = render.placed(source, cards, arrows, frames, titles, is_trimmed=True)
        return drawn

    def _lay_over(self) -> None:
        """Lay the pictures over each other. Where the layout of before has room for all, it stays:
        another one takes as long as all the rest, and new numbers move nothing."""
        self._newest = self._laid_over()
        ways = [last.how for last in self._last.values()]
        if not ways or not all(has_room_for(self.whole, self._newest, how) for how in ways):
            self.whole = self._newest

    def _laid_over(self) -> Scene:
        """Return the pictures laid over each other."""
        _, padded = laid_over([*reversed(self._in_order())])
        room = rooms_of(padded)
        alike = [
            s._replace(cards=tuple(c._replace(room=room[c.id], in_steps=True) for c in s.cards))
            for s in padded
        ]
        return whole_of(alike[::-1])._replace(notes=(), is_bare=True)

    def _in_order(self) -> list[Scene]:
        """List the pictures in an order that does not change when one comes back."""
        return [self._scenes[settings] for settings in sorted(self._scenes, key=self._order.index)]

    def _terms(self, scene: Scene) -> Scene:
        """Return a picture in the terms of what is laid out."""
        keys = [key for key, _ in _keyed(self.whole.arrows)]
        return _in_terms_of(self.whole, keys, scene)

    def _numbers(self, scene: Scene) -> dict[int, int]:
        """Return the id that each card has in what is laid out: the same for the same name."""
        key, names = Keys(), {card.id: name_of(card) for card in scene.cards}
        readers = {arrow.tail: names[arrow.head] for arrow in scene.arrows}
        numbers = {}
        for card in scene.cards:
            about = readers.get(card.id, "") if card.kind == "tag" else ""
            known = key(f"{names[card.id]}\0{about}")
            numbers[card.id] = self._ids.setdefault(known, len(self._ids))
        return numbers

    def _renumbered(self, scene: Scene, numbers: dict[int, int] | None = None) -> Scene:
        """Return a picture with these ids."""
        return scene.numbered(self._numbers(scene) if numbers is None else numbers)
