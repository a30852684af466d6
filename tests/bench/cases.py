"""What is measured of the binary task and of the library as a whole, against what, and that the answers are right."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import duckdb
import inputs
import measure
import numpy as np
import polars as pl
from groups import keep
from measure import Figure, alone, close, peak, side_by_side, within

import streammetrics as sm

BINS = 16_384
FILES = "Parquet files (lower is better)"
GROUPS = "Parquet files by group: run time of `sm.binary` by 50 countries (lower is better)"
PEERS = "In memory: CPU time of other libraries relative to streammetrics (higher is better)"
BOUNDS = "Half-width of certified bounds (lower is better)"
SMALL = "Small updates and imports (lower is better)"
STATES = "Saved states"
MAIN = "AUC, losses, and confusion counts"


def main_job() -> sm.Accumulator:
    """Confusion counts at 0.5, score histogram, losses."""
    return keep(sm.statistics.ConfusionCounts(), sm.statistics.ScoreHistogram(), sm.statistics.ProbabilityLoss())


def suite(**roles) -> sm.Accumulator:
    """The whole binary task."""
    return sm.binary(y_true="label", y_score="score", **roles)


def out_of_core(path: Path) -> Iterator[Figure]:
    """Files to tables, against the bare scan and against SQL with uniform bins."""
    scan = pl.scan_parquet(path)
    sql = f"""
        select least(floor(score * {BINS}), {BINS - 1})::int as bin,
               count(*) filter (label) as pos, count(*) filter (not label) as neg,
               count(*) filter (label and score >= 0.5) as tp, count(*) filter (not label and score >= 0.5) as fp,
               sum(case when label then -ln(greatest(score, 1e-15)) else -ln(greatest(1 - score, 1e-15)) end) as loss,
               sum((score - label::int) ** 2) as brier
        from '{path}' group by bin order by bin
    """

    times = side_by_side(
        {
            "scan": lambda: scan.select(pl.sum("label", "score")).collect(engine="streaming"),
            "main": lambda: sm.accumulate(scan, main_job()).compact(),
            "suite": lambda: sm.accumulate(scan, suite()).compact(),
            "duckdb": lambda: duckdb_of_two_threads().sql(sql).pl(),
        }
    )
    theirs = times["duckdb"].result.select(pl.exclude("bin").sum()).row(0, named=True)
    for name in ("main", "suite"):
        report = times[name].result.finalize()
        assert times["scan"].result["label"].item() == theirs["pos"]
        assert report["tp"].value == theirs["tp"]
        assert report["fp"].value == theirs["fp"]
        close(report["log_loss"].value, theirs["loss"] / report["rows"].value)
        close(report["brier_score"].value, theirs["brier"] / report["rows"].value)
    main, whole, bare, sql_wall = (times[name].wall for name in ("main", "suite", "scan", "duckdb"))
    what = f"{MAIN}: run time relative to"
    yield Figure(FILES, f"{what} a Parquet scan", main / bare, "<=", 1.5)
    yield Figure(FILES, f"{what} DuckDB with equal-width bins", main / sql_wall, "<=", 0.5)
    yield Figure(FILES, "All statistics of `sm.binary`: run time relative to a Parquet scan", whole / bare, "<=", 1.8)
    auc = report["roc_auc"]
    yield Figure(BOUNDS, "ROC AUC, data of the benchmark", (auc.upper - auc.lower) / 2, "<=", 1.5e-4, "")


def in_memory(path: Path) -> Iterator[Figure]:
    """Arrays to metrics, against scikit-learn and polars-ds."""
    import polars_ds as pds
    from sklearn import metrics as sk

    frame = pl.read_parquet(path, columns=["label", "score"])
    label, score = frame["label"].to_numpy(), frame["score"].to_numpy()
    wanted = ["roc_auc", "average_precision", "log_loss", "brier_score", "tp"]

    def ours() -> sm.Report:
        report = main_job().update(frame).finalize(wanted)
        assert report.frame.height == len(wanted)  # reports are computed when they are read
        return report

    def scikit_learn() -> list[float]:
        return [
            sk.roc_auc_score(label, score),
            sk.average_precision_score(label, score),
            sk.log_loss(label, np.clip(score, 1e-15, 1 - 1e-15)),
            sk.brier_score_loss(label, score),
            sk.confusion_matrix(label, score >= 0.5)[1, 1],
        ]

    def polars_ds() -> float:
        return frame.select(pds.query_roc_auc(pl.col("label").cast(pl.UInt32), "score")).item()

    times = side_by_side({"ours": ours, "polars-ds": polars_ds})
    theirs = side_by_side({"scikit-learn": scikit_learn}, rounds=2)["scikit-learn"]
    report = times["ours"].result
    within(report["roc_auc"], theirs.result[0])
    within(report["roc_auc"], times["polars-ds"].result)
    within(report["average_precision"], theirs.result[1])
    for metric, value in zip(wanted[2:], theirs.result[2:], strict=True):
        close(report[metric].value, value)
    what = (
        "scikit-learn: AUC, average precision, log loss, Brier score, and true positives, relative to the same metrics"
    )
    yield Figure(PEERS, what, theirs.cpu / times["ours"].cpu, ">=", 150)
    what = f"polars-ds: AUC alone, relative to {MAIN}"
    yield Figure(PEERS, what, times["polars-ds"].cpu / times["ours"].cpu, ">=", 1)


def tensors(path: Path) -> Iterator[Figure]:
    """Batches to metrics, against an exact AUROC of torchmetrics."""
    import torch
    from torchmetrics.classification import BinaryAUROC

    frame = pl.read_parquet(path, columns=["label", "score"])
    batches = list(frame.iter_slices(65_536))
    pairs = [(torch.tensor(b["score"].to_numpy()), torch.tensor(b["label"].to_numpy())) for b in batches]

    def ours() -> sm.Report:
        acc = suite()
        for batch in batches:
            acc.update(batch)
        report = acc.finalize()
        assert report.frame.height > 20
        return report

    def torchmetrics() -> float:
        metric = BinaryAUROC(thresholds=None)
        for score, label in pairs:
            metric.update(score, label)
        return metric.compute().item()

    times = side_by_side({"ours": ours})["ours"]
    theirs = side_by_side({"torchmetrics": torchmetrics}, rounds=2)["torchmetrics"]
    assert abs(times.result["roc_auc"].value - theirs.result) < 1e-4  # float32 there
    what = "torchmetrics: exact AUROC alone, relative to all metrics of `sm.binary`"
    yield Figure(PEERS, what, theirs.cpu / times.cpu, ">=", 20)


def by_country(path: Path) -> Iterator[Figure]:
    """The whole suite by a text column, against the bare scan, two sums in Polars, and the histogram alone in SQL."""
    scan = pl.scan_parquet(path)

    def sql(bins: int) -> str:
        return f"""
            select country, least(floor(score * {bins}), {bins - 1})::int as bin,
                   count(*) filter (label) as pos, count(*) filter (not label) as neg
            from '{path}' group by country, bin
        """

    def ours(bins: int) -> Callable[[], sm.Accumulator]:
        return lambda: sm.accumulate(path, suite(by="country", capacity=bins)).compact()

    length = pl.col("country").str.len_bytes().sum()
    times = side_by_side(
        {
            "scan": lambda: scan.select(pl.sum("label", "score"), length).collect(engine="streaming"),
            "sums": lambda: scan.group_by("country").agg(pl.sum("label", "score")).collect(engine="streaming"),
        }
        | {("duckdb", bins): lambda bins=bins: duckdb_of_two_threads().sql(sql(bins)).pl() for bins in (1_024, BINS)}
        | {("ours", bins): ours(bins) for bins in (1_024, BINS)}
    )
    theirs = times["duckdb", BINS].result.group_by("country").agg(pl.sum("pos", "neg")).sort("country")
    frame = times["ours", BINS].result.finalize(["positives", "negatives"]).frame.sort("country")
    found = frame.pivot("metric", index="country", values="value")
    assert found["positives"].to_list() == theirs["pos"].to_list()
    assert found["negatives"].to_list() == theirs["neg"].to_list()
    rows = {
        ("scan", 1_024): ("a Parquet scan", 2.2),
        ("sums", 1_024): ("two sums by country in Polars", 1.1),
        (("duckdb", 1_024), 1_024): ("a score histogram alone in DuckDB", 0.3),
        (("duckdb", BINS), BINS): ("a score histogram alone in DuckDB", 0.35),
    }
    for (baseline, bins), (what, target) in rows.items():
        ratio = times["ours", bins].wall / times[baseline].wall
        yield Figure(GROUPS, f"{bins:,} bins, relative to {what}", ratio, "<=", target)


def bounds(path: Path) -> Iterator[Figure]:
    """Half the width of the certified AUC, and that the truth lies inside."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(2)
    for name, (score, atoms) in inputs.hard_scores().items():
        label = rng.random(len(score)) < np.argsort(np.argsort(score)) / len(score)
        acc = keep(sm.statistics.ScoreHistogram(atoms=atoms))
        auc = acc.update({"label": label, "score": score}).finalize()["roc_auc"]
        within(auc, roc_auc_score(label, score))
        yield Figure(BOUNDS, f"ROC AUC, {name}", (auc.upper - auc.lower) / 2, "<=", 1.5e-4, "")


