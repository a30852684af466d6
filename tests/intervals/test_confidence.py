"""Confidence intervals in reports and comparisons, off the tables and by leaving out folds of units."""

import math

import numpy as np
import polars as pl
import pytest
from influences import limits_of_rows
from polars.testing import assert_frame_equal
from scipy import stats

import streammetrics as sm
from streammetrics.intervals.auc import auc_intervals
from streammetrics.intervals.influence import counted, influence_intervals, sliced
from streammetrics.intervals.means import mean_interval
from streammetrics.intervals.methods import method_of
from streammetrics.intervals.proportions import wilson_interval
from streammetrics.intervals.quantiles import quantile_interval
from streammetrics.metrics import declared_metrics, f1
from streammetrics.metrics.ranking import average_precision
from streammetrics.rows.folds import fold

ERRORS = {"y_true": "y", "y_pred": "p"}
LABELS = {"y_true": "label", "y_score": "score"}
LIMITS = ["ci_lower", "ci_upper"]
ROUNDING = 1e-12
FEW = ["rows", "mae", "rmse", "bias", "r2", "median_error", "mad", "within(x=0.5)", "max_error"]


def data(seed=0, n=600, units=60):
    """Rows of units that are harder or easier: errors and labels of one depend on each other."""
    rng = np.random.default_rng(seed)
    unit = rng.integers(0, units, n)
    shift, skill = rng.normal(0, 1, units)[unit], rng.normal(0.5, 1, units)[unit]
    y, label = rng.normal(0, 1, n), rng.random(n) < 0.4
    score = 1 / (1 + np.exp(-rng.normal(0, 1, n) - skill * (2 * label - 1)))
    return pl.DataFrame(
        {
            "y": y,
            "p": y + shift + rng.normal(0, 0.3, n),
            "q": y + shift + rng.normal(0.02, 0.3, n),
            "label": label,
            "score": score,
            "w": rng.integers(1, 3, n),
            "u": unit,
            "g": pl.Series(["x", "y", None]).gather(rng.integers(0, 3, n)),
        }
    ).with_columns(guess=pl.col("g").reverse())


def limits(report, metric, **keys):
    found = report.get(metric, **keys)
    return found.ci_lower, found.ci_upper


def width(report, metric):
    lower, upper = limits(report, metric)
    return upper - lower


TASKS = {
    "binary": lambda **more: sm.binary(**LABELS, **more),
    "regression": lambda **more: sm.regression(**ERRORS, **more),
    "multiclass": lambda **more: sm.multiclass(y_true="g", y_pred="guess", **more),
}
task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS)
known = data().with_columns(pl.col("g", "guess").fill_null("z"))


@task
@pytest.mark.parametrize("options", [{}, {"unit": "u"}, {"by": "g"}, {"sample_weight": "w"}], ids=str)
def test_without_a_confidence_nothing_changes(make, options):
    acc = make(**options).update(known)
    plain, sampled = acc.finalize().frame, acc.finalize(confidence=0.9).frame
    assert not set(LIMITS) & set(plain.columns)
    assert sampled.columns == [*plain.columns[:-1], *LIMITS, "note"]
    assert_frame_equal(sampled.drop(*LIMITS, "note"), plain.drop("note"))
    without = sampled.select(pl.col("value").is_not_null() & pl.all_horizontal(pl.col(LIMITS).is_null())).to_series()
    as_before = sampled.with_columns(
        note=pl.col("note").str.replace("(; )?about \\d+ effective rows.*", "").replace("", None)
    )
    assert_frame_equal(as_before.filter(~without).select("note"), plain.filter(~without).select("note"))
    for before, after in zip(plain.filter(without)["note"], sampled.filter(without)["note"], strict=True):
        assert after.startswith("no interval: " if before is None else f"{before}; no interval: ")


@task
@pytest.mark.parametrize("unit", [None, "u"])
def test_intervals_hold_the_value_inside_the_range(make, unit):
    report = make(unit=unit).update(known).finalize(confidence=0.95)
    ranges = {m.name: m.range for m in report.metrics}
    found = report.frame.drop_nulls(LIMITS)
    assert found.height > 5
    for row in found.iter_rows(named=True):
        low, high = ranges[row["metric"]]
        assert low <= row["ci_lower"] <= row["value"] <= row["ci_upper"] <= high, row
        assert row["ci_lower"] < row["ci_upper"], row


