"""Forwards of a model in training that ran in train mode where nothing is recorded, as those of an
evaluation do that nobody switched: what their layers did then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.records import Call, ModuleCall, Source
from gradviz.why.code.modes import eval_undone_before
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

# functions of layers that drop values in train mode
_DROPS = frozenset(
    "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout".split()
)
_NORMALISES = "batch_norm"


class Modal(NamedTuple):
    """A call of a layer in train mode that works otherwise in eval mode.

    Attributes:
        call: what the layer called.
        model: what ran.
        layer: its name, with that of the model.
        source: where the model was called.
    """

    call: Call
    model: str
    layer: str
    source: Source | None

    @property
    def drops(self) -> bool:
        """Whether it dropped values."""
        return self.call.function in _DROPS


def with_modes_kept(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the forwards of a model that is trained that ran where nothing
    is recorded, whose results go into no loss, and in which dropout dropped values, or batch norm
    took the statistics of the batch; and the ``train()`` that undid an ``eval()`` before it."""
    layers = [*_modal_layers(case)]
    lines, statements = list[str](), list[Source]()
    for model, last in {layer.model: layer for layer in layers}.items():
        own = [layer for layer in layers if layer.model == model]
        undone = eval_undone_before(case.statements, last.call.source)
        place = case.words.line_of(last.source) if last.source else case.words.where(last.call)
        fields = {"module": model, "place": place, "did": _did(own)}
        statements += [last.source] if last.source else []
        if undone is None:
            lines.append(say("losses.mode_kept", **fields))
            continue
        fields |= {
            "train": case.words.source(undone.training),
            "evaluation": case.words.source(undone.evaluation),
            "code": undone.training.code or "",
        }
        lines.append(say("losses.mode_kept_undone", **fields))
        statements += undone
    if not lines:
        return None
    told = case.beside(found, *lines)
    places = (*told.lines, *lines_of((), statements))
    return told._replace(lines=tuple(dict.fromkeys(places)))


def _did(layers: Sequence[Modal]) -> str:
    """Say what layers did in train mode: that dropouts dropped, else what batch norms do."""
    drops = [layer.layer for layer in layers if layer.drops]
    if drops:
        return say("losses.dropped", layers=list(dict.fromkeys(drops)))
    names = list(dict.fromkeys(layer.layer for layer in layers))
    return say("losses.normalised", layers=names, n=len(names))


def _modal_layers(case: Case) -> Iterator[Modal]:
    """Yield the layers of such forwards that worked otherwise than in eval mode; of dropouts where
    one was given the same data more than once, how far its results differ is what is wanted."""
    facts = case.facts
    unused = _unused(facts)
    given = Counter(_given(facts, call, outer) for call, _, outer in unused)
    modules = case.live_state.modules.values() if unused else ()
    modal = {
        (path, type(part).__name__)
        for module in modules
        for path, part in module.named_modules()
        if getattr(part, "p", 0) or getattr(part, "running_mean", None) is not None
    }
    root_of = {root.id: root.name for root in case.graph.modules}
    for call, inner, outer in unused:
        model = root_of.get(outer.module_id, outer.kind)
        layer = Modal(call, model, ".".join(filter(None, (model, inner.path))), outer.source)
        is_modal = inner.training and outer.training and (inner.path, inner.kind) in modal
        is_once = given[_given(facts, call, outer)] == 1
        if is_modal and (is_once if layer.drops else _is_read(facts, outer)):
            yield layer


def _unused(facts: Facts) -> list[tuple[Call, ModuleCall, ModuleCall]]:
    """Return the calls of dropouts and batch norms in models that are trained where nothing is
    recorded, and whose results go into no loss, each with the call of its layer and the outermost
    one."""
    behind = facts.in_losses
    calls = [
        (call, facts.module_call[call.module_call], outer)
        for call in facts.ordinary_calls
        if (call.function in _DROPS or call.function == _NORMALISES)
        and call.module_call is not None
        if (outer := facts.outermost_module_call(call)) is not None
    ]
    trained = {outer.module_id for call, _, outer in calls if not behind.isdisjoint(call.outputs)}
    return [
        (call, inner, outer)
        for call, inner, outer in calls
        if behind.isdisjoint(call.outputs) and not call.grad_mode and outer.module_id in trained
    ]


def _is_read(facts: Facts, outer: ModuleCall) -> bool:
    """Say whether calls outside of a forward read what it made: one that is there to renew the
    running statistics is thrown away."""
    inside = facts.calls_in_module[outer.id]
    own = {call.id for call in inside}
    made = [i for call in inside for i in call.outputs]
    return any(call.id not in own for i in made for call in facts.calls_reading.get(i, ()))


def _given(facts: Facts, call: Call, outer: ModuleCall) -> tuple[str | None, frozenset[int]]:
    """Return of a call in a module which layer that is, and what the outermost one was given."""
    inside = facts.calls_in_module[outer.id]
    made = {i for c in inside for i in c.outputs}
    given = {i for c in inside for i in c.inputs} - made
    return call.module, frozenset(i for i in given if not facts.graph.tensor[i].requires_grad)
