"""Recording -> one picture and one sentence per event, with everything in the same place at every
step.

The scenes of all steps are laid over each other: one card for whatever is the same tensor, node or
call, in a box that is large enough for each of its steps. That is laid out once, and a step draws
what is there by then.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Accumulated, Changed, Freed, Graph, Hooked, NodeRan, Source, Wrote
from gradviz.live.reading import as_read
from gradviz.picture import cards, fold, own_looks, render
from gradviz.picture.arrange import arranged
from gradviz.picture.figure import WIDTH, Figure
from gradviz.picture.scene import Box, Card, Row, Scene
from gradviz.picture.telling import Story
from gradviz.picture.together import laid_over, rooms_of, whole_of
from gradviz.words.progress import Progress
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.recording import Recording

LIMIT = 400  # steps of one player
# in a long recording, as many fewer steps as each one costs more, but some
WORK, LEAST = 100_000, 20


class Step(NamedTuple):
    """One moment of a recording.

    Attributes:
        number: how many events there were by then.
        figure: the picture of them.
        problem: why there is no picture, or "".
        sentence: what the last event did.
        error: what it raised, or "".
        sources: where in the code it stands.
        active: ids in the SVG of what the event is about.
        ids: by the id of a card or arrow of the figure's scene, its id in the SVG, which is the
            same at every step.
        alike: what is drawn, in the terms of all steps.
    """

    number: int
    figure: Figure
    problem: str
    sentence: str
    error: str
    sources: tuple[Source, ...]
    active: tuple[str, ...]
    ids: dict[str, str]
    alike: Scene


def steps(recording: Recording, start: int = 0) -> list[Step]:
    """Return every step from ``start``, at most ``LIMIT`` events further, and fewer where each one
    is large.

    Args:
        recording: a finished recording.
        start: after how many events the first step stands.

    Raises:
        GradvizError: there is no such step.

    Example:
        >>> import torch, gradviz
        >>> with gradviz.record() as rec:
        ...     b = torch.ones(2, requires_grad=True).clone()
        >>> [step.number for step in steps(rec)]
        [0, 1, 2]
    """
    recording.at(start)  # or it says what is wrong with it
    last = last_number(recording, start)
    last_events = {
        e.run: k
        for k, e in enumerate(recording.events)
        if isinstance(e, (Changed, NodeRan, Accumulated, Freed))
    }
    graphs, wholes, total = [], [], last + 1 - start
    with Progress(lambda done: say("progress.steps_read", done=done, total=total)) as progress:
        for k in range(start, last + 1):
            graph = graph_at(recording, k)
            running = any(last_events.get(b.run, 0) >= k for b in graph.backwards)
            graphs.append(graph)
            wholes.append(_so_far(cards.scene(graph), running))
            progress.step()
    scenes = _drawn_alike(wholes, graphs[-1])
    svgs, problem = _svgs(scenes)
    drawn_steps = []
    for k, (graph, whole, scene) in enumerate(zip(graphs, wholes, scenes, strict=True)):
        figure = Figure(graph, fold=False)
        ids: dict[str, str] = {}
        figure.__dict__["whole"] = whole
        if svgs:
            figure.__dict__["svg"] = svgs[k]
            figure.__dict__["scene"], ids = _present(scene)
        elif problem:
            figure.__dict__["scene"] = Scene()
        story = Story(graph)
        active = _active(graph, scene, scenes[k - 1]) if k and svgs else ()
        drawn_steps.append(
            Step(
                start + k,
                figure,
                problem,
                story.sentence(),
                story.error(),
                story.sources(),
                active,
                ids,
                scene,
            )
        )
    return drawn_steps


def last_number(recording: Recording, start: int = 0) -> int:
    """Return after how many events the last step stands that a player from ``start`` shows."""
    last = min(start + LIMIT, len(recording.events))
    return min(last, start + max(LEAST, WORK // max(last, 1)))


def in_width(steps: Sequence[Step], width: int) -> list[str]:
    """Return the picture of each step in a place of this width, or none where there are no others
    than they have."""
    if "svg" not in steps[-1].figure.__dict__:
        return []
    return _svgs([step.alike for step in steps], width)[0] or []


def graph_at(recording: Recording, step: int) -> Graph:
    """Return the graph after ``step`` events, with the ``.grad`` that a running backward has filled
    already; its leaves get a new state when it is over.

    Raises:
        GradvizError: there is no such step.
    """
    graph = as_read(recording, recording.at(step))
    facts = Facts.of(graph)
    grads = facts.grads_now
    filled = {
        t.id: t._replace(grad=grads[t.object_id])
        for t in facts.latest_state.values()
        if t.grad != grads[t.object_id]
    }
    return graph.replace(tensors=[filled.get(t.id, t) for t in graph.tensors]) if filled else graph


def _so_far(scene: Scene, running: bool) -> Scene:
    """Return a scene that says "not reached yet" for "never reached" while a backward runs."""
    if not running:
        return scene
    never = Row("accumulate", say("row.never_reached"))
    yet = Row("accumulate", say("row.not_reached_yet"))
    return scene._replace(
        cards=tuple(
            c._replace(rows=tuple(yet if r == never else r for r in c.rows)) for c in scene.cards
        )
    )


# --- one scene over the other ---------------------------------------------------------------------


def _drawn_alike(scenes: Sequence[Scene], graph: Graph) -> list[Scene]:
    """Return the scenes with the same cards, arrows and frames; what a step lacks is absent
    there."""
    union, padded = laid_over(_placed(scenes))
    groups = fold.groups(union, graph)
    if groups:
        union = fold.contract(union, groups)
        padded = [_with_fold_note(fold.contract(s, groups), s) for s in padded]
    alike = [arranged(scene, like=union) for scene in padded]
    room = rooms_of(alike)
    return [s._replace(cards=tuple(c._replace(room=room[c.id]) for c in s.cards)) for s in alike]


def _with_fold_note(small: Scene, whole: Scene) -> Scene:
    """Return a folded scene with a note that says so, where fewer boxes are there than cards."""
    many, few = (sum(not c.absent for c in scene.cards) for scene in (whole, small))
    note = say("card.note_folded", cards=many, boxes=few)
    return small._replace(notes=(*small.notes, *([note] if many > few else [])))


def _placed(scenes: Sequence[Scene]) -> list[Scene]:
    """Return the scenes with the same id for whatever is the same tensor, node or call."""
    owner: dict[tuple[str, int], int] = {}
    count = 0
    renumbered = []
    for scene in reversed(scenes):
        new_ids: dict[int, int] = {}
        for card in scene.cards:
            things = [
                *(("tensor", i) for i in card.tensor_ids),
                *(("node", i) for i in card.node_ids),
            ]
            things = things or [(card.kind, i) for i in card.call_ids]
            free = (owner[t] for t in things if t in owner and owner[t] not in new_ids.values())
            new_ids[card.id] = next(free, count)
            count = max(count, new_ids[card.id] + 1)
            for thing in things:
                owner.setdefault(thing, new_ids[card.id])
        renumbered.append(scene.numbered(new_ids))
    return renumbered[::-1]


# --- pictures -------------------------------------------------------------------------------------


def _svgs(scenes: Sequence[Scene], width: int = WIDTH) -> tuple[list[str] | None, str]:
    """Return one SVG a step, or None where each step has to be laid out for itself, and why there
    is none."""
    if not render.keeps_places() or not scenes[-1].cards:
        return None, ""
    if len(scenes[-1].cards) > fold.LIMIT:
        return None, say("picture.too_many_steps", n=len(scenes[-1].cards))
    whole = whole_of(scenes)
    try:
        source, how, _ = render.best(whole, width)
        pieces = [own_looks.pieces(scene, how) for scene in scenes]
        start, drawn, end = render.pieces(source, (piece for step in pieces for piece in step))
    except render.CannotDraw as why:
        return None, str(why)
    return [start + "".join(drawn.get(piece, "") for piece in step) + end for step in pieces], ""


def _present(scene: Scene) -> tuple[Scene, dict[str, str]]:
    """Return what is not absent, numbered anew; and by its new id the one in the picture of all
    steps."""
    cards = [card for card in scene.cards if not card.absent]
    arrow_places = [i for i, arrow in enumerate(scene.arrows) if not arrow.absent]
    new_ids = {card.id: i for i, card in enumerate(cards)}
    present = Scene(
        tuple(card._replace(room=()) for card in cards),
        tuple(scene.arrows[i] for i in arrow_places),
        _present_frames(scene, new_ids),
        scene.notes,
    ).numbered(new_ids)
    svg_ids = {f"n{new}": f"n{old}" for old, new in new_ids.items()}
    svg_ids |= {f"e{new}": f"e{old}" for new, old in enumerate(arrow_places)}
    return present, svg_ids


def _present_frames(scene: Scene, present: Container[int]) -> tuple[Box, ...]:
    """Return the frames that are not absent, around those of their cards that are there."""
    return tuple(
        box._replace(members=tuple(i for i in box.members if i in present))
        for box in scene.boxes
        if not box.absent
    )


class _Subjects(NamedTuple):
    """The ids of what an event is about."""

    node_ids: frozenset[int] = frozenset()
    tensor_ids: frozenset[int] = frozenset()
    call_ids: frozenset[int] = frozenset()

    def have(self, card: Card) -> bool:
        """Tell whether a card stands for one of them."""
        if not self.tensor_ids.isdisjoint(card.tensor_ids):
            return True
        if not self.node_ids.isdisjoint(card.node_ids):
            return True
        return not card.tensor_ids and not self.call_ids.isdisjoint(card.call_ids)


def _active(graph: Graph, scene: Scene, before: Scene) -> tuple[str, ...]:
    """Return the SVG ids of what the last event is about: its cards, and the arrows that it
    changed."""
    subjects = _last_subjects(graph)
    active = [f"n{card.id}" for card in scene.cards if _shows_any(card, subjects)]
    for i, (arrow, earlier) in enumerate(zip(scene.arrows, before.arrows, strict=True)):
        if arrow != earlier and not arrow.absent:
            active.append(f"e{i}")
    return tuple(active)


def _last_subjects(graph: Graph) -> _Subjects:
    """Return what the last event of a graph is about."""
    event = graph.events[-1]
    if isinstance(event, (Changed, NodeRan, Accumulated)):
        return _Subjects(node_ids=frozenset([event.node_id]))
    if isinstance(event, Freed):
        return _Subjects(node_ids=frozenset(event.node_ids))
    if isinstance(event, Wrote):
        return _Subjects(tensor_ids=frozenset([event.after_id]))
    if isinstance(event, Hooked):
        return _Subjects(tensor_ids=frozenset([event.tensor_id]))
    call = graph.call[event.call_id]
    tensor_ids = frozenset(call.outputs or call.inputs[:1])
    return _Subjects(tensor_ids=tensor_ids, call_ids=frozenset([call.id]))


def _shows_any(card: Card, subjects: _Subjects) -> bool:
    """Tell whether a card, or one folded into it, stands for what an event is about."""
    if card.absent or card.kind == "tag":
        return False
    return any(subjects.have(part) for part in card.inside or (card,))
