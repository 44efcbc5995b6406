"""Loops that were to freeze the parameters of some names, where no parameter has such a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.training import SETS_FLAG
from gradviz.names.position import callee_of
from gradviz.names.statements import freezes, source_of
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def froze_nothing(case: Case) -> Iterator[Remark]:
    """Tell of statements that freeze what a loop over ``named_parameters()`` meets under a name,
    and that no parameter came to: none is frozen, and no such call was recorded."""
    every = [p for module in case.known_modules for p in parameters(module)]
    if not every or not all(p.requires_grad for p in every):
        return
    if any(call.function in SETS_FLAG for call in case.graph.calls):
        return
    names = [name for module in case.known_modules for name, _ in named_parameters(module)]
    for file, node in case.statements.nodes((ast.Assign, ast.Call)):
        test = _test_of_a_name(node) if freezes(node) else None
        if test is None:
            continue
        place = source_of(file, node)
        fields = {
            "code": case.words.source(place),
            "test": ast.unparse(test),
            "first": names[0],
            "n": len(names),
        }
        yield Remark(Weight.IN_VAIN, "froze_nothing", fields, (), statements=(place,))


def _test_of_a_name(node: Any) -> ast.expr | None:
    """Return the one condition, on a name that a loop over ``named_parameters()`` gives, under
    which a statement stands; None where it stands under none, or under others."""
    tests, loop = list[ast.expr](), None
    inner, outer = node, getattr(node, "parent", None)
    while outer is not None and not isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
        if isinstance(outer, ast.If):
            if inner not in outer.body:
                return None
            tests.append(outer.test)
        elif isinstance(outer, (ast.For, ast.While)) and loop is None:
            loop = outer
        inner, outer = outer, getattr(outer, "parent", None)
    name = name_given(loop) if isinstance(loop, ast.For) else ""
    return tests[0] if name and len(tests) == 1 and name in _names_in(tests[0]) else None


def name_given(loop: ast.For) -> str:
    """Return the variable that a loop over ``named_parameters()`` gives the names to."""
    is_named = isinstance(loop.iter, ast.Call) and callee_of(loop.iter.func) == "named_parameters"
    target = loop.target
    if (
        not is_named
        or not isinstance(target, ast.Tuple)
        or not isinstance(target.elts[0], ast.Name)
    ):
        return ""
    return target.elts[0].id


def _names_in(test: ast.expr) -> set[str]:
    """Return the variables that a condition reads."""
    return {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
