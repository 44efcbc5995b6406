"""Small, exploding and broken gradients: the norm per module, what each block multiplies by, and
the node behind it.

Norms are read from live ``.grad`` tensors; what happened on the way from what a recording measured:
the elements of small gradients, the norms of others. What was not measured is not told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Any

from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, Call, NodeKind
from gradviz.why.evidence.measured import Block, Measured
from gradviz.why.rules.sizes.size_profile import Profile, profile
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words.speech import say

# a change of the gradient's norm between first and last module that is called vanishing or
# exploding
FOLD = 1e6
STEADY = 0.7  # of the steps from module to module that go the same way
ZEROS = 0.5  # share of exact zeros from which underflow is looked for
# what a chart of sizes shows
CHANGES = (Cause.VANISHING, Cause.EXPLODING, Cause.UNDERFLOW)
# nodes that must make a gradient grow together: one factor alone is a scale, chosen by the user
CHAIN = 4


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
        of_uses: Profile | None = None,
        flows: Profile | None = None,
        sure: Sure = Sure.PROVEN,
        **fields: Any,
    ) -> Explanation:
        """Tell what was found, with the norms of the modules, or of the uses of one.

        Args:
            cause: what is wrong, or that nothing is.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            calls: where it happened; left out, the calls that made ``nodes``.
            nodes: the nodes that it points at.
            fades: on its way a gradient became exactly 0, whatever the sums in .grad are.
            of_uses: what each use of a module contributes.
            flows: what arrives at each module, where that was measured; else the norms count.
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
                "limit": fold_text(FOLD),
                **fields,
            },
            calls=tuple(calls) or tuple(call for call in makers if call is not None),
            node_ids=tuple(nodes),
            checked=tuple(self.checked(cause, fades)),
            sure=sure,
            more=self.told_sizes(cause, of_uses, flows or self.of_modules)
            if self.returned is None and any(block.name for block in self.blocks)
            else (),
        )
        told = worded(finding, self.words)
        if cause in CHANGES:
            told = told._replace(bars=(of_uses or flows or self.of_modules).bars())
        return told if nodes else told._replace(graph=None)  # nothing is looked up in it

    def checked(self, cause: Cause, fades: bool) -> Iterator[str]:
        """Yield the keys of what was checked and is not the cause."""
        if self.returned is not None:
            return
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

    @property
    def of_modules(self) -> Profile:
        """The norms of the modules' gradients, from the loss to the input."""
        return profile([title_of(b) for b in self.blocks], [b.norm for b in self.blocks], FOLD)

    def told_sizes(self, cause: Cause, of_uses: Profile | None, sizes: Profile) -> tuple[str, ...]:
        """Return the norms as lines, and where they fall or grow beyond what counts."""
        if not self.blocks:
            return ()
        if of_uses is not None:
            title = say("small.norms_of_uses")
            return (*self.dies_at_use(of_uses), f"{title}  {of_uses.line()}")
        title = say("small.norms_from_loss" if self.known else "small.norms_by_definition")
        told = f"{title}  {self.of_modules.line()}"
        changes = self.known and cause in (Cause.VANISHING, Cause.EXPLODING)
        return (told, *(self.crosses_at_module(sizes) if changes else ()))

    def dies_at_use(self, sizes: Profile) -> Iterator[str]:
        """Say between which two uses of a module the gradient falls out of what counts."""
        at = sizes.crossing
        if at is not None:
            late, early = sizes.labels[at - 1], sizes.labels[at]
            total, limit = sizes.labels[0], fold_text(FOLD)
            yield say("small.dies_at_use", late=late, early=early, total=total, limit=limit)

    def crosses_at_module(self, sizes: Profile) -> Iterator[str]:
        """Say between which two modules the gradient falls or grows beyond what counts."""
        at = sizes.crossing
        if at is not None:
            late, early, first = sizes.labels[at - 1], sizes.labels[at], sizes.labels[0]
            grows = sizes.sizes[at] > sizes.sizes[0]
            yield say(
                "small.grows_at" if grows else "small.dies_at",
                late=late,
                early=early,
                first=first,
                limit=fold_text(FOLD),
            )

    def in_backward(self, run: Backward, why: str) -> str:
        """Say in which backward something happened, where that is not the last one."""
        if run is self.run:
            return why
        nr = self.runs.index(run) + 1
        return say("small.in_backward", nr=nr, all=len(self.runs), why=why)

    # --- answers ----------------------------------------------------------------------------------

    def nothing(self) -> Explanation | None:
        """Tell that no gradient could be read."""
        return None if self.blocks else self.answer(Cause.NOT_KNOWN, "no_gradients")

    def goes_on(self, blocks: list[Block], sizes: list[float], fold: float = FOLD) -> bool:
        """Say whether sizes fall steadily, by more than a factor in all, along one way: of modules
        of which the last backward met some alone, that is not known."""
        falls = [b < a for a, b in pairwise(sizes)]
        if len(falls) < 2 or sum(falls) < STEADY * len(falls) or sizes[0] < fold * sizes[-1]:
            return False
        return not self.node or (self.known and self.leads(blocks[0], blocks[-1]))

    def trend(self, blocks: list[Block], sizes: list[float], *, grows: bool) -> dict[str, Any]:
        """Return what the sentences name of a trend from module to module."""
        fold = sizes[0] / sizes[-1]
        steps = len(sizes) - 1
        return {
            "fold": fold_text(fold),
            "late": title_of(blocks[0]),
            "early": title_of(blocks[-1]),
            "parts": say(
                "small.n_tensors" if all(b.is_tensor for b in blocks) else "small.n_modules",
                n=len(sizes),
            ),
            "factor": number(fold ** ((1 if grows else -1) / steps)),
            "blame": self.blame(self.between(blocks, sizes), blocks[-1]),
        }

    def large(self) -> Explanation | None:
        """Tell of large gradients of which it is not known whether they grew."""
        large = [title_of(b) for b in self.blocks if b.norm >= FOLD]
        return self.answer(Cause.NOT_KNOWN, "large", modules=large) if large else None

    def unreadable(self) -> Explanation | None:
        """Tell that some gradients could not be read."""
        if not self.unread:
            return None
        every = len(self.blocks) + self.unread
        return self.answer(Cause.NOT_KNOWN, "unreadable", unread=self.unread, modules=every)

    def healthy(self) -> Explanation:
        """Tell that no size is wrong."""
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
            if not names:
                return say("small.nodes_unmeasured")
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


def title_of(block: Block) -> str:
    """Return what a module is called."""
    return block.name or say("small.whole_model")


def fold_text(factor: float) -> str:
    """Return a large factor with two digits.

    >>> fold_text(278_913_211.0), fold_text(1e6), fold_text(1e30)
    ('280,000,000', '1,000,000', '1e+30')
    """
    return f"{factor:.0e}" if factor >= 1e12 else f"{float(f'{factor:.1e}'):,.0f}"
