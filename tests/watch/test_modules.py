"""Which call of which module every recorded call ran in, held against torch's own hooks."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
import traceback
import warnings
import weakref
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_modules
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.records import Graph, ModuleCall

WIDTH = 4
OPERATIONS = {"linear", "relu", "sin", "mul", "add", "detach", "tanh", "clone"}


# --- what torch's own hooks say -------------------------------------------------------------------


class Invocation:
    """A call of a module as the hooks see it."""

    def __init__(self, module: nn.Module, parent: Invocation | None) -> None:
        self.module, self.parent, self.training = module, parent, module.training
        self.has_calls = False


oracles: list[Oracle] = []


def as_one_call(run: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a custom Function, which a recording shows as one call."""
    for oracle in oracles:
        oracle.open_custom_function()
    try:
        return run(*args, **kwargs)
    finally:
        for oracle in oracles:
            oracle.close_custom_function()


class Oracle(TorchFunctionMode):
    """The torch calls of a run without gradviz, each with the call of a module around it."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way: list[Invocation] = []
        self.invocations: list[Invocation] = []
        self.calls: list[tuple[str, Invocation | None]] = []
        self.open = 0  # custom Functions under way
        self.around: list[Invocation] = []  # in which all calls of the outermost one ran

    def open_custom_function(self) -> None:
        self.open += 1
        if self.open == 1:
            self.around = list(reversed(self.under_way))
            self.first = True

    def close_custom_function(self) -> None:
        self.open -= 1
        if not self.open and not self.first:
            self.calls.append(("apply", self.around[0] if self.around else None))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.strip("_").removeprefix("i")
        # ``apply`` makes a view of an input that ``forward`` hands back
        if name in OPERATIONS or (self.open and name == "view_as"):
            around = self.under_way[-1] if self.under_way else None
            if self.open:
                chain = list(reversed(self.under_way))
                self.around = chain if self.first else [i for i in self.around if i in chain]
                self.first = False
            else:
                self.calls.append((name, around))
            while around is not None:
                around.has_calls = True
                around = around.parent
        return func(*args, **(kwargs or {}))

    def before(self, module: nn.Module, args: Any) -> None:
        self.under_way.append(Invocation(module, self.under_way[-1] if self.under_way else None))
        self.invocations.append(self.under_way[-1])

    def after(self, module: nn.Module, args: Any, result: Any) -> None:
        assert self.under_way.pop().module is module

    def run(self, program: Any) -> Oracle:
        hooks = [
            torch_modules.register_module_forward_pre_hook(self.before),
            torch_modules.register_module_forward_hook(self.after, always_call=True),
        ]
        try:
            oracles.append(self)
            with self:
                result = program()
        finally:
            oracles.remove(self)
            for hook in hooks:
                hook.remove()
        result.sum().backward()
        return self

    def told(self, model: nn.Module) -> list[tuple[str, Any]]:
        """Each call with the calls of modules around it, the innermost first."""
        paths = {module: path for path, module in model.named_modules()}
        times: dict[nn.Module, int] = {}
        numbers = {}
        for one in self.invocations:
            if one.has_calls:
                numbers[one] = times.get(one.module, 0)
                times[one.module] = numbers[one] + 1

        def chain(one: Invocation | None) -> Any:
            if one is None:
                return None
            path = paths.get(one.module, "not below")
            kind = type(one.module).__name__
            return path, kind, numbers[one], one.training, chain(one.parent)

        return [(name, chain(one)) for name, one in self.calls]


def recorded(graph: Graph) -> list[tuple[str, Any]]:
    """The same of a recording."""
    main = graph.modules[0].id if graph.modules else None

    def chain(number: int | None) -> Any:
        if number is None:
            return None
        one = graph.module_calls[number]
        path = one.path if one.module_id == main else "not below"
        return path, one.kind, one.number, one.training, chain(one.parent_id)

    # up to torch 2.11 a checkpoint that is not reentrant makes a call for itself
    calls = [c for c in graph.calls if not c.bookkeeping]
    names = [(c.function.split(".")[-1].strip("_"), c.module_call) for c in calls]
    names = [(name.removeprefix("i"), around) for name, around in names]
    return [(name, chain(around)) for name, around in names if name in {*OPERATIONS, "apply"}]


# --- random trees of modules ----------------------------------------------------------------------


class Around(nn.Module):
    """A module with some below it. ``ways`` says how it calls them."""

    def __init__(self, ways: list[str], children: list[nn.Module], other: nn.Module | None) -> None:
        super().__init__()
        self.ways, self.below = ways, nn.ModuleList(children)
        self.other = [other]  # not registered
        self.weight = nn.Parameter(torch.ones(WIDTH))
        self.depth = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.weight
        for way, child in zip(self.ways, self.below, strict=True):
            x = getattr(self, way)(child, x) + 1.0
        return torch.sin(x)

    def plainly(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return child(x)

    def twice(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = child(x)
        return x

    def by_forward(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return child.forward(x)

    def reentrant(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return as_one_call(checkpoint, child, x, use_reentrant=True)

    def checkpointed(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda y: child(y) * 0.5, x, use_reentrant=False)

    def recursive(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        self.depth += 1
        x = self(x) if self.depth < 2 else child(x)
        self.depth -= 1
        return x

    def raising(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        try:
            return child(torch.ones(WIDTH + 1)) + child(x)
        except RuntimeError:
            return torch.tanh(x)

    def generated(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return sum((child(one) for one in (x, x * 2)), torch.zeros(()))

    def deep(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        def down(n: int) -> torch.Tensor:
            return child(x * 2) * 3 if n == 0 else down(n - 1)

        return down(6)

    def mapped(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return next(map(child, [x]))

    def unregistered(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return child(self.other[0](x)) if self.other[0] is not None else child(x)

    @torch.no_grad()
    def untracked(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return child(x.clone())

    def awaited(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        later = self._later(child, x)
        while True:
            try:
                later.send(None)
            except StopIteration as end:
                return end.value

    async def _later(self, child: nn.Module, x: torch.Tensor) -> torch.Tensor:
        await asyncio.sleep(0)
        return child(x) * 2


WAYS = """plainly twice by_forward reentrant checkpointed recursive raising generated deep mapped
unregistered untracked awaited""".split()


class Wrapper(nn.Module):
    """As DataParallel has them: what it wraps, called from torch's or anybody's forward."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


