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
    with pytest.raises(sm.errors.DataError, match=r"labels other than 0 and 1 in 1 of .*first: 0.5 at row 13374"):
        sm.evaluate(FOLDER / "mlb_games.csv", sm.binary(y_true="prob1_outcome", y_score="prob1"))


def test_baseball_games_by_season(games):
    acc = sm.accumulate(games, sm.binary(y_true="prob1_outcome", y_score="prob1", by="season"))
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
    total = report.rollup()["roc_auc"]
    assert total.exact
    assert total.value == pytest.approx(sk.roc_auc_score(games["prob1_outcome"], games["prob1"]), rel=1e-12)


@pytest.mark.thorough
def test_baseball_seasons_before_their_labels(games):
    """Each season from the ones before: nearer than the last season on average, and within odds of 1.25."""
    acc = sm.accumulate(games, sm.binary(y_true="prob1_outcome", y_score="prob1", by="season"))
    errors = {metric: ([], []) for metric in ("roc_auc", "accuracy", "log_loss", "recall")}
    for season in range(2017, 2023):
        current, last = (acc.filter(pl.col("season") == s).rollup() for s in (season, season - 1))
        found = sm.expect(current, acc.filter(pl.col("season") < season).rollup(), odds=1.25)
        shown, before = current.finalize(), last.finalize()
        for metric, (of_expected, of_before) in errors.items():
            truth, estimate = shown[metric].value, found[metric]
            assert estimate.lower <= truth <= estimate.upper
            of_expected.append(abs(estimate.value - truth))
            of_before.append(abs(before[metric].value - truth))
    assert all(sum(of_expected) < 0.8 * sum(of_before) for of_expected, of_before in errors.values())


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
    acc = sm.accumulate(source, acc)
    rows = source.with_columns(**numbers).collect().drop_nulls(["probwin", "probwin_outcome"])
    total = acc.rollup().finalize()
    assert total["rows"].value == rows.height
    assert total["rows"].value + total["dropped"].value == 19_831
    truth = sk.roc_auc_score(rows["probwin_outcome"], rows["probwin"])
    assert total["roc_auc"].lower - 1e-12 <= truth <= total["roc_auc"].upper + 1e-12


OUTCOMES = {"first": "prob1", "tie": "probtie", "second": "prob2"}


@pytest.fixture
def minutes():
    """Forecasts of three outcomes, minute by minute of the matches, and the one that came true."""
    came_true = [pl.when(pl.col(f"{p}_outcome") == 1).then(pl.lit(label)) for label, p in OUTCOMES.items()]
    return pl.scan_csv(FOLDER / "world_cup_matches_in_game_men.csv").with_columns(outcome=pl.coalesce(came_true))


def test_football_matches_minute_by_minute(minutes):
    acc = sm.accumulate(minutes, sm.multiclass(y_true="outcome", y_score=OUTCOMES, one_vs_one=True, by="season"))
    report, rows = acc.finalize(), minutes.collect()
    for (season,), part in rows.group_by("season"):
        assert_equal_to_scikit_learn(lambda metric, season=season: report.get(metric, season=season), part)
    total = acc.rollup().finalize()
    assert total["rows"].value == 13_232
    assert_equal_to_scikit_learn(total.get, rows)


def assert_equal_to_scikit_learn(found, rows):
    """Forecasts have two digits, so that nothing is hidden in bins."""
    labels = sorted(OUTCOMES)
    y, p = rows["outcome"].to_list(), rows.select(OUTCOMES[label] for label in labels).to_numpy()
    z = [list(OUTCOMES)[i] for i in rows.select(OUTCOMES.values()).to_numpy().argmax(axis=1)]
    expected = {
        "accuracy": sk.accuracy_score(y, z),
        "balanced_accuracy": sk.balanced_accuracy_score(y, z),
        "mcc": sk.matthews_corrcoef(y, z),
        "kappa": sk.cohen_kappa_score(y, z),
        "f1(average=macro)": sk.f1_score(y, z, average="macro"),
        "precision(average=weighted)": sk.precision_score(y, z, average="weighted"),
        "log_loss": sk.log_loss(y, p.clip(1e-15)),
        "brier_score": sk.brier_score_loss(y, p, scale_by_half=False),
        "average_precision(average=macro)": sk.average_precision_score(y, p, average="macro"),
    }
    for average in ("macro", "micro", "weighted"):
        expected[f"roc_auc(average={average})"] = sk.roc_auc_score(y, p, multi_class="ovr", average=average)
    for average in ("macro", "weighted"):
        expected[f"roc_auc_ovo(average={average})"] = sk.roc_auc_score(y, p, multi_class="ovo", average=average)
    for metric, value in expected.items():
        assert found(metric).value == pytest.approx(value, rel=1e-10 if metric == "log_loss" else 1e-12), metric
        assert found(metric).exact
