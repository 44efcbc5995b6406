"""Losses that a training makes as large as it can: the loss is minus what cannot be negative, or a
step by hand adds the gradient."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Training, line_of
from gradviz.names.frames import frames
from gradviz.names.written import arguments_written, numbers_read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import LINEAR, TOGETHER, plain_name
from gradviz.why.evidence.loss_rows import LossRow, loss_rows
from gradviz.why.evidence.measured import factor_of
from gradviz.words.words import Words

# what is never below 0, and has no upper end
_NOT_NEGATIVE = {
    *ELEMENTWISE_LOSSES,
    *(
        "cross_entropy",
        "square",
        "abs",
        "norm",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
    ),
}
_NEGATES = {"neg", "negative", "__neg__"}
_EXPONENTIALS = {"exp", "expm1", "cosh"}
_SUMS_UP = {"sum", "mean", "squeeze", "view", "reshape"}
_LAYERS = {"linear", "conv1d", "conv2d", "conv3d", "matmul", "mm", "addmm"}
_PARTS = {"chunk", "split", "__getitem__", "unbind", "flatten", "add", "sub", "neg"}
_ENTROPY = re.compile(r"^(?:\w+ = )?[\w.]+\.entropy\(\)(?:\.(?:mean|sum)\([^()]*\))?$")
_LARGER_OF_TWO = {"max", "maximum", "fmax"}
_CLIPS = {"clamp", "clip"}
_LONG = 3  # losses of a row
_FAR = 1.5  # the last loss, in sizes of the first
# a step by hand that adds a positive multiple of the gradient
_ADDS = re.compile(r"^[\w.\[\]]+ \+= (?!-)[^-]*\.grad\b|\.add_\((?!.*-).*\.grad\b")


def climbing(facts: Facts, words: Words, training: Training) -> Iterator[Remark]:
    """Tell of each loss that grows without end, in size, as the steps ask for it.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
    """
    yield from _rewards(facts, words)
    yield from _entropies(facts, words)
    yield from _clipped_surrogates(facts, words)
    for row in loss_rows(facts):
        if len(row.values) < _LONG or not abs(row.values[-1]) > _FAR * abs(row.values[0]):
            continue
        last = row.calls[-1]
        fields = {
            "loss": words.name(last.inputs[0]),
            "first": number(row.values[0]),
            "last": number(row.values[-1]),
        }
        if row.values[-1] < 0:
            yield from _negated(facts, words, row, fields)
        else:
            yield from _by_hand(words, training, row, fields)


def _rewards(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a loss that is log-probabilities times plain numbers, with no minus between: a step
    makes what has a large number less likely."""
    for loss in facts.losses[-1:]:
        if (found := _weighed(facts, loss)) is not None:
            loss_name, factor = map(words.name, (loss, found.inputs[0]))
            fields = {"loss": loss_name, "code": words.at(found), "log_prob": factor}
            yield Remark(Weight.WEIGHTY, "log_prob_without_minus", fields, (found,))


