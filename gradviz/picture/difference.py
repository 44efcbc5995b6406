"""What differs between two recordings of one model: which parameters get a gradient, and which cuts
there are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradviz.graph.facts import Facts
from gradviz.graph.finished import Finished
from gradviz.graph.operations import Fate, Operations, Weight
from gradviz.graph.records import CutReason, GradvizError, Graph
from gradviz.words.speech import say
from gradviz.words.words import Words, reason_of

GETS = (Fate.SOME, Fate.ZERO, Fate.VANISHED, Fate.NAN)
LINES = 4  # cuts that are told of each recording
Cuts = dict[tuple[CutReason, str, str], list[str]]


class Difference(NamedTuple):
    """What differs.

    Attributes:
        gained: names of the parameters that only the second one gives a gradient.
        lost: of those that only the first one does.
        ran: whether a backward ran in both; else it is told which can be reached.
        cut, uncut: the cuts that only the second one has, or only the first one.
        alone: names of parameters that only one of them has.
    """

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    ran: bool
    cut: tuple[str, ...]
    uncut: tuple[str, ...]
    alone: tuple[str, ...] = ()


def difference(before: Graph, after: Graph) -> Difference:
    """Compare two graphs.

    Raises:
        GradvizError: no parameter of one has the name of one of the other.
    """
    one, other = _weights(before), _weights(after)
    common = one.keys() & other.keys()
    if one and other and not common:
        raise GradvizError(
            "compare() was given recordings of different models: one has"
            f" {next(iter(one))!r}, the other {next(iter(other))!r}, and no parameter of one has"
            " the name of one of the other; expected two recordings of one model"
        )
    ran = bool(before.backwards and after.backwards)
    got, gets = _getting(one, ran), _getting(other, ran)
    cut, uncut = _cuts(after), _cuts(before)
    return Difference(
        tuple(n for n in gets if n in common and n not in got),
        tuple(n for n in got if n in common and n not in gets),
        ran,
        _more(cut, uncut),
        _more(uncut, cut),
        tuple(n for n in {**one, **other} if n not in common),
    )


def _weights(graph: Graph) -> dict[str, Weight]:
    """Return the parameters of a graph by their names; with the name of the model where there are
    several."""
    weights = Operations(graph).weights if graph.calls else Finished(graph).weights
    roots = {module.id: module.name for module in graph.modules}
    several = len(roots) > 1
    found: dict[str, Weight] = {}
    for w in weights:
        root = roots.get(-1 if w.module_id is None else w.module_id)
        found.setdefault(f"{root}.{w.name}" if several and root else w.name, w)
    return found


def _getting(weights: dict[str, Weight], ran: bool) -> dict[str, Weight]:
    """Return those that get a gradient, or, where no backward ran, can be reached."""
    good = GETS if ran else (*GETS, Fate.REACHED)
    return {name: w for name, w in weights.items() if w.fate in good}


def _more(some: Cuts, others: Cuts) -> tuple[str, ...]:
    """List the cuts of which there are more than in the other recording."""
    more = [text for key, texts in some.items() for text in texts[len(others.get(key, ())) :]]
    return tuple(dict.fromkeys(more))[:LINES]


def _cuts(graph: Graph) -> Cuts:
    """Return the cuts in words, by what two recordings of one code have in common."""
    words = Words(graph)
    found: Cuts = {}
    for cut in Facts.of(graph).real_cuts:
        call = graph.call[cut.call_id]
        code = call.source.code if call.source and call.source.code else call.function
        place = words.where(call)
        reason = reason_of(cut)
        text = (
            say("outline.cut_at", reason=reason, place=place)
            if place
            else say("outline.cut", reason=reason)
        )
        found.setdefault((cut.reason, code, call.module or ""), []).append(text)
    return found


def told(found: Difference, first: str, second: str) -> list[str]:
    """Return a difference in sentences, the most important first."""
    lines = [_headline(found)]
    for names, key in ((found.gained, "gained"), (found.lost, "lost")):
        if names:
            lines.append(_named(names, key))
    for cuts, name in ((found.uncut, first), (found.cut, second)):
        if cuts:
            lines.append(say("compare.only_cuts", name=name, cuts=list(dict.fromkeys(cuts))))
    if found.alone:
        lines.append(say("compare.alone", names=list(found.alone)))
    return lines


def _headline(found: Difference) -> str:
    more, fewer = len(found.gained), len(found.lost)
    if found.ran:
        if more and fewer:
            return say("compare.both_get", more=more, fewer=fewer)
        if more:
            return say("compare.more_get", n=more)
        return say("compare.fewer_get", n=fewer) if fewer else say("compare.same_get")
    if more and fewer:
        return say("compare.both_can", more=more, fewer=fewer)
    if more:
        return say("compare.more_can", n=more)
    return say("compare.fewer_can", n=fewer) if fewer else say("compare.same_can")


def _named(names: Iterable[str], key: str) -> str:
    """Name the modules of parameters, or the parameters where they are few."""
    some = list(names)
    if len(some) > 3:
        some = list(dict.fromkeys(name.rpartition(".")[0] or name for name in some))
    return say("compare.gained", names=some) if key == "gained" else say("compare.lost", names=some)
