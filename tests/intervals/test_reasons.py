"""Which estimates and differences have an interval, and why others have none."""

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from data import CLICKS, DELIVERIES, candidates, clicks, deliveries, visits
from polars.testing import assert_frame_equal

import streammetrics as sm

LIMITS = ["ci_lower", "ci_upper"]
ROUNDING = 1e-12
Z = 1.959963984540054
BOUGHT = {"y_true": "bought", "y_score": "score"}
METRICS = ["rows", "mae", "bias", "median_error"]
TASKS = {
    "binary": (partial(sm.binary, **BOUGHT), visits()[:800]),
    "regression": (partial(sm.regression, y_true="score", y_pred="weight"), visits()[:800]),
    "multiclass": (
        partial(sm.multiclass, y_true="shop", y_pred="guess"),
        visits()[:800].with_columns(guess=pl.col("shop").reverse()),
    ),
}


def limits(report, metric, **keys):
    estimate = report.get(metric, **keys)
    return estimate.ci_lower, estimate.ci_upper


def ends(comparison, metric):
    return comparison.frame.filter(metric=metric).select(LIMITS).row(0)


def width(interval):
    return interval[1] - interval[0]


def note(acc, metric):
    return acc.finalize([metric], confidence=0.95).rows(metric)["note"][0]


@pytest.mark.parametrize("kind", TASKS)
def test_intervals_are_added_and_nothing_else_changes(kind):
    """They hold the value and lie in the range; without one, the note has the reason after what it had."""
    task, rows = TASKS[kind]
    for options in ({}, {"unit": "visitor"}, {"by": "shop"}, {"sample_weight": "weight"}):
        acc = task(**options).update(rows)
        plain, report = acc.finalize().frame, acc.finalize(confidence=0.9)
        found, ranges = report.frame, {m.name: m.range for m in report.metrics}
        assert found.columns == [*plain.columns[:-2], *LIMITS, "status", "note"]
        assert_frame_equal(found.drop(*LIMITS, "status", "note"), plain.drop("status", "note"))
        limited = 0
        for row, before in zip(found.iter_rows(named=True), plain["note"], strict=True):
            note = row["note"] or ""
            assert note.startswith(before or "")
            if row["ci_lower"] is None and row["ci_upper"] is None:
                assert row["value"] is None or "no interval: " in note
            elif None not in (row["ci_lower"], row["ci_upper"]):
                limited += 1
                low, high = ranges[row["metric"]]
                assert low <= row["ci_lower"] <= row["value"] <= row["ci_upper"] <= high
                assert row["ci_lower"] < row["ci_upper"]
                assert "no interval" not in note
        assert limited > 3


@pytest.mark.parametrize("options", [{}, {"unit": "visitor"}, {"sample_weight": "weight"}])
def test_a_group_has_the_intervals_of_its_rows_alone(options):
    """Also if its column is known to be sorted, which Polars groups in a way of its own."""
    rows = visits()[:500].sort("shop")
    for kind in ("binary", "regression"):
        task, _ = TASKS[kind]
        for column in (rows["shop"], rows["shop"].set_sorted()):
            both = task(by="shop", **options).update(rows.with_columns(column)).finalize(confidence=0.9).frame
            alone = task(**options).update(rows.filter(shop="web")).finalize(confidence=0.9).frame
            assert_frame_equal(both.filter(shop="web").drop("shop"), alone, rel_tol=1e-9)


@pytest.mark.parametrize("factor", [1e9, 1e-9])
def test_the_unit_of_weights_and_of_values_makes_no_difference(factor):
    rows = visits()[:800]
    for kind in ("binary", "regression"):
        task, _ = TASKS[kind]
        one, other = (
            task(sample_weight="w").update(rows.with_columns(w=pl.col("weight") * f)).finalize(confidence=0.9).frame
            for f in (1, factor)
        )
        assert_frame_equal(one.select(LIMITS), other.select(LIMITS), rel_tol=1e-5)
    moments = ["r2", "pearson_r", "concordance", "explained_variance"]
    near, far = (
        sm.regression(**DELIVERIES).update(deliveries()[:500].select(pl.col("minutes", "forecast") * f + 1e3 * f))
        for f in (1.0, factor)
    )
    frames = [acc.finalize(moments, confidence=0.95).frame.select(LIMITS) for acc in (near, far)]
    assert_frame_equal(*frames, rel_tol=1e-4)
    large = deliveries()[:500].select(pl.col("minutes", "forecast") + 1.7e9)
    found = sm.regression(**DELIVERIES).update(large).finalize(moments, confidence=0.95).frame.select(LIMITS)
    usual = sm.regression(**DELIVERIES).update(deliveries()[:500]).finalize(moments, confidence=0.95)
    assert_frame_equal(found, usual.frame.select(LIMITS), rel_tol=1e-4)


