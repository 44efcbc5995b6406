"""Kinds of tensors, graphs and backwards inside a recording."""

from __future__ import annotations

import warnings

import programs
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import (
    Accumulated,
    Freed,
    Graph,
    NodeKind,
    NodeRan,
    Raised,
    SavedState,
    Wrote,
)

# tensors that refuse ordinary questions -----------------------------------------------------------


def sparse():
    s = torch.eye(3).to_sparse().requires_grad_()
    y = torch.sparse.mm(s, torch.ones(3, 1))
    y.sum().backward()
    return s, y


def compressed_sparse():
    s = torch.eye(3).to_sparse_csr()
    return s, s @ torch.ones(3, 1, requires_grad=True)


def sparse_gradient():
    table = nn.Embedding(4, 2, sparse=True)
    table(torch.tensor([1, 1])).sum().backward()
    return table.weight, table.weight.grad


def complex_():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = torch.view_as_real(z * z).sum()
    y.backward()
    return z, y


def conjugate_view():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    c = z.conj()
    n = c.imag
    n.sum().backward()
    return c, n


def meta():
    a = torch.ones(3, device="meta", requires_grad=True)
    y = (a * 2).sum()
    y.backward()
    return a, y


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a = torch.ones(3, requires_grad=True)
        y = (a * 2).sum()
    return a, y


def nested_strided():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
        y = n * 2
        y.unbind()[0].sum().backward()
    return n, y


def nested_jagged():
    n = torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged, requires_grad=True
    )
    y = n * 2
    return n, y


class Sub(torch.Tensor):
    """An ordinary subclass."""


class Rude(torch.Tensor):
    """A subclass that refuses what a recorder may ask."""

    def __repr__(self):
        raise RuntimeError("no repr")

    def tolist(self):
        raise RuntimeError("no values")


def subclass():
    a = torch.ones(3).as_subclass(Sub).requires_grad_()
    y = (a * 2).sum()
    y.backward()
    return a, y


def rude_subclass():
    a = torch.ones(3).as_subclass(Rude).requires_grad_()
    y = (a * 2).sum()
    y.backward()
    return a, y


def functorch():
    k = torch.ones(3)
    return torch.func.grad(lambda x: (x * x).sum())(k), torch.func.vmap(
        torch.func.grad(lambda x: x * x)
    )(k)


def functorch_over_tracked():
    a = torch.ones(3, requires_grad=True)
    y = torch.func.vmap(lambda x: (x * 2).detach() + x)(a)
    y.sum().backward()
    return a, y


def forward_mode():
    a = torch.ones(3, requires_grad=True)
    with torch.autograd.forward_ad.dual_level():
        d = torch.autograd.forward_ad.make_dual(a, torch.ones(3))
        y = d * 2
        torch.autograd.forward_ad.unpack_dual(y)
    return a, y


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8)
        y = q.dequantize() * 2
    return q, y


def inference():
    with torch.inference_mode():
        i = torch.ones(3) * 2
        i.add_(1)
        v = i[0:2]
    return i, v


def empty():
    e = torch.zeros(0, 3, requires_grad=True)
    y = e.sum()
    y.backward()
    return e, y


def small_dtypes():
    h = torch.ones(2, dtype=torch.bfloat16, requires_grad=True)
    y = (h * 2).sum()
    y.backward()
    return h, y, torch.ones(2, dtype=torch.float8_e4m3fn), torch.zeros(2, dtype=torch.uint16)


def not_numbers():
    a = torch.tensor([float("nan"), float("inf"), -0.0], requires_grad=True)
    y = (a * a).sum()
    y.backward()
    return a, y


def parameters():
    p = nn.Parameter(torch.ones(3))
    q = nn.Parameter(torch.ones(2), requires_grad=False)
    lazy = nn.LazyLinear(2)
    lazy(torch.ones(1, 3)).sum().backward()
    return p, q


def named_tuple_results():
    a = torch.ones(3, 3, requires_grad=True)
    found = torch.linalg.svd(a + torch.eye(3))
    packed = nn.utils.rnn.pack_padded_sequence(
        torch.ones(3, 2, 1, requires_grad=True), torch.tensor([3, 2])
    )
    return a, found.S, packed.data


