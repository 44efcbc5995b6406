"""What a reader names beside tensors, and what has no gradient: numbers, text, collections of
these. The rest of the question is answered."""

from __future__ import annotations

import numbers
import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from gradviz.why.code.reading import parts_held
from gradviz.why.question.subjects import DEPTH, KINDS
from gradviz.why.survey.reaching import parts_of
from gradviz.words.speech import say

TAKEN = (*KINDS, torch.amp.GradScaler, torch.optim.lr_scheduler.LRScheduler)


def to_ask_about(value: Any, depth: int = DEPTH) -> Any:
    """Return what ``explain()`` can be asked about: the value, of a collection the parts of which
    that holds; None where nothing is left.

    Example:
        >>> to_ask_about(0.5), to_ask_about("w"), to_ask_about([1, 2])
        (None, None, None)
        >>> to_ask_about({"w": torch.ones(1), "lr": 0.1})
        {'w': tensor([1.])}
    """
    if issubclass(type(value), TAKEN):
        return value
    if not depth:
        return None
    parts = parts_of(value)
    if parts is None:
        return value if parts_held(value) else None
    there = [(key, part) for key, part in parts if part is not None]
    asked = [(key, to_ask_about(part, depth - 1)) for key, part in there]
    left = [(key, part) for key, part in asked if part is not None]
    is_whole = all(a is b for (_, a), (_, b) in zip(asked, there, strict=True))
    if left and is_whole and not isinstance(value, Iterator):  # an iterator is at its end now
        return value
    return _gathered(left) if left else None


def _gathered(parts: list[tuple[str, Any]]) -> Any:
    """Return parts as a collection, by name where each has one."""
    if all(key for key, _ in parts):
        return dict(parts)
    return [part for _, part in parts]


def said_of(named: Iterable[tuple[str, Any]]) -> tuple[str, ...]:
    """Say of things that nothing can be asked of what they are, those of one kind together.

    Example:
        >>> said_of([("rate", 0.1), ("total", 2.5)])
        ('rate and total are of type float: numbers have no gradients.',)
    """
    kinds: dict[type, list[str]] = {}
    for name, value in named:
        kinds.setdefault(type(value), []).append(name)
    return tuple(_said(kind, names) for kind, names in kinds.items())


def _said(kind: type, names: list[str]) -> str:
    """Say of things of one type why nothing can be asked of them."""
    if kind is type(None):
        return say("magic.is_none", names=names)
    if issubclass(kind, numbers.Number):
        return say("magic.is_number", names=names, kind=kind.__name__)
    if issubclass(kind, str):
        return say("magic.is_text", names=names, kind=kind.__name__)
    if kind.__module__ == "numpy":
        return say("magic.is_array", names=names, kind=kind.__name__)
    if issubclass(kind, type):
        return say("magic.is_class", names=names)
    if issubclass(kind, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return say("magic.is_function", names=names)
    return say("magic.holds_nothing", names=names, kind=kind.__name__)
