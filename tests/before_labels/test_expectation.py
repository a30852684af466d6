"""Metrics expected before labels arrive, beside those that labels show."""

from math import inf

import numpy as np
import polars as pl
import pytest

import streammetrics as sm


def drawn(seed, rows, base=0.0, scale=1.0, shift=0.0):
    """Scores, and labels whose log-odds are those of the score, scaled and shifted."""
    random = np.random.default_rng(seed)
    margin = random.normal(base, 1.5, rows)
    rate = 1 / (1 + np.exp(-(margin * scale + shift)))
    return pl.DataFrame({"y": (random.random(rows) < rate).astype(int), "p": 1 / (1 + np.exp(-margin))})


def labeled(rows, **options):
    return sm.binary(y_true="y", y_score="p", **options).update(rows)


def unlabeled(rows, **options):
    return sm.predictions(y_score="p", **options).update(rows)


def shown(report, row):
    """What labels show of a row of the frame."""
    if row["metric"] == "expected_positives":
        return report["prevalence"].value * report["rows"].value
    return report[row["metric"]].value


def test_expected_metrics_are_near_those_that_labels_show():
    reference, rows = drawn(0, 20_000, scale=0.8), drawn(1, 10_000, base=0.7, scale=0.8)
    found = sm.expect(unlabeled(rows), labeled(reference), confidence=0.999)
    report = labeled(rows).finalize()
    assert found.frame["metric"].to_list() == [
        *("expected_positives", "roc_auc", "average_precision", "log_loss", "brier_score", "accuracy"),
        *("balanced_accuracy", "precision", "recall", "specificity", "f1"),
    ]
    for row in found.frame.iter_rows(named=True):
        truth = shown(report, row)
        assert row["value"] == pytest.approx(truth, rel=0.03)
        assert row["ci_lower"] < row["lower"] <= row["value"] <= row["upper"] < row["ci_upper"]
        assert row["ci_lower"] <= truth <= row["ci_upper"], row["metric"]


def test_a_reference_expects_its_own_metrics():
    rows = drawn(2, 30_000, base=-2)
    found, report = sm.expect(unlabeled(rows), labeled(rows)), labeled(rows).finalize()
    assert found["expected_positives"].value == pytest.approx(rows["y"].sum(), rel=1e-3)
    for metric, tolerance in (("roc_auc", 0.003), ("average_precision", 0.01), ("log_loss", 0.002), ("recall", 0.01)):
        assert found[metric].value == pytest.approx(report[metric].value, abs=tolerance)
    fine = sm.expect(unlabeled(rows), labeled(rows), odds=1.3)
    coarse = sm.expect(unlabeled(rows, capacity=100, atoms=()), labeled(rows, atoms=(0.5,), capacity=300), odds=1.3)
    for metric in ("roc_auc", "log_loss", "expected_positives"):  # of other bins, which are brought together
        assert coarse[metric].value == pytest.approx(fine[metric].value, rel=0.01)
        assert coarse[metric].upper - coarse[metric].lower > fine[metric].upper - fine[metric].lower


@pytest.mark.parametrize("shift", [0.4, -0.4])
def test_bounds_hold_for_labels_whose_odds_differ_by_less(shift):
    """The odds of 60,000 rows are e**0.4 = 1.49 times those of the reference."""
    reference, rows = drawn(3, 60_000), drawn(4, 60_000, shift=shift)
    report = labeled(rows).finalize()
    wide, narrow = (sm.expect(unlabeled(rows), labeled(reference), odds=odds) for odds in (1.6, 1.3))
    for row in wide.frame.iter_rows(named=True):
        assert row["lower"] <= shown(report, row) <= row["upper"], row["metric"]
    outside = [not r["lower"] <= shown(report, r) <= r["upper"] for r in narrow.frame.iter_rows(named=True)]
    assert outside[0]
    assert sum(outside) >= 3


@pytest.mark.thorough
def test_needed_odds_tell_the_shift():
    reference, rows = drawn(5, 60_000), drawn(6, 60_000, shift=0.5)
    found = sm.expect(unlabeled(rows), labeled(reference)).needed_odds(labeled(rows))
    needed = dict(found.select("metric", "needed_odds").iter_rows())
    assert needed["expected_positives"] == pytest.approx(np.exp(0.5), rel=0.04)
    assert all(odds < 1.75 for odds in needed.values())
    for metric in ("recall", "average_precision"):
        odds, truth = needed[metric], found.filter(metric=metric)["value"].item()
        wide, narrow = (
            sm.expect(unlabeled(rows), labeled(reference), odds=o, metrics=metric)
            for o in (odds * 1.0001, odds * 0.999)
        )
        assert wide[metric].lower <= truth <= wide[metric].upper
        assert not narrow[metric].lower <= truth <= narrow[metric].upper
    truths = labeled(rows).finalize()
    assert found.filter(metric="roc_auc")["value"].item() == truths["roc_auc"].value


def test_needed_odds_are_infinite_beyond_all_bounds():
    reference = labeled({"y": [0, 1] * 50, "p": [0.4] * 100})
    found = sm.expect(reference, reference, metrics=["expected_positives", "recall"])
    needed = found.needed_odds(labeled({"y": [1] * 3, "p": [0.4] * 3}))
    assert needed.select("metric", "value", "needed_odds").rows() == [("expected_positives", 3, inf), ("recall", 0, 1)]


