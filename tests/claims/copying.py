"""clone() and copy_()"""

from __future__ import annotations

import copy

import torch

from claims import (
    LEAF_WRITE,
    NON_LEAF,
    accumulator,
    behind,
    but,
    claim,
    grad,
    instead,
    leaf,
    node,
    now,
    on_cuda,
    one,
    refusal,
    same_memory,
    warning,
)


def filled(source: torch.Tensor) -> torch.Tensor:
    """A fresh tensor into which ``copy_()`` wrote."""
    return torch.empty_like(source).copy_(source)


def two_losses(make: object) -> tuple[torch.Tensor, torch.Tensor, list[object]]:
    """a, its copy b, and ``a.grad`` after a backward from each."""
    a = leaf()
    b = make(a)
    (a * 2).sum().backward()
    first = grad(a)
    (b * 3).sum().backward()
    return a, b, [first, grad(a)]


@claim("C021", "`clone()` makes a deep copy.", source="000")
def c021() -> bool:
    a = leaf()
    b = a.clone()
    return torch.equal(a, b) and not same_memory(a, b)


@but(
    "C021",
    "Gradients still go back from it. `copy.deepcopy` gives a leaf without that link, and refuses"
    " what is none.",
)
def c021_but() -> bool:
    a = leaf()
    deep = copy.deepcopy(a)
    linked = behind(a.clone())[0] is accumulator(a)
    refused = refusal(lambda: copy.deepcopy(a * 1)).startswith(
        "Only Tensors created explicitly by the user"
    )
    return linked and refused and deep.is_leaf and deep.requires_grad


@claim(
    "C022",
    "Edits do not get from a clone to its source, nor from the source to the clone.",
    source="000",
)
def c022() -> bool:
    a = leaf()
    b = a.clone()
    with torch.no_grad():
        a[0], b[1] = 10.0, 20.0
    return a.tolist() == [10.0, 2.0, 3.0] and b.tolist() == [1.0, 20.0, 3.0]


@claim("C023", "A clone has the shape, the dtype and the device of its source.", source="000")
def c023() -> bool:
    sources = torch.zeros(3, 4), torch.zeros(2, dtype=torch.int64), torch.zeros(1, device="meta")
    return all(
        (t.clone().shape, t.clone().dtype, t.clone().device) == (t.shape, t.dtype, t.device)
        for t in sources
    )


@claim("C024", "To get a copy on another device, call `clone()` and then `.to()`.", source="000")
def c024() -> bool:
    a = leaf()
    moved = a.clone().to("meta")  # a device that every machine has
    return (
        moved.device.type == "meta"
        and node(moved) == "ToCopyBackward0"
        and node(a.clone()) == "CloneBackward0"
    )


@but(
    "C024",
    "`.to()` alone copies, and is recorded, when the device changes; the clone only adds a node. "
    "The result is no leaf.",
)
def c024_but() -> bool:
    a = leaf()
    moved = a.to("meta")
    return (
        node(moved) == "ToCopyBackward0"
        and behind(moved)[0] is accumulator(a)
        and not moved.is_leaf
    )


@on_cuda("C024")
def c024_on_cuda() -> bool:
    a = leaf()
    both, alone = a.clone().to("cuda"), a.to("cuda")
    alone.sum().backward()
    return both.is_cuda and node(both) == node(alone) == "ToCopyBackward0" and grad(a) == [1.0] * 3


@claim("C025", "A clone takes over `requires_grad`.", source="000")
def c025() -> bool:
    return leaf().clone().requires_grad and not torch.ones(1).clone().requires_grad


@but("C025", "It requires grad because autograd recorded the copying. Under `no_grad` it does not.")
def c025_but() -> bool:
    a = leaf()
    with torch.no_grad():
        quiet = a.clone()
    return node(a.clone()) == "CloneBackward0" and not quiet.requires_grad and quiet.is_leaf


