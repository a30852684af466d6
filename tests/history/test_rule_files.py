"""Rules as they are written, in Python and in files. What is refused stands in ``tests/refusals/rules.py``."""

import pytest

import streammetrics as sm

FILE = """
# what the customer was promised
[[rule]]
require = "roc_auc >= 0.8"
over = "7d"
by = ["country", "device"]
name = "ranking"
description = "Ask the team of the app."
severity = "warn"
confidence = 0.99
min_rows = 500
open = "fail"
alarm = "2 per month"
segments = "fdr 5%"

[[rule]]
require = "psi(of='y_score')<=0.2"
against = "28d"
by = "country"

[[rule]]
require = "rows >= 1e3"
by = []
always = 100_000

[[rule]]
require = 'roc_auc >= 0.6'
before_labels = true
odds = 1.25
coverage = 0
"""
RANKING = {"name": "ranking", "description": "Ask the team of the app.", "severity": "warn", "confidence": 0.99}
RANKING |= {"min_rows": 500, "open": "fail", "alarm": "2 per month", "segments": "fdr 5%"}
RULES = [
    sm.Rule("roc_auc >= 0.8", over="7d", by=("country", "device"), **RANKING),
    sm.Rule("psi(of='y_score')<=0.2", against="28d", by=("country",)),
    sm.Rule("rows >= 1e3", always=100_000),
    sm.Rule("roc_auc >= 0.6", before_labels=True, odds=1.25, coverage=0),
]
TEXTS = {
    sm.Rule("roc_auc>=0.8", over="7d", by="country", severity="warn", open="fail"): "roc_auc >= 0.8",
    sm.Rule("roc_auc < 0.8", model="new", alarm="1 per year"): "roc_auc < 0.8, model new, alarm 1 per year",
    sm.Rule("accuracy > 0.8", always=1_000): "accuracy > 0.8, always 1000",
    sm.Rule("roc_auc >= -0.02", against="28d"): "change of roc_auc >= -0.02 against 28d before",
    sm.Rule("ece <= 0", against="1d"): "change of ece <= 0 against 1d before",  # a fall or none
    sm.Rule("psi(of='y_score', bins=5)>=0.1", against="28d"): "psi(of='y_score', bins=5) >= 0.1 against 28d before",
    sm.Rule(
        "ks(of='y') <= 0.1", against="1w", alarm="1 per day"
    ): "ks(of='y') <= 0.1 against 1w before, alarm 1 per day",
    sm.Rule("ks <= 0.3", against="1d"): "change of ks <= 0.3 against 1d before",  # without a distribution, the metric
    sm.Rule("roc_auc >= 0.6", before_labels=True): "roc_auc >= 0.6 before labels",
    sm.Rule(
        "roc_auc >= 0.6", against="2d", before_labels=True, odds=1
    ): "roc_auc >= 0.6 before labels against 2d before",
    sm.Rule("f1 >= 0.6", before_labels=True, odds=1.25): "f1 >= 0.6 before labels, odds 1.25",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rules.toml"


def test_a_file_has_the_rules_that_python_makes(path):
    path.write_text(FILE)
    assert sm.read_rules(path) == sm.read_rules(str(path)) == RULES
    assert sm.Rule('psi(of="y_score") <= 0.2', against="28d").measure == RULES[1].measure == ("psi", {"of": "y_score"})


def test_rules_are_written_as_they_are_read(path):
    for rule, text in TEXTS.items():
        assert str(rule) == text
    for rule in (*RULES, *TEXTS):
        assert eval(repr(rule), {"Rule": sm.Rule}) == rule
    assert repr(sm.Rule("rows >= 1", over="1d", confidence=0.95, by=[])) == "Rule(require='rows >= 1')"
    assert repr(sm.Rule("rows >= 1", min_rows=50, by="a")) == "Rule(require='rows >= 1', by=('a',), min_rows=50)"


def test_fields_may_have_their_largest_and_smallest_values():
    for fields in (
        *({"coverage": value} for value in (0, 1, 0.5)),
        *({"before_labels": True, "odds": odds} for odds in (1, 1.0, 1e300)),
        *({"confidence": level} for level in (0.501, 0.999)),
        *({"min_rows": rows, "model": "", "name": "", "description": ""} for rows in (1, 50)),
        {"always": 1, "over": "1d"},
        {"over": "99999999d"},
    ):
        rule = sm.Rule("roc_auc >= 0.8", **fields)
        assert {name: getattr(rule, name) for name in fields} == fields


def test_the_numbers_of_a_rule():
    days = {
        "1 per day": 1,
        "1 per week": 7,
        "2 per year": 365.25 / 2,
        "0.5 per month": 365.25 / 6,
        "1 per quarter": 365.25 / 4,
    }
    for alarm, expected in days.items():
        assert 1 / sm.Rule("roc_auc >= 0.8", alarm=alarm).alarms_per_day == pytest.approx(expected)
    for share in ("fdr 5 %", "fdr 5%", 0.05):
        assert sm.Rule("roc_auc >= 0.8", by="a", alarm="1 per year", segments=share).fdr == pytest.approx(0.05)
    plain = sm.Rule("roc_auc >= 0.8", confidence=0.9)
    assert (plain.alarms_per_day, plain.fdr, plain.measure, plain.two_sided) == (None, None, None, pytest.approx(0.8))
    required = sm.Rule("mae<3").required
    assert (required.metric, required.comparison, required.limit, required.wants_high) == ("mae", "<", 3, False)
