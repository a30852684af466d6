"""The limit on the number of groups, and the overflow group."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import polars as pl

from streammetrics.arguments import whole
from streammetrics.errors import DataError, SpecificationError

MAX_GROUPS = 1_000_000  # default
MOST_GROUPS = (1 << 32) - 1  # their numbers have 32 bits


class GroupLimit(NamedTuple):
    """Maximum number of groups, not counting models and folds, and what to do with more: raise, or merge them into one.

    With ``overflow="other"``, the first groups in sort order stay separate. The result therefore does not depend on the
    order of rows and merges.
    """

    most: int | None = None
    overflow: Literal["raise", "other"] = "raise"

    @classmethod
    def of(cls, most: Any, overflow: Any) -> GroupLimit:
        """The limit that a user gives."""
        if overflow not in ("raise", "other"):
            raise SpecificationError(f"overflow= must be 'raise' or 'other', got {overflow!r}.")
        return cls(None if most is None else whole("max_groups=", most, least=1, most=MOST_GROUPS), overflow)

    def joint(self, other: GroupLimit) -> GroupLimit:
        """Return the limit of a merge: this one, or the smallest one under which a part has merged groups."""
        others = [limit.most for limit in (self, other) if limit.overflow == "other" and limit.most is not None]
        return GroupLimit(min(others), "other") if others else self

    def require(self, groups: pl.DataFrame) -> None:
        """Reject distinct groups that are too many."""
        if self.most is not None and groups.height > self.most:
            widest = max(groups, key=pl.Series.n_unique).name
            raise DataError(
                f"Grouping by {', '.join(groups.columns)} gives more than {self.most:,} groups; {widest!r} has the "
                "most values. Group by fewer or coarser columns, raise max_groups=, or pass overflow='other'."
            )


NO_LIMIT = GroupLimit()


def require_text(types: pl.Schema) -> None:
    """Reject group columns that cannot contain the name of the overflow group."""
    for name, dtype in types.items():
        if dtype not in (pl.String, pl.Null):
            raise DataError(
                f"overflow='other' requires String group columns, got {dtype} for {name!r}. "
                "Cast the column, or raise max_groups=."
            )
