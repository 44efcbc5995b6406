"""``reach()``: which parameters a loss sends gradients to, and why not to the others. Reads the
graph, runs nothing."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from functools import cached_property
from typing import Any, NamedTuple

import torch

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.flow import REENTRANT, in_reentrant_checkpoint
from gradviz.graph.operations import Operations
from gradviz.graph.records import Cut, GradvizError, Graph, NodeKind, Tensor
from gradviz.picture.outline.causes import Causes
from gradviz.picture.outline.units import Expansion
from gradviz.watch.capture import capture, described
from gradviz.watch.recorded import Recorded
from gradviz.why.evidence.older import cut_off_and_gone, cut_off_before
from gradviz.why.evidence.paths import Paths
from gradviz.why.shown.tables import (
    FEW,
    Known,
    Line,
    Tone,
    as_html,
    as_text,
    by_groups,
    groups_as_html,
    groups_as_text,
    heads,
    verdict_word,
)
from gradviz.words import given
from gradviz.words.speech import say

REACHED, FROZEN, NO_PATH, NOT_USED, NOT_KNOWN = (
    "reached",
    "frozen",
    "no path",
    "not used",
    "not known",
)
PLACES = 2  # of cuts that are all told
GROUP_HEAD = ("parameters", "number")
HEAD = ("loss", "module", "parameter", "requires_grad", "verdict", "why")


class Reached(NamedTuple):
    """What one loss means for one parameter. ``cuts`` are in the graph of the recording that was
    given."""

    loss: str
    module: str
    name: str
    requires_grad: bool | None
    verdict: str  # "reached", "frozen", "no path", "not used" or "not known"
    why: str = ""
    cuts: tuple[Cut, ...] = ()
    held: bool | None = None  # whether an optimizer has it; None: none is known
    root: str = ""  # which of several models it belongs to
    cause: str = ""  # the cuts as a picture tells them: the same for all that lost by one cause
    again: bool = False  # the same parameter as in an earlier row of its module: a second name

    @property
    def is_frozen_since(self) -> bool:
        """Whether the loss reached it when it was computed, and it was frozen afterwards."""
        return self.why == say("reach.frozen_since")

    @property
    def cells(self) -> list[str]:
        """Its row in a table."""
        verdict = verdict_word(self.verdict)
        return [self.loss, self.module, self.name, str(self.requires_grad), verdict, self.why]


class Reach(NamedTuple):
    """Which parameters each loss reaches. Plain data; displays as a table."""

    rows: tuple[Reached, ...]
    losses: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """One line a loss: how many parameters of each module it reaches."""
        return "\n".join(map(self._verdict_of, self.losses))

    def _verdict_of(self, loss: str) -> str:
        """Return how many parameters of each module one loss reaches."""
        rows = (r for r in self.rows if r.loss == loss and not r.again)
        groups = grouped((r.module, r.verdict) for r in rows)
        modules = dict.fromkeys(r.module for r in self.rows)
        parts = [
            _count_of(module, groups.get(module, []), is_first=position == 0)
            for position, module in enumerate(modules)
        ]
        counts = " · ".join(parts) or say("reach.no_parameters")
        return say("reach.of_loss", loss=loss, counts=counts) if len(self.losses) > 1 else counts

    @property
    def full(self) -> str:
        """The verdict, and every parameter in a row of its own."""
        rows = as_text(heads(HEAD), [r.cells for r in self.rows], most=len(self.rows))
        return "\n".join(filter(None, [self.verdict, rows]))

    @property
    def _are_many(self) -> bool:
        return len(self.rows) > FEW * len(self.losses)

    def __str__(self) -> str:
        """Return the verdict, and the parameters that are not reached; of many, all by groups."""
        if self._are_many:
            last = say("answer_table.full")
            return f"{self.verdict}\n{groups_as_text(heads(GROUP_HEAD), self._lines(), last)}"
        rest = [r.cells for r in self.rows if r.verdict != REACHED or r.why]
        return "\n".join(filter(None, [self.verdict, as_text(heads(HEAD), rest)]))

    def _lines(self) -> list[Line]:
        """Return the parameters by groups, loss by loss."""
        lines: list[Line] = []
        for loss in self.losses:
            rows = [r for r in self.rows if r.loss == loss]
            of = loss if len(self.losses) > 1 else ""
            known = [
                Known(t, of, verdict_word(r.verdict), r.cause or r.why)
                for r, t in zip(rows, _tones(rows), strict=True)
            ]
            lines += by_groups([r.name for r in rows], known, _number)
        return lines

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        title = " | ".join(map(self._verdict_of, self.losses))
        if self._are_many:
            last = say("answer_table.full")
            table = groups_as_html(title, heads(GROUP_HEAD), self._lines(), last)
            return {"text/plain": str(self), "text/html": table}
        table = as_html(title, heads(HEAD), [r.cells for r in self.rows])
        return {"text/plain": str(self), "text/html": table}


def _number(places: Sequence[int]) -> tuple[str, ...]:
    return (f"{len(places):,}",)


def _tones(rows: Sequence[Reached]) -> list[Tone]:
    """Return how grave each row of one loss is. That a parameter is not reached is wrong where an
    optimizer has it, and where none is known, if the loss reaches others of its model."""
    trains = {r.root for r in rows if r.verdict == REACHED} or {r.root for r in rows}
    return [_tone(r, r.root in trains) for r in rows]


def _tone(row: Reached, trains: bool) -> Tone:
    if row.verdict in (NO_PATH, NOT_USED):
        is_missed = trains if row.held is None else row.held
        return Tone.WRONG if is_missed else Tone.NEUTRAL
    return {REACHED: Tone.FINE, FROZEN: Tone.NEUTRAL}.get(row.verdict, Tone.UNKNOWN)


def _count_of(module: str, verdicts: list[str], *, is_first: bool) -> str:
    """Return how many parameters of a module are reached; the first one says what is counted."""
    numbers: dict[str, Any] = {
        "module": module,
        "reached": verdicts.count(REACHED),
        "all": len(verdicts),
        "unknown": verdicts.count(NOT_KNOWN),
    }
    if numbers["unknown"]:
        return say("reach.first_count_unknown" if is_first else "reach.count_unknown", **numbers)
    return say("reach.first_count" if is_first else "reach.count", **numbers)


def reach(
    loss: Any,
    model: torch.nn.Module | Mapping[str, Any],
    *,
    recording: Recorded | None = None,
) -> Reach:
    """Tell which parameters a loss sends gradients to, by module, and why not to the others.

    The graph is read as it stands; no backward is run. A path is where autograd's own edges lead:
    that a custom Function on it, whose backward is the user's code, hands a gradient on is not
    known before it runs.

    Args:
        loss: a tensor, or a mapping of names to several; each gets its rows. Its graph may have
            been freed. Of a model's output with a ``loss``, that is taken.
        model: a module, or a mapping of names to modules or parameters.
        recording: of the code that computed the loss. Only it can tell where a path was cut.

    Returns:
        One row a loss and parameter. "frozen", "no path" (with the cuts that separate them, where
        that is proven), "not used" (as far as was recorded) and "not known" have their reason in
        words.

    Raises:
        GradvizError: an argument is of the wrong kind.

    Example:
        >>> enc, clf = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        >>> loss = clf(enc(torch.ones(1, 2)).detach()).sum()
        >>> print(reach(loss, {"enc": enc, "clf": clf}).verdict)
        enc: 0 of 2 parameters reached · clf: 2 of 2
    """
    check("recording", recording, Recorded, "what `with gv.record() as rec:` gave")
    losses = _losses_of(loss)
    parameters = named(model)
    modules = _modules(parameters, model)
    roots = [name.partition(".")[0] if isinstance(model, Mapping) else "" for name, _ in parameters]
    holders = _Holders(sys._getframe(1).f_globals, recording)
    keys: dict[int, str] = {}
    for name, parameter in parameters:
        keys.setdefault(id(parameter), name)
    names = {keys[id(p)]: p for _, p in parameters}
    graph = capture(*losses.values(), names=names, summaries=False)
    by_name = {t.name: t for t in graph.tensors if t.name}
    rows = []
    for root, (loss_name, one) in zip(graph.roots, losses.items(), strict=True):
        paths, met = _Captured(graph, root), set[tuple[str, int]]()
        recorded = None if recording is None else _Recorded(recording, one)
        for module, root_name, (name, p) in zip(modules, roots, parameters, strict=True):
            tensor = by_name[keys[id(p)]]
            flag, held = tensor.requires_grad, holders.have(p)
            way = paths.judge(tensor, p, recorded)
            again = (module, id(p)) in met
            met.add((module, id(p)))
            rows.append(
                Reached(loss_name, module, name, flag, *way[:3], held, root_name, way.cause, again)
            )
    return Reach(tuple(rows), tuple(losses))


class _Holders:
    """The optimizers that variables hold, or that the recording knew."""

    def __init__(self, variables: Mapping[str, Any], recording: Recorded | None) -> None:
        values = list(variables.values())
        self.optimizers = [v for v in values if issubclass(type(v), torch.optim.Optimizer)]
        groups = (group for optimizer in self.optimizers for group in optimizer.param_groups)
        self.ids = {id(p) for group in groups for p in group["params"]}
        self.find = recording.find if recording is not None else lambda _: None
        modules = recording.graph.modules if recording is not None else ()
        self.recorded = {p.object_id: p.held for module in modules for p in module.parameters}

    def have(self, parameter: Any) -> bool | None:
        """Say whether one of them has a parameter; None where none is known."""
        if id(parameter) in self.ids:
            return True
        state = self.find(parameter)
        held = self.recorded.get(state.object_id) if state is not None else None
        return False if held is None and self.optimizers else held


def _losses_of(loss: Any) -> dict[str, Any]:
    """Return the losses that were given, by name.

    Raises:
        GradvizError: one of them is no tensor, or there is none in what was given.
    """
    parts = None if issubclass(type(loss), torch.Tensor) else parts_of(loss)
    losses = {"loss": loss}
    if parts:
        losses = {k or nth_loss(i): t for i, (k, t) in enumerate(parts) if t is not None}
    if not losses:
        raise GradvizError(
            f"reach() was given {described(loss)} with nothing in it but None: there is no loss to "
            "read; did the model get labels to compute one from?"
        )
    for name, one in losses.items():
        check(
            f"reach() as {name}",
            one,
            torch.Tensor,
            "a tensor, the loss before .item() or float()",
            none=True,
        )
    return losses


def nth_loss(position: int) -> str:
    """Return what a loss without a name is called.

    >>> nth_loss(0)
    'loss 1'
    """
    return say("reach.nth_loss", n=position + 1)


def check(argument: str, value: Any, kinds: Any, expected: str, *, none: bool = False) -> None:
    """Refuse an argument of the wrong kind; None is one only where ``none`` says so.

    Raises:
        GradvizError: what was given, and what is expected instead.
    """
    if issubclass(type(value), kinds) or (value is None and not none):
        return
    what = given.said(value) if value is None or isinstance(value, type) else described(value)
    raise GradvizError(f"{argument} was given {what}; expected {expected}")


def parts_of(whole: Any) -> list[tuple[str, Any]] | None:
    """Return what is in a collection, a generator or a model's output, with its names; None for
    anything else.

    Of an output that has a ``loss`` (those of transformers do) only that is taken: the rest was
    made on the way to it.

    Example:
        >>> parts_of({"w": 1}), parts_of(x for x in (1, 2)), parts_of(1)
        ([('w', 1)], [('', 1), ('', 2)], None)
    """
    parts = _named_parts(whole)
    fields = dict(parts or ())
    is_output = type(whole) is not dict or "logits" in fields
    if is_output and issubclass(type(fields.get("loss")), torch.Tensor):
        return [("loss", fields["loss"])]
    return parts


def _named_parts(whole: Any) -> list[tuple[str, Any]] | None:
    """Return all that is in a collection, each with its name, where it has one."""
    if isinstance(whole, Mapping):
        return [(k if isinstance(k, str) else "", v) for k, v in list(whole.items())]
    if dataclasses.is_dataclass(whole) and not isinstance(whole, type):
        return [(f.name, getattr(whole, f.name, None)) for f in dataclasses.fields(whole)]
    if isinstance(whole, tuple):
        return _parts_of_tuple(whole)
    if isinstance(whole, (list, Set, ValuesView, Iterator)):
        return [("", part) for part in whole]
    if {"loss", "logits"} & getattr(whole, "__dict__", {}).keys():
        return list(vars(whole).items())
    return None


def _parts_of_tuple(whole: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Return the parts of a tuple: named ones, a pair of a name and a thing, or any."""
    if len(whole) == 2 and isinstance(whole[0], str):  # of named_parameters()
        return [(whole[0], whole[1])]
    if hasattr(whole, "_fields"):
        return list(zip(whole._fields, whole, strict=True))
    return [("", part) for part in whole]


