"""The lines of one card: the code that made a value, the value, its ``grad_fn``, and what became of
its gradient."""

from __future__ import annotations

import re
from functools import reduce
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of, has_moved
from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Edge,
    GradientEdge,
    Graph,
    Node,
    NoteKind,
    Raised,
    SavedState,
    SavedTensor,
    Tensor,
)
from gradviz.graph.refusals import refused_at
from gradviz.graph.saved_tensors import SavedTensors
from gradviz.picture.scene import Chart, Row
from gradviz.words import spread
from gradviz.words.speech import say, values_of
from gradviz.words.words import Words, way, way_of, with_version

LISTED = 6  # nodes, contributions or runs of one card that are listed one by one
LONG = 80  # characters of such a list
BRIEF = 24  # characters of a sum on a card
SHORT = 10  # characters of a name that is said again on its card


def spread_rows(tensor: Tensor) -> list[Row]:
    """Tell how the numbers of a large tensor are spread, and what of them is not finite."""
    summary = tensor.summary
    if summary is None:
        return []
    rows = []
    if line := spread.told(summary):
        chart = Chart(summary.bins, *spread.ends(summary)) if summary.bins else None
        rows.append(Row("spread", line, spread.middle(summary) if chart else None, chart))
    if alarm := spread.alarm(summary):
        rows.append(Row("not_finite", alarm))
    return rows


