"""Parts that the code put into evaluation mode and that steps move all the same: ``eval()`` freezes
no parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Call, Source
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import source_of
from gradviz.watch.identity import named_parameters, parameters
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.rules.training.eval_mode import PartInEval, parts_in_eval, ran_in_eval

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_NORMS = ("BatchNorm", "InstanceNorm", "LayerNorm", "GroupNorm", "SyncBatchNorm")


def eval_of_a_part(case: Case) -> Iterator[Remark]:
    """Tell of each part that ran in evaluation mode alone, by a statement about it, and whose
    weights a step moved."""
    for part in parts_in_eval(case.live_state):
        steps = _steps(case, part.module)
        weights = _weights(part.module)
        last = [steps[i] for i in map(case.live_state.object_of, weights) if i in steps]
        step = max(last, key=lambda call: call.id, default=None)
        if step is None or not _ran_in_eval(case, part, step):
            continue
        own = set(map(id, weights))
        holding = [o for o in case.known_optimizers if own & held_by([o]).keys()]
        made = [place for optimizer in holding[:1] for place in _handed_over(case, part, optimizer)]
        named = named_parameters(part.module)
        moved = [f"{part.name}.{n}" for n, p in named if case.live_state.object_of(p) in steps]
        fields = {
            "code": part.place.code,
            "place": case.words.line_of(part.place),
            "part": part.name,
            "step": case.words.at(step),
            "names": pattern(moved),
            "n": len(moved),
            "optimizer": case.optimizer_name(holding[0]) if holding else "",
            "made": [case.words.line_of(place) for place in made],
        }
        key = "eval_of_a_part_held" if made else "eval_of_a_part"
        places = (part.place, *made)
        yield Remark(Weight.NOTABLE, key, fields, (step,), frozenset(steps), places)


def _steps(case: Case, module: Any) -> dict[int, Call]:
    """Return the last step that moved each parameter of a module, by object id."""
    sums, objects = case.training.sums_used, map(case.live_state.object_of, parameters(module))
    return {i: sums[i][-1].step.call for i in objects if i is not None and sums.get(i)}


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


def _ran_in_eval(case: Case, part: PartInEval, step: Call) -> bool:
    """Say whether a part, and all in it, ran in evaluation mode alone, as far as it ran as one, and
    did so before a step."""
    roots = {root.id: root.name for root in case.graph.modules}
    calls = [(c, _joined(roots[c.module_id], c.path)) for c in case.graph.module_calls]
    kind = type(part.module).__name__
    places = {
        at
        for c, at in calls
        if c.kind == kind and (at.endswith(part.name) or part.name.endswith(at))
    }
    ran = [c for c, at in calls if any(f"{at}.".startswith(f"{place}.") for place in places)]
    return ran_in_eval(case.facts, ran, step)


def _joined(root: str, path: str) -> str:
    return ".".join(filter(None, (root, path)))
