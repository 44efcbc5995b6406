"""What the failing line of an error shows: the tensors of whose gradient it speaks, and the module
that had no parameters to hand over. Reads frames, runs none of their code, keeps none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, NamedTuple

import torch

from gradviz.graph.records import Source
from gradviz.graph.sites import is_installed
from gradviz.names.bindings import binders_of, value_before
from gradviz.names.compiled import file_of, is_edited
from gradviz.names.position import (
    callee_of,
    display_name,
    holds_others,
    locate,
    statement_at,
)
from gradviz.names.statements import function_node, source_of, statement_making
from gradviz.watch.identity import parameters as parameters_of
from gradviz.watch.stack import is_library
from gradviz.why.code.reading import UNREAD, is_of_torch, looks, value_of
from gradviz.why.question.handing import (
    Assigned,
    Spent,
    assigned,
    layers_of_methods,
    local_layers,
    spent,
)

_MISSPELT = re.compile(r"_*(?:init|int|inti|intit|iinit|innit)_*")
_PARAMETERS = ("parameters", "named_parameters")


class Frame(NamedTuple):
    """One frame of the user's that an error went through."""

    code: CodeType
    lasti: int
    line: int
    running: FrameType

    @property
    def names(self) -> dict[str, Any]:
        """Global variables, and its own before them. They are read where a name is looked up, and
        not before: of a function that still runs that keeps its tensors alive (Python 3.11)."""
        return {**self.running.f_globals, **self.running.f_locals}


class Look(NamedTuple):
    """What the failing line asked of a tensor."""

    word: str  # the tensor, as it is written there
    attribute: str
    tensor: Any


class Spot(NamedTuple):
    """A part of a module that is no parameter. ``form`` says why.

    Attributes:
        form: a tensor, a buffer, a result, a list; or what its constructor kept for itself.
        name: what it is called, that of the model included.
        source: where the constructor makes it.
        attribute: its name in the part that has it.
        kind: the class of that part.
    """

    form: str
    name: str
    source: tuple[Source, ...]
    attribute: str = ""
    kind: type | None = None


class Starved(NamedTuple):
    """What was not handed over where parameters were wanted: an optimizer got none, or a module was
    to take something else.

    Attributes:
        module: the expression of the module whose parameters were handed over; "" where that is not
            known.
        kind: its class.
        spots: what it holds in place of parameters.
        frozen: how many parameters it has, if all are frozen.
        objects: these parameters, as objects of the recording.
        trained: how many of its parameters ask for gradients: then something else took them.
        spent: the iterator that was handed over, where something else had read it.
        assigned: the tensor that was to take the name of a parameter.
        place: the line that raised.
    """

    module: str
    kind: str
    spots: tuple[Spot, ...]
    frozen: int
    trained: int
    spent: Spent | None = None
    assigned: Assigned | None = None
    place: tuple[Source, ...] = ()
    objects: frozenset[int] = frozenset()


# --- the failing line -----------------------------------------------------------------------------


def frames_of(error: BaseException) -> list[Frame]:
    """Return the user's frames behind an error, the outermost first; those of installed libraries
    only where there are no others."""
    every = [
        Frame(f.f_code, lasti, line, f)
        for f, lasti, line in traced(error.__traceback__)
        if not is_library(f.f_code)
    ]
    return [frame for frame in every if not is_installed(frame.code)] or every


