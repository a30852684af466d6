"""Alarms of rules: raised once, when they should be, and seldom otherwise."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from data import CLICKS, DELIVERIES, FIRST_DAY, clicks, deliveries
from scipy.stats import beta, betabinom, binom, norm
from stores import accuracy, checked, history, rows

import streammetrics as sm


def days(count):
    return [FIRST_DAY + timedelta(days=n) for n in range(count)]


def shop(shares, count=400, seed=0, name="shop"):
    """So many predictions a day, of which about a share is right."""
    right = np.random.default_rng(seed).binomial(count, shares).tolist()
    return pl.concat(rows(k, count - k, day, shop=name) for k, day in zip(right, days(len(right)), strict=True))


def by_shop(store, rule, **options):
    return {row["where"].split(",")[0][5:]: row for row in checked(store, rule, **options)}


# Evidence


def e_value_of_share(right, rows, limit, above):
    """How much likelier right predictions are beyond the limit, on average, than at it."""
    a, b = limit * rows, (1 - limit) * rows
    tail = beta.sf if above else beta.cdf
    posterior = tail(limit, a + right, b + rows - right) / tail(limit, a, b)
    return posterior * betabinom.pmf(right, rows, a, b) / binom.pmf(right, rows, limit)


def e_value(row, limit, high):
    """The likelihood ratio of an estimate beyond the limit, at half-normal distances, and at the limit."""
    value, bound = row["value"], row["upper" if high else "lower"]
    error = (row["ci_upper"] - value if value < limit else value - row["ci_lower"]) / norm.ppf(0.95)
    x = (limit - bound if high else bound - limit) / error / 2**0.5
    return 2**0.5 * np.exp(x**2 / 2) * norm.cdf(x)


def followed(worse, better, rate):
    """The Shiryaev-Roberts detector in plain numbers: for each window its alarm, evidence, and the last beginning."""
    evidence = relief = 0.0
    excursion, since, alarm = 1.0, 0, False
    for window, (breach, recovery) in enumerate(zip(worse, better, strict=True)):
        if breach is not None:
            if not alarm and excursion <= 1:
                since = window
            excursion, evidence = max(excursion, 1) * breach, (evidence + 1) * breach
            relief = (relief + 1) * recovery if alarm else 0.0
            if alarm and relief >= 1 / rate:
                alarm, evidence, excursion = False, 0.0, 1.0
            elif not alarm and evidence >= 1 / rate:
                alarm = True
        yield alarm, evidence, str(FIRST_DAY + timedelta(days=since))


@pytest.mark.parametrize("require", ["accuracy >= 0.8", "accuracy <= 0.8"])
def test_an_alarm_is_the_recursion_in_plain_numbers_over_exact_evidence(require, tmp_path):
    """It is raised once, ends, and is raised again. Days that come late count as if they had been there, and days
    with too few rows or without any add nothing."""
    shares = {"a": [0.85] * 8 + [0.7] * 6 + [0.9] * 8 + [0.7] * 5, "b": [0.78, 0.82] * 13 + [0.8]}
    frame = pl.concat([shop(each, seed=n, name=name) for n, (name, each) in enumerate(shares.items())])
    few = pl.col("day").is_in(days(8)[6:]) & (pl.col("shop") == "b")
    frame = pl.concat([frame.filter(~few), rows(0, 19, days(7)[6], shop="b")])
    late = pl.col("day") == days(4)[3]
    store = history(tmp_path, accuracy("shop"), frame.filter(~late), frame.filter(late))
    rule, high = sm.Rule(require, by="shop", alarm="1 per year", min_rows=20), ">" in require
    counts = {key: (each["p"].sum(), each.height) for key, each in frame.group_by("shop", "day")}
    expected = {}
    for name in shares:
        each = [counts.get((name, day), (0, 0)) for day in days(27)]
        worse, better = (
            [e_value_of_share(right, n, 0.8, above) if n >= 20 else None for right, n in each]
            for above in (not high, high)
        )
        expected[name] = [*followed(worse, better, 1 / 365.25)]
    assert {alarm for alarm, *_ in expected["a"]} == {True, False}
    for count in (1, 7, 12, 17, 22, 27):
        for name, row in by_shop(store, rule, until=days(28)[count]).items():
            alarm, evidence, since = expected[name][count - 1]
            assert row["e_value"] == pytest.approx(evidence, rel=1e-6), (name, count)
            assert (row["verdict"] == "breached", row["passes"]) == (alarm, not alarm), (name, count)
            assert row["since"] == (since if alarm else None), (name, count)


@pytest.mark.thorough
def test_evidence_of_other_metrics_and_of_changes_comes_from_their_interval(tmp_path):
    """Of the less favorable bound; of drift, without its bias. The first windows without a reference add nothing."""
    by_day = deliveries()[:400].with_columns(day=pl.Series(days(4) * 100))
    clicked = clicks().filter(pl.col("day") < days(5)[4])
    errors = history(tmp_path / "errors", sm.regression(by="day", **DELIVERIES), by_day)
    scores = history(tmp_path / "scores", sm.binary(by="day", capacity=16, **CLICKS), clicked)
    tasks = sm.regression(**DELIVERIES), sm.binary(capacity=16, **CLICKS)
    parts = [[frame.filter(day=day) for day in days(4)] for frame in (by_day, clicked)]

    def reports(task, parts, metric):
        return [task.empty().update(part).finalize([metric], confidence=0.9).frame.row(0, named=True) for part in parts]

    def of(rows):
        return tasks[1].empty().update(pl.concat(rows))

    pairs = [(of(parts[1][max(n - 2, 0) : n]), of(parts[1][n : n + 1])) for n in (1, 2, 3)]  # two days, and the next
    change = [sm.compare(*pair, metrics=["log_loss"], confidence=0.9, independent=True).frame for pair in pairs]
    change = [frame.row(0, named=True) | {"value": frame["difference"].item()} for frame in change]
    drift = [sm.drift(*pair, of="y_score", confidence=0.9).without_bias("psi").row(0, named=True) for pair in pairs]
    past = {"against": "2d"}
    for store, require, fields, found in (
        (errors, "mae <= 4.5", {}, reports(tasks[0], parts[0], "mae")),
        (errors, "mae >= 4.5", {}, reports(tasks[0], parts[0], "mae")),
        (errors, "rmse <= 7", {}, reports(tasks[0], parts[0], "rmse")),
        (scores, "roc_auc >= 0.82", {}, reports(tasks[1], parts[1], "roc_auc")),
        (scores, "log_loss <= 0.01", past, change),
        (scores, "psi(of='y_score') <= 0.01", past, drift),
    ):
        limit, high, total = float(require.split()[-1]), ">" in require, 0.0
        for row in found:
            total = (total + 1) * e_value(row, limit, high)
        [row] = checked(store, sm.Rule(require, alarm="1 per quarter", **fields))
        assert row["e_value"] == pytest.approx(total, rel=1e-6), require
        assert (row["verdict"] == "breached") == (total >= 365.25 / 4)


def test_windows_without_an_interval_raise_no_alarm(tmp_path):
    """Their e-value is 1, and 0 if the value is on the other side of the limit."""
    weighted = history(tmp_path, accuracy(sample_weight="w"), shop([0.1, 0.1, 0.9, 0.1]).with_columns(w=0.5))
    for until, e_value in zip(days(5)[1:], (1, 2, 0, 1), strict=True):
        [row] = checked(weighted, sm.Rule("accuracy >= 0.8", alarm="1 per year"), until=until)
        assert (row["verdict"], row["passes"]) == ("undefined", False)
        assert row["e_value"] == pytest.approx(e_value)


# Segments


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    """One bad shop of many, one of few rows, and a bad one that vanished."""
    parts = [
        shop([0.85] * 10 + [0.6] * 3, name="bad"),
        shop([0.1] * 13, count=3, name="tiny"),
        shop([0.6] * 8, name="gone"),
        *(shop([0.85] * 13, seed=n + 1, name=f"good {n}") for n in range(5)),
    ]
    return history(tmp_path_factory.mktemp("shops"), accuracy("shop"), pl.concat(parts))


def test_segments_have_alarms_of_their_own_or_share_false_ones(shops):
    for fields in ({}, {"segments": "fdr 5 %"}):
        found = by_shop(shops, sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year", min_rows=20, **fields))
        assert {name for name, row in found.items() if row["verdict"] == "breached"} == {"bad", "gone"}
        assert (found["bad"]["since"], found["tiny"]["verdict"]) == ("2026-01-11", "too few rows")
        gone = found["gone"]
        assert (gone["value"], gone["note"], gone["passes"]) == (None, "no rows", False)


@pytest.mark.parametrize("step", [7, 1])
def test_the_evidence_that_is_needed_follows_from_the_rate_and_the_number_of_segments(step, tmp_path):
    """One alone of ten that share false alarms needs more of it. The rate is per window, here of a day in each week."""
    parts = [shop([0.76 if n == 0 else 0.85] * 3, seed=n, name=f"{n}") for n in range(10)]
    spread = FIRST_DAY + (pl.col("day") - FIRST_DAY) * step
    store = history(tmp_path, accuracy("shop"), pl.concat(parts).with_columns(day=spread))
    e_value = by_shop(store, sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year"))["0"]["e_value"]
    for factor, fields, verdict in (
        (1.01, {}, "open"),  # a rate so small that the evidence does not suffice
        (0.99, {}, "breached"),
        (1.01 * 0.5 / 10, {"segments": 0.5}, "open"),
        (0.99 * 0.5 / 10, {"segments": 0.5}, "breached"),
    ):
        rate = f"{365.25 / step / (factor * e_value):.6f} per year"
        rule = sm.Rule("accuracy >= 0.8", by="shop", alarm=rate, **fields)
        assert by_shop(store, rule)["0"]["verdict"] == verdict, factor


# Periods


def test_alarms_are_of_whole_periods(tmp_path):
    """The newest one is left out as long as it can receive more windows."""
    daily = history(tmp_path / "daily", accuracy(), shop([0.1] * 31, count=20))
    weekly = history(tmp_path / "weekly", accuracy(), pl.concat(rows(2, 18, day) for day in days(29)[::7]))
    for store, over, until, newest in (
        (daily, "1d", "2026-01-04", "2026-01-03"),
        (daily, "1d", "2026-01-02", "2026-01-01"),
        (daily, "1w", "2026-01-16", "2026-01-05 to 2026-01-11"),  # Monday to Sunday
        (daily, "1w", "2026-01-19", "2026-01-12 to 2026-01-18"),
        (daily, "1mo", None, "2026-01-01 to 2026-01-31"),
        (daily, "1mo", "2026-01-31", None),  # the month has one more day
        (weekly, "1d", None, "2026-01-29"),
    ):
        [found] = checked(store, sm.Rule("accuracy >= 0.8", over=over, alarm="1 per quarter"), until=until)
        if newest is None:
            assert (found["verdict"], found["e_value"]) == ("open", None)
        else:
            assert (found["windows"], found["verdict"]) == (newest, "breached")
        assert ("incomplete_period" in found["reasons"]) == (until == "2026-01-16")


def test_a_day_counts_once_all_of_its_hours_are_there(tmp_path):
    ends = datetime(2026, 3, 27), datetime(2026, 4, 2, 11)
    hours = pl.datetime_range(*ends, "1h", eager=True, time_zone="Europe/Berlin").alias("time").to_frame()
    frame = hours.join(rows(21, 9).drop("day"), how="cross")
    store = history(tmp_path, sm.binary(y_true="y", y_score="p", by="time"), frame)
    [found] = checked(store, sm.Rule("accuracy >= 0.8", alarm="1 per year"))
    assert found["windows"] == "2026-04-01 00:00:00+02:00 to 2026-04-01 23:00:00+02:00"
    assert (found["verdict"], found["since"]) == ("breached", "2026-03-27")


@pytest.mark.long
def test_metrics_at_their_limits_raise_few_false_alarms(tmp_path):
    """Forty segments at their limit for 100 days: with an alarm in 200 days, at most half err in that time."""
    parts = [shop([0.8] * 100, count=60, seed=n, name=f"{n}") for n in range(40)]
    store = history(tmp_path, accuracy("shop"), pl.concat(parts))
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
    parts = [shop([0.78] * 16, count=1_000, seed=n, name=f"{n}") for n in range(40)]
    store = history(tmp_path, accuracy("shop"), pl.concat(parts))
    rule = sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year")
    looks = [sm.check(store, rule, until=day).frame["verdict"] == "breached" for day in days(17)[1:]]
    assert sum((~alarm).mean() for alarm in looks) + 1 <= 8
