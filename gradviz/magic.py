"""``%load_ext gradviz``: a cell that starts with ``%%gradviz`` is recorded, and its picture shown below its output.

NOTE [why %%gradviz is not an ordinary cell magic]
A cell magic gets the cell's text and has to run it itself. Then the traceback of a failing cell shows the magic's
frames, ``await`` does not work, and the last value is lost. So the first line is turned into a comment before
IPython compiles the cell, and IPython's own events switch the recording on and off around an otherwise ordinary
run. The picture is displayed after the run, and therefore below the traceback where there is one. The magic that
is registered as well gives ``%%gradviz?`` and complains about options that the comment would have swallowed.
"""

from __future__ import annotations

import ast
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import IPython
import torch
from IPython.core.error import UsageError
from IPython.display import display

from . import _torch_compat as compat
from .graph import GradvizError, Raised
from .recording import Recording, record
from .views.figure import Figure
from .walk import walk
from .why.entry import explain
from .why.explanation import Explanation
from .why.raised import explain_error, read_error

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

MARK = "%%gradviz"
VIEWS = ("cards", "nodes")
MEASURED = ("val", "test", "eval", "best", "last", "old", "prev")  # losses that nobody calls backward on
NOT_HERS = tuple(os.path.dirname(str(file)) + os.sep for file in (torch.__file__, IPython.__file__, __file__))
HELP = (
    "%%gradviz as the first line of a cell records the cell and draws it; options: view=cards, view=nodes. "
    "%gradviz why in the next cell explains its error, or what the loss does to the model"
)


def options(first_line: str) -> dict[str, str]:
    """The options that stand behind ``%%gradviz``.

    Args:
        first_line: the cell's first line.

    Returns:
        Option names and values, e.g. ``{"view": "nodes"}``.

    Raises:
        GradvizError: an option is unknown, has no value or a wrong one.

    Example:
        >>> options("%%gradviz view=nodes")
        {'view': 'nodes'}
    """
    found = {}
    for word in first_line.split()[1:]:
        name, _, value = word.partition("=")
        if name != "view" or value not in VIEWS:
            raise GradvizError(f"{MARK} got {word!r}, expected {' or '.join(f'view={v}' for v in VIEWS)}, or nothing")
        found[name] = value
    return found


def blank_first_line(lines: list[str]) -> list[str]:
    """Input transformer: ``%%gradviz`` becomes a comment, so that line numbers stay as the reader sees them.

    IPython may call it several times a cell, so it only transforms.

    Example:
        >>> blank_first_line(["%%gradviz\\n", "b = a * 2\\n"])
        ['# %%gradviz\\n', 'b = a * 2\\n']
    """
    if not lines or _marked(lines[0]) is None:
        return lines
    if lines[1:] and lines[1].startswith("%%"):  # another cell magic, which must stand first
        return lines[1:]
    return ["# " + lines[0], *lines[1:]]


def _marked(cell: str) -> dict[str, str] | None:
    """The options when ``%%gradviz`` is among the cell magics at the top of the cell and well formed, else None."""
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
    cell: str
    recording: Recording
    options: dict[str, str]


