"""Layers that a forward makes anew at each call: no optimizer can hold them, and what they learned
is gone with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.findings import Cause
from gradviz.graph.records import Module, ModuleCall
from gradviz.watch.identity import parameters
from gradviz.watch.recorded import Recorded
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
