"""Rows of an embedding that are kept out of training as padding, and hold numbers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.names.statements import where_made
from gradviz.watch.identity import read
from gradviz.why.account.remark import Remark, Weight

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_TABLES = (torch.nn.Embedding, torch.nn.EmbeddingBag)


def rows_left_out(case: Case) -> Iterator[Remark]:
    """Tell of embeddings that are trained and whose row at padding_idx is not zero: what is looked
    up there is never trained, which is meant of padding only."""
    live, trained = case.live_state, set(case.facts.leaves_filled)
    for title, module in live.modules.items():
        for path, part in read(module.named_modules) or ():
            if not isinstance(part, _TABLES) or part.padding_idx is None:
                continue
            own = live.object_of(part.weight)
            if own not in trained or not _has_numbers(part):
                continue
            owner, _, name = path.rpartition(".")
            made = where_made(type(module.get_submodule(owner)), name) if name else None
            table = ".".join(filter(None, (title, path)))
            yield Remark(
                Weight.WEIGHTY,
                "row_left_out",
                {
                    "row": f"{table}.weight[{part.padding_idx}]",
                    "index": part.padding_idx,
                    "at": f" ({case.words.line_of(made)})" if made else "",
                },
                objects=frozenset({own} if own is not None else ()),
                statements=(made,) if made else (),
            )


def _has_numbers(table: Any) -> bool:
    """Say whether the row for padding is not all zeros."""
    row = read(lambda: table.weight.detach()[table.padding_idx])
    return row is not None and bool(read(row.any))
