"""Findings about slices in which a metric is worse than in all other rows, and about models that predict the same."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from streammetrics.base import rows, value_texts
from streammetrics.data import MODEL
from streammetrics.errors import MetricError, ReportError, escaped
from streammetrics.metrics import in_a_sentence
from streammetrics.reading.diagnosis.finding import MANY, PLACE, WHERE, Finding, Searched, finding, listed
from streammetrics.reading.slicing.slices import OF_SLICE, slices
from streammetrics.statistics import PAIR, RowCounts

LOSSES = ("log_loss_skill", "mae", "accuracy")  # by which slices are searched, the first available one
LARGE = 0.05  # difference, as a share of the distance of the other rows from the best value


def worse(searched: Searched, error: float) -> Iterator[Finding]:
    """SM401: slices that are significantly worse than all other rows."""
    report = searched.report
    metric = next((loss for loss in LOSSES if searched.has(loss)), None)
    columns = [c for c in report.by if c != MODEL]
    if metric is None or not columns or not 1 < report.state.keys.height <= MANY:
        return
    loss = report.find(metric)
    best = loss.range[loss.better == "high"]
    models = report.state.keys[MODEL].unique(maintain_order=True).to_list() if MODEL in report.by else [None]
    for model in models:
        keys = {} if model is None else {MODEL: model}
        try:
            worse = slices(report, metric, fdr=error / len(models), **keys)
        except (MetricError, ReportError):  # no intervals here
            return
        large = list(rows(worse.filter(pl.col("difference").abs() >= LARGE * (pl.col("rest") - best).abs())))
        if large:
            first, texts = large[0], [escaped(row["slice"]) for row in large]
            value, others = value_texts(
                [first | {"value": first[c], "lower": None, "upper": None} for c in ("value", "rest")]
            )
            sentence = f"Significantly worse in {texts[0]}: {in_a_sentence(loss)} is {value}, elsewhere {others}."
            sentence += f" Also worse: {listed(texts[1:])}." * (len(texts) > 1)
            place = {
                WHERE: keys | {c: first[c] for c in columns if c in first[OF_SLICE]},
                PLACE: "" if model is None else escaped(str(model)),
            }
            row = first | {"value": first["difference"]} | place
            yield finding("SM401", "warn", sentence, row, metric, f"does worse in {texts[0]}")


def twins(searched: Searched) -> Iterator[Finding]:
    """SM601: models with the same value of every metric."""
    if MODEL not in searched.total.by:
        return
    state = searched.total.state
    statistics = [s.name for s in state.statistics if not (isinstance(s, RowCounts) or PAIR in s.keys)]
    groups: list[tuple[list[pl.DataFrame], list[str]]] = []
    for model in state.keys[MODEL] if statistics else ():
        of_model = state.select(state.keys.filter(pl.col(MODEL) == model)).tables
        tables = [of_model[name] for name in statistics]
        models = next((names for others, names in groups if all(map(pl.DataFrame.equals, others, tables))), None)
        if models is None:
            groups.append((tables, models := []))
        models.append(escaped(model))
    for _, models in groups:
        if len(models) > 1:
            sentence = f"Models with the same value of every metric: {listed(models)}. Is a column used twice?"
            yield finding("SM601", "warn", sentence, title="is the same as another model")
