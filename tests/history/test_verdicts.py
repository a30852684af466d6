"""Verdicts: bounds and intervals together, too few rows, what fails a check, and how many rows would decide."""

import re
from datetime import timedelta

import numpy as np
import polars as pl
import pytest
from data import CLICKS, FIRST_DAY, clicks
from scipy.optimize import brentq
from scipy.special import betaln, xlog1py, xlogy
from scipy.stats import beta, norm
from stores import accuracy, checked, history, rows

import streammetrics as sm

DAYS = [FIRST_DAY + timedelta(days=n) for n in range(90)]
FEW = "no interval: too few rows of a class"


@pytest.fixture(scope="module")
def eighty(tmp_path_factory):
    """Of 80 right and 20 wrong predictions."""
    return history(tmp_path_factory.mktemp("eighty"), accuracy(), rows(80, 20))


def test_verdicts_are_those_of_the_interval_widened_by_the_bounds(tmp_path):
    """Also on its ends, where only the comparison that includes the limit is certain. Here bins are wide."""
    coarse = history(tmp_path, sm.binary(by="day", capacity=8, **CLICKS), clicks())
    [found] = checked(coarse, sm.Rule("roc_auc >= 0", over="5d"))
    low = found["ci_lower"] - (found["value"] - found["lower"])
    high = found["ci_upper"] + (found["upper"] - found["value"])
    assert min(found["value"] - found["lower"], found["value"] - found["ci_lower"]) > 0.01
    expected = {
        (low, ">"): "open",
        (low, ">="): "holds",
        (low, "<"): "breached",
        (low, "<="): "open",
        (high, ">"): "breached",
        (high, ">="): "open",
        (high, "<"): "open",
        (high, "<="): "holds",
        (low - 1e-3, ">"): "holds",
        ((low + high) / 2, ">"): "open",
        (high + 1e-3, "<"): "holds",
    }
    rules = [sm.Rule(f"roc_auc {sign} {limit!r}", over="5d") for limit, sign in expected]
    assert [row["verdict"] for row in checked(coarse, *rules)] == [*expected.values()]


def test_a_limit_at_the_true_value_is_rarely_decided(tmp_path):
    """One-sided: at most in 5 of 100 segments, and about that often."""
    right = np.random.default_rng(0).binomial(500, 0.8, 400)
    frame = pl.concat([rows(k, 500 - k, shop=n) for n, k in enumerate(right.tolist())])
    found = checked(history(tmp_path, accuracy("shop"), frame), sm.Rule("accuracy >= 0.8", by="shop"))
    for verdict in ("breached", "holds"):
        assert 0.02 <= np.mean([row["verdict"] == verdict for row in found]) <= 0.08


def test_what_fails_a_check(eighty):
    """Rows that are no rows are undefined, which fails, and not too few."""
    failed = {"open": "fail"}
    table = [
        ("accuracy >= 0.5", {}, "holds", True),
        ("accuracy >= 0.8", {}, "open", True),
        ("accuracy >= 0.8", failed, "open", False),
        ("accuracy >= 0.8", failed | {"severity": "warn"}, "open", True),
        ("accuracy >= 0.99", {}, "breached", False),
        ("accuracy >= 0.99", {"severity": "warn"}, "breached", True),
        ("accuracy >= 0.99", {"min_rows": 100}, "breached", False),
        ("accuracy >= 0.99", {"min_rows": 101}, "too few rows", True),
        ("accuracy >= 0.99", {"min_rows": 101} | failed, "too few rows", False),
        ("rows >= 100", {}, "holds", True),
        ("rows >= 101", {}, "breached", False),
        ("roc_auc >= 0.5", {}, "undefined", False),
    ]
    rules = [sm.Rule(require, **fields) for require, fields, *_ in table]
    found = sm.check(eighty, rules)
    assert found.frame.select("verdict", "passes").rows() == [row[2:] for row in table]
    assert (found.frame["severity"].to_list(), {*found.frame["rows"]}) == ([rule.severity for rule in rules], {100})
    assert (found.hold, sm.check(eighty, [rules[0], rules[3]]).hold) == (False, True)
    [row] = checked(eighty, sm.Rule("accuracy >= 0.8", min_rows=50), until=FIRST_DAY)
    assert (row["verdict"], row["passes"]) == ("undefined", False)


