"""Photograph the HTML report of the demo for the README: ``python docs/pictures/page.py`` (Playwright and Chromium)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import streammetrics as sm
from streammetrics.demo import write_predictions

PICTURE = Path(__file__).with_name("page.png")

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        files = write_predictions(folder / "predictions", rows=2_000_000)
        report = sm.evaluate(files, sm.binary(y_true="clicked", y_score="p_click", by="country"), confidence=0.95)
        report.save_html(folder / "clicks.html", title="Click predictions", source="predictions/*.parquet")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1090})
        page.goto((folder / "clicks.html").as_uri())
        page.screenshot(path=PICTURE)
        browser.close()
