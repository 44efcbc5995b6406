"""States that a recurrent layer returns and that are kept where nothing reads them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.records import Source
from gradviz.names.statements import Statements, source_of
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
