"""Expressions that read one row at a time, as batches require, and those that look at other rows."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator

import polars as pl

from streammetrics.errors import SpecificationError

TRIED = 32  # rows at each end of a batch that an undecided expression is computed for again
UNDECIDED = ("AnonymousFunction", "callback", "Strptime")  # functions in Python, and dates whose format is inferred
RENAMED = ("Alias", "RenameAlias", "Cast")
ADVICE = "Compute the column over all rows first, in Python with polars.scan_parquet(…).with_columns(…)."


def require_row_by_row(what: str, expression: pl.Expr) -> None:
    """Reject an expression that looks at other rows, since its values would depend on batches.

    >>> require_row_by_row("The condition", pl.col("p") > pl.col("p").max() / 2)
    Traceback (most recent call last):
    streammetrics.errors.SpecificationError: The condition looks at other rows, so its values would depend on batches. \
Compute the column over all rows first, in Python with polars.scan_parquet(…).with_columns(…).
    """
    if False in _steps(expression):
        raise looks_at_other_rows(what)


def looks_at_other_rows(what: str) -> SpecificationError:
    """The error of an expression that looks at other rows."""
    return SpecificationError(f"{what} looks at other rows, so its values would depend on batches. {ADVICE}")


def is_undecided(expression: pl.Expr) -> bool:
    """Whether only its values can tell that an expression looks at other rows, such as that of a Python function."""
    return None in _steps(expression)


def differs_in_parts(expression: pl.Expr, frame: pl.DataFrame, values: pl.Series) -> bool:
    """Whether an expression has other values if it is computed for the ends of a batch alone."""
    few = min(TRIED, frame.height // 2)
    ends = ((frame.head(few), values.head(few)), (frame.tail(few), values.tail(few)))
    return any(
        not part.select(expression).to_series().equals(expected, null_equal=True) for part, expected in ends if few
    )


def _steps(expression: pl.Expr) -> Iterator[bool | None]:
    """For each step of an expression, whether it reads its own row only. Steps over the items of lists are omitted."""
    parts = [expression]
    while parts:
        part = parts.pop()
        reads_own_row = _own_row(part)
        yield reads_own_row
        parts += [step for step in part.meta.pop() if reads_own_row is not None or '"Element"' not in _json(step)]


def _own_row(node: pl.Expr) -> bool | None:
    """Whether the last step of an expression returns for each row a value of this row. None if this is undecided."""
    try:
        if node.meta.is_row_separable():
            return node.meta.is_length_preserving() or node.meta.is_scalar()
    except pl.exceptions.PolarsError:  # the types of columns decide
        return None
    tree = json.loads(_json(node))
    kind, content = next(iter(tree.items())) if isinstance(tree, dict) else (tree, tree)
    if kind in RENAMED:  # which is as its part
        return True
    step = str(content["function"]) if kind == "Function" else str(kind)
    return None if any(name in step for name in UNDECIDED) or node.meta.is_literal() else False


def _json(node: pl.Expr) -> str:
    with warnings.catch_warnings(action="ignore"):
        try:
            return node.meta.serialize(format="json")
        except pl.exceptions.PolarsError:  # of a Python function that cannot be pickled
            return json.dumps({"AnonymousFunction": {}})
