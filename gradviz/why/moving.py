"""``will_it_move()``: which parameters an optimizer's next ``step()`` changes, and why. Never steps
the optimizer.

NOTE [trial steps]: whether a step moves a parameter depends on the optimizer's formula, its state
and on rounding.
So torch itself answers: its own step runs on a private copy of one parameter at a time, with a copy
of its gradient and state, and the bits are compared. The reason is found the same way, by steps
without the state or the decay.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from gradviz.graph.preview import number
from gradviz.graph.records import GradvizError
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.why.reaching import named
from gradviz.why.tables import as_html, as_text
from gradviz.words import given

MOVES, STAYS, NOT_KNOWN = "moves", "stays", "not known"
HEAD = ("group", "name", "requires_grad", "grad", "state", "settings", "verdict", "why")
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
        of = (
            f"{self.optimizer}: of {len(self.rows)} parameters the next step() moves {count[MOVES]}"
        )
        of += f" ({frozen} of them with requires_grad False)" if frozen else ""
        return f"{of}; {count[STAYS]} stay" + (
            f", {count[NOT_KNOWN]} not known." if count[NOT_KNOWN] else "."
        )

    def _cells(self) -> list[list[str]]:
        return [["-" if r.group is None else str(r.group), *map(str, r[1:])] for r in self.rows]

    def __str__(self) -> str:
        return f"{self.verdict}\n{as_text(HEAD, self._cells())}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": as_html(self.verdict, HEAD, self._cells())}


def will_it_move(optimizer: Any, model: Any = None) -> Moves:
    """Which parameters the next ``optimizer.step()`` changes, and why.

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
    moved: bool  # any bit
    signs: bool  # only signs of zeros
    wrote_nan: bool


class _Asked:
    """One question under way. Holds the parameters only as long as it takes to answer."""

    def __init__(self, optimizer: Any, names: Mapping[int, str]) -> None:
        self.optimizer, self.names = optimizer, names
        self.obstacle = torch_private.step_obstacle(optimizer)
        self.found: dict[int, tuple[Any, Move]] = {}  # by id() of the parameter, which is held
        self.raises = ""
        for index, group in enumerate(optimizer.param_groups):
            for i, p in enumerate(group["params"]):
                if id(p) not in self.found:
                    own = group.get("param_names", ())
                    name = own[i] if i < len(own) else f"parameter {i} of group {index}"
                    self.found[id(p)] = p, self.row(index, group, p, names.get(id(p), name))

    def outside(self, name: str, p: Any) -> None:
        verdict, why = (
            (NOT_KNOWN, self.obstacle or "") if self.own_code() else (STAYS, "not in the optimizer")
        )
        row = Move(
            None,
            self.names.get(id(p), name),
            p.requires_grad,
            _grad(_grad_of(p)),
            "",
            "",
            verdict,
            why,
        )
        self.found.setdefault(id(p), (p, row))

    def row(self, index: int, group: dict[str, Any], p: Any, name: str) -> Move:
        # get(): looking with [] would add an entry
        grad, state = _grad_of(p), self.optimizer.state.get(p, {})
        kept = {k: _largest(v) for k, v in state.items() if isinstance(v, torch.Tensor)}
        told = ", ".join(
            f"{k} {number(v) if k == 'step' else _size(v)}"
            for k, v in kept.items()
            if v is not None
        )
        settings = {k: _number(group.get(k)) for k in ("lr", "momentum", *_DECAYS)}
        words = ", ".join(
            f"{k} {number(v)}" for k, v in settings.items() if v is not None and (v or k == "lr")
        )
        verdict, why = self.judged(group, p, grad)
        if verdict != NOT_KNOWN and grad is not None:
            tell = _Reason(self, group, p, grad, kept)
            why = tell.moves(why) if verdict == MOVES else tell.stays()
        return Move(index, name, p.requires_grad, _grad(grad), told, words, verdict, why)

    def judged(self, group: dict[str, Any], p: Any, grad: Any) -> tuple[str, str]:
        if (
            grad is None
            and not isinstance(self.optimizer, torch.optim.LBFGS)
            and not self.own_code()
        ):
            return STAYS, "grad is None: skipped"
        if self.obstacle is not None:
            return NOT_KNOWN, self.obstacle
        if grad is None or not _ordinary(p, grad) or p.is_inference():
            return NOT_KNOWN, "a step on a copy would say nothing of this kind of tensor"
        if any(size > 1 and step == 0 for size, step in zip(p.shape, p.stride(), strict=True)):
            return NOT_KNOWN, "its elements share memory with one another"
        by_itself = any(kind.__name__ in _ONE_BY_ONE for kind in type(self.optimizer).__mro__)
        if not by_itself and len({other.dtype for other in group["params"]}) > 1:
            return (
                NOT_KNOWN,
                "the group mixes dtypes, and this optimizer may look at several parameters at once",
            )
        if _half_started(group, self.optimizer.state):
            return (
                NOT_KNOWN,
                "fused momentum, and only some parameters of the group have a momentum buffer",
            )
        try:
            trial = self.trial(group, p)
        except Exception as error:  # what the real step would raise
            self.raises = f"step() would raise {type(error).__name__}"
            return NOT_KNOWN, f"{self.raises}: {str(error).partition(chr(10))[0]}"
        return (MOVES if trial.moved else STAYS), (
            "signs" if trial.signs else "nan" if trial.wrote_nan else ""
        )

    def own_code(self) -> bool:
        """May a step do anything at all, also with what has no gradient?"""
        return self.obstacle is not None and self.obstacle.startswith("step()")

    def trial(
        self, group: dict[str, Any], p: Any, *, start: Any = None, state: Any = None, **options: Any
    ) -> _Trial:
        """Torch's own step on a private copy (NOTE [trial steps])."""
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
        """All rows, as far as one parameter's step says something of the others."""
        found = [row for _, row in self.found.values()]
        if self.raises:  # how far it gets before is not known
            for i, r in enumerate(found):
                if r.verdict != NOT_KNOWN and r.grad != "None" and r.group is not None:
                    found[i] = r._replace(
                        verdict=NOT_KNOWN, why=f"{self.raises} at another parameter"
                    )
        for together in _overlapping([p for p, _ in self.found.values()]):
            if any(found[i].verdict != STAYS for i in together):
                for i in together:
                    others = ", ".join(found[j].name for j in together if j != i)
                    found[i] = found[i]._replace(
                        verdict=NOT_KNOWN, why=f"shares memory with {others}"
                    )
        return sorted(found, key=lambda r: (r.group is None, r.group or 0))


