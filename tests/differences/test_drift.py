"""Drift: tables of two accumulators or windows side by side, against the rows themselves."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from commands import run
from data import CANDIDATES, CLICKS, DELIVERIES, DIGITS, candidates, clicks, deliveries, digits
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import ks_2samp, wasserstein_distance

import streammetrics as sm

ROUNDING = 1e-12
LIMITS = ("ci_lower", "ci_upper")
NULL_GROUP = pl.when(pl.col("country") != "FR").then("country").alias("country")
BEFORE, NOW = clicks()[:1_000].with_columns(NULL_GROUP), clicks()[1_000:1_800].with_columns(NULL_GROUP)
NOW = NOW.with_columns(pl.col("score").sqrt())
NOTHING = "no rows in the reference"


class Margins(sm.statistics.Histogram):
    """A statistic of one's own that says what its distribution is of."""

    name = "margins"

    def distributions(self, table):
        return {"margin": (self.lattice, table)}


def scores(values, **options):
    return sm.predictions(y_score="p", metrics=["rows"], **options).update({"p": values})


def row_of(frame, **keys):
    return frame.row(
        by_predicate=pl.all_horizontal(pl.col(k).eq_missing(pl.lit(v)) for k, v in keys.items()), named=True
    )


def value(found, measure, **keys):
    return row_of(found.frame, measure=measure, **keys)["value"]


def change(found, metric, **keys):
    return row_of(found.metrics.frame, metric=metric, **keys)


def test_measures_are_those_of_the_rows_with_labels_and_without():
    found = sm.drift(*(sm.predictions(y_score="score").update(side) for side in (BEFORE, NOW)))
    assert found.frame.columns == ["of", "measure", "value", "lower", "upper", "status", "note"]
    assert found.frame["of"].to_list() == ["y_score"] * 4
    assert found.frame.select(pl.all_horizontal(pl.col("value") == pl.col("lower", "upper"))).to_series().all()
    assert value(found, "ks") == pytest.approx(ks_2samp(BEFORE["score"], NOW["score"]).statistic)
    assert value(found, "wasserstein") == pytest.approx(wasserstein_distance(BEFORE["score"], NOW["score"]))
    labelled = sm.binary(metrics=["predicted_positive_rate"], **CLICKS).update(BEFORE)
    other = sm.drift(labelled, sm.predictions(y_score="score").update(NOW))
    assert_frame_equal(other.frame, found.frame)
    rate = change(other, "predicted_positive_rate")["difference"]
    assert rate == pytest.approx((NOW["score"] >= 0.5).mean() - (BEFORE["score"] >= 0.5).mean())
    sides = [sm.binary(metrics=["rows", "roc_auc", "recall", "ece"], **CLICKS).update(side) for side in (BEFORE, NOW)]
    compared = sm.compare(*sides, confidence=0.95, independent=True).frame
    assert_frame_equal(sm.drift(*sides, confidence=0.95).metrics.frame, compared)


@pytest.mark.thorough
@given(
    seed=st.integers(0, 2**32),
    capacities=st.tuples(st.sampled_from([8, 16, 100]), st.sampled_from([8, 50, 4_000])),
    atoms=st.tuples(*[st.sampled_from([(), (0.3,)])] * 2),
    weighted=st.booleans(),
)
@settings(max_examples=20, deadline=None)
def test_bounds_hold_whatever_the_resolution(seed, capacities, atoms, weighted):
    """Histograms of different shifts, atoms and weights, against the rows."""
    rng = np.random.default_rng(seed)
    sides, accs = [], []
    for capacity, own in zip(capacities, atoms, strict=True):
        n = int(rng.integers(1, 400))
        p = rng.choice([rng.beta(*rng.uniform(0.3, 5, 2), n), 10.0 ** -rng.uniform(0, 200, n)])
        p = np.where(rng.random(n) < rng.choice([0, 0.3]), rng.choice([0.0, 0.3, 1.0], n), p)
        weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
        histogram = sm.statistics.Histogram(max(capacity, 80) if own else capacity, "probability", own)
        acc = sm.Accumulator(histogram, y_score="p", sample_weight="w" if weighted else None)
        sides.append(np.repeat(p, weight))
        accs.append(acc.update({"p": p, "w": weight}))
    found = sm.drift(*accs)
    for measure, truth in (("ks", ks_2samp(*sides).statistic), ("wasserstein", wasserstein_distance(*sides))):
        row = row_of(found.frame, measure=measure)
        assert 0 <= row["lower"] <= truth + ROUNDING
        assert truth - ROUNDING <= row["upper"] <= 1 + ROUNDING * (measure != "ks")
        assert row["lower"] <= row["value"] <= row["upper"]


