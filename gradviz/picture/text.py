"""The picture in words. It alone tells the whole story, and says the same for the same code in
every process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from gradviz.graph.facts import Facts, code_of, grouped
from gradviz.graph.records import (
    Backward,
    Call,
    Cut,
    CutReason,
    Graph,
    Node,
    NodeKind,
    NoteKind,
    SavedTensor,
    Tensor,
)
from gradviz.picture.rows import error_text, names
from gradviz.picture.scene import LINES, Arrow, Card, Scene
from gradviz.words.notes import note_text
from gradviz.words.plain import TEXT_LIMIT, visible
from gradviz.words.speech import enumerated, say
from gradviz.words.words import Words, reason_of, with_version

SHOWN = 8  # cards that the alt text names


def text(graph: Graph, scene: Scene, title: str | None = None, most: int | None = LINES) -> str:
    """Tell everything that the picture shows and what it has no room for, in a fixed order.

    Args:
        graph: where saved tensors, runs and notes are looked up.
        scene: the unfolded scene of the same graph.
        title: a first line.
        most: cards, cuts or notes that are listed; None: all.

    Returns:
        Lines without a newline at the end; no object ids, no machine paths.
    """
    facts = Facts.of(graph)
    cuts = [cut_text(graph, cut) for cut in facts.real_cuts]
    frozen = [cut_text(graph, cut) for cut in facts.frozen_leaves]
    sections = [
        [visible(title)] if title else [],
        _notes(graph, of_loops=True),
        _cards(facts, scene, most),
        [say("text.cut_line", line=line) for line in _some(cuts, most)],
        [say("text.frozen_line", line=line) for line in _some(frozen, most)],
        [say("text.memory_line", line=line) for line in _some(_boxes(scene, "memory"), most)],
        [say("text.region_line", line=line) for line in _some(_boxes(scene, "region"), most)],
        [say("text.backward_line", line=line) for line in _some(_backwards(graph), most)],
        [say("text.raised_line", line=line) for line in _some(_raised(graph), most)],
        [say("text.note_line", line=note) for note in _some(_notes(graph), most)],
    ]
    lines = [line for section in sections for line in section]
    return "\n".join(visible(line, 500) for line in lines) or say("text.empty")


def _notes(graph: Graph, *, of_loops: bool = False) -> list[str]:
    """Tell what a graph lacks, or of loops which of their iterations is drawn."""
    kinds = [note for note in graph.notes if (note.kind is NoteKind.ITERATIONS) is of_loops]
    return [note_text(note) for note in kinds]


def _some(lines: Iterable[str], most: int | None) -> list[str]:
    """Return the lines of a section; where they are many, how many more there are."""
    listed = list(lines)
    if most is None or len(listed) <= most:
        return listed
    return [*listed[:most], say("text.more", n=f"{len(listed) - most:,}")]


# --- cards ----------------------------------------------------------------------------------------


def _cards(facts: Facts, scene: Scene, most: int | None) -> list[str]:
    """Tell every card: its lines, what it was made of, and what its nodes hold."""
    into = grouped((arrow.head, arrow) for arrow in scene.arrows)
    titles = _titles(scene)
    lines: list[str] = []
    for card in scene.cards[:most]:
        lines.append(card.title)
        below = [
            *(
                say("text.then", code=r.text) if r.kind == "code" else r.text
                for r in card.rows[1:]
                if r.text
            ),
            *_reads(into.get(card.id, ()), titles),
            *_node_details(facts, card),
        ]
        lines += [f"    {line}" for line in below]
    if most is not None and len(scene.cards) > most:
        lines.append(say("text.more_cards", n=f"{len(scene.cards) - most:,}"))
    return lines


def _titles(scene: Scene) -> dict[int, str]:
    """Return what the cards are called, by id."""
    return {c.id: c.name or c.title for c in scene.cards}


def _reads(arrows: Iterable[Arrow], titles: dict[int, str]) -> Iterator[str]:
    """Tell how a card was made of other cards, a line an arrow."""
    for a in arrows:
        card = titles[a.tail]
        card = say("text.output_of", card=card, output=a.mark) if a.mark else card
        if a.kind in ("gradient", "zeros"):
            yield say("text.from_gradient", card=card, gradient=a.label)
        elif a.kind == "cut":
            yield say("text.from_label", card=card, label=a.label)
        elif a.kind == "raise":
            yield say("text.from_raise", card=card, label=a.label)
        elif a.kind == "edge" and a.label:
            yield say("text.edge_sends", card=card, gradient=a.label)
        elif a.kind == "edge":
            yield say("text.edge", card=card)
        elif a.kind == "of" and a.label:
            yield say("text.of_label", card=card, label=a.label)
        else:
            yield say("text.of" if a.kind == "of" else "text.from", card=card)


def _node_details(facts: Facts, card: Card) -> Iterator[str]:
    """Tell what the nodes of a card saved, and which of their slots lead nowhere."""
    graph = facts.graph
    for node in (graph.node[n] for n in facts.gradient_order(card.node_ids)):
        if node.saved:
            saved = [saved_text(graph, s) for s in node.saved]
            yield say("text.saved", node=node.name, saved=saved)
        if card.kind == "node" and (empty := _empty_slots(graph, node)):
            yield say("text.empty_slots", node=node.name, slots=empty)
        if node.stub and node.kind is not NodeKind.ACCUMULATE_GRAD:
            yield say("text.stub", node=node.name)


def _empty_slots(graph: Graph, node: Node) -> list[str]:
    """List the slots of a node that lead nowhere."""
    edges = graph.edges_from.get(node.id, ())
    return [str(e.next_index) for e in edges if e.next_node_id is None]


def saved_text(graph: Graph, saved: SavedTensor) -> str:
    """Tell of one saved tensor what it is, at which version, and what has become of it."""
    tensor, what = graph.tensor.get(saved.tensor_id), saved.attribute
    if tensor and tensor.name and tensor.name != what:
        what = say("label.given_name", attribute=what, name=tensor.name)
    what = with_version(what, saved.saved_version)
    return say("text.saved_state", saved=what, state=say(f"saved.{saved.state.name.lower()}"))


# --- the other sections ---------------------------------------------------------------------------


def cut_text(graph: Graph, cut: Cut) -> str:
    """Tell one cut: what it separates, why, and where it stands in the code. A frozen leaf is not
    cut off."""
    words, call = Words(graph, TEXT_LIMIT), graph.call.get(cut.call_id)
    at = call.source if call else None
    fields = {"source": words.name(cut.input_id), "reason": reason_of(cut)}
    if cut.reason is CutReason.FLAG_OFF:
        leaf = Facts.of(graph).latest_state[graph.tensor[cut.input_id].object_id]
        then = say("text.on_again" if leaf.requires_grad else "text.no_gradient_later")
        if at and at.code:
            text = say("text.frozen_by", code=words.code(call), then=then, **fields)
        else:
            text = say("text.frozen", then=then, **fields)
    elif at and at.code:
        result = words.name(cut.output_id)
        text = say("text.cut_by", result=result, code=words.code(call), **fields)
    else:
        text = say("text.cut", result=words.name(cut.output_id), **fields)
    return say("text.at_line", line=at.line, text=text) if at else text


def _boxes(scene: Scene, kind: str) -> Iterator[str]:
    """Tell which cards the frames of one kind hold."""
    titles = _titles(scene)
    for box in scene.boxes:
        if box.kind == kind:
            yield say("text.box", cards=[titles[m] for m in box.members], label=box.label)


def _backwards(graph: Graph) -> Iterator[str]:
    """Tell what every backward did, and what it raised."""
    raised = Facts.of(graph).error_of_call
    for run in graph.backwards:
        for line in _run(graph, run):
            yield say("text.run", run=run.run + 1, line=line)
        if run.call_id in raised:
            yield say("text.run_raised", run=run.run + 1, error=error_text(raised[run.call_id]))


def _raised(graph: Graph) -> Iterator[str]:
    """Tell the calls that raised, backward apart."""
    facts = Facts.of(graph)
    for event in facts.errors:
        if event.call_id not in facts.backward_calls:
            call = graph.call.get(event.call_id)
            what = _with_line(code_of(call), call) if call else say("label.call")
            yield say("text.raised", call=what, error=error_text(event))


def _run(graph: Graph, run: Backward) -> Iterator[str]:
    """Tell what one backward did, a line each."""
    call = graph.call.get(run.call_id)
    code = call.source.code if call and call.source else None
    what = _with_line(code or say("label.called", function=run.kind), call)
    if not run.watched:
        yield say("text.not_watched", call=what)
    elif run.ran:
        yield say("text.nodes_ran", call=what, nodes=names(graph, list(run.ran)))
    else:
        yield say("text.no_node_ran", call=what)
    for tensor_id, value in run.returned if run.watched else ():
        name = Words(graph, TEXT_LIMIT).name(tensor_id)
        yield say("text.returned", value=value, name=name)


def _with_line(code: str, call: Call | None) -> str:
    """Return code, and the line in which it stands."""
    at = call.source if call else None
    return say("label.in_line", code=code, line=at.line) if at else code


# --- alt text -------------------------------------------------------------------------------------


def alt(graph: Graph, scene: Scene, title: str | None = None) -> str:
    """Tell the picture in one or two sentences, for screen readers."""
    is_nodes = any(c.kind == "node" for c in scene.cards)
    head = visible(title) if title else say("text.alt_nodes" if is_nodes else "text.alt_cards")
    first = _alt_cards(head, [c for c in scene.cards if c.kind not in ("tag", "accumulate")])
    facts = _notes(graph, of_loops=True)[:1]
    facts += [visible(_alt_cut(graph, cut), 80) for cut in graph.cuts[:2]]
    facts += [
        say("text.alt_grad", name=t.name, grad=visible(t.grad, 60))
        for t in _leaves_with_grad(graph)[:3]
    ]
    facts += [say("text.alt_error", error=e.error) for e in Facts.of(graph).errors[:1]]
    if not facts:
        return first
    listed = reduce(lambda a, b: say("text.alt_and", first=a, second=b), facts)
    return say("text.alt_facts", picture=first, facts=listed)


def _alt_cards(head: str, cards: list[Card]) -> str:
    """Return how many boxes there are, and what the first of them are called."""
    if not cards:
        return say("text.alt_nothing", title=head)
    shown = enumerated([visible(c.name or c.title, 40) for c in cards[:SHOWN]])
    if len(cards) <= SHOWN:
        return say("text.alt", title=head, boxes=cards, shown=shown)
    return say("text.alt_more", title=head, boxes=cards, shown=shown, more=len(cards) - SHOWN)


def _alt_cut(graph: Graph, cut: Cut) -> str:
    """Return one cut without the code that made it."""
    words, reason = Words(graph), reason_of(cut)
    source, call = words.name(cut.input_id), graph.call.get(cut.call_id)
    if cut.reason is CutReason.FLAG_OFF:
        text = say("text.alt_frozen", source=source, reason=reason)
    else:
        result = words.name(cut.output_id)
        text = say("text.alt_cut", source=source, result=result, reason=reason)
    at = call.source if call else None
    return say("text.at_line", line=at.line, text=text) if at else text


def _leaves_with_grad(graph: Graph) -> list[Tensor]:
    """List the named leaves that have a ``.grad``."""
    states = Facts.of(graph).latest_state.values()
    return [t for t in states if t.is_leaf and t.name and t.grad is not None]