class _Reason:
    """Why a trial step came out as it did. Proven by further trials, each without one of the
    possible causes."""

    def __init__(
        self, asked: _Asked, group: dict[str, Any], p: Any, grad: Any, kept: Mapping[str, Any]
    ) -> None:
        self.asked, self.group, self.p, self.kept = asked, group, p, kept
        self.kind, self.grad = type(asked.optimizer).__name__, _largest(grad)
        self.decays = {k: v for k in _DECAYS if (v := _number(group.get(k)))}

    def tried(self, **changes: Any) -> bool:
        """Would a value move with these changes? False also where torch refuses them."""
        trial = read(lambda: self.asked.trial(self.group, self.p, **changes))
        return trial is not None and trial.moved and not trial.signs

    def moves(self, how: str) -> str:
        frozen = (
            "although requires_grad is False (optimizers look at .grad only): "
            if not self.p.requires_grad
            else ""
        )
        if how == "signs":
            return f"{frozen}only the sign of zeros changes"
        end = ", and the step writes NaN" if how == "nan" else ""
        if self.grad is None:
            return f"{frozen}a trial step on a copy moves it{end}"
        if self.grad != 0:
            return f"{frozen}grad is not {'finite' if _wild(self.grad) else 'zero'}{end}"
        carried = self.tried(**dict.fromkeys(self.decays, 0.0)) if self.decays else True
        alone = {k: dict.fromkeys(self.decays.keys() - {k}, 0.0) for k in self.decays}
        pulled = {k: v for k, v in self.decays.items() if self.tried(state={}, **alone[k])}
        # some do not step without their state
        pulled = pulled if carried else pulled or self.decays
        pull = " and ".join(f"{k} {number(v)}" for k, v in pulled.items()) + (
            " pull" if len(pulled) > 1 else " pulls"
        )
        carry = self.carry() if carried else ""
        if carry:
            return (
                f"{frozen}grad is zero, but {carry}" + (f", and {pull} it" if pulled else "") + end
            )
        if pulled:
            return f"{frozen}{pull} it, though its grad is zero{end}"
        return f"{frozen}grad is zero, but a trial step on a copy moves it{end}"

    def carry(self) -> str:
        momentum = _number(self.group.get("momentum"))
        full = {k: v for k, v in self.kept.items() if v and k != "step"}
        if self.kind == "SGD" and momentum and full.get("momentum_buffer"):
            return (
                f"momentum {number(momentum)} still carries"
                f" {number(momentum * full['momentum_buffer'])}"
            )
        averages = [
            f"{k} {_size(full[k])}" for k in ("exp_avg", "momentum_buffer", "grad_avg") if k in full
        ]
        return (
            f"{self.kind}'s memory of earlier gradients still carries it ({', '.join(averages)})"
            if averages
            else ""
        )

    def stays(self) -> str:
        p, lr = self.p, _number(self.group.get("lr"))
        if p.numel() == 0:
            return "it has no elements"
        if bool(p.isnan().all()):
            return "all its values are NaN already"
        if lr == 0 and self.kind not in ("ASGD", "Rprop"):  # those two keep step sizes of their own
            return "lr is 0"
        # From zero the step cannot be swallowed: what it adds is then all there is.
        adds = self.tried(start=torch.zeros_like(p), **dict.fromkeys(self.decays, 0.0))
        pulls = bool(self.decays) and bool(p.any())
        grad = "grad is zero, and " if self.grad == 0 else ""
        if adds or pulls:
            pull = " and ".join(f"{k} {number(v)}" for k, v in self.decays.items()) if pulls else ""
            what = " and ".join(
                filter(None, ["the step" if adds else "", f"the pull of {pull}" if pull else ""])
            )
            end = ", or its parts cancel" if adds and pulls else ""
            verb = "are" if adds and pulls else "is"
            size = str(p.dtype).removeprefix("torch.")
            return (
                f"{grad}{what} {verb} too small to change a {size} of this size: rounding swallows"
                f" it{end}"
            )
        if self.grad == 0:
            return "grad is zero, and nothing else moves it"
        rest = "; Rprop rests where the sign of the gradient flips" if self.kind == "Rprop" else ""
        return f"its step comes out as exactly zero: it underflows, or its parts cancel{rest}"


