"""Loops as one card: the gradient at each step is what ``autograd.grad`` says of it."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from drawn import Drawn, drawn
from model_scripts import MARKER, read
from svg_text import Picture

import gradviz as gv
from gradviz.picture import render
from gradviz.picture.outline.fit import INPUTS, SEVERAL, Fitting, Plan
from gradviz.picture.outline.fold import fold_one
from gradviz.picture.outline.loops import FLOOR, LONGEST, Loops, Profile
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Card, Tone
from gradviz.picture.outline.unit import Kind, Unit

ADVERSARIAL = Path(__file__).parents[1] / "why" / "real_blind11" / "healthy"
TWENTIETH = Path(__file__).parents[1] / "why" / "real_blind20"

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\ntorch.manual_seed(0)\n"
BY_HAND = (
    HEAD
    + """\
wx = (0.3 * torch.randn(8, 16)).requires_grad_()
wh = ({scale} * torch.randn(16, 16)).requires_grad_()
wo = (0.3 * torch.randn(16, 3)).requires_grad_()
xs, y = torch.randn({steps}, 2, 8), torch.randint(3, (2,))
states = []
"""
    + MARKER
    + """
h = torch.zeros(2, 16)
for x in xs:
    a = x @ wx
    h = torch.tanh(a + h @ wh)
    states.append(h)
loss = F.cross_entropy(h @ wo, y)
loss.backward()
"""
)
DECODER = (
    HEAD
    + """\
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.cell = nn.Embedding(20, 8), nn.GRUCell(8, 16)
        self.out = nn.Linear(16, 20)

    def forward(self, ids):
        h, found = torch.zeros(len(ids), 16), []
        for t in range(ids.shape[1]):
            h = self.cell(self.emb(ids[:, t]), h)
            found.append(self.out(h))
        return torch.stack(found, 1)

model = Decoder()
ids = torch.randint(20, (2, 25))
"""
    + MARKER
    + """
