"""How many small changes of the code no test notices: ``make mutants`` changes a sample and writes
docs/mutants.md.

    python tests/mutate.py --count 20 --seed 7 --only gradviz/watch/cuts.py

Each mutant is one change of one expression or statement: a comparison, ``and``/``or``, a negated
condition, a constant, a returned value, two swapped arguments, a statement left out. No file is
changed: a process of its own imports the changed module instead and runs the tests that belong to
it, with a time limit. What no test fails on survives: it is printed and listed. (A test that starts
a process of its own sees the unchanged module there.)

No library does this here: mutmut calls every function through another one, and the recorder looks
at the frame that called it; cosmic-ray and mutatest have no sample by seed with tests chosen by
module, or want an old ``coverage``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import platform
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "mutants.md"
KINDS = (
    "comparison",
    "and/or",
    "condition",
    "constant",
    "returned value",
    "swapped arguments",
    "left out",
)

# What is changed, and the tests that belong to it; the quickest first, since the first failure
# ends the run.
RECORDER = [
    "watch/test_weak_spots.py",
    "watch/test_cuts.py",
    "watch/test_no_cuts.py",
    "watch/test_usual_calls.py",
    "watch/test_side_by_side.py",
]
RECORDER += [
    "watch/test_recording_kinds.py",
    "watch/test_hooks.py",
    "watch/test_lifetime.py",
    "watch/test_passive.py",
]
READING = ["watch/test_weak_spots.py", "watch/test_capture.py", "watch/test_walk.py"]
TESTS: dict[str, list[str]] = {
    "gradviz/watch/recorder.py": RECORDER,
    "gradviz/watch/cuts.py": RECORDER,
    "gradviz/watch/identity.py": RECORDER,
    "gradviz/watch/custom_function.py": ["watch/test_custom_functions.py", *RECORDER],
    "gradviz/watch/backward.py": [
        "watch/test_weak_spots.py",
        "watch/test_hooks.py",
        "live/test_steps.py",
        "watch/test_recording_kinds.py",
    ],
    "gradviz/watch/hooks.py": ["watch/test_hooks.py", "live/test_steps.py"],
    "gradviz/watch/assemble.py": [
        "watch/test_weak_spots.py",
        "live/test_steps.py",
        "watch/test_cuts.py",
        "watch/test_recording_kinds.py",
    ],
    "gradviz/watch/capture.py": READING,
    "gradviz/graph/records.py": [*READING, "test_arguments.py", "watch/test_recording_kinds.py"],
    "gradviz/why": ["watch/test_weak_spots.py", "why"],
    "gradviz/notebook/newest.py": ["why/test_why_magic.py"],
}
NO_VERDICT = 99  # exit status
PROGRAMS = 100  # random programs, where every test of a recorder module has passed


class Mutant(NamedTuple):
    """One change. ``at`` counts the changes of its module."""

    file: str
    at: int
    line: int
    kind: str
    before: str
    after: str


class Fate(NamedTuple):
    """What the tests said: "killed", "survived", or "time" where they took too long to say."""

    mutant: Mutant
    end: str
    by: str
    seconds: float


# --- changes --------------------------------------------------------------------------------------

_COMPARED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """(kind, what may stand in the node's place)."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "comparison", _with(node, ops=[_COMPARED[type(node.ops[0])]()])
    if isinstance(node, ast.BoolOp):
        yield "and/or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for at in range(len(node.values)):
            rest = [value for i, value in enumerate(node.values) if i != at]
            yield "and/or", rest[0] if len(rest) == 1 else _with(node, values=rest)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
        yield (
            "constant",
            ast.Constant(not node.value if type(node.value) is bool else node.value + 1),
        )
    if isinstance(node, ast.Return) and node.value is not None:
        yield "returned value", _with(node, value=ast.Constant(None))
    if (
        isinstance(node, ast.Call)
        and len(node.args) > 1
        and not any(isinstance(a, ast.Starred) for a in node.args)
    ):
        yield "swapped arguments", _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    is_said = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # a docstring
    if isinstance(node, (ast.Expr, ast.AugAssign)) and not is_said:
        yield "left out", ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def mutants(file: str) -> list[Mutant]:
    """Every change of one module that has code of its own; types, imports and error texts stay as
    they are, and so does what the change would leave the same, like ``return None``."""
    source = (ROOT / file).read_text()
    lines = source.splitlines()
    found = []
    for node, kind, changed in _all_changes(source):
        shown = lines[node.lineno - 1].strip()
        found.append(
            Mutant(
                file, len(found), node.lineno, kind, shown, ast.unparse(_place(node, changed)[1])
            )
        )
    return found


def _all_changes(source: str) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    for node in _code(ast.parse(source)):
        for kind, changed in changes(node):
            if ast.dump(changed) != ast.dump(node):
                yield node, kind, changed


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that run: no annotation, no TYPE_CHECKING, no raised error."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Raise, ast.Import, ast.ImportFrom, ast.Assert)):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if hasattr(node, "lineno"):
            yield node
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list", "bases"):
                todo += [
                    part
                    for part in (value if isinstance(value, list) else [value])
                    if isinstance(part, ast.AST)
                ]


def _place(node: ast.AST, changed: ast.AST) -> tuple[ast.AST, ast.AST]:
    """What is exchanged: of an ``if`` only the condition."""
    return (node.test, changed.test) if isinstance(node, (ast.If, ast.While)) else (node, changed)


def changed_source(mutant: Mutant) -> str | None:
    """The module with the change; None where that is no code, or the same code (inside an
    f-string)."""
    source = (ROOT / mutant.file).read_text()
    found = next(itertools.islice(_all_changes(source), mutant.at, None))
    node, changed = _place(found[0], found[2])
    lines = source.splitlines(True)
    first, last = node.lineno - 1, node.end_lineno - 1
    head = lines[first].encode()[: node.col_offset].decode()
    tail = lines[last].encode()[node.end_col_offset :].decode()
    written = ast.unparse(changed) if isinstance(changed, ast.stmt) else f"({ast.unparse(changed)})"
    new = "".join([*lines[:first], head + written + tail, *lines[last + 1 :]])
    try:
        is_changed = ast.dump(ast.parse(new)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return None
    return new if is_changed else None


# --- what becomes of them -------------------------------------------------------------------------


def tests_of(file: str) -> list[str]:
    """The tests that belong to a module."""
    found = next(tests for start, tests in TESTS.items() if file.startswith(start))
    return [f"tests/{name}" for name in found]


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Imports one module of the package from another text than its file's."""

    def __init__(self, file: str, text: str) -> None:
        self.name = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.path, self.text = str(ROOT / file), text

    def find_spec(self, fullname: str, path: object, target: object = None) -> object:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self)
            if fullname == self.name
            else None
        )

    def get_code(self, fullname: str) -> object:
        return compile(self.text, self.path, "exec", dont_inherit=True)


