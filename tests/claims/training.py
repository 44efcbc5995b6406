"""Training: clearing, freezing, two networks"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from claims import SCALAR_ONLY, but, claim, grad, instead, one, refusal, same_memory

TABLE = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
Optimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


def student_and_teacher() -> tuple[nn.Linear, nn.Linear]:
    """Two networks of one shape that begin with different weights."""
    return nn.Linear(2, 1), nn.Linear(2, 1)


def equal(one_net: nn.Module, other: nn.Module) -> bool:
    """Whether two networks hold the same weights, each in memory of its own."""
    pairs = list(zip(one_net.parameters(), other.parameters(), strict=True))
    return all(torch.equal(p, q) and not same_memory(p, q) for p, q in pairs)


@claim(
    "C080",
    "MoCo's second network has to begin as a copy of the first"
    " (`param_k.data.copy_(param_q.data)`).",
    source="001",
)
def c080() -> bool:
    q, k = student_and_teacher()
    x = torch.ones(1, 2)
    different = not torch.equal(q(x), k(x))
    for param_q, param_k in zip(q.parameters(), k.parameters(), strict=True):
        param_k.data.copy_(param_q.data)
        param_k.requires_grad = False
    return (
        different
        and equal(q, k)
        and torch.equal(q(x), k(x))
        and not any(p.requires_grad for p in k.parameters())
    )


@claim(
    "C081",
    "As `copy_()` works in place, no way leads into a parameter but `A.data.copy_(B.data)`.",
    source="001",
)
def c081() -> bool:
    q, k = student_and_teacher()
    with torch.no_grad():
        return refusal(lambda: k.weight.copy_(q.weight)) != "" or not torch.equal(
            k.weight, q.weight
        )


@instead(
    "C081",
    "`copy_()` under `no_grad` does it, and so does `load_state_dict()`; the parameter stays a"
    " leaf.",
)
def c081_instead() -> bool:
    q, k = student_and_teacher()
    with torch.no_grad():
        k.weight.copy_(q.weight)
        k.bias.copy_(q.bias)
    copied = equal(q, k) and k.weight.is_leaf and k.weight.requires_grad
    _, loaded = student_and_teacher()
    loaded.load_state_dict(q.state_dict())
    return copied and equal(q, loaded) and loaded.weight.is_leaf


@claim(
    "C082",
    "A network that only follows another by a moving average needs no gradient and gets none.",
    source="001",
)
def c082() -> bool:
    q, k = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    k.requires_grad_(False)
    nn.init.ones_(q.weight)
    nn.init.zeros_(k.weight)
    for _ in range(3):
        with torch.no_grad():
            k.weight.mul_(0.9).add_(q.weight, alpha=0.1)
    (q(torch.ones(1, 1)) * k(torch.ones(1, 1))).sum().backward()
    followed = abs(k.weight.item() - 0.271) < 1e-6 and grad(q.weight) is not None
    return followed and (k.weight.requires_grad, k.weight.grad, k.weight.grad_fn) == (
        False,
        None,
        None,
    )


def network() -> tuple[nn.Sequential, torch.optim.Optimizer]:
    """Two layers, and an optimizer with momentum and weight decay for both."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)


def moves(net: nn.Sequential, step: Callable[[], object]) -> bool:
    """Whether the weights of the first layer change."""
    before = net[0].weight.detach().clone()
    step()
    return not torch.equal(before, net[0].weight)


@claim(
    "C088", "`requires_grad_(False)` on parameters is all it takes to freeze them.", source="002"
)
def c088() -> bool:
    net, opt = network()
    net[0].requires_grad_(False)
    net(torch.ones(1, 2)).sum().backward()
    return not moves(net, opt.step) and grad(net[0].weight) is None


@but(
    "C088",
    "An old gradient must not be left: the optimizer still steps along it. And BatchNorm's running"
    " statistics move anyway.",
)
def c088_but() -> bool:
    net, opt = network()
    net(torch.ones(1, 2)).sum().backward()
    net[0].requires_grad_(False)
    norm = nn.BatchNorm1d(2).requires_grad_(False)
    mean = norm.running_mean.clone()
    norm(torch.randn(8, 2) + 5)
    return moves(net, opt.step) and not torch.equal(mean, norm.running_mean)


@claim("C099", "`X.requires_grad_(False)` empties `X.grad`.", source="002")
def c099() -> bool:
    x = TABLE.clone().requires_grad_()
    (x * x).sum().backward()
    x.requires_grad_(False)
    return x.grad is None


