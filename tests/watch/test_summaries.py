"""How the numbers of large tensors are spread: torch's own mean, std, min, max, histc and counts are
the oracle, whatever the kind of tensor, and nothing of the user's is touched by asking."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

import gradviz as gv
from gradviz.graph.records import Graph, Summary
from gradviz.watch.capture import capture
from gradviz.watch.recorder import Recorder
from gradviz.watch.summaries import BINS, summary_of

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
KINDS = (torch.int64, torch.int32, torch.int8, torch.uint8, torch.bool)


def check(tensor: torch.Tensor, found: Summary | None) -> None:
    """Compare a summary with what torch says of the same numbers, all of them at once."""
    assert found is not None
    plain = tensor.detach()
    assert found.numel == plain.numel()
    assert found.zeros == int((plain == 0).sum())
    assert found.nan == int(plain.isnan().sum())
    assert found.inf == int(plain.isinf().sum())
    finite = plain[plain.isfinite()].reshape(-1)
    if not finite.numel():
        assert found[1:5] == (None,) * 4
        return
    wide = finite.double()
    assert (found.min, found.max) == (finite.min().item(), finite.max().item())
    assert type(found.min) is type(finite.min().item())
    assert found.mean is not None
    scale = float(wide.abs().max())
    assert math.isclose(found.mean, float(wide.mean()), rel_tol=1e-9, abs_tol=1e-12 * scale)
    if finite.numel() == 1:
        assert found.std is None
    else:
        assert found.std is not None
        assert math.isclose(found.std, float(wide.std()), rel_tol=1e-9, abs_tol=1e-12 * scale)
    if wide.min() == wide.max():
        assert found.bins == ()
    else:
        assert list(found.bins) == torch.histc(wide, BINS).tolist()


def of_every_dtype(seed: int, n: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    drawn = torch.randn(n, dtype=torch.float64) * 10 ** float(torch.randint(-3, 3, ()))
    some = torch.rand(n)
    drawn[some < 0.1] = 0.0
    floats = [drawn.to(dtype) for dtype in FLOATS]
    for tensor in floats[1:]:
        tensor[some > 0.95] = math.nan
        tensor[(some > 0.9) & (some <= 0.95)] = math.inf if seed % 2 else -math.inf
    return [*floats, *(torch.randint(0, 100, (n,)).to(dtype) for dtype in KINDS)]


@pytest.mark.parametrize("n", [9, 1000, 300_000])
def test_it_is_what_torch_says(n: int) -> None:
    for tensor in of_every_dtype(n, n):
        check(tensor, summary_of(tensor))


@given(st.lists(st.floats(width=32), min_size=9, max_size=40))
def test_it_is_what_torch_says_of_any_floats(numbers: list[float]) -> None:
    tensor = torch.tensor(numbers, dtype=torch.float32)
    check(tensor, summary_of(tensor))


def test_whatever_the_memory_looks_like() -> None:
    a = torch.randn(40, 50)
    for view in (a.t(), a[::3, 5:], a[:1].expand(30, 50), a.view(2, 20, 50).transpose(0, 2)):
        check(view, summary_of(view))
    check(torch.ones(9), summary_of(torch.ones(9)))
    twelve = torch.full((12,), math.nan)
    check(twelve, summary_of(twelve))
    twelve[3] = 2.5
    check(twelve, summary_of(twelve))
    imaginary = torch.randn(20, dtype=torch.complex64).conj().imag
    assert imaginary.is_neg()
    check(imaginary, summary_of(imaginary))


def test_of_float64_and_int64_at_their_ends() -> None:
    huge = torch.tensor([-1.7e308, 1.7e308] * 5, dtype=torch.float64)
    found = summary_of(huge)
    assert found is not None
    assert (found.min, found.max, found.bins) == (-1.7e308, 1.7e308, ())
    assert found.std is None  # float64 does not hold it
    whole = torch.arange(9) + (2**62)
    found = summary_of(whole)
    assert found is not None
    assert (found.min, found.max) == (2**62, 2**62 + 8)


def test_complex_numbers_have_no_order() -> None:
    numbers = torch.zeros(10, dtype=torch.complex64)
    numbers[0] = complex(math.nan, 1)
    assert summary_of(numbers.conj()) == Summary(10, None, None, None, None, 9, 1, 0)


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        raise AssertionError(f"the user's code ran: {func}")


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls):  # type: ignore[no-untyped-def]
        return torch.Tensor._make_wrapper_subclass(cls, (20,), dtype=torch.float32)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        raise AssertionError(f"the user's code ran: {func}")


def fake() -> torch.Tensor:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(20)


def emptied() -> torch.Tensor:
    tensor = torch.ones(20)
    tensor.untyped_storage().resize_(8)
    return tensor


UNREAD = {
    "few": lambda: torch.ones(8),
    "none": lambda: torch.ones(0, 3),
    "meta": lambda: torch.ones(20, device="meta"),
    "sparse": lambda: torch.eye(9).to_sparse(),
    "sparse csr": lambda: torch.eye(9).to_sparse_csr(),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(9), torch.ones(8)]),
    "fake": fake,
    "wrapper subclass": Wrapper,
    "without all of its memory": emptied,
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(20), 0.1, 0, torch.qint8),
    "above the limit": lambda: torch.ones(()).expand(10_000_001),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_what_is_not_read(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about prototypes
        tensor = UNREAD[kind]()
        assert summary_of(tensor) is None
        assert summary_of(tensor, anywhere=True) is None
        with gv.record(summaries=True) as rec:
            torch.is_tensor(tensor)
        assert Graph.from_json(rec.graph.to_json()) == rec.graph


def test_no_code_of_the_user_s_runs_and_nothing_is_changed() -> None:
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            raise AssertionError(f"a mode ran: {func}")

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            raise AssertionError(f"a mode ran: {func}")

    w = torch.randn(20, requires_grad=True)
    before = (w * 1).grad_fn._sequence_nr()  # type: ignore[union-attr]
    random, loud = torch.random.get_rng_state(), torch.ones(20).as_subclass(Loud)
    with Mode():
        assert summary_of(w) is not None
        assert summary_of(loud) is not None
    with Dispatch():
        assert summary_of(w) is None  # it would see how it is read
    with torch.inference_mode():
        inference = torch.ones(20)
    assert summary_of(inference) is not None
    with torch.inference_mode():
        assert summary_of(w) is not None
    assert torch.func.vmap(lambda x: (summary_of(x), x)[1])(torch.ones(2, 20)).sum() == 40
    assert w._version == 0
    assert w.grad is None
    assert torch.equal(torch.random.get_rng_state(), random)
    after = (w * 1).grad_fn._sequence_nr()  # type: ignore[union-attr]
    assert after == before + 1


# --- where it is asked for ------------------------------------------------------------------------


def test_a_capture_reads_what_the_graph_leads_to() -> None:
    w, data = torch.randn(20, 3, requires_grad=True), torch.randn(1000)
    h = w * 2
    graph = capture(h.sum(), names={"h": h, "w": w, "data": data})
    by_name = {t.name: t for t in graph.tensors}
    check(w, by_name["w"].summary)
    check(h, by_name["h"].summary)
    assert by_name["data"].summary is None
    assert by_name["w"].values is None
    assert Graph.from_json(graph.to_json()) == graph
    without = capture(h.sum(), names={"h": h}, summaries=False)
    assert all(t.summary is None for t in without.tensors)
    check(data, capture(data).tensors[0].summary)


def test_a_capture_stops_at_ten_million() -> None:
    wide = torch.ones(()).expand(6_000_000)
    found = capture(wide, wide.view(2, -1), torch.zeros(9))
    assert [t.summary and t.summary.numel for t in found.tensors] == [6_000_000, None, 9]


def test_an_outline_reads_no_large_tensor() -> None:
    net = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(6)))
    loss = net(torch.ones(1, 4)).sum()
    assert all(t.summary is None for t in gv.show(loss, model=net).graph.tensors)
    small = gv.show(net[0](torch.ones(1, 4)).sum(), model=net[0])
    assert [t.name for t in small.graph.tensors if t.summary] == ["weight"]
    whole = gv.show(loss, model=net, fold=False)
    assert sum(t.summary is not None for t in whole.graph.tensors) == 6


def test_a_recording_reads_only_what_was_asked_for() -> None:
    def run(**asked: bool) -> gv.Recording:
        with gv.record(**asked) as rec:
            h = (w * 2).relu()
            with torch.no_grad():
                w.mul_(3)
            h.sum().backward()
        return rec

    w = torch.randn(20, requires_grad=True)
    plain = run()
    assert type(plain._recorder) is Recorder
    assert all(t.summary is None for t in plain.graph.tensors)
    first, w.grad = w.detach().clone(), None
    asked = run(summaries=True)
    states = [t for t in asked.graph.tensors if t.name == "w"]
    check(first, states[0].summary)  # as it was when it was met
    check(first * 3, states[-1].summary)  # and after the write
    h = next(t for t in asked.graph.tensors if t.name == "h")
    check((first * 2).relu(), h.summary)
    assert w.grad is not None
    assert states[-1].grad == "(20,)"
    assert Graph.from_json(asked.graph.to_json()) == asked.graph
    assert [c.function for c in asked.graph.calls] == [c.function for c in plain.graph.calls]
    assert [n.name for n in asked.graph.nodes] == [n.name for n in plain.graph.nodes]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
@pytest.mark.parametrize("values", [False, True])
def test_a_gpu_is_read_only_where_values_asks_for_it(values: bool) -> None:
    w = torch.randn(20, device="cuda", requires_grad=True)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("default" if values else "error")
    try:
        graph = capture(w * 2)
        with gv.record(values=values, summaries=True) as rec:
            w * 2
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(t.summary is None for t in graph.tensors)
    found = next(t for t in rec.graph.tensors if t.name == "w").summary
    if values:
        check(w, found)
    else:
        assert found is None
