"""The files and tables that a path, a folder, or a glob stands for."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from streammetrics.base import AnyPath, ObjectPath, StorageOptions, is_hidden, near_paths, object_path, without_scheme
from streammetrics.data.sources.kinds import KINDS, SUPPORTED, kind_of, table_of
from streammetrics.errors import SourceError

PathLike: TypeAlias = str | Path | ObjectPath

WILDCARDS = "*?["


def expand(pattern: PathLike, storage_options: StorageOptions) -> Sequence[AnyPath]:
    """Return the files and tables of a path, a folder, or a glob, in order. Each can be a file URI.

    In folders and for wildcards, names that start with ``_`` or ``.`` are skipped, as engines do, except for partition
    columns (``_day=3``). Names that are written out in the pattern are read.
    """
    if not str(pattern):
        raise SourceError("A path must not be empty. Pass '.' for the current folder.")
    pattern = without_scheme(pattern)
    if (uri := object_path(pattern, storage_options)) is not None:
        objects = [each for each in uri.files() if uri not in each.parents or kind_of(each) in KINDS]
        if not objects:
            raise SourceError(f"No file matches {str(uri)!r}. {SUPPORTED}")
        return objects
    path = Path(str(pattern)).expanduser()
    if path.is_dir():
        if not (files := _each_once(path, list(_inside(path)))):
            raise SourceError(f"Folder {str(pattern)!r} has no data files. {SUPPORTED}")
    elif path.is_file():
        files = [path]
    elif path.exists():
        raise SourceError(f"{str(pattern)!r} is neither a file nor a folder.")
    elif any(c in str(pattern) for c in WILDCARDS):
        matched = _matching(path)
        files = [path for path in matched if path.is_file() or table_of(path) or not path.exists()]
        if matched and not files:
            raise SourceError(
                f"{str(pattern)!r} matches folders only. Add a pattern for their files, such as '/*.parquet'."
            )
    else:
        raise SourceError(f"File {str(pattern)!r} not found.{near_paths(path)}")
    if not files:
        raise SourceError(f"No file matches {str(pattern)!r}.")
    parents = {folder.absolute() for folder in {file.parent for file in files}}
    for folder in parents.union(*(parent.parents for parent in parents)):
        if kind := table_of(folder):
            raise SourceError(
                f"{str(pattern)!r} has files of the {kind} table {str(folder)!r}, whose rows may be deleted. "
                "Pass the folder of the table, or a LazyFrame of some of its rows."
            )
    return files


def _inside(folder: Path, around: tuple[Path, ...] = ()) -> Iterator[Path]:
    """Files and tables in a folder, also in linked ones, except for links to a folder around the link."""
    if table_of(folder):
        yield folder
        return
    if (real := folder.resolve()) in around:
        return
    for path in sorted(folder.iterdir(), key=lambda path: path.name):  # much faster than by paths
        if is_hidden(path.name):
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
    parts = pattern.relative_to(anchor).parts
    spelled = [part for part in parts if is_hidden(part)]

    def is_visible(path: Path) -> bool:
        parts = path.relative_to(anchor).parts
        return not any(is_hidden(part) and not any(fnmatch.fnmatch(part, s) for s in spelled) for part in parts)

    paths = sorted({path for path in _glob(anchor, parts) if is_visible(path)})
    return _each_once(anchor, paths)


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
