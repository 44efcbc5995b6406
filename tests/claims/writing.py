"""Writes, versions and .data"""

from __future__ import annotations

import inspect

import torch

from claims import LEAF_WRITE, but, claim, grad, instead, leaf, now, refusal, same_memory


def overwritten(alias: object) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """a, its sigmoid, and an alias of the sigmoid through which zeros were written."""
    a = leaf()
    out = a.sigmoid()
    other = alias(out)
    other.zero_()
    return a, out, other


def data(tensor: torch.Tensor) -> torch.Tensor:
    """Its ``.data``, as a function."""
    return tensor.data


@claim(
    "C069",
    "`.data` and `detach()` give the same: the memory of the source, and nothing of its gradients.",
    source="001",
)
def c069() -> bool:
    a = leaf()
    pair = a.data, a.detach()
    return all(
        same_memory(a, b) and not b.requires_grad and b.grad_fn is None for b in pair
    ) and torch.equal(*pair)


@but("C069", "Not the same version counter. A write through `.data` is not counted at the source.")
def c069_but() -> bool:
    _, out, through_data = overwritten(data)
    _, out2, through_detach = overwritten(torch.Tensor.detach)
    return [t._version for t in (out, through_data, out2, through_detach)] == [0, 1, 1, 1]


@claim("C070", "The attribute is called `torch.tensor.data`.", source="001")
def c070() -> bool:
    return hasattr(torch.tensor, "data")


@instead("C070", "`torch.tensor` is a function and has none. Tensor objects have it: `x.data`.")
def c070_instead() -> bool:
    return (
        inspect.isbuiltin(torch.tensor)
        and hasattr(torch.Tensor, "data")
        and torch.ones(1).data.item() == 1.0
    )


@claim("C071", "Of `.data` and `detach()`, the safe one is `detach()`.", source="001")
def c071() -> bool:
    a = leaf()
    right = torch.autograd.grad(a.sigmoid().sum(), a)[0].tolist()
    silent, out, _ = overwritten(data)
    out.sum().backward()
    noticed = refusal(overwritten(torch.Tensor.detach)[1].sum().backward)
    return grad(silent) == [0.0] * 3 != right and "modified by an inplace operation" in noticed


@claim("C072", "With either of them one has the numbers without their gradient.", source="001")
def c072() -> bool:
    a = leaf()
    return all(torch.equal(b, a) and not (b * 3).requires_grad for b in (a.data, a.detach()))


@claim("C076", "The parameters that one trains are leaves, all of them.", source="001")
def c076() -> bool:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.LSTM(2, 2))
    return all(p.is_leaf and p.requires_grad for p in net.parameters())


@but(
    "C076",
    "What a module calls `weight` may be computed, as with `weight_norm`; so is `randn(…,"
    " requires_grad=True) * 0.01`.",
)
def c076_but() -> bool:
    normed = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 2))
    scaled = torch.randn(2, requires_grad=True) * 0.01
    return (
        not normed.weight.is_leaf
        and not scaled.is_leaf
        and all(p.is_leaf for p in normed.parameters())
    )


@claim("C077", "In place, nothing can be done to a leaf that requires grad.", source="001")
def c077() -> bool:
    weight = torch.nn.Linear(2, 2).weight
    view = refusal(lambda: weight[0].zero_())
    return refusal(weight.zero_) == LEAF_WRITE and view == "a view of " + LEAF_WRITE


@but("C077", "In grad mode, that is. Under `no_grad` it works, and so do optimizers and `nn.init`.")
def c077_but() -> bool:
    weight = torch.nn.Linear(2, 2).weight
    with torch.no_grad():
        weight.fill_(1.0).add_(1.0)
    written = weight.tolist() == [[2.0, 2.0]] * 2
    torch.nn.init.zeros_(weight)
    return (
        written and weight.count_nonzero().item() == 0 and weight.is_leaf and weight.requires_grad
    )


@claim(
    "C078", "To set first values, one goes through `.data`, as in `p.data.zero_()`.", source="001"
)
def c078() -> bool:
    weight = torch.nn.Linear(2, 2).weight
    weight.data.zero_()
    return weight.count_nonzero().item() == 0 and weight.is_leaf and weight.requires_grad


@now(
    "C078",
    "torch's own way is `nn.init`, which writes under `no_grad`. That counts as a write; through"
    " `.data` it does not.",
)
def c078_now() -> bool:
    by_init, by_data = torch.nn.Linear(2, 2).weight, torch.nn.Linear(2, 2).weight
    counts = by_init._version, by_data._version
    torch.nn.init.zeros_(by_init)
    by_data.data.zero_()
    source = inspect.getsource(torch.nn.init)
    own_way = "with torch.no_grad()" in source and ".data" not in source
    return (
        own_way
        and torch.equal(by_init, by_data)
        and (by_init._version > counts[0], by_data._version) == (True, counts[1])
    )


@claim(
    "C079",
    "`.data` has the memory of the parameter, so a write there is a write into the parameter.",
    source="001",
)
def c079() -> bool:
    weight = torch.nn.Linear(2, 2).weight
    weight.data.fill_(7.0)
    return same_memory(weight, weight.data) and weight.tolist() == [[7.0, 7.0]] * 2
