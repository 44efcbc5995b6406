"""What a run of a notebook's cells shows live."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from .books import Cell, Notebook, plain


class Shown(NamedTuple):
    """Something live that a cell made."""

    cell: Cell
    name: str  # of the scenario, or "play", or "question"
    what: Any  # an Exploration, a Recording or a Question

    @property
    def section(self) -> str:
        """The heading above it, without its signs."""
        return plain(self.cell.section)

    @property
    def title(self) -> str:
        """What it is called in a list of what the notebook shows."""
        kind = {"play": ", step by step", "question": ", question"}.get(self.name, "")
        return f"{self.section}{kind}"


def shown(notebook: Notebook) -> Iterator[Shown]:
    """Run a notebook in this process and give what is live in it, in order.

    Raises:
        RuntimeError: a cell raised, and is not meant to.
    """
    from IPython.core.interactiveshell import InteractiveShell

    from gradviz.live.explore import Exploration
    from gradviz.live.player import Player
    from gradviz.notebook.lesson import Question

    shell: Any = InteractiveShell.instance()
    seen: dict[int, Exploration] = {}
    for cell in notebook.code:
        with contextlib.redirect_stdout(io.StringIO()):
            ran = shell.run_cell(cell.source, store_history=True)
        if not ran.success and "raises-exception" not in cell.tags:
            raise RuntimeError(
                f"{notebook.name}: cell {cell.id} raised"
                f" {ran.error_in_exec or ran.error_before_exec!r}"
            )
        for value in [
            v for v in shell.user_ns.values() if isinstance(v, Exploration) and id(v) not in seen
        ]:
            seen[id(value)] = value
            yield Shown(cell, value.__name__, value)  # type: ignore[attr-defined]
        if isinstance(ran.result, Player):
            yield Shown(cell, "play", ran.result._recording)
        if isinstance(ran.result, Question):
            yield Shown(cell, "question", ran.result)
