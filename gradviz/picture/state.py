"""Everything that a live picture, a player or an exported page shows at one moment, as one plain
dict."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, Protocol

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Graph, Node, Summary, Tensor
from gradviz.picture import explaining, legend, render, table, text
from gradviz.picture.explaining import Listing
from gradviz.picture.outline.drawn import Drawn as OutlineDrawn
from gradviz.picture.outline.parameters import COLUMNS as PARAMETER_COLUMNS
from gradviz.picture.outline.parameters import Line, Parameters
from gradviz.picture.scene import Arrow, Card, Scene
from gradviz.words import spread
from gradviz.words.plain import visible
from gradviz.words.speech import say, spans_of, values_of
from gradviz.words.words import Words

FACT = 160  # characters
MANY = 40  # leaves without a module that are listed by groups
LISTED = 12  # saved tensors, or boxes of a fold, that one fact names
NODES = 40  # of a card, all of which are told of; of more only the first ``LISTED``
WALKED = {"gradient", "zeros", "forward", "edge"}  # arrows along which a gradient edge may lead


class Drawn(Protocol):
    """What is read of a ``Figure``, which stands above this module."""

    graph: Graph
    title: str | None

    @property
    def shown_graph(self) -> Graph: ...

    def opening(self, paths: str | Iterable[str]) -> Drawn: ...

    @property
    def scene(self) -> Scene: ...

    @property
    def whole(self) -> Scene: ...

    @property
    def outlined(self) -> OutlineDrawn | None: ...

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
    svg_of: Callable[[], str] | None = None,
) -> dict[str, Any]:
    """Describe one state of a live picture.

    Args:
        figure: the picture.
        error: what the scenario raised, as "RuntimeError: …".
        printed: what it printed, and its warnings.
        lines: source lines to highlight whatever is selected.
        listing: the code that stands beside it; a card that was made elsewhere has no line, nor is
            one said.
        sentence: what happened, where the caller knows better than ``explaining.summary``.
        words: whether to write ``text``, too; what is only looked at does not need it.
        svg_of: draws the picture, without its legend; what stands in that is told beside it then.

    Returns:
        Plain data for JSON: the SVG, its words, and for every card and arrow what it is, what is
        known of it and what lights up with it. ``problem`` says why there is no picture where
        ``svg`` is empty. ``outline`` says what of an outline is open and what can be gone to; it is
        None where nothing can be opened. ``points`` says what an explanation points at; it is left
        out where nothing is.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> from gradviz.picture.figure import Figure
        >>> shown = state(Figure(Graph()), printed="hello")
        >>> shown["problem"], shown["printed"], shown["cards"]
        ('Nothing was recorded, so there is no picture.', 'hello', {})
    """
    svg, problem = _svg(figure, svg_of)
    cards, arrows = (figure.scene.cards, figure.scene.arrows) if svg else ((), ())
    outline = figure.outlined if svg else None
    opens = {} if outline is None else outline.opens
    members = {} if outline is None else outline.members
    drawn = {i: f"n{c.id}" for c in reversed(cards) if c.kind != "tag" for i in c.all_tensor_ids}
    shown = {
        "svg": svg,
        "problem": problem,
        "alt": figure.alt,
        "text": "",
        **told_in_state(
            explaining.summary(figure.shown_graph, error, listing) if sentence is None else sentence
        ),
        "error": error,
        "printed": printed,
        **_Describer(figure.shown_graph, cards, arrows, listing, opens, members).described(),
        **_outline(outline),
        **_table(figure, drawn),
        "lines": list(lines),
    }
    if svg_of is not None:
        shown |= _legend(figure.scene) if svg else {}
    return {**shown, "text": text_of(figure, shown)} if words or not svg else shown


def told_in_state(sentence: str) -> dict[str, Any]:
    """Return a sentence as a state has it: with the first letter and the end of what is code.

    >>> from gradviz.words.speech import backticked
    >>> told_in_state(backticked("`a.grad` is 5."))
    {'sentence': 'a.grad is 5.', 'sentence_code': [[0, 6]]}
    """
    return {"sentence": sentence, "sentence_code": [list(span) for span in spans_of(sentence)]}


def _svg(figure: Drawn, svg_of: Callable[[], str] | None) -> tuple[str, str]:
    """Return the picture, or "" and why there is none."""
    try:
        if figure.scene.cards:
            return figure.svg if svg_of is None else svg_of(), ""
    except render.CannotDraw as why:
        return "", str(why)
    return "", say("picture.nothing")


def _legend(scene: Scene) -> dict[str, Any]:
    """Return what a picture would say in its legend: its signs and their words, and its notes."""
    signs = [[sign, say(f"legend.{sign}")] for sign in legend.signs(scene)]
    return {"legend": signs, "notes": list(scene.notes)}


def _outline(outline: OutlineDrawn | None) -> dict[str, Any]:
    """Return what of an outline is open, and what an explanation points at."""
    contents = outline.contents if outline else None
    pointed = outline.pointed if outline else None
    return {
        "outline": contents.described() if contents else None,
        **({"points": pointed} if pointed else {}),
    }


def _table(figure: Drawn, drawn: Mapping[int, str]) -> dict[str, Any]:
    """Return the rows of the table: of each tensor, and where an outline is drawn, of the groups of
    parameters, with the heads of their columns."""
    parameters = _grouped(figure)
    if parameters is None:
        rows = table.rows(figure.shown_graph, figure.whole.cards)
        found = [
            {"key": r.key, "card": drawn.get(r.tensor_id, ""), "cells": list(r.cells)} for r in rows
        ]
        return {"table": found}
    facts, key = Facts.of(figure.graph), table.Keys()
    listed = []
    for line in parameters.lines():
        ids = (t.id for w in line.weights for t in facts.states.get(w.key, ()))
        cards = {drawn[i] for i in ids if i in drawn} if line.level else set()
        row = {"key": key(line.name), "card": cards.pop() if len(cards) == 1 else ""}
        row |= _parameter(line, figure.graph)
        listed.append({**row, "cells": list(line.cells), "level": line.level})
    last = say("params.more" if figure.graph.calls else "params.more_of_finished")
    more = [last, *[""] * (len(PARAMETER_COLUMNS) - 1)]
    listed.append({"key": key(more[0]), "card": "", "cells": more, "level": 0})
    heads = [say(f"param_column.{column}") for column in PARAMETER_COLUMNS]
    return {"table": listed, "columns": heads}


def _parameter(line: Line, graph: Graph) -> dict[str, str]:
    """Return the whole name of the parameter that a line is of; nothing where it is of several, or
    of one that stands in no module."""
    weight, *others = line.weights
    if not line.level or others or weight.module_id is None:
        return {}
    return {"parameter": f"{graph.modules[weight.module_id].name}.{weight.name}"}


def _grouped(figure: Drawn) -> Parameters | None:
    """Return the parameters of a figure whose table lists them by groups: that of a model, or of
    very many tensors that are leaves."""
    if figure.outlined is None:
        return None
    parameters = figure.outlined.parameters
    n = len(parameters.weights)
    return parameters if n > MANY or (n and figure.graph.modules) else None


def text_of(figure: Drawn, shown: Mapping[str, Any]) -> str:
    """Write the text twin of a state of this figure: sentence, error, picture, table and what was
    printed."""
    rows = [
        table.TableRow(row["key"], -1, tuple(row["cells"]), row.get("level", 0))
        for row in shown["table"]
    ]
    listed = table.text(rows, shown.get("columns", ()))
    error = "" if shown["error"] in shown["sentence"] else shown["error"]
    parts = (shown["sentence"], error, figure.text, listed, shown["printed"])
    return "\n\n".join(part for part in parts if part)


def name_of(card: Card) -> str:
    """Return what a card is called whatever made it: the variable, else the code, else the node."""
    assigned = re.match(r"([^\W\d]\w*) = ", card.title)
    return card.name or (assigned[1] if assigned else card.title)


class _Describer:
    """Writes the ``cards`` and ``arrows`` of one state. What several cards need is looked up
    once."""

    def __init__(
        self,
        graph: Graph,
        cards: Sequence[Card],
        arrows: Sequence[Arrow],
        listing: Listing | None,
        opens: Mapping[int, str],
        members: Mapping[int, Sequence[str]],
    ) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.cards, self.arrows, self.listing = cards, arrows, listing
        self.opens = opens  # the module that opens a card
        self.members = members  # of a card of several equal modules
        self.names = {c.id: name_of(c) for c in cards}
        self.keys = self.unique_keys()
        self.card_of: dict[int | None, int] = {n: c.id for c in cards for n in c.all_node_ids}
        self.memory: dict[int | None, list[Card]] = {}  # by storage
        for c in cards:
            for storage in self.storages_of(c):
                self.memory.setdefault(storage, []).append(c)

    def unique_keys(self) -> dict[int, str]:
        """Make the names of the cards unique. The name tag of a leaf is known by what reads it, a
        node by what it belongs to."""
        key = table.Keys()
        readers = {a.tail: self.names[a.head] for a in self.arrows}
        keys = {}
        for c in self.cards:
            about = readers.get(c.id, "") if c.kind == "tag" else self.maker(c)
            name = self.names[c.id]
            keys[c.id] = key(visible(say("fact.name_of", name=name, of=about) if about else name))
        return keys

    def maker(self, card: Card) -> str:
        """Return what the call of a node alone makes, in the user's words; "" for other cards."""
        calls = self.calls(card) if card.kind == "node" else []
        return code_of(calls[0]).partition(" = ")[0] if calls else ""

    def storages_of(self, card: Card) -> set[int]:
        """Return the blocks of memory in which the tensors of a card lie."""
        last = (self.graph.tensor[i] for c in card.members for i in c.tensor_ids[-1:])
        return {t.storage_id for t in last if t.storage_id is not None}

    def calls(self, card: Card) -> list[Call]:
        """List the calls behind a card."""
        made = card.call_ids or [self.graph.node[n].call_id for n in card.node_ids[:1]]
        return [self.graph.call[i] for i in made if i in self.graph.call]

    def described(self) -> dict[str, Any]:
        """Return cards and arrows as the front end draws them."""
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
        """Return one card as the front end draws it, with what it lights up."""
        calls = self.calls(card)
        facts = [[name, visible(value, FACT)] for name, value in self.known(card, calls) if value]
        same = {c.id for storage in self.storages_of(card) for c in self.memory[storage]}
        return {
            "key": self.keys[card.id],
            "look": "\n".join(visible(r.text) for r in card.rows),
            "facts": facts,
            "line": self.line(card, calls),
            "lit": lit,
            "opens": self.opens.get(card.id, ""),
            **({"members": [*self.members[card.id]]} if self.members.get(card.id) else {}),
            **({"spoken": spoken} if (spoken := self.spoken(card)) else {}),
            "memory": [f"n{i}" for i in sorted(same)] if len(same) > 1 else [],
        }

    def summary(self, card: Card) -> Summary | None:
        """Return how the numbers of the tensor that a card stands for are spread."""
        ids = () if card.inside else card.tensor_ids
        return self.graph.tensor[ids[-1]].summary if ids else None

    def spoken(self, card: Card) -> list[list[str]]:
        """List what stands on a card in signs, each with its words for screen readers: of a name
        alone, that it is one."""
        if card.kind == "tag":
            names = [row.text for row in card.rows]
            return [[" ".join(names), say("card.names_only", names=names)]]
        summary = self.summary(card)
        if summary is None:
            return []
        pairs = [[spread.middle(summary), spread.spoken(summary)]]
        if words := spread.range_spoken(summary):
            pairs.append([" ".join(spread.ends(summary)), words])
        return [pair for pair in pairs if pair[0]]

    def line(self, card: Card, calls: list[Call]) -> int | None:
        """Return the line of the listing that made a card, where it is one."""
        lines = {
            call.source.line
            for call in (calls if card.inside else calls[:1])
            if call.source and (self.listing is None or self.listing.shows(call.source))
        }
        return lines.pop() if len(lines) == 1 else None

    def known(self, card: Card, calls: list[Call]) -> Iterator[tuple[str, str]]:
        """Tell everything known of what the card stands for, as labels and short values."""
        if card.inside:
            yield say("fact.inside"), _listed([name_of(c) for c in card.inside])
        elif card.tensor_ids:
            yield from self.tensor_facts(card, self.graph.tensor[card.tensor_ids[-1]])
        order = self.facts.gradient_order(card.node_ids)
        shown = order if len(order) <= NODES else order[:LISTED]
        for node_id in shown:
            yield from self.node_facts(card, self.graph.node[node_id])
        if len(shown) < len(order):
            yield say("fact.node"), say("fact.more_nodes", n=len(order) - len(shown))
        for call in calls[:1]:
            yield say("fact.module"), call.module or ""
            if call.source and not card.inside:
                yield (
                    say("fact.line"),
                    say("fact.line_of_code", line=call.source.line, code=code_of(call)),
                )

    def tensor_facts(self, card: Card, t: Tensor) -> Iterator[tuple[str, str]]:
        """Tell what is known of a tensor. An attribute of torch's is called as torch calls it."""
        yield "shape", table.word(None if t.shape is None else list(t.shape))
        yield say("fact.values"), t.values or ""
        yield say("fact.spread"), "" if t.summary is None else spread.whole(t.summary)
        for name in ("dtype", "device", "requires_grad", "is_leaf", "retains_grad"):
            yield name, table.word(getattr(t, name))
        yield say("fact.version"), table.word(t.version)
        yield "grad_fn", table.grad_fn(self.facts, t)
        yield "grad", self.grad(t)
        if t.gradient_edge and card.kind != "tag":
            yield say("fact.arrived"), values_of(self.facts.arrived.get(t.gradient_edge, ""))
        yield say("fact.storage"), self.storage(card, t)
        if base := self.graph.tensor.get(t.base_id):
            yield say("fact.view_of"), base.name or say("label.unnamed")
            stride = table.word(t.stride and list(t.stride))
            yield say("fact.stride_and_offset"), f"{stride}, {table.word(t.storage_offset)}"

    def storage(self, card: Card, t: Tensor) -> str:
        """Return how large a tensor's memory is, and which other cards share it."""
        storage = self.facts.storage.get(t.storage_id)
        size = (
            table.word(None)
            if storage is None or storage.nbytes is None
            else say("fact.bytes", n=storage.nbytes)
        )
        others = [
            self.names[c.id]
            for c in self.memory.get(t.storage_id, ())
            if c.id != card.id and c.kind != "tag"
        ]
        return say("fact.shared", size=size, others=_listed(others)) if others else size

    def grad(self, t: Tensor) -> str:
        """Return the ``.grad`` of a tensor as the table shows it."""
        now = self.facts.grads_now[t.object_id]
        return table.grad(t, now, t.object_id in self.facts.had_grad)

    def node_facts(self, card: Card, node: Node) -> Iterator[tuple[str, str]]:
        """Tell what is known of a node: what arrived, what it sent, what it saved."""
        if not card.tensor_ids:
            yield say("fact.node"), node.name
            arrived = self.facts.arrived_at_outputs.get(node.id, ())
            yield say("fact.arrived"), ", ".join(map(values_of, arrived))
        for e in self.graph.edges_from.get(node.id, ()):
            value = self.words.sent_label((node.id, e.next_index))
            to = self.card_of.get(e.next_node_id)
            if value and to is not None and to != card.id:
                yield say("fact.sent"), say("fact.sent_to", value=value, to=self.names[to])
        saved = [text.saved_text(self.graph, s) for s in node.saved]
        yield say("fact.saved", node=node.name), _listed(saved)