def resized_storage():
    a = torch.ones(3)
    a.untyped_storage().resize_(0)
    b = torch.ones(2)
    b.set_(torch.ones(4))  # no recorder sees this
    return a, b


KINDS = [
    sparse,
    compressed_sparse,
    sparse_gradient,
    complex_,
    conjugate_view,
    meta,
    fake,
    nested_strided,
    nested_jagged,
    subclass,
    rude_subclass,
    functorch,
    functorch_over_tracked,
    forward_mode,
    quantized,
    inference,
    empty,
    small_dtypes,
    not_numbers,
    parameters,
    named_tuple_results,
    resized_storage,
]


@pytest.mark.filterwarnings("ignore")  # torch's own, about features in beta
@pytest.mark.parametrize("kind", KINDS, ids=lambda f: f.__name__)
def test_kinds_of_tensors(kind):
    with gv.record() as rec:
        first, *_ = kind()
    graph = rec.graph
    assert graph.calls
    assert all(isinstance(t.id, int) for t in graph.tensors)
    state = rec.find(first)
    if state is not None and state.shape is not None and not first.is_nested:
        assert state.shape == tuple(first.shape)
    assert Graph.from_json(graph.to_json()) == graph
    for step in range(0, len(rec.events) + 1, 3):
        rec.at(step)


def test_values_that_are_not_numbers_are_equal_to_themselves():
    with gv.record() as rec:
        a = torch.tensor([float("nan"), 1.0], requires_grad=True)
        (a * 2).sum().backward()
    assert rec.find(a).values == "[nan, 1]"
    assert rec.graph == rec.graph


def test_options_are_checked():
    for wrong in (0, -1, 2.5, None):
        with pytest.raises(
            gv.GradvizError, match=r"max_events= was given .*expected a whole number"
        ):
            gv.record(max_events=wrong)


# topology -----------------------------------------------------------------------------------------


def node_of(rec, tensor):
    """The Node that made a tensor."""
    return rec.graph.node[rec.find(tensor).gradient_edge.node_id]


def edges_of(rec, tensor):
    return rec.graph.edges_from[rec.find(tensor).gradient_edge.node_id]


def test_both_edges_of_a_product_with_itself():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        b = a * a
    first, second = edges_of(rec, b)
    assert (first.next_index, second.next_index) == (0, 1)
    assert first.next_node_id == second.next_node_id
    leaf = rec.graph.node[first.next_node_id]
    assert leaf.kind is NodeKind.ACCUMULATE_GRAD
    assert rec.graph.tensor[leaf.leaf_id].object_id == rec.find(a).object_id
    assert [s.attribute for s in node_of(rec, b).saved] == ["other", "self"]


def test_slots_that_lead_nowhere_keep_their_place():
    with gv.record() as rec:
        a, k = torch.ones(3, requires_grad=True), torch.ones(3)
        b = torch.addcmul(k, k, a)
    assert [e.next_node_id is None for e in edges_of(rec, b)] == [True, True, False]


def test_unbind_has_one_node_with_many_outputs():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        p, q, r = a.unbind()
    edges = [rec.find(t).gradient_edge for t in (p, q, r)]
    assert len({e.node_id for e in edges}) == 1
    assert [e.output_nr for e in edges] == [0, 1, 2]
    assert [rec.find(t).name for t in (p, q, r)] == ["p", "q", "r"]


def test_lstm_outputs():
    with gv.record() as rec:
        layer, x = nn.LSTM(2, 3), torch.ones(4, 1, 2)
        out, (h, c) = layer(x)
        out.sum().backward()
    for t in (out, h, c):
        edge = rec.find(t).gradient_edge
        assert rec.graph.node[edge.node_id].name == t.grad_fn.name()
        assert edge.output_nr == t.output_nr
    assert list(rec.graph.cuts) == []


def test_one_call_several_nodes():
    with gv.record() as rec:
        layer, x = nn.Linear(3, 2), torch.ones(3, requires_grad=True)
        y = layer(x)
    (call,) = [c for c in rec.graph.calls if c.function == "linear"]
    assert sum(n.call_id == call.id for n in rec.graph.nodes if n.kind is NodeKind.BACKWARD) == 4
    assert rec.find(y).id in call.outputs


