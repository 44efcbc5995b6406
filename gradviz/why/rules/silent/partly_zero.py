"""What is wrong with the numbers although a gradient arrives: a loss that gets probabilities in
place of scores, a tensor that was overwritten under its second name, elements that learn nothing.

Each function takes the question and the recording, and yields what it can prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, NodeKind
from gradviz.watch.identity import read
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.measured import numbers
from gradviz.why.rules.silent.silent import Silent
from gradviz.why.shown.explanation import Explanation

# whose slope is 0 on one side, or on both
_FLAT = ("relu", "relu6", "clamp", "clamp_min", "clamp_max", "clip", "hardtanh", "threshold")
_FLAT_BELOW_ZERO = ("relu", "relu6")


# --- elements that get no gradient ----------------------------------------------------------------


def partly_flat(silent: Silent) -> Iterator[Explanation]:
    """Tell of weights that go straight into relu or clamp, of which some elements lie on the
    flat side: these get a gradient of exactly 0, and stay."""
    live = {**silent.tensors, **silent.parameters}
    for name, tensor in live.items():
        # is_leaf of a view that requires grad can raise
        if not tensor.requires_grad or not read(partial(_has_gradient, tensor)):
            continue
        call = _flat_reader(silent, tensor) if _is_trained(silent, tensor) else None
        counts = read(partial(_zeros_where_flat, tensor)) if call else None
        if call is None or counts is None:
            continue
        zeros, below, total = counts
        if not 0 < zeros < total:
            continue
        one_sided = plain_name(call.function) in _FLAT_BELOW_ZERO
        if not (below == zeros if one_sided else _all_fed(silent, call)):
            continue
        yield silent.answer(
            Cause.PARTLY_ZERO,
            "flat",
            subject=name,
            calls=[call],
            zeros=zeros,
            total=total,
            function=plain_name(call.function),
        )
        return


def _has_gradient(tensor: torch.Tensor) -> bool:
    """Say whether a tensor is a leaf with a gradient."""
    return tensor.is_leaf and tensor.grad is not None


def _is_trained(silent: Silent, tensor: torch.Tensor) -> bool:
    """Say whether a leaf is a weight: of an input zeros are no fault."""
    object_id = silent.object_of(tensor)
    writes = silent.facts.writes_by_object.get(-1 if object_id is None else object_id, ())
    stepped = any(e.call_id not in silent.facts.backward_calls for e in writes)
    return stepped or isinstance(tensor, torch.nn.Parameter)


def _flat_reader(silent: Silent, tensor: torch.Tensor) -> Call | None:
    """Return the call of relu or clamp that alone sends a leaf its gradient; None where there is
    no such one."""
    object_id = silent.object_of(tensor)
    node = silent.facts.accumulate_node.get(-1 if object_id is None else object_id)
    last = silent.facts.runs_of_node.get(node, ()) if node is not None else ()
    if not last or node is None:
        return None
    of_run = {ran.node_id for ran in silent.facts.nodes_of_run.get(last[-1][1].run, ())}
    senders = {e.node_id for e in silent.facts.edges_into.get(node, ())} & of_run
    nodes = [silent.graph.node[i] for i in senders]
    if len(nodes) != 1 or nodes[0].kind is NodeKind.CUSTOM_FUNCTION:
        return None
    call = silent.graph.call.get(nodes[0].call_id)
    return call if call is not None and plain_name(call.function) in _FLAT else None


def _all_fed(silent: Silent, call: Call) -> bool:
    """Say whether every element of a call's result was seen to get a gradient that is not 0."""
    edges = [silent.graph.tensor[i].gradient_edge for i in call.outputs]
    runs = [silent.facts.runs_of_node.get(e.node_id, ()) for e in edges if e is not None]
    arrived = [numbers(run[-1][1].arrived[0] or "") for run in runs if run]
    return bool(arrived) and all(values is not None and all(values) for values in arrived)


def _zeros_where_flat(tensor: torch.Tensor) -> tuple[int, int, int] | None:
    """Count the elements whose gradient is 0, those of them that are not above 0, and all."""
    grad = tensor.grad
    if grad is None or grad.is_sparse or grad.shape != tensor.shape:
        return None
    zero = grad == 0
    return int(zero.sum()), int((zero & (tensor.detach() <= 0)).sum()), zero.numel()
