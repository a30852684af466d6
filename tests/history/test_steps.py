"""Steps of several writers, crashes, and races: every batch is there exactly once."""

import re
from pathlib import Path

import deltalake
import polars as pl
from steps import WRITES, killed, rival
from stores import COUNTS, appended, predictions

STEPS = [*WRITES, (deltalake.DeltaTable, "create")]


def require_versions(store):
    """Each row that one batch brought says in which commit."""
    table = deltalake.DeltaTable(store.uri)
    appended = pl.read_delta(store.uri).drop_nulls("batch_id").select("batch_id", "version").unique()
    brought = {name: table.transaction_version(name) for name in appended["batch_id"]}
    assert dict(appended.iter_rows()) == brought
    for version in range(1, table.version() + 1):
        commit = Path(store.uri, "_delta_log", f"{version:020}.json").read_text()
        assert [n for n, found in brought.items() if found == version] == re.findall(r'"appId":"(.*?)"', commit)


def test_rows_say_which_commit_brought_them(store):
    appended(store, COUNTS, [predictions(20, 0), predictions(20, 1)])
    theirs = COUNTS().update(predictions(20, 2))
    with rival(lambda: store.append(theirs, batch_id="theirs"), *WRITES):
        store.append(COUNTS().update(predictions(20, 3)), batch_id="ours")
    found = pl.read_delta(store.uri).group_by("batch_id").agg(pl.max("version")).sort("version")
    assert found["batch_id"].to_list() == ["batch 0", "batch 1", "theirs", "ours"]
    require_versions(store)


def test_a_crash_before_the_first_batch_leaves_nothing_of_it(store):
    """Before and after a table is made, and before the batch is there."""
    acc = COUNTS().update(predictions(9, 0))
    for moment, is_made in ((0, False), (1, True), (0, True)):
        with killed(moment, STEPS):
            store.append(acc, batch_id="1")
        Path(store.uri).mkdir(exist_ok=True)
        pl.DataFrame({"x": [1]}).write_parquet(Path(store.uri, "part-half-written.parquet"))
        assert deltalake.DeltaTable.is_deltatable(store.uri) == is_made
    assert store.query().seen == 0
    assert store.append(acc, batch_id="1")
    assert store.query().seen == 9


def test_two_that_make_the_table_at_once(store):
    acc = COUNTS().update(predictions(9, 0))
    with rival(lambda: store.append(acc, batch_id="theirs"), (deltalake.DeltaTable, "create")):
        assert store.append(acc, batch_id="ours")
    assert store.query().seen == 18
