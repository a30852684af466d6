"""Confidence intervals of metrics for independent rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polars import Expr

from streammetrics.metrics import Metric
from streammetrics.statistics import GROUP
from streammetrics.uncertainty.influence import Read
from streammetrics.uncertainty.methods import BY_COLUMNS, OF_OUTCOMES, SEPARATE, Closed, Influence, share
from streammetrics.uncertainty.proportions import as_proportion

OLD = "the state lacks required sums, like states of earlier versions"
ALIKE = "they do not vary"
NOISE = "the maximum could come from noise"
AT_END = "the metric does not vary at the end of its range"
NEEDS_UNITS = "pass unit= for a confidence interval"
PAIRS_OF_LABELS = 600  # maximum number of pairs of labels of a group whose influence is computed one by one
PLACES = {"actual", "rank", *(f"{what}_{end}" for what in ("error", "value") for end in ("low", "high")), "weighted"}


def closed(metric: Metric, twins: Mapping[str, str] | None = None) -> Closed | None:
    """Return limits as expressions over a table; None if they are computed otherwise, or not available.

    If rows have weights, ``twins`` are the columns of squared weights.
    """
    if metric.average is not None or metric.interval.without or twins == {}:
        return None
    if twins is not None:
        return metric.interval.weighted
    if metric.interval.closed is None and set(metric.columns) <= OF_OUTCOMES.columns:
        proportion = as_proportion(metric)
        return None if proportion is None else share(*proportion).closed
    return metric.interval.closed


def influence(metric: Metric, twins: Mapping[str, str] | None = None) -> Influence | None:
    """Return how to compute the influence of a row on a metric; None if it is not used. For ``twins``, see `closed`."""
    own = metric.interval
    elsewhere = closed(metric, twins) is not None or (twins is None and own.of_auc)
    if metric.average is not None or own.without or own.without_units or elsewhere:
        return None
    ways = (own.influence,) if own.influence else (way for way in BY_COLUMNS if _fits(metric, way))
    found = (way if twins is None else way.of_weights(twins) for way in ways)
    return next((way for way in found if way is not None), None)


def fewest(metric: Metric, way: Influence) -> int:
    """Minimum number of rows of each class for the influence on a metric.

    Losses of one class have heavy tails if the other class is rare, so they need as many rows as balanced losses.
    """
    if way.classes and metric.options.get("label") is not None:
        return way.fewest
    return way.fewest if metric.interval.fewest is None else metric.interval.fewest


def share_of_negatives(metric: Metric) -> float:
    """Share of the negatives on which a metric depends."""
    option = metric.interval.share
    return float(metric.options[option] or 0) if option else 1.0


def _fits(metric: Metric, way: Influence) -> bool:
    """Whether a metric uses columns that are varied, and otherwise only columns that are equal for all rows."""
    return bool(way.columns & {*metric.columns}) and {*metric.columns} <= way.columns | PLACES


def reader(metrics: Sequence[Metric], by_group: bool = True) -> Read:
    """Return a function that computes metrics of each group of some tables, or of each row."""
    expressions = {m.name: m.expression() for m in metrics}
    if not by_group:
        return lambda tables: tables.select(**expressions)
    return lambda tables: tables.group_by(GROUP, maintain_order=True).agg(**expressions)


def of_auc(metric: Metric, limit: Expr) -> Expr:
    """The limit of a metric that is a linear function of the ROC AUC."""
    low, high = metric.range
    return low + (high - low) * limit


def jackknifed(metric: Metric) -> bool:
    """Return whether the jackknife over folds is valid."""
    return not (metric.interval.without or metric.interval.without_folds)


def reason(metric: Metric, *, units: bool, weighted: bool, found: bool, known: bool, many_labels: bool) -> str | None:
    """Return why no estimate of a metric has an interval, for notes; None if this depends on the rows.

    ``found`` is whether there is a method for these rows, and ``known`` whether the state has all current sums.
    """
    own = metric.interval
    if own.without:
        return own.without
    if units:
        return own.without_folds or None
    if not found:
        of_labels = SEPARATE.without_units if metric.average is not None else ""
        why = of_labels or own.without_units or ("not available for weighted rows" if weighted else "")
        return "; ".join([why] * bool(why) + [NEEDS_UNITS] * jackknifed(metric))
    if not known:
        return OLD
    if many_labels:
        return f"more than {PAIRS_OF_LABELS} pairs of labels; {NEEDS_UNITS}"
    return None


def of_rows(metric: Metric, units: bool) -> str:
    """Return why an estimate has no interval if another one of the same metric can have one."""
    why = NOISE if metric.interval.maximum else ALIKE
    return f"too few units or rows of a class, or {why}" if units else f"too few rows, or {why}"
