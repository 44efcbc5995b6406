"""Freezes that have no effect: on what autograd does not read, or undone before they were of use.

Each rule takes what is asked about and returns what it can prove, and nothing otherwise.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from difflib import SequenceMatcher
from functools import cache, partial
from typing import Any, NamedTuple

import torch

from gradviz.graph.effects import DETACHED
from gradviz.graph.facts import Facts, grouped
from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.graph.training import SETS_FLAG, line_of
from gradviz.names.statements import code_of_function, source_of
from gradviz.watch.identity import named_parameters, parameters, read
from gradviz.why.rules.many import pattern
from gradviz.why.rules.silent.silent import Silent, lines_once
from gradviz.why.shown.explanation import Explanation

FLAG = "requires_grad"
ALIKE = 0.85  # of two names, one of which may be the other misspelled
OTHERS = ("trainable",)  # what the flag is called elsewhere
PICKS = "__getitem__"


# --- a flag that nobody reads ---------------------------------------------------------------------


class Switch(NamedTuple):
    """An attribute that was to freeze something, or to let it train.

    Attributes:
        name: what has it: a module or a parameter.
        attribute: what it is called.
        value: what it was set to.
        is_module: whether a module has it.
    """

    name: str
    attribute: str
    value: bool
    is_module: bool


def without_effect(asked: Silent) -> Explanation | None:
    """Tell of attributes that look like a switch of gradients, and are none."""
    found = dict[str, Switch]()
    given = {id(t) for t in asked.tensors.values()}
    for title, module in asked.modules.items():
        for switch in _switches(title, module, set() if asked.models else given):
            found.setdefault(switch.name, switch)
    if not found:
        return None
    first = next(iter(found.values()))
    if first.attribute != FLAG and _is_read(asked, first.attribute):
        return None
    alike = [s for s in found.values() if s[1:] == first[1:]]
    places = _where_set(asked, first)
    if places is None:
        return None
    return asked.answer(
        Cause.FREEZE_WITHOUT_EFFECT,
        "on_module" if first.is_module else "on_parameter",
        statements=places,
        names=pattern([s.name for s in alike]),
        attribute=first.attribute,
        value=str(first.value),
        one=first.name,
    )


def _switches(title: str, module: torch.nn.Module, given: AbstractSet[int]) -> Iterator[Switch]:
    """Yield the switches without effect in a module: those that are against what its parameters
    are.

    Args:
        title: what the module is called.
        module: where they are looked for.
        given: the only parameters that count, by identity; all where there are none.
    """
    for path, part in module.named_modules():
        own = list(vars(part).items())
        switches = [(a, value) for a, value in own if _is_switch(a, value, (FLAG,))]
        mine = parameters(part) if switches else ()
        flags = {p.requires_grad for p in mine if not given or id(p) in given}
        for attribute, value in switches:
            if (not value) in flags:
                yield Switch(".".join(filter(None, (title, path))), attribute, value, True)
    yield from _switches_of_parameters(title, module, given)


def _switches_of_parameters(
    title: str, module: torch.nn.Module, given: AbstractSet[int]
) -> Iterator[Switch]:
    """Yield the switches without effect that parameters have; arguments as of ``_switches``."""
    for path, p in named_parameters(module):
        if given and id(p) not in given:
            continue
        for attribute, value in list(vars(p).items()):
            if _is_switch(attribute, value, (f"{FLAG}_",)) and p.requires_grad is not value:
                yield Switch(f"{title}.{path}", attribute, value, False)


def _is_switch(attribute: str, value: Any, names: tuple[str, ...]) -> bool:
    """Say whether an attribute looks like a switch of gradients."""
    if not isinstance(value, bool):
        return False
    return attribute in (*names, *OTHERS) or (attribute not in SETS_FLAG and _is_alike(attribute))


@cache
def _is_alike(attribute: str) -> bool:
    """Say whether an attribute may be the flag misspelled."""
    return SequenceMatcher(None, attribute, FLAG).ratio() >= ALIKE


def _is_read(asked: Silent, attribute: str) -> bool:
    """Say whether a class of the modules that are asked about names an attribute in its code: what
    it does with that is its own affair."""
    classes = {c for _, part in asked.parts() for c in type(part).__mro__}
    functions = (f for c in classes - {torch.nn.Module} for f in vars(c).values())
    codes = (code for f in functions if (code := code_of_function(f)) is not None)
    return any(attribute in (*code.co_names, *code.co_consts) for code in codes)


def _where_set(asked: Silent, switch: Switch) -> list[Source] | None:
    """Return where an attribute was set, if only one line can have done it; none where that is not
    known. None: it is a module's own, which its class sets and may read."""
    flagged = {line_of(c) for c in asked.graph.calls if c.function in SETS_FLAG}
    places, of_itself = list[Source](), False
    for place, node in asked.statements.sets(switch.attribute):
        is_own = any(isinstance(t, ast.Attribute) and _is_self(t.value) for t in node.targets)
        of_itself = of_itself or is_own
        if not is_own and (place.file, place.line) not in flagged:
            places.append(place)
    if of_itself and not places:
        return None
    return places if len(places) == 1 else []


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


