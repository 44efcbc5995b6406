"""One line about what takes longer than a second: how far it is. It is gone when that is over.

Only a person who waits is told: on a terminal, or below the cell of a notebook. Into a file, a pipe
or a log nothing is written, since nobody could take it back there. A terminal's line is written
over by a carriage return. A notebook keeps what stderr was told, so there it is an output of its
own, which is emptied in the end. Nothing runs beside: whoever works says when a part is done, and a
failure or an interrupt takes the line away like the end does. ``GRADVIZ_PROGRESS=off`` in the
environment switches it off: for notebooks that run with nobody before them, and are compared.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from typing_extensions import Self

AFTER = 1.0  # seconds in which nothing is said
EVERY = 0.2  # seconds from one line to the next


class Place(Protocol):
    """Where one line stands, and is replaced by the next; "" for none."""

    def show(self, line: str) -> None:
        """Let this line stand there."""


class _Terminal:
    def __init__(self, stream: Any) -> None:
        self._stream, self._width = stream, 0

    def show(self, line: str) -> None:
        blank = " " * self._width
        self._stream.write(f"\r{blank}\r{line}")
        self._stream.flush()
        self._width = len(line)


class _Notebook:
    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._shown: Any = None  # the output, once there is one

    def show(self, line: str) -> None:
        said = {"text/plain": line}
        if self._shown is None:
            self._shown = self._display(said, raw=True, display_id=True)
        else:
            self._shown.update(said, raw=True)


def place() -> Place | None:
    """Return where a person who waits would see a line; None where nobody does."""
    if os.environ.get("GRADVIZ_PROGRESS") == "off":
        return None
    ipython = sys.modules.get("IPython")  # who has not imported it is in no notebook
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        from IPython.display import display

        return _Notebook(display)
    stream = sys.stderr
    return _Terminal(stream) if stream is not None and stream.isatty() else None


class Progress:
    """Says how far something is, once it has taken a second. Of several that are under way within
    each other only the outermost speaks.

    Args:
        line: what is said, of how many parts are done.
        clock: seconds that go on.
        find: where it is said.

    Example:
        >>> with Progress(lambda done: f"{done} of 2", clock=iter((0.0, 0.5, 1.5)).__next__) as it:
        ...     it.step()
        ...     it.step()
    """

    def __init__(
        self,
        line: Callable[[int], str],
        *,
        clock: Callable[[], float] = time.monotonic,
        find: Callable[[], Place | None] = place,
    ) -> None:
        self._line, self._clock, self._find = line, clock, find
        self._done = 0
        self._due = 0.0
        self._place: Place | None = None
        self._outer: Progress | None = None
        self._token: Token[Progress | None] | None = None

    def __enter__(self) -> Self:
        """Begin to count the time."""
        self._outer = _under_way.get()
        self._token = _under_way.set(self)
        if self._outer is None:
            self._due = self._clock() + AFTER
        return self

    def __exit__(self, *_: object) -> None:
        """Take the line away."""
        if self._token is not None:
            _under_way.reset(self._token)
        if self._place is not None:
            _quietly(self._place, "")

    def step(self, parts: int = 1) -> None:
        """Count what is done, and say so if it is time."""
        self._done += parts
        self.look()

    def look(self) -> None:
        """Say how far it is, if it is time."""
        if self._outer is not None:
            self._outer.look()
            return
        now = self._clock()
        if now < self._due:
            return
        self._due = now + EVERY
        if self._place is None:
            self._place = self._find()
        if self._place is not None:
            _quietly(self._place, self._line(self._done))


_under_way: ContextVar[Progress | None] = ContextVar("gradviz_progress", default=None)


def _quietly(where: Place, line: str) -> None:
    """Say a line; what goes wrong with it (a closed stream) is no reason to fail."""
    try:
        where.show(line)
    except Exception:
        return
