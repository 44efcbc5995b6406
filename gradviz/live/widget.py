"""The live picture: one anywidget that is given finished states and gives back what the reader
selects.

NOTE [how the page knows that a picture is old]
The controls are ipywidgets: in the page they move at once, while Python may be busy for long, or
gone. So each state comes with the values of the controls that it was made with. The page compares
them with what its controls show now, and dims what does not belong to them. It also asks ("ask"):
Python answers, and says whether a run is still to come. A message that the kernel has done with,
and that was not answered, was for a widget that this kernel does not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from gradviz.graph.records import Call, GradvizError, Graph, Node, Tensor
from gradviz.live import lifetime
from gradviz.live.still import marked
from gradviz.picture.explaining import Listing
from gradviz.picture.figure import Figure
from gradviz.picture.openings import opened_state
from gradviz.picture.packed import packed
from gradviz.picture.page import static, styles
from gradviz.picture.scene import Card
from gradviz.picture.state import state, text_of
from gradviz.words import given
from gradviz.words.en import ENGLISH
from gradviz.words.speech import language, say

try:
    import anywidget
    from traitlets import Dict, Int, List, TraitError, Unicode, observe, validate
except ImportError as missing:
    raise GradvizError(say("live.no_widgets")) from missing

SCRIPT = "widget.js"  # built from frontend/, as every script of static/
STYLES = ("live.css", "saving.css", "panel.css", "question.css", "book.css", "access.css")
SEGMENT = 66_000  # bytes; the loopback's segments hold 65,483
EXPECTED = {
    "state": "what gradviz.picture.state.state() made of a figure",
    "code": "a listing: {'text': …, 'first': …, 'file': …}",
    "book": "what gradviz.live.book.book() made of a recording",
    "controls": "a list of controls, as an exploration describes them",
    "values": "a dict: control -> which of its choices",
    "step": "a whole number, the place of one of the book's states",
    "rooms": "whole numbers of CSS pixels",
    "selected": "the id of a card, as 'n3', or ''",
    "opened": "paths of modules, as ['model.transformer.h.5']",
}
# what state() takes beside the figure
EXTRAS = ("error", "printed", "lines", "listing", "sentence", "words")
NO_STATE: dict[str, Any] = {"svg": "", "cards": {}, "arrows": {}, "table": [], "lines": []}


class WrongTrait(GradvizError, TraitError):
    """A trait was given something else than it holds."""


class _Checked:
    """A trait that says of a wrong value what every other function here says; traitlets' own words
    show its ``repr``."""

    name: str

    def error(
        self, obj: Any, value: Any, error: Exception | None = None, info: str | None = None
    ) -> None:
        """Refuse a wrong value."""
        raise WrongTrait(
            f"{self.name} was given {given.said(value)}; expected {EXPECTED[self.name]}"
        )


class _Dict(_Checked, Dict):  # type: ignore[misc]
    pass


class _Int(_Checked, Int):  # type: ignore[misc, type-arg]
    pass


class _Unicode(_Checked, Unicode):  # type: ignore[misc, type-arg]
    pass


class _List(_Checked, List):  # type: ignore[misc, type-arg]
    pass


def _state_sent(state: dict[str, Any], widget: Any) -> str:
    """Return a state as text, which ipywidgets neither walks through nor compares; with its text
    twin only in the place of a picture.

    A message that does not fill a segment can wait 40 ms behind the small ones before it (TCP's
    delayed acknowledgements), as long as all the rest takes: blanks at the end make a picture's
    fill one on the reader's own machine.
    """
    if not state.get("svg"):
        return json.dumps(state)
    return json.dumps({**state, "text": ""}).ljust(SEGMENT)


def _book_sent(book: dict[str, Any], widget: Any) -> dict[str, Any]:
    """Return a book deflated: its states repeat each other."""
    if not book.get("states"):
        return {}
    return {"packed": packed(book, 6)}


class Shown(NamedTuple):
    """What a control shows in the page, in one of its states.

    Attributes:
        widget: an ipywidgets widget.
        trait: the trait that says it.
        value: the trait's value as the page knows it.
    """

    widget: Any
    trait: str
    value: Any

    @classmethod
    def of(cls, widget: Any, trait: str, raw: Any) -> Shown:
        """Return the trait with this value, as it is sent."""
        to_json = widget.trait_metadata(trait, "to_json")
        return cls(widget, trait, to_json(raw, widget) if to_json else raw)

    @property
    def sent(self) -> list[Any]:
        """Model, trait and value; without the value where it is no plain data, and cannot be
        compared."""
        try:
            return [self.widget.model_id, self.trait, json.loads(json.dumps(self.value))]
        except (TypeError, ValueError):
            return [self.widget.model_id, self.trait]


class Selection(NamedTuple):
    """What the selected card stands for: records of the figure's graph."""

    card: Card
    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    calls: tuple[Call, ...]


