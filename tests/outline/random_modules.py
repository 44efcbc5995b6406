"""Random trees of modules, as scripts of the same form as those in ``models``.

``make(seed)`` writes the script: 4 to 22 modules in sequences, branches, joins, skips and nested
parts; modules used again, loops, shared lists; frozen modules, tied weights, modules that are never
called, statements under ``no_grad``, and about one edge in eight cut by ``detach()`` or ``.data``.
``RandomModules.run`` runs it; ``expect`` says what should come of it by bookkeeping over names,
which never asks autograd: which parameters reach the loss, which cut takes what, in which order
modules are called. ``test_random_modules`` holds that torch agrees. Nothing here knows gradviz.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from model_scripts import MARKER, Namespace, named_parameters, run
from torch import nn

CUT_SHARE = 0.12
PREAMBLE = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed({seed})


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        return x + torch.tanh(self.inner(x))


class Join(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(16, 8)

    def forward(self, a, b):
        return torch.relu(self.mix(torch.cat([a, b], 1)) + 0.5)
"""
LEAVES = {
    "linear": "nn.Linear(8, 8)",
    "sequence": "nn.Sequential(nn.Linear(8, 8), nn.Tanh())",
    "norm": "nn.LayerNorm(8)",
    "residual": "Residual()",
    "tanh": "nn.Tanh()",
}
JOIN = "Join()"


@dataclass
class Child:
    """A module of a part: how it is made, and, if it is a part or a list, what is inside."""

    name: str
    made_by: str
    part: Part | None = None
    length: int = 0


@dataclass
class Source:
    """A value that a statement reads, and the cut on the way: "", ``.detach()`` or ``.data``."""

    name: str
    cut: str = ""

    def __str__(self) -> str:
        return self.name + self.cut


@dataclass
class Statement:
    """``target = …`` in a forward.

    ``kind``: call, loop (a list, or one module again and again) or add. ``line`` is known once the
    script is written.
    """

    target: str
    kind: str
    sources: list[Source]
    child: Child | None = None
    times: int = 1
    no_grad: bool = False
    line: int = 0


@dataclass
class Part:
    """A class of its own: its children, the statements of its forward, and what it returns."""

    class_name: str
    children: list[Child] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ExpectedCut:
    """A statement that let values through and gradients not.

    ``module``: the path of the part in whose forward it stands, "" for the model itself.
    ``behind``: the trained parameters whose gradient could have come this way.
    """

    line: int
    word: str
    module: str
    behind: frozenset[str]


@dataclass(frozen=True)
class Expected:
    """``reached``: parameters that get a gradient; ``lost``: those with ``requires_grad`` that get
    none; ``calls``: paths of the modules called, in the order in which the calls began."""

    reached: frozenset[str]
    lost: frozenset[str]
    frozen: frozenset[str]
    cuts: tuple[ExpectedCut, ...]
    calls: tuple[str, ...]
    never_called: frozenset[str]

    def costs(self, cut: ExpectedCut) -> frozenset[str]:
        """The parameters behind the cut that end up without a gradient.

        With two cuts in series each of them has those of the upper one.
        """
        return cut.behind & self.lost


@dataclass
class RandomModules:
    """One random script with the tree that it was written from."""

    seed: int
    source: str
    root: Part
    modules: int
    edges: int
    cut_edges: int
    features: frozenset[str]

    @property
    def filename(self) -> str:
        return f"random_modules_{self.seed}.py"

    def run(self, around: Callable[[], AbstractContextManager[Any]] = nullcontext) -> Namespace:
        """Run the whole script, the cell inside ``around()``."""
        return run(self.source, self.filename, around)

    def prepare(self) -> tuple[Namespace, Callable[[], Any]]:
        """Run the setup alone. Return its names and a step, which gives the loss after backward."""
        setup = self.source.split(MARKER)[0] + MARKER + "\n"
        namespace = run(setup, self.filename)

        def step() -> Any:
            namespace["opt"].zero_grad()
            loss = namespace["loss_of"](namespace["model"], namespace["x"], namespace["y"])
            loss.backward()
            return loss

        return namespace, step

    def expect(self, namespace: Namespace) -> Expected:
        """Say by bookkeeping what the step does; ``namespace`` tells which parameter is whose."""
        return _Bookkeeper(self, namespace).expected()


