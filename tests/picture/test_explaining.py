"""The sentence under a picture: its numbers are torch's, and what it claims is so."""

from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import programs
import pytest
import torch

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Graph
from gradviz.picture import explaining
from gradviz.picture.explaining import LIMIT, Listing, summary
from gradviz.words.plain import shorten

Named = dict[str, torch.Tensor]
PROGRAMS: list[tuple[Callable[[Named], None], str]] = []


def says(pattern: str) -> Callable[[Callable[[Named], None]], Callable[[Named], None]]:
    def add(program: Callable[[Named], None]) -> Callable[[Named], None]:
        PROGRAMS.append((program, pattern))
        return program

    return add


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def finish(named: Named, a: torch.Tensor, b: torch.Tensor) -> None:
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    named |= {"a": a, "b": b, "c": c, "d": d, "loss": loss}
    loss.backward()


@says(
    r"^a\.grad is \[5, 5, 5\]: \[3, 3, 3\] came back through b = a\.clone\(\) and \[2, 2, 2\]"
    r" through c = a \* 2\."
)
def clone(named: Named) -> None:
    a = leaf()
    b = a.clone()
    finish(named, a, b)


@says(r"^torch\.ones\(2, requires_grad=True\)\.grad is \[0\.1, 0\.1\]: it came back through w = ")
def a_leaf_that_has_no_name(named: Named) -> None:
    w = torch.ones(2, requires_grad=True) * 0.1
    named["w"] = w
    w.sum().backward()


@says(
    r"^✂ Line \d+: detach\(\) cuts b from a: no gradient goes back to a this way\. a\.grad is \[2,"
    r" 2, 2\]: "
)
def detach(named: Named) -> None:
    a = leaf()
    b = a.detach()
    finish(named, a, b)


@says(r"^✂ .*detach\(\) cuts b from a: .* b\.grad is \[3, 3, 3\]: .*; a\.grad is \[2, 2, 2\]: ")
def detach_and_track(named: Named) -> None:
    a = leaf()
    b = a.detach().requires_grad_()
    finish(named, a, b)


@says(r"^✂ Line \d+: no_grad cuts b from a: ")
def no_grad(named: Named) -> None:
    a = leaf()
    with torch.no_grad():
        b = a.clone()
    finish(named, a, b)


@says(
    r"^Line \d+: loss\.backward\(\) raises RuntimeError, because loss has no grad_fn\. ✂ .*no_grad"
    r" cuts b from a: "
)
def no_grad_everywhere(named: Named) -> None:
    a = leaf()
    with torch.no_grad():
        b = a * 2
        loss = b.sum()
    loss.backward()


@says(r"^a\.grad is \[2, 2, 2\]: .* ✂ Line \d+: inference_mode cuts b from a: ")
def inference_mode(named: Named) -> None:
    a = leaf()
    with torch.inference_mode():
        b = a.clone()
    named |= {"a": a, "b": b}
    (a * 2).sum().backward()


@says(r"^✂ Line \d+: \.data cuts b from a: ")
def data(named: Named) -> None:
    a = leaf()
    b = a.data
    finish(named, a, b)


@says(r"^a\.grad is \[5, 5, 5\]: \[3, 3, 3\] came back through b\.copy_\(a\) and ")
def copy_(named: Named) -> None:
    a = leaf()
    b = torch.zeros(3)
    b.copy_(a)
    finish(named, a, b)


@says(
    r"^✂ .*an in-place write under no_grad cuts b from a: .* a\.grad is None: no gradient path"
    r" leads there from loss"
)
def copy_under_no_grad(named: Named) -> None:
    a = leaf()
    b = leaf(0.0, 0.0, 0.0)
    with torch.no_grad():
        b.copy_(a)
    loss = b.sum()
    named |= {"a": a, "b": b}
    loss.backward()


@says(r"^a\.grad is \[5, 5, 5\]: \[3, 3, 3\] arrived and was added to \[2, 2, 2\] from before\.$")
def two_backwards(named: Named) -> None:
    a = named["a"] = leaf()
    (a * 2).sum().backward()
    (a * 3).sum().backward()


