"""The check that keeps notebooks honest must itself be able to fail."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from check_notebooks import main, problems

GOOD = {
    "metadata": {},
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
        {"cell_type": "code", "metadata": {}, "source": "1", "execution_count": 1, "outputs": []},
        {
            "cell_type": "code",
            "metadata": {},
            "source": ["2\n"],
            "execution_count": 2,
            "outputs": [],
        },
        {"cell_type": "code", "metadata": {}, "source": [], "execution_count": None, "outputs": []},
    ],
}


def test_a_notebook_run_top_to_bottom_is_accepted() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("cells", 1, "execution_count"), None, "execution counts are [None, 2], expected 1 to 2"),
        (("cells", 2, "execution_count"), 7, "execution counts are [1, 7], expected 1 to 2"),
        (("metadata", "widgets"), {}, "widget state is saved"),
        (("cells", 1, "metadata", "execution"), {"iopub.status.busy": "now"}, "timing metadata"),
        (
            ("cells", 1, "outputs"),
            [{"text": ["at /home/ann/x.py"]}],
            "names a path of one machine: /home/ann",
        ),
        (
            ("cells", 1, "outputs"),
            [{"text": "C:\\Users\\ann"}],
            "names a path of one machine: C:\\Users\\ann",
        ),
        (
            ("cells", 1, "outputs"),
            [{"data": {"text/plain": "/root/y"}}],
            "names a path of one machine: /root/y",
        ),
        (
            ("cells", 1, "outputs"),
            [{"output_type": "error", "ename": "TypeError"}],
            "code cell 1 ends in TypeError",
        ),
    ],
)
def test_every_problem_is_named(path: tuple, value: object, complaint: str) -> None:
    notebook = copy.deepcopy(GOOD)
    place = notebook
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert [p for p in problems(notebook) if complaint in p]


def test_the_command_counts_the_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = copy.deepcopy(GOOD)
    bad["cells"][1]["execution_count"] = None
    (tmp_path / "bad.ipynb").write_text(json.dumps(bad))
    assert main(str(tmp_path)) == 1
    assert "bad.ipynb: execution counts" in capsys.readouterr().out
