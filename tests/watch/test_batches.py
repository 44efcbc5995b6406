"""A batch that torch's own loader makes of a dataset of tensors is one step; any other one is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

import gradviz as gv
from gradviz.watch import torch_private


def recorded(loader: Any) -> gv.Recording:
    with gv.record() as rec:
        for x, y in loader:
            x * 2 + y
    assert not rec.notes
    return rec


def calls(rec: gv.Recording) -> list[str]:
    return [c.function for c in rec.graph.calls if c.function in ("__getitem__", "stack")]


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("subset", [False, True])
def test_rows_are_one_step(subset: bool, grad: bool) -> None:
    xs, ys = torch.randn(6, 3), torch.randn(6, 3)
    whole: Dataset[Any] = TensorDataset(xs, ys)
    data = Subset(whole, [4, 0, 2, 1]) if subset else whole
    with torch.set_grad_enabled(grad):
        rec = recorded(DataLoader(data, batch_size=2))
    assert calls(rec) == ["stack"] * (4 if subset else 6)
    graph = rec.graph
    stacks = [c for c in graph.calls if c.function == "stack"]
    sources = [rec.find(t).id for t in (xs, ys)]
    assert [c.inputs for c in stacks] == [(s,) for s in sources] * (len(stacks) // 2)
    assert [graph.tensor[c.outputs[0]].shape for c in stacks] == [(2, 3)] * len(stacks)
    first = graph.tensor[stacks[1].outputs[0]]
    assert first.base_id is None  # a copy
    assert not graph.cuts


class Own(Dataset[Any]):
    def __init__(self, xs: Tensor, ys: Tensor) -> None:
        self.xs, self.ys = xs, ys

    def __len__(self) -> int:
        return len(self.xs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.xs[index], self.ys[index]


def own_collate(rows: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, ...]:
    return tuple(torch.stack(one) for one in zip(*rows, strict=True))


class Scaled(Dataset[Any]):
    """Takes rows of torch's dataset and changes them."""

    def __init__(self, rows: Dataset[Any]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        x, y = self.rows[index]
        return x * 2, y


class Shifted(TensorDataset):
    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        x, y = super().__getitem__(index)
        return x + 1, y


XS, YS = torch.randn(4, 3), torch.randn(4, 3)
TRACKED, VIEW = torch.randn(4, 3, requires_grad=True), torch.randn(8, 3)[:4]


@pytest.mark.parametrize(
    "loader",
    [
        lambda: DataLoader(Own(XS, YS), batch_size=2),
        lambda: DataLoader(Scaled(TensorDataset(XS, YS)), batch_size=2),
        lambda: DataLoader(Shifted(XS, YS), batch_size=2),
        lambda: DataLoader(TensorDataset(XS, YS), batch_size=2, collate_fn=own_collate),
        lambda: DataLoader(TensorDataset(TRACKED, TRACKED), batch_size=2),
        lambda: DataLoader(TensorDataset(VIEW, VIEW), batch_size=2),
        lambda: (own_collate([TensorDataset(XS, YS)[at]]) for at in range(4)),
    ],
    ids=["own dataset", "changed", "own kind", "own collate", "tracked", "view", "no loader"],
)
def test_other_rows_are_calls(loader: Callable[[], Any]) -> None:
    assert calls(recorded(loader())).count("__getitem__") == 8


@pytest.mark.parametrize("part", ["FETCHES_BATCH", "STACKS_BATCH"])
def test_where_torch_has_no_such_function_rows_are_calls(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are private parts of torch's, which a version may not have."""
    monkeypatch.setattr(torch_private, part, None)
    rec = recorded(DataLoader(TensorDataset(XS, YS), batch_size=2))
    assert calls(rec).count("__getitem__") == 8


def test_a_tracked_row_leads_its_gradient_back() -> None:
    with gv.record() as rec:
        for (x,) in DataLoader(TensorDataset(TRACKED), batch_size=2):
            x.sum().backward()
    assert torch.equal(TRACKED.grad, torch.ones(4, 3))
    assert not rec.graph.cuts


def test_a_row_that_is_missing_raises_as_ever() -> None:
    data = TensorDataset(XS)
    with gv.record() as rec, pytest.raises(IndexError) as error:
        next(iter(DataLoader(data, batch_size=1, sampler=[7])))
    raised = [e for e in rec.graph.events if type(e).__name__ == "Raised"]
    assert [rec.graph.calls[e.call_id].function for e in raised] == ["__getitem__"]
    own = Path(gv.__file__).parent
    assert all(own not in Path(t.path).parents for t in error.traceback)
