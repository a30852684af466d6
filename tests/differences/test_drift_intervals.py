"""Confidence intervals of PSI, JS and KS, and alarms on them: simulations with known drift."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.stats import entropy

import streammetrics as sm
from streammetrics.differences.distances import distances
from streammetrics.differences.sampling import drift_intervals
from streammetrics.history.alarms import detect
from streammetrics.intervals.evalues import log_e_value

VALUES = np.arange(10.0)
EVEN = np.full(10, 0.1)
TILTED = EVEN * np.linspace(0.5, 1.5, 10)
LIMITS = ["ci_lower", "ci_upper"]


def psi(a, b):
    return float(np.sum((b - a) * np.log(b / a)))


def js(a, b):
    middle = (a + b) / 2
    return float((entropy(a, middle, base=2) + entropy(b, middle, base=2)) / 2)


def ks(a, b):
    return float(np.abs(np.cumsum(a - b)).max())


def drawn(seed, samples, a, b, n, m):
    """Tables of ten values, with n rows of the reference and m of the current side."""
    random = np.random.default_rng(seed)
    columns = {"low": np.tile(VALUES, samples), "high": np.tile(VALUES, samples)}
    sides = {
        "reference": random.multinomial(n, a, samples).ravel(),
        "current": random.multinomial(m, b, samples).ravel(),
    }
    return pl.DataFrame({"group": np.repeat(np.arange(samples), 10)} | columns | sides)


@pytest.mark.parametrize(("n", "m"), [(300, 300), (5_000, 400)])
@pytest.mark.parametrize("current", [EVEN, 0.8 * EVEN + 0.2 * TILTED, TILTED], ids=["none", "little", "much"])
def test_they_hold_the_truth_as_often_as_they_say(n, m, current):
    """Without drift intervals begin at 0, so that they miss it more seldom than they say."""
    found = drift_intervals(drawn(1, 1_000, EVEN, current, n, m), 10, 0.95)
    for name, measure in {"psi": psi, "js": js, "ks": ks}.items():
        own, truth = found.filter(measure=name), measure(EVEN, current)
        held = own.select(pl.lit(truth).is_between(*LIMITS).mean()).item()
        assert held >= 0.93
        if name != "ks" and current is TILTED:
            assert held <= 0.985
            assert own["center"].mean() == pytest.approx(truth, abs=0.07 * truth)


def test_without_drift_they_begin_at_zero():
    tables = drawn(2, 1_000, EVEN, EVEN, 500, 500)
    found = drift_intervals(tables, 10, 0.95)
    assert (found["ci_lower"] == 0).mean() > 0.95
    centers = found.group_by("measure").agg(pl.mean("center"))
    values = distances(tables).group_by("measure").agg(pl.mean("value"))
    for name in ("psi", "js"):
        center, value = (frame.row(by_predicate=pl.col("measure") == name)[1] for frame in (centers, values))
        assert abs(center) < 0.1 * value  # nearly all of the value is bias


def predictions(scores, **options):
    return sm.predictions(y_score="p", **options).update({"p": scores})


def test_a_drift_shows_them():
    random = np.random.default_rng(3)
    one, other = (predictions(random.beta(2, b, 2_000)) for b in (5, 4))
    found = sm.drift(one, other, confidence=0.9).frame
    assert found.columns == ["of", "measure", "value", "lower", "upper", *LIMITS, "note"]
    notes = dict(found.select("measure", "note").rows())
    assert notes == {"psi": None, "js": None, "ks": None, "wasserstein": "no interval: not available for this measure"}
    inside = found.filter(pl.col("measure") != "wasserstein").select(pl.col("value").is_between(*LIMITS))
    assert inside.to_series().all()
    assert "ci_lower" not in sm.drift(one, other).frame.columns


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sample_weight": "w"}, "no interval: weights do not count rows"),
        ({"unit": "u"}, "no interval: rows of a unit are not independent"),
    ],
)
def test_where_there_are_none(options, why):
    rows = {"y": [0, 1] * 50, "p": np.linspace(0, 1, 100), "w": [1, 2] * 50, "u": range(100)}
    one, other = (sm.binary(y_true="y", y_score="p", **options).update(rows) for _ in range(2))
    found = sm.drift(one, other, of="y_score", confidence=0.9).frame
    assert found["note"].to_list() == [why] * 4
    assert found.select(LIMITS).null_count().row(0) == (4, 4)


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "m"), [(20_000, 500), (500, 500)])
def test_false_alarms_are_no_more_often_than_promised(n, m):
    """PSI at the limit in every window: within 100 windows, at a rate of one in 100, at most 1 - 1/e of histories."""
    histories, windows = 200, 100
    found = drift_intervals(drawn(4, histories * windows, EVEN, TILTED, n, m), 10, 0.9).filter(measure="psi")
    error = ((found["ci_upper"] - found["center"]) / 1.6448536269514722).to_numpy()
    z = ((found["center"].to_numpy() - psi(EVEN, TILTED)) / error).reshape(windows, histories)
    course = detect(log_e_value(z), log_e_value(-z), rate=1 / windows)
    assert course.alarm.any(axis=0).mean() <= 1 - np.exp(-1)


def store_of(tmp_path, sides):
    """A history of scores: for each day the parameter of their distribution."""
    random = np.random.default_rng(5)
    start = date(2026, 1, 1)
    rows = pl.DataFrame(
        {
            "day": [start + timedelta(days=n) for n in range(len(sides)) for _ in range(400)],
            "p": np.concatenate([random.beta(2, b, 400) for b in sides]),
        }
    )
    store = sm.MetricStore(tmp_path / "store")
    store.append(sm.predictions(y_score="p", by="day").update(rows), batch_id="all")
    return store


@pytest.mark.thorough
@pytest.mark.parametrize("measure", ["psi", "js", "ks"])
def test_alarms_on_drift(tmp_path, measure):
    pytest.importorskip("deltalake")
    limit = {"psi": 0.1, "js": 0.02, "ks": 0.15}[measure]
    rule = sm.Rule(f"{measure}(of='y_score') <= {limit}", against="7d", alarm="1 per year")
    quiet = sm.check(store_of(tmp_path / "quiet", [5] * 30), rule).frame
    assert quiet["verdict"].to_list() != ["breached"]
    moved = sm.check(store_of(tmp_path / "moved", [5] * 25 + [2.5] * 4), rule).frame
    assert moved["verdict"].to_list() == ["breached"]
    assert moved["since"].item().startswith("2026-01-26")
