"""What a node had saved was written in place: by which call. Plain data in and out, knows no
torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from gradviz.graph.facts import code_of, site_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Node,
    Tensor,
)
from gradviz.graph.training import line_of
from gradviz.names.bindings import binder_before, scope_of, value_before
from gradviz.names.frames import (
    Scope,
    call_alone,
    frames,
    keepers,
    names_in,
    place_at,
    place_of_keeper,
    variables_of,
)
from gradviz.names.position import dotted
from gradviz.why.code.in_place import is_called_below, loop_over
from gradviz.why.evidence.messages import (
    Versions,
    versions,
)
from gradviz.why.rules.errors.carried_over import bounds_in_loop, carried, detached, where_set
from gradviz.why.rules.errors.detaching import each_of
from gradviz.why.rules.errors.failure import LINE, NAME, Failure, call_at
from gradviz.why.rules.errors.let_over_a_step import let_over_a_step
from gradviz.why.rules.errors.second_backward import (
    leaves_from,
    leaves_of_run,
    moved_between,
    objects,
    reader_of,
)
from gradviz.why.rules.errors.stale import (
    calls_that_wrote,
    is_update,
    saved_objects,
    stale_nodes,
    stopped_at,
)
from gradviz.why.rules.errors.writes_mended import mends_of_writes
from gradviz.why.shown.explanation import Explanation
from gradviz.words.plain import visible
from gradviz.words.speech import Code, say, several

_STEP = re.compile(r"\bstep\b")


def modified_in_place(failure: Failure) -> Explanation:
    """Tell that what a node had saved was written, by a call or by the step of an optimizer."""
    stale = versions(failure.text)
    node = stopped_at(failure, stale)
    saved = saved_objects(failure, node, stale) if node else []
    writers = calls_that_wrote(failure, saved, stale)
    first = writers[0] if writers else None
    fields: dict[str, Any] = {
        "writer": writer(failure, first) if first else say("raised.something"),
        "name": saved_name(failure, saved, stale),
        "reasons": why_stale(failure, node, saved, stale, writers),
    }
    is_apart = first is not None and not _is_written_beside(failure, first, node)
    if first is not None and is_apart and is_update(failure, first, saved):
        return stepped(failure, Update(first, writers, node, saved), fields)
    return failure.answer(
        Cause.MODIFIED_IN_PLACE,
        "written",
        calls=writers[:1],
        also_at=[*writers, failure.maker(node)],
        tensors=saved,
        nodes=[node] if node else [],
        more=failure.unrecorded(say("unrecorded.writer")),
        saver=node.name if node else say("raised.forward"),
        mends=mends_of_writes(failure, first, node, saved),
        **fields,
    )


def _is_written_beside(failure: Failure, first: Call, node: Node | None) -> bool:
    """Say whether one function, which did not call the backward, computed with a weight and then
    wrote it, as the forward of a layer that keeps a moving average: that line is no step that
    could come after the backward."""
    maker = failure.maker(node)
    calls = [call for call in (maker, first, failure.call) if call is not None]
    scopes = [variables_of(frame) for call in calls for frame in frames(call)[:1]]
    return len(scopes) == 3 and scopes[0] == scopes[1] != scopes[2]


class Update(NamedTuple):
    """Weights that were moved between a forward and its backward.

    Attributes:
        step: the first call that wrote them.
        writers: all that did.
        node: that had saved one of them.
        saved: which.
    """

    step: Call
    writers: list[Call]
    node: Node | None
    saved: list[Tensor]


def stepped(failure: Failure, update: Update, fields: dict[str, Any]) -> Explanation:
    """Tell of a step between a forward and its backward: what carries the old weights over it, or
    which lines belong below it."""
    step = update.step
    if (let_in := of_another(failure, update, fields)) is not None:
        return let_in
    state = carried_over_step(failure, step, update.node)
    made = None if state is None else failure.binding(state)
    freed = freed_besides(failure)
    lines = [] if made is not None else lines_between(failure, step, update.node)
    outside = [] if made is not None or lines else _lines_outside(failure, step, update.node)
    fields = {**fields, "step": _place_of_step(failure, step), "second": failure.code(failure.call)}
    loop = over_by_the_loop(failure, step)
    if loop is not None:
        form, made = "stepped_over", loop.place
        fields |= loop.words
    elif state is not None and made is not None:
        form = _form_of_state(failure, state, step, is_freed=bool(freed))
        form, made, added = over_by_its_name(failure, state, made, form)
        form, lines = _with_all_lines(failure, update, form)
        step, outside_of = _place_outside(failure, step)
        fields |= {**added, **outside_of}
    elif lines:
        form = _form_of_lines(failure, update)
        form = "stepped_lines_freed" if freed else form
    elif outside:
        form = "stepped_lines_alone"
        lines = outside
        step, added = _told_outside(failure, step)
        fields |= added
    else:
        form, added = alone(failure, update)
        fields |= added
    return failure.answer(
        Cause.MODIFIED_IN_PLACE,
        form,
        calls=[step, *(lines or filter(None, [made]))],
        also_at=[*update.writers, failure.maker(update.node)],
        tensors=[*update.saved, state],
        nodes=[update.node] if update.node else [],
        more=failure.unrecorded(say("unrecorded.writer")),
        lines=[failure.code(line, LINE) for line in lines],
        **{**fields, **freed},
    )


def of_another(failure: Failure, update: Update, fields: dict[str, Any]) -> Explanation | None:
    """Tell of a step that moved what another network made, where that comes into losses that are to
    train this one alone."""
    let_in = let_over_a_step(failure, update.step, update.node)
    if let_in is None:
        return None
    mends = [say("raised.backward_ends", edits=let_in.edits)]
    if len({failure.words.place(call) for call in update.writers}) == 1:
        mends.append(say("raised.step_below", step=_place_of_step(failure, update.step)))
    return failure.answer(
        Cause.MODIFIED_IN_PLACE,
        "stepped_let_in",
        calls=[update.step, *let_in.places],
        also_at=[*update.writers, failure.maker(update.node)],
        tensors=[*update.saved, *let_in.tensors],
        nodes=[update.node] if update.node else [],
        values=let_in.values,
        mends=mends,
        **fields,
    )


def _with_all_lines(failure: Failure, update: Update, form: str) -> tuple[str, list[Call]]:
    """Return the form in which a state is told that several lines computed with the old weights,
    and these lines; where one did, or it is told otherwise, the same form and none."""
    lines = lines_with_weights(failure, update.step, update.node)
    if form == "stepped_between" and len(lines) > 1:
        return "stepped_between_lines", lines
    return form, []


def _state_fields(failure: Failure, state: Tensor, made: Call) -> dict[str, Any]:
    """Return what is told of a state that carries old weights over a step."""
    value = failure.in_code(state)
    whole = value.partition("[")[0]  # an item of a tuple cannot be given another value
    value = whole if failure.detaching(whole) else value
    detached = failure.detaching(value) or f"{value}.detach()"
    return {
        "value": failure.name(state),
        "place": failure.words.where(made),
        "code": failure.code(made, LINE),
        "kept": Code(f"{value} = {detached}"),
    }


def _form_of_state(failure: Failure, state: Tensor, step: Call, *, is_freed: bool) -> str:
    """Tell how a state came over a step."""
    if is_made_in_each(failure, state, step):
        return "stepped_over"
    reader = reader_after(failure, state, step)
    if reader is not None and is_read_before(failure, reader, step):
        return "stepped_carried"
    return "stepped_between_freed" if is_freed else "stepped_between"


def alone(failure: Failure, update: Update) -> tuple[str, dict[str, Any]]:
    """Return the form in which a step is told beside which nothing can be moved, and its fields."""
    anew = computed_and_dropped(failure, update.step)
    if anew is not None:
        root = failure.graph.tensor[failure.call.inputs[0]] if failure.call else None
        code = "" if anew.source is None else anew.source.code or ""
        wanted = Code(f"{failure.in_code(root)} = {code}")
        return "stepped_dropped", {"dropped": failure.written(anew), "wanted": wanted}
    first = added_to(failure, update)
    if first is not None:
        added = {"first": failure.written(first), "again": _computed_again(failure, update)}
        return "stepped_added", added
    is_for_unknown = not failure.optimizers and _is_stepped_below(failure)
    is_used_up = _has_run_before(failure, update) or _is_stepped_again(failure, update.step)
    if is_for_unknown or is_used_up:
        return "stepped_again", {"again": _computed_again(failure, update)}
    return "stepped", {}


def _computed_again(failure: Failure, update: Update) -> str:
    """Say which lines compute the loss with the new weights; where these stand elsewhere, that it
    is to be computed anew."""
    lines = lines_with_weights(failure, update.step, update.node)
    if not lines:
        return say("raised.loss_anew", step=_place_of_step(failure, update.step))
    lines += [call for call in _renamings(failure, lines) if call not in lines]
    again = [failure.words.at(line, failure.code(line, LINE)) for line in lines]
    return say("raised.lines_again", lines=again, second=failure.code(failure.call))


def computed_and_dropped(failure: Failure, step: Call) -> Call | None:
    """Return the statement after a step that computes a loss of the same weights, beside the
    backward, and gives it no name."""
    last = failure.call
    if last is None or not last.inputs or not frames(last):
        return None
    root, scope = failure.graph.tensor[last.inputs[0]], variables_of(frames(last)[0])
    for call in failure.calls_between(step, last):
        is_loss = any(_is_another(failure, root, i) for i in call.outputs)
        place = _place_in(scope, call) if is_loss and not call.bookkeeping else None
        if place is not None and call_alone(code_of(place)) is not None:
            return place
    return None


def _is_another(failure: Failure, root: Tensor, tensor_id: int) -> bool:
    """Say whether a result that nothing reads looks like a loss: of its shape, and of one of its
    weights."""
    facts, tensor = failure.facts, failure.graph.tensor[tensor_id]
    if tensor_id in facts.read_ids or tensor.is_leaf or tensor.shape != root.shape:
        return False
    weights = objects(facts.leaves_reached(root.id))
    return not weights.isdisjoint(objects(facts.leaves_reached(tensor_id)))


def _has_run_before(failure: Failure, update: Update) -> bool:
    """Say whether a backward from the same tensor ran before a step: the step has used that
    gradient."""
    roots = () if failure.run is None else failure.run.roots
    return any(
        b.roots == roots and b.call_id < update.step.id for b in failure.graph.backwards if roots
    )


def _is_stepped_below(failure: Failure) -> bool:
    """Say whether a statement below the backward, in its scope, steps: that step is to use this
    gradient."""
    statement = failure.statement
    return isinstance(statement, ast.stmt) and is_called_below("step", statement)


def _is_stepped_again(failure: Failure, step: Call) -> bool:
    """Say whether the same optimizer steps again below the backward, in its scope."""
    statement = failure.statement
    called = code_of(step).partition("(")[0]
    is_known = isinstance(statement, ast.stmt) and called.endswith("step")
    return is_known and is_called_below(called, statement)


def _place_of_step(failure: Failure, step: Call) -> str:
    """Return what moved weights and where; of a line in a loop that goes over them the loop, as
    what is to be done before or after it is done once."""
    statement = failure.statement
    place = failure.failed.place if failure.failed else None
    if step.source is None or place is None or not isinstance(statement, ast.stmt):
        return failure.written(step)
    is_here = step.source.file == place.file
    loop = loop_over(step.source.line, statement) if is_here else None
    if loop is None or failure.failed is None:
        return failure.written(step)
    return say("raised.loop_at", place=failure.words.line_of(failure.failed.source(loop)))


def _form_of_lines(failure: Failure, update: Update) -> str:
    """Tell where the lines belong that computed a loss with weights that were moved since: below
    the step, where another one follows the backward, or the backward above it, where none does; of
    a step in another scope than the backward's that is not known."""
    places = frames(update.step)[:1], frames(failure.call)[:1] if failure.call else ()
    scopes = [variables_of(place[0]) for place in places if place]
    if len(scopes) < 2 or scopes[0] != scopes[1]:
        return "stepped_lines"
    return "stepped_moved" if _is_stepped_below(failure) else "stepped"


