"""Flags that are set of a part of a parameter: of a new tensor that nothing keeps. Knows no
torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.training import SETS_FLAG, line_of
from gradviz.names.frames import whole_code
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def flags_of_copies(case: Case) -> Iterator[Remark]:
    """Tell of statements that switch requires_grad on for some rows of a parameter that is frozen:
    ``weight[rows].requires_grad = True`` does so for a new tensor."""
    facts, told = case.facts, set[object]()
    for call in case.graph.calls:
        flagged = call.inputs[0] if call.function in SETS_FLAG and call.inputs else None
        taking = None if flagged is None else facts.maker.get(flagged)
        if taking is None or taking.function != "__getitem__" or line_of(call) in told:
            continue
        whole = case.graph.tensor[taking.inputs[0]]
        is_frozen = whole.object_id in facts.of_modules and not whole.requires_grad
        code = whole_code(call)
        is_on = code.endswith(("= True", "requires_grad_()", "requires_grad_(True)"))
        if is_frozen and is_on and line_of(taking) == line_of(call):
            told.add(line_of(call))
            fields = {
                "code": case.words.at(call, code),
                "part": case.words.code(taking),
                "whole": case.words.name(whole.id),
            }
            yield Remark(Weight.IN_VAIN, "flag_of_a_copy", fields, (call,))
