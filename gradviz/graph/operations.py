"""What a program computed, operation by operation, and which parameters got their gradient from
which operation. Knows no torch.

An *operation* is a recorded call that made or wrote a tensor: backwards, torch's own bookkeeping,
hooks, flags, and what only writes gradients are none. A *parameter* is a leaf that requires grad,
or that belongs to a module; it is known by the id of its tensor object.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from gradviz.graph.effects import DETACHED, NO_MEMORY
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Cut, CutReason, Graph, Wrote
from gradviz.graph.sent import Sent, SentGradients, number_of
from gradviz.graph.training import Training

# Below this norm, and not zero, a gradient counts as vanished: Adam's eps is 100 times larger.
VANISHING = 1e-10


class Operation(NamedTuple):
    """One recorded call that made or wrote tensors.

    Attributes:
        at: its place among the operations, from 0.
        call: the recorded call.
        reads: ids of the tensor states whose values it read.
        sources: for each of these, the operation that made it; None for a leaf, or for what is
            older than the recording.
        makes: ids of the tensor states that it made or wrote.
    """

    at: int
    call: Call
    reads: tuple[int, ...]
    sources: tuple[int | None, ...]
    makes: tuple[int, ...]


class Aside(NamedTuple):
    """Where a call wrote tracked values under another name of a tensor, and what gave that name."""

    storage_id: int | None
    reason: CutReason


class Fate(Enum):
    """What became of a parameter's gradient."""

    SOME = "some"
    NONE = "none"
    ZERO = "zero"
    VANISHED = "vanished"  # not zero, and too small to move anything
    NAN = "nan"  # or inf
    FROZEN = "frozen"  # requires_grad is False
    REACHED = "reached"  # no backward has run yet, and a gradient can come
    UNREACHED = "unreached"  # no backward has run yet, and none can come


HAS = (Fate.SOME, Fate.ZERO, Fate.VANISHED, Fate.NAN)  # a gradient, whichever
LOST = (Fate.NONE, Fate.UNREACHED)


class Weight(NamedTuple):
    """A parameter. ``name``: below its root module, or its variable; ``held`` and ``shape`` as in
    ``Parameter``; ``module_id`` None: it belongs to no module."""

    object_id: int | None
    name: str
    module_id: int | None
    fate: Fate
    held: bool | None
    shape: tuple[int, ...] | None

    @property
    def key(self) -> int:
        """The id of its object; -1, which no object has, where no call met it."""
        return -1 if self.object_id is None else self.object_id


class _Makers:
    """Which operation made or wrote each state, of the operations that were added so far. What only
    got another flag or ``.grad`` since was made where its object was.

    Args:
        before: the state of the same object before each.
    """

    def __init__(self, before: Mapping[int, int]) -> None:
        self.before = before
        self.made_by: dict[int, int] = {}
        # what was found of other states: a weight has one after each of a thousand steps
        self.found: dict[int, int | None] = {}

    def add(self, states: Sequence[int], at: int) -> None:
        """Note that an operation made these states."""
        if not self.found.keys().isdisjoint(states):
            self.found.clear()
        self.made_by.update(dict.fromkeys(states, at))

    def of(self, tensor_id: int) -> int | None:
        """Return the operation that made a state; None for a leaf, or what is older."""
        walked: list[int] = []
        state: int | None = tensor_id
        while state is not None and state not in self.made_by and state not in self.found:
            walked.append(state)
            state = self.before.get(state)
        at = None if state is None else self.made_by.get(state, self.found.get(state))
        self.found.update(dict.fromkeys(walked, at))
        return at


