"""Slices in which a model fails: conjunctions of group values in which a metric is worse than in the other rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.base import hidden, matching, readable, require_free, require_level, text, whole
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.models import require_models
from streammetrics.reading.slicing import SLICE
from streammetrics.statistics import GROUP, RowCounts, State

if TYPE_CHECKING:
    from streammetrics.reading.slicing.candidates import Candidates, Numbers
    from streammetrics.report import Report

CALIBRATION = "ecce"  # the metric by which slices are tested against their own scores
CONFIDENCE = 0.95  # of intervals, if a report has none
MIN_ROWS = 100  # of a slice, by default; the false discovery rate is simulated with so many
OF_SLICE = hidden("columns")
COLUMNS = (
    *(SLICE, "metric", "value", "rest", "difference", "ci_lower", "ci_upper", "p_value"),
    *("rows", "share_of_rows", "excess_loss"),
)


def slices(
    report: Report, metric: str | Metric, depth: int = 2, min_rows: int = MIN_ROWS, fdr: float = 0.05, **keys: Any
) -> pl.DataFrame:
    """Return the slices of a report in which a metric is worse than in the other rows. See `Report.slices`.

    `OF_SLICE` has the group columns of each slice, whose value can be null.
    """
    from streammetrics.reading.slicing.candidates import all_candidates  # when it is needed: it takes a while to import
    from streammetrics.reading.slicing.remainders import Remainders
    from streammetrics.reading.slicing.search import miscalibrated, worse

    metric = report.find(metric, of_label=LABEL in keys)
    depth, min_rows = whole(Argument("depth"), depth, least=1), whole(Argument("min_rows"), min_rows, least=1)
    require_level(Argument("fdr"), fdr)
    if metric.better is None:
        raise MetricError(f"Metric {metric.name!r} has no preferred direction, so slices cannot be ranked by it.")
    require_free(report.by, COLUMNS)
    if MODEL in keys:
        require_models(report.state, keys[MODEL])
    searched = {k: v for k, v in keys.items() if k in report.by}
    if searched:
        report = report._with_states(lambda state: state.select(matching(state.keys, state.by, searched)))
    state, folds = report.state, report.folds
    models = state.keys[MODEL].unique(maintain_order=True) if MODEL in state.by else ()
    if len(models) > 1:
        raise ReportError(
            "The report has several models. Select one with ", Argument("model"), f": {text.few(models)}."
        )
    columns = [c for c in state.by if c not in searched and c != MODEL]
    if not columns:
        raise ReportError("The report has no group columns to slice by. Evaluate with ", Argument("by"), ".")
    rows, groups = _rows(state), state.keys.select(columns)
    others = {k: v for k, v in keys.items() if k not in searched}
    states = [state] if folds is None else [state, folds]
    remainders = Remainders.from_states(metric, states, rows, others, report.confidence or CONFIDENCE)
    if folds is None and state.weighted and metric.name != CALIBRATION:
        raise MetricError("Slices of weighted rows require units. Evaluate with ", Argument("unit"), ".")
    overall = remainders.overall()
    candidates = all_candidates(groups, rows, depth, min_rows)
    if metric.name == CALIBRATION:
        failing, p = miscalibrated(remainders, candidates, fdr)
    else:
        failing, p = worse(remainders.coarse(len(candidates.rows)), candidates, fdr)
    is_failing = np.isin(np.arange(len(p) + 1), failing)  # the last is that of groups without a slice
    numbers = [np.where(is_failing[slices], slices, -1) for slices in candidates.numbers.values()]
    tables, everywhere = remainders.tables(numbers, len(p)), remainders.tables([candidates.numbers[()]], 1)
    result = remainders.compare(tables, failing, everywhere, np.zeros_like(failing))
    result = result.with_columns(
        p_value=pl.Series(p[failing]), rows=pl.Series(candidates.rows[failing]), metric=pl.lit(metric.name)
    )
    frame = _described(groups, candidates, failing).hstack(result)
    return _ranked(frame, metric, overall, int(rows.sum())).select(*columns, *COLUMNS, OF_SLICE)


def _rows(state: State) -> Numbers:
    table = state.tables[RowCounts.name]
    rows = np.zeros(state.groups.height, np.int64)
    rows[table[GROUP].to_numpy()] = table["rows"].to_numpy()
    return rows


def _described(groups: pl.DataFrame, candidates: Candidates, slices: Numbers) -> pl.DataFrame:
    """The group columns of slices, null if a slice has any value; the same as text; and which columns have values."""
    first, columns = candidates.first[slices], [list(candidates.columns[i]) for i in slices]
    values, names = groups[first], list[pl.Expr]()
    for c in groups.columns:
        used = pl.Series([c in names for names in columns], dtype=pl.Boolean)
        names.append(pl.when(used).then(pl.lit(f"{c} = ") + readable(groups[c], first).fill_null("null")))
        values = values.with_columns(pl.when(used).then(c).alias(c))
    name = pl.concat_str(names, separator=" and ", ignore_nulls=True).alias(SLICE)
    return values.with_columns(name, pl.Series(OF_SLICE, columns, pl.List(pl.String)))


def _ranked(frame: pl.DataFrame, metric: Metric, overall: float | None, rows: int) -> pl.DataFrame:
    best = metric.range[metric.better == "high"]
    gain = pl.lit(overall, pl.Float64) - pl.col("rest")
    sound = overall is not None and math.isfinite(best) and overall != best
    loss = pl.when(sound).then(gain / (pl.lit(overall, pl.Float64) - best))
    shares = frame.with_columns(share_of_rows=pl.col("rows") / rows, excess_loss=loss)
    descending = metric.better != "high"  # a gain in an AUC is below 0: all rows have less than the rest
    return shares.sort(gain, descending=descending, nulls_last=True, maintain_order=True)
