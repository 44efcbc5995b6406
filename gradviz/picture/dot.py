"""Scene -> DOT text. The same scene gives the same bytes in every process.

Text of the user's only ever stands in HTML-like labels, through ``escape``; node ids are ``n<int>``
and only attributes of ``ALLOWED`` are written, so no text can become an attribute, a tag, a link or
a file name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gradviz.picture import theme
from gradviz.picture.arrange import side_by_side
from gradviz.picture.arrangements import ARRANGEMENTS, ONE_COLUMN, UNSET, Arrangement, Lines
from gradviz.picture.card_tables import card_width, label_of
from gradviz.picture.chip_labels import chip, chip_width, frame_chip, label_of_arrow
from gradviz.picture.legend import footer
from gradviz.picture.levels import Plan, in_one_column, plan
from gradviz.picture.scene import Arrow, Box, Card, Scene

ALLOWED = frozenset(
    "arrowhead arrowsize arrowtail bgcolor class color compound dir fillcolor fontname fontsize"
    " fontcolor id key label labeljust labelloc lhead margin minlen newrank nodesep pad penwidth"
    " rank ranksep rankdir shape style weight xlabel".split()
)
PLANNED = 200  # cards; what has more is never laid out
# weights of the longest way, of cards under each other, of a name at its node
MAIN, COLUMN, NEAR = 30, 8, 8
SINGLE = 20  # weight of cards that all stand under each other


def dot(scene: Scene, how: Arrangement = ARRANGEMENTS[0]) -> str:
    """Write the DOT source of a scene.

    Args:
        scene: cards, arrows and frames; folded already if it has to be.
        how: one of ``ARRANGEMENTS``.

    Returns:
        Text for Graphviz, ending in a newline.
    """
    level = beside(scene, how)
    rows = _plan(scene, level, how)
    framed = {i for box in scene.boxes for i in box.members}
    lines = [
        "digraph {",
        f"  {_picture(scene, how)}",
        f"  node [{_attributes(shape='plain', fontname=theme.SANS, fontsize=theme.VALUE_SIZE)}];",
        f"  edge [{_attributes(fontname=theme.SANS, fontsize=theme.STATE_SIZE, arrowsize=0.8)}];",
        *_boxes(scene, larger_first(scene), level, how.lines),
        *(f"  {_card(c, how.lines)}" for c in scene.cards if c.id not in framed),
        *_arrows(scene, level, rows, how),
        *_columns(rows, SINGLE if how.single else COLUMN),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _picture(scene: Scene, how: Arrangement) -> str:
    """Write the attributes of the whole picture."""
    return _attributes(
        rankdir="LR" if how.across else "TB",
        newrank="true",
        bgcolor="transparent",
        nodesep=0.3 if how.across else 0.15 if how.tight else 0.25,
        ranksep=0.46 if how.across and not how.tight else 0.34,
        pad=0.06,
        labelloc="b",
        fontname=theme.SANS,
        fontsize=theme.STATE_SIZE,
        label=footer(scene, how in ONE_COLUMN),
        compound="true" if any(a.to_frame for a in scene.arrows) else "",
        end=";",
    )


def _arrows(
    scene: Scene, level: list[tuple[int, int]], rows: Plan, how: Arrangement
) -> Iterator[str]:
    """Write every arrow."""
    region = {
        m: f"cluster_{k}"
        for k, box in enumerate(larger_first(scene))
        if box.kind == "region"
        for m in box.members
    }
    cards = {c.id: c for c in scene.cards}
    for i, a in enumerate(scene.arrows):
        link = (a.tail, a.head)
        # an xlabel takes no room
        is_beside = how.across or (how.lines.code < UNSET and link in rows.long)
        words_at = "xlabel" if is_beside else "label"
        label = shown_label(a, cards[a.head], how)
        look = _arrow(a.kind, label, words_at, link in level, link in rows.main, rows.spans[i])
        look += f' lhead="{region[a.head]}"' if a.to_frame else ""
        yield f'  n{a.tail} -> n{a.head} [key="e{i}" id="e{i}" {look}];'


def shown_label(arrow: Arrow, head: Card, how: Arrangement) -> str:
    """Return what stands at an arrow: between two cards side by side only the sign of a cut, where
    the second one tells its reason."""
    return "✂" if how.across and _tells(head, arrow.reason) else label_of_arrow(arrow)


def _tells(card: Card, reason: str) -> bool:
    """Say whether the code of a card, or its badge, tells the reason of a cut."""
    seen = (row.drawn for row in card.rows if row.kind in ("code", "untracked"))
    return bool(reason) and any(reason in text for text in seen)


def line_of(kind: str) -> dict[str, str]:
    """Return the attributes of one line of one kind of arrow: every one that differs by kind."""
    plain = {"dir": "forward", "arrowtail": "none", "arrowhead": "normal", "style": "solid"}
    return {**plain, **{name: f"{value}" for name, value in _line(kind).items()}}


def _columns(rows: Plan, weight: int) -> Iterator[str]:
    """Write the links without a line that keep cards under each other."""
    look = _attributes(style="invis", weight=weight)
    for upper, lower in rows.columns:
        yield f"  n{upper} -> n{lower} [{look}];"


def larger_first(scene: Scene) -> list[Box]:
    """Sort the frames so that the larger ones come first."""
    return sorted(scene.boxes, key=lambda b: (-len(b.members), b.kind))


def beside(scene: Scene, how: Arrangement) -> list[tuple[int, int]]:
    """List the pairs of cards that share a frame and a row."""
    if how.columns or how.across or how.single:
        return []
    return [(b.members[0], b.members[1]) for b in scene.boxes if side_by_side(b, scene.arrows)]


def _attributes(*, end: str = "", **given: Any) -> str:
    """Write attributes of DOT, those of ``ALLOWED`` only."""
    unknown = given.keys() - ALLOWED
    if unknown:
        raise ValueError(f"not on the list of attributes that may be drawn: {sorted(unknown)}")
    return " ".join(f"{k}={_value(v)}{end}" for k, v in given.items() if v != "")


def _value(value: Any) -> str:
    """Quote the value of an attribute where DOT wants it."""
    text = str(value)
    if text.startswith("<<"):
        return text
    if isinstance(value, (int, float)):
        return f"{value:g}"
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _card(card: Card, how: Lines) -> str:
    """Write a card as a node."""
    return f'n{card.id} [id="n{card.id}" label={label_of(card, how)}];'


def _boxes(scene: Scene, order: list[Box], level: list[tuple[int, int]], how: Lines) -> list[str]:
    """Write frames as nested clusters, in an order in which the larger ones come first."""
    cards = {c.id: c for c in scene.cards}
    inner: dict[int, list[int]] = {}  # boxes by the box around them
    around: dict[int, int] = {}  # the innermost box of a card
    for i, box in enumerate(order):
        inner.setdefault(around.get(box.members[0], -1), []).append(i)
        around |= dict.fromkeys(box.members, i)

    def write(i: int, indent: str) -> list[str]:
        """Write one frame and those in it."""
        box, flat = order[i], order[i].members in level
        lines = [f"{indent}subgraph cluster_{i} {{ {_box(box, flat)}"]
        lines += [line for j in inner.get(i, ()) for line in write(j, indent + "  ")]
        lines += [f"{indent}  {_card(cards[m], how)}" for m in box.members if around[m] == i]
        if flat:
            lines.append(f"{indent}  {{ rank=same; {' '.join(f'n{m};' for m in box.members)} }}")
        return [*lines, indent + "}"]

    return [line for i in inner.get(-1, ()) for line in write(i, "  ")]


def _box(box: Box, flat: bool) -> str:
    """Write the attributes of a frame."""
    look = theme.BOXES[box.kind]
    return _attributes(
        style=look.style,
        color=look.line,
        fillcolor=look.fill if "filled" in look.style else "",
        penwidth=look.thick,
        labeljust="r",
        labelloc="t",
        margin=10,
        label=frame_chip(box, flat),
        end=";",
    )


@lru_cache(maxsize=4096)
def _arrow(kind: str, label: str, words_at: str, flat: bool, main: bool, span: int) -> str:
    """Write the attributes of an arrow. Forward is drawn in rank order; a gradient beside it is the
    second colour of the same edge.

    One edge for both keeps the two lines parallel and halves the layout's work; ``render`` moves
    them apart and gives each its own width.
    """
    words = chip(label, theme.CHIPS[kind], one_line=flat) if label else ""
    minlen = 2 if flat else span if span > 1 else ""
    weight = NEAR if kind == "of" else MAIN if main else ""
    return _attributes(
        **{"class": kind, **_line(kind), words_at: words}, minlen=minlen, weight=weight
    )


def _line(kind: str) -> dict[str, Any]:
    """Return line and heads of one kind of arrow. A bar or an open head stands at the tail, a
    filled head at the head."""
    forward, back = theme.FORWARD, theme.RETURNED.get(kind)
    if back:
        bar = "tee" if kind == "raise" else "vee"
        return {
            "dir": "both",
            "arrowtail": bar,
            "arrowhead": "normal",
            "color": f"{forward.colour}:{back.colour}",
        }
    if kind == "cut":
        cut = {"dir": "both", "arrowtail": "tee", "arrowhead": "normal", "style": "dashed"}
        return {**cut, "penwidth": theme.CUT.width, "color": theme.CUT.colour}
    if kind == "edge":
        return {
            "dir": "back",
            "arrowtail": "vee",
            "color": theme.EDGE.colour,
            "penwidth": theme.EDGE.width,
        }
    if kind == "of":
        return {"dir": "none", "style": "dashed", "color": theme.OF.colour}
    return {"color": forward.colour, "penwidth": forward.width}


def _plan(scene: Scene, level: list[tuple[int, int]], how: Arrangement) -> Plan:
    """Plan the rows of a scene; one that is too large to be laid out gets none."""
    if len(scene.cards) > PLANNED or how.across:
        return Plan([1] * len(scene.arrows), set(), [], set())
    links = [(a.tail, a.head) for a in scene.arrows]
    if how.single:
        return in_one_column([c.id for c in scene.cards], links, [b.members for b in scene.boxes])
    widths = _row_widths(scene, level, how)
    back = {(a.tail, a.head) for a in scene.arrows if a.kind in (*theme.RETURNED, "edge")}
    return plan(
        widths,
        links,
        level,
        back or set(links),
        how.row,
        [b.members for b in scene.boxes if how.columns],
    )


def _row_widths(scene: Scene, level: list[tuple[int, int]], how: Arrangement) -> dict[int, float]:
    """Return what each card takes of its row, in points, chips beside its arrows included."""
    widths = {c.id: card_width(c, how.lines) for c in scene.cards}
    chips: dict[int, float] = {}
    for a in scene.arrows:
        if (a.tail, a.head) in level:
            widths[a.head] += chip_width(label_of_arrow(a), one_line=True)
        elif label_of_arrow(a):
            chips[a.head] = chips.get(a.head, 0) + chip_width(label_of_arrow(a)) + 8
    return widths | {i: max(widths[i], width) for i, width in chips.items()}
