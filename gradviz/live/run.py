"""One run of a scenario: what it recorded, printed and raised, and how that is shown."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from collections.abc import Callable
from functools import cached_property
from types import CodeType
from typing import Any

from gradviz.graph.records import Graph
from gradviz.live.fields import Fields
from gradviz.live.filled import Filled
from gradviz.live.reading import Reading, as_read
from gradviz.names.position import display_name
from gradviz.picture import render
from gradviz.picture.explaining import Listing
from gradviz.picture.figure import Figure
from gradviz.picture.state import state, text_of
from gradviz.picture.table import COLUMNS
from gradviz.picture.table import rows as table_rows
from gradviz.picture.together import NARROW, Layout, Together
from gradviz.recording import Recording, record
from gradviz.words.plain import visible
from gradviz.words.speech import say

PRINTED = 4000  # characters of a scenario's output that are shown


class Run(Fields):
    """What one run of a scenario left: plain data.

    Attributes:
        labels: control -> label.
        written: the code as its author wrote it.
        listing: the code with the choices filled in.
        recording: what was recorded.
        error: what the scenario raised, as "RuntimeError: …", or "".
        printed: what it printed, and its warnings.
        lines: the scenario's line that raised.
    """

    def __init__(
        self,
        chosen: dict[str, tuple[str, Any]],
        listing: Listing | None,
        filled: Filled | None = None,
        *,
        summaries: bool = False,
    ) -> None:
        self.written, self.filled = listing, filled
        self.listing = _filled_listing(listing, filled)
        self.labels = {name: label for name, (label, _) in chosen.items()}
        self.recording = record(summaries=summaries)
        if listing is not None and filled is not None and filled.lines:
            bodies = {name: _body(value) for name, (_, value) in chosen.items()}
            self.recording.reading = Reading(listing.file, filled, bodies)
        self.error = self.printed = ""
        self.lines: tuple[int, ...] = ()
        self.together: Together | None = None  # the pictures among which it keeps its places
        self._laid_out: Layout | None = None  # the layout in which its picture is drawn

    @classmethod
    def of(cls, recording: Recording) -> Run:
        """Return a run of no controls that left this recording."""
        run = cls({}, None)
        run.recording = recording
        return run

    @property
    def _left(self) -> Run:
        """The run itself."""
        return self

    @property
    def settings(self) -> str:
        """The controls in words: "keep=True copy=clone"."""
        return " ".join(f"{name}={visible(label)}" for name, label in self.labels.items())

    def take_over(self, before: Run) -> None:
        """Take picture and state of an earlier run, where that left the same; else how its picture
        is arranged, where only numbers differ. Making them is most of the work."""
        left, left_before = ((r.settings, r.error, r.printed, r.lines) for r in (self, before))
        if left == left_before and self.graph.same_but_numbered(before.graph):
            self.figure, self.state = before.figure.of(self.graph), before.state
            self._laid_out = before._laid_out
            if self._is_placed and self.together is not None:
                self.together.add(self.settings, self.figure.scene)
                if self.together.layout != self._laid_out:
                    self._draw_again()
        else:
            self.figure.arrange_like(before.figure)

    @cached_property
    def figure(self) -> Figure:
        """The picture of what was recorded."""
        return Figure(self.graph)

    @cached_property
    def state(self) -> dict[str, Any]:
        """Everything that is shown, as plain data, without the text twin of a picture."""
        if self._is_placed and self.together is not None:
            self.together.add(self.settings, self.figure.scene)
        drawn: dict[str, str] = {}

        def draw() -> str:
            drawn.update(self._pictures())
            return drawn["svg"]

        shown = state(
            self.figure,
            error=self.error,
            printed=self.printed,
            lines=self.lines,
            listing=self.listing,
            words=False,
            svg_of=draw if self._is_placed else None,
        )
        code = self.filled.sent if self.filled else None
        said = {**shown, "settings": self.settings, **({"code": code} if code else {})}
        return {**said, **drawn}

    @cached_property
    def _is_placed(self) -> bool:
        """Whether its cards keep the places of earlier pictures: an outline has its own way."""
        return (
            self.together is not None
            and render.keeps_places()
            and self.figure.outlined is None
            and bool(self.figure.scene.cards)
        )

    def join(self, together: Together) -> None:
        """Take its place among the pictures of other runs."""
        self.together = together
        if self._is_placed:
            together.add(self.settings, self.figure.scene)

    def _pictures(self, narrow: int = 0) -> dict[str, str]:
        """Draw its picture among the others; one as narrow as this beside it, or as they have."""
        assert self.together is not None
        self._laid_out = self.together.layout
        return self.together.pictures(self.figure.scene, narrow)

    def _draw_again(self) -> None:
        """Put its picture as it stands among the others now into its state."""
        others = {key: value for key, value in self.state.items() if key != "narrow"}
        self.state = {**others, **self._pictures()}

    def fit(self) -> bool:
        """Draw its pictures in the widths that they may have now; return whether one of them is
        another one."""
        if not self._is_placed or self.together is None or self.together.layout == self._laid_out:
            return False
        before = self.state
        self._draw_again()
        if self.state == before:
            self.state = before
        return self.state is not before

    @property
    def for_page(self) -> dict[str, Any]:
        """The state as an exported page has it: with a narrow picture, too, where the other one is
        too wide for a phone."""
        whole = self.whole
        if not self._is_placed or not whole["svg"]:
            return whole
        return {**whole, **self._pictures(NARROW)}

    @cached_property
    def whole(self) -> dict[str, Any]:
        """The state with its text twin."""
        return {**self.state, "text": text_of(self.figure, self.state)}

    @cached_property
    def graph(self) -> Graph:
        """The graph of what was recorded, its code with the choices filled in."""
        return as_read(self.recording, self.recording.graph)

    @property
    def sentence(self) -> str:
        """What happened to the gradient, in one or two sentences."""
        return str(self.state["sentence"])

    @property
    def tensors(self) -> dict[str, dict[str, str]]:
        """The tensor table: name -> column -> what it says."""
        rows = self.state["table"]
        if "columns" in self.state:  # shown by groups
            listed = table_rows(self.graph, self._left.figure.whole.cards)
            rows = [row._asdict() for row in listed]
        return {row["key"]: dict(zip(COLUMNS, row["cells"], strict=True)) for row in rows}

    def perform(self, function: Callable[..., Any], arguments: dict[str, Any]) -> None:
        """Run the scenario, and keep what it records, prints and raises.

        Args:
            function: the scenario.
            arguments: parameter -> value.

        Raises:
            BaseException: only what ends programs (an interrupt, an exit); it is kept as well.
        """
        printed = io.StringIO()
        code = getattr(inspect.unwrap(function), "__code__", None)

        def print_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
            print(f"{category.__name__}: {message}", file=printed)

        try:
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = print_warning  # type: ignore[assignment]
                with self.recording.look_into(getattr(function, "__globals__", {}), code):
                    function(**arguments)
        except BaseException as error:
            self._failed(error, code)
            if not isinstance(error, Exception):
                raise
        finally:
            self.printed = _shortened(printed.getvalue().rstrip())

    def _failed(self, error: BaseException, code: CodeType | None) -> None:
        """Keep an error's text and line; the error itself would hold tensors through its
        traceback."""
        kind = type(error).__name__
        try:
            text = f"{kind}: {error}".rstrip(": ")
        except Exception:
            text = say("live.unreadable_error", error=kind)
        self.error = visible(text, 2000)
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code is code:
                self.lines = (trace.tb_lineno,)
            trace = trace.tb_next


def _filled_listing(written: Listing | None, filled: Filled | None) -> Listing | None:
    """Return a listing with the choices filled in."""
    if written is None or filled is None or not filled.lines:
        return written
    head = written.text.split("\n")[: filled.lines[0].number - written.first]
    return written._replace(text="\n".join([*head, filled.text]))


def _body(value: Any) -> tuple[str, frozenset[int]]:
    """Return the file of a function, and its lines; no lines of anything else."""
    code = getattr(value, "__code__", None)
    if not isinstance(code, CodeType):
        return "", frozenset()
    lines = frozenset(line for *_, line in code.co_lines() if line is not None)
    return display_name(code.co_filename), lines


def _shortened(text: str) -> str:
    """Return as much of a scenario's output as is shown, and say how much is not."""
    if len(text) <= PRINTED:
        return text
    return f"{text[:PRINTED]}\n{say('live.more_printed', n=len(text) - PRINTED)}"
