"""Intervals with a formula of their own, as reports show them, against scipy, brute force, and published numbers."""

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from data import clicks, deliveries, visits
from hypothesis import given, settings
from hypothesis import strategies as st
from influences import limits_of_rows, score_of
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit

import streammetrics as sm

Z = stats.norm.ppf(0.975)
NOTHING = (None, None)
PROPORTIONS = {  # the cells that count, and those of all rows
    "accuracy": ("tp tn", "tp fp fn tn"),
    "error_rate": ("fp fn", "tp fp fn tn"),
    "cost": ("fp fn", "tp fp fn tn"),
    "prevalence": ("tp fn", "tp fp fn tn"),
    "predicted_positive_rate": ("tp fp", "tp fp fn tn"),
    "precision": ("tp", "tp fp"),
    "fdr": ("fp", "tp fp"),
    "npv": ("tn", "tn fn"),
    "false_omission_rate": ("fn", "tn fn"),
    "recall": ("tp", "tp fn"),
    "fnr": ("fn", "tp fn"),
    "specificity": ("tn", "tn fp"),
    "fpr": ("fp", "tn fp"),
    "jaccard": ("tp", "tp fp fn"),
}
SUMS = {  # factor, shift, and the proportions that are summed
    "balanced_accuracy": (0.5, 0.0, ("recall", "specificity")),
    "youden_j": (1.0, -1.0, ("recall", "specificity")),
    "markedness": (1.0, -1.0, ("precision", "npv")),
}


def of_counts(tables, metrics, confidence=0.95):
    """Report the confusion counts (tp, fp, fn, tn) of many tables."""
    cells = [(1, 1), (0, 1), (1, 0), (0, 0)]
    rows = [
        (i, *cell) for i, table in enumerate(tables) for n, cell in zip(table, cells, strict=True) for _ in range(n)
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["table", "y", "z"], pl.Int64), orient="row")
    return sm.binary(y_true="y", y_pred="z", by="table").update(frame).finalize(metrics, confidence=confidence)


def limits(report, metric, **keys):
    estimate = report.get(metric, **keys)
    return estimate.ci_lower, estimate.ci_upper


def wilson(count, total, confidence=0.95):
    return stats.binomtest(count, total).proportion_ci(confidence, "wilson") if total else NOTHING


def moved(value, shares, factor, confidence):
    """The method MOVER: the distances of a sum of proportions to its limits, from those of each (Zou & Donner 2008)."""
    apart = [[k / n - x for x in wilson(k, n, confidence)] for k, n in shares]
    below, above = np.linalg.norm(apart, axis=0)
    return value - factor * below, value + factor * above


@given(
    tables=st.lists(st.tuples(*[st.integers(0, 40)] * 4).filter(any), min_size=1, max_size=8),
    confidence=st.sampled_from([0.8, 0.95, 0.99]),
)
@settings(max_examples=5, deadline=None)
def test_proportions_have_the_interval_of_wilson_and_their_sums_that_of_their_distances(tables, confidence):
    frame = of_counts(tables, [*PROPORTIONS, *SUMS], confidence).frame
    found = {row[:2]: row[2:] for row in frame.select("table", "metric", "ci_lower", "ci_upper").rows()}
    for group, table in enumerate(tables):
        counts = dict(zip(("tp", "fp", "fn", "tn"), table, strict=True))
        shares = {m: tuple(sum(counts[c] for c in part.split()) for part in of) for m, of in PROPORTIONS.items()}
        for metric, share in shares.items():
            assert found[group, metric] == pytest.approx(wilson(*share, confidence), abs=1e-9), metric
        for metric, (factor, shift, names) in SUMS.items():
            parts = [shares[name] for name in names]
            expected = NOTHING
            if all(total for _, total in parts):
                expected = moved(shift + factor * sum(k / n for k, n in parts), parts, factor, confidence)
            assert found[group, metric] == pytest.approx(expected, abs=1e-9), metric


PUBLISHED = [  # Newcombe 1998, method 10
    ((56, 70), (48, 80), (0.0524, 0.3339)),
    ((9, 10), (3, 10), (0.1705, 0.8090)),
    ((6, 7), (2, 7), (0.0582, 0.8062)),
    ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ((0, 10), (0, 20), (-0.1611, 0.2775)),
    ((0, 10), (0, 10), (-0.2775, 0.2775)),
    ((10, 10), (0, 20), (0.6791, 1.0000)),
    ((10, 10), (0, 10), (0.6075, 1.0000)),
]


