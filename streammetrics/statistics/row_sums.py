"""Sums of what each row gives: the base of statistics that add up."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics import kernels
from streammetrics.errors import DataError, SpecificationError
from streammetrics.rows.arrays import Rows
from streammetrics.statistics.statistic import STATISTICS
from streammetrics.statistics.summed import Summed

ROLES = {"y_true": "truth", "y_pred": "predicted", "y_score": "score"}
TAKEN = frozenset(
    [
        *("statistics", "task", "labels", "sample_weight", "unit", "by", "positive", "negative", "nulls"),
        *("renormalize", "metrics", "max_groups", "overflow"),
    ]
)  # arguments of an accumulator


@dataclass(frozen=True)
class RowSums(Summed):
    """A statistic that adds up some numbers of each row, times its weight.

    A subclass says which columns it needs and what a row gives. ``y_true``, ``y_pred`` and ``y_score`` mean what they
    mean everywhere; any other input is a column of finite numbers, and a keyword argument of `Accumulator`. Whole
    numbers and booleans are counted (Int64), all else is summed (Float64). Defining the class registers it, so that
    saved states know it; its name is that of the class in snake case unless it has another ``name``. Options are
    fields of a dataclass with defaults.

    Raises:
        SpecificationError: When the class is defined, if its name, or the name of one of its columns, is taken, or if
            an input has the name of an argument of `Accumulator`.

    >>> import streammetrics as sm
    >>> class Coverage(sm.RowSums):
    ...     inputs = ("y_true", "lower", "upper")
    ...
    ...     def of_rows(self, y_true, lower, upper):
    ...         covered = (lower <= y_true) & (y_true <= upper)
    ...         return {"forecasts": 1, "covered": covered, "width_sum": upper - lower}
    >>> @sm.metric(range=(0, 1))
    ... def coverage(covered, forecasts):
    ...     return covered / forecasts
    >>> acc = sm.Accumulator(Coverage(), y_true="y", lower="low", upper="high")
    >>> acc.update({"y": [1.0, 2.0], "low": [0.5, 0.5], "high": [1.5, 1.5]}).finalize()["coverage"].value
    0.5
    """

    name: ClassVar[str]
    roles: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[str, ...]] = ()
    counts: ClassVar[tuple[str, ...]] = ()
    sums: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[str, ...]] = ()
    _arguments: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        if "of_rows" in cls.__dict__:
            cls._declare()
        super().__init_subclass__(**keywords)

    @abstractmethod
    def of_rows(self, **inputs: NDArray[Any]) -> Mapping[str, Any]:
        """What rows give by column, given arrays of all rows: an array, or one number for all of them."""

    @classmethod
    def _declare(cls) -> None:
        """Set the columns to what a row gives."""
        wanted = tuple(cls.inputs)
        if clash := TAKEN.intersection(wanted):
            raise SpecificationError(f"An input cannot be named {min(clash)!r}, an argument of Accumulator.")
        cls.roles = tuple(name for name in wanted if name in ROLES)
        cls.inputs = tuple(name for name in wanted if name not in ROLES)
        cls._arguments = wanted
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        given = {name: np.asarray(value) for name, value in cls().of_rows(**dict.fromkeys(wanted, np.ones(1))).items()}
        cls.columns = tuple(given)
        cls.counts = tuple(name for name, value in given.items() if value.dtype.kind in "bui")
        cls.sums = tuple(name for name in given if name not in cls.counts)
        for other in STATISTICS.values():
            shared = {*other.keys, *other.counts, *other.sums}.intersection(given)
            if shared and not issubclass(other, RowSums):
                raise SpecificationError(
                    f"{other.__name__} has a column {min(shared)!r} already. Rename that of {cls.__name__}."
                )

    def cells(self, rows: Rows) -> tuple[int, ...]:
        """A cell for each column."""
        return (len(self.columns),)

    def count(self, rows: Rows, out: NDArray[Any]) -> None:
        """Rows by column: shape (groups, columns)."""
        values = np.stack([*self.values(rows).values()], dtype=out.dtype, casting="unsafe")
        kernels.add_runs(out, values if rows.weight is None else values * rows.weight, rows.runs)

    def tabulate(self, values: NDArray[Any], weighted: bool) -> pl.DataFrame:
        """A row for each group."""
        return self.table(weighted, group=np.arange(len(values)), **dict(zip(self.columns, values.T, strict=True)))

    def require(self, rows: Rows) -> None:
        """Reject rows that give something else than finite numbers."""
        for name, value in self.values(rows).items():
            wrong = ~np.isfinite(value)
            if wrong.any():
                raise DataError(
                    f"{self.name} gives {name!r} that are not finite in {wrong.sum():,} of {rows.size:,} rows. "
                    "Leave such rows out first."
                )

    def values(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """What rows give, a number for each.

        Raises:
            DataError: If these are not the columns that the class declared, or not numbers, one for each row.
        """
        columns = {name: getattr(rows, ROLES[name])[0] for name in self.roles} | dict(rows.inputs)
        found = self.of_rows(**{name: columns[name] for name in self._arguments})
        if tuple(found) != self.columns:
            raise DataError(f"{self.name} gives the columns {', '.join(found)}, not {', '.join(self.columns)}.")
        try:
            return {name: np.broadcast_to(np.asarray(value), rows.size) for name, value in found.items()}
        except ValueError as error:
            raise DataError(f"{self.name} must give one number for each row: {error}.") from error
