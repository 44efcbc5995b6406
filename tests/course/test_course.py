"""The habits of the course that a machine can check."""

from __future__ import annotations

import ast
import itertools
import json
import re
from pathlib import Path

import ledger
import pytest
import torch

from course import books, start_page
from gradviz import lesson
from gradviz.picture.table import COLUMNS

pytestmark = pytest.mark.every_case

BOOKS = pytest.mark.parametrize("book", books.notebooks(), ids=lambda b: b.path.stem)
MOST_LINES, MOST_QUESTIONS = 12, 5
# of a question's cell, which starts folded: the code that is asked about, and up to four answers
MOST_HIDDEN = 22
OTHER_TAGS = {
    "exercise",
    "raises-exception",
    "nbval-ignore-output",
    "nbval-raises-exception",
    "nbval-skip",
}
EXTRA = re.compile(r"E\d\d")  # what the course shows beyond the notes
FINE_PRINT = re.compile(r"Fine print \(\d+ minutes\)")
# what a panel asks of the reader: words, and no code
TASK = re.compile(
    r"^@gv\.explore\(.*?\ndef [^\n]*\n    (\"{3}|'{3})(?P<task>[^\n]+)\1\n",
    re.MULTILINE | re.DOTALL,
)
ONE_ROW = 100  # letters, in a panel of JupyterLab at 1280×720
EXPLORED = re.compile(r"^@gv\.explore\(.*?\)\n(?:@.*\n)*def (\w+)", re.MULTILINE | re.DOTALL)


def complaints(book: books.Notebook) -> list[str]:
    """What is not as in the rest of the course."""
    return [*opening(book), *sections(book), *cells(book), *fine_print(book), *explorations(book)]


def opening(book: books.Notebook) -> list[str]:
    """The title comes first, and the text above the first section says what to expect."""
    signs = ["**Time:**", "**You will do.**", "**You will learn.**", "**You need.**"]
    found = [
        f"above the first section there is no {sign!r}"
        for sign in signs
        if sign not in book.opening
    ]
    top = book.cells[0]
    titled = top.kind == "markdown" and top.source.startswith(f"# {book.number} ")
    return found + ([] if titled else [f"the first cell does not begin with '# {book.number} '"])


def sections(book: books.Notebook) -> list[str]:
    """Sections are numbered, and what to keep is said."""
    texts = [text for _, text in book.headings]
    numbers = [int(match[1]) for match in (re.match(r"(\d+)\. ", text) for text in texts) if match]
    found = (
        []
        if numbers == list(range(1, len(numbers) + 1)) and numbers
        else [f"sections are numbered {numbers}"]
    )
    return found + ([] if "Keep this" in texts else ["there is no heading Keep this"])


def cells(book: books.Notebook) -> list[str]:
    """Cells are short, questions few, tags known."""
    found = []
    for cell in book.code:
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden")
        lines = len(cell.source.strip().splitlines()) - len(TASK.findall(cell.source))
        if lines > (MOST_HIDDEN if hidden else MOST_LINES):
            found.append(f"cell {cell.id} has {lines} lines")
        known = {*books.SCENARIOS, *books.CLAIMS, *OTHER_TAGS}
        if unknown := [tag for tag in cell.tags if tag not in known and not EXTRA.fullmatch(tag)]:
            found.append(f"cell {cell.id} has the unknown tags {sorted(unknown)}")
    questions = sum(cell.source.count("lesson.question(") for cell in book.code)
    return found + [f"{questions} questions"] * (questions > MOST_QUESTIONS)


def fine_print(book: books.Notebook) -> list[str]:
    """Fine print is folded and comes last, after what to keep."""
    found, parts = [], [(cell, heading) for cell in book.cells for heading in cell.headings]
    for place, (cell, (level, text)) in enumerate(parts):
        if "fine print" in text.lower():
            if level != 2 or not FINE_PRINT.fullmatch(text):
                found.append(f"the heading {text!r} is not ## Fine print (N minutes)")
            if cell.metadata.get("jp-MarkdownHeadingCollapsed") is not True or cell.headings != [
                (level, text)
            ]:
                found.append("the fine print is not folded, or its cell has other headings, too")
            later = [heading for _, heading in parts[place + 1 :]]
            found += [
                f"after the fine print comes {t!r}"
                for lv, t in later
                if lv <= 2 or t == "Keep this"
            ]
    return found