def test_writing_a_view_rewrites_its_base():
    with gv.record() as rec:
        a = torch.ones(4, requires_grad=True)
        h = a * 2
        v = h[0:2]
        v.mul_(3)
        h.sum().backward()
    assert node_of(rec, h).name == "CopySlices"
    assert node_of(rec, v).name == "AsStridedBackward0"
    writes = [
        e
        for e in rec.events
        if isinstance(e, Wrote) and rec.graph.call[e.call_id].function == "mul_"
    ]
    tensor = rec.graph.tensor
    assert {(tensor[w.after_id].object_id, w.alias) for w in writes} == {
        (rec.find(v).object_id, False),
        (rec.find(h).object_id, True),
    }
    for w in writes:
        assert tensor[w.before_id].object_id == tensor[w.after_id].object_id
        assert tensor[w.before_id].version == 0
        assert tensor[w.after_id].version == 1
    assert rec.find(v).base_id is not None
    assert tensor[rec.find(v).base_id].object_id == rec.find(h).object_id
    assert rec.find(v).storage_id == rec.find(h).storage_id
    assert rec.find(h).values == "[6, 6, 2, 2]"


def test_a_write_gives_the_same_object_a_new_state():
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        h = a * 2
        h.add_(1)
    states = [t for t in rec.graph.tensors if t.object_id == rec.find(h).object_id]
    assert [(t.values, t.version) for t in states] == [("[2, 2]", 0), ("[3, 3]", 1)]
    assert [t.name for t in states] == ["h", "h"]
    (wrote,) = [e for e in rec.events if isinstance(e, Wrote)]
    assert (wrote.before_id, wrote.after_id, wrote.alias) == (states[0].id, states[1].id, False)


ALIASES = {
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "numpy": lambda t: torch.from_numpy(t.detach().numpy()),
}


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES.keys())
def test_a_write_through_an_alias_is_a_new_state_of_what_it_aliases(alias):
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        h = a * 2
        d = alias(h)
        d.zero_()
    assert rec.find(h).values == "[0, 0]"
    assert rec.find(h).storage_id == rec.find(d).storage_id
    assert any(
        e.alias and rec.graph.tensor[e.after_id].object_id == rec.find(h).object_id
        for e in rec.events
        if isinstance(e, Wrote)
    )


def test_separate_memory_has_separate_storages():
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        b, e, f = a.clone(), torch.zeros(0), torch.zeros(0)
        m, n = torch.ones(2, device="meta"), torch.ones(2, device="meta")
    assert rec.find(a).storage_id != rec.find(b).storage_id
    for one, other in ((e, f), (m, n)):
        ids = rec.find(one).storage_id, rec.find(other).storage_id
        assert ids[0] is None or ids[0] != ids[1]


def test_custom_function_is_one_call_with_one_node():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        b = programs.Square.apply(a)
        b.sum().backward()
    node = node_of(rec, b)
    assert (node.name, node.kind) == ("SquareBackward", NodeKind.CUSTOM_FUNCTION)
    (call,) = [c for c in rec.graph.calls if "Square" in c.function]
    assert [
        c.function for c in rec.graph.calls if c.id != call.id and c.source.line == call.source.line
    ] == []
    assert [rec.graph.tensor[i].object_id for i in call.inputs] == [rec.find(a).object_id]
    assert [rec.graph.tensor[i].object_id for i in call.outputs] == [rec.find(b).object_id]
    assert node.call_id == call.id
    assert a.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize("reentrant", [False, True], ids=["non-reentrant", "reentrant"])
def test_checkpoint(reentrant):
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        c = checkpoint(programs.wave, a, use_reentrant=reentrant)
        c.sum().backward()
    graph = rec.graph
    (run,) = graph.backwards
    assert graph.node[run.ran[0]].name == "SumBackward0"
    (stored,) = [e for e in graph.events if isinstance(e, Accumulated) and e.run == run.run]
    assert stored.stored == "[-0.8323, -0.8323, -0.8323]"
    assert c.grad_fn.name() == node_of(rec, c).name


