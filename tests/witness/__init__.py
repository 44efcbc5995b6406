"""What torch itself says of a scenario, read without gradviz's recorder, and what a panel's state
shows, compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from course import ROOT


def results(module: str, *arguments: str) -> dict[str, Any]:
    """Run ``python -m module`` in a process of its own and return what it printed, by notebook."""
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parents[1])])
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
    )
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))
