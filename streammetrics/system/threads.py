"""Calls in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def in_threads(function: Callable[..., T], *arguments: Sequence[object]) -> list[T]:
    """Return the results of calls, each in a thread of its own, like `map`. A single call needs no other thread.

    >>> in_threads(pow, [2, 3], [3, 2])
    [8, 9]
    """
    calls = len(arguments[0])
    if calls < 2:
        return list(map(function, *arguments))
    with ThreadPoolExecutor(calls) as pool:
        return list(pool.map(function, *arguments))
