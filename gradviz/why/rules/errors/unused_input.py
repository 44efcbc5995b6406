"""An input of autograd.grad that its output does not depend on. Plain data in and out, knows no
torch."""

from __future__ import annotations

import ast
import re
from typing import Any

from gradviz.graph.facts import site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Cut,
    Node,
    NodeKind,
    Source,
    Tensor,
)
from gradviz.names.frames import frames, names_in, place_at, variables_of
from gradviz.names.position import dotted
from gradviz.why.code.loop_names import loop_names_rebound
from gradviz.why.code.parts import Joined, asked_of_whole, joined_parts
from gradviz.why.evidence.fixes import fix_of
from gradviz.why.evidence.messages import asks_for_graph, number
from gradviz.why.rules.errors.failure import LINE, Failure, call_at
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

# what gives a tensor of the same values
COPIES = (
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
PARTS = (
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
    missed = _missed(failure)
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
    cut = _cut_before(failure, tensor)
    if cut is None:
        return None
    root, besides = failure.inputs[0], _cut_besides(failure, tensor, cut)
    return failure.answer(
        Cause.UNUSED_INPUT,
        "cut",
        calls=[failure.graph.call[c.call_id] for c in (cut, *besides.values())],
        tensors=[tensor, root],
        cuts=(cut, *besides.values()),
        name=name_of(failure, tensor),
        root=failure.name(root),
        reason=reason_of(cut),
        mends=[
            fix_of(cut, failure.graph, [root.id]),
            *(_mend_besides(failure, name, other, cut) for name, other in besides.items()),
        ],
    )


def _cut_before(failure: Failure, tensor: Tensor) -> Cut | None:
    """Return the last cut between the output and an input; None where there is none."""
    behind = failure.facts.ancestors([failure.inputs[0].id])
    cuts = [
        c
        for c in failure.graph.cuts
        if c.output_id in behind and tensor.id in failure.facts.ancestors([c.input_id])
    ]
    return cuts[-1] if cuts else None


def _cut_besides(failure: Failure, tensor: Tensor, cut: Cut) -> dict[str, Cut]:
    """Return the cuts at other lines before the other inputs that no path leads to, by the name of
    the input: once the first is mended, these raise."""
    call = failure.graph.call
    found = {cut: ""}
    for other in _missed(failure):
        before = _cut_before(failure, other) if other.object_id != tensor.object_id else None
        places = {site_of(call[c.call_id]) for c in found}
        if before is not None and site_of(call[before.call_id]) not in places:
            found[before] = name_of(failure, other)
    return {name: c for c, name in found.items() if name}


def _mend_besides(failure: Failure, name: str, other: Cut, first: Cut) -> str:
    """Say what to write for one more input that is cut off."""
    place = failure.written(failure.graph.call[other.call_id])
    root = [failure.inputs[0].id]
    mend, mend_first = (fix_of(c, failure.graph, root) for c in (other, first))
    if mend == mend_first:
        return say("raised.input_besides_alike", place=place, name=name)
    return say("raised.input_besides", place=place, name=name, mend=mend)


def _missed(failure: Failure) -> list[Tensor]:
    """Return the inputs to which no path leads."""
    reached = failure.facts.reachable(failure.run.roots if failure.run else ())
    return [
        t
        for t in wanted(failure)
        if t.requires_grad and not (t.gradient_edge and t.gradient_edge.node_id in reached)
    ]


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
    root, whole = failure.inputs[0], _whole_used(failure, tensor)
    if whole is None:
        return None
    joined, asked = _of_parts(failure), _of_whole(failure)
    form = "part_of_whole" if asked else "part_of_used"
    if joined is not None:
        form = "part_joined" if joined.is_above else "part_first"
    return failure.answer(
        Cause.UNUSED_INPUT,
        form,
        calls=[failure.call, failure.facts.maker.get(tensor.id)],
        tensors=[tensor, whole],
        name=name_of(failure, tensor),
        root=failure.name(root),
        whole=failure.name(whole),
        asked=Code(f"torch.autograd.grad({failure.in_code(root)}, {failure.in_code(whole)})[0]"),
        mends=asked,
        **({} if joined is None else _code_of(joined)),
    )


def _whole_used(failure: Failure, tensor: Tensor) -> Tensor | None:
    """Return what the output was computed from and a tensor is a part of; None where it was not
    only taken out of something."""
    used = failure.facts.ancestors([failure.inputs[0].id])
    makers, inside = failure.facts.maker, failure.graph.tensor
    between = failure.facts.ancestors([tensor.id]) - used
    known = [makers[i] for i in between if i in makers]
    whole = [i for m in known for i in m.inputs if i in used and inside[i].requires_grad]
    is_taken = all(call.function in PARTS for call in known)
    return inside[whole[0]] if whole and is_taken else None


def _asked_words(failure: Failure) -> tuple[str, str, Any] | None:
    """Return what the failing line calls what it differentiates and the one thing that it asks for,
    with its statement."""
    line = failure.failed
    calls = [] if line is None else [c for c in line.nodes(ast.Call) if len(c.args) > 1]
    statement = failure.statement
    if not isinstance(statement, ast.stmt) or not calls:
        return None
    root, asked = calls[0].args[:2]
    names = [n.id for n in ast.walk(root) if isinstance(n, ast.Name)]  # of u.sum() it is u
    word = dotted(root) or next(iter(names), "")
    return word, dotted(asked) or "", statement


def _of_parts(failure: Failure) -> Joined | None:
    """Return the statements by which something is computed from parts; None where these are not
    the whole together."""
    words, line = _asked_words(failure), failure.failed
    return joined_parts(words[1], words[0], words[2], line.value) if words and line else None


def _code_of(joined: Joined) -> dict[str, Any]:
    """Return the statements by which something is computed from parts, as what sentences name."""
    return {
        "parts": Code(joined.parts),
        "computes": Code(joined.computes),
        "anew": Code(joined.anew),
    }


def _of_whole(failure: Failure) -> list[str]:
    """Return what to write for each call that asks for the part, so that it asks for the whole."""
    words = _asked_words(failure)
    pairs = asked_of_whole(words[1], words[2]) if words else []
    return [say("raised.anew", anew=Code(anew), code=Code(code)) for code, anew in pairs]


def input_behind_a_gradient(failure: Failure) -> Explanation | None:
    """Tell of a gradient of ``autograd.grad``, through which alone the output was computed
    from the input: without a graph it is a number; with one it does not depend on the input."""
    tensor = unused(failure)
    if tensor is None:
        return None
    root, facts = failure.inputs[0], failure.facts
    used = facts.ancestors([root.id])
    runs = [b for b in failure.graph.backwards if b.kind == "grad"]
    for call in (failure.graph.call[b.call_id] for b in runs):
        is_between = not used.isdisjoint(call.outputs) and call is not failure.call
        if is_between and _is_behind(failure, tensor, call):
            given = [failure.graph.tensor[i] for i in call.outputs if i in used]
            return failure.answer(
                Cause.UNUSED_INPUT,
                "constant_derivative" if asks_for_graph(call) else "without_graph",
                calls=[call, failure.call],
                tensors=[tensor, root],
                name=name_of(failure, tensor),
                root=failure.name(root),
                names=failure.names(given),
                it=failure.in_code(tensor),
                code=failure.code(call, LINE),
                place=failure.words.where(call),
            )
    return None


def _is_behind(failure: Failure, tensor: Tensor, call: Call) -> bool:
    """Say whether what a call differentiated was computed from a tensor."""
    behind = failure.facts.ancestors(call.inputs[:1])
    return any(failure.graph.tensor[i].object_id == tensor.object_id for i in behind)


def input_asked_too_late(failure: Failure) -> Explanation | None:
    """Tell of what the output was computed from, and that was computed from the input before that
    was told to require grad."""
    tensor = unused(failure)
    if tensor is None or failure.call is None or not frames(failure.call):
        return None
    root, facts = failure.inputs[0], failure.facts
    used = facts.ancestors([root.id])
    states = facts.states.get(tensor.object_id, ())
    early = {t.id for t in states if t.id in used and t.requires_grad is False}
    readers = (c for i in sorted(early) for c in facts.calls_reading.get(i, ()))
    maker = next((c for c in readers if not used.isdisjoint(c.outputs) and c.outputs), None)
    switch = _switch_of(failure, tensor)
    if maker is None or switch is None or switch.id < maker.id:
        return None
    place = _outermost_making(failure, maker, failure.in_code(tensor))
    return failure.answer(
        Cause.UNUSED_INPUT,
        "asked_too_late",
        calls=[place, failure.call],
        also_at=[switch, maker],
        tensors=[tensor, root],
        name=name_of(failure, tensor),
        root=failure.name(root),
        code=failure.code(place, LINE),
        place=failure.words.where(place),
        switch=failure.written(switch),
    )


def _switch_of(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the last call that let a tensor require grad."""
    given = {t.id for t in failure.facts.states.get(tensor.object_id, ())}
    calls = [c for c in failure.graph.calls if c.function.startswith("requires_grad")]
    return next((c for c in reversed(calls) if given.intersection(c.inputs[:1])), None)


def _outermost_making(failure: Failure, maker: Call, name: str) -> Call:
    """Return the statement of the scope of the call that raised under which another call ran, as it
    can run once more; the call's own, where that statement would make the input anew."""
    scope = variables_of(frames(failure.call)[0]) if failure.call else None
    for depth, frame in enumerate(frames(maker)):
        if variables_of(frame) == scope and name not in names_in(frame.code)[0]:
            return place_at(maker, depth)
    return place_at(maker, 0)


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
    form = "copied" if original else "same_values"
    if twin is None:
        form = "unused_among" if len(wanted(failure)) > 1 else "unused"
    return failure.answer(
        Cause.UNUSED_INPUT,
        form,
        calls=[failure.call, failure.facts.maker.get(tensor.id) if twin else None],
        tensors=[tensor, twin or root],
        checked=() if failure.graph.notes else ("cut_recorded",),
        name=name_of(failure, tensor),
        root=failure.name(root),
        twin=failure.name(twin),
        values=tensor.values,
        names=[name_of(failure, t) for t in _missed_uncut(failure, tensor)],
    )


def _missed_uncut(failure: Failure, first: Tensor) -> list[Tensor]:
    """Return the inputs to which no path leads and that no cut keeps off, the one first of which
    torch's text tells."""
    others = {t.object_id: t for t in _missed(failure) if _cut_before(failure, t) is None}
    return [*{first.object_id: first, **others}.values()]


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
        copied = all(makers[i].function in COPIES for i in between if i in makers)
        if twin.id in behind and copied:
            return twin
    return None


def same_values_as(failure: Failure, tensor: Tensor, used: set[int]) -> Tensor | None:
    """Return a used tensor that has the values of this one, and was not asked for itself."""
    asked = {t.object_id for t in wanted(failure)}
    found = (t for t in twins(failure, tensor, used) if t.values is not None)
    return next((t for t in found if t.object_id not in asked), None)
