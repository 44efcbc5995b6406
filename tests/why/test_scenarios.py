"""Every scenario does what its name says, and explain() finds out what that is."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import answers as plain
import pytest
import torch
from kept import Kept
from sampling import sampled
from scenarios import HEALTHY, SCENARIOS, Scenario, holds, run, subjects
from torch import nn

import gradviz as gv
from gradviz.why.shown.explanation import LINES

IDS = [s.name for s in SCENARIOS]
SAMPLE = 60  # that are asked; all of them: make soak-tests


def test_the_table_is_large_enough() -> None:
    assert len(SCENARIOS) >= 70
    assert len(HEALTHY) >= 20
    assert len(set(IDS)) == len(IDS)
    ranks = [s.rank for s in SCENARIOS]
    assert {r for r in range(1, 23) if ranks.count(r) < 2} == set()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=IDS)
def test_the_program_does_what_its_name_says(scenario: Scenario) -> None:
    outcome = run(scenario)
    assert holds(scenario, outcome), outcome.error


# --- what explain() says --------------------------------------------------------------------------


class Answer(NamedTuple):
    """What came out for one scenario."""

    scenario: Scenario
    cause: str
    lines: tuple[int, ...]
    text: str
    kept: dict[str, Any]

    @property
    def right(self) -> bool:
        return self.cause in self.scenario.causes

    @property
    def wrong(self) -> bool:
        """Confidently: "not known" is never wrong."""
        return not self.right and self.cause != "not_known"

    def __str__(self) -> str:
        return (
            f"{self.scenario.name}: {self.cause} instead of"
            f" {'/'.join(sorted(self.scenario.causes))}\n{self.text}"
        )


def ask(scenario: Scenario) -> Answer:
    """Run one program in a recording and ask about it, in the words of its own variables."""
    recording = gv.record()
    names, error = run(scenario, recording)
    known = {
        n: v
        for n, v in names.items()
        if isinstance(v, (torch.Tensor, nn.Module, torch.optim.Optimizer))
    }
    found = gv.explain(*subjects(scenario, names), error=error, recording=recording, names=known)
    picture = plain.in_brief(plain.recorded(recording))
    kept = {"answer": plain.Reader(numbered=True).answer(found), "picture": picture}
    return Answer(scenario, found.cause, found.lines, str(found), kept)


@cache
def answer_of(name: str) -> Answer:
    return ask(SCENARIOS[IDS.index(name)])


@pytest.fixture(scope="module")
def answers() -> list[Answer]:
    return [answer_of(name) for name in sampled(IDS, SAMPLE)]


def test_none_is_confidently_wrong(answers: list[Answer]) -> None:
    wrong = [str(a) for a in answers if a.wrong]
    assert not wrong, "\n\n".join(wrong)


def test_nearly_all_are_right(answers: list[Answer]) -> None:
    unsure = [str(a) for a in answers if not a.right]
    assert len(unsure) <= 0.02 * len(answers), "\n\n".join(unsure)


def test_the_line_to_blame_is_named(answers: list[Answer]) -> None:
    missed = [
        f"{a.scenario.blame}\n{a}"
        for a in answers
        if a.right and not set(a.scenario.blame) <= set(a.lines)
    ]
    assert not missed, "\n\n".join(missed)


@pytest.mark.parametrize("name", IDS)
def test_the_answer_is_the_one_that_is_kept(name: str, kept: Kept) -> None:
    given = answer_of(name).kept
    kept.check("scenarios", name, given["answer"])
    kept.check("pictures_of_scenarios", name, given["picture"])


WORDS = {  # what the answer says, and after "not:" what it must not say
    "input_and_activation_share_a_name": "x.retain_grad(); not:no_grad",
    "state_of_a_hand_written_rnn": "give the result another name; not:no_grad; not:-= lr",
    "pgd_steps_keep_the_name": "give the result another name; not:-= lr",
    "practice_manual_rebind": "with torch.no_grad(): w -= 0.1 * w.grad and b -= 0.1 * b.grad",
    "buffer_written_through_data": "written into buf by buf.data",
    "buffer_written_through_detach": "written into buf by buf.detach()",
    "scale_on_the_way_to_the_loss": "goes on to log_t",
    "deep_copy_in_the_loss": "a copy is a leaf of its own; not:.data",
    "deep_copy_of_a_tensor_in_the_loss": "a copy is a leaf of its own",
    "adapters_in_a_plain_list": "net.adapters.{0,1}.{weight,bias}; nn.ModuleList; plain list",
    "learned_temperature_that_no_optimizer_holds": "log_t; add_param_group",
    "running_loss_beside_the_model": "total keeps the graphs of 5 iterations",
    "action_drawn_by_sample": "rsample()",
    "encoder_with_a_no_grad_decorator": (
        "self.enc(x) ran under the no_grad of line 6; line 6 switches gradients off"
    ),
    "only_the_indices_of_topk_are_used": "of topk() only idx goes on",
    "loss_over_an_empty_selection": "The loss is NaN, although the gradients are finite",
    "loss_that_was_told_to_require_grad": "2 trainable parameters: 0 reached",
    "centers_of_a_loss_module_in_no_optimizer": (
        "No optimizer that is known here holds criterion.c, so no step moves it; "
        "Made without it: opt = torch.optim.SGD(net.parameters(), 0.1) (line 10)"
    ),
    "constructor_inside_the_recording": (
        "net.lora.q.weight; net.scales.0; net.lora and net.scales: a plain"
    ),
    "frozen_target_network": "if it is meant to learn",
}


@pytest.mark.parametrize("name", WORDS)
def test_what_the_answer_says(name: str) -> None:
    text = " ".join(answer_of(name).text.split())
    for words in WORDS[name].split("; "):
        assert (words in text) if not words.startswith("not:") else words[4:] not in text


def test_an_explanation_is_a_short_paragraph(answers: list[Answer]) -> None:
    for a in answers:
        lines = a.text.splitlines()
        assert 1 <= len(lines) <= LINES, a.text
        assert max(map(len, lines)) <= 120, a.text
