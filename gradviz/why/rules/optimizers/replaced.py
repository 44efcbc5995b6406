"""An optimizer that holds the parameters from before, or of a twin of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.graph.flow import is_deepcopy
from gradviz.graph.records import Source
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, dotted, statement_of
from gradviz.names.statements import makes_parameter
from gradviz.watch.identity import parameters, read
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.optimizers.optimizers import learns
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_COPYING = ("deepcopy", "load")  # functions that give a model of its own


def replaced(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters that took the place of some that an optimizer still holds."""
    modules = [*case.modules, *case.known_modules]
    optimizers = [*case.optimizers, *case.known_optimizers]
    live = {id(p): p for m in modules for p in parameters(m)}
    held = held_by(optimizers)
    asked = {*case.targets(), *case.never_written}
    asked = {*live} if case.optimizers and not case.modules else asked
    new = [p for i, p in live.items() if i in asked and i not in held and learns(p)]
    for optimizer in optimizers if new else ():
        own = held_by([optimizer])
        # those of a part that nobody here has a name for may still be in use
        old = [p for i, p in own.items() if i not in live]
        if _took_the_place(new, old, bool(own.keys() & live.keys())):
            return replaced_in(case, optimizer, new, len(old))
    return None


def of_a_twin(case: Case, found: Explanation) -> Explanation | None:
    """Tell of an optimizer that holds parameters like those that are asked about, in their
    place: of a model from before, or of a copy."""
    new = [p for p in case.targets().values() if read(partial(_is_learning_leaf, p))]
    if not new or any(id(p) in case.held_by_any for p in new):
        return None
    for optimizer in case.known_optimizers:
        own = list(held_by([optimizer]).values())
        alike = sorted(str(p.shape) for p in own) == sorted(str(p.shape) for p in new)
        if alike and all(p.grad is None and not used(case, p) for p in own):
            held = case.held_anywhere.keys() & set(map(id, new))
            return None if held else twins(case, optimizer, new)
    return None


def used(case: Case, p: Any) -> bool:
    """Say whether a recorded call other than a step or a copy read a parameter."""
    state = case.recording.find(p) if case.recording else None
    readers = case.facts.readers.get(state.object_id, ()) if state else ()
    return not all(map(is_deepcopy, readers))


def twins(case: Case, optimizer: Any, new: list[Any]) -> Explanation:
    """Tell of an optimizer that holds the parameters of another model like this one."""
    bound = case.statements.binds(case.called.get(id(optimizer), ""))
    return case.answer(
        Cause.NOT_MOVED,
        "holds_twins",
        tensor_ids=[i for p in new if (i := case.ids.get(id(p))) is not None],
        statements=[bound[0][0]] if len(bound) == 1 else [],
        names=pattern([case.title(p, say("entry.a_parameter")) for p in new]),
        n=len(new),
        optimizer=case.optimizer_name(optimizer),
    )


def replaced_in(case: Case, optimizer: Any, new: list[Any], count: int) -> Explanation:
    """Tell of an optimizer that holds the parameters from before."""
    if (anew := _made_again(case, optimizer, new)) is not None:
        return anew
    wrapped = where_wrapped(case, new)
    begun = wrapped or where_begun(case, new) or _where_set_anew(case, case.title(new[0], ""))
    return case.answer(
        Cause.NOT_MOVED,
        "wrapped_again" if wrapped else "replaced",
        tensor_ids=[i for p in new if (i := case.ids.get(id(p))) is not None],
        statements=begun,
        names=pattern([case.title(p, say("entry.a_parameter")) for p in new]),
        n=len(new),
        optimizer=case.optimizer_name(optimizer),
        count=count,
    )


def _made_again(case: Case, optimizer: Any, new: list[Any]) -> Explanation | None:
    """Tell of a model that is made a second time, under its name, below the optimizer: that still
    holds the parameters of the first one. None where that is not so of some parameters."""
    own = set(map(id, new))
    models = [m for m in case.known_modules if own <= {id(p) for p in parameters(m)}]
    title = case.called.get(id(models[0]), "") if models else ""
    bound = [pair for pair in case.statements.binds(title) if isinstance(pair[1].value, ast.Call)]
    made = case.where_made(optimizer)
    if len(bound) < 2 or len(made) != 1 or not _is_between(made[0], bound[0][0], bound[-1][0]):
        return None
    again = bound[-1][0]
    return case.answer(
        Cause.NOT_MOVED,
        "made_again",
        tensor_ids=[i for p in new if (i := case.ids.get(id(p))) is not None],
        statements=[again, *made],
        names=pattern([case.title(p, say("entry.a_parameter")) for p in new]),
        n=len(new),
        optimizer=case.optimizer_name(optimizer),
        model=title,
        again=case.words.source(again),
    )


