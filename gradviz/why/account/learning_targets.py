"""Losses whose target learns, too, with weights that the prediction is computed with: it is met
most easily where all of them are alike. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern
from gradviz.words.words import Words


def learning_targets(facts: Facts, words: Words, trained: Set[int]) -> Iterator[Remark]:
    """Tell of each line that compares a prediction with a target which gets a gradient, too, and is
    computed with a part of the weights that the prediction is computed with.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        trained: the object ids of what steps moved.
    """
    behind, derived = facts.in_losses, _derived(facts)
    first = dict[object, Remark]()
    found = [
        (call, leaves)
        for call in facts.ordinary_calls
        if call.function in ELEMENTWISE_LOSSES and not behind.isdisjoint(call.outputs)
        if (leaves := _shared_leaves(facts, call, trained, derived))
    ]
    otherwise = _learnt_otherwise(facts, [call for call, _ in found]) if found else frozenset()
    for call, leaves in found:
        if not leaves <= otherwise and line_of(call) not in first:
            target = facts.graph.tensor[call.inputs[1]]
            made = facts.maker.get(target.id)
            fields = {
                "call": words.at(call),
                "target": target.code_name or words.name(target.id),
                "place": words.where(made or call),
                "leaves": pattern([words.name(facts.latest_state[i].id) for i in sorted(leaves)]),
            }
            calls = (call,) if made is None else (made, call)
            first[line_of(call)] = Remark(
                Weight.WEIGHTY, "learning_target", fields, calls, frozenset(leaves)
            )
    yield from first.values()


def _learnt_otherwise(facts: Facts, comparisons: Sequence[Call]) -> Set[int]:
    """Return the leaves that the losses hold, too, by a way that leads through none of some
    comparisons: a reconstruction, or what keeps the variance, holds what would shrink alike."""
    tensor, seen = facts.graph.tensor, {i for call in comparisons for i in call.outputs}
    todo, leaves = [*facts.losses], set[int]()
    while todo:
        tensor_id = todo.pop()
        if tensor_id in seen or not tensor[tensor_id].requires_grad:
            continue
        seen.add(tensor_id)
        made = facts.maker.get(tensor_id)
        if tensor[tensor_id].is_leaf:
            leaves.add(tensor[tensor_id].object_id)
        elif made is not None:
            todo += made.inputs
    return leaves


def _derived(facts: Facts) -> Set[int]:
    """Return what autograd.grad made."""
    runs = (run for run in facts.graph.backwards if run.kind == "grad")
    return {i for run in runs for i in facts.graph.call[run.call_id].outputs}


def _shared_leaves(facts: Facts, loss: Call, trained: Set[int], derived: Set[int]) -> Set[int]:
    """Return the leaves that a target is computed with, where a prediction is computed with all of
    them and with more; nothing where autograd.grad made one of the two, as of an equation."""
    states = [facts.graph.tensor[i] for i in loss.inputs[:2]]
    if len(states) < 2 or not all(t.requires_grad and not t.is_leaf for t in states):
        return frozenset()
    of_prediction, of_target = (
        {leaf.object_id for leaf in facts.leaves_reached(t.id)} for t in states
    )
    if not of_target < of_prediction or not of_target <= trained:
        return frozenset()
    is_derived = not derived.isdisjoint(facts.ancestors(loss.inputs[:2]))
    return frozenset() if is_derived else of_target
