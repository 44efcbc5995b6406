"""Reject notebooks that were not run top to bottom, or that carry what belongs to one machine.

nbval passes a cell without an execution count without comparing anything, so a notebook that was
never run looks green. Only the standard library is used: `.ci/run` calls this before anything is
installed.

    python tests/check_notebooks.py notebooks
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

MACHINE_PATH = re.compile(
    r"(?:/(?:home|Users|root|tmp|work|content)/|[A-Z]:\\Users\\)[\w.-]+|site-packages"
)
TIMING = ("iopub.", "shell.")  # keys of cell.metadata.execution that JupyterLab can record


def output_text(output: dict[str, Any]) -> str:
    """Everything readable in one output; pictures are left out."""
    parts: list[Any] = [
        output.get("text", ""),
        output.get("traceback", ""),
        output.get("evalue", ""),
    ]
    parts += [v for mime, v in output.get("data", {}).items() if not mime.startswith("image/")]
    joined = "\n".join("".join(p) if isinstance(p, list) else str(p) for p in parts)
    return re.sub(r"base64,[A-Za-z0-9+/=]+", "", joined)


def problems(notebook: dict[str, Any]) -> list[str]:
    """What is wrong with one notebook, as sentences; an empty list means nothing."""
    found = []
    code = [
        c for c in notebook["cells"] if c["cell_type"] == "code" and "".join(c["source"]).strip()
    ]
    counts = [c.get("execution_count") for c in code]
    if counts != list(range(1, len(code) + 1)):
        found.append(
            f"execution counts are {counts}, expected 1 to {len(code)}: restart the kernel and run"
            " all cells"
        )
    if "widgets" in notebook["metadata"]:
        found.append(
            "widget state is saved in it: save it without (Settings > Save Widget State"
            " Automatically)"
        )
    for number, cell in enumerate(code, 1):
        if any(key.startswith(TIMING) for key in cell["metadata"].get("execution", {})):
            found.append(f"code cell {number} carries timing metadata")
        errors = [o["ename"] for o in cell["outputs"] if o.get("output_type") == "error"]
        if errors and "raises-exception" not in cell["metadata"].get("tags", []):
            found.append(
                f"code cell {number} ends in {errors[0]} and has no tag raises-exception: Run All"
                " stops there"
            )
        for output in cell["outputs"]:
            if path := MACHINE_PATH.search(output_text(output)):
                found.append(
                    f"the output of code cell {number} names a path of one machine: {path[0]}"
                )
    return found


def main(folder: str) -> int:
    """Print what is wrong with the notebooks below ``folder``; the number of problems."""
    paths = sorted(p for p in Path(folder).rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
    found = [
        f"{p}: {problem}"
        for p in paths
        for problem in problems(json.loads(p.read_text(encoding="utf-8")))
    ]
    print("\n".join(found) or f"{len(paths)} notebooks were run top to bottom")
    return len(found)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1]) else 0)
