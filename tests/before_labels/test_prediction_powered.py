"""Prediction-powered estimates, beside their definition over rows, and their coverage."""

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from few_labels import CLUSTERED, INDEPENDENT, measured
from polars.testing import assert_frame_equal
from scipy import stats
from test_expectation import labeled, unlabeled

import streammetrics as sm

Z = NormalDist().inv_cdf(0.975)
ALL = ("prevalence", "roc_auc", "log_loss", "brier_score", "accuracy", "balanced_accuracy", "precision", "recall")
ALL += ("specificity", "f1")
LOSSES = {
    "accuracy": lambda y, p: (p >= 0.5) == y,
    "prevalence": lambda y, _: y,
    "log_loss": lambda y, p: -np.log(np.where(y, p, 1 - p)),
    "brier_score": lambda y, p: (y - p) ** 2,
}


def drawn(seed, rows):
    random = np.random.default_rng(seed)
    p = random.integers(1, 200, rows) / 200
    return pl.DataFrame({"y": (random.random(rows) < 0.2 + 0.5 * p).astype(int), "p": p})


def expected(scores, reference, **options):
    return sm.expect(scores, reference, method="prediction_powered", confidence=0.95, **options)


def mean_of_rows(loss, predicted, others):
    """PPI++ of a mean by rows, as in Angelopoulos, Duchi & Zrnic (2023): the estimate and its standard error."""
    n, rest = len(loss), len(others)
    (_, shared), _ = np.cov(loss, predicted, ddof=0)
    power = np.clip(shared / ((1 + n / rest) * np.var(np.append(predicted, others))), 0, 1)
    variance = np.var(loss - power * predicted) / n + power**2 * np.var(np.append(predicted, others)) / rest
    return loss.mean() + power * (others.mean() - predicted.mean()), variance**0.5


def test_means_are_those_of_rows():
    rows, others = drawn(0, 500), drawn(1, 8_000)
    y, p, more = rows["y"].to_numpy(), rows["p"].to_numpy(), others["p"].to_numpy()
    estimates = expected(unlabeled(others), labeled(rows), metrics=[*LOSSES])
    for metric, loss in LOSSES.items():

        def by_score(p, loss=loss):
            return p * loss(np.ones(len(p), int), p) + (1 - p) * loss(np.zeros(len(p), int), p)

        value, error = mean_of_rows(1.0 * loss(y, p), by_score(p), by_score(more))
        found = estimates[metric]
        assert found.value == pytest.approx(value, abs=1e-9), metric
        assert (found.lower, found.upper) == (found.value, found.value)
        assert found.ci_upper - found.ci_lower == pytest.approx(2 * Z * error, rel=0.01)


def test_useless_scores_leave_the_metrics_of_the_labels():
    random = np.random.default_rng(0)
    rows = pl.DataFrame({"y": random.integers(0, 2, 400), "p": 0.7})
    found, report = expected(unlabeled({"p": [0.7] * 9_000}), labeled(rows)), labeled(rows).finalize(confidence=0.95)
    for metric in ("accuracy", "log_loss", "precision", "prevalence"):
        assert found[metric].value == pytest.approx(report[metric].value)
        assert found[metric].ci_lower == pytest.approx(report[metric].ci_lower, abs=0.003)


@pytest.mark.parametrize("name", ["neg", "pos", "neg_w2", "of", "start"])
def test_groups_have_their_own_labels_and_any_name(name):
    rows = [with_units(seed, 600).with_columns(pl.lit(g).alias(name)) for seed, g in ((0, "a"), (1, "b"))]
    more = [with_units(seed, 4_000).with_columns(pl.lit(g).alias(name)) for seed, g in ((2, "b"), (3, "c"), (4, "a"))]
    for unit in (None, "u"):
        options = {"by": name, "unit": unit}
        found = expected(unlabeled(pl.concat(more), **options), labeled(pl.concat(rows), **options))
        alone = expected(unlabeled(more[0], unit=unit), labeled(rows[1], unit=unit))
        for metric in ALL:
            assert found.get(metric, **{name: "b"}) == alone[metric]
            assert found.get(metric, **{name: "c"}).note == "no rows in the reference"


def test_thresholds():
    rows, more = drawn(0, 600), drawn(1, 9_000)
    found = expected(unlabeled(more, thresholds=[0.3, 0.6]), labeled(rows, thresholds=[0.6, 0.7]))
    only = expected(unlabeled(more, thresholds=[0.6]), labeled(rows, thresholds=[0.6]))
    assert found.get("recall", threshold=0.6) == only["recall"]
    assert "at this threshold" in found.get("recall", threshold=0.3).note


