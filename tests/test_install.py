"""What a user installs is whole, and the two commands of the README do what they say."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from jupyterlab.labapp import LabApp
from packaging.requirements import Requirement
from packaging.version import Version

import gradviz
from gradviz import _installed

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
    shutil.copytree(
        ROOT / "gradviz", tree / "gradviz", ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [
        "wheel",
        "--quiet",
        "--no-build-isolation",
        "--no-deps",
        "--wheel-dir",
        str(out),
        str(tree),
    ]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (built,) = out.glob("torch_gradviz-*.whl")
    return built


def environment(folder: Path, *wheels: Path) -> Path:
    """A fresh environment in which these wheels are installed, one after the other; it also sees
    the packages of this one, behind its own."""
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    packages = next(venv.glob("lib/python*/site-packages"))
    for wheel in wheels:
        install = [
            "--python",
            str(venv / "bin" / "python"),
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            str(wheel),
        ]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    (packages / "outside.pth").write_text("\n".join(site.getsitepackages()))
    return venv


def run(venv: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the environment's Python, beside the environment."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [venv / "bin" / "python", *arguments]
    return subprocess.run(command, cwd=venv.parent, env=clean, capture_output=True, text=True)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of another project that is called gradviz, as PyPI's is: it imports under the same
    name."""
    path = tmp_path_factory.mktemp("other") / "gradviz-9.8.7-py3-none-any.whl"
    info = "gradviz-9.8.7.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("gradviz/__init__.py", "from .core import GradViz\n")
        archive.writestr("gradviz/core.py", "class GradViz: pass\n")
        archive.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: gradviz\nVersion: 9.8.7\nSummary: Norms\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.mark.dear(1)  # each makes an environment
def test_alone_nothing_is_said(wheel: Path, tmp_path: Path) -> None:
    done = run(
        environment(tmp_path, wheel), "-W", "error", "-c", "import gradviz; gradviz.record()"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.dear(1)  # each makes an environment
def test_installed_over_the_other_gradviz_says_so_and_works(
    wheel: Path, other: Path, tmp_path: Path
) -> None:
    (tmp_path / "draw.py").write_text(DRAW)
    done = run(environment(tmp_path, other, wheel), "draw.py")
    assert done.returncode == 0, done.stderr
    assert "draw.py:2: OtherGradviz: another project's gradviz 9.8.7 in " in done.stderr
    assert "pip uninstall gradviz torch-gradviz, then install torch-gradviz again" in done.stderr
    assert done.stderr.count("OtherGradviz:") == 1


@pytest.mark.dear(1)  # each makes an environment
def test_with_the_other_gradviz_put_over_it_no_part_of_it_runs(
    wheel: Path, other: Path, tmp_path: Path
) -> None:
    venv = environment(tmp_path, wheel, other)
    # theirs: nothing of this one runs
    assert run(venv, "-c", "import gradviz; gradviz.GradViz").returncode == 0
    done = run(venv, "-c", "from gradviz.recording import record")
    assert done.returncode == 1
    assert (
        "__init__.py belongs to another project that is called gradviz too, and was put over"
        in done.stderr
    )
    assert "pip uninstall gradviz torch-gradviz, then install torch-gradviz again" in done.stderr


def test_the_other_gradviz_in_another_folder_is_seen(other: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(other).extractall(tmp_path)
    code = (
        "import sys, gradviz; from gradviz._installed import other_gradviz; print(other_gradviz())"
    )
    later = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=later, capture_output=True, text=True
    )
    assert done.stdout.strip() == f"gradviz 9.8.7 in {tmp_path}"
    assert "OtherGradviz" in done.stderr


def test_an_earlier_install_under_the_old_name_is_no_other_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "gradviz-0.1.0.dist-info"
    info.mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "absent.zip")])
    assert _installed.other_gradviz() == f"gradviz 0.1.0 in {tmp_path}"
    (info / "METADATA").write_text(f"Name: gradviz\nSummary: {PROJECT['description']}\n", "utf-8")
    assert _installed.other_gradviz() is None


