"""Names from source: every row is a program for a dummy tensor and what each of its calls must be
called."""

from __future__ import annotations

import builtins
import linecache
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import gradviz as gv
from gradviz.names.resolve import Named, Site, resolve
from gradviz.picture.cards import scene as cards

EXACT = sys.version_info >= (3, 11)  # code positions; 3.10 finds less, but nothing else
FRAMES = 4
sites: list[Site] = []


def record() -> None:
    frame, pairs = sys._getframe(2), []
    while frame and len(pairs) < FRAMES:
        pairs.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back  # type: ignore[assignment]
    sites.append(tuple(pairs))


class Dummy:
    """Behaves like a tensor: every operation is recorded."""

    @property
    def data(self) -> Any:
        record()
        return Dummy()

    @data.setter
    def data(self, value: Any) -> None:
        record()

    T = requires_grad = data

    def __iter__(self) -> Any:
        record()
        return iter([Dummy(), Dummy(), Dummy()])

    def unbind(self) -> Any:
        record()
        return Dummy(), Dummy(), Dummy()

    def __bool__(self) -> bool:
        record()
        return True


def operation(*args: Any, **kwargs: Any) -> Any:
    record()
    return Dummy()


for name in "add radd sub rsub mul rmul matmul pow truediv neg invert abs iadd imul lt gt le eq getitem setitem".split():
    setattr(Dummy, f"__{name}__", operation)
for name in "clone detach sum mul pow backward zero_ linear".split():
    setattr(Dummy, name, operation)


def play(program: str, filename: str = "program.py") -> None:
    sites.clear()
    linecache.cache[filename] = (len(program), None, program.splitlines(keepends=True), filename)
    module = types.SimpleNamespace(linear=operation, add=operation, stack=operation)
    variables = {name: Dummy() for name in "a b c t u x z w".split()}
    variables |= {
        "F": module,
        "torch": module,
        "n": 2,
        "ts": [Dummy(), Dummy()],
        "hs": [0, 0, 0],
        "flag": True,
    }
    variables |= {"self": types.SimpleNamespace(w=Dummy()), "Dummy": Dummy}
    exec(compile(program, filename, "exec", dont_inherit=True), variables)


def run(program: str, filename: str = "program.py") -> list[Named | None]:
    play(program, filename)
    return resolve(sites)


def short(named: Named | None) -> tuple[Any, Any, Any]:
    assert named is not None
    targets: Any = named.targets
    if targets and len(targets) == 1 and not named.unpacked:
        targets = targets[0]
    return named.code, targets, named.arguments


ANY: Any = None