def with_units(seed, rows, weighted=True):
    """Rows of 200 units, with random weights."""
    random = np.random.default_rng(seed)
    weights = random.exponential(size=rows) + 0.1 if weighted else np.ones(rows)
    return drawn(seed, rows).with_columns(u=random.integers(0, 200, rows), w=weights)


def of_each_row(rows, others):
    """The accuracy, the difference of mean predictions, and what each row adds to both: of labels, and of others."""
    y, p, w = rows.select("y", "p", "w").to_numpy().T
    q, v = others.select("p", "w").to_numpy().T
    right = (p >= 0.5) == y
    value, n, rest = np.average(right, weights=w), w.sum(), v.sum()
    # the expected influence of a row, of which constants do not matter
    predicted, more = np.maximum(p, 1 - p), np.maximum(q, 1 - q)
    means = np.average(predicted, weights=w), np.average(more, weights=v)
    added = w * (right - value) / n, w * (predicted - means[0]) / n, v * (means[1] - more) / rest
    return value, means[1] - means[0], *added


def summed(units, added):
    """Sums of each fold, which those of a state are."""
    by_unit = unlabeled({"p": [0.5] * len(units), "x": units, "of": units}, by="of", unit="x").state.groups
    folds = units.to_frame("of").join(by_unit, on="of", how="left", maintain_order="left")["fold"]
    return np.bincount(folds.to_numpy(), added, 20)


@pytest.mark.parametrize("weighted", [True, False])
def test_units_can_have_rows_on_both_sides(weighted):
    rows, others = with_units(0, 500, weighted), with_units(1, 5_000, weighted)
    value, change, own, shared, more = of_each_row(rows, others)
    own, shared = summed(rows["u"], own), summed(rows["u"], shared) + summed(others["u"], more)
    power = own @ shared / (shared @ shared)
    assert 0 < power < 1
    rest = (own - power * shared) ** 2
    variance = 20 / 18 * (1 + change**2 / (20 * shared @ shared)) * rest.sum()
    degrees = (3.16 - 2.77 / 20**0.5) * rest.sum() ** 2 / (rest**2).sum()
    options = {"unit": "u"} | ({"sample_weight": "w"} if weighted else {})
    found = expected(unlabeled(others, **options), labeled(rows, **options))["accuracy"]
    assert found.value == pytest.approx(value + power * change, abs=1e-12)
    assert logits(found) == pytest.approx(2 * stats.t.ppf(0.975, int(min(18, degrees))) * variance**0.5, rel=1e-6)


def test_weights_are_squared():
    rows, others = with_units(0, 500), with_units(1, 5_000)
    value, change, own, shared, more = of_each_row(rows, others)
    found = expected(unlabeled(others, sample_weight="w"), labeled(rows, sample_weight="w"))["accuracy"]
    power = (found.value - value) / change
    variance = ((own - power * shared) ** 2).sum() + (power * more) @ (power * more)
    assert power == pytest.approx(own @ shared / (shared @ shared + more @ more), rel=0.3)
    assert logits(found) == pytest.approx(2 * Z * variance**0.5, rel=0.02)


def logits(found):
    """The width of an interval in standard errors: on the logit scale, times its slope."""
    low, high = (np.log(end / (1 - end)) for end in (found.ci_lower, found.ci_upper))
    return (high - low) * found.value * (1 - found.value)


def test_weights_of_one_and_their_multiples_change_nothing():
    rows, others = (drawn(seed, n).with_columns(w=pl.lit(3.0)) for seed, n in ((0, 500), (1, 5_000)))
    found = [expected(unlabeled(others, **o), labeled(rows, **o)).frame for o in ({}, {"sample_weight": "w"})]
    for one, other in zip(*(frame.iter_rows(named=True) for frame in found), strict=True):
        texts = ("threshold", "metric", "status")
        assert [other[name] for name in texts] == [one[name] for name in texts]
        assert [*other.values()][2:-2] == pytest.approx([*one.values()][2:-2], rel=1e-9)


def test_units_must_be_those_of_both_sides_and_not_few():
    rows, others = with_units(0, 500), with_units(1, 5_000).with_columns(v="u")
    few = rows.with_columns(u=pl.int_range(pl.len()) % 4)
    for scores, labels, why in (
        (unlabeled(others), rows, "unit or number"),
        (unlabeled(others, unit="v"), rows, "unit or number"),
        (unlabeled(others, unit="u", folds=21), rows, "number of folds"),
        (unlabeled(others, unit="u"), few, "too few units"),
    ):
        frame = expected(scores, labeled(labels, unit="u")).frame
        assert frame["value"].is_not_null().all()
        assert frame["ci_lower"].is_null().all()
        assert frame["note"].str.contains(f"no interval: .*{why}").all()


