"""What a recording and live ``.grad`` tensors tell of the sizes of gradients, before anybody judges
them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.records import Backward, Edge, Graph, NodeKind, NodeRan
from gradviz.watch import torch_private
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded

_MOVES = ("TBackward", "TransposeBackward", "PermuteBackward", "ViewBackward", "ExpandBackward")
_NUMBER = re.compile(r"-?(?:nan|inf|\d[\d.]*(?:e[-+]?\d+)?)")


class Step(NamedTuple):
    """One node that ran, with the norms of what arrived and what it sent; None where that was not
    measured."""

    event: NodeRan
    arrived: tuple[float | None, ...]
    sent: tuple[float | None, ...]

    @property
    def sound(self) -> bool:
        """Nothing that arrived was seen to be NaN or inf."""
        return all_finite([x for x in self.arrived if x is not None])

    @property
    def clean(self) -> bool:
        """All that arrived was measured, and is finite."""
        return self.sound and _measured(self.arrived, self.event.arrived)

    @property
    def broken(self) -> bool:
        """NaN or inf arrived or was sent."""
        return not self.sound or not all_finite([x for x in self.sent if x is not None])

    @property
    def known(self) -> bool:
        """Everything was measured."""
        return _measured(self.arrived, self.event.arrived) and _measured(self.sent, self.event.sent)

    def told(self, arrived: bool) -> str:
        """One side in words."""
        e = self.event
        texts, norms = (e.arrived, e.arrived_norms) if arrived else (e.sent, e.sent_norms)
        sizes = norms or (None,) * len(texts)
        told = [f"{t} of norm {n}" if n else str(t) for t, n in zip(texts, sizes, strict=True)]
        return ", ".join(told[:2]) + (f" and {len(told) - 2} more" if len(told) > 2 else "")


def _measured(sizes: Sequence[float | None], texts: Sequence[str | None]) -> bool:
    return all(x is not None or text is None for x, text in zip(sizes, texts, strict=True))


def _step(event: NodeRan) -> Step:
    sides = (event.arrived, event.arrived_norms), (event.sent, event.sent_norms)
    arrived, sent = (
        tuple(map(_size, texts, norms or (None,) * len(texts))) for texts, norms in sides
    )
    return Step(event, arrived, sent)


def _size(text: str | None, norm: str | None) -> float | None:
    """The norm of a gradient, from its preview where that has the elements.

    >>> _size("[3, -4]", None), _size("4×4 values", "0.5"), _size("[nan, inf]", None)
    (5.0, 0.5, nan)
    >>> _size("4×4 values", None) is None
    True
    """
    values = numbers(text or "") if norm is None else [float(norm)]
    return (
        None
        if values is None
        else math.nan
        if any(map(math.isnan, values))
        else math.hypot(*values)
    )


class Block(NamedTuple):
    """What was measured of the gradients of one module's own parameters."""

    name: str
    norm: float  # of all its gradients together
    # of the one-dimensional "bias" alone: what flows back, without the size of the activations
    bias: float | None
    elements: int
    zeros: int  # exact
    broken: bool  # NaN or inf
    nan: bool
    # "float16", where its largest gradient lies below the smallest normal number of its dtype, else
    # ""
    least: str
    first: int  # where its first parameter stands in the backward, or in the mapping


