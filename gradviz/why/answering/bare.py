"""A question without subjects: it starts at the symptom in the program. The failing line comes
first, then the gradients that the program itself read, then models, losses and leaves.

NOTE [which answer is told]: what the program looked at and found missing, NaN or zero is told where
anything is found; something else only where it is graver, and a ``.grad`` that may well be None is
not graver than one that was looked at. What nobody looked at is told of leaves
beside a model only where it cannot have been meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.nn.parallel import DistributedDataParallel

from gradviz.graph.copies import copied
from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Level, Symptom
from gradviz.graph.records import CutReason, GradvizError, Graph, Source, Tensor
from gradviz.names.bindings import binder_before, scope_of
from gradviz.names.compiled import file_of
from gradviz.names.position import callee_of, display_name, locate, statement_of
from gradviz.names.statements import Statements, source_of
from gradviz.watch import torch_private
from gradviz.watch.entries import Looked
from gradviz.watch.identity import named_parameters, parameters, read
from gradviz.watch.recorded import Recorded
from gradviz.why.answering.answer import explain_case, explain_failure, proven
from gradviz.why.code.reading import (
    are_values,
    is_state,
    is_trained_leaf,
    with_parts,
)
from gradviz.why.code.shown import has_to_be_there, is_compared, is_shown
from gradviz.why.code.unguarded import unguarded
from gradviz.why.evidence.messages import (
    cause_of,
    has_wrong_gradients,
    is_of_broken_values,
    read_error,
    waits_for_gradients,
)
from gradviz.why.evidence.older import leaves_behind
from gradviz.why.evidence.paths import Asked, Paths
from gradviz.why.question.at_work import (
    models_at_work,
    named_loss,
    outermost_modules,
    without_idle_optimizers,
)
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.question.failing import (
    Look,
    failing_looks,
    failing_place,
    parts_of_module,
)
from gradviz.why.question.snapshots import used_as_it_was
from gradviz.why.question.subjects import (
    apart,
    held_by,
    leaves_of,
    of_kind,
    state_of,
)
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.gradients.asked_too_late import asked_too_late
from gradviz.why.rules.gradients.cut import cut
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.rule import Stage, always
from gradviz.why.rules.whole.case import Case
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import Code, say
from gradviz.words.words import Words, at_line, statement_at

ODD = ("none", "nan", "zero")  # what a .grad is where somebody may ask why
# causes of a .grad that is None and may well be so
_MAY_BE_NONE = (Cause.NOT_IN_LOSS, Cause.BRANCH_NOT_TAKEN, Cause.NO_BACKWARD_YET)
# why a .grad was None of what is gone
_OF_GONE = (
    *(Cause.NON_LEAF, Cause.REBOUND, Cause.MADE_NON_LEAF),
    *(Cause.CUT, Cause.REBUILT_FROM_VALUE, Cause.NO_GRAD_WRITE),
)
# what a .grad is that somebody wonders at
_OF_MISSING = {Symptom.NONE, Symptom.ELSEWHERE, Symptom.ZERO}
ERROR = 120  # characters of an error that is shown


class Bare(NamedTuple):
    """A question that names nothing.

    Attributes:
        names: what to call which tensor, module or optimizer.
        recording: of the code that is asked about, if there is one.
        error: what it raised.
        models: those that are at work, by name.
        loss: the one that is meant, if one is known.
        looked: the tensors whose ``.grad`` unrecorded code read, by the words that it has for them.
    """

    names: Mapping[str, Any]
    recording: Recorded | None = None
    error: BaseException | None = None
    models: Mapping[str, Any] = {}
    loss: Any = None
    looked: Mapping[str, Any] = {}

    @classmethod
    def of_recording(
        cls, names: Mapping[str, Any], recording: Recorded | None, error: BaseException | None
    ) -> Bare:
        """Return the question of a script: what was at work is read off its recording."""
        if recording is None:
            return cls(names, None, error)
        names = with_parts(names)
        loss = None if error is not None else named_loss(recording)
        names = without_idle_optimizers(names, recording)
        known = set(map(id, names.values()))
        ran = [(name, m) for name, m in recording.modules() if id(m) not in known]
        named = {**dict(apart(ran)), **names}
        return cls(names, recording, error, models_at_work(named, loss, recording), loss)

    @property
    def subjects(self) -> tuple[Any, ...]:
        """The models and the loss."""
        return (*([dict(self.models)] if self.models else []), *self.losses)

    @property
    def losses(self) -> tuple[Any, ...]:
        """The loss, where one is known."""
        return () if self.loss is None else (self.loss,)

    def ask(
        self,
        *subjects: Any,
        grads: Sequence[Any] = (),
        names: Mapping[str, Any] | None = None,
    ) -> Explanation | None:
        """Answer of some subjects; None where there is nothing to read.

        Args:
            subjects: as in ``explain()``.
            grads: those whose ``.grad`` is asked for, though they look like a loss.
            names: further names.
        """
        try:
            return explain_case(self.case(*subjects, grads=grads, names=names), None)
        except GradvizError:
            return None

    def case(
        self,
        *subjects: Any,
        grads: Sequence[Any] = (),
        names: Mapping[str, Any] | None = None,
    ) -> Case:
        """Return the case of some subjects; its arguments are those of ``ask``."""
        known = {**self.names, **(names or {})}
        return Case(
            subjects, known, None, self.recording, proven, self.losses, grads, bare=not grads
        )


def explain_bare(bare: Bare) -> Explanation:
    """Return the answer to a question that names nothing.

    Raises:
        GradvizError: there is nothing to explain.
    """
    with torch_private.unobserved(), torch.no_grad():
        if bare.error is not None:
            return _of_error(bare, bare.error)
        if bare.recording is not None and _is_of_another(bare.loss, bare.recording):
            bare = bare._replace(loss=None)
        return _of_gradients(bare)


def _is_of_another(loss: Any, recording: Recorded) -> bool:
    """Say whether the gradients that a program asked for are of another loss: this one was
    differentiated by ``autograd.grad`` alone, in an inner loop or an attack, while backwards of
    others fill the ``.grad``; or its number was read, and backward called on a leaf alone, which
    was made of such numbers; or it is a number alone, and backward was called on what it was made
    of."""
    state = None if loss is None else recording.find(loss)
    if state is None:
        return False
    graph, facts = recording.graph, Facts.of(recording.graph)
    began = {(b.kind, i) for b in graph.backwards for i in graph.call[b.call_id].inputs[:1]}
    own = {t.id for t in facts.states[state.object_id]}
    roots = [graph.tensor[i] for kind, i in began if kind == "backward"]
    kinds = {kind for kind, i in began if i in own}
    if kinds or not roots:
        return kinds == {"grad"} and bool(roots)
    return _is_shown_only(state, roots, facts) or _is_added_as_number(state, roots, facts)


def _is_added_as_number(loss: Tensor, roots: Collection[Tensor], facts: Facts) -> bool:
    """Say whether a loss without a history is a part of one on which backward was called: of that
    it is told what the part does not give, and of the other parts too."""
    own = {t.id for t in facts.states[loss.object_id]}
    return not loss.requires_grad and not own.isdisjoint(facts.ancestors(r.id for r in roots))


def _is_shown_only(loss: Tensor, roots: Collection[Tensor], facts: Facts) -> bool:
    """Say whether a loss on which no backward was called is there to be looked at: it is a number
    alone, and backward was called on what it was made of; or its number was read, and backward
    called on leaves alone."""
    own = {t.id for t in facts.states[loss.object_id]}
    if not loss.requires_grad and not facts.ancestors(own).isdisjoint(r.id for r in roots):
        return True
    return all(root.is_leaf for root in roots) and _is_read_as_number(own, facts.graph)


def _is_read_as_number(states: Collection[int], graph: Graph) -> bool:
    """Say whether a call read the number of a tensor that has a history, in any of its states."""
    return any(c.input_id in states and c.reason is CutReason.COPIED_OUT for c in graph.cuts)


# --- an error -------------------------------------------------------------------------------------


def _of_error(bare: Bare, error: BaseException) -> Explanation:
    """Explain an error of autograd's; of another one tell what its line, or the code before it,
    shows."""
    kind, text = read_error(error)
    case = Case(bare.subjects, bare.names, None, bare.recording, proven, bare.losses)
    if cause_of(text) is None:
        told = explain_failure(case.failure(error))
        if told is not None and told.cause is not Cause.NOT_KNOWN:
            return told
        shown = _shown_by_line(bare, error, text)
        if shown is not None:
            words = [look.word for look in failing_looks(error)]
            return _raised_at(shown, f"{kind}: {text}"[:ERROR], error, next(iter(words), "p"))
    return explain_case(case, error)


def _shown_by_line(bare: Bare, error: BaseException, text: str) -> Explanation | None:
    """Tell of the gradients that a failing line asks for, of those that the code before it read, or
    of those that torch waited for."""
    if has_wrong_gradients(text):
        waited_for = _waited_for(bare) if waits_for_gradients(text) else []
        asked = waited_for or bare.subjects
        shown = bare.ask(*asked, grads=waited_for) or _of_leaves(bare)
        return shown if shown is not None and shown.cause.level >= Level.NOTE else None
    if is_of_broken_values(text):
        shown = _of_gradients(bare._replace(error=None))
        if shown.cause is Cause.NAN:
            return shown
    shown = _of_looks(bare, failing_looks(error)) or _of_looked(bare)
    if shown is not None:
        return _wider(shown, bare.ask(*bare.subjects) if bare.models else None) or shown
    return None


def _waited_for(bare: Bare) -> list[Any]:
    """Return the parameters for whose gradients DistributedDataParallel waits: of those that it
    holds, those that have none."""
    waiting = [m for m in bare.models.values() if isinstance(m, DistributedDataParallel)]
    parameters = [p for model in waiting for p in model.parameters()]
    return [p for p in parameters if p.requires_grad and p.grad is None]


def _raised_at(shown: Explanation, error: str, raised: BaseException, word: str) -> Explanation:
    """Return why a gradient is None, with the line that failed for it, and what that line can do
    about it, and those that would fail next."""
    place = failing_place(raised)
    where = "" if place is None else statement_at(place)
    at_place = say("bare.raised_at", error=error, place=where)
    lines, mend = list(shown.lines), shown.mend
    if "NoneType" in error and shown.cause in _MAY_BE_NONE:
        lines += lines_of((), [place] if place else [])
        fields = _skipped(raised, word, is_frozen=False)
        mend = say("bare.either", first=mend, **fields) if mend else say("bare.skip", **fields)
    elif "NoneType" in error and shown.cause is Cause.HEALTHY and shown.where:
        mend = say("bare.read_before", place=shown.where)
        shown = shown._replace(cause=Cause.NO_BACKWARD_YET, why="", more=(), ruled_out=())
    elif "NoneType" in error and shown.cause is Cause.FROZEN:
        lines += lines_of((), [place] if place else [])
        fields = _skipped(raised, word, is_frozen=True)
        mend = say("bare.frozen_skip", first=mend, **fields)
    elif waits_for_gradients(error) and shown.cause in _MAY_BE_NONE:
        mend = say("bare.not_each_step", first=mend)
    return shown._replace(
        more=(at_place if where else say("bare.raised", error=error), *shown.more),
        mend=mend,
        lines=tuple(dict.fromkeys(lines)),
    )


def _skipped(error: BaseException, word: str, *, is_frozen: bool) -> dict[str, list[str]]:
    """Return in which lines a parameter is to be left out, and under which conditions: the failing
    one, and those that would fail next, as they ask every ``.grad`` for something, too."""
    others = [*_asking_next(error, ("grad", "requires_grad") if is_frozen else ("grad",))]
    words = dict.fromkeys([word, *(asked.value.id for _, asked in others)])
    places = dict.fromkeys(at_line(source.file, source.line) for source, _ in others)
    return {
        "places": [say("bare.that_line"), *places],
        "conditions": [
            Code(say("bare.if_learning", word=w) if is_frozen else say("bare.if_there", word=w))
            for w in words
        ],
    }


def _asking_next(error: BaseException, guards: Collection[str]) -> Iterator[tuple[Source, Any]]:
    """Yield the lines that ask something of every ``.grad`` and have not come by it before the
    failing one, each with its word."""
    failed = FailedLine(error, None)
    statement = failed.statement
    if statement is None:
        return
    file = file_of(failed.frames[-1].code)
    for asked in unguarded(file.tree, guards) if file.tree is not None else ():
        is_above = scope_of(asked) is scope_of(statement) and asked.lineno < statement.lineno
        is_itself = statement.lineno <= asked.lineno <= (statement.end_lineno or 0)
        if not is_above and not is_itself:
            yield source_of(file, statement_of(asked)), asked


def _of_looks(bare: Bare, found: Sequence[Look]) -> Explanation | None:
    """Tell of the tensors of which the failing line speaks."""
    for look in found:
        others = () if bare.recording is not None else bare.losses
        named = _by_path(bare, [look.tensor])
        told = named.ask(look.tensor, *others, grads=[look.tensor], names={look.word: look.tensor})
        if told is not None and (told.cause.level is not Level.FINE or _is_missing(look)):
            return told
    return None


def _is_missing(look: Look) -> bool:
    """Say whether a failing line asked for a .grad that is None: then even what is as it should be,
    a frozen weight, or one that was cleared after its step, is the reason."""
    tensor = look.tensor
    if look.attribute != "grad" or not tensor.is_leaf:
        return False
    return read(lambda: tensor.grad) is None


def _by_path(bare: Bare, tensors: Sequence[Any]) -> Bare:
    """Return the same question, with those of some tensors that a model has called by their place
    in it: that says more than the variable of a loop."""
    wanted = set(map(id, tensors))
    paths = {
        f"{name}.{path}": parameter
        for name, model in outermost_modules(bare.names).items()
        for path, parameter in named_parameters(model)
        if id(parameter) in wanted
    }
    return bare._replace(names={**paths, **bare.names})


# --- gradients ------------------------------------------------------------------------------------


def _of_gradients(bare: Bare) -> Explanation:
    """Tell the first of the gravest answers, see NOTE [which answer is told]."""
    looked, everything = _of_looked(bare), _of_everything(bare)
    unasked = everything is not None and everything.cause in _MAY_BE_NONE
    snapshot = _at_least(_of_snapshots(bare), Level.FAULT)
    # what nobody looked at explains less than what cannot have been meant
    of_numbers = everything is not None and everything.cause is Cause.ZERO_GRADIENT
    told = [
        (_of_asked_too_late(bare), Level.FAULT),
        (_wider(looked, everything), Level.SUSPECT if unasked else Level.NOTE),
        (_of_looked_at_gone(bare) if looked is None else None, Level.NOTE),
        (_of_used_and_gone(bare, everything), Level.SUSPECT),
        (_of_returned_none(bare), Level.SUSPECT),
        (_of_looked_models(bare), Level.SUSPECT),
        *([(snapshot, Level.FAULT)] if of_numbers else []),
        (everything, Level.OPEN),
        (_at_least(_of_starved(bare), Level.NOTE) if bare.models else None, Level.FAULT),
        (_at_least(_of_leaves(bare), Level.FAULT) if bare.models else None, Level.FAULT),
        (_at_least(_of_untracked(bare), Level.FAULT), Level.FAULT),
        (snapshot, Level.FAULT),
    ]
    answers = [(answer, level) for answer, level in told if answer is not None]
    if not answers:
        if bare.recording is not None:  # it says what there was
            return explain_case(Case((), bare.names, None, bare.recording, proven), None)
        raise GradvizError(say("magic.nothing_found"))
    gravest = max(answers, key=lambda answer: max(answer[0].cause.level, answer[1]))[0]
    shown = _of_shown(bare, gravest)
    if shown is not None:
        return shown._replace(more=(*shown.more, say("bare.also", verdict=gravest.verdict)))
    if _is_kept_off_unshown(bare, gravest):
        return gravest._replace(is_observed=True)
    return _observed(gravest) if _wants_no_gradient(bare, gravest) else gravest


def _is_kept_off_unshown(bare: Bare, told: Explanation) -> bool:
    """Say whether an answer is that another loss trains something, which itself says that this may
    be meant, and the program shows no ``.grad`` of it."""
    return told.cause is Cause.KEPT_OFF and bare.error is None and not _odd(bare, _is_shown)


def _of_shown(bare: Bare, gravest: Explanation) -> Explanation | None:
    """Tell of a ``.grad`` that is None or all zeros and that the program shows, or of a result's
    that it reads, where the gravest answer explains no such ``.grad``: that is what somebody
    wonders at."""
    if gravest.cause.level < Level.SUSPECT or gravest.cause.explains & _OF_MISSING:
        return None
    shown = _of_looked(bare, _is_shown) or _of_looked_at_gone(bare, _is_shown)
    if shown is not None and shown.finding.symptom in _OF_MISSING:
        return shown
    read_of = _of_looked(bare, _is_used) or _of_looked_at_gone(bare, _is_used)
    return read_of if read_of is not None and read_of.cause is Cause.NON_LEAF else None


def _wants_no_gradient(bare: Bare, told: Explanation) -> bool:
    """Say whether an answer is that no backward ran, and nothing in the program shows that one was
    to run: no optimizer, no ``.grad`` that was read, no backward in its code."""
    if told.form != "none_recorded" or bare.recording is None or bare.looked:
        return False
    known = of_kind(bare.names.values(), torch.optim.Optimizer)
    has_optimizer = bool(known or bare.recording.held_at_steps())
    read_grads = any(look.attribute == "grad" for _, look in bare.recording.looked_at())
    calls_it = bool(Statements.of(bare.recording).calls("backward"))
    return not (has_optimizer or read_grads or calls_it)


def _observed(told: Explanation) -> Explanation:
    """Return an answer as what is so, and nobody may have wondered at; after what is odd beside
    it."""
    first, *rest = (*told.odd, told.verdict)
    more = (*told.more, *rest)
    return told._replace(
        verdict=first, mend=say("bare.if_wanted"), more=more, odd=(), is_observed=True
    )


def _wider(answer: Explanation | None, other: Explanation | None) -> Explanation | None:
    """Return the same answer of more tensors, where there is one; none that may be meant, in the
    place of one that was looked at."""
    if answer is None or other is None or not answer.where:
        return answer
    if other.is_observed and not answer.is_observed:
        return answer
    has_its_cuts = bool(other.cuts) and {*other.cuts} <= {*answer.cuts}  # of the last pass alone
    is_same = other.cause is answer.cause and (has_its_cuts or other.where == answer.where)
    return other if is_same else answer


def _at_least(answer: Explanation | None, level: Level) -> Explanation | None:
    """Return an answer that is grave enough."""
    return answer if answer is not None and answer.cause.level >= level else None


def _of_looked(bare: Bare, meant: Callable[[Looked], bool] = always) -> Explanation | None:
    """Tell of the tensors whose ``.grad`` the program read, in looks that are meant, where it is
    none, NaN or all zeros."""
    odd = _odd(bare, meant)
    if not odd:
        return None
    words = {word: t for word, t in bare.looked.items() if word.isidentifier()}
    if bare.recording is not None and not _has_at_hand(bare.recording, odd):
        bare = bare._replace(recording=None)
    others = () if bare.recording is not None else bare.losses
    named = _by_path(bare, odd) if bare.error is not None else bare
    odd, written = _last_of_code(bare, odd)
    words |= written
    told = named.ask(*odd, *others, grads=odd, names={**words, **bare.models})
    if told is None or (told.cause.level is Level.FINE and not _is_frozen_unsaid(told)):
        return None
    return told


def _of_looked_at_gone(bare: Bare, meant: Callable[[Looked], bool] = always) -> Explanation | None:
    """Tell of the last tensor whose ``.grad`` the program read, in a look that is meant, and found
    None, and that is gone: a function made it and has returned."""
    recording = bare.recording
    looks = [] if recording is None else reversed(recording.looked_at_gone())
    for state, look in looks:
        if not _found_none(bare, look) or _is_asserted(look) or not meant(look):
            continue
        case = Case((), bare.names, None, recording, proven, bare=True)
        filled = case.facts.grads_now.get(state.object_id) is not None
        of_module = state.object_id in case.facts.of_modules  # which a loop over all of them asks
        if not state.requires_grad or state.retains_grad or filled or of_module:
            continue
        gradients = Gradients(case.graph, (), (), (), case.training)
        name, is_leaf = _read_as(look) or case.words.name(state.id), bool(state.is_leaf)
        asked = Asked(name, state.id, requires_grad=True, is_leaf=is_leaf)
        told = next(case.prove(Stage.GRADIENT, gradients.symptom(asked), gradients, asked), None)
        if told is not None and told.cause in _OF_GONE:
            return _read_there(told, look)
    return None


def _of_used_and_gone(bare: Bare, everything: Explanation | None) -> Explanation | None:
    """Tell of the last such tensor whose ``.grad`` the program used, where all else that is found
    is a ``.grad`` that may well be None."""
    unasked = everything is not None and everything.cause in _MAY_BE_NONE
    return _of_looked_at_gone(bare, _is_used) if unasked else None


def _read_there(told: Explanation, look: Looked) -> Explanation:
    """Return an answer with the line that read the ``.grad``."""
    line = locate(look.code, look.lasti).line
    place = at_line(display_name(look.code.co_filename), line)
    more = (*told.more, say("bare.read_in", place=place))
    return told._replace(more=more, lines=tuple(dict.fromkeys([*told.lines, line])))


def _read_as(look: Looked) -> str:
    """Return the words by which code read it; "" where it called something."""
    value = getattr(locate(look.code, look.lasti).node, "value", None)
    is_read = isinstance(value, (ast.Name, ast.Subscript))
    return ast.unparse(value) if is_read and isinstance(value, ast.expr) else ""


def _of_asked_too_late(bare: Bare) -> Explanation | None:
    """Tell of inputs of autograd.grad that are made after its output."""
    if bare.recording is None:
        return None
    return asked_too_late(Paths(bare.recording.graph))


def _of_returned_none(bare: Bare) -> Explanation | None:
    """Tell of the living tensors for which autograd.grad returned None, in a program that takes all
    its gradients from there: no backward fills a ``.grad``."""
    recording = bare.recording
    if recording is None or any(b.kind != "grad" for b in recording.graph.backwards):
        return None
    none = _objects_of_none(recording.graph)
    states = ((t, recording.find(t)) for t in (recording.living() if none else ()))
    found = [t for t, state in states if state is not None and state.object_id in none]
    told = bare.ask(*found, grads=found) if found else None
    return told if told is not None and told.form == "part_asked" else None


def _objects_of_none(graph: Graph) -> set[int]:
    """Return the objects for which autograd.grad returned None, and never a gradient."""
    returned = [row for b in graph.backwards for row in b.returned]
    got = {graph.tensor[i].object_id for i, gradient in returned if gradient is not None}
    return {graph.tensor[i].object_id for i, gradient in returned if gradient is None} - got


def _last_of_code(bare: Bare, tensors: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return some tensors, of those that one code read the ``.grad`` of only the last: that is what
    the code means now; and the last ones that have no name, by that code."""
    kept, words = {id(t): t for t in tensors}, dict[str, Any]()
    for code, same in _by_code(bare, tensors).items():
        meant = bare.names.get(code)
        last = same[-1] if meant is None else meant
        if id(last) not in kept:
            continue
        words |= {} if code in bare.names else {code: last}
        for tensor in same:
            if tensor is not last:
                del kept[id(tensor)]
    return [*kept.values()], words


