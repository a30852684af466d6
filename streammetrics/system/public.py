"""Public names: where users import them from, and imports at first use."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def late_names(package: str, file: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return ``__all__``, ``__dir__``, and ``__getattr__`` of a package that imports each name at its first use.

    Type checkers and this function read the names and their modules from the stub of the package, ``__init__.pyi``, so
    importing the package stays quick. ``file`` is the path of its ``__init__.py``, which can be in a ZIP archive.
    """
    loader: Any = sys.modules[package].__loader__
    stub = ast.parse(loader.get_data(str(Path(file).with_suffix(".pyi"))))
    places = {n.name: str(line.module) for line in stub.body if isinstance(line, ast.ImportFrom) for n in line.names}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if places[name] == package:  # a module of it
            return import_module(f"{package}.{name}")
        found = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, found)  # the next use finds it there
        return found

    return sorted(places), lambda: sorted(places), find


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