def _listed(names: list[str]) -> str:
    """Join names, the first of them where there are many."""
    listed = ", ".join(names[:LISTED])
    return say("fact.first_of", names=listed, n=len(names)) if len(names) > LISTED else listed


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
        # a card, and what lights up whenever it does
        self.lit_with = {c.id: 1 << i for i, c in enumerate(cards)}
        between = self.bind({c.id: c for c in cards}, arrows)
        along = self.along(between, self.ends(cards), card_of)
        self.met = Facts.of(graph).met({n: self.lit_with[i] for n, i in card_of.items()}, along)

    def bind(self, card: Mapping[int, Card], arrows: Sequence[Arrow]) -> dict[tuple[int, int], int]:
        """Bind to each card the arrows and pills that light up whenever it does.

        Returns:
            The other arrows along which a gradient may go, by (tail, head).
        """
        between: dict[tuple[int, int], int] = {}
        for bit, a in enumerate(arrows, len(card)):
            if a.kind == "of" or (a.kind in WALKED and _is_output(card[a.tail], card[a.head])):
                self.lit_with[a.head] |= 1 << bit | self.lit_with[a.tail]
            elif a.kind in WALKED:
                between[a.tail, a.head] = between.get((a.tail, a.head), 0) | 1 << bit
        return between

    def ends(self, cards: Sequence[Card]) -> dict[tuple[int | None, int], set[int]]:
        """Return the cards of the tensors that each (node, output) gave."""
        ends: dict[tuple[int | None, int], set[int]] = {}
        for c in cards:
            for edge in filter(
                None, (self.graph.tensor[i].gradient_edge for i in c.all_tensor_ids)
            ):
                ends.setdefault((edge.node_id, edge.output_nr), set()).add(c.id)
        return ends

    def along(
        self,
        between: Mapping[tuple[int, int], int],
        ends: Mapping[tuple[int | None, int], set[int]],
        card_of: Mapping[int | None, int],
    ) -> dict[tuple[int, int], int]:
        """Return what each edge, by (node, slot), lights up between the cards of its ends."""
        along: dict[tuple[int, int], int] = {}
        for e in self.graph.edges:
            head, tail = card_of.get(e.node_id), card_of.get(e.next_node_id)
            if head is None or tail is None:
                continue
            for i in {tail, *ends.get((e.next_node_id, e.input_nr), ())}:
                if (i, head) in between:
                    slot = (e.node_id, e.next_index)
                    along[slot] = along.get(slot, 0) | between[i, head] | self.lit_with[i]
        return along

    def of(self, card: Card) -> list[str]:
        """Return the ids that light up with a card."""
        edges = (self.graph.tensor[i].gradient_edge for i in card.all_tensor_ids)
        bits = self.lit_with[card.id]
        for node in {*card.all_node_ids, *(e.node_id for e in edges if e)}:
            bits |= self.met.get(node, 0)
        lowest_first = reversed(f"{bits:b}")
        return list(compress(self.names, map("1".__eq__, lowest_first)))


def _is_output(tail: Card, head: Card) -> bool:
    """Tell whether one card is the pill of a node with several outputs, and the other is one of
    them."""
    return tail.kind == "node" and head.kind == "result" and not head.all_node_ids