# --- a flag of something else ---------------------------------------------------------------------


def on_data(asked: Silent) -> Explanation | None:
    """Tell of flags that were set on ``.data`` or on a detached tensor, that nothing else uses: the
    parameter goes on training."""
    found = dict[int, Call]()
    for call in asked.graph.calls:
        leaf = _detached_from(asked, call) if call.function in DETACHED else None
        if leaf is not None and (not asked.wanted or leaf in asked.wanted):
            found.setdefault(leaf, call)
    lines = _flag_lines(asked) if found else {}
    found = {leaf: call for leaf, call in found.items() if line_of(call) in lines}
    if not found:
        return None
    call = next(iter(found.values()))
    place = lines[line_of(call)]
    readers = asked.facts.readers.get(asked.graph.tensor[call.outputs[0]].object_id, ())
    return asked.answer(
        Cause.FREEZE_WITHOUT_EFFECT,
        "on_part" if any(c.function == PICKS for c in readers) else "on_data",
        statements=[place],
        tensors=asked.states_of(found),
        names=asked.names_of(found),
        n=len(found),
    )


def _detached_from(asked: Silent, call: Call) -> int | None:
    """Return the leaf that trains, of which a call gave a detached twin that nothing else uses."""
    facts, tensor = asked.facts, asked.graph.tensor
    if not call.inputs or not call.outputs:
        return None
    twin = tensor[call.outputs[0]]
    leaf = facts.latest_state[tensor[call.inputs[0]].object_id]
    readers = facts.readers.get(twin.object_id, ())
    used = any(c.function not in SETS_FLAG and not _is_of_flag_alone(facts, c) for c in readers)
    # "w.data (line 3)" is what the call itself says, and no variable
    is_kept = bool(twin.name) and not twin.code_name.endswith(f".{call.function}")
    used = used or is_kept or twin.object_id in facts.writes_by_object
    trains = leaf.is_leaf and leaf.requires_grad and leaf.object_id in facts.accumulate_node
    return leaf.object_id if trains and not used else None


def _is_of_flag_alone(facts: Facts, call: Call) -> bool:
    """Say whether a call only picked elements by an index, and nothing but a flag was set on
    them."""
    if call.function != PICKS or not call.outputs:
        return False
    part = facts.graph.tensor[call.outputs[0]]
    readers = facts.readers.get(part.object_id, ())
    kept = bool(part.name) or part.object_id in facts.writes_by_object
    return not kept and all(c.function in SETS_FLAG for c in readers)


def _flag_lines(asked: Silent) -> dict[Any, Source]:
    """Return the statements that set a flag and keep nothing, by line."""
    flags = [place for place, _ in asked.statements.sets(FLAG)]
    flags += [place for place, node in asked.statements.calls(f"{FLAG}_") if _stands_alone(node)]
    return {(place.file, place.line): place for place in flags}


def _stands_alone(node: ast.Call) -> bool:
    """Say whether a call is a whole statement."""
    return isinstance(getattr(node, "parent", None), ast.Expr)


# --- a flag of another network --------------------------------------------------------------------


def on_another(asked: Silent) -> Explanation | None:
    """Tell of flags that were switched off in a module which nothing used, while one that is built
    alike was trained with all of its flags on."""
    parts = list(_owners(asked))
    off = {leaf: row[-1][0] for leaf, row in _switched(asked).items() if not row[-1][1]}
    for other in parts:
        paths = [path for path, p in other.parameters.items() if p in off]
        is_whole = len(paths) == len(other.build)  # a target, a teacher or an average that rests
        if not paths or is_whole or any(_is_used(asked.facts, p) for p in other.objects):
            continue
        part = next((p for p in parts if _trains(asked, p, other, paths)), None)
        if part is not None:
            return _on_another(asked, other, part, paths, off)
    return None


def _trains(asked: Silent, part: Owner, other: Owner, paths: Sequence[str]) -> bool:
    """Say whether a module is built like another and asked about, and trains all of some
    parameters."""
    mine = [part.parameters.get(path) for path in paths]
    is_asked = not asked.wanted or not asked.wanted.isdisjoint(p for p in mine if p is not None)
    return part.build == other.build and is_asked and asked.facts.leaves_filled.issuperset(mine)


def _on_another(
    asked: Silent, other: Owner, part: Owner, paths: Sequence[str], off: Mapping[int, Call]
) -> Explanation:
    """Tell of flags that were switched off in another module than the one that trains."""
    calls = [off[other.parameters[path]] for path in paths]
    mine = [part.parameters[path] for path in paths]
    return asked.answer(
        Cause.FREEZE_WITHOUT_EFFECT,
        "on_another",
        calls=lines_once(calls),
        statements=_mentioned_around(asked, other.name, calls[0]),
        tensors=asked.states_of(mine),
        names=asked.names_of(mine),
        n=len(mine),
        model=part.name,
        other=other.name,
    )


