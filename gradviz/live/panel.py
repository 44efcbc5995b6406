"""Controls and code beside the picture: ``gv.explore``, questions. ``static/panel.css`` says what
goes where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradviz.words.speech import say


def panel(controls: Sequence[Any], graph_widget: Any, reset: Callable[[], Any]) -> Any:
    """Lay out the controls and the graph widget.

    Args:
        controls: ipywidgets.
        graph_widget: shows picture, sentence, error, code and table, each in its place.
        reset: called when the Reset button is clicked.

    Returns:
        An ipywidgets Box.
    """
    import ipywidgets

    button = ipywidgets.Button(
        description=say("panel.reset"), tooltip=say("panel.reset_title"), layout={"width": "auto"}
    )
    button.on_click(lambda _: reset())
    return room([*controls, *([button] if controls else [])], graph_widget)


def room(controls: Sequence[Any], graph_widget: Any) -> Any:
    """Lay out controls and graph widget as ``panel`` does, without a Reset button.

    Args:
        controls: ipywidgets.
        graph_widget: shows picture, sentence, error, code and table, each in its place.

    Returns:
        An ipywidgets Box.
    """
    import ipywidgets

    column = ipywidgets.VBox(controls).add_class("gradviz-controls")
    grid = ipywidgets.Box([column, graph_widget]).add_class("gradviz-panel")
    # A container query asks for the width of something around the grid.
    return ipywidgets.Box([grid]).add_class("gradviz-room")
