"""Losses that are given what they are not made for, as torch documents it: scores in place of
logarithms, targets outside of a range, nothing but targets that are left out.

NOTE [losses below zero]: these losses are never below 0 for what they take. A value below 0 proves
that they were given something else, whatever the program calls it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import torch

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.written import arguments_written
from gradviz.watch import torch_private
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.measured import numbers
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded

# losses of logarithms of probabilities, and what gives such
_BELOW_ZERO = {"nll_loss": "below_zero_nll_loss", "kl_div": "below_zero_kl_div"}
_LOGARITHMS = {"log_softmax", "log", "logsigmoid"}
# losses whose targets are probabilities of their own
_OF_PROBABILITIES = {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
# losses whose targets say 1 or -1, each with their place among its arguments
_OF_SIGNS = {
    "margin_ranking_loss": 2,
    "cosine_embedding_loss": 2,
    "hinge_embedding_loss": 1,
    "soft_margin_loss": 1,
}
_ROUNDING = -1e-5  # from which on down a divergence is below 0, and not by rounding
_OFF = 1e-2  # how far from 1 the sum of probabilities is
_LEFT_OUT = -100  # torch's own ignore_index


class LossDomains:
    """The losses of a recording, and what they were given.

    Args:
        recording: in which they were computed; its living tensors are read.
        facts: of it.
        words: what tensors and calls are called.
    """

    def __init__(self, recording: Recorded, facts: Facts, words: Words) -> None:
        self.recording, self.facts, self.words = recording, facts, words
        self.tensor = facts.graph.tensor

    def remarks(self) -> Iterator[Remark]:
        """Yield each loss that was given what it is not made for."""
        last = {(line_of(c) or c.id, c.function): c for c in self.facts.ordinary_calls if c.inputs}
        for call in last.values():
            function = plain_name(call.function)
            if function in _BELOW_ZERO:
                yield from self._below_zero(call)
            elif function in _OF_PROBABILITIES:
                yield from self._target_outside(call)
            elif function in _OF_SIGNS:
                yield from self._target_without_signs(call, _OF_SIGNS[function])
            if function in CLASS_LOSSES:
                yield from self._nothing_counts(call)

    def _told(self, key: str, call: Call, given: int, **fields: object) -> Remark:
        """Return a remark about one loss, and what it was given."""
        every = {
            "call": self.words.at(call),
            "function": plain_name(call.function),
            "name": self.words.name(given),
        }
        return Remark(Weight.WEIGHTY, key, {**every, **fields}, (call,))

    def _below_zero(self, call: Call) -> Iterator[Remark]:
        """Tell of a negative loss whose input is no logarithm."""
        maker = self.facts.maker.get(computed(self.facts, call.inputs[0]))
        is_logarithm = maker is not None and plain_name(maker.function) in _LOGARITHMS
        value = self._value(call)
        if value is None or value >= 0:
            return
        if not is_logarithm:
            key = _BELOW_ZERO[call.function]
            yield self._told(key, call, call.inputs[0], value=number(value))
        elif call.function == "kl_div" and value < _ROUNDING:
            yield from self._no_distribution(call, value)

    def _no_distribution(self, call: Call, value: float) -> Iterator[Remark]:
        """Tell of a divergence below 0: one of what it got is no distribution."""
        chosen = [m for i in call.inputs[:2] if (m := self._chosen_after(i)) is not None]
        if chosen:
            fields = {"value": number(value), "parts": [self.words.at(m) for m in chosen]}
            remark = self._told("kl_of_a_part", call, call.inputs[0], **fields)
            yield remark._replace(calls=(*chosen, call))
            return
        target = self._given(call, 1)
        if target is None:
            yield self._told("kl_of_no_distribution", call, call.inputs[1], value=number(value))
        elif bool(((target.sum(-1) - 1).abs() > _OFF).any()):
            total = number(float(target.sum(-1).flatten()[0]))
            fields = {"value": number(value), "total": total}
            yield self._told("kl_of_another_total", call, call.inputs[1], **fields)

    def _chosen_after(self, tensor_id: int) -> Call | None:
        """Return the call that took a part of what a softmax made."""
        maker = self.facts.maker.get(tensor_id)
        if maker is None or maker.function not in ("__getitem__", "index_select", "gather"):
            return None
        before = self.facts.maker.get(maker.inputs[0])
        return maker if before is not None and "softmax" in before.function else None

    def _value(self, call: Call) -> float | None:
        """Return the number that a loss gave."""
        found = numbers(self.tensor[call.outputs[0]].values or "") if call.outputs else None
        return found[0] if found is not None and len(found) == 1 else None

    def _target_outside(self, call: Call) -> Iterator[Remark]:
        """Tell of targets below 0 or above 1."""
        values = self._given(call, 1)
        if values is None:
            return
        least, most = float(values.min()), float(values.max())
        if least < 0 or most > 1:
            ends = {"least": number(least), "most": number(most)}
            yield self._told("target_outside", call, call.inputs[1], **ends)

    def _target_without_signs(self, call: Call, place: int) -> Iterator[Remark]:
        """Tell of targets that are neither 1 nor -1."""
        values = self._given(call, place)
        if values is None:
            return
        others = values[(values != 1) & (values != -1)]
        if others.numel():
            fields = {"value": number(float(others[0])), "n": others.numel(), "of": values.numel()}
            yield self._told("target_without_signs", call, call.inputs[place], **fields)

    def _nothing_counts(self, call: Call) -> Iterator[Remark]:
        """Tell of targets all of which are left out, or have the weight 0."""
        values = self._given(call, 1)
        if values is None or values.is_floating_point():
            return
        classes = sorted({int(c) for c in values.flatten().tolist()})
        if len(classes) == 1 and classes[0] in (_LEFT_OUT, *_ignored(call)):
            yield self._told("all_left_out", call, call.inputs[1], value=str(classes[0]))
            return
        weight = self._given(call, 2)
        if weight is None or min(classes) < 0 or max(classes) >= len(weight):
            return
        if not bool(weight[classes].any()):
            of = {"classes": [*map(str, classes)], "weight": self.words.name(call.inputs[2])}
            yield self._told("all_of_weight_zero", call, call.inputs[1], **of)

    def _given(self, call: Call, place: int) -> torch.Tensor | None:
        """Return an argument of a call, as ``values_of`` does."""
        return self.values_of(call.inputs[place]) if len(call.inputs) > place else None

    def values_of(self, tensor_id: int) -> torch.Tensor | None:
        """Return a tensor, where it is alive, has elements, and holds the values that it had in a
        state."""
        state = self.tensor[tensor_id]
        living = self._living.get(state.object_id)
        found = None if living is None else self.recording.find(living)
        if living is None or found is None or found.version != state.version:
            return None
        is_read = torch_private.has_plain_data(living) and living.numel() > 0
        return living.detach() if is_read else None

    def are_equal(self, one: int, other: int) -> bool:
        """Say whether two tensors are alive, and held the same numbers in two states."""
        first, second = self.values_of(one), self.values_of(other)
        return first is not None and second is not None and torch.equal(first, second)

    def are_known_to_differ(self, one: int, other: int) -> bool:
        """Say whether two tensors are alive, and held other numbers in two states."""
        first, second = self.values_of(one), self.values_of(other)
        return first is not None and second is not None and not torch.equal(first, second)

    @cached_property
    def _living(self) -> dict[int, torch.Tensor]:
        """The living tensors, by object id."""
        pairs = ((self.recording.find(t), t) for t in self.recording.living())
        return {state.object_id: t for state, t in pairs if state is not None}


def _ignored(call: Call) -> Iterator[int]:
    """Yield the index that the code of a loss leaves out, where it stands in the call."""
    if call.source is not None and "ignore_index" in (call.source.code or ""):
        for given in arguments_written(call.source, call.function):
            if math.isfinite(given.value) and given.value == int(given.value):
                yield int(given.value)