class _Cells:
    """Records the marked cells of one shell, and answers why."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.running: _Running | None = None
        self.recording: Recording | None = None  # the last one
        self.failed = hasattr(sys, "last_value")  # does what raised last still stand, as %debug would take it?
        self.recorded = False  # was it raised in the last recording?

    def before(self, info: ExecutionInfo) -> None:
        """IPython event ``pre_run_cell``."""
        if self.running is not None:  # a cell run by a cell that is being recorded belongs to it
            return
        found = _marked(info.raw_cell)
        if found is not None:
            recording = record().look_into(self.namespace)
            recording.__enter__()
            self.running = _Running(info.raw_cell, recording, found)

    def after(self, result: ExecutionResult | None) -> None:
        """IPython event ``post_run_cell``. ``result`` is None when the run was cancelled."""
        running = self.running
        if running is not None and result is not None and result.info.raw_cell != running.cell:
            return
        error = result.error_in_exec if result else None
        looked = result is None or isinstance(error, UsageError) or (not error and _only_looks(result.info.raw_cell))
        if not looked:
            self.failed, self.recorded = error is not None, running is not None
        if running is None:
            return
        self.running = None
        running.recording.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
        if result is None or result.error_before_exec is None:  # else nothing ran: there is nothing to draw
            self.recording = running.recording
            display(_shown(running, error))

    def line_magic(self, line: str) -> None:
        """``%gradviz why`` explains the last error; without one, what the loss of this notebook does to its model."""
        if line.strip() not in ("", "why"):
            raise UsageError(f"%gradviz {line.strip()} is not known. {HELP}")
        if line.strip():
            display(self.why())
        else:
            print(HELP)

    def why(self) -> Explanation:
        """Post-mortem, like ``%debug``. The error and its frames are read and let go."""
        error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None) if self.failed else None
        names = {**self.namespace, **(_names_of(error.__traceback__) if error else {})}
        recording = self.recording
        if error and recording and not self.recorded and any(isinstance(e, Raised) for e in recording.events):
            recording = None  # what it saw raised may read the same, and was another error
        loss = _loss(names)
        seen = recording is not None and loss is not None and recording.find(loss) is not None
        if recording and not self.recorded and (error or not seen):
            recording = None  # it is of another cell, and saw nothing of this
        elif recording and not error and not seen and recording.graph.backwards:
            loss = None  # of an earlier cell: what this one called backward on has no name
        models = _models(names, loss, recording)
        subjects = [models] if len(models) > 1 else [*models.values()]  # a mapping, so that each has its name
        subjects += [] if loss is None else [loss]
        if not subjects and error is None:
            raise UsageError("%gradviz why found neither an error, nor a model, nor a loss; gv.explain(x) explains x")
        kinds = (torch.Tensor, torch.optim.Optimizer)
        known = {n: t for n, t in names.items() if issubclass(type(t), kinds) and not n.startswith("_")}
        return explain(*subjects, error=error, recording=recording, names=known)


class _Explained:
    """A picture, and below it why the cell raised."""

    def __init__(self, figure: Figure, told: Explanation) -> None:
        self.figure, self.told = figure, told

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = self.figure._repr_mimebundle_()
        return {
            "text/plain": f"{bundle['text/plain']}\n\n{self.told}",
            "text/html": bundle["text/html"] + self.told.html,
        }


def _shown(running: _Running, error: BaseException | None) -> Any:
    """What is displayed below a recorded cell. An error that autograd did not raise is not explained."""
    figure = running.recording.figure(**running.options)
    if error is not None:
        told = explain_error(*read_error(error), running.recording.graph)
        if told.cause != "not_known":
            return _Explained(figure, told)
    return figure


def _only_looks(cell: str) -> bool:
    """Does a cell only load, look or ask? What was raised before it stands then."""
    lines = [line for line in cell.splitlines() if not line.lstrip().startswith(("%", "!", "?"))]
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        return True  # nothing ran
    calls = [n.func for statement in body for n in ast.walk(statement) if isinstance(n, ast.Call)]
    looks = all(isinstance(s, (ast.Expr, ast.Import, ast.ImportFrom)) for s in body)
    return looks and all(isinstance(f, ast.Name) and f.id in ("print", "repr", "type", "dir", "help") for f in calls)


def _names_of(trace: TracebackType | None) -> dict[str, Any]:
    """The variables of the user's frames behind an error; an inner frame's stand before an outer's."""
    names: dict[str, Any] = {}
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(NOT_HERS):
            names |= trace.tb_frame.f_locals
        trace = trace.tb_next
    return names


def _models(names: dict[str, Any], loss: Any, recording: Recording | None) -> dict[str, Any]:
    """The modules that the question is about: those at work that the loss reaches or an optimizer trains.

    Which ones were at work is known of a recording only. Where nothing is left of them it may be about any.
    """
    modules = {n: m for n, m in names.items() if issubclass(type(m), torch.nn.Module) and not n.startswith("_")}
    parts = {id(part) for m in modules.values() for part in m.modules() if part is not m}
    whole = {id(m): n for n, m in modules.items() if id(m) not in parts}
    found = {n: modules[n] for n in whole.values()}
    seen = {n: m for n, m in found.items() if recording and any(recording.find(p) is not None for p in m.parameters())}
    optimizers = [o for o in names.values() if isinstance(o, torch.optim.Optimizer)]
    held = [p for o in optimizers for group in o.param_groups for p in group["params"]]
    met = set(map(id, [*held, *_leaves(loss)]))
    found = seen if recording and loss is not None else seen or found
    return {n: m for n, m in found.items() if not met.isdisjoint(map(id, m.parameters()))} or found


def _leaves(loss: Any) -> list[Any]:
    """The leaves that a backward from this loss would reach."""
    nodes = [] if loss is None or loss.grad_fn is None else walk([loss.grad_fn]).nodes
    return [compat.leaf_of(node) for node in nodes]


def _loss(names: dict[str, Any]) -> Any:
    """The loss among variables: one called so, else the single number with a ``grad_fn`` that was defined last."""
    with compat.unobserved():
        found = {n: t for n, t in names.items() if issubclass(type(t), torch.Tensor) and not n.startswith("_")
                 and not t.is_nested and t.numel() == 1}  # fmt: skip
        called = {n: t for n, t in found.items() if "loss" in n.lower() and not n.lower().startswith(MEASURED)}
        tracked = [t for t in (called or found).values() if t.requires_grad and not t.is_leaf]
    return found.get("loss", (tracked or [*called.values()] or [None])[-1])


def cell_magic(line: str, cell: str) -> None:
    """Record this cell and show its picture below the cell's own output.

    ``%%gradviz view=nodes`` draws torch's raw graph instead of cards.
    """
    try:
        options(f"{MARK} {line}")
    except GradvizError as error:
        raise UsageError(str(error)) from None
    raise UsageError(f"{HELP}. It works in notebook cells and at the prompt only")


_loaded: WeakKeyDictionary[Any, _Cells] = WeakKeyDictionary()


def load(shell: InteractiveShell) -> None:
    """Make ``%%gradviz`` and ``%gradviz`` known to an IPython shell; a second call changes nothing."""
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
