"""Verdicts of rules: bounds and intervals together, too few rows, and what fails a check."""

import re
from datetime import date, timedelta
from functools import cache

import numpy as np
import polars as pl
import pytest

import streammetrics as sm
from streammetrics.history.breaches import looks
from streammetrics.history.store import history_of
from streammetrics.intervals.sequences import errors_wide, share_limits

FIRST = date(2026, 1, 1)


def store_of(directory, acc, rows, batch_id="all"):
    store = sm.MetricStore(str(directory))
    assert store.append(acc.update(rows), batch_id=batch_id)
    return store


def rows(right, wrong, day=FIRST, **columns):
    """Right and wrong predictions."""
    count = right + wrong
    p = [1.0] * right + [0.0] * wrong
    return pl.DataFrame({"day": [day] * count, "y": [True] * count, "p": p, **columns})


def accuracy(*by, **options):
    return sm.binary(y_true="y", y_score="p", by=["day", *by], **options)


def found(store, rule):
    return sm.check(store, rule).frame.row(0, named=True)


@pytest.mark.thorough
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_a_verdict_needs_the_interval_on_one_side(confidence, tmp_path):
    store = store_of(tmp_path, accuracy(), rows(80, 20))
    ends = accuracy().update(rows(80, 20)).finalize(["accuracy"], confidence=2 * confidence - 1)["accuracy"]
    row = found(store, sm.Rule("accuracy >= 0.5", confidence=confidence))
    assert (row["ci_lower"], row["ci_upper"], row["rows"]) == (ends.ci_lower, ends.ci_upper, 100)
    limits = {ends.ci_lower - 1e-6: "holds", ends.ci_lower + 1e-6: "open", 0.8: "open", ends.ci_upper - 1e-6: "open"}
    limits |= {ends.ci_upper + 1e-6: "breached"}
    turned = {"holds": "breached", "breached": "holds", "open": "open"}
    for limit, verdict in limits.items():
        assert found(store, sm.Rule(f"accuracy >= {limit!r}", confidence=confidence))["verdict"] == verdict
        assert found(store, sm.Rule(f"accuracy <= {limit!r}", confidence=confidence))["verdict"] == turned[verdict]


def test_a_limit_at_the_true_value_is_rarely_breached(tmp_path):
    """One-sided: at most in 5 of 100 segments, and about that often."""
    random = np.random.default_rng(0)
    right = random.binomial(500, 0.8, 400)
    parts = [rows(k, 500 - k, shop=n) for n, k in enumerate(right.tolist())]
    store = store_of(tmp_path, accuracy("shop"), pl.concat(parts))
    verdicts = sm.check(store, sm.Rule("accuracy >= 0.8", by="shop")).frame["verdict"]
    assert 0.02 <= (verdicts == "breached").mean() <= 0.07
    assert 0.02 <= (verdicts == "holds").mean() <= 0.08


@pytest.mark.parametrize(("positives", "constant", "verdict"), [(2, False, "open"), (200, True, "breached")])
def test_too_few_rows_of_a_class_decide_nothing(positives, constant, verdict, tmp_path):
    """Scores that do not vary decide, in contrast: they can be those of a model that fails."""
    y = np.arange(2_000) < positives
    p = np.full(2_000, 0.3) if constant else np.where(y, 0.6, np.random.default_rng(0).random(2_000))
    store = store_of(tmp_path, accuracy(), pl.DataFrame({"day": [FIRST] * 2_000, "y": y, "p": p}))
    checked = sm.check(store, sm.Rule("average_precision >= 0.9"))
    assert checked.frame["verdict"].item() == verdict
    assert ("open: too few rows of a class" in str(checked)) == (verdict == "open")
    assert store.query().finalize().check("average_precision >= 0.9").frame["verdict"].item() == verdict


