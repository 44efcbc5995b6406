"""detach()"""

from __future__ import annotations

import gc

import torch

from claims import (
    NO_HISTORY,
    NON_LEAF,
    but,
    claim,
    grad,
    instead,
    leaf,
    node,
    not_testable,
    on_cuda,
    one,
    refusal,
    same_memory,
    warning,
)


@claim(
    "C001",
    "`detach()` gives a second tensor object: outside of the graph, on the memory of the first.",
    source="000",
)
def c001() -> bool:
    h = leaf() * 1
    b = h.detach()
    return b is not h and b.grad_fn is None and same_memory(h, b)


@claim("C002", "No value changes under `detach()`.", source="000")
def c002() -> bool:
    a = leaf()
    return torch.equal(a.detach(), torch.tensor([1.0, 2.0, 3.0])) and torch.equal(a.detach(), a)


@claim(
    "C003",
    "What `detach()` clones needs no memory, since both tensors use one storage.",
    source="000",
)
def c003() -> bool:
    a = torch.zeros(1000, requires_grad=True)
    return a.detach().untyped_storage().data_ptr() == a.untyped_storage().data_ptr()


@but(
    "C003",
    "Nothing is cloned: a clone has memory of its own. And the detached tensor keeps the whole"
    " storage alive.",
)
def c003_but() -> bool:
    a = torch.arange(1000.0, requires_grad=True)
    last, cloned = a.detach()[-1:], not same_memory(a, a.clone())
    del a
    gc.collect()
    return cloned and last.untyped_storage().nbytes() == 4000 and last.item() == 999.0


@claim(
    "C004",
    "Without a `clone()` between them, a change of one tensor is a change of the other.",
    source="000",
)
def c004() -> bool:
    a = leaf()
    b, c = a.detach(), a.detach().clone()
    b[0] = 10.0
    with torch.no_grad():
        a[1] = 20.0
    return a.tolist() == b.tolist() == [10.0, 20.0, 3.0] and c.tolist() == [1.0, 2.0, 3.0]


@but(
    "C004",
    "In grad mode, a leaf that requires grad refuses the write. And `a = a + 1` is no change: the"
    " name moves.",
)
def c004_but() -> bool:
    a = leaf()
    b = a.detach()

    def write() -> None:
        a[1] = 20.0

    refused = (
        "a leaf Variable that requires grad is being used in an in-place operation."
        in refusal(write)
    )
    a = a + 1
    return refused and b.tolist() == [1.0, 2.0, 3.0]


@claim("C005", "When a detached tensor is printed, its elements read 1.0, 2.0, 3.0.", source="000")
def c005() -> bool:
    return "1.0, 2.0, 3.0" in str(leaf().detach())


@instead("C005", "torch prints no zero after the point: `tensor([1., 2., 3.])`.")
def c005_instead() -> bool:
    return str(leaf().detach()) == "tensor([1., 2., 3.])"


@claim("C006", "The shape stays, here `torch.Size([3])`.", source="000")
def c006() -> bool:
    return leaf().detach().shape == leaf().shape == torch.Size([3])


@claim("C007", "The dtype stays, for numbers with and without a point.", source="000")
def c007() -> bool:
    return all(
        torch.ones(3, dtype=d).detach().dtype == d
        for d in (torch.float32, torch.float64, torch.int64)
    )


@claim("C008", "The result is on the device of its source.", source="000")
def c008() -> bool:
    return all(
        torch.ones(3, device=where).detach().device.type == where for where in ("cpu", "meta")
    )


@on_cuda("C008")
def c008_on_cuda() -> bool:
    a = torch.ones(3, device="cuda", requires_grad=True)
    return a.detach().device == a.device and same_memory(a, a.detach())


@claim("C009", "The result does not require grad.", source="000")
def c009() -> bool:
    return leaf().requires_grad and not leaf().detach().requires_grad


