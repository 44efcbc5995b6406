"""What a scenario function says of itself: its parameters, which become controls, its source, and
what its docstring asks of the reader."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from gradviz.graph.records import GradvizError
from gradviz.live.controls import NONE, Control
from gradviz.live.controls import control as make_control
from gradviz.names.position import display_name
from gradviz.words import given
from gradviz.words.speech import backticked, clear, spans_of

TASK = 200  # characters of a docstring that are shown


def controls_of(function: Callable[..., Any], abbreviations: dict[str, Any]) -> dict[str, Control]:
    """Make the control of each parameter of a scenario, by name; refuse what cannot have one.

    Raises:
        GradvizError: it is no ordinary function, or a parameter has no control or a control no
            parameter.
    """
    parameters = _parameters_of(function)
    unknown = abbreviations.keys() - parameters.keys()
    if unknown:
        known = ", ".join(parameters) or "none"
        raise GradvizError(
            f"no parameter for {', '.join(sorted(unknown))}=; the function's parameters are:"
            f" {known}"
        )
    return {
        name: _control_of(parameter, abbreviations.get(name, NONE))
        for name, parameter in parameters.items()
    }


def _parameters_of(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a scenario; refuse what is no ordinary function."""
    others = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    expected = "an ordinary function (def scenario(…): …)"
    if (
        not callable(function)
        or isinstance(function, type)
        or any(is_other(function) for is_other in others)
    ):
        raise GradvizError(f"gv.explore got {given.shown(function)}; expected {expected}")
    try:
        return inspect.signature(function).parameters
    except Exception:  # a builtin, or a callable object whose own code is asked
        raise GradvizError(
            f"gv.explore got {given.shown(function)}, whose parameters are not known; expected"
            f" {expected}"
        ) from None


def _control_of(parameter: inspect.Parameter, abbreviation: Any) -> Control:
    """Make the control of a parameter, of an abbreviation or else of its default."""
    name = parameter.name
    default = NONE if parameter.default is parameter.empty else parameter.default
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise GradvizError(
            f"parameter {parameter} cannot have a control; expected one that is called {name}=…"
        )
    if abbreviation is not NONE:
        return make_control(name, abbreviation, default)
    if default is not NONE:
        return make_control(name, default)
    raise GradvizError(
        f"parameter {name} has no control; give one, e.g. gv.explore({name}=[1, 2]), or a default"
    )


def listing_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the source below the decorators, numbered as the recorded calls number it; empty
    where there is none."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
        text = textwrap.dedent("".join(lines))
        node = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return {}
    if not isinstance(node, ast.FunctionDef):
        return {}
    return {
        "text": "".join(text.splitlines(True)[node.lineno - 1 :]).rstrip(),
        "first": max(first, 1) + node.lineno - 1,
        "file": display_name(inspect.unwrap(function).__code__.co_filename),
    }


def task_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the first paragraph of a scenario's docstring, and what of it is code; empty where it
    has none."""
    first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0]
    task = clear(backticked(" ".join(first.split())), TASK)
    return {"task": {"text": str(task), "code": list(spans_of(task))}} if task else {}
