"""Requirements of a comparison: verdicts with margins, in every group."""

import math
import re
from functools import partial

import numpy as np
import pytest
from scipy import stats

import streammetrics as sm
from streammetrics.metrics.margin import margins

METRICS = ("roc_auc", "average_precision", "log_loss", "brier_score", "accuracy", "recall", "f1")


def scored(rows=2_000, seed=0, gain=0.3, groups=1):
    """Rows with scores of an old and a new model, which sees a bit more."""
    rng = np.random.default_rng(seed)
    y, common = rng.random(rows) < 0.3, rng.normal(size=rows)
    p = {
        name: 1 / (1 + np.exp(1.5 - see * y - common - 0.3 * rng.normal(size=rows)))
        for name, see in (("old", 1.2), ("new", 1.2 + gain))
    }
    return {"y": y, **p, "g": rng.integers(0, groups, rows), "u": np.arange(rows)}


def compared(rows, models=("old", "new"), **options):
    acc = sm.binary(y_true="y", y_score={"old": "old", "new": "new"}, **options).update(rows)
    return partial(sm.compare, acc, models=models)


def verdicts(found):
    return found.frame["verdict"].to_list()


def verdict_on(row, margin, improves):
    """By the interval of a difference, widened by its bounds; open on few effective rows."""
    low = row["ci_lower"] - row["difference"] + row["lower"]
    high = row["ci_upper"] - row["difference"] + row["upper"]
    if row["metric"] in ("log_loss", "brier_score"):
        low, high = -high, -low
    if "effective rows" in (row["note"] or ""):
        return "open"
    if improves:
        return "holds" if low > margin else "breached" if high <= margin else "open"
    return "holds" if low >= -margin else "breached" if high < -margin else "open"


@pytest.mark.parametrize("options", [{}, {"unit": "u"}, {"capacity": 128}], ids=["rows", "units", "bounds"])
@pytest.mark.parametrize("improves", [False, True], ids=["not worse", "better"])
def test_verdicts_follow_from_the_interval_widened_by_the_bounds(options, improves):
    models, seen = ("old", "new") if improves else ("new", "old"), set()
    data = scored(groups=4)
    sides = compared(data, models, by="g", **options)
    frame = sides(confidence=0.9, metrics=METRICS).frame  # each endpoint at 95%
    for margin in (0.0, 0.004, 0.02, 0.2):
        found = sides().check(**{"better" if improves else "not_worse": dict.fromkeys(METRICS, margin)})
        rows = [row for metric in METRICS for row in frame.filter(metric=metric).iter_rows(named=True)]
        assert found.frame["value"].to_list() == [row["difference"] for row in rows]
        assert verdicts(found) == [verdict_on(row, margin, improves) for row in rows]
        seen |= {*verdicts(found)}
    assert seen == {"holds", "open", "breached"}


def test_a_relative_margin_is_one_of_the_ratio():
    """The limit is met as far as the interval of b - (1 + m) a, from the influences of rows, excludes 0."""
    rows = scored()
    y, a, b = (rows[c].astype(float) for c in ("y", "old", "new"))
    losses = [-(y * np.log(p) + (1 - y) * np.log(1 - p)) for p in (a, b)]
    for percent in (-5, -4, -1, 1):
        contrast = losses[1] - (1 + percent / 100) * losses[0]
        error = contrast.std(ddof=1) / math.sqrt(len(y)) * stats.t.ppf(0.95, len(y) - 1) * (1 + 1 / math.sqrt(y.sum()))
        expected = "holds" if contrast.mean() + error <= 0 else "breached" if contrast.mean() - error > 0 else "open"
        given = {"not_worse" if percent > 0 else "better": {"log_loss": f"{abs(percent)}%"}}
        (row,) = compared(rows)().check(**given).frame.iter_rows(named=True)
        assert row["verdict"] == expected
        assert row["value"] == pytest.approx(losses[1].mean() / losses[0].mean() - 1)
        ends = (contrast.mean() + np.array([-1, 1]) * error) / losses[0].mean() + percent / 100
        assert [row["ci_lower"], row["ci_upper"]] == pytest.approx(ends, rel=0.02)


