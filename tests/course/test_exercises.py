"""Exercises of the notebooks: as they stand they miss a goal, and the solution below them meets all
of theirs."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from course import books

GOAL = re.compile(r"^(?P<left>.*?)\s{2,}goal:\s*(?P<goal>.*?)\s*$", re.MULTILINE)
SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>(.*?)</details>", re.DOTALL)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


SOLVED, MISSING = "\nSolved.\n", "\nNot solved yet: "


@dataclass
class Exercise:
    """One cell to mend.

    Attributes:
        name: notebook and cell.
        imports: the notebook's first code cell; it is all that an exercise may need.
        stub: what the reader mends.
        below: the source of the cell below it, or "".
        above: the source of the cell above it, or "".
    """

    name: str
    imports: str
    stub: str
    below: str
    above: str = ""

    @property
    def says_what_to_do(self) -> bool:
        """Whether the task stands open right above the cell, not in a fold."""
        return "**Fix it.** " in self.above.rpartition("</details>")[2]

    @property
    def solution(self) -> str:
        """The mended cell, from the folded part of the cell below."""
        folded = SOLUTION.findall(self.below)
        fences = FENCE.findall(folded[0]) if len(folded) == 1 else []
        assert len(fences) == 1, (
            f"{self.name}: below it stands no single Solution with a single ```python block"
        )
        return str(fences[0])


def exercises(book: books.Notebook) -> Iterator[Exercise]:
    """Those of one notebook."""
    for place, cell in enumerate(book.cells):
        if cell.kind == "code" and "exercise" in cell.tags:
            below = next(
                (c.source for c in book.cells[place + 1 : place + 2] if c.kind == "markdown"), ""
            )
            above = book.cells[place - 1].source if place else ""
            name = f"{book.path.stem}-{cell.id}"
            yield Exercise(name, book.code[0].source, cell.source, below, above)


def plain(source: str) -> str:
    """Without magics."""
    return re.sub(r"^%.*$", "", source, flags=re.MULTILINE)


def printed(exercise: Exercise, source: str) -> str:
    """What a cell prints that runs right after the imports."""
    said, scope = io.StringIO(), {"__name__": "__main__"}
    with contextlib.redirect_stdout(said), torch.random.fork_rng(devices=[]), torch.enable_grad():
        for part in (exercise.imports, source):
            exec(compile(plain(part), exercise.name, "exec"), scope)
    return said.getvalue()


def goals(text: str) -> list[tuple[str, bool]]:
    """The goals of a print: (what has to be there, whether it is)."""
    found = []
    for match in GOAL.finditer(text):
        left, goal = match["left"], match["goal"]
        # 12.00 does not end with the goal 2.00
        whole = not left[: -len(goal)] or left[-len(goal) - 1] in " =:"
        found.append((goal, bool(goal) and left.endswith(goal) and whole))
    return found


def complaint(exercise: Exercise) -> str:
    """What is wrong with one exercise; "" if nothing is."""
    said = [printed(exercise, source) for source in (exercise.stub, exercise.solution)]
    stub, solution = map(goals, said)
    if not stub:
        return "it prints no line with a goal: two spaces, then goal: …"
    if all(met for _, met in stub):
        return "nothing is to mend: every goal is met as it stands"
    if [goal for goal, _ in stub] != [goal for goal, _ in solution]:
        return f"the solution has other goals than the exercise: {solution}"
    missed = [goal for goal, met in solution if not met]
    if missed:
        return f"the solution misses {missed}"
    if MISSING not in said[0] or SOLVED in said[0]:
        return "as it stands it does not say what is missing"
    return "" if SOLVED in said[1] else "its solution does not say that it is solved"


ALL = [exercise for book in books.notebooks() for exercise in exercises(book)]


@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.name)
def test_an_exercise_is_to_mend_and_its_solution_mends_it(exercise: Exercise) -> None:
    assert complaint(exercise) == ""


@pytest.mark.parametrize("exercise", ALL, ids=lambda e: e.name)
def test_an_exercise_says_what_to_do(exercise: Exercise) -> None:
    assert exercise.says_what_to_do


@pytest.mark.parametrize("book", books.notebooks(), ids=lambda b: b.path.stem)
def test_a_notebook_has_something_to_mend(book: books.Notebook) -> None:
    assert list(exercises(book)), "no code cell carries the tag exercise"


# --- the check itself can fail --------------------------------------------------------------------

IMPORTS = "import torch\nfrom gradviz import lesson\n%load_ext gradviz"
STUB = 'x = torch.ones(1)\nlesson.goals({"x": (x.item(), 2.0)})'
MENDED = STUB.replace("ones(1)", "ones(1) * 2")
PRINTED = 'x = torch.ones(1)\nprint("x", x.item(), "  goal: 2.0")'


def below(solution: str) -> str:
    return f"A hint.\n\n<details><summary>Solution</summary>\n\n```python\n{solution}\n```\n\n</details>"


@pytest.mark.parametrize(
    ("stub", "solution", "said"),
    [
        (STUB, MENDED, ""),
        (MENDED, MENDED, "nothing is to mend"),
        (STUB, STUB, "the solution misses ['2.0']"),
        (STUB, STUB.replace("2.0", "1.0"), "the solution has other goals"),
        (STUB.replace("lesson.goals", "print"), MENDED, "it prints no line with a goal"),
        (PRINTED, PRINTED.replace("ones(1)", "ones(1) * 2"), "as it stands it does not say"),
        (STUB, PRINTED.replace("ones(1)", "ones(1) * 2"), "its solution does not say"),
        (STUB.replace("ones(1)", "ones(1) * 12"), MENDED, ""),
    ],
)
def test_a_complaint_says_what_is_wrong(stub: str, solution: str, said: str) -> None:
    found = complaint(Exercise("x", IMPORTS, stub, below(solution)))
    assert found.startswith(said)
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("above", "says"),
    [
        ("</details>\n\n**Fix it.** Change one line.", True),
        ("", False),
        ("<details>\n\n**Fix it.** Change one line.\n\n</details>", False),
    ],
)
def test_a_task_that_is_missing_or_folded_is_noticed(above: str, says: bool) -> None:
    assert Exercise("x", IMPORTS, STUB, below(MENDED), above).says_what_to_do is says


@pytest.mark.parametrize(
    "text", ["", "```python\n1\n```", below("1") + below("2"), below("1\n```\n\n```python\n2")]
)
def test_a_solution_stands_folded_in_the_cell_below(text: str) -> None:
    with pytest.raises(AssertionError, match="no single Solution"):
        complaint(Exercise("x", IMPORTS, STUB, text))


def test_an_exercise_may_not_lean_on_other_cells() -> None:
    with pytest.raises(NameError):
        complaint(
            Exercise("x", "import torch", "print(a, '  goal: 1')", below("print(a, '  goal: 1')"))
        )


def test_a_solution_counts_only_in_the_very_next_cell(tmp_path: Path) -> None:
    cells = [
        books.Cell("a", "code", "import torch"),
        books.Cell("b", "code", STUB, ["exercise"]),
        books.Cell("c", "code", "1"),
        books.Cell("d", "markdown", below(MENDED)),
    ]
    (found,) = exercises(books.Notebook(tmp_path / "07_x.ipynb", cells))
    assert found.below == ""