def test_groups_have_references_of_their_own_or_share_one():
    parts = [drawn(i, 4_000, shift=shift).with_columns(c=pl.lit(c)) for i, c, shift in ((7, "a", 0.0), (8, "b", 1.0))]
    rows = pl.concat(parts)
    own = sm.expect(unlabeled(rows, by="c"), labeled(rows, by="c"))
    shared = sm.expect(unlabeled(rows, by="c"), labeled(rows))
    for part, c in zip(parts, "ab", strict=True):
        assert own.get("expected_positives", c=c).value == pytest.approx(part["y"].sum(), rel=0.01)
        alone = sm.expect(unlabeled(part), labeled(part, capacity=4_096), confidence=0.9)
        assert alone["log_loss"].value == pytest.approx(own.get("log_loss", c=c).value, rel=1e-6)
    assert shared.get("expected_positives", c="a").value > own.get("expected_positives", c="a").value + 100
    assert own.frame.columns == ["c", "threshold", "metric", "value", "lower", "upper", "status", "note"]


def test_models_are_matched_by_name_and_thresholds_are_those_of_the_scores():
    rows, models = drawn(9, 5_000).with_columns(q=1 - pl.col("p")), {"y_score": {"good": "p", "bad": "q"}}
    both, scores = sm.binary(y_true="y", **models).update(rows), sm.predictions(**models).update(rows)
    found = sm.expect(scores, both)
    assert found.get("roc_auc", model="good").value > 0.8
    assert found.get("roc_auc", model="bad").value == pytest.approx(0.5, abs=0.02)  # isotonic rates do not fall
    rows = drawn(10, 20_000)
    found = sm.expect(unlabeled(rows, thresholds=(0.2, 0.7), capacity=64), labeled(rows, capacity=64))
    report = labeled(rows, thresholds=(0.2, 0.7)).finalize()
    for threshold in (0.2, 0.7):
        estimate = found.get("recall", threshold=threshold)
        assert estimate.lower < estimate.upper  # a bin of so few lies across
        assert estimate.value == pytest.approx(report.get("recall", threshold=threshold).value, abs=0.02)


def test_margins_have_no_losses():
    rows = drawn(11, 2_000).with_columns(m=(pl.col("p") / (1 - pl.col("p"))).log())
    reference = sm.binary(y_true="y", y_score="m", domain="real").update(rows)
    scores = sm.predictions(y_score="m", domain="real").update(rows)
    extremes = pl.DataFrame({"m": [-np.inf, np.inf, 1e300], "y": [0, 1, 1]})
    found = sm.expect(scores.copy().update(extremes), reference.copy().update(extremes), confidence=0.9)
    assert "log_loss" not in found.frame["metric"]
    assert found.frame["ci_upper"].is_finite().all()
    assert found["roc_auc"].value == pytest.approx(reference.finalize()["roc_auc"].value, abs=0.01)


def test_what_has_no_value_or_interval_says_why():
    rows = pl.DataFrame({"y": [0, 1, 0, 0, 1, 1], "p": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "c": list("aabbcc")})
    scores = unlabeled(pl.concat([rows, pl.DataFrame({"y": [0], "p": [0.5], "c": ["d"]})]), by="c")
    found = sm.expect(scores, labeled(rows, by="c"), metrics="roc_auc", confidence=0.9)
    assert dict(found.frame.select("c", "note").iter_rows()) == {
        "a": "no interval: too few rows, or they do not vary",
        "b": "no positives in the reference",
        "c": "no negatives in the reference",
        "d": "no rows in the reference",
    }
    assert sm.expect(unlabeled(rows.clear()), labeled(rows))["recall"].note == "no rows"
    scores = unlabeled({"p": [0.2, 0.3, None], "c": ["a", "a", "b"]}, by="c")  # dropped, and below the threshold
    found = sm.expect(scores, labeled(drawn(16, 1_000)), metrics=["precision", "recall"], confidence=0.9)
    assert found.get("precision", c="a").note == "no predicted positives"
    assert found.get("recall", c="a").value == 0
    assert found.get("recall", c="b").note == "no rows"
    reference = labeled({"y": [0, 1] * 100, "p": [0.4, 0.5] * 100})
    found = sm.expect(unlabeled({"p": [0.45, 0.9, 0.2, 0.42]}), reference)
    assert found["recall"].note == "50.00% of scores are outside the range of the reference"


def test_no_interval_for_weights_and_units():
    rows = drawn(13, 1_000).with_columns(w=2.5, u=pl.int_range(pl.len()))
    found = sm.expect(unlabeled(rows), labeled(rows, sample_weight="w"), confidence=0.9)["roc_auc"]
    assert found.ci_lower is None
    assert found.status == "weighted_rows"
    assert found.value == pytest.approx(sm.expect(unlabeled(rows), labeled(rows))["roc_auc"].value, abs=0.01)
    found = sm.expect(unlabeled(rows), labeled(rows, unit="u"), confidence=0.9)["recall"]
    assert found.ci_lower is None
    assert found.status == "dependent_rows"


@pytest.mark.long
def test_intervals_hold_the_metrics_that_labels_show():
    held, settings = {}, [(2_000, 500, 0.0), (1_000, 300, -2.0)]
    for rows, new, base in settings:
        for seed in range(60):
            reference, current = labeled(drawn(seed, rows, base)), labeled(drawn(seed + 1_000, new, base))
            report = current.finalize()
            for row in sm.expect(current, reference, confidence=0.9).frame.iter_rows(named=True):
                truth = shown(report, row)
                held.setdefault(row["metric"], []).append(row["ci_lower"] <= truth <= row["ci_upper"])
    for metric, found in held.items():
        assert 0.82 <= np.mean(found) <= 0.97, metric
