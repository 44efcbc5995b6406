"""A loop that moves a model's parameters by what is to be learned through, as the model called with
the moved ones. Reads code, runs none of it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.names.bindings import scope_of
from gradviz.names.position import dotted
from gradviz.why.code.in_place import free_name


class FastWeights(NamedTuple):
    """What to write in the place of such a loop, and of the calls of the model below it.

    Attributes:
        loop: the syntax node of the loop.
        made: the statement that computes the moved parameters.
        call: the first call of the model below it.
        anew: the same with the moved parameters.
    """

    loop: Any
    made: str
    call: str
    anew: str


def fast_weights(statement: Any) -> FastWeights | None:
    """Return a loop that goes over a model's parameters and writes into each as a list of new ones;
    None where a statement is not the one that writes in such a loop, or the loop does more.

    Args:
        statement: its syntax node, which knows its parents.
    """
    loop = getattr(statement, "parent", None)
    if not isinstance(statement, ast.AugAssign) or not isinstance(loop, ast.For):
        return None
    model = _model_gone_over(loop, ast.unparse(statement.target))
    call = next((c for c in _calls_below(model, loop)), None) if model else None
    if len(loop.body) != 1 or call is None or call.keywords:
        return None
    moved = ast.unparse(ast.BinOp(statement.target, statement.op, statement.value))
    fast = free_name("fast", statement)
    made = f"{fast} = [{moved} for {ast.unparse(loop.target)} in {ast.unparse(loop.iter)}]"
    arguments = "".join(f"{ast.unparse(argument)}, " for argument in call.args)
    names = f"dict(zip(dict({model}.named_parameters()), {fast}))"
    anew = f"torch.func.functional_call({model}, {names}, ({arguments.rstrip()}))"
    return FastWeights(loop, made, ast.unparse(call), anew)


def _model_gone_over(loop: ast.For, name: str) -> str:
    """Return the model whose parameters a loop gives a variable, alone or through ``zip``; "" where
    it gives it something else."""
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    is_zip = isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "zip"
    sources = loop.iter.args if is_zip and isinstance(loop.iter, ast.Call) else [loop.iter]
    given = {ast.unparse(t): source for t, source in zip(targets, sources, strict=False)}
    source: Any = given.get(name)
    method = source.func if isinstance(source, ast.Call) else None
    is_giving = isinstance(method, ast.Attribute) and method.attr == "parameters"
    return dotted(source.func.value) or "" if is_giving else ""


def _calls_below(model: str, loop: ast.For) -> list[Any]:
    """Return the calls of a model below a loop, in its scope, from top to bottom."""
    calls = (n for n in ast.walk(scope_of(loop)) if isinstance(n, ast.Call))
    last = loop.end_lineno or loop.lineno
    below = [c for c in calls if dotted(c.func) == model and c.lineno > last]
    return sorted(below, key=lambda call: call.lineno)
