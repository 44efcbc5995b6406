"""Layers and parameters that a forward makes anew at each call: no optimizer can hold them, and
what they learned is gone with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.facts import grouped
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Module, ModuleCall, Source, Tensor
from gradviz.graph.training import line_of
from gradviz.names.bindings import scope_of
from gradviz.names.frames import frames
from gradviz.names.statements import makes_parameter, source_of
from gradviz.watch.identity import parameters
from gradviz.watch.recorded import Recorded
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def made_in_forward(case: Case, found: Explanation) -> Explanation | None:
    """Tell of modules that a loss sends gradients to, that were made while the forward of a module
    ran, and that are gone although this one is still there."""
    told = list(_made_inside(case))
    if not told:
        return None
    calls = [call for call, _ in told]
    ids = {p.object_id for _, module in told for p in module.parameters}
    leaves = [t.id for t in case.graph.tensors if t.object_id in ids and t.is_leaf]
    around = {_around(case, call).name: None for call in calls}
    return case.answer(
        Cause.NOT_MOVED,
        "made_in_forward",
        tensor_ids=leaves,
        statements=list(dict.fromkeys(call.source for call in calls if call.source)),
        names=list(dict.fromkeys(call.code or call.kind for call in calls)),
        n=len({call.source for call in calls}),
        owner=list(around),
    )


def _made_inside(case: Case) -> Iterator[tuple[ModuleCall, Module]]:
    """Yield each such module with its call."""
    roots = {module.id: module for module in case.graph.modules}
    inner = [c for c in case.graph.module_calls if c.parent_id is not None and not c.path]
    if not inner or case.recording is None:
        return
    names, held = _living(case.recording)
    fresh, filled = _written(case), case.facts.leaves_sent_to
    for call in inner:
        own = {p.object_id for p in roots[call.module_id].parameters} - {None}
        is_gone = own.isdisjoint(held) and _around(case, call).name in names
        if is_gone and own <= fresh and not own.isdisjoint(filled):
            yield call, roots[call.module_id]


def _living(recording: Recorded) -> tuple[set[str], set[int]]:
    """Return the names of the outermost modules that are still there, and the objects of their
    parameters."""
    living = recording.modules()
    states = (recording.find(p) for _, module in living for p in parameters(module))
    return {name for name, _ in living}, {s.object_id for s in states if s is not None}


def _around(case: Case, call: ModuleCall) -> Module:
    """Return the root module in whose forward a module was called."""
    calls = case.facts.module_call
    outer = calls[call.parent_id] if call.parent_id is not None else call
    return next(m for m in case.graph.modules if m.id == outer.module_id)


def _written(case: Case) -> set[int]:
    """Return the objects that torch's own constructors gave their first numbers while it was
    recorded."""
    tensor = case.graph.tensor
    made = (c for c in case.graph.calls if c.bookkeeping and c.function.endswith("_"))
    return {tensor[i].object_id for call in made for i in call.outputs}


# --- parameters -----------------------------------------------------------------------------------


class Making(NamedTuple):
    """A statement in a function that gives a name to a new parameter.

    Attributes:
        place: where it stands.
        name: what it gives it to: ``W``, ``self.w``.
        function: the name of the function.
        is_method: whether a class has it.
        lines: of the function.
    """

    place: Source
    name: str
    function: str
    is_method: bool
    lines: range

    def is_around(self, call: Call) -> bool:
        """Say whether a call ran in the function, or below it."""
        return any(f.file == self.place.file and f.line in self.lines for f in frames(call))


def parameters_in_forward(case: Case, found: Explanation) -> Explanation | None:
    """Tell of parameters of one name that the calls of a forward made one after the other, that a
    loss sends gradients to, and that no optimizer holds and no step moved."""
    makings = {m.name.rpartition(".")[2]: m for m in _makings(case)}
    every = _left_in_forward(case, makings) if makings else {}
    told = {name: leaves for name, leaves in every.items() if leaves[1:]}
    if not told:
        return None
    makers = [makings[name] for name in told]
    in_methods = all(making.is_method for making in makers)
    return case.answer(
        Cause.NOT_MOVED,
        "made_anew" if in_methods else "made_anew_in_function",
        tensor_ids=[leaves[-1].id for leaves in told.values()],
        statements=[making.place for making in makers],
        names=pattern([making.name for making in makers]),
        n=len(makers),
        methods=list(dict.fromkeys(making.function for making in makers)),
    )


def _makings(case: Case) -> Iterator[Making]:
    """Yield the statements that make parameters in functions other than constructors."""
    for file, node in case.statements.nodes(ast.Assign):
        scope: Any = scope_of(node)
        function = getattr(scope, "name", "__init__")
        if makes_parameter(node.value) and function != "__init__":
            is_method = isinstance(getattr(scope, "parent", None), ast.ClassDef)
            for name in map(ast.unparse, node.targets):
                lines = range(scope.lineno, (scope.end_lineno or 0) + 1)
                yield Making(source_of(file, node), name, function, is_method, lines)


def _left_in_forward(case: Case, makings: Mapping[str, Making]) -> dict[str, list[Tensor]]:
    """Return the leaves that backwards sent gradients to, that were first read inside of a module's
    call, in the function that makes what has their name, and that no optimizer holds and no step
    moved, by that name; of each name those of one line, where all but one are gone."""
    facts, found = case.facts, list[tuple[tuple[str, object], Tensor]]()
    moved = {leaf for leaf, used in case.training.sums_used.items() if used}
    passed_by = moved.union(case.graph.held, *case.held_objects, facts.differentiated_by)
    for leaf in sorted(facts.leaves_sent_to - passed_by):
        state = facts.latest_state[leaf]
        reader = next(iter(facts.readers.get(leaf, ())), None)
        name = (state.code_name or "").rpartition(".")[2]
        if reader is None or name not in makings or not makings[name].is_around(reader):
            continue
        if facts.outermost_module_call(reader) is not None:
            found.append(((name, line_of(reader)), state))
    return {
        name: leaves
        for (name, _), leaves in grouped(found).items()
        if sum(t.object_id in case.live_state.living for t in leaves) <= 1
    }
