"""Calls in several threads, and steps that an interrupt must not split.

A thread for which there is no memory can end before its first line, which nothing reports, and `Thread.start` then
waits forever. So threads are started without waiting, and work that no thread has begun is done by the thread that
waits for it.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
T = TypeVar("T")

STEP = 0.1  # seconds of one wait
STEPS = 50  # waits for a thread to begin: not a time, which passes while a busy machine runs no thread


def start(run: Callable[[], None]) -> bool:
    """Start a thread. Return false if there are too many threads, or no memory for one."""
    try:
        start_new_thread(run, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def of_each(function: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """Return the results of calls for any number of items, in one thread per CPU core. This thread is one of them.

    If calls fail, the error of the first of their items is raised.

    >>> of_each(abs, [-2, 3, -4])
    [2, 3, 4]
    """
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    begun = 0
    change = threading.Condition()

    def work() -> None:
        nonlocal begun
        while True:
            with change:
                if errors or begun == len(items):
                    return
                i, begun = begun, begun + 1
            try:
                results[i] = function(items[i])
            except BaseException as error:
                errors[i] = error
            with change:
                change.notify_all()

    for _ in range(min(os.cpu_count() or 1, len(items)) - 1):
        start(work)
    work()
    with change:
        change.wait_for(lambda: len(results) + len(errors) == begun)
    if errors:
        raise errors[min(errors)]
    return [results[i] for i in range(len(items))]


def uninterrupted(step: Callable[[], None]) -> None:
    """Run a step to its end. Ctrl-C during the step is raised afterward.

    Interrupts reach the main thread only, so the step runs in another thread. If none can start, it runs in this one.
    """
    if threading.get_ident() != threading.main_thread().ident:
        step()
        return
    errors: list[BaseException] = []
    owner: dict[str, int] = {}  # of the step: the thread that runs it, or this one
    done = threading.Event()  # in Python 3.11, an interrupted join considers a thread ended

    def is_owner() -> bool:  # the first that asks, however often it is interrupted and asks again
        return owner.setdefault("step", threading.get_ident()) == threading.get_ident()

    def run() -> None:
        if not is_owner():
            return
        try:
            step()
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    steps = 0
    try:
        steps = STEPS * start(run)
    except BaseException as interrupt:
        errors.append(interrupt)
    while True:
        try:
            if (steps == 0 and is_owner()) or done.wait(STEP):
                break
            steps = max(steps - 1, 0)
        except BaseException as interrupt:
            errors.append(interrupt)
    if errors:  # an interrupt inside a lock of `threading` ends in a RuntimeError
        raise errors[0].__context__ if isinstance(errors[0].__context__, KeyboardInterrupt) else errors[0]
    if is_owner():
        step()
