"""Comparisons of a weight with itself, where the values of before a step were meant: what was kept
is the parameter, and a step writes into it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Source
from gradviz.graph.training import Did, Training, line_of
from gradviz.names.frames import frames, names_in, whole_code
from gradviz.names.position import callee_of
from gradviz.names.statements import Statements
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

_COMPARES = {"equal", "allclose", "isclose", "eq", "__eq__", "ne", "__ne__", "sub", "__sub__"}
# what takes the values along, or is no tensor
_COPIES = {"clone", "deepcopy", "copy", "tolist", "numpy", "item", "norm", "sum", "mean"}


def weights_compared(
    facts: Facts, words: Words, training: Training, statements: Statements
) -> Iterator[Remark]:
    """Tell of each line that compares a weight that steps moved with itself, by two names.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        training: what was done with gradients.
        statements: the code that ran.
    """
    found: dict[object, Call] = {}
    for call in facts.ordinary_calls:
        if call.function in _COMPARES and _is_of_one_moved(facts, training, call):
            found[line_of(call) or call.id] = call
    for call in found.values():
        leaf = facts.graph.tensor[call.inputs[0]].object_id
        step = _last_step(training, leaf, call)
        kept = None if step is None else _where_kept(statements, call, step)
        if kept is None or _are_written_alike(call):
            continue
        fields = {
            "call": words.at(call),
            "name": words.name(facts.latest_state[leaf].id),
            "step": words.at(step),
            "kept": words.source(kept),
        }
        yield Remark(
            Weight.IN_VAIN, "weights_compared", fields, (call,), frozenset({leaf}), (kept,)
        )


def _is_of_one_moved(facts: Facts, training: Training, call: Call) -> bool:
    """Say whether a call was given one leaf twice, and a step had moved that."""
    if len(call.inputs) != 2 or call.inputs[0] != call.inputs[1]:
        return False
    leaf = facts.graph.tensor[call.inputs[0]]
    return leaf.is_leaf is True and _last_step(training, leaf.object_id, call) is not None


def _last_step(training: Training, leaf: int, before: Call) -> Call | None:
    """Return the last step that moved a leaf before a call."""
    every = (m.call for m in training.moments.get(leaf, ()) if m.did is Did.STEPPED)
    return max((c for c in every if c.id < before.id), key=lambda c: c.id, default=None)


def _are_written_alike(call: Call) -> bool:
    """Say whether the code itself gives a call one thing twice: ``p != p`` asks for NaN."""
    try:
        node = ast.parse(whole_code(call), mode="eval").body
    except SyntaxError:
        return True
    sides: list[ast.expr] = []
    if isinstance(node, ast.Compare):
        sides = [node.left, node.comparators[0]]
    elif isinstance(node, ast.BinOp):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        sides = node.args[:2] if len(node.args) > 1 or owner is None else [owner, *node.args[:1]]
    return len({ast.unparse(side) for side in sides}) != 2


def _where_kept(statements: Statements, call: Call, step: Call) -> Source | None:
    """Return the first statement that gives a variable of a comparison weights, and no copy of
    them, before a step; None where none is known: tied weights may be compared."""
    read = {n for frame in frames(call) for n in names_in(frame.code)[1]}
    bound = [pair for name in sorted(read) for pair in _binds(statements, name)]
    stepped = [(frame.file, frame.line) for frame in frames(step)]
    found = [
        place
        for place, node in bound
        if any(place.file == file and place.line < line for file, line in stepped)
        and _gives_weights(statements, node.value)
    ]
    return min(found, key=lambda place: place.line, default=None)


def _binds(statements: Statements, name: str) -> list[tuple[Source, Any]]:
    """Return where a variable or an attribute is assigned, each with the statement's node."""
    owner, dot, attribute = name.rpartition(".")
    return statements.sets(attribute) if dot and owner.isidentifier() else statements.binds(name)


def _gives_weights(statements: Statements, value: ast.expr) -> bool:
    """Say whether an expression gives parameters as they are, by itself or by a function of the
    program that returns them."""
    if _keeps_weights(value):
        return True
    function = callee_of(value.func) if isinstance(value, ast.Call) else None
    every = (node for _, node in statements.nodes(ast.FunctionDef) if node.name == function)
    returned = (n.value for node in every for n in ast.walk(node) if isinstance(n, ast.Return))
    return any(one is not None and _keeps_weights(one) for one in returned)


def _keeps_weights(value: ast.expr) -> bool:
    """Say whether an expression gives parameters as they are.

    >>> texts = ("list(m.parameters())", "[p.clone() for p in m.parameters()]", "m.fc.weight")
    >>> [_keeps_weights(ast.parse(text, mode="eval").body) for text in (*texts, "nn.Linear(1, 2)")]
    [True, False, True, False]
    """
    inner = list(ast.walk(value))
    called = [callee_of(n.func) or "" for n in inner if isinstance(n, ast.Call)]
    if not _COPIES.isdisjoint(called):
        return False
    lists = any(name in ("parameters", "named_parameters") for name in called)
    return lists or isinstance(value, ast.Attribute)
