"""``will_it_move()``: which parameters an optimizer's next ``step()`` changes, and why. Never steps
the optimizer.

NOTE [trial steps]: whether a step moves a parameter depends on the optimizer's formula, its state
and on rounding.
So torch itself answers: its own step runs on a private copy of one parameter at a time, with a copy
of its gradient and state, and the bits are compared. The reason is found the same way, by steps
without the state or the decay.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from gradviz.graph.preview import number
from gradviz.graph.records import GradvizError
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.watch.torch_private import Obstacle
from gradviz.why.reaching import named
from gradviz.why.tables import as_html, as_text, heads, verdict_word
from gradviz.words import given
from gradviz.words.speech import joined, say

MOVES, STAYS, NOT_KNOWN = "moves", "stays", "not known"
HEAD = ("group", "name", "requires_grad", "grad", "state", "settings", "verdict", "why")
# A step of these may do anything at all, also with what has no gradient.
OWN_CODE = {Obstacle.OWN_STEP, Obstacle.REPLACED_STEP, Obstacle.HOOKS}
# Their formulas take each parameter by itself. Adafactor's takes its smallest number from the first
# one's dtype.
_ONE_BY_ONE = frozenset(
    "SGD Adam AdamW Adagrad RMSprop Adadelta Adamax NAdam RAdam Rprop ASGD SparseAdam".split()
)
_DECAYS = ("weight_decay", "lambd")  # lambd is ASGD's


class Move(NamedTuple):
    """What the next step does to one parameter."""

    group: int | None  # position in optimizer.param_groups; None: in none of them
    name: str
    requires_grad: bool
    grad: str  # "None", "zero", "up to 0.12" (its largest magnitude), "NaN or infinity", "unknown"
    state: str  # "momentum_buffer up to 0.12"
    settings: str  # "lr 0.1, momentum 0.9"
    verdict: str  # "moves", "stays" or "not known"
    why: str
    # magnitude of its gradient; None: there is none, or it cannot be read
    largest: float | None = None

    @property
    def has_zero_grad(self) -> bool:
        """Say whether its gradient is all zeros."""
        return self.largest == 0

    @property
    def has_finite_grad(self) -> bool:
        """Say whether its gradient holds numbers other than zero, and only such."""
        return self.largest is not None and 0 < self.largest < math.inf

    @property
    def cells(self) -> list[str]:
        """Its row in a table."""
        return [
            "-" if self.group is None else str(self.group),
            self.name,
            str(self.requires_grad),
            self.grad,
            self.state,
            self.settings,
            verdict_word(self.verdict),
            self.why,
        ]


class Moves(NamedTuple):
    """What the next ``step()`` of an optimizer does to every parameter. Plain data; displays as a
    table."""

    optimizer: str
    rows: tuple[Move, ...]

    @property
    def verdict(self) -> str:
        """The table in one sentence."""
        count = {v: sum(r.verdict == v for r in self.rows) for v in (MOVES, STAYS, NOT_KNOWN)}
        frozen = sum(r.verdict == MOVES and not r.requires_grad for r in self.rows)
        numbers: dict[str, Any] = {
            "optimizer": self.optimizer,
            "all": len(self.rows),
            "moved": count[MOVES],
            "frozen": frozen,
            "stay": count[STAYS],
            "unknown": count[NOT_KNOWN],
        }
        if not count[NOT_KNOWN]:
            return say("moving.verdict_frozen" if frozen else "moving.verdict", **numbers)
        return say(
            "moving.verdict_frozen_unknown" if frozen else "moving.verdict_unknown", **numbers
        )

    def _cells(self) -> list[list[str]]:
        return [row.cells for row in self.rows]

    def __str__(self) -> str:
        return f"{self.verdict}\n{as_text(heads(HEAD), self._cells())}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        table = as_html(self.verdict, heads(HEAD), self._cells())
        return {"text/plain": str(self), "text/html": table}


def will_it_move(optimizer: Any, model: Any = None) -> Moves:
    """Tell which parameters the next ``optimizer.step()`` changes, and why.

    The optimizer is not stepped and nothing of it is written: its formula is tried on copies, one
    parameter at a time, which takes about as long as a step, and for a moment the memory of a few
    copies of the largest parameter.

    Args:
        optimizer: any of ``torch.optim``. Where a step would run code of the user's (a closure,
            hooks, a step that is not torch's own), what has a gradient is "not known".
        model: names the parameters: a module, or a mapping of names to modules or parameters. What
            of it is not in the optimizer is listed too.

    Returns:
        One row a parameter, in the order of the groups.

    Raises:
        GradvizError: ``optimizer`` is not a torch optimizer, or ``model`` is neither a module nor a
            mapping.

    Example:
        >>> w = torch.nn.Parameter(torch.ones(2))
        >>> optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> will_it_move(optimizer, {"w": w}).rows[0].why
        'grad is None: skipped'
        >>> (w * 2).sum().backward(); optimizer.step(); optimizer.zero_grad(set_to_none=False)
        >>> row = will_it_move(optimizer, {"w": w.requires_grad_(False)}).rows[0]
        >>> print(row.verdict, row.why, sep=": ")
        moves: although requires_grad is False (optimizers look at .grad only): grad is zero, but
        momentum 0.9 still carries 1.8
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        mend = (
            "pass the scheduler's .optimizer"
            if hasattr(optimizer, "optimizer")
            else "pass what you call step() on"
        )
        raise GradvizError(
            f"will_it_move() was given {given.said(optimizer)}, not a torch optimizer; {mend}"
        )
    names: dict[int, list[str]] = {}
    parameters = [] if model is None else named(model)
    for name, parameter in parameters:
        names.setdefault(id(parameter), []).append(name)
    with torch_private.unobserved(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the trial steps: the user's own step will say it too
        asked = _Asked(optimizer, {i: ", ".join(given) for i, given in names.items()})
        for name, parameter in parameters:
            asked.outside(name, parameter)
        return Moves(type(optimizer).__name__, tuple(asked.rows()))


class _Trial(NamedTuple):
    """What one step on a copy did."""

    moved: bool  # any bit
    signs: bool  # only signs of zeros
    wrote_nan: bool


class _Asked:
    """One question under way. Holds the parameters only as long as it takes to answer."""

    def __init__(self, optimizer: Any, names: Mapping[int, str]) -> None:
        self.optimizer, self.names = optimizer, names
        self.kind = type(optimizer).__name__
        self.obstacle = torch_private.step_obstacle(optimizer)
        self.judged: dict[int, tuple[Any, Move]] = {}  # by id() of the parameter, which is held
        self.raised = ""  # what a step would raise
        for index, group in enumerate(optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                if id(p) not in self.judged:
                    name = names.get(id(p), name_in_group(group, i, index))
                    self.judged[id(p)] = p, self.row(index, group, p, name)

    def outside(self, name: str, p: Any) -> None:
        """Add a parameter that may be in no group."""
        if self.runs_own_code:
            verdict, why = NOT_KNOWN, self.obstacle_word
        else:
            verdict, why = STAYS, say("moving.outside")
        grad = _grad_of(p)
        row = Move(
            None,
            self.names.get(id(p), name),
            p.requires_grad,
            _grad_word(grad),
            "",
            "",
            verdict,
            why,
            None if grad is None else _largest(grad),
        )
        self.judged.setdefault(id(p), (p, row))

    def row(self, index: int, group: dict[str, Any], p: Any, name: str) -> Move:
        """Judge one parameter of a group."""
        # get(): looking with [] would add an entry
        grad, state = _grad_of(p), self.optimizer.state.get(p, {})
        kept = {k: _largest(v) for k, v in state.items() if isinstance(v, torch.Tensor)}
        settings = {k: _number(group.get(k)) for k in ("lr", "momentum", *_DECAYS)}
        judged = self.judge(group, p, grad)
        if isinstance(judged, _Trial):
            reason = _Reason(self, group, p, grad, kept)
            verdict = MOVES if judged.moved else STAYS
            why = reason.moves(judged) if judged.moved else reason.stays()
        else:
            verdict, why = judged
        return Move(
            index,
            name,
            p.requires_grad,
            _grad_word(grad),
            ", ".join(_state_word(k, size) for k, size in kept.items() if size is not None),
            ", ".join(
                _setting(k, v) for k, v in settings.items() if v is not None and (v or k == "lr")
            ),
            verdict,
            why,
            None if grad is None else _largest(grad),
        )

    def judge(self, group: dict[str, Any], p: Any, grad: Any) -> _Trial | tuple[str, str]:
        """Return what a trial step does to one parameter; where none is tried, the verdict and
        why."""
        runs_closure = isinstance(self.optimizer, torch.optim.LBFGS)
        if grad is None and not runs_closure and not self.runs_own_code:
            return STAYS, say("moving.no_grad")
        if self.obstacle is not None:
            return NOT_KNOWN, self.obstacle_word
        if untried := self.untried(group, p, grad):
            return NOT_KNOWN, untried
        try:
            return self.trial(group, p)
        except Exception as error:  # what the real step would raise
            self.raised = type(error).__name__
            message = str(error).partition("\n")[0]
            return NOT_KNOWN, say("moving.raises", error=self.raised, message=message)

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

    @property
    def runs_own_code(self) -> bool:
        """Say whether a step may do anything at all, also with what has no gradient."""
        return self.obstacle in OWN_CODE

    @property
    def obstacle_word(self) -> str:
        """Why no step can be tried, in words."""
        assert self.obstacle is not None
        return say(f"obstacle.{self.obstacle.name.lower()}", optimizer=self.kind)

    def trial(
        self, group: dict[str, Any], p: Any, *, start: Any = None, state: Any = None, **options: Any
    ) -> _Trial:
        """Run torch's own step on a private copy (NOTE [trial steps])."""
        before = _copied(p if start is None else start)
        copy = _copied(before).requires_grad_(p.requires_grad)
        copy.grad = _copied(p.grad)
        # a parameter listed twice is stepped twice
        times = sum(other is p for other in group["params"])
        trial: Any = object.__new__(type(self.optimizer))
        trial.__dict__.update(vars(self.optimizer))
        trial.param_groups = [
            {**{k: _copied(v) for k, v in group.items()}, "params": [copy] * times, **options}
        ]
        held = self.optimizer.state.get(p, {}) if state is None else state
        trial.state = defaultdict(
            dict, {copy: {k: _copied(v) for k, v in held.items()}} if held else {}
        )
        type(self.optimizer).step(trial)
        after = copy.detach()
        same = torch.equal(_bits(before), _bits(after))
        wrote_nan = bool(after.isnan().any()) and not before.isnan().any()
        return _Trial(not same, not same and torch.equal(before, after), wrote_nan)

    def rows(self) -> list[Move]:
        """Return all rows, as far as one parameter's step says something of the others."""
        rows = [row for _, row in self.judged.values()]
        if self.raised:  # how far it gets before is not known
            why = say("moving.raises_elsewhere", error=self.raised)
            for i, (p, row) in enumerate(self.judged.values()):
                steps = row.group is not None and _grad_of(p) is not None
                if steps and row.verdict != NOT_KNOWN:
                    rows[i] = row._replace(verdict=NOT_KNOWN, why=why)
        for together in _overlapping([p for p, _ in self.judged.values()]):
            if any(rows[i].verdict != STAYS for i in together):
                for i in together:
                    others = [rows[j].name for j in together if j != i]
                    why = say("moving.shares_memory", names=others)
                    rows[i] = rows[i]._replace(verdict=NOT_KNOWN, why=why)
        return sorted(rows, key=lambda r: (r.group is None, r.group or 0))


class _Reason:
    """Why a trial step came out as it did. Proven by further trials, each without one of the
    possible causes."""

    def __init__(
        self, asked: _Asked, group: dict[str, Any], p: Any, grad: Any, kept: Mapping[str, Any]
    ) -> None:
        self.asked, self.group, self.p, self.kept = asked, group, p, kept
        self.kind, self.grad = asked.kind, _largest(grad)
        self.decays = {k: v for k in _DECAYS if (v := _number(group.get(k)))}

    def tried(self, **changes: Any) -> bool:
        """Say whether a value would move with these changes; False also where torch refuses
        them."""
        trial = read(lambda: self.asked.trial(self.group, self.p, **changes))
        return trial is not None and trial.moved and not trial.signs

    def moves(self, trial: _Trial) -> str:
        """Return why a step moves it, in words."""
        why = say("moving.signs") if trial.signs else self.moved_by()
        if trial.wrote_nan and not trial.signs:
            why = say("moving.writes_nan", why=why)
        return why if self.p.requires_grad else say("moving.although_frozen", why=why)

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
        return [_setting(k, v) for k, v in pulling.items()]

    def carry(self) -> str:
        """Return how earlier gradients still move it, in words; "" where none does."""
        momentum = _number(self.group.get("momentum"))
        full = {k: v for k, v in self.kept.items() if v and k != "step"}
        if self.kind == "SGD" and momentum and full.get("momentum_buffer"):
            size = number(momentum * full["momentum_buffer"])
            return say("moving.momentum_carries", momentum=number(momentum), size=size)
        averages = [
            _state_word(k, full[k]) for k in ("exp_avg", "momentum_buffer", "grad_avg") if k in full
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
        if _number(self.group.get("lr")) == 0 and self.kind not in ("ASGD", "Rprop"):
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
        settings = joined([_setting(k, v) for k, v in self.decays.items()])
        if adds and pulls:
            return say("moving.swallows_both", settings=settings, dtype=dtype)
        if adds:
            return say("moving.swallows_step", dtype=dtype)
        return say("moving.swallows_pull", settings=settings, dtype=dtype)


# --- reading tensors ------------------------------------------------------------------------------


def _grad_of(p: Any) -> Any:
    """Return its gradient; None where it keeps none."""
    # elsewhere reading .grad warns, and it is None anyway
    return p.grad if p.is_leaf or p.retains_grad else None


def _values(t: Any) -> Any:
    return t.detach().coalesce().values() if t.is_sparse else t.detach()


def _largest(t: Any) -> float | None:
    """Return the largest magnitude; NaN if there is one, 0 for an empty tensor, None where it
    cannot be read."""
    if not _ordinary(t):
        return None
    size: float | None = read(lambda: float(_values(t).abs().max()) if _values(t).numel() else 0.0)
    return size


def _wild(x: float) -> bool:
    return x != x or x == float("inf")


def _size_word(x: float) -> str:
    """Return a magnitude in words."""
    if x == 0:
        return say("moving.zero")
    return say("moving.wild") if _wild(x) else say("moving.up_to", size=number(x))


def _grad_word(grad: Any) -> str:
    """Return how large a gradient is, in words."""
    if grad is None:
        return "None"
    largest = _largest(grad)
    return say("moving.unknown") if largest is None else _size_word(largest)


def _state_word(name: str, size: float) -> str:
    """Return how large a part of an optimizer's state is, in words."""
    return _setting(name, size) if name == "step" else f"{name} {_size_word(size)}"


def _setting(name: str, value: float) -> str:
    """Return a setting as its name and its number."""
    return f"{name} {number(value)}"


def name_in_group(group: Mapping[str, Any], position: int, index: int) -> str:
    """Return what a parameter of a group is called where nobody has a name for it.

    >>> name_in_group({"params": []}, 2, 0), name_in_group({"param_names": ["w"]}, 0, 0)
    ('parameter 2 of group 0', 'w')
    """
    names = group.get("param_names", ())
    if position < len(names):
        return str(names[position])
    return say("moving.in_group", position=position, group=index)


def _number(value: Any) -> float | None:
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
        if _grad_of(p) is not None
    }
    return bool(group.get("fused") and group.get("momentum")) and len(started) > 1


def _overlapping(tensors: list[Any]) -> list[list[int]]:
    """Return the positions of different tensors that have bytes in common, or may have."""
    spans = sorted(span for i, t in enumerate(tensors) if (span := _span(t, i)) is not None)
    found: list[tuple[str, int, list[int]]] = []
    for device, start, end, i in spans:
        if found and found[-1][0] == device and start < found[-1][1]:
            found[-1] = device, max(found[-1][1], end), [*found[-1][2], i]
        else:
            found.append((device, end, [i]))
    return [together for *_, together in found if len(together) > 1]


def _span(t: Any, position: int) -> tuple[str, int, int, int] | None:
    where = torch_private.storage_range(t)
    if where is None or not t.numel():
        return None
    # Storage without strides (sparse) has no range, so this one has them.
    last = sum((size - 1) * step for size, step in zip(t.shape, t.stride(), strict=True))
    start = where[0] + t.storage_offset() * t.element_size()
    return str(t.device), start, start + (last + 1) * t.element_size(), position
