"""Iterations of a training loop: alike are those in which torch does the same, and one of them is
drawn."""

from __future__ import annotations

import pytest
import torch
from drawn import Drawn, drawn
from model_scripts import MARKER
from svg_text import Picture

import gradviz as gv
from gradviz.graph.iterations import Alike, Differ, Iterations
from gradviz.graph.operations import Operations
from gradviz.picture.outline.norms import figure
from gradviz.picture.outline.scene import Tone

TIMES = 7
LOOP = (
    """\
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), 0.1)
body, head = model[:2], model[2:]
batches = [(torch.randn(n, 4), torch.randint(3, (n,))) for n in ({sizes})]
proj = torch.randn(4, requires_grad=True)
losses, grads, kept = [], [], []
"""
    + MARKER
    + """
for k, (x, y) in enumerate(batches):
    {begin}
    opt.zero_grad()
    h = body(x)
    {middle}
    loss = F.cross_entropy(head(h){scale}, y)
    loss.backward()
    losses.append(loss.item())
    grads.append([None if p.grad is None else p.grad.clone() for p in model.parameters()])
    opt.step()
    {end}
{after}
"""
)
FAULTS = {  # what happens from one iteration on
    "detach": {"middle": "h = h.detach() if k >= {k} else h"},
    "no_grad": {"middle": "with torch.set_grad_enabled(k < {k}): h = torch.tanh(h)"},
    "frozen": {"begin": "model[0].requires_grad_(k < {k})"},
    "nan": {"scale": " * (1.0 if k < {k} else float('nan'))"},
    "branch": {"middle": "h = h.relu() if k >= {k} else h.sigmoid()"},
    "eval": {"begin": "model.train(k < {k})"},
}


def loop(sizes: str = "5, 5, 5, 5, 5, 5, 3", **parts: str) -> Drawn:
    filled = {"begin": "pass", "middle": "pass", "scale": "", "end": "pass", "after": "", **parts}
    return drawn(LOOP.format(sizes=sizes, **filled), "loop.py")


def alike_in(picture: Drawn) -> list[Alike]:
    return Iterations(Operations(picture.graph)).all


def times(picture: Drawn) -> list[int]:
    return [alike.times for alike in alike_in(picture)]


def test_equal_iterations_are_alike_whatever_the_size_of_their_batches() -> None:
    picture = loop()
    assert times(picture) == [TIMES]
    text = Picture(picture.svg).headline.text
    assert f"{TIMES} iterations of a loop, all alike: the last is drawn" in text
    assert f", {TIMES} times:" in text
    text = gv.Figure(picture.graph).text
    first, last = (f"{picture.names['losses'][k]:.4g}" for k in (0, -1))
    assert f"{first} → {last}" in text


def test_what_is_drawn_is_the_last_iteration_with_its_gradients() -> None:
    picture = loop()
    drawn_ops = {at for card in picture.fitted.outline.cards for at in card.calls}
    backward = picture.graph.backwards
    assert min(drawn_ops) > backward[-2].call_id
    weight, bias, *_ = picture.names["grads"][-1]
    both = torch.linalg.vector_norm(torch.cat([weight.flatten(), bias])).item()
    body = next(card for card in picture.fitted.outline.cards if "body" in card.title)
    assert [row.right for row in body.rows if row.tone is Tone.GETS] == [figure(both)]


@pytest.mark.parametrize("k", [1, 3, TIMES - 2])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_iteration_in_which_something_else_happens_is_none_of_them(fault: str, k: int) -> None:
    parts = {name: code.format(k=k) for name, code in FAULTS[fault].items()}
    picture = loop(**parts)
    # iterations alone are no loop
    assert times(picture) == [n for n in (k, TIMES - k) if n > 1]


def test_each_operation_of_a_loop_is_in_one_round() -> None:
    iterations = Iterations(Operations(loop().graph))
    (alike,) = iterations.all
    places = [at for some in alike.iterations for at in some]
    assert places == sorted(set(places))
    assert {*alike.others} == {at for some in alike.iterations[:-1] for at in some}
    assert len({len(ops) for ops in alike.steps}) == 1


