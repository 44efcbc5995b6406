"""``reach`` against torch: ``autograd.grad`` on random programs of several networks, and the cuts
that it names."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.records import CutReason
from gradviz.why.survey.reaching import Reach, Reached, reach

nn = torch.nn


# --- random programs ------------------------------------------------------------------------------


class Lora(nn.Module):
    """A frozen weight and its trained correction."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(3, 3).requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.zeros(3, 2))

    def forward(self, x: torch.Tensor) -> Any:
        return self.base(x) + x @ self.a.T @ self.b.T


class Scaled(nn.Module):
    """Has a buffer beside its parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: torch.Tensor) -> Any:
        return x * self.weight * self.scale


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:  # type: ignore[override]
        return 2 * g * ctx.saved_tensors[0]


@dataclasses.dataclass
class Value:
    """A tensor, and which modules' values went into it how: the program's own account, which never
    asks torch."""

    tensor: Any
    live: frozenset[str] = frozenset()  # a gradient path leads there
    # inside a reentrant checkpoint that has an input to record
    hidden: frozenset[str] = frozenset()
    cut: frozenset[tuple[str, CutReason]] = frozenset()
    # left torch, or cut behind a reentrant checkpoint: nothing can be proven
    lost: frozenset[str] = frozenset()

    def __or__(self, other: Value) -> Value:
        return Value(
            None,
            self.live | other.live,
            self.hidden | other.hidden,
            self.cut | other.cut,
            self.lost | other.lost,
        )

    def made(self, tensor: Any) -> Value:
        return dataclasses.replace(self, tensor=tensor)

    def cut_by(self, reason: CutReason, tensor: Any, more: frozenset[str] = frozenset()) -> Value:
        cuts = self.cut | {(m, reason) for m in self.live | more}
        return Value(tensor, cut=cuts, lost=self.lost | self.hidden)

    def left(self, tensor: Any) -> Value:
        return Value(tensor, lost=self.lost | self.live | self.hidden | {m for m, _ in self.cut})


class Program:
    """Runs random statements over a pool of 2×3 tensors."""

    def __init__(self, frozen: set[str]) -> None:
        torch.manual_seed(0)
        self.modules: dict[str, Any] = {
            "enc": nn.Linear(3, 3),
            "clf": nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)),
            "emb": nn.Embedding(3, 3),
            "lora": Lora(),
            "scaled": Scaled(),
        }
        for name in frozen:
            self.modules[name].requires_grad_(False)
        self.trained = frozenset(self.modules) - frozen
        self.pool = [Value(torch.ones(2, 3))]

    def own(self, name: str) -> frozenset[str]:
        return frozenset({name}) & self.trained

    def statement(self, kind: str, name: str, at: int, other: int) -> None:
        v, w = self.pool[at % len(self.pool)], self.pool[other % len(self.pool)]
        if name == "emb":
            v = v.cut_by(CutReason.NOT_DIFFERENTIABLE, v.tensor.argmax(1))
        module = self.modules[name]
        self.pool.append(getattr(self, kind)(v, w, name, module))
        if self.pool[-1].tensor.dtype != torch.float32:
            raise AssertionError(kind)

    def run(self, v: Value, w: Value, name: str, module: Any) -> Value:
        return dataclasses.replace(v.made(module(v.tensor)), live=v.live | self.own(name))

    def rematerialised(self, v: Value, w: Value, name: str, module: Any) -> Value:
        return dataclasses.replace(
            v.made(checkpoint(module, v.tensor, use_reentrant=False)), live=v.live | self.own(name)
        )

    def reentrant(self, v: Value, w: Value, name: str, module: Any) -> Value:
        if not v.tensor.requires_grad:
            with torch.no_grad():  # as reentrant checkpoint does, but for its warning
                return v.cut_by(CutReason.NO_GRAD, module(v.tensor), self.own(name))
        return dataclasses.replace(
            v.made(checkpoint(module, v.tensor, use_reentrant=True)),
            hidden=v.hidden | self.own(name),
        )

    def without(self, v: Value, w: Value, name: str, module: Any) -> Value:
        with torch.no_grad():
            return v.cut_by(CutReason.NO_GRAD, module(v.tensor), self.own(name))

    def add(self, v: Value, w: Value, name: str, module: Any) -> Value:
        a, b = (x if x.tensor.is_floating_point() else self.pool[0] for x in (v, w))
        return (a | b).made(a.tensor + b.tensor)

    def floating(self, v: Value) -> Value:
        return v if v.tensor.is_floating_point() else self.pool[-1]

    def square(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.made(Square.apply(v.tensor))

    def detach(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.cut_by(CutReason.DETACH, v.tensor.detach())

    def data(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.cut_by(CutReason.DATA, v.tensor.data)

    def compared(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.cut_by(CutReason.NOT_DIFFERENTIABLE, v.tensor > 0).made((v.tensor > 0).float())

    def numpy(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.left(torch.from_numpy(v.tensor.detach().numpy() * 2))

    def listed(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v = self.floating(v)
        return v.left(torch.tensor(v.tensor.tolist()))

    def rows(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v, w = self.floating(v), self.floating(w)
        into = torch.zeros(2, 3)
        into[0] = v.tensor[0]
        into[1].copy_(w.tensor[1])
        return (v | w).made(into)

    def shape_only(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v, w = self.floating(v), self.floating(w)
        return v.made(v.tensor + torch.zeros_like(w.tensor))

    def replaced(self, v: Value, w: Value, name: str, module: Any) -> Value:
        v, w = self.floating(v), self.floating(w)
        fresh = w.tensor.detach().clone()
        fresh.copy_(v.tensor)
        return v.made(fresh)


KINDS = (
    "run",
    "run",
    "run",
    "rematerialised",
    "reentrant",
    "without",
    "add",
    "add",
    "square",
    "detach",
    "data",
    "compared",
    "numpy",
    "listed",
    "rows",
    "shape_only",
    "replaced",
)
NAMES = ("enc", "clf", "emb", "lora", "scaled")
AT = st.sampled_from([-1, -1, -1, -1, -2, 0, 1, 2])  # mostly what was made last
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=8,
)


def truths(program: Program, losses: dict[str, Any]) -> dict[tuple[str, str], bool]:
    """What torch says: does this loss hand this parameter a gradient? A reentrant checkpoint only
    tells in backward."""
    named = [
        (f"{m}.{n}", p)
        for m, module in program.modules.items()
        for n, p in module.named_parameters()
        if p.requires_grad
    ]
    found = {}
    for loss, tensor in losses.items():
        for _, p in named:
            p.grad = None
        if tensor.requires_grad:
            try:
                grads = torch.autograd.grad(
                    tensor, [p for _, p in named], allow_unused=True, retain_graph=True
                )
            except RuntimeError:
                tensor.backward(retain_graph=True)
                grads = tuple(p.grad for _, p in named)
        else:
            grads = (None,) * len(named)
        found |= {(loss, name): g is not None for (name, _), g in zip(named, grads, strict=True)}
    return found


def check(row: Reached, truth: dict[tuple[str, str], bool]) -> None:
    if (row.loss, row.name) not in truth:
        assert row.verdict == "frozen", row
    elif row.verdict != "not known":
        assert (row.verdict == "reached") == truth[row.loss, row.name], row


@settings(max_examples=200)
@given(STATEMENTS, st.sets(st.sampled_from(NAMES), max_size=3), st.integers(0, 9))
def test_agrees_with_torch_and_names_the_cuts(
    statements: list[Any], frozen: set[str], other: int
) -> None:
    program = Program(frozen)
    with gv.record() as rec:
        for statement in statements:
            program.statement(*statement)
        ends = {"first": program.pool[-1], "second": program.pool[other % len(program.pool)]}
        losses = {name: v.tensor.sum() for name, v in ends.items()}
    told, bare = reach(losses, program.modules, recording=rec), reach(losses, program.modules)
    truth = truths(program, losses)
    for row, blind in zip(told.rows, bare.rows, strict=True):
        check(row, truth)
        check(blind, truth)
        assert not blind.cuts
        end = ends[row.loss]
        if (row.loss, row.name) in truth:
            expect(row, blind, end, any(kind == "reentrant" for kind, *_ in statements))


def expect(row: Reached, blind: Reached, end: Value, reentrant: bool) -> None:
    """The words against the program's own account. ``reentrant``: a reentrant checkpoint ran
    somewhere."""
    module, reasons = row.module, {r for m, r in end.cut if m == row.module}
    if module in end.live:
        assert row.verdict == blind.verdict == "reached"
        assert bool(row.why) <= row.why.startswith("only through a custom Function")
        return
    assert blind.verdict == "no path" or (reentrant and blind.verdict == "not known")
    if module in end.hidden:
        assert row.verdict == "not known"
    elif reasons:  # a parameter that also went into a reentrant checkpoint may stay unknown
        assert row.verdict == "no path" or (reentrant and row.verdict == "not known")
        if row.verdict == "no path":
            assert {c.reason for c in row.cuts} == reasons, (row, reasons)
    elif module in end.lost:
        assert row.verdict in ("no path", "not known")
        assert not row.cuts
        assert "not proven" in row.why or "not known" in row.why or row.verdict == "not known"
    # it may have been cut elsewhere, and that this came back through numpy cannot be ruled out
    else:
        assert row.verdict in ("not used", "no path", "not known")
        assert not row.cuts


# --- the programs people write --------------------------------------------------------------------


def counts(told: Reach, loss: str = "loss") -> dict[str, str]:
    found: dict[str, str] = {}
    for module in dict.fromkeys(r.module for r in told.rows):
        rows = [r for r in told.rows if r.module == module and r.loss == loss]
        found[module] = f"{sum(r.verdict == 'reached' for r in rows)}/{len(rows)}"
    return found


@pytest.mark.parametrize(
    ("placed", "expected"),
    [
        (lambda g, d, z: d(g(z)), {"G": "2/2", "D": "2/2"}),
        (lambda g, d, z: d(g(z).detach()), {"G": "0/2", "D": "2/2"}),
        (lambda g, d, z: d(g(z)).detach(), {"G": "0/2", "D": "0/2"}),
        (lambda g, d, z: d(g(z.detach())), {"G": "2/2", "D": "2/2"}),
    ],
)
def test_where_to_detach(placed: Callable[..., Any], expected: dict[str, str]) -> None:
    """K09."""
    g, d = nn.Linear(2, 2), nn.Linear(2, 1)
    with gv.record() as rec:
        loss = placed(g, d, torch.randn(3, 2)).mean()
    told = reach(loss, {"G": g, "D": d}, recording=rec)
    assert counts(told) == expected
    for row in told.rows:
        if row.verdict != "reached":
            assert row.verdict == "no path"
            assert {c.reason for c in row.cuts} == {CutReason.DETACH}
            assert row.why.startswith("cut at ")
            assert ".detach()" in row.why


def test_the_line_of_a_cut() -> None:
    enc, clf = nn.Linear(2, 2), nn.Linear(2, 1)
    with gv.record() as rec:
        h = enc(torch.ones(1, 2))
        safe = h.detach()
        loss = clf(safe).sum()
    told = reach(loss, {"enc": enc, "clf": clf}, recording=rec)
    assert told.verdict == "enc: 0 of 2 parameters reached · clf: 2 of 2"
    line = test_the_line_of_a_cut.__code__.co_firstlineno + 4
    assert [r.why for r in told.rows] == [
        f"cut at test_reaching.py line {line}, safe = h.detach() [detach]"
    ] * 2 + [
        "",
        "",
    ]
    assert "enc.weight" in str(told)
    assert "clf.weight" not in str(told)
    assert "clf.weight" in told._repr_mimebundle_()["text/html"]


def test_actor_critic_has_one_table() -> None:
    actor, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    x = torch.ones(1, 2)
    advantage = 1 - critic(x)
    losses = {
        "policy": -(actor(x).log_softmax(1)[0, 0] * advantage.detach()).sum(),
        "value": (advantage**2).sum(),
    }
    told = reach(losses, {"actor": actor, "critic": critic})
    assert (
        told.verdict == "policy: actor: 2 of 2 parameters reached · critic: 0 of 2\n"
        "value: actor: 0 of 2 parameters reached · critic: 2 of 2"
    )
    assert len(told.rows) == 8


def test_lora_behind_frozen_embeddings_and_reentrant_checkpoint() -> None:
    emb, lora, head = nn.Embedding(3, 3).requires_grad_(False), Lora(), nn.Linear(3, 1)
    with (
        gv.record() as rec,
        pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"),
    ):
        loss = head(checkpoint(lora, emb(torch.tensor([1])), use_reentrant=True)).sum()
    model = {"emb": emb, "lora": lora, "head": head}
    told = reach(loss, model, recording=rec)
    assert told.verdict == "emb: 0 of 1 parameter reached · lora: 0 of 4 · head: 2 of 2"
    row = next(r for r in told.rows if r.name == "lora.a")
    assert {c.reason for c in row.cuts} == {CutReason.NO_GRAD}
    assert "CheckpointFunction.apply" in row.why
    x = emb(torch.tensor([1])).requires_grad_()
    hidden = reach(head(checkpoint(lora, x, use_reentrant=True)).sum(), model)
    assert {r.verdict for r in hidden.rows if r.name in ("lora.a", "lora.b")} == {"not known"}
    assert hidden.verdict.startswith(
        "emb: 0 of 1 parameter reached · lora: 0 of 4 (2 not known) · head: 2 of 2"
    )


# --- losses and parameters of all kinds -----------------------------------------------------------


def test_freed_leaf_and_untracked_losses() -> None:
    w, v = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    loss = (w * w).sum()
    loss.backward()
    assert counts(reach(loss, {"w": w, "v": v})) == {"w": "1/1", "v": "0/1"}
    assert counts(reach(w, {"w": w, "v": v})) == {"w": "1/1", "v": "0/1"}
    told = reach(torch.ones(()), {"w": w})
    assert told.rows[0].why.startswith("the loss does not require grad: it reaches nothing")
    assert counts(reach(loss.detach().requires_grad_(), {"w": w})) == {"w": "0/1"}


def test_frozen_before_and_after() -> None:
    early, late, thawed = (nn.Parameter(torch.ones(1)) for _ in range(3))
    early.requires_grad_(False)
    thawed.requires_grad_(False)
    with gv.record() as rec:
        loss = (early * late * thawed).sum()
    late.requires_grad_(False)
    thawed.requires_grad_(True)
    rows = reach(loss, {"early": early, "late": late, "thawed": thawed}, recording=rec).rows
    assert [r.verdict for r in rows] == ["frozen"] * 3
    assert [r.why for r in rows] == [
        "requires_grad is False",
        (
            "requires_grad is False after this loss was computed: its path is still there, and"
            " backward skips it"
        ),
        "it did not require grad when this loss was computed",
    ]
    loss.backward()
    assert [p.grad for p in (early, late, thawed)] == [None, None, None]


def test_results_as_parameters_and_outputs_of_one_node() -> None:
    w = nn.Parameter(torch.ones(4))
    made, (left, right) = w * 2, (w * 3).split(2)
    loss = made.sum() + left.sum()
    told = reach(loss, {"made": made, "left": left, "right": right})
    assert [r.verdict for r in told.rows] == ["reached", "reached", "no path"]
    assert [
        g is not None for g in torch.autograd.grad(loss, [made, left, right], allow_unused=True)
    ] == [
        True,
        True,
        False,
    ]


def test_modules_and_shared_parameters() -> None:
    net = nn.ModuleDict(
        {"net": nn.ModuleDict({"emb": nn.Embedding(3, 2), "head": nn.Linear(2, 3, bias=False)})}
    )
    net["net"]["head"].weight = net["net"]["emb"].weight  # type: ignore[index]
    loss = net["net"]["head"](torch.ones(1, 2)).sum()  # type: ignore[index]
    assert reach(loss, net).verdict == "net.emb: 1 of 1 parameter reached · net.head: 1 of 1"
    assert reach(loss, nn.Linear(2, 2)).verdict == "Linear: 0 of 2 parameters reached"
    assert reach(loss, nn.ReLU()).verdict == "no parameters"


def test_other_recordings_and_losses_that_it_did_not_see() -> None:
    w = nn.Parameter(torch.ones(2))
    loss = w.detach().sum()
    with gv.record() as rec:
        (w * 2).sum()
    assert (
        reach(loss, {"w": w}, recording=rec)
        .rows[0]
        .why.endswith("; this loss is not in the recording")
    )
    with gv.record(max_events=2) as short:
        loss = (w.detach() * 2 * 3 * 4).sum()
    row = reach(loss, {"w": w}, recording=short).rows[0]
    assert (row.verdict, row.cuts) == ("no path", ())
    assert "not complete" in row.why


def test_a_graph_too_large_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    w, v = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    loss = (v * (w * 2 * 3 * 4)).sum()
    whole = gv.why.survey.reaching.capture  # type: ignore[attr-defined]
    monkeypatch.setattr(
        "gradviz.why.survey.reaching.capture", lambda *t, **k: whole(*t, limit=3, **k)
    )
    assert [r.verdict for r in reach(loss, {"w": w, "v": v}).rows] == ["not known", "reached"]


def test_errors() -> None:
    w = nn.Parameter(torch.ones(2))
    with pytest.raises(
        gv.GradvizError, match=r"given the float 1\.0; expected a tensor, the loss before \.item"
    ):
        reach(1.0, {"w": w})  # type: ignore[arg-type]
    with pytest.raises(
        gv.GradvizError, match=r"model was given .*list.*; expected a torch\.nn\.Module"
    ):
        reach(w, [w])  # type: ignore[arg-type]
    with pytest.raises(gv.GradvizError, match=r"the int 1 for 'w'"):
        reach(w, {"w": 1})


def test_holds_nothing_and_changes_nothing() -> None:
    enc = nn.Linear(2, 2)
    h = enc(torch.ones(1, 2))
    loss = h.sum()
    gc.collect()
    gc.disable()
    try:
        before = [enc.weight._version, enc.weight.grad, torch.get_rng_state().tolist()]
        told = reach(loss, enc)
        assert [enc.weight._version, enc.weight.grad, torch.get_rng_state().tolist()] == before
        alive = [weakref.ref(x) for x in (h, loss, enc, enc.weight)]
        del h, loss, enc
        assert [ref() is None for ref in alive] == [True] * 4
    finally:
        gc.enable()
    assert told.verdict == "Linear: 2 of 2 parameters reached"


def test_names_are_escaped() -> None:
    w = nn.Parameter(torch.ones(2))
    html = reach({"<script>": w.sum()}, {"<img>": w})._repr_mimebundle_()["text/html"]
    assert "<script>" not in html
    assert "<img>" not in html
