"""Why is this ``.grad`` None, zero or unchanged: from a graph and the flags of the tensor. Knows no
torch.

NOTE [what is proven]: a recording knows every call, so it proves where a path was cut, and that a
tensor was not used.
A graph that was only read has no calls: it proves that no path leads to a tensor, never why there
is none. Notes and stubs say that something is missing; then "never" is not claimed.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from gradviz.graph.findings import Cause, Symptom
from gradviz.graph.records import Call, Cut, CutReason, NodeKind, SavedState, Tensor
from gradviz.why.doubts import unspent
from gradviz.why.explanation import Explanation
from gradviz.why.messages import in_reentrant_checkpoint, repair, usual_repair
from gradviz.why.paths import NOT_IN_LOSS, RECORD, Asked
from gradviz.why.rules import Rule, first_proven
from gradviz.why.zeros import Zeros
from gradviz.words.speech import say, several

DONE = "cleared after the step"
UNSEEN = " Without a recording no more than that is known."
OF_CUTS = {
    CutReason.COPIED_OUT: Cause.REBUILT_FROM_VALUE,
    CutReason.NO_GRAD_WRITE: Cause.NO_GRAD_WRITE,
}
SCALING = {
    "to",
    "cuda",
    "cpu",
    "double",
    "float",
    "half",
    "bfloat16",
    "type",
    "mul",
    "div",
    "clone",
    "contiguous",
}


class Gradients(Zeros):
    """Answers for many tensors of one graph.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> Gradients(Graph()).explain(Asked("x", None, False, True)).cause
        'never_tracked'
    """

    def explain(self, asked: Asked) -> Explanation:
        """Return the first cause that the table proves, or that none of it is proven."""
        if (since := self.since_cleared(asked)) is not None:
            return since.explain(asked)
        found = first_proven(RULES, self.symptom(asked), self, asked)
        return found or self.unknown(asked, "no cause that this explanation knows is proven")

    def since_cleared(self, asked: Asked) -> Gradients | None:
        """Ask of the backwards after the call that cleared its .grad, where no loss was given:
        only these could fill it since."""
        if self.given or not (cleared := self.cleared(asked)):
            return None
        later = [
            self.graph.call[b.call_id] for b in self.graph.backwards if b.call_id > cleared[0].id
        ]
        losses = [i for call in later for i in call.inputs[:1]]
        return Gradients(self.graph, losses, self.zeros, self.still) if later else None

    def unknown(self, asked: Asked, why: str, *ruled_out: str) -> Explanation:
        """Nothing is proven: say what was excluded, and what a recording would add."""
        out, verdict = (
            ("requires_grad is False", "non-leaf"),
            f"{self.state(asked)}; the cause is not known.",
        )
        return self.say(
            asked,
            Cause.NOT_KNOWN,
            verdict,
            why=why + ".",
            mend="" if self.recorded else RECORD + ".",
            ruled_out=ruled_out or out[: 1 + asked.is_leaf],
        )

    def state(self, asked: Asked) -> str:
        """What there is, in words."""
        if asked.grad == "none":
            return f"{asked.name}.grad is None"
        return f"{asked.name}.grad " + (
            "cannot be read" if asked.grad == "unknown" else f"is not from {self.loss}"
        )

    # --- there is a gradient ----------------------------------------------------------------------

    def unreadable(self, asked: Asked) -> Explanation:
        """Its values are not shown."""
        why = "there is one, and torch does not show its values"
        return self.unknown(asked, why, "no gradient")

    def leftover(self, asked: Asked) -> Explanation:
        """It is frozen, and its gradient is from before."""
        now = bool(self.losses) and self.filled(asked)
        verdict = f"{asked.name} is frozen " + (
            f"now; it was not when {self.loss} was computed: its .grad is from then."
            if now
            else "(requires_grad is False); its .grad is a leftover."
        )
        return self.say(
            asked,
            Cause.FROZEN,
            verdict,
            detail="frozen_now" if now else "",
            mend=f"{asked.name}.grad = None, so that no optimizer uses it.",
        )

    def emptied(self, asked: Asked) -> bool:
        """Say whether a call cleared its .grad, and no backward filled it since."""
        cleared = self.cleared(asked)
        return cleared is not None and not self.filled_since(asked, cleared[0])

    def used_then_zeroed(self, asked: Asked) -> Explanation | None:
        """A step used the gradient before zeros were written over it."""
        out = ("cut", "frozen", "a zero slope")
        return self.used(asked, out)

    def used_then_cleared(self, asked: Asked) -> Explanation | None:
        """A step used the gradient before it was taken away."""
        return self.used(asked, NOT_IN_LOSS)

    def used(self, asked: Asked, ruled_out: tuple[str, ...]) -> Explanation | None:
        """Say that all is well where a step came between the last backward and the clearing."""
        cleared = self.cleared(asked)
        if cleared is None or not self.stepped(asked, cleared[0]):
            return None
        return self.say(
            asked,
            Cause.HEALTHY,
            f"Healthy: {asked.name} had a gradient; it was {DONE}.",
            calls=[cleared[0]],
            detail="done",
            ruled_out=ruled_out,
        )

    def not_finite(self, asked: Asked) -> Explanation:
        """It holds NaN or inf."""
        return self.say(asked, Cause.NAN, f"{asked.name}.grad holds NaN or inf.")

    def arrived(self, asked: Asked) -> Explanation:
        """It holds ordinary numbers."""
        start, unseen = ("Healthy", "") if self.recorded else ("No fault is visible", UNSEEN)
        return self.say(
            asked,
            Cause.HEALTHY,
            f"{start}: {asked.name}.grad is {asked.preview}.{unseen}",
            ruled_out=("no gradient", "all zeros", "NaN"),
        )

    # --- it asks for no gradient ------------------------------------------------------------------

    def not_tracked(self, asked: Asked) -> bool:
        """Say whether it asks for no gradient now."""
        return not asked.requires_grad

    def switched_off(self, asked: Asked) -> list[Cut]:
        """Return where its requires_grad was switched off."""
        own = {t.id for t in self.states(asked)}
        return [c for c in self.facts.frozen_leaves if c.input_id in own]

    def of_not_asking(self, asked: Asked) -> Cause:
        """Name the cause of a tensor that asks for no gradient: a parameter is frozen."""
        frozen = asked.parameter or self.switched_off(asked)
        return Cause.FROZEN if frozen else Cause.NEVER_TRACKED

    def cut_behind(self, asked: Asked) -> Explanation | None:
        """It was computed from what asks for gradients, through a cut."""
        # a frozen parameter is a leaf, whatever is written to it
        if asked.parameter or self.switched_off(asked):
            return None
        cuts = self.cuts_behind([t.id for t in self.states(asked)])
        made = self.maker(asked)
        if made is None or not cuts:
            return None
        return self.cut(asked, cuts, f"{asked.name} has no gradient", made)

    def made_in_inference(self, asked: Asked) -> Explanation | None:
        """It was made in inference_mode."""
        if not asked.inference:
            return None
        return self.answer(asked, Cause.INFERENCE_TENSOR, "none")

    def not_asking(self, asked: Asked) -> Explanation:
        """Its requires_grad is False."""
        n, states, off = asked.name, self.states(asked), self.switched_off(asked)
        cause = self.of_not_asking(asked)
        word = f"{n} is frozen" if cause is Cause.FROZEN else f"{n} does not ask for one"
        guess = not self.recorded and not asked.parameter  # what made it is not known
        made_how = (
            "If it was computed from tracked tensors, it was cut off: a recording tells."
            if guess
            else ""
        )
        dtype = states[-1].dtype or "" if states else ""
        floats = not dtype or dtype.startswith(("float", "bfloat", "complex"))
        meant = "if it is meant to learn: " if cause is Cause.FROZEN else ""
        mend = f"{meant}{n}.requires_grad_() before the forward."
        return self.say(
            asked,
            cause,
            f"{n}.grad is None: {word} (requires_grad is False).",
            calls=[self.graph.call[c.call_id] for c in off[-1:]],
            mend=mend if floats else f"use a float: {dtype} has no gradients.",
            why=made_how,
            cuts=off[-1:],
        )

    def asked_too_late(self, asked: Asked) -> Explanation | None:
        """Its requires_grad was switched on after it had been read on the way to the loss."""
        if not asked.is_leaf or not asked.requires_grad or self.reaches(asked):
            return None
        readers, used = self.first_reading(asked)
        if not used or any(t.requires_grad for t in used):
            return None
        n = asked.name
        return self.say(
            asked,
            self.of_not_asking(asked),
            f"{self.state(asked)}: {n} did not require grad yet when that was made.",
            calls=readers[:1],
            why="requires_grad was switched on after this call had read it.",
            mend=f"{n}.requires_grad_() before the forward.",
            cuts=self.switched_off(asked)[-1:],
        )

    def first_reading(self, asked: Asked) -> tuple[list[Call], list[Tensor]]:
        """Return the calls on the way to the loss that read it, and its states that they read."""
        states = self.states(asked)
        if not states:
            return [], []
        own = {t.id: t for t in states}
        readers = [
            c
            for c in self.facts.readers.get(states[-1].object_id, ())
            if self.behind & {*c.outputs} - own.keys()
        ]
        return readers, [own[i] for c in readers for i in c.inputs if i in own]

    # --- no path leads to it ----------------------------------------------------------------------

    def unreached(self, asked: Asked) -> bool:
        """Say whether no path leads from the loss to it."""
        return bool(self.losses) and asked.requires_grad and not self.reaches(asked)

    def cut_off(self, asked: Asked) -> bool:
        """Say whether a recording proves that no path leads from the loss to it."""
        return self.recorded and self.unreached(asked)

    def should_be_filled(self, asked: Asked) -> bool:
        """Say whether no path leads to it, though its .grad would be kept."""
        return (asked.is_leaf or asked.retains_grad) and self.cut_off(asked)

    def unread_path(self, asked: Asked) -> bool:
        """Say whether no path leads to it, and no recording says why."""
        return not self.recorded and self.unreached(asked)

    def in_checkpoint(self, asked: Asked) -> Explanation | None:
        """A path may lead to it inside a reentrant checkpoint."""
        if not self.hidden(asked):
            return None
        what = "None" if asked.grad == "none" else f"{asked.preview or 'there'}"
        return self.say(
            asked,
            Cause.NOT_KNOWN,
            f"{asked.name}.grad is {what}; whether {self.loss} reaches it is not known.",
            why="checkpoint(use_reentrant=True) builds the graph inside it only in backward.",
            mend="use_reentrant=False: then the graph can be read whole.",
        )

    def severed(self, asked: Asked) -> Explanation | None:
        """Cuts stand between the loss and it."""
        cuts = self.separating(asked)
        return self.cut(asked, cuts, self.state(asked)) if cuts else None

    def aliased(self, asked: Asked) -> Explanation | None:
        """Its value was written into memory that the loss read by another tensor: ``buffer.data[:2]
        = h``."""
        near = self.connected(asked)
        for e in self.facts.writes:
            if e.alias or e.after_id not in near or e.before_id in near:
                continue
            written, call = self.graph.tensor[e.after_id], self.graph.call[e.call_id]
            block = written.storage_id
            for t in self.facts.in_memory.get(block, ()) if block is not None else ():
                if t.id in self.behind - near and any(
                    c.id > call.id and t.id in c.inputs and self.behind & {*c.outputs}
                    for c in self.facts.readers.get(t.object_id, ())
                ):
                    other, alias = self.words.name(t.id), self.words.name(e.before_id)
                    return self.say(
                        asked,
                        Cause.CUT,
                        f"{self.state(asked)}: its value was written into {other} by "
                        f"{alias}, which has no history with it.",
                        calls=[call],
                        tensors=[written.id, t.id],
                        why=(
                            f"{alias} shares the memory of {other}, not its gradients: {self.loss}"
                            f" read {other}, and no gradient comes back through that write."
                        ),
                        mend=(
                            "write into "
                            f"{other} itself, or build it with torch.cat, stack or where."
                        ),
                    )
        return None

    def unread(self, asked: Asked) -> Explanation | None:
        """No path, and no recording that says why."""
        if not asked.is_leaf and not asked.retains_grad:
            return None
        memory = {s.storage_id for s in self.states(asked)} - {None}
        kin = [
            t.name
            for one in memory
            for t in self.facts.in_memory.get(one, ())
            if t.name and t.name != asked.name
        ]
        shares = (
            f"; {kin[0]} shares its memory, and no gradient path leads between them" if kin else ""
        )
        own = f" ({self.loss} has no grad_fn)" if not self.roots else ""
        why = (
            f"no gradient path leads from {self.loss}{own} to {asked.name}{shares}; cut or never"
            " used is not known"
        )
        return self.unknown(asked, why)

    def readers(self, asked: Asked) -> list[Call]:
        """Return the calls that read it."""
        states = self.states(asked)
        return self.facts.readers.get(states[-1].object_id, []) if states else []

    def only_copied(self, asked: Asked) -> Explanation | None:
        """Only copy.deepcopy read it."""
        readers, n = self.readers(asked), asked.name
        if not readers or not all(map(self.copies, readers)):
            return None
        return self.say(
            asked,
            Cause.NOT_IN_LOSS,
            f"{self.state(asked)}: it was only copied (deepcopy), and a copy is a leaf of its own.",
            calls=readers[:1],
            why=(
                f"No call that leads to {self.loss} used {n} itself; what "
                "was computed from a copy gives the gradient to the copy."
            ),
            mend=f"compute {self.loss} from {n}, or read the copy's .grad.",
        )

    def not_whole(self, asked: Asked) -> Explanation | None:
        """The recording does not show the whole way of its value."""
        if self.whole and self.behind.isdisjoint(t.id for t in self.states(asked)):
            return None
        why = f"no gradient path leads from {self.loss} to it, and the recording is not whole"
        return self.unknown(asked, why)

    def twin_used(self, asked: Asked) -> Explanation | None:
        """No call used it, but another tensor that shares its memory."""
        n, states = asked.name, self.states(asked)
        memory = {asked.storage_id, *(t.storage_id for t in states)} - {None}
        twins = [
            t for one in memory for t in self.facts.in_memory.get(one, ()) if t.id in self.behind
        ]
        if self.readers(asked) or not twins:
            return None
        other = self.words.name(twins[-1].id)
        why = (
            "Memory is shared between them, history is not: no gradient path (nn.Parameter(x),"
            " .data, numpy)."
        )
        mend = f"use {n} itself."
        if states[-1].is_leaf and states[-1].requires_grad and states[-1].base_id is not None:
            why = (
                f"{n} is a view made under no_grad: it says requires_grad, and no gradient ever"
                " reaches it."
            )
            mend = f"read {other}.grad; or make {n} outside of no_grad."
        return self.say(
            asked,
            Cause.NOT_IN_LOSS,
            f"{self.state(asked)}: no call used {n}, but {other}, which shares its memory.",
            tensors=[twins[-1].id],
            why=why,
            mend=mend,
        )

    def never_read(self, asked: Asked) -> Explanation | None:
        """No call used it."""
        if self.readers(asked):
            return None
        return self.say(
            asked,
            Cause.BRANCH_NOT_TAKEN if asked.parameter else Cause.NOT_IN_LOSS,
            f"{self.state(asked)}: no call of this run used {asked.name}.",
            why="Its branch was not taken, or forward does not call it.",
        )

    def made_a_leaf(self, asked: Asked) -> Explanation | None:
        """A result of it was wrapped into a new leaf, as by nn.Parameter."""
        if (wrapped := self.wrapped(asked)) is None:
            return None
        old, new = wrapped
        code, name = self.words.name(old.id), self.words.name(new.id)
        name = f"{name}, a new leaf" if new.name else "a new leaf"
        return self.say(
            asked,
            Cause.CUT,
            f"{self.state(asked)}: its value goes on, likely, only as {name}.",
            calls=[self.facts.maker[old.id]],
            tensors=[old.id, new.id],
            why=(
                f"Likely, not proven: {code} was wrapped, as in nn.Parameter(...): that has its"
                " shape and no history, and no call used the result itself."
            ),
            mend=f"use {code} itself, without nn.Parameter().",
            ruled_out=NOT_IN_LOSS[1:],
        )

    def leads_elsewhere(self, asked: Asked) -> Explanation:
        """What was made from it does not go into the loss."""
        return self.say(
            asked,
            Cause.NOT_IN_LOSS,
            f"{self.state(asked)}: no recorded call takes it to {self.loss}.",
            calls=self.readers(asked)[-1:],
            why=f"{asked.name} was used, but nothing made from it goes into {self.loss}.",
            mend="add what was made from it to the loss, or call backward on its own loss.",
        )

    def mixed(self, asked: Asked) -> Explanation | None:
        """Of what a call returned only a part without a gradient goes on to the loss: the indices
        of topk or max."""
        near = self.connected(asked)
        for c in self.facts.ordinary_calls if self.whole else ():
            on = [i for i in c.outputs if i in self.behind - near and not near.isdisjoint(c.inputs)]
            if (
                on
                and not near.isdisjoint(c.outputs)
                and self.behind.isdisjoint(near & {*c.outputs})
            ):
                only = several([self.words.name(i) for i in on])
                return self.say(
                    asked,
                    Cause.CUT,
                    f"{self.state(asked)}: of {c.function}() only {only} goes on to {self.loss}.",
                    calls=[c],
                    tensors=on,
                    why=(
                        f"{only} has no gradient ({self.graph.tensor[on[0]].dtype}), unlike what"
                        f" {c.function}() returned beside it."
                    ),
                    mend="let the loss use that too, e.g. the values that were chosen.",
                )
        return None

    def wrapped(self, asked: Asked) -> tuple[Tensor, Tensor] | None:
        """A result that no call read, and the trained leaf of its shape that was met first after
        it."""
        unread = sorted(self.connected(asked) - self.facts.read_ids)
        for old in (self.graph.tensor[i] for i in unread):
            for new in self.fresh if old.id in self.facts.maker else ():
                if (new.shape, new.dtype) == (old.shape, old.dtype) and new.id > old.id:
                    return old, new
        return None

    @cached_property
    def fresh(self) -> list[Tensor]:
        """Trained leaves in the loss as they were met first, those apart that a call made or a
        module holds."""
        first = {self.graph.tensor[i].object_id: i for i in sorted(self.behind, reverse=True)}
        met_first = (self.facts.states[o][0] for o in first)
        leaves = [t for t in met_first if t.is_leaf and t.requires_grad]
        return [t for t in leaves if t.id not in self.facts.maker and "." not in (t.name or "")]

    # --- it is a result ---------------------------------------------------------------------------

    def not_kept(self, asked: Asked) -> bool:
        """Say whether it is a result whose .grad is not kept."""
        return not asked.is_leaf and not asked.retains_grad

    def calls_that_made(self, asked: Asked) -> list[Call]:
        """Return the call that made it, where one is known."""
        made = self.maker(asked)
        return [made] if made else []

    def out_of_result(self, asked: Asked) -> tuple[str, ...]:
        """Return what cannot be the cause of a result's missing .grad."""
        return ("cut", "never tracked") if self.reaches(asked) else ("never tracked",)

    def rebound(self, asked: Asked) -> Explanation | None:
        """Its name was that of a leaf before."""
        parent, again = self.leaf_above(asked)
        if parent is None or not again:
            return None
        n, made = asked.name, self.maker(asked)
        code = self.words.code(made)
        mend = (
            f"give the result another name and read .grad of the leaf; or {n}.retain_grad()"
            " before backward."
        )
        if ".grad" in code:  # an update
            write = f"{n} += …" if f"{n} + " in code else f"{n} -= lr * {n}.grad"
            mend = (
                f"with torch.no_grad(): {write}  (in place, so {n} stays the leaf); or detach()"
                " the result and "
            )
            mend += "requires_grad_() it."
        return self.say(
            asked,
            Cause.REBOUND,
            f"{n}.grad is None: the name {n} holds a result now, not the leaf.",
            calls=self.calls_that_made(asked),
            tensors=[parent.id],
            why=(
                f"The leaf is what {n} was before: a new tensor took "
                "its name, and .grad is kept on leaves only."
            ),
            mend=mend,
            ruled_out=self.out_of_result(asked),
        )

    def made_non_leaf(self, asked: Asked) -> Explanation | None:
        """The call that made it took the place of the leaf at once."""
        parent, again = self.leaf_above(asked)
        if parent is None or again:
            return None
        n, made = asked.name, self.maker(asked)
        by = made.function if made else "a call"
        return self.say(
            asked,
            Cause.MADE_NON_LEAF,
            f"{n}.grad is None: {by} made {n} a result; the leaf is its input.",
            calls=self.calls_that_made(asked),
            tensors=[parent.id],
            why=(
                "Its input asked for the gradient before this call, "
                "so .grad is kept there, and nothing holds that tensor by this name."
            ),
            mend=(f"move, cast or scale first, then {n}.requires_grad_() (or detach() and that)."),
            ruled_out=self.out_of_result(asked),
        )

    def is_a_result(self, asked: Asked) -> Explanation:
        """Its gradient goes on to the leaves."""
        n, leaves = asked.name, self.leaves_of(asked)
        of = several(leaves) if leaves else "the leaves"
        twin = not self.recorded and any(
            t.shape == self.states(asked)[-1].shape for t in self.behind_node(asked)
        )
        more = (
            (
                (
                    "A leaf of the same shape is directly above it: after w = w - lr * w.grad,"
                    " .to() or * 0.01 a name holds such a result."
                ),
            )
            if twin
            else ()
        )
        return self.say(
            asked,
            Cause.NON_LEAF,
            f"{n}.grad is None: {n} is a result, and .grad is kept on leaves only.",
            calls=self.calls_that_made(asked),
            why=f"Its gradient goes on to {of} and is not kept on the way.",
            mend=f"read .grad of {of}, or call {n}.retain_grad() before backward.",
            more=more,
            ruled_out=self.out_of_result(asked),
        )

    def leaf_above(self, asked: Asked) -> tuple[Tensor | None, bool]:
        """The leaf of the same shape directly above, and whether the name was taken from it."""
        start, states = self.node_of(asked), self.states(asked)
        if start is None or not states:
            return None, False
        if (leaf := self.used_up(asked, states[-1])) is not None:
            return leaf, False
        earlier = self.earlier_leaf(states[-1], self.facts.reachable([start[0]]))
        return earlier, earlier is not None

    def used_up(self, asked: Asked, result: Tensor) -> Tensor | None:
        """Return the leaf that was made and used up by the one call that made the result."""
        leaves, made = self.behind_node(asked), self.maker(asked)
        if len(leaves) != 1 or made is None or made.function not in SCALING:
            return None
        leaf = leaves[0]
        if leaf.shape != result.shape or leaf.code_name not in ("", result.code_name):
            return None
        born = any(t.id in self.facts.maker for t in self.facts.states[leaf.object_id])
        readers = self.facts.readers.get(leaf.object_id, ())
        read = [c for c in readers if c.function != "requires_grad_"]
        return leaf if read == [made] and (leaf.name or born) else None

    def earlier_leaf(self, result: Tensor, met: Set[int]) -> Tensor | None:
        """Return the last leaf above that had the result's name."""
        earlier = [
            t
            for t in self.graph.tensors
            if t.name and t.code_name == result.code_name and t.is_leaf and t.requires_grad
        ]
        above = [
            t
            for t in earlier
            if t.object_id != result.object_id
            and self.facts.accumulate_node.get(t.object_id) in met
        ]
        return above[-1] if above else None

    # --- it would get a gradient, and none has come -----------------------------------------------

    def cleared_unused(self, asked: Asked) -> Explanation | None:
        """Its .grad was cleared, and no step had used it."""
        if (cleared := self.cleared(asked)) is None:
            return None
        call, stored = cleared
        return self.say(
            asked,
            Cause.NO_BACKWARD_YET,
            f"{asked.name}.grad is None: it was cleared after the last backward.",
            calls=[call],
            why=f"backward had stored {stored}; this took it away.",
            mend="read .grad, and step, before zero_grad(); or call backward again.",
        )

    def given_back(self, asked: Asked) -> Explanation | None:
        """autograd.grad returned its gradient and filled no .grad."""
        own = {t.object_id for t in self.states(asked)}
        given = [
            b
            for b in self.graph.backwards
            if b.kind == "grad"
            and any(self.graph.tensor[i].object_id in own for i, _ in b.returned)
        ]
        if not given:
            return None
        return self.say(
            asked,
            Cause.NO_BACKWARD_YET,
            f"{asked.name}.grad is None: autograd.grad returns gradients, it fills no .grad.",
            calls=[self.graph.call[given[-1].call_id]],
            mend="use what it returned, or call backward().",
        )

    def none_returned(self, asked: Asked) -> Explanation | None:
        """A custom Function returned None towards it."""
        silent = self.returned_none(asked)
        if not silent:
            return None
        node = self.graph.node[silent]
        made = self.graph.call.get(node.call_id)
        return self.say(
            asked,
            Cause.CUT,
            f"{asked.name}.grad is None: the backward of {node.name} returned None towards it.",
            calls=[made] if made else [],
            nodes=[silent],
            mend="return its gradient there.",
            ruled_out=NOT_IN_LOSS[1:],
        )

    def reached(self, asked: Asked) -> bool:
        """Say whether a path leads from the loss to it."""
        return bool(self.losses) and self.reaches(asked)

    def not_run(self, asked: Asked) -> bool:
        """Say whether a path leads to it from a loss whose backward was not recorded."""
        return self.reached(asked) and self.roots.isdisjoint(self.facts.ran)

    def used_up_graph(self, asked: Asked) -> Explanation | None:
        """Another backward from the loss would raise."""
        if not self.spent:
            return None
        why = (
            ""
            if "raises" in self.spent
            else "Its .grad was cleared since, or that backward did not "
            "fill it: it raised, was autograd.grad, or a custom Function gave None."
        )
        return self.say(
            asked,
            Cause.NOT_KNOWN,
            f"{asked.name}.grad is None, and {self.loss} reaches it; {self.spent}.",
            why=why,
            mend=f"compute {self.loss} anew before the next backward().",
            ruled_out=NOT_IN_LOSS[1:],
        )

    def no_backward_from_loss(self, asked: Asked) -> Explanation | None:
        """No backward has run from the loss."""
        if not self.recorded:
            return None
        why = f"A gradient path leads from {self.loss} to {asked.name}"
        return self.say(
            asked,
            Cause.NO_BACKWARD_YET,
            f"{asked.name}.grad is None: no backward has run from {self.loss} yet.",
            why=f"{why}; {self.unspent}." if self.unspent else f"{why}.",
            mend="call backward().",
        )

    def no_backward_at_all(self, asked: Asked) -> Explanation | None:
        """No backward was recorded."""
        if not self.recorded or self.graph.backwards:
            return None
        return self.say(
            asked,
            Cause.NO_BACKWARD_YET,
            f"{asked.name}.grad is None: no backward has run in this recording.",
            ruled_out=("requires_grad is False", "non-leaf"),
        )

    def unseen_path(self, asked: Asked) -> bool:
        """Say whether a path leads to it, and nobody recorded what ran."""
        return not self.recorded and self.reached(asked)

    def custom_above(self, asked: Asked) -> Explanation | None:
        """A custom Function may have returned None towards it."""
        above = [self.graph.node[i] for i in self.above(asked) if i in self.graph.node]
        custom = [node for node in above if node.kind is NodeKind.CUSTOM_FUNCTION]
        if not custom:
            return None
        return self.unknown(
            asked,
            f"backward has not run, .grad was cleared since, or {custom[0].name} "
            "returned None towards it",
            "cut",
            "frozen",
            "never tracked",
        )

    def not_run_or_cleared(self, asked: Asked) -> Explanation:
        """Backward has not run, or its .grad was cleared since."""
        return self.say(
            asked,
            Cause.NO_BACKWARD_YET,
            f"{asked.name}.grad is None, and {self.loss} reaches it: backward has not "
            "run, or .grad was cleared since.",
            mend="call backward() and look again.",
            why=f"{self.unspent[:1].upper()}{self.unspent[1:]}." if self.unspent else "",
        )

    @cached_property
    def unspent(self) -> str:
        """Why it is not known whether a backward from the loss can run; "" where nothing speaks
        against it."""
        return "" if self.spent else unspent(self.graph, self.roots)

    @cached_property
    def spent(self) -> str:
        """Why another backward from the loss would raise; "" where nothing says so."""
        saved = [
            (x.state, n)
            for i in sorted(self.facts.reachable(self.roots))
            for n in [self.graph.node[i]]
            for x in n.saved
        ]
        if any(state is SavedState.FREED for state, _ in saved):
            return f"a backward has used up the graph of {self.loss}"
        stale = next((n.name for state, n in saved if state is SavedState.STALE), "")
        return f"what {stale} saved was written in place, so backward() raises" if stale else ""

    def stepped(self, asked: Asked, cleared: Call) -> bool:
        """Was it written between the last backward and the call that cleared its .grad?"""
        last = max((b.call_id for b in self.graph.backwards if b.call_id < cleared.id), default=-1)
        pairs = [
            (self.graph.tensor[e.before_id], self.graph.tensor[e.after_id])
            for e in self.writes_to(asked)
            if last < e.call_id < cleared.id
        ]
        return any(a.version != b.version or a.values != b.values for a, b in pairs)

    def filled_since(self, asked: Asked, cleared: Call) -> bool:
        """May a backward have brought it a gradient after this call cleared its .grad?"""
        own = self.node_of(asked)
        if own is None:
            return False
        for backward in self.graph.backwards:
            if backward.kind != "backward" or backward.call_id < cleared.id:
                continue
            if own[0] in self.facts.may_have_run(backward):
                return True
        return False

    def returned_none(self, asked: Asked) -> int | None:
        """The custom Function whose backward gave no gradient towards the tensor, where there is
        one such."""
        if not self.withheld:
            return None
        own = self.node_of(asked)
        towards = self.above(asked) | ({own[0]} if own else set())
        edges = [
            e
            for n, _ in self.withheld
            for e in self.graph.edges_from.get(n, ())
            if e.next_node_id in towards
        ]
        met = self.facts.reachable(self.roots)  # other iterations lead to the same leaf
        found = {
            e.node_id
            for e in edges
            if (e.node_id, e.next_index) in self.withheld and e.node_id in met
        }
        return min(found) if len(found) == 1 else None

    @cached_property
    def withheld(self) -> set[tuple[int, int]]:
        """Slots for which the backward of a custom Function returned None."""
        return {
            (e.node_id, i)
            for e in self.facts.nodes_ran
            if self.graph.node[e.node_id].kind is NodeKind.CUSTOM_FUNCTION
            for i, sent in enumerate(e.sent)
            if sent is None
        }

    def cut(
        self, asked: Asked, cuts: list[Cut], start: str, made: Call | None = None
    ) -> Explanation:
        """One cut or several, in program order."""
        first = cuts[0]
        calls = [self.graph.call[c.call_id] for c in cuts]
        source, result = self.words.name(first.input_id), self.words.name(first.output_id)
        whom = asked.name if made else self.loss
        mends = list(dict.fromkeys(repair(c, self.graph) for c in cuts))
        mend, both = mends[0], "; ".join(m.rstrip(".") for m in mends[:2]) + "."
        checkpoint = in_reentrant_checkpoint(first, self.graph)
        word = "reentrant checkpoint" if checkpoint else first.reason.value
        ends = (
            f"{source} goes on to {result} as a value only"
            if source != result
            else f"{source} was cut off itself"
        )
        why = f"{ends}: no gradient comes back through it."
        if checkpoint:
            why = say("raised.untracked_checkpoint")
        if first.reason in (CutReason.NO_GRAD, CutReason.INFERENCE_MODE) and mend == usual_repair(
            first.reason
        ):
            why = (
                f"{self.words.code(calls[0])} ran under {word} (a with block, or a decorator of the"
                " function): "
            )
            why += "torch recorded nothing there, and no gradient comes back through it."
        verdict, out = (
            f"{start}: {word} cuts it {'off' if made else f'from {whom}'}.",
            NOT_IN_LOSS[1:3],
        )
        return self.say(
            asked,
            OF_CUTS.get(first.reason, Cause.CUT),
            verdict,
            calls=calls,
            cuts=cuts,
            why=why,
            mend=both,
            ruled_out=() if made else (*out, "not part of this loss"),
        )

    def left_torch(self, asked: Asked) -> Explanation | None:
        """All that was made from it ends in cuts, whose results no recorded call takes to the
        loss."""
        if not (dead := self.cuts_after(asked)):
            return None
        inside, own = self.connected(asked), {t.id for t in self.states(asked)}
        began = not self.above(asked).isdisjoint(self.facts.runs_started_at)
        if began or not inside - own <= self.facts.read_ids:
            return None
        back, head, last = self.came_back(dead), self.state(asked), dead[-1].reason
        calls = [self.graph.call[c.call_id] for c in dead]
        proven, what, tensors = back or (True, "", ())
        again = usual_repair(CutReason.COPIED_OUT) if back else repair(dead[-1], self.graph)
        verdict = (
            f"its value left torch before {self.loss}"
            if back
            else f"all made from it ends at {last.value}"
        )
        why = (
            f"{what} came from {self.words.code(calls[-1])}"
            if back
            else "No gradient comes back through that"
        )
        why = (
            f"{why}, and nothing else used it."
            if proven
            else f"Likely, not proven: {why}; nothing else used it."
        )
        return self.say(
            asked,
            Cause.REBUILT_FROM_VALUE if back else Cause.CUT,
            f"{head}: {verdict}.",
            calls=calls,
            cuts=dead,
            tensors=tensors,
            why=why,
            mend=again,
        )


