"""``gv.explore``: controls over a scenario function. Each change runs the function again and shows
what it recorded."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, overload

import torch

from gradviz.graph.collector import without_collector
from gradviz.graph.records import GradvizError, Graph
from gradviz.live import lifetime
from gradviz.live.ambient import ambient
from gradviz.live.controls import Control
from gradviz.live.fields import Fields
from gradviz.live.filled import Filled
from gradviz.live.filling import fill_in
from gradviz.live.run import Run
from gradviz.live.scenario import controls_of, listing_of, task_of
from gradviz.live.still import VIEW, marked
from gradviz.live.turns import Turns, kernel
from gradviz.names.position import shell
from gradviz.picture.explaining import Listing
from gradviz.picture.figure import Figure
from gradviz.picture.together import Together
from gradviz.recording import Recording
from gradviz.words import given
from gradviz.words.plain import visible
from gradviz.words.progress import Progress
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.live.widget import GraphWidget, Shown

SENDING = 0.001  # seconds in which the thread that sends has the interpreter to itself
MEASURED = 12  # choices of a control whose code is measured before it is shown
REMEMBERED = 12  # settings whose last picture is kept
# of all explorations: random states and sys.stdout belong to the process
_one_at_a_time = threading.RLock()


class Exploration(Fields):
    """A scenario function with controls. Calling it calls the plain function.

    Attributes:
        code: the function's source: ``{"text": …, "first": its first line's number, "file": …}``;
            empty when there is none.

    Example:
        >>> @explore(factor=[0, 2])
        ... def scenario(factor):
        ...     a = torch.ones(1, requires_grad=True)
        ...     (a * factor).sum().backward()
        >>> scenario.set(factor=2).grads["a"], scenario.reset().grads["a"]
        ('[2]', '[0]')
        >>> scenario.run(factor=2).grads["a"], scenario.values
        ('[2]', {'factor': '0'})
        >>> [labels for labels, state in scenario.states()]
        [{'factor': '0'}, {'factor': '2'}]
    """

    def __init__(
        self,
        function: Callable[..., Any],
        abbreviations: dict[str, Any],
        *,
        summaries: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function, self._summaries = function, summaries
        self._controls = controls_of(function, abbreviations)
        self._begin = ambient()  # sets back to now
        self._turns = Turns(self._take_turn)
        self._is_run_wanted = False  # else only its picture gets another width
        self._run: Run | None = None
        self._raw: dict[str, Any] = {}  # the controls' states in that run
        self._afresh = False  # the next picture is a beginning, not a change
        self._runs: dict[str, Run] = {}  # the last one of each of the newest settings
        self._together = Together()
        self._graph_widget: GraphWidget | None = None
        self._setting: int | None = None  # thread that is setting several controls
        self._closed = False  # its panel: the cell that showed it was run again
        self._shown_in: object = None
        self.code = listing_of(function)
        self._listing = Listing(**self.code) if self.code else None
        for control in self._controls.values():
            control.widget.observe(self._changed, control.trait)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the plain function."""
        return self._function(*args, **kwargs)

    # --- controls ---------------------------------------------------------------------------------

    @property
    def values(self) -> dict[str, str]:
        """Control -> label of its state now."""
        return {name: control.read()[0] for name, control in self._controls.items()}

    @property
    def filled(self) -> Filled:
        """The scenario's code with what its controls choose now; ``print(f.filled.text)``.

        What has no truthful code stays as it was written, with the control's label as a comment.
        """
        chosen = {name: control.read() for name, control in self._controls.items()}
        return fill_in(self._function, chosen)

    @property
    def controls(self) -> list[dict[str, Any]]:
        """The controls as plain data, for an exported page."""
        for control in self._controls.values():
            if not control.choices:
                raise GradvizError(
                    f"the states of {control.name} ({type(control.widget).__name__}) cannot be"
                    f" listed; expected choices: {control.name}=[…]"
                )
        return [*map(self._described, self._controls.values())]

    @property
    def widgets(self) -> dict[str, Any]:
        """Control -> its ipywidgets widget, to observe or link: ``f.widgets["copy"]``. It moves
        with the panel, and the panel with it."""
        return {name: control.widget for name, control in self._controls.items()}

    @property
    def _drawn(self) -> dict[str, Control]:
        """The controls that the panel draws itself, each at the first line that reads it."""
        return {name: control for name, control in self._controls.items() if control.is_drawn}

    def _described(self, control: Control) -> dict[str, Any]:
        """Return a control as a page draws it, with the line at which it stands."""
        line = self._lines.get(control.name)
        return control.described | ({} if line is None else {"line": line})

    @property
    def _start(self) -> dict[str, tuple[str, Any]]:
        """Label and value of every control at its start."""
        return {name: control.at(control.start) for name, control in self._controls.items()}

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        """Control -> the first line that reads it."""
        return fill_in(self._function, self._start).places

    @property
    def _places(self) -> dict[str, int | None]:
        """Control -> where its state now stands among its choices: what the panel's ``values``
        holds."""
        return {name: control.place_of(control.raw) for name, control in self._drawn.items()}

    @cached_property
    def _listed(self) -> dict[str, Any]:
        """The code for a page, with the most columns that each line has in any state, so that
        places do not hang on the state; and what the scenario's docstring asks of the reader."""
        task = task_of(self._function)
        if not self.code:
            return task
        start = self._start
        at_start = fill_in(self._function, start)
        most = dict(at_start.widths)
        for name, control in self._drawn.items():
            choices = list(islice(control.choices.items(), MEASURED))
            widths = [fill_in(self._function, start | {name: one}).widths for one in choices]
            for line in most:  # two controls may stand in one line
                more = max(w.get(line, 0) - at_start.widths[line] for w in widths)
                most[line] += max(0, more)
        return {**self.code, "columns": most, **task}

    def set(self, **states: Any) -> Exploration:
        """Set controls from code, by label or by value. The scenario runs once.

        Args:
            states: control=label or control=value.

        Returns:
            The exploration.

        Raises:
            GradvizError: there is no such control or state; then nothing is changed.
        """
        self._put([(self._controls[name], raw) for name, raw in self._find(states).items()])
        return self

    def _find(self, states: dict[str, Any]) -> dict[str, Any]:
        """Return the widget's state of each named control, for these labels or values."""
        given.mapping(
            f"{self._name}", states, "control=label or control=value, e.g. {'copy': 'clone'}"
        )
        for name in states:
            if not isinstance(name, str) or name not in self._controls:
                known = ", ".join(self._controls) or "none"
                raise GradvizError(
                    f"{self._name} has no control {given.shown(name)}; its controls are: {known}"
                )
        return {name: self._controls[name].find(wanted) for name, wanted in states.items()}

    def reset(self) -> Exploration:
        """Set every control to its start. The scenario runs once, and nothing is marked as
        changed.

        Returns:
            The exploration.
        """
        self._afresh = True
        self._put([(control, control.start) for control in self._controls.values()])
        return self

    def _put(self, states: list[tuple[Control, Any]]) -> None:
        """Set widgets to their states, or none of them where one refuses its own; then run once."""
        from traitlets import TraitError  # comes with ipywidgets

        self._setting = threading.get_ident()
        before = [(control, control.raw) for control, _ in states]
        try:
            for control, raw in states:
                control.put(raw)
        except TraitError as refused:  # a text field is given a number, say
            for control, raw in before:
                control.put(raw)
            raise GradvizError(f"{self._name} cannot be set so: {refused}") from None
        finally:
            self._setting = None
            self._want_run()

    def _changed(self, _: Any) -> None:
        """Ask for a run, since a control has changed."""
        if self._closed:
            # a widget of the reader's own moves: who asks for the state gets it run
            self._run = None
        elif self._setting != threading.get_ident():
            self._want_run()

    # --- runs -------------------------------------------------------------------------------------

    def _want_run(self) -> None:
        """Ask for a run."""
        self._is_run_wanted = True
        self._turns.want()

    def _take_turn(self) -> None:
        """Run the scenario, or draw the last run's picture in another width."""
        is_run_wanted, self._is_run_wanted = self._is_run_wanted, False
        if is_run_wanted:
            self._rerun()
        elif self._run is not None and self._graph_widget is not None and self._run.fit():
            self._graph_widget.state = self._run.state

    def _fit(self, change: Any) -> None:
        """Draw pictures that can be read whole in the places that the page has for them."""
        if self._together.fit(change.new):
            self._turns.want()

    def _rerun(self) -> None:
        """Run the scenario with the controls as they are, and show what it left."""
        # once: another thread may change it
        raw = {name: control.raw for name, control in self._controls.items()}
        chosen = {name: control.at(raw[name]) for name, control in self._controls.items()}
        run, before = self._new_run(chosen), self._run
        run.together = self._together
        self._raw = raw
        try:
            self._perform(run, chosen)
        finally:
            self._run = run
            if self._graph_widget is not None:
                self._recall(run, before)
                # a pass over all of torch's objects would come between click and picture
                with without_collector():
                    with self._graph_widget.hold_sync():
                        state_shown = {**run.state, "afresh": True} if self._afresh else run.state
                        self._graph_widget.figure = run.figure
                        self._graph_widget.state = state_shown
                        self._graph_widget.values = self._places
                        self._graph_widget.belongs_to(self._in_page())
                    time.sleep(SENDING)
            self._afresh = False

    def _recall(self, run: Run, last: Run | None) -> None:
        """Keep a run, and let it take over what it can of the last one of its settings or, else, of
        the last one: readers come back, and move a slider a step further."""
        before = self._runs.pop(run.settings, last)
        self._runs[run.settings] = run
        if before is not None:
            run.take_over(before)
        if len(self._runs) > REMEMBERED:
            del self._runs[next(iter(self._runs))]

    def _perform(self, run: Run, chosen: dict[str, tuple[str, Any]]) -> None:
        """Run the scenario from the random states and modes of the beginning; set back those that
        were there."""
        with _one_at_a_time:
            restore = ambient()
            try:
                self._begin()
                # a warning that comes once a process would mark one run of many
                torch.set_warn_always(True)
                run.perform(self._function, {name: value for name, (_, value) in chosen.items()})
            finally:
                restore()

    @property
    def _last(self) -> Run:
        """The last run; the first one runs when it is asked for."""
        if self._run is None:
            self._want_run()
        if self._run is None:
            raise GradvizError(say("live.not_run_yet", name=self._name))
        return self._run

    @property
    def _left(self) -> Run:
        """The last run."""
        return self._last

    @property
    def recording(self) -> Recording:
        """The recording of the last run."""
        return self._last.recording

    @property
    def graph(self) -> Graph:
        """The graph of the last run."""
        return self._last.graph

    @property
    def figure(self) -> Figure:
        """The picture of the last run."""
        return self._last.figure

    @property
    def error(self) -> str:
        """What the last run raised, as "RuntimeError: …", or ""."""
        return self._last.error

    @property
    def state(self) -> dict[str, Any]:
        """Everything that is shown of the last run, as plain data."""
        return self._last.whole

    @property
    def sentence(self) -> str:
        """What happened to the gradient in the last run, in one or two sentences."""
        return self._last.sentence

    @property
    def tensors(self) -> dict[str, dict[str, str]]:
        """The tensor table of the last run: name -> column -> what it says."""
        return self._last.tensors

    @property
    def text(self) -> str:
        """Everything that is shown of the last run, in words: controls, picture, table, sentence,
        error."""
        parts = (self._last.settings, str(self.state["text"]))
        return "\n\n".join(part for part in parts if part)

    def choose(self, states: dict[str, Any]) -> dict[str, tuple[str, Any]]:
        """Return label and value of every control with these labels or values; the others at their
        start.

        Args:
            states: control -> label or value.

        Raises:
            GradvizError: there is no such control or state.
        """
        raw = {name: control.start for name, control in self._controls.items()} | self._find(states)
        return {name: control.at(raw[name]) for name, control in self._controls.items()}

    def _listing_of(self, states: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the code with these choices filled in, and the labels of the controls of which the
        code does not say what was chosen.

        Args:
            states: control -> label or value; the others at their start.

        Raises:
            GradvizError: there is no such control or state.
        """
        chosen = self.choose(states)
        labels = {name: label for name, (label, _) in chosen.items()}
        filled = fill_in(self._function, chosen)
        if not self.code or not filled.lines:
            return self.code, labels
        said = filled.places.keys() - filled.unfilled.keys()
        code = {**self.code, "text": filled.to_read, "first": filled.lines[0].number}
        return code, {name: label for name, label in labels.items() if name not in said}

    def run(self, **states: Any) -> Run:
        """Run the scenario once with these states, other controls at their start. Nothing that is
        shown changes.

        Args:
            states: control=label or control=value, as for ``set``.

        Returns:
            What the run left: ``labels``, ``recording``, ``graph``, ``figure``, ``tensors``,
            ``sentence``, ``error``, ``printed``. What code compares: ``grads``, ``records``,
            ``raised_line``, ``raised_code``, ``raised_call``, ``raised_node``, ``raised_saved``.

        Raises:
            GradvizError: there is no such control or state.
        """
        return self._fresh(self.choose(states))

    def _fresh(self, chosen: dict[str, tuple[str, Any]]) -> Run:
        """Return a new run, which is neither shown nor kept."""
        run = self._new_run(chosen)
        self._perform(run, chosen)
        return run

    def _new_run(self, chosen: dict[str, tuple[str, Any]]) -> Run:
        """Return a run that is still to be performed, with its code filled in."""
        filled = fill_in(self._function, chosen) if self._listing else None
        return Run(chosen, self._listing, filled, summaries=self._summaries)

    def states(self) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Run every combination of the controls, the last control changing fastest.

        Yields:
            Control -> label, and what ``state`` is then. Neither the controls nor the last run
            change.

        Raises:
            GradvizError: a control's states cannot be listed.
        """
        for run in self._every_run():
            yield run.labels, run.whole

    def _every_run(self) -> Iterator[Run]:
        """Run every combination of the controls, the last control changing fastest."""
        names = [control["name"] for control in self.controls]
        ways = itertools.product(*(c.choices.items() for c in self._controls.values()))
        for pairs in ways:
            yield self._fresh(dict(zip(names, pairs, strict=True)))

    def save(
        self, path: str | os.PathLike[str], *, theme: Literal["light", "dark"] = "light"
    ) -> None:
        """Write the picture of the last run to a file, or all states as a page.

        Args:
            path: its suffix says the format. A page (.html) has all states and their controls, as
                ``gv.export`` writes it; any other format the last run's picture, as
                ``Figure.save``.
            theme: "dark" for a dark page.

        Raises:
            GradvizError: another theme or suffix, or the picture cannot be drawn.

        Example:
            >>> import tempfile
            >>> @explore(factor=[0, 2])
            ... def scenario(factor):
            ...     (torch.ones(1, requires_grad=True) * factor).sum().backward()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     scenario.save(f"{folder}/now.svg")
        """
        from gradviz.live.export import export

        if given.path("save()", path, "picture.svg").suffix.lower() == ".html":
            given.one_of("theme=", theme, ("light", "dark"))
            export(self, path)
        else:
            self.figure.save(path, theme=theme)

    def book(self) -> dict[str, Any]:
        """Return all states and the controls that choose one, as plain data for an exported page.
        Every card stands where it stands in all of them.

        Raises:
            GradvizError: a control's states cannot be listed.
        """
        runs, together, states = list[Run](), Together(most=None), list[dict[str, Any]]()
        controls = self.controls
        total = math.prod(len(control["options"]) for control in controls)
        with Progress(lambda done: say("progress.states_run", done=done, total=total)) as progress:
            for run in self._every_run():
                run.join(together)
                runs.append(run)
                progress.step()
        with Progress(lambda done: say("progress.pictures", done=done, total=total)) as progress:
            for run in runs:
                states.append(run.for_page)
                progress.step()
        return {
            "title": self._name,
            "code": self._listed,
            "controls": controls,
            "states": states,
        }

    # --- views ------------------------------------------------------------------------------------

    @property
    def _name(self) -> str:
        """What the scenario is called."""
        return str(getattr(self._function, "__name__", "scenario"))

    @cached_property
    def widget(self) -> Any:
        """The panel, an ipywidgets Box."""
        from gradviz.live.panel import panel
        from gradviz.live.widget import GraphWidget

        for widget in self.widgets.values():
            lifetime.reopen(widget)
        self._closed = False
        shown = GraphWidget(
            self.figure,
            state=self._last.state,
            code=self._listed,
            controls=[self._described(c) | {"endless": True} for c in self._drawn.values()],
            values=self._places,
        )
        shown.busy = lambda: self._turns.busy
        shown.reset = self.reset
        shown.observe(self._choose, "values")
        shown.observe(self._fit, "rooms")
        self._graph_widget = shown
        shown.belongs_to(self._in_page())
        others = [c.widget for c in self._controls.values() if not c.is_drawn]
        return panel(others, shown)

    def _choose(self, change: Any) -> None:
        """Set the controls whose choice the panel was given. What a page is told of them goes out
        behind the picture, which is larger: see ``Turns``."""
        moved = [
            (control, control.raw_at(change.new[name]))
            for name, control in self._drawn.items()
            if name in change.new and change.new[name] not in (None, control.place_of(control.raw))
        ]
        with contextlib.ExitStack() as held:
            for control, _ in moved:
                held.enter_context(control.widget.hold_sync())
            if moved:
                self._put(moved)

    def _in_page(self) -> list[Shown]:
        """Return what the controls show in the page where the last run's picture is true."""
        from gradviz.live.widget import Shown

        in_page = [(c.widget, *c.in_page(self._raw[name])) for name, c in self._controls.items()]
        places = {name: c.place_of(self._raw[name]) for name, c in self._drawn.items()}
        drawn = [Shown(self._graph_widget, "values", places)] if places else []
        return [
            *(
                Shown.of(widget, trait, raw)
                for widget, trait, raw in in_page
                if trait in widget.keys
            ),
            *drawn,
        ]

    def close_views(self) -> None:
        """Close the panel: the cell that showed it was run again. Everything else works as before,
        and whoever kept the exploration can show it once more.
        """
        others = tuple(control.widget for control in self._controls.values() if not control.ours)
        if "widget" in self.__dict__ and lifetime.close(self.widget, but=others):
            self._closed = True
            self._graph_widget = None
            for control in self._drawn.values():
                lifetime.close(control.widget)
            del self.widget

    @property
    def selected(self) -> Any:
        """What is selected in the panel, as records of ``graph``; None when nothing is."""
        return None if self._graph_widget is None else self._graph_widget.selection

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """Return the panel, the picture for pages without a kernel, and everything in words."""
        bundle = self.widget._repr_mimebundle_()
        return {"text/plain": self.text, "text/html": self.figure.html, VIEW: bundle[VIEW]}

    def _ipython_display_(self) -> None:
        """Show the panel, once a cell: the decorator has done so when the cell ends with the
        decorated function."""
        from IPython.display import display

        cell = (id(shell()), getattr(shell(), "execution_count", None), lifetime.request())
        if cell != self._shown_in:
            self._shown_in = cell
            display(self._repr_mimebundle_(), metadata=marked(), raw=True)
            lifetime.note_shown(self)

    def _display_(self) -> Any:
        """Return what marimo shows: the one widget that draws code, choices and picture. A box of
        ipywidgets is nothing to it, so a control that the panel does not draw stays where it is.
        """
        self.widget  # noqa: B018 - makes it
        return self._graph_widget

    def __repr__(self) -> str:
        """Return the scenario's name and the controls in words."""
        controls = " ".join(f"{name}={visible(label)}" for name, label in self.values.items())
        return say("live.exploration", name=self._name, controls=controls)


# --- making one -----------------------------------------------------------------------------------


@overload
def explore(
    function: Callable[..., Any], /, *, summaries: bool = False, **abbreviations: Any
) -> Exploration: ...
@overload
def explore(
    *, summaries: bool = False, **abbreviations: Any
) -> Callable[[Callable[..., Any]], Exploration]: ...
def explore(function: Any = None, /, *, summaries: bool = False, **abbreviations: Any) -> Any:
    """Put controls over a scenario: each change runs the function again and shows what autograd
    did.

    In a notebook the panel is displayed at once, as ``ipywidgets.interact`` does.

    Args:
        function: ordinary PyTorch; its parameters are the controls. The first paragraph of its
            docstring, such as a question, stands below the panel's sentence until the first click
            and after Reset; what stands between backticks is code.
        abbreviations: parameter=what makes its control, as for ``ipywidgets.interact``: a bool,
            (min, max), a ``range``, a list or dict of choices (also of functions), a widget, or one
            of ``gv.controls``. A parameter that is left out takes its default as the abbreviation.
        summaries: tell of larger tensors too how their numbers are spread, as ``gv.record`` does;
            it is no control.

    Returns:
        An Exploration, or a decorator that makes one.

    Raises:
        GradvizError: a parameter has no control or a control no parameter, ``summaries=`` is
            neither True nor False, or ipywidgets or anywidget is missing.

    Example:
        >>> import torch
        >>> @explore(copy=[torch.Tensor.clone, torch.Tensor.detach], requires_grad=True)
        ... def scenario(copy, requires_grad):
        ...     a = torch.ones(2, requires_grad=requires_grad)
        ...     b = copy(a)
        >>> scenario.set(copy="detach").values
        {'copy': 'detach', 'requires_grad': 'True'}
        >>> [cut.reason.value for cut in scenario.graph.cuts]
        ['detach']
    """
    if absent := missing():
        raise GradvizError(say("live.missing", missing=absent))
    given.flag("summaries=", summaries)

    def explored(function: Callable[..., Any]) -> Exploration:
        exploration = Exploration(function, abbreviations, summaries=summaries)
        if kernel() is not None:
            exploration._ipython_display_()
        return exploration

    return explored if function is None else explored(function)


def missing() -> list[str]:
    """Return which packages live pictures need and are not installed."""
    needed = ("ipywidgets", "anywidget")
    return [name for name in needed if importlib.util.find_spec(name) is None]