@claim("C026", "The clone of a sparse tensor is sparse.", source="000")
def c026() -> bool:
    coo = torch.sparse_coo_tensor([[0, 1], [1, 0]], [5.0, 6.0], (2, 2), check_invariants=True)
    return coo.clone().layout == torch.sparse_coo == coo.layout


@claim("C027", "What the source has in `.grad` is not copied; the clone shows None.", source="000")
def c027() -> bool:
    a = leaf()
    a.sum().backward()
    found, said = warning(lambda: a.clone().grad)
    return grad(a) == [1.0] * 3 and found is None and said.startswith(NON_LEAF)


@claim("C028", "The recorded history of the source is not copied into the clone.", source="000")
def c028() -> bool:
    h = leaf() * 2
    return h.clone().grad_fn is not h.grad_fn and node(h.clone()) == "CloneBackward0"


@but("C028", "It is continued: behind CloneBackward0 stands the own node of the source.")
def c028_but() -> bool:
    a = leaf()
    h = a * 2
    return behind(h.clone())[0] is h.grad_fn and behind(a.clone())[0] is accumulator(a)


@claim(
    "C029", "A clone begins anew: a leaf, without a tie to the graph of its source.", source="000"
)
def c029() -> bool:
    a = leaf()
    b = a.clone()
    return b.is_leaf or torch.autograd.grad(b.sum(), a, allow_unused=True)[0] is None


@instead(
    "C029",
    "It is no leaf: its `grad_fn` is `CloneBackward0`, and gradients go through that node to the"
    " source.",
)
def c029_instead() -> bool:
    a = leaf()
    b = a.clone()
    b.sum().backward()
    return not b.is_leaf and node(b) == "CloneBackward0" and grad(a) == [1.0] * 3


@claim(
    "C030",
    "Through `clone()` the gradient lives on, the values part, and the result is no leaf.",
    source="000",
)
def c030() -> bool:
    a = leaf()
    b = a.clone()
    (b * 3).sum().backward()
    return grad(a) == [3.0] * 3 and not same_memory(a, b) and not b.is_leaf


@but(
    "C030",
    "It is the path of the gradient that lives on. The numbers in `.grad` do not come along.",
)
def c030_but() -> bool:
    a = leaf()
    a.sum().backward()
    return grad(a.clone()) is None


@claim("C045", "A clone has other memory, and the same shape, dtype and device.", source="001")
def c045() -> bool:
    a = leaf()
    b = a.clone()
    return not same_memory(a, b) and (b.shape, b.dtype, b.device) == (a.shape, a.dtype, a.device)


@claim("C046", "Gradients of the clone are added to those of the source.", source="001")
def c046() -> bool:
    return two_losses(torch.Tensor.clone)[2] == [[2.0] * 3, [5.0] * 3]


@claim("C047", "`data_ptr()` of source and clone are two numbers.", source="001")
def c047() -> bool:
    a = leaf()
    b = a.clone()
    return a.data_ptr() != b.data_ptr()


@claim("C048", "The printed clone ends in `grad_fn=<CloneBackward>`.", source="001")
def c048() -> bool:
    return str(leaf().clone()).endswith("grad_fn=<CloneBackward>)")


@now(
    "C048",
    "Names made by torch's code generator carry a number now: `tensor([1., 2., 3.],"
    " grad_fn=<CloneBackward0>)`.",
)
def c048_now() -> bool:
    return str(leaf().clone()) == "tensor([1., 2., 3.], grad_fn=<CloneBackward0>)"


@claim(
    "C049",
    "`a.grad` holds 2s when the first loss went backward, 5s when the one through the clone did,"
    " too.",
    source="001",
)
def c049() -> bool:
    a, _, seen = two_losses(torch.Tensor.clone)
    return seen == [[2.0] * 3, [5.0] * 3] and a.is_leaf


@claim(
    "C050",
    "The clone's `.grad` is None, since it is no leaf, and torch warns of that.",
    source="001",
)
def c050() -> bool:
    _, b, _ = two_losses(torch.Tensor.clone)
    found, said = warning(lambda: b.grad)
    return found is None and not b.is_leaf and said.startswith(NON_LEAF)


