"""The picture in words. It alone tells the whole story, and says the same for the same code in
every process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.graph.facts import Facts, How, code_of
from gradviz.graph.records import (
    Backward,
    Cut,
    CutReason,
    Graph,
    NodeKind,
    SavedTensor,
    Tensor,
)
from gradviz.picture.rows import error_text, names
from gradviz.picture.scene import LINES, Arrow, Card, Scene, describe
from gradviz.words.notes import note_text
from gradviz.words.plain import visible

EMPTY = "An empty graph: no tensor, no node."


def text(graph: Graph, scene: Scene, title: str | None = None) -> str:
    """Everything that the picture shows and what it has no room for, in a fixed order.

    Args:
        graph: where saved tensors, runs and notes are looked up.
        scene: the unfolded scene of the same graph.
        title: a first line.

    Returns:
        Lines without a newline at the end; no object ids, no machine paths.
    """
    sections = [
        [visible(title)] if title else [],
        _cards(graph, scene),
        _section("cut:", (cut_text(graph, cut) for cut in Facts.of(graph).real_cuts)),
        _section("frozen:", (cut_text(graph, cut) for cut in Facts.of(graph).frozen_leaves)),
        _section("memory:", _boxes(scene, "memory")),
        _section("not recorded:", _boxes(scene, "region")),
        _section("backward", _backwards(graph)),
        _section("raised:", _raised(graph)),
        _section("note:", map(note_text, graph.notes)),
    ]
    lines = [line for section in sections for line in section]
    return "\n".join(visible(line, 500) for line in lines) or EMPTY


def _section(head: str, lines: Iterator[str]) -> list[str]:
    return [f"{head} {line}" for line in _some(list(lines))]


def _some(lines: list[str]) -> list[str]:
    if len(lines) <= LINES:
        return lines
    return [*lines[:LINES], f"… and {len(lines) - LINES:,} more, not listed"]


# --- cards ----------------------------------------------------------------------------------------


def _cards(graph: Graph, scene: Scene) -> list[str]:
    into: dict[int, list[Arrow]] = {}
    for a in scene.arrows:
        into.setdefault(a.head, []).append(a)
    titles = _titles(scene)
    lines: list[str] = []
    for card in scene.cards[:LINES]:
        lines.append(card.title)
        lines += [f"    {'then ' if row.kind == 'code' else ''}{row.text}" for row in card.rows[1:]]
        lines += [f"    {line}" for line in _reads(into.get(card.id, ()), titles)]
        lines += [f"    {line}" for line in _node_details(graph, card)]
    if len(scene.cards) > LINES:
        lines.append(f"… and {len(scene.cards) - LINES:,} more cards, not listed")
    return lines


def _titles(scene: Scene) -> dict[int, str]:
    return {c.id: c.name or c.title for c in scene.cards}


def _reads(arrows: Iterable[Arrow], titles: dict[int, str]) -> Iterator[str]:
    for a in arrows:
        source = titles[a.tail] + (f" ({a.mark})" if a.mark else "")
        if a.kind == "gradient":
            yield f"from {source} · gradient {a.label} goes back to it"
        elif a.kind == "cut":
            yield f"from {source} · {a.label}"
        elif a.kind == "raise":
            yield f"from {source} · {a.label}: no gradient goes back to it"
        elif a.kind == "edge":
            yield (
                f"its gradient edge leads to {source}"
                if not a.label
                else f"sends {a.label} to {source}"
            )
        elif a.kind == "of":
            yield f"{a.label} of {source}" if a.label else f"belongs to {source}"
        else:
            yield f"from {source}"


def _node_details(graph: Graph, card: Card) -> Iterator[str]:
    """What the nodes of a card saved, and the slots of theirs that lead nowhere."""
    for node in (graph.node[n] for n in Facts.of(graph).gradient_order(card.node_ids)):
        saved = [saved_text(graph, s) for s in node.saved]
        if saved:
            yield f"{node.name} saved {', '.join(saved)}"
        edges = graph.edges_from.get(node.id, ())
        empty = [str(e.next_index) for e in edges if e.next_node_id is None]
        if empty and card.kind == "node":
            yield f"{node.name} next_functions {', '.join(empty)}: None, no gradient needed there"
        if node.stub and node.kind is not NodeKind.ACCUMULATE_GRAD:
            yield f"{node.name} was made earlier; what is behind it is not listed"


def saved_text(graph: Graph, saved: SavedTensor) -> str:
    """One saved tensor: what it is, at which version, and what has become of it."""
    tensor = graph.tensor.get(saved.tensor_id)
    named = tensor and tensor.name and tensor.name != saved.attribute
    what = f"{saved.attribute} = {tensor.name}" if tensor and named else saved.attribute
    at = "" if saved.saved_version is None else f" at version {saved.saved_version}"
    return f"{what}{at} ({saved.state.value})"


# --- the other sections ---------------------------------------------------------------------------


def _name(graph: Graph, tensor_id: int | None) -> str:
    label = Facts.of(graph).label(tensor_id)
    if label.tensor is None:
        return "a value outside of torch"
    if label.how is How.NAMED:
        return label.name
    source = label.given_by.source if label.given_by else None
    return str(source.code) if source else f"a tensor ({describe(label.tensor)})"


def cut_text(graph: Graph, cut: Cut) -> str:
    """One cut in words: what it separates, why, and where it stands in the code. A frozen leaf is
    not cut off."""
    call = graph.call.get(cut.call_id)
    where = f"line {call.source.line}: " if call and call.source else ""
    by = f" by {call.source.code}" if call and call.source and call.source.code else ""
    source, end = _name(graph, cut.input_id), _name(graph, cut.output_id)
    if cut.reason is CutReason.FLAG_OFF:
        leaf = Facts.of(graph).latest_state[graph.tensor[cut.input_id].object_id]
        then = (
            "switched on again since"
            if leaf.requires_grad
            else "what uses it later brings it no gradient"
        )
        return f"{where}{source} · {cut.reason.value}{by} · {then}"
    return f"{where}{source} ✂ {end} · {cut.reason.value}{by} · no gradient back"


def _boxes(scene: Scene, kind: str) -> Iterator[str]:
    titles = _titles(scene)
    for box in scene.boxes:
        if box.kind == kind:
            yield f"{', '.join(titles[m] for m in box.members)} · {box.label}"


def _backwards(graph: Graph) -> Iterator[str]:
    raised = Facts.of(graph).error_of_call
    for run in graph.backwards:
        for line in _run(graph, run):
            yield f"{run.run + 1} · {line}"
        if run.call_id in raised:
            yield f"{run.run + 1} · raised {error_text(raised[run.call_id])}"


def _raised(graph: Graph) -> Iterator[str]:
    """Calls that raised, backward apart."""
    facts = Facts.of(graph)
    for event in facts.errors:
        if event.call_id not in facts.backward_calls:
            call = graph.call.get(event.call_id)
            where = f" in line {call.source.line}" if call and call.source else ""
            yield f"{code_of(call) if call else 'a call'}{where} · {error_text(event)}"


def _run(graph: Graph, run: Backward) -> Iterator[str]:
    call = graph.call.get(run.call_id)
    said = call.source.code if call and call.source and call.source.code else f"{run.kind}()"
    where = f" in line {call.source.line}" if call and call.source else ""
    if not run.watched:
        yield f"{said}{where} · not watched, so its gradients are not known"
        return
    yield f"{said}{where} · nodes ran: {names(graph, list(run.ran)) or 'none'}"
    for tensor_id, value in run.returned:
        yield f"returned {value} for {_name(graph, tensor_id)}, .grad unchanged"


# --- alt text -------------------------------------------------------------------------------------


def alt(graph: Graph, scene: Scene, title: str | None = None) -> str:
    """The picture in one or two sentences, for screen readers."""
    what = (
        "gradient graph"
        if any(c.kind == "node" for c in scene.cards)
        else "computation and its gradients"
    )
    cards = [c for c in scene.cards if c.kind not in ("tag", "accumulate")]
    shown = ", ".join(visible(c.name or c.title, 40) for c in cards[:8])
    more = f" and {len(cards) - 8} more" if len(cards) > 8 else ""
    first = f"{visible(title) if title else 'Picture of a ' + what}: "
    first += (
        f"{len(cards)} {'box' if len(cards) == 1 else 'boxes'}, {shown}{more}."
        if cards
        else "nothing yet."
    )
    facts = [visible(cut_text(graph, cut).split(" by ")[0], 80) for cut in graph.cuts[:2]]
    facts += [f"{t.name}.grad is {visible(t.grad, 60)}" for t in _leaves_with_grad(graph)[:3]]
    facts += [f"{e.error} is raised" for e in Facts.of(graph).errors[:1]]
    return f"{first} {'; '.join(facts)}." if facts else first


def _leaves_with_grad(graph: Graph) -> list[Tensor]:
    states = Facts.of(graph).latest_state.values()
    return [t for t in states if t.is_leaf and t.name and t.grad is not None]
