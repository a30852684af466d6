"""The frame, look-ups, curves, operating points and what is printed."""

import ast
import copy
import pickle
import re
from datetime import date

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.metrics import roc_auc_score

import streammetrics as sm
from streammetrics.present.estimates import report_tables
from streammetrics.present.terminal import as_text

SIZE = 3_000
rng = np.random.default_rng(0)
P = rng.beta(0.5, 2, SIZE)
Y = rng.random(SIZE) < P
G = rng.choice(["DE", "FR"], SIZE)
DATA = pl.DataFrame({"y": Y, "p": P, "g": G})


def render(frame, by, width=None):
    return as_text(*report_tables(frame, by, width), width=width)


def evaluated(data=DATA, **options):
    return sm.binary(**{"y_true": "y", "y_score": "p"} | options).update(data).finalize()


@pytest.fixture(scope="module")
def report():
    return evaluated(by="g", thresholds=[0.2, 0.5], capacity=64)


@pytest.mark.parametrize(
    "options", [{}, {"by": "g"}, {"y_score": {"a": "p", "b": "p"}}, {"thresholds": [0.1, 0.2]}], ids=str
)
def test_the_schema_does_not_depend_on_the_data(options):
    full, empty = evaluated(**options).frame, evaluated(DATA[:0], **options).frame
    assert full.schema == empty.schema
    groups = [c for c in ("g", "model") if c in full.columns]
    assert full.columns == [*groups, "threshold", "metric", "value", "lower", "upper", "note"]
    if "by" not in options:
        assert full.select(*groups, "threshold", "metric").equals(empty.select(*groups, "threshold", "metric"))


def test_bounds_hold_the_value(report):
    assert report.frame.filter((pl.col("lower") > pl.col("value")) | (pl.col("value") > pl.col("upper"))).is_empty()
    exact = report.frame.filter(pl.col("threshold").is_not_null())
    assert (exact["lower"] == exact["upper"]).all()


def test_look_ups(report):
    assert report.get("roc_auc", g="DE") == report.get("auc", g="DE")
    assert not report.get("roc_auc", g="DE").exact
    assert report.get("ppv", g="DE", threshold=0.5).exact
    assert report.get("gini", g="DE").value == pytest.approx(2 * report.get("roc_auc", g="DE").value - 1)
    assert report.rows("precision", g="DE")["threshold"].to_list() == [0.2, 0.5]


def test_metrics_that_do_not_depend_on_the_threshold_need_none():
    rows = {"y": [1, 0, 1], "p": [0.9, 0.2, 0.4], "g": ["a", "b", "b"]}
    report = sm.binary(y_true="y", y_score="p", thresholds=[0.3, 0.5], by="g").update(rows).finalize()
    assert report.get("prevalence", g="b") == report.get("prevalence", g="b", threshold=0.3)
    assert report.rollup()["prevalence"].value == pytest.approx(2 / 3)
    with pytest.raises(sm.ReportError, match=r"^recall has 2 values. Select one, for example with threshold=0.3.$"):
        report.get("recall", g="b")


@pytest.mark.parametrize(
    ("metric", "keys", "message"),
    [
        ("roc_auc", {}, r"roc_auc has 2 values\. Select one, for example with g='DE'"),
        ("precision", {"g": "DE"}, "threshold="),
        ("roc_auc", {"g": "XX"}, r"No value of roc_auc for g='XX'\. Values of g: 'DE', 'FR'\."),
        ("roc_auc", {"country": "DE"}, "Unknown key 'country'. Keys: g, threshold"),
        ("roc_auc", {"g": 1}, "'g' must be String"),
    ],
)
def test_look_ups_that_fail_say_what_to_give(report, metric, keys, message):
    with pytest.raises(sm.ReportError, match=message):
        report.get(metric, **keys)


