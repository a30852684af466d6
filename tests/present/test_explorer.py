"""The threshold explorer: its counts are exact, its numbers those of tables, and it works by keyboard and on paper."""

import csv
import json
import math
import re
import shlex
from io import StringIO

import numpy as np
import pytest
from commands import run
from data import candidates, clicks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import page, report
from pages import opening
from structure import Page

import streammetrics as sm
from streammetrics.base import amount, minus, percentage
from streammetrics.show.pages.explorer import thresholds_section
from streammetrics.show.tables.page import resource
from streammetrics.show.tables.thresholds import threshold_cell

HOSTILE = "'; touch </script><img src=x onerror=alert(1)> $(touch b)"
SCORES = {
    "ties": lambda rng, size: rng.integers(0, 12, size) / 12,
    "distinct": lambda rng, size: rng.random(size),
    "rare": lambda rng, size: rng.beta(0.05, 8, size),
    "real": lambda rng, size: rng.choice([-np.inf, np.inf, *rng.normal(size=20 * size)], size),
}


def explored(text):
    """What the script of the explorer reads."""
    [data] = re.findall(
        r'<div class="explorer card">.*?<script type="application/json">(.*?)</script>', text, re.DOTALL
    )
    return json.loads(data)


@pytest.mark.thorough
@pytest.mark.usefixtures("undrawn")
@settings(max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([*SCORES]), st.booleans(), st.integers(2, 600), st.sampled_from([72, 4096]), st.integers(0, 2**32)
)
def test_counts_are_those_of_the_rows(scores, weighted, size, capacity, seed):
    rng = np.random.default_rng(seed)
    p, y = SCORES[scores](rng, size), rng.random(size) < 0.3
    y[:2] = True, False
    w = rng.choice([0.25, 1.0, 3.7], size) if weighted else np.ones(size, dtype=np.int64)
    options = {"sample_weight": "w"} if weighted else {}
    options |= {"domain": "real"} if scores == "real" else {}
    task = sm.binary(y_true="y", y_score="p", thresholds=[0.3, 0.7], capacity=capacity, **options)
    total = task.update({"y": y, "p": p, "w": w}).finalize()
    data = explored(thresholds_section(total).content)
    [series] = data["series"]
    assert (series["rows"], series["positives"]) == pytest.approx((w.sum(), w[y].sum()), rel=1e-12)
    thresholds = [float(threshold) for threshold, *_ in series["points"]]
    assert thresholds == sorted({*thresholds})
    assert {0.3, 0.7} <= {*thresholds}
    assert len(thresholds) <= 240
    for threshold, (_, predicted, true) in zip(thresholds, series["points"], strict=True):
        counts = w[p >= threshold].sum(), w[y & (p >= threshold)].sum()
        assert (predicted, true) == (pytest.approx(counts, rel=1e-12, abs=1e-12) if weighted else counts)
    shares = {data["choices"][choice][1]: series["points"][point][1] for choice, point in series["places"]}
    for top in (0.01, 0.05, 0.2):
        reached = [w[p >= t].sum() for t in p if w[p >= t].sum() <= top * w.sum() * (1 + 1e-9)]
        if capacity > size and reached:
            assert shares[f"{top:.0%}"] == pytest.approx(max(reached))


@pytest.mark.thorough
def test_points_are_denser_where_curves_change():
    """A step of the slider moves the line, or one of the shares, by a small part of its range."""
    [series] = explored(page("two classes"))["series"]
    points = np.array(series["points"], dtype=float)
    assert 200 < len(points) <= 240
    shares = points[:, 1:] / [series["rows"], series["positives"]]
    assert np.abs(np.diff(shares, axis=0)).max() < 0.02


@pytest.mark.thorough
def test_several_models_have_explorers_of_few_points_each_and_many_have_a_table():
    data = explored(page("two models"))
    assert [series["name"] for series in data["series"]] == ["old", "new"]
    assert sum(len(series["points"]) for series in data["series"]) <= 240
    scores = {f"model {i}": "new" for i in range(4)}
    many = sm.binary(y_true="clicked", y_score=scores).update(candidates()).finalize()
    section = thresholds_section(many)
    assert not section.resources
    assert len(Page(section.content).tables["Candidate thresholds"].rows) == 4 * 13
    assert thresholds_section(report("no rows").rollup()) is None
    assert thresholds_section(report("classes").rollup()) is None