# Few rows


def test_the_reference_needs_as_many_rows(tmp_path):
    store = history(tmp_path, accuracy(), pl.concat([rows(30, 10), rows(300, 100, day=DAYS[1])]))
    requirements = ("psi(of='y_score') <= 0.2", "accuracy >= -0.5")
    found = checked(store, *(sm.Rule(text, against="1d", min_rows=n) for text in requirements for n in (41, 40)))
    assert [(row["verdict"], row["rows"]) for row in found] == [("too few rows", 40), ("holds", 40)] * 2


@pytest.mark.parametrize("unit", [None, "unit"])
def test_rules_are_open_on_few_effective_rows(unit, tmp_path):
    """Like the check of a report; but alarms and intervals of every look are not."""

    def of(positives):
        """Two days of scores that rank well."""
        y, units = np.arange(2_000) < positives, np.arange(2_000)
        noise = {day: np.random.default_rng(day.day).normal(0, 1.5, 2_000) for day in DAYS[:2]}
        frame = pl.concat(
            pl.DataFrame({"y": y, "p": norm.cdf(np.where(y, 1.0, -1.0) + noise[day]), "unit": units, "day": day})
            for day in noise
        )
        return history(tmp_path / f"{positives}", accuracy(unit=unit), frame)

    few, many, change = of(6), of(400), {"against": "1d"}
    rules = [sm.Rule("roc_auc >= 0.6"), sm.Rule("roc_auc <= 0.6"), sm.Rule("roc_auc >= -0.9", **change)]
    for row in checked(few, *rules):
        assert (row["verdict"], row["ci_lower"] is None) == ("open", False)
        assert row["reasons"] == ["few_rows"]
        assert row["effective_rows"] < row["effective_rows_needed"] == (15 if unit else 10)
        assert row["rows_needed"] > row["rows"]
    decided = checked(many, *rules)
    assert [row["verdict"] for row in decided] == ["holds", "breached", "holds"]
    for options in ({"always": 1_000}, {"alarm": "1 per year"}):
        decided += checked(few, sm.Rule("roc_auc >= 0.3", **options))
    assert not any("few_rows" in row["reasons"] for row in decided)


def test_too_few_rows_of_a_class_or_of_large_weight_decide_nothing(tmp_path):
    """Scores that do not vary decide, in contrast: they can be those of a model that fails."""
    random = np.random.default_rng(1)
    for rule, positives, weight, verdict in (
        ("average_precision >= 0.9", 2, None, "open"),
        ("average_precision >= 0.9", 200, None, "breached"),
        ("average_precision <= 0.2", 30, 10, "open"),
        ("average_precision <= 0.2", 100, 10, "open"),
        ("average_precision <= 0.2", 300, 5, "breached"),
        ("log_loss_skill >= 0.99", 60, 10, "open"),
        ("recall <= 0.1", 2, 10, "open"),
        ("accuracy >= 0.99", 2, 10, "open"),
    ):
        y = np.arange(1_000) < positives
        p = norm.cdf(random.normal(2 * y - 1, 1)) if weight or verdict == "open" else np.full(1_000, 0.3)
        acc = sm.binary(y_true="y", y_score="p", sample_weight="w" if weight else None)
        report = acc.update({"y": y, "p": p, "w": np.where(y, weight or 1, 1.0)}).finalize(rule.split()[0])
        row = report.check(rule).frame.row(0, named=True)
        assert (row["verdict"], "few_rows_of_class" in row["reasons"]) == (verdict, verdict == "open"), rule
    store = history(tmp_path / "one class", accuracy(sample_weight="w"), rows(80, 20).with_columns(w=0.5))
    found = checked(store, *(sm.Rule(r) for r in ("accuracy >= 0.79", "accuracy >= 0.81", "recall >= 0.79")))
    assert [(row["verdict"], row["note"]) for row in found] == [("open", FEW)] * 3


