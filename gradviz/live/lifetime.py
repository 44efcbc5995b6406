"""How long widgets live: until every cell that showed them has been run again.

NOTE [when widgets are closed] ipywidgets keeps every widget, in the kernel and in the page, until
somebody closes it. Running a cell again makes new ones, so each run left the former ones behind. A
cell is known by the id that the notebook sends with it, not by names: two cells may each define a
``scenario``, and a cell may show two explorations, or one that another cell has made. What a cell
showed in its last run is closed as soon as its next run shows something, except what another cell
still shows and what stands in an open box of the reader's own. A notebook that was loaded anew
counts as another one, and without ids (some programs that run notebooks send none) nothing is
closed. Only views are closed. Who kept the object can go on using it from Python, and show it
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from gradviz.names.position import shell


class HasViews(Protocol):
    """What a cell can show."""

    def close_views(self) -> None:
        """Close its widgets. It may be shown again, with new ones."""


class Run(NamedTuple):
    """One run of a cell.

    Attributes:
        cell: the page's session and the cell's id.
        request: changes from run to run.
    """

    cell: tuple[str, str]
    request: str


# cell -> its last request, and what that showed
_shown: dict[tuple[str, str], tuple[str, list[HasViews]]] = {}


def note_shown(thing: HasViews) -> None:
    """Note that the running cell shows this, and close what only its last run showed."""
    run = _running()
    if run is None:
        return
    request, things = _shown.get(run.cell, ("", []))
    if request == run.request:
        things.append(thing)
        return
    _shown[run.cell] = (run.request, [thing])
    for former in things:
        if not any(former is other for _, others in _shown.values() for other in others):
            former.close_views()


def request() -> str:
    """Return what names the kernel's current request; "" where there is no kernel. A runner that
    keeps no history does not count its cells, so their number would not do."""
    get_parent = getattr(getattr(shell(), "kernel", None), "get_parent", None)
    parent = get_parent() if get_parent is not None else None
    return parent["header"]["msg_id"] if parent else ""


def _running() -> Run | None:
    """Return the run of a cell that this code belongs to; None where the kernel tells of none."""
    get_parent = getattr(getattr(shell(), "kernel", None), "get_parent", None)
    parent = get_parent() if get_parent is not None else None
    if not parent or parent["header"].get("msg_type") != "execute_request":
        return None
    cell = parent.get("metadata", {}).get("cellId")
    return Run((parent["header"]["session"], cell), parent["header"]["msg_id"]) if cell else None


def close(root: Any, *, but: tuple[Any, ...] = ()) -> bool:
    """Close a widget with all that belongs to it: children, layouts, styles.

    Args:
        root: an ipywidgets widget.
        but: widgets within that are somebody else's.

    Returns:
        Whether it was closed: not while it stands in another open widget.

    Example:
        >>> import ipywidgets
        >>> slider = ipywidgets.IntSlider()
        >>> box = ipywidgets.VBox([slider])
        >>> close(slider), close(box)
        (False, True)
    """
    # All open widgets. The public name, Widget.widgets, warns that it will go.
    from ipywidgets.widgets.widget import _instances

    for other in list(_instances.values()):
        if any(child is root for child in getattr(other, "children", ())):
            return False
    for widget in list(_family(root, but)):
        widget.close()
        # Closing puts None there, and the widget could never be shown again.
        widget.__dict__.pop("_repr_mimebundle_", None)
    return True


def reopen(root: Any) -> None:
    """Open what ``close`` has closed. What a widget refers to comes before it: a page cannot look
    ahead."""
    for widget in reversed(list(_family(root, ()))):
        widget.open()


def _family(widget: Any, but: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the widget and what it refers to, itself first."""
    from ipywidgets import Widget

    if any(widget is other for other in but):
        return
    yield widget
    for name in widget.keys:
        value = getattr(widget, name)
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, Widget):
                yield from _family(part, but)
