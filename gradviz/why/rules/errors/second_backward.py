"""Backward a second time through one graph: which line to change. Plain data in and out, knows no
torch.

What a loop carries over is told by ``Failure.carried_over``; here stands what was computed once,
and what one of two backwards was not meant for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from typing import Any, NamedTuple

from gradviz.graph.effects import ELEMENTWISE_LOSSES
from gradviz.graph.facts import code_of
from gradviz.graph.findings import Cause
from gradviz.graph.records import (
    Backward,
    Call,
    CutReason,
    Node,
    NodeKind,
    SavedState,
    Tensor,
)
from gradviz.graph.training import line_of
from gradviz.names.frames import (
    call_alone,
    frames,
    keepers,
    names_in,
    place_at,
    place_of_keeper,
    variables_of,
)
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.rules.errors.computed_anew import Anew, computed_anew
from gradviz.why.rules.errors.failure import LINE, Failure
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import Code, say, several


def made_once(failure: Failure) -> Explanation | None:
    """Tell that each iteration's backward goes through what was computed once, before the loop."""
    found = of_an_earlier_iteration(failure)
    if found is None:
        return None
    node, maker, earlier, first = found
    leaves = leaves_behind(failure, node, earlier)
    moved = written_between(failure, first)
    learning = objects(leaves) & moved
    is_beside = bool(moved and not learning and other_leaves(failure, node, leaves))
    place = place_of_binding(failure, maker, first)
    form = _form_of_once(failure, found, leaves, place)
    makers = [failure.facts.first_maker.get(t.object_id) for t in leaves]
    besides = _made_once_besides(failure, found, place, form)
    places = in_order([place, *(made.place for made in besides)])
    told = _all_learning(leaves, besides, moved) if learning else leaves
    form, mended = _mend_of_once(failure, found, leaves, places, form)
    return failure.answer(
        Cause.SECOND_BACKWARD,
        form,
        calls=[*places, *(makers if is_beside else [])],
        also_at=[first, failure.call],
        tensors=told,
        nodes=[node],
        codes=[failure.code(call) for call in places],
        leaves=failure.names(told),
        every=[pattern(failure.names(_never_moved(failure, earlier, moved) or leaves))],
        first=failure.written(first),
        name=node.name,
        **mended,
    )


def _mend_of_once(
    failure: Failure, found: Earlier, leaves: list[Tensor], places: list[Call], form: str
) -> tuple[str, dict[str, Any]]:
    """Return the form in which it is told what to do about what was computed once, and what these
    sentences name: where it is detached, or where it can be computed anew."""
    beside = _read_beside_anew(failure, found) if form == "once_learning" else []
    if beside:
        return "once_beside", {"edits": [door.edit(failure) for door in beside]}
    anew = _anew(failure, found, places) if form in ("once_learning", "once_alone") else None
    if anew is None:
        return form, {}
    return "once_alone_above" if form == "once_alone" else "once_learning_above", {
        "anew": [failure.code(call, LINE) for call in anew.statements],
        "above": failure.written(anew.reader),
    }


# what compares two values: a difference, a ratio, or a loss
_COMPARING = ELEMENTWISE_LOSSES | {"sub", "rsub", "div", "true_divide", "kl_div"}


def _read_beside_anew(failure: Failure, found: Earlier) -> list[Door]:
    """Return where each iteration compares what was computed once with what it computes anew, of
    that shape and with the same leaves: what is kept are numbers of before, as the old
    probabilities of a policy, and the advantages by which their ratio is multiplied. None where
    something else becomes of one of these, or it has no name there."""
    doors, is_compared = list[Door](), False
    for tensor in failure.shared(found.run.ran):
        reader = reader_of(failure, [tensor], found.backward, failure.call)
        word = tensor.code_name or ""
        if reader is None or word not in names_in(code_of(reader))[1]:
            return []
        behind = objects(failure.facts.leaves_reached(tensor.id))
        if _meets_anew(failure, found, tensor, behind, _COMPARING):
            is_compared = True
        elif not _is_only_a_factor(failure, found, tensor):
            return []
        doors.append(Door(reader, tensor, word, set()))
    return doors if is_compared else []


def _is_only_a_factor(failure: Failure, found: Earlier, tensor: Tensor) -> bool:
    """Say whether a result only multiplies what was computed anew, of its shape, where this loss
    leads to all of its leaves by other ways, too."""
    behind = objects(failure.facts.leaves_reached(tensor.id))
    is_learned_beside = behind <= _leaves_reached_anew(failure, found)
    return is_learned_beside and _meets_anew(failure, found, tensor, set(), {"mul", "multiply"})


