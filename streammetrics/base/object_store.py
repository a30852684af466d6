"""Paths in object stores, such as ``s3://bucket/clicks.parquet``, read and written by the client of Delta Lake."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from streammetrics.base.disk import LOG, without_scheme
from streammetrics.base.lazy import Lazy, of_extra
from streammetrics.base.threads import uninterrupted
from streammetrics.errors import Argument, SourceError, StreamMetricsError

fs: Any = Lazy("pyarrow.fs")

StorageOptions: TypeAlias = dict[str, str] | None
URI = re.compile(r"(s3a?|gc?s|az|azure|abfss?|adl):/+([^/:]+)(?:/+(.*))?", re.IGNORECASE | re.DOTALL)
AnyPath: TypeAlias = "Path | ObjectPath"
BLOCK = 1 << 22  # bytes of a request


class ObjectPath(PurePosixPath):
    """A path in an object store, such as ``s3://bucket/day=1/*.csv``. Names are not decoded: ``%20`` is no space."""

    storage_options: StorageOptions = None
    system: Any = None  # of pyarrow
    is_table: bool = False  # of Delta Lake

    def __str__(self) -> str:
        return super().__str__().replace("/", "//", 1)

    @property
    def key(self) -> str:
        """The path in the bucket."""
        return "/".join(self.parts[2:])

    def open(self, mode: str = "rb", buffering: int = BLOCK) -> Any:
        """Open a file for reading."""
        file = self.system.open_input_file(self.key)
        return io.BufferedReader(file, buffering) if buffering else file

    def write(self, content: bytes | memoryview) -> None:
        """Write a file. Until it is complete, the store has the one before."""
        if not self.key:
            raise IsADirectoryError("it is a bucket, not a file")
        with uninterrupted():  # else a file that was opened would be completed without its content
            file = self.system.open_output_stream(self.key, compression=None, buffer_size=len(content) + 1)
            file.write(content)
            file.close()

    def files(self) -> list[ObjectPath]:
        """Return the files and tables of a path, a folder, or a glob, in order, except for hidden names."""
        root, names = ObjectPath(*self.parts[:2]), self.parts[2:]
        [info] = self.system.get_file_info([self.key])
        exists = info.type != fs.FileType.NotFound
        literal = names if exists else tuple(takewhile(lambda name: not {*name} & {*"*?["}, names))
        pattern = ("**",) if exists else names[len(literal) :]
        folder = root.joinpath(*literal)
        within = fs.FileSelector(folder.key, allow_not_found=True, recursive=exists or len(pattern) > 1)
        listed = [info] if info.is_file else self.system.get_file_info(within)
        logs = self.system.get_file_info([(outer / LOG).key for outer in folder.parents[:-2]])
        around = {(root / log.path).parent for log in logs if log.type == fs.FileType.Directory}
        tables = {(root / each.path).parent for each in listed if each.base_name == LOG}
        sizes = {root / each.path: each.size for each in listed if each.is_file}
        matching = {path for path in (*sizes, *tables) if _matches(path.parts[len(folder.parts) :], pattern)}
        for path in matching:
            if inside := (tables - matching | around).intersection(path.parents):
                raise ValueError(
                    f"it has files of the Delta table {str(min(inside))!r}, whose rows may be deleted. Pass the table"
                )
        system = _system(root, self.storage_options, {path.key: size for path, size in sizes.items()})
        found = sorted(path for path in matching if tables.isdisjoint(path.parents))
        return [path._opened(system, self.storage_options, path in tables) for path in found]

    def _opened(self, system: Any, storage_options: StorageOptions, is_table: bool = False) -> ObjectPath:
        self.system, self.storage_options, self.is_table = system, storage_options, is_table
        return self


def object_path(
    path: str | Path | ObjectPath, storage_options: StorageOptions = None, kind: type[StreamMetricsError] = SourceError
) -> ObjectPath | None:
    """Return the path of a URI in an object store, and None for a path of this machine."""
    if isinstance(path, ObjectPath):
        return path
    text = str(without_scheme(path))
    match = URI.fullmatch(text)
    scheme, slashes, _ = text.partition("://")
    if match is None and slashes:  # others can contain credentials
        raise kind(
            f"Unsupported URI ({scheme}://…). Pass a path, or a URI such as s3://bucket/key, with credentials in ",
            Argument("storage_options"),
            ".",
        )
    if match is None:
        return None
    root = ObjectPath(f"{match[1].lower()}:/{match[2]}")
    return (root / (match[3] or ""))._opened(_system(root, storage_options), storage_options)


def read_file(path: str | Path, kind: type[StreamMetricsError]) -> bytes:
    """Return the content of a file, also in an object store with options of the environment."""
    with (object_path(path, kind=kind) or Path(path)).open("rb") as file:
        content: bytes = file.read()
        return content


def _system(root: ObjectPath, storage_options: StorageOptions, sizes: Mapping[str, int] | None = None) -> Any:
    """The file system of a bucket. Files of known sizes are opened without a request."""
    handler = of_extra("store", "deltalake.fs", f"{root} requires").DeltaStorageHandler
    return fs.PyFileSystem(handler(str(root), storage_options, sizes))


def is_hidden(name: str) -> bool:
    """Return whether folders and globs omit a name, as engines do, except for partition columns (``_day=3``)."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _matches(names: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the names of folders and a file match a glob, whose hidden names are written out."""
    if not names or not pattern:
        return not names and {*pattern} <= {"**"}
    name, first = names[0], pattern[0]
    if first == "**":
        return _matches(names, pattern[1:]) or (not is_hidden(name) and _matches(names[1:], pattern))
    return fnmatchcase(name, first) and is_hidden(name) <= is_hidden(first) and _matches(names[1:], pattern[1:])
