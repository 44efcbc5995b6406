"""The graph and AccumulateGrad"""

from __future__ import annotations

import torch

from claims import accumulator, behind, but, claim, grad, hooks, instead, leaf, node, one


@claim("C031", "AccumulateGrad is a sort of hook on a tensor.", source="000")
def c031() -> bool:
    return not isinstance(accumulator(leaf()), torch.autograd.graph.Node)


@instead(
    "C031",
    "It is a node, the last one on the way to a leaf, and hooks can be put on it as on any node.",
)
def c031_instead() -> bool:
    x, ran = leaf(), []
    last = accumulator(x)
    with hooks(last.register_hook(lambda *_: ran.append(1))):
        x.sum().backward()
    is_last = last.variable is x and last.next_functions == ()
    return (
        isinstance(last, torch.autograd.graph.Node)
        and is_last
        and ran == [1]
        and not x._backward_hooks
    )


@claim(
    "C032",
    "A tensor made with `requires_grad=True` has a place where gradients are collected.",
    source="000",
)
def c032() -> bool:
    return accumulator(leaf()).name().endswith("AccumulateGrad")


@but(
    "C032",
    "The node comes when somebody asks for it, and goes when nobody holds it: a hook on it is then"
    " lost.",
)
def c032_but() -> bool:
    x, ran = leaf(), []
    accumulator(x).register_hook(lambda *_: ran.append("nobody holds the node"))
    x.sum().backward()
    kept = accumulator(x)
    accumulator(x).register_hook(lambda *_: ran.append("held"))
    x.sum().backward()
    return ran == ["held"] and kept is accumulator(x)


@claim(
    "C033",
    "AccumulateGrad fills the `.grad` of its tensor, and goes on adding to it.",
    source="000",
)
def c033() -> bool:
    x, seen = leaf(), []
    last = accumulator(x)
    before = last.register_prehook(lambda *_: seen.append(grad(x)))
    after = last.register_hook(lambda *_: seen.append(grad(x)))
    with hooks(before, after):
        (x * 2).sum().backward()
        (x * 2).sum().backward()
    return seen == [None, [2.0] * 3, [2.0] * 3, [4.0] * 3]


