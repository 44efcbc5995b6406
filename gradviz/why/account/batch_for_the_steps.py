"""Layers without ``batch_first`` that are given the batch as the first dimension: they run over its
samples, or attend to them, as if these were the steps of one sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch

from gradviz.graph.records import Call, ModuleCall
from gradviz.graph.training import line_of
from gradviz.watch.identity import parameters
from gradviz.why.account.module_use import dim_of_last
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.evidence.handed_on import KEEPING, computed, plain_name
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_ATTENDS = "multi_head_attention_forward"
_RECURRENT = {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}
# what is made of attentions, each with its own batch_first
_AROUND = {"TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer"}
_CONTAINERS = {"TransformerEncoder", "TransformerDecoder"}
# between the sum with the positions and the layer
_TO_THE_LAYER = frozenset({"dropout", "contiguous", "to", "float", "layer_norm"})
_IN_ROWS = frozenset({"repeat", "expand", "expand_as", "to", "long", "unsqueeze", "__getitem__"})
_COUNTS = {"arange", "range"}
_TOGETHER = {"mean", "sum", "max", "amax", "__getitem__"}


def batch_for_the_steps(case: Case) -> Iterator[Remark]:
    """Tell of each such layer where its input has positions along dimension 1, or where what it
    gave is taken together there, so that a row is left for each along dimension 0."""
    first = {bool(part.batch_first) for _, part in case.live_state.parts() if _may_be_turned(part)}
    if first != {False}:
        return
    told = dict[object, Remark]()
    for call in case.facts.ordinary_calls:
        shape = _shape(case, call.inputs[0]) if call.inputs else ()
        runs = call.function == _ATTENDS or call.function in _RECURRENT
        if not runs or len(shape) != 3 or min(shape[:2]) < 2 or shape[0] == shape[1]:
            continue
        shown = _one_row_for_each(case, call, 0) or _positions(case, call)
        if shown is not None:
            told.setdefault(line_of(call), _remark(case, call, shown))
    yield from told.values()


def _may_be_turned(part: object) -> bool:
    """Say whether a module has its batch first, or second, as it was told."""
    return isinstance(getattr(part, "batch_first", None), bool)


def _shape(case: Case, tensor_id: int) -> tuple[int, ...]:
    return case.graph.tensor[tensor_id].shape or ()


def _remark(case: Case, call: Call, shown: Call) -> Remark:
    """Tell of one layer, with what shows that its steps are dimension 1."""
    steps, samples, *_ = _shape(case, call.inputs[0])
    layer = _layer(case, call)
    made = next((place for place, _ in case.statements.calls(layer.kind)), None)
    code, is_before = case.words.at(shown), shown.id < call.id
    key = "batch_for_the_steps" if call.function == _ATTENDS else "batch_for_the_time"
    fields = {
        "call": case.words.at(call, (layer.ran and layer.ran.code) or ""),
        "layer": layer.kind,
        "made": f" ({case.words.line_of(made)})" if made else "",
        "shape": list(map(str, _shape(case, call.inputs[0]))),
        "n": steps,
        "of": samples,
        "shown": say("label.steps_by_positions" if is_before else "label.steps_by_rows", code=code),
    }
    return Remark(Weight.WEIGHTY, key, fields, (call, shown), statements=(made,) if made else ())


class _Layer(NamedTuple):
    """A layer that runs over steps.

    Attributes:
        kind: its class, which is to be told batch_first: of what the program makes.
        ran: the call of the outermost module around it that is made of nothing else.
    """

    kind: str
    ran: ModuleCall | None


def _layer(case: Case, call: Call) -> _Layer:
    """Return the layer that a call belongs to."""
    around = case.facts.module_call.get(call.module_call)
    found = _Layer(_RECURRENT.get(call.function, "MultiheadAttention"), around)
    while around is not None and around.kind in (found.kind, *_AROUND, *_CONTAINERS):
        is_made = around.kind in _AROUND and bool(case.statements.calls(around.kind))
        found = _Layer(around.kind if is_made else found.kind, around)
        around = case.facts.module_call.get(around.parent_id)
    return found


def _positions(case: Case, call: Call) -> Call | None:
    """Return the call that added to the input of a layer what is the same for each along dimension
    0, and another along dimension 1: a table of weights or a buffer, or rows that were counted.
    None where dimension 0 is taken together later, as steps are."""
    adding = case.facts.maker.get(computed(case.facts, call.inputs[0], _TO_THE_LAYER))
    if adding is None or plain_name(adding.function) != "add" or len(adding.inputs) != 2:
        return None
    shape = _shape(case, call.inputs[0])
    is_of_steps = _one_row_for_each(case, call, 1) is not None
    if not is_of_steps and any(_is_of_places(case, i, shape) for i in adding.inputs):
        return adding
    return None


def _is_of_places(case: Case, tensor_id: int, shape: tuple[int, ...]) -> bool:
    """Say whether a summand of a shape was looked up by counting along dimension 1, or is a weight
    that has no dimension 0, or one of size 1."""
    facts, own = case.facts, _shape(case, tensor_id)
    looked_up = facts.maker.get(computed(facts, tensor_id, frozenset({"dropout", "unsqueeze"})))
    if looked_up is not None and looked_up.function == "embedding":
        return _is_counted(case, looked_up.inputs[0], shape[1])
    if own[-2:] != shape[1:] or own[:-2] not in ((), (1,)):
        return False
    kept = case.graph.tensor[computed(facts, tensor_id, KEEPING)].object_id
    return kept is not None and kept in _kept(case)


def _kept(case: Case) -> set[int | None]:
    """Return the weights and buffers of the live modules, by object id."""
    tensors = (
        t
        for _, part in case.live_state.parts()
        for t in (*parameters(part, recurse=False), *torch.nn.Module.buffers(part, recurse=False))
    )
    return {case.live_state.object_of(t) for t in tensors}


def _is_counted(case: Case, tensor_id: int, n: int) -> bool:
    """Say whether a tensor counts from 0 along its last dimension, of size n, alike in each row."""
    call = case.facts.maker.get(tensor_id)
    while call is not None and _shape(case, call.outputs[0])[-1:] == (n,):
        if call.function in _COUNTS:
            return True
        if plain_name(call.function) not in _IN_ROWS or not call.inputs:
            return False
        call = case.facts.maker.get(call.inputs[0])
    return False


def _one_row_for_each(case: Case, call: Call, dim: int) -> Call | None:
    """Return the call on the way to a loss that left one row for each along dimension 0, or 1, of
    what a layer gave: it took the other together, or one element of it."""
    facts, shape = case.facts, _shape(case, call.inputs[0])
    for later in facts.ordinary_calls:
        if later.id <= call.id or later.function not in _TOGETHER:
            continue
        given, made = _shape(case, later.inputs[0]), _shape(case, later.outputs[0])
        is_row = given[:2] == shape[:2] and len(given) == 3 and made == (shape[dim], given[2])
        if not is_row or facts.in_losses.isdisjoint(later.outputs):
            continue
        # the last step of a recurrent layer is told of by itself
        is_told = dim == 0 and call.function in _RECURRENT and dim_of_last(later, case) == 1
        if not is_told and call.outputs[0] in facts.ancestors([later.inputs[0]]):
            return later
    return None
