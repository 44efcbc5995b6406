"""Lists of layers that hold one layer several times: all of its places share its weights."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Source
from gradviz.names.statements import source_of
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
            written = None if place is None else _repetition(case, place, node)
            if written is not None and _makes_its_layer(written[1]):
                continue  # which the code itself shows: that is told with its numbers
            at = "" if place is None else case.words.line_of(place)
            name = say("label.code_at", code=path, place=at) if at else path
            fields = {"name": name, "n": n, "layer": type(layer).__name__}
            statements = () if place is None else (place,)
            if written is None:
                yield Remark(Weight.NOTABLE, "listed_twice", fields, statements=statements)
                continue
            fields["code"] = case.words.source(written[0]._replace(code=ast.unparse(written[1])))
            yield Remark(
                Weight.WEIGHTY, "listed_again", fields, statements=(*statements, written[0])
            )


def _repeated(container: Any) -> Iterator[tuple[Any, int]]:
    """Yield the layers with weights that a container holds several times, and how often."""
    held = [m for m in container._modules.values() if m is not None]
    times = Counter(map(id, held))
    for layer in {id(m): m for m in held}.values():
        if times[id(layer)] > 1 and parameters(layer):
            yield layer, times[id(layer)]


def _repetition(case: Case, place: Source, statement: Any) -> tuple[Source, Any] | None:
    """Return what writes one thing several times in a statement, or in a function that it calls,
    with its place: a list times a number, or a comprehension of what does not change; None where
    nothing does."""
    for inner in ast.walk(statement):
        if _repeats(inner):
            return place, inner
    called = {ast.unparse(n.func) for n in ast.walk(statement) if isinstance(n, ast.Call)}
    for file in case.statements.files if called else ():
        for function in ast.walk(file.tree) if file.tree is not None else ():
            # one that only hands layers on runs no torch function, and is not seen to run
            if isinstance(function, ast.FunctionDef) and function.name in called:
                found = next((inner for inner in ast.walk(function) if _repeats(inner)), None)
                if found is not None:
                    return source_of(file, found), found
    return None


def _repeats(node: Any) -> bool:
    """Say whether an expression is one thing several times."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return any(isinstance(side, ast.List) for side in (node.left, node.right))
    return isinstance(node, (ast.ListComp, ast.GeneratorExp)) and _is_of_one(node)


def _is_of_one(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Say whether each entry of a comprehension is one variable that it does not give a value."""
    targets = {name for one in node.generators for name in _names(one.target)}
    return isinstance(node.elt, (ast.Name, ast.Attribute)) and not targets & _names(node.elt)


def _names(node: Any) -> set[str]:
    """Return the variables that stand in an expression."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _makes_its_layer(written: Any) -> bool:
    """Say whether what is written several times is a call that makes a layer."""
    sides = (written.left, written.right) if isinstance(written, ast.BinOp) else ()
    lists = (side for side in sides if isinstance(side, ast.List))
    return any(isinstance(element, ast.Call) for one in lists for element in one.elts)


def _where_set(case: Case, path: str) -> tuple[Source | None, Any]:
    """Return the one statement that gives a container its name, and its node; nothing where there
    are others."""
    name = path.rpartition(".")[2]
    every = case.statements.sets(name) if "." in path else case.statements.binds(name)
    return every[0] if len(every) == 1 else (None, None)
