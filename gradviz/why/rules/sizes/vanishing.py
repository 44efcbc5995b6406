"""A gradient that shrinks from module to module, or from use to use of one cell."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.preview import number
from gradviz.why.evidence.measured import least_normal
from gradviz.why.rules.sizes.size_profile import profile
from gradviz.why.rules.sizes.sizes import CHAIN, FOLD, STEADY, Sizes, fold_text
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say


def falling(sizes: Sizes) -> Explanation | None:
    """Tell of norms that fall from module to module by more than ``FOLD`` in all."""
    alive = [b for b in sizes.blocks if b.norm > 0]
    norms = [b.norm for b in alive]
    if not sizes.goes_on(alive, norms):
        return None
    return sizes.answer(
        Cause.VANISHING,
        "modules",
        nodes=sizes.between(alive, norms),
        **sizes.trend(alive, norms, grows=False),
    )


def uses(sizes: Sizes) -> Explanation | None:
    """Tell of one cell used many times, each use before the other: what each use contributes to
    its parameter."""
    for name, nodes in sizes.node.items():
        for node in nodes:
            if (told := uses_of(sizes, name, node)) is not None:
                return told
    return None


def uses_of(sizes: Sizes, name: str, node: int) -> Explanation | None:
    """Tell that the uses of the parameter of one AccumulateGrad count less and less."""
    edges = {e.node_id: e for e in sizes.facts.edges_into.get(node, ())}
    if len(edges) < CHAIN:
        return None
    steps = [s for s in sizes.ran if s.event.node_id in edges]
    sent = [s.sent[edges[s.event.node_id].next_index] for s in steps]
    counting = [step for step, size in zip(steps, sent, strict=True) if size]
    if not _fades_steadily([size for size in sent if size]):
        return None
    late = sizes.user(edges[counting[0].event.node_id])
    early = sizes.user(edges[counting[-1].event.node_id])
    if early not in sizes.facts.reachable([late]):
        return None
    return fading(sizes, name, sizes.graph.node[node].leaf_id, sent, (late, early))


def fading(
    sizes: Sizes, name: str, leaf: int | None, sent: list[float | None], ends: tuple[int, int]
) -> Explanation:
    """Tell that the uses of one cell count less and less.

    Args:
        name: of the module, "" for the whole model.
        leaf: the parameter.
        sent: norms of what each use contributes to it, the last use first; None where that was
            not measured.
        ends: the nodes of the last and of the first use that count.
    """
    counting = [size for size in sent if size]
    of_uses = profile([str(len(sent) - k) for k in range(len(sent))], sent, FOLD)
    zeros = _zeros_at_the_end(sent)
    fold = counting[0] / counting[-1]
    fields: dict[str, Any] = {
        "fold": fold_text(fold),
        "uses": _uses(len(counting), zeros, len(sent)),
        "module": name or say("small.whole_model"),
        "weight": sizes.words.name(leaf),
        "factor": number(fold ** (-1 / (len(counting) - 1))),
    }
    if not zeros:
        return sizes.answer(Cause.VANISHING, "uses", nodes=ends, of_uses=of_uses, **fields)
    dtype = sizes.graph.tensor[leaf].dtype if leaf is not None else None
    if dtype and counting[-1] < least_normal(dtype):
        return sizes.answer(
            Cause.VANISHING,
            "uses_fade",
            nodes=ends,
            fades=True,
            of_uses=of_uses,
            nothing=zeros,
            dtype=dtype,
            **fields,
        )
    # a state of zeros is another reason
    return sizes.answer(
        Cause.VANISHING, "uses_to_zero", nodes=ends, of_uses=of_uses, nothing=zeros, **fields
    )


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
