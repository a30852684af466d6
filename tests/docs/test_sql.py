"""SQL of the documentation gives the numbers of the library, with the models of a state apart."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import streammetrics as sm

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
STATEMENTS = {
    page.name: statements
    for page in PAGES
    if (statements := re.findall(r"```sql\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
}
GROUPS = ["country", "model"]


PARQUET = "read_parquet('states/*.parquet')"


def saved(folder, sizes, domain="probability", **options):
    """States of two models, of which bins of one are coarser than those of another."""
    (folder / "states").mkdir()
    acc = sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by="country", domain=domain, thresholds=[0.5], **options)
    for number, size in enumerate(sizes):
        r = np.random.default_rng(number)
        p = np.where(r.random(size) < 0.02, r.integers(0, 2, size), r.beta(0.5, 8, size))
        rows = {"y": r.random(size) < np.clip(p, 0.01, 0.99), "p": p, "q": (p + r.random(size)) / 2}
        country = pl.Series(["DE", "FR", None], dtype=pl.String).gather(r.integers(0, 3, size))
        frame = pl.DataFrame(rows | {"country": country, "w": 0.5 + r.random(size)})
        frame = frame.with_columns(p=pl.when(pl.int_range(pl.len()) % 3 == 0).then(0.3).otherwise("p"))
        if domain == "real":
            frame = frame.with_columns(pl.col("p", "q") * 20 - 3).with_columns(p=pl.col("p").replace(-3.0, -np.inf))
        acc.empty().update(frame).save(folder / "states" / f"{number}.parquet")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("sql"), (200_000, 300, 0, 90_000))


def duckdb_frame(statement):
    return pytest.importorskip("duckdb").sql(statement).pl()


def datafusion_frame(statement):
    context = pytest.importorskip("datafusion").SessionContext()
    context.register_parquet("states", "states")
    assert PARQUET in statement
    return pl.DataFrame(context.sql(statement.replace(PARQUET, "states")).to_arrow_table())


def run(page, folder, monkeypatch, engine=duckdb_frame):
    """The answers of the statements of a page, and the merged state."""
    monkeypatch.chdir(folder)
    found = [engine(statement) for statement in STATEMENTS[page]]
    return found, sm.Accumulator.load(*sorted((folder / "states").iterdir()))


def test_every_statement_is_tested():
    """Those of rows, on the page of warehouses, in ``tests/engines/test_warehouse.py``."""
    numbers = {page: len(statements) for page, statements in STATEMENTS.items()}
    assert numbers == {"sql.md": 4, "out-of-core.md": 2}


def require_metrics(found, total, rounding=1e-12):
    """Each number of an answer is that of the library, up to its bounds; null if it is undefined."""
    metrics = [name for name in found.columns if name not in GROUPS]
    report = total.finalize(metrics)
    for row in found.iter_rows(named=True):
        for metric in metrics:
            estimate = report.get(metric, country=row["country"], model=row["model"])
            assert (row[metric] is None) == (estimate.value is None), metric
            if estimate.value is not None:
                low, high = estimate.lower * (1 - rounding), estimate.upper * (1 + rounding)
                assert low <= float(row[metric]) <= high, metric


def test_metrics(folder, monkeypatch):
    (losses, counts, areas, _), total = run("sql.md", folder, monkeypatch)
    assert total.state.tables["score_histogram"]["shift"].n_unique() > 2
    for found in (losses, counts, areas):
        assert found.select(GROUPS).rows() == [(c, m) for c in ("DE", "FR", None) for m in "ab"]
        require_metrics(found, total, 1e-12 if found is areas else 1e-15)  # whose bins may be finer


@pytest.mark.thorough
@pytest.mark.parametrize("engine", [duckdb_frame, datafusion_frame])
def test_metrics_of_any_specification_and_class(engine, tmp_path, monkeypatch):
    specifications = (
        {"atoms": [0.3], "capacity": 128},
        {"domain": "real", "capacity": 128},
        {"domain": "real", "atoms": [3.0], "capacity": 128},
        {"sample_weight": "w", "capacity": 128},
    )
    for number, options in enumerate(specifications):
        folder = tmp_path / str(number)
        folder.mkdir()
        acc = sm.Accumulator.load(*sorted((saved(folder, (5_000, 300, 0), **options) / "states").iterdir()))
        single = {"y": [True] * 2, "p": [0.1, 0.2], "q": [0.1, 0.3], "country": ["only positives"] * 2, "w": [1.0, 2.0]}
        acc.empty().update(single).save(folder / "states" / "single.parquet")
        monkeypatch.chdir(folder)
        total = sm.Accumulator.load(*sorted((folder / "states").iterdir()))
        of_real = options.get("domain") == "real"
        for statement in STATEMENTS["sql.md"][of_real:3]:
            found = engine(statement)
            assert found.height == 8
            require_metrics(found.drop("rows", strict=False), total)
        assert found.filter(country="only positives")["roc_auc"].to_list() == [None, None]


def test_histograms(folder, monkeypatch):
    (*_, found), total = run("sql.md", folder, monkeypatch)
    cells = found.group_by(GROUPS).agg(pl.sum("neg", "pos")).cast({"neg": pl.Int64, "pos": pl.Int64})
    keys = total.state.groups
    kept = total.state.tables["score_histogram"].join(keys, on="group").group_by(GROUPS).agg(pl.sum("neg", "pos"))
    assert_frame_equal(cells, kept, check_row_order=False)
    assert found.select(*GROUPS, "shift", "bin").is_unique().all()
