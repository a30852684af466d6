"""``streammetrics operating-point``, as a user types it."""

import json

from commands import run

import streammetrics as sm


def test_the_best_threshold_of_each_group(folder):
    cheapest = ["operating-point", folder / "state", "--minimize", "cost(fp=1, fn=10)"]
    lines = run(*cheapest, "--subject-to", "recall>=0.5").splitlines()
    assert lines[0].split() == ["country", "threshold", "cost(fp=1,", "fn=10)", "recall", "tp", "fp", "fn", "tn"]
    assert [line.split()[0] for line in lines[2:8]] == ["BR", "DE", "FR", "IN", "JP", "US"]
    assert run(*cheapest, "--width", 50).splitlines()[0].split() == ["country", "threshold", "cost(fp=1,", "fn=10)"]


def test_a_threshold_with_a_guarantee(folder):
    report = sm.Accumulator.load(folder / "state").finalize().rollup()
    subject_to = ["fpr<=0.3", "recall >= 0.2"]
    found = report.operating_point(maximize="recall", subject_to=subject_to, confidence=0.9)
    given = [option for text in subject_to for option in ("--subject-to", text)]
    asked = ["operating-point", folder / "state", "--total", "--maximize", "recall", "--confidence", 0.9, *given]
    assert json.loads(run(*asked, "--format", "json")) == found.to_dicts()
    header, _, row, told = run(*asked).splitlines()
    assert header.split() == ["threshold", "recall", "fpr", "tp", "fp", "fn", "tn"]
    assert row.split()[0] == f"{found['threshold'].item():.6g}"
    assert told == "The constraints hold for new rows at 90% confidence."


def test_no_threshold_has_a_reason(folder):
    point = ["operating-point", folder / "state", "--total", "--maximize"]
    _, _, row = run(*point, "recall", "--confidence", 0.95, "--subject-to", "precision>=0.99999").splitlines()
    assert row.split("  ")[-1] == "too few rows: precision >= 0.99999 needs at least 299,572, got 20,000"
    *_, row, told = run(*point, "f1", "--subject-to", "fpr<0").splitlines()
    assert row.split()[0] == "–"
    assert told == "–: no threshold meets fpr<0."