# (program, [(code, targets, arguments) of each call])
CALLS: list[tuple[str, list[tuple[Any, Any, Any]]]] = [
    # operators and plain assignments
    ("b = a.clone()", [("b = a.clone()", "b", ("a",))]),
    ("y = a * 2", [("y = a * 2", "y", ("a", None))]),
    ("y = 2 * a", [("y = 2 * a", "y", ("a", None))]),
    ("y = -a", [("y = -a", "y", ("a",))]),
    ("y = ~a", [("y = ~a", "y", ("a",))]),
    ("y = a @ w", [("y = a @ w", "y", ("a", "w"))]),
    ("y = a < b", [("y = a < b", "y", ("a", "b"))]),
    ("y = abs(a)", [("y = abs(a)", "y", ("a",))]),
    ("a.zero_()", [("a.zero_()", None, ("a",))]),
    ("y = z = a * 2", [("y = z = a * 2", ("y", "z"), ("a", None))]),
    ("y: object = a * 2", [("y: object = a * 2", "y", ("a", None))]),
    ("y: a.clone() = 3", [("a.clone()", None, ("a",))]),
    ("x += b", [("x += b", "x", ("x", "b"))]),
    ("_ = a * 2", [("_ = a * 2", None, ("a", None))]),
    ("y = a.T", [("y = a.T", "y", ("a",))]),
    ("y = x[1:3]", [("y = x[1:3]", "y", ("x", None))]),
    ("y = x[n]", [("y = x[n]", "y", ("x", "n"))]),
    # several calls in one statement: the last gets the name
    (
        "loss = (c + a).sum()",
        [("c + a", None, ("c", "a")), ("loss = (c + a).sum()", "loss", (None,))],
    ),
    (
        "loss = ((a * w).sum() - 1).pow(2)",
        [
            ("a * w", None, ("a", "w")),
            ("(a * w).sum()", None, (None,)),
            ("(a * w).sum() - 1", None, (None, None)),
            ("loss = ((a * w).sum() - 1).pow(2)", "loss", (None, None)),
        ],
    ),
    (
        "x = (a\n  .clone()  # why\n  .mul(2))",
        [("a.clone()", None, ("a",)), ("x = a.clone().mul(2)", "x", (None, None))],
    ),
    (
        "y = F.linear(a.clone(), self.w)",
        [("a.clone()", None, ("a",)), (None, "y", (None, "self.w"))],
    ),
    ("y = a * 2; z = y + 1", [("y = a * 2", "y", ("a", None)), ("z = y + 1", "z", ("y", None))]),
    # arguments
    ("y = F.linear(x, self.w)", [("y = F.linear(x, self.w)", "y", ("x", "self.w"))]),
    ("y = torch.stack(*ts)", [("y = torch.stack(*ts)", "y", ())]),
    ("y = torch.add(b, *ts, a)", [("y = torch.add(b, *ts, a)", "y", ("b",))]),
    (
        "hs[0] = a\nhs[0].mul(hs[-1], hs[n])",
        [("hs[0].mul(hs[-1], hs[n])", None, ("hs[0]", "hs[-1]", None))],
    ),
    # unpacking
    ("q, k, v = a.unbind()", [("q, k, v = a.unbind()", ("q", "k", "v"), ("a",))]),
    ("q, _, v = a.unbind()", [("q, _, v = a.unbind()", ("q", None, "v"), ("a",))]),
    ("q, *rest = a.unbind()", [("q, *rest = a.unbind()", ("q", "*rest"), ("a",))]),
    ("p = q, k, v = a.unbind()", [("p = q, k, v = a.unbind()", ("q", "k", "v"), ("a",))]),
    ("p = a.unbind()", [("p = a.unbind()", "p", ("a",))]),
    ("q, k, v = a", [("q, k, v = a", ("q", "k", "v"), ("a",))]),
    ("p, q = a * 2, a * 3", [("a * 2", "p", ("a", None)), ("a * 3", "q", ("a", None))]),
    ("p, (q, r) = a * 2, (n, a * 3)", [("a * 2", "p", ("a", None)), ("a * 3", "r", ("a", None))]),
    (
        "p, *q, r = -a, -b, -c, -t",
        [("-a", "p", ("a",)), ("-b", "q[0]", ("b",)), ("-c", "q[1]", ("c",)), ("-t", "r", ("t",))],
    ),
    ("p = [a * 2, *ts]", [("a * 2", None, ("a", None))]),
    ("p = {'q': a * 2, n: -a}", [("a * 2", "p['q']", ("a", None)), ("-a", None, ("a",))]),
    ("p, = {0: a * 2}", [("a * 2", None, ("a", None))]),
    # attributes and subscripts; a recorded setter proves a copy
    ("self.h = a * 2", [("self.h = a * 2", "self.h", ("a", None))]),
    ("hs[0] = a * 2", [("hs[0] = a * 2", "hs[0]", ("a", None))]),
    ("hs[n] = a * 2", [("hs[n] = a * 2", None, ("a", None))]),
    (
        "y = [0]\ny[0], k, _ = a.unbind()",
        [("y[0], k, _ = a.unbind()", ("y[0]", "k", None), ("a",))],
    ),
    ("x[0] = 5", [("x[0] = 5", "x", ("x", None, None))]),
    ("x[0] = z", [("x[0] = z", "x", ("x", None, "z"))]),
    ("x[0] = a * 2", [("a * 2", None, ("a", None)), ("x[0] = a * 2", "x", ("x", None, None))]),
    ("x.data = b", [("x.data = b", "x", ("x", "b"))]),
    ("x.data = -b", [("-b", None, ("b",)), ("x.data = -b", "x", ("x", None))]),
    ("x.requires_grad = False", [("x.requires_grad = False", "x", ("x", None))]),
    (
        "x.data[0] = 3",
        [("x.data", None, ("x",)), ("x.data[0] = 3", "x.data", ("x.data", None, None))],
    ),
    (
        "x.data += b",
        [
            ("x.data", None, ("x",)),
            ("x.data += b", None, ("x.data", "b")),
            ("x.data += b", "x", ("x",)),
        ],
    ),
    # values handed on
    ("y = a * 2 if flag else a * 3", [("y = a * 2 if flag else a * 3", "y", ("a", None))]),
    ("y = a * 2 if not flag else a * 3", [("y = a * 2 if not flag else a * 3", "y", ("a", None))]),
    ("y = 0 or a * 2", [("y = 0 or a * 2", "y", ("a", None))]),
    ("y = (z := a * 2)", [("y = (z := a * 2)", ("z", "y"), ("a", None))]),
    (
        "y = (z := a * 2).sum()",
        [("z := a * 2", "z", ("a", None)), ("y = (z := a * 2).sum()", "y", (None,))],
    ),
    # functions: the result takes the caller's target, what happens inside keeps its own
    ("def f(u): return u * 3\ny = f(x)", [("u * 3", "y", ("u", None))]),
    (
        "def f(u):\n  v = u + 1\n  return v * 3\ny = f(x)",
        [("v = u + 1", "v", ("u", None)), ("v * 3", "y", ("v", None))],
    ),
    ("def f(u): return u * 3\ndef g(u): return f(u)\ny = g(x)", [("u * 3", "y", ("u", None))]),
    (
        "def f(u): return u * 3\ny = f(f(x))",
        [("u * 3", None, ("u", None)), ("u * 3", "y", ("u", None))],
    ),
    ("def f(u): return -u, u * 3\np, q = f(x)", [("-u", "p", ("u",)), ("u * 3", "q", ("u", None))]),
    ("def f(u): return u.unbind()\np, q, r = f(x)", [("u.unbind()", ("p", "q", "r"), ("u",))]),
    ("def f(u): return u * 3\nf(x)", [("u * 3", None, ("u", None))]),
    (
        "def f(u): return u * 3\nf(x).sum()",
        [("u * 3", None, ("u", None)), ("f(x).sum()", None, (None,))],
    ),
    ("class K:\n  def f(self, u): return u * 3\ny = K().f(x)", [("u * 3", "y", ("u", None))]),
    (
        "class K:\n  def __call__(self, u): return u * 3\nk = K()\ny = k(x)",
        [("u * 3", "y", ("u", None))],
    ),
    (
        "class K:\n  @property\n  def f(self): return x * 3\ny = K().f",
        [("x * 3", "y", ("x", None))],
    ),
    (
        "class K:\n  def __mul__(self, o): return o.clone()\ny = K() * x",
        [("o.clone()", "y", ("o",))],
    ),
    (
        "class K:\n  def __contains__(self, o): return o.sum() and 1\ny = x in K()",
        [("o.sum()", None, ("o",)), ANY],
    ),
    (
        (
            "class K:\n  def __enter__(self): return a * 2\n  def __exit__(self, *e): return"
            " a.sum() and None\nwith K() as k:\n  n"
        ),
        [("a * 2", "k", ("a", None)), ("a.sum()", None, ("a",)), ANY],
    ),
    ("class K:\n  w = a * 2", [("w = a * 2", "w", ("a", None))]),
    ("double = lambda t: t * 2\ny = double(x)", [("t * 2", "y", ("t", None))]),
    ("y = (lambda t: t * 2)(x)", [("t * 2", "y", ("t", None))]),
    ("ops = {'k': lambda t: t * 2}\ny = ops['k'](x)", [("t * 2", "y", ("t", None))]),
    (
        "def wrap(f):\n  return lambda *a: f(*a)\n@wrap\ndef g(u): return u * 3\ny = g(x)",
        [("u * 3", "y", ("u", None))],
    ),
    ("def apply(f, u): return f(u)\ny = apply(lambda t: t * 2, x)", [("t * 2", "y", ("t", None))]),
    ("def f(u, k=a * 2): return u\ny = f(x)", [("a * 2", None, ("a", None))]),
    (
        (
            "async def f(u): return u * 3\nasync def g(): y = await f(x)\ntry:"
            " g().send(None)\nexcept StopIteration: pass"
        ),
        [("u * 3", "y", ("u", None))],
    ),
    # never a wrong name
    ("ys = [t * 2 for t in ts[:1]]", [("t * 2", None, ("t", None))]),
    ("y = next(t * 2 for t in ts)", [("t * 2", None, ("t", None))]),
    ("ys = list(map(lambda t: t * 2, ts[:1]))", [("t * 2", None, ("t", None))]),
    ("y = max(ts[:1], key=lambda t: t * 2)", [("t * 2", None, ("t", None))]),
    ("y = sum(ts)", [("sum(ts)", None, ()), ("sum(ts)", None, ())]),
    (
        "import functools\ny = functools.reduce(Dummy.mul, ts)",
        [("functools.reduce(Dummy.mul, ts)", None, ())],
    ),
    (
        "def grad(f): return lambda t: (f(t), n)[1]\ndef f(u): return -u\ny = grad(f)(x)",
        [("-u", None, ("u",))],
    ),
    (
        "def g():\n  yield -a\n  return a.sum()\ny = list(g())",
        [("-a", None, ("a",)), ("a.sum()", None, ("a",))],
    ),
    # loops and statements
    ("for _ in range(2): x = x * 2", [("x = x * 2", "x", ("x", None))] * 2),
    ("for h in (a * 2, n): pass", [("a * 2", "h", ("a", None))]),
    ("for h in a.unbind():\n  pass", [("a.unbind()", "h", ("a",))]),
    ("for p, q in [a.unbind()[:2]]: pass", [("a.unbind()", None, ("a",))]),
    ("s = f'{a.sum() and 1}'", [("a.sum()", None, ("a",)), ANY]),
    ("del x", []),
]


