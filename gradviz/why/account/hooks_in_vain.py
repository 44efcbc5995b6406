"""Hooks that change nothing: what they compute they do not return, or no gradient comes by where
they are. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import Any

from gradviz.graph.facts import Facts
from gradviz.graph.training import line_of
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# what puts a hook that may return another value
_PUTS = {
    "register_hook",
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
}
_COMPUTING = {"clamp", "clip", "mul", "div", "add", "sub", "neg", "detach", "masked_fill"}


def hooks_in_vain(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of hooks that change nothing.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    yield from _returning_nothing(words, statements)
    yield from _never_run(facts, words)


def _returning_nothing(words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of functions that are put as hooks, compute another value, and return nothing."""
    functions = {f.name: (file, f) for file, f in statements.nodes(ast.FunctionDef)}
    for file, call in statements.nodes(ast.Call):
        name = _hook_of(call)
        if name not in functions:
            continue
        where, function = functions[name]
        lost = _lost_value(function)
        if lost is None:
            continue
        put, place = source_of(file, call), source_of(where, lost)
        fields = {
            "hook": name,
            "put": words.source(put),
            "statement": place.code,
            "place": words.line_of(place),
            "value": ast.unparse(lost.value),
        }
        yield Remark(Weight.IN_VAIN, "hook_returns_nothing", fields, statements=(place, put))


def _hook_of(call: ast.Call) -> str:
    """Return the name of the function that a call puts as a hook; "" where it does not."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in _PUTS or not call.args:
        return ""
    given = call.args[0]
    return given.attr if isinstance(given, ast.Attribute) else getattr(given, "id", "")


def _lost_value(function: ast.FunctionDef) -> Any:
    """Return the last statement of a hook, where that computes a value from what the hook is
    given, and the function returns nothing at all."""
    inner = [*ast.walk(function)]
    returns = (n for n in inner if isinstance(n, (ast.Return, ast.Yield)))
    if any(n.value is not None for n in returns):
        return None
    last = function.body[-1]
    own = {a.arg for a in function.args.args}
    if isinstance(last, ast.Expr):
        lost = isinstance(last.value, ast.BinOp) or _computes(last.value, own)
    elif isinstance(last, ast.Assign):
        lost = all(isinstance(t, ast.Name) and t.id in own for t in last.targets)
    else:
        return None
    reads = any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(last.value))
    return last if lost and reads else None


def _computes(value: ast.expr, own: Set[str]) -> bool:
    """Say whether an expression is a call that gives a new value, and changes nothing in place: a
    method of an argument, or a function of torch's; ``add`` of a set is none."""
    function = value.func if isinstance(value, ast.Call) else None
    if not isinstance(function, ast.Attribute) or function.attr not in _COMPUTING:
        return False
    owners = {n.id for n in ast.walk(function.value) if isinstance(n, ast.Name)}
    return bool(owners) and owners <= {*own, "torch"}


def _never_run(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of hooks on copies: on results that go into no loss from which a backward ran."""
    runs = [b for b in facts.graph.backwards if b.kind == "backward"]
    if not runs:
        return
    last = max(b.call_id for b in runs)
    behind = facts.in_losses
    seen = set[object]()
    for event in facts.hooks:
        call, tensor = facts.graph.call[event.call_id], facts.graph.tensor[event.tensor_id]
        maker = facts.maker.get(event.tensor_id)
        if maker is None or not maker.inputs or call.id > last or line_of(call) in seen:
            continue
        states = {t.id for t in facts.states[tensor.object_id]}
        source = maker.inputs[0]
        if not behind.isdisjoint(states) or not _goes_on(facts, source, behind):
            continue
        seen.add(line_of(call))
        fields = {
            "code": words.at(call),
            "function": maker.function,
            "source": words.name(source),
        }
        yield Remark(Weight.IN_VAIN, "hook_on_a_copy", fields, (call,))


def _goes_on(facts: Facts, tensor_id: int, behind: Set[int]) -> bool:
    """Say whether what a copy was made of goes into a loss itself."""
    states = {t.id for t in facts.states[facts.graph.tensor[tensor_id].object_id]}
    return not behind.isdisjoint(states)
