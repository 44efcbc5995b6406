"""What this tree takes over what another commit took: ``python -m benchmarks.against REVISION ...``.

Each commit is checked out beside this one, and each tree gets a process of its own. The processes
take turns, so whatever else the machine does meets all of them: each turn, every tree runs the same
program once, in another order than the turn before. What counts is the processor time of the best
run, with the garbage collector off. Also printed is the median of the ratios turn by turn.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TURNS = 30


# --- what is measured: in each tree, by the names that a user knows -------------------------------


def attention_step(torch: Any) -> tuple[Any, Callable[[], Any]]:
    """A model of twelve attention blocks, and one step of it."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)
            self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16)

        def forward(self, x: Any) -> Any:
            q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
            x = x + self.out(torch.softmax(q @ k.transpose(-2, -1) / 4, -1) @ v)
            return x + self.down(torch.relu(self.up(x)))

    torch.manual_seed(0)
    model, x = nn.Sequential(*[Block() for _ in range(12)]), torch.randn(2, 8, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, step


def toy(torch: Any) -> Any:
    """A small program, as those of the course."""
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a * 2
    c = b.detach()
    d = (b + c).exp()
    e = d.clone()
    loss = (e * a).sum()
    loss.backward()
    return loss


def scenario(copy: Any) -> None:
    """A live scenario with one control."""
    import torch

    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = copy(a)
    c = b * a
    loss = (c + a).sum()
    loss.backward()


def programs() -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""
    import torch

    import gradviz as gv

    torch.set_num_threads(1)
    model, step = attention_step(torch)

    def recorded(run: Callable[[], Any]) -> Any:
        with gv.record() as recording:
            run()
        return recording

    def long() -> None:
        w = torch.ones(2, requires_grad=True)
        h = w
        for _ in range(40):
            h = h * 1.5
        h.sum().backward()

    small, twelve, many = recorded(lambda: toy(torch)), recorded(step), recorded(long)
    graph = small.graph
    copies = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}
    live = gv.explore(scenario, copy=copies)
    options = ["clone", "detach"]

    def click() -> None:
        options.reverse()
        live.set(copy=options[0])
        assert live.state

    def draw() -> Any:
        return gv.Figure(graph).svg

    page = Path(tempfile.mkdtemp(), "page.html")
    return {
        "recording a step of 12 attention blocks": lambda: recorded(step),
        "recording it, and its graph": lambda: recorded(step).graph,
        "`why` for its 120 parameters": lambda: twelve.explain(model).html,
        "recording a small program, and its picture as DOT": lambda: (
            recorded(lambda: toy(torch)).figure().dot
        ),
        "a small picture, drawn": draw,
        "a click on a control": click,
        "a player of 80 steps": lambda: gv.play(many).states,
        "an exported page": lambda: gv.export(live, page),
    }


# --- taking turns ---------------------------------------------------------------------------------


def serve() -> None:
    """Run the program that each line of the input names, and print its milliseconds."""
    known = programs()
    print(*known, sep="\t", flush=True)
    for name in known:
        known[name]()
    for line in sys.stdin:
        run = known[line.strip()]
        gc.collect()
        gc.disable()
        start = time.process_time()
        run()
        taken = time.process_time() - start
        gc.enable()
        print(taken * 1e3, flush=True)


class Tree:
    """One tree, and the process that runs its programs."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve()), "--serve"],
            cwd=folder,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.programs = self._read().split("\t")

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.process.args} ended early")
        return line.rstrip("\n")

    def milliseconds(self, name: str) -> float:
        """Run a program once."""
        assert self.process.stdin is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        return float(self._read())


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Give a commit's files in a folder of their own while this is entered."""
    with tempfile.TemporaryDirectory() as outer:
        folder = Path(outer, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(folder), revision], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def compare(folders: list[Path], turns: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield each program, and the milliseconds of each tree in each turn."""
    trees = [Tree(folder) for folder in folders]
    for name in trees[0].programs:
        taken: list[list[float]] = [[] for _ in trees]
        for turn in range(turns):
            order = list(enumerate(trees))
            for at, tree in order if turn % 2 else reversed(order):
                taken[at].append(tree.milliseconds(name))
        yield name, taken
    for tree in trees:
        tree.process.kill()


def main() -> None:
    """Compare this tree with the commits that were named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revisions", nargs="*", help="commits, the oldest first")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    with ExitStack() as stack:
        folders = [stack.enter_context(checked_out(r)) for r in arguments.revisions]
        print("| | " + " | ".join(f"over {r}" for r in arguments.revisions) + " |")
        print("| --- |" + " ---: |" * len(folders))
        for name, (ours, *others) in compare([ROOT, *folders], arguments.turns):
            cells = []
            for other in others:
                median = statistics.median(a / b for a, b in zip(ours, other, strict=True))
                cells.append(f"{min(ours) / min(other):.2f} (median {median:.2f})")
            print(f"| {name}, {min(ours):.1f} ms | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
