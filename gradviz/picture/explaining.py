"""What happened to the gradient, in one or two plain sentences. Says nothing that the graph does
not prove."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce
from itertools import islice
from typing import NamedTuple

from gradviz.graph.facts import Facts, sharing
from gradviz.graph.losing_cuts import LosingCuts
from gradviz.graph.of_torch import OfTorch
from gradviz.graph.records import (
    Accumulated,
    Backward,
    Call,
    Changed,
    Cut,
    Graph,
    Node,
    Raised,
    SavedState,
    SavedTensor,
    Source,
    Tensor,
    Wrote,
)
from gradviz.graph.refusals import refused_at
from gradviz.graph.saved_tensors import SavedTensors
from gradviz.picture import rows
from gradviz.words.notes import note_text
from gradviz.words.plain import shorten, visible
from gradviz.words.speech import Code, Told, clear, several, tell, text_of, together
from gradviz.words.words import Words, with_version

LIMIT = 240  # characters of both sentences together
CODE = 48  # characters of a line of code in a sentence
SHORT = 24  # characters of a list of numbers, or of code, where there is no room for more
FIRST = 8  # characters by which a line is known again
FEW = 3  # leaves or contributions that are told one by one


class Listing(NamedTuple):
    """The lines of code that stand beside a picture; ``first`` is the number of the first one."""

    file: str
    first: int
    text: str

    def shows(self, at: Source | None) -> bool:
        """Tell whether the reader finds this place in it. Two cells of a notebook may have one
        name.

        >>> listing = Listing("cell", 3, "a = leaf()\\nb = copy(a)")
        >>> listing.shows(Source("cell", 4, "b = copy(a)"))
        True
        >>> listing.shows(Source("cell", 4, "t.detach()"))
        False
        >>> listing.shows(Source("cell", 4, "b (copy: detach)"))
        True
        """
        if at is None or at.file != self.file:
            return False
        lines = _bare_lines(self.text)
        row = at.line - self.first
        return 0 <= row < len(lines) and _is_code_of(lines[row], at.code or "")


@lru_cache(maxsize=16)  # every card of every state asks where its line is
def _bare_lines(text: str) -> list[str]:
    """Return the lines of a text without blanks."""
    return [re.sub(r"\s", "", line) for line in text.splitlines()]


@lru_cache(maxsize=1024)
def _is_code_of(line: str, code: str) -> bool:
    """Tell whether a line without blanks is the one in which a piece of code stands.

    >>> _is_code_of("b=a.exp()", "b = a.exp()"), _is_code_of("b=a.exp()", "t.detach()")
    (True, False)
    """
    code = re.sub(r"\s", "", code)
    # "b (copy: detach)": what a called function did
    called = re.search(r"(\w+)[\w.]*:\w+\)?$", code)
    # the result may have got its name elsewhere
    code = called[1] if called else code.partition("=")[2] or code
    return code[:FIRST] in line or line in code


def summary(graph: Graph, error: str = "", listing: Listing | None = None) -> Told:
    """Tell what happened to the gradient here.

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
    return clear(together(sentences(graph, error, listing), " "), LIMIT)


def sentences(graph: Graph, error: str = "", listing: Listing | None = None) -> tuple[str, ...]:
    """Return the sentences that ``summary`` joins, the most important first.

    Example:
        >>> sentences(Graph())
        ('Nothing was recorded.',)
    """
    teller = _Teller(graph, listing)
    chosen: list[Sentence] = []
    for rank, sentence in enumerate(teller.sentences(error)):
        if len(sentence.text) > LIMIT:
            sentence = _Teller(graph, listing, SHORT).sentence(error, rank)
        # what lost a gradient is not left unsaid for want of room
        if sentence.is_lost and chosen and not _has_room(chosen[0].text, sentence.text):
            sentence = _Teller(graph, listing, SHORT, SHORT).sentence(error, rank)
        if not chosen or _has_room(chosen[0].text, sentence.text):
            chosen.append(sentence)
        if len(chosen) == 2:
            came = teller.came() if all(one.is_lost for one in chosen) else []
            return tuple(_with_third([one.text for one in chosen], came))
    return tuple(one.text for one in chosen) or (*teller.nothing_to_tell(),)


def _has_room(first: str, second: str) -> bool:
    """Say whether a second sentence tells something else and fits beside the first one."""
    return second != first and len(f"{first} {second}") <= LIMIT


