"""The same metrics by other tools, from a file and from memory, ungrouped and by country, side by side.

The job is the ROC AUC, log loss, Brier score, and true and false positives at 0.5. All but this library sort or hash
every score of a group, and give the AUC exactly.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
from groups import keep
from measure import Figure, close, peak, side_by_side, within

import streammetrics as sm
from streammetrics.tasks import CAPACITY_OF_A_GROUP

JOB = "of AUC, log loss, Brier score, and counts at 0.5 (lower is better)"
WANTED = ["roc_auc", "log_loss", "brier_score", "tp", "fp"]
SQL = """
    with scores as (
        select {keys} score,
               sum(case when label then 1 else 0 end) as pos, sum(case when label then 0 else 1 end) as neg
        from {rows} group by {keys} score
    ), ranked as (select *, sum(neg) over ({within} order by score) as below from scores)
    select {keys} sum(pos * (below - neg / 2.0)) / (1.0 * sum(pos) * sum(neg)) as roc_auc,
           -sum(pos * ln(score) + neg * ln(1 - score)) / sum(pos + neg) as log_loss,
           sum(pos * (1 - score) * (1 - score) + neg * score * score) / sum(pos + neg) as brier_score,
           sum(case when score >= 0.5 then pos else 0 end) as tp, sum(case when score >= 0.5 then neg else 0 end) as fp
    from ranked {group}
"""
CLICKHOUSE = """
    select {keys} arrayROCAUC(groupArray(score), groupArray(label)) as roc_auc,
           -avg(log(if(label, score, 1 - score))) as log_loss, avg(pow(score - label, 2)) as brier_score,
           countIf(label and score >= 0.5) as tp, countIf(not label and score >= 0.5) as fp
    from {rows} {group} settings max_threads = {threads}
"""
THREADS = pl.thread_pool_size()


def sql(template: str, rows: str, by: str | None) -> str:
    keys, within_group, group = ("", "", "") if by is None else (f"{by},", f"partition by {by}", f"group by {by}")
    return template.format(rows=rows, keys=keys, within=within_group, group=group, threads=THREADS)


def streammetrics(source: Any, by: str | None) -> sm.Report:
    histogram = sm.statistics.ScoreHistogram() if by is None else sm.statistics.ScoreHistogram(CAPACITY_OF_A_GROUP)
    acc = keep(sm.statistics.ConfusionCounts(), histogram, sm.statistics.ProbabilityLoss(), by=by)
    report = sm.evaluate(str(source) if isinstance(source, Path) else source, acc, metrics=WANTED)
    assert report.frame.height  # reports are computed when they are read
    return report


def polarbearings(source: Any, by: str | None) -> pl.DataFrame:
    import polarbearings as pb

    losses = pb.log_loss("label", "score"), pb.brier_score("label", "score")
    return selected(source, by, pb.roc_auc("label", "score"), *losses)


def polars_ds(source: Any, by: str | None) -> pl.DataFrame:
    import polars_ds as pds

    label = pl.col("label").cast(pl.UInt32)
    brier = ((pl.col("score") - label) ** 2).mean()
    return selected(source, by, pds.query_roc_auc(label, "score"), pds.query_log_loss(label, "score"), brier)


def selected(source: Any, by: str | None, *columns: pl.Expr) -> pl.DataFrame:
    """Expressions for the AUC, log loss and Brier score, and Polars' own sums of the rest."""
    label, hit = pl.col("label"), pl.col("score") >= 0.5
    columns = (*columns, (label & hit).sum(), (~label & hit).sum())
    columns = tuple(column.alias(name) for column, name in zip(columns, WANTED, strict=True))
    rows = pl.scan_parquet(source) if isinstance(source, Path) else source.lazy()
    query = rows.select(*columns) if by is None else rows.group_by(by).agg(*columns)
    return query.collect(engine="streaming" if isinstance(source, Path) else "auto")


