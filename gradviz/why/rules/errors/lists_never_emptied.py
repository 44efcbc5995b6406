"""Backward a second time through what earlier iterations of a loop left in a list: it is filled in
each of them, and nothing empties it. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from typing import Any

from gradviz.graph.facts import code_of, site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Frame, Source
from gradviz.names.bindings import bindings, scope_of
from gradviz.names.frames import (
    frames,
    keepers,
    list_filled,
    place_at,
    place_of_keeper,
    variables_of,
)
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import loop_around, stands_in
from gradviz.why.rules.errors.carried_over import Carried, unbound_from_earlier
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def kept_in_a_list(failure: Failure) -> Explanation | None:
    """Tell of a list that each iteration fills and reads as a whole, and that nothing empties."""
    found = unbound_from_earlier(failure)
    if found is None:
        return None
    every, node, first = found
    kept = [
        (one, place)
        for one in every
        if (place := _place_of_filling(failure, one.maker)) is not None
    ]
    is_filled = any(is_filled_since(failure, one, first) for one, _ in kept)
    if not kept or not (is_filled or is_nothing_else(failure, [one for one, _ in kept])):
        return None
    place = kept[0][1]
    filled = list_filled(code_of(place))
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried_in_list",
        calls=[place],
        also_at=[every[0].reader, first],
        tensors=[one.tensor for one, _ in kept],
        nodes=[node],
        list=Code(filled),
        node=failure.made_by(node),
        first=failure.written(first),
        place=failure.words.where(place),
        mends=_mends(failure, filled, with_numbers=is_filled),
    )


def _mends(failure: Failure, filled: str, *, with_numbers: bool) -> list[str]:
    """Say where a list is to be emptied, with those that are gone through beside it; and how what
    it holds stays as numbers, where that is known and the loss is computed from more."""
    names = [filled, *_gone_through_with(failure, filled)]
    clears = [Code(f"{name}.clear()") for name in names]
    if filled in _names_in_scope_of(failure):
        mends = [say("raised.list_cleared", clears=clears, second=failure.written(failure.call))]
    else:
        mends = [say("raised.list_cleared_elsewhere", clears=clears)]
    detached = failure.detaching(filled)
    if detached and with_numbers:
        mends.append(say("raised.list_detached", kept=Code(f"{filled}[:] = {detached}")))
    return mends


def _place_of_filling(failure: Failure, maker: Call) -> Call | None:
    """Return the statement that adds what a call made to a list which is the same one in every
    iteration."""
    for frame, line, code in keepers(maker):
        filled = list_filled(code)
        if filled and not _is_made_anew(failure, filled, frame._replace(line=line)):
            is_own = code == frame.code
            depth = frames(maker).index(frame)
            return place_at(maker, depth) if is_own else place_of_keeper(maker, frame, line, code)
    return None


def _is_made_anew(failure: Failure, filled: str, frame: Frame) -> bool:
    """Say whether the list to which a statement adds is another one in each iteration: a variable
    that a function binds which was left since, or that the loop around the backward binds."""
    filling = _node_of(failure, frame)
    scope = None if filling is None else scope_of(filling)
    binders = [] if scope is None else [s for name, s in bindings(scope) if name == filled]
    if not binders or "." in filled or failure.call is None:
        return False
    around = [f for f in frames(failure.call) if variables_of(f) == variables_of(frame)]
    if not around:
        return isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef))
    loop = loop_around(_node_of(failure, around[0]))
    return loop is not None and any(stands_in(binder, loop) for binder in binders)


def _node_of(failure: Failure, frame: Frame) -> Any:
    """Return the syntax node of a frame's statement; None where it is not known."""
    place = Source(frame.file, frame.line, frame.code)
    found = None if failure.statements is None else failure.statements.node_at(place)
    return None if found is None else found[1]


def is_nothing_else(failure: Failure, kept: list[Carried]) -> bool:
    """Say whether this loss would lead to no leaf without what came from earlier iterations: what
    stands in the list now was to be read, and the old in it was in the way."""
    facts, roots = failure.facts, failure.run.roots if failure.run is not None else ()
    old = {one.tensor.gradient_edge.node_id for one in kept if one.tensor.gradient_edge}
    met = facts.reachable(roots, facts.reachable(roots) - old)
    return facts.leaf_at.keys().isdisjoint(met)


def is_filled_since(failure: Failure, one: Carried, first: Call) -> bool:
    """Say whether the line that reads what came from an earlier iteration reads what was made in
    this one, too: the list as a whole, and not the old in it alone."""
    made = site_of(one.maker)
    between = failure.calls_between(first, failure.call) if failure.call is not None else []
    readers = [call for call in between if site_of(call) == site_of(one.reader)]
    makers = (failure.facts.maker.get(i) for call in readers for i in call.inputs)
    return any(m is not None and m.id > first.id and site_of(m) == made for m in makers)


def _names_in_scope_of(failure: Failure) -> set[str]:
    """Return the variables and attributes that the function of the backward reads."""
    return {name for node in _nodes_in_scope_of(failure) if (name := dotted(node)) is not None}


def _nodes_in_scope_of(failure: Failure) -> list[ast.AST]:
    """Return the syntax nodes of the function that called the backward."""
    place = None if failure.call is None else failure.call.source
    found = None if failure.statements is None else failure.statements.node_at(place)
    return [] if found is None else [*ast.walk(scope_of(found[1]))]


def _gone_through_with(failure: Failure, filled: str) -> list[str]:
    """Return the other attributes that the function of the backward goes through together with a
    list: ``zip(self.log_probs, self.rewards)``."""
    zips = [n for n in _nodes_in_scope_of(failure) if isinstance(n, ast.Call)]
    given = [[dotted(a) for a in n.args] for n in zips if callee_of(n.func) == "zip"]
    others = [name for names in given if filled in names for name in names if name]
    return list(dict.fromkeys(name for name in others if "." in name and name != filled))
