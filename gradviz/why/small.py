"""Small, exploding and broken gradients: the norm per module, what each block multiplies by, and
the node behind it.

Norms are read from live ``.grad`` tensors; what happened on the way from what a recording measured:
the elements of small gradients, the norms of others. What was not measured is not told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import torch

from gradviz.graph.findings import Cause, Symptom
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, NodeKind
from gradviz.watch import torch_private
from gradviz.why.explanation import Explanation, lines_of
from gradviz.why.measured import Block, Measured, Step, least_normal, numbers
from gradviz.why.rules import Rule, first_proven
from gradviz.words.speech import several

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded

# a change of the gradient's norm between first and last module that is called vanishing or
# exploding
FOLD = 1e6
STEADY = 0.7  # of the steps from module to module that go the same way
ZEROS = 0.5  # share of exact zeros from which underflow is looked for
NAN, INF = (Cause.NAN, "NaN"), (Cause.EXPLODING, "inf")
# nodes that must make a gradient grow together: one factor alone is a scale, chosen by the user
CHAIN = 4
_CLIP = "torch.nn.utils.clip_grad_norm_"
_ANOMALY = "torch.autograd.set_detect_anomaly(True) names the forward of the node."
_UNSET = ("empty", "empty_like", "empty_strided", "new_empty")  # their values mean nothing


def explain_small(
    parameters: Mapping[str, torch.Tensor], recording: Recorded | None = None
) -> Explanation:
    """Is the gradient vanishing, exploding, NaN or underflowing on its way through these modules?

    Args:
        parameters: ``dict(model.named_parameters())``; only their ``.grad`` is read.
        recording: of the backward. It tells the order of the modules and, for small tensors, the
            node to blame.

    Returns:
        An Explanation: ``vanishing``, ``exploding``, ``nan``, ``underflow``, ``healthy``, or
        ``not_known`` where no parameter has a gradient, or where all are zero for a reason that was
        not measured.

    Example:
        >>> net = torch.nn.Linear(2, 1)
        >>> net(torch.ones(1, 2)).sum().backward()
        >>> explain_small(dict(net.named_parameters())).cause
        'healthy'
    """
    with torch_private.unobserved(), torch.no_grad():
        seen = _Small(parameters, recording)
    return first_proven(RULES, Symptom.SOME, seen) or seen.healthy()


class _Small(Measured):
    """The answers to one question."""

    # --- words ------------------------------------------------------------------------------------

    def say(
        self,
        cause: Cause,
        verdict: str,
        why: str = "",
        mend: str = "",
        nodes: tuple[int, ...] = (),
        fades: bool = False,
    ) -> Explanation:
        """``fades``: on its way a gradient became exactly 0, whatever the sums in .grad are."""
        calls = [
            self.graph.call[c]
            for n in nodes
            if (c := self.graph.node[n].call_id) in self.graph.call
        ]
        ruled = [f"cut or frozen ({self.received} of {self.total} parameters received gradient)"]
        ruled = ruled if cause is not Cause.HEALTHY and 0 < self.total == self.received else []
        ruled += ["NaN or inf"] if cause in (Cause.VANISHING, Cause.UNDERFLOW) else []
        zeros = sum(b.zeros for b in self.blocks) / max(1, sum(b.elements for b in self.blocks))
        ruled += (
            [f"underflow ({zeros:.0%} exact zeros)"]
            if cause is Cause.VANISHING and zeros < ZEROS and not fades
            else []
        )
        return Explanation(
            cause,
            verdict,
            self.words.places(calls),
            why,
            mend,
            tuple(ruled),
            lines_of(calls),
            node_ids=nodes,
            graph=self.graph if nodes else None,
            more=(self.norms(),) if self.blocks else (),
        )

    def norms(self) -> str:
        """At most six of the modules' norms, from the loss to the input."""
        every = max(1, (len(self.blocks) - 1) / 5)
        shown = dict.fromkeys(round(i * every) for i in range(6))
        told = [self.blocks[i] for i in shown if i < len(self.blocks)]
        order = "from the loss to the input" if self.known else "in reverse order of definition"
        return f"norms of .grad, {order}:  " + "   ".join(
            f"{b.name or 'the model'} {b.norm:.1e}" for b in told
        )

    # --- answers ----------------------------------------------------------------------------------

    def nothing(self) -> Explanation | None:
        if self.blocks:
            return None
        return self.say(
            Cause.NOT_KNOWN,
            "No parameter here has a .grad that can be read, so nothing was measured.",
        )

    def broken(self) -> Explanation | None:
        bad = [b for b in self.blocks if b.broken]
        if not bad:
            return None
        cause, word = NAN if any(b.nan for b in bad) else INF
        names = several([b.name or "the model" for b in bad])
        verdict = f"{len(bad)} of {len(self.blocks)} modules have {word} in their .grad: {names}."
        run = self.first_broken()
        if run is None:
            return self.say(cause, verdict, self.not_on_the_way(word), _ANOMALY)
        place = f"in backward {self.runs.index(run) + 1} of {len(self.runs)}: "
        when = "" if run is self.run else place
        if self.lost(run):
            return self.forward(cause, verdict, when, run)
        return self.made(cause, verdict, when, run, bad)

    def first_broken(self) -> Backward | None:
        """The last backward, where it broke gradients of a sound loss; else the first that did: a
        loss that was broken already may be so because of an earlier step."""
        seen = [r for r in self.runs if any(s.broken for s in self.steps.get(r.run, ()))]
        if not seen or self.run is None:
            return None
        return self.run if self.run in seen and not self.lost(self.run) else seen[0]

    def not_on_the_way(self, word: str) -> str:
        """Say what is known where no gradient on the way was broken."""
        if self.ran and all(s.known for s in self.ran):
            return (
                f"no {word} was on the way in the recorded backward: it was there before, or was"
                " written afterwards."
            )
        return "which node made it was not measured: not all gradients on the way were."

    def broken_loss(self) -> Explanation | None:
        values = self.lost(self.run) if self.run else None
        if not values or self.run is None:
            return None
        cause, word = NAN if any(map(math.isnan, values)) else INF
        verdict = f"The loss is {word}, although the gradients are finite."
        return self.forward(cause, verdict, "", self.run)

    def forward(self, cause: Cause, verdict: str, when: str, run: Backward) -> Explanation:
        """No derivative is to blame: the first call with such a result, where results were read."""
        nan = any(map(math.isnan, self.lost(run)))
        word, test = ("NaN", math.isnan) if nan else ("inf", math.isinf)
        loss = self.graph.call[run.call_id].inputs[0]
        behind = self.facts.ancestors([loss])
        whole = True  # were all results of at most 8 elements so far?
        for call in self.graph.calls[: run.call_id]:
            if call.function in _UNSET:
                continue
            own = [numbers(self.graph.tensor[i].values or "") for i in call.outputs if i in behind]
            given = [numbers(self.graph.tensor[i].values or "") for i in call.inputs]
            if not any(test(x) for v in own for x in v or ()):
                whole = whole and None not in own
                continue
            first = whole and not any(v is None or any(map(test, v)) for v in given)
            told = "made by" if first else "first seen in the result of"
            rest = "" if first else " (larger results were not read, nor what is older)"
            why = (
                f"{when}the forward had {word} already, {told} {self.words.code(call)}{rest}: blame"
                " no derivative."
            )
            mend = (
                "look at what goes into this call (log, sqrt, division, exp, a mean of nothing,"
                " data)."
            )
            found = self.say(cause, verdict, why, mend)
            return found._replace(where=self.words.places([call]), lines=lines_of([call]))
        why = f"{when}the loss was {word} already, so the forward made it: blame no derivative."
        return self.say(
            cause, verdict, why, "look for the first result that is not finite, from the data on."
        )

    def made(
        self, cause: Cause, verdict: str, when: str, run: Backward, bad: list[Block]
    ) -> Explanation:
        """The first node that got finite gradients and sent others."""
        ends = {n for b in bad for n in self.node.get(b.name, ())}
        for step in self.steps[run.run]:
            if not step.broken or not step.clean:
                continue
            if not ends or self.facts.reachable([step.event.node_id]) & ends:
                return self.made_at(cause, verdict, when, step)
        return self.say(cause, verdict, when + self.first_seen(run), _ANOMALY)

    def made_at(self, cause: Cause, verdict: str, when: str, step: Step) -> Explanation:
        """This node made what is not finite."""
        node = self.graph.node[step.event.node_id]
        what = (
            "its backward is code of its own, and made it"
            if node.kind is NodeKind.CUSTOM_FUNCTION
            else "its derivative does not exist or overflows at the values of the forward"
        )
        why = f"{when}{node.name} got {step.told(True)} and sent {step.told(False)}: {what}."
        mend = (
            "keep its input away from that point (eps or clamp before it; torch.where after"
            " it is too late)."
        )
        return self.say(cause, verdict, why, mend, (node.id,))

    def first_seen(self, run: Backward) -> str:
        """Say where a gradient was first seen that is not finite."""
        steps = self.steps[run.run]
        first = next(s for s in steps if s.broken)
        name, before = self.graph.node[first.event.node_id].name, steps[: steps.index(first)]
        if not first.sound and not before:
            return f"the gradient that backward started with, {first.told(True)}, was not finite."
        if not first.sound and all(s.known for s in before):
            return (
                f"what was sent to {name} is finite, {first.told(True)} arrived: an overflow,"
                " or a hook."
            )
        return f"first seen at {name}, after gradients that were not measured."

    def underflow(self) -> Explanation | None:
        zeros, elements = sum(b.zeros for b in self.blocks), sum(b.elements for b in self.blocks)
        if zeros < ZEROS * elements:
            return None
        share = f"{zeros / elements:.0%} of all gradient elements are exactly 0"
        mend = "scale the loss (torch.amp.GradScaler), or compute in float32 or bfloat16."
        for step in self.ran:
            if (small := self.tiny(step)) is not None:
                node = self.graph.node[step.event.node_id]
                limit = f"the smallest normal {small[1]} is {least_normal(small[1]):.1e}"
                why = f"{small[0]} arrives at {node.name}; {limit}."
                return self.say(Cause.UNDERFLOW, f"Underflow: {share}.", why, mend, (node.id,))
        if least := next((b for b in self.blocks if b.least), None):
            limit = f"the smallest normal {least.least}, {least_normal(least.least):.1e}"
            why = f"the largest gradient of {least.name or 'the model'} is below {limit}."
            return self.say(Cause.UNDERFLOW, f"Underflow: {share}.", why, mend)
        if zeros == elements:
            return self.say(
                Cause.NOT_KNOWN,
                f"{share}; no gradient near the limit of the dtype was seen on the way.",
            )
        return None

    def falling(self) -> Explanation | None:
        """Norms that fall from module to module by more than ``FOLD`` in all."""
        alive = [b for b in self.blocks if b.norm > 0]
        mend = "ReLU or GELU instead of a saturating function, a residual path, or normalisation."
        return self.trend(Cause.VANISHING, "shrinks", mend, alive, [b.norm for b in alive])

    def growing(self) -> Explanation | None:
        """Flows that grow from module to module by more than ``FOLD`` in all."""
        biased = [b for b in self.blocks if b.bias]
        flows, how = [1 / b.bias for b in biased if b.bias], ", measured at their biases"
        arriving = [self.flow(b) for b in self.blocks]
        if arriving and all(x and math.isfinite(x) for x in arriving):
            biased, flows, how = (
                self.blocks,
                [1 / x for x in arriving if x],
                ", measured where it arrives",
            )
        mend = f"smaller initial weights, normalisation, or {_CLIP}."
        return self.trend(Cause.EXPLODING, "grows", mend, biased, flows, how)

    def trend(
        self,
        cause: Cause,
        verb: str,
        mend: str,
        blocks: list[Block],
        sizes: list[float],
        how: str = "",
    ) -> Explanation | None:
        steps = [b < a for a, b in pairwise(sizes)]
        if len(steps) < 2 or sum(steps) < STEADY * len(steps) or sizes[0] < FOLD * sizes[-1]:
            return None
        if self.known and not self.leads(blocks[0], blocks[-1]):
            return None
        fold, nodes = sizes[0] / sizes[-1], self.between(blocks, sizes)
        factor = fold ** ((1 if verb == "grows" else -1) / len(steps))
        return self.say(
            cause,
            f"The gradient {verb} {_fold(fold)}-fold from {blocks[0].name} to"
            f" {blocks[-1].name}{how}.",
            f"each of {len(sizes)} modules multiplies it by about {number(factor)};"
            f" {self.blame(nodes, blocks[-1])} (Called {cause} from {_fold(FOLD)}-fold.)",
            mend,
            nodes,
        )

    def uses(self) -> Explanation | None:
        """One cell used many times, each use before the other: what each use contributes to its
        parameter."""
        for name, node in ((name, n) for name, nodes in self.node.items() for n in nodes):
            last = {e.node_id: e for e in self.facts.edges_into.get(node, ())}
            if len(last) < CHAIN:
                continue
            steps = [s for s in self.ran if s.event.node_id in last]
            sent = [s.sent[last[s.event.node_id].next_index] for s in steps]
            found = [(s, x) for s, x in zip(steps, sent, strict=True) if x]
            sizes = [x for _, x in found]
            if not _fades_steadily(sizes):
                continue
            late, early = (self.user(last[s.event.node_id]) for s, _ in (found[0], found[-1]))
            if early in self.facts.reachable([late]):
                leaf = self.graph.node[node].leaf_id
                return self.fading(name, leaf, sizes, sent, (late, early))
        return None

    def fading(
        self,
        name: str,
        leaf: int | None,
        sizes: list[float],
        sent: list[float | None],
        ends: tuple[int, int],
    ) -> Explanation:
        """The uses of one cell count less and less."""
        zeros = _zeros_at_the_end(sent)
        fold = sizes[0] / sizes[-1]
        factor = number(fold ** (-1 / (len(sizes) - 1)))
        verdict = f"The gradient shrinks {_fold(fold)}-fold over " + _uses(
            len(sizes), zeros, len(sent)
        )
        why = f"each use multiplies what it contributes to {self.words.name(leaf)} by about"
        why += f" {factor}"
        dtype = self.graph.tensor[leaf].dtype if leaf is not None else None
        # a state of zeros is another reason
        fades = bool(zeros and dtype and sizes[-1] < least_normal(dtype))
        why += f", until it is too small for {dtype}. " if fades else ". "
        told = "the first one contributes" if zeros == 1 else f"the first {zeros} contribute"
        rest = f"{told} exactly 0." if zeros else "the first uses hardly count."
        return self.say(
            Cause.VANISHING,
            f"{verdict} of {name or 'the model'}: {rest}",
            f"{why}(Called vanishing from {_fold(FOLD)}-fold.)",
            "a gated cell (LSTM, GRU), a residual path, orthogonal weights, or fewer steps.",
            ends,
            fades=fades,
        )

    def chain(self) -> Explanation | None:
        """Growth along one path of nodes, where the recording has the numbers: one cell used many
        times."""
        path = self.steepest_path()
        if len(path) < CHAIN:
            return None
        start, end = self.sizes.get(path[-1][0], 0.0), self.sizes.get(path[0][0], 0.0) * path[0][1]
        fold, scale = end / start if start else 0.0, max(f for _, f in path)
        # What arrived has to have grown as well, and without the largest factor: that may be a
        # scale that was chosen.
        if fold < FOLD * scale or sum(math.log(f) for _, f in path) < math.log(FOLD * scale):
            return None
        names = [self.graph.node[n].name for n, _ in path]
        name = max(set(names), key=names.count)
        return self.say(
            Cause.EXPLODING,
            f"The gradient grows {_fold(fold)}-fold along one path of {len(path)} nodes.",
            f"{name} stands there {names.count(name)} times; on average a node multiplies it by "
            f"{number(fold ** (1 / len(path)))}. (Called exploding from {_fold(FOLD)}-fold.)",
            "a smaller weight, fewer steps (detach the state now and then), or " + _CLIP + ".",
            (path[0][0],),
        )

    def steepest_path(self) -> list[tuple[int, float]]:
        """The nodes of the path along which a gradient grows most, from the input to the loss, each
        with what it multiplies by."""
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
        path = []
        while at is not None and (before := best[at][1]) is not None:
            if (grown := math.exp(min(best[at][0] - best[before][0], 700.0))) > 1.1:
                path.append((before, grown))
            at = before
        return path

    def large(self) -> Explanation | None:
        large = [b.name or "the model" for b in self.blocks if b.norm >= FOLD]
        if not large:
            return None
        verdict = f"The gradient of {several(large)} is larger than {_fold(FOLD)}."
        why = "whether it grew or was large at once was not measured."
        return self.say(Cause.NOT_KNOWN, verdict, why)._replace(detail="large")

    def unreadable(self) -> Explanation | None:
        if not self.unread:
            return None
        every = len(self.blocks) + self.unread
        verdict = (
            f"The gradients of {self.unread} of {every} modules cannot be read; the others show"
            " no fault in size."
        )
        return self.say(Cause.NOT_KNOWN, verdict)

    def healthy(self) -> Explanation:
        reach = f"{self.received} of {self.total} parameters received gradient"
        return self.say(
            Cause.HEALTHY,
            f"No fault in size: {reach}, and no norm vanishes or explodes ({_fold(FOLD)}-fold),"
            " none is NaN.",
        )

    def blame(self, nodes: tuple[int, ...], early: Block) -> str:
        """The nodes behind the factor with what was measured, otherwise the ones that it may be."""
        if not nodes:
            return "which node does it is not known without a recording of this backward."
        towards = self.facts.above(self.node[early.name])
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


