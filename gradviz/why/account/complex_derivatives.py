"""Derivatives of complex results: what torch returns is their conjugate, of a real input their real
part alone. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.graph.facts import Facts
from gradviz.graph.records import Backward, Call, Tensor
from gradviz.graph.training import Training
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_CONJUGATING = {"conj", "conj_physical", "adjoint", "H", "mH"}


def complex_derivatives(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of the last derivative of a complex result that no later call conjugates and no step
    uses: whoever descends wants the conjugate, and whoever derives does not.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what its steps used.
    """
    for run in reversed(facts.graph.backwards):
        call = facts.graph.call[run.call_id]
        root = facts.graph.tensor[call.inputs[0]] if call.inputs else None
        if root is None or not _is_complex(root) or _is_conjugated_after(facts, call):
            continue
        inputs = [t for t in _derived_by(facts, run, root) if not _is_stepped(training, t)]
        if not inputs:
            continue
        by = next((t for t in inputs if _is_complex(t)), inputs[0])
        key = "conjugate_returned" if _is_complex(by) else "real_part_returned"
        fields = {"call": words.at(call), "root": words.name(root.id), "by": words.name(by.id)}
        yield Remark(Weight.WEIGHTY, key, fields, (call,), frozenset([by.object_id]))
        return


def _derived_by(facts: Facts, run: Backward, root: Tensor) -> list[Tensor]:
    """Return the tensors by which a run derived: those that autograd.grad was asked for, or the
    leaves to which a backward leads."""
    if run.kind == "grad":
        return [facts.graph.tensor[i] for i, _ in run.returned]
    return facts.leaves_reached(root.id)


def _is_complex(tensor: Tensor) -> bool:
    return (tensor.dtype or "").startswith("complex")


def _is_conjugated_after(facts: Facts, call: Call) -> bool:
    """Say whether any later call takes a conjugate: then the program may know."""
    return any(c.function in _CONJUGATING for c in facts.graph.calls[call.id :])


def _is_stepped(training: Training, tensor: Tensor) -> bool:
    """Say whether a step moved a tensor by its gradient."""
    return bool(training.sums_used.get(tensor.object_id))