def replaced(module: nn.Module, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return (args[0] * 1.5,)


def tree(dice: random.Random, depth: int, known: list[nn.Module]) -> nn.Module:
    if depth == 0 or dice.random() < 0.15:
        if known and dice.random() < 0.2:
            return dice.choice(known)  # the same module stands in several places
        kinds = [lambda: nn.Linear(WIDTH, WIDTH), nn.ReLU, nn.Identity, nn.Tanh]
        made = dice.choice(kinds)()
    else:
        below = [tree(dice, depth - 1, known) for _ in range(dice.randint(1, 3))]
        kind = dice.random()
        if kind < 0.2:
            made = nn.Sequential(*below)
        elif kind < 0.3:
            made = Wrapper(below[0])
        elif kind < 0.35:
            made = nn.DataParallel(below[0])
        else:
            other = nn.Linear(WIDTH, WIDTH)
            made = Around([dice.choice(WAYS) for _ in below], below, other)
    if dice.random() < 0.1:
        made.register_forward_pre_hook(replaced)
    if dice.random() < 0.1:
        made.register_forward_hook(lambda module, args, result: result)
    if dice.random() < 0.2:
        made.eval()
    known.append(made)
    return made


@pytest.mark.parametrize("seed", range(60))
def test_every_call_is_in_the_call_of_a_module_that_hooks_see(seed):
    dice = random.Random(seed)
    torch.manual_seed(seed)
    model = Around(["plainly"], [tree(dice, 4, [])], None)
    x = torch.ones(2, WIDTH, requires_grad=True)

    def program() -> torch.Tensor:
        return model(x * 1.0) + model(x) + x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = Oracle().run(program).told(model)
        with gv.record(max_events=100_000) as rec:
            loss = program().sum()
            loss.backward()
    assert not rec.notes
    assert recorded(rec.graph) == expected
    assert len(expected) > 5
    in_module_order(rec.graph)


def in_module_order(graph: Graph) -> None:
    """Ids rise from the outside inwards, and the calls of each module's call are an interval."""
    spans: dict[int, list[int]] = {}
    for call in graph.calls:
        around = call.module_call
        while around is not None:
            spans.setdefault(around, []).append(call.id)
            around = graph.module_calls[around].parent_id
    for number, own in spans.items():
        parent = graph.module_calls[number].parent_id
        assert parent is None or parent < number
        between = [c for c in graph.calls if own[0] <= c.id <= own[-1] and not c.bookkeeping]
        assert [c.id for c in between] == own
    assert sorted(spans) == [m.id for m in graph.module_calls]


# --- what the graph says of modules ---------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, width: int, depth: int = 2) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.ln(x)).chunk(3, dim=-1)
        scores = (q @ k.transpose(-2, -1)) / 2.0
        return x + self.mlp(scores.softmax(-1) @ v)


class Gpt(nn.Module):
    def __init__(self, blocks: int = 3, width: int = 8) -> None:
        super().__init__()
        self.wte = nn.Embedding(11, width)
        self.h = nn.ModuleList(Block(width) for _ in range(blocks))
        self.lm_head = nn.Linear(width, 11, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.wte(ids) * 2
        for block in self.h:
            x = block(x)
        return self.lm_head(x)


def gpt_step() -> tuple[Gpt, gv.recording.Recording]:
    torch.manual_seed(0)
    net = Gpt()
    net.h[0].requires_grad_(False)
    optimizer = torch.optim.AdamW(net.h[1:].parameters())
    ids = torch.arange(6).view(2, 3)
    with gv.record() as rec:
        logits = net(ids)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
        loss.backward()
        optimizer.step()
    return net, rec


def test_every_call_of_a_model_is_in_a_call_of_a_module():
    _, rec = gpt_step()
    graph = rec.graph
    inside = [c for c in graph.calls if c.source and c.source.file == "test_modules.py"]
    outside = [c.function for c in inside if c.module_call is None and not c.bookkeeping]
    assert outside == ["flatten", "flatten", "cross_entropy", "backward"]
    bookkeeping = [c for c in graph.calls if c.bookkeeping]
    assert len(bookkeeping) > 5
    assert all(c.module_call is None for c in bookkeeping)
    paths = [m.path for m in graph.module_calls]
    below = ["", ".ln", ".qkv", ".mlp", ".mlp.0", ".mlp.1", ".mlp.2"]
    blocks = [f"h.{i}{path}" for i in range(3) for path in below]
    assert paths == ["", "wte", *blocks, "lm_head"]
    assert {m.number for m in graph.module_calls} == {0}


def test_parameters_are_those_of_named_parameters():
    net, rec = gpt_step()
    (model,) = rec.graph.modules
    assert (model.name, model.kind) == ("net", "Gpt")
    named = list(net.named_parameters())
    assert [p.name for p in model.parameters] == [name for name, _ in named]
    assert [p.shape for p in model.parameters] == [tuple(p.shape) for _, p in named]
    assert [p.requires_grad for p in model.parameters] == [p.requires_grad for _, p in named]
    assert [p.held for p in model.parameters] == [n.startswith(("h.1", "h.2")) for n, _ in named]
    known = [rec.find(p) for _, p in named]
    assert [p.object_id for p in model.parameters] == [t.object_id for t in known]
    assert model.tied == (("lm_head.weight", "wte.weight"),)
    modules = [(path, type(m).__name__) for path, m in net.named_modules() if path]
    assert list(model.children) == modules


def test_a_parameter_that_no_call_met_has_no_object():
    net = nn.ModuleDict({"used": nn.Linear(2, 2), "unused": nn.Linear(2, 2)})
    net.forward = lambda x: net["used"](x)
    with gv.record() as rec:
        net(torch.ones(2))
    (model,) = rec.graph.modules
    assert [p.object_id is None for p in model.parameters] == [False, False, True, True]
    assert [p.held for p in model.parameters] == [None] * 4


def test_an_optimizer_that_a_variable_holds_counts():
    net = nn.Linear(2, 2)
    optimizer = torch.optim.SGD([net.bias], lr=0.1)
    with gv.recording.record().look_into({"anything": optimizer}) as rec:
        net(torch.ones(2))
    assert [p.held for p in rec.graph.modules[0].parameters] == [False, True]


def test_an_optimizer_counts_once_it_has_stepped_though_its_step_does_nothing():
    class Mine(torch.optim.Optimizer):
        def __init__(self, parameters: Any) -> None:
            super().__init__(parameters, {})

        def step(self) -> None:
            pass

    net = nn.Linear(2, 2)
    optimizer = Mine([net.weight])
    with gv.record() as rec:
        net(torch.ones(2))
        optimizer.step()
    assert [p.held for p in rec.graph.modules[0].parameters] == [True, False]


def calls_of(rec: gv.recording.Recording) -> list[ModuleCall]:
    return list(rec.graph.module_calls)


def test_a_call_is_told_as_it_is_written():
    D, fake = nn.Linear(2, 2), torch.ones(2, requires_grad=True) * 1
    with gv.record() as rec:
        real, other = D(torch.zeros(2)), D(fake.detach())
        loss = D(
            fake,  # tracked
        ).sum()
        both = list(map(D, [fake]))
        D.forward(fake)
        D.__call__(fake)
    del real, other, both, loss
    found = [m.code for m in calls_of(rec)]
    assert found == ["D(torch.zeros(2))", "D(fake.detach())", "D(fake)", None, "D.__call__(fake)"]
    lines = [m.source.line for m in calls_of(rec)]
    assert lines == [lines[0], lines[0], lines[0] + 1, lines[0] + 4, lines[0] + 6]
    assert [m.number for m in calls_of(rec)] == [0, 1, 2, 3, 4]
    assert rec.graph.calls[-1].module_call == 4
    assert rec.graph.calls[-2].module_call is None  # by ``forward`` itself


def test_what_a_container_calls_is_not_written_anywhere():
    net = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.ReLU())
    with gv.record() as rec:
        net(torch.ones(2))
    found = [(m.path, m.code, m.source.code) for m in calls_of(rec)]
    written = "net(torch.ones(2))"
    inner = [("0", None, None), ("0.0", None, None), ("1", None, None)]
    assert found == [("", written, written), *inner]


def test_a_part_that_ran_alone_before_belongs_to_the_whole():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with gv.record() as rec:
        net[0](torch.ones(2))
        net(torch.ones(2))
    (model,) = rec.graph.modules
    assert model.name == "net"
    found = [(m.path, m.number, m.parent_id) for m in calls_of(rec)]
    assert found == [("0", 0, None), ("", 0, None), ("0", 1, 1), ("1", 0, 1)]
    assert [c.module for c in rec.graph.calls if c.function == "linear"] == ["net[0]", "net.0"]


def test_a_module_that_is_not_registered_is_a_root_of_its_own():
    class Hiding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layers[0](x)

    net = Hiding()
    with gv.record() as rec:
        net(torch.ones(2))
    first, second = rec.graph.modules
    assert (first.name, first.parameters) == ("net", ())
    assert (second.name, len(second.parameters)) == ("self.layers[0]", 2)
    assert [(m.module_id, m.path, m.parent_id) for m in calls_of(rec)] == [
        (0, "", None),
        (1, "", 0),
    ]


def test_modules_grow_with_the_steps():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with gv.record() as rec:
        net(torch.ones(2))
    assert rec.at(0).modules == rec.at(0).module_calls == ()
    assert rec.at(len(rec.events)).module_calls == rec.graph.module_calls
    for step in range(len(rec.events) + 1):
        graph = rec.at(step)
        assert graph.module_calls == rec.graph.module_calls[: len(graph.module_calls)]


def test_a_graph_with_modules_survives_json():
    _, rec = gpt_step()
    assert Graph.from_json(rec.graph.to_json()) == rec.graph


# --- where frames come from -----------------------------------------------------------------------


def test_a_recording_inside_of_forward_knows_what_runs_around_it():
    kept = []

    class Inside(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with gv.record() as rec:
                x = self.fc(x * 2)
            kept.append(rec)
            return x + torch.zeros(2)

    net = Inside()
    with gv.record() as outer:
        net(net(torch.ones(2)))
    for rec in kept:
        assert [(m.path, m.number) for m in calls_of(rec)] == [("", 0), ("fc", 0)]
    found = [(m.path, m.number) for m in calls_of(outer)]
    assert found == [("", 0), ("fc", 0), ("", 1), ("fc", 1)]


def test_a_generator_goes_on_in_whatever_runs_it():
    inner = nn.Linear(2, 2)

    def steps() -> Any:
        with gv.record() as rec:
            x = torch.ones(2)
            while True:
                yield rec
                x = x * 2

    class Driving(nn.Module):
        def forward(self, running: Any) -> Any:
            return next(running)

    running = steps()
    rec = next(running)
    Driving()(running)
    next(running)
    inner(torch.ones(2))
    around = [m.kind for m in calls_of(rec)]
    of_calls = [(c.function, c.module_call) for c in rec.graph.calls]
    running.close()
    assert around == ["Driving", "Linear"]
    assert of_calls[1:] == [("mul", 0), ("mul", None), ("ones", None), ("linear", 1)]


def test_threads_do_not_see_each_other():
    nets = [nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(4)]
    found: dict[int, Any] = {}
    together = threading.Barrier(4)

    def work(number: int) -> None:
        together.wait()
        with gv.record() as rec:
            for _ in range(50):
                nets[number](torch.ones(2, 4))
        found[number] = rec

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [(path, n) for n in range(50) for path in ("", "0", "1")]
    for rec in found.values():
        assert [(m.path, m.number) for m in calls_of(rec)] == expected
        assert len(rec.graph.modules) == 1


def test_hooks_of_a_module_run_inside_of_its_call():
    net = nn.Linear(2, 2)
    net.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    net.register_forward_hook(lambda module, args, result: result + 1)
    with gv.record() as rec:
        net(torch.ones(2))
    found = [(c.function, c.module_call) for c in rec.graph.calls]
    assert found == [("ones", None), ("mul", 0), ("linear", 0), ("add", 0)]


def test_what_runs_inside_of_a_backward_is_no_call_of_a_module():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.ones(2, requires_grad=True)
    for reentrant in (True, False):
        with gv.record() as rec:
            loss = checkpoint(net, x, use_reentrant=reentrant).sum()
            before = len(calls_of(rec))
            loss.backward()
        assert len(calls_of(rec)) == before > 0
        assert rec.graph.calls[-1].function == "backward"
        assert rec.graph.calls[-1].module_call is None


# --- nothing is changed, nothing is left ----------------------------------------------------------


class Looking(nn.Module):
    """Looks at the frames around it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        frame, self.marks = sys._getframe(), []
        while frame is not None:
            self.marks.append(frame.f_trace)
            frame = frame.f_back
        return x * 3


def test_marks_stand_only_on_frames_of_modules_and_leave_with_the_recording():
    net, alone = Looking(), Looking()
    with gv.record():
        net(torch.ones(2))
    assert sum(mark is not None for mark in net.marks) == 1
    alone(torch.ones(2))
    assert not any(mark is not None for mark in alone.marks)

    class Ending(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with gv.record():
                alone(x)
            return alone(x)

    Ending()(torch.ones(2))
    assert not any(mark is not None for mark in alone.marks)
    assert not torch_modules._global_forward_hooks
    assert not torch_modules._global_forward_pre_hooks


def test_a_module_is_not_kept():
    net = nn.Sequential(nn.Linear(2, 2))
    gone = [weakref.ref(net), weakref.ref(net[0])]
    gc.disable()
    try:
        with gv.record() as rec:
            net(torch.ones(2))
            del net
            assert [ref() for ref in gone] == [None, None]
        assert len(calls_of(rec)) == 2
    finally:
        gc.enable()


def test_a_module_that_is_gone_is_told_as_it_was():
    def local(kept: list[Any]) -> torch.Tensor:
        class Own(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight, self.unused = (nn.Parameter(torch.ones(2)) for _ in range(2))
                self.fc = nn.Linear(2, 2)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return self.fc(x * self.weight)

        net = Own()
        kept.append(torch.optim.SGD([net.fc.weight, net.unused], lr=0.1))
        return net(torch.ones(2)).sum().detach()

    kept: list[Any] = []
    with gv.recording.record().look_into({}) as rec:
        local(kept)
        kept[0].step()
        gc.collect()
    (model,) = rec.graph.modules
    assert model.children == (("fc", "Linear"),)
    objects = {t.name: t.object_id for t in rec.graph.tensors if t.name}
    found = [(p.name, p.object_id, p.held) for p in model.parameters]
    names = ["weight", "unused", "fc.weight", "fc.bias"]
    assert [name for name, _, _ in found] == names
    known = [objects[f"net.fc.{n}"] for n in ("weight", "bias")]
    assert [o for _, o, _ in found[2:]] == known
    assert found[0][1] is not None
    assert found[1][1] is None
    # what is gone is in no optimizer that anybody knows of
    assert [held for _, _, held in found] == [None, True, True, None]


def test_a_module_that_cannot_list_its_parameters_disturbs_nothing():
    class Refusing(nn.Linear):
        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("not now")

    net = Refusing(2, 2)
    with gv.record() as rec:
        net(torch.ones(2)).sum()
    assert [c.function for c in rec.graph.calls] == ["ones", "linear", "sum"]
    assert [(m.path, m.kind) for m in calls_of(rec)] == [("", "Refusing")]
    assert rec.graph.modules[0].parameters == ()
    assert not rec.notes


def test_a_traceback_shows_what_it_shows_without_a_recording():
    class Raising(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2) @ torch.ones(5)

    net = nn.Sequential(Raising())

    def told(run: Any) -> tuple[list[str], list[list[str]]]:
        try:
            run()
        except RuntimeError as error:
            shown = traceback.TracebackException.from_exception(error, capture_locals=True)
            frames = [f for f in shown.stack if "recorder" not in f.filename]
            text = [f"{f.filename}:{f.lineno} {f.name}" for f in frames[2:]]
            return text, [sorted(f.locals or {}) for f in frames[2:]]
        raise AssertionError

    def plain() -> None:
        net(torch.ones(2))

    def watched() -> None:
        with gv.record():
            net(torch.ones(2))

    assert told(plain) == told(watched)


@pytest.mark.parametrize("starts", ["before", "inside", "in between"])
def test_a_debugger_sees_what_it_sees_without_a_recording(starts):
    class Stopping(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x * 2
            if starts == "inside":
                begin()
            return x * 3

    events: list[tuple[str, str]] = []

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_name in ("run", "forward", "_call_impl"):
            events.append((frame.f_code.co_name, event))
        return trace

    def begin() -> None:
        """As pdb does it."""
        frame = sys._getframe(1)
        while frame is not None:
            frame.f_trace = trace
            frame = frame.f_back
        sys.settrace(trace)

    net = nn.Sequential(Stopping(), Stopping())

    def run() -> None:
        if starts == "before":
            begin()
        net(torch.ones(2))
        if starts == "in between":
            begin()
        net(torch.ones(2))

    before = sys.gettrace()
    frame: Any = sys._getframe()
    kept = []
    while frame is not None:
        kept.append((frame, frame.f_trace))
        frame = frame.f_back
    try:
        run()
        sys.settrace(before)
        plain, events[:] = list(events), []
        with gv.record() as rec:
            run()
            sys.settrace(before)
    finally:
        sys.settrace(before)
        for frame, traced in kept:
            frame.f_trace = traced
    assert events == plain
    assert len(plain) > 10
    found = [(m.path, m.number) for m in calls_of(rec)]
    assert found == [("", 0), ("0", 0), ("1", 0), ("", 1), ("0", 1), ("1", 1)]