def _leaves_reached_anew(failure: Failure, found: Earlier) -> set[int]:
    """Return the leaves to which this backward goes without what the earlier one has freed."""
    node, leaf_at = failure.graph.node, failure.facts.leaf_at
    freed = {n for n in found.run.ran if node[n].kind is not NodeKind.ACCUMULATE_GRAD}
    roots = failure.run.roots if failure.run else ()
    met = failure.facts.reachable(roots, without=freed)
    return objects(leaf_at[n] for n in met if n in leaf_at)


def _meets_anew(
    failure: Failure, found: Earlier, tensor: Tensor, leaves: set[int], functions: Set[str]
) -> bool:
    """Say whether all that takes a result into this loss is one of some functions of it and of
    another one of the same shape, which leads to some leaves and was made since an earlier
    backward."""
    facts, first = failure.facts, found.backward
    readers = [c for c in facts.calls_reading.get(tensor.id, ()) if c.id > first.id]
    for reader in readers:
        others = [failure.graph.tensor[i] for i in reader.inputs if i != tensor.id]
        alike = [
            t
            for t in others
            if t.shape == tensor.shape
            and (made := facts.maker.get(t.id)) is not None
            and made.id > first.id
            and leaves <= objects(facts.leaves_reached(t.id))
        ]
        if plain_name(reader.function) not in functions or not alike:
            return False
    return bool(readers)


def _anew(failure: Failure, found: Earlier, places: list[Call]) -> Anew | None:
    """Return where what was computed once can be computed in each iteration."""
    first = found.backward
    shared = failure.shared(found.run.ran)
    return computed_anew(
        failure, first, places, shared, lambda call: place_of_binding(failure, call, first)
    )


def _form_of_once(failure: Failure, found: Earlier, leaves: list[Tensor], place: Call) -> str:
    """Tell what was computed once: by whether what it was computed from is updated, or something
    else is."""
    moved = written_between(failure, found.backward)
    if leaves and all(is_without_name(failure, leaf, place) for leaf in leaves):
        return "once_result"
    if objects(leaves) & moved:
        return "once_learning"
    if not other_leaves(failure, found.node, leaves):
        return "once_alone"
    return "once" if moved else "once_unmoved"


def _all_learning(leaves: list[Tensor], besides: list[MadeOnce], moved: set[int]) -> list[Tensor]:
    """Return the leaves behind all that was computed once that have been updated since."""
    every = [*leaves, *(leaf for made in besides for leaf in made.leaves)]
    return [*{t.object_id: t for t in every if t.object_id in moved}.values()]


def in_order(places: list[Call]) -> list[Call]:
    """Return places in the order of their lines."""
    return sorted(places, key=lambda call: call.source.line if call.source else 0)


class MadeOnce(NamedTuple):
    """A statement that computed something once, and the leaves that it was computed from."""

    place: Call
    leaves: list[Tensor]


def _made_once_besides(failure: Failure, found: Earlier, place: Call, form: str) -> list[MadeOnce]:
    """Return the other statements above the loop whose results this backward goes through and the
    earlier one freed: with the first computed anew, it would raise there. Where it is the leaves
    that are to be tracked no more, what only hands on a result is none of them."""
    others = dict[object, MadeOnce]()
    makers = _makers_of_freed if form == "once" else _makers_of_shared
    for maker, leaves in makers(failure, found.run):
        if maker is None or maker.id > found.backward.id or failure.call is None:
            continue
        if failure.made_again(maker, found.backward, failure.call):
            continue
        other = place_of_binding(failure, maker, found.backward)
        if line_of(other) != line_of(place):
            others.setdefault(line_of(other), MadeOnce(other, leaves))
    return [*others.values()]


def _makers_of_shared(
    failure: Failure, earlier: Backward
) -> Iterator[tuple[Call | None, list[Tensor]]]:
    """Yield the calls that made the results at which this backward enters what an earlier one
    freed, and the leaves behind each."""
    facts = failure.facts
    for tensor in failure.shared(earlier.ran):
        yield facts.maker.get(tensor.id), [*facts.leaves_reached(tensor.id)]


def _makers_of_freed(
    failure: Failure, earlier: Backward
) -> Iterator[tuple[Call | None, list[Tensor]]]:
    """Yield the calls that made the nodes that this backward comes to first of those whose saved
    tensors an earlier one freed, and the leaves behind each."""
    graph, facts = failure.graph, failure.facts
    freed = {n for n, runs in facts.runs_that_freed.items() if earlier.run in runs}
    met = facts.reachable(failure.run.roots if failure.run else (), without=freed)
    nexts = {e.next_node_id for n in met for e in graph.edges_from.get(n, ())}
    for node_id in sorted(freed & nexts):
        yield failure.maker(graph.node[node_id]), [*facts.leaves_below(node_id)]


