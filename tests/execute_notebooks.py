"""Run notebooks top to bottom and save what they say, without anything that belongs to one run or
one machine.

python tests/execute_notebooks.py            # all of notebooks/
python tests/execute_notebooks.py 04_detach  # only those whose file name starts like this
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from gradviz.live.still import MARK, VIEW

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
# of the notebook's own metadata: enough for Jupyter to choose a kernel, and the same on every
# machine
KEPT = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def chosen(names: list[str]) -> list[Path]:
    """The notebooks whose names start with one of ``names``; all of them without any."""
    paths = sorted(FOLDER.glob("[0-9]*.ipynb"))
    unknown = [n for n in names if not any(p.name.startswith(Path(n).stem) for p in paths)]
    if unknown:
        have = ", ".join(p.stem for p in paths) or "nothing"
        raise SystemExit(
            f"no notebook's name starts with {', '.join(unknown)}; notebooks/ holds {have}"
        )
    return [p for p in paths if not names or any(p.name.startswith(Path(n).stem) for n in names)]


def execute(path: Path) -> None:
    """Run one notebook in a fresh kernel and write it back. A cell that raises leaves the file as
    it was."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as home:  # no profile or history of the person who runs this
        environment = {**os.environ, "IPYTHONDIR": home, "GRADVIZ_PROGRESS": "off"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
        )
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=300,
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.execute(env=environment)
    notebook.metadata = nbformat.from_dict(KEPT)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        # a live view belongs to its kernel; its words and picture stay
        for output in cell.get("outputs", ()):
            output.get("data", {}).pop(VIEW, None)
            output.get("metadata", {}).pop(MARK, None)
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for each in chosen(sys.argv[1:]):
        execute(each)
        print(f"{each.name} was run top to bottom")
