"""A breach is told once: not at every check, but again after it has ended, and if telling has failed."""

import json
import sys
from datetime import date, timedelta

import polars as pl
import pytest
from click.testing import CliRunner

import streammetrics as sm
from streammetrics.cli import main
from streammetrics.history.told import remembered, reported, table_of, tell, unknown

DAYS = [date(2026, 1, 1) + timedelta(days=n) for n in range(60)]
RULE = "[[rule]]\nrequire = 'accuracy >= 0.8'\nby = 'source'\n"
ALARM = RULE + "alarm = '1 per month'\n"


@pytest.fixture
def history(tmp_path):
    pytest.importorskip("deltalake", reason="deltalake is not installed")
    return sm.MetricStore(tmp_path / "history")


def add(store, day, **accuracies):
    """A day with so many of a hundred right decisions, for each source."""
    acc = sm.Accumulator(sm.ConfusionCounts(()), y_true="y", y_pred="d", by=["day", "source"])
    for source, right in accuracies.items():
        rows = {"y": [1, 0] * 50, "d": [1, 0] * (right // 2) + [0, 1] * (50 - right // 2)}
        acc.update(pl.DataFrame(rows).with_columns(day=pl.lit(day), source=pl.lit(source)))
    store.append(acc, batch_id=f"{day} {sorted(accuracies)}")


def check(store, rules, *options, code=1):
    """The sources that a check tells of, in order; None if it runs no command."""
    folder = store.uri.parent
    (folder / "rules.toml").write_text(rules)
    (folder / "told.json").unlink(missing_ok=True)
    program = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read()); print('sent')"
    (folder / "tell.py").write_text(program)
    command = f'"{sys.executable}" "{folder / "tell.py"}" "{folder / "told.json"}"'
    arguments = ["store", "check", store.uri, folder / "rules.toml", "--on-breach", command, *options]
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    assert "sent" not in result.stdout
    if not (folder / "told.json").exists():
        return None
    return [row["where"].split(",")[0] for row in json.loads((folder / "told.json").read_text())]


@pytest.mark.thorough
def test_a_breach_is_told_once_until_the_rule_holds_again(history):
    add(history, DAYS[0], app=60, web=96)
    assert check(history, RULE) == ["source app"]
    assert check(history, RULE) is None
    add(history, DAYS[1], app=58, web=96)
    assert check(history, RULE) is None  # the same breach, a day later
    add(history, DAYS[2], app=58, web=60)
    assert check(history, RULE) == ["source web"]  # a new one beside it
    add(history, DAYS[3], app=80, web=60)
    assert check(history, RULE) is None  # open: that does not end a breach
    add(history, DAYS[4], app=60, web=60)
    assert check(history, RULE) is None
    add(history, DAYS[5], app=98, web=60)
    assert check(history, RULE) is None  # ended
    add(history, DAYS[6], app=60, web=98)
    assert check(history, RULE) == ["source app"]  # returned
    add(history, DAYS[7], app=98, web=98)
    assert check(history, RULE, code=0) is None


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
    arguments = ["store", "check", str(history.uri), str(history.uri.parent / "rules.toml"), "--on-breach"]
    for _ in range(2):
        result = CliRunner().invoke(main, [*arguments, "exit 3"])
        assert result.exit_code == 2
        assert (
            result.stderr == "Error: The command of --on-breach failed with exit code 3. The next check repeats it.\n"
        )
        assert "breached" in result.stdout
    assert check(history, RULE) == ["source app"]


@pytest.mark.thorough
def test_other_rules_on_the_same_history_are_remembered(history):
    add(history, DAYS[0], app=60)
    assert check(history, RULE) == ["source app"]
    assert check(history, RULE.replace("0.8", "0.9")) == ["source app"]
    named = "[[rule]]\nname = 'mine'\n" + RULE.removeprefix("[[rule]]\n")
    assert check(history, named) == ["source app"]
    assert check(history, RULE) is None
    assert check(history, named) is None


def test_no_command_without_a_breach_and_no_table_without_a_command(history):
    add(history, DAYS[0], app=98)
    assert check(history, RULE, code=0) is None
    assert not (history.uri / "_told").exists()
    assert sm.MetricStore(history.uri).query().seen == 100


@pytest.mark.thorough
def test_compaction_and_queries_leave_the_table_alone(history):
    add(history, DAYS[0], app=60)
    assert check(history, RULE) == ["source app"]
    history.compact()
    assert history.windows()["rows"].to_list() == [100]
    assert check(history, RULE) is None


def test_breaches_that_another_check_told_meanwhile_are_kept(history):
    add(history, DAYS[0], app=60, web=98)
    rules = [sm.Rule("accuracy >= 0.8", by="source"), sm.Rule("accuracy >= 0.9", by="source")]
    one, other = (sm.check(history, rule) for rule in rules)
    tell(history, one, lambda _: tell(history, other, lambda _: None))
    table = table_of(history)
    both = reported(table, table.find())
    assert sorted(both["rule"]) == ["accuracy >= 0.8", "accuracy >= 0.9"]


@pytest.mark.parametrize(("verdict", "told"), [("breached", 1), ("open", 1), ("undefined", 1), ("holds", 0)])
def test_what_ends_a_breach(verdict, told):
    row = {"name": None, "rule": "a >= 1", "where": "", "windows": "2026-01-01", "verdict": "breached", "since": None}
    types = dict.fromkeys(("name", "since"), pl.String)
    before = pl.DataFrame(schema=dict.fromkeys(("name", "rule", "where", "window"), pl.String))
    first = remembered(before, pl.DataFrame([row], schema_overrides=types))
    assert first.rows() == [(None, "a >= 1", "", "2026-01-01")]
    now = pl.DataFrame([row | {"verdict": verdict}], schema_overrides=types)
    assert unknown(first, now).is_empty()
    assert remembered(first, now).height == told
    assert remembered(first, now.clear()).height == 1  # a rule that is not checked
