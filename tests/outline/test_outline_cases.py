"""Single properties of outlines, each on the shortest model that shows it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from drawn import Drawn, drawn
from model_scripts import MARKER, read
from outline_oracle import has_no_circle
from svg_text import Picture
from torch.nn import functional

from gradviz.picture.outline.scene import Card, Tone
from gradviz.picture.outline.unit import Kind

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
STEP = "opt = torch.optim.SGD(model.parameters(), lr=0.1)\nx = torch.randn(4, 8)\n" + MARKER + "\n"


def of(model: str, step: str) -> Drawn:
    """Draw a model, given as code, and one step of it."""
    return drawn(f"{HEAD}torch.manual_seed(0)\n{model}\n{STEP}{step}\n", "case.py")


def headline(picture: Drawn) -> str:
    return Picture(picture.svg).headline.text


def rows(picture: Drawn, tone: Tone) -> list[str]:
    return [text for card in picture.fitted.outline.cards for text in rows_of(card, tone)]


def rows_of(card: Card, tone: Tone) -> list[str]:
    return [row.left[0].text for row in card.rows if row.tone is tone]


def net(
    *lines: str, modules: str = "a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(8, 8)"
) -> str:
    """Write a model of some modules with these lines in its forward."""
    body = "\n        ".join(lines)
    return (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        f"        for name, module in dict({modules}).items():\n"
        "            setattr(self, name, module)\n"
        f"    def forward(self, x):\n        {body}\n"
        "model = Net()"
    )


def test_what_works_in_place_reads_what_it_writes() -> None:
    picture = of(
        "model = nn.Sequential(*(m for _ in range(4) for m in (nn.Linear(8, 8), nn.ReLU(inplace=True))))",
        "model(x).sum().backward()",
    )
    arrows = picture.fitted.outline.arrows
    joined = {(a.tail, a.head) for a in arrows if a.kind == "gradient"}
    places = [card.id for card in picture.fitted.outline.cards if card.tracked]
    assert joined == set(pairwise(places))


@pytest.mark.parametrize("cut", ["v.long().float()", "v.argmax(1, keepdim=True) * 1.0", "v.data"])
def test_a_cut_between_two_modules_is_an_arrow(cut: str) -> None:
    picture = of(
        net("v = self.a(x) * 2", f"v = ({cut}).expand(4, 8)", "return self.c(self.b(v))"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    cuts = Picture(picture.svg).of("cut", "loses")
    assert len(cuts) == 1
    assert "2 params get no gradient" in cuts[0].text


def test_a_cut_in_the_statement_of_a_loss_leads_to_it() -> None:
    picture = of(
        net("return self.a(x), self.b(self.c(x))"),
        "one, other = model(x)\n"
        "loss = F.mse_loss(one[:, 0].long().float(), x[:, 0]) + other.mean() + other.std()\n"
        "loss.backward()\nopt.step()\nopt.zero_grad()",
    )
    (cut,) = Picture(picture.svg).of("cut", "loses")
    cards = {card.title: card.lines[0] for card in Picture(picture.svg).cards}
    assert [cards[end].split()[0] for end in cut.ends] == ["a", "loss"]


def test_both_cuts_of_a_parameter_are_told() -> None:
    """Mending one of two ways would give it a gradient, whichever: none of them is harmless."""
    picture = of(
        net("v = self.a(x)", "w = self.b(v.detach())", "return w + self.c((v > 0).float())"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    told = headline(picture)
    assert "no parameter loses" not in told
    assert "a part of the gradient" not in told
    assert "detach" in told
    assert "and on another way: ✂ >: non-differentiable function" in told
    chips = [cut.text for cut in Picture(picture.svg).of("cut", "loses")]
    assert "detach" in "".join(chips)
    assert "non-differentiable function" in "".join(chips)


def test_what_left_torch_is_a_cause() -> None:
    picture = of(
        net("v = self.a(x)", "return self.c(self.b(torch.tensor(v.tolist())))"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert "✂ value copied out case.py line 12, after a" in headline(picture)


def test_what_no_loss_uses_is_one_cause() -> None:
    picture = of(
        net("self.c(self.b(x))", "return self.a(x)"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert "one cause: c the loss does not use what it made" in headline(picture)


def test_zeros_are_told_with_the_line_that_makes_them() -> None:
    picture = of(
        net("v = self.a(x)", "v = 0.0 * v", "return self.c(self.b(x) + v)"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    told = headline(picture)
    assert "2 of these only zeros" in told
    assert "2 params get only zeros: mul case.py line 12" in told
    assert "! 2 of 2 params get only zeros" in rows(picture, Tone.ALARM)


def test_vanishing_is_told_with_the_line_that_does_it() -> None:
    picture = of(
        net("v = self.a(x)", "v = 1e-13 * v", "return self.c(self.b(x) + v)"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert "2 gradients vanish, below 1e-10: mul case.py line 12" in headline(picture)
    assert rows(picture, Tone.ALARM)


def test_what_fades_slowly_has_no_line() -> None:
    picture = of(
        net("v = self.a(x)", *["v = 0.01 * v"] * 7, "return self.c(self.b(x) + v)"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    (line,) = [t for t in Picture(picture.svg).headline.lines if "vanish" in t]
    assert "line" not in line
    assert line.endswith("a")


@pytest.mark.parametrize("training", [True, False])
def test_frozen_batch_norms_that_move_are_told_as_torch_has_them(training: bool) -> None:
    model = net(
        "return self.c(self.bn(self.a(self.b(x))))",
        modules="a=nn.Linear(8, 8), b=nn.Linear(8, 8), bn=nn.BatchNorm1d(8), c=nn.Linear(8, 8)",
    )
    picture = of(
        f"{model}\nmodel.bn.requires_grad_(False)\nmodel.train({training})\n"
        "before = model.bn.running_mean.clone()",
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()\nloss.item()\n"
        "y = x + 1\ny = y * 2\ny = y - 1\ny = y / 2",
    )
    names = picture.names
    moved = not torch.equal(names["before"], names["model"].bn.running_mean)
    assert moved is training
    assert ("yet train mode moved its running stats" in headline(picture)) is moved
    assert bool(rows(picture, Tone.ALARM)) is moved


def test_what_no_optimizer_has_is_told_and_not_in_red() -> None:
    picture = of(
        net("return self.c(self.b(self.a(x)))"),
        "model.b = nn.Linear(8, 8)\nloss = model(x).pow(2).mean()\n"
        "loss.backward()\nopt.step()\nopt.zero_grad()",
    )
    told = headline(picture)
    assert "2 of these in no optimizer" in told
    assert "no optimizer has it: b made in case.py line" in told
    assert not Picture(picture.svg).of("lost")


def test_a_leaf_that_was_computed_is_no_parameter_of_a_model() -> None:
    picture = of(
        net("v = self.a(x).detach().requires_grad_()", "return self.c(self.b(v))"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert headline(picture).startswith("6 parameters: 4 get a gradient ✓, 2 get none ✗")


def test_two_modules_never_have_one_name() -> None:
    inner = (
        "class Inner(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.one, self.c = nn.Linear(8, 8), nn.Linear(8, 8)\n"
        "    def forward(self, x):\n"
        "        return self.c(self.one(x).detach())\n"
    )
    picture = of(
        inner
        + net(
            "return self.c(self.b(self.a(x)))",
            modules="a=nn.Linear(8, 8), b=Inner(), c=nn.Linear(8, 8)",
        ),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    names = [
        row.left[0].text
        for card in picture.fitted.outline.cards
        for row in card.rows
        if row.left[0].look == "name"
    ]
    assert len(names) - len(set(names)) <= 1  # both parts of b
    assert "c" in names


def test_no_card_comes_before_what_it_reads() -> None:
    """A statement between two modules, the second of which is opened, belongs to what reads it."""
    inner = (
        "class Inner(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)\n"
        "        self.three = nn.Linear(8, 8)\n"
        "    def forward(self, x):\n"
        "        self.three(x)\n"
        "        return self.two(self.one(x))\n"
    )
    picture = of(
        inner
        + net(
            "v = self.a(x)",
            "w = v + v.detach()",
            "u = self.b(w)",
            "return self.c(w + u)",
            modules="a=nn.Linear(8, 8), b=Inner(), c=nn.Linear(8, 8)",
        ),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert has_no_circle(picture.cards.links)


def test_what_a_statement_of_two_results_reads_stands_before_it() -> None:
    """A module reads the one result, the loss alone the other, with what was made for it."""
    picture = of(
        "model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))\n"
        "states, rewards = [torch.randn(8) for _ in range(4)], [1.0, 0.5, 2.0, 0.0]",
        "with torch.no_grad():\n"
        "    last = model(states[-1])\n"
        "returns = []\n"
        "for r in reversed(rewards):\n"
        "    last = r + 0.9 * last\n"
        "    returns.insert(0, last)\n"
        "seen, wanted = torch.stack(states), torch.stack(returns)\n"
        "loss = (model(seen) - wanted).pow(2).mean()\nloss.backward()\nopt.step()",
    )
    assert has_no_circle(picture.cards.links)


@pytest.mark.parametrize(
    "loss",
    [
        "F.mse_loss(head(model(x).mean(0)), torch.ones(3))",
        "F.mse_loss(head(model(x).mean(0)), torch.ones(3)) + head(x.relu()).pow(2).mean()",
        "(head(model(x).relu()) - head(x)).pow(2).mean()",
    ],
)
def test_what_a_module_in_the_statement_of_a_loss_uses_is_no_part_of_the_loss(loss: str) -> None:
    picture = of(
        f"{net('return self.c(self.b(self.a(x)))')}\nhead = nn.Linear(8, 3)",
        f"loss = {loss}\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert has_no_circle(picture.cards.links)
    cards = picture.fitted.outline.cards
    assert cards[-1].title == "loss"
    assert all(arrow.tail != cards[-1].id for arrow in picture.fitted.outline.arrows)
    assert not any("from loss" in row for row in rows(picture, Tone.SAID))
    users = picture.fitting.operations.users
    (loss_unit,) = [unit for unit in picture.cards.units if unit.kind is Kind.LOSS]
    assert all({*loss_unit.ops}.issuperset(users[at]) for at in loss_unit.ops)


def test_a_part_that_gets_only_zeros_is_opened_however_deep_it_stands() -> None:
    inner = (
        "class Inner(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)\n"
        "    def forward(self, x):\n"
        "        return self.two(x) + 0.0 * self.one(x)\n"
        "class Outer(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.first, self.inner = nn.Linear(8, 8), Inner()\n"
        "    def forward(self, x):\n"
        "        return self.inner(self.first(x))\n"
    )
    picture = of(
        inner + net("return self.c(self.b(self.a(x)))", modules="a=Outer(), b=Outer(), c=Inner()"),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    alarms = [card for card in picture.fitted.outline.cards if rows_of(card, Tone.ALARM)]
    assert [card.title.rpartition(".")[2] for card in alarms] == ["one", "one", "one"]


def test_the_shape_of_a_card_is_that_of_its_result() -> None:
    """A BatchNorm writes its statistics after it has made what it returns."""
    picture = of(
        "model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 8))",
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()\n"
        "y = x + 1\ny = y * 2\ny = y - 1\ny = y / 2",
    )
    shapes = [card.rows[0].right for card in picture.fitted.outline.cards]
    assert "[8]" not in shapes


def test_a_frozen_module_that_is_never_called_is_no_loss() -> None:
    picture = of(
        net("return self.c(self.a(x))") + "\nmodel.b.requires_grad_(False)",
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert headline(picture).startswith("6 parameters: 4 get a gradient ✓, 2 are frozen")
    assert not Picture(picture.svg).of("lost")


def test_labels_that_a_loss_reshapes_are_not_the_result_of_the_last_module() -> None:
    """transformers make the loss inside of the model, by a module that they make there."""
    made = "return nn.CrossEntropyLoss()(self.c(self.b(self.a(x))).view(-1, 4), y.view(-1))"
    picture = of(
        net(made, modules="a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(8, 4)")
        + "\ny = torch.zeros(2, 2, dtype=torch.long)",
        "loss = model(x)\nloss.backward()\nopt.step()",
    )
    shapes = {card.title: card.rows[0].right for card in picture.fitted.outline.cards}
    assert shapes["c"] == "[4, 4]"


@pytest.mark.parametrize(
    ("made", "title"),
    [
        ("loss = F.cross_entropy(out, y)", "loss"),
        ("loss = criterion(out, y)", "loss"),
        ("loss = nn.CrossEntropyLoss(reduction='sum')(out, y)", "loss"),
        ("loss = holder.criterion(out, y)", "loss"),
        (
            "losses['ce'] = criterion(out, y); loss = losses['ce']",
            "losses['ce'] = criterion(out, y)",
        ),
        ("criterion(out, y).backward()", "criterion(out, y)"),
    ],
)
def test_the_loss_of_a_criterion_has_its_value_and_says_that_a_backward_began(
    made: str, title: str
) -> None:
    backward = "" if "backward" in made else "\nloss.backward()"
    picture = of(
        net("return self.c(self.b(self.a(x)))")
        + "\ny = torch.zeros(4, dtype=torch.long); losses = {}; criterion = nn.CrossEntropyLoss()"
        + "\nholder = nn.Module(); holder.criterion = criterion",
        f"out = model(x)\n{made}{backward}\nopt.step()",
    )
    *_, last = picture.fitted.outline.cards
    assert last.rows[0].left[0].text == title
    expected = functional.cross_entropy(picture.names["out"], picture.names["y"])
    many = 4 if "sum" in made else 1
    assert float(last.rows[0].right) == pytest.approx(expected.item() * many, rel=1e-3)
    assert rows_of(last, Tone.GRAD_FN) == ["NllLossBackward0 · backward() starts with 1"]


def test_a_model_that_makes_its_own_loss_says_that_a_backward_began() -> None:
    picture = of(
        net("return self.c(self.b(self.a(x))).pow(2).mean()"),
        "loss = model(x)\nloss.backward()\nopt.step()",
    )
    assert rows(picture, Tone.GRAD_FN) == ["MeanBackward0 · backward() starts with 1"]


def test_the_blocks_of_a_closed_model_have_their_whole_names() -> None:
    picture = of(
        net(
            "for block in self.blocks:",
            "    x = block(x).tanh()",
            "return x",
            modules="blocks=nn.ModuleList(nn.Linear(8, 8) for _ in range(6))",
        ),
        "loss = (model(x) - nn.Linear(8, 8)(x)).pow(2).mean()\nloss.backward()\nopt.step()",
    )
    model = next(card for card in picture.fitted.outline.cards if card.title == "model(x)")
    named = [row.left[0].text for row in model.rows if row.left[0].look == "name"]
    assert named == ["model(x)", *(f"blocks.{i}" for i in range(6))]


LOGGED = """\
log = {}
loss = F.mse_loss(model(x), torch.zeros(4, 8))
log["loss"] = loss.clone().detach()
scaled = loss / 2
log["scaled"] = scaled.detach().clone()
scaled.backward()
opt.step()"""


def test_a_loss_that_is_logged_is_a_loss_still() -> None:
    """Lightning logs a clone of the loss, and the number that backward begins at."""
    picture = of(net("return self.c(self.b(self.a(x)))"), LOGGED)
    *_, last = picture.fitted.outline.cards
    value = picture.names["scaled"].item()
    assert last.title == "scaled"
    assert last.rows[0].left[1].text == "mse_loss, div"
    assert float(last.rows[0].right) == pytest.approx(value, rel=1e-3)
    assert not any(
        "then" in span.text for card in picture.fitted.outline.cards for span in card.rows[0].left
    )


CHECKPOINTED = """\
from torch.utils.checkpoint import checkpoint
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 8)
    def inside(self, x):
        return self.c(self.b(x).relu()) + self.b(x)
    def forward(self, x):
        return checkpoint(self.inside, self.a(x).relu() * 2, use_reentrant=True)