@pytest.mark.parametrize(
    ("rule", "positives", "weight", "verdict"),
    [
        ("average_precision <= 0.2", 30, 10, "open"),
        ("average_precision <= 0.2", 100, 10, "open"),
        ("average_precision <= 0.2", 300, 5, "breached"),
        ("log_loss_skill >= 0.99", 60, 10, "open"),
        ("recall <= 0.1", 2, 10, "open"),
        ("accuracy >= 0.99", 2, 10, "open"),
    ],
)
def test_a_few_rows_of_large_weight_decide_nothing(rule, positives, weight, verdict):
    """Their weights counted as hundreds of rows, and decided rules although there is no interval."""
    random, y = np.random.default_rng(1), np.arange(1_000) < positives
    p = 1 / (1 + np.exp(-random.normal(2 * y - 1, 1)))
    columns = {"y": y, "p": p, "w": np.where(y, float(weight), 1.0)}
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w").update(columns)
    report = acc.finalize(rule.split()[0], confidence=0.95)
    row = report.check(rule).frame.row(0, named=True)
    assert row["verdict"] == verdict
    assert (row["note"] == "no interval: too few rows of a class") == (verdict == "open")


@pytest.mark.parametrize("weight", [8, 1, 3, 30])
def test_metrics_of_all_labels_are_open_if_few_rows_carry_a_label(weight):
    random, names = np.random.default_rng(2), ["mcc", "kappa", "f1(average=macro)", "precision(average=weighted)"]
    y = np.repeat([0, 1, 2], [200, 95, 5])
    z = np.where(random.random(300) < 0.8, y, random.integers(0, 2, 300))
    columns = {"y": y, "z": z, "w": np.where(y == 2, float(weight), 1.0)}
    acc = sm.multiclass(y_true="y", y_pred="z", sample_weight="w").update(columns)
    report = acc.finalize(names, confidence=0.95)
    found = report.check([f"{name} >= 0.05" for name in names]).frame
    few = (295 + 5 * weight) / weight < 50
    carried = [few or name == "f1(average=macro)" for name in names]  # by five rows
    assert found["verdict"].to_list() == ["open" if each else "holds" for each in carried]
    notes = found["note"].fill_null("")
    assert notes.str.contains("effective rows; 10 decide").to_list() == [each and not few for each in carried]
    assert notes.str.ends_with("no interval: too few rows of a class").to_list() == [few] * len(names)


def test_where_there_is_no_interval_the_bounds_decide(tmp_path):
    store = store_of(tmp_path, accuracy(), rows(80, 20))
    row = found(store, sm.Rule("rows >= 100"))
    assert (row["verdict"], row["note"], row["ci_lower"]) == ("holds", "no interval: a count", None)
    assert found(store, sm.Rule("rows >= 101"))["verdict"] == "breached"


def test_proportions_of_weighted_rows_of_one_class_are_open(tmp_path):
    store = store_of(tmp_path, accuracy(sample_weight="w"), rows(80, 20).with_columns(w=0.5))
    for rule in ("accuracy >= 0.79", "accuracy >= 0.81", "recall >= 0.79"):
        row = found(store, sm.Rule(rule))
        assert (row["verdict"], row["note"]) == ("open", "no interval: too few rows of a class")


def test_correlated_rows_widen_the_interval(tmp_path):
    parts = pl.concat([rows(90 - 5 * (u % 3), 10 + 5 * (u % 3), user=u) for u in range(40)])
    plain = store_of(tmp_path / "plain", accuracy(), parts)
    units = store_of(tmp_path / "units", accuracy(unit="user"), parts)
    for rule in (sm.Rule("accuracy >= 0.8"), sm.Rule("accuracy >= 0.8", alarm="1 per year")):
        one, other = found(plain, rule), found(units, rule)
        assert one["ci_upper"] - one["ci_lower"] != other["ci_upper"] - other["ci_lower"]
        assert one["value"] == other["value"]
        assert other["verdict"] == "holds"


@pytest.mark.parametrize(("count", "verdict"), [(49, "too few rows"), (50, "breached")])
def test_segments_with_few_rows_have_no_verdict(count, verdict, tmp_path):
    store = store_of(tmp_path, accuracy(), rows(0, count))
    row = found(store, sm.Rule("accuracy >= 0.8", min_rows=50))
    assert (row["verdict"], row["passes"]) == (verdict, verdict != "breached")
    assert row["rows"] == count