def test_a_look_up_of_a_group_whose_name_is_no_argument_can_be_pasted():
    report = sm.binary(y_true="y", y_pred="y", by="end customer").update({"y": [1, 0], "end customer": ["a", "b"]})
    with pytest.raises(sm.ReportError, match="Select one, for example with") as failed:
        report.finalize().get("rows")
    (given,) = re.findall(r"\*\*(\{.*\})", str(failed.value))
    assert report.finalize().get("rows", **ast.literal_eval(given)).value == 1


@pytest.mark.parametrize("kind", ["roc", "pr", "det", "lift"])
def test_curves_have_the_exact_counts_of_the_rows(report, kind):
    curve = report.curve(kind)
    for group in ("DE", "FR"):
        y, p = Y[group == G], P[group == G]
        points = curve.filter(pl.col("g") == group)
        assert points["threshold"].is_sorted(descending=True)
        for t, tp, fp, fn, tn in points.select("threshold", "tp", "fp", "fn", "tn").sample(20, seed=0).iter_rows():
            z = p >= t
            assert (tp, fp, fn, tn) == ((z & y).sum(), (z & ~y).sum(), (~z & y).sum(), (~z & ~y).sum())


def test_unknown_curves_and_missing_statistics(report):
    with pytest.raises(sm.ReportError, match="Curves: roc, pr, det, lift, calibration"):
        report.curve("rok")
    bare = sm.Accumulator(sm.ConfusionCounts(), y_true="y", y_score="p").update(DATA).finalize()
    for ask in (
        lambda: bare.curve("roc"),
        lambda: bare.operating_point(maximize="f1"),
        lambda: bare.curve("calibration"),
    ):
        with pytest.raises(sm.MetricError, match="is required, but not in this accumulator"):
            ask()
    with pytest.raises(sm.MetricError, match="The statistic ConfusionMatrix is required"):
        report.confusion_matrix()


def test_operating_points_attain_their_value(report):
    points = report.operating_point(maximize="recall", where="fpr <= 0.1 and precision >= 0.3")
    assert points["g"].to_list() == ["DE", "FR"]
    for row in points.iter_rows(named=True):
        y, z = Y[row["g"] == G], P[row["g"] == G] >= row["threshold"]
        assert row["value"] == pytest.approx((z & y).sum() / y.sum())
        assert (z & ~y).sum() / (~y).sum() <= 0.1
        assert row["lower"] == row["value"] <= row["upper"]
    cheapest = report.operating_point(minimize="cost(fp=1, fn=10)")
    assert (cheapest["upper"] == cheapest["value"]).all()
    with pytest.raises(sm.MetricError, match="no preferred direction"):
        report.operating_point(maximize="predicted_positive_rate")


def test_invalid_arguments_of_a_check():
    report = evaluated()
    with pytest.raises(sm.MetricError, match="Cannot read 5 as a requirement"):
        report.check(5)
    with pytest.raises(sm.SpecificationError, match="open= must be 'pass' or 'fail', got 'maybe'"):
        report.check("roc_auc > 0", open="maybe")
    for level in (0.5, 1, 0, 7):
        with pytest.raises(sm.SpecificationError, match=r"confidence= must be between 0\.5 and 1"):
            report.check("roc_auc > 0", confidence=level)


@pytest.mark.parametrize("metric", ["roc_auc", "recall", "brier_score"])
@pytest.mark.parametrize("sign", [">=", "<="])
def test_verdicts_are_decided_on_the_bounds_and_the_interval(metric, sign):
    report = evaluated(by="g")
    for row in report.with_confidence(0.9).rows(metric).iter_rows(named=True):
        ends = [row["ci_lower"] - (row["value"] - row["lower"]), row["ci_upper"] + (row["upper"] - row["value"])]
        surely, possibly = ends if sign == ">=" else ends[::-1]
        step = 1e-6 if sign == ">=" else -1e-6
        limits = {surely - step: "holds", surely + step: "open", possibly - step: "open", possibly + step: "breached"}
        for limit, verdict in limits.items():
            found = report.check(f"{metric} {sign} {limit!r}", g=row["g"], open="fail").frame
            assert found.select("verdict", "passes").rows() == [(verdict, verdict == "holds")]