class RowWriter:
    """Writes the lines of cards of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph)
        self.saved_tensors = SavedTensors(self.facts)
        # by the tensor that backward was called on
        self.refusals: dict[int, tuple[Backward, Raised]] = {}
        self.given_back: dict[int, list[str]] = {}  # what autograd.grad returned, by object
        for run in graph.backwards:
            for i, value in run.returned:
                edge = graph.tensor[i].gradient_edge
                gradient = self.as_it_came(run.run, edge, str(value))
                self.given_back.setdefault(graph.tensor[i].object_id, []).append(gradient)
            error = self.facts.error_of_call.get(run.call_id)
            if error and run.call_id in graph.call and not run.ran and run.raised_at is None:
                refused = refused_at(graph, run, error.message)
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
        """Write a card: return its kind and its lines.

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
        rows += [self.values(states, calls), *spread_rows(tensor)]
        nodes = self.facts.gradient_order(nodes)
        if output is not None:
            rows.append(Row("state", say("label.output", n=output)))
        kind, tracked = self.tracking(tensor)
        current, former = self.by_age(tensor, nodes)
        footer = [*self.node_rows(current), *self.former_rows(former)]
        if kind == "leaf":
            rows += [*tracked, *(self.leaf_rows(tensor) if leaf else []), *footer]
        else:
            edge = tensor.gradient_edge if output is not None else None
            rows += [*footer, *tracked, *self.changed_rows(nodes, edge), *self.returned(tensor)]
            # optimizers look at it
            if kind == "untracked" and tensor.is_leaf and tensor.grad is not None:
                rows.append(Row("accumulate", say("row.grad_still", grad=tensor.grad)))
        return kind, rows + self.retained(tensor) + self.refused(states)

    def tracking(self, tensor: Tensor) -> tuple[str, list[Row]]:
        """Return the kind of a tensor's card, and the line that says whether autograd tracks it."""
        if tensor.requires_grad is None and not tensor.gradient_edge:
            return "untracked", [Row("untracked", say("row.tracked_not_known"))]
        if tensor.requires_grad and tensor.object_id in self.facts.cut_views:
            lines = (say("row.not_tracked_yet_flag"), say("row.no_gradient_comes"))
            return "untracked", [Row("untracked", text) for text in lines]
        if not (tensor.requires_grad or tensor.gradient_edge):
            has_grad_fn = tensor.is_leaf is not None
            text = say("row.not_tracked_no_grad_fn" if has_grad_fn else "row.not_tracked")
            return "untracked", [Row("untracked", text, say("row.not_tracked"))]
        if tensor.is_leaf:
            return "leaf", [Row("state", say("row.leaf"), say("row.leaf_brief"))]
        # a view whose memory was written
        anew = tensor.is_leaf is None and not tensor.gradient_edge
        return "result", [Row("grad_fn", say("row.grad_fn_anew"))] if anew else []

    def refused(self, states: list[Tensor]) -> list[Row]:
        """Tell of a backward that began here and raised before it ran a node, most often for want
        of a ``grad_fn``."""
        if not self.refusals:
            return []
        rows = []
        for tensor in (t for t in states if t.id in self.refusals):
            run, error = self.refusals[tensor.id]
            why = error_text(error) if tensor.requires_grad else say("row.no_grad_fn")
            others = sum(other == (run, error) for other in self.refusals.values()) - 1
            if others:
                text = say("row.raises_one_of", run=_word(run), others=others, why=why)
            else:
                text = say("row.raises", run=_word(run), why=why)
            brief = say("row.raises_brief", run=_word(run)) if not tensor.requires_grad else None
            rows.append(Row("stale", text, brief))
        return rows

    def bare_rows(self, kind: str, calls: list[Call], nodes: list[int]) -> list[Row]:
        """Write a node without a tensor, a value that left torch, or a call that raised."""
        if kind == "raised":
            error = self.facts.error_of_call[calls[0].id]
            return [Row("code", code_of(calls[0])), Row("stale", error_text(error))]
        if calls:
            return [Row("code", code_of(calls[0])), Row("untracked", say("row.plain_value"))]
        nodes = self.facts.gradient_order(nodes)
        call = self.graph.call.get(self.graph.node[nodes[0]].call_id) if nodes else None
        rows = [Row("code", code_of(call))] if call else []
        return [*rows, Row("state", names(self.graph, nodes)), *self.saved_rows(nodes)]

    # --- code and values --------------------------------------------------------------------------

    def code(self, states: list[Tensor], calls: list[Call]) -> list[str]:
        """Return the code lines, oldest first; a line that only repeats part of the next one is
        left out.

        What a library did to a named tensor (``kaiming_uniform_``) is left out too.
        """
        # an optimizer's step, not nn.init
        user_calls = [c for c in calls if not c.bookkeeping or "step" in code_of(c)]
        lines = self.code_lines(states, user_calls)
        name, variable = states[-1].name, variable_of(states[-1])
        if name and not any(_mentions(line.code, variable) for line in lines):
            lines.insert(0, CodeLine(name))
        hooks = {CodeLine(code_of(c)) for c in user_calls if c.id in self.facts.hooked_by_call}
        return [_commented(line, lines.count(line), line in hooks) for line in dict.fromkeys(lines)]

    def code_lines(self, states: list[Tensor], calls: list[Call]) -> list[CodeLine]:
        """List the lines of code that made and wrote a tensor, each as often as it ran."""
        tensor = states[-1]
        is_made = bool(calls) and _makes(calls[0], states[0])
        title = self.code_title(states, calls, is_made)
        lines = [CodeLine(title)] if title else []
        for call in calls[1:] if title and is_made else calls:
            code = code_of(call)
            if lines and _is_part(lines[-1], code, tensor):
                lines.pop()
            if is_made or self.is_shown(call, variable_of(tensor)):
                number = self.line_of_write(tensor, call) if lines else None
                lines.append(CodeLine(code, number))
        return lines

    def is_shown(self, call: Call, variable: str) -> bool:
        """Tell whether the line of a call stands on the card of a tensor that it did not make: one
        that only handed the tensor on does not."""
        if not variable or call.bookkeeping or call.id in self.facts.hooked_by_call:
            return True
        return _mentions(code_of(call), variable)

    def code_title(self, states: list[Tensor], calls: list[Call], is_made: bool) -> str:
        """Return the first line of a card whose tensor the code of its first call does not stand
        for, or ""."""
        name, is_former = states[-1].name, variable_of(states[-1]) != states[-1].name
        outputs = len(calls[0].outputs) if is_made else 0
        # made before the recording, by a factory, or by one call with several results
        if name and not (is_made and outputs == 1 and (calls[0].inputs or is_former)):
            return name
        if not calls:
            return say("row.unnamed")
        return say("label.output", n=calls[0].outputs.index(states[0].id)) if outputs > 1 else ""

    def line_of_write(self, tensor: Tensor, call: Call) -> int | None:
        """Return the line in which memory was written: versions and staleness hang on it."""
        for w in self.facts.writes_by_call.get(call.id, ()):
            before, after = self.facts.around(w)
            moved = has_moved(before, after)
            if after.object_id == tensor.object_id and moved and call.source:
                return call.source.line
        return None

    def values(self, states: list[Tensor], calls: list[Call]) -> Row:
        """Write the line with the values of a tensor; the frames of a picture say what is new
        memory."""
        text = self.values_of(states)
        if not is_cloned(calls):
            return Row("values", self.of_version(text, states, calls))
        whole = self.of_version(say("row.new_memory", values=text), states, calls)
        return Row("values", whole, self.of_version(text, states, calls))

    def values_of(self, states: list[Tensor]) -> str:
        """Tell the values of a tensor, or its shape."""
        tensor = states[-1]
        text = tensor.values
        if text is None and tensor.shape is None:
            text = say("row.shape_not_known")
        elif text is None:
            text = say("label.shape", shape=list(tensor.shape or ()))
        return text

    def of_version(self, text: str, states: list[Tensor], calls: list[Call]) -> str:
        """Return the values of a tensor with which of its versions these are."""
        tensor = states[-1]
        whole = self.facts.states[tensor.object_id]
        if len({t.version for t in whole} - {None}) < 2:
            return text
        # a write that reads its own tensor puts it on several cards
        again = bool(calls) and states[0].id != whole[0].id
        return say(
            "row.same_tensor" if again else "row.version", values=text, version=tensor.version
        )

    # --- nodes and what they saved ----------------------------------------------------------------

    def by_age(self, tensor: Tensor, nodes: list[int]) -> tuple[list[int], list[int]]:
        """Split the nodes of a card into those that its ``grad_fn`` leads to, and those that it led
        to before a write gave it another.

        A written view's new node leads to its base's, and no longer to the node that made the view.
        """
        inner = {n for n in nodes if n not in self.facts.leaf_at}
        current = self.behind_grad_fn(tensor, inner)
        former = [n for n in nodes if n in inner and n not in current]
        return [n for n in nodes if n not in former], former

    def behind_grad_fn(self, tensor: Tensor, inner: set[int]) -> set[int]:
        """Find the nodes of a card that the ``grad_fn`` of its tensor leads to, by ids among
        others; all of them where its node is not in the graph."""
        edge = tensor.gradient_edge
        if edge is None:
            return inner if tensor.is_leaf is False else set()
        if inner <= {edge.node_id}:
            return inner
        # edges within the card nearly always lead to all of them
        near = self.facts.reachable([edge.node_id], inside=inner)
        return near if inner <= near else self.facts.reachable([edge.node_id])

    def is_used_outside(self, node_id: int, nodes: list[int]) -> bool:
        """Tell whether a gradient comes to a node from one that is not among these."""
        return any(e.node_id not in nodes for e in self.facts.edges_into.get(node_id, ()))

    def former_rows(self, nodes: list[int]) -> list[Row]:
        """Tell an earlier ``grad_fn`` that gradients of other results still go through."""
        used = [n for n in nodes if self.is_used_outside(n, nodes)]
        if not used:
            return []
        kept = [
            n for n in nodes if n in self.facts.reachable(used[:1], inside=set(nodes)) or n in used
        ]
        return [
            Row("grad_fn", say("row.grad_fn_earlier", nodes=names(self.graph, kept))),
            *self.saved_rows(kept),
        ]

    def node_rows(self, nodes: list[int]) -> list[Row]:
        """Tell ``grad_fn`` and the nodes behind it, in the order in which the gradient meets
        them."""
        inner = [n for n in nodes if n not in self.facts.leaf_at]
        if not inner:
            return []
        stale = self.saved_rows(inner)
        text = names(self.graph, inner)
        if stale and stale[0].kind == "grad_fn" and len(inner) == 1:
            text, stale = stale[0].text, stale[1:]
        rows = [Row("grad_fn", text)]
        if start := self.start(inner[0]):
            whole = say("row.node_starts", nodes=text, start=start)
            brief = say("row.start", start=self.usual_start(inner[0]) or start)
            rows = [Row("grad_fn", whole, text), Row("start", "", brief)]
        rows += stale
        for n in inner:
            error = self.facts.error_of_call.get(self.facts.raised_at.get(n, -1))
            if error and all(row.kind != "stale" for row in stale):
                rows.append(Row("stale", error_text(error)))
        return rows

    def saved_rows(self, nodes: list[int]) -> list[Row]:
        """Tell of saved tensors that backward can no longer use, or uses wrongly."""
        rows = []
        for node in (self.graph.node[n] for n in nodes):
            for s in node.saved:
                if s.state in (SavedState.STALE, SavedState.OVERWRITTEN):
                    saved = with_version(self.saved_name(s), s.saved_version)
                    rows.append(Row("grad_fn", say("row.saved", node=node.name, saved=saved)))
                    rows.append(Row("stale", self.fate(node, s)))
                elif s.state is SavedState.FREED and node.id in self.facts.raised_at:
                    rows.append(Row("stale", say("row.freed", node=node.name)))
                    break
            if unsure := self.saved_tensors.unsure_of_node.get(node.id):
                names = [*map(self.saved_name, unsure)]
                rows.append(Row("grad_fn", say("row.saved_unsure", node=node.name, saved=names)))
        return rows

    def saved_name(self, saved: SavedTensor) -> str:
        """Return what a saved tensor is called."""
        tensor = self.graph.tensor.get(saved.tensor_id)
        if saved.attribute == "result" or tensor is None or not tensor.name:
            return saved.attribute
        return tensor.name

    def fate(self, node: Node, saved: SavedTensor) -> str:
        """Tell what a write did to a saved tensor."""
        if saved.state is SavedState.OVERWRITTEN:
            return say("row.overwritten", wrong_use=wrong_use(self.saved_tensors, node, saved))
        now = self.saved_tensors.version_now(saved)
        return say("row.stale") if now is None else say("row.stale_now", version=now)

    def start(self, node_id: int) -> str:
        """Tell what a backward that began at this node began with."""
        runs = self.facts.runs_started_at.get(node_id, [])
        if not runs:
            return ""
        values = [self.start_value(run.run, node_id) for run in runs]
        word, value, often = _word(runs[-1]), values[-1], len(runs)
        if often > 1 and len({*values}) > 1:
            if value is None:
                return say("row.starts_often", run=word, n=often)
            return say("row.starts_with_last", run=word, n=often, value=value)
        return _starts(word, often) if value is None else _starts_with(word, often, value)

    def usual_start(self, node_id: int) -> str:
        """Return what began at this node where that is one backward, and with 1; else ""."""
        runs = self.facts.runs_started_at.get(node_id, [])
        if len(runs) != 1 or runs[0].kind != "backward":
            return ""
        return _word(runs[0]) if self.start_value(runs[0].run, node_id) == "1" else ""

    def start_value(self, run: int, node_id: int) -> str | None:
        """Return what one run began with, as it came to the node and what became of it."""
        value = self.facts.arrived_in_run.get((run, node_id))
        if value is None or self.sent_to(run, node_id):
            return value
        changes = self.facts.changed.items()
        return next((way_of(c) for at, c in changes if at[:2] == (run, node_id)), value)

    def sent_to(self, run: int, node_id: int) -> list[tuple[Edge, str]]:
        """List what other nodes sent to a node in one run, by the edge."""
        sent = self.facts.sent_in_run
        edges = self.facts.edges_into.get(node_id, ())
        slots = ((e, (run, e.node_id, e.next_index)) for e in edges)
        return [(e, sent[slot]) for e, slot in slots if slot in sent]

    def changed_rows(self, nodes: list[int], edge: GradientEdge | None) -> list[Row]:
        """Tell what was changed on its way to these nodes, or to one output, where no arrow has
        room for it: a sum, and what went from one node of the card to the next."""
        if not self.facts.changed:
            return []
        rows = []
        for at, change in self.facts.changed.items():
            here = edge == at[1:] if edge else change.node_id in nodes
            if here and change.run == self.facts.last_run_at.get(change.node_id):
                sent = self.sent_to(change.run, change.node_id)
                parts = [(e, s) for e, s in sent if e.input_nr == change.input_nr and s]
                text = way_of(change)
                if len(parts) > 1:
                    total = _sum([s for _, s in parts])
                    rows.append(say("row.engine_adds_changed", sum=total, change=text))
                elif parts and parts[0][0].node_id in nodes:
                    node = self.graph.node[change.node_id].name
                    rows.append(say("row.changed_before", change=text, node=node))
        return [Row("accumulate", text) for text in dict.fromkeys(rows)][-LISTED:]

    def as_it_came(self, run: int, edge: GradientEdge | None, value: str) -> str:
        """Return a gradient, with what it was before the hooks there."""
        change = self.facts.changed.get((run, *edge)) if edge else None
        return way_of(change) if change else value

    # --- leaves -----------------------------------------------------------------------------------

    def leaf_rows(self, tensor: Tensor) -> list[Row]:
        """Tell what AccumulateGrad did: the engine adds within one backward, AccumulateGrad across
        backwards."""
        node = self.facts.accumulate_node.get(tensor.object_id, -1)
        done = self.facts.accumulations.get(node, [])
        runs = [b for b in self.graph.backwards if b.kind == "backward"]
        whole = all(b.watched for b in runs) and not any(
            note.kind is NoteKind.DROPPED for note in self.graph.notes
        )
        rows = self.returned(tensor)
        if len(done) == 1:
            rows += self.one_run(done[0], tensor)
        elif done:
            rows += self.many_runs(done, tensor)
        elif runs and whole and tensor.grad is None:
            rows += [
                Row("accumulate", say("row.never_reached")),
                self.grad_row(tensor, None),
            ]
        elif tensor.grad is not None:
            rows.append(self.grad_row(tensor, tensor.grad))
        return rows

    def grad_row(self, tensor: Tensor, grad: object) -> Row:
        """Tell what a leaf stores."""
        brief = say("row.grad_of", tensor=short_name(tensor), grad=grad)
        return Row("accumulate", say("row.grad", grad=grad), brief)

    def one_run(self, event: Accumulated, tensor: Tensor) -> list[Row]:
        """Tell what the only backward brought to a leaf: on the card in the engine's order."""
        parts = [sent for _, sent in self.sent_to(event.run, event.node_id)]
        gradient = self.incoming(event)
        if len(parts) > 1:
            rows = [
                say("row.engine_adds", sum=_sum(parts)),
                say("row.arrives_once", gradient=gradient),
            ]
        else:
            rows = [say("row.arrives", gradient=gradient)]
        brief = say(
            "row.engine",
            gradient=_added(parts, gradient),
            tensor=short_name(tensor),
            stored=_stored(event),
        )
        stored = Row("accumulate", say("row.grad", grad=_stored(event)), brief)
        return [*(Row("accumulate", text, "") for text in rows), stored]

    def incoming(self, event: Accumulated) -> str:
        """Return the gradient that came to a leaf."""
        return self.as_it_came(event.run, GradientEdge(event.node_id, 0), event.incoming)

    def many_runs(self, done: list[Accumulated], tensor: Tensor) -> list[Row]:
        """Tell what several backwards brought to a leaf, a line each."""
        lines = [
            Row(
                "accumulate",
                say("row.backward", n=e.run + 1, gradient=self.incoming(e), stored=_stored(e)),
                self.brief_of_run(e, tensor),
            )
            for e in done
        ]
        if len(lines) > LISTED:
            more = Row("accumulate", say("row.more_backwards", n=len(lines) - 3))
            lines = [*lines[:2], more, lines[-1]]
        if any(e.before is not None for e in done):
            head = say("row.adds")
        else:
            head = say("row.backwards", n=len(done))
        return [Row("accumulate", head), *lines]

    def brief_of_run(self, event: Accumulated, tensor: Tensor) -> str:
        """Tell what one of several backwards brought to a leaf, as its card has room for it."""
        parts = [sent for _, sent in self.sent_to(event.run, event.node_id)]
        return say(
            "row.run",
            gradient=_added(parts, self.incoming(event)),
            tensor=short_name(tensor),
            stored=_stored(event),
        )

    def returned(self, tensor: Tensor) -> list[Row]:
        """Tell what ``autograd.grad`` gave back for this tensor: it fills no ``.grad``."""
        values = self.given_back.get(tensor.object_id, [])
        if not values:
            return []
        if len(values) > LISTED:
            values = [*values[:2], "…", values[-1]]
        in_order = reduce(lambda a, b: say("row.then", first=a, second=b), values)
        return [Row("accumulate", say("row.returns", values=in_order))]

    def retained(self, tensor: Tensor) -> list[Row]:
        """Tell the gradient that a result was asked to keep."""
        if not tensor.retains_grad:
            return []
        return [Row("accumulate", say("row.grad_kept", grad=tensor.grad))]


