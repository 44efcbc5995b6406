"""Lists and mappings that keep the same weights again and again: each of their entries is the live
memory, and shows what was stepped to last."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.records import Source
from gradviz.names.position import statement_or_head
from gradviz.names.statements import source_of
from gradviz.watch import torch_private
from gradviz.watch.identity import named_parameters, read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_ENTRIES = 1000  # of one list, at most
_CONTAINERS = (list, tuple, dict)
_KEEPING = {"append", "insert", "setdefault"}


def kept_again(case: Case) -> Iterator[Remark]:
    """Tell of each variable that keeps, in several entries, plain tensors in the memory of one
    parameter that steps moved."""
    weights = {
        place: (name, p) for name, p in _moved(case).items() if (place := _place_of(p)) is not None
    }
    for name, entries in _entries(case).items() if weights else ():
        found = _several_times(entries, weights)
        if not found:
            continue
        places = _where_kept(case, name)
        fields = {
            "name": name,
            "weights": pattern([weights[place][0] for place in found]),
            "places": [case.words.source(place) for place in places],
        }
        objects = map(case.live_state.object_of, (weights[place][1] for place in found))
        yield Remark(
            Weight.IN_VAIN,
            "kept_again",
            fields,
            (),
            frozenset(i for i in objects if i is not None),
            tuple(places),
        )


def _moved(case: Case) -> dict[str, torch.Tensor]:
    """Return the parameters of the known models that steps moved, by name."""
    moved = {leaf for leaf, used in case.training.sums_used.items() if used}
    named = {
        f"{case.called.get(id(module)) or type(module).__name__}.{name}": p
        for module in case.known_modules
        for name, p in named_parameters(module)
    }
    return {name: p for name, p in named.items() if case.live_state.object_of(p) in moved}


def _place_of(tensor: torch.Tensor) -> object | None:
    """Return where in which memory a tensor lies."""
    key = torch_private.storage_key(tensor)
    if key is None:
        return None
    offset = read(tensor.storage_offset)
    return None if offset is None else (key, offset, tensor.shape)


def _entries(case: Case) -> dict[str, list[Any]]:
    """Return what each list or mapping holds that is known: whole, or by its entries,
    ``states[0]``."""
    found = dict[str, list[Any]]()
    for name, value in case.names.items():
        owner, bracket, _ = name.rpartition("[")
        if bracket and name.endswith("]") and owner not in case.names:
            found.setdefault(owner, []).append(value)
        elif type(value) in (list, tuple, dict):
            inner = value.values() if isinstance(value, dict) else value
            found[name] = list(islice(inner, _ENTRIES))
    return found


def _several_times(entries: list[Any], places: Iterable[object]) -> dict[object, int]:
    """Return in how many of some entries a plain tensor lies at each of some places, of those at
    which it does in more than one."""
    met = dict[object, int]()
    for entry in entries:
        for place in {_place_of(t) for t in _tensors_in(entry)}:
            met[place] = met.get(place, 0) + 1
    return {place: met[place] for place in places if met.get(place, 0) > 1}


def _tensors_in(entry: Any, depth: int = 2) -> Iterator[torch.Tensor]:
    """Yield what of an entry is a tensor that asks for no gradient: itself, or what it holds."""
    if isinstance(entry, torch.Tensor):
        if not entry.requires_grad:
            yield entry
    elif depth and isinstance(entry, _CONTAINERS):
        inner = entry.values() if isinstance(entry, dict) else entry
        for value in islice(inner, _ENTRIES):
            yield from _tensors_in(value, depth - 1)


def _where_kept(case: Case, name: str) -> list[Source]:
    """Return the statements that put something into a variable's list or mapping."""
    found = []
    for file, node in case.statements.nodes((ast.Call, ast.Assign)):
        owner = None
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            owner = target.value if isinstance(target, ast.Subscript) else None
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
            owner = node.func.value
        if isinstance(owner, ast.Name) and owner.id == name:
            found.append(source_of(file, statement_or_head(node) or node))
    return list(dict.fromkeys(found))
