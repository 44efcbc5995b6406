"""What a picture shows of a tensor is what stands in it, whatever wrote it: ways to write, kinds of
aliases, modes."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
import torch
from sampling import sampled
from torch import nn

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Wrote

F = nn.functional


def below_the_modes(x):
    """As functions of C++ extensions and TorchScript do."""
    with torch._C.DisableTorchFunction():
        x.mul_(3)


def fill_by_numpy(x):
    x.detach().numpy().fill(8)


def other_data(x):
    x.data = torch.full(x.shape, 6.0)


def one_element(x):
    x[(0,) * x.dim()] = 9


def subtract(x):
    x -= 4


# Ways to write that the recording sees: each is told as a Wrote.
SEEN = {
    "add_": lambda x: x.add_(5),
    "add_ of zero": lambda x: x.add_(0),
    "mul_": lambda x: x.mul_(x),
    "sqrt_ to nan": lambda x: x.neg_().sqrt_(),
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(7),
    "copy_": lambda x: x.copy_(torch.full(x.shape, 3.5)),
    "clamp_": lambda x: x.clamp_(max=1.5),
    "uniform_": lambda x: x.uniform_(),
    "masked_fill_": lambda x: x.masked_fill_(x > 1, -1),
    "index_fill_": lambda x: x.index_fill_(0, torch.tensor([0]), 4.0),
    "x[0] =": one_element,
    "x -= 4": subtract,
    "out=": lambda x: torch.add(torch.ones(x.shape), 1, out=x),
    "out= of torch.sum": lambda x: torch.mul(x, 2, out=x),
    "_foreach_add_": lambda x: torch._foreach_add_([x], 2.0),
    "_foreach_copy_": lambda x: torch._foreach_copy_([x], [torch.full(x.shape, 2.5)]),
    "relu(inplace=True)": lambda x: F.relu(x.sub_(2), inplace=True),
    "relu(x, True)": lambda x: F.relu(x.sub_(2), True),
    "leaky_relu_": lambda x: F.leaky_relu(x.sub_(2), 0.5, True),
    "nn.ReLU": lambda x: nn.ReLU(inplace=True)(x.sub_(2)),
    "Hardtanh": lambda x: nn.Hardtanh(-0.5, 0.5, inplace=True)(x),
    "nn.init": lambda x: nn.init.constant_(x, 0.25),
    ".data": lambda x: x.data.mul_(10),
    ".detach()": lambda x: x.detach().mul_(10),
    "addcmul_": lambda x: x.addcmul_(x, x, value=0.5),
    "dropout": lambda x: F.dropout(x, 1.0, True, True),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "t_": lambda x: x.t_(),
    ".data =": other_data,
}
# Ways past it: no Wrote can be asked for, but the values must be right all the same.
UNSEEN = {
    "numpy": fill_by_numpy,
    "set_": lambda x: x.set_(torch.full(x.shape, 1.25)),
    "C++": below_the_modes,
    "storage": lambda x: x.untyped_storage().fill_(0),
}
ALIASES = {
    "no alias": lambda x: x * 1,
    "view": lambda x: x.view(-1),
    "element": lambda x: x[0:1],
    "two steps": lambda x: x.view(-1)[1:],
    "transposed": lambda x: x.t() if x.dim() == 2 else x.view(1, -1),
    "detached": lambda x: x.detach(),
    ".data": lambda x: x.data,
    "expanded": lambda x: x.unsqueeze(0).expand(2, *x.shape),
    "unbound": lambda x: x.unbind(0)[1],
    "chunk": lambda x: x.chunk(2)[0],
    "through numpy": lambda x: torch.from_numpy(x.detach().numpy()),
    "as_tensor": lambda x: torch.as_tensor(x.detach().numpy()),
    "dlpack": lambda x: torch.from_dlpack(x.detach()),
    "set_": lambda x: torch.empty(0).set_(x.detach()),
}
PLAIN, NO_GRAD, INFERENCE = contextlib.nullcontext, torch.no_grad, torch.inference_mode
# Where the tensor is made, where its alias is, and where it is written.
MODES = {
    "grad mode": (PLAIN, PLAIN, PLAIN),
    "no_grad": (PLAIN, NO_GRAD, NO_GRAD),
    "inference tensors": (INFERENCE, INFERENCE, INFERENCE),
    "normal tensors in inference mode": (PLAIN, INFERENCE, INFERENCE),
    "inference tensors under no_grad": (INFERENCE, INFERENCE, NO_GRAD),
    "an alias made in inference mode, under no_grad": (PLAIN, INFERENCE, NO_GRAD),
}


def shown(rec: gv.recording.Recording, tensor: torch.Tensor) -> Any:
    state = rec.find(tensor)
    assert state is not None
    return state.shape, state.values


def truth(tensor: torch.Tensor) -> Any:
    return tuple(tensor.shape), preview.values(tensor.tolist())


def run(
    write: Any, alias: Any, mode: str, *, through: bool, used: bool, shape: tuple[int, ...]
) -> Any:
    """Write ``x`` or its alias in a recording. Returns the recording and all tensors that it met,
    by name."""
    made_in, alias_made_in, written_in = MODES[mode]
    found = {}
    with gv.record() as rec:
        with made_in():
            found["x"] = x = torch.arange(1.0, 5.0).reshape(shape)
        with alias_made_in():
            found["y"] = y = alias(x)
        with written_in():
            found["before"] = x + 0
            found["before y"] = y + 0
            write(y if through else x)
            if used:
                found["after"] = x + 0
                found["after y"] = y + 0
    return rec, found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", sampled([*SEEN, *UNSEEN], 10))
def test_what_is_shown_at_the_end_is_what_is_there(way, mode):
    write, tried, refusals = {**SEEN, **UNSEEN}[way], 0, set()
    for kind, alias in ALIASES.items():
        for through in (False, True):
            for used in (False, True):
                for shape in ((4,), (2, 2)):
                    try:
                        rec, found = run(
                            write, alias, mode, through=through, used=used, shape=shape
                        )
                    except (RuntimeError, IndexError, UserWarning) as refusal:
                        refusals.add(str(refusal))
                        # torch refuses this write through this alias, or advises against it
                        continue
                    tried += 1
                    case = kind, through, used, shape
                    for name, tensor in found.items():
                        assert shown(rec, tensor) == truth(tensor), (name, case)
                    check_sums(rec, case)
                    if way in SEEN:
                        assert any(isinstance(e, Wrote) for e in rec.events), case
    if mode == "inference tensors under no_grad" and not tried:
        assert any("inference tensor" in refusal.lower() for refusal in refusals)
    else:
        assert tried >= 30, "torch refuses most of these"


def check_sums(rec, case):
    """``x + 0`` is drawn beside the very numbers that it read."""
    graph = rec.graph
    for call in graph.calls:
        if call.function == "add" and call.source and call.source.code.endswith("+ 0"):
            read, made = graph.tensor[call.inputs[0]], graph.tensor[call.outputs[0]]
            assert read.values == made.values, (call, case)


def test_every_write_is_on_the_card():
    """The first panel of the course."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gv.record() as rec, torch.inference_mode():
        b = torch.empty_like(a).copy_(a)
    state = rec.find(b)
    assert state.values == "[1, 2, 3]"
    (cut,) = rec.cuts
    assert (cut.reason.value, rec.graph.tensor[cut.output_id].object_id) == (
        "inference_mode",
        state.object_id,
    )
    text = str(rec.figure())
    assert "torch.empty_like(a).copy_(a)" in text
    assert "then" not in text.replace("then torch.empty_like(a).copy_(a)", "")


