"""``streammetrics check``, as a user types it."""

import re

from commands import run

import streammetrics as sm
from streammetrics.show import as_text, verdict_tables
from streammetrics.show.tables.verdicts import WORDS


def test_check_decides_in_every_group(folder):
    check, both = ["check", folder / "state"], ["--require", "roc_auc >= 0.3", "--require", "ece <= 0.5"]
    level = "A verdict at 95% confidence compares one end of the 90% interval with the limit."
    for options, interval in (([], ["90%", "interval"]), (["--bounds-only"], [])):
        lines = run(*check, *both, "--total", *options).splitlines()
        assert lines[0].split() == ["rule", "value", "bound", *interval, "verdict"]
        assert ["  ✓ holds" in line for line in lines[2:4]] == [True, True]
        assert lines[4:][: 1 + bool(interval)] == ["All 2 hold.", *([level] if interval else [])]
    _, _, *failing, count, rule, _, advice = run(*check, "--require", "roc_auc>=0.99", code=1).splitlines()
    assert [line.endswith("  ✗ breached") for line in failing] == [True] * 6
    assert (count, advice) == ("Failing: 6 of 6", "To check all groups together, add --total.")
    assert failing[0].startswith("BR        0.")
    assert rule == "In every line: rule roc_auc >= 0.99."
    both = ["--require", "roc_auc>=0.99", "--require", "ece<=0"]
    assert "\nFailing: 12 of 12\n" in run(*check, *both, "--by", "country", code=1)
    with_threshold = run(*check, "--require", "roc_auc>=0.3", "--require", "recall>=0").splitlines()
    assert re.split("  +", with_threshold[0]) == ["country", "roc_auc >= 0.3", "recall >= 0"]
    assert re.split("  +", with_threshold[2])[0] == "BR"
    assert "\nAll 12 hold.\nAt threshold 0.5.\n" in "\n".join(with_threshold)


def test_check_is_a_board_with_failures_first():
    """Of rules and groups; numbers follow of the verdicts that do not hold."""
    rows = {"y": [0, 1] * 600, "p": [0.1, 0.9] * 600, "g": [i // 40 for i in range(1_200)]}
    rows["p"][-40:] = rows["p"][-41:-1]  # swapped labels
    checked = sm.binary(y_true="y", y_score="p", by="g").update(rows).finalize()
    rules = ["rows >= 1", "roc_auc >= 0.5", "log_loss <= 0.2"]
    board, listed = as_text(*verdict_tables(checked.check(rules).frame, ["g"], 80), width=80).split("\n\n")
    head, _, first, second, *_, more = board.splitlines()
    assert re.split("  +", head) == ["g", *rules]
    assert re.split("  +", first) == ["29", "✓ holds (40)", "✗ breached (0.000)", "✗ breached (2.302585)"]
    assert re.split("  +", second) == ["0", "✓ holds (40)", "✓ holds (1.000)", "✓ holds (0.105361)"]
    assert more == "… and 10 more groups, in which all rules hold."
    assert [line.split()[0] for line in listed.splitlines()[2:4]] == ["roc_auc", "log_loss"]
    many = [f"roc_auc >= 0.{i}" for i in range(1, 9)]
    head, _, first, *_, more = as_text(*verdict_tables(checked.check(many).frame, ["g"], 80)[:1], width=80).splitlines()
    assert re.split("  +", head)[:3] == ["rule", "29", "0"]
    assert first.startswith("roc_auc >= 0.1  ✗ breached  ✓ holds")
    assert re.fullmatch(r"… and \d+ more groups, in which all rules hold\.", more)


def test_check_of_many_groups_shows_those_that_do_not_hold(tmp_path):
    rows = {"y": [0, 1] * 60, "p": [0.1, 0.9] * 60, "g": [i // 2 for i in range(120)]}
    rows["p"][-1] = 0.05
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "many.state")
    shown = run("show", tmp_path / "many.state", "--metric", "rows")
    assert shown.endswith("… and 20 more groups. Read all of them with --format csv, or the worst first with --sort.\n")
    check = ["check", tmp_path / "many.state", "--bounds-only", "--require"]
    assert run(*check, "rows >= 2") == "All 60 hold.\n"
    _, _, failing, count, *_ = run(*check, "roc_auc >= 0.5", code=1).splitlines()
    assert failing.split() == ["roc_auc", ">=", "0.5", "59", "0", "exact", "✗", "breached"]
    assert count == "Failing: 1 of 60"


def test_check_with_a_confidence_level_is_open_where_rows_do_not_suffice(folder):
    """At which limits verdicts change, tests of reports say."""
    check = ["check", folder / "state", "--total", "--require"]
    auc = sm.Accumulator.load(folder / "state").finalize(["roc_auc"], confidence=0.9).rollup()["roc_auc"]
    near = f"roc_auc >= {(auc.ci_lower + auc.lower) / 2}"
    for options, code in (([], 0), (["--open", "fail"], 1)):
        symbol = "✗" if code else "?"
        assert f"  {symbol} open: about " in run(*check, near, *options, code=code).splitlines()[2]


def test_check_of_small_groups(tmp_path):
    rows = {"y": [0, 1] * 60 + [1], "p": [0.1, 0.9] * 60 + [0.5], "g": ["a"] * 120 + [None]}
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "some.state")
    check = ["check", tmp_path / "some.state", "--require", "roc_auc >= 0.9"]
    assert "undefined: no negatives" in run(*check, code=1)
    small = run(*check, "--min-rows", 10, "--confidence", 0.95)
    *verdicts, count, _, _ = small.splitlines()[2:]
    assert [line.split("  ")[-1].strip() for line in verdicts] == ["? too few rows: no negatives", "✓ holds"]
    assert count == "Undecided, allowed: 1 of 2"


def test_check_of_one_model(two_models):
    check = ["check", two_models, "--require", "roc_auc>=0.6"]
    assert run(*check, code=1).startswith("model  ")
    assert run(*check, "--model", "good").splitlines()[2].endswith("✓ holds")
    assert "roc_auc &gt;= 0.6, model bad" in run(*check, "--model", "bad", "--format", "junit", code=1)


def test_check_of_a_class_with_too_few_rows_says_so(tmp_path):
    sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.8, 0.3]}).save(tmp_path / "few.state")
    assert "open: too few rows of a class" in run("check", tmp_path / "few.state", "--require", "roc_auc>=0.7")


def test_every_documented_reason_has_words():
    _, _, reasons = sm.Verdicts.__doc__.partition("Reasons for an open verdict are")
    documented = re.findall(r"``(\w+)``", reasons.partition("``by``")[0])
    assert {*documented} == {*WORDS}
