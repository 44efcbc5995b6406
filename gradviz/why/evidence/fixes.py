"""What to write instead of a call that cuts, tested before it is said: the recorded way from there
to the loss is walked again as if the cut were mended. Knows no torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Set

from gradviz.graph.effects import CLASS_LOSSES
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import Call, Cut, CutReason, Graph, Tensor
from gradviz.graph.redo import (
    WITHOUT_DERIVATIVE,
    Obstacle,
    key_of,
    obstacles_after,
    obstacles_alike,
    refusing,
)
from gradviz.names.frames import frames, whole_code
from gradviz.why.code.comparisons import (
    LOGICAL,
    bracketed,
    choice_in,
    comparison_in,
    of_soft_masks,
)
from gradviz.why.code.rewritten import called_on
from gradviz.why.evidence.labels import mend_of_labels
from gradviz.why.evidence.messages import in_sample, repair
from gradviz.words.plain import visible
from gradviz.words.speech import Code, say
from gradviz.words.words import Words

MOST = 2  # further obstacles that are told
_INDEXING = frozenset("gather index_select take take_along_dim embedding scatter".split())
_GIVING_INDICES = frozenset(
    "argmax argmin argsort max min topk sort kthvalue mode median cummax cummin".split()
)
# the same numbers, or some of them, in another shape
_SHAPING = frozenset(
    """__getitem__ contiguous expand flatten permute repeat reshape squeeze transpose unsqueeze
    view view_as""".split()
)
_CASTS = frozenset({"long", "int", "to", "type"})
CODE = 60  # characters of a call that is to be replaced
_COMPARING = {"gt", "ge", "lt", "le", "__gt__", "__ge__", "__lt__", "__le__", "greater", "less"}


def fix_of(cut: Cut, graph: Graph, losses: Iterable[int] = ()) -> str:
    """Return what to write instead of a call that cuts; where that alone would give nothing, what
    else stands in the way to the losses, and what takes no floats there.

    Args:
        cut: of a recording.
        graph: the recording's.
        losses: ids of tensors; left out, those that backwards were called on.
    """
    first = fix_on_the_way(cut, graph, losses)
    others = fixes_of_refusing([cut], graph, losses)
    return say("mend.besides", first=first, others=others) if others else first


def fixes_of_refusing(cuts: Iterable[Cut], graph: Graph, losses: Iterable[int]) -> list[str]:
    """Say what to write instead of the calls that take no floats, once some cuts are mended; those
    apart that cut themselves on all ways."""
    facts, words = Facts.of(graph), Words(graph)
    found = dict[object, Call]()
    for cut in cuts:
        told = {key_of(o) for o in all_obstacles(cut, facts, losses)}
        for call in refusing(cut, facts, losses):
            obstacle = Obstacle(call, CutReason.NOT_DIFFERENTIABLE)
            if key_of(obstacle) not in told:
                found.setdefault(key_of(obstacle), call)
    obstacles = [Obstacle(call, CutReason.NOT_DIFFERENTIABLE) for call in found.values()]
    return [
        say("mend.refusing", place=words.where(o.call), mend=fix_alone(as_cut(o), graph))
        for o in obstacles[:MOST]
    ]


def all_obstacles(cut: Cut, facts: Facts, losses: Iterable[int]) -> list[Obstacle]:
    """Return what else would cut a value, once one cut is mended: on the way that has the fewest,
    then for the same reasons on the others."""
    further = obstacles_after(cut, facts, losses) or []
    return further + (obstacles_alike(cut, facts, losses, further) if further else [])


def fix_on_the_way(cut: Cut, graph: Graph, losses: Iterable[int] = ()) -> str:
    """Return what to write instead of a call that cuts; and where that alone would give nothing,
    what else cuts on the way to the losses. Arguments as ``fix_of``."""
    facts = Facts.of(graph)
    alone = _detach_elsewhere(cut, facts, {*losses}) or fix_alone(cut, graph)
    further = obstacles_after(cut, facts, losses) or []
    if not further:
        return alone
    words = Words(graph)
    others = [
        say("mend.at", place=words.where(o.call), mend=fix_alone(as_cut(o), graph))
        for o in further[:MOST]
    ]
    if len(further) > MOST:
        others.append(say("mend.more", n=len(further) - MOST))
    alike = obstacles_alike(cut, facts, losses, further)
    others += [
        say("mend.beside", place=words.where(o.call), mend=fix_alone(as_cut(o), graph))
        for o in alike[:MOST]
    ]
    return say("mend.in_series", first=alone, others=others)


def _detach_elsewhere(cut: Cut, facts: Facts, losses: Set[int]) -> str:
    """Return where a detach() belongs whose result goes into several losses, each by a call of its
    own, one of which may need it; "" where that is not so."""
    graph = facts.graph
    if cut.reason is not CutReason.DETACH or cut.output_id is None:
        return ""
    name = graph.tensor[cut.output_id].code_name or ""
    places = _places_reading(cut.output_id, name, facts)
    runs = [graph.call.get(b.call_id) for b in graph.backwards]
    wanted = sum(1 << i for i, c in enumerate(runs) if c and not losses.isdisjoint(c.inputs[:1]))
    if len(set(places.values())) < 2 or not any(bits & wanted for bits in places):
        return ""
    others = [place for bits, place in places.items() if not bits & wanted]
    if others:
        return say("mend.detach_elsewhere", name=name, place=others[0])
    return say("mend.detach_in_one", name=name, places=[*places.values()])


def _places_reading(tensor_id: int, name: str, facts: Facts) -> dict[int, str]:
    """Return the statements that give a tensor by its name to what goes into losses: one for each
    set of losses, by their bits."""
    words, found = Words(facts.graph), dict[int, str]()
    read = re.compile(rf"\b{re.escape(name)}\b")
    for call in facts.calls_reading.get(tensor_id, ()) if name.isidentifier() else ():
        bits = facts.goes_into(call.outputs[0]) if call.outputs else 0
        frames = [f for f in (call.source.frames if call.source else ()) if read.search(f.code)]
        if bits and frames:
            found.setdefault(bits, words.frame(frames[-1]))
    return found


def as_cut(obstacle: Obstacle) -> Cut:
    """Return an obstacle as the cut that it would be."""
    call = obstacle.call
    ids = (*call.inputs[:1], *call.outputs[:1])
    return Cut(call.id, ids[0], ids[-1], obstacle.reason)


def fix_alone(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of one call that cuts, whatever else stands in the way."""
    if cut.reason in WITHOUT_DERIVATIVE and is_index(cut.output_id, Facts.of(graph)):
        return _mask_mend(cut, graph) or _cast_mend(cut, graph) or say("mend.index")
    if cut.reason in WITHOUT_DERIVATIVE and (soft := _soft_mend(cut, graph)):
        return soft
    if cut.reason in WITHOUT_DERIVATIVE and graph.call[cut.call_id].function in _GIVING_INDICES:
        return mend_of_labels(cut, graph) or say("mend.index_made")
    return repair(cut, graph)


