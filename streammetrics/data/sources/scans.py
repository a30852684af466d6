"""Parts of sources, which are read in batches: plans of Polars, and files that other libraries read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from importlib.util import find_spec
from itertools import chain, groupby
from typing import Any, TypeAlias

import polars as pl

from streammetrics.base import AnyPath, ObjectPath, ds, pa, threaded, to_install, translated
from streammetrics.data.rows.arrow import as_readable, readable
from streammetrics.data.sources.folders import parts_of, with_folders
from streammetrics.data.sources.kinds import IPC, PARQUET, beginning
from streammetrics.errors import SourceError

Part: TypeAlias = pl.LazyFrame | Callable[[Sequence[str]], Iterator[pl.DataFrame]]

ROW = "__streammetrics_row__"  # number of a row in its source, for the place of an invalid row
FILE, FEATHER = b"ARROW1", b"FEA1"  # the first bytes of files; IPC streams have none of their own
THREADED = 256  # parts of many files, since a call in a thread takes as long as opening a small file


def frames(
    part: Part, columns: Sequence[str], chunk: int, where: pl.Expr | None = None, first: int | None = None
) -> Iterator[pl.DataFrame]:
    """Batches of a part: some columns of the rows that meet a condition, with their numbers from ``first``, if given.

    Without columns, batches have any column.
    """
    if isinstance(part, pl.LazyFrame):
        plan = part if first is None else part.with_row_index(ROW, offset=first)
        plan = plan if where is None else plan.filter(where)  # a filter that is always true takes time, too
        plan = plan.select(columns or pl.all()) if first is None else plan.select(ROW, *columns)
        yield from plan.collect_batches(chunk_size=chunk, maintain_order=first is not None)
        return
    tested = [] if where is None else where.meta.root_names()
    for frame in chain.from_iterable(frame.iter_slices(chunk) for frame in part([*columns, *tested])):
        batch = frame
        if first is not None:
            batch, first = frame.with_row_index(ROW, offset=first), first + frame.height
        yield batch if where is None else batch.filter(where)


def height_of(part: Part) -> int:
    """Return the number of rows of a part."""
    if isinstance(part, pl.LazyFrame):
        return int(part.select(pl.len()).collect().item())
    return sum(frame.height for frame in part(()))


def schemas_of(paths: Sequence[AnyPath], kind: str) -> list[pa.Schema]:
    """Return the schema of each Parquet or Arrow IPC file."""
    file_format = ds.ParquetFileFormat() if kind in PARQUET else ds.IpcFileFormat()

    def schema_of(path: AnyPath) -> pa.Schema:
        with translated(SourceError, f"Cannot read {path}"):
            if is_stream(path, kind):
                with _opened(path) as file, pa.ipc.open_stream(file) as reader:
                    return reader.schema
            return file_format.inspect(_opened(path))

    size = max(1, len(paths) // THREADED)
    parts = [paths[start : start + size] for start in range(0, len(paths), size)]
    return list(chain.from_iterable(threaded(lambda part: list(map(schema_of, part)), parts)))


def _opened(path: AnyPath) -> pa.NativeFile:
    return path.open(buffering=0) if isinstance(path, ObjectPath) else pa.OSFile(str(path))


def is_stream(path: AnyPath, kind: str) -> bool:
    """Return whether a file is an IPC stream, such as those of Hugging Face, which has no footer."""
    begins = b"" if kind in PARQUET else beginning(path)
    if begins.startswith(FEATHER):
        fix = f"pyarrow.feather.write_feather(pyarrow.feather.read_table({str(path)!r}), {str(path)!r})"
        raise SourceError(f"{str(path)!r} is in Feather V1 format, which is not supported. Convert it: {fix}")
    return kind in IPC and not begins.startswith(FILE)


def needs_pyarrow(path: AnyPath, kind: str, schema: pa.Schema) -> bool:
    """Return whether Polars does not read a file, or reads some columns in another type.

    Of Arrow IPC files with repeated names, it loses rows. It does not read dictionaries that grow from batch to batch,
    and reads dates of 64 bits in Parquet files as times.
    """
    if len(set(schema.names)) < len(schema.names) or is_stream(path, kind):
        return True
    if any(readable(field.type) != field.type for field in schema):
        return True
    if kind in PARQUET:
        dates = [f.name for f in schema if pa.date32() in (f.type, getattr(f.type, "value_type", None))]
        types = scan_polars([path], kind, {}, {}, set()).collect_schema() if dates else {}
        return any(isinstance(types[name], pl.Datetime) for name in dates)
    coded = [i for i, field in enumerate(schema) if pa.types.is_dictionary(field.type)]
    return bool(coded) and _has_growing_dictionaries(path, coded)


def _has_growing_dictionaries(path: AnyPath, coded: list[int]) -> bool:
    with _opened(path) as file:
        reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=coded))
        if reader.num_record_batches:
            reader.get_batch(0)  # reads all dictionaries
        return bool(reader.stats.num_dictionary_deltas)


def scan_polars(
    paths: list[AnyPath],
    kind: str,
    folders: Mapping[str, pl.DataType],
    types: Mapping[str, pl.DataType],
    used: Set[str],
) -> pl.LazyFrame:
    """Scan Parquet or Arrow IPC files whose columns in use have the same types.

    Polars adds the columns of folders, of which ``types`` are the types, if all paths have the same. It would replace
    columns of the files in ``used``, so only those in ``folders`` are then added, folder by folder.
    """
    scan = partial(pl.scan_parquet, extra_columns="ignore") if kind in PARQUET else pl.scan_ipc
    scan = partial(scan, glob=False, storage_options=getattr(paths[0], "storage_options", None))
    names = [str(path) for path in paths]
    if not folders:
        return scan(names, hive_partitioning=False)
    columns = {tuple(sorted(name for name, _ in parts_of(folder))) for folder in {path.parent for path in paths}}
    first = next(iter(columns))
    if len(columns) == 1 and len({*first}) == len(first) and used.isdisjoint(first):
        return scan(names, hive_partitioning=True, hive_schema={name: types[name] for name in first})
    plans = [
        with_folders(scan([str(file) for file in files], hive_partitioning=False), folder, folders)
        for folder, files in groupby(paths, lambda path: path.parent)
    ]
    return pl.concat(plans, how="vertical")


def read_pyarrow(
    path: AnyPath, kind: str, schema: pa.Schema, folders: Mapping[str, pl.DataType], columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Batches of a Parquet or Arrow IPC file that Polars does not read, and of columns of its folders.

    Without columns, batches have all that have a `readable` type and a name of their own.
    """
    names = [name for name in columns or readable_schema(schema).names if name in schema.names] or schema.names[:1]
    places = [schema.get_field_index(name) for name in names]
    with translated(SourceError, f"Cannot read {path}"):
        for batch in _pyarrow_batches(path, kind, schema, names, places):
            yield with_folders(pl.DataFrame(as_readable(pa.Table.from_batches([batch]))), path.parent, folders)


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """Return the columns of a file that have a `readable` type and a name of their own."""
    return pa.schema([f for f in schema if readable(f.type) is not None and schema.names.count(f.name) == 1])


