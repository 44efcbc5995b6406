"""Observing changes nothing: every visible result is bit-identical with and without a recording."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any

import programs
import pytest
import torch
import torch.nn.functional as F
from sampling import sampled
from torch import nn
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.watch import identity as objects

PROGRAMS, BLOCK = 600, 100
TORCH, GRADVIZ = (str(Path(package.__file__).parent) for package in (torch, gv))


@pytest.fixture(autouse=True)
def _warn_always():
    """So that a warning that torch shows once a process is compared, too."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def look(read):
    """What a property says, or how it refuses."""
    try:
        return read()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def data(t):
    """The bits of a tensor."""
    if t is None or not isinstance(t, torch.Tensor):
        return None
    if t.layout is torch.sparse_coo:
        return data(t.coalesce().indices()), data(t.coalesce().values())
    with torch.no_grad():
        return (
            str(t.dtype),
            tuple(t.shape),
            t.detach().resolve_conj().contiguous().view(-1).cpu().numpy().tobytes(),
        )


def state(t):
    """Everything that a user can see of a tensor."""
    reads = {
        "data": lambda: data(t),
        "requires_grad": lambda: t.requires_grad,
        "is_leaf": lambda: t.is_leaf,
        "version": lambda: t._version,
        "grad": lambda: data(t.grad) if t.is_leaf or t.retains_grad else None,
        "retains_grad": lambda: t.retains_grad,
        "grad_fn": lambda: t.grad_fn and t.grad_fn.name(),
        "output_nr": lambda: t.output_nr,
        "type": lambda: type(t).__name__,
        "hooks": lambda: len(t._backward_hooks or ()),
        "base": lambda: t._base is not None,
        "inference": lambda: t.is_inference(),
        "stride": lambda: t.stride(),
        "attributes": lambda: sorted(vars(t)),
    }
    return {name: look(read) for name, read in reads.items()}


def global_hooks():
    module = nn.modules.module
    tables = [
        v
        for k, v in sorted(vars(module).items())
        if k.startswith("_global") and hasattr(v, "__len__")
    ]
    return [len(t) for t in tables], module._has_any_global_hook()


def surroundings():
    """State of torch and Python outside of any tensor."""
    return {
        "rng": torch.get_rng_state().numpy().tobytes(),
        "python rng": random.getstate(),
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "modes": len(_get_current_function_mode_stack()),
        "module hooks": global_hooks(),
        "gc": (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)),
        "anomaly": torch.is_anomaly_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "default dtype": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "excepthook": sys.excepthook,
        "recursion": sys.getrecursionlimit(),
        "warning filters": list(warnings.filters),
    }


def users_frames(error):
    """The frames of a traceback that are neither torch's nor, while the block still runs, the
    recorder's."""
    ours = (TORCH, GRADVIZ)
    return [
        (f.filename, f.lineno, f.name)
        for f in traceback.extract_tb(error.__traceback__)
        if not f.filename.startswith(ours)
    ]


def outcome(run, *, recorded):
    """Values, error, warnings and surroundings of one run of ``run(values)``, which fills a
    dictionary."""
    values = {}
    torch.manual_seed(1)
    random.seed(1)
    error = None
    with warnings.catch_warnings(record=True) as warned, contextlib.ExitStack() as stack:
        warnings.simplefilter("always")
        if recorded:
            stack.enter_context(gv.record())
        try:
            run(values)
        except Exception as raised:
            frames = users_frames(raised)
            error = (
                type(raised),
                str(raised),
                frames,
                raised.__cause__ is None,
                raised.__context__ is None,
            )
            del raised
        during = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        torch.set_grad_enabled(True)
    return {
        "values": {n: state(v) for n, v in values.items() if isinstance(v, torch.Tensor)},
        "numbers": {
            n: v for n, v in values.items() if isinstance(v, (int, float, str, bool, list))
        },
        "error": error,
        "warnings": [(w.category, str(w.message)) for w in warned],
        "surroundings": surroundings(),
        "during": during,
    }


