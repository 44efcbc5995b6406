"""Causes: plain words to whoever compares, prints or stores them, and each one used and listed."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.graph.findings import OF_A_GRADIENT, Cause, Level, Symptom
from gradviz.graph.records import CutReason
from gradviz.why.answering import answer
from gradviz.why.answering.table import TABLE, rows
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.gradients import cut, not_in_loss
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.rule import Rule, Scope, Stage, always
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.rules.whole.case import Case
from gradviz.why.shown.explanation import Explanation
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
    assert {c for c in Cause if c.level is Level.OPEN} == {Cause.NOT_KNOWN}


def test_every_cause_explains_something_and_every_symptom_has_a_cause() -> None:
    assert all(cause.explains for cause in Cause)
    known = set().union(*(c.explains for c in Cause if c is not Cause.NOT_KNOWN))
    assert known >= {*Symptom} - {Symptom.UNREADABLE}


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


# --- the table ------------------------------------------------------------------------------------


def test_the_table_has_its_stages_one_after_the_other_and_no_row_twice() -> None:
    order = list(Stage)
    places = [order.index(rule.stage) for rule in TABLE]
    assert places == sorted(places)
    assert set(places) == set(range(len(order)))
    finds = [rule.find for rule in TABLE]
    assert len(finds) == len(set(finds)) > 80
    assert all(rule.explains for rule in TABLE)


def test_a_rule_is_asked_about_what_its_stage_says() -> None:
    subjects = {
        Stage.ERROR: Failure,
        Stage.GRADIENT: Gradients,
        Stage.WHOLE: Case,
        Stage.AGAIN: Case,
        Stage.SILENT: Silent,
        Stage.SIZE: Sizes,
    }
    for rule in TABLE:
        for asks in (rule.find, *([rule.when] if inspect.isfunction(rule.when) else [])):
            if asks is always or asks.__name__ == "<lambda>":
                continue
            subject, first = subjects[rule.stage], "self"
            if "." in asks.__qualname__:
                assert getattr(subject, asks.__name__) is asks
            else:  # a function of its own, of the subject
                first = next(iter(inspect.signature(asks).parameters))
                assert asks.__annotations__[first] == subject.__name__
            given = inspect.signature(asks).parameters.keys() - {first}
            of_tensor = rule.stage.scope is Scope.TENSOR
            again = rule.stage is Stage.AGAIN
            assert given == ({"asked"} if of_tensor else {"found"} if again else set())
    assert {s.scope for s in Stage} == set(Scope)
    assert Stage.ERROR.scope is Scope.ERROR


def rules_of(subject: type) -> set[str]:
    """The methods of a subject, inherited ones too, that give an answer and need no more than what
    their stage asks about."""
    found = set()
    for name, method in inspect.getmembers(subject, inspect.isfunction):
        given = inspect.signature(method).parameters.keys() - {"self", "asked", "found"}
        answer = method.__annotations__.get("return", "")
        if not given and answer in ("Explanation", "Explanation | None", "Iterator[Explanation]"):
            found.add(name)
    return found


@pytest.mark.parametrize("subject", [Failure, Gradients, Case, Silent, Sizes])
def test_whatever_answers_has_its_row(subject: type) -> None:
    in_table = {rule.find.__name__ for rule in TABLE if rule.find.__name__ in dir(subject)}
    assert rules_of(subject) <= in_table, "a rule without a row in TABLE"


SUBJECTS = {s.__name__ for s in (Failure, Gradients, Case, Silent, Sizes)}
ANSWERS = ("Explanation", "Explanation | None", "Iterator[Explanation]")


def functions_that_answer() -> Iterator[tuple[str, str]]:
    """The public functions of the rooms of rules that give an answer and need no more than what
    their stage asks about, each with its file."""
    for path in sorted((ROOT / "gradviz" / "why" / "rules").glob("*/*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                continue
            first, *rest = [ast.unparse(a.annotation or a) for a in node.args.args] or [""]
            answers = node.returns is not None and ast.unparse(node.returns) in ANSWERS
            plain = not node.args.kwonlyargs and rest in ([], ["Asked"], ["Explanation"])
            if first in SUBJECTS and answers and plain:
                yield path.stem, node.name


def test_whatever_function_answers_has_its_row() -> None:
    in_table = {(r.find.__module__.rpartition(".")[2], r.find.__name__) for r in TABLE}
    found = {*functions_that_answer()}
    assert len(found) > 50
    assert found - in_table == set(), "a rule without a row in TABLE"


def test_the_last_rows_leave_nothing_unanswered() -> None:
    """Of these stages something is always said: the last row that is tried on everything."""
    for stage, symptoms in {
        Stage.ERROR: {Symptom.RAISED},
        Stage.GRADIENT: OF_A_GRADIENT,
        Stage.WHOLE: set(Symptom),
        Stage.SIZE: {Symptom.SOME},
    }.items():
        last = rows(stage)[-1]
        assert last.when is always
        assert last.explains >= symptoms
        assert last.find.__annotations__["return"] == "Explanation"


def in_place_of_the_table(patch: pytest.MonkeyPatch, *rules: Rule[...]) -> None:
    """Let the walk read these rows."""
    of_stage = lambda stage, symptom=None: [  # noqa: E731
        r for r in rules if r.stage is stage and (symptom is None or symptom in r.explains)
    ]
    patch.setattr(answer, "rows", of_stage)


GRADIENT = Stage.GRADIENT
EVERY = frozenset(Symptom)


def test_the_order_of_the_rows_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(cause: Cause) -> Rule[[int]]:
        return Rule(GRADIENT, EVERY, lambda n: Explanation(cause, str(n)) if n else None)

    first, frozen = found(Cause.CUT), found(Cause.FROZEN)
    for rules in ((first, frozen), (frozen, first)):
        in_place_of_the_table(monkeypatch, *rules)
        told = [e.cause for e in answer.proven(GRADIENT, Symptom.NONE, 1)]
        assert told == (
            [Cause.CUT, Cause.FROZEN] if rules[0] is first else [Cause.FROZEN, Cause.CUT]
        )
        assert not [*answer.proven(GRADIENT, Symptom.NONE, 0)]


def test_the_order_of_the_table_decides_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question, with two rows of the real table exchanged: another answer."""
    w = torch.nn.Parameter(torch.ones(2))
    with gv.record() as rec:
        loss = (w.detach() * 2).sum() + torch.ones(1, requires_grad=True).sum()
        loss.backward()
    assert rec.explain(w, loss).cause is Cause.CUT
    severed = next(r for r in TABLE if r.find is cut.severed)
    elsewhere = next(r for r in TABLE if r.find is not_in_loss.leads_elsewhere)
    swapped = {severed: elsewhere, elsewhere: severed}
    in_place_of_the_table(monkeypatch, *(swapped.get(r, r) for r in TABLE))
    assert rec.explain(w, loss).cause is Cause.NOT_IN_LOSS


