"""Pairs of classes, each compared on the scores of both: Hand and Till's measure and its bounds."""

import numpy as np
import polars as pl
import pytest
import sklearn.metrics as sk

import streammetrics as sm

LABELS = [*"abcd"]


def rows(seed=0, count=300, classes=4, digits=None):
    """Labels, their scores, weights and groups; the last class is rare."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.6), count)
    if digits:
        p = np.floor(p * 10**digits) / 10**digits
        p[:, 0] = 1 - p[:, 1:].sum(axis=1)
    actual = np.where(rng.random(count) < 0.4, p.argmax(axis=1), rng.integers(0, classes - 1, count))
    actual[:classes] = range(classes)
    frame = pl.DataFrame(dict(zip(LABELS, p.T, strict=False)))
    return frame.with_columns(
        y=pl.Series(LABELS).gather(actual), w=rng.integers(1, 4, count), g=rng.integers(0, 2, count)
    )


def pairs(classes=4, capacity=1024, domain="probability", **roles):
    scores = {label: label for label in LABELS[:classes]}
    return sm.Accumulator(sm.statistics.PairHistograms(capacity, domain), y_true="y", y_score=scores, **roles)


def truth(frame, average="macro"):
    scores = frame.select(LABELS).to_numpy()
    return sk.roc_auc_score(frame["y"].to_list(), scores, multi_class="ovo", average=average, labels=LABELS)


@pytest.mark.parametrize("order", ["best", "worst"])
def test_bounds_are_attained(order):
    """In every bin of a score the rows of its class stand above the others, or below."""
    frame = rows(2, count=1_000, classes=2)
    acc = pairs(2, capacity=8).update(frame)
    cells = acc.state.tables["pair_histograms"]
    lattice, ranks = acc.statistics[1].lattice, {}
    for i, label in enumerate("ab"):
        keys = lattice.keys(frame[label].to_numpy())
        shift = cells.filter(scored=i)["shift"].max()
        own = (frame["y"] == label).to_numpy() == (order == "best")
        ranks[label] = np.unique(np.stack([keys >> shift, own]), axis=1, return_inverse=True)[1].ravel()
    attained = pairs(2, domain="real").update(frame.with_columns(**ranks)).finalize()["roc_auc_ovo"].value
    found = acc.finalize()["roc_auc_ovo"]
    assert attained == pytest.approx(found.upper if order == "best" else found.lower, abs=1e-12)


def test_classes_share_the_bins_of_a_score():
    """A class of few rows is as coarse as the others, or pairs could not be compared bin by bin."""
    frame = rows(6, count=2_000)
    table = pairs(capacity=16).update(frame).state.tables["pair_histograms"]
    of_rare = table.filter(actual=3).group_by("scored").agg(pl.max("shift"))
    of_all = table.group_by("scored").agg(pl.max("shift"))
    assert of_rare.sort("scored").equals(of_all.sort("scored"))


def test_margins_and_atoms():
    frame = rows(8, count=2_000, digits=3)
    margins = frame.with_columns(pl.col(LABELS).log())
    found = pairs(domain="real", capacity=4096).update(margins).finalize()["roc_auc_ovo"]
    assert found.value == pytest.approx(truth(frame), rel=1e-12)
    acc = sm.multiclass(y_true="y", y_score={x: x for x in LABELS}, one_vs_one=True, capacity=128, atoms=(0.25,))
    quarter = pl.when(pl.int_range(pl.len()) % 3 == 0).then(0.25).otherwise(pl.col(LABELS)).name.keep()
    frame = rows(8, count=2_000).with_columns(quarter)
    report = acc.update(frame).finalize()
    assert "roc_auc_ovo" in report.frame["metric"]
    assert report["roc_auc_ovo"].lower < truth(frame) < report["roc_auc_ovo"].upper
    assert report["roc_auc_ovo"].upper - report["roc_auc_ovo"].lower < 0.05
