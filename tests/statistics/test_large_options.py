"""Options of statistics and evaluations that are too large for memory or for integers of 64 bits."""

import json

import pytest

import streammetrics as sm
from streammetrics.errors import SpecificationError, StateError
from streammetrics.state.header import specification

BATCH = {"y": [1, 0], "p": [0.9, 0.2], "u": [1, 2]}
OPTIONS = {
    "capacity": (lambda n: sm.binary(y_true="y", y_score="p", capacity=n), 1 << 30),
    "capacity of a statistic": (sm.ScoreHistogram, 1 << 30),
    "capacity of pairs": (lambda n: sm.statistics.PairedScores([("a", "b")], capacity=n), 1 << 30),
    "calibration bins": (sm.CalibrationBins, 1_000_000),
    "compression": (sm.statistics.TDigest, 1_000_000),
    "folds": (lambda n: sm.binary(y_true="y", y_score="p", unit="u", folds=n), 256),
    "max_groups": (lambda n: sm.binary(y_true="y", y_score="p", by="u", max_groups=n), (1 << 32) - 1),
    "bins of drift": (lambda n: sm.drift(filled(), filled(), bins=n), 1_000_000),
}


def filled():
    return sm.binary(y_true="y", y_score="p").update(BATCH)


@pytest.mark.parametrize("option", OPTIONS)
def test_numbers_have_a_stated_maximum(option):
    make, most = OPTIONS[option]
    make(most)
    for larger in (most + 1, 1 << 61, 10**400, 10**5_000):
        with pytest.raises(SpecificationError, match=f"must be at most {most:,}, got ") as error:
            make(larger)
        assert len(str(error.value)) < 150


def test_a_million_threads_are_not_started():
    with pytest.raises(SpecificationError, match="workers= must be at most 1,024, got 1048576"):
        sm.evaluate(BATCH, sm.binary(y_true="y", y_score="p"), workers=1 << 20)


def test_a_million_thresholds_are_the_most():
    with pytest.raises(SpecificationError, match="number of thresholds must be at most 1,000,000"):
        sm.ConfusionCounts([i / 1_000_001 for i in range(1_000_001)])
    with pytest.raises(SpecificationError, match="must be distinct numbers") as error:
        sm.ConfusionCounts([0.5] * 100_000 + [10**400])
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("name", "option"), [("score_histogram", "capacity"), ("calibration_bins", "bins"), ("confusion_counts", "folds")]
)
def test_a_header_with_such_numbers_is_rejected(name, option, tmp_path):
    import pyarrow as pa

    filled().save(tmp_path / "a.arrow")
    with pa.OSFile(str(tmp_path / "a.arrow")) as file:
        header = json.loads(pa.ipc.open_file(file).schema.metadata[b"streammetrics"])
    if option == "folds":
        header["columns"]["folds"] = 1 << 61
    for statistic in header["statistics"]:
        if statistic["name"] == name and option != "folds":
            statistic["options"][option] = 1 << 61
    with pytest.raises(StateError, match="must be at most"):
        specification(header)
