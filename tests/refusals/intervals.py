"""Intervals: looks, units that differ, and group columns with the names of limits; and thresholds with guarantees."""

from data import CLICKS, DELIVERIES, VISITS, clicks, visits

import streammetrics as sm

ACC = sm.binary(**CLICKS).update(clicks()[:500])
REPORT = ACC.finalize()
BY_UNIT = sm.binary(**VISITS | {"sample_weight": None}).update(visits()[:500])
WEIGHTED = sm.binary(**VISITS | {"unit": None}).update(visits()[:500])


def _regression(**options):
    return sm.regression(**DELIVERIES, **options)


def _point(acc=ACC, **options):
    return acc.finalize().operating_point(**{"maximize": "recall", "subject_to": "precision >= 0.9"} | options)


def _guarantee(where):
    return lambda: _point(subject_to=where, confidence=0.95)


REFUSALS = {
    "always= that is no number": (lambda: ACC.finalize(confidence=0.95, always=True), *("always", "True")),
    "always= without a confidence": (lambda: ACC.finalize(always=1_000), "always=", "confidence="),
    "always= for units": (lambda: BY_UNIT.finalize(confidence=0.95, always=1_000), *("always=", "unit=")),
    "merging units and none": (lambda: _regression(unit="u") + _regression(), "unit"),
    "a guarantee without constraints": (lambda: _point(subject_to=None, confidence=0.95), "subject_to=", "confidence="),
    "a guarantee in percent": (lambda: _point(confidence=95), "confidence=", "95"),
    "a guarantee at a limit of 1": (lambda: _point(subject_to="precision >= 1", confidence=0.95), "'precision >= 1'"),
    "a guarantee of weighted rows": (lambda: _point(WEIGHTED, confidence=0.95), "sample_weight="),
    "a guarantee of units": (lambda: _point(BY_UNIT, confidence=0.95), "unit="),
    **{
        f"a guarantee of {text}": (_guarantee(text), f"'{text}'", "precision", "predicted_positive_rate")
        for text in ("f1 >= 0.5", "accuracy >= 0.9", "jaccard >= 0.5", "precision <= 0.9", "prevalence >= 0.1")
    },
    "no objective": (lambda: REPORT.operating_point(), "maximize=", "minimize="),
    "two objectives": (lambda: REPORT.operating_point(maximize="f1", minimize="cost"), *("maximize=", "minimize=")),
    "an objective in the other direction": (lambda: REPORT.operating_point(minimize="recall"), "'recall'", "maximize="),
    "an objective of scores": (lambda: REPORT.operating_point(maximize="roc_auc"), "'roc_auc'"),
    "a constraint on an unknown metric": (
        lambda: REPORT.operating_point(maximize="f1", subject_to="fprr <= 0.1"),
        *("fprr", "'fpr"),
    ),
}
