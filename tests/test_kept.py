"""What is answered is kept, and no answer can change unseen: the words of the README's pictures, and the keeping."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import answers
import pytest
import torch
from compare_answers import report
from kept import AGAIN, FOLDER, KINDS, Kept, compared, differences, here, read, write
from test_live_scenarios import LIVE
from test_pictures import PROGRAMS, README

import gradviz as gv
from gradviz.words.en import ENGLISH, MEND

PICTURES = {**README, **PROGRAMS}
FIELD = re.compile(r"\{[^{}]*\}")


@pytest.mark.parametrize("name", PICTURES)
def test_the_words_of_a_picture_of_the_docs(name: str, kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.py"
    file.write_text(PICTURES[name], encoding="utf-8")
    torch.manual_seed(0)
    with gv.record() as rec, contextlib.suppress(RuntimeError):
        exec(compile(PICTURES[name], str(file), "exec"), {"torch": torch})
    kept.check(
        "pictures_of_the_docs",
        name,
        {"picture": answers.recorded(rec), "player": answers.player(rec)},
    )


def test_all_tables_were_written_here() -> None:
    """Elsewhere nothing is compared: torch words errors and rounds numbers otherwise, Python tells other places."""
    tables = sorted(path.stem for path in FOLDER.glob("*.json"))
    assert len(tables) >= 14
    (stored,) = {read(table)[0] for table in tables}
    if stored != here():
        pytest.skip(f"answers are stored with {stored}, this is {here()}: none is compared")


def test_every_table_is_stored_as_it_is_written(tmp_path: Path) -> None:
    for path in FOLDER.glob("*.json"):
        written_with, programs = read(path.stem)
        if written_with == here():
            write(path.stem, programs, tmp_path)
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()
        assert len(programs) == len(json.loads(path.read_text(encoding="utf-8"))["programs"])


def test_every_stored_answer_belongs_to_a_test_that_is_there() -> None:
    for path in FOLDER.glob("*.json"):
        sources = [
            p.read_text(encoding="utf-8")
            for p in Path(__file__).parent.rglob(f"test_{path.stem}.py")
        ]
        names = (
            {name.partition("[")[0] for name in read(path.stem)[1]}
            if sources and path.stem != "scenarios"
            else ()
        )
        assert not [name for name in names if f"def {name}(" not in sources[0]], path.stem


def test_every_mend_has_a_kind() -> None:
    kinds = {
        kind
        for path in FOLDER.glob("*.json")
        for _, given in given_in(path)
        for kind in given.get("mend", ())
    }
    assert "other" not in kinds
    assert len(kinds) > 25


def test_every_mend_that_can_be_told_has_a_kind() -> None:
    """Also those that no stored answer tells; a sentence around another mend has the kind of that."""
    told = {f"{c}/{form}": answer.mend for (c, form), answer in ENGLISH.answers.items()}
    told |= {key: words for key, words in MEND.items() if key != "more"}
    around = re.compile(
        r"\{(mend|mends:sentences|mends:list|others:sentences|edits:sentences|edits:list|record|anew|again|asked|clear|wanted)\}"
    )
    without = {
        key: words
        for key, words in told.items()
        if words and not around.search(words) and "other" in answers.mends(FIELD.sub("x", words))
    }
    assert not without


def test_every_cause_of_the_scenarios_is_held() -> None:
    causes = {given["cause"] for _, given in given_in(FOLDER / "scenarios.json")}
    assert len(causes) > 25


def test_the_panel_of_every_scenario_of_the_course_is_held() -> None:
    held = {
        name
        for name, words in read("panels_and_players")[1].items()
        if "text" in words and "words" in words
    }
    panels = {f"{name[:2]} {name.partition(': ')[2]}" for name in held}
    assert set(LIVE.values()) <= panels


def given_in(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The answers of one table."""
    found = []
    for name, given in read(path.stem)[1].items():
        found += [(name, one) for one in (given if isinstance(given, list) else [given])]
    return found


# --- the keeping can fail ---------------------------------------------------------------------------------------------


