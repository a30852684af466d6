"""Formulas at numbers that no report reaches, and those of rules: quantiles, e-values, sequences, and skewness.

This file alone of the room imports names past the face of their wing.
"""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from data import CANDIDATES, candidates
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, expit, logit

import streammetrics as sm
from streammetrics.metrics import (
    average_precision,
    e_discoveries,
    ks,
    log_e_value,
    log_e_value_of_share,
    normal_quantile,
    roc_auc,
    t_quantile,
    t_quantiles,
    wilson_interval,
)
from streammetrics.metrics.intervals.beta import log_beta, log_beta_below
from streammetrics.metrics.intervals.influence import Influence, counted, sliced
from streammetrics.metrics.intervals.limits import Spread, limits
from streammetrics.metrics.intervals.paired import powers_of_differences
from streammetrics.metrics.intervals.sample import Sample
from streammetrics.metrics.intervals.sequences import errors_wide, share_limits

PROBABILITIES = [1e-6, 0.005, 0.025, 0.3, 0.5, 0.7, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995]
ALPHA = 0.05


def test_quantiles_are_those_of_scipy():
    for p in PROBABILITIES:
        assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-12, abs=1e-15)
        for degrees in (1, 2, 3, 4, 5, 8, 19, 20, 49, 98, 255) if p > 1e-6 else ():
            assert t_quantile(p, degrees) == pytest.approx(stats.t.ppf(p, degrees), rel=1e-12, abs=1e-12)
    few, many = np.arange(1.0, 30), np.geomspace(30, 1e9, 40)
    for p in (0.7, 0.9, 0.975, 0.995):
        assert t_quantiles(p, few) == pytest.approx(stats.t.ppf(p, few), rel=1e-12)
        assert t_quantiles(p, few + 0.9) == pytest.approx(t_quantiles(p, few))  # rounded down: never narrower
        assert t_quantiles(p, few[1:] * (1 - 1e-12)) == pytest.approx(t_quantiles(p, few[1:]))  # not by rounding errors
        assert t_quantiles(p, many) == pytest.approx(stats.t.ppf(p, many), rel=1e-6)
        assert t_quantiles(p, np.array([np.inf])).item() == normal_quantile(p)
        assert np.isnan(t_quantiles(p, np.array([0.0, 0.99, np.nan]))).all()


def test_wilson_of_very_many_rows():
    for count, total in ((1, 10**12), (10**15, 10**15), (0, 10**15), (123_456, 10**6)):
        lower, upper = wilson_interval(count, total)
        for p in (lower, upper):
            apart = abs(count / total - p)
            assert apart == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(p * (1 - p) / total), rel=1e-6, abs=1e-15)
        assert (lower == 0) == (count == 0)
        assert (upper == 1) == (count == total)


def on_scale(value, error, quantile, range):
    return tuple(x.item() for x in limits(np.array([value], float), np.array([error], float), quantile, range))


SCALES = {  # of a range: the scale, its inverse, and its slope
    (-math.inf, math.inf): (lambda x: x, lambda x: x, lambda x: 1),
    (0, 1): (logit, expit, lambda x: 1 / (x * (1 - x))),
    (-1, 1): (np.arctanh, np.tanh, lambda x: 1 / (1 - x**2)),
    (-0.25, 0.75): (lambda x: logit(x + 0.25), lambda x: expit(x) - 0.25, lambda x: 1 / ((x + 0.25) * (0.75 - x))),
}


def test_limits_are_taken_on_the_scale_of_the_range():
    for range, (to, back, slope) in SCALES.items():
        for value in (0.01, 0.3, 0.7):
            for error in (1e-9, 0.02, 0.5):
                step = 1.7 * error * slope(value)
                expected = [back(to(value) - step), back(to(value) + step)]
                assert on_scale(value, error, 1.7, range) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    for value, error, range in ((0.5, 1e300, (0, 1)), (1e-300, 1, (0, 1)), (0.9, 1e5, (-1, 1))):
        assert on_scale(value, error, 2, range) == range
    expected = 1e-12 * math.exp(-0.2), 1e-12 * math.exp(0.2)
    assert on_scale(1e-12, 1e-13, 2, (0, 1)) == pytest.approx(expected, rel=1e-9)
    ends = ((0, 0.1), (1, 0.1), (0.5, 0), (0.5, None), (None, 0.1), (0.5, math.nan), (math.nan, 0.1), (0.5, 1e-14))
    for value, error in ends:
        assert on_scale(value, error, 1.96, (0, 1)) == pytest.approx((math.nan, math.nan), nan_ok=True)
    for value, error in ((0.5, math.inf), (math.inf, 1), (math.nan, 1)):
        assert on_scale(value, error, 1.96, (-math.inf, math.inf)) == pytest.approx((math.nan, math.nan), nan_ok=True)


