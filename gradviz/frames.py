"""Frames around cards, who shares memory, what ran without recording, and the legend of the signs used."""

from __future__ import annotations

from .graph import Call, Graph
from .scene import Arrow, Box, Card, Row, Scene, count

SIGNS = ("forward", "gradient", "edge", "raise", "cut", "untracked", "memory", "region", "tag", "fold")


def boxes(graph: Graph, cards: list[Card], arrows: list[Arrow]) -> tuple[tuple[Box, ...], list[Card]]:
    """The frames of a picture, and the cards.

    Frames must be nested or apart. Where a shaded region would cut through a memory frame, the region is not
    drawn and its cards say in words what it would have said.
    """
    memory = _memory(graph, cards, arrows)
    found = list(memory)
    for region in _regions(graph, cards):
        inside = set(region.members)
        if all(inside <= set(m.members) or set(m.members) <= inside or not inside & set(m.members) for m in memory):
            found.append(region)
        else:
            word = region.label.partition(":")[0]
            cards = [_with_row(c, Row("untracked", f"made under {word}")) if c.id in inside else c for c in cards]
    return tuple(found), cards


def _with_row(card: Card, row: Row) -> Card:
    return card._replace(rows=(*card.rows, row))


def _memory(graph: Graph, cards: list[Card], arrows: list[Arrow]) -> list[Box]:
    groups: dict[int, list[Card]] = {}
    for card in cards:
        storage = graph.tensor[card.tensor_ids[-1]].storage_id if card.tensor_ids else None
        if storage is not None:
            groups.setdefault(storage, []).append(card)
    found = []
    for members in groups.values():
        if len({graph.tensor[c.tensor_ids[-1]].object_id for c in members}) < 2:
            continue
        word = "name" if all(c.name for c in members) else "tensor"
        ids = tuple(c.id for c in members)
        found.append(Box("memory", f"one block of memory, {count(len(ids), word)}", ids, _flat(ids, arrows)))
    return found


def _flat(ids: tuple[int, ...], arrows: list[Arrow]) -> bool:
    """Two cards with a cut between them, and no other way from one to the other, can stand side by side."""
    if len(ids) != 2 or not any(a.kind == "cut" and (a.tail, a.head) == ids for a in arrows):
        return False
    after: set[int] = set()
    todo = [a.head for a in arrows if a.tail == ids[0] and a.head != ids[1]]
    while todo:
        one = todo.pop()
        if one not in after:
            after.add(one)
            todo += [a.head for a in arrows if a.tail == one]
    return ids[1] not in after


def _regions(graph: Graph, cards: list[Card]) -> list[Box]:
    """Runs of calls with gradient recording switched off."""
    word, run_of, run = "", dict[int, int](), 0
    words: dict[int, str] = {}
    for call in graph.calls:
        if _mode(call) != word:
            word, run = _mode(call), run + 1
        run_of[call.id] = run
        words[run] = word
    members: dict[int, list[int]] = {}
    for card in cards:
        made = graph.call[card.call_ids[0]] if card.call_ids else None
        if made and words[run_of[made.id]] and not made.bookkeeping and card.kind != "leaf":
            members.setdefault(run_of[made.id], []).append(card.id)
    return [Box("region", f"{words[r]}: not recorded", tuple(ids)) for r, ids in members.items()]


def _mode(call: Call) -> str:
    if call.inference_mode:
        return "inference_mode"
    return "" if call.grad_mode else "no_grad"


def with_legend(scene: Scene) -> Scene:
    """The scene with the list of the signs that it uses."""
    used = {a.kind for a in scene.arrows} | {c.kind for c in scene.cards} | {b.kind for b in scene.boxes}
    if used & {"gradient", "raise"}:
        used.add("forward")  # both are drawn beside a forward line
    if "raise" in used:
        used.discard("edge")
    return scene._replace(legend=tuple(sign for sign in SIGNS if sign in used))
