"""The base class of statistics: which counts and sums to accumulate, and the views that metrics are computed from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import polars as pl

from streammetrics.core import Lattice
from streammetrics.data import SEVERAL, Kind, Roles
from streammetrics.errors import SpecificationError
from streammetrics.metrics import Influence
from streammetrics.statistics.checks import Checks
from streammetrics.statistics.counter import GROUP, Counter
from streammetrics.statistics.exact_sums import DECIMAL, to_decimals, to_floats
from streammetrics.statistics.merging import summed

Names: TypeAlias = tuple[str, ...]  # of columns, or of roles
Types: TypeAlias = dict[str, pl.DataType]  # of columns

STATISTICS: dict[str, type[Statistic]] = {}  # by name, as in saved states


def class_name(statistic: type) -> str:
    """The name of a class and of its module."""
    return f"{statistic.__module__}.{statistic.__qualname__}"


def nothing_wide(table: pl.DataFrame) -> pl.DataFrame:
    """Columns group and wide of a table without coarse bins."""
    return pl.DataFrame(schema={GROUP: pl.UInt32, "wide": pl.String})


def exact(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The only case of an exact table."""
    return {"exact": table}


def with_weighted(table: pl.DataFrame, count: str) -> pl.DataFrame:
    """Return the table with ``weighted``: whether a count is a sum of weights rather than a number of rows.

    This follows from the type of the column, not from its numbers, since fractional weights can sum to integers.

    >>> with_weighted(pl.DataFrame({"count": [2.0]}), "count").row(0)
    (2.0, True)
    """
    return table.with_columns(weighted=pl.lit(table.schema[count].is_float()))


