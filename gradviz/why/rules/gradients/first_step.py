"""Recurrent layers of whose steps the loss reads the first alone: the weights of the state are
multiplied by the zeros with which it began. Knows no torch."""

from __future__ import annotations

from collections.abc import Sequence

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, Node
from gradviz.why.rules.gradients.zero_slopes import Reason
from gradviz.words.speech import say
from gradviz.words.words import Words

_RECURRENT = frozenset({"lstm", "gru", "rnn_tanh", "rnn_relu"})
_OF_STATE = "weight_hh"  # how torch names the weights by which the state is multiplied


def first_step_alone(facts: Facts, words: Words, leaf: str, nodes: Sequence[Node]) -> Reason | None:
    """Tell that the weights of the state are multiplied by the zeros with which a recurrent layer
    began, its own or given ones: no later step comes to the loss.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
        leaf: the name of what has a gradient of zeros.
        nodes: what sent only zeros, although something else arrived.
    """
    call = _recurrent(facts, nodes)
    is_of_state = leaf.rpartition(".")[2].startswith(_OF_STATE)
    if call is None or not is_of_state or not _began_with_zeros(facts, call):
        return None
    layer = call.module
    sizes = facts.graph.tensor[call.inputs[0]].shape or ()
    reading = [c for i in call.outputs for c in facts.calls_reading.get(i, ())]
    places = list(dict.fromkeys(words.at(c) for c in reading if c.source is not None))
    if 1 in sizes[:2] or not places:
        return Reason(
            say("zero.one_step", layer=layer, sizes="×".join(map(str, sizes))),
            say("zero.mend_one_step", layer=layer),
        )
    if leaf.endswith("_reverse"):
        return Reason(
            say("zero.first_reverse", layer=layer, places=places),
            say("zero.mend_first_reverse"),
        )
    return Reason(say("zero.first_step", layer=layer, places=places), say("zero.mend_first_step"))


def _recurrent(facts: Facts, nodes: Sequence[Node]) -> Call | None:
    """Return the one call of a recurrent layer that made all of some nodes."""
    calls = {facts.graph.call.get(node.call_id) for node in nodes}
    call = calls.pop() if len(calls) == 1 else None
    is_layer = call is not None and call.function in _RECURRENT and call.module is not None
    return call if is_layer else None


def _began_with_zeros(facts: Facts, call: Call) -> bool:
    """Say whether a recurrent layer was given a state of zeros, or none, and made one."""
    made = (facts.maker.get(i) for i in call.inputs[1:])
    return any(m is not None and m.function == "zeros" for m in made)
