"""``streammetrics check``, as a user types it."""

import re

from commands import run

import streammetrics as sm


def test_check_decides_in_every_group(folder):
    assert run("check", folder / "state", "--require", "roc_auc>=0.3").count("holds") == 6
    both = ["--require", "roc_auc >= 0.3", "--require", "ece <= 0.5"]
    lines = run("check", folder / "state", *both, "--total").splitlines()
    assert lines[0].split() == ["rule", "value", "bound", "interval", "verdict"]
    assert [" ".join(line.split()[-4:]) for line in lines[2:4]] == ["0.805 to 0.842 holds", "holds: on these rows"]
    assert lines[4:] == ["All 2 hold."]
    lines = run("check", folder / "state", *both, "--total", "--bounds-only").splitlines()
    assert lines[0].split() == ["rule", "value", "bound", "verdict"]
    assert [line.split()[-1] for line in lines[2:4]] == ["holds", "holds"]
    _, _, *failing, count, advice = run("check", folder / "state", "--require", "roc_auc>=0.99", code=1).splitlines()
    assert len(failing) == 6
    assert (count, advice) == ("Failing: 6 of 6", "To check all groups together, add --total.")
    both = ["--require", "roc_auc>=0.99", "--require", "ece<=0"]
    assert run("check", folder / "state", *both, "--total", code=1).splitlines()[-1] == "Failing: 2 of 2"
    assert run("check", folder / "state", *both, "--by", "country", code=1).splitlines()[-1] == "Failing: 12 of 12"
    assert failing[0].startswith("roc_auc >= 0.99  BR        0.")
    with_threshold = run("check", folder / "state", "--require", "roc_auc>=0.3", "--require", "recall>=0").splitlines()
    assert with_threshold[0].split() == ["rule", "where", "value", "bound", "interval", "verdict"]
    assert with_threshold[2].startswith("roc_auc >= 0.3  country BR   ")
    assert failing[0].endswith("  breached")


def test_check_of_many_groups_shows_those_that_do_not_hold(tmp_path):
    rows = {"y": [0, 1] * 60, "p": [0.1, 0.9] * 60, "g": [i // 2 for i in range(120)]}
    rows["p"][-1] = 0.05
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "many.state")
    shown = run("show", tmp_path / "many.state", "--metric", "rows")
    assert shown.endswith("… and 20 more groups. Read all of them with --format csv, or the worst first with --sort.\n")
    check = ["check", tmp_path / "many.state", "--bounds-only", "--require"]
    assert run(*check, "rows >= 2") == "All 60 hold.\n"
    _, _, failing, others, count, _ = run(*check, "roc_auc >= 0.5", code=1).splitlines()
    assert failing.split() == ["roc_auc", ">=", "0.5", "59", "0", "exact", "breached"]
    assert (others, count) == ("… and 59 more that hold", "Failing: 1 of 60")


def test_check_with_a_confidence_level_is_open_where_rows_do_not_suffice(folder):
    check = ["check", folder / "state", "--total", "--require"]
    report = sm.Accumulator.load(folder / "state").finalize(["roc_auc"], confidence=0.9).rollup()
    auc = report["roc_auc"]
    near = f"roc_auc >= {(auc.ci_lower + auc.lower) / 2}"
    low, high = auc.ci_lower - (auc.value - auc.lower), auc.ci_upper + (auc.upper - auc.value)
    assert run(*check, f"roc_auc >= {low - 1e-9}").splitlines()[-1].endswith("holds")
    assert "  open: about " in run(*check, near).splitlines()[-1]
    assert "  open: about " in run(*check, near, "--open", "fail", code=1).splitlines()[-1]
    assert run(*check, f"roc_auc >= {high + 1e-9}", code=1).splitlines()[-1].endswith("breached")


def test_check_of_small_groups(tmp_path):
    rows = {"y": [0, 1] * 60 + [1], "p": [0.1, 0.9] * 60 + [0.5], "g": ["a"] * 120 + [None]}
    sm.binary(y_true="y", y_score="p", by="g").update(rows).save(tmp_path / "some.state")
    check = ["check", tmp_path / "some.state", "--require", "roc_auc >= 0.9"]
    assert "undefined: no negatives" in run(*check, code=1)
    small = run(*check, "--min-rows", 10, "--confidence", 0.95)
    *verdicts, count = small.splitlines()[2:]
    assert [line.split("  ")[-1].strip() for line in verdicts] == ["holds", "too few rows: no negatives"]
    assert count == "Undecided, allowed: 1 of 2"


def test_check_of_one_model(two_models):
    check = ["check", two_models, "--require", "roc_auc>=0.6"]
    assert "  model  " in run(*check, code=1)
    assert run(*check, "--model", "good").splitlines()[-1].endswith("holds")
    for form in ("table", "github", "junit"):
        found = run(*check, "--model", "bad", "--format", form, code=1)
        assert re.search(r"roc_auc (>|&gt;|\\>)= 0\.6(,|%2C) model bad", found)
