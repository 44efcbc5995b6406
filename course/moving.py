"""The moving picture of the README: ``python -m course.moving`` writes docs/pictures/toggle.svg.

One click of a live panel, over and over: the scenario is run with both choices of its control, and
what moves are the pictures of the two runs. A card that both have glides from its place in one to
its place in the other; arrows fade. The words are the panel's own.
"""

from __future__ import annotations

import html
import re
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

import gradviz
from gradviz.picture.outline.looks import SpanLook
from gradviz.picture.outline.tables import broken
from gradviz.picture.theme import DARK_PAGE, MONO, SANS, dark_rules

from . import ROOT

PICTURE = ROOT / "docs" / "pictures" / "toggle.svg"
CHOICES = {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach}
SCENARIO = """\
@gv.explore(copy=choices)
def scenario(copy):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = copy(a)
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    loss.backward()
"""
SCALE = 1.22  # CSS pixels a point: the smallest text, 10 points, is 12.2 pixels high
MARGIN, HEAD, LINE = 14, 70, 20
SAID = SpanLook(14)  # the sentence, as STYLE has it
SVG = "{http://www.w3.org/2000/svg}"

# In percent of one round: the button is pressed at 38, then the old arrows go, the cards glide, the
# new arrows come. It stops after some rounds, with the cut in sight. Without motion the cut is all.
STYLE = """\
:root { color-scheme: light dark; }
.ground { fill: light-dark(#ffffff, %(dark)s); }
.said { font: 14px %(sans)s; fill: light-dark(#1f2328, #e9ecef); }
.code { font: bold 16px %(mono)s; fill: light-dark(#1f2328, #e9ecef); }
.button { font: 14px %(sans)s; fill: light-dark(#1f2328, #e9ecef); text-anchor: middle; }
.frame { fill: none; stroke: light-dark(#7f7f7f, #98a1ab); }
.pressed { fill: light-dark(#cfe6f8, #1d4a73); stroke: light-dark(#1d5c8f, #9fd0f7); stroke-width: 2; }
.before { opacity: 0; }
.before, .after { animation: 9s ease-in-out 4.7 forwards; }
.before.flip { animation-name: leave-at-once; }
.after.flip { animation-name: come-at-once; }
.before.arrow { animation-name: fade; }
.after.arrow { animation-name: appear; }
.before.card { animation-name: glide-away; }
.after.card { animation-name: glide-here; }
@keyframes leave-at-once { 0%%, 38%% { opacity: 1; } 39%%, 97%% { opacity: 0; } 98%%, 100%% { opacity: 1; } }
@keyframes come-at-once { 0%%, 38%% { opacity: 0; } 39%%, 97%% { opacity: 1; } 98%%, 100%% { opacity: 0; } }
@keyframes fade { 0%%, 39%% { opacity: 1; } 44%%, 98%% { opacity: 0; } 100%% { opacity: 1; } }
@keyframes appear { 0%%, 50%% { opacity: 0; } 55%%, 93%% { opacity: 1; } 95%%, 100%% { opacity: 0; } }
@keyframes glide-away {
  0%%, 43%% { opacity: 1; transform: none; } 51%% { opacity: 0; transform: translate(var(--x), var(--y)); }
  94%% { opacity: 0; transform: translate(var(--x), var(--y)); } 98%%, 100%% { opacity: 1; transform: none; }
}
@keyframes glide-here {
  0%%, 43%% { opacity: 0; transform: translate(var(--x), var(--y)); } 47%%, 51%% { opacity: 1; }
  51%%, 94%% { opacity: 1; transform: none; } 98%%, 100%% { opacity: 0; transform: translate(var(--x), var(--y)); }
}
@media (prefers-reduced-motion: reduce) { .before, .after { animation: none; } }
"""


class Shown(NamedTuple):
    """What the panel shows for one choice."""

    choice: str
    svg: str
    code: str  # the line that the choice changes, as its card says it
    sentence: str


def shown() -> list[Shown]:
    """Run the README's scenario with each choice."""

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.py"  # a file, so that line numbers are a reader's
        file.write_text(SCENARIO, encoding="utf-8")
        names = {"torch": torch, "gv": gradviz, "choices": CHOICES}
        exec(compile(SCENARIO, str(file), "exec"), names)
        scenario: Any = names["scenario"]
        runs = [scenario.run(copy=choice) for choice in CHOICES]
    found = []
    for choice, run in zip(CHOICES, runs, strict=True):
        (code,) = re.findall(r">(b = [^<]*)<", run.figure.svg)
        found.append(Shown(choice, run.figure.svg, html.unescape(code), run.sentence))
    return found


def moving(states: list[Shown]) -> str:
    """Return one SVG of both pictures, which changes from the first to the second and back."""
    roots = [ET.fromstring(state.svg) for state in states]
    sizes = [[float(side) for side in root.attrib["viewBox"].split()[2:]] for root in roots]
    width = round(max(size[0] for size in sizes) * SCALE + 2 * MARGIN)
    told = [broken(state.sentence, width - 2 * MARGIN, SAID) for state in states]
    top = HEAD + LINE * max(map(len, told))
    height = round(top + max(size[1] for size in sizes) * SCALE + MARGIN)
    places = [cards(root) for root in roots]
    if places[0].keys() != places[1].keys():
        raise ValueError("the two pictures have other cards: nothing can glide")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0'
        f' {width} {height}" role="img">',
        f"<title>{html.escape(states[1].sentence)}</title>",
        f"<style>{STYLE % {'dark': DARK_PAGE, 'sans': SANS, 'mono': MONO}}"
        f"{dark_rules('.graph')}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
    ]
    for number, (state, root, moment) in enumerate(
        zip(states, roots, ("before", "after"), strict=True)
    ):
        mark(root, moment, places[number], places[1 - number])
        graph = root.find(f"{SVG}g")
        assert graph is not None
        left = MARGIN + 262 + 84 * number
        parts += [
            f'<rect class="frame" x="{left}" y="16" width="76" height="28" rx="6"/>',
            f'<rect class="pressed flip {moment}" x="{left}" y="16" width="76" height="28"'
            ' rx="6"/>',
            f'<text class="button" x="{left + 38}" y="35">{html.escape(state.choice)}</text>',
            f'<text class="code flip {moment}" x="{MARGIN}" y="36">{html.escape(state.code)}'
            "</text>",
            f'<g transform="translate({MARGIN} {top}) scale({SCALE})">'
            f"{ET.tostring(graph, encoding='unicode')}</g>",
        ]
        parts += [
            f'<text class="said flip {moment}" x="{MARGIN}" y="{HEAD + LINE * row}">'
            f"{html.escape(line)}</text>"
            for row, line in enumerate(told[number])
        ]
    return "\n".join([*parts, "</svg>", ""])


def groups(root: ET.Element) -> Iterator[ET.Element]:
    """Go through what a picture consists of: cards, arrows, frames, and the legend's pieces."""
    (graph,) = root.findall(f"{SVG}g")
    return iter(graph)


def cards(root: ET.Element) -> dict[str, tuple[float, float]]:
    """Return where each card of a picture is, in its points, by the card's number."""
    (graph,) = root.findall(f"{SVG}g")
    shift = re.search(r"translate\(([\d.]+)[ ,]+([\d.]+)\)", graph.attrib["transform"])
    assert shift is not None
    found = {}
    for group in groups(root):
        if "node" in group.get("class", "").split():
            first = next(group.iter(f"{SVG}text"))
            at = (
                float(first.attrib[axis]) + float(move)
                for axis, move in zip("xy", shift.groups(), strict=True)
            )
            found[group.attrib["id"].rsplit("-", 1)[1]] = tuple(at)
    return found  # type: ignore[return-value]


def mark(
    root: ET.Element,
    moment: str,
    here: dict[str, tuple[float, float]],
    there: dict[str, tuple[float, float]],
) -> None:
    """Say of every part of a picture how it comes and goes, and of a card how far it glides."""
    for group in groups(root):
        kinds = group.get("class", "").split()
        if "node" in kinds:
            name = group.attrib["id"].rsplit("-", 1)[1]
            x, y = (to - at for at, to in zip(here[name], there[name], strict=True))
            group.set("style", f"--x:{x:.1f}px;--y:{y:.1f}px")
        kind = "card" if "node" in kinds else "arrow"
        group.set("class", " ".join([*kinds, kind, moment]))


def main() -> None:
    """Write the picture."""
    ET.register_namespace("", SVG.strip("{}"))
    PICTURE.write_text(moving(shown()), encoding="utf-8")
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
