"""What keeps a forward finite: the usual reasons for NaN and inf, by the call that made them and by
what that was given. Knows no torch."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.names.frames import whole_code
from gradviz.names.written import Number, arguments_written
from gradviz.why.code.rewritten import parsed
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.measured import numbers
from gradviz.words.speech import Code, say
from gradviz.words.words import Words

LOGS = {"log", "log2", "log10"}
SQUARE_ROOTS = {"sqrt", "rsqrt"}
ROOTS = SQUARE_ROOTS | {"norm", "vector_norm", "linalg_vector_norm"}
ARCS = {"acos", "asin", "arccos", "arcsin", "atanh", "arctanh"}
GROWING = {"exp", "expm1", "exp2", "sinh", "cosh"}
_SCALES = {"mul", "div", "true_divide", "neg", "__rmul__", "__mul__"}
SPREADS = {"std", "var"}
QUOTIENTS = {"div", "true_divide", "divide", "__truediv__"}
DIVISIONS = QUOTIENTS | {"__rdiv__", "reciprocal", "reciprocal_"}
_DIFFERENCES = {"sub", "rsub", "__rsub__", "neg"}
_CLAMPS = {"clamp", "clip", "clamp_min", "clamp_max"}
POWERS = {"pow", "__pow__", "float_power"}
_VECTORS = {"eigh", "eig", "linalg_eigh", "linalg_eig", "symeig"}
_SINGULAR = {"svd", "linalg_svd"}
_ROOT = re.compile(r"\*\*\s*\(\s*1(\.0*)?\s*/\s*[A-Za-z_]")  # x ** (1 / p)
_LOST = 2**-25  # what single precision loses beside 1
_BACK = 4  # calls between a logarithm and what may have become exactly 0 or 1


class Advice(NamedTuple):
    """What can be done about a call.

    Attributes:
        mend: in words.
        calls: where the reason stands.
    """

    mend: str
    calls: tuple[Call, ...] = ()


def advice(facts: Facts, words: Words, suspects: Iterable[Call]) -> Advice | None:
    """Return what keeps the first of some calls finite of which that is known; None where it is of
    none."""
    for call in suspects:
        found = _of_call(facts, words, call)
        if found is not None:
            return found
    return None


def _of_call(facts: Facts, words: Words, call: Call) -> Advice | None:
    """Return what keeps the result of one call finite."""
    function = plain_name(call.function)
    if function in LOGS:
        return _of_log(facts, words, call)
    if function in GROWING:
        return _of_exponential(facts, words, call)
    if function in ROOTS:
        return Advice(say("advice.root", function=function))
    if function in ARCS:
        return Advice(say("advice.arc", function=function))
    if function in POWERS:
        return Advice(say("advice.power", code=words.code(call))) if has_fraction(call) else None
    if function in SPREADS:
        return Advice(say("advice.spread", function=function))
    if function in _VECTORS:
        return Advice(say("advice.eigenvectors"))
    if function in _SINGULAR:
        return Advice(say("advice.singular_vectors"))
    if function in DIVISIONS:
        count = _number_divided_by(facts, call)
        return Advice(say("advice.count", count=count) if count else say("advice.division"))
    return Advice(say("advice.scores")) if function == "binary_cross_entropy" else None


def _of_exponential(facts: Facts, words: Words, call: Call) -> Advice:
    """Return what keeps an exponential finite: a bound of the value that it is taken of, where that
    is made, as other lines may take exponentials of it as well."""
    function = plain_name(call.function)
    base = _unscaled(facts, call.inputs[0]) if call.inputs else None
    maker = None if base is None else facts.maker.get(base)
    if base is None or maker is None or not facts.graph.tensor[base].code_name:
        return Advice(say("advice.exp", code=words.code(call), function=function))
    of_it = [c for c in facts.ordinary_calls if _is_exponential_of(facts, c, base)]
    value = facts.graph.tensor[base]
    fields = {
        "function": function,
        "name": Code(value.code_name or ""),
        "made": words.where(maker),
        "exponentials": list(dict.fromkeys(map(words.at, of_it))),
    }
    return Advice(say("advice.exp_of", **fields), (maker, *(c for c in of_it if c is not call)))


def _is_exponential_of(facts: Facts, call: Call, base: int) -> bool:
    """Say whether a call takes an exponential of a value, or of a multiple of it."""
    is_growing = plain_name(call.function) in GROWING and bool(call.inputs)
    return is_growing and _unscaled(facts, call.inputs[0]) == base


def _unscaled(facts: Facts, tensor_id: int) -> int:
    """Return the state of which a tensor is a multiple by numbers, or which it only hands on."""
    state = computed(facts, tensor_id)
    maker = facts.maker.get(state)
    while maker is not None and plain_name(maker.function) in _SCALES and len(maker.inputs) == 1:
        state = computed(facts, maker.inputs[0])
        maker = facts.maker.get(state)
    return state


def _number_divided_by(facts: Facts, call: Call) -> str:
    """Return the code of the plain number that a finite value is divided by, as that of a sum by a
    number of elements; "" where a tensor, or several things, may stand there."""
    values = [numbers(facts.graph.tensor[i].values or "") for i in call.inputs]
    if len(values) != 1 or not values[0] or not all(map(math.isfinite, values[0])):
        return ""
    statement = parsed(whole_code(call))
    nodes = [] if statement is None else [*ast.walk(statement)]
    products = [n for n in nodes if isinstance(n, ast.BinOp)]
    divisors = [n.right for n in products if isinstance(n.op, ast.Div)]
    return Code(ast.unparse(divisors[0])) if len(divisors) == 1 else ""


def has_fraction(call: Call) -> bool:
    """Say whether a power has a written exponent that is no whole number, or below 0."""
    if call.source is None:
        return False
    written = arguments_written(call.source, plain_name(call.function))
    if _ROOT.search(call.source.code or ""):
        return True
    exponents = [n.value for n in written] or _exponents_written(call.source.code or "")
    return any(x < 0 or x != int(x) for x in exponents[-1:])


def _exponents_written(code: str) -> list[float]:
    """Return the numbers that stand behind ``**``.

    >>> _exponents_written("y = x ** 0.5 + z ** (1 / 3) + w ** -2")
    [0.5, 0.3333333333333333, -2.0]
    """
    found = re.findall(r"\*\*\s*\(?(-?[\d.]+)(?:\s*/\s*([\d.]+))?", code)
    return [float(top) / float(below or 1) for top, below in found if float(below or 1)]


def _of_log(facts: Facts, words: Words, call: Call) -> Advice:
    """Return what keeps a logarithm finite, by what it is given."""
    makers = _makers(facts, call)
    last = makers[-1] if makers else None
    function = plain_name(last.function) if last is not None else ""
    is_rest = any(plain_name(m.function) in _DIFFERENCES for m in makers[:-1])
    if last is not None and function in _CLAMPS:
        bound = _bound_at_one(last) if is_rest else None
        if bound is not None:
            fields = {"bound": bound.code, "place": words.where(last), "code": words.code(call)}
            return Advice(say("advice.clamp_at_one", **fields), (last,))
        return Advice(say("advice.clamp", place=words.where(last)), (last,))
    if last is not None and function in ("softmax", "sigmoid"):
        fields = {"place": words.where(last), "code": words.code(call), "maker": words.code(last)}
        if function == "softmax" and is_rest:
            return Advice(say("advice.log_of_rest", **fields), (last,))
        if function == "softmax":
            return Advice(say("advice.log_of_softmax", **fields), (last,))
        return Advice(say("advice.log_of_sigmoid", **fields), (last,))
    return Advice(say("advice.log", code=words.code(call)))


def _makers(facts: Facts, call: Call) -> list[Call]:
    """Return the calls that a logarithm's argument comes from, the nearest first, as far as each is
    a difference from a number or a clamp or a probability."""
    found = list[Call]()
    tensor_id = call.inputs[0] if call.inputs else None
    while tensor_id is not None and len(found) < _BACK:
        maker = facts.maker.get(computed(facts, tensor_id))
        if maker is None:
            break
        found.append(maker)
        goes_on = plain_name(maker.function) in _DIFFERENCES and len(maker.inputs) == 1
        tensor_id = maker.inputs[0] if goes_on else None
    return found


def _bound_at_one(clamp: Call) -> Number | None:
    """Return the bound of a clamp that is below 1 as it is written, and 1 in single precision."""
    given = arguments_written(clamp.source, plain_name(clamp.function)) if clamp.source else []
    return next((n for n in given if n.code != "1" and n.value <= 1 and 1 - n.value <= _LOST), None)