def test_a_check_of_selected_rows():
    rows = {
        "y": [1, 0, 1, 0] * 5,
        "old": [0.9, 0.2, 0.4, 0.5] * 5,
        "new": [0.1, 0.2, 0.3, 0.4] * 5,
        "g": ["a", "b"] * 10,
    }
    task = sm.binary(y_true="y", y_score={"old": "old", "new": "new"}, by="g")
    report = task.update(rows).finalize()
    every = report.check(["accuracy >= 0.99", "rows >= 11"]).frame
    found = report.check(["accuracy >= 0.99", "rows >= 11"], model="new", g="a").frame
    assert_frame_equal(found, every.filter(pl.col("where").str.contains("g a, model new")))
    assert len(found) == 2
    found = report.check("recall >= 0.6", confidence=None, model="new", g="a", threshold=0.2).frame
    assert found.select("where", "value", "verdict").rows() == [("g a, model new, threshold 0.2", 0.5, "breached")]
    with pytest.raises(sm.ReportError, match=r"^Unknown key 'modell'. Keys: g, model, threshold.$"):
        report.check("rows >= 11", modell="new")


def test_a_single_class_and_swapped_labels_are_noted():
    assert evaluated(DATA.filter("y"))["roc_auc"] == sm.Estimate(None, None, None, "no negatives")
    assert evaluated(DATA.filter(~pl.col("y")))["roc_auc"].note == "no positives"
    assert evaluated(DATA.with_columns(~pl.col("y")))["roc_auc"].note == "below 0.5: chance, or labels swapped?"


def test_a_shared_score_is_named():
    p = rng.random(200_000)
    scores = pl.DataFrame({"p": p, "y": rng.random(200_000) < p})
    shared = scores.with_columns(p=pl.when(pl.int_range(pl.len()) % 3 == 0).then(0.05).otherwise("p"))
    report = evaluated(shared, capacity=1024)
    note = report["roc_auc"].note
    assert "33." in note
    assert "pass atoms=(0.05,)" in note
    assert report["gain(top=0.1)"].note is None  # its bounds are narrow: these rows score higher
    declared = evaluated(shared, capacity=1024, atoms=(0.05,))["roc_auc"]
    assert declared.upper - declared.lower < 0.003


def test_printed(report):
    ungrouped = str(evaluated(capacity=64))
    assert "roc_auc" in ungrouped
    assert "± " in ungrouped
    assert "exact" in ungrouped
    lines = str(report).splitlines()
    assert lines[0].split() == ["g", "DE", "FR"]
    assert [line.split()[0] for line in lines[2:4]] == ["rows", "dropped"]
    assert "\nprecision @ 0.2  " in str(report)
    assert repr(report) == str(report)
    lines = str(report.showing(["rows", "precision"])).splitlines()
    assert lines[0].split() == ["g", "rows", "precision", "@", "0.2", "precision", "@", "0.5"]
    assert [line.split()[0] for line in lines[2:4]] == ["DE", "FR"]


def test_groups_have_the_same_decimals():
    lines = str(evaluated(DATA.with_columns(g=pl.int_range(pl.len()) % 7), by="g", capacity=64)).splitlines()[2:9]
    decimals = [[len(value.partition(".")[2]) for value in line.split()] for line in lines]
    assert decimals == [decimals[0]] * 7


