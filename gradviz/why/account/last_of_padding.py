"""The last step of padded sequences, which is padding: what a recurrent layer gives there it has
computed of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import torch

from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.module_use import dim_of_last, indexed
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_THROUGH = frozenset({"dropout", "contiguous", "float", "to", "transpose", "permute"})


def last_of_padding(
    case: Case, values_of: Callable[[int], torch.Tensor | None]
) -> Iterator[Remark]:
    """Tell of an index that takes the last step of what a recurrent layer gave, where the tokens
    that went in end with padding in some rows.

    Args:
        case: what is asked about.
        values_of: gives the living values of a state.
    """
    for call in {line_of(c): c for c in indexed(case)}.values():
        looked_up = _looked_up(case, case.facts.maker[call.inputs[0]])
        dim = dim_of_last(call, case)
        index = None if looked_up is None else _padding_index(case, looked_up)
        if looked_up is None or index is None or dim is None:
            continue
        tokens = values_of(looked_up.inputs[0])
        if tokens is None or tokens.dim() != 2 or tokens.is_floating_point():
            continue
        last = tokens.select(dim, -1) == index
        n = int(last.sum())
        if not 0 < n < last.numel():
            continue
        fields = {
            "code": case.words.at(call),
            "n": n,
            "of": last.numel(),
            "tokens": case.words.name(looked_up.inputs[0]),
            "index": str(index),
        }
        yield Remark(Weight.WEIGHTY, "last_of_padding", fields, (call,))


def _looked_up(case: Case, recurrent: Call) -> Call | None:
    """Return the call that looked up what a recurrent layer was given."""
    given = next(iter(recurrent.inputs), None)
    maker = None if given is None else case.facts.maker.get(computed(case.facts, given, _THROUGH))
    return maker if maker is not None and maker.function == "embedding" else None


def _padding_index(case: Case, looked_up: Call) -> int | None:
    """Return the index that an embedding keeps for padding; None where it keeps none."""
    weights = {case.graph.tensor[i].object_id for i in looked_up.inputs[1:2]}
    for _, part in case.live_state.parts():
        if (
            isinstance(part, torch.nn.Embedding)
            and case.live_state.object_of(part.weight) in weights
        ):
            return part.padding_idx
    return None
