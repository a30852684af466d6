"""The saved form of a state: one Arrow table with a row per group and a nested column per statistic.

The metadata of its schema contains the header. A table is not trusted: every cell is validated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from streammetrics.base import SUM_ROUNDING, pa
from streammetrics.data import FOLD, LABEL, MODEL, SINGLE, Roles, group_column
from streammetrics.errors import ColumnError, StateError
from streammetrics.statistics import GROUP, RowCounts, Statistic
from streammetrics.statistics.exact_sums import LARGEST
from streammetrics.statistics.row_counts import COUNTABLE
from streammetrics.statistics.state.content import no_state
from streammetrics.statistics.state.header import KEY, checked, read_header, specification, to_json
from streammetrics.statistics.state.memory import require_small_table
from streammetrics.statistics.state.tables import State


@dataclass(frozen=True)
class Saved:
    """Content of a saved state."""

    roles: Roles
    metrics: tuple[str, ...] | None
    state: State

    @property
    def size(self) -> tuple[int, int, int]:
        """Numbers of rows, dropped rows, and groups. A row counts once, however many models scored it.

        If models scored different rows, these are the rows of the model with the most.
        """
        groups, by = self.state.groups, self.roles.by
        counts = groups.join(self.state.tables[RowCounts.name], on=GROUP)
        model = [MODEL] if MODEL in groups.columns else []
        sums = (
            counts.group_by(model or pl.lit(0))
            .agg(pl.sum("rows", "dropped").cast(pl.Int64))
            .select(pl.max("rows", "dropped"))
        )
        rows, dropped = sums.row(0) if counts.height else (0, 0)
        return rows, dropped, groups.select(by).n_unique() if by else 1

    @classmethod
    def without_rows(cls, header: Mapping[str, Any]) -> Saved:
        """Return the state before the first row, of the specification in a header."""
        roles, statistics, metrics = checked(lambda: specification(header))
        return cls(roles, metrics, no_state(roles, statistics))

    @property
    def header(self) -> bytes:
        """The specification as JSON."""
        return to_json(self.roles, self.state.statistics, self.metrics)

    def to_arrow(self) -> pa.Table:
        """Return the state as a table, in the order determined by its content."""
        state = self.state.sorted()
        frame = state.groups
        for statistic in state.statistics:
            name, table = statistic.name, state.tables[statistic.name]
            cells = table.group_by(GROUP).agg(pl.struct(pl.exclude(GROUP)).alias(name))
            frame = frame.join(cells, on=GROUP, how="left", maintain_order="left").with_columns(
                pl.col(name).fill_null(pl.lit([], dtype=cells.schema[name]))
            )
        table = frame.drop(GROUP).to_arrow()
        table = table.take(pa.array(np.arange(table.num_rows)))  # a copy, whose bytes depend on the content only
        return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: self.header})

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Saved:
        """Return the state of a table. Rows of the same group are merged."""
        if not isinstance(table, pa.Table):  # which would lose the sizes of its buffers
            table = checked(lambda: pa.table(table))
        checked(lambda: table.validate(full=True))
        require_small_table(table, table.nbytes)
        header = read_header(table.schema.metadata or {})
        roles, statistics, metrics = specification(header)
        names = [s.name for s in statistics]
        expected = [*roles.group_columns, *names]
        if table.column_names != expected:
            raise StateError(
                f"The state must have the columns {', '.join(expected)}, got {', '.join(table.column_names)}."
            )
        if not roles.group_columns and not table.num_rows:
            raise StateError("The state has neither groups nor a row.")
        frame = checked(lambda: pl.DataFrame(pl.from_arrow(table))).with_row_index(GROUP)
        tables = {s.name: _cells(frame, s, roles) for s in statistics}
        if tables[RowCounts.name][GROUP].n_unique() < frame.height:
            raise StateError("The state has groups without row counts.")
        _require_equal_rows(statistics, tables, roles)
        state = State(statistics, frame.select(GROUP).with_columns(_keys(frame, roles)), tables, roles.labels)
        return cls(roles, metrics, checked(lambda: state.roll_up(roles.group_columns)))


def _keys(frame: pl.DataFrame, roles: Roles) -> list[pl.Series]:
    """The group columns, in the types of batches."""
    keys = [_group_column(frame[c]) for c in roles.group_columns]
    if roles.unit is not None:
        folds = frame[FOLD]
        if not folds.dtype.is_integer() or not folds.is_between(0, roles.folds - 1).fill_null(False).all():
            raise StateError(f"The state's folds are not numbers from 0 to {roles.folds - 1}.")
    if roles.models != (SINGLE,) and not set(keys[-1]) <= set(roles.models):
        raise StateError("The state's groups have a model that its field 'columns' lacks.")
    return keys


def _group_column(column: pl.Series) -> pl.Series:
    try:
        return group_column(column)
    except ColumnError as error:
        raise StateError(f"The state's groups or labels are invalid: {error}") from error


def _cells(frame: pl.DataFrame, statistic: Statistic, roles: Roles) -> pl.DataFrame:
    """The table of a statistic, unnested and validated."""
    labels = len(roles.labels) if statistic.per_label else 0
    keys = {LABEL: pl.UInt32()} if labels else {}
    schema = statistic.typed(statistic.schema(roles.sample_weight is not None), _field_types(frame, statistic.name))
    cell = keys | {name: kind for name, kind in schema.items() if name != GROUP}
    if frame.schema[statistic.name] != pl.List(pl.Struct(cell)):
        raise StateError(
            f"The state's column {statistic.name!r} is of type {frame.schema[statistic.name]}, not {pl.Struct(cell)}."
        )
    lists = frame.select(GROUP, statistic.name)
    table = lists.explode(statistic.name, empty_as_null=False, keep_nulls=False).unnest(statistic.name)
    table = table.with_columns(_keys_from_data(table, statistic, roles))
    squares = [pl.col(w2) >= 0 for c, w2 in statistic.twins.items() if w2 in cell and c not in statistic.checks.signed]
    valid = pl.all_horizontal(statistic.valid(roles.labels), *squares)
    if labels:
        valid &= pl.col(LABEL) < labels
    if roles.sample_weight is None and statistic.decimals:
        valid &= pl.all_horizontal(pl.col(c).sum() < LARGEST for c in statistic.decimals)
    wrong = table.filter(~statistic.with_floats(table).select(valid.fill_null(False)).to_series())
    if wrong.height:
        raise StateError(
            f"The state's column {statistic.name!r} contains {wrong.height} invalid cells (first: {wrong.row(0)})."
        )
    return table


def _require_equal_rows(statistics: Sequence[Statistic], tables: Mapping[str, pl.DataFrame], roles: Roles) -> None:
    """Reject tables whose number of rows of a group differs from the row counts.

    Weighted tables have sums of weights: equal in all tables, up to rounding, and greater than 0 if there are rows.
    """
    counts = tables[RowCounts.name]
    rows, dropped = (counts[name].cast(pl.Float64).to_numpy() for name in ("rows", "dropped"))
    if rows.sum() + dropped.sum() > COUNTABLE:
        raise StateError(f"The state counts more than {COUNTABLE:,} rows.")
    total = np.bincount(counts[GROUP].to_numpy(), weights=rows)
    weighted = roles.sample_weight is not None
    rounding = SUM_ROUNDING if weighted else 0.0
    weights: NDArray[Any] | None = None if weighted else total  # of groups
    for statistic in statistics:
        checks = statistic.checks
        if not checks.rows or (checks.some and weighted):
            continue
        sums = checks.rows_of_groups(tables[statistic.name], statistic.parts(roles.labels))
        fewest, most = np.zeros((2, len(total)))
        groups = sums[GROUP].to_numpy()
        fewest[groups], most[groups] = sums["fewest"].to_numpy(), sums["most"].to_numpy()
        if weights is None:  # the first table tells the weight of a group
            weights = np.where((total > 0) == (most > 0), most, np.nan)
        low, high = weights * (0 if checks.some else 1 - rounding), weights * (1 + rounding)
        if wrong := int((~((fewest >= low) & (most <= high))).sum()):
            raise StateError(f"The state's column {statistic.name!r} contradicts the row counts in {wrong} groups.")


def _keys_from_data(table: pl.DataFrame, statistic: Statistic, roles: Roles) -> list[pl.Series]:
    """The keys whose type depends on the data, in the types of batches."""
    keys = [_group_column(table[key]) for key, kind in statistic.keys.items() if kind == pl.Null()]
    declared = pl.Series(roles.labels).dtype
    for key in keys:
        if roles.labels and key.dtype != declared:
            raise StateError(f"The state's labels have type {key.dtype}, but are declared as {declared}.")
    return keys


def _field_types(frame: pl.DataFrame, name: str) -> dict[str, pl.DataType]:
    inner = getattr(frame.schema[name], "inner", None)
    return {f.name: f.dtype for f in getattr(inner, "fields", [])}
