"""A headless Firefox, driven by WebDriver BiDi, which it speaks itself: no driver is needed."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import running
from websocket import WebSocket, create_connection

NAMES = ("firefox", "firefox-esr")
LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
START = 120  # seconds
PATIENCE = 120


def find_firefox() -> str | None:
    """Return the browser to use."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One tab of a running Firefox."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket, self._numbers = socket, itertools.count(1)
        self._ask("session.new", capabilities={})
        self._tab = self._ask("browsingContext.create", type="tab")["context"]
        self.size(1280, 900)

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                if answer["type"] == "error":
                    raise AssertionError(f"{method}: {answer['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def size(self, width: int, height: int) -> None:
        """Give the tab a size, in CSS pixels."""
        viewport = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def open(self, url: str) -> None:
        """Open an address and wait until it has loaded."""
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript is, or what its promise becomes."""
        result = self._ask(
            "script.evaluate",
            expression=f"(async () => JSON.stringify((await ({expression})) ?? null))()",
            target={"context": self._tab},
            awaitPromise=True,
        )
        if result["type"] == "exception":
            raise AssertionError(result["exceptionDetails"]["text"])
        return json.loads(result["result"]["value"])

    def wait_for(self, expression: str) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + PATIENCE
        while not (found := self.evaluate(expression)):
            assert time.monotonic() < end, f"did not come: {expression}"
            time.sleep(0.05)
        return found

    def click(self, element: str) -> None:
        """Click on the middle of an element, which is an expression, with a real pointer, when it
        has rested for a second: a panel that was just run scrolls into sight."""
        self.evaluate(f"{element}.scrollIntoView({{block: 'center'}})")
        box = f"(b => [b.x + b.width / 2, b.y + b.height / 2])({element}.getBoundingClientRect())"
        self.wait_for(
            f"(now => {{ if (now !== window.was) window.since = performance.now(); window.was = now;"
            f" return performance.now() - window.since > 1000; }})({box}.join())"
        )
        x, y = map(round, self.evaluate(box))
        moves = [
            {"type": "pointerMove", "x": x, "y": y},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": moves})

    def press(self, key: str) -> None:
        """Press a key: one character, of WebDriver's own ones too."""
        keys = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._act({"type": "key", "id": "keyboard", "actions": keys})

    def _act(self, source: dict[str, Any]) -> None:
        self._ask("input.performActions", context=self._tab, actions=[source])

    def screenshot(self, path: Path) -> None:
        """Write what the tab shows."""
        shot = self._ask("browsingContext.captureScreenshot", context=self._tab)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextmanager
def firefox(program: str, home: Path) -> Iterator[Firefox]:
    """Run a Firefox whose profile lies in ``home``."""
    log = home / "firefox.log"
    command = [program, "--headless", "--no-remote", "--profile", str(home)]
    with running([*command, "--remote-debugging-port", "0"], log) as process:
        socket = create_connection(
            f"{_address(log, process)}/session", timeout=PATIENCE, suppress_origin=True
        )
        yield Firefox(socket)
        socket.close()


def _address(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until Firefox says where it listens."""
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        if found := LISTENING.search(log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    raise RuntimeError(f"Firefox did not start:\n{log.read_text(errors='replace')[-2000:]}")
