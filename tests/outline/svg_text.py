"""What a reader of a saved outline sees: the texts and classes of its SVG, and nothing else.

Knows neither gradviz nor torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
INDENT = 10.0  # a line of the headline that begins further right goes on from the one above
LINE = 6.0  # texts whose feet are closer than this, in points, stand in one line
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Seen:
    """One thing on the picture.

    Attributes:
        kinds: its classes.
        lines: its texts, line by line.
        title: of Graphviz: "n3", or "n3:g->n4:g".
        box: left, top, right and bottom of its outermost shape.
    """

    kinds: frozenset[str]
    lines: tuple[str, ...]
    title: str
    box: Box = field(default=(0.0, 0.0, 0.0, 0.0))

    @property
    def text(self) -> str:
        return " | ".join(self.lines)

    @property
    def ends(self) -> tuple[str, ...]:
        """Of an arrow, the cards that it joins."""
        return tuple(end.split(":")[0] for end in self.title.split("->"))

    def is_around(self, other: Seen) -> bool:
        """Say whether another thing lies inside this one."""
        left, top, right, bottom = self.box
        a, b, c, d = other.box
        return left <= a and top <= b and c <= right and d <= bottom


class Picture:
    """A saved outline.

    Args:
        svg: its text.
    """

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)

    @cached_property
    def all(self) -> list[Seen]:
        return list(self._seen())

    def of(self, *kinds: str) -> list[Seen]:
        """Everything that has all of these classes."""
        return [seen for seen in self.all if seen.kinds.issuperset(kinds)]

    @cached_property
    def cards(self) -> list[Seen]:
        return self.of("node", "card")

    @cached_property
    def headline(self) -> Seen:
        """It is a box of its own, or the label of what is around everything."""
        found = self.of("headline")
        return found[0] if found else next(s for s in self.all if s.title == "cluster_head")

    def _seen(self) -> Iterator[Seen]:
        for group in self.root.iter(f"{SVG}g"):
            kinds = frozenset((group.get("class") or "").split())
            title = group.find(f"{SVG}title")
            name = "" if title is None else title.text or ""
            if kinds and "graph" not in kinds:
                is_headline = "headline" in kinds or name == "cluster_head"
                lines = _lines(group, goes_on=INDENT if is_headline else math.inf)
                yield Seen(kinds, tuple(lines), name, _box(group))


def _lines(group: ElementTree.Element, goes_on: float = math.inf) -> list[str]:
    """The texts of a group from top to bottom, those of one line joined from left to right. A line
    that begins so much further right than the outermost goes on from the one above."""
    texts = [
        (float(text.get("y", "0")), float(text.get("x", "0")), "".join(text.itertext()))
        for text in group.iter(f"{SVG}text")
    ]
    lines: list[list[tuple[float, float, str]]] = []
    for text in sorted(texts):
        if lines and text[0] - lines[-1][-1][0] < LINE:
            lines[-1].append(text)
        else:
            lines.append([text])
    starts = [min(x for _, x, _ in line) for line in lines]
    joined: list[str] = []
    for line, start in zip(lines, starts, strict=True):
        text = " ".join(part for _, _, part in sorted(line, key=lambda t: t[1]))
        text = re.sub(r"\s+", " ", text.replace("\u00a0", " ")).strip()
        if joined and start > min(starts) + goes_on:
            joined[-1] += f" {text}"
        else:
            joined.append(text)
    return joined


def _box(group: ElementTree.Element) -> Box:
    """What all shapes of a group cover."""
    numbers: list[float] = []
    for shape in group.iter():
        if shape.tag in (f"{SVG}path", f"{SVG}polygon"):
            text = shape.get("d") or shape.get("points") or ""
            numbers += map(float, re.findall(r"-?[\d.]+", text))
    if not numbers:
        return 0.0, 0.0, 0.0, 0.0
    across, down = numbers[::2], numbers[1::2]
    return min(across), min(down), max(across), max(down)
