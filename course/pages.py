"""One page of the site: what it is called, and its frame without scripts."""

from __future__ import annotations

import html
from pathlib import Path
from typing import NamedTuple

STYLE = (Path(__file__).parent / "site.css").read_text(encoding="utf-8")
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action"
    " 'none'"
)
ABOUT = "Live pictures of PyTorch's autograd: click, and see which gradients come back and which are cut"


class Page(NamedTuple):
    """One written page: what it is called, where it lies below the site, where in its notebook it
    stands, and what comes of each state that a class looks at."""

    title: str
    place: str
    scenario: str
    cell: str
    answers: tuple[str, ...] = ()


def document(
    title: str, body: str, style: str = "", policy: str = POLICY, preview: str = ""
) -> str:
    """Return a page in the site's own look; without scripts, unless ``policy`` allows for them. The
    address of a ``preview`` is what other sites show beside a link to it."""
    about = {"title": title, "description": ABOUT, "type": "website", "image": preview}
    told = "".join(
        f'<meta property="og:{name}" content="{html.escape(text)}">\n'
        for name, text in about.items()
        if preview
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{told}<title>{html.escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
