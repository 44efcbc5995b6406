"""The package's shape: imports point one way, torch's private parts stay in one file, only render
starts processes."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.every_case

PACKAGE = Path(__file__).parents[1] / "gradviz"

# The rooms, from the lowest to the highest: a module imports from its own room and from lower ones.
ROOMS = [
    "_installed",
    "graph",
    "words",
    "watch",
    "names",
    "picture",
    "why",
    "recording",
    "showing",
    "live",
    "notebook",
    "__init__",
]
# The rooms within the largest room, likewise.
ROOMS_OF_WHY = [
    "shown",
    "code",
    "evidence",
    "survey",
    "question",
    "rules",
    "account",
    "answering",
]
# What stands there works on plain data and knows no torch.
PLAIN = {"_installed", "graph", "words", "picture"}

PROCESSES = {"subprocess", "multiprocessing", "concurrent", "asyncio"}
LAYOUT = {"graphviz", "pygraphviz"}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {module_name(p): p for p in sorted(PACKAGE.rglob("*.py"))}
PACKAGES = {f"gradviz.{p.parent.name}" for p in PACKAGE.glob("*/__init__.py")} | {"gradviz"}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    """Every dotted name that the module imports, for its types alone too; a name taken from a
    module counts as a module that may exist."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} imports relatively in line {node.lineno}"
            found |= {f"{node.module}.{a.name}" for a in node.names}
            found |= {str(node.module)} - PACKAGES
    return frozenset(found)


def own_imports(module: str) -> set[str]:
    """The modules of gradviz that a module imports."""
    names = {name.removeprefix("gradviz.") for name in imports(module)}
    return {name for name in names if name in MODULES and name != module}


def outside_imports(module: str) -> set[str]:
    return {name.split(".")[0] for name in imports(module)} - {"gradviz"}


def room(module: str) -> str:
    return module.split(".")[0]


