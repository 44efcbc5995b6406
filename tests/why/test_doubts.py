"""No verdict, sentence or picture rests on what was not read: states of saved tensors, events, and
what is older."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

import gradviz as gv
from gradviz.graph.facts import Facts
from gradviz.graph.findings import Cause, Finding, Sure
from gradviz.graph.records import Graph, SavedState
from gradviz.graph.saved_tensors import SavedTensors
from gradviz.picture.explaining import summary
from gradviz.watch import backward, cuts, torch_private
from gradviz.why.evidence.doubts import doubted, so_far
from gradviz.why.shown.explanation import Explanation, worded
from gradviz.words.en import ENGLISH
from gradviz.words.language import Answer
from gradviz.words.speech import language, speaking
from gradviz.words.words import Words

FINE = re.compile(
    r"not judged|healthy|\bfine\b|\bavailable\b|loss can send gradients|would use|all is"
    r" well(?<!whether all is well)"
)
Tensors = tuple[Any, ...]


def states_of_an_old_torch(node: Any) -> list[tuple[str, Any, SavedState, int | None]]:
    """What torch_private.saved_tensors tells where a saved tensor shows neither its data nor its hook
    (torch 2.4 to 2.9)."""
    found: list[tuple[str, Any, SavedState, int | None]] = []
    for attribute, short in torch_private.raw_names(type(node)):
        try:
            raw = getattr(node, attribute)
        except Exception:
            found.append((short, None, SavedState.FREED, None))
            continue
        parts = (
            {f"{short}[{i}]": one for i, one in enumerate(raw)}
            if isinstance(raw, (tuple, list))
            else {short: raw}
        )
        found += [
            (name, None, SavedState.UNKNOWN, None) for name, one in parts.items() if one is not None
        ]
    return found


@pytest.fixture
def old_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """No state of a saved tensor is known; the quick way of recording, which reads them itself,
    gives up there."""
    monkeypatch.setattr(torch_private, "saved_tensors", states_of_an_old_torch)
    monkeypatch.setattr(torch_private, "release_probe", lambda node: None)
    monkeypatch.setattr(cuts, "entry", lambda *_: None)


def overwritten_before_backward() -> Tensors:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x**2).sum()
    x.data += 5
    loss.backward()
    return x, loss


def overwritten_and_no_backward_yet() -> Tensors:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x**2).sum()
    x.data += 5
    return (loss,)


def written_in_place_and_no_backward_yet() -> Tensors:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 1
    loss = (h**2).sum()
    h.add_(5)
    return (loss,)


def used_up() -> Tensors:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x**2).sum()
    loss.backward()
    return (loss,)


def result_overwritten() -> Tensors:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x.exp()
    h.data.mul_(3)
    loss = h.sum()
    loss.backward()
    return x, loss


def module_overwritten() -> Tensors:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    loss = net(torch.ones(1, 2)).sum()
    net[1].weight.data.mul_(3)
    loss.backward()
    return net, loss


DOUBTFUL: list[Callable[[], Tensors]] = [
    overwritten_before_backward,
    overwritten_and_no_backward_yet,
    written_in_place_and_no_backward_yet,
    used_up,
    result_overwritten,
    module_overwritten,
]


def every_word(rec: gv.Recording) -> list[str]:
    """What picture, sentence and player say."""
    return [
        summary(rec.graph),
        rec.figure().text,
        rec.figure().alt,
        *(s["sentence"] for s in gv.play(rec).states),
    ]


@pytest.mark.usefixtures("old_torch")
@pytest.mark.parametrize("program", DOUBTFUL)
def test_nothing_is_called_fine_where_no_state_is_known(program: Callable[[], Tensors]) -> None:
    with gv.record() as rec:
        subjects = program()
    for told in (rec.explain(*subjects), gv.explain(*subjects)):
        assert told.cause in ("not_known", "non_leaf", "no_backward_yet")
        assert told.tag != "not judged"
        assert "not known" in str(told) or "cannot be read" in str(told)
    for words in every_word(rec):
        assert not FINE.search(words.replace("(unknown)", "")), words


@pytest.mark.parametrize("program", DOUBTFUL[:2] + DOUBTFUL[4:])
def test_with_the_states_the_same_programs_have_a_verdict(program: Callable[[], Tensors]) -> None:
    with gv.record() as rec:
        subjects = program()
    assert any(s.state is SavedState.OVERWRITTEN for n in rec.graph.nodes for s in n.saved)
    assert "overwritten" in summary(rec.graph)
    if len(subjects) == 2:
        assert rec.explain(*subjects).cause == "overwritten"


@pytest.mark.parametrize("unreadable", ["PowBackward0", "ExpBackward0"])
def test_one_unknown_state_on_the_way_is_enough(
    monkeypatch: pytest.MonkeyPatch, unreadable: str
) -> None:
    known = torch_private.saved_tensors

    def hidden(node: Any) -> Any:
        return states_of_an_old_torch(node) if type(node).__name__ == unreadable else known(node)

    monkeypatch.setattr(torch_private, "saved_tensors", hidden)
    monkeypatch.setattr(torch_private, "release_probe", lambda node: None)
    monkeypatch.setattr(cuts, "entry", lambda *_: None)
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (x**2).sum() + y.exp().mul(2).sum()
        (x if unreadable == "PowBackward0" else y.exp()).data += 5
        loss.backward()
    x_told, y_told = rec.explain(x, loss), rec.explain(y, loss)
    assert y_told.cause == "healthy"  # its own memory was not written
    assert x_told.cause == ("not_known" if unreadable == "PowBackward0" else "healthy")


@pytest.mark.usefixtures("old_torch")
def test_where_nothing_was_written_unknown_states_hide_nothing() -> None:
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (x**2).sum()
        loss.backward()
    assert SavedTensors(Facts.of(rec.graph)).unsure == []
    assert rec.explain(x, loss).cause == "healthy"


@pytest.mark.usefixtures("old_torch")
def test_a_step_after_the_last_backward_raises_no_doubt() -> None:
    net = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gv.record() as rec:
        for _ in range(3):
            optimizer.zero_grad()
            loss = net(torch.ones(1, 2)).sum()
            loss.backward()
            optimizer.step()
    assert rec.explain(net, loss).cause == "healthy"


def test_checkpointed_code_without_writes_raises_no_doubt() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    with gv.record() as rec:
        loss = checkpoint(net, torch.ones(1, 2), use_reentrant=False).sum()
        loss.backward()
    told = rec.explain(net, loss)
    assert told.cause in ("healthy", "not_known")
    assert all(p.grad is not None for p in net.parameters())


def test_zeros_that_came_of_an_overwritten_value_are_told_as_that() -> None:
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x.exp()
        h.data.zero_()
        loss = h.sum()
        loss.backward()
    assert rec.explain(x, loss).cause == "overwritten"


PACKS: list[Callable[[Any], Any]] = [lambda t: t, lambda t: t.detach(), lambda t: (t,)]
UNPACKS: list[Callable[[Any], Any]] = [lambda t: t, lambda t: t, lambda t: t[0]]


@pytest.mark.parametrize(("pack", "unpack"), list(zip(PACKS, UNPACKS, strict=True)))
def test_what_a_hook_packed_and_was_written_is_not_called_fine(pack: Any, unpack: Any) -> None:
    """Torch compares no versions of what a hook packed: the wrong gradient comes without an
    error."""
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        h = x * 1
        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            loss = (h**2).sum()
        h.add_(5)
        loss.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [12.0, 14.0]  # and not [2, 4]
    assert rec.explain(x, loss).cause == "not_known"
    assert not any(FINE.search(words.replace("(unknown)", "")) for words in every_word(rec))


def test_what_a_hook_packed_and_nobody_wrote_is_as_it_was() -> None:
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(PACKS[1], UNPACKS[1]):
            loss = (x**2).sum()
        loss.backward()
        x.data += 5
    assert rec.explain(x, loss).cause == "healthy"


# what else a "no fault" would rest on -------------------------------------------------------------


def judged(told: Explanation) -> None:
    assert told.cause == "not_known"
    assert told.verdict.startswith("Not known whether all is well: ")
    assert "Not looked at: " in told.why
    assert told.tag == "not known"


def test_a_backward_that_was_not_watched_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward, "WATCH_LIMIT", 1)
    with gv.record() as rec:
        x, loss = overwritten_before_backward()
    judged(rec.explain(x, loss))
    assert "may have used wrong numbers" in summary(rec.graph)
    assert "may have used wrong numbers" in rec.figure().text


def test_a_graph_that_is_older_than_the_recording_is_no_proof() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x**2).sum()
    x.data += 5
    with gv.record() as rec:
        loss.backward()
    judged(rec.explain(x, loss))
    judged(rec.explain(x))
    assert "PowBackward0" in rec.explain(x, loss).why


def test_an_older_graph_that_saved_nothing_is_known_well_enough() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = x.sum()
    with gv.record() as rec:
        loss.backward()
    assert rec.explain(x, loss).cause == "healthy"


def test_dropped_events_are_no_proof() -> None:
    with gv.record(max_events=12) as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        x.data += 5
        for _ in range(4):
            (x + 1).abs()
        loss = (x**2).sum()
        loss.backward()
    assert rec.graph.notes
    judged(rec.explain(x, loss))


def test_a_loss_whose_graph_was_written_in_place_is_not_healthy() -> None:
    with gv.record() as rec:
        (loss,) = written_in_place_and_no_backward_yet()
    for told in (rec.explain(loss), gv.explain(loss)):
        assert told.cause == "modified_in_place"
        assert "raises" in told.verdict


def by_numpy(w: Any) -> Any:
    h = w * 1
    b = h.sin()
    h.detach().numpy()[:] = 7
    b.sum().backward()
    return h


def by_storage(w: Any) -> Any:
    h = w * 1
    b = h.sin()
    h.untyped_storage().fill_(0)
    b.sum().backward()
    return h


def of_a_constant(w: Any) -> Any:
    k = torch.ones(2)
    b = w * k
    k.numpy()[:] = 9
    b.sum().backward()
    return k


@pytest.mark.parametrize("program", [by_numpy, by_storage, of_a_constant])
def test_memory_that_changed_without_a_recorded_write_leaves_a_doubt(
    program: Callable[[Any], Any],
) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        kept = program(w)
    assert kept is not None  # alive when the recording ends, so its memory was read again
    told = rec.explain(w)
    assert told.cause == "not_known"
    assert "it changed, and no call wrote it" in " ".join(str(told).split())


def test_memory_that_recorded_calls_changed_leaves_no_such_doubt() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gv.record() as rec:
        h = (w * 2).relu_()
        h.detach().numpy()
        optimizer = torch.optim.SGD([w], lr=0.1)
        (h * h).sum().backward()
        optimizer.step()
    assert rec.explain(w).cause == "healthy"


def test_norms_that_could_not_be_read_are_said() -> None:
    from gradviz.why.answering.answer import explain_small

    good = torch.nn.Parameter(torch.ones(2))
    good.grad = torch.ones(2)
    bad = torch.nn.Parameter(torch.ones(2, device="meta"))
    bad.grad = torch.ones(2, device="meta")
    told = explain_small({"a.weight": good, "b.weight": bad})
    assert told.cause == "not_known"
    assert "1 of 2 modules" in told.verdict
    assert explain_small({"a.weight": good}).cause == "healthy"


def test_a_backward_that_was_not_watched_is_looked_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not once for every node of its graph: of 20,000 nodes that took half a minute."""
    monkeypatch.setattr(backward, "WATCH_LIMIT", 20)
    w = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        x = w
        for _ in range(100):
            x = x * 1.0
        x.sum().backward()
    assert not rec.graph.backwards[0].watched
    reachable, joins = Facts.reachable, []

    class Counted(set[int]):
        def __and__(self, other: Any) -> Any:
            joins.append(len(self))
            return set.__and__(self, other)

        __rand__ = __and__

    monkeypatch.setattr(Facts, "reachable", lambda *given: Counted(reachable(*given)))
    rec.explain(w)
    assert 0 < len(joins) < 20


