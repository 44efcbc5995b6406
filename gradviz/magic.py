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
import weakref
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import IPython
import torch
from IPython.core.error import UsageError
from IPython.display import display

from . import _torch_compat as compat
from .graph import GradvizError
from .recording import Recording, record
from .views.figure import Figure
from .walk import walk
from .why.entry import explain, held_by, names_of
from .why.explanation import Explanation
from .why.messages import cause_of, read_error
from .why.raised import explain_error
from .why.reaching import parts_of

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult, InteractiveShell

MARK, MAGIC = "%%gradviz", "%gradviz why"
WANTED = f"expected names or expressions of this notebook that explain() takes: {MAGIC} model loss"
LOST = f"The newest backward ran on a loss that has no name here: record that cell, or name a loss: {MAGIC} loss."
VIEWS = ("cards", "nodes")
MEASURED = ("val", "test", "eval", "best", "last", "old", "prev")  # losses that nobody calls backward on
NOT_HERS = tuple(os.path.dirname(str(file)) + os.sep for file in (torch.__file__, IPython.__file__, __file__))
HELP = (
    "%%gradviz as the first line of a cell records the cell and draws it; options: view=cards, view=nodes. "
    "%gradviz why in the next cell explains its error, or what the loss does to the model; %gradviz why x explains x"
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


class _Failed(NamedTuple):
    """An error in words: the error itself would keep its frames alive."""

    cell: int
    kind: str
    text: str
    functions: set[str]  # of the user's, on its way
    names: set[str]  # of what could be trained then
    told: Explanation | None  # where it was recorded: nothing more will be known of it


class _Cells:
    """Records the marked cells of one shell, and answers why.

    NOTE [what is newest]
    An error of autograd's stands, as for ``%debug``, until the next one, or until what was there then has got new
    gradients, or the function that raised has run through. A recording and a loss stand until a backward that is
    not theirs. Whether a cell ran one is read off the gradients of all that the notebook's names lead to.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.running: _Running | None = None
        self.cell = 0  # cells that ran, but for those that only ask
        self.recording: Recording | None = None  # the last one
        self.recorded_in = 0
        self.backwards = -1, -1  # the last two cells that ran one
        self.asked = False
        self.error: _Failed | None = None  # the last one of autograd's that stands
        self.other: _Failed | None = None  # another kind, if newer
        self.traces = _traces(namespace)
        self.born: dict[str, tuple[Any, int]] = {}  # of each number: a weak reference, and the cell that named it
        self.note_births()
        if (error := _last()) is not None:
            self.fail(error, None)

    def before(self, info: ExecutionInfo) -> None:
        """IPython event ``pre_run_cell``."""
        if self.running is not None:  # a cell run by a cell that is being recorded belongs to it
            return
        self.asked, self.traces = False, _traces(self.namespace)
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
        trained = _trained(self.traces, _traces(self.namespace))
        if running is not None:
            self.running = None
            running.recording.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
        elif not trained and (self.asked or result is None or isinstance(error, UsageError)):
            return
        self.cell += 1
        if trained or (running and not error and running.recording.graph.backwards):
            self.backwards = self.backwards[1], self.cell
        self.note_births()
        again = result is not None and not error and self.error and self.error.functions & _called(result.info.raw_cell)
        over = self.error and (self.error.names & trained or again or (self.backwards[1] == self.cell and running))
        self.error = None if over else self.error
        ran = running is not None and (result is None or result.error_before_exec is None)  # else nothing is to draw
        if running is not None and ran:
            self.recording, self.recorded_in = running.recording, self.cell
        if error is not None and not isinstance(error, UsageError):
            self.fail(error, self.recording if ran else None)
        if running is not None and ran:
            figure, failed = running.recording.figure(**running.options), self.error
            told = failed.told if failed and failed.cell == self.cell else None
            display(figure if told is None else _Explained(figure, told))

    def note_births(self) -> None:
        """In which cell each number got its name."""
        old, self.born = self.born, {}
        for name, t in _numbers(self.namespace).items():
            own = weakref.ref(t)  # the same object as last time, if it is the same tensor
            was, cell = old.get(name, (None, self.cell))
            self.born[name] = own, cell if was is own else self.cell

    def fail(self, error: BaseException, recording: Recording | None) -> None:
        """Note an error; a recorded one is explained at once."""
        kind, text = read_error(error)
        frames = _frames(error.__traceback__)
        names = {n for _, n in _traces(self.namespace)}
        found = _Failed(self.cell, kind, text, {f.f_code.co_name for f in frames} - {"<module>"}, names, None)
        if recording is not None and (cause_of(text) or "NoneType" in text):
            told = self.explained(error, recording)
            found = found._replace(told=told if told.cause != "not_known" else None)
        if cause_of(text) or found.told:
            self.error, self.other = found, None
        else:
            self.other = found

    def line_magic(self, line: str) -> None:
        """``%gradviz why`` explains the last error; without one, what the newest loss does to the model.

        ``%gradviz why model.fc1.weight`` and ``%gradviz why w loss`` ask about these, as ``gv.explain(w, loss)`` does:
        any expressions over the notebook's names, apart by blanks or commas. The last recording helps, where it saw
        them.
        """
        word, _, words = line.strip().partition(" ")
        if word not in ("", "why"):
            raise UsageError(f"%gradviz {line.strip()} is not known. {HELP}")
        if word:
            self.asked = True
            display(self.about(words.strip()) if words.strip() else self.why())
        else:
            print(HELP)

    line_magic._ipython_magic_no_var_expand_ = True  # type: ignore[attr-defined]  # {…} and $ are the reader's

    def about(self, words: str) -> Explanation:
        """What ``gv.explain`` says of some expressions."""
        parts = _expressions(words)
        try:
            subjects = [eval(compile(ast.Expression(part), MAGIC, "eval"), self.namespace) for part in parts]
        except Exception as error:
            raise UsageError(f"{MAGIC} got {words!r}, which raised {type(error).__name__}: {error}; {WANTED}") from None
        recording = self.recording
        late = recording and self.backwards[1] > self.recorded_in and recording.graph.backwards
        if recording and (late or not any(recording.find(t) is not None for t in _tensors(subjects))):
            recording = None  # it saw nothing of these, or a later backward was not recorded
        known = names_of(parts, subjects, self.namespace, recording is None)
        try:
            return explain(*subjects, recording=recording, names=known)
        except GradvizError as error:
            raise UsageError(f"{MAGIC} {words}: {error}") from None

    def why(self) -> Explanation:
        """Post-mortem, like ``%debug``. The error and its frames are read and let go."""
        failed, other, last = self.error, self.other, _last()
        if failed is not None:
            live = last is not None and read_error(last) == (failed.kind, failed.text)
            told = failed.told or (self.explained(last, None) if live else explain_error(failed.kind, failed.text))
            note = f"This error is older than the last one, {other.kind}, which is none of autograd's." if other else ""
            return told._replace(more=(*told.more, note)) if note else told
        if other and other.cell == self.cell and last and read_error(last) == (other.kind, other.text):
            return self.explained(last, self.recording if self.recorded_in == self.cell else None)
        return self.newest()

    def explained(self, error: BaseException | None, recording: Recording | None) -> Explanation:
        """An error, in the words of the frames that it went through."""
        inside: dict[str, Any] = {}
        for frame in _frames(error.__traceback__ if error else None):
            inside |= frame.f_locals  # an inner frame's stand before an outer's
        names = {**self.namespace, **inside}
        loss = _loss(_numbers(inside))
        loss = self.loss()[0] if loss is None else loss
        return _asked(names, loss, recording, error)

    def newest(self) -> Explanation:
        """About the newest loss, in the recording where that is as new (NOTE [what is newest])."""
        loss, made, note = self.loss()
        recording, (before, last) = self.recording, self.backwards
        seen = recording is not None and loss is not None and recording.find(loss) is not None
        own = recording.graph.backwards if recording else []
        if recording and (last > self.recorded_in if own or not seen else last > self.recorded_in and before >= made):
            recording = None  # a later backward was not recorded
        elif recording and not seen and (made > self.recorded_in or not own):
            recording = None  # it saw nothing of this
        elif recording and not seen and own:
            loss, note = None, ""  # of an earlier cell: what this one called backward on has no name
        if recording is None and loss is not None and made < last and before >= made:
            loss, note = None, LOST
        told = _asked(self.namespace, loss, recording, None)
        return told._replace(more=(*told.more, note)) if note else told

    def loss(self) -> tuple[Any, int, str]:
        """The newest loss among the notebook's names, in which cell it was made, and what else may be meant."""
        found = _numbers(self.namespace)
        cell = {n: self.born.get(n, (None, self.cell + 1))[1] for n in found}
        called = {n: t for n, t in found.items() if "loss" in n.lower() and not n.lower().startswith(MEASURED)}
        newest = max((cell[n] for n in called), default=-1)
        loss = _loss({n: t for n, t in called.items() if cell[n] == newest})
        later = {n: t for n, t in found.items() if n not in called and cell[n] > newest and t.requires_grad
                 and not t.is_leaf and not n.lower().startswith(MEASURED)}  # fmt: skip
        at = max((cell[n] for n in later), default=-1)
        other = _loss({n: t for n, t in later.items() if cell[n] == at})
        if other is None or (loss is not None and not (at == self.backwards[1] and self.backwards[0] >= newest)):
            name = next((n for n in later if later[n] is other), "")
            return loss, newest, f"{name} is newer than this loss: {MAGIC} {name} asks about it." if name else ""
        return other, at, ""


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


def _last() -> BaseException | None:
    """What ``%debug`` would take."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def _frames(trace: TracebackType | None) -> list[FrameType]:
    """The user's frames behind an error, the outermost first."""
    found = []
    while trace is not None:
        found += [] if trace.tb_frame.f_code.co_filename.startswith(NOT_HERS) else [trace.tb_frame]
        trace = trace.tb_next
    return found


def _called(cell: str) -> set[str]:
    """The names of what a cell calls."""
    lines = [line for line in cell.splitlines() if not line.lstrip().startswith(("%", "!", "?"))]
    try:
        calls = [n.func for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.Call)]
    except (SyntaxError, ValueError):
        return set()
    return {f.id if isinstance(f, ast.Name) else f.attr for f in calls if isinstance(f, (ast.Name, ast.Attribute))}


