"""One HTML file with every state of a scenario in it: no kernel, no network, nothing to install."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
import re
import zlib
from typing import Any

from .. import given
from ..graph import GradvizError
from ..recording import Recording
from . import static
from .book import book as recording_book
from .figure import Figure, place_of, write
from .state import state

LIMIT = 256
SCRIPT = "page.js"  # built from frontend/
STYLES = ("live.css", "book.css", "page.css")


def export(what: Any, path: str | os.PathLike[str], *, title: str | None = None, limit: int = LIMIT) -> None:
    """Write all states of a scenario, or all steps of a recording, as one page that needs nothing else.

    The page holds the same controls, pictures, tables and sentences as the live one. It asks nobody for anything
    (its content security policy forbids it to), and with scripts off it still shows the first state and its text.

    Args:
        what: what ``gradviz.explore`` gave, a ``Recording``, or a ``Figure``.
        path: where to write; it ends in .html.
        title: heading of the page; by default the scenario's own.
        limit: the most states that are computed and written.

    Raises:
        GradvizError: another suffix or folder, nothing that can be exported, or more than ``limit`` states; nothing
            is run and no file is touched then.

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
    if target.suffix.lower() not in (".html", ".htm"):
        raise GradvizError(f"cannot export to {target.name!r}: a page's name ends in .html")
    target = place_of(target)
    book = _book(what, limit)
    write(target, page({**book, "title": title or book.get("title") or "gradviz"}))


def _book(what: Any, limit: int) -> dict[str, Any]:
    if isinstance(what, Figure):
        return {"title": what.title, "code": {}, "controls": [], "states": [state(what)]}
    if isinstance(what, Recording):
        steps = len(what.events) + 1
        if steps > limit:
            raise GradvizError(
                f"this recording has {steps:,} steps; at most {limit} are exported: record fewer lines, or raise limit="
            )
        return recording_book(what)
    if not callable(getattr(what, "book", None)):
        raise GradvizError(
            f"cannot export {given.said(what)}: expected what @gradviz.explore made of a scenario, a Recording or a "
            "Figure"
        )
    _refuse_too_many(what.controls, limit)
    book: dict[str, Any] = what.book()
    return book


def _refuse_too_many(controls: list[dict[str, Any]], limit: int) -> None:
    sizes = {control["name"]: len(control["options"]) for control in controls}
    if math.prod(sizes.values()) > limit:
        product = " × ".join(f"{name} {size}" for name, size in sizes.items())
        raise GradvizError(
            f"this scenario has {math.prod(sizes.values()):,} states ({product}); at most {limit} are exported: "
            f"give {max(sizes, key=lambda name: sizes[name])} fewer values, or raise limit="
        )


def page(book: dict[str, Any]) -> bytes:
    """The file for one book; the same bytes for the same book.

    The states repeat each other, so they are deflated: a seventh of their size, and user text in base64 can break
    out of nothing.
    """
    from .. import __version__

    script = static(SCRIPT)
    style = static(*STYLES)
    data = json.dumps(book, separators=(",", ":"), sort_keys=True).encode()
    parts = {
        "policy": f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "version": __version__,
        "title": _shown(book["title"]),
        "style": style,
        "first": _first(book),
        "data": base64.b64encode(zlib.compress(data, 9)).decode(),
        "script": script,
    }
    # One pass: what is put in is not looked at again, whatever it holds.
    filled = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], static("page.html"))
    return filled.encode()


def _first(book: dict[str, Any]) -> str:
    """What is read with scripts off."""
    index = 0
    for control in book["controls"]:
        index = index * len(control["options"]) + control["start"]
    state = book["states"][index]
    pieces = []
    if state["svg"]:
        data = base64.b64encode(state["svg"].encode("utf-8", "replace")).decode()
        pieces.append(f'<img alt="{_shown(state["alt"])}" src="data:image/svg+xml;base64,{data}">')
    pieces += [f"<pre>{_shown(text)}</pre>" for text in (book["code"].get("text"), state["text"]) if text]
    if len(book["states"]) > 1:
        pieces.append(f"<p>This is one of {len(book['states'])} states; the others appear where scripts may run.</p>")
    return "\n".join(pieces)


def _shown(text: str) -> str:
    """For a page, where half of a surrogate pair cannot stand."""
    return html.escape(text).encode("utf-8", "replace").decode()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
