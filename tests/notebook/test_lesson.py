"""Questions: every reply, a truth that is computed for every answer, and nothing that gives it away
before."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import json
import re
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from gradviz import controls, lesson
from gradviz.graph.records import GradvizError
from gradviz.live.explore import Exploration, explore
from gradviz.live.run import Run
from gradviz.notebook.lesson import Question, Wrong, question
from gradviz.picture.scene import Scene
from gradviz.recording import record

VIEW = "application/vnd.jupyter.widget-view+json"
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
ANSWERS: dict[Any, Wrong | None] = {
    "[2, 2, 2]": Wrong("M-clone-leaf", "the other 3s came back through b.", card="b"),
    "[5, 5, 5]": Wrong(
        "values bring gradients back", "nothing comes back along the dashed arrow", card="b"
    ),
    "None": None,
}
WRONG = (
    "You said [2, 2, 2]; it is [5, 5, 5]: the other 3s came back through b.\n"
    "Often believed: a clone is a new leaf."
)


def grad(run: Run) -> str:
    return run.tensors["a"]["grad"]


@pytest.fixture
def scenario() -> Exploration:
    @explore(copy=controls.copies, mode=controls.grad_mode)
    def scenario(copy: Any, mode: Any) -> None:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with mode():
            b = copy(a)
        c = a * 2
        d = b * 3
        loss = (c + d).sum()
        loss.backward()

    return scenario


@pytest.fixture
def asked(scenario: Exploration) -> Question:
    return question(
        "What will `a.grad` hold?", scenario, {"copy": "clone"}, truth=grad, answers=ANSWERS
    )


@pytest.fixture(autouse=True)
def no_class() -> Iterator[None]:
    yield
    lesson.present(False)


# --- replies --------------------------------------------------------------------------------------


def test_a_wrong_answer_is_contrasted_with_the_truth_and_names_what_is_believed(
    asked: Question,
) -> None:
    assert asked.answer("[2, 2, 2]") == WRONG
    assert asked.reply is not None
    assert (asked.reply.place, asked.reply.card) == (1, "b")


def test_the_right_answer_says_why_in_the_pictures_words_or_the_authors(
    scenario: Exploration,
) -> None:
    make: Callable[..., Question] = lambda **more: question(  # noqa: E731
        "What?", scenario, {"copy": "clone"}, truth=grad, answers=ANSWERS, **more
    )
    said = "Yes, it is [5, 5, 5]. a.grad is [5, 5, 5]: [3, 3, 3] came back through b = a.clone()"
    assert make().answer("[5, 5, 5]").startswith(said)
    assert (
        make(right="A clone passes gradients on").answer("[5, 5, 5]")
        == "Yes, it is [5, 5, 5]. A clone passes gradients on."
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Wrong("it is so", "no."), "A common slip would be to think that it is so."),
        (Wrong("it is so", "no.", source="C003"), "Often believed: it is so."),
        (
            Wrong("it is so", "no.", source="https://a.org/1"),
            "Often believed: it is so (https://a.org/1).",
        ),
        (Wrong("M-clone-leaf", "no.", "b"), "Often believed: a clone is a new leaf."),
        (
            Wrong("M-clone-leaf", "no.", source="C028"),
            "Often believed: a clone is a new leaf.",
        ),
        (
            Wrong("M-any-inplace-breaks", "no."),
            "A common slip would be to think that any in-place write breaks backward.",
        ),
    ],
)
def test_often_is_said_only_of_what_has_a_source(wrong: Wrong, said: str) -> None:
    assert wrong.remark == said


def test_the_sources_of_the_named_misconceptions_belong_to_them() -> None:
    assert set(lesson.SOURCES) <= set(lesson.MISCONCEPTIONS)
    assert all(lesson.SOURCE.fullmatch(source) for source in lesson.SOURCES.values())


def test_an_answer_can_be_changed_and_taken_back(asked: Question) -> None:
    asked.answer("[2, 2, 2]")
    assert asked.answer("[5, 5, 5]").startswith("Yes, it is [5, 5, 5].")
    assert asked.answer("[2, 2, 2]") == WRONG
    assert asked.reveal().startswith("It is [5, 5, 5]. a.grad is")
    assert asked.reply is not None
    assert asked.reply.card == ""
    assert "(x)" not in repr(asked)


def test_a_wrong_answer_without_a_wrong_gets_the_pictures_sentence(asked: Question) -> None:
    assert asked.answer(None).startswith(
        "You said None; it is [5, 5, 5]. a.grad is [5, 5, 5]: [3, 3, 3] came back"
    )


def test_the_same_answers_serve_other_settings(scenario: Exploration) -> None:
    cut = question("?", scenario, {"mode": "no_grad"}, truth=grad, answers=ANSWERS)
    assert (
        cut.answer("[5, 5, 5]")
        == "You said [5, 5, 5]; it is [2, 2, 2]: nothing comes back along the dashed arrow.\n"
        "A common slip would be to think that values bring gradients back."
    )
    assert cut.answer("[2, 2, 2]").startswith("Yes, it is [2, 2, 2].")
    assert scenario.values == {"copy": "clone", "mode": "none"}  # its own panel stays as it is


def test_labels_may_be_any_values_and_computed() -> None:
    def scenario() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        (a * a).backward()

    slope = torch.func.grad(lambda x: x * x)(torch.tensor(2.0)).item()
    asked = question(
        "?",
        scenario,
        truth=lambda run: float(grad(run)),
        answers={slope: None, 2.0: None, None: None},
    )
    assert asked.answers == ["4", "2", "None"]
    assert asked.answer(4).startswith("Yes, it is 4.")


def test_an_error_may_be_the_answer() -> None:
    def scenario() -> None:
        a = torch.ones(2)
        a.sum().backward()

    asked = question(
        "Which error?",
        scenario,
        truth=lambda run: run.error.partition(":")[0] or "none",
        answers={
            "none": Wrong("backward works for everything", "no card here is tracked.", "a"),
            "RuntimeError": None,
        },
    )
    assert asked.answer("none").startswith(
        "You said none; it is RuntimeError: no card here is tracked."
    )


def test_a_recording_can_be_asked_about() -> None:
    with record() as recording:
        a = torch.ones(2, requires_grad=True)
        (a * 2).sum().backward()
    asked = question("?", recording, truth=grad, answers={"[2, 2]": None, "[1, 1]": None})
    assert asked.answer("[2, 2]").startswith("Yes, it is [2, 2].")
    assert "MulBackward0" in repr(asked)


# --- truth ----------------------------------------------------------------------------------------


def test_the_truth_is_that_of_the_torch_that_runs(
    asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asked.answer("[2, 2, 2]") == WRONG
    clone = controls.copies["clone"]
    choices = asked_exploration(asked)._controls["copy"].choices
    # a torch whose clone cuts
    monkeypatch.setitem(choices, "clone", lambda tensor: clone(tensor.detach()))
    assert asked.answer("[2, 2, 2]").startswith("Yes, it is [2, 2, 2].")
    assert asked.check() == "[2, 2, 2]"
    monkeypatch.setitem(choices, "clone", lambda tensor: clone(tensor) * 2)
    said = "it is [8, 8, 8]. None of the answers says so, so it is the question that is wrong here."
    assert asked.answer("[2, 2, 2]") == f"You said [2, 2, 2]; {said}"
    assert asked.reveal() == f"I{said[1:]}"
    assert asked.reply == (f"I{said[1:]}", None, "")
    with pytest.raises(GradvizError, match=r"it is \[8, 8, 8\], and none of the answers says so"):
        asked.check()


def asked_exploration(asked: Question) -> Exploration:
    found: Exploration = inspect.getclosurevars(asked._look).nonlocals["asked"]
    return found


def test_a_truth_that_fails_is_said(scenario: Exploration) -> None:
    asked = question("What?", scenario, truth=lambda run: run.tensors["z"]["grad"], answers=ANSWERS)
    assert (
        asked.answer("None")
        == "This question cannot be answered here: its truth raised KeyError: 'z'"
    )
    with pytest.raises(GradvizError, match="its truth raised KeyError"):
        asked.check()


def test_check_knows_every_card_that_lights_up(scenario: Exploration, asked: Question) -> None:
    assert asked.check() == "[5, 5, 5]"
    assert asked.reply is None
    wrong = {"[5, 5, 5]": None, "1": Wrong("belief", "sentence", card="e")}
    with pytest.raises(
        GradvizError,
        match=r"no card is called 'e'; there are \['a', 'b', 'c', 'c \+ d', 'd', 'loss'\]",
    ):
        question("?", scenario, truth=grad, answers=wrong).check()


# --- what it shows --------------------------------------------------------------------------------

TWIN = """What will `a.grad` hold?

    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    # no with block
    b = a.clone()
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    loss.backward()

