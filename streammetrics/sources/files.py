"""Files and tables of predictions: expansion of paths, and scans of each kind."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import polars as pl

from streammetrics.errors import ColumnError, SourceError
from streammetrics.rows.arrow import readable
from streammetrics.rows.columns import OF_STATES, require_columns
from streammetrics.sources import scans
from streammetrics.sources.delimited import TYPED_BY, Form, form_of, names_of, padded, scan_csv, with_rows
from streammetrics.sources.folders import parts_of, types_of_folders
from streammetrics.sources.kinds import CSV, IPC, KINDS, NDJSON, PARQUET, SUPPORTED, kind_of, table_of
from streammetrics.system.lazy import pa
from streammetrics.system.threads import of_each
from streammetrics.system.uris import without_scheme
from streammetrics.text import near_paths

PathLike: TypeAlias = str | Path
Part = TypeVar("Part")

ROW = "__streammetrics_row__"  # number of a row in its source, for the place of an invalid row
WILDCARDS = "*?["
LINES_BEFORE = {**dict.fromkeys(CSV, 1), **dict.fromkeys(NDJSON, 0)}  # the rows of files in which each row is a line


@dataclass(frozen=True)
class Files:
    """Files of one kind, or folders of tables, as a source.

    ``null_values`` stand for null in CSV files, whose columns in ``text`` are text.
    """

    paths: tuple[Path, ...]
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
        return sum(plan.select(pl.len()).collect().item() for plan in self.scans((), folders=False))

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
                raise SourceError(f"{option}= applies to CSV files, not to {str(self.paths[0])!r}.")
        return min(kinds)

    @cached_property
    def schema(self) -> pl.Schema:
        """The columns of the first file, and of folders. Cached, since it reads headers or footers."""
        return self.scans(())[0].collect_schema()

    @cached_property
    def _schemas(self) -> list[Any]:
        """The schema of each file, for kinds of files that store types."""
        return scans.schemas_of(self.paths, self.kind)

    @cached_property
    def _folders(self) -> dict[str, pl.DataType]:
        return types_of_folders(self.paths)

    @cached_property
    def _forms(self) -> dict[Path, Form]:
        paths = with_rows(self.paths)
        return dict(zip(paths, of_each(form_of, paths), strict=True))

    @cached_property
    def _text(self) -> list[str]:
        """The columns of CSV files that are text in any case."""
        return [*self.text, *padded(self._forms, self.null_values)]

    def scans(self, columns: Sequence[str], names: Sequence[Set[str]] = (), folders: bool = True) -> list[pl.LazyFrame]:
        """Return plans of consecutive files in which some columns have the same types.

        Values of ``names`` are only names, such as groups, which stay as they are written in CSV files. Columns of one
        set have the same values. Without ``folders``, plans lack their columns, which the number of rows does not need.
        """
        if self.kind in CSV:
            return [scan_csv(self._forms, self.null_values, names, self._text, columns)]
        if self.kind not in (*PARQUET, *IPC, *NDJSON):
            return [scans.TABLES[self.kind](list(self.paths))]
        plans: list[pl.LazyFrame] = []
        files = zip(self.paths, self._schemas, strict=True)
        for (by_pyarrow, _), alike in groupby(files, lambda file: self._form_of(file[0], file[1], columns)):
            run = list(alike)
            paths = [path for path, _ in run]
            if self.kind in NDJSON:
                plans.append(scans.scan_ndjson(paths, run[0][1], names))
                continue
            added = self._folders_of(*run[0], columns) if folders else {}
            if by_pyarrow:
                plans += [scans.scan_pyarrow(path, schema, added) for path, schema in run]
            else:
                used = {name for name in columns or run[0][1].names if name not in added}
                plans.append(scans.scan_polars(paths, self.kind, added, self._folders, used))
        return plans

    def _folders_of(self, path: Path, schema: Any, columns: Sequence[str]) -> dict[str, pl.DataType]:
        """The columns in use that a file does not have, but its folders."""
        names = [name for name, _ in parts_of(path.parent)]
        wanted = columns or [name for name in names if names.count(name) == 1]
        return {name: self._folders[name] for name in wanted if name in names and name not in schema.names}

    def _form_of(self, path: Path, schema: Any, columns: Sequence[str]) -> tuple[bool, list[Any]]:
        """Whether pyarrow reads a file, and the types of some columns; None for one that the file lacks."""
        if self.kind in NDJSON:
            return False, [schema.get(name) for name in columns]
        types: dict[str, Any] = dict.fromkeys(self._folders_of(path, schema, columns), "folder")
        types |= {field.name: (field.type, field.metadata) for field in schema}  # an Enum is known by its metadata
        names = schema.names if self.kind in IPC else []  # of which Polars reads no others than in the first file
        return scans.needs_pyarrow(path, self.kind, schema), [*names, *(types.get(name) for name in columns)]

    def filtered(self, where: pl.Expr) -> Files:
        """The same files with only the rows of a condition, and with what was read of them already."""
        found, own = replace(self, where=where), {field.name for field in fields(self)}
        vars(found).update({name: value for name, value in vars(self).items() if name not in own})
        return found

    @property
    def repeated(self) -> dict[str, Path]:
        """Names that several columns of a file share, with the file. Of CSV files, Polars reads only the first."""
        if self.kind in CSV:
            columns = {self.paths[0]: names_of(self.paths[0])}
        else:
            schemas = self._schemas if self.kind in (*PARQUET, *IPC) else ()
            columns = {path: schema.names for path, schema in zip(self.paths, schemas, strict=False)}
        return {name: path for path, names in columns.items() for name in names if names.count(name) > 1}

    def require_readable(self, columns: Iterable[str]) -> None:
        """Reject columns of Parquet and Arrow IPC files that cannot be read, or have a time zone in some files only."""
        if self.kind not in (*PARQUET, *IPC):
            return
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

    def require_columns(self, columns: Sequence[str]) -> None:
        """Reject missing columns. Of NDJSON files, the first rows determine the columns."""
        try:
            require_columns(columns, self.schema.names())
        except ColumnError as error:
            with self.paths[0].open("rb") as file:
                rows = sum(1 for _ in islice(file, TYPED_BY + 1)) if self.kind in NDJSON else 0
            if rows <= TYPED_BY:
                raise
            raise ColumnError(
                f"{error} These are the columns of the first {TYPED_BY:,} rows. For later ones, in Python, pass "
                "polars.scan_ndjson(path, infer_schema_length=None)."
            ) from error

    def place(self, row: int) -> str:
        """The file of a row, its number in the file, and its line if that is known."""
        row, path = in_parts(row, ((Files((path,))._rows, path) for path in self.paths))
        before = LINES_BEFORE.get(path.suffix.lower())
        line = f" (line {row + before + 1})" if before is not None and _lines_besides_rows(path) == before else ""
        return f"row {row}{line} of {path}"

    def misfit(self, columns: Sequence[str]) -> tuple[str, str, str] | None:
        """A column of CSV files, the first text in it that is not of its type, and the place of its row."""
        texts = scan_csv(self._forms, self.null_values, typed_by=0).with_row_index(ROW)
        for name, dtype in self.schema.items():
            if dtype.is_numeric() and (name in columns or not columns):
                wrong = pl.col(name).is_not_null() & pl.col(name).cast(dtype, strict=False).is_null()
                for row, text in texts.filter(wrong).select(ROW, name).head(1).collect().rows():
                    return name, text, self.place(row)
        return None


def _lines_besides_rows(path: Path) -> int:
    """Number of lines of a text file that are not one per row: its header, and line breaks in values."""
    with path.open("rb") as file:
        return sum(1 for _ in file) - Files((path,))._rows


def in_parts(row: int, parts: Iterable[tuple[int, Part]]) -> tuple[int, Part]:
    """Return the number of a row within its part, and the part.

    >>> in_parts(12, [(10, "a.csv"), (5, "b.csv")])
    (2, 'b.csv')
    """
    for rows, part in parts:
        if row < rows:
            return row, part
        row -= rows
    raise IndexError(row)


def expand(pattern: PathLike) -> list[Path]:
    """Return the files and tables of a path, a folder, or a glob, in order. Each can be a file URI.

    In folders and for wildcards, names that start with ``_`` or ``.`` are skipped, as engines do, except for partition
    columns (``_day=3``). Names that are written out in the pattern are read.
    """
    if not str(pattern):
        raise SourceError("A path must not be empty. Pass '.' for the current folder.")
    pattern = without_scheme(pattern)
    if "://" in str(pattern):
        raise SourceError(f"{str(pattern)!r} is a URL. In Python, pass a LazyFrame, such as polars.scan_parquet(url).")
    path = Path(pattern).expanduser()
    if path.is_dir():
        if not (found := _each_once(path, list(_inside(path)))):
            raise SourceError(f"Folder {str(pattern)!r} has no data files. {SUPPORTED}")
    elif path.is_file():
        found = [path]
    elif path.exists():
        raise SourceError(f"{str(pattern)!r} is neither a file nor a folder.")
    elif any(c in str(pattern) for c in WILDCARDS):
        matched = _matching(path)
        found = [path for path in matched if path.is_file() or table_of(path) or not path.exists()]
        if matched and not found:
            raise SourceError(
                f"{str(pattern)!r} matches folders only. Add a pattern for their files, such as '/*.parquet'."
            )
    else:
        raise SourceError(f"File {str(pattern)!r} not found.{near_paths(pattern)}")
    if not found:
        raise SourceError(f"No file matches {str(pattern)!r}.")
    parents = {folder.absolute() for folder in {file.parent for file in found}}
    for folder in parents.union(*(parent.parents for parent in parents)):
        if kind := table_of(folder):
            raise SourceError(
                f"{str(pattern)!r} has files of the {kind} table {str(folder)!r}, whose rows may be deleted. "
                "Pass the folder of the table, or a LazyFrame of some of its rows."
            )
    return found


def _inside(folder: Path, around: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Files and tables in a folder, also in linked ones, except for links to a folder around the link."""
    if table_of(folder):
        yield folder
        return
    if (real := folder.resolve()) in around:
        return
    for path in sorted(folder.iterdir(), key=lambda path: path.name):  # much faster than by paths
        if _hidden(path.name):
            continue
        if path.is_dir():
            yield from _inside(path, (*around, real))
        elif kind_of(path) in KINDS and (path.is_file() or not path.exists()):
            yield path


