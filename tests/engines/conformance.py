"""What every engine must give: the same tables and metrics as one process, whatever happens to workers."""

import os
import signal
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm

SIZES = (900_000, 500_000, 0, 299_999, 200_000, 100_000, 1)  # rows of each file: 2 million
FEW = (900, 500, 0, 1)
CLASSES = {"cat": "p_cat", "cow": "p_cow", "dog": "p_dog"}
BY = ["country", pl.col("day").dt.truncate("1w").alias("week")]
TASKS = {
    "binary": lambda by: sm.binary(y_true="clicked", y_score=(pl.col("p") ** 2).alias("p_square"), by=by),
    "multiclass": lambda by: sm.multiclass(y_true="animal", y_score=CLASSES, by=by),
    "regression": lambda by: sm.regression(y_true="actual", y_pred="predicted", by=by),
}
MORE = {
    "models": lambda by: sm.binary(y_true="clicked", y_score={"a": "p", "b": "p_cat"}, by=by),
    "units": lambda by: sm.binary(y_true="clicked", y_score="p", by=by, unit="user"),
    "labels": lambda by: sm.multiclass(y_true="animal", y_pred="guess", by=by),
    "label sets": lambda by: sm.multilabel(y_true={"a": "clicked"}, y_score={"a": "p"}, by=by),
    "weights": lambda by: sm.binary(y_true="clicked", y_score="p", sample_weight="p_cow", by=by),
    "digests": lambda by: sm.Accumulator(sm.TDigest(of="y_score"), y_score="p", by=by),
    "volume": lambda by: sm.Accumulator(by=by),
}
EXACT = {
    "binary": lambda by: sm.Accumulator(
        sm.ConfusionCounts((0.3, 0.5)), sm.ScoreHistogram(), y_true="clicked", y_score="p", by=by
    ),
    "multiclass": lambda by: sm.Accumulator(sm.ConfusionMatrix(), y_true="animal", y_pred="guess", by=by),
    "regression": lambda by: sm.Accumulator(sm.ErrorHistogram(), y_true="actual", y_pred="predicted", by=by),
}


def rows(size, seed):
    """Rows of every kind of task; a group column has nulls, and one file ends in them."""
    r = np.random.default_rng(seed)
    p = r.beta(2, 8, size)
    shares = r.dirichlet((1, 2, 3), size)
    country = pl.Series(["DE", "FR", None, "US"], dtype=pl.String).gather(r.integers(0, 4 if size > 1 else 1, size))
    actual = r.normal(1e6, 10, size)
    return pl.DataFrame(
        {
            "clicked": r.random(size) < p,
            "p": p,
            "animal": pl.Series(list(CLASSES), dtype=pl.String).gather(r.integers(0, 3, size)),
            "guess": pl.Series(list(CLASSES), dtype=pl.String).gather(r.integers(0, 3, size)),
            **dict(zip(CLASSES.values(), shares.T, strict=True)),
            "actual": actual,
            "predicted": (actual + r.normal(0, 5, size)).astype(np.float32),
            "country": country,
            "day": pl.Series(r.integers(20_000, 20_021, size), dtype=pl.Int32).cast(pl.Date),
            "user": r.integers(0, 1000, size),
            "unused": ["text"] * size,
        }
    )


def write(folder, sizes=SIZES):
    for number, size in enumerate(sizes):
        rows(size, number).write_parquet(folder / f"{number}.parquet")
    return folder


@cache
def alone(folder, task, grouped, exact=False):
    """The result of one process."""
    acc = (EXACT if exact else TASKS | MORE)[task](BY if grouped else [])
    return sm.accumulate(str(folder / "*.parquet"), acc)


def assert_same(found, expected):
    """Keys and counts are equal, sums to rounding."""
    for one, other in zip(tables(found), tables(expected), strict=True):
        assert_frame_equal(one, other, rel_tol=1e-9, abs_tol=1e-9)
    assert_frame_equal(found.finalize().frame, expected.finalize().frame, rel_tol=1e-7)


def tables(acc):
    frame = pl.from_arrow(acc.to_arrow())
    keys = frame.select(acc.roles.group_columns)
    assert frame.columns == [*keys.columns, *(s.name for s in acc.statistics)]
    yield keys
    for statistic in acc.statistics:
        yield frame.select(statistic.name).with_row_index("group").explode(statistic.name).unnest(statistic.name)


def dying(marker):
    """A score that kills the process which computes it, once."""

    def score(p):
        if len(p):
            try:
                Path(marker).touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return p

    return pl.col("p").map_batches(score, return_dtype=pl.Float64).alias("p")


