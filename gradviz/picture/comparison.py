"""Two pictures of one model side by side, or one above the other: before and after a change."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any

from gradviz.picture import render, theme
from gradviz.picture.difference import difference, told
from gradviz.picture.figure import WIDTH, Figure, image, place_of, write
from gradviz.picture.outline import looks
from gradviz.picture.outline.asked import NO_MARKS, Marks
from gradviz.picture.outline.looks import SpanLook
from gradviz.picture.outline.tables import shortened
from gradviz.picture.page import still_page
from gradviz.words import given
from gradviz.words.plain import visible
from gradviz.words.speech import say

LINE, TITLE, GAP, EDGE = 20, 30, 24, 12  # CSS pixels
INK, GREY = "#1f2328", "#444444"
SUFFIXES = ("svg", "html")
ROOT = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    ' viewBox="0 0 {width} {height}">{inside}</svg>'
)
RECT = '<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}"/>'
TEXT = (
    '<text x="{x}" y="{y}" font-family="{font}" font-size="{size}" fill="{fill}"'
    ' font-weight="{weight}">{text}</text>'
)
# how many of the parameters of a card get a gradient, and how many there are, by what is in it
Counts = Mapping[frozenset[Hashable], tuple[int, int]]


class Comparison:
    """Two figures of one model in one picture. The second is arranged like the first: what either
    has in cards of its own both have.

    Args:
        before: the first figure.
        after: the second one.
        names: what they are called.

    Raises:
        GradvizError: they are of different models.
    """

    def __init__(self, before: Figure, after: Figure, names: tuple[str, str]) -> None:
        self.names = names
        found = difference(before.graph, after.graph)
        self.lines = tuple(told(found, *names))
        self.before, self.after = _matched(before, after, names)

    @cached_property
    def text(self) -> str:
        """What differs, then both in words."""
        parts = ["\n".join(self.lines)]
        for name, figure in zip(self.names, (self.before, self.after), strict=True):
            parts.append("\n".join((say("compare.title", name=name), figure.text)))
        return "\n\n".join(parts)

    @cached_property
    def alt(self) -> str:
        """What differs, and both pictures, in a few sentences."""
        return say(
            "compare.alt",
            headline=self.lines[0],
            first=self.names[0],
            second=self.names[1],
            before=self.before.alt,
            after=self.after.alt,
        )

    @cached_property
    def svg(self) -> str:
        """The picture: both side by side where they are narrow enough for one page, else one above
        the other.

        Raises:
            CannotDraw: as ``Figure.svg``.
        """
        pictures = self._narrow() or [self.before.svg, self.after.svg]
        drawn = [_with_own_ids(svg, side) for svg, side in zip(pictures, "ab", strict=True)]
        sizes = [render.size(svg) for svg in drawn]
        beside = sum(width for width, _ in sizes) + GAP <= WIDTH
        top = EDGE + LINE * len(self.lines) + LINE // 2
        places, width, height = _places(sizes, top, beside=beside)
        width = max(width, WIDTH if len(self.lines) > 1 else 480)
        texts = [
            _text(line, EDGE, EDGE + LINE * k + 14, width, bold=k == 0)
            for k, line in enumerate(self.lines)
        ]
        for name, (x, y) in zip(self.names, places, strict=True):
            texts.append(_text(name, x + EDGE, y - 9, width, bold=True))
        inner = [
            re.sub(r"<svg ", f'<svg x="{x}" y="{y}" ', svg[svg.index("<svg") :], count=1)
            for svg, (x, y) in zip(drawn, places, strict=True)
        ]
        paper = _paper(0, 0, width, top) + "".join(_paper(x, y - 26, 160, 24) for x, y in places)
        inside = "".join((paper, *texts, *inner))
        return ROOT.format(width=width, height=height, inside=inside)

    def _narrow(self) -> list[str]:
        """Return both pictures half a page wide; none where one of them cannot be."""
        found = []
        for figure in (self.before, self.after):
            outlined = figure.outlined
            if outlined is None or outlined.narrow is None:
                return []
            svg = render.render_as_is(outlined.narrow.source, "svg", outlined.titles)
            found.append(svg.decode())
        return found

    @cached_property
    def html(self) -> str:
        """An ``<img>`` with the picture inside, as of a Figure."""
        try:
            svg = self.svg
        except render.CannotDraw as why:
            return f"<pre>{html.escape(self.text)}</pre><p>{html.escape(str(why))}</p>"
        return image(svg, self.alt)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Args:
            path: its suffix says the format: .svg, or .html (one page with picture and words).

        Raises:
            GradvizError: another suffix, or the picture cannot be drawn.
        """
        target = given.path("save()", path, "comparison.svg")
        if given.suffix(target, SUFFIXES) == "svg":
            write(place_of(target), self.svg.encode())
            return
        shown = f"{self.html}<pre>{html.escape(self.text)}</pre>"
        write(place_of(target), still_page(self.lines[0], shown))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text


