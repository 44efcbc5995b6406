"""What a scenario may change outside of itself, to be set back."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import torch

_PARTS: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
    (torch.get_rng_state, torch.set_rng_state),
    (random.getstate, random.setstate),
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.is_warn_always_enabled, torch.set_warn_always),
    (
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda state: torch.autograd.set_detect_anomaly(*state),
    ),
]


def ambient() -> Callable[[], None]:
    """Note what a scenario may change outside of itself: random states, grad mode, default dtype.

    Returns:
        A function that sets everything back to what it is now.

    Example:
        >>> restore = ambient()
        >>> torch.set_default_dtype(torch.float64)
        >>> restore()
        >>> torch.get_default_dtype()
        torch.float32
    """
    cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    numpy = sys.modules.get("numpy")
    more = [(torch.cuda.get_rng_state_all, torch.cuda.set_rng_state_all)] if cuda else []
    more += [(numpy.random.get_state, numpy.random.set_state)] if numpy else []
    parts = [(write, read()) for read, write in (*_PARTS, *more)]

    def restore() -> None:
        for write, value in parts:
            write(value)
        if not cuda and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            torch.cuda.manual_seed_all(torch.initial_seed())  # nobody could draw from it before

    return restore