def test_few_groups_are_columns_if_their_metrics_do_not_fit_a_row():
    scores = {"old": "p", "new": "p"}
    frame = evaluated(DATA.with_columns(day=1), by=["g", "day"], y_score=scores).with_confidence(0.95).frame
    lines = render(frame, ["g", "day", "model"], width=120).splitlines()
    first = frame["model"].unique(maintain_order=True).to_list()
    assert lines[0].split("  ")[0] == "g, day, model"
    assert [head.strip() for head in lines[0].split("  ")[1:] if head] == [
        f"{g}, 1, {model}" for g in ("DE", "FR") for model in first
    ]
    assert [line.split()[0] for line in lines[2:5]] == ["rows", "dropped", "roc_auc"]
    assert "more metrics" not in " ".join(lines)
    below = render(frame, ["g", "day", "model"], width=90).splitlines()
    assert below[0].split("  ")[0] == "g, day, model"
    assert " to " not in below[4]
    assert below[5].count(" to ") == 4
    narrow = render(frame, ["g", "day", "model"], width=60).splitlines()
    assert narrow[0].split()[:4] == ["g", "day", "model", "rows"]
    assert max(map(len, below)) <= 90
    assert max(map(len, narrow)) <= 60


def test_long_and_wide_reports_are_cut_with_a_count():
    many = evaluated(DATA.with_columns(g=pl.int_range(pl.len()) % 100), by="g")
    assert "… and 60 more groups. Read all of them in the frame, or the worst with worst()." in str(many)
    narrow = render(many.frame, ["g"], width=60).splitlines()
    assert all(len(line) <= 60 for line in narrow)
    assert "more metrics: " in " ".join(narrow)


def test_no_line_says_that_one_more_row_follows():
    from streammetrics.present.differences import decided
    from streammetrics.present.drift import drift_table
    from streammetrics.present.verdicts import verdicts_table
    from streammetrics.text import shown_of

    groups = pl.DataFrame(
        {"g": range(41), "metric": "rows", "value": 1.0, "lower": 1.0, "upper": 1.0, "note": None},
        schema_overrides={"note": pl.String},
    )
    sides = groups.with_columns(a=1.0, b=1.0, difference=0.0, better=pl.lit(None, pl.String))
    drift = groups.select("g", pl.col("metric").alias("measure"), "value", "lower", "upper")
    verdict = pl.when(g=0).then(pl.lit("holds")).otherwise(pl.lit("breached"))
    columns = {"rule": pl.lit("rows >= 2"), "where": pl.lit("g"), "ci_lower": None, "ci_upper": None, "passes": False}
    checked = groups.with_columns(verdict=verdict, **columns)
    for shown in (
        render(groups, ["g"]),
        as_text(drift_table(drift)),
        as_text(verdicts_table(checked)).removesuffix("\nFailing: 41 of 41"),
    ):
        assert len(shown.splitlines()) == 2 + 41
    assert decided(sides, ("a", "b"), ["g"], shown_of(41))[1] == 0
    *_, held, more, count = as_text(verdicts_table(pl.concat([checked, *[checked.tail(1)] * 9]))).splitlines()
    assert held.endswith("holds")
    assert (more, count) == ("… and 9 more that do not hold", "Failing: 50 of 50")
    wide = pl.concat([groups.with_columns(metric=pl.lit(name)) for name in ("a" * 40, "b")])
    assert render(wide, ["g"], width=44).splitlines()[-1] == "… and 1 more metric: b"


def test_without_a_terminal_no_metric_of_a_group_is_cut():
    report = evaluated(DATA.with_columns(g=pl.int_range(pl.len()) % 5), by="g")
    tables = [table.splitlines() for table in str(report).split("\n\n")]
    assert len(tables) > 1
    assert max(len(line) for table in tables for line in table) <= 120
    assert all([line.split()[0] for line in table[:4:2]] == ["g", "0"] for table in tables)
    headers = " ".join(table[0] for table in tables)
    assert {*report.keys()} <= {*headers.split()}
    assert "more metrics" not in str(report)


def test_reports_by_group_print_intervals_in_brackets():
    rows = {"y": [1, 0] * 50, "p": [0.9, 0.2] * 40 + [0.3, 0.8] * 10, "g": ["a", "b", "a", "a"] * 25}
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize(["accuracy", "rows"], confidence=0.95)
    lower, upper = report.get("accuracy", g="b").ci_lower, report.get("accuracy", g="b").ci_upper
    assert f"0.80 ({lower:.2f} to {upper:.2f})" in str(report)
    assert str(report).splitlines()[2].endswith("  75")