@says(r"b\.grad is \[4, 8, 12\]: it is not a leaf, and retain_grad\(\) kept it\.$")
def retain_grad(named: Named) -> None:
    a = leaf()
    b = a * 2
    b.retain_grad()
    loss = (b * b).sum()
    named |= {"a": a, "b": b}
    loss.backward()


@says(r"b is not a leaf: its gradient \[1, 1, 1\] passed through and was not kept\.$")
def not_kept(named: Named) -> None:
    a = leaf()
    b = a * 2
    loss = b.sum()
    named |= {"a": a, "b": b}
    loss.backward()


@says(
    r"^Line \d+: loss\.backward\(\) raises RuntimeError, because loss has no grad_fn\. ✂ Line \d+:"
    r" detach\(\) cuts "
)
def no_grad_fn(named: Named) -> None:
    a = leaf()
    b = a.detach() * 2
    loss = b.sum()
    loss.backward()


@says(r"has no grad_fn\. Nothing that it was computed from requires grad\.$")
def never_tracked(named: Named) -> None:
    x = torch.ones(3)
    loss = (x * 2).sum()
    loss.backward()


@says(
    r"^b\.grad is None: no gradient path leads there from loss\. a\.grad is \[3, 3, 3\]: it came"
    r" back through a \* 3\.$"
)
def two_leaves(named: Named) -> None:
    a, b = leaf(), leaf()
    c = b * 2
    loss = (a * 3).sum()
    named |= {"a": a, "b": b, "c": c}
    loss.backward()


@says(
    r"^b = a\.exp\(\) saved b at version 0 and b\.add_\(1\) in line \d+ wrote it since: backward"
    r" raises RuntimeError\.$"
)
def stale(named: Named) -> None:
    a = leaf()
    b = a.exp()
    c = b * 2
    b.add_(1)
    named["a"] = a
    c.sum().backward()


@says(
    r"saved w at version 0 and w\.mul_\(2\) in line \d+ wrote it since: a backward through it would"
    r" raise\. "
)
def stale_before_backward(named: Named) -> None:
    a, w = leaf(), torch.ones(3)
    c = a * w
    w.mul_(2)
    named |= {"a": a, "c": c}


@says(
    r"^w was overwritten after c = a \* w saved it: backward used wrong numbers\. a\.grad is \[99,"
    r" 1, 1\]"
)
def silently_wrong(named: Named) -> None:
    a, w = leaf(), torch.ones(3)
    c = a * w
    w.data[0] = 99
    named["a"] = a
    c.sum().backward()


@says(r"raises RuntimeError: an earlier backward freed what MulBackward0 of a \* a had saved\.")
def second_backward(named: Named) -> None:
    a = named["a"] = leaf()
    loss = (a * a).sum()
    loss.backward()
    loss.backward()


@says(
    r"^Line \d+: a\.numpy\(\) raises RuntimeError: Can't call numpy\(\) on Tensor that requires"
    r" grad"
)
def numpy(named: Named) -> None:
    a = named["a"] = leaf()
    a.numpy()


@says(r"^The code stops with ZeroDivisionError: ")
def other_error(named: Named) -> None:
    a = named["a"] = leaf()
    named["b"] = a * (1 / 0)


@says(r"^loss can send gradients to a and w; no backward has run here\.$")
def no_backward(named: Named) -> None:
    a, w = leaf(), leaf()
    loss = (a * w).sum()
    named |= {"a": a, "w": w, "loss": loss}


@says(
    r"^✂ .*detach\(\) cuts b from a: .* b and a share one block of memory: an in-place write to one"
    r" shows in the other"
)
def shared(named: Named) -> None:
    a = leaf()
    b = a.detach()
    named |= {"a": a, "b": b}


@says(r"^✂ .* b\[0\] = 99 in line \d+ changed a too, which shares that memory\.$")
def written_through(named: Named) -> None:
    a = leaf()
    b = a.detach()
    b[0] = 99
    named |= {"a": a, "b": b}


@says(r"^Nothing was recorded\.$")
def nothing(named: Named) -> None:
    pass


