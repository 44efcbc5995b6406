"""Backward a second time through one graph, as a loop carries it into its next iteration: what to
detach, and where. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Set
from itertools import takewhile
from typing import Any, NamedTuple

from gradviz.graph.effects import WIPING
from gradviz.graph.facts import code_of, site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Node,
    Tensor,
)
from gradviz.names.frames import (
    bound_and_read,
    dropped,
    frames,
    keepers,
    list_of,
    names_in,
    place_at,
    place_of_keeper,
    variables_of,
    whole_code,
)
from gradviz.names.statements import source_of
from gradviz.why.rules.errors.detaching import each_of
from gradviz.why.rules.errors.failure import LINE, Failure, call_at, site_in_loop
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, several


class Carried(NamedTuple):
    """A tensor that a loop takes from one iteration into the next."""

    tensor: Tensor
    maker: Call
    reader: Call


def detach_dropped(failure: Failure) -> Explanation | None:
    """Tell that what a loop carries over was to be detached, and that nothing took the
    result."""
    drops = dropped_detach(failure, carries(failure))
    if failure.freed is None or not drops:
        return None
    node, earlier = failure.freed
    carried = carries(failure)[0]
    views = any(c.tensor.base_id is not None for c in carries(failure))
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "dropped_view" if views else "dropped",
        calls=[drops[0], carried.reader],
        also_at=[carried.maker],
        tensors=[c.tensor for c in carries(failure)],
        nodes=[node],
        names=failure.names(c.tensor for c in carries(failure)),
        node=failure.made_by(node),
        first=failure.written(failure.graph.call[earlier.call_id]),
        dropped=failure.written(drops[0]),
        on=dropped(drops[0]),
    )


def wiped_in_place(failure: Failure) -> Explanation | None:
    """Tell of a state that an in-place call was to reset, and that keeps the graph of the iteration
    before."""
    if failure.freed is None or failure.call is None or failure.run is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    met = failure.facts.reachable(failure.run.roots)
    for call in failure.calls_between(first, failure.call):
        if call.function not in WIPING or call.bookkeeping or not call.outputs:
            continue
        written = failure.graph.tensor[call.outputs[0]]
        edge = written.gradient_edge
        nexts = {e.next_node_id for e in failure.graph.edges_from.get(edge and edge.node_id, ())}
        if edge and edge.node_id in met and nexts & {*failure.facts.leading_to_freed}:
            return failure.answer(
                Cause.SECOND_BACKWARD,
                "wiped_in_place",
                calls=[call, failure.call],
                also_at=[first],
                tensors=[written],
                nodes=[node],
                name=failure.name(written),
                code=failure.code(call),
                node=failure.made_by(node),
                first=failure.written(first),
                second=failure.written(failure.call),
            )
    return None


def _earlier_through(failure: Failure, node: Node | None) -> Call | None:
    """Return the last backward of another loss that went through a write into a part."""
    if node is None or failure.run is None or node.name != "CopySlices":
        return None
    run = failure.run
    ran = [b for b in failure.graph.backwards if node.id in b.ran and b.run != run.run]
    if not ran or set(run.roots) <= set(ran[-1].ran):
        return None
    return failure.graph.call[ran[-1].call_id]


def kept_in_place(failure: Failure) -> Explanation | None:
    """Tell of tensors that results are written into, and that keep the history of each: a loss of
    the newest goes back through those that an earlier backward has freed."""
    node = failure.graph.node.get(failure.event.node_id if failure.event else None)
    maker, first = failure.maker(node), _earlier_through(failure, node)
    if node is None or maker is None or first is None or not maker.inputs:
        return None
    if not _writes_after(failure, first, failure.graph.tensor[maker.inputs[0]]):
        return None
    wholes = _written_into(failure)
    later = [call for whole in wholes for call in _writes_after(failure, first, whole)]
    later.sort(key=lambda call: call.id)
    names = failure.all_in_code(wholes)
    is_once = len(later) == len(wholes) and all(name.startswith("self.") for name in names)
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "kept_in_place_once" if is_once else "kept_in_place",
        calls=[*later[-len(wholes) :], failure.call],
        also_at=[maker, first],
        tensors=wholes,
        nodes=[node],
        names=failure.names(wholes),
        code=failure.code(later[0], LINE),
        first=failure.written(first),
        targets=", ".join(names),
        values=", ".join(f"{name}.detach()" for name in names),
    )


def _written_into(failure: Failure) -> list[Tensor]:
    """Return all that a backward meets as written into parts, and that an earlier backward has
    gone through."""
    met = failure.facts.reachable(failure.run.roots if failure.run else ())
    nodes = [failure.graph.node[n] for n in met]
    makers = [failure.maker(n) for n in nodes if _earlier_through(failure, n) is not None]
    known = sorted((m for m in makers if m and m.inputs), key=lambda call: call.id)
    wholes = [failure.graph.tensor[call.inputs[0]] for call in known]
    return list({whole.object_id: whole for whole in wholes}.values())


def _writes_after(failure: Failure, first: Call, whole: Tensor) -> list[Call]:
    """Return the calls after another that write into a tensor."""
    events = [e for e in failure.facts.writes if e.call_id > first.id]
    tensor = failure.graph.tensor
    ids = dict.fromkeys(
        e.call_id for e in events if tensor[e.after_id].object_id == whole.object_id
    )
    return [failure.graph.call[i] for i in ids]


def carried_over(failure: Failure) -> Explanation | None:
    """Tell what a loop carries over, and where to detach it."""
    if failure.freed is None or not carries(failure):
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    maker, reader = carries(failure)[0].maker, carries(failure)[0].reader
    bounds = bounds_in_loop(failure, carries(failure), first)
    names = [name for one in bounds for name in one.names]
    names = names or names_of_carried(failure, carries(failure))
    kept_at = bounds[0].place if bounds else place_of_keeping(failure, maker, names)
    values = detached(failure, names, carries(failure))
    here = bool(bounds) or read_again(failure, carries(failure), first)
    by_module = names[0].startswith("self.") and not _are_of_one_function(reader, failure.call)
    owner = stepping_module(failure, reader, first) if by_module and here else ""
    anew = kept_detached(kept_at, names, values)
    form = "carried_unnamed"
    if all(names):
        form = _form_of_carried(here=here, by_module=by_module, owner=owner, anew=anew)
    return failure.answer(
        Cause.SECOND_BACKWARD,
        form,
        calls=[kept_at or reader, *(one.place for one in bounds[1:])],
        also_at=[reader, maker],
        tensors=[c.tensor for c in carries(failure)],
        nodes=[node],
        names=names,
        code=failure.code(maker),
        node=failure.made_by(node),
        first=failure.written(first),
        targets=", ".join(names),
        values=", ".join(values),
        kept=several(values),
        anew=anew,
        owner=owner,
        reader=failure.written(_first_above(carries(failure))),
        begun=where_set(failure, names, f"{', '.join(names)} = {', '.join(values)}"),
        attribute=names[0].rpartition(".")[2],
        own_targets=", ".join(names).replace("self.", "m."),
        own_values=", ".join(values).replace("self.", "m."),
    )


def _are_of_one_function(one: Call, other: Call | None) -> bool:
    """Say whether two calls stand in one function: they know the same names."""
    scopes = [variables_of(frame) for call in (one, other) if call for frame in frames(call)[:1]]
    return len(scopes) == 2 and scopes[0] == scopes[1]


def _first_above(carried: list[Carried]) -> Call:
    """Return the uppermost statement that reads what is carried over."""
    places = [place_at(one.reader, 0) for one in carried]
    return min(places, key=lambda place: place.source.line if place.source else 0)


def where_set(failure: Failure, names: list[str], statement: str) -> Code:
    """Return a statement that detaches attributes, for where they are tensors, if the program gives
    one of them None or a number somewhere: as the first iteration has it."""
    attributes = {name.rpartition(".")[2] for name in names}
    nodes = failure.statements.nodes(ast.Assign) if failure.statements is not None else ()
    begun = [
        node.value.value
        for _, node in nodes
        if isinstance(node.value, ast.Constant)
        and any(getattr(target, "attr", "") in attributes for target in node.targets)
    ]
    if not begun:
        return Code(statement)
    is_none = all(value is None for value in begun)
    test = f"{names[0]} is not None" if is_none else f"torch.is_tensor({names[0]})"
    return Code(f"if {test}: {statement}")


def _form_of_carried(*, here: bool, by_module: bool, owner: str, anew: str) -> str:
    """Tell by which names something is carried over: the loop's, a module's, or one that only keeps
    it."""
    if owner:
        return "carried_in_steps"
    if here:
        return "carried_by_module" if by_module else "carried"
    return "carried_kept" if anew else "carried_elsewhere"


def read_again(failure: Failure, carried: list[Carried], first: Call) -> bool:
    """Say whether each line that reads something that is carried over reads it by its name, and
    the first of them is no other iteration's by then."""
    if failure.made_again(carried[0].maker, first, carried[0].reader):
        return False
    return all(
        carried_name(one.tensor, one.maker, one.reader) in names_in_code(one.reader)[1]
        for one in carried
    )


