"""Confusion-count metrics at thresholds that were not asked for before the pass, off the score histogram."""

import itertools

import numpy as np
import polars as pl
import pytest
from data import CANDIDATES, candidates

import streammetrics as sm
from streammetrics.statistics.cases import threshold_cases

COUNTS = ("tp", "fp", "fn", "tn")
METRICS = [m for m in sm.all_metrics() if set(m.columns) <= set(COUNTS)]


def test_every_count_of_a_cut_bin_lies_within_the_bounds():
    """All that the rows of a bin can be, for small bins, undefined ends included."""
    kinds = [(*others, *cut) for others in itertools.product((0, 2), repeat=4) for cut in np.ndindex(4, 4)]
    possible = pl.DataFrame(
        [
            (kind, tp + p, fp + n, fn + pos - p, tn + neg - n)
            for kind, (tp, fp, fn, tn, neg, pos) in enumerate(kinds)
            for n in range(neg + 1)
            for p in range(pos + 1)
        ],
        schema={"kind": pl.UInt32} | dict.fromkeys(COUNTS, pl.Float64),
        orient="row",
    )
    cases = threshold_cases(pl.DataFrame(kinds, schema=[*COUNTS, "cut_neg", "cut_pos"], orient="row")).values()
    named = {m.name: m.expression() for m in METRICS}
    found = pl.concat(case.cast(pl.Float64).select(**named).with_row_index("kind") for case in cases)
    truth = possible.select("kind", **named)
    ends = [
        frame.group_by("kind").agg(pl.all().min().name.suffix("_least"), pl.all().max().name.suffix("_most"))
        for frame in (found, truth)
    ]
    both = ends[0].join(ends[1], on="kind", suffix="_true", validate="1:1")
    assert both.height == len(kinds) == 256
    for name in named:
        known = both.filter(pl.col(f"{name}_least_true").is_not_null())
        assert known.height
        within = (pl.col(f"{name}_least") <= pl.col(f"{name}_least_true") + 1e-9) & (
            pl.col(f"{name}_most_true") <= pl.col(f"{name}_most") + 1e-9
        )
        wrong = known.filter(~within.fill_null(False))
        assert wrong.is_empty(), (name, [kinds[kind] for kind in wrong["kind"]])


def test_a_threshold_between_bins_or_at_an_edge_is_exact_and_one_inside_has_bounds():
    table = sm.Accumulator(sm.statistics.ScoreHistogram(8), y_true="y", y_score="p")
    scores = np.linspace(0.1, 0.9, 400)
    report = table.update({"y": np.arange(400) % 3 == 0, "p": scores}).finalize(["roc_auc"])
    edges = report.curve("roc")["threshold"].to_list()[1:]
    for edge in edges:
        assert report.get("recall", threshold=edge).exact
    inside = report.get("recall", threshold=(edges[2] + edges[3]) / 2)
    assert inside.lower == report.get("recall", threshold=edges[2]).value
    assert inside.upper == report.get("recall", threshold=edges[3]).value
    assert inside.value == pytest.approx((inside.lower + inside.upper) / 2)


def test_groups_models_intervals_and_folds():
    rows = candidates().with_columns(unit=pl.int_range(2_000) // 3)
    kept, other = (
        sm.binary(by="country", thresholds=thresholds, unit="unit", **CANDIDATES).update(rows)
        for thresholds in ([0.5, 0.3], [0.5])
    )
    report, again = (acc.finalize("precision", confidence=0.9) for acc in (kept, other))
    for keys in ({"model": "old", "country": "DE"}, {"model": "new", "country": "FR"}):
        expected, found = (read.get("precision", threshold=0.3, **keys) for read in (report, again))
        assert found.lower <= expected.value <= found.upper
        assert not found.exact or vars(found) == pytest.approx(vars(expected))
        assert found.ci_lower < found.value < found.ci_upper
    worst = other.finalize().worst("recall", threshold=0.3)
    assert worst["threshold"].to_list() == [0.3] * 4


def test_labels_and_averages():
    batch = {
        "y": ["a", "b", "c", "a"],
        "pa": [0.7, 0.2, 0.1, 0.3],
        "pb": [0.2, 0.5, 0.3, 0.3],
        "pc": [0.1, 0.3, 0.6, 0.4],
    }
    acc = sm.multiclass(y_true="y", y_score={"a": "pa", "b": "pb", "c": "pc"})
    report = acc.update(batch).finalize()
    assert report.get("recall", label="a", threshold=0.35).value == 0.5
    assert report.get("recall(average=macro)", threshold=0.35).value == pytest.approx((0.5 + 1 + 1) / 3)
    assert report.get("fpr(average=micro)", threshold=0.35).value == 1 / 8


def test_a_threshold_that_was_not_kept_meets_the_64_bit_values_of_scores():
    rows = {"y": [1, 1, 0], "s": np.array([0.9, 0.95, 0.2], dtype=np.float32)}
    report = sm.binary(y_true="y", y_score="s").update(rows).finalize()
    assert report.get("recall", threshold=0.9) == 0.5
    assert report.get("recall", threshold=float(np.float32(0.9))) == 1.0
