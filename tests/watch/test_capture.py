"""Reading finished graphs: topology against torch's own, every kind of tensor, freed and broken
graphs."""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradviz.graph.records import GradientEdge, GradvizError, Graph, NodeKind, SavedState
from gradviz.watch.capture import capture
from gradviz.words.notes import note_text


@pytest.fixture
def a():
    return torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


def names(graph):
    return [node.name for node in graph.nodes]


def notes(graph):
    return [note_text(note) for note in graph.notes]


def edges(graph):
    return [tuple(edge) for edge in graph.edges]


def saved(node):
    return {s.attribute: (s.tensor_id, s.saved_version, s.state) for s in node.saved}


# ---- topology ------------------------------------------------------------------------------------


def test_both_edges_of_a_times_a(a):
    graph = capture(a * a)
    assert names(graph) == ["MulBackward0", "AccumulateGrad"]
    assert edges(graph) == [(0, 0, 1, 0), (0, 1, 1, 0)]


def test_empty_slots_keep_their_index(a):
    assert edges(capture(torch.ones(3) * a)) == [(0, 0, None, 0), (0, 1, 1, 0)]
    linear = capture(nn.functional.linear(torch.ones(1, 3), torch.ones(2, 3, requires_grad=True)))
    assert (0, 0, None, 0) in edges(linear)


def test_output_nr_of_nodes_with_several_outputs(a):
    first, _, third = a.unbind()
    graph = capture(third * 2 + first, first)
    unbind = next(n for n in graph.nodes if n.name == "UnbindBackward0")
    assert sorted(e.input_nr for e in graph.edges if e.next_node_id == unbind.id) == [0, 2]
    assert graph.tensor[graph.roots[1]].gradient_edge == GradientEdge(unbind.id, 0)

    out, (hidden, cell) = nn.LSTM(2, 2)(torch.randn(3, 1, 2))
    numbers = [t.gradient_edge.output_nr for t in capture(out, hidden, cell).tensors[:3]]
    assert numbers == [out.output_nr, hidden.output_nr, cell.output_nr]


def test_against_torch_s_own_reading():
    """Nodes, names, order numbers and edges as a plain recursive reading of torch gives them."""
    model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    loss = model(torch.randn(2, 3, 8)).sum()
    seen, links = {}, []

    def visit(node):
        if node in seen:
            return
        seen[node] = node.name()
        for slot, (child, nr) in enumerate(node.next_functions):
            links.append((node.name(), slot, None if child is None else child.name(), nr))
            if child is not None:
                visit(child)

    visit(loss.grad_fn)
    graph = capture(loss, model=model)
    full = {
        n.id: n.name if n.leaf_id is None else "torch::autograd::AccumulateGrad"
        for n in graph.nodes
    }
    assert sorted(full.values()) == sorted(seen.values())
    ours = [
        (full[e.node_id], e.next_index, full.get(e.next_node_id), e.input_nr) for e in graph.edges
    ]
    assert sorted(map(str, ours)) == sorted(map(str, links))
    assert {t.name for t in graph.tensors if t.is_leaf} == {
        name for name, _ in model.named_parameters()
    }


def test_leaves_are_tied_to_their_accumulate_grad(a):
    b = torch.ones(3, requires_grad=True)
    graph = capture((a * b).sum(), names={"a": a, "b": b})
    leaves = {
        graph.tensor[n.leaf_id].name: n for n in graph.nodes if n.kind is NodeKind.ACCUMULATE_GRAD
    }
    assert sorted(leaves) == ["a", "b"]
    for node in leaves.values():
        assert graph.tensor[node.leaf_id].gradient_edge == GradientEdge(node.id, 0)
        assert node.sequence_nr is None


def test_custom_function(a):
    graph = capture(Square.apply(a), names={"a": a})
    assert graph.nodes[0].kind is NodeKind.CUSTOM_FUNCTION
    assert saved(graph.nodes[0]) == {"saved_tensors[0]": (1, 0, SavedState.AVAILABLE)}


def test_views(a):
    base = a.clone()
    view = base[1:]
    base.mul_(2)
    graph = capture(view, base, names={"view": view, "base": base})
    assert names(graph)[:2] == ["AsStridedBackward0", "MulBackward0"]
    seen, whole = graph.tensors[:2]
    assert (seen.base_id, seen.storage_id, seen.storage_offset) == (whole.id, whole.storage_id, 1)

    base = a.clone()
    base[0] = 5
    assert names(capture(base)) == ["CopySlices", "CloneBackward0", "AccumulateGrad"]


