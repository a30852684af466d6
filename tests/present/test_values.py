"""Values of keys as readers see them: dates without midnight, and empty strings."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.html import page

ROWS = 1_200
RNG = np.random.default_rng(0)
P = RNG.random(ROWS)
Y = RNG.random(ROWS) < P
REQUIRE = ("--require", "accuracy>=0.99")
REGIONS = ["", "north"] * (ROWS // 2)
DAYS = pd.date_range("2026-04-01", periods=12, freq="D")


def task(times, by="date", **options):
    data = pd.DataFrame({"y": Y, "p": P, "q": P**2, "date": np.resize(times, ROWS), "region": REGIONS})
    return sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by=by, metrics=["accuracy"], **options).update(data)


def verdicts(acc, folder, **rule):
    store = sm.MetricStore(folder)
    store.append(acc, batch_id="all")
    return sm.check(store, sm.Rule("accuracy >= 0.99", **rule))


def command(acc, folder, name, *options):
    acc.save(folder / "a.state")
    return CliRunner().invoke(main, [name, str(folder / "a.state"), *options]).output


SHOWN = {
    "report": lambda acc, _: str(acc.finalize()),
    "comparison": lambda acc, _: str(acc.finalize().compare("a", "b")),
    "drift": lambda acc, _: str(sm.drift(acc, acc)),
    "verdicts": lambda acc, _: str(acc.finalize().check("accuracy >= 0.99")),
    "check": lambda acc, folder: command(acc, folder, "check", *REQUIRE),
    "annotations": lambda acc, folder: command(acc, folder, "check", *REQUIRE, "--format", "github"),
    "markdown": lambda acc, folder: command(acc, folder, "show", "--format", "markdown"),
    "page": lambda acc, _: page(acc.finalize()),
    "rules": lambda acc, folder: str(verdicts(acc, folder)),
    "alarms": lambda acc, folder: str(verdicts(acc, folder, alarm="1 per week")),
}


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_datetimes_at_midnight_are_dates(shown, zone, tmp_path):
    text = shown(task(DAYS.tz_localize(zone)), tmp_path)
    assert "2026-04-12" in text
    assert "00:00:00" not in text


def test_other_datetimes_keep_their_times(tmp_path):
    acc = task(DAYS + pd.to_timedelta([0, 6] * 6, unit="h"))
    for shown in (SHOWN["report"], SHOWN["verdicts"], SHOWN["rules"]):
        assert "2026-04-12 06:00:00" in shown(acc, tmp_path)
    assert "2026-04-01 00:00:00" in str(acc.finalize())


def test_slices_of_an_hour_are_not_days():
    wrong = np.arange(ROWS) % 12 == 0  # the rows of the first hour
    data = pl.DataFrame(
        {
            "y": Y,
            "p": np.where(wrong, 1 - P, P),
            "hour": np.resize(DAYS[0] + pd.to_timedelta(range(12), unit="h"), ROWS),
        }
    )
    report = sm.binary(y_true="y", y_score="p", by="hour").update(data).finalize()
    assert report.slices("log_loss", min_rows=50)["slice"].to_list() == ["hour = 2026-04-01 00:00:00"]


def test_formats_that_programs_read_do_not_depend_on_other_values(tmp_path):
    acc = task(DAYS)
    assert "2026-04-01T00:00:00.000000,a," in command(acc, tmp_path, "show", "--format", "csv")
    assert '"date":"2026-04-01 00:00:00"' in command(acc, tmp_path, "show", "--format", "json")
    assert '"date=2026-04-01 00:00:00"' in command(acc, tmp_path, "show", "--format", "metrics")
    assert acc.finalize().frame["date"][0] == datetime(2026, 4, 1)


@pytest.mark.parametrize("zone", [None, "America/New_York"])
@pytest.mark.parametrize("day", ["2026-04-02", date(2026, 4, 2)], ids=["text", "date"])
def test_a_date_selects_its_midnight(zone, day):
    report = task(DAYS.tz_localize(zone)).finalize()
    with pytest.raises(sm.ReportError, match=r"for example with date=datetime\.date\(2026, 4, 1\) and model='a'"):
        report.get("accuracy")
    assert report.get("accuracy", date=day, model="a").value == report.frame.row(2, named=True)["value"]


@pytest.mark.parametrize("shown", [SHOWN[k] for k in SHOWN if k not in ("rules", "alarms")])
def test_empty_groups_are_visible(shown, tmp_path):
    text = shown(task(DAYS, by="region"), tmp_path).replace("&#x27;", "'")
    assert "''" in text
    assert "north" in text


def test_empty_segments_and_slices_are_visible(tmp_path):
    acc = task(DAYS, by=["date", "region"])
    assert "region '', model a" in str(verdicts(acc, tmp_path, by="region", over="12d"))
    rows = {"y": Y, "p": np.where(np.arange(ROWS) % 2, P, 1 - P), "region": REGIONS}
    slices = sm.binary(y_true="y", y_score="p", by="region").update(rows).finalize().slices("log_loss", min_rows=50)
    assert slices["slice"].to_list() == ["region = ''"]