def circle(imported: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle; none of those that are left imports the others."""
    left = dict(imported)
    while free := [m for m, others in left.items() if not others & left.keys()]:
        for module in free:
            del left[module]
    return sorted(left)


def test_every_module_stands_in_a_room() -> None:
    assert {room(m) for m in MODULES} == set(ROOMS)
    assert sum("." not in m for m in MODULES) - len(PACKAGES) <= 4


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module: str) -> None:
    place = ROOMS.index(room(module))
    up = {name for name in own_imports(module) if ROOMS.index(room(name)) > place}
    assert not up, f"{module} imports {up}, which stand in rooms above it"


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("why.")])
def test_imports_within_why_point_downwards(module: str) -> None:
    place = ROOMS_OF_WHY.index(module.split(".")[1])
    inside = {name for name in own_imports(module) if name.startswith("why.")}
    up = {name for name in inside if ROOMS_OF_WHY.index(name.split(".")[1]) > place}
    assert not up, f"{module} imports {up}, which stand in rooms above it"


def test_no_modules_import_each_other() -> None:
    assert circle({m: own_imports(m) for m in MODULES}) == []
    assert circle({"a": {"b"}, "b": {"a"}, "c": {"a"}, "d": set()}) == ["a", "b", "c"]


def test_the_course_has_no_circle() -> None:
    """What is made of the notebooks: its folder too reads downwards."""
    paths = {path.stem: path for path in (PACKAGE.parent / "course").glob("*.py")}
    found = {}
    for name, path in paths.items():
        lines = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        froms = [n for n in lines if isinstance(n, ast.ImportFrom) and n.level]
        found[name] = {n.module for n in froms if n.module} | {
            a.name for n in froms if not n.module for a in n.names
        }
    assert circle({name: others & paths.keys() for name, others in found.items()}) == []


def test_only_public_names_are_imported_by_their_names() -> None:
    asking = [m for m in MODULES if "import_module(" in MODULES[m].read_text(encoding="utf-8")]
    assert asking == ["__init__"]


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) in PLAIN])
def test_plain_modules_know_no_torch(module: str) -> None:
    assert "torch" not in outside_imports(module)
    assert {room(name) for name in own_imports(module)} <= PLAIN


def test_test_files_have_names_of_their_own() -> None:
    """pytest imports them by their bare names, and leaves out the second of one name."""
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert not [name for name, times in names.items() if times > 1]


def test_only_render_starts_processes() -> None:
    assert [m for m in MODULES if outside_imports(m) & PROCESSES] == ["picture.render"]


def test_only_render_lays_out() -> None:
    """picture.figure may name graphviz, for ``Figure.dot`` is a ``graphviz.Source``."""
    laying_out = [m for m in MODULES if outside_imports(m) & LAYOUT]
    assert laying_out == ["picture.figure", "picture.render"]
    assert "pygraphviz" not in outside_imports("picture.figure")


@cache
def own_names() -> frozenset[str]:
    """Underscore names that are not torch's: NamedTuple's documented ones and those that the
    package itself defines."""
    found = {"_make", "_replace", "_fields", "_asdict", *(m.split(".")[-1] for m in MODULES)}
    for node in (
        n for module in MODULES.keys() - {"watch.torch_private"} for n in ast.walk(tree(module))
    ):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"watch.torch_private"}))
def test_private_parts_of_torch_stay_in_one_file(module: str) -> None:
    """Neither ``torch._x`` nor a private attribute of a tensor or node, in whatever way it is
    spelt."""
    private = {name for name in imports(module) if name.startswith("torch") and "._" in name}
    ours = own_names()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Attribute):
            name, owner = node.attr, node.value
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
            "getattr",
            "hasattr",
            "setattr",
        }:
            first, second, *_ = node.args
            name, owner = second.value if isinstance(second, ast.Constant) else "", first
        else:
            continue
        dunder = name.startswith("__") and name.endswith("__")
        own = name in ours or (isinstance(owner, ast.Name) and owner.id in {"self", "cls", "sys"})
        if name.startswith("_") and not dunder and not own:
            private.add(f"{ast.unparse(owner)}.{name} in line {node.lineno}")
    assert not private


# What lies behind functions, frames and nodes. Of torch's it may differ from version to version.
BEHIND = frozenset(
    """__func__ __wrapped__ __code__ __closure__ __globals__ __self__ __defaults__ f_locals cell_contents
    unpack unpack_hook register_hooks variable needs_input_grad saved_tensors saved_variables""".split()
)
# Read outside of the compatibility file: none of these is torch's.
NOT_TORCHS = {
    "watch.stack": {"copy.deepcopy.__code__"},
    "live.scenario": {"inspect.unwrap(function).__code__"},
    "live.run": {
        "getattr(inspect.unwrap(function), '__code__', None)",
        "getattr(function, '__globals__', {})",
        "getattr(value, '__code__', None)",
    },
    "live.filling": {
        "getattr(function, '__code__', None)",
        "getattr(function, '__globals__', {})",
    },
    "live.spelling": {"function.__code__", "function.__globals__"},
    # its own handler's frame
    "watch.recorder": {"Recorder.__torch_function__.__code__", "frame.f_locals"},
    "notebook.newest": {"frame.f_locals"},
    # of the user's own functions
    "notebook.spoken_of": {
        "value.__closure__",
        "value.__defaults__",
        "value.__func__",
        "value.__self__",
    },
    # of the user's own program: where its error stands, and what its frames hold
    "why.question.failing": {"constructor.__code__", "self.running.f_locals"},
    "why.question.handing": {
        "constructor.__globals__",
        "method.__globals__",
        "trace.tb_frame.f_locals",
    },
    "names.statements": {"getattr(function, '__code__', None)"},
}
# Public names that not every torch from the oldest to the newest has:
# tests/versions/public_names.py lists them.
NOT_IN_EVERY_TORCH = frozenset(
    (Path(__file__).parent / "versions" / "not_in_every_torch.txt").read_text().split()
)
# Of torch's modules, what the package imports outside of the compatibility file.
TORCH_MODULES = {"torch", "torch.nn", "torch.autograd.graph", "torch.overrides"}


def torch_names(module: ast.Module) -> dict[str, str]:
    """Each name that a module binds by importing from torch, and what it stands for: {"nn":
    "torch.nn"}."""
    found = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            found |= {
                (a.asname or "torch"): a.name if a.asname else "torch"
                for a in node.names
                if a.name.split(".")[0] == "torch"
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


def dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    """``torch.a.b`` of an expression that reads it through whatever name; None for any other
    expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value, names)) is not None:
        return f"{owner}.{node.attr}"
    return None


def exists(name: str) -> bool:
    """Does the torch at hand have it?"""
    value: object = sys.modules["torch"]
    for part in name.split(".")[1:]:
        try:
            value = getattr(value, part)
        except AttributeError:
            return False
    return True


def reads_of_torch(module: ast.Module, allowed: set[str]) -> set[str]:
    """What a module reads of torch that belongs in the compatibility file."""
    names = torch_names(module)
    of_interest = BEHIND | (NOT_IN_EVERY_TORCH - own_names())
    found = {name for name in names.values() if name in sys.modules and name not in TORCH_MODULES}
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute):
            read, owner = node.attr, node.value
            whole = dotted(node, names)
            if whole is not None and (
                not exists(whole) or any(part.startswith("_") for part in whole.split("."))
            ):
                found.add(ast.unparse(node))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in {
            "getattr",
            "hasattr",
            "setattr",
        }:
            owner, second, *_ = node.args
            read = second.value if isinstance(second, ast.Constant) else ""
            if dotted(owner, names) is not None:
                found.add(ast.unparse(node))  # feature detection has its place
        else:
            continue
        if getattr(owner, "id", "") in {"self", "torch_private"}:
            continue
        if read in of_interest and ast.unparse(node) not in allowed:
            found.add(ast.unparse(node))
    return found