def test_a_gradient_from_iteration_to_iteration_makes_them_one_computation() -> None:
    carried = {"middle": "h = h + (kept[-1] if kept else 0); kept.append(h.mean(0))"}
    with pytest.raises(RuntimeError, match="second time"):  # torch says the same
        loop(**carried)
    alone = {"middle": "h = h + (kept[-1] if kept else 0); kept.append(h.mean(0).detach())"}
    assert times(loop(**alone)) == [TIMES - 1]  # the first adds a number


@pytest.mark.parametrize(
    ("middle", "after", "found"),
    [
        ("kept.append((x @ proj).mean())", "total = sum(kept)", [TIMES]),
        ("kept.append((x @ proj).mean())", "total = torch.stack(kept).sum()", [TIMES]),
        (
            "kept.append((x @ proj).mean() + (kept[-1] if kept else 0))",
            "total = kept[-1]",
            [TIMES - 1],
        ),
        ("kept.append((x @ proj).mean())", "total = kept[0] * kept[1]", [2, TIMES - 2]),
        ("kept.append((x @ proj).mean())", "total = sum(kept[:-1])", [TIMES - 1]),
        ("kept.append((x @ proj).mean() * (kept[-1] if kept else 1))", "total = kept[-1]", []),
    ],
)
def test_iterations_whose_results_are_used_together_are_terms_of_a_sum_alone(
    middle: str, after: str, found: list[int]
) -> None:
    """What follows uses those alike that stand for each other, or each adds to what the one before
    it made; where they are not, the gradient goes from one into another in another way."""
    assert times(loop(middle=middle, after=f"{after}; total.backward()")) == found


def test_iterations_in_iterations() -> None:
    source = LOOP.format(
        sizes="5, 5, 5", begin="pass", middle="pass", scale="", end="pass", after=""
    )
    head, body = source.split("for k,")
    inner = "for k," + body
    nested = "for epoch in range(4):\n" + "".join(f"    {line}\n" for line in inner.splitlines())
    nested += "    with torch.no_grad(): accuracy = (model(x).argmax(1) == y).sum().item()\n"
    picture = drawn(head + nested, "nested.py")
    assert times(picture) == [4, 3, 3, 3, 3]
    text = gv.Figure(picture.graph).text
    assert "4 iterations of a loop, all alike: the last is drawn" in text
    assert "in it 3 iterations, all alike: the last is drawn" in text
    assert text.count("cross_entropy") == 1


def test_a_iteration_of_several_backwards() -> None:
    source = (
        """\
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
bce = nn.BCEWithLogitsLoss()
"""
        + MARKER
        + """
for _ in range(5):
    fake = G(torch.randn(8, 2))
    loss_d = bce(D(torch.randn(8, 2)), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
    loss_d.backward()
    loss_g = bce(D(fake), torch.ones(8, 1))
    loss_g.backward()
"""
    )
    picture = drawn(source, "gan.py")
    assert times(picture) == [5]
    titles = [card.rows[0].left[-1].text for card in picture.fitted.outline.cards]
    assert [t for t in titles if "call" in t] == [f"Sequential, call {k} of 3" for k in (1, 2, 3)]


def test_the_iteration_that_is_looked_at_is_drawn() -> None:
    picture = loop(end="kept.append(h)")
    third = picture.names["kept"][2]
    operations = Operations(picture.graph)
    calls = [c.id for c in picture.graph.calls if c.function == "tanh"]
    (alike,) = Iterations(operations, [calls[2 * 2]]).all
    assert alike.chosen == 2
    assert third.shape == (5, 8)
    (last,) = Iterations(operations).all
    assert last.chosen == TIMES - 1


def test_a_tensor_of_an_earlier_iteration_is_looked_at_in_its_round() -> None:
    lin = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    kept = []
    with gv.record() as rec:
        for _ in range(4):
            h = lin(torch.ones(2, 3))
            kept.append(h)
            loss = h.pow(2).mean()
            loss.backward()
    text = rec.figure(around=kept[1]).text
    assert "number 2 is drawn" in text
    assert "the last is drawn" in rec.figure(around=kept[-1]).text