def test_double_backward(a):
    (gradient,) = torch.autograd.grad((a**3).sum(), a, create_graph=True)
    graph = capture(gradient, names={"a": a})
    assert "PowBackward0" in names(graph)
    assert graph.tensor[graph.nodes[-1].leaf_id].name == "a"


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_does_not_run_again(a, reentrant):
    runs = []

    def block(x):
        runs.append(1)
        return (x * x).exp()

    y = checkpoint(block, a, use_reentrant=reentrant)
    graph = capture(y)
    assert len(runs) == 1
    if reentrant:
        assert graph.nodes[0].kind is NodeKind.CUSTOM_FUNCTION
    else:
        assert saved(graph.nodes[0]) == {"result": (None, None, SavedState.UNKNOWN)}
    y.sum().backward()
    assert len(runs) == 2


# ---- saved tensors -------------------------------------------------------------------------------


def test_saved_tensors_are_linked_only_where_proven(a):
    b = a * a
    c = b.exp()
    graph = capture(c * 2, names={"b": b, "c": c})
    by_name = {n.name: saved(n) for n in graph.nodes}
    assert by_name["ExpBackward0"]["result"][0] == next(
        t.id for t in graph.tensors if t.name == "c"
    )
    leaf = graph.nodes[-1].leaf_id
    assert {s[0] for s in saved(graph.nodes[2]).values()} == {leaf}
    packed = torch.autograd.graph.saved_tensors_hooks(
        lambda t: t.clone(), lambda t: pytest.fail("unpacked")
    )
    with packed:
        d = a * a
    assert set(saved(capture(d).nodes[0]).values()) == {(None, None, SavedState.UNKNOWN)}


def test_freed(a):
    y = (a * torch.ones(3)).exp()
    y.sum().backward()
    graph = capture(y)
    assert names(graph) == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]
    assert saved(graph.nodes[0]) == {"result": (None, None, SavedState.FREED)}
    # nothing was saved for `self`
    assert saved(graph.nodes[1]) == {"other": (None, None, SavedState.FREED)}
    custom = Square.apply(a)
    custom.sum().backward()
    assert saved(capture(custom).nodes[0]) == {"saved_tensors": (None, None, SavedState.FREED)}


def test_changed_in_place(a):
    b = a * 1
    y = b * b
    with torch.no_grad():
        b.mul_(2)
    graph = capture(y, names={"b": b})
    assert saved(graph.nodes[0]) == {
        "self": (1, 0, SavedState.STALE),
        "other": (1, 0, SavedState.STALE),
    }
    assert graph.tensor[1].version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_written_before_it_was_saved_is_not_stale(a):
    b = a * 1
    b.mul_(2)
    assert set(saved(capture(b * b, names={"b": b}).nodes[0]).values()) == {
        (1, 1, SavedState.AVAILABLE)
    }


# ---- kinds of tensors ----------------------------------------------------------------------------


def sparse():
    return torch.sparse_coo_tensor(
        [[0, 1]], [1.0, 2.0], (3,), requires_grad=True, check_invariants=False
    )


def nested(layout):
    parts = [torch.ones(2), torch.ones(3)]
    return torch.nested.nested_tensor(parts, layout=layout, requires_grad=True)


def fake():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(2, requires_grad=True)


def inference():
    with torch.inference_mode():
        return torch.ones(2)


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"capture ran the user's code: {func}")


class Wrapper(torch.Tensor):
    @staticmethod
    def __new__(cls):
        return torch.Tensor._make_wrapper_subclass(
            cls, (2,), dtype=torch.float32, requires_grad=True
        )

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise AssertionError(f"capture ran the user's code: {func}")


def stale_view():
    base = torch.ones(4, requires_grad=True).clone()
    with torch.no_grad():
        view = base.view(2, 2)
    base.mul_(2)
    return view