@claim("C051", "A clone is like the result of a function that returns its input.", source="001")
def c051() -> bool:
    a = leaf()
    b = a.clone()
    weights = torch.tensor([1.0, 10.0, 100.0])
    (passed,) = torch.autograd.grad(b, a, weights)
    return torch.equal(a, b) and torch.equal(passed, weights) and behind(b)[0] is accumulator(a)


@claim(
    "C052",
    "The lost figure of `clone()`: values go a→c and a→b→d, gradients c→a and d→b→a.",
    source="001",
)
def c052() -> bool:
    a = leaf()
    b = a.clone()
    c, d = a * 2, b * 3
    return (
        behind(c)[0] is accumulator(a)
        and behind(d)[0] is b.grad_fn
        and behind(b)[0] is accumulator(a)
    )


@claim("C053", "A clone's numbers are its own, its gradient is not.", source="001")
def c053() -> bool:
    a = leaf()
    b = a.clone()
    with torch.no_grad():
        b[0] = 10.0
    b.sum().backward()
    return a.tolist() == [1.0, 2.0, 3.0] and grad(b) is None and grad(a) == [1.0] * 3


@claim(
    "C054",
    "`copy_()` belongs to the target, is given the source and returns the target; `clone()` belongs"
    " to the source and returns a new tensor.",
    source="001",
)
def c054() -> bool:
    a, target = leaf(), torch.zeros(3)
    new = a.clone()
    return (
        target.copy_(a) is target
        and torch.equal(target, a)
        and new is not a
        and not same_memory(new, a)
    )


@claim("C055", "There is a function `torch.clone(x)`, too.", source="001")
def c055() -> bool:
    a = leaf()
    return torch.equal(torch.clone(a), a) and node(torch.clone(a)) == node(a.clone())


@claim(
    "C056",
    "`copy_()` writes into a tensor that exists, for example one from `empty_like`.",
    source="001",
)
def c056() -> bool:
    a = leaf()
    target = torch.empty_like(a)
    address = target.data_ptr()
    return (
        not target.requires_grad
        and target.copy_(a).data_ptr() == address
        and torch.equal(target, a)
    )


@claim("C057", "It must be possible to broadcast the source to the target's shape.", source="001")
def c057() -> bool:
    a = leaf()
    wide = torch.zeros(2, 3).copy_(a)
    wide.sum().backward()
    refused = refusal(lambda: torch.zeros(2).copy_(a))
    return (
        wide.tolist() == [[1.0, 2.0, 3.0]] * 2
        and grad(a) == [2.0] * 3
        and "must match the size" in refused
    )


@claim("C058", "The filled target is printed with `grad_fn=<CopyBackwards>`.", source="001")
def c058() -> bool:
    return str(filled(leaf())) == "tensor([1., 2., 3.], grad_fn=<CopyBackwards>)"


@claim(
    "C059",
    "With `copy_()`, too, `a.grad` is 2s and then 5s; the target is no leaf and has no `.grad`.",
    source="001",
)
def c059() -> bool:
    _, b, seen = two_losses(filled)
    return seen == [[2.0] * 3, [5.0] * 3] and not b.is_leaf and warning(lambda: b.grad)[0] is None


@claim("C060", "The method is called as `A.copy(B)`.", source="001")
def c060() -> bool:
    return refusal(lambda: torch.zeros(3).copy(leaf())) == ""


@instead("C060", "It has an underscore: `A.copy_(B)`. Tensors have no method `copy`.")
def c060_instead() -> bool:
    missing = refusal(lambda: torch.zeros(3).copy(leaf()))
    return missing == "'Tensor' object has no attribute 'copy'" and hasattr(torch.Tensor, "copy_")


