"""Pictures on a dark page: every colour has a dark twin, and words stay readable on their grounds."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
import torch

import gradviz as gv
from gradviz.picture import theme
from gradviz.picture.figure import Figure
from gradviz.picture.outline import looks
from gradviz.picture.page import styles

ROOM = Path(theme.__file__).parent
READABLE = 4.5  # : 1
PAIRS = {
    *((row.colour, row.fill or "#ffffff") for row in theme.ROWS.values()),
    *((row.colour, card.fill) for row in theme.ROWS.values() for card in theme.CARDS.values()),
    *((chip.colour, chip.fill) for chip in theme.CHIPS.values()),
    *((box.chip.colour, box.chip.fill) for box in theme.BOXES.values()),
    *((tone.colour, tone.fill or "#ffffff") for tone in looks.TONES.values()),
}


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture
def figure() -> Figure:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        b = a.detach()
        (a * b).sum().backward()
    return rec.figure()


def test_every_colour_of_a_picture_has_a_dark_twin() -> None:
    sources = [*ROOM.glob("*.py"), *(ROOM / "outline").glob("*.py")]
    written = {
        found[:7]
        for source in sources
        for found in re.findall(r'"(#[0-9a-f]{6}(?:[0-9a-f]{2})?)"', source.read_text())
    }
    light = written - {theme.DARK_PAGE, *theme.DARK.values()}
    assert light == set(theme.DARK)
    assert len(light) > 30


@pytest.mark.parametrize(("words", "ground"), sorted(PAIRS))
def test_words_are_readable_on_their_dark_ground(words: str, ground: str) -> None:
    assert contrast(theme.DARK[words], theme.DARK[ground]) >= READABLE


def test_a_picture_is_saved_dark_on_request(figure: Figure, tmp_path: Path) -> None:
    for suffix in ("svg", "dot"):
        figure.save(tmp_path / f"light.{suffix}")
        figure.save(tmp_path / f"dark.{suffix}", theme="dark")
        light = (tmp_path / f"light.{suffix}").read_text()
        dark = (tmp_path / f"dark.{suffix}").read_text()
        assert theme.DARK_PAGE in dark
        assert theme.DARK_PAGE not in light
        assert "#1f2328" in light
        assert not [colour for colour in theme.DARK if colour in dark]
    with pytest.raises(gv.GradvizError, match="theme="):
        figure.save(tmp_path / "x.svg", theme="sepia")  # type: ignore[arg-type]


def test_a_page_changes_every_colour_with_its_scheme() -> None:
    style = styles("live.css")
    for light, dark in theme.DARK.items():
        assert f'[fill="{light}"] {{ fill: light-dark({light}, {dark}); }}' in style


def test_a_still_picture_has_both_colours_and_panels_turn_it_dark(figure: Figure) -> None:
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', figure.html)
    assert found is not None
    svg = base64.b64decode(found[1]).decode()
    assert "prefers-color-scheme:dark" in svg
    assert svg == theme.dark_picture(figure.svg)
    assert 'img[alt][src^="data:image/svg+xml"] { color-scheme: dark; }' in styles("access.css")
