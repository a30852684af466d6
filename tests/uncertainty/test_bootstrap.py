import numpy as np
import polars as pl
import pytest
from scipy import stats

from streammetrics.errors import SpecificationError
from streammetrics.metrics.ranking import average_precision, ks, roc_auc
from streammetrics.uncertainty import bootstrap as module
from streammetrics.uncertainty import bootstrap_intervals, delong_interval, wilson_interval

COUNT = pl.col("count")
AUC = roc_auc.expression()


def scores(seed, rows=2_000, shift=1.0):
    """A histogram of rounded scores."""
    random = np.random.default_rng(seed)
    label = random.random(rows) < 0.3
    score = np.round(random.normal(label * shift), 1)
    table = pl.DataFrame({"score": score, "neg": ~label, "pos": label})
    return table.group_by("score").agg(pl.sum("neg", "pos").cast(pl.Int64)).sort("score")


def limits(table, expression, counts=("neg", "pos"), **options):
    return bootstrap_intervals(table, {"metric": expression}, counts, **options).row(0)[1:]


def test_tables_are_drawn_from_the_multinomial_distribution():
    counts = np.array([0, 3, 1, 40, 0, 7, 0, 0, 5, 900, 2, 1, 1, 1, 1])
    group = np.repeat([0, 1, 2, 5], [1, 6, 4, 4])
    drawn = module.resample(counts, group, 40_000, np.random.default_rng(0))
    for number in np.unique(group):
        cells = counts[group == number]
        rows = cells.sum()
        found = drawn[:, group == number]
        assert (found.sum(axis=1) == rows).all()
        if rows:
            share = cells / rows
            covariance = rows * (np.diag(share) - np.outer(share, share))
            error = 5 / np.sqrt(len(drawn))
            assert np.abs(found.mean(axis=0) - cells).max() <= error * np.sqrt(covariance.max())
            assert np.abs(np.cov(found.T) - covariance).max() <= 2 * error * covariance.max()
    independent = np.corrcoef(drawn[:, 3], drawn[:, 9])[0, 1]
    assert abs(independent) < 0.025


def test_few_rows_fall_as_often_in_each_table_as_they_should():
    drawn = module.resample(np.array([2, 1, 1]), np.zeros(3), 20_000, np.random.default_rng(1))
    tables, found = np.unique(drawn, axis=0, return_counts=True)
    expected = stats.multinomial.pmf(tables, 4, [0.5, 0.25, 0.25]) * 20_000
    assert len(tables) == 15
    assert stats.chisquare(found, expected).pvalue > 1e-3


def test_many_rows_don_t_overflow():
    drawn = module.resample(np.array([2**61, 2**60, 1]), np.zeros(3), 10, np.random.default_rng(1))
    assert (drawn.sum(axis=1) == 2**61 + 2**60 + 1).all()


def bias_corrected(values, value, confidence):
    """Efron 1981, of one metric."""
    values, z = np.sort(values), stats.norm.ppf((1 + confidence) / 2)
    bias = stats.norm.ppf((np.mean(values < value) + np.mean(values <= value)) / 2)
    size = len(values)
    lower = int(np.floor((size + 1) * stats.norm.cdf(2 * bias - z)))
    upper = int(np.ceil((size + 1) * stats.norm.cdf(2 * bias + z)))
    return values[max(lower, 1) - 1], values[min(upper, size) - 1]


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_limits_are_bias_corrected_percentiles(confidence):
    random = np.random.default_rng(0)
    for skew in (-0.5, 0, 0.9):
        drawn = np.round(random.gamma(4, size=999) + skew, 2)
        ranks = module._ranks(confidence, 999)
        found = module._limits(drawn[:, None, None], np.array([[4.0]]), ranks).ravel()
        assert tuple(found) == bias_corrected(drawn, 4.0, confidence)


