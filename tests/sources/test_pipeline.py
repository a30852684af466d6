"""One pass over any source: the same report from each, nothing lost on the way."""

from functools import partial
from itertools import count

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.statistics import Content
from streammetrics.statistics.state.counters import Counters

SIZE = 5_000
rng = np.random.default_rng(0)
P = rng.beta(0.5, 4, SIZE)
DATA = pl.DataFrame({"y": rng.random(SIZE) < P, "p": P, "g": rng.choice(["DE", "FR"], SIZE), "unused": "text"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for kind in ("parquet", "csv", "ndjson", "ipc"):
        (folder / kind).mkdir()
        for n, part in enumerate((DATA[:2000], DATA[2000:])):
            getattr(part, f"write_{kind}")(folder / kind / f"{n}.{kind}")
    return folder


def task(**options):
    return sm.binary(y_true="y", y_score="p", by="g", capacity=64, **options)


EXPECTED = sm.evaluate(DATA, task()).frame

SOURCES = {
    "path": lambda f: [f / "parquet/0.parquet", f / "parquet/1.parquet"],
    "text": lambda f: [str(f / "parquet/0.parquet"), str(f / "parquet/1.parquet")],
    "glob": lambda f: f"{f}/parquet/*.parquet",
    "deep glob": lambda f: f"{f}/**/*.parquet",
    "folder": lambda f: f / "parquet",
    "csv": lambda f: f / "csv",
    "ndjson": lambda f: f / "ndjson",
    "ipc": lambda f: f / "ipc",
    "lazy frame": lambda f: pl.scan_parquet(f"{f}/parquet/*.parquet"),
    "frame": lambda f: DATA,
    "pandas": lambda f: DATA.to_pandas(),
    "table": lambda f: DATA.to_arrow(),
    "record batch": lambda f: DATA.to_arrow().combine_chunks().to_batches()[0],
    "dataset": lambda f: ds.dataset(f / "parquet"),
    "reader": lambda f: DATA.to_arrow().to_reader(max_chunksize=700),
    "relation": lambda f: duckdb.read_parquet(f"{f}/parquet/*.parquet"),
    "list of frames": lambda f: [DATA[:10], DATA[10:10], DATA[10:]],
    "generator": lambda f: (DATA[n : n + 333] for n in range(0, SIZE, 333)),
    "mapping": lambda f: {c: DATA[c].to_numpy() for c in DATA.columns},
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
@pytest.mark.parametrize("workers", [1, 3])
def test_every_source_gives_the_same_report(source, workers, folder):
    found = sm.evaluate(source(folder), task(), workers=workers).frame
    assert_frame_equal(found, EXPECTED, rel_tol=1e-12)


def test_several_tasks_share_a_pass():
    batches = (DATA[n : n + 500] for n in range(0, SIZE, 500))
    reports = sm.evaluate(batches, {"all": sm.binary(y_true="y", y_score="p"), "by country": task()})
    assert_frame_equal(reports["by country"].frame, EXPECTED, rel_tol=1e-12)
    assert reports["all"]["rows"].value == SIZE


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_keeps_what_was_taken_in(interrupt, workers):
    def batches():
        for n in range(5):
            yield DATA[n * 100 : n * 100 + 100]
        raise interrupt

    acc = task()
    with pytest.raises(interrupt):
        sm.accumulate(batches(), into=acc, workers=workers)
    assert_frame_equal(acc.finalize().frame, task().update(DATA[:500]).finalize().frame, rel_tol=1e-12)


def test_a_source_is_counted_in_a_new_accumulator_unless_into_is_passed():
    acc = task()
    for _ in range(2):  # a notebook cell that runs twice
        assert sm.accumulate(DATA, acc).seen == SIZE
    assert acc.seen == 0
    assert sm.accumulate(DATA, acc.update(DATA)).seen == SIZE
    assert sm.accumulate(DATA, into=acc) is acc
    assert acc.seen == 2 * SIZE
    both = {"a": task(), "b": task()}
    assert [one.seen for one in sm.accumulate(DATA, both).values()] == [SIZE, SIZE]
    assert sm.accumulate(DATA, into=both) is both


REJECTED = {  # the accumulator that rejects a batch of another one, and what its error says
    "scores": (task, DATA[:100].with_columns(p=pl.lit(2.0)), r"scores outside \[0, 1\]"),
    "groups": (partial(task, max_groups=2), DATA[:100].with_columns(g=pl.lit("new")), "more than 2 groups"),
}


@pytest.mark.whole
@pytest.mark.parametrize(("make", "bad", "error"), REJECTED.values(), ids=REJECTED)
@pytest.mark.parametrize(("workers", "block"), [(1, 10**6), (2, 10**6), (2, 50)], ids=["one", "each", "together"])
def test_a_batch_that_one_accumulator_rejects_is_in_none(workers, block, make, bad, error, monkeypatch):
    """Also if threads count it together, as they do if it fills blocks."""
    monkeypatch.setattr("streammetrics.statistics.state.content.BLOCK", block)
    for names in (("strict", "lenient"), ("lenient", "strict")):
        made = {"strict": make(), "lenient": sm.binary(y_true="y", y_score=pl.col("p").clip(0, 1).alias("q"))}
        batches = [*DATA[:1000].iter_slices(100), bad]
        with pytest.raises(sm.errors.DataError, match=error):
            sm.accumulate(batches, into={name: made[name] for name in names}, workers=workers)
        assert made["strict"].seen == made["lenient"].seen == 1000


def test_threads_that_find_different_types_of_groups_are_told():
    batches = [DATA[:100], *[DATA[:100].with_columns(g=pl.lit(1))] * 5]
    one, other = task(), sm.binary(y_true="y", y_score="p")
    with pytest.raises(sm.errors.ColumnError, match="'g' has different types"):
        sm.accumulate(batches, into={"a": one, "b": other}, workers=2)
    assert one.seen == other.seen > 0


def test_batches_are_not_drawn_ahead(monkeypatch):
    drawn, taken, ahead = [], [], []
    add = Content.add

    def counted(self, rows):
        taken.append(1)
        return add(self, rows)

    def batches():
        for _ in range(50):
            drawn.append(1)
            ahead.append(len(drawn) - len(taken))
            yield DATA[:100]

    monkeypatch.setattr(Content, "add", counted)
    assert sm.accumulate(batches(), task(), workers=2).seen == 5_000
    assert max(ahead) <= 2


def test_only_columns_in_use_are_read():
    source = DATA.lazy().with_columns(pl.col("unused").cast(pl.Int64))
    assert sm.evaluate(source, sm.binary(y_true="y", y_score="p"))["rows"].value == SIZE


def test_rows_alone_can_be_counted(folder):
    assert sm.evaluate(f"{folder}/parquet/*.parquet", sm.Accumulator())["rows"].value == SIZE


def test_progress_is_shown(capsys):
    sm.evaluate(DATA, task(), progress=True)
    assert "rows/s" in capsys.readouterr().err


def test_rows_are_counted_in_advance_only_for_a_progress_bar(folder, monkeypatch):
    monkeypatch.setattr("streammetrics.data.Files._rows", property(lambda self: pytest.fail("counted")))
    assert sm.evaluate(folder / "parquet", task(), metrics=["rows"]).rollup()["rows"].value == SIZE


def test_faults_of_arrow_sources_are_told_as_such(tmp_path):
    table, path = DATA.to_arrow(), tmp_path / "a.parquet"
    DATA.write_parquet(path)
    dataset = ds.dataset(path)
    path.unlink()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    cut = pa.ipc.open_stream(content.slice(0, content.size // 2))
    for source, name in ((dataset, "dataset"), (cut, "reader"), (DATA["y"], "Series")):
        with pytest.raises(sm.errors.SourceError, match=f"Cannot read the {name}: "):
            sm.evaluate(source, task())


@pytest.mark.parametrize("confidence", [None, 0.9])
def test_a_report_of_some_metrics_with_intervals(confidence):
    wanted = ["recall", "fbeta(beta=2)"]
    found = sm.evaluate(DATA, {"a": task()}, metrics=wanted, confidence=confidence)["a"].frame
    assert_frame_equal(found, task().update(DATA).finalize(wanted, confidence=confidence).frame)


def test_metrics_and_confidence_are_checked_before_anything_is_read():
    unread = (pytest.fail("the data were read") for _ in range(1))
    with pytest.raises(sm.errors.MetricError, match="Did you mean 'roc_auc"):
        sm.evaluate(unread, task(), metrics=["rok_auc"])
    with pytest.raises(sm.errors.SpecificationError, match="between 0 and 1"):
        sm.evaluate(unread, task(), confidence=95)


@pytest.mark.parametrize("wrap", [list, iter, tuple])
def test_rows_as_dicts(wrap):
    rows = DATA.head(50).to_dicts()
    assert_frame_equal(sm.evaluate(wrap(rows), task()).frame, sm.evaluate(DATA.head(50), task()).frame, rel_tol=1e-12)
    mixed = [{"y": 1, "p": 1, "g": None}, {"y": 0, "p": 0.5, "g": "DE"}]
    assert sm.accumulate(wrap(mixed), task()).seen == 2
    lists = [{"y": "cat", "p": [0.2, 0.8]}, {"y": "dog", "p": [0.9, 0.1]}]
    several = sm.multiclass(y_true="y", y_score="p", labels=["cat", "dog"])
    assert sm.evaluate(wrap(lists), several)["rows"].value == 2


@pytest.mark.parametrize("one", [0.25, [0.25], (0.25,), np.float64(0.25)])
def test_one_threshold(one):
    for statistic in (sm.statistics.ConfusionCounts, sm.statistics.PredictedCounts):
        assert statistic(thresholds=one).thresholds == (0.25,)
    assert sm.statistics.ScoreHistogram(atoms=one).atoms == sm.statistics.Histogram(atoms=one).atoms == (0.25,)
    found = sm.evaluate(DATA, sm.binary(y_true="y", y_score="p", thresholds=one))
    assert found["recall"].value == found.get("recall", threshold=0.25).value


@pytest.mark.parametrize(("workers", "block"), [(2, 50), (2, 10**6), (1, 10**6)], ids=["together", "each", "one"])
@pytest.mark.parametrize(("buffer", "last"), [(1, 20), (1, 3), (10**6, 2)], ids=["in the pass", "early", "at its end"])
def test_a_thread_whose_memory_ran_out_leaves_nothing(workers, block, buffer, last, monkeypatch):
    calls, add = count(1), Counters.count

    def fails(self, rows):
        add(self, rows)
        if rows.size and next(calls) == last:
            raise MemoryError

    accumulators = {"groups": task(), "all": sm.binary(y_true="y", y_score="p")}
    monkeypatch.setattr("streammetrics.statistics.state.content.BUFFER", buffer)
    monkeypatch.setattr("streammetrics.statistics.state.content.BLOCK", block)
    with monkeypatch.context() as patch:
        patch.setattr(Counters, "count", fails)
        with pytest.raises(MemoryError):
            sm.accumulate([DATA[n : n + 100] for n in range(0, SIZE, 100)], into=accumulators, workers=workers)
    groups, everything = (acc.seen for acc in accumulators.values())
    assert groups == everything
    assert groups % 100 == 0
