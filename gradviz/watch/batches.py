"""What torch's data loader takes out of a dataset of tensors: one step for a batch.

NOTE [a batch is one step]: of a ``TensorDataset`` torch's own code takes row by row and stacks them
at once. Nobody sees the rows, and 32 of them are 64 calls. So where torch's own functions make the
batch, the rows are passed by, and ``stack`` is noted as reading what they are rows of: the tensors
of the dataset. A row that raises is noted. Rows that a user's ``__getitem__`` makes, those that a
function of the user's makes a batch of, and those of tensors that take part in gradients or are
views themselves are noted one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from gradviz.watch import torch_private

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from gradviz.watch.identity import Objects


class Batches:
    """The batches of one recording."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.owner = object()  # by which the marks of this recording are known
        # Code that takes rows, by id: hashing a code object is slow. False for all other code.
        self._takes_rows: dict[int, tuple[bool, CodeType]] = {}
        self._torchs: dict[int, CodeType] = {}  # code of torch's that was met, by id

    def is_row(self, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> bool:
        """Tell whether an indexing takes a row that torch's own code will stack, see NOTE [a batch
        is one step]."""
        code = frame.f_code
        known = self._takes_rows.get(id(code))
        if known is None:
            known = self._takes_rows[id(code)] = torch_private.takes_rows(code), code
        if not known[0] or kwargs or len(args) != 2:
            return False
        tensor, index = args
        return (
            type(tensor) is torch.Tensor
            and type(index) is int
            and not tensor.requires_grad
            and tensor._base is None
            and not torch.is_inference_mode_enabled()
            and not torch_private.functorch_active()
            and not torch_private.outer_modes()
            and self._is_batched(frame)
        )

    def _is_batched(self, frame: FrameType | None) -> bool:
        """Tell whether torch's own functions make a batch of what is taken here: a dataset of the
        user's may change a row on its way."""
        while frame is not None and self._is_torchs(frame.f_code):
            if frame.f_code is torch_private.FETCHES_BATCH:
                mark: Any = frame.f_trace
                known = mark.of(self.owner) if type(mark) is torch_private.Mark else None
                if known is None:
                    known = torch_private.is_batched_by_torch(frame)
                    torch_private.put_mark(frame, self.owner, known)
                return bool(known)
            frame = frame.f_back
        return False

    def _is_torchs(self, code: CodeType) -> bool:
        """Tell whether it is code of torch's, and remember it: four frames take a row."""
        if id(code) in self._torchs:
            return True
        is_torchs = code.co_filename.startswith(torch_private.TORCH)
        if is_torchs:
            self._torchs[id(code)] = code
        return is_torchs

    def read(self, args: tuple[Any, ...], frame: FrameType) -> tuple[Any, ...]:
        """Return what a ``stack`` reads: where it makes a batch of rows that were passed by, the
        tensors that these are rows of."""
        if frame.f_code is not torch_private.STACKS_BATCH or not args:
            return args
        try:
            sources = [self._source(row) for row in args[0]]
            return list({id(one): one for one in sources}.values()), *args[1:]
        except Exception:  # no list of tensors
            return args

    def _source(self, row: Any) -> Any:
        passed_by = type(row) is torch.Tensor and self.objects.known(row) is None
        base = torch_private.base_of(row) if passed_by else None
        return row if base is None else base
