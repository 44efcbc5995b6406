"""No call takes a tensor's value to the loss. Knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from gradviz.graph import preview
from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.flow import is_deepcopy
from gradviz.graph.records import Backward, Call, CutReason, Node, Source, Tensor
from gradviz.graph.training import Did, Moment, line_of
from gradviz.names.frames import names_bound
from gradviz.why.code.own_functions import LETTING_GO, NUMBERS_OUT, backward_of
from gradviz.why.evidence.messages import asks_for_graph
from gradviz.why.evidence.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

# what reads numbers, and computes nothing with them
_LOOKS = {"item", "__float__", "tolist", "numpy", "__format__", "__repr__"}
# writes that leave the values as they are
_NOT_MOVING = ("grad", "requires_grad", "requires_grad_", "retain_grad")


def unread_path(gradients: Gradients, asked: Asked) -> bool:
    """Say whether no path leads to it, and no recording says why."""
    return not gradients.recorded and gradients.unreached(asked)


def unread(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell of no path, and no recording that says why."""
    if not asked.is_leaf and not asked.retains_grad:
        return None
    sharing = named_in_same_memory(gradients, asked)
    return gradients.answer(
        asked,
        Cause.NOT_KNOWN,
        "no_path_shared" if sharing else "no_path",
        checked=gradients.checked_of_unknown(asked),
        start=gradients.loss
        if gradients.roots
        else say("gradient.no_grad_fn", loss=gradients.loss),
        other=sharing[0] if sharing else "",
        record=gradients.record,
    )


def named_in_same_memory(gradients: Gradients, asked: Asked) -> list[str]:
    """Return the names of other tensors that share its memory."""
    blocks = {t.storage_id for t in gradients.states(asked)} - {None}
    names = [t.name for block in blocks for t in gradients.facts.in_memory.get(block, ())]
    return [name for name in names if name and name != asked.name]


