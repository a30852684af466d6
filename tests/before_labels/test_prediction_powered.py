"""Prediction-powered estimates, beside their definition over rows, and their coverage."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.before_labels.filled import DECISIONS, confusion, losses
from streammetrics.before_labels.groups import Group
from streammetrics.before_labels.prediction_powered import powered

Z = NormalDist().inv_cdf(0.975)
ALL = ("prevalence", "roc_auc", "log_loss", "brier_score", *DECISIONS)


def drawn(seed, rows):
    random = np.random.default_rng(seed)
    p = random.integers(1, 200, rows) / 200
    return pl.DataFrame({"y": (random.random(rows) < 0.2 + 0.5 * p).astype(int), "p": p})


def labeled(rows, **options):
    return sm.binary(y_true="y", y_score="p", **options).update(rows)


def unlabeled(rows, **options):
    return sm.predictions(y_score="p", **options).update(rows)


def expected(scores, reference, **options):
    return sm.expect(scores, reference, method="prediction_powered", confidence=0.95, **options)


def mean_of_rows(loss, predicted, others):
    """PPI++ of a mean by rows, as in Angelopoulos, Duchi & Zrnic (2023): the estimate and its standard error."""
    n, rest = len(loss), len(others)
    (_, shared), _ = np.cov(loss, predicted, ddof=0)
    power = np.clip(shared / ((1 + n / rest) * np.var(np.append(predicted, others))), 0, 1)
    variance = np.var(loss - power * predicted) / n + power**2 * np.var(np.append(predicted, others)) / rest
    return loss.mean() + power * (others.mean() - predicted.mean()), variance**0.5


@pytest.mark.parametrize("metric", ["accuracy", "prevalence", "log_loss", "brier_score"])
def test_means_are_those_of_rows(metric):
    rows, others = drawn(0, 500), drawn(1, 8_000)
    of = {"accuracy": lambda y, p: (p >= 0.5) == y, "prevalence": lambda y, _: y}
    of |= {name: lambda y, p, name=name: losses(p)[name][y, np.arange(len(p))] for name in ("log_loss", "brier_score")}

    def loss(y, p):
        return np.asarray(of[metric](y, p), dtype=float)

    def by_score(p):
        return p * loss(np.ones(len(p), int), p) + (1 - p) * loss(np.zeros(len(p), int), p)

    y, p, more = rows["y"].to_numpy(), rows["p"].to_numpy(), others["p"].to_numpy()
    value, error = mean_of_rows(loss(y, p), by_score(p), by_score(more))
    found = expected(unlabeled(others), labeled(rows))[metric]
    assert found.value == pytest.approx(value, abs=1e-9)
    assert (found.lower, found.upper) == (found.value, found.value)
    assert found.ci_upper - found.ci_lower == pytest.approx(2 * Z * error, rel=0.01)


def test_useless_scores_leave_the_metrics_of_the_labels():
    random = np.random.default_rng(0)
    rows = pl.DataFrame({"y": random.integers(0, 2, 400), "p": 0.7})
    found, report = expected(unlabeled({"p": [0.7] * 9_000}), labeled(rows)), labeled(rows).finalize(confidence=0.95)
    for metric in ("accuracy", "log_loss", "precision", "prevalence"):
        assert found[metric].value == pytest.approx(report[metric].value)
        assert found[metric].ci_lower == pytest.approx(report[metric].ci_lower, abs=0.003)


def test_groups_have_their_own_labels():
    rows = [drawn(seed, 600).with_columns(g=pl.lit(g)) for seed, g in ((0, "a"), (1, "b"))]
    more = [drawn(seed, 4_000).with_columns(g=pl.lit(g)) for seed, g in ((2, "b"), (3, "c"), (4, "a"))]
    found = expected(unlabeled(pl.concat(more), by="g"), labeled(pl.concat(rows), by="g"))
    for metric in ALL:
        assert found.get(metric, g="b") == expected(unlabeled(more[0]), labeled(rows[1]))[metric]
        assert found.get(metric, g="c").note == "undefined: no rows in the reference"


def test_thresholds():
    rows, more = drawn(0, 600), drawn(1, 9_000)
    found = expected(unlabeled(more, thresholds=[0.3, 0.6]), labeled(rows, thresholds=[0.6, 0.7]))
    only = expected(unlabeled(more, thresholds=[0.6]), labeled(rows, thresholds=[0.6]))
    assert found.get("recall", threshold=0.6) == only["recall"]
    assert "at this threshold" in found.get("recall", threshold=0.3).note


@pytest.mark.parametrize(
    ("options", "reason"), [({"unit": "u"}, "the rows of a unit"), ({"sample_weight": "u"}, "weights do not give")]
)
def test_units_and_weights_have_values_without_intervals(options, reason):
    rows, more = (drawn(seed, n).with_columns(u=pl.int_range(n) % 50 + 1) for seed, n in ((0, 500), (1, 5_000)))
    found = expected(unlabeled(more, **options), labeled(rows, **options))
    for row in found.frame.iter_rows(named=True):
        assert row["value"] is not None
        assert row["ci_lower"] is None
        assert reason in row["note"]


@pytest.mark.parametrize("rows", [1, 2, 3, 15, 39])
def test_few_labels_have_no_interval(rows):
    for row in expected(unlabeled(drawn(1, 100)), labeled(drawn(0, rows))).frame.iter_rows(named=True):
        assert row["ci_lower"] is None
        assert row["note"].startswith(("no interval: too few rows", "undefined: no "))


def test_perfect_scores_have_no_interval():
    rows = pl.DataFrame({"y": [0, 1] * 200, "p": [0.0, 1.0] * 200})
    found = expected(unlabeled({"p": [0.0, 1.0] * 900}), labeled(rows))
    for metric in ("log_loss", "brier_score", "accuracy", "roc_auc"):
        assert found[metric].ci_lower is None
        assert found[metric].note == "no interval: too few rows with labels"


def test_precision_of_few_predictions_has_no_interval():
    rows = drawn(0, 500).with_columns(p=pl.when(pl.int_range(pl.len()) < 5).then(0.9).otherwise(pl.col("p") / 3))
    found = expected(unlabeled(drawn(1, 5_000)), labeled(rows))
    assert found["precision"].ci_lower is None
    assert found["recall"].ci_lower is not None


def test_what_cannot_be_estimated():
    scores, reference = unlabeled(drawn(1, 100)), labeled(drawn(0, 100))
    with pytest.raises(sm.SpecificationError, match="do not depend on odds"):
        expected(scores, reference, odds=1.5)
    with pytest.raises(sm.SpecificationError, match=r"method= must be .*prediction_powered"):
        sm.expect(scores, reference, method="powered")
    with pytest.raises(sm.MetricError, match=r"'average_precision' cannot .* prevalence"):
        expected(scores, reference, metrics="average_precision")
    with pytest.raises(sm.ReportError, match="grouped by 'g'"):
        expected(unlabeled(drawn(1, 9).with_columns(g=1), by="g"), reference)
    with pytest.raises(sm.ReportError, match="must have scores and labels"):
        expected(scores, scores)
    with pytest.raises(sm.ReportError, match="do not depend on odds"):
        expected(scores, reference).needed_odds(reference)
    assert "random sample" in str(expected(scores, reference))


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


def metrics_of(neg, pos, score, at):
    above = (score >= at).astype(float)
    counts = confusion((pos * above).sum(), (pos * (1 - above)).sum(), neg + pos, above)
    found = {(name, at): float(m.formula(*(counts[c] for c in m.columns))) for name, m in DECISIONS.items()}
    for name, loss in losses(score).items():
        found[name, None] = ((neg * loss[0]).sum() + (pos * loss[1]).sum()) / (neg + pos).sum()
    found["prevalence", None] = pos.sum() / (neg + pos).sum()
    found["roc_auc", None] = ((np.cumsum(neg) - neg / 2) * pos).sum() / neg.sum() / pos.sum()
    return found


@pytest.mark.parametrize(("labels", "draws"), [(200, 150), pytest.param(1_000, 2_000, marks=pytest.mark.long)])
@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (2.5, 1.5)])
def test_coverage(labels, draws, scale, shift):
    """Intervals of calibrated and of badly calibrated scores, and their width beside that of the labels alone."""
    random, bins = np.random.default_rng(0), 400
    margin = 1.5 * np.array([NormalDist().inv_cdf((i + 0.5) / bins) for i in range(bins)])
    rate, score = 1 / (1 + np.exp(-margin)), 1 / (1 + np.exp(-scale * margin - shift))
    truth = metrics_of(1 - rate, rate, score, 0.5)
    hits, widths = dict.fromkeys(truth, 0), {one: np.zeros(2) for one in truth}
    for _ in range(draws):
        rows, others = (random.multinomial(n, np.full(bins, 1 / bins)).astype(float) for n in (labels, 20 * labels))
        pos = random.binomial(rows.astype(int), rate).astype(float)
        reaching = {0.5: others[score >= 0.5].sum()}
        group = Group((), others, rows - pos, pos, score, score, np.zeros(bins, bool), reaching, reference=0)
        shown = {one: np.full((1, 3), value) for one, value in metrics_of(rows - pos, pos, score, 0.5).items()}
        alone = replace(group, rows=others * 1e-12, reaching={0.5: reaching[0.5] * 1e-12})
        sides = [dict(powered(each, shown, [*truth], 0.975)) for each in (group, alone)]
        for one, value in truth.items():
            hits[one] += sides[0][one]["ci_lower"] <= value <= sides[0][one]["ci_upper"]
            widths[one] += [side[one]["ci_upper"] - side[one]["ci_lower"] for side in sides]
    assert min(hits.values()) >= draws * (0.93 if draws > 1_000 else 0.88)
    assert all(both <= 1.01 * alone for both, alone in widths.values())
    assert widths["recall", 0.5][0] < 0.9 * widths["recall", 0.5][1]
