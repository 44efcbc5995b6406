"""Plain tensors of a module that ``state_dict()`` leaves out: a model that is loaded from another
one of its class has others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.code.still import names_the_same
from gradviz.why.question.failing import Spot, parts_of_module
from gradviz.why.rules.many import pattern

if TYPE_CHECKING:
    from gradviz.graph.records import Source
    from gradviz.why.rules.whole.case import Case


def not_saved(case: Case) -> Iterator[Remark]:
    """Tell of the plain tensors in which two models of one class differ, the one of which was
    loaded from a ``state_dict()``: that does not hold them."""
    by_name = {case.called.get(id(m)): m for m in case.known_modules}
    for place, node in case.statements.calls("load_state_dict"):
        owner = ast.unparse(node.func.value)  # type: ignore[attr-defined]
        loaded = by_name.get(owner)
        twins = [m for m in case.known_modules if type(m) is type(loaded) and m is not loaded]
        is_meant = names_the_same(case.statements, node.func.value)  # type: ignore[attr-defined]
        if loaded is None or len(twins) != 1 or not is_meant:
            continue
        other = case.called.get(id(twins[0])) or type(loaded).__name__
        differing = _differing(_plain(owner, loaded), _plain(other, twins[0]))
        differing = [spot for spot in differing if not _is_made_anew(case, spot)]
        if differing:
            yield _told(case, place, other, differing)


def _told(case: Case, place: Source, other: str, differing: list[Spot]) -> Remark:
    """Tell of some plain tensors in which a model that was loaded differs from another one."""
    made = [source for spot in differing for source in spot.source]
    attributes = [spot.attribute for spot in differing]
    later = [source for name in attributes for source, _ in case.statements.sets(name)]
    fields = {
        "names": pattern([spot.name for spot in differing]),
        "n": len(differing),
        "other": other,
        "code": place.code,
        "place": case.words.line_of(place),
        "attribute": attributes[0],
        "places": [case.words.line_of(source) for source in dict.fromkeys(made or later)],
    }
    statements = tuple(dict.fromkeys([place, *made, *later]))
    return Remark(Weight.WEIGHTY, "not_saved", fields, statements=statements)


def _differing(here: dict[str, tuple[Spot, Any]], there: dict[str, Any]) -> list[Spot]:
    """Return the plain tensors of a model that have other numbers than those of another one."""
    return [
        spot
        for name, (spot, value) in here.items()
        if name in there and read(partial(torch.equal, value, there[name][1])) is False
    ]


def _is_made_anew(case: Case, spot: Spot) -> bool:
    """Say whether a forward gives an attribute its tensor: what it leaves there in each call, as
    attention weights to look at, is no state."""
    return any(
        _method_around(node) == "forward" for _, node in case.statements.sets(spot.attribute)
    )


def _method_around(node: Any) -> str:
    """Return the name of the function in which a statement stands; "" of a file's own."""
    while node is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        node = getattr(node, "parent", None)
    return "" if node is None else node.name


def _plain(word: str, module: Any) -> dict[str, tuple[Spot, Any]]:
    """Return the plain tensors of a module by their path in it, those with a history left out."""
    found = parts_of_module(word, module)
    return {
        spot.name.removeprefix(f"{word}."): (spot, value)
        for spot, value in found
        if spot.form == "tensor" and value.is_floating_point() and not value.requires_grad
    }
