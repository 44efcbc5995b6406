"""The chips and words of a finished layout: how large each is, and where it has room."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from gradviz.picture.geometry import Chip, Point, Rect, corners, place


def chip_of(edge: Any, line: int) -> Chip:
    """Measure the chip of an edge."""
    label = edge.attr["label"]
    width = re.search(r'width="(\d+)"', label)
    x, y = edge.attr["lp"].split(",")
    return Chip(
        (float(x), float(y)),
        float(width[1]) + 2 if width else 60,
        13 * (label.count("<br/>") + 1) + 5,
        line,
    )


def place_chips(
    graph: Any,
    chips: list[tuple[Any, Chip]],
    lines: list[list[Point]],
    own: Mapping[str, Rect] = MappingProxyType({}),
) -> int:
    """Move every chip to a free spot, and count those that cover something.

    Args:
        graph: what is laid out.
        chips: each with the attributes of its edge.
        lines: samples of every line.
        own: the boxes of cards that have other ones than in the layout, by their names.
    """
    cards = [
        own.get(n) or box_of(n.attr["pos"], n.attr["width"], n.attr["height"])
        for n in graph.nodes()
    ]
    frames = [*_frames_seen(graph)]
    chips = [(attributes, _words(attributes, box)) for attributes, box in frames] + chips
    page = Rect(*map(float, graph.graph_attr["bb"].split(",")))
    if graph.graph_attr.get("lp"):  # the legend; a drawing of someone else has none
        cards.append(box_of(*(graph.graph_attr[key] for key in ("lp", "lwidth", "lheight"))))
    middles, flaws = place(
        [chip for _, chip in chips], lines, cards, [box for _, box in frames], page
    )
    for (attributes, chip), middle in zip(chips, middles, strict=True):
        attributes["lp"] = f"{middle[0]:.2f},{middle[1]:.2f}"
        box = chip.at(middle)
        if chip.spots and not page.contains(box):
            make_room(graph, box)
        page = Rect(*map(min, page[:2], box[:2]), *map(max, page[2:], box[2:]))
    graph.graph_attr["bb"] = ",".join(f"{side:.2f}" for side in page)
    return flaws


def _frames_seen(graph: Any) -> Iterator[tuple[Any, Rect]]:
    """Go through the frames that are drawn: the attributes of each, and its box."""
    for frame in graph.subgraphs():
        attributes = frame.graph_attr
        is_seen = attributes["style"] != "invis" and bool(attributes["bb"])
        if is_seen and frame.name and frame.name.startswith("cluster"):
            yield attributes, Rect(*map(float, attributes["bb"].split(",")))


def make_room(graph: Any, box: Rect) -> None:
    """Make a page large enough for the words of a frame, which Graphviz does not reckon with."""
    for k, (x, y) in enumerate((box[:2], box[2:])):
        unseen = {
            "style": "invis",
            "shape": "point",
            "width": "0.01",
            "height": "0.01",
            "label": "",
        }
        graph.add_node(f"room{k}_{x:.0f}_{y:.0f}", pos=f"{x:.2f},{y:.2f}", **unseen)


def _words(attributes: Any, frame: Rect) -> Chip:
    """Measure the words of a frame."""
    middle = box_of(attributes["lp"], attributes["lwidth"], attributes["lheight"])
    width, height = middle.x1 - middle.x0, middle.y1 - middle.y0
    spots = corners(frame, width, height)
    return Chip(spots[0], width, height, spots=spots)


def box_of(middle: str, width: str, height: str) -> Rect:
    """Return the box of a node, which Graphviz measures in inches."""
    x, y = map(float, middle.split(","))
    w, h = float(width) * 36, float(height) * 36  # half an inch's worth of points
    return Rect(x - w, y - h, x + w, y + h)
