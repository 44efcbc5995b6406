"""Small, exploding and broken gradients: the norm per module, what each block multiplies by, and the node behind it.

Norms are read from live ``.grad`` tensors; what happened on the way from what a recording measured: the elements of
small gradients, the norms of others. What was not measured is not told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz import _torch_compat as compat
from gradviz import queries
from gradviz.graph import Backward, Edge, Graph, NodeKind, NodeRan
from gradviz.preview import number
from gradviz.why.explanation import Explanation, Words, lines_of, several
from gradviz.why.paths import Paths

if TYPE_CHECKING:
    from gradviz.recording import Recording

FOLD = 1e6  # a change of the gradient's norm between first and last module that is called vanishing or exploding
STEADY = 0.7  # of the steps from module to module that go the same way
ZEROS = 0.5  # share of exact zeros from which underflow is looked for
CHAIN = 4  # nodes that must make a gradient grow together: one factor alone is a scale, chosen by the user
_CLIP = "torch.nn.utils.clip_grad_norm_"
_ANOMALY = "torch.autograd.set_detect_anomaly(True) names the forward of the node."
_UNSET = ("empty", "empty_like", "empty_strided", "new_empty")  # their values mean nothing
_MOVES = ("TBackward", "TransposeBackward", "PermuteBackward", "ViewBackward", "ExpandBackward")
_NUMBER = re.compile(r"-?(?:nan|inf|\d[\d.]*(?:e[-+]?\d+)?)")


class Step(NamedTuple):
    """One node that ran, with the norms of what arrived and what it sent; None where that was not measured."""

    event: NodeRan
    arrived: tuple[float | None, ...]
    sent: tuple[float | None, ...]

    @property
    def sound(self) -> bool:
        """Nothing that arrived was seen to be NaN or inf."""
        return _finite([x for x in self.arrived if x is not None])

    @property
    def clean(self) -> bool:
        """All that arrived was measured, and is finite."""
        return self.sound and _measured(self.arrived, self.event.arrived)

    @property
    def broken(self) -> bool:
        """NaN or inf arrived or was sent."""
        return not self.sound or not _finite([x for x in self.sent if x is not None])

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
    arrived, sent = (tuple(map(_size, texts, norms or (None,) * len(texts))) for texts, norms in sides)
    return Step(event, arrived, sent)


def _size(text: str | None, norm: str | None) -> float | None:
    """The norm of a gradient, from its preview where that has the elements.

    >>> _size("[3, -4]", None), _size("4×4 values", "0.5"), _size("4×4 values", None), _size("[nan, inf]", None)
    (5.0, 0.5, None, nan)
    """
    values = _values(text or "") if norm is None else [float(norm)]
    return None if values is None else math.nan if any(map(math.isnan, values)) else math.hypot(*values)


class Block(NamedTuple):
    """What was measured of the gradients of one module's own parameters."""

    name: str
    norm: float  # of all its gradients together
    bias: float | None  # of the one-dimensional "bias" alone: what flows back, without the size of the activations
    elements: int
    zeros: int  # exact
    broken: bool  # NaN or inf
    nan: bool
    least: str  # "float16", where its largest gradient lies below the smallest normal number of its dtype, else ""
    first: int  # where its first parameter stands in the backward, or in the mapping


def explain_small(parameters: Mapping[str, torch.Tensor], recording: Recording | None = None) -> Explanation:
    """Is the gradient vanishing, exploding, NaN or underflowing on its way through these modules?

    Args:
        parameters: ``dict(model.named_parameters())``; only their ``.grad`` is read.
        recording: of the backward. It tells the order of the modules and, for small tensors, the node to blame.

    Returns:
        An Explanation: ``vanishing``, ``exploding``, ``nan``, ``underflow``, ``healthy``, or ``not_known`` where no
        parameter has a gradient, or where all are zero for a reason that was not measured.

    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> net(torch.ones(1, 2)).sum().backward()
        >>> explain_small(dict(net.named_parameters())).cause
        'healthy'
    """
    with compat.unobserved(), torch.no_grad():
        seen = _Measured(parameters, recording)
    for answer in (seen.nothing, seen.broken, seen.underflow, seen.steady, seen.uses, seen.chain):
        if (found := answer()) is not None:
            return found
    return seen.healthy()