NEVER = {  # metrics without an interval, of independent rows and of units
    "binary": "dropped ks best_f1 best_mcc ece mce rmsce majority_accuracy baseline_log_loss baseline_brier_score",
    "regression": "rows mad error_iqr max_error ss_res ss_tot",
}


def test_some_metrics_never_have_an_interval():
    for kind, names in NEVER.items():
        task, rows = TASKS[kind]
        for unit in (None, "visitor"):
            frame = task(unit=unit).update(rows).finalize(names.split(), confidence=0.9).frame
            assert frame["ci_lower"].null_count() == frame.height == len(names.split())
            assert frame["note"].str.starts_with("no interval: ").all()
    quantiles = ["median_error", "absolute_error_quantile(q=0.9)"]
    of_units = TASKS["regression"][0](unit="visitor").update(visits()).finalize(quantiles, confidence=0.9)
    assert set(of_units.frame["note"]) == {"no interval: the jackknife is not valid for quantiles"}


@pytest.mark.thorough
def test_reasons_of_the_rows_and_of_what_is_kept():
    share = {"y": [0, 1] * 60, "p": [0.2, 0.7] * 60, "w": 1.0}
    perfect = sm.binary(y_true="y", y_score="p").update(share)
    score = np.linspace(0, 1, 500)
    exact = sm.regression(y_true="y", y_pred="y").update({"y": score + 1})
    zeros = sm.regression(y_true="y", y_pred="p").update({"y": [0.0, 1.0, 2.0] * 40, "p": [1.0, 1.5, 2.0] * 40})
    alike = {"y": [0.9] * 60, "p": [0.6] * 60, "label": [1, 0, 0] * 20, "w": 1 / 3}
    equal = sm.regression(y_true="y", y_pred="p").update(alike)
    weighted = sm.regression(y_true="y", y_pred="p", sample_weight="w").update(alike)
    digest = sm.Accumulator(
        sm.statistics.TDigest(), task="regression", y_true="minutes", y_pred="forecast", sample_weight="forecast"
    )
    digest.update(deliveries()[:200])
    separate = sm.multiclass(y_true="clicked", y_score={True: "score", False: "none"}, one_vs_one=True)
    separate.update(clicks()[:300].with_columns(none=1 - pl.col("score")))
    counts = sm.regression(y_true="y", y_pred="p", families=["poisson"]).update({"y": score + 1, "p": score[::-1] + 1})
    at_end, few = "the metric does not vary at the end of its range", "too few rows, or they do not vary"
    units, unweighted = "a confidence interval requires a unit", "not available for weighted rows"
    for acc, metric, why in (
        (perfect, "average_precision", at_end),
        (perfect, "pr_auc", at_end),
        (exact, "mae", at_end),
        (exact, "r2", at_end),
        (exact, "bias", few),
        (equal, "mae", few),
        (weighted, "mae", few),
        (equal, "bias", few),
        (weighted, "bias", few),
        (weighted, "smape", few),
        (zeros, "mape", "the metric is infinite"),
        (zeros, "rmspe", "the metric is infinite"),
        (digest, "digest_quantile", unweighted),
        (digest, "digest_cdf", f"{unweighted}; {units}"),
        (separate, "roc_auc_ovo", f"labels are counted separately; {units}"),
        (separate, "roc_auc(average=macro)", f"labels are counted separately; {units}"),
        (counts, "d2_poisson", f"the state does not hold the squares of its terms; {units}"),
        (
            TASKS["binary"][0]().update(visits()),
            "brier_within_bin",
            f"the state does not hold the squares of its terms; {units}",
        ),
    ):
        assert note(acc, metric).endswith(f"no interval: {why}"), metric
        assert acc.finalize([metric], confidence=0.95).rows(metric)["ci_lower"][0] is None
    assert limits(perfect.finalize("recall", confidence=0.95), "recall")[1] == 1
    two = sm.binary(y_true="y", y_pred="y").update({"y": [0, 1]})
    assert limits(two.finalize("f1", confidence=0.95), "f1") == (0, 1)  # as many rows as a variance needs
    for weight in (1e200, 1e-200):  # whose squares are no floats
        acc = TASKS["binary"][0](sample_weight="w").update(visits().with_columns(w=pl.lit(weight)))
        assert "no interval" in note(acc, "accuracy")
    assert "the state lacks" not in str(exact.finalize(confidence=0.95).frame["note"].to_list())


