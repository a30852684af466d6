"""The frame of a report, look-ups, curves, operating points, checks, totals, and what is printed."""

import ast
import copy
import pickle
import re
from datetime import date

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import streammetrics as sm

ROWS = clicks()[:2_000]
Y, P, G = ROWS["clicked"].to_numpy(), ROWS["score"].to_numpy(), ROWS["country"].to_numpy()
TWO = {"y_score": {"old": "score", "new": "score"}}
ENDS = ["value", "lower", "upper", "ci_lower", "ci_upper"]


def evaluated(rows=ROWS, **options):
    return sm.binary(**CLICKS | options).update(rows).finalize()


@pytest.fixture(scope="module")
def report():
    return evaluated(by="country", thresholds=[0.2, 0.5], capacity=64)


def test_the_schema_does_not_depend_on_the_data():
    for options in ({}, {"by": "country"}, TWO, {"thresholds": [0.1, 0.2]}):
        full, empty = evaluated(**options).frame, evaluated(ROWS[:0], **options).frame
        assert full.schema == empty.schema
        none = sm.binary(**CLICKS | options, unit="country").update(ROWS).finalize([], confidence=0.9).frame
        assert none.is_empty()
        assert {"ci_lower", "ci_upper"} <= set(none.columns)
        keys = [c for c in ("country", "model") if c in full.columns] + ["threshold", "metric"]
        assert full.columns == [*keys, "value", "lower", "upper", "status", "note"]
        if "by" not in options:
            assert full.select(keys).equals(empty.select(keys))


def test_metrics_are_found_by_any_of_their_names_and_by_the_keys_that_they_depend_on(report):
    auc = report.get("roc_auc", country="DE")
    assert auc == report.get("auc", country="DE")
    assert not auc.exact
    assert report.get("gini", country="DE").value == pytest.approx(2 * auc.value - 1)
    assert report.get("ppv", country="DE", threshold=0.5).exact
    assert report.rows("precision", country="DE")["threshold"].to_list() == [0.2, 0.5]
    assert report.get("prevalence", country="IN") == report.get("prevalence", country="IN", threshold=0.2)
    assert report.rollup()["prevalence"].value == pytest.approx(Y.mean())


def test_a_look_up_of_a_group_whose_name_is_no_argument_can_be_pasted():
    found = sm.binary(y_true="y", y_pred="y", by="end customer").update({"y": [1, 0], "end customer": ["a", "b"]})
    with pytest.raises(sm.errors.ReportError) as failed:
        found.finalize().get("rows")
    (given,) = re.findall(r"\*\*(\{.*\})", str(failed.value))
    assert found.finalize().get("rows", **ast.literal_eval(given)).value == 1


def test_curves_and_confusion_counts_have_the_exact_counts_of_the_rows(report):
    curves = {kind: report.curve(kind) for kind in ("roc", "pr", "det", "lift")}
    for points in (*curves.values(), report.confusion_counts()):
        for g, t, *counts in points.select("country", "threshold", "tp", "fp", "fn", "tn").iter_rows():
            y, z = Y[g == G], P[g == G] >= t
            assert counts == [(z & y).sum(), (z & ~y).sum(), (~z & y).sum(), (~z & ~y).sum()]
    for curve in curves.values():
        assert all(group["threshold"].is_sorted(descending=True) for group in curve.partition_by("country"))


def test_confusion_counts_of_weights_have_the_columns_of_counts():
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update({"y": [1, 0], "p": [0.9, 0.7], "w": [0.5, 2.0]})
    assert acc.finalize().confusion_counts().to_dicts() == [{"threshold": 0.5, "tp": 0.5, "fp": 2, "fn": 0, "tn": 0}]


def test_curves_of_the_best_and_worst_order_bracket_the_curve():
    coarse = evaluated(capacity=16)
    best, tied, worst = (coarse.curve("roc", order) for order in ("best", "tied", "worst"))
    for fpr, recall in tied.select("fpr", "recall").iter_rows():
        assert best.filter(pl.col("fpr") <= fpr)["recall"].max() >= recall
        assert worst.filter(pl.col("fpr") >= fpr)["recall"].min() <= recall


