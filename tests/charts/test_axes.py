"""Scales and ends of axes, their numbers, and colors."""

import re
from pathlib import Path

import numpy as np
import pytest
from data import clicks
from drawn import clicked, scale

import streammetrics as sm


def of_scores(p, y=None, **options):
    if y is None:
        return sm.predictions(y_score="p").update({"p": p}).finalize()
    return sm.binary(y_true="y", y_score="p", **options).update({"y": y, "p": p}).finalize(confidence=0.95)


def test_skewed_scores_have_a_logarithmic_axis():
    uniform = np.linspace(0, 1, 4_000)
    low = 10.0 ** -np.linspace(1, 15, 500)
    zeros = np.append(np.zeros(2_000), 10 ** np.linspace(-5, -1, 18_000))
    for p, y, kind in (
        (uniform, None, "linear"),
        (uniform**4, None, "log"),
        (10 ** np.linspace(-5, -1, 20_000), None, "log"),
        (zeros, None, "log"),
        (np.append(np.zeros(10_000), zeros), None, "linear"),
        (np.append(low, 1 - low), [0] * 500 + [1] * 500, "linear"),  # all positives would be in the last bar
    ):
        assert scale(of_scores(p, y).plot.scores().x) == kind
    drawn = of_scores(zeros).plot.scores()
    assert "including those at 0" in drawn.subtitle
    assert 1e-5 <= drawn.x["scale"]["domain"][0] < 2e-5
    assert drawn.rows("line")["y"].gather_every(2, 1).sum() == pytest.approx(0.9, abs=0.02)


def test_axes_end_where_the_data_end():
    rng = np.random.default_rng(0)  # rare positives
    p, y = rng.beta(1, 40, 4_000), rng.random(4_000) < 0.02
    drawn = of_scores(p, y).plot.quantile_calibration()
    assert scale(drawn.x) == scale(drawn.y) == "sqrt"
    assert drawn.x["scale"]["domain"] == drawn.y["scale"]["domain"]
    assert drawn.x["scale"]["domain"][1] < 0.5
    useless, useful = np.arange(4_000) * 7919 % 4_001 / 4_001, np.arange(4_000) / 4_000
    labels = np.arange(4_000) >= 2_800
    ends = [of_scores(scores, labels).plot.pr().y["scale"]["domain"][1] for scores in (useful, useless)]
    assert ends[0] == 1 > ends[1]
    lifts = [of_scores(scores, labels).plot.lift().y["scale"]["domain"][1] for scores in (useful, useless)]
    assert lifts[0] > 3 > lifts[1]
    one = of_scores(np.linspace(1, 0, 100), np.arange(100) == 3).plot.pr()
    assert one.y["scale"]["domain"][1] == pytest.approx(1.1 / 4)
    models = {"y": [True, False] * 500, "p": useful[::4], "q": useful[::4] ** 2, "constant": [0.5] * 1_000}
    names = {name: name for name in ("p", "q", "constant")}
    plot = sm.binary(y_true="y", y_score=names).update(models).finalize().plot
    p, q, constant = (plot.scores(model=name).y["scale"]["domain"][1] for name in names)
    assert p < q == pytest.approx(0.17, abs=0.03)  # not flattened by the constant
    assert constant == pytest.approx(1.05)


def test_intervals_do_not_leave_the_plot():
    """That of a bin with few rows can be many times as long as the axis."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 60, 20_000).clip(max=0.09)
    report = of_scores(np.append(p, 0.15), np.append(rng.random(len(p)) < p, False))
    for chart, cut in (("calibration", True), ("quantile_calibration", False)):
        drawn = getattr(report.plot, chart)()
        longest = drawn.rows("interval")["y2"].max()
        assert (longest > 4 * drawn.y["scale"]["domain"][1]) == ("cut off" in drawn.caption) == cut
        assert drawn.layers["interval"]["mark"]["clip"]


def test_intervals_are_named_only_if_they_are_longer_than_the_dots():
    rows = clicks()
    for repeats, drawn in ((1, True), (100, False)):
        report = clicked(
            0.95, rows=rows.select("clicked", "score").sample(len(rows) * repeats, with_replacement=True, seed=0)
        )
        caption = report.plot.quantile_calibration().caption
        assert ("smaller than the dots" not in caption) == drawn
        assert "95% confidence intervals" in caption
    weighted = clicked(0.95, rows=rows.with_columns(w="score"), sample_weight="w").plot.quantile_calibration()
    assert {*weighted.layers} == {"reference", "line", "dot"}
    assert "intervals" not in weighted.caption


def test_charts_of_weights_name_weights():
    """Wherever charts of rows say rows."""
    report = clicked(rows=clicks().with_columns(w=2.0), sample_weight="w")
    for plot, weighted in ((report.plot, True), (clicked().plot, False)):
        below = plot.calibration().below
        titles = [
            below.y["title"],
            plot.scores().y["title"],
            plot.gain().x["title"],
            plot.confusion().rows("cell")["text"][0],
        ]
        assert ["weight" in title.lower() for title in titles] == [weighted] * 4, titles
        assert [bool(re.search(r"\brows", title.lower())) for title in titles] == [not weighted] * 4, titles
    errors = sm.regression(y_true="score", y_pred="score", sample_weight="w").update(clicks().with_columns(w=2.0))
    assert "weight" in errors.finalize().plot.rec().y["title"].lower()


@pytest.mark.thorough
def test_numbers_of_axes_are_round():
    for low, high, texts in (
        (-0.03, 0.07, "−0.02 0.00 0.02 0.04 0.06"),
        (0.0, 20_500.0, "0 5k 10k 15k 20k"),
        (0.0, 3e9, "0 500M 1B 1.5B 2B 2.5B 3B"),
        (1e-7, 2e-7, "1e-7 1.2e-7 1.4e-7 1.6e-7 1.8e-7 2e-7"),
    ):
        rows = {"y": [0.0] * 101, "p": np.linspace(low, high, 101)}
        shown = sm.regression(y_true="y", y_pred="p").update(rows).finalize().plot.errors().texts
        assert shown[: len(texts.split())] == texts.split()
    assert of_scores(10 ** np.linspace(-4, 0, 4_000)).plot.scores().texts[:5] == ["0.001", "0.01", "0.1", "Score", "0%"]
    assert clicked().plot.det().texts[:3] == ["0.1%", "5%", "50%"]


def test_colours_stand_out(tmp_path):
    """At least 3 to 1 against the page, as WCAG 2 asks of graphics."""
    names = {f"m{i}": "score" for i in range(6)}
    drawn = clicked(y_score=names, rows=clicks()[:100]).plot.roc()
    colours = drawn.layers["line"]["encoding"]["color"]["scale"]["range"]
    assert drawn.layers["line"]["encoding"]["color"]["legend"]["symbolType"] == "stroke"
    style = (Path(sm.__file__).parent / "show" / "tables" / "page.css").read_text(encoding="utf-8")
    light_page, dark_page, print_page = (
        [f"#{c * (6 // len(c))}" for c in re.findall(r"--c\d: #(\w+);", line)]
        for line in style.splitlines()
        if "--c0:" in line
    )
    assert light_page == print_page == [colour.lower() for colour in colours]
    assert len({*colours}) == len({*dark_page}) == 6

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for shown, paper in ((light_page, "#ffffff"), (dark_page, "#1a1e24")):
        for colour in shown:
            light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3
