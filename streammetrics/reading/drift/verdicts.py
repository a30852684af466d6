"""Verdicts on distributions: whether one shifted, moved, or is stable, by its quantities and by PSI."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from streammetrics.base import LIMITS, VERDICT, hidden, joined
from streammetrics.reading.drift.measures import drift_measures
from streammetrics.reading.drift.shifts import IS_SHARE, LEAST, MEAN, MEDIAN, MOST, QUANTITY, SCALE, shifts

if TYPE_CHECKING:
    from streammetrics.report import Comparison

MEANS, MEDIANS, PSI, STEADY, HAS_INTERVALS = map(hidden, ("mean ", "median ", "psi ", "steady", "decides"))
NUMBERS = ("a", "b", "difference", *LIMITS, IS_SHARE, SCALE)
LEVEL = 0.95  # of intervals, by default
SMALL, LARGE = 0.1, 0.2  # sizes of a change, relative to the reference


def drift_verdicts(sides: Comparison, names: Sequence[str], bins: int, confidence: float | None) -> pl.DataFrame:
    """Return the verdict on some distributions in each group, with the quantity that decides it."""
    confidence = confidence or LEVEL
    psi = drift_measures(sides, names, bins, confidence).filter(measure="psi")
    parts = [
        _verdicts(shifts(sides, name, confidence), psi.filter(of=name)).with_columns(of=pl.lit(name)) for name in names
    ]
    return pl.concat(parts, how="diagonal_relaxed")


def _verdicts(changes: pl.DataFrame, psi: pl.DataFrame) -> pl.DataFrame:
    """Return the verdict on each group, with the quantity that decides it: keys, `VERDICT`, and columns of `shifts`.

    A distribution ``"shifted"`` if the interval of a quantity contains only sizes above `LARGE`, and ``"moved"`` if
    it excludes no change, or if that of PSI is above 0.1. It is ``"stable"`` if all intervals contain only sizes below
    `SMALL`, and PSI is below 0.1. Otherwise, it is ``"open"``. Means, medians, and PSI with its interval are added.
    """
    keys = changes.columns[: changes.columns.index(QUANTITY)]
    steady = (pl.col(MOST) < SMALL).fill_null(False).all().alias(STEADY)
    decides = pl.col(LEAST).is_not_null().any().alias(HAS_INTERVALS)
    ranked = changes.sort(pl.col(LEAST).fill_null(0), descending=True, maintain_order=True)  # else the mean is first
    quantities = {MEANS: MEAN, MEDIANS: MEDIAN}
    usual = [
        pl.col(name).filter(pl.col(QUANTITY) == quantity).first().alias(prefix + name)
        for prefix, quantity in quantities.items()
        for name in NUMBERS
    ]
    verdicts = (
        changes.group_by(keys, maintain_order=True).agg(steady, decides, *usual)
        if keys
        else changes.select(steady, decides, *usual)
    )
    worst = ranked.unique(keys, keep="first", maintain_order=True) if keys else ranked.head(1)
    psi = psi.select(*keys, pl.col("value", *LIMITS).name.prefix(PSI))
    for frame in (worst, psi):
        verdicts = joined(verdicts, frame, keys)
    least, (psi_low, psi_high) = pl.col(LEAST).fill_null(0), (pl.col(PSI + limit) for limit in LIMITS)
    verdict = (
        pl.when(least > LARGE)
        .then(pl.lit("shifted"))
        .when((least > 0) | ((psi_low > SMALL) & pl.col(HAS_INTERVALS)).fill_null(False))
        .then(pl.lit("moved"))
        .when(pl.col(STEADY) & (psi_high < SMALL).fill_null(True))
        .then(pl.lit("stable"))
        .otherwise(pl.lit("open"))
    )
    return verdicts.with_columns(verdict.alias(VERDICT)).drop(STEADY, HAS_INTERVALS)
