"""The cards, arrows and frames of an outline, in words."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Hashable, Iterable, Sequence, Set
from functools import cached_property
from typing import NamedTuple

from gradviz.graph.operations import Operation
from gradviz.graph.parameter_groups import side_by_side
from gradviz.graph.records import Call, Cut, CutReason, ModuleCall, Node
from gradviz.picture.outline.before import keys_of
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.leaves import leaf_rows, leaf_title
from gradviz.picture.outline.links import Link, Links, Pair
from gradviz.picture.outline.loops import parts_of
from gradviz.picture.outline.numbers import number_rows
from gradviz.picture.outline.scene import Arrow, Card, Frame, Rail, Row, Span, Tone
from gradviz.picture.outline.states import States, figure
from gradviz.picture.outline.units import (
    QUIET,
    Kind,
    Merged,
    Part,
    Unit,
    function_of,
    is_unseen,
)
from gradviz.words.plain import visible
from gradviz.words.speech import enumerated, say
from gradviz.words.words import Words

CODE = 40  # characters of code in a title
ALL_NAMED = 3  # modules of a card that begins and ends with the same one
LONG_CODE = 120  # of what follows the title, and has the room that is left
FUNCTIONS = 3  # that are named of those folded into a card
LONG = 12  # characters of a place that get a line of their own
CODE_OF_CUT = 24
LOOP = 6  # operations of one line that are told as a loop
TERMS = 8  # rows of a loss
COMPILED = "CompiledFunction"  # how the call of a function begins that torch.compile made
# Cuts that somebody wrote; those of a comparison or of indices stand in every program.
WRITTEN = (CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.DATA, CutReason.NO_GRAD_WRITE)


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


def _is_of(call_id: int, links: Iterable[tuple[int, Link]]) -> bool:
    """Say whether a call cuts one of these links."""
    return any(cut.call_id == call_id for _, link in links for cut in link.cuts)


class Pointed(NamedTuple):
    """What an explanation points at: cards by their places, and links that are arrows."""

    cards: set[int]
    pairs: set[Pair]


class Cards:
    """Puts the units of an outline into cards.

    Args:
        links: between the units.
        children: places of the cards that show a row for each module below theirs.
        said_above: whether a link that is not drawn is said in its upper card too.
        brief: whether what the cards say is not told above them, too.
    """

    def __init__(
        self,
        links: Links,
        children: Iterable[int] = (),
        *,
        said_above: bool = True,
        brief: bool = False,
    ) -> None:
        self.links = links
        self.units = links.units
        self.expansion = links.expansion
        self.operations = links.operations
        self.tree = links.expansion.tree
        self.states = States(links)
        self.words = Words(self.operations.graph)
        self.causes = Causes(self.expansion, self.words)
        self.children = {*children}
        self.said_above = said_above
        self.brief = brief

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """Every card, in call order, inputs first."""
        return tuple(self._card(k, unit) for k, unit in enumerate(self.units))

    def _card(self, place: int, unit: Unit) -> Card:
        tracked = any(self.operations.tracked[at] for at in unit.ops)
        if unit.tensor_id is not None:
            tracked = self.operations.is_tracked(unit.tensor_id)
        rows = [
            *self._rows(place, unit),
            *self._unlearned_rows(unit),
            *self._constant_rows(unit),
            *self._carried_rows(unit),
            *self._cuts_inside(place, unit),
            *self._copied_rows(place),
            *self._asked_rows(unit),
        ]
        if mark := self._marks.get(place):
            rows.append(Row(Tone.SAID, (Span(mark, "strong"),)))
        here = place in self._pointed.cards
        if here:
            rows.append(Row(Tone.HERE, (Span(say("outline.points_here")),)))
        ends = self._ends(place)
        if ends:
            rows.insert(1, ends)
        rows += [*self._said(place), *self._term_rows(unit), *self._start_rows(unit)]
        rows += self._unseen_rows(unit)
        rail = self._rail(place, rows)
        rows = [row._replace(rail=rail) if row.rail is Rail.NO else row for row in rows]
        if not tracked:
            rows = [row._replace(rail=Rail.NO) if row.rail is Rail.COMES else row for row in rows]
        calls = tuple(self.operations.all[at].call.id for at in unit.ops)
        narrow = unit.kind is Kind.INPUT
        return Card(
            place,
            tracked,
            tuple(rows),
            bool(ends),
            self.path(unit),
            calls=calls,
            narrow=narrow,
            here=here,
            members=self._members(unit),
        )

    def _carried_rows(self, unit: Unit) -> list[Row]:
        """Tell of the cuts through which a card takes what the iteration before has made."""
        told = {self.expansion.told(cut): cut for cut in self.links.carried(unit)}
        rows = []
        for cut in told.values():
            fields = {"reason": self.causes.reason(cut), "place": self.causes.where(cut)}
            text = say("outline.cut_carried", **fields)
            short = say("outline.cut_carried_short", **fields)
            rows.append(Row(Tone.CUT, (Span(text, shorter=(short,)),)))
        return rows

    def _unlearned_rows(self, unit: Unit) -> list[Row]:
        """Tell of what a card uses like a parameter, and what is none."""
        used = self.expansion.unlearned.by_operation
        names = list(dict.fromkeys(used[at] for at in unit.ops if at in used))
        if not names:
            return []
        text = say("outline.no_parameter", names=names)
        short = say("outline.no_parameter_short", names=names)
        return [Row(Tone.OFF, (Span(text, shorter=(short,)),))]

    def _constant_rows(self, unit: Unit) -> list[Row]:
        """Tell of derivatives that no gradient goes back through, as no graph was made of them."""
        rows = []
        for op in (self.operations.all[at] for at in unit.ops):
            is_derived = op.call.id in self.operations.derived
            if is_derived and not self.operations.tracked[op.at]:
                fields = {"name": self.name_of_derivative(op), "place": self.words.where(op.call)}
                short = say("outline.constant_derivative_short", **fields)
                text = say("outline.constant_derivative", **fields)
                rows.append(Row(Tone.CUT, (Span(text, shorter=(short,)),)))
        return rows

    def name_of_derivative(self, op: Operation) -> str:
        """Return the variable of what ``autograd.grad`` returned, or how that call is written."""
        names = (self.operations.graph.tensor[i].code_name for i in op.makes)
        return next(filter(None, names), "") or self.words.code(op.call)

    def _members(self, unit: Unit) -> tuple[str, ...]:
        """List the modules of a card of several equal ones; of others nothing."""
        if unit.kind is not Kind.CALL or unit.merged not in (Merged.RANGE, Merged.SIDE):
            return ()
        names = (self.tree.name(self.tree.call[i]) for i in unit.calls if self.tree.can_open(i))
        found = tuple(dict.fromkeys(names))
        return found if len(found) > 1 else ()

    @cached_property
    def _pointed(self) -> Pointed:
        """Which cards, and which links that are arrows, an explanation points at."""
        points = self.expansion.asked.points
        found = Pointed(set(), set())
        if points.parameter:
            found.cards.update(k for k, unit in enumerate(self.units) if self._has_unused(unit))
        if not points.calls:
            return found
        owner = self.links.owner
        for call_id in sorted(points.calls):
            at = self.operations.of_call.get(call_id)
            if at in owner:
                found.cards.add(owner[at])
            elif not self._point_at_cut(call_id, found):
                # it is no card, nor between cards: those that made what it reads stand for it
                reads = self.operations.graph.call[call_id].inputs
                made = (self.operations.source_of(i) for i in reads)
                found.cards.update(owner[source] for source in made if source in owner)
        return found

    def _has_unused(self, unit: Unit) -> bool:
        """Say whether the parameter that an explanation points at is in a module of a card that was
        never called."""
        root, _, name = self.expansion.asked.points.parameter.partition(".")
        known = any(module.name == root for module in self.operations.graph.modules)
        return known and any(name.startswith(f"{path}.") for path in unit.unused)

    def _point_at_cut(self, call_id: int, found: Pointed) -> bool:
        """Point at a cut that is no card: at its arrows, or at the cards that tell of it. Return
        whether there are any."""
        drawn = {link.pair for link in self.links.drawn}
        inside = {at for at, links in self.links.inner.items() if _is_of(call_id, links)}
        links = [link for into in self.links.into for link in into if _is_of(call_id, [(0, link)])]
        arrows = [link for link in links if link.pair in drawn and self._is_cut_arrow(link)]
        found.pairs.update(link.pair for link in arrows)
        found.cards.update(inside, *(link.pair for link in links if link not in arrows))
        return bool(inside or links)

    def _is_cut_arrow(self, link: Link) -> bool:
        """Say whether a drawn link has an arrow of a cut."""
        return link.is_cut or bool(link.cuts and not self.links.carries(link))

    @cached_property
    def _copied_out(self) -> dict[int, list[Cut]]:
        """The cuts by which the values of leaves left torch, which cost them their gradient: by the
        card of the statement that did it, or of what ran next."""
        found: dict[int, list[Cut]] = {}
        for cut in self.loses:
            source = self.operations.source_of(cut.input_id)
            if cut.output_id is None and source is None:
                place = self._place_of_call(self.operations.graph.call[cut.call_id])
                if place is not None:
                    found.setdefault(place, []).append(cut)
        return found

    def _copied_rows(self, place: int) -> list[Row]:
        """Name the leaves whose values left torch where a card stands, and that get nothing."""
        rows = []
        for cut in self._copied_out.get(place, ()):
            name = self.operations.graph.tensor[cut.input_id].code_name or say("label.unnamed")
            fields = {
                "reason": self.causes.reason(cut),
                "place": self.causes.where(cut),
                "name": name,
            }
            short = say("outline.copied_out_short", **fields)
            span = Span(say("outline.copied_out", **fields), shorter=(short,))
            rows.append(Row(Tone.LOST, (span,), "", Rail.NONE))
        return rows

    def _place_of_call(self, call: Call) -> int | None:
        """Return the card of the first operation from a call on, of its line if there is one."""
        calls = [(op.call, self.links.owner.get(op.at)) for op in self.operations.all]
        line = call.source[:2] if call.source else None
        later = [(c, place) for c, place in calls if c.id > call.id and place is not None]
        same = (place for c, place in later if c.source and c.source[:2] == line)
        return next(same, later[0][1] if later else None)

    @cached_property
    def _marks(self) -> dict[int, str]:
        """What is said of cards beside another picture, by their places."""
        marks = self.expansion.asked.marks
        keys = keys_of(self.units, self.expansion) if marks else []
        return {
            k: marks[frozenset(some)] for k, some in enumerate(keys) if frozenset(some) in marks
        }

    def _asked_rows(self, unit: Unit) -> list[Row]:
        """Tell of an operation that the picture is around what it is to the tensor, and its
        grad_fn."""
        seen = [at for at in unit.ops if not is_unseen(self.operations.all[at])]
        if unit.kind is Kind.LOSS or self.expansion.alone.isdisjoint(seen):
            return []
        rows = []
        if not {*self.expansion.centre}.isdisjoint(unit.ops):
            text = self.words_of_centre(unit.ops[-1])
            rows.append(Row(Tone.GRAD_FN, (Span(text, "strong"),)))
        state = self.operations.graph.tensor[self.operations.all[unit.ops[-1]].makes[-1]]
        edge = state.gradient_edge
        node = self.operations.graph.node.get(edge.node_id) if edge else None
        return [*rows, Row(Tone.GRAD_FN, (Span(node.name),))] if node else rows

    def kind_of(self, unit: Unit) -> str:
        """Return the class of the modules of a card, and how many there are; "" where it stands
        for none, or for several classes."""
        kinds = {self.tree.call[i].kind for i in unit.calls}
        if unit.kind is not Kind.CALL or len(kinds) != 1:
            return ""
        n, kind = len(unit.calls), kinds.pop()
        return say("outline.times_kind", n=n, kind=kind) if n > 1 else kind

    def words_of_centre(self, at: int) -> str:
        """Tell what an operation is to the tensor that the picture is around."""
        around = self.expansion.asked.around
        made = any(
            self.operations.graph.tensor[i].object_id == around
            for i in self.operations.all[at].makes
        )
        weight = self.operations.weight.get(-1 if around is None else around)
        latest = self.operations.facts.latest_state.get(-1 if around is None else around)
        name = weight.name if weight else (latest.name if latest else "") or say("label.unnamed")
        return say("outline.makes" if made else "outline.reads", name=name)

    def _rail(self, place: int, rows: list[Row]) -> Rail:
        """Return the rail of the rows that say nothing of gradients themselves."""
        rails = [row.rail for row in rows if row.rail is not Rail.NO]
        is_list = self.units[place].merged is Merged.ROWS
        comes = self.links.gets(place) and self.operations.ran_backward
        if is_list and (comes or Rail.COMES in rails):
            return Rail.COMES
        if rails:
            passes = Rail.COMES if self.links.gets(place) else rails[0]
            return rails[0] if Rail.NONE in rails[:1] or rails[0] is not Rail.NONE else passes
        if not self.links.gets(place):
            return Rail.NO
        return Rail.COMES if self.operations.ran_backward else Rail.CAN

    def path(self, unit: Unit) -> str:
        """Return the name of the module that opens a card; "" where nothing does. Of several equal
        ones it is the first; neighbours that were folded for lack of room get their own cards."""
        if unit.kind is Kind.PIECE and unit.parent is not None:
            around = unit.parent
            return self.tree.name(self.tree.call[around]) if self.tree.can_open(around) else ""
        if unit.kind is not Kind.CALL:
            return ""
        with_others = [i for i in unit.calls if self.tree.can_open(i)]
        if unit.merged is Merged.FOLD:
            with_others = [i for i in unit.calls if i not in with_others] or with_others
        return self.tree.name(self.tree.call[with_others[0]]) if with_others else ""

    def _listed_rows(self, place: int, unit: Unit) -> list[Row]:
        """Tell of each part of a card that was made of neighbours of unequal state, with the cuts
        between them."""
        if unit.merged is not Merged.ROWS:
            return []
        states = [self.states.of(member) for member in unit.members]
        most = max((state.norm or 0.0 for state in states), default=0.0)
        rows: list[Row] = []
        regions: set[Hashable] = set()  # that have no frame in a list
        for member, state in zip(unit.members, states, strict=True):
            cuts = self._cuts_before(place, member)
            if not self._is_quiet(unit) and self._is_quiet(member):
                quiet = [cut for cut in self._cuts_in(member) if self.losing(cut)]
                cuts += [cut for cut in quiet if self.expansion.told(cut) not in regions]
                regions.update(map(self.expansion.told, quiet))
            rows += self._cut_rows(cuts)
            rows += self._cut_rows_inside(member)
            left = self._title(member).left
            row = self.states.member_row(member, left, state, most)
            rows.append(row if state.all else row._replace(tone=Tone.PLAIN))
        return rows

    def _cuts_before(self, place: int, member: Unit) -> list[Cut]:
        """List the cuts between a part of a card and the parts above it."""
        ops = {*member.ops}
        links = (link for at, link in self.links.inner.get(place, ()) if at in ops)
        cuts = (cut for link in links for cut in link.cuts)
        return [cut for cut in cuts if not self._is_between_own(cut, member)]

    def _cut_rows(self, cuts: Iterable[Cut]) -> list[Row]:
        """Tell of cuts between the parts of a card, those of one line as one."""
        found = []
        told: dict[Hashable, list[Cut]] = {}
        for cut in cuts:
            told.setdefault(self.expansion.told(cut), []).append(cut)
        for same in told.values():
            place, reason, lost = (
                self.causes.where(same[0]),
                self.causes.reason(same[0]),
                self.losing(*same),
            )
            text = say("outline.cut_at", reason=reason, place=place)
            if not place:
                text = say("outline.cut", reason=reason)
            right = say("outline.params_lost", n=lost) if lost else ""
            span = Span(text, shorter=self._cut_shorter(same[0]))
            tone, rail = (Tone.LOST, Rail.NONE) if lost else (Tone.CUT, Rail.NO)
            found.append(Row(tone, (span,), right, rail))
        return found

    # --- titles -----------------------------------------------------------------------------------

    def _rows(self, place: int, unit: Unit) -> list[Row]:
        if unit.kind is Kind.LEAF:
            return leaf_rows(unit, self.operations, self.links)
        rows = [self._title(unit), *self._number_rows(unit)]
        rows += [*self._listed_rows(place, unit), *self.states.rows(place)]
        if place in self.children and unit.kind is Kind.CALL:
            rows += self._children_rows(unit)
        return rows

    def _title(self, unit: Unit) -> Row:
        if unit.kind is Kind.LEAF:
            return leaf_title(unit, self.operations)
        if unit.kind is Kind.INPUT:
            name = self.operations.graph.tensor[unit.tensor_id].code_name
            return self._titled(name, "", self._shape(unit.tensor_id))
        if unit.kind is Kind.UNUSED:
            return self._titled(enumerated(unit.unused), say("outline.not_called"), "")
        shape = self._shape(self._made_by(unit))
        if unit.merged is Merged.LOOP:
            return self._loop_title(unit, shape)
        if unit.merged is Merged.ROWS and not unit.calls:
            return self._statements_title(unit, shape)
        if unit.kind is Kind.STATEMENT:
            end = self.operations.all[unit.ops[-1]]
            title = self._unseen_title if is_unseen(end) else self._statement_title
            return title(unit, shape)
        if unit.kind is Kind.LOSS:
            return self._loss_title(unit)
        if unit.kind is Kind.PIECE:
            call = self.tree.call[unit.parent if unit.parent is not None else unit.calls[0]]
            part = {
                Part.BEFORE: lambda: say("outline.before_cut", kind=call.kind),
                Part.AFTER: lambda: say("outline.after_cut", kind=call.kind),
                Part.BETWEEN: lambda: say("outline.between_cuts", kind=call.kind),
                Part.NO_GRAD: lambda: say("outline.part_no_grad", kind=call.kind),
                Part.WHOLE: lambda: call.kind,
            }[unit.part]()
            return self._titled(self.short(call), part, shape)
        return self._call_title(unit, shape)

    def _made_by(self, unit: Unit) -> int | None:
        """Return the tensor that leaves a card: that of which the title tells the shape."""
        if not unit.ops:
            return unit.tensor_id
        tracked = [at for at in unit.ops if self.operations.tracked[at]]
        last = self.operations.all[(tracked or unit.ops)[-1]]  # untracked: labels for a loss
        return last.makes[0]  # the others were written

    def _number_rows(self, unit: Unit) -> list[Row]:
        """Tell how the numbers of what leaves a card are spread, where they were read; nothing of
        cards side by side, which make a tensor each."""
        tensor_id = self._made_by(unit)
        if tensor_id is None or unit.merged is Merged.SIDE:
            return []
        return number_rows(self.operations.graph.tensor[tensor_id].summary)

    def _titled(self, name: str, grey: str, right: str, shorter: tuple[str, ...] = ()) -> Row:
        spans = [Span(visible(name, CODE), "name")]
        if grey:
            spans.append(Span(grey, "grey", shorter))
        return Row(Tone.TITLE, tuple(spans), right)

    def _call_title(self, unit: Unit, shape: str) -> Row:
        calls = [self.tree.call[i] for i in unit.calls]
        if unit.merged in (Merged.FOLD, Merged.ROWS):
            return self._folded_title(unit, calls, shape)
        if unit.merged is Merged.SIDE:
            return self._side_title(calls)
        first = calls[0]
        if len(calls) > 1 and self._are_one_module(calls):
            grey = say("outline.called_times", kind=first.kind, n=len(calls))
            shorter = (grey, say("outline.times", n=len(calls)))
            return self._titled(self.short(first), self._with_folded(grey, unit), shape, shorter)
        if len(calls) > 1:
            grey = say("outline.times_kind", n=len(calls), kind=first.kind)
            shorter = (grey, say("outline.times", n=len(calls)))
            return self._titled(self._range(calls), self._with_folded(grey, unit), shape, shorter)
        grey = first.kind
        others = self.expansion.calls_beside(first)
        code = visible(first.code, CODE) if first.code else ""
        if len(others) > 1:
            number = sum(call_id <= first.id for call_id in others)
            grey = say("outline.call_of", kind=first.kind, k=number, n=len(others))
            short = say("outline.call_short", k=number, n=len(others))
            counted = say("outline.kth_call", k=number)
            is_parameter = not first.path and self._written(first) == self.short(first)
            title = self.short(first) if is_parameter else code or self.short(first)
            grey_text = self._with_folded(grey, unit)
            return self._titled(title, grey_text, shape, (grey, short, counted))
        name = self._written(first) if not first.path else self.short(first)
        return self._titled(name, self._with_folded(grey, unit), shape, (grey,))

    def _folded_title(self, unit: Unit, calls: list[ModuleCall], shape: str) -> Row:
        """Name a card of several neighbours by the first and the last; where these are one module,
        by all modules."""
        first, last = self._end_name(unit.members[0], 0), self._end_name(unit.members[-1], -1)
        modules = {(c.module_id, c.path): self.short(c) for c in calls}
        if first == last and len(modules) == 1 and all(one.calls for one in unit.members):
            grey = say("outline.called_times", kind=calls[0].kind, n=len(calls))
            return self._titled(first, grey, shape)
        name = say("outline.from_to", first=first, last=last)
        if first == last and len(modules) <= ALL_NAMED:
            name = enumerated([*dict.fromkeys(modules.values())])
        grey, kinds = say("outline.modules", n=len(modules)), {call.kind for call in calls}
        if whole := self._whole(unit):
            name, grey = self.short(whole), whole.kind
        elif (numbered := self._numbered(calls)) and all(one.calls for one in unit.members):
            name = numbered
            if len(kinds) == 1:
                grey = say("outline.times_kind", n=len(modules), kind=kinds.pop())
        then = self._with_folded("", unit).removeprefix(", ")
        return self._titled(name, self._with_folded(grey, unit), shape, (grey, then, ""))

    def _whole(self, unit: Unit) -> ModuleCall | None:
        """Return the module of which a card has all that it called, where that are several modules
        which no list numbers."""
        calls = {*unit.calls}
        if not all(one.calls for one in unit.members) or self._numbered(
            [self.tree.call[i] for i in unit.calls]
        ):
            return None
        lists = (i for i in self.expansion.is_list if calls == {*self.tree.children[i]})
        return next((self.tree.call[i] for i in lists), None)

    def _numbered(self, calls: list[ModuleCall]) -> str:
        """Return the name of modules that one list numbers, as "layer2.{0,1}"; "" for others."""
        names = list(dict.fromkeys(self.short(call) for call in calls))
        are_numbered = all(name.rpartition(".")[2].isdigit() for name in names)
        return (side_by_side(names) if are_numbered and len(names) > 1 else None) or ""

    def _written(self, call: ModuleCall) -> str:
        """Return a call of a root module as the user wrote it, with what it is bound to."""
        if call.source is None or call.code is None:
            return self.short(call)
        root = self.operations.graph.modules[call.module_id].name
        if not call.code.startswith(f"{root}("):  # a parameter of a function: ``fn(x)``
            return root
        return call.source.code or call.code

    def _same_module(self, one: ModuleCall, other: ModuleCall) -> bool:
        return (one.module_id, one.path) == (other.module_id, other.path)

    def _are_one_module(self, calls: Sequence[ModuleCall]) -> bool:
        return all(self._same_module(call, calls[0]) for call in calls)

    def _side_title(self, calls: list[ModuleCall]) -> Row:
        if self._are_one_module(calls):
            grey = say("outline.called_times", kind=calls[0].kind, n=len(calls))
            return self._titled(self.short(calls[0]), grey, "")
        around = {c.path.rpartition(".")[0] for c in calls}
        names = [c.path.rpartition(".")[2] or self.short(c) for c in calls]
        prefix = around.pop() if len(around) == 1 else ""
        outer = prefix and self._relative(calls[0].module_id, prefix)
        if not prefix and calls[0].path and self.short(calls[0]) != calls[0].path:
            outer = self._range(calls)  # of a list of modules
        grey = say("outline.side_by_side", n=len(calls))
        shorter = (say("outline.times", n=len(calls)),)
        return self._titled(outer or enumerated([*dict.fromkeys(names)]), grey, "", shorter)

    def _range(self, calls: list[ModuleCall]) -> str:
        """Return the name of several modules: "h.{0..4}", or "experts.{0,1,3}"."""
        names = [self.short(c) for c in calls]
        if len(set(names)) == 1:  # one variable of a loop over several modules
            return names[0]
        name = side_by_side(names)
        return name or say("outline.from_to", first=names[0], last=names[-1])

    def _end_name(self, unit: Unit, end: int) -> str:
        if unit.calls:
            return self.short(self.tree.call[unit.calls[end]])
        return self._title(unit).left[0].text

    def short(self, call: ModuleCall) -> str:
        """Return the path of a module without those around it that are opened."""
        if not call.path:
            return self.operations.graph.modules[call.module_id].name
        return self._relative(call.module_id, call.path, call)

    def _relative(self, module_id: int, path: str, call: ModuleCall | None = None) -> str:
        inside = [
            self.tree.call[i].path
            for i in self.expansion.is_open
            if self.tree.call[i].module_id == module_id and self.tree.call[i].path
        ]
        around = [p for p in inside if path.startswith(f"{p}.")]
        for prefix in sorted(around, key=len, reverse=True):
            short = path.removeprefix(f"{prefix}.")
            if not self._means_another(module_id, short, path, inside):
                return short
        return self._in_a_list(module_id, path)

    def _in_a_list(self, module_id: int, path: str) -> str:
        """Return a path below a list or dict of modules, which nobody calls, with the name of that:
        a number alone tells nothing."""
        root = self.operations.graph.modules[module_id]
        return f"{root.name}.{path}" if root.kind in ("ModuleList", "ModuleDict") else path

    def _means_another(self, module_id: int, short: str, path: str, inside: list[str]) -> bool:
        """Say whether a shortened path is also what another module is called."""
        called = self.tree.called
        return any(
            other != path and (module_id, other) in called
            for other in (short, *(f"{prefix}.{short}" for prefix in inside))
        )

    def _with_folded(self, grey: str, unit: Unit) -> str:
        """Add the functions that were folded into a card to its class."""
        after, then = self._few(unit.after), self._few(unit.then)
        if after and then:
            return say("outline.after_and_then", kind=grey, after=after, then=then)
        if after:
            return say("outline.after", kind=grey, after=after)
        return say("outline.then", kind=grey, then=then) if then else grey

    def _few(self, functions: list[str]) -> list[str]:
        names = list(dict.fromkeys(functions))
        return names if len(names) <= FUNCTIONS else [*names[: FUNCTIONS - 1], "…"]

    def _loop_title(self, unit: Unit, shape: str) -> Row:
        """Name a loop by its modules, or by the last statement of a step."""
        parts = parts_of(unit, self.expansion)
        n = len(unit.steps)
        if parts:
            names = [self.short(self.tree.call[part.calls[0]]) for part in parts]
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

    def _statements_title(self, unit: Unit, shape: str) -> Row:
        """Name a card with a row for each of several statements."""
        first, last = (self._variable(unit.members[k]) for k in (0, -1))
        calls = (self.operations.all[at].call for at in unit.ops)
        lines = [c.source.line for c in calls if c.source]
        grey = say("outline.lines", first=min(lines), last=max(lines)) if lines else ""
        return self._titled(say("card.from_to", first=first, last=last), grey, shape)

    def _variable(self, unit: Unit) -> str:
        """Return the variable of a statement, or how it is written."""
        return self._title(unit).left[0].text.partition(" = ")[0]

    def _unseen_title(self, unit: Unit, shape: str) -> Row:
        """Return the title of what no recorded call made: its variable, else its node."""
        op = self.operations.all[unit.ops[-1]]
        state = self.operations.graph.tensor[op.makes[0]]
        name = state.code_name or self._node_of(op).name
        return self._titled(name, say("outline.unseen"), shape)

    def _unseen_rows(self, unit: Unit) -> list[Row]:
        """Tell where what no recorded call made may come from, and which nodes stand for it; and of
        compiled functions that each is one call."""
        ops = [self.operations.all[at] for at in unit.ops]
        compiled = sum(op.call.function.startswith(COMPILED) for op in ops)
        if compiled:
            text = say("outline.compiled", n=compiled)
            return [Row(Tone.PLAIN, (Span(text, shorter=(say("outline.compiled_short"),)),))]
        unseen = [op for op in ops if is_unseen(op)]
        if not unseen:
            return []
        nodes = sum(node.call_id == unseen[-1].call.id for node in self.operations.graph.nodes)
        where = Span(say("outline.unseen_where"), shorter=(say("outline.unseen_short"),))
        text = say("outline.unseen_nodes", node=self._node_of(unseen[-1]).name, n=nodes)
        return [Row(Tone.PLAIN, (where,)), Row(Tone.GRAD_FN, (Span(text),))]

    def _node_of(self, op: Operation) -> Node:
        edge = self.operations.graph.tensor[op.makes[0]].gradient_edge
        return self.operations.graph.node[edge.node_id if edge else -1]

    def _statement_title(self, unit: Unit, shape: str) -> Row:
        calls = [self.operations.all[at].call for at in unit.ops]
        lines = [c.source.line for c in calls if c.source]
        made = (self.operations.all[at].makes[-1] for at in unit.ops)
        names = [self.operations.graph.tensor[i].code_name for i in made]
        named = [name for name in names if name.isidentifier()]
        if len({*lines}) > 1 and named:
            first, last = named[0], named[-1]
            name = first if first == last else say("card.from_to", first=first, last=last)
            grey = say("outline.lines", first=min(lines), last=max(lines))
            return self._titled(name, grey, shape)
        code = self.words.code(calls[-1]) or function_of(self.operations.all[unit.ops[-1]])
        line = self._line_of(calls)
        variable, is_assigned, _ = code.partition(" = ")
        if not is_assigned or not variable.isidentifier():
            return self._titled(code, line, shape, ("",))
        if len(code) > CODE:
            return self._titled(variable, line, shape)
        written, *others = self._titled(code, line, shape, ("",)).left
        return Row(Tone.TITLE, (written._replace(shorter=(variable,)), *others), shape)

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
        tensor = self.operations.graph.tensor.get(tensor_id)
        if tensor is None or tensor.shape is None:
            return ""
        if not tensor.shape and tensor.values is not None:
            return tensor.values
        return "[" + ", ".join(map(str, tensor.shape)) + "]"

    def _children_rows(self, unit: Unit) -> list[Row]:
        """Tell of the modules directly below a closed one."""
        if len(unit.calls) != 1:
            return []
        members = [
            Unit(Kind.CALL, self.tree.below[i], [i], unit.calls[0])
            for i in self.tree.children.get(unit.calls[0], ())
        ]
        members = [m for m in members if self.expansion.weights_in(m)]
        return self.states.member_rows(members)

    # --- losses -----------------------------------------------------------------------------------

    def _loss_title(self, unit: Unit) -> Row:
        last = self._start(unit)
        state = self.operations.graph.tensor[last.makes[-1]]
        name = state.code_name if state.code_name.isidentifier() else ""
        code = self.words.code(last.call)
        written = re.sub(rf"^{name} ?= ?", "", code) if name else code
        feeding = [at for at in unit.ops if at in self.operations.feeding]
        functions = [
            function_of(self.operations.all[at]) for at in feeding if self.operations.tracked[at]
        ]
        terms = self._terms(unit)
        grey = written if terms else enumerated(self._few(functions[-FUNCTIONS:]))
        shorter = () if terms else (*functions[-1:], *_callee(written))
        grey = visible(grey, LONG_CODE)
        return self._titled(name or code or grey, grey, self._trend(last), (grey, *shorter))

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

    def _start(self, unit: Unit) -> Operation:
        """Return the operation of a loss that its backward began at. Others may follow it in the
        same card, which copy the loss for a log."""
        starts = [at for at in unit.ops if at in self.operations.starts]
        return self.operations.all[starts[-1] if starts else unit.ops[-1]]

    def _terms(self, unit: Unit) -> list[int]:
        """List the operations of a loss that make the numbers it is the sum of."""
        last = self._start(unit)
        line = last.call.source[:2] if last.call.source else None
        final = {
            at
            for at in unit.ops
            if (c := self.operations.all[at].call).source and c.source[:2] == line
        }
        found = [at for at in unit.ops if self._is_term(at, final)]
        learns = any(self.operations.tracked[at] for at in found)
        return found if len(found) > 1 and learns else []

    def _is_term(self, at: int, final: Set[int]) -> bool:
        """Say whether an operation makes a number that only the last statement of a loss uses: a
        variable, or, in that statement, a number of what is none."""
        made_by, users = self.operations.all[at], self.operations.users[at]
        alone = bool(users) and all(user in final for user in users)
        if not (alone and self._is_number(made_by.makes[-1])):
            return False
        if at in final:
            numbers = any(self._is_number(i) for i in made_by.reads)
            return self.operations.tracked[at] and not numbers
        return self.operations.graph.tensor[made_by.makes[-1]].code_name.isidentifier()

    def _is_number(self, tensor_id: int) -> bool:
        return self.operations.graph.tensor[tensor_id].shape == ()

    def _term_rows(self, unit: Unit) -> list[Row]:
        """Tell of the numbers that a loss is the sum of."""
        if unit.kind is not Kind.LOSS:
            return []
        tracked = self.operations.tracked
        return [
            self._term_row(unit, at) if tracked[at] else self._constant_row(at)
            for at in self._terms(unit)[:TERMS]
        ]

    def _start_rows(self, unit: Unit) -> list[Row]:
        """Tell where a backward began: at a loss, in the call of a criterion, or in that of a model
        that makes its own loss."""
        starts = {*self.operations.starts}.intersection(unit.ops)
        if unit.kind is not Kind.LOSS and (unit.kind is not Kind.CALL or len(starts) != 1):
            return []
        state = self.operations.graph.tensor[self._start(unit).makes[-1]]
        edge = state.gradient_edge
        node = self.operations.graph.node.get(edge.node_id) if edge else None
        if node is None:
            return []
        if edge and edge.node_id in self.operations.facts.ran:
            if node.id in self._grad_roots:
                started = say("outline.grad_starts", node=node.name)
            else:
                started = say("outline.starts", node=node.name)
            span = Span(started, shorter=(node.name, say("outline.starts_short")))
        else:
            span = Span(node.name)
        return [Row(Tone.GRAD_FN, (span,))]

    @cached_property
    def _grad_roots(self) -> set[int]:
        """The nodes at which autograd.grad began, and no backward."""
        roots: dict[bool, set[int]] = {True: set(), False: set()}
        for backward in self.operations.graph.backwards:
            roots[backward.kind == "grad"] |= {*backward.roots}
        return roots[True] - roots[False]

    def _constant_row(self, at: int) -> Row:
        """Tell of one number that a loss is the sum of, and through which no gradient goes back."""
        state = self.operations.graph.tensor[self.operations.all[at].makes[-1]]
        spans = Span(state.code_name, "name"), Span(say("outline.constant"))
        return Row(Tone.CUT, spans, state.values or "")

    def _term_row(self, unit: Unit, at: int) -> Row:
        """Tell of one number that a loss is the sum of: what it is made of, and what it sends."""
        op = self.operations.all[at]
        state = self.operations.graph.tensor[op.makes[-1]]
        inside = self._behind(at, unit)
        names = [self._variable(self.units[k]) for k in self._cards_behind(at, unit)]
        grey = say("outline.of", names=names) if names else function_of(op)
        sents = [
            sent
            for link in self.links.into[self.units.index(unit)]
            for sent in link.sent
            if self.operations.of_node.get(sent.node_id) in inside
        ]
        run = max((sent.run for sent in sents), default=None)
        norm = (
            self.operations.norm_of_sent([s for s in sents if s.run == run]) if sents else math.nan
        )
        sends = "" if math.isnan(norm) else say("outline.sends", norm=figure(norm))
        left: tuple[Span, ...] = (Span(state.code_name, "name"), Span(grey, "grey"))
        if not state.code_name.isidentifier():
            left = (Span(function_of(op)),)
            if names:
                text = say("outline.function_of", function=function_of(op), names=names)
                left = (Span(text, shorter=(grey,)),)
        return Row(Tone.GRAD_FN, left, sends, middle=state.values or "")

    def _behind(self, at: int, unit: Unit) -> set[int]:
        """Return the operations of a loss whose gradient comes from one of its terms alone, and the
        term."""
        mine, found = {*unit.ops}, {at}
        for one in sorted(mine, reverse=True):
            users = [u for u in self.operations.users[one] if u in mine and self._ran(u)]
            if users and all(u in found for u in users):
                found.add(one)
        return found

    def _ran(self, at: int) -> bool:
        """Say whether a backward went through an operation; all did where none was seen."""
        return not self._ran_ops or at in self._ran_ops

    @cached_property
    def _ran_ops(self) -> set[int]:
        of_node = self.operations.of_node
        return {of_node[n] for n in self.operations.facts.ran if n in of_node}

    def _cards_behind(self, at: int, unit: Unit) -> list[int]:
        """Return the places of the cards whose values went into a term of a loss, cut or not."""
        found, seen, todo = set[int](), set[int](), [at]
        mine = {*unit.ops} | self.expansion.looked_through
        while todo:
            one = todo.pop()
            seen.add(one)
            for source in self.operations.all[one].sources:
                if source is None or source in seen or source in self.expansion.data:
                    continue
                if source in mine:
                    todo.append(source)
                elif source in self.links.owner:
                    found.add(self.links.owner[source])
        return sorted(found)

    def _cuts_inside(self, place: int, unit: Unit) -> list[Row]:
        """Tell of the cuts inside of closed module calls."""
        if unit.merged is Merged.ROWS:
            return []
        inner = (cut for _, link in self.links.inner.get(place, ()) for cut in link.cuts)
        between = [cut for cut in inner if not self._is_between_own(cut, unit)]
        return [*self._cut_rows(between), *self._cut_rows_inside(unit)]

    def _cut_rows_inside(self, unit: Unit) -> list[Row]:
        """Tell of the cuts between what a card made and what it made of it, line by line."""
        if not unit.ops or self._is_quiet(unit):
            return []
        told: dict[Hashable, list[Cut]] = {}
        for cut in self._own_cuts(unit):
            told.setdefault(self.expansion.told(cut), []).append(cut)
        rows = []
        for same in told.values():
            fields = {"reason": self.causes.reason(same[-1]), "place": self.causes.where(same[-1])}
            text = say("outline.cut_inside", **fields)
            if len(unit.calls) > 1:
                text = say("outline.cut_in_each", n=len(unit.steps or unit.calls), **fields)
                if not self._is_in_a_call(same[-1], unit):
                    text = say("outline.cut_between", **fields)
            loses = self.losing(*same)
            tone = Tone.LOST if loses else Tone.CUT
            span = Span(text, shorter=self._cut_shorter(same[-1]))
            ends = loses and unit.kind is not Kind.LOSS  # other terms of a loss send theirs
            rows.append(Row(tone, (span,), "", Rail.NONE if ends else Rail.NO))
        return rows

    def _is_in_a_call(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut stands inside of a module call of a card, not between two."""
        call = self.operations.graph.call[cut.call_id]
        return any(i in unit.calls for i in self.tree.around(call.module_call))

    def _own_cuts(self, unit: Unit) -> list[Cut]:
        """List the cuts inside of a card, also on arrows that would lead from it to itself."""
        places = sorted({place for at in unit.ops for place in self.expansion.with_arrows(at)})
        cuts = (cut for at in places for cut in self.expansion.cuts_at.get(at, ()))
        if unit.kind is Kind.CALL:
            own = [cut for cut in cuts if self._is_between_own(cut, unit)]
            return own + [cut for cut in self._copied_in(unit) if cut not in own]
        return [cut for cut in cuts if self._is_told_in_code(cut, unit)]

    def _is_told_in_code(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut is told on a card of code as it is written: one that is written there,
        or a no_grad that costs a gradient."""
        if cut.reason in QUIET:
            return bool(self.losing(cut))
        return cut.reason in WRITTEN and self._is_between_own(cut, unit)

    def _copied_in(self, unit: Unit) -> list[Cut]:
        """List the cuts inside of module calls that cost a gradient and whose values no loss is
        known to have: they left torch."""
        feeding, of_call = self.operations.feeding, self.operations.of_call
        lost = (cut for cut in self.loses if of_call.get(cut.call_id) not in feeding)
        return [cut for cut in lost if self._is_in_a_call(cut, unit)]

    def _is_between_own(self, cut: Cut, unit: Unit) -> bool:
        """Say whether a cut separates what a card made or a parameter from what it makes of it."""
        source = self.operations.made_by.get(cut.input_id)
        cuts_parameter = (
            self.operations.graph.tensor[cut.input_id].object_id in self.operations.weight
        )
        return source is None or source in {*unit.ops} or cuts_parameter

    # --- cuts, and links that are said ------------------------------------------------------------

    def _ends(self, place: int) -> Row | None:
        """Tell that the gradient ends at a card: values come in, and all of them are cut."""
        if not self.links.gets(place) or not self.operations.ran_backward:
            return None
        links = [link for link in self.links.into[place] if self.units[link.tail].tensor_id is None]
        if not links or any(link.tracked for link in links):
            return None
        cut = [link for link in links if link.is_cut]
        if cut:
            loses = any(self.losing(c) for link in cut for c in link.cuts)
        else:
            loses = any(self._is_quiet_loss(link.tail) for link in links)
        return Row(Tone.LOST if loses else Tone.CUT, (self._why_ended(cut),), "", Rail.COMES)

    def _why_ended(self, cut: list[Link]) -> Span:
        """Tell why the gradient goes no further: what comes in is cut off, or not tracked."""
        reasons = {c.reason for link in cut for c in link.cuts}
        if not cut:
            text, why = say("outline.ends_untracked"), say("outline.why_untracked")
        elif reasons <= {CutReason.DETACH, CutReason.DETACH_IN_PLACE}:
            text, why = say("outline.ends_detached"), say("outline.why_detached")
        else:
            text, why = say("outline.ends_cut"), say("outline.why_cut")
        return Span(text, shorter=(say("outline.ends_short", why=why), why))

    def _is_quiet_loss(self, place: int) -> bool:
        return bool(self.states.of(self.units[place]).lost)

    @cached_property
    def loses(self) -> dict[Cut, set[int]]:
        """Which parameters lost their gradient by a cut, of those that should get one, by the ids
        of their objects. Where several cuts stand side by side, each of them costs it."""
        found: dict[Cut, set[int]] = {}
        for object_id, cuts in self.operations.causes_of.items():
            if self.operations.should_get(self.operations.weight[object_id]):
                for cut in cuts:
                    found.setdefault(cut, set()).add(object_id)
        return found

    def losing(self, *cuts: Cut) -> int:
        """Return how many parameters lost their gradient by cuts."""
        return len(set[int]().union(*(self.loses.get(cut, ()) for cut in cuts)))

    def _said(self, place: int) -> list[Row]:
        """Tell of the links of a card that are not drawn."""
        rows = self._cut_rows(self._cuts_beside(place))
        for link in self.links.said:
            if link.head == place:
                rows.append(self._said_below(link))
            elif link.tail == place and (
                self.said_above or link.cuts or self._draws_only_zeros(place)
            ):
                rows.append(self._said_above(link))
        return [row for row in rows if row]

    def _draws_only_zeros(self, place: int) -> bool:
        """Say whether each arrow that brings a card a gradient brings zeros: what else it gets is
        said then, or the picture would tell that it gets nothing."""
        norms = {self.links.norm(link) for link in self.links.drawn if link.tail == place}
        return 0.0 in norms and norms <= {0.0, None}

    def _cuts_beside(self, place: int) -> list[Cut]:
        """List the cuts on the way to a card that cost a gradient, or that somebody wrote, where
        other values come to it from the same card uncut, so that the arrow is none of a cut."""
        drawn = {link.pair for link in self.links.drawn}
        found: list[Cut] = []
        inside = {*map(self.expansion.told, self._own_cuts(self.units[place]))}
        for link in self.links.into[place]:
            as_arrow = link.pair in drawn and not self.links.carries(link)
            if link.cuts and not link.is_cut and not as_arrow:
                found += [c for c in link.cuts if c.reason in WRITTEN or self.losing(c)]
        return [cut for cut in found if self.expansion.told(cut) not in inside]

    def name_of(self, place: int) -> str:
        """Return the name of a card, for another card's row."""
        unit = self.units[place]
        if unit.kind is Kind.STATEMENT:
            return self._variable(unit)
        return self._title(unit).left[0].text

    def _said_below(self, link: Link) -> Row:
        name = self.name_of(link.tail)
        if link.is_cut:
            cut = link.cuts[0]
            fields = {"name": name, "reason": self.causes.reason(cut)}
            texts = [say("outline.skip_cut", place=p, **fields) for p in self._places_of(cut)]
            span = Span(texts[0], shorter=(*texts[1:], *self._cut_shorter(cut)))
            return Row(Tone.CUT, (span,), say("outline.no_gradient_back"))
        if not self.links.carries(link):
            text = say("outline.skip_without", name=name)
            return Row(Tone.NOTHING, (Span(text),), say("outline.no_gradient_back"))
        norm = self.links.norm(link)
        right = "" if norm is None or math.isnan(norm) else say("outline.sends", norm=figure(norm))
        return Row(Tone.SAID, (Span(say("outline.skip", name=name)),), right)

    def _said_above(self, link: Link) -> Row:
        name = self.name_of(link.head)
        if link.is_cut:
            cut = link.cuts[0]
            texts = [say("outline.also_cut", name=name, place=p) for p in self._places_of(cut)]
            span = Span(texts[0], shorter=(*texts[1:], *self._cut_shorter(cut)))
            return Row(Tone.CUT, (span,), say("outline.gets_nothing"))
        if not self.links.carries(link):
            text = say("outline.also_goes", name=name)
            return Row(Tone.NOTHING, (Span(text),), say("outline.gets_nothing"))
        norm = self.links.norm(link)
        right = (
            "" if norm is None or math.isnan(norm) else say("outline.gets_norm", norm=figure(norm))
        )
        return Row(Tone.SAID, (Span(say("outline.also_goes", name=name)),), right)

    def _places_of(self, cut: Cut) -> list[str]:
        """Return where a cut stands, and the line alone, for where there is less room."""
        source = self.operations.graph.call[cut.call_id].source
        line = [say("label.line", line=source.line)] if source else []
        return [self.causes.where(cut), *line]

    def _cut_shorter(self, cut: Cut) -> tuple[str, ...]:
        """Return the words of a cut for where there is less room. What comes first is left."""
        place, call = self.causes.where(cut), self.operations.graph.call[cut.call_id]
        if not place or call.source is None:
            return (say("outline.cut", reason=self.causes.reason(cut)),)
        source = self.expansion.switch_of(cut) or call.source
        line = say("label.line", line=source.line)
        long = say("outline.cut_at", reason=self.causes.reason(cut), place=place)
        return long, say("outline.cut_in_line", line=line, reason=self.causes.reason(cut))

    # --- arrows and frames ------------------------------------------------------------------------

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """Every arrow, gradients before values."""
        found = [arrow for link in self.links.drawn for arrow in self._arrows_of(link)]
        return tuple(found)

    def _arrows_of(self, link: Link) -> list[Arrow]:
        spine = link.pair in self.links.spine
        found: list[Arrow] = []
        if self.links.carries(link):
            norm = self.links.norm(link)
            label = () if norm is None or math.isnan(norm) else (figure(norm),)
            kind = "gradient" if self.operations.ran_backward else "can"
            zeros = norm == 0
            found.append(Arrow(link.tail, link.head, kind, label, spine=spine, zeros=zeros))
        if self._is_cut_arrow(link):
            lines, loses = self._cut_label(link.cuts)
            here = link.pair in self._pointed.pairs
            lines = (*lines, say("outline.points_here")) if here else lines
            return [*found, Arrow(link.tail, link.head, "cut", lines, loses, spine, here)]
        found.append(Arrow(link.tail, link.head, "forward", spine=spine))
        return found

    def _cut_label(self, cuts: list[Cut]) -> tuple[tuple[str, ...], bool]:
        first = max(cuts, key=self.losing)
        told = {self.expansion.told(cut): cut for cut in (first, *cuts)}
        by_place: dict[str, list[str]] = {}
        for cut in told.values():
            by_place.setdefault(self.causes.where(cut), []).append(self.causes.reason(cut))
        chips = tuple(
            say("outline.cut_at", reason=enumerated(reasons), place=place)
            if place
            else say("outline.cut", reason=enumerated(reasons))
            for place, reasons in by_place.items()
        )
        lost = self.losing(*cuts)
        if not lost:
            if len(by_place) == 1:
                ((place, reasons),) = by_place.items()
                if len(place) > LONG:  # narrow, where nothing else makes it wide
                    chips = (say("outline.cut", reason=enumerated(reasons)), place)
            return chips, False
        return (*chips, say("outline.params_lost", n=lost)), True

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Opened modules with several cards, and where no gradient is recorded."""
        found = []
        for call_id in self.expansion.frames:
            members = tuple(
                k for k, unit in enumerate(self.units) if self._stands_in(unit, call_id)
            )
            if len(members) > 1:
                call = self.tree.call[call_id]
                label = say("outline.opened", name=self.short(call), kind=call.kind)
                found.append(Frame("opened", (label,), members))
        return (*found, *self._quiet_frames())

    def _stands_in(self, unit: Unit, call_id: int) -> bool:
        return call_id in self.tree.around(unit.parent) if unit.parent is not None else False

    def _quiet_frames(self) -> list[Frame]:
        """Frame neighbours whose every operation ran where no gradient is recorded."""
        found, run = [], list[int]()
        for k, unit in [*enumerate(self.units), (-1, None)]:
            if unit is not None and unit.tensor_id is not None:
                continue
            is_quiet = unit is not None and bool(unit.ops) and self._is_quiet(unit)
            if run and not (is_quiet and self._region_of(run[-1]) == self._region_of(k)):
                found.append(self._quiet_frame(run))
                run = []
            if is_quiet:
                run.append(k)
        return [frame for frame in found if frame]

    def _region_of(self, place: int) -> int | None:
        return self.expansion.region.get(self.units[place].ops[0])

    def _is_quiet(self, unit: Unit) -> bool:
        ops = self.operations.all
        return all(self.expansion.is_quiet(ops[at]) for at in unit.ops)

    def _quiet_frame(self, members: list[int]) -> Frame:
        first = self.operations.all[self.units[members[0]].ops[0]]
        mode = self.causes.switched_off_by(first.at)
        lost = self.losing(*(c for k in members for c in self._cuts_in(self.units[k])))
        place = self.causes.place_of_region(first.at)
        if place in self._places_on_arrows({*members}):  # and what it costs stands there as well
            return Frame("no_grad", (mode,), tuple(members))
        label = [mode, place] if len(place) > LONG else []  # in the middle an arrow passes
        label = label or [say("outline.region", mode=mode, place=place) if place else mode]
        if lost:
            label.append(say("outline.region_loses", n=lost))
        return Frame("no_grad", tuple(label), tuple(members))

    def _places_on_arrows(self, members: Set[int]) -> set[str]:
        """Return the places that stand on the cut arrows which lead to these cards."""
        links = [link for link in self.links.drawn if link.head in members]
        cuts = (cut for link in links if self._is_cut_arrow(link) for cut in link.cuts)
        return set(map(self.causes.where, cuts))

    def _cuts_in(self, unit: Unit) -> list[Cut]:
        calls = (self.operations.all[at].call.id for at in unit.ops)
        return [cut for i in calls for cut in self.operations.facts.cuts_of_call.get(i, ())]
