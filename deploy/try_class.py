"""A class on this machine: starts the hub on the loopback, lets some users toggle one panel at
once, compares every picture with what the scenario gives, and says how much memory and time it
took: ``python deploy/try_class.py --users 8 --clicks 20``.

Run it in an environment that has jupyterhub, jupyterlab and gradviz[live], with
configurable-http-proxy on the PATH.
"""

from __future__ import annotations

import argparse
import json
import linecache
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from websocket import WebSocket, create_connection

import gradviz as gv

HERE = Path(__file__).parent
PORT, TOKEN = 18000, uuid.uuid4().hex
HUB = f"http://127.0.0.1:{PORT}"
STARTING = threading.Semaphore(2)  # servers that start at once: what is measured is the clicks
SCENARIO = """import torch, gradviz as gv
@gv.explore(copy=gv.controls.copies, mode=gv.controls.grad_mode, requires_grad=True)
def scenario(copy, mode, requires_grad):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=requires_grad)
    with mode():
        b = copy(a)
    c = a * 2
    d = b * 3
    loss = (c + d).sum()
    loss.backward()
"""
CONFIG = """
exec(compile(open({config!r}).read(), {config!r}, "exec"), {{**globals(), "__file__": {config!r}}})
c.JupyterHub.services = [{{"name": "load", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{"name": "load", "services": ["load"],
    "scopes": ["admin:users", "servers", "access:servers"]}}]
c.JupyterHub.hub_port = {port} + 1
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:" + str({port} + 2)
c.Spawner.args += ["--allow-root"]
"""


def ask(path: str, method: str = "GET", body: Any = None) -> Any:
    """Ask the hub, or a user's server."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        HUB + path, data, {"Authorization": f"token {TOKEN}"}, method=method
    )
    with urllib.request.urlopen(request, timeout=180) as answer:
        text = answer.read()
    return json.loads(text) if text else None


class User(threading.Thread):
    """One user: a server, a kernel, a panel, and clicks."""

    def __init__(self, name: str, clicks: int, together: threading.Barrier) -> None:
        super().__init__(name=name)
        self.clicks, self.together = clicks, together
        self.shown: list[tuple[int, str, str]] = []  # the choice, the sentence, the picture's words
        self.waited: list[float] = []
        self.wrong = ""

    def run(self) -> None:
        """Come, open the panel, wait for the others, click."""
        try:
            with STARTING:
                self.open()
            self.together.wait(600)
            self.connect()  # nobody read from the first one meanwhile, and servers end such
            for number in range(self.clicks):
                self.click((number + 1) % 5)
        except Exception as error:
            self.wrong = f"{type(error).__name__}: {error}"
            self.together.abort()

    def open(self) -> None:
        """Start the server and a kernel, and run the cell."""
        ask(f"/hub/api/users/{self.name}", "POST")
        ask(f"/hub/api/users/{self.name}/server", "POST")
        end = time.monotonic() + 300
        while not ask(f"/hub/api/users/{self.name}")["servers"].get("", {}).get("ready"):
            if time.monotonic() > end:
                raise TimeoutError("its server did not start")
            time.sleep(0.5)
        self.kernel = ask(f"/user/{self.name}/api/kernels", "POST", {"name": "python3"})["id"]
        self.connect()
        code = {"code": SCENARIO, "silent": False, "store_history": True, "allow_stdin": False}
        sent = self.send("execute_request", {**code, "user_expressions": {}})
        self.comm = ""
        while True:
            message = json.loads(self.socket.recv())
            state = (
                message["content"].get("data", {}).get("state", {})
                if message["msg_type"] == "comm_open"
                else {}
            )
            if "drawn_for" in state:
                self.comm, self.values = message["content"]["comm_id"], state["values"]
            if message["msg_type"] == "error":
                raise RuntimeError(message["content"]["evalue"])
            # behind all that the cell showed; the reply comes by another channel, and may be sooner
            is_idle = message["content"].get("execution_state") == "idle"
            if is_idle and message["parent_header"].get("msg_id") == sent:
                break
        if not self.comm:
            raise RuntimeError("the cell showed no panel")

    def connect(self) -> None:
        """Open the kernel's channels."""
        address = f"ws://127.0.0.1:{PORT}/user/{self.name}/api/kernels/{self.kernel}/channels"
        header = [f"Authorization: token {TOKEN}"]
        self.socket: WebSocket = create_connection(address, timeout=300, header=header)

    def send(self, kind: str, content: dict[str, Any]) -> str:
        """Send the kernel a message; its id."""
        id = uuid.uuid4().hex
        header = {
            "msg_id": id,
            "msg_type": kind,
            "username": "",
            "session": self.name,
            "version": "5.4",
        }
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        self.socket.send(json.dumps({**message, "channel": "shell", "buffers": []}))
        return id

    def click(self, choice: int) -> None:
        """Choose a way to copy, as the page does, and wait for the picture."""
        self.values = {**self.values, "copy": choice}
        data = {"method": "update", "state": {"values": self.values}, "buffer_paths": []}
        begun = time.monotonic()
        self.send("comm_msg", {"comm_id": self.comm, "data": data})
        while True:
            message = json.loads(self.socket.recv())
            if message["msg_type"] != "comm_msg" or message["content"]["comm_id"] != self.comm:
                continue
            state = message["content"]["data"].get("state", {})
            if "state" in state:
                self.waited.append(time.monotonic() - begun)
                drawn = json.loads(state["state"])
                self.shown.append((choice, drawn["sentence"], read_words(drawn["svg"])))
                return


