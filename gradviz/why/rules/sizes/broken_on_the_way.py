"""NaN or inf that a backward brought, where no .grad shows it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradviz.graph.records import Backward
from gradviz.why.evidence.measured import all_finite, numbers
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.rules.sizes.not_finite import INF, NAN, first_broken, forward, made
from gradviz.why.rules.sizes.sizes import Sizes
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say


def broken_on_the_way(silent: Silent) -> Iterator[Explanation]:
    """Tell of NaN or inf that the last backward brought to what is asked about: where no
    ``.grad`` shows it, as ``autograd.grad`` fills none and a loss has none."""
    sizes = Sizes({}, silent.recording)
    run = sizes.run
    if run is None or not silent.concerns(silent.facts.reachable(run.roots)):
        return
    names = _leaves_broken(silent, sizes, run)
    returned = _returned_broken(silent, run) if any(s.broken for s in sizes.ran) else []
    if not names and not returned:
        return
    sent = [x for s in sizes.ran for x in (*s.arrived, *s.sent) if x is not None]
    cause, value = NAN if any(map(math.isnan, sent)) else INF
    if names:
        broken = say("small.leaves_broken", names=names, value=value)
    else:
        broken = say("small.returned_broken", names=returned, value=value)
    begun = first_broken(sizes) or run
    if sizes.lost(begun):
        yield forward(sizes, cause, broken, begun)
    else:
        yield made(sizes, cause, broken, begun, [])


def _leaves_broken(silent: Silent, sizes: Sizes, run: Backward) -> list[str]:
    """Name the leaves that are asked about, or lie behind a loss that is, and got NaN or inf."""
    loss_asked = any(map(silent.is_wanted, silent.graph.call[run.call_id].inputs[:1]))
    broken = (silent.graph.node[s.event.node_id].leaf_id for s in sizes.ran if not s.sound)
    leaves = [i for i in broken if i is not None and (loss_asked or silent.is_wanted(i))]
    return list(dict.fromkeys(map(silent.words.name, leaves)))


def _returned_broken(silent: Silent, run: Backward) -> list[str]:
    """Name what ``autograd.grad`` was asked for, without what it returned finite gradients of."""
    read = [(i, numbers(preview or "")) for i, preview in run.returned]
    return [silent.words.name(i) for i, values in read if values is None or not all_finite(values)]
