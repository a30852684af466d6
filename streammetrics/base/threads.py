"""Calls in several threads, and steps that an interrupt must not split.

A thread for which there is no memory can end before its first line, which nothing reports, and `Thread.start` then
waits forever. So threads are started without waiting, and work that no thread has begun is done by the thread that
waits for it.
"""

from __future__ import annotations

import os
import signal
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

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


def threaded(function: Callable[[A], T], items: Sequence[A]) -> list[T]:
    """Return the results of calls for any number of items, in one thread per CPU core. This thread is one of them.

    If calls fail, the error of the first of their items is raised.

    >>> threaded(abs, [-2, 3, -4])
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


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a step run to its end. Handlers of signals that arrive meanwhile, such as of Ctrl-C, run after it.

    Python runs them in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[tuple[int, Any]] = []
    every: dict[int, Any] = {number: signal.getsignal(number) for number in signal.valid_signals()}
    handlers = {number: handler for number, handler in every.items() if callable(handler)}
    errors: list[BaseException] = []
    try:
        for number in handlers:
            signal.signal(number, lambda *call: arrived.append(call))
        yield
    finally:
        restored = False
        while not restored:  # a handler that is back can raise before the next one is
            try:
                for number, handler in handlers.items():
                    signal.signal(number, handler)
                restored = True
            except BaseException as error:
                errors.append(error)
        for number, frame in arrived:
            try:
                handlers[number](number, frame)
            except BaseException as error:
                errors.append(error)
        if errors:
            raise errors[0]