def thresholds(path: Path) -> Iterator[Figure]:
    """Ten thousand thresholds instead of one."""

    def ours(count: int):
        points = (0.5,) if count == 1 else tuple(np.linspace(0, 1, count))
        return lambda: sm.accumulate(path, keep(sm.statistics.ConfusionCounts(points))).compact()

    times = side_by_side({"one": ours(1), "many": ours(10_000)})
    one, many = (times[k].result.state.tables["confusion_counts"] for k in ("one", "many"))
    assert many.filter(pl.col("threshold") <= 0.5)["tp"].min() >= one["tp"].item()
    what = "Confusion counts at 10,000 thresholds: run time relative to one threshold"
    yield Figure(FILES, what, times["many"].wall / times["one"].wall, "<=", 2)


def single_rows(path: Path) -> Iterator[Figure]:
    """Updates of one row each, with all that follows from them."""
    frame = pl.read_parquet(path, n_rows=1)
    expressions = sm.binary(y_true=pl.col("label") & True, y_score=pl.col("score") * 1)
    kinds = {
        "a dictionary": (frame.to_dict(as_series=False), suite(), 60),
        "a Polars frame": (frame, suite(), 30),
        "an Arrow batch": (frame.to_arrow().to_batches()[0], suite(), 40),
        "a Polars frame, columns given as expressions": (frame, expressions, 100),
    }
    rows = 100_000
    for name, (row, task, target) in kinds.items():
        acc, start = task.empty(), time.perf_counter()
        for _ in range(rows):
            acc.update(row)
        assert acc.finalize()["rows"].value == rows
        microseconds = (time.perf_counter() - start) / rows * 1e6
        yield Figure(SMALL, f"Run time of `update` with one row in {name}", microseconds, "<=", target, "µs")


