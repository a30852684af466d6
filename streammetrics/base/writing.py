"""Atomic writing of files."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from streammetrics.base.foreign import translated
from streammetrics.base.object_store import StorageOptions, object_path
from streammetrics.errors import SourceError, StreamMetricsError

TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.tmp")
ABANDONED = 3600  # seconds since the content was written at once


def write_file(
    path: str | Path,
    content: bytes | memoryview,
    error: type[StreamMetricsError] = SourceError,
    storage_options: StorageOptions = None,
) -> None:
    """Write a file atomically, also in an object store. If writing fails, an existing file stays unchanged.

    The content is written to a hidden file in the same folder, which replaces the old one when it is on disk. Hidden
    files of processes that were killed meanwhile are deleted by a later call. Special files, such as ``/dev/stdout``,
    are written directly.
    """
    with translated(error, f"Cannot write {str(path)!r}"):
        if (uri := object_path(path, storage_options, error)) is not None:
            uri.write(content)
            return
    try:
        target = Path(os.path.realpath(path))  # a link keeps pointing to the file
        if target.exists() and not (target.is_file() or target.is_dir()):
            target.write_bytes(content)
        else:
            _replace(target, content)
    except FileNotFoundError as fault:
        raise error(f"Cannot write {str(path)!r}: folder not found.") from fault
    except OSError as fault:
        raise error(f"Cannot write {str(path)!r}: {(fault.strerror or str(fault)).lower()}.") from fault
    except (TypeError, ValueError) as fault:  # not a path, or an invalid one
        raise error(f"Cannot write {path!r}: {fault}.") from fault


def _replace(target: Path, content: bytes | memoryview) -> None:
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _clean(target.parent, beside.stat().st_mtime)
        if target.exists():
            beside.chmod(target.stat().st_mode)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    with suppress(OSError):  # if folders cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _clean(folder: Path, now: float) -> None:
    """Delete hidden files that are too old to be still written, by the clock of the file system."""
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            if TEMPORARY.fullmatch(file.name):
                with suppress(OSError):  # deleted by another process
                    if now - file.stat().st_mtime > ABANDONED:
                        Path(file.path).unlink()
