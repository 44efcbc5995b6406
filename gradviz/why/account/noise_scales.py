"""Noise that is multiplied by a variance, or by its logarithm, where the loss tells that it is one:
a draw takes the standard deviation. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.effects import PRODUCTS
from gradviz.graph.facts import Facts
from gradviz.graph.records import Call
from gradviz.graph.training import line_of
from gradviz.names.frames import frames, names_in
from gradviz.why.account.climbing import signed_states
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, LINEAR, computed, plain_name
from gradviz.words.words import Words

_DRAWN = {"randn", "randn_like", "normal"}
# what gives other numbers than it was given
PARTS = {"__getitem__", "chunk", "select", "split", "unbind", "dropout"}
_ADDED_UP = {"add", "sub", "rsub"} | KEEPING | LINEAR


class Scaled(NamedTuple):
    """Noise that is multiplied.

    Attributes:
        call: that multiplies it.
        by: the call of exp that gave the factor; None where the factor is the logarithm itself.
        log: the state that the factor is, or is the exponential of.
    """

    call: Call
    by: Call | None
    log: int


def noise_scales(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each line that multiplies noise by exp(v), or by v, where a loss has exp(v) - v, as
    the KL divergence of a Gaussian has it of the logarithm of its variance.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    last = dict[object, tuple[Scaled, Call]]()
    for scaled in _scaled(facts):
        divergence = _as_of_a_variance(facts, scaled.log)
        if divergence is not None:
            last[line_of(scaled.call) or scaled.call.id] = scaled, divergence
    for scaled, divergence in last.values():
        name = words.name(scaled.log)
        fields = {
            "call": words.at(scaled.call),
            "name": name,
            "loss": words.where(divergence),
            "code": facts.graph.tensor[scaled.log].code_name or name,
        }
        key = "noise_times_logarithm" if scaled.by is None else "noise_times_variance"
        calls = (scaled.call,) if scaled.by is None else (scaled.by, scaled.call)
        yield Remark(Weight.WEIGHTY, key, fields, calls)


def _scaled(facts: Facts) -> Iterator[Scaled]:
    """Yield the products of noise and a tracked value on the way to a loss."""
    for call, given in scaled_noise(facts):
        factor = computed(facts, given, KEEPING - PARTS)
        made = facts.maker.get(factor)
        is_exponential = made is not None and made.function == "exp"
        log = made.inputs[0] if made is not None and is_exponential else factor
        yield Scaled(call, made if is_exponential else None, log)


def scaled_noise(facts: Facts) -> Iterator[tuple[Call, int]]:
    """Yield the calls that multiply noise on the way to a loss, each with the factor."""
    drawn = _Noise(facts)
    for call in facts.ordinary_calls if drawn.memory else ():
        if plain_name(call.function) not in PRODUCTS or len(call.inputs) != 2:
            continue
        noise = [i for i in call.inputs if drawn.holds(i)]
        if len(noise) != 1 or facts.in_losses.isdisjoint(call.outputs):
            continue
        yield call, next(i for i in call.inputs if i not in noise)


class _Noise:
    """Normal noise as it was drawn, of nothing that learns.

    Args:
        facts: of the recording.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts, self.tensor = facts, facts.graph.tensor
        drawn = [c for c in facts.ordinary_calls if plain_name(c.function) in _DRAWN]
        self.memory = {self.tensor[i].storage_id for c in drawn for i in c.outputs} - {None}
        # Variable(noise) is a tensor of its own, which no recorded call made
        codes = [frame.code for call in drawn for frame in frames(call)[:1]]
        self.names = {n for code in codes if "Variable(" in code for n in names_in(code)[0]}

    def holds(self, tensor_id: int) -> bool:
        """Say whether a tensor is such noise."""
        tensor, made = self.tensor[tensor_id], self.facts.maker.get(tensor_id)
        if tensor.requires_grad:
            return False
        if made is None and tensor.code_name in self.names:
            return True
        is_as_drawn = made is None or plain_name(made.function) in _DRAWN | KEEPING | {"detach"}
        return is_as_drawn and tensor.storage_id in self.memory


def _as_of_a_variance(facts: Facts, log: int) -> Call | None:
    """Return the call that adds up exp(v) and -v on the way to a loss, whatever multiplies both;
    None where none does."""
    exponentials = [c for c in facts.calls_reading.get(log, ()) if c.function == "exp"]
    for made in exponentials:
        for call in _adding_up(facts, made.outputs[0]):
            signs = dict(signed_states(facts, call.outputs[0]))
            one, other = signs.get(made.outputs[0]), signs.get(log)
            if one is not None and other == -one:
                return call
    return None


def _adding_up(facts: Facts, tensor_id: int) -> Iterator[Call]:
    """Yield the calls of a loss that add up what a value is a part of."""
    for call in facts.calls_reading.get(tensor_id, ()):
        is_in_loss = not facts.in_losses.isdisjoint(call.outputs)
        if is_in_loss and plain_name(call.function) in _ADDED_UP:
            yield call
            yield from _adding_up(facts, call.outputs[0])