class GraphWidget(anywidget.AnyWidget):
    """A live picture: pan, zoom, hover for details, select with mouse or keyboard.

    Args:
        shown: a Figure, a Recording or a Graph. Left out: nothing yet, or what the traits say.
        traits: ``state`` (made by ``picture.state.state``), ``code`` (a listing),
            ``controls`` (what it draws in the code) and ``values`` (control -> which of its
            choices; may be set), ``book`` (precomputed states, shown instead of ``state``),
            ``step`` (which of them), ``rooms`` (how wide a picture may be in each of its places in
            the page, as that tells), ``selected`` (id of a card, or ""), ``opened`` (which modules
            of an outline the reader opened, the newest last; may be set), ``drawn_for`` (the
            controls' values that ``state`` belongs to, as ``belongs_to`` writes them).

    Raises:
        GradvizError: ``shown`` is none of these.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> GraphWidget(Graph()).selected
        ''
    """

    _esm = static(SCRIPT)
    _css = styles(*STYLES)

    state = _Dict(NO_STATE).tag(sync=True, to_json=_state_sent)
    code = _Dict().tag(sync=True)
    book = _Dict().tag(sync=True, to_json=_book_sent)
    controls: List[Any] = _List().tag(sync=True)
    values = _Dict().tag(sync=True)
    step = _Int(0).tag(sync=True)
    rooms: List[Any] = _List(Int()).tag(sync=True)
    selected = _Unicode("").tag(sync=True)
    opened: List[Any] = _List(Unicode()).tag(sync=True)
    drawn_for: List[Any] = List().tag(sync=True)
    # what the page itself says; empty in the language that its script speaks anyway
    words = Dict().tag(sync=True)

    def __init__(self, shown: Any = None, **traits: Any) -> None:
        self.figure: Figure | None = None if shown is None else _figure(shown)
        self.busy: Callable[[], bool] = lambda: False  # whether another state is to come
        self.reset: Callable[[], Any] = lambda: None  # sets the controls to their start
        self._controls: Sequence[Shown] = ()
        known = {*EXPECTED, *self.trait_names(), "figure"}
        if unknown := [name for name in traits if name not in known]:
            words = ", ".join(EXPECTED)
            raise GradvizError(
                f"GraphWidget() has no {unknown[0]}=; expected {words}, or a trait of a"
                " widget's own"
            )
        self._selected_key = ""
        self._next: tuple[list[str], Figure | None] = [], None  # what is opened now
        if self.figure is not None:
            traits.setdefault("state", state(self.figure))
            traits.setdefault("opened", _opened_in(traits["state"]))
        if language() is not ENGLISH:
            traits.setdefault("words", dict(language().page))
        super().__init__(**traits)
        self.on_msg(self._answer)

    def belongs_to(self, controls: Sequence[Shown]) -> None:
        """Say what the controls show where ``state`` is true: NOTE [how the page knows that a
        picture is old].

        Args:
            controls: what each of them shows; it is sent to the page as ``drawn_for``.
        """
        self._controls = controls
        self.drawn_for = [control.sent for control in controls]

    def _answer(self, _: Any, content: Any, buffers: Any) -> None:
        """Answer the page, which asks whether anybody is there, or for the controls' start."""
        if not isinstance(content, dict):
            return
        if content.get("reset"):
            self.reset()
        if "ask" not in content:
            return
        busy = self.busy()
        # a message was lost, or a control refused its new value
        if content.get("again") and not busy:
            for control in self._controls:
                if control.widget is not self:
                    control.widget.send_state(control.trait)
            is_refused = not self._takes(content.get("values"))
            self.send_state(["state", "drawn_for", *["values"] * is_refused])
        self.send({"answer": content["ask"], "busy": busy})

    def _takes(self, chosen: Any) -> bool:
        """Take over what the page's controls show: clicks that were lost, or are on their way
        still, and would be undone by the values of before. Return whether these hold now."""
        if isinstance(chosen, dict) and chosen.keys() == self.values.keys():
            self.set_state({"values": chosen})  # as if its message had come: it is not sent back
        return bool(self.values == chosen)

    def close_views(self) -> None:
        """Close it in the page: the cell that showed it was run again. It may be shown once
        more."""
        lifetime.close(self)

    def show(self, shown: Any, **extras: Any) -> None:
        """Show another figure, in one message.

        Args:
            shown: a Figure, a Recording or a Graph.
            extras: ``error``, ``printed``, ``lines``, ``listing``, ``sentence`` or ``words``, as
                ``picture.state.state`` takes them.

        Raises:
            GradvizError: ``shown`` is none of these, or there is no such extra; the page shows
                what it showed then.

        Example:
            >>> import torch, gradviz
            >>> a = torch.ones(2, requires_grad=True)
            >>> with gradviz.record() as rec:
            ...     b = a.clone()
            >>> live = GraphWidget()
            >>> live.show(rec)
            >>> [card["key"] for card in live.shown["cards"].values()]
            ['a', 'b']
        """
        self.figure = _figure(shown)
        if unknown := [name for name in extras if name not in EXTRAS]:
            raise GradvizError(
                f"show() has no {unknown[0]}=; expected {', '.join(EXTRAS)}, or nothing"
            )
        new_state = state(self.figure, **extras)
        with self.hold_sync():
            self.state = new_state

    def save(
        self, path: str | os.PathLike[str], *, theme: Literal["light", "dark"] = "light"
    ) -> None:
        """Write the picture that is shown to a file, as ``Figure.save``; of a player that of its
        step.

        Args:
            path: its suffix says the format.
            theme: "dark" for a dark page.

        Raises:
            GradvizError: another theme or suffix, the picture cannot be drawn, or there is none.

        Example:
            >>> import tempfile
            >>> from gradviz.graph.records import Graph
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     GraphWidget(Graph()).save(f"{folder}/empty.json")
        """
        if self.figure is None:
            raise GradvizError("this widget shows no figure to save; widget.show(rec) gives it one")
        self.figure.save(path, theme=theme)

    @property
    def shown(self) -> dict[str, Any]:
        """The state that the reader sees: of the book where there is one."""
        states = self.book.get("states") or [self.state]
        return {**NO_STATE, **states[min(max(self.step, 0), len(states) - 1)]}

    @property
    def selection(self) -> Selection | None:
        """What is selected, or None. A book of states without ``figure`` has no records to give."""
        cards = {f"n{c.id}": c for c in self.figure.scene.cards} if self.figure else {}
        card = cards.get(self.selected)
        if card is None or self.figure is None:
            return None
        graph = self.figure.graph
        parts = card.inside or (card,)
        return Selection(
            card,
            tuple(graph.tensor[i] for c in parts for i in c.tensor_ids if i in graph.tensor),
            tuple(graph.node[i] for c in parts for i in c.node_ids if i in graph.node),
            tuple(graph.call[i] for c in parts for i in c.call_ids if i in graph.call),
        )

    @validate("selected")
    def _known(self, proposal: Any) -> str:
        """Return the id of a card that is to be selected; "" where no such card is shown."""
        return str(proposal["value"]) if proposal["value"] in self.shown["cards"] else ""

    @validate("opened")
    def _openable(self, proposal: Any) -> list[str]:
        """Return the whole names of modules that are to be opened, each behind those around it."""
        paths = proposal["value"]
        figure = self.figure
        outlined = figure.outlined if figure is not None else None
        if figure is None or outlined is None or outlined.contents is None:
            if paths:
                raise WrongTrait(
                    f"opened was given {given.said(paths)}; expected [], for nothing can be opened"
                    " in this picture"
                )
            return []
        try:
            names = [*outlined.asked_for(paths)]
            if names != _opened_in(self.state):
                figure = figure.opening(names)
                _ = figure.outlined  # drawn now: what cannot be drawn is refused
                self._next = names, figure
            return names
        except GradvizError as why:
            raise WrongTrait(str(why)) from None  # traitlets puts the old value back for its own

    @observe("opened")
    def _open(self, change: Any) -> None:
        """Show the picture in which just these modules are open."""
        if self.figure is None or self.opened == _opened_in(self.state):
            return
        names, figure = self._next
        if figure is None or names != self.opened:
            figure = self.figure.opening(self.opened)
        self.figure, self._next = figure, ([], None)
        self.state = {**self.state, **opened_state(figure, self.state, self._listing)}

    @observe("state")
    def _keep_opened(self, change: Any) -> None:
        """Open in another picture what was open, as far as it is there."""
        opened = _opened_in(self.state)
        if self.opened == opened:
            return
        names = (self.state.get("outline") or {}).get("names", {})
        still = [path for path in self.opened if path in names]
        if still != self.opened:
            self.opened = still
        else:
            self._open(change)

    @property
    def _listing(self) -> Listing | None:
        """The code beside the picture."""
        code = self.code
        if not code.get("text"):
            return None
        return Listing(code.get("file", ""), code.get("first", 1), code["text"])

    @observe("selected", "state", "book", "step")
    def _keep_selection(self, change: Any) -> None:
        """Select in the next picture the card of the same key: ids are numbers within one
        picture."""
        cards = self.shown["cards"]
        key = cards.get(self.selected, {}).get("key", "")
        if change["name"] == "selected" or not self._selected_key:
            self._selected_key = key
        elif key != self._selected_key:
            self.selected = next(
                (i for i, c in cards.items() if c["key"] == self._selected_key), ""
            )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, the picture for pages without a kernel, and the text for screen
        readers and ``nbval``."""
        if self.comm is None:
            lifetime.reopen(self)
        lifetime.note_shown(self)
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        html = {"text/html": self.figure.html} if self.figure is not None else {}
        text = self.shown.get("text")
        if not text and self.figure is not None and self.shown["svg"]:
            text = text_of(self.figure, self.shown)
        data = {**data, "text/plain": text or say("picture.empty"), **html}
        return data, {**metadata, **marked()}


def _opened_in(state: dict[str, Any]) -> list[str]:
    """Return what is open in a state."""
    return [*(state.get("outline") or {}).get("opened", ())]


def _figure(shown: Any) -> Figure:
    """Return the figure of what a live picture can show; refuse anything else."""
    if isinstance(shown, Graph):
        return Figure(shown)
    # a Recording makes its figure
    figure = shown.figure() if callable(getattr(shown, "figure", None)) else shown
    if not isinstance(figure, Figure):
        raise GradvizError(
            f"a live picture shows a Figure, a Recording or a Graph, not {given.said(shown)}"
        )
    return figure
