"""Files that are given more than once."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from streammetrics.base.object_store import AnyPath, ObjectPath
from streammetrics.errors import StreamMetricsError


def require_each_once(paths: Iterable[AnyPath], kind: type[StreamMetricsError]) -> None:
    """Reject files of which one is repeated, possibly through links."""
    for path, times in Counter(_real_paths(paths)).most_common(1):
        if times > 1:
            raise kind(f"{path!r} is given {times} times, so its rows would be counted {times} times. Pass it once.")


def _real_paths(paths: Iterable[AnyPath]) -> Iterator[str]:
    """Paths without links. The links of each folder are followed once, since there can be many files."""
    real_folder = cache(os.path.realpath)
    for path in paths:
        if isinstance(path, ObjectPath):
            yield str(path)
            continue
        folder, name = os.path.split(path)
        is_link = name in ("", ".", "..") or os.path.islink(path)  # noqa: PTH114, since a Path takes longer
        yield os.path.realpath(path) if is_link else os.path.join(real_folder(folder), name)  # noqa: PTH118
