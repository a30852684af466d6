"""Rules on a history whose labels arrive late: verdicts wait until the labels of the checked windows are there."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from commands import run

import streammetrics as sm

FIRST = date(2026, 1, 1)
ROWS = 300
RATE = 0.25  # of frauds, at least
RULES = {
    "windows": [
        sm.Rule("log_loss <= 0.45"),
        sm.Rule(f"prevalence >= {RATE - 0.05}", alarm="1 per year"),
        sm.Rule("roc_auc >= 0.6", by="country"),
    ],
    "periods": [
        sm.Rule("log_loss >= -0.05", against="5d"),
        sm.Rule("psi(of='y_score') <= 0.02", against="5d"),
        sm.Rule("mean_score >= 0.25", over="3d"),
        sm.Rule(f"prevalence >= {RATE - 0.05}", always=10_000),
    ],
    "alarms": [
        sm.Rule("roc_auc >= 0.6", alarm="1 per year", by="country"),
        sm.Rule(f"prevalence >= {RATE - 0.05}", alarm="1 per year", by="country", segments="fdr 5 %"),
        sm.Rule("log_loss >= -0.05", against="5d", alarm="1 per year"),
        sm.Rule("psi(of='y_score') <= 0.02", against="5d", alarm="1 per year"),
    ],
}


def day(number):
    return FIRST + timedelta(days=number)


def transactions(number, rows=ROWS):
    """Scores of a day. Labels of others arrive after one or two days, those of frauds after three to six."""
    rng = np.random.default_rng(number)
    p = rng.beta(2, 5, rows)
    fraud = rng.random(rows) < p
    delay = np.where(fraud, rng.integers(3, 7, rows), rng.integers(1, 3, rows))
    return pl.DataFrame(
        {
            "id": [f"{number}/{i}" for i in range(rows)],
            "day": day(number),
            "country": pl.Series(["DE", "FR"]).gather(rng.integers(0, 2, rows)),
            "p": p,
            "fraud": fraud,
            "arrives": [day(number + int(d)) for d in delay],
        }
    )


def joined(folder, by=("day", "country"), expires="45d"):
    acc = sm.binary(y_true="fraud", y_score="p", by=[*by])
    return sm.Joiner(sm.MetricStore(folder / "history"), acc, key="id", expires=expires)


def add(joiner, scored, labeled):
    joiner.add_scores(scored.drop("fraud", "arrives"))
    joiner.add_labels(labeled.select("id", "fraud"))
    return joiner


def days_of(folder, *days, **options):
    """A joiner with some scores of each day, and the labels of a part of them."""
    joiner = joined(folder, **options)
    for number, arrived in enumerate(days):
        rows = transactions(number, 100)
        add(joiner, rows, rows.filter(arrived))
    return joiner


FIRST_60 = pl.int_range(pl.len()) < 60
EVERY, NEGATIVES = pl.lit(True), ~pl.col("fraud")


def verdict(joiner, rule, **options):
    return sm.check(joiner.store, rule, **options).frame.row(0, named=True)


@pytest.mark.parametrize(("rules", "every"), [("windows", 4), ("windows", 1), ("periods", 1), ("alarms", 1)])
def test_labels_that_arrive_late_give_no_false_alarm_at_any_look(tmp_path, rules, every):
    joiner, everything = joined(tmp_path), pl.concat(map(transactions, range(14)))
    for last in range(1, 14, every):  # thirteen looks, or some of them
        arrived = pl.col("arrives").is_between(day(last - every + 1), day(last))
        add(
            joiner,
            everything.filter(pl.col("day").is_between(day(max(last - every, 0)), day(last))),
            everything.filter(arrived),
        )
        wrong = sm.check(joiner.store, RULES[rules]).frame.filter(~pl.col("passes"))
        assert wrong.select("rule", "where", "verdict", "note").rows() == []
    seen = sm.check(joiner.store, RULES[rules], until=day(7)).frame
    assert seen.filter(pl.col("verdict") == "open", pl.col("coverage") < 0.95).is_empty()


def test_a_day_of_which_only_negatives_have_come_decides_nothing(tmp_path):
    joiner = days_of(tmp_path, NEGATIVES)
    [share] = joiner.coverage()["coverage"]
    assert 0.6 < share < 0.95
    found = sm.check(joiner.store, sm.Rule("log_loss <= 0.45"))
    assert found.hold
    row = found.frame.row(0, named=True)
    assert (row["verdict"], row["coverage"]) == ("open", share)
    assert row["note"] == f"{int(100 * share)} % of labels have arrived"
    assert f"open: {int(100 * share)} % of labels have arrived" in str(found)
    assert not sm.check(joiner.store, sm.Rule("log_loss <= 0.45", open="fail")).hold
    rows = transactions(0, 100)
    add(joiner, rows, rows)
    assert verdict(joiner, sm.Rule("log_loss <= 0.75"))["verdict"] == "holds"
    assert verdict(joiner, sm.Rule("log_loss <= 0.45"))["verdict"] != "holds"


@pytest.mark.parametrize(("coverage", "open"), [(0.6, False), (0.61, True), (0, False), (1, True)])
def test_a_rule_states_the_coverage_that_it_requires(tmp_path, coverage, open):
    found = verdict(days_of(tmp_path, FIRST_60), sm.Rule("mean_score >= 0", coverage=coverage))
    assert (found["verdict"] == "open") == open
    assert found["coverage"] == (0.6 if coverage else None)


def test_a_day_without_any_label_and_metrics_without_a_value_are_open(tmp_path):
    joiner = days_of(tmp_path, EVERY, pl.lit(False))
    found = verdict(joiner, sm.Rule("roc_auc >= 0.6"), until=day(2))
    assert (found["verdict"], found["value"], found["note"]) == ("open", None, "0 % of labels have arrived")
    found = verdict(days_of(tmp_path / "other", NEGATIVES), sm.Rule("roc_auc >= 0.6"))
    assert (found["verdict"], found["value"]) == ("open", None)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("rows >= 50", "holds"), ("rows >= 90", "open"), ("rows <= 50", "breached"), ("rows <= 90", "open")],
)
def test_counts_are_decided_as_soon_as_no_further_label_can_change_it(tmp_path, rule, expected):
    assert verdict(days_of(tmp_path, FIRST_60), sm.Rule(rule))["verdict"] == expected


@pytest.mark.parametrize("country", ["country", pl.col("code").str.head(2).alias("country")])
def test_segments_wait_for_their_own_labels(tmp_path, country):
    rows = transactions(0, 200).with_columns(code=pl.col("country") + "1")
    rows = rows.drop("country") if isinstance(country, pl.Expr) else rows
    small = (pl.int_range(pl.len()) < 190) if isinstance(country, pl.Expr) else pl.lit(True)
    joiner = joined(tmp_path, by=("day", country))
    add(joiner, rows, rows.filter(small, pl.col("code") == "DE1"))
    found = sm.check(joiner.store, sm.Rule("mean_score >= 0", by="country", coverage=0.9)).frame
    assert found.select("where", "verdict").rows() == [("country DE", "holds")]
    add(joiner, rows, rows.filter(pl.col("code") == "FR1").head(10))
    found = sm.check(joiner.store, sm.Rule("mean_score >= 0", by="country", coverage=0.9)).frame
    assert found.select("where", "verdict").rows() == [("country DE", "holds"), ("country FR", "open")]


def test_the_reference_waits_too(tmp_path):
    joiner = days_of(tmp_path, FIRST_60, EVERY)
    found = verdict(joiner, sm.Rule("mean_score >= -0.5", against="1d"))
    assert (found["verdict"], found["coverage"]) == ("open", 0.6)
    scores = sm.MetricStore(tmp_path / "scores")
    acc = sm.predictions(y_score="p", by=["day", "country"])
    scores.append(acc.update(pl.concat(transactions(n) for n in range(2))), batch_id="all")
    rule = sm.Rule("accuracy >= 0.1", before_labels=True)
    assert verdict(joiner, rule, scores=scores)["verdict"] == "open"
    rows = transactions(0, 100)
    add(joiner, rows, rows)
    assert verdict(joiner, rule, scores=scores)["verdict"] == "holds"


def test_labels_that_never_come_are_not_awaited(tmp_path):
    joiner = days_of(tmp_path, FIRST_60, EVERY, expires="3d")
    rule = sm.Rule("mean_score >= 0", coverage=0.95)
    assert verdict(joiner, rule, until=day(1))["verdict"] == "open"
    rows = transactions(5, 100)
    add(joiner, rows, rows.head(58))
    assert joiner.coverage()["expired"].to_list() == [40, 0, 0]
    assert verdict(joiner, rule, until=day(1))["verdict"] == "holds"
    found = verdict(joiner, rule)
    assert (found["verdict"], found["coverage"]) == ("open", pytest.approx(58 / 80))  # of 80 that a matured day has
    assert verdict(joiner, sm.Rule("mean_score >= 0", coverage=0.7))["verdict"] == "holds"


def test_windows_within_a_day(tmp_path):
    hours = [datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10)]
    rows = pl.concat(
        transactions(n, 50).with_columns(time=pl.lit(hour) + pl.duration(minutes=5)) for n, hour in enumerate(hours)
    )
    joiner = joined(tmp_path, by=[pl.col("time").dt.truncate("1h").alias("hour")])
    add(joiner, rows.drop("day"), pl.concat([rows.head(50), rows.tail(10)]))
    rule = sm.Rule("mean_score >= 0", over="1h")
    assert verdict(joiner, rule, until=hours[1])["verdict"] == "holds"
    found = verdict(joiner, rule)
    assert (found["verdict"], found["coverage"]) == ("open", 0.2)


def test_the_page_and_findings_say_it(tmp_path):
    joiner = days_of(tmp_path, EVERY, EVERY, FIRST_60)
    joiner.store.save_html(tmp_path / "page.html", rules=sm.Rule("mean_score <= 0.01"))
    assert "60 % of labels have arrived" in (tmp_path / "page.html").read_text()
    (tmp_path / "rules.toml").write_text("[[rule]]\nrequire = 'mean_score <= 0.01'\ncoverage = 0.8\n")
    printed = run("store", "check", tmp_path / "history", tmp_path / "rules.toml")
    assert "Undecided: mean_score <= 0.01, over 1d: All rows (0.2" in printed
    assert "60 % of labels have arrived" in printed


def test_a_history_without_a_joiner_has_no_coverage(tmp_path):
    store = sm.MetricStore(tmp_path / "history")
    acc = sm.binary(y_true="fraud", y_score="p", by="day").update(transactions(0))
    store.append(acc, batch_id="all")
    row = sm.check(store, sm.Rule("mean_score >= 0")).frame.row(0, named=True)
    assert (row["verdict"], row["coverage"]) == ("holds", None)
