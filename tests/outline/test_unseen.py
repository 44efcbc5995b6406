"""What no recorded call made has a card, with its parameters: of ``torch.func``, of C++, of what is
older than the recording; and what a recording lacks is said."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch
from drawn import drawn
from model_scripts import model_names, read
from svg_text import Picture

import gradviz as gv
from gradviz.graph.operations import Fate, Operations
from gradviz.graph.unseen import with_unseen
from gradviz.picture.outline.norms import figure

HEAD = """
import torch
from torch import nn
from torch.func import functional_call, vmap
torch.manual_seed(0)
def dense(n): return nn.Sequential(*(m for _ in range(n) for m in (nn.Linear(4, 4), nn.Tanh())))
first, second = dense(3), dense(5)
opt = torch.optim.Adam([*first.parameters(), *second.parameters()])
x, y = torch.randn(6, 4), torch.randn(6, 4)
opt.zero_grad()
"""
BEFORE = """
old = first(x)
with gv.record() as rec:
    loss = (second(old) - y).pow(2).mean()
    loss.backward()
"""
FUNC = """
with gv.record() as rec:
    parameters = dict(first.named_parameters())
    old = vmap(lambda one: functional_call(first, parameters, (one,)))(x)
    loss = (second(old) - y).pow(2).mean()
    loss.backward()
"""
INSIDE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = first, second
    def forward(self, x):
        h = self.second[:2](x)
        with torch._C.DisableTorchFunctionSubclass(), torch._C.DisableTorchFunction():
            old = self.first(h).sin()
        self.old = old
        return self.second[2:](old)
net = Net()
with gv.record() as rec:
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
old = net.old
"""
PROGRAMS = {"before": BEFORE, "torch.func": FUNC, "inside": INSIDE}


def run(program: str) -> dict[str, Any]:
    source = HEAD + program
    linecache.cache["unseen.py"] = len(source), None, source.splitlines(True), "unseen.py"
    names: dict[str, Any] = {"gv": gv, "__name__": "unseen"}
    exec(compile(source, "unseen.py", "exec"), names)
    return names


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_its_card_tells_the_parameters_that_got_a_gradient_through_it(program: str) -> None:
    names = run(program)
    picture = names["rec"].figure()
    gets = [p for p in names["first"].parameters() if p.grad is not None]
    assert len(gets) == 6
    norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in gets])).item()
    (card,) = [c for c in picture.outlined.outline.cards if "not recorded" in str(c.rows[0])]
    (row,) = [row for row in card.rows if row.tone.value == "gets"]
    assert "6 of 6" in row.left[0].text
    assert row.right == figure(norm)
    assert "16 parameters: all 16 get a gradient" in Picture(picture.svg).headline.text


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_the_gradient_that_comes_to_it_is_torchs(program: str) -> None:
    names = run(program)
    outline = names["rec"].figure().outlined.outline
    (card,) = [c for c in outline.cards if "not recorded" in str(c.rows[0])]
    (arrow,) = [a for a in outline.arrows if a.tail == card.id and a.kind == "gradient"]
    other = run(program.replace("loss.backward()", "pass"))
    (grad,) = torch.autograd.grad(other["loss"], other["old"])
    assert arrow.label == (figure(torch.linalg.vector_norm(grad).item()),)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_every_parameter_has_its_state_and_its_name(program: str) -> None:
    names = run(program)
    weights = Operations(with_unseen(names["rec"].graph)).weights
    assert len(weights) == 16
    assert {w.fate for w in weights} == {Fate.SOME}
    assert all(w.name for w in weights)


def test_it_is_joined_to_what_reads_it_also_where_no_backward_went_behind_it() -> None:
    program = BEFORE.replace("second(old)", "second(old) + second(old.detach())")
    outline = run(program.replace("loss.backward()", "pass"))["rec"].figure().outlined.outline
    (card,) = [c for c in outline.cards if "not recorded" in str(c.rows[0])]
    kinds = {arrow.kind for arrow in outline.arrows if arrow.tail == card.id}
    assert {"can", "cut"} <= kinds


def test_what_it_reads_comes_from_the_cards_above() -> None:
    outline = run(INSIDE)["rec"].figure().outlined.outline
    (card,) = [c for c in outline.cards if "not recorded" in str(c.rows[0])]
    above = [a for a in outline.arrows if a.head == card.id and a.kind == "gradient"]
    assert above
    assert all(a.tail < a.head for a in outline.arrows)


@pytest.mark.parametrize("name", model_names())
def test_where_all_was_recorded_nothing_is_added(name: str) -> None:
    graph = drawn(read(name), f"{name}.py").graph
    assert with_unseen(graph) is graph


def test_what_a_recording_lacks_is_said_in_the_headline() -> None:
    names = run(FUNC)
    told = "inside torch.func transforms nothing is recorded"
    assert told in names["rec"].notes
    assert told in Picture(names["rec"].figure().svg).headline.text
    assert told in names["rec"].figure().text


def test_a_compiled_function_says_that_it_is_one_call() -> None:
    program = """
from torch import _dynamo
_dynamo.reset()
fast = torch.compile(first, backend="aot_eager")
fast(x)
with gv.record() as rec:
    loss = (second(fast(x)) - y).pow(2).mean()
    loss.backward()
"""
    text = run(program)["rec"].figure().text
    assert text.count("torch.compile: one call, the inside is not recorded") == 1
    assert (
        "compile"
        not in run(BEFORE.replace("old = first(x)", "").replace("old", "first(x)"))["rec"]
        .figure()
        .text
    )