def kept_detached(place: Call | None, names: list[str], values: list[str]) -> str:
    """Return the statement that keeps what is carried over, with it detached: ``old = new`` as
    ``old = new.detach()``; "" for a statement of another kind."""
    code = place.source.code if place is not None and place.source is not None else None
    for name, value in zip(names, values, strict=False):
        target, _, kept = (code or "").partition(" = ")
        if kept.strip() == name and target.strip() != name:
            return Code(f"{target} = {value}")
    return ""


def stepping_module(failure: Failure, reader: Call, first: Call) -> str:
    """Return the name of the model a part of which carries something over, and runs more than once
    before each backward, for each step of a sequence: a detach in there cuts between the steps,
    too. "" where it runs once, or the name is not known."""
    last = failure.call
    between = failure.calls_between(first, last) if last is not None else []
    same = [c for c in between if (site_of(c), c.module) == (site_of(reader), reader.module)]
    is_in_steps = sum(code_of(c) == code_of(reader) for c in same) > 1  # in one call, or in several
    if reader.module_call is None or not is_in_steps:
        return ""
    *_, outermost = failure.facts.module_calls_around(reader.module_call)
    root = failure.facts.module_call[outermost].module_id
    name = next((m.name for m in failure.graph.modules if m.id == root), None) or ""
    return name if name.replace(".", "_").isidentifier() else ""


