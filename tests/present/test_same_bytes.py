"""Pages depend on their content alone."""

import re

import numpy as np
import pytest

import streammetrics as sm


@pytest.mark.thorough
def test_pages_are_equal_to_the_byte_however_many_were_written_before(tmp_path):
    random = np.random.default_rng(0)
    rows = {
        "y": random.integers(0, 2, 600),
        "a": random.random(600),
        "b": random.random(600),
        "g": ["clip12", "x"] * 300,
    }
    report = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, by="g").update(rows).finalize(confidence=0.95)
    pages = []
    for i in range(2):
        report.save_html(tmp_path / f"report{i}.html")
        report.compare("a", "b").save_html(tmp_path / f"comparison{i}.html")
        written = [(tmp_path / f"{name}{i}.html").read_text(encoding="utf-8") for name in ("report", "comparison")]
        pages.append([re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", text) for text in written])  # of the page
    assert pages[0] == pages[1]
    text = pages[0][0]
    used, made = (set(re.findall(pattern, text)) for pattern in (r"url\(#([^)]*)\)", r'<clipPath id="([^"]*)"'))
    assert used
    assert used <= made
    assert "clip12" in text