def _by_code(bare: Bare, tensors: Sequence[Any]) -> dict[str, list[Any]]:
    """Return those of some tensors that have no name, by the code that read their ``.grad``:
    ``batch['image']``."""
    if bare.recording is None:
        return {}
    of_models = {id(p) for model in bare.models.values() for p in parameters(model)}
    named = of_models | set(map(id, bare.names.values()))
    wanted, found = {id(t) for t in tensors} - named, dict[str, list[Any]]()
    for tensor, look in bare.recording.looked_at():
        node: Any = locate(look.code, look.lasti).node
        state = bare.recording.find(tensor)
        has_name = state is not None and bool(state.name)
        if id(tensor) in wanted and not has_name and isinstance(node, ast.Attribute):
            wanted.remove(id(tensor))
            found.setdefault(ast.unparse(node.value), []).append(tensor)
    return found


def _has_at_hand(recording: Recorded, tensors: Sequence[Any]) -> bool:
    """Say whether recorded code met one of some tensors, or looked at one itself."""
    looked = {id(t) for t, _ in recording.looked_at()}
    return any(id(t) in looked or recording.find(t) is not None for t in tensors)


def _is_frozen_unsaid(answer: Explanation) -> bool:
    """Say whether an answer is that something is frozen, and no call of the program froze it, or
    one asked for its gradient too late."""
    is_too_late = answer.form == "too_late"
    return answer.cause is Cause.FROZEN and (not answer.cuts or is_too_late)


