"""The still picture that stands beside each live one, for pages without a kernel.

NOTE [what a saved notebook holds] A live output has both: the view of a widget, which only its own
kernel knows, and HTML with a picture. Notebook programs take the view, also in a file that is
opened long after the kernel ended, and then show an error in its place. So the view is left out of
what is saved: ``keep_pictures`` does that for a Jupyter server, which knows a live output of ours
by the metadata that ``marked`` gives it. This module knows no torch: a server may have none.
"""

from __future__ import annotations

from html import escape
from typing import Any

from gradviz.words.speech import say

VIEW = "application/vnd.jupyter.widget-view+json"
MARK = "gradviz"  # of an output's metadata


def marked(*, has_caption: bool = True) -> dict[str, Any]:
    """Return the metadata of a live output.

    Args:
        has_caption: whether a saved page says below the picture how to make it live.

    Example:
        >>> marked(has_caption=False)
        {'gradviz': {'still': ''}}
    """
    return {MARK: {"still": say("live.still") if has_caption else ""}}


def left_still(output: dict[str, Any]) -> None:
    """Leave of a live output what needs no kernel: picture, caption and words. Anything else stays
    as it is.

    Args:
        output: one output of a cell, as a notebook's file has it.

    Example:
        >>> mark = marked(has_caption=False)
        >>> output = {"data": {VIEW: {}, "text/html": "<img>"}, "metadata": mark}
        >>> left_still(output)
        >>> output
        {'data': {'text/html': '<img>'}, 'metadata': {}}
    """
    data, metadata = output.get("data", {}), output.get("metadata", {})
    mark = metadata.get(MARK)
    if not isinstance(mark, dict) or VIEW not in data or "text/html" not in data:
        return
    del data[VIEW], metadata[MARK]
    if caption := mark.get("still"):
        html = data["text/html"]
        text = html if isinstance(html, str) else "".join(html)
        data["text/html"] = f"{text}\n<p><em>{escape(str(caption))}</em></p>"
