"""A notebook of marimo keeps cells as bodies of functions, and marimo compiles each body without its
indentation, at the lines of the file."""

from __future__ import annotations

import ast
import dis
import linecache
import sys
import textwrap
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from executing import Source

import gradviz as gv
from gradviz.names.compiled import Cells, file_of, is_edited
from gradviz.names.position import locate

NOTEBOOK = '''
import marimo

app = marimo.App()

with app.setup:
    import torch
    start = torch.tensor([1.0, 2.0], requires_grad=True)


@app.cell
def _():
    a = start * 2
    copy = a.detach()
    loss = (a * copy).sum()
    loss.backward()
    return a, copy, loss


@app.cell(hide_code=True)
def _(
    a,
):
    # a comment before the code

    def twice(x):
        """Text of several lines,
which is not indented."""
        doubled = x + x
        return doubled

    both = twice(a)
    return (both,)


@app.function
def plain(x):
    tripled = x * 3
    return tripled


if __name__ == "__main__":
    app.run()
'''


def compiled(block: Any, path: Path, column: int = 0) -> CodeType:
    """Return the code of a cell as marimo makes it: its text alone, moved to the lines of its file.

    Args:
        column: which is added to each column; marimo adds nothing.
    """
    kept = [s for s in block.body if not isinstance(s, ast.Return)]
    lines = path.read_text("utf-8").split("\n")[kept[0].lineno - 1 : kept[-1].end_lineno]
    indent = kept[0].col_offset
    text = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines)
    tree = ast.increment_lineno(ast.parse(text), kept[0].lineno - 1)
    for node in ast.walk(tree):
        if hasattr(node, "col_offset"):
            node.col_offset += column
            node.end_col_offset = (node.end_col_offset or 0) + column  # type: ignore[attr-defined]
    return compile(tree, str(path), "exec")


def cells_of(path: Path, text: str = NOTEBOOK) -> list[Any]:
    """Write a notebook; return the syntax nodes of its cells."""
    path.write_text(text, "utf-8")
    kinds = (ast.With, ast.FunctionDef)
    return [node for node in ast.parse(text).body if isinstance(node, kinds)]


def run(path: Path, column: int = 0) -> gv.Recording:
    """Run the notebook's cells under a recording."""
    *cells, plain = cells_of(path)
    names: dict[str, Any] = {}
    plain.decorator_list.clear()  # marimo leaves this function where it is
    exec(compile(ast.Module([plain], []), str(path), "exec"), names)
    with gv.record() as rec:
        for cell in cells:
            exec(compiled(cell, path, column), names)
        names["plain"](names["start"])
    return rec


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="what runs in a part of a file is known from Python 3.11"
)
@pytest.mark.parametrize("column", [0, 4], ids=["marimo's columns", "columns of the file"])
def test_names_and_lines_of_cells_are_those_of_the_file(tmp_path: Path, column: int) -> None:
    text = run(tmp_path / "shown.py", column).figure().text
    for card in ("a = start * 2", "copy = a.detach()", "doubled = x + x", "tripled = x * 3"):
        assert card in text, text
    assert "cut: line 14: a ✂ copy · detach by copy = a.detach()" in text, text


def test_only_the_columns_of_a_cell_change(tmp_path: Path) -> None:
    path = tmp_path / "shown.py"
    cells_of(path)
    dedented, lines = Cells.for_filename(str(path)).lines, NOTEBOOK.split("\n")
    assert len(dedented) == len(lines) - 1  # nothing stands behind the last line's end
    for before, after in zip(lines, dedented, strict=False):
        assert after in ("", before, before[4:])
    assert dedented[12:16] == [line[4:] for line in lines[12:16]]
    assert not dedented[16], "a cell's return names what it makes, and marimo leaves it out"
    assert "    tripled = x * 3" in dedented, "a function at the top level is compiled as it stands"


def test_an_edited_cell_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "shown.py"
    cells_of(path)
    code = compiled(cells_of(path)[1], path)
    assert not is_edited(code, file_of(code))
    other = tmp_path / "other.py"
    cells_of(other, NOTEBOOK.replace("a = start * 2", "first = start * 2"))
    moved = code.replace(co_filename=str(other))
    if hasattr(code, "co_positions"):  # Python 3.10 keeps no columns
        assert is_edited(moved, file_of(moved))


def test_other_files_are_read_as_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "shown.py"
    path.write_text("@app.cell\ndef _():\n    a = 1\n", "utf-8")
    assert Cells.for_filename(str(path)) is Source.for_filename(str(path))
    code = compile(textwrap.dedent(path.read_text("utf-8")), str(path), "exec")
    assert file_of(code) is Source.for_filename(str(path))


def test_equal_codes_of_other_lines_are_kept_apart(tmp_path: Path) -> None:
    """IPython compiles each statement of a cell by itself, and before Python 3.11 such codes are
    equal where their text is."""
    path = tmp_path / "cell.py"
    text = "import math\nmath.sqrt(4)\n\nmath.sqrt(4)\n"
    path.write_text(text, "utf-8")
    _, first, second = ast.parse(text).body
    codes = [compile(ast.Module([part], []), str(path), "exec") for part in (first, second)]
    lasti = [i.offset for i in dis.get_instructions(codes[0]) if i.opname.startswith("CALL")][-1]
    assert [locate(code, lasti).line for code in codes] == [2, 4]


def test_a_file_that_is_nested_too_deeply_has_no_tree_and_is_no_obstacle() -> None:
    program = (
        "import torch, gradviz as gv\n"
        "a = torch.ones(1, requires_grad=True)\n"
        "with gv.record() as rec:\n"
        f"    total = {' + '.join(['1'] * 900)}\n"
        "    loss = (a.detach() * 2).sum()\n"
        "    try:\n"
        "        loss.backward()\n"
        "    except RuntimeError:\n"
        "        pass\n"
        "told = rec.explain(a)\n"
    )
    linecache.cache["deep.py"] = len(program), None, program.splitlines(True), "deep.py"
    names: dict[str, Any] = {}
    exec(compile(program, "deep.py", "exec"), names)
    assert file_of(compile("1", "deep.py", "exec")).tree is None
    assert names["told"].verdict == "Nothing can train: loss has no grad_fn."
