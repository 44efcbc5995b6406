"""The program's own custom Functions: autograd believes what their backward returns. Knows no
torch."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from executing import Source as File

from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call, Node, NodeKind, NodeRan, Tensor
from gradviz.graph.training import line_of
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.zero_flow import brought_zeros
from gradviz.words.speech import say
from gradviz.words.words import Words

# what a forward is made flat or stepwise with
_FLATTENING = {"clamp", "clip", "round", "floor", "ceil", "sign", "where", "hardtanh"}

# what a backward changes a gradient with
_CHANGING = {*_FLATTENING, "mul", "div", "masked_fill", "threshold", "tanh", "hardshrink"}

# operators by which a result is no mere copy of what goes in
_SCALING = (ast.Mult, ast.Div, ast.Pow, ast.MatMult)
# what may give a number of elements, or divide by it
_COUNTING = {"numel", "size", "shape", "len", "nelement", "mean", "div", "reciprocal", "grad"}
_COUNTING |= {"vjp", "n", "N", "count"}
# what is said of a Function, and not of one of its calls
_ONCE = ("gradient_unread", "own_backward")
# what gives the same values
_HANDS_ON = ("view_as", "view", "clone", "contiguous", "alias")


class LastRun(NamedTuple):
    """The last run of a custom Function's node.

    Attributes:
        ran: what it did.
        node: itself.
        call: the call that made it.
    """

    ran: NodeRan
    node: Node
    call: Call


def own_backwards(facts: Facts, words: Words, statements: Statements) -> Iterator[Remark]:
    """Tell of each custom Function whose backward ran: that nothing compared it with its forward;
    or, where it handed the gradient on as it came, and its code shows that the forward changes the
    value, just that.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
    """
    told = set[str]()  # what is the same for all calls once for each Function
    for run in _last_runs(facts):
        for file, kind in _classes_of(run, statements):
            methods = {m.name: m for m in kind.body if isinstance(m, ast.FunctionDef)}
            forward, backward = (_with_helpers(methods, name) for name in ("forward", "backward"))
            if forward and backward:
                remark = _told(facts, words, run, file, kind, forward, backward)
                if remark.key == "own_backward" and _is_compared(kind.name, statements):
                    continue
                if remark.key not in _ONCE or kind.name not in told:
                    told.add(kind.name)
                    yield remark


def _is_compared(name: str, statements: Statements) -> bool:
    """Say whether the program itself compares a Function's backward with its forward."""
    calls = (node for _, node in statements.nodes(ast.Call))
    compared = (node for node in calls if callee_of(node.func) in ("gradcheck", "gradgradcheck"))
    given = (part for node in compared for part in node.args[:1])
    return any(
        isinstance(part, ast.Name) and part.id == name for one in given for part in ast.walk(one)
    )


def _told(
    facts: Facts,
    words: Words,
    run: LastRun,
    file: File,
    kind: ast.ClassDef,
    forward: list[ast.FunctionDef],
    backward: list[ast.FunctionDef],
) -> Remark:
    """Tell of one custom Function; its methods stand before those of the class that they call."""
    factor = run.ran.factor
    turned = _handed_on_unturned(forward[0], backward, factor)
    undivided = _undivided(forward[0], backward)
    place = source_of(file, turned or undivided or _return_of(backward[-1]))
    fields = {
        "function": kind.name,
        "call": words.at(run.call),
        "place": words.line_of(place),
        "read": sorted(_read_of_context(backward)),
        "factor": number(factor or 0),
        "n": words.times(len(_runs_at(facts, run.call))),
    }
    change: tuple[str, dict[str, Any]] | None = None
    if turned is not None:
        change = "not_reversed", {}
    elif _always_zeros(facts, run.call):
        change = "times_zero", {}
    elif _hands_on(forward[0]) and (loss := _loss_turned_whole(facts, run)) is not None:
        module = run.call.module
        inside = say("label.in_module", module=module) if module else ""
        change = "reverses_all", {"loss": words.name(loss.id), "inside": inside}
    elif unread := _gradient_unread(backward, run.ran):
        change = "gradient_unread", {"unread": unread}
    elif undivided is not None:
        change = "mean_undivided", {"value": ast.unparse(_return_of(forward[0]))}
    elif factor == 1:
        change = _change(forward, backward)
    weight = Weight.ORDINARY if change is None else Weight.WEIGHTY
    key, more = change or ("own_backward", {})
    leaves = frozenset(leaf.object_id for leaf in facts.leaves_below(run.node.id))
    return Remark(weight, key, {**fields, **more}, (run.call,), leaves, (place,))


