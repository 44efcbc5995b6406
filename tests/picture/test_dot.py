"""DOT text: the same bytes in every process, and no text of the user's ever becomes anything but
text."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.picture import dot, render
from gradviz.picture.arrangements import ACROSS, ARRANGEMENTS, ONE_COLUMN, Arrangement
from gradviz.picture.card_tables import lines_of_row
from gradviz.picture.line_breaks import wrap
from gradviz.picture.scene import Arrow, Box, Card, Row, Scene
from gradviz.words.en import WRONG_USE
from gradviz.words.speech import say

NASTY = [
    'a"b',
    "back\\slash\\",
    "\\N \\G \\n",
    "<b>bold</b>",
    "A<script>alert(1)</script>",
    "a & b &amp; &#60;",
    "new\nline\r\t",
    "nul\x00nul",
    "lone\ud800surrogate",
    "bidi\u202edetrever\u202c",
    "\x1b[31mred",
    "]]>",
    "--> }",
    '"];}',
    "\x85\u2028",
    "x" * 100_000,
    "",
    " ",
    "%s {0} $x",
    "日本語 🙂 é e\u0301",
    '" onload="alert(1)',
    "image=/etc/passwd",
    "=<<table>>",
]


def scene_of(text: str) -> Scene:
    kinds = ("code", "values", "state", "grad_fn", "accumulate", "stale", "untracked", "cut")
    card = Card(0, "leaf", tuple(Row(kind, text) for kind in kinds), detail=text, name=text)
    other = card._replace(id=1, kind="untracked")
    arrows = tuple(
        Arrow(0, 1, kind, text, text)
        for kind in ("gradient", "zeros", "cut", "raise", "forward", "edge", "of")
    )
    return Scene((card, other), arrows, (Box("memory", text, (0, 1)),), (text,))


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_hostile_text_stays_text(text: str) -> None:
    source = dot.dot(scene_of(text))
    svg = render.render(source, "svg", {"n0": text}).decode()
    root = ElementTree.fromstring(svg)
    tags = {e.tag.split("}")[1] for e in root.iter()}
    assert tags <= {"svg", "g", "title", "text", "path", "polygon", "polyline", "ellipse"}
    names = {name.split("}")[-1] for e in root.iter() for name in e.attrib}
    assert not {n for n in names if n.startswith("on") or n in ("href", "style", "image", "src")}
    shown = "".join(t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text"))
    if text.strip() and text.isascii() and text.isprintable() and len(text) < 30:
        assert text.replace(" ", "") in shown.replace("\xa0", "").replace(" ", "")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", shown)


def test_what_cannot_be_seen_is_written_out() -> None:
    source = dot.dot(scene_of("a\x00b\u202ec\nd"))
    assert r"a\\x00b\\u202ec\\nd" in source, "Graphviz takes one backslash of two"


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_any_text_can_be_drawn(text: str) -> None:
    svg = render.render(dot.dot(scene_of(text)), "svg")
    ElementTree.fromstring(svg)


def test_only_listed_attributes_are_written() -> None:
    with pytest.raises(
        ValueError, match=r"not on the list of attributes that may be drawn: \['URL'\]"
    ):
        dot._attributes(URL="https://example.org")
    written = re.sub(r"<<.*?>>", "<<>>", dot.dot(scene_of("label text")))
    assert set(re.findall(r"(\w+)=", written)) <= dot.ALLOWED
    assert "dpi" not in dot.ALLOWED
    assert "constraint" not in dot.ALLOWED


def test_long_code_wraps_and_says_that_it_goes_on() -> None:
    lines = wrap(
        "total = torch.nn.functional.mse_loss(prediction * weight + bias, target, reduction='sum')",
        30,
        2,
    )
    assert len(lines) == 2
    assert all(len(line) <= 30 for line in lines)
    assert lines[-1].endswith("…")


@pytest.mark.parametrize("how", [*ARRANGEMENTS, *ACROSS, *ONE_COLUMN])
@pytest.mark.parametrize("use", WRONG_USE.values())
def test_a_warning_stands_whole_on_the_narrowest_card(how: Arrangement, use: str) -> None:
    warning = say("row.overwritten", wrong_use=use)
    assert " ".join(lines_of_row(Row("stale", warning), how.lines)) == warning


PROGRAM = """
import torch
import gradviz as gv
from gradviz.picture.figure import Figure
with gv.record() as rec:
    a = torch.tensor([1., 2., 3.], requires_grad=True)
    x, y, z = a.unbind(0)
    b = a.detach()
    with torch.no_grad():
        c = a * 2
    for _ in range(3):
        loss = ((x * y).exp() + b.sum() + c.sum() + z) ** 2
    loss.backward()
f = Figure(rec.graph)
print(f.source, f.text, f.alt)
"""


def test_the_same_code_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    results = set()
    for seed in ("1", "2"):
        env = {
            "PYTHONHASHSEED": seed,
            "PATH": "",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "PYTHONUTF8": "1",
        }
        done = subprocess.run(
            [sys.executable, str(program)], env=env, capture_output=True, check=True, timeout=120
        )
        results.add(done.stdout)
    assert len(results) == 1
    assert b"0x" not in next(iter(results))
