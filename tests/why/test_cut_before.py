"""A value that was computed before the recording, and that a recorded call cuts off: the cut is
told, though nothing of what stands before it was recorded."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

import gradviz as gv
from gradviz.recording import Recording


def _networks() -> tuple[nn.Module, nn.Module]:
    generator = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 8))
    return generator, nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))


def _judged(
    generator: nn.Module, judge: nn.Module, passed_on: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[Recording, torch.Tensor, torch.Tensor]:
    fake = generator(torch.randn(8, 4))
    with gv.record() as rec:
        loss = judge(passed_on(fake)).mean()
        loss.backward()
    return rec, fake, loss


def test_a_cut_of_what_was_computed_before_is_told() -> None:
    generator, judge = _networks()
    rec, _fake, loss = _judged(generator, judge, lambda fake: fake.data)
    for answer in (rec.explain(generator, loss), rec.explain(generator)):
        assert (answer.cause, answer.form) == ("cut", "severed")
        assert "fake.data" in str(answer)


def test_what_the_cut_value_was_not_computed_from_was_not_used() -> None:
    generator, judge = _networks()
    rec, _fake, loss = _judged(generator, judge, lambda fake: fake.data)
    beside = nn.Linear(3, 3)
    assert rec.explain(beside, loss).cause == "branch_not_taken"


def test_a_value_that_is_not_cut_brings_its_gradient() -> None:
    generator, judge = _networks()
    rec, _fake, loss = _judged(generator, judge, lambda fake: fake)
    answer = rec.explain(generator, loss)
    assert answer.cause != "cut"
    assert "4 of 4 trainable parameters have a gradient" in str(answer)


def test_a_value_that_is_gone_proves_nothing() -> None:
    generator, judge = _networks()
    rec, fake, loss = _judged(generator, judge, lambda fake: fake.data)
    del fake
    assert "severed" not in rec.explain(generator, loss).form


# --- reach ----------------------------------------------------------------------------------------


def _verdicts(loss: torch.Tensor, model: nn.Module, rec: Recording) -> set[tuple[str, int]]:
    return {(row.verdict, len(row.cuts)) for row in gv.reach(loss, model, recording=rec).rows}


def test_reach_names_the_cut_of_what_was_computed_before() -> None:
    generator, judge = _networks()
    rec, _fake, loss = _judged(generator, judge, lambda fake: fake.detach())
    rows = gv.reach(loss, generator, recording=rec).rows
    assert {row.verdict for row in rows} == {"no path"}
    assert all("fake.detach() [detach]" in row.why for row in rows)
    assert _verdicts(loss, judge, rec) == {("reached", 0)}


def test_reach_does_so_where_the_recording_stepped_the_parameters() -> None:
    generator, judge = _networks()
    fake = generator(torch.randn(8, 4))
    opt = torch.optim.SGD(generator.parameters(), lr=0.1)
    fake.sum().backward(retain_graph=True)
    with gv.record() as rec:
        loss = judge(fake.detach()).mean()
        loss.backward()
        opt.step()
    assert _verdicts(loss, generator, rec) == {("no path", 1)}


def test_of_what_is_gone_reach_does_not_know() -> None:
    generator, judge = _networks()
    rec, fake, loss = _judged(generator, judge, lambda fake: fake.detach())
    del fake
    assert _verdicts(loss, generator, rec) == {("not known", 0)}


def test_what_the_cut_value_was_not_computed_from_reach_calls_not_used() -> None:
    generator, judge = _networks()
    rec, _fake, loss = _judged(generator, judge, lambda fake: fake.detach())
    assert _verdicts(loss, nn.Linear(3, 3), rec) == {("not used", 0)}


def test_a_cut_that_this_loss_has_nothing_of_is_no_reason() -> None:
    generator, judge = _networks()
    fake = generator(torch.randn(8, 4))
    with gv.record() as rec:
        shown = fake.detach().mean()
        loss = judge(torch.randn(8, 8)).mean()
    assert shown.numel() == 1
    assert _verdicts(loss, generator, rec) == {("not used", 0)}
