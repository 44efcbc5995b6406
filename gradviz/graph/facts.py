"""What one graph proves: every look-up that its readers share, made once. Knows no torch.

A ``Graph`` is a list of records. Whoever draws, tells or explains it asks the same questions of
those lists: which call made this tensor, which leaves lie behind that node, what did the last
backward send along this edge. ``Facts.of(graph)`` answers them; each look-up is made at the first
question and lives as long as the graph.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from enum import Enum, auto
from functools import cached_property, reduce
from heapq import heapify, heappop, heappush
from itertools import pairwise, zip_longest
from operator import or_
from typing import NamedTuple, TypeVar

from gradviz.graph.effects import NO_MEMORY, OVERWRITING, read_by
from gradviz.graph.preview import only_zeros
from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Changed,
    Cut,
    CutReason,
    Edge,
    Event,
    Freed,
    Graph,
    Hooked,
    Module,
    ModuleCall,
    Node,
    NodeKind,
    NodeRan,
    Raised,
    Storage,
    Tensor,
    Wrote,
)

WHOLE = ("int", "uint", "bool")  # dtypes without gradients, by how their names start
Site = tuple[tuple[str, int], str, str | None]  # (file, line), function and module of a call
Key = TypeVar("Key")
Value = TypeVar("Value")
EventKind = TypeVar("EventKind")


class How(Enum):
    """By what a tensor can be called."""

    OUTSIDE = auto()  # it is no tensor of the graph
    NAMED = auto()  # its name
    MADE = auto()  # the call that made it
    READ = auto()  # the first call that read it
    UNNAMED = auto()  # nothing but its shape


class Label(NamedTuple):
    """What is known that a tensor can be called by. Readers word it, each for its own place.

    ``how``: the best of it. ``name``: the variable's, "" where it has none. ``maker``: the call
    that made this state. ``first_maker``: the call that made the object; an earlier one where it
    was written since. ``given_by``: the first call with known code that returned this state, if it
    only handed it on, too. ``reader``: the first call that read this state, torch's own bookkeeping
    apart. ``tensor``: the state itself.
    """

    how: How
    name: str = ""
    maker: Call | None = None
    first_maker: Call | None = None
    given_by: Call | None = None
    reader: Call | None = None
    tensor: Tensor | None = None


class Facts:
    """The one index over a graph. Each look-up is made on first use; nobody may change what it
    returns.

    Example:
        >>> graph = Graph()
        >>> Facts.of(graph) is Facts.of(graph)
        True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @classmethod
    def of(cls, graph: Graph) -> Facts:
        """Return the facts of a graph, the same ones to every reader of it."""
        facts = graph.__dict__.get("_facts")
        if not isinstance(facts, Facts):
            # A Graph is immutable, so what was read from it once stays true. What is kept here is a
            # twin of the same records: with the graph itself, the two would hold each other, and
            # the many graphs of a player would all wait for the garbage collector.
            graph.node, graph.tensor, graph.call, graph.edges_from  # noqa: B018, the twin has them
            facts = cls(copy.copy(graph))
            graph.__dict__["_facts"] = facts
        return facts

    # --- events -----------------------------------------------------------------------------------

    @cached_property
    def _events(self) -> dict[type, list[Event]]:
        return grouped((type(event), event) for event in self.graph.events)

    def _all(self, kind: type[EventKind]) -> list[EventKind]:
        """List the events of one kind, in order."""
        return self._events.get(kind, [])  # type: ignore[return-value]

    @property
    def writes(self) -> list[Wrote]:
        """Every write, in order."""
        return self._all(Wrote)

    def writes_memory(self, event: Wrote) -> bool:
        """Say whether the call that wrote can change numbers at all."""
        return self.graph.call[event.call_id].function not in NO_MEMORY

    def own_writes(self, object_id: int | None) -> list[Wrote]:
        """Return the writes by which the program itself, and neither an optimizer nor ``nn.init``,
        gave an object other numbers."""
        return [
            event
            for event in self.writes_by_object.get(-1 if object_id is None else object_id, ())
            if self.writes_memory(event)
            and not self.graph.call[event.call_id].bookkeeping
            and event.call_id not in self.backward_calls
        ]

    def around(self, event: Wrote) -> tuple[Tensor, Tensor]:
        """Return the states before and after a write."""
        return self.graph.tensor[event.before_id], self.graph.tensor[event.after_id]

    @property
    def errors(self) -> list[Raised]:
        """Every error that a recorded call raised, in order."""
        return self._all(Raised)

    @property
    def hooks(self) -> list[Hooked]:
        """Every hook that was put on a tensor, in order."""
        return self._all(Hooked)

    @property
    def nodes_ran(self) -> list[NodeRan]:
        """Every run of a node, in order."""
        return self._all(NodeRan)

    @property
    def freed(self) -> list[Freed]:
        """Every release of saved tensors, in order."""
        return self._all(Freed)

    # --- tensors ----------------------------------------------------------------------------------

    @cached_property
    def latest_state(self) -> dict[int, Tensor]:
        """The last recorded state of every tensor object, by object id."""
        return {t.object_id: t for t in self.graph.tensors}

    @cached_property
    def states(self) -> dict[int, list[Tensor]]:
        """All recorded states of every tensor object, oldest first, by object id."""
        return grouped((t.object_id, t) for t in self.graph.tensors)

    @cached_property
    def state_before(self) -> dict[int, int]:
        """The state of the same object before this one, by tensor id."""
        return {b.id: a.id for states in self.states.values() for a, b in pairwise(states)}

    @cached_property
    def in_memory(self) -> dict[int | None, list[Tensor]]:
        """All states that lie in a block of memory, by storage id; None: it is not known where."""
        return grouped((t.storage_id, t) for t in self.graph.tensors)

    @cached_property
    def storage(self) -> dict[int | None, Storage]:
        """The blocks of memory, by id."""
        return {s.id: s for s in self.graph.storages}

    @cached_property
    def first_at(self) -> dict[tuple[int, int], Tensor]:
        """The first state whose gradient arrives somewhere, by ``(node_id, output_nr)``."""
        return {t.gradient_edge: t for t in reversed(self.graph.tensors) if t.gradient_edge}

    @cached_property
    def last_at(self) -> dict[tuple[int, int], Tensor]:
        """The last state whose gradient arrives somewhere, by ``(node_id, output_nr)``."""
        return {t.gradient_edge: t for t in self.graph.tensors if t.gradient_edge}

    @cached_property
    def states_at(self) -> dict[int, list[Tensor]]:
        """The states whose gradient arrives at a node, by node id."""
        edges = ((t.gradient_edge, t) for t in self.graph.tensors)
        return grouped((edge.node_id, t) for edge, t in edges if edge)

    @cached_property
    def grads_now(self) -> dict[int, str | None]:
        """``.grad`` by object id, in the middle of a backward too: a leaf's state is read again
        only when that ends."""
        stored: dict[int, str | None] = {}
        for e in self.graph.events:
            if isinstance(e, Accumulated) and e.node_id in self.leaf_at:
                stored[self.leaf_at[e.node_id].object_id] = e.stored
            elif isinstance(e, Wrote):
                stored.pop(self.graph.tensor[e.after_id].object_id, None)
        return {i: t.grad for i, t in self.latest_state.items()} | stored

    @cached_property
    def had_grad(self) -> set[int]:
        """The objects that were a leaf that requires grad at some time, or had a ``.grad``: what
        they have now, if it is not a gradient, is None, though they are not tracked any more."""
        return {
            t.object_id
            for t in self.graph.tensors
            if t.grad is not None or (t.requires_grad and t.is_leaf)
        }

    @cached_property
    def cut_views(self) -> set[int]:
        """The objects that are views of a tracked tensor, made where nothing is recorded: torch
        gives them its flag, and yet no AccumulateGrad, so no gradient comes to them. Setting the
        flag again makes them ordinary leaves."""
        found, set_again = set[int](), set[int]()
        for call in self.graph.calls:
            if call.function in ("requires_grad_", "requires_grad"):
                set_again |= {t.object_id for t in self._there(call.inputs)}
            elif call.inference_mode or not call.grad_mode:
                given = {t.object_id for t in self._there(call.inputs)}
                made = self._there(call.outputs)
                views = [t for t in made if t.requires_grad and t.is_leaf and t.base_id is not None]
                found |= {t.object_id for t in views} - given
        return found - set_again - {t.object_id for t in self.graph.tensors if t.gradient_edge}

    def _there(self, ids: Iterable[int]) -> list[Tensor]:
        """Return those of these tensors that are in the graph. The calls of a part that is drawn
        may name others."""
        tensor = self.graph.tensor
        return [tensor[i] for i in ids if i in tensor]

    @cached_property
    def changed_unseen(self) -> set[int]:
        """The blocks of memory where other values stood later, and no recorded call wrote them: by
        numpy, for example."""
        written = {event.after_id for event in self.writes}
        before: dict[int, Tensor] = {}
        found: set[int] = set()
        for tensor in self.graph.tensors:
            former = before.get(tensor.object_id)
            before[tensor.object_id] = tensor
            if former is None or tensor.id in written or None in (former.values, tensor.values):
                continue
            # Where a version was counted, torch itself raises when the saved tensor is used.
            stayed = former.storage_id == tensor.storage_id and former.version == tensor.version
            if stayed and former.values != tensor.values and tensor.storage_id is not None:
                found.add(tensor.storage_id)
        return found

    # --- calls ------------------------------------------------------------------------------------

    @cached_property
    def backward_calls(self) -> set[int]:
        """The ids of the calls that are backwards."""
        return {b.call_id for b in self.graph.backwards}

    @cached_property
    def run_of_call(self) -> dict[int, Backward]:
        """What a backward call ran, by call id."""
        return {b.call_id: b for b in reversed(self.graph.backwards)}

    @cached_property
    def call_of_run(self) -> dict[int, Call]:
        """The call of every run, where it is in the graph, by run."""
        calls = self.graph.call
        return {b.run: calls[b.call_id] for b in self.graph.backwards if b.call_id in calls}

    @cached_property
    def losses(self) -> list[int]:
        """The tensors on which a recorded backward was called, by id, each once."""
        calls = (self.graph.call[b.call_id] for b in self.graph.backwards)
        return list(dict.fromkeys(i for call in calls for i in call.inputs[:1]))

    @cached_property
    def error_of_call(self) -> dict[int, Raised]:
        """The error that a call raised, by call id."""
        return {e.call_id: e for e in self.errors}

    @cached_property
    def ordinary_calls(self) -> list[Call]:
        """The calls of the user's code: backwards and torch's own bookkeeping apart."""
        calls = self.graph.calls
        return [c for c in calls if c.id not in self.backward_calls and not c.bookkeeping]

    @cached_property
    def maker(self) -> dict[int, Call]:
        """The call that made a state, by tensor id; what only handed it on made nothing."""
        table: dict[int, Call] = {}
        for call in reversed(self.graph.calls):
            table.update((o, call) for o in call.outputs if o not in call.inputs)
        return table

    @cached_property
    def first_maker(self) -> dict[int, Call]:
        """The call that made an object, by object id; what was written or got a ``.grad`` since is
        the same object."""
        tensor = self.graph.tensor
        made = [(o, c) for c in reversed(self.graph.calls) for o in c.outputs if o not in c.inputs]
        return {tensor[o].object_id: c for o, c in made if o in tensor}

    @cached_property
    def given_by(self) -> dict[int, Call]:
        """The first call with known code that returned a state, by tensor id; it may have handed it
        on only."""
        table: dict[int, Call] = {}
        for call in reversed(self.graph.calls):
            if call.source and call.source.code:
                table.update(dict.fromkeys(call.outputs, call))
        return table

    @cached_property
    def first_reader(self) -> dict[int, Call]:
        """The first call that read a state, torch's own bookkeeping apart, by tensor id."""
        table: dict[int, Call] = {}
        for call in reversed(self.graph.calls):
            if not call.bookkeeping:
                table.update(dict.fromkeys(call.inputs, call))
        return table

    @cached_property
    def calls_reading(self) -> dict[int, list[Call]]:
        """Every call that read a state, backwards and bookkeeping included, by tensor id."""
        return grouped((i, call) for call in self.graph.calls for i in dict.fromkeys(call.inputs))

    @cached_property
    def readers(self) -> dict[int, list[Call]]:
        """The ordinary calls that read an object, by object id."""
        tensor = self.graph.tensor
        table: dict[int, list[Call]] = {}
        for call in self.ordinary_calls:
            for object_id in dict.fromkeys(tensor[i].object_id for i in call.inputs):
                table.setdefault(object_id, []).append(call)
        return table

    @cached_property
    def module_call(self) -> dict[int | None, ModuleCall]:
        """The calls of modules, by id."""
        return {call.id: call for call in self.graph.module_calls}

    @cached_property
    def calls_in_module(self) -> dict[int, list[Call]]:
        """The ordinary calls that ran in the outermost call of a module, by its id."""
        found = dict[int, list[Call]]()
        for call in self.ordinary_calls:
            if (outermost := self.outermost_module_call(call)) is not None:
                found.setdefault(outermost.id, []).append(call)
        return found

    def outermost_module_call(self, call: Call) -> ModuleCall | None:
        """Return the outermost call of a module in which a call ran; None: it ran in none."""
        *_, outermost = (None, *self.module_calls_around(call.module_call))
        return None if outermost is None else self.module_call[outermost]

    def module_calls_around(self, call_id: int | None) -> Iterator[int]:
        """Go through a module call and those around it, from the inside."""
        while call_id is not None:
            yield call_id
            call_id = self.module_call[call_id].parent_id

    @cached_property
    def of_modules(self) -> set[int]:
        """The parameters of the modules that ran, by object id."""
        parameters = (p for m in self.graph.modules for p in m.parameters)
        return {p.object_id for p in parameters if p.object_id is not None}

    @cached_property
    def names_in_modules(self) -> dict[int, list[str]]:
        """The names that the modules which ran have for each parameter, by object id: of what two
        of them share both."""
        return grouped(
            (p.object_id, self._called(module) + p.name)
            for module in self.graph.modules
            for p in module.parameters
            if p.object_id is not None
        )

    def _called(self, module: Module) -> str:
        """Return what stands before the names of a module's parameters, where it is called by
        another name than the code that ran it has: agent.actor, which is self.actor there."""
        for p in module.parameters:
            state = self.latest_state.get(p.object_id) if p.object_id is not None else None
            name = (state.name if state is not None else None) or ""
            if name.endswith(f".{p.name}") and len(self._roots_with[p.object_id]) == 1:
                return name.removesuffix(p.name)
        return f"{module.name}."

    @cached_property
    def _roots_with(self) -> dict[int | None, list[int]]:
        """The modules that have a parameter, by object id."""
        return grouped((p.object_id, m.id) for m in self.graph.modules for p in m.parameters)

    @cached_property
    def read_ids(self) -> set[int]:
        """The states that a call other than a backward read."""
        calls = self.graph.calls
        return {i for c in calls if c.id not in self.backward_calls for i in c.inputs}

    @cached_property
    def writes_by_call(self) -> dict[int, list[Wrote]]:
        """What each call wrote, by call id."""
        return grouped((e.call_id, e) for e in self.writes)

    def was_switched_on(self, object_id: int | None) -> bool:
        """Say whether recorded code let a leaf require grad that did not before."""
        tensor = self.graph.tensor
        writes = () if object_id is None else self.writes_by_object.get(object_id, ())
        return any(
            tensor[e.before_id].requires_grad is False and bool(tensor[e.after_id].requires_grad)
            for e in writes
        )

    @cached_property
    def writes_by_object(self) -> dict[int, list[Wrote]]:
        """What wrote an object, by object id."""
        return grouped((self.graph.tensor[e.after_id].object_id, e) for e in self.writes)

    @cached_property
    def returned_ids(self) -> set[int]:
        """The states that a recorded call returned."""
        return {i for c in self.graph.calls for i in c.outputs}

    @cached_property
    def made_ids(self) -> set[int]:
        """The states that a recorded call returned or wrote."""
        return self.returned_ids | {e.after_id for e in self.writes}

    @cached_property
    def rewritten(self) -> set[int]:
        """The memory whose values an ordinary call or an optimizer wrote after the first backward,
        through whatever name, by storage id."""
        first, found = min(self.backward_calls, default=0), set[int]()
        for e in self.writes:
            before, after = self.around(e)
            new_memory = before.storage_id != after.storage_id  # w.data = other
            late = e.call_id > first and e.call_id not in self.backward_calls
            moved = new_memory or has_moved(before, after)
            if late and moved and after.storage_id is not None:
                found.add(after.storage_id)
        return found

    @cached_property
    def hooked_by_call(self) -> dict[int, int]:
        """The tensor on which a call put a hook, by call id."""
        return {e.call_id: e.tensor_id for e in self.hooks}

    def label(self, tensor_id: int | None) -> Label:
        """Tell by what a tensor can be called; None is a value outside of torch."""
        tensor = self.graph.tensor.get(tensor_id)
        if tensor is None:
            return Label(How.OUTSIDE)
        maker, reader = self.maker.get(tensor.id), self.first_reader.get(tensor.id)
        how = How.UNNAMED
        if tensor.name:
            how = How.NAMED
        elif maker:
            how = How.MADE
        elif reader:
            how = How.READ
        return Label(
            how,
            tensor.name or "",
            maker,
            self.first_maker.get(tensor.object_id),
            self.given_by.get(tensor.id),
            reader,
            tensor,
        )

    # --- cuts -------------------------------------------------------------------------------------

    @cached_property
    def real_cuts(self) -> list[Cut]:
        """The cuts that separate a value from what it was made of."""
        return [c for c in self.graph.cuts if c.reason is not CutReason.FLAG_OFF]

    @cached_property
    def cuts_of_parts(self) -> list[Cut]:
        """Of a call that returned several tensors, those without a gradient beside others that have
        one, as the indices of ``max(1)`` beside its values: no cuts of the graph, since what went
        in is still connected, but cuts for all that is computed from them."""
        return [cut for call in self.ordinary_calls for cut in self._cuts_of_parts(call)]

    def _cuts_of_parts(self, call: Call) -> Iterator[Cut]:
        """Yield the results of one call that have no gradient beside others that have one."""
        tensor = self.graph.tensor
        tracked = [i for i in call.inputs if tensor[i].requires_grad]
        if len(call.outputs) < 2 or not tracked:
            return
        if not any(tensor[i].requires_grad for i in call.outputs):
            return
        for output in call.outputs:
            if (tensor[output].dtype or "").startswith(WHOLE):
                yield Cut(call.id, tracked[0], output, CutReason.NOT_DIFFERENTIABLE)

    @cached_property
    def frozen_leaves(self) -> list[Cut]:
        """The leaves whose flag was switched off: recorded as cuts, and they cut nothing off."""
        return [c for c in self.graph.cuts if c.reason is CutReason.FLAG_OFF]

    @cached_property
    def cut_of(self) -> dict[tuple[int, int], Cut]:
        """What became of an input of a call, where it was cut, by ``(call_id, input_id)``."""
        return {(c.call_id, c.input_id): c for c in self.graph.cuts}

    @cached_property
    def cuts_of_call(self) -> dict[int, list[Cut]]:
        """What a call cut, by call id."""
        return grouped((c.call_id, c) for c in self.graph.cuts)

    def is_cut_off(self, cut: Cut) -> bool:
        """Tell whether a cut separates a tensor from its own past, as ``detach_`` does, and not a
        result from what it was made of."""
        if cut.output_id is None:
            return False
        tensor = self.graph.tensor
        return tensor[cut.input_id].object_id == tensor[cut.output_id].object_id

    # --- what a value was computed from -----------------------------------------------------------

    def values_read(self, call: Call) -> list[int]:
        """List the states whose values the results of a call hold."""
        wrote = self.writes_by_call.get(call.id, ())
        keeps = call.function.endswith("_") and call.function not in OVERWRITING
        # out=, or written from end to end; relu(x, inplace=True) reads what it writes
        read_first = () if call.function in OVERWRITING else call.inputs[:1]
        written = {e.before_id for e in wrote if not e.alias}
        gone = set() if keeps else written.difference(read_first)
        # A base keeps what lies outside of the view that was written.
        kept = (e.before_id for e in wrote if e.alias)
        return [i for i in (*read_by(call), *kept) if i not in gone]

    def ancestors(self, tensor_ids: Iterable[int], stop: Set[int | None] = frozenset()) -> set[int]:
        """Find every state whose values these hold, cut or not, as far as the states in ``stop``.

        A state that no call made was there before the write.
        """
        return {*self._held_in(dict.fromkeys(tensor_ids, 1), stop)}

    @cached_property
    def in_losses(self) -> Set[int]:
        """The states whose values the losses hold, cut or not, and the losses."""
        return frozenset(self.ancestors(self.losses))

    @cached_property
    def derived(self) -> Set[int]:
        """The states that ``autograd.grad`` returned."""
        runs = (b for b in self.graph.backwards if b.kind == "grad")
        return {i for run in runs for i in self.graph.call[run.call_id].outputs}

    @cached_property
    def differentiated_by(self) -> set[int]:
        """The objects whose gradients ``autograd.grad`` was asked for and returned."""
        runs = (b for b in self.graph.backwards if b.kind == "grad")
        returned = {i for run in runs for i, gradient in run.returned if gradient is not None}
        return {self.graph.tensor[i].object_id for i in returned}

    @cached_property
    def in_backwards(self) -> Set[int]:
        """The same of the losses on which ``backward()`` was called; where it was called on none,
        of what ``autograd.grad`` was given."""
        calls = [self.graph.call[b.call_id] for b in self.graph.backwards if b.kind == "backward"]
        roots = [i for call in calls for i in call.inputs[:1]]
        return frozenset(self.ancestors(roots)) if roots else self.in_losses

    def goes_into(self, tensor_id: int) -> int:
        """Return which losses hold the values of a state, cut or not: those on which a backward
        was called, as bits in the order of ``graph.backwards``."""
        return self._losses_holding.get(tensor_id, 0)

    @cached_property
    def _losses_holding(self) -> dict[int, int]:
        """What ``goes_into`` tells, by state: all losses at once, as a loop has hundreds."""
        losses: dict[int, int] = {}
        for place, backward in enumerate(self.graph.backwards):
            call = self.graph.call.get(backward.call_id)
            for tensor_id in call.inputs[:1] if call else ():
                losses[tensor_id] = losses.get(tensor_id, 0) | 1 << place
        return self._held_in(losses)

    def _held_in(self, bits: dict[int, int], stop: Set[int | None] = frozenset()) -> dict[int, int]:
        """Give the bits of some states to every state whose values they hold, as far as the
        states in ``stop``, and return the bits of all."""
        found = dict(bits)
        self._give_before(found)
        # The calls that made what is held, the last one first: each is met when all that later
        # ones hold of it is known.
        waiting = [-place for i in found if i not in stop for place in self._made_at.get(i, ())]
        heapify(waiting)
        done = len(self.ordinary_calls)
        while waiting:
            place = -heappop(waiting)
            if place == done:
                continue
            done, call = place, self.ordinary_calls[place]
            more = reduce(or_, (found.get(i, 0) for i in self._made_by(call) - stop), 0)
            read = self.values_read(call)
            held = [*read, *self._unmade_before(read)]
            _give(found, held, more)
            makers = (p for i in held if i not in stop for p in self._made_at.get(i, ()))
            for earlier in (p for p in makers if p < place):
                heappush(waiting, -earlier)
        return found

    def _give_before(self, found: dict[int, int]) -> None:
        """Give the bits of some states to the states before them, of which backwards changed the
        .grad alone, and to those that no call made."""
        todo = list(found.items())
        while todo:
            after_id, more = todo.pop()
            before = self._before_backward.get(after_id, ())
            _give(found, before, more)
            todo += [(i, more) for i in before]
        for tensor_id, more in list(found.items()):
            _give(found, self._unmade_before([tensor_id]), more)

    def _made_by(self, call: Call) -> set[int]:
        """Return the states that a call made or wrote."""
        return {*call.outputs, *(e.after_id for e in self.writes_by_call.get(call.id, ()))}

    @cached_property
    def _made_at(self) -> dict[int, list[int]]:
        """Which of ``ordinary_calls`` made a state or wrote it, by their places, by tensor id."""
        return grouped(
            (i, place)
            for place, call in enumerate(self.ordinary_calls)
            for i in self._made_by(call)
        )

    @cached_property
    def _before_backward(self) -> dict[int, list[int]]:
        """The states that backwards gave a gradient, as they were before, by the state after it."""
        return grouped(
            (e.after_id, e.before_id)
            for call_id in sorted(self.backward_calls)
            for e in self.writes_by_call.get(call_id, ())
        )

    def _unmade_before(self, tensor_ids: Iterable[int]) -> list[int]:
        """Return the states before those that no call made: what was there before the write."""
        before, made = self.state_before, self.made_ids
        return [before[i] for i in tensor_ids if i in before and i not in made]

    # --- nodes and edges --------------------------------------------------------------------------

    @cached_property
    def edges_into(self) -> dict[int, list[Edge]]:
        """Edges by the node that they reach, in program order of the nodes that they leave."""
        edges = (e for e in self.graph.edges if e.next_node_id is not None)
        table: dict[int, list[Edge]] = {}
        for e in edges:
            table.setdefault(e.next_node_id or 0, []).append(e)
        for into in table.values():
            if len(into) > 1:
                into.sort(key=lambda e: (self._program_order(e.node_id), e.next_index))
        return table

    def _program_order(self, node_id: int) -> tuple[int, int]:
        # Ids, not sequence numbers: those count per thread and differ from process to process.
        node = self.graph.node.get(node_id)
        call = node.call_id if node else None
        return (-1 if call is None else call, -node_id if call is None else node_id)

    def grad_fn(self, tensor: Tensor) -> Node | None:
        """Return the node that is the ``grad_fn`` of a state, where it has one that is in the
        graph."""
        edge = tensor.gradient_edge
        return self.graph.node.get(edge.node_id) if edge and not tensor.is_leaf else None

    def reachable(
        self,
        node_ids: Iterable[int],
        inside: Set[int] | None = None,
        without: Set[int] = frozenset(),
    ) -> set[int]:
        """Find every node that a gradient starting at ``node_ids`` can meet, those included; with
        ``inside`` along edges to these nodes only, and not along those to nodes of ``without``."""
        edges_from = self.graph.edges_from
        seen: set[int] = set()
        todo = list(node_ids)
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                nexts = [e.next_node_id for e in edges_from.get(node, ())]
                nexts = [n for n in nexts if inside is None or n in inside]
                todo += [n for n in nexts if n is not None and n not in without]
        return seen

    def above(self, node_ids: Iterable[int]) -> set[int]:
        """Find every node from which a gradient comes to one of these."""
        found: set[int] = set()
        todo = list(node_ids)
        while todo:
            new = {e.node_id for e in self.edges_into.get(todo.pop(), ())} - found
            found |= new
            todo += new
        return found

    def gradient_order(self, node_ids: Iterable[int]) -> list[int]:
        """Put nodes in an order in which a gradient can meet them: a node before the nodes it
        sends to."""
        wanted = sorted(set(node_ids))
        if len(wanted) < 2:
            return wanted
        inside, edges_from = set(wanted), self.graph.edges_from
        nexts = {
            n: [e.next_node_id for e in edges_from.get(n, ()) if e.next_node_id in inside]
            for n in wanted
        }
        return after_all(wanted, nexts)[::-1]

    @cached_property
    def all_in_gradient_order(self) -> list[int]:
        """Every node of the graph, before the nodes it sends to."""
        return self.gradient_order(n.id for n in self.graph.nodes)

    def met(
        self, at_node: Mapping[int | None, int], along: Mapping[tuple[int, int], int]
    ) -> dict[int | None, int]:
        """Tell what a gradient that starts at a node meets on its way to the leaves, for every node
        at once.

        Args:
            at_node: a set of things, as the bits of a whole number, by node id.
            along: the same for edges, by ``(node_id, next_index)``.

        Returns:
            By node id the union of the bits of all nodes and edges that a gradient can meet from
            there.

        Example:
            >>> kind = NodeKind.BACKWARD
            >>> nodes = [Node(i, "", kind, None, (), None, None, False) for i in range(3)]
            >>> facts = Facts(Graph(nodes=nodes, edges=[Edge(2, 0, 1, 0)]))
            >>> facts.met({0: 0b001, 1: 0b010, 2: 0b100}, {})
            {0: 1, 1: 2, 2: 6}
        """
        found: dict[int | None, int] = {}
        for node_id in reversed(self.all_in_gradient_order):
            bits = at_node.get(node_id, 0)
            for e in self.graph.edges_from.get(node_id, ()):
                bits |= along.get((node_id, e.next_index), 0) | found.get(e.next_node_id, 0)
            found[node_id] = bits
        return found

    # --- leaves -----------------------------------------------------------------------------------

    @cached_property
    def accumulate_node(self) -> dict[int, int]:
        """The AccumulateGrad node of every leaf object that has one, by object id."""
        kind, node = NodeKind.ACCUMULATE_GRAD, self.graph.node
        table = {
            self.graph.tensor[n.leaf_id].object_id: n.id
            for n in self.graph.nodes
            if n.kind is kind and n.leaf_id in self.graph.tensor
        }
        for t in self.graph.tensors:
            edge = t.gradient_edge
            if edge and edge.node_id in node and node[edge.node_id].kind is kind:
                table.setdefault(t.object_id, edge.node_id)
        return table

    @cached_property
    def leaf_at(self) -> dict[int, Tensor]:
        """The leaf, as it is now, of every AccumulateGrad, by node id."""
        nodes = self.accumulate_node
        return {node: self.latest_state[i] for i, node in sorted(nodes.items())}

    @cached_property
    def leaf_bits(self) -> dict[int | None, int]:
        """Which leaves a gradient from a node reaches, as bits in the order of ``leaf_at``."""
        return self.met({node: 1 << i for i, node in enumerate(self.leaf_at)}, {})

    def leaves_below(self, node_id: int) -> list[Tensor]:
        """List the leaves that a gradient which meets a node reaches."""
        bits = self.leaf_bits.get(node_id, 0)
        return [leaf for i, leaf in enumerate(self.leaf_at.values()) if bits >> i & 1]

    def leaves_reached(self, tensor_id: int | None) -> list[Tensor]:
        """List the leaves that a gradient from this tensor reaches."""
        t = self.graph.tensor.get(tensor_id)
        if t and t.gradient_edge:
            return self.leaves_below(t.gradient_edge.node_id)
        return [t] if t and t.is_leaf and t.requires_grad else []

    def leaves_met(self, node_ids: Iterable[int]) -> set[int] | None:
        """Find the leaf objects that a gradient starting at nodes comes to; None: it starts
        nowhere, or not all that lies behind is known."""
        roots = set(node_ids)
        met = [self.graph.node[n] for n in self.reachable(roots) if n in self.graph.node]
        leaves = [n for n in met if n.kind is NodeKind.ACCUMULATE_GRAD]
        unknown = any(n.leaf_id is None for n in leaves) or any(
            n.stub for n in met if n.kind is not NodeKind.ACCUMULATE_GRAD
        )
        if not roots or unknown:
            return None
        return {self.graph.tensor[n.leaf_id].object_id for n in met if n.leaf_id is not None}

    @cached_property
    def leaves_filled(self) -> set[int]:
        """The leaf objects whose AccumulateGrad was seen to add to ``.grad``."""
        leaves = self.leaf_at
        return {leaves[node].object_id for node in self.accumulations if node in leaves}

    @cached_property
    def leaves_sent_to(self) -> set[int]:
        """The leaf objects to which a recorded backward sent a gradient."""
        return {leaf for leaf, node in self.accumulate_node.items() if node in self.ran}

    # --- runs -------------------------------------------------------------------------------------

    @cached_property
    def runs_started_at(self) -> dict[int, list[Backward]]:
        """The backwards that began at a node, by node id."""
        return grouped((root, run) for run in self.graph.backwards for root in run.roots)

    @cached_property
    def ran(self) -> set[int]:
        """The nodes of every recorded backward, those where it began included."""
        return {n for b in self.graph.backwards for n in (*b.ran, *b.roots)}

    @cached_property
    def behind_losses(self) -> set[int]:
        """The nodes that a gradient of any recorded backward can meet, run or not."""
        return self.reachable(self.runs_started_at)

    @cached_property
    def maybe_ran(self) -> dict[int, set[int]]:
        """The nodes that a backward which was not watched may have run, by call id."""
        runs = [b for b in self.graph.backwards if not b.watched]
        return {b.call_id: self.reachable(b.roots) for b in runs}

    def may_have_run(self, run: Backward) -> Iterable[int]:
        """Find the nodes that a backward ran; all that it may have run, where it was not
        watched."""
        return run.ran if run.watched else self.maybe_ran[run.call_id]

    @cached_property
    def raised_at(self) -> dict[int, int]:
        """The call of the backward that raised at a node, by node id."""
        return {b.raised_at: b.call_id for b in self.graph.backwards if b.raised_at is not None}

    @cached_property
    def last_raised_at(self) -> int | None:
        """The node at which the last backward that raised in one did so."""
        nodes = [b.raised_at for b in self.graph.backwards if b.raised_at is not None]
        return nodes[-1] if nodes else None

    @cached_property
    def runs_that_freed(self) -> dict[int, list[int]]:
        """The runs that released what a node had saved, by node id."""
        return grouped((n, e.run) for e in self.freed for n in e.node_ids)

    @cached_property
    def leading_to_freed(self) -> Set[int | None]:
        """The nodes from which a gradient comes to one that has released what it had saved, those
        themselves included."""
        bits = self.met(dict.fromkeys(self.runs_that_freed, 1), {})
        return {node_id for node_id, freed in bits.items() if freed}

    @cached_property
    def runs_of_node(self) -> dict[int, list[tuple[int, NodeRan]]]:
        """What a node did, each time with its place among all runs of nodes, by node id."""
        return grouped((e.node_id, (place, e)) for place, e in enumerate(self.nodes_ran))

    @cached_property
    def nodes_of_run(self) -> dict[int, list[NodeRan]]:
        """What the nodes did in one run, in order, by run."""
        return grouped((e.run, e) for e in self.nodes_ran)

    # --- gradients --------------------------------------------------------------------------------

    @cached_property
    def sent(self) -> dict[tuple[int, int], str]:
        """What the last run that used an edge sent along it, by ``(node_id, next_index)``."""
        gradients = self.graph.gradients
        return {(g.node_id, g.next_index): g.preview for g in gradients if g.next_index is not None}

    @cached_property
    def sent_in_run(self) -> dict[tuple[int, int, int], str]:
        """What each run sent along each edge, by ``(run, node_id, next_index)``."""
        return {
            (g.run, g.node_id, g.next_index): g.preview
            for g in self.graph.gradients
            if g.next_index is not None
        }

    @cached_property
    def zeros_along(self) -> set[tuple[int, int]]:
        """The edges, as ``(node_id, next_index)``, along which the last run that used them brought
        nothing but zeros, by the values or by the norm of what arrived."""
        found: dict[tuple[int, int], bool] = {}
        for event in self.nodes_ran:
            for k, (sent, norm) in enumerate(zip_longest(event.sent, event.sent_norms)):
                if sent is not None:
                    found[event.node_id, k] = norm == "0" or only_zeros(sent)
        found |= {edge: only_zeros(change.after) for edge, change in self.changed_along.items()}
        return {edge for edge, is_zero in found.items() if is_zero}

    @cached_property
    def arrived(self) -> dict[tuple[int, int], str]:
        """What the last run handed to a node, by ``(node_id, input_nr)``."""
        gradients = self.graph.gradients
        return {(g.node_id, g.input_nr): g.preview for g in gradients if g.input_nr is not None}

    @cached_property
    def arrived_at_outputs(self) -> dict[int, list[str]]:
        """What the last run handed to each output of a node, by node id."""
        return grouped((node_id, value) for (node_id, _), value in self.arrived.items())

    @cached_property
    def arrived_in_run(self) -> dict[tuple[int, int], str]:
        """What each run handed to a node, to its last output, by ``(run, node_id)``."""
        gradients = self.graph.gradients
        return {(g.run, g.node_id): g.preview for g in gradients if g.input_nr is not None}

    @cached_property
    def last_run_at(self) -> dict[int, int]:
        """The last run in which a gradient arrived at a node, by node id."""
        return {g.node_id: g.run for g in self.graph.gradients if g.input_nr is not None}

    @cached_property
    def changed(self) -> dict[tuple[int, int, int], Changed]:
        """Gradients that did not arrive as they were sent, by ``(run, node_id, input_nr)``."""
        return {(e.run, e.node_id, e.input_nr): e for e in self._all(Changed)}

    @cached_property
    def changed_along(self) -> dict[tuple[int, int], Changed]:
        """What became of a gradient that was sent along an edge before it arrived, by ``(node_id,
        next_index)``, in the last run that used the edge. A sum of several is not told there."""
        if not self.changed:
            return {}
        into = {(e.node_id, e.next_index): (e.next_node_id, e.input_nr) for e in self.graph.edges}
        last: dict[tuple[int, int], int] = {}
        parts: dict[tuple[int, int | None, int], list[tuple[int, int]]] = {}
        for g in self.graph.gradients:
            edge = (g.node_id, -1 if g.next_index is None else g.next_index)
            if (slot := into.get(edge)) is not None:
                parts.setdefault((g.run, *slot), []).append(edge)
                last[edge] = g.run
        alone = ((parts.get(at, []), change) for at, change in self.changed.items())
        return {
            edges[0]: change
            for edges, change in alone
            if len(edges) == 1 and last[edges[0]] == change.run
        }

    @cached_property
    def accumulations(self) -> dict[int, list[Accumulated]]:
        """What each AccumulateGrad did, run by run, by node id."""
        return grouped((e.node_id, e) for e in self._all(Accumulated))