def test_operating_points_attain_their_value(report):
    points = report.operating_point(maximize="recall", subject_to="fpr <= 0.1 and precision >= 0.3")
    assert points["country"].to_list() == ["DE", "FR", "IN"]
    for row in points.iter_rows(named=True):
        y, z = Y[row["country"] == G], P[row["country"] == G] >= row["threshold"]
        assert row["value"] == pytest.approx((z & y).sum() / y.sum())
        assert (z & ~y).sum() / (~y).sum() <= 0.1
        assert (z & y).sum() / z.sum() >= 0.3
        assert row["lower"] == row["value"] <= row["upper"]
    cheapest = report.operating_point(minimize="cost(fp=1, fn=10)")
    assert (cheapest["upper"] == cheapest["value"]).all()


def test_verdicts_are_decided_on_the_bounds_and_the_interval(report):
    metrics = ["roc_auc", "brier_score", "recall"]
    sampled = report.with_confidence(0.9)
    for row in pl.concat([sampled.rows(m, country="DE") for m in metrics]).iter_rows(named=True):
        keys = {"country": "DE"} | ({"threshold": row["threshold"]} if row["threshold"] else {})
        ends = [row["ci_lower"] - (row["value"] - row["lower"]), row["ci_upper"] + (row["upper"] - row["value"])]
        expected = {}
        for sign, step, (surely, possibly) in ((">=", 1e-6, ends), ("<=", -1e-6, ends[::-1])):
            limits = [surely - step, surely + step, possibly - step, possibly + step]
            verdicts = zip(limits, ("holds", "open", "open", "breached"), strict=True)
            expected |= {f"{row['metric']} {sign} {limit!r}": verdict for limit, verdict in verdicts}
        found = report.check([*expected], open="fail", **keys).frame
        assert found["verdict"].to_list() == [*expected.values()]
        assert found["passes"].to_list() == [verdict == "holds" for verdict in expected.values()]


def test_a_check_of_selected_rows_is_a_part_of_the_check():
    rows = {"y": [1, 0, 1, 0] * 5, "old": [0.9, 0.2, 0.4, 0.5] * 5, "new": [0.1, 0.2, 0.3, 0.4] * 5, "g": [*"ab"] * 10}
    report = sm.binary(y_true="y", y_score={"old": "old", "new": "new"}, by="g").update(rows).finalize()
    every = report.check(["accuracy >= 0.99", "rows >= 11"]).frame
    found = report.check(["accuracy >= 0.99", "rows >= 11"], model="new", g="a").frame
    assert_frame_equal(found, every.filter(pl.col("where").str.contains("g a, model new")))
    assert len(found) == 2
    found = report.check("recall >= 0.6", confidence=None, model="new", g="a", threshold=0.2).frame
    assert found.select("where", "value", "verdict").rows() == [("g a, model new, threshold 0.2", 0.5, "breached")]


def test_a_single_class_and_swapped_labels_are_noted():
    undefined = sm.Estimate(None, None, None, "no negatives", status="undefined")
    assert evaluated(ROWS.filter("clicked"))["roc_auc"] == undefined
    assert evaluated(ROWS.filter(~pl.col("clicked")))["roc_auc"].note == "no positives"
    assert "labels swapped" in evaluated(ROWS.with_columns(~pl.col("clicked")))["roc_auc"].note


def test_a_shared_score_is_named_and_an_atom_for_it_narrows_the_bounds():
    shared = clicks().with_columns(score=pl.when(pl.int_range(4_000) % 3 == 0).then(0.05).otherwise("score"))
    report = evaluated(shared, capacity=256)
    assert float(report["roc_auc"].note.partition("%")[0]) == 33.5
    assert "declare the atom 0.05" in report["roc_auc"].note
    assert report["gain(top=0.1)"].note is None  # its bounds are narrow: these rows score higher
    declared, coarse = evaluated(shared, capacity=256, atoms=(0.05,))["roc_auc"], report["roc_auc"]
    assert declared.upper - declared.lower < 0.1 * (coarse.upper - coarse.lower)


def test_groups_have_the_same_decimals_and_intervals_in_brackets():
    lines = str(evaluated(ROWS.with_columns(g=pl.int_range(pl.len()) % 7), by="g", capacity=64)).splitlines()[2:9]
    decimals = [[len(value.partition(".")[2]) for value in line.split()] for line in lines]
    assert decimals == [decimals[0]] * 7
    rows = {"y": [1, 0] * 50, "p": [0.9, 0.2] * 40 + [0.3, 0.8] * 10, "g": ["a", "b", "a", "a"] * 25}
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize(["accuracy", "rows"], confidence=0.95)
    lower, upper = report.get("accuracy", g="b").ci_lower, report.get("accuracy", g="b").ci_upper
    assert f"0.80 ({lower:.2f} to {upper:.2f})" in str(report)
    assert str(report).splitlines()[2].endswith("  75")


