"""Every case of the tests of which ``make test`` runs a sample (``sampling.py``): ``make soak-tests``
runs them all and writes docs/soak_tests.md.

    python tests/soak_tests.py tests/watch/test_oracle.py

runs those of some files and writes nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "soak_tests.md"


class Results:
    """A plugin of pytest: what became of each case."""

    def __init__(self) -> None:
        self.passed, self.failed = Counter[str](), dict[str, str]()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what could not be looked through: none of its cases ran."""
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what passed, and the text of what did not."""
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext
        elif report.when == "call" and report.passed:
            self.passed[report.nodeid.partition("::")[0]] += 1


def page(results: Results, minutes: float) -> str:
    """Return docs/soak_tests.md."""
    conditions = (
        f"Python {platform.python_version()}, torch {torch.__version__}, {platform.system()}"
        f" {platform.machine()}"
    )
    failed = Counter(name.partition("::")[0] for name in results.failed)
    lines = [
        "# Soak of tests",
        "",
        "<!-- Written by `make soak-tests`. -->",
        "",
        "Every case of the tests, of which `make test` runs a seeded sample (`tests/sampling.py`): `pytest --everything`.",
        "",
        f"**{results.passed.total():,} cases passed, {len(results.failed)} failed.** {conditions};"
        f" {max(round(minutes), 1)} minutes.",
        "",
        "| file | passed | failed |",
        "| --- | ---: | ---: |",
        *(
            f"| `{file}` | {results.passed[file]:,} | {failed[file]} |"
            for file in sorted({*results.passed, *failed})
        ),
        "",
    ]
    for name, text in sorted(results.failed.items()):
        lines += [f"`{name}`:", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(lines)


def main() -> int:
    """Return 1 if anything failed, or nothing was run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="files of tests; without: all of them")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    if asked.write and asked.files:
        parser.error("what is written is of all files")
    os.chdir(ROOT)
    # as `python -m pytest` has it: in tests/ there is a folder named as a package of the project is
    sys.path[0] = str(ROOT)
    results, began = Results(), time.monotonic()
    workers = ["-n", str(asked.processes), "--dist", "loadscope"]
    files = asked.files or ["tests"]
    code = pytest.main(["-q", "--everything", *workers, *files], plugins=[results])
    text = page(results, (time.monotonic() - began) / 60)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