@pytest.mark.parametrize(("program", "expected"), CALLS, ids=[program for program, _ in CALLS])
def test_calls(program: str, expected: list[tuple[Any, Any, Any]]) -> None:
    got = [short(named) for named in run(program)]
    assert len(got) == len(expected)
    for wanted, found in zip(expected, got):  # noqa: B905
        if wanted is ANY or (not EXACT and found == (None, None, ())):
            continue
        assert found == (wanted[0] or found[0], *wanted[1:])


# On every Python: before 3.11 what the code does tells them apart.
ONE_LINE = [
    ("fs = {'a': lambda t: t * 2, 'b': lambda t: t * 3}\ny = fs['b'](x)", "t * 3"),
    ("fs = {'a': lambda t: t * 2, 'b': lambda t: t + 2}\ny = fs['a'](x)", "t * 2"),
    ("fs = [lambda t: t[0], lambda t: t[1], lambda t: t]\ny = fs[1](x)", "t[1]"),
    ("fs = [lambda: (lambda t: t * 2), lambda: (lambda t: t * 3)]\ny = fs[1]()(x)", "t * 3"),
    ("def g(k): return [lambda t: t * k, lambda t: k * (t - k)]\ny = g(2)[0](x)", "t * k"),
    ("y = [t * 2 for t in [x]][0]; z = [t * 3 for t in []]", "t * 2"),
]