@claim("C010", "On the source, `requires_grad` stays as it was.", source="000")
def c010() -> bool:
    tracked, plain = leaf(), torch.ones(1)
    tracked.detach()
    plain.detach()
    return tracked.requires_grad and not plain.requires_grad


@claim(
    "C011",
    "A 10 that is written into the first place of the result is in the source, which still requires"
    " grad.",
    source="000",
)
def c011() -> bool:
    a = leaf()
    a.detach()[0] = 10.0
    return str(a) == "tensor([10.,  2.,  3.], requires_grad=True)"


@claim("C012", "The result knows nothing of how its values were computed.", source="000")
def c012() -> bool:
    h = leaf() * 2
    return (
        node(h) == "MulBackward0"
        and h.detach().grad_fn is None
        and (h.detach() * 2).grad_fn is None
    )


@claim(
    "C013", "The result is a leaf of its own that the graph has nothing to do with.", source="000"
)
def c013() -> bool:
    out = leaf().sigmoid()
    b = out.detach()
    return b.is_leaf and b.grad_fn is None and not b.requires_grad


@but(
    "C013",
    "It shares memory and version counter with a tensor of the graph: a write into it can break a"
    " backward.",
)
def c013_but() -> bool:
    out = leaf().sigmoid()
    b = out.detach()
    b.zero_()
    return out._version == b._version == 1 and "modified by an inplace operation" in refusal(
        out.sum().backward
    )


@claim("C014", "A product of the result does not require grad.", source="000")
def c014() -> bool:
    a = leaf()
    return (a * 2).requires_grad and not (a.detach() * 2).requires_grad


@claim(
    "C015",
    "After a backward from the source's sum, the source holds ones in `.grad`, and the result"
    " None.",
    source="000",
)
def c015() -> bool:
    a = leaf()
    b = a.detach()
    a.sum().backward()
    return grad(a) == [1.0, 1.0, 1.0] and grad(b) is None


@claim(
    "C016",
    "A gradient that the source has already is not handed over: the result begins with None.",
    source="000",
)
def c016() -> bool:
    a = leaf()
    a.sum().backward()
    return grad(a) is not None and grad(a.detach()) is None


@claim("C017", "The source's gradient can never be read from the result.", source="000")
def c017() -> bool:
    a = leaf()
    b = a.detach()
    a.sum().backward()
    first = grad(b)
    b.requires_grad_()
    (b * 4).sum().backward()
    return first is None and grad(b) == [4.0] * 3 and grad(a) == [1.0] * 3


@claim("C018", "What was detached is excluded from backward, and shows no gradient.", source="000")
def c018() -> bool:
    a = leaf()
    b = a.detach()
    (a * 2 + b * 3).sum().backward()
    return grad(a) == [2.0] * 3 and grad(b) is None


@but("C018", "It comes back with `requires_grad_()`, and then collects gradients of its own.")
def c018_but() -> bool:
    b = leaf().detach().requires_grad_()
    (b * 4).sum().backward()
    return grad(b) == [4.0] * 3


@claim(
    "C020",
    "`detach()` takes away all that belongs to gradients, and leaves common values.",
    source="000",
)
def c020() -> bool:
    h = leaf() * 1
    h.retain_grad()
    h.sum().backward()
    b = h.detach()
    return (b.requires_grad, b.grad_fn, b.grad) == (False, None, None) and same_memory(b, h)


@but(
    "C020",
    "Nothing of it is gone for good: flag and `.grad` can come back, and a `grad_fn` for what"
    " follows.",
)
def c020_but() -> bool:
    b = leaf().detach().requires_grad_()
    c = b * 3
    c.sum().backward()
    return b.requires_grad and node(c) == "MulBackward0" and grad(b) == [3.0] * 3


@claim("C063", "`detach()` keeps the memory and drops both flag and graph.", source="001")
def c063() -> bool:
    a = leaf()
    b = a.detach()
    return same_memory(a, b) and not b.requires_grad and b.grad_fn is None