def added_to(failure: Failure, update: Update) -> Call | None:
    """Return the backward before a step to whose gradients this one's would be added, if it were
    called before that step, too: this one is to train what another optimizer has. None where it
    may be meant for the same step."""
    maker = failure.maker(update.node)
    if maker is None or failure.run is None:
        return None
    moved = moved_between(failure, maker)
    reached = objects(leaves_from(failure, failure.run.roots))
    is_for_others = any(held & reached and not held & moved for held in failure.optimizers)
    if not is_for_others:
        return None
    earlier = [b for b in failure.graph.backwards if maker.id < b.call_id < update.step.id]
    adding = [b for b in earlier if objects(leaves_of_run(failure, b)) & moved & reached]
    return failure.graph.call[adding[-1].call_id] if adding else None


class OverStep(NamedTuple):
    """A statement by which results come over a step.

    Attributes:
        place: the statement.
        words: what is told of it: its code, and how all that comes over is detached.
    """

    place: Call
    words: dict[str, Any]


def over_by_the_loop(failure: Failure, step: Call) -> OverStep | None:
    """Return the statement of a loop that binds all that an iteration takes from the one before
    over a step. None where the loop has no names for these."""
    earlier = [b for b in failure.graph.backwards if b.call_id < step.id]
    if not earlier or failure.run is None:
        return None
    first = failure.graph.call[earlier[-1].call_id]
    states = carried(failure, first, failure.facts.reachable(failure.run.roots))
    bounds = bounds_in_loop(failure, states, first)
    if not bounds:
        return None
    names, place = [name for bound in bounds for name in bound.names], bounds[0].place
    values = detached(failure, names, states)
    words = {
        "value": several(names),
        "place": failure.words.where(place),
        "kept": Code(f"{', '.join(names)} = {', '.join(values)}"),
    }
    return OverStep(place, words)


