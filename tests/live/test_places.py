"""Where cards stand in a live panel: what is in two pictures stands in the same place in both."""

from __future__ import annotations

import math
import random
import re
from typing import Any
from xml.etree import ElementTree

import torch
from svg import SVG, cards_of

import gradviz as gv
from gradviz.live.explore import Exploration, explore
from gradviz.picture import render
from gradviz.picture.geometry import Spline
from gradviz.picture.together import LEGIBLE, MARGINS, NARROW, Together, is_too_wide, width_in

Point = tuple[float, float]
CLICKS, SETTLED = 26, 6  # of a walk; after so many clicks cards hardly move any more
MOVED = 0.75  # points
WALKS = 6


def tour() -> Exploration:
    @explore(copy=gv.controls.copies, mode=gv.controls.grad_mode, requires_grad=True)
    def scenario(copy: Any, mode: Any, requires_grad: bool) -> None:
        a = torch.tensor(1.0, requires_grad=requires_grad)
        with mode():
            b = copy(a)
        c = a * 2
        d = b * 3
        loss = c + d
        loss.backward()

    return scenario


def places(state: dict[str, Any]) -> dict[str, Point]:
    """The middle of each card by its key, in the numbers of the page."""
    root = ElementTree.fromstring(state["svg"])
    shift = re.search(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", state["svg"])
    assert shift is not None
    found = {}
    for group in root.iter(f"{SVG}g"):
        card = state["cards"].get(str(group.get("id")).partition("-")[2])
        if card is None:
            continue
        path = next(group.iter(f"{SVG}path")).get("d") or ""
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", path)]
        xs, ys = numbers[::2], numbers[1::2]
        x, y = (min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2
        found[card["key"]] = (x + float(shift[1]), y + float(shift[2]))
    return found


def size_of(svg: str) -> int:
    return int(render.size(svg)[0])


def moves(walk: int) -> int:
    """In how many of the later clicks of a walk a card moved."""
    chance, scenario = random.Random(walk), tour()
    assert scenario.widget
    options = {name: list(c.choices) for name, c in scenario._controls.items()}
    before, moved = places(scenario.state), 0
    for click in range(CLICKS):
        name = chance.choice(list(options))
        now = places(scenario.set(**{name: chance.choice(options[name])}).state)
        shared = before.keys() & now.keys()
        assert {"a", "b", "c", "d", "loss"} <= shared
        if click >= SETTLED:
            pairs = [(before[key], now[key]) for key in shared]
            moved += any(max(abs(x - u), abs(y - v)) > MOVED for (x, y), (u, v) in pairs)
        before = now
    return moved


def test_cards_that_are_in_both_pictures_hardly_move_after_six_clicks() -> None:
    moved = sum(map(moves, range(WALKS)))
    seen = WALKS * (CLICKS - SETTLED)
    assert moved < 0.1 * seen, f"cards moved in {moved} of {seen} clicks"


def test_cards_of_an_exported_page_never_move() -> None:
    states = [*tour().book()["states"]]
    assert len(states) == 5 * 4 * 2
    every = [places(state) for state in states]
    for key in ("a", "b", "c", "d", "loss"):
        xs, ys = zip(*(one[key] for one in every), strict=True)
        assert max(xs) - min(xs) <= MOVED
        assert max(ys) - min(ys) <= MOVED
    sizes = {re.findall(r'viewBox="[^"]*"', state["svg"])[0] for state in states}
    assert len(sizes) == 1, "the picture keeps its size"
    for state in states:
        assert size_of(state["narrow"]) < 0.6 * size_of(state["svg"])
        assert cards_of(state["narrow"]) == cards_of(state["svg"]) != []
    # a chip beside the cards may take room at the left of all of them
    narrow = [places({**state, "svg": state["narrow"]}) for state in states]
    for key in ("b", "c", "d", "loss"):
        xs = [one[key][0] - one["a"][0] for one in narrow]
        ys = [one[key][1] - one["a"][1] for one in narrow]
        assert max(xs) - min(xs) <= MOVED
        assert max(ys) - min(ys) <= MOVED


def test_a_state_that_comes_back_looks_as_it_did() -> None:
    scenario = tour()
    assert scenario.widget
    for copy in scenario._controls["copy"].choices:
        scenario.set(copy=copy)
    first = scenario.set(copy="clone").state["svg"]
    assert scenario.set(copy="detach").set(copy="clone").state["svg"] == first


def fits(svg: str, room: int) -> bool:
    """Whether a picture is read whole in so much room, its smallest letters with 12 CSS pixels."""
    return size_of(svg) * LEGIBLE <= room - MARGINS


def test_two_views_of_a_panel_get_a_picture_each_for_its_own_room() -> None:
    @explore(copy=gv.controls.copies)
    def scenario(copy: Any) -> None:
        a = torch.tensor(1.0, requires_grad=True)
        loss = a * 2 + copy(a) * 3
        loss.backward()

    assert scenario.widget
    live = scenario._graph_widget
    assert live is not None
    alone = live.state
    live.rooms = [1000, 380]
    assert live.state["svg"] == alone["svg"]
    assert fits(live.state["narrow"], 380)
    detached = scenario.set(copy="detach").state
    assert fits(detached["narrow"], 380)
    assert not fits(detached["svg"], 380)
    live.rooms = [1000]
    assert "narrow" not in live.state


def test_a_question_is_drawn_for_its_room_after_the_answer_too() -> None:
    def scenario() -> None:
        a = torch.tensor(1.0, requires_grad=True)
        loss = a * 2 + a.clone() * 3
        loss.backward()

    wrong = gv.lesson.Wrong("a belief", "look.")
    asked = gv.lesson.question(
        "What is `a.grad`?",
        scenario,
        truth=lambda run: run.tensors["a"]["grad"],
        answers={"5": wrong, "2": wrong},
    )
    assert asked.widget
    asked._graph_widget.rooms = [380]
    asked.answer("5")
    reply, narrow = asked._graph_widget.state["sentence"], asked._graph_widget.state["svg"]
    assert fits(narrow, 380)
    asked._graph_widget.rooms = [1000]
    assert not fits(asked._graph_widget.state["svg"], 380)
    assert asked._graph_widget.state["sentence"] == reply
    assert fits(asked.book()["states"][0]["narrow"], 380)


def test_a_player_is_drawn_once_more_where_there_is_less_room() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b, c = a * 2, a.clone() * 3
        loss = (b + c).sum()
        loss.backward()
    player = gv.play(rec)
    book = player.book
    assert not fits(player.states[-1]["svg"], 380)
    player.rooms = [1000]
    assert player.book is book
    player.rooms = [380]
    assert len({size_of(state["narrow"]) for state in player.states}) == 1
    assert fits(player.states[-1]["narrow"], 380)
    assert [state["svg"] for state in player.states] == [state["svg"] for state in book["states"]]


def test_a_panel_draws_for_the_room_that_its_page_has_and_runs_nothing_for_that() -> None:
    ran = []

    @explore(copy=gv.controls.copies)
    def scenario(copy: Any) -> None:
        ran.append(1)
        a = torch.tensor(1.0, requires_grad=True)
        loss = a * 2 + copy(a) * 3
        loss.backward()

    assert scenario.widget
    live = scenario._graph_widget
    assert live is not None
    first = live.state
    wide = size_of(first["svg"])
    live.rooms = [380]
    narrow = live.state
    assert size_of(narrow["svg"]) <= width_in(380) < wide
    assert {**narrow, "svg": ""} == {**first, "svg": ""}
    assert len(ran) == 1
    scenario.set(copy="detach")
    assert size_of(live.state["svg"]) <= width_in(380)
    detached = live.state
    live.rooms = [1000]
    assert live.state["svg"] != detached["svg"]
    assert len(ran) == 2
    both = live.state
    assert size_of(both["svg"]) > width_in(380)
    assert scenario.set(copy="clone").state["sentence"] == first["sentence"]
    assert scenario.set(copy="detach").state["svg"] == both["svg"]


def test_a_weight_and_a_bias_that_are_read_twice_fit_a_phone() -> None:
    """Three arrows pass what stands between."""
    with gv.record() as rec:
        x, W = torch.tensor([[2.0]]), torch.tensor([[1.0]], requires_grad=True)
        b = torch.tensor([1.0], requires_grad=True)
        for _ in range(2):
            torch.relu(x @ W + b).backward()
    scene, together = rec.figure().scene, Together()
    together.add("", scene)
    assert not is_too_wide(together.svg(scene, NARROW), NARROW)


def test_a_state_that_is_too_wide_at_the_places_of_all_is_drawn_at_its_own_on_a_phone() -> None:
    operations = {
        "x + w": torch.add,
        "(x * w).detach()": lambda x, w: (x * w).detach(),
        "x.to(float64)": lambda x, w: x.to(torch.float64),
        "x > w": lambda x, w: x > w,
    }

    @explore(operation=operations, mode=gv.controls.grad_mode)
    def scenario(
        operation: Any, mode: Any, x_tracked: bool = True, w_tracked: bool = False
    ) -> None:
        x = torch.tensor([1.0, 2.0], requires_grad=x_tracked)
        w = torch.tensor([3.0, 4.0], requires_grad=w_tracked)
        with mode():
            operation(x, w)

    for state in scenario.book()["states"]:
        assert not is_too_wide(state.get("narrow", state["svg"]), NARROW)


def test_where_backward_stopped_between_two_cards_side_by_side_stands_a_sign() -> None:
    """Words were wider than the room between the cards of all states, and lay over what they say."""

    @explore(write=True)
    def scenario(write: bool) -> None:
        x = torch.tensor(1.0, requires_grad=True)
        h = x * 1
        out = h**2
        if write:
            h.add_(5)
        out.backward()

    shown = {write: scenario.set(write=write).state["svg"] for write in (False, True)}
    assert ["✕" in svg for svg in shown.values()] == [False, True]
    assert "backward raises here" not in shown[True]
    assert "backward raises here" in scenario.figure.svg
    together = Together()
    together.add("", scenario.figure.scene)
    assert "raises here" in together.svg(scenario.figure.scene, NARROW)


def skip_over(copy: str = "clone") -> None:
    """Three ways pass other cards, and their cards have other sizes in the other state."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
    b = getattr(a, copy)()
    c = a * 2
    d = b * w
    e = c + d
    f = e.exp()
    g = f - c
    h = g * w
    k = h.tanh()
    m = k + e
    loss = m.sum()
    loss.backward()


def lines_of(svg: str) -> dict[str, list[Point]]:
    """Points along the line of each arrow."""
    root, found = ElementTree.fromstring(svg), {}
    for group in root.iter(f"{SVG}g"):
        paths = list(group.findall(f"{SVG}path"))
        name = str(group.get("id")).rpartition("-")[2]
        if re.fullmatch(r"e\d+f?", name) and paths:
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", paths[0].get("d") or "")]
            pos = " ".join(f"{x},{y}" for x, y in zip(numbers[::2], numbers[1::2], strict=True))
            found[name] = Spline.read(pos).samples()
    return found


def test_both_lines_of_a_pair_stay_apart_from_card_to_card() -> None:
    live = gv.explore(skip_over, copy=["clone", "detach"])
    for copy in ("detach", "clone"):
        live.set(copy=copy)
        lines = lines_of(live.state["svg"])
        pairs = [name for name in lines if f"{name}f" in lines]
        assert len(pairs) > 10
        for name in pairs:
            line, other = lines[name], lines[f"{name}f"]
            inner = line[len(line) // 6 : -len(line) // 6]
            assert min(math.dist(p, q) for p in inner for q in other) > 3, name


def test_new_numbers_keep_the_layout_until_they_have_no_room_in_it() -> None:
    numbers = iter([0.25, 0.75, 0.35, 0.0004321])

    @explore(copy=gv.controls.copies)
    def scenario(copy: Any) -> None:
        a = torch.tensor([2.0, next(numbers)], requires_grad=True)
        b = copy(a)
        (b * 3).sum().backward()

    assert scenario.widget
    laid_out = [scenario._together.whole]
    pictures = [scenario.state]
    for _ in range(3):
        pictures.append(scenario.set(copy="clone").state)
        laid_out.append(scenario._together.whole)
    first, second, third, other = laid_out
    assert first is second is third
    assert places(pictures[0]) == places(pictures[1]) == places(pictures[2])
    assert other is not third
    texts = ("[2, 0.25]", "[2, 0.75]", "[2, 0.35]", "[2, 0.0004321]")
    assert all(text in state["svg"] for text, state in zip(texts, pictures, strict=True))
