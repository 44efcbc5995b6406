"""``%load_ext gradviz``: a cell that starts with ``%%gradviz`` is recorded, and its picture shown
below its output.

NOTE [why %%gradviz is not an ordinary cell magic] A cell magic gets the cell's text and has to run
it itself. Then the traceback of a failing cell shows the magic's frames, ``await`` does not work,
and the last value is lost. So the first line is turned into a comment before IPython compiles the
cell, and IPython's own events switch the recording on and off around an otherwise ordinary run. The
picture is displayed after the run, and therefore below the traceback where there is one. The magic
that is registered as well gives ``%%gradviz?`` and complains about options that the comment would
have swallowed.
"""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from IPython.core.error import UsageError
from IPython.core.magic import no_var_expand
from IPython.display import display

from gradviz.graph.records import GradvizError
from gradviz.notebook.newest import Notebook
from gradviz.picture.figure import Figure
from gradviz.recording import Recording, record
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

MARK = "%%gradviz"
EXPECTED = {
    "view": ("cards", "nodes"),
    "depth": ("2, or another whole number from 0 on",),
    "focus": ("transformer.h.5, or several modules with commas between",),
    "around": ("loss, or another name of a tensor, or the path of a parameter",),
    "fold": ("yes", "no"),
    "summaries": ("yes", "no"),
}


def options(first_line: str) -> dict[str, str]:
    """Return the options that stand behind ``%%gradviz``.

    Args:
        first_line: the cell's first line.

    Returns:
        Option names and values, e.g. ``{"view": "nodes"}``.

    Raises:
        GradvizError: an option is unknown, has no value or a wrong one.

    Example:
        >>> options("%%gradviz view=nodes depth=2")
        {'view': 'nodes', 'depth': '2'}
    """
    chosen = {}
    for word in first_line.split()[1:]:
        name, _, value = word.partition("=")
        if not _is_option(name, value):
            some = EXPECTED if name not in EXPECTED else {name: EXPECTED[name]}
            known = " or ".join(f"{key}={one}" for key, ones in some.items() for one in ones)
            raise GradvizError(f"{MARK} got {word!r}, expected {known}, or nothing")
        chosen[name] = value
    return chosen


def _is_option(name: str, value: str) -> bool:
    if name in ("view", "fold", "summaries"):
        return value in EXPECTED[name]
    if name == "depth":
        return value.isdecimal()
    return name in EXPECTED and bool(value)


def blank_first_line(lines: list[str]) -> list[str]:
    """Turn ``%%gradviz`` into a comment, so that line numbers stay as the reader sees them.

    IPython may call this input transformer several times a cell, so it only transforms.

    Args:
        lines: of a cell, each with its end.

    Returns:
        The lines that IPython is to compile.

    Example:
        >>> blank_first_line(["%%gradviz\\n", "b = a * 2\\n"])
        ['# %%gradviz\\n', 'b = a * 2\\n']
    """
    if not lines or _marked(lines[0]) is None:
        return lines
    others = list(takewhile(lambda line: line.startswith("%%"), lines[1:]))  # must stand first
    return [*others, "# " + lines[0], *lines[1 + len(others) :]]


def _marked(cell: str) -> dict[str, str] | None:
    """Return the options where ``%%gradviz`` is among the cell magics at the top of the cell and
    well formed, else None."""
    for line in cell.lstrip().splitlines():
        if not line.startswith("%%"):
            break
        if line.split()[0] == MARK:
            try:
                return options(line)
            except GradvizError:
                return None
    return None


class _Running(NamedTuple):
    """A marked cell that runs."""

    cell: str
    recording: Recording
    options: dict[str, str]


def _end(recording: Recording, error: BaseException | None) -> None:
    """Leave a recording as a ``with`` block does, with the error that the cell raised."""
    recording.__exit__(
        type(error) if error else None, error, error.__traceback__ if error else None
    )


