"""Predictions and targets that were put into different orders: each got a permutation of its own.
Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.effects import CLASS_LOSSES, ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements, loop_around
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_LOSSES = ELEMENTWISE_LOSSES | CLASS_LOSSES
_LOSSES |= {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
_INDEXES = ("__getitem__", "index_select")
_MIXING = frozenset("sort msort topk argsort unique cdist".split())
_SEEDS = {"manual_seed", "manual_seed_all", "set_rng_state", "seed_everything", "set_seed"}


def shuffled_apart(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of the last loss whose predictions come from rows in the order of one permutation, and
    whose targets come from rows in the order of another one.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    losses = (c for c in reversed(facts.ordinary_calls) if c.function in _LOSSES)
    loss = next((c for c in losses if not facts.in_losses.isdisjoint(c.outputs)), None)
    if loss is None or len(loss.inputs) < 2:
        return
    of_inputs, of_targets = (_orders(facts, i) for i in loss.inputs[:2])
    if len(of_inputs) != 1 or len(of_targets) != 1 or of_inputs.keys() == of_targets.keys():
        return
    one, other = (*of_inputs.values(), *of_targets.values())
    if _rows(facts, one) != _rows(facts, other) or _seeds_within(statements):
        return
    if not all(
        _keeps_rows(facts, order, i) for order, i in zip((one, other), loss.inputs, strict=False)
    ):
        return
    fields = {"one": words.at(one), "other": words.at(other), "loss": words.at(loss)}
    yield Remark(Weight.WEIGHTY, "shuffled_apart", fields, (one, other, loss))


def _orders(facts: Facts, tensor_id: int) -> dict[int, Call]:
    """Return the permutations by which what a tensor was computed from was ordered, each with the
    call that ordered it."""
    behind = facts.ancestors([tensor_id])
    found = dict[int, Call]()
    for call in facts.ordinary_calls:
        if call.function not in _INDEXES or behind.isdisjoint(call.outputs):
            continue
        for index in call.inputs[1:]:
            maker = facts.maker.get(index)
            if maker is not None and maker.function == "randperm":
                found[maker.id] = call
    return found


def _seeds_within(statements: Statements) -> bool:
    """Say whether draws may be given the same seed: by a generator of their own, or where a loop, a
    function or a second statement seeds."""
    calls = [node for _, node in statements.nodes(ast.Call)]
    if any(k.arg == "generator" for call in calls for k in call.keywords):
        return True
    seeding = [call for call in calls if callee_of(call.func) in _SEEDS]
    is_inner = any(_is_within(call) for call in seeding)
    return is_inner or len(seeding) > 1


def _is_within(node: Any) -> bool:
    """Say whether a call stands in a loop or in a function."""
    return loop_around(node) is not None or not isinstance(scope_of(node), ast.Module)


def _keeps_rows(facts: Facts, order: Call, tensor_id: int) -> bool:
    """Say whether a tensor has one row for each that was put into order, and no call on the way
    sorts them or takes them together."""
    shape = facts.graph.tensor[tensor_id].shape or ()
    after = facts.ancestors([tensor_id])
    between = [
        call
        for call in facts.ordinary_calls
        if call.id > order.id
        and not after.isdisjoint(call.outputs)
        and not facts.ancestors(call.outputs).isdisjoint(order.outputs)
    ]
    is_mixed = any(plain_name(call.function) in _MIXING for call in between)
    return shape[:1] == (_rows(facts, order),) and not is_mixed


def _rows(facts: Facts, call: Call) -> int | None:
    """Return how many rows a call put into another order."""
    shape = facts.graph.tensor[call.outputs[0]].shape
    return shape[0] if shape else None