def test_double_backward():
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (a**3).sum()
        (g,) = torch.autograd.grad(y, a, create_graph=True)
        g.sum().backward()
    graph = rec.graph
    first, second = graph.backwards
    assert [first.kind, second.kind] == ["grad", "backward"]
    ((asked, value),) = first.returned
    assert graph.tensor[asked].object_id == rec.find(a).object_id
    assert value == "[3, 12]"
    assert (rec.find(g).name, rec.find(g).values) == ("g", "[3, 12]")
    (stored,) = [e for e in graph.events if isinstance(e, Accumulated)]
    assert (stored.run, stored.incoming) == (second.run, "[6, 12]")
    assert not any(graph.node[i].kind is NodeKind.ACCUMULATE_GRAD for i in first.ran), (
        "autograd.grad fills no .grad"
    )


def test_older_parts_are_stubs_until_a_backward_walks_them():
    a = torch.ones(3, requires_grad=True)
    h = (a * 2).exp()
    with gv.record() as rec:
        b = h * 3
    to_h, _ = edges_of(rec, b)
    assert rec.graph.node[to_h.next_node_id].stub
    assert rec.graph.node[to_h.next_node_id].name == "ExpBackward0"
    with gv.record() as rec:
        b = h * 3
        b.sum().backward()
    to_h, _ = edges_of(rec, b)
    assert not rec.graph.node[to_h.next_node_id].stub
    assert [rec.graph.node[i].name for i in rec.graph.backwards[0].ran] == [
        "SumBackward0",
        "MulBackward0",
        "ExpBackward0",
        "MulBackward0",
        "AccumulateGrad",
    ]


# backwards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("paths", [1, 2, 3])
@pytest.mark.parametrize("backwards", [1, 2])
@pytest.mark.parametrize("zero", [False, True], ids=["accumulate", "zero-between"])
def test_what_arrives_and_what_is_stored(paths, backwards, zero):
    with gv.record() as rec:
        x = torch.tensor([1.0], requires_grad=True)
        for _ in range(backwards):
            if zero:
                x.grad = None
            sum(x * (i + 2) for i in range(paths)).sum().backward()
    events = [e for e in rec.events if isinstance(e, Accumulated)]
    once = {1: 2, 2: 5, 3: 9}[paths]
    assert [e.incoming for e in events] == [f"[{once}]"] * backwards, (
        "the engine adds the paths before it runs the node"
    )
    before = [None, None if zero else f"[{once}]"][:backwards]
    assert [e.before for e in events] == before
    stored = [f"[{once}]", f"[{once if zero else 2 * once}]"][:backwards]
    assert [e.stored for e in events] == stored
    assert events[-1].stored == f"[{x.grad.item():g}]"
    assert len({e.run for e in events}) == backwards


def test_gradients_of_the_target_picture():
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.clone()
        c = a * 2
        d = b * 3
        loss = (c + d).sum()
        loss.backward()
    graph = rec.graph
    (run,) = graph.backwards
    ran = {graph.node[e.node_id].name: e for e in graph.events if isinstance(e, NodeRan)}
    assert ran["CloneBackward0"].arrived == ("[3, 3, 3]",)
    assert ran["AccumulateGrad"].arrived == ("[5, 5, 5]",)
    assert ran["SumBackward0"].arrived == ("1",)
    clone = node_of(rec, b).id
    assert {g.preview for g in graph.gradients if g.node_id == clone and g.next_index == 0} == {
        "[3, 3, 3]"
    }
    assert {
        g.preview for g in graph.gradients if g.node_id == node_of(rec, c).id and g.next_index == 0
    } == {"[2, 2, 2]"}
    assert run.raised_at is None
    assert rec.find(a).grad == "[5, 5, 5]"


def test_several_backwards_through_one_graph():
    with gv.record() as rec:
        a = torch.tensor(2.0, requires_grad=True)
        loss = a * a
        loss.backward(retain_graph=True)
        loss.backward()
    first, second = rec.graph.backwards
    assert first.ran == second.ran
    freed = [e for e in rec.events if isinstance(e, Freed)]
    assert [e.run for e in freed] == [second.run]
    assert node_of(rec, loss).id in freed[0].node_ids
    assert {g.run for g in rec.graph.gradients} <= {first.run, second.run}
    last = [i for i, e in enumerate(rec.events) if isinstance(e, NodeRan) and e.run == first.run][
        -1
    ]
    saved = rec.at(last + 1).node[node_of(rec, loss).id].saved
    assert {s.state for s in saved} == {SavedState.AVAILABLE}
    assert {s.state for s in node_of(rec, loss).saved} == {SavedState.FREED}