def test_labels_and_errors_have_distributions():
    labelled = [sm.binary(**CLICKS).update(side) for side in (BEFORE, NOW)]
    found, moved = sm.drift(*labelled, of="y_true"), abs(NOW["clicked"].mean() - BEFORE["clicked"].mean())
    assert value(found, "ks") == pytest.approx(moved)
    assert value(found, "wasserstein") == pytest.approx(moved)
    hard = [sm.binary(y_true="clicked", y_pred=pl.col("score") > 0.5).update(side) for side in (BEFORE, NOW)]
    assert_frame_equal(sm.drift(*hard).frame, found.frame)
    sides = deliveries()[:500], deliveries()[500:].with_columns(pl.col("forecast") + 1)
    found = sm.drift(*(sm.regression(**DELIVERIES).update(side) for side in sides))
    assert found.frame["of"].unique().to_list() == ["error"]
    errors = [side["forecast"] - side["minutes"] for side in sides]
    assert value(found, "wasserstein") == pytest.approx(wasserstein_distance(*errors))
    times = sm.Accumulator(sm.statistics.Histogram(of="y_true"), task="regression", y_true="minutes")
    found = sm.drift(*(times.empty().update(side) for side in sides))
    assert value(found, "ks", of="y_true") == pytest.approx(ks_2samp(*(side["minutes"] for side in sides)).statistic)


def test_groups_models_and_labels_are_apart():
    sides = candidates()[:800], candidates()[800:]
    models, shop = CANDIDATES["y_score"], pl.when(pl.col("country") == "DE").then("country")
    found = sm.drift(*(sm.predictions(y_score=models, by=shop.alias("shop")).update(side) for side in sides))
    assert found.frame.columns[:4] == ["shop", "model", "of", "measure"]
    assert found.frame.height == 2 * 2 * 4
    for group in ("DE", None):
        for model in models:
            values = [side.filter(shop.eq_missing(pl.lit(group)))[model] for side in sides]
            assert value(found, "ks", shop=group, model=model) == pytest.approx(ks_2samp(*values).statistic)
    sides = digits()[:400], digits()[400:600]
    found = sm.drift(*(sm.multiclass(metrics=["rows"], **DIGITS).update(side) for side in sides))
    assert found.frame.columns[:3] == ["label", "of", "measure"]
    for label in ("4", "9"):
        truth = ks_2samp(*(side[f"p{label}"] for side in sides)).statistic
        assert value(found, "ks", label=label, of="y_score") == pytest.approx(truth)
        one, other = ((side["digit"] == label).mean() for side in sides)
        assert value(found, "ks", label=label, of="y_true") == pytest.approx(abs(one - other))


@pytest.mark.parametrize("cells", [1_000, 2_000_000])
def test_a_reference_of_fewer_columns_serves_all_groups(cells, monkeypatch):
    monkeypatch.setattr("streammetrics.reading.score_distributions.CELLS", cells)  # bins that are compared at once
    before, now = BEFORE["country", "score"], NOW.select("country", "score", half=pl.int_range(800) % 2)
    total, by_country, current = (
        sm.predictions(y_score="score", by=by, metrics=["mean"]).update(rows)
        for by, rows in (((), before), ("country", before), (["half", "country"], now))
    )
    one, other = sm.drift(total, current, confidence=0.9), sm.drift(by_country, current)
    assert one.frame.height == other.frame.height == 6 * 4
    assert one.metrics.frame.height == 6
    for half, country in [(0, "DE"), (1, "IN"), (1, None)]:
        keys, in_country = {"half": half, "country": country}, pl.col("country").eq_missing(pl.lit(country))
        own, same = now.filter(in_country, half=half)["score"], before.filter(in_country)["score"]
        assert value(one, "ks", **keys) == pytest.approx(ks_2samp(before["score"], own).statistic)
        assert value(other, "ks", **keys) == pytest.approx(ks_2samp(same, own).statistic)
        mean = change(one, "mean", **keys)
        assert mean["difference"] == pytest.approx(own.mean() - before["score"].mean())
        assert mean["ci_lower"] < mean["difference"] < mean["ci_upper"]
        assert change(other, "mean", **keys)["a"] == pytest.approx(same.mean())


