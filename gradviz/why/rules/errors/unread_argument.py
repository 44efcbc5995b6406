"""An input of autograd.grad that a function of the program was handed and never reads. Plain data
in and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Frame, Tensor
from gradviz.names.bindings import READS_ALL, parameters_of
from gradviz.names.compiled import first_line
from gradviz.names.frames import frames, names_in, place_at
from gradviz.names.position import callee_of, display_name
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.rules.errors.unused_input import name_of, unused
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code

# methods that are run by a call of their object, whatever its name is
_OF_OBJECTS = ("__call__", "forward")


class Unread(NamedTuple):
    """A parameter that its function never reads, where a call gave it the input.

    Attributes:
        function: the name of the function.
        parameter: the name of the parameter.
        inside: the statement of the function that the output came through.
        given: the statement that called the function.
    """

    function: str
    parameter: str
    inside: Call
    given: Call


def input_handed_in_vain(failure: Failure) -> Explanation | None:
    """Tell of a function on the way to the output that was given the input, and never reads it."""
    tensor = unused(failure)
    found = None if tensor is None else _unread(failure, tensor)
    if tensor is None or found is None:
        return None
    root = failure.inputs[0]
    return failure.answer(
        Cause.UNUSED_INPUT,
        "handed_in_vain",
        calls=[found.inside, failure.call],
        also_at=[found.given],
        tensors=[tensor, root],
        name=name_of(failure, tensor),
        root=failure.name(root),
        given=failure.code(found.given, LINE),
        function=Code(found.function),
        parameter=Code(found.parameter),
        code=failure.code(found.inside, LINE),
        place=failure.words.where(found.inside),
    )


def _unread(failure: Failure, tensor: Tensor) -> Unread | None:
    """Return the first parameter that was given an input, or what was made of it, and is never
    read, of a function that the output came through."""
    functions, names = _functions(failure), _names_made_of(failure, tensor)
    used = failure.facts.ancestors([failure.inputs[0].id])
    # the last line of a function first: what it returns
    last_first = sorted(used, reverse=True)
    makers = (failure.facts.maker[i] for i in last_first if i in failure.facts.maker)
    for maker in makers:
        ran_under = frames(maker)
        for depth, (inner, outer) in enumerate(pairwise(ran_under)):
            function = functions.get((inner.file, inner.scope))
            parameter = "" if function is None else _parameter_given(function, outer, names)
            if function is not None and parameter:
                places = place_at(maker, depth), place_at(maker, depth + 1)
                return Unread(function.name, parameter, *places)
    return None


def _functions(failure: Failure) -> dict[tuple[str, int], Any]:
    """Return the functions of the program that ran, by file and first line."""
    if failure.statements is None:
        return {}
    return {
        (display_name(file.filename), first_line(node)): node
        for file, node in failure.statements.nodes(ast.FunctionDef)
    }


def _names_made_of(failure: Failure, tensor: Tensor) -> set[str]:
    """Return what the code calls a tensor, and all that was computed from it."""
    made = {t.id for t in failure.facts.states.get(tensor.object_id, ())} | {tensor.id}
    for call in failure.graph.calls:
        if not made.isdisjoint(call.inputs):
            made.update(call.outputs)
    return {failure.graph.tensor[i].code_name for i in made} - {""}


def _parameter_given(function: Any, outer: Frame, names: set[str]) -> str:
    """Return the parameter that a function never reads and that the statement which called it gave
    one of some names; "" where there is none."""
    parameters = [p for p in parameters_of(function) if p != "self"]
    for call in _calls_of(function, outer.code):
        given = [*zip(parameters, call.args, strict=False)]
        given += [(k.arg or "", k.value) for k in call.keywords]
        for parameter, argument in given:
            is_of_it = not names.isdisjoint(names_in(ast.unparse(argument))[1])
            if is_of_it and not _reads(function, parameter):
                return parameter
    return ""


def _calls_of(function: Any, code: str) -> Iterator[ast.Call]:
    """Yield the calls in a statement that may have run a function, by its name; none of a statement
    with a body, or of one that gives its arguments as a list."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for call in (n for n in ast.walk(tree) if isinstance(n, ast.Call)):
        is_of_object = function.name in _OF_OBJECTS
        is_listed = any(isinstance(a, ast.Starred) for a in call.args)
        if (is_of_object or callee_of(call.func) == function.name) and not is_listed:
            yield call


def _reads(function: Any, name: str) -> bool:
    """Say whether a function reads a variable, or may: its parameter is none of those that take
    the rest, and nothing hands all variables on."""
    rest = {a.arg for a in (function.args.vararg, function.args.kwarg) if a is not None}
    words = {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    known = {*parameters_of(function)} - rest
    return name not in known or not words.isdisjoint({name, *READS_ALL})
