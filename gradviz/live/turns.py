"""When a scenario runs: one run at a time, the newest state last.

NOTE [where and when a scenario runs] torch's modes belong to a thread, and the reader's code to the
main one: so a scenario runs on the main thread only. A control may tell of its change on another
thread while a cell runs (a kernel's subshells). That only sets a mark under a lock and asks the
kernel's event loop for a turn; the run reads the controls when it begins, and looks at the mark
when it ends. So runs never overlap, changes in between are skipped, and the last state is always
the one shown.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from typing import Any

from gradviz.names.position import shell

# seconds that a control's own thread waits for the main one, which may be busy with a cell
HAND_OVER = 0.1


def kernel() -> Any:
    """Return the notebook kernel that this process is; None where it is none."""
    return getattr(shell(), "kernel", None)


class Turns:
    """Calls ``run`` on the main thread as often as the newest state needs it: NOTE [where and when
    a scenario runs]."""

    def __init__(self, run: Callable[[], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._wanted = self._busy = False

    def want(self) -> None:
        """Run now, if this is the main thread and nothing runs, else as soon as may be: something
        has changed."""
        with self._lock:
            self._wanted = True
            if self._busy:
                return  # whoever is running looks at the mark when it is done
        loop = getattr(kernel(), "io_loop", None)
        if loop is None or threading.current_thread() is threading.main_thread():
            self._take()
        else:
            done = threading.Event()
            loop.add_callback(self._take_queued, done)
            # The new picture goes out before the kernel says that it is idle again: small messages
            # in front of a large one can hold it up by 40 ms on their way to the page (TCP's
            # delayed acknowledgements).
            done.wait(HAND_OVER)

    def _take(self) -> None:
        """Run until nothing newer waits for a run."""
        while self._begins():
            try:
                self._run()
            except BaseException:  # an interrupt ends one run, not the newer one that waits
                self._busy = False
                self._take()
                raise
            self._busy = False

    @property
    def busy(self) -> bool:
        """Whether something runs, or waits for its turn."""
        with self._lock:
            return self._wanted or self._busy

    def _begins(self) -> bool:
        """Tell whether a run begins now; then it is noted as running, and no more as wanted."""
        with self._lock:
            begins = self._wanted and not self._busy
            if begins:
                self._wanted = False
                self._busy = True
            return begins

    def _take_queued(self, done: threading.Event) -> None:
        """Take a turn from the event loop, where an interrupt would otherwise be ignored, and an
        exit end the kernel."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            # the panel shows it as the scenario's error
            with contextlib.suppress(KeyboardInterrupt, SystemExit):
                self._take()
        finally:
            done.set()
            signal.signal(signal.SIGINT, before)
