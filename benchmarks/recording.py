"""What ``gradviz.record()`` costs for each recorded operation: ``python -m
benchmarks.recording``."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, TensorDataset

import gradviz as gv
from benchmarks.common import conditions, spread, table
from gradviz.watch.walk import walk

ROUNDS = 9
STEPS = 5  # of a model: the fastest counts
CHAIN = 200_000  # nodes


def small_operations() -> Tensor:
    """1,000 operations on 3 numbers: the cost of torch itself is as small as it gets."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([0.5, 0.5, 0.5])
    for _ in range(200):
        c = a * b
        d = c + a
        e = torch.tanh(d)
        f = e.view(3, 1)
        loss = f.sum()
    return loss


def long_chain() -> Tensor:
    """1,000 operations in one chain on 64×64."""
    h = torch.ones(64, 64, requires_grad=True)
    for _ in range(500):
        h = h * 0.5
        h = torch.relu(h)
    return h.sum()


def training_step() -> Tensor:
    """Three steps of a small convolutional network, backward and optimizer included."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 30 * 30, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    images, labels = torch.ones(8, 3, 32, 32), torch.zeros(8, dtype=torch.long)
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
    return loss


def timed(run: Callable[[], Tensor], recorded: bool) -> tuple[float, float, int]:
    """(seconds of the run, seconds to make its graph with names and lines, recorded calls)."""
    context: Any = gv.record() if recorded else nullcontext()
    start = time.perf_counter()
    with context as recording:
        loss = run()
    middle = time.perf_counter()
    calls = len(recording.graph.calls) if recorded else 0
    end = time.perf_counter()
    if loss.grad_fn is not None:
        walk([loss.grad_fn])
    return middle - start, end - middle, calls


# --- models ---------------------------------------------------------------------------------------


class Block(nn.Module):
    """One block of a GPT-2, written as ``transformers`` has it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        """Attend, then compute for each place."""
        batch, length, width = x.shape
        query, key, value = self.c_attn(self.ln_1(x)).split(width, dim=2)
        heads = [t.view(batch, length, 4, -1).transpose(1, 2) for t in (query, key, value)]
        found = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        found = found.transpose(1, 2).contiguous().view(batch, length, width)
        x = x + self.dropout(self.c_proj(found))
        h = self.c_fc(self.ln_2(x))
        h = 0.5 * h * (1.0 + torch.tanh(0.7978845608 * (h + 0.044715 * torch.pow(h, 3.0))))
        return x + self.dropout(self.c_out(h))