def _never_moved(failure: Failure, earlier: Backward, moved: set[int]) -> list[Tensor]:
    """Return the leaves behind all that was computed once and is shared, where none was moved."""
    facts = failure.facts
    leaves = [leaf for t in failure.shared(earlier.ran) for leaf in facts.leaves_reached(t.id)]
    found = {leaf.object_id: leaf for leaf in leaves}
    return [] if found.keys() & moved else [*found.values()]


def kept_from_before(failure: Failure) -> Explanation | None:
    """Tell of what was computed for an earlier loss, under a line that ran again for this one, and
    was kept in an attribute or an item: a cache."""
    if failure.freed is None or failure.call is None:
        return None
    node, run = failure.freed
    first = failure.graph.call[run.call_id]
    makers = [
        failure.maker(node),
        *(failure.facts.maker.get(t.id) for t in failure.shared(run.ran)),
    ]
    found = [kept for maker in makers if (kept := _kept_of(failure, maker, first)) is not None]
    if not found:
        return None
    kept = found[-1]
    reader = _read_again(failure, kept.maker, first, kept.names)
    if reader is None and not kept.is_called_again:
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "once_kept" if reader is not None else "once_kept_unread",
        calls=list(dict.fromkeys([kept.place, kept.keeper])),
        also_at=[first, reader, failure.call],
        tensors=failure.shared(run.ran),
        nodes=[node],
        kept=several(sorted(kept.names)),
        code=failure.code(kept.place, LINE),
        place=failure.words.where(kept.place),
        reader=failure.written(reader),
        first=failure.written(first),
        name=node.name,
    )


class Kept(NamedTuple):
    """What a call made, kept from one iteration to the next.

    Attributes:
        maker: the call.
        place: its statement.
        keeper: the statement that keeps it, often the same.
        names: the attributes or items that hold it.
        is_called_again: whether a line ran again under which it was made.
    """

    maker: Call
    place: Call
    keeper: Call
    names: set[str]
    is_called_again: bool


def _kept_of(failure: Failure, maker: Call | None, first: Call) -> Kept | None:
    """Return how what a call made is kept; None where it is kept in plain variables alone, or was
    made anew since."""
    if maker is None or maker.id > first.id or failure.call is None or not frames(maker):
        return None
    again, statement = ran_since(failure, first), frames(maker)[0]
    if statement[:2] in again or failure.made_again(maker, first, failure.call):
        return None
    is_called_again = any(frame[:2] in again for frame in frames(maker))
    place = place_at(maker, 0)
    for frame, line, code in keepers(maker):
        names = {n for n in names_in(code)[0] if "." in n or "[" in n}
        if names and frame == statement:
            is_own = code == frame.code
            keeper = place if is_own else place_of_keeper(maker, frame, line, code)
            return Kept(maker, place, keeper, names, is_called_again)
    return None


def _read_again(failure: Failure, maker: Call, first: Call, names: set[str]) -> Call | None:
    """Return the statement of the maker's function that reads a name after an earlier backward."""
    scopes = {variables_of(frame) for frame in frames(maker)[:1]}
    for call in failure.calls_between(first, failure.call) if failure.call else ():
        here = {variables_of(frame) for frame in frames(call)[:1]}
        if scopes & here and names & names_in(code_of(place_at(call, 0)))[1]:
            return place_at(call, 0)
    return None


def is_without_name(failure: Failure, leaf: Tensor, place: Call) -> bool:
    """Say whether a leaf was made in the line of a call, and only what was made of it has a name:
    ``W = torch.randn(3, requires_grad=True) * 0.01``."""
    maker = failure.facts.first_maker.get(leaf.object_id)
    names = {t.name or t.code_name for t in failure.facts.states[leaf.object_id]}
    return maker is not None and line_of(maker) == line_of(place) and not any(names)


class Earlier(NamedTuple):
    """A node that a loop's backward freed and the next iteration's needs, though no iteration made
    it."""

    node: Node
    maker: Call
    run: Backward
    backward: Call


def of_an_earlier_iteration(failure: Failure) -> Earlier | None:
    """Return what two iterations of a loop share, where it was computed before the loop."""
    if failure.freed is None or failure.call is None:
        return None
    node, run = failure.freed
    first, maker = failure.graph.call[run.call_id], failure.maker(node)
    if maker is None or maker.id > first.id or not failure.in_a_loop(first, failure.call):
        return None
    if frames(first) != frames(failure.call):  # one helper, called at two places
        return None
    if failure.made_again(maker, first, failure.call):
        return None
    return Earlier(node, maker, run, first)


