"""Why is this ``.grad`` None, zero or unchanged: from a graph and the flags of the tensor. Knows no
torch.

What may be said of a way that is not there: NOTE [what is proven] in ``graph/flow.py``.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.flow import is_deepcopy
from gradviz.graph.records import Call, Cut, CutReason, Node, NodeKind, SavedState, Tensor, Wrote
from gradviz.why.doubts import unspent
from gradviz.why.explanation import Explanation
from gradviz.why.messages import in_reentrant_checkpoint, repair, usual_repair
from gradviz.why.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.zeros import Zeros
from gradviz.words.speech import say, several
from gradviz.words.words import reason_of

OF_CUTS = {
    CutReason.COPIED_OUT: Cause.REBUILT_FROM_VALUE,
    CutReason.NO_GRAD_WRITE: Cause.NO_GRAD_WRITE,
}
BLOCKS = (CutReason.NO_GRAD, CutReason.INFERENCE_MODE)  # under which torch records nothing
# calls that give a result the name of the leaf that went in
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
WITH_GRADIENTS = ("float", "bfloat", "complex")  # dtypes, by how their names start


class Gradients(Zeros):
    """What is proven of the gradients of one graph; each rule is asked about one tensor."""

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

    # --- there is a gradient ----------------------------------------------------------------------

    def unreadable(self, asked: Asked) -> Explanation:
        """Its values are not shown."""
        return self.answer(
            asked, Cause.NOT_KNOWN, "not_shown", checked=("no_gradient",), record=self.record
        )

    def leftover(self, asked: Asked) -> Explanation:
        """It is frozen, and its gradient is from before."""
        froze_later = bool(self.losses) and self.flow.filled(asked.tensor_id)
        return self.answer(asked, Cause.FROZEN, "frozen_now" if froze_later else "leftover")

    def emptied(self, asked: Asked) -> bool:
        """Say whether a call cleared its .grad, and no backward filled it since."""
        cleared = self.cleared(asked)
        return cleared is not None and not self.filled_since(asked, cleared[0])

    def used_then_zeroed(self, asked: Asked) -> Explanation | None:
        """A step used the gradient before zeros were written over it."""
        return self.used(asked, ("cut", "frozen", "zero_slope"))

    def used_then_cleared(self, asked: Asked) -> Explanation | None:
        """A step used the gradient before it was taken away."""
        return self.used(asked, CHECKED_IN_LOSS)

    def used(self, asked: Asked, checked: tuple[str, ...]) -> Explanation | None:
        """Say that all is well where a step came between the last backward and the clearing."""
        cleared = self.cleared(asked)
        if cleared is None or not self.stepped(asked, cleared[0]):
            return None
        return self.answer(asked, Cause.HEALTHY, "done", calls=[cleared[0]], checked=checked)

    def not_finite(self, asked: Asked) -> Explanation:
        """It holds NaN or inf."""
        return self.answer(asked, Cause.NAN, "not_finite")

    def arrived(self, asked: Asked) -> Explanation:
        """It holds ordinary numbers."""
        return self.answer(
            asked,
            Cause.HEALTHY,
            "arrived" if self.recorded else "arrived_unseen",
            checked=("no_gradient", "all_zeros", "nan"),
            values=asked.preview,
        )

    # --- it asks for no gradient ------------------------------------------------------------------

    def not_tracked(self, asked: Asked) -> bool:
        """Say whether it asks for no gradient now."""
        return not asked.requires_grad

    def switched_off(self, asked: Asked) -> list[Cut]:
        """Return where its requires_grad was switched off."""
        states = {t.id for t in self.states(asked)}
        return [c for c in self.facts.frozen_leaves if c.input_id in states]

    def of_not_asking(self, asked: Asked) -> Cause:
        """Name the cause of a tensor that asks for no gradient: a parameter is frozen."""
        frozen = asked.parameter or self.switched_off(asked)
        return Cause.FROZEN if frozen else Cause.NEVER_TRACKED

    def cut_behind(self, asked: Asked) -> Explanation | None:
        """It was computed from what asks for gradients, through a cut."""
        # a frozen parameter is a leaf, whatever is written to it
        if asked.parameter or self.switched_off(asked):
            return None
        if self.maker(asked) is None:
            return None
        cuts = self.flow.cuts_behind([t.id for t in self.states(asked)])
        return self.cut(asked, cuts, behind=True) if cuts else None

    def made_in_inference(self, asked: Asked) -> Explanation | None:
        """It was made in inference_mode."""
        if not asked.inference:
            return None
        return self.answer(asked, Cause.INFERENCE_TENSOR, "none")

    def not_asking(self, asked: Asked) -> Explanation:
        """Its requires_grad is False."""
        states = self.states(asked)
        switched_off = self.switched_off(asked)[-1:]
        dtype = (states[-1].dtype or "") if states else ""
        has_gradients = not dtype or dtype.startswith(WITH_GRADIENTS)
        maker_unseen = not self.recorded and not asked.parameter
        return self.answer(
            asked,
            self.of_not_asking(asked),
            "not_asking" if has_gradients else "no_float",
            calls=self.calls_of_cuts(switched_off),
            cuts=switched_off,
            dtype=dtype,
            made=say("gradient.made_unseen") if maker_unseen else "",
        )

    def calls_of_cuts(self, cuts: list[Cut]) -> list[Call]:
        """Return the calls that cut."""
        return [self.graph.call[c.call_id] for c in cuts]

    def asked_too_late(self, asked: Asked) -> Explanation | None:
        """Its requires_grad was switched on after it had been read on the way to the loss."""
        if not asked.is_leaf or not asked.requires_grad or self.reaches(asked):
            return None
        readers, states_read = self.first_reading(asked)
        if not states_read or any(t.requires_grad for t in states_read):
            return None
        return self.answer(
            asked,
            self.of_not_asking(asked),
            "too_late",
            calls=readers[:1],
            cuts=self.switched_off(asked)[-1:],
        )

    def first_reading(self, asked: Asked) -> tuple[list[Call], list[Tensor]]:
        """Return the calls on the way to the loss that read it, and its states that they read."""
        states = {t.id: t for t in self.states(asked)}
        readers = [
            c for c in self.readers(asked) if self.flow.behind & {*c.outputs} - states.keys()
        ]
        return readers, [states[i] for c in readers for i in c.inputs if i in states]

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
        value = "None" if asked.grad == "none" else asked.preview or say("gradient.there")
        return self.answer(asked, Cause.NOT_KNOWN, "in_checkpoint", value=value)

    def severed(self, asked: Asked) -> Explanation | None:
        """Cuts stand between the loss and it."""
        cuts = self.flow.separating(asked.tensor_id)
        return self.cut(asked, cuts, behind=False) if cuts else None

    def cut(self, asked: Asked, cuts: list[Cut], *, behind: bool) -> Explanation:
        """Tell of one cut or several, in program order: between the loss and it, or between it
        and what it was made of."""
        first = cuts[0]
        checked = () if behind else ("frozen", "never_tracked", "not_in_loss")
        return self.answer(
            asked,
            OF_CUTS.get(first.reason, Cause.CUT),
            "cut_behind" if behind else "severed",
            calls=self.calls_of_cuts(cuts),
            checked=checked,
            cuts=cuts,
            cutter=self.cutter(first),
            why=self.why_cut(first),
            mend=self.mend_of(cuts),
        )

    def cutter(self, cut: Cut) -> str:
        """Say what cut."""
        if in_reentrant_checkpoint(cut, self.graph):
            return say("gradient.reentrant")
        return say(f"cut.{cut.reason.name.lower()}")

    def why_cut(self, cut: Cut) -> str:
        """Say why no gradient comes back through a cut."""
        if in_reentrant_checkpoint(cut, self.graph):
            return say("raised.untracked_checkpoint")
        if cut.reason in BLOCKS and repair(cut, self.graph) == usual_repair(cut.reason):
            code = self.words.code(self.graph.call[cut.call_id])
            return say("gradient.ran_under", code=code, block=reason_of(cut))
        source, result = self.words.name(cut.input_id), self.words.name(cut.output_id)
        if source == result:
            return say("gradient.cut_itself", name=source)
        return say("gradient.value_only", source=source, result=result)

    def mend_of(self, cuts: list[Cut]) -> str:
        """Say what to write instead of the first two cuts that are mended differently."""
        mends = list(dict.fromkeys(repair(c, self.graph) for c in cuts))
        if len(mends) == 1:
            return mends[0]
        return say("gradient.two_mends", first=mends[0].rstrip("."), other=mends[1])

    def aliased(self, asked: Asked) -> Explanation | None:
        """Its value was written into memory that the loss read by another tensor: ``buffer.data[:2]
        = h``."""
        connected = self.connected(asked)
        for write in self.facts.writes:
            if write.alias or write.after_id not in connected or write.before_id in connected:
                continue
            read = self.read_in_same_memory(write, connected)
            if read is not None:
                return self.answer(
                    asked,
                    Cause.CUT,
                    "aliased",
                    calls=[self.graph.call[write.call_id]],
                    tensors=[write.after_id, read.id],
                    other=self.words.name(read.id),
                    alias=self.words.name(write.before_id),
                )
        return None

    def read_in_same_memory(self, write: Wrote, connected: Set[int]) -> Tensor | None:
        """Return the tensor by which the loss read the memory that was written, unless a gradient
        reaches that tensor."""
        block = self.graph.tensor[write.after_id].storage_id
        if block is None:
            return None
        sharing = (t for t in self.facts.in_memory.get(block, ()) if t.id not in connected)
        unconnected = (t for t in sharing if t.id in self.flow.behind)
        return next((t for t in unconnected if self.read_after(t, write.call_id)), None)

    def read_after(self, t: Tensor, call_id: int) -> bool:
        """Say whether a call on the way to the loss read this state after another call."""
        later = (c for c in self.facts.readers.get(t.object_id, ()) if c.id > call_id)
        return any(t.id in c.inputs and self.flow.behind & {*c.outputs} for c in later)

    def unread(self, asked: Asked) -> Explanation | None:
        """No path, and no recording that says why."""
        if not asked.is_leaf and not asked.retains_grad:
            return None
        sharing = self.named_in_same_memory(asked)
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "no_path_shared" if sharing else "no_path",
            checked=self.checked_of_unknown(asked),
            start=self.loss if self.roots else say("gradient.no_grad_fn", loss=self.loss),
            other=sharing[0] if sharing else "",
            record=self.record,
        )

    def named_in_same_memory(self, asked: Asked) -> list[str]:
        """Return the names of other tensors that share its memory."""
        blocks = {t.storage_id for t in self.states(asked)} - {None}
        names = [t.name for block in blocks for t in self.facts.in_memory.get(block, ())]
        return [name for name in names if name and name != asked.name]

    def readers(self, asked: Asked) -> list[Call]:
        """Return the calls that read it."""
        states = self.states(asked)
        return self.facts.readers.get(states[-1].object_id, []) if states else []

    def left_torch(self, asked: Asked) -> Explanation | None:
        """Tell that all that was made from it ends in cuts, whose results no recorded call takes to
        the loss."""
        if not (cuts := self.flow.cuts_after(asked.tensor_id)):
            return None
        if self.backward_began_above(asked) or not self.all_of_it_read(asked):
            return None
        way_back = self.came_back(cuts)
        calls = self.calls_of_cuts(cuts)
        if way_back is None:
            return self.answer(
                asked,
                Cause.CUT,
                "ends",
                calls=calls,
                cuts=cuts,
                cutter=say(f"cut.{cuts[-1].reason.name.lower()}"),
                mend=repair(cuts[-1], self.graph),
            )
        return self.answer(
            asked,
            Cause.REBUILT_FROM_VALUE,
            "left_torch" if way_back.sure is Sure.PROVEN else "left_torch_likely",
            calls=calls,
            cuts=cuts,
            tensors=way_back.tensor_ids,
            sure=way_back.sure,
            what=way_back.what,
            code=self.words.code(calls[-1]),
            mend=usual_repair(CutReason.COPIED_OUT),
        )

    def backward_began_above(self, asked: Asked) -> bool:
        """Say whether a recorded backward began at a node that sends a gradient to it."""
        return not self.above(asked).isdisjoint(self.facts.runs_started_at)

    def all_of_it_read(self, asked: Asked) -> bool:
        """Say whether calls read all that was made from it."""
        made_of_it = self.connected(asked) - {t.id for t in self.states(asked)}
        return made_of_it <= self.facts.read_ids

    def only_copied(self, asked: Asked) -> Explanation | None:
        """Tell that only copy.deepcopy read it."""
        readers = self.readers(asked)
        if not readers or not all(map(is_deepcopy, readers)):
            return None
        return self.answer(asked, Cause.NOT_IN_LOSS, "only_copied", calls=readers[:1])

    def mixed(self, asked: Asked) -> Explanation | None:
        """Tell that of what a call returned only a part without a gradient goes on to the loss: the
        indices of topk or max."""
        if not self.flow.is_whole:
            return None
        connected = self.connected(asked)
        for call in self.facts.ordinary_calls:
            if going_on := self.untracked_part(call, connected):
                return self.answer(
                    asked,
                    Cause.CUT,
                    "part_goes_on",
                    calls=[call],
                    tensors=going_on,
                    function=call.function,
                    parts=[self.words.name(i) for i in going_on],
                    dtype=self.graph.tensor[going_on[0]].dtype,
                )
        return None

    def untracked_part(self, call: Call, connected: Set[int]) -> list[int]:
        """Return the results of a call that went into the loss and that no gradient reaches,
        unless a result that one reaches went there too."""
        tracked = connected & {*call.outputs}
        if not tracked or connected.isdisjoint(call.inputs) or tracked & self.flow.behind:
            return []
        return [i for i in call.outputs if i in self.flow.behind and i not in connected]

    def not_whole(self, asked: Asked) -> Explanation | None:
        """The recording does not show the whole way of its value."""
        if self.flow.is_whole and self.flow.behind.isdisjoint(t.id for t in self.states(asked)):
            return None
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "not_whole",
            checked=self.checked_of_unknown(asked),
            record=self.record,
        )

    def twin_used(self, asked: Asked) -> Explanation | None:
        """No call used it, but another tensor that shares its memory."""
        twins = self.twins_in_loss(asked)
        if self.readers(asked) or not twins:
            return None
        return self.answer(
            asked,
            Cause.NOT_IN_LOSS,
            "base_used" if self.cut_view(asked) else "twin_used",
            tensors=[twins[-1].id],
            other=self.words.name(twins[-1].id),
        )

    def cut_view(self, asked: Asked) -> bool:
        """Say whether it is a view that says requires_grad, and was made under no_grad."""
        states = self.states(asked)  # none of a tensor of which only the memory was met
        if not states or states[-1].base_id is None:
            return False
        return bool(states[-1].is_leaf and states[-1].requires_grad)

    def twins_in_loss(self, asked: Asked) -> list[Tensor]:
        """Return the states that share its memory and went into the loss."""
        blocks = {asked.storage_id, *(t.storage_id for t in self.states(asked))} - {None}
        sharing = (t for block in blocks for t in self.facts.in_memory.get(block, ()))
        return [t for t in sharing if t.id in self.flow.behind]

    def never_read(self, asked: Asked) -> Explanation | None:
        """No call used it."""
        if self.readers(asked):
            return None
        cause = Cause.BRANCH_NOT_TAKEN if asked.parameter else Cause.NOT_IN_LOSS
        return self.answer(asked, cause, "never_read")

    def made_a_leaf(self, asked: Asked) -> Explanation | None:
        """A result of it was wrapped into a new leaf, as by nn.Parameter."""
        if (wrapped := self.wrapped(asked)) is None:
            return None
        result, leaf = wrapped
        name = self.words.name(leaf.id)
        return self.answer(
            asked,
            Cause.CUT,
            "made_a_leaf",
            calls=[self.facts.maker[result.id]],
            tensors=[result.id, leaf.id],
            checked=CHECKED_IN_LOSS[1:],
            sure=Sure.LIKELY,
            code=self.words.name(result.id),
            new=say("gradient.named_leaf", name=name) if leaf.name else say("gradient.new_leaf"),
        )

    def wrapped(self, asked: Asked) -> tuple[Tensor, Tensor] | None:
        """Return a result that no call read, and the trained leaf of its shape that was met first
        after it."""
        unread = sorted(self.connected(asked) - self.facts.read_ids)
        for result in (self.graph.tensor[i] for i in unread if i in self.facts.maker):
            alike = (t for t in self.fresh if (t.shape, t.dtype) == (result.shape, result.dtype))
            leaf = next((t for t in alike if t.id > result.id), None)
            if leaf is not None:
                return result, leaf
        return None

    @cached_property
    def fresh(self) -> list[Tensor]:
        """Trained leaves in the loss as they were met first, those apart that a call made or a
        module holds."""
        objects = {
            self.graph.tensor[i].object_id: i for i in sorted(self.flow.behind, reverse=True)
        }
        met_first = (self.facts.states[object_id][0] for object_id in objects)
        leaves = [t for t in met_first if t.is_leaf and t.requires_grad]
        return [t for t in leaves if t.id not in self.facts.maker and "." not in (t.name or "")]

    def leads_elsewhere(self, asked: Asked) -> Explanation:
        """Tell that what was made from it does not go into the loss."""
        calls = self.readers(asked)[-1:]
        return self.answer(asked, Cause.NOT_IN_LOSS, "leads_elsewhere", calls=calls)

    # --- it is a result ---------------------------------------------------------------------------

    def not_kept(self, asked: Asked) -> bool:
        """Say whether it is a result whose .grad is not kept."""
        return not asked.is_leaf and not asked.retains_grad

    def calls_that_made(self, asked: Asked) -> list[Call]:
        """Return the call that made it, where one is known."""
        maker = self.maker(asked)
        return [maker] if maker else []

    def checked_of_result(self, asked: Asked) -> tuple[str, ...]:
        """Return the keys of what cannot be the cause of a result's missing .grad."""
        return ("cut", "never_tracked") if self.reaches(asked) else ("never_tracked",)

    def rebound(self, asked: Asked) -> Explanation | None:
        """Its name was that of a leaf before."""
        parent, has_its_name = self.leaf_above(asked)
        if parent is None or not has_its_name:
            return None
        code = self.words.code(self.maker(asked))
        updated = ".grad" in code
        added_to = updated and f"{asked.name} + " in code
        return self.answer(
            asked,
            Cause.REBOUND,
            "added_to" if added_to else "updated" if updated else "named_anew",
            calls=self.calls_that_made(asked),
            tensors=[parent.id],
            checked=self.checked_of_result(asked),
        )

    def made_non_leaf(self, asked: Asked) -> Explanation | None:
        """The call that made it took the place of the leaf at once."""
        parent, has_its_name = self.leaf_above(asked)
        maker = self.maker(asked)
        if parent is None or has_its_name or maker is None:
            return None
        return self.answer(
            asked,
            Cause.MADE_NON_LEAF,
            "made_a_result",
            calls=[maker],
            tensors=[parent.id],
            checked=self.checked_of_result(asked),
            function=maker.function,
        )

    def is_a_result(self, asked: Asked) -> Explanation:
        """Its gradient goes on to the leaves."""
        leaves = self.leaves_of(asked)
        return self.answer(
            asked,
            Cause.NON_LEAF,
            "result_like_leaf" if self.like_leaf_above(asked) else "result",
            calls=self.calls_that_made(asked),
            checked=self.checked_of_result(asked),
            leaves=several(leaves) if leaves else say("gradient.the_leaves"),
        )

    def like_leaf_above(self, asked: Asked) -> bool:
        """Say whether a leaf of its shape is directly above it, and no recording tells the name of
        that."""
        if self.recorded:
            return False
        return any(
            t.shape == self.states(asked)[-1].shape
            for t in self.flow.leaves_directly_behind(asked.tensor_id)
        )

    def leaf_above(self, asked: Asked) -> tuple[Tensor | None, bool]:
        """Return the leaf of the same shape directly above, and whether the name was taken from
        it."""
        start, states = self.node_of(asked), self.states(asked)
        if start is None or not states:
            return None, False
        if (leaf := self.scaled_leaf(asked, states[-1])) is not None:
            return leaf, False
        earlier = self.earlier_leaf(states[-1], self.facts.reachable([start[0]]))
        return earlier, earlier is not None

    def scaled_leaf(self, asked: Asked, result: Tensor) -> Tensor | None:
        """Return the leaf that was made and used up by the one call that made the result."""
        leaves, maker = self.flow.leaves_directly_behind(asked.tensor_id), self.maker(asked)
        if len(leaves) != 1 or maker is None or maker.function not in SCALING:
            return None
        leaf = leaves[0]
        if leaf.shape != result.shape or leaf.code_name not in ("", result.code_name):
            return None
        was_made = any(t.id in self.facts.maker for t in self.facts.states[leaf.object_id])
        readers = self.facts.readers.get(leaf.object_id, ())
        computing = [c for c in readers if c.function != "requires_grad_"]
        return leaf if computing == [maker] and (leaf.name or was_made) else None

    def earlier_leaf(self, result: Tensor, met: Set[int]) -> Tensor | None:
        """Return the last leaf above that had the result's name."""
        name = result.code_name
        above = [
            t for t in self.graph.tensors if self.facts.accumulate_node.get(t.object_id) in met
        ]
        leaves = [t for t in above if t.is_leaf and t.requires_grad]
        others = [t for t in leaves if t.object_id != result.object_id]
        namesakes = [t for t in others if t.name and t.code_name == name]
        return namesakes[-1] if namesakes else None

    # --- it would get a gradient, and none has come -----------------------------------------------

    def cleared_unused(self, asked: Asked) -> Explanation | None:
        """Its .grad was cleared, and no step had used it."""
        if (cleared := self.cleared(asked)) is None:
            return None
        call, stored = cleared
        return self.answer(asked, Cause.NO_BACKWARD_YET, "cleared", calls=[call], stored=stored)

    def given_back(self, asked: Asked) -> Explanation | None:
        """autograd.grad returned its gradient and filled no .grad."""
        objects = {t.object_id for t in self.states(asked)}
        runs = [b for b in self.graph.backwards if b.kind == "grad"]
        giving = [
            b for b in runs if any(self.graph.tensor[i].object_id in objects for i, _ in b.returned)
        ]
        if not giving:
            return None
        calls = [self.graph.call[giving[-1].call_id]]
        return self.answer(asked, Cause.NO_BACKWARD_YET, "given_back", calls=calls)

    def none_returned(self, asked: Asked) -> Explanation | None:
        """A custom Function returned None towards it."""
        node = self.withholding(asked)
        if node is None:
            return None
        maker = self.graph.call.get(node.call_id)
        return self.answer(
            asked,
            Cause.CUT,
            "returned_none",
            calls=[maker] if maker else [],
            nodes=[node.id],
            checked=CHECKED_IN_LOSS[1:],
            node=node.name,
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
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "used_up" if self.used_up else "saved_written",
            checked=CHECKED_IN_LOSS[1:],
            spent=self.spent,
        )

    def no_backward_from_loss(self, asked: Asked) -> Explanation | None:
        """No backward has run from the loss."""
        if not self.recorded:
            return None
        return self.answer(
            asked,
            Cause.NO_BACKWARD_YET,
            "not_from_loss_unsure" if self.unspent else "not_from_loss",
            unsure=self.unspent,
        )

    def no_backward_at_all(self, asked: Asked) -> Explanation | None:
        """No backward was recorded."""
        if not self.recorded or self.graph.backwards:
            return None
        checked = ("requires_grad", "non_leaf")
        return self.answer(asked, Cause.NO_BACKWARD_YET, "none_recorded", checked=checked)

    def unseen_path(self, asked: Asked) -> bool:
        """Say whether a path leads to it, and nobody recorded what ran."""
        return not self.recorded and self.reached(asked)

    def custom_above(self, asked: Asked) -> Explanation | None:
        """A custom Function may have returned None towards it."""
        above = [self.graph.node[i] for i in self.above(asked) if i in self.graph.node]
        custom = [node for node in above if node.kind is NodeKind.CUSTOM_FUNCTION]
        if not custom:
            return None
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "custom_above",
            checked=("cut", "frozen", "never_tracked"),
            node=custom[0].name,
            record=self.record,
        )

    def not_run_or_cleared(self, asked: Asked) -> Explanation:
        """Backward has not run, or its .grad was cleared since."""
        return self.answer(
            asked,
            Cause.NO_BACKWARD_YET,
            "not_run_or_cleared_unsure" if self.unspent else "not_run_or_cleared",
            unsure=self.unspent,
        )

    @cached_property
    def unspent(self) -> str:
        """Why it is not known whether a backward from the loss can run; "" where nothing speaks
        against it."""
        return "" if self.spent else unspent(self.graph, self.roots)

    @cached_property
    def spent(self) -> str:
        """Why another backward from the loss would raise; "" where nothing says so."""
        if self.used_up:
            return say("gradient.used_up", loss=self.loss)
        if self.holder_of_written is not None:
            return say("gradient.saved_written", node=self.holder_of_written.name)
        return ""

    @cached_property
    def used_up(self) -> bool:
        """Whether a backward freed what nodes of the loss had saved."""
        return self.first_holding(SavedState.FREED) is not None

    @cached_property
    def holder_of_written(self) -> Node | None:
        """A node of the loss that saved what was written in place since."""
        return self.first_holding(SavedState.STALE)

    def first_holding(self, state: SavedState) -> Node | None:
        """Return the first node of the loss, of which something saved is in this state."""
        nodes = (self.graph.node[i] for i in sorted(self.facts.reachable(self.roots)))
        return next((n for n in nodes if any(saved.state is state for saved in n.saved)), None)

    def stepped(self, asked: Asked, cleared: Call) -> bool:
        """Say whether it was written between the last backward and the call that cleared its
        .grad."""
        last = max((b.call_id for b in self.graph.backwards if b.call_id < cleared.id), default=-1)
        pairs = [
            (self.graph.tensor[e.before_id], self.graph.tensor[e.after_id])
            for e in self.flow.writes_to(asked.tensor_id)
            if last < e.call_id < cleared.id
        ]
        return any(a.version != b.version or a.values != b.values for a, b in pairs)

    def filled_since(self, asked: Asked, cleared: Call) -> bool:
        """Say whether a backward may have brought it a gradient after this call cleared its
        .grad."""
        end = self.node_of(asked)
        if end is None:
            return False
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        return any(b.call_id >= cleared.id and end[0] in self.facts.may_have_run(b) for b in runs)

    def withholding(self, asked: Asked) -> Node | None:
        """Return the custom Function whose backward gave no gradient towards the tensor, where
        there is one such."""
        if not self.withheld:
            return None
        end = self.node_of(asked)
        towards = self.above(asked) | ({end[0]} if end else set())
        met = self.facts.reachable(self.roots)  # other iterations lead to the same leaf
        nodes = {
            e.node_id
            for node_id in {node_id for node_id, _ in self.withheld} & met
            for e in self.graph.edges_from.get(node_id, ())
            if e.next_node_id in towards and (e.node_id, e.next_index) in self.withheld
        }
        return self.graph.node[nodes.pop()] if len(nodes) == 1 else None

    @cached_property
    def withheld(self) -> set[tuple[int, int]]:
        """Slots for which the backward of a custom Function returned None."""
        kind, node = NodeKind.CUSTOM_FUNCTION, self.graph.node
        runs = (e for e in self.facts.nodes_ran if node[e.node_id].kind is kind)
        return {(e.node_id, i) for e in runs for i, sent in enumerate(e.sent) if sent is None}

    # --- nothing is proven ------------------------------------------------------------------------

    def no_cause(self, asked: Asked) -> Explanation:
        """Tell that no rule proves anything."""
        return self.answer(
            asked,
            Cause.NOT_KNOWN,
            "no_cause",
            checked=self.checked_of_unknown(asked),
            record=self.record,
        )

    def checked_of_unknown(self, asked: Asked) -> tuple[str, ...]:
        """Return the keys of what its flags rule out."""
        return ("requires_grad", "non_leaf") if asked.is_leaf else ("requires_grad",)