def _expressions(words: str) -> list[ast.expr]:
    """``w, loss`` and ``w loss``: what stands behind ``why``, apart.

    >>> [ast.unparse(e) for e in _expressions('net["a"].weight  loss')], len(_expressions("w, a + b"))
    (["net['a'].weight", 'loss'], 2)
    """
    try:
        call = ast.parse(f"f({words}\n)", mode="eval").body
        if isinstance(call, ast.Call) and not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args):
            return call.args
    except (SyntaxError, ValueError):
        pass
    found, open_ = list[ast.expr](), ""
    for word in words.split():
        open_ = f"{open_} {word}".strip()
        try:
            found.append(ast.parse(open_.rstrip(","), mode="eval").body)
            open_ = ""
        except (SyntaxError, ValueError):
            continue
    if open_ or not found:
        raise UsageError(f"{MAGIC} got {words!r}, of which {open_ or words!r} is no expression; {WANTED}")
    return found


def _trainable(names: dict[str, Any]) -> Iterator[tuple[str, bool, torch.Tensor]]:
    """The leaves that names lead to: (name, whether an optimizer's, leaf)."""
    for n, v in list(names.items()):
        kind = object if n.startswith("_") else type(v)
        if issubclass(kind, torch.nn.Module):
            yield from ((n, False, p) for p in torch.nn.Module.parameters(v))
        elif issubclass(kind, torch.optim.Optimizer):
            yield from ((n, True, p) for p in held_by([v]).values())
        elif issubclass(kind, torch.Tensor) and v.is_leaf and v.requires_grad:
            yield n, False, v


