"""Walking torch's backward graph so that neither the walk nor what it leaves behind can hurt.

NOTE [release guards] Looking at a node (``next_functions``, ``grad_fn``) gives it a Python wrapper.
From torch 2.13 the wrapper lives as
long as the node, and when a chain of wrapped nodes dies, each one is freed inside the freeing of
the one before it: some 40,000 of them overflow an 8 MB stack and kill the kernel, seconds or hours
after gradviz was done. So gradviz leaves a *guard* in the ``metadata`` of some nodes: an object
that also holds the node's children. When the node dies, its children outlive it by that reference;
then the guard goes, puts them into a queue, and the outermost guard of this thread empties the
queue. A guarded edge therefore ends the nesting. A guard holds only what its node holds anyway, so
it keeps nothing alive longer and cannot close a cycle.

Which edges need one? A node is numbered after the nodes that it was made from, so numbers fall
along a path. An edge stays unguarded only if the number does fall and stays within one block of
``BLOCK`` numbers; a path without a guard thus has at most ``BLOCK`` nodes, and the AccumulateGrad
at its end, which has no number. This holds for every shape of graph, and also where numbers are not
in order (other threads, regenerated views): those edges are guarded. No state is kept from one walk
to the next, so many short walks over one growing graph are as safe as one long walk.
"""

from __future__ import annotations

import itertools
from _thread import get_ident
from collections.abc import Callable, Iterable
from typing import Any

from torch.autograd.graph import Node

from gradviz.watch import torch_private

NextFunctions = tuple[tuple["Node | None", int], ...]
Slot = tuple["int | None", int, str, int]  # (serial or None, input_nr, name, raw sequence number)

BLOCK = 256  # longest unguarded path; nesting is at most twice this, about 100 KB of stack
_SETTLE = 64  # how far below a new node `guard_new` looks for nodes it has met before
_GUARD = "gradviz.guard"
# (serial, 0, name, raw sequence number): what an edge to this node says of it
SLOT = "gradviz.slot"

new_serial: Callable[[], int] = itertools.count().__next__
_pending: dict[int, list[Any]] = {}


class _Guard:
    """Holds a node's children, and frees them without nesting when the node dies."""

    __slots__ = ("children",)

    def __init__(self, children: list[Node]) -> None:
        self.children: list[Node] | None = children

    # The defaults keep both names alive through interpreter shutdown.
    def __del__(self, pending: dict[int, list[Any]] = _pending, get_ident: Any = get_ident) -> None:
        thread = get_ident()
        queue = pending.get(thread)
        if queue is not None:
            queue.append(self.children)
            return
        queue = pending[thread] = [self.children]
        self.children = None
        try:
            while queue:
                queue.pop()
        finally:
            del pending[thread]


def guard(node: Node, next_functions: NextFunctions) -> None:
    """Let the children outlive this node by a moment (NOTE [release guards])."""
    metadata: Any = node.metadata
    if _GUARD not in metadata:
        metadata[_GUARD] = _Guard([child for child, _ in next_functions if child is not None])


class Walk:
    """The nodes behind some roots. Holds them strongly: drop it as soon as its data is copied out.

    Attributes:
        nodes: nodes in order of first visit, breadth first from the roots, slots in order.
        index: position of each node in ``nodes``.
        next: ``next_functions`` of each node, read once.
        numbers: ``sequence_nr`` of each node; -1 for an AccumulateGrad, which has none.
        truncated: the limit was reached, so ``next`` names nodes that are not in ``nodes``.
    """

    __slots__ = ("index", "next", "nodes", "numbers", "truncated")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.index: dict[Node, int] = {}
        self.next: list[NextFunctions] = []
        self.numbers: list[int] = []
        self.truncated = False


