"""What others fell into."""

import math

import pytest

import streammetrics as sm

ROLES = {"y_true": "y", "y_score": "p"}


def task(**options):
    return sm.binary(**ROLES, **options)


def evaluated(y, p, **options):
    return task(**options).update({"y": y, "p": p}).finalize()


def doubled(acc, times):
    for _ in range(times):
        acc = acc + acc
    return acc


def test_ratios_are_right_beyond_the_range_of_integers():
    """tp * tn and its like exceed 2^63."""
    once = task().update({"y": [1] * 90 + [0] * 110, "p": [0.9] * 60 + [0.1] * 30 + [0.8] * 20 + [0.2] * 90})
    one, many = once.finalize(), doubled(once, 40).finalize()
    assert one["mcc"].value == pytest.approx((60 * 90 - 20 * 30) / math.sqrt(80 * 90 * 110 * 120), rel=1e-12)
    for name in ("mcc", "kappa", "f1", "roc_auc", "average_precision", "ks", "best_mcc", "log_loss", "ece"):
        assert many[name].value == pytest.approx(one[name].value, rel=1e-12), name


def test_the_order_of_thresholds_makes_no_difference():
    one, other = (task(thresholds=t).update({"y": [1], "p": [0.5]}) for t in ((0.2, 0.7), (0.7, 0.2)))
    assert (one + other).seen == 2


def test_zero_has_no_sign():
    one, other = (task(thresholds=(z,), domain="real").update({"y": [1, 0], "p": [z, -z]}) for z in (0.0, -0.0))
    assert one.to_bytes() == other.to_bytes()
    report = (one + other).finalize()
    assert report["roc_auc"].value == 0.5
    assert report["recall"].value == 1
    grouped = sm.binary(**ROLES, by="g").update({"y": [1, 0], "p": [-0.0, 0.0], "g": [0.0, -0.0]})
    assert grouped.state.groups.height == 1


GOOD = {"y": [1, 0], "p": [0.9, 0.1], "w": [1.0, 2.0], "g": ["a", "b"]}


@pytest.mark.parametrize("held", [1, 10**6])
def test_an_accumulator_whose_counting_failed_says_so_from_then_on(held, monkeypatch):
    """Should memory end while rows are counted in place, no wrong number is told."""
    monkeypatch.setattr("streammetrics.statistics.state.content.BUFFER", held)
    acc = task().update(GOOD)
    with monkeypatch.context() as patch:
        patch.setattr("streammetrics.statistics.state.counters.Counters.count", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            acc.update(GOOD).flush()
    for use in (acc.to_bytes, acc.finalize, lambda: acc.update(GOOD), lambda: task().absorb(acc)):
        with pytest.raises(sm.StreamMetricsError, match="failed while counting"):
            use()
