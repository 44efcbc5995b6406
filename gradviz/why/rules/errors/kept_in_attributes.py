"""Backward a second time through what an earlier iteration of a loop left in an attribute, whose
method computes with it under a variable of its own. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradviz.graph.facts import site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, ModuleCall, Source
from gradviz.names.bindings import scope_of
from gradviz.names.frames import keepers, names_in, place_of_keeper
from gradviz.names.position import dotted, part_written
from gradviz.why.rules.errors.carried_over import (
    Carried,
    names_of_carried,
    unbound_from_earlier,
)
from gradviz.why.rules.errors.detaching import each_of
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


class _Keeper(NamedTuple):
    """The statement of a module's method that keeps a result in an attribute which is read again.

    Attributes:
        place: the statement, to be told at.
        node: its syntax node.
        name: the attribute, as the method writes it.
    """

    place: Call
    node: Any
    name: str

    @property
    def attribute(self) -> str:
        """The attribute without what it is one of."""
        return self.name.rpartition(".")[2]

    @property
    def kind(self) -> str:
        """The class that has the method; "" outside of classes."""
        scope = self.node
        while scope is not None and not isinstance(scope, ast.ClassDef):
            scope = getattr(scope, "parent", None)
        return "" if scope is None else str(scope.name)


def kept_in_an_attribute(failure: Failure) -> Explanation | None:
    """Tell of an attribute that a module's method fills in each iteration, and reads in the next
    one, with a variable of its own between."""
    found = unbound_from_earlier(failure)
    if found is None or any("." in name for name in names_of_carried(failure, found.every)):
        return None
    every, node, first = found
    keeper = _keeper_of(failure, every[0].maker)
    runs = [] if keeper is None else _runs_of(failure, keeper.kind, every[0].reader, first)
    if keeper is None or not runs:
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "carried_in_attribute",
        calls=[keeper.place],
        also_at=[every[0].reader, first],
        tensors=[one.tensor for one in every],
        nodes=[node],
        name=keeper.name,
        node=failure.made_by(node),
        first=failure.written(first),
        keeper=failure.code(keeper.place, LINE),
        mends=_mends(failure, keeper, every, runs),
    )


def _keeper_of(failure: Failure, maker: Call) -> _Keeper | None:
    """Return the statement that keeps what a call made in an attribute which its own method reads
    too."""
    if failure.statements is None:
        return None
    for frame, line, code in keepers(maker):
        found = failure.statements.node_at(Source(frame.file, line, code))
        if found is None:
            continue
        for name in names_in(code)[0]:
            if name.startswith("self.") and _reads(scope_of(found[1]), name):
                place = place_of_keeper(maker, frame, line, code)
                return _Keeper(place, found[1], name)
    return None


def _reads(scope: Any, name: str) -> bool:
    """Say whether a function reads an attribute."""
    nodes = (node for node in ast.walk(scope) if isinstance(node, ast.Attribute))
    return any(isinstance(node.ctx, ast.Load) and dotted(node) == name for node in nodes)


def _runs_of(failure: Failure, kind: str, reader: Call, first: Call) -> list[ModuleCall]:
    """Return the calls of the module of a class around a reader that ran for the backward which
    raised, the outermost of the reader's own first; none where that is no module."""
    facts = failure.facts
    around = [facts.module_call[i] for i in facts.module_calls_around(reader.module_call)]
    owner = next((call for call in around if call.kind == kind), None)
    if owner is None or failure.call is None:
        return []
    same = [c for c in failure.calls_between(first, failure.call) if site_of(c) == site_of(reader)]
    ran = {i for call in same for i in facts.module_calls_around(call.module_call)}
    runs = (facts.module_call[i] for i in sorted(ran))
    return [run for run in runs if (run.module_id, run.path) == (owner.module_id, owner.path)]


def _mends(
    failure: Failure, keeper: _Keeper, every: list[Carried], runs: list[ModuleCall]
) -> list[str]:
    """Say where the attribute is detached, and how it is forgotten, where it begins with None."""
    owner = _name_of(failure, runs[0])
    mends = [_detached(failure, keeper, len(every), owner if len(runs) > 1 else None)]
    if owner and _begins_with_none(failure, keeper):
        mends.append(say("raised.forgotten", anew=Code(f"{owner}.{keeper.attribute} = None")))
    return mends


def _detached(failure: Failure, keeper: _Keeper, n: int, owner: str | None) -> str:
    """Say where the attribute is detached: where it is kept; in a module that runs several times
    before each backward below that.

    Args:
        failure: the error.
        keeper: the statement that keeps it.
        n: how many tensors it holds.
        owner: what the program calls such a module, "" where that is not known; None of another.
    """
    if owner == "":
        below = failure.written(failure.call)
        return say("raised.detached_of", name=Code(keeper.name), kind=keeper.kind, below=below)
    anew = "" if owner else _kept_anew(keeper.node, keeper.name, n)
    if anew:
        return say("raised.kept_detached", anew=anew, keeper=failure.written(keeper.place))
    name = f"{owner}.{keeper.attribute}" if owner else keeper.name
    detached = Code(f"{name} = {each_of(name) if n > 1 else name + '.detach()'}")
    below = failure.written(failure.call if owner else keeper.place)
    return say("raised.detached_below", anew=detached, below=below)


def _kept_anew(node: Any, name: str, n: int) -> str:
    """Return the statement that keeps variables in an attribute, with each of them detached; "" for
    a statement of another kind."""
    value = getattr(node, "value", None)
    if isinstance(value, ast.Name):
        return Code(f"{name} = {each_of(value.id) if n > 1 else value.id + '.detach()'}")
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if not parts or not all(isinstance(part, ast.Name) for part in parts):
        return ""
    if dotted(node.targets[0]) != name:
        return ""
    return Code(f"{name} = ({', '.join(ast.unparse(part) + '.detach()' for part in parts)})")


def _name_of(failure: Failure, run: ModuleCall) -> str:
    """Return what the program calls a module that ran; "" where that is no variable."""
    root = next((m.name for m in failure.graph.modules if m.id == run.module_id), "")
    is_variable = root.isidentifier() and root != run.kind
    return part_written(root, run.path) if is_variable else ""


def _begins_with_none(failure: Failure, keeper: _Keeper) -> bool:
    """Say whether the program gives the attribute None somewhere: as its first iteration has it."""
    sets = [] if failure.statements is None else failure.statements.sets(keeper.attribute)
    values = (node.value for _, node in sets)
    return any(isinstance(value, ast.Constant) and value.value is None for value in values)