def over_by_its_name(
    failure: Failure, state: Tensor, made: Call, form: str
) -> tuple[str, Call, dict[str, Any]]:
    """Return the form in which a result that comes over a step is told, at which statement, and
    what is told of it: of one of the iteration before where its container is handed on, if it
    is."""
    words = _state_fields(failure, state, made)
    if form != "stepped_over":
        return form, made, words
    handed = handed_on(failure, state)
    if handed is not None:
        return "stepped_handed_on", handed.place, {**words, **handed.words}
    kept = kept_by_module(failure, state)
    if kept is not None:
        return "stepped_over_module", kept.place, {**words, **kept.words}
    return form, made, words


def kept_by_module(failure: Failure, state: Tensor) -> OverStep | None:
    """Return the statement of a module that reads its own attributes and binds them anew, each of
    which would bring an earlier iteration's graph: ``self.h, self.c = self.cell(x, self.h,
    self.c)``. None where it runs more than once before each backward, for each step of a sequence:
    a detach there would cut between the steps, too."""
    maker = failure.facts.maker.get(state.id)
    if maker is None or not _runs_once(failure, maker):
        return None
    for depth, frame in enumerate(frames(maker)):
        bound, read = names_in(frame.code)
        names = [name for name in bound if name in read and name.startswith("self.")]
        if not names:
            continue
        values = [_detached_in_module(failure, maker, name) for name in names]
        place = place_at(maker, depth)
        words = {
            "value": several(names),
            "place": failure.words.where(place),
            "code": failure.code(place, LINE),
            "kept": where_set(failure, names, f"{', '.join(names)} = {', '.join(values)}"),
        }
        return OverStep(place, words)
    return None


