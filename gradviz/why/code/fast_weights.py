"""A loop that moves a model's parameters by what is to be learned through, as the model called with
the moved ones. Reads code, runs none of it."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.names.bindings import scope_of
from gradviz.names.position import dotted
from gradviz.why.code.in_place import free_name, statement_binding, written_in
from gradviz.why.code.rewritten import out_of_place


class FastWeights(NamedTuple):
    """What to write in the place of such a loop, and of the calls of the model.

    Attributes:
        loop: the syntax node of the loop.
        made: the statement that computes the moved parameters.
        calls: each call of the model that is to take them, and of ``autograd.grad`` that is to go
            by them, with what to write in its place; none where the model is called elsewhere.
        steps: the syntax node of a loop around it, of several such steps; None where there is none.
        begun: the statement above that loop which the first step begins with.
        functional: a call of the model with the moved parameters, of the arguments ``…``.
    """

    loop: Any
    made: str
    calls: list[tuple[str, str]]
    steps: Any
    begun: str
    functional: str


def fast_weights(statement: Any) -> FastWeights | None:
    """Return a loop that goes over a model's parameters and writes into each as a list of new ones;
    None where a statement is not the one that writes in such a loop, or the loop does more.

    Args:
        statement: its syntax node, which knows its parents.
    """
    loop = getattr(statement, "parent", None)
    name, moved = _moved(statement)
    if not isinstance(loop, ast.For) or not moved or len(loop.body) != 1:
        return None
    model = _model_gone_over(loop, name)
    steps = _loop_of_steps(loop, model)
    calls = _calls_below(model, steps or loop, inside=steps is not None) if model else []
    if not model or any(call.keywords for call in calls):
        return None
    fast, whole = free_name("fast", statement), _copied_from(model, steps or loop)
    given = f"dict(zip(dict({whole}.named_parameters()), {fast}))"
    told = [(ast.unparse(call), _functional(whole, given, call)) for call in calls]
    iterated = ast.unparse(loop.iter)
    if steps is not None:
        iterated = iterated.replace(f"{model}.parameters()", fast)
        told += [
            (code, code.replace(f"{model}.parameters()", fast))
            for code in _gradients_in(steps, model)
        ]
    return FastWeights(
        loop,
        f"{fast} = [{moved} for {ast.unparse(loop.target)} in {iterated}]",
        list(dict.fromkeys(told)),
        steps,
        f"{fast} = list({whole}.parameters())",
        f"torch.func.functional_call({whole}, {given}, …)",
    )


def _moved(statement: Any) -> tuple[str, str]:
    """Return the variable into which a statement writes, and what it computes without that; "" for
    another statement.

    >>> _moved(ast.parse("p -= 0.1 * g").body[0]), _moved(ast.parse("p.sub_(lr * g)").body[0])
    (('p', 'p - 0.1 * g'), ('p', 'p.sub(lr * g)'))
    """
    anew = out_of_place(ast.unparse(statement)) if isinstance(statement, ast.stmt) else ""
    name, _, moved = anew.partition(" = ")
    return (name, moved) if name == written_in(statement) else ("", "")


def _functional(model: str, given: str, call: Any) -> str:
    """Return a call of a model with the parameters that it is given."""
    arguments = "".join(f"{ast.unparse(argument)}, " for argument in call.args)
    return f"torch.func.functional_call({model}, {given}, ({arguments.rstrip()}))"


def _loop_of_steps(loop: Any, model: str) -> Any:
    """Return the loop in which another one stands, where it calls the model above that one: for
    each of several steps. None where there is none."""
    around = getattr(loop, "parent", None)
    if not model or not isinstance(around, ast.For):
        return None
    calls = (n for n in ast.walk(around) if isinstance(n, ast.Call) and dotted(n.func) == model)
    return around if any(call.lineno < loop.lineno for call in calls) else None


def _gradients_in(steps: Any, model: str) -> list[str]:
    """Return the calls of ``autograd.grad`` in a loop that go by the parameters of a model."""
    calls = (n for n in ast.walk(steps) if isinstance(n, ast.Call))
    codes = (ast.unparse(c) for c in calls if (dotted(c.func) or "").endswith("autograd.grad"))
    return [code for code in codes if f"{model}.parameters()" in code]


def _copied_from(model: str, node: Any) -> str:
    """Return the model of which a variable holds a deep copy, made above a node in its scope; the
    variable itself, where it holds none. A copy has leaves of its own: no gradient of them comes
    to the model."""
    binder = statement_binding(model, node)
    value = getattr(binder, "value", None)
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return model
    is_copy = (dotted(value.func) or "").rpartition(".")[2] == "deepcopy"
    return dotted(value.args[0]) or model if is_copy else model


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


def _calls_below(model: str, loop: Any, *, inside: bool) -> list[Any]:
    """Return the calls of a model below the head of a loop, or below the loop, in its scope, from
    top to bottom."""
    calls = (n for n in ast.walk(scope_of(loop)) if isinstance(n, ast.Call))
    last = loop.lineno if inside else loop.end_lineno or loop.lineno
    below = [c for c in calls if dotted(c.func) == model and c.lineno > last]
    return sorted(below, key=lambda call: int(call.lineno))