def test_metrics_of_all_labels_are_open_if_few_rows_carry_a_label():
    random, names = np.random.default_rng(2), ["mcc", "kappa", "f1(average=macro)", "precision(average=weighted)"]
    y = np.repeat([0, 1, 2], [200, 95, 5])
    z = np.where(random.random(300) < 0.8, y, random.integers(0, 2, 300))
    for weight in (1, 8):
        acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w")
        report = acc.update({"y": y, "z": z, "w": np.where(y == 2, float(weight), 1.0)}).finalize(
            names, confidence=0.95
        )
        found = report.check([f"{name} >= 0.05" for name in names]).frame
        few = (295 + 5 * weight) / weight < 50
        carried = [few or name == "f1(average=macro)" for name in names]  # by five rows
        assert found["verdict"].to_list() == ["open" if each else "holds" for each in carried]
        by_rows, by_class = (
            found["reasons"].list.contains(code).to_list() for code in ("few_rows", "few_rows_of_class")
        )
        assert by_rows == [each and not few for each in carried]
        assert by_class == [few] * len(names)


# Intervals of every look, and rows that would decide


@pytest.mark.thorough
def test_limits_of_every_look_are_the_one_sided_confidence_sequences_of_all_windows(tmp_path):
    """That of a share is where a beta mixture beyond it is 20 times as likely; others are so many errors wide."""
    always, alpha = 500, 0.05
    density = (-2 * np.log(2 * alpha) + np.log(1 - 2 * np.log(2 * alpha))) / always
    for n in (100, 500):
        store = history(tmp_path / f"{n}", sm.binary(by="day", **CLICKS), clicks()[:n])
        right = clicks()[:n].select((pl.col("score") >= 0.5) == pl.col("clicked")).sum().item()

        def beyond(limit, above, right=right, n=n):
            """The logarithm of how much likelier the rows are beyond the limit than at it, less that of 20."""
            a, b, wrong = limit / density, (1 - limit) / density, n - right
            tail = beta.sf if above else beta.cdf
            likelier = np.log(tail(limit, a + right, b + wrong) / tail(limit, a, b) * alpha)
            return likelier + betaln(a + right, b + wrong) - betaln(a, b) - xlogy(right, limit) - xlog1py(wrong, -limit)

        share, error = checked(store, *(sm.Rule(f"{name} <= 0.9", always=always) for name in ("accuracy", "log_loss")))
        expected = [brentq(beyond, 0.3, right / n, args=True), brentq(beyond, right / n, 0.98, args=False)]
        assert [share["ci_lower"], share["ci_upper"]] == pytest.approx(expected, abs=1e-7)
        assert (share["rows"], share["windows"]) == (n, "2026-01-01 to 2026-01-10")
        once = store.query().finalize(["log_loss"], confidence=0.9)["log_loss"]
        spread = n * density
        wider = np.sqrt((1 + spread) / spread * 2 * np.log1p(np.sqrt(1 + spread) / (2 * alpha))) / norm.ppf(0.95)
        for end in ("ci_lower", "ci_upper"):
            assert error[end] - error["value"] == pytest.approx(wider * (getattr(once, end) - once.value))
    rules = (sm.Rule("accuracy >= 0.7", always=n) for n in (500, 50, 5_000))
    widths = [row["ci_upper"] - row["ci_lower"] for row in checked(store, *rules)]
    assert widths[0] == min(widths)


def test_no_number_of_rows_decides_a_value_at_the_limit(eighty):
    at_looks, at_once = checked(eighty, *(sm.Rule("accuracy >= 0.8", always=always) for always in (100, None)))
    for row in (at_looks, at_once):
        assert (row["verdict"], row["reasons"], row["rows_needed"]) == ("open", ["at_limit"], None)


@pytest.fixture(scope="module", params=[{}, {"sample_weight": "w"}], ids=["rows", "weights"])
def steady(request, tmp_path_factory):
    """The same 200 rows on each of 90 days, so that all values stay."""
    random = np.random.default_rng(0)
    score = random.random(200)
    day = {"y": random.random(200) < score, "p": score, "w": random.uniform(0.5, 1.5, 200)}
    every = pl.DataFrame(day).join(pl.DataFrame({"day": DAYS}), how="cross")
    return history(tmp_path_factory.mktemp("steady"), accuracy(**request.param), every)