def place_of_binding(failure: Failure, maker: Call, first: Call) -> Call:
    """Return the line that binds what a call made: its own, or the one that called the function
    whose result it is; none under which the backward runs too, and none that ran again after an
    earlier backward."""
    named = {n for t in failure.graph.tensors for n in (t.name, t.code_name) if n}
    around = frames(failure.call) if failure.call else ()
    scopes = {variables_of(frame) for frame in around}
    again = ran_since(failure, first)
    for depth in reversed(range(len(frames(maker)))):
        frame = frames(maker)[depth]
        binds = named.intersection(names_in(frame.code)[0])
        is_once = frame not in around and frame[:2] not in again
        if variables_of(frame) in scopes and is_once and binds:
            return place_at(maker, depth)
    return _kept_on_an_object(maker, again) or _only_before(maker, again)


def _kept_on_an_object(maker: Call, again: Set[tuple[str, int]]) -> Call | None:
    """Return the innermost statement under which a call ran, and that did not run again, that gives
    an attribute its value: ``self.adj = self.graph()``."""
    for depth, frame in enumerate(frames(maker)):
        if frame[:2] not in again and any("." in name for name in names_in(frame.code)[0]):
            return place_at(maker, depth)
    return None


def ran_since(failure: Failure, first: Call) -> set[tuple[str, int]]:
    """Return the lines that ran between a call and the one that raised, by file."""
    between = failure.calls_between(first, failure.call) if failure.call else []
    return {frame[:2] for call in between for frame in frames(call)}


def _only_before(maker: Call, again: Set[tuple[str, int]]) -> Call:
    """Return the innermost statement under which a call ran and that did not run again: a helper
    may run in each iteration, too."""
    depths = (d for d, frame in enumerate(frames(maker)) if frame[:2] not in again)
    return place_at(maker, next(depths, 0)) if frames(maker) else maker


def leaves_behind(failure: Failure, node: Node, earlier: Backward) -> list[Tensor]:
    """Return the leaves behind the tensors through which a backward comes to a node that an earlier
    one freed."""
    facts = failure.facts
    entered = [t.gradient_edge for t in failure.shared(earlier.ran)]
    ways = [e.node_id for e in entered if e and node.id in facts.reachable([e.node_id])]
    leaves = [t for n in ways or [node.id] for t in facts.leaves_below(n)]
    return list({t.object_id: t for t in leaves}.values())


def other_leaves(failure: Failure, node: Node, leaves: list[Tensor]) -> list[Tensor]:
    """Return the leaves that this backward would still reach, if what stands at a node were
    detached."""
    inside = failure.facts.reachable(failure.run.roots if failure.run else ())
    behind = failure.facts.reachable([node.id])
    above = failure.facts.above([node.id])
    outer = failure.facts.reachable(failure.run.roots if failure.run else (), inside - behind)
    kept = {leaf.object_id for leaf in leaves}
    found = [failure.facts.leaf_at.get(n) for n in outer - above - behind]
    return [t for t in found if t is not None and t.object_id not in kept]


def written_between(failure: Failure, first: Call) -> set[int]:
    """Return the objects that were written between a call and the one that raised: by a step, or by
    hand."""
    graph, last = failure.graph, failure.call
    if last is None:
        return set()
    return {
        graph.tensor[e.after_id].object_id
        for e in failure.facts.writes
        if first.id < e.call_id < last.id
    }


def moved_between(failure: Failure, first: Call) -> set[int]:
    """Return the objects whose numbers were written between a call and the one that raised: what
    was only cleared is none of these."""
    tensor, last = failure.graph.tensor, failure.call
    between = (e for e in failure.facts.writes if last and first.id < e.call_id < last.id)
    return {tensor[e.after_id].object_id for e in between if failure.facts.writes_memory(e)}


def meant_for_one(failure: Failure) -> Explanation | None:
    """Tell that one of two losses shares a part that it was not meant to train: the steps between
    the two backwards say which."""
    two = TwoBackwards.of(failure)
    if two is None or not two.shared or two.is_same_graph:
        return None
    if not two.trained:
        return None
    if two.trained.isdisjoint(two.behind):
        return not_meant(failure, two)
    if not two.own or not two.already:
        return trained_by_both(failure, two)
    return stepped_already(failure, two)


