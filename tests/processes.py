"""Programs that tests run beside themselves, and end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30  # seconds in which a program has to end when it is told to


@contextmanager
def running(
    command: Sequence[str | Path],
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block is left; what it prints goes into ``log``.

    A server may wait for its kernels; how it ends is no test's business, so it is killed then.
    """
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*map(str, command)], cwd=cwd, env=env, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)
