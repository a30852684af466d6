"""Parquet and Arrow IPC files that Polars does not read, in batches of pyarrow.

These are files with a column of a type that Polars refuses, even if it is not in use, and IPC streams.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from streammetrics.errors import SourceError
from streammetrics.rows.arrow import as_readable, readable
from streammetrics.sources.kinds import PARQUET, beginning, kind_of
from streammetrics.system.foreign import translated
from streammetrics.system.lazy import ds, pa, pq

BATCH = 131_072  # rows of a batch of a Parquet file
STORED = b"ARROW:schema"  # key of the original types in the metadata of a Parquet file
FILE, FEATHER = b"ARROW1", b"FEA1"  # the first bytes of files; streams have none of their own


def schema_of(path: Path) -> pa.Schema:
    """Return the names and types of the columns of a file."""
    if kind_of(path) in PARQUET:
        with pq.ParquetFile(str(path)) as file:
            return _with_date64(file.schema_arrow, file.metadata.metadata or {})
    with pa.OSFile(str(path)) as file:
        return _open(path, file).schema


def schema_of_many() -> Callable[[Path], pa.Schema]:
    """Return a function like `schema_of` for many Parquet files, which takes half the time for each."""
    from pyarrow.fs import LocalFileSystem  # when it is needed

    form, system = ds.ParquetFileFormat(), LocalFileSystem()

    def schema(path: Path) -> pa.Schema:
        try:
            found = form.inspect(str(path), system)
        except (pa.ArrowException, OSError, ValueError):
            return schema_of(path)  # for its error
        return schema_of(path) if pa.date32() in found.types else found  # its original type can be date64

    return schema


def _with_date64(schema: pa.Schema, metadata: Mapping[bytes, bytes]) -> pa.Schema:
    """Return the schema of a Parquet file with the dates that Polars would read as times, by their original type."""
    if STORED not in metadata or pa.date32() not in schema.types:
        return schema
    for field in pa.ipc.read_schema(pa.py_buffer(b64decode(metadata[STORED]))):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if kind == pa.date64() and schema.names.count(field.name) == 1:
            schema = schema.set(schema.get_field_index(field.name), pa.field(field.name, kind))
    return schema


def is_stream(path: Path) -> bool:
    """Return whether a file is an IPC stream, such as those of Hugging Face, which has no footer."""
    return kind_of(path) not in PARQUET and not beginning(path).startswith(FILE)


def is_whole_stream(path: Path) -> bool:
    """Return whether a file is an IPC stream that can be read to its end."""
    if not is_stream(path):
        return False
    try:
        for _ in _batches(path, schema_of(path), []):
            pass
    except (pa.ArrowException, OSError):
        return False
    return True


def has_growing_dictionaries(path: Path, schema: pa.Schema) -> bool:
    """Return whether later batches of an IPC file add values to a dictionary."""
    coded = [i for i, field in enumerate(schema) if pa.types.is_dictionary(field.type)]
    if not coded:
        return False
    with pa.memory_map(str(path)) as file:
        reader = _open(path, file, coded)
        if reader.num_record_batches:
            reader.get_batch(0)  # reads all dictionaries
        return bool(reader.stats.num_dictionary_deltas)


def scan(path: Path, schema: pa.Schema) -> pl.LazyFrame:
    """Scan a file by pyarrow. Columns without a `readable` type, or whose names are repeated, are left out."""
    empty = as_readable(pa.schema(_known(schema)).empty_table())
    return register_io_source(partial(_frames, path), schema=pl.DataFrame(empty).schema)


def _known(schema: pa.Schema) -> list[pa.Field]:
    return [f for f in schema if readable(f.type) is not None and schema.names.count(f.name) == 1]


def _frames(
    path: Path, columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _: int | None
) -> Iterator[pl.DataFrame]:
    schema = schema_of(path)
    names = [field.name for field in _known(schema)] if columns is None else columns
    for batch in _batches(path, schema, names):
        with translated(SourceError, f"Cannot read {str(path)!r}"):  # a panic would end the rows without an error
            frame = pl.DataFrame(as_readable(pa.Table.from_batches([batch]))).select(names)
        frame = frame.head(frame.height if rows is None else rows)
        rows = None if rows is None else rows - frame.height
        yield frame if predicate is None else frame.filter(predicate)
        if rows == 0:
            return


def _batches(path: Path, schema: pa.Schema, names: Sequence[str]) -> Iterator[Any]:
    if kind_of(path) in PARQUET:
        yield from pq.ParquetFile(str(path)).iter_batches(BATCH, columns=names)
        return
    with pa.OSFile(str(path)) as file:
        reader = _open(path, file, [schema.get_field_index(name) for name in names])
        if isinstance(reader, pa.RecordBatchReader):
            yield from reader
        else:
            yield from map(reader.get_batch, range(reader.num_record_batches))


def _open(path: Path, file: Any, included: list[int] | None = None) -> Any:
    begins = beginning(path)
    if begins.startswith(FEATHER):
        fix = f"pyarrow.feather.write_feather(pyarrow.feather.read_table({str(path)!r}), {str(path)!r})"
        raise SourceError(f"{str(path)!r} is in Feather V1 format, which is not supported. Convert it: {fix}")
    options = pa.ipc.IpcReadOptions(included_fields=included)
    opened = pa.ipc.open_file if begins.startswith(FILE) else pa.ipc.open_stream
    return opened(file, options=options)
