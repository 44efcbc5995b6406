"""What a reader can ask an outline for: modules opened, levels, the cards around one tensor."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import model_scripts
import pytest
import torch
from drawn import drawn
from outline_oracle import has_no_circle
from random_modules import make
from sampling import sampled

import gradviz as gv
from gradviz.graph.records import GradvizError, Graph
from gradviz.picture import render
from gradviz.picture.outline.asked import Asked
from gradviz.picture.outline.before import keys_of
from gradviz.picture.outline.cards import Cards
from gradviz.picture.outline.fit import Fitting, Plan, boxes_in
from gradviz.picture.outline.fold import fold_one
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.unit import Kind, Unit
from gradviz.recording import Recording

pytestmark = pytest.mark.dear(40)

SEEDS = sorted(random.Random(7).sample(range(1000), 16))
MODELS = ["gpt2", "moe", "unet", "gan", "actor_critic", "encoder_decoder"]


@pytest.fixture(scope="module")
def gpt() -> Recording:
    recording = gv.record()
    model_scripts.run(model_scripts.read("gpt2"), "gpt2.py", lambda: recording)
    return recording


@pytest.fixture(params=sampled([*MODELS, *SEEDS], 9), ids=str, scope="module")
def graph(request: pytest.FixtureRequest) -> Graph:
    which = request.param
    if isinstance(which, int):
        tree = make(which)
        return drawn(tree.source, tree.filename).graph
    return drawn(model_scripts.read(which), f"{which}.py").graph


def asked_of(graph: Graph) -> Iterator[Asked]:
    """One thing of each sort that can be asked of a graph."""
    paths = sorted({c.path for c in graph.module_calls if c.path})
    made = [t for t in graph.tensors if t.requires_grad and not t.is_leaf]
    yield Asked(depth=0)
    yield Asked(depth=2)
    yield Asked(frozenset(paths[: len(paths) // 2 : 3]))
    yield Asked(frozenset(paths[-1:]), depth=1)
    yield Asked(around=made[len(made) // 2].object_id)
    yield Asked(around=made[-1].object_id)


def ops_of(units: list[Unit]) -> list[int]:
    """The operations of all cards."""
    return [at for unit in units for at in unit.ops]


def way_back(units: list[Unit], links: Links) -> list[str]:
    """The links that lead to a card above, inputs apart."""
    return [
        f"{tail} → {head}"
        for tail, head in links.all
        if tail >= head and units[tail].kind is not Kind.INPUT
    ]


@pytest.mark.parametrize("at_once", [1, 7])
def test_no_card_lies_before_and_after_another_one(graph: Graph, at_once: int) -> None:
    """Cards stand in an order in which every link goes down: so they stay when any are folded."""
    for asked in asked_of(graph):
        fitting = Fitting(graph, render.laid_out, asked)
        units = fitting.gathering.units
        while units:
            plan = Plan(units)
            cards = fitting.cards(plan)
            assert has_no_circle(cards.links)
            assert way_back(units, cards.links) == []
            fewer = fold_one(cards, at_once, even_if_it_matters=True) or []
            if fewer:
                assert len(units) - at_once <= len(fewer) < len(units)
                assert sorted(ops_of(fewer)) == sorted(ops_of(units))
            units = fewer


def test_every_operation_stands_in_one_card(graph: Graph) -> None:
    for asked in asked_of(graph):
        fitting = Fitting(graph, render.laid_out, asked)
        placed = [at for unit in fitting.gathering.units for at in unit.ops]
        assert len(placed) == len({*placed})
        unseen = fitting.expansion.looked_through | fitting.expansion.data
        assert {op.at for op in fitting.operations.all} - {*placed} <= unseen


def test_what_was_opened_stays_open(graph: Graph) -> None:
    for asked in asked_of(graph):
        fitting = Fitting(graph, render.laid_out, asked)
        before = [tuple(u.ops) for u in fitting.gathering.units if fitting.expansion.is_kept(u)]
        plan: Cards | None = fitting.cards(Plan(fitting.gathering.units))
        units = fitting.gathering.units
        while plan is not None:
            units = plan.units
            folded = fold_one(plan, even_if_it_matters=True)
            plan = fitting.cards(Plan(folded)) if folded else None
        assert {*before} <= {tuple(unit.ops) for unit in units}


def test_more_depth_is_no_fewer_cards(graph: Graph) -> None:
    numbers = []
    for depth in range(5):
        fitting = Fitting(graph, render.laid_out, Asked(depth=depth))
        numbers.append(sum(u.kind is not Kind.INPUT for u in fitting.gathering.units))
    assert numbers == sorted(numbers)
    roots = {c.id for c in graph.module_calls if c.parent_id is None}
    assert Fitting(graph, render.laid_out, Asked(depth=0)).expansion.is_open == set()
    fitting = Fitting(graph, render.laid_out, Asked(depth=1))
    assert fitting.gathering.units
    assert fitting.expansion.is_open <= roots


def test_the_same_is_asked_the_same_is_drawn(graph: Graph) -> None:
    for asked in list(asked_of(graph))[2:5]:
        one, other = (Fitting(graph, render.laid_out, asked).fitted() for _ in range(2))
        assert one.source == other.source


def test_what_costs_a_gradient_is_told_at_any_depth() -> None:
    old = "x = block(x)"
    source = model_scripts.read("gpt2").replace(old, "x = block(x.detach())")
    graph = drawn(source, "gpt2.py").graph
    words = gv.Figure(graph).text.splitlines()[:2]
    for depth in (0, 1, 2):
        figure = gv.Figure(graph, depth=depth)
        assert figure.text.splitlines()[:2] == words
        assert "detach" in words[1]
        assert figure.outlined is not None
        assert "LOST" in {row.tone.name for c in figure.outlined.outline.cards for row in c.rows}


# --- words and errors -----------------------------------------------------------------------------


def test_around_a_tensor_the_operation_is_a_card() -> None:
    a = torch.ones(3, requires_grad=True)
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    with gv.record() as rec:
        h = net(a * 2)
        scaled = h * 3
        loss = scaled.sin().sum()
        loss.backward()
    figure = rec.figure(around=scaled)
    assert "    makes scaled\n    MulBackward0" in figure.text
    assert figure.text == rec.figure(around="scaled").text
    assert figure.text == gv.Figure(rec.graph, around=rec.find(scaled)).text
    assert "Sequential" in figure.text  # closed
    reading = rec.figure(around="net.2.weight").text
    assert "    reads 2.weight" in reading
    assert "ReLU" in reading  # a neighbour


def test_depth_and_around_make_an_outline_of_a_toy() -> None:
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        (a * 2).sum().backward()
    assert rec.figure().outlined is None
    assert rec.figure(depth=0).outlined is not None
    assert "reads a" in rec.figure(around=a).text


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"focus": "transformer.h.77"}, "did you mean 'transformer.h.7', "),
        ({"focus": "transfomer.h.5"}, "did you mean 'transformer.h.5', "),
        ({"depth": -1}, "depth= was given the int -1; expected how many levels of modules"),
        ({"depth": True}, "depth= was given the bool True; expected how many levels"),
        ({"depth": "2"}, "depth= was given the str '2'; expected how many levels"),
        ({"around": "los"}, "around= was given 'los'; expected the name of a tensor"),
        ({"around": "los"}, "did you mean 'loss'?"),
        ({"around": 3}, "around= was given the int 3; expected a tensor's name"),
        ({"around": torch.ones(2)}, "a tensor that this recording did not see"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    gpt: Recording, asked: dict[str, object], words: str
) -> None:
    with pytest.raises(GradvizError, match=re.escape(words)):
        gpt.figure(**asked)  # type: ignore[arg-type]


def test_a_figure_says_who_knows_a_torch_tensor(gpt: Recording) -> None:
    with pytest.raises(GradvizError, match=re.escape("rec.figure(around=h)")):
        gv.Figure(gpt.graph, around=torch.ones(2))  # type: ignore[arg-type]


def test_a_name_that_several_tensors_had_is_refused(gpt: Recording) -> None:
    """Each of twelve blocks made an ``x`` in line 64 of the script; the last one is called so still."""
    with pytest.raises(GradvizError, match="11 tensors are called so"):
        gpt.figure(around="x (line 64)")


# --- without a recording --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown() -> Graph:
    made = model_scripts.run(model_scripts.read("gpt2"), "gpt2.py")
    return gv.show(made["loss"], model=made["model"], names={"loss": made["loss"]}).graph


def test_a_graph_that_was_not_recorded_is_opened_too(shown: Graph) -> None:
    closed = gv.Figure(shown).text
    assert "ln_1" not in closed
    for path in ("transformer.h.5", "GPT2.transformer.h.5"):
        opened = gv.Figure(shown, focus=path).text
        assert "transformer.h.5, Block, opened" in opened
        assert "ln_1  LayerNorm" in opened
        assert "h.{0..4}" in opened


def test_depth_of_a_graph_that_was_not_recorded(shown: Graph) -> None:
    numbers = []
    for depth in range(4):
        outlined = gv.Figure(shown, depth=depth).outlined
        assert outlined is not None
        numbers.append(len(outlined.outline.cards))
    assert numbers == sorted(numbers)
    assert numbers[:2] == [2, 3]
    assert "GPT2" in gv.Figure(shown, depth=0).text


def test_around_a_parameter_that_was_not_recorded() -> None:
    made = model_scripts.run(model_scripts.read("gpt2"), "gpt2.py")
    weight = made["model"].transformer.h[5].attn.c_attn.weight
    figure = gv.show(made["loss"], model=made["model"], around=weight)
    assert "transformer.h.5.attn, Attention, opened" in figure.text
    with pytest.raises(GradvizError, match=re.escape("around= was given an object of type Tensor")):
        gv.show(made["loss"], model=made["model"], around=torch.ones(2))


# --- like an earlier picture ----------------------------------------------------------------------


def places_of(figure: gv.Figure) -> dict[object, float]:
    """Where the middle of each card stands, by what is in it."""
    drawn_as = figure.outlined
    assert drawn_as is not None
    units = drawn_as.fitting.plan.units
    keys = keys_of(units, drawn_as.fitting.expansion)
    boxes = boxes_in(render.laid_out(drawn_as.fitted.source))
    inputs = {k for k, unit in enumerate(units) if unit.kind is Kind.INPUT}
    return {frozenset(keys[k]): box[0] for k, box in boxes.items() if k not in inputs}


FAR = {  # openings that do worse, and by how many points
    ("actor_critic", "model.trunk"): 32,
    ("actor_critic", "model.v"): 11,
    ("contrastive", "model.image"): 10,
    ("distillation", "student"): 11,
}
OPENINGS = [
    *FAR,
    ("contrastive", "model.text"),
    *(("gan", path) for path in ("G", "D")),
    *(("multi_task", path) for path in ("model.stem", "model.body")),
    *(("unet", path) for path in ("model.down3", "model.mid", "model.up2")),
    ("distillation", "teacher"),
    ("moe", "model.moe"),
    ("vae", "model.enc"),
]


@pytest.mark.parametrize(("name", "path"), OPENINGS)
def test_opening_a_module_keeps_the_places_of_the_other_cards(name: str, path: str) -> None:
    graph = drawn(model_scripts.read(name), f"{name}.py").graph
    before, after = gv.Figure(graph), gv.Figure(graph, focus=path)
    after.arrange_like(before)
    old, new = places_of(before), places_of(after)
    moved = {key: abs(old[key] - new[key]) for key in old.keys() & new.keys()}
    assert moved
    assert max(moved.values()) <= FAR.get((name, path), 8)


def test_cards_that_stood_apart_stay_apart() -> None:
    """A cut told two heads apart; without it they are twins, and become one card."""
    source = model_scripts.read("multi_task")
    graph = drawn(source, "multi_task.py").graph
    one_cut = source.replace("head(f)", "head(f.detach() if name == 'depth' else f)")
    apart = gv.Figure(drawn(one_cut, "multi_task.py").graph)
    merged = gv.Figure(graph)
    again = gv.Figure(graph)
    again.arrange_like(apart)
    titles = [card.title for card in again.scene.cards]
    assert len(titles) > len(merged.scene.cards)
    assert gv.Figure(graph).svg == merged.svg


def test_a_figure_arranged_like_itself_is_the_same(gpt: Recording) -> None:
    one, other = gpt.figure(focus="transformer.h.5"), gpt.figure(focus="transformer.h.5")
    other.arrange_like(one)
    assert {*places_of(one).items()} == {*places_of(other).items()}