class BoundAt(NamedTuple):
    """A statement of a loop, and the names that it binds and the next iteration reads."""

    place: Call
    names: list[str]


def bounds_in_loop(failure: Failure, carried: list[Carried], first: Call) -> list[BoundAt]:
    """Return the statements of the loop that bind what is carried over to names that it reads
    again, that of what raised first; none where those of that are another iteration's by then."""
    found = list[BoundAt]()
    for one in carried:
        bound = _bound_in_loop(failure, one, carried, first)
        if bound is None and not found:
            return []
        known = {name for other in found for name in other.names}
        if bound is not None and known.isdisjoint(bound.names):
            found.append(bound)
    return found


def _bound_in_loop(
    failure: Failure, one: Carried, carried: list[Carried], first: Call
) -> BoundAt | None:
    """Return the statement of the loop that binds something that is carried over."""
    if failure.call is None or failure.made_again(one.maker, first, one.reader):
        return None
    bound = bound_and_read(one.maker, one.reader, failure.call)
    if bound is None or len(bound.names) > len(carried):
        return None
    of_others = _names_of_others(failure, one, bound.depth)
    if {*bound.names} <= of_others:  # what is read of that statement is another result
        own = [n for n in names_in(frames(one.maker)[bound.depth].code)[0] if n not in of_others]
        return _renamed(failure, one, own)
    return BoundAt(place_at(one.maker, bound.depth), bound.names)


def _names_of_others(failure: Failure, one: Carried, depth: int) -> set[str]:
    """Return what the code calls the other results of the statement at a depth of the frames that
    a carried tensor was made under, as far as they were made beside it."""
    statement = frames(one.maker)[depth][:2]
    before = failure.calls_before(one.maker)[::-1]
    after = [call for call in failure.graph.calls if call.id > one.maker.id]
    beside = [
        call
        for calls in (before, after)
        for call in takewhile(lambda c: any(f[:2] == statement for f in frames(c)), calls)
    ]
    made = (failure.graph.tensor[i] for call in beside for i in call.outputs)
    return {t.code_name or "" for t in made if t.object_id != one.tensor.object_id}


def _renamed(failure: Failure, one: Carried, own: list[str]) -> BoundAt | None:
    """Return the statement that gives what is carried over, bound to one of some names, another one
    that is read again: ``word = output``."""
    read = {name for frame in frames(one.reader) for name in names_in(frame.code)[1]}
    assignments = failure.statements.nodes(ast.Assign) if failure.statements is not None else ()
    for file, node in assignments:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        again = [name for name in names if name in read]
        if again and isinstance(node.value, ast.Name) and node.value.id in own:
            return BoundAt(call_at(source_of(file, node)), again)
    return None


def names_of_carried(failure: Failure, carried: list[Carried]) -> list[str]:
    """Return what the code calls each carried tensor, "" where it has no name there."""
    reader = carried[0].reader
    return list(dict.fromkeys(carried_name(c.tensor, c.maker, reader) for c in carried))


def dropped_detach(failure: Failure, carried: list[Carried]) -> list[Call]:
    """Return calls of detach() on everything that is carried whose results nothing takes; none
    where something is carried on which none was called."""
    found: dict[int, Call] = {}
    for call in failure.graph.calls:
        if call.function == "detach" and call.inputs and dropped(call):
            found[failure.graph.tensor[call.inputs[0]].object_id] = call
    objects = [c.tensor.object_id for c in carried]
    return [found[o] for o in objects] if found.keys() >= {*objects} else []