model = Net()
model.c.bias.requires_grad_(False)"""


def test_what_a_reentrant_checkpoint_fills_is_no_parameter_without_gradient() -> None:
    step = "y = x * 1\n" * 12 + "loss = model(y).pow(2).mean()\nloss.backward()\nopt.step()"
    picture = of(CHECKPOINTED, step)
    got = [name for name, p in picture.names["model"].named_parameters() if p.grad is not None]
    assert got == ["a.weight", "a.bias", "b.weight", "c.weight"]
    assert headline(picture).startswith("5 parameters: 4 get a gradient ✓, 1 is frozen")
    assert not Picture(picture.svg).of("lost")


def test_zeros_are_counted_beside_what_gets_a_gradient() -> None:
    """LoRA begins with zeros in B: A gets zeros in the first step."""
    picture = of(
        net("return self.a(x) + self.c(self.b(x))")
        + "\nnn.init.zeros_(model.c.weight)\nmodel.a.requires_grad_(False)",
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()",
    )
    zeros = [
        name
        for name, p in picture.names["model"].named_parameters()
        if p.grad is not None and not p.grad.any()
    ]
    assert zeros == ["b.weight", "b.bias"]
    assert headline(picture).startswith(
        "6 parameters: 4 get a gradient, 2 of these only zeros, 2 are frozen"
    )


def test_a_module_that_only_makes_data_is_no_card() -> None:
    """Rotary angles and time steps are made by modules without parameters."""
    rotary = (
        "class Angles(nn.Module):\n"
        "    @torch.no_grad()\n"
        "    def forward(self, x):\n"
        "        return torch.arange(8.0).cos()\n"
    )
    lines = ("p = self.angles(x)", "return self.c(self.b(self.a(x * p) * p) * p)")
    modules = "angles=Angles(), a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(8, 8)"
    picture = of(
        rotary + net(*lines, modules=modules),
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()",
    )
    titles = [card.title for card in picture.fitted.outline.cards]
    assert titles[0] == "x"
    assert titles[-1] == "loss"
    assert not any("angles" in title for title in titles)


def test_the_counts_of_the_headline_are_never_cut_off() -> None:
    """The first step of LoRA beside a module that is not called: four counts."""
    picture = of(
        net(
            "return self.a(x) + self.c(self.b(x))",
            modules=", ".join(f"{name}=nn.Linear(8, 8)" for name in "abcd"),
        )
        + "\nnn.init.zeros_(model.c.weight)\nmodel.a.requires_grad_(False)",
        "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()",
    )
    said = "8 parameters: 4 get a gradient, 2 of these only zeros, 2 get none ✗, 2 are frozen"
    assert said in headline(picture).replace(" | ", " ")


# --- what the headline says of causes -------------------------------------------------------------

BLOCKS = (
    "class Block(nn.Module):\n"
    "    def __init__(self, cut):\n"
    "        super().__init__()\n"
    "        self.one, self.two, self.cut = nn.Linear(8, 8), nn.Linear(8, 8), cut\n"
    "    def forward(self, x):\n"
    "        x = x.data if self.cut == 'data' else x\n"
    "        x = x + self.one(x)\n"
    "        x = x.detach() if self.cut == 'detach' else x\n"
    "        return x + self.two(x)\n"
    "model = nn.Sequential(*(Block({3: 'data', 6: CUT}.get(i)) for i in range(8)))\n"
)
PLAIN_STEP = "loss = model(x).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()"


@pytest.mark.parametrize("second", ["'detach'", "None"])
def test_mending_the_upper_of_two_cuts_in_series_is_said_to_give_nothing(second: str) -> None:
    model = BLOCKS.replace("CUT", second)
    picture = of(model, PLAIN_STEP)
    told = headline(picture)
    mended = of(model.replace("x.data if", "x if"), PLAIN_STEP)
    upper = mended.names["model"][0].one.weight
    torchs = upper.grad is None and not any(w.name == "0.one.weight" for w in picture.graph.modules)
    says = "mending this alone gives nothing, next comes ✂ detach" in told
    # the gradients of the mended model are gone by zero_grad(): its headline has what torch did
    assert torchs
    assert says is ("get none" in headline(mended))
    assert says is (second == "'detach'")


def test_a_cut_skip_is_told_from_those_that_send_a_gradient() -> None:
    model = (
        "class Down(nn.Linear):\n    pass\n"
        "class Up(nn.Linear):\n    pass\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.down = nn.ModuleList(Down(8, 8) for _ in range(4))\n"
        "        self.mid = nn.Linear(8, 8)\n"
        "        self.up = nn.ModuleList(Up(8, 8) for _ in range(4))\n"
        "    def forward(self, x):\n"
        "        kept = []\n"
        "        for k, down in enumerate(self.down):\n"
        "            x = torch.relu(down(x))\n"
        "            kept.append(x.detach() if k == 1 else x)\n"
        "        x = self.mid(x.sin())\n"
        "        for up in self.up:\n"
        "            x = up(x.cos() + kept.pop())\n"
        "        return x\n"
        "model = Net()"
    )
    told = headline(of(model, PLAIN_STEP))
    assert "4 params lose a part of the gradient of loss: ✂ detach case.py line 19" in told
    assert "3 of 4 skips of this kind send a gradient, this one does not" in told


def test_two_cuts_in_one_line_are_two_causes() -> None:
    picture = of(
        net(
            "u, v = torch.relu(self.a(x)), torch.relu(self.b(x))",
            "h = torch.cat([u.detach(), v.detach()], 1)",
            "return self.c(h)",
            modules="a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(16, 8)",
        ),
        PLAIN_STEP,
    )
    lines = Picture(picture.svg).headline.lines
    assert any("2 params: ✂ detach case.py line 12, u.detach()" in line for line in lines)
    assert any("2 params: ✂ detach case.py line 12, v.detach()" in line for line in lines)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_the_line_of_what_switches_gradients_off_is_told(mode: str) -> None:
    model = (
        "def helper(layer, v):\n"
        "    return layer(v)\n"
        "class Enc(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = nn.Linear(8, 8)\n"
        "    @torch.no_grad()\n"
        "    def forward(self, x):\n"
        "        return torch.relu(self.fc(x))\n"
    ) + net(
        "v = self.a(x)",
        f"with torch.{mode}():",
        "    # a comment",
        "    v = torch.relu(v)",
        "    v = helper(self.b, v)",
        "with torch.enable_grad():",
        "    return self.c(v.clone())",
        modules="a=Enc(), b=nn.Linear(8, 8), c=nn.Linear(8, 8)",
    )
    picture = of(model, PLAIN_STEP)
    source = picture.source.splitlines()
    switch = next(k for k, text in enumerate(source, 1) if f"with torch.{mode}" in text)
    decorator = next(k for k, text in enumerate(source, 1) if "@torch.no_grad" in text)
    lines = Picture(picture.svg).headline.lines
    told = f"2 params: ✂ @no_grad on forward() case.py line {decorator} · those of a"
    assert any(told in line for line in lines)
    told = f"2 params: ✂ {mode} case.py line {switch} · those of b"
    assert any(told in line for line in lines)


def test_a_switch_that_is_a_statement_is_told_with_its_line() -> None:
    picture = of(
        net("torch.set_grad_enabled(False)", "v = self.a(x)", "v = self.b(v)", "return self.c(v)"),
        "try:\n    out = model(x)\nfinally:\n    torch.set_grad_enabled(True)\n"
        "loss = (out + model.c(x)).pow(2).mean()\nloss.backward()\nopt.step()\nopt.zero_grad()\n"
        "y = x + 1\ny = y * 2\ny = y - 1\ny = y / 2",
    )
    source = picture.source.splitlines()
    switch = next(k for k, text in enumerate(source, 1) if "set_grad_enabled(False)" in text)
    calls = [call for call in picture.graph.calls if call.source and not call.bookkeeping]
    assert {call.source.off for call in calls if not call.grad_mode} == {switch}
    assert {call.source.off for call in calls if call.grad_mode} == {None}


def test_what_no_optimizer_has_is_told_with_the_step_that_leaves_it_out() -> None:
    picture = of(
        net("return self.c(self.b(self.a(x)))"),
        "opt = torch.optim.SGD([*model.a.parameters(), *model.c.parameters()], lr=0.1)\n"
        + PLAIN_STEP,
    )
    step = picture.source.splitlines().index("opt.step()") + 1
    assert f"no optimizer has it: b · left out of opt.step() case.py line {step}" in headline(
        picture
    )


def test_a_module_whose_parameters_are_tied_to_a_called_one_is_told() -> None:
    model = (
        net("return self.c(self.a(x))")
        + "\nmodel.b.weight, model.b.bias = model.c.weight, model.c.bias"
    )
    told = headline(of(model, PLAIN_STEP))
    assert "b was never called; its parameters are those of c (tied)" in told
    attention = net(
        "return self.c(self.a(x[None], x[None], x[None])[0][0])",
        modules="a=nn.MultiheadAttention(8, 2), c=nn.Linear(8, 8)",
    )
    assert "never called" not in headline(of(attention, PLAIN_STEP))


def test_lora_in_its_first_step_is_no_fault() -> None:
    """lora_B starts at zero: torch gives lora_A zeros and lora_B something."""
    source = read("lora_checkpoint").replace(
        'nn.init.normal_(self.lora_B["default"].weight, std=0.02)',
        'nn.init.zeros_(self.lora_B["default"].weight)',
    )
    picture = drawn(source, "lora.py")
    model = picture.names["model"]
    named = dict(model.named_parameters())
    zero = [n for n, p in named.items() if p.grad is not None and not p.grad.any()]
    assert len(zero) == 12
    assert all("lora_A" in name for name in zero)
    told = headline(picture)
    assert "12 params get only zeros: lora_B starts at zero" in told
    assert not Picture(picture.svg).of("alarm")
    assert any("12 of 24: zeros" in text for text in rows(picture, Tone.OFF))
    assert any("12 of 24 params get a gradient (+60 frozen)" in t for t in rows(picture, Tone.GETS))


def test_zeros_of_a_generator_are_told_with_its_name() -> None:
    source = (
        HEAD
        + "torch.manual_seed(0)\n"
        + "G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))\n"
        + "D = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))\n"
        + "optG = torch.optim.Adam(G.parameters())\noptD = torch.optim.Adam(D.parameters())\n"
        + "real = torch.randn(4, 16)\n"
        + MARKER
        + "\nfake = G(torch.randn(4, 8))\n"
        + "lossD = D(real).mean() - D(fake.detach()).mean()\nlossD.backward()\n"
        + "dead = 0.0 * D(fake)\nlossG = dead.mean()\nlossG.backward()\n"
    )
    picture = drawn(source, "gan.py")
    assert all(not p.grad.any() for p in picture.names["G"].parameters())
    told = headline(picture)
    assert "G 4 of 4 only zeros" in told
    assert "mul gan.py line 14" in told


# --- nan and inf ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("v = v + torch.sqrt((v - v).abs())", "SqrtBackward0"),
        ("v = v + torch.log(torch.relu(v) * 0.0 + 0.0).clamp(max=0).clamp(min=-1e30) * 0.0", ""),
        ("v = v * torch.where(v > 9, v, v.pow(2) / (v - v + 1e-30).pow(9))", ""),
    ],
)
def test_where_nan_appears_is_where_torchs_hooks_see_it(line: str, node: str) -> None:
    model = net("v = self.a(x)", line, "return self.c(self.b(v))")
    picture = of(model, "loss = model(x).pow(2).mean()\nloss.backward()")
    first: list[str] = []
    names: dict[str, Any] = {}
    code = picture.source.replace("loss.backward()", "")
    with torch.random.fork_rng():
        exec(compile(code, "case.py", "exec"), names)

    def watch(fn: Any) -> None:
        def hook(sent: Any, came: Any) -> None:
            bad = any(g is not None and not g.isfinite().all() for g in sent)
            ok = all(g is None or g.isfinite().all() for g in came)
            if bad and ok:
                first.append(fn.name())

        fn.register_hook(hook)

    todo, seen = [names["loss"].grad_fn], set()
    while todo:
        fn = todo.pop()
        if fn is not None and fn not in seen:
            seen.add(fn)
            watch(fn)
            todo += [following for following, _ in fn.next_functions]
    names["loss"].backward()
    told = [t for t in Picture(picture.svg).headline.lines if t.startswith("nan or inf")]
    assert bool(told) is bool(first)
    if first:
        assert told[0].startswith(f"nan or inf appear first in the backward of {first[0]} case.py")
        assert not node or first[0] == node
    broken = [p for p in names["model"].parameters() if not p.grad.isfinite().all()]
    said = sum(len(picture.cards.states.of(unit).nan) for unit in picture.cards.units)
    assert said == len(broken)


@pytest.mark.parametrize("evaluation", ["", "with torch.no_grad(): print(model(x).sum())"])
def test_a_model_is_opened_beside_a_criterion_and_an_evaluation(evaluation: str) -> None:
    step = "loss = nn.MSELoss()(model(x), torch.zeros(4, 8))\nloss.backward()\nopt.step()\n"
    picture = of(net("return self.c(self.b(self.a(x)))"), step + evaluation)
    tracked = [card.title for card in picture.fitted.outline.cards if card.tracked]
    assert tracked[-1] == "loss"
    assert len(tracked) > 2
    assert not any("model" in title for title in tracked)


def test_a_constant_term_of_a_loss_has_its_row() -> None:
    step = """
