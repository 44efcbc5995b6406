"""Ordinary code as people write it: names, cuts and gradients that once came out wrong. PyTorch
says what is right."""

from __future__ import annotations

import copy
import pickle
import traceback
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Accumulated, CutReason, SavedState
from gradviz.watch import backward


def names(rec: gv.Recording) -> set[str]:
    return {t.name for t in rec.graph.tensors if t.name}


def cuts(rec: gv.Recording) -> list[tuple[CutReason, str | None]]:
    return [(c.reason, rec.graph.tensor[c.input_id].name) for c in rec.cuts]


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def test_a_helpers_parameter_has_the_name_that_its_caller_passed() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    a, b = leaf(), leaf()
    with gv.record() as rec:
        double(a)
        y = double(b)
        s = y.sum()
    del s
    assert names(rec) == {"a", "b", "y", "s"}
    made = next(
        c for c in rec.graph.calls if [rec.graph.tensor[o].name for o in c.outputs] == ["y"]
    )
    assert made.source is not None
    assert made.source.code == "y = x * 2"


def test_what_a_library_makes_inside_is_not_named_after_the_statement() -> None:
    a = leaf()
    with gv.record() as rec:
        d = torch.distributions.Normal(a, torch.ones(2))
        z = d.rsample()
        p = d.log_prob(z)
        p.sum().backward()
    assert "d" not in names(rec)
    assert [t.name for t in rec.graph.tensors].count("p") == 1
    assert a.grad is not None


def test_a_number_times_a_tensor_names_the_tensor() -> None:
    n = 3
    with gv.record() as rec:
        y = GLOBAL * n
    del y
    assert names(rec) == {"GLOBAL", "y"}


GLOBAL = leaf()


def test_module_hooks_and_parametrizations() -> None:
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), nn.ReLU())
    net[0].register_full_backward_hook(lambda module, gi, go: None)
    x = leaf(1.0, 2.0)
    with gv.record() as rec:
        y = net(x[None])
        y.sum().backward()
    assert {"x", "y", "net.0.bias", "net.0.parametrizations.weight.original0"} <= names(rec)
    y_states = {t.object_id for t in rec.graph.tensors if t.name == "y"}
    assert y_states == {rec.find(y).object_id}  # type: ignore[union-attr]


def test_a_backward_longer_than_the_log_leaves_a_recording_that_can_be_read() -> None:
    a = leaf()
    with gv.record(max_events=5) as rec:
        x = a
        for _ in range(10):
            x = x * 2
        x.sum().backward()
    assert "were dropped" in rec.notes[0]
    for step in range(len(rec.events) + 1):
        rec.at(step)


