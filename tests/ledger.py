"""Try every claim of the source notes, and write what came out to docs/claims.md and docs/notes.md.

python tests/ledger.py
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # as a script it would not find the folder course
    sys.path.append(str(ROOT))

import by_note  # noqa: E402
from claims import (  # noqa: E402
    CLAIMS,
    COMPANIONS,
    Claim,
    copying,
    detaching,
    graph,
    independent,
    tracking,
    training,
    writing,
)

from course import books  # noqa: E402

PAGE = ROOT / "docs" / "claims.md"
TOPICS = [tracking, graph, copying, detaching, writing, independent, training]
VERDICTS = ["true", *COMPANIONS.values()]
NOWHERE = "(no cell yet)"
INTRODUCTION = """# The ledger of claims

<!-- Written by tests/ledger.py. Change the programs in tests/claims/, not this page. -->

Five study notes about `detach()`, `clone()` and `.grad`, numbered 000 to 004 here, say {all} things about PyTorch. The
course grew out of the wish to know which of them are so. Below, each stands in our words, with the verdict.

No verdict was typed. For each claim a small program returns whether it holds as it stands. Where that is not the whole
truth, a sentence says what is, and has a program of its own that must hold. So the verdicts are torch's:
{counts}.

| verdict | it means |
| --- | --- |
| true | the claim holds |
| needs nuance | it holds, but not everywhere or not alone: the sentence says how far |
| false | it does not hold: the sentence says what does |
| outdated | it was right, or good advice, with an older torch: the sentence says what is so now |
| not testable | nothing can be run for it on every machine: the sentence says what was tried in its place |

"In the course" names the notebook and the section that shows it; mere slips of the pen are found here only. "Proof" is
the function that tries it; `pytest tests/course/test_claims.py -k C046` runs one. `python tests/ledger.py` runs all and
writes this page, and [one for each note](notes.md) in the note's own order. What takes a GPU is tried where CUDA is
present, and changes nothing here."""


def where(claim: Claim) -> str:
    """The first section of each notebook that shows the claim."""
    places: dict[Path, str] = {}
    for book, cell in books.tagged(claim.id):
        places.setdefault(
            book.path, f"[{book.number}](../notebooks/{book.path.name}) {cell.section}"
        )
    missing = "here only" if claim.id in books.SLIPS else NOWHERE
    return "<br>".join(places.values()) or missing


def row(claim: Claim) -> str:
    """One line of a table; the programs run."""
    file = f"../tests/{claim.topic.replace('.', '/')}.py"
    said = claim.verdict() + (f". {claim.remark}" if claim.remark else "")
    columns = [
        claim.id,
        claim.words,
        claim.source,
        said,
        where(claim),
        f"[{claim.id.lower()}]({file})",
    ]
    assert not any("|" in column for column in columns), (
        f"{claim.id}: a table cannot hold the sign |"
    )
    return f"| {' | '.join(columns)} |"


def page() -> str:
    """The whole page, from programs that run now."""
    verdicts = Counter(claim.verdict() for claim in CLAIMS.values())
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    parts = [INTRODUCTION.format(all=len(CLAIMS), counts=counts)]
    for topic in TOPICS:
        rows = [row(claim) for id, claim in sorted(CLAIMS.items()) if claim.topic == topic.__name__]
        parts.append(f"## {topic.__doc__}")
        parts.append(
            "\n".join(
                [
                    "| claim | what it says | note | verdict | in the course | proof |",
                    "| --- " * 6 + "|",
                    *rows,
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    by_note.PAGE.write_text(by_note.page(), encoding="utf-8")
    print(f"{PAGE.name}, {by_note.PAGE.name}: {len(CLAIMS)} claims")
