"""What to write instead of writes in place into what is saved: for the one that raised, and for
those that would raise next. Plain data in and out, knows no torch."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from gradviz.graph.facts import Site, code_of, site_of
from gradviz.graph.records import Call, Node, Tensor
from gradviz.names.frames import frames, variables_of, whole_code
from gradviz.names.statements import source_of
from gradviz.why.code.in_place import loop_without, statement_binding, written_in
from gradviz.why.code.rewritten import (
    copied_where_bound,
    item_out_of_place,
    item_written,
    out_of_place,
)
from gradviz.why.rules.errors.failure import Failure, call_at
from gradviz.why.rules.errors.stale import Stale, all_stale, savers_of
from gradviz.words.speech import Code, say

MOST = 5  # further mends that are told


class Mend(NamedTuple):
    """What to write instead of a write in place, and what then finds its numbers as it saved them.

    Attributes:
        text: the sentence.
        short: the same without its reason, to stand in a list; "" where it cannot.
        writers: the places whose calls write into a new tensor then.
        savers: the places whose calls save a copy then.
        makers: the places that make a copy of what is saved then.
        whole: whether nothing more is known of the others.
    """

    text: str
    short: str = ""
    writers: frozenset[Site | None] = frozenset()
    savers: frozenset[Site | None] = frozenset()
    makers: frozenset[Site | None] = frozenset()
    whole: bool = False

    def covers(self, failure: Failure, stale: Stale) -> bool:
        """Say whether a node finds what it had saved, with this mend."""
        maker = failure.facts.first_maker.get(stale.saved.object_id)
        return (
            self.whole
            or site_of(stale.writers[0]) in self.writers
            or site_of(stale.saver) in self.savers
            or (maker is not None and site_of(maker) in self.makers)
        )


def mends_of_writes(
    failure: Failure, call: Call | None, node: Node | None, saved: list[Tensor]
) -> list[str]:
    """Return what to write instead of a call that wrote in place, and what else, with that mended,
    would raise for the same reason."""
    mends = [mend_of_write(failure, call, node, saved)]
    left = [stale for stale in all_stale(failure) if not mends[0].covers(failure, stale)]
    while left and not mends[0].whole and len(mends) <= MOST:
        mends.append(_mend_of_next(failure, left))
        left = [stale for stale in left if not mends[-1].covers(failure, stale)]
    others = list(dict.fromkeys(mend.short for mend in mends[1:] if mend.short))
    unlike = dict.fromkeys(mend.text for mend in mends[1:] if not mend.short)
    likewise = [say("raised.likewise", others=others)] if others else []
    return [mends[0].text, *likewise, *unlike]


def _mend_of_next(failure: Failure, left: list[Stale]) -> Mend:
    """Return what to write instead of the write that raises next."""
    one = left[0]
    beside = {s.saved.object_id: s.saved for s in left if s.node is one.node}
    inputs = _mend_for_inputs(failure, one.writers[0], one.saver, [*beside.values()])
    mend = inputs or mend_of_write(failure, one.writers[0], one.node, [one.saved])
    return mend._replace(savers=mend.savers | {site_of(one.saver)})


def mend_of_write(
    failure: Failure, call: Call | None, node: Node | None, saved: list[Tensor]
) -> Mend:
    """Return what to write instead of a call that wrote in place."""
    if call is None:
        return Mend(say("mend.write_unseen"), whole=True)
    here = frozenset([site_of(call)])
    if call.module:
        return Mend(say("mend.write_by_module"), writers=here)
    anew, code, maker = _written_anew(failure, call), failure.code(call), failure.maker(node)
    is_named = maker is not None and len(saved) == 1
    is_lost = is_named and _is_seen_elsewhere(failure, call)
    if anew and call.grad_mode and not is_lost:
        told = say("raised.write_anew", anew=Code(anew), code=code)
        return Mend(told, _instead(failure, anew, call), writers=here)
    if maker is None or len(saved) != 1:
        several_saved = maker is not None and _mend_for_inputs(failure, call, maker, saved)
        return several_saved or Mend(say("mend.write_unseen"), whole=True)
    return _mend_of_view(failure, call, saved[0]) or _mend_for_savers(
        failure, call, maker, saved[0]
    )


def _written_anew(failure: Failure, call: Call) -> str:
    """Return the statement of a call that writes in place as one that makes a new tensor; "" where
    that is not known."""
    written = whole_code(call)
    is_part = bool(item_written(written)) and not _is_item_of_a_collection(failure, call)
    return out_of_place(written) or ("" if is_part else item_out_of_place(written))


def _is_item_of_a_collection(failure: Failure, call: Call) -> bool:
    """Say whether a statement writes into a tensor that is an item of a list or a dict: of a tensor
    the statement itself would have taken a view."""
    written = failure.graph.tensor[call.inputs[0]] if call.inputs else None
    maker = None if written is None else failure.facts.first_maker.get(written.object_id)
    if maker is None or not item_written(whole_code(call)):
        return False
    is_here = [frame[:2] for frame in frames(maker)[:1]] == [f[:2] for f in frames(call)[:1]]
    return not (is_here and maker.function == "__getitem__")


def _is_seen_elsewhere(failure: Failure, call: Call) -> bool:
    """Say whether what a call wrote is read later as a part of something else: a new tensor in its
    place would not be in there."""
    tensor = failure.graph.tensor
    written = tensor[call.inputs[0]] if call.inputs else None
    if written is None or written.base_id is None:
        return False
    later = (c for c in failure.facts.ordinary_calls if c.id > call.id and c is not failure.call)
    read = (tensor[i] for reader in later for i in reader.inputs)
    family = failure.family(written)
    return any(failure.family(t) == family and t.object_id != written.object_id for t in read)


def _mend_of_view(failure: Failure, call: Call, saved: Tensor) -> Mend | None:
    """Say how a saved view is made of a copy, where a statement gives it its name and something
    else was written than that view; None for anything else."""
    maker = failure.facts.first_maker.get(saved.object_id)
    written = failure.graph.tensor[call.inputs[0]] if call.inputs else None
    if maker is None or saved.base_id is None or written is None:
        return None
    if written.object_id == saved.object_id or not maker.grad_mode:
        return None
    statement = next((frame.code for frame in frames(maker)[:1]), "")
    copy = copied_where_bound(statement, saved.code_name)
    if not copy:
        return None
    told = say("raised.copied_view", anew=Code(copy), code=failure.written(maker))
    return Mend(told, _instead(failure, copy, maker), makers=frozenset([site_of(maker)]))


def _mend_for_savers(failure: Failure, call: Call, maker: Call, saved: Tensor) -> Mend:
    """Say what to write where nothing can be computed anew: by how many calls saved what is
    written, and whether one of them made it."""
    is_item = call.function == "__setitem__"
    savers = savers_of(failure, saved) or [maker]
    places = frozenset(map(site_of, savers))
    made_by_one = [one for one in savers if not _was_given(failure, one, saved)]
    if made_by_one and (anew := _copied_in_scope(failure, call, maker, saved)) is not None:
        return anew._replace(savers=places)
    if len(savers) > 1 and made_by_one:
        return _mend_for_all(failure, call, saved)._replace(savers=places)
    if made_by_one:
        told = say(
            "raised.write_own_item" if is_item else "raised.write_own", code=failure.code(maker)
        )
        return Mend(told, savers=places)
    named = [failure.written(one) for one in savers]
    copied, lines = _copied(failure, saved, savers), list(map(failure.words.where, savers))
    told = say("raised.write_input", copied=copied, codes=named, n=len(savers))
    short = say("raised.write_input_short", copied=copied, places=lines)
    return Mend(told, short, savers=places)


def _mend_for_inputs(failure: Failure, call: Call, maker: Call, saved: list[Tensor]) -> Mend | None:
    """Say what to write where an item was written of a tensor of which a call was given several
    parts, one of which it saved; None where it was not given all of these by their names."""
    names = [failure.in_code(tensor) for tensor in saved]
    given = all(_was_given(failure, maker, tensor) for tensor in saved)
    if call.function != "__setitem__" or not given:
        return None
    if not all(_mentions(code_of(maker), name) for name in names):
        return None
    copied = [Code(f"{name}.clone()") for name in names]
    told = say("raised.write_inputs", copied=copied, code=failure.written(maker))
    short = say("raised.write_inputs_short", copied=copied, place=failure.words.where(maker))
    return Mend(told, short, savers=frozenset([site_of(maker)]))


def _instead(failure: Failure, anew: str, call: Call) -> str:
    """Return what to write in the line of a call, to stand in a list."""
    return say("raised.in_line", anew=Code(anew), place=failure.words.where(call))


def _copied_in_scope(failure: Failure, call: Call, maker: Call, saved: Tensor) -> Mend | None:
    """Say how what another function made is copied where it gets the name under which it is
    written; None where it was made in the same function, or has no name there."""
    scopes = {variables_of(frame) for frame in frames(maker)[:1]}
    if failure.statements is None or not frames(call) or variables_of(frames(call)[0]) in scopes:
        return None
    found = failure.statements.node_at(call.source)
    written = failure.graph.tensor[call.inputs[0]] if call.inputs else None
    name = "" if found is None else written_in(found[1])
    if found is None or not name or written is None:
        return None
    if failure.family(written) != failure.family(saved):
        return None
    if _is_item_of_a_collection(failure, call):
        return _copy_above(failure, item_written(whole_code(call)), call)
    file, statement = found
    binder = statement_binding(name, statement)
    copy = copied_where_bound(ast.unparse(binder), name) if binder is not None else ""
    if copy:
        place = call_at(source_of(file, binder))
        told = say("raised.copied_view", anew=Code(copy), code=failure.written(place))
        return Mend(told, _instead(failure, copy, place))
    place = call_at(source_of(file, loop_without(name, statement) or statement))
    return _copy_above(failure, name, place)


def _copy_above(failure: Failure, name: str, place: Call) -> Mend:
    """Say that a variable is given a copy above a statement."""
    told = say("raised.copy_above", name=Code(name), code=failure.written(place))
    where = failure.words.where(place)
    return Mend(told, say("raised.copy_above_short", name=Code(name), place=where))


def _mend_for_all(failure: Failure, call: Call, saved: Tensor) -> Mend:
    """Say what to write where several calls saved what is written, one of them as its own result:
    a name of its own for a copy leaves all of them as they are."""
    name, is_item = saved.code_name or "", call.function == "__setitem__"
    is_named = all(part.isidentifier() for part in name.split("."))
    if is_named and _mentions(code_of(call), name):
        return _copy_above(failure, name, call)
    told = say("raised.write_collected") if is_item else say("mend.write_unseen")
    return Mend(told, whole=True)


def _was_given(failure: Failure, call: Call, saved: Tensor) -> bool:
    """Say whether a call was given what it saved: of what it made itself no copy can be handed
    in."""
    return saved.object_id in {failure.graph.tensor[i].object_id for i in call.inputs}


def _copied(failure: Failure, saved: Tensor, readers: list[Call]) -> str:
    """Return what to write for a saved tensor where it goes in; what it is there, where those lines
    do not call it by its name."""
    name = failure.in_code(saved)
    named = all(_mentions(code_of(call), name) for call in readers)
    return Code(f"{name}.clone()") if named else say("raised.copy_of", name=failure.name(saved))


def _mentions(code: str, name: str) -> bool:
    """Say whether code reads a variable or an attribute by its name."""
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", code) is not None
