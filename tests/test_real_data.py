"""Real forecasts with their outcomes, where they are at hand."""

import os
from pathlib import Path

import polars as pl
import pytest
import sklearn.metrics as sk

import streammetrics as sm

FOLDER = Path(os.environ.get("STREAMMETRICS_REAL_DATA", "nowhere"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="STREAMMETRICS_REAL_DATA names no folder")


@pytest.fixture
def games():
    """All games but one that ended in a tie, whose outcome is 0.5."""
    return pl.scan_csv(FOLDER / "mlb_games.csv", infer_schema_length=None).filter(pl.col("prob1_outcome") != 0.5)


def test_a_tie_is_no_label():
    with pytest.raises(sm.DataError, match=r"labels other than 0 and 1 in 1 of .*the first is 0.5"):
        sm.evaluate(FOLDER / "mlb_games.csv", sm.binary(y_true="prob1_outcome", y_score="prob1"))


def test_baseball_games_by_season(games):
    acc = sm.accumulate(games, sm.binary(y_true="prob1_outcome", y_score="prob1", by="season", capacity=16_384))
    report = acc.finalize()
    games = games.collect()
    for (season,), rows in games.group_by("season"):
        y, p = rows["prob1_outcome"].to_numpy(), rows["prob1"].to_numpy()
        for metric, reference in (
            ("roc_auc", sk.roc_auc_score),
            ("average_precision", sk.average_precision_score),
            ("log_loss", sk.log_loss),
            ("brier_score", sk.brier_score_loss),
        ):
            estimate = report.get(metric, season=season)
            assert estimate.exact
            assert estimate.value == pytest.approx(reference(y, p), rel=1e-12)
    total = acc.rollup().finalize()["roc_auc"]
    assert total.value == pytest.approx(sk.roc_auc_score(games["prob1_outcome"], games["prob1"]), rel=1e-12)


def test_baseball_games_by_month(games):
    month = pl.col("date").str.to_date().dt.truncate("1mo").alias("month")
    acc = sm.accumulate(games, sm.binary(y_true="prob1_outcome", y_score="prob1", by=month))
    assert acc.rollup().finalize()["rows"].value == 15_747
    assert acc.finalize(["rows"]).frame["value"].sum() == 15_747


def test_governors_with_missing_outcomes():
    path = FOLDER / "governors_elections.csv"
    source = pl.scan_csv(path, infer_schema=False)
    numbers = {c: pl.col(c).cast(pl.Float64, strict=False) for c in ("probwin", "probwin_outcome")}
    acc = sm.binary(y_true=numbers["probwin_outcome"], y_score=numbers["probwin"], by="party", nulls="drop")
    sm.accumulate(source, acc)
    rows = source.with_columns(**numbers).collect().drop_nulls(["probwin", "probwin_outcome"])
    total = acc.rollup().finalize()
    assert total["rows"].value == rows.height
    assert total["rows"].value + total["dropped"].value == 19_831
    truth = sk.roc_auc_score(rows["probwin_outcome"], rows["probwin"])
    assert total["roc_auc"].lower - 1e-12 <= truth <= total["roc_auc"].upper + 1e-12
