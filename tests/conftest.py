"""What every test shares: the flag that rewrites golden files, and how long property tests may
search."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import hypothesis
import pytest

from gradviz.picture import render

# they hold no doctests, and two share one module name
collect_ignore_glob = ["conftest.py", "*/conftest.py"]

# No deadline: two busy cores make any time limit on a single example a coin toss.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--overwrite-golden",
        action="store_true",
        help="rewrite tests/golden/ from what the code gives",
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


@pytest.fixture
def nothing_drawn_yet() -> Iterator[None]:
    """For tests that exchange the layout engine: pictures drawn before or by it are not taken from
    the cache."""
    caches = (render.best, render._laid_out, render._drawn, render._layout, render._svg)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()