( ) [2, 2, 2]
( ) [5, 5, 5]
( ) None"""


def test_before_an_answer_nothing_has_run_and_nothing_tells(
    asked: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Exploration, "_perform", lambda *_: pytest.fail("it ran"))
    bundle, _ = asked._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html", VIEW}
    assert bundle["text/plain"] == repr(asked) == TWIN
    assert "<strong>What will <code>a.grad</code> hold?</strong>" in bundle["text/html"]
    models = (asked._buttons, asked._panel, asked._graph_widget)
    kept = [{k: v for k, v in m.get_state().items() if k not in ("_esm", "_css")} for m in models]
    told = json.dumps([bundle, kept], default=str)
    for hint in (
        "CloneBackward",
        "gradviz-truth",
        "<svg",
        "came back",
        "Often believed",
        "common slip",
    ):
        assert hint not in told
    assert (asked.reply, asked._run) == (None, None)


def test_no_part_of_a_question_is_its_key(scenario: Exploration) -> None:
    """Two questions whose right answers differ are made of the same parts."""
    makes = ({"copy": "clone"}, {"copy": "detach"})
    first, second = (question("?", scenario, s, truth=grad, answers=ANSWERS) for s in makes)
    assert first.check() != second.check()
    same = ("text", "answers", "reply", "_replies", "_right", "_truth", "_given", "_run")
    assert all(getattr(first, name) == getattr(second, name) for name in same)
    assert first._together.whole == second._together.whole == Scene()
    others = {"code", "settings", "_look", "_turns", "_together"}
    assert vars(first).keys() - {*same, *others} == set()


def test_after_an_answer_the_twin_has_reply_and_picture(asked: Question) -> None:
    asked.answer("[2, 2, 2]")
    assert repr(asked).startswith(
        f"{TWIN.replace('( ) [2', '(x) [2')}\n\n{WRONG}\n\na\n    [1, 2, 3]"
    )
    html = asked._repr_mimebundle_()[0]["text/html"]
    assert "<img alt=" in html
    assert "Run this cell" not in html


def test_the_panel_follows(asked: Question) -> None:
    asked._repr_mimebundle_()
    shown = asked._graph_widget
    assert asked._panel._dom_classes == ("gradviz-panel", "gradviz-question", "gradviz-open")
    assert (shown.code["text"], shown.state["svg"]) == (asked.code["text"], "")
    asked._buttons.index = 0  # a click
    assert shown.state["sentence"] == WRONG
    assert shown.state["afresh"], "a reply is no change of the picture"
    assert shown.state["cards"][shown.selected]["key"] == "b"
    assert asked._panel._dom_classes == ("gradviz-panel", "gradviz-question", "gradviz-truth-1")
    asked.answer("[5, 5, 5]")
    assert (asked._buttons.index, shown.selected) == (1, "")
    asked._reveal.click()
    assert asked._buttons.index is None
    assert shown.state["sentence"].startswith("It is [5, 5, 5].")


def test_a_click_runs_once(asked: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    asked._repr_mimebundle_()
    runs: list[int] = []
    look = asked._look
    monkeypatch.setattr(asked, "_look", lambda: runs.append(1) or look())
    asked._buttons.index = 0
    asked.answer("None")
    asked.reveal()
    assert len(runs) == 3


def test_it_shows_what_was_answered_before_it_was_displayed(asked: Question) -> None:
    asked.answer("[2, 2, 2]")
    asked._repr_mimebundle_()
    assert asked._buttons.index == 0
    assert asked._graph_widget.state["sentence"] == WRONG


def test_its_buttons_are_one_group_that_is_called_like_the_question(asked: Question) -> None:
    asked._repr_mimebundle_()
    assert asked._buttons.description == "What will <code>a.grad</code> hold?"
    assert asked._buttons.options == ("[2, 2, 2]", "[5, 5, 5]", "None")
    assert not asked._buttons.disabled
    assert not asked._reveal.disabled


def test_a_question_is_text_and_not_markup() -> None:
    asked = question(
        "Is `a < b` <b>?", lambda: None, truth=lambda run: 1, answers={"<i>": None, "1": None}
    )
    asked._repr_mimebundle_()
    assert asked._buttons.description.startswith("Is <code>a &lt; b</code> &lt;b&gt;?")
    assert "<li>&lt;i&gt;</li>" in asked.html


def test_before_a_class_all_questions_change_and_change_back(asked: Question) -> None:
    asked._repr_mimebundle_()
    lesson.present()
    assert "gradviz-present" in asked._panel._dom_classes
    assert asked._reveal.description == "Reveal (R)"
    later = question("?", lambda: None, truth=lambda run: 1, answers={0: None, 1: None})
    later._repr_mimebundle_()
    assert "gradviz-present" in later._panel._dom_classes
    lesson.present(False)
    assert "gradviz-present" not in asked._panel._dom_classes + later._panel._dom_classes
    assert asked._reveal.description == "Just show me"


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_without_widgets_the_words_and_a_hint_remain(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else there(name)
    )
    asked = question("?", lambda: None, truth=lambda run: 1, answers={0: None, 1: None})
    bundle, _ = asked._repr_mimebundle_()
    assert bundle.keys() == {"text/plain", "text/html"}
    assert (
        f"Answers to click need {missing}: pip install ipywidgets anywidget" in bundle["text/plain"]
    )
    assert "Answers to click need" in bundle["text/html"]
    assert asked.answer(1) == "Yes, it is 1."


def test_a_question_that_nobody_shows_is_kept_by_nothing(scenario: Exploration) -> None:
    asked = question("?", scenario, truth=grad, answers=ANSWERS)
    asked.answer("None")
    gone = weakref.ref(asked)
    del asked
    gc.collect()
    assert gone() is None


# --- mistakes -------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "text": "?",
    "scenario": lambda: None,
    "truth": lambda run: 1,
    "answers": {1: None, 2: None},
}
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"text": " "}, "expected the question as a text"),
    ({"truth": "[5, 5, 5]"}, "truth='[5, 5, 5]' is no function; expected e.g. lambda run:"),
    ({"answers": {}}, "expected 2 to 4 of them in a dict"),
    ({"answers": {1: None}}, "expected 2 to 4 of them in a dict"),
    ({"answers": dict.fromkeys(range(5))}, "expected 2 to 4 of them in a dict"),
    ({"answers": ["a", "b"]}, "expected 2 to 4 of them in a dict"),
    ({"answers": {1: None, "1": None}}, "answers read 1 | 1; expected different texts"),
    ({"answers": {1: None, " ": None}}, "none of them blank"),
    ({"answers": {1: "no", 2: None}}, "answers['1'] is 'no'; expected a lesson.Wrong(…) or None"),
    ({"answers": {1: Wrong("belief", " "), 2: None}}, "expected a misconception and a sentence"),
    ({"answers": {1: Wrong("", "sentence"), 2: None}}, "expected a misconception and a sentence"),
    (
        {"answers": {1: Wrong("belief", "sentence", 3), 2: None}},
        "expected a misconception and a sentence",
    ),
    (
        {"answers": {1: Wrong("belief", "sentence", source="a forum"), 2: None}},
        "source='a forum' of answers['1'] is no",
    ),
    (
        {"answers": {1: Wrong("belief", "sentence", source=3), 2: None}},
        "expected a misconception and a sentence",
    ),
    (
        {"answers": {1: Wrong("M-unheard", "sentence"), 2: None}},
        "no misconception is called 'M-unheard'; known are M-",
    ),
    ({"settings": {"copy": "clone"}}, "need an exploration with such controls"),
    ({"scenario": lambda copy: None}, "parameter copy has no control"),
    ({"scenario": 3}, "expected an ordinary function"),
    ({"right": 3}, "right=3 is no text; expected a sentence"),
]


@pytest.mark.parametrize(
    ("wrong", "said"), MISTAKES, ids=[f"{next(iter(w))}-{i}" for i, (w, _) in enumerate(MISTAKES)]
)
def test_what_cannot_be_asked_is_said(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(GradvizError, match=re.escape(said)):
        question(**{**GOOD, **wrong})


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"kopy": "clone"}, "no control 'kopy'"), ({"copy": "kopy"}, "'kopy'|kopy is not one")],
)
def test_settings_must_be_states_of_controls(
    scenario: Exploration, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(GradvizError, match=said):
        question("?", scenario, settings, truth=grad, answers=ANSWERS)


def test_an_answer_must_be_one_of_them(asked: Question) -> None:
    with pytest.raises(
        GradvizError, match=re.escape("'7' is not one of the answers: [2, 2, 2] | [5, 5, 5] | None")
    ):
        asked.answer(7)
    assert asked.reply is None


def test_the_module_needs_no_widgets_to_be_imported() -> None:
    code = (
        "import sys, gradviz; gradviz.lesson; print([m for m in ('ipywidgets', 'anywidget') if m in"
        " sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


# --- a page without a kernel ----------------------------------------------------------------------


def test_a_question_as_a_book_has_every_reply_and_one_run(asked: Question) -> None:
    book = asked.book()
    told = book["question"]
    replies = [reply["sentence"] for reply in told["replies"]]
    assert (told["answers"], told["right"]) == ([*ANSWERS], 1)
    assert replies[:3] == [asked.answer(answer) for answer in told["answers"]]
    assert replies[3] == asked.reveal()
    [run] = book["states"]
    lit = [
        run["cards"][card]["key"] if card else "" for card in (r["card"] for r in told["replies"])
    ]
    assert lit == ["b", "", "", ""]
    assert book["code"] == asked.code


def test_a_book_leaves_a_question_unanswered(asked: Question) -> None:
    asked.book()
    assert asked.reply is None
    assert "You said" not in repr(asked)


def test_a_question_that_is_wrong_itself_says_so_on_its_page(scenario: Exploration) -> None:
    wrong = question("?", scenario, {"copy": "clone"}, truth=grad, answers={"1": None, "2": None})
    told = wrong.book()["question"]
    assert told["right"] is None
    assert all("it is the question that is wrong here" in r["sentence"] for r in told["replies"])


# --- the notebooks --------------------------------------------------------------------------------


def cells(path: Path) -> list[dict[str, Any]]:
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        {**cell, "source": "".join(cell["source"])} for cell in found if cell["cell_type"] == "code"
    ]


ASKING = [
    path for path in NOTEBOOKS if any("lesson.question" in cell["source"] for cell in cells(path))
]


@pytest.mark.parametrize("path", ASKING, ids=lambda p: p.stem)
def test_questions_of_notebooks_are_saved_unanswered(path: Path) -> None:
    """That they can be answered is looked at in a kernel: tests/browser/test_notebooks.py."""
    for cell in cells(path):
        if "lesson.question" in cell["source"]:
            said = "".join(cell["outputs"][-1]["data"]["text/plain"])
            assert not re.search(
                r"^\(x\) |You said|Often believed|A common slip", said, re.MULTILINE
            )