def notes_by_group(*sides, **options):
    frame = sm.drift(*sides, **options).frame.filter(measure="ks")
    assert (frame["value"].is_null() == frame["note"].is_not_null()).all()
    return dict(frame.select("g", "note").rows())


def test_groups_without_rows_on_a_side_are_undefined():
    only = "rows only in the reference"
    make = sm.predictions(y_score="p", by="g")
    a = make.empty().update({"p": [0.1, 0.2], "g": ["x", "y"]})
    b = make.empty().update({"p": [0.1, 0.3, None], "g": ["x", "z", "w"]})
    assert notes_by_group(a, b) == {"x": None, "y": only, "z": NOTHING, "w": NOTHING}
    assert value(sm.drift(a, b), "ks", g="x") == 0
    for pair in ((a, make), (make, a), (make, make)):
        assert sm.drift(*pair).frame["value"].is_null().all()
    assert sm.drift(make, make).frame.schema == sm.drift(a, b).frame.schema | {"g": pl.Null}
    assert sm.drift(scores([0.1]).empty(), scores([0.1])).frame["note"].unique().to_list() == [NOTHING]
    unknown, known = (
        sm.Accumulator(sm.statistics.ConfusionCounts(), y_true="y", y_score="p", by="g", nulls="drop").update(
            {"y": [0, 1, last], "p": [0.1, 0.9, 0.5], "g": ["x", "x", "y"]}
        )
        for last in (None, 1)
    )
    assert notes_by_group(unknown, known, of="y_true") == {"x": None, "y": NOTHING}
    hard = sm.binary(y_true="y", y_pred="d", by="g", nulls="drop")
    some, every = (hard.empty().update({"y": [0, 1, 1], "d": [0, 1, last], "g": ["x", "x", "w"]}) for last in (None, 1))
    assert notes_by_group(some, every) == {"x": None, "w": NOTHING}
    assert notes_by_group(every, some) == {"x": None, "w": only}


def test_a_table_has_a_row_per_group_and_no_broken_interval(tmp_path):
    acc = sm.predictions(y_score="p", by="g", metrics=["rows"]).update({"p": np.linspace(0, 1, 45), "g": range(45)})
    assert "5 more" in str(sm.drift(acc, acc)).splitlines()[-1]
    for name, side in (("a", BEFORE), ("b", NOW)):
        sm.predictions(y_score="score", by="country", metrics=["rows"]).update(side).save(tmp_path / f"{name}.state")
    printed = run("drift", tmp_path / "a.state", tmp_path / "b.state", "--confidence", 0.95, "--width", 100)
    assert max(line.count(" to ") for line in printed.splitlines()) == 3
    assert not any(line.rstrip().endswith(" to") or line.lstrip().startswith("to ") for line in printed.splitlines())


# Windows