def _last_runs(facts: Facts) -> Iterable[LastRun]:
    """Return the last run of a custom Function's node of each line of calls."""
    last = dict[object, LastRun]()
    for ran in facts.nodes_ran:
        node = facts.graph.node[ran.node_id]
        call = facts.graph.call.get(node.call_id)
        if node.kind is NodeKind.CUSTOM_FUNCTION and call is not None:
            last[line_of(call) or call.id] = LastRun(ran, node, call)
    return last.values()


def _runs_at(facts: Facts, call: Call) -> list[NodeRan]:
    """Return the runs of the nodes of a custom Function that was called in one line."""
    here = {c.id for c in facts.ordinary_calls if line_of(c) == line_of(call)}
    nodes = {n.id for n in facts.graph.nodes if n.call_id in here | {call.id}}
    custom = {n for n in nodes if facts.graph.node[n].kind is NodeKind.CUSTOM_FUNCTION}
    return [ran for ran in facts.nodes_ran if ran.node_id in custom]


def _always_zeros(facts: Facts, call: Call) -> bool:
    """Say whether a backward multiplied by 0 whatever arrived, each time that it ran."""
    return all(ran.factor == 0 and not brought_zeros(ran) for ran in _runs_at(facts, call))


def _loss_turned_whole(facts: Facts, run: LastRun) -> Tensor | None:
    """Return the first single number computed from what a custom Function returned, where its
    backward turns the gradient round and all leaves behind that number are behind it, too: none
    makes the number smaller."""
    if run.ran.factor is None or run.ran.factor >= 0:
        return None
    above = facts.above([run.node.id])
    numbers = (
        t
        for t in facts.graph.tensors
        if t.gradient_edge is not None and t.gradient_edge.node_id in above and t.shape == ()
    )
    loss = min(numbers, key=lambda t: t.id, default=None)
    if loss is None or loss.gradient_edge is None:
        return None
    every = {leaf.object_id for leaf in facts.leaves_below(loss.gradient_edge.node_id)}
    behind = {leaf.object_id for leaf in facts.leaves_below(run.node.id)}
    return loss if every <= behind else None


def _classes_of(run: LastRun, statements: Statements) -> Iterator[tuple[File, ast.ClassDef]]:
    """Yield the classes of the program that have the name of a custom Function that ran."""
    names = (run.call.function.partition(".")[0], run.node.name.removesuffix("Backward"))
    for file, kind in statements.nodes(ast.ClassDef):
        if kind.name in names:
            yield file, kind


def _handed_on_unturned(
    forward: ast.FunctionDef, backward: list[ast.FunctionDef], factor: float | None
) -> ast.AST | None:
    """Return the statement that turns the sign in a backward, where the forward hands its input on,
    and the gradient was multiplied by a number above 0 all the same."""
    if not _hands_on(forward) or factor is None or factor <= 0:
        return None
    signs = [node for function in backward for node in _signs(function)]
    return statement_or_head(signs[0]) if len(signs) == 1 else None


def _hands_on(forward: ast.FunctionDef) -> bool:
    """Say whether a forward returns what it is given, or the same values once more."""
    value = getattr(_return_of(forward), "value", None)
    while isinstance(value, ast.Call) and callee_of(value.func) in _HANDS_ON:
        value = getattr(value.func, "value", None)
    return isinstance(value, ast.Name) and value.id in [a.arg for a in forward.args.args]


