"""What the optimizers do to what was asked about: which parameters they hold, and what their next
step moves."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import torch

from gradviz.graph.findings import Cause, Level
from gradviz.graph.records import Tensor
from gradviz.why.explanation import Explanation
from gradviz.why.many import pattern
from gradviz.why.moving import MOVES, STAYS, Move, Moves, will_it_move
from gradviz.why.paths import Paths
from gradviz.why.subjects import Subjects, apart, held_by, of_kind
from gradviz.words.speech import say, several


class Optimizers(Subjects):
    """The subjects, and the optimizers that may train them.

    Each method that takes an answer is a second look: see ``TABLE`` in ``why/table.py``.
    """

    # --- what the next step does ------------------------------------------------------------------

    @cached_property
    def held(self) -> dict[str, Any]:
        """The parameters of the optimizers and modules that were given, each under a name of its
        own."""
        every = held_by(self.optimizers) | {id(p): p for m in self.modules for p in m.parameters()}
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

    def holds_results(self, found: Explanation) -> Explanation | None:
        """Tell of a result in the place of a leaf."""
        results = [
            n for n, p in self.held.items() if not p.is_leaf and self.moves[n].group is not None
        ]
        if not results:
            return None
        cause = Cause.NON_LEAF_IN_OPTIMIZER
        names = pattern(results)
        told = self.answer(cause, "holds_result", optimizers=self.optimizer_names, names=names)
        return _at_the_same(found, told)

    def left_in_place(self, found: Explanation) -> Explanation | None:
        """Tell of parameters that have a gradient, and that the next step does not move."""
        stays = [
            row
            for row in self.trained_moves
            if row.verdict == STAYS and row.group is not None and row.has_finite_grad
        ]
        if not stays:
            return None
        told = self.answer(
            Cause.NOT_MOVED,
            "stays",
            optimizers=self.optimizer_names,
            names=pattern([row.name for row in stays]),
            reason=stays[0].why,
        )
        return _at_the_same(found, told)._replace(where="", more=())

    def holds_another_model(self, found: Explanation) -> Explanation | None:
        """Tell that the optimizers hold nothing of the one model that was given."""
        outside = self.outside
        if not outside or not self.of_another_model(outside):
            return None
        told = self.answer(
            Cause.NOT_MOVED,
            "holds_none",
            optimizers=self.optimizer_names,
            names=pattern([row.name for row in outside]),
        )
        return _at_the_same(found, told)._replace(where="", more=())

    @property
    def outside(self) -> list[Move]:
        """The parameters that require grad, and that no optimizer which was given holds."""
        return [row for row in self.trained_moves if row.group is None]

    def of_another_model(self, outside: list[Move]) -> bool:
        """Say whether the optimizers hold nothing of the one model that was given."""
        if len(self.modules) != 1:
            return False
        trained = sum(bool(p.requires_grad) for p in self.modules[0].parameters())
        return len(outside) == trained

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

    # --- parameters that took the place of others -------------------------------------------------

    def replaced(self, found: Explanation) -> Explanation | None:
        """Tell of parameters that took the place of some that an optimizer still holds."""
        modules = [*self.modules, *self.known_modules]
        optimizers = [*self.optimizers, *self.known_optimizers]
        live = {id(p): p for m in modules for p in m.parameters()}
        held = held_by(optimizers)
        asked = live if self.optimizers and not self.modules else self.targets()
        new = [p for i, p in live.items() if i in asked and i not in held and _learns(p)]
        for optimizer in optimizers if new else ():
            own = held_by([optimizer])
            # those of a part that nobody here has a name for may still be in use
            old = [p for i, p in own.items() if i not in live]
            if _took_the_place(new, old, bool(own.keys() & live.keys())):
                return self.replaced_in(optimizer, new, len(old))
        return None

    def replaced_in(self, optimizer: Any, new: list[Any], count: int) -> Explanation:
        """Tell of an optimizer that holds the parameters from before."""
        return self.answer(
            Cause.NOT_MOVED,
            "replaced",
            tensor_ids=[i for p in new if (i := self.ids.get(id(p))) is not None],
            names=pattern([self.title(p, say("entry.a_parameter")) for p in new]),
            optimizer=self.optimizer_name(optimizer),
            count=count,
        )

    # --- parameters that no optimizer holds -------------------------------------------------------

    def nothing_wrong(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, or have not come yet."""
        return found.cause.level is Level.FINE or found.cause is Cause.NO_BACKWARD_YET

    def steps_seen(self, found: Explanation) -> bool:
        """Say whether gradients are as they should be, and a recording may tell what the optimizers
        moved."""
        fine = found.cause.level is Level.FINE
        return fine and bool(self.recording) and bool(self.held_by_any)

    @cached_property
    def held_by_any(self) -> dict[int, Any]:
        """The parameters of all optimizers that are given or known, by identity."""
        return held_by([*self.optimizers, *self.known_optimizers])

    @cached_property
    def never_written(self) -> dict[int, Tensor]:
        """The states of parameters that the loss reaches, and that no optimizer holds and no call
        wrote, where a step of the optimizers was recorded."""
        live = self.reached_leaves(self.paths)
        rewritten = self.paths.facts.rewritten
        stepped = {i for i, (_, state) in live.items() if state.storage_id in rewritten}
        if stepped.isdisjoint(self.held_by_any):
            return {}
        return {
            i: state
            for i, (p, state) in live.items()
            if i not in self.held_by_any and i not in stepped and _is_learning_parameter(p)
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
        name = self.paths.words.name
        names = [self.called.get(i) or name(state.id) for i, state in new.items()]
        note = say("entry.not_held", names=pattern(names))
        return found._replace(more=(*found.more, note))

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

    def in_no_module(self, found: Explanation) -> Explanation | None:
        """Tell of parameters that no module lists, such as those in plain lists."""
        new = _in_none_of([*self.modules, *self.known_modules], self.never_written)
        if not new:
            return None
        name = self.paths.words.name
        places = {
            i: place
            for m in (*self.modules, *self.known_modules)
            for i, place in _in_plain_containers(m, self.called.get(id(m)) or type(m).__name__)
        }
        names = pattern(
            [
                places[i][0] if i in places else self.called.get(i) or name(state.id)
                for i, state in new.items()
            ]
        )
        ids = [state.id for state in new.values()]
        lists = list(dict.fromkeys(places[i][1] for i in new if i in places))
        if not lists:
            return self.answer(Cause.NOT_MOVED, "in_no_module", tensor_ids=ids, names=names)
        return self.answer(Cause.NOT_MOVED, "in_list", tensor_ids=ids, names=names, lists=lists)

    def left_out(self, found: Explanation) -> Explanation | None:
        """Tell what gets a gradient of a model, another part of which is in an optimizer, while no
        optimizer has this."""
        held = self.held_by_any
        if not held:
            return None
        paths = Paths(self.graph)
        for title, module in self.titled.items():
            trained = {id(p): p for p in module.parameters() if p.requires_grad and p.is_leaf}
            outside = {i: p for i, p in trained.items() if i not in held}
            states = self.states_with_gradient(outside, paths)
            if not states or not trained.keys() & held.keys():
                continue
            # One that has no name here may be an attribute of a trainer.
            every = held_by(of_kind(gc.get_objects(), torch.optim.Optimizer))
            left = {i: state for i, state in states.items() if i not in every}
            if left:
                return self.left_out_of(title, trained, left, len(trained.keys() & held.keys()))
        return None

    def left_out_of(
        self, title: str, trained: Mapping[int, Any], left: Mapping[int, Tensor | None], held: int
    ) -> Explanation:
        """Tell of parameters of a model that are in no optimizer, where others of it are.

        Args:
            title: what the model is called.
            trained: its parameters that require grad, by identity.
            left: the states of those that no optimizer holds.
            held: how many others an optimizer holds.
        """
        return self.answer(
            Cause.NOT_MOVED,
            "left_out",
            tensor_ids=[state.id for state in left.values() if state],
            names=pattern([self.title(trained[i], say("entry.a_parameter")) for i in left]),
            all=len(trained),
            model=title,
            held=held,
        )

    def states_with_gradient(
        self, parameters: Mapping[int, Any], paths: Paths
    ) -> dict[int, Tensor | None]:
        """Return the states of those that get a gradient and that no recorded call wrote; None of
        those that the recording did not meet."""
        states: dict[int, Tensor | None] = {}
        for i, p in parameters.items():
            state = self.recording.find(p) if self.recording else None
            if state and state.storage_id in paths.facts.rewritten:
                continue
            ran = (
                state is not None
                and paths.facts.accumulate_node.get(state.object_id) in paths.facts.ran
            )
            if p.grad is not None or ran:
                states[i] = state
        return states


def _at_the_same(found: Explanation, told: Explanation) -> Explanation:
    """Return an answer that points at what another one pointed at."""
    return found._replace(
        cause=told.cause,
        verdict=told.verdict,
        why=told.why,
        mend=told.mend,
        ruled_out=told.ruled_out,
        finding=told.finding,
    )


def _learns(p: Any) -> bool:
    """Say whether it has a gradient to learn from."""
    return p.requires_grad and p.grad is not None


def _is_learning_parameter(p: Any) -> bool:
    """Say whether it is a parameter that has a gradient to learn from."""
    return _learns(p) and isinstance(p, torch.nn.Parameter)


def _in_none_of(modules: list[Any], states: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """Return the states of those parameters that no module lists."""
    parts = {id(p) for m in modules for p in m.parameters()}
    return {i: state for i, state in states.items() if i not in parts}


def _took_the_place(new: list[Any], old: list[Any], others_stay: bool) -> bool:
    """Say whether parameters took the place of those of an optimizer that get no gradient now."""
    # of a model made anew
    alike = sorted(str(p.shape) for p in old) == sorted(str(p.shape) for p in new)
    return (others_stay or alike) and bool(old) and all(p.grad is None for p in old)


def _in_plain_containers(module: Any, title: str) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the parameters in plain lists and dicts of a module: identity, (path, that of the
    list)."""
    for path, part in module.named_modules():
        for name, value in list(vars(part).items()):
            if name.startswith("_"):
                continue
            place = ".".join(filter(None, (title, path, name)))
            for inner, p in _parameters_in(value):
                yield id(p), (".".join(filter(None, (place, inner))), place)


def _parameters_in(container: Any) -> Iterator[tuple[str, Any]]:
    """Yield what stands in a plain list or dict, and the parameters of modules there, by path."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(container, dict):
        parts = container.items()
    elif isinstance(container, (list, tuple)):
        parts = enumerate(container)
    for key, one in parts:
        inside = one.named_parameters() if isinstance(one, torch.nn.Module) else [("", one)]
        for name, p in inside:
            yield ".".join(filter(None, (str(key), name))), p
