"""Modules and names that are imported at first use, so that importing the library stays quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from streammetrics.errors import SpecificationError

__all__ = ["Lazy", "ds", "late_names", "of_extra", "pa", "pq"]


class Lazy:
    """Proxy of a module, which is imported at first use.

    >>> json = Lazy("json")
    >>> json.loads("[1]")
    [1]
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def late_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package that imports names at first use.

    Args:
        package: Name of the package.
        modules: Names by the module of the package that defines them.

    >>> late_names("json", {"decoder": ("JSONDecoder",)})("JSONDecoder")
    <class 'json.decoder.JSONDecoder'>
    """
    places = {name: f"{package}.{module}" for module, names in modules.items() for name in names}

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, found)  # the next use finds it there
        return found

    return find


def of_extra(extra: str, module: str, what: str) -> Any:
    """Import a module of an extra.

    Raises:
        SpecificationError: If the extra is not installed.

    >>> of_extra("plot", "no_such_module", "Charts require")
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: Charts require the 'plot' extra. Install it with: \
pip install 'streammetrics[plot]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        advice = f"Install it with: pip install 'streammetrics[{extra}]'"
        raise SpecificationError(f"{what} the {extra!r} extra. {advice}") from error


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
else:
    pa, ds, pq = Lazy("pyarrow"), Lazy("pyarrow.dataset"), Lazy("pyarrow.parquet")
