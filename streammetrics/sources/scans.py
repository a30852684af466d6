"""Scans of files and tables of one kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from streammetrics.errors import SourceError
from streammetrics.rows.arrow import readable
from streammetrics.sources import arrow
from streammetrics.sources.delimited import PADDED, TYPED_BY
from streammetrics.sources.kinds import IPC, PARQUET
from streammetrics.system.lazy import pa, to_install
from streammetrics.system.threads import of_each

Schema = Mapping[str, Any]  # the types of columns, of pyarrow for Parquet and Arrow IPC, of Polars for NDJSON
MANY = 1_000  # files, for which it takes long to open each of them in Python
PARTS = 256  # of files, for threads
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # of a partition column in the name of a folder


def schemas_of(paths: Sequence[Path], kind: str) -> list[Any]:
    """Return the schema of each file of a kind whose files can differ in their types."""
    of_one: Callable[[Path], Any] = arrow.schema_of if kind in (*PARQUET, *IPC) else _schema_of_ndjson
    if kind in PARQUET and len(paths) >= MANY:
        of_one = arrow.schema_of_many()
    size = max(1, len(paths) // PARTS)  # a call in a thread takes as long as opening a small file
    parts = [paths[start : start + size] for start in range(0, len(paths), size)]
    return list(chain.from_iterable(of_each(lambda part: list(map(of_one, part)), parts)))


def _schema_of_ndjson(path: Path) -> pl.Schema:
    return pl.scan_ndjson(path, infer_schema_length=TYPED_BY).collect_schema()


def scan_ndjson(paths: list[Path], schema: pl.Schema) -> pl.LazyFrame:
    """Scan NDJSON files whose columns in use have the same types."""
    return pl.scan_ndjson(paths, schema=schema)


def scan_polars(paths: list[Path], kind: str, folders: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Scan Parquet or Arrow IPC files whose columns in use have the same types."""
    scan = partial(pl.scan_parquet, extra_columns="ignore") if kind in PARQUET else pl.scan_ipc
    return scan(paths, glob=False, hive_partitioning=bool(folders), hive_schema=dict(folders) or None)


def scan_pyarrow(path: Path, schema: pa.Schema, folders: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Scan a Parquet or Arrow IPC file that Polars does not read."""
    values = dict(part.split("=", 1) for part in path.parent.parts if "=" in part)
    return arrow.scan(path, schema).with_columns(
        _value(values[name], dtype).alias(name) for name, dtype in folders.items()
    )


def _value(text: str, dtype: pl.DataType) -> pl.Expr:
    value = pl.lit(None if text == NO_VALUE else unquote(text), pl.String)
    if dtype == pl.Date:
        return value.str.to_date()
    if dtype == pl.Boolean:
        return value == "true"
    return value.str.to_datetime(time_unit="us") if dtype == pl.Datetime else value.cast(dtype)


def needs_pyarrow(path: Path, kind: str, schema: pa.Schema) -> bool:
    """Return whether Polars does not read a file, or reads some columns in another type.

    Of Arrow IPC files with repeated names, it loses rows.
    """
    if len(set(schema.names)) < len(schema.names) or (kind in IPC and arrow.is_stream(path)):
        return True
    return any(readable(field.type) != field.type for field in schema)


def types_of_folders(paths: Sequence[Path]) -> dict[str, pl.DataType]:
    """Return the columns of folders such as ``day=2026-01-31``, as Hive and Spark write partition columns.

    They are text if numbers would make values such as ``007`` and ``7`` equal.
    """
    if not any("=" in part for part in paths[0].parent.parts):
        return {}
    found = pl.scan_parquet(list(paths), glob=False, schema={}, hive_partitioning=True).collect_schema()
    cells = [part.partition("=") for path in paths for part in path.parent.parts if "=" in part]
    return {**found} | {name: pl.String() for name, _, value in cells if re.match(PADDED, value)}


def scan_delta(tables: list[Path]) -> pl.LazyFrame:
    """Scan tables of Delta Lake."""
    _require_package("deltalake", "a Delta table", to_install("store"))
    return pl.concat([pl.scan_delta(table) for table in tables], how="vertical_relaxed")


def scan_iceberg(tables: list[Path]) -> pl.LazyFrame:
    """Scan tables of Iceberg."""
    _require_package("pyiceberg", "an Iceberg table", "Install it with: pip install pyiceberg")
    for table in tables:
        if not (table / "metadata" / "version-hint.text").is_file():
            raise SourceError(
                f"The version of the Iceberg table {str(table)!r} is only known to its catalog. "
                "Pass a LazyFrame of polars.scan_iceberg."
            )
    return pl.concat([pl.scan_iceberg(str(table.absolute())) for table in tables], how="vertical_relaxed")


def scan_hudi(tables: list[Path]) -> pl.LazyFrame:
    """Reject tables of Hudi."""
    raise SourceError(f"Cannot read {str(tables[0])!r}: Hudi tables are not supported. Pass its rows.")


def _require_package(module: str, what: str, install: str) -> None:
    if find_spec(module) is None:
        raise SourceError(f"{what} requires the package {module!r}. {install}")


TABLES: dict[str, Callable[[list[Path]], pl.LazyFrame]] = {
    "Delta": scan_delta,
    "Iceberg": scan_iceberg,
    "Hudi": scan_hudi,
}