def _of_looked_models(bare: Bare) -> Explanation | None:
    """Tell what may not be meant of the one model of several whose gradients the program read."""
    if bare.recording is None or len(bare.models) < 2:
        return None
    read_of = {id(t) for t, look in bare.recording.looked_at() if look.attribute == "grad"}
    looked = {n: m for n, m in bare.models.items() if read_of & set(map(id, parameters(m)))}
    if len(looked) != 1:
        return None
    told = bare.ask(looked, *bare.losses)
    return told if told is not None and told.cause is Cause.KEPT_OFF else None


def _odd(bare: Bare, meant: Callable[[Looked], bool]) -> list[Any]:
    """Return the tensors whose ``.grad`` the program read, in looks that are meant, where somebody
    may ask why."""
    seen = {id(t): t for t in bare.looked.values()}
    was_none = set(seen)
    looks = [] if bare.recording is None else bare.recording.looked_at()
    for tensor, look in looks:
        if (bare.error is None and _is_asserted(look)) or not meant(look):
            continue  # the program itself says that it is to be so
        if look.attribute == "grad" and (look.missing or not _clears(look)):
            seen[id(tensor)] = tensor
            if look.missing:
                was_none.add(id(tensor))
    return [t for i, t in seen.items() if _is_odd(t, i in was_none)]


