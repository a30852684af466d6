"""The interface of a metric for intervals, so that metrics need not be imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from polars import Expr

from streammetrics.uncertainty.limits import Range


class Quantity(Protocol):
    """A number that an expression computes from a table, within a range."""

    range: Range

    @property
    def name(self) -> str:
        """Name of its column."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options."""

    def expression(self) -> Expr:
        """The number, from the columns of a table."""
