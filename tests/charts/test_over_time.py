"""Charts over time: ticks at windows, and segments side by side with all models on the same axes."""

import re
from datetime import date, datetime, timedelta

import polars as pl
import pytest
from pages import opening, until

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.vega import specification
from streammetrics.html import page, pictures

MONDAYS = [date(2026, 3, 2) + timedelta(weeks=n) for n in range(12)]
MODELS = {"a": "p", "b": "q"}


def rows(windows, groups=(None,), repeated=12):
    """Rows of each window and group, in which model a is wrong in the first group, and b in all others."""
    frame = pl.DataFrame({"window": windows}).join(pl.DataFrame({"region": groups}), how="cross")
    frame = frame.select(pl.all().repeat_by(repeated).explode()).with_columns(y=pl.int_range(pl.len()) % 2 == 1)
    right, wrong = (pl.when("y").then(p).otherwise(1 - p) for p in (0.8, 0.4))
    first = pl.col("region").eq_missing(groups[0])
    return frame.with_columns(
        p=pl.when(first).then(wrong).otherwise(right), q=pl.when(first).then(right).otherwise(wrong)
    )


def report(windows, groups=(None,), y_score="p", **options):
    by = ["window", "region"] if len(groups) > 1 else "window"
    acc = sm.binary(y_true="y", y_score=y_score, by=by, metrics=["accuracy", "rows"], **options)
    return acc.update(rows(windows, groups)).finalize()


def axis(picture):
    """The ticks of the axis of time, and their labels."""
    values = specification(picture, width=300)["encoding"]["x"]["axis"]["values"]
    texts = re.findall(">([^<>]+)</text>", charts.as_svg(picture, "c"))
    return values, texts[: texts.index("window")]


def milliseconds(times):
    return pl.Series(times).cast(pl.Datetime("ms")).to_physical().to_list()


