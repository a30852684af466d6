"""Confidence intervals of independent rows, from the tables of their groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl
import polars.selectors as cs
from polars import Expr

from streammetrics.frame import LIMITS, A, B, no_limits
from streammetrics.metrics import Metric
from streammetrics.metrics.ratios import precision, recall
from streammetrics.reading.estimates import as_floats, by_group, by_view, estimate, with_label
from streammetrics.reading.intervals import (
    PAIRS_OF_LABELS,
    closed,
    fewest,
    influence,
    of_auc,
    reader,
    share_of_negatives,
)
from streammetrics.state.tables import State
from streammetrics.statistics import GROUP, ConfusionMatrix, Statistic, View
from streammetrics.statistics.confusion import overall_view
from streammetrics.statistics.statistic import is_weighted
from streammetrics.statistics.view import first_case
from streammetrics.uncertainty.auc import auc_intervals
from streammetrics.uncertainty.influence import ROUNDING, influence_intervals, sliced
from streammetrics.uncertainty.limits import Interval
from streammetrics.uncertainty.methods import FEWEST, FEWEST_OF_HEAVIEST, OF_MATRIX, OF_OUTCOMES, Influence
from streammetrics.uncertainty.pairs import difference_interval
from streammetrics.uncertainty.proportions import in_effective_rows, mean_of_proportions_interval

OF_LABELS = {c: f"{c}_w2" for c in sorted(OF_OUTCOMES.columns)}  # in the view of a confusion matrix


def rows_intervals(state: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Group columns, key columns, metric, and limits, from the tables of independent rows."""
    parts = [
        with_label(intervals_of_view(statistic, view, state, own, confidence), state.labels_of(statistic))
        for statistic, view, own in by_view(state, metrics)
        if own or not metrics
    ]
    frame = pl.concat(parts, how="diagonal_relaxed")
    return state.groups.join(frame, on=GROUP, maintain_order="right").drop(GROUP)


def independent_intervals(frame: pl.DataFrame, a: pl.DataFrame, b: pl.DataFrame) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - a`` (see `difference_interval`), for estimates of independent rows.

    ``frame`` has keys, metric, and the values ``a`` and ``b``.
    """
    keys = frame.columns[: frame.columns.index("a")]
    both = frame
    for side, limits in ((A, a), (B, b)):
        ends = limits.select(*keys, pl.col(LIMITS).name.prefix(side)).cast(frame.select(keys).schema)
        both = both.join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left")
    lower, upper = LIMITS
    own, others = (
        (pl.col(x), (pl.col(f"{side}{lower}"), pl.col(f"{side}{upper}"))) for x, side in (("a", A), ("b", B))
    )
    return both.select(*keys, *difference_interval(*others, *own))


def known_of(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> dict[str, bool]:
    """Facts on a table that `reason` requires."""
    twins = _twins(statistic, view, is_weighted(statistic, table))
    later = [c for c in (*statistic.twins.values(), *statistic.added) if c in table.columns]
    found = _is_direct(metric, statistic, twins) or _influence(metric, statistic, view, table) is not None
    undefined = pl.any_horizontal((cs.float() - cs.by_name(later)).is_nan(), pl.lit(False))  # such as 0/0, in any state
    whole = table.filter(~undefined)
    known = not any(whole[c].is_nan().any() for c in later)
    many = _is_of_pairs(metric, statistic, view) and table.filter(_is_crowded()).height > 0
    return {"weighted": twins is not None, "found": found, "known": known, "many_labels": many}


def needed_by(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> int:
    """Minimum number of rows of each class for an interval."""
    way = _influence(metric, statistic, view, table)
    if way is None:
        return FEWEST
    of_heaviest = "neg_w2" in way.squares and mixes_classes(metric)
    return max(FEWEST, fewest(metric, way), FEWEST_OF_HEAVIEST if of_heaviest else 0)


def _influence(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> Influence | None:
    """How to compute the influence of a row: for multiclass metrics, of a pair of labels."""
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if not _is_of_pairs(metric, statistic, view):
        return influence(metric, twins)
    if metric.interval.without or _is_direct(metric, statistic, twins):
        return None
    return OF_MATRIX if twins is None else OF_MATRIX.of_weights(statistic.twins)


def _is_of_pairs(metric: Metric, statistic: Statistic, view: View) -> bool:
    """Whether a metric is computed from pairs of labels: a metric of all labels, or an average over labels."""
    return isinstance(statistic, ConfusionMatrix) and (metric.average is not None or not view.kept)


def total_of(metric: Metric) -> str | None:
    """The column of totals if a metric is the mean of proportions of different rows, one per label."""
    totals = {recall.formula: "actual", precision.formula: "predicted"}
    return totals.get(metric.formula) if metric.average == "macro" else None


def _is_direct(metric: Metric, statistic: Statistic, twins: Mapping[str, str] | None) -> bool:
    """Whether limits are computed from the table itself, and not from the influence of a row."""
    own = _is_mean(metric, statistic) or (twins is None and _has_auc(metric))
    return own or closed(metric, twins) is not None


def _is_mean(metric: Metric, statistic: Statistic) -> bool:
    """Whether a metric is the mean of a proportion of each label."""
    return isinstance(statistic, ConfusionMatrix) and total_of(metric) is not None


def rows_of_heaviest(weight: Expr, squares: Expr) -> Expr:
    """The number of rows of all labels, if each weighed as much as the rows of the label with the heaviest rows.

    If it is small, the heaviest label has so few rows that a sample can lack its errors.
    """
    return weight.sum() / (squares / weight).filter(weight > 0).max()


def rows_of_heavier_class() -> Expr:
    """The rows of the smaller class, if each weighed as much as the rows of the class with the heavier rows."""
    totals = [pl.col(c).sum() for c in ("neg", "pos")]
    weights = [pl.col(f"{c}_w2").sum() / pl.col(c).sum() for c in ("neg", "pos")]
    return pl.min_horizontal(totals) / pl.max_horizontal(weights)


def mixes_classes(metric: Metric) -> bool:
    """Whether a metric of scores depends on rows of both classes together, so that heavy rows of a class can carry it.

    Areas under the ROC curve and recall at a false positive rate count each class by itself.
    """
    return not (metric.interval.of_auc or metric.interval.share)


def _is_crowded() -> Expr:
    """Whether a group has too many pairs of labels to process one by one."""
    return pl.len().over(GROUP) > PAIRS_OF_LABELS


def _has_auc(metric: Metric) -> bool:
    """Whether a metric is the ROC AUC of a table."""
    return metric.interval.of_auc and metric.average is None


def intervals_of_view(
    statistic: Statistic, view: View, state: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Group, kept keys, metric and limits."""
    table, groups, index = state.table(statistic), state.groups_of(statistic), [GROUP, *view.kept]
    first = first_case(view, table)
    parts = [no_limits(first.with_columns(metric=pl.lit(None, pl.String)), [*index, "metric"])]
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if twins:
        table = in_rows(statistic, table, [GROUP])
        of_matrix = isinstance(statistic, ConfusionMatrix)
        first = with_squares(statistic, view, table) if of_matrix else in_rows(statistic, first, index)
    elif twins is None:
        parts += _of_auc(first, index, [m for m in metrics if _has_auc(m)], confidence)
    parts += _of_means(
        statistic, table, [m for m in metrics if _is_mean(m, statistic)], confidence, weighted=bool(twins)
    )
    limits = {m: method(m, confidence) for m in metrics if (method := closed(m, twins)) is not None}
    parts += _of_expressions(view, first, groups, limits)
    ways = {m: way for m in metrics if (way := _influence(m, statistic, view, table)) is not None}
    for way in dict.fromkeys(ways.values()):
        own = [m for m in metrics if ways.get(m) == way]
        if _is_of_pairs(own[0], statistic, view):
            parts.append(_of_matrix(statistic, table, own, way, confidence))
        else:
            parts.append(_by_influence(view, first, own, way, confidence))
    return pl.concat(parts, how="diagonal_relaxed")


def _twins(statistic: Statistic, view: View, weighted: bool) -> Mapping[str, str] | None:
    """The columns of squared weights in a view, if rows have weights."""
    if weighted and isinstance(statistic, ConfusionMatrix) and view.kept:
        return OF_LABELS
    return statistic.twins if weighted else None


def in_rows(statistic: Statistic, table: pl.DataFrame, index: Sequence[str]) -> pl.DataFrame:
    """The table with weights scaled so that their sum equals the sum of their squares: the effective number of rows.

    Groups with unknown squared weights, as in states of earlier versions, or infinite ones, are dropped.
    """
    held = statistic.held, [statistic.twins[c] for c in statistic.held]
    weight, squares = (pl.sum_horizontal(columns).sum().over(index) for columns in held)
    scale, scaled = pl.col("scale"), {c: twin for c, twin in statistic.twins.items() if c not in statistic.means}
    return (
        table.with_columns(scale=weight / squares)
        .filter(scale.is_finite() & (scale > 0))
        .with_columns(pl.col([*scaled]) * scale, pl.col([*scaled.values()]) * scale**2)
        .drop("scale")
    )


def with_squares(statistic: Statistic, view: View, table: pl.DataFrame) -> pl.DataFrame:
    """The table of a view of weighted rows, with squared weights for each count in a column that ends in _w2."""
    if not isinstance(statistic, ConfusionMatrix):
        return first_case(view, table)
    weights, squares = (first_case(view, table.with_columns(count=c)) for c in ("count", "count_w2"))
    return weights.with_columns(squares.select(pl.exclude(GROUP, *view.kept).name.suffix("_w2")))


