"""Second derivatives that autograd.grad returned and that are zero, or None: of what has straight
pieces only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gradviz.graph.findings import Cause, Level
from gradviz.graph.preview import only_zeros
from gradviz.graph.records import Backward, Call, Source, Tensor
from gradviz.graph.sent import number_of
from gradviz.watch.identity import read
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.question.subjects import state_of
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

AGAIN = "BackwardBackward"  # in the name of a node that differentiates a derivative
# functions whose second derivative is 0, by the node of their first
STRAIGHT = {"Threshold": "relu", "LeakyRelu": "leaky_relu", "Hardtanh": "hardtanh"}


def may_be_second(case: Case, found: Explanation) -> bool:
    """Say whether what was found so far is no fault of another kind, where something was
    differentiated after a call of autograd.grad."""
    runs = case.graph.backwards
    first = next((k for k, b in enumerate(runs) if b.kind == "grad"), len(runs))
    told = found.cause.level <= Level.NOTE or found.cause is Cause.ZERO_GRADIENT
    return case.recording is not None and first + 1 < len(runs) and told


def straight_again(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a gradient of a gradient that is all zeros, where only functions with straight pieces
    stand on its way."""
    for second in (*_returned(case), *_filled(case)):
        functions = _straight_on(case, second.run, second.of) if second.state == "zero" else []
        if functions:
            return _told(case, second, functions)
    return None


def none_again(case: Case, found: Explanation) -> Explanation | None:
    """Tell of a gradient of a gradient that is None: the first does not depend on that input."""
    words, asked = case.words, case.facts.differentiated_by
    for second in _returned(case):
        if second.state != "none" or second.of_object not in asked:
            continue
        root = case.graph.call[second.run.call_id].inputs[0]
        if not case.facts.derived.isdisjoint(case.facts.ancestors([root])):
            return case.answer(
                Cause.NOT_IN_LOSS,
                "second_none",
                calls=[case.graph.call[second.run.call_id]],
                tensor_ids=[root, second.of],
                root=words.name(root),
                of=words.name(second.of),
            )
    return None


class Second(NamedTuple):
    """A gradient of what may be a gradient itself.

    Attributes:
        run: the backward that gave it.
        of: the state of the tensor for which it is.
        of_object: that tensor.
        state: none, zero, some, nan or unknown.
        made: its own state; None where it is a ``.grad``.
    """

    run: Backward
    of: int
    of_object: int
    state: str
    made: int | None


def _returned(case: Case) -> Iterator[Second]:
    """Yield what calls of autograd.grad returned."""
    assert case.recording is not None
    living = case.recording.living_states()
    for run in (b for b in case.graph.backwards if b.kind == "grad"):
        outputs = list(case.graph.call[run.call_id].outputs)
        whole = len(outputs) == len(run.returned)
        for of, preview in run.returned:
            made = outputs.pop(0) if outputs and (whole or preview is not None) else None
            gradient = living.get(made) if made is not None else None
            state = _state(preview) if gradient is None else state_of(gradient)
            if state == "unknown" and _came_as_zeros(case, run, of):
                state = "zero"
            yield Second(run, of, case.graph.tensor[of].object_id, state, made)


def _came_as_zeros(case: Case, run: Backward, of: int) -> bool:
    """Say whether all that a run sent to a tensor is known to have been zeros."""
    ran = {event.node_id: event for event in case.facts.nodes_of_run.get(run.run, ())}
    end, norms = _node_of(case, of), list[float]()
    for edge in case.facts.edges_into.get(-1 if end is None else end, ()):
        event = ran.get(edge.node_id)
        if event is None or event.sent[edge.next_index] is None:
            continue
        measured = event.sent_norms[edge.next_index] if event.sent_norms else None
        norms.append(number_of(measured, event.sent[edge.next_index]))
    return bool(norms) and not any(norm != 0 for norm in norms)


def _state(preview: str | None) -> str:
    """Return what a gradient is seen to be."""
    return "none" if preview is None else "zero" if only_zeros(preview) else "unknown"


