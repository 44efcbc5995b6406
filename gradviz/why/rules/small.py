"""Small, exploding and broken gradients: the norm per module, what each block multiplies by, and
the node behind it.

Norms are read from live ``.grad`` tensors; what happened on the way from what a recording measured:
the elements of small gradients, the norms of others. What was not measured is not told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, Call, NodeKind
from gradviz.why.explanation import Explanation, worded
from gradviz.why.measured import Block, Measured, Step, least_normal, numbers
from gradviz.words.speech import say

if TYPE_CHECKING:
    pass

# a change of the gradient's norm between first and last module that is called vanishing or
# exploding
FOLD = 1e6
STEADY = 0.7  # of the steps from module to module that go the same way
ZEROS = 0.5  # share of exact zeros from which underflow is looked for
NAN, INF = (Cause.NAN, "NaN"), (Cause.EXPLODING, "inf")
# nodes that must make a gradient grow together: one factor alone is a scale, chosen by the user
CHAIN = 4
_UNSET = ("empty", "empty_like", "empty_strided", "new_empty")  # their values mean nothing


class Sizes(Measured):
    """The answers to one question."""

    # --- words ------------------------------------------------------------------------------------

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        calls: Sequence[Call] = (),
        nodes: Sequence[int] = (),
        fades: bool = False,
        sure: Sure = Sure.PROVEN,
        **fields: Any,
    ) -> Explanation:
        """Tell what was found, with the norms of the modules.

        Args:
            cause: what is wrong, or that nothing is.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            calls: where it happened; left out, the calls that made ``nodes``.
            nodes: the nodes that it points at.
            fades: on its way a gradient became exactly 0, whatever the sums in .grad are.
            sure: how sure it is.
            fields: what the sentences name.
        """
        graph = self.graph
        makers = [graph.call.get(graph.node[n].call_id) for n in nodes]
        finding = Finding(
            cause,
            form,
            Symptom.SOME,
            fields={
                "received": self.received,
                "total": self.total,
                "zeros": f"{self.share_of_zeros:.0%}",
                "limit": _fold(FOLD),
                **fields,
            },
            calls=tuple(calls) or tuple(call for call in makers if call is not None),
            node_ids=tuple(nodes),
            checked=tuple(self.checked(cause, fades)),
            sure=sure,
            more=(self.norms(),) if self.blocks else (),
        )
        told = worded(finding, self.words)
        return told if nodes else told._replace(graph=None)  # nothing is looked up in it

    def checked(self, cause: Cause, fades: bool) -> Iterator[str]:
        """Yield the keys of what was checked and is not the cause."""
        if cause is not Cause.HEALTHY and 0 < self.total == self.received:
            yield "all_received"
        if cause in (Cause.VANISHING, Cause.UNDERFLOW):
            yield "not_finite"
        if cause is Cause.VANISHING and self.share_of_zeros < ZEROS and not fades:
            yield "underflow"

    @property
    def share_of_zeros(self) -> float:
        """Return how many of the elements of all gradients are exactly 0, from 0 to 1."""
        zeros = sum(block.zeros for block in self.blocks)
        return zeros / max(1, sum(block.elements for block in self.blocks))

    def norms(self) -> str:
        """Return at most six of the modules' norms, from the loss to the input, as one line."""
        every = max(1, (len(self.blocks) - 1) / 5)
        shown = dict.fromkeys(round(i * every) for i in range(6))
        told = [self.blocks[i] for i in shown if i < len(self.blocks)]
        title = say("small.norms_from_loss" if self.known else "small.norms_by_definition")
        norms = "   ".join(f"{_title(block)} {block.norm:.1e}" for block in told)
        return f"{title}  {norms}"

    def in_backward(self, run: Backward, why: str) -> str:
        """Say in which backward something happened, where that is not the last one."""
        if run is self.run:
            return why
        nr = self.runs.index(run) + 1
        return say("small.in_backward", nr=nr, all=len(self.runs), why=why)

    # --- answers ----------------------------------------------------------------------------------

    def nothing(self) -> Explanation | None:
        """No gradient could be read."""
        return None if self.blocks else self.answer(Cause.NOT_KNOWN, "no_gradients")

    def broken(self) -> Explanation | None:
        """NaN or inf in some gradients, and what made it."""
        bad = [b for b in self.blocks if b.broken]
        if not bad:
            return None
        cause, value = NAN if any(b.nan for b in bad) else INF
        broken = say(
            "small.modules_broken",
            bad=len(bad),
            modules=len(self.blocks),
            value=value,
            names=[_title(b) for b in bad],
        )
        run = self.first_broken()
        if run is None:
            why = self.not_on_the_way(value)
            return self.answer(cause, "not_traced", broken=broken, why=why)
        if self.lost(run):
            return self.forward(cause, broken, run)
        return self.made(cause, broken, run, bad)

    def first_broken(self) -> Backward | None:
        """Return the last backward, where it broke gradients of a sound loss; else the first that
        did: a loss that was broken already may be so because of an earlier step."""
        seen = [r for r in self.runs if any(s.broken for s in self.steps.get(r.run, ()))]
        if not seen or self.run is None:
            return None
        return self.run if self.run in seen and not self.lost(self.run) else seen[0]

    def not_on_the_way(self, value: str) -> str:
        """Say what is known where no gradient on the way was broken."""
        if self.ran and all(s.known for s in self.ran):
            return say("small.not_on_the_way", value=value)
        return say("small.not_measured")

    def broken_loss(self) -> Explanation | None:
        """The loss is NaN or inf, although no gradient is."""
        values = self.lost(self.run) if self.run else None
        if not values or self.run is None:
            return None
        cause, value = NAN if any(map(math.isnan, values)) else INF
        return self.forward(cause, say("small.loss_broken", value=value), self.run)

    def forward(self, cause: Cause, broken: str, run: Backward) -> Explanation:
        """Blame no derivative: name the first call with such a result, where results were read."""
        nan = any(map(math.isnan, self.lost(run)))
        value = "NaN" if nan else "inf"
        call, made_it = self.first_result(run, math.isnan if nan else math.isinf)
        if call is None:
            why = say("small.made_in_forward", value=value)
            return self.answer(cause, "forward", broken=broken, why=self.in_backward(run, why))
        why = say(
            "small.made_by_call" if made_it else "small.seen_in_call",
            value=value,
            code=self.words.code(call),
        )
        return self.answer(
            cause,
            "forward_call",
            calls=[call],
            sure=Sure.PROVEN if made_it else Sure.LIKELY,
            broken=broken,
            why=self.in_backward(run, why),
        )

    def first_result(
        self, run: Backward, test: Callable[[float], bool]
    ) -> tuple[Call | None, bool]:
        """Return the first call on the way to a loss with such a result, and whether it is proven
        that this call made it."""
        behind = self.facts.ancestors([self.graph.call[run.call_id].inputs[0]])
        all_read = True  # were all results of at most 8 elements so far?
        for call in self.graph.calls[: run.call_id]:
            if call.function in _UNSET:
                continue
            results = [self.values(i) for i in call.outputs if i in behind]
            if any(test(x) for values in results for x in values or ()):
                inputs = [self.values(i) for i in call.inputs]
                sound = all(values is not None and not any(map(test, values)) for values in inputs)
                return call, all_read and sound
            all_read = all_read and None not in results
        return None, False

    def values(self, tensor_id: int) -> list[float] | None:
        """Return the numbers of a tensor; None where they were not read."""
        return numbers(self.graph.tensor[tensor_id].values or "")

    def made(self, cause: Cause, broken: str, run: Backward, bad: list[Block]) -> Explanation:
        """Blame the first node that got finite gradients and sent others."""
        ends = {n for b in bad for n in self.node.get(b.name, ())}
        for step in self.steps[run.run]:
            if not step.broken or not step.clean:
                continue
            if not ends or self.facts.reachable([step.event.node_id]) & ends:
                return self.made_at(cause, broken, run, step)
        why = self.in_backward(run, self.first_seen(run))
        return self.answer(cause, "not_traced", broken=broken, why=why)

    def made_at(self, cause: Cause, broken: str, run: Backward, step: Step) -> Explanation:
        """Blame the node that made what is not finite."""
        node = self.graph.node[step.event.node_id]
        own_code = node.kind is NodeKind.CUSTOM_FUNCTION
        why = say(
            "small.made_by_own_code" if own_code else "small.made_by_derivative",
            node=node.name,
            arrived=step.arrived_words,
            sent=step.sent_words,
        )
        why = self.in_backward(run, why)
        return self.answer(cause, "node", nodes=[node.id], broken=broken, why=why)

    def first_seen(self, run: Backward) -> str:
        """Say where a gradient was first seen that is not finite."""
        steps = self.steps[run.run]
        first = next(s for s in steps if s.broken)
        before = steps[: steps.index(first)]
        node = self.graph.node[first.event.node_id].name
        if not first.sound and not before:
            return say("small.start_broken", arrived=first.arrived_words)
        if not first.sound and all(s.known for s in before):
            return say("small.arrived_broken", node=node, arrived=first.arrived_words)
        return say("small.first_seen", node=node)

    def underflow(self) -> Explanation | None:
        """Many exact zeros, and a gradient near the limit of its dtype."""
        if self.share_of_zeros < ZEROS:
            return None
        for step in self.ran:
            if (small := self.tiny(step)) is not None:
                arrived, dtype = small
                node = self.graph.node[step.event.node_id]
                return self.answer(
                    Cause.UNDERFLOW,
                    "on_the_way",
                    nodes=[node.id],
                    sure=Sure.LIKELY,
                    arrived=arrived,
                    node=node.name,
                    dtype=dtype,
                    least=f"{least_normal(dtype):.1e}",
                )
        if block := next((b for b in self.blocks if b.least), None):
            return self.answer(
                Cause.UNDERFLOW,
                "in_module",
                sure=Sure.LIKELY,
                module=_title(block),
                dtype=block.least,
                least=f"{least_normal(block.least):.1e}",
            )
        if self.share_of_zeros == 1:
            return self.answer(Cause.NOT_KNOWN, "all_zeros")
        return None

    def falling(self) -> Explanation | None:
        """Norms that fall from module to module by more than ``FOLD`` in all."""
        alive = [b for b in self.blocks if b.norm > 0]
        norms = [b.norm for b in alive]
        if not self.goes_on(alive, norms):
            return None
        return self.answer(
            Cause.VANISHING,
            "modules",
            nodes=self.between(alive, norms),
            **self.trend(alive, norms, grows=False),
        )

    def growing(self) -> Explanation | None:
        """Flows that grow from module to module by more than ``FOLD`` in all."""
        arriving = [self.flow(b) for b in self.blocks]
        all_arrive = bool(arriving) and all(x and math.isfinite(x) for x in arriving)
        if all_arrive:
            blocks = self.blocks
            flows = [1 / x for x in arriving if x]
        else:
            blocks = [b for b in self.blocks if b.bias]
            flows = [1 / b.bias for b in blocks if b.bias]
        if not self.goes_on(blocks, flows):
            return None
        return self.answer(
            Cause.EXPLODING,
            "arriving" if all_arrive else "at_biases",
            nodes=self.between(blocks, flows),
            **self.trend(blocks, flows, grows=True),
        )

    def goes_on(self, blocks: list[Block], sizes: list[float]) -> bool:
        """Say whether sizes fall steadily, by more than ``FOLD`` in all, along one way."""
        falls = [b < a for a, b in pairwise(sizes)]
        if len(falls) < 2 or sum(falls) < STEADY * len(falls) or sizes[0] < FOLD * sizes[-1]:
            return False
        return not self.known or self.leads(blocks[0], blocks[-1])

    def trend(self, blocks: list[Block], sizes: list[float], *, grows: bool) -> dict[str, Any]:
        """Return what the sentences name of a trend from module to module."""
        fold = sizes[0] / sizes[-1]
        steps = len(sizes) - 1
        return {
            "fold": _fold(fold),
            "late": _title(blocks[0]),
            "early": _title(blocks[-1]),
            "modules": len(sizes),
            "factor": number(fold ** ((1 if grows else -1) / steps)),
            "blame": self.blame(self.between(blocks, sizes), blocks[-1]),
        }

    def uses(self) -> Explanation | None:
        """One cell used many times, each use before the other: what each use contributes to its
        parameter."""
        for name, nodes in self.node.items():
            for node in nodes:
                if (told := self.uses_of(name, node)) is not None:
                    return told
        return None

    def uses_of(self, name: str, node: int) -> Explanation | None:
        """Tell that the uses of the parameter of one AccumulateGrad count less and less."""
        edges = {e.node_id: e for e in self.facts.edges_into.get(node, ())}
        if len(edges) < CHAIN:
            return None
        steps = [s for s in self.ran if s.event.node_id in edges]
        sent = [s.sent[edges[s.event.node_id].next_index] for s in steps]
        counting = [step for step, size in zip(steps, sent, strict=True) if size]
        if not _fades_steadily([size for size in sent if size]):
            return None
        late = self.user(edges[counting[0].event.node_id])
        early = self.user(edges[counting[-1].event.node_id])
        if early not in self.facts.reachable([late]):
            return None
        return self.fading(name, self.graph.node[node].leaf_id, sent, (late, early))

    def fading(
        self, name: str, leaf: int | None, sent: list[float | None], ends: tuple[int, int]
    ) -> Explanation:
        """Tell that the uses of one cell count less and less.

        Args:
            name: of the module, "" for the whole model.
            leaf: the parameter.
            sent: norms of what each use contributes to it, the last use first; None where that was
                not measured.
            ends: the nodes of the last and of the first use that count.
        """
        sizes = [size for size in sent if size]
        zeros = _zeros_at_the_end(sent)
        fold = sizes[0] / sizes[-1]
        fields: dict[str, Any] = {
            "fold": _fold(fold),
            "uses": _uses(len(sizes), zeros, len(sent)),
            "module": name or say("small.whole_model"),
            "weight": self.words.name(leaf),
            "factor": number(fold ** (-1 / (len(sizes) - 1))),
        }
        if not zeros:
            return self.answer(Cause.VANISHING, "uses", nodes=ends, **fields)
        dtype = self.graph.tensor[leaf].dtype if leaf is not None else None
        if dtype and sizes[-1] < least_normal(dtype):
            return self.answer(
                Cause.VANISHING,
                "uses_fade",
                nodes=ends,
                fades=True,
                nothing=zeros,
                dtype=dtype,
                **fields,
            )
        # a state of zeros is another reason
        return self.answer(Cause.VANISHING, "uses_to_zero", nodes=ends, nothing=zeros, **fields)

    def chain(self) -> Explanation | None:
        """Growth along one path of nodes, where the recording has the numbers: one cell used many
        times."""
        path = self.steepest_path()
        if len(path) < CHAIN:
            return None
        start = self.sizes.get(path[-1][0], 0.0)
        end = self.sizes.get(path[0][0], 0.0) * path[0][1]
        fold = end / start if start else 0.0
        scale = max(f for _, f in path)
        # What arrived has to have grown as well, and without the largest factor: that may be a
        # scale that was chosen.
        if fold < FOLD * scale or sum(math.log(f) for _, f in path) < math.log(FOLD * scale):
            return None
        names = [self.graph.node[n].name for n, _ in path]
        name = max(set(names), key=names.count)
        return self.answer(
            Cause.EXPLODING,
            "path",
            nodes=[path[0][0]],
            fold=_fold(fold),
            nodes_on_path=len(path),
            node=name,
            times=names.count(name),
            factor=number(fold ** (1 / len(path))),
        )

    def steepest_path(self) -> list[tuple[int, float]]:
        """Return the nodes of the path along which a gradient grows most, from the input to the
        loss, each with what it multiplies by."""
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
        """Large gradients of which it is not known whether they grew."""
        large = [_title(b) for b in self.blocks if b.norm >= FOLD]
        return self.answer(Cause.NOT_KNOWN, "large", modules=large) if large else None

    def unreadable(self) -> Explanation | None:
        """Some gradients could not be read."""
        if not self.unread:
            return None
        every = len(self.blocks) + self.unread
        return self.answer(Cause.NOT_KNOWN, "unreadable", unread=self.unread, modules=every)

    def healthy(self) -> Explanation:
        """No size is wrong."""
        return self.answer(Cause.HEALTHY, "size")

    def blame(self, nodes: tuple[int, ...], early: Block) -> str:
        """Name the nodes behind the factor with what was measured, otherwise the ones that it may
        be."""
        if not nodes:
            return say("small.nodes_unknown")
        towards = self.facts.above(self.node[early.name])
        names = list(dict.fromkeys(self.graph.node[n].name for n in nodes if n in towards))
        measured = self.factors_by_name(towards)
        means = {n: sum(measured[n]) / len(measured[n]) for n in names if n in measured}
        if not means:
            return say("small.nodes_that_ran", nodes=names)
        largest_first = sorted(means, key=lambda n: -abs(means[n]))
        factors = [f"{n} ×{number(math.exp(means[n]))}" for n in largest_first]
        return say("small.nodes_measured", nodes=factors)

    def factors_by_name(self, towards: Set[int]) -> dict[str, list[float]]:
        """Return what nodes on the way to a module multiply by, as logarithms, by their name."""
        factors = self.factors()
        measured: dict[str, list[float]] = {}
        for node_id in towards:
            node = self.graph.node[node_id]
            edges = [e for e in self.graph.edges_from.get(node_id, ()) if e.next_node_id in towards]
            factor = factors.get((node_id, edges[0].next_index)) if len(edges) == 1 else None
            if factor and node.kind is NodeKind.BACKWARD:
                measured.setdefault(node.name, []).append(math.log(factor))
        return measured


