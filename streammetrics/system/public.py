"""Public names: classes and functions that say where users find them, and not in which file they are."""

from __future__ import annotations

from typing import Any


def publish(module: str, *things: Any) -> None:
    """Give classes and functions the module that users import them from.

    Pickles and messages name that, so they stay valid when a file moves. What has a public module already keeps it.

    >>> class Moved: ...
    >>> publish("streammetrics", Moved)
    >>> Moved
    <class 'streammetrics.Moved'>
    """
    for thing in things:
        thing.__module__ = module
