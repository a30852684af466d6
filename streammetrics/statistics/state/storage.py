"""States in files and bytes: Parquet or Arrow IPC with a checksum, and files written by Spark."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from streammetrics.base import (
    LOG,
    AnyPath,
    StorageOptions,
    few,
    near_paths,
    object_path,
    pa,
    pq,
    require_each_once,
    threaded,
    translated,
    without_scheme,
    write_file,
)
from streammetrics.data import DIGITS
from streammetrics.errors import StateError, StateWarning
from streammetrics.statistics.state import checksums
from streammetrics.statistics.state.header import KEY, NotAState, checked, read_header
from streammetrics.statistics.state.ipc_sizes import ipc_size
from streammetrics.statistics.state.memory import most, require_small, require_small_table
from streammetrics.statistics.state.parquet_sizes import parquet_sizes
from streammetrics.statistics.state.saved import Saved

FILES = 1_000  # files that are read before they are merged
SPARK = b"org.apache.spark.sql.parquet.row.metadata"  # the schema of a data frame as JSON
STATE = ".state"  # usual suffix of a saved state
IPC, PARQUET = b"ARROW1", b"PAR1"  # first bytes of files
IPC_FILE = re.compile(IPC + rb"\0*")  # before the stream in an Arrow IPC file


def write(saved: Saved, path: str | Path, storage_options: StorageOptions = None) -> None:
    """Write a state: Arrow IPC if the path ends in ``.arrow``, ``.ipc`` or ``.feather``, else Parquet."""
    ipc = str(path).endswith((".arrow", ".ipc", ".feather"))
    form = partial(_to_ipc, pa.ipc.new_file) if ipc else _to_parquet
    write_file(without_scheme(path), _with_checksum(saved, form), StateError, storage_options)


def to_bytes(saved: Saved) -> bytes:
    """Return the state as an Arrow IPC stream."""
    return checksums.copy_in_pieces(_with_checksum(saved, partial(_to_ipc, pa.ipc.new_stream)))


def _with_checksum(saved: Saved, form: Callable[[pa.Table, bytes, pa.NativeFile], None]) -> memoryview:
    table, sink, mark = saved.to_arrow(), pa.BufferOutputStream(), checksums.placeholder()
    form(table, mark, sink)
    content = memoryview(sink.getvalue()).cast("B")
    checksums.seal(content, mark)
    return content


def _to_parquet(table: pa.Table, mark: bytes, sink: pa.NativeFile) -> None:
    options = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}  # many small columns
    with pq.ParquetWriter(sink, table.schema, **options) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({checksums.KEY: mark})


def _to_ipc(new: Callable[..., Any], table: pa.Table, mark: bytes, sink: pa.NativeFile) -> None:
    table = table.replace_schema_metadata({**table.schema.metadata, checksums.KEY: mark})
    with new(sink, table.schema) as writer:
        writer.write_table(table)


def from_bytes(content: bytes) -> Saved:
    """Return the state of bytes from `to_bytes`."""
    if not isinstance(content, bytes):
        content = checked(lambda: checksums.copy_in_pieces(memoryview(pa.py_buffer(content)).cast("B")))
    sealed = checksums.is_sealed(content)
    saved = Saved.from_arrow(checked(lambda: _ipc_table(pa.py_buffer(content))))
    if not sealed:
        _warn("the state")
    return saved


def read_states(sources: Sequence[str | Path], storage_options: StorageOptions) -> Iterator[tuple[str, Saved]]:
    """Read states that `write` or Spark wrote: files, folders, and globs.

    States with the same specification are merged, a thousand files at a time. Each state is named by its first file.
    """
    files = [(path, source) for source in sources for path in _files(source, storage_options)]
    with translated(StateError, f"Cannot read {few(str(path) for path, _ in files)}"):
        require_each_once([path for path, _ in files], StateError)
    for start in range(0, len(files), FILES):
        batch = files[start : start + FILES]
        by_schema: dict[bytes, list[tuple[AnyPath, pa.Table]]] = {}
        bare = []
        for (path, _), (table, sealed) in zip(batch, threaded(lambda file: _read(*file), batch), strict=True):
            by_schema.setdefault(table.schema.serialize().to_pybytes(), []).append((path, table))
            bare += [] if sealed else [str(path)]
        for tables in by_schema.values():
            yield str(tables[0][0]), _together(tables)
        if bare:
            _warn(few(bare))


def _warn(what: str) -> None:
    warnings.warn(
        f"No checksum in {what}: damage to it cannot be detected. To add one, load and save it.",
        StateWarning,
        stacklevel=2,
    )


def _files(source: str | Path, storage_options: StorageOptions) -> Sequence[AnyPath]:
    """The files of a path, a folder, or a glob, except names that begin with an underscore or a dot."""
    if source == "":
        raise StateError("Cannot read '': a path must not be empty. Pass '.' for the current folder.")
    source = without_scheme(source)
    with translated(StateError, f"Cannot read {str(source)!r}"):
        if (uri := object_path(source, storage_options, StateError)) is not None:
            if objects := uri.files():
                return objects
            raise StateError(f"Cannot read {str(source)!r}: no files found.")
    try:
        path = Path(source).expanduser()
        if path.is_dir():
            if (path / LOG).is_dir():
                raise StateError(
                    f"{str(source)!r} is a history, not a saved state. Use MetricStore or streammetrics store report."
                )
            paths = _inside(path)
        elif path.exists() or not any(c in str(source) for c in "*?["):
            return [path]
        else:
            paths = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
        files = sorted(p for p in paths if (p.is_file() or not p.exists()) and not _is_hidden(p, path))
    except (TypeError, ValueError, OSError, NotImplementedError) as error:
        raise StateError(f"Cannot read {source!r}: {error}.") from error
    if not files:
        raise StateError(f"Cannot read {str(source)!r}: no files found.")
    return files


def _inside(folder: Path) -> Iterator[Path]:
    """All paths in a folder, to any depth. A folder that cannot be read raises, so that no state is missed."""
    for path in folder.iterdir():
        yield path
        if path.is_dir() and not path.is_symlink() and not _is_hidden(path, folder):
            yield from _inside(path)


def _is_hidden(path: Path, source: Path) -> bool:
    return any(part.startswith(("_", ".")) for part in path.parts if part not in source.parts)


def _only_states(source: str | Path) -> str:
    """The glob of the states of a folder, for a folder that has other files too."""
    folder = Path(source).expanduser()
    mixed = folder.is_dir() and any(path.suffix == STATE for path in folder.iterdir())
    return f" To load only the states of the folder, pass {str(Path(source) / f'*{STATE}')!r}." if mixed else ""


def _read(path: AnyPath, source: str | Path) -> tuple[pa.Table, bool]:
    """The table of a file, and whether it has a checksum."""
    try:
        content = _content(path)
        sealed = checksums.is_sealed(content)
        table = checked(lambda: _table(content))
        if KEY not in (table.schema.metadata or {}) and (header := _header_of_spark(table)):
            return checked(lambda: restored_table(_with_zones(table), _schema(header))), True
    except FileNotFoundError as error:
        raise StateError(f"Cannot read {str(path)!r}: file not found.{near_paths(str(path))}") from error
    except (OSError, ValueError) as error:
        raise StateError(f"Cannot read {str(path)!r}: {getattr(error, 'strerror', None) or error}.") from error
    except NotAState as error:
        raise StateError(f"Cannot read {str(path)!r}: {error}{_only_states(source)}") from error
    except StateError as error:
        raise StateError(f"Cannot read {str(path)!r}: {error}") from error
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != checksums.KEY}
    return table.replace_schema_metadata(metadata), sealed


def _header_of_spark(table: pa.Table) -> bytes | None:
    """The header that Spark stores with the first column of a table of states, which has no checksum."""
    schema = json.loads((table.schema.metadata or {}).get(SPARK, b"null"))
    header = schema["fields"][0]["metadata"].get(KEY.decode()) if schema else None
    return header.encode() if header else None


def _with_zones(table: pa.Table) -> pa.Table:
    """A table of Spark with the time zone of its times, which Spark can write as UTC without a zone."""
    for i, field in enumerate(json.loads(table.schema.metadata[SPARK])["fields"]):
        kind = table.schema.field(i).type
        if field["type"] == "timestamp" and pa.types.is_timestamp(kind) and kind.tz is None:
            table = table.set_column(i, field["name"], table.column(i).cast(pa.timestamp("us", tz="UTC")))
    return table


def _schema(header: bytes) -> pa.Schema:
    """The schema of a state, as far as its header determines it."""
    schema = Saved.without_rows(read_header({KEY: header})).to_arrow().schema
    return schema.with_metadata({KEY: header})


def restored_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table of states with the order, types, and metadata of a schema, which an engine can have changed."""
    columns = [table[name].combine_chunks() for name in schema.names]
    typed = [column.cast(_typed(column.type, kind)) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.table(typed, names=schema.names).replace_schema_metadata(schema.metadata)


def _typed(actual: pa.DataType, declared: pa.DataType) -> pa.DataType:
    """The declared type, with the actual types of groups and labels, which depend on the data."""
    if pa.types.is_null(declared):  # decimals of parts with different scales have 256 bits
        return pa.decimal128(DIGITS, actual.scale) if pa.types.is_decimal256(actual) else actual
    if pa.types.is_large_list(declared):
        return pa.large_list(_typed(actual.value_type, declared.value_type))
    if pa.types.is_struct(declared):
        return pa.struct([(f.name, _typed(actual.field(f.name).type, f.type)) for f in declared])
    return declared


def _content(path: AnyPath) -> bytes:
    with path.open("rb", buffering=0) as file:  # a buffer would be joined with the rest, which no thread can interrupt
        if not file.read(6).startswith((IPC, PARQUET)):
            raise NotAState("not a Parquet or Arrow IPC file, so not a saved state. To evaluate rows, use evaluate.")
        file.seek(0)
        return file.read()


def _table(content: bytes) -> pa.Table:
    if ipc := IPC_FILE.match(content):
        return _ipc_table(pa.py_buffer(content).slice(ipc.end()))
    sizes = parquet_sizes(content)
    require_small(sizes.memory, len(content))
    file = pq.ParquetFile(pa.BufferReader(content))
    if sizes.memory + sizes.copies <= most(len(content)):
        table = file.read(use_threads=False)
        require_small_table(table, len(content))  # its own types can be dictionaries
        return table
    texts = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
    encoded = pq.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read(use_threads=False)
    require_small_table(encoded, len(content))
    return encoded.cast(file.schema_arrow)


def _ipc_table(stream: pa.Buffer) -> pa.Table:
    require_small(ipc_size(stream), stream.size)
    table = pa.ipc.open_stream(stream).read_all()
    table.validate(full=True)
    require_small_table(table, stream.size)
    return table


def _together(tables: Sequence[tuple[AnyPath, pa.Table]]) -> Saved:
    """The merged state of tables with the same schema."""
    try:
        return Saved.from_arrow(pa.concat_tables(table for _, table in tables))
    except StateError:
        for path, table in tables:
            try:
                Saved.from_arrow(table)
            except StateError as error:
                raise StateError(f"Cannot read {str(path)!r}: {error}") from error
        raise