@says(r"^Nothing here requires grad, so autograd records nothing\.$")
def constants(named: Named) -> None:
    x = torch.ones(3)
    named["y"] = x + 1


@says(r"^No recorded tensor has a grad_fn\.$")
def leaf_alone(named: Named) -> None:
    named["a"] = leaf()


@says(r"^a\.grad was \[2, 2, 2\] after backward and is None now\.")
def zeroed(named: Named) -> None:
    a = named["a"] = leaf()
    (a * 2).sum().backward()
    a.grad = None


@says(
    r"^w \(line \d+\)\.grad is \[2, 4, 6\]: \[1, 2, 3\] and \[1, 2, 3\] came back through w \* w\."
)
def rebound(named: Named) -> None:
    w = leaf()
    loss = (w * w).sum()
    loss.backward()
    assert w.grad is not None
    w = w - 0.1 * w.grad
    named["result"] = w


@says(r"^autograd\.grad returned \[2, 2, 2\] for a and filled no \.grad\.$")
def autograd_grad(named: Named) -> None:
    a = named["a"] = leaf()
    (g,) = torch.autograd.grad((a * 2).sum(), a)
    named["g"] = g


@says(r"✂ .*deepcopy\(\), which copies the value out of the graph, cuts b from a: ")
def deep_copy(named: Named) -> None:
    a = named["a"] = leaf()
    b = named["b"] = copy.deepcopy(a)
    named["loss"] = (a * 2 + b * 3).sum()
    named["loss"].backward()


@says(
    r"^a\.grad is .* ✂ .*item\(\), which copies the value out of the graph, cuts a plain value from"
    r" a\.sum\(\): "
)
def item(named: Named) -> None:
    a = named["a"] = leaf()
    s = a.sum().item()
    (a * s).sum().backward()


@says(
    r"detach\(\) cuts b from a: .* this way\. a\.grad is \[1, 1, 1\]: it came back through b \+= a"
)
def linked_again(named: Named) -> None:
    a = leaf()
    b = a.detach()
    b += a
    named |= {"a": a, "b": b}
    b.sum().backward()


@says(
    r"^dead\.weight\.grad and dead\.bias\.grad are None: .* 4 of the 6 leaves that require grad"
    r" received a gradient\."
)
def many_leaves(named: Named) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    dead = torch.nn.Linear(3, 1)
    used = dead(torch.ones(1, 3))
    named |= {
        "used": used,
        **dict(model.named_parameters("model")),
        **dict(dead.named_parameters("dead")),
    }
    model(torch.ones(1, 3)).sum().backward()


@says(
    r"^✂ Line \d+: an integer or bool result of copy_\(\) cuts n from a: no gradient goes back to a"
    r" this way\. "
    r"a\.grad is "
)
def written_into_integers(named: Named) -> None:
    a = leaf()
    n = torch.zeros(3, dtype=torch.int64).copy_(a)
    finish(named, a, a * n)


@says(r"^a\.grad is \[5, 5, 5\]: .* and \[2, 2, 2\] through c = a \* 2\. b is not a leaf")
def written_into_integers_and_not_used(named: Named) -> None:
    a = leaf()
    n = torch.zeros(3, dtype=torch.int64)
    n.copy_(a)
    finish(named, a, a + 0)
    named["n"] = n


@says(r"^a\.grad is \[50, 50, 50\]: .* through c = a \* 2, and a hook made that \[50, 50, 50\]\. ")
def hook_of_a_leaf(named: Named) -> None:
    a = leaf()
    a.register_hook(lambda g: g * 10)
    finish(named, a, a.clone())


@says(
    r"^a\.grad is \[20, 20, 20\]: \[2, 2, 2\] came back through a \* 2, and a hook made that \[20,"
    r" 20, 20\]\.$"
)
def hook_and_one_way(named: Named) -> None:
    a = named["a"] = leaf()
    a.register_hook(lambda g: g * 10)
    (a * 2).sum().backward()


