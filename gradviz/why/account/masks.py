"""Masks and weights of samples that come when a loss is one number already: they choose nothing.
Knows no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import plain_name
from gradviz.words.words import Words

# what makes one number of those of all samples
_LOSSES = {
    *ELEMENTWISE_LOSSES,
    *(
        "cross_entropy",
        "nll_loss",
        "binary_cross_entropy",
        "binary_cross_entropy_with_logits",
        "kl_div",
    ),
}
_SUMS = {"sum", "mean"}


def masked_too_late(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of losses of one number that are multiplied by a mask of many, and summed up: of each
    line the last.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    behind = facts.in_losses
    last = dict[object, Remark]()
    for call in facts.ordinary_calls:
        if plain_name(call.function) not in PRODUCTS or behind.isdisjoint(call.outputs):
            continue
        found = _loss_and_mask(facts, call)
        if found is None or not _is_summed(facts, call):
            continue
        loss, mask = found
        maker = facts.maker[loss]
        fields = {
            "call": words.at(call),
            "name": words.name(loss),
            "made": words.at(maker),
            "mask": words.name(mask),
            "function": maker.function,
        }
        last[line_of(call) or call.id] = Remark(
            Weight.IN_VAIN, "masked_too_late", fields, (maker, call)
        )
    yield from last.values()


def _loss_and_mask(facts: Facts, call: Call) -> tuple[int, int] | None:
    """Return the loss of one number and the untracked numbers by which a call multiplies it."""
    given = [facts.graph.tensor[i] for i in call.inputs]
    losses = [t for t in given if t.shape == () and t.requires_grad]
    masks = [t for t in given if not t.requires_grad and math.prod(t.shape or ()) > 1]
    if len(given) != 2 or len(losses) != 1 or len(masks) != 1:
        return None
    maker = facts.maker.get(losses[0].id)
    if maker is None or maker.function not in _LOSSES:
        return None
    return losses[0].id, masks[0].id


def _is_summed(facts: Facts, call: Call) -> bool:
    """Say whether nothing but the sum or mean of a result is computed."""
    readers = [c for i in call.outputs for c in facts.calls_reading.get(i, ())]
    return bool(readers) and all(c.function in _SUMS for c in readers)