class TwoBackwards:
    """A backward that freed a part of the graph, and the one that needs it: what each is for, as
    the steps between them and the optimizers say.

    Args:
        failure: of the second one.
        node: that found what it had saved gone.
        earlier: the first one; of several, which all freed what this one needs, the last.
    """

    def __init__(self, failure: Failure, node: Node, *earlier: Backward) -> None:
        self.failure = failure
        self.node = node
        self.earlier = earlier[-1]
        self.all_earlier = earlier
        self.first = failure.graph.call[self.earlier.call_id]
        self.moved = moved_between(failure, failure.graph.call[earlier[0].call_id])
        self.of_first = [leaf for run in earlier for leaf in leaves_of_run(failure, run)]
        self.trained = objects(self.of_first) & self.moved

    @classmethod
    def of(cls, failure: Failure) -> TwoBackwards | None:
        """Return the two; None where they are not known."""
        if failure.freed is None or failure.call is None or failure.run is None:
            return None
        return cls(failure, *failure.freed)

    def with_all(self) -> TwoBackwards:
        """Return the same of all backwards that freed what the second one needs: once nothing goes
        back to one of them, the next would raise."""
        facts, last = self.failure.facts, self.failure.call
        met = facts.reachable(self.roots)
        runs = {run for n in met for run in facts.runs_that_freed.get(n, ())}
        freed = [b for b in self.failure.graph.backwards if b.run in runs]
        before = [b for b in freed if last is not None and b.call_id < last.id]
        return TwoBackwards(self.failure, self.node, *before) if before else self

    @property
    def is_same_graph(self) -> bool:
        """Whether both go through the same graph."""
        return set(self.roots) <= set(self.earlier.ran)

    @property
    def roots(self) -> tuple[int, ...]:
        """The nodes at which the second one began."""
        return () if self.failure.run is None else self.failure.run.roots

    @cached_property
    def shared(self) -> list[Tensor]:
        """The tensors at which the second one enters what the first one freed."""
        found = [t for run in self.all_earlier for t in self.failure.shared(run.ran)]
        return list({t.id: t for t in found}.values())

    @cached_property
    def behind(self) -> set[int]:
        """The leaves behind what is shared."""
        facts = self.failure.facts
        return objects(t for s in self.shared for t in facts.leaves_reached(s.id))

    @cached_property
    def of_second(self) -> list[Tensor]:
        """The leaves to which the second one goes."""
        return list(leaves_from(self.failure, self.roots))

    @cached_property
    def own(self) -> set[int]:
        """The leaves of the second one that no step has moved, and those that an optimizer has
        together with them."""
        left = objects(self.of_second) - self.moved
        beside = [held for held in self.failure.optimizers if left & held]
        return left.union(*beside) & objects(self.of_second) if left else left

    @cached_property
    def already(self) -> set[int]:
        """The leaves of the second one that the first one has trained, and that are not its own."""
        return (objects(self.of_second) & self.moved) - self.own

    def leaves(self, wanted: set[int]) -> list[str]:
        """Return the names of some leaves of either."""
        both = [*self.of_first, *self.of_second]
        return self.failure.names(t for t in both if t.object_id in wanted)

    @cached_property
    def words(self) -> dict[str, Any]:
        """What the sentences about them name."""
        failure = self.failure
        return {
            "name": self.node.name,
            "node": failure.made_by(self.node),
            "first": failure.written(self.first),
            "second": failure.written(failure.call),
            "shared": failure.names(self.shared),
            "sum": sum_of_losses(failure, self.first),
        }

    def answer(self, cause: Cause, form: str, *, place: Call, **fields: Any) -> Explanation:
        """Return the answer at one line, and at the two backwards."""
        give = self.failure.answer
        return give(
            cause,
            form,
            calls=[place, self.failure.call],
            also_at=[self.first, reader_of(self.failure, self.shared, None, self.failure.call)],
            tensors=self.shared,
            nodes=[self.node],
            code=self.failure.code(place, LINE),
            detached=self.failure.detached_in(place, self.shared),
            **fields,
        )


def not_meant(failure: Failure, two: TwoBackwards) -> Explanation | None:
    """Tell of a first loss that goes through what its step did not move."""
    reader = reader_of(failure, two.shared, None, two.first, into=two.first)
    return (
        None
        if reader is None
        else two.answer(Cause.SECOND_BACKWARD, "not_meant", place=reader, **two.words)
    )


