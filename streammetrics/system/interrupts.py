"""Steps that an interrupt must not cut in two."""

from __future__ import annotations

import threading
from collections.abc import Callable


def uninterrupted(step: Callable[[], None]) -> None:
    """Run a step to its end, even if Ctrl-C comes meanwhile, which is then raised.

    Interrupts come to the main thread alone, so another one takes the step.
    """
    if threading.current_thread() is not threading.main_thread():
        step()
        return
    errors: list[BaseException] = []
    done = threading.Event()  # in Python 3.11 an interrupted join takes a thread for ended

    def run() -> None:
        try:
            step()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run).start()
    while not done.is_set():
        try:
            done.wait()
        except BaseException as interrupt:
            errors.append(interrupt)
    if errors:
        raise errors[0]
