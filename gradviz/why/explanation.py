"""One answer: a verdict, where it happened, why, how to mend it, and what was ruled out. Knows no
torch."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Finding, Sure
from gradviz.graph.records import Call, Cut, Graph, Hooked, Raised, Tensor, Wrote
from gradviz.picture.figure import Figure
from gradviz.picture.scene import count
from gradviz.words.plain import visible
from gradviz.words.speech import fill, language, say
from gradviz.words.words import Words

LINES = 8  # lines of one explanation
WIDTH = 120  # characters of a line
TAG_AT = 84  # where the [cause] stands on the first line
HTML_ROW = '<tr><th style="text-align:left">{}</th><td style="text-align:left">{}</td></tr>'
DETAILS = {"cancels", "done", "frozen_now", "large", "zero", "zero_factor"}  # told as ``detail``
CARDS = 14  # tensors that one picture shows around what it points at


class Explanation(NamedTuple):
    """What is wrong with a gradient, or that nothing is. Plain data: holds no tensor, no node, no
    traceback.

    ``str()`` is a paragraph of at most eight lines; in a notebook the picture of what it points at
    stands below.

    Attributes:
        cause: one machine-readable word, e.g. ``Cause.CUT``, which equals ``"cut"``;
            ``"not_known"`` where nothing is proven.
        verdict: the first line.
        where: the code that did it.
        why: the reason.
        mend: what to write instead.
        ruled_out: what was checked and is not the cause.
        lines: line numbers of the user's code that it points at.
        cuts: the cuts that it points at.
        node_ids: nodes of ``graph`` that it points at.
        tensor_ids: tensors of ``graph`` that it points at.
        graph: where those ids are looked up, or None.
        more: further short lines, such as numbers per block.
        detail: a second machine-readable word, where a cause has several forms; "" elsewhere.
        finding: what is told here, before it was put into words.

    Example:
        >>> verdict = "w.grad is None: w is frozen."
        >>> print(Explanation(Cause.FROZEN, verdict, mend="w.requires_grad_()."))
        w.grad is None: w is frozen.                                                        [frozen]
          Mend    w.requires_grad_().
    """

    cause: Cause
    verdict: str
    where: str = ""
    why: str = ""
    mend: str = ""
    ruled_out: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    cuts: tuple[Cut, ...] = ()
    node_ids: tuple[int, ...] = ()
    tensor_ids: tuple[int, ...] = ()
    graph: Graph | None = None
    more: tuple[str, ...] = ()
    detail: str = ""
    finding: Finding | None = None

    @property
    def tag(self) -> str:
        """The cause in words, with the reason of the cut where there is one."""
        if self.cause is Cause.HEALTHY:
            return "no fault"
        reasons = list(dict.fromkeys(c.reason.value for c in self.cuts))
        return self.cause.replace("_", " ") + (f": {', '.join(reasons[:2])}" if reasons else "")

    @property
    def figure(self) -> Figure | None:
        """The picture, reduced to what the explanation points at; None where there is nothing to
        draw."""
        if self.graph is None or not (self.tensor_ids or self.node_ids or self.cuts):
            return None
        graph = focus(self.graph, self.tensor_ids, self.node_ids, self.cuts)
        return Figure(graph, view="cards" if graph.calls else "nodes", title=self.verdict)

    def __str__(self) -> str:
        first = _wrapped(self.verdict, "", 2)
        tag = (
            f"[{self.tag}]"
            if len(first[-1]) + len(self.tag) + 4 <= WIDTH
            else f"[{self.tag.partition(':')[0]}]"
        )
        if len(first) == 1 and len(first[-1]) + len(tag) + 2 > WIDTH:
            first.append("")
        first[-1] = _shortened(first[-1], WIDTH - len(tag) - 2)
        first[-1] = f"{first[-1]:<{min(TAG_AT, WIDTH - len(tag)) - 2}}  {tag}"
        rest = [_wrapped(text, f"  {word:<7} ", 3) for word, text in self._parts()]
        more = [_shortened(f"  {visible(line, 500)}", WIDTH) for line in self.more]
        return "\n".join([*first, *_fitted(more, rest, LINES - len(first))])

    def __repr__(self) -> str:
        return str(self)

    def _parts(self) -> list[tuple[str, str]]:
        ruled_out = "; ".join(self.ruled_out) + "." if self.ruled_out else ""
        parts = [
            ("Where", self.where),
            ("Why", self.why),
            ("Mend", self.mend),
            ("Ruled out", ruled_out),
        ]
        return [(word, text) for word, text in parts if text]

    @property
    def html(self) -> str:
        """The same words for a cell, whatever its width."""
        rows = "".join(
            HTML_ROW.format(word, html.escape(visible(text, 600))) for word, text in self._parts()
        )
        more = "".join(f"<br>{html.escape(visible(line, 500))}" for line in self.more)
        verdict = html.escape(visible(self.verdict, 600))
        return (
            f"<p><b>{verdict}</b>"
            f" <code>{html.escape(self.tag)}</code>{more}</p><table>{rows}</table>"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        figure = self.figure
        picture = figure.html if figure is not None else ""
        return {"text/plain": str(self), "text/html": self.html + picture}


def _wrapped(text: str, head: str, most: int) -> list[str]:
    lines = textwrap.wrap(
        visible(text, 600), WIDTH, initial_indent=head, subsequent_indent=" " * len(head)
    )
    return (
        lines
        if len(lines) <= most
        else [*lines[: most - 1], _shortened(lines[most - 1] + " …", WIDTH)]
    )


def _shortened(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def _fitted(more: list[str], parts: list[list[str]], room: int) -> list[str]:
    """All of it where there is room; otherwise first the further lines go, then the ends of the
    longest parts."""
    while sum(map(len, parts)) > room:
        longest = max(parts, key=len)
        longest.pop()
        longest[-1] = _shortened(longest[-1] + " …", WIDTH)
    return [*more[: room - sum(map(len, parts))], *(line for part in parts for line in part)]


# --- words that every explanation uses ------------------------------------------------------------


def at_a_word(text: str, most: int) -> str:
    """
    >>> at_a_word("one two three", 9), at_a_word("one two", 9), at_a_word("onetwothree", 9)
    ('one two …', 'one two', 'onetwoth…')
    """
    words, blank, rest = text[: most - 1].rpartition(" ")
    return text if len(text) <= most else f"{words} …" if blank else f"{rest}…"


def worded(finding: Finding, words: Words, group: str = "") -> Explanation:
    """Put a finding into words.

    Args:
        finding: what is proven.
        words: what the tensors and calls of its graph are called.
        group: names of the tensors of which all the same is told; "" for the finding's own subject.
    """
    answer = language().answers[finding.cause, finding.form]
    fields = fields_of(finding, group)
    verdict = fill(answer.verdict, fields)
    return Explanation(
        finding.cause,
        say("group.verdict", names=group, verdict=verdict) if group else verdict,
        words.places(finding.calls),
        fill(answer.why, fields),
        fill(answer.mend, fields),
        tuple(say(f"ruled_out.{key}", **fields) for key in finding.checked),
        lines_of((*finding.calls, *finding.also_at)),
        finding.cuts,
        finding.node_ids,
        finding.tensor_ids,
        words.graph,
        (*(fill(line, fields) for line in answer.more), *finding.more),
        finding.form if finding.form in DETAILS else "",
        finding,
    )


def fields_of(finding: Finding, group: str = "") -> dict[str, Any]:
    """Return what the sentences of a finding may name: its own fields, and those of every one."""
    name = finding.subject
    fields = {
        "it": say("group.it") if group else name,
        "grad": say("group.grad") if group else say("label.grad", name=name),
        "loss": finding.loss,
        "health": health_of(finding.sure),
        **finding.fields,
    }
    return {**fields, "symptom": say(f"symptom.{finding.symptom.name.lower()}", **fields)}


def health_of(sure: Sure) -> str:
    """Say how well all is, where no fault was found."""
    if sure is Sure.PROVEN:
        return say("doubt.healthy")
    return say("doubt.so_far" if sure is Sure.LIKELY else "doubt.open")


def lines_of(calls: Iterable[Call]) -> tuple[int, ...]:
    """Line numbers of calls, each once."""
    return tuple(dict.fromkeys(c.source.line for c in calls if c.source))


# --- the picture ----------------------------------------------------------------------------------


def focus(
    graph: Graph, tensor_ids: Iterable[int], node_ids: Iterable[int], cuts: Iterable[Cut]
) -> Graph:
    """The part of a graph that a picture of these things needs.

    Args:
        graph: the whole.
        tensor_ids: tensors that are pointed at.
        node_ids: nodes that are pointed at.
        cuts: cuts that are pointed at.

    Returns:
        A graph of the tensors and nodes pointed at and of what lies nearest to them. It says how
        much it left out.
    """
    ends = [i for c in cuts for i in (c.input_id, c.output_id) if i is not None]
    objects = {graph.tensor[i].object_id for i in (*tensor_ids, *ends) if i in graph.tensor}
    nodes = {i for i in node_ids if i in graph.node}
    calls = {graph.node[i].call_id for i in nodes} | {c.call_id for c in cuts}
    objects |= {
        graph.tensor[i].object_id
        for c in graph.calls
        if c.id in calls
        for i in (*c.inputs, *c.outputs)
        if i in graph.tensor
    }
    if graph.calls:
        for near in _neighbours(graph, objects):
            if len(objects) >= CARDS:
                break
            objects.add(near)
        return _restricted(graph, objects, nodes)
    return _near_nodes(graph, nodes, objects)


def _neighbours(graph: Graph, objects: set[int]) -> Iterator[int]:
    """Objects that calls connect with ``objects``, the nearest first."""
    linked: dict[int, list[int]] = {}
    for call in Facts.of(graph).ordinary_calls:
        ends = [
            graph.tensor[i].object_id for i in (*call.inputs, *call.outputs) if i in graph.tensor
        ]
        for one in ends:
            linked.setdefault(one, []).extend(ends)
    edge, seen = sorted(objects), set(objects)
    while edge:
        near = list(dict.fromkeys(o for one in edge for o in linked.get(one, ()) if o not in seen))
        yield from near
        seen.update(near)
        edge = near


def _restricted(graph: Graph, objects: set[int], nodes: set[int]) -> Graph:
    tensors = [t for t in graph.tensors if t.object_id in objects]
    kept = {t.id for t in tensors}
    backwards = Facts.of(graph).backward_calls
    calls = [
        c
        for c in graph.calls
        if c.id in backwards or kept.issuperset(c.outputs or c.inputs or [-1])
    ]
    call_ids = {c.id for c in calls}
    edges_of = {t.gradient_edge.node_id for t in tensors if t.gradient_edge}
    nodes = nodes | edges_of | {n.id for n in graph.nodes if n.call_id in call_ids - backwards}
    return _only(graph, tensors, call_ids, nodes)


def _near_nodes(graph: Graph, nodes: set[int], objects: set[int]) -> Graph:
    """Without calls there are only nodes: those pointed at, and the shortest ways from them."""
    tensors = [t for t in graph.tensors if t.object_id in objects]
    kept = nodes | (
        {t.gradient_edge.node_id for t in tensors if t.gradient_edge} & graph.node.keys()
    )
    into = Facts.of(graph).edges_into
    edge = sorted(kept)
    while edge and len(kept) < CARDS:
        near = [e.next_node_id for n in edge for e in graph.edges_from.get(n, ())]
        near += [e.node_id for n in edge for e in into.get(n, ())]
        edge = [n for n in dict.fromkeys(near) if n is not None and n not in kept][
            : CARDS - len(kept)
        ]
        kept.update(edge)
    leaves = {graph.node[n].leaf_id for n in kept}
    edges = {t.id for t in graph.tensors if t.gradient_edge and t.gradient_edge.node_id in kept}
    found = [t for t in graph.tensors if t.object_id in objects or t.id in leaves or t.id in edges]
    return _only(graph, found, set(), kept)


def _only(graph: Graph, tensors: list[Tensor], calls: set[int], nodes: set[int]) -> Graph:
    """``graph`` with these tensors, calls and nodes, and with what refers to nothing else."""
    ids = {t.id for t in tensors}
    runs = [
        b._replace(
            roots=tuple(r for r in b.roots if r in nodes),
            ran=tuple(r for r in b.ran if r in nodes),
            returned=tuple(r for r in b.returned if r[0] in ids),
            raised_at=b.raised_at if b.raised_at in nodes else None,
        )
        for b in graph.backwards
    ]
    left_out = len(Facts.of(graph).latest_state) - len({t.object_id for t in tensors})
    others = f"{count(left_out, 'more tensor')} {'is' if left_out == 1 else 'are'} left out"
    note = [f"shown is what the explanation points at; {others}"] if left_out > 0 else []
    return graph.replace(
        roots=[r for r in graph.roots if r in ids],
        tensors=[t if t.base_id in ids else t._replace(base_id=None) for t in tensors],
        calls=[c for c in graph.calls if c.id in calls],
        nodes=[
            n._replace(
                leaf_id=n.leaf_id if n.leaf_id in ids else None,
                call_id=n.call_id if n.call_id in calls else None,
            )
            for n in graph.nodes
            if n.id in nodes
        ],
        edges=[
            e
            for e in graph.edges
            if e.node_id in nodes and (e.next_node_id is None or e.next_node_id in nodes)
        ],
        cuts=[
            c
            for c in graph.cuts
            if c.call_id in calls and c.input_id in ids and c.output_id in {*ids, None}
        ],
        gradients=[g for g in graph.gradients if g.node_id in nodes],
        events=[e for e in graph.events if _inside(e, ids, calls, nodes)],
        backwards=[b for b in runs if b.call_id in calls],
        notes=[*graph.notes, *note],
    )


def _inside(event: Any, tensors: set[int], calls: set[int], nodes: set[int]) -> bool:
    """Does an event speak only of what is kept?"""
    if isinstance(event, Wrote):
        return event.call_id in calls and {event.before_id, event.after_id} <= tensors
    if isinstance(event, Hooked):
        return event.call_id in calls and event.tensor_id in tensors
    if hasattr(event, "call_id"):
        return event.call_id in calls and (
            not isinstance(event, Raised) or event.node_id in {*nodes, None}
        )
    return event.node_id in nodes if hasattr(event, "node_id") else set(event.node_ids) <= nodes
