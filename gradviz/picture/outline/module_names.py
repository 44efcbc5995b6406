"""What modules are called in an outline: their paths, without what is around them and opened."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.graph.parameter_groups import side_by_side
from gradviz.graph.records import ModuleCall
from gradviz.picture.outline.units import Expansion
from gradviz.words.speech import say


class ModuleNames:
    """The names of the modules of a recording, as an outline of it says them.

    Args:
        expansion: of the recording.
    """

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.tree = expansion.tree
        self.modules = expansion.operations.graph.modules

    def numbered(self, calls: list[ModuleCall]) -> str:
        """Return the name of modules that one list numbers, as "layer2.{0,1}"; "" for others."""
        names = list(dict.fromkeys(self.short(call) for call in calls))
        are_numbered = all(name.rpartition(".")[2].isdigit() for name in names)
        return (side_by_side(names) if are_numbered and len(names) > 1 else None) or ""

    def written(self, call: ModuleCall) -> str:
        """Return a call of a root module as the user wrote it, with what it is bound to."""
        if call.source is None or call.code is None:
            return self.short(call)
        root = self.modules[call.module_id].name
        if not call.code.startswith(f"{root}("):  # a parameter of a function: ``fn(x)``
            return root
        return call.source.code or call.code

    def range(self, calls: list[ModuleCall]) -> str:
        """Return the name of several modules: "h.{0..4}", or "experts.{0,1,3}"."""
        names = [self.short(c) for c in calls]
        if len(set(names)) == 1:  # one variable of a loop over several modules
            return names[0]
        name = side_by_side(names)
        return name or say("outline.from_to", first=names[0], last=names[-1])

    def short(self, call: ModuleCall) -> str:
        """Return the path of a module without those around it that are opened."""
        if not call.path:
            return self.modules[call.module_id].name
        return self.relative(call.module_id, call.path)

    def relative(self, module_id: int, path: str) -> str:
        """Return a path below a root module without the longest part of it that is opened and can
        be left out."""
        inside = [
            self.tree.call[i].path
            for i in self.expansion.is_open
            if self.tree.call[i].module_id == module_id and self.tree.call[i].path
        ]
        around = [p for p in inside if path.startswith(f"{p}.")]
        for prefix in sorted(around, key=len, reverse=True):
            short = path.removeprefix(f"{prefix}.")
            if not self._means_another(module_id, short, path, inside):
                return short
        return self._in_a_list(module_id, path)

    def _in_a_list(self, module_id: int, path: str) -> str:
        """Return a path below a list or dict of modules, which nobody calls, with the name of that:
        a number alone tells nothing."""
        root = self.modules[module_id]
        return f"{root.name}.{path}" if root.kind in ("ModuleList", "ModuleDict") else path

    def _means_another(self, module_id: int, short: str, path: str, inside: list[str]) -> bool:
        """Say whether a shortened path is also what another module is called."""
        called = self.tree.called
        return any(
            other != path and (module_id, other) in called
            for other in (short, *(f"{prefix}.{short}" for prefix in inside))
        )


def are_one_module(calls: Iterable[ModuleCall]) -> bool:
    """Say whether these are calls of the same module."""
    return len({(call.module_id, call.path) for call in calls}) == 1
