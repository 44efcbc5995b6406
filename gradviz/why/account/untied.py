"""Parameters that begin as copies of others and are trained beside them: weights that were to be
tied, perhaps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradviz.graph.records import Source
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of, dotted
from gradviz.names.statements import makes_parameter, source_of
from gradviz.watch.identity import named_parameters
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_COPIES = {"clone", "detach", "data"}


def untied(case: Case) -> Iterator[Remark]:
    """Tell of statements ``self.b.weight = nn.Parameter(self.a.weight.clone())`` whose two
    parameters steps move, each by its own gradient."""
    for file, node in case.statements.nodes(ast.Assign):
        target, source = dotted(node.targets[0]) or "", _copied_from(node.value)
        if not source or "." not in target or "." not in source:
            continue
        pair = [_stepped(case, path.removeprefix("self.")) for path in (target, source)]
        if None in pair:
            continue
        place = source_of(file, node)
        fields = {
            "code": place.code,
            "place": case.words.line_of(place),
            "target": target,
            "source": source,
        }
        objects = frozenset(i for i in pair if i is not None)
        yield Remark(Weight.NOTABLE, "untied", fields, objects=objects, statements=(place,))


def untied_again(case: Case) -> Iterator[Remark]:
    """Tell of parameters that ``self.b.weight = self.a.weight`` made one, and of which a later
    statement gave one place a parameter of its own: steps move each by its own gradient."""
    every = [(f, n, dotted(n.targets[0]) or "") for f, n in case.statements.nodes(ast.Assign)]
    for file, node, target in every:
        pair = _tied(case, target, dotted(node.value) or "")
        if pair is None:
            continue
        ends = (target, dotted(node.value) or "")
        again = [source_of(f, n) for f, n, t in every if n is not node and _is_anew(n, t, ends)]
        if len(again) == 1:
            yield _told_again(case, source_of(file, node), again[0], ends, pair)


def _tied(case: Case, target: str, source: str) -> frozenset[int] | None:
    """Return the two parameters, by object id, that stand at two paths, where steps moved both;
    None where there are no two."""
    if "." not in target or "." not in source:
        return None
    pair = {_stepped(case, path.removeprefix("self.")) for path in (target, source)}
    found = frozenset(i for i in pair if i is not None)
    return found if len(found) == 2 else None


def _told_again(
    case: Case, tie: Source, anew: Source, ends: tuple[str, str], pair: frozenset[int]
) -> Remark:
    """Tell of a statement that ties two places, and of one that gives a place its own again."""
    fields = {
        "code": anew.code,
        "place": case.words.line_of(anew),
        "tie": tie.code,
        "at": case.words.line_of(tie),
        "target": ends[0],
        "source": ends[1],
    }
    return Remark(Weight.WEIGHTY, "untied_again", fields, objects=pair, statements=(anew, tie))


def _is_anew(node: ast.Assign, given: str, ends: tuple[str, str]) -> bool:
    """Say whether a statement gives one of two tied places a new parameter, or the module in which
    it stands a new one: ``net.embed = nn.Embedding(…)``."""
    if not isinstance(node.value, ast.Call):
        return False
    name = f".{given.removeprefix('self.')}"
    places = [f".{path.removeprefix('self.')}" for path in ends]
    wholes = [path for path in (*places, *(p.rpartition(".")[0] for p in places)) if path]
    is_one = any(name.endswith(path) for path in wholes)
    in_constructor = getattr(scope_of(node), "name", "") == "__init__"
    return is_one and not in_constructor


def _copied_from(value: ast.expr) -> str:
    """Return the parameter of whose copy an expression makes another one; "" of others."""
    node: Any = value.args[0] if makes_parameter(value) and value.args else None  # type: ignore[attr-defined]
    is_copy = False
    while node is not None:
        if isinstance(node, ast.Call) and callee_of(node.func) in _COPIES:
            is_copy = is_copy or callee_of(node.func) == "clone"
            node = getattr(node.func, "value", None)
        elif isinstance(node, ast.Attribute) and node.attr in _COPIES:
            node = node.value
        else:
            return (dotted(node) or "") if is_copy else ""
    return ""


def _stepped(case: Case, path: str) -> int | None:
    """Return the one parameter of a known network that has a path there, as an object id, where a
    step moved it."""
    every = map(named_parameters, case.known_modules)
    found = {id(p): p for rows in every for n, p in rows if f".{n}".endswith(f".{path}")}
    if len(found) != 1:
        return None
    object_id = case.live_state.object_of(next(iter(found.values())))
    return object_id if object_id in case.training.sums_used else None
