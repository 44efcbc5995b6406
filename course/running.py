"""What a run of a notebook's cells shows live."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from .books import Notebook, plain


class Shown(NamedTuple):
    """Something live that a cell made."""

    section: str
    name: str  # of the scenario, or "play"
    what: Any  # an Exploration or a Recording


def shown(notebook: Notebook) -> Iterator[Shown]:
    """Run a notebook in this process and give what is live in it, in order.

    Raises:
        RuntimeError: a cell raised, and is not meant to.
    """
    from IPython.core.interactiveshell import InteractiveShell

    from gradviz.live.explore import Exploration
    from gradviz.live.player import Player

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
        section = plain(cell.section)
        for value in [
            v for v in shell.user_ns.values() if isinstance(v, Exploration) and id(v) not in seen
        ]:
            seen[id(value)] = value
            yield Shown(section, value.__name__, value)  # type: ignore[attr-defined]
        if isinstance(ran.result, Player):
            yield Shown(section, "play", ran.result._recording)
