"""What a tensor is called, and why a gradient path ends: told once, and the same by every reader."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import gradviz as gv
from gradviz.graph.facts import Facts, code_of
from gradviz.graph.records import CutReason, Graph, Tensor
from gradviz.picture.explaining import LIMIT, sentences, summary
from gradviz.picture.state import state
from gradviz.picture.telling import Story
from gradviz.picture.text import cut_text
from gradviz.words.en import CUT
from gradviz.words.speech import pieces_of, say
from gradviz.words.words import Words, reason_of


def leaf(n: int = 2) -> torch.Tensor:
    return torch.ones(n, requires_grad=True)


def last_states(graph: Graph) -> list[Tensor]:
    return list(Facts.of(graph).latest_state.values())


def test_what_was_written_since_is_called_by_the_code_that_made_it() -> None:
    with gv.record() as rec:
        w = torch.ones(2, requires_grad=True) * 0.1
        w.sum().backward()
    unnamed = next(t for t in last_states(rec.graph) if t.name is None and t.is_leaf)
    assert unnamed.id not in Facts.of(rec.graph).maker
    words = Words(rec.graph)
    assert words.name(unnamed.id) == "torch.ones(2, requires_grad=True)"
    assert words.grad(unnamed.id) == "torch.ones(2, requires_grad=True).grad"
    assert "torch.ones(2, requires_grad=True).grad is [0.1, 0.1]" in summary(rec.graph)
    wrote = [Story(rec.at(k)).sentence() for k in range(len(rec.events) + 1)]
    assert any("changed torch.ones(2, requires_grad=True): .grad" in text for text in wrote)


def test_a_backward_says_nothing_of_what_it_was_called_on() -> None:
    held = [leaf()]
    with gv.record() as rec:
        gv_grads = torch.autograd.grad(held[0].sum(), held)
    graph = rec.graph
    graph = graph.replace(
        tensors=[t._replace(name=None) for t in graph.tensors],
        calls=[c for c in graph.calls if c.function != "sum"],
    )
    read = next(t for t in graph.tensors if t.is_leaf)
    assert Facts.of(graph).label(read.id).reader is not None
    assert Words(graph).name(read.id) == "an unnamed tensor"
    assert Words(graph).grad(read.id) == ".grad of an unnamed tensor"
    del gv_grads


def test_inputs_that_would_read_alike_are_counted() -> None:
    held = [leaf(), leaf(), leaf()]
    with gv.record() as rec:
        named = leaf() * 2
        c = torch.stack([torch.ones(2), named, held[0], held[2], held[0]]).argmax(0)
    words = Words(rec.graph)
    call = next(call for call in rec.graph.calls if call.function == "stack")
    told = [words.name(i) for i in call.inputs]
    code = words.code(call)
    assert told[:2] == ["torch.ones(2)", "named"]
    assert told[2:4] == [f"input 3 of {code}", f"input 4 of {code}"]
    assert told[4:] in ([], [f"input 3 of {code}"])
    del c


def test_one_input_without_a_name_is_not_counted() -> None:
    held = [leaf()]
    with gv.record() as rec:
        c = torch.stack([held[0], held[0]]).sum()
    (call,) = (call for call in rec.graph.calls if call.function == "stack")
    assert {Words(rec.graph).name(i) for i in call.inputs} == {f"an input of {code_of(call)}"}
    del c


def test_a_node_is_called_the_same_by_its_id() -> None:
    with gv.record() as rec:
        a = leaf()
        loss = (a * 2).sum()
        loss.backward()
    words = Words(rec.graph)
    told = {node.name: words.node(node) for node in rec.graph.nodes}
    assert told == {
        "SumBackward0": "SumBackward0 of loss = (a * 2).sum()",
        "MulBackward0": "MulBackward0 of a * 2",
        "AccumulateGrad": "AccumulateGrad of a",
    }
    assert all(words.node_by_id(node.id) == words.node(node) for node in rec.graph.nodes)


@pytest.mark.parametrize(
    ("key", "fields", "one", "two"),
    [
        ("list.more_places", {}, "and 1 more place", "and 2 more places"),
        ("raised.written_besides", {}, "It was written at 1 more place.", "2 more places."),
        ("raised.cut_before", {}, "Before that, 1 more call cut it too.", "2 more calls"),
        ("card.more_kinds", {}, "… 1 more kind", "2 more kinds"),
        ("fact.bytes", {}, "1 byte", "2 bytes"),
        ("summary.received", {"got": 1}, "1 of the 1 leaf that requires", "2 leaves that require"),
    ],
)
def test_one_is_told_as_one(key: str, fields: dict[str, int], one: str, two: str) -> None:
    told = say(key, n=1, **fields)
    assert one in told
    assert f"{one}s" not in told
    assert two in say(key, n=2, **fields)


def detach(a: torch.Tensor) -> object:
    return a.detach()


def data(a: torch.Tensor) -> object:
    return a.data


def item(a: torch.Tensor) -> object:
    return a.sum().item()


def argmax(a: torch.Tensor) -> object:
    return a.argmax()


def integer(a: torch.Tensor) -> object:
    return a.long()


def detach_in_place(a: torch.Tensor) -> object:
    return (a * 2).detach_()


@pytest.mark.parametrize(
    ("cutter", "word"),
    [
        (detach, "detach"),
        (data, ".data"),
        (item, "value copied out"),
        (argmax, "non-differentiable function"),
        (integer, "integer or bool dtype"),
        (detach_in_place, "detach_"),
    ],
)
def test_a_cut_is_told_by_one_word(cutter: Callable[[torch.Tensor], object], word: str) -> None:
    a = leaf()
    with gv.record() as rec:
        b = cutter(a)
    (cut,) = rec.cuts
    step = max(k for k in range(len(rec.events) + 1) if "✂" in Story(rec.at(k)).sentence())
    labels = [arrow.label for arrow in rec.figure().scene.arrows if arrow.kind == "cut"]
    assert reason_of(cut) == word
    assert f"✂ {word}: no gradient goes back" in Story(rec.at(step)).sentence()
    assert f" · {word} by " in cut_text(rec.graph, cut)
    assert f" · {word} by " in rec.figure().text
    assert labels == [f"✂ {word} · no gradient back"]
    del b


def test_what_of_a_sentence_is_code_is_known() -> None:
    a = leaf()
    with gv.record() as rec:
        b = a * 2
        c = b.detach()
        (b + c).sum().backward()
    told = summary(rec.graph)
    code = [piece for piece, is_code in pieces_of(told) if is_code]
    assert code == ["detach()", "c", "b", "a", "a.grad", "b = a * 2"]
    assert [told[start:end] for start, end in state(rec.figure())["sentence_code"]] == code
    freed = Story(rec.at(len(rec.events) - 1)).sentence()
    assert ("MulBackward0", True) in pieces_of(freed)


@pytest.mark.parametrize("reason", CutReason)
def test_the_word_of_a_cut_is_what_the_record_says(reason: CutReason) -> None:
    """In English: a saved graph is read by people too."""
    assert CUT[reason.name.lower()].replace("`", "") == reason.value


def test_what_left_torch_is_called_the_same_everywhere() -> None:
    a = leaf()
    with gv.record() as rec:
        value = (a * 2).sum().item()
    assert Words(rec.graph).name(None) == "a plain value"
    cutting = [Story(rec.at(k)).sentence() for k in range(len(rec.events) + 1)][-1]
    for told in (summary(rec.graph), rec.figure().text, rec.figure().alt, cutting):
        assert "a plain value" in told
    del value


def test_what_lost_a_gradient_is_told_even_where_there_is_little_room() -> None:
    a_leaf_with_quite_a_long_name = leaf()
    with gv.record() as rec:
        another_result_with_a_long_name = (a_leaf_with_quite_a_long_name * 2 + 3 - 4).detach()
        loss = another_result_with_a_long_name.exp().log().sum()
        with pytest.raises(RuntimeError, match="does not require grad"):
            loss.backward()
    raised, cut, *_ = sentences(rec.graph)
    assert "raises RuntimeError, because" in raised
    assert cut.startswith("✂ ")
    assert "…" in cut
    assert "this way." in cut
    assert len(summary(rec.graph)) <= LIMIT
