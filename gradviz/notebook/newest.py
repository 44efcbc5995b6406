"""What ``%gradviz why`` is about: which error, loss and recording of a notebook is the newest, and
what is asked."""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import torch
from IPython.core.inputtransformer2 import TransformerManager

from gradviz.graph.facts import Facts
from gradviz.graph.records import GradvizError
from gradviz.names.position import callee_of
from gradviz.notebook.spoken_of import names_of_code, without_bystanders
from gradviz.recording import Recording
from gradviz.watch import torch_private
from gradviz.watch.identity import parameters
from gradviz.watch.stack import is_library
from gradviz.why.answering.answer import explain_error
from gradviz.why.answering.bare import Bare, explain_bare
from gradviz.why.answering.entry import explain_named
from gradviz.why.code.reading import are_values, is_state, looks, value_of, with_parts
from gradviz.why.evidence.messages import cause_of, read_error
from gradviz.why.question.asked_in_vain import said_of, to_ask_about
from gradviz.why.question.at_work import models_at_work, without_idle_optimizers
from gradviz.why.question.failing import traced
from gradviz.why.question.subjects import held_by, is_whole, names_of
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

MAGIC = "%gradviz why"
# losses that nobody calls backward on
MEASURED = ("val", "test", "eval", "best", "last", "old", "prev")


class _Failed(NamedTuple):
    """An error in words: the error itself would keep its frames alive."""

    cell: int
    kind: str
    text: str
    functions: set[str]  # of the user's, on its way
    names: set[str]  # of what could be trained then
    explanation: Explanation | None  # where it was recorded: nothing more will be known of it


