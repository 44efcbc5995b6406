"""The pictures of the start page: two or three cards of a recorded program, on lines short enough
for a glance."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from gradviz.graph.facts import code_of
from gradviz.graph.records import Graph
from gradviz.picture import dot, render
from gradviz.picture.arrangements import ACROSS
from gradviz.picture.figure import Figure
from gradviz.picture.scene import Card, Row, Scene
from gradviz.picture.theme import dark_picture
from gradviz.words.speech import say

from .handouts import run

LEAF = "a = torch.tensor(1., requires_grad=True)\n"


class Program(NamedTuple):
    """What is recorded, which of its names are drawn, and whether their memory is."""

    code: str
    shown: tuple[str, ...]
    memory: bool = False


PROGRAMS = {
    "00": Program(f"{LEAF}b = a.detach()\nc = a * 2\nc.backward()\n", ("a", "b")),
    "01": Program("x = torch.tensor(1.)\ny = x * 2\n", ("x", "y")),
    "02": Program(
        "w = torch.tensor(1., requires_grad=True)\nloss = w * 2\n"
        "loss.backward(retain_graph=True)\nloss.backward()\n",
        ("w", "loss"),
    ),
    "03": Program(f"{LEAF}b = a.clone()\nd = b * 3\nd.backward()\n", ("a", "b")),
    "04": Program(
        f"{LEAF}b = a.detach()\nc = a * 2\nc.backward()\nb += 9\n",
        ("a", "b"),
        memory=True,
    ),
    "08": Program(
        "w = torch.tensor(-1., requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "y = w.relu()\ny.backward()\nopt.step()\n",
        ("w", "y"),
    ),
}
ALT = {
    "00": "The arrow from a to a.detach() is cut, and a.grad is 2.",
    "01": "x and y = x * 2, both not tracked.",
    "02": "2 comes back to w twice: w.grad is 2, then 4.",
    "03": "3 comes back from b = a.clone() to a.",
    "04": "a and b share one memory: 9 is added to b, and a is 10, too.",
    "08": "A gradient of 0 comes back to w.",
}


@cache
def svg(number: str) -> str:
    """Draw the picture of a notebook of the core, in the colours of the page that shows it."""
    program = PROGRAMS[number]
    figure, _ = run(program.code)
    source = dot.dot(short(figure, program), ACROSS[0])
    return dark_picture(render.render(source).decode())


def short(figure: Figure, program: Program) -> Scene:
    """Return what is drawn of a program, on short lines."""
    scene = figure.scene
    cards = tuple(
        _short_card(figure.graph, card, program)
        for card in scene.cards
        if card.name in program.shown
    )
    kept = {card.id for card in cards}
    arrows = tuple(
        arrow._replace(label="✂" if arrow.kind == "cut" else arrow.label)
        for arrow in scene.arrows
        if {arrow.tail, arrow.head} <= kept
    )
    boxes = tuple(
        box._replace(label="shared memory")
        for box in scene.boxes
        if program.memory and {*box.members} <= kept
    )
    return Scene(cards, arrows, boxes, is_bare=True)


def _short_card(graph: Graph, card: Card, program: Program) -> Card:
    """Return one line of code, the value, one word of its state, and what became of its ``.grad``."""
    states = [graph.tensor[i] for i in card.tensor_ids]
    rows = [Row("code", card.name), Row("values", states[-1].values or "")]
    if card.kind == "leaf":
        rows.append(Row("state", say("label.leaf")))
    elif card.title != card.name:  # no factory made it
        rows[0] = Row("code", code_of(graph.call[card.call_ids[-1]]).rpartition(" = ")[2])
        if card.kind == "result":
            rows.append(Row("grad_fn", card.grad_fn.removesuffix("Backward0")))
        elif not program.memory:  # the frame has the room
            rows.append(Row("untracked", say("row.not_tracked")))
    grads = list(dict.fromkeys(tensor.grad for tensor in states if tensor.grad is not None))
    if grads:
        rows.append(Row("accumulate", f"{card.name}.grad: {' → '.join(grads)}"))
    return card._replace(rows=tuple(rows), detail="")
