"""What a picture in which a module runs leaves out: it is listed in the table, and says nothing of
gradients."""

from __future__ import annotations

from collections import Counter

from gradviz.graph.records import Graph
from gradviz.picture.scene import Card, Scene

# rows that tell what a tensor is
PLAIN = frozenset({"code", "values", "spread", "state", "untracked"})


def quiet(scene: Scene, graph: Graph) -> Scene:
    """Return a scene without its noise, where a module ran.

    That is: untracked cards that touch nothing else, further outputs of a call that nothing reads,
    and the call of an optimizer's step on every parameter.

    Args:
        scene: unfolded.
        graph: that it shows.
    """
    if not graph.modules:
        return scene
    noise = _untouched(scene) | (_unread(scene) if graph.backwards else set())
    noise -= {card for box in scene.boxes for card in box.members}
    steps = _steps(scene, graph)
    shown = [_without(card, steps) for card in scene.cards if card.id not in noise]
    return scene.only(shown) if shown else scene


def _untouched(scene: Scene) -> set[int]:
    """Return the untracked cards that no arrow touches and that tell of no error."""
    touched = {end for arrow in scene.arrows for end in (arrow.tail, arrow.head)}
    plain = (c for c in scene.cards if all(row.kind in PLAIN for row in c.rows))
    return {card.id for card in plain if card.kind == "untracked"} - touched


def _unread(scene: Scene) -> set[int]:
    """Return the further outputs of calls that nothing reads and no gradient comes from."""
    marked = {arrow.head for arrow in scene.arrows if arrow.mark}
    read = {arrow.tail for arrow in scene.arrows}
    return marked - read - {arrow.head for arrow in scene.arrows if arrow.kind != "forward"}


def _steps(scene: Scene, graph: Graph) -> set[str]:
    """Return the rows that tell one call of torch's own on several leaves: an optimizer's step."""
    own = {call.id for call in graph.calls if call.bookkeeping}
    rows = Counter(
        row.text
        for card in scene.cards
        if card.kind == "leaf" and own.intersection(card.call_ids)
        for row in card.rows[1:]
        if row.kind == "code"
    )
    return {text for text, n in rows.items() if n > 1}


def _without(card: Card, steps: set[str]) -> Card:
    rows = tuple(row for k, row in enumerate(card.rows) if not k or row.text not in steps)
    return card._replace(rows=rows)
