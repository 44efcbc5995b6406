"""What every test of ``why`` holds besides: no explanation is made whose cause is a bare word."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from gradviz.graph.findings import Cause, Sure, Symptom
from gradviz.why.answering import answer
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.rules.rule import Proof, Rule, Stage
from gradviz.why.shown.explanation import Explanation, worded

# No history on disk; and a traceback in colours, which no test of an answer reads, takes longer than the answer.
QUIET = Config({"HistoryManager": {"enabled": False}, "InteractiveShell": {"xmode": "Minimal"}})


@pytest.fixture
def shell_after() -> Iterator[Callable[[str], InteractiveShell]]:
    """Make the one shell that display() talks to, without history on disk, and run a cell in it."""

    def forget_errors() -> None:
        for name in ("last_exc", "last_value", "last_type", "last_traceback"):
            if hasattr(sys, name):
                delattr(sys, name)

    def made(setup: str) -> InteractiveShell:
        shell = InteractiveShell.instance(config=QUIET)
        forget_errors()
        shell.run_cell(setup)
        return shell

    yield made
    InteractiveShell.instance().run_cell("%unload_ext gradviz")
    InteractiveShell.clear_instance()
    forget_errors()


@pytest.fixture(autouse=True, scope="module")
def every_answer_explains_its_symptom() -> Iterator[None]:
    """Refuse each answer about a gradient whose cause does not explain what that gradient is, that
    is surer than it says, or that cannot be told of several tensors at once."""
    explain = answer.explain_tensor

    def explained(gradients: Gradients, asked: Asked) -> Explanation:
        found = explain(gradients, asked)
        symptom = (gradients.since_cleared(asked) or gradients).symptom(asked)
        assert symptom in found.cause.explains, f"{found.cause} does not explain {symptom}"
        finding = found.finding
        assert finding is not None, f"{found.verdict} is told without a finding"
        assert (finding.sure is not Sure.PROVEN) == ("not proven" in found.why), found.why
        told_of_many = worded(finding, gradients.words, group="a and b").verdict
        assert told_of_many.startswith("a and b: "), told_of_many
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "explain_tensor", explained)
        yield


@pytest.fixture(autouse=True, scope="module")
def every_rule_explains_what_its_row_says() -> Iterator[None]:
    """Refuse each answer whose cause explains none of the symptoms in the row of its rule."""
    rows = answer.rows

    def checked(rule: Rule[...], found: Explanation) -> Explanation:
        assert found.cause.explains & rule.explains, f"{rule}: {found.cause}"
        return found

    def checking(rule: Rule[...]) -> Rule[...]:
        def find(*subject: Any) -> Proof:
            proof = rule.find(*subject)
            if proof is None or isinstance(proof, Explanation):
                return proof and checked(rule, proof)
            return (checked(rule, found) for found in proof)

        return replace(rule, find=find)

    @cache
    def checked_rows(stage: Stage, symptom: Symptom | None = None) -> list[Rule[...]]:
        return [checking(rule) for rule in rows(stage, symptom)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answer, "rows", checked_rows)
        yield


@pytest.fixture(autouse=True, scope="module")
def every_cause_is_a_member() -> Iterator[None]:
    """Refuse each Explanation, made anew or from another, whose cause is no member of Cause."""
    make, replace = Explanation.__new__, Explanation._replace

    def made(cls: type[Explanation], cause: Any, *rest: Any, **named: Any) -> Explanation:
        assert isinstance(cause, Cause), f"{cause!r} is a bare word"
        return make(cls, cause, *rest, **named)

    def replaced(self: Explanation, **named: Any) -> Explanation:
        assert isinstance(named.get("cause", self.cause), Cause), f"{named['cause']!r} is bare"
        return replace(self, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Explanation, "__new__", made)
        patch.setattr(Explanation, "_replace", replaced)
        yield
