"""``will_it_move`` against torch: a step on a deep copy, compared bit by bit."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.optim.optimizer import register_optimizer_step_post_hook

import gradviz as gv
from gradviz.why.survey.moving import Moves, will_it_move

nn, optim = torch.nn, torch.optim


def bits(t: Any) -> Any:
    return t.detach().clone().contiguous().flatten().view(torch.uint8)


def unique(optimizer: Any) -> list[Any]:
    return list({id(p): p for group in optimizer.param_groups for p in group["params"]}.values())


def really(optimizer: Any) -> list[bool] | None:
    """Which parameters change in a real step of a deep copy; None when it raises."""
    twin = copy.deepcopy(optimizer)
    for p, q in zip(unique(optimizer), unique(twin), strict=True):
        q.grad = None if p.grad is None else p.grad.clone()  # a Parameter's copy has none
    before = [bits(p) for p in unique(twin)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twin.step()
    except Exception:
        return None
    return [not torch.equal(b, bits(p)) for b, p in zip(before, unique(twin), strict=True)]


def agree(optimizer: Any, model: Any = None) -> Moves:
    """The answer, checked against the real step: it may only be unknown where the step raises.

    A fused step, and Adafactor's, look at the first parameter's dtype; where others differ, it may
    be unknown too.
    """
    told, truth = will_it_move(optimizer, model), really(optimizer)
    assert len(told.rows) == len(unique(optimizer))
    several = optimizer.param_groups[0].get("fused") or isinstance(optimizer, optim.Adafactor)
    mixed = several and len({p.dtype for p in unique(optimizer)}) > 1
    for row, moved in zip(told.rows, truth or [None] * len(told.rows), strict=True):
        expected = (
            ("moves" if moved else "stays")
            if moved is not None
            else "stays"
            if row.grad == "None"
            else "not known"
        )
        if not (mixed and row.verdict == "not known"):
            assert row.verdict == expected, (row, truth)
        assert row.why
    return told


# --- the answer keys ------------------------------------------------------------------------------

MAKERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "SGD+mom": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "SGD+wd": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.1),
}
MOMENTS = (
    "before any backward",
    "after backward, no zero",
    "after backward, zero to None",
    "after backward, zero-filled",
)


@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_freeze_grid(when: str, maker: str) -> None:
    """K08: does the frozen weight move?"""
    w, v = nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))
    optimizer = MAKERS[maker]([w, v])
    if when != MOMENTS[0]:
        (w * v * 2).sum().backward()
        optimizer.step()
        if "None" in when:
            optimizer.zero_grad()
        if "filled" in when:
            optimizer.zero_grad(set_to_none=False)
    w.requires_grad_(False)
    (w * v * 2).sum().backward()
    row, other = agree(optimizer, {"w": w, "v": v}).rows
    moves = when == MOMENTS[1] or (when == MOMENTS[3] and maker != "SGD")
    assert (row.name, row.verdict, other.verdict) == ("w", "moves" if moves else "stays", "moves")
    assert ("although requires_grad is False" in row.why) == moves
    if not moves:
        assert row.why == (
            "grad is zero, and nothing else moves it"
            if "filled" in when
            else "grad is None: skipped"
        )
    elif "filled" in when:
        cause = {
            "SGD+mom": "momentum 0.9 still carries 1.8",
            "SGD+wd": "weight_decay 0.1 pulls it, though its grad is zero",
        }
        assert (
            cause.get(
                maker, "Adam's memory of earlier gradients still carries it (exp_avg up to 0.2)"
            )
            in row.why
        )


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("maker", ["SGD", "SGD+mom", "Adam"])
def test_toggled_detach(maker: str, to_none: bool) -> None:
    """S34: detaching every other step."""
    first, second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.ones_(first.weight)
    nn.init.ones_(second.weight)
    optimizer = MAKERS[maker]([*first.parameters(), *second.parameters()])
    verdicts = []
    for t in range(4):
        optimizer.zero_grad(set_to_none=to_none)
        h = first(torch.ones(1, 1))
        ((second(h.detach() if t % 2 else h) - 3) ** 2).sum().backward()
        verdicts.append(agree(optimizer).rows[0].verdict)
        optimizer.step()
    cut = "stays" if to_none or maker == "SGD" else "moves"
    assert verdicts == ["moves", cut, "moves", cut]


# --- random optimizers ----------------------------------------------------------------------------

DECAY = st.sampled_from([0.0, 0.0, 0.01, 1e-9])
FLAG = st.booleans()


def kinds(**more: Any) -> Any:
    return st.fixed_dictionaries(
        {
            "weight_decay": DECAY,
            "maximize": FLAG,
            "foreach": st.sampled_from([None, True, False]),
            **more,
        }
    )


MOMENTUM = st.sampled_from([0.0, 0.9])
OPTIONS: dict[Any, Any] = {
    optim.SGD: kinds(
        momentum=MOMENTUM, nesterov=FLAG, dampening=st.sampled_from([0.0, 0.5, 1.0]), fused=FLAG
    ),
    optim.Adam: kinds(amsgrad=FLAG, fused=FLAG, capturable=FLAG, eps=st.sampled_from([1e-8, 0.0])),
    optim.AdamW: kinds(amsgrad=FLAG, fused=FLAG),
    optim.Adagrad: kinds(lr_decay=st.sampled_from([0.0, 0.1]), fused=FLAG),
    optim.RMSprop: kinds(momentum=MOMENTUM, centered=FLAG),
    optim.Adadelta: kinds(),
    optim.Adamax: kinds(),
    optim.NAdam: kinds(decoupled_weight_decay=FLAG),
    optim.RAdam: kinds(decoupled_weight_decay=FLAG),
    optim.Rprop: st.fixed_dictionaries(
        {"maximize": FLAG, "foreach": st.sampled_from([None, True])}
    ),
    optim.ASGD: kinds(lambd=st.sampled_from([1e-4, 0.0])),
    optim.SparseAdam: st.fixed_dictionaries({"maximize": FLAG}),
    optim.Adafactor: st.fixed_dictionaries({"weight_decay": DECAY}),
}
SHAPES = [(2,), (3, 2), (), (2,), (0,)]
DTYPES = [
    torch.float32,
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.complex64,
]
SCALES = [0.0, -0.0, 1.0, 1e-3, 1e-12, 1e4]


@st.composite
def parameters(draw: Any) -> Any:
    shape, dtype, scale = (
        draw(st.sampled_from(SHAPES)),
        draw(st.sampled_from(DTYPES)),
        draw(st.sampled_from(SCALES)),
    )
    p = nn.Parameter(
        torch.full(shape, draw(st.sampled_from([1.0, -0.7, 3.3])) * scale, dtype=dtype)
    )
    if draw(st.integers(0, 30)) == 0 and p.numel():
        with torch.no_grad():
            p.view(-1)[0] = float("nan")
    return p


def give_grad(draw: Any, p: Any) -> None:
    kind = draw(
        st.sampled_from(
            ["None", "zero", "zero", "-zero", "value", "tiny", "NaN", "same", "minus", "sparse"]
        )
    )
    value = {
        "zero": 0.0,
        "-zero": -0.0,
        "value": 0.12,
        "tiny": 1e-12,
        "NaN": float("nan"),
        "minus": -0.12,
    }.get(kind)
    if kind == "None":
        p.grad = None
    elif kind == "sparse" and p.dim() and draw(FLAG):
        p.grad = torch.full_like(p, 0.5).detach().to_sparse(1)
    elif value is not None:
        p.grad = torch.full_like(p, value).detach()


@st.composite
def optimizers(draw: Any) -> Any:
    kind = draw(st.sampled_from(list(OPTIONS)))
    options = draw(OPTIONS[kind])
    given_parameters = draw(st.lists(parameters(), min_size=1, max_size=4))
    groups = (
        [{"params": [p]} for p in given_parameters]
        if draw(FLAG)
        else [{"params": given_parameters}]
    )
    if draw(FLAG) and len(groups) > 1 and "weight_decay" in options:
        groups[0]["weight_decay"] = 0.1
    lr = draw(st.sampled_from([0.1, 0.1, 1e-3, 0.0, 1e-9, 10.0]))
    try:
        optimizer = kind(
            [dict(g) for g in groups],
            lr=torch.tensor(lr) if draw(st.integers(0, 9)) == 0 else lr,
            **options,
        )
    except (ValueError, RuntimeError):  # options that do not go together
        optimizer = optim.SGD(groups, lr=lr)
    for _ in range(draw(st.integers(0, 3))):
        for p in given_parameters:
            give_grad(draw, p)
        if really(optimizer) is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                optimizer.step()
    for p in given_parameters:
        give_grad(draw, p)
        state = optimizer.state.get(p, {})
        if draw(st.integers(0, 5)) == 0:
            for key, value in state.items():
                if isinstance(value, torch.Tensor) and key != "step":
                    value.zero_()
        p.requires_grad_(draw(st.integers(0, 2)) > 0)
    return optimizer


def everything(optimizer: Any) -> list[Any]:
    """Whatever a look must leave as it is."""
    found: list[Any] = [
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        list(vars(optimizer)),
    ]
    found.append([{k: v for k, v in g.items() if k != "params"} for g in optimizer.param_groups])
    for p in unique(optimizer):
        held = list(optimizer.state.get(p, {}).items())
        found += [
            id(p.grad),
            p._version,
            p.requires_grad,
            p.is_leaf,
            p.data_ptr(),
            [(k, id(v)) for k, v in held],
        ]
        tensors = [
            p,
            *(v for _, v in held if isinstance(v, torch.Tensor)),
            *([] if p.grad is None else [p.grad]),
        ]
        found += [(t._version, bits(t.to_dense() if t.is_sparse else t).tolist()) for t in tensors]
    return [*found, len(optimizer.state)]


@settings(max_examples=250)
@given(optimizers())
def test_agrees_with_a_real_step_and_changes_nothing(optimizer: Any) -> None:
    before = everything(optimizer)
    agree(optimizer)
    assert everything(optimizer) == before


# --- the words ------------------------------------------------------------------------------------


def one(
    value: float, grad: float | None, make: Callable[..., Any] = optim.SGD, **options: Any
) -> Any:
    p = nn.Parameter(torch.tensor([float(value)]))
    p.grad = None if grad is None else torch.tensor([grad])
    (row,) = agree(make([p], **{"lr": 0.1, **options})).rows
    return row


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (lambda: one(1, 0.5), "grad is not zero"),
        (lambda: one(1, 0.5, lr=0), "lr is 0"),
        (lambda: one(1, float("nan")), "grad is not finite, and the step writes NaN"),
        (lambda: one(float("nan"), 1.0), "all its values are NaN already"),
        (
            lambda: one(1, 1e-9),
            "the step is too small to change a float32 of this size: rounding swallows it",
        ),
        (
            lambda: one(1, 1e-30, lr=1e-30),
            "its step comes out as exactly zero: it underflows, or its parts cancel",
        ),
        (
            lambda: one(1, 0.0, weight_decay=0.01),
            "weight_decay 0.01 pulls it, though its grad is zero",
        ),
        (
            lambda: one(1, 0.0, optim.AdamW, lr=1e-5, weight_decay=1e-4),
            (
                "grad is zero, and the pull of weight_decay 0.0001 is too small to change a float32"
                " of this size: rounding swallows it"
            ),
        ),
        (lambda: one(0, 0.0, weight_decay=0.01), "grad is zero, and nothing else moves it"),
        (
            lambda: one(1, -0.5, weight_decay=0.5),
            (
                "the step and the pull of weight_decay 0.5 are too small to change a float32 of"
                " this size: rounding swallows it, or its parts cancel"
            ),
        ),
        (lambda: one(1, 0.0, optim.ASGD, lambd=0.1), "lambd 0.1 pulls it, though its grad is zero"),
        (
            lambda: one(1, 0.0, optim.Adam, eps=0),
            "grad is zero, but a trial step on a copy moves it, and the step writes NaN",
        ),
        (lambda: one(-0.0, -0.0), "only the sign of zeros changes"),
    ],
)
def test_reasons(row: Callable[[], Any], why: str) -> None:
    assert row().why == why


def test_momentum_and_decay_together() -> None:
    p = nn.Parameter(torch.ones(1))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.5, weight_decay=0.1)
    p.grad = torch.ones(1)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    row = agree(optimizer).rows[0]
    assert (
        row.why
        == "grad is zero, but momentum 0.5 still carries 0.55, and weight_decay 0.1 pulls it"
    )
    assert (row.state, row.settings) == (
        "momentum_buffer up to 1.1",
        "lr 0.1, momentum 0.5, weight_decay 0.1",
    )


# --- what is not known ----------------------------------------------------------------------------


class Own(optim.SGD):
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        raise AssertionError("was run")


def with_grad() -> Any:
    p = nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    return p


def test_code_of_the_users_is_never_run() -> None:
    def stop(*_: Any) -> None:
        raise AssertionError("was run")

    hooked, replaced = optim.SGD([with_grad()], lr=0.1), optim.SGD([with_grad()], lr=0.1)
    hooked.register_step_pre_hook(stop)
    replaced.step = stop  # type: ignore[method-assign, assignment]
    for optimizer in (Own([with_grad()], lr=0.1), hooked, replaced, optim.LBFGS([with_grad()])):
        (row,) = will_it_move(optimizer).rows
        assert row.verdict == "not known", row
        optimizer.param_groups[0]["params"][0].grad = None
        assert will_it_move(optimizer).rows[0].verdict == "not known"
    handle = register_optimizer_step_post_hook(stop)  # of every optimizer
    try:
        assert will_it_move(optim.SGD([with_grad()], lr=0.1)).rows[0].verdict == "not known"
    finally:
        handle.remove()


def test_schedulers_and_subclasses_that_leave_step_alone() -> None:
    class Named(optim.Adam):
        """A name of one's own."""

    optimizer = Named([with_grad()], lr=0.1)
    agree(optimizer)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    assert will_it_move(optimizer).rows[0].verdict == "moves"
    with pytest.raises(gv.GradvizError, match=r"pass the scheduler's \.optimizer"):
        will_it_move(scheduler)