class Measured:
    """The numbers of one question: per module, per node, and how the nodes lie to one another.
    Holds no tensor."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], recording: Recorded | None) -> None:
        self.graph = recording.graph if recording is not None else Graph()
        self.words, self.facts = Words(self.graph), Facts.of(self.graph)
        watched = [b for b in self.graph.backwards if b.watched and b.ran]
        self.runs = [b for b in watched if b.kind == "backward"] or watched
        self.run: Backward | None = self.runs[-1] if self.runs else None
        self.total = sum(p.requires_grad for p in parameters.values())
        nodes_of_run = self.facts.nodes_of_run.items()
        self.steps = {run: list(map(_step, events)) for run, events in nodes_of_run}
        self.ran = self.steps.get(self.run.run, []) if self.run else []
        place = {n: i for i, n in enumerate(self.run.ran)} if self.run else {}
        own = self.facts.accumulate_node
        self.node: dict[str, list[int]] = {}  # AccumulateGrad nodes by module
        groups: dict[str, list[tuple[str, torch.Tensor]]] = {}
        for name, p in parameters.items():
            module, _, last = name.rpartition(".")
            state = recording.find(p) if recording is not None else None
            if state is not None and own.get(state.object_id) in place:
                self.node.setdefault(module, []).append(own[state.object_id])
            if p.is_leaf and p.requires_grad and p.grad is not None:
                groups.setdefault(module, []).append((last, p.grad))
        self.received = sum(map(len, groups.values()))
        self.known = bool(groups) and groups.keys() <= self.node.keys()
        blocks = [
            _measure(m, g, -i if not self.known else min(place[n] for n in self.node[m]))
            for i, (m, g) in enumerate(groups.items())
        ]
        # from the loss to the input
        self.blocks = sorted((b for b in blocks if b is not None), key=lambda b: b.first)
        self.unread = len(blocks) - len(self.blocks)

    def lost(self, run: Backward) -> list[float]:
        """What the loss was, if it was NaN or inf."""
        roots = [self.graph.tensor[i] for i in self.graph.call[run.call_id].inputs[:1]]
        values = [v for t in roots for v in numbers(t.values or "") or ()]
        return [] if all_finite(values) else values

    def tiny(self, step: Step) -> tuple[str, str] | None:
        """A gradient that arrived below the smallest normal number of its tensor's dtype, and the
        dtype."""
        for nr, text in enumerate(step.event.arrived):
            values = [abs(v) for v in numbers(text or "") or () if v]
            largest, dtype = (
                max(values) if values else step.arrived[nr],
                self.dtype_at(step.event.node_id, nr),
            )
            if largest and dtype and text and largest < least_normal(dtype):
                return step.told(True), dtype
        return None

    def dtype_at(self, node_id: int, output: int) -> str | None:
        tensor = self.facts.first_at.get((node_id, output))
        return tensor.dtype if tensor else None

    def flow(self, block: Block) -> float | None:
        """The norm of what arrives at the module's output: its largest, where it was used several
        times."""
        if self.run is None:
            return None
        users = self.users(self.node.get(block.name, ()))
        sizes = [self.sizes[n] for n in users if n in self.sizes]
        return max(sizes) if sizes and len(sizes) == len(users) else None

    def to_leaf(self, node_id: int) -> bool:
        """Is this a leaf's node, or the transposition in front of it?"""
        while self.graph.node[node_id].name.startswith(_MOVES) and (
            edges := self.graph.edges_from.get(node_id)
        ):
            if edges[0].next_node_id is None:
                break
            node_id = edges[0].next_node_id
        return self.graph.node[node_id].kind is NodeKind.ACCUMULATE_GRAD

    @cached_property
    def sizes(self) -> dict[int, float]:
        """What arrived at each node that has one output."""
        found = {s.event.node_id: s.arrived[0] for s in self.ran if len(s.arrived) == 1}
        return {n: x for n, x in found.items() if x is not None}

    def factors(self) -> dict[tuple[int, int], float]:
        """What a node multiplies the gradient's norm by along an edge, where both sides were
        measured."""
        found = {}
        for step in self.ran:
            given = step.arrived[0] if len(step.arrived) == 1 else None
            for index, sent in enumerate(step.sent):
                if given and sent and math.isfinite(given) and math.isfinite(sent):
                    found[step.event.node_id, index] = sent / given
        return found

    def leads(self, late: Block, early: Block) -> bool:
        """Does the gradient pass the later module on its way to the earlier one?"""
        users = self.users(self.node[late.name])
        return not self.facts.reachable(users).isdisjoint(self.node[early.name])

    def users(self, nodes: Iterable[int]) -> set[int]:
        """The nodes that use the parameters of these AccumulateGrads."""
        return {self.user(e) for n in nodes for e in self.facts.edges_into.get(n, ())}

    def user(self, edge: Edge) -> int:
        """The node that uses a parameter; of a linear layer's weight that is behind a
        transposition."""
        edges_from, into = self.graph.edges_from, self.facts.edges_into
        while len(edges_from.get(edge.node_id, ())) == 1 and len(into.get(edge.node_id, ())) == 1:
            edge = into[edge.node_id][0]
        return edge.node_id

    def between(self, blocks: list[Block], sizes: list[float]) -> tuple[int, ...]:
        """The nodes that ran between the two neighbouring modules whose sizes differ most."""
        if not self.known or self.run is None:
            return ()
        steps = [a / b for a, b in pairwise(sizes)]
        at = steps.index(max(steps))
        nodes = [self.graph.node[n] for n in self.run.ran[blocks[at].first : blocks[at + 1].first]]
        return tuple(
            n.id for n in nodes if n.kind is not NodeKind.ACCUMULATE_GRAD and n.name != "TBackward0"
        )


def _measure(name: str, grads: list[tuple[str, torch.Tensor]], first: int) -> Block | None:
    """Read gradients once; None where they cannot be read (meta, fake, a subclass that refuses)."""
    try:
        square, elements, zeros, nan, broken, bias, least = 0.0, 0, 0, False, False, None, ""
        for last, given in grads:
            grad = given.detach().coalesce().values() if given.is_sparse else given.detach()
            norm = float(torch.linalg.vector_norm(grad, dtype=torch.float64))
            square, elements, zeros = (
                square + norm * norm,
                elements + grad.numel(),
                zeros + int((grad == 0).sum()),
            )
            nan = nan or bool(grad.isnan().any())
            broken = broken or not bool(grad.isfinite().all())
            bias = norm if last == "bias" and grad.dim() == 1 else bias
            if norm > 0 and not broken and float(grad.abs().max()) < torch.finfo(grad.dtype).tiny:
                least = str(grad.dtype).removeprefix("torch.")
    except Exception:
        return None
    return Block(name, math.sqrt(square), bias, elements, zeros, broken, nan, least, first)


def numbers(preview: str) -> list[float] | None:
    """The numbers of a preview; None where it holds only a shape.

    >>> numbers("[[1, 0.5], [nan, -2e-07]]"), numbers("16×8 values")
    ([1.0, 0.5, nan, -2e-07], None)
    """
    if (
        not preview
        or "value" in preview
        or "j" in preview
        or "e" in re.sub(r"\de[-+]\d", "", preview)
    ):
        return None
    return [float(text) for text in _NUMBER.findall(preview)]


def all_finite(values: list[float]) -> bool:
    return all(map(math.isfinite, values))


def least_normal(dtype: str) -> float:
    kind = torch_private.dtype_called(dtype)
    return float(torch.finfo(kind).tiny) if kind is not None and kind.is_floating_point else 0.0
