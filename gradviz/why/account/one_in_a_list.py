"""Lists that were to keep values of several moments, and that hold one tensor again and again, or
several with one memory: all of them show its newest values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch import torch_private
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import WIDTH, value_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_MEMORY = {"detach", "data", "numpy", "view", "view_as"}


def one_in_a_list(case: Case) -> Iterator[Remark]:
    """Tell of lists to which the code appends one tensor again and again."""
    for place, node in case.statements.calls("append"):
        func = node.func
        if not isinstance(func, ast.Attribute) or len(node.args) != 1:
            continue
        kept = value_of(func.value, case.names)
        n = _alike(kept) if type(kept) is list else 0
        if n < 2 or not _is_written(case, kept[0]):
            continue
        name, given = ast.unparse(func.value), ast.unparse(node.args[0])
        fields = {
            "name": name,
            "n": n,
            "statement": place.code,
            "place": case.words.line_of(place),
            "given": _without_sharing(node.args[0]),
            "value": given,
        }
        key = "one_in_a_list" if all(item is kept[0] for item in kept) else "one_memory_in_a_list"
        yield Remark(Weight.WEIGHTY, key, fields, statements=(place,))


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
