"""A variable that is given to another tensor, by whatever statement: nothing calls the old tensor
by its name."""

from __future__ import annotations

import linecache
import random
import re
import textwrap
import warnings
from typing import Any

import pytest
import torch
from sampling import sampled

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.facts import Facts
from gradviz.graph.records import Former, Graph
from gradviz.picture import explaining, table
from gradviz.picture.figure import Figure
from gradviz.watch.capture import capture
from gradviz.words.en import ENGLISH
from gradviz.words.speech import speaking

NAMES = "abcd"
PRELUDE = """
import contextlib
import torch
from torch import nn

def same(b):
    return b

def twice(c):
    a = c * 2
    b = a
    c = b
    return a

def other(a, flag):
    return a * 2 if flag else a

def leaf(value):
    return torch.full((2,), float(value)).requires_grad_()
"""


class Writer:
    """Writes one random program over four variables that are tensors all the time."""

    def __init__(self, seed: int, plain: bool = True) -> None:
        self.random = random.Random(seed)
        self.value, self.plain = 2, plain

    def number(self) -> int:
        self.value += 1
        return self.value

    def statement(self, depth: int, looped: bool) -> list[str]:
        pick, number = self.random.choice, self.number()
        v, u, w = (pick(NAMES) for _ in range(3))
        recorded = [
            f"{v} = leaf({number})",
            f"{v} = torch.full((2,), {number}.0, requires_grad=True)",
            f"{v} = {u} * {number}",
            f"{v} = {u}.detach().requires_grad_()",
            f"{v}, {u} = ({u} * 2, {u} * {number})" if u != v else f"{v} = {v} * 2",
            f"({v} * {number}).sum().backward(retain_graph=True)",
            f"({v} * {u}).sum().backward(retain_graph=True)",
        ]
        renames = [
            f"{v} = {u}",
            f"{v} = {w} = {u}",
            f"{v}, {u} = {u}, {v}",
            f"{v} = nn.Parameter(torch.full((2,), {number}.0))",
            f"{v} = same({u})",
            f"{v} = twice({u})",
            f"{v} = other({u}, {pick(['True', 'False'])})",
            f"({v} := {u})",
            f"{v} = {u} * {number} if {pick(['True', 'False'])} else {w}",
            f"{v} = [{u}, {w}][{pick('01')}]",
            f"{v}, {w} = {u} * {number}, {u}",
            f"kept = [x * 2 for x in ({u}, {w})]; {v} = kept[0]",
            f"{v} = {u}.to(torch.float32)",
            f"{v} = [x for x in ({u}, {w})][{pick('01')}]",
            f"{v} = [{w} * 3 for {w} in ({u}, {v})][{pick('01')}]",
            f"kept = {u}; del {v}; {v} = kept",
            f"{v} = (lambda {w}: {w} * 2)({u})",
            f"{v} = [twice({u}), same({w})][{pick('01')}]",
            f"{v} = torch.stack([{u}, {w}]).unbind()[{pick('01')}]",
            f"{v}, {w} = torch.stack([{u}, {w}])",
        ]
        blocks = [
            f"if {pick(['True', 'False'])}:",
            f"for _ in range({pick('0123')}):",
            f"for {v} in ({u}, {w}):",
            f"for {v} in [{u} * 2, {w}]:",
            f"with contextlib.nullcontext({u}) as {v}:",
            "with torch.no_grad():",
            f"for step in range({pick('123')}):",
            f"for {v} in torch.stack([{u}, {w}]):",
            f"for a, b in (({u}, {w}), ({w} * 2, {u})):",
            f"while torch.rand(()) < 0.{pick('258')}:",
            "try:",
        ]
        if self.plain and depth < 3 and self.random.random() < 0.25:
            block = pick(blocks)
            lines = [
                line
                for _ in range(pick([1, 2, 3]))
                for line in self.statement(depth + 1, looped or "for" in block)
            ]
            if block.startswith("with torch.no_grad"):
                lines = [re.sub(r"\(.*backward.*", "pass", line) for line in lines]
            body = [block, *("    " + line for line in lines)]
            return [*body, "finally:", f"    {v} = {u}"] if block == "try:" else body
        if looped and self.plain and self.random.random() < 0.15:
            return [f"if {pick(['True', 'False'])}:", f"    {pick(['break', 'continue'])}"]
        return [pick(renames if self.plain and self.random.random() < 0.5 else recorded)]

    def program(self) -> str:
        lines = [f"{v} = leaf({self.number()})" for v in NAMES]
        for _ in range(self.random.randint(2, 9)):
            lines += self.statement(0, looped=False)
        return "\n".join(lines)


