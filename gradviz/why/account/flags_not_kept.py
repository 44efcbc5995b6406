"""Frozen parameters that a loop makes anew: the new ones ask for gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Call, Source, Tensor
from gradviz.graph.training import SETS_FLAG
from gradviz.names.frames import frames
from gradviz.names.position import callee_of
from gradviz.names.statements import loop_around, source_of
from gradviz.watch.identity import parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.silent.flag_lost import asks_for_gradients

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def flags_not_kept(case: Case) -> Iterator[Remark]:
    """Tell of loops that make Parameters out of frozen ones, which no module has any more, where
    all that the modules have of these sizes require grad."""
    switched_off = _switched_off(case)
    if not switched_off:
        return
    for file, node in case.statements.nodes((ast.Call,)):
        loop = loop_around(node) if asks_for_gradients(node) else None
        if not isinstance(loop, ast.For) or not _is_put_back(node, loop):
            continue
        place = source_of(file, node)
        lost = {
            t.object_id: t.shape
            for t in _read_inside(case, loop, place.file)
            if t.requires_grad is False and t.object_id in switched_off
        }
        flags = [p.requires_grad for p in _living(case) if tuple(p.shape) in lost.values()]
        if len(flags) >= len(lost) > 0 and all(flags):
            yield _remark(case, place, switched_off[next(iter(lost))], len(lost))


def _remark(case: Case, place: Source, off: Call, count: int) -> Remark:
    """Tell of one place that makes them."""
    fields = {"code": case.words.source(place), "n": count, "off": case.words.at(off)}
    return Remark(Weight.WEIGHTY, "flags_not_kept", fields, (off,), statements=(place,))


def _switched_off(case: Case) -> dict[int, Call]:
    """Return the calls that set the flags of parameters that no known module has now, by the
    parameter's object id."""
    setting = ((case.graph.tensor[c.inputs[0]], c) for c in _setting_flags(case))
    return {t.object_id: c for t, c in setting if t.object_id not in case.facts.of_modules}


def _setting_flags(case: Case) -> Iterator[Call]:
    """Yield the calls that set a flag."""
    yield from (c for c in case.graph.calls if c.function in SETS_FLAG and c.inputs)


def _is_put_back(node: ast.Call, loop: ast.For) -> bool:
    """Say whether a Parameter is given to what the loop reads, too: a copy of another model's
    weights is no old parameter made anew."""
    owner = _owner(node.parent)  # type: ignore[attr-defined]
    reads = (n for n in ast.walk(loop) if isinstance(n, ast.Attribute))
    read = (ast.unparse(n.value) for n in reads if isinstance(n.ctx, ast.Load) and not _gives(n))
    return bool(owner) and owner in read


def _owner(holder: Any) -> str:
    """Return the module that a statement or call gives a Parameter to; "" of another one."""
    if isinstance(holder, ast.Call):
        return (
            ast.unparse(holder.args[0]) if callee_of(holder.func) == "setattr" else _of(holder.func)
        )
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    return _of(target.value if isinstance(target, ast.Subscript) else target)


def _of(node: Any) -> str:
    """Return what an attribute is of, as it is written; "" of another node."""
    return ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""


def _gives(node: Any) -> bool:
    """Say whether an attribute is a place that a Parameter is given to."""
    holder = node.parent
    is_slot = isinstance(holder, ast.Subscript) and isinstance(holder.ctx, ast.Store)
    return is_slot or node.attr == "register_parameter"


def _read_inside(case: Case, loop: ast.For, file: str) -> Iterator[Tensor]:
    """Yield what calls read that ran under the statements of a loop."""
    for call in case.graph.calls:
        if call.function not in SETS_FLAG and any(
            f.file == file and loop.lineno < f.line <= (loop.end_lineno or 0) for f in frames(call)
        ):
            yield from (case.graph.tensor[i] for i in call.inputs)


def _living(case: Case) -> Iterator[Any]:
    """Yield the parameters of the known modules."""
    yield from (p for module in case.known_modules for p in parameters(module))
