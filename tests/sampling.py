"""Which cases of a long row of cases the tests run: a sample, drawn with a seed, or all of them.

``make test`` has to be done in minutes, so of a test with more than ``ROW`` cases it runs a sample,
and of random programs, models and states whose single case is dear a smaller one, which their file
asks for. Quick rows that hold rules, ``pytest.mark.every_case``, are run whole. Of a file whose tests
are dear, each or all together, ``pytest.mark.dear(5)``, as those that start processes or kernels or
click through pages, so many are run.
In the browser one notebook is run and looked at, one is walked through by some clicks on each panel,
the layout of some panels of some notebooks is looked at, and the site has the pages of one notebook. ``--everything``
runs all, as ``make soak-tests`` does; ``--sample-seed`` draws another sample. Both are read in
``tests/conftest.py``, before any file of tests.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

Case = TypeVar("Case")
SEED = 2026
ROW = 9  # cases of one test that are run


class Asked:
    """What the command line asked for."""

    everything = False
    seed = SEED


def sampled(cases: Sequence[Case], count: int) -> list[Case]:
    """Return so many of the cases, in their order; all of them where everything is asked for.

    >>> sampled("abcdefgh", 3) == sampled("abcdefgh", 3)
    True
    >>> sampled("abc", 5)
    ['a', 'b', 'c']
    """
    if Asked.everything or count >= len(cases):
        return list(cases)
    chosen = random.Random(Asked.seed).sample(range(len(cases)), count)
    return [cases[place] for place in sorted(chosen)]


def left_out(tests: Sequence[str]) -> set[str]:
    """Return which of these tests, by their ids in pytest, are not run: of each that has more than
    ``ROW`` cases all but a sample. Tests with equally many cases run the same ones: what they share
    is computed once.

    >>> len(left_out([f"test_a.py::test[{case}]" for case in range(100)])) in (0, 100 - ROW)
    True
    >>> left_out(["test_a.py::test", "test_a.py::test_other[1]"])
    set()
    """
    rows: dict[str, list[str]] = {}
    for test in tests:
        rows.setdefault(test.partition("[")[0], []).append(test)
    return {test for row in rows.values() for test in {*row} - {*sampled(row, ROW)}}


def left_out_of_dear(tests: Mapping[str, int]) -> set[str]:
    """Return which dear tests are not run.

    Args:
        tests: the id of each in pytest -> how many of its file are run.

    >>> len(left_out_of_dear({f"test_a.py::test_{name}": 2 for name in "abcde"})) in (0, 3)
    True
    """
    files: dict[tuple[str, int], list[str]] = {}
    for test, count in tests.items():
        files.setdefault((test.partition("::")[0], count), []).append(test)
    kept = {test for (_, count), all_ in files.items() for test in sampled(all_, count)}
    return {*tests} - kept


def told() -> str:
    """Return how the cases were chosen, in words."""
    if Asked.everything:
        return "every case is run"
    return f"of long rows of cases a sample is run, --sample-seed={Asked.seed}; --everything: all"
