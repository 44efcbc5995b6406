"""Fits the outline of a graph that was not recorded to a page, and opens modules in it by hand.

What is opened is laid out like the picture before, as in ``opening.py``: what had a card of its own
keeps it, what was folded stays folded unless it is asked for, and the page may become longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

from gradviz.graph.records import Graph
from gradviz.picture.outline.asked import AS_IT_IS, Asked, with_parameters
from gradviz.picture.outline.before import ANYHOW, Keys, Like, before_of, like
from gradviz.picture.outline.contents import is_red, trail
from gradviz.picture.outline.dot import Layout
from gradviz.picture.outline.fit import SEVERAL, WIDTH, WIDTHS, Draw, Fitted, boxes_in, laid_out
from gradviz.picture.outline.groups import LISTS, MANY, Groups
from gradviz.picture.outline.unrecorded import FEWER, Unrecorded


class Finishing:
    """Draws a captured graph as an outline.

    Args:
        graph: of ``capture``.
        draw: lays out DOT text.
        asked: what the reader asked for.
    """

    def __init__(self, graph: Graph, draw: Draw, asked: Asked = AS_IT_IS) -> None:
        self.graph, self.draw, self.asked = graph, draw, asked
        self.unrecorded = Unrecorded(graph, MANY, asked)  # what was chosen
        self.layout = Layout(WIDTHS[0])
        self.opened: tuple[str, ...] = ()  # whole names of the modules that a reader opened

    def fitted(self) -> Fitted:
        """Return the outline, laid out so that it fits a page if it can: with ever fewer cards, and
        under each other where arrows would cross."""
        found: list[tuple[Fitted, Unrecorded, Layout]] = []
        for most in FEWER:
            unrecorded = Unrecorded(self.graph, most, self.asked)
            for fitted, layout in self._laid_out(unrecorded):
                found.append((fitted, unrecorded, layout))
                if (fitted.fits and not fitted.crossings) or unrecorded.n_cards > SEVERAL:
                    return self._chosen(*found[-1])

        def flaws(one: tuple[Fitted, Unrecorded, Layout]) -> tuple[bool, int, float, float]:
            return not one[0].fits, one[0].crossings, one[0].width, one[0].height

        return self._chosen(*min(found, key=flaws))

    def opening(self, opened: tuple[str, ...], before: Fitted) -> tuple[Finishing, Fitted]:
        """Return the picture of before with these modules opened, everything else as it is there.

        Args:
            opened: whole names of modules, each behind those around it.
            before: as this one drew it.
        """
        later = Finishing(self.graph, self.draw, self.asked._replace(opened=frozenset(opened)))
        later.unrecorded = Unrecorded(self.graph, MANY, later.asked, self.unrecorded.groups)
        later.opened = opened
        keys, boxes = _keys(self.unrecorded), boxes_in(self.draw(before.source))
        was = before_of(keys, boxes, before.columns, width=self.layout.width, inputs=True)
        found: list[tuple[Fitted, Unrecorded, Layout]] = []
        for fitted, layout in later._laid_out(later.unrecorded, like(_keys(later.unrecorded), was)):
            found.append((fitted, later.unrecorded, layout))
            if fitted.width <= WIDTH and not fitted.crossings:
                break

        def flaws(one: tuple[Fitted, Unrecorded, Layout]) -> tuple[float, int, float]:
            return max(one[0].width / WIDTH, 1.0), one[0].crossings, one[0].height

        return later, later._chosen(*min(found, key=flaws))

    def _chosen(self, fitted: Fitted, unrecorded: Unrecorded, layout: Layout) -> Fitted:
        self.unrecorded, self.layout = unrecorded, layout
        return fitted

    def _laid_out(
        self, unrecorded: Unrecorded, before: Like = ANYHOW
    ) -> Iterator[tuple[Fitted, Layout]]:
        """Go through ever narrower layouts, and one column; many cards only stand in one."""
        several = unrecorded.n_cards > SEVERAL
        for in_column in (True,) if several else (False, True):
            outline = unrecorded.outline(in_column=in_column)
            for width in WIDTHS[:1] if in_column else WIDTHS:
                layout = Layout(width, in_column=in_column)
                yield laid_out(outline, unrecorded, layout, self.draw, before), layout


def _keys(unrecorded: Unrecorded) -> list[Keys]:
    """Return what the cards are known by: the paths of their modules, and which use it is."""
    times: Counter[Hashable] = Counter()
    found: list[Keys] = []
    for group in unrecorded.groups.all:
        keys: list[Hashable] = []
        for key in group.keys or [str(group.nodes[0])]:
            keys.append((key, times[key]))
            times[key] += 1
        found.append(tuple(keys))
    return [*found, ("result",)]


class Paths:
    """The modules of a graph that was not recorded, by their whole names, "model.h.5".

    Args:
        groups: of the picture as it is by itself.
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        modules = groups.finished.graph.modules
        self.root = modules[0].name if modules else ""
        self.open_anyway = groups.open

    def full(self, path: str) -> str:
        """Return the whole name of a module, "model.h.5" for "h.5"."""
        return ".".join(part for part in (self.root, path) if part)

    def path(self, name: str) -> str:
        """Return the path in the model for a whole name."""
        return "" if name == self.root else name.removeprefix(f"{self.root}.")

    def can_open(self, name: str) -> bool:
        """Say whether the modules inside a module can be drawn in its place."""
        path = self.path(name)
        return self.groups.kind(path) not in LISTS and self.groups.can_open(path)

    def around(self, name: str) -> list[str]:
        """List the modules around one, from the outside; lists apart."""
        parts = self.path(name).split(".") if name != self.root else []
        paths = (".".join(parts[:n]) for n in range(len(parts)))
        return [self.full(p) for p in paths if not p or self.groups.kind(p) not in {*LISTS, ""}]

    def asked(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the whole names of what was asked for, each behind those around it that it opens
        too."""
        found: dict[str, None] = {}
        kinds, graph = self.groups.finished.kinds, self.groups.finished.graph
        modules = [m for path in paths for m in sorted(with_parameters(graph, [path])[0])]
        for given in modules:
            name = self.full(given) if given in kinds else given
            for one in (*self.around(name), name):
                if self.path(one) not in self.open_anyway:
                    found[one] = None
                if not self.can_open(one):
                    break
        return tuple(found)


class ReachedContents:
    """What a reader can go to in the outline of a graph that was not recorded.

    Args:
        finishing: what drew it.
        paths: of the same graph.
        fitted: what is drawn.
        opened: whole names of the modules that the reader opened.
    """

    def __init__(
        self, finishing: Finishing, paths: Paths, fitted: Fitted, opened: tuple[str, ...]
    ) -> None:
        self.paths, self.opened = paths, opened
        self.groups = finishing.unrecorded.groups
        self.absent = finishing.unrecorded.absent_cards
        self.cards = fitted.outline.cards

    def described(self) -> dict[str, Any]:
        """Return everything as plain data: names of modules, and ids of cards as in the SVG."""
        inner = [n for n in self.opened if not any(o.startswith(f"{n}.") for o in self.opened)]
        red = [card for card in self.cards if is_red(card)]
        return {
            "opened": [*self.opened],
            "crumbs": [trail(self.paths, name) for name in inner or [self.paths.root]],
            "inside": {name: [f"n{k}" for k in self._inside(name)] for name in self.opened},
            "red": [*dict.fromkeys(card.path for card in red if card.path)],
            "alarms": [f"n{c.id}" for c in self.cards if c.ends or c in red],
            "names": self.names,
        }

    def _inside(self, name: str) -> list[int]:
        """List the cards of what stands inside a module, in the graph or not."""
        start = f"{self.paths.path(name)}."
        groups = enumerate(self.groups.all)
        found = [k for k, one in groups if any(f"{key}.".startswith(start) for key in one.keys)]
        outside = {k for key, k in self.absent.items() if f"{key}.".startswith(start)}
        others = {k for key, k in self.absent.items() if not f"{key}.".startswith(start)}
        return [*found, *sorted(outside - others)]

    @cached_property
    def names(self) -> dict[str, list[str]]:
        """For each module and parameter the card that contains it, or "", and which module must be
        opened before it has one of its own, or ""."""
        found: dict[str, list[str]] = {}
        for module in self.groups.finished.graph.modules[:1]:
            for path in ("", *(path for path, _ in module.children)):
                found[self.paths.full(path)] = self._place(path)
            for parameter in module.parameters:
                around = self.paths.full(parameter.name.rpartition(".")[0])
                found[self.paths.full(parameter.name)] = found.get(around, ["", ""])
        return found

    def _place(self, path: str) -> list[str]:
        keys = ((k, key) for k, group in enumerate(self.groups.all) for key in group.keys)
        absent = ((k, key) for key, k in self.absent.items())
        for k, key in (*keys, *absent):
            own = key.removesuffix(".")
            if own == path or not path or own.startswith(f"{path}."):
                return [f"n{k}", ""]
            if path.startswith(f"{own}."):
                around = self.paths.around(self.paths.full(path))
                return [f"n{k}", around[-1] if k < len(self.groups.all) and around else ""]
        return ["", ""]
