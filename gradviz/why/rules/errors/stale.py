"""What a node had saved and finds written since: which tensors, and by which calls. Plain data in
and out, knows no torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradviz.graph.facts import site_of
from gradviz.graph.records import Call, Node, SavedState, SavedTensor, Tensor, Wrote
from gradviz.why.evidence.messages import Versions
from gradviz.why.rules.errors.failure import Failure

_STEP = re.compile(r"\bstep\b")


def calls_that_wrote(failure: Failure, saved: list[Tensor], stale: Versions | None) -> list[Call]:
    """Return the calls that wrote what was saved between the two versions that torch names."""
    if stale is None:
        return []
    of_it = {t.object_id for t in saved}
    writes = [e for e in failure.facts.writes if moved(failure, e, of_it, stale)]
    if not writes:
        families = {failure.family(t) for t in saved}
        sharing = {t.object_id for t in failure.graph.tensors if failure.family(t) in families}
        writes = [e for e in failure.facts.writes if moved(failure, e, sharing, stale)]
    return [failure.graph.call[i] for i in dict.fromkeys(e.call_id for e in writes)]


def is_update(failure: Failure, call: Call, saved: list[Tensor]) -> bool:
    """Say whether weights were moved: by an optimizer, or by hand, which autograd only allows under
    no_grad."""
    if call.bookkeeping and _STEP.search(failure.words.code(call)) is not None:
        return True
    by_hand = not call.grad_mode and call.function != "__setitem__"
    return by_hand and bool(saved) and all(t.is_leaf and t.requires_grad for t in saved)


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
    inputs = [failure.graph.tensor[i] for i in (call.inputs if call else ())]
    given = [t for t in inputs if t.version == stale.saved]
    versions_met = {(t.object_id, t.version) for t in failure.graph.tensors}
    own = [t for t in given if (t.object_id, stale.now) in versions_met]
    if own:
        return own
    # a view that nothing held any more, when what it is a view of was written
    families_met = {(failure.family(t), t.version) for t in failure.graph.tensors}
    return [t for t in given if (failure.family(t), stale.now) in families_met]


def moved(failure: Failure, event: Wrote, objects: set[int], stale: Versions) -> bool:
    """Say whether a write moved one of some objects on between the two versions that torch
    names."""
    before = failure.graph.tensor[event.before_id]
    after = failure.graph.tensor[event.after_id]
    if before.version is None or after.version is None:
        return False
    if after.object_id not in objects:
        return False
    return stale.saved <= before.version < after.version <= stale.now


def is_stale(saved: SavedTensor, stale: Versions | None) -> bool:
    """Say whether a saved tensor was written since, and has the version that torch names."""
    return saved.state is SavedState.STALE and (stale is None or saved.saved_version == stale.saved)


def stale_nodes(failure: Failure, roots: Iterable[int]) -> set[int]:
    """Return the nodes behind others that would find what they saved changed."""
    nodes = (failure.graph.node[n] for n in failure.facts.reachable(roots))
    return {n.id for n in nodes if any(is_stale(saved, None) for saved in n.saved)}


def of_shape(shape: list[int], tensors: list[Tensor]) -> list[Tensor]:
    """Return the tensors of one shape."""
    return [t for t in tensors if list(t.shape or ()) == shape]


def savers_of(failure: Failure, saved: Tensor) -> list[Call]:
    """Return the calls behind this loss that saved a tensor and find it written since, one for each
    line: a copy for one of them leaves the others as they are."""
    of_it = (f for f in _found_written(failure) if f.tensor.object_id == saved.object_id)
    first_of_each = dict[object, Call]()
    for found in of_it:
        first_of_each.setdefault(site_of(found.saver), found.saver)
    return [*first_of_each.values()]


class Stale(NamedTuple):
    """One tensor that a node saved and finds written since.

    Attributes:
        node: that saved it.
        saver: the call that made the node.
        saved: the tensor, as it was saved.
        writers: the calls that wrote it since, in their order.
    """

    node: Node
    saver: Call
    saved: Tensor
    writers: list[Call]


def all_stale(failure: Failure) -> Iterator[Stale]:
    """Yield what the nodes behind this loss find written since by other calls than a step: each of
    them makes the backward raise, one after the other."""
    for found in _found_written(failure):
        writers = _writers_since(failure, found.tensor, found.version)
        if writers and not is_update(failure, writers[0], [found.tensor]):
            yield Stale(found.node, found.saver, found.tensor, writers)


class _Found(NamedTuple):
    """What a node saved, at some version, and finds written since."""

    node: Node
    saver: Call
    tensor: Tensor
    version: int | None


def _found_written(failure: Failure) -> Iterator[_Found]:
    """Yield what the nodes behind this loss find written since."""
    met = failure.facts.reachable(failure.run.roots) if failure.run else set()
    for node in (node for node in failure.graph.nodes if node.id in met):
        saver = failure.maker(node)
        for one in node.saved if saver is not None else ():
            if saver is None or one.state is not SavedState.STALE:
                continue
            tensor = failure.graph.tensor.get(one.tensor_id) or _input_of(failure, saver, one)
            if tensor is not None:
                yield _Found(node, saver, tensor, one.saved_version)


def _input_of(failure: Failure, saver: Call, saved: SavedTensor) -> Tensor | None:
    """Return the one input of a call that was written since it had the version that was saved: what
    was saved is a view of it that the call made inside, as ``einsum`` does."""
    version = saved.saved_version
    given = [t for i in saver.inputs if (t := failure.graph.tensor[i]).version == version]
    written = {t.object_id: t for t in given if _newest(failure, t) > (t.version or 0)}
    return next(iter(written.values())) if len(written) == 1 else None


def _newest(failure: Failure, tensor: Tensor) -> int:
    """Return the newest version that was met of a tensor, or of what it is a view of."""
    family = (t for t in failure.graph.tensors if failure.family(t) == failure.family(tensor))
    return max((t.version or 0 for t in family), default=0)


def _writers_since(failure: Failure, tensor: Tensor, version: int | None) -> list[Call]:
    """Return the calls that wrote a tensor, or what it is a view of, after a version of it."""
    newest = _newest(failure, tensor)
    if version is None or newest <= version:
        return []
    return calls_that_wrote(failure, [tensor], Versions([], newest, version))
