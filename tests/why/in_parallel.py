"""Programs in DistributedDataParallel, run in a group of this one process."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import distributed

import gradviz as gv


@contextmanager
def group_of_one() -> Iterator[None]:
    """Hold a group of this one process."""
    store = distributed.HashStore()
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def ran_in_parallel(text: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return the recording of a program, what it raised, and its variables."""
    file = "<in parallel>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    torch.manual_seed(0)
    error: Exception | None = None
    names: dict[str, Any] = {"__name__": "__main__"}
    with gv.record() as recording:
        try:
            exec(compile(text, file, "exec"), names)
        except RuntimeError as raised:
            error = raised
    return recording, error, names
