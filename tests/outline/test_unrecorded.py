"""Outlines of graphs that were not recorded: counts against torch, groups, and what they say."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from model_scripts import Namespace, model_names, read, run
from planted import OPEN
from random_modules import make
from torch import nn
from torch.nn import functional as F

from gradviz.graph.finished import Finished
from gradviz.graph.operations import Fate
from gradviz.graph.records import Graph
from gradviz.picture import render
from gradviz.picture.outline.finishing import Finishing
from gradviz.picture.outline.fit import HEIGHT, WIDTH
from gradviz.picture.outline.groups import MANY
from gradviz.picture.outline.scene import Card, Outline, Rail, Tone
from gradviz.picture.outline.unrecorded import Unrecorded
from gradviz.showing import show
from gradviz.watch.capture import capture
from gradviz.words.speech import say

LOSSES = ("loss", "lossG", "lossD", "total")
MODELS = ("model", "student", "net", "G", "policy")
# a script without a module, and one whose loss stays inside a function
WITH_MODEL = [name for name in model_names() if name not in ("script", "lightning_step")]
DETACHED = (
    "a = self.attn(self.ln_1(x))\n        x = x + a",
    "x = x.detach() if self.layer_idx == 5 else x\n"
    "        a = self.attn(self.ln_1(x))\n        x = x + a",
)


def without_backward(source: str) -> str:
    """The script without its backward, so that its graph is still whole."""
    return re.sub(r"^\s*[\w.]+\.(backward|step)\(.*\)$", "", source, flags=re.MULTILINE)


def loss_and_model(names: Namespace) -> tuple[torch.Tensor, nn.Module]:
    loss = next(names[name] for name in LOSSES if name in names)
    model = next((names[n] for n in MODELS if isinstance(names.get(n), nn.Module)), nn.Identity())
    return loss, model


def reached_by_torch(loss: torch.Tensor, model: nn.Module) -> set[str]:
    """The parameters that torch finds behind a loss."""
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    if not loss.requires_grad or not named:
        return set()
    found = torch.autograd.grad(loss, [*named.values()], allow_unused=True, retain_graph=True)
    return {name for name, gradient in zip(named, found, strict=True) if gradient is not None}


def shown(loss: torch.Tensor, model: nn.Module) -> Graph:
    return show(loss, names={"loss": loss}, model=model).graph


def texts(card: Card) -> list[str]:
    return ["  ".join([*(span.text for span in r.left), r.right]).rstrip() for r in card.rows]


def every_text(outline: Outline) -> str:
    lines = [outline.headline.title]
    lines += [span.text for line in outline.headline.lines for span in line]
    lines += [frame.below for frame in outline.frames]
    return "\n".join([*lines, *(line for card in outline.cards for line in texts(card))])


def check_graph(graph: Graph, expected: set[str], model: nn.Module) -> Outline:
    """What must hold of every outline."""
    unrecorded = Unrecorded(graph)
    own = [w for w in unrecorded.finished.weights if w.module_id is not None]
    assert [w.name for w in own] == [name for name, _ in model.named_parameters()]
    assert {w.name for w in own if w.fate is Fate.REACHED} == expected
    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    assert {w.name for w in own if w.fate is Fate.FROZEN} == frozen - expected
    check_order(unrecorded)
    outline = unrecorded.outline()
    check_headline(outline, own)
    check_every_lost_is_told(unrecorded, outline)
    assert len(unrecorded.groups.all) <= MANY
    assert outline == Unrecorded(graph).outline()
    return outline


def check_order(unrecorded: Unrecorded) -> None:
    """Every node stands in one card, after its sources; arrows go down; no way returns."""
    finished, groups = unrecorded.finished, unrecorded.groups
    inside = [k for group in groups.all for k in group.nodes] + groups.last
    assert sorted(inside) == list(range(len(finished.ids)))
    assert all(j < k for k, sources in enumerate(finished.sources) for j in sources)
    assert all(tail < head for tail, head in unrecorded.links)


def check_headline(outline: Outline, own: list[Any]) -> None:
    numbers = [int(n) for n in re.findall(r"\d+", outline.headline.title)]
    count = {fate: sum(w.fate is fate for w in own) for fate in Fate}
    if own and count[Fate.REACHED] < len(own):
        wanted = [len(own), count[Fate.REACHED]]
        wanted += [count[fate] for fate in (Fate.UNREACHED, Fate.FROZEN) if count[fate]]
        assert numbers[: len(wanted)] == wanted
    parts = [part for part in outline.headline.strip if part.rail is not None]
    assert not parts or sum(part.n for part in parts) == len(own)


def check_every_lost_is_told(unrecorded: Unrecorded, outline: Outline) -> None:
    """Red rows count all parameters that cannot be reached, each once."""
    lost = sum(w.fate is Fate.UNREACHED for w in unrecorded.finished.weights)
    told = sum(lost_in(card) for card in outline.cards)
    assert told == lost
    assert bool(lost) is any(span.look == "strong" for x in outline.headline.lines for span in x)


def lost_in(card: Card) -> int:
    """How many parameters the red rows of a card count; rows of its modules repeat its sum, and a
    module's second card those of its first."""
    again = re.search(r", use (\d+) of", texts(card)[0])
    if again and again[1] != "1":
        return 0
    rows = [row for row in card.rows if row.tone is Tone.LOST and row.rail is Rail.NONE]
    counted = []
    for row in rows:
        left = row.left[0].text
        one = re.match(r"✗ (\d+) of (\d+) (cannot|param)", left)
        if one:
            n, total = int(one[1]), int(one[2])
            return n if one[3] == "cannot" else total - n
        right = re.match(r"(\d+) of (\d+)$", row.right)
        counted.append(int(right[2]) - int(right[1]) if right else 0)
    return sum(counted)


