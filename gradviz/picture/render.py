"""DOT -> SVG, PNG, PDF. The only place that knows a layout engine, and the only one that starts a
process.

Graphviz lays out once; then the two lines of a forward/gradient pair, which were laid out as one
edge, are moved apart, and the finished positions are drawn in whatever format is asked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from xml.etree import ElementTree

from gradviz.graph.records import GradvizError
from gradviz.picture import theme
from gradviz.picture.arrangements import ACROSS, ARRANGEMENTS, ONE_COLUMN, Arrangement
from gradviz.picture.chips import box_of, chip_of, make_room, place_chips
from gradviz.picture.dot import dot as write_dot
from gradviz.picture.dot import line_of
from gradviz.picture.geometry import Chip, Point, Rect, Spline
from gradviz.picture.own_looks import OwnLook, Piece
from gradviz.picture.scene import Scene
from gradviz.words.plain import visible
from gradviz.words.progress import Progress
from gradviz.words.speech import say

FORMATS = ("svg", "png", "pdf")
IN_PROCESS = 120  # edges; above, a child process lays out, because in here nothing could stop it
SECONDS = 20
LOOK = 0.25  # seconds after which a child process is asked again whether it is done
TRIES = 4
BYTES = 2 << 30
PLACE_BESIDE = 620  # CSS pixels; in a place that is no wider, cards may all stand in one column
MOVABLE = 120  # CSS pixels by which a layout may still get narrower when its chips get their places
AROUND = 16  # points, more than a picture is wider than its layout: margins and lines of a pair
APART = 2.6  # points between the middle of a pair and each of its two lines
SVG = "{http://www.w3.org/2000/svg}"
COMMON = {  # said once in a picture that is made of pieces, for there are many such pictures
    "font-family": theme.SANS,
    "text-anchor": "middle",
    "{http://www.w3.org/XML/1998/namespace}space": "preserve",
}
HEADLINES = ("head", "cluster_head")  # of an outline
MARKS = ("✂", "?")
SAME_LINE = 4  # points; texts of one line whose fonts differ stand on feet a little apart
BETWEEN_PARTS = "\u2002"  # of a line
FONT_OF_PART = {"font-family": theme.SANS, "font-weight": "normal", "font-size": "", "fill": ""}

_lock = threading.Lock()  # Graphviz keeps global state
_CHILD = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({bytes},) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, ({seconds},) * 2)
except (ImportError, ValueError, OSError):
    pass
import pygraphviz
g = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode())
sys.stdout.buffer.write(g.draw(format="dot", prog="dot"))
"""


class Share(NamedTuple):
    """A box in a picture, as shares of the picture's width and height."""

    left: float
    top: float
    width: float
    height: float


class CannotDraw(GradvizError):
    """No layout engine, or the layout took too long. The text says which, and what to do."""


def render(dot: str, format: str = "svg", titles: Mapping[str, str] | None = None) -> bytes:
    """Lay out and draw DOT text that ``gradviz.picture.dot`` wrote.

    Args:
        dot: the source.
        format: "svg", "png" or "pdf".
        titles: for SVG, what hovering over a node says, by node name.

    Returns:
        The file's bytes. An SVG is transparent, sized in CSS pixels, and its ids are its own.

    Raises:
        CannotDraw: no layout engine is installed, or the layout ran into its limits.
    """
    if format not in FORMATS:
        raise GradvizError(f"cannot draw as {format!r}; the formats are {', '.join(FORMATS)}")
    return _svg(dot, tuple((titles or {}).items())) if format == "svg" else _drawn(dot, format)


def laid_out(dot: str) -> str:
    """Lay out DOT text, and return it with the place of everything.

    Raises:
        CannotDraw: as ``render``.
    """
    with _told_plainly():
        if _pygraphviz() is None:
            return _system_dot(dot, "dot").decode()
        with _lock:
            return _laid_out(dot)


