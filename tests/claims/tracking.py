"""Who is tracked"""

from __future__ import annotations

import torch

from claims import SCALAR_ONLY, but, claim, grad, instead, leaf, refusal

TABLE = [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


@claim(
    "C038",
    "A tensor that the user made is a leaf, one that autograd computed is none.",
    source="000",
)
def c038() -> bool:
    x = leaf()
    return x.is_leaf and torch.ones(1).is_leaf and not (x * 2).is_leaf


@but(
    "C038",
    "A computed tensor is a leaf, too, if it does not require grad: after `detach()` or under"
    " `no_grad`.",
)
def c038_but() -> bool:
    x = leaf()
    with torch.no_grad():
        quiet = x * 2
    return (x.detach() * 2).is_leaf and quiet.is_leaf and (torch.ones(1) * 2).is_leaf


@claim("C083", "Gradients are for floating point and complex tensors only.", source="002")
def c083() -> bool:
    def refused(dtype: torch.dtype) -> bool:
        made = refusal(lambda: torch.zeros(1, dtype=dtype, requires_grad=True))
        asked = refusal(lambda: torch.zeros(1, dtype=dtype).requires_grad_())
        return "floating point" in made and "floating point" in asked

    able = (
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
    )
    unable = (torch.int64, torch.int32, torch.uint8, torch.bool)
    return not any(refused(t) for t in able) and all(refused(t) for t in unable)


@claim(
    "C084",
    "`torch.arange(4.0, requires_grad=True)` is an example of a tensor that gets no gradient by"
    " default.",
    source="002",
)
def c084() -> bool:
    return not torch.arange(4.0, requires_grad=True).requires_grad


@instead("C084", "That call asks for gradients. The default, `torch.arange(4.0)`, does not.")
def c084_instead() -> bool:
    return (
        torch.arange(4.0, requires_grad=True).requires_grad and not torch.arange(4.0).requires_grad
    )


@claim(
    "C085",
    "To set `t.requires_grad = True` and to call `t.requires_grad_()` without an argument is the"
    " same.",
    source="002",
)
def c085() -> bool:
    assigned, called = torch.ones(2), torch.ones(2)
    assigned.requires_grad = True
    called.requires_grad_()
    return (
        (assigned.requires_grad, assigned.is_leaf)
        == (called.requires_grad, called.is_leaf)
        == (True, True)
    )


@claim("C086", "Once the flag is set, `print` shows it.", source="002")
def c086() -> bool:
    return [str(torch.ones(2)), str(torch.ones(2).requires_grad_())] == [
        "tensor([1., 1.])",
        "tensor([1., 1.], requires_grad=True)",
    ]


@claim(
    "C087",
    "A plain tensor whose flag is set to False looks as before when it is printed.",
    source="002",
)
def c087() -> bool:
    plain, assigned = torch.ones(2), torch.ones(2)
    assigned.requires_grad = False
    return (
        str(plain)
        == str(assigned)
        == str(torch.ones(2).requires_grad_(False))
        == "tensor([1., 1.])"
    )


@claim("C089", "While `no_grad` lasts, it outweighs an input's `requires_grad=True`.", source="002")
def c089() -> bool:
    x = leaf()
    with torch.no_grad():
        inside = x * 2
    return not inside.requires_grad and x.requires_grad and (x * 2).requires_grad


@claim(
    "C090",
    "Autograd records nothing of a computation that runs in no-grad mode, whatever its inputs are.",
    source="002",
)
def c090() -> bool:
    x = leaf()
    with torch.no_grad():
        steps = [x * 2, x.sum(), x.clone(), torch.zeros(3).copy_(x)]
    return not any(t.requires_grad or t.grad_fn for t in steps)


@claim("C091", "The attribute that asks for gradients is spelt `require_grad`.", source="002")
def c091() -> bool:
    t = torch.ones(2)
    t.require_grad = True
    return t.requires_grad


@instead(
    "C091",
    "It is `requires_grad`. The other spelling makes an attribute that torch never reads, and no"
    " error.",
)
def c091_instead() -> bool:
    t = torch.ones(2)
    t.require_grad = True
    return t.require_grad and not t.requires_grad and not hasattr(torch.ones(2), "require_grad")


@claim(
    "C092",
    "What stands before `.backward()` is the thing whose gradient is worked out.",
    source="002",
)
def c092() -> bool:
    x = torch.tensor(TABLE, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    (expected,) = torch.autograd.grad((x * x).sum(), x)
    return grad(x) == expected.tolist()  # derivatives of loss, and of nothing else


@but(
    "C092",
    "It is the function that is differentiated. The numbers go to the leaves, and its own `.grad`"
    " stays None.",
)
def c092_but() -> bool:
    x = torch.tensor(TABLE, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    return grad(loss) is None and grad(x) == [[2.0, 2.0, 0.0], [0.0, 0.0, 2.0]]


@claim(
    "C093",
    "A result with several elements has to become a scalar before `backward()`.",
    source="002",
)
def c093() -> bool:
    x = leaf(1.0, 2.0)
    return refusal((x * x).backward) == SCALAR_ONLY and refusal((x * x).sum().backward) == ""


@but(
    "C093",
    "`backward(gradient=weights)` takes such a result as it is, and one element in any shape is"
    " scalar enough.",
)
def c093_but() -> bool:
    x, single = leaf(1.0, 2.0), leaf(1.0)
    (x * x).backward(gradient=torch.tensor([1.0, 10.0]))
    (single * 3).backward()
    return grad(x) == [2.0, 40.0] and grad(single) == [3.0]


@claim(
    "C094",
    "The derivative of a tensor by a tensor has more dimensions than either, so a loss is one"
    " number.",
    source="002",
)
def c094() -> bool:
    x = leaf(1.0, 2.0)
    jacobian = torch.autograd.functional.jacobian(lambda t: t * t, x)
    return jacobian.dim() == 2 > x.dim()


@but(
    "C094",
    "`backward()` never builds that derivative. It takes weights, and what arrives has the input's"
    " shape.",
)
def c094_but() -> bool:
    x = leaf(1.0, 2.0)
    weights = torch.tensor([1.0, 10.0])
    (x * x).backward(gradient=weights)
    jacobian = torch.autograd.functional.jacobian(lambda t: t * t, x)
    return x.grad.shape == x.shape and torch.equal(x.grad, weights @ jacobian)


@claim("C095", "The numbers alone can be had as `X.data`.", source="002")
def c095() -> bool:
    x = torch.tensor(TABLE, requires_grad=True)
    return x.data.tolist() == TABLE and not x.data.requires_grad


@claim("C096", "For the sum of X times X, `X.grad` is twice X.", source="002")
def c096() -> bool:
    x = torch.tensor(TABLE, requires_grad=True)
    (x * x).sum().backward()
    return torch.equal(x.grad, 2 * x.detach())
