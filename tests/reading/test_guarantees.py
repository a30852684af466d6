"""Thresholds with a guarantee: exact tests in a fixed sequence, and how often new rows violate a constraint."""

import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import streammetrics as sm
from streammetrics.metrics.requirement import Requirement
from streammetrics.reading.guarantees import constraint_of, p_value

rng = np.random.default_rng(0)


def test_p_values_are_the_upper_tail_of_the_binomial():
    total = rng.integers(1, 10_000, 2_000)
    hits = rng.integers(0, total + 1)
    for limit in (0.001, 0.3, 0.9, 0.9999):
        np.testing.assert_allclose(p_value(hits, total, limit), binom.sf(hits - 1, total, limit), rtol=1e-6, atol=1e-11)


@pytest.mark.parametrize(
    ("text", "hits", "total", "limit", "highest_first"),
    [
        ("precision >= 0.9", "tp", "tp fp", 0.9, True),
        ("fdr <= 0.25", "tp", "tp fp", 0.75, True),
        ("npv > 0.9", "tn", "fn tn", 0.9, False),
        ("false_omission_rate <= 0.25", "tn", "fn tn", 0.75, False),
        ("sensitivity >= 0.9", "tp", "tp fn", 0.9, False),
        ("fnr <= 0.25", "tp", "tp fn", 0.75, False),
        ("recall <= 0.25", "fn", "tp fn", 0.75, True),
        ("specificity >= 0.9", "tn", "fp tn", 0.9, True),
        ("fpr <= 0.25", "tn", "fp tn", 0.75, True),
        ("predicted_positive_rate <= 0.25", "fn tn", "tp fp fn tn", 0.75, True),
        ("predicted_positive_rate >= 0.25", "tp fp", "tp fp fn tn", 0.25, False),
    ],
)
def test_each_constraint_begins_at_its_safe_end(text, hits, total, limit, highest_first):
    found = constraint_of(Requirement.parse(text))
    assert (found.hits, found.total) == (tuple(hits.split()), tuple(total.split()))
    assert (found.limit, found.highest_first) == (limit, highest_first)


def tables(runs=60, rows=12):
    """Confusion counts of all thresholds of a few rows, from the highest down."""
    for _ in range(runs):
        label = rng.random(rows) < rng.random()
        tp, fp = np.append(0, label.cumsum()), np.append(0, (~label).cumsum())
        yield pl.DataFrame({"tp": tp, "fp": fp, "fn": tp[-1] - tp, "tn": fp[-1] - fp})


@pytest.mark.parametrize("text", ["recall >= 0.5", "fpr <= 0.5", "predicted_positive_rate <= 0.4"])
def test_a_share_of_the_same_rows_is_tested_at_each_threshold_until_it_fails(text):
    constraint, error = constraint_of(Requirement.parse(text)), 0.2
    for counts in tables():
        hits, total = (
            counts.select(pl.sum_horizontal(c)).to_series().to_numpy() for c in (constraint.hits, constraint.total)
        )
        passes = (binom.sf(hits - 1, total, constraint.limit) <= error).tolist()
        ordered = passes if constraint.highest_first else passes[::-1]
        expected = ordered.index(False) if False in ordered else len(ordered)
        found = constraint.passed(counts, error).tolist()
        assert (found if constraint.highest_first else found[::-1]) == [i < expected for i in range(len(passes))]


@pytest.mark.parametrize("text", ["precision >= 0.3", "npv >= 0.3"])
def test_sequences_share_the_error(text):
    """Every number of few rows is tested: with the parts of the starts that it has passed since the last failure."""
    constraint, error, cells = constraint_of(Requirement.parse(text)), 0.3, {"precision >= 0.3": ("tp", "fp")}
    for counts in tables(rows=40):
        hit, miss = (counts[c].to_numpy() for c in cells.get(text, ("tn", "fn")))
        passed = constraint.passed(counts, error)
        if not constraint.highest_first:
            hit, miss, passed = hit[::-1], miss[::-1], passed[::-1]
        level = 0.0
        for n in range(41):
            level += error / 3 * (n in (2, 8, 32))
            assert passed[n] == (n >= 2 and binom.sf(hit[n] - 1, n, 0.3) <= level)
            assert hit[n] + miss[n] == n
            level = level if passed[n] else 0.0


def report(rows=3_000, **options):
    score = np.random.default_rng(1).beta(0.3, 0.4, rows)
    data = {"y": np.random.default_rng(2).random(rows) < score, "p": score, "g": np.arange(rows) % 3, "w": score + 1}
    return sm.binary(y_true="y", y_score="p", **options).update(data).finalize()