def test_tables_count_what_they_leave_out():
    many = evaluated(ROWS.with_columns(g=pl.int_range(pl.len()) % 100), by="g")
    assert "… and 60 more groups" in str(many)
    tables = [table.splitlines() for table in str(many.rollup("g")).split("\n\n")]
    assert max(len(line) for table in tables for line in table) <= 120
    assert {*many.keys()} <= {word for table in tables for word in table[0].split()}  # a pipe gets all metrics


def test_no_line_says_that_one_more_row_follows():
    acc = sm.predictions(y_score="p", by="g").update({"p": [0.5] * 41, "g": range(41)})
    report = acc.finalize(["rows"])
    for shown in (str(report), str(sm.drift(acc, acc)), str(report.check("rows >= 2"))):
        assert "more" not in shown
    fifty = sm.predictions(y_pred="z", by="g").update({"z": [1] * 51, "g": [0, *range(50)]}).finalize()
    assert str(fifty.check("rows >= 2")).count("\n… and 9 more that do not hold\nFailing: 49 of 50\n") == 1


@pytest.mark.parametrize("options", [TWO, {"unit": "u"}])
def test_reports_roll_up_as_accumulators_do(options):
    rows = ROWS.with_columns(h=pl.int_range(pl.len()) % 3, u=pl.int_range(pl.len()) % 50)
    metrics = {"metrics": ["rows", "roc_auc", "log_loss"]}
    acc = sm.binary(by=["country", "h"], **metrics, **CLICKS | options).update(rows)
    report, model = acc.finalize(confidence=0.9), ["model"] if options is TWO else []
    for columns in ((), ("country",), ("h",)):
        found, expected = report.rollup(*columns).frame, acc.rollup(*columns).finalize(confidence=0.9).frame
        assert found.columns == expected.columns
        assert found.select(*columns, *model, "metric").equals(expected.select(*columns, *model, "metric"))
        assert found[ENDS].to_numpy() == pytest.approx(expected[ENDS].to_numpy(), rel=1e-9, nan_ok=True)
        assert report.rollup([*columns, *columns]).frame.equals(found)
        assert acc.rollup([*columns]).to_bytes() == acc.rollup(*columns).to_bytes()


def test_one_metric_threshold_or_atom_needs_no_list():
    acc = sm.binary(metrics="roc_auc", **CLICKS).update(ROWS)
    for found in (acc.finalize(), acc.finalize("auc"), evaluated().showing("roc_auc")):
        assert found.frame["metric"].to_list() == ["roc_auc"]
    assert sm.statistics.ConfusionCounts(0.2) == sm.statistics.ConfusionCounts(thresholds=(0.2,))
    assert sm.statistics.PredictedCounts(thresholds=0.2) == sm.statistics.PredictedCounts((0.2,))
    assert sm.statistics.ScoreHistogram(atoms=0.05) == sm.statistics.ScoreHistogram(atoms=(0.05,))
    assert evaluated(thresholds=0.2).frame.equals(evaluated(thresholds=[0.2]).frame)


def test_times_are_also_selected_by_text():
    days = pl.Series("week", [date(2026, 1, 5), date(2026, 1, 12)])
    zoned = days.cast(pl.Datetime("ms")).dt.replace_time_zone("Europe/Berlin")
    others = "2026-01-05T12:00", "2026-01-05T12:00", "2026-01-05T00:00Z"
    for week, other in zip((days, days.cast(pl.Datetime), zoned), others, strict=True):
        acc = sm.binary(y_true="y", y_score="p", by="week").update({"y": [1, 0], "p": [0.9, 0.8], "week": week})
        assert acc.finalize().get("accuracy", week="2026-01-05").value == 1
        assert acc.finalize().rows("accuracy", week=other).is_empty()
        with pytest.raises(sm.errors.ReportError, match=r"'week' must be Date.*'monday'"):
            acc.finalize().get("accuracy", week="monday")


def test_reports_are_copied_and_pickled():
    rows = {"y_true": {"a": "clicked"}, "y_score": {"a": "score"}}
    acc = sm.multilabel(**rows, by="country", capacity=64).update(ROWS)
    report = acc.finalize(["f1(average=macro)", "fbeta(beta=2)", "recall"], confidence=0.9)
    for remade in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        assert remade(report).frame.equals(report.frame)
        assert remade(report).metrics == report.metrics
        assert remade(sm.compare(report, report)).frame.equals(sm.compare(report, report).frame)


