"""Why a node sends only zeros although something else arrived: what its call computes, and at
which values. Knows no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gradviz.graph.effects import DETACHED, ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Node
from gradviz.names.written import Number, factors_written, texts_near
from gradviz.why.code.comparisons import bracketed, threshold_in
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.why.evidence.softmaxes import SOFTMAX, runs_over_one
from gradviz.words.speech import Code, say
from gradviz.words.words import Words

# losses that are never below 0, and 0 only where their derivative is: at what they aim at
_LEAST_IS_ZERO = frozenset(
    """binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy
    hinge_embedding_loss huber_loss l1_loss margin_ranking_loss mse_loss multi_margin_loss
    smooth_l1_loss triplet_margin_loss""".split()
)
_OF_THREE = ("cosine_embedding_loss", "margin_ranking_loss", "triplet_margin_loss")
_STAIRS = ("Round", "Floor", "Ceil", "Sign", "Trunc")
_ONE_SIDED = ("Relu", "Threshold")
_PROBABILITIES = {"sigmoid", "softmax"}
_SATURATING = {"Sigmoid": "0 or 1", "Tanh": "-1 or 1", "Softmax": "0 or 1", "LogSoftmax": "0"}
_PRODUCTS = PRODUCTS | {"__imul__"}
_CHOOSING = {"Where": "where", "Maximum": "maximum", "Minimum": "minimum"}


class Reason(NamedTuple):
    """Why only zeros were sent, and what to write instead; in words."""

    why: str
    mend: str = ""


def at_minimum(facts: Facts, nodes: Sequence[Node]) -> Call | None:
    """Return the loss whose value is exactly 0, the least that it can be, where these are its
    nodes and it compares a result with something else."""
    calls = {facts.graph.call.get(node.call_id) for node in nodes}
    call = calls.pop() if len(calls) == 1 else None
    if call is None or call.function not in _LEAST_IS_ZERO or aims_at_itself(facts, call):
        return None
    if len(call.inputs) > 2 and call.function not in _OF_THREE:
        return None  # weights may be 0, and then it is no minimum
    if _may_be_of_one_class(facts, call):
        return None
    values = [facts.graph.tensor[i].values for i in call.outputs]
    return call if values == ["0"] else None


def _may_be_of_one_class(facts: Facts, call: Call) -> bool:
    """Say whether a loss may be 0 whatever the weights are, as there is only one class."""
    maker = facts.maker.get(computed(facts, call.inputs[0]))
    of_one = (runs_over_one(facts, one) for one in (call, maker) if one is not None)
    return any(one is not False for one in of_one)


def aims_at_itself(facts: Facts, call: Call) -> bool:
    """Say whether a loss compares a result with its own numbers."""
    if call.function not in ELEMENTWISE_LOSSES or len(call.inputs) < 2:
        return False
    through = KEEPING | DETACHED
    one, other = (computed(facts, i, through) for i in call.inputs[:2])
    return one == other


def reason(facts: Facts, nodes: Sequence[Node]) -> Reason | None:
    """Say why these nodes sent only zeros; None where it is not known.

    Args:
        facts: of the recording.
        nodes: those that sent only zeros although something else arrived, without the few of
            which the way itself tells why: hooks, casts, what is empty.
    """
    calls = [facts.graph.call.get(node.call_id) for node in nodes]
    if not nodes or None in calls:
        return None
    for find in _REASONS:
        reasons = {
            find(facts, node, call)
            for node, call in zip(nodes, calls, strict=True)
            if call is not None
        }
        if None not in reasons and len(reasons) == 1:
            return reasons.pop()
    return None


def _own_target(facts: Facts, _: Node, call: Call) -> Reason | None:
    if not aims_at_itself(facts, call):
        return None
    wrote = _write_into_both(facts, call)
    if wrote is None:
        return Reason(say("zero.own_target", function=call.function), say("zero.mend_own_target"))
    words = Words(facts.graph)
    name = words.name(call.inputs[0])
    why = say("zero.one_of_two", function=call.function, name=name, write=words.at(wrote))
    return Reason(why, say("zero.mend_one_of_two", name=name))


def _write_into_both(facts: Facts, call: Call) -> Call | None:
    """Return the last write in place into the one tensor that a loss compares with itself, as into
    a target that is a second name of it."""
    tensor = facts.graph.tensor
    objects = {tensor[i].object_id for i in call.inputs[:2]}
    events = facts.writes_by_object.get(objects.pop(), ()) if len(objects) == 1 else ()
    before = [e.call_id for e in events if e.call_id < call.id and facts.writes_memory(e)]
    return facts.graph.call[before[-1]] if before else None


def _by_number(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a product with a plain number."""
    if plain_name(call.function) not in _PRODUCTS or len(call.inputs) != 1:
        return None
    zeros = _zero_factors(call)
    if not zeros:
        return Reason(say("zero.by_a_number"), say("zero.mend_a_number"))
    number = zeros[0]
    if number.code[0].isdigit():
        return Reason(say("zero.by_literal", number=number.code), say("zero.mend_a_number"))
    same = call.source is not None and call.source.file == number.file
    line = say("label.line", line=number.line)
    place = line if same else f"{number.file} {line}"
    why = say("zero.by_number", name=number.code, place=place)
    return Reason(why, say("zero.mend_number", name=number.code))


