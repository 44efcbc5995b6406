"""What happened to the gradient, in one or two plain sentences. Says nothing that the graph does not prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from . import queries, rows
from .graph import Call, CutReason, Graph, Node, NodeKind, Raised, SavedState, Tensor, Wrote
from .theme import shorten, visible

LIMIT = 240  # characters of both sentences together
CODE = 48  # characters of a line of code in a sentence
SHORT = 24  # characters of a list of numbers, where a sentence is too long
FEW = 3  # leaves or contributions that are told one by one
CUTTERS = {
    CutReason.DETACH: "detach()",
    CutReason.DETACH_IN_PLACE: "detach_()",
    CutReason.NOT_DIFFERENTIABLE: "{}(), which has no derivative,",
    CutReason.INTEGER_DTYPE: "an integer or bool result of {}()",
    CutReason.COPIED_OUT: "{}(), which copies the value out of the graph,",
    CutReason.NO_GRAD_WRITE: "an in-place write under no_grad",
    CutReason.FLAG_OFF: "switching requires_grad off",
    CutReason.CUSTOM_NON_DIFFERENTIABLE: "{}, which marks it non-differentiable,",
    CutReason.UNKNOWN: "{}, it is not known why,",
}  # the other reasons stand in the sentence as they are: .data, no_grad


def summary(graph: Graph, error: str = "") -> str:
    """What happened to the gradient here.

    Args:
        graph: what was recorded or captured.
        error: what the code raised, as "RuntimeError: …".

    Returns:
        At most two sentences and 240 characters, the same for the same code in every process. Errors come first,
        then cuts, then the gradients that came back; what the graph does not prove is left out.

    Example:
        >>> summary(Graph())
        'Nothing was recorded.'
    """
    told: list[str] = []
    for sentence in _Teller(graph).sentences(error):
        sentence = "T" + sentence[1:] if sentence.startswith("the ") else sentence
        sentence = sentence if len(sentence) <= LIMIT else shorten(sentence, SHORT)
        if not told or len(f"{told[0]} {sentence}") <= LIMIT:
            told.append(sentence)
        if len(told) == 2:
            break
    if not told and all(t.is_leaf for t in graph.tensors):
        return "No tensor here has a grad_fn: autograd has recorded no step."
    return visible(" ".join(told), LIMIT)


class _Teller:
    """Tells one graph, the most important first."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.last = queries.latest_states(graph)
        self.grads = queries.grads_now(graph)
        self.current = {t.name: i for i, t in self.last.items() if t.name}
        self.backward_calls = {b.call_id for b in graph.backwards}

    def sentences(self, error: str) -> Iterator[str]:
        raised = [e for e in self.graph.events if isinstance(e, Raised)]
        raised = [e for e in raised if error.startswith(e.error) and e.message[:CODE] in error] if error else raised
        if raised:
            yield from self.error(raised[-1])
        elif error:
            yield f"The code stops with {_first_line(error)}."
        yield from self.saved()
        yield from self.cuts()
        yield from self.missing()
        yield from self.gradients()
        yield from self.before_backward()
        yield from self.memory()
        if not raised:
            yield from self.passed()

    # --- words ------------------------------------------------------------------------------------------------------

    def name(self, tensor_id: int | None) -> str:
        """A tensor's name, or the code that made it. What another tensor is called by now says so."""
        t = self.graph.tensor.get(-1 if tensor_id is None else tensor_id)
        if t is None:
            return "the value"
        if t.name:
            return t.name if self.current.get(t.name, t.object_id) == t.object_id else f"the earlier {t.name}"
        return self.code(self.makers.get(t.id)) or "an unnamed tensor"

    def code(self, call: Call | None) -> str:
        return visible(rows.code(call), CODE) if call else ""

    @cached_property
    def makers(self) -> dict[int, Call]:
        return {o: c for c in reversed(self.graph.calls) for o in c.outputs if o not in c.inputs}

    def made_by(self, node: Node) -> str:
        """The code behind a node."""
        return self.code(self.graph.call.get(-1 if node.call_id is None else node.call_id)) or node.name

    # --- where gradients can go -------------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> dict[int, Tensor]:
        """The leaf, as it is now, of every AccumulateGrad."""
        nodes = queries.accumulate_nodes(self.graph)
        return {node: self.last[i] for i, node in sorted(nodes.items())}

    @cached_property
    def leaf_bits(self) -> dict[int, int]:
        return queries.met(self.graph, {node: 1 << i for i, node in enumerate(self.leaves)}, {})

    def reaches(self, t: Tensor | None) -> int:
        """Which leaves a gradient from ``t`` reaches, as bits."""
        if t is None or t.gradient_edge is None:
            return int(bool(t and t.is_leaf and t.requires_grad))
        return self.leaf_bits.get(t.gradient_edge.node_id, 0)

    def reached(self, t: Tensor | None) -> list[str]:
        """Their names."""
        bits = self.reaches(t)
        if t and not t.gradient_edge:
            return [self.name(t.id)] if bits else []
        return [self.name(leaf.id) for i, leaf in enumerate(self.leaves.values()) if bits >> i & 1]

    def ancestors(self, tensor_ids: Iterable[int]) -> set[int]:
        """Everything that these tensors were computed from, cut or not."""
        found = set(tensor_ids)
        written: dict[int, list[int]] = {}
        for e in self.graph.events:
            if isinstance(e, Wrote) and e.call_id not in self.backward_calls:
                written.setdefault(e.call_id, []).append(e.after_id)
        for call in reversed(self.graph.calls):
            made = () if call.id in self.backward_calls or call.bookkeeping else call.outputs
            if not found.isdisjoint((*made, *written.get(call.id, ()))):
                found.update(call.inputs)
        return found

    # --- errors and saved tensors -----------------------------------------------------------------------------------

    def error(self, event: Raised) -> Iterator[str]:
        call = self.graph.call.get(event.call_id)
        start = f"{_line(call)}{self.code(call) or 'a call'} raises {event.error}"
        root = (
            self.graph.tensor.get(call.inputs[0]) if call and call.inputs and call.id in self.backward_calls else None
        )
        node = self.graph.node.get(-1 if event.node_id is None else event.node_id)
        if root and root.requires_grad is False and "require grad" in event.message:
            yield f"{start}, because {self.name(root.id)} has no grad_fn."
            origins = [self.graph.tensor[i] for i in self.ancestors([root.id]) if i in self.graph.tensor]
            if not self.graph.notes and all(t.requires_grad is False for t in origins):
                yield "Nothing that it was computed from requires grad."
            return
        states = {s.state for s in node.saved} if node else set()
        if node and SavedState.FREED in states and "second time" in event.message:
            yield f"{start}: an earlier backward freed what {node.name} of {self.made_by(node)} had saved."
        elif SavedState.STALE not in states:
            yield f"{start.removesuffix(event.error)}{_first_line(rows.error_text(event))}."

    def saved(self) -> Iterator[str]:
        """Saved tensors that were written afterwards."""
        failed = {e.node_id: e for e in self.graph.events if isinstance(e, Raised) and "inplace" in e.message}
        for node in self.graph.nodes:
            for s in node.saved:
                t = self.graph.tensor.get(-1 if s.tensor_id is None else s.tensor_id)
                what = self.name(t.id) if t else s.attribute
                if s.state is SavedState.OVERWRITTEN:
                    yield f"{what} was overwritten after {self.made_by(node)} saved it: backward uses wrong numbers."
                elif s.state is SavedState.STALE:
                    at = "" if s.saved_version is None else f" at version {s.saved_version}"
                    end = f"raises {failed[node.id].error}" if node.id in failed else "would raise"
                    wrote = self.writer(t, s.saved_version)
                    yield f"{self.made_by(node)} saved {what}{at} and {wrote}: backward {end}."

    def writer(self, saved: Tensor | None, version: int | None) -> str:
        """Who moved a saved tensor past the version at which it was saved."""
        for e in self.graph.events:
            if isinstance(e, Wrote) and saved and version is not None:
                before, after = self.graph.tensor[e.before_id], self.graph.tensor[e.after_id]
                if after.object_id == saved.object_id and before.version == version != after.version:
                    return f"{self.writing(e)} wrote it since"
        return "it was written since"

    def writing(self, event: Wrote) -> str:
        call = self.graph.call.get(event.call_id)
        where = f" in line {call.source.line}" if call and call.source else ""
        return (self.code(call) or "a call") + where

    # --- cuts -------------------------------------------------------------------------------------------------------

    def cuts(self) -> Iterator[str]:
        """The cut that matters most: on the way to the last root, and with leaves behind it."""
        if not self.graph.cuts:
            return
        behind = self.ancestors(self.graph.roots[-1:])
        found = [c for c in self.graph.cuts if self.reaches(self.graph.tensor.get(c.input_id))]
        found.sort(key=lambda c: c.output_id not in behind)
        for cut in found[:1]:
            leaves = self.reached(self.graph.tensor[cut.input_id])
            call = self.graph.call.get(cut.call_id)
            who = CUTTERS.get(cut.reason, cut.reason.value).format(call.function if call else "a call")
            source, result = self.name(cut.input_id), self.name(cut.output_id)
            ends = [self.graph.tensor[i].object_id for i in (cut.input_id, cut.output_id) if i is not None]
            what = f"{result} off" if len(ends) == 2 and ends[0] == ends[1] else f"{result} from {source}"
            count = f" (1 of {len(found)} cuts)" if len(found) > 1 else ""
            yield f"✂ {_line(call)}{who} cuts {what}{count}: no gradient goes back to {_several(leaves)} this way."

    # --- gradients --------------------------------------------------------------------------------------------------

    def missing(self) -> Iterator[str]:
        """Leaves to which no path leads from where backward began."""
        roots = {r for b in self.graph.backwards for r in b.roots}
        met = [self.graph.node[n] for n in queries.reachable(self.graph, roots) if n in self.graph.node]
        if not roots or any(n.leaf_id is None if n.kind is NodeKind.ACCUMULATE_GRAD else n.stub for n in met):
            return
        there = {self.graph.tensor[n.leaf_id].object_id for n in met if n.leaf_id is not None}
        without = [
            self.name(t.id)
            for t in self.last.values()
            if t.name and t.is_leaf and t.requires_grad and self.grads[t.object_id] is None and t.object_id not in there
        ]
        if without:
            verb = "is None: no gradient path leads" if len(without) == 1 else "are None: no gradient path leads"
            starts = list(dict.fromkeys(self.name(i) for i in self.graph.roots))
            yield f"{_several([f'{n}.grad' for n in without])} {verb} there from {_several(starts)}."

    def gradients(self) -> Iterator[str]:
        told = list(self.leaf_gradients())
        if len(told) > FEW:
            leaves = sum(bool(t.is_leaf and t.requires_grad) for t in self.last.values())
            yield f"{len(told)} of the {leaves} leaves that require grad received a gradient."
        elif told:
            yield "; ".join(told) + "."
        for run in self.graph.backwards[-1:]:
            given = [f"{value} for {self.name(i)}" for i, value in run.returned]
            if 0 < len(given) <= FEW:
                yield f"autograd.grad returned {_several(given)} and filled no .grad."
        for t in self.last.values():
            if t.retains_grad and t.grad is not None and not t.is_leaf:
                yield f"{self.name(t.id)}.grad is {t.grad}: it is not a leaf, and retain_grad() kept it."

    def leaf_gradients(self) -> Iterator[str]:
        sent, into = queries.sent_by_run(self.graph), queries.edges_into(self.graph)
        for node, done in queries.accumulations(self.graph).items():
            t, last = self.leaves.get(node), done[-1]
            if t is None or last.stored is None:
                continue
            grad = f"{self.name(t.id)}.grad"
            through: dict[str, list[str]] = {}
            for e in into.get(node, ()):
                if value := sent.get((last.run, e.node_id, e.next_index)):
                    through.setdefault(self.made_by(self.graph.node[e.node_id]), []).append(value)
            parts = [f"{' and '.join(values)} through {code}" for code, values in through.items()]
            parts[:1] = [p.replace(" through ", " came back through ", 1) for p in parts[:1]]
            number = sum(map(len, through.values()))
            if not t.requires_grad:
                yield f"{grad} was {last.stored} after backward"
            elif (now := self.grads[t.object_id]) != last.stored:
                yield f"{grad} was {last.stored} after backward and is {now} now"
            elif last.before is not None:
                yield f"{grad} is {last.stored}: {last.incoming} arrived and was added to {last.before} from before"
            elif number > FEW:
                yield f"{grad} is {last.stored}: {number} gradients came back"
            elif number == 1:
                yield f"{grad} is {last.stored}: it came back through {next(iter(through))}"
            else:
                yield f"{grad} is {last.stored}" + (f": {' and '.join(parts)}" if parts else "")

    def before_backward(self) -> Iterator[str]:
        if self.graph.backwards:
            return
        if not self.graph.tensors:
            yield "Nothing was recorded."
        elif all(t.requires_grad is False for t in self.graph.tensors):
            yield "Nothing here requires grad, so autograd records nothing."
        for root in self.graph.roots[-1:]:
            if leaves := self.reached(self.graph.tensor.get(root)):
                known = self.graph.calls and not self.graph.notes  # a graph that was only read may have had a backward
                end = "; no backward has run here." if known else "."
                yield f"{self.name(root)} can send gradients to {_several(leaves)}{end}"

    def passed(self) -> Iterator[str]:
        """A result whose gradient was not kept."""
        arrived = queries.arrived_gradients(self.graph)
        started = {r for b in self.graph.backwards for r in b.roots}
        for t in self.last.values():
            edge = t.gradient_edge
            value = arrived.get((edge.node_id, edge.output_nr)) if edge and edge.node_id not in started else None
            if value and t.name and t.is_leaf is False and t.retains_grad is False:
                yield f"{self.name(t.id)} is not a leaf: its gradient {value} passed through and was not kept."
                return

    # --- memory -----------------------------------------------------------------------------------------------------

    def memory(self) -> Iterator[str]:
        for e in self.graph.events:
            if isinstance(e, Wrote) and e.alias:
                before, after = self.graph.tensor[e.before_id], self.graph.tensor[e.after_id]
                if before.values != after.values:
                    yield f"{self.writing(e)} changed {self.name(after.id)} too, which shares that memory."
                    return
        named = [t for t in self.last.values() if t.name]
        for one, two, *_ in queries.sharing(named).values():
            if one.name != two.name:
                same = (one.shape, one.stride, one.storage_offset) == (two.shape, two.stride, two.storage_offset)
                shows = ": an in-place write to one shows in the other" if same and one.shape is not None else ""
                yield f"{self.name(two.id)} and {self.name(one.id)} share one block of memory{shows}."
                return


def _first_line(error: str) -> str:
    return visible(error.strip().partition("\n")[0], CODE * 3).rstrip(".")


def _line(call: Call | None) -> str:
    return f"Line {call.source.line}: " if call and call.source else ""


def _several(names: Sequence[str]) -> str:
    """
    >>> _several(["a"]), _several(["a", "b", "c"]), _several(list("abcde"))
    ('a', 'a, b and c', 'a, b and 3 more')
    """
    listed = [*names[:2], f"{len(names) - 2} more"] if len(names) > FEW else list(names)
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)