# --- counts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WITH_MODEL)
def test_what_can_be_reached_is_what_torch_reaches(name: str) -> None:
    loss, model = loss_and_model(run(without_backward(read(name)), f"{name}.py"))
    check_graph(shown(loss, model), reached_by_torch(loss, model), model)


@pytest.mark.parametrize("fault", OPEN, ids=str)
def test_with_planted_faults_too(fault: Any) -> None:
    names = run(without_backward(fault.source), f"{fault.script}.py")
    if not any(name in names for name in LOSSES):
        pytest.fail("no loss")
    loss, model = loss_and_model(names)
    check_graph(shown(loss, model), reached_by_torch(loss, model), model)


@pytest.mark.parametrize("seed", range(150))
def test_random_modules(seed: int) -> None:
    made = make(seed)
    loss, model = loss_and_model(run(without_backward(made.source), f"random{seed}.py"))
    outline = check_graph(shown(loss, model), reached_by_torch(loss, model), model)
    heads = {arrow.head for arrow in outline.arrows}
    assert all(arrow.tail < arrow.head and arrow.kind == "can" for arrow in outline.arrows)
    assert not heads & {i for frame in outline.frames for i in frame.members}


# --- the target -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cut_gpt() -> Graph:
    source = read("gpt2")
    assert source.count(DETACHED[0]) == 1
    names = run(without_backward(source.replace(*DETACHED)), "cut_gpt2.py")
    return shown(names["loss"], names["model"])


