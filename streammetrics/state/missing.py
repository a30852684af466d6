"""Statistics, or single thresholds, that were not counted for the rows of some groups.

A history whose specification changed can contain rows with different statistics. If a statistic is missing for some
rows of a group, the group has no cells of it, so that the result of a part is never shown as that of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.errors import StateError
from streammetrics.statistics import GROUP, Statistic

COLUMN = "not_counted"  # of saved states in which groups lack something
STATISTIC, THRESHOLD, NOTE = "statistic", "threshold", "note"
FIELDS: dict[str, pl.DataType] = {STATISTIC: pl.String(), THRESHOLD: pl.Float64(), NOTE: pl.String()}
NOTHING = pl.DataFrame(schema={GROUP: pl.UInt32(), **FIELDS})
"""Groups with the statistic that they lack, or one threshold of it, and the reason. Without a statistic, a remark."""


def together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return what some states lack, without duplicates."""
    found = [part for part in parts if part.height]
    return pl.concat(found).unique(maintain_order=True) if found else NOTHING


def too_large(table: pl.DataFrame, statistic: Statistic) -> pl.DataFrame:
    """Return the groups in which sums of a statistic exceed the largest float."""
    finite = [pl.col(column).is_finite() for column in statistic.checks.unbounded]
    found = table.filter(~pl.all_horizontal(pl.lit(True), *finite))
    note = "sums exceed the largest float; rescale the column"
    return found.select(
        GROUP,
        pl.lit(statistic.name).alias(STATISTIC),
        pl.lit(None, pl.Float64).alias(THRESHOLD),
        pl.lit(note).alias(NOTE),
    )


def renumbered(table: pl.DataFrame, numbers: pl.Series) -> pl.DataFrame:
    """Return the table with other numbers of its groups, without those whose number is null."""
    found = table.with_columns(numbers[table[GROUP]].alias(GROUP))
    return found.drop_nulls(GROUP) if numbers.null_count() else found


def counted(table: pl.DataFrame, statistic: Statistic, missing: pl.DataFrame) -> pl.DataFrame:
    """Return a table without the cells of groups that lack some."""
    if missing.is_empty():
        return table
    own = missing.filter(pl.col(STATISTIC) == statistic.name)
    if own.is_empty():
        return table
    whole, some = own.filter(pl.col(THRESHOLD).is_null()), own.drop_nulls(THRESHOLD)
    table = table.join(whole, on=GROUP, how="anti", maintain_order="left")
    return table.join(some, on=[GROUP, THRESHOLD], how="anti", maintain_order="left") if some.height else table


def nested(missing: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return the groups with what each lacks in an additional column, if any does."""
    if missing.is_empty():
        return groups
    lists = missing.sort(*missing.columns, nulls_last=True).group_by(GROUP).agg(pl.struct([*FIELDS]).alias(COLUMN))
    found = groups.join(lists, on=GROUP, how="left", maintain_order="left")
    return found.with_columns(pl.col(COLUMN).fill_null(pl.lit([], lists.schema[COLUMN])))


def unnested(frame: pl.DataFrame, statistics: Sequence[str]) -> pl.DataFrame:
    """Return what numbered groups lack, from the column that `nested` added."""
    if COLUMN not in frame.columns:
        return NOTHING
    if frame.schema[COLUMN] != pl.List(pl.Struct(FIELDS)):
        raise StateError(f"The state's column {COLUMN!r} is of type {frame.schema[COLUMN]}, not {pl.Struct(FIELDS)}.")
    found = frame.select(GROUP, COLUMN).filter(pl.col(COLUMN).list.len() > 0).explode(COLUMN).unnest(COLUMN)
    if unknown := set(found[STATISTIC].drop_nulls()) - {*statistics}:
        raise StateError(f"The state's column {COLUMN!r} names the unknown statistic {min(unknown)!r}.")
    return found.drop_nulls(NOTE)


def lacking(missing: pl.DataFrame, statistic: Statistic) -> pl.Series:
    """Return the groups that lack cells of a statistic."""
    return missing.filter(pl.col(STATISTIC) == statistic.name)[GROUP].unique() if missing.height else missing[GROUP]