@pytest.mark.parametrize(("program", "wanted"), ONE_LINE, ids=[program for program, _ in ONE_LINE])
def test_what_stands_several_times_on_a_line_is_told_apart(program: str, wanted: str) -> None:
    assert [short(named)[0] for named in run(program)] == [wanted]


def only(program: str, filename: str = "program.py") -> Named:
    named = run(program, filename)[-1]
    assert named is not None
    return named


def test_tests() -> None:
    """Where Python itself asks for a bool, the call has its code and argument, and never a
    target."""
    for program, code, arguments in [
        ("if a:\n  pass", "a", ("a",)),
        ("while not a:\n  pass", "not a", ("a",)),
        ("assert a", "a", ("a",)),
        ("z = a and n", None, None),
        ("z = not a", "not a", ("a",)),
        ("z = n if a else 0", None, None),
    ]:
        named = only(program)
        assert named.targets is None
        assert named.line == 1
        assert named.code in (code, None) or code is None
        assert named.arguments in (arguments, ()) or arguments is None
    compared, asked = run("assert a > b")  # from Python 3.13 on both are one instruction
    assert compared is not None
    assert asked is not None
    assert compared.inputs([True, True]) == ("a", "b")
    assert asked.inputs([True]) == (None,)


def test_augmented_subscript() -> None:
    got = [short(named)[:2] for named in run("x[0] += 1")]
    wanted = [("x[0]", None), ("x[0] += 1", None), ("x[0] += 1", "x")]
    pairs = zip(got, wanted)  # noqa: B905
    assert all(found == want or (not EXACT and found[0] is None) for found, want in pairs)
    assert [short(named)[1] for named in run("hs = [a]\nhs[0] += b")] == ["hs[0]"]


def test_keywords() -> None:
    assert only("y = torch.add(b, other=c, alpha=2, **{})").keywords == {"other": "c"}


