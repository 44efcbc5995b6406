"""Environments of their own for other front ends, and their servers. Notebooks run in the kernel of
the environment that this runs in."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lab import SETTINGS
from processes import running
from shown_cells import KERNEL

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "front_ends"
PATIENCE = 240  # seconds for a server to answer
# a path file after these leads to this environment's packages, behind the front end's own ones
BORROWED = "zz_borrowed.pth"


class NotInstalled(Exception):
    """A front end could not be installed; what pip said."""


def environment(name: str, pins: Sequence[str], borrow: bool = False) -> Path:
    """Return the folder of a front end's programs, installed once.

    Args:
        name: of the environment.
        pins: what pip installs; nothing: this environment itself.
        borrow: whether it sees this environment's packages too, because it runs cells itself.
    """
    if not pins:
        return Path(sys.executable).parent
    folder = BUILT / name
    done = folder / "pins.json"
    if not done.exists() or json.loads(done.read_text()) != list(pins):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        command = [folder / "bin" / "python", "-m", "pip", "install", "-q", *pins]
        ran = subprocess.run(command, capture_output=True, text=True)
        if ran.returncode:
            raise NotInstalled(f"{name}: {ran.stderr[-400:]}")
        done.write_text(json.dumps(list(pins)))
    if borrow:
        [packages] = folder.glob("lib/python*/site-packages")
        [ours] = {Path(p) for p in sys.path if p.endswith("site-packages")}
        (packages / BORROWED).write_text(f"{ours}\n{ROOT}\n")
    return folder / "bin"


def version(programs: Path, package: str) -> str:
    """Return the version of a package that is installed there."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.check_output([programs / "python", "-c", code], text=True).strip()


def surroundings(home: Path) -> dict[str, str]:
    """Return the environment variables of a front end that knows nothing of its user but this
    kernel."""
    kernel = home / "jupyter" / "kernels" / KERNEL
    kernel.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": KERNEL, "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    for name, values in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON"))}
    return {
        **kept,
        "HOME": str(home),
        "JUPYTER_PATH": str(home / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTER_TOKEN": "shown",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
    }


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def served(command: Sequence[str | Path], port: int, home: Path) -> Iterator[str]:
    """Run a server on a port of this machine; its address."""
    url = f"http://127.0.0.1:{port}/"
    log = home / "server.log"
    with running(command, log, home, surroundings(home)) as server:
        _wait_for(url, server, log)
        yield url


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers anything at all."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except urllib.error.HTTPError:
            return  # it wants to know who asks
        except (OSError, ValueError):
            time.sleep(0.3)
        else:
            return
    said = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(errors="replace"))
    raise RuntimeError(f"no answer from {url}:\n{said[-2000:]}")