def _of_expressions(
    view: View, table: pl.DataFrame, groups: pl.DataFrame, limits: Mapping[Metric, Interval]
) -> Iterator[pl.DataFrame]:
    """Intervals that are expressions over the table."""
    if limits:
        named = {f"{side} of {m}": e for m, pair in limits.items() for side, e in zip(LIMITS, pair, strict=True)}
        wide = by_group(view, groups, as_floats(view, table), named)
        for m in limits:
            ends = {side: pl.col(f"{side} of {m}") for side in LIMITS}
            yield wide.select(GROUP, *view.kept, metric=pl.lit(m.name), **ends)


def _of_auc(
    table: pl.DataFrame, index: Sequence[str], metrics: Sequence[Metric], confidence: float
) -> Iterator[pl.DataFrame]:
    """Intervals of the ROC AUC, and of linear functions of it."""
    if metrics:
        found = auc_intervals(table, index, confidence)
        for m in metrics:
            yield found.select(*index, metric=pl.lit(m.name), **{side: of_auc(m, pl.col(side)) for side in LIMITS})


@np.errstate(all="ignore")  # an infinite variance has no interval
def _by_influence(
    view: View, table: pl.DataFrame, metrics: Sequence[Metric], way: Influence, confidence: float
) -> pl.DataFrame:
    """Intervals of metrics that are computed from the rows of each group and kept key."""
    index = [GROUP, *view.kept]
    keys = table.select(index).unique(maintain_order=True)
    numbered = as_floats(view, table).select(pl.struct(index).rle_id().alias(GROUP), pl.exclude(index))
    if way.prepared is not None:
        numbered = way.prepared(numbered)
    found = influence_intervals(
        numbered,
        metrics,
        dict(way.products),
        reader(metrics, by_group=view.folds),
        confidence,
        cells=sliced(numbered, sorted(way.columns), way.squares) if way.sliced else None,
        added=way.added,
        fewest=[fewest(m, way) for m in metrics],
        shares=[share_of_negatives(m) for m in metrics],
        maxima={m.name for m in metrics if m.interval.maximum},
        largest=way.largest(numbered) if way.largest else (),
        classes=way.classes,
    )
    if way.columns == {"neg", "pos"} and "neg_w2" in way.squares:
        sizes = numbered.group_by(GROUP).agg(rows=rows_of_heavier_class() * (1 + ROUNDING))
        few = sizes.filter(pl.col("rows") < FEWEST_OF_HEAVIEST)[GROUP].to_list()
        mixed = [m.name for m in metrics if mixes_classes(m)]
        carried = pl.col(GROUP).is_in(few) & pl.col("metric").is_in(mixed)
        found = found.with_columns(pl.when(~carried).then(pl.col(LIMITS)))
    return pl.concat([keys[found[GROUP]], found.drop(GROUP)], how="horizontal")


def _of_means(
    matrix: Statistic, table: pl.DataFrame, metrics: Sequence[Metric], confidence: float, *, weighted: bool
) -> Iterator[pl.DataFrame]:
    """Intervals of means of a proportion of each label, from a confusion matrix."""
    if metrics:
        view = with_squares(matrix, matrix.views()[0], table) if weighted else overall_view(table)
        for m in metrics:
            counts = pl.col("correct"), pl.col(str(total_of(m)))
            if weighted:
                counts = in_effective_rows(*counts, *(pl.col(f"{c.meta.output_name()}_w2") for c in counts))
            ends = mean_of_proportions_interval(*counts, confidence)
            yield view.group_by(GROUP, maintain_order=True).agg(*ends, metric=pl.lit(m.name))


def _of_matrix(
    matrix: Statistic, table: pl.DataFrame, metrics: Sequence[Metric], way: Influence, confidence: float
) -> pl.DataFrame:
    """Intervals of metrics of all labels, and of averages over labels, from the influence of each pair of labels."""
    small = table.filter(~_is_crowded())
    if small.is_empty():
        return no_limits(table.with_columns(metric=pl.lit(None, pl.String)), [GROUP, "metric"])

    def read(copies: pl.DataFrame) -> pl.DataFrame:
        groups = copies.select(pl.col(GROUP).unique(maintain_order=True)).with_columns(copy=GROUP)
        found = estimate(State((matrix,), groups, {matrix.name: copies}), metrics)
        values = found["value"].cast(pl.Float64).to_numpy().reshape(groups.height, len(metrics))
        return pl.DataFrame(values, schema=[m.name for m in metrics])

    found = influence_intervals(small, metrics, dict(way.products), read, confidence)
    if way is OF_MATRIX:
        return found
    by_label = with_squares(matrix, matrix.views()[0], small).group_by(GROUP)
    rows = by_label.agg(rows=rows_of_heaviest(pl.col("actual"), pl.col("actual_w2")) * (1 + ROUNDING))
    return found.join(rows.filter(pl.col("rows") >= way.fewest), on=GROUP, how="semi", maintain_order="left")