def explorations(book: books.Notebook) -> list[str]:
    """Each panel stands over a function. What its clicks do is tried in test_every_state.py, in
    every state and against torch, and not in cells that a learner reads."""
    return [
        f"cell {cell.id}: what does @gv.explore stand over?"
        for cell in book.code
        if "@gv.explore" in cell.source and not EXPLORED.search(cell.source)
    ]


@BOOKS
def test_a_notebook_keeps_the_habits_of_the_course(book: books.Notebook) -> None:
    assert complaints(book) == []


def test_notebooks_are_numbered_one_by_one() -> None:
    numbers = [book.number for book in books.notebooks()]
    assert len(set(numbers)) == len(numbers)


def untaught() -> list[str]:
    """Scenarios without a cell, and claims that stand in no cell and are no mere slip."""
    found = [id for id in books.SCENARIOS if not any(books.tagged(id))]
    return found + [
        id for id in books.CLAIMS if id not in books.SLIPS and not any(books.tagged(id))
    ]


def test_every_scenario_and_claim_is_walked_through_by_a_cell() -> None:
    assert untaught() == []


def test_every_claim_is_in_the_ledger_also_the_slips() -> None:
    assert set(books.SLIPS) < set(books.CLAIMS) == set(ledger.CLAIMS)


# --- what is said to be believed ------------------------------------------------------------------


def sources(book: books.Notebook) -> list[str]:
    """Where the misconceptions of a notebook's wrong answers were found: the words after
    ``source=``."""
    found = []
    for cell in book.code:
        if "lesson.Wrong(" in cell.source:
            calls = [
                node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)
            ]
            keywords = [
                keyword for call in calls for keyword in call.keywords if keyword.arg == "source"
            ]
            found += [ast.literal_eval(keyword.value) for keyword in keywords]
    return found


def unfounded(source: str) -> str:
    """Why nobody can look up this source of a misconception; "" if one can."""
    if source not in ledger.CLAIMS:
        return f"{source} is no claim of the ledger"
    verdict = ledger.CLAIMS[source].verdict()
    return (
        ""
        if verdict in ("false", "needs nuance", "outdated")
        else f"{source} is {verdict}: no misconception"
    )


# --- what the texts say of all optimizers ---------------------------------------------------------

