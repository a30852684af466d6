"""Estimates from few rows of a class. Folds of units do not show their variance."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars import Expr

from streammetrics.metrics import Metric
from streammetrics.metrics.losses import log_loss
from streammetrics.metrics.several_classes import balanced_accuracy
from streammetrics.reading.estimates import by_view, with_label
from streammetrics.reading.independent_rows import in_rows, is_mean_of_recalls, is_weighted
from streammetrics.rows.roles import LABEL
from streammetrics.state.tables import State
from streammetrics.statistics import GROUP, View
from streammetrics.uncertainty import as_proportion

OUTCOMES = {"tp", "fp", "fn", "tn"}
OF_LABELS = ({"tp", "fn"}, {"fp", "tn"}, OUTCOMES)  # outcomes of a proportion whose rows depend on the label alone


def of_few_rows(state: State, fewest: Mapping[Metric, int]) -> pl.DataFrame:
    """Return group columns, kept keys, and metric of the estimates from fewer rows of a class than the metric needs."""
    needed = {metric.name: least for metric, least in fewest.items()}
    parts = [pl.DataFrame(schema={GROUP: state.groups.schema[GROUP], "metric": pl.String})]
    for statistic, view, own in by_view(state, list(fewest)):
        table = state.tables[statistic.name]
        counted = in_rows(statistic, table, [GROUP]) if own and is_weighted(statistic, table) else table
        for averaged in (False, True):
            rows = {m.name: _rows_of(m, view) for m in own if (m.average is not None) == averaged}
            rows = {name: number for name, number in rows.items() if number is not None}
            if rows:
                index = [GROUP] if averaged else [GROUP, *view.kept]
                counts = next(iter(view.cases(counted).values())).group_by(index, maintain_order=True).agg(**rows)
                found = counts.unpivot([*rows], index=index, variable_name="metric", value_name="rows")
                least = pl.col("metric").replace_strict(needed, return_dtype=pl.Int64)
                few = found.filter(pl.col("rows") < least).drop("rows")
                parts.append(with_label(few, state.labels_of(statistic)))
    whole = state.groups.join(pl.concat(parts, how="diagonal_relaxed"), on=GROUP, maintain_order="right").drop(GROUP)
    return whole.select(pl.exclude("metric"), "metric")


def _rows_of(metric: Metric, view: View) -> Expr | None:
    """The number of rows of the smallest class, or of all rows that a metric is a proportion of; None without classes.

    Every row counts in the log loss, so it does not depend on the smaller class alone.
    """
    positives, negatives = pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn")
    if metric.average is not None:
        of_recalls = LABEL in view.kept and is_mean_of_recalls(metric)
        return positives.filter(positives > 0).min() if of_recalls else None
    if metric.formula is balanced_accuracy.formula:
        return pl.col("actual").filter(pl.col("actual") > 0).min()
    if view.columns >= {"neg", "pos"}:
        return _smaller(pl.col("neg"), pl.col("pos"))
    if view.columns >= {"actual", "weight"} and metric.formula is not log_loss.formula:
        return _smaller(pl.col("weight") * pl.col("actual"), pl.col("weight") * (1 - pl.col("actual")))
    if view.columns >= OUTCOMES:
        proportion = as_proportion(metric)
        if proportion is not None and {*proportion[1].meta.root_names()} in OF_LABELS:
            return proportion[1].sum()
        return _smaller(positives, negatives)
    return None


def _smaller(one: Expr, other: Expr) -> Expr:
    return pl.min_horizontal(one.sum(), other.sum())