def test_what_has_no_interval():
    everything = ["rows", "dropped", "support", "positives", "true_positives", "precision(average=macro)", "recall"]
    report = sm.multilabel(y_true={"a": "label"}, y_score={"a": "score"}).update(data())
    report = report.finalize(everything, confidence=0.9)
    for metric in everything:
        rows = report.rows(metric)
        assert rows.height
        assert rows.select(LIMITS).null_count().row(0) == ((0, 0) if metric == "recall" else (rows.height,) * 2), metric
    nothing = ["mad", "error_iqr", "max_error", "ss_res", "ss_tot", "rows", "dropped"]
    errors = sm.regression(**ERRORS).update(data()).finalize(nothing, confidence=0.9)
    for metric in nothing:
        assert limits(errors, metric) == (None, None)
    densities = errors.rows("mad")["note"].to_list()
    assert densities == ["no interval: requires density estimates at quantiles"]
    values = sm.Accumulator(sm.Histogram(of="y_true"), task="regression", y_true="y").update(data())
    for metric in ("minimum", "maximum", "iqr"):
        assert limits(values.finalize(metric, confidence=0.9), metric) == (None, None)
    nothing = ["median_error", "mad", "absolute_error_quantile(q=0.9)", "error_iqr", "max_error", "rows"]
    by_unit = sm.regression(**ERRORS, unit="u").update(data()).finalize(nothing, confidence=0.9)
    for metric in nothing:
        assert limits(by_unit, metric) == (None, None)


def by_influence(table, metric, counts, **options):
    def read(copies):
        value = metric.expression().alias(metric.name)
        return copies.group_by("group", maintain_order=True).agg(value) if metric.aggregates else copies.select(value)

    return influence_intervals(table, [metric], counted(*counts), read, 0.9, **options).select(LIMITS).row(0)


def of_mean(losses, **options):
    table = pl.DataFrame({"loss": losses})
    total, squares = pl.col("loss").sum(), (pl.col("loss") ** 2).sum()
    return table.select(mean_interval(total, squares, pl.len(), 0.9, **options)).row(0)


