"""3,000 random programs, of which PyTorch is the judge: the second half (see ``oracle.py``)."""

from __future__ import annotations

import oracle
import pytest
from sampling import sampled


@pytest.mark.parametrize(
    "first",
    sampled(range(1500, 3000, oracle.BLOCK), oracle.BLOCKS),
    ids=lambda n: f"programs-{n}-{n + oracle.BLOCK - 1}",
)
def test_all_ways_agree(first):
    oracle.check(first)