@pytest.mark.parametrize(
    ("program", "callee"),
    [
        ("net = a.mul\ny = net(x)", "net"),
        ("self.fc = a.mul\ny = self.fc(x)", "self.fc"),
        ("layers = [a.mul]\ny = layers[0](x)", "layers[0]"),
        ("layers = [a.mul]\ny = layers[n - 2](x)", None),
        ("y = torch.add(a, b)", None),
        ("from operator import mul\ny = mul(a, b)", None),
        ("ys = list(map(a.mul, [b]))", None),
        ("y = a * b", None),
    ],
)
def test_callee(program: str, callee: str | None) -> None:
    assert only(program).callee == callee


@pytest.mark.parametrize(
    ("program", "count", "names"),
    [
        ("y = a.unbind()", None, ("y",)),
        ("y = z = a.unbind()", None, ("y",)),
        ("y = a.unbind()", 2, ("y[0]", "y[1]")),
        ("p, q = a.unbind()[:2]", 3, (None, None, None)),
        # one tensor, which Python takes apart: not this call's result
        ("p, q, r = a.unbind()", None, (None,)),
        ("p, q, r = a.unbind()", 3, ("p", "q", "r")),
        ("p, *q = a.unbind()", 3, ("p", "q[0]", "q[1]")),
        ("*p, q = a.unbind()", 3, ("p[0]", "p[1]", "q")),
        ("*p, q, r = a.unbind()", 2, ("q", "r")),
        ("*p, q, r = a.unbind()", 1, (None,)),
        ("for h in a.unbind(): pass", 3, ("h", "h", "h")),
        ("for h in a.unbind(): pass", None, (None,)),
        ("a.unbind()", 2, (None, None)),
    ],
)
def test_outputs(program: str, count: int | None, names: tuple[str | None, ...]) -> None:
    assert only(program).outputs(count) == names


@pytest.mark.parametrize(
    ("program", "tensors", "names"),
    [
        ("y = 2 * a", [True, False], ("a", None)),
        ("y = n * a", [True, False], (None, None)),  # torch gets (a, n)
        ("y = b * a", [True, True], ("b", "a")),
        ("y = (a * 2) * n", [True, False], (None, None)),
        ("y = a.sum()", [True, False], ("a", None)),
        ("y = F.linear(x, w)", [True, True, False], ("x", "w", None)),
        ("y = sum(ts)", [True, True], (None, None)),
        ("x[0] = z", [True, False, True], ("x", None, "z")),
    ],
)
def test_inputs(program: str, tensors: list[bool], names: tuple[str | None, ...]) -> None:
    assert only(program).inputs(tensors) == names


def test_lines() -> None:
    named = run("x = (a\n  .clone()\n  .mul(2))\ny = torch.stack(\n  [a],\n  b.clone(),\n)")
    assert [n and n.line for n in named] == [1, 1, 6, 4]


def test_text_is_one_short_line() -> None:
    assert only("y   =  a  *   2").code == "y = a * 2"
    code = only("y = a.linear(" + ", ".join(["a"] * 100) + ")").code
    assert code is not None
    assert len(code) == 60
    assert code.endswith("a…")
    assert only("é = 'é' and a.clone()").code == "é = 'é' and a.clone()"


def test_setter_of_another_run_hides_the_name() -> None:
    """The same assignment stores into a list once and copies into a tensor once: then neither is
    certain."""
    assert [short(n)[1] for n in run("for y in [0], x:\n  y[0] = a * 2")] == [None, None, "y"]


def test_without_source_only_the_line_is_known() -> None:
    sites.clear()
    exec(compile("\n\ny = a * 2", "<string>", "exec"), {"a": Dummy()})
    assert resolve(sites) == [Named("<string>", 3, None, None, False, (), {})]


def test_empty_site() -> None:
    assert resolve([()]) == [None]


@pytest.mark.skipif(not EXACT, reason="needs code positions")
@pytest.mark.parametrize(
    "after", ["y = b * 3", "z = a * 2", "# new\ny = a * 2", "y = a.sum()", "", "y = (", "if"]
)
def test_edited_file(after: str) -> None:
    play("y = a * 2", "edited.py")
    linecache.cache["edited.py"] = (1, None, [after], "edited.py")
    assert resolve(sites) == [Named("edited.py", 1, None, None, False, (), {})]


