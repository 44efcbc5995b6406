"""What a random program is expected to do: the values behind its names, by rules of thumb that
never ask torch."""

from __future__ import annotations

import ast
import linecache
import random
import textwrap
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field

from gradviz.graph.records import CutReason as R

INFERENCE_WRITE = "in-place write to an inference tensor"
NORMAL_WRITE = "in-place write in inference_mode to a tensor from outside"


@dataclass(eq=False)
class Memory:
    """One block of memory.

    ``saved``: a node may have kept it for its backward. ``inference``: it was made in inference
    mode, so the tensors
    in it are inference tensors: they count no versions, and only inference mode writes into them.
    """

    saved: bool = False
    inference: bool = False


@dataclass(eq=False)
class Family:
    """A tensor with its differentiable views: one history, so one set of leaves.

    ``ghost``: its flag says True, yet no gradient edge leads on: a view that was made under no_grad
    of a tracked tensor, and what is computed from it.
    """

    reach: frozenset[str] = frozenset()
    leaf: bool = False
    ghost: bool = False
    size: int = 0  # members


@dataclass(eq=False)
class Value:
    """One tensor object. ``fragile``: a view that torch refuses to use once its memory has been
    written."""

    names: set[str]
    family: Family
    memory: Memory
    shape: tuple[int, ...]
    kind: str = "float"
    view: bool = False
    plain: bool = True  # contiguous
    writable: bool = True
    fragile: bool = False
    inference: bool = False
    dead: bool = False
    made: int = 0  # the line that made it
    ever: set[str] = field(default_factory=set)  # all names that it ever had
    nameless: bool = False  # only what is read later, or held by the module at the end, can name it

    @property
    def name(self) -> str:
        return min(self.names)

    @property
    def reach(self) -> frozenset[str]:
        return self.family.reach


@dataclass(frozen=True, eq=False)
class ExpectedCut:
    """One cut. Where a rule leaves two words open, ``reasons`` holds both; None among the names is
    "unnamed".

    ``inputs`` may grow: a value that gets a second name later may be called by it.
    ``optional``: a ghost is read, which has a node but no leaf.
    """

    line: int
    reasons: frozenset[R]
    inputs: Set[str | None]
    outputs: Set[str | None]
    optional: bool = False


@dataclass(frozen=True)
class ExpectedBackward:
    """One run of the engine: the leaves that it reaches, and those of them whose flag is off by
    then."""

    line: int
    kind: str
    roots: tuple[str, ...]
    reach: frozenset[str]
    off: frozenset[str]
    frees: bool


@dataclass(eq=False)
class ExpectedRecording:
    """One recording of the program: what stands after line ``first`` and before line ``last``."""

    name: str
    first: int
    last: int = 0

    def holds(self, line: int) -> bool:
        return self.first < line < self.last


@dataclass(frozen=True)
class Binding:
    """From this line on the variable stands for the value; for none after ``del``."""

    line: int
    name: str
    value: Value | None


@dataclass
class Program:
    """Text and model.

    The recording starts before line ``start``; where the text itself opens its recordings,
    ``recordings`` tells which. ``offset``: how many lines of its file stand before its first one.
    """

    lines: list[str] = field(default_factory=list)
    offset: int = 0
    recordings: list[ExpectedRecording] = field(default_factory=list)
    bound: list[Binding] = field(default_factory=list)
    start: int = 1
    leaves: list[str] = field(default_factory=list)
    on: set[str] = field(default_factory=set)  # leaves whose flag is on at the end
    cuts: list[ExpectedCut] = field(default_factory=list)
    backwards: list[ExpectedBackward] = field(default_factory=list)
    reentrant: bool = False
    has: set[str] = field(default_factory=set)  # what is worth counting

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def split(self, name: str) -> list[tuple[int, object]]:
        """Its top-level statements as (line, code), under a file name that ``linecache`` knows.

        A recording's block is taken apart, and what a task waits for is left out.
        """
        linecache.cache[name] = (len(self.text), None, self.text.splitlines(True), name)
        tree = ast.increment_lineno(ast.parse(textwrap.dedent(self.text)), self.offset)
        body = [
            part for stmt in tree.body for part in (stmt.body if is_recording(stmt) else [stmt])
        ]
        body = [
            stmt
            for stmt in body
            if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Await))
        ]
        return [(stmt.lineno, compile(ast.Module([stmt], []), name, "exec")) for stmt in body]

    def at(self, name: str, line: int) -> Value | None:
        """What the variable stood for when this line had run."""
        found = [b for b in self.bound if b.name == name and b.line <= line]
        return found[-1].value if found else None


def is_recording(stmt: ast.stmt) -> bool:
    """Whether it is ``with gv.record() as rec:``."""
    return isinstance(stmt, ast.With) and ast.unparse(stmt.items[0].context_expr) == "gv.record()"