def _is_asserted(look: Looked) -> bool:
    """Say whether code read it in an ``assert``."""
    node = locate(look.code, look.lasti).node
    return node is not None and isinstance(statement_of(node), ast.Assert)


def _is_shown(look: Looked) -> bool:
    """Say whether code read it in order to show it."""
    node = locate(look.code, look.lasti).node
    return node is not None and is_shown(node)


def _is_used(look: Looked) -> bool:
    """Say whether code read it in order to use it, and not to look whether it is there."""
    node = locate(look.code, look.lasti).node
    return node is not None and not is_compared(node)


def _found_none(bare: Bare, look: Looked) -> bool:
    """Say whether code read a ``.grad`` that was None. That of a result may have been set by the
    program itself, of which a recording sees nothing: it was there, if code that went on would have
    raised without."""
    if look.attribute != "grad" or not look.missing:
        return False
    node = locate(look.code, look.lasti).node
    return bare.error is not None or node is None or not has_to_be_there(node)


def _clears(look: Looked) -> bool:
    """Say whether code read a ``.grad`` only to write zeros into it: ``w.grad.data.zero_()``."""
    around: Any = getattr(locate(look.code, look.lasti).node, "parent", None)
    while isinstance(around, ast.Attribute) and around.attr == "data":
        around = getattr(around, "parent", None)
    return isinstance(around, ast.Attribute) and around.attr == "zero_"


