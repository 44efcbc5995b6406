"""Where gradients become zero or vanish, and which running statistics moved though their module is
frozen. Knows no torch."""

from __future__ import annotations

import math
from functools import cached_property

from gradviz.graph.facts import grouped
from gradviz.graph.operations import VANISHING, Fate, Operation, Operations, Weight
from gradviz.graph.records import NodeRan
from gradviz.graph.sent import Sent

SUDDEN = 1e-3  # a gradient that one operation makes smaller than this, of 1, vanishes there


class Fading:
    """What became of gradients on their way.

    Args:
        operations: of a recording.
    """

    def __init__(self, operations: Operations) -> None:
        self.operations = operations

    def faded_at(self, weight: Weight) -> int | None:
        """Return the operation at which the gradient of a parameter became zero, or vanished.

        None where several operations made it small together, or where it is not known. Of several
        ways that of the last operation counts: it is the first that a gradient meets.
        """
        node = self.operations.facts.accumulate_node.get(weight.key)
        if node is None or weight.fate not in (Fate.ZERO, Fate.VANISHED):
            return None
        found = self._faded_behind(node, VANISHING if weight.fate is Fate.VANISHED else 0.0)
        return max(found) if found else None

    def _faded_behind(self, node: int, least: float) -> set[int]:
        """Find the operations that sent no more than ``least`` though more arrived at them, on the
        ways by which no more came to a node."""
        found: set[int] = set()
        seen, todo = {node}, [node]
        while todo:
            for sent in self._into.get(todo.pop(), ()):
                came = self._came(sent)
                if sent.norm <= least < came:
                    found |= self._sudden(sent, came, least)
                elif sent.norm <= least and came <= least and sent.node_id not in seen:
                    seen.add(sent.node_id)
                    todo.append(sent.node_id)
        return found

    def _sudden(self, sent: Sent, came: float, least: float) -> set[int]:
        """Return the operation that sent a gradient, if it alone made it small."""
        at = self.operations.of_node.get(sent.node_id)
        alone = not least or sent.norm < SUDDEN * came
        return {at} if alone and at is not None else set()

    def is_at_start(self, weight: Weight) -> bool:
        """Say whether a parameter gets zeros as every LoRA does in its first step: they come from
        the operation of the second matrix, ``lora_B``, which starts at zero and gets more."""
        at = self.faded_at(weight) if weight.fate is Fate.ZERO and "lora_A" in weight.name else None
        if at is None:
            return False
        read = [self.operations.weight[i] for i in self.operations.reads_weights[at]]
        return any("lora_B" in other.name and other.fate is Fate.SOME for other in read)

    def cancels(self, weight: Weight) -> bool:
        """Say whether a parameter gets zeros because what several operations sent it cancels out,
        as that of a last bias where a loss compares two outputs of one network."""
        if weight.fate is not Fate.ZERO or weight.object_id is None:
            return False
        by_op = self.operations.filled_from.get(weight.object_id, {})
        last = max((one.run for sents in by_op.values() for one in sents), default=-1)
        return any(one.norm > 0.0 for sents in by_op.values() for one in sents if one.run == last)

    def is_no_alarm(self, weight: Weight) -> bool:
        """Say whether zeros are nothing to look into: they come so at the start, or by a sum."""
        return self.is_at_start(weight) or self.cancels(weight)

    @cached_property
    def broken_at(self) -> NodeRan | None:
        """The first node that sent nan or inf though neither arrived at it; None: none did so, or
        the backward began with them."""
        operations = self.operations
        bad = {(sent.run, sent.node_id) for sent in operations.gradients.sent if sent.is_broken}
        came = {key[:2] for key in operations.gradients.broken}
        for event in operations.facts.nodes_ran:
            at = event.run, event.node_id
            if at in bad:
                return None if at in came else event
        return None

    @cached_property
    def _last_run(self) -> int:
        return max((sent.run for sent in self.operations.gradients.sent), default=0)

    @cached_property
    def _into(self) -> dict[int, list[Sent]]:
        """The gradients of the last run, by the node that they went to."""
        last = (sent for sent in self.operations.gradients.sent if sent.run == self._last_run)
        return grouped((sent.next_node_id, sent) for sent in last)

    def _came(self, sent: Sent) -> float:
        """Return the norm of what arrived at the node that sent something."""
        norms = self._arrived.get((sent.run, sent.node_id), ())
        return max(norms, default=math.nan)

    @cached_property
    def _arrived(self) -> dict[tuple[int, int], list[float]]:
        items = self.operations.gradients.arrived.items()
        return grouped(((run, node_id), norm) for (run, node_id, _), norm in items)

    @cached_property
    def moved(self) -> list[int]:
        """The calls of BatchNorms that moved their running statistics though every parameter of
        theirs is frozen: ``train()`` moves them, and ``requires_grad`` does not stop it."""
        return [op.at for op in self.operations.all if self._moved(op)]

    def _moved(self, op: Operation) -> bool:
        """Ask the mode of the module: torch moves no version counter for these writes."""
        call = self.operations.facts.module_call.get(op.call.module_call)
        if call is None or not call.training or "batch_norm" not in op.call.function:
            return False
        weights = [self.operations.weight[i] for i in self.operations.reads_weights[op.at]]
        statistics = len(op.call.inputs) - 1 - len(weights)
        are_frozen = all(weight.fate is Fate.FROZEN for weight in weights)
        return statistics >= 2 and bool(weights) and are_frozen
