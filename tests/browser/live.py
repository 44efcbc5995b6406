"""What the tests of the live part drive: a notebook, what its panels show, and what they should
show."""

from __future__ import annotations

import base64
import linecache
import re
import textwrap
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import torch
from lab import PATIENCE_MS, Lab
from playwright.sync_api import Locator, Page

import gradviz as gv
from gradviz.live.filling import fill_in
from gradviz.live.steps import steps
from gradviz.picture.state import state

Seen = dict[str, Any]
LIVE = (Path(__file__).parent / "live.js").read_text(encoding="utf-8")
FAKE = (Path(__file__).parent / "fake_kernel.js").read_text(encoding="utf-8")
HEAD = "import time, torch, gradviz as gv"
# Every kind of control. The decorator is one line, so the scenario's lines have the same numbers
# without it.
ALL_LABELS: dict[str, dict[str, Any]] = {
    "copy": {"clone": torch.Tensor.clone, "detach": torch.Tensor.detach},
    "mode": gv.controls.grad_mode,
    "function": {f: getattr(torch, f) for f in ("relu", "sin", "exp", "tanh", "square", "sigmoid")},
    "requires_grad": {"True": True, "False": False},
    "k": {str(k): k for k in range(1, 6)},
    "scale": {f"{s:g}": s for s in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)},
    "again": {str(n): n for n in range(99)},
}
ALL_START = {
    "copy": "clone",
    "mode": "none",
    "function": "relu",
    "requires_grad": "True",
    "k": "3",
    "scale": "1.5",
    "again": "0",
}
ALL_CONTROLS = (
    "copy=[torch.Tensor.clone, torch.Tensor.detach], mode=gv.controls.grad_mode, k=(1, 5),"
    " scale=(0.5, 3.0, 0.5), function=[torch.relu, torch.sin, torch.exp, torch.tanh, torch.square,"
    " torch.sigmoid], requires_grad=True, again=gv.controls.button('backward again')"
)
ALL = """
def everything(copy, mode, function, requires_grad, k, scale, again):
    a = torch.tensor([1., 2., 3.], requires_grad=requires_grad)
    with mode():
        b = copy(a)
    c = function(a) * k
    loss = (c + b * scale).sum()
    for _ in range(1 + again):
        loss.backward()
"""
COURSE_START = {"copy": "clone", "mode": "none", "requires_grad": "True"}
COURSE_LABELS = {
    "copy": gv.controls.copies,
    "mode": gv.controls.grad_mode,
    "requires_grad": {"True": True, "False": False},
}
COURSE_CONTROLS = (
    "copy=gv.controls.copies, mode=gv.controls.grad_mode, requires_grad=gv.controls.requires_grad"
)
COURSE = """
def course(copy, mode, requires_grad):
    a = torch.tensor([1., 2., 3.], requires_grad=requires_grad)
    with mode():
        b = copy(a)
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    loss.backward()
"""
PLAY = """
with gv.record() as rec:
    a = torch.tensor([1., 2., 3.], requires_grad=True)
    b = a.clone()
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    loss.backward()
"""
EVERYTHING, FIRST, SECOND, PLAYER = range(4)  # the panels of the notebook, from top to bottom
CELLS = (
    HEAD,
    f"@gv.explore({ALL_CONTROLS}){ALL}",
    f"@gv.explore({COURSE_CONTROLS}){COURSE}",
    "course",
    f"{PLAY[1:]}player = gv.play(rec)\nplayer",
)


def module_of(script: str) -> str:
    """The script as an address that a bare page can import as a module, as a notebook imports it."""
    return f"data:text/javascript;charset=utf-8;base64,{base64.b64encode(script.encode()).decode()}"


def write_notebook(lab: Lab, name: str, cells: tuple[str, ...] = CELLS) -> None:
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    made.cells = [nbformat.v4.new_code_cell(code) for code in cells]
    nbformat.write(made, lab.folder / name)


# --- what should be shown: the same code under record() in this process ---------------------------


