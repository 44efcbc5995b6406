"""Buffers that stand where parameters were meant: no gradient comes to them, and no optimizer moves
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Source
from gradviz.names.statements import where_made
from gradviz.why.rules.many import pattern
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

# what nn.init does to weights; a buffer of zeros or ones is a counter or a mask
_RANDOM = ("uniform", "normal", "xavier", "kaiming", "orthogonal")


class Buffer(NamedTuple):
    """A buffer of a module.

    Attributes:
        path: its name, that of the model included.
        part: the module that has it.
        name: its name there.
        tensor: itself.
    """

    path: str
    part: torch.nn.Module
    name: str
    tensor: torch.Tensor

    @property
    def made(self) -> Source | None:
        """Where the module's constructor makes it, as far as that can be read."""
        return where_made(type(self.part), self.name)

    @property
    def is_statistic(self) -> bool:
        """Whether the forward of a layer of torch's own writes it."""
        return type(self.part).__module__.startswith("torch.nn.")


def buffers_of(asked: Silent) -> Iterator[Buffer]:
    """Yield the buffers of the modules that a question is about: numbers that could be learned."""
    for path, part in asked.parts():
        for name, tensor in part.named_buffers(recurse=False):
            if tensor.is_floating_point() and tensor.is_leaf and not tensor.requires_grad:
                yield Buffer(".".join(filter(None, (path, name))), part, name, tensor)


def asked_for(asked: Silent) -> Explanation | None:
    """Tell that what is asked about are buffers; of a bare question no such that the program itself
    writes, as it does a memory."""
    given = {id(t): name for name, t in asked.tensors.items()}
    found = [b for b in buffers_of(asked) if id(b.tensor) in given and not b.is_statistic]
    if asked.bare:
        found = [b for b in found if not _is_written(asked, b)]
    if not found or len({id(b.tensor) for b in found}) < len(given):
        return None
    return _told(asked, found, [given[id(b.tensor)] for b in found])


def made_like_weights(asked: Silent) -> Explanation | None:
    """Tell of buffers that nn.init filled with random numbers, that the forward reads and nothing
    writes since, where a step moved what the modules hold besides."""
    moments = asked.training.moments.values()
    if not any(m.did.name == "STEPPED" for every in moments for m in every):
        return None
    found = [b for b in buffers_of(asked) if not b.is_statistic and _is_like_weight(asked, b)]
    return _told(asked, found, [b.path for b in found]) if found else None


def _is_like_weight(asked: Silent, buffer: Buffer) -> bool:
    """Say whether a buffer was begun as weights are, read, and not written since."""
    own = asked.object_of(buffer.tensor)
    if own is None or not asked.facts.readers.get(own):
        return False
    writes = [asked.graph.call[e.call_id] for e in asked.facts.writes_by_object.get(own, ())]
    began = [c for c in writes if c.bookkeeping and c.function.startswith(_RANDOM)]
    return bool(began) and not _is_written(asked, buffer)


def _is_written(asked: Silent, buffer: Buffer) -> bool:
    """Say whether the program writes a buffer in a call of its own, and not only ``nn.init``."""
    return bool(asked.facts.own_writes(asked.object_of(buffer.tensor)))


def _told(asked: Silent, found: list[Buffer], names: list[str]) -> Explanation:
    """Tell of some buffers, and where they were made."""
    places: list[Any] = [made for b in found if (made := b.made) is not None]
    ids = [i for b in found if (i := asked.object_of(b.tensor)) is not None]
    return asked.answer(
        Cause.BUFFER,
        "no_parameter",
        statements=list(dict.fromkeys(places)),
        tensors=[asked.facts.latest_state[i].id for i in ids],
        names=pattern(names),
        n=len(found),
        one=found[0].name,
    )
