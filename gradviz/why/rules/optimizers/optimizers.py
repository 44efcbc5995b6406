"""What the optimizers do to what was asked about: which parameters they hold, and what their next
step moves."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Any

import torch

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Source, Tensor
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, source_of
from gradviz.watch.identity import parameters
from gradviz.why.evidence.paths import Paths
from gradviz.why.question.subjects import Subjects, apart, held_by
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.why.survey.moving import MOVES, Move, Moves, will_it_move
from gradviz.why.survey.trial import grad_of
from gradviz.words.speech import say, several


class Optimizers(Subjects):
    """The subjects, and the optimizers that may train them.

    Each method that takes an answer is a second look: see ``TABLE`` in ``why/answering/table.py``.
    """

    # --- what the next step does ------------------------------------------------------------------

    @cached_property
    def held(self) -> dict[str, Any]:
        """The parameters of the optimizers and modules that were given, each under a name of its
        own."""
        every = held_by(self.optimizers) | {id(p): p for m in self.modules for p in parameters(m)}
        nameless = (say("entry.nth_parameter", n=i) for i in range(len(every)))
        names = map(self.title, every.values(), nameless)
        return dict(apart(zip(names, every.values(), strict=True)))

    @cached_property
    def tables(self) -> list[Moves]:
        """What the next step of each optimizer does."""
        frozen = any(
            not p.requires_grad and p.is_leaf and p.grad is not None for p in self.held.values()
        )
        optimizers = self.optimizers or (self.known_optimizers if frozen else ())
        return [will_it_move(optimizer, self.held) for optimizer in optimizers]

    @cached_property
    def moves(self) -> dict[str, Move]:
        """The same for each parameter; of what none of them holds the group is None."""
        rows = [row for table in self.tables for row in table.rows]
        rows.sort(key=lambda row: (row.group is not None, row.verdict == MOVES))
        return {row.name: row for row in rows}

    @property
    def trained_moves(self) -> list[Move]:
        """What the next step does to each parameter that requires grad."""
        return [row for row in self.moves.values() if row.requires_grad]

    @property
    def optimizer_names(self) -> str:
        """What the optimizers that were given are called."""
        return several(list(map(self.optimizer_name, self.optimizers)))

    def steps_asked(self, found: Explanation) -> bool:
        """Say whether an optimizer was given."""
        return bool(self.optimizers)

    def fine_step_asked(self, found: Explanation) -> bool:
        """Say whether an optimizer was given, and its parameters have what they need to move."""
        return bool(self.optimizers) and found.cause.level is Level.FINE

    def step_untold(self, found: Explanation) -> bool:
        """Say whether an optimizer was given, and the answer so far is not about its step."""
        told = (Cause.NON_LEAF_IN_OPTIMIZER, Cause.NOT_MOVED)
        return bool(self.optimizers) and found.cause not in told

    # --- a learning rate of zero ------------------------------------------------------------------

    @cached_property
    def statements(self) -> Statements:
        """The user's code that ran."""
        return Statements.of(self.recording)

    @property
    def outside(self) -> list[Move]:
        """The parameters that require grad, and that no optimizer which was given holds."""
        return [row for row in self.trained_moves if row.group is None]

    def with_moves(self, found: Explanation) -> Explanation:
        """Return the same answer, with what each optimizer's next step moves and leaves out."""
        optimizers = self.optimizer_names
        outside = [row.name for row in self.outside]
        zero = [row for row in self.trained_moves if row.verdict == MOVES and row.has_zero_grad]
        notes = list[str]()
        if outside:
            names = pattern(outside)
            notes.append(say("entry.does_not_hold", optimizers=optimizers, names=names))
        if zero:
            names, why = pattern([row.name for row in zero]), zero[0].why
            notes.append(say("entry.moves_by_zero", optimizers=optimizers, names=names, reason=why))
        notes += [table.verdict for table in self.tables]
        return found._replace(more=(*found.more, *notes))

    # --- parameters that no optimizer holds -------------------------------------------------------

    def nothing_wrong(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, or have not come yet."""
        return found.cause.level is Level.FINE or found.cause is Cause.NO_BACKWARD_YET

    def steps_seen(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, and a recording may tell what the optimizers
        moved."""
        return found.cause.level is Level.FINE and self.steps_recorded(found)

    def steps_recorded(self, found: Explanation) -> bool:
        """Say whether a recording may tell what the optimizers moved, and the answer so far is no
        fault that nobody can have meant."""
        mild = Level.FINE <= found.cause.level <= Level.SUSPECT
        return mild and bool(self.recording) and bool(self.held_by_any)

    @cached_property
    def held_by_any(self) -> dict[int, Any]:
        """The parameters of all optimizers that are given or known, by identity."""
        return held_by([*self.optimizers, *self.known_optimizers])

    @cached_property
    def never_written(self) -> dict[int, Tensor]:
        """Those of ``leaves_never_written`` that are parameters."""
        live = self.reached_leaves(self.paths)
        every = self.leaves_never_written
        return {i: state for i, state in every.items() if _is_learning_parameter(live[i][0])}

    @cached_property
    def leaves_never_written(self) -> dict[int, Tensor]:
        """The states of leaves that the loss reaches, and that no optimizer holds and no call
        wrote, where a step of the optimizers was recorded; none of inputs by which the program
        differentiates."""
        live = self.reached_leaves(self.paths)
        rewritten = self.facts.rewritten
        stepped = {i for i, (_, state) in live.items() if state.storage_id in rewritten}
        if stepped.isdisjoint(self.held_by_any):
            return {}
        return {
            i: state
            for i, (p, state) in live.items()
            if i not in self.held_by_any and i not in stepped and learns(p)
            if state.object_id not in self.facts.differentiated_by
        }

    @cached_property
    def paths(self) -> Paths:
        """The ways from the losses that were given."""
        return Paths(self.graph, self.loss_ids)

    def with_unheld(self, found: Explanation) -> Explanation | None:
        """Return the same answer, with the parameters that no call wrote."""
        new = self.never_written
        if not new or self.optimizers:  # left out by intention?
            return None
        name = self.words.name
        names = pattern([self.called.get(i) or name(state.id) for i, state in new.items()])
        made = [place for o in self.known_optimizers for place in self.where_made(o)]
        if not made:
            return self.beside(found, say("entry.not_held", names=names))
        words = self.words
        note = say(
            "entry.not_held_by",
            names=names,
            n=len(new),
            made=[words.source(place) for place in made],
            optimizer=self.optimizer_name(self.known_optimizers[0]),
        )
        lines = (*found.lines, *lines_of((), made))
        return self.beside(found, note)._replace(lines=tuple(dict.fromkeys(lines)))

    def where_made(self, optimizer: Any) -> list[Source]:
        """Return the one statement that makes an optimizer of its class; where there are several,
        or none, the one that binds its name to what a call made."""
        makes = [
            source_of(file, statement_or_head(node) or node)
            for file, node in self.statements.nodes(ast.Call)
            if callee_of(node.func) == type(optimizer).__name__
        ]
        if len(makes) == 1:
            return makes
        name = self.called.get(id(optimizer), "")
        _, dot, attribute = name.rpartition(".")
        bound = self.statements.sets(attribute) if dot else self.statements.binds(name)
        places = [place for place, node in bound if isinstance(node.value, ast.Call)]
        return places if len(places) == 1 else []

    def reached_leaves(self, paths: Paths) -> dict[int, tuple[Any, Tensor]]:
        """Return the living leaves that the loss reaches and their states, by identity."""
        reached = paths.facts.reachable(paths.roots)
        if self.recording is None:
            return {}
        return {
            id(t): (t, state)
            for t in self.recording.living()
            if (state := self.recording.find(t))
            and paths.facts.accumulate_node.get(state.object_id) in reached
        }


def at_the_same(found: Explanation, told: Explanation) -> Explanation:
    """Return an answer that points at what another one pointed at."""
    return found._replace(
        cause=told.cause,
        verdict=told.verdict,
        why=told.why,
        mend=told.mend,
        ruled_out=told.ruled_out,
        finding=told.finding,
    )


def learns(p: Any) -> bool:
    """Say whether it has a gradient to learn from."""
    return p.requires_grad and grad_of(p) is not None


def _is_learning_parameter(p: Any) -> bool:
    """Say whether it is a parameter that has a gradient to learn from."""
    return learns(p) and isinstance(p, torch.nn.Parameter)