@pytest.mark.parametrize(
    ("metric", "always", "gap"),
    [
        *(("accuracy", None, -0.03), ("accuracy", 2_000, 0.03), ("accuracy", 50_000, -0.03)),
        *(("log_loss", None, 0.03), ("log_loss", 2_000, -0.03), ("log_loss", 50_000, 0.03)),
    ],
)
def test_so_many_rows_decide_a_steady_stream(steady, metric, always, gap):
    [row] = checked(steady, sm.Rule(f"{metric} >= 0"))
    limit = row["value"] + gap * (0.6 if always is None else 1)

    def after(days):
        options = {"always": always} if always else {"over": f"{days}d"}
        [row] = checked(steady, sm.Rule(f"{metric} >= {limit}", **options), until=FIRST_DAY + timedelta(days))
        return row

    first = after(2)
    assert (first["verdict"], first["rows"]) == ("open", 400)
    assert first["days_needed"] == np.ceil(first["rows_needed"] / 200)
    assert after(int(first["days_needed"] * 0.8))["verdict"] == "open"
    assert after(int(np.ceil(first["days_needed"] * 1.2)))["verdict"] != "open"


def test_rules_that_depend_on_more_than_their_rows_name_no_number(steady):
    [row] = checked(steady, sm.Rule("accuracy >= 0"))
    rules = [
        sm.Rule("accuracy >= -0.001", against="2d"),
        sm.Rule(f"accuracy >= {row['value'] + 0.001}", alarm="1 per year"),
        sm.Rule("rows >= 1e6", over="200d"),
        sm.Rule("psi(of='y_score') <= 1e-9", against="2d"),
    ]
    found = checked(steady, *rules, until=FIRST_DAY + timedelta(10))
    assert [row["verdict"] for row in found[:2]] == ["open", "open"]
    assert [row["rows_needed"] is None for row in found] == [False, True, True, True]


# Frames and texts


def test_millions_of_rows_that_would_decide_have_two_digits():
    half = sm.binary(y_true="y", y_pred="z").update({"y": [0, 1] * 500, "z": [1] * 1_000}).finalize()
    found = half.check([f"accuracy >= {0.5 + step / 100_000}" for step in range(20, 60)])
    needed = found.frame["rows_needed"].to_list()
    assert min(needed) > 1_000_000
    assert all(rows % 100_000 == 0 for rows in needed)


def test_the_frame_has_the_same_columns_in_any_case(shared):
    rules = [
        sm.Rule("rows >= 1", by="country"),
        sm.Rule("psi(of='y_score') <= 1", against="7d"),
        sm.Rule("accuracy >= 0.5", alarm="1 per year"),
    ]
    schemas = {tuple(sm.check(shared, r, until=u).frame.schema.items()) for r in rules for u in (None, "2027-01-01")}
    assert len(schemas) == 1


def test_verdicts_print_with_names_warnings_and_rows_that_would_decide(eighty, shared):
    warned = sm.Rule("accuracy >= 0.99", name="quality", severity="warn", description="Ask the team.")
    found = sm.check(eighty, [warned, sm.Rule("accuracy >= 0.78"), sm.Rule("rows >= 101")])
    assert found.frame.select("name", "description").row(0) == ("quality", "Ask the team.")
    _, _, _, quality, undecided, count, *_ = str(found).splitlines()
    assert re.fullmatch(r"quality: accuracy >= 0.99 .* ! breached \(severity warn\)", quality)
    assert re.fullmatch(f"accuracy >= 0.78 .* [?] open: about {found.frame['rows_needed'][1]:,} rows .*", undecided)
    assert "1 of 3" in count
    by = sm.Rule("rows >= 1", by="country")
    lines = str(sm.check(shared, [by, sm.Rule("rows >= 1")])).splitlines()
    assert [line.partition("  ")[0] for line in lines[2:6]] == ["DE", "FR", "IN", "all rows"]


def test_rows_that_would_decide_are_said_in_windows_of_the_history(tmp_path):
    hours = pl.datetime_range(pl.datetime(2026, 1, 1), pl.datetime(2026, 1, 1, 5), "1h", eager=True).alias("hour")
    frame = clicks()[:200].join(hours.to_frame(), how="cross")
    rule = sm.Rule("accuracy >= 0.78", over="2h")
    found = sm.check(history(tmp_path, sm.binary(by="hour", **CLICKS), frame), rule)
    needed = found.frame["rows_needed"].item()
    assert f"about {needed:,} rows would decide ({np.ceil(needed / 200):.0f} hours)" in str(found)
