"""What every test shares: the flag that rewrites golden files, which cases are run, and how long
property tests may search."""

from __future__ import annotations

import asyncio
import gc
import linecache
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import answers
import hypothesis
import pytest
import sampling
import torch
from kept import FOLDER, Kept

from gradviz.picture import render

# they hold no doctests, and two share one module name
collect_ignore_glob = [
    "conftest.py",
    "*/conftest.py",
    # healthy programs, which are run as text
    "why/healthy/*.py",
    # programs with the faults that people asked about; test_real_truth.py runs them
    "why/real*/*.py",
    "why/real*/healthy/*.py",
]

# No deadline: two busy cores make any time limit on a single example a coin toss.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


# The kernels that run the notebooks take both from here: a slow machine says no more than a quick
# one. And from torch 2.15 the first use of torch.func.hessian loads a part of torch that warns about
# torch's own torch.jit.script.
os.environ["GRADVIZ_PROGRESS"] = "off"
os.environ.setdefault("PYTHONWARNINGS", "ignore:`torch.jit.script` is deprecated:FutureWarning")

# Files of tests whose questions and answers are kept in tests/golden/answers, a table each.
ASKING = "doubts entry gradient moving raised reaching silent size small why_magic zeros".split()
KEPT = pytest.StashKey[Kept]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--overwrite-golden",
        action="store_true",
        help="rewrite tests/golden/ from what the code gives",
    )
    parser.addoption(
        "--answers-to", type=Path, metavar="FOLDER", help="write answers there, compare none"
    )
    parser.addoption(
        "--everything",
        action="store_true",
        help="run every case of the long rows of which the tests run a sample: tests/sampling.py",
    )
    parser.addoption("--sample-seed", type=int, default=sampling.SEED, help="draw another sample")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--answers-to") or (
        FOLDER if config.getoption("--overwrite-golden") else None
    )
    if folder is not None and (
        hasattr(config, "workerinput") or config.getoption("numprocesses", None)
    ):
        raise pytest.UsageError(
            "several workers would write over each other's answers: leave -n out"
        )
    config.stash[KEPT] = Kept(folder)
    # what is stored is of every case
    sampling.Asked.everything = config.getoption("--everything") or folder is not None
    sampling.Asked.seed = config.getoption("--sample-seed")


def pytest_report_header() -> str:
    """Say which cases are run."""
    return sampling.told()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a test that fails at once: a run that is cut short prints no summary."""
    if report.failed and not os.environ.get("PYTEST_XDIST_WORKER"):
        crash = getattr(report.longrepr, "reprcrash", None)
        print(f"\nFAILED {report.nodeid}: {str(crash and crash.message)[:200]}", flush=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it again where something failed: another sample may not have the case that did."""
    if terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(sampling.told())


@pytest.fixture(scope="session")
def kept(request: pytest.FixtureRequest) -> Kept:
    """What was answered before."""
    return request.config.stash[KEPT]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, Any, Any]:
    """Compare what a test of ``ASKING`` was answered with what is stored. Searches ask something else every time."""
    table = pyfuncitem.path.stem.removeprefix("test_")
    if table not in ASKING or getattr(pyfuncitem.function, "is_hypothesis_test", False):
        return (yield)
    torch.manual_seed(0)
    kept, passed = pyfuncitem.config.stash[KEPT], False
    try:
        with answers.kept(pyfuncitem.module) as given:
            result = yield
        passed = True
        return result
    finally:  # of a test that fails, what it was answered is told apart, but neither compared nor stored
        if given and (passed or kept.folder not in (None, FOLDER)):
            kept.check(table, pyfuncitem.name, given)


@pytest.hookimpl(trylast=True)  # of what -k and the command line leave
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave a sample of each long row of cases, and of what is dear."""
    long = [item.nodeid for item in items if not item.get_closest_marker("every_case")]
    not_run = sampling.left_out(long)
    marks = ((item.nodeid, item.get_closest_marker("dear")) for item in items)
    dear = {name: mark.args[0] for name, mark in marks if mark and name not in not_run}
    not_run |= sampling.left_out_of_dear(dear)
    if not_run:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in not_run])
        items[:] = [item for item in items if item.nodeid not in not_run]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect tests without the collector of garbage: nothing of them goes before the run ends."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leave all that was collected out of the collector's way: thousands of tests, which a test that
    collects would go through each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the answers, where they are to be written."""
    kept = session.config.stash[KEPT]
    if kept.folder is None:
        return
    functions = {
        (item.path.stem.removeprefix("test_"), item.name.partition("[")[0])
        for item in session.items
    }
    names = {(item.path.stem.removeprefix("test_"), item.name) for item in session.items}
    kept.write(
        lambda table, name: (
            (table, name.partition("[")[0]) in functions and (table, name) not in names
        )
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Two workers walk a set of functions in two orders, and then refuse to run at all: ask for an
    order at once."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if isinstance(mark.args[1], set | frozenset):
            raise pytest.UsageError(
                f"{metafunc.definition.nodeid}: parametrize got a set, give it a list"
            )


@pytest.fixture
def overwrite_golden(request: pytest.FixtureRequest) -> bool:
    """True when the golden files are to be rewritten rather than compared."""
    return bool(request.config.getoption("--overwrite-golden"))


@pytest.fixture(autouse=True)
def no_loop_of_the_browser(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a test run a loop of its own.

    Playwright's loop counts as running on the worker's thread from the first browser test until the
    last test of all.
    """
    loop = None if "browser" in request.node.nodeid.split("::")[0] else asyncio._get_running_loop()
    if loop is not None:
        asyncio._set_running_loop(None)
    yield
    if loop is not None:
        asyncio._set_running_loop(loop)


@pytest.fixture(autouse=True)
def no_text_of_other_tests() -> Iterator[None]:
    """Forget the texts that a test gave to ``linecache`` under a name without a folder: another test's
    ``program.py``, which lies in a folder of its own, is looked up by that name too."""
    before = {name: text for name, text in linecache.cache.items() if os.sep not in name}
    yield
    for name in [name for name in linecache.cache if os.sep not in name]:
        del linecache.cache[name]
    linecache.cache.update(before)


@pytest.fixture
def nothing_drawn_yet() -> Iterator[None]:
    """For tests that exchange the layout engine: pictures drawn before or by it are not taken from
    the cache."""
    caches = (render._best, render._laid_out, render._drawn, render._layout, render._svg)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.fixture(autouse=True)
def checks_of_distributions() -> None:
    """Switch on the checks of torch.distributions, which read their arguments and are recorded:
    torch.compile leaves them off for the whole process."""
    torch.distributions.Distribution.set_default_validate_args(__debug__)