class CodeLine(NamedTuple):
    """A line of code on a card; ``at`` is its number, where it wrote memory."""

    code: str
    at: int | None = None


def is_cloned(calls: list[Call]) -> bool:
    """Tell whether a card's tensor is a clone: its values lie in memory of their own."""
    return bool(calls) and calls[0].function == "clone" and len(calls[0].inputs) == 1


def _makes(call: Call, tensor: Tensor) -> bool:
    """Tell whether a call made a state, and did not only hand it on."""
    return tensor.id in call.outputs and tensor.id not in call.inputs


def variable_of(tensor: Tensor) -> str:
    """Return the variable by which code calls a tensor, now or formerly; its whole name where that
    is not known; "" where it has none."""
    return tensor.code_name or tensor.name or ""


def short_name(tensor: Tensor) -> str:
    """Return what stands before ".grad" on the card of a leaf; "" where the name is long, for the
    card begins with it."""
    name = variable_of(tensor)
    return name if len(name) <= SHORT else ""


def _is_part(line: CodeLine, code: str, tensor: Tensor) -> bool:
    """Say whether a line only repeats part of the code after it; a name does so where it is
    assigned."""
    if line.at is not None or line.code not in code:
        return False
    return line.code != tensor.name or code.startswith(f"{variable_of(tensor)} = ")


