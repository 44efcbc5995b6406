"""Independent copies"""

from __future__ import annotations

import torch

from claims import (
    COPY_HINT,
    but,
    claim,
    instead,
    leaf,
    node,
    not_testable,
    now,
    on_cuda,
    one,
    refusal,
    same_memory,
    warning,
)

BOTH = {
    "detach().clone()": lambda a: a.detach().clone(),
    "clone().detach()": lambda a: a.clone().detach(),
}
FIVE = {
    **BOTH,
    "new_tensor": lambda a: a.new_tensor(a),
    "torch.tensor": torch.tensor,
    "empty_like().copy_()": lambda a: torch.empty_like(a).copy_(a),
}


def unrelated(make: object) -> bool:
    """Whether writes stay on their side, and no gradient gets from the copy to the source."""
    a = leaf()
    b = make(a)
    b[0] = 99.0
    with torch.no_grad():
        a[1] = 77.0
    apart = a.tolist() == [1.0, 77.0, 3.0] and b.tolist() == [99.0, 2.0, 3.0]
    return apart and b.is_leaf and not b.requires_grad and b.grad_fn is None


@claim(
    "C019",
    "A copy with no relation to its source takes both `detach()` and `clone()`.",
    source="000",
)
def c019() -> bool:
    alone = [unrelated(make) for make in (lambda a: a.detach(), lambda a: a.clone())]
    return unrelated(BOTH["detach().clone()"]) and alone == [False, False]


@claim(
    "C074",
    "`clone()` then `detach()`, or the other way round: each time the copy is on its own.",
    source="001",
)
def c074() -> bool:
    return all(unrelated(make) for make in BOTH.values())


@claim("C075", "One can copy in five ways and choose the fastest.", source="001")
def c075() -> bool:
    a = leaf()
    copies = [warning(lambda make=make: make(a))[0] for make in FIVE.values()]
    return len(copies) == 5 and all(torch.equal(a, b) and not same_memory(a, b) for b in copies)


@but(
    "C075",
    "They are not equal in what they do: `empty_like().copy_()` stays tied to the source,"
    " `new_tensor` and `torch.tensor` warn.",
)
def c075_but() -> bool:
    a, tied, warns = leaf(), [], []
    for name, make in FIVE.items():
        b, said = warning(lambda make=make: make(a))
        tied += [name] * b.requires_grad
        warns += [name] * (COPY_HINT in said)
    return tied == ["empty_like().copy_()"] and warns == ["new_tensor", "torch.tensor"]


@claim(
    "C106", "`clone().detach()` may stand for `detach().clone()`, and the reverse.", source="002"
)
def c106() -> bool:
    first, second = (make(leaf()) for make in BOTH.values())
    alike = (first.is_leaf, first.requires_grad) == (second.is_leaf, second.requires_grad)
    return torch.equal(first, second) and alike


@claim(
    "C107",
    "Of a tensor and its `clone().detach()`, an edit of one shows in the other.",
    source="002",
)
def c107() -> bool:
    a = leaf()
    a.clone().detach()[0] = 99.0
    return a[0].item() == 99.0


@instead("C107", "No edit shows. It does with `detach()` alone.")
def c107_instead() -> bool:
    a = leaf()
    a.clone().detach()[0] = 99.0
    before = a[0].item()
    a.detach()[0] = 99.0
    return before == 1.0 and a[0].item() == 99.0


@claim("C122", "The function to copy with is `torch.clone.detach`.", source="003")
def c122() -> bool:
    return hasattr(torch.clone, "detach")


@instead("C122", "There is no such name. Call one after the other: `torch.clone(x).detach()`.")
def c122_instead() -> bool:
    missing = "has no attribute 'detach'" in refusal(lambda: torch.clone.detach())
    return missing and unrelated(lambda a: torch.clone(a).detach())


@claim(
    "C123",
    "`clone().detach()` only copies numbers: neither memory nor gradient is common afterwards.",
    source="003",
)
def c123() -> bool:
    a = leaf()
    b = a.clone().detach()
    return not same_memory(a, b) and not b.requires_grad and unrelated(BOTH["clone().detach()"])


