"""Run the programs whose answers are kept, and print what they are answered now and were not before.

python tests/compare_answers.py            all of them, which takes minutes
python tests/compare_answers.py tests/why  what pytest is to run; any of its options may follow

The gravest differences stand first: other causes, lines, cuts or mends; then what is said of something else; then what
is only worded otherwise. ``pytest --overwrite-golden`` stores what is answered now.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from kept import FOLDER, KINDS, compared, here, read

ROOT = Path(__file__).parents[1]
WHERE = ["tests/why", "tests/test_kept.py", "tests/course/test_every_state.py"]


def report(old: Path, new: Path) -> list[str]:
    """What to print about two folders of answers.

    Args:
        old: what is stored.
        new: what was given now; tables that were not asked for are passed over.
    """
    lines, total = list[str](), Counter[str]()
    for table in sorted(path.stem for path in new.glob("*.json")):
        written_with, stored = read(table, old)
        if written_with != here():
            lines.append(
                f"{table}: stored with {written_with}; this is {here()}, where torch may word things otherwise"
            )
        given = read(table, new)[1]
        found = compared({name: stored[name] for name in stored if name in given}, given)
        missing = sorted(stored.keys() - given.keys())
        lines += [f"[{table}] {difference}" for difference in found]
        lines += (
            [f"[{table}] not asked now: {len(missing)} of {len(stored)} programs, {missing[0]}"]
            if missing
            else []
        )
        total.update(difference.kind for difference in found)
    lines.sort(
        key=lambda line: next(
            (i for i, kind in enumerate(KINDS) if f"] {kind} differs" in line), len(KINDS)
        )
    )
    return [*lines, ", ".join(f"{kind}: {total[kind]}" for kind in KINDS)]


def main(given: list[str]) -> int:
    """Ask, compare and print; 1 where something differs or could not be asked."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "-p", "no:cacheprovider", "--no-header", "--answers-to", folder]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *(given or WHERE)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        lines = report(FOLDER, Path(folder))
    print("\n".join(lines))
    if ran.returncode:
        print(f"\npytest ended with {ran.returncode}:\n{ran.stdout[-3000:]}{ran.stderr[-3000:]}")
    return int(bool(ran.returncode) or not lines[-1].endswith("wording: 0") or len(lines) > 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
