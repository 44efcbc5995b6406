"""What is called a loss, and is part of no backward."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradviz.graph.facts import Facts
from gradviz.why.explanation import Explanation
from gradviz.words.speech import say
from gradviz.words.words import Words

if TYPE_CHECKING:
    from gradviz.why.rules.whole.case import Case


# what a loss is called, and not what is measured beside the training
LOSS = re.compile(
    r"(?<![a-z])(?<!val_)(?<!test_)(?<!eval_)(loss|reg|penalty|kl)(?![a-z])", re.IGNORECASE
)


def with_idle_losses(case: Case, found: Explanation) -> Explanation | None:
    """Return the same answer, with what is called a loss, and is part of no backward."""
    facts, words = Facts.of(case.graph), Words(case.graph)
    if not case.graph.backwards or not case.modules:
        return None
    known = {*case.loss_ids, *facts.losses}
    objects = {case.graph.tensor[i].object_id for i in known}
    idle = [case.graph.tensor[i] for i in case.ends]
    idle = [t for t in idle if t.object_id not in objects and LOSS.search(t.code_name)]
    lines = [
        say("losses.idle", name=words.name(t.id), place=words.where(facts.maker.get(t.id)))
        for t in idle
        if t.former is None
    ]
    return case.beside(found, *lines) if lines else None
