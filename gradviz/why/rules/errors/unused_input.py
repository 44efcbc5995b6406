"""An input of autograd.grad that its output does not depend on. Plain data in and out, knows no
torch."""

from __future__ import annotations

import ast
import re

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Node,
    NodeKind,
    Source,
    Tensor,
)
from gradviz.why.code.loop_names import loop_names_rebound
from gradviz.why.evidence.fixes import fix_of
from gradviz.why.evidence.messages import (
    number,
)
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

_COPIES = (
    "clone",
    "detach",
    "to",
    "view",
    "contiguous",
    "float",
    "double",
    "reshape",
    "requires_grad_",
)


# what only takes a part of a tensor
_PARTS = (
    *("__getitem__", "unbind", "chunk", "split", "narrow", "select", "index_select", "squeeze"),
    *("unsqueeze", "__iter__", "slice", "tensor_split"),
)


def wanted(failure: Failure) -> list[Tensor]:
    """Return the inputs for which autograd.grad was asked."""
    return failure.inputs[len(failure.run.roots) :] if failure.run else []


def unused(failure: Failure) -> Tensor | None:
    """Return the input that torch's text names; without a number the only one that no path leads
    to."""
    index = number(failure.text, "index")
    if index is not None and index < len(wanted(failure)):
        return wanted(failure)[index]
    reached = failure.facts.reachable(failure.run.roots if failure.run else ())
    missed = [
        t
        for t in wanted(failure)
        if t.requires_grad and not (t.gradient_edge and t.gradient_edge.node_id in reached)
    ]
    return missed[0] if len(missed) == 1 else None


def name_of(failure: Failure, tensor: Tensor) -> str:
    """Return what an input is called: its place, where it has no name."""
    if not tensor.name:
        return say("raised.input", index=wanted(failure).index(tensor))
    return failure.name(tensor)


def input_unseen(failure: Failure) -> Explanation | None:
    """Tell that it was not recorded which input is not used."""
    if unused(failure) is not None:
        return None
    index = number(failure.text, "index")
    return failure.answer(
        Cause.UNUSED_INPUT,
        "unseen" if index is None else "unseen_numbered",
        more=failure.unrecorded(say("unrecorded.input")),
        index=index,
    )


def input_cut_off(failure: Failure) -> Explanation | None:
    """Tell that a cut stands between the output and the input."""
    tensor = unused(failure)
    if tensor is None:
        return None
    root = failure.inputs[0]
    behind = failure.facts.ancestors([root.id])
    cuts = [
        c
        for c in failure.graph.cuts
        if c.output_id in behind and tensor.id in failure.facts.ancestors([c.input_id])
    ]
    if not cuts:
        return None
    cut = cuts[-1]
    return failure.answer(
        Cause.UNUSED_INPUT,
        "cut",
        calls=[failure.graph.call[cut.call_id]],
        tensors=[tensor, root],
        cuts=(cut,),
        name=name_of(failure, tensor),
        root=failure.name(root),
        reason=reason_of(cut),
        mend=fix_of(cut, failure.graph, [root.id]),
    )


def input_beside(failure: Failure) -> Explanation | None:
    """Tell that the input is another result of the node from which the output was computed: of a
    compiled module, or of a Function."""
    tensor = unused(failure)
    edge = tensor.gradient_edge if tensor is not None else None
    node = failure.graph.node.get(edge.node_id) if edge is not None else None
    if tensor is None or edge is None or node is None or node.kind is NodeKind.ACCUMULATE_GRAD:
        return None
    root, maker = failure.inputs[0], failure.maker(node)
    start = root.gradient_edge
    begins = {start.output_nr} if start and start.node_id == node.id else set[int]()
    entered = begins | _entered(failure, node)
    if not entered or edge.output_nr in entered:
        return None
    return failure.answer(
        Cause.UNUSED_INPUT,
        "one_node_both" if begins else "one_node",
        calls=[maker, failure.call],
        tensors=[tensor, root],
        nodes=[node],
        name=name_of(failure, tensor),
        root=failure.name(root),
        node=node.name,
    )


def _entered(failure: Failure, node: Node) -> set[int]:
    """Return the results of a node for which the run that raised brings gradients to it."""
    return {
        e.input_nr
        for n in failure.facts.reachable(failure.run.roots if failure.run else ())
        for e in failure.graph.edges_from.get(n, ())
        if e.next_node_id == node.id
    }


def input_handed_to_a_loop(failure: Failure) -> Explanation | None:
    """Tell that a loop was to put the input into a model, and only gave its own variable another
    object."""
    tensor = unused(failure)
    if tensor is None or failure.statements is None:
        return None
    whole = re.split(r"[.\[]", tensor.name or "")[0]
    rebound = [
        found
        for found in loop_names_rebound(failure.statements)
        if whole and re.search(rf"\b{re.escape(whole)}\b", found.walked)
    ]
    if not rebound:
        return None
    found, root = rebound[-1], failure.inputs[0]
    answer = failure.answer(
        Cause.UNUSED_INPUT,
        "loop_name",
        calls=[failure.call],
        tensors=[tensor, root],
        name=name_of(failure, tensor),
        root=failure.name(root),
        whole=whole,
        variable=found.name,
        statement=found.statement.code,
        place=failure.words.line_of(found.statement),
    )
    return answer._replace(lines=(*lines_of([], [found.statement]), *answer.lines))


