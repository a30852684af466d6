"""Steps that an interrupt must not split."""

from __future__ import annotations

import threading
from collections.abc import Callable


def uninterrupted(step: Callable[[], None]) -> None:
    """Run a step to its end. Ctrl-C during the step is raised afterward.

    Interrupts reach the main thread only, so the step runs in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        step()
        return
    errors: list[BaseException] = []
    claim = threading.Lock()  # whoever takes it decides whether the step runs: its thread, or an earlier interrupt
    done = threading.Event()  # in Python 3.11, an interrupted join considers a thread ended

    def run() -> None:
        if not claim.acquire(blocking=False):
            return
        try:
            step()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    try:
        threading.Thread(target=run).start()
    except BaseException as interrupt:
        if claim.acquire(blocking=False):
            raise
        errors.append(interrupt)
    while True:
        try:
            done.wait()
            break
        except BaseException as interrupt:
            errors.append(interrupt)
    if errors:
        raise errors[0]