@claim(
    "C064",
    "The loss that goes through the source itself can go backward: `a.grad` is 2s.",
    source="001",
)
def c064() -> bool:
    a = leaf()
    a.detach()
    (a * 2).sum().backward()
    return grad(a) == [2.0, 2.0, 2.0]


@claim(
    "C065",
    "The loss that goes only through the result leads to an error, because there is no history.",
    source="001",
)
def c065() -> bool:
    b = leaf().detach()
    return refusal((b * 3).sum().backward) == NO_HISTORY


@but(
    "C065",
    "The note has this beside its print. It is `backward()` that raises; to print `b.grad` is no"
    " error.",
)
def c065_but() -> bool:
    b = leaf().detach()
    refusal((b * 3).sum().backward)
    return str(b.grad) == "None" and refusal(lambda: str(b.grad)) == ""


@claim(
    "C066",
    "In the picture of the graph the result stands apart, and so does all that is computed"
    " from it.",
    source="001",
)
def c066() -> bool:
    a = leaf()
    loss = (a * 2).sum() + (a.detach() * 3).sum()
    side = [n for n, _ in loss.grad_fn.next_functions]
    return side[0] is not None and side[1] is None


@claim(
    "C067",
    "After `requires_grad_()` the result is tracked again, and gradients end there.",
    source="001",
)
def c067() -> bool:
    a = leaf()
    b = a.detach().requires_grad_()
    (a * 2 + b * 3).sum().backward()
    return b.is_leaf and grad(b) == [3.0] * 3 and grad(a) == [2.0] * 3


@claim("C068", "With one memory, source and result are equal at all times.", source="001")
def c068() -> bool:
    a = leaf()
    b = a.detach()
    b.mul_(5)
    with torch.no_grad():
        a[0] = 9.0
    return a.tolist() == b.tolist() == [9.0, 10.0, 15.0]


@but(
    "C068",
    "So an optimizer that was given only the result moves both, until `b.data = …` gives it other"
    " memory.",
)
def c068_but() -> bool:
    a = leaf()
    b = a.detach().requires_grad_()
    (b * 3).sum().backward()
    torch.optim.SGD([b], lr=1.0).step()
    moved = a.tolist() == [-2.0, -1.0, 0.0]
    b.data = torch.zeros(3)
    return moved and not torch.equal(a, b) and not same_memory(a, b)


@claim(
    "C105",
    "`detach()`: not the same object, the same address, and `requires_grad` is False.",
    source="002",
)
def c105() -> bool:
    a = leaf()
    b = a.detach()
    return b is not a and b.data_ptr() == a.data_ptr() and not b.requires_grad


@not_testable(
    "C108",
    "(The note only links to a page about `detach_()` and states nothing.)",
    source="002",
    stand_in=(
        "`detach_()` cuts the tensor itself and refuses views; what was built before still sends "
        "gradients back."
    ),
)
def c108() -> bool:
    x = torch.ones(2, requires_grad=True)
    h = x * 2
    z = h * 3
    itself = h.detach_() is h and h.is_leaf and h.grad_fn is None
    z.sum().backward()
    view = (torch.ones(3, requires_grad=True) * 1)[:2]
    return (
        itself and grad(x) == [6.0, 6.0] and "Can't detach views in-place" in refusal(view.detach_)
    )


@claim(
    "C116",
    "`detach()`: shape, dtype and device as before, shared memory, no path back for gradients.",
    source="003",
)
def c116() -> bool:
    a = one()
    d = a.detach()
    alike = (d.shape, d.dtype, d.device) == (a.shape, a.dtype, a.device)
    return alike and same_memory(a, d) and refusal(d.backward) == NO_HISTORY


@claim(
    "C117", "At first a detached tensor has neither `requires_grad` nor a `.grad`.", source="003"
)
def c117() -> bool:
    d = one().detach()
    return d.requires_grad is False and d.grad is None