@pytest.mark.thorough
def test_an_explorer_without_its_chart_and_table_takes_30_kb():
    text = page("two models")
    content = text[text.index('<div class="explorer') : text.index('<details class="candidates"')]
    content = re.sub("<svg.*?</svg>", "", content, flags=re.DOTALL)
    assert len(content) + len(resource("explorer.js")) + len(resource("explorer.css")) < 30_000
    assert resource("explorer.js") not in page("classes")


@pytest.fixture
def opened(browser, tmp_path):
    path = tmp_path / "page.html"
    with opening(browser, path) as open_page:

        def open_text(text, width=1280, **options):
            path.write_text(text, encoding="utf-8")
            window = open_page(width, **options)
            for folded in window.locator("summary", has_text="Decisions").all():
                folded.click()
            return window

        yield open_text


def html(total, folder):
    total.save_html(folder / "written.html")
    return (folder / "written.html").read_text(encoding="utf-8")


def counts(window):
    """The confusion counts that are shown."""
    texts = (window.locator(f"[data-count={cell}]").inner_text() for cell in ("tp", "fp", "fn", "tn"))
    return tuple(int(text.replace(",", "")) for text in texts)


def counted(threshold, score="score", rows=None):
    rows = clicks() if rows is None else rows
    y, chosen = rows["clicked"], rows[score] >= threshold
    return tuple(int(each.sum()) for each in (y & chosen, ~y & chosen, y & ~chosen, ~y & ~chosen))


@pytest.mark.browser
def test_numbers_are_written_as_in_tables(opened):
    window = opened(page("two classes"))
    rng = np.random.default_rng(3)
    small = 10.0 ** -rng.uniform(0, 8, 100)
    shares = [0.0, 1.0, 0.5, 0.12125, 0.12375, 1e-9, 1e-17, 0.00125, *rng.random(200), *small, *(1 - small)]
    amounts = [0, 7, 99.5, 100.5, 101.5, 1234567, 0.123456, 12.345, 1e-7, *(10.0 ** rng.uniform(-3, 9, 200))]
    cuts = [0.5, 0.15625, 0.99968, -4.5, 0.00001234, 12345.678, math.inf, *rng.normal(size=200), *(1 - small)]
    for name, values, form in (
        ("percentage", shares, percentage),
        ("amount", amounts, amount),
        ("cutoff", cuts, lambda threshold: minus(threshold_cell(threshold, 4).text)),
    ):
        written = window.evaluate(f"values => values.map((value) => Numbers.{name}(value))", list(map(float, values)))
        assert written == [form(value) for value in values]


@pytest.mark.browser
def test_the_slider_and_the_buttons_work_by_keyboard(opened):
    window = opened(page("two classes"))
    slider, [series] = window.get_by_role("slider", name="Threshold"), explored(page("two classes"))["series"]
    assert counts(window) == counted(0.5)
    sentence = window.locator(".sentence")
    for key, point in (("Home", 0), ("ArrowRight", 1), ("End", -1), ("ArrowLeft", -2)):
        slider.press(key)
        threshold = float(series["points"][point][0])
        tp, fp, fn, _ = counted(threshold)
        assert counts(window) == counted(threshold)
        shares = percentage((tp + fp) / clicks().height), percentage(tp / (tp + fn))
        assert sentence.inner_text() == f"Acts on {shares[0]} of the rows and reaches {shares[1]} of the positives."
        assert slider.get_attribute("aria-valuetext") == f"{threshold_cell(threshold, 4).text}. {sentence.inner_text()}"
    best = report("two classes").rollup().operating_point(maximize="f1")
    button = window.get_by_role("button", name="F1", exact=True)
    button.press("Enter")
    assert counts(window) == best.select("tp", "fp", "fn", "tn").row(0)
    assert button.get_attribute("aria-pressed") == "true"
    window.get_by_role("group", name="Highest scores").get_by_role("button", name="20%").press("Space")
    assert counts(window)[0] + counts(window)[1] <= 0.2 * clicks().height
    assert button.get_attribute("aria-pressed") == "false"


