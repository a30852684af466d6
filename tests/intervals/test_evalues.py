"""E-values: by quadrature, their expectation under the claim, and e-BH by its definition."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta, binom, norm

from streammetrics.intervals.beta import log_beta, log_beta_below
from streammetrics.intervals.evalues import discoveries, log_e_value, log_e_value_of_share


@pytest.mark.parametrize("size", [0.1, 1, 10, 1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("skew", [1, 1e-3])
def test_the_incomplete_beta_function_is_that_of_scipy(size, skew):
    random = np.random.default_rng(0)
    a, b = random.random(500) * size * skew + 0.01, random.random(500) * size + 0.01
    mean = a / (a + b)
    around = mean + random.normal(0, 3, 500) * np.sqrt(mean * (1 - mean) / (a + b + 1))
    x = np.clip(around, 1e-9, 1 - 1e-9)
    expected = beta.logcdf(x, a, b) + betaln(a, b)
    assert np.abs(log_beta_below(x, a, b) - expected).max() < 1e-3
    if size * skew >= 10:
        sound = np.minimum(a, b) > 1
        assert np.abs(log_beta_below(x, a, b) - expected)[sound].max() < 1e-8 + 2e-14 * size
    assert np.allclose(log_beta(a, b), betaln(a, b), atol=1e-6, rtol=1e-9)


@pytest.mark.parametrize("scale", [0.5, 1, 2])
@pytest.mark.parametrize("z", [-30, -26, -24, -5, -1, 0, 0.5, 3, 8])
def test_the_evidence_of_an_estimate_by_quadrature(z, scale):
    def integrand(distance):
        return 2 * norm.pdf(distance / scale) / scale * np.exp(distance * z - distance**2 / 2)

    peak = max(z, 0) * scale**2 / (1 + scale**2)
    expected = quad(integrand, 0, peak + 30 * scale, points=[peak], limit=500)[0]
    assert log_e_value(z, scale) == pytest.approx(np.log(expected), abs=1e-7)


@pytest.mark.parametrize("scale", [0.5, 1, 2])
def test_the_evidence_of_an_estimate_has_expectation_one_at_the_limit(scale):
    expected = quad(lambda z: norm.pdf(z) * np.exp(log_e_value(z, scale)), -40, 40, limit=500)[0]
    assert expected == pytest.approx(1, abs=1e-9)


def test_evidence_grows_with_the_distance_and_never_overflows():
    z = np.linspace(-200, 200, 10_001)
    assert (np.diff(log_e_value(z)) > 0).all()
    assert np.isfinite(log_e_value([-1e8, 1e8])).all()
    assert np.isnan(log_e_value(np.nan))


@pytest.mark.parametrize(
    ("successes", "rows", "limit"), [(80, 100, 0.8), (60, 100, 0.8), (3, 50, 0.2), (500, 1000, 0.52), (0, 20, 0.1)]
)
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("weight", [None, 7.0])
def test_the_evidence_of_a_share_by_quadrature(successes, rows, limit, above, weight):
    prior = beta((weight or rows) * limit, (weight or rows) * (1 - limit))
    mass = prior.sf(limit) if above else prior.cdf(limit)

    def integrand(p):
        rise, fall = np.log(p / limit), np.log((1 - p) / (1 - limit))
        return prior.pdf(p) / mass * np.exp(successes * rise + (rows - successes) * fall)

    ends = (limit, 1) if above else (0, limit)
    found = log_e_value_of_share(successes, rows, limit, above=above, weight=weight)
    assert found == pytest.approx(np.log(quad(integrand, *ends, limit=500)[0]), abs=1e-6)


@pytest.mark.parametrize("rows", [1, 5, 50, 400])
@pytest.mark.parametrize("limit", [0.02, 0.5, 0.9])
def test_the_evidence_of_a_share_is_an_e_value_wherever_the_claim_is_true(rows, limit):
    successes = np.arange(rows + 1)
    for above in (False, True):
        evidence = log_e_value_of_share(successes, rows, limit, above=above)
        assert np.exp(binom.logpmf(successes, rows, limit) + evidence).sum() == pytest.approx(1, abs=1e-4)
        for truth in (limit * 0.9, limit * 0.5) if above else (limit + 0.02, limit + 0.09):
            assert np.exp(binom.logpmf(successes, rows, truth) + evidence).sum() < 1


def test_both_kinds_of_evidence_agree_for_many_rows():
    rows, limit, z = 1_000_000, 0.3, np.array([-2.0, 0.0, 2.0, 4.0])
    successes = np.round(rows * limit - z * np.sqrt(rows * limit * (1 - limit)))
    found = log_e_value_of_share(successes, rows, limit, above=False)
    assert found == pytest.approx(log_e_value(z), abs=0.02)


@pytest.mark.parametrize("seed", range(30))
def test_discoveries_are_those_of_the_definition(seed):
    random = np.random.default_rng(seed)
    e, rate = np.exp(random.normal(2, 2, random.integers(1, 30))), random.choice([0.05, 0.2])
    ordered = np.sort(e)[::-1]
    most = max((k for k in range(1, len(e) + 1) if ordered[k - 1] >= len(e) / (k * rate)), default=0)
    assert discoveries(np.log(e), rate).tolist() == [bool(most) and x >= ordered[most - 1] for x in e]


def test_no_claims_have_no_discoveries():
    assert discoveries(np.zeros(0), 0.05).tolist() == []
    assert discoveries(np.full(3, -np.inf), 0.05).tolist() == [False] * 3
