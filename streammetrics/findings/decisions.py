"""Findings about what is predicted at a threshold, and which labels never are."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from streammetrics.findings.finding import WHERE, Finding, Row, Searched, found, listed, placed
from streammetrics.intervals.method import FEWEST
from streammetrics.rows.roles import LABEL, MODEL
from streammetrics.statistics import ConfusionCounts, ConfusionMatrix, ScoreHistogram
from streammetrics.text import escaped
from streammetrics.text.decimals import percentage

RARE = 0.1  # predicted positives per positive, below which almost nothing is predicted positive
NEARLY_ALL = 0.99  # share of rows


def thresholds(searched: Searched) -> Iterator[Finding]:
    """SM301 and SM302: almost no rows, or almost all, are predicted positive at a threshold."""
    if not searched.statistic(ConfusionCounts):
        return
    predicted, actual, rows = (
        pl.sum_horizontal(cells) for cells in (["tp", "fp"], ["tp", "fn"], ["tp", "fp", "fn", "tn"])
    )
    counts = searched.total.confusion_counts().filter(actual >= FEWEST, rows - actual >= FEWEST)
    for row in placed(counts.with_columns(predicted=predicted / rows, actual=actual / rows), searched.total):
        share, positive = row["predicted"], row["actual"]
        if share < RARE * positive:
            yield found("SM301", "bad", _sentence(searched, row, "only "), row)
        elif share > NEARLY_ALL and positive < 1 - RARE:
            yield found("SM302", "bad", _sentence(searched, row, ""), row)


def _sentence(searched: Searched, row: Row, only: str) -> str:
    share = percentage(row["predicted"])
    told = "none" if not row["predicted"] else f"{only}{share}"
    told += f" of the rows are predicted positive ({percentage(row['actual'])} are)"
    at = "" if row["threshold"] is None else f"At threshold {row['threshold']:g}, "
    told = at + told if at else told[0].upper() + told[1:]
    if not searched.statistic(ScoreHistogram):
        return f"{told}."
    keys = {k: v for k, v in row[WHERE].items() if k != "threshold"}
    best = searched.total.operating_point(maximize="f1", **keys)["threshold"].drop_nulls()
    return f"{told}. F1 is largest at {best[0]:.3g}." if len(best) else f"{told}."


def labels(searched: Searched) -> Iterator[Finding]:
    """SM303: labels that are never predicted."""
    if not searched.statistic(ConfusionMatrix):
        return
    cells = searched.total.confusion_matrix()
    models = [c for c in cells.columns if c == MODEL]
    actual = cells.group_by(*models, pl.col("actual").alias(LABEL), maintain_order=True).agg(rows=pl.sum("count"))
    predicted = cells.filter(pl.col("count") > 0).select(*models, pl.col("predicted").alias(LABEL))
    never = actual.join(predicted, on=[*models, LABEL], how="anti", maintain_order="left")
    for row in placed(_by_model(never.filter(pl.col("rows") >= FEWEST).sort("rows", descending=True)), searched.total):
        texts = [escaped(str(label)) for label in row["labels"]]
        sentence = f"Labels that are never predicted: {listed(texts)}, the labels of {row['rows']:,.0f} rows."
        yield found("SM303", "warn", sentence, row)


def _by_model(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per model, with its labels and their rows."""
    columns = {"labels": pl.col(LABEL), "rows": pl.sum("rows")}
    if MODEL in frame.columns:
        return frame.group_by(MODEL, maintain_order=True).agg(**columns)
    return frame.select(pl.col(LABEL).implode().alias("labels"), pl.sum("rows")).filter(pl.col("rows") > 0)