def _commented(line: CodeLine, often: int, hooks: bool) -> str:
    """Return a line of code with its comment: its number, and how often it ran."""
    comment = ""
    if line.at is not None and often > 1:
        comment = say("row.line_writes", line=line.at, n=often)
    elif line.at is not None:
        comment = say("row.line", line=line.at)
    elif often > 1:
        comment = say("row.times" if hooks else "row.writes", n=often)
    return f"{line.code}  {comment}" if comment else line.code


def _starts(word: str, often: int) -> str:
    """Say that every backward from a node began there, with what is not known.

    >>> _starts("backward()", 1), _starts("backward()", 3)
    ('backward() starts here', 'backward() starts here all 3 times')
    """
    if often > 2:
        return say("row.starts_always", run=word, n=often)
    return say("row.starts_twice" if often == 2 else "row.starts", run=word)


def _starts_with(word: str, often: int, value: str) -> str:
    """Say that every backward from a node began with the same.

    >>> _starts_with("backward()", 2, "1"), _starts_with("backward()", 3, "1")
    ('backward() starts with 1 both times', 'backward() starts with 1 all 3 times')
    """
    if often > 2:
        return say("row.starts_with_always", run=word, value=value, n=often)
    return say("row.starts_with_twice" if often == 2 else "row.starts_with", run=word, value=value)


