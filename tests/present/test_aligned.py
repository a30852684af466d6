"""Tables no wider than asked, of which nothing is cut."""

import numpy as np
import polars as pl
import pytest

from streammetrics.present.aligned import aligned
from streammetrics.present.estimates import report_tables
from streammetrics.present.terminal import as_text
from streammetrics.text.decimals import bound, bounds, interval

HEADER = ("rule", "windows", "value", "verdict")
ROWS = [
    ("psi(of='y_score') <= 0.05 against 28d before", "2026-01-24 to 2026-01-30", "0.001", "holds"),
    ("enough: roc_auc >= 0.7", "2026-01-30", "0.8901", "too few rows (severity warn)"),
    ("roc_auc >= 0.7", "", "–", "undefined: no negatives"),
]


def render(frame, by, width=None):
    return as_text(*report_tables(frame, by, width), width=width)


def words(lines):
    return sorted(word for line in lines for word in line.split() if word.strip("─"))


@pytest.mark.parametrize("width", [30, 40, 50, 60, 70, 80, 100, 120, None])
def test_every_word_stays_whole_at_every_width(width):
    lines = aligned(HEADER, ROWS, (0, 1, 3), width)
    assert max(map(len, lines)) <= (width or 200)
    shown = [word for word in words(lines) if word not in HEADER]
    assert shown == sorted(word for row in ROWS for cell in row for word in cell.split())


def test_as_few_columns_as_possible_are_broken():
    lines = aligned(HEADER, ROWS, (0, 1, 3), 90)
    assert lines[2].startswith("psi(of='y_score') <=")
    assert "2026-01-24 to 2026-01-30  " in lines[2]
    assert lines[2].endswith("holds")
    assert aligned(HEADER, ROWS, (0, 1, 3), 1000) == aligned(HEADER, ROWS, (0, 1, 3))


def test_intervals_are_broken_into_two_lines():
    lines = aligned(("metric", "interval"), [("log_loss", "-0.00036 to 0.00037")], (0, 1), 22)
    assert [line.split() for line in lines[2:]] == [["log_loss", "-0.00036"], ["to", "0.00037"]]


def test_cells_below_each_other_leave_out_empty_ones():
    lines = aligned(HEADER, ROWS, (0, 1, 3), 40)
    assert lines[-3:] == ["rule     roc_auc >= 0.7", "value    –", "verdict  undefined: no negatives"]
    assert lines.count("") == 2


def test_texts_without_spaces_are_broken_anywhere():
    lines = aligned(("g", "roc_auc"), [("x" * 100, "0.5")], (0,), 40)
    assert max(map(len, lines)) <= 40
    assert "".join(lines).count("x") == 100
    assert lines[-1] == "roc_auc  0.5"


def groups(metrics, *names, confidence=None):
    """A report by groups with metrics whose values differ, except for those of "same"."""
    keys = {"g": [name for name in names for _ in metrics], "metric": [*metrics] * len(names)}
    frame = pl.DataFrame(keys).with_columns(
        value=pl.when(metric=pl.lit("same")).then(0.0).otherwise(pl.int_range(pl.len()) / 100)
    )
    limits = {"ci_lower": pl.col("value") - 0.01, "ci_upper": pl.col("value") + 0.01} if confidence else {}
    return frame.with_columns(lower="value", upper="value", **limits, note=pl.lit(None, pl.String))


@pytest.mark.parametrize("names", [("a b " * 20, "c"), ("x" * 100, "y" * 100)])
def test_a_metric_is_shown_beside_groups_of_any_length(names):
    shown = render(groups(["rows"], *names), ["g"], 40)
    assert "rows" in shown
    assert max(map(len, shown.splitlines())) <= 40


def test_long_keys_are_shortened_but_stay_different():
    names = [f"{'long_' * 20}{letter}" for letter in "abcdef"]
    header, _, *lines = render(groups(["roc_auc", "log_loss", "recall"], *names), ["g"], 80).splitlines()
    assert header.split() == ["g", "roc_auc", "log_loss", "recall"]
    assert len({line.split()[0] for line in lines}) == 6
    assert all("…" in line.split()[0] for line in lines)


def test_what_says_least_yields_to_other_metrics():
    metrics = ["same", "average_precision", "pr_auc", *(f"metric_{i}" for i in range(9))]
    shown = render(groups(metrics, *"abcdef"), ["g"], 60).splitlines()
    assert shown[0].split() == ["g", "average_precision", "metric_0", "metric_1", "metric_2", "metric_3"]
    assert "The same in all groups: same 0." in shown
    assert shown[-1].endswith("pr_auc")


def test_intervals_are_below_values_if_more_metrics_then_fit():
    frame = groups([f"metric_{i}" for i in range(5)], *"abcdef", confidence=0.95)
    wide, narrow = (render(frame, ["g"], width).splitlines() for width in (200, 80))
    assert wide[2].split("  ")[1].strip() == "0.000 (-0.010 to 0.010)"
    assert narrow[0].split() == ["g", "metric_0", "metric_1", "metric_2", "metric_3"]
    assert narrow[2].split()[:2] == ["a", "0.000"]
    assert narrow[3].split("  ")[-1] == "0.020 to 0.040"


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((-0.0142, -0.000093), "-0.014 to -0.00009"),
        ((-0.0142, 0.0), "-0.014 to 0.000"),
        ((0.0, 1e-9), "0.0000000000 to 0.0000000010"),
        ((-0.5, 0.0009), "-0.50 to 0.0009"),
        ((0.0000008, 1.0), "0.00 to 1.00"),
    ],
)
def test_an_end_that_is_not_0_is_not_shown_as_0(ends, shown):
    assert interval(*ends) == shown


def test_bounds_in_words_contain_the_bounds():
    values = np.random.default_rng(0)
    for scale in (1e-9, 1e-3, 1.0, 1e6, 1e300):
        for lower, upper in np.sort(values.normal(size=(200, 2)) * scale).tolist():
            low, high = (float(end.replace(",", "")) for end in bounds(lower, upper).split(" to "))
            assert low <= lower < upper <= high
            assert high - low < 1.2 * (upper - lower)
    assert bounds(0.3, 0.7) == "0.30 to 0.70"
    assert bounds(-0.4, -1e-9) == "-0.40 to 0.00"


@pytest.mark.parametrize("value", [0.00681907415384661, 0.36, 0.4, 0.7161335063178703])
def test_bounds_beside_a_value_contain_the_bounds(value):
    lower, upper = 0.00681907415384661, 0.7161335063178703
    shown = bound(value, lower, upper)
    ends = [float(end) for end in shown.split(" to ")] if " to " in shown else [value - 0.4, value + 0.4]
    assert (" to " in shown) == (value not in (0.36, 0.4))
    assert ends[0] <= lower < upper <= ends[1]