def _zero_factors(call: Call) -> list[Number]:
    """Return the plain numbers that are 0 and stand beside a ``*`` in the code of a call."""
    return [number for number in factors_written(call) if number.value == 0]


def _stairs(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a staircase: its slope is 0 everywhere."""
    if not node.name.startswith(_STAIRS):
        return None
    function = plain_name(call.function)
    maker = facts.maker.get(computed(facts, call.inputs[0])) if call.inputs else None
    is_probability = maker is not None and plain_name(maker.function) in _PROBABILITIES
    mend = say(
        "zero.mend_stairs_of_probability" if is_probability else "zero.mend_stairs",
        function=function,
    )
    return Reason(say("zero.stairs", function=function), mend)


def _one_sided(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of what is 0 below 0, and got nothing above."""
    if not node.name.startswith(_ONE_SIDED) or plain_name(call.function) != "relu":
        return None
    return Reason(say("zero.below_zero"), say("zero.mend_below_zero"))


def _saturated(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of what is exactly at an end of its range, or at the only value that it can have."""
    kind = node.name.partition("Backward")[0]
    if kind not in _SATURATING or not call.outputs:
        return None
    function = plain_name(call.function)
    if "Softmax" in kind and (of_one := runs_over_one(facts, call)) is not False:
        why = say(
            "zero.softmax_of_one" if of_one else "zero.softmax_maybe_of_one", function=function
        )
        return Reason(why, say("zero.mend_softmax_of_one"))
    if function not in ("sigmoid", "tanh", *SOFTMAX):
        return Reason(say("zero.saturated_inside", function=function), say("zero.mend_saturated"))
    ends = _SATURATING[kind]
    return Reason(say("zero.saturated", function=function, ends=ends), say("zero.mend_saturated"))


def _given_ones(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a loss that gets a softmax over a dimension of size 1: exactly 1, whatever went
    in."""
    maker = facts.maker.get(computed(facts, call.inputs[0])) if call.inputs else None
    if maker is None or plain_name(maker.function) != "softmax":
        return None
    of_one = runs_over_one(facts, maker)
    if of_one is False:
        return None
    place = Words(facts.graph).where(maker)
    why = say("zero.softmax_given" if of_one else "zero.softmax_maybe_given", place=place)
    return Reason(why, say("zero.mend_softmax_of_one"))


def _nearest(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a look-up of the nearest element: a small move of the place changes nothing."""
    if not node.name.startswith("GridSampler") or call.source is None:
        return None
    if "nearest" not in texts_near(call.source):
        return Reason(say("zero.outside"), say("zero.mend_outside"))
    return Reason(say("zero.nearest", function=plain_name(call.function)), say("zero.mend_nearest"))


def _padding(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a lookup of nothing but the row that learns nothing."""
    if not node.name.startswith("Embedding"):
        return None
    return Reason(say("zero.padding"), say("zero.mend_padding"))


def _dropped_all(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a dropout that left nothing."""
    function = plain_name(call.function)
    if "dropout" not in function:
        return None
    return Reason(say("zero.dropped_all", function=function), say("zero.mend_dropped_all"))


def _chooses(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a choice between two values, that took the other one everywhere."""
    kind = node.name.partition("Backward")[0]
    if kind not in _CHOOSING:
        return None
    return Reason(say("zero.chose_other", function=_CHOOSING[kind]))


def _thresholded(facts: Facts, node: Node, call: Call) -> Reason | None:
    """Tell of a result that was made 0 and 1 by two writes: above a bound, and below it."""
    if not call.inputs or threshold_in(code_of(call)) is None:
        return None
    events = facts.writes_by_object.get(facts.graph.tensor[call.inputs[0]].object_id, ())
    calls = [facts.graph.call[i] for i in dict.fromkeys(event.call_id for event in events)]
    set_at = [(one, found) for one in calls if (found := threshold_in(code_of(one))) is not None]
    numbers = {found.is_above: found.number for _, found in set_at}
    if numbers != {True: 1.0, False: 0.0} or len({found[:2] for _, found in set_at}) > 1:
        return None
    name, bound = set_at[0][1][:2]
    words = Words(facts.graph)
    lines = [words.at(one) for one, _ in set_at]
    soft = Code(f"{name} = torch.sigmoid({name} - {bracketed(bound)})")
    why = say("zero.thresholded", name=Code(name), lines=lines)
    return Reason(why, say("zero.mend_thresholded", soft=soft, lines=lines))


_REASONS: tuple[Callable[[Facts, Node, Call], Reason | None], ...] = (
    _own_target,
    _given_ones,
    _by_number,
    _stairs,
    _one_sided,
    _saturated,
    _nearest,
    _padding,
    _dropped_all,
    _chooses,
    _thresholded,
)
