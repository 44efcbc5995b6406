"""Every sentence is there, is said, and can be filled in; nothing outside of `words/` is prose."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from gradviz.graph.findings import OF_A_GRADIENT, Cause
from gradviz.graph.records import CutReason, NoteKind, SavedState
from gradviz.graph.saved_tensors import WrongUse
from gradviz.picture import theme
from gradviz.picture.table import COLUMNS
from gradviz.watch.torch_private import Obstacle
from gradviz.why.evidence.messages import _TEXTS
from gradviz.why.rules.errors.misuses import MISUSES
from gradviz.words import en
from gradviz.words.en import BELIEF, ENGLISH, SECTIONS
from gradviz.words.language import Answer
from gradviz.words.speech import fill, language, say, speaking

pytestmark = pytest.mark.every_case

PACKAGE = Path(__file__).parents[2] / "gradviz"
FILES = sorted(PACKAGE.rglob("*.py"))
NOTEBOOKS = "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((PACKAGE.parent / "notebooks").glob("*.ipynb"))
)
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
CALLS = [  # gone through once: every worker of a run has to
    (path, node)
    for path, tree in TREES.items()
    for node in ast.walk(tree)
    if isinstance(node, ast.Call)
]
LISTED = Path(__file__).with_name("prose_outside_words.txt")
GIVEN_BY_ALL = {"it", "grad", "loss", "symptom", "health"}  # to every answer


def calls_of(name: str, kind: type[ast.expr]) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a function (``ast.Name``) or a method (``ast.Attribute``) in the package, with
    the place where it stands."""
    for path, call in CALLS:
        called = getattr(call.func, "id", None), getattr(call.func, "attr", None)
        if isinstance(call.func, kind) and name in called:
            yield f"{path.relative_to(PACKAGE)}:{call.lineno}", call


def literals(word: ast.expr) -> list[str]:
    """The texts that an argument can be; none where that is not written down."""
    if isinstance(word, ast.Constant) and isinstance(word.value, str):
        return [word.value]
    if isinstance(word, ast.IfExp):
        return literals(word.body) + literals(word.orelse)
    return []


def fields_of(sentence: str) -> dict[str, str]:
    """The fields of a sentence, each with its spec."""
    return {name: spec or "" for _, name, spec, _ in Formatter().parse(sentence) if name}


# Sections whose keys are those of an enumeration or of a finding: not written down where said.
BY_NAME = {
    *("symptom", "ruled_out", "mend", "cause", "answer_column", "verdict", "obstacle"),
    *("cut", "legend", "belief", "note"),
    *("cutter", "wrong_use", "saved", "column", "param_count"),
    *("alarm_count", "alarm_part", "state_of", "fades"),
    *("params", "param_state", "param_column"),
    *("account", "read"),
}
NAMES = {
    "symptom": {symptom.name.lower() for symptom in OF_A_GRADIENT},
    "cause": {cause.value for cause in Cause},
    "legend": set(theme.LEGEND),
    "cut": {reason.name.lower() for reason in CutReason},
    "mend": {reason.name.lower() for reason in CutReason},
    "note": {kind.name.lower() for kind in NoteKind},
    "cutter": {reason.name.lower() for reason in CutReason},
    "wrong_use": {use.name.lower() for use in WrongUse},
    "saved": {state.name.lower() for state in SavedState},
    "column": set(COLUMNS),
    "obstacle": {obstacle.name.lower() for obstacle in Obstacle},
}


SAID = [*calls_of("say", ast.Name), *calls_of("tell", ast.Name)]


@pytest.mark.parametrize(("at", "call"), SAID, ids=[at for at, _ in SAID])
def test_what_is_said_is_in_the_tables(at: str, call: ast.Call) -> None:
    keys = literals(call.args[0])
    if not keys and isinstance(call.args[0], ast.JoinedStr):
        start = call.args[0].values[0]
        assert isinstance(start, ast.Constant), at
        assert start.value[:-1] in BY_NAME, at
        return
    assert keys, f"{at}: the key is not written down"
    given = {word.arg for word in call.keywords}
    for key in keys:
        assert key in ENGLISH.sentences, at
        if None not in given:
            assert set(fields_of(ENGLISH.sentences[key])) == given, f"{at}: {key}"


