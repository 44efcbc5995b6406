"""What a reader judged to be right is answered still: a seeded sample here, all in `make soak-why`."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from trial_table import PAGE, VERDICTS, page
from trials import ASKED, HERE, HOW, judged, no_longer_right, questions

TRIAL = Path(__file__).with_name("real_trial.py")
VERDICTS_ALONE = ("real", "real_blind", "real_blind2")  # of these no reasons are kept
SAMPLE = 8  # all of them: make soak-why


def test_the_page_is_what_the_judgements_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("folder", ASKED)
def test_every_question_is_judged(folder: str) -> None:
    told = judged(folder)
    assert set(told) == {q.fields["id"] for q in questions(folder)}
    assert {told[name][how]["verdict"] for name in told for how in HOW} <= set(VERDICTS)


@pytest.mark.parametrize("folder", [folder for folder in ASKED if folder not in VERDICTS_ALONE])
def test_what_was_judged_is_what_was_answered(folder: str) -> None:
    text = (HERE / folder / "answers.txt").read_text(encoding="utf-8")
    fell = re.split(r"^=== (\w+)", text, flags=re.MULTILINE)[1:]
    causes = {
        name: dict(re.findall(r"^--- (bare|named): (\w+)", answer, re.MULTILINE))
        for name, answer in zip(fell[::2], fell[1::2], strict=True)
    }
    assert set(causes) == set(judged(folder))
    for name, told in judged(folder).items():
        assert causes[name] == {how: told[how]["cause"] or "nothing" for how in HOW}, name
        for how in HOW:
            assert (told[how]["verdict"] == "right") == ("reason" not in told[how]), name
            names_a_fault = told[how]["cause"] not in ("", "healthy")
            # an observation that leads and is not so is counted as an alarm, too
            is_untrue = told[how]["verdict"] == "wrong"
            assert not told[how].get("alarm") or names_a_fault or is_untrue, name


def test_right_answers_stay(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    chosen = random.Random(0).sample(sorted(judged("real")), SAMPLE)
    subprocess.run(
        [sys.executable, str(TRIAL), "real", "--only", *chosen, "--json", str(told)],
        check=True,
        capture_output=True,
    )
    answers = json.loads(told.read_text())
    assert set(answers) == set(chosen)
    assert not no_longer_right("real", answers)
