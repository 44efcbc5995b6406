"""What one picture shows, as plain data: cards, arrows, frames. No colours, no layout, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.records import Tensor
from gradviz.words.speech import say

LINES = 200  # cards, cuts or nodes that the text lists one by one


class Chart(NamedTuple):
    """A histogram: how many numbers there are in each step from the least to the largest, and what
    these two are."""

    bins: tuple[int, ...]
    low: str
    high: str


class Row(NamedTuple):
    """One line of a card. ``kind``: code, values, spread, not_finite, state, grad_fn, start,
    accumulate, stale, untracked or cut.

    ``brief`` is what a picture has room for, where that is less than the text says: "" for nothing;
    it may stand in two lines. ``chart`` stands above it.
    """

    kind: str
    text: str
    brief: str | None = None
    chart: Chart | None = None

    @property
    def drawn(self) -> str:
        """What stands on the card."""
        return self.text if self.brief is None else self.brief


class Card(NamedTuple):
    """One drawn box. ``kind``: leaf, result, untracked, node, accumulate, tag, fold or raised."""

    id: int
    kind: str
    rows: tuple[Row, ...]
    detail: str = ""  # for hovering: what the card is too short to say
    name: str = ""
    tensor_ids: tuple[int, ...] = ()
    node_ids: tuple[int, ...] = ()
    call_ids: tuple[int, ...] = ()
    inside: tuple[Card, ...] = ()  # the cards that this one stands for, when it is a fold
    absent: bool = False  # in a picture of one step: it holds the place of a card of another step
    # rows that it has at other steps, for which its box is large enough
    room: tuple[tuple[Row, ...], ...] = ()
    in_steps: bool = False  # its box grows in steps
    grad_fn: str = ""  # the names of its grad_fn and of the nodes behind it

    @property
    def title(self) -> str:
        """Its first line."""
        return self.rows[0].text

    @property
    def members(self) -> tuple[Card, ...]:
        """The cards that it stands for: itself, unless it is a fold."""
        return self.inside or (self,)

    @property
    def all_tensor_ids(self) -> tuple[int, ...]:
        """The tensors of all its members."""
        if not self.inside:
            return self.tensor_ids
        return tuple(i for card in self.inside for i in card.tensor_ids)

    @property
    def all_node_ids(self) -> tuple[int, ...]:
        """The nodes of all its members."""
        if not self.inside:
            return self.node_ids
        return tuple(i for card in self.inside for i in card.node_ids)


class Arrow(NamedTuple):
    """From the card whose value is read to the card that it makes. ``label`` is a gradient, a
    reason or a warning.

    ``kind``: forward; gradient (forward, and a gradient that came back); zeros (the same, and the
    gradient was all zeros); raise (forward, and backward stopped there); cut; edge (a gradient edge
    alone); of (a name beside its node).
    """

    tail: int
    head: int
    kind: str
    label: str = ""
    mark: str = ""  # "output 1" where a node has several outputs
    # it ends at the shaded region around its head: several cards in there read the value
    to_frame: bool = False
    absent: bool = False
    short: str = ""  # of a cut: its reason alone, for where there is no room
    reason: str = ""  # of a cut: the word by which the code of its card tells it


class Box(NamedTuple):
    """A frame around cards. ``kind``: memory or region. ``mode``: in which a region ran."""

    kind: str
    label: str
    members: tuple[int, ...]
    absent: bool = False
    mode: str = ""


class Scene(NamedTuple):
    """Everything that one picture shows."""

    cards: tuple[Card, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    boxes: tuple[Box, ...] = ()
    notes: tuple[str, ...] = ()
    is_bare: bool = False  # no legend stands under it

    def numbered(self, ids: Mapping[int, int]) -> Scene:
        """Return the same scene, whose cards have other ids.

        Args:
            ids: the new id of each card, by its id.

        Example:
            >>> cards = Card(0, "leaf", ()), Card(1, "result", ())
            >>> scene = Scene(cards, (Arrow(0, 1, "forward"),)).numbered({0: 7, 1: 8})
            >>> [card.id for card in scene.cards], scene.arrows[0][:2]
            ([7, 8], (7, 8))
        """
        return self._replace(
            cards=tuple(c._replace(id=ids[c.id]) for c in self.cards),
            arrows=tuple(a._replace(tail=ids[a.tail], head=ids[a.head]) for a in self.arrows),
            boxes=tuple(b._replace(members=tuple(ids[i] for i in b.members)) for b in self.boxes),
        )

    def only(self, cards: Sequence[Card]) -> Scene:
        """Return a scene of these cards alone, and of the arrows between them; a card's id is its
        place."""
        place = {card.id: k for k, card in enumerate(cards)}
        arrows = (a for a in self.arrows if a.tail in place and a.head in place)
        return self._replace(cards=tuple(cards), arrows=tuple(arrows)).numbered(place)


def describe(tensor: Tensor) -> str:
    """Return shape, dtype and flags in one line, for hovering."""
    shape = say("label.shape_unknown") if tensor.shape is None else str(list(tensor.shape))
    device = tensor.device if tensor.device != "cpu" else None
    flag = "requires_grad" if tensor.requires_grad else None
    leaf = say("label.leaf") if tensor.is_leaf else None
    return " ".join(part for part in (tensor.dtype, shape, device, flag, leaf) if part)
