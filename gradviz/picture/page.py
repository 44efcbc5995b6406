"""One HTML file with every state of a picture in it: no kernel, no network, nothing to install."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from gradviz._installed import VERSION
from gradviz.picture.inline import inline
from gradviz.picture.packed import packed
from gradviz.picture.theme import dark_rules, sign_rules
from gradviz.words.en import ENGLISH
from gradviz.words.speech import language, say

SCRIPT = "page.js"  # built from frontend/
# The page runs its own script and asks nobody for anything.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none';"
    " form-action 'none'"
)
STYLES = ("live.css", "saving.css", "book.css", "page.css", "access.css")

CANVAS = ".gv-root .gv-canvas"  # where pictures stand
LEGEND = ".gv-root .gv-legend"


def static(*names: str) -> str:
    """Return the text of files of ``static/``, one after the other."""
    return "\n".join(
        (files(__package__) / "static" / name).read_text(encoding="utf-8") for name in names
    )


def styles(*names: str) -> str:
    """Return stylesheets of ``static/``, and the colours of a picture and of its legend, on a light
    page and on a dark one."""
    return f"{static(*names)}\n{dark_rules(CANVAS)}\n{sign_rules(LEGEND)}\n"


def page(book: dict[str, Any], links: Mapping[str, str] | None = None) -> bytes:
    """Write the file for one book; the same bytes for the same book.

    ``links`` are text -> address, and stand above it.

    The states are packed, and user text in base64 can break out of nothing.
    """
    script = static(SCRIPT)
    style = styles(*STYLES)
    parts = {
        "policy": POLICY.format(script=policy_hash(script), style=policy_hash(style)),
        "version": VERSION,
        "language": _shown(language().code),
        "title": _shown(book["title"]),
        "style": style,
        "links": _links(links or {}),
        "first": _first_of_question(book) if "question" in book else _first(book),
        "data": base64.b64encode(packed(with_words(book))).decode(),
        "script": script,
    }
    return _filled("page.html", parts)


def still_page(title: str, shown: str) -> bytes:
    """Write a page without scripts.

    Args:
        title: as text.
        shown: what stands on it, as HTML.
    """
    parts = {"language": _shown(language().code), "title": _shown(title), "shown": shown}
    return _filled("still.html", parts)


def _filled(template: str, parts: Mapping[str, str]) -> bytes:
    """Fill in the fields of a page in one pass: what is put in is not looked at again, whatever it
    holds."""
    filled = re.sub(r"\{\{(\w+)\}\}", lambda field: parts[field[1]], static(template))
    return filled.encode("utf-8", "replace")


def with_words(book: dict[str, Any]) -> dict[str, Any]:
    """Return a book with what the page itself says, unless that is what its script says anyway."""
    return book if language() is ENGLISH else {**book, "words": dict(language().page)}


def _links(links: Mapping[str, str]) -> str:
    """Write the links that stand above the page."""
    written = (f'<a href="{_shown(address)}">{_shown(text)}</a>' for text, address in links.items())
    return "\n".join(written)


def _first_of_question(book: dict[str, Any]) -> str:
    """Write what is asked, for a reader with scripts off; nothing in it tells the answer."""
    question = book["question"]
    texts = [question["text"], question["settings"], book["code"].get("text", "")]
    return "\n".join(f"<pre>{_shown(text)}</pre>" for text in texts + question["answers"] if text)


def _first(book: dict[str, Any]) -> str:
    """Write what is read with scripts off."""
    index = 0
    for control in book["controls"]:
        index = index * len(control["options"]) + control["start"]
    state = book["states"][index]
    pieces = []
    if state["svg"]:
        pieces.append(inline(state["svg"], state["alt"]))
    pieces += [
        f"<pre>{_shown(text)}</pre>" for text in (book["code"].get("text"), state["text"]) if text
    ]
    if len(book["states"]) > 1:
        pieces.append(f"<p>{_shown(say('page.one_of_states', n=len(book['states'])))}</p>")
    return "\n".join(pieces)


def _shown(text: str) -> str:
    """Escape text for a page, where half of a surrogate pair cannot stand."""
    return html.escape(text).encode("utf-8", "replace").decode()


def policy_hash(text: str) -> str:
    """Return a text's hash as a content security policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