@pytest.mark.parametrize("metric", ["accuracy", "recall", "roc_auc", "f1", "brier_score", "average_precision"])
def test_a_relative_margin_is_about_as_strict_as_its_amount(metric):
    sides = compared(scored())(confidence=0.9, metrics=[metric])
    (row,) = sides.frame.iter_rows(named=True)
    (found,) = compared(scored())().check(not_worse={metric: "0.1%"}).frame.iter_rows(named=True)
    assert found["value"] == pytest.approx(row["b"] / row["a"] - 1)
    assert found["ci_lower"] == pytest.approx(row["ci_lower"] / row["a"], rel=0.15)
    assert found["ci_upper"] == pytest.approx(row["ci_upper"] / row["a"], rel=0.15)


def test_the_distance_from_the_best_value_counts():
    rng = np.random.default_rng(0)
    y = rng.normal(size=1_000)
    errors = {"old": 0.5, "new": -0.1, "far": -0.7}
    rows = {"y": y, **{name: y + bias + rng.normal(size=1_000) for name, bias in errors.items()}}
    acc = sm.regression(y_true="y", y_pred={name: name for name in errors}).update(rows)
    found = sm.compare(acc, models=("old", "new")).check(better=["bias"])
    assert verdicts(found) == ["holds"]
    assert found.frame["value"].item() == pytest.approx(-0.4, abs=0.1)
    assert verdicts(sm.compare(acc, models=("old", "far")).check(not_worse={"bias": 0.05})) == ["breached"]
    assert verdicts(sm.compare(acc, models=("old", "far")).check(not_worse={"bias": 0.2})) == ["open"]


def test_every_group_must_hold():
    sides = compared(scored(groups=3), by="g")()
    found = sides.check(not_worse={"roc_auc": 0.5}, better=["log_loss"])
    assert found.frame["where"].to_list() == ["g 0", "g 1", "g 2"] * 2
    assert found.hold == (verdicts(found) == ["holds"] * 6)
    assert "If one of these 6 requirements is not met, the gate passes in at most 5% of samples." in str(found)
    assert verdicts(sides.check(not_worse={"roc_auc": 0.5}, g=1)) == ["holds"]
    assert verdicts(sides.check(not_worse={"roc_auc": 0.5}, g=7)) == ["undefined"]


def test_open_verdicts_fail_unless_they_may_pass():
    sides = compared(scored(rows=100, gain=0.0))()
    for kept, hold in (({}, False), ({"open": "fail"}, False), ({"open": "pass"}, True)):
        found = sides.check(not_worse={"roc_auc": 0.001}, **kept)
        assert (verdicts(found), found.hold) == (["open"], hold)
    assert verdicts(sides.check(not_worse=["roc_auc"], min_rows=101)) == ["too few rows"]


def test_without_an_interval_a_requirement_is_open_and_says_why():
    rows = scored(groups=2)
    one, other = (sm.binary(y_true="y", y_score=name).update(rows) for name in ("old", "new"))
    found = sm.compare(one, other).check(not_worse={"roc_auc": 0.3})
    assert verdicts(found) == ["open"]
    assert "open: no interval of the difference\n" in str(found)
    assert "For different rows, pass independent=True." in str(found)
    assert "pass independent=True" in found.frame["note"].item()
    assert verdicts(sm.compare(one, other, independent=True).check(not_worse={"roc_auc": 0.3})) == ["holds"]
    assert verdicts(sm.compare(one, other).check(not_worse={"roc_auc": 0.3}, confidence=None)) == ["holds"]
    assert "evaluated rows only" in str(sm.compare(one, other).check(not_worse={"roc_auc": 0.3}, confidence=None))
    ece = compared(rows)().check(not_worse={"ece": 0.5})
    assert verdicts(ece) == ["open"]
    assert "No interval of ece: it is biased upwards.\n" in str(ece)


