"""What a node had saved was written in place: by which call. Plain data in and out, knows no
torch."""

from __future__ import annotations

import re

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Node,
    SavedState,
    SavedTensor,
    Tensor,
    Wrote,
)
from gradviz.why.explanation import Explanation
from gradviz.why.messages import (
    Versions,
    versions,
)
from gradviz.why.rules.errors.failure import NAME, Failure
from gradviz.words.plain import visible
from gradviz.words.speech import say

_STEP = re.compile(r"\bstep\b")


def modified_in_place(failure: Failure) -> Explanation:
    """Tell that what a node had saved was written, by a call or by the step of an optimizer."""
    stale = versions(failure.text)
    node = stopped_at(failure, stale)
    saved = saved_objects(failure, node, stale) if node else []
    writers = calls_that_wrote(failure, saved, stale)
    first = writers[0] if writers else None
    stepped = first is not None and is_step(failure, first)
    carried = carried_over_step(failure, first, node) if stepped else None
    if carried is not None:
        made = failure.binding(carried)
        return failure.answer(
            Cause.MODIFIED_IN_PLACE,
            "stepped_carried",
            calls=[*writers[:1], made],
            also_at=[*writers, failure.maker(node)],
            tensors=[*saved, carried],
            nodes=[node] if node else [],
            writer=writer(failure, first) if first else "",
            name=saved_name(failure, saved, stale),
            value=failure.name(carried),
            place=failure.words.where(made),
            reasons=why_stale(failure, node, saved, stale, writers),
        )
    return failure.answer(
        Cause.MODIFIED_IN_PLACE,
        "stepped" if stepped else "written",
        calls=writers[:1],
        also_at=[*writers, failure.maker(node)],
        tensors=saved,
        nodes=[node] if node else [],
        more=failure.unrecorded(say("unrecorded.writer")),
        writer=writer(failure, first) if first else say("raised.something"),
        name=saved_name(failure, saved, stale),
        saver=node.name if node else say("raised.forward"),
        reasons=why_stale(failure, node, saved, stale, writers),
        mend=mend_of_write(first),
    )


def carried_over_step(failure: Failure, step: Call | None, node: Node | None) -> Tensor | None:
    """Return the named result that was made before a step and that a call after it took into this
    loss, with the node that finds its tensor changed behind it."""
    facts, tensor = failure.facts, failure.graph.tensor
    if failure.call is None or step is None or node is None:
        return None
    behind = facts.ancestors(failure.call.inputs[:1])
    later = (c for c in facts.ordinary_calls if c.id > step.id and not behind.isdisjoint(c.outputs))
    read = (tensor[i] for call in later for i in call.inputs)
    old = (t for t in read if t.name and t.id in facts.maker and facts.maker[t.id].id < step.id)
    return next((t for t in old if _leads_to(failure, t, node)), None)


def _leads_to(failure: Failure, state: Tensor, node: Node) -> bool:
    """Say whether a gradient from a result comes to a node."""
    edge = state.gradient_edge
    return edge is not None and node.id in failure.facts.reachable([edge.node_id])


def why_stale(
    failure: Failure,
    node: Node | None,
    saved: list[Tensor],
    stale: Versions | None,
    writers: list[Call],
) -> list[str]:
    """Say what was saved at which version, and where else it was written."""
    saver = failure.made_by(node)
    name = saved_name(failure, saved, stale) if len(saved) == 1 else say("raised.it")
    if stale is None:
        return [say("raised.saved", node=saver, name=name)]
    at, now = stale.saved, stale.now
    sentences = [say("raised.saved_at", node=saver, name=name, saved=at, now=now)]
    places = {failure.words.place(call) for call in writers}
    if len(places) > 1:
        sentences.append(say("raised.written_besides", n=len(places) - 1))
    if failure.call and not writers:
        sentences.append(say("raised.write_unrecorded"))
    return sentences