def render_as_is(dot: str, format: str = "svg", titles: Mapping[str, str] | None = None) -> bytes:
    """Draw DOT text where the layout puts everything, each text where its cell has it.

    Args:
        dot: the source, of an outline.
        format: "svg", "png" or "pdf".
        titles: for SVG, what hovering over a node says, by node name.

    Raises:
        CannotDraw: as ``render``.
    """
    with _told_plainly():
        if _pygraphviz() is None:
            drawn = _system_dot(dot, format)
        else:
            with _lock:
                placed = _pygraphviz().AGraph(string=_laid_out(dot))
                drawn = bytes(placed.draw(format=format, prog="nop2"))
        return _finish(drawn, dot, titles or {}, centred=False) if format == "svg" else drawn


class Flaws(NamedTuple):
    """What is wrong with a picture: CSS pixels that it is too wide, and how many of its words are
    hidden."""

    too_wide: int = 0
    hidden: int = 0


class Arranged(NamedTuple):
    """The source of a scene in one of the arrangements."""

    source: str
    how: Arrangement
    flaws: Flaws


def best(scene: Scene, width: int, like: Arranged | None = None) -> Arranged:
    """Choose the first arrangement of a scene that is no wider than ``width`` CSS pixels and hides
    nothing.

    Where none is, the narrowest, and among those that are narrow enough the one in which the fewest
    words are hidden; four of those are tried, for each costs as much as the picture. The one that
    a picture ``like`` this one has is tried first, and taken if it is narrow enough and hides no
    more words than there.
    """
    return _best(scene, width, like, tuple(say(f"legend.{sign}") for sign in theme.LEGEND))


@lru_cache(maxsize=64)  # live pictures come back to the states that they were in
def _best(scene: Scene, width: int, like: Arranged | None, legend: tuple[str, ...]) -> Arranged:
    """Find the best arrangement, once. ``legend`` only tells languages apart: a scene does not
    hold its legend."""
    enough = Flaws(0, like.flaws.hidden) if like else Flaws()
    if scene.is_bare:  # each of the pictures that share it finds places for its own words
        enough = Flaws(0, sys.maxsize)
    tried: dict[str, Arranged] = {}
    is_narrow = width <= PLACE_BESIDE
    # where the code stands beside a picture, the card tells the reason of a cut, and not the arrow
    ways = ACROSS if scene.is_bare and not is_narrow else ACROSS[:1]
    across = ways if _goes_across(scene) else ()
    narrow_ones = ONE_COLUMN if is_narrow else ()
    for how in (*((like.how,) if like else ()), *across, *ARRANGEMENTS, *narrow_ones):
        source = write_dot(scene, how)
        if source in tried:
            continue
        tried[source] = Arranged(source, how, _flaws(source, width))
        narrow = sum(not one.flaws.too_wide for one in tried.values())
        if tried[source].flaws <= enough or narrow == TRIES:
            break
    return min(tried.values(), key=lambda one: one.flaws)


def _goes_across(scene: Scene) -> bool:
    """Tell whether values may go from left to right: torch's own nodes stand above each other."""
    return any(card.kind != "node" and card.tensor_ids for card in scene.cards) and all(
        arrow.kind != "of" for arrow in scene.arrows
    )


def _flaws(dot: str, width: int) -> Flaws:
    """Tell what is wrong with a picture."""
    hidden = 0
    if _pygraphviz() is not None:
        with _told_plainly(), _lock:
            bare = _too_wide(
                rb'\bbb="[-+\d.e]+,[-+\d.e]+,([+\d.e]+),', _laid_out(dot).encode(), width
            )
        if bare > MOVABLE:
            # whatever place its chips get, and finding those takes longer than the layout
            return Flaws(bare)
        with _told_plainly():
            refined, hidden = _layout(dot)
        if _is_surely_narrow(refined, width):
            return Flaws(0, hidden)
    return Flaws(_too_wide(rb'<svg width="([\d.]+)pt"', _drawn(dot, "svg"), width), hidden)


def _is_surely_narrow(laid_out: str, width: int) -> bool:
    """Tell whether a layout is no wider than so many CSS pixels, with the margins that its picture
    has around it: then nothing needs to be drawn to know it."""
    sides = re.search(r'\bbb="([-+\d.e]+),[-+\d.e]+,([-+\d.e]+),', laid_out)
    return sides is not None and (float(sides[2]) - float(sides[1]) + AROUND) * 4 / 3 <= width


def _too_wide(pattern: bytes, drawn: bytes, width: int) -> int:
    """Return by how many CSS pixels a picture is too wide, where the pattern finds a width in
    points."""
    points = re.search(pattern, drawn)
    return max(round(float(points[1]) * 4 / 3) - width, 0) if points else 0


