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
from gradviz.graph.preview import unread
from gradviz.graph.records import Backward, Call, Edge, Graph, NodeKind, NodeRan
from gradviz.names.statements import Statements
from gradviz.watch import torch_private
from gradviz.watch.broken_values import is_readable
from gradviz.words.speech import language, say, several, values_of
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
        """Say whether nothing that arrived was seen to be NaN or inf."""
        return all_finite([x for x in self.arrived if x is not None])

    @property
    def clean(self) -> bool:
        """Say whether all that arrived was measured, and is finite."""
        return self.sound and _measured(self.arrived, self.event.arrived)

    @property
    def broken(self) -> bool:
        """Say whether NaN or inf arrived or was sent."""
        return not self.sound or not all_finite([x for x in self.sent if x is not None])

    @property
    def known(self) -> bool:
        """Say whether everything was measured."""
        return _measured(self.arrived, self.event.arrived) and _measured(self.sent, self.event.sent)

    @property
    def arrived_words(self) -> str:
        """Return what arrived, in words."""
        return _gradients(self.event.arrived, self.event.arrived_norms)

    @property
    def sent_words(self) -> str:
        """Return what it sent, in words."""
        return _gradients(self.event.sent, self.event.sent_norms)


def _gradients(texts: Sequence[str | None], norms: Sequence[str | None] | None) -> str:
    """Put the gradients on one side of a node into words.

    >>> _gradients(["[1, 2]", None], None), _gradients(["(4, 4)"] * 4, ["0.5"] * 4)
    ('[1, 2], None', '4×4 values of norm 0.5, 4×4 values of norm 0.5 and 2 more')
    """
    sizes = norms or (None,) * len(texts)
    told = [
        say("values.of_norm", values=text, norm=f"{float(norm):.4g}") if norm else values_of(text)
        for text, norm in zip(texts, sizes, strict=True)
    ]
    if len(told) <= 2:
        return language().between.join(told)
    return several(told, 2)


def _measured(sizes: Sequence[float | None], texts: Sequence[str | None]) -> bool:
    """Say whether each gradient that was there has its norm."""
    return all(x is not None or text is None for x, text in zip(sizes, texts, strict=True))


def _step(event: NodeRan) -> Step:
    """Return a node's run with the norms of its gradients."""
    arrived = _sizes(event.arrived, event.arrived_norms)
    return Step(event, arrived, _sizes(event.sent, event.sent_norms))


def _sizes(
    texts: Sequence[str | None], norms: Sequence[str | None] | None
) -> tuple[float | None, ...]:
    """Return the norms of the gradients on one side of a node."""
    return tuple(map(_size, texts, norms or (None,) * len(texts)))


def _size(text: str | None, norm: str | None) -> float | None:
    """Return the norm of a gradient, from its preview where that has the elements.

    >>> _size("[3, -4]", None), _size("(4, 4)", "0.5"), _size("[nan, inf]", None)
    (5.0, 0.5, nan)
    >>> _size("(4, 4)", None) is None
    True
    """
    values = numbers(text or "") if norm is None else [float(norm)]
    if values is None:
        return None
    return math.nan if any(map(math.isnan, values)) else math.hypot(*values)


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
    # of those that are not finite: own name, how many of its elements are not, and of how many
    bad: tuple[tuple[str, int, int], ...] = ()
    is_tensor: bool = False  # a tensor that belongs to no module, under its own name


