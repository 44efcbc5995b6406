"""Variable names and source text of recorded calls, found after the recording in the syntax tree.
Knows no torch.

While recording, only a *site* is kept per call: ``(code object, f_lasti)`` of the innermost user
frame and of its callers. Frames and ``f_locals`` are never touched: on Python 3.11 reading
``f_locals`` keeps tensors alive.

Known limitations: a name is left out where the syntax alone does not prove it. That holds for calls
that a builtin makes (``sum(losses)``, ``map``, ``sorted``), for comprehension elements and for
``hs[i] = ...``. The tree cannot see what runs between two frames of a site: where other frames of
torch than those of ``nn.Module.__call__`` were left out, the site has to end, and of several calls
that a module makes at one site only the last may take the name.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, NamedTuple

from gradviz.names.bound import binding_of
from gradviz.names.given import arguments_of, object_called
from gradviz.names.position import Place, display_name, dotted, locate

Site = tuple[tuple[CodeType, int], ...]


class Named(NamedTuple):
    """What the source says about one recorded call."""

    file: str  # "train.py", "cell [3]"
    line: int  # 1-based, where the call's expression starts
    # what made the result: the whole assignment where the result is bound, else the expression
    code: str | None
    targets: tuple[str | None, ...] | None  # names of the result; read them through ``outputs``
    unpacked: bool  # ``targets`` names the result's elements, "*rest" a starred one
    # names of receiver and positional arguments, up to a starred one
    arguments: tuple[str | None, ...]
    keywords: dict[str, str]
    # a binary operator between two non-literals: torch may get them in the other order
    swaps: bool = False
    each: bool = False  # a for loop: ``targets`` names every element of the result in turn
    # the object called, as ``net`` in ``net(x)``; None for what a module holds (``F.relu``)
    callee: str | None = None
    depth: int = 0  # which of the site's frames has the statement that binds ``targets``

    def outputs(self, count: int | None) -> tuple[str | None, ...]:
        """Return the names of the tensors that the call returned.

        Args:
            count: None where it returned one tensor, else the length of the tuple or list that it
                returned.

        Returns:
            One name or None per tensor.

        Example:
            >>> Named("train.py", 1, None, ("q", "*rest"), True, (), {}).outputs(3)
            ('q', 'rest[0]', 'rest[1]')
            >>> Named("train.py", 1, None, ("pair",), False, (), {}).outputs(2)
            ('pair[0]', 'pair[1]')
        """
        names = self.targets or (None,)
        if count is None:
            return (None,) if self.unpacked or self.each else names[:1]
        if self.each:
            return names[:1] * count
        if not self.unpacked:
            return tuple(names[0] and f"{names[0]}[{i}]" for i in range(count))
        return _names_of_elements(names, count)

    def inputs(self, tensors: Sequence[bool]) -> tuple[str | None, ...]:
        """Return the names of the call's positional arguments, only where they are certain.

        Holds for a call that user code makes directly, without frames of torch in between. What it
        gets beyond the source's arguments (``dim``) has no name; when it gets less, it is another
        call of the same site.

        Args:
            tensors: for each positional argument that torch got, the receiver included: is it a
                tensor?

        Returns:
            One name or None per argument.

        Example:
            >>> times = Named("train.py", 1, "n * a", None, False, ("n", "a"), {}, swaps=True)
            >>> times.inputs([True, True])
            ('n', 'a')
            >>> times.inputs([True, False])  # n or a may be the tensor
            (None, None)
        """
        if len(tensors) < len(self.arguments) or (self.swaps and not all(tensors)):
            return (None,) * len(tensors)
        padded = self.arguments + (None,) * len(tensors)
        pairs = zip(padded, tensors)  # noqa: B905  more names than tensors
        return tuple(name if tensor else None for name, tensor in pairs)


def _names_of_elements(names: tuple[str | None, ...], count: int) -> tuple[str | None, ...]:
    """Name the elements of an unpacked result: a starred name stands for all that it takes."""
    starred = [i for i, name in enumerate(names) if name and name.startswith("*")]
    taken = count - len(names) + 1
    if starred and taken >= 0:
        position = starred[0]
        list_name = str(names[position])[1:]
        elements = [f"{list_name}[{k}]" for k in range(taken)]
        names = (*names[:position], *elements, *names[position + 1 :])
    return names if len(names) == count else (None,) * count


def resolve(
    sites: Iterable[Site], located: dict[tuple[int, int], Place] | None = None
) -> list[Named | None]:
    """Return names, lines and source text for the calls of one recording.

    Give all sites of a recording at once: that ``y[0] = a * 2`` is followed by a recorded
    ``__setitem__`` proves that ``a * 2`` was copied into ``y`` and is not itself ``y[0]``.

    Args:
        sites: for each call, (code object, ``f_lasti``) of the innermost user frame, then of its
            callers.
        located: (id of the code object, ``f_lasti``) -> its place, where that is known already; it
            is added to.

    Returns:
        One entry per site, in the same order; None for an empty site.

    Example:
        >>> resolve([(((lambda: None).__code__, 0),), ()])[1] is None
        True
    """
    sites = list(sites)
    # By id: equal code objects may stand in different cells.
    places = {} if located is None else located
    label = functools.cache(display_name)
    for site in sites:
        for code, lasti in site:
            if (id(code), lasti) not in places:
                places[id(code), lasti] = locate(code, lasti)
    chains = [tuple((id(code), lasti) for code, lasti in site) for site in sites]
    firsts = [places[chain[0]] for chain in dict.fromkeys(chains) if chain]
    written = {p.node for p in firsts if p.is_store}
    named: dict[tuple[tuple[int, int], ...], Named | None] = {(): None}
    for chain in chains:
        if chain not in named:
            named[chain] = _describe([places[key] for key in chain], written, label)
    return [named[chain] for chain in chains]


def _describe(places: list[Place], written: set[Any], label: Callable[[str], str]) -> Named:
    """Return what the source says about a call, given the places of its frames.

    Args:
        places: of the call and of its callers, the innermost first.
        written: the nodes that a recorded call writes into.
        label: makes a file's name what is shown.
    """
    first = places[0]
    node = first.node
    file = label(first.code.co_filename)
    if node is None:
        return Named(file, first.line, None, None, False, (), {})
    bound = binding_of(places, written)
    arguments, swaps = arguments_of(first)
    plain = itertools.takewhile(lambda a: not isinstance(a, ast.Starred), arguments)
    pairs = [(k.arg, dotted(k.value)) for k in node.keywords] if isinstance(node, ast.Call) else []
    return Named(
        file,
        first.start,
        first.text(bound.shown or _own_expression(node)),
        bound.targets if any(bound.targets) else None,
        bound.unpacked,
        tuple(map(dotted, plain)),
        {key: name for key, name in pairs if key and name},
        swaps,
        bound.each,
        object_called(first),
        bound.depth,
    )


def _own_expression(node: Any) -> Any:
    """Return what is shown of a node: of a ``with`` or ``for`` its expression, else all of it."""
    if isinstance(node, ast.With):
        return node.items[0].context_expr
    return node.iter if isinstance(node, ast.For) else node
