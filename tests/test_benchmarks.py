"""That the benchmarks of pictures run; what they measure is no test's business."""

from __future__ import annotations

import re

import pytest
import torch

from benchmarks import models, why


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_way_to_a_picture_is_measured_or_said_to_be_missing() -> None:
    rows = models.pictures(["resnet_frozen"], 1)
    assert [row[1] for row in rows] == list(models.WAYS)
    ours = rows[0]
    assert ours[3] == "1.00 (1.00–1.00)"
    assert 5 < int(ours[4]) < 20
    for row, (package, _) in zip(rows, models.WAYS.values(), strict=True):
        if models.is_installed(package):
            assert re.fullmatch(r"\d+ \(\d+–\d+\)", row[2]), row
            assert re.fullmatch(r"[\d,]+×[\d,]+", row[5]), row
        else:
            assert row[2] == "not installed"
    nodes = {row[1].partition(",")[0]: row[4] for row in rows}
    assert int(nodes["torchviz"]) > 100


def test_a_step_is_measured_with_and_without_a_recording() -> None:
    ((name, plain, recorded, ratio),) = models.costs(["resnet_frozen"], 2)
    assert name == models.TITLES["resnet_frozen"]
    assert all(re.fullmatch(r"[\d.]+ \([\d.]+–[\d.]+\)", text) for text in (plain, recorded, ratio))


def test_each_step_of_a_program_is_a_fresh_one() -> None:
    of = models.program("unet")
    first, second = of.step(), of.step()
    assert first is not second
    assert first.item() != second.item()  # the optimizer has stepped between


def test_cards_questions_players_and_pages_are_measured() -> None:
    rows = models.rest(1, 2, 12)
    assert len(rows) == 6
    assert all(float(row[1].partition(" ")[0]) > 0 for row in rows)
    assert "opened, 2 times" in rows[0][0]


def test_a_question_is_measured_from_the_recording_to_its_picture() -> None:
    calls, *seconds, cause = why.measured(lambda: why.classifier_loop(3), 1)
    assert int(calls) >= 3 * 6
    assert len(seconds) == 5
    assert all(float(text) >= 0 for text in seconds)
    assert cause == "not_logits"