@pytest.mark.parametrize(
    ("version", "is_refused"),
    [
        ("2.9.1", True),
        ("2.9.1+cu128", True),
        ("1.13.1", True),
        ("2.10.0", True),
        ("2.11.0", False),
        ("2.11.0a0+git1f", False),
        ("2.13.0+cpu", False),
        ("2.16.0a0+git7c3", False),
        ("3.0.0", False),
        ("nightly", False),
        ("", False),
    ],
)
def test_a_torch_that_is_too_old_is_refused(version: str, is_refused: bool, tmp_path: Path) -> None:
    """As an import of torch would find it, and as it stands in ``sys.modules``. The torch here is a
    folder of that name, which says so if it is run."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise AssertionError('torch was imported')")
    (tmp_path / "torch" / "version.py").write_text(
        f"from typing import Optional\n__version__ = '{version}'\n"
    )
    loaded = (
        f"import sys, types; m = types.ModuleType('torch'); m.__version__ = {version!r};"
        " sys.modules['torch'] = m\n"
    )
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    for before in ("", loaded):
        code = f"{before}import gradviz; print('imported')"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=path, capture_output=True, text=True
        )
        assert (done.stdout.strip() == "imported") is not is_refused
        refused = f"ImportError: torch {version} is installed; gradviz needs torch 2.11 or newer: "
        assert (refused in done.stderr) is is_refused
        assert ('fix: pip install --upgrade "torch>=2.11"' in done.stderr) is is_refused


def test_without_torch_importing_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert _installed.torch_version() is None
    _installed.require_torch(None)


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    wanted = {p.relative_to(ROOT).as_posix() for p in (ROOT / "gradviz").rglob("*") if p.is_file()}
    held = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("gradviz/")}
    assert held == {n for n in wanted if "__pycache__" not in n}
    assert "gradviz/py.typed" in held


@pytest.fixture(scope="module")
def kept() -> list[str]:
    """The files of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_source_distribution_holds_every_file_of_the_repository(
    kept: list[str], tmp_path: Path
) -> None:
    for name in kept:
        target = tmp_path / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    code = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=tmp_path / "tree", check=True, capture_output=True)
    (built,) = tmp_path.glob("torch_gradviz-*.tar.gz")
    with tarfile.open(built) as archive:
        held = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    assert set(kept) <= held
    extra = {name for name in held - set(kept) if ".egg-info/" not in name}
    assert extra == {"PKG-INFO", "setup.cfg"}