@claim(
    "C034",
    "A backward hands gradients from node to node until it is back at the inputs.",
    source="000",
)
def c034() -> bool:
    x, order = leaf(), []
    middle = x * 2
    result = middle.exp().sum()
    chain = [result.grad_fn, *behind(result), middle.grad_fn, accumulator(x)]
    with hooks(*(n.register_hook(lambda *_, n=n: order.append(n.name())) for n in chain)):
        result.backward()
    return [n.split("::")[-1] for n in order] == [
        "SumBackward0",
        "ExpBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]


@claim("C035", "AccumulateGrad stores a gradient for each tensor.", source="000")
def c035() -> bool:
    x = leaf()
    y = x * 2
    y.sum().backward()
    return grad(x) is not None and grad(y) is not None


@instead(
    "C035",
    "It does so for leaves that require grad. A computed tensor keeps its gradient after"
    " `retain_grad()`, without such a node.",
)
def c035_instead() -> bool:
    x = leaf()
    y = x * 2
    y.retain_grad()
    (y * 10).sum().backward()
    edge = torch.autograd.graph.get_gradient_edge(y).node
    return (
        grad(y) == [10.0] * 3
        and grad(x) == [20.0] * 3
        and edge.name() == "MulBackward0"
        and not y.is_leaf
    )


@claim(
    "C036",
    "For a leaf that is used several times, the sum of all gradients stands in its `.grad`.",
    source="000",
)
def c036() -> bool:
    x = leaf()
    (x * 2 + x * 3).sum().backward()
    return grad(x) == [5.0] * 3


@but(
    "C036",
    "Within one backward the engine adds, and AccumulateGrad runs once. It adds only to what"
    " `.grad` held.",
)
def c036_but() -> bool:
    x, seen = leaf(), []
    last = accumulator(x)
    before = last.register_prehook(lambda arrived: seen.append(arrived[0].tolist()))
    after = last.register_hook(lambda *_: seen.append(grad(x)))
    with hooks(before, after):
        (x * 2 + x * 3).sum().backward()
        (x * 10).sum().backward()
    return seen == [[5.0] * 3, [5.0] * 3, [10.0] * 3, [15.0] * 3]


@claim("C037", "On a leaf, `grad_fn` is AccumulateGrad.", source="000")
def c037() -> bool:
    return "AccumulateGrad" in node(leaf())


@instead(
    "C037",
    "On a leaf it is None; AccumulateGrad is found behind the `grad_fn` of what was computed"
    " from it.",
)
def c037_instead() -> bool:
    x = leaf()
    return x.grad_fn is None and behind(x * 2)[0] is accumulator(x)


@claim("C039", "`print(x.grad_fn)` says None for a leaf.", source="000")
def c039() -> bool:
    return str(leaf().grad_fn) == "None"


@claim("C040", "A leaf times a number has `MulBackward0` as `grad_fn`.", source="000")
def c040() -> bool:
    return (
        str(leaf().mul(2).grad_fn).startswith("<MulBackward0 object at")
        and node(leaf() * 2) == "MulBackward0"
    )


@claim("C041", "When `(x * 2).sum()` went backward, each element of `x.grad` is 2.", source="000")
def c041() -> bool:
    x = leaf()
    (x * 2).sum().backward()
    return grad(x) == [2.0, 2.0, 2.0]


@claim("C042", "AccumulateGrad does its work where one does not see it.", source="000")
def c042() -> bool:
    x = leaf()
    y = x * 2
    return not any(
        "AccumulateGrad" in said for said in (str(x), str(y), str(x.grad_fn), str(y.grad_fn))
    )


@but(
    "C042", "One can look: it is `y.grad_fn.next_functions[0][0]`, or `get_gradient_edge(x).node`."
)
def c042_but() -> bool:
    x = leaf()
    y = x * 2
    found = y.grad_fn.next_functions[0][0]
    return found.variable is x and found is torch.autograd.graph.get_gradient_edge(x).node


@claim("C043", "AccumulateGrad is there for leaves whose gradient is wanted.", source="000")
def c043() -> bool:
    wanted, unwanted = leaf(), torch.ones(3)
    nodes = behind(wanted * unwanted)
    return nodes[0] is accumulator(wanted) and nodes[1] is None


@claim(
    "C044", "Under `no_grad`, no nodes are made for AccumulateGrad to stand behind.", source="000"
)
def c044() -> bool:
    x = leaf()
    with torch.no_grad():
        return (x * 2).grad_fn is None


@claim("C097", "A second backward adds to `.grad` unless it was cleared in between.", source="002")
def c097() -> bool:
    w = one()
    seen = []
    for clear in (False, False, True):
        if clear:
            w.grad = None
        (w * 2).backward()
        seen.append(grad(w))
    return seen == [2.0, 4.0, 2.0]


@claim("C098", "`X.grad.zero_()` leaves a tensor of zeros in place.", source="002")
def c098() -> bool:
    w = leaf()
    (w * 2).sum().backward()
    w.grad.zero_()
    return grad(w) == [0.0, 0.0, 0.0]


@claim("C149", "For z = y², the derivative of z with respect to y is 2.", source="004")
def c149() -> bool:
    y = one(1.0)
    (y**2).backward()
    return grad(y) == 2.0


@but("C149", "That is so where y is 1. It is 2y: at 3 it is 6.")
def c149_but() -> bool:
    y = one(3.0)
    (y**2).backward()
    return grad(y) == 6.0


@claim("C150", "In the run without `detach()`, both `y.grad` and `x.grad` are 2.", source="004")
def c150() -> bool:
    x, factor = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    y = x * factor
    y.retain_grad()
    torch.pow(y, 2).backward()
    return grad(y) == [2.0] and grad(x) == [2.0]