@claim(
    "C061",
    "After `A.copy_(B)`, A is B passed through a function that returns its input, as with a clone.",
    source="001",
)
def c061() -> bool:
    b = leaf()
    a = filled(b)
    a.sum().backward()
    return torch.equal(a, b) and grad(b) == [1.0] * 3


@but(
    "C061",
    "A keeps its shape and dtype, and integers get no gradient. What A held before gets zeros; "
    "a copy into a slice ties the whole of A.",
)
def c061_but() -> bool:
    b, before = leaf(), leaf(7.0, 7.0, 7.0)
    a = before * 1
    a.copy_(b)
    a.sum().backward()
    whole = torch.zeros(2, 3)
    whole[0].copy_(b)
    double, whole_numbers = (
        torch.zeros(3, dtype=torch.float64).copy_(b),
        torch.zeros(3, dtype=torch.int64).copy_(b),
    )
    types = (
        double.dtype == torch.float64 and double.requires_grad and not whole_numbers.requires_grad
    )
    return types and grad(before) == [0.0] * 3 and node(whole).endswith("CopySlices")


@claim(
    "C062",
    "`clone()` and `copy_()` both use other memory, give no leaf, and send the gradient to the"
    " source.",
    source="001",
)
def c062() -> bool:
    a = leaf()
    made = [a.clone(), filled(a)]
    paths = [torch.autograd.grad(b.sum(), a)[0].tolist() == [1.0] * 3 for b in made]
    return all(paths) and not any(same_memory(a, b) or b.is_leaf for b in made)


@but(
    "C062",
    "That needs a source that requires grad, grad mode, and a floating point target. Else both give"
    " leaves.",
)
def c062_but() -> bool:
    a, plain = leaf(), torch.ones(3)
    with torch.no_grad():
        quiet = [a.clone(), filled(a)]
    others = [plain.clone(), filled(plain), torch.zeros(3, dtype=torch.int64).copy_(a)]
    return all(b.is_leaf and not b.requires_grad for b in [*quiet, *others])


@claim(
    "C073",
    "New memory, tied gradient: `clone()`, `copy_()`. Old memory, cut gradient: `detach()`,"
    " `.data`.",
    source="001",
)
def c073() -> bool:
    def place(make: object) -> tuple[bool, bool]:
        a = leaf()
        b = make(a)
        return same_memory(a, b), b.grad_fn is not None

    tied = [place(make) for make in (torch.Tensor.clone, filled)]
    cut = [place(make) for make in (torch.Tensor.detach, lambda a: a.data)]
    return tied == [(False, True)] * 2 and cut == [(True, False)] * 2


@claim("C102", "A clone is neither the same object nor at the same address.", source="002")
def c102() -> bool:
    a = leaf()
    b = a.clone()
    return b is not a and b.data_ptr() != a.data_ptr()


@claim("C103", "`requires_grad` of a clone equals that of its source.", source="002")
def c103() -> bool:
    return all(
        t.clone().requires_grad == t.requires_grad for t in (leaf(), leaf() * 2, torch.ones(1))
    )


@but("C103", "Not under `no_grad`: there the clone of a tracked tensor is an untracked leaf.")
def c103_but() -> bool:
    a = leaf()
    with torch.no_grad():
        b = a.clone()
    return a.requires_grad and not b.requires_grad and b.is_leaf


@claim(
    "C104",
    "A clone is a step inside the graph, and what reaches it is added up at the source.",
    source="002",
)
def c104() -> bool:
    a = leaf()
    b = a.clone()
    (a * 2 + b * 3).sum().backward()
    return not b.is_leaf and grad(a) == [5.0] * 3


@claim(
    "C110",
    "A clone has its source's shape, dtype and device, its own memory, and a path back for"
    " gradients.",
    source="003",
)
def c110() -> bool:
    a = one()
    b = a.clone()
    alike = (b.shape, b.dtype, b.device) == (a.shape, a.dtype, a.device)
    return alike and not same_memory(a, b) and torch.autograd.grad(b, a)[0].item() == 1.0


