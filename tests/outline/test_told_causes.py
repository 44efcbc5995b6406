"""What a headline says of causes that no arrow shows, beside programs close to them where nothing of
the kind may be said."""

from __future__ import annotations

import pytest
import torch
from drawn import Drawn, drawn
from model_scripts import MARKER, Namespace, run
from svg_text import Picture
from torch import nn

import gradviz as gv

HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\ntorch.manual_seed(0)\n"


def of(setup: str, step: str) -> Drawn:
    """Draw one step of a program."""
    return drawn(f"{HEAD}{setup}\n{MARKER}\n{step}\n", "case.py")


def headline(picture: Drawn) -> str:
    return Picture(picture.svg).headline.text


def red(picture: Drawn) -> list[str]:
    costly = {"lost", "alarm", "loses"}
    return [seen.text for seen in Picture(picture.svg).all if seen.kinds & costly]


LEAVES = (
    "x, y = torch.randn(4, 8), torch.randn(4, 8)\n"
    "w = torch.randn(8, 8, requires_grad=True)\n"
    "temp = torch.ones(1, requires_grad=True)"
)
SCRIPT = (
    "h = torch.tanh(x @ w)\ns = h @ h.T\ns = s / {temp}\na = s.softmax(-1)\nm = a @ h\nr = m + h\n"
    "n = r - r.mean(0)\nv = n.pow(2).mean(0)\nz = n / (v + 1e-5).sqrt()\nloss = (z - y).pow(2).mean()\n"
    "loss.backward()"
)


def test_a_leaf_of_which_only_a_copy_was_read_is_a_cause_with_its_name() -> None:
    picture = of(LEAVES, SCRIPT.format(temp="temp.item()"))
    assert "1 gets none ✗" in headline(picture)
    assert "✂ value copied out case.py line 11, after temp" in headline(picture)
    assert any("temp" in text and "copied out" in text for text in red(picture))


def test_a_leaf_that_is_used_and_logged_lost_nothing() -> None:
    picture = of(LEAVES, SCRIPT.format(temp="temp") + "\nlog = temp.item(), w.tolist()")
    assert "copied out" not in headline(picture)
    assert "all 2 get a gradient ✓" in headline(picture)
    assert red(picture) == []


ROUTED = (
    "class Moe(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.gate, self.out = nn.Linear(8, 3), nn.Linear(8, 8)\n"
    "        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))\n"
    "    def forward(self, x):\n"
    "        p, which = self.gate(x).softmax(-1).max(-1)\n"
    "        y = torch.zeros_like(x)\n"
    "        for i, expert in enumerate(self.experts):\n"
    "            rows = (which == i).nonzero()[:, 0]\n"
    "            y = y.index_add(0, rows, {weight}expert(x[rows]))\n"
    "        return self.out(y)\n"
    "model, x = Moe(), torch.randn(12, 8)"
)
STEP = "loss = model(x).pow(2).mean()\nloss.backward()"


def test_indices_of_which_a_loss_uses_nothing_else_are_a_cut() -> None:
    picture = of(ROUTED.format(weight=""), STEP)
    assert "✂ max: integer or bool dtype case.py line 11" in headline(picture)
    assert "gate" in headline(picture)
    assert any("✂ integer" in text and "2 params" in text for text in red(picture))


def test_indices_beside_values_that_a_loss_uses_are_none() -> None:
    picture = of(ROUTED.format(weight="p[rows, None] * "), STEP)
    assert "✂" not in Picture(picture.svg).headline.text
    assert red(picture) == []


BESIDE = (
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a, self.b = nn.Linear(8, 16), nn.Linear(8, 8)\n"
    "    def forward(self, x):\n"
    "        return self.b(x)\n"
    "gates, net, x = nn.Linear(8, 16), Net(), torch.randn(4, 8)\n"
    "start = torch.zeros(4, 8, requires_grad=True)"
)
RECURRENT = (
    "f, u = gates(x).chunk(2, 1)\nc = torch.sigmoid(f) * torch.tanh(u)\nk = torch.relu(c)\n"
    "s = {other} * start + c * torch.sigmoid(start)\nd = torch.tanh(s) + torch.sin(s) * torch.cos(s)\n"
    "e = net(d)\nloss = e.pow(2).mean() + d.abs().mean()\nloss.backward()"
)