@instead("C099", "`.grad` stays as it is. It is None only on a tensor that never had a gradient.")
def c099_instead() -> bool:
    x = TABLE.clone().requires_grad_()
    (x * x).sum().backward()
    x.requires_grad_(False)
    return grad(x) == (2 * TABLE).tolist() and torch.ones(2).requires_grad_(False).grad is None


@claim(
    "C100",
    "The X that shows None in the transcript is the X that had a gradient before.",
    source="002",
)
def c100() -> bool:
    x = TABLE.clone().requires_grad_()
    (x * x).sum().backward()
    x.grad.zero_()
    x.requires_grad_(False)
    printed_later = [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    return x.tolist() == printed_later and x.grad is None


@instead(
    "C100",
    "Its printed values changed from one cell to the next, which the flag does not do. So it is"
    " another, new X.",
)
def c100_instead() -> bool:
    x = TABLE.clone().requires_grad_()
    values = x.tolist()
    x.requires_grad_(False)
    new = torch.tensor([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]).requires_grad_(False)
    return x.tolist() == values != new.tolist() and new.grad is None


@claim("C101", "A gradient of zeros and no gradient (None) are two different things.", source="002")
def c101() -> bool:
    def moved_by(clear: Callable[[torch.Tensor], object]) -> float:
        w = one()
        opt = torch.optim.SGD([w], lr=0.1, weight_decay=0.5)
        (w * 2).backward()
        clear(w)
        before = w.item()
        opt.step()
        return abs(before - w.item())

    zeros, none = moved_by(lambda w: w.grad.zero_()), moved_by(lambda w: setattr(w, "grad", None))
    return zeros > 0 == none  # weight decay sees the one and skips the other


def steps(make: Optimizer, to_none: bool, cut: Callable[[int], bool]) -> list[float]:
    """How far A's weight moves in each of four steps; where ``cut``, A's output is detached."""
    a, b = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.ones_(a.weight)
    nn.init.ones_(b.weight)
    opt, moved = make([*a.parameters(), *b.parameters()]), []
    for step in range(4):
        opt.zero_grad(set_to_none=to_none)
        h = a(torch.ones(1, 1))
        ((b(h.detach() if cut(step) else h) - 3) ** 2).sum().backward()
        before = a.weight.item()
        opt.step()
        moved.append(abs(a.weight.item() - before))
    return moved


OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.05),
}


def odd(step: int) -> bool:
    """Cut every second step."""
    return step % 2 == 1


@claim(
    "C109",
    "A model's weights go on moving when `detach()` is used in some steps and not in others.",
    source="002",
)
def c109() -> bool:
    return all(
        sum(steps(make, none, odd)) > 0 for make in OPTIMIZERS.values() for none in (True, False)
    )


@but(
    "C109",
    "In the steps with the cut they rest, if the old gradient is None. Zeros let momentum and Adam"
    " go on.",
)
def c109_but() -> bool:
    def rests(name: str, to_none: bool) -> bool:
        return steps(OPTIMIZERS[name], to_none, odd)[1::2] == [0.0, 0.0]

    none = [rests(name, True) for name in OPTIMIZERS]
    zeros = [rests(name, False) for name in OPTIMIZERS]
    return none == [True, True, True] and zeros == [True, False, False]


def reached(loss: Callable[[nn.Module, nn.Module, torch.Tensor], torch.Tensor]) -> list[bool]:
    """Whether gradients arrive in A, and in B."""
    a, b = nn.Linear(2, 3), nn.Linear(3, 1)
    loss(a, b, torch.ones(1, 2)).backward()
    return [all(p.grad is not None for p in net.parameters()) for net in (a, b)]


@claim("C139", "`B(A(x).detach())` lets B learn without a change to A.", source="004")
def c139() -> bool:
    joined = reached(lambda a, b, x: b(a(x)).sum())
    return joined == [True, True] and reached(lambda a, b, x: b(a(x).detach()).sum()) == [
        False,
        True,
    ]


@claim("C140", "One calls `backward()` on what B returns.", source="004")
def c140() -> bool:
    return reached(lambda a, b, x: b(a(x).detach())) == [False, True]


@but("C140", "That takes a B with one number as its output. More of them need a loss first.")
def c140_but() -> bool:
    a, wide = nn.Linear(2, 3), nn.Linear(3, 2)
    z = wide(a(torch.ones(1, 2)).detach())
    return refusal(z.backward) == SCALAR_ONLY and refusal(z.sum().backward) == ""
