"""Files written whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from streammetrics.errors import SourceError, StreamMetricsError


def write_file(path: str | Path, content: bytes, error: type[StreamMetricsError] = SourceError) -> None:
    """Write a file, or leave the one that is there as it is.

    The content goes to a hidden file in the same folder, which takes the place of the old one once it is on the disk.
    What is no regular file, such as ``/dev/stdout``, is written to directly.

    Raises:
        StreamMetricsError: If the file cannot be written, of the type ``error``.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/a.txt", b"hello")
    ...     os.listdir(folder)
    ['a.txt']
    """
    try:
        target = Path(os.path.realpath(path))  # a link goes on pointing to the file
        if target.exists() and not (target.is_file() or target.is_dir()):
            target.write_bytes(content)
        else:
            _replace(target, content)
    except FileNotFoundError as fault:
        raise error(f"Cannot write {str(path)!r}: folder not found.") from fault
    except OSError as fault:
        raise error(f"Cannot write {str(path)!r}: {(fault.strerror or str(fault)).lower()}.") from fault
    except (TypeError, ValueError) as fault:  # no path, or one that no file can have
        raise error(f"Cannot write {path!r}: {fault}.") from fault


def _replace(target: Path, content: bytes) -> None:
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    with suppress(OSError):  # where folders cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
