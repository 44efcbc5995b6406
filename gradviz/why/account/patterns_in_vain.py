"""Parts of names by which a loop switches parameters on or off, and that no parameter has in its
name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of
from gradviz.names.statements import freezes, source_of
from gradviz.watch.identity import named_parameters
from gradviz.why.account.froze_nothing import name_given
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


class Pattern(NamedTuple):
    """A part of a name, as the code writes it.

    Attributes:
        code: the expression.
        fixed: its longest part that is written out: all of a string, of an f-string what stands
            between its fields.
        node: its syntax node.
    """

    code: str
    fixed: str
    node: Any


def patterns_in_vain(case: Case) -> Iterator[Remark]:
    """Tell of lists of parts of names, ``any(part in name for part in parts)``, some of which are
    in no parameter's name: what they were to freeze stays as it is. None where no part is in any,
    as then the loop froze nothing."""
    modules = (*case.modules, *case.known_modules)  # the first name that is told is of one at work
    names = [name for module in modules for name, _ in named_parameters(module)]
    for file, test in case.statements.nodes(ast.If) if names else ():
        parts = _parts_looked_for(test) if _freezes(test) and _ran(case, test) else []
        vain = [part for part in parts if not any(part.fixed in name for name in names)]
        if 0 < len(vain) < len(parts):
            place = source_of(file, vain[0].node)
            fields = {
                "parts": [part.code for part in vain],
                "n": len(vain),
                "test": f"any{ast.unparse(test.test.args[0])}",
                "at": case.words.line_of(source_of(file, test)),
                "place": case.words.line_of(place),
                "first": names[0],
            }
            yield Remark(Weight.IN_VAIN, "patterns_in_vain", fields, (), statements=(place,))


def _freezes(test: ast.If) -> bool:
    """Say whether something is frozen under a condition."""
    return any(isinstance(n, (ast.Assign, ast.Call)) and freezes(n) for n in ast.walk(test))


def _ran(case: Case, node: Any) -> bool:
    """Say whether the function ran in which a node stands; a file's own code did."""
    scope = scope_of(node)
    name = getattr(scope, "name", None)
    return name is None or bool(case.statements.functions_called(name))


def _parts_looked_for(test: ast.If) -> list[Pattern]:
    """Return the parts of which one is to be in the name that a loop over ``named_parameters()``
    gives, where all are written in the function."""
    call, loop = test.test, getattr(test, "parent", None)
    is_any = isinstance(call, ast.Call) and callee_of(call.func) == "any" and len(call.args) == 1
    within: Any = call.args[0] if is_any and isinstance(call, ast.Call) else None
    name = name_given(loop) if isinstance(loop, ast.For) else ""
    if not name or not isinstance(within, ast.GeneratorExp) or len(within.generators) != 1:
        return []
    compared: Any = within.elt
    is_in = isinstance(compared, ast.Compare) and isinstance(compared.ops[0], ast.In)
    if not is_in or ast.unparse(compared.comparators[0]) != name:
        return []
    return _written(within.generators[0].iter, scope_of(test))


def _written(listed: Any, scope: Any) -> list[Pattern]:
    """Return what a list holds that is written there, or bound once in the function and added to;
    nothing where something else is done with it."""
    if isinstance(listed, (ast.List, ast.Tuple)):
        found = [_pattern(element) for element in listed.elts]
        return [p for p in found if p is not None] if None not in found else []
    if not isinstance(listed, ast.Name):
        return []
    bound, added = list[Any](), list[Any]()
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == [listed.id]:
            bound.append(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == f"{listed.id}.append":
            added += node.args
    if len(bound) != 1 or not isinstance(bound[0], (ast.List, ast.Tuple)):
        return []
    return _written(ast.Tuple([*bound[0].elts, *added], ast.Load()), scope)


def _pattern(node: Any) -> Pattern | None:
    """Return a part of a name; None where not enough of it is written out."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return Pattern(ast.unparse(node), node.value, node)
    if isinstance(node, ast.JoinedStr):
        texts = [v.value for v in node.values if isinstance(v, ast.Constant)]
        longest = max((str(text) for text in texts), key=len, default="")
        return Pattern(ast.unparse(node), longest, node) if longest else None
    return None
