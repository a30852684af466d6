"""Every metric equals its reference: over the shared data, and over any few rows with ties, weights and nulls."""

from math import isnan

import numpy as np
import polars as pl
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from references import TASKS

from streammetrics.metrics import declared_metrics

VOLUME = ["rows", "dropped", "dropped_rate"]
every_task = pytest.mark.parametrize("task", TASKS)
pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]


def expected(task, rows, weight):
    """What the references return for the rows that count."""
    kept = rows.drop_nulls().filter(pl.col("w") > 0 if weight else True)
    dropped = rows.height - kept.height
    arrays = (*task.arrays(kept), kept["w"].to_numpy() if weight else None)
    with np.errstate(all="ignore"):
        values = {metric: reference(*arrays) for metric, reference in task.references.items()}
    return values | {"rows": kept.height, "dropped": dropped, "dropped_rate": dropped / rows.height}


def equal(truth, value, lower, upper):
    """Whether a value is the true one, or lies with it within bounds where bins hide something."""
    if isnan(truth):
        return value is lower is upper is None
    if value is None or lower == upper:
        return value == lower == pytest.approx(truth, rel=1e-12, abs=1e-14)
    rounding = 1e-14  # of divisions
    return lower - rounding <= truth <= upper + rounding and lower <= value <= upper


def differences(task, rows, weight, exact, **options):
    """Metrics of groups that are not as expected, off some batches of the rows."""
    acc = task.make(by="g", sample_weight=weight, nulls="drop", **options)
    for part in range(3):
        acc.update(rows[part::3])
    frame = acc.finalize([*task.references, *VOLUME]).frame
    frame = frame.filter(pl.col("label").is_null()) if "label" in frame.columns else frame
    found = {(row["g"], row["metric"]): row for row in frame.iter_rows(named=True)}
    for (group,), part in rows.group_by("g"):
        for metric, truth in expected(task, part, weight).items():
            row = found[group, metric]
            value, lower, upper = (row[name] for name in ("value", "lower", "upper"))
            same = equal(truth, value, lower, upper) and (lower == upper or not exact)
            if not same or (value is None and not row["note"]):
                yield group, metric, truth, value, lower, upper


def test_every_metric_has_a_reference():
    computed = {
        metric.with_average(None).formula
        for task in TASKS.values()
        for metric in task.make().finalize([*task.references, *VOLUME]).metrics
    }
    assert {m.formula for m in declared_metrics() if m.__module__.startswith("streammetrics")} == computed


@every_task
@pytest.mark.parametrize("weight", ["w", pytest.param(None, marks=pytest.mark.thorough)])
def test_metrics_of_the_shared_data(task, weight):
    n = pl.int_range(pl.len())
    rows = TASKS[task].data.with_columns(g=n % 5 % 2, w=n % 5 / 4)
    assert list(differences(TASKS[task], rows, weight, exact=False)) == []


@every_task
@settings(max_examples=4, phases=[Phase.reuse, Phase.generate])  # few rows need no shrinking
@given(data=st.data(), weight=st.sampled_from([None, "w"]), capacity=st.sampled_from([8, 4_096]))
def test_metrics_of_any_rows(task, data, weight, capacity):
    of = TASKS[task]
    columns = [*data.draw(of.row)]
    drawn = st.tuples(of.row, st.sampled_from([0, 0.25, 0.5, 1, 3]), st.sampled_from("abcd"), st.integers(0, 20))
    rows = pl.DataFrame(
        [
            row | {"w": float(w), "g": g} | ({columns[null]: None} if null < len(columns) else {})
            for row, w, g, null in data.draw(st.lists(drawn, min_size=1, max_size=24))
        ],
        schema={name: of.data.schema[name] for name in columns} | {"w": pl.Float64, "g": pl.String},
    )
    exact = capacity > 8 and weight is None  # rounded sums of weights leave quantiles open
    assert list(differences(of, rows, weight, exact, capacity=capacity)) == [], rows.to_dict(as_series=False)


@every_task
def test_metrics_of_no_rows(task):
    of = TASKS[task]
    frame = of.make(sample_weight="w").finalize([*of.references]).frame
    values = expected(of, of.data.with_columns(w=0.0), "w")
    found = dict(
        frame.filter(pl.col("label").is_null() if "label" in frame.columns else True).select("metric", "value").rows()
    )
    assert {metric: value for metric, value in found.items() if value is not None} == {
        metric: truth for metric, truth in values.items() if metric in found and not isnan(truth)
    }


TOTALS = {
    *("support", "positives", "negatives", "predicted_positives", "predicted_negatives", "ss_res", "ss_tot"),
    *("true_positives", "false_positives", "false_negatives", "true_negatives", "false_positives(average=micro)"),
}
# Those that are corrected for the number of rows, or computed from squares of weights, which can exceed floats.
OF_ROWS = ["adjusted_r2", "adjusted_r2(features=3)", "expected_ecce", "ecce_p_value"]
SCALES = [  # weights in eighths, the capacity of histograms, and what the weights are multiplied by
    (pl.lit(5), 16_384, (2.0**-664, 2.0**664)),  # exact, so that no sum meets a level by chance
    (1 + pl.int_range(301) * 5 % 8, 16, (1e-200, 1e200)),
]


first, *others = TASKS


@pytest.mark.parametrize("task", [first, *(pytest.param(task, marks=pytest.mark.thorough) for task in others)])
def test_metrics_do_not_depend_on_the_scale_of_weights(task):
    of = TASKS[task]

    def metrics(weight, capacity, scale):
        rows = of.data[:301].with_columns(w=weight / 8 * scale)
        frame = of.make(sample_weight="w", capacity=capacity).update(rows).finalize([*of.references]).frame
        factor = pl.when(pl.col("metric").is_in(TOTALS)).then(scale).otherwise(1.0)
        return frame.filter(~pl.col("metric").is_in(OF_ROWS)).with_columns(pl.col("value", "lower", "upper") / factor)

    for weight, capacity, scales in SCALES:
        expected = metrics(weight, capacity, 1.0)
        assert expected["value"].is_not_null().all()
        for scale in scales:
            assert_frame_equal(metrics(weight, capacity, scale), expected, rel_tol=1e-9, abs_tol=1e-12)
