"""No call takes a tensor's value to the loss. Knows no torch."""

from __future__ import annotations

import re

from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.flow import is_deepcopy
from gradviz.graph.records import Call, Tensor
from gradviz.why.explanation import Explanation
from gradviz.why.paths import CHECKED_IN_LOSS, Asked
from gradviz.why.rules.gradients.gradient import Gradients
from gradviz.words.speech import say


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


def never_read(gradients: Gradients, asked: Asked) -> Explanation | None:
    """Tell that no call used it."""
    if gradients.readers(asked):
        return None
    cause = Cause.BRANCH_NOT_TAKEN if asked.parameter else Cause.NOT_IN_LOSS
    return gradients.answer(asked, cause, "never_read")


def leads_elsewhere(gradients: Gradients, asked: Asked) -> Explanation:
    """Tell that what was made from it does not go into the loss."""
    unread = unread_results(gradients, asked)
    return gradients.answer(
        asked,
        Cause.NOT_IN_LOSS,
        "unread_result" if unread else "leads_elsewhere",
        calls=[gradients.facts.maker[t.id] for t in unread[:1]] or gradients.readers(asked)[-1:],
        checked=CHECKED_IN_LOSS[1:] if gradients.flow.cuts_after(asked.tensor_id) else None,
        results=[bound_name(gradients, t) for t in unread],
    )


def unread_results(gradients: Gradients, asked: Asked) -> list[Tensor]:
    """Return the results that were made from it and that no call read, of the last statement
    that gave such a name."""
    unread = sorted(gradients.connected(asked) - gradients.facts.read_ids)
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