def windows(kind="date"):
    """Sixty days of scores that move up slowly, in two segments; one day is missing in one of them."""
    days = pl.Series(range(60), dtype=pl.Int64).gather(np.repeat(np.arange(60), 20))
    rows = clicks()[:1_200].select(
        p=(pl.col("score") + days / 60) / 2,
        day=pl.lit(date(2026, 1, 1)) + pl.duration(days=days),
        g=pl.when(pl.int_range(1_200) % 3 > 0).then(pl.lit("x")).otherwise(pl.lit("y")),
        u=pl.int_range(1_200) % 50,
    )
    rows = rows.filter((pl.col("day") != date(2026, 2, 3)) | (pl.col("g") != "x"))
    if kind == "zoned":
        return rows.with_columns(pl.col("day").cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin"))
    return rows.with_columns(pl.col("day").cast({"date": pl.Date(), "datetime": pl.Datetime("us")}[kind]))


@pytest.mark.parametrize("kind", ["zoned", "date", "datetime"])
@pytest.mark.parametrize("by", [["g", "day"], ["day"]])
def test_windows_are_compared_with_a_fixed_or_a_rolling_reference(kind, by):
    rows = windows(kind)
    acc, plain = sm.predictions(y_score="p", by=by, metrics=["mean"]).update(rows), rows["day"].dt.date()
    fixed = sm.drift_over(acc, "day", reference=("2026-01-01", date(2026, 1, 15)))
    rolling = sm.drift_over(acc, "day", reference="7d")
    assert fixed.frame.height == rows.select(by).n_unique() * 4
    undefined = rolling.frame.filter(pl.col("measure") == "ks", pl.col("value").is_null())["day"].dt.date().sort()
    assert undefined.to_list() == [date(2026, 1, 1)] * len(by) + [date(2026, 2, 3)] * (len(by) - 1)  # none now
    for day in (date(2026, 1, 2), date(2026, 1, 5), date(2026, 2, 10), date(2026, 3, 1)):
        for g in ("x", "y") if "g" in by else (None,):
            own = pl.Series([True] * len(rows)) if g is None else rows["g"] == g
            keys = {"day": rows.filter(plain == day)["day"][0]} | ({"g": g} if g else {})
            now = rows.filter(own & (plain == day))["p"]
            first = rows.filter(own & (plain < date(2026, 1, 15)))["p"]
            week = rows.filter(own & plain.is_between(day - timedelta(7), day, closed="left"))["p"]
            assert value(fixed, "wasserstein", **keys) == pytest.approx(wasserstein_distance(first, now))
            assert value(rolling, "ks", **keys) == pytest.approx(ks_2samp(week, now).statistic)
            assert change(rolling, "mean", **keys)["difference"] == pytest.approx(now.mean() - week.mean())


def test_windows_roll_by_month_and_by_hour():
    """Those that are null have no reference."""
    hours = [datetime(2026, 3, day, h) for day in (28, 29) for h in range(0, 24, 6)]
    months = [date(2026, month, 1) for month in range(1, 9)]
    for starts, reference, later in ((hours, "12h", [1 / 7] + [1.5 / 7] * 6), (months, "1mo", [1 / 7] * 7)):
        acc = sm.predictions(y_score="p", by="at").update({"p": [0, *np.linspace(0, 1, 8)], "at": [None, *starts]})
        found = sm.drift_over(acc, "at", reference=reference).frame.filter(measure="wasserstein").sort("at")
        assert found["value"][:2].to_list() == [None, None]
        assert found["value"][2:].to_list() == pytest.approx(later)


@pytest.mark.thorough
def test_units_have_other_intervals_also_of_a_saved_state(tmp_path):
    acc = sm.predictions(y_score="p", by="day", unit="u").update(windows())
    acc.save(tmp_path / "state")
    options = {"reference": "14d", "confidence": 0.9}
    found = sm.drift_over(sm.Accumulator.load(tmp_path / "state"), "day", **options)
    plain = sm.drift_over(sm.predictions(y_score="p", by="day").update(windows()), "day", **options)
    assert_frame_equal(found.frame.drop(*LIMITS, "status", "note"), plain.frame.drop(*LIMITS, "status", "note"))
    assert found.frame.select(pl.col(LIMITS).is_null().all()).row(0) == (True, True)  # rows are not independent
    assert plain.frame.select(pl.col(LIMITS).is_not_null().any()).row(0) == (True, True)
    one, other = (change(x, "predicted_positive_rate", day=date(2026, 2, 20)) for x in (found, plain))
    assert one["difference"] == pytest.approx(other["difference"])
    assert one["ci_lower"] < one["difference"] < one["ci_upper"]
    assert one["ci_lower"] != other["ci_lower"]


@pytest.mark.thorough
def test_psi_by_chance_is_as_documented():
    """The mean over pairs of samples of one distribution."""
    rng = np.random.default_rng(0)
    acc = sm.Accumulator(sm.statistics.Histogram(512, "probability"), y_score="p", by="g")
    one, other = (acc.empty().update({"p": rng.random(500 * n), "g": np.arange(500).repeat(n)}) for n in (800, 400))
    found = sm.drift(one, other).frame.filter(measure="psi")["value"]
    assert found.mean() == pytest.approx(9 * (1 / 800 + 1 / 400), rel=0.06)


def test_a_statistic_of_ones_own_says_what_its_distribution_is_of():
    one, other = np.arange(50.0), np.arange(20.0, 90.0)
    found = sm.drift(*(sm.Accumulator(Margins(), y_score="p").update({"p": p}) for p in (one, other)))
    assert found.of == ("margin",)
    assert value(found, "ks") == pytest.approx(ks_2samp(one, other).statistic)
