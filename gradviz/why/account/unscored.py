"""Generators whose loss never goes through the network that judges what they make. Knows no
torch."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Cut, CutReason, Source
from gradviz.graph.training import line_of
from gradviz.names.frames import frames
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.summands import Summands
from gradviz.words.words import Words

_NAMES = re.compile(r"[\w., ]+ = ")  # a statement that gives a name


class Judged(NamedTuple):
    """What trains a judge: with what another network made and let go of, and with other data.

    Attributes:
        judge: the leaves that are trained so, by object id.
        maker: those of the network whose results were let go of.
        cut: the call that let go.
    """

    judge: frozenset[int]
    maker: frozenset[int]
    cut: Call


def unscored(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of a loss that trains a network whose results another one is trained to judge, where no
    loss of that network goes through its judge: a generator that never asks its discriminator.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    judged = next(_every_judged(facts), None)
    if judged is None:
        return
    own = [i for i in facts.losses if not judged.maker.isdisjoint(_leaves(facts, i))]
    names = [_network(facts, leaves) for leaves in (judged.maker, judged.judge)]
    if not own or not all(names) or _asks_a_judge(facts, judged, own):
        return
    tracked = Summands(Flow(facts.graph, [own[-1]])).tracked
    parts = [call for i in tracked if (call := facts.maker.get(i)) is not None]
    fields = {
        "loss": words.name(own[-1]),
        "parts": [_part(words, call) for call in parts],
        "maker": names[0],
        "judge": names[1],
        "cut": words.at(judged.cut),
    }
    places = tuple(Source(f.file, f.line, f.code) for call in parts for f in frames(call))
    calls = (*parts, judged.cut)
    yield Remark(Weight.WEIGHTY, "unscored", fields, calls, statements=places)


def _asks_a_judge(facts: Facts, judged: Judged, losses: list[int]) -> bool:
    """Say whether losses go through a judge or a copy of it, or train others as well: what learns
    by way of others, as an encoder by its decoder, is judged by them."""
    if any(not _leaves(facts, i) <= judged.maker for i in losses):
        return True
    # of a judge that is frozen meanwhile no leaf is reached, and a gradient goes through it
    states = {t.id for leaf in judged.judge for t in facts.states[leaf]}
    return bool(states & facts.ancestors(losses)) or _asks_a_copy(facts, judged, losses)


def _asks_a_copy(facts: Facts, judged: Judged, losses: list[int]) -> bool:
    """Say whether losses were computed with tensors of the sizes that a judge has: a copy of it."""
    behind, own = facts.ancestors(losses), judged.judge | judged.maker
    given = (facts.graph.tensor[i] for i in behind if i not in facts.maker)
    sizes = {str(t.shape) for t in given if t.object_id not in own}
    return {str(facts.states[leaf][0].shape) for leaf in judged.judge} <= sizes


def _every_judged(facts: Facts) -> Iterator[Judged]:
    """Yield every judge, as the last ``detach()`` of each line shows it."""
    last = {
        line_of(facts.graph.call[cut.call_id]) or cut.call_id: cut
        for cut in facts.real_cuts
        if cut.reason is CutReason.DETACH and cut.output_id in facts.in_losses
    }
    for cut in last.values():
        maker, judge = _leaves(facts, cut.input_id), _trained_with(facts, cut)
        if maker and maker.isdisjoint(judge) and _judges_others_too(facts, cut, judge):
            yield Judged(judge, maker, facts.graph.call[cut.call_id])


def _leaves(facts: Facts, tensor_id: int | None) -> frozenset[int]:
    """Return the leaves that a gradient of a tensor reaches, by object id."""
    return frozenset(t.object_id for t in facts.leaves_reached(tensor_id))


def _trained_with(facts: Facts, cut: Cut) -> frozenset[int]:
    """Return the leaves that the last loss trains that holds what a cut let go of."""
    losses = facts.goes_into(cut.output_id or 0)
    if not losses:
        return frozenset()
    backward = facts.graph.backwards[losses.bit_length() - 1]
    return _leaves(facts, next(iter(facts.graph.call[backward.call_id].inputs), None))


def _judges_others_too(facts: Facts, cut: Cut, judge: frozenset[int]) -> bool:
    """Say whether calls with one leaf of a judge were given both what a cut let go of, and, on the
    way to the same losses, what has nothing of it: the real data."""
    let_go, losses = cut.output_id, facts.goes_into(cut.output_id or 0)
    for leaf in judge:
        given = [
            facts.ancestors(call.inputs)
            for call in facts.readers.get(leaf, ())
            if any(facts.goes_into(i) & losses for i in call.outputs)
        ]
        if any(let_go in one for one in given) and not all(let_go in one for one in given):
            return True
    return False


def _network(facts: Facts, leaves: frozenset[int]) -> str:
    """Return the name of the network that has some leaves, as far as all of them share it; "" where
    no module has them."""
    named = [
        (module.name, *parameter.name.split("."))
        for module in facts.graph.modules
        for parameter in module.parameters
        if parameter.object_id in leaves
    ]
    columns = zip(*(path[:-1] for path in named), strict=False)
    shared = itertools.takewhile(lambda parts: len(set(parts)) == 1, columns)
    return ".".join(parts[0] for parts in shared)


def _part(words: Words, call: Call) -> str:
    """Return the statement that gives a part of a loss its name, or the one that makes it."""
    naming = next((f for f in frames(call) if _NAMES.match(f.code)), None)
    return words.statement(call) if naming is None else words.frame(naming)