class Builder:
    """Writes one program and keeps its model; ``programs.py`` adds the kinds of statements."""

    def __init__(self, *, risky: bool = False, offset: int = 0, indent: int = 0) -> None:
        self.program = Program(offset=offset)
        self.risky = risky  # also write into what a node has saved
        self.indent = indent
        self.shares_generator = False  # others draw random numbers meanwhile
        self.values: list[Value] = []
        self.named: dict[str, Value] = {}
        self.grad = True
        self.inference = False
        # enable_grad inside inference_mode: custom Functions are tracked there
        self.enabled_anyway = False
        self.depth = 0
        self.with_grad: set[str] = set()
        self.counter = 0

    # what the statements are made of

    def emit(self, code: str) -> int:
        self.program.lines.append("    " * (self.indent + self.depth) + code)
        return self.line

    @property
    def line(self) -> int:
        """The last line that was written."""
        return self.program.offset + len(self.program.lines)

    def fresh(self) -> str:
        self.counter += 1
        return f"t{self.counter}"

    def bind(self, name: str, value: Value) -> Value:
        value.names.add(name)
        value.ever.add(name)
        self.named[name] = value
        self.program.bound.append(Binding(self.line, name, value))
        if value not in self.values:
            value.made = self.line
            value.family.size += 1
            value.inference = value.inference or self.inference
            if self.inference and all(v.memory is not value.memory for v in self.values):
                value.memory.inference = True
            self.values.append(value)
        return value

    def unbind(self, name: str) -> None:
        """``del name``: the value lives on under its other names, or out of reach."""
        value = self.named.pop(name)
        value.names.discard(name)
        self.program.bound.append(Binding(self.line, name, None))
        if not value.names:
            self.values.remove(value)

    def new(
        self,
        name: str,
        family: Family,
        memory: Memory,
        shape: tuple[int, ...],
        kind: str = "float",
        **traits: bool,
    ) -> Value:
        return self.bind(name, Value({name}, family, memory, shape, kind, **traits))

    def usable(
        self, r: random.Random, test: Callable[[Value], bool] = lambda v: True, kind: str = "float"
    ) -> Value | None:
        """A value that a statement may read: still bound to a name, preferably a recent and tracked
        one."""
        fit = [
            v
            for v in self.values
            if v.kind == kind and not v.dead and test(v) and self.named.get(v.name) is v
        ]
        tracked = [v for v in fit if v.reach]
        if tracked and r.random() < 0.75:
            fit = tracked
        return fit[-1 - min(int(r.expovariate(0.35)), len(fit) - 1)] if fit else None

    def cut(
        self,
        line: int,
        reason: R,
        read: Iterable[Value],
        outputs: Iterable[str | None],
        *,
        unnamed: bool = False,
        also: R | None = None,
    ) -> None:
        """``read`` are the values of one call that reach none of its outputs; ``also`` is as true
        as ``reason``."""
        reasons = {reason, also or reason}
        if self.inference:
            reasons |= (
                {R.INFERENCE_MODE, R.NO_GRAD} if reason is R.NO_GRAD_WRITE else {R.INFERENCE_MODE}
            )
        elif not self.grad and reason is not R.NO_GRAD_WRITE:
            reasons.add(R.NO_GRAD)
        for value in dict.fromkeys(read):
            if value.reach or value.family.ghost:
                names = frozenset({None}) if unnamed else value.ever
                cut = ExpectedCut(
                    line, frozenset(reasons), names, frozenset(outputs), optional=not value.reach
                )
                self.program.cuts.append(cut)

    def off(self) -> R | None:
        """Why a differentiable call is not tracked here."""
        return R.INFERENCE_MODE if self.inference else None if self.grad else R.NO_GRAD

    def result(
        self,
        code: str,
        reads: Sequence[Value],
        shape: tuple[int, ...],
        saves: str = "",
        *,
        kind: str = "float",
        reason: R | None = None,
        view: Value | None = None,
        **traits: bool,
    ) -> Value:
        """``name = code``: one differentiable call, unless ``reason`` says why it is not."""
        name = self.fresh()
        line = self.emit(f"{name} = {code}")
        if "checkpoint" in code:
            self.program.has.add(
                "checkpoint, reentrant"
                if "use_reentrant=True" in code
                else "checkpoint, not reentrant"
            )
        why = reason or self.off()
        if why:
            self.cut(line, why, reads, [name])
        reach = frozenset() if why else frozenset().union(*(v.reach for v in reads))
        if saves == "in" and reach:
            for v in reads:
                v.memory.saved = True
        ghost = not why and any(v.family.ghost for v in reads)
        if view is None:
            value = Value(
                {name},
                Family(reach, ghost=ghost),
                Memory(saves == "out" and bool(reach)),
                shape,
                kind,
                **traits,
            )
        else:
            family = view.family if not why else self.untracked_view(view)
            # a view of an inference tensor is one too: torch counts no versions there, so it
            # refuses nothing
            refused = bool(why) and not view.memory.inference
            fragile = view.fragile or refused or traits.pop("fragile", False)
            value = Value(
                {name},
                family,
                view.memory,
                shape,
                kind,
                True,
                fragile=fragile,
                inference=view.inference,
                **{"writable": view.writable and not fragile, **traits},
            )
        value.nameless = "checkpoint" in code  # torch's own code has it last
        return self.bind(name, value)

    def untracked_view(self, base: Value) -> Family:
        """The family of a view that is made where nothing is tracked."""
        base.family.size += 1  # its flag follows that of the base
        return Family(ghost=bool(base.reach) or base.family.ghost)

    def wrote(self, target: Value, source: Value | None = None) -> None:
        """The history and the memory of ``target`` have a new state."""
        if self.inference:
            self.program.has.add(INFERENCE_WRITE if target.memory.inference else NORMAL_WRITE)
        if self.grad and source is not None:
            if source.reach and not target.reach:
                # torch takes its other views for leaves until they are used next, and refuses to
                # write into them
                for v in self.values:
                    v.writable = v.writable and (
                        v.family is not target.family or v is target or not v.view
                    )
            target.family.reach |= source.reach
            target.family.ghost |= source.family.ghost
        for v in self.values:
            if v.memory is target.memory and v.fragile:
                v.dead = True

    def may_write(self, v: Value) -> bool:
        safe = self.risky or not v.memory.saved
        if self.inference:
            return v.writable and safe
        return v.writable and safe and not v.inference and (not self.grad or not v.family.leaf)