@contextmanager
def _told_plainly() -> Iterator[None]:
    """Turn whatever an engine trips over into a sentence: a picture must not end a cell in a
    traceback."""
    try:
        yield
    except GradvizError:
        raise
    except Exception as error:
        raise CannotDraw(say("picture.engine_failed", error=type(error).__name__)) from error


# --- engines --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _pygraphviz() -> Any:
    """Return Graphviz as a library, where it is installed."""
    try:
        import pygraphviz
    except ImportError:
        return None
    # fontconfig warns once, straight to file descriptor 2: a red box under the reader's cell
    with _quiet():
        pygraphviz.AGraph(string='digraph { a [label="a"] }').draw(format="svg", prog="dot")
    return pygraphviz


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence file descriptor 2 inside the block."""
    try:
        saved = os.dup(2)
    except OSError:
        yield
        return
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


@lru_cache(maxsize=64)  # live pictures come back to the states that they were in
def _drawn(dot: str, format: str) -> bytes:
    """Draw DOT text in a format, once."""
    with _told_plainly():
        if _pygraphviz() is None:
            return _system_dot(dot, format)
        laid_out, _ = _layout(dot)
        with _lock:
            return bytes(_pygraphviz().AGraph(string=laid_out).draw(format=format, prog="nop2"))


@lru_cache(maxsize=64)
def _layout(dot: str) -> tuple[str, int]:
    """Return the source with the place of everything, and how many of its words cover something."""
    with _lock:
        return _refined(_laid_out(dot))


@lru_cache(maxsize=64)
def _laid_out(dot: str) -> str:
    """Lay out DOT text, with all its lines."""
    placed = _placed(dot)
    if _has_lost_lines(placed):  # no way was found round the cards: straight through them
        placed = _placed(dot.replace("{", "{ splines=line;", 1))
    return placed


def _has_lost_lines(laid_out: str) -> bool:
    """Say whether Graphviz left out an edge that is to be seen, as it does where its router fails
    ("lost n1 n2 edge")."""
    pygraphviz = _pygraphviz()
    graph = pygraphviz.AGraph(string=laid_out)
    edges = (pygraphviz.Edge(graph, *ends) for ends in graph.edges(keys=True))
    return any(not edge.attr["pos"] and edge.attr["style"] != "invis" for edge in edges)


def _placed(dot: str) -> str:
    """Lay out DOT text as Graphviz does."""
    if dot.count(" -> ") <= IN_PROCESS:
        with _quiet():  # an edge that its router gave up is mended by ``_laid_out``
            return str(_pygraphviz().AGraph(string=dot).draw(format="dot", prog="dot").decode())
    child = [sys.executable, "-c", _CHILD.format(bytes=BYTES, seconds=int(SECONDS) + 1)]
    pipe, end = subprocess.PIPE, time.monotonic() + SECONDS
    with (
        Progress(lambda _: say("progress.layout")) as progress,
        subprocess.Popen(child, stdin=pipe, stdout=pipe, stderr=pipe) as running,
    ):
        source: bytes | None = dot.encode()
        try:
            while True:
                try:
                    left = max(0.0, end - time.monotonic())
                    drawn, _ = running.communicate(source, timeout=min(LOOK, left))
                    break
                except subprocess.TimeoutExpired:
                    source = None  # it has been sent, or is on its way
                    if time.monotonic() >= end:
                        raise CannotDraw(say("picture.too_slow", seconds=SECONDS)) from None
                    progress.look()
        except BaseException:  # an interrupt too: nothing goes on laying out
            running.kill()
            raise
    if running.returncode:
        raise CannotDraw(say("picture.too_large"))
    return drawn.decode()


def _system_dot(dot: str, format: str) -> bytes:
    """Draw with the ``dot`` of the system."""
    try:
        import graphviz

        return bytes(graphviz.Source(dot).pipe(format=format, quiet=True))
    except ImportError:
        raise CannotDraw(say("picture.install")) from None
    except (graphviz.ExecutableNotFound, subprocess.CalledProcessError, OSError):
        raise CannotDraw(say("picture.install")) from None


# --- pairs and chips ------------------------------------------------------------------------------


def _refined(laid_out: str) -> tuple[str, int]:
    """Give both lines of each pair their own place, width and arrow head, and every chip a free
    spot."""
    pygraphviz = _pygraphviz()
    graph = pygraphviz.AGraph(string=laid_out)
    lines: list[list[Point]] = []
    chips: list[tuple[Any, Chip]] = []
    for tail, head, key in graph.edges(keys=True):
        edge = pygraphviz.Edge(graph, tail, head, key)
        if not edge.attr["pos"] or edge.attr["style"] == "invis":
            continue
        spline = Spline.read(edge.attr["pos"])
        if edge.attr["class"] in theme.RETURNED:
            lines.append(_add_forward(graph, edge, spline, f"{key}f"))
            spline = spline.beside(APART, back=True)
            edge.attr.update(pos=spline.write(), **_back(edge.attr["class"]))
        lines.append(spline.samples())
        if edge.attr["xlabel"]:
            x, y = lines[-1][len(lines[-1]) // 2]
            edge.attr.update(label=f"<{edge.attr['xlabel']}>", xlabel="", lp=f"{x:.2f},{y:.2f}")
        if edge.attr["lp"]:
            chips.append((edge.attr, chip_of(edge, len(lines) - 1)))
    flaws = place_chips(graph, chips, lines) if len(chips) <= IN_PROCESS else 0
    return str(graph.string()), flaws


def _back(kind: str) -> dict[str, str]:
    """Return the look of the line of a pair that leads back."""
    look, tail = theme.RETURNED[kind], "tee" if kind == "raise" else "vee"
    style = "dashed" if look.dashed else "solid"
    return {
        "color": look.colour,
        "penwidth": f"{look.width}",
        "dir": "back",
        "style": style,
        "arrowtail": tail,
    }


def _add_forward(graph: Any, edge: Any, spline: Spline, key: str) -> list[Point]:
    """Draw the line of a pair that leads forward, and return points along it."""
    moved = spline.beside(-APART, back=False)
    graph.add_edge(
        edge[0],
        edge[1],
        key=key,
        id=key,
        pos=moved.write(),
        dir="forward",
        arrowhead="normal",
        color=theme.FORWARD.colour,
        penwidth=f"{theme.FORWARD.width}",
        arrowsize=edge.attr["arrowsize"] or "0.8",
        **{"class": "forward"},
    )
    return moved.samples()


# --- one layout, many pictures --------------------------------------------------------------------


def keeps_places() -> bool:
    """Tell whether ``pieces`` can draw: it needs pygraphviz."""
    return _pygraphviz() is not None


def pieces(dot: str, wanted: Iterable[Piece]) -> tuple[str, dict[Piece, str], str]:
    """Draw parts of pictures as SVG, all at once where one layout put them.

    Args:
        dot: the source that is laid out.
        wanted: what stands there, in any number of looks.

    Returns:
        What an SVG begins with, each piece, and what it ends with: any choice of pieces in between
        is a picture.

    Raises:
        CannotDraw: as ``render``.
    """
    names = {
        piece: f"{piece.of or 'legend'}.{i}"
        for i, piece in enumerate(dict.fromkeys(wanted))
        if piece.label or piece.of
    }
    laid_out, _ = _layout(dot)
    with _told_plainly():
        with _lock:
            graph = _pygraphviz().AGraph(string=laid_out)
            _add_pieces(graph, names)
            drawn = bytes(graph.draw(format="svg", prog="nop2"))
        root = ElementTree.fromstring(
            _finish(drawn, dot, {name: piece.title for piece, name in names.items()})
        )
        page: Any = root.find(SVG + "g")
        groups = {group.get("id").partition("-")[2]: group for group in page.findall(SVG + "g")}
        texts = {piece: _piece(piece, name, groups) for piece, name in names.items()}
        for child in list(page):
            page.remove(child)
        page.text = "\0"
        for name, value in COMMON.items():
            page.set(name, value)
        start, end = ElementTree.tostring(root, encoding="unicode").split("\0")
        return start, texts, end


def _add_pieces(graph: Any, names: Mapping[Piece, str]) -> None:
    """Add each piece under its name, where the layout has the thing that it is a look of."""
    edges = {
        key: _pygraphviz().Edge(graph, tail, head, key)
        for tail, head, key in graph.edges(keys=True)
    }
    frames = dict(_frames(graph))
    legend_at = dict(graph.graph_attr).get("lp", "")
    for piece, name in names.items():
        if piece.of.startswith("cluster"):
            graph.add_subgraph(
                [], **{**frames[piece.of], "name": name, "id": name, "label": piece.label}
            )
        elif piece.of.startswith("e"):
            look = _edge_look(piece, edges[piece.of], edges.get(f"{piece.of}f"))
            graph.add_edge(
                *edges[piece.of],
                **{**look, "key": name, "id": name, "class": piece.kind, "label": piece.label},
            )
        else:
            pos = graph.get_node(piece.of).attr["pos"] if piece.of else legend_at
            graph.add_node(name, id=name, label=piece.label, pos=pos)
    graph.graph_attr["label"] = ""


def _edge_look(piece: Piece, edge: Any, forward: Any) -> dict[str, str]:
    """Return the attributes of an edge at one step, of the line of its pair that it then is."""
    look: dict[str, str] = edge.attr.to_dict()
    if forward is None:
        return look
    if piece.kind == "cut":
        return {**forward.attr.to_dict(), **line_of("cut"), "lp": look["lp"]}
    if piece.kind in theme.RETURNED:
        return look | _back(piece.kind)
    return {**forward.attr.to_dict(), "lp": look["lp"]}


def _frames(graph: Any) -> Iterator[tuple[str, dict[str, str]]]:
    """List all frames of a layout with their attributes, by name."""
    for frame in graph.subgraphs():
        yield str(frame.name), dict(frame.graph_attr)
        yield from _frames(frame)


def _piece(piece: Piece, name: str, groups: Mapping[str, Any]) -> str:
    """Return the SVG of one piece, without what is said once for all of them."""
    group = groups[name]
    group.set("id", group.get("id").rpartition(".")[0])
    parts = list(group) if not piece.of else [group]
    if piece.kind in theme.RETURNED:
        parts.append(groups[f"{piece.of}f"])
    for element in group.iter():
        for key in [key for key, value in element.items() if COMMON.get(key) == value]:
            del element.attrib[key]
        for key in {"d", "points"}.intersection(element.keys()):
            element.set(key, re.sub(r"(\.\d)\d+", r"\1", element.get(key)))
    return "".join(
        ElementTree.tostring(part, encoding="unicode").replace(f' xmlns="{SVG[1:-1]}"', "")
        for part in parts
    )


def placed(
    dot: str,
    cards: Mapping[str, OwnLook],
    arrows: Mapping[str, OwnLook],
    frames: Mapping[str, str],
    titles: Mapping[str, str],
    *,
    is_trimmed: bool = False,
) -> str:
    """Draw one of several pictures that are laid out as one, as SVG.

    Args:
        dot: the source that is laid out.
        cards: what stands at a place, by the name of the place; other places stay empty.
        arrows: the same for arrows, by their keys.
        frames: the labels of frames that are drawn, by their names.
        titles: what hovering over a card says, by its id.
        is_trimmed: whether the room is left out that only the other pictures need.

    Raises:
        CannotDraw: as ``render``.
    """
    laid_out, _ = _layout(dot)
    with _told_plainly():
        with _lock:
            graph = _pygraphviz().AGraph(string=laid_out)
            if not is_trimmed:
                make_room(graph, Rect(*map(float, graph.graph_attr["bb"].split(","))))
            _draw_own(graph, cards, arrows, frames)
            drawn = bytes(graph.draw(format="svg", prog="nop2"))
        return _finish(drawn, dot, titles).decode()


def _draw_own(
    graph: Any,
    cards: Mapping[str, OwnLook],
    arrows: Mapping[str, OwnLook],
    frames: Mapping[str, str],
) -> None:
    """Leave in a layout what stands in one picture, in its own looks."""
    borders: dict[str, Rect] = {}
    for name, look in cards.items():
        node = graph.get_node(name)
        box = box_of(node.attr["pos"], node.attr["width"], node.attr["height"])
        w, h = (max(0, less) / 2 for less in look.less)
        borders[name] = Rect(box.x0 + w, box.y0 + h, box.x1 - w, box.y1 - h)
    lines: list[list[Point]] = []
    chips: list[tuple[Any, Chip]] = []
    middles = _middles_of_pairs(graph)
    for tail, head, key in graph.edges(keys=True):
        middle = middles.get((key or "").removesuffix("f"))
        if _draw_arrow(graph, (tail, head, key), arrows, borders, middle):
            edge = _pygraphviz().Edge(graph, tail, head, key)
            lines.append(Spline.read(edge.attr["pos"]).samples())
            if edge.attr["label"]:
                x, y = lines[-1][len(lines[-1]) // 2]
                edge.attr["lp"] = f"{x:.2f},{y:.2f}"
                chips.append((edge.attr, chip_of(edge, len(lines) - 1)))
    for node in graph.nodes():
        if node in cards:
            node.attr.update(label=cards[node].label, id=cards[node].id)
        elif node.startswith("n"):
            graph.delete_node(node)
    for frame in _all_frames(graph):
        label = frames.get(frame.name)
        frame.graph_attr.update(**({"label": label} if label else {"label": "", "style": "invis"}))
    place_chips(graph, chips, lines, borders)


def _middles_of_pairs(graph: Any) -> dict[str, tuple[Point, Point]]:
    """Return where the middle between both lines of each arrow that has two begins and ends, by the
    arrow's key."""
    found: dict[str, list[tuple[Point, Point]]] = {}
    for tail, head, key in graph.edges(keys=True):
        if key and (key.endswith("f") or graph.has_edge(tail, head, f"{key}f")):
            spline = Spline.read(_pygraphviz().Edge(graph, tail, head, key).attr["pos"])
            found.setdefault(key.removesuffix("f"), []).append(spline.ends)
    return {
        key: (_between(one[0], other[0]), _between(one[1], other[1]))
        for key, (one, other) in found.items()
    }


