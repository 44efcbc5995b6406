"""Random straight-line torch programs, each with a model of its own.

The model says which leaves every loss reaches and which calls cut which tracked value. It is
bookkeeping over names, by the rules that a reader of the program would use; it never asks torch and
knows nothing of gradviz but the words for the reasons of a cut. A program is made from one number a
statement, so it can be shrunk by leaving statements out (``shrink``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from program_model import (
    INFERENCE_WRITE,
    Builder,
    ExpectedBackward,
    ExpectedCut,
    ExpectedRecording,
    Family,
    Memory,
    Program,
    Value,
)
from torch.utils.checkpoint import checkpoint

from gradviz.graph.records import CutReason as R

# The functions of the programs --------------------------------------------------------------------


class Square(torch.autograd.Function):
    """A custom Function that saves its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Blend(torch.autograd.Function):
    """A custom Function with two inputs and two outputs."""

    @staticmethod
    def forward(ctx, x, y):
        return x + 2 * y, x - y

    @staticmethod
    def backward(ctx, g, h):
        return g + h, 2 * g - h


class Step(torch.autograd.Function):
    """A custom Function whose only output is marked non-differentiable."""

    @staticmethod
    def forward(ctx, x):
        out = (x > 0).float()
        ctx.mark_non_differentiable(out)
        return out

    @staticmethod
    def backward(ctx, g):
        return None


class Best(torch.autograd.Function):
    """A custom Function with a differentiable output and one marked non-differentiable."""

    @staticmethod
    def forward(ctx, x):
        where = x.detach().argsort()
        ctx.mark_non_differentiable(where)
        return x * 1.25, where

    @staticmethod
    def backward(ctx, g, _):
        return g * 1.25


def wave(x):
    """What the programs checkpoint."""
    return (x * 2.0).sin()


def ripple(x, y):
    """A checkpoint of two values."""
    return x.tanh() * y + y


def swell(x):
    """A checkpoint with another one inside."""
    return checkpoint(wave, x * 0.5, use_reentrant=False).exp()


def cut_elsewhere(x):
    """A helper in another file that cuts."""
    return x.detach()


NAMES = {
    "asyncio": asyncio,
    "torch": torch,
    "F": F,
    "checkpoint": checkpoint,
    "Square": Square,
    "Blend": Blend,
    "Step": Step,
    "Best": Best,
    "wave": wave,
    "ripple": ripple,
    "swell": swell,
}

#: code, what is saved for backward ("in": the inputs, "out": the result, "": nothing)
UNARY = [
    ("{x} * 2.0", ""),
    ("1.0 - {x}", ""),
    ("{x}.clone()", ""),
    ("torch.sin({x})", "in"),
    ("{x}.tanh()", "out"),
    ("torch.sigmoid({x})", "out"),
    ("{x} ** 2", "in"),
    ("{x}.abs()", "in"),
    ("{x}.round()", ""),
    ("F.relu({x})", "out"),
    ("F.softmax({x}, dim=-1)", "out"),
    ("F.dropout({x}, 0.5, True)", "in"),
    ("{x}.flip(0)", ""),
    ("Square.apply({x})", "in"),
    ("{x}.pow(3)", "in"),
    ("torch.square(input={x})", "in"),
    ("F.layer_norm({x}, {x}.shape)", "in"),
    ("{x}.sub({x})", ""),
    ("{x} * {x}", "in"),
    ("checkpoint(wave, {x}, use_reentrant=False)", "in"),
]
BINARY = [
    ("{x} + {y}", ""),
    ("{x} - {y}", ""),
    ("{x} * {y}", "in"),
    ("torch.mul({x}, other={y})", "in"),
    ("torch.maximum({x}, {y})", "in"),
    ("torch.addcmul({x}, {x}, {y})", "in"),
    ("torch.atan2({x}, {y})", "in"),
    ("torch.lerp({x}, {y}, 0.25)", "in"),
    ("F.mse_loss({x}, {y}, reduction='none')", "in"),
    ("torch.add({x}, {y}, alpha=2.0)", ""),
]
WRITES = [
    "{t}.mul_(2.0)",
    "{t} *= 3.0",
    "{t}[0] = 7.0",
    "{t}.zero_()",
    "{t}.sub_(0.5)",
    "{t}.data.mul_(0.5)",
]
WRITES_FROM = ["{t}.add_({y})", "{t} -= {y}", "{t}.copy_({y})", "{t}.mul_({y})", "{t}[...] = {y}"]
NOT_DIFFERENTIABLE = [
    ("{x} > 0.25", "bool"),
    ("torch.isfinite({x})", "bool"),
    ("{x}.argsort()", "int"),
]
INTEGER = [("{x}.long()", "int"), ("{x}.to(torch.int32)", "int32"), ("{x}.bool()", "bool")]
FACTORIES = [
    "torch.zeros_like({x})",
    "{x}.new_ones({x}.shape)",
    "torch.rand_like({x})",
    "torch.full({x}.size(), 0.5)",
]
MODES = [
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled(False)",
    "torch.inference_mode()",
]