def test_without_folding_every_iteration_is_there() -> None:
    graph = loop().graph
    dot = gv.Figure(graph, fold=False).dot.source
    assert dot.count("NllLossBackward0") >= TIMES


def test_no_iterations_without_a_backward() -> None:
    assert Iterations(Operations(drawn(MARKER + "\nx = 1\n", "x.py").graph)).all == []


def test_first_is_known_by_what_it_does() -> None:
    alike = Alike((range(3), range(3, 7)), ((0, 2), (3, 6)), 1)
    assert [alike.first(at) for at in (3, 6, 4, 0)] == [0, 2, None, None]


CHOOSING = (
    """\
import torch
from torch import nn
torch.manual_seed(0)
class Choosing(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(4, 8), nn.Linear(8, 1)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
    def forward(self, x, chosen):
        h = self.first(x)
        for k in chosen:
            h = h + self.experts[k](h).relu()
        return self.last(h)
model = Choosing()
opt = torch.optim.SGD(model.parameters(), 0.01)
losses, used = [], []
"""
    + MARKER
    + """
for k, chosen in enumerate({chosen}):
    loss = model(torch.ones(2, 4), chosen).pow(2).mean(){scale}
    opt.zero_grad()
    loss.backward()
    losses.append(loss.item())
    used.append([p.grad is not None for p in model.experts.parameters()])
    opt.step()
"""
)
MANY = "[(0,), (1, 2), (), (2,), (0, 1, 2), (1,), (0, 2)]"


def test_iterations_that_differ_only_inside_of_modules_are_told_so() -> None:
    picture = drawn(CHOOSING.format(chosen=MANY, scale=""), "choosing.py")
    (alike,) = Iterations(Operations(picture.graph)).all
    assert (alike.times, alike.differ) == (7, Differ.INSIDE)
    text = gv.Figure(picture.graph).text
    assert (
        "7 iterations of a loop, alike but for what ran inside of modules: the last is drawn"
        in text
    )
    first, last = (f"{picture.names['losses'][k]:.4g}" for k in (0, -1))
    assert f"{first} → {last}" in text
    names = {card.title for card in picture.fitted.outline.cards}
    assert any("experts" in name for name in names), names


def test_few_iterations_that_differ_are_all_drawn() -> None:
    picture = drawn(CHOOSING.format(chosen="[(0,), (1,), (0, 1)]", scale=""), "few.py")
    assert times(picture) == []


def test_nan_is_seen_also_where_iterations_differ_inside() -> None:
    scale = " * (float('nan') if k >= 4 else 1)"
    picture = drawn(CHOOSING.format(chosen=MANY, scale=scale), "nan.py")
    found = Iterations(Operations(picture.graph)).all
    assert [(alike.times, alike.differ) for alike in found] == [
        (4, Differ.INSIDE),
        (3, Differ.INSIDE),
    ]


@pytest.mark.parametrize("quiet", [(), (2,), (0, 4), (3, 4, 6)])
def test_a_clipping_that_changes_nothing_is_a_clipping_all_the_same(quiet: tuple[int, ...]) -> None:
    limit = f"float('inf') if k in {quiet} else 1e-3"
    clip = f"nn.utils.clip_grad_norm_(model.parameters(), {limit})"
    evaluated = "with torch.no_grad(): accuracy = (head(body(x)).argmax(1) == y).float().mean()"
    picture = loop(end=f"{clip}; opt.step(); {evaluated}".replace("with", "\n    with"))
    assert times(picture) == [TIMES]


def test_only_iterations_that_differ_are_told_to() -> None:
    again = "\nfor k in range(5):\n    loss = model(torch.ones(2, 4), (0,)).pow(2).mean()\n"
    again += "    opt.zero_grad(); loss.backward(); opt.step()\n"
    picture = drawn(CHOOSING.format(chosen=MANY, scale="") + again, "both.py")
    found = Iterations(Operations(picture.graph)).all
    assert [(alike.times, alike.differ) for alike in found] == [(7, Differ.INSIDE), (5, Differ.NOT)]


