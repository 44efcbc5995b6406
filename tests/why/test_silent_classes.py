"""Classes of silent fault, enumerated from torch's documentation of its losses, optimizers, modules
and hooks: of each the smallest natural program, its truth by torch alone, and the bare answer."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from test_real_truth import tomllib
from test_symptom import asked

# what torch warns of is not what is tested
pytestmark = pytest.mark.filterwarnings("ignore")

FAULTS = tomllib.loads(Path(__file__).with_name("silent_classes.toml").read_text())["fault"]
each_fault = pytest.mark.parametrize("fault", FAULTS, ids=[f["name"] for f in FAULTS])
MEANT = tomllib.loads(Path(__file__).with_name("silent_meant.toml").read_text())["meant"]
each_meant = pytest.mark.parametrize("meant", MEANT, ids=[m["name"] for m in MEANT])


def shows(program: str, symptom: str) -> bool:
    """Run a program with torch alone and return whether it shows a symptom."""
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(program, names)
    return bool(eval(symptom, names))


@each_fault
def test_torch_alone_shows_the_symptom_and_the_edits_mend_it(fault: dict[str, Any]) -> None:
    assert shows(fault["program"], fault["symptom"])
    mended = fault["program"]
    for old, new in fault["edits"]:
        assert old in mended
        mended = mended.replace(old, new)
    assert not shows(mended, fault["symptom"])


@each_fault
def test_the_bare_answer_names_the_cause_its_line_and_a_mend(fault: dict[str, Any]) -> None:
    answer = asked(fault["program"])
    told = " ".join(str(answer).split())
    assert fault["says"] in told
    lines = [n for n, line in enumerate(fault["program"].split("\n"), 1) if fault["at"] in line]
    assert not fault["at"] or set(lines) & set(answer.lines)


@each_meant
def test_what_has_the_shape_of_a_fault_and_is_meant_does_not_lead(meant: dict[str, Any]) -> None:
    answer = asked(meant["program"])
    assert meant["not"] not in " ".join(str(answer).split())
