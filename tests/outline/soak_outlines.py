"""Outlines of many random trees of modules, of which PyTorch is the judge.

    python tests/outline/soak_outlines.py --first 1000 --count 500

draws the trees of these seeds and prints what is wrong with any (``outline_oracle.report``), then
how many fit a page. The tests take theirs from the seeds below 1,000.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import torch
from outline_oracle import report, sizes
from random_modules import make


def one(seed: int) -> tuple[int, list[str], Counter[str]]:
    """Return what is wrong with the outline of a seed, and what it counts for."""
    torch.set_num_threads(1)
    try:
        return seed, report(make(seed)), sizes(make(seed))
    except Exception:
        return seed, [traceback.format_exc(limit=-3)], Counter()


def main() -> int:
    """Return 1 if anything is wrong with any outline."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    wrong, total = 0, Counter[str]()
    with ProcessPoolExecutor(asked.processes) as pool:
        seeds = range(asked.first, asked.first + asked.count)
        for seed, sentences, counts in pool.map(one, seeds, chunksize=5):
            total += counts
            wrong += bool(sentences)
            for sentence in sentences:
                print(f"seed {seed}: {sentence}", flush=True)
    print(f"{asked.count} trees, {wrong} with something wrong; {dict(total)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