def saved_name(failure: Failure, saved: list[Tensor], stale: Versions | None) -> str:
    """Return what was saved: one tensor, or those that cannot be told apart."""
    if len(saved) == 1:
        return failure.name(saved[0])
    if saved:
        return say("raised.one_of", names=failure.names(saved))
    if stale:
        return say("raised.tensor_of_shape", shape=stale.shape)
    return say("raised.a_tensor")


def calls_that_wrote(failure: Failure, saved: list[Tensor], stale: Versions | None) -> list[Call]:
    """Return the calls that wrote what was saved between the two versions that torch names."""
    if stale is None:
        return []
    writes = [e for e in failure.facts.writes if moved(failure, e, saved, stale)]
    return [failure.graph.call[i] for i in dict.fromkeys(e.call_id for e in writes)]


def is_step(failure: Failure, call: Call) -> bool:
    """Say whether an optimizer wrote: its step is no in-place write of the user's."""
    return call.bookkeeping and _STEP.search(failure.words.code(call)) is not None


def writer(failure: Failure, call: Call) -> str:
    """Return what a call that wrote is called: of a module's the module, and its function."""
    if not call.module:
        return failure.code(call)
    module = visible(call.module, NAME)
    return say("raised.module_call", module=module, function=call.function)


def stopped_at(failure: Failure, stale: Versions | None) -> Node | None:
    """Return the node that found its tensor changed; without its event, the only one behind the
    loss that it can be."""
    if failure.event:
        return failure.graph.node.get(failure.event.node_id)
    nodes = [
        node
        for node in failure.nodes_behind_given_root
        if any(is_stale(saved, stale) for saved in node.saved)
    ]
    return nodes[0] if len(nodes) == 1 else None


def saved_objects(failure: Failure, node: Node, stale: Versions | None) -> list[Tensor]:
    """Return what the node had saved and finds changed: one tensor, or those that cannot be
    told apart."""
    ids = [saved.tensor_id for saved in node.saved if is_stale(saved, stale)]
    tensors = [failure.graph.tensor[i] for i in ids if i is not None]
    if stale:
        tensors = tensors or inputs_at(failure, node, stale)
        tensors = of_shape(stale.shape, tensors) or tensors
        tensors = of_shape(stale.shape[::-1], tensors) or tensors
    return list({t.object_id: t for t in tensors}.values())


def inputs_at(failure: Failure, node: Node, stale: Versions) -> list[Tensor]:
    """Return the inputs that had the version that was saved: a view of one was saved, as of a
    weight that linear() turns over."""
    call = failure.maker(node)
    versions_met = {(t.object_id, t.version) for t in failure.graph.tensors}
    inputs = [failure.graph.tensor[i] for i in (call.inputs if call else ())]
    return [
        t for t in inputs if t.version == stale.saved and (t.object_id, stale.now) in versions_met
    ]


def moved(failure: Failure, event: Wrote, saved: list[Tensor], stale: Versions) -> bool:
    """Say whether a write moved what was saved on between the two versions that torch names."""
    before = failure.graph.tensor[event.before_id]
    after = failure.graph.tensor[event.after_id]
    if before.version is None or after.version is None:
        return False
    if all(t.object_id != after.object_id for t in saved):
        return False
    return stale.saved <= before.version < after.version <= stale.now


def is_stale(saved: SavedTensor, stale: Versions | None) -> bool:
    """Say whether a saved tensor was written since, and has the version that torch names."""
    return saved.state is SavedState.STALE and (stale is None or saved.saved_version == stale.saved)


def of_shape(shape: list[int], tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors of one shape."""
    return [t for t in tensors if list(t.shape or ()) == shape]


def mend_of_write(call: Call | None) -> str:
    """Return what to write instead of a call that wrote in place."""
    if call is None:
        return say("mend.write_unseen")
    if call.function == "__setitem__":
        return say("mend.write_item")
    return say("mend.write_by_module") if call.module else say("mend.write")
