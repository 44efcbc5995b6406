"""Cells hold what a learner types. What only prints, catches or draws stands in ``lesson`` or in
tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from test_course import BOOKS, EXPLORED

from course import books

LEFT_BY_A_RUN = frozenset(
    """tensors state records sentence sentences text grads raised_line raised_code raised_call
    raised_node raised_saved""".split()
)
OF_A_PANEL = frozenset({"set", "run", "reset", "error", "graph", "printed"})
OF_ERRORS = frozenset(
    "__traceback__ tb_lineno tb_next catch_warnings simplefilter partition rpartition".split()
)
DRAWING = frozenset({"base64", "re", "IPython"})


def plumbing(code: str, panels: set[str]) -> list[str]:
    """Return what in a cell no learner would type.

    That is: to set a panel from code or read what its run left; to look into a traceback, catch
    warnings or shorten an error's words; to put a picture together. ``gv.play(panel.recording)``
    is none of it.
    """
    found = []
    for node in ast.walk(ast.parse(re.sub(r"(?m)^[%!].*$", "", code))):
        if isinstance(node, ast.Attribute):
            of_panel = isinstance(node.value, ast.Name) and node.value.id in panels
            if node.attr in LEFT_BY_A_RUN | OF_ERRORS or (of_panel and node.attr in OF_A_PANEL):
                found.append(f".{node.attr}")
        elif isinstance(node, ast.Import | ast.ImportFrom):
            whole = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
            found += [f"import {n}" for n in whole if n.partition(".")[0] in DRAWING]
    return found


def plumbing_cells(book: books.Notebook) -> dict[str, list[str]]:
    """Return, by cell, what is plumbing in it; folded cells of questions are none."""
    panels = {name for cell in book.code for name in EXPLORED.findall(cell.source)}
    seen = [c for c in book.code if not c.metadata.get("jupyter", {}).get("source_hidden")]
    return {cell.id: found for cell in seen if (found := plumbing(cell.source, panels))}


@BOOKS
def test_cells_hold_what_a_learner_types(book: books.Notebook) -> None:
    assert plumbing_cells(book) == {}


@pytest.mark.parametrize(
    "code",
    [
        'print(wire.set(weight_d=0).tensors["a"]["grad"])',
        "wire.reset();",
        "print(wire.error)",
        "print(error.__traceback__.tb_lineno - 3)",
        'print(str(error).partition(" Hint")[0])',
        "with warnings.catch_warnings(record=True) as caught: pass",
        "import base64",
        "from IPython.display import HTML",
    ],
)
def test_plumbing_is_noticed(code: str) -> None:
    assert plumbing(code, {"wire"})


@pytest.mark.parametrize(
    "code",
    [
        "%%gradviz\nb = a.detach()\nprint(a.grad)",
        "gv.play(wire.recording)",
        'lesson.table(wire, "a.grad", weight_d=[0, 3])',
        "try:\n    d.backward()\nexcept RuntimeError as error:\n    print(error)",
        "with gv.record() as rec:\n    pass\nrec",
    ],
)
def test_what_a_learner_types_is_no_plumbing(code: str) -> None:
    assert plumbing(code, {"wire"}) == []


def test_a_folded_question_is_no_plumbing(tmp_path: Path) -> None:
    folded = {"jupyter": {"source_hidden": True}}
    cell = books.Cell("a", "code", "truth = run.tensors", metadata=folded)
    book = books.Notebook(tmp_path / "07_x.ipynb", [cell])
    assert plumbing_cells(book) == {}
    cell.metadata = {}
    assert plumbing_cells(book) == {"a": [".tensors"]}