@pytest.mark.parametrize("options", [{}, {"unit": "u"}])
def test_reports_roll_up_as_accumulators_do(options):
    data = DATA.with_columns(u=pl.int_range(pl.len()) % 50, h=pl.int_range(pl.len()) % 3)
    acc = sm.binary(y_true="y", y_score="p", by=["g", "h"], metrics=["rows", "roc_auc", "log_loss"], **options)
    acc.update(data)
    for columns in ((), ("g",), ("h",)):
        found = acc.finalize(confidence=0.9).rollup(*columns).frame
        expected = acc.rollup(*columns).finalize(confidence=0.9).frame
        assert found.columns == expected.columns
        assert found.select(*columns, "metric").equals(expected.select(*columns, "metric"))
        for column in ("value", "lower", "upper", "ci_lower", "ci_upper"):
            assert found[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-9, nan_ok=True)
    with pytest.raises(sm.ReportError, match=r"Unknown group column 'x'. Group columns: g, h"):
        acc.finalize().rollup("x")


def test_one_metric_needs_no_list():
    acc = sm.binary(y_true="y", y_score="p", metrics="roc_auc").update(DATA)
    for found in (acc.finalize(), acc.finalize("auc"), evaluated().showing("roc_auc")):
        assert found.frame["metric"].to_list() == ["roc_auc"]


def test_keys_of_foreign_types_are_refused(report):
    with pytest.raises(sm.ReportError, match="Key 'g' must be String, got <object"):
        report.get("roc_auc", g=object())


@pytest.mark.parametrize(
    ("dtype", "text", "other"),
    [
        (pl.Date, "2026-01-05", "2026-01-05T12:00"),
        (pl.Datetime, "2026-01-05", "2026-01-05T12:00"),
        (pl.Datetime("ms", "Europe/Berlin"), "2026-01-05", "2026-01-05T00:00Z"),
    ],
)
def test_times_are_also_selected_by_text(dtype, text, other):
    week = pl.Series("week", [date(2026, 1, 5), date(2026, 1, 12)]).cast(pl.Datetime)
    zone = getattr(dtype, "time_zone", None)
    week = week.dt.replace_time_zone(zone).cast(dtype) if zone else week.cast(dtype)
    report = evaluated(pl.DataFrame([week, pl.Series("y", [1, 0]), pl.Series("p", [0.9, 0.8])]), by="week")
    assert report.get("accuracy", week=text).value == 1
    assert report.rows("accuracy", week=other).is_empty()
    with pytest.raises(sm.ReportError, match=r"Key 'week' must be Date.*, got 'monday'"):
        report.get("accuracy", week="monday")


@pytest.mark.parametrize("options", [{}, {"by": "g"}, {"unit": "g"}], ids=str)
def test_no_metrics_have_no_intervals(options):
    frame = sm.binary(y_true="y", y_score="p", **options).update(DATA).finalize([], confidence=0.9).frame
    assert frame.is_empty()
    assert {"ci_lower", "ci_upper"} <= set(frame.columns)


@pytest.fixture(scope="module")
def of_labels():
    acc = sm.multilabel(y_true={"a": "y"}, y_score={"a": "p"}, by="g", capacity=64).update(DATA)
    return acc.finalize(["f1(average=macro)", "fbeta(beta=2)", *acc.metrics], confidence=0.9)


