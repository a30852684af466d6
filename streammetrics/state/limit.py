"""The limit on the number of groups."""

from __future__ import annotations

from typing import Any

import polars as pl

from streammetrics.arguments import whole
from streammetrics.errors import DataError

MAX_GROUPS = 1_000_000  # default
MOST_GROUPS = (1 << 32) - 1  # their numbers have 32 bits


def group_limit(max_groups: Any) -> int | None:
    """Return the maximum number of groups, not counting models and folds; None for no limit."""
    return None if max_groups is None else whole("max_groups=", max_groups, least=1, most=MOST_GROUPS)


def require_few_groups(groups: pl.DataFrame, max_groups: int | None) -> None:
    """Reject distinct groups that are too many."""
    if max_groups is not None and groups.height > max_groups:
        widest = max(groups, key=pl.Series.n_unique).name
        raise DataError(
            f"Grouping by {', '.join(groups.columns)} gives more than {max_groups:,} groups; {widest!r} has the "
            "most values. Group by fewer or coarser columns, or raise max_groups=."
        )