def _with_third(two: list[str], third: Sequence[str]) -> list[str]:
    """Add to two sentences the first form of a third one that there is room for; where there is
    none, the second one ends in an ellipsis.

    >>> _with_third(["a" * 100, "b" * 119], ["a.grad is [1, 2, 3].", "One gradient came."])[2:]
    ['One gradient came.']
    """
    for text in third:
        if len(" ".join([*two, text])) <= LIMIT:
            return [*two, text]
    if not third:
        return two
    text = min(third, key=len)
    room = LIMIT - len(two[0]) - len(text) - 2
    return [two[0], clear(two[1], room), text]


class Sentence(NamedTuple):
    """A sentence; ``is_lost``: it tells of gradients that did not come."""

    text: str
    is_lost: bool = False


class _Teller:
    """Tells one graph, the most important first.

    Args:
        graph: what was recorded or captured.
        listing: what the reader sees; None: all lines.
        chars: characters of a list of numbers, where there is little room; None: all.
        code: characters of a name or a line of code.
    """

    def __init__(
        self,
        graph: Graph,
        listing: Listing | None = None,
        chars: int | None = None,
        code: int = CODE,
    ) -> None:
        self.graph, self.facts, self.words = graph, Facts.of(graph), Words(graph, code)
        self.saved_tensors = SavedTensors(self.facts)
        self.losing_cuts = LosingCuts(self.facts)
        self.listing, self.chars = listing, chars

    def sentences(self, error: str) -> Iterator[Sentence]:
        """Tell everything, the most important first.

        Args:
            error: what the code raised, or "".
        """
        raised = self.facts.errors
        if error:
            raised = [e for e in raised if error.startswith(e.error) and e.message[:CODE] in error]
        if raised:
            yield from map(Sentence, self.error(raised[-1]))
        elif error:
            yield Sentence(tell("summary.stops", error=Code(_first_line(error))))
        yield from map(Sentence, self.saved())
        yield from (Sentence(text, is_lost=True) for text in self.cuts(lost=True))
        yield from (Sentence(text, is_lost=True) for text in self.missing())
        yield from map(Sentence, self.gradients())
        yield from map(Sentence, self.before_backward())
        yield from map(Sentence, self.memory())
        if not raised:
            yield from map(Sentence, self.passed())
        yield from map(Sentence, self.cuts(lost=False))
        yield from map(Sentence, self.frozen())

    def sentence(self, error: str, rank: int) -> Sentence:
        """Tell what stands at one rank of ``sentences``."""
        return next(islice(self.sentences(error), rank, None))

    def nothing_to_tell(self) -> Iterator[str]:
        """Tell that nothing came back."""
        no_grad_fn = all(t.is_leaf for t in self.graph.tensors)
        yield tell("summary.no_grad_fn" if no_grad_fn else "summary.no_gradient")
        for note in map(note_text, self.graph.notes[:1]):
            yield tell("summary.note", note=note)

    # --- words ------------------------------------------------------------------------------------

    def fit(self, text: object) -> str:
        """Return a value or a name, its lists of numbers shortened where there is little room."""
        text = text_of(text)
        if self.chars is None:
            return text
        short = shorten(text, self.chars)
        return Code(short) if isinstance(text, Code) else short

    def name(self, tensor_id: int | None) -> str:
        """Return what a tensor is called, as short as there is room."""
        return self.fit(self.words.name(tensor_id))

    def grad(self, tensor_id: int | None) -> str:
        """Return what the ``.grad`` of a tensor is called, as short as there is room."""
        return self.fit(self.words.grad(tensor_id))

    def code(self, call: Call | None) -> str:
        """Return the code of a call, as short as there is room."""
        return self.fit(self.words.code(call)) or tell("label.call")

    def behind(self, node: Node) -> str:
        """Return the code behind a node, as short as there is room."""
        return self.fit(self.words.behind(node.id))

    def at_line(self, call: Call | None, sentence: str) -> str:
        """Return a sentence about a call with the number of its line, where the reader sees it."""
        at = self.line(call)
        return tell("summary.at_line", line=at, sentence=sentence) if at else sentence

    def line(self, call: Call | None) -> int | None:
        """Return the number of a call's line, where the reader sees it."""
        at = call.source if call else None
        return at.line if at and (self.listing is None or self.listing.shows(at)) else None

    def writer(self, event: Wrote) -> str:
        """Return the code that wrote, with its line."""
        call = self.graph.call.get(event.call_id)
        at = self.line(call)
        return tell("label.in_line", code=self.code(call), line=at) if at else self.code(call)

    # --- errors and saved tensors -----------------------------------------------------------------

    def error(self, event: Raised) -> Iterator[str]:
        """Tell what a call raised, and why where the graph shows it."""
        call = self.graph.call.get(event.call_id)
        node = self.graph.node.get(event.node_id)
        states = {s.state for s in node.saved} if node else set()
        root = self.root_without_grad_fn(event)
        if root:
            fields = {
                "call": self.code(call),
                "error": Code(event.error),
                "name": self.name(root.id),
            }
            yield self.at_line(call, tell("summary.raises_no_grad_fn", **fields))
            if self.is_nothing_behind(root):
                yield tell("summary.nothing_behind")
        elif node and SavedState.FREED in states and "second time" in event.message:
            text = tell(
                "summary.raises_freed",
                call=self.code(call),
                error=Code(event.error),
                node=Code(node.name),
                code=self.behind(node),
            )
            yield self.at_line(call, text)
        elif SavedState.STALE not in states:
            message = self.fit(Code(_first_line(rows.error_text(event))))
            text = tell("summary.raises", call=self.code(call), error=message)
            yield self.at_line(call, text)

    def root_without_grad_fn(self, event: Raised) -> Tensor | None:
        """Return the tensor that a backward refused because it is not tracked."""
        call = self.graph.call.get(event.call_id)
        run = self.facts.run_of_call.get(event.call_id)
        refused = refused_at(self.graph, run, event.message) if run and call and call.inputs else []
        root = self.graph.tensor[refused[0]] if refused else None
        return root if root and root.requires_grad is False and "element" in event.message else None

    def is_nothing_behind(self, root: Tensor) -> bool:
        """Say whether it is known that nothing a tensor was computed from requires grad."""
        behind = self.losing_cuts.inputs_behind([root.id])
        origins = [self.graph.tensor[i] for i in behind if i in self.graph.tensor]
        return not self.graph.notes and all(t.requires_grad is False for t in origins)

    def saved(self) -> Iterator[str]:
        """Tell of saved tensors that were written afterwards."""
        for node in self.graph.nodes:
            for s in node.saved:
                if s.state is SavedState.OVERWRITTEN:
                    yield tell(
                        "summary.overwritten",
                        saved=self.saved_name(s),
                        code=self.behind(node),
                        wrong_use=rows.wrong_use(self.saved_tensors, node, s),
                    )
                elif s.state is SavedState.STALE:
                    yield self.stale(node, s)
        if unsure := self.saved_tensors.unsure_of_node:
            codes = list(dict.fromkeys(self.behind(self.graph.node[i]) for i in unsure))
            yield tell("summary.unsure", codes=several(codes))

    def saved_name(self, saved: SavedTensor) -> str:
        """Return what a saved tensor is called."""
        known = saved.tensor_id in self.graph.tensor
        return self.name(saved.tensor_id) if known else Code(saved.attribute)

    def stale(self, node: Node, saved: SavedTensor) -> str:
        """Tell of a saved tensor whose version moved on, and by what."""
        failed = {e.node_id: e for e in self.facts.errors if "inplace" in e.message}
        if error := failed.get(node.id):
            end = tell("summary.stale_raised", error=Code(error.error))
        else:
            end = tell("summary.stale_would_raise")
        code, what = self.behind(node), with_version(self.saved_name(saved), saved.saved_version)
        write = self.saved_tensors.write_past(saved)
        if write is None:
            return tell("summary.stale", code=code, saved=what, end=end)
        return tell("summary.stale_by", code=code, saved=what, writer=self.writer(write), end=end)

    # --- cuts -------------------------------------------------------------------------------------

    def cuts(self, lost: bool) -> Iterator[str]:
        """Tell of the cut that matters most, if it lost a gradient or if it lost none: on the way
        to the last root."""
        losing = self.losing_cuts.all
        cuts = [c for c in self.facts.real_cuts if self.facts.leaves_reached(c.input_id)]
        if not cuts or any(c in losing for c in cuts) is not lost:
            return
        behind = self.losing_cuts.inputs_behind(self.graph.roots[-1:])
        first = min(cuts, key=lambda c: (c not in losing, c.output_id not in behind))
        text = self.at_line(self.graph.call.get(first.call_id), self.cut(first, len(cuts)))
        yield tell("summary.cut_mark", sentence=text)

    def cut(self, cut: Cut, of: int) -> str:
        """Tell of one of several cuts which leaves get no gradient through it."""
        leaves = several([self.name(leaf.id) for leaf in self.facts.leaves_reached(cut.input_id)])
        cutter, result = self.cutter(cut), self.name(cut.output_id)
        fields = {"cutter": cutter, "result": result, "leaves": leaves}
        if self.facts.is_cut_off(cut) and of > 1:
            return tell("summary.cut_off_one_of", n=of, **fields)
        if self.facts.is_cut_off(cut):
            return tell("summary.cut_off", **fields)
        source = self.name(cut.input_id)
        if of > 1:
            return tell("summary.cut_one_of", source=source, n=of, **fields)
        return tell("summary.cut", source=source, **fields)

    def cutter(self, cut: Cut) -> str:
        """Return what cuts, as the subject of a sentence."""
        call = self.graph.call.get(cut.call_id)
        function: str = tell("label.call")
        called: str = function
        if call:
            # __deepcopy__, __float__
            is_special = call.function.startswith("__")
            function = Code(call.function.strip("_") if is_special else call.function)
            called = Code(tell("label.called", function=function))
        return tell(f"cutter.{cut.reason.name.lower()}", function=function, call=called)

    def frozen(self) -> Iterator[str]:
        """Tell of the leaves whose flag was switched off, by the first line that did so. Frozen is
        not cut: a path that was built before stands, and what arrives along it is not stored."""
        frozen, last = self.facts.frozen_leaves, self.facts.latest_state
        ends = ((c, self.graph.tensor[c.input_id].object_id) for c in frozen)
        switched_off = [c for c, leaf in ends if last[leaf].requires_grad is False]
        calls = [self.graph.call[c.call_id] for c in switched_off if c.call_id in self.graph.call]
        for call in calls[:1]:
            here = {c.id for c in calls if c.source == call.source}
            names = list(
                dict.fromkeys(self.name(c.input_id) for c in switched_off if c.call_id in here)
            )
            yield self.at_line(call, tell("summary.frozen", names=names))

    # --- gradients that did not come --------------------------------------------------------------

    def missing(self) -> Iterator[str]:
        """Tell of leaves to which no path leads from where backward began, and of those to which
        nothing came though one does."""
        runs = self.runs()
        reached = self.facts.leaves_met(r for b in runs for r in b.roots)
        if reached is None:
            return
        leaves = self.leaves_without_grad()
        if grads := [self.grad(t.id) for t in leaves if t.object_id not in reached]:
            yield tell("summary.none", grads=grads, starts=self.starts(runs))
        unfilled = reached - self.facts.leaves_filled
        waiting = [self.name(t.id) for t in leaves if t.object_id in unfilled]
        if waiting and all(b.watched for b in runs) and not self.facts.errors:
            yield tell("summary.waiting", names=waiting)

    def runs(self) -> list[Backward]:
        """Return the recorded backwards that fill ``.grad``."""
        runs, call = self.graph.backwards, self.graph.call
        return [b for b in runs if b.kind == "backward" and b.call_id in call]

    def starts(self, runs: Sequence[Backward]) -> list[str]:
        """Return what the tensors are called on which backwards were called."""
        begun = ((self.graph.call[b.call_id].inputs, max(1, len(b.roots))) for b in runs)
        return list(dict.fromkeys(self.name(i) for inputs, n in begun for i in inputs[:n]))

    def leaves_without_grad(self) -> list[Tensor]:
        """Return the leaves that still have the name that they are known by, and no ``.grad``."""
        states, grads = self.facts.latest_state.values(), self.facts.grads_now
        named = [t for t in states if t.name and not (t.former and t.former.line)]
        tracked = [t for t in named if t.is_leaf and t.requires_grad]
        return [t for t in tracked if grads[t.object_id] is None]

    # --- gradients that came ----------------------------------------------------------------------

    def came(self) -> list[str]:
        """Tell the gradients that did come, in forms of several lengths."""
        brief = [brief for brief, _ in self.leaf_gradients()]
        if len(brief) > FEW:
            return [next(self.gradients())]
        if not brief:
            return []
        short = [brief for brief, _ in _Teller(self.graph, self.listing, SHORT).leaf_gradients()]
        return [_in_a_row(brief), _in_a_row(short), tell("summary.came", n=len(brief))]

    def gradients(self) -> Iterator[str]:
        """Tell what came: of leaves, what was changed on its way, what was asked for and kept."""
        yield from self.stored()
        yield from self.changed()
        yield from self.returned()
        yield from self.kept()

    def stored(self) -> Iterator[str]:
        """Tell what leaves stored; of many, how many there are."""
        clauses = list(self.leaf_gradients())
        leaves = self.known_leaves() if len(clauses) > FEW else []
        if leaves:
            filled, grads = self.facts.leaves_filled, self.facts.grads_now
            got = sum(t.object_id in filled for t in leaves)
            now = sum(grads[t.object_id] is not None for t in leaves)
            if now == got:
                yield tell("summary.received", got=got, n=len(leaves))
            else:
                yield tell("summary.received_now", got=got, n=len(leaves), now=now)
        elif clauses:
            text = _in_a_row([whole for _, whole in clauses])
            is_short = len(shorten(text, SHORT)) <= LIMIT
            yield text if is_short else _in_a_row([brief for brief, _ in clauses])

    def known_leaves(self) -> list[Tensor]:
        """Return the leaves that require grad and are the user's own."""
        at_node = {t.object_id for t in self.facts.leaf_at.values()} - OfTorch(self.facts).objects
        leaves = [t for t in self.facts.latest_state.values() if t.is_leaf and t.requires_grad]
        return [t for t in leaves if t.name or t.object_id in at_node]

    def returned(self) -> Iterator[str]:
        """Tell what the last ``autograd.grad`` gave back."""
        for run in self.graph.backwards[-1:]:
            gradients = [
                tell("summary.returned_for", gradient=self.fit(value), name=self.name(i))
                for i, value in run.returned[: FEW + 1]
            ]
            if 0 < len(gradients) <= FEW:
                yield tell("summary.returned", gradients=several(gradients))

    def kept(self) -> Iterator[str]:
        """Tell the gradients that results kept."""
        asked = (i for c in self.graph.calls if c.function == "retain_grad" for i in c.inputs)
        asked_for = {self.graph.tensor[i].object_id for i in asked}
        for t in self.facts.latest_state.values():
            if t.retains_grad and t.grad is not None and not t.is_leaf:
                yield tell(
                    "summary.kept" if t.object_id in asked_for else "summary.kept_by_flag",
                    grad=self.grad(t.id),
                    value=self.fit(t.grad),
                )

    def leaf_gradients(self) -> Iterator[tuple[str, str]]:
        """Tell what each leaf stores, in brief, and how it came about where the numbers add up: a
        hook may have changed them."""
        for node, done in self.facts.accumulations.items():
            leaf = self.facts.leaf_at.get(node)
            if leaf is not None:
                yield self.leaf_gradient(leaf, done[-1])

    def leaf_gradient(self, leaf: Tensor, event: Accumulated) -> tuple[str, str]:
        """Tell what a leaf stores, in brief and with how it came about."""
        grad, stored = self.grad(leaf.id), self.fit(event.stored)
        now = self.facts.grads_now[leaf.object_id]
        if now != event.stored:
            since = tell("summary.grad_since", grad=grad, stored=stored, now=self.fit(now))
            return since, since
        brief = tell("summary.grad", grad=grad, stored=stored)
        adds_up = self.adds_up(leaf, event)
        if adds_up is False:
            return brief, brief
        if event.stored is None:
            return brief, self.not_stored(leaf, event)
        if event.before is not None:
            return brief, self.added(leaf, event)
        return brief, self.first_stored(leaf, event, adds_up is True)

    def sent_through(self, event: Accumulated) -> dict[str, list[str]]:
        """Return what was sent to a leaf in the run of an event, by the code it came through."""
        values: dict[str, list[str]] = {}
        for e in self.facts.edges_into.get(event.node_id, ()):
            if value := self.facts.sent_in_run.get((event.run, e.node_id, e.next_index)):
                values.setdefault(self.behind(self.graph.node[e.node_id]), []).append(value)
        return values

    def change_of(self, event: Accumulated) -> Changed | None:
        """Return what became of a leaf's gradient before it arrived."""
        return self.facts.changed.get((event.run, event.node_id, 0))

    def adds_up(self, leaf: Tensor, event: Accumulated) -> bool | None:
        """Say whether what was stored is the sum of what came. None: that cannot be told."""
        digits = 4e-3 if leaf.dtype in ("bfloat16", "float16") else 6e-4
        total = str(event.stored if event.added is None else event.added)
        if event.before is not None:
            return _add_up([event.incoming, event.before], total, digits)
        change = self.change_of(event)
        sent = [value for values in self.sent_through(event).values() for value in values]
        return _add_up(sent, str(change.before) if change else total, digits)

    def not_stored(self, leaf: Tensor, event: Accumulated) -> str:
        """Tell why nothing is stored though a gradient arrived."""
        fields = {
            "grad": self.grad(leaf.id),
            "stored": event.stored,
            "incoming": self.fit(event.incoming),
        }
        # AccumulateGrad asks the tensor when it runs
        if leaf.requires_grad is False:
            return tell("summary.grad_not_tracked", name=self.name(leaf.id), **fields)
        return tell("summary.grad_set_to_none", by=_by(event.hooks), **fields)

    def added(self, leaf: Tensor, event: Accumulated) -> str:
        """Tell what was added to an earlier gradient."""
        fields = {
            "grad": self.grad(leaf.id),
            "stored": self.fit(event.stored),
            "incoming": self.fit(event.incoming),
            "before": self.fit(event.before),
        }
        if change := self.change_of(event):
            sent, by = self.fit(change.before), _by(change.hooks)
            clause = tell("summary.grad_added_changed", sent=sent, by=by, **fields)
        else:
            clause = tell("summary.grad_added", **fields)
        return self.changed_at_last(clause, event)

    def first_stored(self, leaf: Tensor, event: Accumulated, known: bool) -> str:
        """Tell through which code the first gradient of a leaf came back."""
        grad, stored = self.grad(leaf.id), self.fit(event.stored)
        through, change = self.sent_through(event), self.change_of(event)
        sent = sum(map(len, through.values()))
        if sent > FEW:
            clause = tell("summary.grad_sum_of", grad=grad, stored=stored, n=sent)
        elif known and sent == 1 and not change and event.added is None:
            code = next(iter(through))
            clause = tell("summary.grad_came_back", grad=grad, stored=stored, code=code)
        else:
            clause = tell("summary.grad_ways", grad=grad, stored=stored, ways=self.ways(through))
        if change:
            by, gradient = _by(change.hooks), self.fit(event.incoming)
            clause = tell("summary.made_that", clause=clause, by=by, gradient=gradient)
        return self.changed_at_last(clause, event)

    def ways(self, through: dict[str, list[str]]) -> list[str]:
        """Tell which gradients came back through which code."""
        ways: list[str] = []
        for code, values in through.items():
            gradients = list(map(self.fit, values))
            ways.append(
                tell(
                    "summary.other_way" if ways else "summary.first_way",
                    gradients=gradients,
                    code=code,
                )
            )
        return ways

    def changed_at_last(self, clause: str, event: Accumulated) -> str:
        """Return a clause, and what a hook made of what was stored."""
        if event.added is None:
            return clause
        by, gradient = _by(event.hooks), self.fit(event.stored)
        return tell("summary.made_that", clause=clause, by=by, gradient=gradient)

    def changed(self) -> Iterator[str]:
        """Tell the first gradient of the last run that changed between two nodes; what a leaf
        stores is told already."""
        last = self.graph.backwards[-1].run if self.graph.backwards else None
        changes = [c for c in self.facts.changed.values() if c.run == last and c.before != c.after]
        changes = [c for c in changes if c.node_id not in self.facts.accumulations]
        for change in changes[:1]:
            yield self.change(change, len(changes))

    def change(self, change: Changed, of: int) -> str:
        """Tell one of several changes of a gradient."""
        at = self.facts.last_at.get((change.node_id, change.input_nr))
        fields = {
            "name": self.name(at.id) if at else self.behind(self.graph.node[change.node_id]),
            "before": self.fit(change.before or tell("change.nothing")),
            "after": self.fit(change.after),
        }
        if not change.hooks and of > 1:
            return tell("summary.changed_unseen_one_of", n=of, **fields)
        if not change.hooks:
            return tell("summary.changed_unseen", **fields)
        if of > 1:
            return tell("summary.changed_one_of", n=of, by=_by(change.hooks), **fields)
        return tell("summary.changed", by=_by(change.hooks), **fields)

    # --- before backward --------------------------------------------------------------------------

    def before_backward(self) -> Iterator[str]:
        """Tell which leaves the last result could send gradients to."""
        if self.graph.backwards:
            return
        untracked = all(t.requires_grad is False for t in self.graph.tensors)
        if not self.graph.tensors:
            yield tell("summary.nothing")
        elif untracked and not self.graph.notes:
            yield tell("summary.nothing_tracked")
        for root in self.last_result():
            if leaves := [self.name(leaf.id) for leaf in self.facts.leaves_reached(root)]:
                yield self.can_send(root, leaves)

    def last_result(self) -> list[int]:
        """Return the last root; without one, the last tracked result."""
        # A call that hands its input back, such as to("cpu") or retain_grad(), seems to use the
        # last result up.
        last = self.facts.latest_state.values()
        results = [t.id for t in last if t.gradient_edge and t.is_leaf is False]
        return list(self.graph.roots[-1:]) or results[-1:]

    def can_send(self, root: int, leaves: list[str]) -> str:
        """Tell that a gradient path leads from a result to leaves."""
        # a graph that was only read may have had a backward
        not_run = self.graph.calls and not self.graph.notes
        name = self.name(root)
        if self.is_unsure(root):
            return tell(
                "summary.path_not_run" if not_run else "summary.path", name=name, leaves=leaves
            )
        return tell(
            "summary.can_send_not_run" if not_run else "summary.can_send", name=name, leaves=leaves
        )

    def is_unsure(self, tensor_id: int) -> bool:
        """Tell whether a backward from this tensor would need something saved whose state is not
        known."""
        edge = self.graph.tensor[tensor_id].gradient_edge
        met = self.facts.reachable([edge.node_id] if edge else [])
        return any(u.node.id in met for u in self.saved_tensors.unsure)

    def passed(self) -> Iterator[str]:
        """Tell of a result whose gradient was not kept."""
        for t in self.facts.latest_state.values():
            edge = t.gradient_edge
            inner = edge is not None and edge.node_id not in self.facts.runs_started_at
            value = self.facts.arrived.get(edge) if edge and inner else None
            if value and t.name and t.is_leaf is False and t.retains_grad is False:
                yield tell("summary.passed", name=self.name(t.id), gradient=self.fit(value))
                return

    # --- memory -----------------------------------------------------------------------------------

    def memory(self) -> Iterator[str]:
        """Tell of a write that changed another tensor too; without one, of two names that share
        memory."""
        for e in self.facts.writes:
            before, after = self.facts.around(e)
            if e.alias and before.values != after.values:
                name = self.name(after.id)
                yield tell("summary.changed_too", writer=self.writer(e), name=name)
                return
        named = [t for t in self.facts.latest_state.values() if t.name]
        for first, second, *_ in sharing(named).values():
            if first.name != second.name:
                same = first.shape is not None and _layout(first) == _layout(second)
                yield tell(
                    "summary.shared_same" if same else "summary.shared",
                    one=self.name(second.id),
                    other=self.name(first.id),
                )
                return