def _entropies(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of an entropy that stands with a plus in the loss of a policy: one in which
    log-probabilities stand, too."""
    for loss in facts.losses[-1:]:
        behind = facts.ancestors([loss])
        of_policy = any(_is_log_prob(c) and behind & {*c.outputs} for c in facts.ordinary_calls)
        for call, sign in signed_parts(facts, loss) if of_policy else ():
            if sign > 0 and _is_entropy(call):
                fields = {"loss": words.name(loss), "code": words.at(call)}
                yield Remark(Weight.WEIGHTY, "entropy_with_plus", fields, (call,))
                return


def _clipped_surrogates(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the larger of a value and of what was clipped beside it that stands in a loss with a
    minus: the loss is least where the value is far beyond what clips it."""
    for loss in facts.losses[-1:]:
        for call, sign in signed_parts(facts, loss):
            given = [i for i in call.inputs if facts.graph.tensor[i].requires_grad]
            is_larger = plain_name(call.function) in _LARGER_OF_TWO and len(given) == 2
            if sign < 0 and is_larger and sum(_is_clipped(facts, i) for i in given) == 1:
                fields = {"code": words.at(call)}
                yield Remark(Weight.WEIGHTY, "larger_of_clipped", fields, (call,))
                return


def _is_clipped(facts: Facts, tensor_id: int) -> bool:
    """Say whether a value was clamped, or is a product of what was."""
    made = facts.maker.get(tensor_id)
    if made is not None and plain_name(made.function) in PRODUCTS:
        makers = [facts.maker.get(i) for i in made.inputs]
        made = next((m for m in makers if m is not None and m.function in _CLIPS), None)
    return made is not None and made.function in _CLIPS


def _is_entropy(call: Call) -> bool:
    """Say whether the code of a call, or the statement around it, is an entropy alone."""
    statement = [frame.code for frame in frames(call)[:1]]
    return any(_ENTROPY.search(code) for code in (code_of(call), *statement))


def _weighed(facts: Facts, tensor_id: int) -> Call | None:
    """Return the call that multiplies log-probabilities by what has no history; None where the
    loss is anything else besides, or a sign was turned on the way."""
    weighing: Call | None = None
    while (call := facts.maker.get(tensor_id)) is not None:
        if _is_log_prob(call):
            return weighing
        of = [i for i in call.inputs if facts.graph.tensor[i].requires_grad]
        function = plain_name(call.function)
        if (
            not of
            or (len(of) > 1 and function not in TOGETHER)
            or function not in LINEAR | PRODUCTS
        ):
            return None
        constants = [i for i in call.inputs if i not in of]
        if _turns_sign(call) or _are_negated(facts, constants):
            return None
        weighing = call if function in PRODUCTS and constants else weighing
        tensor_id = of[0]
    return None


def _is_log_prob(call: Call) -> bool:
    """Say whether the code of a call, or the statement around it, asks for a log-probability."""
    statement = [frame.code for frame in frames(call)[:1]]
    return any("log_prob(" in code for code in (code_of(call), *statement))


def _are_negated(facts: Facts, tensor_ids: list[int]) -> bool:
    """Say whether the sign of one of some tensors was turned when it was made."""
    makers = [facts.maker.get(i) for i in tensor_ids]
    return any(made is not None and _turns_sign(made) for made in makers)


def _negated(facts: Facts, words: Words, row: LossRow, fields: dict[str, str]) -> Iterator[Remark]:
    """Tell of a loss that is minus what cannot be negative."""
    found = _minus_of(facts, row.calls[-1].inputs[0])
    if found is None:
        yield from _without_lower_end(facts, words, row, fields)
        return
    negating, inner = found
    told = {**fields, "code": words.at(negating), "function": plain_name(inner.function)}
    yield Remark(Weight.WEIGHTY, "minus_a_distance", told, (negating, row.calls[-1]))


def _minus_of(facts: Facts, tensor_id: int) -> tuple[Call, Call] | None:
    """Return the call that turned the sign of a loss, and what gave the loss before; None where
    that may be negative, or no sign was turned."""
    negating: Call | None = None
    while (call := facts.maker.get(tensor_id)) is not None and call.inputs:
        function = plain_name(call.function)
        if function in _NOT_NEGATIVE or _is_square(call):
            return None if negating is None else (negating, call)
        if _turns_sign(call):
            negating = call if negating is None else None
        elif function not in LINEAR or len(call.inputs) > 1:
            return None
        tensor_id = call.inputs[0]
    return None


def _without_lower_end(
    facts: Facts, words: Words, row: LossRow, fields: dict[str, str]
) -> Iterator[Remark]:
    """Tell of a loss in which an exponential stands with a minus: it falls without end as that
    grows."""
    taken_away = _exponentials_taken_away(facts, row.calls[0].inputs[0])
    call = next((c for c in taken_away if _has_no_end(facts, c.inputs[0])), None)
    if call is not None:
        told = {**fields, "code": words.at(call), "function": plain_name(call.function)}
        yield Remark(Weight.WEIGHTY, "minus_an_exponential", told, (call, row.calls[-1]))


def _exponentials_taken_away(facts: Facts, loss: int) -> Iterator[Call]:
    """Yield the exponentials that a loss is minus a positive multiple of."""
    for call, sign in signed_parts(facts, loss):
        if plain_name(call.function) in _EXPONENTIALS and sign < 0:
            yield call


def signed_parts(facts: Facts, loss: int) -> Iterator[tuple[Call, int]]:
    """Yield the calls that gave what a loss is a sum of, and the sums of these, each with the sign
    with which it stands there, as far as calls and the numbers that they gave prove it."""
    todo = [(loss, 1)]
    while todo:
        tensor_id, sign = todo.pop()
        call = facts.maker.get(tensor_id)
        if call is None or not call.inputs:
            continue
        yield call, sign
        function = plain_name(call.function)
        if function in _SUMS_UP:
            todo.append((call.inputs[0], sign))
        elif function in _NEGATES or function == "rsub":
            todo.append((call.inputs[0], -sign))
        elif function in ("add", "sub"):
            todo.append((call.inputs[0], sign))
            todo += [(i, sign if function == "add" else -sign) for i in call.inputs[1:2]]
        elif function in PRODUCTS | {"div"} and len(call.inputs) == 1:
            todo += [(call.inputs[0], sign * s) for s in _sign_of_factor(facts, call)]


def _has_no_end(facts: Facts, tensor_id: int) -> bool:
    """Say whether a value is a leaf's, or a layer's that only multiplies and adds, times numbers:
    of minus a square, or of what was clamped, an exponential has an end."""
    while (call := facts.maker.get(tensor_id)) is not None and call.inputs:
        function = plain_name(call.function)
        if function in _LAYERS:
            return True
        if function not in LINEAR | _PARTS or len(call.inputs) > 1:
            return False
        tensor_id = call.inputs[0]
    return facts.graph.tensor[tensor_id].requires_grad is True


def _sign_of_factor(facts: Facts, call: Call) -> list[int]:
    """Return 1 or -1, as a call multiplied one number by a positive or a negative one; nothing
    where the numbers are not known."""
    factor = factor_of(facts, call)
    return [1 if factor > 0 else -1] if factor else []


def _turns_sign(call: Call) -> bool:
    """Say whether a call multiplies by a negative number."""
    if plain_name(call.function) in _NEGATES:
        return True
    if plain_name(call.function) not in PRODUCTS or call.source is None or len(call.inputs) > 1:
        return False
    code = (call.source.code or "").replace(" ", "")
    return "=-" in code or "return-" in code or any(n.value < 0 for n in numbers_read(call.source))


def _is_square(call: Call) -> bool:
    """Say whether a call is a power with an even exponent."""
    function = plain_name(call.function)
    if function not in ("pow", "__pow__") or call.source is None:
        return False
    code = (call.source.code or "").replace(" ", "")
    given = [n.value for n in arguments_written(call.source, function)]
    return "**2" in code or given[-1:] in ([2], [4])


def _by_hand(
    words: Words, training: Training, row: LossRow, fields: dict[str, str]
) -> Iterator[Remark]:
    """Tell of steps by hand that add the gradient, by which a loss grew."""
    runs = {call.id for call in row.calls}
    steps = dict[object, Call]()
    leaves = set[int]()
    for leaf, every in training.moments.items():
        is_of_row = any(m.did is Did.ADDED and m.call.id in runs for m in every)
        for moment in every if is_of_row else ():
            if moment.did is Did.STEPPED and _ADDS.search(words.code(moment.call)):
                steps[line_of(moment.call)] = moment.call
                leaves.add(leaf)
    if steps:
        told = {**fields, "codes": [words.at(call) for call in steps.values()]}
        calls = tuple(steps.values())
        yield Remark(Weight.WEIGHTY, "adds_the_gradient", told, calls, frozenset(leaves))
