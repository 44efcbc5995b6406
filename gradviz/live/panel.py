"""Controls and code beside the picture: ``gv.explore``, questions. ``static/panel.css`` says what
goes where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def panel(controls: Sequence[Any], graph_widget: Any) -> Any:
    """Lay out what the graph widget does not draw itself, and the graph widget below it.

    Args:
        controls: ipywidgets, shown as they are.
        graph_widget: shows code with choices, sentence, picture and table, each in its place.

    Returns:
        An ipywidgets Box.
    """
    import ipywidgets

    column = ipywidgets.VBox(controls).add_class("gradviz-controls")
    grid = ipywidgets.Box([column, graph_widget]).add_class("gradviz-panel")
    # A container query asks for the width of something around the grid.
    return ipywidgets.Box([grid]).add_class("gradviz-room")