@pytest.mark.parametrize("count", [3, 300])
def test_a_write_to_a_large_inference_tensor_is_told_though_its_values_are_not_read(count):
    ways = {
        "add_": lambda x: x.add_(0),
        "setitem": one_element,
        "out": lambda x: torch.mul(x, 2, out=x),
        "inplace": lambda x: F.relu(x, inplace=True),
        "foreach": lambda x: torch._foreach_mul_([x], 2.0),
    }
    for way, write in ways.items():
        with gv.record() as rec, torch.inference_mode():
            x = torch.zeros(count)
            y = x.view(-1)
            x + 0
            write(x)
            F.relu(y)
            y.contiguous()
            F.dropout(y, 0.5, False)
        wrote = [e for e in rec.events if isinstance(e, Wrote) and not e.alias]
        assert len(wrote) == 1, way
        assert rec.graph.tensor[wrote[0].after_id].object_id == rec.find(x).object_id


def test_nan_is_no_change():
    with gv.record() as rec:
        n = torch.tensor([float("nan"), 1.0])
        n.requires_grad_(False)
        with torch.inference_mode():
            x = torch.tensor([float("nan"), 1.0])
            x + 0
            x + 0
            x.view(-1) + 0
    assert [e for e in rec.events if isinstance(e, Wrote)] == []
    assert len({t.id for t in rec.graph.tensors if t.object_id == rec.find(x).object_id}) == 1
    assert rec.find(n).values == "[nan, 1]"


def test_running_statistics():
    bn = nn.BatchNorm1d(2)
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
    with gv.record() as rec:
        for _ in range(3):
            y = bn(x)
        y.sum().backward()
        bn.eval()
        bn(x)
    for buffer in (bn.running_mean, bn.running_var, bn.num_batches_tracked):
        assert rec.find(buffer).values == preview.values(buffer.tolist())
    states = {s.state.value for n in rec.graph.nodes for s in n.saved}
    assert states <= {"available", "freed"}


def test_what_the_last_look_finds_is_no_event_and_belongs_to_the_whole_only():
    a = torch.tensor([1.0, 2.0])
    with gv.record() as rec:
        b = a * 2
        a.untyped_storage().fill_(0)
    assert (rec.find(a).values, rec.find(b).values) == ("[0, 0]", "[2, 4]")
    assert [type(e).__name__ for e in rec.events] == ["Called"]
    assert [t.values for t in rec.at(1).tensors] == ["[1, 2]", "[2, 4]", "[0, 0]"]
    assert [t.values for t in rec.at(0).tensors] == []


def test_a_deferred_view_is_not_asked_for_its_grad_fn():
    """Reading it would build its node anew, earlier than the program does."""
    a = torch.ones(4, requires_grad=True)
    with gv.record() as rec:
        b = a * 1
        v = b[0:2]
        b.mul_(2)
        before = torch._C._autograd._get_sequence_nr()
    assert torch._C._autograd._get_sequence_nr() == before
    assert rec.find(v).values == "[2, 2]"
