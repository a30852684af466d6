"""Findings of rules over a history."""

import itertools
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.findings.rules import findings_of_rules
from streammetrics.history.ruled import now

DAYS = pl.Series("day", [date(2026, 1, day) for day in range(1, 9)])
VALUES = ("value", "lower", "upper", "ci_lower", "ci_upper")


def ruled(*verdicts, severity="page"):
    rows = [
        {"segment": f"shop {i}", "verdict": verdict, "since": "2026-01-05"} | dict.fromkeys(VALUES, 0.5)
        for i, verdict in enumerate(verdicts)
    ]
    return "accuracy >= 0.8, over 7d", severity, pl.DataFrame(rows)


FAULTS = {
    "SM801": lambda: findings_of_rules([ruled("breached", "holds")], DAYS),
    "SM802": lambda: findings_of_rules([ruled("open")], DAYS),
    "SM803": lambda: findings_of_rules([], DAYS.filter(pl.Series([True, True, True, False] * 2))),
    "SM804": lambda: findings_of_rules([], DAYS, appended(DAYS, timedelta(days=3))),
}


def appended(days, delay):
    """The frame of the windows of a history whose rows arrive a few days later."""
    return pl.DataFrame({"day": days}).with_columns(ingested=pl.col("day").cast(pl.Datetime("us", "UTC")) + delay)


@pytest.mark.parametrize("code", FAULTS)
def test_what_a_code_names_is_found(code):
    [finding] = FAULTS[code]()
    assert finding.code == code


def test_sentences():
    rules = [ruled("breached", "breached", "open"), ruled("breached", severity="warn")]
    assert [repr(finding) for finding in findings_of_rules(rules, DAYS)] == [
        "SM801 (bad): Breached: accuracy >= 0.8, over 7d: shop 0 (0.5, since 2026-01-05), "
        "shop 1 (0.5, since 2026-01-05).",
        "SM801 (warn): Breached: accuracy >= 0.8, over 7d: shop 0 (0.5, since 2026-01-05).",
        "SM802 (info): Undecided: accuracy >= 0.8, over 7d: shop 2 (0.5, since 2026-01-05).",
    ]
    alarm = ruled("breached")[2].with_columns(pl.lit(None, pl.Float64).alias(name) for name in VALUES)
    [found] = findings_of_rules([("a rule", "page", alarm)], DAYS)
    assert str(found) == "Breached: a rule: shop 0 (since 2026-01-05)."
    assert str(FAULTS["SM803"]()[0]) == "Windows are missing between 2026-01-03 and 2026-01-05."


def test_months_hours_and_single_windows_have_no_gaps():
    months = pl.Series([date(2026, month, 1) for month in range(1, 8)])
    hours = pl.Series([datetime(2026, 1, 1, hour) for hour in range(5)])
    for windows in (months, hours, DAYS.head(1), DAYS.clear()):
        assert findings_of_rules([ruled("holds")], windows) == []


def test_windows_are_overdue_by_their_own_rhythm_and_delay():
    today = datetime.now(UTC).date()
    for days, delay in itertools.product((1, 7), (1, 20)):
        last = today - timedelta(days=delay)
        starts = [last - timedelta(days=days * n) for n in range(10)][::-1]
        on_time, late = (pl.Series("day", [s - timedelta(days=days * n) for s in starts]) for n in (0, 6))
        for windows, codes in ((on_time, []), (late, ["SM804"])):
            found = findings_of_rules([], windows, appended(windows, timedelta(days=delay, hours=3)))
            assert [finding.code for finding in found] == codes
    assert str(found[0]).endswith("more are overdue.")


def test_weekends_are_not_missing():
    weeks = pl.date_range(date(2026, 1, 5), date(2026, 2, 27), eager=True)
    assert findings_of_rules([], weeks.filter(weeks.dt.weekday() <= 5)) == []


def test_a_check_says_what_its_rules_find(tmp_path):
    days = [date(2026, 1, day) for day in (1, 2, 3, 4, 8)]
    rows = {"day": days * 40, "y": [0, 1] * 100, "z": [0, 1] * 70 + [1, 0] * 30, "shop": ["a", "b"] * 100}
    store = sm.MetricStore(tmp_path / "history")
    store.append(sm.binary(y_true="y", y_pred="z", by=["day", "shop"]).update(rows), batch_id="1")
    rules = [sm.Rule("accuracy >= 0.99"), sm.Rule("accuracy >= 0.7", by="shop", over="7d", severity="warn")]
    verdicts = sm.check(store, rules)
    [first, second] = now(verdicts, rules)
    assert (first[1], second[1]) == ("page", "warn")
    assert first[2].select("segment", "verdict").rows() == [("All rows", verdicts.frame["verdict"][0])]
    assert second[2]["value"].is_sorted()
