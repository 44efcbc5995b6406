"""Statements that do another thing than they look like: ``total =+ loss``, and a seed that is set
in each iteration."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.facts import grouped
from gradviz.graph.training import line_of
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import loop_around, source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_DRAWS = ("rand", "dropout", "normal", "bernoulli")
_SIGNS: dict[type, str] = {ast.UAdd: "+", ast.USub: "-"}


def written_otherwise(case: Case) -> Iterator[Remark]:
    """Tell of such statements of the code that ran."""
    yield from signs_beside_equals(case)
    yield from _seeds_in_loops(case)


def signs_beside_equals(case: Case) -> Iterator[Remark]:
    """Tell of each ``x =+ y`` and ``x =- y`` in a loop that was to add up."""
    for file, node in case.statements.nodes(ast.Assign):
        sign = _SIGNS.get(type(getattr(node.value, "op", None)))
        name = dotted(node.targets[0])
        if sign is None or not name or loop_around(node) is None:
            continue
        place = source_of(file, node)
        if f"={sign} " not in _as_written(file, node):  # "x = -y" is meant so
            continue
        fields = {
            "statement": _as_written(file, node),
            "place": case.words.line_of(place),
            "name": name,
            "sign": sign,
        }
        yield Remark(Weight.IN_VAIN, "sign_beside_equals", fields, statements=(place,))


def _as_written(file: Any, node: ast.stmt) -> str:
    """Return the first line of a statement, as it stands in the file."""
    lines = file.text.splitlines()
    return str(lines[node.lineno - 1]).strip() if node.lineno <= len(lines) else ""


def _seeds_in_loops(case: Case) -> Iterator[Remark]:
    """Tell of each loop with a backward in it that sets torch's seed to the same number in each
    iteration."""
    for file, call in case.statements.nodes(ast.Call):
        loop = loop_around(call) if callee_of(call.func) == "manual_seed" else None
        if loop is None or not _is_constant(call, loop) or not _trains(loop):
            continue
        place = source_of(file, call)
        draws = _draws_behind(case)
        if draws:
            fields = {
                "code": place.code,
                "place": case.words.line_of(place),
                "draws": draws,
                "n": len(draws),
            }
            yield Remark(Weight.WEIGHTY, "seed_in_a_loop", fields, statements=(place,))


def _is_constant(call: ast.Call, loop: Any) -> bool:
    """Say whether a call is given a number, or a variable that its loop does not change."""
    given = call.args[0] if len(call.args) == 1 else None
    if isinstance(given, ast.Constant):
        return True
    stored = {
        n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    return isinstance(given, ast.Name) and given.id not in stored


def _trains(loop: ast.stmt) -> bool:
    """Say whether a backward is called in a loop."""
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    return any(callee_of(call.func) == "backward" for call in calls)


def _draws_behind(case: Case) -> list[str]:
    """Return the last lines on the way to a loss that draw numbers at random for several
    backwards."""
    behind, backwards = case.facts.in_losses, sorted(case.facts.backward_calls)
    calls = (c for c in case.facts.ordinary_calls if c.function.startswith(_DRAWS) and c.source)
    drawn = (call for call in calls if not behind.isdisjoint(call.outputs))
    by_line = grouped((line_of(call), call) for call in drawn)
    again = [
        every[-1]
        for every in by_line.values()
        if len({bisect_right(backwards, call.id) for call in every}) > 1
    ]
    return [case.words.at(call) for call in again][:2]
