"""A sample is the same in every process and changes with its seed; everything is everything."""

from __future__ import annotations

import pytest
from sampling import ROW, Asked, left_out, left_out_of_dear, sampled, told

CASES = range(100)


@pytest.fixture(autouse=True)
def of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "everything", False)
    monkeypatch.setattr(Asked, "seed", 1)


def test_a_sample_is_a_part_in_order_and_the_same_each_time() -> None:
    found = sampled(CASES, 12)
    assert len(set(found)) == 12
    assert found == sorted(found)
    assert set(found) <= set(CASES)
    assert sampled(CASES, 12) == found


def test_another_seed_draws_another_and_each_case_is_drawn_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = set()
    for seed in range(60):
        monkeypatch.setattr(Asked, "seed", seed)
        drawn.add(tuple(sampled(CASES, 12)))
        assert f"--sample-seed={seed};" in told()
    assert len(drawn) == 60
    assert {case for sample in drawn for case in sample} == set(CASES)


def test_everything_is_every_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "everything", True)
    assert sampled(CASES, 12) == [*CASES]
    assert told() == "every case is run"


def test_of_a_long_row_a_sample_is_run_and_short_ones_whole() -> None:
    long = [f"a.py::test_long[{case}]" for case in range(3 * ROW)]
    short = [f"a.py::test_short[{case}]" for case in range(ROW)]
    not_run = left_out([*long, *short, "a.py::test_alone"])
    assert len(not_run) == 2 * ROW
    assert not_run < {*long}


def test_tests_of_the_same_cases_run_the_same_ones() -> None:
    one, other = ([f"a.py::{name}[{case}]" for case in CASES] for name in ("one", "other"))
    not_run = left_out([*one, *other])
    assert {name.partition("[")[2] for name in not_run & {*one}} == {
        name.partition("[")[2] for name in not_run & {*other}
    }


def test_of_the_dear_tests_of_a_file_so_many_are_run() -> None:
    few = {f"a.py::test_{case}": 3 for case in range(10)}
    other = {f"b.py::test_{case}": 4 for case in range(4)}
    not_run = left_out_of_dear({**few, **other})
    assert len(not_run) == 7
    assert not_run < {*few}


def test_everything_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asked, "everything", True)
    assert left_out([f"a.py::test_long[{case}]" for case in CASES]) == set()