def test_a_second_backward_through_a_freed_graph():
    with gv.record() as rec:
        a = torch.tensor(2.0, requires_grad=True)
        loss = (a * a).exp()
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
    raised = [e for e in rec.events if isinstance(e, Raised)]
    assert len(raised) == 1
    assert raised[0].error == "RuntimeError"
    assert "second time" in raised[0].message
    assert rec.graph.backwards[-1].raised_at == raised[0].node_id == node_of(rec, loss).id


def test_undefined_gradients():
    class OnlyFirst(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, None

    with gv.record() as rec:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        y = OnlyFirst.apply(a, b * 2)
        y.sum().backward()
    ran = {rec.graph.node[e.node_id].name: e for e in rec.events if isinstance(e, NodeRan)}
    assert ran["OnlyFirstBackward"].sent == ("[1, 1]", None)
    assert b.grad is None
    stored = [
        rec.graph.tensor[rec.graph.node[e.node_id].leaf_id].object_id
        for e in rec.events
        if isinstance(e, Accumulated)
    ]
    assert stored == [rec.find(a).object_id]


def test_grad_returns_what_it_shows():
    with gv.record() as rec:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        h = a * 3
        torch.autograd.grad(h.sum(), [a, h, b], allow_unused=True)
    (run,) = rec.graph.backwards
    tensor = rec.graph.tensor
    assert [(tensor[i].name, value) for i, value in run.returned] == [
        ("a", "[3, 3]"),
        ("h", "[1, 1]"),
        ("b", None),
    ]


def test_user_hooks_change_what_is_shown():
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        h = a * 3
        h.register_hook(lambda g: g * 10)
        h.sum().backward()
    (stored,) = [e for e in rec.events if isinstance(e, Accumulated)]
    assert stored.incoming == "[30, 30]"
    ran = {rec.graph.node[e.node_id].name: e for e in rec.events if isinstance(e, NodeRan)}
    assert ran["MulBackward0"].sent[0] == "[30, 30]"


def test_a_hook_that_raises_is_the_end_of_the_run():
    def refuse(g):
        raise ValueError("no")

    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        h = a * 3
        h.register_hook(refuse)
        with pytest.raises(ValueError, match="no"):
            h.sum().backward()
    (run,) = rec.graph.backwards
    assert "AccumulateGrad" not in [rec.graph.node[i].name for i in run.ran]
    assert any(isinstance(e, Raised) and e.error == "ValueError" for e in rec.events)


def test_flag_switched_off_before_backward():
    with gv.record() as rec:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        loss = (a * b).sum()
        a.requires_grad_(False)
        loss.backward()
    assert a.grad is None
    stored = [e for e in rec.events if isinstance(e, Accumulated) and e.stored is not None]
    assert [rec.graph.tensor[rec.graph.node[e.node_id].leaf_id].name for e in stored] == ["b"]


def test_a_gradient_that_nobody_read_is_named_by_its_tensor():
    a = torch.ones(2, requires_grad=True)
    net = nn.Linear(2, 1, bias=False)
    with gv.record() as rec:
        for _ in range(2):
            (net(a) + a.sum()).backward()
            torch._foreach_zero_([a.grad, net.weight.grad])
            (net(a) + a.sum()).backward()
    written = [rec.graph.tensor[e.after_id] for e in rec.events if isinstance(e, Wrote)]
    assert {t.name for t in written} == {"a", "a.grad", "net.weight", "net.weight.grad"}


def test_what_a_module_does_to_its_parameters_reads_as_written():
    net = nn.Linear(2, 1, bias=False)
    with gv.record() as rec:
        net(torch.ones(2)).backward()
        net.requires_grad_(False)
    (cut,) = rec.graph.cuts
    assert rec.graph.call[cut.call_id].source.code == "net.requires_grad_(False)"


# saved tensors ------------------------------------------------------------------------------------

OPERATIONS = {
    "exp": torch.exp,
    "sigmoid": torch.sigmoid,
    "x*2": lambda t: t * 2,
    "x**2": lambda t: t**2,
}
ROUTES = {
    "direct": lambda t: t.add_(5),
    "detach": lambda t: t.detach().add_(5),
    ".data": lambda t: t.data.add_(5),
}


def write_under_no_grad(t):
    with torch.no_grad():
        t.add_(5)


@pytest.mark.parametrize("route", [*ROUTES, "no_grad"])
@pytest.mark.parametrize("target", ["input", "output"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_saved_states_say_what_backward_will_do(operation, target, route):
    function, write = OPERATIONS[operation], ROUTES.get(route, write_under_no_grad)
    with gv.record() as rec:
        leaf = torch.tensor([1.0, 2.0], requires_grad=True)
        x = leaf * 1
        y = function(x)
        write(x if target == "input" else y)
        before = len(rec.events)
        try:
            y.sum().backward()
            failed = False
        except RuntimeError:
            failed = True
    name = {
        "exp": "ExpBackward0",
        "sigmoid": "SigmoidBackward0",
        "x*2": "MulBackward0",
        "x**2": "PowBackward0",
    }[operation]
    states = {s.state for n in rec.at(before).nodes if n.name == name for s in n.saved}
    right = torch.autograd.grad(
        function(t := torch.tensor([1.0, 2.0], requires_grad=True)).sum(), t
    )[0]
    wrong = not failed and not torch.allclose(leaf.grad, right)
    assert (SavedState.STALE in states) == failed
    assert (SavedState.OVERWRITTEN in states) == wrong
    if not failed and not wrong:
        assert states <= {SavedState.AVAILABLE}


@pytest.mark.parametrize(
    ("kind", "state", "versions"),
    [("detach", SavedState.STALE, (0, 1)), ("data", SavedState.OVERWRITTEN, (0, 0))],
)
def test_the_saved_result_of_sigmoid_overwritten(kind, state, versions):
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        out = a.sigmoid()
        alias = out.data if kind == "data" else out.detach()
        alias.zero_()
    (saved,) = node_of_first(rec, "SigmoidBackward0").saved
    assert (saved.attribute, saved.state) == ("result", state)
    assert (saved.saved_version, rec.find(out).version) == versions
    assert rec.graph.tensor[saved.tensor_id].object_id == rec.find(out).object_id
    assert out._version == versions[1]


def node_of_first(rec, name):
    return next(n for n in rec.graph.nodes if n.name == name)


def test_a_stale_saved_tensor_raises_where_it_is_said():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        h = a.exp()
        h.add_(1)
        with pytest.raises(RuntimeError, match="inplace"):
            h.sum().backward()
    (run,) = rec.graph.backwards
    assert rec.graph.node[run.raised_at].name == "ExpBackward0"
    assert [s.state for s in rec.graph.node[run.raised_at].saved] == [SavedState.STALE]
    (raised,) = [e for e in rec.events if isinstance(e, Raised)]
    assert raised.node_id == run.raised_at


def test_freed_and_retained():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        h = a.exp()
        loss = (h * h).sum()
        h.sum().backward(retain_graph=True)
        assert {s.state for s in node_of(rec, h).saved} == {SavedState.AVAILABLE}
        loss.backward()
    assert {s.state for s in node_of(rec, h).saved} == {SavedState.FREED}
    assert {s.state for s in node_of_first(rec, "MulBackward0").saved} == {SavedState.FREED}


@pytest.mark.parametrize("first", range(0, 400, 100), ids=lambda n: f"programs-{n}-{n + 99}")
def test_a_backward_raises_exactly_where_a_saved_tensor_is_stale(first):
    """Random programs that write into saved tensors: the engine is the judge."""
    for seed in range(first, first + 100):
        seeds = programs.statement_seeds(seed)
        if stale_disagrees(seeds):
            small = programs.shrink(seeds, lambda fewer: stale_disagrees(fewer) is not None)
            text = programs.build(small, risky=True).text
            pytest.fail(f"program {seed}, shrunk:\n{text}\n{stale_disagrees(small)}", pytrace=False)


def stale_disagrees(seeds):
    """What a backward did against what the states said before it; None where they agree."""
    program = programs.build(seeds, risky=True)
    if program.reentrant:
        return None
    values, line = dict(programs.NAMES), 0
    with warnings.catch_warnings(), gv.record() as rec:
        warnings.simplefilter("ignore")
        last = program.backwards[-1]
        for line, code in program.split("<risky>"):
            if line == last.line:
                break
            try:
                exec(code, values)
            except RuntimeError:
                return None  # an earlier backward already raised, or torch refuses the statement
        before = len(rec.events)
        error = None
        try:
            exec(code, values)
        except RuntimeError as raised:
            error = str(raised)
    graph = rec.at(before)
    run = rec.graph.backwards[-1]
    stale = {n.id for n in graph.nodes for s in n.saved if s.state is SavedState.STALE}
    unknown = {n.id for n in graph.nodes for s in n.saved if s.state is SavedState.UNKNOWN}
    if error is None:
        return (
            f"did not raise, but stale: {[graph.node[i].name for i in stale & set(run.ran)]}"
            if stale & set(run.ran)
            else None
        )
    if "modified by an inplace operation" not in error:
        return None
    return (
        None
        if run.raised_at in stale | unknown
        else f"raised at {run.raised_at}, stale are {stale}: {error[:150]}"
    )


# names and lines ----------------------------------------------------------------------------------


def triple(u):
    return u * 3


def two_steps(u):
    v = u + 1
    return v * 2


def test_names_of_variables():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        b = a * 2 + 1
        c, d = a + 0, -a
        e = triple(a)
        f = two_steps(e)
        g = [a.exp(), a.sin()]
        b += 1
        model = nn.Linear(3, 1)
        y = model(f)
        s = (t := a.tanh()) * 2
    named = {"a": a, "b": b, "c": c, "d": d, "e": e, "f": f, "y": y, "s": s, "t": t}
    assert {n: rec.find(x).name for n, x in named.items()} == {n: n for n in named}
    assert not (rec.find(g[0]).name or "").isidentifier()


def test_names_when_a_variable_is_bound_again():
    with gv.record() as rec:
        x = torch.ones(3, requires_grad=True)
        first = x
        x = x * 2
        second = x
        x = x * 3
    start = test_names_when_a_variable_is_bound_again.__code__.co_firstlineno
    assert [rec.find(t).name for t in (first, second, x)] == [
        f"x (line {start + 2})",
        f"x (line {start + 4})",
        "x",
    ]
    assert len({rec.find(t).object_id for t in (first, second, x)}) == 3


def test_unnamed_results_are_unnamed():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        loss = ((a * 2) + (a * 3)).sum()
    names = [t.name for t in rec.graph.tensors]
    assert sorted(n for n in names if n) == ["a", "loss"]
    assert len(names) == 5
    assert rec.find(loss).name == "loss"


def test_module_paths_and_parameter_names():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    with gv.record() as rec:
        model(torch.ones(1, 2)).sum().backward()
    paths = [
        c.module.removeprefix("model.") for c in rec.graph.calls if c.function in ("linear", "relu")
    ]
    assert paths == ["0", "1.0", "1.1"]


def test_modes_of_calls():
    with gv.record() as rec:
        a = torch.ones(3, requires_grad=True)
        a.exp()
        with torch.no_grad():
            a.sin()
        with torch.inference_mode():
            a.tanh()
    modes = {c.function: (c.grad_mode, c.inference_mode) for c in rec.graph.calls}
    assert [modes[f] for f in ("exp", "sin", "tanh")] == [
        (True, False),
        (False, False),
        (False, True),
    ]


def test_states_over_time():
    with gv.record() as rec:
        a = torch.tensor([1.0], requires_grad=True)
        b = a * 2
        b.backward()
        a.grad = None
    assert rec.at(0) == Graph(notes=rec.at(0).notes)
    assert rec.at(len(rec.events)).events == rec.graph.events
    sizes = [len(rec.at(k).events) for k in range(len(rec.events) + 1)]
    assert sizes == list(range(len(rec.events) + 1))
    assert [len(rec.at(k).calls) for k in range(len(rec.events) + 1)] == sorted(
        len(rec.at(k).calls) for k in range(len(rec.events) + 1)
    )
    calls = rec.graph.calls
    wrote = next(
        i
        for i, e in enumerate(rec.events)
        if isinstance(e, Wrote) and calls[e.call_id].function == "backward"
    )
    assert [t.grad for t in rec.at(wrote + 1).tensors if t.name == "a"][-1] == "[2]"
    assert [t.grad for t in rec.at(1).tensors if t.name == "a"] == [None]
    assert rec.find(a).grad is None


def test_asking_for_the_accumulate_grad_node_leaves_no_card():
    with gv.record() as rec:
        leaf = torch.ones(2, requires_grad=True)
        node = torch.autograd.graph.get_gradient_edge(leaf).node
        seen = []
        node.register_prehook(lambda grads: seen.append(grads[0].tolist()))
        (leaf * 2 + leaf * 3).sum().backward()
    assert seen == [[5.0, 5.0]]
    assert not any("view" in call.function for call in rec.graph.calls)
    assert "view_as" not in rec.figure().text
    assert "arrives once: [5, 5]" in rec.figure().text


def test_bookkeeping_is_marked():
    with gv.record() as rec:
        p = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([p], lr=0.1, foreach=False)
        (p * 2).sum().backward()
        optimizer.step()
        F.relu(p)
    marked = [c for c in rec.graph.calls if c.bookkeeping]
    assert marked
    assert not any(c.function in ("relu", "mul", "sum", "backward") for c in marked)
    assert rec.find(p).values == "[0.8, 0.8, 0.8]"


def test_what_arrived_is_what_came_before_a_hook_or_the_node_itself_wrote_into_it():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g.mul_(2)

    a = torch.ones(2, requires_grad=True)
    a.register_post_accumulate_grad_hook(lambda p: (p.grad.mul_(5), None)[1])
    with gv.record() as rec:
        (Twice.apply(a * 3) * torch.ones(2)).sum().backward()
    ran = {rec.graph.node[e.node_id].name: e.arrived for e in rec.events if isinstance(e, NodeRan)}
    assert ran["TwiceBackward"] == ("[1, 1]",)
    assert ran["AccumulateGrad"] == ("[6, 6]",)
    (stored,) = (e for e in rec.events if isinstance(e, Accumulated))
    assert (stored.incoming, stored.before, stored.stored) == ("[6, 6]", None, "[30, 30]")
    assert a.grad.tolist() == [30, 30]


def data_set(grad):
    grad.data = torch.zeros(2)


@pytest.mark.parametrize(
    "write",
    [
        lambda grad: grad.mul_(10),
        lambda grad: grad.data.clamp_(-1, 1),
        lambda grad: grad.detach().mul_(10),
        lambda grad: grad.view(-1).mul_(10),
        lambda grad: grad[0].fill_(9),
        data_set,
    ],
    ids=["itself", "data", "detach", "view", "index", "data_set"],
)
def test_a_gradient_written_through_another_tensor_is_the_leafs(write):
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        (a * 3).sum().backward()
        write(a.grad)
    latest = [t for t in rec.graph.tensors if t.name == "a"][-1]
    assert a.grad.tolist() != [3.0, 3.0]
    assert latest.grad == preview.values(a.grad.tolist())


# --- notes about what runs beside -----------------------------------------------------------------


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("warm", [True, False])
def test_a_compiled_function_is_said_to_be_unseen(backend, grad, warm):
    a = torch.ones(3, requires_grad=True)
    try:
        compiled = torch.compile(lambda x: (x * 2).sin(), backend=backend, fullgraph=True)
        if warm:
            compiled(a)
        for _ in range(2):
            with gv.record() as rec, torch.set_grad_enabled(grad):
                compiled(a)
            assert ["torch.compile" in note for note in rec.notes] == [True]
        with gv.record() as rec:
            a * 2
        assert rec.graph.notes == ()
    finally:
        torch._dynamo.reset()


def test_an_active_profiler_is_said():
    a = torch.ones(3, requires_grad=True)
    with torch.autograd.profiler.profile(), gv.record() as rec:
        (a * 2).sum().backward()
    assert [note for note in rec.notes if "profiler" in note] == [
        "a profiler was active: it counts gradviz's own operations, too"
    ]
    with gv.record() as rec:
        a * 2
    assert rec.graph.notes == ()
