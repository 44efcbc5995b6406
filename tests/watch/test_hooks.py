"""Hooks in the picture: the line that registered them, and both values where they changed a
gradient. The hooks of these tests note themselves what torch gave them and what they gave back."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

import programs
import pytest
import torch
from oracle import record_program

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Accumulated, Changed, Graph, Hooked, NoteKind
from gradviz.picture import explaining, nodes
from gradviz.picture.cards import scene
from gradviz.picture.chip_labels import chip_lines
from gradviz.picture.telling import Story

Hook = Callable[[torch.Tensor], Any]
TIMES: Hook = lambda g: g * 10  # noqa: E731


class Noting:
    """A hook that notes what came and what it gave back."""

    def __init__(self, hook: Hook) -> None:
        self.hook, self.seen = hook, list[tuple[str, str]]()

    def __call__(self, grad: torch.Tensor) -> Any:
        came = preview.of(tuple(grad.shape), grad.tolist() if grad.numel() <= 8 else None)
        back = self.hook(grad)
        left = grad if back is None else back
        self.seen.append(
            (came, preview.of(tuple(left.shape), left.tolist() if left.numel() <= 8 else None))
        )
        return back


def changes(graph: Graph) -> list[tuple[str | None, str]]:
    return [(e.before, e.after) for e in graph.events if isinstance(e, Changed)]


def rows(graph: Graph, name: str) -> list[str]:
    return [r.text for c in scene(graph).cards if c.name == name for r in c.rows]


def labels(graph: Graph) -> list[str]:
    return [a.label for a in scene(graph).arrows]


def leaf() -> torch.Tensor:
    return torch.tensor(1.0, requires_grad=True)


# --- one place at a time: (program that takes a hook, which of its cards says so, where both values


def between(hook: Hook) -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y.register_hook(hook)
    (y * 1).sum().backward()


def on_a_leaf(hook: Hook) -> None:
    x = leaf()
    x.register_hook(hook)
    (x * 2).backward()


def on_a_leaf_used_twice(hook: Hook) -> None:
    x = leaf()
    x.register_hook(hook)
    (x * 2 + x * 3).backward()


def on_a_result_used_twice(hook: Hook) -> None:
    x = leaf()
    y = x * 2
    y.register_hook(hook)
    (y * 3 + y * 5).backward()


def on_the_root(hook: Hook) -> None:
    x = leaf()
    y = x * 2
    y.register_hook(hook)
    y.backward()


def on_a_root_that_is_given_a_gradient(hook: Hook) -> None:
    x = leaf()
    y = x * 2
    y.register_hook(hook)
    y.backward(gradient=torch.tensor(4.0))


def before_a_write(hook: Hook) -> None:
    x = leaf()
    y = x * 2
    y.register_hook(hook)
    y.mul_(5.0)
    y.backward()


def on_one_output(hook: Hook) -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y, z = x.unbind()
    y.register_hook(hook)
    (y * 3 + y * z).backward()


def asked_of_a_leaf(hook: Hook) -> None:
    x = leaf()
    x.register_hook(hook)
    torch.autograd.grad(x * 2, x)


def asked_of_a_result(hook: Hook) -> None:
    x = leaf()
    y = x * 2
    y.register_hook(hook)
    torch.autograd.grad(y * 3, y)


PLACES = {
    between: ("y", "arrow"),
    on_a_leaf: ("x", "AccumulateGrad · arrives {}"),
    on_a_leaf_used_twice: ("x", "AccumulateGrad · arrives once: {}"),
    on_a_result_used_twice: ("y", "engine adds 3 + 5 · {}"),
    on_the_root: ("y", "MulBackward0 · backward() starts with {}"),
    on_a_root_that_is_given_a_gradient: ("y", "MulBackward0 · backward() starts with {}"),
    before_a_write: ("y", "{} before MulBackward0"),
    on_one_output: ("y", "engine adds 3 + 2 · {}"),
    asked_of_a_leaf: ("x", "autograd.grad returns {}"),
    asked_of_a_result: ("y", "autograd.grad returns {}"),
}


@pytest.mark.parametrize("program", PLACES, ids=lambda p: p.__name__)
def test_both_values_are_said(program: Callable[[Hook], None]) -> None:
    hook = Noting(TIMES)
    with gv.record() as rec:
        program(hook)
    ((came, left),) = hook.seen
    assert changes(rec.graph) == [(came, left)]
    name, where = PLACES[program]
    way = f"{came} → hook → {left}"
    assert (labels(rec.graph) if where == "arrow" else rows(rec.graph, name)).count(
        where.format(way) if "{" in where else way
    ) == 1
    assert f"{name}.register_hook(hook)" in rows(rec.graph, name)
    assert way in rec.figure().text
    assert (
        f"{came} to {left} by a hook" in (said := explaining.summary(rec.graph))
        or f"hook made that {left}" in said
    )
    told = [
        Story(rec.at(k + 1)).sentence() for k, e in enumerate(rec.events) if isinstance(e, Changed)
    ]
    assert told == [f"The hook on {name} changed the gradient: {way}."]
    (hooked,) = (k for k, e in enumerate(rec.events) if isinstance(e, Hooked))
    assert (
        Story(rec.at(hooked + 1))
        .sentence()
        .endswith(f"{name}.register_hook(hook) puts a hook on {name}.")
    )
    assert Graph.from_json(rec.graph.to_json()) == rec.graph


@pytest.mark.parametrize("program", PLACES, ids=lambda p: p.__name__)
@pytest.mark.parametrize(
    "look", [lambda g: None, lambda g: g, lambda g: g * 1, lambda g: g.mul_(1)]
)
def test_a_hook_that_only_looks_leaves_no_change(
    program: Callable[[Hook], None], look: Hook
) -> None:
    with gv.record() as rec:
        program(look)
    assert changes(rec.graph) == []
    assert f"{PLACES[program][0]}.register_hook(hook)" in rows(rec.graph, PLACES[program][0])
    text = rec.figure().text.replace("register_hook(hook)", "")
    assert "hook" not in text
    assert "unknown" not in text
    assert "hook" not in explaining.summary(rec.graph)


def test_a_hook_that_writes_into_the_gradient_is_seen() -> None:
    with gv.record() as rec:
        between(lambda g: g.mul_(10))
    assert changes(rec.graph) == [("[1, 1, 1]", "[10, 10, 10]")]


def test_the_nodes_view_says_it_too() -> None:
    with gv.record() as rec:
        between(TIMES)
    assert "[1, 1, 1] → hook → [10, 10, 10]" in [a.label for a in nodes.scene(rec.graph).arrows]
    with gv.record() as rec:
        on_a_result_used_twice(TIMES)
    assert any(
        r.text == "engine adds 3 + 5 · 8 → hook → 80"
        for c in nodes.scene(rec.graph).cards
        for r in c.rows
    )


# --- several hooks, removed hooks, hooks that nobody saw ------------------------------------------


def test_several_hooks_are_counted_and_removed_ones_are_not() -> None:
    with gv.record() as rec:
        x = leaf()
        y = x * 2
        plus = y.register_hook(lambda g: g + 1)
        times = y.register_hook(TIMES)
        z = y * 3
        z.backward(retain_graph=True)
        plus.remove()
        z.backward(retain_graph=True)
        times.remove()
        z.backward()
    assert changes(rec.graph) == [("3", "40"), ("3", "30")]
    assert [len(e.hooks) for e in rec.events if isinstance(e, Changed)] == [2, 1]
    assert "3" in labels(rec.graph), "the last backward met no hook"
    assert "→" not in "".join(labels(rec.graph))
    assert sum("register_hook" in r for r in rows(rec.graph, "y")) == 2
    told = [
        Story(rec.at(k + 1)).sentence() for k, e in enumerate(rec.events) if isinstance(e, Changed)
    ]
    assert told[0] == "The 2 hooks on y changed the gradient: 3 → 2 hooks → 40."


def test_an_older_change_is_not_told_of_a_later_backward() -> None:
    with gv.record() as rec:
        x = leaf()
        y = x * 2
        handle = y.register_hook(TIMES)
        z = y * 3 + y * 5
        z.backward(retain_graph=True)
        handle.remove()
        z.backward()
    assert not any("→ hook →" in r for r in rows(rec.graph, "y"))
    assert "hook" not in explaining.summary(rec.graph)


def before_the_recording(y: torch.Tensor) -> None:
    y.register_hook(TIMES)


def on_the_node(y: torch.Tensor) -> None:
    assert y.grad_fn is not None
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 10,))


@pytest.mark.parametrize("put", [before_the_recording, on_the_node], ids=lambda p: p.__name__)
def test_where_no_hook_was_seen_it_is_not_known_by_what(
    put: Callable[[torch.Tensor], None],
) -> None:
    x = leaf()
    y = x * 2
    put(y)
    with gv.record() as rec:
        (y * 3).backward()
    assert "3 → unknown change → 30" in labels(rec.graph)
    (k,) = (k for k, e in enumerate(rec.events) if isinstance(e, Changed))
    assert "it is not known by what: 3 → unknown change → 30" in Story(rec.at(k + 1)).sentence()
    assert "was changed from 3 to 30 on its way, it is not known by what" in explaining.summary(
        rec.graph
    )
    assert "hook" not in rec.figure().text + explaining.summary(rec.graph)


def test_hooks_of_a_module_are_not_called_hooks_of_a_tensor() -> None:
    """They stand on nodes of their own: what such a node sends is what the next one gets."""
    net = torch.nn.Linear(2, 1)
    net.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 10,))
    net.register_full_backward_pre_hook(lambda module, outputs: (outputs[0] * 3,))
    x = torch.ones(1, 2, requires_grad=True)
    with gv.record() as rec:
        net(x * 1).sum().backward()
    assert "→ hook →" not in rec.figure().text
    assert x.grad is not None
    assert f".grad: None → {preview.values(x.grad.tolist())}" in rows(rec.graph, "x")


def test_hooks_from_a_loop_stand_on_the_cards_of_their_parameters() -> None:
    net = torch.nn.Linear(2, 1)
    with gv.record() as rec:
        for p in net.parameters():
            p.register_hook(lambda g: g * 2)
        net(torch.ones(1, 2)).sum().backward()
    assert (
        sum(
            "p.register_hook(lambda g: g * 2)" in r
            for c in scene(rec.graph).cards
            for r in [row.text for row in c.rows]
        )
        == 2
    )


def test_a_large_gradient_is_told_by_its_norm() -> None:
    with gv.record() as rec:
        x = torch.ones(3, 4, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 2)
        z = y * 1
        z.register_hook(torch.neg)
        (z + x).sum().backward()
    assert changes(rec.graph) == [
        # torch.neg: another tensor, as large
        ("(3, 4) ‖3.464‖", "(3, 4) ‖3.464‖"),
        ("(3, 4) ‖3.464‖", "(3, 4) ‖6.928‖"),
    ]
    told = [
        Story(rec.at(k + 1)).sentence() for k, e in enumerate(rec.events) if isinstance(e, Changed)
    ]
    assert told[0].startswith("The gradient went through the hook on z: 3×4 values of norm 3.464 →")
    assert told[1].startswith("The hook on y changed the gradient: ")
    assert "gradient of y was changed" in explaining.summary(rec.graph)
    with gv.record() as rec:
        x = torch.ones(3, 4, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: None)
        y.sum().backward()
    assert changes(rec.graph) == []


# --- hooks that run when .grad is filled ----------------------------------------------------------


def grow(p: torch.Tensor) -> None:
    assert p.grad is not None
    p.grad *= 10


def clear(p: torch.Tensor) -> None:
    p.grad = None


@pytest.mark.parametrize(
    ("hook", "row", "said"),
    [
        (grow, ".grad: None → 2 → hook → 20", "and a hook made that 20"),
        (clear, ".grad: set to None by a hook", "and a hook set it to None"),
        (lambda p: None, ".grad: None → 2", "it came back through x * 2"),
    ],
    ids=["grow", "clear", "look"],
)
def test_hooks_after_accumulating(
    hook: Callable[[torch.Tensor], None], row: str, said: str
) -> None:
    with gv.record() as rec:
        x = leaf()
        x.register_post_accumulate_grad_hook(hook)
        (x * 2).backward()
    assert row in rows(rec.graph, "x")
    assert "x.register_post_accumulate_grad_hook(hook)" in rows(rec.graph, "x")
    assert said in explaining.summary(rec.graph)
    (event,) = (e for e in rec.events if isinstance(e, Accumulated))
    assert event.stored == (None if x.grad is None else preview.values(x.grad.tolist()))
    assert changes(rec.graph) == []


def test_hooks_after_accumulating_twice_and_unseen() -> None:
    x = leaf()
    x.register_post_accumulate_grad_hook(grow)
    with gv.record() as rec:
        (x * 2).backward()
        (x * 3).backward()
    assert "backward 2: arrives 3 · .grad 20 → 23 → unknown change → 230" in rows(rec.graph, "x")
    assert "and something unknown made that 230" in explaining.summary(rec.graph)


# --- nothing else is affected ---------------------------------------------------------------------


def test_hooks_run_in_their_order_with_what_torch_gives_them() -> None:
    def run() -> tuple[list[tuple[str, str]], torch.Tensor]:
        seen: list[tuple[str, str]] = []
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        for factor in (2, 5):
            hook = Noting(lambda g, factor=factor: g * factor)
            hook.seen = seen
            y.register_hook(hook)
        x.register_hook(lambda g: seen.append(("leaf", str(g.tolist()))))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(("stored", str(p.grad))))
        (y * y).sum().backward()
        assert x.grad is not None
        return seen, x.grad

    plain = run()
    with gv.record():
        recorded = run()
    assert plain[0] == recorded[0]
    assert torch.equal(plain[1], recorded[1])


def test_a_recording_keeps_neither_hooks_nor_their_tensors() -> None:
    class Held:
        def __call__(self, grad: torch.Tensor) -> None: ...

    with gv.record() as rec:
        x = leaf()
        y = x * 2
        hook = Held()
        handle = y.register_hook(hook)
        y.backward()
        assert y._backward_hooks is not None
        assert len(y._backward_hooks) == 1
        gone = [weakref.ref(hook), weakref.ref(y), weakref.ref(y._backward_hooks)]
        del hook, y, handle
        gc.collect()
        assert [r() for r in gone] == [None] * 3
    assert "    then handle = y.register_hook(hook)" in rec.figure().text.split("\n")


def test_a_full_log_forgets_hooks_and_says_that_much() -> None:
    with gv.record(max_events=12) as rec:
        x = leaf()
        x.register_hook(TIMES)
        for _ in range(12):
            x * 2
        (x * 3).backward()
    assert "3 → unknown change → 30" in rec.figure().text
    assert any(note.kind is NoteKind.DROPPED for note in rec.graph.notes)


# programs do such things
@pytest.mark.filterwarnings("ignore:(Converting a tensor|To copy construct):UserWarning")
@pytest.mark.parametrize("block", range(4))
def test_random_programs_change_gradients_only_by_their_hooks(block: int) -> None:
    """Their hooks multiply by 1.5. No gradient of the others may be said to have changed."""
    met = 0
    for seed in range(40 * block, 40 * block + 40):
        program = programs.build(programs.statement_seeds(seed))
        _, rec = record_program(program, f"<program {seed}>")
        for event in rec.events:
            if isinstance(event, Changed):
                met += 1
                assert event.hooks, (seed, event)
                factor = 1.5 ** len(event.hooks)
                pairs = zip(numbers(event.before), numbers(event.after), strict=True)
                assert all(
                    after == pytest.approx(before * factor, rel=2e-3) for before, after in pairs
                ), (seed, event)
    assert met or block


def numbers(text: str | None) -> list[float]:
    return (
        [float(n) for n in (text or "").replace("[", "").replace("]", "").split(",")]
        if not preview.unread(text or "")
        else []
    )


def test_sums_in_low_precision_are_not_taken_for_changes() -> None:
    r = random.Random(0)
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.complex64):
        with gv.record() as rec:
            x = torch.tensor([0.1, 0.7, -3.3], dtype=dtype, requires_grad=True)
            parts = [x * r.uniform(-9, 9) for _ in range(20)]
            torch.stack(parts).sum().abs().backward()
        assert changes(rec.graph) == []


def test_chips_keep_both_values_on_lines_of_their_own() -> None:
    assert chip_lines("1 → hook → 10") == ["1 → hook → 10"]
    assert chip_lines("[1, 1, 1] → hook → [10, 10, 10]") == ["[1, 1, 1] → hook", "→ [10, 10, 10]"]
