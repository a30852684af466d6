"""Many small files take little more time than a scan of Polars."""

import time

import polars as pl
import pytest

import streammetrics as sm
from streammetrics.data import Files

FILES = 1_500


@pytest.fixture
def acc():
    return sm.binary(y_true="y", y_score="p")


def write(folder, frame, number):
    frame.write_parquet(folder / "0.parquet")
    content = (folder / "0.parquet").read_bytes()
    for i in range(1, number):
        (folder / f"{i}.parquet").write_bytes(content)


def test_rows_are_counted_in_advance_only_for_a_progress_bar(acc, tmp_path, monkeypatch):
    write(tmp_path, pl.DataFrame({"y": [1, 0], "p": [0.9, 0.2]}), 3)
    monkeypatch.setattr(Files, "_rows", property(lambda self: pytest.fail("counted")))
    assert sm.evaluate(tmp_path, acc, metrics=["rows"])["rows"].value == 6


@pytest.mark.thorough
def test_many_small_files_take_a_small_multiple_of_the_time_of_polars(acc, tmp_path):
    write(tmp_path, pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]}), FILES)

    def ours():
        sm.evaluate(tmp_path, acc)

    def of_polars():
        pl.scan_parquet(tmp_path / "*.parquet").select(pl.sum("y", "p")).collect(engine="streaming")

    def seconds(run):
        start = time.process_time()
        run()
        return time.process_time() - start

    seconds(ours), seconds(of_polars)  # which load libraries
    ratios = sorted(seconds(ours) / seconds(of_polars) for _ in range(5))
    assert ratios[0] < 4
