"""What was computed in a way that changes gradients, or is of no use to them: values with a history
in no loss, factors that cancel, a second softmax. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Graph, Tensor
from gradviz.graph.training import line_of
from gradviz.names.frames import stands_above
from gradviz.names.statements import Statements
from gradviz.why.account.called_losses import LOSS, MEASURED
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import computed
from gradviz.why.evidence.summands import SUMS, single
from gradviz.why.rules.whole.losses import LOOKING
from gradviz.words.speech import several
from gradviz.words.words import Words

_DIVIDES, _MULTIPLIES = {"div", "true_divide"}, {"mul"}


class Values:
    """The values of a recording.

    Args:
        graph: of the recording.
        words: what tensors and calls are called.
        statements: the code that ran.
        trained: the object ids of what steps moved.
    """

    def __init__(
        self, graph: Graph, words: Words, statements: Statements, trained: Set[int]
    ) -> None:
        self.graph, self.words, self.statements = graph, words, statements
        self.trained = trained
        self.facts = Facts.of(graph)

    def remarks(self) -> Iterator[Remark]:
        """Yield what is to be told of them."""
        yield from self.in_no_loss()
        yield from self.overwritten()
        yield from self.factors_that_cancel()
        yield from self.softmax_again()

    # --- in no loss -------------------------------------------------------------------------------

    def in_no_loss(self) -> Iterator[Remark]:
        """Tell of named results with a history that no backward comes to and that are in no loss by
        their values either: what is called a loss first. Of a recording of which a part was dropped
        that is not known."""
        if not self.graph.backwards or not self.words.keeps_all:
            return
        met = self.facts.behind_losses
        behind, begun = self.facts.in_losses, self._last_iteration()
        begun_at = {self.facts.maker[i][1:3] for i in self.facts.losses if i in self.facts.maker}
        for state in self._results():
            maker, edge = self.facts.maker[state.id], state.gradient_edge
            if edge is None or edge.node_id in met or state.id in behind:
                continue
            if self._is_sum_of(state.id, behind):
                continue
            if maker[1:3] in begun_at:  # the same again, after its backward: to be printed
                continue
            is_loss = bool(LOSS.search(state.code_name)) and state.former is None
            if is_loss or (begun < maker.id and self._is_unread(state)):
                yield from self._unused(state, maker, is_loss=is_loss)

    def _is_sum_of(self, tensor_id: int, behind: Set[int]) -> bool:
        """Say whether a number is the sum of what is in losses, or was one itself: it is printed,
        and each of its parts trained."""
        maker = self.facts.maker.get(tensor_id)
        if maker is None or maker.function not in SUMS:
            return False
        tracked = [i for i in maker.inputs if self.graph.tensor[i].requires_grad]
        return all(i in behind or self._is_sum_of(i, behind) for i in tracked)

    def overwritten(self) -> Iterator[Remark]:
        """Tell of losses whose name was given to another result before anything read them: of each
        line the last."""
        bound = [t for t in self.graph.tensors if t.code_name and t.id in self.facts.maker]
        met, read = self.facts.behind_losses, self._lines_read(bound)
        found = dict[object, Remark]()
        for state, again in _next_of_name(bound):
            maker, next_maker = self.facts.maker[state.id], self.facts.maker[again.id]
            edge = state.gradient_edge
            unread = line_of(maker) not in read and state.former is not None
            unread = unread and edge is not None and edge.node_id not in met
            begins = again.id in self.facts.losses  # what a backward begins with is a loss
            is_loss = single(state) and (begins or bool(LOSS.search(state.code_name)))
            if unread and is_loss and state.requires_grad and stands_above(maker, next_maker):
                found[line_of(maker)] = Remark(
                    Weight.IN_VAIN,
                    "overwritten_unread",
                    {
                        "name": state.code_name,
                        "place": self.words.where(maker),
                        "again": self.words.where(next_maker),
                    },
                    (maker, next_maker),
                    frozenset({state.object_id}),
                )
        yield from found.values()

    def _lines_read(self, bound: Iterable[Tensor]) -> set[object]:
        """Return the lines of which another call read what they made, in one pass at least."""
        read = (t.id for t in bound if self.facts.readers.get(t.object_id))
        return {line_of(self.facts.maker[i]) for i in read}

    def _results(self) -> Iterator[Tensor]:
        """Yield the named results of calls, as they are in the end."""
        for state in self.facts.latest_state.values():
            if state.code_name and state.id in self.facts.maker:
                yield state

    def _last_iteration(self) -> int:
        """Return the call after which the last backward's loss was made: the backward before."""
        calls = sorted({b.call_id for b in self.graph.backwards})
        return calls[-2] if len(calls) > 1 else -1

    def _is_unread(self, state: Tensor) -> bool:
        """Say whether a result is a single number from which nothing was computed, and that is not
        called a measurement."""
        if not single(state) or MEASURED.search(state.code_name):
            return False
        readers = self.facts.readers.get(state.object_id, ())
        return all(call.function in LOOKING for call in readers)

    def _unused(self, state: Tensor, maker: Call, *, is_loss: bool) -> Iterator[Remark]:
        """Tell of one such result, where a gradient from it would reach leaves."""
        leaves = self.facts.leaves_reached(state.id)
        if not leaves:
            return
        trained = [t for t in leaves if t.object_id in self.trained] or leaves
        later = [b.call_id for b in self.graph.backwards if b.call_id > maker.id]
        starts = self.graph.call[min(later)].inputs[:1] if later else ()
        fields = {
            "name": self.words.name(state.id),
            "place": self.words.where(maker),
            "leaves": several([self.words.name(leaf.id) for leaf in trained]),
            "loss": self.words.name(starts[0]) if starts else "",
        }
        if (told := self._many(state, maker, fields)) is not None:
            yield told
            return
        if not self._made_there(maker).isdisjoint(self.facts.in_losses):
            return  # in other passes it trains: this one was an evaluation, or the last
        yield Remark(
            Weight.WEIGHTY if is_loss else Weight.ORDINARY,
            "in_no_loss" if starts else "in_no_loss_at_all",
            fields,
            (maker,),
            frozenset({state.object_id, *(leaf.object_id for leaf in leaves)}),
        )

    def _many(self, state: Tensor, maker: Call, fields: dict[str, str]) -> Remark | None:
        """Tell of a result that a line computed again and again, where backward began at few of
        these."""
        made = self._made_there(maker)
        used = [i for i in self.facts.losses if i in made]
        unread = [i for i in made if not self.facts.calls_reading.get(i) and i not in used]
        if not used or len(unread) <= len(used):
            return None
        name = state.former.name if state.former else state.code_name
        times = self.words.times
        seen = {"n": times(len(unread) + len(used)), "used": times(len(used))}
        told = {**fields, "name": name, **seen}
        return Remark(
            Weight.IN_VAIN, "overwritten_losses", told, (maker,), frozenset({state.object_id})
        )

    def _made_there(self, maker: Call) -> set[int]:
        """Return what the calls like one made in its line, those of earlier passes too."""
        place = line_of(maker)
        same = (c for c in self.facts.ordinary_calls if c.function == maker.function)
        return {i for c in same if place is not None and line_of(c) == place for i in c.outputs}

    # --- factors that cancel ----------------------------------------------------------------------

    def factors_that_cancel(self) -> Iterator[Remark]:
        """Tell of a number without history that divides a value and multiplies what was made from
        it: in the gradient the two cancel."""
        dividing = self._scaled(_DIVIDES, 1)
        for call, factor, result in self._scaled(_MULTIPLIES, None):
            for first, divisor, quotient in dividing:
                if factor != divisor or first.id >= call.id:
                    continue
                if quotient in self.facts.reachable([result]):
                    yield self._cancelling(first, call, factor)
                    return

    def _scaled(self, functions: set[str], place: int | None) -> list[tuple[Call, int, int]]:
        """Return the calls of some functions that scale a tracked value by a single number without
        history: each with that number's object and the node it made."""
        found = []
        for call in self.facts.ordinary_calls:
            if call.function not in functions or len(call.inputs) != 2 or not call.outputs:
                continue
            edge = self.graph.tensor[call.outputs[0]].gradient_edge
            for at, tensor_id in enumerate(call.inputs):
                factor = self.graph.tensor[tensor_id]
                is_number = single(factor) and not factor.requires_grad
                if edge is not None and is_number and place in (None, at):
                    found.append((call, factor.object_id, edge.node_id))
        return found

    def _cancelling(self, divides: Call, multiplies: Call, factor: int) -> Remark:
        """Tell of one such number."""
        state = self.facts.latest_state[factor]
        return Remark(
            Weight.WEIGHTY,
            "factors_cancel",
            {
                "name": self.words.name(state.id),
                "divides": self.words.at(divides),
                "multiplies": self.words.at(multiplies),
            },
            (divides, multiplies),
            frozenset({factor}),
        )

    # --- a second softmax -------------------------------------------------------------------------

    def softmax_again(self) -> Iterator[Remark]:
        """Tell of a log_softmax of a log_softmax, also of the one inside cross_entropy."""
        for call in self.facts.ordinary_calls:
            if call.function not in ("log_softmax", "cross_entropy") or not call.inputs:
                continue
            before = self.facts.maker.get(computed(self.facts, call.inputs[0]))
            if before is not None and before.function == "log_softmax":
                yield Remark(
                    Weight.WEIGHTY,
                    "softmax_again",
                    {"first": self.words.at(before), "second": self.words.at(call)},
                    (before, call),
                )
                return


def _next_of_name(bound: Iterable[Tensor]) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each of some results with the next one that was given its name."""
    last = dict[str, Tensor]()
    for state in bound:
        before = last.get(state.code_name)
        if before is not None and before.object_id != state.object_id:
            yield before, state
        last[state.code_name] = state