logits = model(ids)
loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
loss.backward()
"""
)


def chart_of(picture: Drawn) -> tuple[Card, Profile]:
    """Return the only card with a chart, and the norms that it draws."""
    (place,) = [
        card.id for card in picture.fitted.outline.cards if any(row.chart for row in card.rows)
    ]
    profile = picture.cards.states.profile(picture.cards.units[place])
    assert profile is not None
    return picture.fitted.outline.cards[place], profile


def rows(card: Card, tone: Tone) -> list[str]:
    return [row.left[0].text for row in card.rows if row.tone is tone]


def steps_of(source: str, values: str) -> list[float]:
    """Return the norms of the gradient at each of some tensors, in float64, without gradviz."""
    names: dict[str, object] = {}
    exec(source.replace("loss.backward()\n", ""), names)
    found = torch.autograd.grad(names["loss"], names[values])  # type: ignore[arg-type]
    return [grad.double().norm().item() for grad in found]


@pytest.mark.parametrize(("scale", "steps"), [(0.2, 40), (0.5, 12), (0.02, 130), (0.25, 3)])
def test_a_loop_written_out_has_the_gradient_of_each_step(scale: float, steps: int) -> None:
    source = BY_HAND.format(scale=scale, steps=steps)
    picture = drawn(source, "by_hand.py")
    card, profile = chart_of(picture)
    truth = steps_of(source, "states")
    assert len(profile.norms) == len(truth) == steps
    assert profile.norms == pytest.approx(truth, rel=1e-4, abs=1e-300)
    assert f"×{steps}" in "".join(span.text for span in card.rows[0].left)
    (chart,) = [row.chart for row in card.rows if row.chart]
    assert len(chart) == min(steps, -(-steps // -(-steps // 100)))


def test_the_many_slices_that_a_loop_goes_through_are_not_laid_out() -> None:
    picture = drawn(BY_HAND.format(scale=0.2, steps=130), "by_hand.py")
    assert sum(unit.kind is Kind.INPUT for unit in picture.fitting.gathering.units) >= 130
    assert picture.fitted.fits
    plans = [plan for _, plan in picture.fitting.plans]
    assert max(sum(u.kind is Kind.INPUT for u in plan.units) for plan in plans) <= INPUTS


@pytest.mark.parametrize(("scale", "steps"), [(0.2, 40), (0.5, 12), (0.02, 130)])
def test_where_a_loop_vanishes_is_where_torchs_gradient_does(scale: float, steps: int) -> None:
    source = BY_HAND.format(scale=scale, steps=steps)
    picture = drawn(source, "by_hand.py")
    card, _ = chart_of(picture)
    truth = steps_of(source, "states")
    small = next((k for k, norm in enumerate(truth, 1) if norm >= FLOOR), 0)
    told = Picture(picture.svg).headline.text
    if small <= 1:
        assert not rows(card, Tone.ALARM)
        assert "vanishes" not in told
        assert figure(truth[0]) in " ".join(rows(card, Tone.SAID))
        return
    (alarm,) = rows(card, Tone.ALARM)
    assert f"below 1e-8 before step {small}" in alarm
    assert figure(truth[-1]) in alarm
    assert f"below 1e-8 before step {small} of {steps}" in told
    assert re.search(r"by_hand.py line \d+", told)
    zeros = next(k for k, norm in enumerate(truth, 1) if norm)
    if zeros > 1:
        assert any(row.right == f"0 before step {zeros}" for row in card.rows)


def test_a_cell_called_in_a_loop_has_a_chart() -> None:
    source = read("rnn")
    picture = drawn(source, "rnn.py")
    card, profile = chart_of(picture)
    call = "            h = self.cell(x, h)\n"
    kept = source.replace(call, f"{call}            STATES.append(h)\n").replace("opt.step()\n", "")
    truth = steps_of("STATES = []\n" + kept, "STATES")
    assert profile.norms == pytest.approx(truth, rel=1e-4, abs=1e-300)
    dies = next(k for k, norm in enumerate(truth, 1) if norm >= FLOOR)
    assert any(f"below 1e-8 before step {dies}" in text for text in rows(card, Tone.ALARM))
    lines = Picture(picture.svg).headline.text
    assert f"cell rnn.py line 28, below 1e-8 before step {dies} of 200" in lines


def test_several_modules_in_turn_are_one_loop_with_a_row_each() -> None:
    picture = drawn(DECODER, "decoder.py")
    card, profile = chart_of(picture)
    assert len(profile.norms) == 25
    names = [row.left[0].text for row in card.rows[1:] if row.left[0].look == "name"]
    assert names == ["emb", "cell", "out"]
    model = picture.names["model"]
    for row in card.rows:
        if row.left[0].text in names and row.left[0].look == "name":
            grads = [p.grad for p in getattr(model, row.left[0].text).parameters()]
            norm = torch.stack([g.double().norm() for g in grads if g is not None]).norm().item()
            assert row.right == figure(norm)


def test_blocks_with_weights_of_their_own_are_a_loop_where_their_statement_is_one() -> None:
    source = (
        HEAD
        + "ws = [(0.3 * torch.randn(8, 8)).requires_grad_() for _ in range(30)]\n"
        + "x = torch.randn(4, 8)\nstates = []\n"
        + MARKER
        + "\nh = x\nfor w in ws:\n    h = torch.tanh(h @ w)\n    states.append(h)\n"
        "loss = h.pow(2).mean()\nloss.backward()\n"
    )
    card, profile = chart_of(drawn(source, "layers.py"))
    assert profile.norms == pytest.approx(steps_of(source, "states"), rel=1e-4, abs=1e-300)
    assert rows(card, Tone.GETS)[0].startswith("✓ 30 of 30")


def test_nan_in_a_loop_is_told_with_the_step_that_it_comes_to_first() -> None:
    source = (
        HEAD
        + "w = (0.3 * torch.randn(8, 8)).requires_grad_()\nx = torch.rand(4, 8)\n"
        + MARKER
        + "\nh = x\nfor k in range(12):\n    h = torch.sigmoid(h @ w)\n"
        "    h = h + torch.sqrt((h - h).abs() + (k != 7))\n"
        "loss = h.pow(2).mean()\nloss.backward()\n"
    )
    picture = drawn(source, "nan.py")
    card, _ = chart_of(picture)
    # what sqrt of step 8 makes nan comes to no step after it
    assert any("nan or inf comes to step 7 of 12 first" in text for text in rows(card, Tone.ALARM))
    assert "SqrtBackward0" in Picture(picture.svg).headline.text


def test_a_loop_that_is_not_one_has_no_chart() -> None:
    source = (
        HEAD
        + "model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(6)))\nx = torch.randn(4, 8)\n"
        + MARKER
        + "\nloss = model(x).pow(2).mean() + sum(p.pow(2).sum() for p in model.parameters())\n"
        "loss.backward()\n"
    )
    cards = drawn(source, "plain.py").fitted.outline.cards
    assert not any(row.chart for card in cards for row in card.rows)


def test_a_profile_of_what_was_not_measured_claims_nothing() -> None:
    nan = float("nan")
    assert Profile((nan, nan, 0.5)).dies_at is None
    assert Profile((None, 0.1, 0.5)).dies_at is None
    assert Profile((nan, 0.1, 0.5)).broken_from is None
    assert Profile((0.0, 1e-9, 0.5)).dies_at == 3
    assert Profile((0.0, 1e-9, 0.5)).zero_before == 2


@pytest.mark.parametrize("rounds", [1, 4, 20])
def test_a_value_that_is_read_again_at_the_end_is_no_reason_to_draw_more_and_more(
    rounds: int,
) -> None:
    """A check at the end reads what a card made that others used before: that card stands below
    them, and was folded with one above it into two that had the same operations."""
    text = next(ADVERSARIAL.glob("u076_*.py")).read_text(encoding="utf-8")
    text = text.replace("range(20)", f"range({rounds})").replace("history[-1] < history[0]", "True")
    with gv.record() as rec:
        exec(compile(text, "freelb.py", "exec"), {"__name__": "freelb"})
    fitting = Fitting(rec.graph, render.laid_out)
    plan = Plan(fitting.gathering.units)
    most = len(plan.units)
    while (fewer := fold_one(fitting.cards(plan))) is not None:
        assert len(fewer) < len(plan.units)
        plan = replace(plan, units=fewer)
    assert fitting.fitted().height < 1200
    assert len(fitting.plan.units) <= most


def test_a_loop_of_hundreds_of_cards_is_looked_at_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An episode whose every move has a backward of its own is another loop than the next: of all
    of them there are cards, which are folded many at once."""
    text = """import torch
from torch.distributions import Categorical
policy = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(policy.parameters(), 0.01)
for episode in range(14):
    moves = []
    for move in range(3 + episode * 7 % 11):
        chances = policy(torch.rand(3)).softmax(0)
        moves.append(chances[Categorical(chances).sample()])
    optimizer.zero_grad()
    for chance in moves:
        loss = -torch.log(chance)
        loss.backward()
    optimizer.step()
"""
    with gv.record() as rec:
        exec(compile(text, "moves.py", "exec"), {"__name__": "moves"})
    fitting, looked = Fitting(rec.graph, render.laid_out), list[int]()
    cards = Fitting.cards
    monkeypatch.setattr(
        Fitting, "cards", lambda self, plan: [looked.append(len(plan.units)), cards(self, plan)][1]
    )
    fitting.fitted()
    assert max(looked) > SEVERAL + 20
    assert len({n for n in looked if n > SEVERAL + 20}) < 30