def _mentioned_around(asked: Silent, name: str, call: Call) -> list[Source]:
    """Return where a variable stands last above a call, in the function of that."""
    source = call.source
    if source is None or not source.frames:
        return []
    scope = source.frames[0].scope
    named = ((file, node) for file, node in asked.statements.nodes(ast.Name) if node.id == name)
    places = (source_of(file, node) for file, node in named)
    return [
        place for place in places if place.file == source.file and scope <= place.line < source.line
    ][-1:]


class Owner(NamedTuple):
    """A module with a name: the object ids of its parameters by path, and how it is built."""

    name: str
    parameters: Mapping[str, int]
    build: Mapping[str, torch.Size | None]

    @property
    def objects(self) -> Iterable[int]:
        """Its parameters, by object id."""
        return self.parameters.values()


def _owners(asked: Silent) -> Iterator[Owner]:
    """Yield the modules that are known or asked about, each as far as the recording met it."""
    for name, module in {**asked.named_modules, **asked.modules}.items():
        named = dict(named_parameters(module))
        objects = {n: i for n, p in named.items() if (i := asked.object_of(p)) is not None}
        yield Owner(
            name, objects, {n: read(partial(getattr, p, "shape")) for n, p in named.items()}
        )


def _is_used(facts: Facts, leaf: int) -> bool:
    """Say whether a recorded call did more with a leaf than to set its flag."""
    return any(c.function not in SETS_FLAG for c in facts.readers.get(leaf, ()))


# --- a freeze that was undone ---------------------------------------------------------------------


def undone(asked: Silent) -> Explanation | None:
    """Tell of parameters that one line froze, and that were set to train again before any call used
    them: all that the line had frozen."""
    switched = _switched(asked)
    by_line = grouped(
        (line_of(call), leaf) for leaf, row in switched.items() for call, is_on in row if not is_on
    )
    for frozen in by_line.values():
        again = {leaf: calls for leaf in frozen if (calls := _set_again(asked, switched[leaf]))}
        mine = not asked.wanted or not asked.wanted.isdisjoint(again)
        if again and mine and len(again) == len(set(frozen)):
            off, on = next(iter(again.values()))
            return asked.answer(
                Cause.FREEZE_WITHOUT_EFFECT,
                "undone",
                calls=[on],
                tensors=asked.states_of(again),
                names=asked.names_of(again),
                n=len(again),
                off=asked.words.where(off),
                code=asked.words.code(on),
            )
    return None


def _switched(asked: Silent) -> Mapping[int, list[tuple[Call, bool]]]:
    """Return the calls that switched the flag of each leaf, and to what, by object id."""
    found = dict[int, list[tuple[Call, bool]]]()
    for event in asked.facts.writes:
        call, after = asked.graph.call[event.call_id], asked.graph.tensor[event.after_id]
        if call.function in SETS_FLAG and after.is_leaf and not event.alias:
            found.setdefault(after.object_id, []).append((call, bool(after.requires_grad)))
    return found


def _set_again(asked: Silent, row: list[tuple[Call, bool]]) -> tuple[Call, Call] | None:
    """Return the calls that froze a leaf and set it to train again at last, where they stand in
    different lines, and no time that the first of these lines froze it was of any use."""
    if len(row) < 2 or row[-2][1] or not row[-1][1] or not asked.words.keeps_all:
        return None
    (off, _), (on, _) = row[-2:]
    times = zip(row, _thawed_after(row), strict=True)
    same_line = (
        (call, thawed)
        for (call, is_on), thawed in times
        if not is_on and line_of(call) == line_of(off)
    )
    if line_of(off) == line_of(on) or any(_was_of_use(asked, *time) for time in same_line):
        return None
    return off, on


def _thawed_after(row: list[tuple[Call, bool]]) -> list[Call | None]:
    """Return for each call that switched a flag the next one that switched it on."""
    found, thawed = list[Call | None](), None
    for call, is_on in reversed(row):
        found.append(thawed)
        thawed = call if is_on else thawed
    return found[::-1]


def _was_of_use(asked: Silent, off: Call, on: Call | None) -> bool:
    """Say whether a call used a leaf, or a backward ran, between one that froze the leaf and one
    that set it to train again."""
    end = math.inf if on is None else on.id
    leaf = asked.graph.tensor[off.inputs[0]].object_id
    readers = asked.facts.readers.get(leaf, ())
    used = any(off.id < c.id < end and c.function not in SETS_FLAG for c in readers)
    return used or any(off.id < run.call_id < end for run in asked.graph.backwards)
