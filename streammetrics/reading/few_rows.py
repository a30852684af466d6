"""Estimates from few rows of a class, whose variance folds of units do not show."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
from polars import Expr

from streammetrics.base import SUM_ROUNDING
from streammetrics.metrics import (
    CELLS,
    Metric,
    Sample,
    cells_of,
    log_loss,
    mixes_classes,
    rows_of_heavier_class,
    rows_of_heaviest,
    share_of_negatives,
)
from streammetrics.reading.estimates import with_groups, with_label
from streammetrics.reading.independent_rows import Samples
from streammetrics.statistics import GROUP, State

OUTCOMES = {*CELLS}
OF_LABELS = ({"tp", "fn"}, {"fp", "tn"}, OUTCOMES)  # outcomes of a proportion whose rows depend only on the label
Counting = Callable[[Callable[[str], Expr]], Expr]


def few_rows_of_class(state: State, samples: Samples, fewest: Mapping[Metric, int]) -> pl.DataFrame:
    """Return group columns, kept keys, and metric of the estimates from fewer rows of a class than the metric needs.

    For weighted rows, the effective number of rows of a class counts, so that a few rows of large weight stay few, or
    the number of rows of average weight if it is smaller.
    """
    needed = {metric.name: least for metric, least in fewest.items()}
    parts = [pl.DataFrame(schema={GROUP: state.groups.schema[GROUP], "metric": pl.String})]
    for statistic, sample, own in samples:
        counts = ((m.name, _rows_of(m, sample)) for m in own if m in fewest)
        if rows := {name: count for name, count in counts if count is not None}:
            found = sample.table.group_by(sample.index, maintain_order=True).agg(**rows)
            found = found.unpivot([*rows], index=sample.index, variable_name="metric", value_name="rows")
            least = pl.col("metric").replace_strict(needed, return_dtype=pl.Int64)
            few = found.filter(pl.col("rows") * (1 + SUM_ROUNDING) < least).drop("rows")
            parts.append(with_label(few, state.labels_of(statistic)))
    frame = with_groups(state, pl.concat(parts, how="diagonal_relaxed"))
    return frame.select(pl.exclude("metric"), "metric")


def _rows_of(metric: Metric, sample: Sample) -> Expr | None:
    """The number of rows of the smallest class, or in the denominator of a proportion; None without classes.

    Every row counts in the log loss, so it does not depend on the smaller class alone. The interval of a proportion of
    weighted rows needs rows of both classes, since a few heavy rows of either class can carry it.
    """
    weighted, columns = sample.weighted and bool(sample.squares), {*sample.table.columns}

    def rows(count: Counting) -> Expr:
        total = count(pl.col)
        squares = count(lambda c: pl.col(f"{c}_w2"))
        return pl.min_horizontal(total, total / (squares / total)) if weighted else total

    def outcomes(*names: str) -> Expr:
        return rows(lambda c: pl.sum_horizontal(map(c, names)).sum())

    if sample.pairs is not None:
        if metric.interval.total == "actual" and metric.average in (None, "macro"):
            return rows(lambda c: c("actual")).filter(pl.col("actual") > 0).min()
        return rows_of_heaviest(pl.col("actual"), pl.col("actual_w2")) if weighted else None
    if metric.average is not None:
        return None
    if columns >= {"neg", "pos"}:
        least = pl.min_horizontal(outcomes("neg") * share_of_negatives(metric), outcomes("pos"))
        return pl.min_horizontal(least, rows_of_heavier_class()) if weighted and mixes_classes(metric) else least
    if columns >= {"actual", "weight"} and (
        metric.formula is not log_loss.formula or metric.options["label"] is not None
    ):
        positive = pl.col("actual")
        return pl.min_horizontal(
            rows(lambda c: (c("weight") * positive).sum()), rows(lambda c: (c("weight") * (1 - positive)).sum())
        )
    if columns >= OUTCOMES:
        _, total = cells_of(metric) or ([], [])
        if {*total} in OF_LABELS and not weighted:
            return outcomes(*total)
        return pl.min_horizontal(outcomes("tp", "fn"), outcomes("fp", "tn"))
    return None
