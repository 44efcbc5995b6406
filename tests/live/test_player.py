"""The player: plain states with stable ids, a text twin, and no way to keep a tensor alive."""

from __future__ import annotations

import gc
import json
import re
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from recordings import course

import gradviz as gv
from gradviz.live import steps
from gradviz.live.book import book
from gradviz.live.player import play


def record() -> gv.Recording:
    return course(torch.detach)


def ids_in(svg: str) -> set[str]:
    return set(re.findall(r'id="\w+-([ne]\d+)"', svg))


def test_every_step_is_a_state_whose_ids_are_in_its_picture() -> None:
    rec = record()
    player = play(rec, title="Copy or cut?")
    assert len(player.states) == len(rec.events) + 1
    assert player.book["title"] == f"Copy or cut? ({len(rec.events)} events)"
    (control,) = player.book["controls"]
    assert (control["kind"], control["options"]) == (
        "steps",
        [str(k) for k in range(len(player.states))],
    )
    for state in player.states:
        here = {*state["cards"], *state["arrows"]}
        assert ids_in(state["svg"]) == here
        assert {*state["active"]} <= here
        assert {
            i for card in state["cards"].values() for i in (*card["lit"], *card["memory"])
        } <= here
        assert {row["card"] for row in state["table"]} <= here | {""}
    assert json.loads(json.dumps(player.book)) == player.book


def test_a_card_keeps_its_id_and_its_key() -> None:
    names: dict[str, set[str]] = {}
    for state in play(record()).states:
        for i, thing in {**state["cards"], **state["arrows"]}.items():
            names.setdefault(i, set()).add(thing["key"])
        for row in state["table"]:
            if row["card"]:
                assert state["cards"][row["card"]]["key"] == row["key"]
    assert all(len(keys) == 1 for keys in names.values())
    assert len({key for keys in names.values() for key in keys}) == len(names)


def test_the_table_follows_the_events() -> None:
    rec = record()
    grads = []
    for state in play(rec).states:
        cells = {row["key"]: row["cells"] for row in state["table"]}
        grads.append(cells["a"][2] if "a" in cells else "")
    done = next(k for k, e in enumerate(rec.events, start=1) if type(e).__name__ == "Accumulated")
    assert grads == [""] + ["None"] * (done - 1) + ["[2, 2, 2]"] * (len(grads) - done)


def test_the_code_stands_beside_the_picture() -> None:
    player = play(record())
    code = player.book["code"]
    lines = code["text"].splitlines()
    state = next(s for s in player.states if "b = copy(a) made" in s["sentence"])
    assert lines[state["lines"][0] - code["first"]].strip() == "b = copy(a)"
    assert player.states[0]["lines"] == []


@gv.explore(way={"clone": torch.Tensor.clone, "detach": torch.Tensor.detach})
def explored(way: Any) -> None:
    a = torch.tensor(1.0, requires_grad=True)
    b = way(a)
    (a * 2 + b * 3).backward()


@pytest.mark.parametrize(("way", "line"), [("clone", "a.clone()"), ("detach", "a.detach()")])
def test_of_a_scenario_its_body_is_played_with_the_choices_filled_in(way: str, line: str) -> None:
    explored.set(way=way)
    player = play(explored.recording)
    code = player.book["code"]
    lines = code["text"].splitlines()
    assert lines == [
        "a = torch.tensor(1.0, requires_grad=True)",
        f"b = {line}",
        "(a * 2 + b * 3).backward()",
    ]
    told = [
        (s["sentence"], s["lines"]) for s in player.states if f"b = {line} made b" in s["sentence"]
    ]
    assert [at for _, at in told] == [[code["first"] + 1]]
    assert not any("way" in state["sentence"] for state in player.states)
    player.step = len(player.states) - 1
    assert f"b = {line}" in player.figure.text


def test_code_that_cannot_be_read_again_is_not_listed() -> None:
    names: dict[str, object] = {"torch": torch, "gv": gv}
    exec("with gv.record() as rec:\n    torch.ones(2, requires_grad=True).sum().backward()", names)
    assert play(names["rec"]).book["code"] == {}  # type: ignore[arg-type]