@pytest.mark.parametrize("size", [100, 0.1, 1, 10, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("skew", [1, 1e-3])
def test_the_incomplete_beta_function_is_that_of_scipy(size, skew):
    random = np.random.default_rng(0)  # of parameters up to a size
    a, b = random.random(500) * size * skew + 0.01, random.random(500) * size + 0.01
    mean = a / (a + b)
    x = np.clip(mean + random.normal(0, 3, 500) * np.sqrt(mean * (1 - mean) / (a + b + 1)), 1e-9, 1 - 1e-9)
    apart = np.abs(log_beta_below(x, a, b) - stats.beta.logcdf(x, a, b) - betaln(a, b))
    assert apart.max() < 1e-3
    if size * skew >= 10:
        assert apart[np.minimum(a, b) > 1].max() < 1e-8 + 2e-14 * size
    assert np.allclose(log_beta(a, b), betaln(a, b), atol=1e-6, rtol=1e-9)


@pytest.mark.parametrize("scale", [1, 0.5, 2])
def test_the_evidence_of_an_estimate_is_that_by_quadrature(scale):
    for z in (-60, -36, -30, -24, -5, -1, 0, 0.5, 3, 8):

        def integrand(distance, z=z):
            return 2 * stats.norm.pdf(distance / scale) / scale * np.exp(distance * z - distance**2 / 2)

        peak = max(z, 0) * scale**2 / (1 + scale**2)
        expected = quad(integrand, 0, peak + 30 * scale, points=[peak], limit=500)[0]
        assert log_e_value(z, scale) == pytest.approx(np.log(expected), abs=1e-7)
    z = np.linspace(-40, 40, 40_001)
    mean = np.trapezoid(stats.norm.pdf(z) * np.exp(log_e_value(z, scale)), z)  # under the claim
    assert mean == pytest.approx(1, abs=1e-6)
    assert (np.diff(log_e_value(5 * z)) > 0).all()
    assert np.isfinite(log_e_value([-1e8, 1e8])).all()
    assert np.isnan(log_e_value(np.nan))


@pytest.mark.parametrize("above", [False, True])
def test_the_evidence_of_a_share_is_that_by_quadrature(above):
    cases = ((80, 100, 0.8), (60, 100, 0.8), (3, 50, 0.2), (500, 1000, 0.52), (0, 20, 0.1))
    for (successes, rows, limit), weight in ((case, weight) for case in cases for weight in (None, 7.0)):
        prior = stats.beta((weight or rows) * limit, (weight or rows) * (1 - limit))
        mass, ends = (prior.sf(limit), (limit, 1)) if above else (prior.cdf(limit), (0, limit))

        def integrand(p, prior=prior, mass=mass, successes=successes, rows=rows, limit=limit):
            rise, fall = np.log(p / limit), np.log((1 - p) / (1 - limit))
            return prior.pdf(p) / mass * np.exp(successes * rise + (rows - successes) * fall)

        found = log_e_value_of_share(successes, rows, limit, above=above, weight=weight)
        assert found == pytest.approx(np.log(quad(integrand, *ends, limit=500)[0]), abs=1e-6)


def test_the_evidence_of_a_share_is_an_e_value_wherever_the_claim_is_true():
    for rows, limit, above in ((n, x, side) for n in (1, 50, 400) for x in (0.02, 0.5, 0.9) for side in (False, True)):
        successes = np.arange(rows + 1)
        evidence = log_e_value_of_share(successes, rows, limit, above=above)
        mean = {
            p: np.exp(stats.binom.logpmf(successes, rows, p) + evidence).sum() for p in (limit, limit / 2, limit + 0.05)
        }
        assert mean[limit] == pytest.approx(1, abs=1e-4)
        assert mean[limit / 2 if above else limit + 0.05] < 1


def test_discoveries_are_those_of_the_definition():
    for seed in range(30):
        random = np.random.default_rng(seed)  # numbers of claims, of which some are strong
        e, rate = np.exp(random.normal(2, 2, random.integers(1, 30))), random.choice([0.05, 0.2])
        ordered = np.sort(e)[::-1]
        most = max((k for k in range(1, len(e) + 1) if ordered[k - 1] >= len(e) / (k * rate)), default=0)
        assert e_discoveries(np.log(e), rate).tolist() == [bool(most) and x >= ordered[most - 1] for x in e]
    assert e_discoveries(np.zeros(0), 0.05).tolist() == []
    assert e_discoveries(np.full(3, -np.inf), 0.05).tolist() == [False] * 3


@pytest.mark.parametrize("one_sided", [False, True])
def test_a_sequence_is_tightest_at_the_rows_it_is_tuned_for(one_sided):
    widths = [float(errors_wide(10_000, always, ALPHA, one_sided=one_sided)) for always in (100, 1_000, 100_000, 10**6)]
    assert errors_wide(10_000, 10_000, ALPHA, one_sided=one_sided) < min(widths)
    rows = np.array([1e4, 1e5, 1e6])
    lower, upper = share_limits(0.8 * rows, rows, 10_000, ALPHA, one_sided=one_sided)
    half = errors_wide(rows, 10_000, ALPHA, one_sided=one_sided) * np.sqrt(0.16 / rows)
    assert upper - 0.8 == pytest.approx(half, rel=0.12)
    assert 0.8 - lower == pytest.approx(half, rel=0.12)
    successes, rows = np.array([0, 0, 0, 5, 5, 3]), np.array([0, 1, 500, 5, 500, 6])
    lower, upper = share_limits(successes, rows, 100, ALPHA, one_sided=one_sided)
    assert (lower[:3] == 0).all()
    assert (upper[[0, 3]] == 1).all()
    share = successes / np.maximum(rows, 1)
    assert ((lower >= 0) & (lower <= share) & (share <= upper) & (upper <= 1)).all()


def test_the_width_of_a_sequence_is_that_of_the_paper():
    rows, always = 2_500, 10_000
    for alpha, one_sided in ((ALPHA, False), (2 * ALPHA, True)):  # one side is tuned for twice the error
        density = (-2 * np.log(alpha) + np.log(1 - 2 * np.log(alpha))) / always
        spread = rows * density
        inside = 2 * np.log(1 + np.sqrt(1 + spread) / alpha) if one_sided else 2 * np.log(np.sqrt(spread + 1) / alpha)
        found = errors_wide(rows, always, ALPHA, one_sided=one_sided)
        assert found == pytest.approx(np.sqrt((spread + 1) / spread * inside))
    assert 0.9 < errors_wide(always, always, ALPHA, one_sided=True) / errors_wide(always, always, ALPHA) < 0.95
    found = share_limits(80, 100, 10_000, ALPHA, one_sided=True)
    assert found == pytest.approx((0.368637, 0.967658), abs=1e-6)


def spread_of(influences, counts=None, degrees=np.inf):
    """The spread of centred influences, each of so many rows."""
    counts = np.ones_like(influences) if counts is None else counts
    powers = (np.array([(counts * influences**power).sum()]) for power in (2, 3, 4))
    return Spread(*powers, np.array([degrees]))


def distances(spread, level=0.95):
    return [limit.item() for limit in spread.distances(level)]


def test_limits_from_influences_have_those_of_poisson_and_of_student():
    """Of equal rare rows, and of many rows of similar influence."""
    for rows in (1, 3, 10, 100):
        for level in (0.9, 0.95, 0.975):
            _, up = distances(spread_of(np.array([1.0]), np.array([float(rows)])), level)
            assert up == pytest.approx(stats.gamma.ppf(level, rows + 1) - rows, rel=3e-3)
    influences = stats.norm.ppf((np.arange(10_000) + 0.5) / 10_000)
    spread = spread_of(influences, degrees=19.0)
    for level in (0.95, 0.8):
        assert distances(spread, level) == pytest.approx(
            [stats.t.ppf(level, 19) * spread.squares.item() ** 0.5] * 2, rel=2e-2
        )


@pytest.mark.parametrize("family", ["few", "lognormal", "student"])
def test_limits_are_quantiles_of_random_weights_with_two_half_rows(family):
    random = np.random.default_rng(1)  # influences, and their weights
    influences = {
        "lognormal": random.lognormal(sigma=1.0, size=60),
        "student": random.standard_t(4, size=60),
        "few": np.r_[np.full(20, 3.0), np.full(180, -1 / 3)],
    }[family]
    influences = influences - influences.mean()
    spread = spread_of(influences)
    skewed, large = (spread.cubes / spread.squares).item(), np.sqrt(spread.fourths / spread.squares).item()
    weights = random.gamma(1.0, size=(50_000, len(influences)))
    for largest in (0.0, 2 * large):
        for side, limit in zip((-1, 1), distances(replace(spread, largest=largest)), strict=True):
            halves = random.gamma(0.5, size=(2, len(weights)))
            unseen = max(largest, large) if side * skewed > 0 else large
            drawn = weights @ (side * influences) + halves[0] * max(side * skewed, 0) + halves[1] * unseen
            assert limit == pytest.approx(np.quantile(drawn, 0.95), rel=0.03)
    down, up = distances(spread)
    assert distances(spread_of(-3.0 * influences)) == pytest.approx([3 * up, 3 * down])
    reach = [spread.distances(level)[1].item() for level in (0.6, 0.9, 0.99, 0.9999)]
    assert reach == sorted(reach)


def test_limits_stay_in_range_and_need_variance():
    spread = spread_of(np.array([0.03, -0.01]), np.array([5.0, 15.0]))
    lower, upper = spread.limits(np.array([0.98]), 0.95, 0.0, 1.0)
    assert 0 < lower < 0.98 < upper <= 1
    assert spread_of(np.array([0.1, -0.1]), np.full(2, 3.5)).effective_rows == pytest.approx(7)
    for value, influences in ((0.5, np.zeros(3)), (np.nan, np.array([1.0, -1.0])), (np.inf, np.array([1.0, -1.0]))):
        assert np.isnan(spread_of(influences).limits(np.array([value]), 0.95, -np.inf, np.inf)).all()


def scores(seed, rows, digits=1):
    random = np.random.default_rng(seed)  # a histogram of normal scores with a group number
    label = random.random(rows) < 0.3
    table = pl.DataFrame({"score": np.round(random.normal(label), digits), "neg": ~label, "pos": label, "group": seed})
    return table.group_by("group", "score").agg(pl.sum("neg", "pos").cast(pl.Int64)).sort("score")


def influences_of(table, metrics, **options):
    influence = Influence(counted("neg", "pos"), **options)
    sample = Sample(table.cast({"neg": float, "pos": float}), ["group"])
    return influence.limits(sample, dict.fromkeys(metrics, influence), 0.95)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_the_influence_of_a_row_on_the_auc_is_how_far_its_placement_is_away(digits):
    """Its share of wins against the rows of the other class, of which ties are half; with the degrees of Welch."""
    table = scores(5, 300, digits)
    negatives, positives = (np.repeat(table["score"], table[side]) for side in ("neg", "pos"))
    wins = np.sign(positives[:, None] - negatives) / 2 + 0.5
    placements, auc = (wins.mean(1), wins.mean(0)), wins.mean()
    parts = [own.var(ddof=1) / len(own) for own in placements]
    degrees = sum(parts) ** 2 / sum(part**2 / (len(own) - 1) for part, own in zip(parts, placements, strict=True))
    influences = np.concatenate([(own - auc) / np.sqrt(len(own) * (len(own) - 1)) for own in placements])
    spread = spread_of(influences, degrees=degrees)
    expected = [limit.item() for limit in spread.limits(np.array([auc]), 0.95, 0.0, 1.0)]
    rows = {"y": np.repeat([0, 1], [len(negatives), len(positives)]), "p": np.concatenate([negatives, positives])}
    found = sm.binary(y_true="y", y_score="p", domain="real").update(rows).finalize(["roc_auc"], confidence=0.9)
    assert (found["roc_auc"].ci_lower, found["roc_auc"].ci_upper) == pytest.approx(expected, rel=1e-9)


def test_the_degrees_of_a_difference_of_mean_losses_come_from_both_classes():
    """By Satterthwaite 1946, from the part of each class in the squares around the mean."""
    rows = candidates()[:40]
    y, old, new = (rows[c].to_numpy().astype(float) for c in ("clicked", "old", "new"))
    loss = np.log(np.where(y == 1, old, 1 - old)) - np.log(np.where(y == 1, new, 1 - new))
    influences = (loss - loss.mean()) / np.sqrt(40 * 39)
    parts, sizes = (np.array([f(influences[y == label]) for label in (0, 1)]) for f in (lambda x: x @ x, len))
    down, up = distances(spread_of(influences, degrees=parts.sum() ** 2 / (parts**2 / (sizes - 1)).sum()), 0.975)
    report = sm.binary(**CANDIDATES).update(rows).finalize(["log_loss"])
    row = report.compare("old", "new", metrics=["log_loss"]).frame.row(0, named=True)
    assert (row["ci_lower"], row["ci_upper"]) == pytest.approx((loss.mean() - down, loss.mean() + up), rel=1e-3)


@pytest.mark.parametrize("signed", [False, True])
def test_powers_of_differences_are_those_of_independent_losses_of_a_gamma_distribution(signed):
    """Of the influences of rows: linear in the difference and in the mean of two losses, which has a normal one if
    losses have a sign."""
    random, count = np.random.default_rng(0), 1_000_000
    apart = random.gamma(2, size=count) - 1
    mean = random.normal(0.5, 2, count) if signed else random.gamma(0.8, 2, count)
    sums = {
        "w": np.ones(count),
        "d": apart,
        "m": mean,
        "mm": mean**2,
        "dd": apart**2,
        "ddd": apart**3,
        "dddd": apart**4,
    }
    parts = pl.DataFrame({name: [values.sum()] for name, values in sums.items()})
    slopes = 0.3, 0.7, -0.9
    influence = slopes[0] + slopes[1] * apart + slopes[2] * mean
    arrays = np.array(slopes).reshape(1, 3, 1), influence.mean().reshape(1, 1)
    found = powers_of_differences(signed, parts, arrays[0], None, arrays[1])
    expected = [((influence - influence.mean()) ** power).sum() for power in (2, 3, 4)]
    assert [power.item() for power in found] == pytest.approx(expected, rel=0.02)


def test_slices_are_ever_smaller_where_almost_separate_classes_overlap():
    """Of 4,800 bins of a row each: the highest sixteenth of the negatives, and the lowest 48th of the positives."""
    negatives, positives, values = (
        sliced(pl.DataFrame({"group": 0, count: [1] * 4_800}), [count])[count].to_list()
        for count in ("neg", "pos", "count")
    )
    assert negatives == [300] * 15 + [150, 75, 37, 19, 10, 4, 3, 1, 1]
    assert positives == [1, 1, 1, 3, 6, 13, 25, 50] + [100] * 47
    assert values == [75] * 64


def test_groups_are_read_in_small_parts_and_in_slices(monkeypatch):
    tables = [scores(seed, rows) for seed, rows in ((7, 400), (2, 60), (9, 900), (4, 2_000))]
    metrics, table = [roc_auc, ks, average_precision], pl.concat(tables)
    limits = influences_of(table, metrics)
    alone = np.concatenate([influences_of(own, metrics) for own in tables], axis=1)
    monkeypatch.setattr("streammetrics.metrics.intervals.influence.ROWS", 3_000)
    for other in (alone, influences_of(table, metrics)):
        assert other == pytest.approx(limits, rel=1e-9)
    fine = pl.concat([scores(seed, rows, digits=9) for seed, rows in ((2, 600), (3, 3_000))])
    cells = sliced(fine, ["neg", "pos"])
    assert cells.equals(pl.concat(sliced(own, ["neg", "pos"]) for own in fine.partition_by("group")))
    assert (cells.group_by("group").len()["len"] < 100).all()
    assert cells.select(pl.sum("neg", "pos")).equals(fine.select(pl.sum("neg", "pos")))
    few = fine.filter(group=2)
    for metric in (roc_auc, average_precision):
        exact, merged = (influences_of(few, [metric], sliced=merged)[:2].ravel() for merged in (False, True))
        assert merged == pytest.approx(exact, abs=0.02 * (exact[1] - exact[0]))
    bins = pl.DataFrame({"group": 0, "count": [1] * 1_000, "value_low": range(1_000), "value_high": range(1_000)})
    found = sliced(bins, ["count"])
    assert (found["value_low"][0], found["value_high"][-1]) == (0, 999)
    assert (found["value_low"][1:] - found["value_high"][:-1] == 1).all()
    for nothing in (influences_of(table.clear(), metrics), influences_of(table, [])):
        assert not nothing.size
