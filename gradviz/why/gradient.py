"""Why is this ``.grad`` None, zero or unchanged: from a graph and the flags of the tensor. Knows no
torch.

NOTE [what is proven]: a recording knows every call, so it proves where a path was cut, and that a
tensor was not used.
A graph that was only read has no calls: it proves that no path leads to a tensor, never why there
is none. Notes and stubs say that something is missing; then "never" is not claimed.
"""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.records import Call, Cut, CutReason, NodeKind, SavedState, Tensor
from gradviz.why.doubts import unspent
from gradviz.why.explanation import Explanation, bare, several
from gradviz.why.messages import NON_REENTRANT, REENTRANT, REPAIRS, SAID, UNTRACKED, repair
from gradviz.why.paths import NOT_IN_LOSS, RECORD, Asked
from gradviz.why.zeros import Zeros

DONE = "cleared after the step"
UNSEEN = " Without a recording no more than that is known."
CAUSES = {CutReason.COPIED_OUT: "rebuilt_from_value", CutReason.NO_GRAD_WRITE: "no_grad_write"}
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
        """The first of the causes that is proven, from the nearest to the farthest."""
        if not self.given and (cleared := self.cleared(asked)):
            later = [
                self.graph.call[b.call_id]
                for b in self.graph.backwards
                if b.call_id > cleared[0].id
            ]
            if later:  # since then only these could fill it
                losses = [i for c in later for i in c.inputs[:1]]
                return Gradients(self.graph, losses, self.zeros, self.still).explain(asked)
        found = (
            self.kept(asked)
            or self.untracked(asked)
            or self.unreached(asked)
            or self.result(asked)
            or self.waiting(asked)
        )
        return found or self.unknown(asked, "no cause that this explanation knows is proven")

    def unknown(self, asked: Asked, why: str, *ruled_out: str) -> Explanation:
        """Nothing is proven: say what was excluded, and what a recording would add."""
        out, verdict = (
            ("requires_grad is False", "non-leaf"),
            f"{self.state(asked)}; the cause is not known.",
        )
        return self.say(
            asked,
            "not_known",
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

    def kept(self, asked: Asked) -> Explanation | None:
        """There is a gradient."""
        if asked.grad == "none":
            return None
        if asked.grad == "unknown":
            return self.unknown(
                asked, "there is one, and torch does not show its values", "no gradient"
            )
        if (
            self.given
            and asked.requires_grad
            and not self.reaches(asked)
            and not (self.hidden(asked) and self.filled(asked))
        ):
            return None  # it came from elsewhere
        if not asked.requires_grad:
            now = bool(self.losses) and self.filled(asked)
            verdict = f"{asked.name} is frozen " + (
                f"now; it was not when {self.loss} was computed: its .grad is from then."
                if now
                else "(requires_grad is False); its .grad is a leftover."
            )
            return self.say(
                asked,
                "frozen",
                verdict,
                detail="frozen_now" if now else "",
                mend=f"{asked.name}.grad = None, so that no optimizer uses it.",
            )
        if asked.grad == "zero":
            cleared = self.cleared(asked)
            if cleared and self.filled_since(asked, cleared[0]):
                return self.zero(asked)
            if cleared and self.stepped(asked, cleared[0]):
                return self.say(
                    asked,
                    "healthy",
                    f"Healthy: {asked.name} had a gradient; it was {DONE}.",
                    calls=[cleared[0]],
                    detail="done",
                    ruled_out=("cut", "frozen", "a zero slope"),
                )
            return self.zeroed(asked) or self.zero(asked)
        if asked.grad == "nan":
            return self.say(asked, "nan", f"{asked.name}.grad holds NaN or inf.")
        start, unseen = ("Healthy", "") if self.recorded else ("No fault is visible", UNSEEN)
        return self.say(
            asked,
            "healthy",
            f"{start}: {asked.name}.grad is {asked.preview}.{unseen}",
            ruled_out=("no gradient", "all zeros", "NaN"),
        )

    def untracked(self, asked: Asked) -> Explanation | None:
        """It asks for no gradient now, or did not when it was used."""
        n, states = asked.name, self.states(asked)
        ids = {t.id for t in states}
        off = [c for c in self.facts.frozen_leaves if c.input_id in ids]
        calls = [self.graph.call[c.call_id] for c in off[-1:]]
        kind = "frozen" if asked.parameter or off else "never_tracked"
        if not asked.requires_grad:
            cuts = [] if off or asked.parameter else self.cuts_behind([t.id for t in states])
            # a frozen parameter is a leaf, whatever is written to it
            if (made := self.maker(asked)) and cuts:
                return self.cut(asked, cuts, f"{n} has no gradient", made)
            if asked.inference:
                return self.say(
                    asked,
                    "inference_tensor",
                    f"{n}.grad is None: {n} was made in inference_mode.",
                    why=SAID["inference_tensor"].why,
                    mend=(
                        "torch.no_grad() instead of inference_mode "
                        f"where it is made; or {n}.clone() outside of it."
                    ),
                )
            word = f"{n} is frozen" if kind == "frozen" else f"{n} does not ask for one"
            guess = not self.recorded and not asked.parameter  # what made it is not known
            made_how = (
                "If it was computed from tracked tensors, it was cut off: a recording tells."
                if guess
                else ""
            )
            dtype = states[-1].dtype or "" if states else ""
            floats = not dtype or dtype.startswith(("float", "bfloat", "complex"))
            mend = (
                f"{'if it is meant to learn: ' * (kind == 'frozen')}{n}.requires_grad_() before the"
                " forward."
            )
            mend = mend if floats else f"use a float: {dtype} has no gradients."
            return self.say(
                asked,
                kind,
                f"{n}.grad is None: {word} (requires_grad is False).",
                calls=calls,
                mend=mend,
                why=made_how,
                cuts=off[-1:],
            )
        own = {t.id: t for t in states}
        reader = (
            [
                c
                for c in self.facts.readers.get(states[-1].object_id, ())
                if self.behind & {*c.outputs} - own.keys()
            ]
            if states
            else []
        )
        used = [own[i] for c in reader for i in c.inputs if i in own]
        if (
            used
            and asked.is_leaf
            and not any(t.requires_grad for t in used)
            and not self.reaches(asked)
        ):
            return self.say(
                asked,
                kind,
                f"{self.state(asked)}: {n} did not require grad yet when that was made.",
                calls=reader[:1],
                why="requires_grad was switched on after this call had read it.",
                mend=f"{n}.requires_grad_() before the forward.",
                cuts=off[-1:],
            )
        return None

    def unreached(self, asked: Asked) -> Explanation | None:
        """No path leads from the loss to it."""
        if not self.losses or not asked.requires_grad or self.reaches(asked):
            return None
        if self.hidden(asked):
            what = "None" if asked.grad == "none" else f"{asked.preview or 'there'}"
            return self.say(
                asked,
                "not_known",
                f"{asked.name}.grad is {what}; whether {self.loss} reaches it is not known.",
                why="checkpoint(use_reentrant=True) builds the graph inside it only in backward.",
                mend="use_reentrant=False: then the graph can be read whole.",
            )
        if not self.recorded:
            return self.unread(asked)
        cuts = self.separating(asked)
        if cuts:
            return self.cut(asked, cuts, self.state(asked))
        if not asked.is_leaf and not asked.retains_grad:
            return None  # it would be None anyway
        return self.aliased(asked) or self.left_torch(asked) or self.unused(asked)

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
                        "cut",
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

    def hidden(self, asked: Asked) -> bool:
        """May it be inside a reentrant checkpoint of the loss?"""
        own = {t.object_id for t in self.states(asked)}
        return asked.is_leaf and any(inside is None or own & inside for inside in self.checkpoints)

    @cached_property
    def checkpoints(self) -> list[set[int] | None]:
        """The objects that went into each reentrant checkpoint of the loss; None: not known."""
        met = [self.graph.node[n] for n in self.facts.reachable(self.roots)]
        calls = [self.graph.call.get(n.call_id) for n in met if n.name.startswith(REENTRANT)]
        return [{self.graph.tensor[i].object_id for i in c.inputs} if c else None for c in calls]

    def filled(self, asked: Asked) -> bool:
        """Did a backward of the loss fill its .grad?"""
        runs = {b.call_id for b in self.graph.backwards if self.roots & {*b.roots}}
        return any(e.call_id in runs for e in self.writes_to(asked))

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

    def unused(self, asked: Asked) -> Explanation:
        """No recorded call takes its value to the loss."""
        n, states, head = asked.name, self.states(asked), self.state(asked)
        readers = self.facts.readers.get(states[-1].object_id, []) if states else []
        copies = [c for c in readers if self.copies(c)]
        if copies and len(copies) == len(readers):
            return self.say(
                asked,
                "not_in_loss",
                f"{head}: it was only copied (deepcopy), and a copy is a leaf of its own.",
                calls=copies[:1],
                why=(
                    f"No call that leads to {self.loss} used {n} itself; what "
                    "was computed from a copy gives the gradient to the copy."
                ),
                mend=f"compute {self.loss} from {n}, or read the copy's .grad.",
            )
        if mixed := self.mixed(asked):
            return mixed
        if not self.whole or not self.behind.isdisjoint(t.id for t in states):
            return self.unknown(
                asked,
                f"no gradient path leads from {self.loss} to it, and the recording is not whole",
            )
        memory = {asked.storage_id, *(t.storage_id for t in states)} - {None}
        there = (t for one in memory for t in self.facts.in_memory.get(one, ()))
        twins = [t for t in there if t.id in self.behind]
        if not readers and twins:
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
                "not_in_loss",
                f"{head}: no call used {n}, but {other}, which shares its memory.",
                tensors=[twins[-1].id],
                why=why,
                mend=mend,
            )
        if not readers:
            return self.say(
                asked,
                "branch_not_taken" if asked.parameter else "not_in_loss",
                f"{head}: no call of this run used {n}.",
                why="Its branch was not taken, or forward does not call it.",
            )
        if wrapped := self.wrapped(asked):
            old, new = wrapped
            code, name, made = (
                self.words.name(old.id),
                self.words.name(new.id),
                self.facts.maker[old.id],
            )
            name = f"{name}, a new leaf" if new.name else "a new leaf"
            return self.say(
                asked,
                "cut",
                f"{head}: its value goes on, likely, only as {name}.",
                calls=[made],
                tensors=[old.id, new.id],
                why=(
                    f"Likely, not proven: {code} was wrapped, as in nn.Parameter(...): that has its"
                    " shape and no history, and no call used the result itself."
                ),
                mend=f"use {code} itself, without nn.Parameter().",
                ruled_out=NOT_IN_LOSS[1:],
            )
        return self.say(
            asked,
            "not_in_loss",
            f"{head}: no recorded call takes it to {self.loss}.",
            calls=readers[-1:],
            why=f"{n} was used, but nothing made from it goes into {self.loss}.",
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
                    "cut",
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

    def result(self, asked: Asked) -> Explanation | None:
        """It is not a leaf."""
        if asked.is_leaf or asked.retains_grad:
            return None
        n, made, leaves = asked.name, self.maker(asked), self.leaves_of(asked)
        calls, out = (
            [made] if made else [],
            ("cut", "never tracked") if self.reaches(asked) else ("never tracked",),
        )
        parent, again = self.leaf_above(asked)
        if parent and again:
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
                "rebound",
                f"{n}.grad is None: the name {n} holds a result now, not the leaf.",
                calls=calls,
                tensors=[parent.id],
                why=(
                    f"The leaf is what {n} was before: a new tensor took "
                    "its name, and .grad is kept on leaves only."
                ),
                mend=mend,
                ruled_out=out,
            )
        if parent:
            by = made.function if made else "a call"
            return self.say(
                asked,
                "made_non_leaf",
                f"{n}.grad is None: {by} made {n} a result; the leaf is its input.",
                calls=calls,
                tensors=[parent.id],
                why=(
                    "Its input asked for the gradient before this call, "
                    "so .grad is kept there, and nothing holds that tensor by this name."
                ),
                mend=(
                    f"move, cast or scale first, then {n}.requires_grad_() (or detach() and that)."
                ),
                ruled_out=out,
            )
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
            "non_leaf",
            f"{n}.grad is None: {n} is a result, and .grad is kept on leaves only.",
            calls=calls,
            why=f"Its gradient goes on to {of} and is not kept on the way.",
            mend=f"read .grad of {of}, or call {n}.retain_grad() before backward.",
            more=more,
            ruled_out=out,
        )

    def leaf_above(self, asked: Asked) -> tuple[Tensor | None, bool]:
        """The leaf of the same shape directly above, and whether the name was taken from it."""
        start, own, leaves = self.node_of(asked), self.states(asked)[-1:], self.behind_node(asked)
        if start is None or not own:
            return None, False
        leaf = leaves[0] if len(leaves) == 1 else None
        made = self.maker(asked)
        if (
            leaf
            and leaf.shape == own[0].shape
            and bare(leaf.name) in ("", bare(own[0].name))
            and made
        ):
            born = any(t.id in self.facts.maker for t in self.facts.states[leaf.object_id])
            readers = self.facts.readers.get(leaf.object_id, ())
            read = [c for c in readers if c.function != "requires_grad_"]
            if made.function in SCALING and read == [made] and (leaf.name or born):
                return leaf, False  # made and used up by this one call
        met = self.facts.reachable([start[0]])
        earlier = [
            t
            for t in self.graph.tensors
            if t.name
            and bare(t.name) == bare(own[0].name)
            and t.is_leaf
            and t.requires_grad
            and t.object_id != own[0].object_id
            and self.facts.accumulate_node.get(t.object_id) in met
        ]
        return (earlier[-1], True) if earlier else (None, False)

    def waiting(self, asked: Asked) -> Explanation | None:
        """It would get a gradient, and none has come."""
        n, own = asked.name, {t.object_id for t in self.states(asked)}
        if cleared := self.cleared(asked):
            call, stored = cleared
            if self.stepped(asked, call):
                return self.say(
                    asked,
                    "healthy",
                    f"Healthy: {n} had a gradient; it was {DONE}.",
                    calls=[call],
                    ruled_out=NOT_IN_LOSS,
                    detail="done",
                )
            return self.say(
                asked,
                "no_backward_yet",
                f"{n}.grad is None: it was cleared after the last backward.",
                calls=[call],
                why=f"backward had stored {stored}; this took it away.",
                mend="read .grad, and step, before zero_grad(); or call backward again.",
            )
        given = [
            b
            for b in self.graph.backwards
            if b.kind == "grad"
            and any(self.graph.tensor[i].object_id in own for i, _ in b.returned)
        ]
        if given:
            return self.say(
                asked,
                "no_backward_yet",
                f"{n}.grad is None: autograd.grad returns gradients, it fills no .grad.",
                calls=[self.graph.call[given[-1].call_id]],
                mend="use what it returned, or call backward().",
            )
        if silent := self.returned_none(asked):
            node = self.graph.node[silent]
            made = self.graph.call.get(node.call_id)
            return self.say(
                asked,
                "cut",
                f"{n}.grad is None: the backward of {node.name} returned None towards it.",
                calls=[made] if made else [],
                nodes=[silent],
                mend="return its gradient there.",
                ruled_out=NOT_IN_LOSS[1:],
            )
        if (
            self.losses
            and self.reaches(asked)
            and self.roots.isdisjoint(self.facts.ran)
            and (spent := self.spent)
        ):
            return self.say(
                asked,
                "not_known",
                f"{n}.grad is None, and {self.loss} reaches it; {spent}.",
                why=(
                    ""
                    if "raises" in spent
                    else (
                        "Its .grad was cleared since, or that backward did not "
                        "fill it: it raised, was autograd.grad, or a custom Function gave None."
                    )
                ),
                mend=f"compute {self.loss} anew before the next backward().",
                ruled_out=NOT_IN_LOSS[1:],
            )
        if (
            self.losses
            and self.reaches(asked)
            and self.recorded
            and self.roots.isdisjoint(self.facts.ran)
        ):
            why = f"A gradient path leads from {self.loss} to {n}"
            return self.say(
                asked,
                "no_backward_yet",
                f"{n}.grad is None: no backward has run from {self.loss} yet.",
                why=f"{why}; {self.unspent}." if self.unspent else f"{why}.",
                mend="call backward().",
            )
        if self.recorded and not self.graph.backwards:
            return self.say(
                asked,
                "no_backward_yet",
                f"{n}.grad is None: no backward has run in this recording.",
                ruled_out=("requires_grad is False", "non-leaf"),
            )
        if self.losses and self.reaches(asked) and not self.recorded:
            custom = [self.graph.node[i] for i in self.above(asked) if i in self.graph.node]
            if custom := [x for x in custom if x.kind is NodeKind.CUSTOM_FUNCTION]:
                return self.unknown(
                    asked,
                    f"backward has not run, .grad was cleared since, or {custom[0].name} "
                    "returned None towards it",
                    "cut",
                    "frozen",
                    "never tracked",
                )
            return self.say(
                asked,
                "no_backward_yet",
                f"{n}.grad is None, and {self.loss} reaches it: backward has not "
                "run, or .grad was cleared since.",
                mend="call backward() and look again.",
                why=f"{self.unspent[:1].upper()}{self.unspent[1:]}." if self.unspent else "",
            )
        return None

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
        word = "reentrant checkpoint" if mend == NON_REENTRANT else first.reason.value
        ends = (
            f"{source} goes on to {result} as a value only"
            if source != result
            else f"{source} was cut off itself"
        )
        why = UNTRACKED if mend == NON_REENTRANT else f"{ends}: no gradient comes back through it."
        if (
            first.reason in (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)
            and mend == REPAIRS[first.reason]
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
            CAUSES.get(first.reason, "cut"),
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
        again = REPAIRS[CutReason.COPIED_OUT] if back else repair(dead[-1], self.graph)
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
            "rebuilt_from_value" if back else "cut",
            f"{head}: {verdict}.",
            calls=calls,
            cuts=dead,
            tensors=tensors,
            why=why,
            mend=again,
        )