# --- helpers that need no index -------------------------------------------------------------------


def has_moved(before: Tensor, after: Tensor) -> bool:
    """Say whether memory was written between two states of a tensor, by what is known of them."""
    return before.version != after.version or before.values != after.values


def code_of(call: Call) -> str:
    """Return the user's code of a call, on one line."""
    if call.source and call.source.code:
        return " ".join(call.source.code.split())
    return f"{call.function}(…)"


def site_of(call: Call) -> Site | None:
    """Return where in the code a call stands; the same again for each iteration of a loop."""
    return (call.source[:2], call.function, call.module) if call.source else None


def sharing(tensors: Iterable[Tensor]) -> dict[int | None, list[Tensor]]:
    """Group tensors by the storage that several objects among them share."""
    table = grouped((t.storage_id, t) for t in tensors if t.storage_id is not None)
    return {
        storage: members
        for storage, members in table.items()
        if len({t.object_id for t in members}) > 1
    }


def after_all(ids: Iterable[int], before: Mapping[int, Sequence[int | None]]) -> list[int]:
    """Put ``ids`` in an order in which each stands after everything in its list in ``before``,
    circles apart."""
    done, order = set[int](), list[int]()
    for start in ids:
        todo = [(start, False)]
        while todo:
            one, finished = todo.pop()
            if finished:
                order.append(one)
            elif one not in done:
                done.add(one)
                todo.append((one, True))
                todo += [(b, False) for b in reversed(before.get(one, ())) if b is not None]
    return order


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Group values by their keys, in order."""
    table: dict[Key, list[Value]] = {}
    for key, value in pairs:
        table.setdefault(key, []).append(value)
    return table


def _give(found: dict[int, int], tensor_ids: Iterable[int], more: int) -> None:
    """Add bits to those of some states."""
    for tensor_id in tensor_ids:
        found[tensor_id] = found.get(tensor_id, 0) | more
