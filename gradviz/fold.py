"""Scene -> smaller Scene: several boxes become one, and the picture says which.

Tried in this order, until at most ``LIMIT`` boxes are left: the modules of a model, lines of code that ran again
and again, leaves into the only result that reads them, results in a row. What is still too large is not drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from .frames import with_legend
from .graph import Graph
from .scene import Arrow, Card, Row, Scene

LIMIT = 60  # boxes of one picture
COMFORT, FEW = 30, 6  # a model that is folded at all is folded to about so many boxes, where its modules allow it
LISTED = 5  # kinds of nodes that one folded box names
ONE_LEAF = "1 leaf inside"
AGAIN = 3  # times that a line must have run to be folded

Groups = dict[int, str]  # card id -> what its box is called


def fold(scene: Scene, graph: Graph, limit: int = LIMIT) -> Scene:
    """The scene itself when it is small enough, otherwise one with fewer boxes and a note that says so.

    Args:
        scene: everything.
        graph: for the modules and lines behind the cards.
        limit: boxes that may be drawn. The result can still be larger; then there is no readable picture.
    """
    if len(scene.cards) <= limit:
        return scene
    small = scene
    for groups in _module_groups(scene, graph):
        coarser = _contract(scene, groups) if len(small.cards) > COMFORT else small
        if len(small.cards) > limit or len(coarser.cards) >= FEW:
            small = coarser
    for grouping in (_by_line, _leaves, _leaves, _leaves, _chains):
        if len(small.cards) > limit:
            small = _contract(small, grouping(small, graph))
    note = f"Folded: {len(scene.cards)} boxes are drawn as {len(small.cards)}. The text lists what is inside."
    return with_legend(small._replace(notes=(*scene.notes, note)))


def _module_groups(scene: Scene, graph: Graph) -> Iterator[Groups]:
    """By module path, the innermost modules first."""
    paths = {c.id: path.split(".") for c in scene.cards if c.kind != "tag" and (path := _module(c, graph))}
    for depth in range(max(map(len, paths.values()), default=0), 0, -1):
        yield _with_leaves(scene, {i: ".".join(path[:depth]) for i, path in paths.items()})


def _module(card: Card, graph: Graph) -> str:
    return next((m for m in (graph.call[i].module for i in card.call_ids if i in graph.call) if m), "")


def _with_leaves(scene: Scene, groups: Groups) -> Groups:
    """Leaves go where the only box goes that reads them."""
    readers: dict[int, set[str | None]] = {}
    made = {a.head for a in scene.arrows}
    for a in scene.arrows:
        readers.setdefault(a.tail, set()).add(groups.get(a.head))
    for card in scene.cards:
        found = readers.get(card.id, set())
        if card.id not in made and card.id not in groups and len(found) == 1:
            (group,) = found
            if group is not None:
                groups[card.id] = group
    return groups


def _by_line(scene: Scene, graph: Graph) -> Groups:
    lines: dict[int, tuple[str, int]] = {}
    code: dict[tuple[str, int], str] = {}
    for card in scene.cards:
        source = graph.call[card.call_ids[0]].source if card.call_ids and card.kind not in ("fold", "tag") else None
        if source:
            lines[card.id] = (source.file, source.line)
            code[source.file, source.line] = source.code or ""  # the last call of a line names what the line makes
    times = Counter(lines.values())
    groups = {i: f"line {at[1]}: {code[at]}" for i, at in lines.items() if times[at] >= AGAIN}
    return _with_leaves(scene, groups)


def _leaves(scene: Scene, graph: Graph) -> Groups:
    groups = {a.head: f"n{a.head}" for a in scene.arrows}
    names = {c.id: c.title for c in scene.cards}
    return {i: names[int(g[1:])] + "\0" + g for i, g in _with_leaves(scene, groups).items()}


def _chains(scene: Scene, graph: Graph) -> Groups:
    """Boxes in a row, each read by the next one only; a row with many leaves inside is kept in pieces."""
    after: dict[int, set[int]] = {}
    before: dict[int, set[int]] = {}
    for a in scene.arrows:
        if a.kind != "cut":
            after.setdefault(a.tail, set()).add(a.head)
            before.setdefault(a.head, set()).add(a.tail)
    with_leaves = {c.id for c in scene.cards if any("leaves inside" in r.text or r.text == ONE_LEAF for r in c.rows)}
    piece = -(-len(with_leaves) * 2 // LIMIT)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    held: Counter[int] = Counter()
    for card in sorted(scene.cards, key=_depth(scene, before)):
        above = list(before.get(card.id, ()))
        start = first.get(above[0], card.id) if len(above) == 1 and len(after[above[0]]) == 1 else card.id
        if card.id in with_leaves and held[start] >= piece:
            start = card.id
        first[card.id], last[start] = start, card.id
        held[start] += card.id in with_leaves
    titles = {c.id: c.title for c in scene.cards}
    return {i: titles[f] + (f" … {titles[last[f]]}" if last[f] != f else "") + f"\0{f}" for i, f in first.items()}


def _depth(scene: Scene, before: dict[int, set[int]]) -> Callable[[Card], tuple[int, int]]:
    """Sort key: what a card was made from comes before it, whatever the numbers of the cards are."""
    depth: dict[int, int] = {}
    for card in scene.cards:
        todo = [card.id]
        while todo:
            one = todo[-1]
            waiting = [b for b in before.get(one, ()) if b not in depth and b not in todo]
            if waiting:
                todo += waiting[:1]
            else:
                depth[one] = 1 + max((depth.get(b, 0) for b in before.get(one, ())), default=0)
                todo.pop()
    return lambda card: (depth[card.id], card.id)


# --- making one box of several ----------------------------------------------------------------------------------------


def _contract(scene: Scene, groups: Groups) -> Scene:
    members: dict[str, list[Card]] = {}
    for card in scene.cards:
        members.setdefault(groups.get(card.id, f"\0{card.id}"), []).append(card)
    place: dict[int, int] = {}
    folded: set[int] = set()
    cards = []
    for number, (name, inside) in enumerate(members.items()):
        place |= {c.id: number for c in inside}
        folded |= {c.id for c in inside if len(inside) > 1 and c.kind == "tag"}
        cards.append(inside[0]._replace(id=number) if len(inside) == 1 else _folded(number, name, inside))
    boxes = []
    for box in scene.boxes:
        ids = tuple(dict.fromkeys(place[m] for m in box.members))
        if len(ids) > 1 and not any(cards[i].kind == "fold" for i in ids):
            boxes.append(box._replace(members=ids))
    # a tag inside a box could not be seen: its arrow starts at the leaf again
    leaves = {(c.tensor_ids, c.node_ids): c.id for c in scene.cards if c.kind != "tag"}
    tags = {c.id: leaves.get((c.tensor_ids, c.node_ids), c.id) for c in scene.cards if c.id in folded}
    arrows = [a._replace(tail=tags.get(a.tail, a.tail)) for a in scene.arrows]
    return scene._replace(cards=tuple(cards), arrows=tuple(_arrows(arrows, place)), boxes=tuple(boxes))


def _folded(number: int, name: str, inside: list[Card]) -> Card:
    kinds = Counter(r.text.partition(" · ")[0] for c in inside for r in c.rows if r.kind == "grad_fn")
    kinds += Counter(c.title for c in inside if c.kind == "node")
    listed = [f"{kind} × {n}" if n > 1 else kind for kind, n in kinds.most_common(LISTED)]
    more = [f"… {len(kinds) - LISTED} more kinds"] if len(kinds) > LISTED else []
    earlier = [r for c in inside if c.kind == "fold" for r in c.rows if r.kind == "state" and "inside" not in r.text]
    held = sum(c.kind != "tag" for c in inside)
    rows = [Row("code", name.partition("\0")[0]), Row("state", f"{held} boxes folded")]
    rows += [Row("grad_fn", text) for text in (*listed, *more)] or earlier[:1]
    inner = sum(_leaf_count(c) for c in inside)
    if inner:
        rows.append(Row("state", ONE_LEAF if inner == 1 else f"{inner} leaves inside"))
    rows += [Row("stale", r.text) for c in inside for r in c.rows if r.kind == "stale"][:3]
    return Card(
        number, "fold", tuple(rows), "", "", tuple(t for c in inside for t in c.tensor_ids),
        tuple(n for c in inside for n in c.node_ids), tuple(k for c in inside for k in c.call_ids),
    )  # fmt: skip


def _leaf_count(card: Card) -> int:
    if card.kind == "fold":
        found = [r.text for r in card.rows if r.text.endswith(" inside")]
        return int(found[0].split()[0]) if found else 0
    return int(card.kind == "leaf")


def _arrows(arrows: list[Arrow], place: dict[int, int]) -> Iterator[Arrow]:
    """One arrow between two boxes, except that a cut stays a cut."""
    between: dict[tuple[int, int, bool], list[Arrow]] = {}
    for a in arrows:
        if place[a.tail] != place[a.head]:
            between.setdefault((place[a.tail], place[a.head], a.kind == "cut"), []).append(a)
    for (tail, head, _), same in between.items():
        kinds = [a.kind for a in same]
        kind = next(k for k in ("cut", "raise", "gradient", "edge", "forward", "of") if k in kinds)
        of_kind = [a for a in same if a.kind == kind]
        label = of_kind[0].label
        if len(of_kind) > 1:
            label = f"{label} × {len(of_kind)}" if kind == "cut" else f"{len(of_kind)} gradients" if label else ""
        yield Arrow(tail, head, kind, label, of_kind[0].mark if len(of_kind) == 1 else "")
