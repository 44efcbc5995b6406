"""Losses whose target learns, too, with weights that the prediction is computed with: it is met
most easily where all of them are alike. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.comparisons import bracketed
from gradviz.why.evidence.distances import is_distance
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.rules.many import pattern
from gradviz.words.speech import Code
from gradviz.words.words import Words

_Pair = tuple[frozenset[int], frozenset[int]]  # leaves of a prediction, and of its target

_TARGETED = ELEMENTWISE_LOSSES | {"kl_div", "cross_entropy"}  # whose second input is a target


def learning_targets(facts: Facts, words: Words, trained: Set[int]) -> Iterator[Remark]:
    """Tell of each line that compares a prediction with a target which gets a gradient, too, and is
    computed with a part of the weights that the prediction is computed with.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        trained: the object ids of what steps moved.
    """
    behind = facts.in_losses
    first = dict[object, Remark]()
    found = [
        (call, leaves)
        for call in facts.ordinary_calls
        if call.function in ELEMENTWISE_LOSSES and not behind.isdisjoint(call.outputs)
        if (leaves := _shared_leaves(facts, call, trained))
    ]
    otherwise = _learnt_otherwise(facts, [call for call, _ in found]) if found else frozenset()
    for call, leaves in found:
        if not leaves <= otherwise and line_of(call) not in first:
            target = facts.graph.tensor[call.inputs[1]]
            made = facts.maker.get(target.id)
            fields = {
                "call": words.at(call),
                "target": words.as_written(target.id),
                "place": words.where(made or call),
                "leaves": pattern([words.name(facts.latest_state[i].id) for i in sorted(leaves)]),
            }
            calls = (call,) if made is None else (made, call)
            first[line_of(call)] = Remark(
                Weight.WEIGHTY, "learning_target", fields, calls, frozenset(leaves)
            )
    yield from first.values()
    yield from _bootstrapped(facts, words, trained)
    yield from _of_another(facts, words, trained)


def _bootstrapped(facts: Facts, words: Words, trained: Set[int]) -> Iterator[Remark]:
    """Tell of each line that compares a prediction with what was observed and a prediction of the
    same weights, added up, as a target of Q-learning: both get a gradient."""
    last = dict[object, Remark]()
    for call in _comparisons(facts):
        added = _adding_observed(facts, call)
        if added is None:
            continue
        one, other = (_trained_behind(facts, i, trained) for i in call.inputs[:2])
        if one and one == other:
            target = words.name(added.outputs[0])
            fields = {"call": words.at(call), "target": target, "place": words.where(added)}
            fields["whole"] = Code(bracketed(target))
            calls = (added, call)
            last[line_of(call)] = Remark(Weight.WEIGHTY, "bootstrapped_target", fields, calls)
    yield from last.values()


def _comparisons(facts: Facts) -> Iterator[Call]:
    """Yield the calls on the way to a loss that compare two tracked results, of each line the last:
    losses, and the differences that are taken as distances."""
    behind, tensor = facts.in_losses, facts.graph.tensor
    last = dict[object, Call]()
    for call in facts.ordinary_calls:
        is_compared = call.function in _TARGETED or is_distance(facts, call)
        if is_compared and not behind.isdisjoint(call.outputs):
            last[line_of(call), call.function] = call
    for call in last.values():
        states = [tensor[i] for i in call.inputs[:2]]
        if len(states) == 2 and all(t.requires_grad and not t.is_leaf for t in states):
            yield call


def _trained_behind(facts: Facts, state: int, trained: Set[int]) -> Set[int]:
    """Return the object ids of the leaves that a result is computed with; nothing where steps did
    not move all of them, or autograd.grad made a part of it, as of an equation."""
    leaves = {t.object_id for t in facts.leaves_reached(state)}
    is_derived = not facts.derived.isdisjoint(facts.ancestors([state]))
    return frozenset() if is_derived or not leaves <= trained else leaves


def _adding_observed(facts: Facts, comparison: Call) -> Call | None:
    """Return the call that added a tensor without a gradient to a tracked one, whose result is one
    of the two sides that are compared; None where both are such sums, or neither."""
    sums = list[Call]()
    for side in comparison.inputs[:2]:
        maker = facts.maker.get(computed(facts, side))
        if maker is not None and plain_name(maker.function) == "add" and len(maker.inputs) == 2:
            flags = {bool(facts.graph.tensor[i].requires_grad) for i in maker.inputs}
            sums += [maker] if len(flags) == 2 else []
    return sums[0] if len(sums) == 1 else None


def _of_another(facts: Facts, words: Words, trained: Set[int]) -> Iterator[Remark]:
    """Tell of each loss whose target is the result of other weights that are trained, and gets a
    gradient, as a teacher's that learns beside its student. Of two that are each other's targets,
    as in mutual learning, it is not told."""
    last, pairs = dict[object, tuple[Remark, _Pair]](), set[_Pair]()
    for call in _comparisons(facts):
        if call.function not in _TARGETED:
            continue
        one, target = (_trained_behind(facts, i, trained) for i in call.inputs[:2])
        own = target - one
        made = facts.maker.get(call.inputs[1])
        pair = frozenset(one), frozenset(target)
        pairs.add(pair)
        if own and one - target and made is not None:
            names = [words.name(facts.latest_state[i].id) for i in sorted(own)]
            fields = {
                "call": words.at(call),
                "target": words.name(call.inputs[1]),
                "whole": Code(bracketed(words.name(call.inputs[1]))),
                "place": words.where(made),
                "leaves": pattern(names),
            }
            calls, leaves = (made, call), frozenset(own)
            remark = Remark(Weight.NOTABLE, "target_of_another", fields, calls, leaves)
            last[line_of(call)] = remark, pair
    for remark, (one, target) in last.values():
        if (target, one) not in pairs:
            yield remark


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


def _shared_leaves(facts: Facts, loss: Call, trained: Set[int]) -> Set[int]:
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
    is_derived = not facts.derived.isdisjoint(facts.ancestors(loss.inputs[:2]))
    return frozenset() if is_derived else of_target