def test_of_a_file_only_what_was_recorded_is_listed(tmp_path: Path) -> None:
    lines = (
        'key = "secret"',
        "with gv.record() as rec:",
        "    a = torch.ones(2, requires_grad=True)",
        "    b = a * 2",
    )
    file = tmp_path / "cellular.py"
    file.write_text("\n".join((*lines, 'after = "secret"')))
    names: dict[str, object] = {"torch": torch, "gv": gv}
    exec(compile(file.read_text(), str(file), "exec"), names)
    code = play(names["rec"]).book["code"]  # type: ignore[arg-type]
    assert code == {"text": "a = torch.ones(2, requires_grad=True)\nb = a * 2", "first": 3}


def test_forward_and_back_gives_the_same_picture() -> None:
    rec = record()
    player = play(rec)
    first = [state["svg"] for state in player.states]
    for step in (3, 9, 3):
        player.step = step
        assert player.shown["svg"] == first[step]
        assert player.figure is not None
        assert player.figure.svg == first[step]
    assert [state["svg"] for state in play(rec).states] == first
    page = book(rec)  # which has pictures for a phone, too
    states = [{key: state[key] for key in state if key != "narrow"} for state in page["states"]]
    assert {**page, "states": states} == player.book


def test_what_is_selected_has_its_records() -> None:
    player = play(record())
    player.step = 4
    card = next(i for i, c in player.shown["cards"].items() if c["key"] == "c")
    player.selected = card
    assert player.selection is not None
    assert [t.name for t in player.selection.tensors] == ["c"]
    assert [n.name for n in player.selection.nodes] == ["MulBackward0"]
    player.step = len(player.states) - 1
    assert player.selected == card
    assert player.selection is not None


def test_the_text_tells_every_step_in_a_line() -> None:
    player = play(record())
    bundle, _ = player._repr_mimebundle_()
    lines = bundle["text/plain"].splitlines()
    assert lines[1] == "step 0: Nothing has happened yet."
    assert lines[-1].endswith("loss.backward() changed a: .grad None → [2, 2, 2].")
    assert len(lines) == len(player.states) + 1
    assert bundle["text/html"].startswith("<img alt=")
    assert "✂ detach" in player.text_at(2)
    assert player.text_at(2).startswith(player.states[2]["sentence"])
    for step in (-1, 99, "1"):
        with pytest.raises(gv.GradvizError, match="there is no step"):
            player.text_at(step)  # type: ignore[arg-type]


def test_an_error_is_said_at_its_step() -> None:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec, pytest.raises(RuntimeError):
        a.backward(torch.ones(3))
    (error,) = {state["error"] for state in play(rec).states} - {""}
    assert error.startswith("RuntimeError: Mismatch in shape")


def test_a_long_recording_says_which_events_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    rec = record()
    total = len(rec.events)
    monkeypatch.setattr(steps, "LIMIT", 5)
    player = play(rec)
    assert (
        player.book["title"]
        == f"Recording (events 1–5 of {total}; play(rec, start=5) shows what follows, at most 5 at"
        " a time)"
    )
    later = play(rec, start=5)
    assert later.book["controls"][0]["options"][0] == "5"
    assert later.states[0]["sentence"] == player.states[5]["sentence"]


def test_it_plays_recordings_only() -> None:
    with pytest.raises(gv.GradvizError, match="shows a recording, not an object of type Tensor"):
        play(torch.ones(1))  # type: ignore[arg-type]


def test_an_empty_recording_plays() -> None:
    with gv.record() as rec:
        pass
    player = play(rec)
    assert [state["sentence"] for state in player.states] == ["Nothing has happened yet."]
    assert "text/html" in player._repr_mimebundle_()[0]


def test_no_tensor_and_no_node_is_kept() -> None:
    a = torch.ones(2, requires_grad=True)
    with gv.record() as rec:
        b = a * 2
        b.sum().backward()
    player = play(rec)
    player.step = 3
    kept = [weakref.ref(a), weakref.ref(b)]
    del a, b
    gc.collect()
    assert [ref() for ref in kept] == [None, None]
    assert player.states


def test_a_book_needs_no_widgets(tmp_path: Path) -> None:
    for name in ("anywidget", "ipywidgets"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not installed')")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import torch, gradviz as gv
from gradviz.live.book import book
with gv.record() as rec:
    torch.ones(2, requires_grad=True).sum().backward()
print(len(book(rec)["states"]) == len(rec.events) + 1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