def _between(one: Point, other: Point) -> Point:
    return (one[0] + other[0]) / 2, (one[1] + other[1]) / 2


def _draw_arrow(
    graph: Any,
    edge: tuple[str, str, str],
    arrows: Mapping[str, OwnLook],
    borders: Mapping[str, Rect],
    middle: tuple[Point, Point] | None,
) -> bool:
    """Leave of an arrow of a layout the lines that it has in one picture, from card to card; tell
    whether this is one of them. ``middle``: the ends of the way between both lines of a pair."""
    tail, head, key = edge
    if not key:  # it only keeps two cards under each other
        return False
    look = arrows.get(key.removesuffix("f"))
    is_pair = look is not None and look.kind in theme.RETURNED
    is_double = graph.has_edge(tail, head, f"{key}f")
    if look is None or (is_double and not is_pair):
        graph.delete_edge(*edge)
        return False
    line = _pygraphviz().Edge(graph, *edge)
    spline = Spline.read(line.attr["pos"])
    is_forward = key.endswith("f")
    if is_pair and not is_forward:
        line.attr.update(**_back(look.kind))
    elif not is_pair:
        line.attr.update(**line_of(look.kind), **{"class": look.kind})
        spline = spline.with_tips(back=look.kind in ("cut", "edge"), ahead=look.kind != "edge")
    to = None if look.to_frame else borders[head]
    own = is_forward and is_pair
    has_label = look.label and not own
    line.attr.update(
        pos=spline.reaching(borders[tail], to, middle if is_pair else None).write(),
        id=f"{look.id}f" if own else look.id,
        label=look.label if has_label else "",
    )
    return True


