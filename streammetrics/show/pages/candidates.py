"""Candidate thresholds: those of a report, with the best F1 or the lowest cost, and others with a reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import at_most, cutoff, minus
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import MetricError
from streammetrics.metrics import CELLS
from streammetrics.show.pages.decision import DIGITS

if TYPE_CHECKING:
    from streammetrics.report import Report

MOST = 20  # thresholds of a report
COSTS = (1, 3, 10, 30, 100)  # of a false negative, if a false positive costs 1
TOPS = (0.01, 0.02, 0.05, 0.1, 0.2)  # shares of the rows
PRECISIONS = (0.1, 0.5, 0.9)  # guaranteed for new rows
CONFIDENCE = 0.95  # of the guarantee
CHOICE = ("kind", "button", "candidate")
STORED, GUARANTEED = "Of the report", "Guaranteed precision"  # kinds


def candidate_thresholds(total: Report, curve: pl.DataFrame) -> pl.DataFrame:
    """Return the candidates of each model and label, given the lift curve of a report.

    Columns: ``kind`` of candidate, its ``button`` among those of the kind, its name as ``candidate``, ``model`` and
    ``label`` if there are several, ``threshold``, and the confusion counts, which are exact.
    """
    keys = keys_of(curve)
    parts = [
        points.drop_nulls("threshold").select(
            pl.lit(kind).alias("kind"),
            pl.lit(button).alias("button"),
            pl.lit(candidate).alias("candidate"),
            *keys,
            "threshold",
            *CELLS,
        )
        for kind, button, candidate, points in _candidates(total, curve, keys)
    ]
    return pl.concat(parts, how="vertical_relaxed")


def keys_of(curve: pl.DataFrame) -> list[str]:
    """Return the columns that name the model and the label of a point."""
    return [column for column in (MODEL, LABEL) if column in curve.columns]


def _candidates(total: Report, curve: pl.DataFrame, keys: list[str]) -> Iterator[tuple[str, str, str, pl.DataFrame]]:
    """The kind of each candidate, its button, its name, and its point of each model and label that has one."""
    with suppress(MetricError):
        stored = total.confusion_counts()
        for threshold in stored["threshold"].unique().sort().head(MOST):
            text = minus(cutoff(threshold, DIGITS))
            yield STORED, text, "threshold of the report", stored.filter(threshold=threshold)
    yield "Best", "F1", "best F1", total.operating_point(maximize="f1")
    for fn in COSTS:
        best = total.operating_point(minimize=f"cost(fp=1, fn={fn})")
        alarms = "1 false alarm" if fn == 1 else f"{fn} false alarms"
        yield "A miss costs", f"{fn}×", f"lowest cost, if a miss costs {alarms}", best
    finite = curve.filter(pl.col("threshold").is_finite())
    for top in TOPS:
        lowest = finite.filter(at_most(pl.col("targeted"), top)).group_by(keys, maintain_order=True).last()
        yield "Highest scores", f"{top:.0%}", f"highest {top:.0%} of the scores", lowest
    prevalence = (pl.col("tp") + pl.col("fn")) / pl.sum_horizontal(CELLS)
    for limit in PRECISIONS:
        with suppress(MetricError):  # of weighted or correlated rows
            safe = total.operating_point(maximize="recall", subject_to=f"precision >= {limit}", confidence=CONFIDENCE)
            text = f"{limit:.0%}"
            yield GUARANTEED, text, f"precision of at least {text}, guaranteed", safe.filter(prevalence < limit)