# --- reading tensors ------------------------------------------------------------------------------


def _grad_of(p: Any) -> Any:
    # elsewhere reading .grad warns, and it is None anyway
    return p.grad if p.is_leaf or p.retains_grad else None


def _values(t: Any) -> Any:
    return t.detach().coalesce().values() if t.is_sparse else t.detach()


def _largest(t: Any) -> float | None:
    """Largest magnitude; NaN if there is one, 0 for an empty tensor, None where it cannot be
    read."""
    if not _ordinary(t):
        return None
    size: float | None = read(lambda: float(_values(t).abs().max()) if _values(t).numel() else 0.0)
    return size


def _wild(x: float) -> bool:
    return x != x or x == float("inf")


def _size(x: float) -> str:
    return "zero" if x == 0 else "NaN or infinity" if _wild(x) else f"up to {number(x)}"


def _grad(grad: Any) -> str:
    if grad is None:
        return "None"
    largest = _largest(grad)
    return "unknown" if largest is None else _size(largest)


def _number(value: Any) -> float | None:
    """A setting, which may be a tensor of one element."""
    return read(lambda: float(value)) if isinstance(value, (int, float, torch.Tensor)) else None


def _ordinary(*tensors: Any) -> bool:
    return all(t.is_sparse or torch_private.has_plain_data(t) for t in tensors)


def _copied(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _bits(t: Any) -> Any:
    return t.detach().contiguous().flatten().view(torch.uint8)


def _half_started(group: dict[str, Any], state: Mapping[Any, Any]) -> bool:
    """Torch's fused SGD cannot go on where only some parameters have a momentum buffer."""
    started = {
        state.get(p, {}).get("momentum_buffer") is None
        for p in group["params"]
        if _grad_of(p) is not None
    }
    return bool(group.get("fused") and group.get("momentum")) and len(started) > 1


def _overlapping(tensors: list[Any]) -> list[list[int]]:
    """Positions of different tensors that have bytes in common, or may have."""
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
