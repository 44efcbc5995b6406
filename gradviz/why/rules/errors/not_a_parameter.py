"""What an optimizer was given in place of parameters, or that it was given none. Plain data in and
out, reads the living tensors that were handed over."""

from __future__ import annotations

import ast
from typing import Any

import torch

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Source, Tensor
from gradviz.names.position import statement_of
from gradviz.why.code.in_place import statement_binding
from gradviz.why.evidence import messages
from gradviz.why.evidence.handed_on import KEEPING
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code


def results_handed(failure: Failure) -> Explanation | None:
    """Name the results that the failing line hands to an optimizer, and the statement that makes a
    leaf of each."""
    line = failure.failed
    calls = [] if line is None else [*line.nodes(ast.Call)]
    words = [word for call in calls for word in _words_handed(call)]
    found = {ast.unparse(word): word for word in words if _is_result(line, word)}
    made = [(name, *pair) for name, word in found.items() if (pair := _made_leaf(failure, word))]
    if not found or len(made) < len(found):
        return None
    return failure.answer(
        Cause.NON_LEAF_IN_OPTIMIZER,
        "handed",
        calls=[*(call_at(place) for _, place, _ in made), *failure.at_the_line],
        more=(),
        names=[Code(name) for name in found],
        leaves=[Code(code) for _, _, code in made],
        places=[failure.words.line_of(place) for _, place, _ in made],
    )


def _words_handed(call: ast.Call) -> list[ast.expr]:
    """Return the variables and attributes that a call is given, alone or in lists and dicts."""
    nodes = (n for argument in call.args for n in ast.walk(argument))
    return [n for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]


def _is_result(line: Any, word: ast.expr) -> bool:
    """Say whether a variable holds a computed tensor that requires grad."""
    value = line.value(word)
    return issubclass(type(value), torch.Tensor) and bool(value.requires_grad and not value.is_leaf)


def _made_leaf(failure: Failure, word: Any) -> tuple[Source, str] | None:
    """Return the one statement that gives a variable or an attribute its value, and the same with
    a leaf of that value; None where that is not known."""
    statements, line = failure.statements, failure.failed
    if isinstance(word, ast.Attribute):
        found = [] if statements is None else statements.sets(word.attr)
    else:
        binder = statement_binding(word.id, statement_of(word))
        found = [(line.source(binder), binder)] if line is not None and binder is not None else []
    if len(found) != 1:
        return None
    place, statement = found[0]
    is_plain = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    if not is_plain or isinstance(statement.targets[0], (ast.Tuple, ast.List)):
        return None
    if isinstance(statement.value, ast.Subscript):  # a part of something: see ``likely_part``
        return None
    target = ast.unparse(statement.targets[0])
    detached = ast.unparse(ast.Call(ast.Attribute(statement.value, "detach"), [], []))
    if target.startswith("self."):
        return place, f"{target} = nn.Parameter({detached})"
    return place, f"{target} = {detached}.requires_grad_()"


def results_like_parameters(failure: Failure) -> Explanation | None:
    """Name the results that look like parameters: no recorded call raises this error."""
    results = [t for t in failure.facts.latest_state.values() if like_a_parameter(failure, t)]
    if not results and (part := last_part_of_a_leaf(failure)) is not None:
        return failure.answer(
            Cause.NON_LEAF_IN_OPTIMIZER,
            "likely_part",
            calls=[failure.facts.maker[part.id]],
            tensors=[part],
            sure=Sure.LIKELY,
            more=(),
            name=failure.name(part),
            code=failure.code(failure.facts.maker[part.id]),
            whole=failure.names(failure.facts.leaves_reached(part.id)),
        )
    if not results:
        return None
    return failure.answer(
        Cause.NON_LEAF_IN_OPTIMIZER,
        "likely",
        calls=[failure.facts.maker[t.id] for t in results],
        tensors=results,
        sure=Sure.LIKELY,
        more=(),
        names=failure.names(results),
    )


def last_part_of_a_leaf(failure: Failure) -> Tensor | None:
    """Return the last result that is a part of a leaf which requires grad, or that in another
    shape, and that nothing was computed from."""
    parts = [
        t
        for t in failure.facts.latest_state.values()
        if t.is_leaf is False and t.requires_grad and t.id not in failure.facts.read_ids
        if (maker := failure.facts.maker.get(t.id)) and maker.function in KEEPING and maker.inputs
        if failure.graph.tensor[maker.inputs[0]].is_leaf
    ]
    return max(parts, key=lambda t: t.id, default=None)


def like_a_parameter(failure: Failure, tensor: Tensor) -> bool:
    """Say whether a tensor was computed from a leaf of its shape that requires grad."""
    maker = failure.facts.maker.get(tensor.id)
    if maker is None or tensor.is_leaf is not False:
        return False
    sources = (failure.graph.tensor[i] for i in maker.inputs)
    return any(t.is_leaf and t.requires_grad and t.shape == tensor.shape for t in sources)


def not_parameters(failure: Failure) -> Explanation | None:
    """Tell what a module holds in place of parameters."""
    if failure.starved is None or not failure.starved.spots:
        return None
    form = failure.starved.spots[0].form
    spots = [spot for spot in failure.starved.spots if spot.form == form]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "init"
        if form == "init"
        else "result"
        if form == "result"
        else "list"
        if form == "list"
        else "buffer"
        if form == "buffer"
        else "local"
        if form == "local"
        else "tensor",
        calls=[call_at(source) for spot in spots for source in spot.source],
        more=(),
        module=failure.starved.module,
        kind=failure.starved.kind,
        names=[spot.name for spot in spots],
        n=len(spots),
        name=spots[0].name,
        attribute=spots[0].name.rpartition(".")[2],
    )


def not_assigned(failure: Failure) -> Explanation | None:
    """Tell of a plain tensor that was to take the name of a parameter."""
    name = messages.parameter_named(failure.text)
    if name is None:
        return None
    refused = failure.starved.assigned if failure.starved else None
    is_result = refused is not None and refused.is_result
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "result_assigned" if is_result else "tensor_assigned",
        calls=[call_at(source) for source in (failure.starved.place if failure.starved else ())],
        more=(),
        name=name,
    )


def read_to_its_end(failure: Failure) -> Explanation | None:
    """Tell of an iterator of parameters that a statement had read before the optimizer did."""
    read = failure.starved.spent if failure.starved else None
    if failure.starved is None or read is None or failure.starved.spots:
        return None
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "spent",
        calls=[call_at(source) for source in read.source],
        more=(),
        name=read.name,
        kind=read.kind,
    )


def all_used_or_frozen(failure: Failure) -> Explanation | None:
    """Tell that a module has parameters, and why none of them came through."""
    starved = failure.starved
    if starved is None or not starved.frozen + starved.trained:
        return None
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "read_before" if starved.trained else "frozen",
        more=(),
        module=starved.module,
        n=starved.frozen + starved.trained,
    )


def no_parameters(failure: Failure) -> Explanation:
    """Tell that a module has nothing to train, or that none is known."""
    starved = failure.starved
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "none" if starved is not None and starved.module else "unknown",
        more=(),
        module=starved.module if starved else "",
        kind=starved.kind if starved else "",
    )