OPTIMIZERS = sorted(
    name
    for name, kind in vars(torch.optim).items()
    if isinstance(kind, type)
    and issubclass(kind, torch.optim.Optimizer)
    and kind is not torch.optim.Optimizer
)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_but_lbfgs_skips_what_has_no_grad(name: str) -> None:
    """So say notebooks 08, 10 and 11. Both parameters have a history, and then one loses its
    gradient."""
    rests, moves = (torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    optimizer = getattr(torch.optim, name)([rests, moves], lr=0.1)

    def closure(clear: bool) -> torch.Tensor:
        loss = ((rests * moves - 3) ** 2).sum()
        for p, grad in zip((rests, moves), torch.autograd.grad(loss, (rests, moves)), strict=True):
            p.grad = grad.to_sparse() if name == "SparseAdam" else grad
        rests.grad = None if clear else rests.grad
        return loss

    optimizer.step(lambda: closure(clear=False))
    before = rests.detach().clone(), moves.detach().clone()
    optimizer.step(lambda: closure(clear=True))
    assert torch.equal(before[0], rests) == (name != "LBFGS")
    assert not torch.equal(before[1], moves)


# --- a core notebook opens with its question ------------------------------------------------------

MOST_WORDS = 120  # that a reader sees above the first thing to touch, the title among them
TOUR_WORDS = 30  # and in the tour


def words_before_something_shown(book: books.Notebook) -> int:
    """How many words stand above the first picture or panel, with the code that is not folded."""
    shown = []
    for cell in book.cells:
        if any("text/html" in output.get("data", {}) for output in cell.outputs):
            break
        if cell.kind == "markdown":
            shown.append(books.plain(cell.source))
            continue
        folded = cell.metadata.get("jupyter", {}).get("source_hidden")
        shown.append("" if folded else cell.source)
        shown += ["".join(output.get("text", "")) for output in cell.outputs]
    return len(re.findall(r"\w[^\s]*", " ".join(shown)))


CORE = [book for book in books.notebooks() if book.number in start_page.CORE]
ASKING = [*CORE, *(book for book in books.notebooks() if book.number in ("05", "06", "07", "09"))]


@pytest.mark.parametrize("book", ASKING, ids=lambda b: b.path.stem)
def test_a_core_notebook_opens_with_its_question_as_a_live_panel(book: books.Notebook) -> None:
    most = TOUR_WORDS if book.number == "00" else MOST_WORDS
    assert words_before_something_shown(book) <= most
    [title, first, *_] = book.cells
    assert "?" in title.source.partition("\n")[2], "the title asks nothing"
    assert EXPLORED.search(first.source), "the first code cell shows no panel"
    assert any("text/html" in output.get("data", {}) for output in first.outputs)


@BOOKS
def test_every_panel_asks_something_of_the_reader(book: books.Notebook) -> None:
    """Where a panel is higher than the window, what stands above it is out of sight."""
    panels = [cell.source for cell in book.code if "@gv.explore" in cell.source]
    tasks = [TASK.search(source) for source in panels]
    assert all(tasks), [source for source, task in zip(panels, tasks, strict=True) if not task]
    assert [task["task"] for task in tasks if task and len(task["task"]) > ONE_ROW] == []


# --- a real example takes over --------------------------------------------------------------------

LAYER = re.compile(r"[\w)] @ W\d?\b|nn\.Linear\(")
PROGRAM = re.compile(r"^%%gradviz|@gv\.explore|gv\.record\(", re.MULTILINE)


def core_code(book: books.Notebook) -> list[books.Cell]:
    """The code that a learner sees in the sections of the core."""
    core = itertools.takewhile(lambda cell: "fine print" not in cell.section.lower(), book.cells)
    return [
        cell
        for cell in core
        if cell.kind == "code"
        and re.match(r"\d+\. ", cell.section)
        and not cell.metadata.get("jupyter", {}).get("source_hidden")
    ]


def shown_layer(book: books.Notebook) -> float:
    """Where the first layer of a net stands in the core's sections, from 0 to 1; 2 if nowhere."""
    seen = core_code(book)
    places = [place for place, cell in enumerate(seen) if LAYER.search(cell.source)]
    return places[0] / len(seen) if places else 2


def layers_in_the_second_half(book: books.Notebook) -> float:
    """How many of the pictures, panels and exercises of the core's second half are of a net."""
    programs = [c for c in core_code(book) if PROGRAM.search(c.source) or "exercise" in c.tags]
    second = programs[len(programs) // 2 :]
    return sum(bool(LAYER.search(cell.source)) for cell in second) / len(second)


@pytest.mark.parametrize("book", CORE, ids=lambda b: b.path.stem)
def test_a_layer_of_a_net_is_met_by_the_middle(book: books.Notebook) -> None:
    assert shown_layer(book) < 0.5


# the tour of ten minutes stays with its one program
@pytest.mark.parametrize("book", CORE[1:], ids=lambda b: b.path.stem)
def test_a_net_takes_over_in_the_second_half(book: books.Notebook) -> None:
    assert layers_in_the_second_half(book) >= 0.5


PICTURE = [{"output_type": "display_data", "data": {"text/html": "<svg>"}}]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            [
                books.Cell("a", "markdown", "# One two"),
                books.Cell("b", "code", "x", outputs=PICTURE),
            ],
            2,
        ),
        (
            [
                books.Cell("a", "code", "import torch"),
                books.Cell("b", "code", "x", outputs=PICTURE),
            ],
            2,
        ),
        ([books.Cell("a", "code", "one", metadata={"jupyter": {"source_hidden": True}})], 0),
        (
            [
                books.Cell(
                    "a", "code", "x", outputs=[{"output_type": "stream", "text": "two words"}]
                )
            ],
            3,
        ),
    ],
)
def test_what_stands_above_the_first_picture_is_counted(
    cells: list[books.Cell], words: int, tmp_path: Path
) -> None:
    assert words_before_something_shown(books.Notebook(tmp_path / "07_x.ipynb", cells)) == words


@BOOKS
def test_what_is_often_believed_is_written_in_a_note(book: books.Notebook) -> None:
    assert [complaint for complaint in map(unfounded, sources(book)) if complaint] == []


def test_the_named_misconceptions_are_written_in_notes() -> None:
    assert [complaint for complaint in map(unfounded, lesson.SOURCES.values()) if complaint] == []


def test_a_source_that_nobody_wrote_is_noticed(tmp_path: Path) -> None:
    asked = 'lesson.Wrong("x", "y", source="C046")\nlesson.Wrong("x", "y", "a", source="C1")'
    book = made(tmp_path, {1: ("code", asked, {})})
    assert sources(book) == ["C046", "C1"]
    assert [unfounded(source) for source in sources(book)] == [
        "C046 is true: no misconception",
        "C1 is no claim of the ledger",
    ]
    assert unfounded("C029") == ""


