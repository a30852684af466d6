"""The page in a real browser: sorted, filtered, printed, without errors."""

import math
from datetime import date

import pytest
from page_data import HOSTILE, NAMES, clicks
from pages import opening, until

import streammetrics as sm
from streammetrics.charts.groups import worst_first
from streammetrics.html import drift_page, page
from streammetrics.present.html import as_html, filtered
from streammetrics.present.page import Section, page_of
from streammetrics.present.table import Cell, Column, Table, columns


@pytest.fixture
def opened(browser, text, tmp_path):
    """Write a page, by default that of the report, and open it."""
    path = tmp_path / "page.html"
    with opening(browser, path) as open_page:

        def open_text(width=1280, text=text, **options):
            path.write_text(text, encoding="utf-8")
            return open_page(width, **options)

        yield open_text


def column(window, number):
    """The cells of a column of the table of groups that can be seen."""
    return window.evaluate(
        """number => [...document.querySelectorAll(".filter + .scroll tbody")[0].rows].filter(r => r.cells.length)
        .map(r => r.cells[number].dataset.v ?? r.cells[number].textContent)""",
        number,
    )


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_and_nothing_is_wider_than_the_window(opened, width, scheme):
    window = opened(width, color_scheme=scheme)
    assert window.evaluate("document.documentElement.scrollWidth") == width
    boxes = window.evaluate("[...document.querySelectorAll('figure > svg')].map(s => s.getBBox().height)")
    assert len(boxes) >= 9
    assert min(boxes) > 50
    assert window.evaluate("getComputedStyle(document.querySelector('path[stroke*=c0]')).stroke") == (
        "rgb(0, 114, 178)" if scheme == "light" else "rgb(86, 180, 233)"
    )


@pytest.mark.browser
@pytest.mark.thorough
def test_charts_of_an_interactive_page_are_drawn_by_scripts(opened, report):
    """Its policy lets no script be made of text, so an interpreter reads the expressions of charts."""
    window = opened(text=page(report.rollup("model"), interactive=True))
    window.wait_for_selector(".vega svg path[stroke*=c0]")
    drawn = window.locator(".vega svg.marks").count()
    assert drawn == window.locator("figure").count() >= 9
    calibration = window.locator("figure", has=window.get_by_text("Calibration in bins of equal width"))
    point = calibration.locator("path[aria-label]")
    point.last.scroll_into_view_if_needed()
    box = point.last.bounding_box()
    window.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    window.wait_for_selector("#vg-tooltip-element.visible")
    assert "mean score" in window.locator("#vg-tooltip-element").inner_text()


@pytest.mark.browser
def test_columns_are_sorted_with_the_keyboard(opened, report):
    window = opened()
    button = window.get_by_role("button", name="roc_auc").first
    for wanted, reverse in (("ascending", False), ("descending", True)):
        button.press("Enter")
        assert button.locator("xpath=..").get_attribute("aria-sort") == wanted
        values = [float(v) for v in column(window, 3) if v != "–"]
        known = report.rows("roc_auc").drop_nulls("value")["value"].sort(descending=reverse)
        assert values == pytest.approx(known.head(len(values)).to_list())
        assert len(values) > 40
    window.get_by_role("button", name=HOSTILE).first.click()
    assert button.locator("xpath=..").get_attribute("aria-sort") == "none"
    assert [name for name in column(window, 0) if name.startswith("shop")][:3] == ["shop 000"] * 2 + ["shop 001"]


@pytest.mark.browser
def test_groups_are_filtered(opened):
    window = opened()
    field = window.get_by_label("Filter groups")
    field.fill("SHOP 01 old")
    wanted = [name for name in (f"shop {i:03d}" for i in range(193)) if "01" in name]
    assert sorted(column(window, 0)) == wanted
    assert window.locator("output").first.inner_text() == f"{len(wanted)} of 400"
    field.fill("<script>")
    assert set(column(window, 0)) == {HOSTILE}
    field.fill("")
    assert window.locator("output").first.inner_text() == "400 of 400"


