"""Where a step or an optimizer stands in the code: of an answer about one that has no line yet."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Cause
from gradviz.why.shown.explanation import Explanation, lines_of

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case

_MOST = 2  # lines that are told: of more it is not known which one is meant


def has_no_line(case: Case, found: Explanation) -> bool:
    """Say whether an answer is about what a step or an optimizer does, and names no line."""
    is_placed = bool(found.lines or found.where)
    return found.cause is Cause.NOT_MOVED and not is_placed and case.recording is not None


def with_line_of_optimizers(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with where the known optimizers are made; where that is not seen,
    with where one is stepped."""
    made = [place for optimizer in case.known_optimizers for place in case.where_made(optimizer)]
    known = (case.called.get(id(optimizer), "") for optimizer in case.known_optimizers)
    names = {_last_word(name) for name in known} - {""}
    steps = [
        place for place, node in case.statements.calls("step") if not names or _owner(node) in names
    ]
    places = list(dict.fromkeys(made or steps))
    if not 0 < len(places) <= _MOST:
        return None
    return found._replace(where=case.words.places([], places), lines=lines_of((), places))


def _owner(node: Any) -> str:
    """Return the code of what a method is called on."""
    return ast.unparse(node.func.value)


def _last_word(name: str) -> str:
    """Return a name without what it is an attribute of: a method calls it ``self.opt``.

    >>> _last_word("trainer.opt"), _last_word("opt")
    ('opt', 'opt')
    """
    return name.rpartition(".")[2]
