"""Losses that a training makes as large as it can: the loss is minus what cannot be negative, or a
step by hand adds the gradient."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations

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
_LOGARITHMS = {"log", "log2", "log_softmax"}
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
    yield from _without_lower_end(facts, words)
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


def _last_losses(facts: Facts) -> list[int]:
    """Return of each line that went back from single numbers the last one."""
    return [row.calls[-1].inputs[0] for row in loss_rows(facts)]


def _rewards(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a loss that is log-probabilities times plain numbers, with no minus between: a step
    makes what has a large number less likely."""
    for loss in _last_losses(facts):
        if (found := _weighed(facts, loss)) is not None:
            loss_name, factor = map(words.name, (loss, found.inputs[0]))
            fields = {"loss": loss_name, "code": words.at(found), "log_prob": factor}
            yield Remark(Weight.WEIGHTY, "log_prob_without_minus", fields, (found,))


def _entropies(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of an entropy that stands with a plus in the loss of a policy, or of minus one that
    stands there with a minus."""
    for loss in _last_losses(facts):
        parts = signed_parts(facts, loss) if _is_of_policy(facts, loss) else ()
        for call, sign in parts:
            is_plus = sign > 0 and _is_entropy(call)
            if is_plus or (sign < 0 and _is_minus_entropy(facts, call)):
                key = "entropy_with_plus" if is_plus else "minus_entropy_with_minus"
                fields = {"loss": words.name(loss), "code": words.at(call)}
                yield Remark(Weight.WEIGHTY, key, fields, (call,))
                return


def _is_of_policy(facts: Facts, loss: int) -> bool:
    """Say whether log-probabilities of what was drawn stand in a loss, or what was picked of some
    is weighed with numbers."""
    behind = facts.ancestors([loss])
    calls = [call for call in facts.ordinary_calls if not behind.isdisjoint(call.outputs)]
    return any(_is_log_prob(call) or _weighs_picked(facts, call) for call in calls)


def _weighs_picked(facts: Facts, call: Call) -> bool:
    """Say whether a call multiplies what was picked of logarithms, each by a number of its own."""
    tensor = facts.graph.tensor
    learning = [i for i in call.inputs if tensor[i].requires_grad]
    weights = [i for i in call.inputs if not tensor[i].requires_grad and tensor[i].shape]
    is_weighed = plain_name(call.function) in PRODUCTS and len(learning) == 1 and bool(weights)
    return is_weighed and _is_picked_of_logarithms(facts, learning[0])


def _is_picked_of_logarithms(facts: Facts, tensor_id: int) -> bool:
    """Say whether some of several values were picked on the way to a tensor, and logarithms
    taken."""
    behind, tensor = facts.ancestors([tensor_id]), facts.graph.tensor
    made = [c for c in facts.ordinary_calls if not behind.isdisjoint(c.outputs)]
    is_picked = any(c.function == "gather" and tensor[c.inputs[0]].requires_grad for c in made)
    return is_picked and any(plain_name(c.function) in _LOGARITHMS for c in made)


def _is_minus_entropy(facts: Facts, call: Call) -> bool:
    """Say whether a call multiplies probabilities by their own logarithms."""
    if plain_name(call.function) not in PRODUCTS or len(call.inputs) != 2:
        return False
    return any(_are_logarithms_of(facts, *pair) for pair in permutations(call.inputs))


def _are_logarithms_of(facts: Facts, logs: int, probabilities: int) -> bool:
    """Say whether numbers are the logarithms of others, where a small number may be added first."""
    made, of = facts.maker.get(logs), facts.maker.get(probabilities)
    if made is None or plain_name(made.function) not in _LOGARITHMS:
        return of is not None and plain_name(of.function) == "exp" and of.inputs[0] == logs
    given = made.inputs[0]
    adding = facts.maker.get(given)
    if adding is not None and plain_name(adding.function) in ("add", "clamp"):
        given = given if given == probabilities else adding.inputs[0]
    is_softmax = of is not None and plain_name(of.function) == "softmax"
    return given == probabilities or (is_softmax and of is not None and given == of.inputs[0])


def _clipped_surrogates(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the larger of a value and of what was clipped beside it that stands in a loss with a
    minus: the loss is least where the value is far beyond what clips it."""
    for loss in _last_losses(facts):
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


def _without_lower_end(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a loss in which an exponential stands with a minus: it falls without end as that
    grows."""
    for loss in _last_losses(facts):
        taken_away = _exponentials_taken_away(facts, loss)
        call = next((c for c in taken_away if _has_no_end(facts, c.inputs[0])), None)
        if call is not None:
            told = {"loss": words.name(loss), "code": words.at(call)}
            yield Remark(Weight.WEIGHTY, "minus_an_exponential", told, (call,))


def _exponentials_taken_away(facts: Facts, loss: int) -> Iterator[Call]:
    """Yield the exponentials that a loss is minus a positive multiple of."""
    for call, sign in signed_parts(facts, loss):
        if plain_name(call.function) in _EXPONENTIALS and sign < 0:
            yield call


def signed_parts(facts: Facts, loss: int) -> Iterator[tuple[Call, int]]:
    """Yield the calls that gave what a loss is a sum of, and the sums of these, each with the sign
    with which it stands there."""
    for tensor_id, sign in signed_states(facts, loss):
        call = facts.maker.get(tensor_id)
        if call is not None and call.inputs:
            yield call, sign


def signed_states(facts: Facts, loss: int) -> Iterator[tuple[int, int]]:
    """Yield what a loss is a sum of, and the sums of these, each with the sign with which it stands
    there, as far as calls and the numbers that they gave prove it."""
    todo = [(loss, 1)]
    while todo:
        tensor_id, sign = todo.pop()
        yield tensor_id, sign
        call = facts.maker.get(tensor_id)
        if call is None or not call.inputs:
            continue
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
