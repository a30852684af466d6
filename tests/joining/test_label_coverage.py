"""Rules on a history whose labels arrive late: verdicts wait until the labels of the checked windows are there."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from commands import run
from present.structure import Page

import streammetrics as sm

FIRST = date(2026, 1, 1)
ROWS = 300
RATE = 0.25  # of frauds, at least
RULES = [
    sm.Rule("log_loss <= 0.45"),
    sm.Rule(f"prevalence >= {RATE - 0.05}", alarm="1 per year"),
    sm.Rule("roc_auc >= 0.6", by="country"),
    sm.Rule("log_loss >= -0.05", against="5d"),
    sm.Rule("psi(of='y_score') <= 0.02", against="5d"),
    sm.Rule("mean_score >= 0.25", over="3d"),
    sm.Rule(f"prevalence >= {RATE - 0.05}", always=10_000),
    sm.Rule("roc_auc >= 0.6", alarm="1 per year", by="country"),
    sm.Rule(f"prevalence >= {RATE - 0.05}", alarm="1 per year", by="country", segments="fdr 5 %"),
    sm.Rule("log_loss >= -0.05", against="5d", alarm="1 per year"),
    sm.Rule("psi(of='y_score') <= 0.02", against="5d", alarm="1 per year"),
]


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


def checked(joiner, *rules, **options):
    return sm.check(joiner.store, rules, **options).frame.rows(named=True)


@pytest.mark.thorough
@pytest.mark.parametrize(("rules", "every"), [(RULES[:1], 12), (RULES, 4)], ids=["two looks at one rule", "all"])
def test_labels_that_arrive_late_give_no_false_alarm_at_any_look(tmp_path, rules, every):
    joiner, everything = joined(tmp_path), pl.concat(map(transactions, range(14)))
    for last in range(1, 14, every):  # some of thirteen looks
        scored = everything.filter(pl.col("day").is_between(day(max(last - every, 0)), day(last)))
        add(joiner, scored, everything.filter(pl.col("arrives").is_between(day(last - every + 1), day(last))))
        wrong = sm.check(joiner.store, rules).frame.filter(~pl.col("passes"))
        assert wrong.select("rule", "where", "verdict", "note").rows() == []
    seen = sm.check(joiner.store, rules, until=day(7)).frame
    assert seen.filter(pl.col("verdict") == "open", pl.col("coverage") < 0.95).is_empty()


@pytest.mark.thorough
def test_a_day_of_which_only_negatives_have_come_decides_nothing(tmp_path):
    """Whether its metric has a value or none."""
    joiner, rows = days_of(tmp_path, NEGATIVES), transactions(0, 100)
    [share] = joiner.coverage()["coverage"]
    assert 0.6 < share < 0.95
    required = ("log_loss <= 0.45", {}), ("roc_auc >= 0.6", {}), ("log_loss <= 0.45", {"open": "fail"})
    rules = [sm.Rule(text, **fields) for text, fields in required]
    found = checked(joiner, *rules)
    assert found[1]["value"] is None
    for row, passes in zip(found, (True, True, False), strict=True):
        assert (row["verdict"], row["coverage"], row["passes"]) == ("open", share, passes)
        assert row["reasons"] == ["few_labels"]
    add(joiner, rows, rows)
    later = checked(joiner, sm.Rule("log_loss <= 0.75"), rules[0])
    assert [row["verdict"] == "holds" for row in later] == [True, False]


def test_rules_are_open_below_the_coverage_that_they_require(tmp_path):
    """Unless it is on a count that no further label can change."""
    joiner = days_of(tmp_path, FIRST_60, pl.lit(False))
    table = {
        sm.Rule("mean_score >= 0", coverage=0.6): ("holds", 0.6),
        sm.Rule("mean_score >= 0", coverage=0.61): ("open", 0.6),
        sm.Rule("mean_score >= 0", coverage=0): ("holds", None),
        sm.Rule("mean_score >= 0", coverage=1): ("open", 0.6),
        sm.Rule("rows >= 50"): ("holds", 0.6),
        sm.Rule("rows >= 90"): ("open", 0.6),
        sm.Rule("rows <= 50"): ("breached", 0.6),
        sm.Rule("rows <= 90"): ("open", 0.6),
    }
    found = checked(joiner, *table, until=day(1))
    assert [(row["verdict"], row["coverage"]) for row in found] == [*table.values()]
    [row] = checked(joiner, sm.Rule("roc_auc >= 0.6"), until=day(2))  # of a day without any label
    assert (row["verdict"], row["value"], row["coverage"]) == ("open", None, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("country", ["country", pl.col("code").str.head(2).alias("country")])
def test_segments_wait_for_their_own_labels(tmp_path, country):
    rows = transactions(0, 200).with_columns(code=pl.col("country") + "1")
    rows = rows.drop("country") if isinstance(country, pl.Expr) else rows
    joiner, rule = joined(tmp_path, by=("day", country)), sm.Rule("mean_score >= 0", by="country", coverage=0.9)
    for labeled, expected in (
        (rows.head(190).filter(code="DE1"), [("country DE", "holds")]),
        (rows.filter(code="FR1").head(10), [("country DE", "holds"), ("country FR", "open")]),
    ):
        add(joiner, rows, labeled)
        assert [(row["where"], row["verdict"]) for row in checked(joiner, rule)] == expected


@pytest.mark.thorough
def test_scores_that_stand_for_several_rows_are_covered_as_these_rows(tmp_path):
    """Also once they have expired, and of the first of several scores of a key."""
    rows = pl.concat([transactions(number, 30) for number in range(3)])
    rows = rows.with_columns(n=pl.int_range(pl.len()) % 4 * 5)
    repeated = rows.select(pl.exclude("n").repeat_by("n").explode())
    repeated = repeated.with_columns(id=pl.col("id") + "/" + pl.int_range(pl.len()).cast(str))
    frames, shares = [], []
    for name, scores, count in (("counts", rows, "n"), ("rows", repeated, None)):
        acc = sm.binary(y_true="fraud", y_score="p", by=["day", "country"], count=count)
        joiner = sm.Joiner(sm.MetricStore(tmp_path / name), acc, key="id", expires="1d")
        arrived = scores.filter(pl.col("p") < 0.4 - 0.1 * (pl.col("day") - day(0)).dt.total_days())
        for number in range(3):
            add(joiner, scores.filter(day=day(number)), arrived.filter(day=day(number)))
        if count:
            joiner.add_scores(rows.drop("fraud", "arrives").with_columns(n=1_000))
        frames.append(joiner.coverage())
        shares.append([row["coverage"] for row in checked(joiner, sm.Rule("log_loss <= 9", by="country"))])
    assert frames[0].equals(frames[1])
    assert frames[0]["expired"][0] > 0
    assert shares[0] == shares[1]
    assert 0.1 < shares[0][0] < 0.9


@pytest.mark.thorough
def test_the_reference_waits_too(tmp_path):
    """Also that of rules before labels."""
    joiner, rows = days_of(tmp_path, FIRST_60, EVERY), transactions(0, 100)
    scores = sm.MetricStore(tmp_path / "scores")
    acc = sm.predictions(y_score="p", by=["day", "country"])
    scores.append(acc.update(pl.concat([rows, transactions(1)])), batch_id="all")
    rules = sm.Rule("accuracy >= 0.1", before_labels=True), sm.Rule("mean_score >= -0.5", against="1d")
    found = checked(joiner, *rules, scores=scores)
    assert [(row["verdict"], row["coverage"]) for row in found] == [("open", 0.6)] * 2
    add(joiner, rows, rows)
    assert [row["verdict"] for row in checked(joiner, *rules, scores=scores)] == ["holds"] * 2


@pytest.mark.thorough
def test_labels_that_never_come_are_not_awaited(tmp_path):
    joiner, rows = days_of(tmp_path, FIRST_60, EVERY, expires="3d"), transactions(5, 100)
    rules = [sm.Rule("mean_score >= 0", coverage=share) for share in (0.95, 0.7)]
    assert [row["verdict"] for row in checked(joiner, *rules, until=day(1))] == ["open", "open"]
    add(joiner, rows, rows.head(58))
    assert joiner.coverage()["expired"].to_list() == [40, 0, 0]
    assert [row["verdict"] for row in checked(joiner, *rules, until=day(1))] == ["holds", "holds"]
    found = checked(joiner, *rules)
    assert [row["verdict"] for row in found] == ["open", "holds"]
    assert found[0]["coverage"] == pytest.approx(58 / 80)  # of 80 that a matured day has


def test_windows_within_a_day(tmp_path):
    hours = [datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 10)]
    parts = [transactions(n, 50).with_columns(time=hour + timedelta(minutes=5)) for n, hour in enumerate(hours)]
    joiner, rows = joined(tmp_path, by=[pl.col("time").dt.truncate("1h").alias("hour")]), pl.concat(parts)
    add(joiner, rows.drop("day"), pl.concat([rows.head(50), rows.tail(10)]))
    rule = sm.Rule("mean_score >= 0", over="1h")
    [first], [second] = checked(joiner, rule, until=hours[1]), checked(joiner, rule)
    assert [(row["verdict"], row["coverage"]) for row in (first, second)] == [("holds", 1), ("open", 0.2)]


@pytest.mark.thorough
def test_the_page_and_findings_say_it(tmp_path, undrawn):
    joiner = days_of(tmp_path, EVERY, FIRST_60)
    joiner.store.save_html(tmp_path / "page.html", rules=sm.Rule("mean_score <= 0.01"))
    page = Page((tmp_path / "page.html").read_text())
    assert "finding: SM802 info" in page.lines
    (tmp_path / "rules.toml").write_text("[[rule]]\nrequire = 'mean_score <= 0.01'\ncoverage = 0.8\n")
    printed = run("store", "check", tmp_path / "history", tmp_path / "rules.toml")
    for text in ("".join(page.words), printed):
        assert "60 % of labels have arrived" in text
