"""Source text is read by scope: what stands elsewhere under the same name answers for nothing."""

from __future__ import annotations

import ast
import dis
import linecache
import sys
from types import CodeType
from typing import Any

import pytest
from executing import Source as File

from gradviz.graph.records import Source
from gradviz.names import frames, written
from gradviz.names.bindings import argument_of, value_before
from gradviz.names.position import holds_others, statement_at, statement_or_head
from gradviz.names.same_line import part_of_line
from gradviz.names.statements import (
    default_used,
    function_node,
    statement_making,
    where_attribute_read,
    where_made,
)

HAS_COLUMNS = sys.version_info >= (3, 11)


def written_as(text: str, name: str = "source_text.py") -> File:
    """Return a file of this text."""
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    return File.for_filename(name)


def names_of(text: str, name: str = "source_text.py") -> dict[str, Any]:
    """Return what a program of this text defines."""
    written_as(text, name)
    names: dict[str, Any] = {}
    exec(compile(text, name, "exec"), names)
    return names


# --- who bound a name -----------------------------------------------------------------------------

BINDERS = {
    "g = 1\ng = 2\nuse(g)\ng = 3": "2",
    "g = 1\ndef f():\n    use(g)": "1",
    "g = 1\ng = 2\ndef f():\n    use(g)": None,  # which of them it is then, nobody knows
    "g = 1\ndef f(g):\n    use(g)": None,
    "def f():\n    g = 1\ndef h():\n    use(g)": None,
    "class A:\n    g = 1\n    def f(self):\n        use(g)": None,
    "g = 1\nclass A:\n    g = 2\n    def f(self):\n        use(g)": "1",
    "class A:\n    g = 1\n    use(g)": "1",
    "a, g = 1, 2\nuse(g)": "2",
    "g: int = 1\nuse(g)": "1",
    "for g in range(2):\n    use(g)": None,
    "g = 1\ndel g\nuse(g)": None,
    "g = 1\n[use(g) for x in range(3)]": "1",
    "g = 1\nhook = lambda: use(g)\ng = 2": None,
    "async def f():\n    g = 1\n    await use(g)": "1",
    "self.g = 1\nuse(self.g)": "1",
}


@pytest.mark.parametrize("text", BINDERS)
def test_the_value_of_a_name_is_asked_of_its_scope(text: str) -> None:
    tree = written_as(text).tree
    assert tree is not None
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    use = next(c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "use")
    value = value_before(use.args[0])
    assert (None if value is None else ast.unparse(value)) == BINDERS[text]


@pytest.mark.parametrize(
    ("parameters", "given", "wanted"),
    [
        ("a, b=2", "1", "2"),
        ("a, b=2", "1, 3", "3"),
        ("a, b=2", "1, b=4", "4"),
        ("a=1, /, b=2", "", "2"),
        ("a, *, b=2", "1", "2"),
        ("a, b", "1", None),
        ("a, b=2", "*both", "f(*both)"),
        ("a, b=2", "1, **rest", "f(1, **rest)"),
        ("*b", "1", None),
    ],
)
def test_what_a_parameter_is_in_a_call(parameters: str, given: str, wanted: str | None) -> None:
    function, statement = ast.parse(f"def f({parameters}): ...\nf({given})").body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    found = argument_of(statement.value, function, "b", 0)
    assert (None if found is None else ast.unparse(found)) == wanted


# --- which statement ------------------------------------------------------------------------------


def test_the_innermost_statement_of_a_line() -> None:
    file = written_as("with a: b.zero_()\nx = 1; y = 2\nf(\n    1,\n)\n\n# none\n")
    told = [statement_at(file, line) for line in (1, 2, 4, 6, 7)]
    assert [None if s is None else ast.unparse(s) for s in told] == [
        "b.zero_()",
        None,  # two of them
        "f(1)",
        None,
        None,
    ]


COMPOUND = "match f(x):\n    case _:\n        y = 1\nwhile g(x): y = 2\nwith h(a=k(x)): pass\n"


def test_a_statement_with_others_in_it_is_told_by_its_head() -> None:
    tree = written_as(COMPOUND, "compound.py").tree
    assert tree is not None
    assert all(holds_others(s) for s in tree.body)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert {ast.unparse(statement_or_head(c)) for c in calls} == {"f(x)", "g(x)", "h(a=k(x))"}


# --- functions ------------------------------------------------------------------------------------


def test_of_several_lambdas_of_a_line_the_one_that_is_meant_is_read() -> None:
    functions = names_of("fs = [lambda e: 0.0, lambda e: 1.0, lambda e: (lambda e: e)]\n")["fs"]
    inner = functions[2](0)
    told = [function_node(f.__code__) for f in (*functions, inner)]
    texts = [found and ast.unparse(found[1]) for found in told]
    assert texts == ["lambda e: 0.0", "lambda e: 1.0", "lambda e: lambda e: e", "lambda e: e"]