@pytest.mark.thorough
def test_the_reference_needs_as_many_rows(tmp_path):
    parts = [rows(30, 10), rows(300, 100, day=FIRST + timedelta(days=1))]
    store = store_of(tmp_path, accuracy(), pl.concat(parts))
    for require in ("psi(of='y_score') <= 0.2", "accuracy >= -0.5"):
        assert found(store, sm.Rule(require, against="1d", min_rows=50))["verdict"] == "too few rows"
        assert found(store, sm.Rule(require, against="1d", min_rows=50))["rows"] == 40
        assert found(store, sm.Rule(require, against="1d", min_rows=40))["verdict"] == "holds"


def test_no_rows_are_not_too_few(tmp_path):
    store = store_of(tmp_path, accuracy(), rows(30, 10))
    verdicts = sm.check(store, sm.Rule("accuracy >= 0.8", min_rows=50), until=FIRST)
    assert verdicts.frame["verdict"].item() == "undefined"
    assert not verdicts.hold


@pytest.mark.parametrize(
    ("limit", "fields", "hold"),
    [
        (0.8, {}, True),
        (0.8, {"open": "fail"}, False),
        (0.8, {"open": "fail", "severity": "warn"}, True),
        (0.99, {}, False),
        (0.99, {"severity": "warn"}, True),
        (0.8, {"min_rows": 500}, True),
        (0.8, {"min_rows": 500, "open": "fail"}, False),
    ],
)
def test_what_fails_a_check(limit, fields, hold, tmp_path):
    store = store_of(tmp_path, accuracy(), rows(80, 20))
    assert sm.check(store, sm.Rule(f"accuracy >= {limit}", **fields)).hold == hold


def test_verdicts_name_rules_and_say_what_is_a_warning(tmp_path):
    store = store_of(tmp_path, accuracy(), rows(80, 20))
    rule = sm.Rule("accuracy >= 0.99", name="quality", severity="warn", description="Ask the team.")
    verdicts = sm.check(store, [rule, sm.Rule("accuracy >= 0.5")])
    first, second = verdicts.frame.rows(named=True)
    assert (first["name"], first["description"], first["severity"]) == ("quality", "Ask the team.", "warn")
    assert (second["name"], second["description"], second["severity"]) == (None, None, "page")
    lines = str(verdicts).splitlines()
    assert lines[0].split() == ["rule", "windows", "where", "value", "bound", "interval", "verdict"]
    assert lines[2].startswith("quality: accuracy >= 0.99")
    assert lines[2].endswith("breached (severity warn)")
    assert " to 0." in lines[2]


def test_group_columns_may_have_the_names_of_the_verdicts(tmp_path):
    names = ["verdict", "alarm", "since", "name", "rows", "passes"]
    parts = rows(80, 20).with_columns(pl.lit("x").alias(name) for name in names)
    store = store_of(tmp_path, accuracy(*names), parts)
    for rule in (sm.Rule("accuracy >= 0.5", by=names), sm.Rule("accuracy >= 0.5", by=names, alarm="1 per year")):
        row = found(store, rule)
        assert row["where"] == ", ".join([f"{name} x" for name in names] + ["threshold 0.5"])
        assert row["verdict"] == "holds"


def test_an_interval_that_holds_at_every_look(tmp_path):
    days = [rows(80, 20, day=FIRST + timedelta(days=n)) for n in range(5)]
    store = store_of(tmp_path, accuracy(), pl.concat(days))
    row = found(store, sm.Rule("accuracy >= 0.7", always=1_000))
    assert row["rows"] == 500
    assert row["windows"] == "2026-01-01 to 2026-01-05"
    expected = [float(x) for x in share_limits(400, 500, 1_000, 0.05, one_sided=True)]
    assert [row["ci_lower"], row["ci_upper"]] == pytest.approx(expected)
    assert row["rule"] == "accuracy >= 0.7, always 1000"


def test_an_interval_of_a_mean_that_holds_at_every_look(tmp_path):
    errors = np.random.default_rng(0).laplace(0, 1, 400)
    frame = pl.DataFrame({"day": [FIRST] * 400, "y": 0.0, "e": errors})
    store = store_of(tmp_path, sm.regression(y_true="y", y_pred="e", by="day"), frame)
    row = found(store, sm.Rule("mae <= 2", always=1_000))
    loss = np.abs(errors)
    half = float(errors_wide(400, 1_000, 0.05, one_sided=True)) * loss.std(ddof=1) / 20
    assert [row["ci_lower"], row["ci_upper"]] == pytest.approx(
        [loss.mean() - half, loss.mean() + half], abs=0.25 * half
    )


