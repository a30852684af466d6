"""Requirements of a comparison: verdicts with margins, in every group."""

import math

import numpy as np
import polars as pl
import pytest
from data import CANDIDATES, candidates
from scipy import stats

import streammetrics as sm

METRICS = ("roc_auc", "average_precision", "log_loss", "brier_score", "accuracy", "recall", "f1")
LOW = ("log_loss", "brier_score")
ROWS = candidates().with_columns(u=pl.int_range(2_000))
ALIKE = ROWS.with_columns(new="old")
BETTER, WORSE = ("old", "new"), ("new", "old")


def compared(rows=ROWS, models=BETTER, **options):
    return sm.compare(sm.binary(**CANDIDATES, **options).update(rows), models=models)


def verdicts(found):
    return found.frame["verdict"].to_list()


def verdict_on(row, margin, improves):
    """By the interval of a difference, widened by its bounds; open on few effective rows."""
    low = row["ci_lower"] - row["difference"] + row["lower"]
    high = row["ci_upper"] - row["difference"] + row["upper"]
    if row["metric"] in LOW:
        low, high = -high, -low
    if "effective rows" in (row["note"] or ""):
        return "open"
    if improves:
        return "holds" if low > margin else "breached" if high <= margin else "open"
    return "holds" if low >= -margin else "breached" if high < -margin else "open"


@pytest.mark.parametrize("options", [{"capacity": 128}, {}, {"unit": "u"}], ids=["bounds", "rows", "units"])
@pytest.mark.parametrize("improves", [False, True], ids=["not worse", "better"])
def test_verdicts_follow_from_the_interval_widened_by_the_bounds(options, improves):
    models = BETTER if improves else WORSE
    acc = sm.binary(**CANDIDATES, by="country", **options).update(ROWS)
    frame = sm.compare(acc, models=models, confidence=0.9, metrics=METRICS).frame  # each endpoint at 95%
    expected = [
        (row["difference"], verdict_on(row, margin, improves))
        for margin in (0.0, 0.004, 0.03, 0.2)
        for metric in METRICS
        for row in frame.filter(metric=metric).iter_rows(named=True)
    ]
    given = [f"{metric}={margin}" for margin in (0.0, 0.004, 0.03, 0.2) for metric in METRICS]
    found = sm.compare(acc, models=models).check(**{"better" if improves else "not_worse": given})
    assert found.frame.select("value", "verdict").rows() == expected
    assert {verdict for _, verdict in expected} == {"holds", "open", "breached"}


def test_a_relative_margin_is_one_of_the_ratio():
    """The limit is met as far as the interval of b - (1 + m) a, from the influences of rows, excludes 0."""
    rows = ROWS.filter(pl.col("old").is_between(0, 1, "none"), pl.col("new").is_between(0, 1, "none"))  # finite losses
    y, a, b = (rows[c].cast(float).to_numpy() for c in ("clicked", "old", "new"))
    losses = [-(y * np.log(p) + (1 - y) * np.log(1 - p)) for p in (a, b)]
    ratio, seen = losses[1].mean() / losses[0].mean() - 1, set()
    for percent in (-12, -9, -2, 1):
        contrast = losses[1] - (1 + percent / 100) * losses[0]
        error = contrast.std(ddof=1) / math.sqrt(len(y)) * stats.t.ppf(0.95, len(y) - 1) * (1 + 1 / math.sqrt(y.sum()))
        expected = "holds" if contrast.mean() + error <= 0 else "breached" if contrast.mean() - error > 0 else "open"
        given = {"not_worse" if percent > 0 else "better": {"log_loss": f"{abs(percent)}%"}}
        (row,) = compared(rows).check(**given).frame.iter_rows(named=True)
        assert row["verdict"] == expected
        assert row["value"] == pytest.approx(ratio)
        ends = (contrast.mean() + np.array([-1, 1]) * error) / losses[0].mean() + percent / 100
        assert [row["ci_lower"], row["ci_upper"]] == pytest.approx(ends, rel=0.02)
        seen.add(expected)
    assert seen == {"holds", "open", "breached"}