def _is_odd(tensor: Any, was_none: bool) -> bool:
    """Say whether somebody may ask why its ``.grad`` is what it is: one that was there when the
    program read it, and was cleared since, is none of these."""
    grad = read(lambda: tensor.grad if tensor.is_leaf or tensor.retains_grad else None)
    state = "none" if grad is None else state_of(grad)
    return state in ODD and (state != "none" or was_none)


def _of_everything(bare: Bare) -> Explanation | None:
    """Tell of the models and the loss; without a model of every leaf."""
    if bare.models:
        return _of_trained_inputs(bare, bare.ask(*bare.subjects))
    return _of_leaves(bare) or (bare.ask(*bare.subjects) if bare.subjects else None)


def _of_trained_inputs(bare: Bare, told: Explanation | None) -> Explanation | None:
    """Return an answer of the models; where all in them is frozen, with the leaves besides that get
    their gradient: an image that is optimized."""
    leaves = _leaves(bare) if told is not None and told.cause is Cause.FROZEN else []
    both = bare.ask(dict(bare.models), *leaves, *bare.losses) if leaves else None
    held = held_by(of_kind(bare.names.values(), torch.optim.Optimizer))
    of_trained = any(id(leaf) in held for leaf in leaves)
    if both is None or both.cause is Cause.FROZEN:
        return told
    return both if of_trained or both.cause is Cause.HEALTHY else told