def _detached_in_module(failure: Failure, maker: Call, name: str) -> str:
    """Return the code that detaches an attribute of the module in whose forward a call ran, as that
    module writes it: by what the attribute holds, and where nobody knows that by what the call
    gave."""
    attribute = name.removeprefix("self")
    around = failure.facts.module_calls_around(maker.module_call)
    ids = {failure.facts.module_call[one].module_id for one in around}
    owners = [m.name for m in failure.graph.modules if m.id in ids and m.name]
    for owner in owners:
        code = failure.detaching(f"{owner}{attribute}")
        if code:
            return code.replace(f"{owner}{attribute}", name)
    return each_of(name) if len(maker.outputs) > 1 else f"{name}.detach()"


def _runs_once(failure: Failure, maker: Call) -> bool:
    """Say whether a line ran once between the backward below it and the call that raised."""
    earlier = [b.call_id for b in failure.graph.backwards if b.call_id > maker.id]
    if not earlier or failure.call is None:
        return False
    between = failure.calls_between(failure.graph.call[earlier[0]], failure.call)
    return sum(site_of(call) == site_of(maker) for call in between) == 1


def handed_on(failure: Failure, state: Tensor) -> OverStep | None:
    """Return the statement that hands the container of a result on: ``state = next_state``. None
    where the result has a name of its own there."""
    maker = failure.facts.maker.get(state.id)
    if maker is None:
        return None
    for frame, line, code in keepers(maker):
        target, _, kept = code.partition(" = ")
        whole = failure.detaching(kept) if kept.isidentifier() and target.isidentifier() else ""
        if whole and whole != f"{kept}.detach()":
            place = place_of_keeper(maker, frame, line, code)
            words = {"handed": Code(code), "kept": Code(f"{target} = {whole}")}
            return OverStep(place, words)
    return None


