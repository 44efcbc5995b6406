"""A recording that tells of large tensors too how their numbers are spread. One that was not asked
for it runs through nothing of this."""

from __future__ import annotations

from typing import Any

import torch

from gradviz.watch.entries import Object, State
from gradviz.watch.identity import Objects
from gradviz.watch.recorder import Recorder, Usual
from gradviz.watch.summaries import summary_of


class SummarisingObjects(Objects):
    """The objects of such a recording: each tensor is summarised when its state is read."""

    def values(self, t: torch.Tensor) -> Any:
        """Return what a state keeps of a tensor's numbers."""
        few = self.elements(t)
        return summary_of(t, anywhere=self.reads_gpu) if few is None else few

    def _read_ordinary(self, found: Object, t: torch.Tensor) -> State:
        state = super()._read_ordinary(found, t)
        if state.values is None:
            state.values = self.values(t)
        return state


class SummarisingRecorder(Recorder):
    """A recorder of such a recording. Every call is read with care, since the quick way of usual
    calls reads no large tensor."""

    objects_of = SummarisingObjects

    def _usual(self, *_: Any) -> Usual | None:
        return None
