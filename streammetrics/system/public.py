"""Public names: classes and functions with the module that users import them from."""

from __future__ import annotations

import inspect
from typing import Any


def publish(module: str, *things: Any) -> None:
    """Set the module of classes and functions to the one that users import them from.

    Pickles and messages name this module, so they stay valid if a file moves. A public module that is already set is
    kept. Annotations of classes become types, since Python would look up their names in the public module.

    >>> class Moved:
    ...     size: int
    >>> publish("streammetrics", Moved)
    >>> Moved, Moved.__annotations__
    (<class 'streammetrics.Moved'>, {'size': <class 'int'>})
    """
    together = {thing.__name__: thing for thing in things}  # which can name one another
    for thing in things:
        if isinstance(thing, type):
            thing.__annotations__ = inspect.get_annotations(thing, locals=together, eval_str=True)
        thing.__module__ = module
