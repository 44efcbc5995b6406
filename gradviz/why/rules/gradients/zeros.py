"""Why is this gradient exactly zero: which node sent only zeros, and is that as it should be. What
is known of it stands in ``why/evidence/zero_flow.py``. Knows no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from gradviz.graph.findings import Cause, Sure
from gradviz.graph.preview import number
from gradviz.graph.records import Call, Node, Tensor
from gradviz.graph.training import line_of
from gradviz.why.evidence.handed_on import computed, plain_name
from gradviz.why.evidence.loss_rows import loss_rows
from gradviz.why.evidence.paths import CHECKED_IN_LOSS, Asked, Slot
from gradviz.why.evidence.zero_flow import FACTORS, FLAT, HOOK, ZeroFlow
from gradviz.why.rules.gradients.first_step import first_step_alone
from gradviz.why.rules.gradients.zero_slopes import Reason, at_minimum, reason
from gradviz.why.shown.explanation import Explanation
from gradviz.words.speech import say

# what puts several values side by side, and multiplies none
_PARTS = frozenset({"__getitem__", "select", "narrow", "index_select"})
_JOINING = ("Stack", "Cat", "Unbind", "Split", "Select", "Slice", "Index")
_CAST = "ToCopy"
# what makes a tensor of zeros
_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros"})
# what writes a gradient as clipping and scaling do
_BOUNDING = ("_foreach_clamp", "_foreach_mul", "_foreach_div", "clamp", "clip", "mul_", "div_")
# of a gradient that is there
_CHECKED = CHECKED_IN_LOSS[:3]


class Zeros(ZeroFlow):
    """The answers about gradients that are there, and are all zeros."""

    # --- zeros were written over it ---------------------------------------------------------------

    def zeroed(self, asked: Asked) -> Explanation | None:
        """Tell that zeros were written into its .grad."""
        if (cleared := self.cleared(asked)) is None:
            return None
        call, stored = cleared
        checked = ("cut", "frozen", "zero_slope")
        form = "scaled_to_zeros" if call.function.startswith(_BOUNDING) else "zeroed"
        return self.answer(
            asked,
            Cause.ZERO_GRADIENT,
            form,
            calls=[call],
            checked=checked,
            stored=stored,
            code=self.words.statement(call),
        )

    # --- backward began with zeros ----------------------------------------------------------------

    def zeros_from_the_start(self, asked: Asked) -> Explanation | None:
        """Tell that every backward that reached it began with a gradient of zeros."""
        calls = self.begun_with_zeros(asked)
        if not calls:
            return None
        return self.answer(
            asked,
            Cause.ZERO_GRADIENT,
            "begun_with_zeros",
            calls=calls[-1:],
            checked=_CHECKED,
            code=self.words.statement(calls[-1]),
        )

    # --- between two nodes something else became zeros --------------------------------------------

    def became_zeros(self, asked: Asked) -> Explanation | None:
        """Tell that between two nodes something else than zeros became zeros."""
        slots = sorted(slot for slot, unlike in self.zero_makers(asked) or () if unlike)
        if not slots:
            return None
        nodes = [self.graph.node[i] for i in dict.fromkeys(node_id for node_id, _ in slots)]
        if self.hook_stands_at(asked, slots):
            return self.answer(
                asked,
                Cause.CHANGED_BY_HOOK,
                "to_zeros",
                calls=self.hook_calls(asked),
                nodes=[node.id for node in nodes],
                checked=(*_CHECKED, "zero_slope"),
                node=nodes[0].name,
            )
        how = say("zero.came_as_zeros", node=nodes[0].name)
        return self.answer(
            asked,
            Cause.ZERO_GRADIENT,
            "zero",
            calls=self.calls_in_order(nodes),
            nodes=[node.id for node in nodes],
            checked=(*_CHECKED, "zero_slope"),
            sure=Sure.LIKELY,
            zeros=say("zero.everywhere", how=how),
            why=[say("zero.something_between")],
            mend="",
        )

    def hook_calls(self, asked: Asked) -> list[Call]:
        """Return the calls that put hooks on the gradient of the tensor."""
        objects = {t.object_id for t in self.states(asked)}
        hooked = self.facts.hooks
        calls = (e.call_id for e in hooked if self.graph.tensor[e.tensor_id].object_id in objects)
        return [self.graph.call[i] for i in calls]

    def hook_stands_at(self, asked: Asked, slots: Sequence[Slot]) -> bool:
        """Say whether all these edges lead to the tensor itself, and it has a hook."""
        end = self.node_of(asked)
        if not asked.hooked or end is None:
            return False
        edges = [e for slot in slots for e in self.graph.edges_from[slot[0]] if e[:2] == slot]
        return {e.next_node_id for e in edges} == {end[0]}

    # --- only zeros were sent to it ---------------------------------------------------------------

    def stopped(self, asked: Asked) -> Explanation | None:
        """Tell that all its gradient comes along edges on which only zeros went."""
        stops = self.stopping(asked)
        if not stops or len(self.moved_at(asked)) >= len(stops):
            return None
        end = self.node_of(asked)
        if end and end[0] in self.open and not self.zero_makers(asked):
            return None  # something else may come on another way
        nearest = self.nearest(asked, stops)
        return self.of_zero_loss(asked, nearest) or self.zero_because(asked, nearest)

    def zero_because(self, asked: Asked, stops: list[Slot]) -> Explanation:
        """Tell that all its gradient comes through these edges, along which only zeros went."""
        nodes = [self.graph.node[node_id] for node_id, _ in stops]
        began = first_step_alone(self.facts, self.words, asked.name, nodes)
        if began is not None:
            return self.sends_zeros(asked, nodes, began.why, mend=began.mend)
        factors = [t for slot in stops if (t := self.blocked[slot]) is not None]
        if factors:
            return self.of_factors(asked, nodes, factors, alone=len(factors) == len(stops))
        if self.parts_cancel(nodes, stops):
            return self.sends_zeros(asked, nodes, say("zero.cancels_there"), cancels=True)
        least = at_minimum(self.facts, nodes)
        if least is not None:
            return self.at_least(asked, nodes, least)
        known = self.why_zero(nodes, stops)
        return self.sends_zeros(asked, nodes, known.why, mend=known.mend)

    def of_factors(
        self, asked: Asked, nodes: list[Node], factors: list[Tensor], *, alone: bool
    ) -> Explanation:
        """Tell of gradients that are multiplied by zeros.

        Args:
            asked: what has the gradient.
            nodes: those at which it is multiplied.
            factors: the tensors that are all zeros.
            alone: whether nothing else made its zeros.
        """
        if alone and self.start_later(asked, factors):
            return self.starts_later(asked, nodes, factors)
        if alone and self.are_both_zero(asked, factors):
            return self.answer(
                asked,
                Cause.ZERO_GRADIENT,
                "both_zero",
                calls=[*self.calls_in_order(nodes), *self.zeroing_of(asked)],
                nodes=[node.id for node in nodes],
                tensors=[t.id for t in factors],
                checked=_CHECKED,
                factors=self.names_of(factors),
            )
        return self.times_zeros(asked, nodes, factors)

    def of_zero_loss(self, asked: Asked, stops: list[Slot]) -> Explanation | None:
        """Tell that the loss of the last backward is exactly 0 itself, and that of an earlier one
        was not: nothing of the last batch counts, or it is learned."""
        rows = (r for r in loss_rows(self.facts) if r.calls[-1].inputs[0] in self.losses)
        row = next((r for r in rows if r.values[-1] == 0 and any(r.values)), None)
        if row is None:
            return None
        nodes = [self.graph.node[node_id] for node_id, _ in stops]
        return self.answer(
            asked,
            Cause.HEALTHY,
            "loss_zero_now",
            calls=[*self.calls_in_order(nodes), row.calls[-1]],
            nodes=[node.id for node in nodes],
            checked=_CHECKED,
            before=number(next(v for v in reversed(row.values) if v)),
            n=len(row.values),
        )

    def times_zeros(
        self, asked: Asked, nodes: Sequence[Node], factors: Sequence[Tensor]
    ) -> Explanation:
        """Tell that its gradient is multiplied by tensors that are all zeros."""
        names = self.names_of(factors)
        why = say("zero.zero_factors", factors=names)
        fixed = not any(t.requires_grad for t in factors)
        mend = say("zero.mend_zero_factors", factors=names) if fixed else ""
        return self.sends_zeros(asked, nodes, why, mend=mend, factors=factors)

    def zeroing_of(self, asked: Asked) -> list[Call]:
        """Return the call that filled a leaf with zeros last, where one was recorded."""
        states = self.states(asked)
        return self.zeroing(states[-1].object_id) if states else []

    def at_least(self, asked: Asked, nodes: Sequence[Node], loss: Call) -> Explanation:
        """Tell that the loss is as small as it can be: zero is its gradient."""
        return self.answer(
            asked,
            Cause.HEALTHY,
            "at_minimum",
            calls=[loss],
            nodes=[node.id for node in nodes],
            checked=_CHECKED,
            code=self.words.code(loss),
        )

    def sends_zeros(
        self,
        asked: Asked,
        nodes: Sequence[Node],
        why: str,
        *,
        mend: str = "",
        factors: Iterable[Tensor] = (),
        cancels: bool = False,
    ) -> Explanation:
        """Tell that these nodes send only zeros back."""
        casts = all(node.name.startswith(_CAST) for node in nodes)
        how = say("zero.sends_zeros", nodes=list(dict.fromkeys(node.name for node in nodes)))
        return self.answer(
            asked,
            Cause.UNDERFLOW if casts else Cause.ZERO_GRADIENT,
            "cancels" if cancels else "zero",
            calls=self.calls_in_order(nodes),
            nodes=[node.id for node in nodes],
            tensors=[t.id for t in factors],
            checked=_CHECKED,
            how=how,
            zeros=say("zero.everywhere", how=how),
            why=[why],
            mend=mend,
        )

    def names_of(self, tensors: Iterable[Tensor]) -> list[str]:
        """Name these tensors, each name once."""
        return list(dict.fromkeys(self.words.name(t.id) for t in tensors))

    def calls_in_order(self, nodes: Iterable[Node]) -> list[Call]:
        """Return the calls that made these nodes, each once."""
        call_ids = dict.fromkeys(node.call_id for node in nodes)
        return [self.graph.call[i] for i in call_ids if i is not None]

    def _mend_flat(self, nodes: Sequence[Node]) -> str:
        """Say what to write in place of a bound that nothing came under: one behind exp() may be
        meant for the logarithm."""
        calls = self.calls_in_order(nodes)
        given = [i for call in calls for i in call.inputs[:1]]
        makers = {m.function for i in given if (m := self.facts.maker.get(i)) is not None}
        if makers == {"exp"}:
            return say("zero.mend_flat_exp", function="exp")
        return say("zero.mend_flat")

    def why_zero(self, nodes: Sequence[Node], stops: Sequence[Slot]) -> Reason:
        """Say what is known of nodes that sent only zeros although something else arrived."""
        if self.sent_nothing(stops):
            return Reason(say("zero.empty"))
        if any(node.name.startswith(HOOK) for node in nodes):
            return Reason(say("zero.module_hook"))
        if any(node.name.startswith(_CAST) for node in nodes):
            return Reason(say("zero.cast"))
        if (known := self.at_zero(nodes) or reason(self.facts, nodes)) is not None:
            return known
        if all(node.name.startswith(FLAT) for node in nodes):
            return Reason(say("zero.flat"), self._mend_flat(nodes))
        if (partly := self.partly(nodes)) is not None:
            return partly
        if (made := self.made_of_zeros(nodes)) is not None:
            name, call = made
            place = self.words.at(call)
            return Reason(say("zero.of_zeros", name=name, place=place), say("zero.mend_of_zeros"))
        if all(node.name in FACTORS for node in nodes) and (names := self.factors_of(stops)):
            return Reason(say("zero.times", factors=names))
        return Reason(say("zero.sent_zeros"))

    def of_the_first(self, nodes: Sequence[Node]) -> Reason | None:
        """Say why those of some nodes sent only zeros from whose results the others were
        computed; None where all stand side by side, or it is not known."""
        later = self.computed_from_others(nodes)
        first = [node for node in nodes if node not in later]
        known = reason(self.facts, first) if later and first else None
        if known is None:
            return None
        names, others = (list(dict.fromkeys(n.name for n in some)) for some in (first, later))
        return Reason(say("zero.of_first", names=names, why=known.why, others=others), known.mend)

    def computed_from_others(self, nodes: Sequence[Node]) -> list[Node]:
        """Return those of some nodes whose calls were given what the others' calls made."""
        calls = [(node, self.graph.call.get(node.call_id)) for node in nodes]
        made = {i for _, call in calls if call is not None for i in call.outputs}
        behind = self.facts.ancestors
        return [n for n, c in calls if c is not None and not made.isdisjoint(behind(c.inputs))]

    def partly(self, nodes: Sequence[Node]) -> Reason | None:
        """Say why, where that is known of a part of the nodes, or of what they gave."""
        return self.behind_ends(nodes) or self.part_unread(nodes) or self.of_the_first(nodes)

    def behind_ends(self, nodes: Sequence[Node]) -> Reason | None:
        """Say that what is read of padded sequences is the padding alone."""
        functions = {call.function for call in self.calls_in_order(nodes)}
        if functions != {"_pad_packed_sequence"}:
            return None
        return Reason(say("zero.behind_ends"), say("zero.mend_behind_ends"))

    def part_unread(self, nodes: Sequence[Node]) -> Reason | None:
        """Say that the only part of what was put side by side which is read is another one: the
        zeros are for what stands beside it."""
        call = self.graph.call.get(nodes[0].call_id) if len(nodes) == 1 else None
        if call is None or not nodes[0].name.startswith(("Stack", "Cat")):
            return None
        readers = [c for i in call.outputs for c in self.facts.calls_reading.get(i, ())]
        parts = [c for c in readers if plain_name(c.function) in _PARTS and c.source is not None]
        if not parts or len(parts) < len([c for c in readers if c.function != "size"]):
            return None
        places = list(dict.fromkeys(self.words.at(c) for c in parts))
        return Reason(say("zero.part_unread", places=places), say("zero.mend_part_unread"))

    def made_of_zeros(self, nodes: Sequence[Node]) -> tuple[str, Call] | None:
        """Return the input of the only node's call that was made of zeros and never written, and
        what made it; of several nodes of one line the last one's, where each has such an input."""
        if any(node.name.startswith(_JOINING) for node in nodes):
            return None
        calls = [self.graph.call[node.call_id] for node in nodes if node.call_id is not None]
        if len(calls) < len(nodes) or len({line_of(call) or call.id for call in calls}) != 1:
            return None
        made = [self._zeros_in(call) for call in dict.fromkeys(calls)]
        return made[-1] if all(made) else None

    def _zeros_in(self, call: Call) -> tuple[str, Call] | None:
        """Return the input of a call that was made of zeros and never written, and what made it."""
        for tensor_id in call.inputs:
            start = computed(self.facts, tensor_id)
            maker = self.facts.maker.get(start)
            state = self.graph.tensor[start]
            if maker is None or maker.function not in _ZEROS or state.requires_grad:
                continue
            if "float" not in (state.dtype or ""):
                continue  # places and classes: nothing is multiplied by them
            writes = self.facts.writes_by_object.get(state.object_id, ())
            if not any(self.facts.writes_memory(e) for e in writes):
                return self.words.name(start), maker
        return None

    def at_zero(self, nodes: Sequence[Node]) -> Reason | None:
        """Say that what goes into relu is exactly 0, because a layer before it is all zeros."""
        calls = [c for node in nodes if (c := self.graph.call.get(node.call_id)) and c.inputs]
        of_relu = [c for c in calls if plain_name(c.function) == "relu"]
        layers = [self.zero_layer(call) for call in of_relu]
        if len(of_relu) < len(nodes) or not all(layers):
            return None
        found = {t.object_id: t for leaves in layers for t in leaves}
        names = self.names_of(found.values())
        made = [c for i in found for c in self.zeroing(i)][:1]
        place = say("zero.made_zero", place=self.words.where(made[0])) if made else ""
        return Reason(
            say("zero.at_zero", names=names, n=len(names), function="relu", made=place),
            say("zero.mend_at_zero", name=names[0]),
        )

    def factors_of(self, stops: Sequence[Slot]) -> list[str]:
        """Name what the gradients along these edges are multiplied by, each once; nothing where
        one of them is not known."""
        edges = [
            e for s in stops for e in self.graph.edges_from[s[0]] if e.next_index == self.factor(*s)
        ]
        names = [self.words.name(i) for e in edges if (i := self.tensor_at(e)) is not None]
        known = len(edges) == len(stops) == len(names)
        return list(dict.fromkeys(names)) if known else []

    # --- it is multiplied by zeros that will not stay: LoRA's A in the first step -----------------

    def starts_later(self, asked: Asked, nodes: list[Node], factors: list[Tensor]) -> Explanation:
        """Tell that it is multiplied by zeros that will not stay."""
        return self.answer(
            asked,
            Cause.HEALTHY,
            "zero_factor",
            calls=self.calls_in_order(nodes),
            nodes=[node.id for node in nodes],
            tensors=[t.id for t in factors],
            checked=_CHECKED,
            factors=self.names_of(factors),
            n=len(set(factors)),
        )

    # --- several gradients add up to 0 ------------------------------------------------------------

    def cancels(self, asked: Asked) -> Explanation | None:
        """Tell that several gradients reach it, or what it is computed in, and add up to 0."""
        end = self.node_of(asked)
        if end is None or asked.hooked:
            return None
        parts, ways = self.cancelling(end[0]), self.cancelling_ways(asked)
        if not parts and not ways:
            return None
        nodes = [self.graph.node[node_id] for node_id, _ in ways]
        why = say("zero.ways_cancel", it=asked.name)
        return self.answer(
            asked,
            Cause.ZERO_GRADIENT,
            "cancels",
            calls=self.calls_of(nodes),
            nodes=[node.id for node in nodes],
            checked=(*_CHECKED, "zero_slope"),
            how=say("zero.adds_up"),
            why=[say("zero.parts_cancel", parts=parts, it=asked.name) if parts else why],
            mend=say("zero.mend_cancels") if self.calls_of(nodes) else "",
        )

    # --- which node made the zeros is not proven --------------------------------------------------

    def zero_unproven(self, asked: Asked) -> Explanation:
        """Tell which node may have made the zeros: which one did is not proven."""
        moved = self.moved_at(asked)
        able = [] if moved else self.able_nodes(self.node_of(asked))
        moved = moved or self.moved_above(asked)
        written = not moved and self.something_arrived(asked)
        suspects = [] if written else self.suspects(asked, able)
        # Without a loss, or a node, it may be as it should be.
        proven = self.roots and suspects and not moved
        likely = Sure.LIKELY if self.recorded else Sure.POSSIBLE
        return self.answer(
            asked,
            Cause.ZERO_GRADIENT if proven else Cause.NOT_KNOWN,
            "zero",
            calls=self.calls_of(able),
            nodes=[node.id for node in able],
            checked=_CHECKED if self.reaches(asked) else ("frozen",),
            sure=likely if suspects else Sure.PROVEN,
            zeros=say("zero.there"),
            why=self.why_unproven(suspects, moved, written),
            mend="",
        )

    def why_unproven(
        self, suspects: list[str], moved: Iterable[Tensor], written: bool
    ) -> list[str]:
        """Say what may have made the zeros, and how to learn more."""
        lines = []
        if written:
            lines.append(say("zero.written_or_cancels"))
        if suspects:
            either = reduce(lambda one, other: say("zero.either", one=one, other=other), suspects)
            lines.append(say("zero.likely" if self.recorded else "zero.possible", suspects=either))
        if factors := self.names_of(moved):
            lines.append(say("zero.like_lora", factors=factors))
        lines = lines or [say("zero.not_known")]
        return lines if self.recorded else [*lines, self.record]

    def calls_of(self, nodes: Iterable[Node]) -> list[Call]:
        """Return the calls that made these nodes, in their order."""
        call_ids = {node.call_id for node in nodes if node.call_id is not None}
        return [self.graph.call[i] for i in sorted(call_ids)]

    def suspects(self, asked: Asked, able: Iterable[Node]) -> list[str]:
        """Say what may have made the zeros, each once."""
        suspects = [say("zero.may_be_hook")] if asked.hooked else []
        for node in able:
            of_module = node.name.startswith(HOOK)
            suspects.append(
                say("zero.may_be_module_hook" if of_module else "zero.may_be_flat", node=node.name)
            )
        return list(dict.fromkeys(suspects))