@claim(
    "C118",
    "Made to require grad, a detached tensor gets 3 from its own path, and its source 2 from the"
    " other.",
    source="003",
)
def c118() -> bool:
    a = one()
    y, d = a**2, a.detach()
    d.requires_grad_()
    y.backward()
    (d * 3).backward()
    return grad(d) == 3.0 and grad(a) == 2.0


@claim(
    "C119",
    "The flag does not join a detached tensor to its source again: none of its gradients reach"
    " `a.grad`.",
    source="003",
)
def c119() -> bool:
    a = one()
    d = a.detach().requires_grad_()
    (d * 3).backward()
    return grad(d) == 3.0 and grad(a) is None


@claim("C120", "`add_(1)` on a detached 1 makes its source 2, too.", source="003")
def c120() -> bool:
    a = one()
    a.detach().add_(1.0)
    return str(a) == "tensor(2., requires_grad=True)"


@claim(
    "C121",
    '`backward()` on a detached tensor ends in "element 0 of tensors does not require grad and '
    'does not have a grad_fn".',
    source="003",
)
def c121() -> bool:
    d = one().detach()
    d.add_(1.0)
    return refusal(d.backward) == NO_HISTORY


@claim(
    "C134",
    "`detach()` gives a new tensor at the old address, and `requires_grad` is what differs.",
    source="004",
)
def c134() -> bool:
    h = leaf() * 1
    b = h.detach()
    return (
        b is not h
        and b.data_ptr() == h.data_ptr()
        and (h.requires_grad, b.requires_grad) == (True, False)
    )


@but("C134", "More can differ: `is_leaf`, `grad_fn` and `.grad`.")
def c134_but() -> bool:
    h = leaf() * 1
    h.retain_grad()
    h.sum().backward()
    b = h.detach()
    return all(getattr(h, what) is not getattr(b, what) for what in ("is_leaf", "grad_fn", "grad"))


@claim("C135", "A tensor that `detach()` returned never has a gradient.", source="004")
def c135() -> bool:
    b = leaf().detach()
    b.requires_grad_()
    (b * 4).sum().backward()
    return grad(b) is None


@instead("C135", "It has none until it requires grad; then it gets its own like any leaf.")
def c135_instead() -> bool:
    b = leaf().detach()
    without = grad(b)
    b.requires_grad_()
    (b * 4).sum().backward()
    return without is None and grad(b) == [4.0] * 3


@claim(
    "C136",
    "It does not help to set its `requires_grad` to True: `.grad` remains empty.",
    source="004",
)
def c136() -> bool:
    d = one().detach()
    d.requires_grad = True
    (d * 3).backward()
    return grad(d) is None


@instead(
    "C136",
    "It helps: a backward from `d * 3` puts a 3 there. What gets nothing of it is the source.",
)
def c136_instead() -> bool:
    a = one()
    d = a.detach()
    d.requires_grad = True
    (d * 3).backward()
    return grad(d) == 3.0 and grad(a) is None


@claim("C137", "Where `detach()` was called, a backward comes to its end.", source="004")
def c137() -> bool:
    x = one(2.0)
    y = x * x
    y.retain_grad()
    (y.detach() * x).backward()
    return grad(y) is None and grad(x) == 4.0


@but(
    "C137",
    "It ends on that path alone. A second path through the same tensor stays open: x gets 8,"
    " not 4.",
)
def c137_but() -> bool:
    x = one(2.0)
    y = x * x
    (y.detach() * x + y).backward()
    return grad(x) == 8.0


@claim("C138", "Because the memory is common, an edit of one is seen in the other.", source="004")
def c138() -> bool:
    a = leaf()
    b = a.detach()
    b[0] = 10.0
    there = a.tolist()
    with torch.no_grad():
        a[1] = 20.0
    return there == [10.0, 2.0, 3.0] and b.tolist() == [10.0, 20.0, 3.0]


