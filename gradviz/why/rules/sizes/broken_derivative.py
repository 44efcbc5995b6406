"""Where numbers stop being finite: the node behind NaN or inf, and the values of the forward at
which its derivative is none. Knows no torch."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradviz.graph.records import Backward, Call, Edge, Node
from gradviz.names.written import Number, numbers_read
from gradviz.why.evidence.measured import Measured, Step, all_finite, numbers
from gradviz.why.evidence.zero_flow import FACTORS
from gradviz.why.rules.sizes.read_values import at_node, call_of, values_of

_DIVISIONS = ("div", "true_divide", "divide", "__truediv__", "__itruediv__", "div_", "addcdiv")
# what torch does with a tensor inside of its own product
_SHAPING = re.compile(
    r"(T|Transpose|Permute|View|UnsafeView|Reshape\w*|Expand|Squeeze|Unsqueeze)Backward\d"
)
_CHOOSING = ("where", "masked_fill", "masked_select", "mul", "__getitem__", "masked_scatter")


class Point(NamedTuple):
    """The node that made what is not finite.

    Attributes:
        step: its run.
        node: itself.
        call: the call that made it; None where that was not recorded.
        values: what the forward gave that call at the elements that broke, each once; empty where
            it was not read.
        masked_by: the call that sent these elements a gradient of 0; None where they got another.
        divides: whether the values are what it divides by.
        zeros: plain numbers that are 0 in the statement.
    """

    step: Step
    node: Node
    call: Call | None
    values: tuple[float, ...]
    masked_by: Call | None
    divides: bool
    zeros: tuple[Number, ...]


class Factor(NamedTuple):
    """A factor that was not finite in the forward: what the node multiplied the gradient by.
    ``tensor_id`` is None where it was not recorded."""

    step: Step
    tensor_id: int | None
    maker: Call | None


class Origin(NamedTuple):
    """Where numbers stopped being finite.

    Attributes:
        step: the run of the node whose own derivative is not finite.
        factor: where there is no such node, what came into the forward like that.
        is_likely: whether the node is only the first one behind such a factor that did so: what it
            was given was not looked at.
    """

    step: Step
    factor: Factor | None = None
    is_likely: bool = False


def point_of(measured: Measured, step: Step) -> Point:
    """Return what is known of the node that got finite gradients and sent others."""
    node = measured.graph.node[step.event.node_id]
    call = measured.graph.call.get(node.call_id)
    bad = _broken_elements(step)
    read = at_node(measured, step.event.run, node.id)
    if read is not None and read.by_node_id is not None:
        call = call_of(measured, read)
    divides = call is not None and call.function in _DIVISIONS
    source = call.source if call else None
    written = numbers_read(source) if source else []
    zeros = [n for n in written if n.value == 0 and n.code[0].isalpha()]
    values = _values_at(measured, call, bad, divides=divides)
    masked = _masked(step, bad)
    if read is not None and not zeros:  # where a number is 0, that is why
        values = values or values_of(read, divides=divides)
        masked = masked or read.masked
    return Point(
        step,
        node,
        call,
        values,
        _chooser(measured, step, bad) if masked else None,
        divides,
        tuple(zeros),
    )


def origin(measured: Measured, run: Backward, step: Step) -> Origin:
    """Follow a product whose factor is not finite to the node that made this factor.

    Args:
        measured: the numbers.
        run: the backward.
        step: a node that got finite gradients and sent others.
    """
    steps = {s.event.node_id: s for s in measured.steps[run.run] if s.broken and s.clean}
    seen, is_likely = {step.event.node_id}, False
    while (edge := _factor_edge(measured, step)) is not None:
        behind = steps.get(-1 if edge.next_node_id is None else edge.next_node_id)
        if behind is None:
            behind, is_likely = _first_made(measured, edge, steps), True
        if behind is None or behind.event.node_id in seen:
            return Origin(step, _factor(measured, step, edge))
        seen.add(behind.event.node_id)
        step = behind
    return Origin(step, None, is_likely)


def _first_made(measured: Measured, edge: Edge, steps: Mapping[int, Step]) -> Step | None:
    """Return the step furthest from the loss, of those behind an edge, that got finite gradients
    and sent others: what is not finite there in the forward need not break each gradient on the
    way, since parts of it may be sent a 0 that a choice makes finite again."""
    if edge.next_node_id is None:
        return None
    found = steps.keys() & measured.facts.reachable([edge.next_node_id])
    return steps[max(found, key=[*steps].index)] if found else None


def _factor_edge(measured: Measured, step: Step) -> Edge | None:
    """Return the edge to the factor that must be NaN or inf, since a product of finite numbers is
    no NaN; None where the node is no product, or sent no NaN."""
    node_id = step.event.node_id
    slots = FACTORS.get(measured.graph.node[node_id].name, ())
    others = dict(zip(slots, slots[::-1], strict=True))
    edges = {e.next_index: e for e in measured.graph.edges_from.get(node_id, ())}
    for index, size in enumerate(step.sent):
        if size is not None and math.isnan(size) and others.get(index) in edges:
            return edges[others[index]]
    return None


def _factor(measured: Measured, step: Step, edge: Edge) -> Factor:
    """Return what is known of a factor that was not finite."""
    at: Edge | None = edge
    while at is not None:
        node_id = -1 if at.next_node_id is None else at.next_node_id
        tensor = measured.facts.first_at.get((node_id, at.input_nr))
        if tensor is not None:
            return Factor(step, tensor.id, measured.facts.maker.get(tensor.id))
        at = _laid_out_by(measured, node_id)
    tensor_id = _untracked_input(measured, step) if edge.next_node_id is None else None
    maker = None if tensor_id is None else measured.facts.maker.get(tensor_id)
    return Factor(step, tensor_id, maker)


def _untracked_input(measured: Measured, step: Step) -> int | None:
    """Return the only input of a product's call that takes no gradient; None of several."""
    call = measured.graph.call.get(measured.graph.node[step.event.node_id].call_id)
    tensor = measured.graph.tensor
    found = [i for i in call.inputs if tensor[i].requires_grad is False] if call else []
    return found[0] if len(found) == 1 else None