def test_differences_of_proportions_are_as_published():
    """Of recall and false positive rate in one evaluation, and of the recall of two on different rows."""
    tables = [(a, c, m - a, n - c) for (a, m), (c, n), _ in PUBLISHED]
    report = of_counts(tables, ["youden_j"])
    one, other = ([(k, 0, n - k, 0) for k, n in (row[side] for row in PUBLISHED)] for side in (1, 0))
    sides = [of_counts(side, ["recall"]) for side in (one, other)]
    found = sm.compare(*sides, independent=True, metrics=["recall"], confidence=0.95).frame.sort("table")
    for group, (_, _, published) in enumerate(PUBLISHED):
        assert tuple(round(x, 4) for x in limits(report, "youden_j", table=group)) == published
        row = found.row(group, named=True)
        assert (round(row["ci_lower"], 4), round(row["ci_upper"], 4)) == published


def test_shares_of_all_rows_have_the_interval_of_wilson():
    rows = deliveries()[:500]
    report = sm.regression(y_true="minutes", y_pred="forecast").update(rows)
    report = report.finalize(["within(x=2)", "error_cdf(x=1)"], confidence=0.9)
    error = (rows["forecast"] - rows["minutes"]).to_numpy()
    for metric, hits in (("within(x=2)", abs(error) <= 2), ("error_cdf(x=1)", error <= 1)):
        assert limits(report, metric) == pytest.approx(wilson(int(hits.sum()), 500, 0.9), abs=1e-9)
    y, p = np.repeat([0, 1, 2], 40), np.random.default_rng(0).dirichlet(np.ones(3), 120)
    acc = sm.multiclass(y_true="y", y_score={i: f"p{i}" for i in range(3)})
    found = acc.update({"y": y, **{f"p{i}": p[:, i] for i in range(3)}}).finalize(confidence=0.95)
    second = int(((p > p[np.arange(120), y][:, None]).sum(axis=1) < 2).sum())
    assert limits(found.showing("top_k_accuracy(k=2)"), "top_k_accuracy(k=2)") == pytest.approx(wilson(second, 120))


def test_means_of_values_have_the_normal_interval():
    rows = deliveries()[:300]
    report = sm.regression(y_true="minutes", y_pred="forecast").update(rows)
    report = report.finalize(["mean_actual", "mean_predicted", "rec_auc(limit=10)"], confidence=0.9)
    for metric, column in (("mean_actual", "minutes"), ("mean_predicted", "forecast")):
        x = rows[column].to_numpy()
        assert limits(report, metric) == pytest.approx(stats.norm.interval(0.9, x.mean(), stats.sem(x)), rel=1e-9)
    area = (1 - (rows["forecast"] - rows["minutes"]).abs().to_numpy() / 10).clip(0)
    mean, slope = area.mean(), 1 / (area.mean() * (1 - area.mean()))  # on the logit, within the range
    ends = [expit(logit(mean) + side * stats.norm.ppf(0.95) * slope * stats.sem(area)) for side in (-1, 1)]
    assert limits(report, "rec_auc(limit=10)") == pytest.approx(ends, rel=1e-9)
    values = sm.Accumulator(sm.statistics.Histogram(of="y_true"), task="regression", y_true="minutes").update(rows)
    x = rows["minutes"].to_numpy()
    usual = stats.norm.interval(0.9, x.mean(), stats.sem(x))
    assert limits(values.finalize("mean", confidence=0.9), "mean") == pytest.approx(usual, rel=1e-9)


def test_means_of_weighted_values_count_squared_weights():
    rows = visits().filter(pl.col("weight") > 0)[:500]
    report = sm.regression(y_true="score", y_pred="score", sample_weight="weight").update(rows)
    x, w = rows["score"].to_numpy(), rows["weight"].to_numpy()
    mean, effective = np.average(x, weights=w), w.sum() ** 2 / (w**2).sum()
    error = np.sqrt((w**2 * (x - mean) ** 2).sum()) / w.sum() * np.sqrt(effective / (effective - 1))
    found = limits(report.finalize("mean_actual", confidence=0.95), "mean_actual")
    assert found == pytest.approx((mean - Z * error, mean + Z * error), rel=1e-6)


def wilson_of(share, rows):
    middle, half = share + Z**2 / (2 * rows), Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2))
    return [(middle + side * half) / (1 + Z**2 / rows) for side in (-1, 1)]


