"""The line of the user's that an error went through: what stands there, and what its words hold.
Reads frames and texts, runs none of their code, keeps none."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cached_property
from types import CodeType
from typing import Any

import torch

from gradviz.graph.records import Frame as Statement
from gradviz.graph.records import Source
from gradviz.names.bindings import binder_before, parameters_of, scope_of
from gradviz.names.compiled import file_of
from gradviz.names.position import display_name
from gradviz.names.statements import (
    Statements,
    code_of_function,
    function_node,
    source_of,
)
from gradviz.why.code.behind import Stands, returns_nothing, statements_behind
from gradviz.why.code.reading import UNREAD, value_of
from gradviz.why.question.failing import Frame, failing_parts, failing_place, frames_of, traced

# methods that work on what they are called on and give None back, and whose they are
_GIVING_NONE: dict[str, tuple[type, ...]] = {
    "backward": (torch.Tensor,),
    "step": (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler),
    "zero_grad": (torch.nn.Module, torch.optim.Optimizer),
    "append": (list,),
    "extend": (list,),
    "sort": (list,),
    "update": (dict, set),
    "add": (set,),
}
_COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})


def _scopes(code: CodeType) -> set[int]:
    """Return the first lines of a function and of the comprehensions in it, which are functions of
    their own before Python 3.12."""
    parts = (part for part in code.co_consts if isinstance(part, CodeType))
    comprehensions = (part for part in parts if part.co_name in _COMPREHENSIONS)
    return {code.co_firstlineno, *(part.co_firstlineno for part in comprehensions)}


class FailedLine:
    """The user's innermost line behind an error.

    Args:
        error: what was raised.
        statements: the code that ran, if it is known.
    """

    def __init__(self, error: BaseException, statements: Statements | None) -> None:
        self.error = error
        self.statements = statements

    @cached_property
    def frames(self) -> list[Frame]:
        """The frames of the user's, the outermost first."""
        return frames_of(self.error)

    @cached_property
    def place(self) -> Source | None:
        """The statement."""
        return failing_place(self.error)

    @cached_property
    def parts(self) -> list[ast.AST]:
        """The expression that raised, then the statement around it."""
        return list(failing_parts(self.frames[-1])) if self.frames else []

    @property
    def statement(self) -> Any:
        """The syntax node of the statement; None where it cannot be read."""
        return self.parts[-1] if self.parts else None

    def owner_of(self, attribute: str) -> ast.expr | None:
        """Return the expression of which the line asks an attribute: ``x`` of ``x.backward()``."""
        for node in self.nodes(ast.Attribute):
            if node.attr == attribute:
                owner: ast.expr = node.value
                return owner
        return None

    def nodes(self, kind: Any) -> Iterator[Any]:
        """Yield the syntax nodes of a kind in the line, those of what raised first."""
        for part in self.parts:
            yield from (node for node in ast.walk(part) if isinstance(node, kind))

    def value(self, expression: ast.AST) -> Any:
        """Return what an expression of the line stands for, or ``UNREAD``."""
        return value_of(expression, self.frames[-1].names) if self.frames else UNREAD

    def value_at(self, statement: Statement, expression: ast.AST) -> Any:
        """Return what an expression stands for in the function of a statement that it runs under;
        ``UNREAD`` where that function has ended."""
        for frame in reversed(self.frames):
            is_same_file = display_name(frame.code.co_filename) == statement.file
            if is_same_file and statement.scope in _scopes(frame.code):
                return value_of(expression, frame.names)
        return UNREAD

    def source(self, node: Any) -> Source:
        """Return where a statement of the function stands that raised."""
        return source_of(file_of(self.frames[-1].code), node)

    def raised_by(self, kind: type, *methods: str) -> bool:
        """Say whether one of some methods of a class raised the error."""
        trace = [*traced(self.error.__traceback__)]
        innermost = (Frame(f.f_code, lasti, line, f) for f, lasti, line in trace[-1:])
        owners = (f.names.get("self") for f in innermost if f.code.co_name in methods)
        return any(issubclass(type(owner), kind) for owner in owners)

    def ran_under(self, file: str) -> bool:
        """Say whether the error went through a function of torch's that stands in a file."""
        trace = traced(self.error.__traceback__)
        return any(f.f_code.co_filename.replace("\\", "/").endswith(file) for f, _, _ in trace)

    def word_for(self, shape: tuple[int, ...] | None, dtype: str | None) -> str:
        """Return the only variable in the line that holds a tensor of a shape and dtype; "" where
        there is none, or several."""
        words = {
            ast.unparse(node)
            for node in self.nodes((ast.Name, ast.Attribute))
            if issubclass(type(value := self.value(node)), torch.Tensor)
            and (tuple(value.shape), str(value.dtype)) == (shape, f"torch.{dtype}")
        }
        return words.pop() if len(words) == 1 else ""

    def behind(self, expression: ast.expr) -> list[Stands]:
        """Return the statements that the value of an expression came through, the nearest first; of
        what a function was given, those of the call."""
        found = list[Stands]()
        for frame, parts in zip(reversed(self.frames), self._parts_outwards(), strict=False):
            file = file_of(frame.code)
            for part in [expression] if not found else parts[:1]:
                found += statements_behind(file, part, self.statements)
            if not self._is_given(expression):
                break
        return list({id(stands.node): stands for stands in found}.values())

    def _parts_outwards(self) -> Iterator[list[ast.AST]]:
        """Yield what raised in each frame, the innermost first."""
        yield from (list(failing_parts(frame)) for frame in reversed(self.frames))

    @staticmethod
    def _is_given(expression: ast.expr) -> bool:
        """Say whether an expression is what the function that it stands in was given."""
        return isinstance(expression, ast.Name) and expression.id in parameters_of(
            scope_of(expression)
        )

    # --- a call that gave nothing back ------------------------------------------------------------

    @cached_property
    def gave_nothing(self) -> tuple[Source, Source] | None:
        """The call whose None the line took for a value, and what shows that it gives none: the
        function without a return, or the call itself."""
        for binder, call in self._calls_taken():
            file = file_of(self.frames[-1].code)
            shown = source_of(file, binder)
            if (function := self._function_of(call)) is not None:
                return shown, source_of(*function)
            method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if method not in _GIVING_NONE or self._function_named(method) is not None:
                continue
            if isinstance(binder, ast.stmt) or self._is_owner_of(call, method):
                return shown, shown
        return None

    def _is_owner_of(self, call: Any, method: str) -> bool:
        """Say whether a method is known to give None by what it is called on: that of a tensor of
        the same name may give a tensor. What cannot be read may be a loss, as it is computed."""
        owner = self.value(call.func.value)
        is_unread_loss = owner is UNREAD and method == "backward"
        return is_unread_loss or issubclass(type(owner), _GIVING_NONE[method])

    def _calls_taken(self) -> Iterator[tuple[Any, ast.Call]]:
        """Yield the calls whose results the line reads: those that bound a name that is None, and
        those that stand in it; each with its statement."""
        for name in self.nodes((ast.Name, ast.Attribute)):
            binder = binder_before(name) if self.value(name) is None else None
            if isinstance(value := getattr(binder, "value", None), ast.Call):
                yield binder, value
        for call in self.nodes(ast.Call):
            inner = [
                *call.args,
                *([call.func.value] if isinstance(call.func, ast.Attribute) else []),
            ]
            yield from ((call, c) for c in inner if isinstance(c, ast.Call))

    def _function_of(self, call: ast.Call) -> tuple[Any, Any] | None:
        """Return the file and the node of the function that a call runs, where it returns
        nothing."""
        called = self.value(call.func)
        if issubclass(type(called), torch.nn.Module):
            called = inspect.getattr_static(type(called), "forward", None)
        code = code_of_function(inspect.unwrap(called)) if inspect.isroutine(called) else None
        found = None if code is None else function_node(code)
        if found is None and isinstance(call.func, ast.Attribute):
            found = self._function_named(call.func.attr)
        return found if found is not None and returns_nothing(found[1]) else None

    def _function_named(self, name: str) -> tuple[Any, Any] | None:
        """Return the only function of the program that has a name."""
        if self.statements is None:
            return None
        found = [(f, n) for f, n in self.statements.nodes(ast.FunctionDef) if n.name == name]
        return found[0] if len(found) == 1 else None