def states(path: Path) -> Iterator[Figure]:
    """Saved states: their size, and merging many."""
    total = sm.accumulate(path, suite()).compact()
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "total.state"
        total.save(saved)
        assert sm.Accumulator.load(saved).to_bytes() == total.to_bytes()
        what = "Size of a saved state of `sm.binary` (lower is better)"
        yield Figure(STATES, what, saved.stat().st_size / 1e3, "<=", 200, "kB")
        count = 2_000 * measure.most_rounds
        part = pl.read_parquet(path, n_rows=200 * 100)
        for kind, suffix in (("Arrow IPC", "arrow"), ("Parquet", "parquet")):
            for i, rows in enumerate(part.iter_slices(200)):
                suite().update(rows).save(Path(folder) / f"{i}.{suffix}")
            paths = [Path(folder) / f"{i}.{suffix}" for i in range(count)]
            for i in range(100, count):  # no file may be given twice
                os.link(paths[i % 100], paths[i])
            start = time.perf_counter()
            merged = sm.Accumulator.load(*paths)
            seconds = time.perf_counter() - start
            assert merged.finalize()["rows"].value == 200 * count
            what = f"Saved states loaded and merged per second, {kind} (higher is better)"
            yield Figure(STATES, what, count / seconds, ">=", 2_000, "/s")


def memory(path: Path) -> Iterator[Figure]:
    """Peak memory of ten times the rows, in ten files."""
    code = "import sys, streammetrics as sm; sm.evaluate(sys.argv[1:], sm.binary(y_true='label', y_score='score'))"
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        files = [Path(folder) / f"{i}.parquet" for i in range(10)]
        for file in files:
            os.link(path, file)
        few, many = (
            median(peak(code, *map(str, files[:count])) for _ in range(measure.most_rounds)) for count in (1, 10)
        )
    yield Figure(FILES, "`sm.binary`: peak memory of ten files relative to one", many / few, "<=", 1.05)


FIRST = """
import sys, time
import polars as pl, streammetrics as sm
def run():
    start = time.perf_counter()
    task = sm.binary(y_true="label", y_score="score", by=(pl.col("few") % 6).alias("six"))
    assert len(sm.evaluate(sys.argv[1], task, metrics=["roc_auc", "log_loss"]).frame)
    return time.perf_counter() - start
first = run()
print(first - min(run() for _ in range(3)))
"""


def first_evaluation(path: Path) -> Iterator[Figure]:
    """What the first evaluation of a new process takes on top of the next ones, with no cache of compiled code."""
    path = inputs.write(path.parent, min(inputs.height(path), 2_000_000), inputs.grouped)
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as empty:
            found.append(float(alone(FIRST, str(path), NUMBA_CACHE_DIR=empty)))  # of earlier releases
    what = "First evaluation of a new process, additional run time: 2 million rows by 6 groups"
    yield Figure(SMALL, what, median(found), "<=", 0.15, "s")


def imports(path: Path) -> Iterator[Figure]:
    """Fresh interpreters that import the library, alone or with what an evaluation needs, and Polars."""

    def run(code: str) -> float:
        return float(alone(f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"))

    kinds = ("import polars", "import streammetrics", "from streammetrics import binary, evaluate")
    times = {code: [run(code)] for code in kinds}
    for _ in range(2 * measure.most_rounds - 1):
        for code, found in times.items():
            found.append(run(code))
    polars, library, used = (median(found) for found in times.values())
    what = "relative to `import polars`"
    yield Figure(SMALL, f"Run time of `import streammetrics` {what}", library / polars, "<=", 1.3)
    yield Figure(SMALL, f"Run time of importing `sm.binary` and `sm.evaluate` {what}", used / polars)


def duckdb_of_two_threads() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"set threads = {pl.thread_pool_size()}")
    return connection


CASES = (out_of_core, by_country, in_memory, tensors, bounds, thresholds, single_rows, first_evaluation)
CASES += (states, memory, imports)