def _fades_steadily(sizes: Sequence[float]) -> bool:
    """Say whether sizes fall steadily, by more than ``FOLD`` in all.

    >>> _fades_steadily([1e3, 1.0, 1e-3, 1e-6]), _fades_steadily([1e3, 1.0, 1e-3, 1e-2])
    (True, False)
    """
    falls = sum(b < a for a, b in pairwise(sizes))
    if len(sizes) < CHAIN or falls < STEADY * (len(sizes) - 1):
        return False
    return sizes[0] >= FOLD * sizes[-1] > 0


def _zeros_at_the_end(sent: Sequence[float | None]) -> int:
    """Count the zeros at the end.

    >>> _zeros_at_the_end([2.0, 0.0, 1.0, 0.0, 0.0]), _zeros_at_the_end([0.0, None])
    (2, 0)
    """
    return next((place for place, size in enumerate(reversed(sent)) if size != 0), len(sent))


def _uses(measured: int, zeros: int, total: int) -> str:
    """Put into words which uses of a cell were measured, the ``zeros`` first ones left out.

    >>> _uses(200, 0, 200), _uses(132, 68, 200), _uses(100, 0, 200), _uses(90, 60, 200)
    ('the 200 uses', 'the last 132 of the 200 uses', '100 of the 200 uses', '90 of the 200 uses')
    """
    if measured == total:
        return say("small.all_uses", total=total)
    return say(
        "small.last_uses" if measured + zeros == total else "small.some_uses",
        measured=measured,
        total=total,
    )


def _title(block: Block) -> str:
    """Return what a module is called."""
    return block.name or say("small.whole_model")


def _fold(factor: float) -> str:
    """Return a large factor with two digits.

    >>> _fold(278_913_211.0), _fold(1e6), _fold(1e30)
    ('280,000,000', '1,000,000', '1e+30')
    """
    return f"{factor:.0e}" if factor >= 1e12 else f"{float(f'{factor:.1e}'):,.0f}"