class Oracle:
    """Runs scenarios of the notebook here, without ``explore``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of(self, source: str, options: dict[str, dict[str, Any]], labels: dict[str, str]) -> Seen:
        """What the panel of a scenario should show when its controls stand at these labels: the
        code that it shows then, run as it stands."""
        function = self.run(source)
        chosen = {name: (label, options[name][label]) for name, label in labels.items()}
        filled = fill_in(function, chosen)
        head = "\n" * (filled.lines[0].number - 2) + "def filled():\n"
        plain = self.run(head + textwrap.indent(filled.text, "    "))
        error, recording = "", gv.record()
        try:
            with recording:
                plain()
        except RuntimeError as raised:
            error = f"RuntimeError: {raised}"
        return seen_in(state(recording.figure(), error=error))

    def run(self, source: str) -> Any:
        """Run a source, and return the function that it defines."""
        file = self.folder / f"{abs(hash(source))}.py"
        file.write_text(source)
        linecache.checkcache(str(file))
        scope: dict[str, Any] = {"torch": torch}
        exec(compile(source, str(file), "exec"), scope)
        return next(v for v in scope.values() if hasattr(v, "__code__"))

    def recorded(self) -> gv.Recording:
        """The recording that the player shows."""
        file = self.folder / "play.py"
        file.write_text(PLAY[1:])
        scope: dict[str, Any] = {"torch": torch, "gv": gv}
        exec(compile(PLAY[1:], str(file), "exec"), scope)
        recording: gv.Recording = scope["rec"]
        return recording

    def played(self) -> Seen:
        """What the player's last step shows."""
        return seen_in(state(self.recorded().figure()))

    def steps(self) -> list[str]:
        """The sentences of the player's steps."""
        return [step.sentence for step in steps(self.recorded())]

    def labels(self, **labels: str) -> dict[str, str]:
        """Where the controls of ``everything`` stand, these changed."""
        return {**ALL_START, **labels}

    def options(self, control: str) -> list[str]:
        return list(ALL_LABELS[control])

    def everything(self, **labels: str) -> Seen:
        return self.of(ALL, ALL_LABELS, {**ALL_START, **labels})

    def course(self, **labels: str) -> Seen:
        return self.of(COURSE, COURSE_LABELS, {**COURSE_START, **labels})


def seen_in(shown: dict[str, Any]) -> Seen:
    """What a reader sees of a state: the texts in its picture, the cells of its table, the sentence
    and the error."""
    groups: dict[str, list[str]] = {"node": [], "edge": []}
    for group in ET.fromstring(shown["svg"]).iter("{http://www.w3.org/2000/svg}g"):
        kind = (group.get("class") or "").split(" ")[0]
        if kind in groups:
            texts = group.iter("{http://www.w3.org/2000/svg}text")
            said = re.sub(r"\s", "", "".join("".join(t.itertext()) for t in texts))
            groups[kind].append(re.sub("^✂.+$", "✂", said))
    table = [[str(cell) for cell in row["cells"]] for row in shown["table"]]
    return {
        "cards": sorted(groups["node"]),
        "arrows": sorted(groups["edge"]),
        "table": table,
        "said": shown["sentence"],
        "error": shown["error"],
    }


# --- what is shown --------------------------------------------------------------------------------