class Statements(Builder):
    """The kinds of statements: each writes one, or returns False where nothing fits.

    ``records``: the text opens its recording itself; ``nests``: others in it, too; ``waits``: it
    lets other tasks run.
    """

    block_recording: ExpectedRecording | None = None  # the one with a with block

    def __init__(
        self, *, records: bool = False, nests: bool = False, waits: bool = False, **options: Any
    ) -> None:
        super().__init__(**options)
        self.records, self.nests, self.waits = records, nests, waits
        self.shares_generator = waits

    def unary(self, r: random.Random) -> bool:
        code, saves = r.choice(UNARY)
        if (self.shares_generator and "dropout" in code) or (
            self.enabled_anyway and "apply" in code
        ):
            return False
        x = self.usable(r, lambda v: len(v.shape) > 0)
        if x is None or ("checkpoint" in code and (not self.grad or x.inference or x.family.leaf)):
            return False  # a leaf whose flag may change before the recomputation
        self.result(code.format(x=x.name), [x], x.shape, saves)
        return True

    def binary(self, r: random.Random) -> bool:
        code, saves = r.choice(BINARY)
        x = self.usable(r, lambda v: not (saves and v.inference))
        y = x and self.usable(r, lambda v: v.shape == x.shape and not (saves and v.inference))
        if not x or not y:
            return False
        self.result(code.format(x=x.name, y=y.name), [x, y], x.shape, saves)
        return True

    def reduce(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) > 0)
        if x:
            self.result(f"{x.name}.{r.choice(['sum()', 'mean()', 'amax()'])}", [x], (), "in")
        return bool(x)

    def join(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) == 1 and v.shape[0] <= 8)
        y = x and self.usable(r, lambda v: v.shape == x.shape)
        if not x or not y:
            return False
        n = x.shape[0]
        kind = r.randrange(3)
        if kind == 0:
            self.result(f"torch.stack([{x.name}, {y.name}])", [x, y], (2, n))
        elif kind == 1:
            self.result(f"torch.cat(tensors=[{x.name}, {y.name}])", [x, y], (2 * n,))
        elif x.inference or y.inference:
            return False
        else:
            self.result(f"{x.name} @ {y.name}", [x, y], (), "in")
        return True

    def view(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) > 0 and v.plain and v.shape[0] > 1)
        if not x:
            return False
        n, rest = x.shape[0], x.shape[1:]
        ways: list[tuple[str, tuple[int, ...], dict[str, bool]]] = [
            ("[1:]", (n - 1, *rest), {}),
            ("[0:1]", (1, *rest), {}),
            ("[0]", rest, {}),
            (".unsqueeze(0)", (1, *x.shape), {}),
            (".view_as({x})", x.shape, {}),
            (".narrow(0, 0, 1)", (1, *rest), {}),
        ]
        if len(x.shape) == 1:
            ways.append((".expand(2, -1)", (2, n), {"writable": False, "plain": False}))
            if n % 2 == 0:
                ways.append((".view(2, -1)", (2, n // 2), {}))
        if len(x.shape) == 2:
            ways.append((".t()", x.shape[::-1], {"plain": False}))
        code, shape, traits = r.choice(ways)
        self.result(x.name + code.format(x=x.name), [x], shape, view=x, **traits)
        return True

    def pieces(self, r: random.Random) -> bool:
        """Two results of one call: several views, or a value with its place."""
        x = self.usable(r, lambda v: len(v.shape) > 0 and v.shape[0] % 2 == 0 and v.shape[0] > 0)
        if not x:
            return False
        half = (x.shape[0] // 2, *x.shape[1:])
        p, q = self.fresh(), self.fresh()
        code = r.choice(
            [
                "{x}.chunk(2)",
                "torch.split({x}, {half})",
                "{x}[:2].unbind()",
                "{x}.sort(dim=0)",
                "Best.apply({x})",
                "Blend.apply({x}, {x})",
            ]
        )
        if ("unbind" in code and x.fragile) or ("apply" in code and self.enabled_anyway):
            return False
        line = self.emit(f"{p}, {q} = {code.format(x=x.name, half=half[0])}")
        if self.off():
            # the slice is a call of its own: it is cut, what comes of it is not tracked
            outputs = [None] if "unbind" in code else [p, q, None] if "apply" in code else [p, q]
            self.cut(line, self.off() or R.NO_GRAD, [x], outputs)
        reach = frozenset() if self.off() else x.reach
        if "chunk" in code or "split" in code or "unbind" in code:
            shape = x.shape[1:] if "unbind" in code else half
            family = self.untracked_view(x) if self.off() else x.family
            for name in (p, q):
                self.new(
                    name,
                    family,
                    x.memory,
                    shape,
                    view=True,
                    plain=False,
                    fragile=True,
                    writable=False,
                    inference=x.inference,
                )
        else:
            places = Memory(saved=True)
            x.memory.saved = True
            ghost = not self.off() and x.family.ghost
            self.new(p, Family(reach, ghost=ghost), Memory(), x.shape)
            second = Family(
                reach if "Blend" in code else frozenset(), ghost=ghost and "Blend" in code
            )
            self.new(q, second, places, x.shape, "float" if "Blend" in code else "int")
            is_tracked = not self.off() and (x.reach or x.family.ghost)
            # in which order untracked results were returned is not known
            if "apply" in code and not is_tracked:
                self.named[p].nameless = self.named[q].nameless = True
        return True

    def write(self, r: random.Random) -> bool:
        t = self.usable(r, lambda v: self.may_write(v) and len(v.shape) > 0)
        if not t:
            return False
        code = r.choice(WRITES)
        line = self.emit(code.format(t=t.name))
        if ".data" in code:
            self.cut(line, R.DATA, [t], [None])
        self.wrote(t)
        return True

    def write_from(self, r: random.Random) -> bool:
        t = self.usable(r, lambda v: self.may_write(v) and len(v.shape) > 0)
        y = t and self.usable(
            r,
            lambda v: (
                v.shape == t.shape
                and v.memory is not t.memory
                and (self.inference or not v.inference)
            ),
        )
        if not t or not y:
            return False
        code = r.choice(WRITES_FROM)
        line = self.emit(code.format(t=t.name, y=y.name))
        if not self.grad:
            self.cut(line, R.NO_GRAD_WRITE, [y], t.ever)
        elif ".mul_" in code and (t.reach or y.reach):
            y.memory.saved = True
        self.wrote(t, y)
        return True

    def out(self, r: random.Random) -> bool:
        """``out=``, which torch allows only outside of autograd."""
        t = self.usable(
            r, lambda v: self.may_write(v) and v.plain and len(v.shape) > 0 and not v.reach
        )
        x = t and self.usable(r, lambda v: v.shape == t.shape and v.memory is not t.memory)
        if not t or not x or self.grad:
            return False
        line = self.emit(f"torch.mul({x.name}, 2.0, out={t.name})")
        self.cut(line, R.NO_GRAD_WRITE, [x], t.ever, also=R.NO_GRAD)
        self.wrote(t)
        return True

    def fill_new(self, r: random.Random) -> bool:
        """A buffer made from one value and filled with another."""
        x, y = self.usable(r), self.usable(r)
        if not x or not y or x.shape != y.shape or (y.inference and not self.inference):
            return False
        name = self.fresh()
        line = self.emit(f"{name} = torch.empty_like({x.name}).copy_({y.name})")
        if self.inference:
            self.program.has.add(INFERENCE_WRITE)
        if not self.grad:
            self.cut(line, R.NO_GRAD_WRITE, [y], [name, None])
        self.new(
            name,
            Family(y.reach if self.grad else frozenset(), ghost=self.grad and y.family.ghost),
            Memory(),
            y.shape,
            plain=x.plain,
        )
        return True

    def factory(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) > 0)
        if x:
            name = self.fresh()
            made = [f for f in FACTORIES if not (self.shares_generator and "rand" in f)]
            self.emit(f"{name} = {r.choice(made).format(x=x.name)}")
            self.new(name, Family(), Memory(), x.shape, plain=x.plain)
        return bool(x)

    def detach(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: not v.inference)
        if not x:
            return False
        code, reason = r.choice(
            [("{x}.detach()", R.DETACH), ("torch.detach({x})", R.DETACH), ("{x}.data", R.DATA)]
        )
        name = self.fresh()
        line = self.emit(f"{name} = {code.format(x=x.name)}")
        self.cut(line, reason, [x], [name])
        self.new(
            name,
            Family(),
            x.memory,
            x.shape,
            plain=x.plain,
            writable=x.writable and not x.fragile,
            fragile=self.inference,
        )
        return True

    def detach_(self, r: random.Random) -> bool:
        x = self.usable(
            r,
            lambda v: (
                not v.view
                and v.writable
                and not v.inference
                and not v.family.leaf
                and v.family.size == 1
                and not v.memory.saved
                and bool(v.reach)
            ),
        )
        if x:
            line = self.emit(f"{x.name}.detach_()")
            if not self.inference:  # there detach_ changes nothing
                self.program.cuts.append(
                    ExpectedCut(line, frozenset({R.DETACH_IN_PLACE}), x.ever, x.ever)
                )
                x.family.reach = frozenset()
        return bool(x)

    def new_leaf(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: not v.inference)
        if not x or self.inference:
            return False
        name = self.fresh()
        line = self.emit(f"{name} = {x.name}.detach().requires_grad_()")
        self.cut(line, R.DETACH, [x], [None, name])
        self.new(
            name,
            Family(frozenset({name}), leaf=True),
            x.memory,
            x.shape,
            plain=x.plain,
            writable=x.writable and not x.fragile,
        )
        self.program.leaves.append(name)
        self.program.on.add(name)
        return True

    def flag(self, r: random.Random) -> bool:
        """Switches the flag of a leaf off, or back on."""
        leaves = [self.named[n] for n in self.program.leaves[1:] if n in self.named]
        leaves = [
            v
            for v in leaves
            if v.family.leaf and v.family.size == 1 and v.name in self.program.leaves
        ]
        if not leaves:
            return False
        x = r.choice(leaves)
        name = next(n for n in self.program.leaves if self.named.get(n) is x)
        value = not x.reach
        line = self.emit(
            r.choice(["{x}.requires_grad_({v})", "{x}.requires_grad = {v}"]).format(
                x=x.name, v=value
            )
        )
        if not value:
            self.program.cuts.append(ExpectedCut(line, frozenset({R.FLAG_OFF}), x.ever, x.ever))
        x.family.reach = frozenset({name}) if value else frozenset()
        (self.program.on.add if value else self.program.on.discard)(name)
        return True

    def not_differentiable(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) > 0)
        if not x:
            return False
        if r.random() < 0.15 and not self.inference:
            self.result(f"Step.apply({x.name})", [x], x.shape, reason=R.CUSTOM_NON_DIFFERENTIABLE)
            return True
        integer = r.random() < 0.4
        code, kind = r.choice(INTEGER if integer else NOT_DIFFERENTIABLE)
        self.result(
            code.format(x=x.name),
            [x],
            x.shape,
            kind=kind,
            reason=R.INTEGER_DTYPE if integer else R.NOT_DIFFERENTIABLE,
        )
        return True

    def mask(self, r: random.Random) -> bool:
        """Uses a mask: one of an earlier statement, or a comparison inside this one."""
        x = self.usable(r, lambda v: len(v.shape) > 0 and not v.inference)
        y = x and self.usable(r, lambda v: v.shape == x.shape and not v.inference)
        m = x and self.usable(r, lambda v: v.shape == x.shape and not v.inference, "bool")
        if not x or not y:
            return False
        if m and r.random() < 0.5:
            m.memory.saved = True
            self.result(f"torch.where({m.name}, {x.name}, {y.name})", [x, y], x.shape)
        else:
            self.cut(self.line + 1, R.NOT_DIFFERENTIABLE, [x], [None])
            self.result(f"torch.where({x.name} > 0, {x.name}, {y.name})", [x, y], x.shape)
        return True

    def copied_out(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) > 0 and not v.inference)
        if not x or self.inference:
            return False
        name, n = self.fresh(), x.name
        code, reason, unnamed, outputs = r.choice(
            [
                (f"torch.tensor({n})", R.COPIED_OUT, False, [name]),
                (f"torch.tensor({n}.tolist())", R.COPIED_OUT, False, [None]),
                (f"{n}.new_tensor({n})", R.COPIED_OUT, False, [name]),
                (f"torch.from_numpy({n}.detach().numpy())", R.DETACH, False, [None]),
                (f"torch.from_numpy({n}.numpy(force=True))", R.COPIED_OUT, False, [None]),
                (f"torch.full({n}.shape, {n}.sum().item())", R.COPIED_OUT, True, [None]),
                (f"torch.full({n}.shape, float({n}.mean()))", R.COPIED_OUT, True, [None]),
            ]
        )
        line = self.emit(f"{name} = {code}")
        if not unnamed or self.grad:
            self.cut(line, reason, [x], outputs, unnamed=unnamed)
        else:  # the reduction is cut first, and what it gives is not tracked
            self.cut(line, R.NO_GRAD, [x], [None])
        shares = "numpy" in code
        self.new(
            name,
            Family(),
            x.memory if shares else Memory(),
            x.shape,
            plain=x.plain or not shares,
            writable=not shares or (x.writable and not x.fragile),
        )
        return True

    def index(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: len(v.shape) == 1)
        i = x and self.usable(
            r, lambda v: v.shape == x.shape and not v.inference and v.memory.saved, "int"
        )
        if not x:
            return False
        if i:  # only results of argsort and sort are marked saved, so they are valid places
            self.result(f"{x.name}[{i.name}]", [x], x.shape)
        else:
            self.result(f"{x.name}[[0, -1]]", [x], (2,))
        return True

    def same(self, r: random.Random) -> bool:
        """A call that hands its input back: one object with two names."""
        x = self.usable(
            r, lambda v: v.plain and not v.view and len(v.shape) > 0 and not v.inference
        )
        if not x or self.inference:
            return False
        name = self.fresh()
        self.emit(
            f"{name} = "
            + r.choice(
                ["{x}.contiguous()", "{x}.to(torch.float32)", "torch.as_tensor({x})"]
            ).format(x=x.name)
        )
        self.bind(name, x)
        return True

    def rebind(self, r: random.Random) -> bool:
        """A name that stands for a new value; the old one may live on in the graph."""
        x = self.usable(r, lambda v: not v.family.leaf and len(v.names) == 1 and len(v.shape) > 0)
        if not x:
            return False
        name = x.name
        line = self.emit(f"{name} = {name} + 1.0")
        if self.off():
            self.cut(line, self.off() or R.NO_GRAD, [x], [name])
        self.unbind(name)
        self.new(
            name,
            Family(frozenset() if self.off() else x.reach, ghost=not self.off() and x.family.ghost),
            Memory(),
            x.shape,
        )
        return True

    def forget(self, r: random.Random) -> bool:
        """``del``: a name that stands for nothing any more; the graph may hold the value, or a
        second name."""
        # not what was just made: a custom Function's result is met when the next call begins
        x = self.usable(r, lambda v: not v.family.leaf and v.made < self.line)
        if not x or self.depth:
            return False
        name = r.choice(sorted(x.names))
        self.emit(f"del {name}")
        self.unbind(name)
        return True

    def layer(self, r: random.Random) -> bool:
        w, b = self.named["w"], self.named["a"]
        if r.random() < 0.5:
            x = self.usable(r, lambda v: v.shape[-1:] == (4,) and not v.inference)
            if not x:
                return False
            y = self.result(f"F.linear({x.name}, w, bias=a)", [x, w, b], x.shape, "in")
            y.writable = False  # torch makes it a view of a temporary
        elif r.random() < 0.5:
            self.result("F.embedding(torch.tensor([0, 2]), w)", [w], (2, 4), "in")
        else:
            x = self.usable(r, lambda v: len(v.shape) == 2 and v.shape[0] > 1 and not v.inference)
            if not x:
                return False
            self.result(f"F.batch_norm({x.name}, None, None, training=True)", [x], x.shape, "in")
        return True

    def checkpointed(self, r: random.Random) -> bool:
        """A checkpoint of two values, or of one with a checkpoint inside."""
        # no leaf, whose flag may change before the recomputation
        x = self.usable(r, lambda v: len(v.shape) > 0 and not v.inference and not v.family.leaf)
        y = x and self.usable(
            r, lambda v: v.shape == x.shape and not v.inference and not v.family.leaf
        )
        if not x or not y or not self.grad:
            return False
        if r.random() < 0.5:
            self.result(
                f"checkpoint(ripple, {x.name}, {y.name}, use_reentrant=False)",
                [x, y],
                x.shape,
                "in",
            )
        else:
            self.result(f"checkpoint(swell, {x.name}, use_reentrant=False)", [x], x.shape, "in")
        return True

    def reentrant(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: bool(v.reach) and len(v.shape) > 0 and not v.family.leaf)
        if not x or not self.grad:
            return False
        self.program.reentrant = True
        self.result(f"checkpoint(wave, {x.name}, use_reentrant=True)", [x], x.shape, "in")
        return True

    def hook(self, r: random.Random) -> bool:
        # not of a view: torch 2.13 crashes on register_hook of a view whose base was written since
        # its last use
        x = self.usable(r, lambda v: bool(v.reach) and len(v.shape) > 0 and not v.view)
        if not x:
            return False
        if x.family.leaf or r.random() < 0.5:
            self.emit(f"{x.name}.register_hook(lambda g: g if g is None else g * 1.5)")
        else:
            self.emit(f"{x.name}.retain_grad()")
        return True

    def read(self, r: random.Random) -> bool:
        """Looks at a tensor without using its value."""
        x = self.usable(r)
        if x:
            code = r.choice(
                [
                    "str({x})",
                    "{x}.shape, {x}.dtype",
                    "{x}.requires_grad",
                    "{x}.grad_fn",
                    "f'{{{x}}}'",
                    "{x}.is_leaf",
                ]
            )
            self.emit(code.format(x=x.name))
        return bool(x)

    # backwards and blocks, at the top level only

    def losses(
        self,
        kind: str,
        roots: Sequence[Value],
        code: str,
        *,
        frees: bool,
        reach: frozenset[str] | None = None,
    ) -> None:
        found = frozenset().union(*(v.reach for v in roots)) if reach is None else reach
        line = self.emit(code)
        off = frozenset(n for n in found if n not in self.program.on)
        self.program.backwards.append(
            ExpectedBackward(line, kind, tuple(v.name for v in roots), found, off, frees)
        )
        if kind == "backward":
            self.with_grad |= found - off

    def backward(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: bool(v.reach))
        if not x or self.depth:
            return False
        loss = self.result(f"({x.name} * 1.5).sum()", [x], ())
        self.losses("backward", [loss], f"{loss.name}.backward(retain_graph=True)", frees=False)
        return True

    def double_backward(self, r: random.Random) -> bool:
        x = self.usable(r, lambda v: bool(v.reach) and not v.inference)
        if not x or self.depth or not self.grad:
            return False
        x.memory.saved = True
        cube = self.result(f"({x.name} * {x.name} * {x.name}).sum()", [x], ())
        name = self.fresh()
        self.losses(
            "grad",
            [cube],
            f"({name},) = torch.autograd.grad({cube.name}, {x.name}, create_graph=True)",
            frees=False,
            reach=frozenset(),
        )
        self.new(name, Family(x.reach), Memory(), x.shape)
        return True

    def clear_grad(self, r: random.Random) -> bool:
        ready = sorted(n for n in self.with_grad if self.named.get(n) is not None)
        if not ready or self.depth:
            return False
        name = r.choice(ready)
        self.emit(r.choice(["{x}.grad = None", "{x}.grad.zero_()"]).format(x=name))
        self.with_grad.discard(name)
        return True

    def block(self, r: random.Random) -> bool:
        if self.depth > 1:
            return False
        mode = r.choice(MODES)
        if self.inference and mode != "torch.enable_grad()":
            return False
        before = self.grad, self.inference
        self.emit(f"with {mode}:")
        self.depth += 1
        self.grad = mode == "torch.enable_grad()" and not self.inference
        self.enabled_anyway = self.inference and mode == "torch.enable_grad()"
        self.inference = self.inference or "inference" in mode
        count = len(self.program.lines)
        for _ in range(r.randint(1, 3)):
            self.statement(r)
        if len(self.program.lines) == count:
            self.emit("pass")
        self.depth -= 1
        self.grad, self.inference = before
        self.enabled_anyway = False
        return True

    KINDS: ClassVar = [
        (8, unary),
        (8, binary),
        (3, reduce),
        (4, join),
        (8, view),
        (4, pieces),
        (6, write),
        (6, write_from),
        (3, out),
        (2, fill_new),
        (2, factory),
        (4, detach),
        (1, detach_),
        (2, new_leaf),
        (2, flag),
        (4, not_differentiable),
        (3, mask),
        (4, copied_out),
        (2, index),
        (2, same),
        (2, rebind),
        (1, forget),
        (3, layer),
        (1.5, checkpointed),
        (0.4, reentrant),
        (2, hook),
        (2, read),
        (2, backward),
        (1.5, double_backward),
        (1, clear_grad),
        (5, block),
    ]

    # recordings

    def begin_recording(self, r: random.Random, *, block: bool = False) -> None:
        name = f"rec{len(self.program.recordings)}"
        line = self.emit(
            f"with gv.record() as {name}:" if block else f"{name} = gv.record().__enter__()"
        )
        recording = ExpectedRecording(name, line)
        self.program.recordings.append(recording)
        if block:
            self.block_recording = recording
            self.indent += 1

    def end_recording(self, recording: ExpectedRecording) -> None:
        recording.last = self.emit(f"{recording.name}.__exit__(None, None, None)")

    def nest(self, r: random.Random) -> None:
        """Begins a recording inside the others, or ends any of them, whichever began first."""
        going = [rec for rec in self.program.recordings[1:] if not rec.last]
        if going and r.random() < 0.5:
            self.end_recording(r.choice(going))
        elif len(going) < 3:
            self.begin_recording(r)

    def statement(self, r: random.Random) -> None:
        if self.nests and not self.depth and r.random() < 0.15:
            self.nest(r)
        self.operation(r)
        if self.waits and not self.depth and r.random() < 0.7:
            self.emit("await asyncio.sleep(0)")

    def operation(self, r: random.Random) -> None:
        weights, kinds = zip(*self.KINDS, strict=True)
        if self.risky:
            weights = [
                w * 4 if kind in (Statements.write, Statements.write_from) else w
                for w, kind in self.KINDS
            ]
        for kind in r.choices(kinds, weights, k=4):
            if kind(self, r):
                return

    def begin(self, r: random.Random) -> None:
        # torch.manual_seed() asks for other devices each time
        self.emit("torch.default_generator.manual_seed(0)")
        records = self.records and r.random() < 0.5
        is_block = r.random() < 0.6
        if records:
            self.begin_recording(r, block=is_block)
        for name, code, shape in (
            ("a", "torch.tensor([0.5, -1.25, 2.0, 0.75], requires_grad=True)", (4,)),
            ("b", "torch.tensor([1.5, 0.25, -0.5, 1.0]).requires_grad_()", (4,)),
            ("w", "torch.linspace(-1, 1, 16).view(4, 4).clone().requires_grad_(True)", (4, 4)),
            ("k", "torch.tensor([3.0, -2.0, 0.125, 1.0])", (4,)),
            ("buf", "torch.zeros(4)", (4,)),
        ):
            self.emit(f"{name} = {code}")
            leaf = name in ("a", "b", "w")
            family = Family(frozenset({name}) if leaf else frozenset(), leaf=leaf)
            self.new(name, family, Memory(), shape)
            if leaf:
                self.program.leaves.append(name)
                self.program.on.add(name)
        self.program.start = r.choice([1, len(self.program.lines) + 1])
        if self.records and not records:
            self.begin_recording(r, block=is_block)

    def close(self, r: random.Random) -> None:
        """Ends the recordings, in any order."""
        going = [rec for rec in self.program.recordings if not rec.last]
        r.shuffle(going)
        for recording in going:
            if recording is self.block_recording:
                self.indent -= 1
                recording.last = self.line + 1
            else:
                self.end_recording(recording)

    def end(self, r: random.Random) -> None:
        fit = [
            v
            for v in self.values
            if v.kind == "float" and v.reach and not v.dead and self.named.get(v.name) is v
        ]
        chosen = r.sample(fit, min(len(fit), r.randint(1, 3)))
        if len(chosen) > 1 and r.random() < 0.2 and all(v.shape == chosen[0].shape for v in chosen):
            names = ", ".join(v.name for v in chosen)
            code = f"torch.autograd.backward([{names}], [torch.ones_like(t) for t in [{names}]])"
            self.losses("backward", chosen, code, frees=True)
            return
        loss = self.result(" + ".join(f"{v.name}.sum()" for v in chosen), chosen, ())
        how = r.random()
        on = [n for n in self.program.leaves if n in self.program.on and self.named.get(n)]
        if how < 0.2 and not self.program.reentrant:
            self.losses(
                "grad",
                [loss],
                f"grads = torch.autograd.grad({loss.name}, [{', '.join(on)}], allow_unused=True)",
                frees=True,
            )
        else:
            if how < 0.4:
                self.losses(
                    "backward", [loss], f"{loss.name}.backward(retain_graph=True)", frees=False
                )
            self.losses("backward", [loss], f"{loss.name}.backward()", frees=True)


def build(seeds: Sequence[int], *, risky: bool = False) -> Program:
    """The program of these statement seeds; the first decides the beginning and the last the
    end."""
    return write(Statements(risky=risky), seeds)


def write(b: Statements, seeds: Sequence[int]) -> Program:
    b.begin(random.Random(seeds[0]))
    for seed in seeds[1:-1]:
        b.statement(random.Random(seed))
    last = random.Random(seeds[-1])
    b.end(last)
    b.close(last)
    return b.program


def statement_seeds(seed: int) -> list[int]:
    """Program number ``seed`` as one number a statement."""
    return some_seeds(random.Random(seed))


def some_seeds(r: random.Random) -> list[int]:
    return [r.randrange(2**30) for _ in range(r.randint(6, 18))]


def shrink(seeds: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """Leaves out statements for as long as the rest still fails."""
    size = max(1, len(seeds) // 2)
    while size:
        at = 1
        while at + size < len(seeds):
            fewer = seeds[:at] + seeds[at + size :]
            if fails(fewer):
                seeds = fewer
            else:
                at += 1
        size //= 2
    return seeds


# Programs that open their recordings themselves ---------------------------------------------------


class Plan(NamedTuple):
    """What a whole file is made from: one straight program, or several tasks side by side.

    ``order`` says which of the parts each task runs, by number; two tasks may run the same code.
    Empty: no tasks.
    """

    parts: tuple[list[int], ...]
    nests: bool = False
    order: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        if self.order:
            return "asyncio tasks that record side by side"
        return "nested recordings" if self.nests else "one recording"


def plan(stream: int, number: int) -> Plan:
    """Plan ``number`` of an endless row of plans; no two streams have a plan in common."""
    r = random.Random(f"{stream} {number}")
    nests = r.random() < 0.35
    if r.random() >= 0.1:
        return Plan((some_seeds(r),), nests)
    parts = tuple(some_seeds(r) for _ in range(2))
    return Plan(parts, nests, r.choice([(0, 1), (1, 0), (0, 1, 0), (0, 0)]))


@dataclass(frozen=True)
class File:
    """The text of a plan, and the programs in it: the straight one, or the one of each task."""

    plan: Plan
    text: str
    programs: list[Program]

    @property
    def has(self) -> set[str]:
        """What is worth counting."""
        found = set().union(*(program.has for program in self.programs))
        if any(disordered(program.recordings) for program in self.programs):
            found.add("recordings that end in another order than they nest")
        if len(set(self.plan.order)) < len(self.plan.order):
            found.add("two tasks that run the same code")
        return found

    @property
    def script(self) -> str:
        """As a file that can be run; it stands beside this one."""
        names = ", ".join(n for n, v in NAMES.items() if getattr(v, "__module__", "") == __name__)
        imports = ["import asyncio", "import torch", "import torch.nn.functional as F"]
        imports += ["from torch.utils.checkpoint import checkpoint", "import gradviz as gv"]
        imports += [f"from programs import {names}"]
        return "\n".join(imports) + "\n\n" + self.text


def disordered(recordings: Sequence[ExpectedRecording]) -> bool:
    """Whether one ends while another goes on that began inside it."""
    return any(
        one.first < other.first < one.last < other.last
        for one in recordings
        for other in recordings
    )


def write_file(plan: Plan) -> File:
    """The text and the models of a plan."""
    if not plan.order:
        program = write(Statements(records=True, nests=plan.nests), plan.parts[0])
        return File(plan, program.text, [program])
    lines: list[str] = []
    parts = []
    for number, seeds in enumerate(plan.parts):
        lines.append(f"async def task_{number}():")
        part = Statements(records=True, nests=plan.nests, waits=True, offset=len(lines), indent=1)
        parts.append(write(part, seeds))
        lines += [*parts[-1].lines, "    return locals()", ""]
    tasks = ", ".join(f"task_{number}()" for number in plan.order)
    lines += [
        "async def main():",
        f"    return await asyncio.gather({tasks})",
        "",
        "results = asyncio.run(main())",
    ]
    return File(plan, "\n".join(lines) + "\n", [parts[number] for number in plan.order])


def shrink_plan(plan: Plan, fails: Callable[[Plan], bool]) -> Plan:
    """Leaves out tasks and statements for as long as the rest still fails."""
    if plan.nests and fails(plan._replace(nests=False)):
        plan = plan._replace(nests=False)
    for order in (plan.order[:2], plan.order[1:]):
        if len(order) > 1 and order != plan.order and fails(plan._replace(order=order)):
            plan = plan._replace(order=order)
    for number in range(len(plan.parts)):
        still = partial(_with_part, plan, number)
        plan = still(shrink(plan.parts[number], lambda fewer, still=still: fails(still(fewer))))
    return plan


def _with_part(plan: Plan, number: int, seeds: list[int]) -> Plan:
    return plan._replace(parts=(*plan.parts[:number], seeds, *plan.parts[number + 1 :]))