def test_shared_memory_and_doubles() -> None:
    base, apart = torch.ones(4), torch.ones(4)
    whole, part = nn.Parameter(base), nn.Parameter(base[1:])
    left, right = nn.Parameter(apart[:2]), nn.Parameter(apart[2:])
    whole.grad, left.grad = torch.ones(4), torch.ones(2)
    rows = will_it_move(
        optim.SGD([whole, part, left, right], lr=0.1), {"whole": whole, "part": part}
    ).rows
    assert [r.verdict for r in rows] == ["not known", "not known", "moves", "stays"]
    assert rows[1].why == "shares memory with whole"
    twice = nn.Parameter(torch.ones(1))
    twice.grad = torch.ones(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = optim.SGD([twice, twice], lr=0.1)
    agree(optimizer)
    spread = nn.Parameter(torch.ones(1).expand(3))
    spread.grad = torch.ones(3)
    assert will_it_move(optim.SGD([spread], lr=0.1)).rows[0].verdict == "not known"


def test_fused_momentum_that_only_some_have() -> None:
    a, b = with_grad(), with_grad()
    optimizer = optim.SGD([a, b], lr=0.1, momentum=0.9, fused=True)
    b.grad = None
    optimizer.step()
    b.grad = torch.ones(2)
    assert {r.verdict for r in will_it_move(optimizer).rows} == (
        {"not known"} if really(optimizer) is None else {"moves"}
    )


def test_other_kinds_of_tensors() -> None:
    meta = nn.Parameter(torch.ones(2, device="meta"))
    meta.grad = torch.ones(2, device="meta")
    with torch.inference_mode():
        inference = nn.Parameter(torch.ones(2), requires_grad=False)
        inference.grad = torch.ones(2)
    rows = will_it_move(optim.SGD([meta, inference], lr=0.1)).rows
    assert [r.verdict for r in rows] == ["not known", "not known"]


# --- the table ------------------------------------------------------------------------------------


def test_names_and_what_is_not_in_the_optimizer() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model[0].bias = model[1].bias = nn.Parameter(torch.zeros(1))
    optimizer = optim.SGD(model[1].parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    told = will_it_move(optimizer, model)
    assert [(r.group, r.name, r.verdict) for r in told.rows] == [
        (0, "1.weight", "moves"),
        (0, "0.bias, 1.bias", "moves"),
        (None, "0.weight", "stays"),
    ]
    assert told.rows[2].why == "not in the optimizer"
    assert told.verdict == "SGD: of 3 parameters the next step() moves 2; 1 stay."
    assert will_it_move(optimizer).rows[0].name == "parameter 0 of group 0"
    with pytest.raises(gv.GradvizError, match=r"expected a torch\.nn\.Module"):
        will_it_move(optimizer, [model])


def test_text_and_html() -> None:
    w = nn.Parameter(torch.ones(1))
    told = will_it_move(optim.SGD([w], lr=0.1), {"<b>&\n": w})
    assert str(told).splitlines() == [
        "SGD: of 1 parameter the next step() moves 0; 1 stay.",
        "group  name    requires_grad  grad  state  settings  verdict  why",
        "0      <b>&\\n  True           None         lr 0.1    stays    grad is None: skipped",
    ]
    bundle = told._repr_mimebundle_()
    assert bundle["text/plain"] == str(told)
    assert "&lt;b&gt;&amp;\\n" in bundle["text/html"]
    assert "<b>" not in bundle["text/html"]


def test_holds_nothing() -> None:
    w = with_grad()
    optimizer = optim.Adam([w], lr=0.1)
    gc.collect()
    gc.disable()
    try:
        told = will_it_move(optimizer, {"w": w})
        alive = [weakref.ref(w), weakref.ref(w.grad), weakref.ref(optimizer)]
        del optimizer
        w.grad = None
        del w
        assert [ref() is None for ref in alive] == [True] * 3
    finally:
        gc.enable()
    assert told.rows[0].verdict == "moves"


def test_inside_a_recording_nothing_is_seen() -> None:
    optimizer = optim.SGD([with_grad()], lr=0.1)
    with gv.record() as rec:
        will_it_move(optimizer)
    assert not rec.events