class Conformance:
    """Tests of one engine; a subclass says how it reads files."""

    retries = True

    def source(self, folder):
        raise NotImplementedError

    @property
    def engine(self):
        raise NotImplementedError

    @pytest.mark.parametrize("grouped", [False, True], ids=["whole", "by two columns"])
    @pytest.mark.parametrize("task", TASKS)
    def test_metrics_and_tables_are_those_of_one_process(self, files, task, grouped):
        acc = TASKS[task](BY if grouped else [])
        found = self.engine.accumulate(self.source(files), acc)
        assert found is acc
        assert_same(found, alone(files, task, grouped))

    @pytest.mark.parametrize("task", MORE)
    def test_other_tasks(self, few_files, task):
        assert_same(self.engine.accumulate(self.source(few_files), MORE[task](BY)), alone(few_files, task, True))

    @pytest.mark.parametrize("grouped", [False, True], ids=["whole", "by two columns"])
    @pytest.mark.parametrize("task", EXACT)
    def test_counts_and_histograms_are_the_same_bytes(self, files, task, grouped):
        found = self.engine.accumulate(self.source(files), EXACT[task](BY if grouped else []))
        assert found.to_bytes() == alone(files, task, grouped, exact=True).to_bytes()

    def test_rows_are_added_to_those_that_are_there(self, files):
        acc = EXACT["binary"]([])
        for _ in range(2):
            self.engine.accumulate(self.source(files), acc)
        assert acc.seen == 2 * sum(SIZES)

    def test_a_report(self, files):
        acc = EXACT["binary"]([])
        report = self.engine.evaluate(self.source(files), acc)
        assert report["rows"].value == sum(SIZES)
        assert not acc.seen

    def test_a_report_of_some_metrics_with_intervals(self, few_files):
        source = self.source(few_files)
        report = self.engine.evaluate(source, EXACT["binary"]([]), metrics=["recall"], confidence=0.9)
        assert report.frame["metric"].unique().to_list() == ["recall"]
        assert "ci_lower" in report.frame.columns
        for arguments in ((EXACT["binary"]([]), source), (source, {"a": EXACT["binary"]([])})):
            with pytest.raises(sm.SpecificationError, match=r"swapped|one accumulator at a time"):
                self.engine.accumulate(*arguments)

    def test_a_source_without_rows_has_no_report(self, tmp_path):
        rows(0, 0).write_parquet(tmp_path / "0.parquet")
        with pytest.raises(sm.SourceError, match="no rows"):
            self.engine.evaluate(self.source(tmp_path), EXACT["binary"](BY))

    def test_a_bad_row_is_named(self, tmp_path):
        for number, bad in enumerate((0.5, 1.25)):
            frame = rows(1000, number).with_columns(p=pl.when(pl.int_range(1000) == 7).then(bad).otherwise("p"))
            frame.write_parquet(tmp_path / f"{number}.parquet")
        with pytest.raises(sm.DataError) as caught:
            self.engine.accumulate(self.source(tmp_path), MORE["models"]([]))
        assert str(caught.value).startswith("column 'p' has scores outside [0, 1] in 1 of ")
        assert "(the first is 1.25, in row" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_missing_column_is_named(self, files):
        with pytest.raises(sm.ColumnError, match="there is no column 'nothing'"):
            self.engine.accumulate(self.source(files), sm.binary(y_true="clicked", y_score="nothing"))

    def test_a_killed_worker_is_counted_once(self, files, tmp_path):
        if not self.retries:
            pytest.skip("this engine has no workers of its own")
        marker = tmp_path / "died"
        acc = sm.Accumulator(
            sm.ConfusionCounts((0.3, 0.5)), sm.ScoreHistogram(), y_true="clicked", y_score=dying(marker)
        )
        found = self.engine.accumulate(self.source(files), acc)
        assert marker.exists()
        assert found.to_bytes() == alone(files, "binary", False, exact=True).to_bytes()


class Grouped:
    """Tests of engines that keep the states of many groups where the workers are."""

    def states(self, folder, acc):
        """The states of files as Arrow tables that `from_arrow` reads, one for each task that made them."""
        raise NotImplementedError

    @pytest.mark.parametrize("task", ["binary", "regression", "models", "units", "labels"])
    def test_each_group_has_one_state(self, few_files, task):
        acc = (TASKS | MORE)[task](BY)
        found = pa.concat_tables(self.states(few_files, acc), promote_options="default")
        keys = pl.from_arrow(found).select(acc.roles.group_columns)
        assert keys.n_unique() == keys.height
        assert_same(sm.Accumulator.from_arrow(found), alone(few_files, task, True))

    def test_states_are_of_groups(self, files):
        with pytest.raises(sm.SpecificationError, match="give by="):
            self.states(files, TASKS["binary"]([]))
        with pytest.raises(sm.SpecificationError, match="an accumulator is needed"):
            self.states(files, "binary")
