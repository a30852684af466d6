"""Axes, colours, and thinned lines of charts."""

import re
from importlib import resources

import numpy as np
import polars as pl
import pytest
from chart_data import away, heights, labels, layer, rng

import streammetrics as sm
from streammetrics import charts
from streammetrics.charts.picture import COLOURS, MOST, Axis, Picture, line
from streammetrics.charts.thinning import HALF_A_PIXEL, needed, thinned


@pytest.mark.parametrize(
    "points",
    [
        np.column_stack([np.linspace(0, 1, 500), np.sort(rng.random(500))]),
        np.column_stack([np.linspace(0, 1, 500), rng.random(500)]),
        np.column_stack([np.repeat(np.linspace(0, 1, 50), 2), np.sort(rng.random(100))]),
        rng.random((300, 2)),
        np.array([[0, 0], [1, 1], [0, 0], [1, 0]]),
        np.zeros((5, 2)),
        np.zeros((1, 2)),
        np.zeros((0, 2)),
    ],
    ids=["rising", "noise", "steps", "anywhere", "back and forth", "one place", "one point", "nothing"],
)
@pytest.mark.parametrize("tolerance", [HALF_A_PIXEL, 0.05])
def test_dropped_points_lie_on_the_line_that_is_left(points, tolerance):
    kept = needed(points[:, 0].astype(float), points[:, 1].astype(float), tolerance)
    if len(points):
        assert kept[0]
        assert kept[-1]
    if kept.sum() > 1:
        assert away(points.astype(float), points[kept].astype(float)).max() <= tolerance * (1 + 1e-9)


def test_a_smooth_curve_needs_few_points():
    x = np.linspace(0, 1, 20_000)
    frame = pl.DataFrame({"series": ["a"] * len(x), "x": x, "y": x**0.3})
    assert thinned(frame, Axis("x"), Axis("y")).height < 100


@pytest.mark.parametrize(("zeros", "scale"), [(0, "log"), (0.1, "log"), (0.5, "linear")])
def test_a_logarithmic_axis_can_lack_a_few_rows_at_zero(zeros, scale):
    random = np.random.default_rng(0)
    p = np.where(random.random(20_000) < zeros, 0, 10 ** random.uniform(-5, -1, 20_000))
    picture = charts.scores(sm.predictions(y_score="p").update({"p": p}).finalize())
    assert picture.x.scale == scale
    assert ("lie outside this range, including those at 0" in picture.subtitle) == (zeros == 0.1)
    if scale == "log":
        assert 1e-5 <= picture.x.low < 2e-5
        assert heights(picture, "all rows")[1].sum() == pytest.approx(1 - zeros, abs=0.02)


def test_dots_at_the_end_of_an_axis_are_whole_and_those_beyond_are_not_drawn():
    places = pl.DataFrame({"series": ["all rows"] * 4, "x": [0.0, 0.5, 1.0, 1.2], "y": [0.0, 0.5, 1.0, 1.0]})
    dots = charts.Layer("dot", places.with_columns(text=pl.lit("a bin")))
    picture = charts.Picture("Dots", charts.Axis("x"), charts.Axis("y"), [dots], ("all rows",))
    for explore, drawn in ((False, 3), (True, 4)):
        [dots] = (
            part
            for part in charts.for_page(picture, explore)["layer"]
            if part["mark"]["type"] == "point" and part["mark"].get("filled")
        )
        assert dots["mark"]["clip"] == explore
        assert len(dots["data"]["values"]) == drawn


def test_low_precision_and_lift_fill_the_plot():
    random = np.random.default_rng(0)
    rows = {"y": random.random(4_000) < 0.3, "p": random.random(4_000), "q": random.random(4_000) / 2}
    rows["q"][rows["y"]] *= 2
    report = sm.binary(y_true="y", y_score={"none": "p", "some": "q"}).update(rows).finalize()
    assert charts.pr(report).y.high == charts.pr(report, model="some").y.high == 1
    assert charts.lift(report, model="some").y.high > 3 > charts.lift(report, model="none").y.high
    rare = sm.binary(y_true="y", y_score="p").update(
        {"y": [False] * 3 + [True] + [False] * 96, "p": np.linspace(1, 0, 100)}
    )
    assert charts.pr(rare.finalize()).y.high == pytest.approx(1.1 / 4)


