"""Settings that a constructor of torch's refuses: of an optimizer, a schedule, a layer or a loss.
Reads values that variables hold, runs none of the program's code."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from gradviz.names.compiled import file_of
from gradviz.names.statements import source_of
from gradviz.why.code.behind import statements_behind
from gradviz.why.code.reading import value_of
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.question.failing import Frame, failing_parts
from gradviz.why.rules.errors.failure import Failure
from gradviz.why.rules.errors.refused_values import Fields
from gradviz.words.speech import Code

_UNKNOWN = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")
_SCHEDULE = torch.optim.lr_scheduler.LRScheduler
_ALIKE = 0.75  # how much of two names has to be the same


def of_another_class(line: FailedLine, failure: Failure) -> Fields:
    """Return the settings, handed on by ``**``, among which a class of torch's takes not all."""
    made = _made(line, failure)
    given = [] if made is None else [k.value for k in made.call.keywords if k.arg is None]
    settings = line.value(given[0]) if len(given) == 1 else None
    if made is None or type(settings) is not dict or made.word not in settings:
        return None
    word = ast.unparse(given[0])
    refused = [key for key in settings if key not in made.taken]
    return {
        "kind": Code(made.kind.__name__),
        "settings": Code(word),
        "refused": [Code(key) for key in refused],
        "mends": [Code(f"{word}.pop({key!r})") for key in refused],
    }


def without_setting(line: FailedLine, failure: Failure) -> Fields:
    """Return the setting that a call gives, by a name that a class of torch's does not know, and
    the call as it may stand: with the name that was meant, or without it."""
    made = _made(line, failure)
    if made is None or all(k.arg != made.word for k in made.call.keywords):
        return None
    near = difflib.get_close_matches(made.word, made.taken, n=2, cutoff=_ALIKE)
    known = {k.arg for k in made.call.keywords}
    wanted = near[0] if len(near) == 1 and near[0] not in known else None
    return {
        "kind": Code(made.kind.__name__),
        "name": Code(made.word),
        "call": Code(ast.unparse(made.call)),
        "anew": Code(_with_word(made.call, made.word, wanted)),
    }


class _Made(NamedTuple):
    """A call of a class of torch's that refused a name, and the names that the class takes."""

    call: ast.Call
    kind: type
    word: str
    taken: list[str]


def _made(line: FailedLine, failure: Failure) -> _Made | None:
    """Return the call that was refused; None where it is of no class of torch's."""
    found = _UNKNOWN.search(failure.text)
    if found is None:
        return None
    for call in line.nodes(ast.Call):
        kind = _class_called(line, call)
        if kind is not None and kind.__name__ == found[1]:
            return _Made(call, kind, found[2], [*inspect.signature(kind).parameters])
    return None


def _class_called(line: FailedLine, call: ast.Call) -> type | None:
    """Return the class of torch's that a call makes one of; None where it is none."""
    kind: Any = line.value(call.func)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "__class__":
        kind = type(line.value(call.func.value))
    is_of_torch = isinstance(kind, type) and kind.__module__.partition(".")[0] == "torch"
    return kind if is_of_torch else None


def _with_word(call: ast.Call, word: str, wanted: str | None) -> str:
    """Return the code of a call with a keyword by another name, or without it."""
    kept = [k for k in call.keywords if wanted is not None or k.arg != word]
    named = [ast.keyword(wanted if k.arg == word else k.arg, k.value) for k in kept]
    return ast.unparse(ast.Call(call.func, call.args, named))


# --- a schedule that begins in the middle ---------------------------------------------------------


def begun_in_the_middle(line: FailedLine, failure: Failure) -> Fields:
    """Return the call that makes a schedule with a last epoch, for an optimizer that none was made
    for, and the call without it."""
    for frame, call in _calls_making_schedules(line):
        kind = value_of(call.func, frame.names)
        words = [*inspect.signature(kind).parameters] if isinstance(kind, type) else []
        given = _given(call, "last_epoch", words)
        if given is None:
            continue
        file = file_of(frame.code)
        optimizer = ast.unparse(call.args[0]) if call.args else "optimizer"
        set_to = [s.source for s in statements_behind(file, given, None) if _is_number(s.node)]
        return {
            "call": Code(ast.unparse(call)),
            "given": Code(ast.unparse(given)),
            "anew": Code(_without(call, given)),
            "load": Code(f"{optimizer}.load_state_dict(…)"),
            "optimizer": Code(optimizer),
            "at": [source_of(file, call), *set_to[:1]],
        }
    return None


def _calls_making_schedules(line: FailedLine) -> Iterator[tuple[Frame, ast.Call]]:
    """Yield the call in each of the user's functions that led to a schedule, from the innermost
    one that is no constructor of a schedule's own class."""
    for frame in reversed(line.frames):
        is_own = isinstance(frame.names.get("self"), _SCHEDULE)
        if is_own and frame.code.co_name == "__init__":
            continue
        for part in failing_parts(frame):
            yield from ((frame, n) for n in ast.walk(part) if isinstance(n, ast.Call))
        return


def _given(call: ast.Call, name: str, words: list[str]) -> ast.expr | None:
    """Return the argument of a call that has a name, by its name or its place."""
    by_place = dict(zip(words, call.args, strict=False))
    by_name = {k.arg: k.value for k in call.keywords}
    return by_name.get(name, by_place.get(name))


def _without(call: ast.Call, given: ast.expr) -> str:
    """Return the code of a call without one of its arguments, and what comes by place after it."""
    kept = call.args[: call.args.index(given)] if given in call.args else call.args
    named = [k for k in call.keywords if k.value is not given]
    return ast.unparse(ast.Call(call.func, kept, named))


def _is_number(statement: Any) -> bool:
    """Say whether a statement assigns a number that is written there."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant) and type(value.value) is int
