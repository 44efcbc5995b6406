"""Handouts for a class, in A4: four programs to draw gradients into, the same with the answers, and
homework with its solutions.

Pictures and answers come from running the programs.
"""

from __future__ import annotations

import html
import linecache
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch

import gradviz
from gradviz.picture.figure import Figure
from gradviz.picture.scene import Arrow, Card, Row, Scene

from .books import notebooks
from .pages import document

PROGRAM = """\
a = torch.tensor(1., requires_grad=True)
{way}
c = a * 2
d = b * 3
loss = c + d
loss.backward()
"""
WAYS = {
    "clone()": "b = a.clone()",
    "detach()": "b = a.detach()",
    ".data": "b = a.data",
    "copy_()": "b = torch.empty_like(a).copy_(a)",
}
"""What is on paper is what the panel of notebook 00 shows."""
FOR_THE_EMPTY_BOXES = {"view(1)": "b = a.view(1)", "detach().clone()": "b = a.detach().clone()"}
HOMEWORK = (  # exercises of the notebooks, by their cells
    ("00_copy_or_cut", "m00b"),
    ("03_clone_and_copy", "n03s"),
    ("04_detach", "c13"),
    ("08_training_step", "n0838"),
)
BOXES = [("shared", "linked"), ("shared", "cut"), ("own", "linked"), ("own", "cut")]
SOLUTION = re.compile(r"Solution</summary>.*?```python\n(.*?)```", re.DOTALL)
_EMPTY = {
    False: "Two boxes stay empty. Which calls belong there?",
    True: "view(1) is the same memory seen in another way. detach().clone() cuts, then copies.",
}
STYLE = """
@page { size: A4; margin: 12mm; }
:root { color-scheme: light; }
body { max-width: 186mm; margin: 0 auto; padding: 0; background: #fff; color: #000; font-size: 10pt; }
h1 { margin: 0 0 2mm; font-size: 15pt; }
section { display: grid; grid-template-columns: 90mm 1fr; gap: 1mm 2mm; margin: 0 0 3mm; padding: 3mm 0 0;
  border: none; border-top: .3mm solid #999; border-radius: 0; break-inside: avoid; }
h2 { grid-column: 1 / -1; margin: 0; font-size: 12pt; }
pre { margin: 0 0 2mm; font-size: 7.6pt; line-height: 1.45; }
img { max-width: 100%; max-height: 84mm; width: auto; height: auto; justify-self: center; }
section p { margin: 0 0 2mm; }
.blank { display: inline-block; min-width: 24mm; border-bottom: .3mm solid #000; }
table { width: 100%; border-collapse: collapse; break-inside: avoid; }
section.task { display: block; }
.task pre { padding: 2mm; border: .3mm solid #999; }
@media screen and (max-width: 600px) { .task pre { white-space: pre-wrap; overflow-wrap: anywhere; } }
th, td { width: 33%; height: 13mm; padding: 1mm 2mm; border: .3mm solid #000;
  text-align: left; vertical-align: middle; }
"""


class Drawn(NamedTuple):
    """One program of the handout, run."""

    name: str
    code: str
    blank: Figure
    key: Figure
    grad: str
    memory: str  # shared or own
    gradient: str  # linked or cut


def drawn(name: str) -> Drawn:
    """Run one of the four programs, with and without its last line."""
    code = PROGRAM.format(way=WAYS[name])
    figure, names = run(code)
    [before, _] = code.split("loss.backward()")
    blank, _ = run(before)
    grad = f"{names['a'].grad.item():g}"
    return Drawn(name, code, without_answers(blank), figure, grad, *box_of(names))


def box_of(names: dict[str, Any]) -> tuple[str, str]:
    """Return the box of the table into which a program belongs that was run."""
    memory = "shared" if names["a"].data_ptr() == names["b"].data_ptr() else "own"
    return memory, "linked" if names["a"].grad == 5 else "cut"


def boxes_of_the_table(programs: list[Drawn]) -> dict[tuple[str, str], list[str]]:
    """Return the calls of every box, also of those that the four programs leave empty."""
    boxes: dict[tuple[str, str], list[str]] = {box: [] for box in BOXES}
    for program in programs:
        boxes[program.memory, program.gradient].append(program.name)
    for name, way in FOR_THE_EMPTY_BOXES.items():
        _, names = run(PROGRAM.format(way=way))
        boxes[box_of(names)].append(name)
    return boxes


def run(code: str) -> tuple[Figure, dict[str, Any]]:
    """Run a program; return its picture and its variables."""
    names: dict[str, Any] = {"torch": torch}
    file = f"handout {hash(code)}.py"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    compiled = compile(code, file, "exec")
    with gradviz.record().look_into(names, compiled) as recording:
        exec(compiled, names)
    return recording.figure(), names