WINDOWS = {
    "days": ([date(2026, 1, 15) + timedelta(days=n) for n in range(60)], "Jan 15, Jan 27, Feb 8, Feb 20, Mar 4"),
    "few days": ([date(2026, 1, 29) + timedelta(days=n) for n in range(5)], "Jan 29, Jan 30, Jan 31, Feb 1, Feb 2"),
    "weeks": (MONDAYS, "Mar 2, Mar 23, Apr 13, May 4"),
    "weeks of a gap": (MONDAYS[:5] + MONDAYS[7:], "Mar 2, Mar 16, Mar 30, Apr 27, May 11"),
    "weeks of three years": (
        [date(2023, 1, 2) + timedelta(weeks=n) for n in range(156)],
        "Jan 2023, Aug 2023, Mar 2024, Nov 2024, Jun 2025",
    ),
    "months": (
        [date(2024 + (10 + n) // 12, (10 + n) % 12 + 1, 1) for n in range(18)],
        "Nov 2024, Mar 2025, Jul 2025, Nov 2025, Mar 2026",
    ),
    "two months": ([date(2026, 7, 1), date(2026, 8, 1)], "Jul 2026, Aug 2026"),
    "years": ([date(year, 1, 1) for year in (2023, 2024, 2025)], "2023, 2024, 2025"),
    "hours": (
        [datetime(2026, 3, 2, 5) + timedelta(hours=n) for n in range(48)],
        "Mar 2, 05:00, Mar 2, 15:00, Mar 3, 01:00, Mar 3, 11:00, Mar 3, 21:00",
    ),
    "minutes": ([datetime(2026, 3, 2, 5, n) for n in range(20)], "05:00, 05:04, 05:08, 05:12, 05:16"),
    "one day": ([date(2026, 3, 2)], "Mar 2"),
}


@pytest.mark.parametrize(("windows", "labels"), WINDOWS.values(), ids=WINDOWS)
def test_each_tick_lies_at_a_window(windows, labels):
    values, shown = axis(charts.over_time(report(windows), "accuracy"))
    assert ", ".join(shown) == labels
    assert set(values) <= set(milliseconds(windows))
    assert len(values) == len(shown)


@pytest.mark.parametrize("size", [1, 2, 5, 6, 11, 377, 5_000])
def test_ticks_are_some_windows(size):
    windows = [date(2023, 8, 16) + timedelta(days=n) for n in range(size)]
    values, _ = axis(charts.over_time(report(windows), "accuracy"))
    assert min(size, 3) <= len(values) <= 5


def test_windows_of_a_time_zone_have_the_labels_of_its_clock():
    days = pl.Series(MONDAYS[:4]).cast(pl.Datetime).dt.replace_time_zone("Europe/Berlin")
    picture = charts.over_time(report(days), "accuracy")
    assert axis(picture) == (milliseconds(MONDAYS[:4]), ["Mar 2", "Mar 9", "Mar 16", "Mar 23"])
    assert picture.layers[2].frame["text"][1] == "2026-03-09: 0"


def of_regions(size, y_score=MODELS, **options):
    made = report(MONDAYS, [f"R{i}" for i in range(size)], y_score, **options)
    shared = pictures.figures("time", pictures.over_time(made, made.rollup()), interactive=False)
    return shared + pictures.each_over_time(made, made.rollup(), interactive=False)


def test_segments_of_several_models_have_one_chart_each():
    found = of_regions(5)
    head, cards = found.split('<h3 class="over">Accuracy over time by region</h3>')
    assert head.count("<figure>") == 1
    assert re.findall("<h4>(.*?)</h4>", cards) == [f"R{i}" for i in range(5)]
    for i, card in enumerate(cards.split("</figure>")[:5]):
        assert f'<title id="time0of{i}t">Accuracy over time by region: R{i}</title>' in card
        assert {"a", "b", "model"} <= set(re.findall(">([^<>]+)</text>", card))
        right, wrong = ("b", "a") if i == 0 else ("a", "b")
        assert f"<title>{right}: 2026-03-02: 1</title>" in card
        assert f"<title>{wrong}: 2026-03-02: 0</title>" in card
    assert "groups, those" not in found


def test_what_holds_for_all_segments_is_told_once():
    found = of_regions(9)
    assert found.count("<h4>") == 6
    assert found.count("6 of 9 groups, those with the most rows.") == 1 + 6  # and to screen readers in each chart
    assert (
        len(re.findall(r'<p class="sub">6 of 9 groups, those with the most rows\. Higher is better\.</p>', found)) == 1
    )


def test_few_lines_share_a_chart_and_many_share_axes():
    shown = of_regions(3, "p")
    assert "<h4>" not in shown
    assert "<h3>Accuracy over time by region</h3>" in shown
    drawn = charts.each_over_time(report(MONDAYS, ["x", "y", None, ""], "p"), "accuracy", "window", "region")
    assert list(drawn) == ["''", "x", "y", "null"]
    assert len({(picture.x, picture.y) for picture in drawn.values()}) == 1
    assert {picture.series for picture in drawn.values()} == {("all rows",)}


def test_a_page_omits_charts_over_time_that_a_group_column_rules_out():
    named = rows(MONDAYS, [f"g{i}" for i in range(6)]).rename({"region": "series"})
    acc = sm.binary(y_true="y", y_score="p", by=["window", "series"], metrics=["accuracy"])
    text = page(acc.update(named).finalize())
    assert "Accuracy over time</h3>" in text
    assert "over time by series" not in text


@pytest.mark.browser
@pytest.mark.thorough
def test_an_interactive_chart_has_more_ticks_in_a_part_of_its_time(browser, tmp_path):
    """The interpreter of expressions must read its dates, which also are those of another time zone."""
    path = tmp_path / "a.html"
    path.write_text(page(report(MONDAYS, y_score=MODELS), interactive=True), encoding="utf-8")
    with opening(browser, path, ready=".vega svg.marks") as open_page:
        window = open_page(timezone_id="America/New_York")
        drawn = window.locator("section[aria-labelledby=time] svg.marks")
        drawn.scroll_into_view_if_needed()
        assert set(axis(charts.over_time(report(MONDAYS), "accuracy"))[1]) < set(
            drawn.locator("text").all_text_contents()
        )
        places = [dot.bounding_box()["x"] for dot in drawn.locator("path[aria-label^='a:']").all()]
        box = drawn.bounding_box()
        assert len(places) == 12
        assert max(places) - min(places) > 0.7 * box["width"]
        window.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        window.keyboard.down("Shift")
        for _ in range(3):
            window.mouse.wheel(0, -300)
        until(
            window,
            "['Apr 6', 'Apr 13'].every(day => "
            "[...document.querySelectorAll('#time ~ * svg.marks text')].some(text => text.textContent === day))",
        )
