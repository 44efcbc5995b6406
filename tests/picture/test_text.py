"""The text twin: alone it tells everything that the picture shows."""

from __future__ import annotations

import contextlib
import textwrap

import torch

import gradviz as gv
from gradviz.picture.figure import Figure


def test_the_whole_story_of_a_detach() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.detach()
        d = b * 3
        loss = (a + d).sum()
        loss.backward()
    line = rec.graph.cuts[0]
    source = rec.graph.call[line.call_id].source
    assert source
    ran = "SumBackward0 → AddBackward0 → AccumulateGrad"
    assert Figure(rec.graph).text == textwrap.dedent(f"""\
        a
            [1, 2, 3]
            leaf · requires_grad
            AccumulateGrad · arrives [1, 1, 1]
            .grad: None → [1, 1, 1]
        b = a.detach()
            [1, 2, 3]
            not tracked · grad_fn None
            from a · ✂ detach · no gradient back
        d = b * 3
            [3, 6, 9]
            not tracked · grad_fn None
            from b
        a + d
            [4, 8, 12]
            AddBackward0
            from a · gradient [1, 1, 1] goes back to it
            from d
        loss = (a + d).sum()
            24
            SumBackward0 · backward() starts with 1
            from a + d · gradient [1, 1, 1] goes back to it
        cut: line {source.line}: a ✂ b · detach by b = a.detach() · no gradient back
        memory: a, b · one block of memory, two names
        backward 1 · loss.backward() in line {source.line + 3} · nodes ran: {ran}""")


def test_backwards_that_add_to_nothing() -> None:
    with gv.record() as rec:
        w = torch.tensor(3.0, requires_grad=True)
        for _ in range(2):
            w.grad = None
            (w * 2).backward()
    text = Figure(rec.graph).text
    assert "AccumulateGrad · two backwards\n    backward 1: arrives 2 · .grad None → 2\n" in text
    assert "adds to what is stored" not in text


def test_backwards_that_start_with_different_gradients() -> None:
    with gv.record() as rec:
        y = torch.tensor(3.0, requires_grad=True) * 2
        for start in (1.0, 5.0, 7.0):
            y.backward(torch.tensor(start), retain_graph=True)
    assert "MulBackward0 · backward() starts here 3 times, last with 7" in Figure(rec.graph).text


def test_several_backwards_are_told_apart() -> None:
    with gv.record() as rec:
        a = torch.tensor(3.0, requires_grad=True)
        y = a * a
        y.backward(retain_graph=True)
        y.backward()
    text = Figure(rec.graph).text
    assert "AccumulateGrad adds to what is stored" in text
    assert "backward 1: arrives 6 · .grad None → 6" in text
    assert "backward 2: arrives 6 · .grad 6 → 12" in text
    assert "backward() starts with 1 both times" in text


def test_autograd_grad_returns_and_stores_nothing() -> None:
    with gv.record() as rec:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x**3).sum()
        (g,) = torch.autograd.grad(y, x)
    text = Figure(rec.graph).text
    assert g is not None
    assert "autograd.grad returns [3, 12]" in text
    assert ".grad:" not in text


def test_a_call_that_raises_has_a_card_of_its_own() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        b = a * 2
        try:
            b @ torch.ones(3, 3)
        except RuntimeError as error:
            message = str(error)
    text = Figure(rec.graph).text
    assert "b @ torch.ones(3, 3)" in text
    assert f"RuntimeError: {message}"[:60] in text


def test_a_value_that_leaves_torch_is_a_cut_with_its_reason() -> None:
    with gv.record() as rec:
        a = torch.ones(2, requires_grad=True)
        n = a.sum().item()
    text = Figure(rec.graph).text
    assert n == 2
    assert "✂ value copied out · no gradient back" in text
    assert "a plain value, outside of torch" in text


def text_of(*lines: str) -> str:
    with gv.record() as rec, contextlib.suppress(RuntimeError):
        exec("\n".join(lines), {"torch": torch})
    return Figure(rec.graph).text


def test_a_backward_that_cannot_start_says_so_on_the_card() -> None:
    text = text_of("a = torch.ones(3, requires_grad=True)", "(a.detach() * 3).sum().backward()")
    assert "backward() raises here: no grad_fn" in text
    text = text_of("a = torch.ones(3, requires_grad=True)", "(a * 3).backward()")
    assert (
        "backward() raises here: RuntimeError: grad can be implicitly created only for scalar"
        " outputs" in text
    )


def test_a_call_that_raised_is_no_backward() -> None:
    text = text_of("a = torch.ones(2, requires_grad=True)", "a @ torch.ones(3)")
    assert "\nraised: " in text
    assert "\nbackward" not in text


def test_wrong_numbers_are_said() -> None:
    lines = ["a = torch.ones(3, requires_grad=True)", "out = a.sigmoid()", "out.data.zero_()"]
    assert "OVERWRITTEN, and its version did not move: backward would use wrong numbers" in text_of(
        *lines
    )
    used = "OVERWRITTEN, and its version did not move: backward used wrong numbers"
    assert used in text_of(*lines, "out.sum().backward()")
    before = text_of(*lines[:2], "out.sum().backward(retain_graph=True)", lines[2])
    assert used not in before, "that backward ran before the write"
    assert "backward would now use wrong numbers" in before


def test_a_hook_that_empties_grad_is_told() -> None:
    text = text_of(
        "a = torch.ones(1, requires_grad=True)",
        "a.register_post_accumulate_grad_hook(lambda t: setattr(t, 'grad', None))",
        "a.sum().backward()",
    )
    assert ".grad: set to None by a hook" in text


def test_a_name_that_python_writes_in_another_way() -> None:
    with gv.record() as rec:
        𝐲 = torch.ones(2, requires_grad=True)  # Python calls it y, and the next one fi
        ﬁ = 𝐲 * 2
        ﬁ.sum().backward()
    text = Figure(rec.graph).text
    assert text.startswith("y\n")
    assert "ﬁ = 𝐲 * 2\n" in text
    assert "\nﬁ.sum()\n" in text
