"""What was not counted of the rows of some groups: statistics, or thresholds of them.

A history whose specification has changed answers over rows of which different things were kept. Where a statistic of
some rows of a group was not, the group has no cells of it, so that no number of a part is taken for that of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from streammetrics.errors import StateError
from streammetrics.statistics import GROUP, Statistic

COLUMN = "not_counted"  # of saved states, where groups lack something
STATISTIC, THRESHOLD, NOTE = "statistic", "threshold", "note"
FIELDS = {STATISTIC: pl.String(), THRESHOLD: pl.Float64(), NOTE: pl.String()}
NOTHING = pl.DataFrame(schema={GROUP: pl.UInt32(), **FIELDS})
"""For groups the statistic that they lack, or one threshold of it, and why. Without a statistic, a mere remark."""


def together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """What some states lack, each thing once."""
    found = [part for part in parts if part.height]
    return pl.concat(found).unique(maintain_order=True) if found else NOTHING


def renumbered(missing: pl.DataFrame, numbers: pl.Series) -> pl.DataFrame:
    """The same of groups given new numbers, without those whose number is null."""
    if missing.is_empty():
        return missing
    return missing.with_columns(numbers.gather(missing[GROUP]).alias(GROUP)).drop_nulls(GROUP)


def counted(table: pl.DataFrame, statistic: Statistic, missing: pl.DataFrame, labels: int) -> pl.DataFrame:
    """A table without the cells of groups that lack some of them. It keeps so many labels apart, if any."""
    if missing.is_empty():
        return table
    own = missing.filter(pl.col(STATISTIC) == statistic.name)
    if own.is_empty():
        return table
    whole, some = own.filter(pl.col(THRESHOLD).is_null()), own.drop_nulls(THRESHOLD)
    place = table.select(pl.col(GROUP) // max(labels, 1), *({THRESHOLD} & {*table.columns})).with_row_index("row")
    place = place.join(whole, on=GROUP, how="anti")
    if some.height:
        place = place.join(some, on=[GROUP, THRESHOLD], how="anti")
    return table[place["row"].sort()]


def nested(missing: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The groups with what each lacks in one more column, if any does."""
    if missing.is_empty():
        return groups
    lists = missing.sort(*missing.columns, nulls_last=True).group_by(GROUP).agg(pl.struct([*FIELDS]).alias(COLUMN))
    found = groups.join(lists, on=GROUP, how="left", maintain_order="left")
    return found.with_columns(pl.col(COLUMN).fill_null(pl.lit([], lists.schema[COLUMN])))


def unnested(frame: pl.DataFrame, statistics: Sequence[str]) -> pl.DataFrame:
    """What `nested` has put beside numbered groups.

    Raises:
        StateError: If it is of another form, or names a statistic that is not kept.
    """
    if COLUMN not in frame.columns:
        return NOTHING
    if frame.schema[COLUMN] != pl.List(pl.Struct(FIELDS)):
        raise StateError(f"the state's column {COLUMN!r} is of type {frame.schema[COLUMN]}, not {pl.Struct(FIELDS)}.")
    found = frame.select(GROUP, COLUMN).filter(pl.col(COLUMN).list.len() > 0).explode(COLUMN).unnest(COLUMN)
    if unknown := set(found[STATISTIC].drop_nulls()) - {*statistics}:
        raise StateError(f"the state's column {COLUMN!r} names {min(unknown)!r}, which it does not keep.")
    return found.drop_nulls(NOTE)


def lacking(missing: pl.DataFrame, statistic: Statistic) -> pl.Series:
    """The groups that have not all cells of a statistic."""
    return missing.filter(pl.col(STATISTIC) == statistic.name)[GROUP].unique() if missing.height else missing[GROUP]