def only_copied(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that only copy.deepcopy read it."""
    readers = gradients.readers(asked)
    if not readers or not all(map(is_deepcopy, readers)):
        return None
    return gradients.answer(asked, Cause.NOT_IN_LOSS, "only_copied", calls=readers[:1])


def not_whole(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that the recording does not show the whole way of its value."""
    if gradients.is_whole_for(asked):
        return None
    return gradients.answer(
        asked,
        Cause.NOT_KNOWN,
        "not_whole",
        checked=gradients.checked_of_unknown(asked),
        record=gradients.record,
    )


def twin_used(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that no call used it, but another tensor that shares its memory."""
    twins = twins_in_loss(gradients, asked)
    if gradients.readers(asked) or not twins:
        return None
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "base_used" if cut_view(gradients, asked) else "twin_used",
        tensors=[twins[-1].id],
        other=gradients.words.name(twins[-1].id),
    )


def cut_view(gradients: Gradients, asked: Asked) -> bool:
    """Say whether it is a view that says requires_grad, and was made under no_grad."""
    states = gradients.states(asked)  # none of a tensor of which only the memory was met
    if not states or states[-1].base_id is None:
        return False
    return bool(states[-1].is_leaf and states[-1].requires_grad)


def twins_in_loss(gradients: Gradients, asked: Asked) -> list[Tensor]:
    """Return the states that share its memory and went into the loss."""
    blocks = {asked.storage_id, *(t.storage_id for t in gradients.states(asked))} - {None}
    sharing = (t for block in blocks for t in gradients.facts.in_memory.get(block, ()))
    return [t for t in sharing if t.id in gradients.flow.behind]


def set_by_code(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that its ``.grad`` was set by the code, and by no backward, and what moved it since."""
    states = gradients.states(asked)
    moments = gradients.training.moments.get(states[-1].object_id, ()) if states else ()
    given = [m.call for m in moments if m.did is Did.CHANGED and m.call.function == "grad"]
    if not given or any(m.did is Did.ADDED for m in moments):
        return None
    if not _gave_zeros(gradients, moments):
        return _given(gradients, asked, moments, given[-1])
    if asked.grad == "none":
        return None
    moving = _moving(gradients, states[-1].object_id, given[0].id)
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "set_and_moved" if moving else "set_by_code",
        calls=[given[-1], *moving],
        code=gradients.words.code(given[-1]),
        moving=[gradients.words.at(c) for c in moving],
    )


def _gave_zeros(gradients: Gradients, moments: Sequence[Moment]) -> bool:
    """Say whether the code gave a leaf zeros for its ``.grad``, and wrote nothing else into it."""
    facts, tensor = gradients.facts, gradients.graph.tensor
    changed = [m.call for m in moments if m.did is Did.CHANGED]
    if any(call.function != "grad" for call in changed):
        return False
    after = (tensor[e.after_id].grad for c in changed for e in facts.writes_by_call[c.id])
    known = [grad for grad in after if grad is not None and not preview.unread(grad)]
    if known:
        return all(map(preview.only_zeros, known))
    return all("zeros" in gradients.words.code(call) for call in changed)


def _given(
    gradients: Gradients, asked: Asked, moments: Sequence[Moment], given: Call
) -> Explanation | None:
    """Tell of a gradient that the code computed and handed over itself, as a mean over tasks."""
    is_used = any(m.did is Did.STEPPED for m in moments)
    if asked.grad == "none" and not is_used:
        return None
    return gradients.answer(
        asked,
        Cause.HEALTHY,
        "given_and_used" if is_used else "given",
        calls=[given],
        checked=("frozen", "never_tracked"),
        code=gradients.words.code(given),
    )


def _moving(gradients: Gradients, object_id: int, since: int) -> list[Call]:
    """Return the calls that wrote a tensor's values after another call: of each line the last."""
    writes = gradients.facts.writes_by_object.get(object_id, ())
    calls = (gradients.graph.call[e.call_id] for e in writes if not e.alias)
    moving = (c for c in calls if c.id > since and c.function not in _NOT_MOVING)
    return list({line_of(c): c for c in moving}.values())


def never_read(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that no call used it, or that only calls after the loss did: an evaluation takes ways
    that the training does not."""
    if gradients.readers(asked):
        return None
    cause = Cause.BRANCH_NOT_TAKEN if asked.parameter else Cause.NOT_IN_LOSS
    later = _read_since(gradients, asked)
    if not later:
        return gradients.answer(asked, cause, "never_read")
    return gradients.answer(asked, cause, "read_since", calls=later[-1:])


def _read_since(gradients: Gradients, asked: Asked) -> list[Call]:
    """Return the program's own calls that computed with it when the loss had been made."""
    states = gradients.states(asked)
    calls = gradients.facts.readers.get(states[-1].object_id, []) if states else []
    since = (c for c in calls if c.id > gradients.flow.made_by and not is_deepcopy(c))
    # ``p.data`` in an update by hand computes nothing yet
    return [c for c in since if c.outputs and not c.bookkeeping and c.function != "data"]


def dropped_result(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that a statement gives the result of the module in which it was used a name, and that
    nothing reads it there: ``for x in xs: x = block(x)``."""
    if unread_results(gradients, asked):
        return None
    call = _dropping(gradients, asked)
    bound = [] if call is None else names_bound(call)
    if call is None or len(bound) != 1 or not bound[0].isidentifier():
        return None
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "dropped_result",
        calls=[call],
        name=bound[0],
        code=gradients.words.code(call),
    )


def _dropping(gradients: Gradients, asked: Asked) -> Call | None:
    """Return the statement that called the module whose result, made from a tensor, no call read:
    the innermost that gives it a name."""
    facts = gradients.facts
    unread = _unread(gradients, asked)
    makers = [call for i in unread if (call := facts.maker.get(i)) is not None]
    inside = [call for call in makers if call.module_call is not None]
    for at in facts.module_calls_around(inside[-1].module_call) if inside else ():
        source = facts.module_call[at].source
        if source is not None and names_bound(call_at(source)):
            return None if _is_read_outside(gradients, at) else call_at(source)
    return None


def _is_read_outside(gradients: Gradients, module_call: int) -> bool:
    """Say whether a call outside of a module's call read what was made in there: a part of what it
    returned."""
    facts = gradients.facts
    inside = {
        call.id
        for call in gradients.graph.calls
        if module_call in facts.module_calls_around(call.module_call)
    }
    made = {i for c in gradients.graph.calls if c.id in inside for i in c.outputs}
    readers = (c for c in facts.ordinary_calls if c.id not in inside)
    return any(not made.isdisjoint(call.inputs) for call in readers)


def drops_out(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that it goes into what autograd.grad derived with a graph, and that the derivative, of
    which the loss is made, does not depend on it: a last bias is a summand. What the backward of a
    custom Function computes is a derivative only as far as that says so: none of what left torch
    in there."""
    above, custom = gradients.above(asked), gradients.custom_above(asked)
    behind = gradients.flow.behind
    for run, derived, has_graph in _derivatives_in(gradients, behind, of_custom=bool(custom)):
        if not above.isdisjoint(run.roots):
            return _dropped(gradients, asked, custom, derived, has_graph)
    return None


def derived_for_loss(gradients: Gradients, nodes: Set[int]) -> Call | None:
    """Return the last autograd.grad that derived, with a graph, what one of some nodes made, and
    whose derivatives the loss is made of and sends a gradient to."""
    edges = {t.id: t.gradient_edge for t in gradients.graph.tensors if not t.is_leaf}
    sent_to = {i for i, edge in edges.items() if edge and edge.node_id in gradients.flow.nodes}
    derivatives = _derivatives_in(gradients, sent_to)
    return next((call for run, call, _ in derivatives if not nodes.isdisjoint(run.roots)), None)


def _derivatives_in(
    gradients: Gradients, states: Set[int], *, of_custom: bool = False
) -> Iterator[tuple[Backward, Call, bool]]:
    """Yield each ``autograd.grad`` of whose derivatives some states are made, the last first: its
    run, its call, and whether the derivatives have a graph. ``of_custom``: a custom Function
    computed them, so those that have none though it was asked for, too."""
    graph, behind = gradients.graph, {*states}
    for run in reversed([b for b in graph.backwards if b.kind == "grad"]):
        call = graph.call[run.call_id]
        made = [graph.tensor[i] for i in call.outputs if i in behind]
        has_graph = any(t.requires_grad and not t.is_leaf for t in made)
        if has_graph or (made and of_custom and asks_for_graph(call)):
            behind |= gradients.facts.ancestors(call.inputs)  # one derivative is made of another
            yield run, call, has_graph


def _dropped(
    gradients: Gradients, asked: Asked, custom: list[Node], derived: Call, has_graph: bool
) -> Explanation:
    """Tell of one derivative that does not depend on it."""
    # a detached part may have no derivative there: only where nothing has one is it what cuts
    leaving = NUMBERS_OUT if has_graph else LETTING_GO
    left = [at for node in custom for at in _left_in_backward(gradients, node, leaving)]
    if left:
        return _of_values(gradients, asked, custom[0], derived, left[0])
    return gradients.answer(
        asked,
        Cause.FIRST_ORDER if custom else Cause.HEALTHY,
        "of_custom" if custom else "drops_out",
        calls=[derived],
        checked=CHECKED_IN_LOSS,
        node=custom[0].name.removesuffix("Backward") if custom else "",
    )


def _left_in_backward(gradients: Gradients, node: Node, leaving: Set[str]) -> list[Source]:
    """Return where the backward of a custom Function, as it is written, takes what it computes with
    out of torch, or out of its history."""
    written = backward_of(gradients.statements, node.name.removesuffix("Backward"))
    return [] if written is None else written.reading(leaving)


def _of_values(
    gradients: Gradients, asked: Asked, node: Node, derived: Call, left: Source
) -> Explanation:
    """Tell that a loss is made of a derivative whose numbers a custom Function's backward computed
    outside of torch."""
    return gradients.answer(
        asked,
        Cause.REBUILT_FROM_VALUE,
        "in_own_backward",
        calls=[call_at(left), derived],
        node=node.name.removesuffix("Backward"),
        code=Code(left.code or ""),
    )


def leads_elsewhere(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that what was made from it does not go into the loss, or only into earlier ones."""
    unread = unread_results(gradients, asked)
    earlier = _earlier_loss(gradients, asked)
    if earlier is not None and not unread:
        return gradients.answer(
            asked,
            Cause.NOT_IN_LOSS,
            "in_earlier_loss",
            calls=[gradients.facts.maker[earlier]],
            checked=CHECKED_IN_LOSS[1:] if gradients.flow.cuts_after(asked.tensor_id) else None,
            earlier=gradients.words.name(earlier),
        )
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "unread_result" if unread else "leads_elsewhere",
        calls=[gradients.facts.maker[t.id] for t in unread[:1]] or gradients.readers(asked)[-1:],
        checked=CHECKED_IN_LOSS[1:] if gradients.flow.cuts_after(asked.tensor_id) else None,
        results=[bound_name(gradients, t) for t in unread],
    )


def _earlier_loss(gradients: Gradients, asked: Asked) -> int | None:
    """Return the last tensor made from it on which a backward was called before the loss was
    made."""
    facts, connected = gradients.facts, gradients.connected(asked)
    before = (i for i in facts.losses if i in connected and i in facts.maker)
    return max((i for i in before if facts.maker[i].id < gradients.flow.made_by), default=None)


def only_looked_at(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that of all that was made from it only numbers were read, each time after the backward
    in which they could have been: ``print(loss2.item())``."""
    if not (_cut_by_looks_alone(gradients, asked) and (looked := _looked_at(gradients, asked))):
        return None
    value, reader = looked[-1]
    maker = gradients.facts.maker[value.id]
    loss = gradients.flow.maker(gradients.losses[-1]) if gradients.losses else None
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "only_looked_at",
        calls=[maker] if loss is None else [maker, loss],
        tensors=[value.id],
        part=gradients.words.name(value.id),
        read=gradients.words.at(reader),
    )


def _cut_by_looks_alone(gradients: Gradients, asked: Asked) -> bool:
    """Say whether nothing but looks at numbers cuts what was made from a tensor."""
    cuts = gradients.flow.cuts_after(asked.tensor_id)
    return all(c.reason is CutReason.COPIED_OUT and c.output_id is None for c in cuts)


def _looked_at(gradients: Gradients, asked: Asked) -> list[tuple[Tensor, Call]]:
    """Return the results with which all ways from a tensor end, each with the call that looked at
    it; none where one end was not looked at, or before a backward that it could have been in."""
    facts, found = gradients.facts, list[tuple[Tensor, Call]]()
    connected = gradients.connected(asked)
    for state in (gradients.graph.tensor[i] for i in sorted(connected) if i in facts.maker):
        readers = facts.calls_reading.get(state.id, [])
        if any(not connected.isdisjoint(c.outputs) for c in readers):
            continue
        made = facts.maker[state.id].id
        looks = [c for c in readers if c.function in _LOOKS]
        begun = any(made < i < c.id for c in looks[:1] for i in facts.backward_calls)
        if not begun or len(looks) < len(readers):
            return []
        found.append((state, looks[0]))
    return found


def _unread(gradients: Gradients, asked: Asked) -> list[int]:
    """Return the states that were made from it and that neither a call nor a backward read."""
    facts = gradients.facts
    return sorted(gradients.connected(asked) - facts.read_ids - {*facts.losses})


def unread_results(gradients: Gradients, asked: Asked) -> list[Tensor]:
    """Return the results that were made from it, that no call read, and on which no backward was
    called, of the last statement that gave such a name."""
    unread = _unread(gradients, asked)
    made = [(gradients.facts.maker.get(i), gradients.graph.tensor[i]) for i in unread]
    bound = [(c, t) for c, t in made if c and c.id <= gradients.flow.made_by and is_bound(c, t)]
    return [t for c, t in bound if c is bound[-1][0]]


def bound_name(gradients: Gradients, result: Tensor) -> str:
    """Return what its statement calls a result, perhaps with others."""
    if result.name:
        return gradients.words.name(result.id)
    return gradients.words.code(gradients.facts.maker[result.id]).partition("=")[0].strip()


def is_bound(call: Call, result: Tensor) -> bool:
    """Say whether a result has a name, or its statement gave it one with others."""
    return bool(result.name) or re.match(r"\w+(, *\w+)* *=(?!=)", code_of(call)) is not None
