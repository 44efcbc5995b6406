"""``explain()``: what can be asked, in which order it answers, and that asking changes and keeps
nothing."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import gc
import sys
import types
import warnings
import weakref
from collections import Counter, OrderedDict
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Normal
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import gradviz as gv


def trained(steps: int = 1) -> tuple[nn.Module, torch.optim.Optimizer, torch.Tensor]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        loss = net(torch.randn(5, 3)).pow(2).mean()
        loss.backward()
        opt.step()
    return net, opt, loss


def test_a_module_and_a_loss() -> None:
    with gv.record() as rec:
        net, opt, loss = trained()
    for subjects in (
        (net, loss),
        ([net, loss],),
        ({"net": net, "loss": loss},),
        (loss, opt),
        (net,),
        (opt,),
    ):
        told = gv.explain(*subjects, recording=rec)
        assert told.cause == "healthy", told
        assert "4 of 4 trainable parameters have a gradient" in told.verdict
    assert rec.explain().cause == "healthy"


def test_parameters_that_share_a_fault_are_told_together() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k = nn.Linear(2, 2), nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.q(x) + self.k(x)

    net = nn.ModuleList(Block() for _ in range(3))
    head = nn.Linear(2, 1)
    with gv.record() as rec:
        h = torch.ones(1, 2)
        for block in net:
            h = block(h)
        loss = head(h.detach()).sum()
        loss.backward()
    told = rec.explain(net, head, loss)
    assert told.cause == "cut"
    assert "{0..2}.{q,k}.{weight,bias}: .grad is None: detach cuts it from loss" in told.verdict
    assert "net: 0 of 12 parameters reached · head: 2 of 2" in str(told)
    assert "h.detach()" in told.where


def test_a_loss_without_grad_fn_says_what_cannot_train() -> None:
    net = nn.Linear(3, 2)
    with gv.record() as rec:
        loss = net(torch.ones(4, 3)).argmax(1).float().mean()
    told = rec.explain(net, loss)
    assert told.cause == "no_grad_fn"
    assert told.tag == "no grad fn: non-differentiable function"
    assert told.verdict == "Nothing can train: loss has no grad_fn."
    assert "2 trainable parameters" in str(told)
    assert "0 reached" in str(told)
    assert "argmax" in told.where
    x = torch.ones(2)
    with gv.record() as rec:
        loss = (x * 2).sum()
    told = rec.explain(loss)
    assert told.cause == "no_grad_fn"
    assert "nothing that loss was computed from requires grad: x." in str(told)


def test_an_error_comes_first() -> None:
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        loss = (a * a).sum()
        loss.backward()
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
    assert rec.explain().cause == "second_backward"
    assert rec.explain(a).cause == "second_backward"
    assert gv.explain(loss, error=caught.value).cause == "second_backward"
    assert gv.explain(error=ValueError("no idea")).cause == "not_known"


def test_an_error_that_was_caught_long_ago_is_not_the_question() -> None:
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        with pytest.raises(RuntimeError):
            a.numpy()
        (a * 2).sum().backward()
    assert rec.explain(a).cause == "healthy"


def test_names_come_from_the_call() -> None:
    net = nn.Linear(2, 2)
    told = gv.explain(net.weight)
    assert "net.weight.grad is None" in told.verdict
    pair = [torch.ones(2)]
    told = gv.explain(pair[0])
    assert "pair[0].grad is None" in told.verdict
    assert "this.grad is None" in gv.explain(pair[0], names={"this": pair[0]}).verdict
    assert "weight.grad is None" in gv.explain(net.weight, model=net, names={}).verdict


def test_without_a_recording_it_says_what_one_would_add() -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = (a.detach() * b).sum()
    loss.backward()
    told = gv.explain(a, loss)
    assert told.cause == "not_known"
    assert "no gradient path leads from loss to a" in told.why
    assert "%%gradviz" in told.mend
    told = gv.explain(b, loss)
    # nothing wrong is found; a fault that leaves no trace is possible
    assert told.cause == "not_known"
    assert told.verdict.startswith("No fault is visible: b.grad is")


def test_a_recording_that_did_not_see_the_loss_is_not_used() -> None:
    a = torch.ones(3, requires_grad=True)
    with gv.record() as rec:
        torch.ones(3)
    loss = (a * 2).sum()
    told = rec.explain(a, loss)
    assert told.cause == "no_backward_yet"
    assert "did not see this loss" in str(told)


def test_what_cannot_be_explained_says_so() -> None:
    loss, net = torch.ones((), requires_grad=True) * 2, nn.Linear(2, 1)
    wrong: list[tuple[Any, str]] = [
        (lambda: gv.explain(3), "given the int 3; expected tensors, modules"),
        (lambda: gv.explain("loss"), "given the str 'loss'; expected tensors"),
        (lambda: gv.explain(), "given nothing: there is nothing to read there; expected a tensor"),
        (lambda: gv.explain([None]), "nothing to read there"),
        (
            lambda: gv.explain({"logits": None}),
            r"a dict of 1 \(0 of them tensors\): there is nothing to read there",
        ),
        (lambda: gv.explain(Output()), "nothing to read there"),
        (lambda: gv.explain(net, None), "given None; expected tensors"),
        (
            lambda: gv.explain(loss, recording=3),
            "recording was given the int 3; expected what `with gv.record",
        ),
        (
            lambda: gv.explain(loss, error="text"),
            "error was given the str 'text'; expected the exception",
        ),
        (
            lambda: gv.record().explain(loss, error="text"),
            "error was given the str 'text'; expected the exception",
        ),
        (
            lambda: gv.explain(loss, error=RuntimeError),
            "error was given the class RuntimeError; expected the exc",
        ),
        (
            lambda: gv.explain(loss, model=3),
            r"model was given the int 3; expected a torch\.nn\.Module",
        ),
        (
            lambda: gv.explain(loss, names=[loss]),
            "names was given a list of 1 .*; expected a mapping",
        ),
        (
            lambda: gv.reach({"logits": None}, net),
            "nothing in it but None: there is no loss to read",
        ),
        (lambda: gv.reach(loss, net, recording=3), "recording was given the int 3"),
        (
            lambda: gv.reach(loss, net.parameters()),
            r"expected .* dict\(net\.named_parameters\(\)\)",
        ),
        (
            lambda: gv.will_it_move(torch.optim.SGD(net.parameters()), net.parameters()),
            "named_parameters",
        ),
    ]
    for ask, message in wrong:
        with pytest.raises(gv.GradvizError, match=message):
            ask()


@dataclasses.dataclass
class Output:
    """As transformers returns them."""

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    hidden_states: tuple[torch.Tensor, ...] | None = None


class OutputMapping(OrderedDict[str, Any]):
    pass


def test_collections_generators_and_outputs_are_read() -> None:
    with gv.record() as rec:
        net = nn.Linear(3, 1)
        logits = net(torch.ones(2, 3))
        loss = logits.pow(2).mean()
        loss.backward()
    fields = {"loss": loss, "logits": logits, "hidden_states": None}
    parameters = [
        net.parameters(),
        (p for p in net.parameters()),
        net.named_parameters(),
        set(net.parameters()),
        dict(net.named_parameters()).values(),
        dict(net.named_parameters()).items(),
    ]
    outputs = [
        fields,
        Output(loss, logits, (logits,)),
        OutputMapping(fields),
        types.SimpleNamespace(**fields),
    ]
    for subjects in (
        *((p,) for p in parameters),
        *((net, o) for o in outputs),
        (net, Output(None, logits)),
    ):
        told = rec.explain(*subjects)
        assert told.cause == "healthy", told
        assert "2 of 2 trainable parameters" in told.verdict
    assert "weight.grad is" in gv.explain((p for p in [("weight", net.weight)]), names={}).verdict
    for output in (*outputs, [loss], (x for x in [loss])):
        assert gv.reach(output, net).verdict.endswith("Linear: 2 of 2 parameters reached")
    assert gv.reach(loss, {"net": net, "ema": None}).verdict == "net: 2 of 2 parameters reached"


def test_a_generator_that_is_refused_is_not_consumed() -> None:
    net = nn.Linear(3, 1)
    given = net.parameters()
    with pytest.raises(gv.GradvizError):
        gv.reach(net(torch.ones(1, 3)).sum(), given)  # type: ignore[arg-type]
    assert len(list(given)) == 2


class Adapter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.A, self.B = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.zeros(3, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.A.T @ self.B.T


def test_parameters_are_called_as_the_reader_calls_them() -> None:
    layer, layers = Adapter(), nn.ModuleList([Adapter(), Adapter()])
    with gv.record() as rec:
        (layer(torch.ones(1, 3)) + layers[1](torch.ones(1, 3))).exp().sum().backward()
    told = rec.explain(layer)
    assert "layer.A's gradient is exactly 0 because layer.B is all zeros" in str(told)
    assert "self." not in str(told).replace("@ self.", "")  # but in the code that is shown
    assert rec.explain(layer.A).verdict.startswith("layer.A's gradient")
    assert "mine.A's gradient" in gv.explain({"mine": layer}, recording=rec, names={}).more[0]
    told = gv.explain(layers[1].A, recording=rec, names={"layers": layers})
    assert told.verdict.startswith(
        "layers.1.A's gradient is exactly 0 because layers.1.B is all zeros"
    )
    assert "0.A" in str(gv.explain(layers, names={}))


def test_a_fault_that_leaves_no_error_names_the_model_by_its_variable() -> None:
    net = nn.Linear(3, 1)
    assert "shares its memory with net.weight" in gv.explain(net.state_dict(), net).verdict
    assert (
        "shares its memory with best.weight" in gv.explain(net.state_dict(), {"best": net}).verdict
    )
    assert (
        "shares its memory with Linear.weight"
        in gv.explain(net.state_dict(), net, names={}).verdict
    )


# --- optimizers: what will_it_move() knows --------------------------------------------------------


def test_what_the_next_step_does_is_told() -> None:
    with gv.record() as rec:
        net, opt, loss = trained()
    assert "Adam: of 4 parameters the next step() moves 4; 0 stay." in str(
        rec.explain(net, loss, opt)
    )
    assert "moves 4; 0 stay" in str(gv.explain(opt))


def test_a_weight_that_a_step_would_not_move() -> None:
    with gv.record() as rec:
        net, _, loss = trained()
    still = torch.optim.SGD(net.parameters(), lr=0.0)
    for told in (rec.explain(net, loss, still), rec.explain(still), gv.explain(still)):
        assert told.cause == "not_moved"
        assert told.verdict.startswith("still's next step will not move ")
        assert told.verdict.endswith(": lr is 0.")
    assert "net.{0,2}.{weight,bias}" in rec.explain(net, still).verdict
    stale = torch.optim.SGD(copy.deepcopy(net).parameters(), lr=0.1)
    told = rec.explain(net, loss, stale)
    assert told.cause == "not_moved"
    assert "stale holds none of them" in told.verdict
    head = torch.optim.SGD(net[2].parameters(), lr=0.1)  # may be meant
    told = rec.explain(net, loss, head)
    assert told.cause == "healthy"
    assert "head does not hold net.0.{weight,bias}." in told.more


def test_an_optimizer_of_one_of_two_networks_is_no_fault() -> None:
    one, other = nn.Linear(2, 3), nn.Linear(3, 1)
    opt = torch.optim.Adam(one.parameters())
    with gv.record() as rec:
        loss = other(one(torch.ones(1, 2))).sum()
        loss.backward()
    told = rec.explain(one, other, loss, opt)
    assert told.cause == "healthy"
    assert "one: 2 of 2 parameters reached · other: 2 of 2" in told.more


def test_zeros_that_adam_moves_and_a_result_in_an_optimizer() -> None:
    net = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    opt, x = torch.optim.Adam(net.parameters()), torch.ones(1, 2)
    (net[0](x) + net[1](x)).sum().backward()
    opt.step()
    opt.zero_grad(set_to_none=False)
    with gv.record() as rec:
        loss = net[0](x).sum()
        loss.backward()
    more = rec.explain(net, opt, loss).more
    assert any(
        "opt's next step moves net.1.{weight,bias}: grad is zero, but Adam's memory" in line
        for line in more
    )
    w, x = torch.zeros(3), torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    w += x
    told = gv.explain(opt)
    assert told.cause == "non_leaf_in_optimizer"
    assert told.verdict.startswith("opt holds")


# --- ruled out: only what was looked at -----------------------------------------------------------


def test_ruled_out_is_only_what_was_examined() -> None:
    a = torch.ones(3, requires_grad=True)
    loss = (a.detach() * torch.ones(3, requires_grad=True)).sum()
    told = gv.explain(a, loss)  # whether it required grad when it was used is not to be seen
    assert told.ruled_out == ("requires_grad is False", "non-leaf")
    with gv.record() as rec:
        w = torch.ones(3, requires_grad=True) * 2
    assert "cut" not in rec.explain(w).ruled_out  # there is no loss to be cut off from
    layer = Adapter()
    with gv.record() as rec:
        layer(torch.ones(1, 3)).pow(2).sum().backward()
    assert "all zeros" not in rec.explain(layer).ruled_out


def exotic() -> dict[str, Any]:
    embedding = nn.Embedding(5, 2, sparse=True)
    embedding(torch.tensor([1, 2])).sum().backward()
    chunk = torch.ones(4, requires_grad=True)
    with torch.no_grad():
        view = chunk[:2]
        chunk.add_(1)
    with torch.inference_mode():
        inference = torch.ones(2)
    return {
        "sparse grad": embedding.weight,
        "meta": torch.ones(3, device="meta", requires_grad=True),
        "view": view,
        "inference": inference,
        "empty": torch.ones(0, requires_grad=True),
        "bool": torch.tensor([True]),
        "sparse": torch.eye(2).to_sparse(),
        "complex": torch.ones(2, dtype=torch.complex64, requires_grad=True),
        "nested": torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=torch.jagged),
        "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    }


@pytest.mark.filterwarnings("ignore")
def test_exotic_tensors_are_survived() -> None:
    for name, tensor in exotic().items():
        for subjects in ((tensor,), ({name: tensor},)):
            told = gv.explain(*subjects, names={})
            assert len(str(told).splitlines()) <= 8, name
        with gv.record() as rec:
            tensor.detach()
        assert str(rec.explain(tensor))


def state_of(net: nn.Module, opt: torch.optim.Optimizer) -> list[Any]:
    return [
        *(
            (
                p._version,
                p.requires_grad,
                p.is_leaf,
                id(p.grad),
                p.grad._version,
                len(p._backward_hooks or ()),
                p.tolist(),
                p.grad.tolist(),
            )
            for p in net.parameters()
            if p.grad is not None
        ),
        [{k: v.tolist() for k, v in s.items()} for s in opt.state.values()],
        [len(m._forward_hooks) + len(m._backward_hooks) for m in net.modules()],
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    ]


@pytest.mark.parametrize("recorded", [True, False])
def test_asking_changes_nothing(recorded: bool) -> None:
    with gv.record() as rec:
        net, opt, loss = trained(2)
    before, events = state_of(net, opt), len(rec.events)
    for subjects in (
        (net, loss),
        (opt,),
        (loss,),
        (next(net.parameters()),),
        (net.state_dict(), net),
    ):
        str(gv.explain(*subjects, recording=rec if recorded else None, names={}))
    assert state_of(net, opt) == before
    assert len(rec.events) == events
    loss = net(torch.ones(1, 3)).sum()
    loss.backward()  # nothing is left in the graph that would disturb it


def test_asking_inside_a_recording_is_not_recorded() -> None:
    with gv.record() as rec:
        net, _, loss = trained()
        events = len(rec.events)
        gv.explain(net, loss, names={})
        assert len(rec.events) == events


@pytest.mark.parametrize("recorded", [True, False])
def test_an_explanation_keeps_nothing_alive(recorded: bool) -> None:
    with gv.record() as rec:
        net, opt, loss = trained()
    alive = [weakref.ref(x) for x in (net, opt, loss, *net.parameters())]
    told = [
        gv.explain(*s, recording=rec if recorded else None, names={"loss": loss})
        for s in ((net, loss), (opt,), (loss,), (next(net.parameters()), loss))
    ]
    try:
        loss.backward()
    except RuntimeError as error:
        told.append(gv.explain(loss, error=error, names={}))
    del net, opt, loss
    gc.collect()
    assert [r() for r in alive] == [None] * len(alive)
    assert len([str(t) for t in told]) == 5


# --- programs in which little or nothing is wrong -------------------------------------------------


def test_a_target_network_written_under_no_grad_is_as_it_should_be() -> None:
    q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    target = copy.deepcopy(q).requires_grad_(False)
    with gv.record() as rec:
        x = torch.randn(8, 4)
        with torch.no_grad():
            y = target(x)
        loss = (q(x + 1) - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for t, p in zip(target.parameters(), q.parameters(), strict=True):
                t.mul_(0.995).add_(p, alpha=0.005)
    assert rec.explain(target, loss).cause == "frozen"
    told = rec.explain({"q": q, "target": target}, loss)
    assert told.cause == "healthy"
    assert "4 of 4 trainable parameters have a gradient, 4 frozen;" in told.verdict
    assert all("no_grad" not in str(e) for e in (told, rec.explain(target), rec.explain(target, q)))


def test_a_teacher_that_shares_its_memory_is_told_through_its_writes() -> None:
    student, teacher = nn.Linear(6, 6), nn.Linear(6, 6)
    for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
        t.data = s.data
        t.requires_grad = False
    with gv.record() as rec:
        loss = student(torch.randn(8, 6)).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for t, s in zip(teacher.parameters(), student.parameters(), strict=True):
                t.mul_(0.9).add_(s, alpha=0.1)
    assert rec.explain(teacher, student).cause == "shared_snapshot"


def test_a_reentrant_checkpoint_that_works() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    with gv.record() as rec:
        x = torch.randn(6, 4, requires_grad=True)
        loss = checkpoint_sequential(net, 2, x, use_reentrant=True).pow(2).mean()
        before = rec.explain(net, loss)
        loss.backward()
    assert before.cause == "no_backward_yet"
    assert "4 reached, 0 not, 2 not known" in str(before)
    told = rec.explain(net, loss)
    assert (told.cause, "6 of 6" in told.verdict) == ("healthy", True)
    blind = gv.explain(net, loss)  # the gradients of the first half may be from anywhere
    assert blind.cause == "not_known"
    assert "not from" not in str(blind)
    assert "whether loss reaches it is not known" in blind.verdict
    assert "use_reentrant=False" in blind.mend


def test_a_reentrant_checkpoint_of_an_untracked_input_is_no_no_grad_of_the_users() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
    with warnings.catch_warnings(), gv.record() as rec:
        warnings.simplefilter("ignore")
        loss = net[1](checkpoint(net[0], torch.randn(3, 4), use_reentrant=True)).sum()
        loss.backward()
    for told in (rec.explain(net, loss), rec.explain(net[0].weight)):
        assert told.cause == "cut"
        assert "use_reentrant=False" in told.mend
        assert "of the no_grad" not in told.mend
    row = gv.reach(loss, net, recording=rec).rows[0]
    assert "use_reentrant=False" in row.why
    assert "no_grad" not in row.why
    with torch.no_grad(), gv.record() as rec:  # this one is the user's own
        h = checkpoint(net[0], torch.randn(3, 4, requires_grad=True), use_reentrant=True)
        with torch.enable_grad():
            loss = net[1](h).sum()
    assert "of the no_grad" in rec.explain(net[0].weight, loss).mend


def test_no_mend_of_an_inference_tensor_raises() -> None:
    with torch.inference_mode():
        feats = torch.relu(torch.randn(3, 2))
    told = gv.explain(feats)
    assert told.cause == "inference_tensor"
    assert "requires_grad_" not in told.mend
    with pytest.raises(RuntimeError, match="InferenceMode"):
        feats.requires_grad_()
    assert feats.clone().requires_grad_().requires_grad  # what the mend says


def test_a_used_up_graph_is_not_run_again() -> None:
    def used_up(how: str) -> tuple[nn.Module, torch.Tensor]:
        net = nn.Linear(4, 6)
        out = torch.sigmoid(net(torch.randn(3, 4)))
        if how == "written":
            out[:, 2:4] = out[:, 2:4] * 0.5
        if how == "before":
            with torch.no_grad():
                out.mul_(2)
            return net, out.sum()
        loss = out.pow(2).sum()
        with contextlib.suppress(RuntimeError):
            loss.backward()
        net.zero_grad()
        return net, loss

    for how in ("cleared", "written", "before"):
        net, loss = used_up(how)
        told = gv.explain(net, loss)
        assert "call backward()" not in str(told), how
        assert "compute loss anew" in told.mend
        assert ("used up" in told.verdict) == (how != "before"), told
        assert ("used up" in gv.explain(loss).verdict) == (how != "before")
        with pytest.raises(RuntimeError):
            loss.backward()


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_after_the_step_is_healthy(set_to_none: bool) -> None:
    for last in ("step", "zero"):
        net = nn.Linear(4, 1)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        with gv.record() as rec:
            for _ in range(2):
                loss = net(torch.randn(8, 4)).pow(2).mean()
                loss.backward()
                for do in ("step", "zero") if last == "zero" else ("zero", "step"):
                    opt.step() if do == "step" else opt.zero_grad(set_to_none=set_to_none)
        for told in (rec.explain(net, loss), rec.explain(net.weight), rec.explain(opt)):
            assert (told.cause == "healthy") == (last == "zero"), told
            assert ("cleared after the step" in told.verdict) == (last == "zero")


def test_a_teacher_under_no_grad_in_no_optimizer_does_not_lead() -> None:
    teacher, student = nn.Linear(8, 4), nn.Linear(8, 4)
    opt = torch.optim.Adam(student.parameters())
    with gv.record() as rec:
        x = torch.randn(16, 8)
        with torch.no_grad():
            t = teacher(x)
        loss = (student(x) - t).pow(2).mean()
        loss.backward()
        opt.step()
    assert gv.explain(recording=rec, names={"opt": opt}).cause == "healthy"
    assert gv.explain(teacher, loss, recording=rec, names={"opt": opt}).mend.endswith(
        "if it is to learn."
    )
    both = torch.optim.Adam([*student.parameters(), *teacher.parameters()])  # then it was to learn
    assert gv.explain(recording=rec, names={"opt": both}).cause == "cut"


def test_sample_is_mended_by_rsample() -> None:
    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enc, self.dec = nn.Linear(6, 4), nn.Linear(2, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            mu, logvar = self.enc(x).chunk(2, -1)
            z = Normal(mu, (0.5 * logvar).exp()).sample()
            return self.dec(z)

    net = Coder()
    with gv.record() as rec:
        loss = net(torch.randn(8, 6)).pow(2).mean()
        loss.backward()
    told = rec.explain(net.enc, loss)
    assert told.cause == "cut"
    assert told.mend.startswith("rsample()")


def test_rsample_is_no_mend_under_a_no_grad_of_the_programs_own() -> None:
    net = nn.Linear(4, 2)

    @torch.no_grad()
    def act(s: torch.Tensor) -> torch.Tensor:
        d = torch.distributions.Categorical(logits=net(s)); return d.log_prob(d.sample())  # noqa: E702  # fmt: skip

    with gv.record() as rec:
        loss = act(torch.randn(4)) * 2.0
    told = rec.explain(net, loss)
    assert "rsample" not in told.mend
    assert "no_grad" in told.mend


def test_a_head_that_took_the_place_of_another_is_in_no_optimizer() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    spare = net[1]
    net[1] = nn.Linear(8, 2)
    with gv.record() as rec:
        loss = net(torch.randn(4, 8)).pow(2).mean()
        loss.backward()
        opt.step()
    names = {"net": net, "opt": opt}
    for subjects in ((net, loss), (net, opt), (opt,)):
        for recording in (rec, None):
            told = gv.explain(*subjects, recording=recording, names=names)
            assert told.cause == "not_moved", told
            assert "net.1.{weight,bias}" in told.verdict
            assert "opt holds 2 parameters" in told.why
    # A part that was left out from the start, and one whose other half has no name here, took no
    # place.
    kept = torch.optim.SGD(net[0].parameters(), lr=0.1)
    spare(torch.randn(2, 8)).sum().backward()
    for given in ({"net": net, "kept": kept}, names):
        told = gv.explain(net, loss, recording=rec, names=given)
        assert told.cause == "left_out"
        assert "replaced" not in told.why
        assert "of 4 trainable parameters of net 2 are in an optimizer" in told.why
    assert "this tensor" not in str(gv.explain(opt, names={}))


def test_what_was_frozen_after_its_loss_got_its_gradient() -> None:
    net = nn.Linear(8, 1)
    with gv.record() as rec:
        loss = net(torch.randn(6, 8)).mean()
        loss.backward()
        net.requires_grad_(False)
    told = rec.explain(net, loss)
    assert told.cause == "frozen"
    assert "it was not when loss was computed" in told.verdict


def test_a_lazy_layer_that_has_not_run_has_no_shape() -> None:
    lazy = nn.LazyLinear(3)
    assert gv.explain(lazy).cause == "not_known"
    assert gv.explain(lazy, nn.Linear(2, 1)(torch.ones(1, 2)).sum()).cause == "not_known"


def test_of_a_model_of_more_parameters_the_work_grows_no_faster_than_they_do() -> None:
    def calls(layers: int) -> int:
        """How many functions of Python are called to answer."""
        net = nn.Sequential(*(nn.Linear(4, 4) for _ in range(layers)))
        with gv.record() as rec:
            loss = net(torch.ones(2, 4)).detach().sum() + net[0](torch.ones(2, 4)).sum()
            loss.backward()
        called = Counter[str]()
        sys.setprofile(lambda frame, event, arg: called.update([event]))
        try:
            told = rec.explain(net, loss)
        finally:
            sys.setprofile(None)
        assert told.cause == "cut"
        assert f"{2 * layers - 2} not" in str(told)
        return called["call"]

    calls(2)  # what is only done once
    assert calls(120) < 2.5 * calls(60)


def test_parameters_have_their_place_in_a_module_for_a_name_and_not_a_loops_variable() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))
    mean = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    with gv.record() as rec:
        loss = net(torch.ones(2, 3)).mean()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for mine, kept in zip(net.parameters(), mean.parameters(), strict=True):
                kept.mul_(0.9).add_(mine, alpha=0.1)
    names = {"net": net, "mean": mean, "opt": opt, "loss": loss, "mine": mine, "kept": kept}
    told = str(gv.explain(net, loss, recording=rec, names=names))
    assert "No step moves mean.{0,2}.*" in told
    assert "the values of net.{0,2}.*" in " ".join(told.split())
    asked = str(gv.explain(mine, recording=rec, names=names))
    assert asked.startswith("mine.grad ")


def test_a_program_that_was_stopped_has_no_fault_by_that() -> None:
    a = torch.ones(2, requires_grad=True)

    def train() -> None:
        (a * 2).sum().backward()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught, gv.record() as rec:
        train()
    answer = gv.explain(recording=rec, error=caught.value)
    assert (answer.cause, answer.form) == ("not_known", "stopped")
    assert "The program was stopped while this line ran (KeyboardInterrupt)" in answer.verdict
    assert answer.ruled_out == ()


def test_an_object_is_asked_about_by_what_it_holds() -> None:
    agent = types.SimpleNamespace(net=nn.Linear(2, 1), steps=3)
    agent.optimizer = torch.optim.SGD(agent.net.parameters(), lr=0.1)
    with gv.record() as recording:
        loss = agent.net(torch.ones(1, 2)).sum()
        loss.backward()
        agent.optimizer.step()
    answer = gv.explain(agent, recording=recording)
    assert "2 of 2 trainable parameters have a gradient" in str(answer)
    with pytest.raises(gv.GradvizError, match="an object of type"):
        gv.explain(types.SimpleNamespace(steps=3), recording=recording)


def test_a_module_whose_own_parameters_takes_no_arguments_is_explained() -> None:
    """Libraries give models a ``parameters()`` of their own, which lists what is to be trained."""

    class Listing(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
            self.register_full_backward_hook(lambda module, given, sent: None)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.outer(self.inner(x))

        def parameters(self) -> list[torch.nn.Parameter]:  # type: ignore[override]
            return [*self.outer.parameters()]

        def named_parameters(self) -> list[str]:  # type: ignore[override]
            raise RuntimeError("not for others")

    model = Listing()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gv.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(torch.ones(3, 2, requires_grad=True)).pow(2).mean()
            loss.backward()
            optimizer.step()
    told = gv.explain(recording=recording)
    assert "4 of 4 trainable parameters" in str(told)
