"""A finished graph without a recording: its nodes in the order of the forward, and which parameters
they use. Knows no torch.

NOTE [names of nodes]: a node that leads to the AccumulateGrad of a parameter used that parameter,
and so ran in the module that has it. What only turns a parameter round before it is used (``t()``,
a cast) is looked through. All other nodes have no module of their own: they lie between those that
have, in the order of the forward.
"""

from __future__ import annotations

from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from gradviz.graph.operations import Fate, Weight
from gradviz.graph.records import Graph, NodeKind, NoteKind, plain

# What turns a parameter round before it is used, or casts it.
TURNING = frozenset(
    f"{name}Backward{n}"
    for name in (
        *("T", "Transpose", "Permute", "ToCopy", "View", "UnsafeView", "ReshapeAlias", "Expand"),
        *("Unsqueeze", "Squeeze", "Clone", "Alias", "Contiguous", "MT", "Movedim"),
    )
    for n in range(3)
)
CHECKPOINT = "CheckpointFunctionBackward"  # makes the graph of what it holds only in backward


class _Heads(NamedTuple):
    """Where the edges of each node lead, by its id."""

    sources: list[tuple[int, ...]]
    uses: dict[int, list[int]]
    empty: list[int]


class Finished:
    """The nodes of a captured graph without its AccumulateGrads, numbered in the order of the
    forward: each stands after all whose results it uses.

    Attributes:
        names: of the nodes.
        ids: their ids in the graph.
        sources: for each node, the nodes whose results it uses.
        uses: for each node, the ids of the parameters' objects that it uses.
        empty: for each node, how many of its ``next_functions`` lead nowhere.
        turned: the nodes that only turn a parameter round.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._read()
        self._look_through()

    def _read(self) -> None:
        rows = plain(self.graph.nodes)
        size = 1 + max((row[0] for row in rows), default=-1)
        leaf = {row[0]: row[5] for row in rows if row[2] is NodeKind.ACCUMULATE_GRAD}
        others = [row for row in rows if row[0] not in leaf]
        name, number = [""] * size, [-1] * size
        for i, text, _, n, *_ in others:
            name[i], number[i] = text, -1 if n is None else n
        heads = self._edges(size, leaf)
        ids = _forward([row[0] for row in others], heads.sources, number)
        self.leaves = [self._object(i) for i in leaf.values() if i is not None]
        self._order(ids, name, heads)

    def _order(self, ids: list[int], name: list[str], heads: _Heads) -> None:
        """Number the nodes in this order."""
        place = [0] * len(name)
        for k, i in enumerate(ids):
            place[i] = k
        self.ids = ids
        self.names = [name[i] for i in ids]
        self.empty = [heads.empty[i] for i in ids]
        self.sources = [tuple(map(place.__getitem__, heads.sources[i])) for i in ids]
        self.uses = {place[i]: found for i, found in heads.uses.items()}

    def _edges(self, size: int, leaf: dict[int, int | None]) -> _Heads:
        """Read where edges lead, by the id of the node that they leave."""
        # tuples of numbers, for the garbage collector goes through lists again and again
        sources: list[tuple[int, ...]] = [()] * size
        uses: dict[int, list[int]] = {}
        empty = [0] * size
        of, heads = 0, list[int]()  # edges of one node stand together
        for tail, _, head, _ in plain(self.graph.edges):
            if head is None:
                empty[tail] += 1
            elif head in leaf:
                uses.setdefault(tail, []).append(self._object(leaf[head]))
            else:
                if tail != of:
                    sources[of] += tuple(heads)
                    of, heads = tail, []
                heads.append(head)
        if heads:
            sources[of] += tuple(heads)
        return _Heads(sources, uses, empty)

    def _object(self, tensor_id: int | None) -> int:
        tensor = self.graph.tensor.get(tensor_id)
        return -1 if tensor is None else tensor.object_id

    def _look_through(self) -> None:
        """Let what uses a parameter that was turned round use the parameter itself."""
        turned: dict[int, int] = {}  # by node, the parameter
        users: dict[int, int] = {}  # of what was turned round, the first
        for k, name in enumerate(self.names):
            sources = self.sources[k]
            if turned and not turned.keys().isdisjoint(sources):
                self._use_turned(k, turned, users)
            used = self.uses.get(k)
            if used and len(used) == 1 and name in TURNING and not self.sources[k]:
                turned[k] = used[0]
        self.turned = turned.keys() & users.keys()
        self._user_of_turned = users

    def _use_turned(self, place: int, turned: dict[int, int], users: dict[int, int]) -> None:
        sources = self.sources[place]
        through = [j for j in sources if j in turned]
        for j in through:
            users.setdefault(j, place)
        self.uses[place] = [*self.uses.get(place, ()), *(turned[j] for j in through)]
        self.sources[place] = tuple(j for j in sources if j not in turned)

    def user(self, place: int) -> int:
        """Return the node that uses a parameter in the end: of what only turns it round, the first
        that uses the result."""
        while place in self.turned:
            place = self._user_of_turned[place]
        return place

    # --- parameters -------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> list[Weight]:
        """Every parameter of the model, in module order, then the other leaves that the graph leads
        to."""
        behind = {*self.leaves}
        found = []
        for module in self.graph.modules:
            for p in module.parameters:
                fate = Fate.REACHED if p.object_id in behind else Fate.UNREACHED
                fate = fate if p.requires_grad or fate is Fate.REACHED else Fate.FROZEN
                found.append(Weight(p.object_id, p.name, module.id, fate, p.held, p.shape))
        known = {weight.object_id for weight in found}
        for object_id in dict.fromkeys(self.leaves):
            if object_id not in known:
                leaf = self.graph.tensor.get(object_id)
                name, shape = (leaf.name or "", leaf.shape) if leaf else ("", None)
                found.append(Weight(object_id, name, None, Fate.REACHED, None, shape))
        return found

    @cached_property
    def aliases(self) -> dict[str, list[str]]:
        """All names of each tied parameter, by its first."""
        found: dict[str, list[str]] = {}
        for module in self.graph.modules:
            for other, first in module.tied:
                found.setdefault(first, [first]).append(other)
        return found

    @cached_property
    def anchors(self) -> list[str]:
        """For each node, the name of the parameter that it uses; of several, of the innermost
        module that has them all. "" where it uses none, or one without a name."""
        name = {w.object_id: w.name for w in self.weights}
        found = [""] * len(self.ids)
        tied: dict[str, list[int]] = {}
        for k, used in self.uses.items():
            names = [name[i] for i in used if name.get(i)]
            if not names or k in self.turned:
                continue
            if len(names) == 1 and names[0] in self.aliases:
                tied.setdefault(names[0], []).append(k)
            else:
                found[k] = self._in_one_module(names)
        taken = {*found}
        for first, places in sorted(tied.items()):
            names = [n for n in self.aliases[first] if n not in taken] or self.aliases[first]
            places.sort()
            for k, one in zip(places, self._tied(places, names, found), strict=True):
                found[k] = one
        for k in self.turned:
            found[k] = found[self.user(k)]
        return found

    def _in_one_module(self, names: list[str]) -> str:
        """Return the name of the first of these parameters in the module that has all of them, by
        whatever name; or the path of the innermost module around them, with a dot at its end."""
        options = [self.aliases.get(name, [name]) for name in names]
        around = [{one.rpartition(".")[0] for one in some} for some in options]
        shared = around[0].intersection(*around[1:])
        if shared:
            path = min(shared, key=lambda p: (self.module_order.get(p, -1), p))
            return next(one for one in options[0] if one.rpartition(".")[0] == path)
        return _around(names)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The class of each module, by its path."""
        return {path: kind for module in self.graph.modules for path, kind in module.children}

    @cached_property
    def module_order(self) -> dict[str, int]:
        """The number of each module in module order, by its path."""
        return {path: n for n, path in enumerate(self.kinds)}

    def _tied(self, places: list[int], names: list[str], anchors: list[str]) -> list[str]:
        """Tell by which of its names a tied parameter was used at each place.

        As often as it has names: one after the other. Otherwise an embedding looks up rows and
        others do not; of several that are left, it is the one after the module used before.
        """
        if len(places) == len(names):
            return sorted(names, key=self._number) if len({*names}) > 1 else names
        return [self._nearest(k, names, anchors) for k in places]

    def _nearest(self, place: int, names: list[str], anchors: list[str]) -> str:
        looks_up = "Embedding" in self.names[place]
        alike = [n for n in names if ("Embedding" in self._kind_around(n)) is looks_up] or names
        before = next((a for a in reversed(anchors[:place]) if a), "")
        later = [n for n in alike if before and self._number(n) > self._number(before)]
        return min(later, key=self._number) if later else max(alike, key=self._number)

    def _kind_around(self, name: str) -> str:
        return self.kinds.get(name.rpartition(".")[0], "")

    def _number(self, name: str) -> int:
        return self.module_order.get(name.rpartition(".")[0], -1)

    # --- what is not known ------------------------------------------------------------------------

    @property
    def is_whole(self) -> bool:
        """Whether all nodes were read."""
        return all(note.kind is not NoteKind.NODE_LIMIT for note in self.graph.notes)

    @cached_property
    def hides_parameters(self) -> bool:
        """Whether a node makes the graph of what it holds only in backward, so that nobody can tell
        which parameters are behind it."""
        return CHECKPOINT in self.names


