"""Limits from the influences of rows: the Poisson distribution, Student's t, and random weights as the truth."""

import numpy as np
import pytest
from scipy import stats

from streammetrics.intervals.limits import Spread


def spread_of(influences, counts=None, degrees=np.inf):
    """The spread of centred influences, each of so many rows."""
    counts = np.ones_like(influences) if counts is None else counts
    powers = (np.array([(counts * influences**power).sum()]) for power in (2, 3, 4))
    return Spread(*powers, np.array([degrees]))


def distances(spread, level=0.95):
    return [limit.item() for limit in spread.distances(level)]


@pytest.mark.parametrize("level", [0.95, 0.975, 0.9])
@pytest.mark.parametrize("rows", [10, 1, 3, 100])
def test_equal_rare_rows_have_the_upper_limit_of_a_poisson_mean(rows, level):
    _, up = distances(spread_of(np.array([1.0]), np.array([float(rows)])), level)
    assert up == pytest.approx(stats.gamma.ppf(level, rows + 1) - rows, rel=3e-3)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_many_rows_of_similar_influence_have_students_t(confidence):
    influences = np.random.default_rng(0).normal(size=100_000)
    influences -= influences.mean()
    spread, t = spread_of(influences, degrees=19.0), stats.t.ppf(confidence, 19)
    assert distances(spread, confidence) == pytest.approx([t * spread.errors.item()] * 2, rel=5e-3)


@pytest.mark.parametrize("family", ["lognormal", "student", "few"])
def test_limits_are_quantiles_of_random_weights_with_two_half_rows(family):
    random = np.random.default_rng(1)
    influences = {
        "lognormal": random.lognormal(sigma=1.0, size=60),
        "student": random.standard_t(4, size=60),
        "few": np.r_[np.full(20, 3.0), np.full(180, -1 / 3)],
    }[family]
    influences = influences - influences.mean()
    spread = spread_of(influences)
    skewed, large = (spread.cubes / spread.squares).item(), np.sqrt(spread.fourths / spread.squares).item()
    weights = random.gamma(1.0, size=(200_000, len(influences)))
    for side, limit in zip((-1, 1), distances(spread), strict=True):
        halves = random.gamma(0.5, size=(2, len(weights)))
        drawn = weights @ (side * influences) + halves[0] * max(side * skewed, 0) + halves[1] * large
        assert limit == pytest.approx(np.quantile(drawn, 0.95), rel=0.02)


def test_limits_of_the_opposite_are_mirrored_and_of_a_multiple_scaled():
    influences = np.r_[np.full(5, 2.0), np.full(50, -0.2)]
    down, up = distances(spread_of(influences))
    assert distances(spread_of(-influences)) == pytest.approx([up, down])
    assert distances(spread_of(-3.0 * influences)) == pytest.approx([3 * up, 3 * down])
    assert up > down


@pytest.mark.parametrize("rows", [7, 1000])
def test_rows_of_one_size_are_as_many_effective_rows(rows):
    assert spread_of(np.array([0.1, -0.1]), np.full(2, rows / 2)).effective_rows == pytest.approx(rows)


def test_limits_lie_farther_away_at_a_higher_level_and_stay_in_range():
    spread = spread_of(np.array([0.03, -0.01]), np.array([5.0, 15.0]))
    reach = [spread.distances(level)[1].item() for level in (0.6, 0.9, 0.99, 0.9999)]
    assert reach == sorted(reach)
    lower, upper = spread.limits(np.array([0.98]), 0.95, 0.0, 1.0)
    assert 0 < lower < 0.98 < upper <= 1


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
def test_no_variance_and_no_value_have_no_limits(value):
    none = spread_of(np.zeros(3)) if value == 0.5 else spread_of(np.array([1.0, -1.0]))
    assert np.isnan(none.limits(np.array([value]), 0.95, -np.inf, np.inf)).all()
