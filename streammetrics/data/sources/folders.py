"""Columns in the names of folders, such as ``day=2026-01-31``, as Hive and Spark write partition columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import unquote

import polars as pl

from streammetrics.base import AnyPath
from streammetrics.data.sources.delimited import WHOLE
from streammetrics.errors import SourceError

Rows = TypeVar("Rows", pl.LazyFrame, pl.DataFrame)

NO_VALUE = ("", "__HIVE_DEFAULT_PARTITION__")
FORMS: dict[pl.DataType, str] = {  # of texts that are values of a type. All others stay text, such as 007 and 1.10
    pl.Int64(): WHOLE,
    pl.Float64(): r"^(0|-?[1-9]\d{0,14}|-?(0|[1-9]\d{0,7})\.(0|\d{0,6}[1-9]))$",
    pl.Boolean(): "^(true|false)$",
    pl.Date(): r"^\d{4}-\d\d-\d\d$",
    pl.Datetime("us"): r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?$",
}


def parts_of(folder: AnyPath) -> list[tuple[str, str]]:
    """Return the names and values in the path of a folder, as they are written."""
    parts = (part.partition("=") for part in folder.parts)
    return [(name, value) for name, equals, value in parts if equals]


def types_of_folders(paths: Sequence[AnyPath]) -> dict[str, pl.DataType]:
    """Return the columns of folders.

    They are text if other types would make values such as ``1.10`` and ``1.1``, or ``007`` and ``7``, equal.
    """
    values: dict[str, dict[str, None]] = {}
    for folder in dict.fromkeys(path.parent for path in paths):
        for name, value in parts_of(folder):
            values.setdefault(name, {})[value] = None
    return {name: _type_of(list(texts)) for name, texts in values.items()}


def _type_of(texts: list[str]) -> pl.DataType:
    decoded = pl.Series([unquote(text) for text in texts if text not in NO_VALUE], dtype=pl.String)
    for dtype, form in FORMS.items():
        if decoded.str.contains(form).all() and len(decoded):
            values = _as(decoded, dtype)
            if not values.null_count() and values.n_unique() == decoded.n_unique():
                return dtype
    return pl.String()


def _as(texts: pl.Series, dtype: pl.DataType) -> pl.Series:
    match dtype:
        case pl.Boolean():
            return texts == "true"
        case pl.Date():
            return texts.str.to_date("%Y-%m-%d", strict=False)
        case pl.Datetime():
            return texts.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    return texts.cast(dtype, strict=False)


def with_folders(rows: Rows, folder: AnyPath, types: Mapping[str, pl.DataType]) -> Rows:
    """Return rows of files in a folder with columns of its path."""
    parts = parts_of(folder)
    for name in types:
        if (times := [part for part, _ in parts].count(name)) > 1:
            raise SourceError(
                f"The folders of {str(folder)!r} name the column {name!r} {times} times. Rename one of them."
            )
    texts = {name: None if value in NO_VALUE else unquote(value) for name, value in parts}
    values = {name: _as(pl.Series([texts.get(name)], dtype=pl.String), dtype).item() for name, dtype in types.items()}
    return rows.with_columns(pl.lit(value, types[name]).alias(name) for name, value in values.items())
