"""Parts that the code put into evaluation mode and that steps move all the same: ``eval()`` freezes
no parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Source
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import source_of
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.training.eval_mode import PartInEval, parts_in_eval

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_NORMS = ("BatchNorm", "InstanceNorm", "LayerNorm", "GroupNorm", "SyncBatchNorm")


def eval_of_a_part(case: Case) -> Iterator[Remark]:
    """Tell of each part that ran in evaluation mode alone, by a statement about it, and whose
    weights a step moved."""
    for part in parts_in_eval(case.live_state):
        weights = _weights(part.module)
        last = {
            i: pile[-1].step.call
            for i, pile in case.training.sums_used.items()
            if i in {case.live_state.object_of(p) for p in weights}
        }
        if not last or not _ran_in_eval(case, part):
            continue
        own = set(map(id, weights))
        holding = [o for o in case.known_optimizers if own & held_by([o]).keys()]
        made = [place for optimizer in holding[:1] for place in _handed_over(case, part, optimizer)]
        step = max(last.values(), key=lambda call: call.id)
        fields = {
            "code": part.place.code,
            "place": case.words.line_of(part.place),
            "part": part.name,
            "step": case.words.at(step),
            "names": pattern([f"{part.name}.{n}" for n in _names(part.module, weights)]),
            "n": len(weights),
            "optimizer": case.optimizer_name(holding[0]) if holding else "",
            "made": [case.words.line_of(place) for place in made],
        }
        key = "eval_of_a_part_held" if made else "eval_of_a_part"
        places = (part.place, *made)
        yield Remark(Weight.NOTABLE, key, fields, (step,), frozenset(last), places)


def _handed_over(case: Case, part: PartInEval, optimizer: Any) -> list[Source]:
    """Return where an optimizer is handed the parameters of a part, or of what it is in; where that
    is not seen, where the optimizer is made."""
    found = list[Source]()
    for file, node in case.statements.nodes(ast.Call):
        if callee_of(node.func) != type(optimizer).__name__:
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call) and callee_of(inner.func) == "parameters":
                path = (dotted(inner.func.value) or "").removeprefix("self")  # type: ignore[attr-defined]
                if path and f".{path.removeprefix('.')}." in f".{part.name}.":
                    found.append(source_of(file, inner))
    return found if len(found) == 1 else case.where_made(optimizer)


def _weights(module: Any) -> list[Any]:
    """Return the parameters of a module that are no normalisation's: those of one that is put into
    evaluation mode alone are meant to move."""
    norms = [m for m in module.modules() if type(m).__name__.startswith(_NORMS)]
    own = {id(p) for norm in norms for p in parameters(norm)}
    return [p for p in parameters(module) if id(p) not in own]


def _names(module: Any, weights: list[Any]) -> list[str]:
    """Return the paths of some parameters in a module."""
    wanted = set(map(id, weights))
    return [n for n, p in named_parameters(module) if id(p) in wanted]


def _ran_in_eval(case: Case, part: PartInEval) -> bool:
    """Say whether a part ran in evaluation mode alone, as far as it ran as one."""
    roots = {root.id: root.name for root in case.graph.modules}
    ran = [c for c in case.graph.module_calls if c.kind == type(part.module).__name__]
    places = [(c, ".".join(filter(None, (roots[c.module_id], c.path)))) for c in ran]
    modes = [c.training for c, at in places if at.endswith(part.name) or part.name.endswith(at)]
    return bool(modes) and not any(modes)