def named(model: Any) -> list[tuple[str, Any]]:
    """Return every parameter under every name that it has. Runs no code of the model's own.

    Raises:
        GradvizError: ``model`` is neither a module nor a mapping of names to modules or tensors.
    """
    if isinstance(model, torch.nn.Module):
        return list(torch.nn.Module.named_parameters(model, remove_duplicate=False))
    if not isinstance(model, Mapping):
        raise GradvizError(
            f"model was given {given.said(model)}; expected a torch.nn.Module, or a "
            "mapping of names to modules or parameters, e.g. {'enc': enc, 'clf': clf} or "
            "dict(net.named_parameters())"
        )
    found: list[tuple[str, Any]] = []
    for name, part in model.items():
        if part is None:
            continue
        if isinstance(part, torch.nn.Module):
            found += [(f"{name}.{own}", p) for own, p in named(part)]
        elif isinstance(part, torch.Tensor):
            found.append((str(name), part))
        else:
            raise GradvizError(
                f"model was given {given.said(part)} for {given.shown(name)}; expected a "
                "torch.nn.Module or a parameter"
            )
    return found


def variables_of(variables: Mapping[str, Any]) -> dict[int, list[str]]:
    """Return what variables call parameters, by identity: a module's path, a variable, or a place
    in a list. Runs no code of a module's own."""
    found: dict[int, list[str]] = {}
    shown = [(name, v) for name, v in list(variables.items()) if not name.startswith("_")]
    modules = [(name, v) for name, v in shown if issubclass(type(v), torch.nn.Module)]
    lists = [(name, v) for name, v in shown if type(v) in (list, tuple)]
    pairs = [
        *((f"{name}.{path}", p) for name, v in modules for path, p in named(v)),
        *((name, v) for name, v in shown if issubclass(type(v), torch.Tensor)),
        *((f"{name}[{i}]", p) for name, v in lists for i, p in enumerate(v)),
    ]
    for name, p in pairs:
        if issubclass(type(p), torch.Tensor):
            found.setdefault(id(p), [name])
    return found


