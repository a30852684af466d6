"""Public names: classes and functions with the module that users import them from."""

from __future__ import annotations

from typing import Any


def publish(module: str, *things: Any) -> None:
    """Set the module of classes and functions to the one that users import them from.

    Pickles and messages name this module, so they stay valid if a file moves. A public module that is already set is
    kept.

    >>> class Moved: ...
    >>> publish("streammetrics", Moved)
    >>> Moved
    <class 'streammetrics.Moved'>
    """
    for thing in things:
        thing.__module__ = module