class _Writer:
    """Draws the tree and writes it down."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.budget = self.rng.randint(4, 22)
        self.modules = 0
        self.edges = 0
        self.cut_edges = 0
        self.part_count = 0
        self.parts: list[Part] = []
        self.features: set[str] = set()

    # the tree -------------------------------------------------------------------------------------

    def draw(self) -> Part:
        root = self.part("Net", self.budget, depth=0)
        self.modules = self.budget
        return root

    def part(self, class_name: str, budget: int, depth: int) -> Part:
        """Draw a part of ``budget`` modules, the last of which makes the result."""
        part = Part(class_name)
        values = ["x"]
        unread: list[str] = []
        left = budget - 1
        while left > 0:
            child, used = self.child(part, left, depth)
            left -= used
            part.children.append(child)
            if depth == 0 and self.rng.random() < 0.06:
                self.features.add("never called")
                continue
            self.use(part, child, values, unread)
            if self.rng.random() < 0.15:
                self.use_again(part, values, unread)
            if len(values) > 2 and self.rng.random() < 0.15:
                self.add(part, values, unread)
        self.finish(part, values, unread, is_root=depth == 0)
        self.parts.append(part)
        return part

    def child(self, part: Part, left: int, depth: int) -> tuple[Child, int]:
        """Draw one more child and say how many modules it counts."""
        name = f"m{len(part.children)}"
        draw = self.rng.random()
        if draw < 0.25 and left >= 3 and depth < 2:
            size = self.rng.randint(3, min(6, left))
            inner = self.part(f"Part{self.new_number()}", size, depth + 1)
            self.features.add("nested part")
            return Child(name, f"{inner.class_name}()", inner), size
        if draw < 0.37 and left >= 3:
            length = self.rng.randint(2, min(5, left))
            made_by = self.rng.choice(["nn.Linear(8, 8)", "Residual()"])
            self.features.add("list")
            text = f"nn.ModuleList({made_by} for _ in range({length}))"
            return Child(name, text, length=length), length
        if draw < 0.5:
            return Child(name, JOIN), 1
        return Child(name, LEAVES[self.rng.choice(list(LEAVES))]), 1

    def new_number(self) -> int:
        self.part_count += 1
        return self.part_count - 1

    # the statements -------------------------------------------------------------------------------

    def source(self, values: list[str], unread: list[str], cuts: bool = True) -> Source:
        """Draw a value to read: mostly the newest, sometimes an older one, which makes a branch."""
        name = values[-1]
        if self.rng.random() < 0.3:
            name = self.rng.choice(values)
            if name != values[-1]:
                self.features.add("branch")
        if name in unread:
            unread.remove(name)
        self.edges += 1
        cut = ""
        if cuts and self.rng.random() < CUT_SHARE:
            cut = self.rng.choice([".detach()", ".data"])
            self.cut_edges += 1
            self.features.add(cut)
        return Source(name, cut)

    def use(self, part: Part, child: Child, values: list[str], unread: list[str]) -> None:
        """Call a child."""
        no_grad = self.rng.random() < 0.06
        if no_grad:
            self.features.add("no_grad")
        number = 2 if child.made_by == JOIN else 1
        sources = [self.source(values, unread, cuts=not no_grad) for _ in range(number)]
        target = f"v{len(part.statements)}"
        kind, times = "call", 1
        if child.length:
            kind = "loop"
        elif number == 1 and self.rng.random() < 0.1:
            kind, times = "loop", self.rng.randint(3, 5)
            self.features.add("loop")
        part.statements.append(Statement(target, kind, sources, child, times, no_grad))
        values.append(target)
        unread.append(target)

    def use_again(self, part: Part, values: list[str], unread: list[str]) -> None:
        """Call a child that was called before."""
        called = [s.child for s in part.statements if s.child is not None]
        self.features.add("used again")
        self.use(part, self.rng.choice(called), values, unread)

    def add(self, part: Part, values: list[str], unread: list[str]) -> None:
        """Add two values: a skip."""
        self.features.add("skip")
        sources = [self.source(values, unread) for _ in range(2)]
        target = f"v{len(part.statements)}"
        part.statements.append(Statement(target, "add", sources))
        values.append(target)
        unread.append(target)

    def finish(self, part: Part, values: list[str], unread: list[str], is_root: bool) -> None:
        """Let the last module read what nobody has read, all or some of it."""
        head = Child("head", "nn.Linear(8, 8)")
        part.children.append(head)
        for name in [name for name in unread if name != values[-1]]:
            if self.rng.random() < 0.7:
                sources = [Source(values[-1]), Source(name)]
                self.edges += 2
                target = f"v{len(part.statements)}"
                part.statements.append(Statement(target, "add", sources))
                values.append(target)
                unread.remove(name)
        sources = [self.source(values, unread)]
        part.statements.append(Statement("out", "call", sources, head))
        part.returned = ["out"]
        if is_root and len(values) > 3 and self.rng.random() < 0.25:
            self.features.add("second output")
            part.returned.append(self.rng.choice(values[1:]))
        if set(unread) - set(part.returned):
            self.features.add("unused result")

    # the text -------------------------------------------------------------------------------------

    def text(self, root: Part) -> str:
        self.lines = PREAMBLE.format(seed=self.seed).splitlines()
        for part in self.parts:
            self.write_class(part)
        self.lines += ["", "", "def loss_of(model, x, y):"]
        if len(root.returned) == 2:
            self.lines.append("    out, aux = model(x)")
            self.lines.append("    return F.mse_loss(out, y) + 0.1 * (aux - y).pow(2).mean()")
        else:
            self.lines.append("    return F.mse_loss(model(x), y)")
        self.lines += ["", "", "model = Net()"]
        self.write_ties(root)
        self.write_frozen(root)
        self.lines.append("opt = torch.optim.SGD(model.parameters(), lr=0.01)")
        self.lines.append("x, y = torch.randn(4, 8), torch.randn(4, 8)")
        self.lines += [MARKER, "opt.zero_grad()", "loss = loss_of(model, x, y)"]
        self.lines += ["loss.backward()", "opt.step()"]
        return "\n".join(self.lines) + "\n"

    def write_class(self, part: Part) -> None:
        self.lines += ["", "", f"class {part.class_name}(nn.Module):"]
        self.lines += ["    def __init__(self):", "        super().__init__()"]
        for child in part.children:
            self.lines.append(f"        self.{child.name} = {child.made_by}")
        self.lines += ["", "    def forward(self, x):"]
        for statement in part.statements:
            self.write_statement(statement)
        self.lines.append(f"        return {', '.join(part.returned)}")

    def write_statement(self, statement: Statement) -> None:
        indent = " " * 8
        if statement.no_grad:
            self.lines.append(f"{indent}with torch.no_grad():")
            indent += " " * 4
        target = statement.target
        sources = ", ".join(str(source) for source in statement.sources)
        if statement.kind == "add":
            text = f"{target} = " + " + ".join(str(source) for source in statement.sources)
        elif statement.kind == "call":
            text = f"{target} = self.{statement.child.name}({sources})"
        else:
            source = statement.sources[0]
            self.lines.append(f"{indent}{target} = {source.name}")
            over = f"layer in self.{statement.child.name}"
            called = "layer"
            if not statement.child.length:
                over, called = f"_ in range({statement.times})", f"self.{statement.child.name}"
            self.lines.append(f"{indent}for {over}:")
            text = f"    {target} = {called}({target}{source.cut})"
        self.lines.append(indent + text)
        statement.line = len(self.lines)

    def paths(self, part: Part, prefix: str, made_by: set[str]) -> list[str]:
        """The paths of the children below ``part`` that are made by one of these texts."""
        found = []
        for child in part.children:
            if child.part is not None:
                found += self.paths(child.part, f"{prefix}{child.name}.", made_by)
            elif child.made_by in made_by:
                found.append(prefix + child.name)
        return found

    def write_ties(self, root: Part) -> None:
        linear = [p for p in self.paths(root, "", {LEAVES["linear"]}) if p != "head"]
        if len(linear) >= 2 and self.rng.random() < 0.4:
            self.features.add("tied weight")
            one, other = self.rng.sample(linear, 2)
            self.lines.append(f"model.{one}.weight = model.{other}.weight")

    def write_frozen(self, root: Part) -> None:
        candidates = self.paths(root, "", {*LEAVES.values(), JOIN} - {LEAVES["tanh"]})
        for path in candidates:
            if path != "head" and self.rng.random() < 0.1:
                self.features.add("frozen")
                self.lines.append(f"model.{path}.requires_grad_(False)")


class _Bookkeeper:
    """Walks through the tree as the script would, with names of parameters in place of tensors."""

    def __init__(self, made: RandomModules, namespace: Namespace) -> None:
        self.made = made
        self.model: nn.Module = namespace["model"]
        self.names = {id(p): name for name, p in named_parameters(namespace).items()}
        self.cuts: list[ExpectedCut] = []
        self.calls: list[str] = []
        self.grad_mode = True  # of torch where the walk stands

    def expected(self) -> Expected:
        parameters = dict(self.model.named_parameters())
        trained = frozenset(name for name, p in parameters.items() if p.requires_grad)
        outputs = self.walk(self.made.root, "", frozenset())
        reached = frozenset().union(*outputs)
        ours = {path for path, module in self.model.named_modules() if path}
        silent = {
            path for path in ours if isinstance(self.model.get_submodule(path), nn.ModuleList)
        }
        return Expected(
            reached=reached,
            lost=trained - reached,
            frozen=frozenset(parameters) - trained,
            cuts=tuple(self.cuts),
            calls=tuple(self.calls),
            never_called=frozenset(ours - silent - set(self.calls)),
        )

    def trained_of(self, path: str) -> frozenset[str]:
        parameters = self.model.get_submodule(path).parameters()
        return frozenset(self.names[id(p)] for p in parameters if p.requires_grad)

    def walk(self, part: Part, prefix: str, given: frozenset[str]) -> list[frozenset[str]]:
        """Return what reaches each returned value of a part that is given ``given``."""
        behind = {"x": given}
        for statement in part.statements:
            if statement.no_grad and self.grad_mode:
                self.cut_by_no_grad(statement, prefix, behind)
                self.grad_mode = False
                self.result(statement, prefix, behind)
                self.grad_mode = True
                behind[statement.target] = frozenset()
            else:
                behind[statement.target] = self.result(statement, prefix, behind)
        return [behind[name] for name in part.returned]

    def cut_by_no_grad(
        self, statement: Statement, prefix: str, behind: dict[str, frozenset[str]]
    ) -> None:
        """Note what a statement under no_grad keeps from gradients: its inputs and its module."""
        kept = self.trained_of(prefix + statement.child.name)
        kept = kept.union(*(behind[source.name] for source in statement.sources))
        if kept:
            self.cuts.append(ExpectedCut(statement.line, "no_grad", prefix.rstrip("."), kept))

    def result(
        self, statement: Statement, prefix: str, behind: dict[str, frozenset[str]]
    ) -> frozenset[str]:
        """Return what reaches the result of a statement."""
        module = prefix.rstrip(".")
        child = statement.child
        if statement.kind != "loop":
            reads = [self.read(statement, s, module, behind) for s in statement.sources]
            given = frozenset().union(*reads)
            if statement.kind == "call":
                return self.call(child, prefix + child.name, given)
            return given
        source = statement.sources[0]
        value = behind[source.name]
        for path in self.paths_of_loop(statement, prefix):
            given = self.read(statement, Source("value", source.cut), module, {"value": value})
            value = self.call(child, path, given)
        return value

    def paths_of_loop(self, statement: Statement, prefix: str) -> list[str]:
        path = prefix + statement.child.name
        if statement.child.length:
            return [f"{path}.{i}" for i in range(statement.child.length)]
        return [path] * statement.times

    def read(
        self,
        statement: Statement,
        source: Source,
        module: str,
        behind: dict[str, frozenset[str]],
    ) -> frozenset[str]:
        found = behind[source.name]
        if not self.grad_mode:
            return frozenset()
        if not source.cut:
            return found
        if found:
            word = "detach" if source.cut == ".detach()" else ".data"
            self.cuts.append(ExpectedCut(statement.line, word, module, found))
        return frozenset()

    def call(self, child: Child, path: str, given: frozenset[str]) -> frozenset[str]:
        """Return what reaches the result of calling the module at ``path``."""
        self.calls.append(path)
        if child.part is not None:
            return self.walk(child.part, f"{path}.", given)[0]
        inner = [name for name, _ in self.model.get_submodule(path).named_modules() if name]
        self.calls += [f"{path}.{name}" for name in inner]
        return given | self.trained_of(path) if self.grad_mode else frozenset()


def make(seed: int) -> RandomModules:
    """Write the random script of a seed. The same seed gives the same text."""
    writer = _Writer(seed)
    root = writer.draw()
    source = writer.text(root)
    return RandomModules(
        seed,
        source,
        root,
        writer.modules,
        writer.edges,
        writer.cut_edges,
        frozenset(writer.features),
    )
