"""The tensor table says what torch itself says of every tensor."""

from __future__ import annotations

import re
import warnings

import pytest
import torch

import gradviz as gv
from gradviz.graph import preview
from gradviz.graph.records import Graph, Tensor
from gradviz.picture import explaining, table
from gradviz.picture.figure import Figure
from gradviz.picture.scene import LINES
from gradviz.picture.state import state


def cells(graph: Graph) -> dict[str, dict[str, str]]:
    rows = table.rows(graph, Figure(graph).whole.cards)
    return {row.key: dict(zip(table.COLUMNS, row.cells, strict=True)) for row in rows}


def test_every_cell_is_what_torch_says() -> None:
    with gv.record() as rec:
        a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        b = a.clone()
        c = a.detach()
        d = b * c
        d.retain_grad()
        unused = torch.zeros(2, requires_grad=True)
        b.add_(1)
        i = torch.arange(3)
        loss = (d + b).sum()
        loss.backward()
    said = cells(rec.graph)
    for name, t in {"a": a, "b": b, "c": c, "d": d, "unused": unused, "i": i, "loss": loss}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # .grad of a non-leaf
            grad = t.grad
        row = said[name]
        assert row["name"] == name
        assert row["value"] == preview.values(t.tolist())
        assert (row["requires_grad"], row["is_leaf"], row["version"]) == (
            str(t.requires_grad),
            str(t.is_leaf),
            str(t._version),
        )
        assert row["grad_fn"] == ("None" if t.grad_fn is None else t.grad_fn.name())
        if grad is not None:
            assert row["grad"] == preview.values(grad.tolist())
        elif not t.requires_grad:
            assert row["grad"] == "not tracked"
        else:
            assert row["grad"] == ("None" if t.is_leaf else "None (not a leaf)")
        shared = (
            row["storage"].removeprefix("shared with ").split(", ")
            if "shared with" in row["storage"]
            else []
        )
        assert [o for o in shared if o in "abc"] == [
            other
            for other, o in {"a": a, "b": b, "c": c}.items()
            if o is not t and o.untyped_storage().data_ptr() == t.untyped_storage().data_ptr()
        ]


def test_a_grad_that_was_cleared_is_none_though_the_flag_is_off_now() -> None:
    with gv.record() as rec:
        x = torch.ones(2, requires_grad=True)
        (x**2).sum().backward()
        x.grad = None
        x.requires_grad_(False)
        unused = torch.ones(2, requires_grad=True)
        unused.requires_grad = False
        kept = torch.ones(2, requires_grad=True)
        (kept * 3).sum().backward()
        kept.requires_grad_(False)
        given = torch.ones(2)
        given.grad = torch.ones(2)
        given.grad = None
        plain = (x + unused + kept + given).detach()
    said = {name: row["grad"] for name, row in cells(rec.graph).items()}
    facts = {
        card["key"]: dict(card["facts"])["grad"]
        for card in state(Figure(rec.graph))["cards"].values()
    }
    for name, t in {"x": x, "unused": unused, "given": given, "kept": kept}.items():
        expected = "None" if t.grad is None else preview.values(t.grad.tolist())
        assert (said[name], facts[name]) == (expected, expected)
    assert (plain.grad, said["plain"]) == (None, "not tracked")
    assert "x.grad was [2, 2] after backward and is None now" in explaining.summary(rec.graph)


def test_sharing_changes_only_the_cells_of_those_who_share() -> None:
    def run(copy: str) -> dict[str, dict[str, str]]:
        with gv.record() as rec:
            a = torch.tensor([1.0], requires_grad=True)
            b = getattr(a, copy)()
            c = a * 2
            (b + c).sum().backward()
        return cells(rec.graph)

    cloned, detached = run("clone"), run("detach")
    assert (cloned["a"]["storage"], cloned["c"]["storage"]) == (
        "not shared here",
        "not shared here",
    )
    assert (detached["a"]["storage"], detached["b"]["storage"]) == (
        "shared with b",
        "shared with a",
    )
    assert cloned["c"] == detached["c"]


def test_rows_of_one_name_keep_apart_and_come_in_program_order() -> None:
    with gv.record() as rec:
        x = torch.ones(2, requires_grad=True)
        for _ in range(3):
            x = x * 2
        (x + 1).sum().backward()
    rows = table.rows(rec.graph, Figure(rec.graph).whole.cards)
    # what was x, and is not any more, says where it was
    keys = [re.sub(r"line \d+", "line", r.key) for r in rows]
    assert keys == ["x (line)", "x (line)", "x (line)#2", "x", "x + 1", "(x + 1).sum()"]


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    t = Tensor(0, "t", 0, *[None] * 14)  # type: ignore[arg-type]
    graph = Graph(tensors=[t], roots=[0])
    assert cells(graph)["t"] == {**dict.fromkeys(table.COLUMNS, "unknown"), "name": "t"}
    with torch.inference_mode(), gv.record() as rec:
        x = torch.ones(2)
        y = x + 1
    assert y.is_inference()
    assert cells(rec.graph)["x"]["version"] == "unknown"


def test_text_is_aligned_and_survives_odd_names() -> None:
    rows = [
        table.TableRow(
            name, 0, (name, "[1]", "None", "True", "True", "None", "0", "not shared here")
        )
        for name in ("a", "a long name", "n\nl\u202e")
    ]
    first, *lines = table.text(rows).splitlines()
    assert len(lines) == 3
    assert {line.index("None") for line in lines} == {first.index("grad ")}
    assert table.text([]) == ""


def test_a_long_table_says_how_much_it_leaves_out() -> None:
    with gv.record() as rec:
        x = torch.ones(1, requires_grad=True)
        for _ in range(LINES + 5):
            x = x * 2
    rows = table.rows(rec.graph, Figure(rec.graph).whole.cards)
    assert len(rows) == LINES + 1
    assert rows[-1].cells[0] == "… and 6 more, not listed"
    assert "… and 6 more, not listed" in table.text(rows)


@pytest.mark.parametrize("name", ["a", "b#2", ""])
def test_keys_are_never_given_twice(name: str) -> None:
    key = table.Keys()
    given = [key(name) for _ in range(4)] + [key("b"), key("b"), key("b#2")]
    assert len(set(given)) == len(given)
    assert given[0] == name
