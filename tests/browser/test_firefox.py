"""An exported page and a notebook's panel in Firefox. Runs where Firefox is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from firefox import Firefox, find_firefox, firefox
from lab import ARTEFACTS, Lab
from live import COURSE, COURSE_CONTROLS, HEAD, LIVE, Oracle, write_notebook

import gradviz as gv

PAGE_DOWN = "\ue00f"
CHOICE = (
    "[...document.querySelectorAll('.gv-buttons label')].find(l => l.textContent.trim() === {!r})"
)
SAID = "document.querySelector('.gv-said')?.textContent ?? ''"


@pytest.fixture(scope="module")
def fox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    program = find_firefox()
    if program is None:
        pytest.skip("no Firefox here: apt-get install firefox-esr")
    with firefox(program, tmp_path_factory.mktemp("firefox")) as opened:
        yield opened


def test_an_exported_page_is_clicked_through(fox: Firefox, tmp_path: Path) -> None:
    @gv.explore(copy={"clone": torch.Tensor.clone, "detach": torch.Tensor.detach})
    def scenario(copy):  # type: ignore[no-untyped-def]
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = copy(a)
        (a * 2 + b * 3).sum().backward()

    gv.export(scenario, tmp_path / "page.html")
    fox.open(f"file://{tmp_path}/page.html")
    assert fox.wait_for(SAID) == scenario.state["sentence"]
    fox.click(CHOICE.format("detach"))
    expected = scenario.set(copy="detach").state
    fox.wait_for("location.hash === '#copy=detach'")
    assert fox.wait_for(SAID) == expected["sentence"]
    shown = "[...document.querySelectorAll('.gv-canvas text')].map(t => t.textContent)"
    assert "[2, 2]" in " ".join(fox.evaluate(shown))
    fox.screenshot(ARTEFACTS / "firefox-page.png")
    fox.press(PAGE_DOWN)
    fox.wait_for("location.hash === '#copy=clone'")


def test_a_panel_in_jupyterlab_answers(fox: Firefox, lab: Lab, tmp_path: Path) -> None:
    oracle = Oracle(tmp_path)
    write_notebook(lab, "firefox.ipynb", (HEAD, f"@gv.explore({COURSE_CONTROLS}){COURSE}"))
    fox.open(f"{lab.url}lab/tree/firefox.ipynb?token={lab.token}&reset")
    fox.evaluate(f"(() => {{ {LIVE} }})()")
    fox.wait_for("live.idle()")
    fox.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    fox.wait_for("live.rooms().length === 1 && document.querySelector('.gv-said')?.textContent")
    for copy in ("detach", "clone"):
        fox.click(CHOICE.format(copy))
        wanted = oracle.course(copy=copy)
        fox.wait_for(f"({SAID}) === {wanted['said']!r}")
        seen = fox.evaluate("live.seen(live.rooms()[0])")
        assert {**seen, "error": seen["error"] or ""} == wanted
        fox.screenshot(ARTEFACTS / f"firefox-lab-{copy}.png")