def test_estimates_are_numbers():
    report = evaluated()
    estimate, value = report["roc_auc"], report["roc_auc"].value
    assert (float(estimate), f"{estimate:.3f}", f"{estimate}") == (value, f"{value:.3f}", repr(estimate))
    for other in (0.0, 1, np.float64(0.1), np.float32(2), value, report["log_loss"]):
        number = float(other)
        assert (estimate < other, estimate <= other) == (value < number, value <= number)
        assert (estimate > other, estimate >= other) == (value > number, value >= number)
        assert (other < estimate, other >= estimate) == (number < value, number >= value)
    assert estimate == value
    assert estimate != value + 1
    assert estimate != "roc_auc"
    assert {estimate: 1}[value] == 1
    assert estimate == report["roc_auc"] != sm.Estimate(value, 0.0, 1.0)
    with pytest.raises(TypeError, match="not supported"):
        assert estimate < "1"
    undefined = evaluated(ROWS.filter("clicked"))["roc_auc"]
    assert undefined != 0
    for use in (float, lambda e: e < 0.5, lambda e: e >= 0.5, lambda e: f"{e:.2f}"):
        with pytest.raises(sm.errors.ReportError, match="no negatives"):
            use(undefined)


def test_a_report_is_read_like_a_dictionary():
    report = evaluated()
    assert list(report) == report.keys() == report.frame["metric"].unique(maintain_order=True).to_list()
    assert len(report) == len(report.metrics)
    assert dict(report) == dict(report.items()) == {name: report[name] for name in report}
    for name in ("fbeta(beta=2)", "auc"):
        assert name in report
    for foreign in ("mse", "nothing", "f(", 5, None):
        assert foreign not in report


RANKING = ["rows", "roc_auc", "average_precision", "pr_auc", "ks"]


def test_a_total_is_as_fine_as_its_groups():
    """Bins of a report over several groups are those of the coarsest one, not those of the capacity of a group."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 8, 4_000)  # of which no two are equal
    rows = pl.DataFrame({"clicked": rng.random(4_000) < p, "score": p, "part": np.arange(4_000) % 4})
    acc = sm.binary(by="part", capacity=512, **CLICKS).update(rows)
    report, total = acc.finalize(RANKING), acc.finalize(RANKING).rollup()
    width = pl.col("upper") - pl.col("lower")
    for metric, widest in report.frame.group_by("metric").agg(width.max()).iter_rows():  # of other bins, as wide
        assert total[metric].upper - total[metric].lower <= 1.1 * widest
    auc, of_one_group = total["roc_auc"], acc.rollup().finalize()["roc_auc"]  # which keeps to the capacity
    assert not auc.exact
    assert auc.upper - auc.lower < 0.6 * (of_one_group.upper - of_one_group.lower)
    assert auc.lower <= roc_auc_score(rows["clicked"], rows["score"]) <= auc.upper
    assert report.rollup("part").frame.equals(report.frame)


def test_a_total_of_exact_groups_is_exact_however_it_is_made():
    acc = sm.binary(by=["country", "day"], **CLICKS).update(ROWS)
    report = acc.finalize(RANKING)
    halves = sm.merge([acc.empty().update(ROWS[half::2]) for half in (0, 1)])
    again = sm.Accumulator.from_bytes(acc.to_bytes())
    for other in (report.rollup("country"), halves.finalize(RANKING), again.finalize(RANKING)):
        assert other.rollup().frame.equals(report.rollup().frame)
    assert report.rollup()["roc_auc"].exact
    assert report.rollup()["roc_auc"].value == pytest.approx(roc_auc_score(Y, P), rel=1e-12)
    assert report.rollup()["roc_auc"] == evaluated()["roc_auc"]


def test_a_total_has_no_more_bins_than_a_histogram_without_groups():
    p = np.random.default_rng(0).random(60_000)  # as many scores as do not fit
    rows = pl.DataFrame({"clicked": p > 0.7, "score": p, "g": np.arange(p.size) % 20})
    few, many = ({"by": "g", "capacity": capacity} for capacity in (None, 100_000))
    assert evaluated(rows, **few).showing(RANKING).rollup().frame.equals(evaluated(rows).showing(RANKING).frame)
    assert evaluated(rows, **many).showing("roc_auc").rollup()["roc_auc"].exact