class GPT(nn.Module):
    """A GPT-2 of twelve blocks, on GPT-2's words."""

    def __init__(self, width: int, words: int = 50257) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(64, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(12)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, words, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, words: Tensor) -> Tensor:
        """Tell the loss of guessing each next word."""
        x = self.wte(words) + self.wpe(torch.arange(words.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten())


def gpt(width: int, *, forward_only: bool = False) -> Callable[[], Tensor]:
    """A training step of a GPT on a batch of 2×16, AdamW included; or the loss alone."""
    torch.manual_seed(0)
    model = GPT(width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    words = torch.randint(0, 50257, (2, 16))

    def step() -> Tensor:
        if forward_only:
            return model(words)  # type: ignore[no-any-return]
        optimizer.zero_grad()
        loss: Tensor = model(words)
        loss.backward()
        optimizer.step()
        return loss

    return step


def training_loop() -> Callable[[], Tensor]:
    """50 steps of a DataLoader and a perceptron of three layers."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(400, 10), torch.randn(400, 1))

    def run() -> Tensor:
        for x, y in DataLoader(data, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        return loss

    return run


def handwritten_rnn() -> Callable[[], Tensor]:
    """200 steps of a recurrent net by hand, and its backward."""
    torch.manual_seed(0)
    w = (torch.randn(16, 16) * 0.2).requires_grad_()
    u = (torch.randn(16, 16) * 0.2).requires_grad_()
    bias, xs = torch.zeros(16, requires_grad=True), torch.randn(200, 4, 16)

    def run() -> Tensor:
        w.grad = u.grad = bias.grad = None
        h = torch.zeros(4, 16)
        for x in xs:
            h = torch.tanh(x @ u + h @ w + bias)
        loss = (h**2).mean()
        loss.backward()
        return loss

    return run


MODELS: dict[str, Callable[[], Callable[[], Tensor]]] = {
    "GPT-2 of 12 blocks, width 48, batch 2×16: forward, backward, AdamW": lambda: gpt(48),
    "the same, width 384": lambda: gpt(384),
    "the same, width 48, forward only": lambda: gpt(48, forward_only=True),
    "50 steps of a DataLoader and a small perceptron, SGD": training_loop,
    "a recurrent net by hand, 200 steps, and its backward": handwritten_rnn,
}


class Passing(TorchFunctionMode):
    """A mode that does nothing: the least that watching can cost."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Hand the call on."""
        return func(*args, **(kwargs or {}))


def processor_time(run: Callable[[], object], context: Any) -> float:
    """Milliseconds of the processor for one run."""
    gc.collect()
    start = time.process_time()
    with context:
        run()
    return (time.process_time() - start) * 1e3


def models() -> str:
    """The table of models: taking turns, one thread, the fastest of ``STEPS`` each."""
    threads, rows = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        for name, make in MODELS.items():
            run = make()
            ways: dict[str, Callable[[], Any]] = {
                "plain": nullcontext,
                "mode": Passing,
                "recorded": gv.record,
            }
            for way in ways.values():
                processor_time(run, way())  # warm up
            found: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(STEPS):
                for way, context in ways.items():
                    found[way].append(processor_time(run, context()))
            plain, mode, recorded = (min(found[way]) for way in ways)
            rows.append(
                [
                    name,
                    f"{plain:.1f}",
                    f"{recorded:.1f}",
                    f"{recorded / plain:.2f}",
                    f"{mode / plain:.2f}",
                ]
            )
    finally:
        torch.set_num_threads(threads)
    head = [
        "program",
        "plain, ms",
        "recorded, ms",
        "recorded / plain",
        "a mode that does nothing / plain",
    ]
    return table(head, rows)


def large_chain() -> str:
    """A sentence on ``gv.show`` of a chain of ``CHAIN`` nodes."""
    x = torch.ones(2, requires_grad=True)
    for _ in range(CHAIN // 2):
        x = (x * 1.0).add(1.0)
    loss = x.sum()
    taken = min(processor_time(lambda: gv.show(loss), nullcontext()) for _ in range(3))
    return f"`gv.show` of a chain of {CHAIN:,} nodes: {taken / 1e3:.2f} s of the processor."


def main() -> str:
    """Measures and returns the section of the results page."""
    rows = []
    for run in (small_operations, long_chain, training_step):
        timed(run, True)  # warm up
        added, ratio, after = [], [], []
        for _ in range(ROUNDS):
            plain, _, _ = timed(run, False)
            recorded, graph, calls = timed(run, True)
            added.append((recorded - plain) / calls)
            ratio.append(recorded / plain)
            after.append(graph / calls)
        rows.append(
            [
                run.__doc__ or "",
                f"{calls:,}",
                spread(added, 1e6),
                spread(ratio, digits=2),
                spread(after, 1e6),
                f"{(statistics.median(added) + statistics.median(after)) * 1e6:.1f}",
            ]
        )
    head = [
        "program",
        "calls",
        "added, µs a call",
        "× unrecorded",
        "graph afterwards, µs a call",
        "both",
    ]
    return f"""## Recording

Conditions: {conditions()}.

Each round runs the program once without and once with `gradviz.record()`, default settings: source line and position
of every call, values of small tensors, versions, memory, nodes. *Added* is the difference for each recorded call,
paired within a round; *graph afterwards* makes `recording.graph`, names resolved. Numbers are medians with the lowest
and highest of {ROUNDS} rounds.

{table(head, rows)}

Whole models, values and norms included, on one thread: processor time, the ways taking turns, the fastest of
{STEPS}. What a torch function mode costs that does nothing stands beside it.

{models()}

{large_chain()}
"""


if __name__ == "__main__":
    print(main())