@claim(
    "C124",
    "Either order gives the same, and `clone().detach()` is the usual way to write it.",
    source="003",
)
def c124() -> bool:
    return torch.equal(*(make(leaf()) for make in BOTH.values()))


@now("C124", "The values are the same, but torch's own warning recommends `detach().clone()`.")
def c124_now() -> bool:
    said = warning(lambda: torch.tensor(leaf()))[1]
    return "sourceTensor.detach().clone()" in said and "clone().detach()" not in said


@claim(
    "C125",
    "`new_tensor` copies, and lets one choose more about the copy, such as its dtype.",
    source="003",
)
def c125() -> bool:
    a = one()
    b = warning(lambda: a.new_tensor(a, dtype=torch.float64, requires_grad=True))[0]
    return b.dtype == torch.float64 and b.is_leaf and b.requires_grad and not same_memory(a, b)


@but("C125", "Given a tensor, it warns each time, and names `detach().clone()` as the better way.")
def c125_but() -> bool:
    a = one()
    return all(COPY_HINT in warning(lambda: a.new_tensor(a))[1] for _ in range(2))


@claim("C126", "The clone in the list of copies is printed with `<CloneBackward>`.", source="003")
def c126() -> bool:
    return "<CloneBackward>" in str(one().clone())


@now("C126", "Today it is `tensor(1., grad_fn=<CloneBackward0>)`.")
def c126_now() -> bool:
    return str(one().clone()) == "tensor(1., grad_fn=<CloneBackward0>)"


@claim(
    "C127",
    "`detach()`, `clone().detach()` and `new_tensor` print no sign of gradients; with"
    " `dtype=torch.float64` the print says so.",
    source="003",
)
def c127() -> bool:
    a = one()
    new = warning(lambda: a.new_tensor(a))[0]
    double = warning(lambda: a.new_tensor(a, dtype=torch.float64, requires_grad=False))[0]
    plain = [str(t) for t in (a.detach(), a.clone().detach(), new)]
    return plain == ["tensor(1.)"] * 3 and str(double) == "tensor(1., dtype=torch.float64)"


@claim(
    "C128",
    "Without further arguments, `a.new_tensor(a)` is what `a.clone().detach()` is.",
    source="003",
)
def c128() -> bool:
    a = one()
    pair = warning(lambda: a.new_tensor(a))[0], a.clone().detach()
    alike = {
        (t.dtype, t.device, t.is_leaf, t.requires_grad, same_memory(a, t), t.item()) for t in pair
    }
    return len(alike) == 1


def copies_keep_the_device(where: str) -> bool:
    """All ways to copy, on one device; and a copy that is sent to another one."""
    a = torch.ones(1, device=where, requires_grad=True)
    same = [
        a.clone(),
        a.detach(),
        a.clone().detach(),
        warning(lambda: a.new_tensor(torch.ones(1)))[0],
    ]
    there = all(t.device.type == where for t in same)
    return (
        there
        and a.new_tensor([1.0], device="cpu").device.type == "cpu"
        and node(same[0]) == "CloneBackward0"
    )


@not_testable(
    "C129",
    "With `device=\"cuda\"`, the copies are printed with `device='cuda:0'`.",
    source="003",
    stand_in=(
        "It takes a GPU, and the tests try it where CUDA is present. What every machine can try: "
        "the copies stay on the device of their source, here CPU and meta."
    ),
)
def c129() -> bool:
    return copies_keep_the_device("cpu") and copies_keep_the_device("meta")


@on_cuda("C129")
def c129_on_cuda() -> bool:
    a = torch.tensor(1.0, device="cuda", requires_grad=True)
    prints = [
        str(a),
        str(a.clone()),
        str(a.detach()),
        str(a.clone().detach()),
        str(warning(lambda: a.new_tensor(a))[0]),
    ]
    away = warning(lambda: a.new_tensor(a, device="cpu", dtype=torch.float64, requires_grad=False))[
        0
    ]
    return (
        all("device='cuda:0'" in p for p in prints)
        and str(away) == "tensor(1., dtype=torch.float64)"
    )
