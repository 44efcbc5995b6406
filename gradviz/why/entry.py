"""``explain()``: one question for tensors, modules, optimizers, losses and errors. Reads them once
and lets them go."""

from __future__ import annotations

import ast
import gc
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import count, takewhile
from types import FrameType
from typing import Any

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import (
    Called,
    CutReason,
    GradvizError,
    Graph,
    Hooked,
    Raised,
    Tensor,
)
from gradviz.names.position import locate
from gradviz.watch import torch_private
from gradviz.watch.capture import capture, described, tensor_fields
from gradviz.watch.identity import read
from gradviz.watch.recorded import Recorded
from gradviz.why.doubts import doubted, doubts, so_far, written_outside
from gradviz.why.explanation import Explanation
from gradviz.why.gradient import DONE, UNSEEN, Gradients
from gradviz.why.moving import MOVES, STAYS, Move, Moves, will_it_move
from gradviz.why.paths import RECORD, Asked, Paths
from gradviz.why.raised import explain_error, read_error, recorded_error
from gradviz.why.reaching import check, parts_of, reach
from gradviz.why.rules import Rule, looked_at_again
from gradviz.why.silent import silent_faults
from gradviz.why.small import explain_small
from gradviz.words.speech import several
from gradviz.words.words import bare

KINDS = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
NOT_HELD = "No optimizer that is known here holds {}"
DEPTH = 4  # of lists and mappings of subjects


def explain(
    *subjects: Any,
    error: BaseException | None = None,
    recording: Recorded | None = None,
    names: Mapping[str, Any] | None = None,
    model: torch.nn.Module | None = None,
) -> Explanation:
    """Why is this gradient None, zero, wrong or small; why did backward raise?

    Args:
        subjects: tensors, losses, modules, optimizers; collections, model outputs and generators of
            them (a generator is read to its end, once). A module and a loss ask which of its
            parameters that loss reaches, an optimizer what its next step does.
        error: what was raised, if that is the question.
        recording: of the code that made them: it tells the call and the line.
        names: what to call which tensor, module or optimizer. Left out, the words of this call and
            the caller's module-level variables are used.
        model: gives names to its parameters.

    Returns:
        The most important thing that is proven: an error first, then gradients, silent faults,
        small gradients; else "healthy", or "not_known" with what was ruled out.

    Raises:
        GradvizError: nothing was given to explain, or something that is none of the above.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> h = w * 2
        >>> print(explain(h, names={"w": w, "h": h}).verdict)
        h.grad is None: h is a result, and .grad is kept on leaves only.
    """
    return explain_at(sys._getframe(1), subjects, error, recording, names, model)


def explain_at(
    frame: FrameType,
    subjects: tuple[Any, ...],
    error: BaseException | None = None,
    recording: Recorded | None = None,
    names: Mapping[str, Any] | None = None,
    model: torch.nn.Module | None = None,
) -> Explanation:
    """Answer ``explain()``, with the names of the frame that asked."""
    check(
        "error",
        error,
        BaseException,
        "the exception that was caught: `except RuntimeError as error`",
    )
    check("recording", recording, Recorded, "what `with gv.record() as rec:` gave")
    check("names", names, Mapping, "a mapping, e.g. names={'loss': loss}")
    check("model", model, torch.nn.Module, "a torch.nn.Module, whose parameters are named")
    known = dict(names) if names is not None else _names_at(frame, subjects, recording is None)
    with torch_private.unobserved(), torch.no_grad():
        case = _Case(subjects, known, model, recording)
        return case.raised(error) or case.answer()


def _names_at(frame: FrameType, subjects: tuple[Any, ...], with_tensors: bool) -> dict[str, Any]:
    """Names at the call."""
    call = locate(frame.f_code, frame.f_lasti).node
    words = takewhile(
        lambda w: not isinstance(w, ast.Starred), call.args if isinstance(call, ast.Call) else ()
    )
    return names_of(words, subjects, frame.f_globals, with_tensors)


def parameters_of(module: Any) -> list[Any]:
    """None of a module that is half built."""
    return read(lambda: [*module.parameters()]) or []


def names_of(
    words: Iterable[ast.expr],
    subjects: Iterable[Any],
    variables: Mapping[str, Any],
    with_tensors: bool,
) -> dict[str, Any]:
    """``explain(net.weight)`` names net.weight, then module-level variables. A recording knows its
    tensors better."""
    kinds, said = KINDS if with_tensors else KINDS[1:], dict[str, Any]()
    for word, value in zip(words, subjects, strict=False):
        if issubclass(type(value), KINDS) and isinstance(
            word, (ast.Name, ast.Attribute, ast.Subscript)
        ):
            said[ast.unparse(word)] = value
    found = {
        n: v
        for n, v in list(variables.items())
        if issubclass(type(v), kinds) and not n.startswith("_")
    }
    return {**said, **{n: v for n, v in found.items() if n not in said}}


