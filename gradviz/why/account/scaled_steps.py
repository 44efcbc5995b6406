"""Steps over gradients that a scaler made larger and nothing made small again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.records import Source
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_DIVIDES = ("step", "unscale_")  # methods of a scaler that divide by its scale


def scaled_steps(case: Case, steps: Steps) -> Iterator[Remark]:
    """Tell of the steps behind ``scaler.scale(loss).backward()``, where no call unscales.

    Args:
        case: the question.
        steps: of its recording.
    """
    by_line = _undivided(case)
    for step in steps.steps if by_line else ():
        is_changed = any(used.changed for used in step.used)
        runs = [m.call for used in step.used for m in used.added]
        places = [by_line[at] for run in runs if (at := line_of(run)) in by_line]
        if not places or is_changed or not step.call.bookkeeping:
            continue
        place, scaler = places[0]
        fields = {
            "step": steps.step_name(step),
            "scaled": case.words.source(place),
            "scaler": scaler,
        }
        yield Remark(Weight.WEIGHTY, "step_of_scaled", fields, (step.call,), statements=(place,))


def _undivided(case: Case) -> dict[tuple[str, int] | None, tuple[Source, str]]:
    """Return the backwards on losses that a scaler scales of which no method that divides is
    called, each with the scaler, by line."""
    dividing = {
        ast.unparse(node.func.value)
        for method in _DIVIDES
        for _, node in case.statements.calls(method)
        if isinstance(node.func, ast.Attribute)
    }
    scaled = [(place, _scaler(node)) for place, node in case.statements.calls("backward")]
    return {(p.file, p.line): (p, s) for p, s in scaled if s and s not in dividing}


def _scaler(node: ast.Call) -> str:
    """Return what scales the loss on which a backward is called; "" where nothing does."""
    on = node.func.value if isinstance(node.func, ast.Attribute) else None
    scales = on.func if isinstance(on, ast.Call) else None
    is_scale = isinstance(scales, ast.Attribute) and scales.attr == "scale"
    return ast.unparse(scales.value) if is_scale else ""  # type: ignore[union-attr]
