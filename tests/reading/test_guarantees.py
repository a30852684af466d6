"""Thresholds with a guarantee: exact tests in a fixed sequence, and how often new rows violate a constraint."""

import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

import streammetrics as sm

RUNS, ROWS = 12, 120
CONSTRAINTS = {  # the cells of hits and of all, the least share of hits, and whether high thresholds are safe
    "precision >= 0.4": ("tp", "tp fp", 0.4, True),
    "fdr <= 0.75": ("tp", "tp fp", 0.25, True),
    "npv > 0.5": ("tn", "fn tn", 0.5, False),
    "false_omission_rate <= 0.75": ("tn", "fn tn", 0.25, False),
    "sensitivity >= 0.5": ("tp", "tp fn", 0.5, False),
    "fnr <= 0.25": ("tp", "tp fn", 0.75, False),
    "recall <= 0.25": ("fn", "tp fn", 0.75, True),
    "specificity >= 0.5": ("tn", "fp tn", 0.5, True),
    "fpr <= 0.25": ("tn", "fp tn", 0.75, True),
    "predicted_positive_rate <= 0.25": ("fn tn", "tp fp fn tn", 0.75, True),
    "predicted_positive_rate >= 0.25": ("tp fp", "tp fp fn tn", 0.25, False),
}


@pytest.fixture(scope="module")
def runs():
    """Rows of several runs, a report of each of them, and the confusion counts at their thresholds."""
    random = np.random.default_rng(0)
    run, score = np.repeat(np.arange(RUNS), ROWS), np.tile(np.arange(ROWS)[::-1] / ROWS, RUNS)
    label = random.random(RUNS * ROWS) < np.clip(random.random(RUNS)[run] + score - 0.5, 0, 1)
    found = sm.binary(y_true="y", y_score="p", by="run").update({"y": label, "p": score, "run": run}).finalize()
    f1 = 2 * pl.col("tp") / (2 * pl.col("tp") + pl.col("fp") + pl.col("fn"))
    return found, found.curve("roc").with_columns(f1=f1, specificity=-pl.col("fpr"))


def until_it_fails(hits, total, limit, error):
    """A share of the same rows is tested at each threshold, from the safe end on, until it fails."""
    return np.logical_and.accumulate(binom.sf(hits - 1, total, limit) <= error)


def from_several_starts(hits, total, limit, error):
    """Sequences of growing numbers of rows share the error; one that reaches the start of the next adds its part."""
    fewest, count = (lambda error: math.ceil(math.log(error) / math.log(limit))), 1
    while fewest(error / (count + 1)) * 4**count <= ROWS:
        count += 1
    starts = [fewest(error / count) * 4**i for i in range(count)]
    tested = {*starts, ROWS, *(math.ceil(starts[0] * 1.02**i) for i in range(400))}
    level, passed = 0.0, []
    for hit, n in zip(hits, total, strict=True):
        level += error / count * (n in starts)
        passed.append(n in tested and n >= starts[0] and binom.sf(hit - 1, n, limit) <= level)
        level = level if passed[-1] or n not in tested else 0.0
    return np.array(passed)


@pytest.mark.thorough
@pytest.mark.parametrize("error", [0.3, 0.1])
def test_the_thresholds_that_pass_are_those_of_exact_tests_in_a_fixed_sequence(runs, error):
    """So the best of them are found, whatever is best."""
    report, points = runs
    found_at_all = 0
    for where, (hits, total, limit, highest_first) in CONSTRAINTS.items():
        test = from_several_starts if total in ("tp fp", "fn tn") else until_it_fails
        best = {"f1": [], "recall": [], "specificity": []}
        for part in points.partition_by("run", maintain_order=True):
            way = slice(None) if highest_first else slice(None, None, -1)
            counts = (part.select(pl.sum_horizontal(c.split())).to_series().to_numpy()[way] for c in (hits, total))
            passing = part.filter(pl.Series(test(*counts, limit, error)[way]))
            for goal, found in best.items():  # of equal ones, the highest
                rows = passing.filter(pl.col(goal) == pl.col(goal).max())
                found.append(rows["threshold"][0] if rows.height else None)
        for goal, expected in best.items():
            found = report.operating_point(maximize=goal, subject_to=where, confidence=1 - error)
            assert found["threshold"].to_list() == expected, (where, goal)
            found_at_all += len(expected) - expected.count(None)
    assert found_at_all > 15 * RUNS


def report(rows=3_000, **options):
    score = np.random.default_rng(1).beta(0.3, 0.4, rows)
    data = {"y": np.random.default_rng(2).random(rows) < score, "p": score, "g": np.arange(rows) % 3, "w": score + 1}
    return sm.binary(y_true="y", y_score="p", **options).update(data).finalize()


