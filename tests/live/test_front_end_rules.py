"""What VS Code, Colab and GitHub ask of an output, by their rules: docs/front_ends.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
import torch

import gradviz as gv
from gradviz.live.widget import GraphWidget

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(
    (ROOT / "notebooks").glob("*.ipynb")
)  # the start page, without outputs, comes last
VIEW = "application/vnd.jupyter.widget-view+json"
FROM_ELSEWHERE = re.compile(r"""\bimport\s*\(|\bfrom\s*["']https?:|\bfetch\s*\(|XMLHttpRequest""")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)  # types are imported in some
CODE_FROM_TEXT = re.compile(r"\beval\s*\(|\bnew\s+Function\b")


def shown() -> list[Any]:
    """Return a panel, a player and a question."""

    @gv.explore(copy=[torch.Tensor.clone, torch.Tensor.detach])
    def scenario(copy):  # type: ignore[no-untyped-def]
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        (a * 2 + copy(a)).sum().backward()

    with gv.record() as recording:
        torch.ones(2, requires_grad=True).sum().backward()
    wrong = gv.lesson.Wrong("nothing comes back", "it came back.", "a")
    asked = gv.lesson.question(
        "?",
        scenario,
        {"copy": "clone"},
        truth=lambda run: run.tensors["a"]["grad"],
        answers={"[3, 3]": wrong, "None": wrong},
    )
    return [scenario, gv.play(recording), asked]


@pytest.mark.parametrize("place", range(3), ids=["panel", "player", "question"])
def test_each_offers_a_widget_a_page_and_a_text(place: int) -> None:
    bundle = shown()[place]._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert {*data} == {VIEW, "text/html", "text/plain"}
    assert {*data[VIEW]} == {"model_id", "version_major", "version_minor"}


def test_stills_are_images_without_scripts() -> None:
    for one in shown():
        bundle = one._repr_mimebundle_()
        html = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/html"]
        assert "<script" not in html
        assert "<svg" not in html
    assert 'src="data:image/svg+xml;base64,' in shown()[0]._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("path", NOTEBOOKS[:-1], ids=lambda path: path.stem)
def test_committed_outputs_are_what_every_reader_of_notebooks_shows(path: Path) -> None:
    """HTML without scripts and without SVG in it, its pictures as images with a text for those who
    do not see them; and plain text beside it."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    shown = [o.data for c in notebook.cells for o in c.get("outputs", ()) if "data" in o]
    assert shown
    for data in shown:
        assert {*data} == {"text/html", "text/plain"}
        html = data["text/html"]
        assert not re.search(r"<(script|svg|iframe|object|style)\b|\son\w+=", html)
        for image in re.findall(r"<img[^>]*>", html):
            assert ' src="data:image/svg+xml;base64,' in image or ' src="data:image/png;' in image
            assert re.search(r'\salt="[^"]+"', image)


def test_the_link_for_binder_leads_to_a_notebook() -> None:
    [link] = re.findall(r"https://mybinder\.org/[^`\s]+", (ROOT / "README.md").read_text("utf-8"))
    address = urlsplit(link)
    assert re.fullmatch(r"/v2/gh/OWNER/REPOSITORY/HEAD", address.path)
    [place] = parse_qs(address.query)["urlpath"]
    assert (ROOT / place.removeprefix("lab/tree/")) in NOTEBOOKS
    assert (ROOT / "environment.yml").exists()


def test_the_script_loads_nothing_and_makes_no_code_of_text() -> None:
    script, styles = COMMENT.sub("", str(GraphWidget._esm)), str(GraphWidget._css)
    assert not FROM_ELSEWHERE.search(script)
    assert not CODE_FROM_TEXT.search(script)
    assert not re.search(r"@import|url\(\s*['\"]?https?:", styles)
    assert FROM_ELSEWHERE.search("import('https://x.org/y.js')")
    assert CODE_FROM_TEXT.search("new Function('x')")


def test_traits_are_plain_json_without_buffers() -> None:
    scenario = shown()[0]
    scenario.widget  # noqa: B018 - makes it
    state = scenario._graph_widget.get_state()
    sent = {name: value for name, value in state.items() if name != "layout"}
    assert json.loads(json.dumps(sent)).keys() == sent.keys()
    assert not [name for name, value in sent.items() if isinstance(value, bytes | memoryview)]


def test_marimo_is_given_one_widget_and_a_question_in_a_frame() -> None:
    scenario, _, asked = shown()
    assert isinstance(scenario._display_(), GraphWidget)
    frame = asked._display_()._repr_html_()
    assert frame.startswith('<iframe title="?" srcdoc="')
    assert frame.count("<") == 2, "the page in it is escaped"