def test_a_relative_margin_is_about_as_strict_as_its_amount():
    acc, metrics = sm.binary(**CANDIDATES).update(ROWS), [metric for metric in METRICS if metric != "log_loss"]
    rows = sm.compare(acc, models=BETTER, confidence=0.9, metrics=metrics).frame.iter_rows(named=True)
    checked = sm.compare(acc, models=BETTER).check(not_worse=dict.fromkeys(metrics, "0.1%")).frame
    for row, found in zip(rows, checked.iter_rows(named=True), strict=True):
        assert found["value"] == pytest.approx(row["b"] / row["a"] - 1)
        for end in ("ci_lower", "ci_upper"):
            assert found[end] == pytest.approx(row[end] / row["a"], rel=0.2), row["metric"]


def test_the_distance_from_the_best_value_counts():
    y, *errors = np.random.default_rng(0).normal(size=(4, 1_000))
    biases = zip(("old", "new", "far"), (0.5, -0.1, -0.7), errors, strict=True)
    rows = {"y": y, **{name: y + bias + error for name, bias, error in biases}}
    acc = sm.regression(y_true="y", y_pred={name: name for name in ("old", "new", "far")}).update(rows)
    found = sm.compare(acc, models=("old", "new")).check(better=["bias"])
    assert verdicts(found) == ["holds"]
    assert found.frame["value"].item() == pytest.approx(-0.4, abs=0.1)
    far = sm.compare(acc, models=("old", "far")).check(not_worse=["bias=0.05", "bias=0.2"])
    assert verdicts(far) == ["breached", "open"]


def test_every_group_must_hold_or_those_that_are_selected():
    sides = compared(by="country")
    found = sides.check(not_worse={"roc_auc": 0.5}, better=["log_loss"])
    assert found.frame["where"].to_list() == ["country DE", "country FR"] * 2
    assert found.hold == (verdicts(found) == ["holds"] * 4)
    assert "of these 4 requirements" in str(found)
    assert "at most 5% of samples" in str(found)
    assert verdicts(sides.check(not_worse={"roc_auc": 0.5}, country="FR")) == ["holds"]
    assert verdicts(sides.check(not_worse={"roc_auc": 0.5}, country="XX")) == ["undefined"]


def test_open_verdicts_fail_unless_they_may_pass():
    sides = compared(ROWS[:100])
    for kept, hold in (({}, False), ({"open": "fail"}, False), ({"open": "pass"}, True)):
        found = sides.check(not_worse={"roc_auc": 0.001}, **kept)
        assert (verdicts(found), found.hold) == (["open"], hold)
    assert verdicts(sides.check(not_worse=["roc_auc"], min_rows=101)) == ["too few rows"]


def test_without_an_interval_a_requirement_is_open_and_says_why():
    one, other = (sm.binary(y_true="clicked", y_score=name).update(ROWS) for name in ("old", "new"))
    wanted = {"not_worse": {"roc_auc": 0.3}}
    found = sm.compare(one, other).check(**wanted)
    assert verdicts(found) == ["open"]
    assert "no interval" in str(found)
    assert "as independent" in found.frame["note"].item()
    assert verdicts(sm.compare(one, other, independent=True).check(**wanted)) == ["holds"]
    bounds_only = sm.compare(one, other).check(**wanted, confidence=None)
    assert verdicts(bounds_only) == ["holds"]
    assert "evaluated rows only" in str(bounds_only)
    ece = compared().check(not_worse={"ece": 0.5})
    assert verdicts(ece) == ["open"]
    assert "biased upwards" in str(ece)
    stored, other = (compared().check(not_worse={"recall": 0.1}, threshold=t) for t in (0.5, 0.3))
    assert (verdicts(stored), verdicts(other)) == (["holds"], ["open"])
    assert "threshold 0.3" in str(other)


