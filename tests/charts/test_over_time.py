"""Charts over time: ticks at windows, and lines of groups."""

from datetime import date, datetime, timedelta

import polars as pl
import pytest
from drawn import clicked

import streammetrics as sm

MONDAYS = [date(2026, 3, 2) + timedelta(weeks=n) for n in range(12)]


def over_time(windows):
    """A chart of the accuracy of windows, which is 1 and 0 in turns."""
    rows = pl.DataFrame({"window": windows}).with_columns(y=True, p=1.0 - pl.int_range(pl.len()) % 2)
    acc = sm.binary(y_true="y", y_score="p", by="window", metrics=["accuracy", "rows"])
    return acc.update(rows).finalize().plot.over_time("accuracy")


def ticks(drawn):
    """The ticks of the axis of time, and their labels."""
    texts = drawn.texts
    return drawn.x["axis"]["values"], texts[: texts.index("window")]


def milliseconds(times):
    return pl.Series(times).cast(pl.Datetime("ms")).to_physical().to_list()


WINDOWS = {
    "Jan 15, Jan 23, Jan 31, Feb 8, Feb 16, Feb 24, Mar 4, Mar 12": [
        date(2026, 1, 15) + timedelta(days=n) for n in range(60)
    ],
    "Jan 29, Jan 30, Jan 31, Feb 1, Feb 2": [date(2026, 1, 29) + timedelta(days=n) for n in range(5)],
    "Mar 2, Mar 16, Mar 30, Apr 13, Apr 27, May 11": MONDAYS,
    "Mar 2, Mar 16, Mar 30, Apr 27, May 11": MONDAYS[:5] + MONDAYS[7:],
    "Jan 2023, May 2023, Oct 2023, Feb 2024, Jul 2024, Dec 2024, Apr 2025, Sep 2025": [
        date(2023, 1, 2) + timedelta(weeks=n) for n in range(156)
    ],
    "Nov 2024, Feb 2025, May 2025, Aug 2025, Nov 2025, Feb 2026": [
        date(2024 + (10 + n) // 12, (10 + n) % 12 + 1, 1) for n in range(18)
    ],
    "Jul 2026, Aug 2026": [date(2026, 7, 1), date(2026, 8, 1)],
    "2023, 2024, 2025": [date(year, 1, 1) for year in (2023, 2024, 2025)],
    "Mar 2, 05:00, Mar 2, 11:00, Mar 2, 17:00, Mar 2, 23:00, Mar 3, 05:00, Mar 3, 11:00, Mar 3, 17:00, Mar 3, 23:00": [
        datetime(2026, 3, 2, 5) + timedelta(hours=n) for n in range(48)
    ],
    "05:00, 05:03, 05:06, 05:09, 05:12, 05:15, 05:18": [datetime(2026, 3, 2, 5, n) for n in range(20)],
    "Mar 2": [date(2026, 3, 2)],
}


def test_each_tick_lies_at_a_window():
    for labels, windows in WINDOWS.items():
        values, shown = ticks(over_time(windows))
        assert ", ".join(shown) == labels
        assert set(values) <= set(milliseconds(windows))
        assert len(values) == len(shown)
    for size in (1, 2, 6, 11, 5_000):
        drawn = over_time([date(2023, 8, 16) + timedelta(days=n) for n in range(size)])
        assert min(size, 3) <= len(drawn.x["axis"]["values"]) <= 8


def test_windows_of_a_time_zone_have_the_labels_of_its_clock():
    drawn = over_time(pl.Series(MONDAYS[:4]).cast(pl.Datetime).dt.replace_time_zone("Europe/Berlin"))
    assert ticks(drawn) == (milliseconds(MONDAYS[:4]), ["Mar 2", "Mar 9", "Mar 16", "Mar 23"])
    assert drawn.rows("dot")["text"][1] == "2026-03-09: 0"


def test_lines_are_the_rows_of_the_report():
    report = clicked(0.95, by=["country", "day"], metrics=["rows", "roc_auc"])
    rows = report.rollup("day").rows("roc_auc")
    alone = report.plot.over_time("roc_auc", by=[])
    assert alone.rows("line")["y"].to_list() == rows["value"].to_list()
    band = alone.rows("band")["y"].to_list()
    assert band == pytest.approx([*rows["ci_upper"], *reversed(rows["ci_lower"].to_list())])
    by_country = report.plot.over_time("roc_auc")
    assert by_country.series == ["DE", "FR", "IN"]
    for country in by_country.series:
        line = by_country.rows("line").filter(series=country)
        assert line["y"].to_list() == report.rows("roc_auc").filter(country=country).sort("day")["value"].to_list()
    assert by_country.rows("dot").height == 30
