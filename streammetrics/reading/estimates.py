"""Metrics of the tables of a state, as a tidy frame of values and certified bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from streammetrics.base import (
    ESTIMATE,
    EXPLAINED,
    LABELS,
    METRIC,
    REMARK,
    STATUS,
    UNDEFINED_LABELS,
    VALUE,
    Status,
    bounds_status,
    by_group,
    joined,
    tidy,
)
from streammetrics.core import Floats
from streammetrics.data import LABEL
from streammetrics.metrics import Metric
from streammetrics.reading.available import columns_of_view, find
from streammetrics.statistics import GROUP, State, Statistic, View, exact

WIDE = 1e-3
THRESHOLD = "threshold"
TYPES: dict[str, pl.DataType] = {METRIC: pl.String(), **dict.fromkeys(VALUE, pl.Float64()), **EXPLAINED}


def estimate(
    state: State,
    metrics: Sequence[Metric],
    confidence: float | None = None,
    folds: State | None = None,
    always: int | None = None,
) -> pl.DataFrame:
    """Return the estimates of metrics in every group.

    ``folds`` are the same rows by fold of their units, if they are correlated. With ``always``, intervals hold at every
    look, and are tightest at so many rows.

    Returns:
        The group columns, the keys of all statistics, metric, value, lower, upper (Float64) and status, with what its
        sentence needs; by group, then in the order of ``metrics``. A value is null if it is undefined. With a
        confidence level, also ``ci_lower``, ``ci_upper``, and the effective rows behind them.
    """
    frame = _values(state, metrics)
    if folds is not None:
        from streammetrics.reading.calibration import (
            with_correlated_calibration,  # when they are needed: they take a while
        )

        frame = with_correlated_calibration(frame, state, folds, metrics)
    if confidence is None:
        return frame
    from streammetrics.reading.confidence import with_intervals

    frame = with_intervals(frame, state, metrics, confidence, folds)
    if always is None:
        return frame
    from streammetrics.reading.looks import with_sequences

    return with_sequences(frame, state, metrics, confidence, always)


def expression_of(state: State, metric: Metric, column: pl.Expr) -> pl.DataFrame:
    """Return an expression over the columns of a metric in place of its value: keys, metric, value."""
    statistic, view, _ = next(part for part in metrics_by_view(state, [metric]) if part[2])
    table = _as_floats(view, view.first_case(state.table(statistic)))
    groups = state.groups_of(statistic) if view.folds else None
    values = by_group(table, [GROUP, *view.kept], {"value": column}, groups)
    values = values.select(pl.exclude("value"), pl.lit(metric.name).alias(METRIC), "value")
    return state.with_groups(state.with_label(statistic, values))


def metrics_by_view(state: State, metrics: Sequence[Metric]) -> Iterator[tuple[Statistic, View, list[Metric]]]:
    """Each view with the metrics that are computed from it, which is the first view with their columns."""
    others = find(metrics, state.statistics, state.labels)
    for statistic in state.statistics:
        for view in statistic.views():
            columns = columns_of_view(statistic, view, bool(state.labels))
            yield statistic, view, [m for m in others if m.readable(columns)]
            others = [m for m in others if not m.readable(columns)]


def _values(state: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Values and certified bounds."""
    keys, parts = dict[str, pl.DataType](), list[pl.DataFrame]()
    for statistic, view, of_view in metrics_by_view(state, metrics):
        keys |= _key_types(statistic, view, state)
        if of_view:
            estimates = _estimate(statistic, view, state, of_view)
            if sums := statistic.checks.unbounded:
                estimates = _without_overflow(estimates, state.tables[statistic.name], sums)
            parts.append(estimates)
    frame = pl.concat([pl.DataFrame(schema={GROUP: pl.UInt32(), **keys, **TYPES}), *parts], how="diagonal_relaxed")
    order = [pl.col(METRIC).replace_strict({m.name: i for i, m in enumerate(metrics)}, return_dtype=pl.UInt32)]
    if state.labels and LABEL in keys:
        place = {label: i for i, label in enumerate(state.labels)}
        order.append(pl.col(LABEL).replace_strict(place, default=0))
    no_label = (pl.col(UNDEFINED_LABELS) > 0).fill_null(False)
    undefined = pl.when(no_label).then(pl.lit("no_label", Status)).otherwise(pl.lit("undefined", Status))
    frame = frame.sort(GROUP, *order, maintain_order=True)
    return state.with_groups(frame.with_columns(pl.coalesce(STATUS, bounds_status(), undefined).alias(STATUS)))


