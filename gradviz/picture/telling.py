"""One event of a recording in one sentence, and where in the code it stands. Knows no torch."""

from __future__ import annotations

from gradviz.graph.facts import Facts, How, code_of, way
from gradviz.graph.records import (
    Accumulated,
    Call,
    Called,
    Changed,
    Cut,
    CutReason,
    Freed,
    Graph,
    Hooked,
    NodeRan,
    Raised,
    Source,
    Tensor,
    Wrote,
)
from gradviz.picture.rows import error_text
from gradviz.picture.scene import describe, joined
from gradviz.words.plain import visible

LISTED = 6  # nodes that one sentence names
SETTERS = {"__setitem__": "", "data": ".data", "grad": ".grad", "requires_grad": ".requires_grad"}


class Story:
    """What the last event of a graph was, in one sentence, and where in the code it stands."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts = graph, Facts.of(graph)
        self.event = graph.events[-1] if graph.events else None

    def error(self) -> str:
        return error_text(self.event) if isinstance(self.event, Raised) else ""

    def sources(self) -> tuple[Source, ...]:
        event = self.event
        if event is None:
            return ()
        if isinstance(event, (Called, Wrote, Hooked, Raised)):
            calls = [self.graph.call.get(event.call_id)]
        elif isinstance(event, Changed):
            calls = [self.facts.call_of_run.get(event.run), *map(self.graph.call.get, event.hooks)]
        else:
            made = None if isinstance(event, Freed) else self.graph.node[event.node_id].call_id
            calls = [self.facts.call_of_run.get(event.run), self.graph.call.get(made)]
        return tuple(dict.fromkeys(c.source for c in calls if c and c.source))

    def sentence(self) -> str:
        event, text = self.event, "Nothing has happened yet."
        if isinstance(event, Called):
            text = self.called(self.graph.call[event.call_id])
        elif isinstance(event, Wrote):
            text = self.wrote(event)
        elif isinstance(event, Hooked):
            call, name = self.graph.call[event.call_id], self.name(event.tensor_id)
            when = f", to run when {name}.grad is filled" if "accumulate" in call.function else ""
            text = f"{self.where(call)} puts a hook on {name}{when}."
        elif isinstance(event, Changed):
            text = self.changed_on_its_way(event)
        elif isinstance(event, NodeRan):
            text = self.ran(event)
        elif isinstance(event, Accumulated):
            text = (
                f"{self.node(event.node_id)}: arrives {event.incoming}, was {event.before}, "
                f"stored {event.stored}."
            )
            if event.added is not None:
                text = f"{text[:-1]}: {way(event.added, event.stored, event.hooks)}."
        elif isinstance(event, Freed):
            names = [self.node(n) for n in event.node_ids[:LISTED]]
            more = (
                [f"{len(event.node_ids) - LISTED} more nodes"]
                if len(event.node_ids) > LISTED
                else []
            )
            text = (
                f"{self.where(self.facts.call_of_run.get(event.run))} freed what"
                f" {joined([*names, *more])} had saved."
            )
        elif isinstance(event, Raised):
            during = "" if event.node_id is None else f" while {self.node(event.node_id)} ran"
            text = (
                f"{self.where(self.graph.call.get(event.call_id))} raised"
                f" {error_text(event).rstrip('.')}{during}."
            )
        return visible(text, 500)

    def changed_on_its_way(self, event: Changed) -> str:
        changed = way(event.before, event.after, event.hooks)
        if not event.hooks:
            return (
                f"On its way to {self.node(event.node_id)} the gradient was changed, it is not"
                f" known by what: {changed}."
            )
        on = next(e.tensor_id for e in self.facts.hooks if e.call_id in event.hooks)
        by = (
            f"the {'hook' if len(event.hooks) == 1 else f'{len(event.hooks)} hooks'} on"
            f" {self.name(on)}"
        )
        if event.before == event.after:  # a large one: its numbers are not kept
            return f"The gradient went through {by}: {changed}."
        return f"T{by[1:]} changed the gradient: {changed}."

    def called(self, call: Call) -> str:
        run = self.facts.run_of_call.get(call.id)
        before = {self.graph.tensor[i].object_id: self.graph.tensor[i] for i in call.inputs}
        made = [t for t in (self.graph.tensor[o] for o in call.outputs) if t.id not in call.inputs]
        new = [self.made(t) for t in made if t.object_id not in before]
        parts = [f"made {joined(new)}"] if new else []
        parts += [self.changed(before[t.object_id], t) for t in made if t.object_id in before]
        if call.inputs and not call.outputs and call.function in SETTERS:
            parts = [f"writes {self.name(call.inputs[0])}{SETTERS[call.function]}"]
        if run is not None:
            starts = "starts" if run.watched else "ran unwatched"
            parts = [f"{starts} at {joined([self.node(n) for n in run.roots]) or 'no node'}"]
        ends = (self.cut(c) for c in self.facts.cuts_of_call.get(call.id, ()))
        return f"{self.where(call)} {' and '.join(parts) or 'ran'}.{''.join(ends)}"

    def changed(self, before: Tensor, after: Tensor) -> str:
        name, grad_fn = self.name(after.id), self.grad_fn(after)
        if before.version == after.version and before.requires_grad != after.requires_grad:
            return f"switches requires_grad of {name} {'on' if after.requires_grad else 'off'}"
        verb = "changed" if before.version == after.version is not None else "writes"
        return f"{verb} {name}" + (f", whose grad_fn is {grad_fn} now" if grad_fn else "")

    def cut(self, cut: Cut) -> str:
        if cut.reason is CutReason.FLAG_OFF:
            return (
                f" {self.name(cut.output_id)} is frozen: what uses it later brings it no gradient."
            )
        return f" ✂ {cut.reason.value}: no gradient goes back {self.way(cut)}."

    def way(self, cut: Cut) -> str:
        ends = [
            self.graph.tensor[i].object_id for i in (cut.input_id, cut.output_id) if i is not None
        ]
        if len(ends) == 2 and ends[0] == ends[1]:
            return f"through {self.name(cut.output_id)}"
        return f"from {self.name(cut.output_id)} to {self.name(cut.input_id)}"

    def made(self, tensor: Tensor) -> str:
        name = tensor.name or "a tensor"  # the code that made it stands before it
        if grad_fn := self.grad_fn(tensor):
            # the call made it; the node will run in backward
            return f"{name}, whose grad_fn is {grad_fn}"
        tracked = (
            "a leaf that requires grad"
            if tensor.requires_grad and tensor.is_leaf
            else "not tracked"
        )
        if tensor.object_id in self.facts.cut_views:
            tracked = "which requires grad, and yet no gradient comes to it"
        return f"{name}, {tracked if tensor.requires_grad is not None else 'tracked or not'}"

    def wrote(self, event: Wrote) -> str:
        before, after = self.graph.tensor[event.before_id], self.graph.tensor[event.after_id]
        pairs = [
            ("version", before.version, after.version),
            (".grad", before.grad, after.grad),
            ("requires_grad", before.requires_grad, after.requires_grad),
            ("retains_grad", bool(before.retains_grad), bool(after.retains_grad)),
        ]
        # not known of a view whose memory was written: its grad_fn is made anew
        if after.is_leaf is not None:
            pairs.append(("grad_fn", self.grad_fn(before), self.grad_fn(after)))
        pairs += (
            [("values", before.values, after.values)] if before.version == after.version else []
        )
        what = (
            ", ".join(f"{word} {was} → {now}" for word, was, now in pairs if was != now)
            or "nothing visible"
        )
        name, where = self.name(after.id), self.where(self.graph.call.get(event.call_id))
        return (
            f"{where} changed {name}{', which shares that memory' if event.alias else ''}: {what}."
        )

    def grad_fn(self, tensor: Tensor) -> str | None:
        edge = tensor.gradient_edge
        node = None if tensor.is_leaf or not edge else self.graph.node.get(edge.node_id)
        return node.name if node else None

    def ran(self, event: NodeRan) -> str:
        nexts = {e.next_index: e.next_node_id for e in self.graph.edges_from.get(event.node_id, ())}
        sent = [
            f"{value} to {self.node(nexts[i])}"
            for i, value in enumerate(event.sent)
            if value is not None and nexts.get(i) is not None
        ]
        arrived = joined([value or "nothing" for value in event.arrived]) or "nothing"
        return f"{self.node(event.node_id)} ran: {arrived} arrived" + (
            f", sent {joined(sent)}." if sent else "."
        )

    def node(self, node_id: int | None) -> str:
        node = self.graph.node[node_id]
        if node.leaf_id is not None:
            return f"{node.name} of {self.name(node.leaf_id)}"
        call = self.graph.call.get(node.call_id)
        return f"{node.name} ({code_of(call)})" if call else node.name

    def name(self, tensor_id: int | None) -> str:
        label = self.facts.label(tensor_id)
        if label.tensor is None:
            return "a plain value"
        if label.how is How.NAMED:
            return label.name
        if label.maker:
            return code_of(label.maker)
        return f"an unnamed tensor ({describe(label.tensor)})"

    def where(self, call: Call | None) -> str:
        if call is None:
            return "An earlier call"
        return f"Line {call.source.line}: {code_of(call)}" if call.source else code_of(call)
