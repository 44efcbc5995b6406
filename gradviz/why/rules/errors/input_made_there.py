"""An input of autograd.grad that is made in its own argument: a new tensor, from which nothing was
computed yet. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.names.position import callee_of, dotted
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.unused_input import COPIES, PARTS, unused, wanted
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code


def input_made_there(failure: Failure) -> Explanation | None:
    """Tell that the gradient is asked for by an expression of what the output was computed from:
    ``-x`` is another tensor than ``x``."""
    tensor = unused(failure)
    maker = None if tensor is None else failure.facts.maker.get(tensor.id)
    if tensor is None or maker is None or failure.statement is None:
        return None
    if plain_name(maker.function) in (*COPIES, *PARTS):  # told with what a copy, or a part, needs
        return None
    root = failure.inputs[0]
    behind = failure.facts.ancestors([root.id])
    known = [failure.graph.tensor[i] for i in behind]
    used = {t.object_id for t in (*known, *failure.facts.leaves_reached(root.id))}
    read = {failure.graph.tensor[i].object_id for i in maker.inputs}
    if tensor.object_id in used or not used & read:
        return None
    argument = _argument(failure.statement, wanted(failure).index(tensor))
    names = {} if argument is None else dict.fromkeys(_outermost_names(argument))
    if argument is None or len(names) != 1 or dotted(argument) is not None:
        return None
    return failure.answer(
        Cause.UNUSED_INPUT,
        "made_there",
        calls=[failure.call],
        also_at=[maker],
        tensors=[tensor, root],
        code=Code(ast.unparse(argument)),
        name=Code(next(iter(names))),
        root=failure.name(root),
    )


def _argument(statement: Any, index: int) -> Any:
    """Return what the one call of ``grad`` in a statement is given as its nth input; None where
    that is not written there."""
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)]
    calls = [n for n in calls if callee_of(n.func) == "grad"]
    if len(calls) != 1:
        return None
    named = [k.value for k in calls[0].keywords if k.arg == "inputs"]
    given: Any = next(iter([*named, *calls[0].args[1:2]]), None)
    if isinstance(given, (ast.Tuple, ast.List)):
        return given.elts[index] if index < len(given.elts) else None
    return given if index == 0 else None


def _outermost_names(node: Any) -> Iterator[str]:
    """Yield the variables and attributes that an expression reads: of ``self.x`` no ``self``, and
    none of functions that it calls."""
    name = dotted(node)
    if name is not None:
        yield name
        return
    is_call = isinstance(node, ast.Call)
    method = node.func if is_call and isinstance(node.func, ast.Attribute) else None
    inside = [method.value, *node.args] if method else node.args if is_call else None
    for part in ast.iter_child_nodes(node) if inside is None else inside:
        yield from _outermost_names(part)
