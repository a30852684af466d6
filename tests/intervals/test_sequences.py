"""Intervals that hold at every look: their form, and how often they ever miss."""

import numpy as np
import pytest

from streammetrics.intervals.sequences import errors_wide, share_limits

ALPHA = 0.05


@pytest.mark.parametrize("one_sided", [False, True])
def test_an_interval_is_tightest_in_time_at_the_rows_it_is_tuned_for(one_sided):
    """Of all tunings the one for 10,000 rows is about the narrowest there."""
    widths = [float(errors_wide(10_000, always, ALPHA, one_sided=one_sided)) for always in (100, 1_000, 100_000, 10**6)]
    assert errors_wide(10_000, 10_000, ALPHA, one_sided=one_sided) < min(widths)


def test_the_width_is_that_of_the_paper():
    rows, always = 2_500, 10_000
    rho = np.sqrt((-2 * np.log(ALPHA) + np.log(1 - 2 * np.log(ALPHA))) / always)
    spread = rows * rho**2
    assert errors_wide(rows, always, ALPHA) == pytest.approx(
        np.sqrt(2 * (spread + 1) / spread * np.log(np.sqrt(spread + 1) / ALPHA))
    )
    assert 1.5 < errors_wide(always, always, ALPHA) / 1.96 < 1.6
    assert 0.9 < errors_wide(always, always, ALPHA, one_sided=True) / errors_wide(always, always, ALPHA) < 0.95


@pytest.mark.parametrize("one_sided", [False, True])
def test_limits_of_a_share_agree_with_the_asymptotic_ones_for_many_rows(one_sided):
    rows = np.array([1e4, 1e5, 1e6])
    lower, upper = share_limits(0.8 * rows, rows, 10_000, ALPHA, one_sided=one_sided)
    half = errors_wide(rows, 10_000, ALPHA, one_sided=one_sided) * np.sqrt(0.16 / rows)
    assert upper - 0.8 == pytest.approx(half, rel=0.12)
    assert 0.8 - lower == pytest.approx(half, rel=0.12)


def test_a_one_sided_limit_of_a_share_is_tuned_for_twice_the_error():
    lower, upper = share_limits(80, 100, 10_000, ALPHA, one_sided=True)
    assert (lower, upper) == pytest.approx((0.368637, 0.967658), abs=1e-6)


def test_limits_of_a_share_are_ordered_and_within_zero_and_one():
    successes, rows = np.array([0, 0, 0, 5, 5, 3]), np.array([0, 1, 500, 5, 500, 6])
    for one_sided in (False, True):
        lower, upper = share_limits(successes, rows, 100, ALPHA, one_sided=one_sided)
        assert (lower[:3] == 0).all()
        assert (upper[[0, 3]] == 1).all()
        share = successes / np.maximum(rows, 1)
        assert ((lower <= share) & (share <= upper)).all()
        assert ((lower >= 0) & (upper <= 1)).all()


def looks(random, sims, count, rows):
    """Sums of so many looks, each with ``rows`` more."""
    return np.cumsum(random.normal(0, np.sqrt(rows), (sims, count)), axis=1), rows * np.arange(1, count + 1)


@pytest.mark.long
@pytest.mark.parametrize("count", [300, 3_000])
@pytest.mark.parametrize("tuned", [1, 30])
@pytest.mark.parametrize("one_sided", [False, True])
def test_how_often_a_mean_is_ever_missed(count, tuned, one_sided):
    total, rows = looks(np.random.default_rng(0), 2_000, count, 1_000)
    z = total / np.sqrt(rows)
    reach = errors_wide(rows, 1_000 * tuned, ALPHA, one_sided=one_sided)
    missed = ((z if one_sided else np.abs(z)) > reach).any(axis=1).mean()
    assert missed <= ALPHA
    assert (np.abs(z) > 1.96).any(axis=1).mean() > 0.4  # an interval of a single look


@pytest.mark.long
@pytest.mark.parametrize("count", [300, 3_000])
@pytest.mark.parametrize(("share", "step"), [(0.8, 10), (0.02, 100)])
@pytest.mark.parametrize("one_sided", [False, True])
def test_how_often_a_share_is_ever_missed(count, share, step, one_sided):
    random, sims = np.random.default_rng(0), 100
    successes = np.cumsum(random.binomial(step, share, (sims, count)), axis=1)
    rows = np.broadcast_to(step * np.arange(1, count + 1), successes.shape)
    far = np.abs(successes - share * rows) > 2.3 * np.sqrt(rows * share * (1 - share))  # no limit lies nearer
    lower, upper = share_limits(successes[far], rows[far], 10_000, ALPHA, one_sided=one_sided)
    missed = np.zeros_like(far)
    missed[far] = (lower > share) | ((upper < share) & (not one_sided))
    assert missed.any(axis=1).mean() <= ALPHA