class _Case:
    """What was asked, sorted. Lives as long as the question."""

    def __init__(
        self, subjects: tuple[Any, ...], names: Mapping[str, Any], model: Any, recording: Any
    ) -> None:
        self.said = [described(subject) for subject in subjects]
        known = {n: v for n, v in names.items() if issubclass(type(v), KINDS)}
        self.live = {id(t): t for t in _of_kind(known.values(), torch.Tensor)}
        self.called = {id(v): n for n, v in reversed(known.items())}
        self.tensors: dict[int, tuple[str, Any]] = {}
        self.modules: list[Any] = []
        self.optimizers: list[Any] = []
        for subject in subjects or _leaves_of(recording):
            self.take(subject, "")
        self.asked_tensors = list(self.tensors.values())
        self.subjects = subjects
        self.known_optimizers = _of_kind(known.values(), torch.optim.Optimizer)
        modules = _of_kind(known.values(), torch.nn.Module)
        self.known_modules = [m for m in modules if parameters_of(m)]
        asked = [*self.modules, *_of_kind([model], torch.nn.Module)]
        self.name_parameters(asked, self.known_modules)
        self.losses = self.losses_among(self.asked_tensors, recording)
        self.given = (*self.losses, *self.targets().values())
        self.given_recording: Recorded | None = recording
        self.recording: Recorded | None = recording if self.was_seen_by(recording) else None
        self.unseen = recording is not None and self.recording is None
        self.graph = self.captured() if self.recording is None else self.renamed(self.recording)
        inner = self.on_the_way()
        self.losses = [t for t in self.losses if id(t) not in inner]

    def losses_among(self, tensors: list[tuple[str, Any]], recording: Recorded | None) -> list[Any]:
        """Those of some tensors that look like a loss."""
        return [t for _, t in tensors if self.is_loss(t, recording)]

    def was_seen_by(self, recording: Recorded | None) -> bool:
        """Say whether a recording met every loss, and any of what was given at all."""
        if recording is None:
            return False
        met = [recording.find(t) is not None for t in self.given]
        return all(met[: len(self.losses)]) and (any(met) or not met)

    def take(self, subject: Any, name: str, depth: int = DEPTH) -> None:
        """Sort one subject in."""
        kind = type(subject)
        if issubclass(kind, KINDS) and name:
            self.called.setdefault(id(subject), name)
        if issubclass(kind, torch.Tensor):
            self.tensors[id(subject)] = name or self.called.get(id(subject), ""), subject
        elif issubclass(kind, torch.nn.Module):
            self.modules.append(subject)
        elif issubclass(kind, torch.optim.Optimizer):
            self.optimizers.append(subject)
        elif depth and (parts := parts_of(subject)) is not None:
            for key, value in parts:
                if value is not None:
                    self.take(value, key, depth - 1)
        else:
            check(
                "explain()",
                subject,
                KINDS,
                "tensors, modules, optimizers, and collections of them",
                none=True,
            )

    def name_parameters(self, asked: list[Any], others: list[Any]) -> None:
        """As the reader would call them: by the variable of the model, where that is known, and the
        place in it."""
        for i, module in enumerate([*asked, *others]):
            title = self.called.get(id(module), "")
            # Torch's own method: no code of a model's own is run. A variable may hold a model that
            # is half built.
            for name, p in read(partial(_tensors_of, module)) or ():
                name = f"{title}.{name}" if title else name
                if i < len(asked) and id(p) not in self.tensors:  # a loop variable's name says less
                    self.called[id(p)] = name
                self.called.setdefault(id(p), name)
                self.live[id(p)] = p

    def renamed(self, recording: Recorded) -> Graph:
        """Parameters under the reader's names, where the recording has only what a module's own
        code calls them."""
        graph = recording.graph
        states = {i: recording.find(t) for i, t in self.live.items()}
        names = {t.object_id: self.called[i] for i, t in states.items() if t and i in self.called}
        if not names:
            return graph
        return graph.replace(
            tensors=[
                (
                    t._replace(name=names[t.object_id])
                    if t.object_id in names and (t.name or "self.").startswith("self.")
                    else t
                )
                for t in graph.tensors
            ]
        )

    def name(self, t: Any, otherwise: str) -> str:
        return self.tensors.get(id(t), ("",))[0] or self.called.get(id(t)) or otherwise

    def title(self, t: Any, otherwise: str) -> str:
        """Its name, the recording's included: "net.0.weight" rather than "0.weight"."""
        name, at = self.name(t, otherwise), self.ids.get(id(t))
        own = None if at is None else self.graph.tensor[at]
        if own is None or not own.name or not self.recording:
            return name
        said = name in own.name and not own.name.startswith("self.")
        return (bare(own.name) or own.name) if said or id(t) not in self.called else name

    def is_loss(self, t: Any, recording: Recorded | None) -> bool:
        """A single number that is no leaf to train."""
        one = read(lambda: t.numel()) == 1 and (
            t.dim() == 0 or (bool(self.modules) and t.requires_grad)
        )
        if one and t.is_leaf and t.requires_grad:  # loss.requires_grad_(), to silence an error
            state = recording.find(t) if recording else None
            if recording is None or state is None:
                return False
            return state.object_id in _roots(recording.graph)
        return bool(one and t.is_floating_point())

    def on_the_way(self) -> set[int]:
        """Of what looks like a loss, by identity: what another loss, or a recorded backward, was
        computed from."""
        graph, starts, found = self.graph, _roots(self.graph), set[int]()
        states = {id(t): graph.tensor[i] for t in self.losses if (i := self.ids[id(t)]) is not None}
        others = {t.id for t in states.values()}
        alone = len(self.tensors) == len(self.losses) and not self.modules
        for i, t in states.items():
            if t.object_id in starts or t.gradient_edge is None:
                continue
            paths = Paths(graph)
            later = paths.connected(Asked("", t.id, True, False)) - {t.id}
            made = paths.facts.maker.get(t.id)
            numbers = made is not None and (
                t.base_id is not None
                or all(math.prod(graph.tensor[k].shape or ()) == 1 for k in made.inputs)
            )
            # Parts of a loss stay single numbers, and are made from more than these; they are not
            # picked out.
            if later & others or (
                alone and any(numbers or graph.tensor[k].shape != () for k in later)
            ):
                found.add(i)
        return found

    def targets(self) -> dict[int, Any]:
        """The tensors whose ``.grad`` is asked for, by identity."""
        losses = {id(t) for t in self.losses}
        found = {i: t for i, (_, t) in self.tensors.items() if i not in losses}
        return found | (
            {id(p): p for m in self.modules for p in m.parameters()} or held_by(self.optimizers)
        )

    def captured(self) -> Graph:
        """What torch still holds of the graph."""
        names = {n: self.live[i] for i, n in self.called.items() if i in self.live}
        return capture(*self.given, names=names) if self.given else Graph()

    @cached_property
    def ids(self) -> dict[int, int | None]:
        """Tensor ids in the graph, by identity."""
        if self.recording:
            found = {id(t): self.recording.find(t) for t in self.given}
            return {i: None if t is None else t.id for i, t in found.items()}
        return dict(zip(map(id, self.given), self.graph.roots, strict=True))

    # --- answers ----------------------------------------------------------------------------------

    def raised(self, error: BaseException | None) -> Explanation | None:
        """An error that was given, or with which the recording ended."""
        last = [e for e in self.graph.events if isinstance(e, (Raised, Called, Hooked))][-1:]
        event = last[0] if last and isinstance(last[0], Raised) else None
        if error is not None:
            event = None
            kind, text = read_error(error)
        elif event is not None:
            kind, text = event.error, event.message
        else:
            return None
        graph, parameters = self.where_it_raised(text)
        flags = {n: bool(p.requires_grad) for n, p in parameters}
        found = explain_error(kind, text, graph, event, flags)
        if found.cause is Cause.NOT_KNOWN and "NoneType" in text and self.asked_tensors:
            # None where a gradient was expected: why it is None is the question
            missing = self.answer()
            return missing if missing.cause.of_none else found
        return found

    def where_it_raised(self, text: str) -> tuple[Graph, list[tuple[str, Any]]]:
        """Return the graph in which an error was raised, and the parameters that belong to it."""
        parameters = [(n, p) for m in self.modules for n, p in m.named_parameters()]
        recording = self.given_recording
        if self.recording or recording is None:
            # Without a recording backward's own tensor is known only where it was given: a
            # parameter did not raise.
            known = self.recording or self.asked_tensors
            return (self.graph if known else Graph()), parameters
        if recorded_error(recording.graph, text) is not None:
            # What was asked about besides is not of this recording, but the error is.
            own = [(n, p) for n, p in parameters if recording.find(p) is not None]
            return self.renamed(recording), own
        return (self.graph if self.asked_tensors else recording.graph), parameters

    def answer(self) -> Explanation:
        """Tell of gradients first, then of what explains the same better."""
        if not self.given:
            return self.of_past_backward()
        return looked_at_again(SECOND_LOOKS, self, self.gradients())

    def of_past_backward(self) -> Explanation:
        """Tell of a backward that was seen, where nothing of it is alive."""
        gradients = Gradients(self.graph)
        if not gradients.losses:
            what = (
                f"explain() was given {', '.join(self.said) or 'nothing'}: there is nothing to read"
                " there; expected"
            )
            raise GradvizError(
                f"{what} a tensor, a loss, a module or an optimizer (a generator can be read only"
                " once)"
            )
        found = self.of_loss(gradients, gradients.losses)
        if found.cause is not Cause.HEALTHY:
            return found
        return self.with_doubts(found, Gradients(self.graph, gradients.losses), ())

    # --- second looks: each may displace the answer so far ----------------------------------------

    def steps_asked(self, found: Explanation) -> bool:
        """Say whether an optimizer was given."""
        return bool(self.optimizers)

    def may_be_meant(self, found: Explanation) -> bool:
        """Say whether the answer so far is no fault that nobody can have meant."""
        return found.cause.level <= Level.SUSPECT

    def numbers_are_bad(self, found: Explanation) -> bool:
        """Say whether the answer so far is about zeros or NaN."""
        return found.cause in (Cause.ZERO_GRADIENT, Cause.NAN)

    def wrong_numbers(self, found: Explanation) -> Explanation | None:
        """Wrong numbers may well be zeros: what made them comes first."""
        silent = self.silent()
        wrong = (Cause.OVERWRITTEN, Cause.FUSED_STEP)
        return silent if silent is not None and silent.cause in wrong else None

    def hides_more(self, found: Explanation) -> bool:
        """Say whether something graver may be behind the answer so far."""
        if found.cause.level <= Level.NOTE:
            return True
        losses = {id(t) for t in self.losses}
        # a tensor that asks for no gradient may be a snapshot
        return any(not t.requires_grad and i not in losses for i, (_, t) in self.tensors.items())

    def nothing_wrong(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, or have not come yet."""
        return found.cause.level is Level.FINE or found.cause is Cause.NO_BACKWARD_YET

    def size_matters(self, found: Explanation) -> bool:
        """Say whether the size of gradients may explain more than the answer so far."""
        return found.cause in (Cause.HEALTHY, Cause.NAN) or _all_zeros(found)

    def wrong_size(self, found: Explanation) -> Explanation | None:
        """Gradients that are too small or too large; of zeros only why they are."""
        small = self.small()
        if small is None or (_all_zeros(found) and small.cause is not Cause.UNDERFLOW):
            return None
        return small

    def is_healthy(self, found: Explanation) -> bool:
        """Say whether no fault was found."""
        return found.cause is Cause.HEALTHY

    def with_constants(self, found: Explanation) -> Explanation | None:
        """The same answer, with what went into the loss as a constant."""
        fixed = self.constants()
        return found._replace(more=(*found.more, fixed)) if fixed else None

    def as_far_as_seen(self, found: Explanation) -> Explanation:
        """The same answer, with what nobody looked at."""
        if not self.recording:  # what nobody watched may hold faults that leave no trace
            return found._replace(cause=Cause.NOT_KNOWN)
        return self.with_doubts(found, Gradients(self.graph, self.loss_ids), self.target_ids)

    def with_doubts(
        self, healthy: Explanation, paths: Gradients, target_ids: Iterable[int]
    ) -> Explanation:
        """An answer that found no fault, with what was not looked at."""
        unread = doubts(paths, target_ids)
        if unread:
            return doubted(healthy, unread)
        if self.recording is None:
            return healthy
        outside = written_outside(
            paths, target_ids, self.recording.handed_out(), self.recording.read_last()
        )
        return so_far(healthy, outside) if outside else healthy

    @property
    def loss_ids(self) -> list[int]:
        """The losses, in the graph."""
        return [i for t in self.losses if (i := self.ids[id(t)]) is not None]

    @property
    def target_ids(self) -> list[int]:
        """The tensors whose gradient is asked for, in the graph."""
        return [i for t in self.targets().values() if (i := self.ids[id(t)]) is not None]

    def silent(self, found: Explanation | None = None) -> Explanation | None:
        """What is wrong although nothing raises and gradients arrive."""
        tensors = {
            self.name(t, f"tensor {i + 1}"): t for i, (_, t) in enumerate(self.tensors.values())
        }
        held = {
            n: (self.held[n], row.why if row.verdict == MOVES else "")
            for n, row in self.moves.items()
        }
        faults = silent_faults(
            self.recording, tensors=tensors, models=self.titled, held=held, graph=self.graph
        )
        return faults[0] if faults else None

    @cached_property
    def titled(self) -> dict[str, Any]:
        """The modules that were given, by variable where that is known, else by type."""
        return dict(_apart((self.called.get(id(m)) or type(m).__name__, m) for m in self.modules))

    @cached_property
    def held(self) -> dict[str, Any]:
        """The parameters of the optimizers and modules that were given, each under a name of its
        own."""
        every = held_by(self.optimizers) | {id(p): p for m in self.modules for p in m.parameters()}
        return dict(
            _apart((self.title(p, f"parameter {i}"), p) for i, p in enumerate(every.values()))
        )

    @cached_property
    def tables(self) -> list[Moves]:
        """What the next step of each optimizer does."""
        frozen = any(
            not p.requires_grad and p.is_leaf and p.grad is not None for p in self.held.values()
        )
        return [
            will_it_move(o, self.held)
            for o in self.optimizers or (self.known_optimizers if frozen else ())
        ]

    @cached_property
    def moves(self) -> dict[str, Move]:
        """The same for each parameter; of what none of them holds the group is None."""
        rows = [row for table in self.tables for row in table.rows]
        return {
            r.name: r for r in sorted(rows, key=lambda r: (r.group is not None, r.verdict == MOVES))
        }

    @property
    def given_optimizers(self) -> str:
        """What the optimizers that were given are called."""
        return several(
            [self.called.get(id(o)) or f"this {type(o).__name__}" for o in self.optimizers]
        )

    @property
    def trained_moves(self) -> list[Move]:
        """What the next step does to each parameter that requires grad."""
        return [row for row in self.moves.values() if row.requires_grad]

    def stepped(self, found: Explanation) -> Explanation:
        """The answer with what the optimizers do to the parameters."""
        return self.holds_results(found) or self.left_in_place(found) or self.with_moves(found)

    def holds_results(self, found: Explanation) -> Explanation | None:
        """A result in the place of a leaf."""
        results = [
            n for n, p in self.held.items() if not p.is_leaf and self.moves[n].group is not None
        ]
        if not results:
            return None
        return found._replace(
            cause=Cause.NON_LEAF_IN_OPTIMIZER,
            verdict=f"{self.given_optimizers} holds {_pattern(results)}: a result, not a leaf.",
            why=(
                "a step writes to it, not to the leaf behind it, and it gets no .grad unless it is"
                " retained."
            ),
            mend="give the optimizer the leaf.",
            ruled_out=(),
        )

    def left_in_place(self, found: Explanation) -> Explanation | None:
        """Parameters that have a gradient, and that the next step does not move."""
        if found.cause.level is not Level.FINE:
            return None
        who, trains = self.given_optimizers, self.trained_moves
        outside = [row for row in trains if row.group is None]
        stays = [
            row
            for row in trains
            if row.verdict == STAYS and row.group is not None and row.grad.startswith("up to")
        ]
        if stays:
            why, mend = stays[0].why, ""
        elif outside and self.of_another_model(outside):
            why = f"{who} holds none of them"
            mend = "make the optimizer from this model's parameters."
        else:
            return None
        names = _pattern([row.name for row in stays or outside])
        return found._replace(
            cause=Cause.NOT_MOVED,
            verdict=f"{who}'s next step will not move {names}: {why}.",
            where="",
            why="",
            mend=mend,
            ruled_out=(),
            more=(),
        )

    def of_another_model(self, outside: list[Move]) -> bool:
        """Say whether the optimizers hold nothing of the one model that was given."""
        if len(self.modules) != 1:
            return False
        trained = sum(bool(p.requires_grad) for p in self.modules[0].parameters())
        return len(outside) == trained

    def with_moves(self, found: Explanation) -> Explanation:
        """The same answer, with what each optimizer's next step moves and leaves out."""
        who, trains = self.given_optimizers, self.trained_moves
        outside = [row.name for row in trains if row.group is None]
        zero = [row for row in trains if row.verdict == MOVES and row.grad == "zero"]
        notes = [f"{who} does not hold {_pattern(outside)}."] if outside else []
        if zero:
            names = _pattern([row.name for row in zero])
            notes.append(f"{who}'s next step moves {names}: {zero[0].why}.")
        notes += [table.verdict for table in self.tables]
        return found._replace(more=(*found.more, *notes))

    def replaced(self, found: Explanation | None = None) -> Explanation | None:
        """Parameters that took the place of some that an optimizer still holds."""
        modules = [*self.modules, *self.known_modules]
        optimizers = [*self.optimizers, *self.known_optimizers]
        live, held = {id(p): p for m in modules for p in m.parameters()}, held_by(optimizers)
        asked = live if self.optimizers and not self.modules else self.targets()
        new = [
            p
            for i, p in live.items()
            if i in asked and i not in held and p.requires_grad and p.grad is not None
        ]
        for optimizer in optimizers if new else ():
            own = held_by([optimizer])
            # those of a part that nobody here has a name for may still be in use
            old = [p for i, p in own.items() if i not in live]
            if _took_the_place(new, old, bool(own.keys() & live.keys())):
                return self.replaced_in(optimizer, new, len(old))
        return None

    def replaced_in(self, optimizer: Any, new: list[Any], count: int) -> Explanation:
        """Tell of an optimizer that holds the parameters from before."""
        who = self.called.get(id(optimizer)) or f"this {type(optimizer).__name__}"
        names = _pattern([self.title(p, "a parameter") for p in new])
        ids = [i for p in new if (i := self.ids.get(id(p))) is not None]
        why = f"{who} holds {count} parameters of no module known here: were they replaced"
        mend = "make the optimizer when the model is complete, or add_param_group()."
        return self.not_held(names, f"{why} afterwards?", mend, ids)

    def unheld(self, found: Explanation) -> Explanation | None:
        """Parameters that the loss reaches, and that no optimizer holds and no call wrote."""
        held = held_by([*self.optimizers, *self.known_optimizers])
        if not held:
            return None
        if left := self.left_out(held):
            return left
        if not self.recording or found.cause.level is not Level.FINE:
            return None
        return self.never_written(found, held)

    def never_written(self, found: Explanation, held: Mapping[int, Any]) -> Explanation | None:
        """Parameters that no recorded call wrote, where those of an optimizer were."""
        paths = Paths(self.graph, self.loss_ids)
        live = self.reached_leaves(paths)
        stepped = {i for i, (_, state) in live.items() if state.storage_id in paths.facts.rewritten}
        if stepped.isdisjoint(held):
            return None  # no step of theirs was recorded
        still = {i: x for i, x in live.items() if x[1].storage_id not in paths.facts.rewritten}
        new = {i: state for i, (p, state) in still.items() if i not in held and _trains(p)}
        modules = [*self.modules, *self.known_modules]
        if outside := _in_none_of(modules, new):
            return self.in_no_module(outside, paths)
        if not new or self.optimizers:  # left out by intention?
            return None
        names = [self.called.get(i) or paths.words.name(state.id) for i, state in new.items()]
        return found._replace(more=(*found.more, f"{NOT_HELD.format(_pattern(names))}."))

    def reached_leaves(self, paths: Paths) -> dict[int, tuple[Any, Tensor]]:
        """The living leaves that the loss reaches and their states, by identity."""
        reached = paths.facts.reachable(paths.roots)
        if self.recording is None:
            return {}
        return {
            id(t): (t, state)
            for t in self.recording.living()
            if (state := self.recording.find(t))
            and paths.facts.accumulate_node.get(state.object_id) in reached
        }

    def in_no_module(self, new: Mapping[int, Tensor], paths: Paths) -> Explanation:
        """Tell of parameters that no module lists, such as those in plain lists."""
        places = {
            i: x
            for m in (*self.modules, *self.known_modules)
            for i, x in _in_lists(m, self.called.get(id(m)) or type(m).__name__)
        }
        names = [
            places[i][0] if i in places else self.called.get(i) or paths.words.name(state.id)
            for i, state in new.items()
        ]
        lists = several(list(dict.fromkeys(places[i][1] for i in new if i in places)))
        why = f" {lists}: a plain list or dict, where parameters() does not look." if lists else ""
        mend = (
            "nn.ModuleList or ModuleDict, before the optimizer is made."
            if lists
            else "add_param_group()."
        )
        why = f"the loss reaches them, others were stepped, and no recorded call wrote them.{why}"
        ids = [state.id for state in new.values()]
        return self.not_held(_pattern(names), why, f"if they are to learn: {mend}", ids)

    def left_out(self, held: Mapping[int, Any]) -> Explanation | None:
        """What gets a gradient of a model, another part of which is in an optimizer, while no
        optimizer has this."""
        paths = Paths(self.graph)
        for title, module in self.titled.items():
            own = {id(p): p for p in module.parameters() if p.requires_grad and p.is_leaf}
            outside = {i: p for i, p in own.items() if i not in held}
            states = self.states_with_gradient(outside, paths)
            if not states or not own.keys() & held.keys():
                continue
            # One that has no name here may be an attribute of a trainer.
            every = held_by(_of_kind(gc.get_objects(), torch.optim.Optimizer))
            if left := {i: state for i, state in states.items() if i not in every}:
                names = _pattern([self.title(own[i], "a parameter") for i in left])
                count = len(own.keys() & held.keys())
                why = f"of {len(own)} trainable parameters of {title} {count} are in an optimizer; "
                why += "these are in none that is alive, and get a gradient."
                mend = (
                    "if they are to learn, give them to the optimizer; else requires_grad_(False)."
                )
                return self.not_held(names, why, mend, [s.id for s in left.values() if s])
        return None

    def states_with_gradient(
        self, parameters: Mapping[int, Any], paths: Paths
    ) -> dict[int, Tensor | None]:
        """The states of those that get a gradient and that no recorded call wrote; None of those
        that the recording did not meet."""
        found: dict[int, Tensor | None] = {}
        for i, p in parameters.items():
            state = self.recording.find(p) if self.recording else None
            if state and state.storage_id in paths.facts.rewritten:
                continue
            ran = (
                state is not None
                and paths.facts.accumulate_node.get(state.object_id) in paths.facts.ran
            )
            if p.grad is not None or ran:
                found[i] = state
        return found

    def not_held(self, names: str, why: str, mend: str, ids: list[int]) -> Explanation:
        verdict = f"{NOT_HELD.format(names)}: no step moves them."
        return Explanation(
            Cause.NOT_MOVED, verdict, why=why, mend=mend, tensor_ids=tuple(ids), graph=self.graph
        )

    def constants(self) -> str:
        """What went into the loss from autograd.grad, and has no graph of its own."""
        paths = Paths(self.graph, [i for t in self.losses if (i := self.ids[id(t)]) is not None])
        made = [
            i
            for b in self.graph.backwards
            if b.kind == "grad"
            for i in self.graph.call[b.call_id].outputs
        ]
        fixed = [
            paths.words.name(i)
            for i in made
            if i in paths.behind and not self.graph.tensor[i].requires_grad
        ]
        names = several(list(dict.fromkeys(fixed)))
        return (
            f"Of autograd.grad without create_graph=True, a constant in {paths.loss}: {names}."
            if fixed
            else ""
        )

    def small(self) -> Explanation | None:
        """Gradients that are too small, too large, or not numbers."""
        live = [
            (a.name, t)
            for t in self.targets().values()
            if (a := self.asked(t, self.ids[id(t)])).grad != "none"
        ]
        found = explain_small(dict(live), self.recording)
        return (
            found
            if found.detail == "large" or found.cause not in (Cause.HEALTHY, Cause.NOT_KNOWN)
            else None
        )

    def gradients(self) -> Explanation:
        """Tell why each gradient that is asked about is what it is."""
        ids = self.ids
        asked = [self.asked(t, ids[id(t)]) for t in self.targets().values()]
        why = Gradients(self.graph, self.loss_ids, *self.zeros(asked))
        told = [(a, why.explain(a)) for a in self.weights(asked)]
        dead = [t for t in self.losses if not t.requires_grad]
        if dead:
            return _no_grad_fn(self.graph, self.asked(dead[0], ids[id(dead[0])]), told)
        if not asked:
            return self.of_loss(why, self.loss_ids)
        told = self.meant(told)
        unseen = "" if self.recording else UNSEEN
        found = told[0][1] if len(told) == 1 else _grouped(told, why, unseen)
        return self.with_unseen(self.with_reached(found))

    def weights(self, asked: list[Asked]) -> list[Asked]:
        """Those that are to get a gradient; all where none is."""
        # besides them, others are only values
        weights = [a for a in asked if a.parameter or a.requires_grad] or asked
        if self.modules:  # besides those of a module, so are results
            return [a for a in weights if a.is_leaf or a.retains_grad] or weights
        return weights

    def with_reached(self, found: Explanation) -> Explanation:
        """The same answer, with what each loss reaches of several modules."""
        if len(self.modules) < 2 or not self.loss_ids:
            return found
        losses = {self.name(t, f"loss {i + 1}"): t for i, t in enumerate(self.losses)}
        reached = reach(losses, self.titled).verdict
        return found._replace(more=(*reached.splitlines(), *found.more[1:]))

    def with_unseen(self, found: Explanation) -> Explanation:
        """The same answer, with a recording that was of no use."""
        if not self.unseen:
            return found
        what = "this loss" if self.losses else "any of this"
        note = f"The recording given did not see {what}, so it was not used."
        return found._replace(more=(*found.more, note))

    def meant(self, told: list[tuple[Asked, Explanation]]) -> list[tuple[Asked, Explanation]]:
        """Where nothing was asked in particular: a teacher under no_grad that no optimizer holds is
        no fault."""
        held = held_by(self.known_optimizers)
        if self.subjects or not held or not any(e.cause.level is Level.FINE for _, e in told):
            return told
        alone = {i for own, i in self.ids.items() if own not in held}
        off = {CutReason.NO_GRAD, CutReason.INFERENCE_MODE}
        return [
            (a, e)
            for a, e in told
            if not (a.tensor_id in alone and e.cuts and {c.reason for c in e.cuts} <= off)
        ]

    def of_loss(self, why: Gradients, losses: list[int]) -> Explanation:
        """A loss alone: what it can send gradients to."""
        leaves = several(why.leaves_of(Asked("", losses[0], True, False)))
        start, unseen = ("Healthy", "") if self.recording else ("No fault is visible", UNSEEN)
        path = f"the graph of {why.loss} leads to {leaves}"
        if "raises" in why.spent:  # what it saved was written in place
            verdict = f"{path[0].upper()}{path[1:]}; {why.spent}."
            mend = f"compute {why.loss} anew after the write, or write out of place."
            return Explanation(
                Cause.MODIFIED_IN_PLACE,
                verdict,
                mend=mend,
                tensor_ids=tuple(losses),
                graph=self.graph,
            )
        if why.unspent:
            verdict = f"{path[0].upper()}{path[1:]}; {why.unspent}."
            return Explanation(Cause.NOT_KNOWN, verdict, tensor_ids=tuple(losses), graph=self.graph)
        can = f"{path}; {why.spent}" if why.spent else f"{why.loss} can send gradients to {leaves}"
        return Explanation(
            Cause.HEALTHY, f"{start}: {can}.{unseen}", tensor_ids=tuple(losses), graph=self.graph
        )

    def asked(self, t: Any, tensor_id: int | None) -> Asked:
        """A tensor as it is now."""
        places = [
            f"parameter {k} of group {j}"
            for o in self.optimizers
            for j, g in enumerate(o.param_groups)
            for k, p in enumerate(g["params"])
            if p is t
        ]
        name = self.title(t, next(iter(places), "this tensor"))
        fields = tensor_fields(t)
        grad = read(lambda: t.grad) if fields[6] or fields[7] else None
        parameter = isinstance(t, torch.nn.Parameter)
        return Asked(
            name,
            tensor_id,
            bool(fields[5]),
            fields[6] is not False,
            bool(fields[7]),
            "none" if grad is None else _state(grad),
            fields[8] or "",
            parameter,
            bool(read(t.is_inference)),
            self.recording.memory_of(t) if self.recording else None,
            torch_private.has_hooks(t),
        )

    def zeros(self, asked: list[Asked]) -> tuple[set[int], set[int]]:
        """Ids of leaves that are all zeros now, and of those whose ``.grad`` is; read only where a
        gradient is zero."""
        if all(a.grad != "zero" for a in asked):
            return set(), set()
        live = self.live | self.targets()
        if self.recording:
            live |= {id(t): t for t in self.recording.living()}
        zero, still = set[int](), set[int]()
        for t in live.values():
            own = self.recording.find(t) if self.recording and t.is_leaf else None
            at = own.id if own else self.ids.get(id(t))
            if at is not None and t.is_leaf:
                zero |= {at} if _state(t) == "zero" else set()
                still |= {at} if t.grad is None or _state(t.grad) == "zero" else set()
        return zero, still


def _of_kind(values: Iterable[Any], kinds: Any) -> list[Any]:
    """Those of some types, whatever a value says of itself."""
    return [value for value in values if issubclass(type(value), kinds)]


def _leaves_of(recording: Recorded | None) -> list[Any]:
    """The living leaves of a recording, and what took a leaf's name when that was updated."""
    if recording is None:
        return []
    updated = _rebound(recording)
    return [
        t
        for t in recording.living()
        if t.requires_grad
        and (t.is_leaf or ((now := recording.find(t)) and now.object_id in updated))
    ]


# What may displace an answer about gradients, in this order: see NOTE [one table].
SECOND_LOOKS: tuple[Rule[[_Case, Explanation]], ...] = (
    Rule(_Case.stepped, when=_Case.steps_asked),
    Rule(_Case.replaced, when=_Case.may_be_meant),
    Rule(_Case.wrong_numbers, when=_Case.numbers_are_bad),
    Rule(_Case.silent, when=_Case.hides_more),
    Rule(_Case.unheld, when=_Case.nothing_wrong),
    Rule(_Case.wrong_size, when=_Case.size_matters),
    Rule(_Case.with_constants, when=_Case.is_healthy),
    Rule(_Case.as_far_as_seen, when=_Case.is_healthy),
)


def _all_zeros(found: Explanation) -> bool:
    """Say whether an answer is about zeros whose origin is not, or not all, proven."""
    unproven = found.cause in (Cause.ZERO_GRADIENT, Cause.NOT_KNOWN)
    return unproven and found.detail in ("zero", "cancels")


def _trains(p: Any) -> bool:
    """Say whether it is a parameter that has a gradient to learn from."""
    return p.requires_grad and p.grad is not None and isinstance(p, torch.nn.Parameter)


def _in_none_of(modules: list[Any], states: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """The states of those parameters that no module lists."""
    parts = {id(p) for m in modules for p in m.parameters()}
    return {i: state for i, state in states.items() if i not in parts}


def _took_the_place(new: list[Any], old: list[Any], others_stay: bool) -> bool:
    """Say whether parameters took the place of those of an optimizer that get no gradient now."""
    # of a model made anew
    alike = sorted(str(p.shape) for p in old) == sorted(str(p.shape) for p in new)
    return (others_stay or alike) and bool(old) and all(p.grad is None for p in old)


def _rebound(recording: Recorded) -> set[int]:
    """The objects that an update made and that took the name of what it updates: ``w = w - lr *
    w.grad``."""
    graph = recording.graph
    made = {i: c.source.code or "" for c in graph.calls if c.source for i in c.outputs}
    return {
        t.object_id
        for t in graph.tensors
        if t.name and f"{bare(t.name)}.grad" in made.get(t.id, "")
    }


def _tensors_of(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    kind = torch.nn.Module
    return [*kind.named_parameters(module), *kind.named_buffers(module)]


def _roots(graph: Graph) -> set[int]:
    """The objects on which a recorded backward was called."""
    return {graph.tensor[i].object_id for i in Facts.of(graph).losses}


def held_by(optimizers: Iterable[Any]) -> dict[int, Any]:
    """The parameters of optimizers, by identity."""
    return {id(p): p for o in optimizers for g in o.param_groups for p in g["params"]}


def _state(values: Any) -> str:
    """zero, nan or some; of a gradient or a weight. Leaves no trace on it."""
    try:
        values = values.detach()
        values = values.coalesce().values() if values.is_sparse else values
        if not torch_private.has_plain_data(values):
            return "unknown"
        return (
            ("some" if bool(values.any()) else "zero") if bool(values.isfinite().all()) else "nan"
        )
    except Exception:  # meta, nested and quantized tensors do not tell
        return "unknown"


def _in_lists(module: Any, title: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Of parameters in plain lists and dicts of a module: identity, (name, that of the list)."""
    for path, part in module.named_modules():
        for name, value in list(vars(part).items()):
            at, own = (
                ".".join(filter(None, (title, path, name))),
                isinstance(value, (list, tuple, dict)),
            )
            parts = value.items() if isinstance(value, dict) else enumerate(value if own else ())
            for key, one in parts if not name.startswith("_") else ():
                inside = one.named_parameters() if isinstance(one, torch.nn.Module) else [("", one)]
                yield from (
                    (id(p), (".".join(filter(None, (at, str(key), n))), at)) for n, p in inside
                )


def _apart(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Things under names of their own: the second ``Linear`` is ``Linear 2``."""
    seen: set[str] = set()
    for name, value in named:
        own = (
            name
            if name not in seen
            else next(n for i in count(2) if (n := f"{name} {i}") not in seen)
        )
        seen.add(own)
        yield own, value


# --- many parameters ------------------------------------------------------------------------------


Told = list[tuple[Asked, Explanation]]


def _grouped(told: Told, why: Gradients, unseen: str) -> Explanation:
    """One answer for many parameters: the fault that most of them share."""
    trains = _without_cancelled([(a, e) for a, e in told if e.cause is not Cause.FROZEN])
    if not trains:
        return _all_frozen(told)
    frozen = f", {len(told) - len(trains)} frozen" if len(trains) < len(told) else ""
    faults = [(a, e) for a, e in trains if e.cause.level is not Level.FINE]
    if not faults:
        return _all_fine(trains, frozen, unseen)
    group = _most_shared(faults)
    first, names = group[0][1], [a.name for a, _ in group]
    verdict = first.verdict
    if len(group) > 1:
        verdict = f"{_pattern(names)}: {_tail(group[0][0], first.verdict)}"
    others = sorted({e.verdict for _, e in faults} - {e.verdict for _, e in group})
    return first._replace(
        verdict=verdict,
        cuts=tuple(dict.fromkeys(c for _, e in group for c in e.cuts)),
        more=(_numbers(trains, why) + f"{frozen}.", *others[:1]),
        ruled_out=_by_all(group),
    )


def _without_cancelled(trains: Told) -> Told:
    """Call a bias healthy whose contributions cancel, where other parameters get a gradient."""
    if all(e.cause is not Cause.HEALTHY for _, e in trains):
        return trains
    return [(a, e._replace(cause=Cause.HEALTHY) if e.detail == "cancels" else e) for a, e in trains]


def _all_frozen(told: Told) -> Explanation:
    """Tell that none of them is to get a gradient."""
    first, found = told[0]
    if all(e.detail == "frozen_now" for _, e in told):
        names = _pattern([a.name for a, _ in told])
        return found._replace(verdict=f"{names}: {_tail(first, found.verdict)}")
    return found._replace(verdict=f"All {len(told)} parameters are frozen: none gets a gradient.")


def _all_fine(trains: Told, frozen: str, unseen: str) -> Explanation:
    """Tell that each of them has its gradient, or had it."""
    start = "No fault is visible" if unseen else "Healthy"
    had = sum(e.detail == "done" for _, e in trains)
    word = f"have a gradient{f', or had one that was {DONE}' if had else ''}"
    word = f"had a gradient; it was {DONE}" if had == len(trains) else word
    zero = [e for _, e in trains if e.detail in ("zero_factor", "cancels")]
    first = zero[0] if zero else trains[0][1]
    count = f"{len(trains)} of {len(trains)} trainable parameters"
    return first._replace(
        verdict=f"{start}: {count} {word}{frozen}.{unseen}",
        finding=None,  # that of one of them
        tensor_ids=(),
        more=tuple(e.verdict for e in zero[:1]),
        ruled_out=_by_all(trains),
    )


def _most_shared(faults: Told) -> Told:
    """Those that share the most frequent fault; of equally frequent ones the first."""
    keys = [(e.cause, e.where, e.cause is Cause.ZERO_GRADIENT and e.why) for _, e in faults]
    shared = Counter(keys).most_common(1)[0][0]
    return [fault for fault, key in zip(faults, keys, strict=True) if key == shared]


def _numbers(trains: Told, why: Gradients) -> str:
    """``4 trainable parameters: 2 reached, 2 not``."""
    reached = [
        why.reaches(a) or e.cause is Cause.HEALTHY if why.losses else a.grad not in ("none", "zero")
        for a, e in trains
    ]
    hidden = sum(why.hidden(a) and not r for (a, _), r in zip(trains, reached, strict=True))
    rest = len(trains) - sum(reached) - hidden
    words = ("reached", "not") if why.losses else ("with a gradient", "without")
    numbers = f"{len(trains)} trainable parameters: {sum(reached)} {words[0]}, {rest} {words[1]}"
    return numbers + (f", {hidden} not known" if hidden else "")


def _by_all(told: list[tuple[Asked, Explanation]]) -> tuple[str, ...]:
    """What was ruled out for each of them."""
    return tuple(out for out in told[0][1].ruled_out if all(out in e.ruled_out for _, e in told))


def _tail(asked: Asked, verdict: str) -> str:
    """What a verdict says after its subject."""
    return verdict.replace(f"{asked.name}.grad", ".grad").replace(asked.name, "it")


def _pattern(names: list[str]) -> str:
    """
    >>> _pattern([f"layers.{i}.{m}" for i in range(3) for m in "qk"]), _pattern(["a.weight", "b"])
    ('layers.*.{q,k}', 'a.weight and b')
    """
    parts = [n.split(".") for n in names]
    columns = [list(dict.fromkeys(c)) for c in zip(*parts, strict=False)]
    every = math.prod(len(column) for column in columns) == len(set(names))
    wide = any(len(c) > 4 and not c[0].isdigit() for c in columns)
    if not every or wide or len({len(p) for p in parts}) > 1:
        inside = [c[0] for c in takewhile(lambda c: len(c) == 1, columns)] if len(names) > 3 else []
        return f"{len(names)} under {'.'.join(inside)}" if inside else several(names)
    return ".".join(map(_alternatives, columns))


def _alternatives(words: list[str]) -> str:
    """
    >>> _alternatives(["layers"]), _alternatives(["0", "1"]), _alternatives(["q", "k"])
    ('layers', '*', '{q,k}')
    """
    if len(words) == 1:
        return words[0]
    return "*" if all(word.isdigit() for word in words) else "{" + ",".join(words) + "}"


def _no_grad_fn(graph: Graph, loss: Asked, told: list[tuple[Asked, Explanation]]) -> Explanation:
    """The loss itself is not tracked: nothing can train."""
    found = explain_error(
        "", "element 0 of tensors does not require grad", graph, root_id=loss.tensor_id
    )
    wanted = [a.name for a, _ in told if a.requires_grad and a.is_leaf]
    count = f"{len(wanted)} trainable parameters ({_pattern(wanted)}): 0 reached." if wanted else ""
    verdict = f"Nothing can train: {loss.name} has no grad_fn."
    if any(a.grad == "some" for a, _ in told):  # then it is perhaps no loss, but a metric
        verdict = (
            f"No backward can start from {loss.name}: it has no grad_fn. What .grad holds came from"
            " another loss."
        )
    mend = found.mend or ("" if graph.calls else f"{RECORD}.")
    return found._replace(verdict=verdict, more=(count,) if count else (), mend=mend)