class _Measured:
    """The numbers of one question. Holds no tensor."""

    def __init__(self, parameters: Mapping[str, torch.Tensor], recording: Recording | None) -> None:
        self.graph = recording.graph if recording is not None else Graph()
        self.words = Words(self.graph)
        watched = [b for b in self.graph.backwards if b.watched and b.ran]
        self.runs = [b for b in watched if b.kind == "backward"] or watched
        self.run: Backward | None = self.runs[-1] if self.runs else None
        self.total = sum(p.requires_grad for p in parameters.values())
        self.steps: dict[int, list[Step]] = {}
        for e in self.graph.events:
            if isinstance(e, NodeRan):
                self.steps.setdefault(e.run, []).append(_step(e))
        self.ran = self.steps.get(self.run.run, []) if self.run else []
        place = {n: i for i, n in enumerate(self.run.ran)} if self.run else {}
        own = queries.accumulate_nodes(self.graph)
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
        blocks = [_measure(m, g, -i if not self.known else min(place[n] for n in self.node[m]))
                  for i, (m, g) in enumerate(groups.items())]  # fmt: skip
        self.blocks = sorted((b for b in blocks if b is not None), key=lambda b: b.first)  # from the loss to the input
        self.unread = len(blocks) - len(self.blocks)

    # --- words ------------------------------------------------------------------------------------------------------

    def say(self, cause: str, verdict: str, why: str = "", mend: str = "", nodes: tuple[int, ...] = ()) -> Explanation:
        calls = [self.graph.call[c] for n in nodes if (c := self.graph.node[n].call_id) in self.graph.call]
        ruled = [f"cut or frozen ({self.received} of {self.total} parameters received gradient)"]
        ruled = ruled if cause != "healthy" and 0 < self.total == self.received else []
        ruled += ["NaN or inf"] if cause in ("vanishing", "underflow") else []
        zeros = sum(b.zeros for b in self.blocks) / max(1, sum(b.elements for b in self.blocks))
        ruled += [f"underflow ({zeros:.0%} exact zeros)"] if cause == "vanishing" and zeros < ZEROS else []
        return Explanation(
            cause, verdict, self.words.places(calls), why, mend, tuple(ruled), lines_of(calls), node_ids=nodes,
            graph=self.graph if nodes else None, more=(self.norms(),) if self.blocks else (),
        )  # fmt: skip

    def norms(self) -> str:
        """At most six of the modules' norms, from the loss to the input."""
        every = max(1, (len(self.blocks) - 1) / 5)
        shown = dict.fromkeys(round(i * every) for i in range(6))
        told = [self.blocks[i] for i in shown if i < len(self.blocks)]
        order = "from the loss to the input" if self.known else "in reverse order of definition"
        return f"norms of .grad, {order}:  " + "   ".join(f"{b.name or 'the model'} {b.norm:.1e}" for b in told)

    # --- answers ----------------------------------------------------------------------------------------------------

    def nothing(self) -> Explanation | None:
        if self.blocks:
            return None
        return self.say("not_known", "No parameter here has a .grad that can be read, so nothing was measured.")

    def broken(self) -> Explanation | None:
        bad = [b for b in self.blocks if b.broken]
        if not bad and self.run and (values := self.lost(self.run)):
            cause, word = ("nan", "NaN") if any(map(math.isnan, values)) else ("exploding", "inf")
            return self.forward(cause, f"The loss is {word}, although the gradients are finite.", "", self.run)
        if not bad:
            return None
        cause, word = ("nan", "NaN") if any(b.nan for b in bad) else ("exploding", "inf")
        names = several([b.name or "the model" for b in bad])
        verdict = f"{len(bad)} of {len(self.blocks)} modules have {word} in their .grad: {names}."
        seen = [r for r in self.runs if any(s.broken for s in self.steps.get(r.run, ()))]
        if not seen or self.run is None:
            whole = bool(self.ran) and all(s.known for s in self.ran)
            why = f"no {word} was on the way in the recorded backward: it was there before, or was written afterwards."
            why = why if whole else "which node made it was not measured: not all gradients on the way were."
            return self.say(cause, verdict, why, _ANOMALY)
        # A loss that was broken already may be so because of an earlier step.
        run = self.run if self.run in seen and not self.lost(self.run) else seen[0]
        when = f"in backward {self.runs.index(run) + 1} of {len(self.runs)}: " if run is not self.run else ""
        return self.forward(cause, verdict, when, run) if self.lost(run) else self.made(cause, verdict, when, run, bad)

    def lost(self, run: Backward) -> list[float]:
        """What the loss was, if it was NaN or inf."""
        roots = [self.graph.tensor[i] for i in self.graph.call[run.call_id].inputs[:1]]
        values = [v for t in roots for v in _values(t.values or "") or ()]
        return [] if _finite(values) else values

    def forward(self, cause: str, verdict: str, when: str, run: Backward) -> Explanation:
        """No derivative is to blame: the first call with such a result, where results were read."""
        nan = any(map(math.isnan, self.lost(run)))
        word, test = ("NaN", math.isnan) if nan else ("inf", math.isinf)
        loss = self.graph.call[run.call_id].inputs[0]
        behind = Paths(self.graph, [loss]).ancestors([loss])
        whole = True  # were all results of at most 8 elements so far?
        for call in self.graph.calls[: run.call_id]:
            if call.function in _UNSET:
                continue
            own = [_values(self.graph.tensor[i].values or "") for i in call.outputs if i in behind]
            given = [_values(self.graph.tensor[i].values or "") for i in call.inputs]
            if not any(test(x) for v in own for x in v or ()):
                whole = whole and None not in own
                continue
            first = whole and not any(v is None or any(map(test, v)) for v in given)
            told = "made by" if first else "first seen in the result of"
            rest = "" if first else " (larger results were not read, nor what is older)"
            why = f"{when}the forward had {word} already, {told} {self.words.code(call)}{rest}: blame no derivative."
            mend = "look at what goes into this call (log, sqrt, division, exp, a mean of nothing, data)."
            found = self.say(cause, verdict, why, mend)
            return found._replace(where=self.words.places([call]), lines=lines_of([call]))
        why = f"{when}the loss was {word} already, so the forward made it: blame no derivative."
        return self.say(cause, verdict, why, "look for the first result that is not finite, from the data on.")

    def made(self, cause: str, verdict: str, when: str, run: Backward, bad: list[Block]) -> Explanation:
        """The first node that got finite gradients and sent others."""
        ends = {n for b in bad for n in self.node.get(b.name, ())}
        steps = self.steps[run.run]
        first = next(s for s in steps if s.broken)
        for step in steps:
            if step.broken and step.clean and (not ends or queries.reachable(self.graph, [step.event.node_id]) & ends):
                node, custom = self.graph.node[step.event.node_id], NodeKind.CUSTOM_FUNCTION
                what = "its backward is code of its own, and made it" if node.kind is custom else (
                    "its derivative does not exist or overflows at the values of the forward")  # fmt: skip
                why = f"{when}{node.name} got {step.told(True)} and sent {step.told(False)}: {what}."
                mend = "keep its input away from that point (eps or clamp before it; torch.where after it is too late)."
                return self.say(cause, verdict, why, mend, (node.id,))
        name, before = self.graph.node[first.event.node_id].name, steps[: steps.index(first)]
        why = f"{when}first seen at {name}, after gradients that were not measured."
        if not first.sound and not before:
            why = f"{when}the gradient that backward started with, {first.told(True)}, was not finite."
        elif not first.sound and all(s.known for s in before):
            why = f"{when}what was sent to {name} is finite, {first.told(True)} arrived: an overflow, or a hook."
        return self.say(cause, verdict, why, _ANOMALY)

    def underflow(self) -> Explanation | None:
        zeros, elements = sum(b.zeros for b in self.blocks), sum(b.elements for b in self.blocks)
        if zeros < ZEROS * elements:
            return None
        share = f"{zeros / elements:.0%} of all gradient elements are exactly 0"
        mend = "scale the loss (torch.amp.GradScaler), or compute in float32 or bfloat16."
        for step in self.ran:
            if (small := self.tiny(step)) is not None:
                node = self.graph.node[step.event.node_id]
                why = f"{small[0]} arrives at {node.name}; the smallest normal {small[1]} is {_tiny(small[1]):.1e}."
                return self.say("underflow", f"Underflow: {share}.", why, mend, (node.id,))
        if least := next((b for b in self.blocks if b.least), None):
            limit = f"the smallest normal {least.least}, {_tiny(least.least):.1e}"
            why = f"the largest gradient of {least.name or 'the model'} is below {limit}."
            return self.say("underflow", f"Underflow: {share}.", why, mend)
        if zeros == elements:
            return self.say("not_known", f"{share}; no gradient near the limit of the dtype was seen on the way.")
        return None

    def tiny(self, step: Step) -> tuple[str, str] | None:
        """A gradient that arrived below the smallest normal number of its tensor's dtype, and the dtype."""
        for nr, text in enumerate(step.event.arrived):
            values = [abs(v) for v in _values(text or "") or () if v]
            largest, dtype = max(values) if values else step.arrived[nr], self.dtypes.get((step.event.node_id, nr))
            if largest and dtype and text and largest < _tiny(dtype):
                return step.told(True), dtype
        return None

    @cached_property
    def dtypes(self) -> dict[tuple[int, int], str | None]:
        """By (node, output)."""
        return {t.gradient_edge[:2]: t.dtype for t in reversed(self.graph.tensors) if t.gradient_edge}

    def steady(self) -> Explanation | None:
        """Norms that fall, or flows that grow, from module to module by more than ``FOLD`` in all."""
        alive = [b for b in self.blocks if b.norm > 0]
        biased = [b for b in self.blocks if b.bias]
        flows, how = [1 / b.bias for b in biased if b.bias], ", measured at their biases"
        arriving = [self.flow(b) for b in self.blocks]
        if arriving and all(x and math.isfinite(x) for x in arriving):
            biased, flows, how = self.blocks, [1 / x for x in arriving if x], ", measured where it arrives"
        mend = "ReLU or GELU instead of a saturating function, a residual path, or normalisation."
        falling = self.trend("vanishing", "shrinks", mend, alive, [b.norm for b in alive])
        mend = f"smaller initial weights, normalisation, or {_CLIP}."
        return falling or self.trend("exploding", "grows", mend, biased, flows, how)

    def flow(self, block: Block) -> float | None:
        """The norm of what arrives at the module's output: its largest, where it was used several times."""
        if self.run is None:
            return None
        users = {self._user(e) for n in self.node.get(block.name, ()) for e in self.into.get(n, ())}
        sizes = [self.sizes[n] for n in users if n in self.sizes]
        return max(sizes) if sizes and len(sizes) == len(users) else None

    def trend(
        self, cause: str, verb: str, mend: str, blocks: list[Block], sizes: list[float], how: str = ""
    ) -> Explanation | None:
        steps = [b < a for a, b in pairwise(sizes)]
        if len(steps) < 2 or sum(steps) < STEADY * len(steps) or sizes[0] < FOLD * sizes[-1]:
            return None
        if self.known and not self.leads(blocks[0], blocks[-1]):
            return None
        fold, nodes = sizes[0] / sizes[-1], self.between(blocks, sizes)
        factor = fold ** ((1 if verb == "grows" else -1) / len(steps))
        return self.say(
            cause, f"The gradient {verb} {_fold(fold)}-fold from {blocks[0].name} to {blocks[-1].name}{how}.",
            f"each of {len(sizes)} modules multiplies it by about {number(factor)}; {self.blame(nodes, blocks[-1])} "
            f"(Called {cause} from {_fold(FOLD)}-fold.)", mend, nodes,
        )  # fmt: skip

    def uses(self) -> Explanation | None:
        """One cell used many times, each use before the other: what each use contributes to its parameter."""
        for name, node in ((name, n) for name, nodes in self.node.items() for n in nodes):
            if len(last := {e.node_id: e for e in self.into.get(node, ())}) < CHAIN:
                continue
            steps = [s for s in self.ran if s.event.node_id in last]
            found = [(s, x) for s in steps if (x := s.sent[last[s.event.node_id].next_index])]
            sizes = [x for _, x in found]
            falls = sum(b < a for a, b in pairwise(sizes))
            if len(sizes) < CHAIN or falls < STEADY * (len(sizes) - 1) or not sizes[0] >= FOLD * sizes[-1] > 0:
                continue
            late, early = (self._user(last[s.event.node_id]) for s, _ in (found[0], found[-1]))
            if early in queries.reachable(self.graph, [late]):
                fold, leaf = sizes[0] / sizes[-1], self.graph.node[node].leaf_id
                factor = number(fold ** (-1 / (len(sizes) - 1)))
                return self.say(
                    "vanishing", f"The gradient shrinks {_fold(fold)}-fold over the {len(sizes)} uses of "
                    f"{name or 'the model'}: the first uses hardly count.",
                    f"each use multiplies what it contributes to {self.words.name(leaf)} by about {factor}. "
                    f"(Called vanishing from {_fold(FOLD)}-fold.)",
                    "a gated cell (LSTM, GRU), a residual path, orthogonal weights, or fewer steps.", (late, early),
                )  # fmt: skip
        return None

    def chain(self) -> Explanation | None:
        """Growth along one path of nodes, where the recording has the numbers: one cell used many times."""
        factors = self.factors()
        best: dict[int, tuple[float, int | None]] = {}  # the growth so far, and from which node
        for step in self.ran:
            here = step.event.node_id
            total = best.setdefault(here, (0.0, None))[0]
            for e in self.graph.edges_from.get(here, ()):
                if e.next_node_id is None or self.to_leaf(e.next_node_id):
                    continue  # what a parameter gets is multiplied by activations
                now = total + math.log(factors.get((here, e.next_index), 1.0))
                if now > best.get(e.next_node_id, (-math.inf,))[0]:
                    best[e.next_node_id] = now, here
        at: int | None = max(best, key=lambda n: best[n][0], default=None)
        path = []  # from the input to the loss: (node, what it multiplies by)
        while at is not None and (before := best[at][1]) is not None:
            if (grown := math.exp(min(best[at][0] - best[before][0], 700.0))) > 1.1:
                path.append((before, grown))
            at = before
        if len(path) < CHAIN:
            return None
        start, end = self.sizes.get(path[-1][0], 0.0), self.sizes.get(path[0][0], 0.0) * path[0][1]
        fold, scale = end / start if start else 0.0, max(f for _, f in path)
        # What arrived has to have grown as well, and without the largest factor: that may be a scale that was chosen.
        if fold < FOLD * scale or sum(math.log(f) for _, f in path) < math.log(FOLD * scale):
            return None
        names = [self.graph.node[n].name for n, _ in path]
        name = max(set(names), key=names.count)
        return self.say(
            "exploding", f"The gradient grows {_fold(fold)}-fold along one path of {len(path)} nodes.",
            f"{name} stands there {names.count(name)} times; on average a node multiplies it by "
            f"{number(fold ** (1 / len(path)))}. (Called exploding from {_fold(FOLD)}-fold.)",
            "a smaller weight, fewer steps (detach the state now and then), or " + _CLIP + ".",
            (path[0][0],),
        )  # fmt: skip

    def to_leaf(self, node_id: int) -> bool:
        """Is this a leaf's node, or the transposition in front of it?"""
        while self.graph.node[node_id].name.startswith(_MOVES) and (edges := self.graph.edges_from.get(node_id)):
            if edges[0].next_node_id is None:
                break
            node_id = edges[0].next_node_id
        return self.graph.node[node_id].kind is NodeKind.ACCUMULATE_GRAD

    def healthy(self) -> Explanation:
        if large := [b.name or "the model" for b in self.blocks if b.norm >= FOLD]:
            verdict = f"The gradient of {several(large)} is larger than {_fold(FOLD)}."
            found = self.say("not_known", verdict, "whether it grew or was large at once was not measured.")
            return found._replace(detail="large")
        reach = f"{self.received} of {self.total} parameters received gradient"
        return self.say(
            "healthy", f"No fault in size: {reach}, and no norm vanishes or explodes ({_fold(FOLD)}-fold), none is NaN."
        )

    # --- what the recording measured --------------------------------------------------------------------------------

    @cached_property
    def into(self) -> dict[int, list[Edge]]:
        return queries.edges_into(self.graph)

    @cached_property
    def sizes(self) -> dict[int, float]:
        """What arrived at each node that has one output."""
        found = {s.event.node_id: s.arrived[0] for s in self.ran if len(s.arrived) == 1}
        return {n: x for n, x in found.items() if x is not None}

    def factors(self) -> dict[tuple[int, int], float]:
        """What a node multiplies the gradient's norm by along an edge, where both sides were measured."""
        found = {}
        for step in self.ran:
            given = step.arrived[0] if len(step.arrived) == 1 else None
            for index, sent in enumerate(step.sent):
                if given and sent and math.isfinite(given) and math.isfinite(sent):
                    found[step.event.node_id, index] = sent / given
        return found

    def leads(self, late: Block, early: Block) -> bool:
        """Does the gradient pass the later module on its way to the earlier one?"""
        users = [self._user(e) for n in self.node[late.name] for e in self.into.get(n, ())]
        return bool(queries.reachable(self.graph, users) & set(self.node[early.name]))

    def _user(self, edge: Edge) -> int:
        """The node that uses a parameter; of a linear layer's weight that is behind a transposition."""
        while len(self.graph.edges_from.get(edge.node_id, ())) == 1 and len(self.into.get(edge.node_id, ())) == 1:
            edge = self.into[edge.node_id][0]
        return edge.node_id

    def between(self, blocks: list[Block], sizes: list[float]) -> tuple[int, ...]:
        """The nodes that ran between the two neighbouring modules whose sizes differ most."""
        if not self.known or self.run is None:
            return ()
        steps = [a / b for a, b in pairwise(sizes)]
        at = steps.index(max(steps))
        nodes = [self.graph.node[n] for n in self.run.ran[blocks[at].first : blocks[at + 1].first]]
        return tuple(n.id for n in nodes if n.kind is not NodeKind.ACCUMULATE_GRAD and n.name != "TBackward0")

    def blame(self, nodes: tuple[int, ...], early: Block) -> str:
        """The nodes behind the factor with what was measured, otherwise the ones that it may be."""
        if not nodes:
            return "which node does it is not known without a recording of this backward."
        towards = self.above(self.node[early.name])
        known: dict[str, list[float]] = {}
        factors = self.factors()
        for node in towards:
            edges = [e for e in self.graph.edges_from.get(node, ()) if e.next_node_id in towards]
            factor = factors.get((node, edges[0].next_index)) if len(edges) == 1 else None
            if factor and self.graph.node[node].kind is NodeKind.BACKWARD:
                known.setdefault(self.graph.node[node].name, []).append(math.log(factor))
        names = list(dict.fromkeys(self.graph.node[n].name for n in nodes if n in towards))
        means = {n: sum(known[n]) / len(known[n]) for n in names if n in known}
        if means:
            told = sorted(means, key=lambda n: -abs(means[n]))
            return f"measured: {several([f'{n} ×{number(math.exp(means[n]))}' for n in told])}."
        return f"at the largest step ran {several(names)}; their gradients were not measured."

    def above(self, nodes: list[int]) -> set[int]:
        """Every node from which a gradient reaches one of these."""
        found, todo = set[int](), list(nodes)
        while todo:
            new = {e.node_id for e in self.into.get(todo.pop(), ())} - found
            found |= new
            todo += new
        return found