def _forward(ids: list[int], sources: list[tuple[int, ...]], number: list[int]) -> list[int]:
    """Order nodes so that each stands after its sources: by torch's numbers as far as possible.
    Nodes of other threads, and views made anew, have numbers that do not fit."""
    ordered = sorted(ids, key=number.__getitem__)
    if _numbers_fall(ordered, sources, number):
        return ordered
    waiting = {i: len(sources[i]) for i in ids}
    users: dict[int, list[int]] = {}
    for i in ids:
        for j in sources[i]:
            users.setdefault(j, []).append(i)
    ready = [(number[i], i) for i in ids if not waiting[i]]
    heapify(ready)
    found = []
    while ready:
        _, i = heappop(ready)
        found.append(i)
        for user in users.get(i, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, (number[user], user))
    return found


def _numbers_fall(ids: list[int], sources: list[tuple[int, ...]], number: list[int]) -> bool:
    """Say whether every node has a higher number than all its sources."""
    for i in ids:
        for j in sources[i]:
            if number[j] >= number[i]:
                return False
    return True


def _around(names: list[str]) -> str:
    """Return the path of the innermost module around some parameters, with a dot at its end.

    >>> _around(["a.b.w", "a.c.w"]), _around(["a.w", "b.w"])
    ('a.', '.')
    """
    common = []
    for parts in zip(*(name.split(".")[:-1] for name in names), strict=False):
        if len({*parts}) > 1:
            break
        common.append(parts[0])
    return "".join(f"{part}." for part in common) or "."