def test_folds_are_those_that_both_sides_have():
    reference, others = labeled(with_units(0, 500), unit="u", folds=10), with_units(1, 5_000)
    both = [expected(unlabeled(others, unit="u", folds=folds), reference).frame for folds in (20, 10)]
    assert_frame_equal(*both)


def test_labels_that_are_there_rollups_and_merges_change_nothing():
    rows, others = with_units(0, 700), with_units(1, 4_000)
    reference = labeled(rows, sample_weight="w")
    assert_frame_equal(*(expected(make(others, sample_weight="w"), reference).frame for make in (labeled, unlabeled)))
    rows, others = (with_units(seed, n).with_columns(g=pl.col("u") % 3) for seed, n in ((0, 500), (1, 5_000)))
    whole = expected(unlabeled(others, unit="u"), labeled(rows, unit="u")).frame
    parts = [make(side, unit="u", by="g") for make, side in ((unlabeled, others), (labeled, rows))]
    assert expected(*(part.finalize().rollup() for part in parts)).frame.equals(whole)
    halves = [unlabeled(half, unit="u") for half in (others[:2_000], others[2_000:])]
    assert expected(sm.merge(halves), labeled(rows, unit="u")).frame.equals(whole)


def test_few_labels_or_predictions_and_perfect_scores_have_no_interval():
    for count in (39, 1, 2, 3, 15):
        frame = expected(unlabeled(drawn(1, 100)), labeled(drawn(0, count))).frame
        assert frame["ci_lower"].is_null().all()
        assert frame["note"].str.contains("^(no interval: too few rows|no )").all()
    rows = pl.DataFrame({"y": [0, 1] * 200, "p": [0.0, 1.0] * 200})
    found = expected(unlabeled({"p": [0.0, 1.0] * 900}), labeled(rows))
    for metric in ("log_loss", "brier_score", "accuracy", "roc_auc"):
        assert found[metric].ci_lower is None
        assert found[metric].note == "no interval: too few rows with labels"
    few = drawn(0, 500).with_columns(p=pl.when(pl.int_range(pl.len()) < 5).then(0.9).otherwise(pl.col("p") / 3))
    found = expected(unlabeled(drawn(1, 5_000)), labeled(few))
    assert found["precision"].ci_lower is None
    assert found["recall"].ci_lower is not None


def test_coverage_if_the_threshold_cuts_a_wide_bin():
    random, draws = np.random.default_rng(0), 150

    def sampled(rows):
        p = random.random(rows * draws)
        y = (random.random(p.size) < p).astype(int)
        return pl.DataFrame({"y": y, "p": p, "draw": np.repeat(np.arange(draws), rows)})

    options = {"by": "draw", "capacity": 16, "thresholds": [0.3]}
    metrics = ["accuracy", "specificity"]
    found = expected(unlabeled(sampled(2_000), **options), labeled(sampled(400), **options), metrics=metrics)
    for metric, truth in (("accuracy", 0.71), ("specificity", 0.51)):
        assert found.rows(metric).select(pl.lit(truth).is_between("ci_lower", "ci_upper").mean()).item() >= 0.9


@pytest.mark.parametrize("options", [{"unit": "u"}, {"sample_weight": "w"}, {"unit": "u", "sample_weight": "w"}])
def test_tiny_samples(options):
    random = np.random.default_rng(0)
    for _ in range(5):
        sizes, units = random.integers(1, 80, 2), random.integers(1, 40)
        rows, others = (with_units(random, n).with_columns(pl.col("u") % units, pl.col("p").round(1)) for n in sizes)
        frame = expected(unlabeled(others, **options), labeled(rows, **options)).frame
        known = frame.drop_nulls("ci_lower")
        assert (known["ci_lower"] < known["value"]).all()
        assert (known["value"] < known["ci_upper"]).all()
        assert (frame["note"].is_null() == frame["ci_lower"].is_not_null()).all()


def off(found, draws):
    """The metrics whose intervals contain the truth in too few or too many of the samples."""
    error = 3.5 * (0.95 * 0.05 / draws) ** 0.5
    assert len(found) >= 9
    return {name: covered for name, (covered, _) in found.items() if not 0.935 - error <= covered <= 0.965 + error}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [CLUSTERED[2], INDEPENDENT[1]], ids=lambda kind: kind.name)
def test_coverage(kind):
    assert off(measured(kind, 400, 100), 100) == {}


@pytest.mark.long
@pytest.mark.parametrize("kind", [*INDEPENDENT, *CLUSTERED], ids=lambda kind: kind.name)
def test_coverage_in_many_samples_and_that_intervals_are_narrower_than_those_of_the_labels(kind):
    found = measured(kind, 1_000, 1_000)
    assert off(found, 1_000) == {}
    assert kind is not INDEPENDENT[0] or found["recall"][1] < 0.8
