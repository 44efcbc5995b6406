"""What can be asked of a recording while it runs and afterwards, pictures and answers apart."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.broken_at import BrokenAt
from gradviz.graph.records import Cut, Event, GradvizError, Graph, Tensor
from gradviz.graph.training import Training
from gradviz.watch import torch_private
from gradviz.watch.assemble import Assembled, Naming
from gradviz.watch.entries import CallRecord, Looked, Object, Stepped
from gradviz.watch.recorder import Recorder
from gradviz.watch.stack import events_in
from gradviz.watch.summarising_recorder import SummarisingRecorder
from gradviz.words import given
from gradviz.words.notes import note_text

if TYPE_CHECKING:
    from typing_extensions import Self


def _without_detour(trace: TracebackType) -> None:
    """Take out the frames in which torch's Python functions (``backward``) called themselves again
    through the mode."""
    before, here = trace, trace.tb_next
    while here is not None and here.tb_next is not None:
        again = here.tb_next.tb_next
        detour = torch_private.is_detour(here.tb_next.tb_frame.f_code)
        if detour and again is not None and again.tb_frame.f_code is here.tb_frame.f_code:
            before.tb_next = here = again
        else:
            before, here = here, here.tb_next


PLACES = 1000  # of a list that are looked at for tensors


class Recorded:
    """What one ``record()`` saw, as plain data.

    Attributes:
        graph: everything recorded, as a Graph.
        events: what happened, in order; ``at(k)`` is the Graph after k of them.
        cuts: where values went on and gradients do not, each with its reason.
        notes: what the recording lacks, in sentences; empty as a rule.
    """

    def __init__(
        self,
        max_events: int,
        values: bool,
        summaries: bool,
        name: Callable[[list[CallRecord], Recorder], Naming],
    ) -> None:
        self._recorder = (SummarisingRecorder if summaries else Recorder)(max_events, values)
        self._name = name
        # what it was made of, and the graph
        self._assembled: tuple[tuple[int, int], Assembled] | None = None
        self._thread: int | None = None
        self._namespace: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        """Start recording this thread's torch calls."""
        if self._thread is not None:
            raise GradvizError(
                "this recording was used already; expected a new one: with gv.record() as rec"
            )
        self._thread = threading.get_ident()
        frame = sys._getframe(1)
        self._recorder.home_at = None if self._namespace else frame.f_lasti
        self._recorder.home = self._recorder.home or frame.f_code
        self._namespace = self._namespace or frame.f_globals
        self._recorder.frames.stay_inside(frame)
        self._recorder.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop recording. Nothing of the user's is kept, and an error leaves as it would have
        without us."""
        if trace is not None:
            _without_detour(trace)
        if threading.get_ident() == self._thread:
            self._recorder.end()
        else:
            self._recorder.end_elsewhere()
        self._take_hints()
        self._assembled = None  # made before these names were known

    def look_into(self, namespace: dict[str, Any], home: CodeType | None = None) -> Self:
        """Note, before the block, whose variables and whose code are the user's own, where they are
        not the caller's."""
        given.mapping("look_into()", namespace, "a namespace, e.g. globals()")
        self._namespace, self._recorder.home = namespace, home
        return self

    def _take_hints(self) -> None:
        """Let global variables that hold a tensor now name it, where nothing better does. The dict
        itself is let go."""
        namespace, self._namespace = self._namespace, None
        self._recorder.globals = found = {}
        optimizers, modules = [], []
        for name, value in list((namespace or {}).items()):
            # By type: isinstance() would ask the class of a lazy object, which may run code or
            # raise.
            if issubclass(type(value), torch.Tensor):
                found[name] = known = self._recorder.objects.known(value)
                if known is not None and known.hint is None and not name.startswith("_"):
                    known.hint = name
            elif issubclass(type(value), torch.optim.Optimizer):
                optimizers.append(value)
            elif issubclass(type(value), torch.nn.Module) and not name.startswith("_"):
                modules.append((name, value))
            elif type(value) in (list, tuple) and not name.startswith("_"):
                self._take_places(name, value)
        self._recorder.read_modules(optimizers, modules)
        self._recorder.name_parameters(modules)

    def _take_places(self, name: str, values: Sequence[Any]) -> None:
        """Note where parameters stand in a list that a global variable holds."""
        for i, value in enumerate(values[:PLACES]):
            if issubclass(type(value), torch.Tensor):
                known = self._recorder.objects.known(value)
                if known is not None and known.place is None and _is_parameter(known):
                    known.place = f"{name}[{i}]"

    def _now(self) -> Assembled:
        """Return what was recorded so far. Another thread may ask meanwhile: it gets what is
        complete, and ends nothing."""
        recorder = self._recorder
        if recorder.ended or threading.get_ident() == self._thread:
            recorder.finish()
        seen = recorder.dropped + len(recorder.log), recorder.finished_runs
        made = self._assembled
        if made is None or made[0] != seen:
            if not recorder.ended and threading.get_ident() == self._thread:
                recorder.read_modules([])
            made = self._assembled = seen, Assembled(recorder, self._name)
        return made[1]

    @property
    def graph(self) -> Graph:
        """The Graph after everything recorded so far."""
        return self._now().graph

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened, in order."""
        return self.graph.events  # type: ignore[return-value]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the recording lacks, and what was out of the ordinary, in sentences."""
        return tuple(map(note_text, self.graph.notes))

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The cuts, in order."""
        return self.graph.cuts  # type: ignore[return-value]

    def at(self, step: int) -> Graph:
        """Return the Graph after ``step`` events.

        Args:
            step: from 0 (nothing yet) to ``len(rec.events)``.

        Raises:
            GradvizError: there is no such step.
        """
        total = len(self._now().log)
        if not given.is_index(step, total + 1):
            raise GradvizError(
                f"there is no step {given.shown(step)}: this recording has steps 0 to {total}"
            )
        return self._now().at(step)

    def find(self, tensor: torch.Tensor) -> Tensor | None:
        """Return the last recorded state of a tensor that is still alive, or None if it was not
        seen.

        Raises:
            GradvizError: ``tensor`` is no tensor.
        """
        _check_tensor("find()", tensor)
        known = self._recorder.objects.known(tensor)
        return None if known is None else self._now().tensor_of(known)

    def living(self) -> list[torch.Tensor]:
        """Return the tensors that it met and that are still alive."""
        return [
            t for own in list(self._recorder.objects.by_id.values()) if (t := own()) is not None
        ]

    def living_states(self) -> dict[int, torch.Tensor]:
        """Return the tensors that are still alive, by the id of the state that each has now."""
        return {state.id: t for t in self.living() if (state := self.find(t)) is not None}

    def looked_at(self) -> list[tuple[torch.Tensor, Looked]]:
        """Return what the recorded code itself read of tensors that are still alive, the last look
        at each last."""
        return [
            (tensor, look)
            for look in list(self._recorder.looks.values())
            if (tensor := look.tensor()) is not None
        ]

    def looked_at_gone(self) -> list[tuple[Tensor, Looked]]:
        """Return the same of tensors that are gone, each as it was recorded last."""
        found = list[tuple[Tensor, Looked]]()
        for look in list(self._recorder.looks.values()):
            if look.tensor() is None and look.known is not None:
                state = self._now().tensor_of(look.known)
                found += [(state, look)] if state is not None else []
        return found

    def modules(self) -> list[tuple[str, torch.nn.Module]]:
        """Return the outermost modules that ran and are still alive, each with its variable, or its
        class where it has none."""
        name_of, inside = self._now().names.root, self._recorder.modules.inside()
        return [
            (name_of(root), module)
            for root in self._recorder.modules.roots
            if root not in inside and (module := root.module()) is not None
        ]

    def memory_of(self, tensor: torch.Tensor) -> int | None:
        """Return the id, in ``graph.storages``, of the memory of a tensor; None if no recorded
        tensor lay there.

        Raises:
            GradvizError: ``tensor`` is no tensor.
        """
        _check_tensor("memory_of()", tensor)
        span = torch_private.storage_range(tensor)
        block = None if span is None else self._recorder.objects.blocks.get(span[0])
        return None if block is None else self._now().storage_of(block)

    def held_at_steps(self) -> list[set[int]]:
        """Return the ids of the objects that each optimizer held at its last recorded step, also of
        one that is gone."""
        return [self._ids_of(held) for held in list(self._recorder.modules.stepped.values())]

    def stepped_at_zero(self) -> set[int]:
        """Return the ids of the objects that an optimizer held at a learning rate of 0 when it last
        stepped here, and none after it at another."""
        modules, still = self._recorder.modules, set[int]()
        for known, held in list(modules.stepped.items()):
            still = (still - self._ids_of(held)) | self._ids_of(modules.at_rate_zero[known])
        return still

    def once_stepped_at_zero(self) -> set[int]:
        """Return the ids of the objects that any optimizer held at a learning rate of 0 when it
        last stepped here."""
        rows = list(self._recorder.modules.at_rate_zero.values())
        return self._ids_of(own for row in rows for own in row)

    def _ids_of(self, objects: Iterable[Object]) -> set[int]:
        """Return the ids of objects that a recorded call met."""
        known = map(self._now().tensor_of, objects)
        return {t.object_id for t in known if t is not None}

    def steps_taken(self) -> list[tuple[Any, Stepped]]:
        """Return what each optimizer did in the recorded code, in the order of ``held_at_steps``;
        in the place of one that is gone stands None."""
        modules = self._recorder.modules
        return [(known(), modules.counts[known]) for known in list(modules.stepped)]

    def has_stepped(self, optimizer: torch.optim.Optimizer) -> bool:
        """Say whether a living optimizer stepped in the recorded code."""
        stepped = list(self._recorder.modules.stepped)
        return any(known() is optimizer for known in stepped)

    def handed_out(self) -> dict[int, tuple[str, int]]:
        """Return the blocks of memory that numpy, or an address, gave others than torch to write:
        the last call that handed each out, and how many backwards were over by then."""
        storage_of = self._now().storage_of
        by_storage = {
            storage_of(block): what for block, what in list(self._recorder.handed_out.items())
        }
        return {storage: what for storage, what in by_storage.items() if storage is not None}

    def owners_of_gradients(self) -> dict[int, int]:
        """Return the tensors that were the ``.grad`` of another one when a call met them first:
        object ids of both, the gradient's first."""
        return self._now().owners_of_gradients

    @property
    def broken_at(self) -> tuple[BrokenAt, ...]:
        """Where numbers stopped being finite, in the order in which it was read."""
        return self._now().broken_at

    @property
    def training(self) -> Training:
        """What was done with the gradients, in order."""
        return self._now().training

    def sites(self) -> dict[int, tuple[Any, ...]]:
        """Return the code objects and positions of the user's frames in which each call was made,
        the innermost first, by call id."""
        return self._now().sites

    def read_last(self) -> set[int]:
        """Return the ids of the objects whose values were read again when the recording ended."""
        now = self._now()
        found = [now.tensor_of(own) for own in list(self._recorder.read_last)]
        return {t.object_id for t in found if t is not None}

    def __reduce__(self) -> Any:
        raise GradvizError("a Recording cannot be copied or pickled; its graph can: rec.graph")

    def __repr__(self) -> str:
        return f"Recording({sum(map(events_in, list(self._recorder.log)))} events)"


def _check_tensor(argument: str, value: Any) -> None:
    if not issubclass(type(value), torch.Tensor):
        raise given.refused(argument, value, "a torch.Tensor, e.g. one that the recorded code made")


def _is_parameter(known: Object) -> bool:
    """Say whether an object is a leaf that requires grad."""
    return bool(known.state.is_leaf and known.state.requires_grad)