def duck_db(source: Any, by: str | None) -> pl.DataFrame:
    connection = duckdb.connect()
    connection.execute(f"set threads = {THREADS}")
    if not isinstance(source, Path):
        connection.register("rows", source.to_arrow())
    return connection.sql(sql(SQL, f"'{source}'" if isinstance(source, Path) else "rows", by)).pl()


def data_fusion(source: Any, by: str | None) -> pl.DataFrame:
    import datafusion

    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(THREADS))
    if isinstance(source, Path):
        context.register_parquet("rows", str(source))
    else:
        context.from_arrow(source.to_arrow(), name="rows")
    return pl.DataFrame(context.sql(sql(SQL, "rows", by)).to_arrow_table())


def clickhouse(source: Any, by: str | None) -> pl.DataFrame:
    import chdb

    rows = source if isinstance(source, Path) else source.to_arrow(compat_level=pl.CompatLevel.oldest())
    place = f"file('{rows}', Parquet)" if isinstance(source, Path) else "Python(rows)"
    found: pa.Table = chdb.query(sql(CLICKHOUSE, place, by), "ArrowTable")
    return pl.DataFrame(found)


PEERS: dict[str, tuple[str, Callable[[Any, str | None], pl.DataFrame]]] = {
    "polarbearings": ("polarbearings", polarbearings),
    "polars-ds": ("polars_ds", polars_ds),
    "DuckDB": ("duckdb", duck_db),
    "DataFusion": ("datafusion", data_fusion),
    "ClickHouse": ("chdb", clickhouse),
}


def installed() -> dict[str, Callable[[Any, str | None], pl.DataFrame]]:
    """The peers that are there; what is not is said."""
    found = {}
    for name, (module, run) in PEERS.items():
        try:
            importlib.import_module(module)
            found[name] = run
        except ModuleNotFoundError:
            print(f"{name} is left out: {module} is not installed", file=sys.stderr)
    return found


def peers(path: Path) -> Iterator[Figure]:
    """Time of each, wall and CPU, from a file and from memory."""
    frame = pl.read_parquet(path, columns=["label", "score", "country"])
    for where, source in (("Parquet", path), ("In memory", frame)):
        for name, by in (("", None), (", by country", "country")):
            tools = {"streammetrics": streammetrics} | installed()
            runs = {tool: lambda run=run, s=source, by=by: run(s, by) for tool, run in tools.items()}
            times = side_by_side(runs, rounds=3)
            compare({peer: timing.result for peer, timing in times.items()}, by)
            for peer, timing in times.items():
                yield Figure(f"CPU time {JOB}", peer, timing.cpu, unit="s", column=where + name)
                yield Figure(f"Run time {JOB}", peer, timing.wall, unit="s", column=where + name)


def compare(results: dict[str, Any], by: str | None) -> None:
    """Fail if sums differ, or if an AUC lies outside of the bounds."""
    order = [] if by is None else [by]
    reports = {name: found for name, found in results.items() if isinstance(found, sm.Report)}
    exact = {name: found.sort(order) if order else found for name, found in results.items() if name not in reports}
    for report in reports.values():
        for table in exact.values():
            for row in table.iter_rows(named=True):
                keys = {by: row[by]} if by else {}
                within(report.get("roc_auc", **keys), row["roc_auc"])
                for metric in (m for m in WANTED[1:] if m in row):
                    close(report.get(metric, **keys).value, float(row[metric]))


MEMORY = "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import peers; run = getattr(peers, sys.argv[2]); \
run(pathlib.Path(sys.argv[3]), sys.argv[4] or None)"


def memory_of_peers(path: Path) -> Iterator[Figure]:
    """Most memory of a process that computes the job from the file."""
    for name, by in (("", ""), (", by country", "country")):
        for peer, run in {"streammetrics": streammetrics, **installed()}.items():
            found = peak(MEMORY, str(Path(__file__).parent), run.__name__, str(path), by)
            yield Figure(f"Peak memory {JOB}", peer, found, unit="GB", column="Parquet" + name)


CASES = (peers, memory_of_peers)