KINDS = {
    "scalar": lambda: torch.tensor(2.0, requires_grad=True),
    "integer": lambda: torch.arange(3),
    "empty": lambda: torch.zeros(0, requires_grad=True),
    "bfloat16": lambda: torch.ones(2, dtype=torch.bfloat16, requires_grad=True),
    "complex": lambda: torch.ones(2, dtype=torch.complex64, requires_grad=True).conj(),
    "sparse coo": sparse,
    "sparse csr": lambda: torch.eye(3).to_sparse_csr().requires_grad_(),
    "meta": lambda: torch.ones(2, device="meta", requires_grad=True),
    "nested strided": lambda: nested(torch.strided),
    "nested jagged": lambda: nested(torch.jagged),
    "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
    "fake": fake,
    "inference": inference,
    "subclass": lambda: torch.ones(2).as_subclass(Loud),
    "wrapper subclass": Wrapper,
    "parameter": lambda: nn.Parameter(torch.ones(2)),
    "view that raises": stale_view,
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_tensor(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about prototypes
        tensor = KINDS[kind]()
        graphs = [capture(tensor, names={"t": tensor})]
        if kind not in ("wrapper subclass", "subclass", "integer", "quantized", "view that raises"):
            graphs.append(capture(tensor * 2, names={"t": tensor}))
    for graph in graphs:
        assert Graph.from_json(graph.to_json()) == graph
        assert "t" in [t.name for t in graph.tensors]


def test_inside_functorch_transforms():
    graphs = []

    def f(x):
        y = x * x
        graphs.append(capture(y, x))
        return y.sum()

    torch.func.grad(f)(torch.ones(3))
    torch.vmap(f)(torch.ones(2, 3))
    assert names(graphs[0]) == ["MulBackward0", "AccumulateGrad"]
    assert [t.values for t in graphs[0].tensors] == [None, None]


def test_unreadable_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert notes(capture(nested(torch.strided))) == ["1 of 1 tensor does not tell its shape."]
    view = stale_view()
    graph = capture(view, names={"v": view})
    assert notes(graph) == ["The grad_fn of v cannot be read: torch raises RuntimeError."]
    assert graph.tensors[0].is_leaf is None


def test_no_code_of_the_user_s_modes_runs(a):
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise AssertionError(f"capture ran a mode: {func}")

    y = a * a
    mode = Mode()
    with mode:
        capture(y, names={"a": a})


# ---- tensors and memory --------------------------------------------------------------------------


def test_tensor_fields(a):
    (a * a).sum().backward()
    leaf = capture(a, names={"a": a}).tensors[0]
    assert leaf._asdict() == {
        "id": 0,
        "name": "a",
        "object_id": 0,
        "shape": (3,),
        "stride": (1,),
        "storage_offset": 0,
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": True,
        "is_leaf": True,
        "retains_grad": False,
        "grad": "[2, 4, 6]",
        "values": "[1, 2, 3]",
        "version": 0,
        "storage_id": 0,
        "base_id": None,
        "gradient_edge": None,
        "former": None,
        "summary": None,
    }


def test_values_only_of_small_tensors():
    assert capture(torch.ones(8)).tensors[0].values == "[1, 1, 1, 1, 1, 1, 1, 1]"
    assert capture(torch.ones(9)).tensors[0].values is None


def test_shared_memory(a):
    data = a.detach()
    array = data.numpy()
    shared = {"data": data, "view": data[1:], "bridge": torch.from_numpy(array[2:])}
    other = {"clone": a.clone(), "meta": torch.ones(2, device="meta"), "empty": torch.zeros(0)}
    graph = capture(a, names=shared | other)
    ids = {t.name: t.storage_id for t in graph.tensors}
    assert {ids[name] for name in shared} == {ids[None]}
    assert ids["clone"] not in (None, ids[None])
    assert ids["meta"] is ids["empty"] is None
    assert [s.nbytes for s in graph.storages] == [12, 12]


def test_a_lazy_copy_stays_lazy():
    copy = torch._lazy_clone(torch.ones(2))
    capture(copy)
    assert torch._C._is_cow_tensor(copy)


# ---- names ---------------------------------------------------------------------------------------


def test_names_win_over_parameter_names_and_several_are_joined():
    model = nn.Linear(2, 1)
    graph = capture(model(torch.ones(2)), model=model, names={"b": model.bias, "bias": model.bias})
    assert sorted(t.name for t in graph.tensors if t.is_leaf) == ["b, bias", "weight"]


def test_a_named_tensor_off_the_path_is_a_stub(a):
    b = a * 2
    graph = capture(a * 3, names={"b": b})
    stub = graph.nodes[-1]
    assert (stub.name, stub.stub) == ("MulBackward0", True)
    assert graph.tensors[1].gradient_edge == GradientEdge(stub.id, 0)
    assert not graph.edges_from.get(stub.id)


# ---- limits, lifetime, errors --------------------------------------------------------------------


def test_limit_is_said_and_leaves_stubs(a):
    h = a
    for _ in range(10):
        h = h * 1.0
    graph = capture(h, limit=4)
    assert [n.stub for n in graph.nodes] == [False] * 4 + [True]
    assert edges(graph)[-2:] == [(3, 0, 4, 0), (3, 1, None, 0)]
    assert notes(graph) == [
        "The graph has more than 4 nodes. The nearest 4 were read; of the nodes next to them"
        " only the names, and the rest is left out."
    ]


def test_a_graph_keeps_nothing_alive(a):
    gc.collect()
    gc.disable()
    try:
        b = a * 2
        c = Square.apply(b)
        held = capture(c.sum(), names={"b": b, "c": c})
        references = [weakref.ref(t) for t in (a, b, c)]
        del b, c
        assert [r() is not None for r in references] == [True, False, False]
        assert len(held.nodes) == 4
    finally:
        gc.enable()


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_is_left_as_it_was(a, enabled):
    (gc.enable if enabled else gc.disable)()
    try:
        capture(a * 2)
        assert gc.isenabled() is enabled
    finally:
        gc.enable()


def test_gradients_and_versions_stay(a):
    y = (Square.apply(a) * a).sum()
    (before,) = torch.autograd.grad(y, a, retain_graph=True)
    capture(y, names={"a": a})
    y.backward()
    assert torch.equal(a.grad, before)
    assert a._version == 0


def test_deterministic():
    def run():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
        return capture(model(torch.ones(1, 2)), model=model)

    def without_numbers(graph):
        return graph.replace(nodes=[n._replace(sequence_nr=None) for n in graph.nodes]).to_json()

    assert without_numbers(run()) == without_numbers(run())


ERRORS = {
    "nothing": (
        lambda t: capture(),
        "capture() was given no tensor; pass the tensor whose graph you want, e.g. capture(loss)",
    ),
    "number": (
        lambda t: capture(3.5),
        (
            "capture() was given the float 3.5 as argument 1; expected a torch.Tensor: a Python"
            " number has no graph, so pass the tensor before .item() or float()"
        ),
    ),
    "list": (
        lambda t: capture(t, [t, t]),
        (
            "capture() was given a list of 2 (2 of them tensors) as argument 2; expected a"
            " torch.Tensor: pass its tensors one by one, capture(*outputs)"
        ),
    ),
    "dict": (
        lambda t: capture({"loss": t}),
        (
            "capture() was given a dict of 1 (1 of them tensors) as argument 1; expected a"
            " torch.Tensor: pass its tensors one by one, capture(*outputs.values())"
        ),
    ),
    "None": (
        lambda t: capture(None),
        (
            "capture() was given None as argument 1; expected a torch.Tensor: did the function that"
            " made it forget to return it?"
        ),
    ),
    "names": (
        lambda t: capture(t, names=[t]),
        (
            "names= was given a list of 1 (1 of them tensors); expected a mapping, e.g."
            " names={'loss': loss}"
        ),
    ),
    "a key": (
        lambda t: capture(t, names={3: t}),
        "names= was given the key 3; expected a string, e.g. names={'loss': loss}",
    ),
    "a named number": (
        lambda t: capture(t, names={"loss": 2}),
        (
            "names= was given the int 2 for 'loss'; expected a torch.Tensor: a Python number has no"
            " graph, so pass the tensor before .item() or float()"
        ),
    ),
    "model": (
        lambda t: capture(t, model=t),
        (
            "model= was given an object of type Tensor; expected a torch.nn.Module, whose"
            " named_parameters() are used"
        ),
    ),
    "limit": (
        lambda t: capture(t, limit=0),
        "limit= was given the int 0; expected a number of nodes, at least 1, e.g. limit=10_000",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_say_what_to_do(case):
    call, message = ERRORS[case]
    with pytest.raises(GradvizError) as raised:
        call(torch.ones(2))
    assert str(raised.value) == message
