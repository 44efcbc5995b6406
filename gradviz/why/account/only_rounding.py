"""Gradients of which nothing is left but rounding: what comes to a leaf on several ways cancels, in
the first backward already. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from gradviz.graph.facts import Facts
from gradviz.graph.preview import number
from gradviz.graph.sent import number_of, root_of_squares
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern
from gradviz.words.words import Words

# what rounding leaves of parts of size 1, with some room
_ROUNDING = {"float32": 2e-6, "float64": 4e-15}
_DEEP = 12  # nodes above a leaf that are looked at


def only_rounding(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of the leaves in whose gradients all parts cancel but for rounding, in the first and in
    the last backward: what is learned by then cancels in the last alone.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    runs, found = _Runs(facts), dict[int, int]()  # leaf: a node that sends one of its parts
    sizes = dict[int, float]()
    for leaf, node in facts.accumulate_node.items():
        least = _ROUNDING.get(facts.latest_state[leaf].dtype or "", 0.0)
        ran = [one for _, one in facts.runs_of_node.get(node, ())]
        sending = [runs.of(one.run).sending(node, least) for one in ran[:1] + ran[-1:]]
        if sending and sending[0] is not None and sending[-1] is not None:
            found[leaf], sizes[leaf] = sending[-1], _size(ran[-1].arrived, ran[-1].arrived_norms)
    calls = [facts.graph.call[i] for n in found.values() if (i := facts.graph.node[n].call_id)]
    if calls:
        fields = {
            "names": pattern([words.name(facts.latest_state[leaf].id) for leaf in found]),
            "n": len(found),
            "size": number(max(sizes.values())),
            "call": words.at(calls[-1]),
        }
        yield Remark(Weight.WEIGHTY, "only_rounding", fields, (calls[-1],), frozenset(found))


class _Runs:
    """The backwards of a recording, each looked through once."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.known = dict[int, _Run]()

    def of(self, run: int) -> _Run:
        """Return one of them."""
        if run not in self.known:
            self.known[run] = _Run(self.facts, run)
        return self.known[run]


class _Run:
    """What the nodes did in one backward."""

    def __init__(self, facts: Facts, run: int) -> None:
        self.facts = facts
        self.ran = {one.node_id: one for one in facts.nodes_of_run[run]}
        self.known = dict[int, int | None]()  # what ``sending`` found, by node

    def sending(self, node: int, least: float, deep: int = _DEEP) -> int | None:
        """Return the last node that sends one of the parts that cancel but for rounding, on all
        ways to a node; None where one of them brings more, or was not measured."""
        if node not in self.known:
            self.known[node] = None
            self.known[node] = self._sending(node, least, deep) if deep else None
        return self.known[node]

    def _sending(self, node: int, least: float, deep: int) -> int | None:
        ran = self.ran.get(node)
        parts = {} if ran is None else self._parts(node)
        if ran is None or not parts:
            return None
        arrived = _size(ran.arrived, ran.arrived_norms)
        if not arrived > 0:
            return None
        if len(parts) > 1 and arrived <= least * max(parts.values()):
            return max(sender for sender, _ in parts)
        found = None
        for sender in dict.fromkeys(sender for sender, _ in parts):
            found = self.sending(sender, least, deep - 1)
            if found is None:
                return None
        return found

    def _parts(self, node: int) -> dict[tuple[int, int], float]:
        """Return the sizes of what was sent to a node, by edge, where it is not zero; nothing where
        one was not measured."""
        found = dict[tuple[int, int], float]()
        for edge in self.facts.edges_into.get(node, ()):
            ran, at = self.ran.get(edge.node_id), edge.next_index
            if ran is None or at >= len(ran.sent):
                continue
            size = _size(ran.sent[at : at + 1], ran.sent_norms[at : at + 1])
            if not size >= 0:
                return {}
            found |= {(edge.node_id, at): size} if size > 0 else {}
        return found


def _size(texts: tuple[str | None, ...], norms: tuple[str | None, ...]) -> float:
    """Return the norm of some gradients; NaN where one was not measured."""
    pairs = zip_longest(texts, norms)
    return root_of_squares(number_of(norm, text) for text, norm in pairs if text)