def _stored(event: Accumulated) -> str:
    """Tell what a leaf stored."""
    if event.stored is None:
        return say("change.set_to_none", hooks=event.hooks)
    if event.added is not None:
        after = way(event.added, event.stored, event.hooks)
        return say("change.to", before=event.before, after=after)
    return say("change.to", before=event.before, after=event.stored)


def _added(parts: list[str], gradient: str) -> str:
    """Write what the engine adds, and what that makes: "3 + 2 = 5"; one gradient alone as it is."""
    total = values_of(gradient)
    listed = " + ".join(map(values_of, parts))
    if len(parts) < 2 or len(listed) > BRIEF:
        return total
    return say("row.sums_to", sum=listed, total=total)


def _sum(parts: list[str]) -> str:
    """Write a sum; where it is long, tell how many gradients it is of."""
    parts = list(map(values_of, parts))
    listed = " + ".join(parts if len(parts) <= LISTED else [*parts[:2], "…", parts[-1]])
    if len(listed) > LONG:
        return say("row.gradients", n=len(parts))
    return listed if len(parts) <= LISTED else say("row.gradients_listed", n=len(parts), sum=listed)


def wrong_use(saved_tensors: SavedTensors, node: Node, saved: SavedTensor) -> str:
    """Tell what backward does with a saved tensor that was overwritten."""
    return say(f"wrong_use.{saved_tensors.wrong_use(node, saved).name.lower()}")


def _word(run: Backward) -> str:
    """Return what started a run, as code."""
    return "backward()" if run.kind == "backward" else "autograd.grad()"


def names(graph: Graph, nodes: list[int]) -> str:
    """List node names in gradient order, the middle of a long list counted."""
    listed = [graph.node[n].name for n in nodes if n in graph.node]
    if len(listed) > LISTED:
        listed = [*listed[:2], "…", say("row.nodes_in_all", node=listed[-1], n=len(nodes))]
    return " → ".join(listed)


def error_text(event: Raised) -> str:
    """Return an error and the first line of its message; memory addresses differ from run to run,
    so they go."""
    message = re.sub(r"0x[0-9a-fA-F]{4,}", "0x…", event.message.strip().partition("\n")[0])
    return f"{event.error}: {message}" if message else event.error


def _mentions(code: str, name: str) -> bool:
    """Tell whether a variable stands in code."""
    return name in code and re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code) is not None
