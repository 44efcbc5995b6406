"""A snapshot or a frozen parameter that shares its memory with what trains, and so follows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source, Tensor, Wrote
from gradviz.names.bindings import parameters_of, scope_of
from gradviz.names.frames import frames, names_in
from gradviz.names.statements import Statements, source_of
from gradviz.watch import torch_private
from gradviz.watch.identity import read
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

FEW = 3  # statements that keep a state


def snapshots(asked: Silent) -> Iterator[Explanation]:
    """Tell of the first of the tensors that follow live weights."""
    found = (read(partial(follows, asked, name, tensor)) for name, tensor in asked.tensors.items())
    yield from [e for e in found if e is not None][:1]


def shared_with_frozen(asked: Silent) -> Iterator[Explanation]:
    """Tell of the first of the frozen parameters that share their memory with one that trains."""
    training: dict[Any, str] = {}  # name, by where in which memory it lies
    frozen: list[tuple[str, Any]] = []
    each_once = {id(p): (name, p) for name, p in asked.parameters.items()}
    for name, p in each_once.values():
        key = torch_private.storage_key(p)
        # A lazy layer's parameter has no shape yet.
        place = None if key is None else read(partial(_place, key, p))
        if place is not None and p.requires_grad:
            training.setdefault(place, name)
        elif place is not None:
            frozen.append((name, place))
    for name, place in frozen:
        if place in training:
            yield asked.answer(
                Cause.SHARED_SNAPSHOT, "frozen_shares", subject=name, weight=training[place]
            )
            return


def follows(asked: Silent, name: str, tensor: torch.Tensor) -> Explanation | None:
    """Tell of a tensor apart from the graph that shares its memory with live weights."""
    if tensor.requires_grad:
        return None
    object_id = asked.object_of(tensor)
    # what state_dict() gives has no recorded maker
    if object_id is not None and asked.facts.states[object_id][0].id in asked.facts.maker:
        return followed(asked, name, object_id)
    weight = parameter_sharing(asked, tensor)
    if weight is None or any(tensor is p for p in asked.parameters.values()):
        return None
    return asked.answer(
        Cause.SHARED_SNAPSHOT,
        "shares",
        subject=name,
        weight=weight,
        statements=keeping_states(asked.statements),
    )


def keeping_states(statements: Statements) -> list[Source]:
    """Return the statements that keep what ``state_dict()`` gives, as it is; none where they are
    too many to be told apart."""
    found = [
        place
        for place, call in statements.calls("state_dict")
        if isinstance(parent := getattr(call, "parent", None), ast.Assign) and parent.value is call
    ]
    return found if len(found) <= FEW else []


def parameter_sharing(asked: Silent, tensor: torch.Tensor) -> str | None:
    """Return the name of the first parameter that lies in a tensor's memory."""
    key = torch_private.storage_key(tensor)
    if key is None:
        return None
    for name, p in asked.parameters.items():
        if torch_private.storage_key(p) == key:
            return name
    return None


def followed(asked: Silent, name: str, object_id: int) -> Explanation | None:
    """Tell of a tensor of the recording that shares its memory with weights that were written
    since."""
    states = asked.facts.states[object_id]
    maker = asked.facts.maker.get(states[0].id)
    if states[-1].storage_id is None or maker is None:
        return None
    # Calls are numbered in order: only what was written after the snapshot was made counts.
    writes = writes_to_weights(asked, states[-1], maker.id)
    if not writes:
        return None
    first = writes[0]
    if _serves_until_written(asked, maker, asked.graph.call[first.call_id]):
        return None
    return asked.answer(
        Cause.SHARED_SNAPSHOT,
        "followed",
        subject=name,
        calls=[maker],
        tensors=[states[-1].id, first.after_id],
        weight=asked.words.name(first.after_id),
        maker=maker.function,
        writer=asked.words.place(asked.graph.call[first.call_id]),
        writes=len(writes),
    )


def _serves_until_written(asked: Silent, maker: Call, writer: Call) -> bool:
    """Say whether the code reads what a tensor was kept as only before the line that writes the
    weights: it is computed with, as ``functional_call`` does, and made anew in the next pass."""
    if maker.source is None or writer.source is None or maker.source.file != writer.source.file:
        return False
    kept = [n for frame in frames(maker)[:1] for n in names_in(frame.code)[0][:1]]
    reads = [
        place.line
        for file, node in asked.statements.nodes(ast.Name)
        if isinstance(node.ctx, ast.Load) and node.id in kept
        if node.id not in parameters_of(scope_of(node))  # a function's own, of the same name
        if (place := source_of(file, node)).file == maker.source.file
    ]
    return bool(reads) and all(maker.source.line <= line < writer.source.line for line in reads)


def writes_to_weights(asked: Silent, snapshot: Tensor, since: int) -> list[Wrote]:
    """Return the writes after a call to other leaves that train, in a snapshot's memory."""
    writes = [e for e in asked.facts.writes if e.call_id > since and asked.facts.writes_memory(e)]
    states = {t.id for t in asked.facts.states[snapshot.object_id]}
    along = {e.call_id for e in writes if e.alias and e.after_id in states}
    weights = weights_sharing(asked, snapshot)
    direct = [e for e in writes if not e.alias or e.call_id in along]
    return [e for e in direct if e.after_id in weights]


def weights_sharing(asked: Silent, snapshot: Tensor) -> set[int]:
    """Return the states of other leaves that train, in a snapshot's memory."""
    return {
        t.id
        for t in asked.graph.tensors
        if t.storage_id == snapshot.storage_id
        and t.object_id != snapshot.object_id
        and t.is_leaf
        and t.requires_grad
    }


def _place(key: Any, tensor: torch.Tensor) -> Any:
    """Return which part of which memory a tensor shows, and how."""
    return key, tensor.storage_offset(), tensor.shape, tensor.stride()
