"""What compares panels with torch can fail: faults are planted, and each is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from witness.compared import Compared

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.operations import Fate, Operations, Weight
from gradviz.live.run import Run
from gradviz.picture import cards, explaining, state, table
from gradviz.picture.figure import Figure
from gradviz.picture.scene import Arrow, Box, Scene
from gradviz.watch import functions, recorder


@gv.explore
def two_ways() -> None:
    a = torch.tensor(1.0, requires_grad=True)
    b = a.detach()
    c = a * 2
    d = c * 3 + a * 7 + b
    d.backward()


@gv.explore
def written() -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a.detach()
    c = a * 2
    with torch.no_grad():
        e = a * 5
        b[0] = 9.0
    c.sum().backward()
    e.sum().backward()


@gv.explore
def written_last() -> None:
    a = torch.tensor([1.0, 2.0])
    b = a.detach()
    b[0] = 9.0


@gv.explore
def model_step() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(14)))
    out = model(torch.ones(1, 2))
    out.sum().backward()


def complaints(exploration: Any) -> list[str]:
    return list(Compared(exploration, exploration.choose({})).complaints())


@pytest.fixture(autouse=True)
def without_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Figure, "svg", "<svg></svg>")


@pytest.mark.parametrize(
    "exploration", [two_ways, written, written_last, model_step], ids=lambda e: e.__name__
)
def test_nothing_is_said_of_what_is_right(exploration: Any) -> None:
    assert complaints(exploration) == []


# --- faults in the picture ------------------------------------------------------------------------


def card_called(scene: Scene, name: str) -> int:
    return next(c.id for c in scene.cards if c.name == name)


def with_rows(scene: Scene, change: Callable[[str], str]) -> Scene:
    """With other texts in the rows of its cards."""
    changed = [
        c._replace(rows=tuple(r._replace(text=change(r.text)) for r in c.rows)) for c in scene.cards
    ]
    assert changed != list(scene.cards)
    return scene._replace(cards=tuple(changed))


def with_arrows(scene: Scene, change: Callable[[Arrow], Arrow | None]) -> Scene:
    """With other arrows; those that become None are gone."""
    changed = tuple(arrow for arrow in map(change, scene.arrows) if arrow is not None)
    assert changed != scene.arrows
    return scene._replace(arrows=changed)


def swapped_numbers(scene: Scene) -> Scene:
    labels = {"7": "6", "6": "7"}
    return with_arrows(scene, lambda a: a._replace(label=labels.get(a.label, a.label)))


def lost_arrow(scene: Scene) -> Scene:
    into = card_called(scene, "c")
    return with_arrows(scene, lambda a: None if a.head == into else a)


def lost_number(scene: Scene) -> Scene:
    return with_arrows(
        scene, lambda a: a._replace(kind="forward", label="") if a.label == "7" else a
    )


def lost_cut(scene: Scene) -> Scene:
    return with_arrows(
        scene, lambda a: a._replace(kind="forward", label="") if a.kind == "cut" else a
    )


def false_cut(scene: Scene) -> Scene:
    into = card_called(scene, "c")
    label = "✂ detach · no gradient back"
    return with_arrows(
        scene, lambda a: a._replace(kind="cut", label=label) if a.head == into else a
    )


def invented_arrow(scene: Scene) -> Scene:
    new = Arrow(card_called(scene, "c"), card_called(scene, "b"), "forward")
    return scene._replace(arrows=(*scene.arrows, new))


def invented_number(scene: Scene) -> Scene:
    into = card_called(scene, "b")
    return with_arrows(
        scene, lambda a: a._replace(kind="gradient", label="1") if a.head == into else a
    )


def false_frame(scene: Scene) -> Scene:
    members = card_called(scene, "a"), card_called(scene, "c")
    return scene._replace(
        boxes=(*scene.boxes, Box("memory", "one block of memory, two names", members))
    )


def lost_frame(scene: Scene) -> Scene:
    assert any(box.kind == "memory" for box in scene.boxes)
    return scene._replace(boxes=tuple(box for box in scene.boxes if box.kind != "memory"))


def false_region(scene: Scene) -> Scene:
    members = (card_called(scene, "c"),)
    region = Box("region", "no_grad: not recorded", members, mode="no_grad")
    return scene._replace(boxes=(*scene.boxes, region))


def swapped_names(scene: Scene) -> Scene:
    other = {"a": "c", "c": "a"}
    return scene._replace(
        cards=tuple(c._replace(name=other.get(c.name, c.name)) for c in scene.cards)
    )


SCENES: list[tuple[Callable[[Scene], Scene], str]] = [
    (swapped_numbers, "the arrow says 7, torch sent"),
    (lost_number, "which no arrow shows"),
    (lost_arrow, "'a' (card 0) → 'c' (card 2): no arrow, though mul read it"),
    (lost_cut, "no cut is drawn, and detach made it without a gradient path"),
    (lost_cut, "a whole arrow, and no gradient path"),
    (false_cut, "torch has a gradient path"),
    (invented_arrow, "an arrow, and nothing was made so"),
    (invented_number, "the arrow says 1, torch sent []"),
    (false_frame, "framed True, told False, torch False"),
    (lost_frame, "framed False, told True, torch True"),
    (false_region, "stands in no_grad; it was made in {''}"),
    (swapped_names, "and was never in that variable"),
    (
        lambda s: with_rows(s, lambda text: text.replace(".grad: None → 13", ".grad: 1 → 13")),
        "torch None → 13",
    ),
    (
        lambda s: with_rows(s, lambda text: text.replace("arrives once: 13", "arrives once: 12")),
        "arrives: shown 12",
    ),
    (
        lambda s: with_rows(s, lambda text: text.replace("adds 6 + 7", "adds 7 + 7")),
        "engine adds 7 + 7; torch",
    ),
    (
        lambda s: with_rows(s, lambda text: text.replace("AddBackward0", "SubBackward0")),
        "lists ['SubBackward0'",
    ),
    (
        lambda s: with_rows(s, lambda text: text.replace("starts with 1", "starts with 2")),
        "says backward() starts",
    ),
    (
        lambda s: with_rows(
            s, lambda text: text.replace("leaf · requires_grad", "not tracked · grad_fn None")
        ),
        "enters",
    ),
]


@pytest.mark.parametrize(
    ("fault", "said"), SCENES, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_fault_in_the_picture_is_told(
    fault: Callable[[Scene], Scene], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = cards.scene
    monkeypatch.setattr(cards, "scene", lambda graph: fault(drawn(graph)))
    found = complaints(two_ways)
    assert any(said in one for one in found), found


# --- faults in what makes it ----------------------------------------------------------------------


def wrong_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    right = preview.number
    monkeypatch.setattr(preview, "number", lambda x: right(x + 1))


def stale_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder.Recorder, "_write_aliases", lambda *_, **__: None)


def no_cut_by_detach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(functions._BY_NAME, "detach", functions.Role.FACTORY)


def wrong_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "grad", lambda t, now, had: "0")


def wrong_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    right = state.table.word
    monkeypatch.setattr(
        state.table, "word", lambda value: {"True": "False"}.get(right(value), right(value))
    )


def wrong_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        explaining, "summary", lambda *_: "a.grad is [3, 3]: it came back through a * 2."
    )


def wrong_error(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Run._failed

    def failed(run: Run, error: BaseException, code: Any) -> None:
        right(run, error, code)
        run.error = run.error.replace("RuntimeError", "ValueError")
        run.lines = (1,)

    monkeypatch.setattr(Run, "_failed", failed)


MAKERS: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (wrong_numbers, "values: shown [10, 3], torch ['[9, 2]']"),
    (no_cut_by_detach, "no cut is drawn, and detach made it without a gradient path"),
    (wrong_column, "row c of the table: .grad: shown 0, torch None (not a leaf)"),
    (wrong_fact, "requires_grad: shown False, torch True"),
    (wrong_sentence, "the sentence says a.grad is [3, 3]; torch ['[2, 2]']"),
    (wrong_error, "error: shown 'ValueError"),
    (wrong_error, "line of the error: shown [1]"),
]


@pytest.mark.parametrize(
    ("fault", "said"), MAKERS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_fault_in_the_making_is_told(
    fault: Callable[[pytest.MonkeyPatch], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    found = complaints(written)
    assert any(said in one for one in found), found


def test_a_value_that_is_stale_after_a_write_through_an_alias_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stale_alias(monkeypatch)
    found = complaints(written_last)
    assert "'a' (card 0): values: shown [1, 2], torch ['[9, 2]']" in found, found


def test_a_parameter_that_an_outline_counts_wrongly_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = Operations.weights.func  # type: ignore[attr-defined]

    def wrong(operations: Operations) -> list[Weight]:
        first, *others = right(operations)
        return [first._replace(fate=Fate.NONE), *others]

    monkeypatch.setattr(Operations.weights, "func", wrong)
    said = complaints(model_step)
    assert said == ["parameter 0.weight: counted as none, torch some"], said
