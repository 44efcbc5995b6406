"""Where things stand in the saved SVG of an outline: what is straight, what is orange, what is cut
short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from xml.etree import ElementTree

import model_scripts
import pytest
from drawn import Drawn, drawn
from planted import OPEN, TWINS

from gradviz.picture.outline import looks

SVG = "{http://www.w3.org/2000/svg}"
STRAIGHT = 2.0  # points that an arrow may lean
SIDE_BY_SIDE = ("actor_critic", "contrastive", "encoder_decoder")
MODELS = (*SIDE_BY_SIDE, "gan", "script", "distillation", "vae")


@cache
def picture(name: str) -> Drawn:
    return drawn(model_scripts.read(name), f"{name}.py")


def groups(one: Drawn, kind: str) -> Iterator[ElementTree.Element]:
    for group in ElementTree.fromstring(one.svg).iter(f"{SVG}g"):
        if kind in (group.get("class") or "").split():
            yield group


def numbers(text: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?[\d.]+", text)]


def card(one: Drawn, title: str) -> ElementTree.Element:
    place = next(c.id for c in one.fitted.outline.cards if c.title == title)
    return next(g for g in groups(one, "card") if g.findtext(f"{SVG}title") == f"n{place}")


def river_in(group: ElementTree.Element) -> list[tuple[float, float]]:
    """The left and right end of everything that is as orange as a rail, bars of norms included."""
    found = []
    for shape in group.iter(f"{SVG}polygon"):
        if shape.get("fill") == looks.RIVER:
            across = numbers(shape.get("points") or "")[::2]
            found.append((min(across), max(across)))
    return found


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_the_river_is_straight_where_columns_join(name: str) -> None:
    leaning = {}
    for arrow in groups(picture(name), "gradient"):
        across = numbers(arrow.find(f"{SVG}path").get("d") or "")[::2]  # type: ignore[union-attr]
        if max(across) - min(across) > STRAIGHT:
            leaning[arrow.findtext(f"{SVG}title")] = across
    assert not leaning


@pytest.mark.parametrize("name", MODELS)
def test_no_orange_bar_runs_across_a_card(name: str) -> None:
    """A rail is 9 points wide, and the bar of a norm 40 at most."""
    for group in groups(picture(name), "card"):
        assert all(right - left <= 41 for left, right in river_in(group))


def test_the_edge_of_a_card_is_orange_only_where_a_gradient_comes() -> None:
    """The critic reads the trunk through a detach: at its slot nothing comes."""
    one = picture("actor_critic")
    trunk = card(one, "trunk")
    frame = numbers(next(trunk.iter(f"{SVG}path")).get("d") or "")[::2]
    middle = (min(frame) + max(frame)) / 2
    assert river_in(trunk)
    assert all(right < middle for _, right in river_in(trunk))


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_cut_short_in_a_card_with_room_for_it(name: str) -> None:
    one = picture(name)
    for shown in one.fitted.outline.cards:
        texts = [text.text or "" for text in card(one, shown.title).iter(f"{SVG}text")]
        if one.fitted.columns.get(shown.id, 1) > 1:
            assert not [text for text in texts if text.endswith("…")]
        # what is left of a word can be read
        assert not [t for t in texts if t.endswith("…") and 0 < len(t.strip()) < 5 and t != "…"]


def test_calls_of_one_module_can_be_told_apart() -> None:
    titles = " ".join(t.text or "" for t in ElementTree.fromstring(picture("gan").svg).iter())
    assert "D(fake.detach())" in titles
    assert "D(fake)" in titles


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("router_under_no_grad-mixtral_moe", "get no gradient: moe.gate.weight"),
        ("never_called-mixtral_moe", "get no gradient: moe.experts.0.*"),
    ],
)
def test_a_card_names_the_few_parameters_that_get_none(fault: str, named: str) -> None:
    planted = next(one for one in (*OPEN, *TWINS) if str(one) == fault)
    one = drawn(planted.source, f"{fault}.py")
    missing = {n for n, state in model_scripts.states(one.names).items() if state == "none"}
    rows = [row.left[0].text for c in one.fitted.outline.cards for row in c.rows]
    (row,) = [text for text in rows if named in text]
    start = named.rpartition(" ")[2].removesuffix("*")
    assert missing
    assert all(start in name for name in missing)
    assert row.startswith(f"✗ {len(missing)} of ")


def test_a_skip_that_is_cut_is_named_at_both_ends() -> None:
    planted = next(one for one in (*OPEN, *TWINS) if str(one) == "detach-unet")
    one = drawn(planted.source, "a_long_file_name_of_unet.py")
    down, up = (
        [text.text or "" for text in card(one, title).iter(f"{SVG}text")]
        for title in ("down2", "up2")
    )
    assert any("also goes to up2, cut in line" in text for text in down)
    assert any("skip from down2: detach, line" in text for text in up)