@says(
    r"^a\.grad is \[20, 20, 20\]: \[2, 2, 2\] arrived and was added to \[3, 3, 3\] from before, "
    r"and a hook made that \[20, 20, 20\]\.$"
)
def hook_after_accumulating(named: Named) -> None:
    a = named["a"] = leaf()

    def grow(p: torch.Tensor) -> None:
        assert p.grad is not None
        p.grad *= 4

    (a * 3).sum().backward()
    a.register_post_accumulate_grad_hook(grow)
    (a * 2).sum().backward()


@says(
    r"^a\.grad is \[0\.6667, 0\.6667, 0\.6667\]: \[0\.3333, 0\.3333, 0\.3333\] came back through .*"
    r" and "
)
def rounded(named: Named) -> None:
    a = named["a"] = leaf()
    (a / 3 + a * (1 / 3)).sum().backward()


@says(
    r"^a\.grad is \[nan, inf, 1\]: \[nan, inf, 0\.5\] came back through a \* w and \[nan, inf,"
    r" 0\.5\] through "
)
def not_finite(named: Named) -> None:
    a, w = leaf(), torch.tensor([float("nan"), float("inf"), 0.5])
    named["a"] = a
    (a * w + w * a).sum().backward()


@says(r"^a\.grad is 3×4 values: 3×4 values came back through a \* 2\.")
def too_many_values(named: Named) -> None:
    a = named["a"] = torch.ones(3, 4, requires_grad=True)
    (a * 2).sum().backward()


@says(
    r"^a\.grad is 3×4 values: 3×4 values came back through a \* 2 and 3×4 values through a \* 3\."
)
def too_many_values_two_ways(named: Named) -> None:
    a = named["a"] = torch.ones(3, 4, requires_grad=True)
    (a * 2 + a * 3).sum().backward()


@says(r"^a\.grad is 3×4 values: 3×4 values arrived and was added to 3×4 values from before\.")
def too_many_values_twice(named: Named) -> None:
    a = named["a"] = torch.ones(3, 4, requires_grad=True)
    for _ in range(2):
        (a * 2).sum().backward()


@says(
    r"^No gradient has arrived at a, though a path leads there\. b\.grad is \[4, 8, 12\]: .*"
    r" retains_grad is True\.$"
)
def inputs_of_backward(named: Named) -> None:
    a = leaf()
    b = a * 2
    named |= {"a": a, "b": b}
    (b * b).sum().backward(inputs=[b])


@says(r"^2 of the 2 leaves that require grad received a gradient\. ")
def frozen_after_a_while(named: Named) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    model(torch.ones(1, 2)).sum().backward()
    for p in model.parameters():
        p.grad = None
    model[0].requires_grad_(False)
    out = model[1](torch.ones(1, 2))
    out.sum().backward()
    named |= {"out": out, **dict(model.named_parameters())}


@says(r"^4 of the 4 leaves that require grad received a gradient; 0 have a \.grad now\.$")
def cleared_at_the_end(named: Named) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()
    named |= dict(model.named_parameters())


