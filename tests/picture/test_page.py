"""One file with every state in it: what is refused, what the file holds, and that user text breaks
out of nothing."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import zlib
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz as gv
from gradviz.live.export import export
from gradviz.picture.figure import Figure
from gradviz.picture.packed import DRAWN, LONG, packed
from gradviz.picture.page import page
from gradviz.picture.state import state

# numbers as Graphviz writes them, at both ends of what it may write, and others
PATHS = [
    f'<path fill="none" d="{drawn}" />\n'
    for drawn in (
        "M64.86,-100.73C64.86,-100.73 82.86,-100.73 82.9,0 -0.01,0.1 12000.5,-3 0,0",
        "M0,0C0,0 0,0 0,0",
        "M-0,0C1,1 1,1 1,1",
        "M1.50,0C1,1 1,1 1,1",
        "M1.125,0C1,1 1,1 1,1",
        "M1e3,0C1,1 1,1 1,1",
        "M1,1L2,2",
    )
]


HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u2028\u2029",
    "\ud800",
    "{{data}}",
    "<!--",
    "]]>",
    "\x00",
    "a=b&c#d",
    "ü %41 +",
]


def recording() -> gv.Recording:
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with gv.record() as rec:
        (a.clone() * 2).sum().backward()
    return rec


def small_book(*options: str) -> dict[str, Any]:
    shown = state(Figure(recording().graph))
    control = {
        "name": "copy",
        "label": "copy",
        "kind": "buttons",
        "options": list(options),
        "start": 0,
    }
    return {
        "title": "t",
        "code": {"text": "b = copy(a)", "first": 1},
        "controls": [control],
        "states": [{**shown, "sentence": o} for o in options],
    }


class Scenario:
    """As much of an exploration as a page needs."""

    def __init__(self, book: dict[str, Any]) -> None:
        self.made, self.runs = book, 0
        self.controls = book["controls"]

    def book(self) -> dict[str, Any]:
        self.runs += 1
        return self.made


class Parts(html.parser.HTMLParser):
    """Tags with their attributes, and the text of the scripts and the style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.now = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.now = dict(attrs).get("id") or dict(attrs).get("type") or tag

    def handle_data(self, data: str) -> None:
        self.inside[self.now] = self.inside.get(self.now, "") + data

    def handle_endtag(self, tag: str) -> None:
        self.now = ""


def held(path: Path) -> Any:
    data = Parts(path.read_text(encoding="utf-8")).inside["gv-data"]
    return unpacked(base64.b64decode(data))


def unpacked(data: bytes) -> Any:
    """Restore a book as frontend/src/packed.js does."""
    book = json.loads(zlib.decompress(data))
    pieces = book.pop("pieces")
    for one in book["states"]:
        for part in {*LONG} & one.keys():
            lines = [pieces[place] for place in one[part]]
            one[part] = drawn(*lines) if part in DRAWN else "".join(lines)
    return book


def drawn(prefix: str, *lines: str) -> str:
    """Restore a picture."""
    begin = f'<g id="{prefix}' if prefix else '<g id="~'
    return "".join(with_points(re.sub('^<g id="~', begin, line)) for line in lines)


def with_points(line: str) -> str:
    """Restore the path of a line of a picture."""

    def shown(hundredths: int) -> str:
        return str(hundredths / 100).removesuffix(".0")

    def path(steps: re.Match[str]) -> str:
        numbers = [int(step) for step in steps[1].split()]
        along = [accumulate(numbers[0::2]), accumulate(numbers[1::2])]
        first, *points = (f"{shown(x)},{shown(y)}" for x, y in zip(*along, strict=True))
        return f' d="M{first}C{" ".join(points)}"'

    return re.sub(r' d="~([-\d ]+)"', path, line) if line.startswith("<path ") else line


def test_what_states_repeat_stands_once() -> None:
    picture = state(Figure(recording().graph))
    one, many = ({"states": [picture] * count} for count in (1, 200))
    assert unpacked(packed(many)) == json.loads(json.dumps(many))
    assert len(packed(many)) < 3 * len(packed(one))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n" * 50,
        "<g " * 40,
        "⟦é⟧ " * 30 + "\n",
        "x" * 39,
        "x" * 40,
        '"$pieces": [0]\n' * 5,
        *PATHS,
        '<g id="g0123abcd-n0">\n<g id="g0123abcd-n1">\n<g id="gffffffff-n1">\n',
        '<g id="~n0">\n',
    ],
)
def test_any_text_is_restored(text: str) -> None:
    book = {"title": text, "states": [{"svg": text, "text": text + "x"}, {"svg": "", "text": text}]}
    assert unpacked(packed(book)) == book


def test_a_scenario_becomes_a_book(tmp_path: Path) -> None:
    book = small_book("clone", "detach", "data")
    export(Scenario(book), tmp_path / "a.html")
    assert held(tmp_path / "a.html") == book
    export(Scenario(book), tmp_path / "b.html", title="Mine")
    assert held(tmp_path / "b.html") == {**book, "title": "Mine"}


def test_a_recording_becomes_its_steps(tmp_path: Path) -> None:
    rec = recording()
    export(rec, tmp_path / "a.html")
    book = held(tmp_path / "a.html")
    (control,) = book["controls"]
    assert control["kind"] == "steps"
    assert len(book["states"]) == len(control["options"]) > 3