def test_a_metric_of_a_user_can_say_why_it_has_no_interval_or_need_units():
    @sm.metric(range=(0, 1), interval="a share of a test")
    def false_alarm_share(fp, tn):
        return fp / (fp + tn)

    assert false_alarm_share(3, 9) == 0.25
    assert note(sm.binary(**CLICKS).update(clicks()), false_alarm_share) == "no interval: a share of a test"
    assert false_alarm_share.with_average("macro").interval == false_alarm_share.interval

    def widest_bin(value_low, value_high):
        return (value_high - value_low).max()

    acc = sm.Accumulator(sm.statistics.Histogram(of="y_true"), task="regression", y_true="score").update(clicks())
    widest = sm.Metric(widest_bin, (0, np.inf), None, ())
    assert note(acc, widest) == "no interval: a confidence interval requires a unit"


FEWEST = {  # negatives that a metric needs; of the others, only those up to the level count
    "roc_auc": 2,
    "average_precision": 20,
    "log_loss_skill": 50,
    "partial_auc(max_fpr=0.1)": 200,
    "recall_at_fpr(fpr=0.1)": 500,
    "equal_error_rate": 100,
}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("metric", "weight", "least"), [*((m, None, n) for m, n in FEWEST.items()), ("pr_auc", 0.1, 100)]
)
def test_so_many_rows_of_a_class_are_needed(metric, weight, least):
    """More weighted ones, whatever their weight."""
    for negatives, known in ((least - 1, False), (least, True)):
        label = np.arange(negatives + 700) >= negatives
        score = 1 / (1 + np.exp(-np.random.default_rng(0).normal(label)))
        acc = sm.binary(y_true="y", y_score="p", sample_weight=weight and "w")
        found = acc.update({"y": label, "p": score, "w": weight or 1.0}).finalize(metric, confidence=0.95)[metric]
        assert (found.ci_lower is not None) == known, found
        assert known or found.note == "no interval: too few rows of a class"


def test_few_heavy_rows_of_a_class_have_no_interval_of_average_precision():
    """Each of 400 negatives weighs as much as ten positives, so few of them carry the precision."""
    label = np.repeat([True, False], 400)
    score = 1 / (1 + np.exp(-np.random.default_rng(0).normal(label)))
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w")
    acc.update({"y": label, "p": score, "w": np.where(label, 1.0, 10.0)})
    assert note(acc, "average_precision") == "no interval: too few rows of a class"
    assert note(acc, "roc_auc") is None


def test_weighted_labels_without_an_error_have_as_many_effective_rows():
    acc = sm.multiclass(y_true="y", y_pred="y", sample_weight="w").update({"y": [0, 1] * 25, "w": [1.0, 3.0] * 25})
    found = limits(acc.finalize(["accuracy"], confidence=0.95), "accuracy")
    assert found == (pytest.approx(1 / (1 + Z**2 / (100**2 / 250))), 1)


@pytest.mark.parametrize("labels", [24, 25])
def test_pairs_of_many_labels_have_no_interval(labels):
    actual = np.repeat(np.arange(labels), 20 * labels)
    right = np.random.default_rng(0).random(len(actual)) < 0.5
    predicted = np.where(right, actual, np.tile(np.arange(labels), 20 * labels))
    acc = sm.multiclass(y_true="y", y_pred="p", labels=list(range(labels))).update({"y": actual, "p": predicted})
    report = acc.finalize(["kappa", "recall(average=macro)"], confidence=0.95)
    crowded = "no interval: more than 600 pairs of labels; a confidence interval requires a unit"
    assert (report["kappa"].ci_lower is None) == (labels == 25) == (crowded in report["kappa"].note)
    assert report["recall(average=macro)"].ci_lower is not None


def few_positives(positives, count=2_000):
    """Scores of two models, in units of one row."""
    rng, y = np.random.default_rng(0), np.arange(count) < positives
    common = rng.normal(size=count)
    scores = {
        m: 1 / (1 + np.exp(6 - d * y - common - 0.3 * rng.normal(size=count))) for m, d in (("a", 1.2), ("b", 1.5))
    }
    return pl.DataFrame({"y": y, **scores, "u": np.arange(count)})


AT_FEW = ["balanced_accuracy", "mcc", "f1", "recall", "roc_auc", "gini"]


