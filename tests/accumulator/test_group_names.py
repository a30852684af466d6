"""Group columns can have the names of columns that the library uses on the way, or are rejected by name."""

from datetime import timedelta

import pytest
from data import FIRST_DAY, candidates, clicks, visits
from polars.testing import assert_frame_equal

import streammetrics as sm

NAMES = (
    *("place in the frame", "number of rows", "rows", "rows of the share", "total", "of", "undefined", "seen"),
    *("reference", "reference_lower", "reference_rows", "current", "pair", "cells", "center", "start", "end", "above"),
    *("value of a", "lower of b", "a_ci_lower", "without", "without_right", "a_without", "criterion", "rest", "index"),
    *("number of the segment", "verdict of the rule", "value of the reference", "rows of the reference", "e-value"),
)
DATA = {
    "label": candidates()["clicked"],
    "p": candidates()["old"],
    "q": candidates()["new"],
    "unit": visits()["visitor"][:2_000] % 99,
    "day": clicks()["day"][:2_000].clip(upper_bound=FIRST_DAY + timedelta(days=3)),
}
GROUPS = visits()["visitor"][:2_000] % 2


def evaluated(by, score="p", **options):
    rows = dict.fromkeys(by, GROUPS) | DATA
    return sm.binary(y_true="label", y_score=score, by=by, **options).update(rows)


def interval(by, **options):
    return evaluated(by).finalize(["accuracy", "roc_auc", "log_loss"], confidence=0.9, **options)


def verdicts(by, tmp_path):
    store = sm.MetricStore(tmp_path / f"history{len(by)}{by[0]}", window="day")
    store.append(evaluated(["day", *by]), batch_id="all")
    common = {"by": tuple(by)}
    rules = [
        sm.Rule("roc_auc >= 0.9", **common),
        sm.Rule("roc_auc >= -0.02", against="2d", **common),
        sm.Rule("psi(of='y_score') <= 0.1", against="2d", **common),
        sm.Rule("accuracy >= 0.45", alarm="1 per year", **common),
        sm.Rule("accuracy >= 0.45", always=1000, **common),
    ]
    return sm.check(store, rules).frame.drop("where", "group")


FRAMES = {
    "at every look": lambda by, _: interval(by, always=1000).frame,
    "units": lambda by, _: evaluated(by, unit="unit").finalize(confidence=0.9).frame,
    "requirements": lambda by, _: interval(by).check("roc_auc >= 0.9").frame.drop("where", "group"),
    "worst": lambda by, _: interval(by).worst("accuracy"),
    "gaps": lambda by, _: interval(by).gaps("accuracy", over=by[0]),
    "gaps from a reference": lambda by, _: interval(by).gaps("accuracy", over=by[0], reference=0),
    "fairness": lambda by, _: evaluated(by).finalize().fairness(over=by[0]),
    "slices": lambda by, _: evaluated(by).finalize().slices("log_loss", depth=1, min_rows=100).drop("slice"),
    "comparison": lambda by, _: sm.compare(interval(by), interval(by), independent=True).frame,
    "comparison with units": lambda by, _: (
        sm.compare(evaluated(by, unit="unit"), evaluated(by, score="q", unit="unit"), metrics=["accuracy"]).frame
    ),
    "models": lambda by, _: evaluated(by, {"p": "p", "q": "q"}).finalize().compare("p", "q").frame,
    "drift": lambda by, _: sm.drift(evaluated(by), evaluated(by), confidence=0.9).frame,
    "before labels": lambda by, _: sm.expect(evaluated(by), evaluated(by), metrics=["accuracy"], confidence=0.9).frame,
    "history": verdicts,
}


def accepted(what, by, folder):
    """The group columns that are not rejected by name, and the frame grouped by them."""
    try:
        return by, FRAMES[what](by, folder)
    except sm.StreamMetricsError as error:
        rejected = [name for name in by if repr(name) in str(error)]
        if not rejected:
            raise
    return accepted(what, [name for name in by if name not in rejected], folder)


@pytest.mark.parametrize("what", FRAMES)
def test_names_in_use_change_nothing_or_are_rejected(what, tmp_path):
    by, found = accepted(what, list(NAMES), tmp_path)
    plain = [f"column {i}" for i in range(len(by))]
    expected = FRAMES[what](plain, tmp_path)
    renamed = {old: new for old, new in zip(plain, by, strict=True) if old in expected.columns}
    assert_frame_equal(found, expected.rename(renamed))
