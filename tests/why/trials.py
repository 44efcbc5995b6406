"""The real questions and their programs, and how the answers to them were judged.

Every question was asked in public. Each folder has ``questions.toml``: ``real`` (to work with),
``real_blind`` and ``real_blind2`` and those after it (each kept aside, and run once; of the fourth one
half and later the other), ``real_learn6`` and ``real_learn7`` (to work with, collected later), and
``real_learn8`` and ``real_learn9`` (silent faults alone); the ``healthy`` of the third and of those
after it hold more programs that look odd and are meant so. A question has:

``link``, ``title``, ``source``, ``asked``: where it stands, and words of the asker.
``kind``: ``silent`` (wrong without an error), ``raises``, or ``healthy`` (autograd did as it should).
``subjects``: expressions that the asker is about, to be named in ``why``.
``cause``, ``cause_kind``, ``blame``: the true cause, a word for it, the numbers of its lines.
``answer``, ``answered_by``: the mend, and whether it was read in the thread.
``stand_ins``: what of the asker's program was replaced, so that torch on the CPU is enough.
``symptom``: an expression that is true while the symptom is there; of a healthy program what was
feared, which is false. ``error``: a part of the error's text, where one is raised.
``fixed``: pairs of old and new text, with which the symptom is gone.

``trials.toml`` lists the folders that were asked, a part of ``docs/why-trial.md`` each.
``judged.toml``, beside the questions, has for each question, for the bare and for the named answer, a
verdict, the machine-readable cause that was told, and the lines that it named; of the third set on also
a reason for each verdict but right, and ``alarm`` where a fault is named in a program that has none; of
the eleventh on also ``place`` where a vague answer has the true cause at its line, and only its fix
falls short. ``learnt.toml`` holds what became of answers that were not right.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
HOW = ("bare", "named")
CELL = re.compile(r"^# %%", re.MULTILINE)


class Question(NamedTuple):
    """One question of an index, and the text of its program."""

    fields: dict[str, Any]
    program: str

    @property
    def kind(self) -> str:
        return self.fields["kind"]

    @property
    def fixed(self) -> str:
        """The program with its mend."""
        text = self.program
        for old, new in self.fields.get("fixed", []):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text


def questions(folder: str) -> list[Question]:
    """Return the questions of a folder of ``tests/why``."""
    index = (HERE / folder / "questions.toml").read_text(encoding="utf-8")
    return [
        Question(fields, (HERE / folder / fields["file"]).read_text(encoding="utf-8"))
        for fields in tomllib.loads(index).get("question", [])
    ]


def cells(program: str) -> list[str]:
    """Split a program at its marks; each part keeps its line numbers."""
    starts = [0, *(mark.start() for mark in CELL.finditer(program)), len(program)]
    return [
        "\n" * program[:start].count("\n") + program[start:end] for start, end in pairwise(starts)
    ]


@cache
def parts() -> list[dict[str, Any]]:
    """Return the parts of the page, newest first."""
    return tomllib.loads((HERE / "trials.toml").read_text(encoding="utf-8"))["part"]


def asked(part: dict[str, Any]) -> list[Question]:
    """Return the questions of a part: of a set that was asked in two halves, those of one half."""
    first, last = part.get("ids", ("", "~"))
    return [q for q in questions(part["folder"]) if first <= q.fields["id"] <= last]


ASKED = tuple(dict.fromkeys(part["folder"] for part in reversed(parts())))


# --- how the answers were judged ------------------------------------------------------------------


def judged(folder: str) -> dict[str, dict[str, Any]]:
    """Return the judgements of a folder, by id of the question."""
    path = HERE / folder / "judged.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def learnt(folder: str) -> dict[str, dict[str, str]]:
    """Return the cause, and words, that bare answers of a folder tell since their one run, by id."""
    told = tomllib.loads((HERE / "learnt.toml").read_text(encoding="utf-8"))
    return told.get(folder, {})


def no_longer_right(folder: str, answers: dict[str, Any]) -> list[str]:
    """Return which of the answers that were judged to be right have another cause now, or none of
    the places, and which of those learnt since have another cause or other words.

    Args:
        folder: of the questions.
        answers: (cause, lines, text) of the bare and of the named answer, by id of the question.
    """
    by_id = {q.fields["id"]: q for q in questions(folder)}
    changed = []
    for name, told in judged(folder).items():
        for how in HOW:
            if name not in answers or told[how]["verdict"] != "right":
                continue
            cause, lines, _ = answers[name][how]
            if not any(
                _is_right_still(right, by_id[name], cause, lines)
                for right in _right_answers(by_id[name], told, how)
            ):
                changed.append(
                    f"{name}, {how}: {told[how]['cause']} was right; now {cause}, {lines}"
                )
    for name, since in learnt(folder).items():
        if name not in answers:
            continue
        now, _, text = answers[name]["bare"]
        words = since.get("words", "")
        if now != since["cause"] or words not in " ".join(text.split()):
            changed.append(f"{name}, bare: {since['cause']}, {words!r} was learnt; now {now}")
    return changed


def _right_answers(question: Question, told: dict[str, Any], how: str) -> Iterator[dict[str, Any]]:
    """Yield what was judged to be right for one way of asking: of a program that raises also what
    a bare question was told, as whatever is named there, the error may be told first."""
    yield told[how]
    if question.kind == "raises" and told["bare"]["verdict"] == "right":
        yield told["bare"]


def _is_right_still(
    right: dict[str, Any], question: Question, cause: str, lines: Sequence[int]
) -> bool:
    """Say whether an answer has the cause that was right, and one of the places where that had; of
    a program in which nothing is wrong, whether it names no fault."""
    if question.kind == "healthy" and cause == "healthy":
        return True
    blamed = set(question.fields["blame"])
    had_place = not blamed.isdisjoint(right["lines"])
    return cause == right["cause"] and not (had_place and blamed.isdisjoint(lines))