def _measure(name: str, grads: list[tuple[str, torch.Tensor]], first: int) -> Block | None:
    """Read gradients once; None where they cannot be read (meta, fake, a subclass that refuses)."""
    try:
        square, elements, zeros, nan, broken, bias, least = 0.0, 0, 0, False, False, None, ""
        for last, given in grads:
            grad = given.detach().coalesce().values() if given.is_sparse else given.detach()
            norm = float(torch.linalg.vector_norm(grad, dtype=torch.float64))
            square, elements, zeros = square + norm * norm, elements + grad.numel(), zeros + int((grad == 0).sum())
            nan = nan or bool(grad.isnan().any())
            broken = broken or not bool(grad.isfinite().all())
            bias = norm if last == "bias" and grad.dim() == 1 else bias
            if norm > 0 and not broken and float(grad.abs().max()) < torch.finfo(grad.dtype).tiny:
                least = str(grad.dtype).removeprefix("torch.")
    except Exception:
        return None
    return Block(name, math.sqrt(square), bias, elements, zeros, broken, nan, least, first)


def _values(preview: str) -> list[float] | None:
    """The numbers of a preview; None where it holds only a shape.

    >>> _values("[[1, 0.5], [nan, -2e-07]]"), _values("16×8 values")
    ([1.0, 0.5, nan, -2e-07], None)
    """
    if not preview or "value" in preview or "j" in preview or "e" in re.sub(r"\de[-+]\d", "", preview):
        return None
    return [float(text) for text in _NUMBER.findall(preview)]


def _finite(values: list[float]) -> bool:
    return all(map(math.isfinite, values))


def _tiny(dtype: str) -> float:
    kind = getattr(torch, dtype, None)
    return float(torch.finfo(kind).tiny) if isinstance(kind, torch.dtype) and kind.is_floating_point else 0.0


def _fold(factor: float) -> str:
    """
    >>> _fold(278_913_211.0), _fold(1e6), _fold(1e30)
    ('280,000,000', '1,000,000', '1e+30')
    """
    return f"{factor:.0e}" if factor >= 1e12 else f"{float(f'{factor:.1e}'):,.0f}"