def freed_besides(failure: Failure) -> dict[str, Any]:
    """Return what to detach in an earlier loss whose backward has freed what this loss goes
    through, too: once it is computed anew, that would raise next. Nothing where nothing is
    freed."""
    facts = failure.facts
    if failure.run is None:
        return {}
    met = facts.reachable(failure.run.roots)
    every = {run for n in met for run in facts.runs_that_freed.get(n, ())}
    runs = every - {failure.run.run}
    earlier = next((b for b in failure.graph.backwards if runs and b.run == max(runs)), None)
    shared = [] if earlier is None else failure.shared(earlier.ran)
    first = None if earlier is None else failure.graph.call[earlier.call_id]
    reader = None if first is None else reader_of(failure, shared, None, first, into=first)
    if reader is None or first is None:
        return {}
    return {
        "detached": failure.detached_in(reader, shared),
        "shared": failure.names(shared),
        "freed_in": failure.code(reader, LINE),
        "first": failure.code(first),
    }


def reader_after(failure: Failure, state: Tensor, step: Call) -> Call | None:
    """Return the first call after a step that took a result into this loss."""
    roots = failure.call.inputs[:1] if failure.call else ()
    behind = failure.facts.ancestors(roots)
    readers = failure.facts.readers.get(state.object_id, ())
    later = (c for c in readers if c.id > step.id and not behind.isdisjoint(c.outputs))
    return next(later, None)


def is_made_in_each(failure: Failure, state: Tensor, step: Call) -> bool:
    """Say whether the line that made a result ran again after a step: then it is what the iteration
    before handed on."""
    maker = failure.facts.maker.get(state.id)
    if maker is None or failure.call is None:
        return False
    between = failure.calls_between(step, failure.call)
    return any(_is_made_alike(failure, call, maker) for call in between)


def _is_made_alike(failure: Failure, call: Call, maker: Call) -> bool:
    """Say whether a call is another run of one line of the loop: in the same module, as others of
    its class run the same lines."""
    of_module = failure.facts.module_call
    modules = [of_module.get(one.module_call) for one in (call, maker)]
    ids = {None if one is None else one.module_id for one in modules}
    return len(ids) == 1 and failure.way_to(call) == failure.way_to(maker)


def is_read_before(failure: Failure, reader: Call, step: Call) -> bool:
    """Say whether the line that takes a result ran before a step too: then the result is used in
    each iteration, and was made once."""
    before = failure.calls_before(step)
    return any(site_of(call) == site_of(reader) for call in before)


