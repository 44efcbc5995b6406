"""What is written of the real questions is so: torch alone runs each program, with and without its mend.

Nothing of gradviz takes part. What a question is: ``trials.py``.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import traceback
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
from trials import ASKED, Question, asked, cells, parts, questions

FIELDS = {"link", "title", "source", "asked", "subjects", "cause", "cause_kind", "answer"} | {
    "answered_by"
}
SETS = {folder: questions(folder) for folder in ASKED}
ALL_ASKED = [question for found in SETS.values() for question in found]
ALL = [*ALL_ASKED, *questions("real_learn8")]  # asked in test_silent_classes.py
each_question = pytest.mark.parametrize("question", ALL, ids=[q.fields["id"] for q in ALL])
# Nobody asked about the programs of the last of these, about three of the first alone, and about
# half of the second: they take no part in the shares.
UNASKED = ("real_blind8/healthy", "real_blind9/healthy", "real_learn8/healthy")


class Outcome(NamedTuple):
    """The names that a program has made, the error that ended it, and the cell that raised it."""

    names: dict[str, Any]
    error: BaseException | None
    raised_in_the_last_cell: bool

    def value(self, expression: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # .grad of a non-leaf warns, and that is asked about
            return eval(expression, self.names)

    def has(self, symptom: str) -> bool:
        return bool(self.value(symptom))


@cache
def run(program: str, filename: str) -> Outcome:
    """Run a program cell by cell until its end or its first error."""
    linecache.cache[filename] = (len(program), None, program.splitlines(True), filename)
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = cells(program)
    with torch.random.fork_rng(), contextlib.redirect_stdout(io.StringIO()):
        torch.manual_seed(0)
        for number, part in enumerate(parts):
            try:
                with warnings.catch_warnings(), torch.enable_grad():
                    warnings.simplefilter("ignore")
                    exec(compile(part, filename, "exec"), names)
            except Exception as error:
                return Outcome(names, error, number == len(parts) - 1)
    return Outcome(names, None, False)


@each_question
def test_the_program_has_the_symptom(question: Question) -> None:
    outcome = run(question.program, question.fields["file"])
    if question.kind == "raises":
        assert outcome.error is not None
        assert question.fields["error"] in f"{type(outcome.error).__name__}: {outcome.error}"
        assert outcome.raised_in_the_last_cell
    else:
        assert outcome.error is None, "".join(traceback.format_exception(outcome.error))
        assert outcome.has(question.fields["symptom"]) == (question.kind == "silent")


@each_question
def test_the_mend_takes_the_symptom_away(question: Question) -> None:
    if question.kind == "healthy":
        assert "fixed" not in question.fields
        return
    assert question.fields["fixed"]
    outcome = run(question.fixed, question.fields["file"])
    assert outcome.error is None, "".join(traceback.format_exception(outcome.error))
    assert "symptom" not in question.fields or not outcome.has(question.fields["symptom"])


@each_question
def test_what_is_asked_about_can_be_named(question: Question) -> None:
    outcome = run(question.program, question.fields["file"])
    for subject in question.fields["subjects"]:
        outcome.value(subject)


@each_question
def test_every_field_is_filled_in(question: Question) -> None:
    assert all(question.fields[name] for name in FIELDS)
    assert question.kind in {"silent", "raises", "healthy"}
    assert question.program.startswith(f"# {question.fields['link']}\n")
    lines = question.program.splitlines()
    assert question.fields["blame"] or question.kind == "healthy"
    assert all(lines[number - 1].strip() for number in question.fields["blame"])


def test_no_thread_is_asked_twice() -> None:
    links = [question.fields["link"] for question in ALL]
    assert len(set(links)) == len(links)
    ids = [question.fields["id"] for question in ALL]
    assert len(set(ids)) == len(ids)


def share_of_silent(asked: Sequence[Question]) -> float:
    kinds = Counter(question.kind for question in asked)
    return kinds["silent"] / (kinds["silent"] + kinds["raises"])


@pytest.mark.parametrize("part", parts(), ids=[part["title"] for part in parts()])
def test_each_part_has_the_questions_that_it_tells(part: dict[str, Any]) -> None:
    assert Counter(question.kind for question in asked(part)) == part["kinds"]


def test_every_question_is_of_one_part() -> None:
    told = sorted(question.fields["id"] for part in parts() for question in asked(part))
    assert told == sorted(question.fields["id"] for question in ALL_ASKED)


def test_more_than_half_of_the_faults_raise_nothing() -> None:
    shared = [q for folder, found in SETS.items() if folder not in UNASKED for q in found]
    kinds = Counter(question.kind for question in shared)
    assert kinds["silent"] > kinds["raises"]
    assert kinds["silent"] > kinds["healthy"]
    assert kinds["healthy"] >= 15
    # counted among faults: of the seventh set on many more programs are meant so than before
    for folder in ("real_blind", *(f"real_blind{number}" for number in range(2, 7))):
        assert abs(share_of_silent(SETS[folder]) - share_of_silent(shared)) < 0.15
