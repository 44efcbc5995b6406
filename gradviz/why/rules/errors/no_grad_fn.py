"""What backward was called on has no grad_fn: where it was cut off, or that nothing was tracked.
Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
import re
from typing import Any

from gradviz.graph.facts import code_of, site_of
from gradviz.graph.findings import Cause, Sure
from gradviz.graph.flow import in_reentrant_checkpoint
from gradviz.graph.records import (
    Call,
    Cut,
    CutReason,
    NodeKind,
    Source,
    Tensor,
)
from gradviz.graph.redo import obstacles_after
from gradviz.graph.training import line_of
from gradviz.names.frames import (
    frames,
    keepers,
    names_in,
    place_at,
    place_of_keeper,
    whole_code,
)
from gradviz.names.position import callee_of
from gradviz.names.statements import source_of
from gradviz.why.code.rewritten import in_place
from gradviz.why.evidence.fixes import fix_alone, fix_on_the_way, fixes_of_refusing
from gradviz.why.evidence.messages import (
    asks_for_graph,
    is_wrapped_result,
    joined_instead,
    mend_of_inference,
    usual_repair,
)
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import BLOCKS, Explanation
from gradviz.words.speech import Code, say
from gradviz.words.words import reason_of

_FLOATS = ("float", "bfloat", "complex", "double", "half")
_LEAVING = frozenset({"item", "tolist", "numpy"})
_FROM_VALUES = ("tensor", "as_tensor", "asarray", "full", "scalar_tensor", "new_tensor", "new_full")


def start_unseen(failure: Failure) -> Explanation | None:
    """Tell that what backward was called on was not recorded."""
    if failure.root is not None and failure.graph.calls:
        return None
    return failure.answer(
        Cause.NO_GRAD_FN,
        "unseen",
        more=failure.unrecorded(say("unrecorded.cut")),
        start=failure.start,
    )


def rebound(failure: Failure) -> Explanation | None:
    """Tell of an update that gave the name of the leaf to a new tensor, which no gradient comes
    to."""
    for cut in failure.nearest_cuts:
        call = failure.graph.call[cut.call_id]
        statement = next((f.code for f in frames(call)[:1]), "") or code_of(call)
        if update := in_place(statement):
            name = re.split(r"\.copy_\(| [-+]= ", update)[0]
            return failure.answer(
                Cause.NO_GRAD_FN,
                "rebound",
                calls=[place_at(call, 0)],
                tensors=[failure.root],
                cuts=[cut],
                start=failure.start,
                code=Code(statement),
                name=Code(name),
                update=Code(update),
            )
    return None


def frozen_beside_new(failure: Failure) -> Explanation | None:
    """Tell of new layers that alone require grad, and that forward never calls: they were set under
    another name than that of the layers that it ends with."""
    cuts = failure.nearest_cuts
    trained = [name for name, on in failure.flags.items() if on]
    if not trained or not cuts or any(c.reason is not CutReason.FLAG_OFF for c in cuts):
        return None
    if failure.statements is None or failure.root is None:
        return None
    for attribute in dict.fromkeys(_layers_of(trained)):
        if _ran_in(failure, attribute):  # it is called, and its gradient is lost elsewhere
            continue
        for place, node in failure.statements.sets(attribute):
            used = _last_layer_used(failure)
            if used and used != attribute:
                target = ast.unparse(node.targets[0])
                owner = target.rpartition(".")[0]
                return failure.answer(
                    Cause.NO_GRAD_FN,
                    "beside_new",
                    calls=[call_at(place), *(failure.graph.call[c.call_id] for c in cuts)],
                    tensors=[failure.root],
                    cuts=cuts,
                    start=failure.start,
                    names=trained,
                    layer=Code(target),
                    used=Code(f"{owner}.{used}"),
                    mend=Code(f"{owner}.{used} = {ast.unparse(node.value)}"),
                )
    return None


def _ran_in(failure: Failure, attribute: str) -> bool:
    """Say whether a recorded call ran in a module that stands under an attribute."""
    paths = {call.module for call in failure.graph.calls if call.module}
    return any(attribute in path.split(".") for path in paths)


def _layers_of(parameters: list[str]) -> list[str]:
    """Return the attributes of a model on the paths of parameters, the outermost first."""
    return [part for name in parameters for part in name.split(".")[:-1] if part.isidentifier()]


def _last_layer_used(failure: Failure) -> str:
    """Return the attribute of the model that holds the last layer with parameters on the way to the
    root; "" where that is not known."""
    makers = (failure.facts.maker.get(i) for i in sorted(failure.behind_root, reverse=True))
    tensor = failure.graph.tensor
    frozen = {tensor[cut.input_id].object_id for cut in failure.nearest_cuts}
    for call in makers:
        if call and call.module and any(tensor[i].object_id in frozen for i in call.inputs[1:]):
            parts = [p for p in call.module.split(".") if not p.isdigit()]
            return parts[1] if len(parts) > 1 else parts[0] if parts else ""
    return ""


def kept_without_graph(failure: Failure) -> Explanation | None:
    """Tell of what a line computed while gradients were off, as for an evaluation, and left in an
    attribute, from which the loss takes it: with gradients on the same line would compute it
    anew."""
    kept = [(state, reader, _kept_in(failure, state)) for state, reader in _taken_over(failure)]
    found = [(reader, place) for _, reader, place in kept if place is not None]
    if not found or len(found) < len(kept):
        return None
    reader, (maker, keeper, name) = found[0]
    calls = list(dict.fromkeys([keeper, *(place[1] for _, place in found)]))
    return failure.answer(
        Cause.NO_GRAD_FN,
        "kept_without_graph",
        calls=calls,
        also_at=[maker, reader],
        tensors=[failure.root],
        cuts=failure.nearest_cuts,
        start=failure.start,
        kept=Code(name),
        keeper=failure.written(keeper),
        reader=failure.written(reader),
        again=_where_on_again(maker),
    )


def _where_on_again(maker: Call) -> str:
    """Say where gradients are on again, behind what switched them off for a call."""
    off = None if maker.source is None else maker.source.off
    return say("raised.before_training") if off is None else say("raised.below_block", line=off)


def _taken_over(failure: Failure) -> list[tuple[int, Call]]:
    """Return what was made while gradients were off and is read behind the root while they are on,
    with the first call that reads it."""
    facts, behind = failure.facts, failure.behind_root
    found = dict[int, Call]()
    for state in sorted(behind):
        maker = facts.maker.get(state)
        if maker is None or maker.grad_mode or not maker.inputs:
            continue
        for call in facts.calls_reading.get(state, ()):
            if call.grad_mode and not behind.isdisjoint(call.outputs):
                found.setdefault(state, call)
    return [*found.items()]


def _kept_in(failure: Failure, state: int) -> tuple[Call, Call, str] | None:
    """Return the call that made a state, the statement that keeps it in an attribute, and that;
    None where none does, or the same line did not run with gradients on as well."""
    maker = failure.facts.maker[state]
    ran = (c for c in failure.facts.ordinary_calls if c.grad_mode and c.id != maker.id)
    if not any(site_of(call) == site_of(maker) for call in ran):
        return None
    for frame, line, code in keepers(maker):
        names = [name for name in names_in(code)[0] if "." in name]
        if names:
            return maker, place_of_keeper(maker, frame, line, code), names[0]
    return None


def held_read_as_numbers(failure: Failure) -> Explanation | None:
    """Tell of what an optimizer holds and a call reads as a number, where all that was switched off
    behind the loss is what no optimizer holds, as a network that is to stay."""
    held = set[int]().union(*failure.optimizers)
    reasons = {c.reason for c in failure.nearest_cuts}
    frozen = {failure.graph.tensor[c.input_id].object_id for c in failure.nearest_cuts}
    if reasons != {CutReason.FLAG_OFF} or frozen & held:
        return None
    leaving = [c for c in failure.graph.cuts if c.output_id is None]
    cuts = [c for c in leaving if held & _objects_behind(failure, c)]
    return _told_of_numbers(failure, cuts) if cuts else None


def _told_of_numbers(failure: Failure, cuts: list[Cut]) -> Explanation:
    """Tell of calls that read as numbers what an optimizer is to move."""
    calls = (failure.graph.call[cut.call_id] for cut in cuts)
    places = {site_of(call): call for call in calls}
    leaves = {t.object_id: t for c in cuts for t in failure.facts.leaves_reached(c.input_id)}
    return failure.answer(
        Cause.NO_GRAD_FN,
        "held_read",
        calls=[*places.values()],
        tensors=[failure.root, *leaves.values()],
        cuts=cuts,
        sure=Sure.LIKELY,
        start=failure.start,
        names=failure.names(leaves.values()),
        codes=[failure.written(call) for call in places.values()],
        n=len(places),
    )


def _objects_behind(failure: Failure, cut: Cut) -> set[int]:
    """Return the leaves from which what a call cuts off was computed."""
    return {t.object_id for t in failure.facts.leaves_reached(cut.input_id)}


def cut_off(failure: Failure) -> Explanation | None:
    """Tell that cuts stand between the root and what requires grad."""
    cuts = failure.nearest_cuts
    if failure.root is None or not cuts:
        return None
    checkpoints = [c for c in cuts if in_reentrant_checkpoint(c, failure.graph)]
    cuts = _of_held(failure, _enough_alone(failure, cuts))
    cuts = _of_untrained(failure, cuts)
    blamed = checkpoints or cuts  # beside a checkpoint, what else is frozen may be meant
    calls = [failure.graph.call[i] for i in dict.fromkeys(c.call_id for c in blamed)]
    switch = _only_inference_mode(failure, blamed)
    wrapped = any(is_wrapped_result(c, failure.graph) for c in blamed)
    reasons = [say("gradient.checkpoint_result")] if wrapped else why_cut(failure, cuts)
    reasons = [say("raised.untracked_checkpoint")] if checkpoints else reasons
    if others := cuts_elsewhere(failure, failure.root, calls):
        reasons.append(say("raised.cut_before", n=others))
    return failure.answer(
        Cause.NO_GRAD_FN,
        "cut",
        calls=[*_switches_around(failure, blamed), *calls]
        if switch is None
        else [call_at(switch), *calls],
        tensors=[failure.root, *(failure.graph.tensor[c.input_id] for c in cuts)],
        cuts=cuts,
        start=failure.start,
        reasons=reasons,
        mends=mends_of(failure, blamed),
    )


def _of_held(failure: Failure, cuts: list[Cut]) -> list[Cut]:
    """Return the cuts behind which stands a leaf that an optimizer has, where there are some: what
    none is to move, as a teacher, is mostly cut off on purpose."""
    held, facts = set[int]().union(*failure.optimizers), failure.facts
    of_held = [c for c in cuts if held & {t.object_id for t in facts.leaves_reached(c.input_id)}]
    return of_held or cuts


def _enough_alone(failure: Failure, cuts: list[Cut]) -> list[Cut]:
    """Return the cuts of which each is enough to mend; all where none is: what is frozen under a
    ``no_grad`` would not be tracked, either, if it required grad."""
    if failure.root is None or len(cuts) < 2:
        return cuts
    roots = [failure.root.id]
    enough = [c for c in cuts if not obstacles_after(c, failure.facts, roots)]
    return enough or cuts


def _of_untrained(failure: Failure, cuts: list[Cut]) -> list[Cut]:
    """Return the cuts behind which stands a leaf that no backward brought a gradient, where there
    are some: what another loss trains is mostly let in as a number on purpose."""
    facts, trained = failure.facts, failure.facts.leaves_sent_to
    untrained = [
        c for c in cuts if any(t.object_id not in trained for t in facts.leaves_reached(c.input_id))
    ]
    return untrained or cuts


def mends_of(failure: Failure, cuts: list[Cut]) -> list[str]:
    """Say what to write instead of each cut; and where gradients are off around the backward too,
    that it may be the one that does not belong there."""
    root = failure.root
    freezing = _lines_freezing(failure, cuts)
    in_one = [say("mend.flag_off_in_one", lines=freezing)] if len(freezing) > 1 else []
    others = [c for c in cuts if not in_one or c.reason is not CutReason.FLAG_OFF]
    graph, roots = failure.graph, [root.id] if root else []
    mends = in_one + [
        _mend_of_switch(failure, c) or fix_on_the_way(c, graph, roots) for c in others
    ]
    mends += fixes_of_refusing(others, graph, roots)
    return list(dict.fromkeys([*mends, *_backward_out(failure, cuts)]))


def _backward_out(failure: Failure, cuts: list[Cut]) -> list[str]:
    """Say that the backward may not belong where gradients are off, if it stands under the same
    line as a cut; not where all of a step is called there."""
    off = [cut for cut in cuts if cut.reason in BLOCKS]
    sources = (failure.graph.call[cut.call_id].source for cut in off)
    lines = {source.off for source in sources if source is not None} - {None}
    here = failure.call.source if failure.call is not None else None
    if here is None or here.off not in lines or _is_meant_there(failure, off):
        return []
    return [say("mend.backward_out", line=here.off, backward=failure.written(failure.call))]


def _is_meant_there(failure: Failure, off: list[Cut]) -> bool:
    """Say whether a backward is known to be meant where gradients are off: a function with a
    decorator calls all of a step, or a forward differentiates what it computed itself."""
    if failure.call is None or not any(_call_that_trains(failure, cut) for cut in off):
        return False
    sources = [failure.graph.call[cut.call_id].source for cut in off]
    is_marked = any(s and s.off and _decorator_at(failure, s.file, s.off) for s in sources)
    return is_marked or failure.call.function == "autograd.grad"


def _lines_freezing(failure: Failure, cuts: list[Cut]) -> list[str]:
    """Return the lines that switched requires_grad off, each with what it froze."""
    frozen: dict[str, list[Tensor]] = {}
    for cut in cuts:
        if cut.reason is CutReason.FLAG_OFF:
            place = failure.words.where(failure.graph.call[cut.call_id])
            frozen.setdefault(place, []).append(failure.graph.tensor[cut.input_id])
    return [
        say("raised.frozen_line", place=place, names=[pattern(failure.names(tensors))])
        for place, tensors in frozen.items()
    ]


def _mend_of_switch(failure: Failure, cut: Cut) -> str:
    """Say how to switch gradients on again, where a statement of its own, or a decorator, switched
    them off."""
    source = failure.graph.call[cut.call_id].source
    if cut.reason is CutReason.INFERENCE_MODE:  # enable_grad does not lift it
        only = _only_inference_mode(failure, [cut])
        return "" if only is None else mend_of_inference(cut, failure.graph, only.line)
    if source is None or failure.statements is None:
        return ""
    if (inside := _call_that_trains(failure, cut)) is not None:
        return say("raised.enabled_around", code=failure.written(inside))
    if source.off is None:
        return ""
    if decorator := _decorator_at(failure, source.file, source.off):
        return say("raised.decorator_out", decorator=Code(f"@{decorator}"), line=source.off)
    found = failure.statements.at(source._replace(line=source.off, off=None))
    if found is None or found[1] != "set_grad_enabled" or found[0].code is None:
        return ""
    is_statement = found[0].code.lstrip().startswith(("torch.", "set_grad"))
    return say("raised.switch_on", line=source.off) if is_statement else ""


def _only_inference_mode(failure: Failure, cuts: list[Cut]) -> Source | None:
    """Return the one place in the user's code that switches inference mode on, where the line is
    not known that did so for some cuts: too many functions stand in between. None where there are
    several, or none."""
    calls = [failure.graph.call[cut.call_id] for cut in cuts]
    inside = [c for c in calls if c.inference_mode and c.source and c.source.off is None]
    if not inside or failure.statements is None:
        return None
    places = [
        source_of(file, node)._replace(code=ast.unparse(node))
        for file, node in failure.statements.nodes(ast.Call)
        if callee_of(node.func) == CutReason.INFERENCE_MODE.value
    ]
    return places[0] if len(places) == 1 else None


def _call_that_trains(failure: Failure, cut: Cut) -> Call | None:
    """Return the statement of a function whose decorator, or of a block whose head, switched
    gradients off, and that calls both what was cut and the backward, as ``loss = closure()`` in the
    step of an optimizer; None where one of them stands there itself."""
    call, backward = _last_switched_off(failure, cut), failure.call
    if call.source is None or backward is None:
        return None
    seen = backward.source if call.source.off is None else call.source
    if seen is None or seen.off is None:
        return None
    body = _switched_lines(failure, seen.file, seen.off)
    under = {frame[:2] for frame in frames(call)[1:]}
    scopes = {(frame.file, frame.scope) for frame in frames(call)[1:]}
    is_under = False  # both stand under a function that is called further out
    for depth, frame in enumerate(frames(backward)):
        is_here = depth and frame.file == seen.file and frame.line in body
        if is_here and (frame[:2] in under or is_under):
            return place_at(backward, depth)
        is_under = is_under or (frame.file, frame.scope) in scopes
    return None


def _last_switched_off(failure: Failure, cut: Cut) -> Call:
    """Return the call that made the root, where gradients were off from a cut to there, and the
    line is not known that switched them off for the cut: too many functions stand in between."""
    call = failure.graph.call[cut.call_id]
    maker = None if failure.root is None else failure.facts.maker.get(failure.root.id)
    if maker is None or call.source is None or call.source.off is not None:
        return call
    since = failure.calls_between(call, maker)
    return call if maker.grad_mode or any(c.grad_mode for c in since) else maker


def _switches_around(failure: Failure, cuts: list[Cut]) -> list[Call]:
    """Return the decorator under which all of a step is called, with the statement that calls it;
    none where no cut stands under such a one."""
    for cut in cuts:
        inside = _call_that_trains(failure, cut) if cut.reason in BLOCKS else None
        backward = failure.call.source if failure.call is not None else None
        if inside is None or inside.source is None or backward is None or backward.off is None:
            continue
        mark = _decorator_at(failure, backward.file, backward.off)
        if mark:
            here = Source(backward.file, backward.off, f"@{mark}")
            return [inside, call_at(here)]
    return []


def _switched_lines(failure: Failure, file: str, line: int) -> range:
    """Return the lines of the function, or of the block, whose decorator or head stands in a line
    of a file; none where it is something else."""
    if (found := _decorated_at(failure, file, line)) is not None:
        return range(found[0].lineno, found[0].end_lineno + 1)
    code = failure.statements
    blocks = () if code is None else code.nodes((ast.With, ast.AsyncWith))
    heads = [(f, node) for f, node in blocks if node.lineno == line]
    inside = [node for f, node in heads if source_of(f, node).file == file]
    return range(line + 1, inside[0].end_lineno + 1) if inside else range(0)


def _decorator_at(failure: Failure, file: str, line: int) -> str:
    """Return the code of the decorator in a line of a file; "" where none stands there."""
    found = _decorated_at(failure, file, line)
    return "" if found is None else ast.unparse(found[1])


def _decorated_at(failure: Failure, file: str, line: int) -> tuple[Any, ast.expr] | None:
    """Return the function with a decorator in a line of a file, and that decorator; None where none
    stands there."""
    code = failure.statements
    functions = () if code is None else code.nodes((ast.FunctionDef, ast.AsyncFunctionDef))
    for f, node in functions:
        for mark in node.decorator_list:
            if mark.lineno == line and source_of(f, mark).file == file:
                return node, mark
    return None


def why_cut(failure: Failure, cuts: list[Cut]) -> list[str]:
    """Say what was cut off, and what is frozen."""
    frozen = [failure.graph.tensor[c.input_id] for c in cuts if c.reason is CutReason.FLAG_OFF]
    severed = [c for c in cuts if c.reason is not CutReason.FLAG_OFF]
    if not severed:
        return [say("raised.frozen_there", names=failure.names(frozen))]
    sources = failure.names(failure.graph.tensor[c.input_id] for c in severed)
    reasons = list(dict.fromkeys(reason_of(c) for c in severed))
    sentences = [say("raised.cut_there", names=sources, reasons=reasons)]
    if frozen:
        sentences.append(say("raised.frozen_besides", names=failure.names(frozen)))
    return sentences


def cuts_elsewhere(failure: Failure, root: Tensor, calls: list[Call]) -> int:
    """Count the calls behind the root that cut something, at other places than these calls."""
    behind = failure.facts.ancestors([root.id])
    sites = {site_of(c) for c in calls}
    others = {c.call_id for c in failure.facts.real_cuts if c.output_id in behind}
    return sum(site_of(failure.graph.call[i]) not in sites for i in others)


def left_torch(failure: Failure) -> Explanation | None:
    """Tell of a cut on no way to the loss, and of a tensor of unknown origin after it, perhaps
    made from that value."""
    entries = entries_of_values(failure)
    last_entry = max((call_id for call_id, _ in entries), default=-1)
    cuts = [c for c in failure.graph.cuts if c.call_id < last_entry]
    if not cuts:
        return None
    cut = cuts[-1]
    entry_id = next(i for call_id, i in entries if call_id > cut.call_id)
    maker = failure.facts.maker.get(entry_id)
    joined = _joined_there(failure, cut) if cut.output_id is None else ""
    likely = bool(joined) or (cut.output_id is None and maker is not None)
    return failure.answer(
        Cause.NO_GRAD_FN,
        "left_likely" if likely else "left_possibly",
        calls=[failure.graph.call[cut.call_id], maker],
        tensors=[failure.root],
        cuts=(cut,),
        sure=Sure.LIKELY if likely else Sure.POSSIBLE,
        start=failure.start,
        source=failure.name(failure.graph.tensor[cut.input_id]),
        entry=failure.name(failure.graph.tensor[entry_id]),
        mend=joined or _mend_of_leaving(failure, cut, maker),
    )


def _names_computed_from(failure: Failure, tensor_id: int) -> set[str]:
    """Return the variables that hold what was computed from a tensor."""
    reached = {tensor_id}
    for call in failure.graph.calls:
        if not reached.isdisjoint(call.inputs):
            reached.update(call.outputs)
    return {failure.graph.tensor[i].code_name for i in reached} - {""}


def _names_leaving(failure: Failure) -> set[str]:
    """Return the variables whose numbers the program takes out of torch."""
    calls = failure.statements.nodes(ast.Call) if failure.statements is not None else ()
    methods = [node.func for _, node in calls if isinstance(node.func, ast.Attribute)]
    return {ast.unparse(m.value) for m in methods if m.attr in _LEAVING}


def _mend_of_leaving(failure: Failure, cut: Cut, maker: Call | None) -> str:
    """Say what to write where values left torch: of one that a cut stands before, that is to be
    mended first."""
    stay = usual_repair(CutReason.COPIED_OUT)
    if maker is None or cut.output_id is None or cut.reason is CutReason.COPIED_OUT:
        return stay
    if not _names_computed_from(failure, cut.output_id) & _names_leaving(failure):
        return stay
    then = say("mend.at", place=failure.words.where(maker), mend=stay)
    return say("mend.in_series", first=fix_alone(cut, failure.graph), others=[then])


def _joined_there(failure: Failure, cut: Cut) -> str:
    """Say how the tensors of a list are joined whose numbers were read where a tensor was made of
    them: ``torch.FloatTensor(values)``; "" where something else happened there."""
    call, tensor = failure.graph.call, failure.graph.tensor
    here = call[cut.call_id]
    cuts = failure.graph.cuts
    inside = [c for c in cuts if line_of(call[c.call_id]) == line_of(here)]
    read = {c.input_id: tensor[c.input_id] for c in inside if c.reason is cut.reason}
    return joined_instead(whole_code(here), [t.shape for t in read.values()])


def entries_of_values(failure: Failure) -> list[tuple[int, int]]:
    """Return (call that made or first read it, tensor) of what came from plain values or from
    nothing that was recorded, and went into the root."""
    entries: list[tuple[int, int]] = []
    for i in sorted(failure.behind_root):
        maker = failure.facts.maker.get(i)
        if maker and not maker.inputs and maker.function in _FROM_VALUES:
            entries.append((maker.id, i))
        elif i not in failure.facts.made_ids:  # from_numpy is not seen
            entries += [(c.id, i) for c in failure.facts.calls_reading.get(i, ())[:1]]
    return entries


def from_grad(failure: Failure) -> Explanation | None:
    """Tell that it was computed from what autograd.grad gave back without a graph."""
    calls = [failure.graph.call[b.call_id] for b in failure.graph.backwards if b.kind == "grad"]
    calls = [c for c in calls if failure.behind_root & {*c.outputs}]
    if failure.root is None or not calls:
        return None
    last = calls[-1]
    gradients = [failure.graph.tensor[i] for i in last.outputs if i in failure.behind_root]
    has_asked = asks_for_graph(last)
    own = _custom_functions(failure, last)
    form = "from_grad"
    if has_asked:
        form = "from_grad_own" if own else "from_grad_constant"
    return failure.answer(
        Cause.NO_GRAD_FN,
        form,
        calls=dict.fromkeys(
            [last, failure.call if has_asked else None, failure.facts.maker.get(failure.root.id)]
        ),
        tensors=[failure.root, *named_origins(failure)],
        start=failure.start,
        names=failure.names(gradients),
        functions=own,
    )


def _custom_functions(failure: Failure, call: Call) -> list[str]:
    """Return the custom Functions whose backward a call ran: that need not be recorded."""
    node = failure.graph.node
    ran = (node[n] for b in failure.graph.backwards if b.call_id == call.id for n in b.ran)
    names = (n.name for n in ran if n.kind is NodeKind.CUSTOM_FUNCTION)
    return [name.removesuffix("Backward") for name in dict.fromkeys(names)]


def untracked(failure: Failure) -> Explanation | None:
    """Tell that no cut leads to it: nothing that it was computed from required grad."""
    if failure.root is None:
        return None
    maker = failure.facts.maker.get(failure.root.id)
    leaves = wanted_leaves(failure)
    reasons = [why_untracked(failure, failure.root, maker)]
    if failure.graph.notes:
        reasons.append(say("raised.incomplete"))
    form = "untracked"
    if leaves:
        form = "untracked_one" if len(leaves) == 1 else "untracked_named"
    return failure.answer(
        Cause.NO_GRAD_FN,
        form,
        calls=[maker, *(failure.facts.first_maker.get(t.object_id) for t in leaves)],
        tensors=[failure.root, *named_origins(failure)],
        checked=("cut_recorded",) if maker and not failure.graph.notes else (),
        start=failure.start,
        reasons=reasons,
        wanted=failure.names(leaves),
        first=next(iter(failure.all_in_code(leaves)), ""),
    )


def wanted_leaves(failure: Failure) -> list[Tensor]:
    """Return what may be meant to get a gradient: of what the root was computed from, that whose
    .grad the program reads; else what was made of numbers in the program and can require grad."""
    origins = [t for t in named_origins(failure) if (t.dtype or "").startswith(_FLOATS)]
    statements = failure.statements
    nodes = [] if statements is None else statements.nodes(ast.Attribute)
    asked = {ast.unparse(node.value) for _, node in nodes if node.attr == "grad"}
    return [t for t in origins if t.code_name in asked] or origins


def why_untracked(failure: Failure, root: Tensor, maker: Call | None) -> str:
    """Say that nothing was tracked, and name what it was computed from."""
    if maker is None:
        return say("raised.older", root=failure.name(root))
    origins = failure.names(named_origins(failure))
    if not origins or not maker.inputs:
        return say("raised.nothing_tracked", root=failure.name(root))
    return say("raised.nothing_tracked_of", root=failure.name(root), names=origins)


def named_origins(failure: Failure) -> list[Tensor]:
    """Return what the root was computed from that has a name and was not computed itself."""
    makers = failure.facts.maker
    first = [
        failure.graph.tensor[i]
        for i in sorted(failure.behind_root)
        if i not in failure.facts.made_ids or (i in makers and not makers[i].inputs)
    ]
    return [t for t in first if t.name]