# --- the check itself can fail --------------------------------------------------------------------

TOP = "# 07 Title\n**Time:** 1\n**You will do.** x\n**You will learn.** y\n**You need.** z"
FOLDED = {"jp-MarkdownHeadingCollapsed": True}
GOOD = [
    ("markdown", TOP, {}),
    ("code", "import torch", {}),
    ("markdown", "### 1. Look", {}),
    ("code", "@gv.explore(a=[1, (2)])\ndef look(a):\n    pass", {"tags": ["S13"]}),
    ("code", "look.set(a=2)\nlook.reset();", {"tags": ["C046"]}),
    ("markdown", "### Keep this", {}),
    ("markdown", "## Fine print (2 minutes)", FOLDED),
    ("markdown", "### 2. Look closely", {}),
]


def made(folder: Path, changes: dict[int, tuple]) -> books.Notebook:
    listed = [changes.get(place, cell) for place, cell in enumerate(GOOD)]
    raw = [
        {"id": f"c{i}", "cell_type": kind, "source": s, "metadata": m}
        for i, (kind, s, m) in enumerate(listed)
    ]
    path = folder / "07_x.ipynb"
    path.write_text(json.dumps({"cells": raw}), encoding="utf-8")
    return books.read(path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        (
            {0: ("markdown", TOP.replace("Time", "When"), {})},
            "above the first section there is no '**Time:**'",
        ),
        (
            {0: ("markdown", TOP.replace("# 07", "# 08"), {})},
            "the first cell does not begin with '# 07 '",
        ),
        ({0: ("code", TOP, {})}, "the first cell does not begin with '# 07 '"),
        ({2: ("markdown", "### 2. Look", {})}, "sections are numbered [2, 2]"),
        ({5: ("markdown", "text", {})}, "there is no heading Keep this"),
        ({1: ("code", "1\n" * 13, {})}, "cell c1 has 13 lines"),
        ({1: ("code", "1", {"tags": ["S46"]})}, "cell c1 has the unknown tags ['S46']"),
        ({1: ("code", "lesson.question()\n" * 6, {})}, "6 questions"),
        ({6: ("markdown", "## Fine print (2 minutes)", {})}, "the fine print is not folded"),
        ({6: ("markdown", "## Fine print", FOLDED)}, "is not ## Fine print (N minutes)"),
        ({7: ("markdown", "### 2. Look\n## More", {})}, "after the fine print comes 'More'"),
        ({3: ("code", "@gv.explore(a=1)", {})}, "what does @gv.explore stand over?"),
    ],
)
def test_a_complaint_says_what_is_wrong(
    changes: dict[int, tuple], said: str, tmp_path: Path
) -> None:
    found = complaints(made(tmp_path, changes))
    assert any(said in complaint for complaint in found) if said else found == []


def test_a_lost_tag_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [id for id in [*books.SCENARIOS, *books.CLAIMS] if id not in books.SLIPS]
    all_of_them = made(tmp_path, {1: ("code", "1", {"tags": wanted})})
    monkeypatch.setattr(books, "notebooks", lambda: (all_of_them,))
    assert untaught() == []
    all_of_them.code[0].tags.remove("S45")
    all_of_them.code[0].tags.remove("C150")
    assert untaught() == ["S45", "C150"]


# --- code compares fields, not sentences ----------------------------------------------------------

OUR_WORDS = {"sentence", "sentences", "text", "alt"}
SHOWS = (ast.BoolOp, ast.JoinedStr, ast.FormattedValue, ast.Starred, ast.keyword)
# `Shown` is what the moving picture of the README keeps of a state, and `broken` sets its sentence in
# lines; a notebook's output is saved as lines, which are joined.
PRINTS = {"print", "html.escape", "broken", "Shown", "''.join"}
SEARCHES = frozenset(
    """partition rpartition split rsplit splitlines index rindex find rfind count replace startswith
    endswith removeprefix removesuffix""".split()
)