def traced(trace: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    """Go through a traceback: each frame, with its position and its line."""
    while trace is not None:
        yield trace.tb_frame, trace.tb_lasti, trace.tb_lineno
        trace = trace.tb_next


def failing_place(error: BaseException) -> Source | None:
    """Return the user's statement that failed; None where no frame of the user's is known."""
    frames = frames_of(error)
    if not frames:
        return None
    frame = frames[-1]
    file = file_of(frame.code)
    known = file.tree is not None and not is_edited(frame.code, file)
    node = statement_at(file, frame.line) if known else None
    if node is None:
        return Source(display_name(frame.code.co_filename), frame.line, None)
    return source_of(file, node)._replace(line=frame.line)


def failing_looks(error: BaseException) -> list[Look]:
    """Return the tensors of whose gradient the failing line speaks and that can be named without
    running anything: of ``w.grad.zero_()`` it is ``w``."""
    frames = frames_of(error)
    if not frames:
        return []
    names = frames[-1].names
    asked: list[tuple[str, ast.expr]] = []
    for part in failing_parts(frames[-1]):
        asked += looks(part) or _looks_behind(part, names)
        if asked:
            break
    found = ((attribute, word, value_of(word, names)) for attribute, word in asked)
    return [
        Look(ast.unparse(word), attribute, value)
        for attribute, word, value in found
        if issubclass(type(value), torch.Tensor)
    ]


def failing_parts(frame: Frame) -> Iterator[ast.AST]:
    """Yield the expression that raised, then the statement around it, of one with a body its
    head."""
    place = locate(frame.code, frame.lasti)
    if place.node is not None:
        yield place.node
    if is_edited(frame.code, place.source):
        return
    statement = statement_at(place.source, frame.line)
    if holds_others(statement):
        head = (ast.expr, ast.withitem)
        yield from (part for part in ast.iter_child_nodes(statement) if isinstance(part, head))
    elif statement is not None:
        yield statement


def _looks_behind(part: ast.AST, names: Mapping[str, Any]) -> list[tuple[str, ast.expr]]:
    """Return what gave a name its None: ``g = w.grad`` above the failing line."""
    for node in ast.walk(part):
        if isinstance(node, ast.Name) and names.get(node.id, UNREAD) is None:
            value = value_before(node)
            if isinstance(value, ast.Attribute):
                return looks(value)
    return []


# --- an optimizer without parameters --------------------------------------------------------------


def starved(error: BaseException, recording: Any = None) -> Starved:
    """Return what is known of the module whose parameters an optimizer was handed, and that has
    none; or of the tensor that a module did not take as a parameter."""
    frames = frames_of(error)
    if (refused := assigned(error, frames)) is not None:
        return Starved("", "", (), 0, 0, assigned=refused, place=_failing_place(frames))
    read = spent(frames)
    for frame in reversed(frames):
        for word in (word for part in failing_parts(frame) for word in _owners(part)):
            module = value_of(word, frame.names)
            if issubclass(type(module), torch.nn.Module):
                found = _read_module(ast.unparse(word), module)
                return found._replace(spent=read, objects=_objects_of(module, recording))
    return Starved("", "", (), 0, 0, read)


def _failing_place(frames: list[Frame]) -> tuple[Source, ...]:
    """Return the user's statement that raised."""
    if not frames:
        return ()
    frame = frames[-1]
    place = locate(frame.code, frame.lasti)
    statement = (
        None if is_edited(frame.code, place.source) else statement_at(place.source, frame.line)
    )
    text = "" if statement is None or holds_others(statement) else place.text(statement)
    return (Source(display_name(frame.code.co_filename), frame.line, text),)


def _owners(part: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions whose parameters a call hands over: ``net`` of ``net.parameters()``,
    also where that was given a name before."""
    names = [node for node in ast.walk(part) if isinstance(node, ast.Name)]
    given = (value_before(node) for node in names)
    for tree in (part, *(value for value in given if value is not None)):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _PARAMETERS:
                yield node.value


def _read_module(word: str, module: Any) -> Starved:
    """Return what a module holds in place of parameters."""
    parameters = parameters_of(module)
    trained = sum(p.requires_grad for p in parameters)
    spots = () if parameters else tuple(_spots(word, module))
    return Starved(word, type(module).__name__, spots, len(parameters) - trained, trained)


def _objects_of(module: Any, recording: Any) -> frozenset[int]:
    """Return the parameters of a module that are recorded, as objects of the recording."""
    if recording is None:
        return frozenset()
    states = map(recording.find, parameters_of(module))
    return frozenset(state.object_id for state in states if state is not None)


def _spots(word: str, module: Any) -> Iterator[Spot]:
    """Yield what could have been meant as parameters: tensors, lists of layers, a constructor that
    Python does not know, layers that a constructor kept for itself, and those that a method makes
    in each call."""
    held = [spot for spot, _ in parts_of_module(word, module)]
    yield from held
    for part in () if held else torch.nn.Module.modules(module):
        if (constructor := _misspelt(type(part))) is not None:
            yield Spot("init", constructor.__name__, _begin_of(constructor.__code__))
        for name, source in local_layers(type(part)):
            yield Spot("local", name, (source,))
        if not is_of_torch(type(part)):
            for name, source in layers_of_methods(type(part)):
                yield Spot("each_call", name, (source,))


def parts_of_module(word: str, module: Any) -> Iterator[tuple[Spot, Any]]:
    """Yield what a module of the user's own holds and ``parameters()`` does not see, each with its
    value. What stands in torch's own modules (running statistics) is none of his.

    Args:
        word: what the module is called.
        module: it and those below it are read.
    """
    for path, part in torch.nn.Module.named_modules(module):
        if is_of_torch(type(part)):
            continue
        owner = f"{word}.{path}" if path else word
        for form, name, value in _held(part):
            kind = type(part)
            yield Spot(form, f"{owner}.{name}", _made(kind, name), name, kind), value


def _held(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield what a module's own variables and buffers hold that is no parameter: (form, name,
    value)."""
    for name, value in list(vars(module).items()):
        if issubclass(type(value), torch.Tensor):
            yield ("result" if value.grad_fn is not None else "tensor"), name, value
        elif type(value) in (list, tuple, dict):
            items: Iterable[Any] = value.values() if type(value) is dict else value
            if not name.startswith("_") and any(_has_parameters(item) for item in items):
                yield "list", name, value
    buffers = torch.nn.Module.named_buffers(module, recurse=False)
    yield from (("buffer", name, value) for name, value in buffers)


def _has_parameters(value: Any) -> bool:
    """Say whether it is a parameter, or a module with some."""
    if issubclass(type(value), torch.nn.Module):
        return bool(parameters_of(value))
    return issubclass(type(value), torch.nn.Parameter)


def _misspelt(kind: type) -> Any:
    """Return the method of a class that is nearly called ``__init__``, where it has no such one."""
    own = vars(kind)
    if "__init__" in own or is_of_torch(kind):
        return None
    methods = (value for name, value in own.items() if _MISSPELT.fullmatch(name))
    return next((m for m in methods if isinstance(m, FunctionType)), None)


# --- lines ----------------------------------------------------------------------------------------


def _begin_of(code: CodeType) -> tuple[Source, ...]:
    """Return the line with which a function begins, where that can be read."""
    found = function_node(code)
    if found is None:
        return ()
    file, node = found
    line = file.lines[node.lineno - 1].strip()
    return (Source(display_name(file.filename), node.lineno, line),)


def _made(kind: type, name: str) -> tuple[Source, ...]:
    """Return where the constructor of a class makes one of its variables: the assignment, and above
    it that of the parameter that it was made of."""
    found = statement_making(kind, name)
    if found is None:
        return ()
    file, statement = found
    value = getattr(statement, "value", None)
    binders = binders_of(value) if isinstance(value, ast.Name) else []
    before = [source_of(file, binder) for binder in binders if _makes_parameter(binder)]
    return (*before, source_of(file, statement))


def _makes_parameter(statement: ast.stmt) -> bool:
    """Say whether a statement calls ``nn.Parameter``."""
    calls = (node for node in ast.walk(statement) if isinstance(node, ast.Call))
    return any(callee_of(call.func) == "Parameter" for call in calls)