_HERE = frozenset({Symptom.ZERO, Symptom.NAN, Symptom.SOME})
_ZERO = frozenset({Symptom.ZERO})
_MISSING = frozenset({Symptom.NONE, Symptom.ELSEWHERE})

# Every answer about one tensor, from the nearest cause to the farthest: see NOTE [one table].
RULES: tuple[Rule[[Gradients, Asked]], ...] = (
    Rule(Gradients.unreadable, frozenset({Symptom.UNREADABLE})),
    Rule(Gradients.leftover, _HERE, when=Gradients.not_tracked),
    Rule(Gradients.used_then_zeroed, _ZERO, when=Gradients.emptied),
    Rule(Gradients.zeroed, _ZERO, when=Gradients.emptied),
    Rule(Gradients.became_zeros, _ZERO),
    Rule(Gradients.stopped, _ZERO),
    Rule(Gradients.cancels, _ZERO),
    Rule(Gradients.zero_unproven, _ZERO),
    Rule(Gradients.not_finite, frozenset({Symptom.NAN})),
    Rule(Gradients.arrived, frozenset({Symptom.SOME})),
    Rule(Gradients.cut_behind, _MISSING, when=Gradients.not_tracked),
    Rule(Gradients.made_in_inference, _MISSING, when=Gradients.not_tracked),
    Rule(Gradients.not_asking, _MISSING, when=Gradients.not_tracked),
    Rule(Gradients.asked_too_late, _MISSING),
    Rule(Gradients.in_checkpoint, _MISSING, when=Gradients.unreached),
    Rule(Gradients.unread, _MISSING, when=Gradients.unread_path),
    Rule(Gradients.severed, _MISSING, when=Gradients.cut_off),
    Rule(Gradients.aliased, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.left_torch, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.only_copied, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.mixed, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.not_whole, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.twin_used, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.never_read, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.made_a_leaf, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.leads_elsewhere, _MISSING, when=Gradients.should_be_filled),
    Rule(Gradients.rebound, _MISSING, when=Gradients.not_kept),
    Rule(Gradients.made_non_leaf, _MISSING, when=Gradients.not_kept),
    Rule(Gradients.is_a_result, _MISSING, when=Gradients.not_kept),
    Rule(Gradients.used_then_cleared, _MISSING),
    Rule(Gradients.cleared_unused, _MISSING),
    Rule(Gradients.given_back, _MISSING),
    Rule(Gradients.none_returned, _MISSING),
    Rule(Gradients.used_up_graph, _MISSING, when=Gradients.not_run),
    Rule(Gradients.no_backward_from_loss, _MISSING, when=Gradients.not_run),
    Rule(Gradients.no_backward_at_all, _MISSING),
    Rule(Gradients.custom_above, _MISSING, when=Gradients.unseen_path),
    Rule(Gradients.not_run_or_cleared, _MISSING, when=Gradients.unseen_path),
)
