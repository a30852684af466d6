"""Fixes of labels other than the declared ones, for messages."""

from __future__ import annotations

from typing import Any

import polars as pl

from streammetrics.errors import Argument, Part
from streammetrics.rows.conversions import null_instead_of, quoted
from streammetrics.rows.frames import CODED
from streammetrics.rows.roles import Roles

MISSING = {"", "-", "--", ".", "?", "missing", "n/a", "na", "nan", "nil", "none", "null", "unknown"}


def instead_of_third(label: Any, roles: Roles, name: str | None, dtype: pl.DataType) -> tuple[Part, ...]:
    """Return the fix of a label that is neither positive nor negative, without the full stop.

    ``name`` and ``dtype`` are those of the column, whose name is None if it is the result of an expression.

    >>> roles = Roles("binary", positive="yes", negative="no")
    >>> for label in (" Yes", "maybe"):
    ...     print("".join(map(str, instead_of_third(label, roles, "paid", pl.String()))))
    Normalize the labels: LOWER(TRIM(paid)) in SQL or str.strip_chars().str.to_lowercase() in Polars
    Drop these rows with a filter, or pass only positive= to count them as negative
    """
    declared = (roles.positive, roles.negative)
    if isinstance(label, str) and _bare(label) in map(_bare, declared):
        sql, polars = quoted(name or "label"), "str"
        if dtype in CODED:
            sql, polars = f"CAST({sql} AS VARCHAR)", "cast(pl.String).str"
        fix = f"Normalize the labels: LOWER(TRIM({sql})) in SQL or {polars}.strip_chars().str.to_lowercase() in Polars"
        both = (", and pass ", Argument("positive"), " and ", Argument("negative"), " in lower case")
        return (fix, *(() if declared == (*map(_bare, declared),) else both))
    if isinstance(label, str) and _bare(label) in MISSING:
        dropped = (", and pass ", Argument("nulls", "drop")) if roles.nulls == "raise" else ()
        return (*null_instead_of(label), *dropped)
    kept: Part = "a filter"
    if name is not None and (dtype.is_numeric() or dtype == pl.String or dtype in CODED):
        one_of = ", ".join(_literal(other, dtype) for other in declared)
        kept = Argument("where", f"{quoted(name)} IN ({one_of}) OR {quoted(name)} IS NULL", python="a filter")
    return ("Drop these rows with ", kept, ", or pass only ", Argument("positive"), " to count them as negative")


def _bare(label: Any) -> Any:
    """A label without spaces around it, in lower case."""
    return label.strip().lower() if isinstance(label, str) else label


def _literal(label: Any, dtype: pl.DataType) -> str:
    """A label as SQL, in a column of numbers or text."""
    return str(label) if dtype.is_numeric() else "'{}'".format(str(label).replace("'", "''"))
