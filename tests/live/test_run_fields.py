"""The fields of a run that code compares, held against what PyTorch says by itself."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

from gradviz import controls, record
from gradviz.graph.records import SavedState
from gradviz.live.explore import Exploration, explore
from gradviz.live.run import Run


def freed() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.backward()
    y.backward()


def freed_behind_a_fresh_node() -> None:
    w, hidden = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0)
    for _ in range(2):
        hidden = w * hidden
        hidden.backward()


def stale() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.backward()


def stale_after_a_freed_one() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    x.exp().backward()
    y = x.exp()
    y.add_(1)
    (y * 2).backward()


def no_grad_fn() -> None:
    x = torch.tensor(2.0)
    if x > 1:
        x.backward()


def refused_leaf() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    for _ in range(1):
        x.add_(1)


def not_torchs() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    x * 1
    raise ValueError("mine")


def caught_before() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with contextlib.suppress(RuntimeError):
        x.add_(1)
    raise RuntimeError("another")


def caught() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    try:
        x.add_(1)
    except RuntimeError:
        x.exp().backward()


def fine() -> None:
    x = torch.tensor(2.0, requires_grad=True)
    x.exp().backward()


WHY = {"second time": SavedState.FREED, "inplace": SavedState.STALE}
PROGRAMS: dict[Callable[[], None], tuple[str, str | None, str | None]] = {
    freed: ("y.backward()", "backward", "ExpBackward0"),
    freed_behind_a_fresh_node: ("hidden.backward()", "backward", "MulBackward0"),
    stale: ("y.backward()", "backward", "ExpBackward0"),
    stale_after_a_freed_one: ("(y * 2).backward()", "backward", "ExpBackward0"),
    no_grad_fn: ("x.backward()", "backward", None),
    refused_leaf: ("x.add_(1)", "add_", None),
    not_torchs: ('raise ValueError("mine")', None, None),
    caught_before: ('raise RuntimeError("another")', None, None),
    caught: ("", None, None),
    fine: ("", None, None),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_what_raised_is_what_raises_without_us(program: Callable[[], None]) -> None:
    line, why = None, None
    try:
        program()
    except Exception as error:
        line = traceback.extract_tb(sys.exc_info()[2])[1].lineno
        why = next((state for words, state in WHY.items() if words in str(error)), None)
    run = Exploration(program, {}).run()
    code, function, node = PROGRAMS[program]
    assert run.raised_line == line
    assert run.raised_code == code
    assert (run.raised_call and run.raised_call.function) == function
    assert (run.raised_node and run.raised_node.name) == node
    assert run.raised_saved is why


def test_the_node_that_raised_is_the_older_one() -> None:
    run = Exploration(freed_behind_a_fresh_node, {}).run()
    made = [call.id for call in run.graph.calls if call.function == "mul"]
    assert len(made) == 2
    assert run.raised_node is not None
    assert run.raised_node.call_id == made[0]


def shared(keep: bool, mode: Any) -> dict[str, torch.Tensor]:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 3
    if keep:
        b.retain_grad()
    with mode():
        view = a[:1]
        copy = a.clone()
    whole = a.detach()
    plain = torch.tensor([1.0])
    (b * 2).sum().backward()
    return {"a": a, "b": b, "view": view, "copy": copy, "whole": whole, "plain": plain}


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("mode", controls.grad_mode)
@pytest.mark.parametrize("keep", [False, True])
def test_grads_and_shared_memory_are_those_of_torch(keep: bool, mode: str) -> None:
    tensors = shared(keep, controls.grad_mode[mode])
    exploration = explore(shared, keep=False, mode=controls.grad_mode).set(keep=keep, mode=mode)
    records = exploration.records
    assert records.keys() == exploration.grads.keys() == exploration.tensors.keys() > {*tensors}
    for name, tensor in tensors.items():
        grad = tensor.grad
        wanted = "None" if grad is None else str([int(number) for number in grad.tolist()])
        assert exploration.grads[name] == wanted, name
        assert records[name].is_leaf == tensor.is_leaf
        for other, its in tensors.items():
            together = tensor.untyped_storage().data_ptr() == its.untyped_storage().data_ptr()
            assert (records[name].storage_id == records[other].storage_id) == together


def test_a_table_that_is_not_listed_whole_has_no_record_for_the_rest() -> None:
    def many() -> None:
        kept = [torch.ones(1, requires_grad=True) * k for k in range(250)]
        sum(kept).backward()  # type: ignore[union-attr]

    run = Exploration(many, {}).run()
    assert len(run.tensors) == len(run.records) + 1 > 200


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_sentences_are_those_of_the_sentence(program: Callable[[], None]) -> None:
    run = Exploration(program, {}).run()
    assert " ".join(run.sentences) == run.sentence
    assert all(run.sentences)


def test_a_recording_without_a_scenario_has_no_line() -> None:
    with record() as recording:
        torch.ones(1, requires_grad=True).exp()
    run = Run.of(recording)
    assert (run.raised_line, run.raised_code, run.raised_call) == (None, "", None)
    assert run.grads.keys() == run.tensors.keys()
