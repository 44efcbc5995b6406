"""Causes: plain words to whoever compares, prints or stores them, and each one used and listed."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
from pathlib import Path

import pytest
import torch

import gradviz as gv
from gradviz.graph.findings import Cause, Level, Symptom
from gradviz.graph.records import CutReason
from gradviz.why.explanation import Explanation
from gradviz.why.rules import case, gradient, silent, small
from gradviz.why.rules.rule import Rule, first_proven, looked_at_again
from gradviz.words.en import ENGLISH

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("cause", list(Cause))
def test_a_cause_is_its_plain_word(cause: Cause) -> None:
    word = cause.value
    assert type(word) is str
    assert re.fullmatch("[a-z]+(_[a-z]+)*", word)
    assert cause.name == word.upper()
    assert cause == word
    assert word == cause
    assert hash(cause) == hash(word)
    assert {word: 1}[cause] == 1
    assert cause in {word}
    shown = (str(cause), f"{cause}", f"{cause:>3}", "%s" % cause, repr(cause), json.dumps([cause]))  # noqa: UP031
    assert shown == (word, word, f"{word:>3}", word, repr(word), json.dumps([word]))
    assert Cause(word) is cause
    assert pickle.loads(pickle.dumps(cause)) is copy.deepcopy(cause) is cause


def test_a_bare_word_is_refused_in_these_tests() -> None:
    with pytest.raises(AssertionError, match="bare"):
        Explanation("cut", "v")  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="bare"):
        Explanation(Cause.CUT, "v")._replace(cause="healthy")


def named_causes(path: Path) -> set[str]:
    """The members of Cause that a file names."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        n.attr
        for n in nodes
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "Cause"
    }


def test_every_cause_is_found_by_something() -> None:
    files = [p for p in (ROOT / "gradviz").rglob("*.py") if p.parent.name not in ("graph", "words")]
    assert set().union(*map(named_causes, files)) == {c.name for c in Cause}


def test_the_page_lists_every_cause_once() -> None:
    page = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| \S.* \|$", page, re.MULTILINE)
    assert sorted(word for word, _ in rows) == sorted(c.value for c in Cause)
    assert {Cause(word): level for word, level in rows} == {c: c.level.name.lower() for c in Cause}


def test_levels_say_which_answer_is_graver() -> None:
    assert Level.FAULT > Level.SUSPECT > Level.NOTE > Level.FINE > Level.OPEN
    of = {level: {c for c in Cause if c.level is level} for level in Level}
    assert of[Level.OPEN] == {Cause.NOT_KNOWN}
    assert of[Level.FINE] == {Cause.HEALTHY, Cause.FROZEN}
    assert of[Level.NOTE] == {Cause.NO_BACKWARD_YET, Cause.NEVER_TRACKED, Cause.NON_LEAF}


def test_every_cause_explains_something_and_every_symptom_has_a_cause() -> None:
    assert all(cause.explains for cause in Cause)
    assert set().union(*(c.explains for c in Cause if c is not Cause.NOT_KNOWN)) == {*Symptom} - {
        Symptom.UNREADABLE
    }


@pytest.mark.parametrize(
    "case", ["rebuilt_from_value", "no_grad_write", "branch_not_taken", "no_backward_yet"]
)
def test_whatever_makes_a_grad_none_explains_the_error_that_follows(case: str) -> None:
    """``w.grad.norm()`` raises of None: the cause of that None is the answer, whichever it is."""
    w = torch.nn.Parameter(torch.ones(2))
    x = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        loss = (x * 3).sum()
        if case == "rebuilt_from_value":
            loss = loss + x[0] * (w * 2).sum().item()
        if case == "no_grad_write":
            buffer = torch.zeros(2)
            with torch.no_grad():
                buffer += w
            loss = loss + (buffer * x).sum()
        if case == "no_backward_yet":
            loss = loss + w.sum()
        else:
            loss.backward()
        with pytest.raises(AttributeError) as caught:
            w.grad.norm()  # type: ignore[union-attr]
    assert rec.explain(w, loss).cause == case
    told = rec.explain(w, loss, error=caught.value)
    assert told.cause == case
    assert "w" in told.verdict


@pytest.mark.parametrize("table", [gradient.RULES, small.RULES, case.SECOND_LOOKS])
def test_a_table_has_no_row_twice(table: tuple[Rule[...], ...]) -> None:
    finds = [rule.find.__name__ for rule in table]
    assert len(finds) == len(set(finds)) > 5
    assert all(rule.explains for rule in table)


def test_the_order_of_the_rows_decides() -> None:
    def found(cause: Cause) -> Rule[[int]]:
        return Rule(lambda number: Explanation(cause, str(number)) if number else None)

    cut, frozen = found(Cause.CUT), found(Cause.FROZEN)
    for rules, first in (((cut, frozen), Cause.CUT), ((frozen, cut), Cause.FROZEN)):
        told = first_proven(rules, Symptom.NONE, 1)
        assert told is not None
        assert (told.cause, told.verdict) == (first, "1")
        assert first_proven(rules, Symptom.NONE, 0) is None


def test_a_rule_is_tried_for_its_symptoms_and_subjects_only() -> None:
    def raises(number: int) -> Explanation:
        raise AssertionError("it was tried")

    other = Rule(raises, frozenset({Symptom.ZERO}))
    never = Rule(raises, when=lambda number: number > 5)
    last = Rule(lambda number: Explanation(Cause.CUT, "v"))
    told = first_proven((other, never, last), Symptom.NONE, 3)
    assert told == Explanation(Cause.CUT, "v")
    with pytest.raises(AssertionError, match="tried"):
        first_proven((other, last), Symptom.ZERO, 3)
    with pytest.raises(AssertionError, match="tried"):
        first_proven((never, last), Symptom.NONE, 6)


def test_a_second_look_displaces_only_what_it_is_about() -> None:
    worse = Rule[[str, Explanation]](
        lambda case, found: found._replace(cause=Cause.NAN, verdict=case),
        when=lambda case, found: found.cause is Cause.HEALTHY,
    )
    nothing = Rule[[str, Explanation]](lambda case, found: None)
    told = looked_at_again((nothing, worse, worse), "v", Explanation(Cause.HEALTHY, "fine"))
    assert told == Explanation(Cause.NAN, "v")
    cut = Explanation(Cause.CUT, "cut")
    assert looked_at_again((nothing, worse), "v", cut) == cut


def test_every_reason_of_a_cut_has_its_mend() -> None:
    assert all(f"mend.{reason.name.lower()}" in ENGLISH.sentences for reason in CutReason)


def test_every_question_about_silent_faults_is_asked() -> None:
    answering = {
        name
        for name, method in vars(silent._Asked).items()
        if getattr(method, "__annotations__", {}).get("return") == "Iterator[Explanation]"
    }
    assert {rule.__name__ for rule in silent.RULES} == answering, "a rule without a row in RULES"