def _of_leaves(bare: Bare) -> Explanation | None:
    """Tell of the living leaves that no model holds."""
    if bare.recording is not None and not bare.models and bare.loss is None:
        return bare.ask()
    leaves = _leaves(bare)
    if not leaves:
        return None
    return bare.ask(*leaves, *bare.losses)


def _of_starved(bare: Bare) -> Explanation | None:
    """Tell of the leaves beside the models that optimizers which stepped hold, and to which no
    gradient ever came: an image, or a prompt, that was to be learned."""
    recording = bare.recording
    if recording is None:
        return None
    stepped = set[int]().union(*recording.held_at_steps())
    sent_to = Facts.of(recording.graph).leaves_sent_to
    held = held_by(of_kind(bare.names.values(), torch.optim.Optimizer))
    states = ((t, recording.find(t)) for t in _leaves(bare) if id(t) in held and t.grad is None)
    starved = [t for t, s in states if s is not None and s.object_id in stepped - sent_to]
    return bare.ask(*starved, *bare.losses) if starved else None


def _leaves(bare: Bare) -> list[Any]:
    """Return the leaves that may be asked about: those that a recording met; without one those
    with a name that the loss reaches. Beside a model none of another module."""
    of_models = set(map(id, _parameters(bare)))
    if bare.recording is None:
        named = [t for t in bare.names.values() if is_trained_leaf(t) and id(t) not in of_models]
        if bare.loss is None:
            return [t for t in named if t.grad is not None]
        return _reached(bare.loss, named)
    leaves = [t for t in leaves_of(bare.recording) if id(t) not in of_models]
    leaves = _named(bare.recording, leaves) or leaves
    return _beside_models(bare, bare.recording, leaves) if bare.models else leaves


