"""Slices in which a model fails: conjunctions of group values in which a metric is worse than in the other rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from streammetrics.base import hidden, matching, readable, require_free, require_level, text, whole
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import Argument, MetricError, ReportError
from streammetrics.metrics import Metric
from streammetrics.reading.models import require_models
from streammetrics.reading.slicing import SLICE
from streammetrics.statistics import GROUP, RowCounts, State, select

if TYPE_CHECKING:
    from streammetrics.reading.slicing.cuts import Numbers
    from streammetrics.reading.slicing.lots import Lot
    from streammetrics.reading.slicing.remainders import Remainders
    from streammetrics.reading.slicing.search import Failing
    from streammetrics.report import Report

CONFIDENCE = 0.95  # of intervals, if a report has none
MIN_ROWS = 100  # of a slice, by default; the false discovery rate is simulated with so many
OF_SLICE = hidden("columns")
COLUMNS = (
    *(SLICE, "metric", "value", "rest", "difference", "ci_lower", "ci_upper", "p_value"),
    *("rows", "share_of_rows", "excess_loss"),
)


def slices(
    report: Report, metric: str | Metric, depth: int, min_rows: int, fdr: float, keys: Mapping[str, Any]
) -> pl.DataFrame:
    """Return the slices of a report in which a metric is worse than in the other rows. See `Report.slices`."""
    return with_columns_of_slices(report, metric, depth, min_rows, fdr, **keys).drop(OF_SLICE)


def with_columns_of_slices(
    report: Report, metric: str | Metric, depth: int = 2, min_rows: int = MIN_ROWS, fdr: float = 0.05, **keys: Any
) -> pl.DataFrame:
    """Return the frame of `slices` with `OF_SLICE`, the group columns of each slice, whose value can be null."""
    from streammetrics.reading.slicing.calibration import CALIBRATION, miscalibrated
    from streammetrics.reading.slicing.lots import all_lots  # when they are needed: they take a while to import
    from streammetrics.reading.slicing.remainders import RESULT, Remainders
    from streammetrics.reading.slicing.search import Search

    found = report.find(metric, of_label=LABEL in keys)
    depth, min_rows = whole(Argument("depth"), depth, least=1), whole(Argument("min_rows"), min_rows, least=1)
    require_level(Argument("fdr"), fdr)
    if found.better is None:
        raise MetricError(f"Metric {found.name!r} has no preferred direction, so slices cannot be ranked by it.")
    require_free(report.by, COLUMNS)
    if MODEL in keys:
        require_models(report.state, keys[MODEL])
    own = {k: v for k, v in keys.items() if k in report.by}
    some = report._with_states(lambda state: select(state, matching(state.keys, state.by, own)) if own else state)
    state, folds = some.state, some.folds
    models = state.keys[MODEL].unique(maintain_order=True) if MODEL in state.by else ()
    if len(models) > 1:
        raise ReportError(
            "The report has several models. Select one with ", Argument("model"), f": {text.few(models)}."
        )
    columns = [c for c in state.by if c not in own and c != MODEL]
    if not columns:
        raise ReportError("The report has no group columns to slice by. Evaluate with ", Argument("by"), ".")
    rows = _rows(state)
    others = {k: v for k, v in keys.items() if k not in own}
    remainders = Remainders.of(found, state, folds, rows, others, report.confidence or CONFIDENCE)
    if folds is None and state.weighted and found.name != CALIBRATION:
        raise MetricError("Slices of weighted rows require units. Evaluate with ", Argument("unit"), ".")
    overall = remainders.overall()
    everywhere, *_ = lots = all_lots(state.keys.select(columns), rows, depth, min_rows)
    searched = state.keys.select(columns)
    if found.name == CALIBRATION:
        failing = miscalibrated(remainders, lots[1:], fdr)
    else:
        failing = Search.of(remainders.coarse(sum(len(lot.rows) for lot in lots)), lots, fdr).findings()
    parts = [_described(searched, of_lot, remainders, everywhere) for of_lot in failing]
    schema = searched.schema | {SLICE: pl.String(), OF_SLICE: pl.List(pl.String)} | RESULT | {"rows": pl.Int64()}
    frame = pl.concat([pl.DataFrame(schema=schema), *parts]).with_columns(metric=pl.lit(found.name))
    return _ranked(frame, found, overall, int(rows.sum())).select(*columns, *COLUMNS, OF_SLICE)


def _rows(state: State) -> Numbers:
    table = state.tables[RowCounts.name]
    found = np.zeros(state.groups.height, np.int64)
    found[table[GROUP].to_numpy()] = table["rows"].to_numpy()
    return found


def _described(keys: pl.DataFrame, finding: Failing, remainders: Remainders, everywhere: Lot) -> pl.DataFrame:
    """Failing slices by the same columns: their values, text, comparison with all other rows, and number of rows."""
    lot = finding.lot
    values = keys[lot.first]
    unused = [pl.lit(None, dtype).alias(c) for c, dtype in keys.schema.items() if c not in lot.columns]
    names = [pl.lit(f"{c} = ") + readable(keys[c], lot.first).fill_null("null") for c in lot.columns]
    name = pl.concat_str(names, separator=" and ")
    slices, whole = (remainders.tables(of.numbers, len(of.rows)) for of in (lot, everywhere))
    result = remainders.compare(slices, whole, np.zeros_like(lot.first)).with_columns(p_value=finding.p)
    own = pl.lit([*lot.columns], pl.List(pl.String)).alias(OF_SLICE)
    return values.with_columns(name.alias(SLICE), own, *unused).hstack(result).with_columns(pl.Series("rows", lot.rows))


def _ranked(frame: pl.DataFrame, metric: Metric, overall: float | None, rows: int) -> pl.DataFrame:
    best = metric.range[metric.better == "high"]
    gain = pl.lit(overall, pl.Float64) - pl.col("rest")
    sound = overall is not None and math.isfinite(best) and overall != best
    loss = pl.when(sound).then(gain / (pl.lit(overall, pl.Float64) - best))
    shares = frame.with_columns(share_of_rows=pl.col("rows") / rows, excess_loss=loss)
    descending = metric.better != "high"  # a gain in an AUC is below 0: all rows have less than the rest
    return shares.sort(gain, descending=descending, nulls_last=True, maintain_order=True)