def without_answers(figure: Figure) -> Figure:
    """Leave the way of the values only: what is shared and what is cut is to be drawn in."""
    scene: Scene = figure.scene
    arrows = tuple(Arrow(arrow.tail, arrow.head, "forward") for arrow in scene.arrows)
    boxes = tuple(box for box in scene.boxes if box.kind != "memory")
    kept = {"code", "values"}
    cards = tuple(
        card._replace(
            detail="",
            kind="result" if card.kind == "untracked" else card.kind,
            rows=tuple(
                Row("values", numbers(figure, card)) if row.kind == "values" else row
                for row in card.rows
                if row.kind in kept
            ),
        )
        for card in scene.cards
    )
    figure.__dict__["alt"] = "The way of the values; that of the gradient is to be drawn in."
    figure.__dict__["scene"] = scene._replace(cards=cards, arrows=arrows, boxes=boxes, notes=())
    return figure


def numbers(figure: Figure, card: Card) -> str:
    """Return the values of a card's tensor, without what else its row says of it: whose memory it
    is, is asked on the sheet."""
    return figure.graph.tensor[card.tensor_ids[-1]].values or ""


def sheet(programs: list[Drawn], *, key: bool) -> str:
    """Return the body of a handout."""
    line = '<span class="blank"></span>'
    parts = []
    for number, program in enumerate(programs, 1):
        figure = program.key if key else program.blank
        shares, flows = (
            "yes" if program.memory == "shared" else "no",
            "yes" if program.gradient == "linked" else "no",
        )
        parts.append(
            f"<section><h2>{number}."
            f" {html.escape(program.name)}</h2>\n<div><pre>{html.escape(program.code)}</pre><p>a.grad"
            f" = {program.grad if key else line}</p><p>Does b share the memory of a?"
            f" {shares if key else line}</p><p>Does the gradient flow back from b to a?"
            f" {flows if key else line}</p></div>\n{figure.html}</section>"
        )
    boxes = boxes_of_the_table(programs) if key else {box: [] for box in BOXES}
    cell = {box: html.escape(", ".join(calls)) for box, calls in boxes.items()}
    rows = "".join(
        "<tr><th>memory"
        f" {memory}</th><td>{cell[memory, 'linked']}</td><td>{cell[memory, 'cut']}</td></tr>"
        for memory in ("shared", "own")
    )
    task = (
        "Thick arrows are the gradient that came back. Along dashed arrows with scissors no"
        " gradient comes back."
        if key
        else (
            "The arrows are the way of the values. Draw in, with a second colour, the way of the"
            " gradient after <code>loss.backward()</code>, with its numbers; cross out what is cut;"
            " put a frame around tensors that share memory."
        )
    )
    return (
        "<main>\n<h1>Copy or"
        f" cut?{' Key' if key else ''}</h1>\n<p>{task}</p>\n{''.join(parts)}\n<section><h2>5. The"
        " table</h2>"
        '<table style="grid-column: 1 / -1"><tr><td></td><th>gradient linked</th><th>gradient'
        f" cut</th></tr>{rows}"
        f'</table><p style="grid-column: 1 / -1">{html.escape(_EMPTY[key])}</p></section>\n</main>'
    )


def homework(*, solved: bool) -> str:
    """Return the body of the homework, or of its solutions: exercises of the notebooks, as they
    stand there."""
    from nbconvert.filters import markdown2html

    parts = []
    books = {book.name: book for book in notebooks()}
    for number, (name, id) in enumerate(HOMEWORK, 1):
        cells = books[name].cells
        [at] = [i for i, cell in enumerate(cells) if cell.id == id]
        asked = markdown2html("".join(cells[at - 1].source.partition("**Fix it.**")[1:]))
        program = cells[at].source.splitlines()
        if solved and (solution := SOLUTION.search(cells[at + 1].source)):
            program = [_marked(line, program) for line in solution[1].splitlines()]
        else:
            program = [html.escape(line) for line in program]
        code = "\n".join(program)
        parts.append(
            f'<section class="task"><h2>{number}. {html.escape(books[name].title)}</h2>{asked}'
            f"<pre>{code}</pre></section>"
        )
    title = "Homework: solutions" if solved else "Homework"
    text = (
        "Run each in a notebook. lesson.goals prints what there is and what the goal is; when all"
        " is met, it says Solved."
    )
    return f"<main>\n<h1>{title}</h1>\n<p>{text}</p>\n{''.join(parts)}\n</main>"


def _marked(line: str, before: list[str]) -> str:
    """Write a line of a solution; bold, where it is another one than before."""
    written = html.escape(line)
    return written if line in before else f"<b>{written}</b>"


def write(folder: Path) -> None:
    """Write ``handout.html`` and ``homework.html``, and what belongs to each."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = [drawn(name) for name in WAYS]
    for name, key in (("handout.html", False), ("handout_key.html", True)):
        (folder / name).write_text(
            document("Copy or cut?", sheet(programs, key=key), STYLE), encoding="utf-8"
        )
    for name, solved in (("homework.html", False), ("homework_solutions.html", True)):
        (folder / name).write_text(
            document("Homework", homework(solved=solved), STYLE), encoding="utf-8"
        )