def test_several_constraints_share_the_error():
    """Their operating point has the value of the metric at its threshold, and no note."""
    two = {"precision": 0.9, "recall": 0.6}
    where = [f"{name} >= {limit}" for name, limit in two.items()]
    both = report().operating_point(minimize="fpr", subject_to=where, confidence=0.95)
    assert both.equals(report().operating_point(minimize="fpr", subject_to=" and ".join(where), confidence=0.95))
    found = both.row(0, named=True)
    assert found["note"] is None
    assert found["lower"] == found["value"] == found["upper"]
    assert found["value"] == report().get("fpr", threshold=found["threshold"]).value
    for (name, limit), other in zip(two.items(), ("fp", "fn"), strict=True):
        ask = partial(report().operating_point, minimize="fpr", subject_to=f"{name} >= {limit}")
        assert binom.sf(found["tp"] - 1, found["tp"] + found[other], limit) <= 0.025
        assert "note" not in ask().columns
        assert found["value"] >= ask(confidence=0.95)["value"].item() >= ask()["value"].item()


def test_a_note_says_why_no_threshold_qualifies():
    for where, note in (
        ("precision >= 0.9999", "too few rows: precision >= 0.9999 needs at least 29,956, got 3,000"),
        ("recall >= 0.999", "too few rows: recall >= 0.999 needs at least 2,995, got 1,264"),
        ("npv >= 0.995", "no threshold meets npv >= 0.995 at 95% confidence"),
        ("precision >= 0.9 and recall >= 0.9", "no threshold meets all constraints at 95% confidence"),
    ):
        found = report().operating_point(maximize="f1", subject_to=where, confidence=0.95).row(0, named=True)
        assert found.pop("note") == note
        assert set(found.values()) == {None}


def test_groups_without_rows_or_classes():
    empty = report(rows=0).operating_point(maximize="recall", subject_to="fpr <= 0.1", confidence=0.95)
    assert empty.select("threshold", "note").rows() == [(None, "no rows")]
    rows = {"y": [1] * 50, "p": np.linspace(0, 1, 50)}
    one = sm.binary(y_true="y", y_score="p").update(rows).finalize()
    note = one.operating_point(maximize="recall", subject_to="fpr <= 0.1", confidence=0.95)["note"].item()
    assert note == "too few rows: fpr <= 0.1 needs at least 29, got 0"
    every = one.operating_point(maximize="recall", subject_to="precision >= 0.5", confidence=0.95)
    assert every.select("threshold", "value").row(0) == (0.0, 1.0)  # the last test is that of all rows
    none = one.operating_point(maximize="youden_j", subject_to="precision >= 0.5", confidence=0.95)
    assert none.select("threshold", "value", "note").row(0) == (None, None, "undefined: 0/0")


def waves(score):
    """Rates whose precision crosses 0.8 several times."""
    return np.clip(0.8 + 0.19 * np.sin(6 * np.log(np.maximum(1 - score, 1e-9))), 0, 1)


SCORES = {
    "calibrated": (lambda n, g: g.beta(1, 3, n), np.asarray),
    "separated": (lambda n, g: g.beta(0.15, 0.25, n), np.asarray),
    "rare": (lambda n, g: 1 / (1 + np.exp(4.5 - 1.3 * g.normal(size=n))), np.asarray),
    "uninformative": (lambda n, g: g.random(n), lambda s: np.full(len(s), 0.7999)),
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
    """The share of evaluations with a threshold that violates a constraint for new rows."""
    random = np.random.default_rng(seed)
    draw, rate = SCORES[scores]
    every = np.sort(draw(1_000_000, random))[::-1]
    positives = np.append(0, rate(every).cumsum())
    kept = {"capacity": 256} if rows > 5_000 else {}  # coarse bins
    bad = 0
    for _ in range(runs // 100):
        score = draw(100 * rows, random)
        data = {"y": random.random(len(score)) < rate(score), "s": score, "run": np.repeat(np.arange(100), rows)}
        made = sm.binary(y_true="y", y_score="s", by="run", **kept).update(data).finalize(["rows"])
        goal = "recall" if "precision" in where or "<=" in where else "specificity"
        at = made.operating_point(maximize=goal, subject_to=where, confidence=0.95)["threshold"].drop_nulls().to_numpy()
        reaching = np.searchsorted(-every, -at, side="right")
        tp = positives[reaching]
        counts = pl.DataFrame({"tp": tp, "fp": reaching - tp, "fn": positives[-1] - tp})
        counts = counts.with_columns(tn=len(every) - pl.sum_horizontal("tp", "fp", "fn"))
        wrong = []
        for part in where.split(" and "):
            name, comparison, limit = part.split()
            value = counts.select(getattr(sm.metrics, name).expression()).to_series()  # null at infinite thresholds
            wrong.append((value < float(limit)) if comparison == ">=" else (value > float(limit)))
        bad += int(np.logical_or.reduce([each.fill_null(False).to_numpy() for each in wrong]).sum())
    return bad / runs


FEW_RUNS = [(*case, 500, 200) for case in (CASES[0], *CASES[3:7])]
MANY_RUNS = [
    pytest.param(*case, rows, runs, marks=pytest.mark.long)
    for case in CASES
    for rows, runs in ((200, 4_000), (2_000, 4_000), (20_000, 1_000))
]


@pytest.mark.parametrize(("where", "scores", "rows", "runs"), [*FEW_RUNS, *MANY_RUNS])
def test_at_most_five_percent_of_evaluations_violate_a_constraint(where, scores, rows, runs):
    assert violated(where, scores, rows, runs) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / runs)
