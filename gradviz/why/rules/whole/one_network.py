"""What was to be a copy of a network, and is the network itself or shares a part of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call, Source
from gradviz.names.position import callee_of
from gradviz.watch.identity import parameters
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern
from gradviz.why.shown.explanation import Explanation

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


# words in the names of networks that are to stay as they were
SNAPSHOT = {"target", "teacher", "ema", "old", "best", "copy", "snapshot", "frozen", "backup"}
SNAPSHOT |= {"momentum"}


def one_network(case: Case, found: Explanation) -> Explanation | None:
    """Tell that what was to be a copy of a network is, or has a part that is, the network
    itself."""
    modules = named_modules(case)
    own = {n: {id(p): p for p in parameters(m)} for n, m in modules.items()}
    for one, other in pairs_of(case, modules):
        shared = own[one].keys() & own[other].keys()
        of_both = [own[one][i] for i in shared]
        if is_inside(modules[one], modules[other]) or _changes_nothing(case, other, of_both):
            continue
        copied = copied_onto_itself(case, of_both)
        if not is_copy_of(other, one) and not (copied and one < other):
            continue
        whole = len(shared) == len(own[other])
        parts = [n for n, p in modules[other].named_parameters() if id(p) in shared]
        return case.answer(
            Cause.SHARED_SNAPSHOT,
            "one_network" if whole else "one_part",
            calls=[] if (given := where_given(case, other, one)) else copied[:1],
            statements=given or where_named(case, other),
            one=one,
            other=other,
            parts=pattern(parts),
        )
    return None


def pairs_of(case: Case, modules: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of names of modules, in both orders, without the variables of loops: each of
    these stands for one network after the other."""
    yield from permutations([name for name in modules if name not in case.loop_variables], 2)


def named_modules(case: Case) -> dict[str, torch.nn.Module]:
    """Return the modules that variables or attributes name, each by one name."""
    modules = {n: m for n, m in case.known.items() if isinstance(m, torch.nn.Module)}
    known = set(map(id, modules.values()))
    return modules | {n: m for n, m in case.titled.items() if id(m) not in known}


def _changes_nothing(case: Case, name: str, of_both: Sequence[torch.Tensor]) -> bool:
    """Say whether nothing trains what two names stand for, or nothing since the second is used."""
    return is_at_rest(case, of_both) or is_taken_over(case, name, of_both)


def is_at_rest(case: Case, parameters: Sequence[torch.Tensor]) -> bool:
    """Say whether some parameters are none of those that optimizers hold or steps moved, where
    others are: a second name for their network changes nothing. So it is of none at all."""
    held = held_by(case.known_optimizers)
    moved = {leaf for leaf, used in case.training.sums_used.items() if used}
    if not parameters:
        return True
    if (not held and not moved) or any(id(p) in held for p in parameters):
        return False
    return moved.isdisjoint(objects_of(case, parameters))


def is_taken_over(case: Case, name: str, parameters_of_both: Sequence[torch.Tensor]) -> bool:
    """Say whether steps moved some parameters only before the model ran that has them by a name,
    and that learns without them: what it holds was trained for it, and stays as it is."""
    owner = case.known.get(name.rpartition(".")[0])
    if case.recording is None or not isinstance(owner, torch.nn.Module):
        return False
    shared = objects_of(case, parameters_of_both)
    rest = objects_of(case, list(parameters(owner))) - shared
    began = min((c.id for leaf in rest for c in case.facts.readers.get(leaf, ())), default=None)
    steps, since = (_steps_of(case, leaves) for leaves in (shared, rest))
    return began is not None and bool(steps and since) and max(steps) < began < min(since)


def _steps_of(case: Case, leaves: set[int]) -> list[int]:
    """Return the steps that moved some leaves, by the ids of their calls."""
    used = case.training.sums_used
    return [pile.step.call.id for leaf in leaves for pile in used.get(leaf, ())]


def where_given(case: Case, name: str, one: str) -> list[Source]:
    """Return the one statement that gives a name, or an attribute, what the other name stands for;
    none where there is no such one."""
    found = [p for p, node in _bindings(case, name) if callee_of(node.value) == _end(one)]
    return found if len(found) == 1 else []


def where_named(case: Case, name: str) -> list[Source]:
    """Return the one statement that gives a name, or an attribute, what it stands for; none where
    there are several."""
    found = _bindings(case, name)
    return [found[0][0]] if len(found) == 1 else []


def _bindings(case: Case, name: str) -> list[tuple[Source, Any]]:
    """Return the statements that give a name, or an attribute, what it stands for."""
    is_attribute = "." in name
    return case.statements.sets(_end(name)) if is_attribute else case.statements.binds(name)


def _end(name: str) -> str:
    """Return the attribute of a dotted name, or the name."""
    return name.rpartition(".")[2]


def copied_onto_itself(case: Case, parameters: Sequence[torch.Tensor]) -> list[Call]:
    """Return the calls that copied one of some parameters into its own memory."""
    if case.recording is None:
        return []
    objects = objects_of(case, parameters)
    copies = [c for c in case.graph.calls if c.function == "copy_" and len(c.inputs) == 2]
    pairs = [(case.graph.tensor[c.inputs[0]], case.graph.tensor[c.inputs[1]]) for c in copies]
    return [
        call
        for call, (into, given) in zip(copies, pairs, strict=True)
        if into.object_id in objects and into.storage_id == given.storage_id is not None
    ]


def objects_of(case: Case, parameters: Sequence[torch.Tensor]) -> set[int]:
    """Return the object ids of those of some parameters that the recording met."""
    states = map(case.recording.find, parameters) if case.recording is not None else ()
    return {t.object_id for t in states if t is not None}


def is_copy_of(name: str, other: str) -> bool:
    """Say whether a name says that it stands for what the other was, or is to follow.

    >>> is_copy_of("target_net", "net"), is_copy_of("net", "target_net"), is_copy_of("a", "b")
    (True, False, False)
    """
    first, second = ({*re.split(r"[\W_\d]+", n.lower())} for n in (name, other))
    return bool(first & SNAPSHOT) and not second & SNAPSHOT


def is_inside(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Say whether one of two modules is a part of the other: what they share is meant."""
    parts = any(m is one for m in other.modules()) or any(m is other for m in one.modules())
    return one is not other and parts