@pytest.mark.parametrize("chart", [charts.calibration, charts.quantile_calibration])
def test_intervals_do_not_leave_the_plot(chart):
    """The interval of a bin with few rows can be many times as long as the axis."""
    random = np.random.default_rng(0)
    p = random.beta(1, 60, 20_000).clip(max=0.09)
    rows = {"y": np.append(random.random(len(p)) < p, False), "p": np.append(p, 0.15)}
    rare = sm.binary(y_true="y", y_score="p").update(rows).finalize(confidence=0.95)
    picture = chart(rare)
    longest = layer(picture, "interval")["y2"].max()
    assert (longest > 4 * picture.y.high) == (chart is charts.calibration) == ("cut off" in picture.caption)
    assert "95% confidence intervals" in picture.caption
    assert float(charts.as_svg(picture, "c").partition('viewBox="')[2].split()[3].strip('">')) < 420


def test_uniform_scores_have_a_linear_axis_and_skewed_ones_a_logarithmic_one():
    uniform = rng.random(4_000)
    for scores, scale in ((uniform, "linear"), (uniform**4, "log")):
        assert charts.scores(sm.predictions(y_score="p").update({"p": scores}).finalize()).x.scale == scale


def test_scores_near_both_ends_have_a_linear_axis():
    """A logarithmic one would have all positives in its last bar."""
    low = 10.0 ** -np.linspace(1, 15, 500)
    rows = {"y": [0] * 500 + [1] * 500, "p": np.concatenate([low, 1 - low])}
    assert charts.scores(sm.binary(y_true="y", y_score="p").update(rows).finalize()).x.scale == "linear"


def test_counts_start_at_zero(report):
    below = charts.calibration(report).below
    assert below.y.low == 0
    assert layer(below, "line")["y"].min() == 0


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (Axis("x", -0.03, 0.07), ["−0.02", "0.00", "0.02", "0.04", "0.06"]),
        (Axis("x", 0.0, 20_500.0), ["0", "5k", "10k", "15k", "20k"]),
        (Axis("x", 1e-4, 1.0, "log"), ["0.0001", "0.001", "0.01", "0.1", "1"]),
        (Axis("x", 0.015, 0.3, "log"), ["0.02", "0.05", "0.1", "0.2"]),
        (Axis("x", 1e-3, 0.99, "probit", percent=True), ["0.1%", "5%", "50%", "95%"]),
        (Axis("x", 0.0, 0.1, percent=True), ["0%", "2%", "4%", "6%", "8%", "10%"]),
    ],
)
def test_axes_are_marked_at_round_numbers(axis, expected):
    assert labels(Picture("t", axis, Axis("y"), [line((axis.low, axis.high), (0, 1))]))[: len(expected) + 1] == [
        *expected,
        "x",
    ]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-300), (1e300, 1.1e300), (-1e308, 1e308), (5.0, 5.0)])
def test_axes_of_extreme_values_have_numbers(low, high):
    svg = charts.as_svg(Picture("t", Axis("x", low, high), Axis("y"), [line((low, high), (0, 1))]), "c")
    assert not re.search("nan|inf", svg.lower())


def test_colours_stand_out():
    """At least 3 to 1 against the page, as WCAG 2 asks of graphics."""
    style = resources.files("streammetrics.present").joinpath("page.css").read_text(encoding="utf-8")
    light_page, dark_page, print_page = (
        tuple(f"#{c * (6 // len(c))}" for c in re.findall(r"--c\d: #(\w+);", line))
        for line in style.splitlines()
        if "--c0:" in line
    )
    assert light_page == print_page == tuple(colour.lower() for colour in COLOURS)
    assert len(dark_page) == MOST

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for colours, paper in ((light_page, "#ffffff"), (dark_page, "#1a1e24")):
        for colour in colours:
            light, dark = sorted((luminance(colour), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 3


def test_names_that_no_svg_can_have_are_escaped():
    """A renderer that meets them ends the program."""
    named = Picture("\ufffe", Axis("\x1b"), Axis("\uffff"), [line((0, 1), (0, 1))])
    assert {r"\x1b", r"\uffff"} <= set(labels(named))