def test_edit_elsewhere_does_not_matter() -> None:
    play("def f(u):\n  v = u * 2\n  return 0\ny = f(x)", "elsewhere.py")
    text = ["def f(u):\n", "  v = u * 2\n", "  return 0\n", "# other"]
    linecache.cache["elsewhere.py"] = (1, None, text, "elsewhere.py")
    assert [short(n)[:2] for n in resolve(sites)] == [("v = u * 2", "v")]


def test_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "train_me.py").write_text("def step(a):\n    loss = a * 2\n    return loss\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import train_me  # type: ignore[import-not-found]

    sites.clear()
    train_me.step(Dummy())
    (named,) = resolve(sites)
    assert named == Named("train_me.py", 2, "loss = a * 2", ("loss",), False, ("a", None), {})


def test_rewritten_asserts() -> None:
    """This file's own asserts are rewritten by pytest."""
    a = Dummy()
    sites.clear()
    assert (a * 2).sum() is not None
    loss = a + 1
    assert (y := a.clone()) is not None
    assert y is not loss
    lines = [n.line for n in resolve(sites) if n]
    assert lines[1] == lines[0] == lines[2] - 1
    assert [short(n)[:2] for n in resolve(sites)][2] == ("loss = a + 1", "loss")
    assert [short(n)[1] for n in resolve(sites)] in (
        [None, None, "loss", "y"],
        [None, None, "loss", None],
    )


def test_doctest() -> None:
    import doctest

    sites.clear()
    example = ">>> y = a * 2\n>>> z = y.sum()\n"
    test = doctest.DocTestParser().get_doctest(example, {"a": Dummy()}, "docs", "docs.py", 0)
    named: list[Named | None] = []
    globals_: dict[str, Any] = test.globs
    globals_["look"] = lambda: named.extend(resolve(sites))
    test.examples.append(doctest.Example("look()\n", ""))
    assert doctest.DocTestRunner().run(test).failed == 0
    assert [(n.file, *short(n)[:2]) for n in named if n] == [
        ("<doctest docs[0]>", "y = a * 2", "y"),
        ("<doctest docs[1]>", "z = y.sum()", "z"),
    ]


def test_deep_expression() -> None:
    """Too deep for the walk that finds nodes: only the line is known."""
    assert only("y = " + " + ".join(["n"] * 600 + ["a"])) == Named(
        "program.py", 1, None, None, False, (), {}
    )


def test_same_everywhere() -> None:
    program = "def f(u): return u * 3\ny = f(x)\nhs[0] = a.sum()"
    assert run(program) == run(program)


def test_nothing_is_kept() -> None:
    import weakref

    sites.clear()
    variables = {"a": Dummy()}
    kept = weakref.ref(variables["a"])
    exec("y = a * 2", variables)
    resolve(sites)
    del variables
    assert kept() is None


def test_frames_are_not_touched() -> None:
    source = Path(sys.modules["gradviz.names.resolve"].__file__ or "").read_text()
    source += Path(sys.modules["gradviz.names.position"].__file__ or "").read_text()
    assert "_getframe" not in source
    assert "import torch" not in source
    assert "import IPython" not in source


class TestCells:
    """In a real shell, as a notebook has it."""

    @pytest.fixture
    def shell(self) -> Any:
        pytest.importorskip("IPython")
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        config = Config()
        config.HistoryManager.enabled = False
        before = sys.displayhook, sys.excepthook, dict(vars(builtins))
        shell = InteractiveShell.instance(config=config)
        shell.user_ns.update(
            a=Dummy(), b=Dummy(), ops=types.ModuleType("ops"), record=record, Dummy=Dummy
        )
        shell.user_ns["ops"].f = operation
        sites.clear()
        yield shell
        InteractiveShell.clear_instance()
        sys.displayhook, sys.excepthook = before[:2]

    def cell(self, shell: Any, code: str) -> None:
        shell.run_cell(code, store_history=True).raise_error()

    def test_names(self, shell: Any) -> None:
        self.cell(shell, "a.zero_();")
        self.cell(shell, "c = a * 2\nd = (c +\n     b)\nb.clone().sum()")
        named = [n for n in resolve(sites) if n]
        assert [(n.file, n.line, *short(n)) for n in named] == [
            ("cell [1]", 1, "a.zero_()", None, ("a",)),
            ("cell [2]", 1, "c = a * 2", "c", ("a", None)),
            ("cell [2]", 2, "d = c + b", "d", ("c", "b")),
            ("cell [2]", 4, "b.clone()", None, ("b",)),
            ("cell [2]", 4, "b.clone().sum()", None, (None,)),
        ]

    def test_function_from_an_earlier_cell(self, shell: Any) -> None:
        self.cell(shell, "def f(u):\n    return u * 3")
        self.cell(shell, "y = f(a)")
        (named,) = resolve(sites)
        assert named == Named("cell [1]", 2, "u * 3", ("y",), False, ("u", None), {}, depth=1)

    def test_equal_code_in_two_cells(self, shell: Any) -> None:
        self.cell(shell, "y = a * 2")
        self.cell(shell, "y = a * 2  # again")
        assert [n and n.file for n in resolve(sites)] == ["cell [1]", "cell [2]"]

    def test_equal_statements_in_one_cell(self, shell: Any) -> None:
        self.cell(shell, "y = a * 2\n\ny = a * 2")
        assert [n and n.line for n in resolve(sites)] == [1, 3]

    def test_modules_are_no_arguments(self, shell: Any) -> None:
        self.cell(shell, "y = ops.f(a)\nF = a\nz = F.clone()")
        assert [short(n)[2] for n in resolve(sites)] == [("a",), ("F",)]

    def test_kernel(self, shell: Any) -> None:
        compiler = pytest.importorskip("ipykernel.compiler")
        shell.compile = compiler.XCachingCompiler()
        self.cell(shell, "y = a * 2")
        assert [(n.file, n.code) for n in resolve(sites) if n] == [("cell [1]", "y = a * 2")]

    def test_cell_of_another_kernel(self) -> None:
        assert only("y = a * 2", "/tmp/ipykernel_123/456.py").file == "cell"
        assert only("y = a * 2", "<ipython-input-7-0123456789ab>").file == "cell [7]"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="positions are known from Python 3.11")
