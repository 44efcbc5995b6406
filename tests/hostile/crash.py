"""Runs a snippet in a process of its own: a killed kernel shows as an exit code there, not as a
dead test run."""

from __future__ import annotations

import subprocess
import sys
import textwrap

# Each observer defines `observe(build)`: it lets `build` make tensors and looks at the graph behind
# the first of them. It returns what build returned, and something to hold on to (a Graph or a
# Recording).
OBSERVERS = {
    "capture": (
        """
        from gradviz.watch.capture import capture
        def observe(build, **options):
            made = build()
            return made, capture(made[0], **options)
    """
    ),
    "record": (
        """
        from gradviz.recording import record
        def observe(build, **options):
            with record() as recording:
                made = build()
            return made, recording
    """
    ),
}

PRELUDE = """
    import sys, threading, warnings, gc
    import torch
    warnings.simplefilter("error")
    x = torch.ones(3, requires_grad=True)
"""


def survives(snippet: str, *, observer: str = "capture", timeout: float = 300) -> str:
    """Runs ``snippet`` after the prelude and the observer's, and fails unless it exits with 0 and
    no word on stderr.

    Returns:
        What the snippet printed.
    """
    code = "\n".join(map(textwrap.dedent, (PRELUDE, OBSERVERS[observer], snippet)))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout
