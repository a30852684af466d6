"""Fixtures of several files."""

import pytest
from page_data import HOSTILE, NAMES, clicks

import streammetrics as sm
from streammetrics.html import page


@pytest.fixture(scope="module")
def report():
    acc = sm.binary(y_true="y", y_score={"old": "p", NAMES[1]: "p"}, by=HOSTILE, nulls="drop")
    return acc.update(clicks()).finalize()


@pytest.fixture(scope="module")
def text(report):
    return page(report, title="Clicks </title><script>alert(3)</script>", source="clicks <2026>")