def test_undefined_differences_do_not_hold():
    rows = {"y": [0] * 40, "old": [0.2, 0.3] * 20, "new": [0.1, 0.4] * 20}
    found = compared(rows)().check(not_worse={"roc_auc": 0.1})
    assert (verdicts(found), found.hold) == (["undefined"], False)
    assert "old has no value: no positives" in str(found)
    zero = compared(rows)().check(not_worse={"precision": "1%"}, threshold=0.5)
    assert verdicts(zero) == ["undefined"]


def test_groups_of_one_side_are_undefined():
    rows = scored(rows=600, groups=3)
    one, other = (
        sm.binary(y_true="y", y_score="old", by="g").update({c: v[keep] for c, v in rows.items()})
        for keep in (rows["g"] < 2, rows["g"] > 0)
    )
    found = sm.compare(one, other, independent=True).check(not_worse={"roc_auc": 0.5})
    assert verdicts(found) == ["undefined", "holds", "undefined"]
    assert str(found).count("undefined: only one side has rows") == 2


def test_a_threshold_that_was_not_counted_says_so():
    sides = compared(scored())()
    stored, other = (sides.check(not_worse={"recall": 0.1}, threshold=t) for t in (0.5, 0.3))
    assert (verdicts(stored), verdicts(other)) == (["holds"], ["open"])
    assert "For intervals, evaluate with threshold 0.3." in str(other)


def test_names_of_models_stay_in_a_line():
    rows = scored(rows=100)
    acc = sm.binary(y_true="y", y_score={"a\n::b": "old", "new": "new"}).update(rows)
    assert "\nValues are new - a\\n::b.\n" in str(sm.compare(acc, models=("a\n::b", "new")).check(better="roc_auc"))


def test_margins_are_read_and_printed():
    given = ["roc_auc=0.002", "log_loss = 0.50%", "fbeta(beta=2)", "fbeta(beta=2)=1e-3", "recall=0"]
    assert [str(m) for m in margins(given, improves=False)] == [
        *("roc_auc not worse by 0.002", "log_loss not worse by 0.5%", "fbeta(beta=2) not worse"),
        *("fbeta(beta=2) not worse by 0.001", "recall not worse"),
    ]
    assert [str(m) for m in margins({"roc_auc": 0, "mae": "2%"}, improves=True)] == [
        "roc_auc better",
        "mae better by 2%",
    ]
    assert [str(m) for m in margins("roc_auc", improves=True)] == ["roc_auc better"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Pass not_worse= or better=, such as not_worse={'roc_auc': 0.002}."),
        ({"better": ["prevalence"]}, "prevalence has no preferred direction"),
        ({"better": ["nonsense"]}, "nonsense"),
        (
            {"not_worse": {"roc_auc": -0.1}},
            "The margin of roc_auc must be a number of at least 0, such as 0.002, or '0.5%', got -0.1.",
        ),
        ({"not_worse": {"roc_auc": None}}, "got None"),
        ({"not_worse": {"roc_auc": True}}, "got True"),
        ({"not_worse": {"roc_auc": math.nan}}, "got nan"),
        ({"not_worse": {"roc_auc": 2}}, "The margin of roc_auc must be below 1, got 2. For 2%, pass '2%'."),
        ({"not_worse": ["roc_auc=x"]}, "got 'x'"),
        ({"not_worse": {"mcc": "1%"}}, "mcc can be 0 or negative, so its margin cannot be relative. Pass a number."),
        ({"not_worse": {"roc_auc": 0.1}, "open": "maybe"}, "open= must be 'pass' or 'fail'"),
        ({"not_worse": {"roc_auc": 0.1}, "confidence": 0.4}, "confidence= must be between 0.5 and 1"),
        ({"not_worse": {"roc_auc": 0.1}, "segments": "5%"}, "segments= must be 'fdr 5 %' or a share"),
        ({"not_worse": {"roc_auc": 0.1}, "shop": 3}, "Unknown key 'shop'"),
    ],
)
def test_invalid_requirements_name_the_fix(given, said):
    with pytest.raises(sm.errors.StreamMetricsError) as error:
        compared(scored(rows=50))().check(**given)
    assert said in str(error.value)


