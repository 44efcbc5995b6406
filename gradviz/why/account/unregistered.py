"""Plain tensors of modules that ask for a gradient and get it, and that nothing moves: no parameter
of the module, and in no optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradviz.graph.training import Did
from gradviz.watch.entries import Looked
from gradviz.watch.identity import parameters, read
from gradviz.why.account.remark import Remark, Weight
from gradviz.why.question.failing import Spot, parts_of_module
from gradviz.why.question.subjects import held_by
from gradviz.why.rules.many import pattern

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_BACKWARDS = 2  # from which on a tensor is no input of one pass
_PASSES = 3  # the same of a variable, which may be given another tensor


def unregistered(case: Case) -> Iterator[Remark]:
    """Tell of the leaves that a module has as plain attributes, to which several backwards brought
    gradients that nothing used, while steps moved others."""
    found = dict[int, Spot]()
    if any(case.training.sums_used.values()):
        for spot, object_id in _plain_leaves(case):
            if _only_gets_gradients(case, object_id):
                found.setdefault(object_id, spot)
    if not found:
        return
    places = tuple(dict.fromkeys(place for spot in found.values() for place in spot.source))
    fields = {
        "names": pattern([spot.name for spot in found.values()]),
        "n": len(found),
        "one": next(iter(found.values())).attribute,
        "places": [case.words.line_of(place) for place in places],
    }
    yield Remark(Weight.IN_VAIN, "unregistered", fields, (), frozenset(found), places)


def in_no_optimizer(case: Case) -> Iterator[Remark]:
    """Tell of the leaves of the program's own variables, and of no module, to which backwards
    brought gradients that nothing used, while steps of an optimizer moved others."""
    steps = [pile.step.call for piles in case.training.sums_used.values() for pile in piles]
    step = max(steps, key=lambda call: call.id, default=None)
    if step is None or not step.bookkeeping:
        return
    names = {
        leaf: name
        for leaf in case.training.moments.keys() - _held_otherwise(case)
        if (name := case.facts.latest_state[leaf].code_name).isidentifier()
        and _only_gets_gradients(case, leaf, _PASSES)
    }
    if names:
        in_order = [names[leaf] for leaf in sorted(names)]
        fields = {"names": pattern(in_order), "n": len(names), "step": case.words.at(step)}
        yield Remark(Weight.WEIGHTY, "in_no_optimizer", fields, (step,), frozenset(names))


def _held_otherwise(case: Case) -> set[int]:
    """Return the objects that an optimizer or a module holds, whose gradient the program looked at,
    or which ``autograd.grad`` was asked for, as inputs of an equation are."""
    if case.recording is None:
        return set()
    living = [*held_by([*case.known_optimizers, *case.optimizers]).values()]
    living += [p for module in case.known_modules for p in parameters(module)]
    living += [t for t, look in _looked_at(case) if look.attribute == "grad"]
    known = {s.object_id for t in living if (s := case.recording.find(t)) is not None}
    asked = (b for b in case.graph.backwards if b.kind == "grad")
    inputs = (i for b in asked for i in case.graph.call[b.call_id].inputs)
    return known | {case.graph.tensor[i].object_id for i in inputs}


def _plain_leaves(case: Case) -> Iterator[tuple[Spot, int]]:
    """Yield the leaves that constructors gave modules as plain attributes, each with its object,
    that no optimizer holds and whose gradient the program did not look at."""
    used = {*held_by([*case.known_optimizers, *case.optimizers])}
    used |= {id(t) for t, look in _looked_at(case) if look.attribute == "grad"}
    for module in {id(m): m for m in (*case.modules, *case.known_modules)}.values():
        word = case.called.get(id(module)) or type(module).__name__
        for spot, value in parts_of_module(word, module):
            if spot.form != "tensor" or not spot.source or id(value) in used:
                continue
            object_id = _object_of(case, value)
            if object_id is not None:
                yield spot, object_id


def _looked_at(case: Case) -> list[tuple[Any, Looked]]:
    """Return what the program looked at of tensors."""
    return [] if case.recording is None else case.recording.looked_at()


def _object_of(case: Case, value: Any) -> int | None:
    """Return a leaf that asks for gradients and is no parameter, as an object of the graph; None
    for any other value."""
    is_leaf = read(lambda: value.requires_grad and value.is_leaf)
    if not is_leaf or issubclass(type(value), torch.nn.Parameter) or case.recording is None:
        return None
    state = case.recording.find(value)
    return None if state is None else state.object_id


def _only_gets_gradients(case: Case, leaf: int, times: int = _BACKWARDS) -> bool:
    """Say whether several backwards brought gradients to a leaf, and nothing read these, used them
    in a step or wrote the leaf since the first one."""
    training, facts = case.training, case.facts
    added = [m.call.id for m in training.moments.get(leaf, ()) if m.did is Did.ADDED]
    if len(added) < times or training.reads.get(leaf) or training.sums_used.get(leaf):
        return False
    writes = (e for e in facts.writes_by_object.get(leaf, ()) if facts.writes_memory(e))
    return all(event.call_id < added[0] for event in writes)
