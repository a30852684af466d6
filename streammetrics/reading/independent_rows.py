"""Confidence intervals of independent rows, from the tables of their groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
import polars.selectors as cs
from polars import Expr

from streammetrics.frame import LIMITS, A, B, no_limits
from streammetrics.metrics import Metric
from streammetrics.metrics.ratios import recall
from streammetrics.metrics.several_classes import balanced_accuracy
from streammetrics.reading.estimates import as_floats, by_group, by_view, estimate, with_label
from streammetrics.reading.intervals import PAIRS_OF_LABELS, closed, fewest, influence, of_auc
from streammetrics.state.tables import State
from streammetrics.statistics import GROUP, ConfusionMatrix, Statistic, View
from streammetrics.statistics.confusion import overall_view
from streammetrics.uncertainty import auc_intervals, influence_intervals, sliced
from streammetrics.uncertainty.limits import Interval
from streammetrics.uncertainty.methods import OF_MATRIX, OF_OUTCOMES, Influence
from streammetrics.uncertainty.pairs import difference_interval

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


def is_weighted(statistic: Statistic, table: pl.DataFrame) -> bool:
    """Whether counts of a table are sums of weights."""
    return any(table.schema[c].is_float() for c in statistic.counts)


def known_of(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> dict[str, bool]:
    """What `reason` asks of a table."""
    twins = _twins(statistic, view, weighted := is_weighted(statistic, table))
    later = [c for c in (*statistic.twins.values(), *statistic.added) if c in table.columns]
    expressions = closed(metric, twins) is not None
    of_auc = _has_auc(metric) and not weighted
    found = expressions or of_auc or _influence(metric, statistic, view, table) is not None
    undefined = pl.any_horizontal((cs.float() - cs.by_name(later)).is_nan(), pl.lit(False))  # such as 0/0, in any state
    whole = table.filter(~undefined)
    known = not any(whole[c].is_nan().any() for c in later)
    many = _is_of_pairs(metric, statistic, view) and table.filter(_is_crowded()).height > 0
    return {"weighted": weighted, "found": found, "known": known, "many_labels": many}


def _influence(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> Influence | None:
    """How to compute the influence of a row: for multiclass metrics, of a pair of labels."""
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if not _is_of_pairs(metric, statistic, view):
        return influence(metric, twins)
    if metric.interval.without or (twins is None and closed(metric) is not None):
        return None
    return OF_MATRIX if twins is None else OF_MATRIX.of_weights(statistic.twins)


def _is_of_pairs(metric: Metric, statistic: Statistic, view: View) -> bool:
    """Whether a metric is one of all labels, or an average over labels, which pairs of labels tell."""
    return isinstance(statistic, ConfusionMatrix) and (metric.average is not None or not view.kept)


def is_mean_of_recalls(metric: Metric) -> bool:
    """Whether a metric is the macro average of the recalls of labels: the balanced accuracy by another name."""
    return metric.average == "macro" and metric.formula is recall.formula


def _is_crowded() -> Expr:
    """Whether a group has too many pairs of labels to look at one by one."""
    return pl.len().over(GROUP) > PAIRS_OF_LABELS


def _has_auc(metric: Metric) -> bool:
    """Whether a metric is the ROC AUC of a table."""
    return metric.interval.of_auc and metric.average is None


def intervals_of_view(
    statistic: Statistic, view: View, state: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Group, kept keys, metric and limits."""
    table, groups, index = state.tables[statistic.name], state.groups_of(statistic), [GROUP, *view.kept]
    first = next(iter(view.cases(table).values()))
    parts = [no_limits(first.with_columns(metric=pl.lit(None, pl.String)), [*index, "metric"])]
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if twins:
        table = in_rows(statistic, table, [GROUP])
        of_matrix = isinstance(statistic, ConfusionMatrix)
        first = _with_squares(view, table) if of_matrix else in_rows(statistic, first, index)
    elif twins is None:
        parts += _of_auc(first, index, [m for m in metrics if _has_auc(m)], confidence)
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
    """The table with weights such that their sum is that of their squares: the rows of equal weight they are worth.

    Groups whose squared weights are not known, as in states of earlier versions, or infinite, are left out.
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


def _with_squares(view: View, table: pl.DataFrame) -> pl.DataFrame:
    """The view of a confusion matrix; counts of each label against the rest with those of squared weights."""
    weights, squares = (next(iter(view.cases(table.with_columns(count=c)).values())) for c in ("count", "count_w2"))
    return weights.with_columns(squares[c].alias(twin) for c, twin in OF_LABELS.items()) if view.kept else weights


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
    """Intervals of the ROC AUC, by other names too."""
    if metrics:
        found = auc_intervals(table, index, confidence)
        for m in metrics:
            yield found.select(*index, metric=pl.lit(m.name), **{side: of_auc(m, pl.col(side)) for side in LIMITS})


def _by_influence(
    view: View, table: pl.DataFrame, metrics: Sequence[Metric], way: Influence, confidence: float
) -> pl.DataFrame:
    """Intervals of metrics that are computed from the rows of each group and kept key."""
    index, expressions = [GROUP, *view.kept], {m.name: m.expression() for m in metrics}
    keys = table.select(index).unique(maintain_order=True)
    numbered = as_floats(view, table).select(pl.struct(index).rle_id().alias(GROUP), pl.exclude(index))

    if way.prepared is not None:
        numbered = way.prepared(numbered)

    def read(copies: pl.DataFrame) -> pl.DataFrame:
        if not view.folds:
            return copies.select(**expressions)
        return copies.group_by(GROUP, maintain_order=True).agg(**expressions)

    found = influence_intervals(
        numbered,
        metrics,
        dict(way.products),
        read,
        confidence,
        cells=sliced(numbered, sorted(way.columns), way.squares) if way.sliced else None,
        added=way.added,
        fewest=[fewest(m, way) for m in metrics],
        maxima={m.name for m in metrics if m.interval.maximum},
    )
    return pl.concat([keys[found[GROUP]], found.drop(GROUP)], how="horizontal")


def _of_matrix(
    matrix: Statistic, table: pl.DataFrame, metrics: Sequence[Metric], way: Influence, confidence: float
) -> pl.DataFrame:
    """Intervals of metrics of all labels, and of averages over labels, from the influence of each pair of labels."""
    small = table.filter(~_is_crowded())

    def read(copies: pl.DataFrame) -> pl.DataFrame:
        groups = copies.select(pl.col(GROUP).unique(maintain_order=True)).with_columns(copy=GROUP)
        found = estimate(State((matrix,), groups, {matrix.name: copies}), metrics)
        values = found["value"].cast(pl.Float64).to_numpy().reshape(groups.height, len(metrics))
        return pl.DataFrame(values, schema=[m.name for m in metrics])

    if small.is_empty():
        return no_limits(table.with_columns(metric=pl.lit(None, pl.String)), [GROUP, "metric"])
    found = influence_intervals(small, metrics, dict(way.products), read, confidence)
    recalls = [m.name for m in metrics if is_mean_of_recalls(m)]
    closed = balanced_accuracy.interval.closed
    if not recalls or closed is None or way is not OF_MATRIX:
        return found
    limits = overall_view(small).group_by(GROUP, maintain_order=True).agg(closed(balanced_accuracy, confidence))
    limits = limits.join(pl.DataFrame({"metric": recalls}), how="cross")
    return pl.concat([found.filter(~pl.col("metric").is_in(recalls)), limits.select(found.columns)])
