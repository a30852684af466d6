"""Calls in several threads, and steps that an interrupt must not split."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")


def of_each(function: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """Return the results of calls for any number of items, in one thread per CPU core.

    >>> of_each(abs, [-2, 3, -4])
    [2, 3, 4]
    """
    if len(items) < 2:
        return list(map(function, items))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


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
        errors.append(interrupt)
        if claim.acquire(blocking=False):
            done.set()
    while True:
        try:
            done.wait()
            break
        except BaseException as interrupt:
            errors.append(interrupt)
    if errors:  # an interrupt inside a lock of `threading` ends in a RuntimeError
        raise errors[0].__context__ if isinstance(errors[0].__context__, KeyboardInterrupt) else errors[0]
