"""Alarms of rules: raised once, when they should be, and seldom otherwise."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, betabinom, binom, norm
from stores import history

import streammetrics as sm

FIRST = date(2026, 1, 1)
RIGHT = sm.binary(y_true="y", y_score="p", by=["day", "shop"])


def days(count):
    return [FIRST + timedelta(days=n) for n in range(count)]


def shop(shares, rows=400, seed=0, name="shop"):
    """A share of right predictions for each day."""
    random = np.random.default_rng(seed)
    right = random.random(len(shares) * rows) < np.repeat(shares, rows)
    y = random.random(len(right)) < 0.5
    day = pl.Series(days(len(shares))).gather(np.repeat(np.arange(len(shares)), rows))
    return pl.DataFrame({"day": day, "y": y, "p": (y == right) * 1.0}).with_columns(shop=pl.lit(name))


def by_shop(store, rule, **options):
    return {row["where"].split(",")[0][5:]: row for row in sm.check(store, rule, **options).frame.rows(named=True)}


def e_value_of_share(right, rows, limit, above):
    """How much likelier right predictions are beyond the limit, on average, than at it."""
    a, b = limit * rows, (1 - limit) * rows
    tail = beta.sf if above else beta.cdf
    posterior = tail(limit, a + right, b + rows - right) / tail(limit, a, b)
    return posterior * betabinom.pmf(right, rows, a, b) / binom.pmf(right, rows, limit)


def followed(worse, better, rate):
    """The Shiryaev-Roberts detector in plain numbers: for each window its alarm, evidence, and the last beginning."""
    evidence = relief = 0.0
    excursion, since, alarm = 1.0, 0, False
    for window, (breach, recovery) in enumerate(zip(worse, better, strict=True)):
        if not alarm and excursion <= 1:
            since = window
        excursion, evidence = max(excursion, 1) * breach, (evidence + 1) * breach
        relief = (relief + 1) * recovery if alarm else 0.0
        if alarm and relief >= 1 / rate:
            alarm, evidence, excursion = False, 0.0, 1.0
        elif not alarm and evidence >= 1 / rate:
            alarm = True
        yield alarm, evidence, str(FIRST + timedelta(days=since))


@pytest.mark.parametrize("require", ["accuracy >= 0.8", "accuracy <= 0.8"])
def test_an_alarm_is_the_recursion_in_plain_numbers_over_exact_evidence(require, tmp_path):
    """It is raised once, ends, and is raised again; and days that come late count as if they had been there."""
    shares = {"a": [0.85] * 8 + [0.7] * 6 + [0.9] * 8 + [0.7] * 5, "b": [0.78, 0.82] * 13 + [0.8]}
    rows = pl.concat([shop(each, seed=n, name=name) for n, (name, each) in enumerate(shares.items())])
    late = pl.col("day") == days(4)[3]
    store = history(tmp_path, RIGHT, rows.filter(~late), rows.filter(late))
    rule, high = sm.Rule(require, by="shop", alarm="1 per year"), ">" in require
    counts = rows.group_by("shop", "day").agg(((pl.col("p") >= 0.5) == pl.col("y")).sum(), n=pl.len()).sort("day")
    expected = {}
    for name in shares:
        right, n = counts.filter(shop=name).select("p", "n").to_numpy().T
        e_values = [e_value_of_share(right, n, 0.8, above) for above in (not high, high)]
        expected[name] = [*followed(*e_values, 1 / 365.25)]
    assert {alarm for alarm, *_ in expected["a"]} == {True, False}
    for count in (1, 4, 9, 12, 15, 17, 18, 22, 24, 27):
        found = by_shop(store, rule, until=FIRST + timedelta(days=count))
        for name, row in found.items():
            alarm, evidence, since = expected[name][count - 1]
            assert row["e_value"] == pytest.approx(evidence, rel=1e-6), (name, count)
            assert (row["verdict"] == "breached", row["since"]) == (alarm, since if alarm else None), (name, count)
            assert row["passes"] == (not alarm)


@pytest.mark.parametrize("require", ["mae <= 1.0", "mae >= 1.0", "rmse <= 1.2"])
def test_evidence_of_other_metrics_comes_from_their_interval(require, tmp_path):
    """It is the likelihood ratio of the estimate beyond the limit, at half-normal distances, and at the limit."""
    errors = np.random.default_rng(1).laplace(0, 1.1, 2_000)
    rows = pl.DataFrame({"day": days(40) * 50, "y": 0.0, "e": errors})
    store = history(tmp_path, sm.regression(y_true="y", y_pred="e", by="day"), rows)
    total, limit, high = 0.0, float(require.split()[2]), ">" in require
    report = store.query(by="day").finalize([require.split()[0]], confidence=0.9)
    for row in report.frame.rows(named=True):
        value, below = row["value"], row["value"] < limit
        error = (row["ci_upper"] - value if below else value - row["ci_lower"]) / norm.ppf(0.95)
        x = (limit - value if high else value - limit) / error / 2**0.5
        total = (total + 1) * 2**0.5 * np.exp(x**2 / 2) * norm.cdf(x)
    rule = sm.Rule(require, alarm="1 per quarter")
    assert sm.check(store, rule).frame["e_value"].item() == pytest.approx(total, rel=1e-6)


@pytest.mark.thorough
def test_the_change_of_a_metric_against_the_time_before(tmp_path):
    store = history(tmp_path, RIGHT, shop([0.85] * 20 + [0.7] * 4))
    rule = sm.Rule("accuracy >= -0.05", against="7d", alarm="1 per year")
    first, steady, last = (
        sm.check(store, rule, until=FIRST + timedelta(days=n)).frame.row(0, named=True) for n in (1, 20, 24)
    )
    assert (first["verdict"], last["verdict"], last["since"]) == ("undefined", "breached", "2026-01-21")
    assert steady["verdict"] in ("open", "holds")


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """One bad shop of many, one of few rows, and a bad one that vanished."""
    parts = [
        shop([0.85] * 10 + [0.6] * 3, name="bad"),
        shop([0.1] * 13, rows=3, name="tiny"),
        shop([0.6] * 8, name="gone"),
    ]
    parts += [shop([0.85] * 13, seed=n + 1, name=f"good {n}") for n in range(5)]
    return history(tmp_path_factory.mktemp("shops"), RIGHT, pl.concat(parts))


def test_segments_have_alarms_of_their_own_or_share_false_ones(shops):
    for fields in ({}, {"segments": "fdr 5 %"}):
        found = by_shop(shops, sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year", min_rows=20, **fields))
        assert {name for name, row in found.items() if row["verdict"] == "breached"} == {"bad", "gone"}
        assert (found["bad"]["since"], found["tiny"]["verdict"]) == ("2026-01-11", "too few rows")
        gone = found["gone"]
        assert (gone["value"], gone["note"], gone["passes"]) == (None, "no rows", False)


def test_of_segments_that_share_false_alarms_one_alone_needs_more_evidence(tmp_path):
    parts = [shop([0.85] if n else [0.72], seed=n, name=f"{n}") for n in range(10)]
    store = history(tmp_path, RIGHT, pl.concat(parts))
    e_value = by_shop(store, sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year"))["0"]["e_value"]
    for factor, fields, verdict in (
        (1.01, {}, "open"),  # a rate so small that the evidence does not suffice
        (0.99, {}, "breached"),
        (1.01 * 0.5 / 10, {"segments": 0.5}, "open"),
        (0.99 * 0.5 / 10, {"segments": 0.5}, "breached"),
    ):
        rate = f"{365.25 / (factor * e_value):.6f} per year"
        rule = sm.Rule("accuracy >= 0.8", by="shop", alarm=rate, **fields)
        assert by_shop(store, rule)["0"]["verdict"] == verdict, factor


@pytest.mark.parametrize(
    ("windows", "over", "until", "newest"),
    [
        (days(3), "1d", None, "2026-01-03"),
        (days(3), "1d", "2026-01-03", "2026-01-02"),
        (days(15), "1w", None, "2026-01-05 to 2026-01-11"),  # Monday to Sunday
        (days(18), "1w", None, "2026-01-12 to 2026-01-18"),
        (days(31), "1mo", None, "2026-01-01 to 2026-01-31"),
        (days(30), "1mo", None, None),  # the month has one more day
        (days(29)[::7], "1d", None, "2026-01-29"),
        (days(1), "1d", None, "2026-01-01"),
    ],
)
def test_alarms_are_of_whole_periods(windows, over, until, newest, tmp_path):
    store = history(
        tmp_path,
        sm.binary(y_true="y", y_score="p", by="day"),
        {"day": windows * 40, "y": [1] * 40 * len(windows), "p": [0.1] * 40 * len(windows)},
    )
    found = sm.check(store, sm.Rule("accuracy >= 0.8", over=over, alarm="1 per quarter"), until=until).frame.row(
        0, named=True
    )
    if newest is None:
        assert (found["verdict"], found["e_value"]) == ("open", None)
    else:
        assert (found["windows"], found["verdict"]) == (newest, "breached")
    whole = newest is None or newest.endswith(str(windows[-1])) or until is not None
    assert ("incomplete" in (found["note"] or "")) == (not whole)


def test_a_day_counts_once_all_of_its_hours_are_there(tmp_path):
    hours = pl.datetime_range(
        datetime(2026, 3, 27), datetime(2026, 4, 2, 11), "1h", eager=True, time_zone="Europe/Berlin"
    )
    frame = (
        hours.alias("time").to_frame().join(pl.DataFrame({"y": [True] * 30, "p": [1.0] * 21 + [0.0] * 9}), how="cross")
    )
    store = history(tmp_path, sm.binary(y_true="y", y_score="p", by="time"), frame)
    found = sm.check(store, sm.Rule("accuracy >= 0.8", alarm="1 per year")).frame.row(0, named=True)
    assert found["windows"] == "2026-04-01 00:00:00+02:00 to 2026-04-01 23:00:00+02:00"
    assert (found["verdict"], found["since"]) == ("breached", "2026-03-27")


@pytest.mark.long
def test_metrics_at_their_limits_raise_few_false_alarms(tmp_path):
    """Forty segments at their limit for 100 days: with an alarm in 200 days, at most half err in that time."""
    parts = [shop([0.8] * 100, rows=60, seed=n, name=f"{n}") for n in range(40)]
    store = history(tmp_path, RIGHT, pl.concat(parts))
    for require in ("accuracy >= 0.8", "recall >= 0.8", "brier_score <= 0.2", "roc_auc >= 0.8"):
        found, shared = (
            sm.check(store, sm.Rule(require, by="shop", alarm="1.826 per year", segments=segments)).frame["verdict"]
            for segments in (None, 0.5)
        )
        assert (found == "breached").mean() <= 0.5
        assert (shared == "breached").sum() <= 1


@pytest.mark.long
def test_a_fall_of_two_points_is_found_within_eight_days(tmp_path):
    """Of 1,000 rows a day, at a false alarm a year."""
    parts = [shop([0.78] * 16, rows=1_000, seed=n, name=f"{n}") for n in range(40)]
    store, rule = history(tmp_path, RIGHT, pl.concat(parts)), sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year")
    looks = [
        sm.check(store, rule, until=FIRST + timedelta(days=n)).frame["verdict"] == "breached" for n in range(1, 17)
    ]
    assert sum((~alarm).mean() for alarm in looks) + 1 <= 8
