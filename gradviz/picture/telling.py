"""One event of a recording in one sentence, and where in the code it stands. Knows no torch."""

from __future__ import annotations

from gradviz.graph.facts import Facts
from gradviz.graph.records import (
    Accumulated,
    Backward,
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
from gradviz.words.plain import TEXT_LIMIT, visible
from gradviz.words.speech import Code, Told, clear, joined, tell, together, values_of
from gradviz.words.words import Words, reason_of, way

LISTED = 6  # nodes that one sentence names
SETTERS = {"__setitem__": "", "data": ".data", "grad": ".grad", "requires_grad": ".requires_grad"}


class Story:
    """What the last event of a graph was, in one sentence, and where in the code it stands."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts = graph, Facts.of(graph)
        self.words = Words(graph, TEXT_LIMIT)
        self.event = graph.events[-1] if graph.events else None

    def error(self) -> str:
        """Return what the event raised, or ""."""
        return error_text(self.event) if isinstance(self.event, Raised) else ""

    def sources(self) -> tuple[Source, ...]:
        """Return where in the code the event stands; a backward stands at its call and at the
        calls that made what it runs."""
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

    def sentence(self) -> Told:
        """Return the event in one sentence; a call that cut something has one more a cut."""
        event, text = self.event, ""
        if isinstance(event, Called):
            text = self.called(self.graph.call[event.call_id])
        elif isinstance(event, Wrote):
            text = self.wrote(event)
        elif isinstance(event, Hooked):
            text = self.hooked(event)
        elif isinstance(event, Changed):
            text = self.changed_on_its_way(event)
        elif isinstance(event, NodeRan):
            text = self.ran(event)
        elif isinstance(event, Accumulated):
            text = self.accumulated(event)
        elif isinstance(event, Freed):
            text = self.freed(event)
        elif isinstance(event, Raised):
            text = self.raised(event)
        return clear(text or tell("event.none"), 500)

    # --- calls ------------------------------------------------------------------------------------

    def called(self, call: Call) -> str:
        """Tell what a call made, wrote and cut."""
        line, deeds = self.words.line(call), self.deeds(call)
        done = tell("event.did", call=line, deeds=deeds) if deeds else tell("event.ran", call=line)
        return together([done, *map(self.cut, self.facts.cuts_of_call.get(call.id, ()))], " ")

    def deeds(self, call: Call) -> list[str]:
        """List what a call did, a phrase each."""
        run = self.facts.run_of_call.get(call.id)
        if run is not None:
            return [self.started(run)]
        if call.inputs and not call.outputs and call.function in SETTERS:
            written = together([self.words.name(call.inputs[0]), Code(SETTERS[call.function])])
            return [tell("event.writes", name=written)]
        before = {self.graph.tensor[i].object_id: self.graph.tensor[i] for i in call.inputs}
        made = [self.graph.tensor[o] for o in call.outputs if o not in call.inputs]
        new = [self.made(t) for t in made if t.object_id not in before]
        deeds = [tell("event.made", tensors=new)] if new else []
        changed = [t for t in made if t.object_id in before]
        return deeds + [self.changed(before[t.object_id], t) for t in changed]

    def started(self, run: Backward) -> str:
        """Tell at which nodes a backward began."""
        nodes = [self.words.node_by_id(n) for n in run.roots] or [tell("event.no_node")]
        return tell("event.starts" if run.watched else "event.ran_unwatched", nodes=nodes)

    def changed(self, before: Tensor, after: Tensor) -> str:
        """Tell what a call did to a tensor that it was given."""
        name, grad_fn = self.words.name(after.id), self.grad_fn(after)
        same_memory = before.version == after.version
        if same_memory and before.requires_grad != after.requires_grad:
            is_on = after.requires_grad
            return tell("event.switched_on" if is_on else "event.switched_off", name=name)
        changed = same_memory and after.version is not None
        if grad_fn is None:
            return tell("event.changed" if changed else "event.writes", name=name)
        return tell(
            "event.changed_grad_fn" if changed else "event.writes_grad_fn",
            name=name,
            grad_fn=grad_fn,
        )

    def cut(self, cut: Cut) -> str:
        """Tell which way of the gradient a call cut."""
        result = self.words.name(cut.output_id)
        if cut.reason is CutReason.FLAG_OFF:
            return tell("event.frozen", name=result)
        if self.facts.is_cut_off(cut):
            return tell("event.cut_through", reason=reason_of(cut), result=result)
        source = self.words.name(cut.input_id)
        return tell("event.cut", reason=reason_of(cut), result=result, source=source)

    def made(self, tensor: Tensor) -> str:
        """Tell of a tensor that a call made whether autograd tracks it."""
        # the code that made it stands before it
        is_named = bool(tensor.name)
        name = Code(visible(tensor.name, TEXT_LIMIT)) if is_named else tell("event.a_tensor")
        if grad_fn := self.grad_fn(tensor):
            # the call made it; the node will run in backward
            return tell("event.made_tracked", name=name, grad_fn=grad_fn)
        if tensor.requires_grad is None:
            return tell("event.made_unknown", name=name)
        if tensor.object_id in self.facts.cut_views:
            return tell("event.made_view", name=name)
        is_leaf = tensor.requires_grad and tensor.is_leaf
        return tell("event.made_leaf" if is_leaf else "event.made_untracked", name=name)

    def grad_fn(self, tensor: Tensor) -> str | None:
        """Return the name of a tensor's ``grad_fn``, where it has one that is known."""
        node = self.facts.grad_fn(tensor)
        return Code(node.name) if node else None

    def wrote(self, event: Wrote) -> str:
        """Tell what a write changed."""
        before, after = self.facts.around(event)
        changes = self.changes(before, after) or [tell("event.nothing_visible")]
        return tell(
            "event.wrote_shared" if event.alias else "event.wrote",
            call=self.words.line(self.graph.call.get(event.call_id)),
            name=self.words.name(after.id),
            changes=changes,
        )

    def changes(self, before: Tensor, after: Tensor) -> list[str]:
        """List what is different in a state of a tensor, as far as it can be seen."""
        changes: list[str] = []
        if before.version != after.version:
            changes.append(tell("event.version", was=before.version, now=after.version))
        if before.grad != after.grad:
            changes.append(tell("event.grad", was=before.grad, now=after.grad))
        if before.requires_grad != after.requires_grad:
            was, now = before.requires_grad, after.requires_grad
            changes.append(tell("event.requires_grad", was=was, now=now))
        kept, keeps = bool(before.retains_grad), bool(after.retains_grad)
        if kept != keeps:
            changes.append(tell("event.retains_grad", was=kept, now=keeps))
        # not known of a view whose memory was written: its grad_fn is made anew
        former, grad_fn = self.grad_fn(before), self.grad_fn(after)
        if after.is_leaf is not None and former != grad_fn:
            changes.append(tell("event.grad_fn", was=former, now=grad_fn))
        if before.version == after.version and before.values != after.values:
            changes.append(tell("event.values", was=before.values, now=after.values))
        return changes

    def hooked(self, event: Hooked) -> str:
        """Tell on which tensor a hook was put."""
        call = self.graph.call[event.call_id]
        fields = {"call": self.words.line(call), "name": self.words.name(event.tensor_id)}
        if "accumulate" not in call.function:
            return tell("event.hooked", **fields)
        return tell("event.hooked_after", grad=self.words.grad(event.tensor_id), **fields)

    def raised(self, event: Raised) -> str:
        """Tell what a call raised."""
        call = self.words.line(self.graph.call.get(event.call_id))
        error = Code(error_text(event).rstrip("."))
        if event.node_id is None:
            return tell("event.raised", call=call, error=error)
        return tell(
            "event.raised_while", call=call, error=error, node=self.words.node_by_id(event.node_id)
        )

    # --- backwards --------------------------------------------------------------------------------

    def changed_on_its_way(self, event: Changed) -> str:
        """Tell what became of a gradient between two nodes."""
        change = way(event.before, event.after, event.hooks)
        if not event.hooks:
            return tell(
                "event.changed_unseen", node=self.words.node_by_id(event.node_id), change=change
            )
        on = next(e.tensor_id for e in self.facts.hooks if e.call_id in event.hooks)
        # a large one: its numbers are not kept
        is_large = event.before == event.after
        return tell(
            "event.through_hook" if is_large else "event.changed_by_hook",
            hooks=event.hooks,
            name=self.words.name(on),
            change=change,
        )

    def ran(self, event: NodeRan) -> str:
        """Tell what arrived at a node, and what it sent."""
        nexts = {e.next_index: e.next_node_id for e in self.graph.edges_from.get(event.node_id, ())}
        sent = [
            tell("event.sent", gradient=gradient, node=self.words.node_by_id(nexts[slot]))
            for slot, gradient in enumerate(event.sent)
            if gradient is not None and nexts.get(slot) is not None
        ]
        node, nothing = self.words.node_by_id(event.node_id), tell("change.nothing")
        arrived = joined([values_of(gradient or nothing) for gradient in event.arrived]) or nothing
        if sent:
            return tell("event.node_sent", node=node, arrived=arrived, sent=sent)
        return tell("event.node_ran", node=node, arrived=arrived)

    def accumulated(self, event: Accumulated) -> str:
        """Tell what an AccumulateGrad stored."""
        fields = {
            "node": self.words.node_by_id(event.node_id),
            "incoming": event.incoming,
            "before": event.before,
            "stored": event.stored,
        }
        if event.added is None:
            return tell("event.stored", **fields)
        change = way(event.added, event.stored, event.hooks)
        return tell("event.stored_changed", change=change, **fields)

    def freed(self, event: Freed) -> str:
        """Tell whose saved tensors a backward released."""
        nodes = [self.words.node_by_id(n) for n in event.node_ids[:LISTED]]
        if len(event.node_ids) > LISTED:
            nodes.append(tell("event.more_nodes", n=len(event.node_ids) - LISTED))
        call = self.words.line(self.facts.call_of_run.get(event.run))
        return tell("event.freed", call=call, nodes=joined(nodes))