@pytest.mark.thorough
@pytest.mark.parametrize("positives", [2, 8, 40])
def test_with_units_few_positives_are_not_more_certain_than_without(positives):
    """Neither in a report nor in a comparison; of many, differences of models are more certain."""
    names = [*AT_FEW, "brier_score", "log_loss", "specificity", "average_precision", "log_loss_skill", "ks"]
    accs = {
        unit: [
            sm.binary(y_true="y", y_score=m, thresholds=0.01, unit=unit).update(few_positives(positives)) for m in "ab"
        ]
        for unit in ("u", None)
    }
    by_unit, alone = (accs[unit][0].finalize(names, confidence=0.95) for unit in ("u", None))
    pair, apart = (sm.compare(*accs[unit], metrics=names, independent=unit is None) for unit in ("u", None))
    for read, one, other in ((limits, by_unit, alone), (ends, pair, apart)):
        for metric in [*AT_FEW, "brier_score"]:
            (lower, upper), (low, high) = read(one, metric), read(other, metric)
            if positives < 20 and metric != "brier_score":
                assert (lower, upper) == (None, None) or lower <= low + ROUNDING < high - ROUNDING <= upper, metric
            elif read is ends and positives > 20:
                assert upper - lower < high - low, metric
        assert None not in read(one, "roc_auc")
    for metric in ("average_precision", "log_loss_skill"):
        assert (None in ends(pair, metric)) == (positives < 20), metric
    for metric in ("log_loss", "specificity"):  # to which all rows contribute, or those of the other class
        assert width(ends(pair, metric)) < width(ends(apart, metric)) / 1.2
    assert ends(sm.compare(*accs["u"], metrics=names, independent=True), "roc_auc") == ends(pair, "roc_auc")
    for metric in ("roc_auc", "gini"):
        lower, upper = limits(by_unit, metric)
        assert upper - lower < 1.6 * width(limits(alone, metric))
        weighted = sm.binary(y_true="y", y_score="a", unit="u", sample_weight="w")
        weighted = weighted.update(few_positives(positives).with_columns(w=1.0)).finalize(metric, confidence=0.95)
        assert limits(weighted, metric)[0] is None or limits(weighted, metric)[0] <= limits(alone, metric)[0] + ROUNDING


def test_groups_with_few_positives_of_two_types_are_compared():
    rows = few_positives(8).with_columns(g=pl.lit(1))
    a, b = (
        sm.binary(y_true="y", y_score=m, by="g", unit="u").update(rows.with_columns(pl.col("g").cast(dtype)))
        for m, dtype in (("a", pl.Int64), ("b", pl.Float64))
    )
    found, one = (sm.compare(*pair, metrics=["roc_auc"]) for pair in ((a, b), (a.rollup(), b.rollup())))
    assert ends(found, "roc_auc") == ends(one, "roc_auc")
    assert None not in ends(found, "roc_auc")


def test_units_widen_intervals_and_there_are_five_folds_at_least():
    rows = visits()
    plain, by_unit = (
        TASKS["binary"][0](unit=u).update(rows).finalize(["brier_score"], confidence=0.9) for u in (None, "visitor")
    )
    assert by_unit["brier_score"].value == pytest.approx(plain["brier_score"].value)
    assert width(limits(by_unit, "brier_score")) > 1.3 * width(limits(plain, "brier_score"))
    for units, known in ((1, False), (4, False), (40, True)):
        acc = sm.regression(y_true="score", y_pred="weight", unit="u").update(
            rows[:400].with_columns(u=pl.col("visitor") % units)
        )
        found = acc.finalize(["mae"], confidence=0.9)["mae"]
        assert (found.ci_lower is not None) == known
        assert known or found.note == "no interval: too few units or rows of a class, or they do not vary"
    unknown = sm.regression(y_true="score", y_pred="weight", unit="u").update(
        rows.with_columns(u=pl.lit(None, pl.Int64))
    )
    assert unknown.finalize("mae", confidence=0.9)["mae"].ci_lower is None


