"""Reads the geometry of our own SVGs, for the tests that look at pictures."""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from gradviz.picture.geometry import Point, Rect, Spline

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = re.compile(r"(-?[\d.]+)[, ](-?[\d.]+)")
FONTS = {
    "DejaVu": (
        "dejavu/DejaVuSans.ttf",
        "dejavu/DejaVuSans-Bold.ttf",
        "dejavu/DejaVuSansMono-Bold.ttf",
    ),
    "Liberation": (
        "liberation/LiberationSans-Regular.ttf",
        "liberation/LiberationSans-Bold.ttf",
        "liberation/LiberationMono-Bold.ttf",
    ),
}


class Text(NamedTuple):
    text: str
    size: float  # points
    bold: bool
    mono: bool
    x: float
    y: float
    room: Rect  # the shape that it stands in


class Group(NamedTuple):
    """One node, edge or frame: its shapes, lines and texts, in the picture's own points."""

    kind: str  # "node", "cluster", or the class of an edge: "gradient", "forward", "cut", …
    shapes: list[Rect]
    lines: list[list[Point]]
    texts: list[Text]
    dashed: bool
    stroke_width: float

    @property
    def chip(self) -> Rect | None:
        """The box of an edge's or frame's words."""
        if not self.texts:
            return None
        return self.texts[0].room


class Picture(NamedTuple):
    width: float  # CSS pixels
    height: float
    view: Rect
    groups: list[Group]

    def of(self, *kinds: str) -> list[Group]:
        return [g for g in self.groups if g.kind in kinds]


def read(svg: str) -> Picture:
    root = ElementTree.fromstring(svg)
    x, y, w, h = map(float, (root.get("viewBox") or "").split())
    graph = root.find(SVG + "g")
    assert graph is not None
    shift = re.search(r"translate\((-?[\d.]+)[ ,](-?[\d.]+)\)", graph.get("transform") or "")
    assert shift
    dx, dy = float(shift[1]), float(shift[2])
    groups = [_group(g) for g in graph.iter(SVG + "g")]
    return Picture(
        float(root.get("width", 0)),
        float(root.get("height", 0)),
        Rect(x - dx, y - dy, x - dx + w, y - dy + h),
        groups,
    )


def _group(g: Any) -> Group:
    kind = (g.get("class") or "").replace("edge ", "")
    shapes: list[Rect] = []
    lines: list[list[Point]] = []
    texts: list[Text] = []
    dashed, width = False, 1.0
    children = [c for c in g if c.tag != SVG + "g"]
    for child in children:
        points = [
            (float(a), float(b))
            for a, b in NUMBERS.findall(child.get("points") or child.get("d") or "")
        ]
        if (
            child.tag == SVG + "path"
            and kind not in ("node", "cluster", "graph")
            and child.get("fill") == "none"
        ):
            lines.append(Spline(points).samples())
            dashed |= bool(child.get("stroke-dasharray"))
            width = float(child.get("stroke-width") or 1)
        elif points:
            shapes.append(
                Rect(*map(min, zip(*points, strict=True)), *map(max, zip(*points, strict=True)))
            )
            dashed |= bool(child.get("stroke-dasharray"))
        elif child.tag == SVG + "text":
            texts.append(
                Text(
                    child.text or "",
                    float(child.get("font-size")),
                    child.get("font-weight") == "bold",
                    "mono" in (child.get("font-family") or ""),
                    float(child.get("x")),
                    float(child.get("y")),
                    shapes[-1],
                )
            )
    return Group(kind, shapes, lines, texts, dashed, width)


# --- fonts ----------------------------------------------------------------------------------------


def installed(family: str) -> list[dict[int, float]] | None:
    """Advance widths in ems of regular, bold and monospace of a family, by code point; None where
    not installed."""
    for folder in ("/usr/share/fonts/truetype", "/usr/share/fonts"):
        paths = [Path(folder) / name for name in FONTS[family]]
        if all(p.exists() for p in paths):
            return [_advances(p) for p in paths]
    return None


@lru_cache(maxsize=8)
def _advances(path: Path) -> dict[int, float]:
    data = path.read_bytes()

    def short(at: int) -> int:
        return int(struct.unpack_from(">H", data, at)[0])

    tables = {
        data[12 + 16 * i : 16 + 16 * i]: struct.unpack_from(">I", data, 20 + 16 * i)[0]
        for i in range(short(4))
    }
    per_em, metrics, cmap = short(tables[b"head"] + 18), tables[b"hmtx"], tables[b"cmap"]
    long = short(tables[b"hhea"] + 34)
    widths: dict[int, float] = {}
    for i in range(short(cmap + 2)):
        sub = cmap + struct.unpack_from(">I", data, cmap + 8 + 8 * i)[0]
        if short(sub) != 4:
            continue
        count = short(sub + 6) // 2
        for k in range(count):
            end, start = short(sub + 14 + 2 * k), short(sub + 16 + 2 * count + 2 * k)
            delta, at = short(sub + 16 + 4 * count + 2 * k), sub + 16 + 6 * count + 2 * k
            for code in range(start, min(end, 0xFFFE) + 1):
                glyph = code if not short(at) else short(at + short(at) + 2 * (code - start))
                glyph = (glyph + delta) & 0xFFFF if glyph or not short(at) else 0
                if glyph:
                    widths[code] = short(metrics + 4 * min(glyph, long - 1)) / per_em
    return widths


def cards_of(svg: str) -> list[str]:
    """All that stands on each card; where a line is broken hangs on the room that it has."""
    groups = [g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if g.get("class") == "node"]
    return sorted("".join("".join(g.itertext()).split()) for g in groups)