def test_the_best_of_the_thresholds_that_pass():
    found = report().operating_point(maximize="recall", where="precision >= 0.9", confidence=0.95).row(0, named=True)
    assert found["note"] is None
    assert (
        found["lower"] == found["value"] == found["upper"] == report().get("recall", threshold=found["threshold"]).value
    )
    assert binom.sf(found["tp"] - 1, found["tp"] + found["fp"], 0.9) <= 0.05
    without = report().operating_point(maximize="recall", where="precision >= 0.9").row(0, named=True)
    assert "note" not in without
    assert 0.8 * without["value"] < found["value"] < without["value"]
    two = ["precision >= 0.9", "recall >= 0.6"]
    both = report().operating_point(minimize="fpr", where=two, confidence=0.95)
    assert both.equals(report().operating_point(minimize="fpr", where=" and ".join(two), confidence=0.95))
    for text, hits, total in (("precision", "tp", "fp"), ("recall", "tp", "fn")):
        n = both[hits].item() + both[total].item()
        assert binom.sf(both[hits].item() - 1, n, {"precision": 0.9, "recall": 0.6}[text]) <= 0.025


def test_each_group_has_its_own_threshold():
    options = {"maximize": "recall", "where": "fpr <= 0.1", "confidence": 0.9}
    grouped = report(by="g").operating_point(**options)
    for group in range(3):
        alone = pl.DataFrame(grouped.row(group, named=True)).drop("g")
        assert alone.equals(report(by="g").operating_point(**options, g=group).drop("g"))
    assert grouped.height == 3


@pytest.mark.parametrize(
    ("where", "note"),
    [
        ("precision >= 0.9999", r"too few rows: precision >= 0\.9999 needs at least 29,956, got 3,000"),
        ("recall >= 0.999", r"too few rows: recall >= 0\.999 needs at least 2,995, got 1,264"),
        ("npv >= 0.995", r"no threshold meets npv >= 0\.995 at 95% confidence"),
        ("precision >= 0.9 and recall >= 0.9", r"no threshold meets all constraints at 95% confidence"),
    ],
)
def test_a_note_says_why_no_threshold_qualifies(where, note):
    found = report().operating_point(maximize="f1", where=where, confidence=0.95).row(0, named=True)
    assert found.pop("note") == note.replace("\\", "")
    assert set(found.values()) == {None}


def test_groups_without_rows_or_classes():
    empty = report(rows=0).operating_point(maximize="recall", where="fpr <= 0.1", confidence=0.95)
    assert empty.select("threshold", "note").rows() == [(None, "no rows")]
    rows = {"y": [1] * 50, "p": np.linspace(0, 1, 50)}
    one = sm.binary(y_true="y", y_score="p").update(rows).finalize()
    note = one.operating_point(maximize="recall", where="fpr <= 0.1", confidence=0.95)["note"].item()
    assert note == "too few rows: fpr <= 0.1 needs at least 29, got 0"
    every = one.operating_point(maximize="recall", where="precision >= 0.5", confidence=0.95)
    assert every.select("threshold", "value").row(0) == (0.0, 1.0)  # the last test is that of all rows
    none = one.operating_point(maximize="youden_j", where="precision >= 0.5", confidence=0.95)
    assert none.select("threshold", "value", "note").row(0) == (None, None, "undefined: 0/0")


def calibrated(score):
    return score


def waves(score):
    """Rates whose precision crosses 0.8 several times."""
    return np.clip(0.8 + 0.19 * np.sin(6 * np.log(np.maximum(1 - score, 1e-9))), 0, 1)


def just_below(score):
    return np.full(len(score), 0.7999)


SCORES = {
    "calibrated": (lambda n, g: g.beta(1, 3, n), calibrated),
    "separated": (lambda n, g: g.beta(0.15, 0.25, n), calibrated),
    "rare": (lambda n, g: 1 / (1 + np.exp(4.5 - 1.3 * g.normal(size=n))), calibrated),
    "uninformative": (lambda n, g: g.random(n), just_below),
    "waves": (lambda n, g: g.random(n), waves),
    "tied": (lambda n, g: g.integers(0, 6, n) / 6, lambda s: np.where(s < 0.5, 0.79, 0.799)),
}
SETTINGS = {
    "precision >= 0.5": ["calibrated"],
    "precision >= 0.95": ["separated"],
    "precision >= 0.1": ["rare"],
    "precision >= 0.8": ["uninformative", "waves", "tied"],
    "npv >= 0.9": ["calibrated"],
    "recall >= 0.9": ["calibrated", "rare"],
    "fpr <= 0.05": ["calibrated"],
    "predicted_positive_rate <= 0.1": ["calibrated"],
    "precision >= 0.5 and recall >= 0.4": ["calibrated"],
    "precision >= 0.7 and recall >= 0.2": ["separated"],
}
CASES = [(where, scores) for where, named in SETTINGS.items() for scores in named]


