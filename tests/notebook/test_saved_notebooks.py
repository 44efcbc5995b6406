"""What is left of live outputs in a notebook that is saved: the picture, on every way that leads to a file."""

from __future__ import annotations

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from jupyter_server.services.contents.filemanager import FileContentsManager
from nbconvert import HTMLExporter

import gradviz as gv
from gradviz.live.still import MARK, VIEW
from gradviz.notebook import saving

ROOT = Path(__file__).parents[2]
CAPTION = "<em>A still picture, from when this cell ran."


def shown(thing: Any) -> dict[str, Any]:
    """The output that a cell has which ends with this."""
    data, metadata = thing._repr_mimebundle_()
    return dict(nbformat.v4.new_output("display_data", data=data, metadata=metadata))


def recorded() -> gv.Recording:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as recording:
        (a * 2).sum().backward()
    return recording


def notebook(*outputs: dict[str, Any]) -> dict[str, Any]:
    made = nbformat.v4.new_notebook()
    made.cells = [nbformat.v4.new_code_cell("x", outputs=[*map(nbformat.from_dict, outputs)])]
    return made


@pytest.mark.parametrize("live", [gv.GraphWidget, gv.play])
def test_the_view_goes_and_the_picture_stays(live: Any) -> None:
    output = shown(live(recorded()))
    picture = output["data"]["text/html"]
    assert VIEW in output["data"]
    saving.keep_pictures(model={"type": "notebook", "content": notebook(output)})
    content = notebook(output)
    saving.keep_pictures(model={"type": "notebook", "content": content}, path="x.ipynb")
    (left,) = content["cells"][0]["outputs"]
    assert left["data"].keys() == {"text/plain", "text/html"}
    assert left["data"]["text/html"].startswith(f"{picture}\n<p>{CAPTION}")
    assert left["metadata"] == {}
    nbformat.validate(content)
    before = copy.deepcopy(content)
    saving.keep_pictures(model={"type": "notebook", "content": content})  # saved once more
    assert content == before


@pytest.mark.parametrize(
    "output",
    [
        {"data": {VIEW: {"model_id": "1"}, "text/html": "<b>"}, "metadata": {}},  # not ours
        {"data": {VIEW: {"model_id": "1"}}, "metadata": {MARK: {"still": ""}}},  # no picture
        {"data": {VIEW: {}, "text/html": "<b>"}, "metadata": {MARK: "?"}},
        {"output_type": "stream", "text": "printed"},
    ],
)
def test_what_is_not_ours_is_left_alone(output: dict[str, Any]) -> None:
    model = {"type": "notebook", "content": {"cells": [{"outputs": [output]}, {"source": ""}]}}
    before = copy.deepcopy(model)
    saving.keep_pictures(model=model)
    assert model == before


@pytest.mark.parametrize("content", [None, "text", {}, {"cells": []}])
def test_files_of_other_kinds_are_left_alone(content: Any) -> None:
    for kind in ("file", "notebook", "directory"):
        saving.keep_pictures(model={"type": kind, "content": content})


def test_a_caption_is_text() -> None:
    output = {
        "data": {VIEW: {}, "text/html": ["<b>", "</b>"]},
        "metadata": {MARK: {"still": "<i>"}},
    }
    saving.keep_pictures(model={"type": "notebook", "content": {"cells": [{"outputs": [output]}]}})
    assert output["data"]["text/html"] == "<b></b>\n<p><em>&lt;i&gt;</em></p>"


def test_a_question_says_itself_to_run_the_cell() -> None:
    asked = gv.lesson.question("?", lambda: None, truth=lambda run: 1, answers={0: None, 1: None})
    output = shown(asked)
    assert "Run this cell" in output["data"]["text/html"]
    assert output["metadata"][MARK] == {"still": ""}
    asked.answer(1)
    assert shown(asked)["metadata"][MARK]["still"]


@pytest.mark.parametrize("way", ["hook", "extension"])
def test_a_server_saves_the_picture(way: str, tmp_path: Path) -> None:
    """As a line of its configuration, and as its extension."""
    hook = {"pre_save_hook": "gradviz.notebook.saving.keep_pictures"} if way == "hook" else {}
    manager = FileContentsManager(root_dir=str(tmp_path), **hook)
    if way == "extension":
        (point,) = saving._jupyter_server_extension_points()
        module = sys.modules[point["module"]]
        server = type("Server", (), {"contents_manager": manager})
        module._load_jupyter_server_extension(server)
    content = notebook(shown(gv.GraphWidget(recorded())))
    manager.save({"type": "notebook", "format": "json", "content": content}, "saved.ipynb")
    manager.notary.store.close()  # its database, which Python 3.13 warns of
    saved = (tmp_path / "saved.ipynb").read_text(encoding="utf-8")
    assert CAPTION in saved
    assert VIEW not in saved


def test_the_server_needs_no_torch() -> None:
    code = "import sys, gradviz.notebook.saving; assert not {'torch', 'anywidget'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_make_lab_saves_pictures() -> None:
    named = re.search(r"pre_save_hook=(\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert named
    assert named[1] == f"{saving.__name__}.{saving.keep_pictures.__name__}"


def test_nbconvert_falls_back_on_the_picture_by_itself() -> None:
    page, _ = HTMLExporter().from_notebook_node(notebook(shown(gv.GraphWidget(recorded()))))
    assert 'src="data:image/svg+xml;base64,' in page
    assert VIEW not in page
