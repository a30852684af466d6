"""Scans of files and tables of one kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from glob import escape
from importlib.util import find_spec
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import polars as pl

from streammetrics.errors import SourceError
from streammetrics.rows.arrow import readable
from streammetrics.rows.given import EXACT
from streammetrics.sources import arrow
from streammetrics.sources.delimited import TYPED_BY
from streammetrics.sources.folders import parts_of, with_folders
from streammetrics.sources.kinds import IPC, PARQUET
from streammetrics.system.lazy import pa, to_install
from streammetrics.system.threads import of_each

INTEGER = r"^-?\d{16,19}$"  # beyond 2^53 as it is written, unlike 1e300
Schema = Mapping[str, Any]  # the types of columns, of pyarrow for Parquet and Arrow IPC, of Polars for NDJSON
MANY = 1_000  # files, for which it takes long to open each of them in Python
PARTS = 256  # of files, for threads


def schemas_of(paths: Sequence[Path], kind: str) -> list[Any]:
    """Return the schema of each file of a kind whose files can differ in their types."""
    of_one: Callable[[Path], Any] = arrow.schema_of if kind in (*PARQUET, *IPC) else _schema_of_ndjson
    if kind in PARQUET and len(paths) >= MANY:
        of_one = arrow.schema_of_many()
    size = max(1, len(paths) // PARTS)  # a call in a thread takes as long as opening a small file
    parts = [paths[start : start + size] for start in range(0, len(paths), size)]
    return list(chain.from_iterable(of_each(lambda part: list(map(of_one, part)), parts)))


def _schema_of_ndjson(path: Path) -> pl.Schema:
    return pl.scan_ndjson(_literal(path), infer_schema_length=TYPED_BY).collect_schema()


def scan_ndjson(paths: list[Path], schema: pl.Schema, names: Sequence[Set[str]]) -> pl.LazyFrame:
    """Scan NDJSON files whose columns in use have the same types.

    Sets of ``names`` are text if floats would make integers of a column equal, such as 2^53 and 2^53 + 1.
    """
    scan = partial(pl.scan_ndjson, list(map(_literal, paths)))
    floats = [name for name in set().union(*names) if schema.get(name) == pl.Float64]
    if not floats:
        return scan(schema=schema)
    as_text = dict.fromkeys(set().union(*names) & {*schema}, pl.String())
    texts = scan(schema=pl.Schema({**schema, **as_text})).select(floats)
    beyond = pl.all().str.contains(INTEGER) & (pl.all().cast(pl.Float64, strict=False).abs() >= EXACT)
    inexact = texts.select(beyond.any()).collect().row(0, named=True)
    changed = [name for each in names if any(inexact.get(name) for name in each) for name in each]
    return scan(schema=pl.Schema({**schema, **{name: as_text[name] for name in changed if name in schema}}))


def _literal(path: Path) -> Path:
    """A path as a glob that matches only it."""
    return Path(escape(str(path)))


def scan_polars(
    paths: list[Path], kind: str, folders: Mapping[str, pl.DataType], types: Mapping[str, pl.DataType], used: Set[str]
) -> pl.LazyFrame:
    """Scan Parquet or Arrow IPC files whose columns in use have the same types.

    Polars adds the columns of folders, of which ``types`` are the types, if all paths have the same. It would replace
    columns of the files in ``used``, so only those in ``folders`` are then added, folder by folder.
    """
    scan = partial(pl.scan_parquet, extra_columns="ignore") if kind in PARQUET else pl.scan_ipc
    if not folders:
        return scan(paths, glob=False, hive_partitioning=False)
    columns = {tuple(sorted(name for name, _ in parts_of(folder))) for folder in {path.parent for path in paths}}
    first = next(iter(columns))
    if len(columns) == 1 and len({*first}) == len(first) and used.isdisjoint(first):
        return scan(paths, glob=False, hive_partitioning=True, hive_schema={name: types[name] for name in first})
    plans = [
        with_folders(scan(list(alike), glob=False, hive_partitioning=False), folder, folders)
        for folder, alike in groupby(paths, lambda path: path.parent)
    ]
    return pl.concat(plans, how="vertical")


def scan_pyarrow(path: Path, schema: pa.Schema, folders: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Scan a Parquet or Arrow IPC file that Polars does not read."""
    return with_folders(arrow.scan(path, schema), path.parent, folders)


def needs_pyarrow(path: Path, kind: str, schema: pa.Schema) -> bool:
    """Return whether Polars does not read a file, or reads some columns in another type.

    Of Arrow IPC files with repeated names, it loses rows. It does not read dictionaries that grow from batch to batch.
    """
    if len(set(schema.names)) < len(schema.names) or (kind in IPC and arrow.is_stream(path)):
        return True
    if any(readable(field.type) != field.type for field in schema):
        return True
    return kind in IPC and arrow.has_growing_dictionaries(path, schema)


def scan_delta(tables: list[Any]) -> pl.LazyFrame:
    """Scan tables of Delta Lake: folders, or tables that are open."""
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