def test_a_written_cut_beside_values_of_the_same_card_is_told_though_it_costs_nothing() -> None:
    picture = of(BESIDE, RECURRENT.format(other="c.data"))
    assert "2 params lose a part of the gradient of loss: ✂ .data case.py line 17" in headline(
        picture
    )
    assert not any(".data" in text for text in red(picture))


def test_a_comparison_beside_them_is_what_every_program_has() -> None:
    picture = of(BESIDE, RECURRENT.format(other="(c > 0).float()"))
    assert "part of the gradient" not in headline(picture)
    assert "no parameter loses" not in headline(picture)


BLOCKS = (
    "class Block(nn.Module):\n"
    "    def __init__(self, i, o):\n"
    "        super().__init__()\n"
    "        self.a, self.side = nn.Linear(i, o), nn.Linear(i, o) if i != o else nn.Identity()\n"
    "    def forward(self, x):\n"
    "        return torch.relu(self.a(x)) + self.side(x).detach()\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.blocks = nn.Sequential(*(Block(i, o) for i, o in {sizes}))\n"
    "        self.head = nn.Linear(8, 2)\n"
    "    def forward(self, x):\n"
    "        return self.head(self.blocks(x))\n"
    "model, x = Net(), torch.randn(4, 8)"
)


def test_blocks_cut_alike_are_closed_and_those_that_lose_by_it_are_named() -> None:
    sizes = "[(8, 8), (8, 16), (16, 16), (16, 8), (8, 8)]"
    picture = of(BLOCKS.format(sizes=sizes), STEP)
    assert "inside blocks.{1,3}" in headline(picture)
    titles = [card.rows[0].left[0].text for card in picture.fitted.outline.cards]
    assert titles[1:6] == ["0", "1", "2", "3", "4"]  # in the frame of blocks
    assert not any("before the cut" in seen.text for seen in Picture(picture.svg).cards)


def test_two_blocks_that_are_cut_are_opened() -> None:
    picture = of(BLOCKS.format(sizes="[(8, 16), (16, 8)]"), STEP)
    assert any("before the cut" in seen.text for seen in Picture(picture.svg).cards)


UNCALLED = (
    "class Block(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)\n"
    "    def forward(self, x):\n"
    "        return x + torch.tanh(self.a(x))\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.h = nn.ModuleList(Block() for _ in range(3))\n"
    "        self.head, self.aux = nn.Linear(8, 2), nn.Linear(8, 2)\n"
    "    def forward(self, x):\n"
    "        for block in self.h:\n"
    "            x = block(x)\n"
    "        return self.head(x)\n"
    "model, x = Net(), torch.randn(4, 8)"
)


def test_modules_never_called_that_differ_in_numbers_are_one_cause_and_others_another() -> None:
    said = headline(of(UNCALLED, STEP))
    assert "6 params: h.{0..2}.b never called" in said
    assert "2 params: aux never called" in said


def test_what_no_loss_uses_in_several_blocks_is_one_cause() -> None:
    unread = "        c = torch.tanh(self.b(x))\n        return x + torch.tanh(self.a(x))\n"
    setup = UNCALLED.replace("        return x + torch.tanh(self.a(x))\n", unread)
    said = headline(of(setup, STEP))
    assert "6 params: h.{0..2}.b the loss does not use what it made" in said
    assert "2 params: aux never called" in said


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_a_stretch_without_gradients_is_told_with_the_module_it_is_written_in(mode: str) -> None:
    setup = UNCALLED.replace(
        "        return x + torch.tanh(self.a(x))\n",
        f"        with torch.{mode}():\n            g = self.b(x.detach())\n        return self.a(x) * g.clone()\n",
    )
    assert f"✂ {mode} case.py line 10, inside h.{{0..2}}" in headline(of(setup, STEP))


def test_autograd_grad_is_no_backward() -> None:
    step = (
        "x = x.requires_grad_()\nu = model(x)\ng, = torch.autograd.grad(u.sum(), x, create_graph=True)\n"
        "loss = g.pow(2).mean() + u.mean()\nloss.backward()"
    )
    said = headline(of(UNCALLED, step))
    assert "autograd.grad of u.sum(), case.py line 24: fills no .grad" in said
    assert "loss.backward() case.py line 26:" in said