def _named(recording: Recorded, leaves: Sequence[Any]) -> list[Any]:
    """Return the leaves with a name: what nothing names is a step on the way to something else, as
    the first tensor of ``y = torch.ones(1).requires_grad_() * 4``."""
    states = ((t, recording.find(t)) for t in leaves)
    return [t for t, state in states if state is not None and (state.name or state.code_name)]


def _beside_models(bare: Bare, recording: Recorded, leaves: Sequence[Any]) -> list[Any]:
    """Return those of some leaves that are told beside models: what an optimizer holds, and what is
    no parameter."""
    held = held_by(of_kind(bare.names.values(), torch.optim.Optimizer))
    derived_by = _derived_by(recording)
    return [
        t
        for t in leaves
        if (id(t) in held and not _is_replaced(bare, recording, t))
        or not (type(t) is torch.nn.Parameter or id(t) in derived_by)
    ]


def _is_replaced(bare: Bare, recording: Recorded, tensor: Any) -> bool:
    """Say whether a parameter stood where a model at work has another one by now: what comes of
    that is told of the model."""
    state = recording.find(tensor)
    word = "" if state is None else state.code_name or state.name or ""
    place = word.removeprefix("self")
    if type(tensor) is not torch.nn.Parameter or place == word or not place.startswith("."):
        return False
    every = (name for model in bare.models.values() for name, _ in named_parameters(model))
    return any(f".{name}".endswith(place) for name in every)


def _derived_by(recording: Recorded) -> set[int]:
    """Return the identities of the living leaves by which autograd.grad derived: what it returned
    is what was wanted, and not their .grad."""
    objects = Facts.of(recording.graph).differentiated_by
    states = ((t, recording.find(t)) for t in recording.living())
    return {id(t) for t, state in states if state is not None and state.object_id in objects}


def _parameters(bare: Bare) -> list[Any]:
    """Return the parameters of the models at work."""
    return [p for model in bare.models.values() for p in parameters(model)]


