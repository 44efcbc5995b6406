"""Checkpoints of which a model took nothing: no name in them is one of the model's, and
``strict=False`` passes over that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.reading import value_of
from gradviz.why.code.still import names_the_same
from gradviz.words.speech import Code, say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def nothing_loaded(case: Case) -> Iterator[Remark]:
    """Tell of each ``model.load_state_dict(state, strict=False)`` with a mapping that has none of
    the model's names, where the statement does not look at what the call returns."""
    for place, node in case.statements.calls("load_state_dict"):
        model, state = value_of(node.func.value, case.names), _given(case, node)  # type: ignore[attr-defined]
        if not _mean_the_same(case, node):
            continue
        if not _is_lenient(node) or not isinstance(getattr(node, "parent", None), ast.Expr):
            continue
        names = _names_of(model)
        if not names or not state or names & state.keys():
            continue
        fields = {
            "statement": place.code,
            "place": case.words.line_of(place),
            "n": len(state),
            "one": Code(repr(next(iter(state)))),
            "own": Code(repr(min(names))),
            "mend": _mend(ast.unparse(node.args[0]), names, state),
        }
        yield Remark(Weight.IN_VAIN, "nothing_loaded", fields, statements=(place,))


def _mean_the_same(case: Case, node: ast.Call) -> bool:
    """Say whether the model and the mapping of a call are known as they were there."""
    words = [node.func.value, *node.args[:1]]  # type: ignore[attr-defined]
    return all(names_the_same(case.statements, word) for word in words)


def _given(case: Case, node: ast.Call) -> dict[str, Any]:
    """Return the mapping that a call is given; an empty one where that is not known."""
    value: Any = value_of(node.args[0], case.names) if node.args else None
    if not issubclass(type(value), dict):
        return {}
    return {key: kept for key, kept in dict.items(value) if type(key) is str}


def _is_lenient(node: ast.Call) -> bool:
    """Say whether a call passes over names that are missing: ``strict=False``."""
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "strict")]
    return [ast.unparse(value) for value in given] == ["False"]


def _names_of(model: Any) -> set[str]:
    """Return the names of what a module saves; none of anything else."""
    if not issubclass(type(model), torch.nn.Module):
        return set()
    return set(read(lambda: [*model.state_dict()]) or ())


def _mend(code: str, names: set[str], state: dict[str, Any]) -> str:
    """Say how the names can be made to meet, as far as that is known."""
    for key, value in state.items():
        if issubclass(type(value), dict) and names & dict.keys(value):
            return say("account.loaded_inside", code=Code(f"{code}[{key!r}]"))
    for prefix in _first_parts(state):
        if names & {key.removeprefix(prefix) for key in state}:
            anew = f"{{k.removeprefix({prefix!r}): v for k, v in {code}.items()}}"
            return say("account.loaded_renamed", code=Code(anew))
    for prefix in _first_parts(dict.fromkeys(names)):
        if names & {f"{prefix}{key}" for key in state}:
            anew = f"{{{prefix!r} + k: v for k, v in {code}.items()}}"
            return say("account.loaded_renamed", code=Code(anew))
    return say("account.loaded_strictly")


def _first_parts(names: dict[str, Any]) -> list[str]:
    """Return what stands before the first dot of each name, with that, each once."""
    return list(dict.fromkeys(f"{name.partition('.')[0]}." for name in names if "." in name))
