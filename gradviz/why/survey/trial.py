"""One step of an optimizer, tried on a private copy of one parameter, and why it came out so.

NOTE [trial steps]: whether a step moves a parameter depends on the optimizer's formula, its state
and on rounding.
So torch itself answers: its own step runs on a private copy of one parameter at a time, with a copy
of its gradient and state, and the bits are compared. The reason is found the same way, by steps
without the state or the decay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from gradviz.graph.preview import number
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.words.speech import joined, say

DECAYS = ("weight_decay", "lambd")  # lambd is ASGD's
# Their formulas take each parameter by itself. Adafactor's takes its smallest number from the first
# one's dtype.
_ONE_BY_ONE = {
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "RMSprop",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "Rprop",
    "ASGD",
    "SparseAdam",
}


class Trial(NamedTuple):
    """What one step on a copy did."""

    moved: bool  # any bit
    signs: bool  # only signs of zeros
    wrote_nan: bool


class Trials:
    """Steps of one optimizer, each on a private copy of one parameter."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.kind = type(optimizer).__name__

    def untried(self, group: dict[str, Any], p: Any, grad: Any) -> str:
        """Return why a step on a copy would prove nothing; "" where it would."""
        if grad is None or not _ordinary(p, grad) or p.is_inference():
            return say("moving.odd_tensor")
        if any(size > 1 and step == 0 for size, step in zip(p.shape, p.stride(), strict=True)):
            return say("moving.overlaps_itself")
        by_itself = any(kind.__name__ in _ONE_BY_ONE for kind in type(self.optimizer).__mro__)
        if not by_itself and len({other.dtype for other in group["params"]}) > 1:
            return say("moving.mixed_dtypes")
        if _half_started(group, self.optimizer.state):
            return say("moving.half_started")
        return ""

    def of(
        self, group: dict[str, Any], p: Any, *, start: Any = None, state: Any = None, **options: Any
    ) -> Trial:
        """Run torch's own step on a private copy (NOTE [trial steps])."""
        before = _copied(p if start is None else start)
        copy = _copied(before).requires_grad_(p.requires_grad)
        copy.grad = _copied(p.grad)
        # a parameter listed twice is stepped twice
        times = sum(other is p for other in group["params"])
        stepping: Any = object.__new__(type(self.optimizer))
        stepping.__dict__.update(vars(self.optimizer))
        stepping.param_groups = [
            {**{k: _copied(v) for k, v in group.items()}, "params": [copy] * times, **options}
        ]
        held = self.optimizer.state.get(p, {}) if state is None else state
        stepping.state = defaultdict(
            dict, {copy: {k: _copied(v) for k, v in held.items()}} if held else {}
        )
        type(self.optimizer).step(stepping)
        after = copy.detach()
        same = torch.equal(_bits(before), _bits(after))
        wrote_nan = bool(after.isnan().any()) and not before.isnan().any()
        return Trial(not same, not same and torch.equal(before, after), wrote_nan)