def _reached(loss: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return those leaves to which the graph of a loss leads."""
    ids = set(map(id, leaves_behind(loss)))
    return [t for t in leaves if id(t) in ids]


def _of_snapshots(bare: Bare) -> Explanation | None:
    """Tell of what was to keep the values that parameters had, shares their memory, and is used
    after a step."""
    recording = bare.recording
    kept = {n: v for n, v in bare.names.items() if is_state(v) or are_values(v)}
    if not kept or recording is None or not bare.models:
        return None
    statements = Statements.of(recording)
    moves = _moves_by_hand(recording)
    for name, values in kept.items():
        taken = _taken_before_a_step(statements, name, moves) or _taken_and_loaded(
            bare, statements, name
        )
        if taken is None and not _is_used_as_it_was(recording, values):
            continue
        told = _of_snapshot(bare, name, values)
        if told is not None and taken is not None:
            calls = [call_at(place) for place in taken]
            where = Words(recording.graph).places(calls)
            return told._replace(where=where, lines=lines_of(calls))
        if told is not None:
            return told
    return None


def _of_snapshot(bare: Bare, name: str, values: Any) -> Explanation | None:
    """Tell that some values share the memory of a model; None where they do not."""
    own = _members(name, values)
    told = bare.ask(own or values, dict(bare.models), names={name: values, **own})
    return told if told is not None and told.cause is Cause.SHARED_SNAPSHOT else None


def _members(name: str, values: Any) -> dict[str, Any]:
    """Return what ``state_dict()`` gave, each by the words that get it; nothing of a list."""
    return {f"{name}[{key!r}]": t for key, t in values.items()} if is_state(values) else {}


def _moves_by_hand(recording: Recorded) -> list[Source]:
    """Return the statements of the program's own that moved leaves by their gradients."""
    piles = (pile for every in recording.training.sums_used.values() for pile in every)
    calls = (pile.step.call for pile in piles if not pile.step.call.bookkeeping)
    return list(dict.fromkeys(call.source for call in calls if call.source is not None))


def _taken_before_a_step(
    statements: Statements, name: str, moves: Sequence[Source]
) -> list[Source] | None:
    """Return the statements that give a variable what ``state_dict()`` gives, where the last step
    of that file, or the last line that moved parameters by hand, stands below one, and something
    else with that variable below that."""
    every = [p for p, node in statements.binds(name) if _calls(node, "state_dict")]
    if not every:
        return None
    taken = every[0]
    moving = [*(place for place, _ in statements.calls("step")), *moves]
    steps = [p.line for p in moving if p.file == taken.file]
    used = [p.line for p, _ in statements.mentions(name) if p.file == taken.file]
    return every if steps and taken.line < max(steps) < max(used) else None


def _taken_and_loaded(bare: Bare, statements: Statements, name: str) -> list[Source] | None:
    """Return the statements that give a variable or an attribute what ``state_dict()`` gives, where
    a later one loads it into the network that it is of: nothing changes by that."""
    owner, _, word = name.rpartition(".")
    found = statements.sets(word) if owner else statements.binds(word)
    taken = [place for place, node in found if _calls(node.value, "state_dict")]
    if not taken or bare.recording is None:
        return None
    loading = [
        c.call
        for c in copied(Facts.of(bare.recording.graph))
        if c.is_whole and c.sources == {c.into}
    ]
    codes = (frame.code for c in loading if c.source for frame in c.source.frames)
    return taken if any(re.search(rf"\b{re.escape(word)}\b", code) for code in codes) else None


def _calls(node: ast.AST, method: str) -> bool:
    """Say whether a method of this name is called in a statement."""
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(callee_of(call.func) == method for call in calls)


def _is_used_as_it_was(recording: Recorded, values: Any) -> bool:
    """Say whether one of some values, which share the memory of others, is used as it was."""
    facts = Facts.of(recording.graph)
    found = map(recording.find, values.values() if isinstance(values, dict) else values)
    return any(state is not None and used_as_it_was(facts, state) for state in found)


# --- what does not require grad -------------------------------------------------------------------


def _of_untracked(bare: Bare) -> Explanation | None:
    """Tell of the newest tensor that the program found not to require grad: a result that was cut
    off, or what a module holds in place of a parameter."""
    if bare.recording is None:
        return None
    looks = [(t, look) for t, look in bare.recording.looked_at() if look.attribute != "grad"]
    for tensor, look in reversed(looks):
        if look.missing and not read(partial(getattr, tensor, "requires_grad")):
            told = _of_result(bare, tensor, look) or _of_part(bare, tensor)
            if told is not None:
                return told
    return None


def _of_result(bare: Bare, tensor: Any, look: Looked) -> Explanation | None:
    """Tell of a result that was cut off; also where the call that made it is not seen, but only
    that it read numbers: ``q = torch.Tensor([p])``."""
    recording: Any = bare.recording
    if recording.find(tensor) is not None:
        told = bare.ask(tensor, grads=[tensor])
        return told if told is not None and told.cuts else None
    place = locate(look.code, look.lasti)
    word = place.node.value if isinstance(place.node, ast.Attribute) else None
    binder = None if word is None else binder_before(word)
    if word is None or binder is None:
        return None
    graph, file = recording.graph, display_name(look.code.co_filename)
    lines = range(binder.lineno, binder.end_lineno + 1)
    cuts = [
        c
        for c in graph.cuts
        if c.reason is CutReason.COPIED_OUT
        and (source := graph.call[c.call_id].source)
        and (source.file == file and source.line in lines)
    ]
    if not cuts:
        return None
    unseen = Asked(ast.unparse(word), None, requires_grad=False, is_leaf=True)
    return cut(Gradients(graph), unseen, cuts, behind=True)


def _of_part(bare: Bare, tensor: Any) -> Explanation | None:
    """Tell of a buffer or a plain tensor that a module of the user's own holds; of none that the
    program itself writes, as it does a memory."""
    recording: Any = bare.recording
    state = recording.find(tensor)
    if state is not None and Facts.of(recording.graph).own_writes(state.object_id):
        return None
    modules = {**dict(recording.modules()), **bare.models}
    for word, module in modules.items():
        for spot, value in parts_of_module(word, module):
            if value is tensor:
                case = Case((), bare.names, None, recording, proven)
                return case.stays_a(spot)
    return None
