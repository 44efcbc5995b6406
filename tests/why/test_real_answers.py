"""What a reader judged to be right is answered still: a seeded sample here, all in `make soak-why`."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

from test_real_truth import questions
from trial_table import PAGE, judged, no_longer_right, page

TRIAL = Path(__file__).with_name("real_trial.py")
SAMPLE = 8  # all of them: make soak-why


def test_the_page_is_what_the_judgements_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_question_that_was_worked_with_is_judged() -> None:
    assert set(judged("real")) == {q.fields["id"] for q in questions("real")}


def test_right_answers_stay(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    chosen = random.Random(0).sample(sorted(judged("real")), SAMPLE)
    subprocess.run(
        [sys.executable, str(TRIAL), "real", *chosen, "--json", str(told)],
        check=True,
        capture_output=True,
    )
    answers = json.loads(told.read_text())
    assert set(answers) == set(chosen)
    assert not no_longer_right("real", answers)
