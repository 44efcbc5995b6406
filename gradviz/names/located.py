"""The places of a recording's sites, each located once, and whose code they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradviz.names import resolve
from gradviz.names.bindings import COMPREHENSIONS, scope_of
from gradviz.names.position import Place, locate

if TYPE_CHECKING:
    from types import CodeType

    from gradviz.watch.entries import Site


def pairs_of(site: Site) -> resolve.Site:
    """Return a site with each code object and its position as one pair."""
    return tuple(zip(site[::2], site[1::2], strict=True))


class Located:
    """The places of the sites of a recording.

    Args:
        home: the code that entered the recording; None where that is not known.

    Attributes:
        places: (id of a code object, position) -> its place; ``resolve`` adds to it.
    """

    def __init__(self, home: CodeType | None) -> None:
        self.home = home
        self.places: dict[tuple[int, int], Place] = {}

    def place(self, code: Any, at: int) -> Place:
        """Return the place of one frame of a site."""
        key = id(code), at
        if key not in self.places:
            self.places[key] = locate(code, at)
        return self.places[key]

    def node(self, site: Site) -> Any:
        """Return the syntax node that runs in the innermost frame of a site; None if unknown."""
        return self.place(*site[:2]).node

    def around(self, site: Site) -> list[Place]:
        """Return the places of the frames of a site that stand in its file, the outermost first."""
        file = site[0].co_filename
        pairs = reversed(pairs_of(site))
        return [self.place(*p) for p in pairs if getattr(p[0], "co_filename", None) == file]

    def is_outer(self, site: Site) -> bool:
        """Tell whether a site is the user's top level, or the code that entered the recording."""
        return bool(site) and (site[0] is self.home or site[0].co_name == "<module>")

    def is_users(self, site: Site) -> bool:
        """Tell whether a site is outermost, and its variables outlive their expression: not those
        of a comprehension."""
        if not self.is_outer(site):
            return False
        node = self.node(site)
        return node is None or not isinstance(scope_of(node), COMPREHENSIONS)
