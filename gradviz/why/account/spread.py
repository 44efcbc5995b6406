"""Predictions that a loss compares with a target of more numbers: torch spreads them out, and each
is compared with several. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from typing import NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

_ADD_A_DIMENSION = {"unsqueeze", "__getitem__", "expand"}
# what makes of differences the distance that a loss is
_DISTANCES = {"pow", "__pow__", "square", "abs", "mul", "mse_loss"}
_TO_A_NUMBER = _DISTANCES | {"sqrt", "neg", "mean", "sum", "div"}
_STEPS = 5
_WAY = 12  # calls back to a log-probability

Shape = tuple[int, ...]


class Spread(NamedTuple):
    """A comparison for which torch spreads the prediction out.

    Attributes:
        call: the comparison.
        prediction: what has a history.
        target: what has none.
        shape: to which both are spread.
    """

    call: Call
    prediction: Tensor
    target: Tensor
    shape: Shape


def spread_predictions(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of losses that compare a prediction with a target of more numbers, which has the same
    first dimension, or with one that makes a table of both.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind = facts.in_losses
    last = dict[object, Spread]()
    for call in facts.ordinary_calls:
        found = None if behind.isdisjoint(call.outputs) else _spread(facts, call, behind)
        if found is not None:
            last[line_of(call) or call.id] = found
    of_targets = {one.target.object_id: one for one in reversed([*last.values()])}
    yield from (_remark(facts, words, one) for one in of_targets.values())


def _remark(facts: Facts, words: Words, one: Spread) -> Remark:
    """Return what is told of a comparison: with the call from which the target has its shape, and
    the log-probabilities that it is of, where that is known."""
    met, wide = _made_wide(facts, one)
    made = None if wide is None else facts.maker.get(wide.id)
    fields = {
        "call": words.at(one.call),
        "one": words.name(one.prediction.id),
        "other": words.name(one.target.id),
        "shape": list(map(str, one.prediction.shape or ())),
        "wide": list(map(str, one.target.shape or ())),
        "spread": list(map(str, one.shape)),
    }
    if wide is None or made is None:
        return Remark(Weight.WEIGHTY, "spread_prediction", fields, (one.call,))
    fields |= {"met": words.where(met), "made": words.where(made)}
    fields["by"] = words.as_written(wide.id)
    drawn = _log_prob(facts, wide)
    if drawn is None:
        return Remark(Weight.WEIGHTY, "spread_by_another", fields, (made, met or made, one.call))
    fields["log_prob"] = words.statement(drawn)
    return Remark(Weight.WEIGHTY, "spread_by_log_prob", fields, (drawn, met or made, one.call))


def spread_statistics(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of rows that are compared with a mean or sum of their own which torch lays across them:
    it has a number for each row, and a dimension too many.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind, last = facts.in_losses, dict[object, Remark]()
    for call in facts.ordinary_calls:
        if plain_name(call.function) not in ELEMENTWISE_LOSSES | {"sub"} or len(call.inputs) != 2:
            continue
        rows, statistic = (facts.graph.tensor[i] for i in call.inputs)
        if behind.isdisjoint(call.outputs) or not _lies_across(rows, statistic):
            continue
        if rows.id in facts.ancestors([statistic.id]):
            shape, small = rows.shape or (), statistic.shape or ()
            fields = {
                "call": words.at(call),
                "rows": words.name(rows.id),
                "other": words.name(statistic.id),
                "shape": list(map(str, shape)),
                "small": list(map(str, small)),
                "spread": list(map(str, spread_shape(shape, small) or ())),
                "fitting": [str(shape[0]), *["1"] * (len(shape) - 1)],
            }
            last[line_of(call) or call.id] = Remark(
                Weight.WEIGHTY, "spread_statistic", fields, (call,)
            )
    yield from last.values()


def _lies_across(rows: Tensor, statistic: Tensor) -> bool:
    """Say whether one tensor has a number for each row of another one, and so many dimensions that
    it is laid across the rows."""
    one, other = rows.shape or (), statistic.shape or ()
    return (
        len(other) > len(one) > 1
        and other[0] == one[0] > 1
        and set(other[1:]) == {1}
        and math.prod(one) > math.prod(other)
    )


def _spread(facts: Facts, call: Call, behind: Set[int]) -> Spread | None:
    """Return a comparison, where torch spreads its prediction out and nothing shows that this is
    meant."""
    function = plain_name(call.function)
    given = [facts.graph.tensor[i] for i in call.inputs]
    tracked = [t for t in given if t.requires_grad]
    if function not in ELEMENTWISE_LOSSES | {"sub"} or len(given) != 2 or len(tracked) != 1:
        return None
    prediction = tracked[0]
    target = given[1] if prediction is given[0] else given[0]
    shape = _spread_to(facts, prediction, target)
    if shape is None:
        return None
    if function == "sub" and not _is_a_loss_of_a_layer(facts, call, prediction, behind):
        return None
    return Spread(call, prediction, target, shape)


def _spread_to(facts: Facts, prediction: Tensor, target: Tensor) -> Shape | None:
    """Return the shape to which two tensors are spread, where that is unlikely to be meant."""
    one, other = prediction.shape or (), target.shape or ()
    shape = spread_shape(one, other)
    if shape is None or not _is_unlikely(one, other, shape):
        return None
    on_purpose = any(_is_made_to_spread(facts, t) for t in (prediction, target))
    return None if on_purpose else shape


def spread_shape(one: Shape, other: Shape) -> Shape | None:
    """Return the shape to which torch spreads two shapes; None where they do not fit.

    >>> spread_shape((8, 1), (8, 6)), spread_shape((4, 1, 5), (4, 5)), spread_shape((2,), (3,))
    ((8, 6), (4, 4, 5), None)
    """
    n = max(len(one), len(other))
    pairs = zip((1,) * (n - len(one)) + one, (1,) * (n - len(other)) + other, strict=True)
    sizes = [(a, b) for a, b in pairs]
    if any(a != b and 1 not in (a, b) for a, b in sizes):
        return None
    return tuple(b if a == 1 else a for a, b in sizes)


def _is_unlikely(one: Shape, other: Shape, shape: Shape) -> bool:
    """Say whether a prediction of a batch is spread over what the target has besides, or both over
    a table. Left out are a column and a row, which are told by themselves, and a prediction without
    a batch, which may be one number for all.

    >>> _is_unlikely((8, 1), (8, 6), (8, 6)), _is_unlikely((4, 1, 5), (4, 5), (4, 4, 5))
    (True, True)
    >>> _is_unlikely((6,), (8, 6), (8, 6)), _is_unlikely((8, 1), (8,), (8, 8))
    (False, False)
    """
    numbers = math.prod(shape)
    if numbers <= math.prod(one) or len(shape) < 2 or {one, other} == {(shape[0],), (shape[0], 1)}:
        return False
    same_batch = len(one) == len(other) and one[0] == other[0] > 1
    return same_batch or (numbers > math.prod(other) > 1 and len(one) != len(other))


def _is_made_to_spread(facts: Facts, tensor: Tensor) -> bool:
    """Say whether the call that made a tensor gave it a dimension more, or kept one of a sum or
    mean: that is written in order to spread it."""
    maker = facts.maker.get(tensor.id)
    if maker is None or not maker.inputs:
        return False
    before, after = facts.graph.tensor[maker.inputs[0]].shape or (), tensor.shape or ()
    if plain_name(maker.function) in _ADD_A_DIMENSION:
        return len(after) >= len(before) and 1 in after
    code = maker.source.code if maker.source is not None else ""
    return "keepdim" in (code or "")


def _is_of_a_module(facts: Facts, tensor: Tensor) -> bool:
    """Say whether a layer with parameters made a tensor."""
    maker = facts.maker.get(tensor.id)
    leaves = () if maker is None else (facts.graph.tensor[i] for i in maker.inputs)
    return any(t.is_leaf and t.object_id in facts.of_modules for t in leaves)


def _is_a_loss_of_a_layer(facts: Facts, call: Call, prediction: Tensor, behind: Set[int]) -> bool:
    """Say whether a difference of what a layer made becomes a loss: what else is spread may be a
    mean, or a number for all."""
    return _is_of_a_module(facts, prediction) and _is_loss(facts, call, behind)


def _is_loss(facts: Facts, call: Call, behind: Set[int]) -> bool:
    """Say whether nothing but one number is made of a difference, by way of a distance."""
    functions = list[str]()
    for _ in range(_STEPS):
        readers = {c.id: c for i in call.outputs for c in facts.calls_reading.get(i, ())}
        after = [c for c in readers.values() if not behind.isdisjoint(c.outputs)]
        if len(after) != 1 or plain_name(after[0].function) not in _TO_A_NUMBER:
            return False
        call = after[0]
        functions.append(plain_name(call.function))
        if facts.graph.tensor[call.outputs[0]].shape == ():
            return not _DISTANCES.isdisjoint(functions)
    return False


def _made_wide(facts: Facts, one: Spread) -> tuple[Call | None, Tensor | None]:
    """Return the first call on the way to a target in which what has the prediction's shape met
    what has more numbers, and the latter: where that shape comes from. Nothing where no call shows
    it."""
    tensor, wide = facts.graph.tensor, one.target.shape
    call, met, source = facts.maker.get(one.target.id), None, None
    while call is not None and call.inputs:
        given = [tensor[i] for i in call.inputs]
        wider = [t for t in given if t.shape == wide]
        if len(wider) != 1:
            break
        if any(t.shape == one.prediction.shape for t in given):
            met, source = call, _named(facts, wider[0])
        call = facts.maker.get(wider[0].id)
    return met, source


def _log_prob(facts: Facts, wide: Tensor) -> Call | None:
    """Return the statement of the program that took log-probabilities of which a tensor is made,
    number by number; None where none did, or where something was summed up on the way."""
    tensor, call = facts.graph.tensor, facts.maker.get(wide.id)
    for _ in range(_WAY):
        if call is None or ".log_prob" in code_of(call):
            return call
        alike = [i for i in call.inputs if tensor[i].shape == wide.shape and i in facts.maker]
        call = facts.maker[alike[0]] if alike else None
    return None


def _named(facts: Facts, tensor: Tensor) -> Tensor:
    """Return what a tensor is a multiple of, where that has a name and it has none."""
    maker = facts.maker.get(tensor.id)
    if tensor.code_name or maker is None or len(maker.inputs) != 1:
        return tensor
    before = facts.graph.tensor[maker.inputs[0]]
    return before if before.shape == tensor.shape else tensor
