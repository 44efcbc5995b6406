"""Generators that are trained to be found out: their loss asks of a discriminator for the judgement
of generated data that the discriminator's own loss asks for. Knows no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import permutations, product
from typing import Any, NamedTuple

from gradviz.graph.effects import PRODUCTS
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Call
from gradviz.why.account.climbing import signed_states
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.loss_rows import loss_rows
from gradviz.why.evidence.measured import numbers
from gradviz.words.words import Words

_TARGETED = {
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
    *("cross_entropy", "mse_loss"),
}
_RISES = {"relu", "softplus", "logsigmoid", "sigmoid", "log", "clamp", "sum", "mean"}
_TURNS = {"neg", "rsub", "__rsub__"}
_NEAR = 0.25  # of the way from the judgement of generated data to that of real data
_CONSTANTS = {"ones": 1.0, "ones_like": 1.0, "zeros": 0.0, "zeros_like": 0.0}


class Judged(NamedTuple):
    """What a loss asks a judgement to be.

    Attributes:
        call: that compares it with a target, or gives what is to rise or to fall.
        score: the state that is judged.
        asked: the one number that its targets are; 1 where it is to rise, -1 where it is to fall.
        loss: the state on which the backward was called.
    """

    call: Call
    score: int
    asked: float
    loss: int

    @property
    def target(self) -> int | None:
        """The targets; None where it is to rise or to fall."""
        is_targeted = self.call.function in _TARGETED
        return self.call.inputs[1] if is_targeted else None


def found_out(
    facts: Facts, words: Words, steps: Steps, values_of: Callable[[int], Any]
) -> Iterator[Remark]:
    """Tell of a loss that trains some weights towards the judgement of what they make by which
    others learnt to tell that from what they do not make.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        steps: what they used.
        values_of: returns a living tensor that holds the values of a state; None where there is
            none.
    """
    judged = _Judgements(facts, values_of)
    by_moved = _losses_by_moved(facts, steps)
    for judge, maker in permutations(by_moved, 2):
        if judge & maker:
            continue
        own, asked = (judged.of(by_moved[leaves], judge) for leaves in (judge, maker))
        made = {j for j in (*own, *asked) if judged.is_made_by(j, maker)}
        found = next(_alike(own, asked, made), None)
        if found is not None:
            yield _told(words, steps, judge, maker, *found)


def _told(
    words: Words,
    steps: Steps,
    judge: frozenset[int],
    maker: frozenset[int],
    asked: Judged,
    made: Judged,
    real: Judged,
) -> Remark:
    """Tell of one loss."""
    fields = {
        "call": words.at(asked.call),
        "loss": words.name(asked.loss),
        "other": words.at(made.call),
        "judge": steps.names(judge),
        "maker": steps.names(maker),
        "score": words.name(asked.score),
    }
    key = "asks_to_be_found_out"
    if asked.target is not None and real.target is not None:
        key = "target_of_the_judge"
        fields["target"] = words.name(asked.target)
        fields["real"] = words.as_written(real.target)
        fields["place"] = words.where(real.call)
    return Remark(Weight.WEIGHTY, key, fields, (asked.call, made.call), maker)


def _losses_by_moved(facts: Facts, steps: Steps) -> dict[frozenset[int], list[int]]:
    """Return the last loss of each line that called backward, by the leaves that steps moved by its
    gradient."""
    moved = grouped((moment.run, used.leaf) for used in steps.used for moment in used.added)
    last = [row.calls[-1] for row in loss_rows(facts)]
    runs = ((facts.run_of_call[call.id].run, call.inputs[0]) for call in last)
    return grouped((frozenset(moved[run]), loss) for run, loss in runs if run in moved)


def _alike(
    own: Sequence[Judged], asked: Sequence[Judged], made: Set[Judged]
) -> Iterator[tuple[Judged, Judged, Judged]]:
    """Yield what is asked of made data that a judge's own losses ask of it, too, with theirs of it
    and of other data."""
    of_made, of_real = [j for j in own if j in made], [j for j in own if j not in made]
    for one, found, real in product((j for j in asked if j in made), of_made, of_real):
        kinds = {j.call.function if j.target is not None else "" for j in (one, found, real)}
        apart = abs(found.asked - real.asked)
        if len(kinds) == 1 and abs(one.asked - found.asked) < _NEAR * apart:
            yield one, found, real


class _Judgements:
    """What the losses of a recording ask.

    Args:
        facts: of the recording.
        values_of: as ``found_out`` takes it.
    """

    def __init__(self, facts: Facts, values_of: Callable[[int], Any]) -> None:
        self.facts, self.tensor, self.values_of = facts, facts.graph.tensor, values_of

    def of(self, losses: Sequence[int], judge: frozenset[int]) -> list[Judged]:
        """Return what some losses ask of scores that some leaves compute."""
        every = (judged for loss in losses for judged in self._in(loss))
        return [judged for judged in every if judge & self._behind(judged.score)]

    def is_made_by(self, judged: Judged, leaves: frozenset[int]) -> bool:
        """Say whether what is judged was computed with some leaves, cut off from them or not."""
        return bool(leaves & self._behind(judged.score))

    def _behind(self, state: int) -> set[int]:
        """Return the objects whose values a state holds; nothing where a Function of the program's
        own, which may turn gradients around, stands between."""
        behind = self.facts.ancestors([state])
        makers = (self.facts.maker.get(i) for i in behind)
        is_own = any(made is not None and made.function.endswith(".apply") for made in makers)
        return set() if is_own else {self.tensor[i].object_id for i in behind}

    def _in(self, loss: int) -> Iterator[Judged]:
        """Yield what one loss asks."""
        for state, sign in signed_states(self.facts, loss):
            made = self.facts.maker.get(state)
            function = "" if made is None else plain_name(made.function)
            if made is not None and function in _TARGETED and sign > 0:
                asked = self._constant(made.inputs[1]) if len(made.inputs) > 1 else None
                if asked is not None:
                    yield Judged(made, made.inputs[0], asked, loss)
            elif made is not None and function in _RISES:
                yield from self._rising(made, sign, loss)

    def _rising(self, call: Call, sign: int, loss: int) -> Iterator[Judged]:
        """Yield the state that a loss asks to rise or to fall, behind what rises with it."""
        state = call.inputs[0]
        while (made := self.facts.maker.get(state)) is not None and made.inputs:
            function = plain_name(made.function)
            turns = function in _TURNS
            is_sum = function in ("add", "sub") and len(made.inputs) == 1
            if not (turns or is_sum or function in _RISES):
                break
            sign = -sign if turns else sign
            state = made.inputs[0]
        if made is not None and plain_name(made.function) not in _TARGETED | PRODUCTS | {"pow"}:
            yield Judged(call, state, -float(sign), loss)

    def _constant(self, state: int) -> float | None:
        """Return the one number that all targets are; None where they differ or are not known."""
        made = self.facts.maker.get(computed(self.facts, state))
        if made is not None and made.function in _CONSTANTS:
            return _CONSTANTS[made.function]
        read = numbers(self.tensor[state].values or "")
        if read is None and (living := self.values_of(state)) is not None:
            read = [float(living.min()), float(living.max())]
        return read[0] if read and len({*read}) == 1 else None