@pytest.mark.parametrize(("below", "sound"), [(0, False), (100, False), (200, True), (800, True), (900, False)])
def test_biases_of_more_than_a_standard_error_have_no_interval(below, sound):
    drawn = np.append(np.linspace(0, 0.9, below), np.linspace(1.1, 2, 1_000 - below))
    limits = module._limits(drawn[:, None, None], np.array([[1.0]]), module._ranks(0.95, 1_000))
    assert np.isfinite(limits).all() == sound


def test_expressions_see_the_rows_that_were_drawn():
    table = pl.DataFrame({"value": np.arange(1.0, 101), "count": 1})
    lower, upper = limits(table, pl.col("value").max() - pl.col("value").quantile(0.5), ["count"])
    assert lower < 50 < upper  # with all rows, every table would give the same


def test_of_proportions_and_auc_it_agrees_with_their_own_intervals():
    table = scores(0)
    accuracy = pl.col("pos").sum() / (pl.col("neg") + pl.col("pos")).sum()
    wilson = table.select(wilson_interval(pl.col("pos").sum(), pl.col("neg").sum() + pl.col("pos").sum())).row(0)
    delong = table.select(delong_interval(pl.col("neg"), pl.col("pos"))).row(0)
    for expression, (lower, upper) in ((accuracy, wilson), (AUC, delong)):
        found = limits(table, expression, replicates=4_000)
        assert found == pytest.approx((lower, upper), abs=0.05 * (upper - lower))


def test_mad_agrees_with_a_bootstrap_of_the_rows():
    values = np.round(np.random.default_rng(5).gamma(2, size=1_500), 2)
    table = pl.Series("value", values).value_counts().sort("value")
    rows = pl.col("value").repeat_by(COUNT.cast(pl.UInt32)).explode()
    mad = (rows - rows.median()).abs().median()

    def statistic(x, axis=-1):
        return np.median(np.abs(x - np.median(x, axis=axis, keepdims=True)), axis=axis)

    reference = stats.bootstrap((values,), statistic, n_resamples=1_999, rng=0, method="BCa").confidence_interval
    width = reference.high - reference.low
    assert limits(table, mad, ["count"]) == pytest.approx(tuple(reference), abs=0.15 * width)


def test_weighted_kappa_has_the_spread_of_fleiss_cohen_and_everitt_1969():
    cells = np.array([[60, 20, 5], [15, 80, 20], [5, 25, 70]])
    n = cells.sum()
    distance = (np.subtract.outer(np.arange(3), np.arange(3)) / 2) ** 2
    p, agreement = cells / n, 1 - distance
    row, column = p.sum(axis=1), p.sum(axis=0)
    chance = row @ agreement @ column
    k = (np.sum(p * agreement) - chance) / (1 - chance)
    mean = np.add.outer(agreement @ column, row @ agreement)
    variance = np.sum(p * (agreement - mean * (1 - k)) ** 2) - (k - chance * (1 - k)) ** 2
    error = np.sqrt(variance / n) / (1 - chance)
    actual, predicted = np.indices((3, 3))
    table = pl.DataFrame({"actual": actual.ravel(), "predicted": predicted.ravel(), "count": cells.ravel()})
    x, y = pl.col("actual"), pl.col("predicted")
    of_x, of_y = ((COUNT * v).sum() / COUNT.sum() for v in (x, y))
    expected_distance = (COUNT * ((x - of_x) ** 2 + (y - of_y) ** 2)).sum() / COUNT.sum() + (of_x - of_y) ** 2
    kappa = 1 - (COUNT * (x - y) ** 2).sum() / COUNT.sum() / expected_distance
    assert table.select(kappa).item() == pytest.approx(k)
    lower, upper = limits(table, kappa, ["count"], replicates=4_000)
    assert (upper - lower) / (2 * 1.96) == pytest.approx(error, rel=0.05)
    assert (upper + lower) / 2 == pytest.approx(k, abs=error / 4)


def test_limits_of_a_monotone_function_are_the_function_of_the_limits():
    found = bootstrap_intervals(scores(1, 300), {"auc": AUC, "logit": (AUC / (1 - AUC)).log()}, ["neg", "pos"])
    lower, upper = found.select("ci_lower", "ci_upper").rows()[0]
    assert found.row(1)[1:] == pytest.approx((np.log(lower / (1 - lower)), np.log(upper / (1 - upper))), rel=1e-12)


