"""How many folds an accumulator keeps of units, and what intervals of many folds are."""

import json
import pickle

import polars as pl
import pytest
from data import visits
from polars.testing import assert_frame_equal

import streammetrics as sm

ROWS = visits().with_columns(e=pl.col("score").log(), g=pl.col("visitor") % 2)


def binary(**options):
    return sm.binary(y_true="bought", y_score="score", **{"unit": "visitor"} | options)


def header(acc):
    return json.loads(acc.to_arrow().schema.metadata[b"streammetrics"])["columns"]


@pytest.mark.parametrize("folds", [5, 10, 40, 100])
def test_folds_of_a_divisor_are_those_of_fewer_folds(folds):
    rolled_up = binary(folds=200, by="g").update(ROWS).rollup("g", folds=folds)
    assert rolled_up.to_bytes() == binary(folds=folds, by="g").update(ROWS).to_bytes()
    assert binary(folds=200, by="g").rollup("g", folds=folds).to_bytes() == binary(folds=folds, by="g").to_bytes()


def test_states_say_their_number():
    usual, more = binary().update(ROWS), binary(folds=50).update(ROWS)
    assert header(usual)["folds"] == 20
    assert header(more)["folds"] == 50
    assert "folds=50" in repr(more)
    assert "folds" not in repr(usual)
    for acc in (usual, more):
        loaded = sm.Accumulator.from_bytes(acc.to_bytes())
        assert loaded.roles == acc.roles
        assert loaded.to_bytes() == pickle.loads(pickle.dumps(acc)).to_bytes() == acc.to_bytes()


def test_comparisons_use_the_folds_that_both_have():
    one, other = (
        sm.regression(y_true="weight", y_pred=c, unit="visitor", folds=f).update(ROWS)
        for c, f in (("score", 60), ("e", 40))
    )
    found = sm.compare(one, other, metrics=["mae"]).frame
    alike = sm.compare(*(acc.rollup(folds=20) for acc in (one, other)), metrics=["mae"]).frame
    assert_frame_equal(found, alike, rel_tol=1e-9)
    assert found["ci_lower"].item() is not None


def test_comparisons_say_that_both_have_too_few_folds_in_common():
    one, other = (binary(folds=folds).update(ROWS) for folds in (20, 21))
    found = sm.compare(one, other, metrics=["accuracy"])
    assert found.frame["ci_lower"].item() is None
    assert found.note
    assert sm.compare(one, other, metrics=["accuracy"], independent=True).frame["ci_lower"].item() is not None
