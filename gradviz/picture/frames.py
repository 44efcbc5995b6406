"""Frames around cards: who shares memory, and what ran without recording."""

from __future__ import annotations

from collections import Counter

from gradviz.graph.records import Call, Graph
from gradviz.picture.scene import Box, Card, Row
from gradviz.words.speech import say


def boxes(graph: Graph, cards: list[Card]) -> tuple[tuple[Box, ...], list[Card]]:
    """Return the frames of a picture, and the cards.

    Frames must be nested or apart. Where a shaded region would cut through a memory frame, the
    region is not drawn and its cards say in words what it would have said.
    """
    memory = _memory(graph, cards)
    frames, cards = list(memory), list(cards)
    frame = {i: set(box.members) for box in memory for i in box.members}
    for mode, region in _regions(graph, cards):
        inside = set(region.members)
        near = {id(frame[i]): frame[i] for i in inside if i in frame}
        if all(inside <= other or other <= inside for other in near.values()):
            frames.append(region)
            continue
        words = Row("untracked", say("card.made_under", mode=mode))
        for i in inside:
            cards[i] = cards[i]._replace(rows=(*cards[i].rows, words))
    return tuple(frames), cards


def _memory(graph: Graph, cards: list[Card]) -> list[Box]:
    """Return a frame for each block of memory that several objects share."""
    groups: dict[int, list[Card]] = {}
    for card in cards:
        storage = graph.tensor[card.tensor_ids[-1]].storage_id if card.tensor_ids else None
        if storage is not None:
            groups.setdefault(storage, []).append(card)
    # two cards of one name: it has moved on from one of them
    times = Counter(c.name for c in cards)
    frames = []
    for members in groups.values():
        if len({graph.tensor[c.tensor_ids[-1]].object_id for c in members}) < 2:
            continue
        ids = tuple(c.id for c in members)
        are_names = all(times[c.name] == 1 and _has_own_name(graph, c) for c in members)
        label = say("card.memory_names" if are_names else "card.memory_tensors", n=ids)
        frames.append(Box("memory", label, ids))
    return frames


def _has_own_name(graph: Graph, card: Card) -> bool:
    """Tell whether a card is called by a variable that is still its tensor."""
    former = graph.tensor[card.tensor_ids[-1]].former
    return bool(card.name) and (former is None or former.line is None)


def _regions(graph: Graph, cards: list[Card]) -> list[tuple[str, Box]]:
    """Return the runs of calls with gradient recording switched off, each with its mode."""
    mode, run_of, run = "", dict[int, int](), 0
    modes: dict[int, str] = {}  # by run
    for call in graph.calls:
        if _mode(call) != mode:
            mode, run = _mode(call), run + 1
        run_of[call.id] = run
        modes[run] = mode
    members: dict[int, list[int]] = {}
    for card in cards:
        made = graph.call[card.call_ids[0]] if card.call_ids else None
        if made and modes[run_of[made.id]] and _stands_in_region(card, made):
            members.setdefault(run_of[made.id], []).append(card.id)
    return [
        (
            modes[run],
            Box("region", say("card.not_recorded", mode=modes[run]), tuple(ids), mode=modes[run]),
        )
        for run, ids in members.items()
    ]


def _stands_in_region(card: Card, made: Call) -> bool:
    """Tell whether a card was made by a call of a run, and not only registered a hook in it."""
    # the card is older than the hook on it
    hook = made.function.startswith("register_")
    return not (made.bookkeeping or hook) and card.kind != "leaf"


def _mode(call: Call) -> str:
    """Return the mode in which a call recorded nothing, or ""."""
    if call.inference_mode:
        return "inference_mode"
    return "" if call.grad_mode else "no_grad"
