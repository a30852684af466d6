"""Read metrics off the tables of a state: one tidy frame of values and certified bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from streammetrics.metrics import Metric, find_metric
from streammetrics.state import State
from streammetrics.statistics import GROUP, Statistic

WIDE = 1e-3
UNDEFINED = "undefined: 0/0"


def columns_of(statistics: Sequence[Statistic]) -> list[set[str]]:
    """The columns of each statistic that metrics can read."""
    return [set(s.schema(weighted=False)) - {GROUP} for s in statistics]


def estimate(state: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Values of metrics in every group.

    Returns:
        The group columns, the kept keys of all statistics, metric, value, lower, upper (Float64) and note (String); by
        group, then in the order of ``metrics``. A value is null where it is undefined, and the note says why.

    Raises:
        MetricError: where a metric reads columns that no statistic keeps.
    """
    tables = columns_of(state.statistics)
    left = [find_metric(m, tables) for m in metrics]
    kept = {key: s.keys[key] for s in state.statistics for key in s.kept}
    values = dict.fromkeys(("value", "lower", "upper"), pl.Float64())
    columns = {GROUP: pl.UInt32()} | kept | {"metric": pl.String()} | values | {"note": pl.String()}
    parts = [pl.DataFrame(schema=columns)]
    for statistic, names in zip(state.statistics, tables, strict=True):
        own = [m for m in left if set(m.columns) <= names]
        left = [m for m in left if m not in own]  # a metric is read off the first table that has its columns
        if own:
            parts.append(_read(statistic, state, own))
    order = pl.col("metric").replace_strict({m.name: i for i, m in enumerate(metrics)}, return_dtype=pl.UInt32)
    frame = pl.concat(parts, how="diagonal").sort(GROUP, order, *kept)
    return state.groups.join(frame, on=GROUP, maintain_order="right").drop(GROUP)


def _read(statistic: Statistic, state: State, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Metrics of one statistic: a row for each group, kept key and metric."""
    table = state.tables[statistic.name]
    tied, *others = (_as_floats(statistic, case) for case in statistic.cases(table).values())
    own = {m: bounds for m in metrics if (bounds := m.bounds_expressions()) is not None}
    notes = {m: note for m in metrics if (note := m.note_expression()) is not None}
    hidden = [m for m in metrics if m not in own]
    values = {f"value of {m}": m.expression() for m in metrics}
    lower = {f"lower of {m}": low for m, (low, _) in own.items()}
    upper = {f"upper of {m}": high for m, (_, high) in own.items()}
    parts = [_by_group(statistic, state, tied, values | lower | upper)]
    for i, case in enumerate(others):
        cases = {f"case {i} of {m}": m.expression() for m in hidden}
        parts.append(_by_group(statistic, state, case, cases).select(*cases))
    said = {f"note of {m}": note for m, note in notes.items()}
    parts.append(_by_group(statistic, state, table, said).select(*said))

    def estimate_of(m: Metric) -> pl.Expr:
        value = pl.col(f"value of {m}")
        cases = [f"case {i} of {m}" for i in range(len(others))]
        low, high = ([f"lower of {m}"], [f"upper of {m}"]) if m in own else (cases, cases)
        defined = pl.when(value.is_not_null())
        note = pl.col(f"note of {m}") if m in notes else pl.lit(None, pl.String)
        return pl.struct(
            value=value,
            lower=defined.then(pl.min_horizontal(value, *low)),
            upper=defined.then(pl.max_horizontal(value, *high)),
            note=defined.then(note).otherwise(pl.coalesce(note, pl.lit(UNDEFINED))),
        ).alias(m.name)

    index = [GROUP, *statistic.kept]
    return (
        pl.concat(parts, how="horizontal")
        .select(*index, *map(estimate_of, metrics))
        .unpivot(index=index, variable_name="metric", value_name="estimate")
        .unnest("estimate")
        .join(statistic.wide(table), on=GROUP, how="left", maintain_order="left")
        .with_columns(wide=pl.when(pl.col("upper") - pl.col("lower") > WIDE).then("wide"))
        .with_columns(note=_joined("note", "wide"))
        .drop("wide")
    )


def _joined(*texts: str) -> pl.Expr:
    """Those of some texts that are not null, one after the other; null where all are."""
    said = pl.concat_str(texts, separator="; ", ignore_nulls=True)
    return pl.when(pl.any_horizontal(pl.col(texts).is_not_null())).then(said)


def _as_floats(statistic: Statistic, table: pl.DataFrame) -> pl.DataFrame:
    """The table with its numbers as Float64, so that no product overflows."""
    return table.with_columns(pl.exclude(GROUP, *statistic.kept).cast(pl.Float64))


def _by_group(statistic: Statistic, state: State, table: pl.DataFrame, columns: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Expressions over the rows of each group and kept key, in the order of the groups."""
    index = [GROUP, *statistic.kept]
    named = [e.alias(name) for name, e in columns.items()]
    if len(statistic.kept) == len(statistic.keys):
        return table.select(*index, *named)
    found = table.group_by(index, maintain_order=True).agg(named)
    return state.groups.select(GROUP).join(found, on=GROUP, how="left", maintain_order="left")