def test_they_are_those_of_the_pure_functions():
    rows = data(1)
    report = sm.binary(**LABELS).update(rows).finalize(["recall", "accuracy", "f1", "roc_auc", "gini"], confidence=0.9)
    hit, score, label = rows["score"].to_numpy() >= 0.5, rows["score"].to_numpy(), rows["label"].to_numpy()
    tp, fp, fn, tn = (int((hit == h).__and__(label == y).sum()) for h, y in ((1, 1), (1, 0), (0, 1), (0, 0)))
    assert limits(report, "recall", threshold=0.5) == pytest.approx(
        stats.binomtest(tp, tp + fn).proportion_ci(0.9, "wilson"), rel=1e-9
    )
    wilson = pl.select(wilson_interval(pl.lit(tp + tn), pl.lit(tp + fp + fn + tn), 0.9)).row(0)
    assert limits(report, "accuracy", threshold=0.5) == wilson
    cells = pl.DataFrame({"group": [0], "tp": [tp], "fp": [fp], "fn": [fn], "tn": [tn]})
    assert limits(report, "f1", threshold=0.5) == by_influence(cells, f1, ["tp", "fp", "fn", "tn"], added=0.5)
    bins = pl.DataFrame({"group": 0, "score": score, "neg": ~label, "pos": label}).sort("score")
    bins = bins.cast({"neg": pl.Int64, "pos": pl.Int64})
    delong = auc_intervals(bins, confidence=0.9).select(LIMITS).row(0)
    assert limits(report, "roc_auc") == pytest.approx(delong, rel=1e-12)
    assert limits(report, "gini") == pytest.approx([2 * x - 1 for x in delong], rel=1e-12)
    few = bins.head(200)  # so that no bins are joined
    ranked = sm.binary(y_true="pos", y_score="score").update(few).finalize("average_precision", confidence=0.9)
    slices = sliced(few, ["neg", "pos"])
    assert limits(ranked, "average_precision") == by_influence(few, average_precision, ["neg", "pos"], cells=slices)

    metrics = ["bias", "mae", "mse", "rmse", "median_error", "within(x=0.5)"]
    metrics += ["absolute_error_quantile(q=0.9)", "rec_auc(limit=2)"]
    report = sm.regression(**ERRORS).update(rows).finalize(metrics, confidence=0.9)
    e = (rows["p"] - rows["y"]).to_numpy()
    for metric, losses in (("bias", e), ("mae", abs(e)), ("mse", e**2)):
        influences = (losses - losses.mean()) / math.sqrt(len(e) * (len(e) - 1))
        expected = limits_of_rows(losses.mean(), influences, len(e) - 1, 0.9)
        assert limits(report, metric) == pytest.approx(expected, abs=0.06 * (expected[1] - expected[0]))
    table = pl.DataFrame({"e": np.sort(e), "count": np.ones(len(e), dtype=np.int64)})
    ranks = table.select(quantile_interval(pl.col("e"), pl.col("e"), pl.col("count"), 0.5, 0.9)).row(0)
    assert limits(report, "median_error") == ranks
    within = stats.binomtest(int((abs(e) <= 0.5).sum()), len(e)).proportion_ci(0.9, "wilson")
    assert limits(report, "within(x=0.5)") == pytest.approx(within, rel=1e-9)
    absolute = table.with_columns(pl.col("e").abs().sort())
    ranks = absolute.select(quantile_interval(pl.col("e"), pl.col("e"), pl.col("count"), 0.9, 0.9)).row(0)
    assert limits(report, "absolute_error_quantile(q=0.9)") == ranks
    area = of_mean((1 - abs(e) / 2).clip(0), range=(0, 1))
    assert limits(report, "rec_auc(limit=2)") == pytest.approx(area, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("unit", [None, "u"])
def test_a_group_has_the_intervals_of_its_rows_alone(unit):
    rows = data(2)
    for make in (TASKS["binary"], TASKS["regression"]):
        together = make(unit=unit, by="g", capacity=4096).update(rows).finalize(confidence=0.9).frame
        for group in ("x", None):
            own = pl.col("g").eq_missing(pl.lit(group))
            alone = make(unit=unit, capacity=4096).update(rows.filter(own)).finalize(confidence=0.9).frame
            assert_frame_equal(together.filter(own).drop("g"), alone, rel_tol=1e-9)


@pytest.mark.thorough
def test_intervals_of_joined_bins_are_as_wide_as_drawn_tables_spread():
    rng = np.random.default_rng(4)
    score = rng.beta(0.5, 5, 8_000)
    rows = pl.DataFrame({"label": rng.random(8_000) < score, "score": score})
    acc = sm.binary(**LABELS).update(rows)
    report = acc.finalize(["average_precision", "recall_at_fpr(fpr=0.1)"], confidence=0.95)
    counts = acc.state.tables["score_histogram"].select("neg", "pos").to_numpy()
    drawn = rng.multinomial(counts.sum(), counts.ravel() / counts.sum(), 400).reshape(400, *counts.shape)
    copies = pl.DataFrame({"copy": np.repeat(np.arange(400), len(counts))}).with_columns(
        neg=drawn[..., 0].ravel(), pos=drawn[..., 1].ravel()
    )
    values = copies.group_by("copy").agg(m.expression().alias(m.name) for m in report.metrics)
    for metric in report.metrics:
        found = values[metric.name].to_numpy()
        spread = np.std(found)
        lower, upper = limits(report, metric.name)
        assert (upper - lower) / (2 * 1.96) == pytest.approx(spread, rel=0.15), metric


@pytest.mark.thorough
def test_units_change_no_value_and_widen_intervals():
    rows = data(3)
    for make, metrics in ((TASKS["binary"], ["log_loss", "brier_score"]), (TASKS["regression"], ["bias", "mae"])):
        plain, by_unit = (make(unit=u).update(rows).finalize(confidence=0.9) for u in (None, "u"))
        assert_frame_equal(*(report.frame.drop(*LIMITS, "note") for report in (plain, by_unit)), rel_tol=1e-12)
        for metric in metrics:
            assert width(by_unit, metric) > 1.3 * width(plain, metric)
    numbered = pl.DataFrame(rows).with_row_index("row")
    single = TASKS["regression"](unit="row").update(numbered).finalize(confidence=0.9)
    plain = TASKS["regression"]().update(rows).finalize(confidence=0.9)
    assert 0.6 < width(single, "bias") / width(plain, "bias") < 1.6


def test_the_jackknife_by_hand():
    """Of a mean: that of the means without each fold."""
    rows = data(4)
    e, own = (rows["p"] - rows["y"]).to_numpy(), fold(rows["u"]).to_numpy()
    without = np.array([e[own != k].mean() for k in np.unique(own)])
    k, squares = len(without), (without - without.mean()) ** 2
    degrees = (3.16 - 2.77 / math.sqrt(k)) * squares.sum() ** 2 / (squares**2).sum()
    influences = (without.mean() - without) * math.sqrt((k - 1) / k)
    expected = limits_of_rows(e.mean(), influences, min(k - 1, int(degrees)), 0.9)
    report = TASKS["regression"](unit="u").update(rows).finalize("bias", confidence=0.9)
    assert limits(report, "bias") == pytest.approx(expected, abs=0.01 * (expected[1] - expected[0]))


@pytest.mark.parametrize("weighted", [False, True])
def test_with_units_few_positives_are_not_more_certain_than_without(weighted):
    rng, rows = np.random.default_rng(0), 2_000
    groups = np.repeat([2, 6, 25, 400], rows)
    y = np.concatenate([np.arange(rows) < positives for positives in (2, 6, 25, 400)])
    score = rng.normal(size=len(y)) + 1.2 * y
    columns = {"y": y, "p": 1 / (1 + np.exp(-score)), "n": groups, "u": np.arange(len(y)), "w": 1.0}
    found = {}
    for unit in ("u", None):
        acc = sm.binary(y_true="y", y_score="p", by="n", unit=unit, sample_weight="w" if weighted else None)
        found[unit] = acc.update(columns).finalize(["roc_auc", "gini", "ks"], confidence=0.95).frame
    both = found["u"].join(found[None], on=["n", "metric"], suffix="_alone")
    width = pl.col("ci_upper") - pl.col("ci_lower")
    rare, areas = both.filter(pl.col("n") < 30), pl.col("metric") != "ks"
    assert rare.filter(~areas)["ci_lower"].null_count() == 3
    inside = (pl.col("ci_lower") <= pl.col("ci_lower_alone")) & (pl.col("ci_upper_alone") <= pl.col("ci_upper"))
    limited = rare.filter(areas, pl.col("ci_lower").is_not_null())
    assert limited.height == (2 if weighted else 6)
    assert limited.select(inside.all()).item()
    common = both.filter(areas, n=400).select((width / (pl.col("ci_upper_alone") - pl.col("ci_lower_alone"))).max())
    assert common.item() < 1.5


def few_positives(positives, seed=0, rows=2_000):
    """Scores of two models, in units of one row."""
    rng, y = np.random.default_rng(seed), np.arange(rows) < positives
    common = rng.normal(size=rows)
    seen = {m: d * y + common + 0.3 * rng.normal(size=rows) for m, d in (("a", 1.2), ("b", 1.5))}
    scores = {m: 1 / (1 + np.exp(6 - x)) for m, x in seen.items()}
    return pl.DataFrame({"y": y, **scores, "u": np.arange(rows)})


AT_FEW = ["balanced_accuracy", "mcc", "f1", "recall"]


@pytest.mark.parametrize("positives", [2, 8])
def test_with_units_decisions_on_few_positives_are_not_more_certain_than_without(positives):
    made = {
        unit: sm.binary(y_true="y", y_score="a", thresholds=0.01, unit=unit).update(few_positives(positives))
        for unit in ("u", None)
    }
    by_unit, alone = (acc.finalize(AT_FEW, confidence=0.95) for acc in (made["u"], made[None]))
    for metric in AT_FEW:
        (lower, upper), (low, high) = limits(by_unit, metric), limits(alone, metric)
        assert (lower, upper) == (None, None) or lower <= low + ROUNDING < high - ROUNDING <= upper, metric
    assert None not in limits(by_unit, "balanced_accuracy")


@pytest.mark.parametrize("positives", [2, 8, 40])
def test_differences_by_units_contain_those_of_independent_rows_for_few_positives(positives):
    rows = few_positives(positives)
    names = [*AT_FEW, "roc_auc", "average_precision", "brier_score", "log_loss", "log_loss_skill", "specificity"]
    pairs = {
        unit: [sm.binary(y_true="y", y_score=m, thresholds=0.01, unit=unit).update(rows) for m in "ab"]
        for unit in ("u", None)
    }
    by_unit = sm.compare(*pairs["u"], metrics=names)
    alone = sm.compare(*pairs[None], metrics=names, independent=True)
    for metric in [*AT_FEW, "roc_auc", "brier_score"]:
        (lower, upper), (low, high) = ends(by_unit, metric), ends(alone, metric)
        if positives < 20:
            assert (lower, upper) == (None, None) or lower <= low + ROUNDING < high - ROUNDING <= upper, metric
        else:
            assert upper - lower < high - low, metric
    for metric in ("average_precision", "log_loss_skill"):
        assert (None in ends(by_unit, metric)) == (positives < 20), metric
    for metric in ("log_loss", "specificity"):  # to which all rows contribute, or those of the other class
        (lower, upper), (low, high) = ends(by_unit, metric), ends(alone, metric)
        assert upper - lower < (high - low) / 1.2, metric
    assert None not in ends(by_unit, "roc_auc")
    assert ends(sm.compare(*pairs["u"], metrics=names, independent=True), "roc_auc") == ends(by_unit, "roc_auc")


def test_groups_with_few_positives_of_two_types_are_compared():
    rows = few_positives(8).with_columns(g=pl.lit(1))
    a, b = (
        sm.binary(y_true="y", y_score=m, by="g", unit="u").update(rows.with_columns(pl.col("g").cast(dtype)))
        for m, dtype in (("a", pl.Int64), ("b", pl.Float64))
    )
    found, one = (sm.compare(*pair, metrics=["roc_auc"]) for pair in ((a, b), (a.rollup(), b.rollup())))
    assert ends(found, "roc_auc") == ends(one, "roc_auc")
    assert None not in ends(found, "roc_auc")


@pytest.mark.parametrize("unit", [None, "u"])
def test_few_rows_of_a_label_count_in_the_balanced_accuracy(unit):
    rng, actual = np.random.default_rng(0), np.repeat([0, 1, 2], [999, 999, 2])
    rows = {m: np.where((actual < 2) & (rng.random(len(actual)) < 0.2), 1 - actual, actual) for m in "ab"}
    rows |= {"y": actual, "u": np.arange(len(actual))}
    accs = [sm.multiclass(y_true="y", y_pred=m, unit=unit).update(rows) for m in "ab"]
    metrics = ["balanced_accuracy", "recall(average=macro)"]
    two_of_two = pl.select(wilson_interval(pl.lit(2), pl.lit(2))[0]).item()
    report, difference = accs[0].finalize(metrics, confidence=0.95), sm.compare(*accs, metrics=metrics)
    if unit is None:
        difference = sm.compare(*accs, metrics=metrics, independent=True)
        assert limits(report, metrics[0]) == pytest.approx(limits(report, metrics[1]), rel=1e-12)
    for metric in metrics:
        assert width(report, metric) > (1 - two_of_two) / 3
        lower, upper = ends(difference, metric)
        assert upper - lower > 2 * (1 - two_of_two) / 3


def test_macro_precision_accounts_for_a_label_that_is_seldom_predicted():
    """Two rows, both right, do not show that its precision does not vary."""
    predicted = ["a"] * 60 + ["b"] * 38 + ["c"] * 2
    actual = ["a"] * 40 + ["b"] * 20 + ["b"] * 28 + ["a"] * 10 + ["c"] * 2
    acc = sm.multiclass(y_true="y", y_pred="z").update({"y": actual, "z": predicted})
    lower, upper = limits(acc.finalize("precision(average=macro)", confidence=0.95), "precision(average=macro)")
    right, rows = np.array([40, 28, 2]), np.array([60, 38, 2])
    ends = pl.DataFrame({"right": right, "rows": rows}).select(wilson_interval(pl.col("right"), pl.col("rows")))
    below, above = (np.sqrt(((right / rows - end) ** 2).sum()) / 3 for end in ends.to_numpy().T)
    mean = (right / rows).mean()
    equal = 9 / (1 / rows).sum()  # rows of the mean, if all labels have the same precision
    pooled = pl.select(wilson_interval(pl.lit(mean * equal), pl.lit(equal))).row(0)
    assert lower == pytest.approx(min(mean - below, pooled[0]))
    assert upper == pytest.approx(max(mean + above, pooled[1]))


def test_with_units_few_rows_of_a_label_have_no_narrow_interval():
    rng, names = np.random.default_rng(0), ["a", "b", "c"]
    labels = np.array(["a"] * 3 + ["b"] * 400 + ["c"] * 600)
    scores = rng.dirichlet(np.ones(3), len(labels)) + np.eye(3)[np.searchsorted(names, labels)] / 2
    columns = dict(zip(names, (scores / scores.sum(axis=1, keepdims=True)).T, strict=True))
    make = sm.multiclass(y_true="y", y_score={name: name for name in names}, unit="u")
    found = make.update({"y": labels, "u": np.arange(len(labels)), **columns}).finalize(["roc_auc"], confidence=0.95)
    width = found.frame.select("label", width=pl.col("ci_upper") - pl.col("ci_lower")).sort("label")["width"]
    assert width[0] > 0.4
    assert max(width[1], width[2]) < 0.1


@pytest.mark.parametrize("labels", [24, 25])
def test_the_reason_for_no_interval_of_many_labels(labels):
    rng = np.random.default_rng(0)
    actual = np.repeat(np.arange(labels), 20 * labels)
    right = rng.random(len(actual)) < 0.5
    predicted = np.where(right, actual, np.tile(np.arange(labels), 20 * labels))
    acc = sm.multiclass(y_true="y", y_pred="p", labels=list(range(labels)))
    report = acc.update({"y": actual, "p": predicted}).finalize(["kappa", "recall(average=macro)"], confidence=0.95)
    kappa, mean = report["kappa"], report["recall(average=macro)"]
    told = "no interval: more than 600 pairs of labels; pass unit= for a confidence interval"
    assert (kappa.ci_lower is None) == (labels == 25) == (told in kappa.note)
    assert mean.ci_lower is not None


def test_accumulators_of_other_units_do_not_merge():
    one, other, none = (sm.regression(**ERRORS, unit=u) for u in ("u", "w", None))
    for a, b in ((one, other), (one, none)):
        with pytest.raises(sm.MergeError, match="differ in unit"):
            a + b
    for clash in ("fold", "ci_lower"):
        with pytest.raises(sm.SpecificationError, match=f"'{clash}', which reports use"):
            sm.regression(**ERRORS, by=clash)


@pytest.mark.parametrize("options", [{}, {"unit": "u"}, {"sample_weight": "w"}])
def test_the_reason_for_no_interval_of_an_infinite_value(options):
    rows = {"y": [0.0, 1.0, 2.0] * 40, "p": [1.0, 1.5, 2.0] * 40, "u": range(120), "w": [1.0, 2.0] * 60}
    report = sm.regression(y_true="y", y_pred="p", **options).update(rows).finalize(confidence=0.95)
    perfect = sm.binary(y_true="y", y_score="p", **options).update(rows | {"y": [0, 1] * 60, "p": [0.2, 0.7] * 60})
    ratios = perfect.finalize(["positive_likelihood_ratio"], confidence=0.95)
    for estimate in (report.get("mape"), report.get("rmspe"), ratios.get("positive_likelihood_ratio")):
        assert estimate.value == math.inf
        assert estimate.ci_lower is not None or "no interval: " in estimate.note
    assert report.get("mape").note.endswith("no interval: the metric is infinite")


def test_the_reason_for_no_interval_of_a_perfect_model():
    score = np.linspace(0, 1, 1000)
    perfect = sm.binary(y_true="y", y_score="p").update({"y": score > 0.5, "p": score})
    perfect = perfect.finalize(["average_precision", "pr_auc", "recall"], confidence=0.95)
    for metric in ("average_precision", "pr_auc"):
        assert perfect[metric].note == "no interval: the metric does not vary at the end of its range"
    assert perfect["recall"].note is None
    few = sm.binary(y_true="y", y_score="p").update({"y": [0, 1, 0, 1], "p": [0.1, 0.2, 0.3, 0.4]})
    assert (
        few.finalize("average_precision", confidence=0.95)["average_precision"].note
        == "no interval: too few rows of a class"
    )
    exact = sm.regression(y_true="y", y_pred="y").update({"y": score + 1})
    exact = exact.finalize(["mae", "r2", "bias", "ss_res"], confidence=0.95)
    assert exact["mae"].note == exact["r2"].note == perfect["pr_auc"].note
    assert exact["bias"].note == "no interval: too few rows, or they do not vary"
    assert exact.rows("ss_res")["note"].item() == "no interval: a sum"


@pytest.mark.parametrize("metric", ["baseline_log_loss", "baseline_brier_score", "brier_uncertainty"])
@pytest.mark.parametrize("unit", [None, "u"])
def test_metrics_at_their_maximum_for_equal_classes_have_no_interval(metric, unit):
    """Of nearly equal classes, no sample reaches the maximum, so an interval around its value would miss it."""
    found = sm.binary(**LABELS, unit=unit).update(data()).finalize([metric], confidence=0.95)[metric]
    assert found.note == "no interval: at its maximum if classes are equally large"


@pytest.mark.parametrize(("metric", "least"), [("partial_auc(max_fpr=0.1)", 200), ("recall_at_fpr(fpr=0.1)", 500)])
@pytest.mark.parametrize("unit", [None, "unit"])
def test_only_negatives_up_to_the_level_count_as_rows_of_their_class(metric, least, unit):
    """With fewer, intervals are too narrow: those of 25 negatives contain the true partial AUC in 79% of samples."""
    rng = np.random.default_rng(0)
    for negatives, known in ((least // 3, False), (least * 4, True)):
        label = np.arange(negatives + 300) >= negatives
        rows = {"label": label, "a": rng.normal(label), "b": rng.normal(label), "unit": np.arange(len(label))}
        scores = {"y_true": "label", "y_score": {"a": "a", "b": "b"}}
        report = sm.binary(**scores, domain="real", unit=unit).update(rows).finalize([metric], confidence=0.95)
        found = report.get(metric, model="a")
        assert (found.ci_lower is not None) == known, found
        assert known or found.note.startswith("no interval: too few")
        difference = report.compare("a", "b", metrics=[metric]).frame
        assert difference["ci_lower"].is_not_null().item() == known


def test_few_units():
    for units, has in ((1, False), (4, False), (40, True)):  # the fewest folds are five
        rows = data(7, n=200, units=units)
        found = sm.regression(**ERRORS, unit="u").update(rows).finalize(["mae"], confidence=0.9)["mae"]
        assert (found.ci_lower is not None) is has
        assert has or found.note == "no interval: too few units or rows of a class, or they do not vary"
    unknown = data(8, n=50).with_columns(u=pl.lit(None, pl.Int64))
    assert sm.regression(**ERRORS, unit="u").update(unknown).finalize("mae", confidence=0.9)["mae"].ci_lower is None


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, math.nan])
def test_what_is_no_confidence(confidence):
    acc = sm.regression(**ERRORS).update(data())
    with pytest.raises(sm.SpecificationError, match="between 0 and 1"):
        acc.finalize(confidence=confidence)
    with pytest.raises(sm.SpecificationError, match="between 0 and 1"):
        sm.compare(acc, acc, confidence=confidence)


def pair(rows, **options):
    return [sm.regression(y_true="y", y_pred=c, **options).update(rows) for c in ("p", "q")]


def of(comparison, metric):
    return comparison.frame.row(by_predicate=pl.col("metric") == metric, named=True)


def ends(comparison, metric):
    row = of(comparison, metric)
    return row["ci_lower"], row["ci_upper"]


def test_paired_by_hand():
    rows = data(9)
    a, b = pair(rows, unit="u")
    found = sm.compare(a, b, confidence=0.9)
    assert found.frame.columns == ["metric", "a", "b", "difference", "lower", "upper", *LIMITS, "better", "note"]
    assert_frame_equal(
        found.frame.drop(*LIMITS, "note", "better"), sm.compare(a, b, confidence=None).frame.drop("better")
    )
    own, y = fold(rows["u"]).to_numpy(), rows["y"].to_numpy()
    one, other = (abs(rows[c].to_numpy() - y) for c in ("p", "q"))
    without = np.array([(other - one)[own != k].mean() for k in np.unique(own)])
    k, middle = len(without), (other - one).mean()
    influences = (without.mean() - without) * math.sqrt((k - 1) / k)
    expected = limits_of_rows(middle, influences, k - 1, 0.9)
    assert ends(found, "mae") == pytest.approx(expected, abs=0.01 * (expected[1] - expected[0]))
    assert ends(found, "rows") == ends(found, "median_error") == (None, None)
    back = sm.compare(b, a, confidence=0.9)
    assert ends(back, "mae") == pytest.approx([-end for end in ends(found, "mae")[::-1]], rel=1e-9)
    assert "interval" in str(found)
    assert_frame_equal(sm.compare(a.finalize(), b.finalize(), confidence=0.9).frame, found.frame)


def test_pairs_are_narrower():
    rows = data(10)
    metrics, accs = ["mae", "rmse", "r2"], pair(rows, unit="u")
    paired = sm.compare(*accs, confidence=0.9, metrics=metrics)
    each = [acc.finalize(metrics, confidence=0.9) for acc in accs]
    for metric in metrics:
        lower, upper = ends(paired, metric)
        assert upper - lower < min(width(report, metric) for report in each) / 2
    score = rows.with_columns(other=(pl.col("score") * 0.98 + 0.01 * pl.col("label")).clip(0, 1))
    models = [sm.binary(y_true="label", y_score=c, unit="u").update(score) for c in ("score", "other")]
    lower, upper = ends(sm.compare(*models, confidence=0.9, metrics=["roc_auc"]), "roc_auc")
    assert upper - lower < width(models[0].finalize(["roc_auc"], confidence=0.9), "roc_auc") / 2


@pytest.mark.thorough
def test_groups_and_folds_in_one_only():
    rows = data(11)
    a, b = pair(rows, unit="u", by="g")
    few = b.empty().update(rows.filter((pl.col("g") != "x") & (pl.col("u") % 3 > 0)))
    assert sm.compare(a, few, confidence=0.9, metrics=["mae"]).frame.select(LIMITS).null_count().row(0) == (3, 3)
    other = b.empty().update(rows.filter(pl.col("g").ne_missing("x")).with_columns(pl.col("u").clip(3)))
    found = sm.compare(a, other, confidence=0.9, metrics=["mae"]).frame
    assert found.filter(pl.col("g") == "x").select(*LIMITS, "b").row(0) == (None, None, None)
    row = found.filter(pl.col("g") == "y").row(0, named=True)
    assert row["ci_lower"] is None or row["ci_lower"] < row["difference"] < row["ci_upper"]
    for one, other in ((a, a.empty()), (a.empty(), a), (a.empty(), a.empty())):
        assert sm.compare(one, other, confidence=0.9).frame.select(LIMITS).null_count().row(0)[0] == (
            sm.compare(one, other).frame.height
        )
    assert ends(sm.compare(*[a.rollup()] * 2, confidence=0.9), "mae") == (None, None)  # no fold shows a difference


def test_rows_of_unknown_kinship_have_no_interval():
    rows = data(12)
    for a, b in (
        pair(rows),
        (pair(rows)[0], pair(rows, unit="u")[1]),
        (pair(rows, unit="u")[0], pair(rows, unit="w")[1]),
    ):
        assert sm.compare(a, b, confidence=0.9).frame.select(LIMITS).null_count().row(0) == (16, 16)


def test_independent_rows():
    one, other = sm.regression(**ERRORS).update(data(13)), sm.regression(**ERRORS).update(data(14))
    found = sm.compare(one, other, confidence=0.9, independent=True)
    e, f = ((d["p"] - d["y"]).to_numpy() for d in (data(13), data(14)))
    usual = stats.t.ppf(0.95, len(e) - 1) * math.sqrt(e.var() / (len(e) - 1) + f.var() / (len(f) - 1))
    lower, upper = ends(found, "bias")
    assert lower < f.mean() - e.mean() < upper
    assert 2 * usual < upper - lower < 2.1 * usual
    for metric in ("bias", "median_error"):
        x, y = (acc.finalize(metric, confidence=0.9)[metric] for acc in (one, other))
        lower = y.value - x.value - math.hypot(y.value - y.ci_lower, x.ci_upper - x.value)
        upper = y.value - x.value + math.hypot(y.ci_upper - y.value, x.value - x.ci_lower)
        assert ends(found, metric) == pytest.approx((lower, upper), rel=1e-12)
    assert ends(found, "rows") == (None, None)
    units = [sm.regression(**ERRORS, unit=u).update(data(13)) for u in ("u", (pl.col("u") // 2).alias("pair"))]
    assert None not in ends(sm.compare(*units, confidence=0.9, independent=True), "mae")


def test_newcombes_interval_of_two_proportions():
    """Method 10 of Newcombe (1998), whose example of 56/70 and 48/80 gives 0.0524 to 0.3339."""
    made = [
        sm.binary(y_true="y", y_pred="z").update({"y": [1] * n, "z": [1] * k + [0] * (n - k)})
        for k, n in ((48, 80), (56, 70))
    ]
    found = ends(sm.compare(*made, confidence=0.95, independent=True, metrics=["recall"]), "recall")
    assert found == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_quantiles_of_digests():
    """While each row has a centroid of its own they are those of a histogram, and then a little wider."""
    random = np.random.default_rng(9)
    rows = pl.DataFrame({"y": random.gamma(2, size=5_000)})

    def interval(rows, statistic, metric):
        acc = sm.Accumulator(statistic, task="regression", y_true="y").update(rows)
        return limits(acc.finalize(metric, confidence=0.95), metric)

    digest, histogram = sm.TDigest(compression=200, of="y_true"), sm.Histogram(of="y_true")
    for q in (0.1, 0.5, 0.9):
        few = [
            interval(rows[:150], digest, f"digest_quantile(q={q})"),
            interval(rows[:150], histogram, f"quantile(q={q})"),
        ]
        assert few[0] == pytest.approx(few[1])
        wide, narrow = interval(rows, digest, f"digest_quantile(q={q})"), interval(rows, histogram, f"quantile(q={q})")
        assert wide[0] <= narrow[0] < narrow[1] <= wide[1]
        assert wide[1] - wide[0] < 2 * (narrow[1] - narrow[0])


@pytest.mark.parametrize("metric", ["log_loss", "brier_score"])
def test_losses_of_one_class_have_the_intervals_of_its_rows(metric):
    rows = data(3)
    names = [f"{metric}({option})" for option in ("label=positive", "positive_weight=3")]
    report = sm.binary(**LABELS).update(rows).finalize(names, confidence=0.9)
    score = rows.filter("label")["score"].to_numpy()
    losses = -np.log(score) if metric == "log_loss" else (1 - score) ** 2
    mean, count = losses.mean(), len(losses)
    expected = limits_of_rows(mean, (losses - mean) / math.sqrt(count * (count - 1)), count - 1, 0.9)
    lower, upper = limits(report, f"{metric}(label=positive)")
    assert (lower, upper) == pytest.approx(expected, abs=0.02 * (upper - lower))
    alone = sm.binary(**LABELS).update(rows.filter("label")).finalize(metric, confidence=0.9)
    assert alone[metric].note.startswith("no interval")
    heavier = report[f"{metric}(positive_weight=3)"]
    assert heavier.ci_lower < heavier.value < heavier.ci_upper


def test_every_metric_has_an_interval_or_says_why_not():
    found = {m: m.interval.reason or method_of(m) for m in declared_metrics()}
    ours = {m.name for m, way in found.items() if not way and m.formula.__module__.startswith("streammetrics.")}
    assert ours == NEED_UNITS


NEED_UNITS = {
    *("d2_poisson", "d2_gamma", "d2_tweedie", "roc_auc_ovo", "brier_within_bin"),
    *("chance_agreement", "kappa", "mcc"),  # of pairs of labels, which no column tells
}


def test_metrics_that_need_units_say_why():
    rows = data(4).with_columns(none=1 - pl.col("score"))
    classes = sm.multiclass(y_true="label", y_score={True: "score", False: "none"}, one_vs_one=True).update(rows)
    errors = sm.regression(y_true="score", y_pred="none", families=["poisson"]).update(rows)
    squares, labels = "the state does not hold the squares of its terms", "labels are counted separately"
    for acc, metric, why in (
        (classes, "roc_auc_ovo", labels),
        (classes, "roc_auc(average=macro)", labels),
        (classes, "log_loss_skill", None),
        (errors, "d2_poisson", squares),
        (sm.binary(**LABELS).update(rows), "brier_within_bin", squares),
    ):
        found = acc.finalize([metric], confidence=0.9)[metric]
        assert found.note == (why and f"no interval: {why}; pass unit= for a confidence interval")


def test_a_metric_of_bins_that_reads_no_counts_needs_units():
    def widest_bin(value_low, value_high):
        return (value_high - value_low).max()

    metric = sm.Metric(widest_bin, (0, np.inf), None, ())
    acc = sm.Accumulator(sm.Histogram(of="y_true"), task="regression", y_true="score").update(data(4))
    found = acc.finalize([metric], confidence=0.9)[metric]
    assert found.note == "no interval: pass unit= for a confidence interval"


def test_a_metric_can_say_why_it_has_no_interval():
    @sm.metric(range=(0, 1), interval="a share of a test")
    def false_alarm_share(fp, tn):
        return fp / (fp + tn)

    assert false_alarm_share(3, 9) == 0.25
    report = sm.binary(**LABELS).update(data()).finalize([false_alarm_share], confidence=0.9)
    assert report["false_alarm_share"].note == "no interval: a share of a test"
    assert false_alarm_share.with_average("macro").interval == false_alarm_share.interval


def test_an_undefined_percentage_is_not_a_missing_sum():
    y = np.linspace(0, 1, 100)  # 0/0 for the first row
    report = sm.regression(y_true="y", y_pred="y").update({"y": y}).finalize(confidence=0.95)
    assert not any("the state lacks" in (note or "") for note in report.frame["note"])
    assert "no interval: " in report["mae"].note