def _in_a_row(clauses: Sequence[str]) -> str:
    """Make one sentence of several clauses."""
    joined = reduce(lambda a, b: tell("summary.and", first=a, second=b), clauses)
    return tell("summary.gradients", clauses=joined)


def _layout(t: Tensor) -> tuple[object, ...]:
    """Return how a tensor lies in its memory."""
    return t.shape, t.stride, t.storage_offset


def _add_up(parts: Sequence[str], total: str, digits: float = 6e-4) -> bool | None:
    """Tell whether numbers add up, as far as their digits tell; None where these are not numbers.

    >>> _add_up(["[2, 0.3333]", "[3, 0.3333]"], "[5, 0.6667]"), _add_up(["2"], "20")
    (True, False)
    >>> _add_up(["(3, 4)"], "()") is None
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
    """Tell by what a gradient was changed."""
    return tell("change.by", hooks=hooks)


def _first_line(error: str) -> str:
    """Return the first line of an error, without its full stop; of a long one the sentences for
    which there is room, or else the words.

    >>> _first_line("Inference tensors cannot be saved for backward. Please " + "do " * 60)
    'Inference tensors cannot be saved for backward'
    """
    line = error.strip().partition("\n")[0]
    if len(line) > CODE * 3:
        room = line[: CODE * 3]
        ends = [found.start() for found in re.finditer(r"\.(?=\s|[A-Z])", room)]
        line = room[: ends[-1]] if ends else f"{room.rpartition(' ')[0]} …"
    return visible(line).rstrip(".")
