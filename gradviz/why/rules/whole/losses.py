"""What is wrong between losses: one that is added as a number only, and one that sends a gradient
to what another is to train; and between networks: targets, and copies that are none.

Each method that takes an answer is a second look: see ``TABLE`` in ``why/answering/table.py``.
"""

from __future__ import annotations

from functools import cached_property

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import CutReason
from gradviz.graph.training import Training
from gradviz.why.evidence.summands import single
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.optimizers.optimizers import Optimizers
from gradviz.why.rules.whole.extras import Extras
from gradviz.why.shown.explanation import Explanation

# what reads a number without computing with it
LOOKING = {"item", "__float__", "detach", "backward", "tolist", "numpy", "__format__", "__repr__"}
# cuts that are written in order to cut
WRITTEN = {CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.NO_GRAD}
WRITTEN |= {CutReason.INFERENCE_MODE}
# cuts by which a value goes on alone
LETTING_GO = WRITTEN | {CutReason.DATA, CutReason.COPIED_OUT}


class Losses(Optimizers):
    """The subjects, and what their losses have to do with each other."""

    @cached_property
    def every_loss(self) -> list[int]:
        """The states of all that a loss is: what recorded backwards were called on, the last first,
        and what was given."""
        facts = self.facts
        known = dict.fromkeys([*reversed(self.started), *self.loss_ids])
        return [i for i in known if i in facts.maker or i in self.loss_ids]

    @cached_property
    def training(self) -> Training:
        """What was done with the gradients of the recording, in order."""
        if self.recording is None:
            return Training(self.facts, {})
        return self.recording.training

    @cached_property
    def started(self) -> list[int]:
        """The states that recorded backwards were called on."""
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        return [i for b in runs for i in self.graph.call[b.call_id].inputs[:1]]

    @cached_property
    def asks_for_tensors(self) -> bool:
        """Whether the reader, or the program itself, looked at a tensor that is no loss."""
        losses = {id(t) for t in self.losses}
        return self.in_particular and any(i not in losses for i in self.tensors)

    def recorded_and_mild(self, found: Explanation) -> bool:
        """Say whether a recording may show something graver than the answer so far."""
        return self.recording is not None and found.cause.level <= Level.NOTE

    def training_asked(self, found: Explanation) -> bool:
        """Say whether more than the gradient of a tensor is asked for, and a recording may show
        something graver than the answer so far: what a lone tensor is cut from is plain to see."""
        about = self.modules or self.optimizers or self.losses or not self.given
        return bool(about) and self.recorded_and_mild(found)

    # --- two names of one network -----------------------------------------------------------------

    def recorded_and_fine(self, found: Explanation) -> bool:
        """Say whether a recording was looked through, and no fault was found."""
        return self.recording is not None and found.cause is Cause.HEALTHY

    @cached_property
    def extras(self) -> Extras:
        """What losses send to the leaves of others."""
        return Extras(self.graph, self.ends, self.held_objects)

    @cached_property
    def ends(self) -> list[int]:
        """The losses, and the tracked single numbers that no call used: these may be some too."""
        facts = self.facts
        unread = [
            t.id
            for t in self.graph.tensors
            if t.requires_grad and not t.is_leaf and single(t) and t.id in facts.maker
            if not any(c.function not in LOOKING for c in facts.readers.get(t.object_id, ()))
        ]
        return list(dict.fromkeys([*self.every_loss, *unread]))

    @cached_property
    def held_objects(self) -> list[set[int]]:
        """Of each known optimizer the objects that it holds."""
        recording = self.recording
        assert recording is not None
        optimizers = {id(o): o for o in (*self.known_optimizers, *self.optimizers)}
        found = []
        for optimizer in optimizers.values():
            states = (recording.find(p) for p in held_by([optimizer]).values())
            found.append({t.object_id for t in states if t is not None})
        return found
