"""Expressions over tables: by group, and with named parts that are computed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl
from polars import Expr


def each(formula: Callable[..., Expr], **columns: Expr) -> Expr:
    """Return a formula per row over columns that are computed once, if Polars would repeat them in every group.

    >>> table = pl.DataFrame({"a": [1, 2, 3]})
    >>> table.select(each(lambda total: total * total, total=pl.col("a").cum_sum())).to_series().to_list()
    [1, 9, 36]
    """
    value = formula(**{name: pl.field(name) for name in columns})
    fields = pl.struct(column.alias(name) for name, column in columns.items())
    return fields.struct.with_fields(value=value).struct.field("value")


def shares(parts: Expr, total: Expr) -> Expr:
    """Return the parts of a total. Polars divides by one number as times its reciprocal, so that 49 / 49 is below 1.

    >>> table = pl.DataFrame({"a": [0.0, 49.0]})
    >>> table.select(shares(pl.col("a"), pl.sum("a"))).to_series().to_list()
    [0.0, 1.0]
    """
    return parts / (total + 0 * parts)


def without_nan(value: Expr) -> Expr:
    """Return a value with null for NaN; ``fill_nan`` would have Polars compute it twice.

    >>> pl.select(without_nan(pl.lit(float("nan")))).item() is None
    True
    """
    return value.replace(float("nan"), None)


def by_group(
    table: pl.DataFrame, index: Sequence[str], columns: Mapping[str, Expr], groups: pl.DataFrame | None
) -> pl.DataFrame:
    """Return expressions over the rows with the same index, in the order of ``groups``; in every row if None.

    The first column of the index is the number of the group. All groups occur, with nulls if they have no rows.

    >>> table = pl.DataFrame({"group": [1, 1], "count": [2, 3]})
    >>> by_group(table, ["group"], {"total": pl.sum("count")}, pl.DataFrame({"group": [0, 1]})).rows()
    [(0, None), (1, 5)]
    """
    named = [column.alias(name) for name, column in columns.items()]
    if groups is None:
        return table.select(*index, *named)
    rows, group = table.lazy(), index[0]
    if table[group].is_sorted():
        rows = rows.set_sorted(group)  # groups are then slices of the table
    values = rows.group_by(index, maintain_order=True).agg(named).collect()
    if values[group].equals(groups[group]):
        return values
    return groups.select(group).join(values, on=group, how="left", maintain_order="left")
