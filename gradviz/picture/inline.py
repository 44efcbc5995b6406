"""A picture as one element of HTML, which needs no file beside it."""

from __future__ import annotations

import base64
import html

IMAGE = '<img alt="{alt}"{look} src="data:image/svg+xml;base64,{picture}">'


def inline(svg: str, alt: str, look: str = "") -> str:
    """Return an ``<img>`` with an SVG inside.

    Args:
        svg: the picture.
        alt: what it says, in words.
        look: further attributes, as HTML.

    Example:
        >>> inline("<svg/>", "a & b")
        '<img alt="a &amp; b" src="data:image/svg+xml;base64,PHN2Zy8+">'
    """
    # half of a surrogate pair can stand neither in base64 nor in a page
    said, picture = (text.encode("utf-8", "replace") for text in (html.escape(alt), svg))
    return IMAGE.format(
        alt=said.decode(), look=look and f" {look}", picture=base64.b64encode(picture).decode()
    )
