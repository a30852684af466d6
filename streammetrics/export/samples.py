"""Reports as samples for monitoring systems: numbers with a name and labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import polars as pl

from streammetrics import Report
from streammetrics.base import LIMITS, METRIC, VALUE, keys_of, text, written
from streammetrics.errors import ReportError
from streammetrics.metrics import parse_metric

AVERAGE = "average"
NAMES = {
    "value": "Value of a metric of model predictions.",
    "lower": "Certified lower bound of the metric of the evaluated rows.",
    "upper": "Certified upper bound of the metric of the evaluated rows.",
    "ci_lower": "Lower endpoint of the confidence interval of the metric.",
    "ci_upper": "Upper endpoint of the confidence interval of the metric.",
}


class Sample(NamedTuple):
    """A number of a report.

    Attributes:
        name: One of `NAMES`.
        labels: Nonempty values of ``metric``, ``average``, group columns, and keys such as ``threshold``.
        value: The number.
    """

    name: str
    labels: dict[str, str]
    value: float


def samples(report: Report, renamed: Callable[[str], str] = str) -> Iterator[Sample]:
    """All defined numbers of a report. ``renamed`` converts the name of a column to that of a label."""
    frame = report.frame
    for row, labels in zip(frame.iter_rows(named=True), _labels(frame, renamed).iter_rows(named=True), strict=True):
        nonempty = {label: value for label, value in labels.items() if value}
        for name in (*VALUE, *LIMITS):
            if row.get(name) is not None:
                yield Sample(name, nonempty, row[name])


def _labels(frame: pl.DataFrame, renamed: Callable[[str], str]) -> pl.DataFrame:
    keys = keys_of(frame)
    metrics = {name: _without_average(name) for name in frame[METRIC].unique()}
    averages = [metrics[name][1] for name in frame[METRIC]]
    columns = [(key, written(frame[key]).fill_null("")) for key in keys]
    columns += [(METRIC, pl.Series([metrics[name][0] for name in frame[METRIC]], dtype=pl.String))]
    columns += [(AVERAGE, pl.Series(averages, dtype=pl.String))] if any(averages) else []
    names = [renamed(name) for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            same = [column for column, _ in columns if renamed(column) == name]
            raise ReportError(f"The columns {text.few(same)} would have the same label {name!r}. Rename one of them.")
    labels = pl.DataFrame([values.alias(name) for name, (_, values) in zip(names, columns, strict=True)])
    if labels.is_duplicated().any():
        raise ReportError("Two groups would have the same labels: null and an empty text. Fill the nulls.")
    return labels


def _without_average(metric: str) -> tuple[str, str]:
    """A metric without its option ``average``, and this option.

    >>> _without_average("fbeta(average=macro, beta=2)"), _without_average("roc_auc")
    (('fbeta(beta=2)', 'macro'), ('roc_auc', ''))
    """
    name, options = parse_metric(metric)
    if AVERAGE not in options:
        return metric, ""
    others = ", ".join(f"{key}={value}" for key, value in options.items() if key != AVERAGE)
    return f"{name}({others})" if others else name, str(options[AVERAGE])
