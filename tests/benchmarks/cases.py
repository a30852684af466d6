"""What is measured of the binary task and of the library as a whole, against what, and that the answers are right."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import data
import duckdb
import numpy as np
import polars as pl
from measure import Figure, close, either, peak, side_by_side, within

import streammetrics as sm

BINS = 16_384
KINDS = ("fast", "without fast")  # with compiled kernels, and as in an installation without the extra


def main_job(**roles) -> sm.Accumulator:
    """Confusion counts at 0.5, score histogram, losses."""
    statistics = (sm.ConfusionCounts(), sm.ScoreHistogram(), sm.ProbabilityLoss())
    return sm.Accumulator(*statistics, y_true="label", y_score="score", **roles)


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

    def ours() -> sm.Accumulator:
        return sm.accumulate(scan, main_job()).compact()

    times = side_by_side(
        {
            "scan": lambda: scan.select(pl.sum("label", "score")).collect(engine="streaming"),
            "fast": either(ours, fast=True),
            "plain": either(ours, fast=False),
            "duckdb": lambda: duckdb_of_two_threads().sql(sql).pl(),
        }
    )
    theirs = times["duckdb"].result.select(pl.exclude("bin").sum()).row(0, named=True)
    for name in ("fast", "plain"):
        report = times[name].result.finalize()
        assert times["scan"].result["label"].item() == theirs["pos"]
        assert report["tp"].value == theirs["tp"]
        assert report["fp"].value == theirs["fp"]
        close(report["log_loss"].value, theirs["loss"] / report["rows"].value)
        close(report["brier_score"].value, theirs["brier"] / report["rows"].value)
    scan_wall, sql_wall = times["scan"].wall, times["duckdb"].wall
    yield Figure("out of core, wall, over the bare scan, fast", times["fast"].wall / scan_wall, "<=", 1.5)
    yield Figure("the same without fast", times["plain"].wall / scan_wall, "<=", 2.5)
    yield Figure("the same over DuckDB with uniform bins, fast", times["fast"].wall / sql_wall, "<=", 0.5)
    yield Figure("the same without fast", times["plain"].wall / sql_wall, "<=", 0.75)
    auc = report["roc_auc"]
    yield Figure("certified AUC half-width, these data", (auc.upper - auc.lower) / 2 * 1e4, "<=", 1.5, "e-4")


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

    times = side_by_side({"fast": either(ours, fast=True), "plain": either(ours, fast=False), "polars-ds": polars_ds})
    theirs = side_by_side({"scikit-learn": scikit_learn}, rounds=2)["scikit-learn"]
    for name in ("fast", "plain"):
        report = times[name].result
        within(report["roc_auc"], theirs.result[0])
        within(report["roc_auc"], times["polars-ds"].result)
        within(report["average_precision"], theirs.result[1])
        for metric, value in zip(wanted[2:], theirs.result[2:], strict=True):
            close(report[metric].value, value)
    yield Figure("scikit-learn over ours, in memory, CPU", theirs.cpu / times["plain"].cpu, ">=", 60)
    yield Figure("the same with fast", theirs.cpu / times["fast"].cpu, ">=", 150)
    yield Figure("polars-ds, AUC alone, over ours, CPU, fast", times["polars-ds"].cpu / times["fast"].cpu, ">=", 1)


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
    yield Figure("torchmetrics, exact AUROC, over our whole suite, CPU", theirs.cpu / times.cpu, ">=", 20)


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
        | {(name, bins): either(ours(bins), name == "fast") for name in KINDS for bins in (1_024, BINS)}
    )
    theirs = times["duckdb", BINS].result.group_by("country").agg(pl.sum("pos", "neg")).sort("country")
    for name in KINDS:
        frame = times[name, BINS].result.finalize(["positives", "negatives"]).frame.sort("country")
        found = frame.pivot("metric", index="country", values="value")
        assert found["positives"].to_list() == theirs["pos"].to_list()
        assert found["negatives"].to_list() == theirs["neg"].to_list()
    for name, targets in {"fast": (1.5, 1.0), "without fast": (3.5, 2.2)}.items():
        wall = times[name, 1_024].wall
        yield Figure(f"the suite by country over the bare scan, {name}", wall / times["scan"].wall, "<=", targets[0])
        yield Figure(f"the same over two sums in Polars, {name}", wall / times["sums"].wall, "<=", targets[1])
    for bins, target in {1_024: 0.35, BINS: 0.4}.items():
        for name in KINDS:
            ratio = times[name, bins].wall / times["duckdb", bins].wall
            what = f"the same over DuckDB, histogram alone, {bins:,} bins, {name}"
            yield Figure(what, ratio, "<=", target if name == "fast" else 1.0)


def bounds(path: Path) -> Iterator[Figure]:
    """Half the width of the certified AUC, and that the truth lies inside."""
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(2)
    for name, (score, atoms) in data.hard_scores().items():
        label = rng.random(len(score)) < np.argsort(np.argsort(score)) / len(score)
        acc = sm.Accumulator(sm.ScoreHistogram(atoms=atoms), y_true="label", y_score="score")
        auc = acc.update({"label": label, "score": score}).finalize()["roc_auc"]
        within(auc, roc_auc_score(label, score))
        yield Figure(f"certified AUC half-width, {name}", (auc.upper - auc.lower) / 2 * 1e4, "<=", 1.5, "e-4")


def thresholds(path: Path) -> Iterator[Figure]:
    """Ten thousand thresholds instead of one."""

    def ours(count: int):
        points = (0.5,) if count == 1 else tuple(np.linspace(0, 1, count))
        return lambda: sm.accumulate(
            path, sm.Accumulator(sm.ConfusionCounts(points), y_true="label", y_score="score")
        ).compact()

    for fast in (True, False):
        times = side_by_side({"one": either(ours(1), fast), "many": either(ours(10_000), fast)})
        one, many = (times[k].result.state.tables["confusion_counts"] for k in ("one", "many"))
        assert many.filter(pl.col("threshold") <= 0.5)["tp"].min() >= one["tp"].item()
        name = "10,000 thresholds over one, wall, " + ("fast" if fast else "without fast")
        yield Figure(name, times["many"].wall / times["one"].wall, "<=", 2)


def single_rows(path: Path) -> Iterator[Figure]:
    """Updates of one row each, with all that follows from them."""
    frame = pl.read_parquet(path, n_rows=1)
    kinds = {
        "Polars": (frame, suite(), 30),
        "Arrow": (frame.to_arrow().to_batches()[0], suite(), 100),
        "expressions": (frame, sm.binary(y_true=pl.col("label") & True, y_score=pl.col("score") * 1), 100),
    }
    rows = 100_000
    for name, (row, task, target) in kinds.items():
        acc, start = task.empty(), time.perf_counter()
        for _ in range(rows):
            acc.update(row)
        assert acc.finalize()["rows"].value == rows
        yield Figure(f"update of one row, {name}", (time.perf_counter() - start) / rows * 1e6, "<=", target, "µs")


def states(path: Path) -> Iterator[Figure]:
    """Saved states: their size, and merging many."""
    total = sm.accumulate(path, suite()).compact()
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "total.state"
        total.save(saved)
        assert sm.Accumulator.load(saved).to_bytes() == total.to_bytes()
        yield Figure("saved state of the whole suite", saved.stat().st_size / 1e3, "<=", 200, "kB")
        count = 10_000
        part = pl.read_parquet(path, n_rows=200 * 100)
        for kind, suffix in (("Arrow IPC", "arrow"), ("Parquet", "parquet")):
            for i, rows in enumerate(part.iter_slices(200)):
                suite().update(rows).save(Path(folder) / f"{i}.{suffix}")
            paths = [Path(folder) / f"{i % 100}.{suffix}" for i in range(count)]
            start = time.perf_counter()
            merged = sm.Accumulator.load(*paths)
            seconds = time.perf_counter() - start
            assert merged.finalize()["rows"].value == 200 * count
            yield Figure(f"merge of 10,000 saved states, {kind}", count / seconds, ">=", 2_000, "/s")


def memory(path: Path) -> Iterator[Figure]:
    """Peak memory of ten times the rows, in ten files."""
    code = "import sys, streammetrics as sm; sm.evaluate(sys.argv[1:], sm.binary(y_true='label', y_score='score'))"
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        files = [Path(folder) / f"{i}.parquet" for i in range(10)]
        for file in files:
            os.link(path, file)
        few, many = (median(peak(code, *map(str, files[:count])) for _ in range(5)) for count in (1, 10))
    yield Figure("peak memory of ten files over one", many / few, "<=", 1.05)


def imports(path: Path) -> Iterator[Figure]:
    """A fresh interpreter that imports the library, and one that imports Polars."""

    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}

    def run(module: str):
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        return lambda: float(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)

    times = {module: [run(module)() for _ in range(2)] for module in ("streammetrics", "polars")}
    for _ in range(9):
        for module, found in times.items():
            found.append(run(module)())
    yield Figure("import over import polars", median(times["streammetrics"]) / median(times["polars"]), "<=", 1.3)


def duckdb_of_two_threads() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"set threads = {pl.thread_pool_size()}")
    return connection


CASES = (out_of_core, in_memory, tensors, by_country, bounds, thresholds, single_rows, states, memory, imports)