@pytest.mark.thorough
def test_differences_of_rows_that_are_not_known_to_be_the_same_have_no_interval():
    """Unless they are independent, or of the same units; the order of sides and of reports makes no difference."""
    compare = partial(sm.compare, confidence=0.9, metrics=["mae"])
    rows = candidates()[:600].with_columns(target=pl.col("new") * 0.9 + 0.05, u=pl.int_range(600) // 4)

    def sides(one, other, rows=rows):
        make = partial(sm.regression, y_true="target", capacity=64)
        return [make(y_pred=m, unit=u).update(rows) for m, u in (("old", one), ("new", other))]

    for one, other in ((None, None), (None, "u"), ("u", pl.col("u") // 2)):
        assert ends(compare(*sides(one, other)), "mae") == (None, None)
    a, b = sides("u", "u")
    every = {"metrics": METRICS}
    found = compare(a, b, **every)
    numbers = ["a", "b", "difference", "lower", "upper", *LIMITS]
    assert found.frame.columns == ["metric", *numbers, "better", "status", "note"]
    plain = compare(a, b, confidence=None, **every).frame
    assert_frame_equal(found.frame.drop(*LIMITS, "status", "note", "better"), plain.drop("better", "status"))
    assert ends(compare(b, a), "mae") == pytest.approx([-end for end in ends(found, "mae")[::-1]], rel=1e-9)
    assert ends(found, "rows") == ends(found, "median_error") == (None, None)
    assert ends(compare(a.finalize(), b.finalize()), "mae") == ends(found, "mae")
    few = b.empty().update(rows.filter(pl.col("u") % 3 > 0))
    for pair in ((a, a.empty()), (a.empty(), a), (a, few), (a, a)):  # of the last, no fold shows a difference
        assert ends(compare(*pair), "mae") == (None, None)


def test_differences_of_independent_rows_have_the_distances_of_both():
    rows = deliveries().with_columns(u=pl.int_range(pl.len()) % 90)
    one, other = (sm.regression(**DELIVERIES).update(half) for half in (rows[:1_200], rows[1_200:]))
    found = sm.compare(one, other, confidence=0.9, independent=True, metrics=METRICS)
    for metric in ("bias", "mae", "median_error"):
        x, y = (acc.finalize(metric, confidence=0.9)[metric] for acc in (one, other))
        lower = y.value - x.value - math.hypot(y.value - y.ci_lower, x.ci_upper - x.value)
        upper = y.value - x.value + math.hypot(y.ci_upper - y.value, x.value - x.ci_lower)
        assert ends(found, metric) == pytest.approx((lower, upper), rel=1e-12)
    assert ends(found, "rows") == (None, None)
    units = [sm.regression(unit=u, **DELIVERIES).update(rows) for u in ("u", (pl.col("u") // 2).alias("pair"))]
    assert None not in ends(sm.compare(*units, confidence=0.9, independent=True, metrics=METRICS), "mae")


def test_limits_of_skewed_losses_are_farther_above_and_of_a_large_error_the_note_says_so():
    """Without the largest error, skewness depends on the mean and the mean square."""
    acc = sm.regression(families=["log"], **DELIVERIES).update(deliveries()[:100])
    report = acc.finalize(["mse", "rmsle", "mae"], confidence=0.95)
    for metric in ("mse", "rmsle", "mae"):
        (lower, upper), value = limits(report, metric), report[metric].value
        assert 1.1 * (value - lower) < upper - value
    outlier = pl.DataFrame({"minutes": [0.0], "forecast": [400.0]})
    most = sm.regression(**DELIVERIES).update(pl.concat([deliveries()[:100].select("minutes", "forecast"), outlier]))
    assert "about 1 effective rows" in note(most, "mse")
    equal = {"y": [0.0, 1.0, 2.0, 3.0] * 50, "p": [1.0, 0.0, 3.0, 2.0] * 50}  # errors that are equal in size
    found = sm.regression(y_true="y", y_pred="p").update(equal).finalize(["mse", "r2"], confidence=0.95)
    assert found["mse"].ci_lower is None
    assert found["r2"].ci_lower < 0.2 < found["r2"].ci_upper


def test_losses_of_one_class_have_the_intervals_of_its_rows():
    """If the rows of the other class count nothing; the loss of one class alone has none."""
    rows = clicks()[:600]
    names = [
        f"{loss}({option})"
        for loss in ("log_loss", "brier_score")
        for option in ("label=positive", "positive_weight=3")
    ]
    report = sm.binary(**CLICKS).update(rows).finalize(names, confidence=0.9)
    score = rows.filter("clicked")["score"].to_numpy()
    for metric, losses in (("log_loss", -np.log(score)), ("brier_score", (1 - score) ** 2)):
        error = losses.std(ddof=1) / math.sqrt(len(losses))
        assert report[f"{metric}(label=positive)"].value == pytest.approx(losses.mean())
        assert 1 < width(limits(report, f"{metric}(label=positive)")) / (2 * 1.645 * error) < 1.1
        heavier = report[f"{metric}(positive_weight=3)"]
        assert heavier.ci_lower < heavier.value < heavier.ci_upper
        assert note(sm.binary(**CLICKS).update(rows.filter("clicked")), metric).startswith("no interval")