def _modules(parameters: list[tuple[str, Any]], model: Any) -> list[str]:
    """Return the module under which each parameter is counted: the first level at which the names
    differ."""
    if isinstance(model, Mapping):
        return [name.partition(".")[0] for name, _ in parameters]
    paths = [name.split(".")[:-1] for name, _ in parameters]
    levels = itertools.takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    depth = len(list(levels)) + 1
    return [".".join(path[:depth]) or type(model).__name__ for path in paths]


class Way(NamedTuple):
    """Whether a gradient finds its way to one parameter, and why not."""

    verdict: str
    why: str = ""
    cuts: tuple[Cut, ...] = ()
    cause: str = ""


class _Captured(Paths):
    """Where the gradient of one loss can go in the captured graph."""

    def __init__(self, graph: Graph, root: int) -> None:
        super().__init__(graph, [root])
        self.root = graph.tensor[root]
        here = [graph.node[n] for n in self.facts.reachable(self.roots)]
        self.custom = {n.id: n.name for n in here if n.kind is NodeKind.CUSTOM_FUNCTION}
        self.reentrant = any(name.startswith(REENTRANT) for name in self.custom.values())
        # What was left out of the walk may lead anywhere.
        self.incomplete = any(n.stub and n.kind is not NodeKind.ACCUMULATE_GRAD for n in here) or (
            not self.roots
            and self.root.requires_grad is not False
            and self.root.is_leaf is not True
        )

    def judge(self, t: Tensor, p: Any, recorded: _Recorded | None) -> Way:
        """Return what the captured graph tells of one parameter, and else the recording."""
        has_path = t.id == self.root.id or self.flow.reaches(t.id)
        if t.requires_grad is None:
            return Way(NOT_KNOWN, say("reach.flag_unread"))
        if not t.requires_grad:
            return Way(FROZEN, say("reach.frozen_since" if has_path else "reach.frozen"))
        if has_path:
            return Way(REACHED, self.through(t))
        if self.incomplete:
            return Way(NOT_KNOWN, say("reach.not_read_whole"))
        seen = None if recorded is None or recorded.root is None else recorded
        if self.reentrant and (seen is None or seen.checkpointed(p)):
            return Way(NOT_KNOWN, say("reach.in_checkpoint"))
        return Way(NO_PATH, self.unseen(recorded)) if seen is None else seen.why_not(p)

    def unseen(self, recorded: _Recorded | None) -> str:
        """Return why there is no path, in words, where no recording saw the loss."""
        if self.root.requires_grad is False:
            return say("reach.untracked_unseen" if recorded else "reach.untracked")
        return say("reach.no_path_unseen" if recorded else "reach.no_path")

    @cached_property
    def free(self) -> set[int]:
        """The nodes that a gradient meets without passing a custom Function."""
        kept = [e for e in self.graph.edges if e.node_id not in self.custom]
        return Facts.of(Graph(edges=kept)).reachable(self.roots)

    def through(self, t: Tensor) -> str:
        """Return by which custom Functions alone it is reached, in words; "" where others lead to
        it too."""
        if not self.custom or t.gradient_edge is None or t.gradient_edge.node_id in self.free:
            return ""
        names = sorted({name.removesuffix("Backward") for name in self.custom.values()})
        return say("reach.through_custom", names=", ".join(names))