def differences(run):
    """What differs between a plain and a recorded run."""
    plain, recorded = outcome(run, recorded=False), outcome(run, recorded=True)
    found = [k for k in plain if k != "values" and plain[k] != recorded[k]]
    report = [f"{k}: {plain[k]!r} without, {recorded[k]!r} with a recording" for k in found]
    for name, before in plain["values"].items():
        after = recorded["values"].get(name, {})
        report += [
            f"{name}.{k}: {v!r} without, {after.get(k)!r} with"
            for k, v in before.items()
            if after.get(k) != v
        ]
    return report


# random programs, among them many that raise ------------------------------------------------------


def program_runner(program):
    def run(values):
        space = dict(programs.NAMES)
        try:
            for _, code in program.split("<passive>"):
                exec(code, space)
        finally:
            values.update((n, v) for n, v in space.items() if n not in programs.NAMES)

    return run


@pytest.mark.parametrize("risky", [False, True], ids=["ordinary", "with-writes-into-saved-tensors"])
@pytest.mark.parametrize(
    "first", sampled(range(0, PROGRAMS, BLOCK), 2), ids=lambda n: f"programs-{n}-{n + BLOCK - 1}"
)
def test_random_programs_run_the_same(first, risky):
    def found(seeds):
        return differences(program_runner(programs.build(seeds, risky=risky)))

    for seed in range(first, first + BLOCK):
        seeds = programs.statement_seeds(seed)
        if found(seeds):
            small = programs.shrink(seeds, lambda fewer: bool(found(fewer)))
            text = programs.build(small, risky=risky).text
            pytest.fail("\n".join([f"program {seed}, shrunk:", text, *found(small)]), pytrace=False)


def test_the_risky_programs_do_raise():
    raised = 0
    for seed in range(100):
        run = program_runner(programs.build(programs.statement_seeds(seed), risky=True))
        raised += outcome(run, recorded=False)["error"] is not None
    assert raised > 5


def test_nodes_run_in_the_same_order():
    """Sequence numbers decide it, and reading a stale view's grad_fn uses one up."""

    def order(recorder):
        ran = []
        with recorder():
            a = torch.ones(4, requires_grad=True)
            h = a * 2
            v, w = h[0:2], h[2:4]
            v.mul_(3)
            p = a.exp()
            q = w * 5
            r = a.sin()
            loss = (p.sum() + q.sum()) + (r.sum() + v.sum())
        todo = [loss.grad_fn]
        while todo:
            node = todo.pop()
            node.register_prehook(lambda g, node=node: ran.append(node.name()))
            todo += [n for n, _ in node.next_functions if n is not None]
        loss.backward()
        return ran

    assert order(gv.record) == order(contextlib.nullcontext)


# real modules -------------------------------------------------------------------------------------


def training(model, x, make_optimizer):
    def run(values):
        torch.manual_seed(0)
        net, inputs = model(), x()
        optimizer = make_optimizer(net.parameters())
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            y = net(inputs)
            loss = (y[0] if isinstance(y, tuple) else y).pow(2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        values.update(net.named_parameters())
        values.update(net.named_buffers())
        values.update(losses=losses, y=y[0] if isinstance(y, tuple) else y, loss=loss)

    return run


def sgd(p):
    return torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01)


def adam(p):
    return torch.optim.Adam(p, lr=0.01)


def adam_fused(p):
    return torch.optim.Adam(p, lr=0.01, fused=True)


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.inner, self.reentrant = (
            nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh()),
            reentrant,
        )

    def forward(self, x):
        x = self.inner(x)
        return checkpoint(self.inner, x, use_reentrant=self.reentrant)


