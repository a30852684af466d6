"""Delta Lake tables in local directories: valid paths, and commits and files that survive a power loss.

Object stores write files atomically. After a power loss, a disk can have the name of a file without its content.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import polars as pl

from streammetrics.errors import SpecificationError, StateError

LOG = "_delta_log"
PARQUET = b"PAR1"  # last bytes of a file
UNUSABLE = re.compile(r"[\[\]^|\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}" + (r"|\\" if os.sep == "/" else ""))
COUNTED = {  # fields of a commit for the number of added and removed files, by operation
    "add": ("num_added_files", "numFilesAdded"),
    "remove": ("num_removed_files", "numFilesRemoved"),
}


def directory(uri: str | Path) -> Path | None:
    """Return the local directory of a URI, or None for an object store.

    >>> directory("file:///srv/my%20history"), directory("s3://bucket/history")
    (PosixPath('/srv/my history'), None)
    """
    if isinstance(uri, str) and "://" in uri:
        parts = urlsplit(uri)
        if parts.scheme != "file":
            return None
        uri = unquote(parts.path)
    path = Path(uri).absolute()
    if found := UNUSABLE.search(str(path)):
        raise SpecificationError(f"Delta Lake cannot open a path with {found[0]!r}, got {str(path)!r}. Rename it.")
    return path


def require_whole_commits(folder: Path) -> None:
    """Reject a table with an empty or truncated commit, which would be read as a smaller one.

    Only commits since the last checkpoint are checked, since Delta Lake reads only these.
    """
    files = {path.name: path for path in (folder / LOG).glob("*.*")}
    checkpoints = [n for n, path in files.items() if re.match(r"\d{20}\.checkpoint\b", n) and path.stat().st_size]
    last = max(checkpoints, default="")[:20]
    for name in sorted(files):
        if re.fullmatch(r"\d{20}\.json", name) and name[:20] > last and not _is_whole(files[name].read_bytes()):
            advice = (
                'Replace its content with {"commitInfo":{}} and append the last batches again; known ones are skipped.'
                if int(name[:20])
                else f"It has the table's metadata: restore it, or delete {folder} and append all batches again."
            )
            raise StateError(f"{files[name]} is empty or truncated, for example after a power loss. {advice}")


def require_whole_checkpoints(folder: Path) -> None:
    """Reject a table that Delta Lake cannot open because a checkpoint is empty or truncated."""
    for path in sorted((folder / LOG).glob("*.checkpoint.parquet")):
        if not path.read_bytes().endswith(PARQUET):
            raise StateError(
                f"{path} is empty or truncated, for example after a power loss. Delete it and the file "
                "_last_checkpoint beside it. The commits are then read instead."
            )


def _is_whole(commit: bytes) -> bool:
    """Whether a commit is complete. Appends of this library end with the ID of the batch."""
    try:
        actions = [next(iter(json.loads(line).items())) for line in commit.splitlines()]
        info = dict(actions).get("commitInfo", {})
        said, mode = info.get("operationMetrics", {}), info.get("operationParameters", {}).get("mode")
    except (ValueError, TypeError, AttributeError, StopIteration):
        return False
    found = Counter(kind for kind, _ in actions)
    agree = all(said.get(name, found[kind]) == found[kind] for kind, names in COUNTED.items() for name in names)
    return bool(actions) and agree and (mode != "Append" or found["txn"] > 0)


def require_whole_files(folder: Path, table: Any) -> None:
    """Reject a table with a data file of the wrong size, which would terminate the reading threads."""
    for path, size in pl.DataFrame(table.get_add_actions()).select("path", "size_bytes").iter_rows():
        file = folder / unquote(path)
        if file.exists() and file.stat().st_size != size:
            raise StateError(f"{file} has {file.stat().st_size:,} bytes instead of {size:,}. Restore it from a backup.")


def settle(folder: Path, versions: Iterable[int]) -> None:
    """Wait until commits, and the files that they add, are on disk."""
    for version in versions:
        for path in (folder / LOG).glob(f"{version:020}.*"):
            if path.suffix == ".json":
                actions = map(json.loads, path.read_bytes().splitlines())
                for file in [folder / unquote(action["add"]["path"]) for action in actions if "add" in action]:
                    _sync(file)
            _sync(path)
    if hasattr(os, "O_DIRECTORY"):  # other systems cannot open directories
        for path in (folder, folder / LOG):
            _sync(path)


def _sync(path: Path) -> None:
    """Wait until a file is on disk, unless it was deleted, such as the attempt of another writer at the same commit."""
    with suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.sep == "/" else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
