"""What one outline shows, as plain data: headline, cards of rows, links, frames. No colours, no
layout, no torch."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Tone(Enum):
    """What a row says, and so how it looks."""

    TITLE = "title"
    GETS = "gets"  # a gradient, or can get one
    CAN = "can"  # get one: nothing was recorded
    LOST = "lost"  # gets none, though it should
    OFF = "off"  # gets none, and no optimizer has it
    FROZEN = "frozen"
    GRAD_FN = "grad_fn"
    SAID = "said"  # a link that is not drawn
    CUT = "cut"
    PLAIN = "plain"  # neither
    NOTHING = "nothing"  # not tracked
    ALARM = "alarm"
    HERE = "here"  # what an explanation points at


class Rail(Enum):
    """What stands at the left edge of a row: the bed of the gradient's river."""

    NO = "no"
    COMES = "comes"
    NONE = "none"  # no gradient comes
    CAN = "can"  # a gradient can come: no backward ran
    PASSES = "passes"  # through what is frozen


class Span(NamedTuple):
    """A piece of text in a row. ``look``: name (as in the code), strong, cut, plain or grey;
    ``shorter``: what it says instead where there is less room, longest first."""

    text: str
    look: str = "plain"
    shorter: tuple[str, ...] = ()


class Row(NamedTuple):
    """One line of a card.

    Attributes:
        tone: what it says.
        left: its text, from the left.
        right: its text at the right edge.
        rail: what stands at its left edge.
        middle: a count before the text at the right edge.
        bar: how long its bar is, of 1; None: it has none.
        bars: one small upright bar for each of several calls, of 1.
        chart: over its whole width, one upright bar for each step of a loop, of 1.
        bins: histogram of the numbers that it tells of: how many are in each step.
    """

    tone: Tone
    left: tuple[Span, ...]
    right: str = ""
    rail: Rail = Rail.NO
    middle: str = ""
    bar: float | None = None
    bars: tuple[float, ...] = ()
    chart: tuple[float, ...] = ()
    bins: tuple[int, ...] = ()


class Card(NamedTuple):
    """One box.

    Attributes:
        id: its place in the outline.
        tracked: whether gradients can go back through it.
        rows: title first.
        ends: whether the gradient ends here though values come in: a bar on the rail.
        path: the module that opens it, "model.transformer.h.5"; "": nothing does.
        detail: what it says on hovering.
        calls: ids of the recorded calls that it stands for.
        narrow: whether it is only as wide as its text.
        here: whether an explanation points at it.
        members: of several equal modules the names, those that open.
    """

    id: int
    tracked: bool
    rows: tuple[Row, ...]
    ends: bool = False
    path: str = ""
    detail: str = ""
    calls: tuple[int, ...] = ()
    narrow: bool = False
    here: bool = False
    members: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return the text of the first row."""
        return "".join(span.text for span in self.rows[0].left[:1])


class Arrow(NamedTuple):
    """A drawn link.

    Attributes:
        tail, head: cards, in the direction of the value.
        kind: forward, gradient (one arrow each), can (a gradient can come) or cut.
        label: lines of the words beside it.
        loses: of a cut: whether parameters lose their gradient by it.
        spine: whether it is on the way that meets most parameters.
        here: whether an explanation points at it: the last line of its label says so.
        zeros: whether the gradient that came is all zeros.
    """

    tail: int
    head: int
    kind: str
    label: tuple[str, ...] = ()
    loses: bool = False
    spine: bool = False
    here: bool = False
    zeros: bool = False


class Frame(NamedTuple):
    """A frame around cards. ``kind``: opened, no_grad or outside, of what no arrow leads to;
    ``label``: lines of its words; ``below``: what stands between it and the cards below."""

    kind: str
    label: tuple[str, ...]
    members: tuple[int, ...]
    below: str = ""


class Part(NamedTuple):
    """One part of the strip of all parameters: so many of one rail, or a cut between them."""

    rail: Rail | None  # None: a cut
    n: int = 0


class Headline(NamedTuple):
    """What stands above the picture."""

    title: str
    lines: tuple[tuple[Span, ...], ...] = ()
    strip: tuple[Part, ...] = ()


class Outline(NamedTuple):
    """Everything that one picture of a model shows."""

    headline: Headline
    cards: tuple[Card, ...]
    arrows: tuple[Arrow, ...]
    frames: tuple[Frame, ...] = ()
    measured: bool = False  # whether numbers on it are norms of gradients
    is_recorded: bool = True
