"""The README's moving picture is made of what gradviz draws, and stands still for who asks."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from course import moving
from gradviz.picture import theme

SVG = moving.SVG


@pytest.fixture(scope="module")
def states() -> list[moving.Shown]:
    return moving.shown()


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


def committed() -> str:
    return moving.PICTURE.read_text(encoding="utf-8")


def test_its_words_are_those_of_the_panel(states: list[moving.Shown]) -> None:
    drawn = texts(committed())
    assert drawn == texts(moving.moving(states)), "write it again: python -m course.moving"
    for state in states:
        assert not Counter(texts(state.svg)) - Counter(drawn)
        assert state.sentence in " ".join(drawn)
    assert [state.code for state in states] == ["b = a.clone()", "b = a.detach()"]


def test_the_arrow_that_dies_is_the_gradient_from_b_to_a(states: list[moving.Shown]) -> None:
    clone, detach = (state.svg.count('class="edge gradient"') for state in states)
    assert (clone, detach) == (6, 3)
    assert [state.svg.count('class="edge cut"') for state in states] == [0, 1]
    for moment, gradients in (("before", 6), ("after", 3)):
        marked = re.findall(rf'class="edge gradient arrow {moment}"', committed())
        assert len(marked) == gradients


def test_a_card_glides_to_where_the_other_picture_has_it(states: list[moving.Shown]) -> None:
    before, after = (moving.cards(ET.fromstring(state.svg)) for state in states)
    assert before.keys() == after.keys()
    found = re.findall(r"--x:([-\d.]+)px;--y:([-\d.]+)px", moving.moving(states))
    assert len(found) == 2 * len(before)
    for (name, here), move in zip(before.items(), found, strict=False):
        assert all(
            float(by) == pytest.approx(to - at, abs=0.06)
            for by, at, to in zip(move, here, after[name], strict=True)
        )


def test_its_sentence_stands_above_the_picture_and_is_whole() -> None:
    svg = ET.fromstring(committed())
    width = float(svg.attrib["width"])
    said = [t for t in svg.iter(f"{SVG}text") if "said" in t.get("class", "")]
    assert len(said) >= 3
    for line in said:
        right = float(line.attrib["x"]) + theme.text_width(line.text or "", size=14)
        assert right <= width - moving.MARGIN
    (top,) = {g.attrib["transform"] for g in svg.iter(f"{SVG}g") if "scale(1.22)" in str(g.attrib)}
    below = float(re.findall(r"[\d.]+", top)[1])
    assert max(float(line.attrib["y"]) for line in said) < below


def test_it_is_small_legible_and_still_for_who_asks() -> None:
    svg = committed()
    assert len(svg.encode()) < 120_000
    sizes = [float(size) * moving.SCALE for size in re.findall(r'font-size="([\d.]+)"', svg)]
    sizes += [float(size) for size in re.findall(r"font: (?:bold )?([\d.]+)px", svg)]
    assert min(sizes) >= 12
    assert "@media (prefers-reduced-motion: reduce) { .before, .after { animation: none; } }" in svg
    assert "infinite" not in svg
    assert not re.search(r"https?://(?!www\.w3\.org)|<script|@import|url\(", svg)
