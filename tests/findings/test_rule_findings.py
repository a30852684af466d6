"""Findings of rules over a history."""

from datetime import date, datetime

import polars as pl
import pytest

from streammetrics.findings.rules import findings_of_rules

DAYS = pl.Series("day", [date(2026, 1, day) for day in range(1, 9)])
VALUES = ("value", "lower", "upper", "ci_lower", "ci_upper")


def now(*verdicts, severity="page"):
    rows = [
        {"segment": f"shop {i}", "verdict": verdict, "since": "2026-01-05"} | dict.fromkeys(VALUES, 0.5)
        for i, verdict in enumerate(verdicts)
    ]
    return "accuracy >= 0.8, over 7d", severity, pl.DataFrame(rows)


FAULTS = {
    "SM801": lambda: findings_of_rules([now("breached", "holds")], DAYS),
    "SM802": lambda: findings_of_rules([now("open")], DAYS),
    "SM803": lambda: findings_of_rules([], DAYS.filter(pl.Series([True, True, True, False] * 2))),
}


@pytest.mark.parametrize("code", FAULTS)
def test_what_a_code_names_is_found(code):
    [finding] = FAULTS[code]()
    assert finding.code == code


def test_sentences():
    rules = [now("breached", "breached", "open"), now("breached", severity="warn")]
    assert [repr(finding) for finding in findings_of_rules(rules, DAYS)] == [
        "SM801 (bad): Breached: accuracy >= 0.8, over 7d: shop 0 (0.5, since 2026-01-05), "
        "shop 1 (0.5, since 2026-01-05).",
        "SM801 (warn): Breached: accuracy >= 0.8, over 7d: shop 0 (0.5, since 2026-01-05).",
        "SM802 (info): Undecided: accuracy >= 0.8, over 7d: shop 2 (0.5, since 2026-01-05).",
    ]
    alarm = now("breached")[2].with_columns(pl.lit(None, pl.Float64).alias(name) for name in VALUES)
    [found] = findings_of_rules([("a rule", "page", alarm)], DAYS)
    assert str(found) == "Breached: a rule: shop 0 (since 2026-01-05)."
    assert str(FAULTS["SM803"]()[0]) == "Windows are missing between 2026-01-03 and 2026-01-05."


def test_months_hours_and_single_windows_have_no_gaps():
    months = pl.Series([date(2026, month, 1) for month in range(1, 8)])
    hours = pl.Series([datetime(2026, 1, 1, hour) for hour in range(5)])
    for windows in (months, hours, DAYS.head(1), DAYS.clear()):
        assert findings_of_rules([now("holds")], windows) == []
