"""Networks whose weights stand still and whose running statistics move: they ran in train mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradviz.graph.facts import grouped
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.rules.many import pattern
from gradviz.why.rules.silent.batch_norm import bystanders, train_lines

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def statistics_of_frozen(case: Case) -> Iterator[Remark]:
    """Tell of each network beside a training that nothing trains and nothing writes, and whose
    normalisations counted the batches that it was given."""
    by_network = grouped((layer.title, layer) for layer in bystanders(case.live_state))
    for title, layers in by_network.items():
        calls = [call for layer in layers for call in layer.calls]
        by = train_lines(case.live_state, {title})
        fields = {
            "model": title,
            "layers": pattern([layer.name for layer in layers]),
            "n": case.words.times(len(calls)),
            "place": case.words.where(calls[-1]),
            "train": [case.words.source(place) for place in by],
        }
        key = "statistics_by_train" if by else "statistics_of_frozen"
        yield Remark(Weight.NOTABLE, key, fields, (calls[-1],), statements=(*by,))