TRAININGS = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2)),
        lambda: torch.randn(5, 3),
        sgd,
    ),
    "convnet": (
        lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten()),
        lambda: torch.randn(2, 1, 4, 4),
        adam,
    ),
    "lstm": (lambda: nn.LSTM(3, 2, 2, dropout=0.5), lambda: torch.randn(4, 1, 3), adam_fused),
    "transformer": (
        lambda: nn.TransformerEncoderLayer(4, 2, 8),
        lambda: torch.randn(3, 1, 4),
        adam,
    ),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3)),
        lambda: torch.tensor([1, 2, 3]),
        sgd,
    ),
    "checkpoint": (lambda: Checkpointed(False), lambda: torch.randn(2, 3), sgd),
    "reentrant checkpoint": (lambda: Checkpointed(True), lambda: torch.randn(2, 3), sgd),
    "weight norm": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)),
        lambda: torch.randn(2, 3),
        sgd,
    ),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_training_is_bit_identical(name):
    assert differences(training(*TRAININGS[name])) == []


# single things ------------------------------------------------------------------------------------

CASES = []


def case(function):
    """A program that fills ``values``."""
    CASES.append(function)
    return function


@case
def double_backward(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    (values["g"],) = torch.autograd.grad((a.exp() * a).sum(), a, create_graph=True)
    values["g"].pow(2).sum().backward()


@case
def backward_with_create_graph(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    (a**3).sum().backward(create_graph=True)
    values["grad"] = a.grad
    a.grad = None


@case
def gradients_of_gradients_with_inputs(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["h"] = h = a * a
    h.sum().backward(inputs=[h], retain_graph=True)
    h.sum().backward(inputs=a)


@case
def user_hooks_change_gradients(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["h"] = h = a * 2
    values["seen"] = seen = []
    a.register_hook(lambda g: seen.append(g.tolist()))
    h.register_hook(lambda g: g * 2)
    h.grad_fn.register_hook(lambda gi, go: seen.append((len(gi), len(go))))
    h.grad_fn.register_prehook(lambda go: (go[0] * 3,))
    a.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    h.sum().backward()


@case
def user_hook_raises(values):
    values["a"] = a = torch.randn(3, requires_grad=True)

    def refuse(g):
        raise ValueError("no gradient for you")

    values["h"] = h = a * 2
    h.register_hook(refuse)
    h.sum().backward()


@case
def user_hook_on_a_node_raises(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    h = (a * 2).exp()

    def refuse(inputs, outputs):
        raise KeyError("node")

    h.grad_fn.next_functions[0][0].register_hook(refuse)
    h.sum().backward()


@case
def shapes_that_do_not_fit(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["b"] = a * 2
    a @ torch.ones(4)


@case
def error_in_a_module(values):
    nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2))(torch.ones(1, 3))


@case
def second_backward_through_a_freed_graph(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["loss"] = loss = (a * a).sum()
    loss.backward()
    loss.backward()


@case
def saved_tensor_changed_in_place(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["h"] = h = a.exp()
    h.add_(1)
    h.sum().backward()


@case
def leaf_changed_in_place(values):
    values["a"] = a = torch.ones(3, requires_grad=True)
    a.add_(1)


@case
def backward_of_something_untracked(values):
    torch.ones(3).sum().backward()


@case
def backward_of_something_not_scalar(values):
    values["a"] = a = torch.ones(3, requires_grad=True)
    (a * 2).backward()


@case
def numpy_of_a_tracked_tensor(values):
    values["a"] = a = torch.ones(3, requires_grad=True)
    a.numpy()


@case
def wrong_arguments(values):
    torch.mul(torch.ones(3))


@case
def unknown_attribute(values):
    torch.ones(3).no_such_attribute  # noqa: B018


@case
def unused_input_of_grad(values):
    values["a"], values["b"] = a, b = (
        torch.ones(3, requires_grad=True),
        torch.ones(3, requires_grad=True),
    )
    torch.autograd.grad((a * 2).sum(), [a, b])


@case
def custom_function_raises(values):
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ZeroDivisionError("backward")

    values["a"] = a = torch.ones(3, requires_grad=True)
    Broken.apply(a).sum().backward()


@case
def custom_functions(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    p, q = programs.Blend.apply(programs.Square.apply(a), a)
    values["best"], values["where"] = programs.Best.apply(p * q)
    values["step"] = programs.Step.apply(a)
    values["best"].sum().backward()


@case
def warnings_are_shown_where_they_were(values):
    values["a"] = a = torch.ones(3, requires_grad=True)
    values["b"] = torch.tensor(a)
    values["grad"] = (a * 2).grad
    warnings.warn("the user's own", UserWarning, stacklevel=1)


@case
def views_made_under_no_grad_then_written(values):
    values["a"] = a = torch.randn(4, requires_grad=True)
    values["h"] = h = a * 2
    with torch.no_grad():
        values["v"] = h[0:2]
    values["p"], values["q"] = h.chunk(2)
    h.mul_(3)
    h.sum().backward()


@case
def stale_view_of_a_buffer_is_refused(values):
    values["a"] = a = torch.randn(4, requires_grad=True)
    values["k"] = k = torch.ones(4)
    values["v"] = v = k.view_as(k)
    k.mul_(a)
    v -= a


@case
def inference_tensors(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    with torch.inference_mode():
        values["i"] = i = a * 2
        i.add_(1)
    a * i


@case
def random_numbers(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["d"] = F.dropout(a, 0.5)
    values["r"] = torch.rand_like(a) + torch.bernoulli(torch.full((3,), 0.5)) + torch.randperm(3)
    values["n"] = random.random()


@case
def retain_grad_and_accumulation(values):
    values["a"] = a = torch.randn(3, requires_grad=True)
    values["h"] = h = a * 2
    h.retain_grad()
    for _ in range(3):
        (h * h).sum().backward(retain_graph=True)


@case
def saved_tensors_hooks_count_the_same(values):
    counts = {"pack": 0, "unpack": 0}

    def pack(t):
        counts["pack"] += 1
        return t.clone()

    def unpack(t):
        counts["unpack"] += 1
        return t

    values["a"] = a = torch.randn(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        h = (a.exp() * a).sin()
    h.sum().backward()
    values["counts"] = [counts["pack"], counts["unpack"]]


@case
def checkpoint_recomputes_as_often(values):
    calls = []

    def inner(x):
        calls.append(1)
        return F.dropout(x.exp(), 0.5)

    values["a"] = a = torch.randn(3, requires_grad=True)
    checkpoint(inner, a, use_reentrant=False).sum().backward()
    checkpoint(inner, a * 2, use_reentrant=True).sum().backward()
    values["calls"] = len(calls)


@case
def autocast(values):
    values["a"] = a = torch.randn(2, 2, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        values["b"] = a @ a
    values["b"].float().sum().backward()


@case
def functional_transforms(values):
    k = torch.randn(3)
    values["g"] = torch.func.grad(lambda x: (x**3).sum())(k)
    values["v"] = torch.func.vmap(lambda x: x * 2 + 1)(k)
    values["j"] = torch.func.jacrev(torch.sin)(k)
    values["h"] = torch.func.vmap(torch.func.grad(lambda x: x.sin() * x))(k)
    net = nn.Linear(3, 2)
    values["f"] = torch.func.functional_call(net, dict(net.named_parameters()), (k,))


@case
def a_mode_of_the_user(values):
    names = []

    class Mine(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            names.append(func.__name__)
            return func(*args, **(kwargs or {}))

    values["a"] = a = torch.randn(3, requires_grad=True)
    with Mine():
        values["b"] = b = (a * 2).detach() + a
        b.sum().backward()
    values["names"] = names


@case
def a_subclass_of_the_user(values):
    seen = []

    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs or {})

    values["s"] = s = torch.randn(3).as_subclass(Sub).requires_grad_()
    values["t"] = t = (s * 2).exp()
    t.mul_(2)
    t.sum().backward()
    values["seen"] = seen


@case
def a_tensor_like_class_of_the_user(values):
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mine"

    values["x"] = torch.add(torch.ones(2), Like())


@case
def suspended_generator(values):
    def produce():
        with torch.no_grad():
            yield torch.ones(2) * 2

    for x in produce():
        values["x"] = x


@case
def a_class_whose_repr_raises(values):
    class Rude:
        def __repr__(self):
            raise RuntimeError("repr")

    values["a"] = a = torch.ones(3, requires_grad=True)
    a.rude = Rude()
    values["b"] = a * 2


@case
def exotic_tensors(values):
    values["sparse"] = s = torch.eye(3).to_sparse().requires_grad_()
    values["dense"] = torch.sparse.mm(s, torch.ones(3, 1))
    values["dense"].sum().backward()
    values["complex"] = z = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    (z * z.conj()).real.sum().backward()
    values["half"] = torch.ones(3, dtype=torch.bfloat16, requires_grad=True) * 2


@case
def handwritten_steps(values):
    values["w"] = w = torch.randn(3, requires_grad=True)
    for _ in range(3):
        (w * w).sum().backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    w.data.mul_(2)
    w.data = torch.ones(3)


@pytest.mark.parametrize("run", CASES, ids=lambda f: f.__name__)
def test_same_with_and_without_a_recording(run):
    assert differences(run) == []


# hooks left behind, the caller's surroundings -----------------------------------------------------


def test_nothing_of_gradviz_runs_once_the_block_is_left():
    with gv.record():
        a = torch.ones(3, requires_grad=True)
        h = a.exp()
        loss = (h * h).sum()
        loss.backward(retain_graph=True)
    files = set()

    def watch(frame, event, argument):
        files.add(frame.f_code.co_filename)

    sys.setprofile(watch)
    try:
        loss.backward()
        b = a * 2
        nn.Linear(3, 3)(b).sum().backward()
    finally:
        sys.setprofile(None)
    assert [f for f in files if f.startswith(GRADVIZ)] == []


def test_nothing_of_gradviz_runs_after_a_backward_that_raised():
    with gv.record():
        a = torch.ones(3, requires_grad=True)
        h = a.exp()
        g = h.sin()
        h.add_(1)
        with pytest.raises(RuntimeError, match="inplace"):
            g.sum().backward()
    called = []
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_filename))
    try:
        (a.exp().sum() * 2).backward()
        look(lambda: g.sum().backward())
    finally:
        sys.setprofile(None)
    assert [f for f in called if f.startswith(GRADVIZ)] == []


def test_surroundings_come_back_after_an_exception():
    before = surroundings()

    def fail():
        with gv.record():
            torch.ones(3, requires_grad=True) * 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert surroundings() == before


LEAVING = {
    "torch function": lambda: torch.ones(3, requires_grad=True) @ torch.ones(4),
    "module": lambda: nn.Linear(3, 2)(torch.ones(1, 4)),
    "backward": lambda: torch.ones(3, requires_grad=True).backward(),
    "user's own": lambda: 1 / 0,
}


@pytest.mark.parametrize("name", LEAVING)
def test_the_traceback_of_an_error_that_leaves_the_block_has_no_frame_of_ours(name):
    def fail(recorder):
        with recorder():
            LEAVING[name]()

    def frames(recorder):
        with pytest.raises((RuntimeError, ZeroDivisionError)) as caught:
            fail(recorder)
        files = {f.filename for f in traceback.extract_tb(caught.value.__traceback__)}
        assert [f for f in files if f.startswith(GRADVIZ)] == []
        return type(caught.value), str(caught.value), users_frames(caught.value)

    assert frames(gv.record) == frames(contextlib.nullcontext)


def test_compile_with_fullgraph():
    def f(x):
        return (x * 2).sin() + x.detach()

    a = torch.randn(3, requires_grad=True)
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    with gv.record():
        first = compiled(a)
    torch._dynamo.reset()
    plain = torch.compile(f, backend="eager", fullgraph=True)(a)
    torch._dynamo.reset()
    assert torch.equal(first, plain)
    assert first.grad_fn.name() == plain.grad_fn.name()


def test_another_thread_is_neither_recorded_nor_disturbed():
    result = {}
    inside, go_on = threading.Event(), threading.Event()

    def work():
        inside.wait(10)
        a = torch.full((3,), 2.0, requires_grad=True)
        b = a.detach()
        (a * a).sum().backward()
        result.update(
            grad=a.grad.tolist(), modes=len(_get_current_function_mode_stack()), cut=b.requires_grad
        )
        go_on.set()

    thread = threading.Thread(target=work)
    thread.start()
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        inside.set()
        assert go_on.wait(10)
        (a * 3).sum().backward()
    thread.join()
    graph = rec.graph
    assert result == {"grad": [4.0, 4.0, 4.0], "modes": 0, "cut": False}
    assert a.grad.tolist() == [3.0, 3.0, 3.0]
    assert list(graph.cuts) == []
    assert len(graph.backwards) == 1


def test_two_threads_record_at_once():
    graphs = {}
    barrier = threading.Barrier(2)

    def work(name):
        with gv.record() as rec:
            barrier.wait(10)
            a = torch.ones(3, requires_grad=True)
            for _ in range(20):
                b = a * 2
            b.detach()
            b.sum().backward()
            barrier.wait(10)
        graphs[name] = rec.graph

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert {len(g.cuts) for g in graphs.values()} == {1}
    assert {len(g.calls) for g in graphs.values()} == {len(graphs[0].calls)}


def test_nested_recordings():
    def run(values):
        values["a"] = a = torch.randn(3, requires_grad=True)
        with gv.record() as inner:
            values["b"] = a.detach()
        values["c"] = c = a * 2
        c.sum().backward()
        values["inner"] = len(inner.cuts)

    assert differences(run) == []
    with gv.record() as outer:
        a = torch.ones(3, requires_grad=True)
        with gv.record() as inner:
            b = a.detach()
        c = b.data + a.data
    assert [len(outer.cuts), len(inner.cuts)] == [2, 1]
    assert c.requires_grad is False


def test_a_mode_of_the_user_around_the_block_sees_the_same_calls():
    def calls(recorder):
        names = []

        class Mine(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                names.append(func.__name__)
                return func(*args, **(kwargs or {}))

        with Mine(), recorder():
            a = torch.ones(3, requires_grad=True)
            h = (a * 2).clone()
            h[0:2].mul_(2)
            with torch.no_grad():
                a.detach().add_(1)
            programs.Best.apply(h)[0].sum().backward()
        return names

    assert calls(gv.record) == calls(contextlib.nullcontext)


def test_collector_is_left_alone():
    collections = sum(s["collections"] for s in gc.get_stats())
    gc.disable()
    try:
        with gv.record() as rec:
            a = torch.ones(3, requires_grad=True)
            (a * 2).sum().backward()
        rec.graph  # noqa: B018
        assert not gc.isenabled()
        assert sum(s["collections"] for s in gc.get_stats()) == collections
    finally:
        gc.enable()


def test_numbers_of_hooks_on_tensors_and_nodes():
    with gv.record():
        a = torch.ones(3, requires_grad=True)
        h = a * 2
        h.sum().backward(retain_graph=True)
        handle = h.register_hook(lambda g: None)
    assert len(h._backward_hooks) == 1
    handle.remove()
    assert len(h._backward_hooks) == 0
    assert not a._backward_hooks
    assert not getattr(a, "_post_accumulate_grad_hooks", None)
    assert dict(a.__dict__) == {}


def test_a_failure_of_ours_where_memory_is_handed_out_is_a_note(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(objects.Objects, "expose", broken)
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        b = a * 2
        assert b.data_ptr() != 0
    assert any("ours" in note for note in rec.notes)