def _pyarrow_batches(path: AnyPath, kind: str, schema: pa.Schema, names: Sequence[str], places: list[int]) -> Any:
    if is_stream(path, kind):
        options = pa.ipc.IpcReadOptions(included_fields=places)
        with _opened(path) as file, pa.ipc.open_stream(file, options=options) as reader:
            yield from reader
    else:
        used = pa.schema([schema.field(name) for name in names])
        file_format = ds.ParquetFileFormat() if kind in PARQUET else ds.IpcFileFormat()
        yield from file_format.make_fragment(_opened(path)).to_batches(schema=used)


def scan_delta(tables: list[Any]) -> pl.LazyFrame:
    """Scan tables of Delta Lake: folders, or tables that are open."""
    _require_package("deltalake", "a Delta table", to_install("store"))
    plans = []
    for table in tables:
        options = getattr(table, "storage_options", None)
        plans.append(pl.scan_delta(str(table) if isinstance(table, ObjectPath) else table, storage_options=options))
    return pl.concat(plans, how="vertical_relaxed")


def scan_iceberg(tables: list[Any]) -> pl.LazyFrame:
    """Scan tables of Iceberg."""
    _require_package("pyiceberg", "an Iceberg table", "Install it with: pip install pyiceberg")
    for table in tables:
        if not (table / "metadata" / "version-hint.text").is_file():
            raise SourceError(
                f"The version of the Iceberg table {str(table)!r} is only known to its catalog. "
                "Pass a LazyFrame of polars.scan_iceberg."
            )
    return pl.concat([pl.scan_iceberg(str(table.absolute())) for table in tables], how="vertical_relaxed")


def scan_hudi(tables: list[Any]) -> pl.LazyFrame:
    """Reject tables of Hudi."""
    raise SourceError(f"Cannot read {str(tables[0])!r}: Hudi tables are not supported. Pass its rows.")


def _require_package(module: str, what: str, install: str) -> None:
    if find_spec(module) is None:
        raise SourceError(f"{what} requires the package {module!r}. {install}")


TABLES: dict[str, Callable[[list[AnyPath]], pl.LazyFrame]] = {
    "Delta": scan_delta,
    "Iceberg": scan_iceberg,
    "Hudi": scan_hudi,
}