def run(body: str, way: str, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """The recording, and what the variables were in the end."""
    end = "final.update(a=a, b=b, c=c, d=d)"
    if way == "scenario":
        text = f"{PRELUDE}\ndef f(x=True):\n{textwrap.indent(body, '    ')}\n    {end}\n"
    elif way == "block":
        body = (
            f"with gv.record() as rec:\n{textwrap.indent(body, '    ')}\n{end}\na = b = c = d ="
            " leaf(1)"
        )
        text = (
            f"{PRELUDE}\ndef f():\n    for _ in range(1):\n{textwrap.indent(body, ' ' * 8)}\n   "
            " return rec\n"
        )
    else:
        text = f"{PRELUDE}\nwith gv.record() as rec:\n{textwrap.indent(body, '    ')}\n{end}\n"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    final: dict[str, torch.Tensor] = {}
    space: dict[str, Any] = {"final": final, "gv": gv, "__name__": "bound"}
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, name, "exec", dont_inherit=True), space)
        if way == "scenario":
            live = gv.explore(space["f"])
            assert live.state["table"]
            return live._run.recording, final
        return (space["f"]() if way == "block" else space["rec"]), final


def check(rec: Any, final: dict[str, torch.Tensor], body: str) -> None:
    graph = rec.graph
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .grad of a non-leaf
        grads = {
            n: None if t.grad is None else preview.values(t.grad.tolist()) for n, t in final.items()
        }
    states = Facts.of(graph).latest_state.values()
    named = [t for t in states if t.name in final]
    assert len({t.name for t in named}) == len(named), body
    for t in named:
        mine = rec.find(final[t.name])
        if mine is None or mine.object_id != t.object_id:
            pytest.fail(f"{t.name} is another tensor:\n{body}", pytrace=False)
    rows = [
        dict(zip(table.COLUMNS, r.cells, strict=True))
        for r in table.rows(graph, Figure(graph).whole.cards)
    ]
    for row in (r for r in rows if r["name"] in final):
        assert row["value"] == preview.values(final[row["name"]].tolist()), body
        assert row["grad"].partition(" (")[0] in (grads[row["name"]] or "None", "not tracked"), body
    told = (sentence.text for sentence in explaining._Teller(graph).sentences(""))
    said = " ".join([explaining.summary(graph), *told])
    for name, value in re.findall(r"(?<![\w.])([a-d])\.grad is (None|\S.*?)(?=[:.;](?: |$))", said):
        assert (grads[name] or "None") == value, f"{said}\n{body}"


START = "a = leaf(1)\nb = leaf(0)\n"  # lines 22 and 23 of a scenario, behind PRELUDE
TOLD = {
    START + "b = a\n(b * 3).sum().backward()": "a.grad is [3, 3]: it came back through b * 3.",
    START + "a, b = b, a\n(a * 3).sum().backward()": (
        "a.grad is [3, 3]: it came back through a * 3."
    ),
    START
    + "(a * 2).sum().backward()\nb = (a - a.grad).detach().requires_grad_()\na = b\n(a * 3).sum().backward()": (
        "a (line 22).grad is [2, 2]: it came back through a * 2; b.grad is [3, 3]: it came back"
        " through a * 3."
    ),
    START + "b = a * 2\na = nn.Parameter(torch.zeros(2))\nb.sum().backward()": (
        "a (line 22).grad is [2, 2]: it came back through b = a * 2."
    ),
    START + "for _ in range(3):\n    b = a * 2\n    a = b\na.retain_grad()\na.sum().backward()": (
        "b.grad is [1, 1]: it is not a leaf, and retain_grad() kept it."
    ),
}