def input_beside_used_ones(failure: Failure) -> Explanation | None:
    """Tell of parameters in a list of many of which the output uses the others: a part of the model
    has no part in this loss."""
    tensor = unused(failure)
    if tensor is None:
        return None
    used = failure.facts.ancestors([failure.inputs[0].id])
    objects = {failure.graph.tensor[i].object_id for i in used}
    named = {t.code_name: t.object_id in objects for t in wanted(failure) if "." in t.code_name}
    part = _part_without_use(tensor.code_name, named)
    if not part or not any(named.values()):
        return None
    model, _, path = part.partition(".")
    return failure.answer(
        Cause.UNUSED_INPUT,
        "part_of_model",
        calls=[failure.call],
        also_at=map(call_at, _listing(failure)),
        tensors=[tensor, failure.inputs[0]],
        name=name_of(failure, tensor),
        root=failure.name(failure.inputs[0]),
        part=Code(part),
        wanted=Code(say("raised.parameters_but", model=model, path=path)),
    )


def _part_without_use(name: str, named: dict[str, bool]) -> str:
    """Return the outermost module on the path of a parameter of which the output uses no parameter;
    "" where there is none.

    >>> _part_without_use("net.b.fc.weight", {"net.a.weight": True, "net.b.fc.weight": False})
    'net.b'
    """
    parts = name.split(".")
    for depth in range(2, len(parts)):
        module = ".".join(parts[:depth])
        if not any(is_used for n, is_used in named.items() if n.startswith(f"{module}.")):
            return module
    return ""


def _listing(failure: Failure) -> list[Source]:
    """Return the statements that made the list of what autograd.grad was asked for."""
    line = failure.failed
    calls = [] if line is None else [c for c in line.nodes(ast.Call) if len(c.args) > 1]
    if line is None or not calls:
        return []
    behind = line.behind(calls[0].args[1])
    return [s.source for s in behind if "parameters()" in (s.source.code or "")][:1]


def input_part_of_used(failure: Failure) -> Explanation | None:
    """Tell of a part that was taken out of what the output was computed from, beside it."""
    tensor = unused(failure)
    if tensor is None:
        return None
    root = failure.inputs[0]
    used = failure.facts.ancestors([root.id])
    makers, inside = failure.facts.maker, failure.graph.tensor
    between = failure.facts.ancestors([tensor.id]) - used
    whole = [
        inside[i]
        for m in (makers.get(b) for b in between)
        if m is not None
        for i in m.inputs
        if i in used and inside[i].requires_grad
    ]
    is_taken = all(makers[i].function in _PARTS for i in between if i in makers)
    if not whole or not is_taken:
        return None
    return failure.answer(
        Cause.UNUSED_INPUT,
        "part_of_used",
        calls=[failure.call, makers.get(tensor.id)],
        tensors=[tensor, whole[0]],
        name=name_of(failure, tensor),
        root=failure.name(root),
        whole=failure.name(whole[0]),
        asked=Code(f"torch.autograd.grad({failure.in_code(root)}, {failure.in_code(whole[0])})[0]"),
    )


def input_of_another(failure: Failure) -> Explanation | None:
    """Tell that the output was not computed from it, but perhaps from a twin of it."""
    tensor = unused(failure)
    if tensor is None:
        return None
    root = failure.inputs[0]
    used = failure.facts.ancestors([root.id])
    if (in_memory := _in_memory_of(failure, tensor, used)) is not None:
        return failure.answer(
            Cause.UNUSED_INPUT,
            "in_memory" if in_memory.requires_grad else "in_memory_of_untracked",
            calls=[failure.call],
            tensors=[tensor, in_memory],
            name=name_of(failure, tensor),
            root=failure.name(root),
            twin=failure.name(in_memory),
        )
    original = original_of(failure, tensor, used)
    twin = original or same_values_as(failure, tensor, used)
    return failure.answer(
        Cause.UNUSED_INPUT,
        "copied" if original else "same_values" if twin else "unused",
        calls=[failure.call, failure.facts.maker.get(tensor.id) if twin else None],
        tensors=[tensor, twin or root],
        checked=() if failure.graph.notes else ("cut_recorded",),
        name=name_of(failure, tensor),
        root=failure.name(root),
        twin=failure.name(twin),
        values=tensor.values,
    )


def _in_memory_of(failure: Failure, tensor: Tensor, used: set[int]) -> Tensor | None:
    """Return a used tensor in whose memory this one lies, as a leaf of its own: what
    ``Variable(x, requires_grad=True)`` or ``x.detach().requires_grad_()`` gives."""
    if tensor.storage_id is None or tensor.is_leaf is not True:
        return None
    sharing = failure.facts.in_memory.get(tensor.storage_id, ())
    others = (t for t in sharing if t.id in used and t.shape == tensor.shape)
    return next((t for t in others if t.object_id != tensor.object_id), None)


def twins(failure: Failure, tensor: Tensor, used: set[int]) -> list[Tensor]:
    """Return other tensors that were used and have its shape and values."""
    return [
        t
        for t in failure.graph.tensors
        if t.id in used
        and t.shape == tensor.shape
        and t.values == tensor.values
        and t.object_id != tensor.object_id
    ]


def original_of(failure: Failure, tensor: Tensor, used: set[int]) -> Tensor | None:
    """Return a used tensor that this one is a copy of."""
    behind = failure.facts.ancestors([tensor.id])
    makers = failure.facts.maker
    for twin in twins(failure, tensor, used):
        between = behind - failure.facts.ancestors([twin.id])
        copied = all(makers[i].function in _COPIES for i in between if i in makers)
        if twin.id in behind and copied:
            return twin
    return None


def same_values_as(failure: Failure, tensor: Tensor, used: set[int]) -> Tensor | None:
    """Return a used tensor that has the values of this one."""
    return next((t for t in twins(failure, tensor, used) if t.values is not None), None)