class Notebook:
    """What ran in one shell, and the answers to why.

    NOTE [what is newest] An error of autograd's stands, as for ``%debug``, until the next one, or
    until what was there then has got new gradients or was made anew for another loss, or the
    function that raised has run through. A recording and a loss stand until a backward that is not
    theirs. Whether a cell ran one is read off the gradients of all that the notebook's names lead
    to.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.cell = 0  # cells that ran, but for those that only ask
        self.recording: Recording | None = None  # the last one
        self.recorded_in = 0
        # what the last cell that read any .grad has read, as written there
        self.looks: list[tuple[str, ast.expr]] = []
        self.looked_in = 0
        self.spoken = dict[int, set[str]]()  # the variables that the code of each cell names
        self.backwards = -1, -1  # the last two cells that ran one
        self.error: _Failed | None = None  # the last one of autograd's that stands
        self.other: _Failed | None = None  # another kind, if newer
        self.traces = _traces(namespace)
        # of each number: a weak reference, and the cell that named it
        self.born: dict[str, tuple[Any, int]] = {}
        self.note_births()
        if (error := _last()) is not None:
            self.fail(error, None)

    def after(
        self, source: str, error: BaseException | None, recording: Recording | None, asks: bool
    ) -> None:
        """Take in what a cell that has ended did.

        Args:
            source: its text.
            error: what it raised.
            recording: of it, where it was recorded.
            asks: it only asks, or did not run: this changes nothing, unless it ran a backward as
                well.
        """
        old, self.traces = self.traces, _traces(self.namespace)
        trained = _trained(old, self.traces)
        if asks and not trained and recording is None:
            return
        self.cell += 1
        ended = recording is not None and error is None and bool(recording.graph.backwards)
        if trained or ended:
            self.backwards = self.backwards[1], self.cell
        tree = _cell_tree(source)
        self.spoken[self.cell] = names_of_code(tree)
        if read := looks(tree, ("grad",)):
            self.looks, self.looked_in = [(ast.unparse(word), word) for _, word in read], self.cell
        self.note_births()
        if ended or self._is_over(source, error, trained, old):
            self.error = None
        if recording is not None:
            self.recording, self.recorded_in = recording, self.cell
        if error is not None and not asks:
            self.fail(error, recording)

    def _is_over(
        self,
        source: str,
        error: BaseException | None,
        trained: set[str],
        old: dict[tuple[Any, str], tuple[Any, ...]],
    ) -> bool:
        """Tell whether a cell ends the time of the error that stands (NOTE [what is newest]).

        Args:
            source: the cell's text.
            error: what it raised.
            trained: names of what it gave a gradient, or stepped.
            old: the traces before it ran.
        """
        failed = self.error
        if failed is None:
            return False
        if failed.names & trained:
            return True
        if error:
            return False
        calls = (n for n in ast.walk(_cell_tree(source)) if isinstance(n, ast.Call))
        called = {callee_of(call.func) for call in calls}
        runs_through = not failed.functions.isdisjoint(called)
        return runs_through or bool(failed.names & self._made_anew(old))

    def _made_anew(self, old: dict[tuple[Any, str], tuple[Any, ...]]) -> set[str]:
        """Return the names of the leaves that this cell made, where it made the newest loss too: of
        a model that was made anew, what raised is gone."""
        if self.loss()[1] != self.cell:
            return set()
        return {name for _, name in self.traces.keys() - old.keys()}

    @property
    def told(self) -> Explanation | None:
        """What is said of the last cell's error at once."""
        return self.error.explanation if self.error and self.error.cell == self.cell else None

    def note_births(self) -> None:
        """Note in which cell each number got its name."""
        old, self.born = self.born, {}
        for name, t in _numbers(self.namespace).items():
            reference = weakref.ref(t)  # the same object as last time, if it is the same tensor
            last_reference, cell = old.get(name, (None, self.cell))
            self.born[name] = reference, cell if last_reference is reference else self.cell

    def fail(self, error: BaseException, recording: Recording | None) -> None:
        """Note an error; a recorded one is explained at once."""
        kind, text = read_error(error)
        functions = {f.f_code.co_name for f in _frames(error.__traceback__)} - {"<module>"}
        known = cause_of(text) is not None
        explanation = None
        if recording is not None and (known or "NoneType" in text):  # may be a .grad that is None
            explanation = self.explained(error, recording)
            known = explanation.cause != "not_known"
        names = {n for _, n in self.traces}
        failed = _Failed(self.cell, kind, text, functions, names, explanation)
        self.error, self.other = (failed, None) if known else (self.error, failed)

    def about(self, words: str) -> Explanation:
        """Return what ``gv.explain`` says of some expressions.

        Args:
            words: the expressions, over the notebook's names, separated by spaces or commas; who
                asks about ``w.grad`` asks about w.

        Raises:
            GradvizError: these are no expressions, one of them raised, or they cannot be explained.
        """
        written = _expressions(words)
        try:
            asked = [self._asked_about(part) for part in written]
        except Exception as error:
            error_text = f"{type(error).__name__}: {error}"
            wanted = say("magic.wanted")
            text = say("magic.raised", words=repr(words), error=error_text, wanted=wanted)
            raise GradvizError(text) from None
        recording = self.recording
        if recording and self.backwards[1] > self.recorded_in and recording.graph.backwards:
            recording = None  # a later backward was not recorded
        return self._told_about(asked, recording)

    def _told_about(
        self, asked: list[tuple[ast.expr, Any]], recording: Recording | None
    ) -> Explanation:
        """Return what is said of expressions and their values; where one has none, as the cell
        raised before, what that raised."""
        raised = self._error_that_ended(recording)
        given = asked if raised is None else [one for one in asked if one[1] is not None]
        if not given:
            return self._beside_nothing(self.why(), asked)
        with torch_private.unobserved():
            left, in_vain = _sorted_out(given)
        if not left:
            told = self._instead_of(given)
        else:
            parts, subjects = [part for part, _ in left], tuple(value for _, value in left)
            known = names_of(parts, subjects, with_parts(self.namespace), recording is None)
            error, ended = (None, raised) if len(given) == len(asked) else (raised, None)
            told = explain_named(subjects, known, error, recording, ended=ended)
        told = told._replace(before=said_of(in_vain)) if in_vain else told
        return told if len(given) == len(asked) else self._beside_nothing(told, asked)

    def _instead_of(self, given: list[tuple[ast.expr, Any]]) -> Explanation:
        """Return the bare answer, as of nothing that is named there is a gradient.

        Raises:
            GradvizError: there is none, either: what was named is refused.
        """
        try:
            return self.why()
        except GradvizError:
            return explain_named(tuple(value for _, value in given), {}, None, None)

    @staticmethod
    def _beside_nothing(told: Explanation, asked: list[tuple[ast.expr, Any]]) -> Explanation:
        """Return an answer, and which of the expressions had no value."""
        nothing = [ast.unparse(part) for part, value in asked if value is None]
        return told._replace(more=(*told.more, say("magic.none_at_error", words=nothing)))

    def _error_that_ended(self, recording: Recording | None) -> BaseException | None:
        """Return the known error that ended the recorded cell, while it is the last one."""
        failed, last = self.error, _last()
        if recording is None or failed is None or last is None or failed.cell != self.recorded_in:
            return None
        return last if read_error(last) == (failed.kind, failed.text) else None

    def _asked_about(self, expression: ast.expr) -> tuple[ast.expr, Any]:
        """Return an expression and what it gives, of ``w.grad`` those of the tensor ``w``. Nothing
        is run twice: it is the reader's code."""
        if not isinstance(expression, ast.Attribute) or expression.attr != "grad":
            return expression, self._value(expression)
        owner = self._value(expression.value)
        if owner is None or issubclass(type(owner), torch.Tensor):
            return expression.value, owner
        return expression, owner.grad

    def _value(self, expression: ast.expr) -> Any:
        """Return what an expression gives, over the notebook's names; None for a name that the cell
        would have bound, had it not raised."""
        is_unbound = isinstance(expression, ast.Name) and expression.id not in self.namespace
        if is_unbound and self._error_that_ended(self.recording) is not None:
            return None
        return eval(compile(ast.Expression(expression), MAGIC, "eval"), self.namespace)

    def why(self) -> Explanation:
        """Explain the error that stands, post-mortem like ``%debug``, or what the newest loss does.

        The error and its frames are read and let go.
        """
        failed, other, last = self.error, self.other, _last()
        if failed is not None:
            live = last if last and read_error(last) == (failed.kind, failed.text) else None
            explanation = failed.explanation or (
                self.explained(live, None) if live else explain_error(failed.kind, failed.text)
            )
            notes = [say("magic.older_error", kind=other.kind)] if other else []
            if self.backwards[1] > failed.cell:
                notes.append(say("magic.ran_since"))
            return explanation._replace(more=(*explanation.more, *notes))
        if (
            other
            and other.cell == self.cell
            and last
            and read_error(last) == (other.kind, other.text)
        ):
            return self.explained(last, self.recording if self.recorded_in == self.cell else None)
        return self.newest()

    def explained(self, error: BaseException, recording: Recording | None) -> Explanation:
        """Explain an error, by the names of the frames that it went through."""
        inside: dict[str, Any] = {}
        for frame in _frames(error.__traceback__):
            if frame.f_locals is not frame.f_globals:
                inside |= frame.f_locals  # an inner frame's stand before an outer's
        loss = _loss(_numbers(inside))
        loss = self.loss()[0] if loss is None else loss
        if recording is not None and loss is not None and recording.find(loss) is None:
            loss = None  # of another cell: what this one called backward on has no name
        with torch_private.unobserved():
            names = with_parts({**self.namespace, **inside})
        return _asked(names, loss, recording, error, {})

    def newest(self) -> Explanation:
        """Explain what the newest loss does, in the recording where that is as new (NOTE [what is
        newest])."""
        loss, loss_cell, note = self.loss()
        recording = self.recording
        before, last = self.backwards
        if recording is not None:
            seen = loss is not None and recording.find(loss) is not None
            if self._is_outdated(recording, loss_cell, seen):
                # a later backward was not recorded, or it saw nothing of this loss
                recording = None
            elif not seen or _is_evaluation(loss, recording) or _is_copy(loss, recording):
                # what this cell called backward on has no name: it is of an earlier cell, or the
                # name is that of the evaluation since
                loss, note = None, ""
        if recording is None and loss is not None and loss_cell < last and before >= loss_cell:
            loss, note = None, say("magic.loss_lost")
        with torch_private.unobserved():
            names = with_parts(self.namespace)
            names = self.at_work(names, loss, loss_cell) if recording is None else names
        explanation = _asked(names, loss, recording, None, self.looked(recording))
        return explanation._replace(more=(*explanation.more, note)) if note else explanation

    def at_work(self, names: dict[str, Any], loss: Any, loss_cell: int) -> dict[str, Any]:
        """Return those of some variables that a question about a loss may be about: of what earlier
        cells made only what the cells since then speak of, where these were seen."""
        if loss is None or loss_cell not in self.spoken:
            return names
        spoken = {
            word for cell, words in self.spoken.items() if cell >= loss_cell for word in words
        }
        return without_bystanders(names, spoken, loss)

    def looked(self, recording: Recording | None) -> dict[str, Any]:
        """Return the tensors whose ``.grad`` the last cell that read any has read, where no
        recording tells, by its words for them."""
        if recording is not None and self.looked_in <= self.recorded_in:
            return {}
        values = {word: value_of(read, self.namespace) for word, read in self.looks}
        return {w: t for w, t in values.items() if issubclass(type(t), torch.Tensor)}

    def _is_outdated(self, recording: Recording, loss_cell: int, seen: bool) -> bool:
        """Tell whether the newest loss is not what the last recording is about.

        Args:
            recording: the last one.
            loss_cell: in which cell the loss was made.
            seen: whether the recording saw the loss.
        """
        has_backward = bool(recording.graph.backwards)
        before, last = self.backwards
        is_later = last > self.recorded_in
        if is_later and (has_backward or not seen or before >= loss_cell):
            return True
        is_empty = not recording.graph.calls
        older = (loss_cell >= 0 or is_empty) and not has_backward
        return not seen and (loss_cell > self.recorded_in or older)

    def loss(self) -> tuple[Any, int, str]:
        """Return the newest loss among the notebook's names, in which cell it was made, and what
        else may be meant."""
        numbers = _numbers(self.namespace)
        cells = {name: self._birth_cell(name) for name in numbers}
        losses = _called_loss(numbers)
        loss, loss_cell = _newest_of(losses, cells)
        others = _tracked(_called_otherwise(numbers))
        later = {name: number for name, number in others.items() if cells[name] > loss_cell}
        other, other_cell = _newest_of(later, cells)
        if other is None:
            return loss, loss_cell, ""
        before, last = self.backwards
        is_trained_on = other_cell == last and before >= loss_cell
        if loss is None or is_trained_on:
            return other, other_cell, ""
        name = next(name for name, number in later.items() if number is other)
        return loss, loss_cell, say("magic.newer", name=name)

    def _birth_cell(self, name: str) -> int:
        """Return in which cell a number got its name: the running one, if that is not noted yet."""
        return self.born[name][1] if name in self.born else self.cell + 1