@pytest.mark.parametrize("body", TOLD)
def test_sentences(body: str) -> None:
    rec, _ = run(f"{body}\nc = d = a", "scenario", f"<told {len(body)}>")
    said = " ".join(told.text for told in explaining._Teller(rec.graph).sentences(""))
    assert TOLD[body] in said
    assert not re.search(r"\.grad (is|are) None", said)


@pytest.mark.parametrize("way", ["scenario", "block", "module"])
@pytest.mark.parametrize("block", sampled(range(5), 2))
def test_what_has_a_name_is_that_variable(block: int, way: str) -> None:
    for seed in range(block * 20, block * 20 + 20):
        body = Writer(seed).program()
        try:
            rec, final = run(body, way, f"<bound {way} {seed}>")
        except RuntimeError:
            continue  # a backward of what does not require grad
        check(rec, final, body)


@pytest.mark.parametrize("way", ["scenario", "block", "module"])
def test_what_only_calls_bind_keeps_its_name(way: str) -> None:
    for seed in range(20):
        body = Writer(seed, plain=False).program()
        rec, final = run(body, way, f"<calls {way} {seed}>")
        check(rec, final, body)
        assert {n: rec.find(t).name for n, t in final.items()} == {n: n for n in final}, body


# --- what it was called, as data ------------------------------------------------------------------


def test_a_former_name_is_a_field() -> None:
    with gv.record() as rec:
        b = torch.ones(2, requires_grad=True)
        first = (b * 2).sum()
        b = torch.zeros(2)
        second = b.sum()
    assert first is not second
    earlier, later = (t for t in rec.graph.tensors if t.code_name == "b")
    line = rec.graph.calls[0].source.line
    assert (earlier.former, earlier.name) == (Former("b", line), f"b (line {line})")
    assert (later.former, later.name) == (None, "b")
    assert Graph.from_json(rec.graph.to_json()) == rec.graph


def test_no_former_name_is_read_out_of_a_name_that_was_given() -> None:
    t = torch.ones(2, requires_grad=True)
    (captured,) = capture(t, names={"b (line 3)": t}).tensors
    assert (captured.name, captured.code_name) == ("b (line 3)", "b (line 3)")


def test_a_former_name_without_its_line_is_no_variable() -> None:
    t = torch.ones(2, requires_grad=True)
    (captured,) = capture(t, names={"t": t}).tensors
    assert captured.code_name == "t"
    assert captured._replace(former=Former("b", None)).code_name == ""
    assert captured._replace(former=Former("b", 3)).code_name == "b"
    assert captured._replace(name=None).code_name == ""


def test_a_former_name_is_told_in_the_language_that_is_spoken() -> None:
    german = {"label.former": "{name}, wie es in Zeile {line} war"}
    with speaking(ENGLISH._replace(sentences={**ENGLISH.sentences, **german})):
        with gv.record() as rec:
            b = torch.ones(2, requires_grad=True)
            b = b * 2
        (leaf,) = (t for t in rec.graph.tensors if t.former)
        assert leaf.name == f"b, wie es in Zeile {leaf.former.line} war"
        assert leaf.code_name == "b"
        # and the code line that made it is not told a second time
        (card,) = (c for c in Figure(rec.graph).whole.cards if leaf.id in c.tensor_ids)
        assert [row.text for row in card.rows if row.kind == "code"] == [
            "b = torch.ones(2, requires_grad=True)"
        ]
        assert b.requires_grad