@pytest.mark.parametrize("remade", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_reports_are_copied_and_pickled(remade, of_labels):
    report = of_labels
    assert remade(report).frame.equals(report.frame)
    assert remade(report).metrics == report.metrics
    assert remade(sm.compare(report, report)).frame.equals(sm.compare(report, report).frame)


def test_models_stay_apart_when_a_report_rolls_up():
    models = {"a": "p", "b": pl.lit(0.1).alias("constant")}
    apart, together = (evaluated(by=by, y_score=models, metrics=["rows", "log_loss"]) for by in ("g", []))
    assert_frame_equal(apart.rollup().frame, together.frame)
    assert_frame_equal(apart.rollup("g", "g").frame, apart.frame)


def test_curves_of_the_best_and_worst_order_bracket_the_curve():
    coarse = evaluated(capacity=16)
    best, tied, worst = (coarse.curve("roc", order) for order in ("best", "tied", "worst"))
    for fpr, recall in tied.select("fpr", "recall").iter_rows():
        assert best.filter(pl.col("fpr") <= fpr)["recall"].max() >= recall
        assert worst.filter(pl.col("fpr") >= fpr)["recall"].min() <= recall
    with pytest.raises(sm.ReportError, match="order= must be one of tied, best, worst, got 'random'"):
        coarse.curve("roc", "random")


def test_confusion_counts_of_weights_have_the_columns_of_counts():
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update({"y": [1, 0], "p": [0.9, 0.7], "w": [0.5, 2.0]})
    assert acc.finalize().confusion_counts().to_dicts() == [{"threshold": 0.5, "tp": 0.5, "fp": 2, "fn": 0, "tn": 0}]


def test_confusion_counts_are_those_of_the_rows(report):
    for g, t, tp, fp, fn, tn in report.confusion_counts().iter_rows():
        y, z = Y[g == G], P[g == G] >= t
        assert (tp, fp, fn, tn) == ((z & y).sum(), (z & ~y).sum(), (~z & y).sum(), (~z & ~y).sum())


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
    undefined = evaluated(DATA.filter("y"))["roc_auc"]
    assert undefined != 0
    for use in (float, lambda e: e < 0.5, lambda e: e >= 0.5, lambda e: f"{e:.2f}"):
        with pytest.raises(sm.ReportError, match=r"The estimate has no value \(no negatives\)"):
            use(undefined)


def test_a_report_is_read_like_a_dictionary():
    report = evaluated()
    assert list(report) == report.keys() == report.frame["metric"].unique(maintain_order=True).to_list()
    assert len(report) == len(report.metrics)
    assert dict(report) == dict(report.items()) == {name: report[name] for name in report}
    assert "fbeta(beta=2)" in report
    assert "auc" in report
    for foreign in ("mse", "nothing", "f(", 5, None):
        assert foreign not in report
    with pytest.raises(sm.ReportError, match=r"values\. Select one, for example with g="):
        dict(evaluated(by="g"))
    for wrong in (0, None, ("roc_auc", "f1")):
        with pytest.raises(sm.MetricError, match="must be a name"):
            report[wrong]


def test_several_requirements_are_decided_at_once():
    report = evaluated()
    requirements = ["roc_auc > 1", "recall < 0", "accuracy >= 0"]
    alone = [report.check(requirement).frame for requirement in requirements]
    assert_frame_equal(report.check(requirements).frame, pl.concat(alone))
    assert report.check([]).frame.is_empty()


@pytest.mark.parametrize("make", [lambda acc: acc, lambda acc: acc.finalize()], ids=["accumulator", "report"])
def test_columns_to_roll_up_to_come_one_by_one_or_as_a_list(make):
    data = DATA.with_columns(h=pl.int_range(pl.len()) % 3)
    fine = make(sm.binary(y_true="y", y_score="p", by=["g", "h"], metrics=["rows"]).update(data))

    def frame(*columns):
        found = fine.rollup(*columns)
        return (found if isinstance(found, sm.Report) else found.finalize()).frame

    assert frame([]).equals(frame())
    assert frame().height == 1
    assert frame(["g"]).equals(frame("g"))
    assert frame(["h", "g"]).equals(frame("h", "g"))


def test_one_threshold_or_atom_needs_no_list():
    assert sm.ConfusionCounts(0.2) == sm.ConfusionCounts(thresholds=(0.2,))
    assert sm.PredictedCounts(thresholds=0.2) == sm.PredictedCounts((0.2,))
    assert sm.ScoreHistogram(atoms=0.05) == sm.ScoreHistogram(atoms=(0.05,))
    assert evaluated(thresholds=0.2).frame.equals(evaluated(thresholds=[0.2]).frame)
    with pytest.raises(sm.SpecificationError, match="distinct numbers"):
        sm.ConfusionCounts("half")


RANKING = ["rows", "roc_auc", "average_precision", "pr_auc", "ks"]


def test_a_total_is_as_fine_as_its_groups():
    """Bins of a report over several groups are those of the coarsest one, not those of the capacity of a group."""
    groups = {g: rng.beta(2, 8, 3_000) for g in ("few", "one", "two", "three")}
    groups["few"] = groups["few"][:40]
    rows = pl.concat(pl.DataFrame({"p": p}).with_columns(g=pl.lit(g)) for g, p in groups.items())
    rows = rows.with_columns(y=pl.col("p") > pl.lit(pl.Series(rng.random(rows.height))))
    acc = sm.binary(y_true="y", y_score="p", by="g", capacity=1024).update(rows)
    report = acc.finalize(RANKING)
    total = report.rollup()
    widths = report.frame.with_columns(width=pl.col("upper") - pl.col("lower")).group_by("metric").agg(pl.max("width"))
    for metric, width in widths.iter_rows():
        assert total[metric].upper - total[metric].lower <= width + 1e-12
    assert not total["roc_auc"].exact
    of_one_group = acc.rollup().finalize()["roc_auc"]  # which keeps to the capacity, since more can be merged with it
    assert total["roc_auc"].upper - total["roc_auc"].lower < 0.6 * (of_one_group.upper - of_one_group.lower)
    truth = roc_auc_score(rows["y"], rows["p"])
    assert total["roc_auc"].lower <= truth <= total["roc_auc"].upper

    def shifts(read):
        return read.state.tables["score_histogram"]["shift"].max()

    assert shifts(total) == shifts(report)
    assert report.rollup("g").frame.equals(report.frame)


def test_a_total_of_exact_groups_is_exact():
    p = rng.random(6_000)
    rows = pl.DataFrame({"p": p, "y": rng.random(p.size) < p, "g": np.arange(p.size) % 2, "h": np.arange(p.size) % 3})
    acc = sm.binary(y_true="y", y_score="p", by=["g", "h"]).update(rows)
    report = acc.finalize(RANKING)
    total = report.rollup()["roc_auc"]
    assert total.exact
    assert total.value == pytest.approx(roc_auc_score(rows["y"], rows["p"]), rel=1e-12)
    assert report.rollup("g").rollup().frame.equals(report.rollup().frame)
    assert sm.Accumulator.from_bytes(acc.to_bytes()).finalize(RANKING).rollup().frame.equals(report.rollup().frame)
    halves = [acc.empty().update(rows[i::2]) for i in range(2)]
    assert (halves[0] + halves[1]).finalize(RANKING).rollup().frame.equals(report.rollup().frame)
    alone = sm.binary(y_true="y", y_score="p").update(rows).finalize()
    assert total == alone["roc_auc"]


def test_a_total_has_no_more_bins_than_a_histogram_without_groups():
    p = rng.random(60_000)
    rows = pl.DataFrame({"p": p, "y": rng.random(p.size) < p, "g": np.arange(p.size) % 20})
    report = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize(RANKING)
    alone = sm.binary(y_true="y", y_score="p").update(rows).finalize(RANKING)
    assert report.rollup().frame.equals(alone.frame)
    wide = sm.binary(y_true="y", y_score="p", by="g", capacity=100_000).update(rows).finalize()
    assert wide.rollup()["roc_auc"].exact
