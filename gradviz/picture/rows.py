"""The lines of one card: the code that made a value, the value, its ``grad_fn``, and what became of
its gradient."""

from __future__ import annotations

import re

from gradviz.graph.facts import Facts, code_of, way
from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Called,
    Changed,
    Edge,
    GradientEdge,
    Graph,
    Node,
    NodeRan,
    NoteKind,
    Raised,
    SavedState,
    SavedTensor,
    Tensor,
    Wrote,
)
from gradviz.picture.scene import Row, count, joined

LISTED = 6  # nodes, contributions or runs of one card that are listed one by one
LONG = 80  # characters of such a list


class RowWriter:
    """Writes the lines of cards of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts = graph, Facts.of(graph)
        # by the tensor that backward was called on
        self.refusals: dict[int, tuple[Backward, Raised]] = {}
        self.given_back: dict[int, list[str]] = {}  # what autograd.grad returned, by object
        for run in graph.backwards:
            for i, value in run.returned:
                said = self.as_it_came(run.run, graph.tensor[i].gradient_edge, str(value))
                self.given_back.setdefault(graph.tensor[i].object_id, []).append(said)
            error = self.facts.error_of_call.get(run.call_id)
            if error and run.call_id in graph.call and not run.ran and run.raised_at is None:
                refused = self.facts.refused(run, error.message)
                self.refusals |= dict.fromkeys(refused, (run, error))

    def rows(
        self,
        kind: str,
        states: list[Tensor],
        calls: list[Call],
        nodes: list[int],
        output: int | None = None,
        leaf: bool = True,
    ) -> tuple[str, list[Row]]:
        """The kind of a card and its lines.

        Args:
            kind: what is already known of the kind, or "".
            states: the states of the one tensor object that the card stands for, oldest first; may
                be empty.
            calls: the calls that made it and wrote it.
            nodes: ids of the nodes that it stands for.
            output: which output of its node it is, where the node stands alone.
            leaf: whether what happened to a leaf's gradient is told here.
        """
        if not states:
            return kind, self.bare_rows(kind, calls, nodes)
        tensor = states[-1]
        rows = [Row("code", line) for line in self.code(states, calls)]
        rows.append(Row("values", self.values(states, calls)))
        nodes = self.facts.gradient_order(nodes)
        rows += [Row("state", f"output {output}")] if output is not None else []
        kind, said = self.tracking(states)
        current, former = self.by_age(tensor, nodes)
        footer = [*self.node_rows(current), *self.former_rows(former)]
        if kind == "leaf":
            rows += [*said, *(self.leaf_rows(tensor) if leaf else []), *footer]
        else:
            edge = tensor.gradient_edge if output is not None else None
            rows += [*footer, *said, *self.changed_rows(nodes, edge), *self.returned(tensor)]
            # optimizers look at it
            if kind == "untracked" and tensor.is_leaf and tensor.grad is not None:
                rows.append(Row("accumulate", f".grad is still {tensor.grad}"))
        return kind, rows + self.retained(tensor) + self.refused(states)

    def tracking(self, states: list[Tensor]) -> tuple[str, list[Row]]:
        """The kind of a tensor's card, and the line that says whether autograd tracks it."""
        tensor = states[-1]
        if tensor.requires_grad is None and not tensor.gradient_edge:
            return "untracked", [Row("untracked", "whether it is tracked is not known")]
        if tensor.requires_grad and tensor.object_id in self.facts.cut_views:
            said = ("not tracked, yet requires_grad", "no gradient comes to it")
            return "untracked", [Row("untracked", text) for text in said]
        if not (tensor.requires_grad or tensor.gradient_edge):
            return "untracked", [
                Row(
                    "untracked",
                    "not tracked" + ("" if tensor.is_leaf is None else " · grad_fn None"),
                )
            ]
        if tensor.is_leaf:
            return "leaf", [Row("state", "leaf · requires_grad")]
        # a view whose memory was written
        anew = tensor.is_leaf is None and not tensor.gradient_edge
        return "result", [Row("grad_fn", "grad_fn is made anew at its next use")] if anew else []

    def refused(self, states: list[Tensor]) -> list[Row]:
        """A backward that began here and raised before it ran a node, most often for want of a
        ``grad_fn``."""
        rows = []
        for tensor in (t for t in states if t.id in self.refusals):
            run, error = self.refusals[tensor.id]
            why = error_text(error) if tensor.requires_grad else "no grad_fn"
            others = sum(other == (run, error) for other in self.refusals.values()) - 1
            here = (
                "raises here"
                if not others
                else f"of this and {count(others, 'more tensor')} raises"
            )
            rows.append(Row("stale", f"{_word(run)} {here}: {why}"))
        return rows

    def bare_rows(self, kind: str, calls: list[Call], nodes: list[int]) -> list[Row]:
        """A node without a tensor, a value that left torch, or a call that raised."""
        if kind == "raised":
            error = self.facts.error_of_call[calls[0].id]
            return [Row("code", code_of(calls[0])), Row("stale", error_text(error))]
        if calls:
            return [
                Row("code", code_of(calls[0])),
                Row("untracked", "a plain value, outside of torch"),
            ]
        nodes = self.facts.gradient_order(nodes)
        call = self.graph.call.get(self.graph.node[nodes[0]].call_id) if nodes else None
        rows = [Row("code", code_of(call))] if call else []
        return [*rows, Row("state", names(self.graph, nodes)), *self.saved_rows(nodes)]

    # --- code and values --------------------------------------------------------------------------

    def code(self, states: list[Tensor], calls: list[Call]) -> list[str]:
        """The code lines, oldest first; a line that only repeats part of the next one is left out.

        What a library did to a named tensor (``kaiming_uniform_``) is left out too.
        """
        tensor, name = states[-1], states[-1].name
        word, hooked = tensor.code_name or name or "", self.facts.hooked_by_call
        # an optimizer's step, not nn.init
        made = [c for c in calls if not c.bookkeeping or "step" in code_of(c)]
        first = (
            bool(made) and states[0].id in made[0].outputs and states[0].id not in made[0].inputs
        )
        outputs = len(made[0].outputs) if first else 0
        lines: list[str] = []
        if name and not (first and outputs == 1 and (made[0].inputs or word != name)):
            # made before the recording, by a factory, or by one call with several results
            lines = [name]
        elif not made or outputs > 1:
            lines = ["unnamed" if not made else f"output {made[0].outputs.index(states[0].id)}"]
        for call in made[1:] if lines and first else made:
            line = code_of(call)
            if lines and lines[-1] in line and (lines[-1] != name or line.startswith(f"{word} = ")):
                lines.pop()
            if not name or first or call.bookkeeping or _mentions(line, word) or call.id in hooked:
                lines.append(line + (self.written_comment(tensor, call) if lines else ""))
        if name and not any(_mentions(line, word) for line in lines):
            lines.insert(0, name)
        counted = {line: lines.count(line) for line in lines}
        hooks = {code_of(c) for c in made if c.id in hooked}
        counts = {line: "times" if line in hooks else "writes" for line in lines}
        return [
            line if n == 1 else f"{line}{', ' if '  # ' in line else '  # '}{n} {counts[line]}"
            for line, n in counted.items()
        ]

    def written_comment(self, tensor: Tensor, call: Call) -> str:
        """Where memory was written, the line number matters: versions and staleness hang on it."""
        for w in self.facts.writes_by_call.get(call.id, ()):
            before, after = self.graph.tensor[w.before_id], self.graph.tensor[w.after_id]
            changed = before.version != after.version or before.values != after.values
            if after.object_id == tensor.object_id and changed and call.source:
                return f"  # line {call.source.line}"
        return ""

    def values(self, states: list[Tensor], calls: list[Call]) -> str:
        tensor = states[-1]
        text = tensor.values
        if text is None:
            text = "shape not known" if tensor.shape is None else f"shape {list(tensor.shape)}"
        if calls and calls[0].function == "clone" and len(calls[0].inputs) == 1:
            text += " in new memory"
        # a write that reads its own tensor puts it on several cards
        whole = self.facts.states[tensor.object_id]
        if len({t.version for t in whole} - {None}) > 1:
            text += f" · version {tensor.version}"
            text += " · the same tensor" if calls and states[0].id != whole[0].id else ""
        return text

    # --- nodes and what they saved ----------------------------------------------------------------

    def by_age(self, tensor: Tensor, nodes: list[int]) -> tuple[list[int], list[int]]:
        """The nodes of a card that its ``grad_fn`` leads to, and those that it led to before a
        write gave it another.

        A written view's new node leads to its base's, and no longer to the node that made the view.
        """
        edge = tensor.gradient_edge
        inner = {n for n in nodes if n not in self.facts.leaf_at}
        if not inner or (edge is None and tensor.is_leaf is False):  # its node is not in the graph
            return nodes, []
        reached = set() if edge is None else self.near(edge.node_id, inner)
        if edge is not None and not inner <= reached:
            reached = self.facts.reachable([edge.node_id])
        former = [n for n in nodes if n in inner and n not in reached]
        return [n for n in nodes if n not in former], former

    def near(self, start: int, inside: set[int]) -> set[int]:
        """The nodes of a set that edges within the set lead to from ``start``: nearly always all of
        them."""
        found, todo = set[int](), [start]
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo += [
                    e.next_node_id
                    for e in self.graph.edges_from.get(node, ())
                    if e.next_node_id in inside
                ]
        return found

    def is_used_outside(self, node_id: int, nodes: list[int]) -> bool:
        return any(e.node_id not in nodes for e in self.facts.edges_into.get(node_id, ()))

    def former_rows(self, nodes: list[int]) -> list[Row]:
        """An earlier ``grad_fn`` that gradients of other results still go through."""
        used = [n for n in nodes if self.is_used_outside(n, nodes)]
        if not used:
            return []
        kept = [n for n in nodes if n in self.near(used[0], set(nodes)) or n in used]
        return [
            Row("grad_fn", f"earlier grad_fn: {names(self.graph, kept)}"),
            *self.saved_rows(kept),
        ]

    def node_rows(self, nodes: list[int]) -> list[Row]:
        """``grad_fn`` and the nodes behind it, in the order in which the gradient meets them."""
        inner = [n for n in nodes if n not in self.facts.leaf_at]
        if not inner:
            return []
        stale = self.saved_rows(inner)
        text = names(self.graph, inner)
        if stale and stale[0].kind == "grad_fn" and len(inner) == 1:
            text, stale = stale[0].text, stale[1:]
        start = self.start(inner[0])
        rows = [Row("grad_fn", f"{text} · {start}" if start else text), *stale]
        for n in inner:
            error = self.facts.error_of_call.get(self.facts.raised_at.get(n, -1))
            if error and all(row.kind != "stale" for row in stale):
                rows.append(Row("stale", error_text(error)))
        return rows

    def saved_rows(self, nodes: list[int]) -> list[Row]:
        """Saved tensors that backward can no longer use, or uses wrongly."""
        rows = []
        for node in (self.graph.node[n] for n in nodes):
            for s in node.saved:
                if s.state in (SavedState.STALE, SavedState.OVERWRITTEN):
                    at = "" if s.saved_version is None else f" at version {s.saved_version}"
                    rows.append(Row("grad_fn", f"{node.name} saved {self.saved_name(s)}{at}"))
                    rows.append(Row("stale", self.fate(node, s)))
                elif s.state is SavedState.FREED and node.id in self.facts.raised_at:
                    rows.append(
                        Row("stale", f"FREED: an earlier backward released what {node.name} saved")
                    )
                    break
            if unsure := [self.saved_name(s) for s in self.facts.unsure_of_node.get(node.id, ())]:
                rows.append(
                    Row(
                        "grad_fn",
                        f"{node.name} saved {joined(unsure)}: not known whether written since",
                    )
                )
        return rows

    def saved_name(self, saved: SavedTensor) -> str:
        tensor = self.graph.tensor.get(saved.tensor_id)
        if saved.attribute == "result" or tensor is None or not tensor.name:
            return saved.attribute
        return tensor.name

    def fate(self, node: Node, saved: SavedTensor) -> str:
        if saved.state is SavedState.OVERWRITTEN:
            return (
                f"OVERWRITTEN, and its version did not move: backward {self.used(node, saved)}"
                " wrong numbers"
            )
        tensor = self.graph.tensor.get(saved.tensor_id)
        now = self.facts.latest_state[tensor.object_id].version if tensor else None
        return (
            "STALE: it was written since" if now is None else f"STALE: it is at version {now} now"
        )

    def used(self, node: Node, saved: SavedTensor) -> str:
        """Whether the node ran after what it had saved was overwritten."""
        tensor, maybe_ran = self.graph.tensor.get(saved.tensor_id), self.facts.maybe_ran
        seen: list[str] = []  # of its making, the writes to what it saved, and its runs, in order
        for event in self.graph.events:
            if isinstance(event, NodeRan) and event.node_id == node.id:
                seen.append("ran")
            elif isinstance(event, Called) and node.id in maybe_ran.get(event.call_id, ()):
                seen.append("perhaps ran")
            elif isinstance(event, Called) and event.call_id == node.call_id:
                seen = []
            elif tensor and isinstance(event, Wrote):
                after = self.graph.tensor[event.after_id]
                same = tensor.storage_id is not None and after.storage_id == tensor.storage_id
                seen += ["written"] if same or after.object_id == tensor.object_id else []
        if "ran" not in seen:
            is_later = (
                "perhaps ran" in seen[seen.index("written") :]
                if "written" in seen
                else "perhaps ran" in seen
            )
            return "may have used" if is_later else "would use"
        return (
            "used" if "written" in seen[: len(seen) - seen[::-1].index("ran")] else "would now use"
        )

    def start(self, node_id: int) -> str:
        """What a backward that began at this node began with."""
        runs = self.facts.runs_started_at.get(node_id, [])
        if not runs:
            return ""
        values = [self.start_value(run.run, node_id) for run in runs]
        word, value, often = _word(runs[-1]), values[-1], len(runs)
        if often > 1 and len({*values}) > 1:
            return f"{word} starts here {often} times" + (f", last with {value}" if value else "")
        text = f"{word} starts with {value}" if value else f"{word} starts here"
        return (
            text
            if often == 1
            else f"{text} both times"
            if often == 2
            else f"{text} all {often} times"
        )

    def start_value(self, run: int, node_id: int) -> str | None:
        value = self.facts.arrived_in_run.get((run, node_id))
        if value is None or self.sent_to(run, node_id):
            return value
        changes = self.facts.changed.items()
        return next((way_of(c) for at, c in changes if at[:2] == (run, node_id)), value)

    def sent_to(self, run: int, node_id: int) -> list[tuple[Edge, str]]:
        """What other nodes sent to a node in one run, by the edge."""
        sent = self.facts.sent_in_run
        edges = self.facts.edges_into.get(node_id, ())
        slots = ((e, (run, e.node_id, e.next_index)) for e in edges)
        return [(e, sent[slot]) for e, slot in slots if slot in sent]

    def changed_rows(self, nodes: list[int], edge: GradientEdge | None) -> list[Row]:
        """What was changed on its way to these nodes, or to one output, where no arrow has room for
        it: a sum, and what went from one node of the card to the next."""
        rows = []
        for at, change in self.facts.changed.items():
            here = edge == at[1:] if edge else change.node_id in nodes
            if here and change.run == self.facts.last_run_at.get(change.node_id):
                sent = self.sent_to(change.run, change.node_id)
                parts = [(e, s) for e, s in sent if e.input_nr == change.input_nr and s]
                if len(parts) > 1:
                    rows.append(f"engine adds {_sum([s for _, s in parts])} · {way_of(change)}")
                elif parts and parts[0][0].node_id in nodes:
                    rows.append(f"{way_of(change)} before {self.graph.node[change.node_id].name}")
        return [Row("accumulate", text) for text in dict.fromkeys(rows)][-LISTED:]

    def as_it_came(self, run: int, edge: GradientEdge | None, value: str) -> str:
        """A gradient, with what it was before the hooks there."""
        change = self.facts.changed.get((run, *edge)) if edge else None
        return way_of(change) if change else value

    # --- leaves -----------------------------------------------------------------------------------

    def leaf_rows(self, tensor: Tensor) -> list[Row]:
        """What AccumulateGrad did: the engine adds within one backward, AccumulateGrad across
        backwards."""
        node = self.facts.accumulate_node.get(tensor.object_id, -1)
        done = self.facts.accumulations.get(node, [])
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        whole = all(b.watched for b in runs) and not any(
            note.kind is NoteKind.DROPPED for note in self.graph.notes
        )
        rows = self.returned(tensor)
        if len(done) == 1:
            rows += self.one_run(done[0])
        elif done:
            rows += self.many_runs(done)
        elif runs and whole and tensor.grad is None:
            rows += [
                Row("accumulate", "AccumulateGrad · never reached"),
                Row("accumulate", ".grad: None"),
            ]
        elif tensor.grad is not None:
            rows.append(Row("accumulate", f".grad: {tensor.grad}"))
        return rows

    def one_run(self, event: Accumulated) -> list[Row]:
        parts = [sent for _, sent in self.sent_to(event.run, event.node_id)]
        rows = []
        if len(parts) > 1:
            rows.append(f"engine adds {_sum(parts)}")
        once = "arrives once:" if len(parts) > 1 else "arrives"
        rows.append(f"AccumulateGrad · {once} {self.incoming(event)}")
        rows.append(f".grad: {_stored(event)}")
        return [Row("accumulate", text) for text in rows]

    def incoming(self, event: Accumulated) -> str:
        return self.as_it_came(event.run, GradientEdge(event.node_id, 0), event.incoming)

    def many_runs(self, done: list[Accumulated]) -> list[Row]:
        lines = [
            f"backward {e.run + 1}: arrives {self.incoming(e)} · .grad {_stored(e)}" for e in done
        ]
        if len(lines) > LISTED:
            lines = [*lines[:2], f"… {len(lines) - 3} more …", lines[-1]]
        adds = any(e.before is not None for e in done)
        head = (
            "AccumulateGrad adds to what is stored"
            if adds
            else f"AccumulateGrad · {count(len(done), 'backward')}"
        )
        return [Row("accumulate", text) for text in (head, *lines)]

    def returned(self, tensor: Tensor) -> list[Row]:
        """What ``autograd.grad`` gave back for this tensor: it fills no ``.grad``."""
        found = self.given_back.get(tensor.object_id, [])
        if len(found) > LISTED:
            found = [*found[:2], "…", found[-1]]
        return (
            [Row("accumulate", f"autograd.grad returns {', then '.join(found)}")] if found else []
        )

    def retained(self, tensor: Tensor) -> list[Row]:
        if not tensor.retains_grad:
            return []
        return [Row("accumulate", f".grad kept by retain_grad: {tensor.grad}")]