@says(r"^24 of the 24 leaves that require grad received a gradient\.")
def copied_layers(named: Named) -> None:
    layer = torch.nn.TransformerEncoderLayer(4, 1, 4, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    del layer
    model(torch.ones(1, 3, 4)).sum().backward()
    named |= dict(model.named_parameters())


@says(r"^m\.weight\.grad is \S+: it came back through m\(.* ✂ .*item\(\)")
def training_loop(named: Named) -> None:
    torch.manual_seed(0)
    m = torch.nn.Linear(1, 1, bias=False)
    named["m.weight"] = m.weight
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (m(torch.ones(4, 1)) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()
        loss.item()


@says(r"^m\.bias\.grad is .*m\.weight\.grad is ")
def accuracy_and_validation(named: Named) -> None:
    torch.manual_seed(0)
    m = torch.nn.Linear(3, 2)
    out = m(torch.ones(4, 3))
    right = torch.tensor([0, 1, 0, 1])
    torch.nn.functional.cross_entropy(out, right).backward()
    accuracy = (out.argmax(1) == right).float().mean()
    with torch.no_grad():
        validation = m(torch.ones(1, 3)).sum()
    named |= {
        "accuracy": accuracy,
        "validation": validation,
        "m.weight": m.weight,
        "m.bias": m.bias,
    }


@says(r"^a\.grad is \[1, 1, 1\]: .* ✂ .*gt\(\), which has no derivative, cuts a > 0 from a: ")
def mask(named: Named) -> None:
    a = named["a"] = leaf()
    torch.where(a > 0, a, 0.1 * a).sum().backward()


@says(
    r"^✂ .*gt\(\), which has no derivative, cuts a > 0 from a: .* a\.grad is None: no gradient path"
    r" leads there "
)
def only_a_mask(named: Named) -> None:
    a, w = leaf(), leaf()
    y = (a > 0).float() * w
    named |= {"a": a, "w": w}
    y.sum().backward()


@says(r"^a\.grad is \[2, 2, 2\]: it came back through a \* 2\. ✂ .*detach\(\) cuts ")
def detach_without_use(named: Named) -> None:
    a = named["a"] = leaf()
    a.detach()
    (a * 2).sum().backward()


class Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, g: torch.Tensor) -> None:
        return None


@says(r"^No gradient has arrived at a, though a path leads there\.")
def sent_nothing(named: Named) -> None:
    a = named["a"] = leaf()
    Nothing.apply(a).sum().backward()


@says(r"^a\.grad is None: \[2, 2, 2\] arrived, and a hook set it to None\.$")
def step_in_a_hook(named: Named) -> None:
    a = named["a"] = leaf()
    optimizer = torch.optim.SGD([a], lr=0.1)

    def step(p: torch.Tensor) -> None:
        optimizer.step()
        optimizer.zero_grad()

    a.register_post_accumulate_grad_hook(step)
    (a * 2).sum().backward()


@says(r"^a\.grad is None: \[2, 2, 2\] arrived, but a does not require grad any more\.")
def detached_in_place_late(named: Named) -> None:
    a = named["a"] = leaf()
    loss = (a * 2).sum()
    a.detach_()
    loss.backward()


@says(r"^a\.grad is None: \[2, 2, 2\] arrived, but a does not require grad any more\.")
def switched_off_late(named: Named) -> None:
    a = named["a"] = leaf()
    loss = (a * 2).sum()
    a.requires_grad_(False)
    loss.backward()


@says(r"^a\.grad is \[256\]: \[1\] arrived and was added to \[256\] from before\.$")
def few_digits(named: Named) -> None:
    a = named["a"] = torch.ones(1, dtype=torch.bfloat16, requires_grad=True)
    for x in (256, 1):
        (a * x).sum().backward()


@says(r"^w\.grad is None: no gradient path leads there from second\. a\.grad is \[3, 3, 3\]: ")
def grad_for_one_and_backward_for_the_other(named: Named) -> None:
    a, w = leaf(), leaf()
    named |= {"a": a, "w": w}
    first, second = (w * 2).sum(), (a * 3).sum()
    torch.autograd.grad(first, w)
    second.backward()


@says(r"^✂ .*detach\(\) cuts .* \(1 of 2 cuts\): no gradient goes back to w this way\. ")
def truncated(named: Named) -> None:
    w, h = leaf(), torch.ones(3)
    named["w"] = w
    for _ in range(2):
        h = (h * w).detach()
        loss = (h * w).sum()
        loss.backward()


@says(
    r"^a was overwritten after b = a \* a saved it: backward used wrong numbers\. a\.grad is \[0,"
    r" 0, 0\]: "
)
def said_once(named: Named) -> None:
    a = named["a"] = leaf()
    b = a * a
    a.data.zero_()
    b.sum().backward()


@says(
    r"^w was overwritten after c = a \* w saved it: backward would now use wrong numbers\."
    r" a\.grad is "
)
def overwritten_after_the_backward(named: Named) -> None:
    a, w = leaf(), torch.ones(3)
    c = a * w
    named["a"] = a
    c.sum().backward(retain_graph=True)
    w.data.zero_()


@says(r"^a\.grad was \[2, 2, 2\] after backward|^a\.grad is \[2, 2, 2\]")
def frozen(named: Named) -> None:
    a = named["a"] = leaf()
    (a * 2).sum().backward()
    a.requires_grad_(False)


@says(r"^No recorded tensor has a grad_fn\. Inside torch\.func transforms nothing is recorded\.$")
def transformed(named: Named) -> None:
    a = named["a"] = leaf()
    torch.func.grad(lambda t: (t * t).sum())(a)


def shown(grad: torch.Tensor | None) -> str:
    if grad is None:
        return "None"
    if grad.numel() <= preview.LIMIT:
        return preview.values(grad.tolist())
    return "×".join(map(str, grad.shape)) + " values"


def is_leaf(t: torch.Tensor) -> bool:
    try:
        return t.is_leaf
    except RuntimeError:  # a view of which another was written
        return False


NUMBERS = r"\[[-\d., e+]*\]"
VALUE = rf"{NUMBERS}|\[{NUMBERS}(?:, {NUMBERS})*\]"
PART = rf"(?:^|and |to |, )({VALUE})(?= and |, | came | through | arrived | from )"


def check_counts(said: str, tensors: list[object]) -> None:
    """What is counted, and of how many, is what torch has; parts add up to what they are parts
    of."""
    leaves = {
        id(t): t for t in tensors if isinstance(t, torch.Tensor) and t.requires_grad and is_leaf(t)
    }
    filled = sum(t.grad is not None for t in leaves.values())
    for got, of, now in re.findall(
        r"(\d+) of the (\d+) leaves .* gradient(?:; (\d+) have a \.grad now)?\.", said
    ):
        assert (int(got) <= int(of), int(of), int(now or got)) == (True, len(leaves), filled), said
    for whole, parts in re.findall(r"\.grad is ((?:[^:;.]|\.\d)+): ([^;]*?)(?=;|\.(?: |$))", said):
        lists = [
            [float(n) for n in re.findall(r"[^][, ]+", part)] for part in re.findall(PART, parts)
        ]
        if whole[0] == "[" and lists and ", …" not in said and "256" not in said:
            if made := re.search(r"hooks? made that (\[.*\])$", parts):
                assert made[1] == whole, said
                continue
            total = [float(n) for n in re.findall(r"[^][, ]+", whole)]
            assert total == pytest.approx(
                [sum(ns) for ns in zip(*lists, strict=True)], rel=2e-3, abs=1e-3
            ), said


def run(program: Callable[[Named], None]) -> tuple[str, Named, str]:
    named: Named = {}
    error = ""
    with gv.record() as rec:
        try:
            program(named)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    return summary(rec.graph, error), named, error


@pytest.mark.parametrize(("program", "pattern"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_what_it_says(program: Callable[[Named], None], pattern: str) -> None:
    said, named, error = run(program)
    assert re.search(pattern, said), said
    assert len(said) <= LIMIT
    assert said.endswith((".", "…"))
    assert (" raises " in said) is bool(error) or said.startswith("The code stops"), said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a non-leaf
        grads = {name: t.grad for name, t in named.items()}
    for name, value in re.findall(
        r"(?<!earlier )(?<![\w.])([\w.]+)\.grad is (None|\S.*?)(?=[:.;](?: |$))", said
    ):
        assert value == shown(grads[name]), said
    check_counts(said, list(named.values()))
    for name in re.findall(r"(?<!: )\b(\w+) is not a leaf", said):
        assert not named[name].is_leaf


@pytest.mark.parametrize(("program", "pattern"), PROGRAMS, ids=[p.__name__ for p, _ in PROGRAMS])
def test_at_every_step_it_stays_short_and_survives(
    program: Callable[[Named], None], pattern: str
) -> None:
    with gv.record() as rec:
        try:
            program({})
        except Exception:
            assert pattern
    for step in range(len(rec.events) + 1):
        said = summary(rec.at(step))
        assert len(said) <= LIMIT
        assert "no backward has run" not in said or not rec.at(step).backwards


@pytest.mark.parametrize("seed", range(150))
def test_of_random_programs_it_says_what_torch_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any sentence, of which the summary has the first two. Some seeds count what others tell
    one by one."""
    monkeypatch.setattr(explaining, "FEW", (3, 0, 9)[seed % 3])
    program = programs.build(programs.statement_seeds(seed), risky=seed % 4 == 0)
    values: Named = {**programs.NAMES}
    statements = program.split(f"<random {seed}>")
    for line, code in statements:
        if line < program.start:
            exec(code, values)
    error = ""
    with gv.record() as rec:
        try:
            for line, code in statements:
                if line >= program.start:
                    exec(code, values)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    said = summary(rec.graph, error)
    assert 0 < len(said) <= LIMIT
    said += " " + " ".join(told.text for told in explaining._Teller(rec.graph).sentences(error))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a non-leaf
        for name, value in re.findall(
            r"(?<!earlier )(?<!unnamed )(?<![\w.\])])([a-z]\w*)\.grad is (None|\S.*?)(?=[:.;](?:"
            r" |$))",
            said,
        ):
            if name in values:
                true = shown(values[name].grad)
                assert value in (true, shorten(true, explaining.SHORT)), said
    kept = r"\b(\w+)\.grad is (?:[^:;.]|\.\d)+: it is not a leaf, and (retain_grad|its retains)"
    for name, why in re.findall(kept, said):
        assert values[name].retains_grad
        assert (f"{name}.retain_grad()" in program.text) is (why == "retain_grad"), said
    if program.start == 1:
        check_counts(said, list(values.values()))


def test_in_the_middle_of_a_backward_what_is_stored_counts() -> None:
    with gv.record() as rec:
        a, w = leaf(), leaf()
        (a * 2 + w * 3).sum().backward()
    said = [summary(rec.at(step)) for step in range(len(rec.events) + 1)]
    assert not any("is None" in s or "after backward" in s for s in said)
    assert any(("a.grad is [2, 2, 2]" in s) is not ("w.grad is [3, 3, 3]" in s) for s in said)


def test_a_graph_that_was_only_read_claims_no_history() -> None:
    a = leaf()
    loss = (a * 2).sum()
    loss.backward(retain_graph=True)
    said = summary(gv.show(loss, names={"a": a, "loss": loss}).graph)
    assert said == "loss can send gradients to a."
    assert summary(Graph()) == "Nothing was recorded."


def test_long_values_are_shortened_before_words_are() -> None:
    leaves = [torch.full((8,), 1 / 3, requires_grad=True) for _ in range(3)]
    with gv.record() as rec:
        first, second, third = leaves
        (first * 0.123456 + second * 0.234567 + third * 0.345678).sum().backward()
    said = summary(rec.graph)
    assert len(said) <= LIMIT
    assert said.endswith(".")
    assert [name for name in ("first", "second", "third") if f"{name}.grad is" in said] == [
        "first",
        "second",
        "third",
    ]


def test_a_line_that_the_reader_does_not_see_is_not_said(tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("def cut(t):\n    return t.detach()\n")
    scope: dict[str, Any] = {}
    exec(compile(helper.read_text(), str(helper), "exec"), scope)
    with gv.record() as rec:
        a = leaf()
        b = scope["cut"](a)
        (a * b).sum().backward()
    assert summary(rec.graph).startswith("✂ Line 2: detach() cuts b from a")
    (cut,) = rec.graph.cuts
    at = rec.graph.call[cut.call_id].source
    assert at is not None
    shown = Listing(at.file, 1, helper.read_text())
    for listing in (shown, shown._replace(first=2, text="    return t.detach()")):
        assert summary(rec.graph, listing=listing).startswith("✂ Line 2: detach() cuts b from a")
    other_cell, other_lines = (
        shown._replace(text="def scenario():\n    a = leaf()"),
        shown._replace(first=7),
    )
    for listing in (other_cell, other_lines, shown._replace(file="test_explaining.py")):
        assert summary(rec.graph, listing=listing).startswith("✂ detach() cuts b from a")


# frozen is not cut --------------------------------------------------------------------------------


def frozen_before_its_use() -> None:
    w, x = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    w.requires_grad_(False)
    y = (w * x).sum()
    y.backward()


def frozen_after_its_use() -> None:
    w, x = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    y = (w * x).sum()
    w.requires_grad = False
    y.backward()


def frozen_between_two_uses() -> None:
    w, x = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    (w * x).sum().backward()
    w.requires_grad_(False)
    (w * x).sum().backward()


def frozen_and_never_used() -> None:
    w = torch.tensor([2.0], requires_grad=True)
    w.requires_grad_(False)


FREEZING = [
    frozen_before_its_use,
    frozen_after_its_use,
    frozen_between_two_uses,
    frozen_and_never_used,
]


@pytest.mark.parametrize("program", FREEZING)
def test_a_leaf_whose_flag_is_switched_off_is_frozen_and_not_cut(
    program: Callable[[], None],
) -> None:
    with gv.record() as rec:
        program()
    steps = [state["sentence"] for state in gv.play(rec).states]
    told = [summary(rec.graph), rec.figure().text, rec.figure().alt, *steps]
    for words in told:
        assert "✂" not in words
        assert "cuts" not in words
        assert "no gradient back" not in words
    assert "w is frozen" in summary(rec.graph)
    assert "w · requires_grad switched off" in rec.figure().text
    assert any("w is frozen" in sentence for sentence in steps)


def test_a_path_built_before_the_leaf_was_frozen_still_brings_a_gradient_that_is_not_stored() -> (
    None
):
    with gv.record() as rec:
        frozen_after_its_use()
    assert "[3] arrived, but w does not require grad any more" in summary(rec.graph)
    assert "from w · gradient [3] goes back to it" in rec.figure().text


def test_a_leaf_that_was_thawed_is_not_said_to_be_frozen() -> None:
    with gv.record() as rec:
        w = torch.tensor([2.0], requires_grad=True)
        w.requires_grad_(False)
        w.requires_grad_(True)
        (w * 2).sum().backward()
    assert "frozen" not in summary(rec.graph)
    assert "switched on again since" in rec.figure().text


def test_frozen_weights_do_not_hide_a_cut() -> None:
    with gv.record() as rec:
        net = torch.nn.Linear(2, 1)
        w = torch.ones(1, 2, requires_grad=True)
        net.requires_grad_(False)
        loss = net(w.detach()).sum()
    said = summary(rec.graph)
    assert said.startswith("✂")
    assert "detach() cuts" in said
    assert "1 of" not in said
    told = str(
        gv.explain(error=RuntimeError("element 0 of tensors does not require grad"), recording=rec)
    )
    assert loss.grad_fn is None
    assert "Nothing can train" in told


@pytest.mark.parametrize(
    "last", ['m = w.clone().to("cpu")', "m = w.clone().contiguous()", "m = w * 2\nm.retain_grad()"]
)
def test_a_last_call_that_hands_back_what_it_got_hides_no_result(last: str) -> None:
    space: dict[str, Any] = {"torch": torch}
    exec("w = torch.ones(2, requires_grad=True)", space)
    with gv.record().look_into(space) as rec:
        exec(last, space)
    assert summary(rec.graph) == "m can send gradients to w; no backward has run here."


@pytest.mark.parametrize("many", [1, 2, 5])
def test_a_gradient_that_came_is_told_beside_a_cut_and_one_that_did_not(many: int) -> None:
    with gv.record() as rec:
        src = torch.tensor(2.0, requires_grad=True)
        leaves = [torch.tensor(1.0, requires_grad=True) for _ in range(many)]
        with torch.no_grad():
            leaves[0].copy_(src)
        torch.stack([leaf * 3 for leaf in leaves]).sum().backward()
    said = explaining.summary(rec.graph)
    assert src.grad is None
    assert "src.grad is None: no gradient path leads there" in said
    third = {
        1: "leaves[0].grad is 3.",
        2: "2 gradients came.",  # there is no room for more
        5: "5 of the 6 leaves that require grad received a gradient.",
    }
    assert said.endswith(f" {third[many]}")
    assert len(said) <= explaining.LIMIT


def test_where_nothing_came_or_an_error_is_told_no_third_sentence_stands() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            b = a.view(2)
        (b * 3).sum().backward()
    said = explaining.summary(rec.graph)
    assert said.endswith(
        "a.grad and b.grad are None: no gradient path leads there from (b * 3).sum()."
    )