def written_through_numpy(h: torch.Tensor) -> None:
    h.detach().numpy()[:] = 7


def written_through_an_array(h: torch.Tensor) -> None:
    np.asarray(h.detach())[:] = 7


def written_at_its_address(h: torch.Tensor) -> None:
    ctypes.memset(h.data_ptr(), 0, 8)


def written_through_its_storage(h: torch.Tensor) -> None:
    h.untyped_storage()[0] = 3


@pytest.mark.parametrize("size", [2, 20])
@pytest.mark.parametrize(
    "write",
    [
        written_through_numpy,
        written_through_an_array,
        written_at_its_address,
        written_through_its_storage,
    ],
)
def test_memory_that_was_handed_out_is_told_where_nobody_could_read_it_again(
    write: Callable[[torch.Tensor], None], size: int
) -> None:
    x = torch.ones(size, requires_grad=True)

    def program() -> None:
        h = x * 1
        b = h.sin()
        write(h)
        b.sum().backward()

    with gv.record() as rec:
        program()
    assert x.grad is not None
    assert not torch.equal(x.grad, x.detach().cos())  # it is wrong indeed
    told = rec.explain(x)
    assert told.verdict.startswith("As far as was looked at: x.grad is")
    assert re.search(
        r"Not looked at: whether what SinBackward0 of .* saved was written by way of \w+\(\)",
        told.why,
    )


