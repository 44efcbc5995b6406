"""Huge graphs are observed, dropped and outlived. Each runs in a process that must end with exit
code 0."""

from __future__ import annotations

import gc
import textwrap

import pytest
import torch
from crash import OBSERVERS, survives
from sampling import sampled

pytestmark = pytest.mark.dear(5)  # each in a process of its own

observers = pytest.mark.parametrize("observer", OBSERVERS)


@observers
def test_chain_of_200_000_nodes(observer):
    printed = survives(
        """
        def build():
            h = x
            for _ in range(200_000):
                h = h * 1.0
            return (h,)
        made, held = observe(build)
        del made
        print("freed")
        """,
        observer=observer,
    )
    assert printed == "freed\n"


@observers
def test_stack_of_200_000_steps_where_the_hidden_state_outlives_the_loss(observer):
    printed = survives(
        """
        def build():
            h, steps = x, []
            for _ in range(200_000):
                h = h * 1.0
                steps.append(h)
            return torch.stack(steps).sum(), h
        (loss, hidden), held = observe(build)
        del loss
        print("loss freed")
        hidden.sum().backward()
        print(x.grad.tolist())
        del hidden
        print("freed")
        """,
        observer=observer,
    )
    assert printed == "loss freed\n[1.0, 1.0, 1.0]\nfreed\n"


@observers
def test_chain_of_50_000_nodes_on_a_thread_with_512_KB(observer):
    printed = survives(
        """
        def build():
            h = x
            for _ in range(50_000):
                h = h * 1.0
            return (h,)
        def main():
            made, held = observe(build)
            del made
            print("freed")
        threading.stack_size(512 * 1024)
        thread = threading.Thread(target=main)
        thread.start()
        thread.join()
        """,
        observer=observer,
    )
    assert printed == "freed\n"


@observers
def test_growing_chain_observed_300_times(observer):
    """Each look is at 700 new operations, and (by capture) at some that were seen before."""
    printed = survives(
        """
        h = x
        def build():
            global h
            for _ in range(700):
                h = h * 1.0
            return (h,)
        for _ in range(300):
            observe(build, limit=1_000)
        del h
        print("freed")
        """,
        observer=observer,
    )
    assert printed == "freed\n"


# Shapes in which many paths are long, or many edges skip far. Each makes `made`, a list of tensors
# to drop in order.
SHAPES = {
    "wide layers": (
        """
        import random
        rng = random.Random(0)
        layer = [x * float(i + 1) for i in range(50)]
        for _ in range(1_500):
            mixed = torch.stack(rng.sample(layer, 7)).sum(0)
            layer = [rng.choice(layer) + mixed for _ in range(50)]
        made = layer
        del layer, mixed
    """
    ),
    "ladder": (
        """
        a, b = x * 1, x * 2
        for _ in range(60_000):
            a, b = a + b * 0, b * 1.0
        made = [a, b]
        del a, b
    """
    ),
    "U-net, a skip kept": (
        """
        h, skips = x * 1, []
        for _ in range(40_000):
            h = h * 1.0
            skips.append(h)
        kept = skips[20_000]
        while skips:
            h = h + skips.pop()
        made = [h, kept]
        del h, kept
    """
    ),
    "in-place on views": (
        """
        h = x
        for _ in range(25_000):
            b = h.clone()
            b[0].mul_(2)
            h = b
        made = [h]
        del h, b
    """
    ),
    "custom Functions": (
        """
        class Same(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                return a * 1.0
            @staticmethod
            def backward(ctx, g):
                return g
        h = x
        for _ in range(60_000):
            h = Same.apply(h)
        made = [h]
        del h
    """
    ),
    "double backward": (
        """
        h = x
        for _ in range(12_000):
            h = (h * 1.0001).sin()
        made = [*torch.autograd.grad(h.sum(), x, create_graph=True), h]
        del h
    """
    ),
    "gc cycle": (
        """
        class Box: pass
        h = x
        for _ in range(60_000):
            h = (h * h).tanh()
        box = Box()
        box.me, box.h = box, h
        made = [h]
        del h, box
    """
    ),
}


@pytest.mark.parametrize("shape", sampled([*SHAPES], 3))
def test_shapes_on_a_thread_with_512_KB(shape):
    printed = survives(f"""
from gradviz.watch.walk import walk
def main():
{textwrap.indent(textwrap.dedent(SHAPES[shape]), "    ")}
    walk([t.grad_fn for t in made])
    while made:
        made.pop(0)
    gc.collect()
    print("freed")
threading.stack_size(512 * 1024)
thread = threading.Thread(target=main)
thread.start()
thread.join()
""")
    assert printed == "freed\n"


def test_graph_that_lives_until_the_interpreter_ends():
    survives("""
        def build():
            h = x
            for _ in range(100_000):
                h = h * 1.0
            return (h,)
        sys.modules["torch"].kept_by_the_user = observe(build)
        """)


def test_many_short_walks_that_see_only_part():
    """Nodes at the limit are seen but not walked; a chain of such glimpses must be as safe as a
    walk."""
    survives("""
        from gradviz.watch.walk import walk
        h = x
        for _ in range(1_000):
            for _ in range(200):
                h = h * 1.0
            walk([h.grad_fn], limit=100)
        del h
        """)


def test_recorded_side_branches_of_an_unrecorded_chain():
    """The chain's own nodes are seen only from the side, each from another branch."""
    survives("""
        from gradviz.watch.walk import guard_new
        h = x
        for _ in range(60_000):
            h = h * 1.0
            y = (h.tanh() + 1) * 2
            guard_new((y * y).grad_fn)
        del y, h
        """)


def test_the_tests_above_would_notice():
    """Without guards the same chain kills its process, from torch 2.13 on: if torch frees wrapped
    nodes without nesting one day, the guards can go, and this test says so."""
    without_guards = """
        import gradviz.watch.walk
        gradviz.watch.walk.guard = lambda *_: None
        h = x
        for _ in range(200_000):
            h = h * 1.0
        gradviz.watch.walk.walk([h.grad_fn])
        del h
        print("freed")
        """
    if wrappers_live_as_long_as_nodes():
        with pytest.raises(AssertionError, match="exit code -11"):
            survives(without_guards)
    else:
        assert survives(without_guards) == "freed\n"


def wrappers_live_as_long_as_nodes():
    """Whether a node keeps its Python wrapper after the last reference to that is gone."""
    x = torch.ones(1, requires_grad=True)
    result = x * 2
    gc.collect()
    before = wrapped_leaves()
    assert result.grad_fn.next_functions
    return wrapped_leaves() > before


def wrapped_leaves():
    """How many AccumulateGrad nodes have a Python wrapper, those of other tests included."""
    return sum(type(each).__name__ == "AccumulateGrad" for each in gc.get_objects())