def test_the_end_of_a_long_training_loop_is_whole() -> None:
    net, x = nn.Linear(2, 1), torch.ones(1, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with gv.record(max_events=300) as rec:
        for _ in range(100):
            optimizer.zero_grad()
            net(x).pow(2).mean().backward()
            optimizer.step()
    graph = rec.graph
    last = [e for e in graph.events if isinstance(e, Accumulated)][-2:]
    filled = {graph.tensor[graph.node[e.node_id].leaf_id].name for e in last}  # type: ignore[index]
    assert filled == {"net.weight", "net.bias"}
    assert rec.find(net.bias).values == preview.values(net.bias.tolist())  # type: ignore[union-attr]


def test_autocasts_cached_weight_is_connected() -> None:
    layer, x = nn.Linear(2, 1), torch.ones(1, 2)
    with gv.record() as rec, torch.autocast("cpu", dtype=torch.bfloat16):
        layer(x)
        y = layer(x)
    assert torch.autograd.grad(y.sum(), layer.weight)[0] is not None
    assert cuts(rec) == []


def test_results_saved_by_an_identity_hook_are_connected() -> None:
    a = leaf()
    with gv.record() as rec:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = a.exp()
        y.sum().backward()
    assert a.grad is not None
    assert cuts(rec) == []


class Views(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x, x.view(-1), y * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] + grads[1], grads[2] * 2


def test_views_of_inputs_out_of_a_custom_function() -> None:
    a, b = leaf(), leaf()
    with gv.record() as rec:
        h = a * 1
        p, q, r = Views.apply(h, b)
        (p.sum() + q.sum() + r.sum()).backward()
    assert a.grad is not None
    assert cuts(rec) == []
    assert [c.function for c in rec.graph.calls].count("Views.apply") == 1


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_weights_read_by_a_checkpoint_that_no_gradient_enters() -> None:
    frozen, w = torch.ones(2), leaf()
    with gv.record() as rec:
        out = checkpoint(lambda h: h * w, frozen, use_reentrant=True)
    assert not out.requires_grad
    assert [reason for reason, _ in cuts(rec)] == [CutReason.NO_GRAD]


def test_leaves_that_a_backward_inside_the_backward_fills() -> None:
    layer, x = nn.Linear(2, 2), leaf()
    with gv.record() as rec:
        out = checkpoint(lambda h: torch.relu(layer(h)), x[None] * 1, use_reentrant=True)
        out.sum().backward()
    assert layer.weight.grad is not None
    assert rec.find(layer.weight).grad is not None  # type: ignore[union-attr]
    assert "never reached" not in rec.figure().text


def test_a_gradient_that_is_added_to_in_place() -> None:
    a = leaf()
    (a * 2).sum().backward()
    with gv.record() as rec:
        g = a.grad
        assert g is not None
        g.zero_()
        (a * 3).sum().backward()
    assert rec.find(g).values == "[3, 3]"  # type: ignore[union-attr]


def test_a_result_overwritten_through_data_stays_overwritten_after_the_backward() -> None:
    a = leaf()
    with gv.record() as rec:
        out = a.sigmoid()
        out.data.zero_()
        out.sum().backward()
    assert a.grad is not None
    assert a.grad.tolist() == [0, 0]  # silently wrong
    saved = [s.state for n in rec.graph.nodes if n.name == "SigmoidBackward0" for s in n.saved]
    assert saved == [SavedState.OVERWRITTEN]


def test_an_error_leaves_the_block_with_the_frames_it_has_without_us() -> None:
    def run(recorded: bool) -> list[str]:
        a = leaf()
        try:
            if recorded:
                with gv.record():
                    a.sum().backward(torch.ones(5))
            else:
                a.sum().backward(torch.ones(5))
        except RuntimeError as error:
            return [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        raise AssertionError("torch accepted a gradient of the wrong shape")

    assert run(True) == run(False)


def test_misuse_is_told_clearly() -> None:
    with gv.record() as rec:
        leaf().sum()
    with pytest.raises(gv.GradvizError, match=r"used already"), rec:
        pass
    with pytest.raises(gv.GradvizError, match=r"there is no step 'x'"):
        rec.at("x")  # type: ignore[arg-type]
    for bad in (0, -1, 2.5, True):
        with pytest.raises(gv.GradvizError, match=r"max_events= was given"):
            gv.record(max_events=bad)  # type: ignore[arg-type]
    for take in (copy.deepcopy, pickle.dumps):
        with pytest.raises(gv.GradvizError, match=r"its graph can: rec.graph"):
            take(rec)
    assert copy.deepcopy(rec.graph) == rec.graph


class LazyObject:
    """Like the proxies of web frameworks: its class is only known while something is active."""

    @property
    def __class__(self) -> type:
        raise RuntimeError("outside of context")


def test_a_lazy_global_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "LAZY", LazyObject())
    with gv.record() as rec:
        GLOBAL.sum()
    assert "GLOBAL" in names(rec)


def test_an_overridable_function_without_a_hash() -> None:
    class Double:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, t: torch.Tensor) -> torch.Tensor:
            if torch.overrides.has_torch_function((t,)):
                return torch.overrides.handle_torch_function(self, (t,), t)  # type: ignore[no-any-return]
            return t * 2

    with gv.record() as rec:
        assert Double()(leaf()).tolist() == [2, 4]
    assert "unhashable" in rec.notes[0]


def test_names_known_at_the_end_reach_a_graph_that_was_looked_at_before() -> None:
    n = 3
    with gv.record() as rec:
        y = GLOBAL * n
        del y
        assert rec.graph.calls
    assert "GLOBAL" in names(rec)


def test_a_failure_of_ours_inside_a_hook_does_not_stop_the_backward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("ours")

    a = leaf()
    with gv.record() as rec:
        loss = (a * 2).sum()
        monkeypatch.setattr(backward.Watch, "_measure", fail)
        loss.backward()
    assert a.grad is not None
    assert a.grad.tolist() == [2, 2]
    assert any("ours" in note for note in rec.notes)


def test_hooks_that_could_not_all_be_set_are_taken_away_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_hooks: list[Any] = []

    class Failing(backward._Node):
        def __init__(self, *args: Any) -> None:
            if len(set_hooks) == 2:
                raise ValueError("ours")
            set_hooks.append(args)
            super().__init__(*args)

        def before(self, grads: Any) -> None:
            ran.append(1)

        def after(self, sent: Any, arrived: Any) -> None:
            ran.append(1)

    ran: list[int] = []
    a = leaf()
    loss = (a * 2).exp().sum()
    monkeypatch.setattr(backward, "_Node", Failing)
    with gv.record() as rec:
        loss.backward()
    assert len(set_hooks) == 2
    assert ran == []
    assert any("ours" in note for note in rec.notes)
