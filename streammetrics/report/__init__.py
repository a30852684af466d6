"""Reports: estimates, frames, curves, and the comparison of two reports."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names, publish
from streammetrics.report.estimate import Estimate as Estimate
from streammetrics.report.report import Report as Report

publish("streammetrics", Estimate, Report)

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.report.comparison import Comparison as Comparison
    from streammetrics.report.estimate import estimate_of as estimate_of
    from streammetrics.report.mlflow import log as log
    from streammetrics.report.nested import as_json as as_json
    from streammetrics.report.receipts import Receipt as Receipt
    from streammetrics.report.receipts import Verification as Verification
    from streammetrics.report.receipts import compared as compared
    from streammetrics.report.receipts import receipt_of as receipt_of
    from streammetrics.report.verdicts import COVERAGE as COVERAGE
    from streammetrics.report.verdicts import NEEDED as NEEDED
    from streammetrics.report.verdicts import OF_RULES as OF_RULES
    from streammetrics.report.verdicts import PASSING as PASSING
    from streammetrics.report.verdicts import SCHEMA as SCHEMA
    from streammetrics.report.verdicts import VERDICT as VERDICT
    from streammetrics.report.verdicts import Verdicts as Verdicts
    from streammetrics.report.verdicts import at_least_one as at_least_one
    from streammetrics.report.verdicts import is_total as is_total
    from streammetrics.report.verdicts import judged as judged
    from streammetrics.report.verdicts import judged_of_sample as judged_of_sample
    from streammetrics.report.verdicts import verdict_rows as verdict_rows
    from streammetrics.report.verdicts import with_rows_needed as with_rows_needed
else:
    __getattr__ = late_names(__name__, __file__)
