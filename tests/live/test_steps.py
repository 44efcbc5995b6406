"""Every step of a recording: it tells what is true by then, no more and no less, and nothing
moves."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from xml.etree import ElementTree

import programs
import pytest
import torch
from oracle import record_program
from recordings import course
from svg import SVG, read

import gradviz as gv
from gradviz.graph.records import Accumulated, Freed, NodeRan
from gradviz.live import steps
from gradviz.picture import arrange, cards, fold, render
from gradviz.picture.card_tables import VALUE_CHARS
from gradviz.picture.scene import Row, Scene
from gradviz.picture.telling import Story
from gradviz.picture.theme import ROWS
from gradviz.words.plain import shorten


def written() -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.clone()
        v = b.view(2)
        b.mul_(2)
        e = a.detach()
        with torch.no_grad():
            f = a * 2
        (b * v * e * f).sum().backward()
    return rec


def raised() -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.exp()
        loss = b.sum()
        b.add_(1)
        with pytest.raises(RuntimeError):
            loss.backward()
    return rec


def twice() -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        w = torch.ones(2, requires_grad=True)
        for _ in range(2):
            (a * w).sum().backward()
        with torch.no_grad():
            a -= a.grad
        a.grad = None
    return rec


def copied_out() -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        one, two = (a * 3).unbind()
        one.item()
        (grad,) = torch.autograd.grad(one * two, a)
        grad * 2
    return rec


def many_leaves() -> gv.Recording:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(3)]
    with gv.record() as rec:
        x = leaves[0] * 1
        for _ in range(6):
            x = x * leaves[1]
        with torch.no_grad():
            y = leaves[1] + 1
            z = leaves[2] * y
        (x * z).sum().backward()
    return rec


PROGRAMS = [course, written, raised, twice, copied_out, many_leaves]


def bare(text: str) -> str:
    return re.sub(r"\s", "", text)


def shown(svg: str) -> dict[str, str]:
    """What stands on each card, chip and frame of a picture, without the spaces."""
    found: dict[str, str] = {}
    for group in ElementTree.fromstring(svg).iter(SVG + "g"):
        words = bare("".join(t.text or "" for t in group.findall(SVG + "text")))
        if group.get("class") != "graph":
            name = (group.get("id") or "").partition("-")[2]
            assert name not in found
            found[name] = words
    return found


def expected(scene: Scene) -> tuple[list[str], list[str], list[str]]:
    """What cards, arrows and frames of a scene say."""
    rows = [
        "".join(r.drawn if ROWS[r.kind].mono else shorten(r.drawn, VALUE_CHARS) for r in c.rows)
        for c in scene.cards
    ]
    chips = [
        shorten(" · ".join(part for part in (a.mark, a.short or a.label) if part), VALUE_CHARS)
        for a in scene.arrows
    ]
    boxes = [
        "shared memory" if b.kind == "memory" else b.label.replace(", ", "").replace(": ", "")
        for b in scene.boxes
    ]
    return sorted(map(bare, rows)), sorted(map(bare, chips)), sorted(map(bare, boxes))


def said(svg: str) -> tuple[list[str], list[str], list[str]]:
    found = shown(svg)
    frames = [re.sub("[,·:]", "", text) for name, text in found.items() if name.startswith("clust")]
    return (
        sorted(text for name, text in found.items() if name.startswith("n")),
        sorted(
            text.replace("·", "") for name, text in found.items() if re.fullmatch(r"e\d+", name)
        ),
        sorted(frames),
    )


def running(rec: gv.Recording, k: int) -> bool:
    later = {e.run for e in rec.events[k:] if isinstance(e, (NodeRan, Accumulated, Freed))}
    return bool(later & {b.run for b in rec.at(k).backwards})


def truth(rec: gv.Recording, k: int, natural: Scene) -> tuple[list[str], list[str], list[str]]:
    said_of, chips, frames = expected(natural)
    never, yet = "AccumulateGrad·neverreached", "AccumulateGrad·notreachedyet"
    said_of = sorted(text.replace(never, yet) if running(rec, k) else text for text in said_of)
    return said_of, sorted(chip.replace("·", "") for chip in chips), frames


def check(rec: gv.Recording) -> None:
    """All steps tell what the scene of the graph at that step tells."""
    for k, step in enumerate(steps.steps(rec)):
        assert step.problem == ""
        natural = cards.scene(rec.at(k))
        homeless = [
            note
            for note in step.figure.scene.notes
            if note.startswith(("one block", "no_grad", "inference"))
        ]
        cards_said, chips, frames = said(step.figure.svg)
        natural = with_badges(natural, frames)
        cards_true, chips_true, frames_true = truth(rec, k, natural)
        tags = [c for c in step.figure.scene.cards if c.kind == "tag"]
        if tags or any(a.label == "✂" for a in step.figure.scene.arrows):
            continue  # the arrangement of the whole: test_tags_stand_for_what_is_there
        assert same(cards_said, cards_true), (k, cards_said, cards_true)
        assert same(chips, chips_true), (k, chips, chips_true)
        assert len(frames) + len(homeless) == len(frames_true), k
        assert set(frames) <= set(frames_true), k


def with_badges(natural: Scene, frames: list[str]) -> Scene:
    """The scene in which a card that alone is in a region says so itself, where no frame does."""
    kept = [
        b for b in natural.boxes if len(b.members) > 1 or bare(b.label).replace(":", "") in frames
    ]
    badges = {b.members[0]: Row("untracked", "", b.mode) for b in natural.boxes if b not in kept}
    cards = (
        c._replace(rows=(*c.rows, badges[c.id])) if c.id in badges else c for c in natural.cards
    )
    return natural._replace(cards=tuple(cards), boxes=tuple(kept))


def same(drawn: list[str], true: list[str]) -> bool:
    """Whether the texts are those, of which a card may show a beginning and an ellipsis."""
    left = list(true)
    for text in sorted(drawn, key=lambda text: "…" in text):
        pattern = (
            ".*".join(map(re.escape, text.split("…"))) if text not in left else re.escape(text)
        )
        match = next((one for one in left if re.fullmatch(pattern, one)), None)
        if match is None:
            return False
        left.remove(match)
    return not left


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_step_tells_what_is_true_by_then(program) -> None:
    check(program())


@pytest.mark.parametrize("number", range(6))
def test_a_step_of_a_random_program_tells_what_is_true_by_then(number: int) -> None:
    _, rec = record_program(programs.build(programs.statement_seeds(number)), "<program>")
    check(rec)


@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_moves(program) -> None:
    shown = steps.steps(program())
    places: dict[str, set[object]] = {}
    sizes = set()
    for step in shown:
        picture = read(step.figure.svg)
        sizes.add((picture.width, picture.height))
        names = [
            g.get("id", "").partition("-")[2]
            for g in ElementTree.fromstring(step.figure.svg).iter(SVG + "g")
        ]
        for name, group in zip(names, picture.groups, strict=True):
            if group.kind in ("node", "cluster"):
                places.setdefault(name, set()).add(tuple(round(side) for side in group.shapes[0]))
                texts = [text for text in group.texts if group.kind == "node"]
                places.setdefault(f"{name} title", set()).update(
                    round(text.y / 2) for text in texts[:1]
                )
            elif group.lines and name.endswith("f"):
                places.setdefault(name, set()).add(str(group.lines))
    assert len(sizes) == 1
    assert not {name: where for name, where in places.items() if len(where) > 1}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_last_step_tells_the_same_as_the_recording(program) -> None:
    rec = program()
    last = steps.steps(rec)[-1].figure
    assert last.text == rec.figure().text
    assert last.alt == rec.figure().alt
    for ours, theirs in zip(said(last.svg), said(rec.figure().svg), strict=True):
        assert same(ours, theirs) or same(theirs, ours)


def test_the_ids_of_a_figure_lead_to_what_it_shows() -> None:
    for step in steps.steps(written()):
        words = shown(step.figure.svg)
        for card in step.figure.scene.cards:
            assert bare(card.title) in words[step.ids[f"n{card.id}"]]
        assert {*step.ids.values()} == {name for name in words if re.fullmatch(r"[ne]\d+", name)}
        assert {*step.active} <= {*step.ids.values()}


def test_a_tag_stands_for_what_is_there() -> None:
    rec = many_leaves()
    last = steps.steps(rec)[-1].figure
    assert sum(c.kind == "tag" for c in last.scene.cards) > 6
    assert last.scene.cards == rec.figure().scene.cards
    for step in steps.steps(rec):
        scene, graph = step.figure.scene, step.figure.graph
        heads = {a.tail: a.head for a in scene.arrows}
        assert all(c.id in heads for c in scene.cards if c.kind == "tag")
        names = {r.text for c in scene.cards if c.kind == "tag" for r in c.rows}
        assert names <= {t.name or "" for t in graph.tensors} | {
            "leaves[0]",
            "leaves[1]",
            "leaves[2]",
        }


def test_a_frame_that_has_no_place_is_told_in_words() -> None:
    """``a`` shares memory with ``b``, and later with ``c``: frames around both would overlap."""
    with gv.record() as rec:
        a = torch.zeros(2)
        b = a.view(2)
        x = torch.ones(2, requires_grad=True)
        c = x.detach()
        a.data = c
        (b * c * x).sum()
    shown_steps = steps.steps(rec)
    assert all(step.problem == "" for step in shown_steps)
    for k, step in enumerate(shown_steps):
        boxes = cards.scene(rec.at(k)).boxes
        notes = [note for note in step.figure.scene.notes if note.startswith("one block of memory")]
        assert len(step.figure.scene.boxes) + len(notes) == len(boxes)
        assert all(note in step.figure.svg for note in notes)


def test_folded_steps_fold_alike() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        *(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()) for _ in range(20))
    )
    with gv.record() as rec:
        net(torch.ones(1, 2)).sum().backward()
    every = steps.steps(rec)
    assert any(c.inside for c in every[-1].figure.scene.cards)
    folded = fold.fold(cards.scene(rec.graph), rec.graph)
    assert every[-1].figure.scene.cards == arrange.arranged(folded).cards
    some = every[len(every) // 4].figure
    told = {
        i
        for c in some.scene.cards
        for m in c.inside or (c,)
        for i in m.tensor_ids
        if c.kind != "tag"
    }
    assert told <= {t.id for t in some.graph.tensors}
    assert {t for c in cards.scene(some.graph).cards for t in c.tensor_ids} == told
    assert (
        f"{sum(len(c.inside) or 1 for c in some.scene.cards)} boxes are drawn as"
        in some.scene.notes[-1]
    )


def test_what_is_too_large_to_draw_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "LIMIT", 1)
    every = steps.steps(course())
    assert all("record fewer lines" in step.problem for step in every)
    assert every[2].sentence.endswith("made b, whose grad_fn is CloneBackward0.")
    assert "CloneBackward0" in every[-1].figure.text


def test_without_pygraphviz_each_step_is_laid_out_for_itself(
    monkeypatch: pytest.MonkeyPatch, nothing_drawn_yet: None
) -> None:
    rec = course()
    monkeypatch.setattr(render, "keeps_places", lambda: False)
    step = steps.steps(rec)[3]
    assert (step.problem, step.ids) == ("", {})
    assert step.figure.svg == type(step.figure)(step.figure.graph).svg


# --- words ----------------------------------------------------------------------------------------


def sentences(rec: gv.Recording) -> Iterator[str]:
    for step in steps.steps(rec):
        yield re.sub(r"^Line \d+: ", "", step.sentence)


def test_each_event_has_its_sentence() -> None:
    told = list(sentences(course()))
    assert told[0] == "Nothing has happened yet."
    assert "b = copy(a) made b, whose grad_fn is CloneBackward0." in told
    assert "loss.backward() starts at SumBackward0 of loss = (c + d).sum()." in told
    assert (
        "MulBackward0 of c = a * 2 ran: [1, 1, 1] arrived, sent [2, 2, 2] to AccumulateGrad of a."
        in told
    )
    assert "AccumulateGrad of a: arrives [5, 5, 5], was None, stored [5, 5, 5]." in told
    assert (
        "loss.backward() freed what MulBackward0 of c = a * 2 and MulBackward0 of d = b * 3 had"
        " saved." in told
    )
    assert told[-1] == "loss.backward() changed a: .grad None → [5, 5, 5]."


def test_writes_and_cuts_have_their_sentence() -> None:
    told = list(sentences(written()))
    assert "b.mul_(2) changed b: version 0 → 1, grad_fn CloneBackward0 → MulBackward0." in told
    assert "b.mul_(2) changed v, which shares that memory: version 0 → 1." in told
    assert (
        "e = a.detach() made e, not tracked. ✂ detach: no gradient goes back from e to a." in told
    )
    assert "f = a * 2 made f, not tracked. ✂ no_grad: no gradient goes back from f to a." in told


def test_a_view_made_under_no_grad_is_said_to_get_no_gradient() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            b = a.view(2)
    told = list(sentences(rec))[-1]
    assert b.requires_grad
    assert told.startswith(
        "b = a.view(2) made b, which requires grad, and yet no gradient comes to it. ✂ no_grad"
    )


def test_a_write_says_what_it_writes() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.ones(2)
        b.mul_(3)
        b[0] = 7.0
        torch.add(b, 1, out=b)
        b.data = torch.zeros(2)
        b.requires_grad_()
        b.requires_grad = False
        b.requires_grad_(False)
        c = a * 2
        c.retain_grad()
        c.detach_()
        (a * a).sum().backward()
        a.grad = None
    told = list(sentences(rec))
    for said in (
        "b.mul_(3) writes b.",
        "b[0] = 7.0 writes b.",
        "torch.add(b, 1, out=b) writes b.",
        "b.data = torch.zeros(2) writes b.data.",
        "b.requires_grad_() switches requires_grad of b on.",
        (
            "b.requires_grad = False writes b.requires_grad. b is frozen: what uses it later brings"
            " it no gradient."
        ),
        "c.retain_grad() changed c: retains_grad False → True.",
        "c.detach_() switches requires_grad of c off. ✂ detach_: no gradient goes back through c.",
        "a.grad = None writes a.grad.",
    ):
        assert said in told, told
    assert not any(
        re.search(r"changed \w+\.|nothing visible|from (\w+) to \1\b", said) for said in told
    )


@pytest.mark.parametrize("number", range(30))
def test_a_step_says_something_and_stops_once(number: int) -> None:
    program = programs.build(programs.statement_seeds(number), risky=True)
    values = dict(programs.NAMES)
    with gv.record() as rec:
        try:
            for _, code in program.split("<program>"):
                exec(code, values)
        except Exception:
            assert rec.events
    for k in range(len(rec.events) + 1):
        said = Story(steps.graph_at(rec, k)).sentence()
        assert said.endswith(".")
        assert not re.search(r"\.\.$|\. while|[^.]\.\. ", said), said
        assert not re.search(r"changed [\w.]+(?: and [\w.]+)?\.$", said), said


def test_an_error_has_its_sentence() -> None:
    last = [step for step in steps.steps(raised()) if step.error]
    assert len(last) == 1
    assert last[0].error.startswith(
        "RuntimeError: one of the variables needed for gradient computation"
    )
    assert "loss.backward() raised RuntimeError" in last[0].sentence
    assert "while ExpBackward0 of b = a.exp() ran" in last[0].sentence


def test_gradients_accumulate_over_two_backwards() -> None:
    told = list(sentences(twice()))
    assert "AccumulateGrad of w: arrives [1, 2], was None, stored [1, 2]." in told
    assert "AccumulateGrad of w: arrives [1, 2], was [1, 2], stored [2, 4]." in told
    assert "a.grad = None changed a: .grad [2, 2] → None." in told


def test_a_step_stands_on_the_line_that_runs_and_on_the_line_whose_node_runs() -> None:
    rec = course()
    by_sentence = {step.sentence: [s.code for s in step.sources] for step in steps.steps(rec)}
    assert next(v for k, v in by_sentence.items() if "made c" in k) == ["c = a * 2"]
    assert next(v for k, v in by_sentence.items() if k.startswith("MulBackward0 of c")) == [
        "loss.backward()",
        "c = a * 2",
    ]
    assert by_sentence["Nothing has happened yet."] == []


# --- PyTorch as the oracle ------------------------------------------------------------------------

LINES = """\
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a.clone()
v = b.view(2)
b.mul_(3)
c = (b * a).sum()
c.backward()
d = a.detach()
d.add_(1)
(a * 2).sum().backward()
a.grad = None
"""


def test_at_the_end_of_every_line_the_graph_is_what_torch_says() -> None:
    code = "with gv.record() as rec:\n" + "".join(f"    {line}\n" for line in LINES.splitlines())
    names: dict[str, object] = {"torch": torch, "gv": gv}
    exec(compile(code, "<lines>", "exec"), names)
    rec = names["rec"]
    assert isinstance(rec, gv.Recording)
    every = steps.steps(rec)
    plain: dict[str, object] = {"torch": torch}
    for number, line in enumerate(LINES.splitlines(), start=2):
        exec(line, plain)
        k = max(step.number for step in every if step.sources and step.sources[0].line == number)
        last = {t.name: t for t in every[k].figure.graph.tensors if t.name}
        for name, value in plain.items():
            if isinstance(value, torch.Tensor):
                seen = last[name]
                grad = value.grad if value.is_leaf else None
                assert (seen.version, seen.requires_grad) == (
                    value._version,
                    value.requires_grad,
                ), (line, name)
                assert seen.grad == (None if grad is None else gv_preview(grad)), (line, name)


def gv_preview(values: torch.Tensor) -> str:
    return "[" + ", ".join(f"{v:g}" for v in values.tolist()) + "]"


def test_while_a_backward_runs_grad_is_what_is_stored_by_then() -> None:
    rec = twice()
    seen: list[str | None] = []
    for k, event in enumerate(rec.events, start=1):
        if isinstance(event, Accumulated):
            graph = steps.graph_at(rec, k)
            leaf = graph.node[event.node_id].leaf_id
            assert leaf is not None
            states = [t for t in graph.tensors if t.object_id == graph.tensor[leaf].object_id]
            assert states[-1].grad == event.stored
            seen.append(rec.at(k - 1).tensor[leaf].grad)
    assert seen[0] is None


# --- limits ---------------------------------------------------------------------------------------


def test_a_recording_without_events_has_one_step() -> None:
    with gv.record() as rec:
        pass
    (step,) = steps.steps(rec)
    assert (step.sentence, step.problem, step.figure.scene) == (
        "Nothing has happened yet.",
        "",
        Scene(),
    )


def test_dropped_events_are_said_at_every_step() -> None:
    a = torch.ones(2, requires_grad=True)
    with gv.record(max_events=5) as rec:
        x = a
        for _ in range(9):
            x = x * 2
    every = steps.steps(rec)
    assert len(every) == 6
    assert all("the oldest 4 events were dropped" in step.figure.text for step in every)
    assert all(bare("the oldest 4 events were dropped") in bare(step.figure.svg) for step in every)


def test_a_long_recording_is_shown_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rec = course()
    monkeypatch.setattr(steps, "LIMIT", 4)
    assert [step.number for step in steps.steps(rec)] == [0, 1, 2, 3, 4]
    assert [step.number for step in steps.steps(rec, 13)] == list(range(13, len(rec.events) + 1))
    monkeypatch.setattr(steps, "LIMIT", 400)
    monkeypatch.setattr(steps, "WORK", 1)
    monkeypatch.setattr(steps, "LEAST", 2)
    assert [step.number for step in steps.steps(rec, 3)] == [3, 4, 5]
    for start in (-1, 99, "1"):
        with pytest.raises(gv.GradvizError, match="there is no step"):
            steps.steps(rec, start)  # type: ignore[arg-type]


def test_no_tensor_is_kept() -> None:
    a = torch.ones(2, requires_grad=True)
    kept = weakref.ref(a)
    with gv.record() as rec:
        (a * 2).sum().backward()
    every = steps.steps(rec)
    del a
    assert kept() is None
    assert every


def test_arranging_like_another_scene_gives_the_same_cards() -> None:
    rec = many_leaves()
    whole = cards.scene(rec.graph)
    lacking = whole._replace(
        arrows=tuple(a._replace(absent=i % 2 == 0) for i, a in enumerate(whole.arrows))
    )
    one, other = arrange.arranged(whole), arrange.arranged(lacking, like=whole)
    assert [c.id for c in one.cards] == [c.id for c in other.cards]
    assert [a.absent for a in other.arrows].count(True) > 0
    assert len(one.arrows) == len(other.arrows)
