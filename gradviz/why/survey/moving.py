"""``will_it_move()``: which parameters an optimizer's next ``step()`` changes, and why. Never steps
the optimizer: its step is tried on copies (``trial.py``)."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import GradvizError
from gradviz.watch import torch_private
from gradviz.watch.torch_private import Obstacle
from gradviz.why.shown.tables import (
    FEW,
    Known,
    Line,
    Tone,
    as_html,
    as_text,
    by_groups,
    groups_as_html,
    groups_as_text,
    heads,
    verdict_word,
)
from gradviz.why.survey.reaching import named, variables_of
from gradviz.why.survey.trial import (
    DECAYS,
    Reason,
    Trial,
    Trials,
    as_number,
    grad_of,
    grad_word,
    largest,
    setting,
    size_word,
    state_word,
)
from gradviz.words import given
from gradviz.words.speech import say

MOVES, STAYS, NOT_KNOWN = "moves", "stays", "not known"
HEAD = ("group", "name", "requires_grad", "grad", "state", "settings", "verdict", "why")
GROUP_HEAD = ("parameters", "number", "group", "grad", "settings")
# A step of these may do anything at all, also with what has no gradient.
OWN_CODE = {Obstacle.OWN_STEP, Obstacle.REPLACED_STEP, Obstacle.HOOKS}


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
    reason: str = ""  # why it moves, whether or not it is frozen; "" where it stays

    @property
    def has_zero_grad(self) -> bool:
        """Say whether its gradient is all zeros."""
        return self.largest == 0

    @property
    def has_finite_grad(self) -> bool:
        """Say whether its gradient holds numbers other than zero, and only such."""
        return self.largest is not None and 0 < self.largest < math.inf

    @property
    def tone(self) -> Tone:
        """How grave it is: that it stays is wrong where it is to be trained by this optimizer."""
        if self.verdict == NOT_KNOWN:
            return Tone.UNKNOWN
        if self.verdict == MOVES:
            return Tone.FINE if self.requires_grad else Tone.ODD
        return Tone.WRONG if self.requires_grad and self.group is not None else Tone.NEUTRAL

    @property
    def apart(self) -> str:
        """What parameters have in common that one row of groups may stand for."""
        return f"{self.group} {self.settings} {self.grad == 'None'} {self.largest is None}"

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

    @property
    def full(self) -> str:
        """The verdict, and every parameter in a row of its own."""
        return f"{self.verdict}\n{as_text(heads(HEAD), self._cells(), most=len(self.rows))}"

    def _cells(self) -> list[list[str]]:
        return [row.cells for row in self.rows]

    def _lines(self) -> list[Line]:
        """Return the parameters by groups."""
        known = [Known(r.tone, "", verdict_word(r.verdict), r.why, r.apart) for r in self.rows]
        return by_groups([r.name for r in self.rows], known, self._group_cells)

    def _group_cells(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return what stands beside a group: how many it is, and what they have in common."""
        first = self.rows[places[0]]
        sizes = [self.rows[i].largest for i in places]
        known = [size for size in sizes if size is not None]
        same = len({self.rows[i].grad for i in places}) == 1
        grad = first.grad if same or len(known) < len(sizes) else size_word(max(known))
        index = "-" if first.group is None else str(first.group)
        return f"{len(places):,}", index, grad, first.settings

    def __str__(self) -> str:
        """Return the verdict and the table; of many parameters, by groups."""
        if len(self.rows) > FEW:
            last = say("answer_table.full")
            return f"{self.verdict}\n{groups_as_text(heads(GROUP_HEAD), self._lines(), last)}"
        return f"{self.verdict}\n{as_text(heads(HEAD), self._cells())}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if len(self.rows) > FEW:
            last = say("answer_table.full")
            table = groups_as_html(self.verdict, heads(GROUP_HEAD), self._lines(), last)
        else:
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
            of it is not in the optimizer is listed too. Left out, they are called as the caller's
            module-level variables call them.

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
        is_scheduler = hasattr(optimizer, "optimizer")
        raise GradvizError(
            f"will_it_move() was given {given.said(optimizer)}, not a torch optimizer; pass "
            + ("the scheduler's .optimizer" if is_scheduler else "what you call step() on")
        )
    names: dict[int, list[str]] = {}
    parameters = [] if model is None else named(model)
    for name, parameter in parameters:
        names.setdefault(id(parameter), []).append(name)
    if model is None:
        names = variables_of(sys._getframe(1).f_globals)
    with torch_private.unobserved(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the trial steps: the user's own step will say it too
        asked = _Asked(optimizer, {i: ", ".join(given) for i, given in names.items()})
        for name, parameter in parameters:
            asked.outside(name, parameter)
        return Moves(type(optimizer).__name__, tuple(asked.rows()))


class _Asked:
    """One question under way. Holds the parameters only as long as it takes to answer."""

    def __init__(self, optimizer: Any, names: Mapping[int, str]) -> None:
        self.optimizer, self.names = optimizer, names
        self.trials = Trials(optimizer)
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
        row = _row(None, self.names.get(id(p), name), p, verdict, why)
        self.judged.setdefault(id(p), (p, row))

    def row(self, index: int, group: dict[str, Any], p: Any, name: str) -> Move:
        """Judge one parameter of a group."""
        # get(): looking with [] would add an entry
        grad, state = grad_of(p), self.optimizer.state.get(p, {})
        kept = {k: largest(v) for k, v in state.items() if isinstance(v, torch.Tensor)}
        judged = self.judge(group, p, grad)
        if isinstance(judged, Trial):
            tell = Reason(self.trials, group, p, grad, kept)
            verdict = MOVES if judged.moved else STAYS
            reason = tell.moves(judged) if judged.moved else ""
            why = reason or tell.stays()
        else:
            verdict, why = judged
            reason = ""
        if reason and not p.requires_grad:
            why = say("moving.although_frozen", why=reason)
        state_words = [state_word(k, size) for k, size in kept.items() if size is not None]
        return _row(index, name, p, verdict, why)._replace(
            state=", ".join(state_words), settings=", ".join(_settings_of(group)), reason=reason
        )

    def judge(self, group: dict[str, Any], p: Any, grad: Any) -> Trial | tuple[str, str]:
        """Return what a trial step does to one parameter; where none is tried, the verdict and
        why."""
        runs_closure = isinstance(self.optimizer, torch.optim.LBFGS)
        if grad is None and not runs_closure and not self.runs_own_code:
            return STAYS, say("moving.no_grad")
        if self.obstacle is not None:
            return NOT_KNOWN, self.obstacle_word
        if untried := self.trials.untried(group, p, grad):
            return NOT_KNOWN, untried
        try:
            return self.trials.of(group, p)
        except Exception as error:  # what the real step would raise
            self.raised = type(error).__name__
            message = str(error).partition("\n")[0]
            return NOT_KNOWN, say("moving.raises", error=self.raised, message=message)

    @property
    def runs_own_code(self) -> bool:
        """Say whether a step may do anything at all, also with what has no gradient."""
        return self.obstacle in OWN_CODE

    @property
    def obstacle_word(self) -> str:
        """Why no step can be tried, in words."""
        assert self.obstacle is not None
        return say(f"obstacle.{self.obstacle.name.lower()}", optimizer=self.trials.kind)

    def rows(self) -> list[Move]:
        """Return all rows, as far as one parameter's step says something of the others."""
        rows = [self.before_an_error(p, row) for p, row in self.judged.values()]
        for together in _overlapping([p for p, _ in self.judged.values()]):
            if all(rows[i].verdict == STAYS for i in together):
                continue
            for i in together:
                others = [rows[j].name for j in together if j != i]
                why = say("moving.shares_memory", names=others)
                rows[i] = rows[i]._replace(verdict=NOT_KNOWN, why=why)
        return sorted(rows, key=lambda r: (r.group is None, r.group or 0))

    def before_an_error(self, p: Any, row: Move) -> Move:
        """Return a row as far as it is known: where the step of another parameter raises, nobody
        knows how far it gets before."""
        is_stepped = row.group is not None and grad_of(p) is not None
        if not self.raised or not is_stepped or row.verdict == NOT_KNOWN:
            return row
        why = say("moving.raises_elsewhere", error=self.raised)
        return row._replace(verdict=NOT_KNOWN, why=why)


def _row(group: int | None, name: str, p: Any, verdict: str, why: str) -> Move:
    """Return the row of one parameter, without what its optimizer holds of it."""
    grad = grad_of(p)
    return Move(
        group,
        name,
        requires_grad=p.requires_grad,
        grad=grad_word(grad),
        state="",
        settings="",
        verdict=verdict,
        why=why,
        largest=None if grad is None else largest(grad),
    )


def _settings_of(group: Mapping[str, Any]) -> list[str]:
    """Return the settings of a group that are not zero; the learning rate always."""
    settings = {name: as_number(group.get(name)) for name in ("lr", "momentum", *DECAYS)}
    return [setting(k, v) for k, v in settings.items() if v is not None and (v or k == "lr")]


def name_in_group(group: Mapping[str, Any], position: int, index: int) -> str:
    """Return what a parameter of a group is called where nobody has a name for it.

    >>> name_in_group({"params": []}, 2, 0), name_in_group({"param_names": ["w"]}, 0, 0)
    ('parameter 2 of group 0', 'w')
    """
    names = group.get("param_names", ())
    if position < len(names):
        return str(names[position])
    return say("moving.in_group", position=position, group=index)


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
