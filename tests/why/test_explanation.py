"""One explanation: eight short lines, a picture of what it points at, and nothing of the user's
kept alive."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import nn

import gradviz as gv
from gradviz.graph.findings import Cause
from gradviz.graph.records import Cut, CutReason, Graph, NoteKind
from gradviz.why.shown.explanation import LINES, WIDTH, Explanation
from gradviz.why.shown.focus import CARDS, focus
from gradviz.words.words import Words


def recorded(steps: int = 30) -> gv.Recording:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.detach()
        h = a * 2
        for _ in range(steps):
            h = h * 1.5
        loss = (h + b).sum()
        loss.backward()
    return rec


@pytest.mark.parametrize("words", [1, 20, 90, 400])
@pytest.mark.parametrize("more", [0, 1, 12])
def test_it_never_takes_more_than_ten_lines(words: int, more: int) -> None:
    text = " ".join(["word"] * words)
    told = Explanation(
        Cause.CUT,
        text,
        text,
        text,
        text,
        ("cut", "frozen") * words,
        more=("further " * words,) * more,
    )
    lines = str(told).splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= WIDTH
    assert "[cut]" in lines[0] or "[cut]" in lines[1]
    heads = [line.split()[0] for line in lines if line[2:3] != " "]
    assert heads[-4:] == ["Where", "Why", "Fix", "Ruled"]


def test_the_verdict_comes_first_and_what_was_ruled_out_last() -> None:
    told = Explanation(Cause.NOT_KNOWN, "v", "w", "y", "m", ("cut", "frozen"), more=("f",))
    assert str(told).splitlines() == [
        "v" + " " * 83 + "[not known]",
        "  f",
        "  Where   w",
        "  Why     y",
        "  Fix     m",
        "  Ruled out cut; frozen.",
    ]
    assert repr(told) == str(told)
    assert Explanation(Cause.HEALTHY, "fine").tag == "not judged"


def test_what_a_reader_could_not_see_is_written_out() -> None:
    told = str(Explanation(Cause.CUT, "a\u202eb\x00", "<b>\n</b>", more=("\x1b[31m",)))
    assert "a\\u202eb\\x00" in told
    assert "<b>\\n</b>" in told
    assert "\x1b" not in told
    html = Explanation(Cause.CUT, "<script>")._repr_mimebundle_()["text/html"]
    assert "<script>" not in html


def test_the_tag_names_the_reason_of_the_cut() -> None:
    rec = recorded()
    assert Explanation(Cause.CUT, "v", cuts=rec.cuts).tag == "cut: detach"


def test_it_is_plain_data() -> None:
    rec = recorded(3)
    told = Explanation(Cause.CUT, "v", cuts=rec.cuts, tensor_ids=(0,), graph=rec.graph)
    assert pickle.loads(pickle.dumps(told._replace(graph=None))) == told._replace(graph=None)
    assert copy.deepcopy(told._replace(graph=None)).cuts == told.cuts


def test_the_picture_shows_what_it_points_at_and_little_more() -> None:
    rec = recorded()
    told = Explanation(Cause.CUT, "v", cuts=rec.cuts, graph=rec.graph)
    figure = told.figure
    assert figure is not None
    assert {"a", "b"} <= {c.name for c in figure.scene.cards}
    assert len(figure.scene.cards) <= CARDS + 3
    assert "are left out" in figure.text
    assert "detach" in figure.text
    assert figure.svg.startswith("<svg")
    assert Explanation(Cause.CUT, "v").figure is None
    assert Explanation(Cause.CUT, "v", graph=Graph()).figure is None


@pytest.mark.parametrize("tensor", range(0, 30, 3))
def test_any_part_of_a_recording_can_be_drawn(tensor: int) -> None:
    graph = recorded().graph
    part = focus(graph, [tensor], [], [])
    assert tensor in {t.id for t in part.tensors}
    ids, nodes, calls = (
        {t.id for t in part.tensors},
        {n.id for n in part.nodes},
        {c.id for c in part.calls},
    )
    assert all(c.input_id in ids and c.call_id in calls for c in part.cuts)
    assert all(e.node_id in nodes and e.next_node_id in {*nodes, None} for e in part.edges)
    assert all(b.call_id in calls for b in part.backwards)
    assert Graph.from_json(part.to_json()) == Graph.from_json(part.to_json())
    assert gv.Figure(part).text
    assert gv.Figure(part).svg


def test_a_graph_that_was_only_read_is_drawn_as_nodes() -> None:
    w = torch.ones(3, requires_grad=True)
    h = w
    for _ in range(40):
        h = h * 1.5
    graph = gv.show(h, names={"w": w, "h": h}).graph
    told = Explanation(Cause.NON_LEAF, "v", tensor_ids=graph.roots, graph=graph)
    assert told.figure is not None
    assert told.figure.view == "nodes"
    assert 2 <= len(told.figure.graph.nodes) <= CARDS
    assert told.figure.svg


@pytest.mark.parametrize("tag", ["cut: detach", "cut"])
def test_the_cause_is_told_whole_where_it_fits(tag: str) -> None:
    cause, _, reason = tag.partition(": ")
    cuts = (Cut(0, 0, 1, CutReason(reason)),) if reason else ()
    for length in range(1, WIDTH + 1):
        told = Explanation(Cause(cause), "x" * length, cuts=cuts)
        assert told.tag == tag
        first, *rest = str(told).splitlines()
        fits = length + len(tag) + 4 <= WIDTH  # two blanks before, two brackets around
        assert (f"[{tag}]" in first) == fits
        assert f"[{cause}" in "".join([first, *rest])
        assert max(map(len, [first, *rest])) <= WIDTH


def test_an_input_that_a_module_reads_is_no_parameter() -> None:
    layer = nn.Linear(3, 1)
    batches = iter([torch.ones(2, 3), torch.ones(2, 3)])
    with gv.record() as rec:
        layer(next(batches)).sum().backward()
    words = Words(rec.graph)
    told = [words.name(i) for i in rec.graph.calls[0].inputs]
    assert told == ["an input of layer(next(batches))", "layer.weight", "layer.bias"]


def test_of_a_loop_in_which_the_same_happens_the_picture_shows_one_iteration() -> None:
    w = torch.ones(3, 2, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with gv.record() as rec:
        for _ in range(5):
            loss = torch.softmax(torch.ones(4, 3) @ w, 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    graph = rec.explain(w, loss).figure.graph
    assert sum(call.function == "softmax" for call in graph.calls) == 1
    assert [dict(note.fields)["n"] for note in graph.notes if note.kind is NoteKind.ITERATIONS] == [
        5
    ]
