"""Modules that are imported at first use, so that importing the library stays quick."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Lazy:
    """Stands for a module until something of it is used.

    >>> json = Lazy("json")
    >>> json.loads("[1]")
    [1]
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
