"""What every front end is given to show: a picture, a panel, a player, a question."""

from __future__ import annotations

import json
from pathlib import Path

HEAD = "import torch, gradviz as gv"
PICTURE = """with gv.record() as rec:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = a.detach()
    loss = (a * b).sum()
    loss.backward()"""
SCENARIO = """@gv.explore(copy=gv.controls.copies, mode=gv.controls.grad_mode, requires_grad=True, k=(1, 5))
def scenario(copy, mode, requires_grad, k):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    with mode():
        b = copy(a)
    c = a * 2
    d = b * k
    loss = (c + d).sum()
    loss.backward()"""
PLAYER = "gv.play(rec)"
QUESTION = """gv.lesson.question(
    "What will a.grad hold?", scenario, {"copy": "clone"},
    truth=lambda run: run.tensors["a"]["grad"],
    answers={
        "[2, 2, 2]": gv.lesson.Wrong("nothing comes back", "the other 3s came back through b.", "b"),
        "[5, 5, 5]": gv.lesson.Wrong("everything comes back", "nothing comes back through b.", "b"),
        "None": gv.lesson.Wrong("a copy takes it away", "c = a * 2 still leads back to a.", "c")})"""
# the last line of a cell is what it shows; explore shows itself where a notebook's kernel runs it
CELLS = (HEAD, f"{PICTURE}\nrec", SCENARIO, PLAYER, QUESTION)
CUT = "detach() cuts b from a"  # what the panel says after the click
KERNEL = "gradviz-here"


def notebook(path: Path) -> None:
    """Write the cells as a notebook that has not been run."""
    cells = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        for number, source in enumerate(CELLS)
    ]
    kernel = {"name": KERNEL, "display_name": KERNEL, "language": "python"}
    made = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.write_text(json.dumps(made), encoding="utf-8")


def marimo(path: Path) -> None:
    """Write them as marimo's notebook: each name belongs to one cell there, and a cell shows its
    last line, a scenario too."""
    cells = [
        HEAD,
        f"{PICTURE}\nrec",
        f"{SCENARIO}\n\nscenario",
        PLAYER,
        f"asked = {QUESTION}\nasked",
    ]
    import textwrap

    made = ["import marimo", "app = marimo.App()"]
    made += [f"@app.cell\ndef _():\n{textwrap.indent(cell, '    ')}" for cell in cells]
    path.write_text("\n\n".join([*made, 'if __name__ == "__main__":\n    app.run()\n']), "utf-8")
