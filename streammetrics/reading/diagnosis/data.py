"""Findings about the rows: dropped ones, classes with few rows, ties, coarse bins, weights, and rounded scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from streammetrics.base import bound, capitalized, percentage
from streammetrics.data import LABEL
from streammetrics.metrics import FEWEST
from streammetrics.reading.diagnosis.finding import (
    NAMED,
    PLACE,
    WHERE,
    Finding,
    Row,
    Searched,
    beside,
    finding,
    listed,
    placed,
)
from streammetrics.statistics import ScoreHistogram

if TYPE_CHECKING:
    from streammetrics.report import Report

DROPPED = 0.1  # share of the rows above which the others can be a biased sample
TIED, ENOUGH = 0.1, 100  # share of rows with one score, of at least so many
WIDE = 0.01  # width of bounds
REPEATED = 2  # mean of whole weights above which they may count equal rows
COARSER = (100, 10)  # multiples of the step to which scores can have been rounded
SEVERAL, PEAKS = 9, 0.75  # multiples that decide, and the share of them with more rows than both neighbors together


def dropped(searched: Searched) -> Iterator[Finding]:
    """SM501: rows were dropped."""
    for row in placed(searched.total.rows("rows"), searched.total):
        out = searched.total.rows("dropped", **row[WHERE])["value"].sum()
        if out:
            rows = out + row["value"]
            why = "missing values" if searched.total.sample_weight is None else "missing values or weights of 0"
            sentence = f"{percentage(out / rows)} of the rows were dropped for {why}: {out:,.0f} of {rows:,.0f}."
            title = f"was evaluated without {percentage(out / rows)} of the rows"
            yield finding("SM501", "warn" if out > DROPPED * rows else "info", sentence, row, title=title)


def classes(searched: Searched) -> Iterator[Finding]:
    """SM502 and SM503: all rows are of one class, or few are of one."""
    total = searched.total
    if alone := missing_class(total):
        sentence = f"{capitalized(alone)}, so metrics of both classes are undefined."
        yield finding("SM502", "bad", sentence, title="was evaluated on rows of one class")
        return
    for name in ("positives", "negatives"):
        if searched.has(name):
            every = pl.lit(total.rows("support")["value"])
            counts = searched.with_row_weights(total.rows(name).with_columns(number="value"), "number", every)
            rows = list(searched.once(counts.filter(pl.col("number") < FEWEST).drop("threshold", strict=False)))
            if len(rows) > NAMED:
                sentence = f"Few {name} of {listed([row[PLACE] for row in rows])}: most of their metrics are uncertain."
                yield finding("SM503", "warn", sentence, {**rows[0], PLACE: ""}, name, f"was evaluated on few {name}")
                continue
            for row in rows:
                number, what = row["number"], name if row["number"] != 1 else name.removesuffix("s")
                count = f"Only {number:.3g} {what}" if number else f"No {name}"
                sentence = f"{count}: most metrics are uncertain, and some have no interval."
                yield finding("SM503", "warn", sentence, row, name, f"was evaluated on few {name}")


def scores(searched: Searched) -> Iterator[Finding]:
    """SM504 and SM505: many rows share a score, or a bin of different scores that makes bounds wide."""
    if not searched.statistic(ScoreHistogram):
        return
    total = searched.total
    bins = total.curve("scores").with_columns(count=pl.col("negatives") + pl.col("positives"))
    keys = [c for c in (*total.by, LABEL) if c in bins.columns]
    rows = pl.sum("count").over(keys) if keys else pl.sum("count")
    bins = bins.with_columns(share=pl.col("count") / rows, rows=rows).sort("share", descending=True)
    bins = searched.with_row_weights(bins, "rows", pl.col("rows"))
    tied = bins.filter(pl.col("lowest") == pl.col("highest"), pl.col("share") >= TIED, pl.col("rows") >= ENOUGH)
    for row in searched.once(tied):
        share, score = percentage(row["share"]), f"the same score, {row['lowest']:g}"
        some = f"{share} of the rows have {score}: they are ties." if total.sample_weight is None else ""
        yield finding("SM504", "info", some or f"{share} of the weight has {score}.", row)
    mixed = bins.filter(pl.col("lowest") < pl.col("highest"))
    for row in placed(total.rows("roc_auc").filter(pl.col("upper") - pl.col("lower") > WIDE), total):
        widest = beside(mixed, row, *keys).head(1)
        for share, low, high in widest.select("share", "lowest", "highest").iter_rows():
            certain = bound(row["value"], row["lower"], row["upper"])
            limits = f"ROC AUC is known only {'to be within' if ' to ' in certain else 'to'} {certain}"
            bin_ = f"{percentage(share)} of the rows are in the bin from {low:g} to {high:g}"
            sentence = f"{limits}: {bin_}. Pass a score that many rows share as an atom, or a larger capacity."
            yield finding("SM505", "warn", sentence, row, "roc_auc", "has wide bounds")


def weights(searched: Searched) -> Iterator[Finding]:
    """SM506: weights are whole numbers, as are counts of equal rows."""
    total = searched.total
    if total.sample_weight is None:
        return
    totals = []
    for statistic in total.state.statistics:
        table = total.state.tables[statistic.name]
        sums = [column for pair in statistic.twins.items() if pair[0] in statistic.counts for column in pair]
        if sums and True in table.select((pl.col(sums) % 1 != 0).any()).row(0):
            return
        if sums and statistic.checks.rows:
            totals.append(sum(table.select(pl.sum(*statistic.checks.rows)).row(0)))
    mean = total.rows("rows").select(min(totals, default=0.0) / pl.sum("value")).item()
    if mean >= REPEATED:
        whole = f"The weights are whole numbers, {mean:.3g} on average."
        sentence = f"{whole} If they count equal rows, intervals are too wide: evaluate them as counts."
        yield finding("SM506", "info", sentence)


def rounding(searched: Searched) -> Iterator[Finding]:
    """SM507 and SM508: scores were rounded, all or some of them more coarsely than stated."""
    for statistic in searched.total.state.statistics:
        if isinstance(statistic, ScoreHistogram) and (step := statistic.rounding) is not None:
            scores = f"Scores were rounded to {step:g}"
            sentence = f"{scores}: losses, calibration, and counts at thresholds are those of the rounded scores."
            yield finding("SM507", "info", sentence)
            bins = searched.total.curve("scores")
            inner = bins.filter(pl.col("lowest") == pl.col("highest"), ~pl.col("lowest").is_in([0.0, 1.0]))
            steps = inner.select(pl.all(), step=pl.col("lowest") / step, rows=pl.col("negatives") + pl.col("positives"))
            for row in searched.once(bins):
                yield from _coarser(beside(steps, row, *row[WHERE]), step, row)


def _coarser(scores: pl.DataFrame, step: float, row: Row) -> Iterator[Finding]:
    """SM508: scores, all or far more than those beside them, are multiples of more than the step."""
    steps, rows = np.rint(scores["step"].to_numpy()), scores["rows"].to_numpy()
    between = np.diff(steps, append=np.inf) == 1
    between &= np.roll(between, 1)
    peaks = between & (rows > np.roll(rows, 1) + np.roll(rows, -1))
    for factor in COARSER:
        multiple = steps % factor == 0
        if multiple.all() and len(steps) >= SEVERAL:
            sentence = (
                f"All scores are multiples of {factor * step:g}, so they may have been rounded to it, not to {step:g}."
            )
            yield finding("SM508", "info", sentence, row)
            return
        if peaks[multiple].sum() >= max(SEVERAL, PEAKS * between[multiple].sum()):
            many = (
                f"Many scores are multiples of {factor * step:g}: if some rows were rounded to it instead of {step:g}"
            )
            sentence = f"{many}, bounds of ranking metrics are too narrow."
            yield finding("SM508", "warn", sentence, row, title="may have bounds that are too narrow")
            return


def missing_class(report: Report) -> str | None:
    """Return that no row has the positive label, or that every row has it, as words; None for rows of both classes.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p")
    >>> missing_class(acc.update({"y": [1], "p": [0.7]}).finalize())
    'every row has the positive label'
    >>> missing_class(acc.update({"y": [0], "p": [0.7]}).finalize())
    """
    if not report.rows("rows")["value"].sum():
        return None
    for count, has in (("positives", "no row has"), ("negatives", "every row has")):
        if not report.readable(count):
            continue
        rows = report.rows(count)
        of_labels = LABEL in rows.columns and rows[LABEL].count()
        if not of_labels and not rows["value"].sum():
            return f"{has} the positive label"
    return None