@pytest.mark.thorough
def test_coarse_bins_widen_the_interval_of_a_verdict():
    """Without that, a verdict at 95 % is wrong in half of all samples: here positives lie low in their bins."""
    exact = adverse(200_000, 0, capacity=1 << 20).finalize(["roc_auc"])["roc_auc"].value
    estimate = adverse(200_000, 0).finalize(["roc_auc"])["roc_auc"]
    assert estimate.lower <= exact < estimate.value - 0.01
    samples = [adverse(2_000, seed).finalize(["roc_auc"]) for seed in range(1, 41)]
    assert sum(s.check(f"roc_auc > {exact}", open="fail").hold for s in samples) <= 2
    assert all(s.check(f"roc_auc >= {estimate.lower - 0.1}", open="fail").hold for s in samples)


@cache
def wide_bins():
    """The lowest and the highest scores of a histogram of few bins."""
    wide = sm.predictions(y_score="p", capacity=32).update({"p": np.linspace(0.3, 0.7, 10_000)}).finalize(["rows"])
    return wide.curve("scores").select("lowest", "highest").to_numpy().T


def adverse(rows, seed, capacity=32):
    """Positives at the lower ends of the bins of a histogram, and negatives at their upper ends."""
    rng, (low, high) = np.random.default_rng(seed), wide_bins()
    cell = rng.integers(0, len(low), rows)
    y = rng.random(rows) < 0.3 + 0.4 * cell / len(low)
    inside = (high - low)[cell] * rng.uniform(0.01, 0.1, rows)
    score = np.where(y, low[cell] + inside, high[cell] - inside)
    return sm.binary(y_true="y", y_score="p", capacity=capacity).update({"y": y, "p": score})


def of_few_positives(positives, day=FIRST, rows=2_000):
    """Scores that rank well, of few positives."""
    y, random = np.arange(rows) < positives, np.random.default_rng(day.toordinal() + positives)
    p = 1 / (1 + np.exp(-random.normal(np.where(y, 1.0, -1.0), 1.5)))
    return pl.DataFrame({"day": [day] * rows, "y": y, "p": p, "unit": np.arange(rows)})


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ({"require": "roc_auc >= 0.6"}, {}),
        ({"require": "roc_auc <= 0.6"}, {}),
        ({"require": "roc_auc >= -0.9", "against": "1d"}, {}),
        ({"require": "roc_auc >= 0.6"}, {"unit": "unit"}),
        ({"require": "roc_auc >= -0.9", "against": "1d"}, {"unit": "unit"}),
    ],
)
def test_rules_are_open_on_few_effective_rows(rule, options, tmp_path):
    """Like the check of a report, and also on the page of the history; with enough rows, they are decided."""
    rule, enough = sm.Rule(**rule), 15 if options else 10
    data = pl.concat([of_few_positives(6, FIRST + timedelta(n)) for n in range(2)])
    store = store_of(tmp_path / "few", accuracy(**options), data)
    row = found(store, rule)
    assert (row["verdict"], row["ci_lower"] is None) == ("open", False)
    assert re.search(rf"too few rows \(about \d effective rows; {enough} decide\)", row["note"])
    assert "too few rows (about" in str(sm.check(store, rule))
    assert row["rows_needed"] > row["rows"]
    [ruled] = looks(history_of(store).open().windows(), [rule], pl.Series("day", [FIRST + timedelta(1)]))
    assert ruled["\0verdict"].to_list() == ["open"]
    data = pl.concat([of_few_positives(400, FIRST + timedelta(n)) for n in range(2)])
    decided = found(store_of(tmp_path / "many", accuracy(**options), data), rule)
    assert decided["verdict"] == ("breached" if "<=" in rule.require else "holds")
    assert "effective" not in (decided["note"] or "")


def test_sequences_and_alarms_do_not_depend_on_effective_rows(tmp_path):
    store = store_of(tmp_path, accuracy(), pl.concat([of_few_positives(6, FIRST + timedelta(n)) for n in range(9)]))
    for options in ({"always": 1_000}, {"alarm": "1 per year"}):
        row = found(store, sm.Rule("roc_auc >= 0.3", **options))
        assert "decide" not in (row["note"] or "")