def macro_mean(counts, rows):
    """MOVER over labels; if a label has no error or no hit, also Wilson's with as many rows as have its variance."""
    counts, rows = np.array(counts), np.array(rows)
    shares, labels = counts / rows, len(rows)
    below, above = (np.linalg.norm(shares - end) / labels for end in wilson_of(shares, rows))
    lower, upper = shares.mean() - below, shares.mean() + above
    low, high = wilson_of(shares.mean(), labels**2 / (1 / rows).sum())
    return (min(lower, low), max(upper, high)) if {0, 1} & {*shares} else (lower, upper)


@pytest.mark.parametrize("right", [(40, 28, 2), (40, 28, 1), (60, 0, 1)])
def test_means_over_labels_account_for_a_rare_label(right):
    """Two rows of a label, both right, do not show that its precision does not vary."""
    rows = (60, 38, 2)
    one = np.repeat([0, 1, 2], rows)
    other = np.concatenate([np.where(np.arange(n) < right[i], i, (i - 1) % 3) for i, n in enumerate(rows)])
    for metric, actual, predicted in (
        ("precision(average=macro)", other, one),
        ("recall(average=macro)", one, other),
        ("balanced_accuracy", one, other),
    ):
        report = sm.multiclass(y_true="y", y_pred="z").update({"y": actual, "z": predicted})
        found = limits(report.finalize(metric, confidence=0.95), metric)
        assert found == pytest.approx(macro_mean(right, rows), rel=1e-9)


@pytest.mark.thorough
def test_differences_of_a_rare_label_account_for_its_rows():
    """Of two models, paired or not, and whether or not rows have units: two of two right rows are few."""
    actual = np.repeat([0, 1, 2], [999, 999, 2])
    wrong = {m: np.random.default_rng(i).random(2_000) < 0.2 for i, m in enumerate("ab")}
    rows = {m: np.where((actual < 2) & wrong[m], 1 - actual, actual) for m in "ab"} | {"y": actual, "u": range(2_000)}
    metrics = ["balanced_accuracy", "recall(average=macro)"]
    for unit in (None, "u"):
        accs = [sm.multiclass(y_true="y", y_pred=m, unit=unit).update(rows) for m in "ab"]
        report = accs[0].finalize(metrics, confidence=0.95)
        difference = sm.compare(*accs, metrics=metrics, independent=unit is None, confidence=0.95).frame
        for metric in metrics:
            lower, upper = limits(report, metric)
            assert upper - lower > (1 - wilson(2, 2)[0]) / 3
            row = difference.row(by_predicate=pl.col("metric") == metric, named=True)
            assert row["ci_upper"] - row["ci_lower"] > 2 * (1 - wilson(2, 2)[0]) / 3


def newcombe(auc, positives, negatives, z=Z):
    """Hanley & McNeil's variance for exponential scores, with the mean number of rows for that of each class."""

    def excess(theta):
        more = (positives + negatives) / 2 - 1
        shared = more * (theta / (2 - theta) - theta**2) + more * (2 * theta**2 / (1 + theta) - theta**2)
        return (theta - auc) ** 2 - z**2 * (theta * (1 - theta) + shared) / (positives * negatives)

    tiny = 1e-12
    upper = 1.0 if excess(1 - tiny) < 0 else brentq(excess, auc, 1 - tiny, xtol=1e-13)
    return 0.0 if excess(tiny) < 0 else brentq(excess, tiny, min(auc, 1 - tiny), xtol=1e-13), upper


def delong(wins, confidence=0.95):
    """From the wins of every positive against every negative, with the degrees of freedom of Welch."""
    placements = [wins.mean(1), wins.mean(0)]
    parts = np.array([own.var(ddof=1) / len(own) for own in placements])
    degrees = parts.sum() ** 2 / (parts**2 / (np.array(wins.shape) - 1)).sum()
    influences = [(own - wins.mean()) / np.sqrt(len(own) * (len(own) - 1)) for own in placements]
    return limits_of_rows(wins.mean(), np.concatenate(influences), degrees, confidence, 0, 1)


def of_scores(label, score, metric, confidence=0.95):
    acc = sm.binary(y_true="y", y_score="p").update({"y": label, "p": score})
    return limits(acc.finalize(metric, confidence=confidence), metric)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_an_auc_of_few_rows_of_a_class_also_has_the_interval_of_newcombe(confidence):
    """Of scores with ties. From 30 rows of each class on, DeLong's stands alone; of one row, there is none."""
    z = stats.norm.ppf((1 + confidence) / 2)
    for positives, negatives in ((1, 40), (2, 2), (4, 300), (29, 40), (30, 40), (40, 29), (40, 1)):
        rows = pl.concat([clicks().filter(clicked=label)[:n] for label, n in ((True, positives), (False, negatives))])
        label, score = rows["clicked"].to_numpy(), rows["score"].round(1).to_numpy()
        found = of_scores(label, score, "roc_auc", confidence)
        if min(positives, negatives) == 1:
            assert found == NOTHING
            continue
        wins = np.sign(score[label][:, None] - score[~label]) / 2 + 0.5
        lower, upper = delong(wins, confidence)
        if min(positives, negatives) < 30:
            low, high = newcombe(wins.mean(), positives, negatives, z)
            lower, upper = np.fmin(lower, low), np.fmax(upper, high)
        assert found == pytest.approx((lower, upper), abs=0.02 * (upper - lower)), (positives, negatives)


