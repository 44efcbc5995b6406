"""Many random programs, of which PyTorch is the judge: ``make soak`` runs 20,000 and writes
docs/soak.md.

    python tests/soak.py --first 12000 --count 500 --stream 3

runs a part of another endless row of programs and writes nothing. The same stream and number is the
same program everywhere, so a long run can be done in parts; the tests have stream 0 for themselves.
A program on which the ways do not agree is printed as a script that runs, as short as it could be
made.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

import oracle
import programs
import torch

PAGE = Path(__file__).parent.parent / "docs" / "soak.md"
PART = 25  # programs that a process gets at once


class Part(NamedTuple):
    """What a part of the run came to."""

    first: int
    kinds: Counter[str]
    has: Counter[str]
    failures: list[tuple[int, str]]


def run(stream: int, first: int, count: int) -> Part:
    """One part, in a process of its own."""
    part = Part(first, Counter(), Counter(), [])
    with oracle.one_thread():
        for number in range(first, first + count):
            plan = programs.plan(stream, number)
            part.kinds[plan.kind] += 1
            part.has.update(programs.write_file(plan).has)
            if (found := oracle.report(plan)) is not None:
                part.failures.append((number, found))
    return part


def soak(stream: int, first: int, count: int, processes: int, minutes: float) -> list[Part]:
    """All parts, or those from the first one on that were done in time.

    A program that kills its process ends the run, and the parts that are missing are named.
    """
    done: list[Part] = []
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        end = first + count
        waiting = {
            pool.submit(run, stream, at, min(PART, end - at)): at for at in range(first, end, PART)
        }
        try:
            for future in as_completed(waiting):
                part = future.result()
                done.append(part)
                for number, text in part.failures:
                    print(f"# stream {stream}, program {number}\n{text}", flush=True)
                if len(done) % 20 == 0:
                    print(f"{len(done)} of {len(waiting)} parts", file=sys.stderr, flush=True)
                if time.monotonic() - began > 60 * minutes:
                    pool.shutdown(wait=False, cancel_futures=True)
                    break
        except BrokenProcessPool:
            missing = sorted(set(waiting.values()) - {part.first for part in done})
            sys.exit(f"a process died; parts of {PART} that are missing: {missing}")
    done.sort(key=lambda part: part.first)
    return [part for at, part in enumerate(done) if part.first == first + at * PART]


def page(stream: int, first: int, parts: list[Part], seconds: float) -> str:
    """The result, as a page."""
    failures = [failure for part in parts for failure in part.failures]
    kinds = sum((part.kinds for part in parts), Counter[str]())
    has = sum((part.has for part in parts), Counter[str]())
    total = sum(kinds.values())
    conditions = (
        f"Python {platform.python_version()}, torch {torch.__version__}, {platform.system()}"
        f" {platform.machine()}"
    )
    lines = [
        "# Soak",
        "",
        "<!-- Written by `make soak`. -->",
        "",
        (
            "Random programs, of which PyTorch is the judge. `tests/oracle.py` says what has to"
            " agree: the leaves that a"
        ),
        (
            "loss reaches, the nodes that ran and the gradients on the way, every cut with its"
            " reason, every name, and"
        ),
        (
            "what is said of each live tensor. The tests have 3,000 programs, of which they run a"
            " sample; none is among these."
        ),
        "",
        (
            f"**{total:,} programs, {len(failures)} disagreements.** {conditions}; stream {stream},"
            f" programs {first:,} to {first + total - 1:,}; {seconds / 60:.0f} minutes."
        ),
        "",
        "| programs | number |",
        "| --- | ---: |",
        *(f"| {kind} | {number:,} |" for kind, number in kinds.most_common()),
        "",
        "| programs with | number |",
        "| --- | ---: |",
        *(f"| {what} | {number:,} |" for what, number in has.most_common()),
        "",
    ]
    for number, text in failures:
        lines += [f"Program {number}:", "", "```text", text.rstrip(), "```", ""]
    return "\n".join(lines)


def main() -> int:
    """The number of disagreements, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stream", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="begin nothing more after so many"
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    if asked.stream == oracle.TESTS:
        parser.error(f"stream {oracle.TESTS} is the tests' own; take another one")
    began = time.monotonic()
    parts = soak(asked.stream, asked.first, asked.count, asked.processes, asked.minutes)
    text = page(asked.stream, asked.first, parts, time.monotonic() - began)
    if asked.write:
        PAGE.write_text(text)
    print(text)
    return int(any(part.failures for part in parts))


if __name__ == "__main__":
    sys.exit(main())
