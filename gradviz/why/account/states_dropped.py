"""States that a recurrent layer returns and that are kept where nothing reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.records import Call, Source
from gradviz.names.position import callee_of, statement_or_head
from gradviz.names.statements import Statements, loop_around, source_of
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def states_dropped(case: Case) -> Iterator[Remark]:
    """Tell of statements ``out, self.hidden = self.lstm(x)``: the layer is given no state, and
    nothing reads the attribute that keeps what it returned."""
    modules = [m for whole in case.known_modules for m in whole.modules()]
    layers = {
        name: part
        for module in modules
        for name, part in module.named_children()
        if isinstance(part, torch.nn.RNNBase)
    }
    for place, name, kept in _called_without(case.statements, layers) if layers else ():
        fields = {"layer": f"self.{name}", "kept": kept, "place": case.words.line_of(place)}
        yield Remark(Weight.IN_VAIN, "state_dropped", fields, statements=(place,))


def _called_without(
    statements: Statements, layers: dict[str, Any]
) -> Iterator[tuple[Source, str, str]]:
    """Yield the statements that call such a layer with its input alone, with its name and the
    attribute that is given its state and never read."""
    read = {n.attr for _, n in statements.nodes(ast.Attribute) if isinstance(n.ctx, ast.Load)}
    for file, node in statements.nodes(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or not target.elts:
            continue
        function, state = call.func, target.elts[-1]
        if not isinstance(function, ast.Attribute) or not isinstance(state, ast.Attribute):
            continue
        alone = len(call.args) == 1 and not call.keywords
        if alone and function.attr in layers and state.attr not in read:
            yield source_of(file, node), function.attr, ast.unparse(state)


def cells_without_state(case: Case) -> Iterator[Remark]:
    """Tell of recurrent cells that a loop gives their input alone, and whose result it gives a
    name that it does not read before the next one: each call begins at a state of zeros."""
    cells = {
        name
        for whole in case.known_modules
        for module in whole.modules()
        for name, part in module.named_children()
        if isinstance(part, torch.nn.RNNCellBase)
    }
    for file, call in _calls(case.statements) if cells else ():
        statement, loop = statement_or_head(call), loop_around(call)
        is_alone = len(call.args) == 1 and not call.keywords
        if callee_of(call.func) not in cells or not is_alone or loop is None:
            continue
        if not isinstance(statement, ast.Assign) or statement.value is not call:
            continue
        place = source_of(file, statement)
        state = ast.unparse(statement.targets[0])
        at = [c for c in case.facts.ordinary_calls if _stands_at(c, place)]
        fields = {
            "cell": ast.unparse(call.func),
            "code": place.code,
            "place": case.words.line_of(place),
            "state": state,
            "given": ast.unparse(call.args[0]),
        }
        yield Remark(
            Weight.IN_VAIN, "cell_without_state", fields, tuple(at[-1:]), statements=(place,)
        )


def _calls(statements: Statements) -> Iterator[tuple[Any, ast.Call]]:
    """Yield the calls of the code that ran, each with its file."""
    yield from statements.nodes(ast.Call)


def _stands_at(call: Call, place: Source) -> bool:
    """Say whether a call stands in the line of a statement."""
    return call.source is not None and call.source[:2] == place[:2]
