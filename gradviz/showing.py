"""``show()``: the graph behind a tensor, drawn; ``compare()``: two recordings of one model beside
each other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from itertools import takewhile
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal

from gradviz.graph.records import GradvizError, Graph, Node, NoteKind, Rows
from gradviz.names.position import locate
from gradviz.picture.comparison import Comparison
from gradviz.picture.figure import Figure
from gradviz.picture.outline.drawn import is_wanted
from gradviz.watch.capture import capture
from gradviz.watch.recorded import Recorded
from gradviz.words import given as arguments

if TYPE_CHECKING:
    import torch


def show(
    *tensors: torch.Tensor | Iterable[torch.Tensor] | Recorded,
    names: Mapping[str, torch.Tensor] | None = None,
    model: torch.nn.Module | None = None,
    view: Literal["cards", "nodes"] | None = None,
    focus: str | Iterable[str] = (),
    depth: int | None = None,
    around: torch.Tensor | str | None = None,
    fold: bool = True,
) -> Figure:
    """Draw the autograd graph behind one tensor or several, or what was recorded.

    Args:
        tensors: where to start; lists and tuples of tensors are taken apart. Or one Recording,
            whose ``figure()`` this is then.
        names: what to call which tensor. Left out, the module-level variables of the caller are
            used, and the words of the call itself: ``show(loss)`` names ``loss``.
        model: its parameters are called by their names in the model, and those that the graph does
            not reach are told too.
        view: "nodes", torch's own nodes one by one, or "cards", one card a result; with a ``model``
            of more than a dozen nodes "cards" is an outline of its modules. Left out, that outline
            where there is one, else "nodes".
        focus: the modules of the ``model`` to open, as in ``Figure``.
        depth: how many levels of its modules to open, as in ``Figure``.
        around: a tensor that has a name here, or its name, or the path of a parameter: only the
            cards around it are opened.
        fold: False draws every node, whatever the size.

    Returns:
        A Figure. It holds no tensor.

    Raises:
        GradvizError: nothing to draw was given, an unknown view, or a module or a tensor that the
            graph does not have.

    Example:
        >>> import torch
        >>> a = torch.tensor([1., 2., 3.], requires_grad=True)
        >>> "MulBackward0" in show((a * 2).sum()).text
        True
    """
    if len(tensors) == 1 and issubclass(type(tensors[0]), Recorded):
        return _shown_recording(
            tensors[0], names, model, view, focus=focus, depth=depth, around=around, fold=fold
        )
    given = list(_flat(tensors))
    _check(given, view)
    known = names if names is not None else _caller_names(sys._getframe(1), tensors)
    as_nodes = model is None or view == "nodes" or not fold
    graph = _graph(given, names, known, model, summaries=as_nodes)
    if view is None:  # a model is an outline, everything else is drawn node by node
        view = "cards" if is_wanted(graph) and fold else "nodes"
        if view == "nodes" and not as_nodes:  # the few of a small model
            graph = _graph(given, names, known, model, summaries=True)
    name = _name_of(around, known, model)
    return Figure(graph, view=view, focus=focus, depth=depth, around=name, fold=fold)


def _graph(
    given: list[Any], names: Any, known: Mapping[str, Any], model: Any, *, summaries: bool
) -> Graph:
    """Capture what is drawn. An outline has no card for a tensor, so for it no large one is
    read."""
    graph = capture(*given, names=known, model=model, summaries=summaries)
    return _behind_roots(graph) if names is None else graph


def _shown_recording(recording: Any, names: Any, model: Any, view: Any, **asked: Any) -> Figure:
    """Return the figure of a recording, which has the names and modules of its own."""
    for argument, value in (("names=", names), ("model=", model)):
        if value is not None:
            raise arguments.refused(
                argument, value, "nothing beside a recording, which knows its own names and modules"
            )
    figure: Figure = recording.figure(view or "cards", **asked)
    return figure


def _name_of(around: Any, names: Mapping[str, Any], model: torch.nn.Module | None) -> str | None:
    """Return what a tensor is called, among the names of this picture or as a parameter."""
    if around is None or issubclass(type(around), str):
        return around  # type: ignore[no-any-return]
    parameters = dict(model.named_parameters()) if model is not None else {}
    for name, value in (*names.items(), *parameters.items()):
        if value is around:
            return name
    raise arguments.refused(
        "around=", around, "a tensor with a name, its name, or the path of a parameter of model="
    )


def _check(given: list[Any], view: Any) -> None:
    """Refuse what cannot be drawn, and say what can."""
    import torch

    if view is not None:
        arguments.one_of("view=", view, ("cards", "nodes"))
    if not given:
        raise GradvizError("show() needs at least one tensor, as in show(loss)")
    for value in given:
        if isinstance(value, torch.nn.Module):
            raise GradvizError(
                "show() draws what a call made, not a module: call it first, show(net(x),"
                " model=net)"
            )
        if not isinstance(value, torch.Tensor):
            expected = "expected tensors, whose graph it draws, as in show(loss)"
            raise GradvizError(f"show() was given {arguments.said(value)}; {expected}")


def _behind_roots(graph: Graph) -> Graph:
    """Return the graph without the caller's other variables, which have nothing to do with what
    she asked for."""
    n = _followed(graph)
    stubs = _led_to(graph, n)
    behind = {stub.id for stub in stubs}
    leaves = {stub.leaf_id for stub in stubs}
    followed = graph.nodes.first(n) if isinstance(graph.nodes, Rows) else graph.nodes[:n]
    return graph.replace(
        nodes=[*followed, *stubs] if stubs else followed,
        tensors=[
            t
            for t in graph.tensors
            if t.id in graph.roots
            or t.id in leaves
            or ((edge := t.gradient_edge) and (edge.node_id < n or edge.node_id in behind))
        ],
    )


def _led_to(graph: Graph, n: int) -> list[Node]:
    """List the nodes that others lead to though they were not followed: there were too many."""
    if all(note.kind is not NoteKind.NODE_LIMIT for note in graph.notes):
        return []
    heads = {edge.next_node_id for edge in graph.edges}
    return [stub for stub in graph.nodes[n:] if stub.id in heads]


def _followed(graph: Graph) -> int:
    """Count the nodes that were followed. They come first, by number; the stubs of what was only
    named follow."""
    stubs = takewhile(lambda node: node.stub, reversed(graph.nodes))
    return len(graph.nodes) - sum(1 for _ in stubs)


def _flat(tensors: Iterable[Any]) -> Iterable[Any]:
    """Yield the tensors in lists and tuples of them, at any depth."""
    for t in tensors:
        if isinstance(t, (list, tuple)):
            yield from _flat(t)
        else:
            yield t


def _caller_names(frame: FrameType, given: tuple[Any, ...]) -> dict[str, Any]:
    """Return the tensors at the call by their names.

    A function's ``f_locals`` would keep its tensors alive after ``del`` (Python 3.11), so only
    module-level variables are looked up; for the arguments themselves, the call's own words are
    read.
    """
    import torch

    known = {
        name: value
        for name, value in list(frame.f_globals.items())
        if isinstance(value, torch.Tensor) and not name.startswith("_")
    }
    for word, value in zip(_argument_words(frame), given, strict=False):
        if isinstance(value, torch.Tensor):
            known[word] = value
    return known


def _argument_words(frame: FrameType) -> list[str]:
    """Return the arguments of the call that the frame is in, where they are plain names; "" where
    they are not."""
    call = locate(frame.f_code, frame.f_lasti).node
    return (
        [a.id if isinstance(a, ast.Name) else "" for a in call.args]
        if isinstance(call, ast.Call)
        else []
    )


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
        raise arguments.refused("names=", names, "two texts, as in ('before', 'after')")
    for name in names:
        arguments.text("names=", name, "two texts, as in ('before', 'after')")
    return Comparison(
        _figure_of("before=", before), _figure_of("after=", after), (names[0], names[1])
    )


def _figure_of(argument: str, value: Any) -> Figure:
    """Return the figure of what was given."""
    if issubclass(type(value), Figure):
        return value  # type: ignore[no-any-return]
    if issubclass(type(value), Recorded):
        return Figure(value.graph)
    if issubclass(type(value), Graph):
        return Figure(value)
    raise arguments.refused(
        argument, value, "a Recording, a Figure or a Graph, as in gv.compare(rec_before, rec_after)"
    )