def judge(file: str, text: str, limit: float) -> tuple[str, str, float]:
    """How the tests of a module end where its text is this one: (end, by which test, seconds)."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            os.setsid()  # with whatever it starts
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            code = 3
            try:
                sys.meta_path.insert(0, Changed(file, text))
                code = run_tests(file)
            except BaseException as error:
                print("ERROR", type(error).__name__, error, flush=True)
            finally:
                sys.stdout.flush()
                os._exit(code)
        ended, status = 0, 0
        while not ended and time.monotonic() - began < limit:
            time.sleep(0.2)
            ended, status = os.waitpid(child, os.WNOHANG)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        seconds = time.monotonic() - began
        if not ended:
            os.waitpid(child, 0)
            return "time", "the time limit", seconds
        if os.waitstatus_to_exitcode(status) == NO_VERDICT:
            sys.exit(f"pytest did not run the tests of {file}")
        if status == 0:
            return "survived", "", seconds
        output.seek(0)
        failed = [
            line
            for line in output.read().splitlines()
            if line.startswith(("FAILED", "ERROR", "DISAGREE"))
        ]
        by = failed[0].split(" - ")[0].removeprefix("FAILED ") if failed else f"status {status}"
        return "killed", by, seconds


def run_tests(file: str) -> int:
    """0 where nothing fails. In the child."""
    import pytest

    code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests_of(file)]))
    # neither passed, failed, nor stopped by a module that cannot be imported
    if code not in (0, 1, 2):
        return NO_VERDICT
    if code or file.startswith("gradviz/why"):
        return code
    import oracle
    import programs

    with oracle.one_thread():
        for number in range(PROGRAMS):
            if oracle.problem(programs.plan(oracle.TESTS, number)) is not None:
                print("DISAGREEMENT of random program", number, flush=True)
                return 1
    return 0


def page(fates: list[Fate], seed: int, there_are: int) -> str:
    """The score, and what survived."""
    ends = Counter(fate.end for fate in fates)
    decided = [fate for fate in fates if fate.end != "time"]
    kinds = {kind: [f for f in decided if f.mutant.kind == kind] for kind in KINDS}
    modules = sorted({fate.mutant.file for fate in decided})
    lines = [
        "# Mutants",
        "",
        (
            "<!-- Written by `make mutants`; what stands under a heading `What the survivors are`"
            " is kept. -->"
        ),
        "",
        (
            "Small changes of the code, made on purpose: how many of them does a test notice?"
            " `tests/mutate.py` draws a"
        ),
        (
            "sample from all changes of the modules that record, prove cuts, hold the graph and"
            " answer questions, and runs"
        ),
        "the tests that belong to the changed module.",
        "",
        (
            f"**{ends['killed']} of {len(decided)} noticed**; for {ends['time']} others the time"
            f" did not suffice, and they are not counted. Drawn with seed {seed} from {there_are:,}"
            f" changes. Python {platform.python_version()}."
        ),
        "",
        "| change | drawn | noticed |",
        "| --- | ---: | ---: |",
        *(
            f"| {k} | {len(f)} | {sum(x.end == 'killed' for x in f)} |"
            for k, f in kinds.items()
            if f
        ),
        "",
        "| module | drawn | noticed |",
        "| --- | ---: | ---: |",
    ]
    for module in modules:
        own = [fate for fate in decided if fate.mutant.file == module]
        lines.append(f"| {module} | {len(own)} | {sum(x.end == 'killed' for x in own)} |")
    lines += ["", "## Survivors", ""]
    for fate in fates:
        if fate.end == "survived":
            lines += [f"- {told(fate.mutant)}"]
    return "\n".join(lines) + "\n"


def told(mutant: Mutant) -> str:
    """One line for one change."""
    before, after = (
        text if len(text) < 90 else text[:87] + "…" for text in (mutant.before, mutant.after)
    )
    return f"`{mutant.file}:{mutant.line}` {mutant.kind}: `{before}` → `{after}`"


def main() -> int:
    """0: this measures, it does not judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit", type=float, default=600, help="seconds for the tests of one mutant"
    )
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="begin no other mutant after so many"
    )
    parser.add_argument("--only", default="", help="only modules whose path begins so")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    asked = parser.parse_args()
    began = time.monotonic()
    files = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "gradviz").rglob("*.py"))
    files = [f for f in files if f.startswith(tuple(TESTS)) and f.startswith(asked.only)]
    every = [mutant for file in files for mutant in mutants(file)]
    random.Random(asked.seed).shuffle(every)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    import torch  # once: every mutant's process is a copy of this one

    torch.set_num_threads(1)
    fates: list[Fate] = []
    trusted: set[tuple[str, ...]] = set()  # tests that pass on the code as it is
    for mutant in every:
        if len(fates) == asked.count or time.monotonic() - began > 60 * asked.minutes:
            break
        text = changed_source(mutant)
        if text is not None and tuple(tests_of(mutant.file)) not in trusted:
            end, by, _ = judge(mutant.file, (ROOT / mutant.file).read_text(), 10 * asked.limit)
            if end != "survived":
                sys.exit(f"the tests of {mutant.file} fail without a change: {by}")
            trusted.add(tuple(tests_of(mutant.file)))
        if text is not None:
            fates.append(Fate(mutant, *judge(mutant.file, text, asked.limit)))
            print(
                f"{fates[-1].end:8} {fates[-1].seconds:4.0f} s  {told(mutant)}  {fates[-1].by}",
                flush=True,
            )
    text = page(fates, asked.seed, len(every))
    if asked.write:
        kept = (
            PAGE.read_text().partition("\n## What the survivors are\n")[1:] if PAGE.exists() else ()
        )
        PAGE.write_text(text + "".join(kept))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