def parsed_words(code: str) -> list[str]:
    """Where a program takes something from our words instead of showing them whole: a sentence or
    a picture's text anywhere but in a print; a search in a cell of the tensor table; a comparison
    with the words of an error, which are torch's and differ between its versions."""
    tree = ast.parse(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    errors = {
        name.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and words_read(node.value) == "error"
        for name in node.targets
        if isinstance(name, ast.Name)
    }
    found = []
    for node in ast.walk(tree):
        said = words_read(node) in OUR_WORDS and not is_printed_whole(node, parents)
        cell = isinstance(node, ast.Subscript) and words_read(node) in COLUMNS
        searched = cell and is_searched(parents[node])
        error = words_read(node) == "error" or (isinstance(node, ast.Name) and node.id in errors)
        compared = error and isinstance(parents.get(node), ast.Compare)
        if said or searched or compared or is_looked_into(node):
            found.append(f"line {node.lineno}: {ast.unparse(parents[node])}")
    return found


def words_read(node: ast.AST) -> str | None:
    """Return "sentence" of ``run.sentence`` and of ``state["sentence"]``; None of anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return node.attr
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return key if isinstance(key, str) else None
    return None


def is_printed_whole(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether it is printed or drawn as it is: of the sentences, one of them, too."""
    parent = parents[node]
    if words_read(node) == "sentences" and isinstance(parent, ast.Subscript):
        if isinstance(parent.slice, ast.Slice):
            return False
        parent = parents[parent]
    while isinstance(parent, SHOWS):
        parent = parents[parent]
    return isinstance(parent, ast.Call) and ast.unparse(parent.func) in PRINTS


def is_searched(parent: ast.AST) -> bool:
    """Whether this takes a part of a text, or looks for a part in it."""
    if isinstance(parent, ast.Attribute):
        return parent.attr in SEARCHES
    if isinstance(parent, ast.Compare):
        return any(isinstance(operation, (ast.In, ast.NotIn)) for operation in parent.ops)
    return isinstance(parent, ast.Subscript)


def is_looked_into(node: ast.AST) -> bool:
    """Whether a search is made in an expression that reads our words somewhere inside, as in
    ``(run.error or run.sentence).partition(". ")``; torch's own words may be shortened."""
    whole = None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        whole = node.func.value if node.func.attr in SEARCHES else None
    elif isinstance(node, ast.Subscript):
        whole = node.value if isinstance(node.slice, ast.Slice) else None
    return isinstance(whole, ast.BoolOp | ast.IfExp) and any(
        words_read(inner) in OUR_WORDS for inner in ast.walk(whole)
    )


@BOOKS
def test_cells_compare_fields_and_parse_no_sentence(book: books.Notebook) -> None:
    plain = {cell.id: re.sub(r"(?m)^%.*$", "", cell.source) for cell in book.code}
    assert {id: found for id, code in plain.items() if (found := parsed_words(code))} == {}


@pytest.mark.parametrize("folder", ["course", "benchmarks"])
def test_the_programs_beside_the_package_parse_no_sentence(folder: str) -> None:
    paths = sorted((Path(__file__).parents[2] / folder).glob("*.py"))
    assert paths
    assert {p.name: found for p in paths if (found := parsed_words(p.read_text("utf-8")))} == {}


PARSING = """\
truth = lambda run: run.sentence[8:].split(" raises")[0]
truth = lambda run: run.figure.text.index("FREED") < 3
print(written.sentence.partition(". ")[0])
print((clinic.error or clinic.sentence)[:82])
text = add_up.recording.figure().text
print("yes" if "cuts" in run.sentence else "no")
print(re.search("cuts", run.state["sentence"]))
b = run.tensors["b"]["grad"].partition(" (")[0]
shared = "back" in found["a"]["storage"]
verdict = "inplace" in run.error
raised = run.error; verdict = "inplace" in raised
print(run.sentences[:1])
print(run.sentences[0][:10])
for word in run.text.split(): pass"""
SHOWING = """\
print("clone:", scenario.set(copy="clone").sentence)
print(take_off.error.partition(". ")[0] or run.sentence)
print(f"{run.sentence}")
print(run.error[:80] or run.sentences[0])
truth = lambda run: run.tensors["b"]["grad"]
last = "an error" if run.error else found["b"]["value"]
print(run.figure.text)"""


@pytest.mark.parametrize("line", PARSING.splitlines())
def test_parsing_our_words_is_noticed(line: str) -> None:
    assert parsed_words(line)


@pytest.mark.parametrize("line", SHOWING.splitlines())
def test_showing_our_words_is_no_complaint(line: str) -> None:
    assert parsed_words(line) == []


def test_tables_of_answers_stay_folded_until_they_are_run() -> None:
    """They stand right below the panel that asks for a guess."""
    cells = [(book.name, cell) for book in books.notebooks() for cell in book.code]
    tables = [(name, cell) for name, cell in cells if "\nlesson.table(" in f"\n{cell.source}"]
    assert len(tables) > 50
    for name, cell in tables:
        assert cell.metadata["jupyter"]["outputs_hidden"], f"{name}: {cell.id}"
