"""What a switch of the program keeps from the loss: ``if frozen: with no_grad(): h = f(x)``, with
the same call after ``else``. That somebody chose it is no fault; it is told beside the answer."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from gradviz.graph.findings import Level
from gradviz.graph.records import CutReason, Source
from gradviz.names.position import display_name
from gradviz.why.rules.errors.failure import call_at
from gradviz.why.rules.many import Told, pattern
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.names.statements import Statements
    from gradviz.why.rules.whole.losses import Losses

_OFF = {CutReason.NO_GRAD, CutReason.INFERENCE_MODE}


def without_chosen(case: Losses, told: Told) -> Told:
    """Return answers without those about what a switch of the program keeps off, where something
    else is trained; all of them where the reader asked about something in particular."""
    if case.in_particular or case.recording is None:
        return told
    rest = [(a, e) for a, e in told if not switch_of(case, e)]
    return rest if any(e.cause.level is Level.FINE for _, e in rest) else told


def with_chosen(case: Losses, told: Told, found: Explanation) -> Explanation | None:
    """Return the same answer, with what a switch of the program keeps off."""
    if case.in_particular:
        return None
    switches = [(a.name, switch_of(case, e)) for a, e in told]
    names = [name for name, switch in switches if switch]
    if not names:
        return None
    switch, place = next(s for _, s in switches if s)
    line = say(
        "account.chosen_off",
        names=pattern(names, [a.name for a, _ in told]),
        switch=switch,
        place=case.words.where(call_at(place)),
    )
    lines = tuple(dict.fromkeys([*found.lines, *lines_of((), [place])]))
    return case.beside(found, line)._replace(lines=lines)


def switch_of(case: Losses, found: Explanation) -> tuple[str, Source] | None:
    """Return the condition on which the program switches gradients off that an answer misses, and
    where it does; None where it does so without one, or has no way besides."""
    if not found.cuts or not {c.reason for c in found.cuts} <= _OFF:
        return None
    sources = [case.graph.call[c.call_id].source for c in found.cuts]
    places = {(s.file, s.off) for s in sources if s is not None and s.off is not None}
    if len(places) != 1:
        return None
    (file, line), *_ = places
    return _chosen(case.statements, file, line)


def _chosen(statements: Statements, name: str, line: int) -> tuple[str, Source] | None:
    """Return the condition under which a block stands whose other branch makes the same call."""
    for file, node in statements.nodes(ast.If):
        blocks = [n for part in node.body for n in ast.walk(part) if isinstance(n, ast.With)]
        is_there = any(block.lineno == line for block in blocks)
        if not is_there or display_name(file.filename) != name:
            continue
        if _called(node.body) & _called(node.orelse):
            return ast.unparse(node.test), Source(name, line, f"if {ast.unparse(node.test)}:")
    return None


def _called(body: list[Any]) -> set[str]:
    """Return what some statements call."""
    nodes = (n for statement in body for n in ast.walk(statement))
    return {ast.unparse(n) for n in nodes if isinstance(n, ast.Call)}
