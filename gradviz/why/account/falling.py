"""Gradients that shrink from module to module, though not so far that they are called vanishing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.facts import grouped
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.graph.records import Source
    from gradviz.why.rules.whole.case import Case

_FOLD = 1e3  # from the last module to the first, from which on it is told
_MODULES = 6  # of which it is a trend and not the scale of one
_HALVING = ("Relu", "LeakyRelu", "Elu", "Gelu", "Silu")  # let about half of the numbers through
_SATURATING = ("Tanh", "Sigmoid")
# NOTE [how wide PyTorch's own weights are]: nn.Linear and nn.Conv draw from U(-b, b) with
# b = 1 / sqrt(fan_in), so that std * sqrt(fan_in) is 1 / sqrt(3). Behind a ReLU sqrt(2) would keep
# the size of what goes through; so it shrinks by 0.4 at each layer.
_OWN_WIDTH = 3**-0.5
_NEAR = 0.2  # how far a few steps and the drawing may have moved it


def falling(case: Case) -> Iterator[Remark]:
    """Tell that the gradient shrinks steadily on its way to the first modules."""
    sizes = case.sizes
    alive = [block for block in sizes.blocks if block.norm > 0]
    norms = [block.norm for block in alive]
    if len(alive) < _MODULES or not sizes.goes_on(alive, norms, _FOLD):
        return
    nodes = [sizes.graph.node[n] for n in sizes.between(alive, norms)]
    calls = (sizes.graph.call[n.call_id] for n in nodes if n.call_id is not None)
    trend = sizes.trend(alive, norms, grows=False)
    own = _own_layers(case) if _goes_through_relu([n.name for n in nodes]) else None
    if own is None:
        yield Remark(Weight.WEIGHTY, "falls", trend, tuple(dict.fromkeys(calls)))
    else:
        fields = {
            **trend,
            "kind": own.kind,
            "n": own.n,
            "places": [case.words.source(p) for p in own.places],
        }
        yield Remark(Weight.WEIGHTY, "falls_from_own", fields, (), statements=own.places)


def _goes_through_relu(names: list[str]) -> bool:
    """Say whether activations stand between the modules, and none that saturates."""
    halving = any(name.startswith(_HALVING) for name in names)
    return halving and not any(name.startswith(_SATURATING) for name in names)


class _Own(NamedTuple):
    """Layers whose weights are as wide as PyTorch makes them.

    Attributes:
        kind: their class.
        n: how many there are.
        places: the calls that make them.
    """

    kind: str
    n: int
    places: tuple[Source, ...]


def _own_layers(case: Case) -> _Own | None:
    """Return the layers of the most frequent class with weights, where they are as wide as PyTorch
    makes them, and the code says where."""
    measured = ((type(part).__name__, _width(part)) for _, part in case.live_state.parts())
    widths = grouped((kind, width) for kind, width in measured if width is not None)
    kind, own = max(widths.items(), key=lambda pair: len(pair[1]), default=("", []))
    if len(own) < _MODULES or not all(abs(w / _OWN_WIDTH - 1) <= _NEAR for w in own):
        return None
    made = case.statements.nodes(ast.Call)
    places = tuple(source_of(file, node) for file, node in made if callee_of(node.func) == kind)
    return _Own(kind, len(own), places) if places else None


def _width(part: Any) -> float | None:
    """Return the spread of the weights of a linear or convolution layer, times the root of how many
    inputs each result has; None of other modules."""
    if not type(part).__name__.startswith(("Linear", "Conv")):
        return None
    width: float | None = read(
        lambda: float(part.weight.detach().std()) * part.weight[0].numel() ** 0.5
    )
    return width