def walk(roots: Iterable[Node], limit: int | None = None) -> Walk:
    """Visit every node behind ``roots`` and leaves the graph safe to free (NOTE [release guards]).

    Args:
        roots: the nodes to start from; duplicates are visited once.
        limit: visit at most this many nodes, the nearest ones. None: no limit.

    Returns:
        The walk. It keeps the graph alive, so do not store it.

    Example:
        >>> import torch
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> found = walk([(a * a).grad_fn])
        >>> [node.name() for node in found.nodes]
        ['MulBackward0', 'torch::autograd::AccumulateGrad']
        >>> [found.index[child] for child, _ in found.next[0]]
        [1, 1]
    """
    result = Walk()
    nodes, index, nexts, numbers = result.nodes, result.index, result.next, result.numbers
    raw_number, no_raw = torch_private.raw_number, torch_private.RAW_NO_NUMBER
    no_number, room = torch_private.NO_NUMBER, float("inf") if limit is None else limit
    for root in roots:
        if root not in index:
            index[root] = len(nodes)
            nodes.append(root)
            numbers.append(torch_private.sequence_number(root))
    for node, number in zip(nodes, numbers):  # noqa: B905  both grow while we go
        functions = node.next_functions
        nexts.append(functions)
        guarded, lowest = False, number - number % BLOCK
        for child, _ in functions:
            if child is None:
                continue
            at = index.get(child)
            if at is not None:
                below = numbers[at]
            elif len(nodes) < room:
                index[child] = len(nodes)
                nodes.append(child)
                below = raw_number(child)
                if below == no_raw:
                    below = no_number
                numbers.append(below)
            else:
                result.truncated = guarded = True
                continue
            if not lowest <= below < number:
                guarded = guarded or below != no_number
        if guarded:
            guard(node, functions)
    return result


def guard_new(node: Node, next_functions: NextFunctions | None = None) -> int:
    """Make one newly wrapped node, and what reading it has wrapped, safe to free (NOTE [release
    guards]).

    To be called for every node that a recording touches; a second call costs next to nothing.

    Args:
        node: the node.
        next_functions: its ``next_functions`` if they were read already.

    Returns:
        The node's ``serial``.

    Example:
        >>> import torch
        >>> b = torch.ones(2, requires_grad=True) * 2
        >>> guard_new(b.grad_fn) == guard_new(b.grad_fn) == serial(b.grad_fn)
        True
    """
    metadata: Any = node.metadata
    known = metadata.get(SLOT)
    if known is not None:
        return known[0]  # type: ignore[no-any-return]
    number_of, no_number, name_of = (
        torch_private.raw_number,
        torch_private.RAW_NO_NUMBER,
        torch_private.node_name,
    )
    result = new_serial()
    metadata[SLOT] = (result, 0, name_of(node), number_of(node))
    # Nodes below that nobody guarded are followed a little way, so that no chain of merely seen
    # nodes can build up.
    budget, todo = (
        _SETTLE,
        [(node, node.next_functions if next_functions is None else next_functions)],
    )
    for parent, functions in todo:
        number = number_of(parent)
        guarded = False
        for child, _ in functions:
            if child is None or (below := number_of(child)) == no_number:
                continue
            if below >= number or below // BLOCK != number // BLOCK:
                guarded = True
            metadata = child.metadata
            if SLOT in metadata:
                continue
            if budget:
                budget -= 1
                metadata[SLOT] = (new_serial(), 0, name_of(child), below)
                todo.append((child, child.next_functions))
            else:
                guarded = True
        if guarded:
            guard(parent, functions)
    return result


def serial(node: Node) -> int:
    """Return a number that no other node of this process has or will have, kept in the node's
    ``metadata``.

    Unlike ``id(node)`` it is never used again, and it survives the wrapper (torch < 2.13 makes a
    new one at each look). An AccumulateGrad node is made anew when nothing holds it: identify it by
    its leaf instead.

    Example:
        >>> import torch
        >>> b = torch.ones(2, requires_grad=True) * 2
        >>> serial(b.grad_fn) == serial(b.grad_fn) != serial((b * 2).grad_fn)
        True
    """
    return guard_new(node)
