"""The cards of an outline, with their rows; and its arrows and frames."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property

from gradviz.picture.outline.arrows import Arrows
from gradviz.picture.outline.before import keys_of
from gradviz.picture.outline.card_cuts import CardCuts
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.cut_rows import CutRows
from gradviz.picture.outline.framing import Frames
from gradviz.picture.outline.leaves import leaf_rows
from gradviz.picture.outline.links import Links
from gradviz.picture.outline.loss_rows import LossRows
from gradviz.picture.outline.numbers import number_rows
from gradviz.picture.outline.pointed import Pointed, pointed
from gradviz.picture.outline.said_links import SaidLinks
from gradviz.picture.outline.scene import Arrow, Card, Frame, Rail, Row, Span, Tone
from gradviz.picture.outline.state_rows import StateRows
from gradviz.picture.outline.states import States
from gradviz.picture.outline.titles import Titles
from gradviz.picture.outline.unit import Kind, Merged, Unit
from gradviz.picture.outline.units import is_unseen
from gradviz.words.speech import say
from gradviz.words.words import Words

COMPILED = "CompiledFunction"  # how the call of a function begins that torch.compile made


class Cards:
    """Puts the units of an outline into cards, with arrows between and frames around them.

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
        self.states = States(links.expansion)
        self.state_rows = StateRows(links, self.states)
        self.words = Words(self.operations.graph)
        self.causes = Causes(self.expansion, self.words)
        self.cuts = CardCuts(links)
        self.titles = Titles(self.expansion, self.words)
        self.cut_rows = CutRows(self.cuts, self.causes, self.states)
        self.loss_rows = LossRows(links, self.titles)
        self.said_links = SaidLinks(links, self.titles, self.cut_rows, said_above=said_above)
        self.children = {*children}
        self.brief = brief

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """Every card, in call order, inputs first."""
        return tuple(self._card(k, unit) for k, unit in enumerate(self.units))

    @cached_property
    def arrows(self) -> tuple[Arrow, ...]:
        """Every arrow, in the order of its cards; a gradient before the values."""
        return tuple(Arrows(self.links, self.cuts, self.causes, self._pointed.pairs).all())

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """Opened modules with several cards, and where no gradient is recorded."""
        return tuple(Frames(self.links, self.titles.names, self.cuts, self.causes).all())

    @cached_property
    def _pointed(self) -> Pointed:
        """Which cards, and which links that are arrows, an explanation points at."""
        return pointed(self.links)

    # --- one card ---------------------------------------------------------------------------------

    def _card(self, place: int, unit: Unit) -> Card:
        ends = self.cut_rows.ends(place)
        first, *others = self._rows(place, unit)
        rows = [first, *([ends] if ends else []), *others]
        is_tracked = self._is_tracked(unit)
        return Card(
            place,
            is_tracked,
            tuple(self._with_rails(place, rows, is_tracked)),
            bool(ends),
            self._path(unit),
            calls=tuple(self.operations.all[at].call.id for at in unit.ops),
            narrow=unit.kind is Kind.INPUT,
            here=place in self._pointed.cards,
            members=self._members(unit),
        )

    def _is_tracked(self, unit: Unit) -> bool:
        """Say whether a gradient can come to what a card stands for."""
        if unit.tensor_id is not None:
            return self.operations.is_tracked(unit.tensor_id)
        return any(self.operations.tracked[at] for at in unit.ops)

    def _rows(self, place: int, unit: Unit) -> list[Row]:
        """Write the rows of a card, from its title down."""
        return [
            *self._own_rows(place, unit),
            *self._unlearned_rows(unit),
            *self._constant_rows(unit),
            *self.cut_rows.carried(unit),
            *self.cut_rows.inside(place, unit),
            *self.cut_rows.out_of_torch(place),
            *self._asked_rows(unit),
            *self._mark_rows(place),
            *self.said_links.rows(place),
            *self.loss_rows.term_rows(unit),
            *self.loss_rows.start_rows(unit),
            *self._unseen_rows(unit),
        ]

    def _mark_rows(self, place: int) -> list[Row]:
        """Tell what is said of a card beside another picture, and whether an explanation points at
        it."""
        mark = self._marks.get(place)
        rows = [Row(Tone.SAID, (Span(mark, "strong"),))] if mark else []
        if place in self._pointed.cards:
            rows.append(Row(Tone.HERE, (Span(say("outline.points_here")),)))
        return rows

    def _with_rails(self, place: int, rows: list[Row], is_tracked: bool) -> list[Row]:
        """Give a rail to the rows that say nothing of gradients themselves; none comes to a card
        that is not tracked."""
        rail = self._rail(place, rows)
        rows = [row._replace(rail=rail) if row.rail is Rail.NO else row for row in rows]
        if is_tracked:
            return rows
        return [row._replace(rail=Rail.NO) if row.rail is Rail.COMES else row for row in rows]

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
                fields = {
                    "name": self.titles.name_of_derivative(op),
                    "place": self.words.where(op.call),
                }
                short = say("outline.constant_derivative_short", **fields)
                text = say("outline.constant_derivative", **fields)
                rows.append(Row(Tone.CUT, (Span(text, shorter=(short,)),)))
        return rows

    def _members(self, unit: Unit) -> tuple[str, ...]:
        """List the modules of a card of several equal ones; of others nothing."""
        if unit.kind is not Kind.CALL or unit.merged not in (Merged.RANGE, Merged.SIDE):
            return ()
        names = (self.tree.name(self.tree.call[i]) for i in unit.calls if self.tree.can_open(i))
        found = tuple(dict.fromkeys(names))
        return found if len(found) > 1 else ()

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
            text = self._words_of_centre(unit.ops[-1])
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

    def _words_of_centre(self, at: int) -> str:
        """Tell what an operation is to the tensor that the picture is around."""
        around = self.expansion.asked.around
        made = {self.operations.graph.tensor[i].object_id for i in self.operations.all[at].makes}
        object_id = -1 if around is None else around
        weight = self.operations.weight.get(object_id)
        latest = self.operations.facts.latest_state.get(object_id)
        name = weight.name if weight else (latest.name if latest else "") or say("label.unnamed")
        return say("outline.makes" if around in made else "outline.reads", name=name)

    def _rail(self, place: int, rows: list[Row]) -> Rail:
        """Return the rail of the rows that say nothing of gradients themselves."""
        rails = [row.rail for row in rows if row.rail is not Rail.NO]
        is_list = self.units[place].merged is Merged.ROWS
        comes = self.links.gets(place) and self.operations.ran_backward
        if is_list and (comes or Rail.COMES in rails):
            return Rail.COMES
        if rails:
            return rails[0]
        if not self.links.gets(place):
            return Rail.NO
        return Rail.COMES if self.operations.ran_backward else Rail.CAN

    def _path(self, unit: Unit) -> str:
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
        are_quiet = self.expansion.no_grad.are_quiet
        for member, state in zip(unit.members, states, strict=True):
            cuts = self.cuts.before_part(place, member)
            if are_quiet(member.ops) and not are_quiet(unit.ops):
                quiet = [cut for cut in self.cuts.of_operations(member) if self.cuts.losing(cut)]
                cuts += [cut for cut in quiet if self.expansion.cuts.told(cut) not in regions]
                regions.update(map(self.expansion.cuts.told, quiet))
            rows += self.cut_rows.between(cuts)
            rows += self.cut_rows.of_code(member)
            left = self.titles.title(member).left
            row = self.state_rows.members.row(member, left, state, most)
            rows.append(row if state.all else row._replace(tone=Tone.PLAIN))
        return rows

    def _own_rows(self, place: int, unit: Unit) -> list[Row]:
        """Write the title of a card, and what became of its parameters."""
        if unit.kind is Kind.LEAF:
            return leaf_rows(unit, self.operations, self.links)
        rows = [self.titles.title(unit), *self._number_rows(unit)]
        rows += [*self._listed_rows(place, unit), *self.state_rows.rows(place)]
        if place in self.children and unit.kind is Kind.CALL:
            rows += self._children_rows(unit)
        return rows

    def _number_rows(self, unit: Unit) -> list[Row]:
        """Tell how the numbers of what leaves a card are spread, where they were read; nothing of
        cards side by side, which make a tensor each."""
        tensor_id = self.titles.result_of(unit)
        if tensor_id is None or unit.merged is Merged.SIDE:
            return []
        return number_rows(self.operations.graph.tensor[tensor_id].summary)

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
        text = say("outline.unseen_nodes", node=self.titles.node_of(unseen[-1]).name, n=nodes)
        return [Row(Tone.PLAIN, (where,)), Row(Tone.GRAD_FN, (Span(text),))]

    def _children_rows(self, unit: Unit) -> list[Row]:
        """Tell of the modules directly below a closed one."""
        if len(unit.calls) != 1:
            return []
        members = [
            Unit(Kind.CALL, self.tree.below[i], [i], unit.calls[0])
            for i in self.tree.children.get(unit.calls[0], ())
        ]
        members = [m for m in members if self.expansion.weights_in(m)]
        return self.state_rows.members.rows(members)
