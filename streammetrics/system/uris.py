"""Local paths in URIs, as Spark, Delta Lake, and browsers write them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

# A Path has a single slash: of file://localhost/srv, it makes file:/localhost/srv.
FILE = re.compile(r"file:/(?:/(?:localhost)?/+|localhost/)?(?!/)(?P<path>.*)", re.IGNORECASE | re.DOTALL)
DRIVE = re.compile(r"[A-Za-z]:")


def without_scheme(path: str | Path) -> str | Path:
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