LOOP = "for layer in layers:\n    x = layer(x)\n    x = torch.relu(x)\nloss = x.pow(2).mean()\nloss.backward()"


def test_several_modules_behind_one_variable_have_its_name_once() -> None:
    setup = "layers = [nn.Linear(8, 8) for _ in range(4)]\nx = torch.randn(4, 8)"
    picture = of(setup, LOOP)
    assert any(
        line.startswith("layer ×") for card in Picture(picture.svg).cards for line in card.lines
    )
    assert "{layer" not in picture.fitted.source


def test_a_list_of_modules_that_nobody_calls_names_those_that_a_loop_calls() -> None:
    setup = "layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))\nx = torch.randn(4, 8)"
    lines = [line for card in Picture(of(setup, LOOP).svg).cards for line in card.lines]
    assert any(line.startswith("layers.{1..3} ×3") for line in lines)


GAN = (
    "G = nn.Linear(4, 6)\nD = nn.Linear(6, 1)\n"
    "optG = torch.optim.SGD(G.parameters(), 0.1)\noptD = torch.optim.SGD(D.parameters(), 0.1)\n"
    "z = torch.randn(3, 4)"
)
ONE_OPTIMIZER = "opt = torch.optim.SGD(net.parameters(), 0.1)\nz = torch.randn(3, 4)"
GAN_STEP = (
    "fake = G(z)\nlossD = D(fake.detach()).mean()\nlossD.backward()\noptD.step()\n"
    "optG.zero_grad()\nlossG = -D({used}).mean()\nlossG.backward()\noptG.step()"
)


def test_a_detach_before_a_loss_that_trained_another_model_is_not_blamed() -> None:
    """Mending the other one alone gives the generator its gradient: torch says so."""
    picture = of(GAN, GAN_STEP.format(used="fake.detach()"))
    assert all(p.grad is None for p in picture.names["G"].parameters())
    mended = of(GAN, GAN_STEP.format(used="fake"))
    assert all(p.grad is not None for p in mended.names["G"].parameters())
    said = headline(picture)
    assert "one cause: ✂ detach case.py line 16" in said
    assert "on another way" not in said
    arrows = [arrow for arrow in picture.cards.arrows if arrow.kind == "cut"]
    loses = {" ".join(arrow.label).split("line ")[1].split()[0]: arrow.loses for arrow in arrows}
    assert loses == {"12": False, "16": True}


def test_both_detaches_are_told_where_each_loss_trains_the_whole_model() -> None:
    setup = f"net = nn.ModuleDict(dict(G=nn.Linear(4, 6), D=nn.Linear(6, 1)))\n{ONE_OPTIMIZER}"
    step = GAN_STEP.replace("optD", "opt").replace("optG", "opt").format(used="fake.detach()")
    for name in ("G", "D"):
        step = step.replace(f"{name}(", f"net['{name}'](")
    said = headline(of(setup, step))
    assert "one cause: ✂ detach case.py line 10" in said
    assert "on another way: ✂ detach case.py line 14" in said


CUT_LEAF = "a = torch.randn(3, requires_grad=True)\nw = torch.randn(3, requires_grad=True)"
LONG_WAY = (
    "h = {start}\nfor i in range(66):\n    h = (h * 0.9 + 0.1).sin()\nloss = ({end}).sum()\n"
    "loss.backward()"
)


def told(picture: Drawn) -> list[str]:
    return [seen.text for seen in Picture(picture.svg).all]


def test_a_parameter_that_is_cut_where_it_is_read_has_its_row_there() -> None:
    picture = of(CUT_LEAF, LONG_WAY.format(start="a.detach() * w", end="h"))
    assert picture.names["a"].grad is None
    assert any("✗ a: no gradient" in text for text in told(picture))
    assert any("✂ detach" in text for text in red(picture))


@pytest.mark.parametrize("start", ["a.detach() * w", "a.detach()"])
def test_a_parameter_that_is_cut_on_one_of_two_ways_lost_nothing_and_is_told(start: str) -> None:
    picture = of(CUT_LEAF, LONG_WAY.format(start=start, end="h + a"))
    assert picture.names["a"].grad is not None
    assert any("✂ detach, case.py line 8" in text for text in told(picture))
    assert red(picture) == []


