"""``compare()``: two recordings of one model, before and after a change, in one picture."""

from __future__ import annotations

from typing import Any

from gradviz.graph.records import Graph
from gradviz.picture.comparison import Comparison
from gradviz.picture.figure import Figure
from gradviz.watch.recorded import Recorded
from gradviz.words import given


def compare(before: Any, after: Any, *, names: tuple[str, str] = ("before", "after")) -> Comparison:
    """Draw two recordings of one model beside each other, and say what differs.

    The same cards stand in both, in the same order: what is opened or stands apart in one does so
    in the other.

    Args:
        before: a Recording, a Figure, e.g. of ``gv.show(loss, model=model)``, or a Graph.
        after: another one, of the same model.
        names: what the two are called.

    Returns:
        A Comparison: it displays as a picture, and has ``svg``, ``text``, ``html`` and
        ``save(path)``, as a Figure has.

    Raises:
        GradvizError: something else was given, or the two are of different models.

    Example:
        >>> import torch, gradviz as gv
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        >>> def step(cut):
        ...     with gv.record() as rec:
        ...         h = net[0](torch.ones(1, 2))
        ...         net[1](h.detach() if cut else h).sum().backward()
        ...     net.zero_grad()
        ...     return rec
        >>> print(compare(step(True), step(False)).lines[0])
        2 parameters more get a gradient
    """
    if type(names) not in (tuple, list) or len(names) != 2:
        raise given.refused("names=", names, "two texts, as in ('before', 'after')")
    for name in names:
        given.text("names=", name, "two texts, as in ('before', 'after')")
    return Comparison(_figure("before=", before), _figure("after=", after), (names[0], names[1]))


def _figure(argument: str, value: Any) -> Figure:
    """Return the figure of what was given."""
    if issubclass(type(value), Figure):
        return value  # type: ignore[no-any-return]
    if issubclass(type(value), Recorded):
        return Figure(value.graph)
    if issubclass(type(value), Graph):
        return Figure(value)
    raise given.refused(
        argument, value, "a Recording, a Figure or a Graph, as in gv.compare(rec_before, rec_after)"
    )
