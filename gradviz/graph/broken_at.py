"""Where numbers stopped being finite, as it was read while the graph still held them. Knows no
torch."""

from __future__ import annotations

from typing import NamedTuple


class Given(NamedTuple):
    """What a node saved of what it was given, or of what it made.

    Attributes:
        name: how the node calls it: "self", "other", "exponent".
        tensor_id: the recorded tensor that it is; None where it is none, or a plain number.
        values: a few of its different values at the elements that are not finite.
        n, all: how many of its own elements are not finite, and how many it has.
    """

    name: str
    tensor_id: int | None
    values: tuple[float, ...]
    n: int
    all: int


class BrokenAt(NamedTuple):
    """A node whose result, or whose derivative, is not finite.

    Attributes:
        run: the backward.
        node_id: the node.
        by_node_id: where a backward made it, the node that ran then: the derivative of that.
        of_forward: whether its result is not finite; else its derivative.
        is_proven: whether what went in is known to be finite.
        n, all: how many elements are not finite, and how many there are.
        given: what it saved.
        masked: whether the gradients that arrived at these elements are all 0.
        suspects: of a forward, the nodes that it may have stopped being finite at: the results of
            all others on the way to the loss are known to be finite, or only theirs went in.
    """

    run: int
    node_id: int
    by_node_id: int | None
    of_forward: bool
    is_proven: bool
    n: int
    all: int
    given: tuple[Given, ...]
    masked: bool = False
    suspects: tuple[int, ...] = ()

    @property
    def inputs(self) -> tuple[Given, ...]:
        """What went in."""
        return tuple(g for g in self.given if g.name not in RESULTS)


RESULTS = "result", "output", "out"  # how a node calls what it made