out = model(x)
with torch.no_grad():
    other = model.b(out).sum(1)
fit, extra = out.pow(2).mean(), other.mean()
loss = fit + extra
loss.backward()
opt.step()"""
    picture = of(net("return self.c(self.a(x))"), step)
    *_, loss = picture.fitted.outline.cards
    constant = next(row for row in loss.rows if row.left[0].text == "extra")
    assert constant.left[1].text == "a constant here: no gradient back"
    extra = picture.names["extra"]
    assert not extra.requires_grad
    assert float(constant.right) == pytest.approx(extra.item(), rel=1e-3)


def test_no_grad_inside_a_loss_is_told_where_it_costs_a_gradient() -> None:
    step = """
left, right = model.a(x), model.b(x)
with torch.no_grad():
    scaled = right * 2
loss = (left + scaled).pow(2).mean()
loss.backward()
opt.step()"""
    picture = of(net("return self.c(self.a(x))"), step)
    assert picture.names["model"].b.weight.grad is None
    lost = rows(picture, Tone.LOST)
    assert any("no_grad" in text for text in lost), lost


def test_what_only_writes_gradients_is_no_card() -> None:
    step = """
loss = model(x).pow(2).mean()
loss.backward()
nn.utils.clip_grad_norm_(model.parameters(), 0.1)
for p in model.parameters():
    if p.grad is not None: p.grad.mul_(0.5)