def test_groups_in_any_order_and_in_small_parts(monkeypatch):
    groups = [("b", 1, 400), ("a", None, 60), ("b", None, 900), ("a", 2, 5_000)]
    parts = [scores(i, n).with_columns(name=pl.lit(a), day=pl.lit(d, pl.Int64)) for i, (a, d, n) in enumerate(groups)]
    empty = parts[0].with_columns(name=pl.lit("empty"), neg=pl.col("neg") * 0, pos=pl.col("pos") * 0)
    table = pl.concat([empty, *parts])
    metrics = {"auc": AUC, "ks": ks.expression(), "ap": average_precision.expression()}
    whole = bootstrap_intervals(table, metrics, ["neg", "pos"], by=["name", "day"], replicates=400)
    assert whole.select("name", "day").unique(maintain_order=True).rows() == [
        ("a", None), ("a", 2), ("b", None), ("b", 1),
    ]  # fmt: skip
    assert whole["metric"].to_list() == [*metrics] * 4
    assert whole.equals(bootstrap_intervals(table, metrics, ["neg", "pos"], by=["name", "day"], replicates=400))
    alone = bootstrap_intervals(parts[3], metrics, ["neg", "pos"], replicates=400)
    monkeypatch.setattr(module, "CELLS", 3_000)
    small = bootstrap_intervals(table, metrics, ["neg", "pos"], by=["name", "day"], replicates=400)
    assert small.select("name", "day", "metric").equals(whole.select("name", "day", "metric"))
    for found, reference in ((small, whole), (alone, whole[3:6])):
        width = (reference["ci_upper"] - reference["ci_lower"]).to_numpy()
        for side in ("ci_lower", "ci_upper"):
            assert (np.abs((found[side] - reference[side]).to_numpy()) < 0.35 * width).all()
    assert not small.equals(whole)


def test_where_there_are_no_intervals():
    table = scores(0, 200)
    assert limits(table.with_columns(pl.col("neg", "pos").cast(pl.Float64)), AUC) == (None, None)
    assert limits(pl.DataFrame({"neg": [48, 1], "pos": [0, 5]}), AUC) == (None, None)  # now and then no positives
    assert None not in limits(pl.DataFrame({"neg": [48, 1], "pos": [0, 50]}), AUC)
    assert limits(table, pl.col("neg").sum() / (pl.col("neg").sum() - pl.col("neg").sum())) == (None, None)
    same = pl.DataFrame({"neg": [50, 50, 50], "pos": [50, 50, 50]})
    assert limits(same, ks.expression()) == (None, None)  # KS of drawn tables is always larger
    assert bootstrap_intervals(table.clear(), {"auc": AUC}, ["neg", "pos"], by=["score"]).is_empty()
    assert bootstrap_intervals(table, {}, ["neg", "pos"], by=["score"]).is_empty()
    assert bootstrap_intervals(table.clear(), {"auc": AUC}, ["neg", "pos"])["ci_lower"].is_null().all()


def test_undefined_metrics_leave_the_others_alone():
    table = pl.DataFrame({"neg": [50, 0], "pos": [0, 3]})
    prevalence = pl.col("pos").sum() / (pl.col("neg").sum() + pl.col("pos").sum())
    both = bootstrap_intervals(table, {"auc": AUC, "prevalence": prevalence}, ["neg", "pos"])
    assert both["ci_lower"].is_null().to_list() == [True, False]


def test_seeds():
    table = scores(0, 500)
    assert limits(table, AUC, seed=1) == limits(table, AUC, seed=1)
    assert limits(table, AUC, seed=1) != limits(table, AUC, seed=2)


def test_what_cannot_be():
    with pytest.raises(SpecificationError, match="at least 100 replicates"):
        limits(scores(0), AUC, replicates=99)
    with pytest.raises(SpecificationError, match="between 0 and 1"):
        limits(scores(0), AUC, confidence=95)
