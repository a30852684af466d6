"""Reports as gauges of monitoring systems: `samples.py` has their names, labels, and values."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.export.prometheus import prometheus_client as prometheus_client
else:
    __getattr__ = late_names(__name__, __file__)