def violated(where, scores, rows, runs, seed=0):
    """The shares of evaluations with a threshold, and with one that violates a constraint for new rows."""
    random = np.random.default_rng(seed)
    draw, rate = SCORES[scores]
    every = np.sort(draw(1_000_000, random))[::-1]
    positives = np.append(0, rate(every).cumsum())
    kept = {"capacity": 256} if rows > 5_000 else {}  # coarse bins
    found = bad = 0
    for _ in range(runs // 100):
        score = draw(100 * rows, random)
        data = {"y": random.random(len(score)) < rate(score), "s": score, "run": np.repeat(np.arange(100), rows)}
        made = sm.binary(y_true="y", y_score="s", by="run", **kept).update(data).finalize(["rows"])
        goal = "recall" if "precision" in where or "<=" in where else "specificity"
        at = made.operating_point(maximize=goal, where=where, confidence=0.95)["threshold"].drop_nulls().to_numpy()
        reaching = np.searchsorted(-every, -at, side="right")
        tp = positives[reaching]
        counts = pl.DataFrame({"tp": tp, "fp": reaching - tp, "fn": positives[-1] - tp})
        counts = counts.with_columns(tn=len(every) - pl.sum_horizontal("tp", "fp", "fn"))
        wrong = [~_holds(Requirement.parse(part), counts) for part in where.split(" and ")]
        found += len(at)
        bad += int(np.logical_or.reduce(wrong).sum())
    return found / runs, bad / runs


def _holds(required, counts):
    """Whether new rows meet a requirement; at an infinite threshold, precision has no rows to be wrong about."""
    value = counts.select(getattr(sm.metrics, required.metric).expression()).to_series()
    return required.holds(value).fill_null(True).to_numpy()


@pytest.mark.parametrize(("where", "scores"), [("precision >= 0.5", "calibrated"), *CASES[3:7]])
def test_few_evaluations_violate_a_constraint(where, scores):
    assert violated(where, scores, 500, 400)[1] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.long
@pytest.mark.parametrize("rows", [200, 2_000, 20_000])
@pytest.mark.parametrize(("where", "scores"), CASES)
def test_at_most_five_percent_of_evaluations_violate_a_constraint(where, scores, rows):
    runs = 4_000 if rows < 5_000 else 1_000
    found, bad = violated(where, scores, rows, runs)
    print(f"{where}, {scores}, {rows:,} rows: threshold in {found:.0%}, violated in {bad:.1%}")
    assert bad <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)


def share_violated(where, weights, rates, rows, runs):
    """The share of samples of a few scores, from the highest down, in which a threshold that is too low passes."""
    constraint = constraint_of(Requirement.parse(where))
    violates = (weights * rates).cumsum() / weights.cumsum() < constraint.limit
    bad = 0
    for _ in range(runs):
        count = rng.multinomial(rows, weights)
        tp = np.append(0, rng.binomial(count, rates).cumsum())
        fp = np.append(0, count.cumsum()) - tp
        counts = pl.DataFrame({"tp": tp, "fp": fp, "fn": tp[-1] - tp, "tn": fp[-1] - fp})
        bad += (constraint.passed(counts, 0.05)[1:] & violates).any()
    return bad / runs


@pytest.mark.long
@pytest.mark.parametrize("limit", [0.1, 0.5, 0.8, 0.95])
def test_no_distribution_of_a_few_scores_is_violated_more_often(limit):
    """Of random ones, whose precision is near the limit at each threshold: those that look worst are tried again."""
    for _ in range(50):
        weights = rng.dirichlet(np.full(int(rng.integers(2, 12)), rng.choice([0.3, 1, 3])))
        precision = np.clip(limit + rng.normal(0, rng.choice([0.002, 0.01, 0.05, 0.1]), len(weights)), 0, 1)
        rates = np.clip(np.diff(np.append(0, precision * weights.cumsum())) / weights, 0, 1)
        tried = f"precision >= {limit}", weights, rates, int(rng.choice([40, 100, 300, 1_000, 5_000]))
        if share_violated(*tried, 150) > 0.05:
            assert share_violated(*tried, 2_000) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000), tried
