"""Modules that are imported at first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from streammetrics.errors import SpecificationError

__all__ = ["Lazy", "ds", "of_extra", "pa", "pc", "pq", "to_install"]


class Lazy:
    """Proxy of a module, which is imported at first use.

    >>> json = Lazy("json")
    >>> json.loads("[1]")
    [1]
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # for the next time
        return value


def of_extra(extra: str, module: str, what: str) -> Any:
    """Import a module of an extra.

    >>> of_extra("plot", "no_such_module", "Charts require")
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: Charts require the 'plot' extra. Install it in \
a clone of streammetrics with: pip install '.[plot]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SpecificationError(f"{what} the {extra!r} extra. {to_install(extra)}") from error


def to_install(extra: str) -> str:
    """Return the command that installs an extra. There is no release yet."""
    return f"Install it in a clone of streammetrics with: pip install '.[{extra}]'"


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq
else:
    pa, ds, pq = Lazy("pyarrow"), Lazy("pyarrow.dataset"), Lazy("pyarrow.parquet")
    pc = Lazy("pyarrow.compute")
