"""Public names: where users import them from, and imports at first use."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

IMPORT = re.compile(r"^ *from (\S+) import (\([^)]*|[^(#\n]*)", re.MULTILINE)
NAME = re.compile(r"(\w+)(?: as (\w+))?")


def public_names(package: str, file: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return ``__all__``, ``__dir__``, and ``__getattr__`` of a package whose names are in its stub, ``__init__.pyi``.

    ``file`` is the path of its ``__init__.py``, which can be in a ZIP archive.
    """
    stub = str(Path(file).with_suffix(".pyi"))
    names = sorted(_modules_of_names(package, stub))
    return names, lambda: names, late_names(package, stub)


def late_names(package: str, file: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` of a package that imports each name at its first use, so that its own import is quick.

    The names and their modules are those that ``file`` imports for type checkers: a stub, or the package itself under
    ``TYPE_CHECKING``.
    """

    def find(name: str) -> Any:
        modules = _modules_of_names(package, file)
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = modules[name]
        if module == package:  # a module of it
            return import_module(f"{package}.{name}")
        value = getattr(import_module(module), original)
        setattr(sys.modules[package], name, value)  # the next use finds it there
        return value

    return find


@cache
def _modules_of_names(package: str, file: str) -> dict[str, tuple[str, str]]:
    """The module of each name, and its name there, from the imports of a file."""
    loader: Any = sys.modules[package].__loader__
    text = loader.get_data(file).decode()
    imports = ((module, *name) for module, names in IMPORT.findall(text) for name in NAME.findall(names))
    return {alias or name: (module, name) for module, name, alias in imports}


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