def test_a_round_whose_backward_was_interrupted_is_not_like_the_others() -> None:
    net, times = torch.nn.Linear(3, 3), 4
    rounds = iter(range(times))

    def stop(gradient: torch.Tensor) -> None:
        if next(rounds) == times - 1:
            raise KeyboardInterrupt

    def train() -> None:
        for _ in range(times):
            net(torch.ones(2, 3)).sum().backward()

    net.weight.register_hook(stop)
    with pytest.raises(KeyboardInterrupt), gv.record() as rec:
        train()
    told = rec.figure(depth=1).text
    assert f"{times - 1} iterations of a loop, all alike" in told
    assert f"{times} iterations" not in told


REPLAYED = (
    """\
import torch
from torch import nn
torch.manual_seed(0)
actor, critic = nn.Linear(2, 1), nn.Linear(3, 1)
opt = torch.optim.Adam(critic.parameters())
seen, start = [], torch.randn(2)
"""
    + MARKER
    + """
state = start
for k in range(12):
    with torch.no_grad():
        action = actor(state)
    seen.append(torch.cat([state, action]))
    state = torch.randn(2) if k % 5 == 4 else state + action
    batch = torch.stack([seen[i] for i in torch.randint(len(seen), (8,)).tolist()])
    loss = critic(batch).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)


def test_how_many_samples_a_batch_has_and_where_an_episode_begins_makes_no_iteration_another() -> (
    None
):
    """A sample that is drawn twice is read once."""
    assert times(drawn(REPLAYED, "replayed.py")) == [12]


TWO_WAYS = [True, False, False, True, False, True, True, True, False, False, True, False]


def test_iterations_of_a_loop_that_goes_two_ways_are_of_two_kinds() -> None:
    """However they follow each other; of each the last is drawn."""
    ways = f"first = {TWO_WAYS}[k]; h = h.relu() if first else h.sigmoid()"
    picture = loop(", ".join(["5"] * len(TWO_WAYS)), middle=ways)
    assert [(a.times, a.differ) for a in alike_in(picture)] == [(6, Differ.NOT), (6, Differ.NOT)]
    last = [max(k for k, first in enumerate(TWO_WAYS) if first is way) for way in (True, False)]
    begun = {b.call_id for b in picture.graph.backwards}
    ran = Operations(picture.graph).all
    for alike, k in zip(alike_in(picture), last, strict=True):
        before = ran[alike.iterations[alike.chosen][0]].call.id
        assert sum(i < before for i in begun) == k


def test_iterations_that_run_the_same_more_or_less_often_are_alike_but_for_that() -> None:
    often = "for _ in range([1, 3, 2, 5, 2, 4, 1][k]): h = torch.tanh(h @ same)"
    picture = loop(begin="same = torch.eye(8)", middle=often)
    assert [(a.times, a.differ) for a in alike_in(picture)] == [(TIMES, Differ.OFTEN)]
    told = "iterations of a loop, alike but for how often the same ran: the last is drawn"
    assert f"{TIMES} {told}" in gv.Figure(picture.graph).text


def test_what_a_gradient_joins_is_no_iteration_of_its_own_however_often_it_runs() -> None:
    carried = """
h, w = torch.ones(3), torch.full((3,), 0.5, requires_grad=True)
for n in (2, 3, 6, 5, 2, 4):
    {begin}
    for _ in range(n):
        h = torch.tanh(h * w)
    h.sum().backward(retain_graph=True)
"""
    joined = drawn(f"import torch\n{MARKER}\n{carried.format(begin='')}", "joined.py")
    assert alike_in(joined) == []
    apart = drawn(f"import torch\n{MARKER}\n{carried.format(begin='h = h.detach()')}", "apart.py")
    assert [(alike.times, alike.differ) for alike in alike_in(apart)] == [(6, Differ.OFTEN)]