@pytest.mark.browser
def test_rows_out_of_sight_are_not_in_the_document(opened, report):
    window = opened()
    assert 40 < len(column(window, 0)) < 200
    window.evaluate("document.querySelector('.filter + .scroll').scrollTop = 1e6")
    last = worst_first(report.rows("roc_auc"), report.by[0], report.find("roc_auc"), report.confidence)[-1]
    until(window, f"[...document.querySelectorAll('.filter + .scroll tbody')][0].innerText.includes('{last}')")
    assert window.locator("table[aria-rowcount='401']").count() == 1
    window.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert len(column(window, 0)) == 400
    assert window.get_by_text("ScoreHistogram(").is_visible()  # on paper, the specification is unfolded
    window.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert not window.get_by_text("ScoreHistogram(").is_visible()


@pytest.mark.browser
def test_few_rows_have_no_filter(opened):
    for size in (7, 8):
        made = filtered(Table([Column("a", "head")], [[Cell(f"{i}")] for i in range(size)], "Rows"), "rows")
        window = opened(text=page_of("Rows", "", [Section("all", "All", made)]))
        assert window.get_by_label("Filter rows").is_visible() == (size == 8)


@pytest.mark.browser
def test_any_number_can_be_read_by_the_script(opened):
    made = Table(columns("a", "b"), [[Cell(f"{i}"), Cell("-∞", -math.inf)] for i in range(300)], "Numbers")
    window = opened(text=page_of("Numbers", "", [Section("all", "All", as_html(made, sortable=True))]))
    window.get_by_role("button", name="b").click()
    assert window.locator("tbody tr").count() > 100


@pytest.mark.browser
@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("size", [2, 4, 7])
def test_charts_have_the_same_width(opened, media, size):
    figures, columns = "".join("<figure></figure>" for _ in range(size)), 3 if size == 7 else 2
    window = opened(
        text=page_of("Charts", "", [Section("all", "All", f'<div class="charts of{columns}">{figures}</div>')])
    )
    window.emulate_media(media=media)
    widths = [round(figure.bounding_box()["width"]) for figure in window.locator("figure").all()]
    columns = 2 if media == "print" else columns
    assert max(widths) - min(widths) <= 1
    assert widths[0] == pytest.approx(window.locator(".charts").bounding_box()["width"] / columns, abs=10)


@pytest.mark.browser
def test_long_texts_are_wrapped_in_any_row(opened):
    note = "a note that is longer than a column should be"
    rows = [[Cell(f"{i}"), Cell(note)] for i in range(400)]
    made = filtered(Table([Column("n", "head"), Column("note")], rows), "n")
    window = opened(text=page_of("Long", "", [Section("long", "Long", made)]))
    for scrolled in (0, 1e6):
        window.evaluate(f"document.querySelector('.scroll').scrollTop = {scrolled}")
        until(window, f"document.querySelector('.scroll').innerText.includes('{399 if scrolled else 0}')")
        assert window.locator("td:not(.prose):visible").count() == 0


@pytest.mark.browser
def test_all_that_can_be_operated_has_a_name(opened):
    window = opened()
    unnamed = window.evaluate(
        """[...document.querySelectorAll("button, input, figure > svg")].filter(e => !(e.textContent.trim()
        || e.labels?.length || e.getAttribute("aria-labelledby"))).length"""
    )
    assert unnamed == 0
    assert window.get_by_role("img", name="ROC curve").count() == 1
    window.keyboard.press("Tab")
    assert window.evaluate("document.activeElement.className") == "skip"


def of_a_history(folder):
    """Four days of two groups."""
    days = [date(2026, 1, 1 + i % 4) for i in range(400)]
    rows = {
        "day": days,
        "g": ["a", "a", "b", "b", "b"] * 80,
        "y": [0, 1, 1, 0, 1] * 80,
        "p": [0.1, 0.9, 0.2, 0.8] * 100,
    }
    store = sm.MetricStore(folder, window="day")
    store.append(sm.binary(y_true="y", y_score="p", by=["day", "g"]).update(rows), batch_id="all")
    return store