def test_a_rule_is_tried_for_its_stage_symptoms_and_subjects_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def raises(number: int) -> Explanation:
        raise AssertionError("it was tried")

    size = Rule(Stage.SIZE, EVERY, raises)
    other = Rule(GRADIENT, frozenset({Symptom.ZERO}), raises)
    never = Rule(GRADIENT, EVERY, raises, when=lambda number: number > 5)
    last = Rule(GRADIENT, EVERY, lambda number: Explanation(Cause.CUT, "v"))
    in_place_of_the_table(monkeypatch, size, other, never, last)
    assert next(answer.proven(GRADIENT, Symptom.NONE, 3)) == Explanation(Cause.CUT, "v")
    for stage, symptom, number in (
        (GRADIENT, Symptom.ZERO, 3),
        (GRADIENT, Symptom.NONE, 6),
        (Stage.SIZE, Symptom.NONE, 3),
    ):
        with pytest.raises(AssertionError, match="tried"):
            next(answer.proven(stage, symptom, number))


def test_a_second_look_displaces_only_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    worse = Rule(
        Stage.AGAIN,
        EVERY,
        lambda case, found: found._replace(cause=Cause.NAN, verdict=case),
        when=lambda case, found: found.cause is Cause.HEALTHY,
    )
    nothing = Rule(Stage.AGAIN, EVERY, lambda case, found: None)
    in_place_of_the_table(monkeypatch, nothing, worse, worse)
    case: Any = "v"
    told = answer.looked_at_again(case, Explanation(Cause.HEALTHY, "fine"))
    assert told == Explanation(Cause.NAN, "v")
    other = Explanation(Cause.CUT, "cut")
    assert answer.looked_at_again(case, other) == other


def test_every_reason_of_a_cut_has_its_mend() -> None:
    assert all(f"mend.{reason.name.lower()}" in ENGLISH.sentences for reason in CutReason)
