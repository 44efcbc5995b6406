"""One layer that stands for several: called at several places of one forward, each time with what
the call before gave. Knows no torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, ModuleCall, Source
from gradviz.why.account.remark import Remark, Weight
from gradviz.words.words import Words

# layers of torch with weights, of which a network mostly has one for each place
_LAYERS = ("Linear", "Conv", "BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm")
_SEVERAL = 2


def layers_again(facts: Facts, words: Words) -> Iterator[Remark]:
    """Tell of each layer with weights that one forward called in several lines, one behind the
    other: a cell that a loop calls in one line is meant so, as is a layer that is given two
    inputs.

    Args:
        facts: of the recording.
        words: what tensors and calls are called.
    """
    for ran in _last_forward_of_each(facts).values():
        places = [one.source for one in ran if one.source is not None]
        if len(set(places)) < _SEVERAL or not _are_chained(facts, ran):
            continue
        fields = {
            "layer": _written(ran[-1]),
            "kind": ran[-1].kind,
            "n": len(ran),
            "places": list(dict.fromkeys(map(words.line_of, places))),
        }
        yield Remark(Weight.NOTABLE, "layer_again", fields, statements=_each_once(places))


def _last_forward_of_each(facts: Facts) -> dict[tuple[int, str], list[ModuleCall]]:
    """Return, of each layer that a forward called several times, the calls of the last such
    forward."""
    of_forward: dict[tuple[int, str, int], list[ModuleCall]] = {}
    for one in facts.graph.module_calls:
        if one.parent_id is not None and one.kind.startswith(_LAYERS):
            of_forward.setdefault((one.module_id, one.path, one.parent_id), []).append(one)
    several = {key: ran for key, ran in of_forward.items() if len(ran) >= _SEVERAL}
    return {(module_id, path): ran for (module_id, path, _), ran in several.items()}


def _are_chained(facts: Facts, ran: Sequence[ModuleCall]) -> bool:
    """Say whether the calls of a layer are on the way to a loss, and each is given what is
    computed from the result of the one before, and reads weights."""
    inside: dict[int | None, list[Call]] = {}
    for call in facts.ordinary_calls:
        inside.setdefault(call.module_call, []).append(call)
    for before, after in itertools.pairwise(ran):
        made = {i for call in inside.get(before.id, ()) for i in call.outputs}
        given = {i for call in inside.get(after.id, ())[:1] for i in call.inputs[:1]}
        if not given or not given <= facts.in_losses or made.isdisjoint(facts.ancestors(given)):
            return False
        if not any(_reads_weights(facts, call) for call in inside[after.id]):
            return False
    return True


def _reads_weights(facts: Facts, call: Call) -> bool:
    """Say whether a call of a layer reads what learns: a norm without an affine map has nothing of
    that kind."""
    read = (facts.graph.tensor[i] for i in call.inputs)
    return any(t.is_leaf is True and t.requires_grad is True for t in read)


def _written(ran: ModuleCall) -> str:
    """Return what a layer is called where it is called: ``self.conv``."""
    code, bracket, _ = (ran.code or "").partition("(")
    return code if bracket else ran.path


def _each_once(places: Sequence[Source]) -> tuple[Source, ...]:
    """Return places, those of one line once."""
    return tuple({(place.file, place.line): place for place in places}.values())
