"""Hooks that run when a gradient is there, and that write what they are given: that is the
parameter, and not its gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.names.statements import source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_PUTS = "register_post_accumulate_grad_hook"


def hooks_of_parameters(case: Case) -> Iterator[Remark]:
    """Tell of functions that are put as such hooks and write what they are given by the name of a
    gradient."""
    functions = {f.name: (file, f) for file, f in case.statements.nodes(ast.FunctionDef)}
    for put, call in case.statements.calls(_PUTS):
        name = _last_word(call.args[0]) if call.args else ""
        if name not in functions:
            continue
        file, function = functions[name]
        parameter = function.args.args[-1].arg if function.args.args else ""
        write = next((n for n in ast.walk(function) if _writes(n, parameter)), None)
        if "grad" not in parameter.lower() or write is None:
            continue
        place = source_of(file, write)
        fields = {
            "hook": name,
            "put": case.words.source(put),
            "argument": parameter,
            "statement": place.code,
            "place": case.words.line_of(place),
        }
        yield Remark(Weight.WEIGHTY, "hook_of_a_parameter", fields, statements=(place, put))


def _last_word(node: ast.expr) -> str:
    """Return the name of a function that is handed over, also of a method."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _writes(node: Any, name: str) -> bool:
    """Say whether a node writes the tensor of a name in place: an item of it, all of it, or by a
    method with an underscore at its end."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        is_all = isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name
        return is_all or any(_is_item_of(target, name) for target in targets)
    method = node.func if isinstance(node, ast.Call) else None
    is_method = isinstance(method, ast.Attribute) and method.attr.endswith("_")
    return is_method and ast.unparse(method.value) == name  # type: ignore[union-attr]


def _is_item_of(target: ast.expr, name: str) -> bool:
    """Say whether a target is an item of what has a name."""
    return isinstance(target, ast.Subscript) and ast.unparse(target.value) == name
