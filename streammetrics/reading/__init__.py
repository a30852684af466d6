"""From a state to estimates with bounds and intervals, curves, distributions, and segments."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.reading.available import columns_of as columns_of
    from streammetrics.reading.available import find as find
    from streammetrics.reading.changes import AHEAD_NOTES as AHEAD_NOTES
    from streammetrics.reading.changes import changes_of as changes_of
    from streammetrics.reading.changes import differences_of as differences_of
    from streammetrics.reading.changes import few_rows_reason as few_rows_reason
    from streammetrics.reading.changes import with_better_side as with_better_side
    from streammetrics.reading.compared_rows import common_folds as common_folds
    from streammetrics.reading.compared_rows import warning as warning
    from streammetrics.reading.curves import curve as curve
    from streammetrics.reading.diagnosis.comparison import findings_of_comparison as findings_of_comparison
    from streammetrics.reading.diagnosis.data import of_one_class as of_one_class
    from streammetrics.reading.diagnosis.drift import LEVEL as LEVEL
    from streammetrics.reading.diagnosis.drift import findings_of_drift as findings_of_drift
    from streammetrics.reading.diagnosis.finding import Finding as Finding
    from streammetrics.reading.diagnosis.finding import listed as listed
    from streammetrics.reading.diagnosis.findings import findings as findings
    from streammetrics.reading.diagnosis.rules import Now as Now
    from streammetrics.reading.diagnosis.rules import arrived as arrived
    from streammetrics.reading.diagnosis.rules import findings_of_rules as findings_of_rules
    from streammetrics.reading.distribution_shifts import VERDICT as VERDICT
    from streammetrics.reading.distribution_shifts import judged as judged
    from streammetrics.reading.distribution_shifts import shifts as shifts
    from streammetrics.reading.drift.distances import MEASURES as MEASURES
    from streammetrics.reading.drift.distances import distances as distances
    from streammetrics.reading.drift.sampling import CENTER as CENTER
    from streammetrics.reading.drift.sampling import WITH_INTERVALS as WITH_INTERVALS
    from streammetrics.reading.drift.sampling import drift_intervals as drift_intervals
    from streammetrics.reading.estimates import by_view as by_view
    from streammetrics.reading.estimates import estimate as estimate
    from streammetrics.reading.fairness_gaps import fairness as fairness
    from streammetrics.reading.fairness_gaps import gaps as gaps
    from streammetrics.reading.looks import MOST_ROWS as MOST_ROWS
    from streammetrics.reading.looks import ROWS as ROWS
    from streammetrics.reading.looks import TOTAL as TOTAL
    from streammetrics.reading.looks import rows_to_decide_at_looks as rows_to_decide_at_looks
    from streammetrics.reading.looks import widened as widened
    from streammetrics.reading.looks import with_row_count as with_row_count
    from streammetrics.reading.looks import with_total as with_total
    from streammetrics.reading.models import SameRows as SameRows
    from streammetrics.reading.models import of_model as of_model
    from streammetrics.reading.models import pairs_of as pairs_of
    from streammetrics.reading.models import require_model as require_model
    from streammetrics.reading.models import require_models as require_models
    from streammetrics.reading.same_rows import flip_rates as flip_rates
    from streammetrics.reading.score_distributions import PAIRED as PAIRED
    from streammetrics.reading.score_distributions import Distribution as Distribution
    from streammetrics.reading.score_distributions import distributions as distributions
    from streammetrics.reading.score_distributions import paired as paired
    from streammetrics.reading.score_distributions import side_by_side as side_by_side
    from streammetrics.reading.segments import ranked as ranked
    from streammetrics.reading.segments import sorted_by as sorted_by
    from streammetrics.reading.slicing import explained as explained
    from streammetrics.reading.slicing.calibration import CALIBRATION as CALIBRATION
    from streammetrics.reading.slicing.slices import CONFIDENCE as CONFIDENCE
    from streammetrics.reading.slicing.slices import MIN_ROWS as MIN_ROWS
    from streammetrics.reading.slicing.slices import slices as slices
    from streammetrics.reading.thresholds import THRESHOLD as THRESHOLD
    from streammetrics.reading.thresholds import at_only as at_only
    from streammetrics.reading.thresholds import operating_point as operating_point
    from streammetrics.reading.thresholds import threshold_state as threshold_state
else:
    __getattr__ = late_names(__name__, __file__)