def _filled(case: Case) -> Iterator[Second]:
    """Yield the gradients that a backward stored at what autograd.grad had been asked about."""
    assert case.recording is not None
    facts, asked = case.facts, case.facts.differentiated_by
    runs = [b for b in case.graph.backwards if b.kind == "backward"]
    # where a step used it, it trains others: what comes to this leaf besides nobody waits for
    alone = [b for b in runs if b.run not in case.training.step_using]
    for leaf, state in _leaves_of(case, asked) if asked and runs else ():
        mine = runs if id(leaf) in _waited_for(case) else alone
        run = next((b for b in mine if facts.accumulate_node.get(state.object_id) in b.ran), None)
        if run is not None and (grad := read(partial(getattr, leaf, "grad"))) is not None:
            yield Second(run, state.id, state.object_id, state_of(grad), None)


def _leaves_of(case: Case, objects: set[int]) -> Iterator[tuple[Any, Tensor]]:
    """Yield the living leaves of some objects, each with its state."""
    assert case.recording is not None
    for leaf in case.recording.living():
        state = case.recording.find(leaf)
        if state is not None and state.object_id in objects and state.is_leaf:
            yield leaf, state


def _waited_for(case: Case) -> set[int]:
    """Return the identities of what the program read the ``.grad`` of, or was asked about in
    particular."""
    assert case.recording is not None
    looked = {id(t) for t, look in case.recording.looked_at() if look.attribute == "grad"}
    return looked | ({id(t) for _, t in case.tensors.values()} if case.in_particular else set())


def _straight_on(case: Case, run: Backward, of: int) -> list[str]:
    """Return the functions with straight pieces whose derivative was differentiated on the way to
    a tensor; none where that of another function stands there too."""
    facts, end = case.facts, _node_of(case, of)
    on_the_way = facts.reachable(run.roots) & facts.above({end}) if end is not None else ()
    names = (case.graph.node[i].name for i in on_the_way)
    functions = {STRAIGHT.get(n.partition(AGAIN)[0], "") for n in names if AGAIN in n}
    return [] if "" in functions else sorted(functions)


def _node_of(case: Case, of: int) -> int | None:
    """Return the node at which the gradient of a tensor arrives."""
    state = case.graph.tensor[of]
    edge = state.gradient_edge
    return edge.node_id if edge else case.facts.accumulate_node.get(state.object_id)


def _told(case: Case, second: Second, functions: list[str]) -> Explanation:
    """Tell of such zeros."""
    words, call = case.words, case.graph.call[second.run.call_id]
    of = words.name(second.of)
    made = case.graph.tensor[second.made].code_name if second.made is not None else ""
    straight = _straight_calls(case, call, functions)[-1:]
    layers = _where_made(case, straight)
    return case.answer(
        Cause.ZERO_GRADIENT,
        "second_slope",
        calls=[call] if layers else [call, *straight],
        statements=layers,
        tensor_ids=[second.of, *([] if second.made is None else [second.made])],
        name=say("label.grad", name=of) if second.made is None else made or words.name(second.made),
        root=words.name(call.inputs[0]),
        of=of,
        functions=[f"{function}()" for function in functions],
    )


def _straight_calls(case: Case, second: Call, functions: list[str]) -> list[Call]:
    """Return the calls of some functions behind what was differentiated, and then again."""
    given, every = case.facts.ancestors(second.inputs[:1]), case.facts.ordinary_calls
    calls = (case.graph.call[b.call_id] for b in case.graph.backwards if b.kind == "grad")
    firsts = [call.inputs[0] for call in calls if not given.isdisjoint(call.outputs)]
    behind = given | case.facts.ancestors(firsts)
    alike = (c for c in every if plain_name(c.function) in functions)
    return [c for c in alike if not behind.isdisjoint(c.outputs)]


def _where_made(case: Case, calls: list[Call]) -> list[Source]:
    """Return the statements that give a model the layers in which calls ran, of each attribute that
    is set once."""
    parts = [c.module.rpartition(".")[2] for c in calls if c.module]
    found = [case.statements.sets(part) for part in parts if part.isidentifier()]
    return [every[0][0] for every in found if len(every) == 1]