def _places(
    sizes: list[tuple[int, int]], top: int, *, beside: bool
) -> tuple[list[tuple[int, int]], int, int]:
    """Return where two pictures stand, and the size of the whole."""
    (w0, h0), (w1, h1) = sizes
    if beside:
        places = [(0, top + TITLE), (w0 + GAP, top + TITLE)]
        return places, w0 + GAP + w1, top + TITLE + max(h0, h1)
    below = top + TITLE + h0 + TITLE
    return [(0, top + TITLE), (0, below)], max(w0, w1), below + h1


def _paper(x: int, y: int, width: int, height: int) -> str:
    """Write what words stand on, so that they can be read on dark pages too."""
    return RECT.format(x=x, y=y, width=width, height=height, fill=looks.PAPER)


def _matched(before: Figure, after: Figure, names: tuple[str, str]) -> tuple[Figure, Figure]:
    """Return both figures with the same modules opened, the same cards kept apart, the same order,
    and marks where as many parameters get a gradient as not in the other."""
    drawn = before.outlined, after.outlined
    if drawn[0] is None or drawn[1] is None or not (before.graph.calls and after.graph.calls):
        return before, after
    opened = drawn[0].opened | drawn[1].opened
    other = _asking(after, opened)
    one = _asking(before, opened)
    one.arrange_like(other)
    other = _asking(after, opened)
    other.arrange_like(one)
    counts = [figure.outlined.counts for figure in (one, other) if figure.outlined]
    return (
        _asking(one, opened, _marks(counts[1], counts[0], names[1])),
        _asking(other, opened, _marks(counts[0], counts[1], names[0])),
    )


def _asking(figure: Figure, opened: frozenset[str], marks: Marks = NO_MARKS) -> Figure:
    """Return a figure of the same graph that opens more, and marks cards."""
    asked = figure._asked
    found = Figure(figure.graph, title=figure.title)
    found._asked = asked._replace(opened=asked.opened | opened, marks=marks)
    return found


def _marks(others: Counts, own: Counts, name: str) -> dict[frozenset[Hashable], str]:
    """Tell of each card of which another number of parameters gets a gradient in the other
    picture."""
    return {
        keys: say("compare.mark", name=name, n=others[keys][0], total=others[keys][1])
        for keys, count in own.items()
        if keys in others and others[keys][0] != count[0]
    }


def _text(text: str, x: int, y: int, width: int, *, bold: bool) -> str:
    """Write one line, as long as there is room."""
    look = SpanLook(15 if bold else 13, bold)
    said = html.escape(shortened(visible(text, 400), width - x - EDGE, look))
    fill, weight = (INK, "bold") if bold else (GREY, "normal")
    return TEXT.format(
        x=x, y=y, font=theme.SANS, size=look.size, fill=fill, weight=weight, text=said
    )


def _with_own_ids(svg: str, side: str) -> str:
    """Return a picture with ids of its own on the page: those of two equal pictures are equal.

    >>> _with_own_ids('<g id="g0123abcd-n1"/><use href="#g0123abcd-n1"/>', "b")
    '<g id="g0123abcdb-n1"/><use href="#g0123abcdb-n1"/>'
    """
    return re.sub(r'(?<=["# ])(g[0-9a-f]{8})-', rf"\1{side}-", svg)
