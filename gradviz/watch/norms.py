"""How large a gradient is. These operations make no node, and no mode of the user's sees them."""

from __future__ import annotations

import math
from typing import Any

import torch

from gradviz.watch import torch_private

_REAL = (torch.float32, torch.float64)
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}  # to add squares up in
# Numbers that Python adds up nearly as soon as torch does, and exactly, however small they are:
# where many small gradients are sent, in a loop, they vanish, and torch's squares do.
_FEW = 64
_SQUARES = (1e-14, 1e18)  # norms whose squares float32 holds


def norm(grad: torch.Tensor) -> float | None:
    """Return the 2-norm of a tensor on the CPU: nan or inf if and only if it holds such. None where
    reading is not safe.

    Example:
        >>> norm(torch.full((9,), 2.0)), norm(torch.zeros(9))
        (6.0, 0.0)
        >>> norm(torch.tensor([1.0, float("inf")]))
        inf
    """
    if torch_private.dispatch_modes() or not _is_plain(grad):
        return None
    if (few := _of_few(grad)) is not None:
        return few
    dense = grad if grad.dim() != 2 or grad.is_contiguous() else grad.t()
    if dense.dtype in _REAL and not dense.requires_grad and dense.is_contiguous():
        plain, times, flat = dense, 1.0, dense.view(-1)  # as nearly always
        found = math.sqrt(flat.dot(flat).item())  # the quickest way through memory
    else:
        plain, times = _plain(grad)
        found = float(torch.linalg.vector_norm(plain, dtype=_WIDER.get(plain.dtype)))
    if _SQUARES[0] < found < _SQUARES[1] or math.isnan(found):
        return found * times
    if plain.dtype is torch.float32:  # its squares float64 holds, all of them
        wide = plain.reshape(-1).to(torch.float64)
        return math.sqrt(torch.dot(wide, wide).item()) * times
    sizes = plain.abs().to(torch.float64)
    largest = float(sizes.max())
    if largest == 0 or not math.isfinite(largest):
        return largest
    return largest * times * float(torch.linalg.vector_norm(sizes / largest))


def _of_few(grad: torch.Tensor) -> float | None:
    """Return the norm of a few real numbers, if it is finite; None for other tensors."""
    if grad.numel() > _FEW or grad.dtype not in _REAL or grad.requires_grad:
        return None
    found = math.hypot(*grad.reshape(-1).tolist())
    return found if found < math.inf else None


def _is_plain(grad: torch.Tensor) -> bool:
    """Tell whether each element lies in memory once: a sparse tensor may hold several for one."""
    return type(grad) is torch.Tensor and not grad.is_nested and grad.layout is torch.strided


def factor_between(one: torch.Tensor, other: torch.Tensor) -> float | None:
    """Return the number that the first of two tensors is multiplied by to be the second, to the
    accuracy of its dtype; None where there is none, or it cannot be read.

    Example:
        >>> factor_between(torch.tensor([1.0, 2.0]), torch.tensor([-0.5, -1.0]))
        -0.5
        >>> factor_between(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0])) is None
        True
    """
    if torch_private.dispatch_modes() or not (_is_plain(one) and _is_plain(other)):
        return None
    if one.shape != other.shape or not (one.is_floating_point() and other.is_floating_point()):
        return None
    first, second = (t.detach().reshape(-1).to(torch.float64) for t in (one, other))
    square = torch.dot(first, first).item()
    if square == 0 or not math.isfinite(square):
        return None
    factor = torch.dot(first, second).item() / square
    apart = (second - factor * first).abs().max().item()
    exact = 4 * torch.finfo(other.dtype).eps * second.abs().max().item()
    return float(f"{factor:.6g}") if apart <= exact else None


def norm_there(grad: torch.Tensor) -> torch.Tensor | None:
    """Return the 2-norm of a tensor as a tensor on its own device; ``read_there`` reads it."""
    modes = torch_private.dispatch_modes() or (
        grad.is_cuda and torch.cuda.is_current_stream_capturing()
    )
    if modes or grad.is_meta or not _is_plain(grad):
        return None
    plain, times = _plain(grad)
    size: torch.Tensor = torch.linalg.vector_norm(plain.abs(), dtype=torch.float64)
    return size * times


def read_there(norms: list[Any]) -> None:
    """Exchange tensors for their numbers: each device is waited for once."""
    places: dict[torch.device, list[int]] = {}
    for at, value in enumerate(norms):
        if isinstance(value, torch.Tensor):
            places.setdefault(value.device, []).append(at)
    for device, found in places.items():
        if device.type == "cuda":
            torch.cuda.synchronize(device)  # nodes run on the streams of their forwards
        for at, number in zip(
            found, torch.stack([norms[at] for at in found]).tolist(), strict=True
        ):
            norms[at] = number


def _plain(grad: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Return the tensor without graph and without what expand() repeats, and what that multiplies
    its norm by. Raises for one that is not strided."""
    plain, times = grad.detach() if grad.requires_grad else grad, 1.0
    for dim in reversed(range(plain.dim())):
        if plain.stride(dim) == 0:
            times *= math.sqrt(plain.shape[dim])
            plain = plain.select(dim, 0)
    return plain, times