def _is_evaluation(loss: torch.Tensor, recording: Recording) -> bool:
    """Say whether a loss was computed where gradients were switched off, in a recording that called
    backward on others."""
    state = recording.find(loss)
    maker = None if state is None else Facts.of(recording.graph).maker.get(state.id)
    is_off = maker is not None and not maker.grad_mode
    return is_off and not loss.requires_grad and bool(recording.graph.backwards)


def _is_copy(loss: torch.Tensor, recording: Recording) -> bool:
    """Say whether a number is the detached value of one that a backward was called on."""
    state = recording.find(loss)
    facts = Facts.of(recording.graph)
    maker = None if state is None else facts.maker.get(state.id)
    if maker is None or maker.function not in ("detach", "data") or loss.requires_grad:
        return False
    return not set(facts.losses).isdisjoint(maker.inputs)


def _last() -> BaseException | None:
    """Return the error that ``%debug`` would take; None without one."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def _frames(trace: TracebackType | None) -> list[FrameType]:
    """Return the user's frames behind an error, the outermost first."""
    return [frame for frame, _, _ in traced(trace) if not is_library(frame.f_code)]


def _cell_tree(source: str) -> ast.Module:
    """Return the syntax tree of a cell, without magics that run the whole of it; an empty one where
    that is no Python.

    >>> [ast.unparse(node) for node in _cell_tree("%%gradviz\\n%time f()\\nx.grad").body][1:]
    ['x.grad']
    >>> _cell_tree("x =").body
    []
    """
    lines = source.splitlines(keepends=True)
    while lines and lines[0].startswith("%%"):
        lines = lines[1:]
    try:
        tree: ast.Module = ast.parse(TransformerManager().transform_cell("".join(lines)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
    return tree


def _expressions(words: str) -> list[ast.expr]:
    """Split what stands behind ``why`` into its expressions: ``w, loss`` or ``w loss``.

    >>> [ast.unparse(e) for e in _expressions('net["a"].weight  loss')]
    ["net['a'].weight", 'loss']
    >>> len(_expressions("w, a + b"))
    2
    """
    for parts in ([words], words.split()):
        try:
            calls = [ast.parse(f"f({part.rstrip(',')}\n)", mode="eval").body for part in parts]
        except (SyntaxError, ValueError):
            continue
        if all(isinstance(c, ast.Call) and not c.keywords for c in calls):
            return [part for c in calls if isinstance(c, ast.Call) for part in c.args]
    wanted = say("magic.wanted")
    raise GradvizError(say("magic.no_expressions", words=repr(words), wanted=wanted))


def _sorted_out(
    asked: list[tuple[ast.expr, Any]],
) -> tuple[list[tuple[ast.expr, Any]], list[tuple[str, Any]]]:
    """Return the expressions with what can be asked about of their values, and, as they are
    written, those of which nothing can be. A mere literal is left to be refused."""
    left, in_vain = [], []
    for part, value in asked:
        subject = to_ask_about(value)
        if subject is not None or isinstance(part, ast.Constant):
            left.append((part, value if subject is None else subject))
        else:
            in_vain.append((ast.unparse(part), value))
    return left, in_vain


def _trainable(names: dict[str, Any]) -> Iterator[tuple[str, bool, torch.Tensor]]:
    """Yield the leaves that names lead to: (name, whether an optimizer's, leaf)."""
    for n, v in list(names.items()):
        kind = object if n.startswith("_") else type(v)
        if issubclass(kind, (torch.nn.Module, torch.optim.Optimizer)):
            of_optimizer = issubclass(kind, torch.optim.Optimizer)
            tensors = held_by([v]).values() if of_optimizer else parameters(v)
            yield from ((n, of_optimizer, p) for p in tensors if p.is_leaf)
        elif issubclass(kind, torch.Tensor) and v.is_leaf and v.requires_grad:
            yield n, False, v


def _traces(names: dict[str, Any]) -> dict[tuple[Any, str], tuple[Any, ...]]:
    """Return what a backward or a step changes: by leaf and name its gradient, and the versions of
    both. Holds none."""
    with torch_private.unobserved():
        return {
            (weakref.ref(p), n): (
                None if p.grad is None else weakref.ref(p.grad),
                None if p.grad is None else torch_private.version(p.grad),
                of_optimizer and torch_private.version(p),
            )
            for n, of_optimizer, p in _trainable(names)
        }


def _trained(
    old: dict[tuple[Any, str], tuple[Any, ...]], new: dict[tuple[Any, str], tuple[Any, ...]]
) -> set[str]:
    """Return the names of what got a gradient, or was stepped by an optimizer that took the
    gradients away."""
    grads = {leaf: state for (leaf, _), state in old.items()}
    return {
        key[1]
        for key, (grad, version, stepped) in new.items()
        if (
            (was := grads.get(key[0], (None, None)))[0] is not grad or was[1] != version
            if grad
            else stepped != old.get(key, (0, 0, stepped))[2]
        )
    }


def _asked(
    names: dict[str, Any],
    loss: Any,
    recording: Recording | None,
    error: BaseException | None,
    looked: dict[str, Any],
) -> Explanation:
    """Explain an error, or without one what the program shows and what a loss does to the models.

    Args:
        names: the notebook's variables, and what they hold.
        loss: the newest one.
        recording: of the cell that is asked about.
        error: what it raised.
        looked: tensors whose ``.grad`` a cell read that was not recorded, by its words for them.

    Raises:
        GradvizError: there is nothing to explain.
    """
    with torch_private.unobserved():
        names = without_idle_optimizers(names, recording)
        models = models_at_work(names, loss, recording)
    kinds = (torch.Tensor, torch.optim.Optimizer)
    own = {n: value for n, value in names.items() if not n.startswith("_")}
    known = {n: value for n, value in own.items() if issubclass(type(value), kinds)}
    known |= {n: m for n, m in own.items() if is_whole(m) or is_state(m) or are_values(m)}
    return explain_bare(Bare(known, recording, error, models, loss, looked))


def _numbers(names: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the variables that hold a single number."""
    with torch_private.unobserved():
        return {
            n: t
            for n, t in list(names.items())
            if issubclass(type(t), torch.Tensor)
            and not n.startswith("_")
            and not t.is_nested
            and t.numel() == 1
        }


def _loss(numbers: dict[str, torch.Tensor]) -> Any:
    """Return the loss among numbers: one called so, else the one with a ``grad_fn`` that was
    defined last."""
    losses = _called_loss(numbers)
    tracked = [*_tracked(losses or numbers).values()]
    named: list[Any] = tracked or [*losses.values()] or [None]
    return numbers.get("loss", named[-1])


def _called_loss(numbers: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the numbers whose names say that they are a loss which is trained on."""
    return {n: t for n, t in numbers.items() if "loss" in n.lower() and not _is_measured(n)}


def _called_otherwise(numbers: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the numbers whose names say nothing of a loss, or of what is only measured."""
    return {n: t for n, t in numbers.items() if "loss" not in n.lower() and not _is_measured(n)}


def _is_measured(name: str) -> bool:
    """Tell whether a name says that nobody calls backward on what it names."""
    return name.lower().startswith(MEASURED)


def _tracked(numbers: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the numbers that have a ``grad_fn``."""
    with torch_private.unobserved():
        return {n: t for n, t in numbers.items() if t.requires_grad and not t.is_leaf}


def _newest_of(numbers: dict[str, torch.Tensor], cells: dict[str, int]) -> tuple[Any, int]:
    """Return the loss among the numbers of the newest cell, and that cell; None and -1 where there
    are no numbers."""
    newest = max((cells[name] for name in numbers), default=-1)
    return _loss({n: t for n, t in numbers.items() if cells[n] == newest}), newest
