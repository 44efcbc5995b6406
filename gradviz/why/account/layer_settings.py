"""Settings of layers that other libraries count the other way round: what a dropout keeps, and what
a normalisation keeps of its old statistics."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.preview import number
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.graph.records import Source
    from gradviz.why.rules.whole.case import Case

_HIGH = 0.9  # a share from which on the other way round is likely
_MOST = 1.0  # of a momentum: the last batch alone, which is a choice


def layer_settings(case: Case) -> Iterator[Remark]:
    """Tell of dropouts that drop nearly all, and of normalisations whose statistics stand still, or
    are nearly those of the last batch; of those that ran in training mode, the first of each."""
    told = {"statistics_stand_still", "statistics_of_the_last"}
    told = told if _sets_momentum_in_turn(case) else set[str]()
    for path, part in case.live_state.parts():
        found = _odd_setting(part)
        if found is None or found[0] in told or not _has_trained(case, path, type(part).__name__):
            continue
        told.add(found[0])
        key, value = found
        fields = {
            "layer": path,
            "kind": type(part).__name__,
            "value": number(value),
            "other": number(round(1 - value, 6)),
        }
        yield Remark(Weight.WEIGHTY, key, fields, statements=_where_made(case, part))


def _odd_setting(part: Any) -> tuple[str, float] | None:
    """Return the key of what is to be told of a layer, and its setting."""
    kind = type(part).__name__
    if kind.startswith("Dropout"):
        share = read(lambda: float(part.p))
        return ("drops_nearly_all", share) if share is not None and _HIGH <= share < 1 else None
    if not kind.startswith("BatchNorm") or not read(lambda: part.track_running_stats):
        return None
    momentum = read(lambda: float(part.momentum))
    if momentum is None or 0 < momentum < _HIGH or momentum >= _MOST:
        return None
    return ("statistics_stand_still" if momentum == 0 else "statistics_of_the_last"), momentum


def _sets_momentum_in_turn(case: Case) -> bool:
    """Say whether several lines set a ``momentum``: what it is in the end, it was not before."""
    stored = (n for _, n in case.statements.nodes(ast.Attribute) if isinstance(n.ctx, ast.Store))
    return len([n for n in stored if n.attr == "momentum"]) > 1


def _has_trained(case: Case, path: str, kind: str) -> bool:
    """Say whether a layer ran in training mode."""
    ran = (c for c in case.graph.module_calls if c.training and c.kind == kind)
    return any(path == c.path or path.endswith(f".{c.path}") or not c.path for c in ran)


def _where_made(case: Case, part: Any) -> tuple[Source, ...]:
    """Return the one call in the code that makes a layer of that class."""
    kind = type(part).__name__
    made = [
        source_of(file, node)
        for file, node in case.statements.nodes(ast.Call)
        if callee_of(node.func) == kind
    ]
    return tuple(made) if len(made) == 1 else ()
