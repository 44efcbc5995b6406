"""What a loss reads as a value only: told beside "no fault", where nothing in particular was
asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradviz.graph.records import Cut
from gradviz.graph.training import line_of
from gradviz.why.explanation import Explanation
from gradviz.why.rules.whole.losses import LETTING_GO
from gradviz.words.speech import say
from gradviz.words.words import reason_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

MOST = 3  # that are told


def nothing_named(case: Case, found: Explanation) -> bool:
    """Say whether no fault was found, and nothing in particular was asked about."""
    return case.recorded_and_fine(found) and not case.in_particular


def with_read_as_values(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the cuts by which a loss reads what is trained as a value."""
    words, cuts = case.words, _cuts(case)[:MOST]
    if not cuts:
        return None
    told = [
        say(
            "losses.value",
            name=case.graph.tensor[cut.input_id].code_name or words.name(cut.input_id),
            cutter=reason_of(cut),
            place=words.where(case.graph.call[cut.call_id]),
        )
        for cut in cuts
    ]
    line = say("losses.values", values=told)
    if any(_is_to_learn(case, cut) for cut in cuts):
        return case.beside(found, line)
    return found._replace(more=(*found.more, line))


def _cuts(case: Case) -> list[Cut]:
    """Return the cuts on the way to a loss that somebody wrote, and that keep leaves off; of one
    line the first."""
    facts = case.facts
    behind = facts.ancestors(facts.losses) if facts.losses else set()
    cuts = [c for c in facts.real_cuts if c.output_id in behind and c.reason in LETTING_GO]
    results = (c for c in cuts if not case.graph.tensor[c.input_id].is_leaf)  # a teacher's weights
    cuts = [c for c in results if facts.leaves_reached(c.input_id)]
    by_line = {line_of(call := case.graph.call[c.call_id]) or call.id: c for c in reversed(cuts)}
    return [*reversed([*by_line.values()])]


def _is_to_learn(case: Case, cut: Cut) -> bool:
    """Say whether an optimizer has what a cut keeps off; also where none is known."""
    held = set[int]().union(*case.held_objects)
    off = {leaf.object_id for leaf in case.facts.leaves_reached(cut.input_id)}
    return not held or not held.isdisjoint(off)