def lines_between(failure: Failure, step: Call, node: Node | None, depth: int = 0) -> list[Call]:
    """Return the statements above a step, beside the backward, that computed this loss with the
    weights that the step moved: they belong below it. None where one of them computed something for
    an earlier backward, too. By depth in the function that called the backward's, and so on."""
    last = failure.call
    if last is None or len(frames(last)) <= depth:
        return []
    lines = lines_with_weights(failure, step, node, depth)
    moved = {line.source.line: line for line in lines if line.source}
    earlier = (b.call_id for b in failure.graph.backwards if b.call_id < step.id)
    roots = [i for c in earlier for i in failure.graph.call[c].inputs[:1]]
    scope = variables_of(frames(last)[depth])
    used = _lines_making(failure, scope, failure.facts.ancestors(roots), step)
    return [] if moved.keys() & used.keys() else list(moved.values())


def lines_with_weights(
    failure: Failure, step: Call, node: Node | None, depth: int = 0
) -> list[Call]:
    """Return the statements above a step, in the scope of the backward, that computed this loss
    with the weights that the step moved."""
    last = failure.call
    if last is None or node is None or len(frames(last)) <= depth:
        return []
    behind = failure.facts.ancestors(last.inputs[:1])
    stale = {node.id, *stale_nodes(failure, failure.run.roots if failure.run else ())}
    leading = [
        t.id for t in failure.graph.tensors if t.id in behind and _leads_to(failure, t, stale)
    ]
    scope = variables_of(frames(last)[depth])
    lines = [*_lines_making(failure, scope, leading, step).values()]
    below = line_of(_place_in(scope, step) or step) or ("", 0)
    above = (c for c in _renamings(failure, lines) if (line_of(c) or below) < below)
    return [*lines, *above]


def _renamings(failure: Failure, lines: list[Call]) -> list[Call]:
    """Return the statements by which what some lines compute got the name that the backward is
    called on: ``loss = total``. Computed anew, it needs that name again."""
    name = None if failure.failed is None else failure.failed.owner_of("backward")
    bound = {word for line in lines for word in names_in(code_of(line))[0]}
    found = list[Call]()
    while failure.failed is not None and name is not None and dotted(name) not in bound:
        binder, value = binder_before(name), value_before(name)
        is_beside = binder is not None and scope_of(binder) is scope_of(name)
        if not is_beside or value is None or dotted(value) is None:
            return []
        found.insert(0, call_at(failure.failed.source(binder)))
        name = value
    return found


def _depth_of_difference(failure: Failure, step: Call) -> int:
    """Return how far outside of a helper a step and the backward stand at two statements, where
    both ran in that helper; 0 where they did not."""
    inner = frames(step), frames(failure.call) if failure.call else ()
    if not all(inner) or variables_of(inner[0][0]) != variables_of(inner[1][0]):
        return 0
    pairs = enumerate(zip(*inner, strict=False))
    depths = (d for d, (one, other) in pairs if d and one[:2] != other[:2])
    return next((d for d in depths if inner[0][d].scope == inner[1][d].scope), 0)


def _lines_outside(failure: Failure, step: Call, node: Node | None) -> list[Call]:
    """Return the statements that belong below a step which, like the backward, ran in a helper:
    where that is called."""
    depth = _depth_of_difference(failure, step)
    return lines_between(failure, step, node, depth) if depth else []


def _place_outside(failure: Failure, step: Call) -> tuple[Call, dict[str, Any]]:
    """Return where a step is told, and how: of one that ran in a helper, like the backward, the
    call of that helper."""
    if not _depth_of_difference(failure, step):
        return step, {}
    place, told = _told_outside(failure, step)
    return place, {"writer": told["writer"], "step": told["below"]}