@claim("C141", "The names are `betach()` or `detcah()`, and `requirse_grad`.", source="004")
def c141() -> bool:
    return any(hasattr(torch.Tensor, name) for name in ("betach", "detcah", "requirse_grad"))


@instead(
    "C141",
    "To call a misspelt method is an AttributeError. To set a misspelt attribute is none, and does"
    " nothing.",
)
def c141_instead() -> bool:
    x = torch.ones(1)
    x.requirse_grad = True
    names = ("betach", "detcah")
    missing = [
        refusal(lambda n=n: getattr(x, n)()) == f"'Tensor' object has no attribute '{n}'"
        for n in names
    ]
    return all(missing) and not x.requires_grad


@claim(
    "C142", "Called for its own sake, `x.detach()` sets `x.requires_grad` to False.", source="004"
)
def c142() -> bool:
    x = torch.ones(1, requires_grad=True)
    x.detach()
    return not x.requires_grad


@instead(
    "C142", "x stays as it is. It takes `x = x.detach()`, or `x.detach_()`, which works in place."
)
def c142_instead() -> bool:
    x, kept, in_place = (torch.ones(1, requires_grad=True) for _ in range(3))
    x.detach()
    kept = kept.detach()
    in_place.detach_()
    return [t.requires_grad for t in (x, kept, in_place)] == [True, False, False]


def script(repaired: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The note's walk-through: x, the y that it began with, and the y that it ended with."""
    x, first = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    if repaired:
        x = x.detach()
    else:
        x.detach()
    y = x * first
    y.retain_grad()
    torch.pow(y, 2).backward()
    return x, first, y


@claim("C143", "In the walk-through, where x and y are 1, `x * y` is printed as 2.", source="004")
def c143() -> bool:
    return script(repaired=False)[2].item() == 2.0


@instead("C143", "1 times 1 is 1: `tensor([1.], grad_fn=<MulBackward0>)`.")
def c143_instead() -> bool:
    return str(script(repaired=False)[2]) == "tensor([1.], grad_fn=<MulBackward0>)"


@claim(
    "C144", "In the walk-through, the product requires grad even if x is detached.", source="004"
)
def c144() -> bool:
    x, _, y = script(repaired=True)
    return not x.requires_grad and y.requires_grad


@claim(
    "C145",
    "The product is computed and no leaf, so its gradient is kept only after `retain_grad()`.",
    source="004",
)
def c145() -> bool:
    y = torch.ones(1, requires_grad=True) * 1
    (y**2).backward()
    found, said = warning(lambda: y.grad)
    kept = script(repaired=False)[2]
    return not y.is_leaf and found is None and said.startswith(NON_LEAF) and grad(kept) == [2.0]


@claim("C146", "In the walk-through, `y.grad` is 2 in the end.", source="004")
def c146() -> bool:
    return grad(script(repaired=False)[2]) == grad(script(repaired=True)[2]) == [2.0]


@claim("C147", "In the walk-through as it stands, x gets no gradient.", source="004")
def c147() -> bool:
    return grad(script(repaired=False)[0]) is None


@instead(
    "C147",
    "Its bare `x.detach()` cuts nothing, so `x.grad` is 2. With `x = x.detach()` it is None.",
)
def c147_instead() -> bool:
    return grad(script(repaired=False)[0]) == [2.0] and grad(script(repaired=True)[0]) is None


@claim("C148", "What the walk-through prints as `y.grad` is y's gradient.", source="004")
def c148() -> bool:
    y = script(repaired=True)[2]
    return node(y) == "MulBackward0" and grad(y) == [2 * y.item()]


@but(
    "C148",
    "By then the name y belongs to the product. The leaf that was y at first has a `.grad` of its"
    " own.",
)
def c148_but() -> bool:
    _, first, y = script(repaired=False)
    return (
        first is not y and first.is_leaf and not y.is_leaf and first.grad is not y.grad is not None
    )
