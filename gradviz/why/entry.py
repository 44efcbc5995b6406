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
from gradviz.graph.records import Called, CutReason, GradvizError, Graph, Hooked, Raised
from gradviz.names.position import locate
from gradviz.watch import torch_private
from gradviz.watch.capture import capture, described, tensor_fields
from gradviz.watch.identity import read
from gradviz.watch.recorded import Recorded
from gradviz.why.doubts import doubted, doubts, so_far, written_outside
from gradviz.why.explanation import Explanation, bare, several
from gradviz.why.gradient import DONE, UNSEEN, Gradients
from gradviz.why.moving import MOVES, STAYS, Move, Moves, will_it_move
from gradviz.why.paths import RECORD, Asked, Paths
from gradviz.why.raised import explain_error, read_error, recorded_error
from gradviz.why.reaching import check, parts_of, reach
from gradviz.why.silent import silent_faults
from gradviz.why.small import explain_small

KINDS = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
# Verdicts about one gradient that a silent fault explains better; a healthy one may still be too
# small.
WEAK = {"healthy", "not_known", "no_backward_yet", "frozen", "never_tracked", "non_leaf"}
NOT_HELD = "No optimizer that is known here holds {}"
NO_FAULT = {"healthy", "frozen"}
# of a .grad that is None
MISSING = {"rebound", "made_non_leaf", "non_leaf", "cut", "not_in_loss", "never_tracked"}
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
        self.live = {id(t): t for t in known.values() if isinstance(t, torch.Tensor)}
        self.called = {id(v): n for n, v in reversed(known.items())}
        self.tensors: dict[int, tuple[str, Any]] = {}
        self.modules: list[Any] = []
        self.optimizers: list[Any] = []
        own = set() if subjects or recording is None else _rebound(recording)
        leaves = (
            []
            if subjects or recording is None
            else [
                t
                for t in recording.living()
                if t.requires_grad
                and (t.is_leaf or ((now := recording.find(t)) and now.object_id in own))
            ]
        )
        for subject in (*subjects, *leaves):
            self.take(subject, "")
        self.asked_tensors = list(self.tensors.values())
        self.subjects = subjects
        self.known_optimizers = [
            o for o in known.values() if issubclass(type(o), torch.optim.Optimizer)
        ]
        modules = [m for m in known.values() if issubclass(type(m), torch.nn.Module)]
        self.known_modules = others = [m for m in modules if parameters_of(m)]
        self.name_parameters([*self.modules, *([model] if model is not None else [])], others)
        self.losses = [t for _, t in self.asked_tensors if self.is_loss(t, recording)]
        self.given = (*self.losses, *self.targets().values())
        met = [] if recording is None else [recording.find(t) is not None for t in self.given]
        seen = recording is not None and all(met[: len(self.losses)]) and (any(met) or not met)
        self.recording: Recorded | None = recording if seen else None
        self.given_recording: Recorded | None = recording
        self.unseen = recording is not None and not seen
        self.graph = self.renamed(recording) if recording is not None and seen else self.captured()
        inner = self.on_the_way()
        self.losses = [t for t in self.losses if id(t) not in inner]

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
            kind, text = read_error(error)
        elif event is not None:
            kind, text = event.error, event.message
        else:
            return None
        parameters = [(n, p) for m in self.modules for n, p in m.named_parameters()]
        recording = self.given_recording
        if (
            recording is not None
            and not self.recording
            and recorded_error(recording.graph, text) is not None
        ):
            # What was asked about besides is not of this recording, but the error is.
            graph = self.renamed(recording)
            parameters = [(n, p) for n, p in parameters if recording.find(p) is not None]
        else:
            # Without a recording backward's own tensor is known only where it was given: a
            # parameter did not raise.
            graph = (
                self.graph
                if self.recording or self.asked_tensors
                else recording.graph
                if recording
                else Graph()
            )
        flags = {n: bool(p.requires_grad) for n, p in parameters}
        found = explain_error(kind, text, graph, event if error is None else None, flags)
        if found.cause == "not_known" and "NoneType" in text and self.asked_tensors:
            # None where a gradient was expected: why it is None is the question
            missing = self.answer()
            return missing if missing.cause in MISSING else found
        return found

    def answer(self) -> Explanation:
        """Gradients, then silent faults, then small gradients."""
        if not self.given and (
            roots := Gradients(self.graph).losses
        ):  # nothing of it is alive, but a backward was seen
            found = self.of_loss(Gradients(self.graph), roots)
            return (
                self.with_doubts(found, Gradients(self.graph, roots), ())
                if found.cause == "healthy"
                else found
            )
        if not self.given:
            what = (
                f"explain() was given {', '.join(self.said) or 'nothing'}: there is nothing to read"
                " there; expected"
            )
            raise GradvizError(
                f"{what} a tensor, a loss, a module or an optimizer (a generator can be read only"
                " once)"
            )
        found = self.gradients()
        if self.optimizers:
            found = self.stepped(found)
        if found.cause in WEAK | {"branch_not_taken", "not_in_loss"}:
            found = self.replaced() or found
        if found.cause in ("zero_gradient", "nan") and (silent := self.silent()):
            # Wrong numbers may well be zeros: what made them comes first.
            found = silent if silent.cause in ("overwritten", "fused_step") else found
        losses = {id(t) for t in self.losses}
        values = any(not t.requires_grad and i not in losses for i, (_, t) in self.tensors.items())
        if found.cause in WEAK or values:  # a tensor that asks for no gradient may be a snapshot
            found = self.silent() or (
                self.unheld(found) if found.cause in NO_FAULT | {"no_backward_yet"} else found
            )
        zero = found.cause in ("zero_gradient", "not_known") and found.detail in ("zero", "cancels")
        if (found.cause in ("healthy", "nan") or zero) and (small := self.small()):
            found = found if zero and small.cause != "underflow" else small
        if found.cause == "healthy" and (fixed := self.constants()):
            found = found._replace(more=(*found.more, fixed))
        if found.cause != "healthy":
            return found
        if not self.recording:  # what nobody watched may hold faults that leave no trace
            return found._replace(cause="not_known")
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

    def silent(self) -> Explanation | None:
        """What is wrong although nothing raises and gradients arrive."""
        tensors = {
            self.name(t, f"tensor {i + 1}"): t for i, (_, t) in enumerate(self.tensors.values())
        }
        held = {
            n: (self.held[n], row.why if row.verdict == MOVES else "")
            for n, row in self.moves.items()
        }
        found = silent_faults(
            self.recording, tensors=tensors, models=self.titled, held=held, graph=self.graph
        )
        return found[0] if found else None

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

    def stepped(self, found: Explanation) -> Explanation:
        """With what the optimizers do to the parameters."""
        who = several(
            [self.called.get(id(o)) or f"this {type(o).__name__}" for o in self.optimizers]
        )
        trains = [r for r in self.moves.values() if r.requires_grad]
        stays = [
            r
            for r in trains
            if r.verdict == STAYS and r.group is not None and r.grad.startswith("up to")
        ]
        outside = [r for r in trains if r.group is None]
        zero = [r for r in trains if r.verdict == MOVES and r.grad == "zero"]
        results = [
            n for n, p in self.held.items() if not p.is_leaf and self.moves[n].group is not None
        ]
        if results:
            why = (
                "a step writes to it, not to the leaf behind it, and it gets no .grad unless it is"
                " retained."
            )
            verdict, mend = (
                f"{who} holds {_pattern(results)}: a result, not a leaf.",
                "give the optimizer the leaf.",
            )
            return found._replace(
                cause="non_leaf_in_optimizer", verdict=verdict, why=why, mend=mend, ruled_out=()
            )
        alien = len(self.modules) == 1 and len(outside) == sum(
            p.requires_grad for p in self.modules[0].parameters()
        )
        if found.cause in NO_FAULT and (stays or (outside and alien)):
            names = _pattern([r.name for r in stays or outside])
            why, mend = (
                (stays[0].why, "")
                if stays
                else (
                    f"{who} holds none of them",
                    "make the optimizer from this model's parameters.",
                )
            )
            return found._replace(
                cause="not_moved",
                verdict=f"{who}'s next step will not move {names}: {why}.",
                where="",
                why="",
                mend=mend,
                ruled_out=(),
                more=(),
            )
        told = [f"{who} does not hold {_pattern([r.name for r in outside])}."] if outside else []
        told += (
            [f"{who}'s next step moves {_pattern([r.name for r in zero])}: {zero[0].why}."]
            if zero
            else []
        )
        return found._replace(more=(*found.more, *told, *(table.verdict for table in self.tables)))

    def replaced(self) -> Explanation | None:
        """Parameters that took the place of some that an optimizer still holds."""
        modules, optimizers = (
            [*self.modules, *self.known_modules],
            [*self.optimizers, *self.known_optimizers],
        )
        live, held = {id(p): p for m in modules for p in m.parameters()}, held_by(optimizers)
        asked = live if self.optimizers and not self.modules else self.targets()
        new = [
            p
            for i, p in live.items()
            if i in asked and i not in held and p.requires_grad and p.grad is not None
        ]
        for optimizer in optimizers if new else ():
            own = held_by([optimizer]).keys()
            # those of a part that nobody here has a name for may still be in use
            old = own - live.keys()
            # of a model made anew
            alike = sorted(str(held[i].shape) for i in old) == sorted(str(p.shape) for p in new)
            if (own & live.keys() or alike) and old and all(held[i].grad is None for i in old):
                who = self.called.get(id(optimizer)) or f"this {type(optimizer).__name__}"
                names = _pattern([self.title(p, "a parameter") for p in new])
                ids = [i for p in new if (i := self.ids.get(id(p))) is not None]
                why = (
                    f"{who} holds {len(old)} parameters of no module known here: were they replaced"
                    " afterwards?"
                )
                mend = "make the optimizer when the model is complete, or add_param_group()."
                return self.not_held(names, why, mend, ids)
        return None

    def unheld(self, found: Explanation) -> Explanation:
        """Parameters that the loss reaches, and that no optimizer holds and no call wrote."""
        held = held_by([*self.optimizers, *self.known_optimizers])
        if held and (left := self.left_out(held)):
            return left
        if not self.recording or not held or found.cause not in NO_FAULT:
            return found
        paths = Paths(self.graph, [i for t in self.losses if (i := self.ids[id(t)]) is not None])
        reached = paths.facts.reachable(paths.roots)
        live = {
            id(t): (t, state)
            for t in self.recording.living()
            if (state := self.recording.find(t))
            and paths.facts.accumulate_node.get(state.object_id) in reached
        }
        modules = [*self.modules, *self.known_modules]
        parts = {id(p) for m in modules for p in m.parameters()}
        new = {
            i: state
            for i, (p, state) in live.items()
            if i not in held
            and p.requires_grad
            and p.grad is not None
            and isinstance(p, torch.nn.Parameter)
            and state.storage_id not in paths.facts.rewritten
        }
        rewritten = paths.facts.rewritten
        if not any(i in held and state.storage_id in rewritten for i, (_, state) in live.items()):
            return found  # no step of theirs was recorded
        if new.keys() <= parts:  # left out by intention?
            names = [self.called.get(i) or paths.words.name(f.id) for i, f in new.items()]
            told = (NOT_HELD.format(_pattern(names)) + ".",) if new and not self.optimizers else ()
            return found._replace(more=(*found.more, *told))
        new = {i: state for i, state in new.items() if i not in parts}
        places = {
            i: x
            for m in modules
            for i, x in _in_lists(m, self.called.get(id(m)) or type(m).__name__)
        }
        names = [
            places[i][0] if i in places else self.called.get(i) or paths.words.name(f.id)
            for i, f in new.items()
        ]
        lists = several(list(dict.fromkeys(places[i][1] for i in new if i in places)))
        why = f" {lists}: a plain list or dict, where parameters() does not look." if lists else ""
        mend = (
            "nn.ModuleList or ModuleDict, before the optimizer is made."
            if lists
            else "add_param_group()."
        )
        why = f"the loss reaches them, others were stepped, and no recorded call wrote them.{why}"
        return self.not_held(
            _pattern(names), why, f"if they are to learn: {mend}", [f.id for f in new.values()]
        )

    def left_out(self, held: Mapping[int, Any]) -> Explanation | None:
        """What gets a gradient of a model, another part of which is in an optimizer, while no
        optimizer has this."""
        paths = Paths(self.graph)
        for title, module in self.titled.items():
            own = {id(p): p for p in module.parameters() if p.requires_grad and p.is_leaf}
            states = {
                i: self.recording.find(p) if self.recording else None
                for i, p in own.items()
                if i not in held
            }
            states = {
                i: s
                for i, s in states.items()
                if (not s or s.storage_id not in paths.facts.rewritten)
                and (
                    own[i].grad is not None
                    or (s and paths.facts.accumulate_node.get(s.object_id) in paths.facts.ran)
                )
            }
            if not states or not own.keys() & held.keys():
                continue
            # One that has no name here may be an attribute of a trainer.
            every = held_by(
                [o for o in gc.get_objects() if issubclass(type(o), torch.optim.Optimizer)]
            )
            if left := [i for i in states if i not in every]:
                names = _pattern([self.title(own[i], "a parameter") for i in left])
                count = len(own.keys() & held.keys())
                why = f"of {len(own)} trainable parameters of {title} {count} are in an optimizer; "
                why += "these are in none that is alive, and get a gradient."
                mend = (
                    "if they are to learn, give them to the optimizer; else requires_grad_(False)."
                )
                return self.not_held(names, why, mend, [s.id for i in left if (s := states[i])])
        return None

    def not_held(self, names: str, why: str, mend: str, ids: list[int]) -> Explanation:
        verdict = f"{NOT_HELD.format(names)}: no step moves them."
        return Explanation(
            "not_moved", verdict, why=why, mend=mend, tensor_ids=tuple(ids), graph=self.graph
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
            if found.detail == "large" or found.cause not in ("healthy", "not_known")
            else None
        )

    def gradients(self) -> Explanation:
        ids = self.ids
        losses = [i for t in self.losses if (i := ids[id(t)]) is not None]
        asked = [self.asked(t, ids[id(t)]) for t in self.targets().values()]
        why = Gradients(self.graph, losses, *self.zeros(asked))
        dead = [self.asked(t, ids[id(t)]) for t in self.losses if not t.requires_grad]
        # besides them, others are only values
        weights = [a for a in asked if a.parameter or a.requires_grad] or asked
        if self.modules:  # besides those of a module, so are results
            weights = [a for a in weights if a.is_leaf or a.retains_grad] or weights
        told = [(a, why.explain(a)) for a in weights]
        if dead:
            return _no_grad_fn(self.graph, dead[0], told if asked else [])
        if not asked:
            return self.of_loss(why, losses)
        told = self.meant(told)
        found = (
            told[0][1] if len(told) == 1 else _grouped(told, why, "" if self.recording else UNSEEN)
        )
        if len(self.modules) > 1 and losses:
            reached = reach(
                {self.name(t, f"loss {i + 1}"): t for i, t in enumerate(self.losses)}, self.titled
            ).verdict
            found = found._replace(more=(*reached.splitlines(), *found.more[1:]))
        if self.unseen:
            what = "this loss" if self.losses else "any of this"
            found = found._replace(
                more=(*found.more, f"The recording given did not see {what}, so it was not used.")
            )
        return found

    def meant(self, told: list[tuple[Asked, Explanation]]) -> list[tuple[Asked, Explanation]]:
        """Where nothing was asked in particular: a teacher under no_grad that no optimizer holds is
        no fault."""
        held = held_by(self.known_optimizers)
        if self.subjects or not held or not any(e.cause in NO_FAULT for _, e in told):
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
                "modified_in_place", verdict, mend=mend, tensor_ids=tuple(losses), graph=self.graph
            )
        if why.unspent:
            verdict = f"{path[0].upper()}{path[1:]}; {why.unspent}."
            return Explanation("not_known", verdict, tensor_ids=tuple(losses), graph=self.graph)
        can = f"{path}; {why.spent}" if why.spent else f"{why.loss} can send gradients to {leaves}"
        return Explanation(
            "healthy", f"{start}: {can}.{unseen}", tensor_ids=tuple(losses), graph=self.graph
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


def _grouped(told: list[tuple[Asked, Explanation]], why: Gradients, unseen: str) -> Explanation:
    """One answer for many parameters: the fault that most of them share."""
    trains = [(a, e) for a, e in told if e.cause != "frozen"]
    # A bias whose contributions cancel is as it should be where the other parameters get a
    # gradient.
    alive = any(e.cause == "healthy" for _, e in trains)
    trains = [
        (a, e._replace(cause="healthy") if alive and e.detail == "cancels" else e)
        for a, e in trains
    ]
    faults = [(a, e) for a, e in trains if e.cause not in NO_FAULT]
    frozen = f", {len(told) - len(trains)} frozen" if len(trains) < len(told) else ""
    if not trains and all(e.detail == "frozen_now" for _, e in told):
        verdict = _tail(told[0][0], told[0][1].verdict)
        return told[0][1]._replace(verdict=f"{_pattern([a.name for a, _ in told])}: {verdict}")
    if not trains:
        return told[0][1]._replace(
            verdict=f"All {len(told)} parameters are frozen: none gets a gradient."
        )
    if not faults:
        start = "No fault is visible" if unseen else "Healthy"
        had = sum(e.detail == "done" for _, e in trains)
        word = f"have a gradient{f', or had one that was {DONE}' if had else ''}"
        word = f"had a gradient; it was {DONE}" if had == len(trains) else word
        verdict = (
            f"{start}: {len(trains)} of {len(trains)} trainable parameters {word}{frozen}.{unseen}"
        )
        zero = [e for _, e in trains if e.detail in ("zero_factor", "cancels")]
        first = zero[0] if zero else trains[0][1]
        more = tuple(e.verdict for e in zero[:1])
        return first._replace(verdict=verdict, tensor_ids=(), more=more, ruled_out=_by_all(trains))
    keys = [(e.cause, e.where, e.cause == "zero_gradient" and e.why) for _, e in faults]
    shared = Counter(keys).most_common(1)[0][0]
    group = [x for x, key in zip(faults, keys, strict=True) if key == shared]
    first, names = group[0][1], [a.name for a, _ in group]
    verdict = (
        first.verdict
        if len(group) == 1
        else f"{_pattern(names)}: {_tail(group[0][0], first.verdict)}"
    )
    reached = [
        why.reaches(a) or e.cause == "healthy" if why.losses else a.grad not in ("none", "zero")
        for a, e in trains
    ]
    hidden = sum(why.hidden(a) and not r for (a, _), r in zip(trains, reached, strict=True))
    rest = len(trains) - sum(reached) - hidden
    words = ("reached", "not") if why.losses else ("with a gradient", "without")
    numbers = f"{len(trains)} trainable parameters: {sum(reached)} {words[0]}, {rest} {words[1]}"
    numbers += (f", {hidden} not known" if hidden else "") + f"{frozen}."
    others = sorted({e.verdict for _, e in faults} - {e.verdict for _, e in group})
    cuts = tuple(dict.fromkeys(c for _, e in group for c in e.cuts))
    return first._replace(
        verdict=verdict, cuts=cuts, more=(numbers, *others[:1]), ruled_out=_by_all(group)
    )


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
    size = 1
    for column in columns:
        size *= len(column)
    wide = any(len(c) > 4 and not c[0].isdigit() for c in columns)
    if len({len(p) for p in parts}) > 1 or size != len(set(names)) or wide:
        inside = [c[0] for c in takewhile(lambda c: len(c) == 1, columns)] if len(names) > 3 else []
        return f"{len(names)} under {'.'.join(inside)}" if inside else several(names)
    words = ("*" if all(x.isdigit() for x in c) else "{" + ",".join(c) + "}" for c in columns)
    return ".".join(c[0] if len(c) == 1 else word for c, word in zip(columns, words, strict=True))


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
