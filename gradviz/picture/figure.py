"""The picture that a cell shows: SVG for the eye, text for screen readers, diffs and ``nbval``."""

from __future__ import annotations

import base64
import copy
import html
import os
import threading
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gradviz.graph.records import GradvizError, Graph
from gradviz.picture import arrange, cards, dot, nodes, render, text
from gradviz.picture import fold as folding
from gradviz.picture.outline.drawn import Drawn, is_wanted
from gradviz.picture.quiet import quiet
from gradviz.picture.scene import Scene
from gradviz.words import given
from gradviz.words.speech import say

if TYPE_CHECKING:
    import graphviz

WIDTH = 860  # CSS pixels
SUFFIXES = ("svg", "png", "pdf", "dot", "json", "html")


class Figure:
    """One picture of one graph. Holds plain data only; draws when it is first looked at.

    Args:
        graph: what to draw.
        view: "cards", one card a result, or "nodes", torch's own nodes one by one.
        title: said first in the text and to screen readers.
        focus: the module to open in an outline, or several: "transformer.h.5".
        fold: False draws every operation, whatever the size.

    Example:
        >>> from gradviz.graph.records import Graph
        >>> print(Figure(Graph()).text)
        An empty graph: no tensor, no node.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        view: Literal["cards", "nodes"] = "cards",
        title: str | None = None,
        focus: str | Iterable[str] = (),
        fold: bool = True,
    ) -> None:
        if not issubclass(type(graph), Graph):
            raise given.refused(
                "Figure()",
                graph,
                "a Graph, e.g. rec.graph; gv.show(loss) draws the graph of a tensor",
            )
        given.one_of("view=", view, ("cards", "nodes"))
        given.text("title=", title, "a text, or None for no title", none=True)
        self.graph = graph
        self.view = view
        self.title = title
        self._opened = given.texts("focus=", focus, "a module's path, as in 'transformer.h.5'")
        given.flag("fold=", fold)
        _check_modules(graph, self._opened)
        self._folded = fold
        self._like: render.Arranged | None = None

    def of(self, graph: Graph) -> Figure:
        """Return the figure of a graph that is ``same_but_numbered``; what was made for this one is
        not made again."""
        if not issubclass(type(graph), Graph):
            raise given.refused("of()", graph, "a Graph, e.g. rec.graph")
        figure = copy.copy(self)
        figure.graph = graph
        return figure

    def arrange_like(self, other: Figure) -> None:
        """Keep the arrangement of a drawn figure with the same cards and arrows, where it suits as
        well.

        Then nothing jumps when only numbers change, and the other arrangements need not be tried.
        """
        if not issubclass(type(other), Figure):
            raise given.refused("arrange_like()", other, "a Figure")
        if self.outlined is not None:
            return
        drawn = other.__dict__.get("_drawn")
        if drawn is not None and _outline(self.scene) == _outline(other.scene):
            self._like = drawn

    @cached_property
    def whole(self) -> Scene:
        """Everything, before folding."""
        return cards.scene(self.graph) if self.view == "cards" else nodes.scene(self.graph)

    @cached_property
    def _seen(self) -> Scene:
        """What is worth a look of everything."""
        return quiet(self.whole, self.graph) if self._folded else self.whole

    @cached_property
    def outlined(self) -> Drawn | None:
        """The outline of a model or of a long program; None where its operations are drawn one by
        one, or torch's nodes.

        Raises:
            CannotDraw: as ``svg``.
        """
        if self.view != "cards" or not self._folded or not is_wanted(self.graph):
            return None
        return Drawn(self.graph, render.laid_out, self._opened)

    @cached_property
    def scene(self) -> Scene:
        """What is drawn."""
        if self.outlined is not None:
            return self.outlined.scene()
        if not self._folded:
            return arrange.arranged(self.whole)
        return arrange.arranged(folding.fold(self._seen, self.graph))

    @cached_property
    def source(self) -> str:
        """The DOT text."""
        return dot.dot(self.scene) if self.outlined is None else self.outlined.fitted.source

    @cached_property
    def text(self) -> str:
        """The whole story in words; the same for the same code in every process. Of an outline, its
        first lines: ``Figure(graph, fold=False).text`` has everything."""
        if self.outlined is not None:
            return self.outlined.text(self.title)
        return text.text(self.graph, self._seen, title=self.title)

    @property
    def dot(self) -> graphviz.Source:
        """The DOT source as a ``graphviz.Source``."""
        import graphviz

        return graphviz.Source(self.source)

    @cached_property
    def svg(self) -> str:
        """The picture.

        Raises:
            CannotDraw: there is no layout engine, or the graph is too large to lay out.
        """
        if self.outlined is not None:
            return render.render_as_is(self.source, "svg", self.outlined.titles).decode()
        titles = {f"n{c.id}": c.detail for c in self.scene.cards if c.detail}
        return render.render(self._drawn.source, "svg", titles).decode()

    @cached_property
    def _drawn(self) -> render.Arranged:
        """The arrangement that fits a notebook's page best."""
        if len(self.scene.cards) > folding.LIMIT:
            raise render.CannotDraw(say("picture.too_many_boxes", n=len(self.scene.cards)))
        return render.best(self.scene, WIDTH, self._like)

    @cached_property
    def alt(self) -> str:
        """What the picture shows, in one or two sentences."""
        if self.outlined is not None:
            return self.outlined.alt(self.title)
        return text.alt(self.graph, self.scene, title=self.title)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}

    def __repr__(self) -> str:
        return self.text

    @cached_property
    def html(self) -> str:
        """An ``<img>`` with the picture inside: shown in trusted and untrusted notebooks alike."""
        if not self.scene.cards:
            return f"<pre>{html.escape(self.text)}</pre>"
        try:
            svg = self.svg
        except render.CannotDraw as why:
            return f"<pre>{html.escape(self.text)}</pre><p>{html.escape(str(why))}</p>"
        width, height = render.size(svg)
        data = base64.b64encode(svg.encode()).decode()
        return (
            f'<img alt="{html.escape(self.alt)}" width="{width}" height="{height}" '
            f'style="max-width:100%;height:auto" src="data:image/svg+xml;base64,{data}">'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture, its source or its graph to a file.

        Args:
            path: its suffix says the format: .svg, .png, .pdf, .dot, .json (the graph, for
                ``Graph.from_json``) or .html (one page with the live picture that needs no kernel
                and no network, as ``gv.export`` writes).

        Raises:
            GradvizError: another suffix, or the picture cannot be drawn. An existing file is then
                left as it was.
        """
        target = given.path("save()", path, "picture.svg")
        suffix = target.suffix.lower().removeprefix(".")
        if suffix not in SUFFIXES:
            known = ", ".join("." + s for s in SUFFIXES)
            raise GradvizError(
                f"cannot save {target.name!r}: the suffix says the format, and it is one of {known}"
            )
        write(place_of(target), self._bytes(suffix))

    def book(self) -> dict[str, Any]:
        """Return what a page holds of this picture: no controls, one state."""
        from gradviz.picture.state import state

        return {"title": self.title, "code": {}, "controls": [], "states": [state(self)]}

    def _bytes(self, suffix: str) -> bytes:
        """Write the picture in one of ``SUFFIXES``."""
        if suffix == "html":
            from gradviz.picture.page import page

            return page({**self.book(), "title": self.title or "gradviz"})
        if suffix == "json":
            return (self.graph.to_json() + "\n").encode("utf-8", "surrogatepass")
        if suffix == "dot":
            return self.source.encode()
        if suffix == "svg":
            return self.svg.encode()
        if self.outlined is not None:
            return render.render_as_is(self.source, suffix)
        return render.render(self._drawn.source, suffix)


def _check_modules(graph: Graph, paths: tuple[str, ...]) -> None:
    """Refuse a module that the graph does not have."""
    names = {module.name for module in graph.modules}
    known = {path for module in graph.modules for path, _ in module.children} | names
    known |= {f"{m.name}.{path}" for m in graph.modules for path, _ in m.children}
    for path in paths:
        if path not in known:
            some = ", ".join(sorted(known)[:5])
            raise GradvizError(
                f"focus= was given {given.shown(path)}; expected the path of a module of this graph"
                f" ({some or 'it has none: no module ran'})"
            )


def _outline(scene: Scene) -> tuple[Any, ...]:
    """Return which cards and arrows there are, whatever is written on them."""
    cards = [(c.id, c.kind, [row.kind for row in c.rows]) for c in scene.cards]
    return (
        cards,
        [a._replace(label="", short="") for a in scene.arrows],
        [box._replace(label="") for box in scene.boxes],
    )


def place_of(path: Path) -> Path:
    """Return where a file is to be written, in a folder that exists."""
    target = path.resolve()  # a link stays a link
    if not target.parent.is_dir():
        raise GradvizError(
            f"cannot save {str(target)!r}: there is no folder {str(target.parent)!r}; make it first"
        )
    return target


def write(target: Path, data: bytes) -> None:
    """Write all of a file or nothing: a failure never leaves half a file, nor destroys the one that
    was there."""
    part = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_bytes(data)
        if target.exists():
            part.chmod(target.stat().st_mode)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
