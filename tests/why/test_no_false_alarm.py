"""Nothing is said to be wrong of programs in which nothing is: teachers, frozen parts, accumulated
gradients, GAN steps, parts that rest."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from real_trial import healthy_programs
from sampling import sampled
from trials import HERE, Question

from gradviz.graph.findings import Cause, Level

# An expert that the router did not choose is told like a block that forward forgets: docs/limits.md.
STILL_TOLD = {"h36"}
PROGRAMS = healthy_programs()
TRIAL = Path(__file__).with_name("real_trial.py")


@pytest.mark.parametrize("program", PROGRAMS, ids=[p.fields["cause_kind"] for p in PROGRAMS])
def test_the_program_is_as_it_says(program: Question) -> None:
    whole = (HERE / "healthy" / program.fields["file"]).read_text(encoding="utf-8")
    assert "\nassert " in whole
    # torch can wait for ever where a process group is let go of while Python runs on
    if "torch.distributed" in whole:
        path = str(HERE / "healthy" / program.fields["file"])
        subprocess.run([sys.executable, path], check=True, capture_output=True, timeout=600)
        return
    with torch.random.fork_rng(), contextlib.redirect_stdout(io.StringIO()):
        torch.manual_seed(0)
        exec(compile(whole, program.fields["file"], "exec"), {"__name__": "__main__"})


def test_no_fault_is_told_of_any(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    asked = sampled([program.fields["id"] for program in PROGRAMS], 12)
    subprocess.run(
        [sys.executable, str(TRIAL), "healthy", "--only", *asked, "--json", str(told)],
        check=True,
        capture_output=True,
    )
    answers = json.loads(told.read_text())
    assert set(answers) == {*asked}
    assert len(PROGRAMS) >= 30
    alarms = {}
    for name, answer in answers.items():
        cause, _, text = answer["bare"]
        if not cause or Cause(cause).level > Level.NOTE:
            alarms[name] = text
    assert set(alarms) == STILL_TOLD & {*asked}, "\n\n".join(
        f"{name}: {text}" for name, text in alarms.items()
    )
