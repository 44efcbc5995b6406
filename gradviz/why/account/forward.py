"""What a forward computed that has no effect, or another one than it seems to have: factors that
are 1, scores that cannot be negative, a custom Function whose backward never runs. Knows no
torch."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator

from gradviz.graph.effects import ELEMENTWISE_LOSSES, PRODUCTS
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Tensor
from gradviz.graph.training import line_of
from gradviz.names.written import (
    arguments_written,
    dim_written,
    factors_written,
    module_written,
    operands_written,
)
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.alike import Ways
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.why.evidence.softmaxes import SOFTMAX, dim_of, runs_over_one
from gradviz.words.speech import Code, say
from gradviz.words.words import Words

# what takes scores of either sign
_OF_SCORES = {"log_softmax", "cross_entropy", "binary_cross_entropy_with_logits"}
# what puts scores beside others, as long as the rows stay the last dimension but one
_KEEPS_THE_ROWS = frozenset(
    "stack cat expand unsqueeze __getitem__ div true_divide mul clone contiguous float to".split()
)
_BOUNDING = KEEPING | {"clamp", "clip"}
_OF_ONE_SIGN = {"relu", "relu6"}
# what keeps a value off zero before its logarithm is taken
_KEEPS_OFF_ZERO = {"add", "radd", "clamp", "clamp_min", "clip"}
# what compares predictions with targets, element by element
_COMPARES = ELEMENTWISE_LOSSES | {"sub"}
_ADDS_A_DIMENSION = {"unsqueeze", "__getitem__", "view", "reshape", "t", "transpose", "expand"}
_ADDS = {"add", "__add__", "__radd__", "__iadd__"}
_LOSSES = ELEMENTWISE_LOSSES | (_OF_SCORES - {"log_softmax"}) | {"nll_loss", "binary_cross_entropy"}
_RESHAPES = {"view", "reshape"}
_OF_EACH_ROW = ELEMENTWISE_LOSSES | {"binary_cross_entropy"}
_ONE_OF_EACH_ROW = {"nll_loss", "cross_entropy", "gather"}
_ONE_HOT = {"one_hot", "eye", "scatter"}
# what leads from the terms of a loss to their sum
_TO_A_SUM = PRODUCTS | {"neg", "mean", "sum", "min", "minimum", "max", "maximum", "clamp"}
_STEPS_TO_A_SUM = 5
_APPLY = ".apply"
_OF_HOOKS = "BackwardHookFunction"  # torch's own, around a module with a backward hook


class Forward:
    """What was computed.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """

    def __init__(self, facts: Facts, words: Words) -> None:
        self.facts, self.words, self.graph = facts, words, facts.graph
        self.behind = facts.in_losses

    def remarks(self) -> Iterator[Remark]:
        """Yield what is to be told of it."""
        yield from self.not_recorded()
        yield from self.spread_out()
        yield from self.one_for_all()
        yield from self.over_the_batch()
        yield from self.over_the_samples()
        yield from self.softmax_of_equals()
        yield from self.mixed_by_a_view()
        yield from self.multiplied_by_zero()
        yield from self.one_of_many()
        yield from self.added_twice()
        yield from self.scores_of_one_sign()
        yield from self.scales_above_one()
        yield from self.powers_of_zero()
        yield from self.differences_from_itself()

    def _on_the_way(self) -> Iterator[Call]:
        """Yield the calls on the way to a loss, of each line, function, module and piece of code
        the last one: ``logits.view(-1, 3)`` beside ``y.view(-1)`` is another."""
        calls = {
            (line_of(call) or call.id, call.function, call.module, code_of(call)): call
            for call in self.facts.ordinary_calls
            if not self.behind.isdisjoint(call.outputs)
        }
        yield from calls.values()

    def not_recorded(self) -> Iterator[Remark]:
        """Tell of custom Functions that no tensor which requires grad was given: their backward
        never runs. Where the same line was given one in another call, that is its first layer,
        whose input needs no gradient, unless it was given a parameter."""
        tensor = self.graph.tensor
        recorded = {
            line_of(call)
            for call in self.facts.ordinary_calls
            if call.function.endswith(_APPLY) and any(tensor[i].requires_grad for i in call.outputs)
        }
        for call in self._on_the_way():
            if not self._is_kept_off(call):
                continue
            of_layer = {tensor[i].object_id for i in call.inputs} & self.facts.of_modules
            if line_of(call) in recorded - {None} and not of_layer:
                continue
            function = call.function.removesuffix(_APPLY)
            fields = {"function": function, "call": self.words.at(call)}
            objects = frozenset(tensor[i].object_id for i in call.inputs)
            yield Remark(Weight.WEIGHTY, "not_recorded", fields, (call,), objects)

    def _is_kept_off(self, call: Call) -> bool:
        """Say whether a call is of a custom Function that was given tensors, none of which requires
        grad, where gradients are recorded."""
        is_own = call.function.endswith(_APPLY) and not call.function.startswith(_OF_HOOKS)
        if not is_own or not call.grad_mode or not call.inputs:
            return False
        return not any(self.graph.tensor[i].requires_grad for i in (*call.inputs, *call.outputs))

    def scores_of_one_sign(self) -> Iterator[Remark]:
        """Tell of scores that went through a function which gives no negative numbers."""
        for call in self._on_the_way():
            if call.function in _OF_SCORES and call.inputs:
                state = computed(self.facts, call.inputs[0])
                yield from self._of_one_sign("scores_of_one_sign", call, state)

    def scales_above_one(self) -> Iterator[Remark]:
        """Tell of an exponential of what a function without negative numbers made, as of the
        logarithm of a scale: it is never below 1."""
        for call in self._on_the_way():
            if plain_name(call.function) == "exp" and call.inputs:
                state = self._before_scaling(call.inputs[0])
                yield from self._of_one_sign("scale_above_one", call, state)

    def _of_one_sign(self, key: str, call: Call, tensor_id: int) -> Iterator[Remark]:
        """Tell of a call that takes what a function made which gives no negative numbers."""
        maker = self.facts.maker.get(tensor_id)
        function = plain_name(maker.function) if maker is not None else ""
        if maker is None or function not in _OF_ONE_SIGN:
            return
        fields = {"function": function, "made": self.words.at(maker), "call": self.words.at(call)}
        yield Remark(Weight.WEIGHTY, key, fields, (maker, call))

    def _before_scaling(self, tensor_id: int) -> int:
        """Return what a tensor holds, before it was bounded, or multiplied by a number above 0 that
        is written there."""
        state = computed(self.facts, tensor_id, _BOUNDING)
        maker = self.facts.maker.get(state)
        scales = maker is not None and plain_name(maker.function) in PRODUCTS
        if maker is None or not scales or len(maker.inputs) != 1:
            return state
        factors = factors_written(maker)
        is_above = len(factors) == 1 and factors[0].value > 0
        return computed(self.facts, maker.inputs[0], _BOUNDING) if is_above else state

    def spread_out(self) -> Iterator[Remark]:
        """Tell of a column of predictions that is compared with a row of as many targets, or
        multiplied by one and summed up: that takes each with every other."""
        for call in self._on_the_way():
            multiplies = plain_name(call.function) in PRODUCTS and self._is_summed_up(call)
            compares = plain_name(call.function) in _COMPARES
            n = self._column_and_row(call) if compares or multiplies else 0
            if n < 2:
                continue
            one, other = (self.graph.tensor[i] for i in call.inputs)
            target = self._to_be_shaped(call, n, compares=compares)
            names = self._names_there(call)
            fields = {
                "call": self.words.at(call),
                "one": names[one.id],
                "other": names[other.id],
                "n": n,
                "target": names[target.id],
                "shaped": "unsqueeze(1)" if target.shape == (n,) else "squeeze(1)",
            }
            key = "spread_out" if compares else "multiplied_out"
            yield Remark(Weight.WEIGHTY, key, fields, (call,))

    def _names_there(self, call: Call) -> dict[int, str]:
        """Return what the two inputs of a call are called in its line, by tensor id: a fix there
        can use no other names. Where that cannot be read, what they are called anywhere."""
        known = [self.graph.tensor[i].code_name for i in call.inputs]
        names = [name or self.words.name(i) for i, name in zip(call.inputs, known, strict=True)]
        written = operands_written(code_of(call))
        if written is not None:
            there = [written.one, written.other]
            # what a library calls in that line may be given something else
            module = (call.module or "").rpartition(".")[2]  # which is called in that line itself
            is_direct = written.callee in ("", plain_name(call.function), module)
            is_met = any(a == b for a, b in zip(there, known, strict=True))
            names = there if is_direct or is_met else names
        return dict(zip(call.inputs, map(Code, names), strict=True))

    def _to_be_shaped(self, call: Call, n: int, *, compares: bool) -> Tensor:
        """Return which of a column and a row of n is to get the shape of the other: the one without
        a history, where what the call gives may have either shape."""
        one, other = (self.graph.tensor[i] for i in call.inputs)
        column = other if other.shape == (n, 1) else one
        if not other.requires_grad and not one.requires_grad:
            return column  # what takes the result may have one dimension as well as two
        if compares and self._meets_a_row(call, n):
            return column
        return other if one.requires_grad else one

    def _meets_a_row(self, call: Call, n: int) -> bool:
        """Say whether what a call gives is taken together with a row of n later on: as an advantage
        with log-probabilities, which a column would spread out once more."""
        todo, seen = [*call.outputs], set[int]()
        for tensor_id in todo:  # grows as it is read
            for reader in self.facts.calls_reading.get(tensor_id, ()):
                if reader.id in seen or (n, n) not in self._shapes(reader.outputs):
                    continue
                seen.add(reader.id)
                if (n,) in self._shapes(reader.inputs):
                    return True
                todo.extend(reader.outputs)
        return False

    def _shapes(self, tensor_ids: Iterable[int]) -> set[tuple[int, ...] | None]:
        """Return the shapes of some tensors."""
        return {self.graph.tensor[i].shape for i in tensor_ids}

    def _is_summed_up(self, call: Call) -> bool:
        """Say whether nothing but one number is made of the result of a call."""
        for _ in range(_STEPS_TO_A_SUM):
            readers = [c for i in call.outputs for c in self.facts.calls_reading.get(i, ())]
            after = [c for c in readers if not self.behind.isdisjoint(c.outputs)]
            if len(after) != 1 or plain_name(after[0].function) not in _TO_A_SUM:
                return False
            call = after[0]
            if self.graph.tensor[call.outputs[0]].shape == ():
                return True
        return False

    def _column_and_row(self, call: Call) -> int:
        """Return how many numbers a call is given as a column, and as a row besides, of which one
        is no prediction where the call is no loss; 0 where it is given others, or the code made the
        column on purpose."""
        given = [self.graph.tensor[i] for i in call.inputs]
        shapes = {t.shape for t in given}
        n = max((shape[0] for shape in shapes if shape), default=0)
        on_purpose = any(map(self._is_made_a_column, given))
        alike = len(given) != 2 or shapes != {(n,), (n, 1)} or on_purpose
        # of two results a difference may be meant so; a loss of prediction and target is not
        by_choice = call.function not in ELEMENTWISE_LOSSES and all(t.requires_grad for t in given)
        return 0 if alike or by_choice else n

    def _is_made_a_column(self, tensor: Tensor) -> bool:
        """Say whether the call that made a tensor gave it a dimension more, or others an order:
        what takes one column of several gives it one less."""
        maker = self.facts.maker.get(tensor.id)
        if maker is None or maker.function not in _ADDS_A_DIMENSION or not maker.inputs:
            return False
        if len(tensor.shape or ()) == 1:
            return False  # no column
        before, after = self.graph.tensor[maker.inputs[0]].shape or (), tensor.shape or ()
        if maker.function == "__getitem__" and len(after) == len(before):
            return before[1:] != after[1:]  # else some of the rows, as a batch is taken
        return len(after) >= len(before)

    def over_the_batch(self) -> Iterator[Remark]:
        """Tell of a softmax over the first dimension of scores from which a loss takes one of each
        row."""
        for call in self._on_the_way():
            scores = self._scores_of_rows(call)
            maker = None if scores is None else self._before_logarithm(scores)
            if maker is None or maker.function not in SOFTMAX or maker.source is None:
                continue
            shape = self.graph.tensor[maker.inputs[0]].shape or ()
            dim = dim_written(maker.source, maker.function)
            if len(shape) == 2 and shape[0] > 1 and dim in (0, -2):
                yield self._over_the_batch(maker, call, shape[0])

    def _over_the_batch(self, maker: Call, loss: Call, n: int) -> Remark:
        """Tell of one such softmax; of a module's, with where that is made."""
        made = None if maker.source is None else module_written(maker.source, maker.function)
        fields = {
            "call": self.words.at(maker),
            "function": maker.function,
            "n": n,
            "loss": self.words.at(loss),
            "layer": "" if made is None else self.words.source(made),
        }
        of_each = loss.function in _OF_EACH_ROW
        key = "over_the_batch_of_all" if of_each else "over_the_batch"
        if made is not None:
            key = "layer_over_the_batch_of_all" if of_each else "layer_over_the_batch"
        places = () if made is None else (made,)
        return Remark(Weight.WEIGHTY, key, fields, (maker, loss), statements=places)

    def over_the_samples(self) -> Iterator[Remark]:
        """Tell of the logarithm of a softmax over the samples that a linear layer gave scores, in a
        cross-entropy that is written out: the product with targets of the same shape."""
        for call in self._on_the_way():
            logarithm = self._weighed_logarithm(call)
            softmax = None if logarithm is None else self._before_logarithm(logarithm)
            if softmax is None or softmax.function not in SOFTMAX:
                continue
            shape = self.graph.tensor[softmax.inputs[0]].shape or ()
            dim = dim_of(self.facts, softmax)
            if dim is None or len(shape) < 2 or dim % len(shape) != len(shape) - 2:
                continue
            if min(shape[-2:]) < 2 or not self._is_of_samples(softmax.inputs[0], shape[-2]):
                continue
            weights = [i for i in call.inputs if not self.graph.tensor[i].requires_grad]
            if self.facts.ancestors(weights) & self.facts.ancestors([softmax.inputs[0]]):
                continue  # of what the scores are made of: no targets
            fields = {
                "call": self.words.at(softmax),
                "function": softmax.function,
                "dim": str(dim),
                "n": shape[-2],
                "of": shape[-1],
                "product": self.words.at(call),
            }
            yield Remark(Weight.WEIGHTY, "over_the_samples", fields, (softmax, call))

    def _weighed_logarithm(self, call: Call) -> int | None:
        """Return the tracked factor of a product with untracked numbers of the same shape."""
        if plain_name(call.function) not in PRODUCTS or len(call.inputs) != 2:
            return None
        tracked = [i for i in call.inputs if self.graph.tensor[i].requires_grad]
        one, other = (self.graph.tensor[i].shape for i in call.inputs)
        return tracked[0] if len(tracked) == 1 and one == other else None

    def _is_of_samples(self, tensor_id: int, n: int) -> bool:
        """Say whether scores are what a linear layer made of so many rows, each with its own, side
        by side with others or scaled."""
        maker = self.facts.maker.get(tensor_id)
        while maker is not None and plain_name(maker.function) in _KEEPS_THE_ROWS:
            maker = self.facts.maker.get(maker.inputs[0])
        if maker is None or maker.function != "linear":
            return False
        given, weight = (self.graph.tensor[i] for i in maker.inputs[:2])
        is_layer = weight.object_id in self.facts.of_modules
        return is_layer and len(given.shape or ()) == 2 and (given.shape or ())[0] == n

    def softmax_of_equals(self) -> Iterator[Remark]:
        """Tell of a softmax over one score, or over scores that are computed alike: what it gives
        is constant."""
        for call in self._on_the_way():
            function = plain_name(call.function)
            if function not in SOFTMAX or not self.graph.tensor[call.outputs[0]].requires_grad:
                continue
            parts = self._joined_alike(call)
            fields = {"call": self.words.at(call), "function": function}
            if self._always_over_one(call):
                fields["value"] = "1" if function == "softmax" else "0"
                yield Remark(Weight.WEIGHTY, "softmax_of_one", fields, (call,))
            elif parts:
                fields |= {"n": str(len(parts)), "share": f"1/{len(parts)}"}
                fields["one"] = self.words.at(parts[-1])
                yield Remark(Weight.WEIGHTY, "softmax_of_equals", fields, (call, *parts[-1:]))

    def _always_over_one(self, call: Call) -> bool:
        """Say whether a softmax, each time that its line ran, was taken over one number."""
        if not runs_over_one(self.facts, call):
            return False
        same = (c for c in self.facts.ordinary_calls if c.function == call.function)
        here = [c for c in same if line_of(c) == line_of(call) and c.module == call.module]
        return all(runs_over_one(self.facts, c) for c in here)

    def _joined_alike(self, call: Call) -> list[Call]:
        """Return what computed the scores of a softmax, where these are several that were joined
        along its dimension, and that were computed by the same calls of the same tensors."""
        joining = self.facts.maker.get(call.inputs[0])
        if joining is None or joining.function not in ("cat", "stack") or call.source is None:
            return []
        parts = [self.facts.maker.get(computed(self.facts, i)) for i in joining.inputs]
        makers = [part for part in parts if part is not None]
        joined = dim_written(joining.source, joining.function) if joining.source else None
        ways = Ways(self.facts)
        alike = len(set(map(ways.of, joining.inputs))) == 1
        if len(makers) < 2 or len(makers) < len(parts) or not alike:
            return []
        return makers if joined == dim_written(call.source, call.function) else []

    def mixed_by_a_view(self) -> Iterator[Remark]:
        """Tell of a view that gives the sizes of a tensor in another order: that moves no
        dimension, and cuts the numbers up anew."""
        for call in self._on_the_way():
            if call.function not in _RESHAPES or not call.inputs or not call.outputs:
                continue
            before, after = (
                self.graph.tensor[i].shape or () for i in (call.inputs[0], call.outputs[0])
            )
            is_tracked = self.graph.tensor[call.inputs[0]].requires_grad
            # data is laid out anew where it is loaded; in a forward it is as the layers want it
            if not is_tracked and (call.module_call is None or not _reordered(before, after)):
                yield from self._batch_moved(call, before, after)
                continue
            if _cuts_rows(call, before, after):
                continue
            if not _reordered(before, after):
                yield from self._mixed_by_a_merge(call, before, after)
                continue
            order = [str(before.index(size)) for size in after]
            fields = {
                "call": self.words.at(call),
                "before": list(map(str, before)),
                "after": list(map(str, after)),
                "function": call.function,
                "order": order,
            }
            yield Remark(Weight.WEIGHTY, "mixed_by_a_view", fields, (call,))

    def _batch_moved(
        self, call: Call, before: tuple[int, ...], after: tuple[int, ...]
    ) -> Iterator[Remark]:
        """Tell of a view of data that is to move the samples to another dimension."""
        order = _order_with_batch_moved(before, after)
        if not order or not self._is_given_to_layers(call):
            return
        squeezed = "".join(f".squeeze({dim})" for dim in _of_size_one(before)[::-1])
        fields = {
            "call": self.words.at(call),
            "before": list(map(str, before)),
            "after": list(map(str, after)),
            "function": call.function,
            "n": before[0],
            "dim": after.index(before[0]),
            "name": self.words.as_written(call.inputs[0]),
            "squeezed": squeezed,
            "order": list(map(str, order)),
        }
        yield Remark(Weight.WEIGHTY, "batch_moved_by_a_view", fields, (call,))

    def _is_given_to_layers(self, call: Call) -> bool:
        """Say whether a layer reads what a call made."""
        readers = (c for i in call.outputs for c in self.facts.calls_reading.get(i, ()))
        return any(c.module_call is not None for c in readers)

    def _mixed_by_a_merge(
        self, call: Call, before: tuple[int, ...], after: tuple[int, ...]
    ) -> Iterator[Remark]:
        """Tell of a view that merges dimensions over one that comes out at another place."""
        size = _moved_size(before, after)
        if size is not None:
            fields = {
                "call": self.words.at(call),
                "before": list(map(str, before)),
                "after": list(map(str, after)),
                "function": call.function,
                "size": size,
            }
            yield Remark(Weight.WEIGHTY, "mixed_by_a_merge", fields, (call,))

    def multiplied_by_zero(self) -> Iterator[Remark]:
        """Tell of a summand of a loss that is multiplied by a number which is 0."""
        for call in self._on_the_way():
            if plain_name(call.function) not in PRODUCTS or len(call.inputs) != 1:
                continue
            (given,), made = (self.graph.tensor[i] for i in call.inputs), call.outputs
            values = self.graph.tensor[made[0]].values if made else None
            is_zero = values in ("0", "-0") and given.values not in ("0", "-0", None)
            factor = _other_factor(call, self.words.name(given.id))
            # a 0 that is written there is meant
            if not is_zero or not given.requires_grad or factor in ("0", "0.0"):
                continue
            fields = {
                "code": self.words.at(call),
                "factor": factor or say("label.the_factor"),
                "name": self.words.name(given.id),
            }
            yield Remark(Weight.WEIGHTY, "multiplied_by_zero", fields, (call,))

    def one_of_many(self) -> Iterator[Remark]:
        """Tell of a loss without reduction of which one element alone goes on."""
        for call in self._on_the_way():
            maker = self.facts.maker.get(call.inputs[0]) if call.inputs else None
            if call.function != "__getitem__" or maker is None or maker.function not in _LOSSES:
                continue
            before = self.graph.tensor[call.inputs[0]]
            after = self.graph.tensor[call.outputs[0]].shape if call.outputs else None
            readers = [c for c in self.facts.calls_reading.get(before.id, ()) if c.id != call.id]
            n = math.prod(before.shape or ())
            if after != () or n < 2 or readers:
                continue
            fields = {"code": self.words.at(call), "n": n, "function": maker.function}
            yield Remark(Weight.WEIGHTY, "one_of_many", fields, (maker, call))

    def added_twice(self) -> Iterator[Remark]:
        """Tell of a summand that a sum of single numbers has in it already."""
        for call in self._on_the_way():
            if plain_name(call.function) not in _ADDS or len(call.inputs) != 2:
                continue
            parts = [self._summands(i) for i in call.inputs]
            twice = [i for i in parts[0] if i in parts[1]]
            if not twice or set(parts[0]) == set(parts[1]):
                continue
            first = [c for c in self.facts.calls_reading.get(twice[0], ()) if c.id < call.id]
            adding = [c for c in first if plain_name(c.function) in _ADDS]
            fields = {
                "code": self.words.at(call),
                "name": self.words.name(twice[0]),
                "first": self.words.at(adding[0]) if adding else "",
            }
            yield Remark(Weight.WEIGHTY, "added_twice", fields, (*adding[:1], call))

    def _summands(self, tensor_id: int) -> list[int]:
        """Return the tracked numbers of which a single number is the sum, itself where it is
        none."""
        maker, tensor = self.facts.maker.get(tensor_id), self.graph.tensor[tensor_id]
        if maker is None or not tensor.requires_grad or math.prod(tensor.shape or ()) != 1:
            return []
        if plain_name(maker.function) not in _ADDS:
            return [tensor_id]
        return [i for given in maker.inputs for i in self._summands(given)]

    def _scores_of_rows(self, call: Call) -> int | None:
        """Return the scores from which a call takes one of each row, or compares each row: those of
        a loss, or what is multiplied by rows that have one 1 each; None of other calls."""
        if call.function in _ONE_OF_EACH_ROW | _OF_EACH_ROW:
            return next(iter(call.inputs), None)
        if plain_name(call.function) not in PRODUCTS or len(call.inputs) != 2:
            return None
        one, other = call.inputs
        if self._is_one_hot(other):
            return one
        return other if self._is_one_hot(one) else None

    def _is_one_hot(self, tensor_id: int) -> bool:
        """Say whether a tensor was made as rows that have one 1 each."""
        maker = self.facts.maker.get(computed(self.facts, tensor_id))
        return maker is not None and plain_name(maker.function) in _ONE_HOT

    def _before_logarithm(self, scores: int) -> Call | None:
        """Return what made some scores; where a logarithm was taken, what made its input, before a
        number was added to that or bounded it."""
        maker = self.facts.maker.get(computed(self.facts, scores))
        if maker is None or maker.function != "log":
            return maker
        maker = self.facts.maker.get(computed(self.facts, maker.inputs[0]))
        kept_off = maker is not None and plain_name(maker.function) in _KEEPS_OFF_ZERO
        if maker is not None and kept_off and len(maker.inputs) == 1:
            return self.facts.maker.get(computed(self.facts, maker.inputs[0]))
        return maker

    def one_for_all(self) -> Iterator[Remark]:
        """Tell of a batch of predictions that is compared with a target of one row."""
        losses = ELEMENTWISE_LOSSES  # x - x.mean(0, keepdim=True) is meant
        for call in (c for c in self._on_the_way() if plain_name(c.function) in losses):
            given = [self.graph.tensor[i] for i in call.inputs]
            tracked = [t for t in given if t.requires_grad]
            if len(given) != 2 or len(tracked) != 1:
                continue
            (prediction,), (target,) = tracked, [t for t in given if not t.requires_grad]
            shape, of = target.shape or (), prediction.shape or ()
            if not _is_one_row_of(shape, of):
                continue
            fields = {
                "call": self.words.at(call),
                "one": self.words.name(prediction.id),
                "other": self.words.name(target.id),
                "shape": list(map(str, of)),
                "single": list(map(str, shape)),
                "n": of[0],
            }
            yield Remark(Weight.WEIGHTY, "one_for_all", fields, (call,))

    def powers_of_zero(self) -> Iterator[Remark]:
        """Tell of powers whose exponent is 0: they are 1, and change nothing as a factor."""
        for call in self._on_the_way():
            if plain_name(call.function) not in ("pow", "__pow__") or call.source is None:
                continue
            given = arguments_written(call.source, plain_name(call.function))
            zero = next((n for n in given if n.value == 0), None)
            if zero is not None:
                fields = {"call": self.words.at(call), "exponent": zero.code}
                objects = frozenset(self.graph.tensor[i].object_id for i in call.outputs)
                yield Remark(Weight.WEIGHTY, "power_of_zero", fields, (call,), objects)

    def differences_from_itself(self) -> Iterator[Remark]:
        """Tell of a value from which its own detached value is taken, or by which it is divided:
        that is 0, or 1, with the gradient of the value."""
        for call in self._on_the_way():
            divides = plain_name(call.function) in ("div", "true_divide")
            is_one = divides or self._is_exponent(call)
            if not is_one or not self._is_of_itself(call):
                continue
            key = "divided_by_itself" if divides else "minus_itself"
            fields = {"call": self.words.at(call), "name": self.words.name(call.inputs[0])}
            yield Remark(Weight.WEIGHTY, key, fields, (call,))

    def _is_exponent(self, call: Call) -> bool:
        """Say whether a difference goes into exp: another may be a straight-through estimate."""
        readers = (c for i in call.outputs for c in self.facts.calls_reading.get(i, ()))
        is_read = any(plain_name(c.function) == "exp" for c in readers)
        return is_read and plain_name(call.function) == "sub"

    def _is_of_itself(self, call: Call) -> bool:
        """Say whether a call takes a tracked value, and the same value detached."""
        if len(call.inputs) != 2:
            return False
        own, other = (self.graph.tensor[i] for i in call.inputs)
        maker = self.facts.maker.get(other.id)
        detached = maker.inputs[:1] if maker is not None and maker.function == "detach" else ()
        return detached == (own.id,) and bool(own.requires_grad) and not other.requires_grad


