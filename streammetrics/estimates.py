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
    nothing = pl.lit(None, pl.Float64)
    own = {m.name: m.bounds_expressions() or (nothing, nothing) for m in metrics}
    notes = {m.name: m.note_expression() for m in metrics}

    def values(of: pl.DataFrame, expressions: Mapping[str, pl.Expr]) -> pl.DataFrame:
        numbers = of.with_columns(pl.exclude(GROUP, *statistic.kept).cast(pl.Float64))
        return _long(statistic, state, numbers, expressions)

    tables = list(statistic.cases(table).values())
    cases = [values(case, {m.name: m.expression() for m in metrics}) for case in tables]
    lowest, highest = (values(tables[0], {name: sides[i] for name, sides in own.items()})["value"] for i in (0, 1))
    said = {name: pl.lit(None, pl.String) if note is None else note for name, note in notes.items()}
    value = pl.col("value")
    return (
        cases[0]
        .with_columns(
            lower=pl.min_horizontal(value, pl.coalesce(lowest, pl.min_horizontal(*(c["value"] for c in cases)))),
            upper=pl.max_horizontal(value, pl.coalesce(highest, pl.max_horizontal(*(c["value"] for c in cases)))),
            note=_long(statistic, state, table, said)["value"],
        )
        .with_columns(pl.when(value.is_not_null()).then(pl.col("lower", "upper")))
        .join(statistic.wide(table), on=GROUP, how="left", maintain_order="left")
        .with_columns(
            wide=pl.when(pl.col("upper") - pl.col("lower") > WIDE).then("wide"),
            note=pl.when(value.is_null()).then(pl.coalesce("note", pl.lit(UNDEFINED))).otherwise("note"),
        )
        .with_columns(note=_joined("note", "wide"))
        .drop("wide")
    )


def _joined(*texts: str) -> pl.Expr:
    """Those of some texts that are not null, one after the other; null where all are."""
    said = pl.concat_str(texts, separator="; ", ignore_nulls=True)
    return pl.when(pl.any_horizontal(pl.col(texts).is_not_null())).then(said)


def _long(statistic: Statistic, state: State, table: pl.DataFrame, expressions: Mapping[str, pl.Expr]) -> pl.DataFrame:
    """Expressions over a table: columns group, kept keys, metric, value."""
    index = [GROUP, *statistic.kept]
    named = [e.alias(name) for name, e in expressions.items()]
    if len(statistic.kept) == len(statistic.keys):
        wide = table.select(*index, *named)
    else:
        wide = table.group_by(index, maintain_order=True).agg(named)
        wide = state.groups.select(GROUP).join(wide, on=GROUP, how="left", maintain_order="left")
    return wide.unpivot(index=index, on=list(expressions), variable_name="metric", value_name="value")
