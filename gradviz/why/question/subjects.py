"""What was asked about: sorted into tensors, modules, optimizers and losses, each by the name that
the reader knows, with the graph in which they stand. Lives as long as the question."""

from __future__ import annotations

import ast
import gc
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import count
from typing import Any

import torch

from gradviz.graph.facts import Facts, code_of
from gradviz.graph.findings import Cause, Finding
from gradviz.graph.flow import Flow
from gradviz.graph.records import Call, Cut, Graph, Source, Tensor
from gradviz.names.frames import names_read
from gradviz.names.statements import Statements
from gradviz.watch import torch_private
from gradviz.watch.capture import capture, described, tensor_fields
from gradviz.watch.identity import parameters, read
from gradviz.watch.recorded import Recorded
from gradviz.why.code.reading import is_trained_leaf, parts_held
from gradviz.why.evidence.older import cut_off_before
from gradviz.why.evidence.paths import Asked
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.why.survey.reaching import check, parts_of
from gradviz.words.speech import say
from gradviz.words.words import Words

KINDS = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
DEPTH = 4  # of lists and mappings of subjects


class Subjects:
    """What was asked about, sorted.

    Args:
        subjects: what ``explain()`` was given; nothing: the living leaves of the recording.
        names: what to call which tensor, module or optimizer.
        model: gives names to its parameters.
        recording: of the code that made them.
        losses: those of the tensors that are losses, however they look.
        grads: those whose ``.grad`` is asked for, however they look.
        bare: the reader named none of them.
    """

    def __init__(
        self,
        subjects: tuple[Any, ...],
        names: Mapping[str, Any],
        model: Any,
        recording: Any,
        losses: Iterable[Any] = (),
        grads: Iterable[Any] = (),
        bare: bool = False,
    ) -> None:
        self.in_particular = bool(subjects) and not bare
        self.sure_losses, self.sure_grads = set(map(id, losses)), set(map(id, grads))
        self.given_words = [described(subject) for subject in subjects]
        self.names = names
        self.known = known = {n: v for n, v in names.items() if issubclass(type(v), KINDS)}
        self.live = {id(t): t for t in of_kind(known.values(), torch.Tensor)}
        self.called = {id(v): n for n, v in reversed(known.items())}
        self.given_recording: Recorded | None = recording
        self.tensors: dict[int, tuple[str, Any]] = {}
        self.modules: list[Any] = []
        self.optimizers: list[Any] = []
        self.passed_over: list[str] = []  # types of what belongs to training and has no gradient
        for subject in subjects or leaves_of(recording):
            self.take(subject, "")
        self.take_leaves(recording)
        self.asked_tensors = list(self.tensors.values())
        self.known_optimizers = of_kind(known.values(), torch.optim.Optimizer)
        modules = of_kind(known.values(), torch.nn.Module)
        self.known_modules = [m for m in modules if parameters(m)]
        asked = [*self.modules, *of_kind([model], torch.nn.Module)]
        self.name_parameters(asked, self.known_modules)
        self.losses = self.likely_losses(recording)
        self.given = (*self.losses, *self.targets().values())
        self.recording: Recorded | None = recording if self.was_seen_by(recording) else None
        self.graph = self.captured() if self.recording is None else self.renamed(self.recording)
        self.losses = [t for t in self.losses if not self.is_on_the_way(t)]

    @property
    def bare_modules(self) -> list[Any]:
        """The modules that variables hold and that have buffers alone; none that is half built."""
        modules = of_kind(self.known.values(), torch.nn.Module)
        return [m for m in modules if read(partial(_has_buffers_alone, m))]

    @property
    def modules_without_parameters(self) -> list[Any]:
        """The modules that variables hold and that list no parameters, as where all of these stand
        in plain lists."""
        return [m for m in of_kind(self.known.values(), torch.nn.Module) if not parameters(m)]

    @cached_property
    def loop_variables(self) -> set[str]:
        """The variables that loops of the recorded code give one thing after the other."""
        return Statements.of(self.given_recording).loop_variables

    @cached_property
    def facts(self) -> Facts:
        """What the graph proves."""
        return Facts.of(self.graph)

    @cached_property
    def words(self) -> Words:
        """What the tensors, calls and lines of the graph are called."""
        return Words(self.graph)

    def take_leaves(self, recording: Any) -> None:
        """Take all leaves of a recording, where only what has no gradient was given."""
        taken = self.tensors or self.modules or self.optimizers
        for leaf in leaves_of(recording) if self.passed_over and not taken else ():
            self.take(leaf, "")

    def take(self, subject: Any, name: str, depth: int = DEPTH) -> None:
        """Sort one subject in, and of a collection each of its parts."""
        kind = type(subject)
        if issubclass(kind, KINDS) and name:
            self.called.setdefault(id(subject), name)
        if issubclass(kind, torch.Tensor):
            self.tensors[id(subject)] = name or self.called.get(id(subject), ""), subject
        elif issubclass(kind, torch.nn.Module):
            self.modules.append(subject)
        elif issubclass(kind, torch.optim.Optimizer):
            self.optimizers.append(subject)
        elif issubclass(kind, (torch.amp.GradScaler, torch.optim.lr_scheduler.LRScheduler)):
            self.passed_over.append(kind.__name__)
            self.take(getattr(subject, "optimizer", ()), "", 1)
        elif depth and (parts := parts_of(subject)) is not None:
            for key, value in parts:
                if value is not None:
                    self.take(value, key, depth - 1)
        elif depth and (held := parts_held(subject)):
            for value in held:
                self.take(value, "", depth - 1)
        else:
            check(
                "explain()",
                subject,
                KINDS,
                "tensors, modules, optimizers, and collections of them",
                none=True,
            )

    # --- names ------------------------------------------------------------------------------------

    def name_parameters(self, asked: list[Any], others: list[Any]) -> None:
        """Name parameters as the reader would: by the variable of the model, where that is known,
        and the place in it."""
        for i, module in enumerate([*asked, *others]):
            title = self.called.get(id(module), "")
            # Torch's own method: no code of a model's own is run. A variable may hold a model that
            # is half built.
            for name, p in read(partial(_tensors_of, module)) or ():
                name = f"{title}.{name}" if title else name
                says_less = i < len(asked) or self.called.get(id(p)) in self.loop_variables
                if says_less and id(p) not in self.tensors:
                    self.called[id(p)] = name
                self.called.setdefault(id(p), name)
                self.live[id(p)] = p

    def renamed(self, recording: Recorded) -> Graph:
        """Return the recording's graph with parameters under the reader's names, where it has only
        what a module's own code calls them, or a loop over many."""
        graph = recording.graph
        states = {i: recording.find(t) for i, t in self.live.items()}
        names = {t.object_id: self.called[i] for i, t in states.items() if t and i in self.called}
        if not names:
            return graph

        def under_its_name(t: Tensor) -> Tensor:
            is_inner = (t.name or "self.").startswith("self.") or t.code_name in self.loop_variables
            if not is_inner or t.object_id not in names:
                return t
            return t._replace(name=names[t.object_id], former=None)

        return graph.replace(tensors=list(map(under_its_name, graph.tensors)))

    def name(self, t: Any, otherwise: str) -> str:
        """Return the name under which it was given, or by which it is known."""
        return self.tensors.get(id(t), ("",))[0] or self.called.get(id(t)) or otherwise

    def title(self, t: Any, otherwise: str) -> str:
        """Return its name, the recording's included: "net.0.weight" rather than "0.weight"."""
        name, tensor_id = self.name(t, otherwise), self.ids.get(id(t))
        state = None if tensor_id is None else self.graph.tensor[tensor_id]
        if state is None or not state.name or not self.recording:
            return name
        says_more = name in state.name and not state.name.startswith("self.")
        if not says_more and id(t) in self.called:
            return name
        return state.code_name or state.name

    def optimizer_name(self, optimizer: Any) -> str:
        """Return what an optimizer is called."""
        kind = type(optimizer).__name__
        return self.called.get(id(optimizer)) or say("entry.this_optimizer", kind=kind)

    @cached_property
    def titled(self) -> dict[str, Any]:
        """The modules that were given, by variable where that is known, else by type."""
        return dict(apart((self.called.get(id(m)) or type(m).__name__, m) for m in self.modules))

    # --- losses -----------------------------------------------------------------------------------

    def is_loss(self, t: Any, recording: Recorded | None) -> bool:
        """Say whether it looks like a loss: a single number that is no leaf to train."""
        if id(t) in self.sure_grads:
            return False
        if id(t) in self.sure_losses:
            return True
        one = read(lambda: t.numel()) == 1 and (
            t.dim() == 0 or (bool(self.modules) and bool(read(lambda: t.requires_grad)))
        )
        if one and is_trained_leaf(t):  # loss.requires_grad_(), to silence an error
            state = recording.find(t) if recording else None
            if recording is None or state is None:
                return False
            return state.object_id in _roots(recording.graph)
        return bool(one and t.is_floating_point())

    def likely_losses(self, recording: Recorded | None) -> list[Any]:
        """Return those of the tensors that look like a loss."""
        return [t for _, t in self.asked_tensors if self.is_loss(t, recording)]

    def is_on_the_way(self, t: Any) -> bool:
        """Say whether another loss, or what a recorded backward was called on, was computed from
        what looks like a loss."""
        tensor_id = self.ids[id(t)]
        if tensor_id is None:
            return False
        state = self.graph.tensor[tensor_id]
        if state.gradient_edge is None or state.object_id in _roots(self.graph):
            return False
        flow = Flow(self.graph)
        later = flow.connected(state.id) - {state.id}
        return not later.isdisjoint(self.loss_ids) or self.is_part_of(state, later, flow.facts)

    def is_part_of(self, state: Tensor, later: set[int], facts: Facts) -> bool:
        """Say whether one of some losses alone is no loss: something else was computed from it.

        Parts of a loss stay single numbers, and are made from more than these; they are not picked
        out.
        """
        if len(self.tensors) != len(self.losses) or self.modules:
            return False
        maker, tensor = facts.maker.get(state.id), self.graph.tensor
        of_numbers = maker is not None and (
            state.base_id is not None
            or all(math.prod(tensor[i].shape or ()) == 1 for i in maker.inputs)
        )
        return any(of_numbers or tensor[i].shape != () for i in later)

    # --- the graph --------------------------------------------------------------------------------

    def was_seen_by(self, recording: Recorded | None) -> bool:
        """Say whether a recording met every loss, and any of what was given at all, or could have
        met it: what its code looked at, or what stands beside something that it met."""
        if recording is None:
            return False
        met = [recording.find(t) is not None for t in self.given]
        if any(met) or not met:
            return all(met[: len(self.losses)])
        return not self.losses and self.passed_by(recording)

    def passed_by(self, recording: Recorded) -> bool:
        """Say whether recorded code had what was given at hand, and no call read it: its ``.grad``
        was looked at, or other parameters of its module were used."""
        given = set(map(id, self.given))
        if not given.isdisjoint(id(t) for t, _ in recording.looked_at()):
            return True
        if not given.isdisjoint(self.cut_off_before):
            return True
        own = [parameters(module) for module in self.known_modules]
        every = [p for row in own if not given.isdisjoint(map(id, row)) for p in row]
        return any(recording.find(p) is not None for p in every)

    @cached_property
    def cut_off_before(self) -> dict[int, tuple[int, ...]]:
        """The results that are older than the recording and that a recorded call cut off, by the
        identity of each leaf that they were computed from: their ids in the graph."""
        return cut_off_before(self.given_recording) if self.given_recording else {}

    @property
    def has_unused_recording(self) -> bool:
        """Whether a recording was given that did not see what was asked about."""
        return self.given_recording is not None and self.recording is None

    def captured(self) -> Graph:
        """Return what torch still holds of the graph."""
        names = {n: self.live[i] for i, n in self.called.items() if i in self.live}
        return capture(*self.given, names=names, summaries=False) if self.given else Graph()

    @cached_property
    def ids(self) -> dict[int, int | None]:
        """Tensor ids in the graph, by identity."""
        if self.recording:
            states = {id(t): self.recording.find(t) for t in self.given}
            return {i: None if t is None else t.id for i, t in states.items()}
        return dict(zip(map(id, self.given), self.graph.roots, strict=True))

    @cached_property
    def held_anywhere(self) -> dict[int, Any]:
        """The parameters of any living optimizer, by identity: one that has no name here may be an
        attribute of a trainer."""
        return held_by(of_kind(gc.get_objects(), torch.optim.Optimizer))

    @property
    def loss_ids(self) -> list[int]:
        """The losses, in the graph."""
        return [i for t in self.losses if (i := self.ids[id(t)]) is not None]

    @property
    def target_ids(self) -> list[int]:
        """The tensors whose gradient is asked for, in the graph."""
        return [i for t in self.targets().values() if (i := self.ids[id(t)]) is not None]

    def answer(
        self,
        cause: Cause,
        form: str,
        *,
        tensor_ids: Iterable[int] = (),
        calls: Iterable[Call] = (),
        cuts: Iterable[Cut] = (),
        also_at: Iterable[Call] = (),
        statements: Iterable[Source] = (),
        **fields: Any,
    ) -> Explanation:
        """Put into words what was found of the subjects.

        Args:
            cause: what is wrong, or that nothing is.
            form: which sentences tell it: ``(cause, form)`` is their key in ``words/en.py``.
            tensor_ids: tensors that it points at.
            calls: where it happened.
            cuts: the cuts that did it.
            also_at: further calls, at whose lines it points.
            statements: lines that it points at, where no recorded call stands.
            fields: what the sentences name.
        """
        finding = Finding(
            cause,
            form,
            fields=fields,
            calls=tuple(dict.fromkeys(calls)),
            cuts=tuple(cuts),
            tensor_ids=tuple(tensor_ids),
            also_at=tuple(also_at),
            statements=tuple(statements),
        )
        return worded(finding, self.words)

    def beside(self, found: Explanation, *lines: str) -> Explanation:
        """Return the same answer, with something odd that was seen beside it."""
        return found._replace(odd=(*found.odd, *lines))

    # --- one tensor -------------------------------------------------------------------------------

    def targets(self) -> dict[int, Any]:
        """Return the tensors whose ``.grad`` is asked for, by identity."""
        losses = {id(t) for t in self.losses}
        tensors = {i: t for i, (_, t) in self.tensors.items() if i not in losses}
        of_modules = {id(p): p for m in self.modules for p in parameters(m)}
        return tensors | (of_modules or held_by(self.optimizers))

    @cached_property
    def targets_asked(self) -> list[Asked]:
        """The tensors whose ``.grad`` is asked for, as they are now."""
        return [self.asked(t, self.ids[id(t)]) for t in self.targets().values()]

    def asked(self, t: Any, tensor_id: int | None) -> Asked:
        """Return a tensor as it is now."""
        places = (
            say("moving.in_group", position=position, group=group)
            for optimizer in self.optimizers
            for group, settings in enumerate(optimizer.param_groups)
            for position, p in enumerate(settings.get("params", ()))
            if p is t
        )
        name = self.title(t, next(places, "") or say("entry.this_tensor"))
        fields = tensor_fields(t)
        grad = read(lambda: t.grad) if fields[6] or fields[7] else None
        return Asked(
            name,
            tensor_id,
            requires_grad=bool(fields[5]),
            is_leaf=fields[6] is not False,
            retains_grad=bool(fields[7]),
            grad="none" if grad is None else state_of(grad),
            preview=fields[8] or "",
            parameter=isinstance(t, torch.nn.Parameter),
            inference=bool(read(t.is_inference)),
            storage_id=self.recording.memory_of(t) if self.recording else None,
            hooked=torch_private.has_hooks(t),
            dtype=str(t.dtype).removeprefix("torch."),
            older=self.cut_off_before.get(id(t), ()) if self.recording else (),
        )

    def zeros(self, asked: list[Asked]) -> tuple[set[int], set[int]]:
        """Return the ids of leaves that are all zeros now, and of those whose ``.grad`` is; read
        only where a gradient is zero."""
        if all(a.grad != "zero" for a in asked):
            return set(), set()
        zero, still = set[int](), set[int]()
        for tensor_id, leaf in self.living_leaves():
            if state_of(leaf) == "zero":
                zero.add(tensor_id)
            if leaf.grad is None or state_of(leaf.grad) == "zero":
                still.add(tensor_id)
        return zero, still

    def living_leaves(self) -> Iterator[tuple[int, Any]]:
        """Yield every leaf that is alive and known here, with its id in the graph."""
        live = self.live | self.targets()
        if self.recording:
            live |= {id(t): t for t in self.recording.living()}
        for t in live.values():
            if not read(partial(getattr, t, "is_leaf")):
                continue
            state = self.recording.find(t) if self.recording else None
            tensor_id = state.id if state else self.ids.get(id(t))
            if tensor_id is not None:
                yield tensor_id, t