class _Recorded(Paths):
    """What a recording proves of the way between parameters and one loss."""

    def __init__(self, recording: Recorded, loss: torch.Tensor) -> None:
        self.find, self.root, self.recording = recording.find, recording.find(loss), recording
        super().__init__(recording.graph, [self.root.id] if self.root else [])

    @cached_property
    def into_checkpoints(self) -> set[int]:
        """The objects that reentrant checkpoints read."""
        calls = (c for c in self.facts.ordinary_calls if c.function.startswith(REENTRANT))
        return {self.graph.tensor[i].object_id for c in calls for i in c.inputs}

    def checkpointed(self, p: Any) -> bool:
        """Say whether the parameter went into a reentrant checkpoint."""
        state = self.find(p)
        return state is not None and state.object_id in self.into_checkpoints

    def why_not(self, p: Any) -> Way:
        """Return why there is no gradient path from the loss to a parameter that requires grad."""
        state = self.find(p)
        if self.graph.notes:
            return Way(NO_PATH, say("reach.not_recorded_whole"))
        if earlier := self.cut_of_older(p):
            why = say("reach.cut", places=self.places(earlier))
            return Way(NO_PATH, why, earlier, self.cause(earlier))
        if state is None:
            return self.not_used()
        cuts = self.flow.cuts_after(state.id)
        if proven := tuple(c for c in cuts if c.output_id in self.flow.behind):
            why = say("reach.cut", places=self.places(proven))
            return Way(NO_PATH, why, proven, self.cause(proven))
        used = [t for t in self.flow.states(state.id) if t.id in self.flow.behind]
        if used and not any(t.requires_grad for t in used):
            return Way(FROZEN, say("reach.frozen_then"))
        if cuts:
            return Way(NO_PATH, say("reach.cut_unproven", places=self.places(cuts)))
        if used or self.checkpointed(p):
            return Way(NO_PATH, say("reach.not_explained"))
        return self.not_used()

    def not_used(self) -> Way:
        """Return that the loss does not use a parameter, or that this is not known: what a recorded
        call cut off may have been computed from it."""
        lost = [cut for i in self.lost for cut in self.flow.separating(i)]
        if lost:
            return Way(NOT_KNOWN, say("reach.cut_of_lost", places=self.places(lost)))
        return Way(NOT_USED, say("reach.not_used"))

    def cut_of_older(self, p: Any) -> tuple[Cut, ...]:
        """Return the cuts between the loss and what was computed from a parameter before the
        recording."""
        own = (cut for i in self.older.get(id(p), ()) for cut in self.flow.separating(i))
        return tuple(dict.fromkeys(own))

    @cached_property
    def older(self) -> dict[int, tuple[int, ...]]:
        """What is older than the recording and was cut off, by the leaves behind it."""
        return cut_off_before(self.recording)

    @cached_property
    def lost(self) -> list[int]:
        """What is older than the recording, was cut off, and is gone: what it was computed from is
        not known."""
        return cut_off_and_gone(self.recording)

    def cause(self, cuts: Sequence[Cut]) -> str:
        """Return the causes that these cuts are, in the words of a picture."""
        by_mark = grouped((self.causes.mark(cut), cut) for cut in cuts)
        told = [" ".join(span.text for span in self.causes.cut(one)) for one in by_mark.values()]
        return _first_of(told)

    @cached_property
    def causes(self) -> Causes:
        """What the cuts of the recording have in common."""
        return Causes(Expansion(Operations(self.graph)), self.words)

    def places(self, cuts: Iterable[Cut]) -> str:
        """Return where cuts stand and what they are, in words."""
        return _first_of(list(dict.fromkeys(map(self.place, cuts))))

    def place(self, cut: Cut) -> str:
        """Return where one cut stands and what it is, in words."""
        call = self.words.place(self.graph.call[cut.call_id])
        return say("reach.place", place=call, reason=self.reason(cut))

    def reason(self, cut: Cut) -> str:
        """Return what a cut is, in words."""
        if in_reentrant_checkpoint(cut, self.graph):
            return say("reach.checkpoint")
        return say(f"cut.{cut.reason.name.lower()}")


def _first_of(told: Sequence[str]) -> str:
    """Return the first of several places, and how many more there are."""
    if len(told) <= PLACES:
        return "; ".join(told)
    return "; ".join([*told[:PLACES], say("reach.more_places", n=len(told) - PLACES)])
