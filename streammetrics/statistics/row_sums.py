"""Sums of values of each row: the base of additive custom statistics."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from streammetrics.data import Rows
from streammetrics.errors import DataError, SpecificationError
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.statistic import STATISTICS, Names
from streammetrics.statistics.summed import Summed

MAX_COUNT = (1 << 31) - 1  # that a row can count, so that no sum overflows
ROLES = {"y_true": "truth", "y_pred": "predicted", "y_score": "score"}
RESERVED = frozenset(
    [
        *("statistics", "task", "labels", "sample_weight", "unit", "folds", "by", "positive", "negative", "nulls"),
        *("count", "renormalize", "metrics", "max_groups"),
    ]
)  # arguments of an accumulator


class RowSums(Summed):
    """Base class of custom statistics that sum numbers of each row, multiplied by its weight.

    A subclass lists its ``inputs`` and defines `of_rows`, which returns the values to sum. The inputs ``y_true``,
    ``y_pred``, and ``y_score`` are the columns of the accumulator; any other input is a column of finite numbers and
    becomes a keyword argument of `Accumulator`. Integers from 0 to 2,147,483,647 and Booleans are counted (Int64),
    other numbers are summed (Float64). Defining the class registers it, so that saved states can be loaded. ``name``
    defaults to the class name in snake case. Options are dataclass fields with defaults.

    Raises:
        SpecificationError: If the name of the class or of one of its columns is already used, or an input has the name
            of an argument of `Accumulator`. Raised when the class is defined.

    >>> import streammetrics as sm
    >>> class Coverage(sm.statistics.RowSums):
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
    roles: ClassVar[Names] = ()
    inputs: ClassVar[Names] = ()
    counts: ClassVar[Names] = ()
    sums: ClassVar[Names] = ()
    checks: ClassVar[Checks] = Checks()
    columns: ClassVar[Names] = ()
    _arguments: ClassVar[Names] = ()

    def __init_subclass__(cls, **keywords: Any) -> None:
        if "of_rows" in cls.__dict__:
            cls._declare()
        super().__init_subclass__(**keywords)

    @abstractmethod
    def of_rows(self, **inputs: NDArray[Any]) -> Mapping[str, Any]:
        """Return the values to sum, by column: an array with one number per row, or one number for all rows."""

    @classmethod
    def _declare(cls) -> None:
        arguments = tuple(cls.inputs)
        if clash := RESERVED.intersection(arguments):
            raise SpecificationError(f"An input cannot be named {min(clash)!r}, an argument of Accumulator.")
        cls.roles = tuple(name for name in arguments if name in ROLES)
        cls.inputs = tuple(name for name in arguments if name not in ROLES)
        cls._arguments = arguments
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        one_row = cls().of_rows(**dict.fromkeys(arguments, np.ones(1)))
        cls.columns = tuple(one_row)
        cls.counts = tuple(name for name, value in one_row.items() if np.asarray(value).dtype.kind in "bui")
        cls.sums = tuple(name for name in one_row if name not in cls.counts)
        cls.checks = Checks(unbounded=cls.sums)
        for other in STATISTICS.values():
            shared = {*other.keys, *other.counts, *other.sums}.intersection(cls.columns)
            if shared and not issubclass(other, RowSums):
                raise SpecificationError(
                    f"{other.__name__} already has a column {min(shared)!r}. Rename the column of {cls.__name__}."
                )

    def require(self, rows: Rows) -> None:
        """Reject values that are not finite numbers, or cannot be counted."""
        for name, value in self.values(rows).items():
            amount = value if rows.count is None else value * rows.count.astype(np.float64)
            wrong = (value < 0) | (value > MAX_COUNT) | (amount > COUNTABLE)
            if name in self.counts and wrong.any():
                raise DataError(
                    f"{self.name} returned integers below 0 or above {MAX_COUNT:,} for {name!r} in {wrong.sum():,} of "
                    f"{rows.size:,} rows. Return floats, which are summed."
                )
            wrong = ~np.isfinite(value)
            if wrong.any():
                raise DataError(
                    f"{self.name} returned values of {name!r} that are not finite in {wrong.sum():,} of {rows.size:,} "
                    "rows. Drop these rows first."
                )

    def values(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Return the values of the rows by column.

        Raises:
            DataError: If these are not the declared columns, or not one number per row.
        """
        columns = {name: getattr(rows, ROLES[name])[0] for name in self.roles} | dict(rows.inputs)
        values = self.of_rows(**{name: columns[name] for name in self._arguments})
        if tuple(values) != self.columns:
            raise DataError(f"{self.name} must return the columns {', '.join(self.columns)}, got {', '.join(values)}.")
        try:
            return {name: np.broadcast_to(np.asarray(value), rows.size) for name, value in values.items()}
        except ValueError as error:
            raise DataError(f"{self.name} must return one number per row: {error}.") from error
