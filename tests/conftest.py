"""Fixtures of several rooms."""

import importlib.util
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def browser():
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("Playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    quiet = "quic background-networking component-update sync gpu".split()
    arguments = ["--headless", "--no-sandbox", "--no-first-run", *(f"--disable-{name}" for name in quiet)]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        yield started
        started.close()


@pytest.fixture
def undrawn(monkeypatch):
    """Charts without marks, and without the time that it takes to simplify their lines, which tests of charts do."""
    monkeypatch.setattr("streammetrics.show.pages.pictures.as_svg", lambda chart, identity, width: "<svg></svg>")
    monkeypatch.setattr("streammetrics.show.pages.pictures.page_spec", lambda chart, **_: {})
    monkeypatch.setattr("streammetrics.show.charts.scripts", lambda: ["// draws charts"])
    monkeypatch.setattr("streammetrics.show.charts.paths.simplified", lambda frame, x, y: frame)
    monkeypatch.setattr("streammetrics.show.charts.paths.are_apart", lambda *lines: True)
