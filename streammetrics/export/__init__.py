"""Reports as gauges of monitoring systems: `samples.py` has their names, labels, and values."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

__all__ = ["PrometheusCollector", "to_opentelemetry", "to_prometheus"]

if TYPE_CHECKING:  # imported at first use
    from streammetrics.export.opentelemetry import to_opentelemetry
    from streammetrics.export.prometheus import PrometheusCollector, prometheus_client, to_prometheus
else:
    __getattr__ = late_names(__name__, __file__)


def __dir__() -> list[str]:
    return __all__