def _tensors(subjects: list[Any]) -> list[Any]:
    """The tensors that are asked about, and the leaves of modules and optimizers; generators are left as they are."""
    parts = [p for s in subjects for p in (s, *(v for _, v in (not isinstance(s, Iterator) and parts_of(s)) or ()))]
    leaves = _trainable({str(i): p for i, p in enumerate(parts)})
    return [p for p in parts if issubclass(type(p), torch.Tensor)] + [p for *_, p in leaves]


def _traces(names: dict[str, Any]) -> dict[tuple[Any, str], tuple[Any, ...]]:
    """What a backward or a step changes: by leaf and name its gradient, and the versions of both. Holds none."""
    with compat.unobserved():
        return {(weakref.ref(p), n): (None if p.grad is None else weakref.ref(p.grad),
                                      None if p.grad is None else compat.version(p.grad), own and compat.version(p))
                for n, own, p in _trainable(names) if p.is_leaf}  # fmt: skip


def _trained(old: dict[tuple[Any, str], tuple[Any, ...]], new: dict[tuple[Any, str], tuple[Any, ...]]) -> set[str]:
    """Names of what got a gradient, or was stepped by an optimizer that took the gradients away."""
    grads = {leaf: state for (leaf, _), state in old.items()}
    found = set()
    for (leaf, name), (grad, version, stepped) in new.items():
        was = grads.get(leaf, (None, None))
        if (grad is not was[0] or version != was[1]) if grad else stepped != old.get((leaf, name), (0, 0, stepped))[2]:
            found.add(name)
    return found


def _asked(names: dict[str, Any], loss: Any, recording: Recording | None, error: BaseException | None) -> Explanation:
    models = _models(names, loss, recording)
    subjects = [models] if len(models) > 1 else [*models.values()]  # a mapping, so that each has its name
    subjects += [] if loss is None else [loss]
    if not subjects and error is None:
        raise UsageError(f"{MAGIC} found neither an error, nor a model, nor a loss; {MAGIC} x explains x")
    kinds = (torch.Tensor, torch.optim.Optimizer)
    known = {n: t for n, t in names.items() if issubclass(type(t), kinds) and not n.startswith("_")}
    return explain(*subjects, error=error, recording=recording, names=known)


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


def _numbers(names: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The variables that hold a single number."""
    with compat.unobserved():
        return {n: t for n, t in list(names.items()) if issubclass(type(t), torch.Tensor) and not n.startswith("_")
                and not t.is_nested and t.numel() == 1}  # fmt: skip


def _loss(found: dict[str, torch.Tensor]) -> Any:
    """The loss among numbers: one called so, else the one with a ``grad_fn`` that was defined last."""
    with compat.unobserved():
        called = {n: t for n, t in found.items() if "loss" in n.lower() and not n.lower().startswith(MEASURED)}
        tracked = [t for t in (called or found).values() if t.requires_grad and not t.is_leaf]
    named: list[Any] = tracked or [*called.values()] or [None]
    return found.get("loss", named[-1])


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