def program(write_it: bool = False) -> Any:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0], requires_grad=True)
    with gv.record() as rec:
        h = a.detach() if write_it else a * 1
        loss = (h * b).sum()
        loss.backward()
    return rec.explain(a, loss)


def asked(*given: Any) -> list[dict[str, Any]]:
    module = ModuleType("test_of_something")
    with answers.kept(module) as found:
        for one in given:
            program(one)
    return found


def test_an_answer_is_kept_without_its_words() -> None:
    (found,) = asked(True)
    assert found["cause"] == "cut"
    assert found["cuts"] == ["detach [detach] h = a.detach() if write_it else a * 1"]
    assert found["lines"] == ["h = a.detach() if write_it else a * 1"]
    assert found["subjects"] == ["a", "loss"]
    assert found["mend"]
    assert "verdict: a.grad is None: detach cuts it from loss." in found["words"]
    assert not [word for word in found["words"] if "line 8" in word]


def test_asking_while_answers_are_kept_names_things_as_ever() -> None:
    weight = torch.ones(2, requires_grad=True)
    alone = str(gv.explain(weight)), str(gv.record().explain([weight]))
    with answers.kept(ModuleType("some")) as found:
        assert (str(gv.explain(weight)), str(gv.record().explain([weight]))) == alone
        with pytest.raises(gv.GradvizError):
            gv.explain(3)
    assert "weight.grad is None" in alone[0]
    assert [one["cause"] for one in found] == ["not_known", "not_known", "refused"]


def test_a_difference_is_noticed_and_of_its_kind(tmp_path: Path) -> None:
    (old,) = asked(True)
    (healthy,) = asked(False)
    changes: list[tuple[dict[str, Any], list[str]]] = [
        ({}, []),
        ({"cause": "frozen"}, ["found"]),
        ({"detail": "other"}, ["found"]),
        ({"lines": []}, ["found"]),
        ({"cuts": [*old["cuts"], "argmax"]}, ["found"]),
        ({"mend": ["clone"]}, ["found"]),
        ({"subjects": ["b"]}, ["subject"]),
        ({"words": ["verdict: something else."]}, ["wording"]),
        ({"words": [], "subjects": []}, ["subject", "wording"]),
        (healthy, ["found", "wording"]),
    ]
    for change, kinds in changes:
        assert [d.kind for d in compared({"p": [old]}, {"p": [{**old, **change}]})] == kinds, change
    assert [d.kind for d in differences("p", None, [old])] == ["found"]
    write("table", {"p": [old], "q": [old]}, tmp_path)
    kept = Kept(None)
    kept.stored["table"] = read("table", tmp_path)
    kept.check("table", "p", [old])
    with pytest.raises(AssertionError, match="wording differs: p") as caught:
        kept.check("table", "p", [{**old, "words": []}])
    assert "found differs" not in str(caught.value)
    assert AGAIN in str(caught.value)
    with pytest.raises(AssertionError, match="found differs: new"):
        kept.check("table", "new", [old])


def test_what_is_written_is_told_apart_by_the_tool(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    (one,) = asked(True)
    write("table", {"p": [one], "q": [one], "r": [one]}, old)
    kept = Kept(new)
    kept.check("table", "q", [{**one, "words": ["verdict: other words."]}])
    kept.check("table", "p", [{**one, "cause": "frozen"}])
    assert kept.given.keys() == {"table"}
    write("table", kept.given["table"], new)
    lines = report(old, new)
    assert [line.split(":")[0] for line in lines] == [
        "[table] found differs",
        "[table] wording differs",
        "[table] not asked now",
        "found",
    ]
    assert lines[-1] == "found: 1, subject: 0, wording: 1"
    assert KINDS == ("found", "subject", "wording")


def test_what_was_not_run_stays_stored_and_what_is_gone_goes(tmp_path: Path) -> None:
    write("table", {"old": ["a"], "gone": ["b"]}, tmp_path)
    kept = Kept(tmp_path)
    kept.check("table", "new", ["c"])
    kept.write(lambda table, name: name == "gone")
    assert read("table", tmp_path)[1] == {"new": ["c"], "old": ["a"]}