def test_lambdas_of_a_line_that_do_the_same_are_told_apart_by_their_columns_only() -> None:
    """One holds for the other where they read the same, too."""
    functions = names_of("fs = [lambda e: 2, lambda e: 1 + 1, lambda e: 3, lambda e: 3, 0]\n")["fs"]
    told = [function_node(f.__code__) for f in functions[:4]]
    texts = [found and ast.unparse(found[1]) for found in told]
    first_two = ["lambda e: 2", "lambda e: 1 + 1"] if HAS_COLUMNS else [None, None]
    assert texts == [*first_two, "lambda e: 3", "lambda e: 3"]


@pytest.mark.skipif(HAS_COLUMNS, reason="columns tell more")
def test_a_constant_of_another_type_is_another_constant() -> None:
    file = written_as(
        "fs = [lambda: 1, lambda: 1.0, lambda: True, lambda: (1, 2), lambda: (1, 2.0)]\n"
    )
    functions = names_of(file.text)["fs"]
    texts = [ast.unparse(part_of_line(f.__code__, file).body) for f in functions]
    assert texts == ["1", "1.0", "True", "(1, 2)", "(1, 2.0)"]


READERS = {
    "return p.grad * 2": True,
    "p.grad = None": False,
    "return torch.autograd.grad(p, p)": False,
    "return p.grad.norm()": True,
}


@pytest.mark.parametrize("line", READERS)
def test_a_method_called_grad_reads_no_gradient(line: str) -> None:
    code: CodeType = names_of(f"def hook(p):\n    {line}\n")["hook"].__code__
    assert (where_attribute_read(code, "grad") is not None) == READERS[line]


MADE = """
class Base:
    def __init__(self):
        self.b: int = 2
class Net(Base):
    def __init__(self):
        super().__init__()
        print("w")
        other.w = 0
        self.w = 1
        self.register_buffer(
            name="r",
            tensor=1,
        )
"""


def test_where_a_constructor_makes_an_attribute() -> None:
    kind = names_of(MADE)["Net"]
    told = {name: where_made(kind, name) for name in "wbrx"}
    assert {name: place and place.line for name, place in told.items()} == {
        "w": 10,
        "b": 4,
        "r": 11,
        "x": None,
    }
    assert statement_making(int, "real") is None


def test_defaults_before_a_slash_and_starred_calls_are_read() -> None:
    text = "def f(net, flag=False, /, deep=True):\n    net.flag = flag\ndef run(net, *rest):\n    "
    for call, wanted in (("f(net)", False), ("f(net, True)", None), ("f(net, *rest)", None)):
        codes = names_of(f"{text}{call}\n", f"default of {call}")
        made, caller = codes["f"].__code__, codes["run"].__code__
        site = (made, _at(made, "STORE_ATTR"), caller, _at(caller, "CALL"))
        found = default_used(site)
        assert (found and found.value) is wanted, call


def _at(code: CodeType, opname: str) -> int:
    """Return where a code runs an instruction whose name begins like this."""
    return next(i.offset for i in dis.get_instructions(code) if i.opname.startswith(opname))


# --- what a call's code shows ---------------------------------------------------------------------


def test_plain_numbers_are_not_read_off_a_text_that_was_changed() -> None:
    text = "k = 0\ny = x * k\n"
    written_as(text, "changed_text.py")
    place = Source("changed_text.py", 2, "y = x * k")
    assert [n.code for n in written.numbers_read(place)] == ["k"]
    written_as(text.replace("x * k", "x * 0.5"), "changed_text.py")
    assert written.numbers_read(place) == []


def test_a_class_variable_is_none_of_its_methods() -> None:
    text = "k = 2\nclass A:\n    k = 0\n    def f(self, x):\n        return x * k\n"
    written_as(text, "class_variable.py")
    found = written.numbers_read(Source("class_variable.py", 5, "x * k"))
    assert [(n.code, n.value, n.line) for n in found] == [("k", 2.0, 1)]


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("t = torch.tensor([1.0, -2.0])", True),
        ("torch.full((2, 3), 0.5, dtype=torch.float64)", True),
        ("torch.full((len(x), x.shape[1]), float_of)", False),
        ("torch.full((len(x), x.shape[1]), -1.0)", True),
        ("mask = model.causal_mask(x.size(1))", True),
        ("torch.full((2, 2), x.item())", False),
        ("torch.tensor(data=x)", False),
        ("torch.tensor([x, 1.0])", False),
        ("torch.tensor([1.0, 2.0, 3.0, 4.0, …", False),
    ],
)
def test_numbers_that_stand_there(code: str, wanted: bool) -> None:
    assert frames.is_of_literals(code) is wanted


def test_what_a_deeply_nested_statement_holds_is_not_known() -> None:
    assert frames.names_in("(" * 5000 + ")" * 5000) == ((), frozenset())
    assert frames.names_in("x = \0") == ((), frozenset())