def _cast_mend(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of the choice of entries by numbers that were made whole; ""
    where that is not what a cut is, or where these have no name."""
    facts = Facts.of(graph)
    reader = choosing_call(cut.output_id, facts)
    written = called_on(code_of(graph.call[cut.call_id]), _CASTS)
    name = written or graph.tensor[cut.input_id].code_name
    if cut.reason is not CutReason.INTEGER_DTYPE or reader is None or not name:
        return ""
    words = Words(graph)
    code = visible(code_of(reader), CODE)
    return say("mend.index_cast", name=Code(name), code=Code(code), place=words.where(reader))


def _soft_mend(cut: Cut, graph: Graph) -> str:
    """Return what to write, with a derivative, instead of a value written where a comparison holds,
    of a choice between two values, or of an and, an or or a not; "" for anything else."""
    call = graph.call[cut.call_id]
    if call.function in LOGICAL:
        pair = of_soft_masks(whole_code(call), call.function)
        return say("mend.logical", code=Code(pair[0]), anew=Code(pair[1])) if pair else ""
    return _mix_mend(cut, graph) or _comparison_mend(cut, graph)


def _comparison_mend(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of a comparison by size: of one that chooses between two values,
    instead of that choice; "" where that is not what a cut is."""
    call, facts = graph.call[cut.call_id], Facts.of(graph)
    compared = comparison_in(whole_code(call)) if call.function in _COMPARING else None
    if compared is None:
        return ""
    sides = {"left": compared.larger, "right": bracketed(compared.smaller)}
    readers = [] if cut.output_id is None else facts.calls_reading.get(cut.output_id, [])
    choosing = [reader for reader in readers if reader.function == "where"]
    if not choosing:
        return say("mend.compared", code=Code(compared.code), **sides)
    statement = next((frame.code for frame in frames(choosing[0])[:1]), "")
    chosen = choice_in(statement)
    if chosen is None or len(readers) > 1:
        return ""
    one, other = bracketed(chosen.one), bracketed(chosen.other)
    return say("mend.chosen", code=Code(chosen.code), one=one, other=other, **sides)


def _mask_mend(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of choosing the values of one tensor by comparing two; "" where
    that is not what a cut is."""
    call, facts = graph.call[cut.call_id], Facts.of(graph)
    compared = comparison_in(whole_code(call)) if call.function in _COMPARING else None
    readers = [] if cut.output_id is None else facts.calls_reading.get(cut.output_id, [])
    chosen = [
        reader
        for reader in readers
        if reader.function == "__getitem__" and reader.inputs[1:] == (cut.output_id,)
    ]
    if compared is None or not chosen:
        return ""
    words = Words(graph)
    left, right = compared.larger, bracketed(compared.smaller)
    return say("mend.mask", left=left, right=right, values=words.name(chosen[0].inputs[0]))


def _mix_mend(cut: Cut, graph: Graph) -> str:
    """Return what to write instead of writing a value into those entries of a tensor for which a
    comparison holds, and where ``==`` asks for that value later; "" where that is not what a cut
    is."""
    call, facts = graph.call[cut.call_id], Facts.of(graph)
    compared = comparison_in(whole_code(call)) if call.function in _COMPARING else None
    readers = [] if cut.output_id is None else facts.calls_reading.get(cut.output_id, [])
    writes = [
        c for c in readers if c.function == "__setitem__" and c.inputs[1:2] == (cut.output_id,)
    ]
    written = item_written(whole_code(writes[0])) if writes else None
    if compared is None or written is None:
        return ""
    left, right = compared.larger, bracketed(compared.smaller)
    whole, value = written
    mend = say(
        "mend.mix", left=left, right=right, whole=whole, value=value, code=code_of(writes[0])
    )
    whole_id = graph.tensor[writes[0].inputs[0]].object_id
    equal = [
        c
        for c in facts.readers.get(whole_id, ())
        if c.id > writes[0].id and c.function in ("eq", "__eq__")
    ]
    places = list(dict.fromkeys(map(Words(graph).where, equal)))
    return say("mend.mix_equal", first=mend, places=places) if places else mend


def item_written(code: str) -> tuple[str, str] | None:
    """Return into what a statement writes an item, and what it writes there; None for another.

    >>> item_written("x[mask] = 2.0"), item_written("y = x[mask]")
    (('x', '2.0'), None)
    """
    try:
        node = ast.parse(code).body[0]
    except (SyntaxError, IndexError):
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Subscript):
        return None
    return ast.unparse(target.value), ast.unparse(node.value)


def is_index(tensor_id: int | None, facts: Facts) -> bool:
    """Say whether a call takes a tensor, or it in another shape, to choose entries of another
    one."""
    return choosing_call(tensor_id, facts) is not None


def choosing_call(tensor_id: int | None, facts: Facts) -> Call | None:
    """Return the first call that takes a tensor, or it in another shape or together with another
    mask, to choose entries of another one; None where none does."""
    todo = [] if tensor_id is None else [tensor_id]
    for one in todo:  # which grows
        readers = facts.calls_reading.get(one, ())
        for call in readers:
            if chooses_by(call, one):
                return call
        shaped = (
            c
            for c in readers
            if c.function in LOGICAL or (c.function in _SHAPING and c.inputs[:1] == (one,))
        )
        todo += [i for call in shaped for i in call.outputs if i not in todo]
    return None


def is_choice(cut: Cut, facts: Facts) -> bool:
    """Say whether what a cut gives on is a sample, or whole numbers that choose entries or
    classes."""
    made = facts.graph.tensor.get(cut.output_id)
    return in_sample(cut, facts.graph) or (made is not None and is_label(made, facts))


def is_label(tensor: Tensor, facts: Facts) -> bool:
    """Say whether a call takes a tensor, in any of its states, as indices or as classes."""
    readers = facts.readers.get(tensor.object_id, [])
    states = {t.id for t in facts.states.get(tensor.object_id, [])}
    return any(
        any(chooses_by(call, i) for i in states)
        or (call.function in CLASS_LOSSES and states & {*call.inputs[1:]})
        for call in readers
    )


def chooses_by(call: Call, tensor_id: int | None) -> bool:
    """Say whether a call chooses entries of a tensor by another one: ``table[index]``."""
    if call.function == "__getitem__":
        return tensor_id in call.inputs[1:]
    return call.function in _INDEXING and tensor_id in call.inputs
