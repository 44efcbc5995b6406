"""The program's own custom Functions: autograd believes what their backward returns. Knows no
torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from executing import Source as File

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Node, NodeKind, NodeRan
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# what a forward is made flat or stepwise with
_FLATTENING = {"clamp", "clip", "round", "floor", "ceil", "sign", "where", "hardtanh"}

# operators by which a result is no mere copy of what goes in
_SCALING = (ast.Mult, ast.Div, ast.Pow, ast.MatMult)


def own_backwards(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of each custom Function whose backward ran: that nothing compared it with its forward;
    or, where it handed the gradient on as it came, and its code shows that the forward changes the
    value, just that.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    last = {ran.node_id: ran for ran in facts.nodes_ran}
    for node_id, ran in last.items():
        node = facts.graph.node[node_id]
        call = facts.graph.call.get(node.call_id)
        if node.kind is not NodeKind.CUSTOM_FUNCTION or call is None:
            continue
        for file, kind in _classes_of(node, call, statements):
            methods = {m.name: m for m in kind.body if isinstance(m, ast.FunctionDef)}
            forward, backward = (_with_helpers(methods, name) for name in ("forward", "backward"))
            if not forward or not backward:
                continue
            place = source_of(file, _return_of(backward[-1]))
            fields = {
                "function": kind.name,
                "call": words.at(call),
                "place": words.line_of(place),
            }
            leaves = frozenset(leaf.object_id for leaf in facts.leaves_below(node_id))
            change = _change(forward, backward) if _handed_on(ran) else None
            weight = Weight.ORDINARY if change is None else Weight.WEIGHTY
            key, more = change or ("own_backward", {})
            yield Remark(weight, key, {**fields, **more}, (call,), leaves, (place,))


def _classes_of(
    node: Node, call: Call, statements: Statements
) -> Iterator[tuple[File, ast.ClassDef]]:
    """Yield the classes of the program that have the name of a node's custom Function."""
    names = (call.function.partition(".")[0], node.name.removesuffix("Backward"))
    for file, kind in statements.nodes(ast.ClassDef):
        if kind.name in names:
            yield file, kind


def _handed_on(ran: NodeRan) -> bool:
    """Say whether a node sent one gradient, and that as it came."""
    sent = [i for i, text in enumerate(ran.sent) if text is not None]
    if len(sent) != 1:
        return False
    arrived = (ran.arrived[0], (*ran.arrived_norms, None)[0]) if ran.arrived else None
    return arrived == (ran.sent[sent[0]], dict(enumerate(ran.sent_norms)).get(sent[0]))


def _change(
    forward: list[ast.FunctionDef], backward: list[ast.FunctionDef]
) -> tuple[str, dict[str, Any]] | None:
    """Return how a forward changes the value that a backward takes no notice of, as the key of a
    sentence and what it names; None where the code does not show it."""
    flattens = sorted(set().union(*map(_called, forward)) & _FLATTENING)
    scales = _scaling(forward[0])
    if not (flattens or scales) or any(map(_negates, backward)):
        return None
    if flattens:
        return "straight_through", {"flattens": flattens}
    if unread := _kept_in_vain(forward[0], backward):
        return "kept_in_vain", {"scales": scales, "unread": unread}
    return "scaled_and_handed_on", {"scales": scales}


def _with_helpers(methods: Mapping[str, ast.FunctionDef], name: str) -> list[ast.FunctionDef]:
    """Return a method and those of the same class that it calls, each after its caller."""
    found = dict[str, ast.FunctionDef]()
    todo = [name]
    while todo:
        function = methods.get(one := todo.pop(0))
        if function is not None and one not in found:
            found[one] = function
            todo += sorted(_called(function))
    return list(found.values())


def _scaling(forward: ast.FunctionDef) -> str:
    """Return what a forward returns, where that is a product, a quotient or a power; else ""."""
    value = getattr(_return_of(forward), "value", None)
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, _SCALING):
        return ""
    by_one = (isinstance(n, ast.Constant) and n.value == 1 for n in (value.left, value.right))
    return "" if any(by_one) else ast.unparse(value)


def _kept_in_vain(forward: ast.FunctionDef, backward: list[ast.FunctionDef]) -> list[str]:
    """Return what a forward keeps in its context and the backward never reads."""
    context = forward.args.args[0].arg if forward.args.args else ""
    inside = (n for n in ast.walk(forward) if isinstance(n, ast.Attribute))
    own = (n for n in inside if isinstance(n.ctx, ast.Store) and ast.unparse(n.value) == context)
    read = {n.attr for f in backward for n in ast.walk(f) if isinstance(n, ast.Attribute)}
    return [ast.unparse(n) for n in own if n.attr not in read]


def _negates(function: ast.FunctionDef) -> bool:
    """Say whether a function may turn a sign: that leaves the size of a gradient as it was."""
    signs = (n for n in ast.walk(function) if isinstance(n, ast.UnaryOp))
    return any(isinstance(n.op, ast.USub) for n in signs) or "neg" in _called(function)


def _called(function: ast.FunctionDef) -> set[str]:
    """Return the names of what a function calls."""
    calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    names = (getattr(f, "attr", None) or getattr(f, "id", "") for f in calls)
    return {str(name).removesuffix("_") for name in names}


def _return_of(function: ast.FunctionDef) -> ast.AST:
    """Return the last return statement of a function, or the function."""
    found: Iterable[ast.AST] = (n for n in ast.walk(function) if isinstance(n, ast.Return))
    return max(found, key=lambda n: getattr(n, "lineno", 0), default=function)
