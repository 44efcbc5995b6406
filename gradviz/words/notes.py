"""What a note of a graph says."""

from __future__ import annotations

from gradviz.graph.iterations import Differ
from gradviz.graph.records import Note, NoteKind
from gradviz.words.speech import say


def note_text(note: Note) -> str:
    """Return the sentence of a note.

    >>> from gradviz.graph.records import NoteKind
    >>> note_text(Note.of(NoteKind.UNKNOWN_SHAPES, n=1, tensors=3))
    '1 of 3 tensors does not tell its shape.'
    """
    fields = dict(note.fields)
    if note.kind is not NoteKind.ITERATIONS:
        return say(f"note.{note.kind.name.lower()}", **fields)
    counts = (int(fields[name]) for name in ("n", "k", "differ", "inner"))
    told = iterations_text(*counts)
    if "was" not in fields:
        return told
    trend = say("outline.trend", first=fields["was"], last=fields["now"])
    return say("note.iterations", told=told, trend=trend)


def iterations_text(n: int, k: int, differ: int, inner: int) -> str:
    """Tell which of the alike iterations of a loop is drawn.

    Args:
        n: how many there are.
        k: the number of the one that is drawn, from 1.
        differ: in what they differ, as ``Differ`` of ``gradviz.graph.iterations``.
        inner: whether the loop stands in another one that is told.

    >>> iterations_text(30, 30, 0, 0)
    '30 iterations of a loop, all alike: the last is drawn'
    """
    return say(
        "outline.iterations_in_it" if inner else "outline.iterations",
        n=n,
        how=_alike(differ),
        which=say("outline.last") if k == n else say("outline.number", k=k),
    )


def _alike(differ: int) -> str:
    """Tell how far iterations are alike."""
    if differ == Differ.INSIDE:
        return say("outline.alike_but")
    return say("outline.alike_often" if differ == Differ.OFTEN else "outline.all_alike")