def test_far_more_cards_side_by_side_than_a_page_are_laid_out_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Derivatives by derivatives in each of 50 rounds: no layout of so many cards fits a page, and
    to fold them one after the other took minutes."""
    text = next(TWENTIETH.glob("j028_*.py")).read_text(encoding="utf-8")
    linecache.cache["stream.py"] = len(text), None, text.splitlines(True), "stream.py"
    with pytest.raises(RuntimeError, match="does not require grad"), gv.record() as rec:
        exec(compile(text, "stream.py", "exec"), {"__name__": "stream"})
    fitting, tried = Fitting(rec.graph, render.laid_out), list[Plan]()
    laid_out = Fitting.laid_out
    monkeypatch.setattr(
        Fitting,
        "laid_out",
        lambda self, plan, **more: [tried.append(plan), laid_out(self, plan, **more)][1],
    )
    fitting.fitted()
    assert max(len(plan.units) for plan in tried) > SEVERAL
    assert len(tried) < 10


def test_one_module_again_and_again_is_looked_at_once_for_each_step_that_it_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether a step may be a loop is known without counting how often it comes: of a cell that is
    called thousands of times the rest would be gone through from each call on."""
    asked: list[int] = []
    module = Loops._module

    def counted(self: Loops, unit: Unit) -> object:
        asked.append(1)
        return module(self, unit)

    monkeypatch.setattr(Loops, "_module", counted)
    program = HEAD + (
        "cell, h = nn.GRUCell(4, 4), torch.zeros(2, 4)\n"
        "for _ in range(400):\n    h = cell(torch.ones(2, 4), h)\nh.sum().backward()"
    )
    assert drawn(program, "again.py").fitted.fits
    assert len(asked) <= 401 * LONGEST