def _key_types(statistic: Statistic, view: View, state: State) -> dict[str, pl.DataType]:
    """Types of the keys of a view, which every frame has."""
    table = state.tables[statistic.name]
    label = {LABEL: pl.Series(state.labels).dtype} if state.labels_of(statistic) else {}
    if not set(view.kept) <= {*table.columns, *label}:
        table = view.first_case(table.clear())
    return label | {key: table.schema[key] for key in view.kept if key not in label}


def _estimate(statistic: Statistic, view: View, state: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Metrics of one view: columns group, kept keys (``label`` if there is one), metric, value, bounds and a remark."""
    labels = state.labels_of(statistic)
    table, groups = state.table(statistic), state.groups_of(statistic)
    averaged = [m for m in metrics if m.average in ("macro", "weighted")]
    parts = []
    if plain := [m for m in metrics if m.average is None]:
        parts.append(state.with_label(statistic, _read(view, groups, table, plain)))
    if averaged:
        once = list(dict.fromkeys(m.with_average(None) for m in averaged))
        of_labels = state.with_label(statistic, _read(view, groups, table, once))
        support = state.with_label(statistic, _support(view, table, [GROUP] if labels else [GROUP, LABEL]))
        parts.append(_averaged(of_labels, support, averaged, state.groups))
    if micro := [m for m in metrics if m.average == "micro"]:
        if labels:
            total, summed = statistic.merge(statistic.with_floats(state.tables[statistic.name].drop(LABEL))), view
        else:
            total = _sum_over_labels(view, table, state.groups)
            summed = replace(view, kept=tuple(k for k in view.kept if k != LABEL), cases=exact)
        parts.append(_read(summed, state.groups, total, micro))
    return pl.concat(parts, how="diagonal_relaxed")


def _without_overflow(estimates: pl.DataFrame, table: pl.DataFrame, sums: Sequence[str]) -> pl.DataFrame:
    """Estimates of a statistic, null in groups in which a sum exceeds the largest float."""
    groups = table.filter(~pl.all_horizontal(pl.col(sums).is_finite()))[GROUP].unique()
    if groups.is_empty():
        return estimates
    overflow = pl.col(GROUP).is_in(groups.implode())
    values = [pl.when(~overflow).then(c).alias(c) for c in VALUE]
    status = pl.when(overflow).then(pl.lit("overflow", Status)).alias(STATUS)
    return estimates.with_columns(values).with_columns(status)


def _sum_over_labels(view: View, table: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """The sum of the rows of all labels, 0 for a group without labels."""
    sums = view.first_case(table).group_by(GROUP).agg(pl.exclude(LABEL).sum())
    return groups.select(GROUP).join(sums, on=GROUP, how="left", maintain_order="left").fill_null(0)


def _support(view: View, table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The keys of labels, and their support, which is null without true labels."""
    support = pl.lit(None, pl.Int64) if view.support is None else view.support  # scores do not determine true labels
    return view.first_case(table).group_by(keys, maintain_order=True).agg(support=support)


def _averaged(
    each: pl.DataFrame, support: pl.DataFrame, metrics: Sequence[Metric], groups: pl.DataFrame
) -> pl.DataFrame:
    """Means over the labels with a defined metric, unweighted or weighted by their number of rows."""
    keys = [c for c in each.columns if c not in (LABEL, REMARK, *ESTIMATE)]
    values, weight = pl.col(VALUE), pl.col("weight")
    defined = pl.col("value").is_not_null()
    counting = defined & (weight > 0)
    parts = []
    for average in ("macro", "weighted"):
        names = {m.with_average(None).name: m.name for m in metrics if m.average == average}
        means = (
            each.filter(pl.col(METRIC).is_in(list(names)))
            .join(support, on=[GROUP, LABEL], how="left", maintain_order="left")
            .with_columns(weight=pl.col("support").cast(pl.Float64) if average == "weighted" else pl.lit(1.0))
            .group_by(*keys, METRIC, maintain_order=True)
            .agg(
                (values * weight).filter(counting).sum() / weight.filter(counting).sum(),
                (~defined).sum().cast(pl.UInt32).alias(UNDEFINED_LABELS),
                pl.len().cast(pl.UInt32).alias(LABELS),
            )
        )
        rows = groups.select(GROUP).join(pl.DataFrame({METRIC: list(names)}, {METRIC: pl.String}), how="cross")
        parts.append(
            rows.join(means, on=[GROUP, METRIC], how="left", maintain_order="left_right")
            .with_columns(values.fill_nan(None), pl.col(METRIC).replace_strict(names))
            .select(means.columns)
        )
    return pl.concat(parts)


def _read(view: View, groups: pl.DataFrame, table: pl.DataFrame, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Metrics of a view: a row for each group, kept key and metric."""
    index, names = [GROUP, *view.kept], [m.name for m in metrics]
    stored, *cases = view.cases(table).values()
    values, ends = {f"value of {m.name}": m.expression() for m in metrics}, dict[str, pl.Expr]()
    for metric in metrics:
        if (bounds := metric.bounds_expressions()) is not None:
            ends |= zip((f"lower of {metric.name}", f"upper of {metric.name}"), bounds, strict=True)
    hidden = {name: x for name, x in values.items() if name.replace("value", "lower", 1) not in ends}

    def read(case: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
        return by_group(case, index, columns, groups if view.folds else None)

    def numbers(frame: pl.DataFrame, end: str) -> Floats:
        columns = (frame.get_column(f"{end} of {name}", default=missing) for name in names)
        return np.stack([column.cast(pl.Float64).to_numpy() for column in columns], axis=1)

    rows = read(_as_floats(view, stored), values | ends)
    missing = pl.repeat(None, rows.height, dtype=pl.Float64, eager=True)
    frames = [rows, *(read(_as_floats(view, case), hidden) for case in cases if hidden)]
    value, *others = [numbers(frame, end) for frame in frames for end in VALUE]
    lower, upper = (np.where(np.isnan(value), np.nan, end.reduce([value, *others])) for end in (np.fmin, np.fmax))
    estimates = tidy(rows.select(index), names, VALUE, [value, lower, upper])
    notes = [metric.note_expression() for metric in metrics]
    if columns := {str(id(note)): note for note in notes if note is not None}:  # metrics can share a note
        nothing = pl.lit(None, pl.String)
        texts = (nothing if note is None else pl.col(str(id(note))).cast(pl.String) for note in notes)
        texts_of_rows = read(stored, columns).select(pl.concat_list(texts).explode()).to_series()
        estimates = estimates.with_columns(texts_of_rows.alias(REMARK))
    with np.errstate(invalid="ignore"):  # between infinities
        is_wide = (upper - lower).ravel() > WIDE
    if not is_wide.any():
        return estimates
    parts = [pl.col(c) for c in (REMARK,) if columns] + [pl.when(pl.Series(is_wide)).then("wide")]
    remarks = pl.concat_str(parts, separator="; ", ignore_nulls=True).replace("", None).alias(REMARK)
    return joined(estimates, view.wide(table), [GROUP]).with_columns(remarks).drop("wide")


def _as_floats(view: View, table: pl.DataFrame) -> pl.DataFrame:
    """The table with its numbers as Float64, so that no product overflows."""
    return table.with_columns(pl.exclude(GROUP, *view.kept).cast(pl.Float64))
