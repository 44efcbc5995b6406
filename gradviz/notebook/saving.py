"""What a Jupyter server does when it saves a notebook: the pictures stay, the live views go.

A server in whose environment gradviz is installed does so by itself: ``server_config/`` names this
module as an extension. An editable install does not bring that file; there, in
``jupyter_server_config.py``, also of a hub:
``c.ContentsManager.pre_save_hook = "gradviz.notebook.saving.keep_pictures"``.
NOTE [what a saved notebook holds] in ``live/still.py`` says why.
"""

from __future__ import annotations

from typing import Any

from gradviz.live.still import left_still


def keep_pictures(model: dict[str, Any], **_: Any) -> None:
    """Leave the still picture of each live output of gradviz in a notebook that is about to be
    saved. What the page shows stays live.

    Args:
        model: what the server was asked to save, as Jupyter's ``pre_save_hook`` gets it.

    Example:
        >>> notebook = {"nbformat": 4, "cells": [{"cell_type": "code", "outputs": []}]}
        >>> keep_pictures(model={"type": "notebook", "content": notebook})
    """
    content = model.get("content")
    if model.get("type") != "notebook" or not isinstance(content, dict):
        return
    for cell in content.get("cells", ()):
        for output in cell.get("outputs", ()):
            left_still(output)


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Tell the server where its extension is."""
    return [{"module": "gradviz.notebook.saving"}]


def _load_jupyter_server_extension(server: Any) -> None:
    """Have ``keep_pictures`` called at each save, beside other hooks."""
    server.contents_manager.register_pre_save_hook(keep_pictures)
