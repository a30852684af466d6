"""Share of rows for which the decisions of two models differ."""

from __future__ import annotations

import polars as pl

from streammetrics.errors import MetricError
from streammetrics.frame import LIMITS
from streammetrics.intervals.jackknife import HIGH, LOW, TOTAL, jackknife_intervals
from streammetrics.intervals.proportions import wilson_interval
from streammetrics.rows.roles import FOLD
from streammetrics.state.tables import State, find_groups, roll_up
from streammetrics.statistics import GROUP, PairedOutcomes
from streammetrics.statistics.paired_outcomes import CELLS

SAME = ("tn_tn", "fn_fn", "fp_fp", "tp_tp")
ROWS, FLIPS = pl.col("rows"), pl.col("flips")


def flip_rates(pairs: State, statistic: PairedOutcomes, names: tuple[str, str], confidence: float) -> pl.DataFrame:
    """Return group columns, threshold, rows, flips, value, and limits, from pairs of models, by fold with ``unit``."""
    folds = FOLD in pairs.by
    columns = [c for c in pairs.by if c != FOLD]
    total = roll_up(pairs, columns) if folds else pairs
    whole, parts = (_counted(state, statistic, names) for state in (total, pairs))
    if whole is None or parts is None:
        a, b = names
        raise MetricError(
            f"No statistics of the pair {a!r} and {b!r}. Evaluate both models in one accumulator with pairs=True."
        )
    whole = whole.with_columns(value=FLIPS / ROWS)
    if folds:
        numbers = find_groups(pairs.keys.drop(FOLD), total.groups)
        own = parts.with_columns(numbers.gather(parts[GROUP]).alias(GROUP))
        left = own.join(whole, on=[GROUP, "threshold"], nulls_equal=True, suffix="_of_all")
        without = (pl.col("flips_of_all") - FLIPS) / (pl.col("rows_of_all") - ROWS)
        ends = {TOTAL: pl.col("value"), "value": without, LOW: pl.lit(0.0), HIGH: pl.lit(1.0)}
        limits = jackknife_intervals(left.with_columns(**ends), [GROUP, "threshold"], confidence)
        limits = limits.select(GROUP, "threshold", *LIMITS)
        whole = whole.join(limits, on=[GROUP, "threshold"], how="left", nulls_equal=True, maintain_order="left")
    elif whole.schema["rows"].is_float():  # weights do not give the number of rows
        whole = whole.with_columns(pl.lit(None, pl.Float64).alias(limit) for limit in LIMITS)
    else:
        whole = whole.with_columns(wilson_interval(FLIPS, ROWS, confidence))
    return total.groups.join(whole, on=GROUP, maintain_order="right").drop(GROUP)


def _counted(state: State, statistic: PairedOutcomes, names: tuple[str, str]) -> pl.DataFrame | None:
    table = statistic.between(state.table(statistic), *names)
    if table is None:
        return None
    differing = [cell for cell in CELLS if cell not in SAME]
    return table.select(GROUP, "threshold", rows=pl.sum_horizontal(CELLS), flips=pl.sum_horizontal(differing))
