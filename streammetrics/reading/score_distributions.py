"""Distributions of scores, predictions, labels, and errors in a state, and in pairs of states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from streammetrics.base import RIGHT
from streammetrics.core import Lattice
from streammetrics.data import common_types, typed
from streammetrics.errors import Argument, ReportError
from streammetrics.statistics import GROUP, Histogram, State

CELLS = 2_000_000  # bins that are merged at once
ALL = 1 << 30  # more bins than any group has
FIRST = ("y_score", "y_pred")  # distributions that reports of drift list first
PAIRED: tuple[str, ...] = (
    *("pair", "cells", "rows", "reference", "reference_cells", "reference_rows"),
    *("current", "current_cells", "current_rows"),
)
"""Columns that `paired` uses, whose names group columns cannot have."""


@dataclass(frozen=True)
class Distribution:
    """Number of rows of each group by value.

    ``groups`` has the number of each group (column ``group``) and the group columns. ``bins`` has the columns group,
    shift, bin, and count.
    """

    lattice: Lattice
    groups: pl.DataFrame
    bins: pl.DataFrame

    @property
    def keys(self) -> list[str]:
        """The group columns."""
        return [c for c in self.groups.columns if c != GROUP]

    @property
    def sizes(self) -> pl.DataFrame:
        """Columns group, cells and rows (or their weight) of the groups that have any."""
        return self.bins.group_by(GROUP).agg(cells=pl.len(), rows=pl.sum("count"))


def distributions(state: State) -> dict[str, Distribution]:
    """The distributions of a state by name: ``y_score``, ``y_pred``, ``y_true``, and ``error``.

    Labels are 0 or 1. If there are several, distributions are one-vs-rest.
    """
    named: dict[str, Distribution] = {}
    for statistic in state.statistics:
        table, groups = state.table(statistic), state.groups_of(statistic)
        for of, (lattice, bins) in statistic.distributions(table).items():
            named.setdefault(of, Distribution(lattice, groups, bins.filter(pl.col("count") > 0)))
    return {of: named[of] for of in (*FIRST, *named) if of in named}


def paired(reference: Distribution, current: Distribution) -> pl.DataFrame:
    """Pair the groups of two distributions that have equal values of the group columns of the reference.

    Returns:
        ``pair``, the group columns of the current distribution, the numbers of both groups (``reference``,
        ``current``), their rows (``reference_rows``, ``current_rows``), and the number of all their bins (``cells``). A
        group without a partner is included if it is on the current side, or if both sides have the same group columns.
    """
    if foreign := [c for c in reference.keys if c not in current.keys]:
        raise ReportError(f"The reference has the group column {foreign[0]!r}, which the current side lacks.")
    types = common_types([d.groups.select(reference.keys) for d in (reference, current)])
    ours, theirs = (
        typed(d.groups, types)
        .join(d.sizes, on=GROUP, how="left", maintain_order="left")
        .rename({GROUP: side, "cells": f"{side}_cells", "rows": f"{side}_rows"})
        for side, d in (("reference", reference), ("current", current))
    )
    if reference.keys:
        how: Literal["full", "left"] = "full" if len(reference.keys) == len(current.keys) else "left"
        on = reference.keys
        pairs = theirs.join(
            ours, on=on, how=how, coalesce=True, nulls_equal=True, maintain_order="left_right", suffix=RIGHT
        )
    else:
        pairs = theirs.join(ours, how="cross")
    cells = pl.sum_horizontal("reference_cells", "current_cells")
    return pairs.select(
        *current.keys, "reference", "current", "reference_rows", "current_rows", cells=cells
    ).with_row_index("pair")


def side_by_side(sides: Mapping[str, Distribution], pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The bins of pairs of groups at a common resolution, a few pairs at a time.

    Each side has a name, which is the column of ``pairs`` with the numbers of its groups.

    Returns:
        Columns group (the pair), shift, bin, the rows of each side or their weight, low, and high, in ascending order.
    """
    domains = {d.lattice.domain for d in sides.values()}
    if len(domains) > 1:
        raise ReportError(
            "Cannot compare values of the domain 'probability' with values of the domain 'real'. Use the same ",
            Argument("domain"),
            " for both.",
        )
    atoms = set.intersection(*({*d.lattice.atoms} for d in sides.values()))
    common = Histogram(ALL, domains.pop(), tuple(atoms))
    blocks = pairs.with_columns(block=pl.col("cells").cum_sum() // CELLS)
    for block in blocks.partition_by("block", maintain_order=True) or [pairs]:
        yield common.edges(common.merge(_together(sides, block)))


def _together(sides: Mapping[str, Distribution], pairs: pl.DataFrame) -> pl.DataFrame:
    """The concatenated bins of all sides, each with 0 rows of the others."""
    parts = []
    for side, d in sides.items():
        bins = pairs.select(side, "pair").join(d.bins, left_on=side, right_on=GROUP)
        counts = {name: pl.col("count") if name == side else pl.lit(0) for name in sides}
        parts.append(bins.select(pl.col("pair").alias(GROUP), "shift", "bin", **counts))
    return pl.concat(parts, how="vertical_relaxed")
