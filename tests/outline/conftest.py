"""What the tests of outlines share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

# the scripts of models are read and run as text, never imported by pytest
collect_ignore_glob = ["conftest.py", "models/*.py", "programs/*.py", "blind_models/*.py"]


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Compute in one thread: for tensors this small, threads on a busy machine only wait for each
    other, up to a hundred times as long as the work takes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