@dataclass(frozen=True)
class View:
    """A table that metrics are computed from, derived from the table of a statistic.

    - ``columns``: the columns for formulas;
    - ``kept``: the keys that reports show;
    - ``folds``: whether formulas aggregate the rows of a group and its kept keys, or are computed in every row;
    - ``cases``: returns the tables that bracket the exact metric; the first one gives the value;
    - ``support``: the number of rows with a label, the weight of the label in averages;
    - ``wide``: returns columns group and wide, a note for each group whose coarse bins make its bounds wide;
    - ``influences``: the influences of a row on metrics that name no method for their interval.
    """

    columns: frozenset[str]
    kept: tuple[str, ...]
    folds: bool
    cases: Callable[[pl.DataFrame], dict[str, pl.DataFrame]]
    support: pl.Expr | None = None
    wide: Callable[[pl.DataFrame], pl.DataFrame] = nothing_wide
    influences: tuple[Influence, ...] = ()

    def first_case(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table that gives the values of metrics."""
        return next(iter(self.cases(table).values()))


@dataclass(frozen=True)
class Statistic(ABC):
    """Declares which counts and sums to accumulate. It holds no data and no column names of the user.

    The table of a statistic has the column ``group`` (UInt32, the number of the group), key columns that identify a
    cell, and value columns. Two tables are merged by summing the values of equal cells. Statistics can be compared and
    written as JSON.

    A statistic declares:

    - ``name``: the name of its table;
    - ``kind``: the kind of task, or None for all; binary statistics also apply to each label of other tasks;
    - ``roles``: the columns it requires, such as ``y_true`` and ``y_score``, which options can change;
    - ``probabilities``: whether scores must lie in [0, 1], which options can change;
    - ``keys``, and ``kept``, the keys that reports show; metrics aggregate over the others;
    - ``support``: an expression for the number of rows with the label, for tables by label;
    - ``counts`` (integers, or sums of weights), ``sums`` (Float64), and ``means``, which do not grow with the weights;
    - ``decimals``: the sums that tables of unweighted rows hold as exact decimals, which merge bit for bit. What a row
      adds to them is bounded. Metrics are computed from floats;
    - ``squared``: the counts and sums that tables of weighted rows also hold with squared weights, in columns whose
      names end in ``_w2``;
    - ``checks``: what a table that is read from a file must satisfy;
    - ``influences``: the influences of a row, for the intervals of metrics that name no other method;
    - ``inputs``: additional numeric columns, which become keyword arguments of the accumulator;
    - ``depends_on_order``: whether its table depends on the order of rows and merges, as for a sketch. Its bounds hold
      for any order.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind | None] = None
    roles: ClassVar[Names] = ()
    probabilities: ClassVar[bool] = False
    keys: ClassVar[Types] = {}
    kept: ClassVar[Names] = ()
    counts: ClassVar[Names] = ()
    sums: ClassVar[Names] = ()
    decimals: ClassVar[Names] = ()
    support: ClassVar[pl.Expr | None] = None
    squared: ClassVar[Names] = ()
    means: ClassVar[Names] = ()
    checks: ClassVar[Checks] = Checks()
    influences: ClassVar[tuple[Influence, ...]] = ()
    inputs: ClassVar[Names] = ()
    depends_on_order: ClassVar[bool] = False

    def _set(self, **attributes: Any) -> None:
        """Set options to their valid form, and attributes that depend on them."""
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "name" in cls.__dict__:
            cls.register()

    @classmethod
    def register(cls) -> None:
        """Register it by name, so that saved states can be loaded.

        Raises:
            SpecificationError: If the name is already used.
        """
        other = STATISTICS.get(cls.name, cls)
        if class_name(other) != class_name(cls):
            raise SpecificationError(f"The name {cls.name!r} is taken by {class_name(other)}. Choose another.")
        STATISTICS[cls.name] = cls

    @property
    def per_label(self) -> bool:
        """Whether each label of a multiclass or multilabel task has its own table."""
        return self.kind == "binary"

    def serves(self, kind: Kind) -> bool:
        """Whether it applies to a task. Binary statistics apply to each label of a multiclass or multilabel task."""
        return self.kind in (None, kind) or (self.kind == "binary" and kind in SEVERAL)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels of the task, in order, if the options declare them."""
        return ()

    def misfit(self, roles: Roles) -> str:
        """Why it cannot be computed from columns of these roles; empty if it can."""
        missing = [role for role in self.roles if not getattr(roles, role)]
        if missing := [*missing, *(name for name in self.inputs if name not in roles.inputs)]:
            return "requires " + " and ".join(f"{name}=" for name in missing)
        if not self.serves(roles.kind):
            return f"cannot be used in {roles.kind} tasks"
        if self.kind in SEVERAL and not (roles.y_pred or roles.y_score):
            return "requires y_pred=, or y_score= for each label"
        if self.per_label and roles.kind in SEVERAL and not roles.labels:
            return "requires a score for each label, or labels="
        return ""

    @abstractmethod
    def counter(self, weighted: bool) -> Counter:
        """Return a new counter without rows."""

    def table(self, weighted: bool, /, **columns: Any) -> pl.DataFrame:
        """Return a table of these columns."""
        types = self.schema(weighted)
        return pl.DataFrame([_column(name, columns[name], types[name]) for name in types if name in columns])

    def empty_table(self, groups: int, weighted: bool) -> pl.DataFrame:
        """Return the table of groups without rows: zeros for each group, or no cells if the table has keys."""
        types = self.schema(weighted)
        if self.keys or not groups:
            return pl.DataFrame(schema=types)
        numbers = pl.int_range(groups, dtype=pl.UInt32, eager=True).alias(GROUP)
        return numbers.to_frame().with_columns(pl.lit(0, kind).alias(c) for c, kind in types.items() if c != GROUP)

    def is_weighted(self, table: pl.DataFrame) -> bool:
        """Whether counts of a table are sums of weights."""
        return any(table.schema[c].is_float() for c in self.counts)

    def with_floats(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table with its decimals as floats, which metrics are computed from."""
        floats = [to_floats(table[c]) for c in self.decimals if table.schema.get(c) == DECIMAL]
        return table.with_columns(floats) if floats else table

    def merge(self, table: pl.DataFrame) -> pl.DataFrame:
        """Merge into one row per cell, sorted by group and keys. Equal tables give equal sums, bit for bit."""
        return summed(table, [GROUP, *self.keys])

    def for_reports(self) -> Self:
        """The statistic with which reports roll up groups."""
        return self

    def valid(self, labels: Sequence[Any]) -> pl.Expr:
        """Whether a cell of a table read from a file is valid, in a task with these labels. Decimals are floats."""
        return self.checks.valid(self.counts, self.sums)

    def parts(self, labels: Sequence[Any]) -> int:
        """How often each row is counted, in a task with these labels: once per label, and per value of `Checks.per`."""
        return len(labels) if labels and self.per_label else 1

    def cases(self, table: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Tables whose metrics bracket the exact one; the first gives the value. One table if no bin is coarse."""
        return exact(table)

    def wide(self, table: pl.DataFrame) -> pl.DataFrame:
        """Columns group and wide: a note for each group whose coarse bins make its bounds wide."""
        return nothing_wide(table)

    def views(self) -> tuple[View, ...]:
        """Views that metrics are computed from. Defaults to the table itself."""
        columns = frozenset(self.schema(weighted=False)) - {GROUP}
        folds = len(self.kept) < len(self.keys)
        return (View(columns, self.kept, folds, self.cases, self.support, self.wide, self.influences),)

    def distributions(self, table: pl.DataFrame) -> dict[str, tuple[Lattice, pl.DataFrame]]:
        """Distributions in a table, of ``y_score``, ``y_pred``, ``y_true``, or ``error``.

        Each is a lattice and the columns group, shift, bin, and count. Labels are 0 or 1. Scores of weighted rows also
        have ``count_w2``, the sum of squared weights.
        """
        return {}

    def typed(self, schema: Mapping[str, pl.DataType], types: Mapping[str, pl.DataType]) -> dict[str, pl.DataType]:
        """The schema, with the types that depend on the data taken from ``types``."""
        return dict(schema)

    @property
    def twins(self) -> dict[str, str]:
        """For each column of a weighted table, the column of the same sums with squared weights."""
        return {name: f"{name}_w2" for name in self.squared}

    def schema(self, weighted: bool) -> dict[str, pl.DataType]:
        """Columns and types of the table. Counts of weighted rows are sums of their weights."""
        count = pl.Float64() if weighted else pl.Int64()
        return (
            {GROUP: pl.UInt32()}
            | self.keys
            | dict.fromkeys(self.counts, count)
            | dict.fromkeys(self.sums, pl.Float64())
            | dict.fromkeys(self.decimals if not weighted else (), DECIMAL)
            | (dict.fromkeys(self.twins.values(), pl.Float64()) if weighted else {})
        )


def _column(name: str, values: Any, kind: pl.DataType) -> pl.Series:
    """A column of a table, from an array or from decimals. Floats are rounded to decimals, and the reverse."""
    if isinstance(values, pl.Series) and values.dtype == DECIMAL:
        return (values if kind == DECIMAL else to_floats(values)).alias(name)
    return to_decimals(pl.Series(name, values, pl.Float64)) if kind == DECIMAL else pl.Series(name, values, kind)
