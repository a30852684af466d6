"""Estimates from few rows of a class, whose variance folds of units do not show."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl
from polars import Expr

from streammetrics.metrics import Metric
from streammetrics.metrics.losses import log_loss
from streammetrics.metrics.several_classes import balanced_accuracy
from streammetrics.reading.estimates import by_view, with_label
from streammetrics.reading.independent_rows import (
    in_rows,
    mixes_classes,
    rows_of_heavier_class,
    rows_of_heaviest,
    total_of,
    with_squares,
)
from streammetrics.reading.intervals import share_of_negatives
from streammetrics.rows.roles import LABEL
from streammetrics.state.tables import State
from streammetrics.statistics import GROUP, View
from streammetrics.statistics.statistic import is_weighted
from streammetrics.statistics.view import first_case
from streammetrics.uncertainty.influence import ROUNDING
from streammetrics.uncertainty.proportions import CELLS, as_proportion

OUTCOMES = {*CELLS}
OF_LABELS = ({"tp", "fn"}, {"fp", "tn"}, OUTCOMES)  # outcomes of a proportion whose rows depend only on the label
Counting = Callable[[Callable[[str], Expr]], Expr]


def of_few_rows(state: State, fewest: Mapping[Metric, int]) -> pl.DataFrame:
    """Return group columns, kept keys, and metric of the estimates from fewer rows of a class than the metric needs.

    For weighted rows, the effective number of rows of a class counts, so that a few rows of large weight stay few, or
    the number of rows of average weight if it is smaller.
    """
    needed = {metric.name: least for metric, least in fewest.items()}
    parts = [pl.DataFrame(schema={GROUP: state.groups.schema[GROUP], "metric": pl.String})]
    for statistic, view, own in by_view(state, list(fewest)):
        table = state.table(statistic)
        weighted = bool(own and statistic.twins) and is_weighted(statistic, table)
        for averaged in (False, True):
            rows = {m.name: _rows_of(m, view, weighted) for m in own if (m.average is not None) == averaged}
            rows = {name: number for name, number in rows.items() if number is not None}
            if rows:
                index = [GROUP] if averaged else [GROUP, *view.kept]
                if weighted:
                    counted = with_squares(statistic, view, in_rows(statistic, table, [GROUP]))
                else:
                    counted = first_case(view, table)
                counts = counted.group_by(index, maintain_order=True).agg(**rows)
                found = counts.unpivot([*rows], index=index, variable_name="metric", value_name="rows")
                least = pl.col("metric").replace_strict(needed, return_dtype=pl.Int64)
                few = found.filter(pl.col("rows") * (1 + ROUNDING) < least).drop("rows")
                parts.append(with_label(few, state.labels_of(statistic)))
    whole = state.groups.join(pl.concat(parts, how="diagonal_relaxed"), on=GROUP, maintain_order="right").drop(GROUP)
    return whole.select(pl.exclude("metric"), "metric")


def _rows_of(metric: Metric, view: View, weighted: bool) -> Expr | None:
    """The number of rows of the smallest class, or in the denominator of a proportion; None without classes.

    Every row counts in the log loss, so it does not depend on the smaller class alone. The interval of a proportion of
    weighted rows needs rows of both classes, since a few heavy rows of either class can carry it.
    """

    def rows(count: Counting) -> Expr:
        total = count(pl.col)
        squares = count(lambda c: pl.col(f"{c}_w2"))
        return pl.min_horizontal(total, total / (squares / total)) if weighted else total

    def smallest(count: Counting) -> Expr:
        return rows(count).filter(count(pl.col) > 0).min()

    def outcomes(*names: str) -> Expr:
        return rows(lambda c: pl.sum_horizontal(map(c, names)).sum())

    if metric.average is not None:
        if LABEL in view.kept and total_of(metric) == "actual":
            return smallest(lambda c: c("tp") + c("fn"))
        if weighted and LABEL in view.kept:
            return rows_of_heaviest(pl.col("tp") + pl.col("fn"), pl.col("tp_w2") + pl.col("fn_w2"))
        return None
    if metric.formula is balanced_accuracy.formula:
        return smallest(lambda c: c("actual"))
    if weighted and view.columns >= {"correct", "actual"}:
        return rows_of_heaviest(pl.col("actual"), pl.col("actual_w2"))
    if view.columns >= {"neg", "pos"}:
        least = pl.min_horizontal(outcomes("neg") * share_of_negatives(metric), outcomes("pos"))
        return pl.min_horizontal(least, rows_of_heavier_class()) if weighted and mixes_classes(metric) else least
    if view.columns >= {"actual", "weight"} and (
        metric.formula is not log_loss.formula or metric.options["label"] is not None
    ):
        positive = pl.col("actual")
        return pl.min_horizontal(
            rows(lambda c: (c("weight") * positive).sum()), rows(lambda c: (c("weight") * (1 - positive)).sum())
        )
    if view.columns >= OUTCOMES:
        proportion = as_proportion(metric)
        own = set() if proportion is None else {*proportion[1].meta.root_names()}
        if own in OF_LABELS and not weighted:
            return outcomes(*own)
        return pl.min_horizontal(outcomes("tp", "fn"), outcomes("fp", "tn"))
    return None
