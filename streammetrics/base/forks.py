"""Forked processes: free locks, and detection of missing Polars threads.

The package imports this module at once, since it must know of forks that come before its first use. So it imports
nothing large.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from _thread import RLock

PATIENCE = 10.0  # seconds to wait for an answer that takes milliseconds on an idle machine

_locks: WeakSet[RLock] = WeakSet()
_forked = False


def new_lock() -> RLock:
    """Return a reentrant lock that is free in a forked process, even if it was held during the fork."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def require_threads() -> None:
    """Reject a forked process in which Polars would wait forever for missing threads."""
    if _forked and not _polars_answers():
        from streammetrics.errors import StreamMetricsError

        raise StreamMetricsError(
            "This process was forked after Polars had started its threads, which do not survive a fork. "
            "Start processes with multiprocessing.get_context('spawn')."
        )


@cache
def _polars_answers() -> bool:
    """Whether Polars responds in this process. A blocked thread is abandoned."""
    answered = threading.Event()

    def ask() -> None:
        import polars as pl

        frame, file = pl.DataFrame({"x": [1, 2]}), BytesIO()
        frame.unique()
        frame.write_parquet(file)
        file.seek(0)
        pl.scan_parquet(file).collect(engine="streaming")  # files and streams have threads of their own
        answered.set()

    start_new_thread(ask, ())  # not Thread.start, which could wait forever too
    return answered.wait(PATIENCE)


def _after_in_child() -> None:
    global _forked
    _forked = True
    _polars_answers.cache_clear()
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_in_child)
