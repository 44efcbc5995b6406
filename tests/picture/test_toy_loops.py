"""Of a loop of few operations and no model one iteration is drawn, with the cards that it has when
it alone is recorded."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import Graph
from gradviz.picture.state import state

TIMES = 20
SETUP = """
torch.manual_seed(0)
x = torch.linspace(0, 1, 6)
y = 3 * x
w = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
rate = 0.1
opt = torch.optim.SGD([w, b], lr=rate)
criterion = torch.nn.MSELoss()
losses = []
with whole() as rec:
    for i in range({times}):
        with one(i) as of_one:
{body}
            losses.append(loss.item())
"""
BODIES = {
    "optimizer": """
loss = ((x * w + b - y) ** 2).mean()
loss.backward()
opt.step()
opt.zero_grad()""",
    "data": """
loss = ((x * w + b - y) ** 2).mean()
loss.backward()
w.data -= rate * w.grad
b.data -= rate * b.grad
w.grad = b.grad = None""",
    "no_grad": """
prediction = x * w + b
loss = ((prediction - y) ** 2).mean()
loss.backward()
with torch.no_grad():
    w -= rate * w.grad
    b -= rate * b.grad
    w.grad.zero_()
    b.grad.zero_()""",
    "accumulated": """
loss = ((x * w + b - y) ** 2).mean()
loss.backward()""",
    "cut": """
slope = w.detach()
loss = ((x * slope + b - y) ** 2).mean()
opt.zero_grad()
loss.backward()
opt.step()""",
    "criterion": """
opt.zero_grad()
loss = criterion(x * w + b, y)
loss.backward()
opt.step()""",
    "autograd.grad": """
loss = ((x * w - y) ** 2).mean()
(slope,) = torch.autograd.grad(loss, w)
w.data -= rate * slope""",
}


def recorded(
    body: str,
    *,
    times: int = TIMES,
    whole: Callable[[], Any] = gv.record,
    one: Callable[[int], Any] = lambda i: nullcontext(),
) -> dict[str, Any]:
    lines = "\n".join(f"            {line}" for line in body.strip().splitlines())
    source = SETUP.format(times=times, body=lines)
    names: dict[str, Any] = {"torch": torch, "whole": whole, "one": one}
    names["__name__"] = "toy_loop"
    linecache.cache["toy_loop.py"] = len(source), None, source.splitlines(True), "toy_loop.py"
    exec(compile(source, "toy_loop.py", "exec"), names)
    return names


def last(i: int) -> AbstractContextManager[Any]:
    return gv.record() if i == TIMES - 1 else nullcontext()


def content(figure: gv.Figure) -> tuple[Any, ...]:
    """Cards, arrows and frames, in whatever order; backwards have no number."""
    cards = figure.scene.cards
    arrows = [a._replace(tail=0, head=0) for a in figure.scene.arrows]
    ends = [(cards[a.tail].title, cards[a.head].title) for a in figure.scene.arrows]
    frames = [(b.kind, b.label, {cards[i].title for i in b.members}) for b in figure.scene.boxes]
    drawn = [(c.kind, c.rows, c.detail, c.name, c.grad_fn) for c in cards]
    ran = [line for line in figure.text.splitlines() if line.startswith("backward ")]
    return (
        sorted(drawn, key=str),
        sorted(zip(ends, arrows, strict=True), key=str),
        sorted(frames, key=str),
        [re.sub(r"^backward \d+", "", line) for line in ran],
    )


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_cards_are_those_of_the_last_iteration_alone(body: str) -> None:
    figure = recorded(body)["rec"].figure()
    alone = recorded(body, whole=nullcontext, one=last)["of_one"].figure()
    assert figure.text.startswith(f"{TIMES} iterations of a loop, all alike: the last is drawn")
    assert content(figure) == content(alone)


def test_the_picture_tells_how_many_iterations_there_are_and_how_the_loss_went() -> None:
    names = recorded(BODIES["optimizer"])
    figure = names["rec"].figure()
    first, now = (f"{loss:.4g}" for loss in (names["losses"][0], names["losses"][-1]))
    told = f"{TIMES} iterations of a loop, all alike: the last is drawn; the loss went "
    told += f"{first} → {now}"
    assert figure.text.splitlines()[0] == told
    assert told in figure.alt
    assert told in " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.svg))
    assert told in state(figure)["text"]


def test_an_iteration_in_which_something_else_happens_is_drawn_too() -> None:
    body = BODIES["optimizer"].replace("mean()", "mean() if i else ((x * w + b - y) ** 2).sum()")
    figure = recorded(body)["rec"].figure()
    assert f"{TIMES - 1} iterations of a loop" in figure.text
    assert figure.text.count("SumBackward0 · backward() starts with 1") == 1
    assert figure.text.count("MeanBackward0 · backward() starts with 1") == 1


def test_a_graph_of_one_iteration_is_whole_in_itself() -> None:
    graph = recorded(BODIES["no_grad"])["rec"].graph
    part = gv.Figure(graph).shown_graph
    assert Graph.from_json(part.to_json()) == part
    assert len(part.backwards) == 1 < len(graph.backwards)


def test_what_is_asked_for_or_not_folded_is_the_whole_recording() -> None:
    graph = recorded(BODIES["data"], times=3)["rec"].graph
    assert gv.Figure(graph, fold=False).text.count("MeanBackward0 · backward()") == 3
    assert gv.Figure(graph, depth=0).outlined is not None


def test_few_iterations_that_have_room_are_all_drawn() -> None:
    figure = recorded("loss = (x * w).sum()\nloss.backward()", times=2)["rec"].figure()
    assert figure.text.count("SumBackward0 · backward()") == 2
    assert "iterations" not in figure.text
