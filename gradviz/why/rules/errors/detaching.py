"""How the code writes what a loop carries over without its graph: a mend that is said has to work
on what the name really holds. Reads values, runs none of their code."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradviz.why.code.reading import value_of

if TYPE_CHECKING:
    from gradviz.why.question.failing import Frame


def detaching(frames_of_error: Callable[[], Sequence[Frame]]) -> Callable[[str], str]:
    """Return what tells the code that detaches the value of a name.

    Args:
        frames_of_error: gives the frames that the error went through, the outermost first; a name
            is looked up in the innermost one that has it. They are read where a name is asked for.

    Returns:
        A function of a name; it returns "" where what the name holds is not known.
    """

    def code_for(name: str) -> str:
        try:
            word = ast.parse(name, mode="eval").body
        except SyntaxError:
            return ""
        values = (value_of(word, frame.names) for frame in reversed(frames_of_error()))
        return next((code for value in values if (code := detached(name, value))), "")

    return code_for


def detached(name: str, value: object) -> str:
    """Return code that gives a value without its graph; "" for a value of another kind.

    >>> detached("h", torch.ones(1)), detached("state", [torch.ones(1)])
    ('h.detach()', '[s.detach() for s in state]')
    """
    if _is_tensor(value):
        return f"{name}.detach()"
    if isinstance(value, tuple):
        return _of_tuple(name, value)
    if type(value) is list and _are_tensors(value):
        return f"[{_each(name)}]"
    if type(value) is dict and _are_tensors(value.values()):
        one = _variable(name)
        return f"{{k: {one}.detach() for k, {one} in {name}.items()}}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        held = vars(value) if hasattr(value, "__dict__") else {}
        fields = [f"{k}={name}.{k}.detach()" for k, v in held.items() if _is_tensor(v)]
        return f"dataclasses.replace({', '.join([name, *fields])})" if fields else ""
    return ""


def _of_tuple(name: str, value: tuple[Any, ...]) -> str:
    """Return code that detaches what a tuple holds, and gives one of the same kind."""
    if _are_tensors(value):
        return f"{name}._make({_each(name)})" if hasattr(type(value), "_make") else each_of(name)
    nested = all(isinstance(part, (tuple, list)) and _are_tensors(part) for part in value)
    return f"tuple(tuple({_each('part')}) for part in {name})" if value and nested else ""


def each_of(name: str) -> str:
    """Return code that detaches each tensor of a tuple."""
    return f"tuple({_each(name)})"


def _each(name: str) -> str:
    """Return the code of a generator of the detached tensors of a name."""
    one = _variable(name)
    return f"{one}.detach() for {one} in {name}"


def _variable(name: str) -> str:
    """Return a variable for each part of what a name holds, other than the name."""
    return "t" if name == "s" else "s"


def _are_tensors(values: Any) -> bool:
    """Say whether there is something, and all of it tensors."""
    values = list(values)
    return bool(values) and all(map(_is_tensor, values))


def _is_tensor(value: object) -> bool:
    return issubclass(type(value), torch.Tensor)