class Panel:
    """One panel of the open notebook, and the ways to handle it."""

    def __init__(self, page: Page, index: int) -> None:
        self.page, self.index = page, index
        self.room = page.locator(".jp-OutputArea :is(.gradviz-room, .gv-room)").nth(index)

    def seen(self) -> Seen:
        found: Seen = self.page.evaluate("i => live.seen(live.rooms()[i])", self.index)
        return found

    def shows(self, expected: Seen) -> None:
        """Waits until a reader sees exactly this."""
        self.until("(seen, wanted) => live.same(seen, wanted)", expected)

    def until(self, test: str, wanted: Seen) -> None:
        code = f"async ([i, wanted]) => ({test})(await live.seen(live.rooms()[i]), wanted)"
        if not self.comes(lambda: bool(self.page.evaluate(code, [self.index, wanted]))):
            assert self.seen() == wanted

    def comes(self, look: Callable[[], bool]) -> bool:
        """Looks again and again: ``wait_for_function`` takes the promise of an answer for a yes."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not (found := look()) and time.monotonic() < end:
            self.page.wait_for_timeout(30)
        return found

    def choose(self, name: str) -> None:
        """Clicks on one of the choices in the code."""
        self.room.get_by_role("radio", name=name, exact=True).click()

    def reset(self) -> None:
        """Clicks on Reset."""
        self.room.locator(".gv-reset").click()

    def chosen(self) -> list[str]:
        """What is chosen in the code, from top to bottom."""
        return self.room.locator(".gv-buttons input:checked + span").all_text_contents()

    def top(self) -> None:
        """Scrolls to where the panel begins."""
        self.room.evaluate("e => e.scrollIntoView()")

    def python(self, code: str) -> str:
        """What a cell with this code prints."""
        return run_python(self.page, code)

    def until_python(self, code: str, wanted: str) -> None:
        """Waits until a cell with this code prints that."""
        if not self.comes(lambda: self.python(code) == wanted):
            assert self.python(code) == wanted

    def card(self, title: str) -> str:
        """The id of the card that begins with this."""
        found: str = self.room.locator(".gv-node").evaluate_all(
            "(all, title) => all.find(g => g.querySelector('text').textContent ==="
            " title).dataset.gv",
            title,
        )
        return found

    def drawing(self) -> str:
        """The picture without marks, focus and what moves: its whole markup, ids made plain."""
        markup: str = self.room.locator(".gv-canvas").evaluate("""canvas => {
            const copy = canvas.cloneNode(true);
            copy.querySelectorAll(".gv-marks").forEach(e => e.remove());
            for (const g of copy.querySelectorAll("g[aria-hidden=true][transform]"))
                if (g.children.length === 1 && g.firstChild.nodeName === "path") g.remove(); // draws back
            for (const e of copy.querySelectorAll("*"))
                for (const name of [...e.attributes].map(a => a.name))
                    if (/^(id|class|tabindex|pathLength|aria-.*)$/.test(name)) e.removeAttribute(name);
            return copy.innerHTML;
        }""")
        return re.sub(r"<g></g>", "", markup)


def in_code_font(room: Locator) -> list[str]:
    """What of the sentence of a panel, and of what changed, is set in the font of the code."""
    texts: list[str] = room.evaluate("""room => {
        const font = element => getComputedStyle(element).fontFamily;
        const code = font(room.querySelector(".gv-code"));
        const walker = document.createTreeWalker(room.querySelector(".gv-sentence"), NodeFilter.SHOW_TEXT);
        const found = [];
        while (walker.nextNode())
            if (font(walker.currentNode.parentElement) === code && walker.currentNode.parentElement.checkVisibility())
                found.push(walker.currentNode.data);
        return found;
    }""")
    return texts


def run_python(page: Page, code: str) -> str:
    said: str = page.evaluate("code => live.python(code)", code)
    return said


def open_lab(page: Page, lab: Lab, name: str, tail: str = "&reset") -> None:
    page.goto(f"{lab.url}lab/tree/{name}?token={lab.token}{tail}")
    page.evaluate(LIVE)
    page.wait_for_function("() => live.idle()")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


def open_notebook_7(page: Page, lab: Lab, name: str) -> None:
    """Open a notebook, and wait for its kernel: Notebook 7 shows it as idle before there is one, and
    cells that are run then run nothing, without a word."""
    page.goto(f"{lab.url}notebooks/{name}?token={lab.token}")
    page.evaluate(LIVE)
    page.wait_for_function("() => live.idle()")


def run_all(page: Page, panels: int = 4) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        "n => live.rooms().length === n && live.rooms().every(r =>"
        " r.querySelector('.gv-said')?.textContent)",
        arg=panels,
    )
