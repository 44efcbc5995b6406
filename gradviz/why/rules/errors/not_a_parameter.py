"""What an optimizer was given in place of parameters, or that it was given none. Plain data in and
out, reads the living tensors that were handed over."""

from __future__ import annotations

import ast
from typing import Any

import torch

from gradviz.graph.facts import code_of, site_of
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Call, Source, Tensor
from gradviz.names.frames import frames, place_at
from gradviz.names.position import callee_of, statement_of
from gradviz.watch.identity import named_parameters
from gradviz.why.code.in_place import statement_binding
from gradviz.why.code.rewritten import switched_on
from gradviz.why.evidence import messages
from gradviz.why.evidence.handed_on import KEEPING
from gradviz.why.evidence.older import leaves_behind
from gradviz.why.evidence.switches import switches_off
from gradviz.why.question.failing import Starved
from gradviz.why.question.handing import Assigned
from gradviz.why.rules.errors.failure import LINE, Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


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


# --- results among a module's parameters, and results of calls ------------------------------------


def results_in_module(failure: Failure) -> Explanation | None:
    """Name the results that a module lists among its parameters, where the failing line hands over
    ``module.parameters()``."""
    line = failure.failed
    for call in [] if line is None else line.nodes(ast.Call):
        listed = _listed_parameters(failure, call)
        results = [name for name, parameter in listed.items() if not parameter.is_leaf]
        if results:
            return _of_module(failure, call, listed, results)
    return None


def _listed_parameters(failure: Failure, call: ast.Call) -> dict[str, Any]:
    """Return what a call of ``module.parameters()`` lists, by its name; nothing of another call."""
    line, called = failure.failed, call.func
    if line is None or not isinstance(called, ast.Attribute) or called.attr != "parameters":
        return {}
    module, word = line.value(called.value), ast.unparse(called.value)
    if not issubclass(type(module), torch.nn.Module):
        return {}
    return {f"{word}.{name}": parameter for name, parameter in named_parameters(module)}


def _of_module(
    failure: Failure, call: ast.Call, listed: dict[str, Any], results: list[str]
) -> Explanation:
    """Tell of results among the parameters that a call lists: whether the leaves that they are
    computed from are listed, too."""
    makers = _calls_making(failure, [listed[name] for name in results])
    nodes = [leaf for name in results for leaf in leaves_behind(listed[name])]
    behind = [leaf for leaf in nodes if leaf is not None]
    names = {id(parameter): name for name, parameter in listed.items()}
    leaves = [names.get(id(leaf), "") for leaf in {id(leaf): leaf for leaf in behind}.values()]
    code = ast.unparse(call)
    return failure.answer(
        Cause.NON_LEAF_IN_OPTIMIZER,
        "in_module" if leaves and all(leaves) else "in_module_beside",
        calls=[*makers, *failure.at_the_line],
        more=(),
        names=[Code(name) for name in results],
        makers=[failure.written(maker) for maker in makers] or [say("raised.something")],
        leaves=[Code(name) for name in leaves],
        code=Code(code),
        anew=Code(f"[p for p in {code} if p.is_leaf]"),
    )


def _calls_making(failure: Failure, results: list[Any]) -> list[Call]:
    """Return the calls that made some living results, one for each line: the last that gave a
    tensor of the shape and of the node of each."""
    found = dict[object, Call]()
    for result in results:
        shape, node = tuple(result.shape), type(result.grad_fn).__name__
        for call in reversed(failure.graph.calls):
            made = [failure.graph.tensor[i] for i in call.outputs]
            if any(_is_of_node(failure, t, node) and t.shape == shape for t in made):
                found.setdefault(site_of(call), call)
                break
    return [*found.values()]


def _is_of_node(failure: Failure, tensor: Tensor, name: str) -> bool:
    """Say whether a tensor is a result of a node of some name."""
    edge = tensor.gradient_edge
    node = None if edge is None else failure.graph.node.get(edge.node_id)
    return node is not None and node.name == name


def result_of_call(failure: Failure) -> Explanation | None:
    """Tell of what a call in the failing line returned, which an optimizer was to hold: of the leaf
    behind it, where the program uses that elsewhere."""
    line, ran = failure.failed, _calls_under(failure)
    calls = [] if line is None else [*line.nodes(ast.Call)]
    handed = [word for call in calls[:1] for word in _calls_handed(call)]
    result = _last_result(failure, ran)
    if len(handed) != 1 or result is None:
        return None
    kept = _leaves_used_elsewhere(failure, result, ran)
    reading = [c for c in ran if any(failure.graph.tensor[i] in kept for i in c.inputs)]
    code, maker = ast.unparse(handed[0]), place_at([*reading[:1], ran[-1]][0], 0)
    return failure.answer(
        Cause.NON_LEAF_IN_OPTIMIZER,
        "returned" if reading else "returned_fresh",
        calls=[*failure.at_the_line, maker],
        also_at=[failure.facts.first_maker.get(t.object_id) for t in kept],
        tensors=[result, *kept],
        more=(),
        code=Code(code),
        leaves=[*map(failure.made_at, kept)],
        maker=failure.words.at(maker, failure.code(maker, LINE)),
        anew=Code(f"{code}.detach().requires_grad_()"),
    )


