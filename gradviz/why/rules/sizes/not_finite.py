"""NaN or inf in gradients or in the loss, and what made it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.preview import number
from gradviz.graph.records import Backward, Call, NodeKind
from gradviz.graph.training import line_of
from gradviz.names.written import Number
from gradviz.why.evidence.handed_on import plain_name
from gradviz.why.evidence.measured import Block, Step
from gradviz.why.evidence.softmaxes import SOFTMAX, masked_rows
from gradviz.why.rules.silent.silent import lines_once
from gradviz.why.rules.sizes.advice import QUOTIENTS, advice
from gradviz.why.rules.sizes.broken_derivative import Factor, Point, origin, point_of
from gradviz.why.rules.sizes.nan_before import had_broken_weights, nan_before
from gradviz.why.rules.sizes.nan_in_data import nan_in_data
from gradviz.why.rules.sizes.nan_in_own_backward import nan_in_own_backward
from gradviz.why.rules.sizes.read_values import made_in_forward
from gradviz.why.rules.sizes.rows_without_keys import rows_without_keys
from gradviz.why.rules.sizes.sizes import Sizes, title_of
from gradviz.why.rules.sizes.suspects import suspected, values, values_in_loss
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

NAN = Cause.NAN, "NaN"
INF = Cause.EXPLODING, "inf"
_INFINITE = re.compile(r"\binf(inity)?\b")
_UNSET = ("empty", "empty_like", "empty_strided", "new_empty")  # their values mean nothing


def broken(sizes: Sizes) -> Explanation | None:
    """Tell of NaN or inf in some gradients, and what made it."""
    bad = [b for b in sizes.blocks if b.broken]
    if not bad:
        return None
    cause, value = NAN if any(b.nan for b in bad) else INF
    broken = broken_words(sizes, bad, value)
    run = first_broken(sizes)
    if run is None:
        why = not_on_the_way(sizes, value)
        return sizes.answer(cause, "not_traced", broken=broken, why=why)
    if sizes.lost(run):
        return forward(sizes, cause, broken, run)
    return made(sizes, cause, broken, run, bad)


def broken_words(sizes: Sizes, bad: list[Block], value: str) -> str:
    """Say where the gradients are that are not finite: in modules, or at tensors of no
    module."""
    if sizes.returned is not None:
        return say("small.returned_broken", names=[b.name for b in bad], value=value)
    if all(b.name and not b.is_tensor for b in bad):
        names = [title_of(b) for b in bad]
        modules = len(sizes.blocks)
        return say("small.modules_broken", bad=len(bad), modules=modules, value=value, names=names)
    tensors = [
        (f"{b.name}.{name}" if b.name and not b.is_tensor else name, wrong, elements)
        for b in bad
        for name, wrong, elements in b.bad
    ]
    if len(tensors) > 1:
        return say("small.tensors_broken", names=[name for name, *_ in tensors], value=value)
    name, wrong, elements = tensors[0]
    return say("small.tensor_broken", name=name, wrong=wrong, elements=elements, value=value)


def first_broken(sizes: Sizes) -> Backward | None:
    """Return the last backward, where it broke gradients of a sound loss; else the first that
    did: a loss that was broken already may be so because of an earlier step."""
    seen = [r for r in sizes.runs if any(s.broken for s in sizes.steps.get(r.run, ()))]
    if not seen or sizes.run is None:
        return None
    is_sound = sizes.run in seen and not sizes.lost(sizes.run)
    return sizes.run if is_sound and not had_broken_weights(sizes, sizes.run) else seen[0]


def not_on_the_way(sizes: Sizes, value: str) -> str:
    """Say what is known where no gradient on the way was broken."""
    if sizes.ran and all(s.known for s in sizes.ran):
        return say("small.not_on_the_way", value=value)
    return say("small.not_measured")


def broken_loss(sizes: Sizes) -> Explanation | None:
    """Tell that the loss is NaN or inf, although no gradient is."""
    values = sizes.lost(sizes.run) if sizes.run else None
    if not values or sizes.run is None:
        return None
    cause, value = NAN if any(map(math.isnan, values)) else INF
    return forward(sizes, cause, say("small.loss_broken", value=value), sizes.run)


def forward(sizes: Sizes, cause: Cause, broken: str, run: Backward) -> Explanation:
    """Blame no derivative: name the first call with such a result, where results were read."""
    read = made_in_forward(sizes, cause, broken, run)
    return _forward_unread(sizes, cause, broken, run) if read is None else read


def _forward_unread(sizes: Sizes, cause: Cause, broken: str, run: Backward) -> Explanation:
    """Tell the same of a forward in which no such call was read."""
    nan = any(map(math.isnan, sizes.lost(run)))
    value = "NaN" if nan else "inf"
    call, made_it = first_result(sizes, run, math.isnan if nan else math.isinf)
    by_mask = None if made_it else _of_masked_rows(sizes, cause, broken, run, [], "")
    if by_mask is not None:
        return by_mask
    if call is None and (point := likely_point(sizes, run)) is not None:
        return likely_made(sizes, cause, broken, run, point, value)
    if call is None:
        why = say("small.made_in_forward", value=value)
        return sizes.answer(cause, "forward", broken=broken, why=sizes.in_backward(run, why))
    suspects = [] if made_it else _nearest_first(sizes, run, suspected(sizes, run, call))
    why = say(
        "small.made_by_call" if made_it else "small.seen_in_call",
        value=value,
        code=sizes.words.code(call),
    )
    codes = [sizes.words.code(c) for c in suspects]
    others = [say("small.suspects", codes=codes)] if codes else []
    suspects = _mended_first(sizes, suspects)
    advised = advice(sizes.facts, sizes.words, [*suspects, call])
    places = advised.calls if advised is not None else ()
    answer = sizes.answer(
        cause,
        "forward_call",
        calls=[*places, *suspects, call],
        sure=Sure.PROVEN if made_it else Sure.LIKELY,
        broken=broken,
        why=[sizes.in_backward(run, why), *others],
    )
    return answer if advised is None else answer._replace(mend=advised.mend)


def _mended_first(sizes: Sizes, suspects: list[Call]) -> list[Call]:
    """Return some calls with that one first, of the last ones, of which is known what keeps it
    finite."""
    is_known = [advice(sizes.facts, sizes.words, [call]) is not None for call in suspects]
    last = max((i for i, known in enumerate(is_known) if known), default=0)
    return [*suspects[last : last + 1], *suspects[:last], *suspects[last + 1 :]]


def _nearest_first(sizes: Sizes, run: Backward, suspects: list[Call]) -> list[Call]:
    """Return some calls without those that cannot be why the first derivative is not finite that
    the backward met, where one of them has that: only what its derivative is computed with can."""
    point = likely_point(sizes, run)
    breaking = None if point is None else point.call
    if breaking is None or line_of(breaking) not in {line_of(call) for call in suspects}:
        return suspects
    factors = [i for i in breaking.inputs if not sizes.graph.tensor[i].requires_grad]
    is_linear = plain_name(breaking.function) in QUOTIENTS and len(factors) == 1
    behind = sizes.facts.ancestors(factors if is_linear else breaking.inputs)
    return [
        call
        for call in suspects
        if line_of(call) == line_of(breaking) or not behind.isdisjoint(call.outputs)
    ]


def likely_made(
    sizes: Sizes, cause: Cause, broken: str, run: Backward, point: Point, value: str
) -> Explanation:
    """Tell where a forward of large tensors likely stopped being finite."""
    by_mask = _by_masked_rows(sizes, cause, broken, run, point)
    by_mask = by_mask or rows_without_keys(sizes, cause, broken, point)
    if by_mask is not None:
        return by_mask
    why = say("small.forward_likely", value=value, why=at_point(sizes, point))
    return sizes.answer(
        cause,
        "forward_call",
        nodes=[point.node.id],
        sure=Sure.LIKELY,
        broken=broken,
        why=[sizes.in_backward(run, why)],
    )


def first_result(
    sizes: Sizes, run: Backward, test: Callable[[float], bool]
) -> tuple[Call | None, bool]:
    """Return the first call on the way to a loss with such a result, and whether it is proven
    that this call made it."""
    behind = values_in_loss(sizes, run)
    all_read = True  # were all results of at most 8 elements so far?
    for call in sizes.graph.calls[: run.call_id]:
        if call.function in _UNSET:
            continue
        results = [values(sizes, i) for i in call.outputs if i in behind]
        if any(test(x) for values in results for x in values or ()):
            inputs = [values(sizes, i) for i in call.inputs]
            sound = all(values is not None and not any(map(test, values)) for values in inputs)
            return call, all_read and sound
        all_read = all_read and None not in results
    return None, False


def made(sizes: Sizes, cause: Cause, broken: str, run: Backward, bad: list[Block]) -> Explanation:
    """Blame the first node that got finite gradients and sent others."""
    step = first_maker(sizes, run, bad)
    if step is None:
        return not_traced(sizes, cause, broken, run)
    found = origin(sizes, run, step)
    if found.factor is not None:
        return by_factor(sizes, cause, broken, run, found.factor)
    if found.is_likely:
        return likely_made(sizes, cause, broken, run, point_of(sizes, found.step), value="NaN")
    return made_at(sizes, cause, broken, run, found.step, further_makers(sizes, run, bad, step))


def not_traced(sizes: Sizes, cause: Cause, broken: str, run: Backward) -> Explanation:
    """Tell where a gradient was first seen that is not finite, where what came before it was not
    measured; of a call that is known to make such ones what keeps it finite."""
    node = sizes.graph.node[_first_broken(sizes, run).event.node_id]
    call = sizes.graph.call.get(node.call_id)
    suspects = [] if call is None else [call]
    advised = advice(sizes.facts, sizes.words, suspects)
    answer = sizes.answer(
        cause,
        "not_traced",
        calls=suspects if advised is not None else [],
        nodes=[node.id] if advised is not None else [],
        broken=broken,
        why=sizes.in_backward(run, first_seen(sizes, run)),
    )
    return answer if advised is None else answer._replace(mend=advised.mend)


def first_maker(sizes: Sizes, run: Backward, bad: list[Block]) -> Step | None:
    """Return the first node that got finite gradients, sent others, and leads to what is
    broken."""
    ends = {n for b in bad for n in sizes.node.get(b.name, ())}
    for step in sizes.steps[run.run]:
        if not step.broken or not step.clean:
            continue
        if not ends or sizes.facts.reachable([step.event.node_id]) & ends:
            return step
    return None


def likely_point(sizes: Sizes, run: Backward) -> Point | None:
    """Return where a forward of large tensors likely stopped being finite: at the node whose
    derivative there is not finite."""
    step = first_maker(sizes, run, [])
    if step is None:
        return None
    found = origin(sizes, run, step)
    point = point_of(sizes, found.step)
    return point if found.factor is None and point.call is not None else None


def by_factor(
    sizes: Sizes, cause: Cause, broken: str, run: Backward, factor: Factor
) -> Explanation:
    """Blame what the gradient was multiplied by: the forward had made it, or was given it."""
    node = sizes.graph.node[factor.step.event.node_id]
    tensor_id = factor.tensor_id
    if factor.maker is not None and plain_name(factor.maker.function) in SOFTMAX:
        by_mask = _of_masked_rows(sizes, cause, broken, run, [node.id], "")
        if by_mask is not None:
            return by_mask
    name = say("small.other_factor") if tensor_id is None else sizes.words.name(tensor_id)
    why = say(
        "small.made_by_factor",
        node=node.name,
        factor=name,
        arrived=factor.step.arrived_words,
    )
    calls = [factor.maker] if factor.maker else []
    return sizes.answer(
        cause,
        "forward_call",
        calls=calls,
        nodes=[node.id],
        broken=broken,
        why=[sizes.in_backward(run, why)],
    )


def further_makers(sizes: Sizes, run: Backward, bad: list[Block], first: Step) -> list[Call]:
    """Return the other calls whose nodes got finite gradients, sent others, and lead to what is
    broken: of each line the first."""
    ends = {n for b in bad for n in sizes.node.get(b.name, ())}
    found = list[Call]()
    for step in sizes.steps[run.run]:
        call = sizes.graph.call.get(sizes.graph.node[step.event.node_id].call_id)
        is_other = step is not first and step.broken and step.clean and call is not None
        if is_other and (not ends or sizes.facts.reachable([step.event.node_id]) & ends):
            found += [call] if call is not None else []
    own = sizes.graph.call.get(sizes.graph.node[first.event.node_id].call_id)
    return [call for call in lines_once(found) if own is None or line_of(call) != line_of(own)]


def made_at(
    sizes: Sizes, cause: Cause, broken: str, run: Backward, step: Step, others: Sequence[Call]
) -> Explanation:
    """Blame the node that made what is not finite, and name the others that did so by
    themselves."""
    point = point_of(sizes, step)
    came = nan_before(sizes, cause, broken, point) or nan_in_data(sizes, cause, broken, point)
    came = came or rows_without_keys(sizes, cause, broken, point)
    came = came or nan_in_own_backward(sizes, cause, broken, point)
    if came is not None:
        return came
    why = [sizes.in_backward(run, why_broken(sizes, point))]
    if others:
        places = list(map(sizes.words.at, others))
        why.append(say("small.others_too", others=places, n=len(places)))
    nodes = [point.node.id]
    if (masked := _by_masked_rows(sizes, cause, broken, run, point)) is not None:
        return masked
    calls = _calls_told(point, others)
    if point.masked_by is not None and point.values:
        chooser = point.masked_by.function
        return sizes.answer(
            cause, "masked", calls=calls, nodes=nodes, broken=broken, why=why, chooser=chooser
        )
    answer = sizes.answer(
        cause,
        "divides" if point.divides else "node",
        calls=calls,
        nodes=nodes,
        broken=broken,
        why=why,
    )
    advised = advice(sizes.facts, sizes.words, [point.call] if point.call is not None else [])
    return answer if advised is None else answer._replace(mend=advised.mend)


def _calls_told(point: Point, others: Sequence[Call]) -> list[Call]:
    """Return the calls that are told beside a node: several, or one of the forward whose second
    derivative it is; none where the node tells of its own."""
    is_of_backward = point.call is not None and point.call.id != point.node.call_id
    told = (point.call, *others) if others or is_of_backward else ()
    return [call for call in told if call is not None]


def _by_masked_rows(
    sizes: Sizes, cause: Cause, broken: str, run: Backward, point: Point
) -> Explanation | None:
    """Blame a softmax whose input a mask filled with an infinity, where a softmax sent what is not
    finite: its derivative is finite wherever its result is."""
    function = plain_name(point.call.function) if point.call is not None else ""
    if function not in (*SOFTMAX, "cross_entropy") or point.values:
        return None
    seen = say(
        "small.got_and_sent",
        node=point.node.name,
        arrived=point.step.arrived_words,
        sent=point.step.sent_words,
    )
    return _of_masked_rows(sizes, cause, broken, run, [point.node.id], seen)


def _of_masked_rows(
    sizes: Sizes, cause: Cause, broken: str, run: Backward, nodes: list[int], seen: str
) -> Explanation | None:
    """Tell of a softmax on the way to a loss whose input a mask filled with an infinity."""
    behind = values_in_loss(sizes, run)
    before = [c for c in sizes.graph.calls[: run.call_id] if not c.bookkeeping]
    on_the_way = [c for c in before if c.function.endswith("_") or behind & {*c.outputs}]
    rows = masked_rows(sizes.facts, on_the_way, _infinite_names(sizes))
    if rows is None:
        return None
    softmax, mask = sizes.words.at(rows.softmax), sizes.words.at(rows.mask)
    why = say("small.softmax_before", code=softmax, mask=mask, seen=seen)
    answer = sizes.answer(
        cause,
        "forward_call",
        calls=[rows.mask, rows.softmax],
        nodes=nodes,
        sure=Sure.LIKELY,
        broken=broken,
        why=[sizes.in_backward(run, why)],
    )
    return answer._replace(mend=say("advice.masked_row", code=mask))


def _infinite_names(sizes: Sizes) -> set[str]:
    """Return the variables that the code gives an infinity."""
    return {
        target.id
        for _, node in sizes.statements.nodes(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and _INFINITE.search(ast.unparse(node.value))
    }


def why_broken(sizes: Sizes, point: Point) -> str:
    """Say how a node made what is not finite."""
    if point.node.kind is not NodeKind.CUSTOM_FUNCTION:
        return at_point(sizes, point)
    return say(
        "small.made_by_own_code",
        node=point.node.name,
        arrived=point.step.arrived_words,
        sent=point.step.sent_words,
    )


def at_point(sizes: Sizes, point: Point) -> str:
    """Say at which values of the forward a derivative is none, and what came of it."""
    chooser, function = point.masked_by, point.call.function if point.call else ""
    node, values = point.node.name, [number(x) for x in point.values]
    arrived, sent = point.step.arrived_words, point.step.sent_words
    if chooser is not None and values:
        return say(
            "small.masked_point",
            function=function,
            values=values,
            chooser=chooser.function,
            line=sizes.words.where(chooser),
            node=node,
            arrived=arrived,
            sent=sent,
        )
    if point.divides and (values or point.zeros):
        by = say("small.by_values", values=values) if values else say("small.by_zero")
        named = [
            say("small.is_zero", name=n.code, place=place_of(sizes, n, point.call))
            for n in point.zeros
        ]
        if named:
            by = say("small.by_named", by=by, named=named)
        return say("small.divides", by=by, node=node, arrived=arrived, sent=sent)
    if function in SOFTMAX and not values:
        return say("small.softmax", function=function, node=node, arrived=arrived, sent=sent)
    if not values:
        return say("small.made_by_derivative", node=node, arrived=arrived, sent=sent)
    return say(
        "small.at_point",
        function=function,
        values=values,
        node=node,
        arrived=arrived,
        sent=sent,
    )


def place_of(sizes: Sizes, found: Number, call: Call | None) -> str:
    """Say where a number was given, with the file where that is another."""
    same = call is not None and call.source is not None and call.source.file == found.file
    line = say("label.line", line=found.line)
    return line if same else f"{found.file} {line}"


def first_seen(sizes: Sizes, run: Backward) -> str:
    """Say where a gradient was first seen that is not finite."""
    steps, first = sizes.steps[run.run], _first_broken(sizes, run)
    before = steps[: steps.index(first)]
    node = sizes.graph.node[first.event.node_id].name
    if not first.sound and not before:
        return say("small.start_broken", arrived=first.arrived_words)
    if not first.sound and all(s.known for s in before):
        return say("small.arrived_broken", node=node, arrived=first.arrived_words)
    return say("small.first_seen", node=node)


def _first_broken(sizes: Sizes, run: Backward) -> Step:
    """Return the first node of a backward that sent a gradient which is not finite."""
    return next(step for step in sizes.steps[run.run] if step.broken)
