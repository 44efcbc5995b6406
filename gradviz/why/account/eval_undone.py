"""Normalisations that the code put into evaluation mode, and that ran in training mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Source
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_NORM = "BatchNorm"


def eval_undone(case: Case) -> Iterator[Remark]:
    """Tell of batch normalisations that the code switches to evaluation mode by their kind, and
    all of whose recorded calls ran in training mode: a later ``train()`` put them back."""
    ran = [c for c in case.graph.module_calls if c.kind.startswith(_NORM)]
    trains = [place for place, node in case.statements.calls("train") if not node.args]
    chosen = [place for place, node in case.statements.calls("eval") if _is_chosen(node)]
    if not ran or not trains or not chosen or not all(c.training for c in ran):
        return
    roots = {root.id: root.name for root in case.graph.modules}
    layers = list(dict.fromkeys(f"{roots[c.module_id]}.{c.path}" for c in ran))
    words = case.words
    fields = {
        "layers": pattern(layers),
        "n": len(layers),
        "train": words.source(trains[-1]),
        "code": chosen[0].code,
        "place": words.line_of(chosen[0]),
    }
    places: tuple[Source, ...] = (trains[-1], chosen[0])
    yield Remark(Weight.WEIGHTY, "eval_undone", fields, statements=places)


def _is_chosen(node: Any) -> bool:
    """Say whether a call stands under a condition about batch normalisations."""
    while not isinstance(node, (ast.FunctionDef, ast.Module)):
        if isinstance(node, ast.If) and _NORM in ast.unparse(node.test):
            return True
        node = node.parent
    return False
