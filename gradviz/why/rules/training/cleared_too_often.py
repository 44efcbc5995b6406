"""Gradients that are cleared before a step could use them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.graph.training import Did, Moment, Training, line_of
from gradviz.names.position import locate
from gradviz.why.explanation import Explanation
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.subjects import held_by


def cleared_unused(asked: Silent) -> Explanation | None:
    """Tell of backwards whose gradients were cleared, of which a step used the last one alone: they
    were to be accumulated."""
    training, mine = asked.training, asked.leaves
    if training.has_scaler or any(_is_broken(asked, i) for i in asked.facts.losses):
        return None  # steps were left out for that reason
    for leaf in mine:
        wasted = list[Moment]()
        for moment in training.moments[leaf]:
            if moment.did is Did.ADDED:
                wasted.append(moment)
            elif moment.did is Did.STEPPED:
                row = _thrown_away(training, wasted)
                if row and not _is_given_closure(asked, moment.call):
                    return _cleared(asked, mine, row, moment)
                wasted = []
    return None


def _thrown_away(training: Training, row: Sequence[Moment]) -> list[Moment]:
    """Return the backwards before a step, where all but the last of them were of no use, and of the
    same line as it."""
    unused = training.unused
    if len(row) < 2 or row[-1].run in unused:
        return []
    *before, last = row
    same = all(line_of(m.call) == line_of(last.call) and m.run in unused for m in before)
    return list(row) if same else []


def _cleared(
    asked: Silent, mine: Sequence[int], row: Sequence[Moment], step: Moment
) -> Explanation:
    """Tell of the call that cleared what was to be accumulated."""
    clear = asked.training.unused[row[-2].run or 0]
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "before_step",
        calls=lines_once([clear, row[-1].call]),
        tensors=asked.states_of(mine),
        backwards=len(row),
        clear=asked.words.code(clear),
        step=asked.words.code(step.call),
    )


def never_stepped(asked: Silent) -> Explanation | None:
    """Tell of backwards in a loop, whose gradients were each cleared, and that no step used, though
    an optimizer has the parameters."""
    training = asked.training
    optimizers = [o for o in asked.known.values() if isinstance(o, torch.optim.Optimizer)]
    held = {asked.object_of(p) for p in held_by(optimizers).values()}
    found = dict[int, list[Moment]]()
    for leaf in asked.leaves:
        every = training.moments[leaf]
        unused = [m for m in every if m.did is Did.ADDED and m.run in training.unused]
        if leaf in held and Did.STEPPED not in {m.did for m in every} and _in_a_loop(unused):
            found[leaf] = unused
    if not found:
        return None
    row = next(iter(found.values()))
    clear = training.unused[row[-1].run or 0]
    return asked.answer(
        Cause.CLEARED_TOO_OFTEN,
        "never_stepped",
        calls=lines_once([row[-1].call, clear]),
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        backwards=len(row),
        clear=asked.words.code(clear),
    )


def _in_a_loop(added: Sequence[Moment]) -> bool:
    """Say whether several backwards of one line added to a gradient."""
    return len(added) > 1 and len({line_of(m.call) for m in added}) == 1


def _is_given_closure(asked: Silent, step: Call) -> bool:
    """Say whether something is passed to a step: a closure runs backward as often as it likes."""
    site = asked.recording.sites().get(step.id, ()) if asked.recording is not None else ()
    node = locate(*site[:2]).node if site else None
    return isinstance(node, ast.Call) and bool(node.args or node.keywords)


def _is_broken(asked: Silent, tensor_id: int) -> bool:
    """Say whether a loss is seen to be NaN or infinite."""
    values = asked.graph.tensor[tensor_id].values or ""
    return "nan" in values or "inf" in values
