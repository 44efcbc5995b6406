"""The tensor table: what ``print`` would say of every tensor that a picture shows, and who shares
its memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradviz.graph.facts import Facts, sharing
from gradviz.graph.records import Graph, Tensor
from gradviz.picture.scene import LINES, Card
from gradviz.words import spread
from gradviz.words.plain import in_columns, visible
from gradviz.words.speech import FEW, say, values_of

COLUMNS = ("name", "value", "grad", "requires_grad", "is_leaf", "grad_fn", "version", "storage")
CELL = 60  # characters of a cell in the text
WIDE = 90  # of the names of a group
LINE = 500  # of a line that is no row of cells


class TableRow(NamedTuple):
    """One tensor. ``key`` tells it apart from the others, and is the same for the same code run
    again."""

    key: str
    tensor_id: int  # its last state; -1 in a row that says how many are not listed, or of a group
    cells: tuple[str, ...]  # as in COLUMNS
    level: int = 0  # how far it stands below the line of its group's reason


class Keys:
    """Hands out keys: a name the first time, then "name#2" and so on.

    >>> key = Keys()
    >>> key("b"), key("b"), key("b#2"), key("a")
    ('b', 'b#2', 'b#2#2', 'a')
    """

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def __call__(self, name: str) -> str:
        self._given[name] += 1
        return name if self._given[name] == 1 else self(f"{name}#{self._given[name]}")


def rows(graph: Graph, cards: Iterable[Card]) -> list[TableRow]:
    """Make the table of the tensors that ``cards`` stand for, in their order.

    Args:
        graph: what was recorded or captured.
        cards: of the unfolded scene of this graph.

    Returns:
        One row a tensor object, as it was at the end. Beyond 200, one row that says how many more
        there are.

    Example:
        >>> rows(Graph(), ())
        []
    """
    facts = Facts.of(graph)
    last = facts.latest_state
    shown: dict[int, str] = {}  # object id -> what the table calls it
    for card in cards:
        for i in card.tensor_ids[-1:]:
            t = last[graph.tensor[i].object_id]
            shown.setdefault(t.object_id, t.name or card.title)
    shared = sharing(last[i] for i in shown)
    key = Keys()
    table = []
    for i in list(shown)[:LINES]:
        t = last[i]
        others = [shown[o.object_id] for o in shared.get(t.storage_id, ()) if o is not t]
        cells = (shown[i], *_cells(facts, t), _storage(t, others))
        table.append(TableRow(key(visible(shown[i])), t.id, tuple(visible(c) for c in cells)))
    if len(shown) > LINES:
        more = say("table.more", n=f"{len(shown) - LINES:,}")
        table.append(TableRow(more, -1, (more, *[""] * (len(COLUMNS) - 1))))
    return table


def _cells(facts: Facts, t: Tensor) -> tuple[str, ...]:
    """Write what ``print`` would say of a tensor, column by column."""
    return (
        value(t),
        grad(t, facts.grads_now[t.object_id], t.object_id in facts.had_grad),
        word(t.requires_grad),
        word(t.is_leaf),
        grad_fn(facts, t),
        word(t.version),
    )


def value(t: Tensor) -> str:
    """Write the values of a tensor: of a large one its shape, and how its numbers are spread."""
    if t.values:
        return t.values
    shape = word(None) if t.shape is None else say("label.shape", shape=list(t.shape))
    line = "" if t.summary is None else spread.whole(t.summary)
    return say("spread.and", first=shape, second=line) if line else shape


def word(value: object) -> str:
    """Write a value, or that it is not known.

    >>> word(True), word(0), word(None)
    ('True', '0', 'unknown')
    """
    return say("table.unknown") if value is None else str(value)


def grad(t: Tensor, now: str | None, had: bool) -> str:
    """Write ``.grad``, which is ``now``, and where there is none whether there could be one, or was
    (``had``)."""
    if now is not None:
        return values_of(now)
    if t.requires_grad is None or (t.requires_grad and t.is_leaf is None):
        return word(None)
    if not t.requires_grad:
        return "None" if had else say("table.not_tracked")
    return "None" if t.is_leaf or t.retains_grad else say("table.none_not_leaf")


def grad_fn(facts: Facts, t: Tensor) -> str:
    """Return the name of its ``grad_fn``, "None" where it has none, as ``print`` shows it."""
    if t.is_leaf or t.requires_grad is False:
        return "None"
    node = facts.grad_fn(t)
    return word(node.name if node else None)


def _storage(t: Tensor, others: Sequence[str]) -> str:
    """Tell with which other tensors a tensor shares its memory."""
    if t.storage_id is None:
        return word(None)
    names = list(dict.fromkeys(others))
    if len(names) > FEW:
        return say("table.shared_more", names=names[:2], n=len(names) - 2)
    return say("table.shared", names=names) if names else say("table.not_shared")


def text(rows: Sequence[TableRow], heads: Sequence[str] = ()) -> str:
    """Write the table as lines of aligned columns. ``heads`` are those of ``COLUMNS`` if left out.

    >>> cells = "a", "[1, 2]", "None", "True", "True", "None", "0", "not shared here"
    >>> print(text([TableRow("a", 0, cells)]))
    name  value   grad  requires_grad  is_leaf  grad_fn  version  storage
    a     [1, 2]  None  True           True     None     0        not shared here
    """
    if not rows:
        return ""
    head = tuple(heads) or tuple(say(f"column.{column}") for column in COLUMNS)
    return "\n".join(in_columns([head, *(_indented(row) for row in rows)]))


def _indented(row: TableRow) -> tuple[str, ...]:
    """Return the cells of a row as they stand in the text; a line of words alone is not cut."""
    first, *rest = row.cells
    limit = (WIDE if row.level else CELL) if any(rest) else LINE
    return "    " * row.level + visible(first, limit), *(visible(c, CELL) for c in rest)