def _last_result(failure: Failure, calls: list[Call]) -> Tensor | None:
    """Return the last tracked result of some calls."""
    made = [failure.graph.tensor[i] for call in calls for i in call.outputs]
    return next((t for t in reversed(made) if t.requires_grad and not t.is_leaf), None)


def _leaves_used_elsewhere(failure: Failure, result: Tensor, calls: list[Call]) -> list[Tensor]:
    """Return the leaves behind a result that other calls read, too."""
    here, readers = {call.id for call in calls}, failure.facts.readers
    leaves = failure.facts.leaves_reached(result.id)
    return [t for t in leaves if any(c.id not in here for c in readers.get(t.object_id, ()))]


def _calls_handed(call: ast.Call) -> list[ast.Call]:
    """Return the calls whose results another call is given, alone or in lists and dicts."""
    todo: list[Any] = list(call.args[:1])
    for node in todo:  # which grows
        if isinstance(node, (ast.List, ast.Tuple, ast.Dict)):
            todo += ast.iter_child_nodes(node)
    return [node for node in todo if isinstance(node, ast.Call)]


def _calls_under(failure: Failure) -> list[Call]:
    """Return the recorded calls that ran under the failing statement the last time."""
    place = None if failure.failed is None else failure.failed.place
    if place is None:
        return []
    return [c for c in failure.graph.calls if any(f[:2] == place[:2] for f in frames(c))]


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


def layers_of_each_call(failure: Failure) -> Explanation | None:
    """Tell of the layers that a module's methods make anew in each call."""
    starved = failure.starved
    if starved is None or not starved.spots or starved.spots[0].form != "each_call":
        return None
    spots = [spot for spot in starved.spots if spot.form == "each_call"]
    names = [f"self.layer{number}" for number in range(1, len(spots) + 1)]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "each_call",
        calls=[call_at(source) for spot in spots for source in spot.source],
        more=(),
        module=starved.module,
        kind=starved.kind,
        codes=[Code(spot.name) for spot in spots],
        made=[Code(f"{name} = {spot.name}") for name, spot in zip(names, spots, strict=True)],
        names=[Code(name) for name in names],
        n=len(spots),
    )


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
    if refused is not None and is_result and (told := _result_set(failure, refused)) is not None:
        return told
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "result_assigned" if is_result else "tensor_assigned",
        calls=[call_at(source) for source in (failure.starved.place if failure.starved else ())],
        more=(),
        name=name,
    )


def _result_set(failure: Failure, refused: Assigned) -> Explanation | None:
    """Tell of a result that setattr() was to put in the place of a parameter of one of the modules
    of a model, as the steps of a learning loop do whose own layers hold tensors."""
    line, starved = failure.failed, failure.starved
    calls = (
        [] if line is None else [c for c in line.nodes(ast.Call) if callee_of(c.func) == "setattr"]
    )
    if starved is None or not calls or len(calls[0].args) != 3 or not refused.owner:
        return None
    module, name = (ast.unparse(argument) for argument in calls[0].args[:2])
    place = call_at(starved.place[0])
    freed = say(
        "raised.name_freed_else" if refused.taking else "raised.name_freed",
        anew=Code(f"if {name} in {module}._parameters: delattr({module}, {name})"),
        code=failure.words.at(place, Code(ast.unparse(calls[0]))),
    )
    like = [say("raised.layer_of_tensors", owner=refused.owner, kinds=[*refused.taking])]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "result_set",
        calls=[place, *map(call_at, refused.made)],
        more=(),
        name=f"{refused.owner}.{refused.name}",
        kind=refused.kind,
        mends=[*(like if refused.taking else ()), freed],
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
    off = [] if starved.trained else switches_off(failure.facts, starved.objects)
    if off:
        return _frozen_at(failure, starved, off)
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "read_before" if starved.trained else "frozen",
        more=(),
        module=starved.module,
        n=starved.frozen + starved.trained,
    )


def _frozen_at(failure: Failure, starved: Starved, off: list[Call]) -> Explanation:
    """Tell which lines froze all parameters of a module, and how they leave some out."""
    switched = [(call, switched_on(code_of(call))) for call in off]
    edits = [
        say("raised.in_the_place_of", anew=Code(anew), code=failure.written(call))
        for call, anew in switched
        if anew
    ]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "frozen_at",
        calls=[*off, *failure.at_the_line],
        more=(),
        module=starved.module,
        n=starved.frozen,
        lines=[failure.written(call) for call in off],
        edits=edits or [say("raised.left_out_there")],
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
