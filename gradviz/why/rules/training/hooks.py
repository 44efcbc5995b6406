"""Hooks that read a gradient too early, or change it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.preview import parts_of, unread
from gradviz.graph.records import Changed, Source
from gradviz.names.statements import (
    code_of_function,
    function_node,
    source_of,
    where_attribute_read,
)
from gradviz.watch import torch_private
from gradviz.why.explanation import Explanation
from gradviz.why.rules.silent.silent import Silent
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
        if not any(p.requires_grad for p in part.parameters(recurse=False)):
            continue
        for hook in torch_private.backward_hooks(part):
            code = code_of_function(hook)
            place = None if code is None else where_attribute_read(code, "grad")
            if code is not None and place is not None:
                yield name, code.co_name, place


# --- gradients that a hook changed ----------------------------------------------------------------


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
    """Say whether both what was sent and what arrived are known: of a sum of large gradients that
    several nodes sent, only the shape is."""
    both = [preview for preview in (event.before, event.after) if preview is not None]
    return all(not unread(preview) or parts_of(preview)[1] is not None for preview in both)


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