@pytest.mark.parametrize("size", [2, 20])
def test_memory_that_was_handed_out_after_backward_leaves_no_doubt(size: int) -> None:
    x = torch.ones(size, requires_grad=True)

    def program() -> None:
        for _ in range(3):
            h = x * 1
            b = h.sin()
            b.sum().backward()
            assert b.detach().numpy().shape == (size,)
            assert h.data_ptr()

    with gv.record() as rec:
        program()
    assert rec.explain(x).verdict.startswith("x.grad is")


def test_memory_that_no_node_saved_or_that_was_read_again_leaves_no_doubt() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(20, requires_grad=True)
    with gv.record() as rec:
        kept = x * 1
        assert kept.data_ptr()  # small and alive: what stands there at the end was read
        result = y.sin()
        assert result.detach().numpy().size == 20  # sin saves what it was given, and no result
        (kept.sin().sum() + result.sum()).backward()
    assert rec.explain(x).verdict.startswith("x.grad is")
    assert rec.explain(y).verdict.startswith("y.grad is")


def test_addresses_that_torch_itself_asks_for_leave_no_doubt() -> None:
    x = torch.ones(20, requires_grad=True)
    with gv.record() as rec:
        layer = torch.nn.LSTM(2, 2)
        layer.flatten_parameters()
        layer(x.view(-1, 1, 2))[0].sum().backward()
    assert rec.explain(x).verdict.startswith("x.grad is")