def test_where_the_graph_of_a_cut_model_ends(cut_gpt: Graph) -> None:
    outline = Unrecorded(cut_gpt).outline()
    assert outline.headline.title == "148 parameters: 87 can be reached from loss, 61 cannot"
    (why,) = outline.headline.lines
    assert " ".join(span.text for span in why) == (
        "why is not known: a finished graph shows no cuts. %%gradviz or gv.record() shows the line"
    )
    assert [(part.rail, part.n) for part in outline.headline.strip] == [
        (Rail.CAN, 1),
        (Rail.NONE, 61),
        (None, 0),
        (Rail.CAN, 86),
    ]
    assert [texts(card) for card in outline.cards[:-1]] == [
        ["wpe  Embedding", "✗ 0 of 1 param can be reached"],
        ["h.{0..4}  ×5 Block", "✗ 0 of 60 params can be reached  0 of 12 each"],
        [
            "h.5  Block",
            "▲ the graph ends here: the input of ln_1 has no grad_fn",
            "NativeLayerNormBackward0: no next function for its input",
            "AddBackward0: other operand a constant, or untracked",
            "ln_1  LayerNorm  2 of 2",
            "attn  Attention  4 of 4",
            "ln_2  LayerNorm  2 of 2",
            "mlp  MLP  4 of 4",
        ],
        ["h.{6..11}  ×6 Block", "72 of 72 params can be reached  12 of 12 each"],
        ["ln_f  LayerNorm", "2 of 2 params can be reached"],
        ["lm_head  Linear", "1 of 1: wte.weight (tied)"],
    ]
    assert texts(outline.cards[-1])[-1] == "NllLossBackward0 · backward() starts here"
    (frame,) = outline.frames
    assert frame.label == ("not in this graph",)
    assert frame.below == "? no edge leads up from here: detach, no_grad, .data, or never used?"
    assert [card.title for card in outline.cards if card.ends] == ["h.5"]


def test_the_picture_fits_a_page(cut_gpt: Graph) -> None:
    found = Finishing(cut_gpt, render.laid_out).fitted()
    assert found.width <= WIDTH
    assert found.height <= HEIGHT
    assert found.crossings == 0
    assert found.source == Finishing(cut_gpt, render.laid_out).fitted().source
    svg = render.render_as_is(found.source, "svg").decode()
    assert "✂" not in svg
    assert "no recording: no values, no source lines, no cuts" in svg
    for text in ("h.5", "not in this graph", "detach, no_grad, .data, or never used?"):
        assert text in svg


def test_a_healthy_model_has_no_red() -> None:
    names = run(without_backward(read("gpt2")), "gpt2.py")
    outline = Unrecorded(shown(names["loss"], names["model"])).outline()
    assert outline.headline == (
        "148 parameters: all 148 can be reached from loss",
        (),
        (),
    )
    assert [card.title for card in outline.cards] == [
        "wte, wpe",
        "h.{0..11}",
        "ln_f",
        "lm_head",
        "loss",
    ]
    tones = {row.tone for card in outline.cards for row in card.rows}
    assert tones == {Tone.TITLE, Tone.CAN, Tone.GRAD_FN}
    assert outline.frames == ()


def test_heads_side_by_side_are_one_card() -> None:
    loss, model = loss_and_model(run(without_backward(read("multi_task")), "multi_task.py"))
    outline = Unrecorded(shown(loss, model)).outline()
    (heads,) = [card for card in outline.cards if card.title == "heads"]
    assert texts(heads) == [
        "heads  5 side by side",
        *(f"{name}  Linear  2 of 2" for name in ("age", "mood", "pose", "depth", "gaze")),
    ]


# --- what is not known ----------------------------------------------------------------------------


class Residual(nn.Module):
    """Of the second block, one branch is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(3))
        self.head = nn.Linear(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for n, block in enumerate(self.blocks):
            made = block(x)
            x = x + (made.detach() if n == 1 else made)
        return self.head(x)  # type: ignore[no-any-return]


def test_a_cut_branch_is_not_in_the_graph() -> None:
    model = Residual()
    loss = model(torch.ones(2, 4)).sum()
    outline = check_graph(shown(loss, model), reached_by_torch(loss, model), model)
    (frame,) = outline.frames
    (lost,) = [card for card in outline.cards if card.id in frame.members]
    assert texts(lost) == ["blocks.1  Sequential", "✗ 0 of 2 params can be reached"]
    assert not any(card.ends for card in outline.cards)


class Reentrant(nn.Module):
    """Its middle runs in a checkpoint whose graph is only made in backward."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.middle, self.last = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch.utils.checkpoint import checkpoint

        made = checkpoint(self.middle, self.first(x), use_reentrant=True)
        return self.last(made)  # type: ignore[no-any-return]


