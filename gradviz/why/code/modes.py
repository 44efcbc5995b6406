"""Which statement switched a model to training or evaluation last before a call, as the text tells.
Runs none of it. Knows no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradviz.graph.records import Frame, Source
from gradviz.names.position import display_name, statement_at
from gradviz.names.statements import Statements, source_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_BLOCKS = ("body", "orelse", "finalbody", "handlers")


class Switch(NamedTuple):
    """A statement that switches a model: ``model.train()``.

    Attributes:
        place: where it stands.
        owner: what it switches, as it is written there.
        to_training: whether it is ``train()``, and not ``eval()``.
    """

    place: Source
    owner: str
    to_training: bool


class Undone(NamedTuple):
    """An ``eval()`` that a later ``train()`` undid before a call ran."""

    evaluation: Source
    training: Source


def eval_undone_before(statements: Statements, source: Source | None) -> Undone | None:
    """Return the ``train()`` that stands in front of a call and undoes an ``eval()`` in front of
    it; None where the last switch in front of the call is no ``train()``, or no ``eval()`` stands
    before that.

    Args:
        statements: the code that ran.
        source: where the call stands, with the statements under which it ran.
    """
    switches = [] if source is None else [*_switches_before(statements, source)]
    if not switches or not switches[0].to_training:
        return None
    last, *earlier = switches
    others = (s for s in earlier if s.owner == last.owner or s.place.file == last.place.file)
    before = next(others, None)
    return None if before is None or before.to_training else Undone(before.place, last.place)


def _switches_before(statements: Statements, source: Source) -> Iterator[Switch]:
    """Yield the switches that ran before a call whatever came, the latest first: in each function
    under which it ran those that stand above it in a block around it."""
    frames = source.frames or (Frame(source.file, source.line, 0, ""),)
    for frame in frames:
        files = [f for f in statements.files if display_name(f.filename) == frame.file]
        statement = statement_at(files[0], frame.line) if len(files) == 1 else None
        if statement is not None:
            for above in _above(statement):
                if (switch := _switch_of(files[0], above)) is not None:
                    yield switch


def _above(statement: Any) -> Iterator[Any]:
    """Yield the statements above one in the blocks around it, the nearest first, up to the head of
    its function."""
    while not isinstance(statement, (*_FUNCTIONS, ast.Module)):
        around = statement.parent
        for name in _BLOCKS:
            block = getattr(around, name, [])
            if isinstance(block, list) and statement in block:
                yield from reversed(block[: block.index(statement)])
        statement = around


def _switch_of(file: Any, statement: Any) -> Switch | None:
    """Return the switch that a statement is: ``model.eval()``, ``model.train()``,
    ``model.train(False)``; None of any other."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(func, ast.Attribute):
        return None
    given = [ast.unparse(value) for value in (*call.args, *(k.value for k in call.keywords))]
    if func.attr == "eval" and not given:
        return Switch(source_of(file, statement), ast.unparse(func.value), False)
    if func.attr == "train" and given in ([], ["True"], ["False"]):
        return Switch(source_of(file, statement), ast.unparse(func.value), given != ["False"])
    return None
