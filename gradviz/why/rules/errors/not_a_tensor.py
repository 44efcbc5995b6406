"""Backward was called on what is no tensor: a number, a list, the layer that computes losses, or
nothing at all."""

from __future__ import annotations

import ast
import re
from typing import Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import CutReason
from gradviz.names.bindings import scope_of
from gradviz.names.position import callee_of
from gradviz.names.statements import function_around, loop_around
from gradviz.why.code.behind import (
    NUMBERS,
    Stands,
    copies,
    given_to_numbers,
    in_torch,
    leaves,
)
from gradviz.why.code.reading import LOOKS, UNREAD
from gradviz.why.question.failed_line import FailedLine
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say

KIND = re.compile(r"'([\w.]+)' object has no attribute 'backward'")
# packages whose functions take numbers and give numbers
_GIVING_NUMBERS = ("math", "statistics")
_OF_NUMBERS = ("np", "numpy", "math", "statistics")


def not_a_tensor(failure: Failure) -> Explanation | None:
    """Tell what stands where the loss was expected, and how it came to be that."""
    found, line = KIND.search(failure.text), failure.failed
    word = line.owner_of("backward") if line is not None else None
    if found is None:
        return None
    if line is None or word is None:
        return failure.answer(
            Cause.NOT_A_TENSOR, "other", loss=say("raised.root"), kind=found[1], more=()
        )
    told = Told(failure, line, word, found[1])
    return told.nothing() or told.of_many() or told.module() or told.copied() or told.number()


