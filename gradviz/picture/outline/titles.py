"""The first row of a card: what it is called, what it stands for, and what leaves it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Set

from gradviz.graph.operations import Operation
from gradviz.graph.records import Call, ModuleCall, Node
from gradviz.picture.outline.leaves import leaf_title
from gradviz.picture.outline.loops import parts_of
from gradviz.picture.outline.loss_terms import LossTerms
from gradviz.picture.outline.module_names import ModuleNames, are_one_module
from gradviz.picture.outline.scene import Row, Span, Tone
from gradviz.picture.outline.unit import Kind, Merged, Part, Unit
from gradviz.picture.outline.units import Expansion, function_of, is_unseen
from gradviz.words.plain import visible
from gradviz.words.speech import enumerated, say
from gradviz.words.words import Words

CODE = 40  # characters of code in a title
ALL_NAMED = 3  # modules of a card that begins and ends with the same one
LONG_CODE = 120  # of what follows the title, and has the room that is left
FUNCTIONS = 3  # that are named of those folded into a card
LOOP = 6  # operations of one line that are told as a loop


def _callee(code: str) -> list[str]:
    """Return the function of one call as it is written; nothing of other code.

    >>> _callee("bce(D(fake), ones)"), _callee("F.mse_loss(y, t)"), _callee("a(x) + b(x)")
    (['bce'], ['mse_loss'], [])
    """
    try:
        found = ast.parse(code, mode="eval").body
    except SyntaxError:
        return []
    if not isinstance(found, ast.Call):
        return []
    return [ast.unparse(found.func).rpartition(".")[2]]


def _part_of(kind: str, part: Part) -> str:
    """Return the class of an opened module, and which part of a call of it a card is."""
    if part is Part.BEFORE:
        return say("outline.before_cut", kind=kind)
    if part is Part.BETWEEN:
        return say("outline.between_cuts", kind=kind)
    if part is Part.AFTER:
        return say("outline.after_cut", kind=kind)
    return say("outline.part_no_grad", kind=kind) if part is Part.NO_GRAD else kind


class Titles:
    """The titles of the cards of an outline.

    Args:
        expansion: of the recording.
        words: of the same graph.
    """

    def __init__(self, expansion: Expansion, words: Words) -> None:
        self.expansion = expansion
        self.operations = expansion.operations
        self.tree = expansion.tree
        self.words = words
        self.names = ModuleNames(expansion)
        self.terms = LossTerms(expansion.operations)

    def name_of_derivative(self, op: Operation) -> str:
        """Return the variable of what ``autograd.grad`` returned, or how that call is written."""
        names = (self.operations.graph.tensor[i].code_name for i in op.makes)
        return next(filter(None, names), "") or self.words.code(op.call)

    # --- any card ---------------------------------------------------------------------------------

    def title(self, unit: Unit) -> Row:
        """Return the first row of a card: its name, what it stands for in grey, and the shape of
        what leaves it, or the value of a loss."""
        if unit.kind is Kind.LEAF:
            return leaf_title(unit, self.operations)
        if unit.kind is Kind.INPUT:
            name = self.operations.graph.tensor[unit.tensor_id].code_name
            return self._titled(name, "", self._shape(unit.tensor_id))
        if unit.kind is Kind.UNUSED:
            return self._titled(enumerated(unit.unused), say("outline.not_called"), "")
        return self._title_of_operations(unit, self._shape(self.result_of(unit)))

    def _title_of_operations(self, unit: Unit, shape: str) -> Row:
        """Return the title of a card with operations."""
        if unit.merged is Merged.LOOP:
            return self._loop_title(unit, shape)
        if unit.merged is Merged.ROWS and not unit.calls:
            return self._statements_title(unit, shape)
        if unit.kind is Kind.STATEMENT:
            is_recorded = not is_unseen(self.operations.all[unit.ops[-1]])
            title = self._statement_title if is_recorded else self._unseen_title
            return title(unit, shape)
        if unit.kind is Kind.LOSS:
            return self._loss_title(unit)
        if unit.kind is Kind.PIECE:
            return self._piece_title(unit, shape)
        return self._call_title(unit, shape)

    def name_of(self, unit: Unit) -> str:
        """Return the name of a card, for another card's row."""
        if unit.kind is Kind.STATEMENT:
            return self.variable_of(unit)
        return self.title(unit).left[0].text

    def names_in(self, unit: Unit, places: Set[int]) -> list[str]:
        """Name a card inside of a sentence: several modules side by side one by one, and only those
        of them that some operations belong to.

        Args:
            unit: the card.
            places: of the operations; if none of them is of the card, all of it is meant.
        """
        calls = [self.tree.call[i] for i in unit.calls]
        if unit.merged is not Merged.SIDE or are_one_module(calls):
            return [self.name_of(unit)]
        meant = [one for one in unit.members if not places.isdisjoint(one.ops)]
        is_whole = len(meant) in (0, len(unit.members))
        if is_whole and self._around_side(calls):
            return [self.name_of(unit)]
        some = [self.tree.call[one.calls[0]] for one in (unit.members if is_whole else meant)]
        return list(dict.fromkeys(map(self.names.short, some)))

    def result_of(self, unit: Unit) -> int | None:
        """Return the tensor that leaves a card: that of which the title tells the shape."""
        if not unit.ops:
            return unit.tensor_id
        tracked = [  # a slice of a leaf requires grad, under no_grad too
            at
            for at in unit.ops
            if self.operations.tracked[at] and self.operations.all[at].call.grad_mode
        ]
        last = self.operations.all[(tracked or unit.ops)[-1]]  # untracked: labels for a loss
        return last.makes[0]  # the others were written

    def _titled(self, name: str, grey: str, right: str, shorter: tuple[str, ...] = ()) -> Row:
        """Return a title; ``shorter``: what stands for the grey text where there is less room."""
        spans = [Span(visible(name, CODE), "name")]
        if grey:
            spans.append(Span(grey, "grey", shorter))
        return Row(Tone.TITLE, tuple(spans), right)

    # --- module calls -----------------------------------------------------------------------------

    def _piece_title(self, unit: Unit, shape: str) -> Row:
        """Name a part of an opened module call by that, and say which part it is."""
        call = self.tree.call[unit.parent if unit.parent is not None else unit.calls[0]]
        return self._titled(self.names.short(call), _part_of(call.kind, unit.part), shape)

    def _call_title(self, unit: Unit, shape: str) -> Row:
        """Name a card of module calls: of one, of several of one module, or of equal modules."""
        calls = [self.tree.call[i] for i in unit.calls]
        if unit.merged in (Merged.FOLD, Merged.ROWS):
            return self._folded_title(unit, calls, shape)
        if unit.merged is Merged.SIDE:
            return self._side_title(calls)
        if len(calls) == 1:
            return self._one_call_title(unit, calls[0], shape)
        kind, n = calls[0].kind, len(calls)
        if are_one_module(calls):
            name, grey = self.names.short(calls[0]), say("outline.called_times", kind=kind, n=n)
        else:
            name, grey = self.names.range(calls), say("outline.times_kind", n=n, kind=kind)
        shorter = (grey, say("outline.times", n=n))
        return self._titled(name, self._with_folded(grey, unit), shape, shorter)

    def _one_call_title(self, unit: Unit, call: ModuleCall, shape: str) -> Row:
        """Name a card of one module call by its module, or how it is written; of several calls of
        one module, say which it is."""
        short = self.names.short(call)
        beside = self.expansion.calls_beside(call)
        if len(beside) <= 1:
            name = short if call.path else self.names.written(call)
            return self._titled(name, self._with_folded(call.kind, unit), shape, (call.kind,))
        number = bisect_right(beside, call.id)
        grey = say("outline.call_of", kind=call.kind, k=number, n=len(beside))
        shorter = (
            grey,
            say("outline.call_short", k=number, n=len(beside)),
            say("outline.kth_call", k=number),
        )
        is_parameter = not call.path and self.names.written(call) == short
        name = short if is_parameter or not call.code else visible(call.code, CODE)
        return self._titled(name, self._with_folded(grey, unit), shape, shorter)

    def _folded_title(self, unit: Unit, calls: list[ModuleCall], shape: str) -> Row:
        """Name a card of several neighbours by the first and the last; where these are one module,
        by all modules."""
        first, last = self._end_name(unit.members[0], 0), self._end_name(unit.members[-1], -1)
        modules = {(c.module_id, c.path): self.names.short(c) for c in calls}
        has_only_calls = all(one.calls for one in unit.members)
        if first == last and len(modules) == 1 and has_only_calls:
            grey = say("outline.called_times", kind=calls[0].kind, n=len(calls))
            return self._titled(first, grey, shape)
        name = say("outline.from_to", first=first, last=last)
        if first == last and len(modules) <= ALL_NAMED:
            name = enumerated([*dict.fromkeys(modules.values())])
        grey, kinds = say("outline.modules", n=len(modules)), {call.kind for call in calls}
        if whole := self._whole(unit):
            name, grey = self.names.short(whole), whole.kind
        elif (numbered := self.names.numbered(calls)) and has_only_calls:
            name = numbered
            if len(kinds) == 1:
                grey = say("outline.times_kind", n=len(modules), kind=kinds.pop())
        then = self._with_folded("", unit).removeprefix(", ")
        return self._titled(name, self._with_folded(grey, unit), shape, (grey, then, ""))

    def _whole(self, unit: Unit) -> ModuleCall | None:
        """Return the module of which a card has all that it called, where that are several modules
        which no list numbers."""
        calls = {*unit.calls}
        if not all(one.calls for one in unit.members) or self.names.numbered(
            [self.tree.call[i] for i in unit.calls]
        ):
            return None
        lists = (i for i in self.expansion.is_list if calls == {*self.tree.children[i]})
        return next((self.tree.call[i] for i in lists), None)

    def _side_title(self, calls: list[ModuleCall]) -> Row:
        """Name a card of calls side by side: of one module by that, of several by the module around
        all of them, or one by one."""
        if are_one_module(calls):
            grey = say("outline.called_times", kind=calls[0].kind, n=len(calls))
            return self._titled(self.names.short(calls[0]), grey, "")
        names = [c.path.rpartition(".")[2] or self.names.short(c) for c in calls]
        name = self._around_side(calls) or enumerated([*dict.fromkeys(names)])
        grey = say("outline.side_by_side", n=len(calls))
        shorter = (say("outline.times", n=len(calls)),)
        return self._titled(name, grey, "", shorter)

    def _around_side(self, calls: list[ModuleCall]) -> str:
        """Return the name of the module around calls side by side, or their range in a list; "" for
        those that have only names of their own."""
        around = {c.path.rpartition(".")[0] for c in calls}
        prefix = around.pop() if len(around) == 1 else ""
        is_in_a_list = calls[0].path not in ("", self.names.short(calls[0]))
        if not prefix and is_in_a_list:
            return self.names.range(calls)
        return prefix and self.names.relative(calls[0].module_id, prefix)

    def _end_name(self, unit: Unit, end: int) -> str:
        """Return the name of the first module of a folded card (``end`` 0) or of its last (-1);
        without modules that of the card."""
        if unit.calls:
            return self.names.short(self.tree.call[unit.calls[end]])
        return self.title(unit).left[0].text

    def _with_folded(self, grey: str, unit: Unit) -> str:
        """Add the functions that were folded into a card to its class."""
        after, then = self._few(unit.after), self._few(unit.then)
        if after and then:
            return say("outline.after_and_then", kind=grey, after=after, then=then)
        if after:
            return say("outline.after", kind=grey, after=after)
        return say("outline.then", kind=grey, then=then) if then else grey

    def _few(self, functions: list[str]) -> list[str]:
        """Leave out what repeats, and the end of a long list."""
        names = list(dict.fromkeys(functions))
        return names if len(names) <= FUNCTIONS else [*names[: FUNCTIONS - 1], "…"]

    def _loop_title(self, unit: Unit, shape: str) -> Row:
        """Name a loop by its modules, or by the last statement of a step."""
        parts = parts_of(unit, self.expansion)
        n = len(unit.steps)
        if parts:
            names = [self.names.short(self.tree.call[part.calls[0]]) for part in parts]
            return self._titled(enumerated(names), say("outline.loop_times", n=n), shape)
        short = say("outline.times", n=n)
        calls = [self.operations.all[at].call for at in unit.steps[0].ops]
        lines = [c.source.line for c in calls if c.source]
        first, last = min(lines, default=0), max(lines, default=0)
        grey = say("outline.lines_times", first=first, last=last, n=n)
        if first == last:
            grey = say("outline.line_times", line=first, n=n)
        code = self.words.code(self.operations.all[unit.steps[-1].ops[-1]].call)
        return self._titled(code, grey, shape, (short,))

    # --- code -------------------------------------------------------------------------------------

    def _statements_title(self, unit: Unit, shape: str) -> Row:
        """Name a card with a row for each of several statements."""
        first, last = (self.variable_of(unit.members[k]) for k in (0, -1))
        calls = (self.operations.all[at].call for at in unit.ops)
        lines = [c.source.line for c in calls if c.source]
        grey = say("outline.lines", first=min(lines), last=max(lines)) if lines else ""
        return self._titled(say("card.from_to", first=first, last=last), grey, shape, ("",))

    def variable_of(self, unit: Unit) -> str:
        """Return the variable of a statement, or how it is written."""
        return self.title(unit).left[0].text.partition(" = ")[0]

    def _unseen_title(self, unit: Unit, shape: str) -> Row:
        """Return the title of what no recorded call made: its variable, else its node."""
        op = self.operations.all[unit.ops[-1]]
        state = self.operations.graph.tensor[op.makes[0]]
        name = state.code_name or self.node_of(op).name
        return self._titled(name, say("outline.unseen"), shape)

    def node_of(self, op: Operation) -> Node:
        """Return the node of what an operation made that no call was recorded of."""
        edge = self.operations.graph.tensor[op.makes[0]].gradient_edge
        return self.operations.graph.node[edge.node_id if edge else -1]

    def _statement_title(self, unit: Unit, shape: str) -> Row:
        """Name a statement by its code, or where that is long by its variable; several lines by
        the first variable and the last."""
        calls = [self.operations.all[at].call for at in unit.ops]
        lines = [c.source.line for c in calls if c.source]
        variables = self._variables_of(unit)
        if len({*lines}) > 1 and variables:
            first, last = variables[0], variables[-1]
            name = first if first == last else say("card.from_to", first=first, last=last)
            grey = say("outline.lines", first=min(lines), last=max(lines))
            return self._titled(name, grey, shape, ("",))
        code = self.words.code(calls[-1]) or function_of(self.operations.all[unit.ops[-1]])
        line = self._line_of(calls)
        variable, is_assigned, _ = code.partition(" = ")
        if not is_assigned or not variable.isidentifier():
            return self._titled(code, line, shape, ("",))
        if len(code) > CODE:
            return self._titled(variable, line, shape)
        written, *others = self._titled(code, line, shape, ("",)).left
        return Row(Tone.TITLE, (written._replace(shorter=(variable,)), *others), shape)

    def _variables_of(self, unit: Unit) -> list[str]:
        """List the variables that the operations of a card are bound to, in order."""
        made = (self.operations.all[at].makes[-1] for at in unit.ops)
        names = (self.operations.graph.tensor[i].code_name for i in made)
        return [name for name in names if name.isidentifier()]

    def _line_of(self, calls: list[Call]) -> str:
        """Return the line of a statement, and how often it ran where that is a loop."""
        source = calls[-1].source
        if source is None:
            return ""
        times = sum(call.function == calls[-1].function for call in calls)
        if times > 1 and len(calls) >= LOOP:
            return say("outline.line_times", line=source.line, n=times)
        return say("label.line", line=source.line)

    def _shape(self, tensor_id: int | None) -> str:
        """Return the shape of a tensor, "[8, 3]"; of a number its value."""
        tensor = self.operations.graph.tensor.get(tensor_id)
        if tensor is None or tensor.shape is None:
            return ""
        if not tensor.shape and tensor.values is not None:
            return tensor.values
        return "[" + ", ".join(map(str, tensor.shape)) + "]"

    def _loss_title(self, unit: Unit) -> Row:
        """Name a loss by its variable, with its code where that has several terms, else with the
        functions that made it."""
        start = self.terms.start(unit)
        variable = self.operations.graph.tensor[start.makes[-1]].code_name
        name = variable if variable.isidentifier() else ""
        code = self.words.code(start.call)
        written = re.sub(rf"^{name} ?= ?", "", code) if name else code
        if self.terms.terms(unit):
            grey, shorter = written, list[str]()
        else:
            functions = self._tracked_functions(unit)
            grey = enumerated(self._few(functions[-FUNCTIONS:]))
            shorter = [*functions[-1:], *_callee(written)]
        grey = visible(grey, LONG_CODE)
        return self._titled(name or code or grey, grey, self._trend(start), (grey, *shorter))

    def _tracked_functions(self, unit: Unit) -> list[str]:
        """List the functions of a loss through which gradients go, in order."""
        feeding, tracked = self.operations.feeding, self.operations.tracked
        places = (at for at in unit.ops if at in feeding and tracked[at])
        return [function_of(self.operations.all[at]) for at in places]

    def _trend(self, start: Operation) -> str:
        """Return the value of a loss; where its iteration stands for others, from the first on."""
        tensor = self.operations.graph.tensor
        value = tensor[start.makes[-1]].values or ""
        for alike in self.expansion.iterations.drawn:
            first = alike.first(start.at)
            before = None if first is None else tensor[self.operations.all[first].makes[-1]].values
            if before is not None and first != start.at:
                return say("outline.trend", first=before, last=value)
        return value