def _all_frames(graph: Any) -> Iterator[Any]:
    """List all frames of a layout."""
    for frame in graph.subgraphs():
        yield frame
        yield from _all_frames(frame)


# --- SVG ------------------------------------------------------------------------------------------


def size(svg: str) -> tuple[int, int]:
    """Read width and height of one of our SVGs, in CSS pixels."""
    sides = re.search(r'<svg[^>]*? width="(\d+)"[^>]*? height="(\d+)"', svg)
    return (int(sides[1]), int(sides[2])) if sides else (0, 0)


def boxes(svg: str, ids: Iterable[str]) -> list[Share]:
    """Return the boxes around cards, and around the words of arrows, of one of our outlines: left,
    top, width and height as shares of the picture's.

    Args:
        svg: the picture.
        ids: as a state has them, "n3" or "e7"; those that the picture does not have are left out.
    """
    root = ElementTree.fromstring(svg)
    wide, high = map(float, root.get("viewBox", "0 0 1 1").split()[2:])
    moved = re.search(r' transform="[^"]*translate\((\S+) (\S+)\)', svg)  # the whole graph
    dx, dy = map(float, moved.groups()) if moved else (0.0, 0.0)
    groups = {str(g.get("id")).rpartition("-")[2]: g for g in root.iter(SVG + "g")}
    found = []
    for one in ids:
        shapes = groups[one].iter() if one in groups else ()
        # an arrow's line is drawn, its words stand on what is only filled
        some = [s for s in shapes if one[0] == "n" or s.get("stroke") == "none"]
        text = " ".join(s.get("d") or s.get("points") or "" for s in some)
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", text)]
        if numbers:
            xs, ys = numbers[::2], numbers[1::2]
            left, top = (min(xs) + dx) / wide, (min(ys) + dy) / high
            found.append(Share(left, top, (max(xs) - min(xs)) / wide, (max(ys) - min(ys)) / high))
    return found


