"""Hooks of modules that do not get what they wait for: a gradient of an input that has
one, or a call of the module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gradviz.graph.facts import Facts
from gradviz.graph.records import Source
from gradviz.names.position import statement_or_head
from gradviz.names.statements import Statements, code_of_function, function_node, source_of
from gradviz.watch import torch_private
from gradviz.watch.identity import parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_PUTS = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
)


def hooks_of_modules(
    facts: Facts,
    words: Words,
    parts: Iterator[tuple[str, Any]],
    object_of: Callable[[Any], int | None],
    statements: Statements,
) -> Iterator[Remark]:
    """Tell of hooks of modules that do not get what they wait for.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        parts: the modules, each with its name.
        object_of: gives the object id of a living tensor.
        statements: the code that ran.
    """
    every = list(parts)
    passed = {
        name: remark
        for name, part in every
        if (remark := _passed_by(facts, words, name, part, object_of, statements))
    }
    yield from passed.values()
    rest = [(name, part) for name, part in every if name not in passed]
    yield from _inputs_without_gradient(facts, words, rest, object_of)


def _passed_by(
    facts: Facts,
    words: Words,
    name: str,
    part: Any,
    object_of: Callable[[Any], int | None],
    statements: Statements,
) -> Remark | None:
    """Tell of hooks of a module whose ``forward`` was called as a method: hooks run around a call
    of the module only."""
    hooks = torch_private.module_hooks(part)
    own = {object_of(p) for p in parameters(part)} - {None} if hooks else set()
    if not own:
        return None
    tensor = facts.graph.tensor
    used = [c for c in facts.ordinary_calls if any(tensor[i].object_id in own for i in c.inputs)]
    kind = type(part).__name__
    called = {
        facts.module_call[i].kind for c in used for i in facts.module_calls_around(c.module_call)
    }
    direct = [
        (place, node, node.func.value)
        for place, node in statements.calls("forward")
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Call)
    ]
    if not used or kind in called or len(direct) != 1:
        return None
    place, node, owner = direct[0]
    fields = {
        "module": name,
        "code": ast.unparse(node),
        "place": words.line_of(place),
        "instead": f"{ast.unparse(owner)}(…)",
    }
    return Remark(Weight.IN_VAIN, "hooks_passed_by", fields, statements=(place,))


def hooks_of_another(
    facts: Facts,
    words: Words,
    parts: Sequence[tuple[str, Any]],
    object_of: Callable[[Any], int | None],
    statements: Statements,
) -> Iterator[Remark]:
    """Tell of hooks of a module that no call used, where one alike that has no hooks was called: a
    copy of it, or what it is a copy of. The arguments are those of ``hooks_of_modules``."""
    putting = [place for method in _PUTS for place, _ in statements.calls(method)]
    read = _read_in_modules(facts) if putting else set[int]()
    used = [(n, p) for n, p in parts if not read.isdisjoint(map(object_of, parameters(p)))]
    ran = {id(part) for _, part in used}
    for name, part in parts if used else ():
        alike = [n for n, p in used if _is_alike(p, part) and not torch_private.module_hooks(p)]
        if id(part) not in ran and alike and _has_own_hooks(part):
            place = putting[-1]
            fields = {
                "module": name,
                "code": place.code,
                "place": words.line_of(place),
                # of a model with several such layers, the one at the same place
                "other": max(alike, key=partial(_common_end, name)),
            }
            yield Remark(Weight.IN_VAIN, "hooks_of_another", fields, statements=(place,))
            return


def _read_in_modules(facts: Facts) -> set[int]:
    """Return the objects that calls inside of modules read: what copies a module reads it, too."""
    inside = (c for c in facts.ordinary_calls if c.module_call is not None)
    return {facts.graph.tensor[i].object_id for c in inside for i in c.inputs}


def _has_own_hooks(part: Any) -> bool:
    """Say whether a module has hooks that are functions of Python's."""
    return any(code_of_function(hook) for hook in torch_private.module_hooks(part))


def _is_alike(one: Any, other: Any) -> bool:
    """Say whether two modules are of one class and have parameters of the same shapes."""
    shapes = [[tuple(p.shape) for p in parameters(part)] for part in (one, other)]
    return type(one) is type(other) and bool(shapes[0]) and shapes[0] == shapes[1]


def _common_end(one: str, other: str) -> int:
    """Return how many letters two names share at their end.

    >>> _common_end("model.conv2", "trained.conv2"), _common_end("a.fc", "b.conv")
    (6, 0)
    """
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _inputs_without_gradient(
    facts: Facts,
    words: Words,
    parts: Sequence[tuple[str, Any]],
    object_of: Callable[[Any], int | None],
) -> Iterator[Remark]:
    """Tell of backward hooks that read the gradient of a module's input, where that requires no
    grad: they get None."""
    for name, part in parts:
        reading = [place for h in torch_private.backward_hooks(part) for place in _reads(h)]
        own = {object_of(p) for p in parameters(part, recurse=False)} if reading else set()
        given = _given(facts, own) if own else None
        if given is None:
            continue
        fields = {
            "module": name,
            "place": words.line_of(reading[0]),
            "code": reading[0].code,
            "input": words.name(given),
        }
        yield Remark(Weight.WEIGHTY, "input_without_gradient", fields, statements=(reading[0],))


def _reads(hook: Any) -> Iterator[Source]:
    """Yield the statement in which a hook reads its second argument, that of the inputs."""
    code = code_of_function(hook)
    found = None if code is None else function_node(code)
    if found is None or not isinstance(found[1], ast.FunctionDef):
        return
    file, function = found
    names = [a.arg for a in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    for node in ast.walk(function) if len(names) > 1 else ():
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if node.id == names[1]:
            yield source_of(file, statement_or_head(node) or node)
            return


def _given(facts: Facts, own: set[int | None]) -> int | None:
    """Return what the last call with a module's parameters was given besides them; None where that
    requires grad, or is not known."""
    tensor = facts.graph.tensor
    for call in reversed(facts.ordinary_calls):
        others = [i for i in call.inputs if tensor[i].object_id not in own]
        if len(others) == len(call.inputs) or not call.grad_mode:
            continue
        return None if not others or tensor[others[0]].requires_grad else others[0]
    return None
