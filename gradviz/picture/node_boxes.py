"""The nodes view of a model, folded by its modules: the nodes of a closed module call are one box,
those of what the reader opened are drawn one by one.

NOTE [no circle]: a box is a card of the outline, and those are in no circle. An AccumulateGrad,
which leads to nothing, goes with the first box that leads to it; a tensor with the node that made
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import after_all, grouped
from gradviz.graph.records import Graph
from gradviz.picture.fold import LIMIT, contract, fits, fold
from gradviz.picture.outline.asked import AS_IT_IS, Asked
from gradviz.picture.outline.fit import Fitting, Plan
from gradviz.picture.outline.fold import fold_one
from gradviz.picture.outline.unit import Kind, Unit
from gradviz.picture.outline.unrecorded import FEWER, Unrecorded
from gradviz.picture.scene import LINES, Card, Row, Scene
from gradviz.words.speech import say

KINDS = 4  # of nodes that a box names
ASKED = 2 * LIMIT  # boxes of a picture in which the reader opened something
CLOSED = Asked(depth=0)


class Box(NamedTuple):
    """Nodes that may be one box. ``asked``: the reader opened what they belong to; ``loose``: they
    belong to no module."""

    title: str
    nodes: tuple[int, ...]
    asked: bool = False
    loose: bool = False


def is_wanted(graph: Graph) -> bool:
    """Say whether a graph knows of modules, or of statements, that its nodes belong to."""
    return bool(graph.modules or graph.calls)


def folded(scene: Scene, graph: Graph, asked: Asked = AS_IT_IS) -> Scene:
    """Return the nodes view with one box for each closed module call.

    Args:
        scene: every node.
        graph: of it.
        asked: what the reader opened.

    Returns:
        A scene of few boxes. As much is drawn node by node as there is room for: first what the
        reader opened, then what belongs to no module.
    """
    pills = _Pills(scene, graph)
    for wanted in _ever_less(asked):
        limit = LIMIT if wanted in (AS_IT_IS, CLOSED) else ASKED
        for boxes in _boxes(graph, wanted):
            for one_by_one in (("asked", "loose"), ("asked",), ()):
                closed = [b for b in boxes if not any(getattr(b, sort) for sort in one_by_one)]
                small = pills.in_boxes(closed)
                if fits(small, limit):
                    return _noted(small, scene)
    return fold(scene, graph)


def _ever_less(asked: Asked) -> Iterator[Asked]:
    """Go through what was asked for, and what is left of it where that is too much."""
    yield asked
    for depth in range((asked.depth or 1) - 1, 0, -1):
        yield asked._replace(depth=depth)
    yield CLOSED


def _noted(small: Scene, scene: Scene) -> Scene:
    many, few = len(scene.cards), len(small.cards)
    if many <= LINES:
        note = say("card.note_folded", cards=many, boxes=few)
    else:
        note = say("card.note_folded_first", cards=many, boxes=few, n=LINES)
    return small._replace(notes=(*scene.notes, note))


def _boxes(graph: Graph, asked: Asked) -> Iterator[list[Box]]:
    """Go through ever fewer boxes."""
    yield from _recorded(graph, asked) if graph.calls else _captured(graph, asked)


def _recorded(graph: Graph, asked: Asked) -> Iterator[list[Box]]:
    fitting = Fitting(graph, str, asked)
    nodes = grouped((n.call_id, n.id) for n in graph.nodes if n.call_id is not None)
    units: list[Unit] | None = fitting.gathering.units
    while units:
        cards = fitting.cards(Plan(units))
        yield [
            Box(
                _title(cards.cards[k].rows[0].left[0].text, cards.kind_of(unit)),
                tuple(n for i in cards.cards[k].calls for n in nodes.get(i, ())),
                asked=fitting.expansion.is_kept(unit),
                loose=unit.kind in (Kind.STATEMENT, Kind.LOSS),
            )
            for k, unit in enumerate(units)
        ]
        while len(units) > LIMIT and (fewer := fold_one(cards, even_if_it_matters=True)):
            units, cards = fewer, fitting.cards(Plan(fewer))
        units = fold_one(cards, even_if_it_matters=True)


def _captured(graph: Graph, asked: Asked) -> Iterator[list[Box]]:
    for most in FEWER:
        unrecorded = Unrecorded(graph, most, asked)
        ids = unrecorded.finished.ids
        yield [
            *(
                Box(
                    unrecorded.title_of(group),
                    tuple(ids[k] for k in group.nodes),
                    asked=unrecorded.groups.is_kept(group),
                    loose=not group.keys,
                )
                for group in unrecorded.groups.all
            ),
            Box(
                unrecorded.result_name(),
                tuple(ids[k] for k in unrecorded.groups.last),
                loose=True,
            ),
        ]


def _title(name: str, kind: str) -> str:
    return say("card.module_box", name=name, kind=kind) if kind else name


class _Pills:
    """The cards of a nodes view, by what they belong to."""

    def __init__(self, scene: Scene, graph: Graph) -> None:
        self.scene = scene
        self.graph = graph

    @cached_property
    def _order(self) -> list[int]:
        """The cards, each after those that it uses."""
        sources = grouped((a.head, a.tail) for a in self.scene.arrows)
        return after_all([c.id for c in self.scene.cards], sources)

    def in_boxes(self, boxes: list[Box]) -> Scene:
        """Return the scene with these boxes."""
        of_node = {n: k for k, box in enumerate(boxes) for n in box.nodes}
        owner = {c.id: of_node[n] for c in self.scene.cards for n in c.node_ids if n in of_node}
        self._with_leaves(owner)
        self._with_results(owner)
        names = {card: f"{boxes[k].title}\0{k}" for card, k in owner.items()}
        small = contract(self.scene, names)
        return self._without_lone(small)

    def _without_lone(self, scene: Scene) -> Scene:
        """Leave out tensors that no node made or fills, and the leaves above an AccumulateGrad,
        which names them; number what is left."""
        ids = self._told(scene)
        told = (c for c in scene.cards if c.id in ids)
        return scene.only([c._replace(rows=_rows(c)) if c.inside else c for c in told])

    def _told(self, scene: Scene) -> set[int]:
        """Return the cards that are drawn: nodes, boxes, results of nodes, and roots."""
        kinds = {c.id: c.kind for c in scene.cards}
        above = {a.tail for a in scene.arrows if a.kind == "of" and kinds[a.head] == "accumulate"}
        joined = {i for a in scene.arrows for i in (a.tail, a.head)} - above
        roots = {*self.graph.roots}
        own = {c.id for c in scene.cards if c.inside or c.node_ids}
        return joined | own | {c.id for c in scene.cards if not roots.isdisjoint(c.tensor_ids)}

    def _with_leaves(self, owner: dict[int, int]) -> None:
        """Add AccumulateGrads, and the leaves above them, to the first box that leads to them, if
        no node outside of boxes does."""
        users = grouped((a.tail, a.head) for a in self.scene.arrows)
        place = {card: k for k, card in enumerate(self._order)}
        kinds = {c.id: c.kind for c in self.scene.cards}
        for card in reversed(self._order):
            if card in owner or kinds[card] == "node":
                continue
            heads = users.get(card, ())
            if heads and all(head in owner for head in heads):
                owner[card] = owner[min(heads, key=place.__getitem__)]

    def _with_results(self, owner: dict[int, int]) -> None:
        """Add tensors with a name to the box of the node that made them, roots apart."""
        made_by = {a.head: a.tail for a in self.scene.arrows if a.kind == "of"}
        roots = {*self.graph.roots}
        for c in self.scene.cards:
            maker = made_by.get(c.id)
            if not c.node_ids and maker in owner and roots.isdisjoint(c.tensor_ids):
                owner.setdefault(c.id, owner[maker])


def _rows(card: Card) -> tuple[Row, ...]:
    """Write the lines of a box: its name, how many nodes it has, and of which kinds."""
    nodes = [c for c in card.inside if c.node_ids]
    kinds = Counter(c.title for c in nodes if c.kind == "node")
    listed = [
        say("card.times", what=kind, n=n) if n > 1 else kind for kind, n in kinds.most_common(KINDS)
    ]
    if len(kinds) > KINDS:
        listed.append("…")
    leaves = sum(c.kind == "accumulate" for c in nodes)
    rows = [Row("code", say("card.with_nodes", title=card.title, n=len(nodes)))]
    rows += [Row("grad_fn", kind) for kind in listed]
    if leaves:
        what = (
            say("card.times", what="AccumulateGrad", n=leaves) if leaves > 1 else "AccumulateGrad"
        )
        rows.append(Row("accumulate", what))
    return (*rows, *[r for c in card.inside for r in c.rows if r.kind == "stale"][:3])