@pytest.mark.parametrize("size", [2, 29, 30, 500])
def test_an_auc_of_classes_apart_or_tied_has_the_interval_of_newcombe(size):
    y = np.repeat([0, 1], size)
    for score, auc in ((y, 1.0), (1 - y, 0.0), (0 * y, 0.5)):
        lower, upper = newcombe(auc, size, size) if auc else [1 - x for x in newcombe(1.0, size, size)[::-1]]
        assert of_scores(y, score, "roc_auc") == pytest.approx((lower, upper), abs=1e-9)
        assert of_scores(y, score, "gini") == pytest.approx((2 * lower - 1, 2 * upper - 1), abs=1e-9)


SIZES = [*range(1, 60), 137, 500, 1_001]


def ranks(q, confidence, sizes=SIZES, metric="error_quantile"):
    """The limits of a quantile of the numbers from 1 to so many rows: ranks."""
    rows = {"rows": np.repeat(sizes, sizes), "rank": np.concatenate([np.arange(1, n + 1) for n in sizes])}
    acc = sm.regression(y_true="zero", y_pred="rank", by="rows").update(pl.DataFrame(rows).with_columns(zero=0))
    found = acc.finalize(f"{metric}(q={q})", confidence=confidence).frame
    return found.sort("rows").select("ci_lower", "ci_upper").rows()


@pytest.mark.parametrize("confidence", [0.95, 0.8, 0.99])
def test_limits_of_quantiles_are_order_statistics(confidence):
    """Neither tail has more than its share, and exact ranks are hardly closer."""
    tail = (1 - confidence) / 2
    for q in (0.01, 0.25, 0.5, 0.9):
        for rows, (lower, upper) in zip(SIZES, ranks(q, confidence), strict=True):
            if lower is not None:
                assert stats.binom.cdf(lower - 1, rows, q) <= tail
                assert lower + 1 >= stats.binom.ppf(tail, rows, q)
            if upper is not None:
                assert stats.binom.sf(upper - 1, rows, q) <= tail
                assert upper - 2 <= stats.binom.isf(tail, rows, q)
            assert (lower is None) <= ((1 - q) ** rows > tail or stats.binom.ppf(tail, rows, q) < 2)
            assert (upper is None) <= (q**rows > tail or stats.binom.isf(tail, rows, q) > rows - 2)


def test_limits_of_quantiles_are_as_published():
    """Conover 1999, table A3, of the binomial distribution; and at the ends of the range."""
    published = [NOTHING, (1, 6), (2, 9), (6, 15), (18, 33), (40, 61)]
    assert ranks(0.5, 0.95, [5, 6, 10, 20, 50, 100]) == published
    assert ranks(0.5, 0.95, [5, 6, 10, 20, 50, 100], "absolute_error_quantile") == published
    assert ranks(0, 0.95, [1_000]) == [(None, 1)]
    assert ranks(1, 0.95, [1_000]) == [(1_000, None)]


def test_coarse_bins_and_digests_widen_the_interval_of_a_quantile():
    rows = deliveries().with_columns(pl.col("minutes", "forecast").round(2))
    make = partial(sm.regression, y_true="minutes", y_pred="forecast")
    names = ["median_error", "error_quantile(q=0.9)", "median_absolute_error"]
    fine, coarse = (make(capacity=c).update(rows).finalize(names, confidence=0.95) for c in (100_000, 64))
    for name in names:
        (lower, upper), (low, high) = limits(coarse, name), limits(fine, name)
        assert lower < low < high < upper
        assert coarse[name].lower >= lower
        assert coarse[name].upper <= upper
    of = {}
    for statistic, name in (
        (sm.statistics.TDigest(compression=200, of="y_true"), "digest_quantile"),
        (sm.statistics.Histogram(of="y_true"), "quantile"),
    ):
        for count in (150, 3_000):
            acc = sm.Accumulator(statistic, task="regression", y_true="minutes").update(rows[:count])
            of[name, count] = limits(acc.finalize(f"{name}(q=0.9)", confidence=0.95), f"{name}(q=0.9)")
    assert of["digest_quantile", 150] == pytest.approx(of["quantile", 150])  # each row has a centroid of its own
    (lower, upper), (low, high) = of["digest_quantile", 3_000], of["quantile", 3_000]
    assert lower <= low < high <= upper
    assert upper - lower < 2 * (high - low)