class Operations:
    """The operations of one graph, and what its losses send to its parameters.

    Args:
        graph: of a recording.
        losses: ids of the tensors whose gradient is meant; left out, those on which a recorded
            backward was called, or, without one, the last results.

    Example:
        >>> Operations(Graph()).all
        []
    """

    def __init__(self, graph: Graph, losses: Sequence[int] = ()) -> None:
        self.graph = graph
        self.facts = Facts.of(graph)
        self.gradients = SentGradients(self.facts)
        self.ran_backward = bool(graph.backwards)
        self.flow = Flow(graph, losses or self.facts.losses or self._last_results())

    # --- operations -------------------------------------------------------------------------------

    @cached_property
    def all(self) -> list[Operation]:
        """Every operation, in the order of the calls."""
        return list(self._each())

    def _each(self) -> Iterator[Operation]:
        """Go through the operations."""
        at = 0
        makers = _Makers(self.facts.state_before)
        # the last one that wrote through another name of a tensor, by its storage
        aside: dict[int | None, int] = {}
        for call in self._calls():
            derived = self.derived.get(call.id)
            makes = call.outputs if derived else self._made(call)
            if not makes:
                continue
            reads = tuple(dict.fromkeys(derived or self.facts.values_read(call)))
            sources = tuple(map(makers.of, reads))
            if aside:
                both = zip(reads, sources, strict=True)
                sources = tuple(self._latest(aside, i, source) for i, source in both)
            makers.add(makes, at)
            if (written := self.aside_of(call)) is not None:
                aside[written.storage_id] = at
            yield Operation(at, call, reads, sources, makes)
            at += 1

    def _calls(self) -> Iterator[Call]:
        """Go through the calls that may be operations: those of the user's code, and the
        derivatives that a loss holds."""
        ordinary = {call.id for call in self.facts.ordinary_calls}
        return (c for c in self.graph.calls if c.id in ordinary or c.id in self.derived)

    @cached_property
    def derived(self) -> dict[int, tuple[int, ...]]:
        """What was derived by ``autograd.grad``, where a loss holds the derivative, by the call."""
        found = {}
        for backward in self.graph.backwards:
            call = self.graph.call.get(backward.call_id)
            if backward.kind != "grad" or call is None:
                continue
            if self._is_computed_with(call.outputs):
                edges = ((i, self.graph.tensor[i].gradient_edge) for i in call.inputs)
                found[call.id] = tuple(
                    i for i, edge in edges if edge is not None and edge.node_id in backward.roots
                )
        return found

    def _is_computed_with(self, tensor_ids: Iterable[int]) -> bool:
        """Say whether a tracked value that a loss holds was computed with some states: not where
        they were only written somewhere, as a step by hand writes them into parameters."""
        todo, seen = [*tensor_ids], set[int]()
        while todo:
            tensor_id = todo.pop()
            if tensor_id in seen or not self.facts.goes_into(tensor_id):
                continue
            seen.add(tensor_id)
            for call in self._readers.get(tensor_id, ()):
                is_derivative = call.id in self.facts.backward_calls
                held = (i for i in call.outputs if self.facts.goes_into(i))
                if not is_derivative and any(map(self.is_tracked, held)):
                    return True
                todo += call.outputs
        return False

    @cached_property
    def _readers(self) -> dict[int, list[Call]]:
        """The calls that read a state and write nothing, ``autograd.grad`` among them, by its
        id."""
        quiet = (c for c in self.facts.ordinary_calls if not self.facts.writes_by_call.get(c.id))
        read = ((i, call) for call in quiet for i in self.facts.values_read(call))
        found = (self.graph.call.get(b.call_id) for b in self.graph.backwards if b.kind == "grad")
        derived = (call for call in found if call is not None)  # a full log drops the oldest
        return grouped((*read, *((i, call) for call in derived for i in call.inputs)))

    def _latest(
        self, aside: dict[int | None, int], tensor_id: int, source: int | None
    ) -> int | None:
        """Return which operation made what a tensor holds: the one that made it, or a later one
        that wrote into it through another name."""
        if self.is_tracked(tensor_id):
            return source
        writer = aside.get(self.graph.tensor[tensor_id].storage_id)
        is_later = writer is not None and (source is None or writer > source)
        return writer if is_later else source

    def are_more_than(self, n: int) -> bool:
        """Say whether more than so many operations read anything; it reads no further than that."""
        return next(islice((op for op in self._each() if op.reads), n, None), None) is not None

    def read_more_than(self, n: int) -> bool:
        """Say whether the operations, and the parameters and inputs that they read, are more than
        so many."""
        seen = set[tuple[str, int]]()
        for op in self._each():
            if op.reads:
                seen.add(("operation", op.at))
            ends = (i for i, made_by in zip(op.reads, op.sources, strict=True) if made_by is None)
            seen.update(("tensor", self.graph.tensor[i].object_id) for i in ends)
            if len(seen) > n:
                return True
        return False

    def _made(self, call: Call) -> tuple[int, ...]:
        """List the states that hold values which a call computed."""
        if call.function in NO_MEMORY or call.id in self.facts.hooked_by_call:
            return ()
        wrote = self.facts.writes_by_call.get(call.id, ())
        if wrote and self._wrote_gradients(call, wrote):
            return ()
        written = (e.after_id for e in wrote if not e.alias)
        results = (i for i in call.outputs if i not in call.inputs)
        return tuple(dict.fromkeys((*results, *written)))

    def _wrote_gradients(self, call: Call, wrote: Sequence[Wrote]) -> bool:
        """Say whether a call wrote nothing but the ``.grad`` of leaves: these have another state
        since, and lie in other memory. It computes nothing that a loss could hold."""
        tensor = self.graph.tensor
        storages = {tensor[e.after_id].storage_id for e in wrote if not e.alias}
        owners = [e for e in wrote if e.alias and tensor[e.before_id].storage_id not in storages]
        return bool(owners) and {*call.outputs} <= {e.after_id for e in wrote} | {*call.inputs}

    def aside_of(self, call: Call) -> Aside | None:
        """Return into what a call wrote tracked values through ``.data`` or a detached name of
        another tensor; None: it did not."""
        for wrote in self.facts.writes_by_call.get(call.id, ()):
            maker = self.facts.maker.get(wrote.before_id)
            if maker is None or maker.function not in DETACHED or wrote.alias:
                continue
            if self.is_tracked(wrote.after_id):
                reason = CutReason.DATA if maker.function == "data" else CutReason.DETACH
                return Aside(self.graph.tensor[wrote.after_id].storage_id, reason)
        return None

    def source_of(self, tensor_id: int) -> int | None:
        """Return the operation that made a state; None for a leaf, or what is older."""
        return self._makers.of(tensor_id)

    @cached_property
    def _makers(self) -> _Makers:
        makers = _Makers(self.facts.state_before)
        for op in self.all:
            makers.add(op.makes, op.at)
        return makers

    @cached_property
    def of_call(self) -> dict[int, int]:
        """The place of an operation, by the id of its call."""
        return {op.call.id: op.at for op in self.all}

    @cached_property
    def of_node(self) -> dict[int, int]:
        """The operation that made a node, by node id."""
        made = ((n.id, n.call_id) for n in self.graph.nodes if n.call_id is not None)
        return {node_id: self.of_call[i] for node_id, i in made if i in self.of_call}

    @cached_property
    def made_by(self) -> dict[int, int]:
        """The operation that made or wrote a state last, by tensor id."""
        return {i: op.at for op in self.all for i in op.makes}

    @cached_property
    def users(self) -> list[list[int]]:
        """For each operation, those that read what it made, in order."""
        table: list[list[int]] = [[] for _ in self.all]
        for op in self.all:
            for source in dict.fromkeys(op.sources):
                if source is not None:
                    table[source].append(op.at)
        return table

    def sources_of(self, places: Iterable[int]) -> set[int]:
        """Return the operations that made what some operations read."""
        return {s for at in places for s in self.all[at].sources if s is not None}

    def users_of(self, places: Iterable[int]) -> set[int]:
        """Return the operations that read what some operations made."""
        return {user for at in places for user in self.users[at]}

    def is_tracked(self, tensor_id: int) -> bool:
        """Say whether gradients can go back from a state."""
        return bool(self.graph.tensor[tensor_id].requires_grad)

    @cached_property
    def tracked(self) -> list[bool]:
        """For each operation, whether a gradient can go back through any of its results."""
        return [any(self.is_tracked(i) for i in op.makes) for op in self.all]

    def _last_results(self) -> list[int]:
        """List the tracked states that nothing reads: what a backward would begin at."""
        read = {i for op in self.all for i in op.reads}
        ends = [i for op in self.all for i in op.makes if i not in read and self.is_tracked(i)]
        scalars = [i for i in ends if math.prod(self.graph.tensor[i].shape or (2,)) == 1]
        return (scalars or ends)[-1:]

    # --- the losses -------------------------------------------------------------------------------

    @cached_property
    def feeding(self) -> set[int]:
        """The operations whose values went into a loss, cut or not."""
        found: set[int] = set()
        todo = [self.made_by[i] for i in self._loss_states if i in self.made_by]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += [source for source in self.all[at].sources if source is not None]
        return found

    @cached_property
    def _loss_states(self) -> list[int]:
        """The states of the losses that an operation made."""
        found = []
        for tensor_id in self.flow.losses:
            state: int | None = tensor_id
            while state is not None and state not in self.made_by:
                state = self.facts.state_before.get(state)
            found.append(tensor_id if state is None else state)
        return found

    @cached_property
    def starts(self) -> list[int]:
        """The operations that made the losses, each once."""
        return list(dict.fromkeys(self.made_by[i] for i in self._loss_states if i in self.made_by))

    # --- gradients --------------------------------------------------------------------------------

    @cached_property
    def sent_to(self) -> dict[int, list[Sent]]:
        """The gradients that came back to the nodes of each operation, by its place."""
        pairs = ((self.of_node.get(sent.next_node_id), sent) for sent in self.gradients.sent)
        return grouped((at, sent) for at, sent in pairs if at is not None)

    def norm_at(self, places: Iterable[int]) -> float | None:
        """Return the norm of what came back in the last run from elsewhere to the results of some
        operations; nan: it was not measured; inf: it holds nan or inf; None: nothing came."""
        inside = {*places}
        came = [
            sent
            for at in sorted(inside)
            for sent in self.sent_to.get(at, ())
            if self.of_node.get(sent.node_id) not in inside
        ]
        if not came:
            return None
        run = max(sent.run for sent in came)
        if any(sent.is_broken for sent in came if sent.run == run):
            return math.inf
        return self.gradients.norm_of(sent for sent in came if sent.run == run)

    # --- parameters -------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> list[Weight]:
        """Every parameter: those of the modules, in module order, then the other leaves that
        require grad, in the order in which they were read."""
        found, seen = [], set[int | None]()
        for module in self.graph.modules:
            for p in module.parameters:
                if p.object_id is not None and p.object_id in seen:
                    continue
                seen.add(p.object_id)
                fate = self._fate(p.object_id, p.requires_grad)
                found.append(Weight(p.object_id, p.name, module.id, fate, p.held, p.shape))
        for i in self._read_leaves():
            state = self.graph.tensor[i]
            if state.object_id not in seen:
                seen.add(state.object_id)
                name = self.facts.latest_state[state.object_id].name or ""
                fate = self._fate(state.object_id, True)
                held = state.object_id in self.graph.held if self.graph.held else None
                found.append(Weight(state.object_id, name, None, fate, held, state.shape))
        return found

    def _read_leaves(self) -> Iterator[int]:
        """Go through the states of leaves that require grad and that an operation read, or a copy
        of their values that left torch."""
        copied = (cut.input_id for cut in self.copied_out)
        for i in (*(i for op in self.all for i in op.reads), *copied):
            state = self.graph.tensor[i]
            is_leaf = state.is_leaf and state.requires_grad
            if is_leaf and not (self.graph.modules and self._is_input(i)):
                yield i

    def _is_input(self, tensor_id: int) -> bool:
        """Say whether a leaf beside a model is an input of it and no parameter: it was computed, or
        its values go into a model, it is no nn.Parameter, and the optimizers that are known are
        there for others."""
        if self._is_computed(tensor_id):
            return True
        object_id = self.graph.tensor[tensor_id].object_id
        held, free = self.graph.held, self.graph.free
        return bool(held) and object_id not in (*held, *free) and object_id in self._goes_in

    @cached_property
    def _goes_in(self) -> set[int]:
        """The ids of the objects whose values go into a call of a model with parameters."""
        models = {module.id for module in self.graph.modules if module.parameters}
        goes_in = [False] * len(self.all)
        found = set[int]()
        for op in reversed(self.all):
            outermost = [*self.facts.module_calls_around(op.call.module_call)][-1:]
            is_in = any(self.facts.module_call[i].module_id in models for i in outermost)
            goes_in[op.at] = is_in or any(goes_in[user] for user in self.users[op.at])
            if goes_in[op.at]:
                found.update(self.graph.tensor[i].object_id for i in op.reads)
        return found

    def _is_computed(self, tensor_id: int) -> bool:
        """Say whether a leaf was computed from other tensors, and made one by a flag."""
        at = self.source_of(tensor_id)
        return at is not None and bool(self.all[at].reads)

    @cached_property
    def weight(self) -> dict[int, Weight]:
        """Parameters by the id of their object, those that a recorded call met."""
        return {w.object_id: w for w in self.weights if w.object_id is not None}

    @cached_property
    def uses(self) -> dict[int, list[int]]:
        """The operations that read a parameter, by the id of its object."""
        pairs = (
            (self.graph.tensor[i].object_id, op.at)
            for op in self.all
            for i in dict.fromkeys(op.reads)
            if self.graph.tensor[i].object_id in self.weight
        )
        return grouped(pairs)

    @cached_property
    def reads_weights(self) -> list[list[int]]:
        """For each operation, the parameters that it reads itself, by the id of their object."""
        table: list[list[int]] = [[] for _ in self.all]
        for object_id, places in self.uses.items():
            for at in places:
                table[at].append(object_id)
        return table

    @cached_property
    def filled_from(self) -> dict[int, dict[int | None, list[Sent]]]:
        """What came into a parameter's AccumulateGrad, by the id of its object and the operation
        that sent it; None: from a node that no recorded operation made."""
        leaf_at = self.facts.leaf_at
        table: dict[int, dict[int | None, list[Sent]]] = {}
        for sent in self.gradients.sent:
            if sent.next_node_id in leaf_at:
                from_op = self.of_node.get(sent.node_id)
                rows = table.setdefault(leaf_at[sent.next_node_id].object_id, {})
                rows.setdefault(from_op, []).append(sent)
        return table

    @cached_property
    def filled_in(self) -> set[tuple[int, int]]:
        """The parameters into which something was sent, by the id of their object, each with the
        run in which it was."""
        return {
            (object_id, sent.run)
            for object_id, by_op in self.filled_from.items()
            for sents in by_op.values()
            for sent in sents
        }

    @cached_property
    def filled_by(self) -> dict[int, list[Sent]]:
        """What each operation sent into parameters, by its place."""
        pairs = (
            (at, sent)
            for by_op in self.filled_from.values()
            for at, sents in by_op.items()
            for sent in sents
        )
        return grouped((at, sent) for at, sent in pairs if at is not None)

    def _fate(self, object_id: int | None, requires_grad: bool) -> Fate:
        if not requires_grad:
            return Fate.FROZEN
        if not self.ran_backward:
            reached = object_id is not None and self._is_reached(object_id)
            return Fate.REACHED if reached else Fate.UNREACHED
        node = self._node_that_filled(object_id)
        return self._fate_unwatched(object_id) if node is None else self._fate_at(node)

    def _node_that_filled(self, object_id: int | None) -> int | None:
        """Return the AccumulateGrad of a leaf, if it was seen to run."""
        node = self.facts.accumulate_node.get(-1 if object_id is None else object_id)
        ran = node in self.facts.runs_of_node or node in self.facts.accumulations
        return node if ran else None

    def _fate_at(self, node: int) -> Fate:
        """Tell what the last gradient was that arrived at an AccumulateGrad."""
        arrivals = self.gradients.arrivals_at.get(node, ())
        norms = [self.gradients.arrived[key] for key in arrivals]
        if arrivals and arrivals[-1] in self.gradients.broken:
            return Fate.NAN
        if norms[-1:] == [0.0]:
            return Fate.ZERO
        if norms and 0.0 < norms[-1] < VANISHING:
            return Fate.VANISHED
        stored = [e.stored or "" for e in self.facts.accumulations.get(node, ())][-1:]
        return Fate.NAN if "nan" in "".join(stored) else Fate.SOME

    def _fate_unwatched(self, object_id: int | None) -> Fate:
        """Tell the fate of a parameter whose AccumulateGrad was not seen to run: a backward that
        was not watched may have filled it."""
        unwatched = any(not b.watched for b in self.graph.backwards)
        if object_id is not None and unwatched and self._is_reached(object_id):
            return Fate.SOME
        filled = self._filled_unseen.get(object_id)
        if filled is None:
            return Fate.NONE
        if "nan" in filled:
            return Fate.NAN
        return Fate.ZERO if number_of(None, filled) == 0.0 else Fate.SOME

    @cached_property
    def _filled_unseen(self) -> dict[int | None, str]:
        """What a backward left in ``.grad``, or a statement put there, by the id of the object.
        Inside a reentrant checkpoint nobody sees how it came there."""
        found: dict[int | None, str] = {}
        for call_id in (*self.facts.backward_calls, *self._grad_setters):
            for event in self.facts.writes_by_call.get(call_id, ()):
                before, after = self.facts.around(event)
                if after.grad is not None and after.grad != before.grad:
                    found[after.object_id] = after.grad
        return found

    @cached_property
    def _grad_setters(self) -> dict[int, Call]:
        """The calls by which the program set ``.grad`` itself, by their ids."""
        ordinary = self.facts.ordinary_calls
        return {c.id: c for c in ordinary if c.function == "grad" and not c.outputs}

    @cached_property
    def set_by_hand(self) -> dict[int, Call]:
        """The statement that set ``.grad`` of a parameter to which no backward came, by the id of
        its object."""
        written = (
            (self.graph.tensor[event.after_id], call)
            for call in self._grad_setters.values()
            for event in self.facts.writes_by_call.get(call.id, ())
        )
        return {
            state.object_id: call
            for state, call in written
            if state.grad is not None and self._node_that_filled(state.object_id) is None
        }

    def _is_reached(self, object_id: int) -> bool:
        return any(self.flow.reaches(t.id) for t in self.facts.states.get(object_id, ()))

    # --- beside the losses ------------------------------------------------------------------------

    def is_only_averaged(self, weight: Weight) -> bool:
        """Say whether a parameter of a module was read outside of modules alone, where no gradient
        is recorded and no loss has it: an average of the weights."""
        uses = self.uses.get(weight.key, ())
        ops = [self.all[at] for at in uses]
        is_aside = all(op.at not in self.feeding and not op.call.grad_mode for op in ops)
        outside = all(op.call.module_call is None for op in ops)
        return weight.module_id is not None and bool(ops) and is_aside and outside

    @cached_property
    def gradients_used(self) -> Training:
        """What was done with the gradients; which tensors are gradients is not known here."""
        return Training(self.facts, {})

    @cached_property
    def copied_out(self) -> list[Cut]:
        """The cuts by which values left torch: no operation made a tensor of them."""
        return [
            cut
            for cut in self.facts.real_cuts
            if cut.reason is CutReason.COPIED_OUT and cut.call_id not in self.of_call
        ]

    @cached_property
    def dead_end(self) -> list[int]:
        """For each operation, the last one that its values went into."""
        ends = list(range(len(self.all)))
        for op in reversed(self.all):
            ends[op.at] = max((ends[user] for user in self.users[op.at]), default=op.at)
        return ends

    def should_get(self, weight: Weight) -> bool:
        """Say whether a gradient is missed: an optimizer has the parameter, or, where none is
        known, others of its model got one."""
        if weight.held is not None:
            return weight.held
        return weight.module_id is None or weight.module_id in self._training

    @cached_property
    def _training(self) -> set[int]:
        """The root modules of which a parameter got a gradient, or can get one; without any, all:
        then nothing tells them apart."""
        got = {*HAS, Fate.REACHED}
        found = {w.module_id for w in self.weights if w.fate in got}
        modules = {w.module_id for w in self.weights if w.module_id is not None}
        return {i for i in found if i is not None} or modules

    def are_held(self) -> bool:
        """Say whether any optimizer is known."""
        return any(w.held is not None for w in self.weights)
