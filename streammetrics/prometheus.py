"""Reports as gauges for Prometheus, through its official client."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl

from streammetrics import text
from streammetrics.errors import ReportError, SpecificationError
from streammetrics.frame import LIMITS, METRIC, VALUE, keys_of
from streammetrics.metrics import parse_metric
from streammetrics.report.report import Report

AVERAGE = "average"
HELP = {
    "value": "Value of a metric of model predictions.",
    "lower": "Certified lower bound of the metric of the evaluated rows.",
    "upper": "Certified upper bound of the metric of the evaluated rows.",
    "ci_lower": "Lower end of the confidence interval of the metric.",
    "ci_upper": "Upper end of the confidence interval of the metric.",
}
NO_LABEL = re.compile(r"^(?=\d)|^__+|[^a-zA-Z0-9_]")


def to_prometheus(report: Report) -> str:
    """Write a report in the text format of Prometheus, for the textfile collector of the node exporter.

    The gauges are ``streammetrics_metric_value``, ``_lower``, and ``_upper``, and with a confidence ``_ci_lower`` and
    ``_ci_upper``. Their labels are ``metric``, ``average``, the group columns, and keys such as ``threshold``.
    Characters of column names that labels cannot have become underscores. Undefined values and ends have no sample,
    null groups no label.

    Each group is a time series of its own, so roll up windows and large numbers of groups first.

    Raises:
        SpecificationError: If the ``prometheus`` extra is not installed.
        ReportError: If two columns have the same label, or two groups the same values of labels.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by="country")
    >>> report = acc.update({"y": [1, 0], "p": [0.8, 0.3], "country": ["DE", "DE"]}).finalize(["roc_auc", "recall"])
    >>> print(sm.to_prometheus(report).splitlines()[2])
    streammetrics_metric_value{country="DE",metric="roc_auc"} 1.0
    """
    client = prometheus_client()
    registry = client.CollectorRegistry()
    registry.register(PrometheusCollector(lambda: report))
    written: bytes = client.generate_latest(registry)
    return written.decode()


class PrometheusCollector:
    """Collector for the ``/metrics`` endpoint of a service: each scrape reads a new report.

    For the gauges and their labels, see `to_prometheus`.

    Args:
        read: Returns the report of the moment, such as ``lambda: acc.finalize(["roc_auc", "ece"])``.

    Raises:
        SpecificationError: If the ``prometheus`` extra is not installed.

    >>> import prometheus_client
    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p")
    >>> registry = prometheus_client.CollectorRegistry()
    >>> registry.register(sm.PrometheusCollector(lambda: acc.finalize(["rows"])))
    >>> updated = acc.update({"y": [1, 0], "p": [0.8, 0.3]})
    >>> registry.get_sample_value("streammetrics_metric_value", {"metric": "rows"})
    2.0
    """

    def __init__(self, read: Callable[[], Report]) -> None:
        prometheus_client()
        self._read = read

    def describe(self) -> list[Any]:
        """The gauges without samples, so that nothing is evaluated before the first scrape."""
        return list(self._gauges().values())

    def collect(self) -> Iterator[Any]:
        """The gauges of a new report."""
        frame, gauges = self._read().frame, self._gauges()
        for row, labels in zip(frame.iter_rows(named=True), _labels(frame).iter_rows(named=True), strict=True):
            given = {label: value for label, value in labels.items() if value}  # to Prometheus, empty is absent
            for name, gauge in gauges.items():
                if row.get(name) is not None:
                    gauge.add_sample(gauge.name, given, row[name])
        yield from (gauge for gauge in gauges.values() if gauge.samples)

    def _gauges(self) -> dict[str, Any]:
        gauge = prometheus_client().core.GaugeMetricFamily
        return {name: gauge(f"streammetrics_metric_{name}", HELP[name]) for name in (*VALUE, *LIMITS)}


def _labels(frame: pl.DataFrame) -> pl.DataFrame:
    """The values of the labels of each row of a report."""
    keys = keys_of(frame)
    metrics = {name: _without_average(name) for name in frame[METRIC].unique()}
    averages = [metrics[name][1] for name in frame[METRIC]]
    columns = [(key, text.written(frame[key]).fill_null("")) for key in keys]
    columns += [(METRIC, pl.Series([metrics[name][0] for name in frame[METRIC]], dtype=pl.String))]
    columns += [(AVERAGE, pl.Series(averages, dtype=pl.String))] if any(averages) else []
    names = [NO_LABEL.sub("_", name) for name, _ in columns]
    for name in names:
        if names.count(name) > 1:
            same = [given for given, _ in columns if NO_LABEL.sub("_", given) == name]
            raise ReportError(f"The columns {text.few(same)} would have the same label {name!r}. Rename one of them.")
    labels = pl.DataFrame([values.alias(name) for name, (_, values) in zip(names, columns, strict=True)])
    if labels.is_duplicated().any():
        raise ReportError("Two groups would have the same labels: null and an empty text. Fill the nulls.")
    return labels


def _without_average(metric: str) -> tuple[str, str]:
    """A metric without the option that says how labels are averaged, and that option.

    >>> _without_average("fbeta(average=macro, beta=2)"), _without_average("roc_auc")
    (('fbeta(beta=2)', 'macro'), ('roc_auc', ''))
    """
    name, options = parse_metric(metric)
    if AVERAGE not in options:
        return metric, ""
    others = ", ".join(f"{key}={value}" for key, value in options.items() if key != AVERAGE)
    return f"{name}({others})" if others else name, str(options[AVERAGE])


def prometheus_client() -> Any:
    """The official client.

    Raises:
        SpecificationError: If the library is not installed.
    """
    try:
        import prometheus_client
        import prometheus_client.core
    except ImportError as error:
        raise SpecificationError(
            "Gauges for Prometheus require the 'prometheus' extra. Install it with: "
            "pip install 'streammetrics[prometheus]'."
        ) from error
    return prometheus_client