class Measured:
    """The numbers of one question: per module, per node, and how the nodes lie to one another.
    Holds no tensor."""

    def __init__(
        self,
        parameters: Mapping[str, torch.Tensor],
        recording: Recorded | None,
        returned: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        """Read the numbers.

        Args:
            parameters: by name.
            recording: of the backward.
            returned: what autograd.grad gave back for them, where that is asked about, not .grad.
        """
        self.returned, self.recording = returned, recording
        self.graph = recording.graph if recording is not None else Graph()
        self.words, self.facts = Words(self.graph), Facts.of(self.graph)
        self.broken_at = recording.broken_at if recording is not None else ()
        self.statements = Statements.of(recording)  # the user's code that ran
        self.runs = self.watched_runs()
        self.run: Backward | None = self.runs[-1] if self.runs else None
        self.steps = {
            run: [_step(event) for event in events]
            for run, events in self.facts.nodes_of_run.items()
        }
        self.ran = self.steps.get(self.run.run, []) if self.run else []
        self.total = sum(p.requires_grad for p in parameters.values())
        self.read_gradients(parameters, recording)

    def read_gradients(
        self, parameters: Mapping[str, torch.Tensor], recording: Recorded | None
    ) -> None:
        """Measure the gradients of each module, and order the modules from the loss to the input.

        Sets ``node``, ``received``, ``known`` (is their order that of the backward?), ``blocks``
        and ``unread`` (modules that could not be measured).
        """
        places = {n: place for place, n in enumerate(self.run.ran)} if self.run else {}
        self.node = self.nodes_by_module(parameters, recording, places)
        if self.returned is None:
            gradients = _gradients_by_module(parameters)
        else:
            gradients = {name: [("", grad)] for name, grad in self.returned.items()}
        self.received = sum(map(len, gradients.values()))
        self.known = bool(gradients) and gradients.keys() <= self.node.keys()
        measured = []
        for at, (module, grads) in enumerate(gradients.items()):
            # without the order of the backward, that of the definition, the last first
            first = min(places[n] for n in self.node[module]) if self.known else -at
            measured.append(_measure(module, grads, first))
        plain = {n for n, p in parameters.items() if not isinstance(p, torch.nn.Parameter)}
        measured = [b and b._replace(is_tensor=b.name in plain) for b in measured]
        blocks = [block for block in measured if block is not None]
        self.blocks = sorted(blocks, key=lambda block: block.first)
        self.unread = len(measured) - len(blocks)

    def living(self) -> dict[int, torch.Tensor]:
        """Return the tensors that are still alive, by the id of the state that each has now; they
        are not held."""
        return {} if self.recording is None else self.recording.living_states()

    def not_finite(self, tensor_id: int) -> tuple[int, int]:
        """Return how many entries of a tensor that is alive are not finite, and how many it has;
        none of one that cannot be read."""
        t = self.living().get(tensor_id)
        if t is None or not is_readable(t):
            return 0, 0
        return int((~torch.isfinite(t.detach())).sum()), t.numel()

    def watched_runs(self) -> list[Backward]:
        """Return the recorded backwards whose nodes were watched; those of ``autograd.grad`` only
        where there are no others."""
        watched = [b for b in self.graph.backwards if b.watched and b.ran]
        if self.returned is not None:
            return [b for b in watched if b.kind == "grad"]
        return [b for b in watched if b.kind == "backward"] or watched

    def nodes_by_module(
        self,
        parameters: Mapping[str, torch.Tensor],
        recording: Recorded | None,
        places: Mapping[int, int],
    ) -> dict[str, list[int]]:
        """Return the AccumulateGrad nodes of each module's own parameters, of those that ran.

        Args:
            parameters: by name.
            recording: where their nodes are found.
            places: the nodes that ran, each with its place in the order.
        """
        nodes: dict[str, list[int]] = {}
        if recording is None:
            return nodes
        for name, p in parameters.items():
            state = recording.find(p)
            node = self.facts.accumulate_node.get(state.object_id) if state is not None else None
            if node is not None and node in places:
                nodes.setdefault(_block_of(name, p), []).append(node)
        return nodes

    def lost(self, run: Backward) -> list[float]:
        """Return what the loss was, if it was NaN or inf."""
        roots = [self.graph.tensor[i] for i in self.graph.call[run.call_id].inputs[:1]]
        values = [v for t in roots for v in numbers(t.values or "") or ()]
        return [] if all_finite(values) else values

    def tiny(self, step: Step) -> tuple[str, str] | None:
        """Return, in words, a gradient that arrived below the smallest normal number of its
        tensor's dtype, and the dtype; None where none did."""
        for nr, text in enumerate(step.event.arrived):
            if not text:
                continue
            values = [abs(v) for v in numbers(text) or () if v]
            largest = max(values) if values else step.arrived[nr]
            dtype = self.dtype_at(step.event.node_id, nr)
            if largest and dtype and largest < least_normal(dtype):
                return step.arrived_words, dtype
        return None

    def dtype_at(self, node_id: int, output: int) -> str | None:
        """Return the dtype of the tensor at an output of a node; None where it was not met."""
        tensor = self.facts.first_at.get((node_id, output))
        return tensor.dtype if tensor else None

    def flow(self, block: Block) -> float | None:
        """Return the norm of what arrives at the module's output: its largest, where it was used
        several times."""
        if self.run is None:
            return None
        users = self.users(self.node.get(block.name, ()))
        sizes = [self.sizes[n] for n in users if n in self.sizes]
        return max(sizes) if sizes and len(sizes) == len(users) else None

    def to_leaf(self, node_id: int) -> bool:
        """Say whether this is a leaf's node, or the transposition in front of it."""
        while self.graph.node[node_id].name.startswith(_MOVES) and (
            edges := self.graph.edges_from.get(node_id)
        ):
            if edges[0].next_node_id is None:
                break
            node_id = edges[0].next_node_id
        return self.graph.node[node_id].kind is NodeKind.ACCUMULATE_GRAD

    @cached_property
    def sizes(self) -> dict[int, float]:
        """The norm of what arrived at each node that has one output."""
        found = {s.event.node_id: s.arrived[0] for s in self.ran if len(s.arrived) == 1}
        return {n: x for n, x in found.items() if x is not None}

    def factors(self) -> dict[tuple[int, int], float]:
        """Return what each node multiplies the gradient's norm by, by the node and the index of its
        edge, where both sides were measured."""
        factors = {}
        for step in self.ran:
            given = step.arrived[0] if len(step.arrived) == 1 else None
            for index, sent in enumerate(step.sent):
                if given and sent and math.isfinite(given) and math.isfinite(sent):
                    factors[step.event.node_id, index] = sent / given
        return factors

    def leads(self, late: Block, early: Block) -> bool:
        """Say whether the gradient passes the later module on its way to the earlier one."""
        users = self.users(self.node[late.name])
        return not self.facts.reachable(users).isdisjoint(self.node[early.name])

    def users(self, nodes: Iterable[int]) -> set[int]:
        """Return the nodes that use the parameters of these AccumulateGrads."""
        return {self.user(e) for n in nodes for e in self.facts.edges_into.get(n, ())}

    def user(self, edge: Edge) -> int:
        """Return the node that uses a parameter; of a linear layer's weight that is behind a
        transposition."""
        edges_from, into = self.graph.edges_from, self.facts.edges_into
        while len(edges_from.get(edge.node_id, ())) == 1 and len(into.get(edge.node_id, ())) == 1:
            edge = into[edge.node_id][0]
        return edge.node_id

    def between(self, blocks: list[Block], sizes: list[float]) -> tuple[int, ...]:
        """Return the nodes that ran between the neighbouring modules whose sizes differ most."""
        if not self.known or self.run is None:
            return ()
        steps = [a / b for a, b in pairwise(sizes)]
        at = steps.index(max(steps))
        nodes = [self.graph.node[n] for n in self.run.ran[blocks[at].first : blocks[at + 1].first]]
        return tuple(
            n.id for n in nodes if n.kind is not NodeKind.ACCUMULATE_GRAD and n.name != "TBackward0"
        )


def _block_of(name: str, tensor: torch.Tensor) -> str:
    """Return the module that a parameter's name puts it in, "" for the whole model; of a tensor
    that is no parameter its own name."""
    return name.rpartition(".")[0] if isinstance(tensor, torch.nn.Parameter) else name


def _gradients_by_module(
    parameters: Mapping[str, torch.Tensor],
) -> dict[str, list[tuple[str, torch.Tensor]]]:
    """Return the gradients that leaves hold, by the module that owns them, each under the last part
    of its name."""
    gradients: dict[str, list[tuple[str, torch.Tensor]]] = {}
    for name, p in parameters.items():
        if p.is_leaf and p.requires_grad and p.grad is not None:
            last_name = name.rpartition(".")[2]
            gradients.setdefault(_block_of(name, p), []).append((last_name, p.grad))
    return gradients


def _measure(name: str, grads: list[tuple[str, torch.Tensor]], first: int) -> Block | None:
    """Read gradients once; None where they cannot be read (meta, fake, a subclass that refuses)."""
    square = 0.0
    elements = 0
    zeros = 0
    nan = False
    broken = False
    bad = list[tuple[str, int, int]]()
    bias = None
    least = ""
    try:
        for last_name, given in grads:
            grad = given.detach().coalesce().values() if given.is_sparse else given.detach()
            norm = float(torch.linalg.vector_norm(grad, dtype=torch.float64))
            square += norm * norm
            elements += grad.numel()
            zeros += int((grad == 0).sum())
            nan = nan or bool(grad.isnan().any())
            wrong = int((~grad.isfinite()).sum())
            bad += [(last_name, wrong, grad.numel())] if wrong else []
            broken = bool(bad)
            if last_name == "bias" and grad.dim() == 1:
                bias = norm
            if norm > 0 and not broken and float(grad.abs().max()) < torch.finfo(grad.dtype).tiny:
                least = str(grad.dtype).removeprefix("torch.")
    except Exception:
        return None
    total = math.sqrt(square)
    return Block(name, total, bias, elements, zeros, broken, nan, least, first, tuple(bad))


def numbers(preview: str) -> list[float] | None:
    """Return the numbers of a preview; None where it holds only a shape.

    >>> numbers("[[1, 0.5], [nan, -2e-07]]"), numbers("(16, 8)")
    ([1.0, 0.5, nan, -2e-07], None)
    """
    if not preview or unread(preview) or "j" in preview or "e" in re.sub(r"\de[-+]\d", "", preview):
        return None
    return [float(text) for text in _NUMBER.findall(preview)]


def factor_of(facts: Facts, call: Call) -> float | None:
    """Return by what a call multiplied one number, as far as previews tell; None where they do
    not."""
    states = (facts.graph.tensor[i] for i in (*call.inputs[:1], *call.outputs[:1]))
    given, made = (numbers(state.values or "") or [] for state in states)
    return made[0] / given[0] if len(given) == len(made) == 1 and given[0] else None


def all_finite(values: list[float]) -> bool:
    """Say whether none of them is NaN or inf."""
    return all(map(math.isfinite, values))


def least_normal(dtype: str) -> float:
    """Return the smallest normal number of a dtype; 0 for one of whole numbers."""
    kind = torch_private.dtype_called(dtype)
    return float(torch.finfo(kind).tiny) if kind is not None and kind.is_floating_point else 0.0
