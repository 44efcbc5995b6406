"""A key that only a backward hook fills, and no gradient came to the module that has it. Reads
values that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.records import Source
from gradviz.names.position import callee_of, display_name
from gradviz.names.statements import Statements, function_around, source_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

_SETTING = ("register_full_backward_hook", "register_backward_hook")


def hook_not_run(line: FailedLine, failure: Failure) -> Fields:
    """Return the mapping that lacks a key, the module of that name whose results do not require
    grad, and what froze it; None where something else than a backward hook fills it."""
    code = failure.statements
    if failure.kind != "KeyError" or code is None:
        return None
    for node in line.nodes(ast.Subscript):
        kept, key = line.value(node.value), line.value(node.slice)
        owner = ast.unparse(node.value)
        setting = _hooks_that_fill(code, owner.rpartition(".")[2])
        if not isinstance(kept, dict) or key in kept or not setting:
            continue
        if isinstance(key, str) and _is_frozen(failure, key):
            freezing = [*_freezing(code)]
            places = freezing if len(freezing) == 1 else []
            return {"owner": Code(owner), "key": key, "at": [*places, *setting[:1]]}
    return None


def _is_frozen(failure: Failure, path: str) -> bool:
    """Say whether a module of a path ran, with gradients on, and nothing that it gave requires
    grad."""
    inside = [c for c in failure.graph.calls if _is_of(c.module or "", path)]
    given = [failure.graph.tensor[i] for call in inside for i in call.outputs]
    is_on = all(call.grad_mode for call in inside)
    return bool(given) and is_on and not any(t.requires_grad for t in given)


def _is_of(module: str, path: str) -> bool:
    """Say whether a module's path, that of the root included, is one, or below it."""
    return f".{path}." in f".{module}."


def _hooks_that_fill(code: Statements, name: str) -> list[Source]:
    """Return the statements that set the backward hooks which alone write into an attribute or a
    variable of a name; none where something else writes into it, or a hook ran."""
    # in functions that did not run, too
    trees = ((file, file.tree) for file in code.files if file.tree is not None)
    every = [(file, n) for file, tree in trees for n in ast.walk(tree) if _writes_into(n, name)]
    functions = [(file, function_around(node)) for file, node in every]
    if not functions or any(f is None or _ran(code, file, f) for file, f in functions):
        return []
    found = []
    for _, function in functions:
        names = {function.name, getattr(function_around(function.parent), "name", "")}
        setting = [place for place, given in _setting(code) if given in names]
        found += setting
        if not setting:
            return []
    return found


def _setting(code: Statements) -> Iterator[tuple[Source, str]]:
    """Yield the statements that set a backward hook on a module, with the name of the hook, or of
    the function that gives it."""
    for method in _SETTING:
        for place, call in code.calls(method):
            if call.args:
                given = call.args[0]
                yield place, callee_of(given.func if isinstance(given, ast.Call) else given) or ""


def _freezing(code: Statements) -> Iterator[Source]:
    """Yield the statements that freeze parameters."""
    for file, node in code.nodes((ast.Assign, ast.Call)):
        value = node.value if isinstance(node, ast.Assign) else next(iter(node.args), None)
        words = node.targets if isinstance(node, ast.Assign) else [node.func]
        named = any(getattr(word, "attr", "").startswith("requires_grad") for word in words)
        if named and isinstance(value, ast.Constant) and value.value is False:
            yield source_of(file, node)


def _writes_into(node: Any, name: str) -> bool:
    """Say whether a statement sets an item of an attribute or a variable of a name."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    owners = [target.value for target in targets if isinstance(target, ast.Subscript)]
    return any(ast.unparse(owner).rpartition(".")[2] == name for owner in owners)


def _ran(code: Statements, file: Any, function: Any) -> bool:
    """Say whether a function of the program ran."""
    where = display_name(file.filename), function.lineno
    return where in code.functions_called(function.name)
