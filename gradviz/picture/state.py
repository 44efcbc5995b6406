"""Everything that a live picture, a player or an exported page shows at one moment, as one plain
dict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Graph, Node, Tensor
from gradviz.picture import explaining, render, table, text
from gradviz.picture.explaining import Listing
from gradviz.picture.scene import Arrow, Card, Scene
from gradviz.words.plain import visible
from gradviz.words.speech import joined
from gradviz.words.words import Words

KINDS = {
    "leaf": "leaf",
    "result": "result",
    "untracked": "not tracked",
    "node": "node",
    "accumulate": "AccumulateGrad",
    "tag": "name of a leaf",
    "fold": "folded",
    "raised": "raised an error",
}
FACT = 160  # characters
LISTED = 12  # saved tensors, or boxes of a fold, that one fact names
WALKED = {"gradient", "forward", "edge"}  # arrows along which a gradient edge may lead


class Drawn(Protocol):
    """What is read of a ``Figure``, which stands above this module."""

    graph: Graph
    title: str | None

    @property
    def scene(self) -> Scene: ...

    @property
    def whole(self) -> Scene: ...

    @property
    def svg(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def alt(self) -> str: ...


def state(
    figure: Drawn,
    *,
    error: str = "",
    printed: str = "",
    lines: Sequence[int] = (),
    listing: Listing | None = None,
    sentence: str | None = None,
    words: bool = True,
) -> dict[str, Any]:
    """One state of a live picture.

    Args:
        figure: the picture.
        error: what the scenario raised, as "RuntimeError: …".
        printed: what it printed, and its warnings.
        lines: source lines to highlight whatever is selected.
        listing: the code that stands beside it; a card that was made elsewhere has no line, nor is
            one said.
        sentence: what happened, where the caller knows better than ``explaining.summary``.
        words: whether to write ``text``, too; what is only looked at does not need it.

    Returns:
        Plain data for JSON: the SVG, its words, and for every card and arrow what it is, what is
        known of it and what lights up with it. ``problem`` says why there is no picture where
        ``svg`` is empty.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> from gradviz.picture.figure import Figure
        >>> shown = state(Figure(Graph()), printed="hello")
        >>> shown["problem"], shown["printed"], shown["cards"]
        ('Nothing was recorded, so there is no picture.', 'hello', {})
    """
    svg, problem = "", "Nothing was recorded, so there is no picture."
    try:
        if figure.scene.cards:
            svg, problem = figure.svg, ""
    except render.CannotDraw as why:
        problem = str(why)
    cards, arrows = (figure.scene.cards, figure.scene.arrows) if svg else ((), ())
    listed = table.rows(figure.graph, figure.whole.cards)
    drawn = {i: f"n{c.id}" for c in reversed(cards) if c.kind != "tag" for i in _tensor_ids(c)}
    found = {
        "svg": svg,
        "problem": problem,
        "alt": figure.alt,
        "text": "",
        "sentence": (
            explaining.summary(figure.graph, error, listing) if sentence is None else sentence
        ),
        "error": error,
        "printed": printed,
        **_Describer(figure.graph, cards, arrows, listing).described(),
        "table": [
            {"key": r.key, "card": drawn.get(r.tensor_id, ""), "cells": list(r.cells)}
            for r in listed
        ],
        "lines": list(lines),
    }
    return {**found, "text": text_of(figure, found)} if words or not svg else found


def text_of(figure: Drawn, shown: Mapping[str, Any]) -> str:
    """The text twin of a state of this figure: sentence, error, picture, table and what was
    printed."""
    listed = table.text(
        [table.TableRow(row["key"], -1, tuple(row["cells"])) for row in shown["table"]]
    )
    error = "" if shown["error"] in shown["sentence"] else shown["error"]
    parts = (shown["sentence"], error, figure.text, listed, shown["printed"])
    return "\n\n".join(part for part in parts if part)


def _whole(card: Card) -> tuple[Card, ...]:
    return card.inside or (card,)


def _tensor_ids(card: Card) -> list[int]:
    return [i for c in _whole(card) for i in c.tensor_ids]


def _node_ids(card: Card) -> list[int]:
    return [i for c in _whole(card) for i in c.node_ids]


def _name(card: Card) -> str:
    """What it is called whatever made it: the variable, else the code, else the node."""
    assigned = re.match(r"([^\W\d]\w*) = ", card.title)
    return card.name or (assigned[1] if assigned else card.title)


class _Describer:
    """Writes the ``cards`` and ``arrows`` of one state. What several cards need is looked up
    once."""

    def __init__(
        self, graph: Graph, cards: Sequence[Card], arrows: Sequence[Arrow], listing: Listing | None
    ) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.cards, self.arrows, self.listing = cards, arrows, listing
        self.names = {c.id: _name(c) for c in cards}
        self.keys = self.unique_keys()
        self.card_of: dict[int | None, int] = {n: c.id for c in cards for n in _node_ids(c)}
        self.memory: dict[int | None, list[Card]] = {}  # by storage
        for c in cards:
            for storage in self.storages_of(c):
                self.memory.setdefault(storage, []).append(c)

    def unique_keys(self) -> dict[int, str]:
        """Names, made unique. The name tag of a leaf is known by what reads it, a node by what it
        belongs to."""
        key = table.Keys()
        readers = {a.tail: self.names[a.head] for a in self.arrows}
        keys = {}
        for c in self.cards:
            calls = self.calls(c) if c.kind == "node" else []
            about = (
                readers.get(c.id, "")
                if c.kind == "tag"
                else code_of(calls[0]).partition(" = ")[0]
                if calls
                else ""
            )
            keys[c.id] = key(
                visible(f"{self.names[c.id]} of {about}" if about else self.names[c.id])
            )
        return keys

    def storages_of(self, card: Card) -> set[int]:
        found = {self.graph.tensor[i].storage_id for c in _whole(card) for i in c.tensor_ids[-1:]}
        return {storage for storage in found if storage is not None}

    def calls(self, card: Card) -> list[Call]:
        made = card.call_ids or [self.graph.node[n].call_id for n in card.node_ids[:1]]
        return [self.graph.call[i] for i in made if i in self.graph.call]

    def described(self) -> dict[str, Any]:
        key = table.Keys()
        lit = _Lights(self.graph, self.cards, self.arrows, self.card_of)
        arrows = {}
        for i, a in enumerate(self.arrows):
            look = visible(" ".join(part for part in (a.kind, a.mark, a.label) if part), FACT)
            arrows[f"e{i}"] = {"key": key(f"{self.keys[a.tail]}→{self.keys[a.head]}"), "look": look}
        return {
            "cards": {f"n{c.id}": self.card(c, lit.of(c)) for c in self.cards},
            "arrows": arrows,
        }

    def card(self, card: Card, lit: list[str]) -> dict[str, Any]:
        calls = self.calls(card)
        at = {
            c.source.line
            for c in (calls if card.inside else calls[:1])
            if c.source and (self.listing is None or self.listing.shows(c.source))
        }
        same = {c.id for storage in self.storages_of(card) for c in self.memory[storage]}
        label = (
            card.title,
            KINDS.get(card.kind, ""),
            *(r.text for r in card.rows if r.kind == "values"),
        )
        if card.kind == "tag" and len(card.rows) > 1:
            label = (joined([r.text for r in card.rows]), "names of leaves")
        return {
            "key": self.keys[card.id],
            "look": "\n".join(visible(r.text) for r in card.rows),
            "label": ", ".join(visible(part) for part in label[:3] if part),
            "facts": [
                [name, visible(value, FACT)] for name, value in self.known(card, calls) if value
            ],
            "line": at.pop() if len(at) == 1 else None,
            "lit": lit,
            "memory": [f"n{i}" for i in sorted(same)] if len(same) > 1 else [],
        }

    def known(self, card: Card, calls: list[Call]) -> Iterator[tuple[str, str]]:
        """Everything known of what the card stands for, as labels and short values."""
        if card.inside:
            yield "inside", _listed([_name(c) for c in card.inside])
        elif card.tensor_ids:
            yield from self.tensor_facts(card, self.graph.tensor[card.tensor_ids[-1]])
        for node_id in self.facts.gradient_order(card.node_ids):
            yield from self.node_facts(card, self.graph.node[node_id])
        for call in calls[:1]:
            yield "module", call.module or ""
            yield (
                "line",
                f"{call.source.line}: {code_of(call)}" if call.source and not card.inside else "",
            )

    def tensor_facts(self, card: Card, t: Tensor) -> Iterator[tuple[str, str]]:
        yield "shape", table.word(None if t.shape is None else list(t.shape))
        yield "values", t.values or ""
        for name in ("dtype", "device", "requires_grad", "is_leaf", "retains_grad", "version"):
            yield name, table.word(getattr(t, name))
        yield "grad_fn", table.grad_fn(self.graph, t)
        yield "grad", self.grad(t)
        if t.gradient_edge and card.kind != "tag":
            yield "gradient arrived", self.facts.arrived.get(t.gradient_edge, "")
        storage = self.facts.storage.get(t.storage_id)
        size = (
            table.word(None)
            if storage is None or storage.nbytes is None
            else f"{storage.nbytes} bytes"
        )
        others = [
            self.names[c.id]
            for c in self.memory.get(t.storage_id, ())
            if c.id != card.id and c.kind != "tag"
        ]
        yield "storage", f"{size}, shared with {_listed(others)}" if others else size
        if base := self.graph.tensor.get(t.base_id):
            yield "view of", base.name or "an unnamed tensor"
            yield (
                "stride, offset",
                f"{table.word(t.stride and list(t.stride))}, {table.word(t.storage_offset)}",
            )

    def grad(self, t: Tensor) -> str:
        now = self.facts.grads_now[t.object_id]
        return table.grad(t, now, t.object_id in self.facts.had_grad)

    def node_facts(self, card: Card, node: Node) -> Iterator[tuple[str, str]]:
        if not card.tensor_ids:
            yield "node", node.name
            yield "gradient arrived", ", ".join(self.facts.arrived_at_outputs.get(node.id, ()))
        for e in self.graph.edges_from.get(node.id, ()):
            value = self.words.sent_labels.get((node.id, e.next_index))
            to = self.card_of.get(e.next_node_id)
            if value and to is not None and to != card.id:
                yield "gradient sent", f"{value} to {self.names[to]}"
        yield f"{node.name} saved", _listed([text.saved_text(self.graph, s) for s in node.saved])


def _listed(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (f" … {len(names)} in all" if len(names) > LISTED else "")


class _Lights:
    """Which cards and arrows a gradient from a card meets. Sets of them are bits of whole numbers,
    cards first."""

    def __init__(
        self,
        graph: Graph,
        cards: Sequence[Card],
        arrows: Sequence[Arrow],
        card_of: Mapping[int | None, int],
    ) -> None:
        self.graph = graph
        self.names = [*(f"n{c.id}" for c in cards), *(f"e{i}" for i in range(len(arrows)))]
        card = {c.id: c for c in cards}
        place = {c.id: i for i, c in enumerate(cards)}
        # a card, and what lights up whenever it does
        self.own = {i: 1 << bit for i, bit in place.items()}
        between: dict[tuple[int, int], int] = {}  # (tail, head) -> arrows
        for bit, a in enumerate(arrows, len(cards)):
            output = (
                card[a.tail].kind == "node"
                and card[a.head].kind == "result"
                and not _node_ids(card[a.head])
            )
            if a.kind == "of" or (output and a.kind in WALKED):
                self.own[a.head] |= 1 << bit | self.own[a.tail]
            elif a.kind in WALKED:
                between[a.tail, a.head] = between.get((a.tail, a.head), 0) | 1 << bit
        # (node, output) -> the cards of the tensors that it gave
        ends: dict[tuple[int | None, int], set[int]] = {}
        for c in cards:
            for edge in filter(None, (graph.tensor[i].gradient_edge for i in _tensor_ids(c))):
                ends.setdefault((edge.node_id, edge.output_nr), set()).add(c.id)
        along: dict[tuple[int, int], int] = {}
        for e in graph.edges:
            head, tail = card_of.get(e.node_id), card_of.get(e.next_node_id)
            for i in (
                {tail, *ends.get((e.next_node_id, e.input_nr), ())} if tail is not None else ()
            ):
                if head is not None and i is not None and (i, head) in between:
                    slot = (e.node_id, e.next_index)
                    along[slot] = along.get(slot, 0) | between[i, head] | self.own[i]
        self.met = Facts.of(graph).met({n: self.own[i] for n, i in card_of.items()}, along)

    def of(self, card: Card) -> list[str]:
        """The ids that light up with a card."""
        edges = (self.graph.tensor[i].gradient_edge for i in _tensor_ids(card))
        bits = self.own[card.id]
        for node in {*_node_ids(card), *(e.node_id for e in edges if e)}:
            bits |= self.met.get(node, 0)
        return [name for i, name in enumerate(self.names) if bits >> i & 1]
