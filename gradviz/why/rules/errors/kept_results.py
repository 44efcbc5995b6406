"""A result that was kept with its graph, and met numpy or deepcopy: which statement kept it. Plain
data in and out, knows no torch."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Iterator
from typing import Any

from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Call,
    Frame,
    Tensor,
)
from gradviz.graph.training import line_of
from gradviz.names.frames import (
    attribute_of,
    call_alone,
    frames,
    keepers,
    list_filled,
    list_of,
    names_in,
    place_at,
    place_of_keeper,
    value_kept,
    variables_of,
)
from gradviz.names.position import callee_of
from gradviz.names.written import as_unparsed
from gradviz.why.code.comparisons import bracketed
from gradviz.why.code.numpy_calls import numpy_call
from gradviz.why.code.reading import UNREAD, holds_tracked
from gradviz.why.rules.errors.about_an_input import blamed
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say


def given_to_numpy_in_forward(failure: Failure) -> Explanation | None:
    """Tell of a function of numpy's that a module's forward gave tensors: what it is in torch, as
    what it gives is to be learned through."""
    line = failure.failed
    if line is None or all(frame.code.co_name != "forward" for frame in line.frames):
        return None
    return _to_numpy(failure, in_forward=True)


def given_to_numpy(failure: Failure) -> Explanation | None:
    """Tell of a function of numpy's that was given tensors: what it is in torch, and what it is of
    the numbers alone."""
    return _to_numpy(failure, in_forward=False)


def _to_numpy(failure: Failure, *, in_forward: bool) -> Explanation | None:
    """Tell of the call of a numpy function in the failing line."""
    line = failure.failed
    calls = [] if line is None else [numpy_call(node, line.value) for node in line.nodes(ast.Call)]
    found = next((call for call in calls if call is not None), None)
    if line is None or found is None or line.place is None:
        return None
    return failure.answer(
        Cause.NUMPY_ON_TRACKED,
        "function_in_forward" if in_forward else "function",
        calls=[call_at(line.place)],
        tensors=[*failure.inputs[:1]],
        code=Code(found.code),
        torch=Code(found.in_torch),
        detached=Code(found.detached),
    )


def kept_by(failure: Failure) -> Explanation | None:
    """Tell which statement kept the tensor that a call cannot take, where the call was given
    what keeps it: a module, a list."""
    tensor = blamed(failure, failure.cause) if failure.cause else None
    maker = failure.facts.first_maker.get(tensor.object_id) if tensor else None
    if failure.cause is None or tensor is None or maker is None or tensor.is_leaf:
        return None
    if is_given(failure, tensor, maker):
        return None
    copies = failure.cause is Cause.DEEPCOPY_NON_LEAF
    kept = keeper_of(failure, maker)
    if kept is None or (copies and not attribute_of(kept[2])):
        return None
    frame, line, code = kept
    place = place_of_keeper(maker, frame, line, code)
    attribute = attribute_of(code)
    return failure.answer(
        failure.cause,
        "kept_on" if attribute else "kept_in" if is_single(tensor) else "kept_many",
        calls=[place] if copies else [place, *_ways_of(failure, tensor, kept)],
        tensors=[tensor],
        code=failure.code(place),
        attribute=attribute,
        anew=Code(_kept_anew(failure, code, _kept_there(frame, maker, code), is_single(tensor))),
        value=value_kept(frame, code),
        mends=_mends_of_copy(failure, frame, code) if copies else [],
    )


def _ways_of(failure: Failure, tensor: Tensor, kept: tuple[Frame, int, str]) -> list[Call | None]:
    """Return the statements that filled what a kept result was computed from, and those by which it
    came to the call that raised."""
    before = {line_of(one): one for one in _kept_before(failure, tensor, kept[2])}
    return [*before.values(), *_handed_there(failure, kept[0])]


def _handed_there(failure: Failure, keeper: Frame) -> list[Call | None]:
    """Return the call that raised, and before it the statement beside the one that keeps by which a
    helper that raised it was given what is kept."""
    call = failure.call
    depths = enumerate(frames(call)[1:] if call is not None else (), 1)
    beside = [d for d, frame in depths if variables_of(frame) == variables_of(keeper)]
    return [*([place_at(call, beside[0])] if call is not None and beside else []), call]


def _kept_before(failure: Failure, tensor: Tensor, code: str) -> Iterator[Call]:
    """Yield the statements that filled, with their history, the lists which the statement reads
    that keeps a result: ``means.append(sum(losses) / len(losses))``."""
    read, behind = names_in(code)[1], failure.facts.ancestors([tensor.id])
    makers = {m.id: m for i in behind if (m := failure.facts.maker.get(i)) is not None}
    for maker in makers.values():
        for frame, line, filling in keepers(maker):
            if list_of(filling) and list_filled(filling) in read and filling != code:
                yield place_of_keeper(maker, frame, line, filling)


def _mends_of_copy(failure: Failure, frame: Frame, code: str) -> list[str]:
    """Say how a deep copy comes by what an attribute holds: without it; or, where no line reads the
    attribute, with its value alone."""
    attribute = attribute_of(code)
    owner, opened, _ = attribute.partition("[")
    name = attribute.rpartition(".")[2]
    copied = module_copied(failure)
    code_of_copy = failure.failed.place.code if failure.failed and failure.failed.place else ""
    mends = [say("raised.none_before")]
    if opened:
        mends = [say("raised.none_taken", owner=Code(owner), copy=code_of_copy)]
    elif copied:
        mends = [say("raised.none_above", module=Code(copied), name=Code(name), copy=code_of_copy)]
    target, _, value = code.partition(" = ")
    read = (n for c in failure.graph.calls for f in frames(c) for n in names_in(f.code)[1])
    is_read = any(n == owner or n.startswith(f"{owner}[") for n in read)
    if target == attribute and value and not value.endswith("…") and not is_read:
        anew = Code(f"{target} = {bracketed(value)}.detach()")
        mends.append(say("raised.value_alone", anew=anew))
    return mends


def module_copied(failure: Failure) -> str:
    """Return the code of the module that the failing line copies; "" where it copies something
    else."""
    for call in failure.failed.nodes(ast.Call) if failure.failed is not None else ():
        given = call.args[0] if call.args else None
        if given is not None and callee_of(call.func) == "deepcopy":
            kind = type(failure.failed.value(given)) if failure.failed is not None else object
            return ast.unparse(given) if hasattr(kind, "named_modules") else ""
    return ""


def _kept_anew(failure: Failure, code: str, value: str, is_single: bool) -> str:
    """Return the call that keeps results as one that keeps their values: of a single number that
    number alone, where nothing asks it for an array; with it all else that has a history."""
    call = copy.deepcopy(call_alone(code))  # of a tree that others read, too
    if call is None:
        return ""
    words = _words_of_results(failure, call, value)
    is_number = is_single and len(words) < 2 and not _asks_for_an_array(failure)
    method = "item" if is_number else "detach"
    if not words:  # what is kept has no name there
        words = {ast.unparse(argument) for argument in call.args[-1:]}
    call.args = [_Ending(words, method).visit(argument) for argument in call.args]
    return ast.unparse(call)


def _kept_there(frame: Frame, maker: Call, code: str) -> str:
    """Return what a statement keeps of what a call made: its name, else the call as it is written
    in the statement."""
    made = maker.source.code if maker.source is not None else None
    has_no_name = value_kept(frame, code) == "…"
    return as_unparsed(made) if has_no_name and made else value_kept(frame, code)


def _words_of_results(failure: Failure, call: ast.Call, value: str) -> set[str]:
    """Return the words in the arguments of a call that stand for a result, one of them known."""
    tracked = {t.code_name for t in failure.graph.tensors if t.requires_grad and not t.is_leaf}
    nodes = [node for argument in call.args for node in ast.walk(argument)]
    return {ast.unparse(node) for node in nodes if isinstance(node, ast.expr)} & {*tracked, value}


def _asks_for_an_array(failure: Failure) -> bool:
    """Say whether the failing line calls numpy() of a tensor, which a number does not have."""
    nodes = () if failure.failed is None else failure.failed.nodes(ast.Attribute)
    return any(node.attr == "numpy" for node in nodes)


class _Ending(ast.NodeTransformer):
    """Puts the call of a method behind some words of an expression."""

    def __init__(self, words: set[str], method: str) -> None:
        self.words = words
        self.method = method

    def visit(self, node: ast.AST) -> Any:
        """Return a node as it is to be written."""
        if isinstance(node, ast.expr) and ast.unparse(node) in self.words:
            return ast.Call(ast.Attribute(node, self.method), [], [])
        return self.generic_visit(node)


def keeper_of(failure: Failure, maker: Call) -> tuple[Frame, int, str] | None:
    """Return the statement that keeps what a call made in what the call that raised was given:
    in a list that is named there; else, as no copy is made of a list's parts, in an
    attribute."""
    kept = [k for k in keepers(maker) if _may_hold(failure, k)]
    in_lists = [k for k in kept if list_of(k[2])]
    on_objects = [k for k in kept if attribute_of(k[2])]
    named = [k for k in in_lists if list_filled(k[2]) in names_read(failure)]
    if failure.cause is not Cause.DEEPCOPY_NON_LEAF and in_lists and on_objects:
        return named[0] if named else None
    return next(iter(named or on_objects or in_lists), None)


def _may_hold(failure: Failure, keeper: tuple[Frame, int, str]) -> bool:
    """Say whether what a statement fills holds a result with its graph. It does not where that
    statement was not reached yet: then nothing was kept."""
    frame, _, code = keeper
    place = list_filled(code) or attribute_of(code)
    if failure.failed is None or not place:
        return True
    held = failure.failed.value_at(frame, ast.parse(place, mode="eval").body)
    return held is UNREAD or holds_tracked(held)


def names_read(failure: Failure) -> set[str]:
    """Return the names that the statements of the call that raised read."""
    return {n for f in (frames(failure.call) if failure.call else ()) for n in names_in(f.code)[1]}


def is_given(failure: Failure, tensor: Tensor, maker: Call) -> bool:
    """Say whether the call that raised was given a tensor by a name of its own."""
    if failure.call is None:
        return True
    if _is_a_list(failure, tensor.code_name):
        return False
    names = {n for f in frames(maker) for n in names_in(f.code)[0]}
    return not names_read(failure).isdisjoint({tensor.code_name, *names})


def _is_a_list(failure: Failure, name: str | None) -> bool:
    """Say whether a variable of the failing line holds a list: what it keeps was given, and not a
    tensor of that name."""
    if failure.failed is None or not name or not name.isidentifier():
        return False
    return type(failure.failed.value(ast.parse(name, mode="eval").body)) is list


def is_single(tensor: Tensor) -> bool:
    """Say whether a tensor holds one number."""
    return tensor.shape is not None and math.prod(tensor.shape) == 1
