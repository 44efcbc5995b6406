"""What a note of a graph says."""

from __future__ import annotations

from gradviz.graph.records import Note
from gradviz.words.speech import say


def note_text(note: Note) -> str:
    """Return the sentence of a note.

    >>> from gradviz.graph.records import NoteKind
    >>> note_text(Note.of(NoteKind.UNKNOWN_SHAPES, n=1, tensors=3))
    '1 of 3 tensors does not tell its shape.'
    """
    return say(f"note.{note.kind.name.lower()}", **dict(note.fields))
