"""Confidence intervals of estimates: from the tables, or by the jackknife over folds of units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import polars.selectors as cs
from polars import Expr

from streammetrics.frame import ESTIMATE, LIMITS, NO_LIMITS, RIGHT, hidden, noted
from streammetrics.metrics import Metric
from streammetrics.reading.estimates import as_floats, by_group, by_view, estimate, with_label
from streammetrics.reading.intervals import (
    AT_END,
    NOISE,
    OPEN,
    PAIRS_OF_LABELS,
    closed,
    fewest,
    influence,
    jackknifed,
    of_auc,
    reason,
)
from streammetrics.rows.roles import FOLD
from streammetrics.state.tables import State, roll_up
from streammetrics.statistics import GROUP, ConfusionMatrix, Statistic, View
from streammetrics.uncertainty import auc_intervals, influence_intervals, jackknife_interval, sliced
from streammetrics.uncertainty.auc import FEW
from streammetrics.uncertainty.limits import Interval, Range
from streammetrics.uncertainty.methods import OF_MATRIX, OF_OUTCOMES, Influence
from streammetrics.uncertainty.pairs import difference_interval

OF_LABELS = {c: f"{c}_w2" for c in sorted(OF_OUTCOMES.columns)}  # in the view of a confusion matrix
AT_ONCE = 1 << 20  # rows of tables, when folds are left out
A, B, TOTAL, ALONE = map(hidden, ("a", "b", "total", "alone"))


def with_intervals(
    frame: pl.DataFrame, state: State, metrics: Sequence[Metric], confidence: float, folds: State | None = None
) -> pl.DataFrame:
    """Return the estimates of a state with ``ci_lower`` and ``ci_upper``, null without a valid interval.

    With ``unit``, ``folds`` has the same rows by fold of their units.

    Raises:
        SpecificationError: If ``confidence`` is not between 0 and 1.
    """
    found = _of_rows(state, metrics, confidence) if folds is None else _of_folds(frame, folds, metrics, confidence)
    keys = [c for c in frame.columns if c in found.columns and c not in ESTIMATE[1:]]
    joined = frame.join(found, on=keys, how="left", nulls_equal=True, maintain_order="left")
    reasons = {
        m.name: reason(m, units=folds is not None, **_known(m, statistic, view, state.tables[statistic.name]))
        for statistic, view, own in by_view(state, metrics)
        for m in own
    }
    without = pl.col("value").is_not_null() & pl.col(LIMITS[0]).is_null() & pl.col(LIMITS[1]).is_null()
    told = pl.col("metric").replace_strict(reasons, return_dtype=pl.String)
    ends = [{m.name: float(m.range[i]) for m in metrics} for i in (0, 1)]
    at_ends = [pl.col("metric").replace_strict(end, return_dtype=pl.Float64) == pl.col("value") for end in ends]
    at_end = pl.col("value").is_finite() & pl.any_horizontal(at_ends)
    undecided = told.str.ends_with(OPEN) | told.str.ends_with(NOISE)
    said = pl.format("no interval: {}", pl.when(undecided & at_end).then(pl.lit(AT_END)).otherwise(told))
    return joined.select(
        pl.exclude("note"),
        note=noted("note", pl.when(without).then(said)),
    )


def is_weighted(statistic: Statistic, table: pl.DataFrame) -> bool:
    """Whether counts of a table are sums of weights."""
    return any(table.schema[c].is_float() for c in statistic.counts)


def _known(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> dict[str, bool]:
    """What `reason` asks of a table."""
    twins = _twins(statistic, view, weighted := is_weighted(statistic, table))
    later = [c for c in (*statistic.twins.values(), *statistic.added) if c in table.columns]
    expressions = closed(metric, twins) is not None
    of_auc = _has_auc(metric) and not weighted
    found = expressions or of_auc or _influence(metric, statistic, view, table) is not None
    undefined = pl.any_horizontal((cs.float() - cs.by_name(later)).is_nan(), pl.lit(False))  # such as 0/0, in any state
    whole = table.filter(~undefined)
    known = not any(whole[c].is_nan().any() for c in later)
    many = _of_pairs(metric, statistic, view) and table.filter(_is_crowded()).height > 0
    return {"weighted": weighted, "found": found, "known": known, "many_labels": many}


def _influence(metric: Metric, statistic: Statistic, view: View, table: pl.DataFrame) -> Influence | None:
    """How to compute the influence of a row: for multiclass metrics, of a pair of labels."""
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if not _of_pairs(metric, statistic, view):
        return influence(metric, twins)
    if metric.interval.without or (twins is None and closed(metric) is not None):
        return None
    return OF_MATRIX if twins is None else OF_MATRIX.of_weights(statistic.twins)


def _of_pairs(metric: Metric, statistic: Statistic, view: View) -> bool:
    """Whether a metric is one of all labels, or an average over labels, which pairs of labels tell."""
    return isinstance(statistic, ConfusionMatrix) and (metric.average is not None or not view.kept)


def _has_auc(metric: Metric) -> bool:
    """Whether a metric is the ROC AUC of a table."""
    return metric.interval.of_auc and metric.average is None


def _of_rows(state: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Group columns, key columns, metric, and limits, from the tables of independent rows."""
    parts = [
        with_label(_of_view(statistic, view, state, own, confidence), state.labels_of(statistic))
        for statistic, view, own in by_view(state, metrics)
        if own or not metrics
    ]
    frame = pl.concat(parts, how="diagonal_relaxed")
    return state.groups.join(frame, on=GROUP, maintain_order="right").drop(GROUP)


