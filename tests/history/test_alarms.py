"""Alarms of rules: raised once, when they should be, and seldom otherwise."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import streammetrics as sm
from streammetrics.history.alarms import ROWS, blocks, detect, log_e_values
from streammetrics.history.estimates import TOTAL
from streammetrics.intervals.auc import auc_intervals
from streammetrics.intervals.evalues import discoveries, log_e_value, log_e_value_of_share
from streammetrics.metrics.ranking import roc_auc

FIRST = date(2026, 1, 1)


def days(count):
    return [FIRST + timedelta(days=n) for n in range(count)]


def repeated(values, times):
    return pl.Series(values).gather(np.repeat(np.arange(len(values)), times))


def followed(breach, recovery, rate):
    """The detector of one segment in plain numbers: states, evidence, and the beginning of the last excursion."""
    evidence = relief = 0.0
    excursion, since, alarm, states = 1.0, 0, False, []
    for window, (worse, better) in enumerate(zip(breach, recovery, strict=True)):
        if not np.isnan(worse):
            if not alarm and excursion <= 1:
                since = window
            excursion, evidence = max(excursion, 1) * worse, (evidence + 1) * worse
            relief = (relief + 1) * better if alarm else 0.0
            if alarm and relief >= 1 / rate:
                alarm, evidence, excursion = False, 0.0, 1.0
            elif not alarm and evidence >= 1 / rate:
                alarm = True
        states.append(alarm)
    return states, evidence, since


@pytest.mark.parametrize("seed", range(20))
def test_the_detector_is_the_recursion_in_plain_numbers(seed):
    random = np.random.default_rng(seed)
    shift = np.where((np.arange(200) // 50) % 2 == 1, 1.5, -1.0)[:, None]
    z = random.normal(size=(200, 3)) + shift
    z[random.random(z.shape) < 0.1] = np.nan
    breach, recovery = log_e_value(z), log_e_value(-z)
    course = detect(breach, recovery, 1 / 100)
    assert course.alarm.any()
    assert (np.diff(course.alarm.astype(int), axis=0) < 0).any()
    for k in range(3):
        states, evidence, since = followed(np.exp(breach[:, k]), np.exp(recovery[:, k]), 1 / 100)
        assert course.alarm[:, k].tolist() == states
        assert np.exp(course.log_e[k]) == pytest.approx(evidence, rel=1e-9)
        assert course.since[k] == since


def test_segments_share_their_false_alarms():
    """One segment among ten needs ten times the evidence; all of them together need no more than one alone."""
    one = np.full((1, 10), -5.0)
    one[0, 0] = np.log(400)
    rate, fdr = 1 / 10, 0.5
    assert detect(one, -one, rate).alarm.sum() == 1
    assert detect(one, -one, rate, fdr).alarm.sum() == 1  # 400 >= 10 / (1 * 0.1 * 0.5)
    assert detect(one - 1, 1 - one, rate, fdr).alarm.sum() == 0
    every = np.full((1, 10), np.log(40))
    assert detect(every, -every, rate, fdr).alarm.sum() == 10


def test_evidence_of_windows_without_a_value_stays():
    e = np.log([[5.0], [np.nan], [np.nan], [5.0]])
    course = detect(e, -e, 1 / 29)
    assert course.alarm[:, 0].tolist() == [False, False, False, True]
    assert course.log_e[0] == pytest.approx(np.log(30))


@pytest.mark.parametrize(
    ("windows", "over", "end", "starts", "gap"),
    [
        (days(3), "1d", datetime(2027, 1, 1), days(3), 1),
        (days(3), "1d", datetime(2026, 1, 3), days(2), 1),
        (days(15), "1w", datetime(2027, 1, 1), [date(2025, 12, 29), date(2026, 1, 5)], 7),  # Monday to Sunday
        (days(31), "1mo", datetime(2027, 1, 1), [FIRST], 31),
        (days(30), "1mo", datetime(2027, 1, 1), [], 31),  # the month has one more day
        (days(29)[::7], "1d", datetime(2027, 1, 1), days(29)[::7], 7),
        (days(1), "1d", datetime(2027, 1, 1), days(1), 1),
        (days(1), "1d", datetime(2026, 1, 1), [], 1),
    ],
)
def test_windows_of_alarms_are_whole(windows, over, end, starts, gap):
    found, apart = blocks(pl.Series(windows, dtype=pl.Date), over, end)
    assert found.to_list() == starts
    assert apart == gap


def history(directory, rows, acc):
    store = sm.MetricStore(str(directory))
    assert store.append(acc.update(rows), batch_id="all")
    return store


def shop(shares, rows=400, seed=0, **columns):
    """A share of right predictions for each day."""
    random = np.random.default_rng(seed)
    day = np.repeat(np.arange(len(shares)), rows)
    right = random.random(len(day)) < np.repeat(shares, rows)
    y = random.random(len(day)) < 0.5
    return pl.DataFrame({"day": pl.Series(days(len(shares))).gather(day), "y": y, "p": (y == right) * 1.0, **columns})


@pytest.mark.thorough
def test_an_alarm_is_raised_once_and_ends(tmp_path):
    shares = [0.85] * 15 + [0.7] * 8 + [0.85] * 12
    store = history(tmp_path, shop(shares), sm.binary(y_true="y", y_score="p", by="day"))
    rule = sm.Rule("accuracy >= 0.8", alarm="1 per year")
    verdicts = [sm.check(store, rule, until=day + timedelta(days=1)) for day in days(len(shares))[13::2]]
    found = [each.frame.row(0, named=True) for each in verdicts]
    alarm = [row["verdict"] == "breached" for row in found]
    assert np.flatnonzero(np.diff(alarm)).tolist() in ([1, 5], [1, 6])  # it begins once, and ends once
    assert all(row["since"] == ("2026-01-16" if raised else None) for row, raised in zip(found, alarm, strict=True))
    assert found[2]["e_value"] >= 365.25
    assert [row["passes"] for row in found] == [not raised for raised in alarm]
    assert "breached: evidence since 2026-01-16, e-value " in str(verdicts[2])


def test_evidence_is_that_of_the_stored_windows(tmp_path):
    """A backfill counts as if it had been there, and the exact e-values of a proportion are taken."""
    shares = [0.82, 0.78, 0.75, 0.77, 0.76, 0.75]
    rows = shop(shares, rows=100)
    acc = sm.binary(y_true="y", y_score="p", by="day")
    store = history(tmp_path, rows.filter(pl.col("day") != days(3)[2]), acc.empty())
    rule = sm.Rule("accuracy >= 0.8", alarm="1 per year")

    def expected(rows):
        right = rows.group_by("day").agg(((pl.col("p") >= 0.5) == pl.col("y")).sum(), n=pl.len()).sort("day")
        e = np.exp(log_e_value_of_share(right["p"], right["n"], 0.8, above=False))
        total = 0.0
        for factor in e:
            total = (total + 1) * factor
        return total

    before = sm.check(store, rule).frame["e_value"].item()
    assert before == pytest.approx(expected(rows.filter(pl.col("day") != days(3)[2])), rel=1e-9)
    store.append(acc.empty().update(rows.filter(pl.col("day") == days(3)[2])), batch_id="late")
    assert sm.check(store, rule).frame["e_value"].item() == pytest.approx(expected(rows), rel=1e-9) != before


@pytest.mark.parametrize("require", ["mae <= 1.0", "mae >= 1.0", "rmse <= 1.2"])
def test_evidence_of_other_metrics_comes_from_their_interval(require, tmp_path):
    random = np.random.default_rng(1)
    rows = pl.DataFrame({"day": repeated(days(40), 50), "y": 0.0, "e": random.laplace(0, 1.1, 2_000)})
    store = history(tmp_path, rows, sm.regression(y_true="y", y_pred="e", by="day"))
    report = store.query(by="day").finalize([require.split()[0]], confidence=0.9)
    total, limit, high = 0.0, float(require.split()[2]), ">" in require
    for row in report.frame.rows(named=True):
        value, below = row["value"], row["value"] < limit
        error = (row["ci_upper"] - value if below else value - row["ci_lower"]) / 1.6448536269514722
        total = (total + 1) * float(np.exp(log_e_value((limit - value if high else value - limit) / error)))
    rule = sm.Rule(require, alarm="1 per quarter")
    assert sm.check(store, rule).frame["e_value"].item() == pytest.approx(total, rel=1e-6)


@pytest.mark.thorough
def test_the_change_of_a_metric_against_the_time_before(tmp_path):
    shares = [0.85] * 20 + [0.7] * 4
    store = history(tmp_path, shop(shares), sm.binary(y_true="y", y_score="p", by="day"))
    rule = sm.Rule("accuracy >= -0.05", against="7d", alarm="1 per year")
    found = [sm.check(store, rule, until=FIRST + timedelta(days=n)).frame.row(0, named=True) for n in (1, 20, 22, 24)]
    assert [row["verdict"] for row in found][::2] == ["undefined", "breached"]
    assert found[1]["verdict"] in ("open", "holds")
    assert found[-1]["since"] == "2026-01-21"


def test_segments_of_an_alarm(tmp_path):
    bad = shop([0.85] * 10 + [0.6] * 3, shop="bad")
    good = [shop([0.85] * 13, seed=n + 1, shop=f"good {n}") for n in range(5)]
    tiny = shop([0.1] * 13, rows=3, shop="tiny")
    rows = pl.concat([bad, *good, tiny])
    store = history(tmp_path, rows, sm.binary(y_true="y", y_score="p", by=["day", "shop"]))
    rule = sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year", segments="fdr 5 %", min_rows=20)
    found = {row["where"]: row for row in sm.check(store, rule).frame.rows(named=True)}
    assert {where for where, row in found.items() if row["verdict"] == "breached"} == {"shop bad, threshold 0.5"}
    assert found["shop tiny, threshold 0.5"]["verdict"] == "too few rows"
    assert found["shop bad, threshold 0.5"]["since"] == "2026-01-11"


def test_a_segment_that_vanishes_stays_in_alarm(tmp_path):
    bad, good = shop([0.6] * 8, shop="bad"), shop([0.85] * 10, shop="good")
    store = history(tmp_path, pl.concat([bad, good]), sm.binary(y_true="y", y_score="p", by=["day", "shop"]))
    found = sm.check(store, sm.Rule("accuracy >= 0.8", by="shop", alarm="1 per year")).frame
    gone = found.row(by_predicate=pl.col("where").str.starts_with("shop bad"), named=True)
    assert (gone["verdict"], gone["value"], gone["note"], gone["passes"]) == ("breached", None, "no rows", False)


def test_weeks_of_days_and_days_of_hours(tmp_path):
    shares = [0.85] * 28 + [0.6] * 14
    store = history(tmp_path, shop(shares, rows=60), sm.binary(y_true="y", y_score="p", by="day"))
    rule = sm.Rule("accuracy >= 0.8", over="1w", alarm="1 per year")
    whole = sm.check(store, rule)
    assert str(whole).endswith(
        "\nRules with an alarm check complete periods. Newer windows count once their period is complete."
    )
    assert "complete periods" not in str(sm.check(store, rule, until="2026-02-09"))
    found = whole.frame.row(0, named=True)
    assert found["note"] == "newer windows are in an incomplete period"
    assert (found["verdict"], found["since"]) == ("breached", "2026-01-26")
    assert found["windows"] == "2026-02-02 to 2026-02-08"  # the week that is whole
    assert found["e_value"] >= 365.25 / 7


def test_a_day_counts_once_all_of_its_hours_are_there(tmp_path):
    hours = pl.datetime_range(
        datetime(2026, 3, 27), datetime(2026, 4, 2, 11), "1h", eager=True, time_zone="Europe/Berlin"
    )
    right = np.random.default_rng(0).random(30 * len(hours)) < 0.7
    rows = pl.DataFrame({"time": repeated(hours, 30), "y": True, "p": right * 1.0})
    store = history(tmp_path, rows, sm.binary(y_true="y", y_score="p", by="time"))
    found = sm.check(store, sm.Rule("accuracy >= 0.8", alarm="1 per year")).frame.row(0, named=True)
    assert found["windows"] == "2026-04-01 00:00:00+02:00 to 2026-04-01 23:00:00+02:00"
    assert (found["verdict"], found["since"]) == ("breached", "2026-03-27")


def test_without_a_whole_window_there_is_no_alarm(tmp_path):
    store = history(tmp_path, shop([0.3] * 5), sm.binary(y_true="y", y_score="p", by="day"))
    assert sm.check(store, sm.Rule("accuracy >= 0.8", over="1mo")).frame["verdict"].item() == "breached"
    assert sm.check(store, sm.Rule("accuracy >= 0.8", over="1mo", alarm="1 per year")).frame["verdict"].item() == "open"


def test_the_window_is_no_segment_of_an_alarm(tmp_path):
    store = history(tmp_path, shop([0.8] * 3), sm.binary(y_true="y", y_score="p", by="day"))
    with pytest.raises(sm.SpecificationError, match="'by' cannot contain the window 'day' together with 'alarm'"):
        sm.check(store, sm.Rule("accuracy >= 0.8", by="day", alarm="1 per year"))


def test_what_has_no_interval_has_no_alarm(tmp_path):
    store = history(tmp_path, shop([0.8] * 3), sm.binary(y_true="y", y_score="p", by="day"))
    found = sm.check(store, sm.Rule("rows >= 1000", alarm="1 per year"))
    assert found.frame.select("verdict", "note").row(0) == ("undefined", "no confidence interval, so no alarm")
    assert not found.hold


def test_windows_without_spread_speak_for_no_breach(tmp_path):
    """All losses are equal, so there is no standard error; another window has one."""
    rows = pl.DataFrame({"day": repeated(days(3), 4), "y": 0.0, "e": [1.0] * 4 + [3.0] * 4 + [1.0, 2.0, 1.0, 2.0]})
    store = history(tmp_path, rows, sm.regression(y_true="y", y_pred="e", by="day"))
    rule = sm.Rule("mae <= 2", alarm="1 per year")
    assert sm.check(store, rule, until=days(4)[2]).frame["verdict"].item() == "undefined"
    assert sm.check(store, rule).frame["e_value"].item() < 2


def test_alarms_as_often_as_windows_are_refused(tmp_path):
    store = history(tmp_path, shop([0.8] * 3), sm.binary(y_true="y", y_score="p", by="day"))
    with pytest.raises(sm.SpecificationError, match=r"'alarm' must be rarer than one per window \(1 days\)"):
        sm.check(store, sm.Rule("accuracy >= 0.5", alarm="1 per day"))


def run_lengths(log_e_of, rate, sims, most):
    """Windows until the first alarm; ``most`` if there is none until then."""
    found, evidence = np.full(sims, most), np.full(sims, -np.inf)
    for window in range(1, most + 1):
        evidence = np.logaddexp(evidence, 0) + log_e_of(window)
        found[(evidence >= -np.log(rate)) & (found == most)] = window
    return found


def shares_of(random, rows, share, sims):
    evidence = log_e_value_of_share(np.arange(rows + 1), rows, 0.8, above=False)
    return lambda window: evidence[random.binomial(rows, share, sims)]


@pytest.mark.long
@pytest.mark.parametrize("rows", [20, 200, 1_000])
def test_false_alarms_of_a_proportion_at_its_limit(rows):
    random = np.random.default_rng(0)
    found = run_lengths(shares_of(random, rows, 0.8, 400), 1 / 365, 400, 4_000)
    assert found.mean() >= 365


@pytest.mark.long
@pytest.mark.parametrize(("rows", "truth"), [(200, 0.78), (300, 0.95)])
def test_false_alarms_of_auc_at_its_limit(rows, truth):
    """Scores in 60 bins, three in ten positive: the AUC, its interval, and the evidence are those of the library."""
    random, sims, windows, rate, edges = np.random.default_rng(0), 100, 200, 1 / 40, np.linspace(0, 1, 61)
    shift = np.sqrt(2) * norm.ppf(truth)
    shares = np.stack([np.diff(norm.cdf(norm.ppf(edges))), np.diff(norm.cdf(norm.ppf(edges) - shift))])
    above = 1 - np.cumsum(shares[1]) + shares[1] / 2
    rule = sm.Rule(f"roc_auc >= {float(shares[0] @ above)!r}", alarm="1 per year")
    evidence = np.empty((windows, sims))
    for window in range(windows):
        counts = random.multinomial(rows, (shares * [[0.7], [0.3]]).ravel(), sims).reshape(sims, 2, -1)
        neg, pos = (counts[:, side].ravel() for side in (0, 1))
        table = pl.DataFrame({"sim": np.repeat(np.arange(sims), 60), "neg": neg, "pos": pos})
        found = table.group_by("sim", maintain_order=True).agg(roc_auc.expression().alias("value"))
        found = found.hstack(auc_intervals(table, ["sim"], rule.two_sided).drop("sim"))
        found = found.with_columns(pl.col("value").alias(side) for side in ("lower", "upper"))
        found = found.with_columns(pl.lit(None, pl.Float64).alias(name) for name in (ROWS, TOTAL))
        evidence[window] = log_e_values(rule, found)[0]
    length = run_lengths(lambda window: evidence[window - 1], rate, sims, windows)
    assert length.mean() >= 1 / rate


@pytest.mark.long
def test_delay_beside_a_daily_test_and_cusum():
    """A fall from 0.80 to 0.78 at 1,000 rows a day, a false alarm a year: a CUSUM that knows the size is the best."""
    random, sims, rows = np.random.default_rng(0), 400, 1_000
    ours = run_lengths(shares_of(random, rows, 0.78, sims), 1 / 365, sims, 2_000).mean()

    def cusum(share, threshold, most=4_000):
        found, level = np.full(sims, most), np.zeros(sims)
        for window in range(1, most + 1):
            s = random.binomial(rows, share, sims)
            gain = s * np.log(0.78 / 0.8) + (rows - s) * np.log(0.22 / 0.2)
            level = np.maximum(level, 0) + gain
            found[(level >= threshold) & (found == most)] = window
        return found.mean()

    threshold = next(t for t in np.arange(2.5, 7, 0.25) if cusum(0.8, t) >= 365)
    best = cusum(0.78, threshold)
    z = (0.8 * rows - random.binomial(rows, 0.78, (2_000, sims))) / np.sqrt(rows * 0.16)
    daily = (z >= 2.778).argmax(axis=0).mean() + 1  # once in 365 days by chance
    assert ours <= 8
    assert ours <= 2 * best
    assert ours <= daily


@pytest.mark.long
def test_false_discoveries_among_segments():
    """Of 50 segments five are below the limit: the share of the others among those found, at any look in a year."""
    random, sims, segments = np.random.default_rng(0), 100, 50
    worst = []
    for _ in range(sims):
        z = random.normal(size=(200, segments))
        z[:, :5] += 1.0
        course = detect(log_e_value(z), log_e_value(-z), 1 / 365, 0.05)
        false = course.alarm[:, 5:].sum(axis=1) / np.maximum(course.alarm.sum(axis=1), 1)
        worst.append(false.max())
        assert course.alarm[-1, :5].sum() >= 4
    assert np.mean(worst) <= 0.05
    assert discoveries(np.full(3, -1.0), 0.05).sum() == 0


@pytest.mark.long
def test_false_alarms_of_a_history_whose_metrics_keep_their_limits(tmp_path):
    """Forty segments at their limit for 100 days: with an alarm in 200 days, at most half err in that time."""
    parts = [shop([0.8] * 100, rows=60, seed=n, shop=n) for n in range(40)]
    store = history(tmp_path, pl.concat(parts), sm.binary(y_true="y", y_score="p", by=["day", "shop"]))
    for require in ("accuracy >= 0.8", "recall >= 0.8", "brier_score <= 0.2"):
        found = sm.check(store, sm.Rule(require, by="shop", alarm="1.826 per year")).frame
        assert (found["verdict"] == "breached").mean() <= 0.5
        shared = sm.Rule(require, by="shop", alarm="1.826 per year", segments=0.5)
        assert (sm.check(store, shared).frame["verdict"] == "breached").sum() <= 1