@pytest.mark.parametrize("section", NAMES)
def test_every_member_has_its_phrase(section: str) -> None:
    assert set(SECTIONS[section]) >= NAMES[section]


def test_what_cuts_is_told_by_its_call() -> None:
    given = {name for phrase in SECTIONS["cutter"].values() for name in fields_of(phrase)}
    assert given == {"function", "call"}


def test_every_sentence_is_said() -> None:
    said = {key for _, call in SAID for key in literals(call.args[0])}
    said |= {f"{section}.{name}" for section, names in NAMES.items() for name in names}
    # the names of the other sections are written down somewhere, with blanks where words have them;
    # a belief is named by the notebook that asks
    asked = {belief for belief in BELIEF if belief in NOTEBOOKS}
    written = {part.replace(" ", "_") for part in texts_in_code()} | asked
    said |= {f"{section}.{name}" for section in BY_NAME - NAMES.keys() for name in written}
    assert sorted(ENGLISH.sentences.keys() - said) == []


def texts_in_code() -> set[str]:
    """Every literal text of the package outside of `words/`."""
    modules = (tree for path, tree in TREES.items() if path.parent.name != "words")
    nodes = (node for tree in modules for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {node.value for node in nodes if isinstance(node.value, str)}


# The form is the last argument that has no name, and the cause the one before it.
ANSWERED = [(at, call) for at, call in calls_of("answer", ast.Attribute) if len(call.args) > 1]
ADDED = {"why/rules/sizes": {"received", "total", "zeros", "limit"}}  # by a room to all its answers


def forms_of(at: str, call: ast.Call) -> list[str]:
    """The forms that an answer can have: of a variable those that its function gives it, itself or
    by what another function of its file returns."""
    word = call.args[-1]
    if not isinstance(word, ast.Name):
        return literals(word)
    nodes = ast.walk(TREES[PACKAGE / at.partition(":")[0]])
    functions = [f for f in nodes if isinstance(f, ast.FunctionDef)]
    around = [f for f in functions if f.lineno <= call.lineno <= (f.end_lineno or f.lineno)][-1]
    given = (n for n in ast.walk(around) if isinstance(n, ast.Assign))
    values = [n.value for n in given if word.id in map(ast.unparse, ast.walk(n.targets[0]))]
    called = {ast.unparse(value.func) for value in values if isinstance(value, ast.Call)}
    inside = (n for f in functions if f.name in called for n in ast.walk(f))
    returned = [n.value for n in inside if isinstance(n, ast.Return) and n.value]
    returned = [value.elts[0] if isinstance(value, ast.Tuple) else value for value in returned]
    return [text for value in (*values, *returned) for text in literals(value)]


@pytest.mark.parametrize(("at", "call"), ANSWERED, ids=[at for at, _ in ANSWERED])
def test_every_finding_has_its_sentences(at: str, call: ast.Call) -> None:
    forms = forms_of(at, call)
    assert forms, f"{at}: the form is not written down"
    causes = [c for c, form in ENGLISH.answers if form in forms]
    assert causes, f"{at}: no answer has the form {forms}"
    named = re.findall(r"Cause\.([A-Z_]+)", ast.unparse(call.args[-2]))
    assert {c.name for c in causes} >= set(named), at


@pytest.mark.parametrize(("at", "call"), ANSWERED, ids=[at for at, _ in ANSWERED])
def test_every_finding_has_what_its_sentences_name(at: str, call: ast.Call) -> None:
    given = {word.arg for word in call.keywords}
    if None in given:
        return  # more are given by a dict
    known = given | GIVEN_BY_ALL | ADDED.get(at.rpartition("/")[0], set())
    named = re.findall(r"Cause\.([A-Z_]+)", ast.unparse(call.args[-2]))
    forms = forms_of(at, call)
    for (cause, form), answer in ENGLISH.answers.items():
        if form in forms and cause.name in named:
            sentences = sentences_of(answer)
            assert {name for s in sentences for name in fields_of(s)} <= known, f"{at}: {form}"


def causes_of(at: str, word: ast.expr) -> set[str]:
    """The causes that an argument can be: those that it names; of a variable those that its file
    names, and of what torch's text told those of all such texts."""
    named = set(re.findall(r"Cause\.([A-Z_]+)", ast.unparse(word)))
    if named and isinstance(word, (ast.Attribute, ast.IfExp)):
        return named
    tree = TREES[PACKAGE / at.partition(":")[0]]
    of_file = set(re.findall(r"Cause\.([A-Z_]+)", ast.unparse(tree)))
    return of_file | ({c.name for c in _TEXTS} if ".cause" in ast.unparse(word) else set())


def test_every_answer_is_given() -> None:
    given = {
        (cause, form)
        for at, call in ANSWERED
        for form in forms_of(at, call)
        for cause in causes_of(at, call.args[-2])
    }
    given |= {(misuse.cause.name, misuse.form) for misuse in MISUSES}
    assert not {(cause.name, form) for cause, form in ENGLISH.answers} - given


def sentences_of(answer: Answer) -> Iterator[str]:
    yield from (answer.verdict, answer.why, answer.mend, *answer.more)


EVERY = [
    *ENGLISH.sentences.values(),
    *(s for a in ENGLISH.answers.values() for s in sentences_of(a)),
]


def example(spec: str, n: int) -> str | list[str]:
    """A field that is told like this, of so many subjects; nobody lists the names of none."""
    if spec in ("", "cap"):
        return "x"
    if spec == "values":
        return "(3, 4)"
    return [f"x{i}" for i in range(max(n, 1) if spec in ("list", "few") else n)]


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_each_sentence_can_be_filled_in(n: int) -> None:
    for sentence in EVERY:
        fields = {name: example(spec, n) for name, spec in fields_of(sentence).items()}
        text = fill(sentence, fields)
        assert not re.search(r"[{}]|  ", text), sentence


def test_a_section_is_in_the_tables_once() -> None:
    tables = [id(table) for table in SECTIONS.values()]
    assert len(tables) == len(set(tables))


def test_an_answer_is_in_the_tables_once() -> None:
    tables = [
        table
        for table in vars(en).values()
        if isinstance(table, dict) and any(isinstance(key, tuple) for key in table)
    ]
    keys = [key for table in tables for key in table]
    assert len(keys) == len(set(keys)) == len(ENGLISH.answers)


def test_every_error_of_autograd_has_its_sentences() -> None:
    """The rule that tells of all errors without a rule of their own finds them by their cause."""
    own = {cause for cause, form in en.RAISED if form not in ("raised", "raised_made")}
    told = {cause for cause, form in en.RAISED if form == "raised"}
    of_a_table = {misuse.cause for misuse in MISUSES}
    assert own | told == {*_TEXTS, *of_a_table, Cause.NOT_KNOWN}


def test_another_language_is_spoken_inside_a_block() -> None:
    other = language()._replace(sentences={"label.unnamed": "namenlos"})
    with speaking(other):
        assert say("label.unnamed") == "namenlos"
    assert say("label.unnamed") == ENGLISH.sentences["label.unnamed"]


# --- prose outside words/ -------------------------------------------------------------------------

# Constants that read like sentences and are none of ours: torch's own text, and code.
NOT_OURS = {
    "picture/bars.py": {"CHART", "ROW"},  # markup
    "picture/comparison.py": {"ROOT", "TEXT", "RECT"},  # markup
    "picture/dot.py": {"ALLOWED"},  # attributes of DOT
    "picture/figure.py": {"GROUND"},  # markup
    "picture/inline.py": {"IMAGE"},  # markup
    "picture/page.py": {"CANVAS", "LEGEND", "POLICY"},  # selectors of CSS, a policy
    "picture/render.py": {"_CHILD"},  # a program
    "picture/theme.py": {"SANS", "MONO"},  # fonts
    "live/widget.py": {"EXPECTED"},  # of errors about arguments
    "notebook/cells.py": {"PLOT", "BAND", "LINE", "LOOKS"},  # markup
    "notebook/lesson.py": {"FRAME"},  # markup
    "notebook/magic.py": {"EXPECTED"},  # of errors about options
    "why/rules/errors/misuses.py": {"MISUSES"},  # the same
    "why/shown/explanation.py": {"HTML_ROW", "HTML_TAG"},  # markup
    "why/evidence/messages.py": {"_TEXTS", "_STALE"},  # by which torch's errors are known
    "why/rules/whole/case.py": {"UNTRACKED"},  # torch's own text
}


def is_prose(text: str) -> bool:
    """Four words with a blank between them."""
    return len(re.findall(r"[A-Za-z]{2,}", text)) >= 4 and " " in text


def is_pattern(call: ast.Call) -> bool:
    """Is it a call of a function of ``re``, such as ``re.compile(...)``?"""
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "re"


def values_of(tree: ast.Module, names: set[str]) -> list[ast.expr]:
    """What some constants of a module are set to."""
    found = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        if names & {ast.unparse(target) for target in targets}:
            assert isinstance(node, (ast.Assign, ast.AnnAssign))
            found += [node.value] if node.value else []
    return found


def is_check(node: ast.AST) -> bool:
    """Whether a call looks at an argument, and says what is expected of it: ``given.text(…)``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return getattr(node.func.value, "id", "") in ("given", "arguments")


def prose_in(tree: ast.Module, not_ours: set[str]) -> Iterator[tuple[int, str]]:
    """Literals of a module that read like sentences. Docstrings, errors about arguments, tables of
    names (``"a b".split()``), patterns of other people's text and what is not ours apart."""
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    apart |= {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise) or is_check(node)
        for part in ast.walk(node)
    }
    apart |= {id(part) for value in values_of(tree, not_ours) for part in ast.walk(value)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = [call.func for call in calls if isinstance(call.func, ast.Attribute)]
    apart |= {id(function.value) for function in functions if function.attr == "split"}
    apart |= {id(part) for call in calls if is_pattern(call) for part in ast.walk(call)}
    literals = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    for node in (node for node in literals if id(node) not in apart):
        if isinstance(node.value, str) and is_prose(node.value):
            yield node.lineno, node.value


def counted() -> dict[str, int]:
    """How many such literals each module outside `words/` has."""
    found = dict[str, int]()
    for path, tree in TREES.items():
        place = path.relative_to(PACKAGE).as_posix()
        if path.parent.name != "words":
            found[place] = len([*prose_in(tree, NOT_OURS.get(place, set()))])
    return {path: n for path, n in found.items() if n}


def listed() -> dict[str, int]:
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    return {path: int(n) for n, path in (line.split() for line in lines)}


def test_what_is_not_ours_is_there() -> None:
    for place, names in NOT_OURS.items():
        assert len(values_of(TREES[PACKAGE / place], names)) == len(names), place


def test_no_prose_comes_to_stand_outside_words() -> None:
    """The list may only become shorter: `python tests/words/test_sentences.py` writes it anew."""
    assert counted() == listed()


if __name__ == "__main__":
    now = counted()
    if sum(now.values()) > sum(listed().values()):
        raise SystemExit(f"{sum(now.values())} literals read like prose; there were fewer before")
    LISTED.write_text("".join(f"{n} {path}\n" for path, n in now.items()), encoding="utf-8")