class Told:
    """What is told of one expression on which backward was called.

    Args:
        failure: the error.
        line: that raised.
        word: the expression.
        kind: the class of its value.
    """

    def __init__(self, failure: Failure, line: FailedLine, word: ast.expr, kind: str) -> None:
        self.failure = failure
        self.line = line
        self.kind = kind
        self.loss = ast.unparse(word)
        self.value = line.value(word)
        self.behind = line.behind(word)

    @property
    def words(self) -> dict[str, str]:
        """What every sentence names."""
        return {"loss": self.loss, "kind": self.kind}

    def answer(self, cause: Cause, form: str, *, at: list[Stands], **fields: Any) -> Explanation:
        """Return the answer, at some statements and at the line that raised."""
        places = list(dict.fromkeys(stands.source for stands in at))
        places += [] if self.line.place is None else [self.line.place]
        give = self.failure.answer
        return give(cause, form, calls=map(call_at, places), more=(), **fields)

    def nothing(self) -> Explanation | None:
        """Tell of a function that returns nothing."""
        return nothing_returned(self.failure) if self.kind == "NoneType" else None

    def of_many(self) -> Explanation | None:
        """Tell of several losses in one list or tuple, or of the loss among other results."""
        if type(self.value) not in (list, tuple, dict):
            return None
        items = self.value.items() if type(self.value) is dict else enumerate(self.value)
        losses = [key for key, value in items if _is_loss(value)]
        total = self._total(losses)
        if total is not None:
            mend = f"{self.loss}[{total!r}].backward()"
            return self.answer(
                Cause.NOT_A_TENSOR, "total", at=self.behind[:1], mend=mend, **self.words
            )
        if len(losses) == len(self.value) > 1 or (losses and type(self.value) is list):
            parts = f"{self.loss}.values()" if type(self.value) is dict else self.loss
            return self.answer(
                Cause.NOT_A_TENSOR,
                "losses",
                at=self.behind[:1],
                mend=f"sum({parts}).backward()",
                **self.words,
            )
        if len(losses) == 1:
            mend = f"{self.loss}[{losses[0]!r}].backward()"
            return self.answer(
                Cause.NOT_A_TENSOR, "among", at=self.behind[:1], mend=mend, **self.words
            )
        return self.answer(Cause.NOT_A_TENSOR, "many", at=self.behind[:1], **self.words)

    def _total(self, losses: list[Any]) -> Any:
        """Return the key of the one loss that all others are terms of; None where there is none."""
        states = {key: self.failure.find(self.value[key]) for key in losses}
        known = {key: state.id for key, state in states.items() if state is not None}
        if len(known) < 2 or len(known) < len(losses):
            return None
        for key, state_id in known.items():
            if {*known.values()} <= {state_id, *self.failure.facts.ancestors([state_id])}:
                return key
        return None

    def module(self) -> Explanation | None:
        """Tell of the layer that was to compute the loss."""
        if not issubclass(type(self.value), torch.nn.Module):
            return None
        call = self._made_with_tensors()
        if call is None:
            return self.answer(Cause.NOT_A_TENSOR, "module", at=self.behind[:1], **self.words)
        function, given = ast.unparse(call.func), ", ".join(map(ast.unparse, call.args))
        return self.answer(
            Cause.NOT_A_TENSOR,
            "module_made",
            at=self.behind[:1],
            made=Code(ast.unparse(call)),
            function=Code(f"{function}()"),
            given=Code(f"criterion({given})"),
            **self.words,
        )

    def _made_with_tensors(self) -> ast.Call | None:
        """Return the call of a class of losses that was given what its losses are to be called
        with."""
        binder = self.behind[0].node if self.behind else None
        call = getattr(binder, "value", None)
        if not isinstance(call, ast.Call) or callee_of(call.func) != self.kind or not call.args:
            return None
        given = map(self.line.value, call.args)
        is_tensor = (issubclass(type(value), torch.Tensor) for value in given)
        return call if any(is_tensor) else None

    def copied(self) -> Explanation | None:
        """Tell where numbers were taken out of the tensors that the loss was made of."""
        taken = [stands for stands in self.behind if copies(stands.node)]
        recorded = [stands for stands in taken if self._is_recorded(stands)]
        taken = recorded or [stands for stands in taken if self._may_copy(stands)]
        if not taken:
            return None
        numeric = self._functions_of_numbers()
        return self.answer(
            Cause.NOT_A_TENSOR,
            "copied_numeric" if numeric else "copied",
            at=taken,
            code=[stands.source.code for stands in taken],
            taken=list(dict.fromkeys(word for stands in taken for word in copies(stands.node))),
            mends=list(dict.fromkeys(in_torch(stands.node) for stands in taken)),
            numeric=numeric,
            **self.words,
        )

    def _is_recorded(self, stands: Stands) -> bool:
        """Say whether the recording saw a statement take numbers out of what requires grad."""
        graph, source = self.failure.graph, stands.source
        last = getattr(stands.node, "end_lineno", source.line)
        return any(
            cut.reason is CutReason.COPIED_OUT and place is not None
            for cut in graph.cuts
            if (place := graph.call[cut.call_id].source) is not None
            and place.file == source.file
            and source.line <= place.line <= last
        )

    def _may_copy(self, stands: Stands) -> bool:
        """Say whether a statement at which nothing was recorded may have taken numbers out of
        tensors: int() and float() read texts, too."""
        given = given_to_numbers(stands.node)
        if set(copies(stands.node)) - {f"{name}()" for name in NUMBERS} or any(map(leaves, given)):
            return True
        if self.failure.graph.calls:  # of what requires grad it would have been recorded
            return False
        return any(self._may_be_tensor(expression) for expression in given)

    def _may_be_tensor(self, expression: ast.expr) -> bool:
        """Say whether an expression is a tensor, or something that only running it tells."""
        value = self.line.value(expression)
        is_unread = value is UNREAD and not isinstance(expression, ast.Constant)
        return is_unread or issubclass(type(value), torch.Tensor)

    def _functions_of_numbers(self) -> list[str]:
        """Return the functions of numbers behind the loss, which take no tensor that is tracked."""
        calls = (n for s in self.behind for n in ast.walk(s.node) if isinstance(n, ast.Call))
        functions = (call.func for call in calls if isinstance(call.func, ast.Attribute))
        found = (f for f in functions if ast.unparse(f.value) in _OF_NUMBERS)
        return list(dict.fromkeys(map(ast.unparse, found)))

    def number(self) -> Explanation:
        """Tell of a number to which no tensor was added: it is what it began as."""
        return self._summed() or self._of_numbers()

    def _summed(self) -> Explanation | None:
        """Tell of a sum that is the number that it began as; None where it is no such sum."""
        sums = [s for s in self.behind if isinstance(s.node, ast.AugAssign)]
        begins = [s for s in self.behind if self._gives_its_value(s.node)]
        if not sums or not begins or self.kind not in ("int", "float"):
            return None
        returned = self._returned()
        return self.answer(
            Cause.NOT_A_TENSOR,
            "summed_numbers" if returned else "empty_sum",
            at=returned + begins[:1] + sums[:1],
            code=sums[0].source.code,
            returned=list(dict.fromkeys(stands.source.code for stands in returned)),
            guarded=self._guarded(),
            **self.words,
        )

    def _of_numbers(self) -> Explanation:
        """Tell what Python numbers a number was made of, as far as that is known."""
        made = self._numbers_alone() if self.kind in ("int", "float") else []
        if not made:
            return self.answer(Cause.NOT_A_TENSOR, "other", at=self.behind[:1], **self.words)
        deciding = [s for s in made if isinstance(getattr(s.node, "parent", None), ast.If)]
        return self.answer(
            Cause.NOT_A_TENSOR,
            "decided" if deciding else "of_numbers",
            at=[*made, *self.behind[:1]],
            code=[stands.source.code for stands in made],
            decided=[f"if {ast.unparse(s.node.parent.test)}" for s in deciding[:1]],
            **self.words,
        )

    def _numbers_alone(self) -> list[Stands]:
        """Return the statements that made the loss of Python numbers alone; nothing where something
        else may have a part in it."""
        made = [stands for stands in self.behind if _makes_a_number(stands.node)]
        handing = self.behind[: self.behind.index(made[0])] if made else []
        if not all(_hands_on(stands.node) for stands in handing):
            return []
        steps = [s for s in made if not _is_number(getattr(s.node.value, "value", None))]
        steps += [s for s in made if isinstance(s.node, (ast.AugAssign, ast.Return))]
        return list({id(s.node): s for s in steps or made}.values())

    def _returned(self) -> list[Stands]:
        """Return the statements that return the number as it is written, where one function of the
        program has them all; the last one first, which has most before it."""
        code = self.line.statements
        found = [
            Stands(file, node)
            for file, node in (() if code is None else code.nodes(ast.Return))
            for part in (node.value.elts if isinstance(node.value, ast.Tuple) else [node.value])
            if isinstance(part, ast.Constant) and part.value == self.value
        ]
        return found[::-1] if len({id(scope_of(s.node)) for s in found}) == 1 else []

    def _guarded(self) -> str:
        """Return how backward is called for tensors alone: the rest of the iteration, or of the
        function, is left out else."""
        code = self.line.place.code if self.line.place is not None else None
        code = code or f"{self.loss}.backward()"
        test = f"torch.is_tensor({self.loss})"
        leaving = "continue" if loop_around(self.line.statement) is not None else "return"
        if leaving == "return" and not function_around(self.line.statement):
            anew = Code(f"if {test}: {code}")
            return say("raised.in_the_place_of", anew=anew, code=Code(code))
        skip = Code(f"if not {test}: {leaving}")
        return say("raised.right_above", anew=skip, code=Code(code))

    def _gives_its_value(self, statement: Any) -> bool:
        """Say whether a statement assigns the number, as it is written, that the loss is."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        return isinstance(value, ast.Constant) and value.value == self.value


def _makes_a_number(statement: Any) -> bool:
    """Say whether a statement can only give a Python number: one that is written there, or what a
    function of numbers returns."""
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Constant):
        return _is_number(value.value)
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) in _GIVING_NUMBERS


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _hands_on(statement: Any) -> bool:
    """Say whether a statement only hands on what a function, or a variable, has."""
    return isinstance(getattr(statement, "value", None), (ast.Name, ast.Call))


def _is_loss(value: Any) -> bool:
    """Say whether a value is one tracked number."""
    is_tensor = issubclass(type(value), torch.Tensor)
    return is_tensor and bool(value.requires_grad) and value.numel() == 1


def may_be_nothing(failure: Failure) -> bool:
    """Say whether an error is about None, and its line asks for no .grad."""
    line = failure.failed
    if line is None or "NoneType" not in failure.text:
        return False
    return not any(node.attr in LOOKS for node in line.nodes(ast.Attribute))


def nothing_returned(failure: Failure) -> Explanation | None:
    """Tell of a call that gives None back, and whose result was used."""
    found = None if failure.failed is None else failure.failed.gave_nothing
    if found is None or "NoneType" not in failure.text:
        return None
    taken, shown = found
    return failure.answer(
        Cause.NOT_A_TENSOR,
        "nothing_method" if taken == shown else "nothing_returned",
        calls=[call_at(place) for place in dict.fromkeys((shown, taken))],
        more=(),
        code=taken.code,
        function=shown.code,
    )