@pytest.mark.browser
def test_values_of_curves_are_read_at_the_pointer_and_a_click_chooses_them(opened):
    window = opened(page("two classes"))
    readout, before = window.locator(".readout"), counts(window)
    first = readout.inner_text()
    surface = window.locator(".explorer [pointer-events]")
    surface.scroll_into_view_if_needed()
    box = surface.bounding_box()
    window.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 9)
    assert readout.inner_text() != first
    assert counts(window) == before
    hovered = readout.inner_text()
    window.mouse.down()
    window.mouse.up()
    window.mouse.move(0, 0)
    assert readout.inner_text() == hovered
    assert counts(window) != before


@pytest.mark.browser
def test_what_is_copied_gives_the_counts_that_are_shown(opened, tmp_path):
    names = {HOSTILE: "new", "old": "old"}
    task = sm.binary(y_true="clicked", y_score=names, by="country").update(candidates())
    total = task.finalize()
    window = opened(html(total, tmp_path))
    assert window.locator("select option").all_inner_texts() == [HOSTILE, "old"]
    task.save(tmp_path / "evaluation.state")
    for model, score in names.items():
        window.get_by_label("Model", exact=True).select_option(model)
        window.get_by_role("button", name="10×", exact=True).click()
        tp, fp, fn, _ = counts(window)
        window.get_by_role("button", name="Copy as Python").click()
        first, last = window.locator("#copied").input_value().splitlines()
        scope = {"report": total}
        exec(first, scope)
        assert [e.value for e in eval(last, scope)] == pytest.approx([tp / (tp + fp), tp / (tp + fn)])
        window.get_by_role("button", name="Copy as command").click()
        name, *arguments = shlex.split(window.locator("#copied").input_value())
        arguments[arguments.index("evaluation.state")] = tmp_path / "evaluation.state"
        assert name == "streammetrics"
        values = {row["metric"]: row["value"] for row in json.loads(run(*arguments, "--format", "json"))}
        assert values == pytest.approx({"precision": tp / (tp + fp), "recall": tp / (tp + fn)})
        with window.expect_download() as download:
            window.get_by_role("button", name="Download CSV").click()
        for point in csv.DictReader(StringIO(download.value.path().read_text(encoding="utf-8"))):
            cells = tuple(int(point[cell]) for cell in ("tp", "fp", "fn", "tn"))
            assert cells == counted(float(point["threshold"]), score, candidates())


@pytest.mark.browser
def test_readers_without_scripts_and_paper_have_the_table(opened):
    window = opened(page("two classes"), java_script_enabled=False)
    assert window.get_by_text("lowest cost, if a miss costs 10 false alarms").is_visible()
    assert window.locator(".explorer svg").is_visible()
    assert not window.locator(".controls").is_visible()
    window = opened(page("two classes"))
    assert not window.get_by_text("lowest cost, if a miss costs 10 false alarms").is_visible()
    window.get_by_role("button", name="F1", exact=True).click()
    window.emulate_media(media="print")
    window.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert counts(window) == counted(0.5)
    assert window.get_by_text("lowest cost, if a miss costs 10 false alarms").is_visible()
    assert not window.get_by_role("slider").is_visible()
    window.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert counts(window) != counted(0.5)


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["two classes", "two models", "labels", "weights and units"])
def test_an_explorer_fits_a_phone(opened, kind):
    window = opened(page(kind), width=380)
    assert window.evaluate("document.documentElement.scrollWidth") == 380
    assert window.locator(".sentence").is_visible()
    assert window.locator(".explorer figure:visible").count() == 1
    assert window.get_by_role("button", name="Copy as command").is_visible() == (kind != "labels")
