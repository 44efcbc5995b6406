"""What is wrong without an error: overwritten saved tensors, snapshots that follow, frozen weights
that move.

Each function returns what it can prove, and nothing otherwise. Live objects are read once and let
go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Finding, Sure, Symptom
from gradviz.graph.records import (
    Call,
    Graph,
    Source,
)
from gradviz.graph.training import Training, line_of
from gradviz.names.statements import Statements
from gradviz.watch.identity import named_parameters, parameters, read
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.watch.recorded import Recorded


class Silent:
    """One question: what is asked about, and the recording. Lives only while it is answered."""

    def __init__(
        self,
        recording: Recorded | None,
        tensors: Any,
        models: Any,
        held: Any,
        graph: Graph | None,
        known: Mapping[str, Any] | None = None,
        statements: Statements | None = None,
        bare: bool = False,
    ) -> None:
        self.recording = recording
        self.graph = (graph or recording.graph) if recording is not None else Graph()
        self.words, self.facts = Words(self.graph), Facts.of(self.graph)
        self.tensors: Mapping[str, torch.Tensor] = tensors
        self.models: Mapping[str, torch.nn.Module] = models
        self.held: Mapping[str, tuple[torch.Tensor, str]] = held
        self.known = known or {}  # modules and optimizers that have a name
        self.bare = bare  # the reader named none of them
        self.training = Training(self.facts, {}) if recording is None else recording.training
        self.statements = statements or Statements.of(recording)  # the user's code that ran
        # each with its tensor: while that is held, no other one has its identity
        self._objects: dict[int, tuple[torch.Tensor, int | None]] = {}
        every = (
            (model, *named)
            for model, module in models.items()
            for named in named_parameters(module)
        )
        self.parameters = {(f"{model}.{name}" if model else name): p for model, name, p in every}

    def object_of(self, tensor: torch.Tensor) -> int | None:
        """Return the object id of a live tensor in the graph."""
        if id(tensor) not in self._objects:
            state = self.recording.find(tensor) if self.recording is not None else None
            self._objects[id(tensor)] = tensor, None if state is None else state.object_id
        return self._objects[id(tensor)][1]

    @cached_property
    def wanted(self) -> set[int]:
        """Object ids of everything that is asked about."""
        live = [*self.tensors.values(), *self.parameters.values()]
        return {i for i in map(self.object_of, live) if i is not None}

    def is_wanted(self, tensor_id: int | None) -> bool:
        """Say whether a tensor of the graph is asked about, or nothing in particular is."""
        tensor = self.graph.tensor.get(tensor_id)
        return tensor is not None and (not self.wanted or tensor.object_id in self.wanted)

    @cached_property
    def leaves(self) -> list[int]:
        """The leaves that are asked about, and of which something was done with the gradient; all
        of the recording where nothing in particular is asked about."""
        every = self.training.moments
        return [leaf for leaf in every if not self.wanted or leaf in self.wanted]

    def names_of(self, leaves: Iterable[int]) -> str:
        """Return the names of some leaves, by object id."""
        names = {self.object_of(p): name for name, p in self.parameters.items()}
        latest, found = self.facts.latest_state, list(leaves)
        in_order = [i for i in names if i in found] + [i for i in found if i not in names]
        return pattern(
            [names.get(i) or self.words.name(latest[i].id) for i in in_order if i is not None]
        )

    def states_of(self, leaves: Iterable[int]) -> list[int]:
        """Return the last states of some leaves, by object id."""
        return [self.facts.latest_state[i].id for i in leaves]

    @cached_property
    def named_modules(self) -> dict[str, torch.nn.Module]:
        """The modules that have a name."""
        return {n: m for n, m in self.known.items() if isinstance(m, torch.nn.Module)}

    @cached_property
    def named_optimizers(self) -> dict[str, torch.optim.Optimizer]:
        """The optimizers that have a name."""
        return {n: o for n, o in self.known.items() if isinstance(o, torch.optim.Optimizer)}

    @cached_property
    def modules(self) -> dict[str, torch.nn.Module]:
        """The modules that are asked about: those that were given; else those that have a tensor
        which was."""
        if self.models:
            return dict(self.models)
        given = {id(t) for t in self.tensors.values()}
        return {
            name: module
            for name, module in self.named_modules.items()
            if not given or not given.isdisjoint(map(id, [*parameters(module), *module.buffers()]))
        }

    def parts(self) -> Iterator[tuple[str, torch.nn.Module]]:
        """Yield these modules and all that are in them, each with its name, that of the model
        included; nothing of one that is half built."""
        yield from _parts_of(self.modules)

    def parts_known(self) -> Iterator[tuple[str, torch.nn.Module]]:
        """Yield the same of all modules that have a name."""
        yield from _parts_of(self.named_modules)

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        subject: str = "",
        calls: Sequence[Call] = (),
        nodes: Sequence[int] = (),
        tensors: Sequence[int] = (),
        statements: Sequence[Source] = (),
        sure: Sure = Sure.PROVEN,
        **fields: Any,
    ) -> Explanation:
        """Tell what was found.

        Args:
            cause: what is wrong.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            subject: name of the tensor that it is about, if it is about one.
            calls: where it happened.
            nodes: the nodes that it points at.
            tensors: the tensors that it points at.
            statements: where it happened, where no recorded call stands there.
            sure: how sure it is.
            fields: what the sentences name.
        """
        finding = Finding(
            cause,
            form,
            _symptom_of(cause),
            subject,
            fields=fields,
            calls=tuple(calls),
            node_ids=tuple(nodes),
            tensor_ids=tuple(tensors),
            statements=tuple(statements),
            sure=sure,
        )
        return worded(finding, self.words)

    # --- frozen weights that move -----------------------------------------------------------------

    @cached_property
    def why_moved(self) -> dict[int, str]:
        """Why the next step moves what an optimizer holds, by identity."""
        return {id(p): why for p, why in self.held.values()}

    @cached_property
    def living(self) -> set[int | None]:
        """Object ids of what is still alive."""
        if self.recording is None:
            return set()
        return {self.object_of(t) for t in self.recording.living()}

    @cached_property
    def ended(self) -> dict[int, int]:
        """The roots of backwards that freed what they ran through, each with the call."""
        over = {e.run for e in self.facts.freed}
        return {
            r: b.call_id
            for b in self.graph.backwards
            if b.run in over and b.kind == "backward"
            for r in b.roots
        }

    @cached_property
    def wanted_nodes(self) -> set[int | None]:
        """The nodes at which gradients of what is asked about arrive."""
        nodes = self.facts.accumulate_node
        return {nodes.get(i) for i in self.wanted} | {
            t.gradient_edge.node_id
            for t in self.graph.tensors
            if t.object_id in self.wanted and t.gradient_edge
        }

    def concerns(self, behind: Set[int]) -> bool:
        """Say whether nodes lead to what is asked about, or nothing in particular is."""
        return not self.wanted or not self.wanted_nodes.isdisjoint(behind)


def _symptom_of(cause: Cause) -> Symptom:
    """Return what such a fault is seen by: wrong numbers, or else all that it explains."""
    return Symptom.SOME if Symptom.SOME in cause.explains else next(iter(cause.explains))


def _parts_of(modules: Mapping[str, torch.nn.Module]) -> Iterator[tuple[str, torch.nn.Module]]:
    """Yield some modules and all that are in them, each with its name."""
    for title, module in modules.items():
        for path, part in read(partial(_named_modules, module)) or ():
            yield ".".join(filter(None, (title, path))), part


def _named_modules(module: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    return [*module.named_modules()]


def lines_once(calls: Iterable[Call]) -> list[Call]:
    """Return calls, of those of one line the first."""
    by_line: Mapping[object, Call] = {line_of(c) or c.id: c for c in reversed([*calls])}
    return sorted(by_line.values(), key=lambda call: call.id)