def of_a_drift():
    """The page of a drift, with a group column."""
    one, other = (sm.binary(y_true="y", y_score="p", by=HOSTILE, nulls="drop").update(clicks()) for _ in range(2))
    found = sm.drift(one, other, confidence=0.9)
    return drift_page(found.metrics, ("January", NAMES[1]), "Drift", False, [], found.frame, found.frame)


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_of_a_comparison_is_wider_than_the_window(opened, width):
    window = opened(width, text=of_a_drift())
    assert window.evaluate("document.documentElement.scrollWidth") == width
    assert window.get_by_role("img", name="Distribution of scores").count() >= 1


@pytest.mark.browser
def test_verdicts_of_a_gate_are_seen_on_a_phone(opened, tmp_path):
    rows = {"y": [0, 1, 1, 0] * 50, "a": [0.6, 0.6, 0.4, 0.4] * 50, "b": [0.3, 0.6, 0.7, 0.4] * 50, "g": ["DE"] * 200}
    acc = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, by="g").update(rows)
    found = sm.compare(acc, models=("a", "b"))
    found.save_html(tmp_path / "gate.html", check=found.check(not_worse={"brier_score": 0.002}))
    window = opened(380, text=(tmp_path / "gate.html").read_text(encoding="utf-8"))
    cell = window.locator("[aria-label='table of requirements'] td", has_text="holds").bounding_box(timeout=5_000)
    assert cell["x"] + cell["width"] <= 380


@pytest.mark.browser
def test_rows_on_a_phone_are_low_and_the_edges_of_a_larger_table_fade(opened):
    window = opened(390, text=of_a_drift())
    box = window.locator("[aria-label='table of metrics']")
    heights = box.evaluate("box => [...box.querySelectorAll('tbody tr')].map(row => row.offsetHeight)")
    assert max(heights) < 2 * min(heights)
    faded = (
        "['--right', '--below'].map(edge => getComputedStyle("
        "document.querySelector('[aria-label=\"table of metrics\"]')).getPropertyValue(edge))"
    )
    assert window.evaluate(faded) == ["48px", "0px"]  # few rows need no box that scrolls down
    box.evaluate("box => { box.scrollTo(1e6, 1e6); }")
    until(window, f"{faded}.every(edge => edge === '0px')")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["evaluation", "drift", "history"])
def test_screen_readers_find_nothing_wrong(browser, text, tmp_path, scheme, kind):
    """By the rules of axe-core: names, roles, landmarks, contrast, the order of headings."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    path = tmp_path / "page.html"
    if kind == "history":
        of_a_history(tmp_path / "history").save_html(path, rules=[sm.Rule("roc_auc >= 0.8", over="2d", by="g")])
    else:
        path.write_text(text if kind == "evaluation" else of_a_drift(), encoding="utf-8")
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)  # axe is a script that the page does not allow
    window = context.new_page()
    window.goto(path.as_uri())
    found = axe.Axe().run(window).response["violations"]
    context.close()
    assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == []


@pytest.mark.browser
def test_everything_is_printed(opened):
    window = opened()
    window.emulate_media(media="print", color_scheme="dark")
    assert window.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert window.locator(".filter").first.is_hidden()
    assert window.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    rows = {"y": [0, 1, 1, 0] * 90, "p": [0.1, 0.9, 0.2, 0.8, 0.2, 0.7] * 60, "g": [3, 1, 2] * 120}
    few = page(sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize())
    window = opened(width=794, text=few)  # of an A4 page
    window.emulate_media(media="print")
    window.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # unfolds the other metrics
    assert window.evaluate("document.querySelector('.wide').rows[0].cells.length") > 12
    assert len([cell for cell in window.locator(".wide").first.locator("thead th").all() if cell.is_visible()]) == 12
    assert window.get_by_text("Printed: the first 12 of").first.is_visible()
    assert window.evaluate("document.documentElement.scrollWidth") <= 794
