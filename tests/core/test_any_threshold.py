"""Confusion-count metrics at thresholds that were not asked for before the pass, off the score histogram."""

import itertools

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.statistics.cases import threshold_cases

COUNTS = ("tp", "fp", "fn", "tn")
METRICS = [m for m in sm.all_metrics() if set(m.columns) <= set(COUNTS)]


def counts(label, score, threshold, weight=1.0):
    weight, reaching = np.broadcast_to(weight, label.shape), score >= threshold
    cells = ((label, reaching), (~label, reaching), (label, ~reaching), (~label, ~reaching))
    return [float(weight[of_class & side].sum()) for of_class, side in cells]


def value(metric, cells):
    return metric(*(cells[COUNTS.index(c)] for c in metric.columns))


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    score = np.concatenate([random.beta(1, 5, 1500), random.integers(0, 20, 500) / 20])
    return random.random(2000) < 0.1 + 0.6 * score, score, random.choice([0.3, 1.7], 2000)


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("capacity", [64, 16_384])
def test_the_truth_lies_within_the_bounds(rows, capacity, weighted):
    label, score, weight = rows
    thresholds = (0.0, 0.05, 0.1234, float(score[7]), 1.0, 2.0)
    batch = {"y": label, "p": score, "w": weight}
    acc = sm.Accumulator(
        *(sm.ScoreHistogram(capacity), sm.ConfusionCounts()),
        y_true="y",
        y_score="p",
        sample_weight="w" if weighted else None,
    ).update(batch)
    report, exact = acc.finalize(), 0
    for threshold in thresholds:
        cells = counts(label, score, threshold, weight if weighted else 1.0)
        for metric in METRICS:
            truth, found = value(metric, cells), report.get(metric, threshold=threshold)
            if truth is not None and found.value is not None:
                rounding = 1e-9 * max(1, abs(truth))
                assert found.lower - rounding <= truth <= found.upper + rounding, (metric, threshold)
                assert found.lower <= found.value <= found.upper
            exact += found.exact
    assert (exact == len(METRICS) * len(thresholds)) == (capacity > 2000)


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
    table = sm.Accumulator(sm.ScoreHistogram(8), y_true="y", y_score="p")
    scores = np.linspace(0.1, 0.9, 400)
    report = table.update({"y": np.arange(400) % 3 == 0, "p": scores}).finalize(["roc_auc"])
    edges = report.curve("roc")["threshold"].to_list()[1:]
    for edge in edges:
        assert report.get("recall", threshold=edge).exact
    inside = report.get("recall", threshold=(edges[2] + edges[3]) / 2)
    assert inside.lower == report.get("recall", threshold=edges[2]).value
    assert inside.upper == report.get("recall", threshold=edges[3]).value
    assert inside.value == pytest.approx((inside.lower + inside.upper) / 2)


def test_groups_models_labels_intervals_and_folds(rows):
    label, score, _ = rows
    batch = pl.DataFrame(
        {"y": label, "a": score, "b": score[::-1], "day": np.arange(2000) % 2, "u": np.arange(2000) // 3}
    )
    acc = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, by="day", thresholds=[0.5, 0.3], unit="u")
    report = acc.update(batch).finalize("precision", confidence=0.9)
    again = sm.binary(y_true="y", y_score={"a": "a", "b": "b"}, by="day", thresholds=[0.5], unit="u").update(batch)
    for keys in ({"model": "a", "day": 0}, {"model": "b", "day": 1}):
        found = again.finalize("precision", confidence=0.9).get("precision", threshold=0.3, **keys)
        kept = report.get("precision", threshold=0.3, **keys)
        assert found.lower <= kept.value <= found.upper
        if found.exact:
            assert vars(found) == pytest.approx(vars(kept))
        assert found.ci_lower < found.value < found.ci_upper
    worst = again.finalize().worst("recall", threshold=0.3)
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
