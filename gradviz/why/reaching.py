"""``reach()``: which parameters a loss sends gradients to, and why not to the others. Reads the
graph, runs nothing."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Set, ValuesView
from functools import cached_property
from typing import Any, NamedTuple

import torch

from gradviz.graph.facts import Facts, grouped
from gradviz.graph.records import Cut, GradvizError, Graph, NodeKind, Tensor
from gradviz.watch.capture import capture, described
from gradviz.watch.recorded import Recorded
from gradviz.why.messages import REENTRANT, in_reentrant_checkpoint
from gradviz.why.paths import Asked, Paths
from gradviz.why.tables import as_html, as_text
from gradviz.words import given

REACHED, FROZEN, NO_PATH, NOT_USED, NOT_KNOWN = (
    "reached",
    "frozen",
    "no path",
    "not used",
    "not known",
)
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


class Reach(NamedTuple):
    """Which parameters each loss reaches. Plain data; displays as a table."""

    rows: tuple[Reached, ...]
    losses: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """One line a loss: how many parameters of each module it reaches."""
        lines = []
        for loss in self.losses:
            told: list[str] = []
            groups = grouped((r.module, r.verdict) for r in self.rows if r.loss == loss)
            for module in dict.fromkeys(r.module for r in self.rows):
                verdicts = groups.get(module, [])
                words = "" if told else " parameters reached"
                unknown = (
                    f" ({verdicts.count(NOT_KNOWN)} not known)" if NOT_KNOWN in verdicts else ""
                )
                told.append(
                    f"{module}: {verdicts.count(REACHED)} of {len(verdicts)}{words}{unknown}"
                )
            start = f"{loss}: " if len(self.losses) > 1 else ""
            lines.append(start + (" · ".join(told) or "no parameters"))
        return "\n".join(lines)

    def __str__(self) -> str:
        """The verdict, and the parameters that are not reached."""
        rest = [list(map(str, r[:-1])) for r in self.rows if r.verdict != REACHED or r.why]
        return "\n".join(filter(None, [self.verdict, as_text(HEAD, rest)]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        rows = [list(map(str, r[:-1])) for r in self.rows]
        return {
            "text/plain": str(self),
            "text/html": as_html(self.verdict.replace("\n", " | "), HEAD, rows),
        }


def reach(
    loss: Any,
    model: torch.nn.Module | Mapping[str, Any],
    *,
    recording: Recorded | None = None,
) -> Reach:
    """Which parameters a loss sends gradients to, module by module, and why not to the others.

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
    parts = None if issubclass(type(loss), torch.Tensor) else parts_of(loss)
    losses = (
        {k or f"loss {i + 1}": t for i, (k, t) in enumerate(parts) if t is not None}
        if parts
        else {"loss": loss}
    )
    if parts and not losses:
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
    parameters = named(model)
    modules = _modules(parameters, model)
    keys: dict[int, str] = {}
    for name, parameter in parameters:
        keys.setdefault(id(parameter), name)
    if not losses:
        return Reach((), ())
    graph = capture(*losses.values(), names={keys[id(p)]: p for _, p in parameters})
    by_name = {t.name: t for t in graph.tensors if t.name}
    rows = []
    for root, (name, one) in zip(graph.roots, losses.items(), strict=True):
        paths, recorded = (
            _Captured(graph, root),
            None if recording is None else _Recorded(recording, one),
        )
        for module, (own, p) in zip(modules, parameters, strict=True):
            tensor = by_name[keys[id(p)]]
            verdict, why, cuts = paths.judge(tensor, p, recorded)
            rows.append(Reached(name, module, own, tensor.requires_grad, verdict, why, cuts))
    return Reach(tuple(rows), tuple(losses))


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
    """What is in a collection, a generator or a model's output, with its names; None for anything
    else.

    Of an output that has a ``loss`` (those of transformers do) only that is taken: the rest was
    made on the way to it.

    Example:
        >>> parts_of({"w": 1}), parts_of(x for x in (1, 2)), parts_of(1)
        ([('w', 1)], [('', 1), ('', 2)], None)
    """
    found: list[tuple[str, Any]] | None = None
    if isinstance(whole, Mapping):
        found = [(k if isinstance(k, str) else "", v) for k, v in list(whole.items())]
    elif dataclasses.is_dataclass(whole) and not isinstance(whole, type):
        found = [(f.name, getattr(whole, f.name, None)) for f in dataclasses.fields(whole)]
    # of named_parameters()
    elif isinstance(whole, tuple) and len(whole) == 2 and isinstance(whole[0], str):
        found = [(whole[0], whole[1])]
    elif isinstance(whole, tuple) and hasattr(whole, "_fields"):
        found = list(zip(whole._fields, whole, strict=True))
    elif isinstance(whole, (list, tuple, Set, ValuesView, Iterator)):
        found = [("", part) for part in whole]
    elif {"loss", "logits"} & getattr(whole, "__dict__", {}).keys():
        found = list(vars(whole).items())
    fields = dict(found or ())
    is_output = type(whole) is not dict or "logits" in fields
    return (
        [("loss", fields["loss"])]
        if is_output and issubclass(type(fields.get("loss")), torch.Tensor)
        else found
    )


