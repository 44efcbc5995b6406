"""When a picture is an outline, and what a Figure needs of it: the scene, the SVG's titles, the
words."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

from gradviz.graph.facts import grouped
from gradviz.graph.finished import Finished
from gradviz.graph.one_iteration import one_iteration
from gradviz.graph.operations import Operations
from gradviz.graph.records import Graph, NoteKind, Raised
from gradviz.graph.unseen import UNSEEN, with_unseen
from gradviz.picture import scene as pictures
from gradviz.picture.outline.asked import AS_IT_IS, Asked, Before
from gradviz.picture.outline.before import keys_of
from gradviz.picture.outline.contents import Contents
from gradviz.picture.outline.finishing import Finishing, Paths, ReachedContents
from gradviz.picture.outline.fit import Draw, Fitted, Fitting
from gradviz.picture.outline.groups import Groups
from gradviz.picture.outline.happenings import NOT_LOST
from gradviz.picture.outline.opening import Modules, Opening
from gradviz.picture.outline.parameters import Parameters
from gradviz.picture.outline.scene import Arrow, Card, Outline, Row, Tone
from gradviz.picture.outline.unit import Kind
from gradviz.picture.outline.units import Expansion
from gradviz.words.plain import visible
from gradviz.words.speech import say
from gradviz.words.spread import with_blocks

TOY = 12  # operations that are still drawn one by one
LINES = 60  # of the text
KINDS = {"gradient": "gradient", "can": "edge", "cut": "cut", "forward": "forward"}


def is_wanted(graph: Graph, asked: Asked = AS_IT_IS) -> bool:
    """Say whether a graph is drawn as an outline: a recording of more than a dozen operations,
    those that only make a tensor out of nothing apart, of modules one of more than a dozen
    operations, parameters and inputs, or a model that was not recorded; a smaller one where a depth
    or a tensor is asked for, or parameters were not reached, of which the nodes of a finished graph
    say nothing. The part of a recording that an explanation points at is not: it shows why,
    operation by operation."""
    if not graph.calls:
        is_large = len(graph.nodes) > TOY or asked.is_strict
        return bool(graph.modules) and (is_large or _is_unreached(graph))
    is_part = any(note.kind is NoteKind.LEFT_OUT for note in graph.notes)
    if is_part:
        return False
    operations = Operations(graph)
    if asked.is_strict:
        return operations.are_more_than(0)
    if any(module.parameters for module in graph.modules) and not _has_raised(graph):
        return operations.read_more_than(TOY)
    return len(graph.calls) > TOY and operations.are_more_than(TOY)


def small_iteration(graph: Graph) -> Graph | None:
    """Return the part of a graph in which of each loop one iteration is left, where all of it would
    be an outline, no model ran, and the part is drawn one by one; else None."""
    if any(module.parameters for module in graph.modules) or not is_wanted(graph):
        return None
    part = one_iteration(graph)
    return None if part is None or is_wanted(part) else part


def _has_raised(graph: Graph) -> bool:
    """Say whether a call raised: which operation, and what it kept, is seen on its own card."""
    return any(isinstance(event, Raised) for event in graph.events)


def _is_unreached(graph: Graph) -> bool:
    """Say whether some parameters of a model are not in a finished graph."""
    reached = {graph.tensor[n.leaf_id].object_id for n in graph.nodes if n.leaf_id is not None}
    parameters = (p for module in graph.modules for p in module.parameters if p.requires_grad)
    return any(p.object_id not in reached for p in parameters)


class Drawn:
    """The outline of one graph.

    Args:
        graph: of a recording, or of a model that was not recorded.
        draw: lays out DOT text.
        asked: what the reader asked for, besides opening modules: see ``opening``.
    """

    def __init__(self, graph: Graph, draw: Draw, asked: Asked = AS_IT_IS) -> None:
        self.graph = graph = with_unseen(graph)
        self.asked = asked
        self.opened_by_hand: tuple[str, ...] = ()  # paths of modules and parameters
        fitting = Fitting(graph, draw, asked)
        self.operations = fitting.operations
        self.fitting = fitting if graph.calls else None
        self.finishing = None if graph.calls else Finishing(graph, draw, asked)
        self.fitted: Fitted = (self.finishing or fitting).fitted()

    @cached_property
    def parameters(self) -> Parameters:
        """What the table tells of the parameters: the same whatever is open."""
        return Parameters(self.operations)

    @cached_property
    def before(self) -> Before | None:
        """What a later picture is to keep of this one."""
        return self.fitting.before(self.fitted) if self.fitting is not None else None

    @cached_property
    def narrow(self) -> Fitted | None:
        """A recording's outline half a page wide, if it can be."""
        return self.fitting.narrow() if self.fitting is not None else None

    @property
    def opened(self) -> frozenset[str]:
        """The paths of the modules that are opened in a recording, those inside of which no other
        is."""
        if self.fitting is None:
            return frozenset()
        expansion = self.fitting.expansion
        paths = {expansion.tree.call[i].path for i in expansion.is_open} - {""}
        return frozenset(p for p in paths if not any(q.startswith(f"{p}.") for q in paths))

    @property
    def counts(self) -> dict[frozenset[Hashable], tuple[int, int]]:
        """How many of the parameters of each card of a recording get a gradient, and how many there
        are, by what is in the card."""
        fitting = self.fitting
        if fitting is None:
            return {}
        keys = keys_of(fitting.plan.units, fitting.expansion)
        weights = [fitting.expansion.weights_in(unit) for unit in fitting.plan.units]
        return {
            frozenset(some): (sum(w.fate in NOT_LOST for w in all_), len(all_))
            for some, all_ in zip(keys, weights, strict=True)
        }

    # --- what a reader opens by hand --------------------------------------------------------------

    def opening(self, paths: Sequence[str]) -> Drawn:
        """Return the outline with these modules opened, everything else as it is here. This is the
        only way in which something is opened that is not open by itself.

        Args:
            paths: of modules, with or without the name of the model. A parameter gets a card.

        Raises:
            GradvizError: there is no such module.
        """
        drawn = copy.copy(self)
        for made in ("contents", "before", "narrow"):
            drawn.__dict__.pop(made, None)
        drawn.opened_by_hand = tuple(paths)
        names = self.asked_for(paths)
        if self.finishing is not None:
            drawn.finishing, drawn.fitted = self.finishing.opening(names, self.fitted)
        elif self.fitting is not None and self.before is not None:
            opening = Opening(self.fitting, self.before, self._modules, names)
            drawn.fitted, drawn.fitting = opening.fitted(), opening.fitting
        return drawn

    def asked_for(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the whole names of modules, each behind those around it that it opens too.

        Raises:
            GradvizError: there is no such module.
        """
        return (self._modules if self.finishing is None else self._paths).asked(paths)

    @cached_property
    def _modules(self) -> Modules:
        """The modules of a recording, by name."""
        expansion = Expansion(self.operations, self.asked)
        in_parts = {unit.parent for unit in expansion.items if unit.kind is Kind.PIECE}
        return Modules(expansion.tree, expansion.is_open - in_parts)

    @cached_property
    def _paths(self) -> Paths:
        """The modules of a graph that was not recorded, by name."""
        return Paths(Groups(Finished(self.graph), asked=self.asked))

    @cached_property
    def contents(self) -> Contents | ReachedContents | None:
        """What a reader can go to."""
        asked = self.asked_for(self.opened_by_hand)
        if self.finishing is not None:
            return ReachedContents(self.finishing, self._paths, self.fitted, asked)
        if self.fitting is None:
            return None
        units, cards = self.fitting.plan.units, self.outline.cards
        return Contents(self.fitting.expansion, self._modules, units, cards, asked)

    @property
    def opens(self) -> dict[int, str]:
        """The module that opens a card, by the card's id."""
        return {c.id: c.path for c in self.outline.cards}

    @property
    def members(self) -> dict[int, tuple[str, ...]]:
        """The modules of a card of several equal ones, by the card's id."""
        return {c.id: c.members for c in self.outline.cards if c.members}

    @property
    def outline(self) -> Outline:
        """What is drawn."""
        return self.fitted.outline

    @property
    def pointed(self) -> dict[str, Any] | None:
        """What an explanation points at: the words of its row, and ids of cards and arrows as in
        the SVG; None where nothing is."""
        cards = [f"n{card.id}" for card in self.outline.cards if card.here]
        ids = [*cards, *(f"e{k}" for k, arrow in enumerate(self.outline.arrows) if arrow.here)]
        points = self.asked.points
        return {"title": points.title, "text": points.text, "ids": ids} if ids else None

    @property
    def titles(self) -> dict[str, str]:
        """What hovering over a card says, by its name in the DOT text."""
        return {f"n{card.id}": card.detail for card in self.outline.cards if card.detail}

    def scene(self) -> pictures.Scene:
        """Return the outline as a scene of cards and arrows, with the ids of the SVG."""
        nodes: dict[int, list[int]] = {}
        for node in self.graph.nodes:
            if node.call_id is not None:
                nodes.setdefault(node.call_id, []).append(node.id)
        cards = tuple(self._card(card, nodes) for card in self.outline.cards)
        arrows = tuple(
            pictures.Arrow(a.tail, a.head, KINDS[a.kind], say("outline.joined", parts=a.label))
            for a in self.outline.arrows
        )
        return pictures.Scene(cards, arrows)

    def _card(self, card: Card, nodes: dict[int, list[int]]) -> pictures.Card:
        calls = [self.graph.call[i] for i in card.calls]
        rows = tuple(
            pictures.Row("code" if row.tone is Tone.TITLE else "state", text_of(row))
            for row in card.rows
        )
        made = [i for call in calls for i in (*call.inputs, *call.outputs)]
        return pictures.Card(
            card.id,
            "result" if card.tracked else "untracked",
            rows,
            card.detail,
            card.title,
            tuple(i for i in dict.fromkeys(made) if self._is_own(i, card)),
            tuple(n for call in calls for n in nodes.get(call.id, ())),
            tuple(call.id for call in calls if call.function != UNSEEN),
        )

    def _is_own(self, tensor_id: int, card: Card) -> bool:
        """Say whether a card stands for a tensor: its operations made it, or it is a parameter that
        they read."""
        operations = self.operations
        if self.graph.tensor[tensor_id].object_id in operations.weight:
            return True
        at = operations.made_by.get(tensor_id)
        return at is not None and operations.all[at].call.id in card.calls

    # --- words ------------------------------------------------------------------------------------

    def text(self, title: str | None = None) -> str:
        """Return the outline in words: the reason first, then the cards in call order."""
        lines = [visible(title)] if title else []
        headline = self.outline.headline
        lines.append(headline.title)
        lines += [f"    {' '.join(span.text for span in line)}" for line in headline.lines]
        titles = {card.id: card.title for card in self.outline.cards}
        into = grouped((arrow.head, arrow) for arrow in self.outline.arrows)
        for card in self.outline.cards:
            lines += self._card_lines(card, self._lines_from(titles, into.get(card.id, ())))
        if len(lines) > LINES:
            rest = len(lines) - LINES + 1
            lines = [*lines[: LINES - 1], say("text.more", n=f"{rest:,}")]
        return "\n".join(visible(line, 500) for line in lines)

    def _card_lines(self, card: Card, links: Sequence[str]) -> list[str]:
        frames = [frame for frame in self.outline.frames if card.id in frame.members]
        begun = [frame for frame in frames if frame.members[0] == card.id]
        indent = "    " * sum(frame.kind == "opened" for frame in frames)
        lines = [say("outline.joined", parts=frame.label) for frame in begun]
        lines.append(text_of(card.rows[0]))
        lines += [f"    {text_of(row)}" for row in card.rows[1:]]
        lines += [f"    {line}" for line in links]
        lines += [frame.below for frame in frames if frame.below and frame.members[-1] == card.id]
        return [indent + line for line in lines]

    @staticmethod
    def _lines_from(titles: Mapping[int, str], arrows: Sequence[Arrow]) -> list[str]:
        """Tell of the cards whose values come to a card, and of the gradients that go back."""
        into = grouped((arrow.tail, arrow) for arrow in arrows)
        return [_line_from(titles[tail], every) for tail, every in into.items()]

    def alt(self, title: str | None = None) -> str:
        """Return what the picture shows in two sentences."""
        headline = self.outline.headline.title
        names = [card.title for card in self.outline.cards]
        said = say("outline.alt", headline=headline, n=len(names), names=names)
        return f"{visible(title)}. {said}" if title else said


def _line_from(title: str, arrows: list[Arrow]) -> str:
    """Tell what goes between two cards: a cut, a gradient, or a value alone."""
    kinds = {arrow.kind: arrow.label for arrow in arrows if arrow.label}
    if any(arrow.kind == "cut" for arrow in arrows):
        label = say("outline.joined", parts=kinds.get("cut", ()))
        return say("text.from_label", card=title, label=label)
    if "gradient" in kinds:
        gradient = say("outline.joined", parts=kinds["gradient"])
        return say("text.from_gradient", card=title, gradient=gradient)
    return say("text.from", card=title)


def text_of(row: Row) -> str:
    """Return a row as one line of text."""
    left = with_blocks("  ".join(span.text for span in row.left), row.bins)
    return "  ".join(part for part in (left, row.middle, row.right) if part)
