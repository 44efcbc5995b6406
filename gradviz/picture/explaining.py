"""What happened to the gradient, in one or two plain sentences. Says nothing that the graph does
not prove."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.facts import Facts, code_of, sharing
from gradviz.graph.records import (
    Call,
    Cut,
    CutReason,
    Graph,
    Node,
    NodeKind,
    Raised,
    SavedState,
    Source,
    Tensor,
    Wrote,
)
from gradviz.picture import rows
from gradviz.picture.scene import joined
from gradviz.words.notes import note_text
from gradviz.words.plain import shorten, visible

LIMIT = 240  # characters of both sentences together
CODE = 48  # characters of a line of code in a sentence
SHORT = 24  # characters of a list of numbers, where a sentence is too long
FIRST = 8  # characters by which a line is known again
FEW = 3  # leaves or contributions that are told one by one
CUTTERS = {
    CutReason.DETACH: "detach()",
    CutReason.DETACH_IN_PLACE: "detach_()",
    CutReason.NOT_DIFFERENTIABLE: "{}(), which has no derivative,",
    CutReason.INTEGER_DTYPE: "an integer or bool result of {}()",
    CutReason.COPIED_OUT: "{}(), which copies the value out of the graph,",
    CutReason.NO_GRAD_WRITE: "an in-place write under no_grad",
    CutReason.CUSTOM_NON_DIFFERENTIABLE: "{}, which marks it non-differentiable,",
    CutReason.UNKNOWN: "{}, it is not known why,",
}  # the other reasons stand in the sentence as they are: .data, no_grad


class Listing(NamedTuple):
    """The lines of code that stand beside a picture; ``first`` is the number of the first one."""

    file: str
    first: int
    text: str

    def shows(self, at: Source | None) -> bool:
        """Whether the reader finds this place in it. Two cells of a notebook may have one name.

        >>> listing = Listing("cell", 3, "a = leaf()\\nb = copy(a)")
        >>> listing.shows(Source("cell", 4, "b = copy(a)"))
        True
        >>> listing.shows(Source("cell", 4, "t.detach()"))
        False
        >>> listing.shows(Source("cell", 4, "b (copy: detach)"))
        True
        """
        lines = self.text.splitlines()
        if (
            at is None
            or at.file != self.file
            or not self.first <= at.line < self.first + len(lines)
        ):
            return False
        line, code = (
            re.sub(r"\s", "", part) for part in (lines[at.line - self.first], at.code or "")
        )
        # "b (copy: detach)": what a called function did
        called = re.search(r"(\w+)[\w.]*:\w+\)?$", code)
        # the result may have got its name elsewhere
        code = called[1] if called else code.partition("=")[2] or code
        return code[:FIRST] in line or line in code


def summary(graph: Graph, error: str = "", listing: Listing | None = None) -> str:
    """What happened to the gradient here.

    Args:
        graph: what was recorded or captured.
        error: what the code raised, as "RuntimeError: …".
        listing: what the reader sees; a line that is not in it is left unsaid. None: all are said.

    Returns:
        At most two sentences and 240 characters, the same for the same code in every process.
        Errors come first, then a cut that lost a gradient, then the gradients that came back, and
        cuts that lost none last; what the graph does not prove is left out. Where both sentences
        tell of gradients that did not come, a short third one tells of those that did.

    Example:
        >>> summary(Graph())
        'Nothing was recorded.'
    """
    return visible(" ".join(sentences(graph, error, listing)), LIMIT)


def sentences(graph: Graph, error: str = "", listing: Listing | None = None) -> tuple[str, ...]:
    """Return the sentences that ``summary`` joins, the most important first.

    Example:
        >>> sentences(Graph())
        ('Nothing was recorded.',)
    """
    told: list[str] = []
    whole: list[str] = []  # the same as they were told
    teller = _Teller(graph, listing)
    for as_told in teller.sentences(error):
        sentence = as_told
        sentence = "T" + sentence[1:] if sentence.startswith("the ") else sentence
        sentence = sentence if len(sentence) <= LIMIT else shorten(sentence, SHORT)
        if not told or (sentence != told[0] and len(f"{told[0]} {sentence}") <= LIMIT):
            told.append(sentence)
            whole.append(as_told)
        if len(told) == 2:
            told = _with_third(told, teller.came(whole))
            break
    if not told:
        said = (
            "tensor has a grad_fn"
            if all(t.is_leaf for t in graph.tensors)
            else "gradient came back"
        )
        told = [
            f"No recorded {said}.",
            *(f"{note[:1].upper()}{note[1:]}." for note in map(note_text, graph.notes[:1])),
        ]
    return tuple(told)


def _with_third(told: list[str], third: Sequence[str]) -> list[str]:
    """Two sentences with the first form of a third one that there is room for; where there is none,
    the second one ends in an ellipsis.

    >>> _with_third(["a" * 100, "b" * 119], ["a.grad is [1, 2, 3].", "One gradient came."])[2:]
    ['One gradient came.']
    """
    for text in third:
        if len(" ".join([*told, text])) <= LIMIT:
            return [*told, text]
    if not third:
        return told
    text = min(third, key=len)
    room = LIMIT - len(told[0]) - len(text) - 2
    return [told[0], visible(told[1], room), text]


class _Teller:
    """Tells one graph, the most important first."""

    def __init__(self, graph: Graph, listing: Listing | None = None) -> None:
        self.graph, self.facts, self.listing = graph, Facts.of(graph), listing

    def sentences(self, error: str) -> Iterator[str]:
        raised = self.facts.errors
        if error:
            raised = [e for e in raised if error.startswith(e.error) and e.message[:CODE] in error]
        if raised:
            yield from self.error(raised[-1])
        elif error:
            yield f"The code stops with {_first_line(error)}."
        yield from self.saved()
        yield from self.cuts(lost=True)
        yield from self.missing()
        yield from self.gradients()
        yield from self.before_backward()
        yield from self.memory()
        if not raised:
            yield from self.passed()
        yield from self.cuts(lost=False)
        yield from self.frozen()

    # --- words ------------------------------------------------------------------------------------

    def name(self, tensor_id: int | None) -> str:
        """A tensor's name, or the code that made it. What had the name earlier has it with its
        line."""
        label = self.facts.label(tensor_id)
        if label.tensor is None:
            return "the value"
        return label.name or self.code(label.first_maker) or "an unnamed tensor"

    def code(self, call: Call | None) -> str:
        return visible(code_of(call), CODE) if call else ""

    def line(self, call: Call | None) -> str:
        """Where a sentence about a call begins."""
        at = call.source if call else None
        return (
            f"Line {at.line}: " if at and (self.listing is None or self.listing.shows(at)) else ""
        )

    def made_by(self, node: Node) -> str:
        """The code behind a node."""
        return self.code(self.graph.call.get(node.call_id)) or node.name

    # --- errors and saved tensors -----------------------------------------------------------------

    def error(self, event: Raised) -> Iterator[str]:
        call = self.graph.call.get(event.call_id)
        start = f"{self.line(call)}{self.code(call) or 'a call'} raises {event.error}"
        run = self.facts.run_of_call.get(call.id) if call else None
        refused = self.facts.refused(run, event.message) if run and call and call.inputs else []
        root = self.graph.tensor[refused[0]] if refused else None
        node = self.graph.node.get(event.node_id)
        if root and root.requires_grad is False and "element" in event.message:
            yield f"{start}, because {self.name(root.id)} has no grad_fn."
            behind = self.facts.inputs_behind([root.id])
            origins = [self.graph.tensor[i] for i in behind if i in self.graph.tensor]
            if not self.graph.notes and all(t.requires_grad is False for t in origins):
                yield "Nothing that it was computed from requires grad."
            return
        states = {s.state for s in node.saved} if node else set()
        if node and SavedState.FREED in states and "second time" in event.message:
            yield (
                f"{start}: an earlier backward freed what {node.name} of {self.made_by(node)} had"
                " saved."
            )
        elif SavedState.STALE not in states:
            yield f"{start.removesuffix(event.error)}{_first_line(rows.error_text(event))}."

    def saved(self) -> Iterator[str]:
        """Saved tensors that were written afterwards."""
        failed = {e.node_id: e for e in self.facts.errors if "inplace" in e.message}
        for node in self.graph.nodes:
            for s in node.saved:
                t = self.graph.tensor.get(s.tensor_id)
                what = self.name(t.id) if t else s.attribute
                if s.state is SavedState.OVERWRITTEN:
                    used = rows.RowWriter(self.graph).used(node, s)
                    yield (
                        f"{what} was overwritten after {self.made_by(node)} saved it: backward"
                        f" {used} wrong numbers."
                    )
                elif s.state is SavedState.STALE:
                    at = "" if s.saved_version is None else f" at version {s.saved_version}"
                    error = failed.get(node.id)
                    end = (
                        f"backward raises {error.error}"
                        if error
                        else "a backward through it would raise"
                    )
                    yield (
                        f"{self.made_by(node)} saved {what}{at} and"
                        f" {self.writer(t, s.saved_version)}: {end}."
                    )

        if unsure := self.facts.unsure_of_node:
            made = dict.fromkeys(self.made_by(self.graph.node[i]) for i in unsure)
            yield (
                f"What {_several([*made])} saved may have been written since: its state cannot be"
                " read."
            )

    def writer(self, saved: Tensor | None, version: int | None) -> str:
        """Who moved a saved tensor past the version at which it was saved."""
        if saved is None or version is None:
            return "it was written since"
        for e in self.facts.writes_by_object.get(saved.object_id, ()):
            before, after = self.graph.tensor[e.before_id], self.graph.tensor[e.after_id]
            if before.version == version != after.version:
                return f"{self.writing(e)} wrote it since"
        return "it was written since"

    def writing(self, event: Wrote) -> str:
        call = self.graph.call.get(event.call_id)
        where = self.line(call).replace("Line", " in line").removesuffix(": ")
        return (self.code(call) or "a call") + where

    # --- cuts -------------------------------------------------------------------------------------

    @cached_property
    def losing(self) -> set[Cut]:
        """The cuts by which a leaf lost its only path, or a loss (without one: a result) one of its
        paths."""
        facts, calls = self.facts, self.graph.calls
        begun = {i for c in calls if c.id in facts.backward_calls for i in c.inputs}
        ends = begun or {t.id for t in facts.latest_state.values()} - facts.calls_reading.keys()
        tracked = facts.inputs_behind(ends, tracked=True)
        # a value that left torch may have come back
        fed = {None, *facts.inputs_behind(begun)} if begun else set()
        there = {
            leaf.object_id for root in facts.runs_started_at for leaf in facts.leaves_below(root)
        }
        lost = {
            c
            for c in self.graph.cuts
            if {leaf.object_id for leaf in facts.leaves_reached(c.input_id)} - there
        }
        written = {e.after_id for e in facts.writes} & facts.inputs_behind(ends)
        lost |= {
            c
            for c in self.graph.cuts
            if c.reason is CutReason.INTEGER_DTYPE and c.output_id in written
        }
        return {
            c
            for c in self.graph.cuts
            if c.output_id in tracked or (c in lost and c.output_id in fed | written)
        }

    def cuts(self, lost: bool) -> Iterator[str]:
        """The cut that matters most, if it lost a gradient or if it lost none: on the way to the
        last root."""
        found = [c for c in self.facts.real_cuts if self.facts.leaves_reached(c.input_id)]
        if any(c in self.losing for c in found) is not lost:
            return
        behind = self.facts.inputs_behind(self.graph.roots[-1:])
        found.sort(key=lambda c: (c not in self.losing, c.output_id not in behind))
        for cut in found[:1]:
            reached = self.facts.leaves_reached(cut.input_id)
            leaves = [self.name(leaf.id) for leaf in reached]
            call = self.graph.call.get(cut.call_id)
            function = call.function if call else "a call"
            # __deepcopy__, __float__
            function = function.strip("_") if function.startswith("__") else function
            who = CUTTERS.get(cut.reason, cut.reason.value).format(function)
            source, result = self.name(cut.input_id), self.name(cut.output_id)
            ends = [
                self.graph.tensor[i].object_id
                for i in (cut.input_id, cut.output_id)
                if i is not None
            ]
            what = (
                f"{result} off"
                if len(ends) == 2 and ends[0] == ends[1]
                else f"{result} from {source}"
            )
            count = f" (1 of {len(found)} cuts)" if len(found) > 1 else ""
            yield (
                f"✂ {self.line(call)}{who} cuts {what}{count}: no gradient goes back to"
                f" {_several(leaves)} this way."
            )

    def frozen(self) -> Iterator[str]:
        """The leaves whose flag was switched off, by the first line that did so. Frozen is not cut:
        a path that was built before stands, and what arrives along it is not stored."""
        frozen, last = self.facts.frozen_leaves, self.facts.latest_state
        ends = ((c, self.graph.tensor[c.input_id].object_id) for c in frozen)
        found = [c for c, leaf in ends if last[leaf].requires_grad is False]
        calls = [self.graph.call[c.call_id] for c in found if c.call_id in self.graph.call]
        for call in calls[:1]:
            here = {c.id for c in calls if c.source == call.source}
            names = list(dict.fromkeys(self.name(c.input_id) for c in found if c.call_id in here))
            verb, it = ("are", "them") if len(names) > 1 else ("is", "it")
            later = f"what uses {it} later brings {it} no gradient"
            yield (
                f"{self.line(call)}{_several(names)} {verb} frozen: requires_grad is switched off,"
                f" and {later}."
            )

    # --- gradients --------------------------------------------------------------------------------

    def missing(self) -> Iterator[str]:
        """Leaves to which no path leads from where backward began."""
        runs = [
            b for b in self.graph.backwards if b.kind == "backward" and b.call_id in self.graph.call
        ]
        roots = {r for b in runs for r in b.roots}
        met = [self.graph.node[n] for n in self.facts.reachable(roots) if n in self.graph.node]
        if not roots or any(
            n.leaf_id is None if n.kind is NodeKind.ACCUMULATE_GRAD else n.stub for n in met
        ):
            return
        there = {self.graph.tensor[n.leaf_id].object_id for n in met if n.leaf_id is not None}
        none = [
            t
            for t in self.facts.latest_state.values()
            if t.name and not (t.former and t.former.line) and t.is_leaf and t.requires_grad
        ]
        none = [t for t in none if self.facts.grads_now[t.object_id] is None]
        if without := [self.name(t.id) for t in none if t.object_id not in there]:
            verb = (
                "is None: no gradient path leads"
                if len(without) == 1
                else "are None: no gradient path leads"
            )
            calls = [(self.graph.call[b.call_id], max(1, len(b.roots))) for b in runs]
            starts = list(
                dict.fromkeys(self.name(i) for call, count in calls for i in call.inputs[:count])
            )
            yield (
                f"{_several([f'{n}.grad' for n in without])} {verb} there from {_several(starts)}."
            )
        leaves = self.facts.leaf_at
        met_by = [leaves[node].object_id for node in self.facts.accumulations if node in leaves]
        waiting = [self.name(t.id) for t in none if t.object_id in there.difference(met_by)]
        if waiting and all(b.watched for b in runs) and not self.facts.errors:
            yield f"No gradient has arrived at {_several(waiting)}, though a path leads there."

    def came(self, told: Sequence[str]) -> list[str]:
        """The gradients that did come, in forms of several lengths, where all that is told is what
        did not come."""
        lost = [*self.cuts(lost=True), *self.missing()]
        if any(sentence not in lost for sentence in told):
            return []
        short = [grad for grad, _ in self.leaf_gradients()]
        if not short:
            return []
        if len(short) > FEW:
            return [next(self.gradients())]
        listed = f"{'; '.join(short)}."
        counted = f"{len(short)} gradients came." if len(short) > 1 else "One gradient came."
        return [listed, shorten(listed, SHORT), counted]

    def gradients(self) -> Iterator[str]:
        told = list(self.leaf_gradients())
        facts, done = self.facts, self.facts.accumulations
        met = {t.object_id: node in done for node, t in facts.leaf_at.items()}
        last = facts.latest_state.values()
        known = [t for t in last if t.name or (t.object_id in met and not facts.made_by_torch(t))]
        leaves = [t for t in known if t.is_leaf and t.requires_grad]
        if len(told) > FEW and leaves:
            got = sum(met.get(t.object_id, False) for t in leaves)
            now = sum(facts.grads_now[t.object_id] is not None for t in leaves)
            since = f"; {now} have a .grad now" if now != got else ""
            yield f"{got} of the {len(leaves)} leaves that require grad received a gradient{since}."
        elif told:
            text = "; ".join(map("".join, told))
            is_short = len(shorten(text, SHORT)) < LIMIT
            yield f"{text if is_short else '; '.join(short for short, _ in told)}."
        yield from self.changed()
        for run in self.graph.backwards[-1:]:
            given = [f"{value} for {self.name(i)}" for i, value in run.returned]
            if 0 < len(given) <= FEW:
                yield f"autograd.grad returned {_several(given)} and filled no .grad."
        asked = (i for c in self.graph.calls if c.function == "retain_grad" for i in c.inputs)
        kept = {self.graph.tensor[i].object_id for i in asked}
        for t in last:
            if t.retains_grad and t.grad is not None and not t.is_leaf:
                why = "retain_grad() kept it" if t.object_id in kept else "its retains_grad is True"
                yield f"{self.name(t.id)}.grad is {t.grad}: it is not a leaf, and {why}."

    def leaf_gradients(self) -> Iterator[tuple[str, str]]:
        """What is stored, and how it came about where the numbers add up: a hook may have changed
        them."""
        facts = self.facts
        for node, done in facts.accumulations.items():
            t, last = facts.leaf_at.get(node), done[-1]
            if t is None:
                continue
            grad, now = f"{self.name(t.id)}.grad", facts.grads_now[t.object_id]
            through: dict[str, list[str]] = {}
            for e in facts.edges_into.get(node, ()):
                if value := facts.sent_in_run.get((last.run, e.node_id, e.next_index)):
                    through.setdefault(self.made_by(self.graph.node[e.node_id]), []).append(value)
            values = [value for values in through.values() for value in values]
            digits = 4e-3 if t.dtype in ("bfloat16", "float16") else 6e-4
            change = facts.changed.get((last.run, node, 0))
            total = str(last.stored if last.added is None else last.added)
            if last.before is None:
                known = _add_up(values, str(change.before) if change else total, digits)
            else:
                known = _add_up([last.incoming, last.before], total, digits)
            parts = [f"{' and '.join(values)} through {code}" for code, values in through.items()]
            parts[:1] = [p.replace(" through ", " came back through ", 1) for p in parts[:1]]
            why, made = f": {' and '.join(parts)}", ""
            if change and last.before is None:
                made = f", and {_by(change.hooks)} made that {last.incoming}"
            if last.added is not None:
                made += f", and {_by(last.hooks)} made that {last.stored}"
            # AccumulateGrad asks the tensor when it runs
            if last.stored is None and t.requires_grad is False:
                why = (
                    f": {last.incoming} arrived, but {self.name(t.id)} does not require grad any"
                    " more"
                )
            elif last.stored is None:
                why = f": {last.incoming} arrived, and {_by(last.hooks)} set it to None"
            elif last.before is not None:
                was = (
                    f"{_by(change.hooks)} made {change.before} {last.incoming}, which"
                    if change
                    else ""
                )
                why = (
                    f": {was or f'{last.incoming} arrived and'} was added to {last.before} from"
                    f" before{made}"
                )
            elif len(values) > FEW:
                why = f": {len(values)} gradients came back{made}"
            elif made:
                why += made
            elif known and len(values) == 1:
                why = f": it came back through {next(iter(through))}"
            if now == last.stored:
                yield f"{grad} is {last.stored}", why if known is not False else ""
            else:
                yield f"{grad} was {last.stored} after backward and is {now} now", ""

    def changed(self) -> Iterator[str]:
        """The first gradient of the last run that changed between two nodes; what a leaf stores is
        told already."""
        last = self.graph.backwards[-1].run if self.graph.backwards else None
        changes = self.facts.changed.values()
        found = [c for c in changes if c.run == last and c.before != c.after]
        found = [c for c in found if c.node_id not in self.facts.accumulations]
        for c in found[:1]:
            at = self.facts.last_at.get((c.node_id, c.input_nr))
            name = self.name(at.id) if at else self.made_by(self.graph.node[c.node_id])
            more = f" (1 of {len(found)} changes)" if len(found) > 1 else ""
            by = f"by {_by(c.hooks)}" if c.hooks else "on its way, it is not known by what"
            yield (
                f"The gradient of {name} was changed from {c.before or 'nothing'} to {c.after}"
                f" {by}{more}."
            )

    def before_backward(self) -> Iterator[str]:
        if self.graph.backwards:
            return
        if not self.graph.tensors:
            yield "Nothing was recorded."
        elif all(t.requires_grad is False for t in self.graph.tensors) and not self.graph.notes:
            yield "Nothing here requires grad, so autograd records nothing."
        # A call that hands its input back, such as to("cpu") or retain_grad(), seems to use the
        # last result up.
        last = self.facts.latest_state.values()
        results = [t.id for t in last if t.gradient_edge and t.is_leaf is False]
        for root in self.graph.roots[-1:] or results[-1:]:
            if leaves := [self.name(leaf.id) for leaf in self.facts.leaves_reached(root)]:
                # a graph that was only read may have had a backward
                known = self.graph.calls and not self.graph.notes
                end = "; no backward has run here." if known else "."
                if self.is_unsure(root):
                    yield f"A gradient path leads from {self.name(root)} to {_several(leaves)}{end}"
                else:
                    yield f"{self.name(root)} can send gradients to {_several(leaves)}{end}"

    def is_unsure(self, tensor_id: int) -> bool:
        """Whether a backward from this tensor would need something saved whose state is not
        known."""
        edge = self.graph.tensor[tensor_id].gradient_edge
        met = self.facts.reachable([edge.node_id] if edge else [])
        return any(u.node.id in met for u in self.facts.unsure_saved)

    def passed(self) -> Iterator[str]:
        """A result whose gradient was not kept."""
        for t in self.facts.latest_state.values():
            edge = t.gradient_edge
            inner = edge is not None and edge.node_id not in self.facts.runs_started_at
            value = self.facts.arrived.get(edge) if edge and inner else None
            if value and t.name and t.is_leaf is False and t.retains_grad is False:
                yield (
                    f"{self.name(t.id)} is not a leaf: its gradient {value} passed through and was"
                    " not kept."
                )
                return

    # --- memory -----------------------------------------------------------------------------------

    def memory(self) -> Iterator[str]:
        for e in self.facts.writes:
            if e.alias:
                before, after = self.graph.tensor[e.before_id], self.graph.tensor[e.after_id]
                if before.values != after.values:
                    yield (
                        f"{self.writing(e)} changed {self.name(after.id)} too, which shares that"
                        " memory."
                    )
                    return
        named = [t for t in self.facts.latest_state.values() if t.name]
        for one, two, *_ in sharing(named).values():
            if one.name != two.name:
                same = (one.shape, one.stride, one.storage_offset) == (
                    two.shape,
                    two.stride,
                    two.storage_offset,
                )
                shows = (
                    ": an in-place write to one shows in the other"
                    if same and one.shape is not None
                    else ""
                )
                yield (
                    f"{self.name(two.id)} and {self.name(one.id)} share one block of memory{shows}."
                )
                return


def _add_up(parts: Sequence[str], total: str, digits: float = 6e-4) -> bool | None:
    """Whether numbers add up, as far as their digits tell. None where these are not numbers.

    >>> _add_up(["[2, 0.3333]", "[3, 0.3333]"], "[5, 0.6667]"), _add_up(["2"], "20")
    (True, False)
    >>> _add_up(["3×4 values"], "1 value") is None
    True
    """
    try:
        lists = [[complex(n) for n in re.findall(r"[^][, ]+", text)] for text in (*parts, total)]
    except ValueError:
        return None if parts else False
    if not parts or len({len(numbers) for numbers in lists}) > 1:
        return False
    columns = (
        (sum(given), whole, sum(map(abs, (*given, whole))))
        for *given, whole in zip(*lists, strict=True)
    )
    return all(
        abs(s - whole) <= digits * size < math.inf or repr(s) == repr(whole)
        for s, whole, size in columns
    )


def _by(hooks: Sequence[int]) -> str:
    return (
        "something unknown" if not hooks else "a hook" if len(hooks) == 1 else f"{len(hooks)} hooks"
    )


def _first_line(error: str) -> str:
    return visible(error.strip().partition("\n")[0], CODE * 3).rstrip(".")


def _several(names: Sequence[str]) -> str:
    """
    >>> _several(["a"]), _several(["a", "b", "c"]), _several(list("abcde"))
    ('a', 'a, b and c', 'a, b and 3 more')
    """
    return joined([*names[:2], f"{len(names) - 2} more"] if len(names) > FEW else names)
