"""What a user installs is whole, and the two commands of the README do what they say."""

from __future__ import annotations

import os
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DRAW = """
import pathlib, torch, gradviz as gv
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with gv.record() as rec:
    b = a.detach()
    loss = (a * 2).sum()
gv.show(loss).save("shown.svg")
gv.export(rec, "steps.html")
assert len(gv.play(rec).states) == 4
assert [cut.reason.value for cut in rec.graph.cuts] == ["detach"]
print(pathlib.Path(gv.__file__).parent)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this working tree, built beside it so that nothing is left in it."""
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "gradviz", tree / "gradviz", ignore=shutil.ignore_patterns("__pycache__"))
    command = ["wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(out), str(tree)]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (built,) = out.glob("gradviz-*.whl")
    return built


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "gradviz").rglob("*") if p.is_file()}
    held = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("gradviz/")}
    assert held == {n for n in wanted if "__pycache__" not in n}
    assert "gradviz/py.typed" in held


def test_wheel_draws_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """torch and the other dependencies come from this environment, gradviz only from the wheel."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = venv / "bin" / "python"
    install = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    (packages / "outside.pth").write_text("\n".join(site.getsitepackages()))
    (tmp_path / "draw.py").write_text(DRAW)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run([python, "draw.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == packages / "gradviz"
    assert "<svg" in (tmp_path / "shown.svg").read_text("utf-8")
    assert "function mountBook(" in (tmp_path / "steps.html").read_text("utf-8")


def pins() -> dict[str, Requirement]:
    """What requirements-dev.txt and constraints.txt pin for the Python that runs this."""
    lines = (ROOT / "requirements-dev.txt").read_text() + (ROOT / "constraints.txt").read_text()
    found = [Requirement(line) for line in lines.splitlines() if line and line[0] not in "#-"]
    return {r.name.lower(): r for r in found if r.marker is None or r.marker.evaluate()}


def test_pins_are_plain_versions_within_what_the_package_allows() -> None:
    pinned = pins()
    for requirement in pinned.values():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert requirement.url is None
    extras = PROJECT["optional-dependencies"]
    for line in [*PROJECT["dependencies"], *extras["live"], *extras["lab"], *extras["test"], "ruff", "mypy"]:
        wanted = Requirement(line)
        if wanted.name == "gradviz":  # another of these lists
            continue
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        version = str(pinned[wanted.name.lower()].specifier).removeprefix("==")
        assert wanted.specifier.contains(version), f"{line} does not allow the pinned {version}"


def test_package_pins_no_torch() -> None:
    assert "torch>=2.4" in PROJECT["dependencies"]


def test_environment_yml_offers_what_the_package_needs() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    (pip,) = [d["pip"] for d in listed if isinstance(d, dict)]
    conda = {re.split(r"[ <>=]", d)[0] for d in listed if isinstance(d, str)}
    assert {"pytorch", "python-graphviz", "executing", "jupyterlab", "ipywidgets", "anywidget"} <= conda
    assert pip == ["torchviz", "--editable ."]  # conda-forge has no torchviz


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a fresh clone as make looks at."""
    for name in ("Makefile", "pyproject.toml", "requirements-dev.txt", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(["make", *arguments], cwd=checkout, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("command", ["lab", "test", "lint"])
def test_only_the_first_call_installs(checkout: Path, command: str) -> None:
    assert "pip install" in make(checkout, "-n", command).stdout
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / ".ready").touch()
    assert "pip install" not in make(checkout, "-n", command).stdout
    later = (checkout / ".venv" / ".ready").stat().st_mtime + 10
    os.utime(checkout / "constraints.txt", (later, later))
    assert "pip install" in make(checkout, "-n", command).stdout


def test_an_old_python_is_refused_with_the_way_out(checkout: Path) -> None:
    old = checkout / "python"
    old.write_text("#!/bin/sh\n[ $1 = --version ] && echo Python 3.9.1 || exit 1\n")
    old.chmod(0o755)
    done = make(checkout, "lab", f"PYTHON={old}")
    assert done.returncode != 0
    assert f"gradviz needs Python 3.10 or newer, but '{old}' is: Python 3.9.1" in done.stdout
    assert "make lab PYTHON=python3.12" in done.stdout
    assert not (checkout / ".venv").exists()
