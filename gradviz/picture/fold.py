"""Scene -> smaller Scene: several boxes become one, and the picture says which.

Tried in this order, until at most ``LIMIT`` boxes are left: the modules of a model, lines of code
that ran again and again, leaves into the only result that reads them, results in a row, and at last
stretches of whatever follows each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradviz.graph.facts import after_all, grouped
from gradviz.graph.records import Graph
from gradviz.picture.arrange import arranged
from gradviz.picture.scene import LINES, Arrow, Card, Row, Scene
from gradviz.words.speech import say

LIMIT = 60  # boxes of one picture
# a model that is folded at all is folded to about so many boxes, where its modules allow it
COMFORT, FEW = 30, 6
LISTED = 5  # kinds of nodes that one folded box names
# which of several arrows is drawn
STRENGTH = ("cut", "raise", "gradient", "zeros", "edge", "forward", "of")
MANY = 5_000  # boxes, of which rows are folded first: each other way goes through all of them
AGAIN = 3  # times that a line must have run to be folded

# card id -> what its box is called; what follows a NUL tells boxes of one name apart
Groups = dict[int, str]


def fold(scene: Scene, graph: Graph, limit: int = LIMIT) -> Scene:
    """Return the scene itself when it is small enough, otherwise one with fewer boxes and a note
    that says so.

    Args:
        scene: everything.
        graph: for the modules and lines behind the cards.
        limit: boxes that may be drawn. The result can still be larger; then there is no readable
            picture.
    """
    if fits(scene, limit):
        return scene
    small = scene
    for groups in _module_groups(scene, graph):
        coarser = contract(scene, groups) if len(small.cards) > COMFORT else small
        if not fits(small, limit) or len(coarser.cards) >= FEW:
            small = coarser
    rows_first = (_chains,) if len(small.cards) > MANY else ()
    for grouping in (*rows_first, _by_line, _leaves, _leaves, _leaves, _chains):
        if not fits(small, limit):
            small = contract(small, grouping(small, graph))
    if not fits(small, limit):
        small = contract(small, _stretches(small, limit // 4))
    note = (
        say("card.note_folded", cards=len(scene.cards), boxes=len(small.cards))
        if len(scene.cards) <= LINES
        else say("card.note_folded_first", cards=len(scene.cards), boxes=len(small.cards), n=LINES)
    )
    return small._replace(notes=(*scene.notes, note))


def groups(scene: Scene, graph: Graph) -> Groups:
    """Return what ``fold`` makes one box of, for ``contract``; empty where nothing is folded."""
    numbered = scene._replace(cards=tuple(c._replace(detail=str(c.id)) for c in scene.cards))
    small = fold(numbered, graph).cards
    return {int(m.detail): f"{c.title}\0{c.id}" for c in small for m in c.inside}


def fits(scene: Scene, limit: int = LIMIT) -> bool:
    """Tell whether a scene can be drawn in so many boxes."""
    return len(scene.cards) <= limit and len(arranged(scene).cards) <= limit


def _module_groups(scene: Scene, graph: Graph) -> Iterator[Groups]:
    """Group by module path, the innermost modules first."""
    modules = {i: call.module for i, call in graph.call.items() if call.module}
    paths = {
        c.id: modules[i].split(".") for c in scene.cards for i in c.call_ids[:1] if i in modules
    }
    for depth in range(max(map(len, paths.values()), default=0), 0, -1):
        yield _with_leaves(scene, {i: ".".join(path[:depth]) for i, path in paths.items()})


def _with_leaves(scene: Scene, groups: Groups) -> Groups:
    """Add leaves to the group of the only box that reads them."""
    readers: dict[int, set[str | None]] = {}
    for a in scene.arrows:
        readers.setdefault(a.tail, set()).add(groups.get(a.head))
    for i in readers.keys() - {a.head for a in scene.arrows} - groups.keys():
        group, *others = readers[i]
        if group is not None and not others:
            groups[i] = group
    return groups


def _by_line(scene: Scene, graph: Graph) -> Groups:
    """Group what one line made again and again; leaves and the last root stay outside."""
    ends = {n for run in graph.backwards[-1:] for n in run.roots}
    lines: dict[int, tuple[str, int]] = {}
    code: dict[tuple[str, int], str] = {}
    for card in scene.cards:
        source = graph.call[card.call_ids[0]].source if card.call_ids and not card.inside else None
        if (
            source
            and card.kind != "leaf"
            and not (ends & {*card.node_ids} or {*graph.roots[-1:]} & {*card.tensor_ids})
        ):
            lines[card.id] = (source.file, source.line)
            # the last call of a line names what the line makes
            code[source.file, source.line] = source.code or ""
    times = Counter(lines.values())
    return {
        i: f"{say('card.line_of_code', line=at[1], code=code[at])}\0{at[0]}"
        for i, at in lines.items()
        if times[at] >= AGAIN
    }


def _leaves(scene: Scene, graph: Graph) -> Groups:
    """Group leaves with the only card that reads them."""
    titles = {c.id: c.title for c in scene.cards}
    return _with_leaves(scene, {a.head: f"{titles[a.head]}\0{a.head}" for a in scene.arrows})


def _chains(scene: Scene, graph: Graph) -> Groups:
    """Group boxes in a row, each read by the next one only; a row with many leaves inside is kept
    in pieces."""
    first = _first_of_rows(scene)
    last = {start: card for card, start in first.items()}
    titles = {c.id: c.title for c in scene.cards}
    names = {start: _row_name(titles, start, end) for start, end in last.items()}
    return {card: f"{names[start]}\0{start}" for card, start in first.items()}


def _first_of_rows(scene: Scene) -> dict[int, int]:
    """Return, by card, where the row begins that it stands in, each card after what it reads."""
    uses = [(a.tail, a.head) for a in scene.arrows if a.kind != "cut"]
    sources = grouped((head, tail) for tail, head in uses)
    readers = {tail: set(heads) for tail, heads in grouped(uses).items()}
    with_leaves = {c.id for c in scene.cards if any(m.kind == "leaf" for m in c.inside)}
    piece = -(-len(with_leaves) * 2 // LIMIT)
    first: dict[int, int] = {}
    leaves: Counter[int] = Counter()  # how many cards of a row hold leaves, by its first card
    for card in after_all([c.id for c in scene.cards], sources):
        source = _only_source(card, sources, readers)
        start = card if source is None else first.get(source, card)
        if card in with_leaves and leaves[start] >= piece:
            start = card
        first[card] = start
        leaves[start] += card in with_leaves
    return first


def _row_name(titles: dict[int, str], start: int, end: int) -> str:
    """Return what a row of boxes is called, by the first and the last one."""
    first, last = titles[start], titles[end]
    return first if start == end else say("card.from_to", first=first, last=last)


def _only_source(
    card: int, sources: dict[int, list[int]], readers: dict[int, set[int]]
) -> int | None:
    """Return the only card that a card reads, where nothing else reads that one."""
    above = set(sources.get(card, ()))
    if len(above) != 1:
        return None
    source = above.pop()
    return source if len(readers[source]) == 1 else None


def _stretches(scene: Scene, n: int) -> Groups:
    """Group boxes, in an order in which each stands after what it reads, into so many stretches.
    So no way leads from one back to one before it."""
    sources = grouped((a.head, a.tail) for a in scene.arrows)
    order = after_all([c.id for c in scene.cards], sources)
    long = -(-len(order) // max(n, 1))
    ends = {c.id: (c.members[0].title, c.members[-1].title) for c in scene.cards}
    found: Groups = {}
    for start in range(0, len(order), long):
        cards = order[start : start + long]
        name = say("card.from_to", first=ends[cards[0]][0], last=ends[cards[-1]][1])
        found |= dict.fromkeys(cards, f"{name}\0{start}")
    return found


# --- making one box of several --------------------------------------------------------------------


def contract(scene: Scene, groups: Groups) -> Scene:
    """Return the scene with one box for each group of cards. What is absent takes part, but is not
    told of."""
    members: dict[str | int, list[Card]] = {}
    for card in scene.cards:
        members.setdefault(groups.get(card.id, card.id), []).append(card)
    box_of = {c.id: number for number, inside in enumerate(members.values()) for c in inside}
    cards = [_box(number, name, inside) for number, (name, inside) in enumerate(members.items())]
    boxes = []
    for box in scene.boxes:
        ids = tuple(dict.fromkeys(box_of[m] for m in box.members))
        if len(ids) > 1 and not any(cards[i].inside for i in ids):
            boxes.append(box._replace(members=ids))
    return scene._replace(
        cards=tuple(cards), arrows=tuple(_arrows(scene.arrows, box_of)), boxes=tuple(boxes)
    )


def _box(number: int, name: str | int, members: list[Card]) -> Card:
    """Return the one box of a group, which is a card itself where it is alone."""
    if len(members) > 1:
        return _folded(number, f"{name}".partition("\0")[0], members)
    alone = members[0]
    return alone if alone.id == number else alone._replace(id=number)


def _folded(number: int, name: str, members: list[Card]) -> Card:
    """Return the one box that stands for several cards: its name, and what is inside."""
    members = [c for c in members if not c.absent] or members
    inside = tuple(m for c in members for m in c.members)
    calls = tuple(k for c in members for k in c.call_ids)
    rows = _folded_rows(name, inside)
    return Card(number, "fold", rows, call_ids=calls, inside=inside, absent=members[0].absent)


def _folded_rows(name: str, inside: tuple[Card, ...]) -> tuple[Row, ...]:
    """Return the lines of a box that stands for several cards."""
    leaves = sum(c.kind == "leaf" for c in inside)
    rows = [Row("code", name), Row("state", say("card.folded", n=len(inside)))]
    rows += [Row("grad_fn", text) for text in _kinds_listed(inside)]
    rows += [Row("state", say("card.leaves_inside", n=leaves))] if leaves else []
    rows += [r for c in inside for r in c.rows if r.kind == "stale"][:3]
    return tuple(rows)


def _kinds_listed(inside: tuple[Card, ...]) -> list[str]:
    """Return which kinds of nodes are inside, each with how many there are of it."""
    kinds = Counter(c.grad_fn for c in inside if c.grad_fn)
    kinds += Counter(c.title for c in inside if c.kind == "node")
    most = kinds.most_common(LISTED)
    listed = [say("card.times", what=kind, n=n) if n > 1 else kind for kind, n in most]
    more = len(kinds) - LISTED
    return [*listed, say("card.more_kinds", n=more)] if more > 0 else listed


def _arrows(arrows: tuple[Arrow, ...], box_of: dict[int, int]) -> Iterator[Arrow]:
    """Make one arrow of all between two boxes, except that a cut stays a cut."""
    between: dict[tuple[int, int, bool], list[Arrow]] = {}
    for a in arrows:
        tail, head = box_of[a.tail], box_of[a.head]
        if tail != head:
            between.setdefault((tail, head, a.kind == "cut"), []).append(a)
    for (tail, head, _), every in between.items():
        if len(every) == 1 and every[0][:2] == (tail, head) and not every[0].to_frame:
            yield every[0]
            continue
        present = [a for a in every if not a.absent] or every
        kind = min((a.kind for a in present), key=STRENGTH.index)
        alike = [a for a in present if a.kind == kind]
        first = alike[0]._replace(tail=tail, head=head, to_frame=False, absent=present[0].absent)
        yield first._replace(label=_label_of(alike), mark="") if len(alike) > 1 else first


def _label_of(alike: list[Arrow]) -> str:
    """Return what one arrow says that stands for several of one kind."""
    label = alike[0].label
    if not label:
        return ""
    if alike[0].kind == "cut":
        return say("card.times", what=label, n=len(alike))
    return say("card.gradients", n=len(alike))
