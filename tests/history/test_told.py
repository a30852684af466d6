"""A breach is told once: not at every check, but again after it has ended, and if telling has failed."""

import json
import sys
from datetime import date, timedelta

import deltalake
import polars as pl
import pytest
from commands import run
from steps import rival

import streammetrics as sm

DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in range(60)]
RULE = "[[rule]]\nrequire = 'accuracy >= 0.8'\nby = 'source'\n"
ALARM = RULE + "alarm = '1 per month'\n"


@pytest.fixture
def history(tmp_path):
    return sm.MetricStore(tmp_path / "history")


def add(store, day, **accuracies):
    """A day with so many of a hundred right decisions, for each source."""
    acc = sm.Accumulator(sm.statistics.ConfusionCounts(()), y_true="y", y_pred="d", by=["day", "source"])
    for source, right in accuracies.items():
        rows = {"y": [1, 0] * 50, "d": [1, 0] * (right // 2) + [0, 1] * (50 - right // 2)}
        acc.update(pl.DataFrame(rows).with_columns(day=pl.lit(day), source=pl.lit(source)))
    store.append(acc, batch_id=f"{day} {sorted(accuracies)}")


def check(store, rules, *options, code=1):
    """The sources that a check tells of, in order; None if it runs no command."""
    folder = store.uri.parent
    (folder / "rules.toml").write_text(rules)
    (folder / "told.json").unlink(missing_ok=True)
    (folder / "tell.py").write_text("import sys; open(sys.argv[1], 'w').write(sys.stdin.read()); print('sent')")
    command = f'"{sys.executable}" -IS "{folder / "tell.py"}" "{folder / "told.json"}"'
    printed = run("store", "check", store.uri, folder / "rules.toml", "--on-breach", command, *options, code=code)
    assert "sent" not in printed
    if not (folder / "told.json").exists():
        return None
    return [row["where"].split(",")[0] for row in json.loads((folder / "told.json").read_text())]


@pytest.mark.thorough
def test_a_breach_is_told_once_until_the_rule_holds_again(history):
    """Neither open verdicts nor windows without rows end it, nor does compaction."""
    add(history, DAYS[0] - timedelta(days=1), app=98, web=98)
    assert check(history, RULE, code=0) is None
    assert not (history.uri / "_told").exists()
    courses = [
        ({"app": 60, "web": 96}, ["source app"]),
        ({"app": 80, "web": 60}, ["source web"]),  # open, and a new one beside it
        ({"web": 60}, None),
        ({"app": 98, "web": 60}, None),  # ended
        ({"app": 60, "web": 98}, ["source app"]),  # returned
    ]
    for day, (accuracies, told) in zip(DAYS, courses, strict=False):
        add(history, day, **accuracies)
        assert check(history, RULE) == told, day
        history.compact()
    assert check(history, RULE) is None


@pytest.mark.thorough
def test_an_alarm_that_ended_and_returned_between_two_checks_is_told_again(history):
    courses = [60] * 4 + [98] * 8 + [60] * 4
    for day, right in zip(DAYS[:4], courses[:4], strict=True):
        add(history, day, app=right)
    assert check(history, ALARM) == ["source app"]
    assert check(history, ALARM) is None
    for day, right in zip(DAYS[4:16], courses[4:], strict=False):
        add(history, day, app=right)
    ended = sm.check(history, sm.read_rules(history.uri.parent / "rules.toml"), until=DAYS[12])
    assert ended.frame["verdict"].to_list() == ["holds"]
    assert check(history, ALARM) == ["source app"]
    assert check(history, ALARM) is None


def test_late_rows_do_not_repeat_an_alarm(history):
    for day in DAYS[2:6]:
        add(history, day, app=60)
    assert check(history, ALARM) == ["source app"]
    for day in DAYS[:2]:
        add(history, day, app=60)  # the evidence begins earlier now
    assert check(history, ALARM) is None


def test_a_command_that_fails_is_told_and_repeated(history):
    add(history, DAYS[0], app=60)
    (history.uri.parent / "rules.toml").write_text(RULE)
    for _ in range(2):
        failed = run("store", "check", history.uri, history.uri.parent / "rules.toml", "--on-breach", "exit 3", code=2)
        assert "exit code 3" in failed
        assert "breached" in failed
    assert check(history, RULE) == ["source app"]


@pytest.mark.thorough
def test_other_rules_on_the_same_history_are_remembered(history):
    add(history, DAYS[0], app=60)
    rules = RULE, RULE.replace("0.8", "0.9"), RULE + "name = 'mine'\n"
    assert [check(history, each) for each in rules] == [["source app"]] * 3
    assert [check(history, each) for each in rules] == [None] * 3


def test_breaches_that_another_check_tells_meanwhile_are_remembered(history):
    add(history, DAYS[0], app=60)
    other = RULE.replace("0.8", "0.9")
    with rival(lambda: check(history, other), (deltalake, "write_deltalake")):
        check(history, RULE)
    assert (check(history, RULE), check(history, other)) == (None, None)
