"""A variable is called as its user calls it, and not as a helper's parameter does, wherever that is
certain."""

from __future__ import annotations

import functools
import linecache
import random
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz as gv


def double(x: Any) -> Any:
    return x * 2


def scaled(inp: Any, scale: Any) -> Any:
    return double(inp) * scale


def multiplied(scale: Any, inp: Any) -> Any:
    return torch.mul(inp, scale)


def rebinding(x: Any) -> Any:
    x = x + 1
    return x * 2


def keeping(x: Any) -> Any:
    t = x * 2
    return t


def handing_on(f: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapped


@handing_on
def decorated(x: Any) -> Any:
    return x * 2


class Block(nn.Module):
    def forward(self, inp: Any) -> Any:
        return inp * 2


class Holder:
    def run(self, x: Any) -> Any:
        return x * 2

    def run2(self, x: Any, y: Any) -> Any:
        return x * y

    @staticmethod
    def still(x: Any) -> Any:
        return x * 2

    @staticmethod
    def still2(x: Any, y: Any) -> Any:
        return x * y


def plain_helper() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = double(w)
        y.sum()
    return rec


def helper_in_helper() -> gv.Recording:
    w, s = torch.ones(2, requires_grad=True), torch.ones(2)
    with gv.record() as rec:
        y = scaled(w, scale=s)
        y.sum()
    return rec


def helper_that_rebinds() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = rebinding(w)
        y.sum()
    return rec


def helper_with_a_local() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = keeping(w)
        y.sum()
    return rec


def partial() -> gv.Recording:
    w, s = torch.ones(2, requires_grad=True), torch.ones(2)
    with gv.record() as rec:
        f = functools.partial(scaled, scale=s)
        y = f(w)
        y.sum()
    return rec


def partial_with_the_second_given() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        f = functools.partial(multiplied, 2.0)
        y = f(w)
        y.sum()
    return rec


def partial_that_holds_it() -> gv.Recording:
    w, s = torch.ones(2, requires_grad=True), torch.ones(2)
    with gv.record() as rec:
        f = functools.partial(scaled, w)
        y = f(s)
        y.sum()
    return rec


def partial_that_holds_it_by_keyword() -> gv.Recording:
    w, s = torch.ones(2, requires_grad=True), torch.ones(2)
    with gv.record() as rec:
        f = functools.partial(multiplied, inp=w)
        y = f(s)
        y.sum()
    return rec


def mapped() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = next(iter(list(map(double, [w]))))
        y.sum()
    return rec


def decorator() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = decorated(w)
        y.sum()
    return rec


def alias() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        f = double
        y = f(w)
        y.sum()
    return rec


def lambda_by_name() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        f = lambda v: v * 2  # noqa: E731
        y = f(w)
        y.sum()
    return rec


def module() -> gv.Recording:
    block, w = Block(), torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = block(w)
        y.sum()
    return rec


def method() -> gv.Recording:
    holder, w = Holder(), torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = holder.run(w)
        y.sum()
    return rec


def bound_method() -> gv.Recording:
    run, w = Holder().run, torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = run(w)
        (y + w).sum()
    return rec


def static_method_and_own_use() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = Holder.still(w)
        (y + w).sum()
    return rec


def checkpoint_of_a_function(use_reentrant: bool = False) -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = checkpoint(double, w, use_reentrant=use_reentrant)
        y.sum().backward()
    return rec


def checkpoint_of_a_lambda() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = checkpoint(lambda inp: inp * 2, w, use_reentrant=False)
        y.sum().backward()
    return rec


def checkpoint_of_a_module() -> gv.Recording:
    block, w = Block(), torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = checkpoint(block, w, use_reentrant=False)
        y.sum().backward()
    return rec


def reentrant_checkpoint_and_own_use() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        y = checkpoint(double, w, use_reentrant=True)
        (y + w).sum().backward()
    return rec


def mapped_and_own_use() -> gv.Recording:
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        parts = list(map(double, [w]))
        y = w * 3
        (parts[0] + y).sum()
    return rec


PROGRAMS = [
    plain_helper,
    helper_in_helper,
    helper_that_rebinds,
    helper_with_a_local,
    partial,
    partial_with_the_second_given,
    partial_that_holds_it,
    partial_that_holds_it_by_keyword,
    mapped,
    decorator,
    alias,
    lambda_by_name,
    module,
    method,
    bound_method,
    static_method_and_own_use,
    checkpoint_of_a_function,
    checkpoint_of_a_lambda,
    checkpoint_of_a_module,
    reentrant_checkpoint_and_own_use,
    mapped_and_own_use,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_user_s_own_names_are_shown(program: Callable[[], gv.Recording]) -> None:
    names = {t.name for t in program().graph.tensors}
    assert {"w", "y"} <= names
    # x + 1 has no other name
    of_helpers = {"inp", "v", "t"} | ({"x"} if program is not helper_that_rebinds else set())
    assert not names & of_helpers


def test_what_a_partial_held_before_its_variable_was_bound_again_is_not_called_by_it() -> None:
    w, s = torch.ones(2, requires_grad=True), torch.ones(2)
    with gv.record() as rec:
        f = functools.partial(Holder.still2, w, s)
        g = functools.partial(Holder().run2, w, s)
        h = functools.partial(scaled, w)
        first = w
        w = torch.zeros(2)
        results = f(), g(), h(s)
    assert len(results) == 3
    for tensor in rec.graph.tensors:
        if tensor.object_id == rec.find(first).object_id:
            assert tensor.name != "w"
        assert (tensor.name == "s") <= (tensor.object_id == rec.find(s).object_id)


def test_every_argument_of_nested_helpers_is_told_by_its_own_name() -> None:
    rec = helper_in_helper()
    assert [t.name for t in rec.graph.tensors if t.is_leaf] == ["w", "s"]


def swapping(f: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any) -> Any:
        args = args[::-1]
        return f(*args)

    return wrapped


def replacing(f: Callable[..., Any]) -> Callable[..., Any]:
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs["scale"], kwargs["inp"] = kwargs["inp"], kwargs["scale"]
        return f(*args, **kwargs)

    return wrapped


def changing(f: Callable[..., Any]) -> Callable[..., Any]:
    def swap(given: Any) -> None:
        given["scale"], given["inp"] = given["inp"], given["scale"]

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        swap(kwargs)
        return f(*args, **kwargs)

    return wrapped


class Times:
    def multiplied(self, inp: Any, scale: Any = 2.0) -> Any:
        return torch.mul(inp, scale)


@pytest.mark.parametrize("wrapper", [swapping, replacing, changing])
def test_a_wrapper_that_changes_what_it_got_names_nothing_wrongly(wrapper: Any) -> None:
    first, second = torch.ones(2), torch.full((2,), 5.0)
    helper = wrapper(multiplied)
    with gv.record() as rec:
        if wrapper is swapping:
            helper(first, second)
        else:
            helper(inp=first, scale=second)
    told = {t.name: t.values for t in rec.graph.tensors}
    assert told.get("first", "[1, 1]") == "[1, 1]"
    assert told.get("second", "[5, 5]") == "[5, 5]"


class Weighed(nn.Module):
    def forward(self, inp: Any, scale: Any) -> Any:
        return torch.mul(inp, scale)


def swap_arguments(module: nn.Module, args: Any) -> Any:
    return args[1], args[0]


def swap_keywords(module: nn.Module, args: Any, kwargs: Any) -> Any:
    return args, {"inp": kwargs["scale"], "scale": kwargs["inp"]}


def swap_keywords_in_place(module: nn.Module, args: Any, kwargs: Any) -> Any:
    kwargs["inp"], kwargs["scale"] = kwargs["scale"], kwargs["inp"]
    return args, kwargs


def replace_first(module: nn.Module, args: Any) -> Any:
    return args[0].neg(), args[1]


def leave_alone(module: nn.Module, args: Any) -> Any:
    return args


def only_look(module: nn.Module, args: Any) -> None:
    pass


def hooked(hook: Any, way: str) -> tuple[nn.Module, Any]:
    """A module with a hook; what takes a global hook off again."""
    module = Weighed()
    if way == "globally":
        handle = nn.modules.module.register_module_forward_pre_hook(hook)
    elif way == "once":
        box: list[Any] = []

        def once(module: nn.Module, args: Any) -> Any:
            box[0].remove()
            return hook(module, args)

        box.append(handle := module.register_forward_pre_hook(once))
    else:
        handle = module.register_forward_pre_hook(hook, with_kwargs=hook in BY_NAME)
    return module, handle


BY_NAME = (swap_keywords, swap_keywords_in_place)  # only a module's own hook gets keywords
IN_ORDER = (swap_arguments, replace_first, leave_alone, only_look)
HOOKS = [(hook, way) for way in ("on it", "once", "globally") for hook in IN_ORDER]


@pytest.mark.parametrize(("hook", "way"), [*HOOKS, *((hook, "on it") for hook in BY_NAME)])
def test_a_hook_that_changes_the_arguments_names_nothing_wrongly(hook: Any, way: str) -> None:
    first, second = torch.ones(2), torch.full((2,), 5.0)
    module, handle = hooked(hook, way)
    try:
        with gv.record() as rec:
            result = module(inp=first, scale=second) if hook in BY_NAME else module(first, second)
    finally:
        handle.remove()
    told = {t.name: t.values for t in rec.graph.tensors}
    if hook in (leave_alone, only_look):
        assert (told.get("first"), told.get("second")) == ("[1, 1]", "[5, 5]")
    assert told.get("first", "[1, 1]") == "[1, 1]"
    assert told.get("second", "[5, 5]") == "[5, 5]"
    made = rec.find(result)
    assert made is not None
    assert made.name == "result"


def test_a_method_that_is_taken_from_its_class_gets_its_object_as_an_argument() -> None:
    first, second = torch.ones(2), torch.full((2,), 5.0)
    holder = Times()
    run = Times.multiplied
    multiplied = Times.multiplied
    for method in (0, 1):
        with gv.record() as rec:
            if method:
                run(holder, first, second)
            else:
                multiplied(holder, first, second)
        told = {t.name: t.values for t in rec.graph.tensors}
        assert "holder" not in told
        assert told.get("first", "[1, 1]") == "[1, 1]"
        assert told.get("second", "[5, 5]") == "[5, 5]"


def test_reentrant_checkpoint_never_names_its_own_parameter() -> None:
    names = {t.name for t in checkpoint_of_a_function(use_reentrant=True).graph.tensors}
    assert "x" not in names
    assert "y" in names


def test_an_older_tensor_is_not_called_by_the_line_that_made_the_newer_one() -> None:
    t1 = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        t2 = checkpoint(double, t1, use_reentrant=True)
        between = t1 * 2
        t2 = t2 + between
    lines = [t.name for t in rec.graph.tensors if t.name and t.name.startswith("t2 (line")]
    made = next(
        c for c in rec.graph.calls if c.source and (c.source.code or "").startswith("between")
    )
    assert made.source is not None
    assert lines == [f"t2 (line {made.source.line - 1})"]
    assert t2.shape == (2,)


# random programs ----------------------------------------------------------------------------------

# How a statement hands `a` to something, and what that something is; `{a}` is the user's own name.
WAYS = [
    "double({a})",
    "double(x={a})",
    "keeping({a})",
    "rebinding({a})",
    "decorated({a})",
    "block({a})",
    "holder.run({a})",
    "checkpoint(double, {a}, use_reentrant=False)",
    "checkpoint(block, {a}, use_reentrant=False)",
    "alias({a})",
    "shift({a})",
    "by_lambda({a})",
    "scaled({a}, 2.0)",
    "scaled(inp={a}, scale=2.0)",
    "{a} * 2",
]
START = """block, holder, alias = Block(), Holder(), double
by_lambda = lambda v: v * 2
shift = functools.partial(scaled, scale=2.0)"""


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_told_in_their_own_names(seed: int, tmp_path: Any) -> None:
    """The model: variable k of the program is tensor k, and every helper has names of its own."""
    dice = random.Random(seed)
    leaves = [f"leaf{i}" for i in range(dice.randint(1, 3))]
    known, lines = list(leaves), []
    for i in range(dice.randint(2, 6)):
        given = dice.choice(known)
        name = f"made{i}"
        lines.append(f"{name} = {dice.choice(WAYS).format(a=given)}")
        known.append(name)
    total = " + ".join(f"{name}.sum()" for name in known)
    body = [
        *START.split("\n"),
        *(f"{leaf} = torch.ones(2, requires_grad=True)" for leaf in leaves),
        "with gv.record() as rec:",
        *(f"    {line}" for line in lines),
        f"    total = {total}",
    ]
    text = (
        "def program():\n"
        + "\n".join(f"    {line}" for line in body)
        + f"\n    return rec, dict({', '.join(f'{n}={n}' for n in known)})\n"
    )
    path = tmp_path / f"program{seed}.py"
    path.write_text(text)
    space = {**globals()}
    exec(compile(text, str(path), "exec"), space)
    rec, held = space["program"]()
    for name, tensor in held.items():
        state = rec.find(tensor)
        assert state is not None
        assert state.name == name, f"{name} is called {state.name} in\n{text}"


@pytest.mark.parametrize(
    "line", ["d['x'] = w.relu()", "d[0] = w.relu()", "box.x = w.relu()", "y = w.relu()"]
)
def test_what_an_assignment_binds_stands_once_in_its_code(line: str) -> None:
    text = f"""
def run(gv, w, box):
    d = {{}}
    with gv.record() as rec:
        {line}
    return rec
"""
    name = "bound_once.py"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    rec = names["run"](gv, torch.ones(2, requires_grad=True), types.SimpleNamespace())
    (relu,) = (call for call in rec.graph.calls if call.function == "relu")
    assert relu.source.code == line


REBOUND = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.one(x).relu()
        x = self.two(x)
        return x


net = Net()
x = torch.ones(2, 3)
with gv.record() as rec:
    loss = net(x).sum()
    loss.backward()
"""


def test_an_input_keeps_its_name_where_forward_gives_that_name_to_something_else() -> None:
    name = "rebound_input.py"
    linecache.cache[name] = len(REBOUND), None, REBOUND.splitlines(True), name
    names: dict[str, Any] = {"gv": gv, "torch": torch, "nn": nn, "__name__": name}
    exec(compile(REBOUND, name, "exec"), names)
    rec = names["rec"]
    state = rec.find(names["x"])
    assert state.name == "x"
    others = [t.name for t in rec.graph.tensors if t.object_id != state.object_id]
    assert "x" not in others
    assert "x (line 8)" in others
    large = gv.Figure(rec.graph, depth=1).text  # an outline, small as it is
    assert "\nx  [2, 3]\n" in large
