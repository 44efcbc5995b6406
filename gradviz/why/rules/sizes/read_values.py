"""Where numbers stopped being finite, as the recording read it while the graph still held them: the
call, and at which values. Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from gradviz.graph.broken_at import BrokenAt, Given
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, Call
from gradviz.graph.training import line_of
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.measured import Measured
from gradviz.why.evidence.softmaxes import SOFTMAX
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.rules.sizes.advice import (
    ARCS,
    DIVISIONS,
    GROWING,
    LOGS,
    POWERS,
    ROOTS,
    SQUARE_ROOTS,
    Advice,
    advice,
)
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.rules.sizes.suspects import suspects_of_data, values, values_in_loss
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_ABOUT = (Cause.NAN, Cause.EXPLODING)
_FILLING = ("masked_fill", "where", "__setitem__", "full", "index_fill", "masked_scatter")

# the functions that are not finite at some values, these, and what is said of it
_TELLING: tuple[tuple[set[str], Callable[[float], bool], str], ...] = (
    (POWERS, lambda x: x < 0, "power"),
    (POWERS, lambda x: x == 0, "power_of_zero"),
    (DIVISIONS, lambda x: x == 0, "division"),
    (LOGS, lambda x: x <= 0, "logarithm"),
    (SQUARE_ROOTS, lambda x: x <= 0, "root"),
    (ARCS, lambda x: abs(x) >= 1, "arc"),
)


class Made(NamedTuple):
    """A call that gave what is not finite, and what was read there."""

    call: Call
    found: BrokenAt


def at_node(measured: Measured, run: int, node_id: int) -> BrokenAt | None:
    """Return what was read where a node of a backward got finite gradients and sent others."""
    of_run = (b for b in measured.broken_at if b.run == run and not b.of_forward)
    return next((b for b in of_run if b.node_id == node_id), None)


def call_of(measured: Measured, found: BrokenAt) -> Call | None:
    """Return the call of the forward that a reading is about: of what a backward made, the one
    whose derivative that computes."""
    node_id = found.node_id if found.by_node_id is None else found.by_node_id
    return measured.graph.call.get(measured.graph.node[node_id].call_id)


def values_of(found: BrokenAt, *, divides: bool) -> tuple[float, ...]:
    """Return the finite values at which a derivative is not finite, each once: what is divided by,
    or what a function is taken of; none where what went in was not finite itself."""
    if any(g.n for g in found.inputs):
        return ()
    named = {g.name: g for g in found.given}
    names = ("other",) if divides else ("self", "other", "result")
    given = next((named[name] for name in names if name in named), None)
    return () if given is None else tuple(dict.fromkeys(filter(math.isfinite, given.values)))


def made_in_forward(sizes: Sizes, cause: Cause, broken: str, run: Backward) -> Explanation | None:
    """Tell which call of a forward gave what is not finite, and of which values."""
    made = _made(sizes, run) if cause in _ABOUT else None
    if made is None or plain_name(made.call.function) in (*SOFTMAX, *_FILLING):
        return None
    came = _bad_input(sizes, made)
    if came is not None:
        return _of_input(sizes, cause, broken, made, came)
    if not made.found.is_proven and not _is_single(made):
        return None
    advised, likewise = _advice(sizes, made), _divided_by_0_besides(sizes, made, run)
    if advised is not None and likewise:
        lines = [
            say("raised.written", code=sizes.words.code(c), line=sizes.words.where(c))
            for c in likewise
        ]
        advised = advised._replace(mend=f"{advised.mend} {say('advice.likewise', lines=lines)}")
    answer = sizes.answer(
        cause,
        "forward_call",
        calls=[made.call, *likewise, *(advised.calls if advised is not None else ())],
        sure=Sure.PROVEN if made.found.is_proven else Sure.LIKELY,
        broken=broken,
        why=[sizes.in_backward(run, why_made(sizes, made))],
    )
    return answer if advised is None else answer._replace(mend=advised.mend)


def _advice(sizes: Sizes, made: Made) -> Advice | None:
    """Return what keeps a call finite, of which is known what it was given."""
    if plain_name(made.call.function) in POWERS and _reason(made) is not None:
        return Advice(say("advice.power", code=sizes.words.code(made.call)))
    under = _root_divided_by(sizes, made.call)
    if under is None:
        return advice(sizes.facts, sizes.words, [made.call])
    advised = advice(sizes.facts, sizes.words, [under])
    return None if advised is None else advised._replace(calls=(under,))


def _divided_by_0_besides(sizes: Sizes, made: Made, run: Backward) -> list[Call]:
    """Return the other lines behind the same loss that divide finite numbers by 0, as the first one
    does: each breaks it alone."""
    if plain_name(made.call.function) not in DIVISIONS or _reason(made) != "division":
        return []
    behind = values_in_loss(sizes, run)
    others = (c for c in sizes.facts.ordinary_calls if made.call.id < c.id < run.call_id)
    divisions = (c for c in others if not behind.isdisjoint(c.outputs) and _divides_by_0(sizes, c))
    return [c for c in lines_once(divisions) if line_of(c) != line_of(made.call)]


def _divides_by_0(sizes: Sizes, call: Call) -> bool:
    """Say whether a call divides by a 0 that was read, and gave for it what is not finite."""
    if plain_name(call.function) not in DIVISIONS or len(call.inputs) != 2:
        return False
    read = [values(sizes, i) or [] for i in (*call.inputs, *call.outputs)]
    if len(read) != 3 or not all(read):
        return False
    above, below, made = read
    is_finite = all(map(math.isfinite, (*above, *below)))
    return is_finite and 0 in below and not all(map(math.isfinite, made))


def _root_divided_by(sizes: Sizes, call: Call) -> Call | None:
    """Return the root that a call divides by: at 0 it has no derivative itself, and what is added
    to it comes too late."""
    divides = plain_name(call.function) in DIVISIONS and len(call.inputs) > 1
    maker = sizes.facts.maker.get(computed(sizes.facts, call.inputs[1])) if divides else None
    return maker if maker is not None and plain_name(maker.function) in ROOTS else None


def _made(sizes: Sizes, run: Backward) -> Made | None:
    """Return what was read of the forward behind a backward: where a gradient that went into its
    loss was broken before, that."""
    behind = sizes.facts.ancestors([sizes.graph.call[run.call_id].inputs[0]])
    runs = {b.run: b for b in sizes.graph.backwards}
    for found in sizes.broken_at:
        of = runs.get(found.run)
        is_before = of is not None and found.run < run.run and not found.of_forward
        goes_in = is_before and of is not None and behind & {*sizes.graph.call[of.call_id].outputs}
        if goes_in or (found.run == run.run and found.of_forward):
            call = call_of(sizes, found)
            return None if call is None else Made(call, found)
    return None


def _is_single(made: Made) -> bool:
    """Say whether values were read that tell by themselves that this call is where it begins."""
    return _reason(made) is not None


def why_made(sizes: Sizes, made: Made) -> str:
    """Say what a call was given, and what it made of that."""
    found, reason = made.found, _reason(made)
    fields = {
        "code": sizes.words.code(made.call),
        "function": plain_name(made.call.function),
        "n": found.n,
        "all": found.all,
        "values": _shown(found),
    }
    if not found.of_forward and reason in (None, "division"):
        return say("read.derivative", **fields)
    if reason is not None:
        return say(f"read.{reason}", exponent=_exponent(found), **fields)
    return say("read.overflow", **fields)


def _reason(made: Made) -> str | None:
    """Return the key of why a call is not finite at the values that it was given; None where these
    do not tell."""
    function, values = plain_name(made.call.function), _values(made.found)
    for functions, test, key in _TELLING:
        if function in functions and any(map(test, values)):
            return key
    by_function = "root" if function in SQUARE_ROOTS else "exponential"
    is_sure = function in SQUARE_ROOTS | GROWING and made.found.of_forward
    return by_function if is_sure else None


def _values(found: BrokenAt) -> tuple[float, ...]:
    """Return the values that matter of those that went in: the divisor of a division."""
    if not found.inputs:
        return ()
    named = {g.name: g for g in found.inputs}
    given = named.get("other", named.get("self", found.inputs[0]))
    return given.values


def _shown(found: BrokenAt) -> list[str]:
    """Return these values as they are told, each once."""
    return list(dict.fromkeys(number(v) for v in _values(found)))


def _exponent(found: BrokenAt) -> str:
    """Return the exponent of a power."""
    values = next((g.values for g in found.inputs if g.name == "exponent"), ())
    return number(values[0]) if values else "?"


def _bad_input(sizes: Sizes, made: Made) -> Given | None:
    """Return what a call was given that is not finite itself: the loss has it from there."""
    saved = next((g for g in made.found.inputs if g.n and g.tensor_id is not None), None)
    if saved is not None or made.found.is_proven or not made.found.of_forward:
        return saved
    for i in made.call.inputs:
        n, all_ = (0, 0) if sizes.graph.tensor[i].requires_grad else sizes.not_finite(i)
        if n:
            return Given("", i, (), n, all_)
    return None


def _of_input(
    sizes: Sizes, cause: Cause, broken: str, made: Made, came: Given
) -> Explanation | None:
    """Tell that a call was given NaN or inf: data, or a parameter that held it before."""
    tensor = sizes.graph.tensor[came.tensor_id or 0]
    maker = sizes.facts.maker.get(tensor.id)
    if tensor.requires_grad and not tensor.is_leaf:
        return None
    name = sizes.words.as_written(tensor.id)
    answer = sizes.answer(
        cause,
        "weights_have_nan" if tensor.requires_grad else "forward_of_nan",
        calls=[made.call, *([maker] if maker is not None else [])],
        broken=broken,
        name=name,
        n=came.n,
        all=came.all,
        code=sizes.words.at(made.call),
    )
    if tensor.requires_grad:
        return answer
    suspects = suspects_of_data(sizes, [tensor.id])
    advised = advice(sizes.facts, sizes.words, suspects)
    if advised is not None:
        codes = [sizes.words.code(call) for call in suspects]
        why = [answer.why, say("small.suspects", codes=codes)]
        calls = [*advised.calls, *suspects, made.call]
        told = sizes.answer(
            cause, "forward_call", calls=calls, sure=Sure.LIKELY, broken=broken, why=why
        )
        return told._replace(mend=advised.mend)
    mend = say("advice.nan_to_num", name=Code(name), code=sizes.words.at(made.call))
    return answer._replace(mend=mend)
