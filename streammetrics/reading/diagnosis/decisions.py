"""Findings about what is predicted at a threshold, and which labels never are."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from streammetrics.base import capitalized, cutoff, percentage
from streammetrics.data import LABEL, MODEL
from streammetrics.errors import escaped
from streammetrics.metrics import FEWEST
from streammetrics.reading.diagnosis.finding import WHERE, Finding, Row, Searched, Severity, finding, listed, placed
from streammetrics.statistics import ConfusionCounts, ConfusionMatrix, RankCounts, ScoreHistogram

RARE = 0.1  # predicted positives per positive, below which almost nothing is predicted positive
NEARLY_ALL = 0.99  # share of rows


def thresholds(searched: Searched) -> Iterator[Finding]:
    """SM301 and SM302: almost no rows, or almost all, are predicted positive, even at the best threshold for this.

    A threshold on a score need not be the one in use: at 0.5, a model of rare events without faults predicts none.
    """
    if not searched.statistic(ConfusionCounts):
        return
    predicted, actual, rows = (
        pl.sum_horizontal(cells) for cells in (["tp", "fp"], ["tp", "fn"], ["tp", "fp", "fn", "tn"])
    )
    shares = {"predicted": predicted / rows, "actual": actual / rows}
    counts = searched.total.confusion_counts().with_columns(**shares, fewest=pl.min_horizontal(actual, rows - actual))
    counts = searched.with_row_weights(counts, "fewest", rows).filter(pl.col("fewest") >= FEWEST)
    for row in searched.once(counts.sort("predicted", descending=True)):
        if row["predicted"] < RARE * row["actual"]:
            sentence = _sentence(searched, row, "only ")
            yield finding("SM301", _severity(row), sentence, row, title="predicts few positives")
    for row in searched.once(counts.sort("predicted")):
        if row["predicted"] > NEARLY_ALL and row["actual"] < 1 - RARE:
            yield finding("SM302", _severity(row), _sentence(searched, row, ""), row, title="predicts few negatives")


def _severity(row: Row) -> Severity:
    return "bad" if row["threshold"] is None else "info"


def _sentence(searched: Searched, row: Row, only: str) -> str:
    share = percentage(row["predicted"])
    rows = "no rows" if not row["predicted"] else f"{only}{share} of rows"
    sentence = f"{rows} are predicted positive ({percentage(row['actual'])} are)"
    if row["threshold"] is None:
        sentence = capitalized(sentence)
    else:
        sentence = f"At threshold {cutoff(row['threshold'])}, {sentence}"
    if not searched.statistic(ScoreHistogram):
        return f"{sentence}."
    keys = {k: v for k, v in row[WHERE].items() if k != "threshold"}
    best = searched.total.operating_point(maximize="f1", **keys)["threshold"].drop_nulls()
    return f"{sentence}. For the best F1, use {cutoff(best[0], 3)}." if len(best) else f"{sentence}."


def labels(searched: Searched) -> Iterator[Finding]:
    """SM303: labels that are never predicted."""
    if not searched.statistic(ConfusionMatrix):
        return
    cells = searched.total.confusion_matrix()
    models = [c for c in cells.columns if c == MODEL]
    actual = cells.group_by(*models, pl.col("actual").alias(LABEL), maintain_order=True).agg(rows=pl.sum("count"))
    every = pl.sum("rows").over(models) if models else pl.sum("rows")
    actual = searched.with_row_weights(actual.with_columns(share=pl.col("rows") / every), "rows", every)
    predicted = cells.filter(pl.col("count") > 0).select(*models, pl.col("predicted").alias(LABEL))
    never = actual.join(predicted, on=[*models, LABEL], how="anti", maintain_order="left")
    never = never.filter(pl.col("rows") >= FEWEST).sort("share", descending=True)
    for row in placed(_labels_of_models(never), searched.total):
        texts = [escaped(str(label)) for label in row["labels"]]
        share = percentage(row["share"])
        severity: Severity = "info" if searched.statistic(RankCounts) else "warn"
        sentence = f"Labels that are never predicted: {listed(texts)}, {share} of the rows."
        yield finding("SM303", severity, sentence, row, title=f"never predicts {listed(texts)}")


def _labels_of_models(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per model, with its labels and the share of their rows."""
    columns = {"labels": pl.col(LABEL), "share": pl.sum("share")}
    if MODEL in frame.columns:
        return frame.group_by(MODEL, maintain_order=True).agg(**columns)
    return frame.select(pl.col(LABEL).implode().alias("labels"), pl.sum("share")).filter(pl.col("share") > 0)
