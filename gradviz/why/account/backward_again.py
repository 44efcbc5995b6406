"""A second backward from the same tensor: it adds the same gradient once more, and gives no second
derivative. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gradviz.graph.records import Backward
from gradviz.graph.training import Did, line_of
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.account.steps import Steps


def backward_again(steps: Steps) -> Iterator[Remark]:
    """Tell of a backward from what the backward before it began with, too, where nothing cleared or
    used the gradients in between.

    Args:
        steps: of the recording.
    """
    call, told = steps.facts.graph.call, set[object]()
    runs = [b for b in steps.facts.graph.backwards if b.kind == "backward"]
    for first, second in pairwise(runs):
        one, other = call[first.call_id], call[second.call_id]
        # another gradient to begin with, as a row of a Jacobian, would be a second input
        if one.inputs != other.inputs or len(one.inputs) != 1:
            continue
        twice = _filled_twice(steps, first, second)
        place = line_of(one), line_of(other)
        if not twice or place in told or len(set(place)) < 2:
            continue
        told.add(place)
        fields = {
            "loss": steps.words.as_written(one.inputs[0]),
            "first": steps.words.at(one),
            "second": steps.words.at(other),
            "names": steps.names(twice),
            "leaf": steps.words.as_written(steps.facts.latest_state[min(twice)].id),
        }
        yield Remark(Weight.WEIGHTY, "backward_again", fields, (other, one), frozenset(twice))


def _filled_twice(steps: Steps, first: Backward, second: Backward) -> set[int]:
    """Return the leaves, by object id, to whose gradient one backward added what another one had
    brought right before it."""
    found = set[int]()
    for leaf, row in steps.training.moments.items():
        for before, after in pairwise(row):
            is_added = before.did is after.did is Did.ADDED
            if is_added and (before.run, after.run) == (first.run, second.run) and after.onto:
                found.add(leaf)
    return found