def _stored(event: Accumulated) -> str:
    if event.stored is None:
        return f"set to None by {'a hook' if event.hooks else 'something unknown'}"
    if event.added is not None:
        return f"{event.before} → {way(event.added, event.stored, event.hooks)}"
    return f"{event.before} → {event.stored}"


def _sum(parts: list[str]) -> str:
    listed = " + ".join(parts if len(parts) <= LISTED else [*parts[:2], "…", parts[-1]])
    if len(parts) <= LISTED and len(listed) <= LONG:
        return listed
    return f"{len(parts)} gradients" + (f": {listed}" if len(listed) <= LONG else "")


def way_of(change: Changed) -> str:
    return way(change.before, change.after, change.hooks)


def _word(run: Backward) -> str:
    return "backward()" if run.kind == "backward" else "autograd.grad()"


def names(graph: Graph, nodes: list[int]) -> str:
    """Node names in gradient order, the middle of a long list counted."""
    listed = [graph.node[n].name for n in nodes if n in graph.node]
    if len(listed) > LISTED:
        listed = [*listed[:2], "…", listed[-1] + f" ({len(nodes)} nodes)"]
    return " → ".join(listed)


def error_text(event: Raised) -> str:
    """Error and first line of its message; memory addresses differ from run to run, so they go."""
    message = re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", event.message.strip().partition("\n")[0])
    return f"{event.error}: {message}" if message else event.error


def _mentions(code: str, name: str) -> bool:
    return name in code and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code) is not None