def _each_once(folder: Path, paths: list[Path]) -> list[Path]:
    """Paths without links to others of them, such as a folder ``latest``."""
    inside = folder.resolve()
    folders = {parent: parent.resolve() for parent in {path.parent for path in paths}}
    real = {path: path.resolve() if path.is_symlink() else folders[path.parent] / path.name for path in paths}
    linked = {path for path in paths if real[path] != inside / path.relative_to(folder)}
    seen = {real[path] for path in paths if path not in linked}
    once = {real[path]: path for path in reversed(paths) if path in linked and real[path] not in seen}
    return [path for path in paths if path not in linked or once.get(real[path]) == path]


def _matching(pattern: Path) -> list[Path]:
    anchor = Path(pattern.anchor)
    wanted = pattern.relative_to(anchor).parts
    spelled = [part for part in wanted if _hidden(part)]

    def shown(path: Path) -> bool:
        parts = path.relative_to(anchor).parts
        return not any(_hidden(part) and not any(fnmatch.fnmatch(part, s) for s in spelled) for part in parts)

    found = sorted({path for path in _glob(anchor, wanted) if shown(path)})
    return _each_once(anchor, found)


def _glob(folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Paths in a folder that match a pattern, also in linked folders, which `Path.glob` omits for ``**``."""
    if "**" not in parts[:-1]:
        yield from folder.glob(str(Path(*parts)))
        return
    place = parts.index("**")
    for outer in folder.glob(str(Path(*parts[:place]))) if place else [folder]:
        for inner in _folders_in(outer):
            yield from _glob(inner, parts[place + 1 :])


def _folders_in(folder: Path, around: tuple[Path, ...] = ()) -> Iterator[Path]:
    if not folder.is_dir() or (real := folder.resolve()) in around:
        return
    yield folder
    for path in folder.iterdir():
        yield from _folders_in(path, (*around, real))


def _hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
