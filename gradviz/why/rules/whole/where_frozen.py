"""The calls that froze what is frozen."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import torch

from gradviz.graph.findings import Cause
from gradviz.graph.records import Call
from gradviz.names.statements import caller, default_used
from gradviz.why.evidence.switches import switches_off
from gradviz.why.shown.explanation import Explanation, lines_of
from gradviz.words.speech import say

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


def is_frozen(case: Case, found: Explanation) -> bool:
    """Say whether the answer so far is that something is frozen, without the line that froze it."""
    is_told = found.form == "only_off"
    return found.cause is Cause.FROZEN and case.recording is not None and not is_told


def with_switch(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with the calls that switched the flags off, and who had called what
    they stand in."""
    off = _switched_off(case)
    if not off or case.recording is None:
        return _with_pretrained(case, found)
    words, site = case.words, case.recording.sites().get(off[-1].id, ())
    statements, default = caller(site), default_used(site)
    mend = found.mend
    if default is not None and default.value is False:
        mend = say("path.pass_true", function=default.function, parameter=default.name)
    return found._replace(
        where=words.places(off, statements),
        lines=lines_of(off, statements),
        mend=mend,
    )


def _with_pretrained(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer of an embedding, with the one call of ``from_pretrained`` that left it
    frozen, as it does unless told otherwise."""
    frozen = {id(t) for t in case.targets().values() if not t.requires_grad}
    tables = [
        module.weight
        for one in (*case.modules, *case.known_modules)
        for module in one.modules()
        if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag))
    ]
    calls = case.statements.calls("from_pretrained")
    made = [(place, node) for place, node in calls if "Embedding" in ast.unparse(node.func)]
    left = [place for place, node in made if len(node.args) < 2 and not _says_freeze(node)]
    if len(made) != 1 or not left or frozen.isdisjoint(map(id, tables)):
        return None
    return found._replace(
        where=case.words.places([], left),
        lines=lines_of((), left),
        mend=say("path.pass_false", function="from_pretrained", parameter="freeze"),
    )


def _says_freeze(node: ast.Call) -> bool:
    """Say whether a call passes ``freeze=``, or keywords that may hold it."""
    return any(k.arg in ("freeze", None) for k in node.keywords)


def _switched_off(case: Case) -> list[Call]:
    """Return the calls that switched off the flags of what is asked about, one of each line."""
    recording = case.recording
    live = [t for t in case.targets().values() if not t.requires_grad]
    states = [recording.find(t) for t in live] if recording is not None else []
    return switches_off(case.facts, {state.object_id for state in states if state is not None})