def test_what_is_computed_after_a_cut_has_a_card_where_it_is_more_than_a_few_steps() -> None:
    picture = of(CUT_LEAF, LONG_WAY.format(start="a.detach()", end="h + a"))
    assert any("×66" in text for text in told(picture))


ACCUMULATED = """
net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), 0.01)
@torch.no_grad()
def features(x):
    return net[:2](x)
"""
ACCUMULATING = """
for i in range(8):
    loss = net[2:](features(torch.randn(4, 10))).pow(2).mean()
    if i == 0:
        loss = loss * torch.ones(())
    loss.backward()
    if i % 4 == 3:
        opt.step()
        opt.zero_grad()
"""


def test_what_no_grad_takes_in_every_round_gets_its_gradient_from_no_other_call() -> None:
    text = gv.Figure(of(ACCUMULATED, ACCUMULATING).graph).text
    assert "✗ 0 of 2 params get a gradient" in text
    assert "another call" not in text
    assert "✓ 2 of 2" not in text.replace("Linear  2 of 2 ✓", "")


def test_a_sparse_gradient_that_cannot_be_measured_has_no_norm() -> None:
    setup = (
        "net = nn.Sequential(nn.Embedding(5, 6, sparse=True), nn.Linear(6, 6), nn.ReLU(),"
        " nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 6))\nk = torch.tensor([1, 2, 2])"
    )
    step = "for _ in range(2):\n    loss = net(k).pow(2).mean()\n    loss.backward()"
    text = gv.Figure(of(setup, step).graph).text
    assert "✓ 1 of 1 from loss\n" in text
    assert "nan" not in text


