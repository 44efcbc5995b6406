"""Rendering: engines and what happens without them, limits, and SVGs that can stand beside others
in one page."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from gradviz import record
from gradviz.graph.records import GradvizError, Graph, Tensor
from gradviz.picture import render
from gradviz.picture.figure import Figure
from gradviz.picture.geometry import Spline

SMALL = """digraph { bgcolor="transparent"; n0 [id="n0" label="a"];
  n0 -> n1 [key="e0" class="gradient" color="red:blue"]; }"""
LEAF = Tensor(
    0,
    "a",
    0,
    (3,),
    (1,),
    0,
    "float32",
    "cpu",
    True,
    True,
    False,
    None,
    "[1, 2, 3]",
    0,
    0,
    None,
    None,
)


def test_an_svg_is_sized_in_pixels_transparent_and_has_its_own_ids() -> None:
    one, other = (render.render(SMALL.replace('"a"', f'"{t}"'), "svg").decode() for t in ("a", "b"))
    width, height = render.size(one)
    root = ElementTree.fromstring(one)
    view = [float(x) for x in root.get("viewBox", "").split()]
    assert (width, height) == (round(view[2] * 4 / 3), round(view[3] * 4 / 3))
    ids = [
        {e.get("id") for e in ElementTree.fromstring(svg).iter() if e.get("id")}
        for svg in (one, other)
    ]
    assert not ids[0] & ids[1]
    graph = root.find("{http://www.w3.org/2000/svg}g")
    assert graph is not None
    assert not [c for c in graph if c.tag.endswith("polygon")], "no background"
    assert render.render(SMALL) == render.render(SMALL)


@pytest.mark.parametrize(
    ("format", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<svg")]
)
def test_formats(format: str, magic: bytes) -> None:
    assert render.render(SMALL, format).startswith(magic)


def test_an_unknown_format_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(GradvizError, match="cannot draw as 'gif'; the formats are svg, png, pdf"):
        render.render(SMALL, "gif")


def test_nothing_is_printed_to_stderr_not_even_the_first_time() -> None:
    code = f"from gradviz.picture import render; render.render({SMALL!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=600
    )
    assert done.stderr == b""


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_a_large_graph_is_laid_out_in_a_child_and_a_slow_one_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chain = (
        "digraph { " + " ".join(f"n{i} -> n{i + 1};" for i in range(render.IN_PROCESS + 1)) + " }"
    )
    assert render.render(chain).startswith(b"<svg")
    monkeypatch.setattr(render, "SECONDS", 0.01)
    with pytest.raises(
        render.CannotDraw, match=r"the layout took longer than 0.01 s; show a part of the graph"
    ):
        render.render(chain.replace("n0", "other"))


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_an_edge_that_graphviz_lost_has_its_two_lines_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where its router fails, Graphviz says "lost n0 n1 edge", and gives that no place."""
    placed = render._placed

    def losing(dot: str) -> str:
        laid_out = placed(dot)
        if "splines=line" in dot:
            return laid_out
        without, times = re.subn(r"pos=\"[es],[^\"]*\"", "", laid_out, count=1)
        assert times == 1
        return without

    def lines_of(name: str) -> int:
        dot = f'digraph {name} {{ n0 -> n1 [key="e0" class="gradient"]; }}'
        return render.render(dot).count(b"<path")

    assert lines_of("whole") == 2
    monkeypatch.setattr(render, "_placed", losing)
    assert lines_of("lost") == 2


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_without_any_engine_the_text_is_shown_with_how_to_install_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(render, "_pygraphviz", lambda: None)
    monkeypatch.setenv("PATH", "")
    figure = Figure(Graph(tensors=[LEAF], roots=[0]))
    shown = figure._repr_mimebundle_()
    assert "leaf · requires_grad" in shown["text/html"]
    assert "pip install pygraphviz" in shown["text/html"]
    assert shown["text/plain"] == figure.text
    with pytest.raises(render.CannotDraw, match="pip install pygraphviz"):
        render.render(SMALL)


@pytest.mark.usefixtures("nothing_drawn_yet")
def test_the_graphviz_package_is_used_where_pygraphviz_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import graphviz

    def pipe(self: Any, format: str, quiet: bool) -> bytes:
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="10pt" height="20pt" viewBox="0 0 10'
            ' 20"><g/></svg>'
        )
        return svg.encode()

    monkeypatch.setattr(render, "_pygraphviz", lambda: None)
    monkeypatch.setattr(graphviz.Source, "pipe", pipe)
    assert render.size(render.render(SMALL).decode()) == (13, 27)


def test_two_cards_in_one_frame_need_no_line_between_them() -> None:
    with record() as rec:
        a = torch.ones(2, requires_grad=True)
        b = torch.nn.Parameter(a)
        with torch.no_grad():
            b[0] = 2.0
    assert "shared memory" in rec.figure().svg


def test_a_drawing_of_someone_else_without_a_legend_is_drawn() -> None:
    assert b"<svg" in render.render('digraph { a -> b [label="x"] }', "svg")


def test_the_lines_of_a_pair_stay_apart_where_a_curve_becomes_straight() -> None:
    corner = (402.7, 784.9)  # Graphviz repeats the point
    spline = Spline(
        [(396.5, 846.0), (400.0, 826.3), corner, corner, corner, corner, (402.7, 477.6)],
        start=(394.8, 855),
    )
    left = spline.beside(2.6, back=True)
    at_corner = left.points[2:6]
    assert at_corner == [at_corner[0]] * 4
    assert math.dist(at_corner[0], corner) == pytest.approx(2.6)
