"""What a recording measures of gradients too large to keep: right, passive, plain data; and what is
told from it."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import gradviz as gv
from gradviz.graph.records import Graph, NodeKind, NodeRan
from gradviz.watch import backward
from gradviz.watch.norms import norm, norm_there, read_there
from gradviz.why.answering.answer import explain_small, explain_tensor
from gradviz.why.evidence.paths import Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64]
LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": torch.clone,
    "transposed": torch.t,
    "strided": lambda t: t[::2],
    "expanded": lambda t: t[:1].expand(30, 40),
    "tiny": lambda t: t * 1e-6,
    "zeros": torch.zeros_like,
}


def ran(rec: gv.Recording) -> list[NodeRan]:
    return [e for e in rec.events if isinstance(e, NodeRan)]


def told(make: Callable[[], nn.Module]) -> Explanation:
    torch.manual_seed(0)
    with gv.record() as rec:
        net = make()
    return explain_small(dict(net.named_parameters()), rec)


# --- one norm -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_norm_is_torchs_and_broken_only_where_the_gradient_is(
    dtype: torch.dtype, layout: str
) -> None:
    torch.manual_seed(0)
    grad = LAYOUTS[layout](torch.randn(30, 40)).to(dtype)
    wide = grad.to(torch.complex128 if grad.is_complex() else torch.float64)
    there: list[Any] = [norm_there(grad)]
    read_there(there)
    assert there[0] == pytest.approx(float(torch.linalg.vector_norm(wide)))
    assert norm(grad) == pytest.approx(there[0], rel=1e-3)
    for value, test in ((math.inf, math.isinf), (math.nan, math.isnan)):
        grad = grad.clone()
        grad[3, 4] = value
        found: list[Any] = [norm(grad), norm_there(grad)]
        read_there(found)
        assert all(map(test, found))


@pytest.mark.parametrize("value", [1e30, 1e-40, 1e200, 1e-300])
def test_squares_out_of_range_are_no_inf_and_no_zero(value: float) -> None:
    dtype = torch.float32 if 1e-45 < value < 1e38 else torch.float64
    assert norm(torch.full((100,), value, dtype=dtype)) == pytest.approx(10 * value, rel=1e-4)


# --- in a recording -------------------------------------------------------------------------------


def test_norms_are_those_of_hooks_of_torchs_own() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(16, 12), nn.Tanh(), nn.Linear(12, 12), nn.Linear(12, 9, bias=False)
    )
    x, mine = torch.randn(5, 16), list[float]()
    with gv.record() as rec:
        h = net(x)
        (h * h + h).mean().backward()
    net.zero_grad()
    h = net(x)
    loss = (h * h + h).mean()
    nodes, seen = [loss.grad_fn], set[Any]()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        node.register_hook(
            lambda sent, arrived: mine.extend(
                float(g.norm()) for g in (*arrived, *sent) if g is not None and g.numel() > 8
            )
        )
        nodes += [n for n, _ in node.next_functions]
    loss.backward()
    events = ran(rec)
    found = [float(n) for e in events for n in (*e.arrived_norms, *e.sent_norms) if n is not None]
    assert sorted(found) == pytest.approx(sorted(mine), rel=1e-3)
    assert all(len(e.arrived_norms) in (0, len(e.arrived)) for e in events)
    assert all(
        (n is None) == (t is None or not t.startswith("("))
        for e in events
        for t, n in zip(e.sent, e.sent_norms or (None,) * len(e.sent), strict=True)
    )


def test_norms_survive_json_and_older_texts_are_read() -> None:
    w = torch.zeros(20, requires_grad=True)
    with gv.record() as rec:
        w.sqrt().mul(0).sum().backward()
    graph = rec.graph
    assert any("nan" in e.sent_norms for e in ran(rec))
    assert Graph.from_json(graph.to_json()) == graph
    short = graph.replace(
        events=[
            e._replace(arrived_norms=(), sent_norms=()) if isinstance(e, NodeRan) else e
            for e in graph.events
        ]
    )
    assert Graph.from_json(short.to_json().replace(",[],[]]", "]")) == short


def test_a_hook_that_replaces_or_writes_is_measured_after_it() -> None:
    def write(grad: torch.Tensor) -> None:
        grad.fill_(4.0)

    x = torch.ones(20, requires_grad=True)
    with gv.record() as rec:
        a = x * 2
        b = a.sin()
        c = b.cos()
        a.register_hook(lambda g: g * 0 + 3)
        b.register_hook(write)
        c.sum().backward()
    found = {
        rec.graph.node[e.node_id].name: float(e.arrived_norms[0] or 0)
        for e in ran(rec)
        if e.arrived_norms
    }
    assert found["SinBackward0"] == pytest.approx(4 * math.sqrt(20), rel=1e-3)
    assert found["MulBackward0"] == pytest.approx(3 * math.sqrt(20), rel=1e-3)


def test_measuring_changes_nothing() -> None:
    class Counts(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.calls = list[str]()

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.calls.append(str(func))
            return func(*args, **(kwargs or {}))

    def run(record: bool) -> Any:
        torch.manual_seed(0)
        w = torch.randn(20, 20, requires_grad=True)
        rec = gv.record()
        loss = (w.t() @ w).tanh().sum()
        if record:
            with rec, Counts() as mode:
                (grad,) = torch.autograd.grad(loss, w, create_graph=True)
        else:
            with Counts() as mode:
                (grad,) = torch.autograd.grad(loss, w, create_graph=True)
        grad.sum().backward()
        assert w.grad is not None
        return mode.calls, grad._version, w.grad.tolist(), torch.rand(1).item()

    assert run(True) == run(False)


def test_what_cannot_be_read_is_unknown_and_nothing_fails() -> None:
    w = torch.ones(20, 20, device="meta", requires_grad=True)
    emb = nn.Embedding(50, 3, sparse=True)
    with gv.record() as rec:
        (w @ w).sum().backward()
        emb(torch.arange(20)).sum().backward()
    assert not rec.graph.notes
    assert all(t.startswith("(") for e in ran(rec) for t in e.sent if t and t != "1")
    meta = [e for e in ran(rec) if rec.graph.node[e.node_id].name == "MmBackward0"]
    assert meta[0].sent_norms == ()


def test_on_another_device_norms_wait_as_tensors_until_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = list[Any]()

    def there(grad: torch.Tensor) -> Any:
        held.append(weakref.ref(found := norm_there(grad)))  # type: ignore[type-var]
        return found

    monkeypatch.setattr(backward, "norm", there)
    w = torch.full((20,), 2.0, requires_grad=True)
    with gv.record() as rec:
        (w * 3).sum().backward()
    gc.collect()
    assert held
    assert all(ref() is None for ref in held)
    sent = [n for e in ran(rec) for n in e.sent_norms if n]
    assert [float(n) for n in sent] == pytest.approx([math.sqrt(20), 3 * math.sqrt(20)], rel=1e-3)


def test_no_gradient_is_kept_alive() -> None:
    kept = list[Any]()
    w = torch.ones(50, requires_grad=True)
    with gv.record():
        h = w * 2
        h.register_hook(lambda g: kept.append(weakref.ref(g)))
        h.exp().sum().backward()
        gc.collect()
        assert [ref() for ref in kept] == [None]


# --- what is told ---------------------------------------------------------------------------------


def test_the_node_that_made_nan_of_finite_gradients() -> None:
    def make() -> nn.Module:
        net = nn.Linear(32, 32)
        ((net(torch.randn(16, 32)) * 0).sqrt() + 1).mean().backward()
        return net

    found = told(make)
    assert found.cause in ("nan", "exploding")
    assert [found.graph.node[n].name for n in found.node_ids if found.graph] == ["SqrtBackward0"]
    assert "16×32 values of norm 0.04419 and sent 16×32 values of norm inf" in found.why


def test_a_loss_that_was_nan_blames_the_forward() -> None:
    def make() -> nn.Module:
        net = nn.Linear(32, 1)
        out = net(torch.randn(4, 32)).flatten()
        bad = (out * 0).log()
        ((bad - bad) * out).sum().backward()
        return net

    found = told(make)
    assert found.cause == "nan"
    assert not found.node_ids
    assert "(out * 0).log() is not finite in 4 of 4 elements" in found.why
    assert "log() is -inf at 0 and NaN below, and was given 0" in found.why


def test_a_nan_of_an_earlier_step_is_looked_for_there() -> None:
    def make() -> nn.Module:
        net = nn.Linear(32, 32)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in range(3):
            optimizer.zero_grad()
            h = net(torch.randn(16, 32))
            ((h * (0 if i == 1 else 1)).abs().sqrt() * h).mean().backward()
            optimizer.step()
        return net

    found = told(make)
    assert found.cause == "nan"
    assert "in backward 2 of 3" in found.why
    assert found.node_ids


def test_what_a_hook_or_the_caller_made_blames_no_node() -> None:
    def hooked() -> nn.Module:
        net = nn.Linear(32, 32)
        h = net(torch.randn(16, 32))
        h.register_hook(lambda g: g / 0)
        h.mean().backward()
        return net

    def given() -> nn.Module:
        net = nn.Linear(32, 32)
        net(torch.randn(16, 32)).backward(torch.full((16, 32), math.nan))
        return net

    found = told(hooked), told(given)
    assert not any(f.node_ids for f in found)
    assert "an overflow, or a hook" in found[0].why
    assert "started with" in found[1].why


def test_nan_that_was_there_before_is_not_of_this_backward() -> None:
    def make() -> nn.Module:
        net = nn.Linear(32, 32)
        net.weight.grad = torch.full((32, 32), math.nan)
        net(torch.randn(16, 32)).mean().backward()
        return net

    found = told(make)
    assert (found.cause, found.node_ids) == ("nan", ())
    assert "it was there before" in found.why


def test_the_factor_of_realistic_layers() -> None:
    def make() -> nn.Module:
        net = nn.Sequential(*(m for _ in range(20) for m in (nn.Linear(64, 64), nn.Sigmoid())))
        net(torch.randn(32, 64)).pow(2).mean().backward()
        return net

    found = told(make)
    assert found.cause == "vanishing"
    assert "measured: SigmoidBackward0 ×0.24" in found.why
    assert "AddmmBackward0 ×0." in found.why


def test_growth_without_a_bias_is_measured_where_it_arrives() -> None:
    def make() -> nn.Module:
        net = nn.Sequential(*(nn.Linear(64, 64, bias=False) for _ in range(20)))
        with torch.no_grad():
            for p in net.parameters():
                p.mul_(8)
        net(torch.randn(32, 64)).mean().backward()
        return net

    found = told(make)
    assert found.cause == "exploding"
    assert "where it arrives" in found.verdict
    assert "MmBackward0 ×4." in found.why


@pytest.mark.parametrize(
    ("gain", "everywhere", "cause"),
    [
        (0.6, False, "vanishing"),
        (1.5, False, "exploding"),
        (1.0, False, "healthy"),
        (0.6, True, "healthy"),
    ],
)
def test_one_cell_in_many_steps(gain: float, everywhere: bool, cause: str) -> None:
    def make() -> nn.Module:
        net = nn.RNNCell(16, 32, nonlinearity="relu")
        with torch.no_grad():
            net.weight_hh.copy_(torch.eye(32) * gain)
        h, loss = torch.zeros(4, 32), torch.zeros(())
        for _ in range(60):
            h = net(torch.rand(4, 16), h)
            loss = loss + h.mean() if everywhere else h.mean()
        loss.backward()
        return net

    assert told(make).cause == cause


def test_a_large_scale_of_a_sound_network_is_no_explosion() -> None:
    def make() -> nn.Module:
        net = nn.Sequential(
            *(m for _ in range(6) for m in (nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU()))
        )
        (net(torch.randn(32, 64) * 0.02).mean() * 65536).backward()
        return net

    assert told(make).cause == "healthy"


# --- how much work it is --------------------------------------------------------------------------


class Counted(dict[int, Any]):
    """A table of edges that counts its look-ups."""

    looked = 0

    def get(self, key: Any, otherwise: Any = None) -> Any:
        self.looked += 1
        return super().get(key, otherwise)


@pytest.mark.parametrize("state", ["some", "zero", "none"])
@pytest.mark.parametrize("cut", [False, True])
def test_all_parameters_together_cost_a_few_walks_of_the_graph(state: str, cut: bool) -> None:
    visits = []
    for layers in (20, 80):
        net = nn.Sequential(*(m for _ in range(layers) for m in (nn.Linear(4, 4), nn.ReLU())))
        with gv.record() as rec:
            h = net(torch.ones(3, 4))
            loss = (h.detach() if cut else h).sum()
            if not cut:
                loss.backward()
        graph = rec.graph
        why = Gradients(graph, [t.id for t in graph.tensors if rec.find(loss) is t])
        leaves = [n.leaf_id for n in graph.nodes if n.kind is NodeKind.ACCUMULATE_GRAD]
        table = graph.__dict__["edges_from"] = Counted(graph.edges_from)
        for i in leaves:
            explain_tensor(why, Asked("w", i, True, True, grad=state, parameter=True))
        visits.append(table.looked / len(leaves))
    assert visits[1] < 2 * visits[0]
