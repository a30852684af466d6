"""Reports: estimates, frames, curves, and the comparison of two reports."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names, publish
from streammetrics.report.estimate import Estimate
from streammetrics.report.report import Report

publish("streammetrics", Estimate, Report)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.report.comparison import Comparison
    from streammetrics.report.estimate import estimate_of
    from streammetrics.report.mlflow import log
    from streammetrics.report.nested import as_json
    from streammetrics.report.receipts import Receipt, Verification, compared, receipt_of
    from streammetrics.report.verdicts import (
        OF_RULES,
        PASSING,
        SCHEMA,
        Verdicts,
        judged,
        nonempty,
        verdict_rows,
    )
else:
    __getattr__ = late_names(__name__, __file__)