def trained_by_both(failure: Failure, two: TwoBackwards) -> Explanation | None:
    """Tell of two losses that both train what they share, with a step between their backwards."""
    place = whole_of(failure, two.shared[0])
    if place is None:
        return None
    mends = _mends_of_both(failure, two)
    return two.answer(
        Cause.SECOND_BACKWARD, "trained_by_both", place=place, mends=mends, **two.words
    )


def _mends_of_both(failure: Failure, two: TwoBackwards) -> list[str]:
    """Say how two losses train what they share: where both are there before the step, by their sum;
    else by what is computed anew below it."""
    root = failure.graph.tensor[failure.call.inputs[0]] if failure.call is not None else None
    maker = None if root is None else failure.facts.maker.get(root.id)
    anew = say("raised.shared_anew", shared=failure.names(two.shared))
    if maker is None or maker.id > two.first.id:
        return [anew, say("raised.sum_otherwise", sum=sum_of_losses(failure, two.first))]
    sum_first = say("raised.sum_first", **two.words)
    cleared = [say("raised.cleared_above")] if _are_cleared_between(failure, two) else []
    return [
        sum_first,
        *cleared,
        say("raised.after_the_step", second=two.words["second"], anew=anew),
    ]


def _are_cleared_between(failure: Failure, two: TwoBackwards) -> bool:
    """Say whether gradients of the second loss were cleared between the two backwards."""
    facts, tensor = failure.facts, failure.graph.tensor
    leaves = objects(two.of_second)
    between = (
        e for e in facts.writes if failure.call and two.first.id < e.call_id < failure.call.id
    )
    cleared = (e for e in between if not facts.writes_memory(e))
    return any(tensor[e.after_id].object_id in leaves for e in cleared)


def stepped_already(failure: Failure, two: TwoBackwards) -> Explanation | None:
    """Tell of a second loss that goes on into what the first one has trained, beside what it is to
    train itself: at once, or through what both computed with its weights."""
    every = two.with_all()
    if every.own and every.behind <= every.already:
        two = every
    others = {"already": two.leaves(two.already), "own": two.leaves(two.own - two.already)}
    if two.behind <= two.already:
        second = failure.call
        reader = reader_of(failure, two.shared, two.first, second, into=second)
        reader = reader or reader_of(failure, two.shared, None, second, into=second)
        if reader is None:
            return None
        return two.answer(
            Cause.SECOND_BACKWARD, "stepped_already", place=reader, **two.words, **others
        )
    met = failure.facts.reachable(two.roots)
    doors = doors_of(failure, met, two.already, two.own)
    place = whole_of(failure, two.shared[0])
    if not doors or place is None:
        return trained_by_both(failure, two)
    return two.answer(
        Cause.SECOND_BACKWARD,
        "anew_detached",
        place=place,
        edits=[door.edit(failure) for door in doors],
        **two.words,
        **others,
    )


def sum_of_losses(failure: Failure, first: Call) -> str:
    """Return the code of one backward in the place of two: from the sum of the losses; where one
    was handed a gradient, from both at once, as what they began from need not be one number."""
    calls = [call for call in (first, failure.call) if call is not None and call.inputs]
    roots = [failure.graph.tensor[call.inputs[0]] for call in calls]
    names = [tensor.code_name for tensor in roots]
    scopes = {variables_of(frame) for call in calls for frame in frames(call)[:1]}
    if len({*names} - {""}) < 2 or len(scopes) > 1:
        return say("raised.sum_of_losses")
    given = [_gradient_given(call, name) for call, name in zip(calls, names, strict=True)]
    if not any(given):
        return Code(f"({' + '.join(names)}).backward()")
    starts = ", ".join(code or "None" for code in given)
    return Code(f"torch.autograd.backward([{', '.join(names)}], [{starts}])")


def _gradient_given(call: Call, name: str) -> str:
    """Return the code of the gradient that a backward from a variable was handed; "" of none."""
    alone = call_alone(code_of(place_at(call, 0)))
    if alone is None or ast.unparse(alone.func) != f"{name}.backward":
        return ""
    by_name = (word.value for word in alone.keywords if word.arg == "gradient")
    value = next(iter([*alone.args[:1], *by_name]), None)
    return "" if value is None else ast.unparse(value)


