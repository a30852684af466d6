"""The page in a real browser: sorted, filtered, printed, without errors."""

import polars as pl
import pytest
from data import CANDIDATES, CLICKS, candidates, clicks
from outputs import page
from pages import opening, until

import streammetrics as sm

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report():
    """Two models, and 200 groups whose column and some names are hostile."""
    names = [HOSTILE, "a & b", "</table></svg></script>", "", *(f"shop {i:03d}" for i in range(196))]
    rows = clicks().with_columns(pl.Series(HOSTILE, names * 20))
    models = CLICKS | {"y_score": {"old": "score", "\"'><img src=x onerror=alert(2)>": "score"}}
    return sm.binary(by=HOSTILE, **models).update(rows).finalize()


def html(report, folder, **options):
    report.save_html(folder / "written.html", **options)
    return (folder / "written.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(report, tmp_path_factory):
    return html(report, tmp_path_factory.mktemp("page"), title="Clicks </title><script>alert(3)</script>")


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
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_charts_are_drawn_and_nothing_is_wider_than_the_window(opened, width, scheme):
    for kind in ("drift", "history"):
        assert opened(width, text=page(kind)).evaluate("document.documentElement.scrollWidth") == width
    window = opened(width, color_scheme=scheme)
    assert window.evaluate("document.documentElement.scrollWidth") == width
    boxes = window.evaluate("[...document.querySelectorAll('figure:not([hidden]) > svg')].map(s => s.getBBox().height)")
    assert len(boxes) >= 8
    assert min(boxes) > 50
    assert window.evaluate("getComputedStyle(document.querySelector('path[stroke=\"#0072B2\"]')).stroke") == (
        "rgb(0, 114, 178)" if scheme == "light" else "rgb(86, 180, 233)"
    )


@pytest.mark.browser
@pytest.mark.thorough
def test_charts_of_an_interactive_page_are_drawn_by_scripts(opened, report, tmp_path):
    """Its policy lets no script be made of text, so an interpreter reads the expressions of charts."""
    window = opened(text=html(report.rollup("model"), tmp_path, interactive=True))
    window.wait_for_selector('.vega svg path[stroke="#0072B2"]')
    drawn = window.locator(".vega svg.marks").count()
    assert drawn == window.locator("figure:not(.explorer *)").count() >= 8
    assert window.locator(".explorer figure > svg").count() == 2  # which has an interaction of its own
    calibration = window.locator("figure", has=window.get_by_text("Calibration in bins of equal size"))
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
        assert values == pytest.approx(known.head(len(values)).to_list(), abs=1e-6)
        assert len(values) > 40
    window.get_by_role("button", name=HOSTILE).first.click()
    assert button.locator("xpath=..").get_attribute("aria-sort") == "none"
    assert [name for name in column(window, 0) if name.startswith("shop")][:3] == ["shop 000"] * 2 + ["shop 001"]


@pytest.mark.browser
def test_groups_are_filtered(opened):
    window = opened()
    field = window.get_by_label("Filter groups")
    field.fill("SHOP 01 old")
    wanted = [name for name in (f"shop {i:03d}" for i in range(196)) if "01" in name]
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
    last = report.rows("roc_auc").filter(model="old").sort("value", descending=True)[HOSTILE].drop_nulls()[0]
    until(window, f"[...document.querySelectorAll('.filter + .scroll tbody')][0].innerText.includes('{last}')")
    assert window.locator("table[aria-rowcount='401']").count() == 1
    window.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert len(column(window, 0)) == 400
    assert window.get_by_text("ScoreHistogram(").is_visible()  # on paper, the specification is unfolded
    window.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert not window.get_by_text("ScoreHistogram(").is_visible()


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


@pytest.mark.browser
def test_verdicts_of_a_gate_are_seen_on_a_phone(opened, tmp_path):
    acc = sm.binary(by="g", **CANDIDATES).update(candidates().rename({"country": "g"}))
    found = sm.compare(acc, models=("old", "new"))
    window = opened(380, text=html(found, tmp_path, check=found.check(not_worse={"brier_score": 0.02})))
    cell = window.locator("[aria-label='table of requirements'] td", has_text="holds").first.bounding_box(timeout=5_000)
    assert cell["x"] + cell["width"] <= 380


@pytest.mark.browser
def test_rows_on_a_phone_are_low_and_the_edges_of_a_larger_table_fade(opened):
    window = opened(390, text=page("drift"))
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
    path.write_text(text if kind == "evaluation" else page(kind), encoding="utf-8")
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
    window = opened(width=794, text=page("two classes"))  # of an A4 page
    window.emulate_media(media="print")
    window.evaluate("window.dispatchEvent(new Event('beforeprint'))")  # unfolds the other metrics
    assert window.evaluate("document.querySelector('.wide').rows[0].cells.length") > 12
    heads = window.locator(".wide").first.locator("thead th")
    assert heads.evaluate_all("heads => heads.filter(head => head.getClientRects().length).length") == 12
    assert window.get_by_text("Printed: the first 12 of").first.is_visible()
    assert window.evaluate("document.documentElement.scrollWidth") <= 794