def test_of_a_cut_of_what_is_older_than_the_recording_nobody_says_that_it_costs_nothing() -> None:
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    layers = (nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    judge = nn.Sequential(*layers)
    fake = generator(torch.randn(8, 4))
    with gv.record() as rec:
        judge(fake.data).mean().backward()
    told = rec.figure(depth=1).text
    assert "a cut of what is older than the recording" in told
    assert "no parameter loses" not in told


def test_what_a_backward_did_not_come_to_because_it_raised_is_no_unused_result() -> None:
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))
    layers = (nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    judge = nn.Sequential(*layers)
    fake = generator(torch.randn(8, 4))
    judge(fake).mean().backward()
    generator.zero_grad()
    with pytest.raises(RuntimeError, match="second time"), gv.record() as rec:
        judge(fake).mean().backward()
    told = rec.figure(depth=1).text
    assert "backward raised before a gradient came there" in told
    assert "does not use" not in told


def test_a_statement_under_no_grad_has_the_shape_of_what_it_makes() -> None:
    setup = (
        "tok, pos = nn.Embedding(9, 4), nn.Parameter(torch.zeros(7, 4))\n"
        "body = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))\nids = torch.randint(9, (2, 3))"
    )
    step = "with torch.no_grad():\n    x = tok(ids) + pos[:3]\n    y = body(x)"
    text = gv.Figure(of(setup, step).graph).text
    assert "[2, 3, 4]" in text.split("✗ pos: no gradient")[0].splitlines()[-2]
    assert "[3, 4]" not in text


def test_a_loss_without_a_name_is_called_by_how_it_begins_in_every_round() -> None:
    setup = (
        "body, head = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)), nn.Linear(4, 1)\n"
        "x = torch.randn(3, 4)\nopt = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)"
    )
    step = (
        "for _ in range(3):\n    opt.zero_grad()\n"
        "    (head(body(x)).pow(2).mean() + head(body(x)).abs().mean()).backward()\n    opt.step()"
    )
    text = gv.Figure(of(setup, step).graph).text
    assert "backward() case.py line 11, 3 times" in text
    assert "backward 1" not in text
    assert "from (head(body(x)).pow(2).me…)" in text


# --- errors ---------------------------------------------------------------------------------------

TWO_HEADS = (
    "enc = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))\n"
    "a = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))\n"
    "b = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))\nx = torch.randn(4, 8)"
)


def raised(step: str) -> str:
    """Return the text of the picture of a step that raises."""
    names: Namespace = {}
    recording = gv.record().look_into(names)
    opt = "opt = torch.optim.SGD([*enc.parameters(), *a.parameters(), *b.parameters()], 0.1)"
    source = f"{HEAD}{TWO_HEADS}\n{opt}\n{MARKER}\n{step}"
    with pytest.raises(RuntimeError):
        run(source, "case.py", lambda: recording, names)
    return gv.Figure(recording.graph, depth=1).text


def test_the_error_of_the_second_backward_stands_in_the_headline() -> None:
    told = raised(
        "h = enc(x)\none = a(h).mean()\ntwo = b(h).mean()\none.backward()\ntwo.backward()\n"
    )
    title, error, *_ = told.splitlines()
    assert title == "12 parameters: 12 get a gradient"  # with no tick: the other one lacks
    assert "two.backward() (case.py line 15) raised RuntimeError: Trying to backward" in error
    assert "while AddmmBackward0 of h = enc(x) (case.py line 11) ran" in error


def test_what_a_backward_that_raised_did_not_come_to_is_one_cause() -> None:
    told = raised(
        "h = enc(x)\ng = torch.sigmoid(a(h))\ng += 1\nloss = g.mean() + b(h).mean()\nloss.backward()\n"
    )
    assert "raised RuntimeError: one of the variables needed for gradient computation" in told
    assert "while SigmoidBackward0 of g = torch.sigmoid(a(h)) (case.py line 12) ran" in told
    assert told.count("backward raised before a gradient came there") == 1
    assert "… …" not in told


def test_of_a_step_that_runs_no_error_is_told() -> None:
    step = "h = enc(x)\none, two = a(h).mean(), b(h).mean()\n(one + two).backward()"
    told = gv.Figure(of(TWO_HEADS, step).graph).text
    assert told.startswith("12 parameters: all 12 get a gradient ✓")
    assert "raised" not in told


# --- modules side by side, in a sentence ----------------------------------------------------------

TOWERS = (
    "image, text = (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)) for _ in range(2))\n"
    "head = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))\nx = torch.randn(4, 8)"
)
LOSS = (
    "a, b = image(x), text(x)\nc = head(torch.cat([a, b], -1))\n"
    "small, both, out = a.abs().mean(), (a * b).mean(), c.pow(2).mean()\n"
    "loss = small + both + out{more}\nloss.backward()"
)


def test_a_term_of_a_loss_names_the_one_of_several_modules_that_it_comes_from() -> None:
    told = gv.Figure(of(TOWERS, LOSS.format(more="")).graph).text
    assert "small  of image  " in told
    assert "both  of image and text  " in told
    assert "skip from image and text" in told
    assert "of image, text" not in told


def test_a_cut_behind_one_of_several_modules_names_that_one() -> None:
    told = gv.Figure(of(TOWERS, LOSS.format(more=" + b.detach().mean()")).graph).text
    assert "text → loss" in told
    assert "image and text → loss" not in told


# --- gradients that a statement sets --------------------------------------------------------------

TASKS = (
    "body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))\n"
    "a, b = nn.Linear(16, 1), nn.Linear(16, 1)\nx, params = torch.randn(4, 8), [*body.parameters()]\n"
    "opt = torch.optim.SGD([*params, *a.parameters(), *b.parameters()], 0.1)"
)
WEIGHED = (
    "h = body(x)\none, two = a(h).mean(), b(h).mean()\n"
    "ga = torch.autograd.grad(one, params, retain_graph=True)\n"
    "gb = torch.autograd.grad(two, params, retain_graph=True)\n"
    "for p, u, v in zip(params, ga, gb):\n    {line}\n"
    "(one + two).backward(inputs=[*a.parameters(), *b.parameters()])\nopt.step()"
)


def test_a_gradient_that_a_statement_sets_is_one() -> None:
    picture = of(TASKS, WEIGHED.format(line="p.grad = u + 2 * v"))
    told = gv.Figure(picture.graph).text
    assert told.startswith("8 parameters: all 8 get a gradient ✓")
    assert ".grad is set by hand: body p.grad = u + 2 * v (case.py line 15)" in told
    assert "✓ 4 of 4: .grad is set by hand" in told
    assert not red(picture)


@pytest.mark.parametrize("line", ["p.grad = None", "w = u + 2 * v"])
def test_a_gradient_that_is_set_to_none_is_none(line: str) -> None:
    told = gv.Figure(of(TASKS, WEIGHED.format(line=line)).graph).text
    assert told.startswith("8 parameters: 4 get a gradient ✓, 4 get none ✗")
    assert "by hand" not in told