def _laid_out_by(measured: Measured, node_id: int) -> Edge | None:
    """Return the edge to whose values a node only gives another shape; None for other nodes."""
    node, edges = measured.graph.node.get(node_id), measured.graph.edges_from.get(node_id, ())
    return edges[0] if node and _SHAPING.fullmatch(node.name) and len(edges) == 1 else None


def _broken_elements(step: Step) -> list[int]:
    """Return which elements it sent that are not finite; nothing where they were not read."""
    for text in step.event.sent:
        sent = numbers(text or "") or []
        if not all_finite(sent):
            return [place for place, x in enumerate(sent) if not math.isfinite(x)]
    return []


def _values_at(
    measured: Measured, call: Call | None, places: Sequence[int], *, divides: bool
) -> tuple[float, ...]:
    """Return what a call got at these elements, each value once."""
    inputs = call.inputs if call else ()
    read = [numbers(measured.graph.tensor[i].values or "") for i in inputs]
    wanted = read[1:2] if divides and len(read) > 1 else read[:1]
    if not places or not wanted or wanted[0] is None:
        return ()
    values = wanted[0]
    if len(values) == 1:  # one number for all elements
        return tuple(values)
    if max(places) >= len(values):
        return ()
    return tuple(dict.fromkeys(values[place] for place in places))


def _masked(step: Step, places: Sequence[int]) -> bool:
    """Say whether all these elements got a gradient of 0."""
    arrived = numbers(step.event.arrived[0] or "") if len(step.event.arrived) == 1 else None
    if arrived is None or not places or max(places) >= len(arrived):
        return False
    return all(arrived[place] == 0 for place in places)


def _chooser(measured: Measured, step: Step, places: Sequence[int]) -> Call | None:
    """Return the call that chose elements, and from which alone a node gets its gradient: by
    itself, or through nodes that got a 0 there, too."""
    steps = {s.event.node_id: s for s in measured.steps.get(step.event.run, ())}
    node_id, seen = step.event.node_id, set[int]()
    while node_id not in seen:
        seen.add(node_id)
        senders = {e.node_id for e in measured.facts.edges_into.get(node_id, ())}
        if len(senders) != 1:
            return None
        (node_id,) = senders
        if node_id in steps and _masked(steps[node_id], places):
            continue  # the zero came from further up
        call = measured.graph.call.get(measured.graph.node[node_id].call_id)
        return call if call is not None and call.function in _CHOOSING else None
    return None