def _is_one_row_of(shape: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """Say whether a shape is that of a batch of one, beside a batch of more.

    >>> _is_one_row_of((1, 3), (8, 3)), _is_one_row_of((8, 3), (8, 3)), _is_one_row_of((1,), (8,))
    (True, False, False)
    """
    return len(shape) >= 2 and shape[0] == 1 and shape[1:] == batch[1:] and batch[0] >= 2


def _reordered(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Say whether two shapes have the same sizes in another order, each size once.

    >>> _reordered((2, 4, 5), (2, 5, 4)), _reordered((2, 4, 5), (8, 5)), _reordered((4, 4), (4, 4))
    (True, False, False)
    >>> _reordered((3, 1), (1, 3))
    False
    """
    known = len(set(before)) == len(before) and 1 not in before
    return known and before != after and sorted(before) == sorted(after)


def _of_size_one(shape: tuple[int, ...]) -> list[int]:
    """Return the dimensions of size 1."""
    return [dim for dim, size in enumerate(shape) if size == 1]


def _order_with_batch_moved(before: tuple[int, ...], after: tuple[int, ...]) -> list[int]:
    """Return the order of dimensions that gives a shape of samples the sizes of another one, with
    the samples not first; sizes of 1 apart. Empty where that is not what the second shape is.

    >>> _order_with_batch_moved((50, 1, 28, 28), (28, 50, 28))
    [1, 0, 2]
    >>> _order_with_batch_moved((8, 8, 4), (4, 8, 8))
    []
    """
    sizes = [size for size in before if size != 1]
    is_same = len(sizes) > 2 and 1 not in after and sorted(sizes) == sorted(after)
    if not is_same or before[0] in (1, after[0]) or sizes.count(before[0]) > 1:
        return []
    left, order = [*enumerate(sizes)], list[int]()
    for size in after:
        found = next(pair for pair in left if pair[1] == size)
        left.remove(found)
        order.append(found[0])
    return order


def _cuts_rows(call: Call, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Say whether a view that leaves one size to torch (-1) cuts rows into whole parts, or joins
    whole ones: boxes of four numbers each, in a batch that happens to be of four."""
    code = call.source.code if call.source is not None else None
    if len(before) != 2 or len(after) != 2 or not all(after + before) or "-1" not in (code or ""):
        return False
    return 0 in (before[1] % after[1], after[1] % before[1])


def _other_factor(call: Call, name: str) -> str:
    """Return the number beside the tensor in a product, as it is written; "" where that is not
    clear.

    Args:
        call: of the product.
        name: what the tensor is called.
    """
    code = call.source.code if call.source is not None else ""
    try:
        tree = ast.parse((code or "").strip())
    except SyntaxError:
        return ""
    products = [n for n in ast.walk(tree) if isinstance(n, ast.BinOp)]
    products = [n for n in products if isinstance(n.op, ast.Mult)]
    if len(products) != 1:
        return ""
    sides = [products[0].left, products[0].right]
    literals = [ast.unparse(side) for side in sides if isinstance(side, ast.Constant)]
    others = literals or [text for text in map(ast.unparse, sides) if text != name]
    return others[0] if len(others) == 1 else ""


def _moved_size(before: tuple[int, ...], after: tuple[int, ...]) -> int | None:
    """Return a size that a view gives at another place than it had, among dimensions that it
    merges; None where it merges and splits neighbours only.

    >>> _moved_size((2, 8, 5, 3), (2, 5, 24)), _moved_size((2, 5, 8, 3), (2, 5, 24))
    (5, None)
    >>> _moved_size((10, 4), (2, 5, 4)), _moved_size((2, 3, 4), (6, 4)), _moved_size((4, 4), (16,))
    (None, None, None)
    """
    for left, right in _blocks(before, after):
        moved = [n for n in right if n > 1 and left.count(n) == 1 == right.count(n)]
        if len(left) > 2 and len(right) > 1 and moved:
            return moved[0]
    return None


def _blocks(
    before: tuple[int, ...], after: tuple[int, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the groups of neighbouring sizes of two shapes whose products agree, each as small as
    it can be."""
    left, right = list[int](), list[int]()
    one, other = list(before), list(after)
    while one or other:
        if math.prod(left) <= math.prod(right) and one:
            left.append(one.pop(0))
        elif other:
            right.append(other.pop(0))
        else:
            left.append(one.pop(0))
        if left and right and math.prod(left) == math.prod(right):
            yield tuple(left), tuple(right)
            left, right = [], []