class Reason:
    """Why a trial step came out as it did. Proven by further trials, each without one of the
    possible causes."""

    def __init__(
        self, trials: Trials, group: dict[str, Any], p: Any, grad: Any, kept: Mapping[str, Any]
    ) -> None:
        self.trials, self.group, self.p, self.kept = trials, group, p, kept
        self.kind, self.grad = trials.kind, largest(grad)
        self.decays = {k: v for k in DECAYS if (v := as_number(group.get(k)))}

    def tried(self, **changes: Any) -> bool:
        """Say whether a value would move with these changes; False also where torch refuses
        them."""
        trial = read(lambda: self.trials.of(self.group, self.p, **changes))
        return trial is not None and trial.moved and not trial.signs

    def moves(self, trial: Trial) -> str:
        """Return why a step moves it, in words."""
        why = say("moving.signs") if trial.signs else self.moved_by()
        if trial.wrote_nan and not trial.signs:
            why = say("moving.writes_nan", why=why)
        return why

    def moved_by(self) -> str:
        """Return what moves a value of it, in words."""
        if self.grad is None:
            return say("moving.copy_moves")
        if self.grad != 0:
            return say("moving.not_finite" if _wild(self.grad) else "moving.not_zero")
        carried = self.tried(**dict.fromkeys(self.decays, 0.0)) if self.decays else True
        pulls = self.pulls(carried)
        carry = self.carry() if carried else ""
        if carry and not pulls:
            return say("moving.carried", carry=carry)
        if not pulls:
            return say("moving.zero_but_moves")
        settings, n = joined(pulls), len(pulls)
        if carry:
            return say("moving.carried_and_pulled", carry=carry, settings=settings, n=n)
        return say("moving.pulled", settings=settings, n=n)

    def pulls(self, carried: bool) -> list[str]:
        """Return the settings that pull it towards zero, each tried without the others.

        Args:
            carried: whether it moves without them too.
        """
        alone = {k: dict.fromkeys(self.decays.keys() - {k}, 0.0) for k in self.decays}
        pulling = {k: v for k, v in self.decays.items() if self.tried(state={}, **alone[k])}
        if not pulling and not carried:  # some do not step without their state
            pulling = self.decays
        return [setting(k, v) for k, v in pulling.items()]

    def carry(self) -> str:
        """Return how earlier gradients still move it, in words; "" where none does."""
        momentum = as_number(self.group.get("momentum"))
        full = {k: v for k, v in self.kept.items() if v and k != "step"}
        if self.kind == "SGD" and momentum and full.get("momentum_buffer"):
            size = number(momentum * full["momentum_buffer"])
            return say("moving.momentum_carries", momentum=number(momentum), size=size)
        averages = [
            state_word(k, full[k]) for k in ("exp_avg", "momentum_buffer", "grad_avg") if k in full
        ]
        if not averages:
            return ""
        return say("moving.memory_carries", optimizer=self.kind, averages=", ".join(averages))

    def stays(self) -> str:
        """Return why a step leaves it as it is, in words."""
        if self.p.numel() == 0:
            return say("moving.no_elements")
        if bool(self.p.isnan().all()):
            return say("moving.all_nan")
        # those two keep step sizes of their own
        if as_number(self.group.get("lr")) == 0 and self.kind not in ("ASGD", "Rprop"):
            return say("moving.no_lr")
        # From zero the step cannot be swallowed: what it adds is then all there is.
        adds = self.tried(start=torch.zeros_like(self.p), **dict.fromkeys(self.decays, 0.0))
        pulls = bool(self.decays) and bool(self.p.any())
        if adds or pulls:
            why = self.swallowed(adds, pulls)
            return say("moving.zero_and", why=why) if self.grad == 0 else why
        if self.grad == 0:
            return say("moving.nothing_moves")
        return say("moving.rprop_rests" if self.kind == "Rprop" else "moving.underflows")

    def swallowed(self, adds: bool, pulls: bool) -> str:
        """Return what rounding swallows, in words: the step, the pull of a decay, or both."""
        dtype = str(self.p.dtype).removeprefix("torch.")
        settings = joined([setting(k, v) for k, v in self.decays.items()])
        if adds and pulls:
            return say("moving.swallows_both", settings=settings, dtype=dtype)
        if adds:
            return say("moving.swallows_step", dtype=dtype)
        return say("moving.swallows_pull", settings=settings, dtype=dtype)


# --- reading tensors ------------------------------------------------------------------------------


def grad_of(p: Any) -> Any:
    """Return its gradient; None where it keeps none."""
    # elsewhere reading .grad warns, and it is None anyway
    return p.grad if p.is_leaf or p.retains_grad else None


def _values(t: Any) -> Any:
    return t.detach().coalesce().values() if t.is_sparse else t.detach()


def largest(t: Any) -> float | None:
    """Return the largest magnitude; NaN if there is one, 0 for an empty tensor, None where it
    cannot be read."""
    if not _ordinary(t):
        return None
    size: float | None = read(lambda: float(_values(t).abs().max()) if _values(t).numel() else 0.0)
    return size


def _wild(x: float) -> bool:
    return x != x or x == float("inf")


def size_word(x: float) -> str:
    """Return a magnitude in words."""
    if x == 0:
        return say("moving.zero")
    return say("moving.wild") if _wild(x) else say("moving.up_to", size=number(x))


def grad_word(grad: Any) -> str:
    """Return how large a gradient is, in words."""
    if grad is None:
        return "None"
    size = largest(grad)
    return say("moving.unknown") if size is None else size_word(size)


def state_word(name: str, size: float) -> str:
    """Return how large a part of an optimizer's state is, in words."""
    if name == "step":
        return setting(name, size)
    return say("moving.of_state", name=name, size=size_word(size))


def setting(name: str, value: float) -> str:
    """Return a setting as its name and its number."""
    return f"{name} {number(value)}"


def as_number(value: Any) -> float | None:
    """Return a setting as a number, which may be a tensor of one element."""
    return read(lambda: float(value)) if isinstance(value, (int, float, torch.Tensor)) else None


def _ordinary(*tensors: Any) -> bool:
    return all(t.is_sparse or torch_private.has_plain_data(t) for t in tensors)


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _bits(t: Any) -> Any:
    return t.detach().contiguous().flatten().view(torch.uint8)


def _half_started(group: dict[str, Any], state: Mapping[Any, Any]) -> bool:
    """Say whether only some parameters have a momentum buffer: torch's fused SGD cannot go on
    there."""
    started = {
        state.get(p, {}).get("momentum_buffer") is None
        for p in group["params"]
        if grad_of(p) is not None
    }
    return bool(group.get("fused") and group.get("momentum")) and len(started) > 1
