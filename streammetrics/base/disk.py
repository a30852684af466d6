"""Delta Lake tables in local directories: valid paths, and commits and files that survive a power loss.

Object stores write files atomically. After a power loss, a disk can have the name of a file without its content.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from streammetrics.errors import SpecificationError

P = TypeVar("P")  # a path

LOG = "_delta_log"
UNUSABLE = re.compile(r"[\[\]^|\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}" + (r"|\\" if os.sep == "/" else ""))
# A Path has a single slash: of file://localhost/srv, it makes file:/localhost/srv.
FILE = re.compile(r"file:/(?:/(?:localhost)?/+|localhost/)?(?!/)(?P<path>.*)", re.IGNORECASE | re.DOTALL)
DRIVE = re.compile(r"[A-Za-z]:")


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
    if unusable := UNUSABLE.search(str(path)):
        raise SpecificationError(f"Delta Lake cannot open a path with {unusable[0]!r}, got {str(path)!r}. Rename it.")
    return path


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


def without_scheme(path: P) -> P | str:
    """Return the path of a file URI of this machine. Other paths and URIs stay unchanged.

    Percent signs encode characters, unless they are part of the name of an existing file.

    >>> without_scheme("file:///srv/my%20scores.csv"), without_scheme("file://localhost/srv/*.csv")
    ('/srv/my scores.csv', '/srv/*.csv')
    >>> without_scheme("srv/my%20scores.csv"), without_scheme("file://server/share/a.csv")
    ('srv/my%20scores.csv', 'file://server/share/a.csv')
    """
    match = FILE.fullmatch(str(path))
    if match is None:
        return path
    root = "" if os.sep != "/" and DRIVE.match(match["path"]) else "/"
    written = root + match["path"]
    return written if os.path.exists(written) else unquote(written)  # noqa: PTH110
