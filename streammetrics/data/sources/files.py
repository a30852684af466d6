"""Files and tables of predictions of one kind, as one source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

import polars as pl

from streammetrics.base import AnyPath, ObjectPath, pa
from streammetrics.data.rows.arrow import as_readable, readable
from streammetrics.data.rows.columns import OF_STATES, require_columns
from streammetrics.data.rows.frames import has_values
from streammetrics.data.sources import scans
from streammetrics.data.sources.delimited import Csv, types_of_names
from streammetrics.data.sources.folders import parts_of, types_of_folders
from streammetrics.data.sources.kinds import CSV, IPC, KINDS, NDJSON, PARQUET, SUPPORTED, kind_of
from streammetrics.data.sources.ndjson import NdJson
from streammetrics.errors import Argument, SourceError

Item = TypeVar("Item")

UNREADABLE = (Exception, pl.exceptions.PanicException)  # of readers in Rust, whose panics are not an Exception
CHUNK = 131_072  # rows
Read: TypeAlias = Callable[[Sequence[str]], Iterator[pl.DataFrame]]


@dataclass(frozen=True)
class Files:
    """Files of one kind, or folders of tables, as a source.

    ``null_values`` stand for null in CSV files, whose columns in ``text`` are text.
    """

    paths: tuple[AnyPath, ...]
    where: pl.Expr | None = None
    null_values: tuple[str, ...] = ()
    text: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The first path, and the number of other paths."""
        first, more = self.paths[0], len(self.paths) - 1
        return f"{first} (and {more} more)" if more else str(first)

    @property
    def known_rows(self) -> int | None:
        """Number of rows, if the files store it."""
        return self._rows if self.where is None and self.kind in PARQUET else None

    @property
    def _rows(self) -> int:
        return sum(map(scans.height_of, self.parts((), folders=False)))

    @cached_property
    def kind(self) -> str:
        """The kind of all files."""
        kinds = {kind_of(path): path for path in self.paths}
        if unknown := [path for kind, path in kinds.items() if kind not in KINDS]:
            advice = SUPPORTED if unknown[0].suffix != ".state" else OF_STATES
            raise SourceError(f"Unknown file type: {str(unknown[0])!r}. {advice}")
        if len(kinds) > 1:
            raise SourceError(f"The files have different types ({', '.join(sorted(kinds))}). Read one type at a time.")
        for option in ("null_values", "text"):
            if getattr(self, option) and min(kinds) not in CSV:
                raise SourceError(Argument(option), f" applies to CSV files, not to {str(self.paths[0])!r}.")
        return min(kinds)

    @cached_property
    def schema(self) -> pl.Schema:
        """The columns of the first file, and of folders. Cached, since it reads headers or footers."""
        if self.kind in CSV:
            names = self._csv[0].names
            first = next((batch for file in self._csv for batch in file.batches(file.names)), None)
            return pl.Schema(dict.fromkeys(names, pl.String())) if first is None else first.schema
        if self.kind in NDJSON:
            return self._ndjson[0].schema()
        if self.kind not in (*PARQUET, *IPC):
            return self._table().collect_schema()
        empty = as_readable(scans.readable_schema(self._schemas[0]).empty_table())
        return pl.Schema({**pl.DataFrame(empty).schema, **self._folders_of(self.paths[0], self._schemas[0], ())})

    @cached_property
    def _csv(self) -> list[Csv]:
        return [Csv(path, self.null_values, dict.fromkeys(self.text, pl.String())) for path in self.paths]

    @cached_property
    def _ndjson(self) -> list[NdJson]:
        return [NdJson(path) for path in self.paths]

    def _table(self) -> pl.LazyFrame:
        return scans.TABLES[self.kind](list(self.paths))

    @cached_property
    def _schemas(self) -> list[pa.Schema]:
        """The schema of each Parquet or Arrow IPC file."""
        return scans.schemas_of(self.paths, self.kind)

    @cached_property
    def _folders(self) -> dict[str, pl.DataType]:
        return types_of_folders(self.paths)

    def parts(self, columns: Sequence[str], names: Sequence[Set[str]] = (), folders: bool = True) -> list[scans.Part]:
        """Return parts of consecutive files, of which a plan has the same types of some columns.

        Values of ``names`` are only names, such as groups, which stay as they are written in CSV files. Columns of one
        set have the same values. Without ``folders``, parts lack their columns, which the number of rows does not need.
        """
        if self.kind in CSV:
            types = types_of_names(self._csv, [each - {*self.text} for each in names])
            typed = [replace(file, types={**types, **file.types}) for file in self._csv]
            return _same_kinds([(file, file.batches) for file in typed])
        if self.kind in NDJSON:
            return _same_kinds([(file, partial(file.batches, names=names)) for file in self._ndjson])
        if self.kind not in (*PARQUET, *IPC):
            return [self._table()]
        parts: list[scans.Part] = []
        files = zip(self.paths, self._schemas, strict=True)
        for (by_pyarrow, _), group in groupby(files, lambda file: self._form_of(file[0], file[1], columns)):
            run = list(group)
            added = self._folders_of(*run[0], columns) if folders else {}
            if by_pyarrow:
                parts += [partial(scans.read_pyarrow, path, self.kind, schema, added) for path, schema in run]
            else:
                used = {name for name in columns or run[0][1].names if name not in added}
                paths = [path for path, _ in run]
                parts.append(scans.scan_polars(paths, self.kind, added, self._folders, used))
        return parts

    def _folders_of(self, path: AnyPath, schema: pa.Schema, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The columns in use that a file does not have, but its folders."""
        names = [name for name, _ in parts_of(path.parent)]
        needed = columns or [name for name in names if names.count(name) == 1]
        return {name: self._folders[name] for name in needed if name in names and name not in schema.names}

    def _form_of(self, path: AnyPath, schema: pa.Schema, columns: Sequence[str]) -> tuple[bool, list[Any]]:
        """Whether pyarrow reads a file, and the types of some columns; None for one that the file lacks."""
        types: dict[str, Any] = dict.fromkeys(self._folders_of(path, schema, columns), "folder")
        types |= {field.name: (field.type, field.metadata) for field in schema}  # an Enum is known by its metadata
        names = schema.names if self.kind in IPC else []  # of which Polars reads no others than in the first file
        bucket = path.parts[:2] if isinstance(path, ObjectPath) else ()  # a scan of Polars has one
        return scans.needs_pyarrow(path, self.kind, schema), [bucket, *names, *(types.get(name) for name in columns)]

    def filtered(self, where: pl.Expr) -> Files:
        """The same files with only the rows of a condition, and with what was read of them already."""
        files, declared = replace(self, where=where), {field.name for field in fields(self)}
        vars(files).update({name: value for name, value in vars(self).items() if name not in declared})
        return files

    def require(self, columns: Sequence[str]) -> None:
        """Reject columns that a file lacks, has several times, or in a type that cannot be read."""
        for i, path in enumerate(self.paths):
            names = self._names(i, columns)
            for name in columns:
                if names.count(name) > 1:
                    raise SourceError(f"{str(path)!r} has several columns named {name!r}. Rename or remove them.")
                if i and name not in names:
                    raise SourceError(f"Cannot read {path}: column {name!r} not found, unlike in {self.paths[0]}.")
            if not i:
                require_columns(columns, names)
        if self.kind in (*PARQUET, *IPC):
            self._require_readable(columns)

    def _names(self, i: int, columns: Sequence[str]) -> list[str]:
        """The columns of a file, of an NDJSON file at least those of some columns that it has."""
        if self.kind in CSV:
            return self._csv[i].names
        if self.kind in NDJSON:
            return self._ndjson[i].schema(columns).names()
        if self.kind not in (*PARQUET, *IPC):
            return self.schema.names()
        path, schema = self.paths[i], self._schemas[i]
        if {*columns} <= {*schema.names}:  # most files
            return list(schema.names)
        return [*schema.names, *(self._folders_of(path, schema, ()) | self._folders_of(path, schema, columns))]

    def _require_readable(self, columns: Iterable[str]) -> None:
        """Reject columns that cannot be read, or have a time zone in some files only."""
        for name in columns:
            zoned: set[bool] = set()
            for path, schema in zip(self.paths, self._schemas, strict=True):
                if (place := schema.get_field_index(name)) < 0:
                    continue
                kind = schema.field(place).type
                if readable(kind) is None:
                    raise SourceError(
                        f"Column {name!r} of {str(path)!r} has the type {kind}, which cannot be read. Write it as "
                        "another type, such as text."
                    )
                zoned |= {kind.tz is not None} if pa.types.is_timestamp(kind) else set()
            if len(zoned) > 1:
                raise SourceError(
                    f"Column {name!r} has a time zone in some files of {self.name} and none in others. "
                    "Write all files with the same time zone."
                )

    def unreadable(self, columns: Sequence[str]) -> str:
        """The first file that cannot be read by itself, or else all files."""
        for path in self.paths if len(self.paths) > 1 else ():
            try:
                for part in replace(self, paths=(path,)).parts(columns):
                    for _ in scans.frames(part, columns, CHUNK):
                        pass
            except UNREADABLE:
                return str(path)
        return self.name

    def place(self, row: int) -> str:
        """The file of a row, its number in the file, and the line of a text file."""
        row, path = part_of_row(row, ((Files((path,))._rows, path) for path in self.paths))
        file = Csv(path) if self.kind in CSV else NdJson(path) if self.kind in NDJSON else None
        return f"row {row} (line {file.line(row)}) of {path}" if file else f"row {row} of {path}"


def _same_kinds(files: Sequence[tuple[Csv | NdJson, Read]]) -> list[scans.Part]:
    """Parts of text files, whose types are only known by block, without numbers, booleans, and lists in one column."""
    kinds: dict[str, str] = {}

    def batches(file: Csv | NdJson, read: Read, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        rows = 0
        for frame in read(columns):
            for column in frame.iter_columns():
                kind = _kind_of_values(column)
                if kind and kinds.setdefault(column.name, kind) != kind:
                    row = rows + int(column.is_not_null().arg_max() or 0)
                    raise SourceError(
                        f"Column {column.name!r} has {kind} at row {row} (line {file.line(row)}) of {file.path}, and "
                        f"{kinds[column.name]} in other rows. Write it with values of one type."
                    )
            rows += frame.height
            yield frame

    return [partial(batches, file, read) for file, read in files]


def _kind_of_values(column: pl.Series) -> str | None:
    """What the values of a column of a text file are. Of text, the role of the column decides."""
    if not has_values(column):
        return None
    if column.dtype.is_nested():
        return "an object or a list"
    return "a Boolean" if column.dtype == pl.Boolean else "a number" if column.dtype.is_numeric() else None


def part_of_row(row: int, parts: Iterable[tuple[int, Item]]) -> tuple[int, Item]:
    """Return the number of a row within its part, and the part.

    >>> part_of_row(12, [(10, "a.csv"), (5, "b.csv")])
    (2, 'b.csv')
    """
    for rows, part in parts:
        if row < rows:
            return row, part
        row -= rows
    raise IndexError(row)
