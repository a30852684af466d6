"""Named parts of expressions, so that each part is computed once."""

from __future__ import annotations

from collections.abc import Callable

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
