"""Hooks that read a gradient too early, or change it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.preview import number, parts_of, unread
from gradviz.graph.records import Call, Changed, Source
from gradviz.graph.training import Did
from gradviz.names.statements import (
    code_of_function,
    function_node,
    source_of,
    where_attribute_read,
)
from gradviz.watch import torch_private
from gradviz.watch.identity import parameters
from gradviz.why.evidence.zero_flow import is_some
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.shown.explanation import Explanation
from gradviz.words.words import way_of


def read_too_early(asked: Silent) -> Explanation | None:
    """Tell of a module's backward hook that reads ``.grad``: when it runs, the gradients of the
    module's parameters need not be there."""
    for name, function, place in _reading(asked):
        return asked.answer(
            Cause.READ_TOO_EARLY,
            "in_module_hook",
            statements=[place],
            module=name,
            hook=function,
        )
    return None


def _reading(asked: Silent) -> Iterator[tuple[str, str, Source]]:
    """Yield the backward hooks of modules that read ``.grad``: the module, the function, where."""
    for name, part in asked.parts():
        if not any(p.requires_grad for p in parameters(part, recurse=False)):
            continue
        for hook in torch_private.backward_hooks(part):
            code = code_of_function(hook)
            place = None if code is None else where_attribute_read(code, "grad")
            if code is not None and place is not None:
                yield name, code.co_name, place


# --- gradients that a hook changed ----------------------------------------------------------------


def moved_all_the_same(asked: Silent) -> Explanation | None:
    """Tell of a hook that makes zeros in the gradient of a parameter which its optimizer moves by
    weight decay all the same."""
    nodes = {e.node_id: e for e in asked.facts.changed.values()}
    found = {n: m for n, event in nodes.items() if (m := _masked(asked, event)) is not None}
    if not found:
        return None
    first = next(iter(found.values()))
    leaves = [asked.graph.tensor[asked.graph.node[n].leaf_id].object_id for n in found]
    return asked.answer(
        Cause.CHANGED_BY_HOOK,
        "moved_all_the_same",
        calls=lines_once(m.hook for m in found.values()),
        statements=[] if first.made is None else [first.made],
        tensors=asked.states_of(leaves),
        names=asked.names_of(leaves),
        n=len(leaves),
        decay=first.decay,
        step=asked.words.code(first.step),
        place=asked.words.where(first.step),
    )


class Masked(NamedTuple):
    """A parameter whose gradient a hook makes zeros in, and that a step moves.

    Attributes:
        hook: the call that put the hook there.
        step: the last step that moved it.
        decay: the weight decay of its optimizer, as a number.
        made: the statement that made the optimizer, where the weight decay is known from there.
    """

    hook: Call
    step: Call
    decay: str
    made: Source | None = None


def _masked(asked: Silent, event: Changed) -> Masked | None:
    """Return what is known of a leaf whose gradient a hook made zeros in, where the optimizer that
    stepped it has a weight decay."""
    leaf = asked.graph.node[event.node_id].leaf_id
    hooks = [asked.graph.call[i] for i in event.hooks if i in asked.graph.call]
    if leaf is None or not hooks or not asked.is_wanted(leaf):
        return None
    object_id = asked.graph.tensor[leaf].object_id
    moments = asked.training.moments.get(object_id, ())
    steps = [m.call for m in moments if m.did is Did.STEPPED]
    if not steps or not _makes_zeros(asked, event, object_id):
        return None
    for group in _groups_with(asked, object_id):
        decay = group.get("weight_decay") or 0
        return Masked(hooks[0], steps[-1], number(decay)) if decay else None
    made = _decay_in_code(asked)
    return Masked(hooks[0], steps[-1], made[1], made[0]) if made else None


def _groups_with(asked: Silent, leaf: int) -> Iterator[dict[str, Any]]:
    """Yield the parameter groups of the known optimizers that hold a leaf."""
    for optimizer in asked.known.values():
        groups = optimizer.param_groups if isinstance(optimizer, torch.optim.Optimizer) else ()
        yield from (g for g in groups if any(asked.object_of(p) == leaf for p in g["params"]))


