"""What notebooks show of everything that users print."""

import math
import re
from datetime import date

import numpy as np
import polars as pl
import pytest
from page_data import HOSTILE

import streammetrics as sm
from streammetrics.charts.estimates import said_with
from streammetrics.present.estimates import listed
from streammetrics.text.decimals import bounds, rounded, said

rng = np.random.default_rng(4)
ROWS = pl.DataFrame({"p": rng.random(600), "g": [HOSTILE, "a & b", None] * 200, "day": [date(2026, 1, 1)] * 600})
ROWS = ROWS.with_columns(y=pl.lit(pl.Series(rng.random(600))) < pl.col("p"), q=1 - pl.col("p"))


def acc(score="p", by="g"):
    return sm.binary(y_true="y", y_score=score, by=by).update(ROWS)


SHOWN = {
    "report": lambda: acc().finalize(confidence=0.95),
    "comparison": lambda: sm.compare(acc(), acc("q"), independent=True),
    "drift": lambda: sm.drift(acc(), acc("q")),
    "verdicts": lambda: acc().finalize().check("roc_auc >= 0.9"),
    "estimate": lambda: acc(by=()).finalize(confidence=0.95)["roc_auc"],
    "accumulator": acc,
}


@pytest.mark.parametrize("name", SHOWN)
def test_tables_have_their_styles_and_no_markup_of_names(name):
    text = SHOWN[name]()._repr_html_()
    assert text.startswith('<div class="streammetrics"><style>')
    assert "<table" in text
    assert "<script" not in text
    assert ("<ul" in text) == (name in ("comparison", "drift"))


def test_a_history_lists_its_newest_windows(tmp_path):
    pytest.importorskip("deltalake")
    store = sm.MetricStore(tmp_path / "history")
    assert "No history at " in store._repr_html_()
    store.append(acc(by=["day", "g"]), batch_id="1")
    assert re.search(r"2026-01-01</td><td[^>]*>3</td><td[^>]*>600<", store._repr_html_())


def test_estimates_are_printed_with_two_digits_of_their_uncertainty():
    shown = sm.Estimate(0.8541234, 0.85402, 0.854301, None, 0.84, 0.866)
    assert repr(shown) == "Estimate(value=0.85412, lower=0.85402, upper=0.85431, ci_lower=0.84, ci_upper=0.866)"
    assert (
        repr(sm.Estimate(None, None, None, "no rows")) == "Estimate(value=None, lower=None, upper=None, note='no rows')"
    )
    assert repr(sm.Estimate(1 / 3, 1 / 3, 1 / 3)) == "Estimate(value=0.333333, lower=0.333333, upper=0.333333)"
    assert repr(sm.Estimate(-76.81, -76.81, -76.81, None, -80.2, -69.7)) == (
        "Estimate(value=-76.81, lower=-76.81, upper=-76.81, ci_lower=-80.0, ci_upper=-70.0)"
    )
    assert repr(sm.Estimate(float("inf"), 2.0, float("inf"))) == "Estimate(value=inf, lower=2.0, upper=inf)"


def test_bounds_are_rounded_outward_wherever_they_are_a_range():
    rng = np.random.default_rng(0)
    for _ in range(500):
        size, wide, interval = 10.0 ** rng.uniform([-4, -7, -6], [4, 1, 2])
        lower = float(size * rng.normal())
        upper, value = lower + size * wide, lower + size * wide * float(rng.random())
        row = {
            "value": value,
            "lower": lower,
            "upper": upper,
            "ci_lower": value - interval,
            "ci_upper": value + interval,
        }
        charted = pl.DataFrame(row).select(said_with("lower", "upper")).item().partition("(")[2].rstrip(")")
        [cell] = listed([row | {"ci_lower": lower, "ci_upper": upper}])  # bounds by odds, before labels
        texts = [bounds(lower, upper), bounds(lower, upper, said(row)), *filter(None, (charted, cell.below))]
        ends = [map(float, text.replace(",", "").split(" to ")) for text in texts if text != "exact"]
        printed = rounded(row)
        for low, high in [*ends, (printed["lower"], printed["upper"])]:
            assert low <= lower or math.isclose(low, lower, rel_tol=1e-9)
            assert high >= upper or math.isclose(high, upper, rel_tol=1e-9)
    assert bounds(1.9999999, math.inf) == "1.999999 to ∞"


def test_the_finding_of_wide_bounds_contains_them():
    rows = {"y": [0] * 9 + [1] * 9, "p": [*np.linspace(0.1, 0.2, 9), *np.linspace(0.15, 0.9, 9)]}
    report = sm.binary(y_true="y", y_score="p", capacity=8).update(rows).finalize(["roc_auc"])
    auc, [finding] = report["roc_auc"], [f for f in report.findings() if f.code == "SM505"]
    half = float(re.search(r"± ([\d.]+)", str(finding))[1])
    assert auc.value - half <= auc.lower <= auc.upper <= auc.value + half