def test_how_sure_an_answer_is_stands_where_its_sentence_has_it() -> None:
    """A language may put it anywhere: the sentence is filled in anew, and not searched."""
    fine = Answer(verdict="{it} is fine ({health}).", why="{it} was looked at.")
    other = language()._replace(answers={(Cause.HEALTHY, "fine"): fine})
    with speaking(other):
        healthy = worded(Finding(Cause.HEALTHY, "fine", subject="w"), Words(Graph()))
        assert healthy.verdict == "w is fine ()."
        open_one = doubted(healthy, ["this", "that"])
        likely = so_far(healthy, "this")
    assert open_one.cause == "not_known"
    assert open_one.verdict == "w is fine (Not known whether all is well: )."
    assert open_one.why == "w was looked at. Not looked at: this; that."
    assert likely.cause == "healthy"
    assert likely.verdict == "w is fine (As far as was looked at: )."
    assert [e.finding.sure for e in (open_one, likely) if e.finding] == [Sure.POSSIBLE, Sure.LIKELY]


def test_every_answer_that_may_be_doubted_says_how_sure_it_is() -> None:
    """Without a recording nothing is doubted ("unseen"), and sizes are told by explain_small()."""
    unsure = [
        form
        for (cause, form), answer in ENGLISH.answers.items()
        if cause is Cause.HEALTHY and "{health}" not in answer.verdict
    ]
    assert [form for form in unsure if form != "size" and not form.endswith("_unseen")] == []
