"""Which module calls ran inside which, and which operations and parameters are theirs. Knows no
torch.

Calls nest, so the operations of a module call are an interval of the order of calls: whatever is
drawn as one box because it is one call can never lie before and after another box.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from gradviz.graph.facts import grouped
from gradviz.graph.operations import HAS, Fate, Operation, Operations, Weight
from gradviz.graph.records import Module, ModuleCall

CALLS = 6  # of one module that is drawn with what is inside it, in each of them


class ModuleTree:
    """The module calls of a recording that computed something.

    Args:
        operations: of the recording.
        without: places of operations that are left out, and with them the calls that made no other.
    """

    def __init__(self, operations: Operations, without: Collection[int] = ()) -> None:
        self.operations = operations
        self.without = without
        self.graph = operations.graph
        self.call = operations.facts.module_call

    # --- calls ------------------------------------------------------------------------------------

    @cached_property
    def own(self) -> dict[int | None, list[int]]:
        """The operations that a module call made itself, not through a call below it, in order;
        None: outside of any module."""
        return grouped((op.call.module_call, op.at) for op in self._operations)

    @cached_property
    def below(self) -> dict[int, list[int]]:
        """The operations of a module call and of all calls below it, in order."""
        table: dict[int, list[int]] = {}
        for op in self._operations:
            for call_id in self.around(op.call.module_call):
                table.setdefault(call_id, []).append(op.at)
        return table

    @property
    def _operations(self) -> Iterator[Operation]:
        return (op for op in self.operations.all if op.at not in self.without)

    @cached_property
    def children(self) -> dict[int | None, list[int]]:
        """The calls directly below a module call that computed something, in order; None: the calls
        of root modules."""
        return grouped((c.parent_id, c.id) for c in self.graph.module_calls if c.id in self.below)

    def around(self, call_id: int | None) -> Iterator[int]:
        """Go through a module call and those around it, from the inside."""
        return self.operations.facts.module_calls_around(call_id)

    def child_of(self, outer: int | None, call_id: int | None) -> int | None:
        """Return the call directly below ``outer`` in which a module call ran; None: ``outer``
        itself."""
        inside = None
        for one in self.around(call_id):
            if one == outer:
                return inside
            inside = one
        return inside

    @cached_property
    def calls_of(self) -> dict[tuple[int, str], list[int]]:
        """The calls of each module that computed something, by root and path."""
        return grouped(((self.call[i].module_id, self.call[i].path), i) for i in self.below)

    def calls_of_same(self, call_id: int) -> list[int]:
        """Return the calls that computed something of the module that one of them called."""
        call = self.call[call_id]
        return self.calls_of.get((call.module_id, call.path), [])

    @cached_property
    def all_calls_of(self) -> dict[tuple[int, str], list[int]]:
        """All calls of each module, by root and path."""
        return grouped(((c.module_id, c.path), c.id) for c in self.graph.module_calls)

    def can_open(self, call_id: int) -> bool:
        """Say whether the modules inside a called one can be drawn in its place: there are some,
        and it was not called so often that they would be all that is seen."""
        call = self.call[call_id]
        calls = self.calls_of[call.module_id, call.path]
        return len(calls) <= CALLS and any(self.children.get(i) for i in calls)

    def name(self, call: ModuleCall) -> str:
        """Return the name of a module with its root: "model.transformer.h.5"."""
        root = self.graph.modules[call.module_id].name
        return f"{root}.{call.path}" if call.path else root

    # --- parameters -------------------------------------------------------------------------------

    @cached_property
    def weights_of(self) -> dict[tuple[int, str], list[Weight]]:
        """The parameters that stand in a module itself, by root and path."""
        with_module = (w for w in self.operations.weights if w.module_id is not None)
        return grouped(((w.module_id or 0, w.name.rpartition(".")[0]), w) for w in with_module)

    def weights_below(self, module_id: int, path: str) -> list[Weight]:
        """List the parameters of a module and of all modules below it, in module order."""
        return self._below_path.get((module_id, path), [])

    @cached_property
    def _below_path(self) -> dict[tuple[int, str], list[Weight]]:
        table: dict[tuple[int, str], list[Weight]] = {}
        for weight in self.operations.weights:
            if weight.module_id is None:
                continue
            path = weight.name
            while path:
                path = path.rpartition(".")[0]
                table.setdefault((weight.module_id, path), []).append(weight)
        return table

    @cached_property
    def called(self) -> set[tuple[int, str]]:
        """The modules that were called, by root and path."""
        return {(c.module_id, c.path) for c in self.graph.module_calls}

    def never_called(self, call: ModuleCall) -> list[tuple[str, list[Weight]]]:
        """List the modules below a called one that were never called, and of which no parameter
        was read but for what it shares: (path, parameters that get no gradient). Those below
        another called module are its own."""
        return self._unused.get((call.module_id, call.path), [])

    @cached_property
    def _unused(self) -> dict[tuple[int, str], list[tuple[str, list[Weight]]]]:
        """The topmost modules that were never called, by the nearest called module around."""
        table: dict[tuple[int, str], list[tuple[str, list[Weight]]]] = {}
        for module in self.graph.modules:
            dead: set[str] = set()
            for path, _ in module.children:
                around = path.rpartition(".")[0]
                weights = self.weights_below(module.id, path)
                if around in dead or (weights and not self._is_alive(module.id, path, weights)):
                    dead.add(path)
                    trained = self.unused_below(module.id, path)
                    if around not in dead and trained:
                        at = module.id, self._nearest_called(module.id, around)
                        table.setdefault(at, []).append((path, trained))
        return table

    @cached_property
    def tied_unused(self) -> list[tuple[int, str, list[str]]]:
        """The topmost modules that were never called, and of which every parameter is tied to that
        of a called one: (root, path, these)."""
        found: list[tuple[int, str, list[str]]] = []
        for module in self.graph.modules:
            names = _tied_names(module)
            for path, _ in module.children:
                inside = any(r == module.id and path.startswith(f"{p}.") for r, p, _ in found)
                if inside or (module.id, path) in self._called_around:
                    continue
                others = self._partners(module.id, path, names)
                if others:
                    found.append((module.id, path, others))
        return found

    def _partners(self, root: int, path: str, names: Mapping[str, set[str]]) -> list[str]:
        """List the called modules that have all parameters of a module too; none, where one of them
        is its own."""
        own = {w.name for w in self.weights_below(root, path)} | {
            name for name in names if name.startswith(f"{path}.")
        }
        partners: dict[str, None] = {}
        for name in sorted(own):
            beside = (other.rpartition(".")[0] for other in sorted(names.get(name, ())))
            called = [other for other in beside if (root, other) in self.called]
            if not called:
                return []
            partners.update(dict.fromkeys(called))
        return list(partners)

    def _nearest_called(self, module_id: int, path: str) -> str:
        while path and (module_id, path) not in self.called:
            path = path.rpartition(".")[0]
        return path

    @cached_property
    def _called_around(self) -> set[tuple[int, str]]:
        """The modules that were called, or below which one was."""
        found = set()
        for module_id, path in self.called:
            found.add((module_id, path))
            while path:
                path = path.rpartition(".")[0]
                found.add((module_id, path))
        return found

    def _is_alive(self, module_id: int, path: str, weights: list[Weight]) -> bool:
        """Say whether a module, or one below it, was called, or a parameter there was used."""
        if (module_id, path) in self._called_around:
            return True
        return all(map(self._is_used, weights))

    def _is_used(self, weight: Weight) -> bool:
        """Say whether a parameter was read, or got a gradient: through a module that shares it."""
        is_read = weight.object_id in self.operations.uses
        return weight.fate in HAS or (is_read and not self.operations.is_only_averaged(weight))

    def unused_below(self, module_id: int, path: str) -> list[Weight]:
        """List the parameters below a module that was never called, which are not frozen and which
        no other module shares and used."""
        below = self.weights_below(module_id, path)
        return [w for w in below if w.fate is not Fate.FROZEN and not self._is_used(w)]


def _tied_names(module: Module) -> dict[str, set[str]]:
    """Return all names of each parameter of a root module that has several, by each of them."""
    by_first: dict[str, set[str]] = {}
    for other, first in module.tied:
        by_first.setdefault(first, {first}).add(other)
    return {name: names for names in by_first.values() for name in names}
