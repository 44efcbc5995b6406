"""Each note of a graph is a record, and has its sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest
import torch

import gradviz as gv
from gradviz.graph.records import Graph, Note, NoteKind
from gradviz.words.en import ENGLISH, NOTE
from gradviz.words.notes import note_text
from gradviz.words.speech import speaking

PACKAGE = Path(gv.__file__).parent


def notes_made() -> Iterator[tuple[str, ast.Call]]:
    """Every ``Note.of(NoteKind.…)`` of the package, with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "Note.of" in text else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Note.of":
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


MADE = [*notes_made()]


def recording_without_its_beginning() -> gv.Recording:
    a = torch.ones(2, requires_grad=True)
    with gv.record(max_events=2) as rec:
        for _ in range(6):
            a = a * 2
    return rec


def test_every_kind_has_its_sentence() -> None:
    assert set(NOTE) == {kind.name.lower() for kind in NoteKind}


def test_every_kind_is_made_somewhere() -> None:
    made = {ast.unparse(call.args[0]) for _, call in MADE}
    assert made == {f"NoteKind.{kind.name}" for kind in NoteKind}


# what is given as a mapping is read in no source: outline/ has the sentences of loops
WRITTEN_OUT = [(at, call) for at, call in MADE if all(word.arg for word in call.keywords)]


@pytest.mark.parametrize(("at", "call"), WRITTEN_OUT, ids=[at for at, _ in WRITTEN_OUT])
def test_a_note_gives_what_its_sentence_names(at: str, call: ast.Call) -> None:
    kind = ast.unparse(call.args[0]).rpartition(".")[2].lower()
    names = {name for _, name, _, _ in Formatter().parse(NOTE[kind]) if name}
    assert {word.arg for word in call.keywords} == names, at


def test_a_note_is_plain_data() -> None:
    graph = recording_without_its_beginning().graph
    (note,) = graph.notes
    assert note == Note.of(NoteKind.DROPPED, dropped=4, kept=2)
    assert {note, Note.of(NoteKind.DROPPED, dropped=4, kept=2)} == {note}
    assert Graph.from_json(graph.to_json()).notes == graph.notes


def test_a_note_is_worded_where_it_is_shown() -> None:
    rec = recording_without_its_beginning()
    sentence = (
        "the oldest 4 events were dropped: this recording keeps at most 2"
        " (record(max_events=...) keeps more)"
    )
    assert rec.notes == (sentence,)
    assert f"note: {sentence}" in str(rec.figure())
    other = ENGLISH._replace(
        sentences={**ENGLISH.sentences, "note.dropped": "{dropped} fehlen von {kept}"}
    )
    with speaking(other):
        assert rec.notes == ("4 fehlen von 2",)
        assert "note: 4 fehlen von 2" in str(rec.figure())


def test_what_a_note_counts_is_told_in_number() -> None:
    assert note_text(Note.of(NoteKind.ELSEWHERE, calls=1)).startswith("not recorded: 1 call that")
    assert note_text(Note.of(NoteKind.ELSEWHERE, calls=3)).startswith("not recorded: 3 calls that")
    assert note_text(Note.of(NoteKind.NODE_LIMIT, limit=10_000)).startswith(
        "The graph has more than 10,000 nodes. The nearest 10,000 were read;"
    )
