"""NaN that the data brought, in tensors too large to have been read when they were computed with:
what is alive of them is read now."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from gradviz.graph.effects import ELEMENTWISE_LOSSES, MATRIX_PRODUCTS, PRODUCTS
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Call
from gradviz.watch.identity import read
from gradviz.why.code.rewritten import parsed
from gradviz.why.evidence.handed_on import KEEPING, TOGETHER, plain_name
from gradviz.why.rules.sizes.advice import has_fraction
from gradviz.why.rules.sizes.broken_derivative import Point
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

_STEPS = 20  # calls that are gone back through
# what has a finite derivative at all numbers
_SMOOTH = ELEMENTWISE_LOSSES | MATRIX_PRODUCTS | PRODUCTS
_MOST = 1 << 24  # elements that are read


class Data(NamedTuple):
    """What a call was given that has no history, and the living tensor with NaN that it is, or is
    made of.

    Attributes:
        call: what computed with it.
        given: what it was given.
        holder: the living tensor's state.
        n, all: how many of its entries are NaN, and how many it has.
    """

    call: Call
    given: int
    holder: int
    n: int
    all: int


def nan_in_data(sizes: Sizes, cause: Cause, broken: str, point: Point) -> Explanation | None:
    """Tell of data with NaN, where a derivative is blamed that was taken at it; or that there must
    be some, where this derivative is finite at all numbers."""
    if cause is not Cause.NAN or point.call is None or point.values:
        return None
    is_smooth = _is_finite_at_numbers(point.call)
    for found in _data_with_nan(sizes, point.call):
        if is_smooth or found.given == found.holder:  # else rows without NaN may have been taken
            return _of_data(sizes, broken, point, found)
    if plain_name(point.call.function) in ELEMENTWISE_LOSSES and len(point.call.inputs) == 2:
        return _of_unread(sizes, broken, point, point.call)
    return None


def _is_finite_at_numbers(call: Call) -> bool:
    """Say whether the derivative of a call is finite wherever what goes in is."""
    function = plain_name(call.function)
    return function in _SMOOTH or (function in ("pow", "__pow__") and not has_fraction(call))


def _of_data(sizes: Sizes, broken: str, point: Point, found: Data) -> Explanation:
    """Tell of data with NaN that is still there."""
    words = sizes.words
    name, holder = words.as_written(found.given), words.as_written(found.holder)
    answer = sizes.answer(
        Cause.NAN,
        "data_has_nan" if name == holder else "data_made_of_nan",
        calls=[found.call, *_written(sizes, found.holder)],
        nodes=[point.node.id],
        sure=Sure.PROVEN if found.given == found.holder else Sure.LIKELY,
        broken=broken,
        name=name,
        holder=holder,
        n=found.n,
        all=found.all,
        places=[words.where(call) for call in _written(sizes, found.holder)],
        code=words.at(found.call),
    )
    return answer._replace(mend=_masked_before(sizes, found.call, name))


def _of_unread(sizes: Sizes, broken: str, point: Point, call: Call) -> Explanation:
    """Tell that one of the two that a loss compares has NaN or inf: nothing else breaks it."""
    words = sizes.words
    data = [i for i in call.inputs if not sizes.graph.tensor[i].requires_grad] or call.inputs
    answer = sizes.answer(
        Cause.NAN,
        "compared_with_nan",
        calls=[call],
        nodes=[point.node.id],
        sure=Sure.LIKELY,
        broken=broken,
        names=[words.as_written(i) for i in call.inputs],
        code=words.at(call),
    )
    return answer._replace(mend=_masked_before(sizes, call, words.as_written(data[0])))


def _masked_before(sizes: Sizes, call: Call, name: str) -> str:
    """Return what takes the entries with NaN out before a call: the mask that stands behind it, put
    on what goes in; else harmless numbers."""
    found = sizes.statements.node_at(call.source)
    rewritten = None if found is None else masked_inside(ast.unparse(found[1]))
    if rewritten is not None:
        return say("advice.mask_before", old=rewritten[0], new=rewritten[1])
    return say("advice.nan_to_num", name=Code(name), code=sizes.words.at(call))


def masked_inside(code: str) -> tuple[Code, Code] | None:
    """Return a call of two variables that is masked, and one of the two masked before; None where a
    statement has none, or several.

    >>> masked_inside("loss = L(x, y)[mask].mean()")
    ('L(x, y)[mask]', 'L(x[mask], y[mask])')
    >>> masked_inside("loss = (L(x, y) * mask).mean()")
    """
    statement = parsed(code)
    nodes = [] if statement is None else [*ast.walk(statement)]
    found = [n for n in nodes if isinstance(n, ast.Subscript) and _compares_two(n.value)]
    if len(found) != 1 or not isinstance(found[0].slice, (ast.Name, ast.Attribute)):
        return None
    call: Any = found[0].value
    old, mask = ast.unparse(found[0]), ast.unparse(found[0].slice)
    masked = [f"{ast.unparse(argument)}[{mask}]" for argument in call.args[:2]]
    others = [ast.unparse(k) for k in call.keywords]
    new = f"{ast.unparse(call.func)}({', '.join([*masked, *others])})"
    return Code(old), Code(new)


def _compares_two(node: Any) -> bool:
    """Say whether an expression calls something with two variables, alone or beside keywords."""
    if not isinstance(node, ast.Call) or len(node.args) != 2:
        return False
    return all(isinstance(argument, (ast.Name, ast.Attribute)) for argument in node.args)


def _data_with_nan(sizes: Sizes, blamed: Call) -> Iterator[Data]:
    """Yield the data with NaN that a call, or one before it, was given, from the nearest on."""
    alive, todo, seen = sizes.living(), [blamed], set[int]()
    for call in todo:  # which grows
        if call.id in seen or len(seen) > _STEPS or call.bookkeeping:
            continue
        seen.add(call.id)
        for given in call.inputs:
            if sizes.graph.tensor[given].requires_grad:
                maker = sizes.facts.maker.get(given)
                todo += [] if maker is None else [maker]
                continue
            for holder in _made_of(sizes, given):
                n, every = _count(alive.get(holder))
                if n:
                    yield Data(call, given, holder, n, every)


def _made_of(sizes: Sizes, given: int) -> list[int]:
    """Return a value, and what its numbers were taken from."""
    found = [given]
    for tensor_id in found:  # which grows
        maker = sizes.facts.maker.get(tensor_id)
        if maker is not None and plain_name(maker.function) in KEEPING | TOGETHER:
            before = maker.inputs if maker.function in TOGETHER else maker.inputs[:1]
            found += before[: _STEPS - len(found)]
    return found


def _count(t: torch.Tensor | None) -> tuple[int, int]:
    """Return how many entries of a tensor are NaN, and how many it has; none of a large one."""
    if t is None or t.numel() > _MOST or not t.is_floating_point():
        return 0, 0
    n = read(lambda: int(t.isnan().sum()))
    return (n or 0), t.numel()


def _written(sizes: Sizes, holder: int) -> list[Call]:
    """Return the call that wrote a tensor last, or made it, in a list; none where neither was
    recorded."""
    own = sizes.facts.own_writes(sizes.graph.tensor[holder].object_id)
    writes = [sizes.graph.call[event.call_id] for event in own if not event.alias]
    maker = sizes.facts.maker.get(holder)
    return writes[-1:] or ([] if maker is None else [maker])
