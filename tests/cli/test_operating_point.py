"""``streammetrics operating-point``, as a user types it."""

import json

from commands import run

import streammetrics as sm


def test_the_best_threshold_of_each_group(folder):
    cheapest = ["operating-point", folder / "state", "--minimize", "cost(fp=1, fn=10)"]
    lines = run(*cheapest, "--subject-to", "recall>=0.5").splitlines()
    assert lines[0].split() == ["country", "threshold", "cost(fp=1,", "fn=10)", "recall", "tp", "fp", "fn", "tn"]
    assert run(*cheapest, "--width", 50).splitlines()[0].split() == ["country", "threshold", "cost(fp=1,", "fn=10)"]


def test_a_threshold_with_a_guarantee(folder):
    report = sm.Accumulator.load(folder / "state").finalize().rollup()
    subject_to = ["fpr<=0.3", "recall >= 0.2"]
    found = report.operating_point(maximize="recall", subject_to=subject_to, confidence=0.9)
    given = [option for text in subject_to for option in ("--subject-to", text)]
    point = ["operating-point", folder / "state", "--total", "--maximize"]
    asked = [*point, "recall", "--confidence", 0.9, *given]
    assert json.loads(run(*asked, "--format", "json")) == found.to_dicts()
    assert run(*asked).endswith("\nThe constraints hold for new rows at 90% confidence.\n")
    assert run(*point, "f1", "--subject-to", "fpr<0").endswith("\n–: no threshold meets fpr<0.\n")