def let_in(failure: Failure) -> Explanation | None:
    """Tell where a loss lets in, with its history, what another network made: the step after its
    backward moved nothing of that network, which is trained elsewhere or detached elsewhere."""
    two = TwoBackwards.of(failure)
    if two is None or not two.trained or two.is_same_graph:
        return None
    foreign = two.behind - two.moved
    doors = doors_of(failure, {*two.earlier.ran}, foreign, two.trained) if foreign else []
    if not doors or not is_kept_apart(failure, foreign, doors, two.first):
        return None
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "let_in" if two.behind <= foreign else "let_in_anew",
        calls=[*dict.fromkeys(door.place for door in doors), failure.call],
        also_at=[two.first],
        tensors=[door.tensor for door in doors],
        nodes=[two.node],
        **{
            **two.words,
            "values": list(dict.fromkeys(door.called(failure) for door in doors)),
            "edits": list(dict.fromkeys(door.edit(failure) for door in doors)),
            "leaves": _leaves_behind_doors(failure, doors),
            "others": two.leaves(two.trained),
        },
    )


def _leaves_behind_doors(failure: Failure, doors: list[Door]) -> list[str]:
    """Return the names of the leaves from which all that is handed over was computed."""
    reached = (failure.facts.leaves_reached(door.tensor.id) for door in doors)
    return failure.names(leaf for leaves in reached for leaf in leaves)


class Door(NamedTuple):
    """Where what one network made comes to be computed with another's weights.

    Attributes:
        place: the statement that hands it over.
        tensor: what is handed over.
        word: what the statement calls it, "" where it has no name there.
        history: the states of what it was made from, by that network alone, itself included.
    """

    place: Call
    tensor: Tensor
    word: str
    history: set[int]

    def called(self, failure: Failure) -> str:
        """Return what is handed over, as code."""
        return Code(self.word or failure.word_in(self.place, self.tensor))

    def edit(self, failure: Failure) -> str:
        """Say how it is handed over without its history."""
        code = failure.code(self.place, LINE)
        return say("raised.detached_in", value=self.called(failure), code=code)


def doors_of(failure: Failure, met: Set[int], foreign: set[int], trained: set[int]) -> list[Door]:
    """Return where the nodes that a backward meets go over from the leaves that it was to train to
    others, each once."""
    tensor, facts = failure.graph.tensor, failure.facts
    made = {failure.graph.node[n].call_id for n in met}
    found = dict[int, Door]()
    for call in (c for c in failure.graph.calls if c.id in made):
        inside = [i for i in call.inputs if is_of(failure, tensor[i], foreign)]
        reached = {o for i in call.outputs for o in objects(facts.leaves_reached(i))}
        if inside and not trained.isdisjoint(reached):
            behind = (i for i in facts.ancestors(inside[:1]) if is_of(failure, tensor[i], foreign))
            door = opened(failure, call, sorted(behind), made)
            found.setdefault(door.tensor.object_id, door)
    return [*found.values()]


def opened(failure: Failure, call: Call, history: list[int], made: set[int | None]) -> Door:
    """Return the statement that hands over what one network made to a call, and what it says."""
    states = [failure.graph.tensor[i] for i in history]
    chain = [t for t in states if t.name or t.code_name] or states
    place = handed_at(call, chain)
    if place is None:
        readers = failure.facts.readers.get(chain[-1].object_id, ())
        place = next((c for c in readers if c.id in made), call)
    read = names_in(code_of(place))[1]
    named = [(t, n) for t in chain for n in {t.code_name, t.name or ""} & read if n]
    handed, word = named[-1] if named else (chain[-1], "")
    return Door(place, handed, word, {*history})


def handed_at(call: Call, chain: list[Tensor]) -> Call | None:
    """Return the outermost statement above a call in which the name of one of these tensors
    stands."""
    names = {n for t in chain for n in (t.name, t.code_name) if n}
    depths = (d for d, frame in enumerate(frames(call)) if names & names_in(frame.code)[1])
    deepest = max(depths, default=None)
    return None if deepest is None else place_at(call, deepest)


def is_of(failure: Failure, tensor: Tensor, leaves: set[int]) -> bool:
    """Say whether a result leads to some of these leaves, and to no others."""
    behind = objects(failure.facts.leaves_reached(tensor.id)) if tensor.requires_grad else set()
    return bool(behind) and behind <= leaves and not tensor.is_leaf


def is_kept_apart(failure: Failure, leaves: set[int], doors: list[Door], first: Call) -> bool:
    """Say whether something speaks for it that a loss was not to train these leaves: an optimizer
    of its own has them, their gradients were cleared after its backward, or the same value is
    detached elsewhere."""
    detached = {CutReason.DETACH, CutReason.DETACH_IN_PLACE, CutReason.DATA}
    cuts = (c for c in failure.graph.cuts if c.reason in detached)
    others = {*failure.graph.held} | written_between(failure, first)
    history = {i for door in doors for i in door.history}
    return leaves <= others or any(c.input_id in history for c in cuts)


