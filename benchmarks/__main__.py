"""Runs every benchmark and writes docs/benchmarks.md: ``python -m benchmarks``, from the top of the
repository."""

from pathlib import Path

from benchmarks import capture, latency, models, recording, why

HEAD = """# Benchmarks

Written by `python -m benchmarks` (a few minutes; close other programs first, and install `requirements-benchmarks.txt`). One part alone is printed by
`python -m benchmarks.capture`, `.recording`, `.why`, `.models` or `.latency`. Absolute times differ between machines and with
what else runs; the ratios are taken within one run.

"""

sections = [part.main() for part in (capture, recording, why, models, latency)]
Path("docs/benchmarks.md").write_text(HEAD + "\n".join(sections), encoding="utf-8")
