"""Which answer is given to what was asked: an error first, then gradients, then whatever explains
the same better."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Called, CutReason, GradvizError, Graph, Hooked, Raised
from gradviz.why.doubts import doubted, doubts, so_far, written_outside
from gradviz.why.explanation import Explanation
from gradviz.why.many import Told, grouped, pattern
from gradviz.why.moving import MOVES
from gradviz.why.paths import Asked, Paths
from gradviz.why.reaching import nth_loss, reach
from gradviz.why.rules.gradient import Gradients
from gradviz.why.rules.optimizers import Optimizers
from gradviz.why.rules.raised import explain_error, read_error, recorded_error
from gradviz.why.rules.rule import Rule, looked_at_again
from gradviz.why.rules.silent import silent_faults
from gradviz.why.rules.small import explain_small
from gradviz.why.subjects import held_by
from gradviz.words.speech import say


class Case(Optimizers):
    """One question, and all that may answer it."""

    def raised(self, error: BaseException | None) -> Explanation | None:
        """Explain an error that was given, or with which the recording ended."""
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
            missing = self.explain()
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

    def explain(self) -> Explanation:
        """Tell of gradients first, then of what explains the same better."""
        if not self.given:
            return self.of_past_backward()
        return looked_at_again(SECOND_LOOKS, self, self.of_gradients())

    # --- gradients --------------------------------------------------------------------------------

    def of_gradients(self) -> Explanation:
        """Tell why each gradient that is asked about is what it is."""
        asked = [self.asked(t, self.ids[id(t)]) for t in self.targets().values()]
        gradients = Gradients(self.graph, self.loss_ids, *self.zeros(asked))
        told = [(a, gradients.explain(a)) for a in self.weights(asked)]
        untracked = [t for t in self.losses if not t.requires_grad]
        if untracked:
            return self.of_untracked(self.asked(untracked[0], self.ids[id(untracked[0])]), told)
        if not asked:
            return self.of_loss(gradients, self.loss_ids)
        told = self.meant(told)
        if len(told) == 1:
            found = told[0][1]
        else:
            found = grouped(told, gradients, was_recorded=self.recording is not None)
        return self.with_unused_recording(self.with_reached(found))

    def weights(self, asked: list[Asked]) -> list[Asked]:
        """Return those that are to get a gradient; all where none is."""
        # besides them, others are only values
        weights = [a for a in asked if a.parameter or a.requires_grad] or asked
        if self.modules:  # besides those of a module, so are results
            return [a for a in weights if a.is_leaf or a.retains_grad] or weights
        return weights

    def meant(self, told: Told) -> Told:
        """Return those answers that are to be told: where nothing was asked in particular, a
        teacher under no_grad that no optimizer holds is no fault."""
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

    def of_untracked(self, loss: Asked, told: Told) -> Explanation:
        """Tell of a loss that is not tracked itself: nothing can train."""
        error = "element 0 of tensors does not require grad"
        found = explain_error("", error, self.graph, root_id=loss.tensor_id)
        if any(a.grad == "some" for a, _ in told):  # then it is perhaps no loss, but a metric
            verdict = self.answer(Cause.NO_GRAD_FN, "cannot_start", loss=loss.name)
        else:
            verdict = self.answer(Cause.NO_GRAD_FN, "nothing_trains", loss=loss.name)
        wanted = [a.name for a, _ in told if a.requires_grad and a.is_leaf]
        more = [say("entry.none_reached", n=len(wanted), names=pattern(wanted))] if wanted else []
        return found._replace(
            verdict=verdict.verdict,
            finding=verdict.finding,
            more=tuple(more),
            mend=found.mend or ("" if self.graph.calls else say("path.record")),
        )

    def of_loss(self, gradients: Gradients, losses: list[int]) -> Explanation:
        """Tell of a loss alone: what it can send gradients to."""
        loss = gradients.loss
        leaves = gradients.leaves_of(Asked("", losses[0], True, False))
        raises = _holds_what_was_written(gradients)
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
            what = say("entry.loss_led_to", loss=loss, leaves=leaves, reason=gradients.spent)
        else:
            what = say("entry.loss_can_send", loss=loss, leaves=leaves)
        return self.answer(
            Cause.HEALTHY,
            "fine" if self.recording else "fine_unseen",
            tensor_ids=losses,
            what=what,
        )

    def of_past_backward(self) -> Explanation:
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

    def with_reached(self, found: Explanation) -> Explanation:
        """Return the same answer, with what each loss reaches of several modules."""
        if len(self.modules) < 2 or not self.loss_ids:
            return found
        losses = {self.name(t, nth_loss(i)): t for i, t in enumerate(self.losses)}
        reached = reach(losses, self.titled).verdict
        return found._replace(more=(*reached.splitlines(), *found.more[1:]))

    def with_unused_recording(self, found: Explanation) -> Explanation:
        """Return the same answer, with a recording that was of no use."""
        if not self.has_unused_recording:
            return found
        note = say("entry.loss_not_recorded" if self.losses else "entry.nothing_recorded")
        return found._replace(more=(*found.more, note))

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
        """Tell what made numbers wrong: wrong ones may well be zeros."""
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

    def silent(self, found: Explanation | None = None) -> Explanation | None:
        """Tell what is wrong although nothing raises and gradients arrive."""
        tensors = {
            self.name(t, say("entry.nth_tensor", n=i + 1)): t
            for i, (_, t) in enumerate(self.tensors.values())
        }
        held = {
            n: (self.held[n], row.reason if row.verdict == MOVES else "")
            for n, row in self.moves.items()
        }
        faults = silent_faults(
            self.recording, tensors=tensors, models=self.titled, held=held, graph=self.graph
        )
        return faults[0] if faults else None

    def nothing_wrong(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, or have not come yet."""
        return found.cause.level is Level.FINE or found.cause is Cause.NO_BACKWARD_YET

    def size_matters(self, found: Explanation) -> bool:
        """Say whether the size of gradients may explain more than the answer so far."""
        return found.cause in (Cause.HEALTHY, Cause.NAN) or _all_zeros(found)

    def wrong_size(self, found: Explanation) -> Explanation | None:
        """Tell of gradients that are too small or too large; of zeros only why they are."""
        small = self.small()
        if small is None or (_all_zeros(found) and small.cause is not Cause.UNDERFLOW):
            return None
        return small

    def small(self) -> Explanation | None:
        """Tell of gradients that are too small, too large, or not numbers."""
        asked = [(self.asked(t, self.ids[id(t)]), t) for t in self.targets().values()]
        live = {a.name: t for a, t in asked if a.grad != "none"}
        found = explain_small(live, self.recording)
        if found.form == "large" or found.cause not in (Cause.HEALTHY, Cause.NOT_KNOWN):
            return found
        return None

    def is_healthy(self, found: Explanation) -> bool:
        """Say whether no fault was found."""
        return found.cause is Cause.HEALTHY

    def with_constants(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with what went into the loss from autograd.grad and has no graph
        of its own."""
        paths = Paths(self.graph, self.loss_ids)
        runs = [b for b in self.graph.backwards if b.kind == "grad"]
        made = [i for run in runs for i in self.graph.call[run.call_id].outputs]
        constants = [
            paths.words.name(i)
            for i in made
            if i in paths.flow.behind and not self.graph.tensor[i].requires_grad
        ]
        if not constants:
            return None
        names = list(dict.fromkeys(constants))
        return found._replace(
            more=(*found.more, say("entry.constants", loss=paths.loss, names=names))
        )

    def as_far_as_seen(self, found: Explanation) -> Explanation:
        """Return the same answer, with what nobody looked at."""
        if not self.recording:  # what nobody watched may hold faults that leave no trace
            return found._replace(cause=Cause.NOT_KNOWN)
        return self.with_doubts(found, Gradients(self.graph, self.loss_ids), self.target_ids)

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


# What may displace an answer about gradients, in this order: see NOTE [one table].
SECOND_LOOKS: tuple[Rule[[Case, Explanation]], ...] = (
    Rule(Case.stepped, when=Case.steps_asked),
    Rule(Case.replaced, when=Case.may_be_meant),
    Rule(Case.wrong_numbers, when=Case.numbers_are_bad),
    Rule(Case.silent, when=Case.hides_more),
    Rule(Case.unheld, when=Case.nothing_wrong),
    Rule(Case.wrong_size, when=Case.size_matters),
    Rule(Case.with_constants, when=Case.is_healthy),
    Rule(Case.as_far_as_seen, when=Case.is_healthy),
)


def _all_zeros(found: Explanation) -> bool:
    """Say whether an answer is about zeros whose origin is not, or not all, proven."""
    unproven = found.cause in (Cause.ZERO_GRADIENT, Cause.NOT_KNOWN)
    return unproven and found.form in ("zero", "cancels")


def _holds_what_was_written(gradients: Gradients) -> bool:
    """Say whether another backward would raise, because what it saved was written in place."""
    return not gradients.used_up and gradients.holder_of_written is not None