def _is_between(place: Source, first: Source, last: Source) -> bool:
    """Say whether a statement stands below one and above another, as far as they stand in one
    file; cells are told apart by their files."""
    is_above = place.file == last.file and place.line < last.line
    is_below = place.file == first.file and place.line > first.line
    return is_above and (is_below or place.file != first.file)


def where_wrapped(case: Case, parameters: list[Any]) -> list[Source]:
    """Return the statements of a forward that make a Parameter of the name of each of some; none
    where that is not so of all."""
    found = list[Source]()
    for p in parameters:
        name = case.title(p, "").rpartition(".")[2]
        own = [place for place, node in case.statements.sets(name) if _wraps_in_forward(node)]
        if not own:
            return []
        found += own
    return list(dict.fromkeys(found))


def _wraps_in_forward(node: ast.Assign) -> bool:
    """Say whether a statement makes a Parameter in each forward: there, or in a method of the same
    class that it always calls."""
    if not makes_parameter(node.value):
        return False
    scope = scope_of(node)
    if getattr(scope, "name", "") == "forward":
        return True
    return _always_runs(node) and any(
        dotted(call.func) == f"self.{scope.name}" and _always_runs(statement_of(call))
        for call in _calls_in_forward_beside(scope)
    )


def _always_runs(statement: Any) -> bool:
    """Say whether a statement runs in each call of its function: at most under a ``with``."""
    block = statement.parent
    while isinstance(block, ast.With):
        block = getattr(block, "parent", None)
    return isinstance(block, ast.FunctionDef)


def _calls_in_forward_beside(scope: Any) -> Iterator[ast.Call]:
    """Yield the calls in the forward of the class whose method a scope is."""
    owner = getattr(scope, "parent", None)
    methods = owner.body if isinstance(owner, ast.ClassDef) else ()
    for method in methods:
        if isinstance(method, ast.FunctionDef) and method.name == "forward":
            yield from (node for node in ast.walk(method) if isinstance(node, ast.Call))


def where_begun(case: Case, parameters: list[Any]) -> list[Source]:
    """Return the lines in which parameters got their first numbers, as far as recorded, or in which
    what they belong to was copied or read from a file."""
    states = [case.recording.find(p) for p in parameters] if case.recording else []
    writes = case.facts.writes_by_object
    first = [writes.get(state.object_id, ())[:1] for state in states if state is not None]
    calls = [case.graph.call[e.call_id] for every in first for e in every]
    sources = [c.source for c in calls if c.source and c.bookkeeping]
    return list(dict.fromkeys(sources)) or _where_copied(case, case.title(parameters[0], ""))


def _where_set_anew(case: Case, path: str) -> list[Source]:
    """Return the statements outside of constructors that give the last attribute of a path which
    any of them sets a value: ``self.scale = nn.Parameter(…)`` in a method that was called later."""
    for attribute in reversed(path.split(".")):
        set_at = case.statements.sets(attribute)
        later = [place for place, node in set_at if not _is_in_constructor(node)]
        if later:
            return later
    return []


def _is_in_constructor(node: ast.stmt) -> bool:
    """Say whether a statement stands in an ``__init__``."""
    return getattr(scope_of(node), "name", "") == "__init__"


def _where_copied(case: Case, path: str) -> list[Source]:
    """Return the statements that give a part of a path what was copied or read from a file."""
    parts, statements = path.split("."), case.statements
    every = [pair for part in parts for pair in (*statements.sets(part), *statements.binds(part))]
    return [
        place for place, node in every if callee_of(getattr(node.value, "func", node)) in _COPYING
    ]


def _took_the_place(new: list[Any], old: list[Any], others_stay: bool) -> bool:
    """Say whether parameters took the place of those of an optimizer that get no gradient now."""
    # of a model made anew
    alike = sorted(str(p.shape) for p in old) == sorted(str(p.shape) for p in new)
    return (others_stay or alike) and bool(old) and all(p.grad is None for p in old)


def _is_learning_leaf(p: Any) -> bool:
    """Say whether it is a leaf that has a gradient to learn from."""
    return bool(p.is_leaf and learns(p))
