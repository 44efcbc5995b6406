"""What an optimizer was given in place of parameters, or that it was given none. Plain data in and
out, knows no torch."""

from __future__ import annotations

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.records import Tensor
from gradviz.why.evidence import messages
from gradviz.why.evidence.handed_on import KEEPING
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation


def results_like_parameters(failure: Failure) -> Explanation | None:
    """Name the results that look like parameters: no recorded call raises this error."""
    results = [t for t in failure.facts.latest_state.values() if like_a_parameter(failure, t)]
    if not results and (part := last_part_of_a_leaf(failure)) is not None:
        return failure.answer(
            Cause.NON_LEAF_IN_OPTIMIZER,
            "likely_part",
            calls=[failure.facts.maker[part.id]],
            tensors=[part],
            sure=Sure.LIKELY,
            more=(),
            name=failure.name(part),
            code=failure.code(failure.facts.maker[part.id]),
            whole=failure.names(failure.facts.leaves_reached(part.id)),
        )
    if not results:
        return None
    return failure.answer(
        Cause.NON_LEAF_IN_OPTIMIZER,
        "likely",
        calls=[failure.facts.maker[t.id] for t in results],
        tensors=results,
        sure=Sure.LIKELY,
        more=(),
        names=failure.names(results),
    )


def last_part_of_a_leaf(failure: Failure) -> Tensor | None:
    """Return the last result that is a part of a leaf which requires grad, or that in another
    shape, and that nothing was computed from."""
    parts = [
        t
        for t in failure.facts.latest_state.values()
        if t.is_leaf is False and t.requires_grad and t.id not in failure.facts.read_ids
        if (maker := failure.facts.maker.get(t.id)) and maker.function in KEEPING and maker.inputs
        if failure.graph.tensor[maker.inputs[0]].is_leaf
    ]
    return max(parts, key=lambda t: t.id, default=None)


def like_a_parameter(failure: Failure, tensor: Tensor) -> bool:
    """Say whether a tensor was computed from a leaf of its shape that requires grad."""
    maker = failure.facts.maker.get(tensor.id)
    if maker is None or tensor.is_leaf is not False:
        return False
    sources = (failure.graph.tensor[i] for i in maker.inputs)
    return any(t.is_leaf and t.requires_grad and t.shape == tensor.shape for t in sources)


def not_parameters(failure: Failure) -> Explanation | None:
    """Tell what a module holds in place of parameters."""
    if failure.starved is None or not failure.starved.spots:
        return None
    form = failure.starved.spots[0].form
    spots = [spot for spot in failure.starved.spots if spot.form == form]
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "init"
        if form == "init"
        else "result"
        if form == "result"
        else "list"
        if form == "list"
        else "buffer"
        if form == "buffer"
        else "local"
        if form == "local"
        else "tensor",
        calls=[call_at(source) for spot in spots for source in spot.source],
        more=(),
        module=failure.starved.module,
        kind=failure.starved.kind,
        names=[spot.name for spot in spots],
        n=len(spots),
        name=spots[0].name,
        attribute=spots[0].name.rpartition(".")[2],
    )


def not_assigned(failure: Failure) -> Explanation | None:
    """Tell of a plain tensor that was to take the name of a parameter."""
    name = messages.parameter_named(failure.text)
    if name is None:
        return None
    refused = failure.starved.assigned if failure.starved else None
    is_result = refused is not None and refused.is_result
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "result_assigned" if is_result else "tensor_assigned",
        calls=[call_at(source) for source in (failure.starved.place if failure.starved else ())],
        more=(),
        name=name,
    )


def read_to_its_end(failure: Failure) -> Explanation | None:
    """Tell of an iterator of parameters that a statement had read before the optimizer did."""
    read = failure.starved.spent if failure.starved else None
    if failure.starved is None or read is None or failure.starved.spots:
        return None
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "spent",
        calls=[call_at(source) for source in read.source],
        more=(),
        name=read.name,
        kind=read.kind,
    )


def all_used_or_frozen(failure: Failure) -> Explanation | None:
    """Tell that a module has parameters, and why none of them came through."""
    starved = failure.starved
    if starved is None or not starved.frozen + starved.trained:
        return None
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "read_before" if starved.trained else "frozen",
        more=(),
        module=starved.module,
        n=starved.frozen + starved.trained,
    )


def no_parameters(failure: Failure) -> Explanation:
    """Tell that a module has nothing to train, or that none is known."""
    starved = failure.starved
    return failure.answer(
        Cause.NOT_A_PARAMETER,
        "none" if starved is not None and starved.module else "unknown",
        more=(),
        module=starved.module if starved else "",
        kind=starved.kind if starved else "",
    )