def named(model: Any) -> list[tuple[str, Any]]:
    """Every parameter under every name that it has. Runs no code of the model's own.

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


def _modules(parameters: list[tuple[str, Any]], model: Any) -> list[str]:
    """The module under which each parameter is counted: the first level at which the names
    differ."""
    if isinstance(model, Mapping):
        return [name.partition(".")[0] for name, _ in parameters]
    paths = [name.split(".")[:-1] for name, _ in parameters]
    levels = itertools.takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    depth = len(list(levels)) + 1
    return [".".join(path[:depth]) or type(model).__name__ for path in paths]


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

    def judge(
        self, t: Tensor, p: Any, recorded: _Recorded | None
    ) -> tuple[str, str, tuple[Cut, ...]]:
        path = t.id == self.root.id or self.reaches(Asked("", t.id, True, True))
        if t.requires_grad is None:
            return NOT_KNOWN, "torch does not tell whether it requires grad", ()
        if not t.requires_grad:
            since = (
                " after this loss was computed: its path is still there, and backward skips it"
                if path
                else ""
            )
            return FROZEN, f"requires_grad is False{since}", ()
        if path:
            return REACHED, self.through(t), ()
        if self.incomplete:
            return NOT_KNOWN, "the graph could not be read whole", ()
        seen = None if recorded is None or recorded.root is None else recorded
        if self.reentrant and (seen is None or seen.checkpointed(p)):
            return (
                NOT_KNOWN,
                "checkpoint(use_reentrant=True) builds the graph inside it only in backward",
                (),
            )
        if seen is not None:
            return seen.why_not(p)
        nothing = (
            "the loss does not require grad: it reaches nothing"
            if self.root.requires_grad is False
            else ("no gradient path: cut off, or not used by this loss")
        )
        asked = (
            "; this loss is not in the recording"
            if recorded
            else "; only a recording (recording=) can tell which"
        )
        return NO_PATH, nothing + asked, ()

    @cached_property
    def free(self) -> set[int]:
        """Nodes that a gradient meets without passing a custom Function."""
        kept = [e for e in self.graph.edges if e.node_id not in self.custom]
        return Facts.of(Graph(edges=kept)).reachable(self.roots)

    def through(self, t: Tensor) -> str:
        if not self.custom or t.gradient_edge is None or t.gradient_edge.node_id in self.free:
            return ""
        names = ", ".join(sorted({name.removesuffix("Backward") for name in self.custom.values()}))
        return (
            f"only through a custom Function ({names}): whether it hands a gradient on, its"
            " backward decides"
        )


class _Recorded(Paths):
    """What a recording proves of the way between parameters and one loss."""

    def __init__(self, recording: Recorded, loss: torch.Tensor) -> None:
        self.find, self.root = recording.find, recording.find(loss)
        super().__init__(recording.graph, [self.root.id] if self.root else [])

    @cached_property
    def into_checkpoints(self) -> set[int]:
        """Objects that reentrant checkpoints read."""
        calls = (c for c in self.facts.ordinary_calls if c.function.startswith(REENTRANT))
        return {self.graph.tensor[i].object_id for c in calls for i in c.inputs}

    def checkpointed(self, p: Any) -> bool:
        """Did the parameter go into a reentrant checkpoint?"""
        state = self.find(p)
        return state is not None and state.object_id in self.into_checkpoints

    def why_not(self, p: Any) -> tuple[str, str, tuple[Cut, ...]]:
        """Why there is no gradient path from the loss to a parameter that requires grad."""
        state = self.find(p)
        if self.graph.notes:
            return (
                NO_PATH,
                "no gradient path; the recording is not complete, so where it was cut is not known",
                (),
            )
        if state is None:
            return NOT_USED, "not used by this loss, as far as was recorded", ()
        asked = Asked("", state.id, True, True)
        cuts = self.cuts_after(asked)
        if proven := tuple(c for c in cuts if c.output_id in self.behind):
            return NO_PATH, f"cut at {self.places(proven)}", proven
        used = [t for t in self.states(asked) if t.id in self.behind]
        if used and not any(t.requires_grad for t in used):
            return FROZEN, "it did not require grad when this loss was computed", ()
        if cuts:
            unproven = "but that this came back into this loss is not proven"
            return NO_PATH, f"no gradient path; cut off at {self.places(cuts)}, {unproven}", ()
        if used or self.checkpointed(p):
            return (
                NO_PATH,
                (
                    "no gradient path, although its value may have gone into this loss; why is not"
                    " known"
                ),
                (),
            )
        return NOT_USED, "not used by this loss, as far as was recorded", ()

    def places(self, cuts: Any) -> str:
        told = dict.fromkeys(
            f"{self.words.place(self.graph.call[c.call_id])} [{self.reason(c)}]" for c in cuts
        )
        few = list(told)[:2]
        return "; ".join(few) + (f"; and {len(told) - 2} more" if len(told) > 2 else "")

    def reason(self, cut: Cut) -> str:
        return (
            "reentrant checkpoint of an untracked input: use_reentrant=False"
            if in_reentrant_checkpoint(cut, self.graph)
            else cut.reason.value
        )
