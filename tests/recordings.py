"""The lines of the README, recorded: what several files of tests look at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

import gradviz as gv

Copy = Callable[[torch.Tensor], torch.Tensor]


def course(
    copy: Copy = torch.clone,
    mode: Callable[[], AbstractContextManager[Any]] = nullcontext,
    requires_grad: bool = True,
) -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
        with mode():
            b = copy(a)
        c = a * 2
        d = b * 3
        loss = (c + d).sum()
        if loss.requires_grad:
            loss.backward()
    return rec
