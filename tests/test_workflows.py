"""What the workflows call is there. That they run on GitHub's machines cannot be tried here."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
# what a workflow installs for itself
INSTALLED = {"pip", "venv", "pytest", "build", "twine"}
PAGE_SCRIPT = ROOT / "packaging" / "package_page.py"


def read(path: Path) -> dict[Any, Any]:
    """A workflow. YAML takes its key ``on`` for true."""
    return yaml.safe_load(path.read_text("utf-8"))  # type: ignore[no-any-return]


def steps(workflow: dict[Any, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def missing(command: str) -> list[str]:
    """What a shell command of a workflow calls and the repository does not have."""
    targets = set(re.findall(r"(?m)^([\w-]+):", (ROOT / "Makefile").read_text("utf-8")))
    found = [f"make {t}" for t in re.findall(r"\bmake ([\w-]+)", command) if t not in targets]
    for module in re.findall(r"python -m ([\w.]+)", command):
        place = ROOT / Path(*module.split("."))
        there = place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()
        if module not in INSTALLED and not there:
            found.append(f"python -m {module}")
    words = re.findall(r"(?<![\w./\"$-])[\w.-]+(?:/[\w.-]+)*", command)
    files = [w for w in words if re.match(r"(\.ci|docs|tests|packaging|notebooks)(/|$)", w)]
    return found + [name for name in files if not (ROOT / name).exists()]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_is_well_formed(path: Path) -> None:
    workflow = read(path)
    assert workflow["name"]
    assert workflow[True]
    for name, job in workflow["jobs"].items():
        assert job["runs-on"], name
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= workflow["jobs"].keys()
    for step in steps(workflow):
        assert ("uses" in step) is not ("run" in step), step
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[\w./-]+", step["uses"]), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_what_a_workflow_calls_exists(path: Path) -> None:
    commands = [step["run"] for step in steps(read(path)) if "run" in step]
    assert commands
    assert [name for command in commands for name in missing(command)] == []


@pytest.mark.parametrize(
    ("command", "lacking"),
    [
        ("make sight", ["make sight"]),
        ("make site", []),
        ("python -m coarse.site", ["python -m coarse.site"]),
        ("python packaging/no_page.py x", ["packaging/no_page.py"]),
        ("python -m pytest tests README.md docs/whence.md", ["docs/whence.md"]),
        (".ci/walk", [".ci/walk"]),
    ],
)
def test_a_call_of_what_does_not_exist_is_found(command: str, lacking: list[str]) -> None:
    assert missing(command) == lacking


def test_the_pages_are_what_make_site_writes() -> None:
    jobs = read(ROOT / ".github/workflows/pages.yml")["jobs"]
    built = jobs["build"]["steps"]
    (upload,) = [s for s in built if "upload-pages-artifact" in s.get("uses", "")]
    assert upload["with"]["path"] == "build/site"
    assert 'SITE = ROOT / "build" / "site"' in (ROOT / "course/site.py").read_text("utf-8")
    assert jobs["publish"]["permissions"] == {"pages": "write", "id-token": "write"}


def test_a_release_is_checked_and_attested_before_it_is_published() -> None:
    workflow = read(ROOT / ".github/workflows/release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}
    text = [str(step) for step in workflow["jobs"]["build"]["steps"]]
    order = ["package_page.py", "python -m build", "twine check", "attest-build", "upload-artifact"]
    places = [next(n for n, step in enumerate(text) if word in step) for word in order]
    assert places == sorted(places)
    assert workflow["jobs"]["publish"]["needs"] == "build"
    assert not any("secrets." in step for step in text)


def test_the_package_page_has_no_link_that_leads_nowhere() -> None:
    script = importlib.util.spec_from_file_location("package_page", PAGE_SCRIPT)
    assert script is not None
    assert script.loader is not None
    page = importlib.util.module_from_spec(script)
    script.loader.exec_module(page)
    home = "https://example.org/o/r"
    text = page.absolute((ROOT / "README.md").read_text("utf-8"), home, "v9")
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) > 15
    assert all("://" in link for link in links)
    assert f"({home}/raw/v9/docs/pictures/toggle.svg)" in text
    assert f"({home}/blob/v9/docs/limits.md)" in text
    for link in links:
        _, ours, file = link.partition("/v9/")
        assert not ours or (ROOT / file.partition("#")[0]).is_file(), link
    assert page.absolute("[a](https://x.org) [b](#c) [2](d.md)", home, "v9") == (
        f"[a](https://x.org) [b](#c) [2]({home}/blob/v9/d.md)"
    )
    pyproject = (ROOT / "pyproject.toml").read_text("utf-8")
    named = page.with_urls(pyproject, home)
    assert f'[project.urls]\nSource = "{home}"\n' in named
    with pytest.raises(SystemExit):
        page.with_urls(named, home)
