"""A write in place through a view whose history autograd cannot rewrite: which views one call made
together, and what to write for each. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source, Tensor
from gradviz.names.bindings import scope_of
from gradviz.names.position import dotted
from gradviz.why.code.by_index import Indexed, written_by_index
from gradviz.why.code.in_place import (
    Write,
    is_read_below,
    statement_binding,
    targets_of,
    writes_into,
    written_in,
)
from gradviz.why.evidence import messages
from gradviz.why.evidence.zero_flow import HOOK
from gradviz.why.rules.errors.about_an_input import anew, blamed, fields, switch_of
from gradviz.why.rules.errors.failure import LINE, Failure, call_at, runs_in
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def of_function(failure: Failure) -> Explanation | None:
    """Tell of a write in place into what a custom Function returned as it was given."""
    tensor = blamed(failure, Cause.VIEW_IN_PLACE)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    if tensor is None or maker is None or not maker.function.endswith(".apply"):
        return None
    same = [t for t in map(failure.graph.tensor.get, maker.inputs) if t and _is_view_of(tensor, t)]
    if not same:
        return None
    of_hook = maker.function.startswith(HOOK)
    made = map(call_at, [*_made_in_place(failure), *_hook_set(failure)]) if of_hook else ()
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "of_hook" if of_hook else "of_function",
        calls=[*made, maker, failure.call],
        tensors=[tensor, same[0]],
        code=failure.code(failure.call) or say("raised.call"),
        function=maker.function.removesuffix(".apply"),
        anew=anew(failure),
        input=failure.name(same[0]),
    )


def _made_in_place(failure: Failure) -> list[Source]:
    """Return where the layer is made that writes in place, in the statement of a constructor."""
    path = (failure.call.module or "").split(".") if failure.call is not None else []
    attribute = next((part for part in reversed(path) if part.isidentifier()), "")
    sets = [] if failure.statements is None else failure.statements.sets(attribute)
    for place, node in sets if len(sets) == 1 else ():
        value = node.value
        parts = value.args if isinstance(value, ast.Call) and path[-1].isdigit() else [value]
        number = int(path[-1]) if path[-1].isdigit() else 0
        if number < len(parts) and "inplace=True" in ast.unparse(parts[number]):
            layer = parts[number]
            return [place._replace(line=layer.lineno, code=ast.unparse(layer))]
    return []


def _hook_set(failure: Failure) -> list[Source]:
    """Return the only statement of the program that sets a backward hook on a module."""
    code = failure.statements
    calls = [] if code is None else code.calls("register_full_backward_hook")
    return [calls[0][0]] if len(calls) == 1 else []


def _is_view_of(tensor: Tensor, other: Tensor) -> bool:
    """Say whether a tensor has the memory and the shape of another one."""
    alike = (tensor.storage_id, tensor.shape) == (other.storage_id, other.shape)
    return alike and tensor.storage_id is not None


def iterated(failure: Failure) -> Explanation | None:
    """Tell of a loop over a tensor that writes in place into its parts: all of them are made in one
    call, and one by its index is not."""
    tensor = blamed(failure, Cause.VIEW_IN_PLACE)
    base = failure.graph.tensor.get(tensor.base_id) if tensor else None
    write = None if tensor is None else _write_in_a_loop(failure, tensor)
    if tensor is None or base is None or write is None:
        return None
    if base.is_leaf and base.requires_grad:  # none of its views may be written
        return None
    above = write.above
    if failure.is_saved(base):  # as a sigmoid keeps its result: a copy of it can be written
        above = f"{above or f'{write.whole} = {write.whole}'}.clone()"
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "iterated_call" if above else "iterated",
        calls=[failure.facts.maker.get(tensor.id), failure.call],
        tensors=[tensor, base],
        code=failure.code(failure.call) or say("raised.call"),
        part=failure.in_code(tensor),
        whole=Code(write.whole),
        above=Code(above),
        head=Code(write.head),
        indexed=[Code(statement) for statement in write.statements],
    )


def _write_in_a_loop(failure: Failure, tensor: Tensor) -> Indexed | None:
    """Return the failing write by its index, where it is into one of several views that a loop goes
    over."""
    is_one = "Unbind" in failure.text or messages.is_one_of_several(failure.text)
    statement = failure.statement
    if statement is None or not is_one:
        return None
    return written_by_index(statement, written_in(statement) or failure.in_code(tensor))


# --- views that one call made together ------------------------------------------------------------


def written_beside(failure: Failure) -> Explanation | None:
    """Tell of a view, one of several that one call made, that is read after a write into what it
    is a view of."""
    found = _written_since_made(failure)
    if found is None or failure.call is None:
        return None
    tensor, maker, writer = found
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "written_beside",
        calls=[writer, failure.call],
        also_at=[maker],
        tensors=[tensor],
        code=failure.code(writer),
        view=failure.name(tensor),
        maker=failure.code(maker, LINE),
        place=failure.words.where(maker),
        reader=failure.written(failure.call),
    )


def _written_since_made(failure: Failure) -> tuple[Tensor, Call, Call] | None:
    """Return the view that the call that raised was given, what made it, and what wrote into its
    memory since."""
    last, facts, tensor = failure.call, failure.facts, failure.graph.tensor
    if not messages.is_written_beside(failure.text) or last is None:
        return None
    for view in failure.inputs:
        maker = facts.first_maker.get(view.object_id)
        events = [e for e in facts.writes if maker and maker.id < e.call_id < last.id]
        sharing = [e for e in events if tensor[e.after_id].storage_id == view.storage_id]
        if maker is not None and sharing:
            return view, maker, failure.graph.call[sharing[-1].call_id]
    return None


def one_of_several(failure: Failure) -> Explanation | None:
    """Tell of a write in place into one of several views that one call made, and what to write for
    each of them into which something is written."""
    tensor = blamed(failure, Cause.VIEW_IN_PLACE)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    if tensor is None or maker is None or not messages.is_one_of_several(failure.text):
        return None
    together = Together.of(failure, tensor, maker)
    edits = together.edits() if together is not None else []
    if together is None or not edits:
        return None
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "several",
        calls=[failure.call],
        also_at=[maker, *map(together.place_of, together.writes)],
        tensors=[tensor, failure.graph.tensor.get(tensor.base_id)],
        maker=failure.written(maker),
        n=len(together.writes),
        edits=edits,
        **fields(failure, tensor, failure.graph.tensor.get(tensor.base_id)),
    )


class Together:
    """Views that one statement gives names, and the statements that write into them.

    Args:
        failure: of the first of these writes.
        maker: the call that made the views.
        binder: the syntax node of the statement that names them.
        names: what it calls them, in the order in which they were made.
        writes: the statements that write in place into one of them.
    """

    def __init__(
        self, failure: Failure, maker: Call, binder: Any, names: list[str], writes: list[Write]
    ) -> None:
        self.failure = failure
        self.maker = maker
        self.binder = binder
        self.names = names
        self.writes = writes

    @classmethod
    def of(cls, failure: Failure, tensor: Tensor, maker: Call) -> Together | None:
        """Return the views beside one of them; None where the code gives it no name, or where the
        failing statement writes into something else."""
        statement = failure.statement
        name = written_in(statement) or failure.in_code(tensor)
        binder = None if statement is None else statement_binding(name, statement)
        if binder is None or not runs_in(maker, binder):
            return None
        names = targets_of(binder) or [name]
        writes = writes_into(names, scope_of(statement))
        writes = [write for write in writes if write.statement.lineno > binder.lineno]
        is_known = any(write.statement is statement for write in writes)
        return cls(failure, maker, binder, names, writes) if is_known else None

    def place_of(self, write: Write) -> Call | None:
        """Return where a write stands."""
        line = self.failure.failed
        return None if line is None else call_at(line.source(write.statement))

    def edits(self) -> list[str]:
        """Return what to write: for each view that is written one of its own, where what they are
        views of is read afterwards; else in the place of each write."""
        if self._whole_is_read():
            return self._single_views()
        return [self._without(write) for write in self.writes]

    def _without(self, write: Write) -> str:
        """Return what to write in the place of a write, or above it."""
        failure, place = self.failure, self.place_of(write)
        code = failure.written(place)
        if write.anew:
            return say("raised.anew", anew=Code(write.anew), code=code)
        return say("raised.clone_above", name=Code(write.name), code=code)

    def _whole_is_read(self) -> bool:
        """Say whether what the views are parts of is read below the writes: it is to be changed."""
        name = self.failure.in_code(self._whole)
        return any(is_read_below(name, write.statement) for write in self.writes)

    @property
    def _whole(self) -> Tensor:
        """What the views are parts of."""
        return self.failure.graph.tensor[self.maker.inputs[0]]

    def _single_views(self) -> list[str]:
        """Return, for each view that is written, the statement that makes it alone; none where it
        is not known which part it is, or where no view of the whole may be written."""
        whole, failure = self._whole, self.failure
        written = {write.name for write in self.writes}
        tensors = map(failure.graph.tensor.get, self.maker.outputs)
        parts = [
            (name, single_view(failure.in_code(whole), whole, part))
            for name, part in zip(self.names, tensors, strict=False)
            if name in written and part is not None
        ]
        if len(parts) < len(written) or not all(code for _, code in parts):
            return []
        if whole.is_leaf and whole.requires_grad:
            return []
        name = failure.in_code(whole)
        above = [say("raised.clone_above", name=Code(name), code=failure.code(self.maker))]
        single = say(
            "raised.below_it",
            codes=[Code(f"{name} = {code}") for name, code in parts],
            place=failure.written(self.maker),
        )
        return [*(above if failure.is_saved(whole) else []), single]


def single_view(name: str, whole: Tensor, part: Tensor) -> str:
    """Return code that makes a part of a tensor alone; "" where that part is not known."""
    if None in (whole.shape, whole.stride, whole.storage_offset):
        return ""
    if None in (part.shape, part.stride, part.storage_offset):
        return ""
    shape, stride = list(whole.shape or ()), list(whole.stride or ())
    offset = (part.storage_offset or 0) - (whole.storage_offset or 0)
    if list(part.stride or ()) == stride:
        return _narrowed(name, shape, list(part.shape or ()), stride, offset)
    for dim in range(len(shape)):
        rest = shape[:dim] + shape[dim + 1 :], stride[:dim] + stride[dim + 1 :]
        if rest == (list(part.shape or ()), list(part.stride or ())) and stride[dim]:
            return f"{name}.select({dim}, {offset // stride[dim]})"
    return ""


def _narrowed(name: str, shape: list[int], part: list[int], stride: list[int], offset: int) -> str:
    """Return code that narrows a tensor in the one dimension in which a part is shorter."""
    shorter = [d for d, (one, other) in enumerate(zip(shape, part, strict=True)) if one != other]
    if len(shorter) != 1 or not stride[shorter[0]]:
        return ""
    (dim,) = shorter
    return f"{name}.narrow({dim}, {offset // stride[dim]}, {part[dim]})"


# --- a view that was made without gradients -------------------------------------------------------


def made_without_gradients(failure: Failure) -> Explanation | None:
    """Tell of a view that was made where gradients were off, and is written where they are on: on
    which of the two sides both belong."""
    tensor = blamed(failure, Cause.VIEW_IN_PLACE)
    maker = failure.facts.maker.get(tensor.id) if tensor else None
    off = switch_of(failure, maker)
    if (
        tensor is None
        or maker is None
        or off is None
        or not messages.is_made_without_gradients(failure.text)
    ):
        return None
    base = failure.graph.tensor.get(tensor.base_id)
    is_tracked = any(t.requires_grad for t in failure.inputs[1:])
    is_result = base is not None and base.requires_grad and not base.is_leaf
    if is_tracked and base is not None and base.is_leaf and base.requires_grad:
        return None
    return failure.answer(
        Cause.VIEW_IN_PLACE,
        "view_outside" if is_tracked or is_result else "write_inside",
        calls=[maker, failure.call],
        tensors=[tensor, base],
        maker=failure.code(maker, LINE),
        off=failure.words.where(off),
        place=failure.words.where(maker),
        **fields(failure, tensor, base),
    )


def detached_in_a_loop(failure: Failure) -> Explanation | None:
    """Tell of a loop that was to detach in place each tensor that a variable holds, of which one is
    a view."""
    statement, tensor = failure.statement, blamed(failure, Cause.DETACH_VIEW_IN_PLACE)
    loop: Any = getattr(statement, "parent", None)
    is_alone = isinstance(loop, ast.For) and not loop.orelse and loop.body == [statement]
    if tensor is None or failure.failed is None or not is_alone:
        return None
    each, whole = ast.unparse(loop.target), dotted(loop.iter)
    if whole is None or ast.unparse(statement) != f"{each}.detach_()":
        return None
    is_tuple = issubclass(type(failure.failed.value(loop.iter)), tuple)
    parts = f"{each}.detach() for {each} in {whole}"
    base = failure.graph.tensor.get(tensor.base_id)
    return failure.answer(
        Cause.DETACH_VIEW_IN_PLACE,
        "loop",
        calls=[failure.call, failure.facts.maker.get(tensor.id)],
        tensors=[tensor, base],
        anew=Code(f"{whole} = tuple({parts})" if is_tuple else f"{whole} = [{parts}]"),
        code=say("raised.loop_at", place=failure.words.line_of(failure.failed.source(loop))),
        **{key: fields(failure, tensor, base)[key] for key in ("name", "view")},
    )