class _Cells:
    """Records the marked cells of one shell, and lets it ask why."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.notebook = Notebook(namespace)
        self.running: _Running | None = None
        self.asked = False

    def before(self, info: ExecutionInfo) -> None:
        """Start to record a marked cell, on IPython's event ``pre_run_cell``."""
        if self.running is not None:  # a cell run by a cell that is being recorded belongs to it
            return
        self.asked = False
        cell_options = _marked(info.raw_cell)
        if cell_options is not None:
            asked = cell_options.get("summaries") == "yes"
            recording = record(summaries=asked).look_into(self.namespace)
            recording.__enter__()
            self.running = _Running(info.raw_cell, recording, cell_options)

    def after(self, result: ExecutionResult | None) -> None:
        """End a recording and show its picture, on IPython's event ``post_run_cell``.

        Args:
            result: None when the run was cancelled.
        """
        running = self.running
        if running is not None and result is not None and result.info.raw_cell != running.cell:
            return
        error = result.error_in_exec if result else None
        if running is not None:
            self.running = None
            _end(running.recording, error)
        has_run = result is None or result.error_before_exec is None
        drawn = running if has_run else None  # else there is nothing to draw
        recording = None if drawn is None else drawn.recording
        asks = self.asked or result is None or isinstance(error, UsageError)
        try:
            self.notebook.after(result.info.raw_cell if result else "", error, recording, asks)
        # whatever is wrong with the rest of the notebook's names, the cell gets its picture
        finally:
            if drawn is not None:
                self._display(drawn)

    def _display(self, running: _Running) -> None:
        """Show the picture of a recorded cell, and below it why the cell raised."""
        try:
            figure = self._figure(running)
        except GradvizError as error:  # a name that nothing has: the cell gets its picture
            print(error, file=sys.stderr)
            figure = running.recording.figure()
        explanation = self.notebook.told
        display(figure if explanation is None else _Explained(figure, explanation))

    def _figure(self, running: _Running) -> Figure:
        """Draw a recorded cell as its first line asks. A name of a tensor means what it means in
        the notebook."""
        chosen, recording = running.options, running.recording
        asked: dict[str, Any] = {"view": chosen.get("view", "cards")}
        asked |= {"focus": chosen["focus"].split(",")} if "focus" in chosen else {}
        asked |= {"depth": int(chosen["depth"])} if "depth" in chosen else {}
        asked |= {"fold": chosen["fold"] == "yes"} if "fold" in chosen else {}
        if name := chosen.get("around"):
            value = self.namespace.get(name)
            is_seen = isinstance(value, torch.Tensor) and recording.find(value) is not None
            asked["around"] = value if is_seen else name
        return recording.figure(**asked)

    @no_var_expand  # type: ignore[untyped-decorator]  # {…} and $ are the reader's
    def line_magic(self, line: str) -> None:
        """``%gradviz why`` explains the last error; without one, what the newest loss does to the
        model.

        ``%gradviz why model.fc1.weight`` and ``%gradviz why w loss`` ask about these, as
        ``gv.explain(w, loss)`` does: any expressions over the notebook's names, apart by blanks or
        commas. The last recording helps, where it saw them.
        """
        word, _, words = line.strip().partition(" ")
        if word not in ("", "why"):
            raise UsageError(say("magic.not_known", line=line.strip(), help=say("magic.help")))
        if word:
            self.asked = True
            try:
                display(
                    self.notebook.about(words.strip()) if words.strip() else self.notebook.why()
                )
            except GradvizError as error:
                raise UsageError(str(error)) from None
        else:
            print(say("magic.help"))


class _Explained:
    """A picture, and below it why the cell raised."""

    def __init__(self, figure: Figure, explanation: Explanation) -> None:
        self.figure, self.told = figure, explanation

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Return both as text and as HTML, for Jupyter."""
        bundle = self.figure._repr_mimebundle_()
        return {
            "text/plain": f"{bundle['text/plain']}\n\n{self.told}",
            "text/html": bundle["text/html"] + self.told.html,
        }


def cell_magic(line: str, cell: str) -> None:
    """Record this cell and show its picture below the cell's own output.

    ``%%gradviz view=nodes`` draws torch's raw graph instead of cards. ``focus=transformer.h.5``
    opens a module, ``depth=2`` opens so many levels, ``around=loss`` shows the cards around one
    tensor, ``fold=no`` everything.
    """
    try:
        options(f"{MARK} {line}")
    except GradvizError as error:
        raise UsageError(str(error)) from None
    raise UsageError(say("magic.cells_only", help=say("magic.help")))


_loaded: WeakKeyDictionary[Any, _Cells] = WeakKeyDictionary()


def load(shell: InteractiveShell) -> None:
    """Make ``%%gradviz`` and ``%gradviz`` known to an IPython shell; a second call changes
    nothing."""
    if shell in _loaded:
        return
    cells = _loaded[shell] = _Cells(shell.user_ns)
    shell.input_transformers_cleanup.append(blank_first_line)
    shell.events.register("pre_run_cell", cells.before)
    shell.events.register("post_run_cell", cells.after)
    shell.register_magic_function(cells.line_magic, "line", "gradviz")
    shell.register_magic_function(cell_magic, "cell", "gradviz")


def unload(shell: InteractiveShell) -> None:
    """Undo ``load``."""
    cells = _loaded.pop(shell, None)
    if cells is None:
        return
    shell.input_transformers_cleanup.remove(blank_first_line)
    shell.events.unregister("pre_run_cell", cells.before)
    shell.events.unregister("post_run_cell", cells.after)
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("gradviz", None)