opt.step()
model.a.weight.grad.zero_()"""
    picture = of(net("return self.c(self.b(self.a(x)))"), step)
    titles = [card.title for card in picture.fitted.outline.cards]
    assert titles == ["x", "a", "{b,c}", "loss"]


def test_a_step_by_hand_says_what_it_moves() -> None:
    step = """
loss = model(x).pow(2).mean()
loss.backward()
with torch.no_grad():
    for p in model.parameters():
        p -= 0.1 * p.grad"""
    picture = of(net("return self.c(self.b(self.a(x)))"), step)
    assert any(text.startswith("moves ") for text in rows(picture, Tone.OFF))


@pytest.mark.parametrize(
    ("between", "told"),
    [
        ("", True),
        ("opt.step()", True),
        ("other.zero_grad()", True),  # of another model
        ("model.zero_grad()", False),
        ("opt.zero_grad(set_to_none=False)", False),
        ("for p in model.parameters(): p.grad.zero_()", False),
    ],
)
def test_a_gradient_that_another_loss_left_is_told(between: str, told: bool) -> None:
    picture = of(
        "model, other = nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 8)",
        "lossD = model(x).pow(2).mean()\nlossD.backward()\n"
        f"{between}\n"
        "lossG = model(other(x)).mean()\n"
        "left = [p.grad for p in model.parameters()]\n"
        "is_left = all(g is not None and bool(g.any()) for g in left)\n"
        "lossG.backward()\nopt.step()\nopt.zero_grad()",
    )
    assert picture.names["is_left"] is told
    lines = Picture(picture.svg).headline.lines
    (line,) = (line for line in lines if "lossG.backward()" in line)
    assert ("2 of 2 ✓ (added to the gradient of lossD)" in line) is told
    assert sum("added to" in line for line in lines) == told


def test_statements_under_one_switch_stand_in_one_frame() -> None:
    picture = of(
        net(
            "v = self.front(x)",
            "return self.c(v)",
            modules="a=nn.Linear(8, 8), b=nn.Linear(8, 8), c=nn.Linear(8, 8)",
        ).replace(
            "    def forward",
            "    @torch.no_grad()\n    def front(self, x):\n        v = self.a(x)\n"
            "        v = torch.relu(v) * 2\n        return torch.tanh(self.b(v))\n    def forward",
        ),
        PLAIN_STEP,
    )
    (frame,) = picture.fitted.outline.frames
    assert frame.kind == "no_grad"
    told = " ".join(frame.label)
    assert "@no_grad on front()" in told
    assert "4 params get no gradient" in told


# --- cuts in the loops of a module ----------------------------------------------------------------

SCANS = (
    "class Scan(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n"
    "        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)\n"
    "    def forward(self, x):\n        h, out = x, x\n        for _ in range({n}):\n"
    "            h = torch.tanh(self.a(out) + h)\n            out = out + h\n            {cut}\n"
    "        return self.b(out)\n"
    "model = nn.Sequential(Scan(), Scan())"
)


def test_a_cut_in_a_loop_inside_of_modules_is_a_row_and_no_cards() -> None:
    picture = of(SCANS.format(n=6, cut="h = h.detach()"), "model(x).pow(2).mean().backward()")
    told = headline(picture)
    assert "a cut by which no parameter loses its whole gradient: ✂ detach" in told.replace(
        "  ", " "
    )
    cut = [text for text in rows(picture, Tone.CUT) if "inside" in text]
    assert len(cut) == 2
    assert not [card for card in picture.fitted.outline.cards if "between two cuts" in card.title]


def test_a_cut_in_a_loop_that_costs_a_gradient_is_drawn() -> None:
    cut = "h = h.detach()\n            out = out.detach()"
    picture = of(SCANS.format(n=6, cut=cut), "model(x).pow(2).mean().backward()")
    assert "get none" in headline(picture)
    assert "✂ detach case.py line 15" in headline(picture).replace("  ", " ")


def test_a_model_whose_loop_cuts_nothing_says_nothing_of_it() -> None:
    picture = of(SCANS.format(n=6, cut="pass"), "model(x).pow(2).mean().backward()")
    assert "✂" not in picture.svg