def read_words(svg: str) -> str:
    """Return all that a picture says."""
    return "|".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def run_here() -> dict[int, tuple[str, str]]:
    """Return the sentence and the picture's words of each choice, from runs in this process."""
    linecache.cache["scenario"] = (len(SCENARIO), None, SCENARIO.splitlines(True), "scenario")
    scope: dict[str, Any] = {}
    exec(compile(SCENARIO, "scenario", "exec"), scope)
    found = {}
    for place, label in enumerate(gv.controls.copies):
        state = scope["scenario"].set(copy=label).state
        found[place] = state["sentence"], read_words(state["svg"])
    return found


def measure_memory(folder: Path) -> dict[str, list[int]]:
    """Return MB of each server and kernel of the users: what is theirs alone, and with a share of
    what they have in common (PSS)."""
    found: dict[str, list[int]] = {"server": [], "kernel": []}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            surroundings = (process / "environ").read_bytes().decode(errors="replace")
            if str(folder) not in surroundings:
                continue
            rollup = (process / "smaps_rollup").read_text()
        except OSError:
            continue
        kind = "kernel" if "ipykernel" in command else "server" if "singleuser" in command else ""
        if kind:
            [size] = re.findall(r"(?m)^Pss:\s+(\d+) kB", rollup)
            found[kind].append(int(size) // 1024)
    return found


def main() -> None:
    """Start the hub, let the users come and click, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=8)
    parser.add_argument("--clicks", type=int, default=20)
    given = parser.parse_args()
    expected = run_here()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        config = folder / "hub.py"
        text = CONFIG.format(config=str(HERE / "jupyterhub_config.py"), token=TOKEN, port=PORT)
        config.write_text(text)
        environment = {
            **os.environ,
            "GRADVIZ_CLASS_PASSWORD": uuid.uuid4().hex,
            "GRADVIZ_HOMES": place,
            "GRADVIZ_BIND": HUB,
        }
        with (folder / "hub.log").open("wb") as log:
            command = [sys.executable, "-m", "jupyterhub", "--config", str(config)]
            hub = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            for _ in range(240):
                try:
                    ask("/hub/api/")
                    break
                except OSError:
                    time.sleep(0.5)
            together = threading.Barrier(given.users + 1)
            users = [User(f"user{n}", given.clicks, together) for n in range(given.users)]
            begun = time.monotonic()
            for user in users:
                user.start()
            try:
                together.wait(600)
                opened, used = time.monotonic() - begun, measure_memory(folder)
            except threading.BrokenBarrierError:
                opened, used = 0.0, {}
            for user in users:
                user.join()
            print_result(users, expected, opened, used)
            if any(user.wrong for user in users):
                print((folder / "hub.log").read_text()[-3000:])
        finally:
            hub.terminate()
            hub.wait(60)


def print_result(
    users: list[User],
    expected: dict[int, tuple[str, str]],
    opened: float,
    used: dict[str, list[int]],
) -> None:
    """Print how many pictures were as expected, how long they took, and how much memory."""
    for user in users:
        if user.wrong:
            print(f"{user.name}: {user.wrong}")
    shown = [one for user in users for one in user.shown]
    good = sum(expected[choice] == (sentence, words) for choice, sentence, words in shown)
    waits = sorted(1000 * wait for user in users for wait in user.waited)
    print(f"{len(users)} users, all with a panel after {opened:.0f} s")
    print(f"{len(shown)} clicks, {good} pictures as they should be")
    if waits:
        late = waits[min(len(waits) - 1, int(0.95 * len(waits)))]
        print(
            f"click to picture: median {statistics.median(waits):.0f} ms, 95 % {late:.0f} ms,"
            f" longest {waits[-1]:.0f} ms"
        )
    for kind, sizes in used.items():
        if sizes:
            print(f"{kind}: {statistics.mean(sizes):.0f} MB each (PSS, {len(sizes)} of them)")


if __name__ == "__main__":
    main()