def test_citation_and_recipe_say_what_the_package_says() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / "packaging" / "recipe.yaml").read_text("utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["version"] == recipe["context"]["version"] == PROJECT["version"]
    assert citation["license"] == recipe["about"]["license"] == PROJECT["license"]
    assert recipe["context"]["name"] == PROJECT["name"]
    assert recipe["about"]["summary"] == PROJECT["description"]
    called = {"torch": "pytorch", "graphviz": "python-graphviz"}  # conda-forge's names
    wanted = [Requirement(line) for line in PROJECT["dependencies"]]
    run = [f"{called.get(r.name, r.name)} {r.specifier}" for r in wanted]
    assert sorted(recipe["requirements"]["run"]) == sorted(["python >=${{ python_min }}", *run])
    live = [Requirement(line) for line in PROJECT["optional-dependencies"]["live"]]
    assert recipe["requirements"]["run_constraints"] == [f"{r.name} {r.specifier}" for r in live]


def test_help_begins_with_what_to_type() -> None:
    described = (
        ast.get_docstring(ast.parse((ROOT / "gradviz/__init__.py").read_text("utf-8")))
    ) or ""
    _, *lines = filter(None, described.splitlines())
    assert lines[0].strip() == "import gradviz as gv"
    named = set(re.findall(r"gv\.(\w+)", described))
    assert named <= set(gradviz.__all__)
    left = {"Figure", "Graph", "GradvizError", "Recording", "controls", "lesson"}
    assert set(gradviz.__all__) - named - left <= {"__version__"}


def test_wheel_draws_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """torch and the other dependencies come from this environment, gradviz only from the wheel."""
    venv = environment(tmp_path, wheel)
    (tmp_path / "draw.py").write_text(DRAW)
    done = run(venv, "draw.py")
    packages = next(venv.glob("lib/python*/site-packages"))
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == packages / "gradviz"
    assert "<svg" in (tmp_path / "shown.svg").read_text("utf-8")
    assert "function mountBook(" in (tmp_path / "steps.html").read_text("utf-8")


SAVE = """
import asyncio, json, pathlib, nbformat
from jupyter_core.utils import ensure_async
from jupyter_server.serverapp import ServerApp
from gradviz.live.still import VIEW, marked

output = nbformat.v4.new_output(
    "display_data", data={VIEW: {"model_id": "1"}, "text/html": "<img>"}, metadata=marked()
)
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("rec", outputs=[output])])
server = ServerApp()
server.initialize(["--no-browser", "--allow-root", "--port=0", "--ServerApp.root_dir=."])
saving = server.contents_manager.save({"type": "notebook", "content": book}, "saved.ipynb")
asyncio.run(ensure_async(saving))
(cell,) = json.loads(pathlib.Path("saved.ipynb").read_text("utf-8"))["cells"]
print(*cell["outputs"][0]["data"])
"""


def test_a_jupyter_server_beside_the_wheel_saves_pictures_unasked(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who installs it by pip has no ``make lab``, which configures its server."""
    monkeypatch.setenv("HOME", str(tmp_path))  # where the server's own files go
    (tmp_path / "save.py").write_text(SAVE)
    done = run(environment(tmp_path, wheel), "save.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["text/html"]


def pins() -> dict[str, Requirement]:
    """What requirements.txt, requirements-dev.txt and constraints.txt pin for the Python that runs
    this."""
    files = ("requirements.txt", "requirements-dev.txt", "constraints.txt")
    lines = "\n".join((ROOT / name).read_text() for name in files)
    found = [Requirement(line) for line in lines.splitlines() if line and line[0] not in "#-"]
    return {r.name.lower(): r for r in found if r.marker is None or r.marker.evaluate()}


def test_pins_are_plain_versions_within_what_the_package_allows() -> None:
    pinned = pins()
    for requirement in pinned.values():
        assert re.fullmatch(r"==[\w.]+", str(requirement.specifier)), requirement
        assert requirement.url is None
    extras = PROJECT["optional-dependencies"]
    for line in [
        *PROJECT["dependencies"],
        *extras["live"],
        *extras["lab"],
        *extras["test"],
        "ruff",
        "mypy",
    ]:
        wanted = Requirement(line)
        if wanted.name == _installed.DISTRIBUTION:  # another of these lists
            continue
        if wanted.marker is not None and not wanted.marker.evaluate():
            continue
        version = str(pinned[wanted.name.lower()].specifier).removeprefix("==")
        assert wanted.specifier.contains(version), f"{line} does not allow the pinned {version}"


def test_no_pin_makes_every_jupyter_process_a_second_slower() -> None:
    """``jsonschema`` from 4.25 makes 38 grammars of ``rfc3987-syntax`` when it is imported."""
    pins = (ROOT / "constraints.txt").read_text("utf-8")
    assert "jsonschema==4.24" in pins
    assert "rfc3987-syntax" not in pins
    assert "lark" not in pins


def test_opening_the_notebooks_takes_no_test_tool() -> None:
    lab = (ROOT / "requirements.txt").read_text("utf-8")
    named = {Requirement(line).name for line in lab.splitlines() if line and line[0] not in "#-"}
    assert not named & {
        "playwright",
        "mypy",
        "hypothesis",
        "pytest",
        "pytest-xdist",
        "nbval",
        "ruff",
    }
    wanted = [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["live"],
        "jupyterlab",
        "torchviz",
    ]
    assert {Requirement(line).name for line in wanted} <= named
    assert "-r requirements.txt" in (ROOT / "requirements-dev.txt").read_text("utf-8").splitlines()


# ---- versions: one truth in several files --------------------------------------------------------

OLDEST = ".".join(map(str, _installed.OLDEST_TORCH))
PINNED = "2.13"
NEWEST = "2.15"
PYTHONS = ["3.10", "3.11", "3.12", "3.13"]


def workflow(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text("utf-8"))  # type: ignore[no-any-return]


def test_every_file_names_the_same_oldest_torch() -> None:
    assert f"torch>={OLDEST}" in PROJECT["dependencies"]
    conda = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    above = f"2.{int(NEWEST.split('.')[1]) + 1}"
    assert f"pytorch >={OLDEST},<{above}" in conda
    for name in ("README.md", "docs/versions.md"):
        assert f"torch {OLDEST} or newer" in re.sub(
            r"\s+", " ", (ROOT / name).read_text("utf-8")
        ), name


def test_every_file_names_the_same_pythons() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    classifiers = [
        c.rsplit(" ", 1)[1] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)
    ]
    assert classifiers == PYTHONS
    conda = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    assert f"python >={PYTHONS[0]},<3.{int(PYTHONS[-1].split('.')[1]) + 1}" in conda


def test_the_workflow_runs_the_oldest_the_pinned_and_the_newest() -> None:
    jobs = workflow("ci.yml")["jobs"]
    assert jobs["everything"]["strategy"]["matrix"]["python"] == PYTHONS
    rows = jobs["torch"]["strategy"]["matrix"]["include"]
    ran = {(row["system"].split("-")[0], str(Version(row["torch"]).release[1])) for row in rows}
    for version in (OLDEST, PINNED, NEWEST):
        assert ("ubuntu", version.split(".")[1]) in ran
    assert {system for system, _ in ran} == {"ubuntu", "macos", "windows"}
    assert str(pins()["torch"].specifier).startswith(f"=={PINNED}.")
    assert max(Version(row["torch"]) for row in rows).release[:2] == Version(NEWEST).release


def test_the_newest_torch_is_tried_every_week() -> None:
    weekly = workflow("newest.yml")
    assert weekly[True]["schedule"] == [{"cron": "0 5 * * 1"}]  # YAML reads the key "on" as true
    (job,) = weekly["jobs"].values()
    assert any("--upgrade torch" in step.get("run", "") for step in job["steps"])


def test_environment_yml_offers_what_the_package_needs() -> None:
    listed = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))["dependencies"]
    (pip,) = [d["pip"] for d in listed if isinstance(d, dict)]
    conda = {re.split(r"[ <>=]", d)[0] for d in listed if isinstance(d, str)}
    assert {
        "pytorch",
        "python-graphviz",
        "executing",
        "jupyterlab",
        "ipywidgets",
        "anywidget",
    } <= conda
    assert pip == ["torchviz", "--editable ."]  # conda-forge has no torchviz


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """As much of a fresh clone as make looks at."""
    for name in (
        "Makefile",
        "pyproject.toml",
        "requirements.txt",
        "requirements-dev.txt",
        "constraints.txt",
    ):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=clean, capture_output=True, text=True
    )


def installs(checkout: Path, command: str) -> list[str]:
    """What pip would be asked to install."""
    return re.findall(r"pip install .*?-r (\S+)", make(checkout, "-n", command).stdout)


def touch(checkout: Path, name: str, later: int) -> None:
    path = checkout / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    moment = (checkout / "Makefile").stat().st_mtime + later
    os.utime(path, (moment, moment))


@pytest.mark.parametrize("command", ["lab", "site"])
def test_opening_the_notebooks_installs_once_and_only_what_they_need(
    checkout: Path, command: str
) -> None:
    shown = make(checkout, "-n", command).stdout
    assert installs(checkout, command) == ["requirements.txt"]
    assert shown.index("about 1.3 GB, some minutes") < shown.index("pip install")
    touch(checkout, ".venv/.lab", 10)
    assert installs(checkout, command) == []
    touch(checkout, "requirements-dev.txt", 20)
    assert installs(checkout, command) == []
    touch(checkout, "constraints.txt", 20)
    assert installs(checkout, command) == ["requirements.txt"]


@pytest.mark.parametrize("command", ["test", "notebooks", "lint", "format"])
def test_testing_adds_the_rest_once(checkout: Path, command: str) -> None:
    assert installs(checkout, command) == ["requirements.txt", "requirements-dev.txt"]
    touch(checkout, ".venv/.lab", 10)
    assert installs(checkout, command) == ["requirements-dev.txt"]
    touch(checkout, ".venv/.dev", 20)
    assert installs(checkout, command) == []
    touch(checkout, "requirements-dev.txt", 30)
    assert installs(checkout, command) == ["requirements-dev.txt"]
    touch(checkout, ".venv/.dev", 40)
    touch(checkout, "requirements.txt", 50)
    assert installs(checkout, command) == ["requirements.txt", "requirements-dev.txt"]


def test_jupyterlab_opens_the_start_page(checkout: Path) -> None:
    touch(checkout, ".venv/.lab", 10)
    asked = shlex.split(make(checkout, "-n", "lab").stdout.replace("\\\n", " "))
    app = LabApp()
    app.parse_command_line([word for word in asked if word.startswith("--LabApp.")])
    assert app.default_url == "/lab/tree/notebooks/index.ipynb"


def test_an_old_python_is_refused_with_the_way_out(checkout: Path) -> None:
    old = checkout / "python"
    old.write_text("#!/bin/sh\n[ $1 = --version ] && echo Python 3.9.1 || exit 1\n")
    old.chmod(0o755)
    done = make(checkout, "lab", f"PYTHON={old}")
    assert done.returncode != 0
    assert f"gradviz needs Python 3.10 or newer, but '{old}' is: Python 3.9.1" in done.stdout
    assert "make lab PYTHON=python3.12" in done.stdout
    assert not (checkout / ".venv").exists()