def _told_outside(failure: Failure, step: Call) -> tuple[Call, dict[str, Any]]:
    """Return the call of a helper in which a step ran, and what is told of it: below the last one
    that moved what this loss was computed with."""
    depth, last = _depth_of_difference(failure, step), failure.call
    assert last is not None
    leaves = objects(leaves_from(failure, failure.run.roots if failure.run else ()))
    tensor = failure.graph.tensor
    writing = [e for e in failure.facts.writes if step.id <= e.call_id < last.id]
    moving = [e for e in writing if tensor[e.after_id].object_id in leaves]
    calls = [failure.graph.call[e.call_id] for e in moving if failure.facts.writes_memory(e)]
    alike = [c for c in calls if _depth_of_difference(failure, c) == depth]
    place, below = place_at(step, depth), place_at((alike or [step])[-1], depth)
    return place, {
        "writer": failure.code(place, LINE),
        "below": failure.written(below),
        "root": failure.name(tensor[last.inputs[0]]),
    }


def _lines_making(
    failure: Failure, scope: Scope, made: Iterable[int], step: Call
) -> dict[int, Call]:
    """Return the statements above a step, in a scope, under which tensors were made, by their
    line."""
    wanted, found = set(made), dict[int, Call]()
    for call in failure.calls_before(step):
        place = _place_in(scope, call) if not wanted.isdisjoint(call.outputs) else None
        if place is not None and place.source is not None:
            found.setdefault(place.source.line, place)
    return found


def _place_in(scope: Scope, call: Call) -> Call | None:
    """Return the statement of a scope under which a call ran."""
    found = (d for d, frame in enumerate(frames(call)) if variables_of(frame) == scope)
    depth = next(found, None)
    return None if depth is None else place_at(call, depth)


def carried_over_step(failure: Failure, step: Call | None, node: Node | None) -> Tensor | None:
    """Return the named result that was made before a step and that a call after it took into this
    loss, with the node that finds its tensor changed behind it."""
    facts, tensor = failure.facts, failure.graph.tensor
    if failure.call is None or step is None or node is None:
        return None
    behind = facts.ancestors(failure.call.inputs[:1])
    later = (c for c in facts.ordinary_calls if c.id > step.id and not behind.isdisjoint(c.outputs))
    read = (tensor[i] for call in later for i in call.inputs)
    old = (t for t in read if t.name and t.id in facts.maker and facts.maker[t.id].id < step.id)
    return next((t for t in old if _leads_to(failure, t, {node.id})), None)


def _leads_to(failure: Failure, state: Tensor, nodes: set[int]) -> bool:
    """Say whether a gradient from a result comes to one of some nodes."""
    edge = state.gradient_edge
    return edge is not None and not nodes.isdisjoint(failure.facts.reachable([edge.node_id]))


def why_stale(
    failure: Failure,
    node: Node | None,
    saved: list[Tensor],
    stale: Versions | None,
    writers: list[Call],
) -> list[str]:
    """Say what was saved at which version, and where else it was written."""
    saver = failure.made_by(node)
    name = saved_name(failure, saved, stale) if len(saved) == 1 else say("raised.it")
    if stale is None:
        return [say("raised.saved", node=saver, name=name)]
    at, now = stale.saved, stale.now
    sentences = [say("raised.saved_at", node=saver, name=name, saved=at, now=now)]
    places = {failure.words.place(call) for call in writers}
    if len(places) > 1:
        sentences.append(say("raised.written_besides", n=len(places) - 1))
    if failure.call and not writers:
        sentences.append(say("raised.write_unrecorded"))
    return sentences


def saved_name(failure: Failure, saved: list[Tensor], stale: Versions | None) -> str:
    """Return what was saved: one tensor, or those that cannot be told apart."""
    if len(saved) == 1:
        return failure.name(saved[0])
    if saved:
        return say("raised.one_of", names=failure.names(saved))
    if stale:
        return say("raised.tensor_of_shape", shape=stale.shape)
    return say("raised.a_tensor")


def writer(failure: Failure, call: Call) -> str:
    """Return what a call that wrote is called: of a module's the module, and its function."""
    if not call.module:
        return failure.code(call)
    module = visible(call.module, NAME)
    return say("raised.module_call", module=module, function=call.function)
