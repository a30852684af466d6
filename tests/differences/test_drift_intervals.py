"""Confidence intervals of PSI, JS and KS, and alarms on them: simulations with known drift."""

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from data import CLICKS, clicks
from scipy.stats import entropy

import streammetrics as sm

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


def drift_of_samples(samples, current, n, m):
    """Drift from n rows of the even distribution of ten values to m rows of another one, in many samples."""
    random, sides = np.random.default_rng(1), []
    acc = sm.Accumulator(sm.statistics.Histogram(domain="real"), y_score="x", by="sample")
    for share, rows in ((EVEN, n), (current, m)):
        counts = random.multinomial(rows, share, samples).ravel()
        columns = {"x": np.tile(np.arange(10.0), samples), "sample": np.repeat(np.arange(samples), 10)}
        sides.append(acc.empty().update({name: np.repeat(values, counts) for name, values in columns.items()}))
    return sm.drift(*sides, confidence=0.95).frame


@pytest.mark.parametrize(("n", "m"), [(300, 300), (5_000, 400)])
@pytest.mark.parametrize("current", [TILTED, 0.8 * EVEN + 0.2 * TILTED, EVEN], ids=["much", "little", "none"])
def test_they_hold_the_truth_as_often_as_they_say(n, m, current):
    """Without drift intervals begin at 0, so that they miss it more seldom than they say."""
    found = drift_of_samples(500, current, n, m)
    for name, measure in {"psi": psi, "js": js, "ks": ks}.items():
        own, truth = found.filter(measure=name), measure(EVEN, current)
        held = own.select(pl.lit(truth).is_between(*LIMITS).mean()).item()
        assert held >= 0.925
        if current is EVEN:
            assert (own["ci_lower"] == 0).mean() > 0.95
        if current is TILTED and name != "ks":
            assert held <= 0.985
            middle = own.select(pl.mean_horizontal(LIMITS).median()).item()
            assert middle == pytest.approx(truth, rel=0.18)  # without the bias of the value, of more than 0.2
            assert own["value"].mean() > 1.2 * truth


def test_a_drift_shows_them():
    rows = clicks()[:1_000]
    one, other = (
        sm.predictions(y_score="score").update(side) for side in (rows, rows.with_columns(pl.col("score") ** 0.9))
    )
    found = sm.drift(one, other, confidence=0.9).frame
    assert found.columns == ["of", "measure", "value", "lower", "upper", *LIMITS, "status", "note"]
    notes = dict(found.select("measure", "note").rows())
    assert notes.pop("wasserstein").startswith("no interval: ")
    assert set(notes.values()) == {None}
    inside = found.filter(pl.col("measure") != "wasserstein").select(pl.col("value").is_between(*LIMITS))
    assert inside.to_series().all()
    assert "ci_lower" not in sm.drift(one, other).frame.columns


def test_weights_and_units_have_none():
    rows = clicks()[:100].with_columns(w=1 + pl.int_range(100) % 2, u=pl.int_range(100))
    for options, status in (({"sample_weight": "w"}, "weighted_rows"), ({"unit": "u"}, "dependent_rows")):
        side = sm.binary(metrics=["rows"], **CLICKS, **options).update(rows)
        found = sm.drift(side, side, of="y_score", confidence=0.9).frame
        assert found["status"].to_list() == [status] * 4
        assert found.select(LIMITS).null_count().row(0) == (4, 4)


def store_of(tmp_path, sides):
    """A history of scores: for each day the parameter of their distribution."""
    random, start = np.random.default_rng(5), date(2026, 1, 1)
    days = [start + timedelta(days=n) for n in range(len(sides)) for _ in range(400)]
    rows = pl.DataFrame({"day": days, "p": np.concatenate([random.beta(2, b, 400) for b in sides])})
    store = sm.MetricStore(tmp_path)
    store.append(sm.predictions(y_score="p", by="day").update(rows), batch_id="all")
    return store


@pytest.mark.thorough
@pytest.mark.parametrize(("measure", "limit"), [("psi", 0.1), ("ks", 0.15)])
def test_alarms_on_drift(tmp_path, measure, limit):
    pytest.importorskip("deltalake")
    rule = sm.Rule(f"{measure}(of='y_score') <= {limit}", against="7d", alarm="1 per year")
    quiet = sm.check(store_of(tmp_path / "quiet", [5] * 30), rule).frame
    assert quiet["verdict"].to_list() != ["breached"]
    moved = sm.check(store_of(tmp_path / "moved", [5] * 25 + [2.5] * 4), rule).frame
    assert moved["verdict"].to_list() == ["breached"]
    assert moved["since"].item().startswith("2026-01-26")