def test_a_figure_becomes_one_state(tmp_path: Path) -> None:
    figure = Figure(recording().graph)
    export(figure, str(tmp_path / "a.html"))
    book = held(tmp_path / "a.html")
    assert book["controls"] == []
    assert [s["svg"] for s in book["states"]] == [figure.svg]


def doubled() -> None:
    a = torch.ones(2, requires_grad=True)
    (a * 2).sum().backward()


def test_a_question_becomes_a_page_that_tells_nothing_to_whoever_reads_its_source(
    tmp_path: Path,
) -> None:
    asked = gv.lesson.question(
        "What is `a.grad`?",
        doubled,
        truth=lambda run: run.tensors["a"]["grad"],
        answers={"[1, 1]": gv.lesson.Wrong("a factor is lost", "a is doubled."), "[2, 2]": None},
    )
    export(asked, tmp_path / "a.html")
    parts = Parts((tmp_path / "a.html").read_text("utf-8"))
    assert held(tmp_path / "a.html")["question"] == asked.book()["question"]
    readable = "".join(text for name, text in parts.inside.items() if name != "gv-data")
    assert "What is a.grad?" in readable
    assert "a is doubled" not in readable
    assert "It is [2, 2]" not in readable


def test_links_stand_above_the_page(tmp_path: Path) -> None:
    links = {"Course <1>": "../index.html#a&b", "Home": "https://example.org/x"}
    export(recording(), tmp_path / "a.html", links=links)
    text = (tmp_path / "a.html").read_text("utf-8")
    assert '<a href="../index.html#a&amp;b">Course &lt;1&gt;</a>' in text
    assert '<a href="https://example.org/x">Home</a>' in text


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "JavaScript:x"])
def test_a_link_runs_nothing(tmp_path: Path, address: str) -> None:
    with pytest.raises(gv.GradvizError, match="expected a relative address, or one that begins"):
        export(recording(), tmp_path / "a.html", links={"x": address})
    assert not list(tmp_path.iterdir())


def test_the_same_book_gives_the_same_bytes() -> None:
    assert page(small_book("x", "y")) == page(small_book("x", "y"))


def test_too_many_states_are_refused_before_anything_runs(tmp_path: Path) -> None:
    controls = [
        {
            "name": n,
            "label": n,
            "kind": "slider",
            "options": list(map(str, range(size))),
            "start": 0,
        }
        for n, size in (("copy", 4), ("mode", 4), ("k", 256))
    ]
    scenario = Scenario({**small_book("x"), "controls": controls})
    with pytest.raises(gv.GradvizError) as raised:
        export(scenario, tmp_path / "a.html")
    assert (
        str(raised.value)
        == "this scenario has 4,096 states (copy 4 × mode 4 × k 256); at most 256 are exported: "
        "give k fewer values, or raise limit="
    )
    assert scenario.runs == 0
    assert not list(tmp_path.iterdir())


def test_too_many_steps_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        gv.GradvizError, match=r"this recording has \d+ steps; at most 2 .* or raise limit="
    ):
        export(recording(), tmp_path / "a.html", limit=2)


def test_errors_say_how_to_mend_them(tmp_path: Path) -> None:
    rec = recording()
    with pytest.raises(
        gv.GradvizError, match=r"cannot export to 'a.pdf': a page's name ends in .html"
    ):
        export(rec, tmp_path / "a.pdf")
    with pytest.raises(gv.GradvizError, match=r"there is no folder .*nowhere.*make it first"):
        export(rec, tmp_path / "nowhere" / "a.html")
    with pytest.raises(
        gv.GradvizError,
        match=r"cannot export the int 3: expected what .*explore made .* a Figure or a question",
    ):
        export(3, tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.html"
    target.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        export(Scenario(small_book("x")), target)
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]
    assert target.read_text() == "old"


def test_the_policy_names_exactly_our_script_and_style() -> None:
    parts = Parts(page(small_book("x", "y")).decode())
    (policy,) = (a["content"] for t, a in parts.tags if t == "meta" and "http-equiv" in a)
    assert policy is not None
    for kind, inside in (("script-src", "module"), ("style-src", "style")):
        digest = base64.b64encode(hashlib.sha256(parts.inside[inside].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("word", HOSTILE)
def test_user_text_breaks_out_of_nothing(word: str, tmp_path: Path) -> None:
    book = small_book(word, "plain")
    book["title"], book["code"]["text"], book["controls"][0]["label"] = word, word, word
    for made in book["states"]:
        made.update(alt=word, text=word, error=word, printed=word)
    export(Scenario(book), tmp_path / "a.html")
    assert held(tmp_path / "a.html") == book
    tame = Parts(page(small_book("x", "plain")).decode())
    text = (tmp_path / "a.html").read_bytes().decode()  # it is UTF-8, whatever the user wrote
    assert [t for t, _ in Parts(text).tags] == [t for t, _ in tame.tags]


LOADING = r"</?(script|style)|<!--|@import|url\(|\bimport\b[^;]*\bfrom\b|https?://(?!www\.w3\.org/)"
WRITING = r"\.(inner|outer)HTML|insertAdjacentHTML|\beval\(|new Function|document\.write"


def test_our_scripts_and_styles_hold_nothing_that_ends_their_element_or_loads() -> None:
    sources = [
        f
        for f in (Path(gv.__file__).parent / "picture" / "static").iterdir()
        if f.suffix in (".js", ".css")
    ]
    assert sources
    for file in sources:
        text = file.read_text(encoding="utf-8")
        assert not re.search(f"{LOADING}|{WRITING}", text), file
