"""Lists that were to keep values of several moments, and that hold one tensor again and again, or
several with one memory: all of them show its newest values."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.records import Source
from gradviz.watch import torch_private
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import WIDTH, value_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_MEMORY = {"detach", "data", "numpy", "view", "view_as"}


def one_in_a_list(case: Case) -> Iterator[Remark]:
    """Tell of lists to which the code appends one tensor again and again, by itself or in a tuple
    with others."""
    for place, node in case.statements.calls("append"):
        func = node.func
        if not isinstance(func, ast.Attribute) or len(node.args) != 1:
            continue
        kept = _kept(value_of(func.value, case.names))
        for given, column in _columns(kept, node.args[0]):
            n = _alike(column)
            if n > 1 and _is_written(case, column[0]):
                yield _told(case, place, ast.unparse(func.value), given, column)
                break


def _told(case: Case, place: Source, name: str, given: ast.expr, column: list[Any]) -> Remark:
    """Tell of one such list, and what is appended."""
    fields = {
        "name": name,
        "n": len(column),
        "statement": place.code,
        "place": case.words.line_of(place),
        "given": _without_sharing(given),
        "value": ast.unparse(given),
    }
    key = "one_in_a_list" if all(item is column[0] for item in column) else "one_memory_in_a_list"
    return Remark(Weight.IN_VAIN, key, fields, statements=(place,))


def _kept(value: Any) -> list[Any]:
    """Return what a list or a deque holds; nothing of anything else."""
    return list(value)[:WIDTH] if type(value) in (list, deque) else []


def _columns(kept: list[Any], given: ast.expr) -> Iterator[tuple[ast.expr, list[Any]]]:
    """Yield what stands at each place of what is appended, and all of its values: of single values
    one row, of tuples one for each place."""
    if not isinstance(given, ast.Tuple):
        yield given, kept
    elif kept and all(type(row) is tuple and len(row) == len(given.elts) for row in kept):
        yield from zip(given.elts, map(list, zip(*kept, strict=True)), strict=True)


def _alike(kept: list[Any]) -> int:
    """Return how many tensors a list holds, where all have the same memory; else 0."""
    items = kept[:WIDTH]
    if not items or not all(issubclass(type(item), torch.Tensor) for item in items):
        return 0
    if all(item is items[0] for item in items):
        return len(items)
    places = {torch_private.storage_range(item) for item in items}
    return len(items) if len(places) == 1 and None not in places else 0


def _is_written(case: Case, tensor: Any) -> bool:
    """Say whether the memory of a tensor was written, as far as that was recorded: else each of
    its places shows what it was to show."""
    state = case.recording.find(tensor) if case.recording else None
    if state is None:
        return False
    events = (e for e in case.facts.writes if case.facts.writes_memory(e))
    after = (case.graph.tensor[e.after_id] for e in events)
    return any(t.storage_id == state.storage_id for t in after)


def _without_sharing(given: ast.expr) -> str:
    """Return an expression without the part at its end that shares memory."""
    part = given.func if isinstance(given, ast.Call) else given
    if isinstance(part, ast.Attribute) and part.attr in _MEMORY:
        return ast.unparse(part.value)
    return ast.unparse(given)