def test_a_cell_with_several_statements_on_a_line() -> None:
    """IPython compiles the statements of a cell one by one."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns.update(Recorder=_Recorder)
    shell.run_cell(
        "x = Recorder()\nif True: y = x * 2\nz = (x * 2).sum(); w = z * 3\nfor i in range(1): x = x"
        " * 1.0"
    )
    shown = [(n.code, n.targets) for n in resolve(_Recorder.sites) if n is not None]
    assert shown == [
        ("y = x * 2", ("y",)),
        ("x * 2", None),
        ("z = (x * 2).sum()", ("z",)),
        ("w = z * 3", ("w",)),
        ("x = x * 1.0", ("x",)),
    ]


class _Recorder:
    sites: ClassVar[list[Any]] = []

    def __mul__(self, other: object) -> _Recorder:
        return self._seen(sys._getframe(1))

    def sum(self) -> _Recorder:
        return self._seen(sys._getframe(1))

    def _seen(self, frame: types.FrameType) -> _Recorder:
        self.sites.append(((frame.f_code, frame.f_lasti),))
        return _Recorder()


@pytest.mark.parametrize(
    "code",
    ["z = abs(a)", "z = pow(a, 2)", "z = bool(a)", "z = sum([a, a])", 'setattr(b, "data", a)'],
)
def test_a_line_that_runs_often_keeps_its_code(code: str) -> None:
    """Python 3.11 runs built-in functions elsewhere in the code after a few rounds."""
    program = f"def often(a, b):\n    for _ in range(20):\n        {code}\n"
    names: dict[str, Any] = {}
    linecache.cache["often.py"] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        "often.py",
    )
    exec(compile(program, "often.py", "exec"), names)
    with gv.record() as recording:
        names["often"](torch.ones(1, requires_grad=True), torch.ones(1))
    found = [call.source.code for call in recording.graph.calls if call.source is not None]
    assert None not in found
    assert len(found) >= 20


def test_what_a_call_hands_back_as_it_is_gets_the_name_only_if_it_has_none() -> None:
    with gv.record() as rec:
        w = torch.ones(2, requires_grad=True)
        moved = w.clone().to("cpu")
        laid = (w * 2).contiguous()
        same = w.to("cpu")
        kept = w * 3
        kept = kept.contiguous()
    assert same is w
    drawn = {card.name: card for card in cards(rec.graph).cards}
    assert list(drawn) == ["w", "moved", "laid", "kept"]
    assert rec.find(moved).name == "moved"
    assert rec.find(laid).name == "laid"
    assert rec.find(kept).name == "kept"