def test_undefined_differences_do_not_hold():
    negatives = ROWS.filter(~pl.col("clicked"))[:40]
    found = compared(negatives).check(not_worse={"roc_auc": 0.1})
    assert (verdicts(found), found.hold) == (["undefined"], False)
    assert "old has no value: no positives" in str(found)
    assert verdicts(compared(negatives).check(not_worse={"precision": "1%"}, threshold=0.5)) == ["undefined"]
    rows = ROWS.with_columns(part=pl.int_range(2_000) % 3)
    acc = sm.binary(y_true="clicked", y_score="old", by="part")
    sides = (acc.empty().update(rows.filter(part)) for part in (pl.col("part") < 2, pl.col("part") > 0))
    found = sm.compare(*sides, independent=True).check(not_worse={"roc_auc": 0.5})
    assert verdicts(found) == ["undefined", "holds", "undefined"]
    assert str(found).count("only one side has rows") == 2


def test_margins_are_read_and_named():
    given = ["roc_auc=0.002", "log_loss = 0.50%", "fbeta(beta=2)", "fbeta(beta=2)=1e-3", "recall=0"]
    found = compared(ROWS[:100]).check(not_worse=given, better={"accuracy": 0, "brier_score": "2%"})
    assert found.frame["rule"].to_list() == [
        *("roc_auc not worse by 0.002", "log_loss not worse by 0.5%", "fbeta(beta=2) not worse"),
        *("fbeta(beta=2) not worse by 0.001", "recall not worse", "accuracy better", "brier_score better by 2%"),
    ]


@pytest.mark.thorough
def test_false_discoveries_among_breached_groups_are_controlled():
    """By the intervals of the groups: k of n are breached at an error of k/n times the rate."""
    groups, rows = 60, 80
    y, one, other = np.random.default_rng(3).normal(size=(3, groups, rows))
    worse = np.where(np.arange(groups) < 20, 0.4, 0.0)[:, np.newaxis]
    columns = {"y": y, "old": y + one, "new": y + (1 + worse) * other, "g": np.arange(groups)[:, np.newaxis] + 0 * y}
    acc = sm.regression(y_true="y", y_pred={"old": "old", "new": "new"}, by="g", metrics=["mae"])
    acc.update({name: values.ravel() for name, values in columns.items()})

    def breached(**options):
        found = sm.compare(acc, models=BETTER).check(not_worse={"mae": 0.1}, **options).frame
        return found["verdict"] == "breached", found

    alone, _ = breached()
    for rate in (0.02, 0.05):
        together, found = breached(segments=rate)
        assert 0 < together.sum() < alone.sum()
        assert (alone | ~together).all()
        share = rate * together.sum() / groups  # the error at which each of them is breached
        assert breached(confidence=1 - share)[0].to_list() == together.to_list()
        demoted = found.filter(alone & (found["verdict"] == "open"))
        assert demoted["reasons"].list.contains("false_discovery_rate").all()
    assert breached(segments="fdr 5 %")[1].equals(found)


@pytest.mark.thorough
def test_so_many_rows_decide_an_open_verdict():
    """Of few rows, whose intervals are wider because they are skewed. More rows are the same, so often."""
    rows, decided = ROWS[:60], 0
    wanted = {"not_worse": dict.fromkeys(("roc_auc", "average_precision"), 0.01), "better": ["log_loss"]}
    for row in compared(rows).check(**wanted).frame.filter(verdict="open").iter_rows(named=True):
        if (needed := row["rows_needed"]) is None or not 400 < needed < 20_000:
            continue
        decided += 1
        for factor, is_open in ((0.6, True), (1.3, False)):
            more = pl.concat([rows] * round(factor * needed / 60))
            found = dict(compared(more).check(**wanted).frame.select("rule", "verdict").rows())
            assert (found[row["rule"]] == "open") == is_open, (row["rule"], needed, factor)
    assert decided


