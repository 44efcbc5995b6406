"""``gv.export``: all states of a scenario, all steps of a recording, a question, or a figure, as
one HTML page."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from gradviz.graph.records import GradvizError
from gradviz.live.book import book as recording_book
from gradviz.live.steps import last_number
from gradviz.picture.figure import Figure, place_of, write
from gradviz.picture.page import page
from gradviz.recording import Recording
from gradviz.words import given

LIMIT = 256


def export(
    what: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    limit: int = LIMIT,
    links: Mapping[str, str] | None = None,
) -> None:
    """Write all states of a scenario, all steps of a recording, or a question with its replies, as
    one page that needs nothing else.

    The page holds the same controls, pictures, tables and sentences as the live one. It asks nobody
    for anything (its content security policy forbids it to), and with scripts off it still shows
    the first state and its text. ``page.html?embed`` is the page without its heading, for an
    ``<iframe>`` in a page of your own.

    Args:
        what: what ``gradviz.explore`` gave, a ``Recording``, a ``Figure``, or what
            ``lesson.question`` gave.
        path: where to write; it ends in .html.
        title: heading of the page; by default the scenario's own.
        limit: the most states that are computed and written.
        links: what stands above the page: text -> address, which is relative or begins with
            https://.

    Raises:
        GradvizError: another suffix or folder, nothing that can be exported, or more than ``limit``
            states; nothing is run and no file is touched then.

    Example:
        >>> import tempfile, torch, gradviz
        >>> a = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with gradviz.record() as rec:
        ...     a.sum().backward()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     export(rec, f"{folder}/steps.html")
    """
    target = given.path("export()", path, "page.html")
    given.text("title=", title, "a text, or None for the scenario's own name", none=True)
    given.count("limit=", limit, str(LIMIT))
    shown_links = _checked(links)
    if target.suffix.lower() not in (".html", ".htm"):
        raise GradvizError(f"cannot export to {target.name!r}: a page's name ends in .html")
    target = place_of(target)
    book = _book(what, limit)
    write(target, page({**book, "title": title or book.get("title") or "gradviz"}, shown_links))


def _checked(links: Mapping[str, str] | None) -> dict[str, str]:
    """Return the links of a page; refuse an address that could run a script."""
    if links is None:
        return {}
    given.mapping("links=", links, "text: address in a dict, e.g. {'Course': 'index.html'}")
    for text, address in links.items():
        given.text("links=", text, "a text that leads somewhere")
        given.text("links=", address, "an address, e.g. 'index.html'")
        if urlsplit(address).scheme not in ("", "https", "http"):
            raise GradvizError(
                f"links= leads to {given.shown(address)}; expected a relative address, or one that"
                " begins with https://"
            )
    return dict(links)


def _book(what: Any, limit: int) -> dict[str, Any]:
    """Return the states and controls of what is exported; refuse what has none or too many."""
    if isinstance(what, Figure):
        return what.book()
    if isinstance(what, Recording):
        steps = last_number(what) + 1  # as many as its player has
        if steps > limit:
            raise GradvizError(
                f"this recording has {steps:,} steps; at most {limit} are exported: record fewer"
                " lines, or raise limit="
            )
        return recording_book(what)
    if not callable(getattr(what, "book", None)):
        raise GradvizError(
            f"cannot export {given.said(what)}: expected what @gradviz.explore made of a scenario,"
            " a Recording, a Figure or a question"
        )
    _refuse_too_many(getattr(what, "controls", []), limit)
    book: dict[str, Any] = what.book()
    return book


def _refuse_too_many(controls: list[dict[str, Any]], limit: int) -> None:
    """Raise where the controls have more than ``limit`` states together."""
    sizes = {control["name"]: len(control["options"]) for control in controls}
    if math.prod(sizes.values()) > limit:
        product = " × ".join(f"{name} {size}" for name, size in sizes.items())
        raise GradvizError(
            f"this scenario has {math.prod(sizes.values()):,} states ({product}); at most {limit}"
            f" are exported: give {max(sizes, key=lambda name: sizes[name])} fewer values, or raise"
            " limit="
        )