@claim(
    "C111",
    "One backward through y = a² and one through 3 times the clone: `a.grad` is 2, then 5, "
    "and the clone has none.",
    source="003",
)
def c111() -> bool:
    a = one()
    y, c = a**2, a.clone()
    y.backward()
    first = grad(a)
    (c * 3).backward()
    return [first, grad(c), grad(a)] == [2.0, None, 5.0]


@claim(
    "C112",
    "That the clone is still 1 after `a = a + 1` tells that the memory is not common.",
    source="003",
)
def c112() -> bool:
    a = one()
    c = a.clone()
    apart = not same_memory(a, c)
    a = a + 1
    return apart and (a.item(), c.item()) == (2.0, 1.0)


@but(
    "C112",
    "It tells nothing: `a = a + 1` only moves the name. A tensor that does share the memory stays 1"
    " as well.",
)
def c112_but() -> bool:
    a = one()
    d = a.detach()
    shared = same_memory(a, d)
    a = a + 1
    return shared and (a.item(), d.item()) == (2.0, 1.0)


@claim("C113", "What is done with the clone counts in the leaf's gradient.", source="003")
def c113() -> bool:
    a = one()
    (a.clone() * 3).backward()
    return grad(a) == 3.0


@claim(
    "C114",
    "After `c.add_(1)` on a clone: a is 1, c is 2 with AddBackward0; after `c.backward()`, `a.grad`"
    " is 1 and `c.grad` None.",
    source="003",
)
def c114() -> bool:
    a = one()
    c = a.clone()
    c.add_(1.0)
    printed = (
        str(a) == "tensor(1., requires_grad=True)"
        and str(c) == "tensor(2., grad_fn=<AddBackward0>)"
    )
    c.backward()
    return printed and grad(a) == 1.0 and grad(c) is None


@claim(
    "C115",
    "That an `add_` on the clone leaves the source at 1 shows that their memory is separate.",
    source="003",
)
def c115() -> bool:
    def after_a_write(make: object) -> float:
        a = one()
        make(a).add_(1.0)
        return a.item()

    # it tells the two apart
    return after_a_write(torch.Tensor.clone) == 1.0 != after_a_write(torch.Tensor.detach)


@claim(
    "C130",
    "`copy_()` from a source that requires grad sets the target's value, and its `requires_grad` to"
    " True.",
    source="003",
)
def c130() -> bool:
    target = torch.tensor(1.0)
    target.copy_(one(2.0))
    return target.item() == 2.0 and target.requires_grad


@claim(
    "C131",
    "A target that was filled from a source that requires grad is printed with CopyBackwards.",
    source="003",
)
def c131() -> bool:
    return str(torch.tensor(1.0).copy_(one(2.0))) == "tensor(2., grad_fn=<CopyBackwards>)"


@claim("C132", "A target stays on its device, wherever the source is.", source="003")
def c132() -> bool:
    target = torch.ones((), device="meta").copy_(one(2.0))
    return (
        target.device.type == "meta"
        and target.requires_grad
        and torch.ones(()).copy_(one()).device.type == "cpu"
    )


@on_cuda("C132")
def c132_on_cuda() -> bool:
    source = torch.tensor(2.0, device="cuda", requires_grad=True)
    target = torch.tensor(1.0).copy_(source)
    target.backward()
    return target.device.type == "cpu" and target.item() == 2.0 and source.grad.item() == 1.0


@claim("C133", "A target whose `requires_grad` is False makes `copy_()` fail.", source="003")
def c133() -> bool:
    return refusal(lambda: torch.tensor(1.0).copy_(torch.tensor(2.0))) != ""


@instead(
    "C133", "It is fine. The target that fails, in grad mode, is a leaf that does require grad."
)
def c133_instead() -> bool:
    fine = refusal(lambda: torch.tensor(1.0).copy_(one(2.0))) == ""
    return fine and refusal(lambda: one().copy_(torch.tensor(2.0))) == LEAF_WRITE