def test_false_discoveries_among_breached_groups_are_controlled():
    """By the intervals of the groups: k of n are breached at an error of k/n times the rate."""
    rng = np.random.default_rng(3)
    groups, rows, margin = 60, 80, 0.1
    y, g = rng.normal(size=(groups, rows)), np.repeat(np.arange(groups), rows)
    worse = np.where(np.arange(groups) < 20, 0.4, 0.0)[:, np.newaxis]
    old, new = y + rng.normal(size=y.shape), y + (1 + worse) * rng.normal(size=y.shape)
    acc = sm.regression(y_true="y", y_pred={"old": "old", "new": "new"}, by="g")
    sides = sm.compare(
        acc.update({"y": y.ravel(), "old": old.ravel(), "new": new.ravel(), "g": g}), models=("old", "new")
    )
    for rate in (0.02, 0.05):
        found = sides.check(not_worse={"mae": margin}, segments=rate).frame
        breached = found["verdict"] == "breached"
        alone = sides.check(not_worse={"mae": margin}).frame["verdict"] == "breached"
        assert 0 < breached.sum() < alone.sum()
        assert (alone | ~breached).all()
        share = rate * breached.sum() / groups  # the error at which each of them is breached
        at_share = sides.check(not_worse={"mae": margin}, confidence=1 - share).frame["verdict"] == "breached"
        assert at_share.to_list() == breached.to_list()
        said = found.filter(alone & (found["verdict"] == "open"))["note"].unique().to_list()
        assert said == [f"breached alone, but not at a false discovery rate of {100 * rate:g}%"]
    as_text = sides.check(not_worse={"mae": margin}, segments="fdr 5 %").frame
    assert as_text.equals(sides.check(not_worse={"mae": margin}, segments=0.05).frame)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [2, 0])
def test_so_many_rows_decide_an_open_verdict(seed):
    """Of few rows, whose intervals are wider because they are skewed. More rows are the same, so often."""
    rows, decided = scored(60, seed, gain=0.1), 0
    wanted = {"not_worse": dict.fromkeys(("roc_auc", "average_precision"), 0.01), "better": ["log_loss"]}
    for row in compared(rows)().check(**wanted).frame.filter(verdict="open").iter_rows(named=True):
        if (needed := row["rows_needed"]) is None or not 400 < needed < 20_000:
            continue
        decided += 1
        for factor, is_open in ((0.6, True), (1.3, False)):
            more = {name: np.tile(values, round(factor * needed / 60)) for name, values in rows.items()}
            found = dict(compared(more)().check(**wanted).frame.select("rule", "verdict").rows())
            assert (found[row["rule"]] == "open") == is_open, (row["rule"], needed, factor)
    assert decided >= 2


def few_differ(rows, differing, seed=0, **options):
    """A candidate that is the champion but for a few rows, whose score is low."""
    data = scored(rows, seed, gain=0.0)
    data["new"] = data["old"].copy()
    data["new"][:differing] = 0.02
    return compared(data, **options)()


