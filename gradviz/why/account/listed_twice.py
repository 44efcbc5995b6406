"""Lists of layers that hold one layer several times: all of its places share its weights."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Source
from gradviz.watch.identity import parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_CONTAINERS = ("ModuleList", "Sequential")


def listed_twice(case: Case) -> Iterator[Remark]:
    """Tell of containers one layer of which, with weights of its own, has several places there; a
    layer that several places share is often meant, as the heads of a decoder."""
    for path, part in case.live_state.parts():
        for layer, n in _repeated(part) if type(part).__name__ in _CONTAINERS else ():
            place, node = _where_set(case, path)
            if node is not None and _repeats_a_list(node):
                continue  # which the code itself shows: that is told with its numbers
            at = "" if place is None else case.words.line_of(place)
            name = say("label.code_at", code=path, place=at) if at else path
            fields = {"name": name, "n": n, "layer": type(layer).__name__}
            statements = () if place is None else (place,)
            yield Remark(Weight.NOTABLE, "listed_twice", fields, statements=statements)


def _repeated(container: Any) -> Iterator[tuple[Any, int]]:
    """Yield the layers with weights that a container holds several times, and how often."""
    held = [m for m in container._modules.values() if m is not None]
    times = Counter(map(id, held))
    for layer in {id(m): m for m in held}.values():
        if times[id(layer)] > 1 and parameters(layer):
            yield layer, times[id(layer)]


def _repeats_a_list(statement: Any) -> bool:
    """Say whether a list times a number stands in a statement."""
    products = (n for n in ast.walk(statement) if isinstance(n, ast.BinOp))
    return any(isinstance(side, ast.List) for n in products for side in (n.left, n.right))


def _where_set(case: Case, path: str) -> tuple[Source | None, Any]:
    """Return the one statement that gives a container its name, and its node; nothing where there
    are others."""
    name = path.rpartition(".")[2]
    every = case.statements.sets(name) if "." in path else case.statements.binds(name)
    return every[0] if len(every) == 1 else (None, None)