# --- names at the call ----------------------------------------------------------------------------


def names_of(
    words: Iterable[ast.expr],
    subjects: Iterable[Any],
    variables: Mapping[str, Any],
    with_tensors: bool,
) -> dict[str, Any]:
    """Return what subjects are called where they were given: ``explain(net.weight)`` names
    net.weight. Then the module-level variables.

    Args:
        words: the expressions at the call.
        subjects: what each of them gave.
        variables: module-level ones.
        with_tensors: whether variables name tensors too; a recording knows its tensors better.
    """
    names = dict[str, Any]()
    for word, value in zip(words, subjects, strict=False):
        is_name = isinstance(word, (ast.Name, ast.Attribute, ast.Subscript))
        if is_name and issubclass(type(value), KINDS):
            names[ast.unparse(word)] = value
    kinds = KINDS if with_tensors else KINDS[1:]
    for name, value in list(variables.items()):
        if issubclass(type(value), kinds) and not name.startswith("_"):
            names.setdefault(name, value)
    return names


def apart(named: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield things under names of their own: the second ``Linear`` is ``Linear 2``."""
    taken: set[str] = set()
    for name, value in named:
        numbered = (f"{name} {i}" for i in count(2))
        own = name if name not in taken else next(n for n in numbered if n not in taken)
        taken.add(own)
        yield own, value


# --- reading --------------------------------------------------------------------------------------


def _has_buffers_alone(module: Any) -> bool:
    """Say whether a module has buffers and no parameters."""
    buffers = [*module.buffers()]
    return bool(buffers) and not parameters(module)


def is_whole(value: Any) -> bool:
    """Say whether it is a module with parameters, and not half built."""
    return issubclass(type(value), torch.nn.Module) and bool(parameters(value))


def held_by(optimizers: Iterable[Any]) -> dict[int, Any]:
    """Return the parameters of optimizers, by identity."""
    groups = (group for optimizer in optimizers for group in optimizer.param_groups)
    return {id(p): p for group in groups for p in group.get("params", ())}


def of_kind(values: Iterable[Any], kinds: Any) -> list[Any]:
    """Return those of some types, whatever a value says of itself."""
    values = list(values)  # often all objects of the process: each type is asked once
    wanted = {kind for kind in set(map(type, values)) if issubclass(kind, kinds)}
    return [value for value in values if type(value) in wanted] if wanted else []


def state_of(values: Any) -> str:
    """Return zero, nan, some or unknown: what a gradient or a weight holds. Leaves no trace on
    it."""
    try:
        values = values.detach()
        values = values.coalesce().values() if values.is_sparse else values
        if not torch_private.has_plain_data(values):
            return "unknown"
        if not bool(values.isfinite().all()):
            return "nan"
        return "some" if bool(values.any()) else "zero"
    except Exception:  # meta, nested and quantized tensors do not tell
        return "unknown"


def leaves_of(recording: Recorded | None) -> list[Any]:
    """Return the living leaves of a recording, and what took a leaf's name when that was
    updated."""
    if recording is None:
        return []
    updated, inner = _rebound(recording), _inner(recording)
    return [
        t
        for t in recording.living()
        if (now := recording.find(t))
        and _is_trained(t, now.object_id in updated)
        and now.object_id not in inner
    ]


def _is_trained(t: Any, is_updated: bool) -> bool:
    """Say whether a tensor asks for gradients and is a leaf, or stands for one; of some views torch
    does not tell."""
    return bool(read(lambda: t.requires_grad and (t.is_leaf or is_updated)))


def _inner(recording: Recorded) -> set[int]:
    """Return the objects that a call inside of a module made: one that was told to require grad
    there (``enable_input_require_grads``) is a leaf to torch, and none that anybody trains."""
    graph, states = recording.graph, Facts.of(recording.graph).states
    made = (i for c in graph.calls if c.module_call is not None for i in c.outputs)
    objects = ((i, graph.tensor[i].object_id) for i in made)
    return {o for i, o in objects if states[o][0].id == i}


def _rebound(recording: Recorded) -> set[int]:
    """Return the objects that an update made and that took the name of what it updates: ``w = w -
    lr * w.grad``."""
    facts = Facts.of(recording.graph)
    named = ((t, facts.maker.get(t.id)) for t in recording.graph.tensors if t.name)
    updates = ((t, call) for t, call in named if call and _names_a_grad(call))
    return {t.object_id for t, call in updates if f"{t.code_name}.grad" in names_read(call)}


def _names_a_grad(call: Call) -> bool:
    """Say whether a ``.grad`` stands in the code of a call, or in its statement."""
    frames = call.source.frames[:1] if call.source else ()
    return any(".grad" in text for text in (code_of(call), *(frame.code for frame in frames)))


def _tensors_of(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Return the parameters and buffers of a module, by name."""
    kind = torch.nn.Module
    return [*kind.named_parameters(module), *kind.named_buffers(module)]


def _roots(graph: Graph) -> set[int]:
    """Return the objects on which a recorded backward was called."""
    return {graph.tensor[i].object_id for i in Facts.of(graph).losses}
