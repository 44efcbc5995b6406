"""One answer for many tensors: the fault that most of them share, and how many there are. Knows no
torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradviz.graph.findings import Cause, Level
from gradviz.graph.parameter_groups import (
    ELLIPSIS,
    EVERYTHING,
    joined,
    name_of,
    parts_of,
    ranged,
)
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation, offs, worded
from gradviz.words.speech import FEW, say, several
from gradviz.words.words import Words, reason_of

Told = list[tuple[Asked, Explanation]]  # each tensor that was asked about, with its answer
# forms of zeros that are the right gradient
RIGHT_ZEROS = ("zero_factor", "cancels", "at_minimum", "loss_zero_now")
PASSES_ON = "passes_on"  # form: a result, whose own .grad nobody reads
# forms: it gets no gradient, and its values by copying; or it drops out of a derivative
WITHOUT = ("copied_into", "drops_out", PASSES_ON)
# forms: their gradient is from another loss, or their values
FROZEN_FOR = "frozen_for"  # form: frozen while this loss was computed
OF_ANOTHER = ("of_another", "kept_and_trained", FROZEN_FOR, *WITHOUT)
# forms: an iteration before the last one trained it, or another in its place
IN_TURN = ("trained_before", "set_aside", "alternative")
ENDS = "ends"  # form: nothing that was made from it goes on to the loss, with or without the cut
# forms: a step used their gradient, and it was cleared
HAD = ("done", "used_earlier")
NOBODY = Asked("", None, requires_grad=False, is_leaf=True)  # of what is told of all of them


class Many:
    """The answers about many tensors, sorted.

    Args:
        told: the tensors and their answers.
        gradients: what gave them.
        was_recorded: whether a recording saw what was asked about.
        aside: answers about leaves that are not counted, as what keeps these off is meant.
        beside: names of leaves that are trained, and not counted, as no module has them.
    """

    def __init__(
        self,
        told: Told,
        gradients: Gradients,
        was_recorded: bool,
        aside: Told | None = None,
        beside: Sequence[str] = (),
    ) -> None:
        self.told, self.aside, self.beside = told, aside or [], list(beside)
        self.gradients = gradients
        self.was_recorded = was_recorded
        self.trains = _without_cancelled([(a, e) for a, e in told if e.cause is not Cause.FROZEN])
        self.frozen = len(told) - len(self.trains)
        self.faults = [(a, e) for a, e in self.trains if e.cause.level is not Level.FINE]

    def all_frozen(self) -> Explanation | None:
        """Tell that none of them is to get a gradient."""
        if self.trains:
            return None
        first = self.told[0][1]
        if all(e.form in ("frozen_now", "frozen_since") for _, e in self.told):
            return first._replace(verdict=_verdict_on(self.told, self.gradients.words))
        names = pattern([asked.name for asked, _ in self.told])
        frozen = self.gradients.answer(
            NOBODY, Cause.FROZEN, "all_frozen", n=len(self.told), names=names
        )
        return first._replace(verdict=frozen.verdict, finding=frozen.finding)

    def all_fine(self) -> Explanation | None:
        """Tell that each of them has its gradient, or had it."""
        if self.faults:
            return None
        if self.are_results:
            return self.all_results()
        fine = self.gradients.answer(
            NOBODY,
            Cause.HEALTHY,
            "fine" if self.was_recorded else "fine_unseen",
            what=self._with_not_counted(self.what_is_fine()),
        )
        zero = [e for _, e in self.trains if e.form in RIGHT_ZEROS]
        others = list(self.of_another.values())
        if len(others) == 1 and len(others[0]) == len(self.trains):
            alike = others[0][0][1]
            return alike._replace(verdict=_verdict_on(others[0], self.gradients.words))
        own = [e for _, e in self.trains if e.form not in OF_ANOTHER]
        first = (zero or own or [self.trains[0][1]])[0]
        told = [self.trained_by_another(group) for group in others]
        return first._replace(
            verdict=fine.verdict,
            finding=fine.finding,
            why=zero[0].why if zero else fine.why,
            tensor_ids=(),
            more=(*(e.verdict for e in zero[:1]), *told),
            ruled_out=_by_all(self.trains),
        )

    @property
    def are_results(self) -> bool:
        """Whether all of them are results, of which nobody reads a gradient."""
        return bool(self.trains) and all(e.form == PASSES_ON for _, e in self.trains)

    def all_results(self) -> Explanation:
        """Tell of results alone: of the first two."""
        first, *others = (e for _, e in self.trains)
        verdicts = dict.fromkeys(e.verdict for e in others if e.verdict != first.verdict)
        return first._replace(more=(*first.more, *[*verdicts][:1]))

    def trained_by_another(self, group: Told) -> str:
        """Say from which loss some parameters have their gradient, and why not from this one."""
        finding = group[0][1].finding
        fields, loss = finding.fields, finding.loss  # of several losses the one that does not
        if group[0][1].form in WITHOUT:
            return _verdict_on(group, self.gradients.words, [a.name for a, _ in self.told])
        names = pattern([a.name for a, _ in group], [a.name for a, _ in self.told])
        others = fields["others"]
        if "cutter" in fields:
            cutter = fields["cutter"]
            return say("entry.kept", names=names, others=others, loss=loss, cutter=cutter)
        if finding.form == FROZEN_FOR:
            return say("entry.frozen_for", names=names, others=others, loss=loss)
        return say("entry.of_another", names=names, others=others, loss=loss)

    @property
    def of_another(self) -> dict[tuple[str, str], Told]:
        """Return those that get their gradient from another loss than the one that was given, by
        what is said of them."""
        groups: dict[tuple[str, str], Told] = {}
        for asked, found in self.trains:
            if found.form in OF_ANOTHER:
                groups.setdefault((found.form, _why_not(found)), []).append((asked, found))
        return groups

    def what_is_fine(self) -> str:
        """Say how many have their gradient, or had it."""
        trains = [(a, e) for a, e in self.trains if e.form not in WITHOUT]
        had = sum(e.form in HAD for _, e in trains)
        total = f"{len(trains):,}"
        if had == len(trains):
            return say("entry.all_had", n=total, frozen=self.frozen)
        if had:
            return say("entry.all_have_or_had", n=total, frozen=self.frozen)
        turns = sum(e.form in IN_TURN and a.grad == "none" for a, e in trains)
        if turns:
            have = f"{len(trains) - turns:,}"
            return say("entry.in_turn", have=have, n=total, turns=turns, frozen=self.frozen)
        cleared = sum(e.form in OF_ANOTHER and a.grad == "none" for a, e in trains)
        if cleared:
            have = f"{len(trains) - cleared:,}"
            fields = {"have": have, "n": total, "cleared": cleared, "frozen": self.frozen}
            return say("entry.others_cleared", **fields)
        return self._all_have(trains)

    def _all_have(self, trains: Told) -> str:
        """Say that all have their gradient, and of which that is exactly 0."""
        zeros = sum(e.form in RIGHT_ZEROS for _, e in trains)
        others = [a for a, e in trains if a.grad == "zero" and e.form not in RIGHT_ZEROS]
        total, n, turned = f"{len(trains):,}", len(trains), self._by_turns(trains)
        if others and not turned:
            fields = {"n": total, "count": n, "frozen": self.frozen, "others": zeros}
            return say("entry.some_zeros", names=pattern([a.name for a in others]), **fields)
        if zeros:
            return say("entry.all_have_zeros", n=total, count=n, zeros=zeros, frozen=self.frozen)
        return turned or say("entry.all_have", n=total, count=n, frozen=self.frozen)

    def _with_not_counted(self, what: str) -> str:
        """Return the same, with how many are kept off that are not counted, and which leaves."""
        if self.beside:
            what = say("entry.not_of_modules", what=what, names=self.beside)
        if not self.aside:
            return what
        cutters = dict.fromkeys(reason_of(cut) for _, e in self.aside for cut in e.cuts)
        return say("entry.not_counted", what=what, n=len(self.aside), cutters=list(cutters))

    def _by_turns(self, trains: Told) -> str:
        """Say how many have their gradient of which some are switched off by now, until it is their
        turn; "" where none is."""
        off = [asked for asked, found in trains if found.form == "frozen_in_turns"]
        if not off:
            return ""
        n, zeros = f"{len(trains):,}", sum(asked.grad == "zero" for asked in off)
        fields = {"n": n, "count": len(trains), "frozen": len(off), "others": self.frozen}
        if zeros:
            return say("entry.frozen_by_turns_zeros", zeros=zeros, **fields)
        return say("entry.frozen_by_turns", **fields)

    def gravest(self) -> Explanation:
        """Tell of the gravest fault, and how many share it."""
        group, *others = _gravest_first(self.faults)
        first = group[0][1]
        every = [a.name for a, _ in (*self.told, *self.aside)]
        numbers = _numbers(self.trains, self.frozen, self.gradients)
        if self.aside:
            numbers = f"{self._with_not_counted(numbers.removesuffix('.'))}."
        next_verdicts = (
            [_verdict_on(_alike(others[0]), self.gradients.words, every)] if others else []
        )
        return first._replace(
            verdict=_verdict_on(group, self.gradients.words, every),
            mend=_mend_of(group, self.gradients.words),
            cuts=tuple(dict.fromkeys(c for _, e in group for c in e.cuts)),
            more=(numbers, *next_verdicts),
            ruled_out=_by_all(group),
        )


def _why_not(found: Explanation) -> str:
    """Return what is the same for all that a loss does not train for one reason: what the sentence
    says of them; of what gets its values by copying, and of the rest, where it is."""
    fields = found.finding.fields
    if found.form in WITHOUT or "others" not in fields:
        return found.where
    return f"{found.finding.loss} {fields['others']} {fields.get('cutter', '')}"


def _verdict_on(group: Told, words: Words, among: Sequence[str] = ()) -> str:
    """Return what is said of every one of a group, of those that were asked about."""
    first = group[0][1]
    if len(group) == 1:
        return first.verdict
    names = pattern([a.name for a, _ in group], among)
    return worded(first.finding, words, group=names).verdict


def _alike(group: Told) -> Told:
    """Return those of a group of which the same may be said in one sentence: those whose answer has
    the form of its first."""
    form = min(group, key=lambda told: told[1].verdict)[1].form
    return [(asked, found) for asked, found in group if found.form == form]


def _mend_of(group: Told, words: Words) -> str:
    """Return what mends a group: that of the first does, but where each weight needs its own."""
    first = group[0][1]
    names = [asked.name for asked, _ in group if not asked.name.endswith("bias")]
    if first.form != "both_zero" or len(names) < 2:
        return first.mend
    return worded(first.finding._replace(subject=pattern(names)), words).mend


def _without_cancelled(trains: Told) -> Told:
    """Call a bias healthy whose contributions cancel, where other parameters get a gradient."""
    if all(e.cause is not Cause.HEALTHY for _, e in trains):
        return trains
    return [(a, e._replace(cause=Cause.HEALTHY) if e.form == "cancels" else e) for a, e in trains]


def _gravest_first(faults: Told) -> list[Told]:
    """Return the answers by what they share, the gravest first; of equally grave ones first what
    points at something, then what most of them share, then the first."""
    groups: dict[Any, Told] = {}
    for asked, found in faults:
        why = found.why if found.cause is Cause.ZERO_GRADIENT else ""
        # what one line switches off is one cause, wherever it was called
        where = offs(found.finding) or found.where
        is_used = found.form != ENDS
        groups.setdefault((found.cause, is_used, str(where), why), []).append((asked, found))
    return sorted(groups.values(), key=_weight, reverse=True)


def _weight(group: Told) -> tuple[int, bool, int]:
    """Return by what a group that shares one answer is ranked."""
    found = group[0][1]
    return found.cause.level, bool(found.cuts or found.lines or found.node_ids), len(group)


def _has_gradient(found: Explanation) -> bool:
    """Say whether an answer is that all is well, and neither for want of a gradient nor as another
    loss brings it."""
    return found.cause is Cause.HEALTHY and found.form not in OF_ANOTHER


def _numbers(trains: Told, frozen: int, gradients: Gradients) -> str:
    """Say how many get a gradient: ``4 trainable parameters: 2 reached, 2 not.``"""
    if gradients.losses:
        missing = next((a for a, _ in trains if a.grad == "none"), None)
        filling = (None if missing is None else gradients.of_backwards(missing)) or gradients
        reached = [
            (filling if a.grad == "none" else gradients).reaches(a) or _has_gradient(e)
            for a, e in trains
        ]
    else:
        reached = [a.grad not in ("none", "zero") for a, _ in trains]
    unknown = sum(gradients.hidden(a) and not r for (a, _), r in zip(trains, reached, strict=True))
    return say(
        "entry.numbers_reached" if gradients.losses else "entry.numbers_with_gradient",
        n=len(trains),
        reached=sum(reached),
        rest=len(trains) - sum(reached) - unknown,
        unknown=unknown,
        frozen=frozen,
    )


def _by_all(told: Told) -> tuple[str, ...]:
    """Return what was ruled out for each of them."""
    return tuple(out for out in told[0][1].ruled_out if all(out in e.ruled_out for _, e in told))


# --- names ----------------------------------------------------------------------------------------


def pattern(names: list[str], among: Sequence[str] = ()) -> str:
    """Return one name for many, or as few as they have. ``among``: all that are known, for ``*``
    means every one.

    >>> pattern([f"layers.{i}.{m}" for i in range(3) for m in "qk"]), pattern(["a.weight", "b"])
    ('layers.{0..2}.{q,k}', 'a.weight and b')
    >>> pattern(["l.0.q", "l.0.k.w", "l.1.q", "l.1.k.w"], ["l.0.q", "l.0.k.w", "l.1.q", "l.1.k.w"])
    'l.{0,1}.* (4 in all)'
    """
    parts = [parts_of(n) for n in names]
    columns = [list(dict.fromkeys(c)) for c in zip(*parts, strict=False)]
    every = math.prod(len(column) for column in columns) == len(set(names))
    if every and len({len(p) for p in parts}) == 1:
        found = [joined(map(ranged, columns))]
    else:
        found = name_of(names, among)
    if len(found) == len(names) or 1 < len(found) <= len(names) <= FEW:
        return several(names)
    counts = all(ELLIPSIS not in name and not name.endswith(EVERYTHING) for name in found)
    if len(found) == 1 and counts:
        return found[0]
    return say("entry.in_all", n=len(set(names)), names=found)