@lru_cache(maxsize=64)
def _svg(dot: str, titles: tuple[tuple[str, str], ...]) -> bytes:
    """Draw DOT text as a finished SVG, once."""
    drawn = _drawn(dot, "svg")
    with _told_plainly():
        return _finish(drawn, dot, dict(titles))


def _finish(svg: bytes, dot: str, titles: Mapping[str, str], *, centred: bool = True) -> bytes:
    """Finish an SVG: size in pixels, own ids, text centred in its box (viewers' fonts differ from
    the layout's), useful titles."""
    ElementTree.register_namespace("", "http://www.w3.org/2000/svg")
    root = ElementTree.fromstring(svg)
    for side in ("width", "height"):
        root.set(side, f"{float(root.get(side, '0').removesuffix('pt')) * 4 / 3:.0f}")
    prefix = "g" + hashlib.sha256(dot.encode()).hexdigest()[:8]
    for element in root.iter():
        if element.get("id"):
            element.set("id", f"{prefix}-{element.get('id')}")
    for group in root.iter(SVG + "g"):
        title = group.find(SVG + "title")
        if title is not None:
            if title.text in HEADLINES:
                _join_lines(group)
            words = titles.get(title.text or "")
            if words:
                title.text = visible(words, 1000)
            else:
                group.remove(title)
        if centred and group.get("class") != "graph":
            _centre_text(group)
    if centred:
        _centre_text(root.find(SVG + "g"))
    return ElementTree.tostring(root, encoding="unicode").encode()