def objects(tensors: Iterable[Tensor]) -> set[int]:
    """Return the ids of the objects that tensors are states of."""
    return {t.object_id for t in tensors}


def leaves_of_run(failure: Failure, run: Backward) -> list[Tensor]:
    """Return the leaves at which a backward arrived."""
    nodes = (failure.graph.node[n] for n in run.ran)
    leaves = (failure.facts.leaf_at.get(n.id) for n in nodes if n.kind is NodeKind.ACCUMULATE_GRAD)
    return [t for t in leaves if t is not None]


def leaves_from(failure: Failure, node_ids: Iterable[int]) -> Iterator[Tensor]:
    """Yield the leaves to which a gradient goes from nodes, each once."""
    met = failure.facts.reachable(node_ids)
    yield from (leaf for n, leaf in failure.facts.leaf_at.items() if n in met)


def reader_of(
    failure: Failure,
    shared: list[Tensor],
    after: Call | None,
    before: Call | None,
    *,
    into: Call | None = None,
) -> Call | None:
    """Return the line that takes shared tensors into the loss of one backward: the first call
    between two, told where its arguments are written; where ``into`` is given, one that leads to
    what that backward was called on."""
    ids = objects(shared)
    tensors = failure.graph.tensor
    behind = None if into is None else failure.facts.ancestors(into.inputs[:1])
    for call in failure.graph.calls:
        if before is not None and call.id >= before.id:
            return None
        if after is not None and call.id <= after.id:
            continue
        if behind is not None and behind.isdisjoint(call.outputs):
            continue
        if ids & {tensors[i].object_id for i in call.inputs}:
            return at_the_argument(failure, call, shared)
    return None


def at_the_argument(failure: Failure, call: Call, shared: list[Tensor]) -> Call:
    """Return the place of a call where the name of a shared tensor is written, as far out as the
    scope of the backward."""
    names = {n for t in shared for n in (t.name, t.code_name) if n}
    for depth, frame in enumerate(frames(call)):
        if names & names_in(frame.code)[1]:
            return place_at(call, depth)
    return call


def freed_unseen(failure: Failure) -> Explanation:
    """Tell that an earlier backward was not recorded."""
    nodes = [
        node
        for node in failure.nodes_behind_given_root
        if any(saved.state is SavedState.FREED for saved in node.saved)
    ]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "unseen",
        nodes=nodes[:1],
        more=failure.unrecorded(say("unrecorded.freed")),
        node=failure.made_by(nodes[0]) if nodes else say("raised.some_node"),
    )


def _called_twice(failure: Failure, node: Node, first: Call) -> Explanation | None:
    """Tell that two statements go backward from one and the same loss, each by the innermost
    statement that the other does not have in common with it: both may call one helper."""
    assert failure.call is not None
    pairs = zip(frames(first), frames(failure.call), strict=False)
    depth = next((d for d, (one, other) in enumerate(pairs) if one[:2] != other[:2]), None)
    if depth is None or not failure.inputs:
        return None
    places = [place_at(first, depth), place_at(failure.call, depth)]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "same_loss",
        calls=places,
        also_at=[first],
        tensors=failure.inputs[:1],
        nodes=[node],
        loss=failure.name(failure.inputs[0]),
        first=failure.written(places[0]),
        second=failure.written(places[1]),
    )


# what only takes parts of a value
_PARTS = frozenset({"chunk", "split", "unbind"})


def whole_of(failure: Failure, tensor: Tensor) -> Call | None:
    """Return the statement that binds what a tensor is a part of."""
    whole = computed(failure.facts, tensor.id, _PARTS)
    return failure.binding(failure.graph.tensor[whole])


def run_twice(failure: Failure) -> Explanation | None:
    """Tell that two backwards went through the same graph, or through a part that two losses
    share."""
    if failure.freed is None or failure.run is None:
        return None
    node, earlier = failure.freed
    first = failure.graph.call[earlier.call_id]
    shared = failure.shared(earlier.ran)
    same = set(failure.run.roots) <= set(earlier.ran)
    if failure.run.roots == earlier.roots and (twice := _called_twice(failure, node, first)):
        return twice
    makers = [whole_of(failure, t) for t in shared[:1]]
    return failure.answer(
        Cause.SECOND_BACKWARD,
        "same_graph" if same else "shared" if shared else "twice",
        calls=[*([] if same else makers), first, failure.call],
        tensors=shared,
        nodes=[node],
        name=node.name,
        node=failure.made_by(node),
        first=failure.written(first),
        second=failure.written(failure.call),
        shared=several(failure.names(shared)),
        sum=sum_of_losses(failure, first),
    )
