"""Networks that are to follow another one, and that nothing moves: the function of the program's
that would is never called. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.records import Call, Module, Source
from gradviz.graph.training import Did
from gradviz.names.bindings import default_of, parameters_of
from gradviz.names.idle import is_handed_on, names_mentioned
from gradviz.names.position import callee_of, cells, is_cell
from gradviz.names.statements import Statements, source_of
from gradviz.why.account.called_functions import METHODS
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_WRITING = {"copy_", "lerp_", "mul_", "add_", "load_state_dict"}
_LISTING = {"parameters", "named_parameters", "state_dict", "buffers", "modules"}


class Part(NamedTuple):
    """A network, or a part of one.

    Attributes:
        name: what it is called.
        shapes: of its parameters, by their names in it.
        objects: its parameters.
    """

    name: str
    shapes: tuple[object, ...]
    objects: frozenset[int]


class Uncalled(NamedTuple):
    """A function of the program's that no code calls.

    Attributes:
        place: where it begins.
        node: its definition.
        kind: the class that it is a method of; "" of a plain function.
    """

    place: Source
    node: ast.FunctionDef
    kind: str


def never_followed(case: Case) -> Iterator[Remark]:
    """Tell of a network that was used without gradients and that nothing moved, while steps moved
    one that is made like it, and a function which writes the one from the other is never called."""
    steps = [pile.step.call for piles in case.training.sums_used.values() for pile in piles]
    following = [f for f in _uncalled(case.statements) if _follows(f.node)] if steps else []
    if not following:
        return
    parts = [part for module in case.graph.modules for part in _parts(module)]
    for function in following:
        pair = next(_pairs(case, parts, min(s.id for s in steps), function.node), None)
        if pair is not None:
            yield _told(case, function, *pair)


def _told(case: Case, function: Uncalled, still: Part, moved: Part) -> Remark:
    """Tell of one such function."""
    step = _last_step(case, moved)
    own = [p for p in parameters_of(function.node) if p not in ("self", "cls")]
    names = [p for p in own if default_of(function.node, p) is None]
    fields = {
        "function": f"{function.kind}.{function.node.name}".lstrip("."),
        "place": case.words.line_of(function.place),
        "still": still.name,
        "moved": moved.name,
        "step": case.words.at(step),
        "call": f"{_owner(case, function.kind)}{function.node.name}({', '.join(names)})",
    }
    return Remark(
        Weight.IN_VAIN, "never_followed", fields, (step,), still.objects, (function.place,)
    )


def _owner(case: Case, kind: str) -> str:
    """Return what stands before a method in its call; "" before a plain function."""
    if not kind:
        return ""
    for root in case.graph.modules:
        paths = [("", root.kind), *root.children]
        path = next((path for path, of in paths if of == kind), None)
        if path is not None:
            return f"{root.name}.{path}." if path else f"{root.name}."
    given = [*case.statements.nodes(ast.Assign)]
    names = (
        target.id
        for _, node in given
        if isinstance(node.value, ast.Call) and callee_of(node.value.func) == kind
        for target in node.targets
        if isinstance(target, ast.Name)
    )
    return next((f"{name}." for name in names), "self.")


def _last_step(case: Case, moved: Part) -> Call:
    """Return the last step of a part."""
    every = [case.training.sums_used.get(i, ()) for i in moved.objects]
    return max((pile.step.call for piles in every for pile in piles), key=lambda call: call.id)


# --- networks -------------------------------------------------------------------------------------


def _parts(module: Module) -> Iterator[Part]:
    """Yield a module and its parts that have parameters, the outermost first."""
    for path in ("", *(path for path, _ in module.children)):
        before = f"{path}." if path else ""
        own = [p for p in module.parameters if p.name.startswith(before)]
        objects = frozenset(p.object_id for p in own if p.object_id is not None)
        if own and len(objects) == len(own):
            shapes = tuple((p.name.removeprefix(before), p.shape) for p in own)
            yield Part(f"{module.name}.{path}".rstrip("."), shapes, objects)


def _pairs(
    case: Case, parts: list[Part], begun: int, function: ast.FunctionDef
) -> Iterator[tuple[Part, Part]]:
    """Yield each part that is used and nothing moves after a first step, with one that is made
    alike and that steps move; of a method that names its own parts, those alone."""
    named = {n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    is_method = parameters_of(function)[:1] in METHODS
    for still in parts:
        if is_method and len(parameters_of(function)) < 3 and not named & {*still.name.split(".")}:
            continue
        if not all(_is_left_alone(case, i, begun) for i in still.objects):
            continue
        for other in parts:
            alike = other.shapes == still.shapes and other.objects.isdisjoint(still.objects)
            if alike and all(i in case.training.sums_used for i in other.objects):
                yield still, other


def _is_left_alone(case: Case, object_id: int, begun: int) -> bool:
    """Say whether a parameter was computed with, and got no gradient and no other values since a
    call."""
    facts = case.facts
    moments = case.training.moments.get(object_id, ())
    if any(m.did in (Did.ADDED, Did.STEPPED) for m in moments):
        return False
    readers = (c for c in facts.readers.get(object_id, ()) if not c.bookkeeping and c.id < begun)
    writes = (e for e in facts.writes_by_object.get(object_id, ()) if e.call_id > begun)
    return any(True for _ in readers) and not any(facts.writes_memory(e) for e in writes)


# --- functions ------------------------------------------------------------------------------------


def _uncalled(statements: Statements) -> Iterator[Uncalled]:
    """Yield the functions of the program's whose name stands nowhere else in its text."""
    in_notebook = any(is_cell(file.filename) for file in statements.files)
    files = {id(f): f for f in (*statements.files, *(cells() if in_notebook else ()))}
    used = names_mentioned(files.values())
    for file in statements.files:
        for node in ast.walk(file.tree) if file.tree is not None else ():
            if isinstance(node, ast.FunctionDef) and not _is_called(node, used):
                parent: Any = node.parent  # type: ignore[attr-defined]
                kind = parent.name if isinstance(parent, ast.ClassDef) else ""
                yield Uncalled(source_of(file, node), node, kind)


def _is_called(function: ast.FunctionDef, used: Set[str]) -> bool:
    """Say whether a function may be called: its name stands elsewhere, or python or a decorator
    calls it."""
    return function.name in used or function.name.startswith("__") or is_handed_on(function)


def _follows(function: ast.FunctionDef) -> bool:
    """Say whether a function writes the parameters of one network from those of another, neither of
    which it makes itself."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
    listed = {
        ast.unparse(n.func.value)
        for n in calls
        if isinstance(n.func, ast.Attribute) and n.func.attr in _LISTING
    }
    loaded = {
        ast.unparse(n.func.value)
        for n in calls
        if isinstance(n.func, ast.Attribute) and n.func.attr == "load_state_dict"
    }
    writes = any(callee_of(n.func) in _WRITING for n in calls) or any(
        isinstance(n, ast.Attribute) and n.attr == "data" and isinstance(n.ctx, ast.Store)
        for n in ast.walk(function)
    )
    return writes and len((listed | loaded) - _made_in(function)) > 1


def _made_in(function: ast.FunctionDef) -> set[str]:
    """Return the variables that a function gives what it makes itself: no network of the program's
    beside it."""
    given = (n for n in ast.walk(function) if isinstance(n, ast.Assign))
    made = (n for n in given if any(isinstance(part, ast.Call) for part in ast.walk(n.value)))
    targets = (part for n in made for target in n.targets for part in ast.walk(target))
    return {part.id for part in targets if isinstance(part, ast.Name)}
