"""Rules on windows whose labels have not arrived."""

from datetime import date

import polars as pl
import pytest
from commands import run
from test_expectation import drawn, shown

import streammetrics as sm

DAYS = 10
ROWS = pl.concat(
    drawn(day, 600, shift=0.3 * (day > 7)).with_columns(
        day=date(2026, 1, day), c=pl.Series(["a", "b"]).gather(pl.int_range(600, eager=True) % 2)
    )
    for day in range(1, DAYS + 1)
)
LABELED = sm.binary(y_true="y", y_score="p", by=["day", "c"])
SCORES = sm.predictions(y_score="p", by=["day", "c"])
ARRIVED = date(2026, 1, 8)  # labels of the days before


@pytest.fixture(scope="module")
def histories(tmp_path_factory):
    pytest.importorskip("deltalake")
    folder = tmp_path_factory.mktemp("histories")
    labels, scores = (sm.MetricStore(folder / name) for name in ("labels", "scores"))
    labels.append(LABELED.empty().update(ROWS.filter(pl.col("day") < ARRIVED)), batch_id="labels")
    scores.append(SCORES.empty().update(ROWS), batch_id="scores")
    return labels, scores


def test_a_rule_looks_at_the_newest_scores_and_all_labels_before(histories):
    labels, scores = histories
    rule = sm.Rule("recall >= 0.6", over="3d", by="c", before_labels=True, odds=1.5)
    found = sm.check(labels, rule, scores=scores).frame
    new = SCORES.empty().update(ROWS.filter(pl.col("day") >= ARRIVED)).rollup("c")
    reference = LABELED.empty().update(ROWS.filter(pl.col("day") < ARRIVED)).rollup("c")
    expected = sm.expect(new, reference, odds=1.5, metrics="recall", confidence=0.9).frame
    columns = ["value", "lower", "upper", "ci_lower", "ci_upper"]
    assert found.select(columns).equals(expected.select(columns))
    assert found["windows"].unique().to_list() == ["2026-01-08 to 2026-01-10"]
    assert found["where"].to_list() == ["c a, threshold 0.5", "c b, threshold 0.5"]
    assert found["rows"].to_list() == [900, 900]


def test_verdicts_need_bounds_and_intervals(histories):
    labels, scores = histories
    truth = shown(LABELED.empty().update(ROWS).rollup().finalize(), {"metric": "roc_auc"})
    limits = {0.99: "breached", truth: "open", 0.5: "holds"}
    rules = [sm.Rule(f"roc_auc >= {limit}", before_labels=True, odds=1.2) for limit in limits]
    found = sm.check(labels, rules, scores=scores)
    assert found.frame["verdict"].to_list() == list(limits.values())
    assert sm.check(labels, rules[1], scores=scores, until="2026-01-09").frame["windows"].item() == "2026-01-08"


def test_without_an_interval_a_verdict_is_open(tmp_path):
    labels, scores = (sm.MetricStore(tmp_path / name) for name in ("labels", "scores"))
    weighted = sm.binary(y_true="y", y_score="p", by="day", sample_weight=pl.lit(0.5).alias("w"))
    labels.append(weighted.update(ROWS.filter(pl.col("day") < ARRIVED)), batch_id="labels")
    scores.append(sm.predictions(y_score="p", by="day").update(ROWS), batch_id="scores")
    found = sm.check(labels, sm.Rule("roc_auc >= 0.1", before_labels=True), scores=scores).frame
    assert found.select("verdict", "ci_lower", "ci_upper").row(0) == ("open", 0, 1)
    assert found["note"].item() == "no interval: not available for weighted rows"


def test_against_limits_the_reference(histories):
    labels, scores = histories
    rule = sm.Rule("accuracy >= 0.5", over="3d", against="2d", before_labels=True)
    reference = LABELED.empty().update(ROWS.filter(pl.col("day").is_between(date(2026, 1, 6), date(2026, 1, 7))))
    new = SCORES.empty().update(ROWS.filter(pl.col("day") >= ARRIVED)).rollup()
    expected = sm.expect(new, reference.rollup(), metrics="accuracy")["accuracy"].value
    assert sm.check(labels, rule, scores=scores).frame["value"].item() == expected
    unknown = sm.check(labels, rule, scores=scores, until="2026-01-01T12:00").frame
    assert unknown.select("verdict", "note").row(0) == ("undefined", "no rows in the reference")


def test_rules_of_a_file_on_the_command_line(histories, tmp_path):
    labels, scores = histories
    path = tmp_path / "rules.toml"
    path.write_text("[[rule]]\nrequire = 'roc_auc >= 0.6'\nbefore_labels = true\nodds = 1.25\n")
    assert str(sm.read_rules(path)[0]) == "roc_auc >= 0.6 before labels, odds 1.25"
    assert "before labels, odds 1.25" in run("store", "check", labels.uri, path, "--scores", scores.uri)
    assert "require the history of scores. Pass --scores." in run("store", "check", labels.uri, path, code=2)