def place_of_keeping(failure: Failure, maker: Call, names: list[str]) -> Call | None:
    """Return the statement that keeps what a call made, under one of these names."""
    for frame, line, code in keepers(maker):
        if {*names} & names_in(code)[1] or list_of(code):
            return place_of_keeper(maker, frame, line, code)
    return None


class FromEarlier(NamedTuple):
    """What a backward met of earlier iterations that no statement of the loop carries over.

    Attributes:
        every: what was taken from before; not empty.
        node: the node that had given up what it saved.
        first: the earlier backward.
    """

    every: list[Carried]
    node: Node
    first: Call


def unbound_from_earlier(failure: Failure) -> FromEarlier | None:
    """Return what came from earlier iterations in another way than by a name that the loop binds;
    None where nothing did."""
    every = carries(failure)
    if failure.freed is None or not every:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    return None if bounds_in_loop(failure, every, first) else FromEarlier(every, node, first)


def carries(failure: Failure) -> list[Carried]:
    """Return what a loop takes from before the earlier backward into this one: an RNN's state,
    a running loss."""
    if failure.freed is None:
        return []
    first = failure.graph.call[failure.freed[1].call_id]
    return carried(failure, first, failure.facts.leading_to_freed)


def carried(failure: Failure, first: Call, wanted: Set[int | None]) -> list[Carried]:
    """Return what a loop carries over from before the earlier backward, in the order in which
    it is read: results of these nodes."""
    if failure.call is None or failure.run is None or not failure.in_a_loop(first, failure.call):
        return []
    met = failure.facts.reachable(failure.run.roots)
    ways_after = {failure.way_to(c) for c in failure.calls_between(first, failure.call)}
    carried: dict[Any, Carried] = {}  # by gradient edge
    for reader in repeated_readers(failure, first, failure.call, met):
        for tensor in (failure.graph.tensor[i] for i in reader.inputs):
            maker = maker_on_the_way(failure, tensor, wanted & met)
            if maker and maker.id < first.id and failure.way_to(maker) in ways_after:
                carried.setdefault(tensor.gradient_edge, Carried(tensor, maker, reader))
    return list(carried.values())


def repeated_readers(failure: Failure, first: Call, last: Call, met: set[int]) -> list[Call]:
    """Return the calls between two backwards whose nodes the second one meets, and whose line
    ran before the first one too."""
    on_the_way = {failure.graph.node[n].call_id for n in met}
    sites_before = {site_in_loop(c) for c in failure.calls_before(first)}
    between = failure.calls_between(first, last)
    return [c for c in between if c.id in on_the_way and site_in_loop(c) in sites_before]


def maker_on_the_way(failure: Failure, tensor: Tensor, nodes: Set[int | None]) -> Call | None:
    """Return the call that made a tensor, where it is a result of one of these nodes."""
    node = failure.graph.node.get(tensor.gradient_edge.node_id) if tensor.gradient_edge else None
    return failure.maker(node) if node is not None and node.id in nodes else None


def detached(failure: Failure, names: list[str], carried: list[Carried]) -> list[str]:
    """Return the code of each carried name without its graph; where nobody knows what it holds, by
    how many tensors are carried."""
    makers = {c.maker.id for c in carried}
    # one name for several results of one call
    packed = len(names) == len(makers) == 1 < len(carried)
    return [
        failure.detaching(name) or (each_of(name) if packed else f"{name}.detach()")
        for name in names
    ]


def carried_name(tensor: Tensor, maker: Call, reader: Call) -> str:
    """Return what the code calls a tensor that one call made and a later one reads; "" where it has
    no name there."""
    name = tensor.code_name
    bound = names_bound(maker, reader)
    read = names_in_code(reader)[1]
    both = [n for n in bound if n in read]
    if name in both:
        return name
    if len(both) == 1:
        return both[0]
    if not name and len(bound) == len(maker.outputs) and tensor.id in maker.outputs:
        return bound[maker.outputs.index(tensor.id)]
    return name


def names_bound(maker: Call, reader: Call) -> tuple[str, ...]:
    """Return the names that the code of a call binds; of the calls of one line, some have no
    code."""
    bound = names_in_code(maker)[0]
    if bound or not maker.source or not reader.source:
        return bound
    return names_in_code(reader)[0] if maker.source[:2] == reader.source[:2] else ()


def names_in_code(call: Call) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the names, attributes and items that the code of a call binds, from left to right, and
    those that it reads."""
    return names_in(whole_code(call) if call.source else "")
