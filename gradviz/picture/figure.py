"""The picture that a cell shows: SVG for the eye, text for screen readers, diffs and ``nbval``."""

from __future__ import annotations

import copy
import html
import os
import tempfile
import threading
import webbrowser
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gradviz.graph.collector import without_collector
from gradviz.graph.records import GradvizError, Graph, Tensor
from gradviz.picture import arrange, cards, dot, node_boxes, nodes, render, text
from gradviz.picture import fold as folding
from gradviz.picture.inline import inline
from gradviz.picture.outline.asked import (
    AS_IT_IS,
    Asked,
    Points,
    check_depth,
    check_paths,
    object_of,
    with_parameters,
)
from gradviz.picture.outline.drawn import Drawn, is_wanted, small_iteration
from gradviz.picture.quiet import quiet
from gradviz.picture.scene import LINES, Scene
from gradviz.picture.theme import DARK_PAGE, dark_picture, darkened
from gradviz.words import given

if TYPE_CHECKING:
    import graphviz

WIDTH = 860  # CSS pixels
SUFFIXES = ("svg", "png", "pdf", "dot", "json", "html")

GROUND = '<rect x="-9999" y="-9999" width="99999" height="99999" fill="{}"/>'


class Figure:
    """One picture of one graph. Holds plain data only; draws when it is first looked at.

    Args:
        graph: what to draw.
        view: "cards", one card a result, or "nodes", torch's own nodes one by one.
        title: said first in the text and to screen readers.
        focus: the module to open in a picture of a model, or several: "transformer.h.5". They are
            opened as by a click: see ``opening``. The path of a parameter, "fc1.weight", gives it a
            card of its own, with what comes into its AccumulateGrad.
        depth: how many levels of modules to open, whatever happens in them: 0 opens none. What
            costs a gradient is told all the same. Left out, a module is opened where something
            happens in it.
        around: a tensor around which to show the cards: its name, the path of a parameter, or as
            ``graph.tensors`` has it. What made it is opened down to the operation, everything else
            stays closed.
        fold: False draws every operation, whatever the size, so that nothing is left to open.

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
        depth: int | None = None,
        around: str | Tensor | None = None,
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
        opened = given.texts("focus=", focus, "a module's path, as in 'transformer.h.5'")
        given.flag("fold=", fold)
        check_paths("focus=", graph, opened)
        check_depth(depth)
        self._asked = Asked(depth=depth, around=object_of(graph, around))
        self._opened = tuple(opened)  # modules, in the order in which a reader opened them
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

    def opening(self, paths: str | Iterable[str]) -> Figure:
        """Return the figure with these modules opened, and no others, as a click opens them: the
        other cards stay as they are, and the picture may become higher than a page. A picture
        without modules stays as it is.

        Args:
            paths: of modules, "transformer.h.5"; one with no modules inside is drawn operation by
                operation. A parameter gets a card of its own.

        Raises:
            GradvizError: there is no such module; the picture cannot be drawn.

        Example:
            >>> Figure(Graph()).opening(()).text
            'An empty graph: no tensor, no node.'
        """
        wanted = given.texts("opening()", paths, "a module's path, as in 'transformer.h.5'")
        check_paths("opening()", self.graph, wanted)
        return self._changed(_opened=tuple(wanted))

    def _changed(self, **attributes: Any) -> Figure:
        """Return a figure of the same graph with these attributes, to be drawn anew."""
        figure = copy.copy(self)
        made = {n for n, v in vars(type(self)).items() if isinstance(v, cached_property)}
        kept = {"whole", "_closed"} if attributes.keys() == {"_opened"} else {"whole"}
        for name in made - kept:
            figure.__dict__.pop(name, None)
        figure.__dict__.update(attributes)
        return figure

    def arrange_like(self, other: Figure) -> None:
        """Keep the arrangement of a drawn figure with the same cards and arrows, where it suits as
        well. An outline keeps the places of the cards that both have, and merges nothing that had
        different cards.

        Then nothing jumps when only numbers change, or when a module is opened. It has to be said
        before this figure is first looked at.
        """
        if not issubclass(type(other), Figure):
            raise given.refused("arrange_like()", other, "a Figure")
        if self._is_outline:
            if other._is_outline and other.outlined is not None:
                self._asked = self._asked._replace(before=other.outlined.before)
            return
        drawn = other.__dict__.get("_drawn")
        if drawn is not None and _outline(self.scene) == _outline(other.scene):
            self._like = drawn

    @cached_property
    def shown_graph(self) -> Graph:
        """The part of the graph that is drawn: of a training loop without a model, whose iterations
        are small enough for cards, one iteration; else all of it."""
        is_free = self._folded and not self._asked.is_strict
        part = small_iteration(self.graph) if is_free else None
        return self.graph if part is None else part

    @cached_property
    def whole(self) -> Scene:
        """Everything that is shown, before folding."""
        graph = self.shown_graph
        return cards.scene(graph) if self.view == "cards" else nodes.scene(graph)

    @cached_property
    def _is_outline(self) -> bool:
        """Whether it is drawn as the outline of a model or of a long program."""
        return self.view == "cards" and self._folded and is_wanted(self.shown_graph, self._asked)

    @cached_property
    def _seen(self) -> Scene:
        """What is worth a look of everything."""
        is_all = self.view == "nodes" or not self._folded
        return self.whole if is_all else quiet(self.whole, self.shown_graph)

    @cached_property
    def outlined(self) -> Drawn | None:
        """The outline of a model or of a long program; None where its operations are drawn one by
        one, or torch's nodes.

        Raises:
            CannotDraw: as ``svg``.
        """
        if not self._is_outline:
            return None
        return self._closed.opening(self._opened) if self._opened else self._closed

    @cached_property
    def _closed(self) -> Drawn:
        """The outline in which only what is open by itself is open."""
        with without_collector():
            return Drawn(self.shown_graph, render.laid_out, self._asked)

    @cached_property
    def scene(self) -> Scene:
        """What is drawn."""
        if self.outlined is not None:
            return self.outlined.scene()
        if not self._folded:
            return arrange.arranged(self.whole)
        return arrange.arranged(self._small)

    @property
    def _small(self) -> Scene:
        """What is drawn, before there is room for its lines."""
        modules, leaves = with_parameters(self.graph, self._opened)
        asked = self._asked._replace(opened=modules, leaves=leaves, before=None)
        if self.view == "nodes" and node_boxes.is_wanted(self.graph):
            whole = self.whole
            if asked != AS_IT_IS or not folding.fits(whole):
                return node_boxes.folded(whole, self.graph, asked)
        return folding.fold(self._seen, self.shown_graph)

    @cached_property
    def source(self) -> str:
        """The DOT text."""
        return dot.dot(self.scene) if self.outlined is None else self.outlined.fitted.source

    @cached_property
    def text(self) -> str:
        """The whole story in words; the same for the same code in every process. Of an outline at
        most 60 lines, of what is large its first 200 cards: ``Figure(graph, fold=False).text``
        lists everything."""
        if self.outlined is not None:
            return self.outlined.text(self.title)
        most = LINES if self._folded else None
        return text.text(self.shown_graph, self._seen, title=self.title, most=most)

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
        return render.best(self.scene, WIDTH, self._like)

    @cached_property
    def alt(self) -> str:
        """What the picture shows, in one or two sentences."""
        if self.outlined is not None:
            return self.outlined.alt(self.title)
        return text.alt(self.shown_graph, self.scene, title=self.title)

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
        shown = image(svg, self.alt)
        pointed = self.outlined.pointed if self.outlined is not None else None
        return _with_marks(shown, render.boxes(svg, pointed["ids"])) if pointed else shown

    def save(
        self, path: str | os.PathLike[str], *, theme: Literal["light", "dark"] = "light"
    ) -> None:
        """Write the picture, its source or its graph to a file.

        Args:
            path: its suffix says the format: .svg, .png, .pdf, .dot, .json (the graph, for
                ``Graph.from_json``) or .html (one page with the live picture that needs no kernel
                and no network, as ``gv.export`` writes).
            theme: "dark" for a dark page. A page takes the reader's own colours, and a graph has
                none.

        Raises:
            GradvizError: another theme or suffix, or the picture cannot be drawn. An existing file
                is then left as it was.
        """
        target = given.path("save()", path, "picture.svg")
        suffix = given.suffix(target, SUFFIXES)
        given.one_of("theme=", theme, ("light", "dark"))
        write(place_of(target), self._bytes(suffix, theme == "dark"))

    def open(self) -> Path:
        """Show the live picture in a browser: from a script, or a terminal.

        Returns:
            The page, in the folder for temporary files; it stays there for the browser to load.

        Raises:
            GradvizError: no browser could be started. The page is written all the same, and the
                text says where.
        """
        handle, name = tempfile.mkstemp(prefix="gradviz-", suffix=".html")
        os.close(handle)
        page = Path(name)
        write(page, self._bytes("html"))
        if not webbrowser.open(page.as_uri()):
            raise GradvizError(
                f"no browser could be started here; the page is {name!r}: open it in one"
            )
        return page

    def book(self) -> dict[str, Any]:
        """Return what a page holds of this picture: no controls, and a state for each way that a
        reader may open in an outline."""
        from gradviz.picture.openings import opened_states

        states, places = opened_states(self)
        openings = {"openings": places} if places else {}
        return {"title": self.title, "code": {}, "controls": [], "states": states, **openings}

    def _bytes(self, suffix: str, is_dark: bool = False) -> bytes:
        """Write the picture in one of ``SUFFIXES``."""
        if suffix == "html":
            from gradviz.picture.page import page

            return page({**self.book(), "title": self.title or "gradviz"})
        if suffix == "json":
            return (self.graph.to_json() + "\n").encode("utf-8", "surrogatepass")
        dressed = _dark_source if is_dark else str
        if suffix == "dot":
            return dressed(self.source).encode()
        if suffix == "svg":
            return (_dark_svg(self.svg) if is_dark else self.svg).encode()
        if self.outlined is not None:
            return render.render_as_is(dressed(self.source), suffix)
        return render.render(dressed(self._drawn.source), suffix)


def _dark_source(source: str) -> str:
    """Return the DOT of a picture for a dark page."""
    return darkened(source).replace('bgcolor="transparent"', f'bgcolor="{DARK_PAGE}"', 1)


def _dark_svg(svg: str) -> str:
    """Return a picture for a dark page, on a ground of its own."""
    head, end, rest = svg.partition(">")
    return f"{head}{end}{GROUND.format(DARK_PAGE)}{darkened(rest)}"


def pointing(figure: Figure, points: Points) -> Figure:
    """Return a figure with the cards and arrows marked that an answer points at, where it is an
    outline."""
    return figure._changed(_asked=figure._asked._replace(points=points))


def image(svg: str, alt: str) -> str:
    """Return an ``<img>`` with an SVG inside, which is dark where its colour scheme is: a live
    panel's styles make it so in a dark JupyterLab."""
    width, height = render.size(svg)
    look = f'width="{width}" height="{height}" style="max-width:100%;height:auto"'
    return inline(dark_picture(svg), alt, look)


def _with_marks(shown: str, boxes: Iterable[render.Share]) -> str:
    """Return a picture with an empty, unseen mark over each of some boxes, for an answer beside it
    to light up (``.gv-here``)."""
    place = "position:absolute;left:{:.2%};top:{:.2%};width:{:.2%};height:{:.2%}"
    marks = (f'<span class="gv-here" style="{place.format(*box)}"></span>' for box in boxes)
    style = "position:relative;display:inline-block;line-height:0"
    return f'<div style="{style}">{shown}{"".join(marks)}</div>'


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