@pytest.mark.parametrize(
    ("options", "enough"), [({}, 10), ({"unit": "u"}, 15), ({"by": "g"}, 10), ({"capacity": 128}, 10)], ids=str
)
def test_few_rows_that_differ_decide_nothing(options, enough):
    comparison = few_differ(1_000, 8, **options)
    found = comparison.check(not_worse=dict.fromkeys(("roc_auc", "log_loss", "f1"), 0.5)).frame
    assert found["verdict"].to_list() == ["open"] * 3
    assert found["ci_lower"].is_not_null().all()
    assert found["note"].str.contains(rf"too few rows differ \(about \d effective rows; {enough} decide\)").all()
    assert "open: too few rows differ (about" in str(comparison.check(not_worse={"roc_auc": 0.5}))
    assert comparison.frame["better"].drop_nulls().is_in(["equal"]).all()


@pytest.mark.parametrize("independent", [False, True])
def test_few_rows_of_evaluations_by_unit_decide_nothing(independent):
    """The rows that differ are unknown, but not that few positives have most of the variance of either side."""

    def compared_apart(positives):
        random, rows = np.random.default_rng(positives), 4_000
        y = np.arange(rows) < positives
        data = {"y": y, "u": np.arange(rows)} | {m: random.normal(y, 1.0) for m in ("old", "new")}
        old, new = (sm.binary(y_true="y", y_score=m, domain="real", unit="u").update(data) for m in ("old", "new"))
        return sm.compare(old, new, independent=independent)

    few, enough = (compared_apart(n) for n in (8, 400))
    row = few.check(not_worse={"roc_auc": 0.9}).frame.row(0, named=True)
    assert (row["verdict"], row["ci_lower"] is None) == ("open", False)
    assert re.search(r"too few rows \(about \d effective rows; 15 decide\)", row["note"])
    assert verdicts(enough.check(not_worse={"roc_auc": 0.9})) == ["holds"]


def test_so_many_rows_are_needed_that_enough_differ():
    rows = few_differ(1_000, 8).check(not_worse={"log_loss": 0.5}).frame["rows_needed"].item()
    assert 1_000 < rows < 10_000
    more = few_differ(2 * rows, 16 * rows // 1_000).check(not_worse={"log_loss": 0.5})
    assert verdicts(more) == ["holds"]


def test_few_errors_that_differ_decide_nothing():
    rng = np.random.default_rng(0)
    y = rng.normal(10, 3, 1_000)
    old = y + rng.normal(size=1_000)
    rows = {"y": y, "old": old, "new": np.where(np.arange(1_000) < 5, 0.0, old)}
    acc = sm.regression(y_true="y", y_pred={"old": "old", "new": "new"}).update(rows)
    found = sm.compare(acc, models=("old", "new")).check(not_worse={"mae": 0.5, "mse": 5.0, "bias": 0.5})
    assert verdicts(found) == ["open"] * 3
    labels = {
        "y": ["a", "b", "c"] * 200,
        **{f"{m}_{c}": [share] * 600 for m in "pq" for c, share in zip("abc", (0.5, 0.3, 0.2), strict=True)},
    }
    worse = np.arange(600) < 4
    labels["q_a"], labels["q_b"] = (np.where(worse, x, labels[c]) for c, x in (("q_a", 0.05), ("q_b", 0.75)))
    scores = {m: {c: f"{m}_{c}" for c in "abc"} for m in "pq"}
    found = sm.compare(sm.multiclass(y_true="y", y_score=scores).update(labels), models=("p", "q"))
    assert verdicts(found.check(not_worse={"log_loss": 1.0})) == ["open"]


def test_requirements_near_the_end_of_the_range_are_open():
    rng = np.random.default_rng(1)
    y = rng.random(400) < 0.5
    score = 1 / (1 + np.exp(-4 * (rng.normal(size=400) + 4 * y - 2)))
    report = sm.binary(y_true="y", y_score="p").update({"y": y, "p": score}).finalize()
    found = report.check(["roc_auc >= 0.9", "log_loss <= 0.3", "accuracy >= 0.9"])
    assert verdicts(found) == ["open", "open", "holds"]
    assert "too few rows (about" in str(found)
