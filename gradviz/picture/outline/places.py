"""Where things stand among the modules, in short names."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.graph.module_tree import ModuleTree
from gradviz.graph.operations import Operation, Operations, Weight
from gradviz.graph.records import Cut, ModuleCall
from gradviz.words.speech import say


class Places:
    """Names places in a recording.

    Args:
        tree: of its module calls.
    """

    def __init__(self, tree: ModuleTree) -> None:
        self.tree = tree
        self.operations: Operations = tree.operations
        self.graph = tree.graph

    # --- parameters -------------------------------------------------------------------------------

    def of_weights(self, weights: Iterable[Weight]) -> list[str]:
        """Name the modules that these parameters fill, and single parameters where they fill none,
        in module order."""
        wanted = {id(w) for w in weights}
        found: dict[str, None] = {}
        for weight in self.operations.weights:
            if id(weight) in wanted:
                found[self._filled(weight, wanted)] = None
        return list(found)

    def _filled(self, weight: Weight, wanted: set[int]) -> str:
        """Return the outermost module around a parameter of which all are wanted."""
        if weight.module_id is None:
            return weight.name
        parts = weight.name.split(".")
        for end in range(len(parts)):
            path = ".".join(parts[:end])
            below = self.tree.weights_below(weight.module_id, path)
            if wanted.issuperset(map(id, below)):
                return self.full(weight.module_id, path)
        return self.full(weight.module_id, weight.name)

    def full(self, module_id: int, path: str) -> str:
        """Return a path, with the name of its root where there are several."""
        name = self.graph.modules[module_id].name
        if not path:
            return name
        return f"{name}.{path}" if len(self.graph.modules) > 1 else path

    # --- operations -------------------------------------------------------------------------------

    def inside(self, call_id: int | None) -> str:
        """Return the path of the module in whose forward a call stands; "": in none, or a root."""
        if call_id is None:
            return ""
        call = self.tree.call[call_id]
        return self.full(call.module_id, call.path) if call.path else ""

    def between(self, cut: Cut) -> str:
        """Name the modules, of those called beside a cut, that its value came from and went to."""
        call = self.graph.call[cut.call_id]
        source = self.operations.source_of(cut.input_id)
        before = self._made_in(source, call.module_call)
        after = self._used_in(self.operations.of_call.get(call.id), call.module_call)
        state = self.graph.tensor[cut.input_id]
        if not before and not after and (source is not None or state.requires_grad):
            name = state.code_name
            before = name if name.isidentifier() else ""
        return _from_to(before, after)

    def around(self, at: int) -> str:
        """Name the modules between which an operation stands."""
        outer = self.operations.all[at].call.module_call
        sources = [s for s in self.operations.all[at].sources if s is not None]
        before = [name for s in sources if (name := self._made_in(s, outer))]
        return _from_to(before[0] if before else "", self._used_in(at, outer))

    def _made_in(self, at: int | None, outer: int | None) -> str:
        """Name the module, directly below ``outer``, that a value was made in last."""
        todo, seen = [at], set[int]()
        while todo:
            one = todo.pop(0)
            if one is None or one in seen:
                continue
            seen.add(one)
            op = self.operations.all[one]
            if name := self._below(op, outer):
                return name
            todo += op.sources
        return ""

    def _used_in(self, at: int | None, outer: int | None) -> str:
        """Name the module, directly below ``outer``, that a value goes into first."""
        todo, seen = [] if at is None else [at], set[int]()
        while todo:
            one = todo.pop(0)
            if one in seen:
                continue
            seen.add(one)
            if one != at and (name := self._below(self.operations.all[one], outer)):
                return name
            todo += self.operations.users[one]
        return ""

    def _below(self, op: Operation, outer: int | None) -> str:
        call_id = self.tree.child_of(outer, op.call.module_call)
        if call_id is None or outer not in (None, *self.tree.around(op.call.module_call)):
            return ""
        if outer is None and self._is_only_root(call_id):
            return ""
        call = self.tree.call[call_id]
        start = "" if outer is None else f"{self.tree.call[outer].path}."
        return call.path.removeprefix(start) or self.graph.modules[call.module_id].name

    def _is_only_root(self, call_id: int) -> bool:
        return self.tree.children.get(None, []) == [call_id]

    def dead_end(self, weight: Weight) -> str:
        """Name the outermost module that ends where the values of a parameter ended, and of which
        nothing went into a loss."""
        uses = self.operations.uses.get(weight.key, ())
        if not uses:
            return ""
        end = max(self.operations.dead_end[at] for at in uses)
        found = ""
        for call_id in self.tree.around(self.operations.all[end].call.module_call):
            if self.operations.feeding.intersection(self.tree.below[call_id]):
                break
            call: ModuleCall = self.tree.call[call_id]
            found = self.full(call.module_id, call.path)
        return found


def _from_to(before: str, after: str) -> str:
    if before and after:
        return say("outline.goes", first=before, last=after)
    if before:
        return say("outline.behind", name=before)
    return say("outline.ahead", name=after) if after else ""
