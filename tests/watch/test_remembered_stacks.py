"""What a remembered stack tells of a call is what the walk up the stack tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
from sampling import sampled
from test_usual_calls import BLOCK, PROGRAMS, in_programs, numbered
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

import gradviz as gv
from gradviz.watch.stack import Frames


@pytest.fixture(autouse=True)
def filled_memory():
    """``empty`` gives what lies in memory, unless torch is asked to fill it."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    yield
    torch.use_deterministic_algorithms(False)


def compared(run, monkeypatch) -> int:
    """Records with and without remembered stacks, and compares. Returns how many calls were told by
    a remembered one."""
    told = []
    remembered = Frames._remembered

    def counted(self, frame):
        look = remembered(self, frame)
        told.append(look is not None)
        return look

    recordings = []
    for way in (counted, lambda *_: None):
        with monkeypatch.context() as patch:
            patch.setattr(Frames, "_remembered", way)
            recordings.append(run())
    quick, walked = recordings
    assert numbered(quick.graph).to_json() == numbered(walked.graph).to_json()
    assert _lines(quick) == _lines(walked)
    assert list(map(_told_of, _runs(quick))) == list(map(_told_of, _runs(walked)))
    return sum(told)


def _line(code, at: int):
    """The line of a position. The position itself differs by how often the code ran."""
    if not at:
        return code, None
    return code, next(line for start, end, line in code.co_lines() if start <= at < end)


def _lines(rec) -> dict[int, list]:
    """Where each call was made, all that is known of its site."""
    return {
        call: [_line(*site[i : i + 2]) for i in range(0, len(site), 2)]
        for call, site in rec.sites().items()
    }


def _told_of(run) -> tuple:
    """What a call of a module tells of itself."""
    return run.kind, run.path, run.direct, run.number, _line(*run.site[:2])


def _runs(rec) -> Iterator:
    """The calls of modules, each once, in the order of their first recorded call."""
    seen = set()
    for entry in rec._recorder.log:
        run = entry[3] if entry[0] == "usual" else getattr(entry[1], "run_of_module", None)
        while run is not None and id(run) not in seen:
            seen.add(id(run))
            yield run
            run = run.parent


class Part(nn.Module):
    """Calls modules, functions of its own, and torch, each more than once from one place."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(3), nn.Linear(3, 3)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(3, 3), nn.ReLU())

    def scaled(self, x: Tensor) -> Tensor:
        """Called from two places."""
        return self.norm(x) * 2

    def forward(self, x: Tensor) -> Tensor:
        """A loop, a comprehension, and modules in a module."""
        for _ in range(2):
            x = self.linear(self.scaled(x)) + x
        x = self.inner(x) + sum(one.relu() for one in x.split(1, -1)) + self.scaled(x)
        return x + self.inner(x)


class Model(nn.Module):
    """The same part several times, one of them through a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Part() for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        """Parts in a loop, then one of them again."""
        for part in self.parts:
            x = part(x)
        return self.parts[0](checkpoint(self.parts[1], x, use_reentrant=False))


def at_times_doubled():
    """A forward pre-hook that gives other arguments at every second call."""
    calls = []

    def doubled(module, args):
        calls.append(module)
        return (args[0] * 2,) if len(calls) % 2 == 0 else None

    return doubled


def test_modules_in_modules(monkeypatch):
    def run():
        torch.manual_seed(0)
        model, x = Model(), torch.ones(2, 3)
        with gv.record() as rec:
            for _ in range(2):
                model(x).sum().backward()
        return rec

    assert compared(run, monkeypatch) > 100


@pytest.mark.parametrize("at", ["parts.1", "parts.2", "parts.0.norm"])
def test_hooks_of_modules(at, monkeypatch):
    def run():
        torch.manual_seed(0)
        model, x = Model(), torch.ones(2, 3)
        hooked, doubled = model.get_submodule(at), at_times_doubled()
        with gv.record() as rec:
            model(x)
            handle = hooked.register_forward_pre_hook(doubled)
            for _ in range(8):  # Python has settled by then on how it runs the code
                model(x)
            other = hooked.register_forward_hook(lambda module, args, out: out + 1)
            model(x)
            handle.remove()
            model(x).sum().backward()
            other.remove()
        return rec

    assert compared(run, monkeypatch) > 100


def test_the_same_place_from_several_callers(monkeypatch):
    def deep(x: Tensor, n: int) -> Tensor:
        return x * 2 if n == 0 else deep(x + 1, n - 1) * 3

    def one(x: Tensor) -> Tensor:
        y = deep(x, 2)
        return y + deep(x, 40)

    def lazily(x: Tensor) -> Iterator[Tensor]:
        for _ in range(3):
            yield x * 2

    def other(x: Tensor) -> Tensor:
        return sum(lazily(one(x)), start=next(lazily(x)))

    def run():
        x = torch.ones(2, requires_grad=True)
        with gv.record() as rec:
            for _ in range(3):
                a = one(x)
                b = other(x)
            (a + b).sum().backward()
        return rec

    assert compared(run, monkeypatch) > 100


def test_a_function_that_records_calls_itself(monkeypatch):
    def again(x: Tensor, n: int, rec) -> Tensor:
        if n == 2:
            with rec:
                return again(x * 2, n - 1, None)
        y = x * 3
        return y if n == 0 else again(y, n - 1, None) + again(y, 0, None)

    def run():
        rec = gv.record()
        again(torch.ones(2, requires_grad=True), 2, rec)
        return rec

    compared(run, monkeypatch)


def test_the_function_that_began_the_recording_calls_itself(monkeypatch):
    def again(x: Tensor, contexts: list) -> Tensor:
        with contexts.pop():
            y = x * 2
            return again(y, contexts) + 1 if contexts else y

    def run():
        rec = gv.record()
        again(torch.ones(2, requires_grad=True), [nullcontext(), nullcontext(), rec])
        return rec

    compared(run, monkeypatch)


def test_a_recording_inside_of_a_module(monkeypatch):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Part()

        def forward(self, x, rec):
            self.part(x)
            with rec:
                for _ in range(2):
                    x = self.part(x) + 1
            return x

    def run():
        torch.manual_seed(0)
        rec = gv.record()
        Outer()(torch.ones(2, 3), rec)
        return rec

    assert compared(run, monkeypatch) > 20


def test_a_training_loop(monkeypatch):
    def run():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), Part(), nn.Linear(3, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        data = TensorDataset(torch.ones(12, 3), torch.ones(12, 1))
        with gv.record() as rec:
            for x, y in DataLoader(data, batch_size=4):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
        return rec

    assert compared(run, monkeypatch) > 60


@pytest.mark.parametrize("first", sampled(range(0, PROGRAMS, BLOCK), 2))
def test_random_programs(first, monkeypatch):
    found = in_programs(first, lambda run: compared(run, monkeypatch))
    assert found  # else this compares nothing