def _join_lines(group: Any) -> None:
    """Make one text of those that stand in one line, so that each begins where the one before it
    ends, whatever fonts the viewer has."""
    first = None
    for text in group.findall(SVG + "text"):
        if text.text in MARKS:  # of the strip of all parameters, each at its own place
            continue
        if first is None or abs(float(text.get("y", 0)) - float(first.get("y", 0))) > SAME_LINE:
            first = text
            continue
        part = ElementTree.SubElement(first, SVG + "tspan")
        part.text = f"{BETWEEN_PARTS}{text.text or ''}"
        for name in FONT_OF_PART:
            part.set(name, text.get(name, FONT_OF_PART[name]))
        group.remove(text)


def _centre_text(group: Any) -> None:
    """Centre each text in the shape that was drawn last before it: its cell."""
    shape, middle = None, None
    for child in group:
        if child.tag in (SVG + "polygon", SVG + "path"):
            shape = child
        elif child.tag == SVG + "text":
            if shape is not None:
                middle, shape = _middle(shape, middle), None
            if middle is not None:
                child.set("text-anchor", "middle")
                child.set("x", f"{middle:.2f}")


def _middle(shape: Any, otherwise: float | None) -> float | None:
    """Return the middle between the left and the right end of a shape, in numbers of the picture;
    ``otherwise`` where it has none."""
    points = re.findall(r"(-?[\d.]+),-?[\d.]+", shape.get("points") or shape.get("d") or "")
    xs = [*map(float, points)]
    return (min(xs) + max(xs)) / 2 if xs else otherwise