def _decay_in_code(asked: Silent) -> tuple[Source, str] | None:
    """Return the one statement of the user's that gives an optimizer a weight decay which is not 0,
    and that: the optimizer may be gone."""
    found = [
        (source_of(file, node), ast.unparse(keyword.value))
        for file, node in asked.statements.nodes(ast.Call)
        for keyword in node.keywords
        if keyword.arg == "weight_decay" and ast.unparse(keyword.value) not in ("0", "0.0")
    ]
    return found[0] if len(found) == 1 else None


def _makes_zeros(asked: Silent, event: Changed, leaf: int) -> bool:
    """Say whether a hook made zeros of all of a gradient, or of parts of it that is alive."""
    norm = parts_of(event.after)[1] if unread(event.after) else None
    if is_some(event.after, norm) is False:
        return True
    living = asked.recording.living() if asked.recording else ()
    grads = (t.grad for t in living if t.is_leaf and asked.object_of(t) == leaf)
    return any(grad is not None and bool((grad == 0).any()) for grad in grads)


def changed(asked: Silent) -> Explanation | None:
    """Tell of a hook on a tensor that changed a gradient on its way to what is asked about."""
    facts = asked.facts
    for event in facts.changed.values():
        calls = [asked.graph.call[i] for i in event.hooks if i in asked.graph.call]
        if (
            not _is_known_to_differ(event)
            or not calls
            or not asked.concerns(facts.reachable([event.node_id]))
        ):
            continue
        at = facts.hooked_by_call.get(calls[0].id)
        return asked.answer(
            Cause.CHANGED_BY_HOOK,
            "on_tensor",
            calls=calls,
            tensors=[] if at is None else [at],
            nodes=[event.node_id],
            it=asked.words.name(at),
            change=way_of(event),
        )
    return None


def _is_known_to_differ(event: Changed) -> bool:
    """Say whether what was sent and what arrived are known, and differ: of a sum of large gradients
    that several nodes sent, only the shape is known, and a hook that clips may find nothing to."""
    both = [preview for preview in (event.before, event.after) if preview is not None]
    are_known = all(not unread(p) or parts_of(p)[1] is not None for p in both)
    return are_known and event.before != event.after


def changed_in_module(asked: Silent) -> Explanation | None:
    """Tell of a module's backward hook that returned another gradient than the one it was given, on
    its way to what is asked about."""
    for event in asked.facts.nodes_ran:
        node = asked.graph.node[event.node_id]
        call = asked.graph.call.get(node.call_id)
        same = (event.arrived, event.arrived_norms) == (event.sent, event.sent_norms)
        if same or call is None or not call.function.startswith("BackwardHookFunction"):
            continue
        if not asked.concerns(asked.facts.reachable([event.node_id])):
            continue
        part = _part(asked, call.module or "")
        places = [] if part is None else [*map(_begin, torch_private.backward_hooks(part))]
        return asked.answer(
            Cause.CHANGED_BY_HOOK,
            "of_module",
            calls=[] if any(places) else [call],
            statements=[place for place in places if place is not None],
            nodes=[event.node_id],
            module=call.module or "",
            hooks=len(places),
        )
    return None


def _part(asked: Silent, path: str) -> torch.nn.Module | None:
    """Return a module that the question is about, by its path."""
    for title, module in asked.modules.items():
        part: torch.nn.Module
        for inner, part in module.named_modules():
            if path == ".".join(filter(None, (title, inner))) or path == f"{title}[{inner}]":
                return part
    return None


def _begin(hook: Any) -> Source | None:
    """Return the line where the function of a hook begins."""
    code = code_of_function(hook)
    found = None if code is None else function_node(code)
    if found is None:
        return None
    file, node = found
    return source_of(file, node)._replace(code=node.name if hasattr(node, "name") else None)