def test_limits_of_quantiles_of_weighted_rows_are_ranks_of_effective_rows():
    """Woodruff 1952: of weights whose sum is that of their squares; the rows below and above have their own part."""
    w = visits().filter(pl.col("weight") > 0)["weight"].to_numpy()[:300]
    x, counts = np.arange(300.0), w * w.sum() / (w**2).sum()
    task = sm.regression(y_true="zero", y_pred="x", sample_weight="w", capacity=8_192)
    acc = task.update({"zero": 0 * x, "x": x, "w": w})
    for q in (0.1, 0.5, 0.8, 0.9):
        below = (counts**2)[np.cumsum(counts) - counts / 2 <= q * counts.sum()].sum()
        error = np.sqrt((1 - q) ** 2 * below + q**2 * ((counts**2).sum() - below))
        middle = q * counts.sum() + (1 - 2 * q) * (Z**2 - 1) / 6 + 0.5
        ranks = np.floor(middle - Z * error), np.ceil(middle + Z * error)
        found = limits(acc.finalize(f"error_quantile(q={q})", confidence=0.95), f"error_quantile(q={q})")
        assert found == tuple(x[np.searchsorted(np.cumsum(counts), ranks)]), q


def test_ratios_of_rates_add_half_a_row_to_each_cell():
    """Woolf 1955: an empty cell leaves one end open, and the other one is finite."""
    names = ["positive_likelihood_ratio", "negative_likelihood_ratio", "diagnostic_odds_ratio"]
    report = of_counts([(20, 0, 7, 30)], names)
    for name in names:
        lower, upper = limits(report, name, table=0)
        assert 0 < lower <= report.get(name, table=0).value <= upper
    assert limits(report, "diagnostic_odds_ratio", table=0)[1] == math.inf


def paired(tables):
    """Compare the accuracy of two models that differ in some rows: right by b only, right by a only, and all rows."""
    rows = [
        (i, a, b)
        for i, (more, less, n) in enumerate(tables)
        for count, a, b in ((more, 0, 1), (less, 1, 0), (n - more - less, 1, 1))
        for _ in range(count)
    ]
    frame = pl.DataFrame(rows, schema=["table", "a", "b"], orient="row").with_columns(y=1)
    acc = sm.binary(y_true="y", y_pred={"a": "a", "b": "b"}, by="table").update(frame)
    return sm.compare(acc, models=("a", "b"), metrics=["accuracy"]).frame.sort("table").rows(named=True)


def test_differences_of_paired_proportions_are_judged_by_the_score_of():
    tables = [(80, 40, 1_000), (31, 3, 60), (200, 190, 500), (15, 15, 40)]
    for (more, less, rows), found in zip(tables, paired(tables), strict=True):
        assert score_of(more, less, rows, found["ci_lower"]) == pytest.approx(Z, rel=1e-4)
        assert score_of(more, less, rows, found["ci_upper"]) == pytest.approx(-Z, rel=1e-4)


def test_few_rows_that_differ_are_also_judged_by_the_exact_test():
    """Limits reach as far as those of Clopper & Pearson, or farther; 30 rows that differ are no longer few."""
    tables = [(more, n - more, 200) for n in (1, 6, 12, 29, 30) for more in range(0, n + 1, max(1, n // 4))]
    for (more, less, rows), found in zip(tables, paired(tables), strict=True):
        low, high = stats.binomtest(more, more + less).proportion_ci(0.95, "exact")
        exact = [(2 * share - 1) * (more + less) / rows for share in (low, high)]
        lower, upper = found["ci_lower"], found["ci_upper"]
        if more + less < 30:
            assert lower <= exact[0] + 1e-9
            assert upper >= exact[1] - 1e-9
        for end, limit in ((lower, Z), (upper, -Z)):
            by_score = abs(score_of(more, less, rows, end) - limit) < 1e-2
            by_exact = min(abs(end - x) for x in exact) < 1e-9
            assert by_score or (by_exact and more + less < 30) or more in (0, more + less)
    (same,) = paired([(0, 0, 200)])
    assert -0.03 < same["ci_lower"] < 0 < same["ci_upper"] < 0.03
