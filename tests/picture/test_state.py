"""One state of a live picture: plain, complete, and lit up along the paths on which torch really
sends gradients."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from recordings import Copy, course

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Graph
from gradviz.picture import render
from gradviz.picture.figure import Figure
from gradviz.picture.state import state
from gradviz.picture.table import COLUMNS


def by_key(shown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {card["key"]: {**card, "id": i} for i, card in shown["cards"].items()}


def test_the_keys_of_the_contract_and_plain_json() -> None:
    shown = state(course().figure(), error="E: x", printed="hello", lines=(4,))
    assert set(shown) == set(
        "svg problem alt text sentence sentence_code error printed cards arrows outline table lines".split()
    )
    assert json.loads(json.dumps(shown)) == shown
    for card in shown["cards"].values():
        assert set(card) == {"key", "look", "facts", "line", "lit", "opens", "memory"}
        assert all(
            len(fact) == 2 and all(isinstance(part, str) for part in fact) for fact in card["facts"]
        )
    for arrow in shown["arrows"].values():
        assert set(arrow) == {"key", "look"}
    for row in shown["table"]:
        assert set(row) == {"key", "card", "cells"}
        assert len(row["cells"]) == len(COLUMNS)
        assert row["card"] in shown["cards"]
    assert (shown["error"], shown["printed"], shown["lines"], shown["problem"]) == (
        "E: x",
        "hello",
        [4],
        "",
    )


@pytest.mark.parametrize("view", ["cards", "nodes"])
def test_ids_are_those_of_the_picture(view: str) -> None:
    shown = state(course(torch.detach).figure(view))
    drawn = set(re.findall(r'id="\w+-([ne]\d+)"', shown["svg"]))
    assert drawn == {*shown["cards"], *shown["arrows"]}


def test_keys_stay_the_same_whatever_the_controls_say() -> None:
    copies: list[Copy] = [
        torch.clone,
        torch.detach,
        lambda t: t.data,
        lambda t: t.detach().requires_grad_(),
    ]
    modes = [nullcontext, torch.no_grad, torch.inference_mode]
    for copy in copies:
        for mode in modes:
            for flag in (True, False) if copy is not copies[3] else (True,):
                if mode is torch.inference_mode and flag:
                    continue  # torch refuses to save b for backward
                shown = state(course(copy, mode, flag).figure())
                assert {"a", "b", "c", "d", "c + d", "loss"} <= set(by_key(shown))
                assert {"a→c", "b→d", "c→c + d"} <= {
                    arrow["key"] for arrow in shown["arrows"].values()
                }
                assert [row["key"] for row in shown["table"] if len(row["key"]) == 1] == [
                    "a",
                    "b",
                    "c",
                    "d",
                ]


def test_a_value_that_leaves_torch_is_the_same_card() -> None:
    with gv.record() as rec:
        a = torch.ones(1, requires_grad=True)
        b = a.item()
    assert b == 1
    assert set(by_key(state(rec.figure()))) == {"a", "b"}


def test_look_says_what_changed() -> None:
    clone, detach = by_key(state(course().figure())), by_key(state(course(torch.detach).figure()))
    assert {key for key in clone if clone[key]["look"] != detach[key]["look"]} == {"a", "b", "d"}


# --- what lights up -------------------------------------------------------------------------------


def branches() -> dict[str, torch.Tensor]:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    b = a.detach()
    c = b * w
    d = a * 2
    e = c + d
    return {"a": a, "w": w, "b": b, "c": c, "d": d, "e": e}


def outputs() -> dict[str, torch.Tensor]:
    a = torch.ones(2, requires_grad=True)
    w = torch.ones(1, requires_grad=True)
    p, q = a.unbind()
    r = q * w
    s = p + r
    return {"a": a, "w": w, "p": p, "q": q, "r": r, "s": s}


def read_often() -> dict[str, torch.Tensor]:
    w = torch.ones(2, requires_grad=True)
    v = torch.ones(2, requires_grad=True)
    h = v * w
    i = h * w + w
    j = i * w
    k = j * w - w
    return {"w": w, "v": v, "h": h, "i": i, "j": j, "k": k}


def in_place() -> dict[str, torch.Tensor]:
    a = torch.ones(2, requires_grad=True)
    w = torch.ones(2, requires_grad=True)
    b = torch.zeros(2)
    c = a * 1
    b.copy_(c)
    d = b * 1
    b.mul_(w)
    return {"a": a, "w": w, "c": c, "d": d, "b": b}


def folded() -> dict[str, torch.Tensor]:
    w = torch.ones(2, requires_grad=True)
    v = torch.ones(2, requires_grad=True)
    x = v * 1
    for _ in range(80):
        x = x * w
    loss = x.sum()
    return {"w": w, "v": v, "loss": loss}


@pytest.mark.parametrize("program", [branches, outputs, read_often, in_place, folded])
@pytest.mark.parametrize("view", ["cards", "nodes"])
def test_selecting_a_tensor_lights_the_leaves_to_which_torch_sends_gradients(
    program: Callable[[], dict[str, torch.Tensor]], view: str
) -> None:
    with gv.record() as rec:
        made = program()
    figure = rec.figure(view)
    shown = state(figure)
    if not shown["svg"]:
        assert (program, view) == (folded, "nodes")  # too many boxes
        return
    of_leaf: dict[str, set[str]] = {}  # leaf -> cards that show it
    for card in figure.scene.cards:
        names = {c.name for c in card.inside or (card,)} | {
            row.text for row in card.rows if card.kind == "tag"
        }
        for name in names & {n for n, t in made.items() if t.is_leaf and t.requires_grad}:
            of_leaf.setdefault(name, set()).add(f"n{card.id}")
    rows = {row["key"]: row["card"] for row in shown["table"]}
    if figure.outlined:  # a leaf has no card of its own there: it stands on that of its reader
        of_leaf = {n: {rows[n]} for n, t in made.items() if t.is_leaf and t.requires_grad}
    for name, t in made.items():
        if not t.requires_grad or name not in rows:
            continue
        lit = set(shown["cards"][rows[name]]["lit"])
        assert rows[name] in lit
        leaves = list(of_leaf)
        wanted = [made[n] for n in leaves]
        given = (
            torch.autograd.grad(t.sum(), wanted, retain_graph=True, allow_unused=True)
            if not t.is_leaf
            else []
        )
        for leaf, grad in zip(leaves, given, strict=False):
            assert (grad is not None) is bool(of_leaf[leaf] & lit), (name, leaf)


def test_lit_arrows_join_lit_cards_and_are_no_cuts() -> None:
    for program in (branches, outputs, read_often, in_place, folded):
        with gv.record() as rec:
            made = program()
        for view in ("cards", "nodes"):
            figure = rec.figure(view)
            for card in state(figure)["cards"].values():
                lit = set(card["lit"])
                for i, arrow in enumerate(figure.scene.arrows):
                    if f"e{i}" in lit:
                        assert {f"n{arrow.tail}", f"n{arrow.head}"} <= lit
                        assert arrow.kind not in ("cut", "raise")
        assert made


def test_a_cut_and_what_is_behind_it_stay_dark() -> None:
    shown = state(course(torch.detach).figure())
    cards, arrows = by_key(shown), {a["key"]: i for i, a in shown["arrows"].items()}
    assert set(cards["loss"]["lit"]) == {
        *(cards[k]["id"] for k in ("loss", "c + d", "c", "a")),
        *(arrows[k] for k in ("a→c", "c→c + d", "c + d→loss")),
    }
    assert cards["d"]["lit"] == [cards["d"]["id"]]
    assert cards["a"]["memory"] == cards["b"]["memory"] == [cards["a"]["id"], cards["b"]["id"]]
    assert cards["c"]["memory"] == []


def test_an_arrow_at_which_backward_raised_stays_dark() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a.exp()
        c = b * 2
        b.add_(1)
        with pytest.raises(RuntimeError, match="inplace"):
            c.sum().backward()
    shown = state(rec.figure())
    raised = {i for i, arrow in shown["arrows"].items() if arrow["look"].startswith("raise")}
    assert raised
    assert all(not raised & set(card["lit"]) for card in shown["cards"].values())


# --- facts ----------------------------------------------------------------------------------------


def test_facts_are_complete_and_true() -> None:
    with gv.record() as rec:
        a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        b = a.t()
        c = b * a
        c.retain_grad()
        c.sum().backward()
    cards = by_key(state(rec.figure()))
    facts = {key: dict(card["facts"]) for key, card in cards.items()}
    assert facts["b"] == {
        "shape": "[2, 2]",
        "values": "[[1, 3], [2, 4]]",
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": "True",
        "is_leaf": "False",
        "retains_grad": "False",
        "version": "0",
        "grad_fn": "TBackward0",
        "grad": "None (not a leaf)",
        "gradient arrived": "[[1, 2], [3, 4]]",
        "storage": "16 bytes, shared with a",
        "view of": "a",
        "stride, offset": "[1, 2], 0",
        "gradient sent": "[[1, 3], [2, 4]] to a",
        "line": f"{cards['b']['line']}: b = a.t()",
    }
    assert facts["c"]["grad"] == "[[1, 1], [1, 1]]"
    assert a.grad is not None
    assert facts["a"]["grad"] == facts["a"]["gradient arrived"] == preview.values(a.grad.tolist())
    assert (
        facts["c"]["MulBackward0 saved"]
        == "other = a at version 0 (freed), self = b at version 0 (freed)"
    )


def test_nothing_recorded_and_nothing_drawable() -> None:
    empty = state(Figure(Graph()))
    assert (empty["svg"], empty["cards"], empty["arrows"], empty["table"]) == ("", {}, {}, [])
    assert empty["problem"]


def test_without_a_layout_engine_the_words_stay(
    monkeypatch: pytest.MonkeyPatch, nothing_drawn_yet: None
) -> None:
    figure = course(torch.detach).figure()

    def cannot(*_: object, **__: object) -> None:
        raise render.CannotDraw("no engine")

    monkeypatch.setattr(render, "best", cannot)
    shown = state(figure)
    assert (shown["svg"], shown["problem"], shown["cards"]) == ("", "no engine", {})
    assert shown["table"][0]["card"] == ""
    assert "detach() cuts b from a" in shown["text"]


def test_the_text_twin_holds_everything() -> None:
    figure = course().figure()
    shown = state(figure, error="ValueError: odd", printed="printed line")
    for part in (
        figure.text,
        shown["sentence"],
        "requires_grad",
        "ValueError: odd",
        "printed line",
    ):
        assert part in shown["text"]


PROGRAM = """
import json, torch, gradviz as gv
from gradviz.picture.state import state
with gv.record() as rec:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = a.detach()
    (a * 2 + b).sum().backward()
print(json.dumps(state(rec.figure())))
"""


def test_equal_in_every_process() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1] != ""


def test_a_card_that_only_names_a_leaf_says_so_to_a_screen_reader() -> None:
    w = torch.tensor(1.0, requires_grad=True)
    with gv.record() as rec:
        x = torch.tensor(2.0)
        for _ in range(6):
            x = x * w
    figure = rec.figure()
    cards = state(figure)["cards"]
    spoken = {c.kind: cards[f"n{c.id}"].get("spoken") for c in figure.scene.cards}
    assert spoken["tag"] == [["w", "w, a leaf whose own card stands elsewhere"]]
    assert spoken["leaf"] is None
