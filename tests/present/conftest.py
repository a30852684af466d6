"""Fixtures of several files."""

import pytest
from page_data import HOSTILE, NAMES, clicks

import streammetrics as sm
from streammetrics.html import page


@pytest.fixture(scope="module")
def report():
    acc = sm.binary(y_true="y", y_score={"old": "p", NAMES[1]: "p"}, by=HOSTILE, nulls="drop")
    return acc.update(clicks()).finalize()


@pytest.fixture
def undrawn(monkeypatch):
    """Charts without marks, and without the time that it takes to thin their lines, which tests of charts do."""
    monkeypatch.setattr("streammetrics.html.pictures.as_svg", lambda picture, identity, width: "<svg></svg>")
    monkeypatch.setattr("streammetrics.html.pictures._script", lambda picture, width: "<script>{}</script>")
    monkeypatch.setattr("streammetrics.charts.scripts", lambda: ["// draws charts"])
    monkeypatch.setattr("streammetrics.charts.ranking.thinned", lambda frame, x, y: frame)
    monkeypatch.setattr("streammetrics.charts.ranking.seen_apart", lambda *lines: True)


@pytest.fixture(scope="module")
def text(report):
    return page(report, title="Clicks </title><script>alert(3)</script>", source="clicks <2026>")
