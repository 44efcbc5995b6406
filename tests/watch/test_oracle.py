"""3,000 random programs, of which PyTorch is the judge: the first half (see ``oracle.py``).

Each half is a module of its own, so that two workers share them. Of each a sample is run, or the
whole: see ``sampling.py``. ``make soak`` runs others too, and more of them.
"""

from __future__ import annotations

import oracle
import pytest
from sampling import sampled


@pytest.mark.parametrize(
    "first",
    sampled(range(0, 1500, oracle.BLOCK), oracle.BLOCKS),
    ids=lambda n: f"programs-{n}-{n + oracle.BLOCK - 1}",
)
def test_all_ways_agree(first):
    oracle.check(first)