def few_differ(rows, differing):
    """Rows of a candidate that is the champion but for a few rows, whose score is low."""
    low = pl.when(pl.int_range(pl.len()) < differing).then(0.02).otherwise("old").alias("new")
    return pl.concat([ALIKE] * -(-rows // 2_000))[:rows].with_columns(low)


@pytest.mark.thorough
def test_few_rows_that_differ_decide_nothing():
    requirements = {"not_worse": dict.fromkeys(("roc_auc", "log_loss", "f1"), 0.5)}
    for options, enough in (({}, 10), ({"unit": "u"}, 15), ({"by": pl.lit(1).alias("g")}, 10), ({"capacity": 128}, 10)):
        comparison = compared(few_differ(1_000, 8), metrics=[*requirements["not_worse"]], **options)
        found = comparison.check(**requirements).frame
        assert found["verdict"].to_list() == ["open"] * 3
        assert found["ci_lower"].is_not_null().all()
        assert found["reasons"].list.contains("few_rows_differ").all()
        assert found["effective_rows"].is_between(1, 10).all()
        assert set(found["effective_rows_needed"]) == {enough}
        assert comparison.frame["better"].drop_nulls().is_in(["equal"]).all()
    rows = compared(few_differ(1_000, 8)).check(not_worse={"log_loss": 0.5}).frame["rows_needed"].item()
    assert 1_000 < rows < 10_000
    more = compared(few_differ(2 * rows, 16 * rows // 1_000))
    assert verdicts(more.check(not_worse={"log_loss": 0.5})) == ["holds"]


@pytest.mark.thorough
def test_few_rows_of_evaluations_by_unit_decide_nothing():
    """The rows that differ are unknown, but not that few positives have most of the variance of either side."""
    task, units = sm.binary(y_true="y", y_score="p", domain="real", unit="u", metrics=["roc_auc"]), np.arange(4_000)

    def sides(positives):
        scores = np.random.default_rng(positives).normal(units < positives, 1.0, (2, 4_000))
        return [task.empty().update({"y": units < positives, "p": p, "u": units}) for p in scores]

    for independent in (False, True):
        row, other = (
            sm.compare(*sides(n), independent=independent).check(not_worse={"roc_auc": 0.9}).frame.row(0, named=True)
            for n in (8, 400)
        )
        assert (row["verdict"], row["ci_lower"] is None) == ("open", False)
        assert (row["reasons"], row["effective_rows_needed"]) == (["few_rows"], 15)
        assert other["verdict"] == "holds"


def test_few_errors_or_labels_that_differ_decide_nothing():
    few = pl.int_range(600) < 5
    rows = ROWS[:600].select(y=10 + pl.col("old"), old=10 + pl.col("new"), label=pl.int_range(600) % 3)
    rows = rows.with_columns(new=pl.when(few).then(0.0).otherwise("old"))
    errors = sm.regression(y_true="y", y_pred={"old": "old", "new": "new"}).update(rows)
    found = sm.compare(errors, models=BETTER).check(not_worse={"mae": 0.5, "mse": 5.0, "bias": 0.5})
    assert verdicts(found) == ["open"] * 3
    shares = {"p": (0.5, 0.3, 0.2), "q": (0.05, 0.75, 0.2)}
    scores = {"p": {i: pl.lit(share).alias(f"p{i}") for i, share in enumerate(shares["p"])}}
    changed = zip(shares["p"], shares["q"], strict=True)
    rows = rows.with_columns(pl.when(few).then(q).otherwise(p).alias(f"q{i}") for i, (p, q) in enumerate(changed))
    classes = sm.multiclass(y_true="label", y_score=scores | {"q": {i: f"q{i}" for i in range(3)}}).update(rows)
    assert verdicts(sm.compare(classes, models=("p", "q")).check(not_worse={"log_loss": 1.0})) == ["open"]


def test_requirements_near_the_end_of_the_range_are_open():
    y = np.random.default_rng(1).random(400) < 0.5
    score = 1 / (1 + np.exp(-4 * (np.random.default_rng(2).normal(size=400) + 4 * y - 2)))  # nearly all are right
    found = sm.binary(y_true="y", y_score="p").update({"y": y, "p": score}).finalize()
    found = found.check(["roc_auc >= 0.9", "log_loss <= 0.3", "accuracy >= 0.9"])
    assert verdicts(found) == ["open", "open", "holds"]
    assert "too few rows (about" in str(found)