def test_what_a_reentrant_checkpoint_hides_is_not_called_lost_without_a_word() -> None:
    model = Reentrant()
    loss = model(torch.ones(2, 3)).sum()
    outline = Unrecorded(shown(loss, model)).outline()
    said = " ".join(span.text for line in outline.headline.lines for span in line)
    assert say("outline.hidden_in_checkpoint") in said
    loss.backward()
    assert model.middle.weight.grad is not None


class Fused(torch.autograd.Function):
    """One node for several modules, as a compiled model has."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        ctx.shapes = [weight.shape for weight in weights]
        return x + sum(weight.sum() for weight in weights)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:  # type: ignore[override]
        return grad, *(grad.sum().expand(shape) for shape in ctx.shapes)


def test_a_node_of_several_modules_is_a_card_of_the_model() -> None:
    model = nn.Sequential(*(nn.Linear(1, 1) for _ in range(4)))
    weights = [p for module in model[1:3] for p in module.parameters()]
    loss = Fused.apply(model[0](torch.ones(1, 1)), *weights).sum()
    outline = check_graph(shown(loss, model), reached_by_torch(loss, model), model)
    assert [texts(card)[:2] for card in outline.cards[1:-1]] == [
        ["0  Linear", "2 of 2 params can be reached"],
        ["Sequential  Sequential", "4 of 4 params can be reached"],
    ]
    assert texts(outline.cards[0]) == ["3  Linear", "✗ 0 of 2 params can be reached"]


def test_what_was_not_read_is_not_called_unreachable() -> None:
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(8)))
    graph = capture(model(torch.ones(1, 2)).sum(), model=model, limit=9)
    title = Unrecorded(graph).outline().headline.title
    assert "not found" in title
    assert "cannot" not in title
    assert "larger than what was read" in every_text(Unrecorded(graph).outline())


def test_a_loss_without_a_graph() -> None:
    model = nn.Linear(2, 1)
    with torch.no_grad():
        loss = model(torch.ones(1, 2)).sum()
    outline = check_graph(shown(loss, model), set(), model)
    assert outline.headline.title == "2 parameters: 0 can be reached from loss, 2 cannot"
    assert texts(outline.cards[-1])[-1] == "no grad_fn: no edge leads up from here"
    assert Finishing(shown(loss, model), render.laid_out).fitted().fits


def test_partly_frozen_modules() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))
    model[1][0].requires_grad_(False)
    model[0].bias.requires_grad_(False)
    loss = model(torch.ones(1, 2)).sum()
    outline = check_graph(shown(loss, model), reached_by_torch(loss, model), model)
    assert outline.headline.title == "6 parameters: 3 can be reached from loss, 3 are frozen"
    assert "1 of 1 param can be reached (+1 frozen)" in every_text(outline)
    assert not outline.headline.lines
    assert not any(frame.below for frame in outline.frames)


# --- without a model ------------------------------------------------------------------------------


def test_leaves_stand_for_parameters() -> None:
    w, b, x = (torch.ones(2, requires_grad=True) for _ in range(3))
    loss = ((x * w).sigmoid() + b).sum()
    outline = Unrecorded(capture(loss, names={"w": w, "b": b, "loss": loss})).outline()
    assert outline.headline.title == "3 leaves can be reached from loss"
    assert [card.title for card in outline.cards] == ["w", "b", "loss"]


def test_a_long_chain_is_a_few_cards() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(5000):
        y = y * 1.5
    graph = show(y.sum(), names={"x": x}).graph
    assert [texts(card)[0] for card in Unrecorded(graph).outline().cards] == [
        "x  leaf",
        "MulBackward0  4,999 nodes",
        "result  Sum  inf",
    ]


def test_a_loop_over_a_few_leaves_is_one_card() -> None:
    w, u = (torch.ones(2, requires_grad=True) for _ in range(2))
    h = torch.zeros(2)
    for _ in range(50):
        h = torch.tanh(h * w + u)
    graph = capture(h.sum(), names={"w": w, "u": u})
    check_order(Unrecorded(graph))
    titles = [card.title for card in Unrecorded(graph).outline().cards]
    assert titles == ["w – u", "result"]


def test_several_results_stand_in_one_card() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    hidden = model[0](torch.ones(1, 2))
    out = model[1](hidden)
    graph = show([hidden, out], names={"hidden": hidden, "out": out}, model=model).graph
    outline = Unrecorded(graph).outline()
    assert texts(outline.cards[-1]) == [
        "hidden, out",
        "+ skip from 0",
        "AddmmBackward0 · backward() starts here",
        "AddmmBackward0 · backward() starts here",
    ]
    assert {a.head for a in outline.arrows} >= {outline.cards[-1].id}


def test_nodes_of_other_numbers_are_put_in_order() -> None:
    """Numbers of nodes made by other threads begin anew."""
    from threading import Thread

    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    made: list[torch.Tensor] = [model[0](torch.ones(1, 2))]
    for _ in range(40):
        made[0] = made[0] + 0.0
    thread = Thread(target=lambda: made.append(model[1](made[0])))
    thread.start()
    thread.join()
    loss = model[2](made[1]).sum()
    graph = shown(loss, model)
    numbers = {node.id: node.sequence_nr for node in graph.nodes}
    finished = Finished(graph)
    in_order = [numbers[i] for i in finished.ids]
    assert in_order != sorted(in_order, key=lambda n: -1 if n is None else n)
    check_graph(graph, reached_by_torch(loss, model), model)


# --- the tied weight ------------------------------------------------------------------------------


class Tied(nn.Module):
    """An embedding whose weight is the head's."""

    def __init__(self, *, cut: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.body = nn.Linear(3, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight
        self.cut = cut

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        x = self.body(x.detach() if self.cut else x)
        return self.head(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("cut", [False, True])
def test_a_tied_weight_stands_where_it_was_used(*, cut: bool) -> None:
    model = Tied(cut=cut)
    loss = F.cross_entropy(model(torch.arange(4)), torch.arange(4))
    outline = check_graph(shown(loss, model), reached_by_torch(loss, model), model)
    titles = [card.title for card in outline.cards]
    assert titles == [*([] if cut else ["embed"]), "body", "head", "loss"]
    assert "1 of 1: embed.weight (tied)" in every_text(outline)


# --- the records ----------------------------------------------------------------------------------


def test_a_captured_graph_has_all_parameters_of_the_model() -> None:
    model = Tied(cut=True)
    graph = shown(model(torch.arange(4)).sum(), model)
    (module,) = graph.modules
    assert [(p.name, p.shape, p.requires_grad, p.held) for p in module.parameters] == [
        (name, tuple(p.shape), p.requires_grad, None) for name, p in model.named_parameters()
    ]
    assert module.children == (("embed", "Embedding"), ("body", "Linear"), ("head", "Linear"))
    assert module.tied == (("head.weight", "embed.weight"),)
    by_name = {graph.tensor[p.object_id].name for p in module.parameters}
    assert by_name == {"embed.weight", "body.weight", "body.bias"}
    assert Graph.from_json(graph.to_json()) == graph


def test_parameters_that_no_path_leads_to_have_no_object() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    loss = model[1](model[0](torch.ones(1, 2)).detach()).sum()
    names = {"first": model[0].weight, "loss": loss}
    (module,) = show(loss, names=names, model=model).graph.modules
    assert [p.object_id is None for p in module.parameters] == [True, True, False, False]


def test_what_is_not_reached_is_told_of_a_small_model_too() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    loss = model[1](model[0](torch.randn(2, 3)).detach()).sum()
    told = show(loss, model=model).text
    assert told.startswith("4 parameters: 2 can be reached from loss, 2 cannot")
    assert "not in this graph\n0  Linear" in told
    whole = show(model(torch.randn(2, 3)).sum(), model=model).text
    assert "AccumulateGrad" in whole  # nothing is missing: torch's own nodes