# What may be wrong with the size of gradients: see NOTE [one table].
RULES: tuple[Rule[[_Small]], ...] = (
    Rule(_Small.nothing),
    Rule(_Small.broken),
    Rule(_Small.broken_loss),
    Rule(_Small.underflow),
    Rule(_Small.falling),
    Rule(_Small.growing),
    Rule(_Small.uses),
    Rule(_Small.chain),
    Rule(_Small.large),
    Rule(_Small.unreadable),
)


def _fades_steadily(sizes: Sequence[float]) -> bool:
    """
    >>> _fades_steadily([1e3, 1.0, 1e-3, 1e-6]), _fades_steadily([1e3, 1.0, 1e-3, 1e-2])
    (True, False)
    """
    falls = sum(b < a for a, b in pairwise(sizes))
    if len(sizes) < CHAIN or falls < STEADY * (len(sizes) - 1):
        return False
    return sizes[0] >= FOLD * sizes[-1] > 0


def _zeros_at_the_end(sent: Sequence[float | None]) -> int:
    """
    >>> _zeros_at_the_end([2.0, 0.0, 1.0, 0.0, 0.0]), _zeros_at_the_end([0.0, None])
    (2, 0)
    """
    return next((place for place, size in enumerate(reversed(sent)) if size != 0), len(sent))


def _uses(measured: int, zeros: int, total: int) -> str:
    """
    >>> _uses(200, 0, 200), _uses(132, 68, 200), _uses(100, 0, 200), _uses(90, 60, 200)
    ('the 200 uses', 'the last 132 of the 200 uses', '100 of the 200 uses', '90 of the 200 uses')
    """
    if measured == total:
        return f"the {total} uses"
    return f"{'the last ' if measured + zeros == total else ''}{measured} of the {total} uses"


def _fold(factor: float) -> str:
    """
    >>> _fold(278_913_211.0), _fold(1e6), _fold(1e30)
    ('280,000,000', '1,000,000', '1e+30')
    """
    return f"{factor:.0e}" if factor >= 1e12 else f"{float(f'{factor:.1e}'):,.0f}"