def _of_view(
    statistic: Statistic, view: View, state: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Group, kept keys, metric and limits."""
    table, groups, index = state.tables[statistic.name], state.groups_of(statistic), [GROUP, *view.kept]
    first = next(iter(view.cases(table).values()))
    parts = [_no_limits(first.with_columns(metric=pl.lit(None, pl.String)), [*index, "metric"])]
    twins = _twins(statistic, view, is_weighted(statistic, table))
    if twins:
        table = _in_rows(statistic, table, [GROUP])
        of_matrix = isinstance(statistic, ConfusionMatrix)
        first = _with_squares(view, table) if of_matrix else _in_rows(statistic, first, index)
    elif twins is None:
        parts += _of_auc(first, index, [m for m in metrics if _has_auc(m)], confidence)
    limits = {m: method(m, confidence) for m in metrics if (method := closed(m, twins)) is not None}
    parts += _of_expressions(view, first, groups, limits)
    ways = {m: way for m in metrics if (way := _influence(m, statistic, view, table)) is not None}
    for way in dict.fromkeys(ways.values()):
        own = [m for m in metrics if ways.get(m) == way]
        if _of_pairs(own[0], statistic, view):
            parts.append(_of_matrix(statistic, table, own, way, confidence))
        else:
            parts.append(_by_influence(view, first, own, way, confidence))
    return pl.concat(parts, how="diagonal_relaxed")


def _twins(statistic: Statistic, view: View, weighted: bool) -> Mapping[str, str] | None:
    """The columns of squared weights in a view, if rows have weights."""
    if weighted and isinstance(statistic, ConfusionMatrix) and view.kept:
        return OF_LABELS
    return statistic.twins if weighted else None


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


def _in_rows(statistic: Statistic, table: pl.DataFrame, index: Sequence[str]) -> pl.DataFrame:
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
        return _no_limits(table.with_columns(metric=pl.lit(None, pl.String)), [GROUP, "metric"])
    return influence_intervals(small, metrics, dict(way.products), read, confidence)


def _is_crowded() -> Expr:
    """Whether a group has too many pairs of labels to look at one by one."""
    return pl.len().over(GROUP) > PAIRS_OF_LABELS


def _of_folds(frame: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Keys, metric and limits, from the values without each fold."""
    keys = [c for c in frame.columns if c not in ESTIMATE[1:]]
    values = frame.select(*keys, pl.col("value").alias(TOTAL))
    metrics = [m for m in metrics if jackknifed(m)]
    left_out = _without_each_fold(folds, metrics).join(values, on=keys, how="left", nulls_equal=True)
    limits = [
        own.group_by(keys, maintain_order=True).agg(
            jackknife_interval(pl.col("value"), pl.col(TOTAL).first(), confidence, range=range)
        )
        for range, own in _by_range(left_out, metrics)
    ]
    found = pl.concat([_no_limits(frame, keys), *limits], how="vertical_relaxed")
    return _widened(found, folds, metrics, confidence)


def _widened(found: pl.DataFrame, folds: State, metrics: Sequence[Metric], confidence: float) -> pl.DataFrame:
    """Extend limits so that they contain those of independent rows, if a class has few rows.

    Folds with few rows of a class can be alike by chance, so their variance is unreliable.
    """
    state = roll_up(folds, [c for c in folds.keys.columns if c != FOLD])
    parts = [
        _of_few_rows(statistic, view, state, own, confidence)
        for statistic, view, own in by_view(state, [m for m in metrics if m.average is None])
        if own and {"neg", "pos"} <= view.columns
    ]
    if not parts:
        return found
    keys = [c for c in found.columns if c not in LIMITS]
    alone = state.groups.join(pl.concat(parts, how="diagonal_relaxed"), on=GROUP).drop(GROUP)
    alone = pl.concat([_no_limits(found.clear(), keys), alone], how="diagonal_relaxed")
    alone = alone.select(*keys, pl.struct(LIMITS).alias(ALONE))
    lower, upper = (pl.col(ALONE).struct.field(side) for side in LIMITS)
    limited = pl.col(ALONE).is_null() | lower.is_not_null() | upper.is_not_null()
    wider = {"ci_lower": pl.min_horizontal("ci_lower", lower), "ci_upper": pl.max_horizontal("ci_upper", upper)}
    return found.join(alone, on=keys, how="left", nulls_equal=True).select(
        *keys, *(pl.when(limited & pl.col(side).is_not_null()).then(end).alias(side) for side, end in wider.items())
    )


def _of_few_rows(
    statistic: Statistic, view: View, state: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Group, kept keys, metric, and limits of independent rows, null or not, if a class has few rows."""
    table, index = state.tables[statistic.name], [GROUP, *view.kept]
    first = next(iter(view.cases(table).values()))
    if is_weighted(statistic, table):
        first = _in_rows(statistic, first, index)
    rows = first.group_by(index).agg(rows=pl.min_horizontal(pl.sum("neg"), pl.sum("pos")))
    few = rows.filter(pl.col("rows") < FEW).drop("rows")
    rare = replace(state, tables={statistic.name: table.join(few, on=GROUP, how="semi")})
    names = pl.DataFrame({"metric": [m.name for m in metrics]}, schema={"metric": pl.String})
    limits = _of_view(statistic, view, rare, metrics, confidence)
    limits = few.join(names, how="cross").join(limits, on=[*index, "metric"], how="left", nulls_equal=True)
    return with_label(limits, state.labels_of(statistic))


def paired_intervals(
    frame: pl.DataFrame, a: State, b: State, metrics: Sequence[Metric], confidence: float
) -> pl.DataFrame:
    """Return keys, metric, and limits of ``b - a``, if the rows of both are in the same folds of units.

    Common variation, such as units that are hard for both models, cancels (see `jackknife_interval`). ``frame`` has
    keys, metric, and the values ``a`` and ``b``.
    """
    keys, metrics = frame.columns[: frame.columns.index("a")], [m for m in metrics if jackknifed(m)]
    types = frame.select(keys).schema
    left_out = [
        _without_each_fold(folds, metrics).cast(types).select(*keys, FOLD, pl.struct("value").alias(side))
        for side, folds in ((A, a), (B, b))
    ]
    values = (
        left_out[0]
        .join(left_out[1], on=[*keys, FOLD], how="full", coalesce=True, nulls_equal=True, suffix=RIGHT)
        .join(frame, on=keys, nulls_equal=True)
        .with_columns(_left_of(A, "a"), _left_of(B, "b"))
    )
    difference, total = pl.col(B) - pl.col(A), (pl.col("b") - pl.col("a")).first()
    limits = [
        own.group_by(keys, maintain_order=True).agg(
            jackknife_interval(difference, total, confidence, range=(low - high, high - low))
        )
        for (low, high), own in _by_range(values, metrics)
    ]
    return pl.concat([_no_limits(frame, keys), *limits], how="vertical_relaxed")


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


def _left_of(without: str, total: str) -> Expr:
    """The value without a fold: that of all rows, if none of them is in the fold."""
    return (
        pl.when(pl.col(without).is_null()).then(total).otherwise(pl.col(without).struct.field("value")).alias(without)
    )


def _by_range(frame: pl.DataFrame, metrics: Sequence[Metric]) -> Iterator[tuple[Range, pl.DataFrame]]:
    """The rows of metrics that have the same range."""
    for range in dict.fromkeys(m.range for m in metrics):
        yield range, frame.filter(pl.col("metric").is_in([m.name for m in metrics if m.range == range]))


def _no_limits(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return frame.select(keys).clear().with_columns(NO_LIMITS)


def _without_each_fold(folds: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """The estimates of each group without each of its folds, and the column ``fold``, the one left out."""
    by = [c for c in folds.keys.columns if c != FOLD]
    numbers = folds.keys[FOLD].unique().sort().cast(pl.Int64)
    own, at_once = folds.keys.cast({FOLD: pl.Int64}), max(1, AT_ONCE // max(1, folds.cells))
    parts = [estimate(roll_up(folds, by), metrics).clear().with_columns(pl.lit(None, pl.Int64).alias(FOLD))]
    for start in range(0, len(numbers), at_once):
        some = numbers[start : start + at_once]
        rest = roll_up(_copies_without(folds, some), [*by, FOLD])
        if by or rest.groups.height:
            found = estimate(rest, metrics)
        else:  # nothing is left without the only fold
            found = estimate(roll_up(rest, []), metrics).with_columns(pl.lit(some[0], pl.Int64).alias(FOLD))
        parts.append(found.join(own, on=[*by, FOLD], how="semi", nulls_equal=True).select(parts[0].columns))
    return pl.concat(parts, how="vertical_relaxed")


def _copies_without(folds: State, numbers: pl.Series) -> State:
    """For each of some folds a copy of the groups that are not in it; their column ``fold`` is the one left out."""
    kept = folds.groups[FOLD].to_numpy()[:, None] != numbers.to_numpy()
    group, left_out = np.nonzero(kept)
    place = np.cumsum(kept).reshape(kept.shape) - 1
    keys = folds.keys[group].with_columns(numbers.gather(left_out).alias(FOLD))
    tables = {}
    for statistic in folds.statistics:
        table, labels = folds.tables[statistic.name], len(folds.labels_of(statistic)) or 1
        of_row, label = np.divmod(table[GROUP].to_numpy(), labels)
        row, left_out = np.nonzero(kept[of_row])
        number = place[of_row[row], left_out] * labels + label[row]
        tables[statistic.name] = table[row].with_columns(pl.Series(GROUP, number, dtype=table.schema[GROUP]))
    return replace(folds, groups=keys.with_row_index(GROUP), tables=tables)
