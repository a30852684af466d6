"""From a state to estimates with bounds and intervals, curves, distributions, and segments."""

from typing import TYPE_CHECKING

from streammetrics.base import late_names

if TYPE_CHECKING:  # what other wings use, imported at first use
    from streammetrics.reading.available import columns_of, find
    from streammetrics.reading.changes import (
        changes_of,
        differences_of,
        few_rows_reason,
        with_better_side,
    )
    from streammetrics.reading.compared_rows import has_common_folds, warning
    from streammetrics.reading.curves import curve
    from streammetrics.reading.diagnosis.comparison import findings_of_comparison
    from streammetrics.reading.diagnosis.data import missing_class
    from streammetrics.reading.diagnosis.drift import findings_of_drift
    from streammetrics.reading.diagnosis.finding import Finding, listed
    from streammetrics.reading.diagnosis.findings import Diagnosis
    from streammetrics.reading.diagnosis.rules import arrived, findings_of_rules
    from streammetrics.reading.drift.distances import MEASURES
    from streammetrics.reading.drift.measures import drift_measures, without_bias
    from streammetrics.reading.drift.sampling import WITH_INTERVALS
    from streammetrics.reading.drift.verdicts import drift_verdicts
    from streammetrics.reading.estimates import estimate, metrics_by_view
    from streammetrics.reading.fairness_gaps import fairness, gaps
    from streammetrics.reading.looks import with_row_count, with_total
    from streammetrics.reading.models import SameRows, of_model, pairs_of, require_model, require_models
    from streammetrics.reading.same_rows import flip_rates
    from streammetrics.reading.score_distributions import PAIRED, Distribution, distributions, paired, side_by_side
    from streammetrics.reading.segments import ranked, sorted_by
    from streammetrics.reading.slicing import explained
    from streammetrics.reading.slicing.slices import CALIBRATION, CONFIDENCE, MIN_ROWS, slices
    from streammetrics.reading.thresholds import operating_point, single_threshold, threshold_state
else:
    __getattr__ = late_names(__name__, __file__)
