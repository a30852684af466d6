"""Photograph the HTML report of the demo for the README and docs/report.md: ``python docs/pictures/page.py``.

Requires Playwright and Chromium. Parts that docs/report.md explains have numbers.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import streammetrics as sm
from streammetrics.demo import write_predictions

FOLDER = Path(__file__).parent
SECTION = ":is(section:has(> h2#{0}), div#{0})"
PARTS = {
    "findings": (1200, []),
    "results": (1000, [".value b", ".sure", ".sure:nth-of-type(2)", ".value + .sure"]),
    "groups": (1000, ["figcaption h3", "figure .how", "tbody tr:nth-child(1) small"]),
    "curves": (1200, ["figure:nth-of-type(3) h3", "summary"]),
    "decision": (1200, ["output[for=threshold]", ".choices", ".drawn .readout", ".copies", ".candidates summary"]),
}
"""Width of the picture of each section, and the selectors of its parts in the order of their numbers."""
NUMBERED = """([section, selectors]) => selectors.forEach((selector, i) => {
  const mark = document.createElement("b"), text = document.createRange();
  text.selectNodeContents(section.querySelector(selector));
  const box = text.getBoundingClientRect();
  mark.textContent = i + 1;
  mark.style = `position: absolute; left: ${box.right + scrollX + 8}px;
    top: ${box.top + box.height / 2 + scrollY - 10}px; width: 20px; height: 20px; border-radius: 10px;
    background: #b00058; color: #fff; font: bold 13px/20px sans-serif; text-align: center; z-index: 9`;
  document.body.append(mark);
})"""
STYLE = """.cards { grid-template-columns: repeat(3, 1fr) !important } nav { display: none }
  section { padding: 2px 8px } h2 { margin-top: .4rem } body > b { margin: 0 }"""


def photograph(page: Page) -> None:
    """The top of the page as it is, and its sections with numbers."""
    page.screenshot(path=FOLDER / "page.png")
    page.add_style_tag(content=STYLE)
    page.locator("details:has(#f-groups) > summary").click()
    for name, (width, selectors) in PARTS.items():
        page.set_viewport_size({"width": width, "height": 900})
        section = page.locator(SECTION.format(name))
        page.evaluate(NUMBERED, [section.element_handle(), selectors])
        section.screenshot(path=FOLDER / f"report-{name}.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        files = write_predictions(folder / "predictions", rows=2_000_000)
        report = sm.evaluate(files, sm.binary(y_true="clicked", y_score="p_click", by="country"), confidence=0.95)
        report.save_html(folder / "clicks.html", title="Click predictions", source="predictions/*.parquet")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1090}, color_scheme="light")
        page.goto((folder / "clicks.html").as_uri())
        photograph(page)
        browser.close()
