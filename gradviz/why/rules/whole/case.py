"""What is proven of everything that was asked about: which of the answers about its gradients is
the answer, and what explains more than that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from functools import cached_property
from typing import Any

import torch

from gradviz.graph.findings import Cause, Level, Symptom
from gradviz.graph.records import Called, CutReason, GradvizError, Graph, Hooked, Raised, Tensor
from gradviz.graph.training import Did, line_of
from gradviz.names.statements import Statements
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.code.reading import with_parts
from gradviz.why.evidence.doubts import doubted, doubts, so_far, written_outside
from gradviz.why.evidence.handed_on import goes_on_as_it_is, plain_name
from gradviz.why.evidence.messages import (
    asks_for_graph,
    cause_of,
    is_of_broken_values,
    plain,
    read_error,
)
from gradviz.why.evidence.paths import Asked, Paths
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.question.failing import Spot, Starved, frames_of, starved
from gradviz.why.question.subjects import apart, held_by, of_kind, state_of
from gradviz.why.rules.errors.detaching import detaching
from gradviz.why.rules.errors.failure import Failure, call_at, recorded_error
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.many import HAD, Many, Told, pattern
from gradviz.why.rules.rule import Stage
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.rules.sizes import not_finite
from gradviz.why.rules.sizes.advice import QUOTIENTS
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.rules.whole import chosen_off, gone, targets
from gradviz.why.rules.whole.losses import Losses
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.why.survey.moving import MOVES
from gradviz.why.survey.reaching import REACHED, Reach, nth_loss, reach
from gradviz.words.speech import say

# torch's text about what has no gradient to start from
UNTRACKED = "element 0 of tensors does not require grad"
# forms of the answer that a gradient is there
ARRIVED = ("arrived", "arrived_unseen", "fine", "fine_unseen")

Prove = Callable[..., Iterator[Explanation]]  # as ``proven`` in ``why/answering/answer.py``

# errors of optimizers that are made, which no recorded call raises
_BY_CONSTRUCTORS = (Cause.NON_LEAF_IN_OPTIMIZER, Cause.NOT_A_PARAMETER)


class Case(Losses):
    """One question, and all that may answer it.

    Args:
        subjects, names, model, recording: what was asked about: see ``Subjects``.
        prove: tries the rules of another stage: the table stands above its rules.
        losses, grads: those of the tensors that surely are losses, and whose ``.grad`` is asked.
        bare: the reader named none of the subjects.
        ended: the error with which the recording ended, where it still stands: its line and names.
    """

    def __init__(
        self,
        subjects: tuple[Any, ...],
        names: Mapping[str, Any],
        model: Any,
        recording: Any,
        prove: Prove,
        losses: Iterable[Any] = (),
        grads: Iterable[Any] = (),
        bare: bool = False,
        ended: BaseException | None = None,
    ) -> None:
        super().__init__(subjects, names, model, recording, losses, grads, bare)
        self.ended = ended
        self.prove = prove
        self.told: Told = []  # the answer about each tensor

    # --- an error ---------------------------------------------------------------------------------

    def failure(self, error: BaseException | None) -> Failure | None:
        """Return an error that was given, or with which the recording ended."""
        event = ended_with(self.graph)
        if error is not None:
            event = None
            kind, text = read_error(error)
        elif event is not None and is_of_broken_values(event.message):
            return None  # what made the values so is told, as of a recording that went on
        elif event is not None:
            kind, text = event.error, event.message
            error = self.ended
        elif self.ended is not None and cause_of(read_error(self.ended)[1]) in _BY_CONSTRUCTORS:
            error = self.ended
            kind, text = read_error(error)
        else:
            return None
        graph, parameters = self.where_it_raised(text)
        flags = {n: bool(p.requires_grad) for n, p in parameters}
        statements = Statements.of(self.given_recording)
        return Failure(
            kind,
            plain(text),
            graph,
            raised=event,
            flags=flags,
            starved=None if error is None else _starved(error, text, self.given_recording),
            optimizers=self.objects_of_optimizers(graph, error),
            failed=None if error is None else FailedLine(error, statements),
            detaching=detaching(lambda: [] if error is None else frames_of(error)),
            statements=statements,
            find=self._state_in(graph),
        )

    def _state_in(self, graph: Graph) -> Callable[[Any], Tensor | None]:
        """Return what tells, of a living tensor, its last state in a graph."""
        recording = self.given_recording

        def find(tensor: Any) -> Tensor | None:
            known = None if recording is None else recording.find(tensor)
            found = None if known is None else graph.tensor.get(known.id)
            same = found is not None and known is not None and found.object_id == known.object_id
            return found if same else None

        return find

    def objects_of_optimizers(
        self, graph: Graph, error: BaseException | None = None
    ) -> list[set[int]]:
        """Return what each optimizer has, that a variable knows, as objects of a graph: also one of
        the functions that an error went through."""
        recording = self.given_recording
        if recording is None:
            return []
        frames = [] if error is None else frames_of(error)
        local = (value for frame in frames for value in with_parts(frame.names).values())
        known = [*self.known_optimizers, *of_kind(local, torch.optim.Optimizer)]
        sets = []
        for optimizer in {id(o): o for o in known}.values():
            states = map(recording.find, held_by([optimizer]).values())
            ids = (state.id for state in states if state is not None)
            sets.append({graph.tensor[i].object_id for i in ids if i in graph.tensor})
        return sets

    def expected_gradient(self, found: Explanation, failure: Failure) -> bool:
        """Say whether None stood where a gradient was expected: why it is None is the question."""
        unknown = found.cause is Cause.NOT_KNOWN and "NoneType" in failure.text
        return unknown and bool(self.asked_tensors)

    def where_it_raised(self, text: str) -> tuple[Graph, list[tuple[str, Any]]]:
        """Return the graph in which an error was raised, and the parameters that belong to it."""
        parameters = [(n, p) for m in self.modules for n, p in named_parameters(m)]
        recording = self.given_recording
        if self.recording or recording is None:
            # Without a recording backward's own tensor is known only where it was given: a
            # parameter did not raise.
            known = self.recording or self.asked_tensors
            return (self.graph if known else Graph()), parameters
        is_of_constructor = self.ended is not None and cause_of(text) in _BY_CONSTRUCTORS
        if is_of_constructor or recorded_error(recording.graph, text) is not None:
            # What was asked about besides is not of this recording, but the error is.
            own = [(n, p) for n, p in parameters if recording.find(p) is not None]
            return self.renamed(recording), own
        return (self.graph if self.asked_tensors else recording.graph), parameters

    # --- gradients: what each rule needs ----------------------------------------------------------

    @cached_property
    def gradients(self) -> Gradients:
        """What is proven of them one by one."""
        zeros, still = self.zeros(self.targets_asked)
        code = Statements.of(self.given_recording)
        return Gradients(self.graph, self.loss_ids, zeros, still, self.training, code)

    @property
    def weights(self) -> list[Asked]:
        """Those that are to get a gradient; all where none is."""
        asked = self.targets_asked
        # besides them, others are only values
        weights = [a for a in asked if a.parameter or a.requires_grad] or asked
        if self.modules:  # besides those of a module, so are results
            return [a for a in weights if a.is_leaf or a.retains_grad] or weights
        return weights

    @cached_property
    def many(self) -> Many:
        """The answers that are to be told."""
        was_recorded = self.recording is not None
        beside = self._in_no_module()
        return Many(self.meant, self.gradients, was_recorded, self._kept_aside(), beside)

    def _in_no_module(self) -> list[str]:
        """Return the names of the leaves that the known optimizers hold and no known module has,
        where the question names nothing and so counts those of modules."""
        if self.in_particular or not self.modules:
            return []
        of_modules = {id(p) for m in self.known_modules for _, p in named_parameters(m)}
        leaves = held_by(self.known_optimizers)
        others = {i: p for i, p in leaves.items() if i not in of_modules | self.targets().keys()}
        return [name for p in others.values() if p.requires_grad and (name := self.name(p, ""))]

    def _kept_aside(self) -> Told:
        """Return the answers about leaves that are not told, as cuts keep these off on purpose."""
        told = {a.tensor_id for a, _ in self.meant}
        rest = ((a, e) for a, e in self.told if a.tensor_id not in told and a.is_leaf)
        return [(a, e) for a, e in rest if a.requires_grad and a.grad == "none" and e.cuts]

    @cached_property
    def meant(self) -> Told:
        """Those answers that are to be told: where nothing was asked in particular, a teacher under
        no_grad that no optimizer holds is no fault."""
        told = targets.without_targets(self, self.told, self.gradients)
        told = targets.without_copied(self, told, self.gradients)
        told = targets.trained_apart(self, told, self.gradients)
        told = targets.in_turn(told, self.gradients)
        told = chosen_off.without_chosen(self, told)
        told = targets.without_results(self, told, self.gradients)
        told = targets.without_returned(self, told)
        alone = self._held_by_none()
        if self.in_particular or not alone or not any(_is_fine(e) for _, e in told):
            return told
        off = {CutReason.NO_GRAD, CutReason.INFERENCE_MODE}
        return [
            (a, e)
            for a, e in told
            if not (a.tensor_id in alone and e.cuts and {c.reason for c in e.cuts} <= off)
        ]

    def _held_by_none(self) -> set[int | None]:
        """Return the ids of what no optimizer has, of those that a variable holds and those that
        stepped; none where no optimizer is known."""
        held, of_steps = held_by(self.known_optimizers), {*self.graph.held}
        if not held and not of_steps:
            return set()
        tensor = self.graph.tensor
        found = {i for own, i in self.ids.items() if own not in held}
        return {i for i in found if i is None or tensor[i].object_id not in of_steps}

    @cached_property
    def untracked(self) -> list[Any]:
        """The losses that are not tracked themselves."""
        return [t for t in self.losses if not t.requires_grad]

    def nothing_is_alive(self) -> bool:
        """Say whether nothing was given that is alive."""
        return not self.given

    def only_losses_asked(self) -> bool:
        """Say whether no gradient is asked for."""
        return not self.targets_asked

    def tensors_asked(self, found: Explanation) -> bool:
        """Say whether the answer is about gradients that are asked for."""
        return bool(self.targets_asked) and not self.untracked

    # --- which answer is the answer ---------------------------------------------------------------

    def past_backward(self) -> Explanation:
        """Tell of a backward that was seen, where nothing of it is alive."""
        gradients = Gradients(self.graph)
        if not gradients.losses:
            given = ", ".join(self.given_words) or "nothing"
            raise GradvizError(
                f"explain() was given {given}: there is nothing to read there; expected a tensor, a"
                " loss, a module or an optimizer (a generator can be read only once)"
            )
        found = self.of_loss(gradients, gradients.losses)
        if found.cause is not Cause.HEALTHY:
            return found
        return self.with_doubts(found, Gradients(self.graph, gradients.losses), ())

    def of_what_is_gone(self) -> Explanation | None:
        """Tell of what the last iteration trained, as the recording saw it last."""
        asked = gone.weights(self.graph, self.training)
        zeros, still = gone.all_zeros(self.graph, asked)
        code = Statements.of(self.given_recording)
        gradients = Gradients(self.graph, (), zeros, still, self.training, code)
        self.gradients = gradients
        for one in asked:
            since = gradients.filling(one)
            proofs = self.prove(Stage.GRADIENT, since.symptom(one), since, one)
            proof = next(proofs)
            if proof.cause is not Cause.NOT_KNOWN:  # of what is gone, nothing more will be known
                self.told.append((one, proof))
        if not self.told or self.recording is None:
            return None
        held = self.recording.held_at_steps()
        self.told = targets.in_turn(gone.without_meant(self.told, held, gradients), gradients)
        ways = (self.only_one, self.all_frozen, self.all_fine)
        return next((told for way in ways if (told := way()) is not None), None) or self.gravest()

    def untracked_loss(self) -> Explanation | None:
        """Tell of a loss that is not tracked itself: nothing can train."""
        if not self.untracked:
            return None
        loss = self.untracked[0]
        asked = self.asked(loss, self.ids[id(loss)])
        optimizers = self.objects_of_optimizers(self.graph)
        failure = Failure("", UNTRACKED, self.graph, root_id=asked.tensor_id, optimizers=optimizers)
        found = next(self.prove(Stage.ERROR, Symptom.RAISED, failure))
        trains = any(self.training.sums_used.values())
        # then it is perhaps no loss, but a metric
        if trains or any(a.grad == "some" for a, _ in self.told):
            verdict = self.answer(Cause.NO_GRAD_FN, "cannot_start", loss=asked.name)
        else:
            verdict = self.answer(Cause.NO_GRAD_FN, "nothing_trains", loss=asked.name)
        wanted = [a.name for a, _ in self.told if a.requires_grad and a.is_leaf]
        more = [say("entry.none_reached", n=len(wanted), names=pattern(wanted))] if wanted else []
        return found._replace(
            verdict=verdict.verdict,
            finding=verdict.finding,
            more=tuple(more),
            mend=found.mend or ("" if self.graph.calls else say("path.record")),
        )

    def loss_alone(self) -> Explanation:
        """Tell of a loss alone: what it can send gradients to."""
        return self.of_loss(self.gradients, self.loss_ids)

    def only_one(self) -> Explanation | None:
        """Tell of the only tensor."""
        return self.meant[0][1] if len(self.meant) == 1 else None

    def all_frozen(self) -> Explanation | None:
        """Tell that none of several is to get a gradient."""
        return self.many.all_frozen()

    def all_fine(self) -> Explanation | None:
        """Tell that each of several has its gradient, or had it."""
        return self.many.all_fine()

    def gravest(self) -> Explanation:
        """Tell of the gravest fault of several."""
        return self.many.gravest()

    def of_loss(self, gradients: Gradients, losses: list[int]) -> Explanation:
        """Tell of a loss alone: what it can send gradients to."""
        loss = gradients.loss
        leaves = gradients.leaves_of(Asked("", losses[0], True, False))
        ran = not gradients.roots.isdisjoint(self.facts.runs_started_at)
        raises = _holds_what_was_written(gradients) and not ran
        if raises or gradients.unspent:
            return self.answer(
                Cause.MODIFIED_IN_PLACE if raises else Cause.NOT_KNOWN,
                "graph_of_loss",
                tensor_ids=losses,
                loss=loss,
                leaves=leaves,
                reason=gradients.spent if raises else gradients.unspent,
            )
        if gradients.spent:
            holder = None if gradients.used_up else gradients.holder_of_written
            reason = gradients.spent
            if holder is not None:
                reason = say("gradient.saved_written_since", node=holder.name)
            what = say("entry.loss_led_to", loss=loss, leaves=leaves, reason=reason)
        else:
            what = say("entry.loss_can_send", loss=loss, leaves=leaves)
        return self.answer(
            Cause.HEALTHY,
            "fine_loss" if self.recording else "fine_unseen",
            tensor_ids=losses,
            what=what,
        )

    # --- second looks: each may displace the answer so far ----------------------------------------

    def with_reached(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with what each loss reaches of several modules."""
        several = len(self.modules) > 1 or (self.modules and len(self.losses) > 1)
        if not several or not self.loss_ids:
            return None
        losses = {self.name(t, nth_loss(i)): t for i, t in enumerate(self.losses)}
        reaches = reach(losses, self.titled)
        if any(row.is_frozen_since for row in reaches.rows):
            return None  # what it reached then, no backward reaches now
        reached = reaches.verdict
        if len(losses) == 1 and (earlier := self._reached_earlier(reaches)):
            loss = next(iter(losses))
            reached = say("reach.of_last_loss", loss=loss, counts=reached, names=earlier)
        elif len(losses) == 1 and self._has_losses_besides():
            reached = say("reach.of_loss", loss=next(iter(losses)), counts=reached)
        # it says more than the numbers do
        rest = found.more if found.cause.level is Level.FINE else found.more[1:]
        return found._replace(more=(*reached.splitlines(), *rest))

    def _reached_earlier(self, reaches: Reach) -> list[str]:
        """Return the modules of which the loss reaches nothing, and an earlier one of its line did:
        a loop that trains one network after the other."""
        reached = {row.module for row in reaches.rows if row.verdict == REACHED}
        rest = dict.fromkeys(row.module for row in reaches.rows if row.module not in reached)
        return [name for name in rest if name in self.titled and self._was_filled(name)]

    def _was_filled(self, name: str) -> bool:
        """Say whether a backward of the loss' line gave parameters of a module their gradients."""
        backwards = (self.graph.call[b.call_id] for b in self.graph.backwards)
        lines = {line_of(c) for c in backwards if not {*c.inputs[:1]}.isdisjoint(self.loss_ids)}
        states = map(self.live_state.object_of, parameters(self.titled[name]))
        moments = (self.training.moments.get(i, []) for i in states if i is not None)
        added = (m.call for every in moments for m in every if m.did is Did.ADDED)
        return any(line_of(call) in lines for call in added)

    def _has_losses_besides(self) -> bool:
        """Say whether backwards began in several lines: then what one of them reaches is not what
        is reached."""
        backwards = (self.graph.call[b.call_id] for b in self.graph.backwards)
        return len({line_of(call) for call in backwards}) > 1

    def with_unused_recording(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with a recording that was of no use."""
        if not self.has_unused_recording:
            return None
        note = say("entry.loss_not_recorded" if self.losses else "entry.nothing_recorded")
        return found._replace(more=(*found.more, note))

    def may_be_meant(self, found: Explanation) -> bool:
        """Say whether the answer so far is no fault that nobody can have meant."""
        return found.cause.level <= Level.SUSPECT

    def numbers_are_bad(self, found: Explanation) -> bool:
        """Say whether the answer so far is about zeros or NaN."""
        return found.cause in (Cause.ZERO_GRADIENT, Cause.NAN)

    def wrong_numbers(self, found: Explanation) -> Explanation | None:
        """Tell what made numbers wrong: wrong ones may well be zeros. What may be meant explains
        neither zeros nor NaN better than the answer so far."""
        proofs = self.prove(Stage.SILENT, Symptom.SOME, self.live_state)
        return next((proof for proof in proofs if proof.cause.level is Level.FAULT), None)

    def hides_more(self, found: Explanation) -> bool:
        """Say whether something graver may be behind the answer so far; not where a result's
        ``.grad`` was read, which is None whatever else is wrong."""
        if found.cause is Cause.NON_LEAF and self.sure_grads:
            return False
        if found.cause.level <= Level.NOTE or found.form == "result_in_no_loss":
            return True
        losses = {id(t) for t in self.losses}
        # a tensor that asks for no gradient may be a snapshot
        return any(not t.requires_grad and i not in losses for i, (_, t) in self.tensors.items())

    def silent(self, found: Explanation) -> Explanation | None:
        """Tell what is wrong although nothing raises and gradients arrive."""
        return next(self.prove(Stage.SILENT, None, self.live_state), None)

    def stays_a(self, spot: Spot) -> Explanation:
        """Tell of a tensor that a module holds and that is no parameter."""
        calls = [call_at(source) for source in spot.source]
        told = self.answer(
            Cause.NOT_A_PARAMETER,
            "buffer_stays" if spot.form == "buffer" else "tensor_stays",
            name=spot.name,
            attribute=spot.attribute,
        )
        return told._replace(where=self.words.places(calls), lines=lines_of(calls))

    @cached_property
    def live_state(self) -> Silent:
        """What is asked about as it is alive now."""
        tensors = {
            self.name(t, say("entry.nth_tensor", n=i + 1)): t
            for i, (_, t) in enumerate(self.tensors.values())
        }
        held = {
            n: (self.held[n], row.reason if row.verdict == MOVES else "")
            for n, row in self.moves.items()
            if n in self.held  # the optimizers of a program may hold more than was asked about
        }
        others = [*self.optimizers, *self.known_optimizers, *self.modules, *self.known_modules]
        others += self.bare_modules  # which may have buffers
        each_once = {id(o): o for o in others}.values()
        known = dict(apart((self.called.get(id(o)) or type(o).__name__, o) for o in each_once))
        return Silent(
            self.recording,
            tensors,
            self.titled,
            held,
            self.graph,
            known,
            self.statements,
            bare=not self.in_particular,
        )

    def size_matters(self, found: Explanation) -> bool:
        """Say whether the size of gradients may explain more than the answer so far."""
        return found.cause in (Cause.HEALTHY, Cause.NAN) or _all_zeros(found)

    @cached_property
    def sizes(self) -> Sizes:
        """How large the gradients are that are asked about."""
        asked = zip(self.targets_asked, self.targets().values(), strict=True)
        live = _by_name([(a.name, t) for a, t in asked if a.grad != "none"])
        return Sizes(live, self.recording)

    def wrong_size(self, found: Explanation) -> Explanation | None:
        """Tell of gradients that are too small, too large, or not numbers; of zeros only why they
        are."""
        size = next(self.prove(Stage.SIZE, Symptom.SOME, self.sizes))
        if _all_zeros(found):
            return size if size.cause is Cause.UNDERFLOW or _is_by_zero(size) else None
        if size.form == "large" and found.odd:  # what is odd explains more than that it is large
            return found._replace(more=(size.verdict, *found.more))
        if size.form == "large" or size.cause not in (Cause.HEALTHY, Cause.NOT_KNOWN):
            return size
        return None

    def named_nothing(self, found: Explanation) -> bool:
        """Say whether the reader named none of the subjects, and nothing graver was found."""
        return not self.in_particular and found.cause.level <= Level.SUSPECT

    def returned_broken(self, found: Explanation) -> Explanation | None:
        """Tell of gradients that autograd.grad returned and that are NaN or infinite."""
        if self.recording is None:
            return None
        living = self.recording.living_states()
        returned, leaves = dict[str, Any](), dict[str, Any]()
        for run in (b for b in self.graph.backwards if b.kind == "grad"):
            outputs = self.graph.call[run.call_id].outputs
            for (i, _), made in zip(run.returned, outputs, strict=False):
                gradient, of = living.get(made), self.graph.tensor[i]
                if gradient is not None and state_of(gradient) == "nan":
                    name = of.code_name or say("entry.this_tensor")
                    returned[name], leaves[name] = gradient, living.get(i)
        if not returned:
            return None
        sizes = Sizes({n: t for n, t in leaves.items() if t is not None}, self.recording, returned)
        return not_finite.broken(sizes)

    def leaves_are_fine(self, found: Explanation) -> bool:
        """Say whether no fault was found of the leaves behind a loss, which the reader did not
        name."""
        is_bare = not self.in_particular and not self.modules and bool(self.losses)
        return is_bare and found.cause is Cause.HEALTHY and found.form in ARRIVED

    def with_leaves_told(self, found: Explanation) -> Explanation:
        """Return an answer that found no fault, told of the loss and of all leaves behind it."""
        names = [a.name for a, _ in self.meant]
        had = sum(e.form in HAD for _, e in self.meant)
        loss, n = self.gradients.loss, len(names)
        what = say("entry.leaves_have", loss=loss, leaves=names, n=n)
        if had:
            what = say("entry.leaves_had", loss=loss, leaves=names, n=n, rest=n - had)
        told = self.answer(Cause.HEALTHY, "fine" if self.recording else "fine_unseen", what=what)
        return found._replace(verdict=told.verdict, why=told.why, finding=told.finding)

    def with_passed_over(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with what was given and has no gradient."""
        if not self.passed_over:
            return None
        kinds = list(dict.fromkeys(self.passed_over))
        return found._replace(
            more=(*found.more, say("entry.passed_over", kinds=kinds, n=len(kinds)))
        )

    def with_chosen(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with what a switch of the program keeps off."""
        return chosen_off.with_chosen(self, self.told, found)

    def is_healthy(self, found: Explanation) -> bool:
        """Say whether no fault was found."""
        return found.cause is Cause.HEALTHY

    def with_constants(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with what went into the loss from autograd.grad and has no graph
        of its own."""
        paths = self.paths
        runs = [b for b in self.graph.backwards if b.kind == "grad"]
        behind = paths.flow.behind & self._behind_backwards(paths)
        constants = [
            i
            for run in runs
            for i in self.graph.call[run.call_id].outputs
            if i in behind and not self.graph.tensor[i].requires_grad
            if goes_on_as_it_is(self.facts, i, paths.losses)
        ]
        if not constants:
            return None
        names = list(dict.fromkeys(map(paths.words.name, constants)))
        loss = paths.losses_holding(constants)
        if all(asks_for_graph(self.graph.call[b.call_id]) for b in runs):
            line = say("entry.constant_slopes", loss=loss, names=names)
        else:
            line = say("entry.constants", loss=loss, names=names)
        return self.beside(found, line)

    def _behind_backwards(self, paths: Paths) -> Set[int]:
        """Return the tensors behind the losses that backward() was called on, where it was called:
        what an evaluation adapts by autograd.grad is to train nothing."""
        calls = [self.graph.call[b.call_id] for b in self.graph.backwards if b.kind == "backward"]
        if not calls:
            return paths.flow.behind
        return self.facts.ancestors(i for call in calls for i in call.inputs[:1])

    def as_far_as_seen(self, found: Explanation) -> Explanation:
        """Return the same answer, with what nobody looked at."""
        if not self.recording:  # what nobody watched may hold faults that leave no trace
            return found._replace(cause=Cause.NOT_KNOWN)
        return self.with_doubts(found, Gradients(self.graph, self.loss_ids), self.target_ids)

    def odd_beside(self, found: Explanation) -> bool:
        """Say whether something odd stands beside an answer that found no fault."""
        return found.finding.cause is Cause.HEALTHY and bool(found.odd)

    def odd_first(self, found: Explanation) -> Explanation:
        """Return the same answer, what is odd said before what was found to be there."""
        first, *rest = found.odd
        displaced = (text for text in (found.verdict, found.why) if text)
        more = (*displaced, *found.more)
        return found._replace(
            verdict=first, why="", mend="", odd=tuple(rest), more=more, is_observed=True
        )

    def with_doubts(
        self, healthy: Explanation, paths: Gradients, target_ids: Iterable[int]
    ) -> Explanation:
        """Return an answer that found no fault, with what was not looked at."""
        unread = doubts(paths, target_ids)
        if unread:
            return doubted(healthy, unread)
        if self.recording is None:
            return healthy
        outside = written_outside(
            paths, target_ids, self.recording.handed_out(), self.recording.read_last()
        )
        return so_far(healthy, outside) if outside else healthy


def _by_name(tensors: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return tensors by name; those that one variable of a loop was, one after the other, are
    counted."""
    times = Counter(name for name, _ in tensors)
    seen = Counter[str]()
    named = {}
    for name, tensor in tensors:
        seen[name] += 1
        several = times[name] > 1
        named[say("entry.nth_of_name", name=name, n=seen[name]) if several else name] = tensor
    return named


def _is_by_zero(size: Explanation) -> bool:
    """Say whether a division made a loss NaN: zeros are what a mask leaves of its gradient."""
    divided = any(plain_name(c.function) in QUOTIENTS for c in size.finding.calls)
    return size.cause is Cause.NAN and divided


def _all_zeros(found: Explanation) -> bool:
    """Say whether an answer is about zeros whose origin is not, or not all, proven."""
    unproven = found.cause in (Cause.ZERO_GRADIENT, Cause.NOT_KNOWN)
    return unproven and found.form in ("zero", "cancels")


def _is_fine(answer: Explanation) -> bool:
    """Say whether an answer names no fault."""
    return answer.cause.level is Level.FINE


def _holds_what_was_written(gradients: Gradients) -> bool:
    """Say whether another backward would raise, because what it saved was written in place."""
    return not gradients.used_up and gradients.holder_of_written is not None


def _starved(error: BaseException, text: str, recording: Any) -> Starved | None:
    """Return what is known of the module that had no parameters to hand over, or took something
    else in the place of one; None of another error."""
    return starved(error, recording) if cause_of(text) is Cause.NOT_A_PARAMETER else None


def ended_with(graph: Graph) -> Raised | None:
    """Return the error with which a recording ended; None where a call ran after it."""
    last = [e for e in graph.events if isinstance(e, (Raised, Called, Hooked))][-1:]
    return last[0] if last and isinstance(last[0], Raised) else None