def _read_of_context(backward: list[ast.FunctionDef]) -> set[str]:
    """Return what a backward reads of its context."""
    read = set()
    for function in backward:
        context = function.args.args[0].arg if function.args.args else ""
        inside = (n for n in ast.walk(function) if isinstance(n, ast.Attribute))
        read |= {ast.unparse(n) for n in inside if ast.unparse(n.value) == context}
    return {text for text in read if "needs_input_grad" not in text}


def _change(
    forward: list[ast.FunctionDef], backward: list[ast.FunctionDef]
) -> tuple[str, dict[str, Any]] | None:
    """Return how a forward changes the value that a backward takes no notice of, as the key of a
    sentence and what it names; None where the code does not show it."""
    if any(map(_computes, backward)):
        return None  # its gradient came out as it went in by its numbers alone: a mask of ones
    flattens = sorted(set().union(*map(_called, forward)) & _FLATTENING)
    scales = _scaling(forward[0])
    if not (flattens or scales):
        return None
    if flattens:
        return "straight_through", {"flattens": flattens}
    if unread := _kept_in_vain(forward[0], backward):
        return "kept_in_vain", {"scales": scales, "unread": unread}
    return "scaled_and_handed_on", {"scales": scales}


def _undivided(forward: ast.FunctionDef, backward: list[ast.FunctionDef]) -> ast.AST | None:
    """Return the last statement of a backward that multiplies, where none divides by a number of
    elements though its forward gives a mean."""
    if not _is_mean(forward) or any(map(_may_divide, backward)):
        return None
    products = [n for n in ast.walk(backward[0]) if isinstance(getattr(n, "op", None), ast.Mult)]
    return statement_or_head(products[-1]) if products else None


def _gradient_unread(backward: list[ast.FunctionDef], ran: NodeRan) -> list[str]:
    """Return what a backward is handed from above, where it reads nothing of that and something
    else than 1 arrived; nothing where it returns no gradient."""
    function, *_ = backward
    handed = [a.arg for a in function.args.args[1:]]
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    is_one = all(text in (None, "1", "1.0") for text in ran.arrived)
    if not handed or function.args.vararg or not read.isdisjoint(handed) or is_one:
        return []
    return handed if any(text is not None for text in ran.sent) else []


def _is_mean(forward: ast.FunctionDef) -> bool:
    """Say whether what a forward returns is a mean over elements."""
    value = getattr(_return_of(forward), "value", None)
    return isinstance(value, ast.Call) and callee_of(value.func) == "mean"


def _may_divide(backward: ast.FunctionDef) -> bool:
    """Say whether a backward may divide by a number of elements: it divides, or calls or reads what
    could give that number, or a mean."""
    nodes = list(ast.walk(backward))
    divides = any(isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Div, ast.Pow)) for n in nodes)
    words = {n.attr for n in nodes if isinstance(n, ast.Attribute)} | _called(backward)
    return divides or not words.isdisjoint(_COUNTING)


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


def _computes(function: ast.FunctionDef) -> bool:
    """Say whether a backward's code multiplies, chooses or writes parts of something."""
    return not _called(function).isdisjoint(_CHANGING) or any(
        (isinstance(node, ast.BinOp) and isinstance(node.op, _SCALING))
        or isinstance(node, ast.AugAssign)
        or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
        for node in ast.walk(function)
    )


def _signs(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield where a function turns a sign."""
    for node in ast.walk(function):
        minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        if minus or (isinstance(node, ast.Call) and callee_of(node.func) in ("neg", "neg_")):
            yield node


def _called(function: ast.FunctionDef) -> set[str]:
    """Return the names of what a function calls."""
    calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
    names = (getattr(f, "attr", None) or getattr(f, "id", "") for f in calls)
    return {str(name).removesuffix("_") for name in names}


def _return_of(function: ast.FunctionDef) -> ast.AST:
    """Return the last return statement of a function, or the function."""
    found: Iterable[ast.AST] = (n for n in ast.walk(function) if isinstance(n, ast.Return))
    return max(found, key=lambda n: getattr(n, "lineno", 0), default=function)
