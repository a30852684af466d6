"""Findings of rules over a history, as its check says them."""

import json
import re
from datetime import UTC, date, datetime, timedelta

import pytest
from commands import run

import streammetrics as sm

RULES = """
[[rule]]
require = "accuracy >= 0.99"

[[rule]]
require = "accuracy >= 0.87"
by = "shop"
over = "7d"
severity = "warn"
"""


def found(folder, windows, until=None):
    """The codes and severities of a check of windows, in which 14 of 16 rows of shop a are right, and none of b."""
    pytest.importorskip("deltalake")
    folder.mkdir()
    rows = {
        "day": [day for day in windows for _ in range(20)],
        "y": [0, 1] * 10 * len(windows),
        "z": ([0, 1] * 7 + [1, 0] * 3) * len(windows),
        "shop": (["a"] * 16 + ["b"] * 4) * len(windows),
    }
    store = sm.MetricStore(folder / "history")
    store.append(sm.binary(y_true="y", y_pred="z", by=["day", "shop"]).update(rows), batch_id="1")
    (folder / "rules.toml").write_text(RULES)
    check = ["store", "check", folder / "history", folder / "rules.toml", *(["--until", until] if until else [])]
    printed = run(*check, code=1)
    json.loads(run(*check, "--format", "json", code=1))
    return re.findall(r"^(bad|warn|info) +(SM8\d\d) ", printed, re.MULTILINE)


TODAY = datetime.now(UTC).date()
DAYS = [TODAY - timedelta(days=n) for n in range(10)][::-1]
OF_RULES = [("bad", "SM801"), ("warn", "SM801"), ("info", "SM802")]


def test_breached_and_undecided_rules_are_found(tmp_path):
    assert found(tmp_path / "days", DAYS) == OF_RULES


@pytest.mark.thorough
def test_missing_windows_are_found(tmp_path):
    gap = ("warn", "SM803")
    assert gap in found(tmp_path / "a gap", [*DAYS[:4], *DAYS[6:]])
    for name, windows in {
        "one": DAYS[-1:],
        "months": [date(2026, month, 1) for month in range(1, 8)],
        "weekdays": [day for n in range(40) if (day := date(2026, 1, 5) + timedelta(days=n)).weekday() < 5],
    }.items():
        assert gap not in found(tmp_path / name, windows, until=str(windows[-1]))


def test_overdue_windows_are_found(tmp_path, monkeypatch):
    """By the usual distance of windows, and the usual delay of their rows."""

    class Clock(datetime):
        later = timedelta()

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + cls.later

    late = ("warn", "SM804")
    monkeypatch.setattr("streammetrics.reading.diagnosis.rules.datetime", Clock)
    for step in (1, 7):
        windows = [TODAY - timedelta(days=step * n) for n in range(10)][::-1]
        for steps in (1, 9):
            Clock.later = timedelta(days=step * steps)
            assert (late in found(tmp_path / f"{step} {steps}", windows)) == (steps == 9)