BESIDE = ("benchmarks", "course", "deploy", "frontend", "gallery", "packaging", "tests")


def imports_of_the_package(folder: str) -> list[tuple[str, str, str]]:
    """What the programs of a folder import from the package: (file, module, name)."""
    return [
        (f"{path.relative_to(PACKAGE.parent)}:{node.lineno}", node.module, alias.name)
        for path in sorted((PACKAGE.parent / folder).rglob("*.py"))
        if "node_modules" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("gradviz.")
        for alias in node.names
    ]


def is_there(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name) or f"{module}.{name}" in {
        f"gradviz.{known}" for known in MODULES
    }


@pytest.mark.parametrize("folder", BESIDE)
def test_what_stands_beside_the_package_finds_what_it_imports(folder: str) -> None:
    """Also programs that no test runs."""
    lost = [where for where, *what in imports_of_the_package(folder) if not is_there(*what)]
    assert not lost


def test_an_import_that_nothing_answers_is_found() -> None:
    assert is_there("gradviz.live.filling", "fill_in")
    assert not is_there("gradviz.live.filled", "fill_in")


@pytest.mark.parametrize("module", sorted(MODULES.keys() - {"watch.torch_private"}))
def test_what_differs_between_versions_of_torch_is_read_in_one_file(module: str) -> None:
    """Also where it is read through public names: the code behind a function, a frame's variables,
    a SavedTensor, and what only some versions have."""
    importlib.import_module("torch")
    assert not reads_of_torch(tree(module), NOT_TORCHS.get(module, set()))


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nx = torch.autograd.Function.apply.__func__.__code__",
        "from torch.autograd import Function as F\nx = F.apply.__func__",
        "from torch import overrides\nx = overrides.handle_torch_function.__code__",
        "import torch\nx = torch.nn.init.__file__",
        "raw = held()\nx = raw.unpack_hook",
        "raw = held()\nx = getattr(raw, 'unpack_hook', None)",
        "import torch\nx = torch.autograd.graph.node_creation_hook",
        "from torch.autograd import graph\nx = graph.node_creation_hook",
        "x = tensor.const_data_ptr()",
        "import torch\nx = hasattr(torch.autograd, 'anything')",
        "import torch.utils._pytree as tree",
        "from torch.utils import checkpoint",
        "import torch\nx = torch.no_such_function(1)",
        "def f(frame):\n    return frame.f_locals",
    ],
)
def test_a_planted_read_is_found(code: str) -> None:
    importlib.import_module("torch.utils.checkpoint")
    importlib.import_module("torch.utils._pytree")
    assert reads_of_torch(ast.parse(code), set())


def test_what_is_allowed_to_be_read_is_read() -> None:
    """No permission outlives its reason."""
    for module, allowed in NOT_TORCHS.items():
        assert allowed <= reads_of_torch(tree(module), set()), module


def test_importing_gradviz_is_light() -> None:
    heavy = ["ipywidgets", "anywidget", "IPython", "pygraphviz", "graphviz", "torch._dynamo"]
    code = f"import gradviz, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_public_names_are_exported_lazily_and_all_there() -> None:
    import gradviz

    assert {"show", "record"} <= set(gradviz.__all__)
    assert dir(gradviz) == sorted(gradviz.__all__)
    assert len(dir(gradviz)) == 16
    for name in gradviz.__all__:
        assert getattr(gradviz, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = gradviz.no_such_name


@pytest.mark.parametrize("use_jedi", [False, True])
def test_tab_offers_the_public_names_whatever_was_loaded(use_jedi: bool) -> None:
    completer = importlib.import_module("IPython.core.completer")
    gradviz = importlib.import_module("gradviz")
    assert [getattr(gradviz, name) for name in gradviz.__all__]
    shell = completer.IPCompleter(namespace={"gv": gradviz}, use_jedi=use_jedi)
    with completer.provisionalcompleter():
        offered = [found.text.removeprefix(".") for found in shell.completions("gv.", 3)]
    assert sorted(offered) == sorted(gradviz.__all__)


def test_no_module_hides_a_public_name() -> None:
    """Importing a submodule sets an attribute of the package, in the place of a function of that
    name."""
    import gradviz

    assert not set(gradviz.__all__) & {room(m) for m in MODULES}
