"""Reports as gauges for OpenTelemetry, through its API."""

from __future__ import annotations

from typing import Any

from streammetrics import Report
from streammetrics.base import of_extra, publish
from streammetrics.export.samples import NAMES, samples
from streammetrics.version import __version__


def to_opentelemetry(report: Report, meter: Any = None) -> None:
    """Record a report in OpenTelemetry gauges, which the exporter of your application sends.

    The gauges are ``streammetrics.metric.value``, ``.lower``, and ``.upper``, and with a confidence level ``.ci_lower``
    and ``.ci_upper``. Their attributes are ``metric``, ``average``, the group columns, and keys such as ``threshold``,
    all as text. Undefined values and missing endpoints are not recorded. Null group values have no attribute.

    Each group is a separate time series, so roll up windows and large numbers of groups first.

    Args:
        report: The current report.
        meter: Meter to record with. Defaults to the meter ``streammetrics`` of the global provider.

    Raises:
        SpecificationError: If the ``otel`` extra is not installed.
        ReportError: If two groups have the same attributes.

    >>> import streammetrics as sm
    >>> acc = sm.binary(y_true="y", y_score="p", by="country")
    >>> report = acc.update({"y": [1, 0], "p": [0.8, 0.3], "country": ["DE", "DE"]}).finalize(["roc_auc", "recall"])
    >>> sm.export.to_opentelemetry(report)
    """
    metrics = of_extra("otel", "opentelemetry.metrics", "Gauges for OpenTelemetry require")
    if meter is None:
        meter = metrics.get_meter("streammetrics", __version__)
    numbers = list(samples(report))
    for name, description in NAMES.items():
        some = [sample for sample in numbers if sample.name == name]
        if some:
            gauge = meter.create_gauge(f"streammetrics.metric.{name}", description=description)
            for sample in some:
                gauge.set(sample.value, sample.labels)


publish("streammetrics.export", to_opentelemetry)
