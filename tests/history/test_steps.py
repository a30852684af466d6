"""Steps of several writers, crashes, and races: every batch is there exactly once."""

import re
from datetime import date
from pathlib import Path

import deltalake
import polars as pl
import pytest
from steps import WRITES, killed, rival
from stores import COUNTS, TASKS, appended, predictions

import streammetrics as sm
from streammetrics.testing.laws import require_same

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
    make = COUNTS
    appended(store, make, [predictions(20, 0), predictions(20, 1)])
    require_versions(store)
    theirs = make().update(predictions(20, 2))
    with rival(lambda: store.append(theirs, batch_id="theirs"), *WRITES):
        store.append(make().update(predictions(20, 3)), batch_id="ours")
    assert pl.read_delta(store.uri).group_by("batch_id").agg(pl.max("version")).sort("version").rows() == [
        ("batch 0", 1),
        ("batch 1", 2),
        ("theirs", 3),
        ("ours", 4),
    ]
    require_versions(store)


@pytest.mark.parametrize("other", ["compact", "replace", "retain"])
@pytest.mark.parametrize("days", [(1, 1), (1, 2)], ids=["groups of several rows", "small files"])
def test_rows_are_there_once_if_others_compact_or_drop_them_meanwhile(days, other, store):
    make = lambda day: COUNTS().update(predictions(9, 0).with_columns(day=date(2026, 1, day)))  # noqa: E731
    for number, day in enumerate([*days, 3]):
        store.append(make(day), batch_id=f"{number}")
    others = {
        "compact": store.compact,
        "replace": lambda: store.replace(COUNTS(), window="2026-01-03", batch_id="nothing"),
        "retain": lambda: store.retain("2026-01-02"),
    }
    with rival(others[other], *WRITES):
        store.compact()
    left = {"compact": {1, 2, 3}, "replace": {1, 2}, "retain": {2, 3}}[other]
    kept = [make(day) for day in [*days, 3] if day in left]
    require_same(store.query(by=["day", "country"]), sm.merge(kept))
    assert store.query().seen == 9 * len(kept)


@pytest.mark.parametrize("step", ["compact", "retain"])
@pytest.mark.parametrize("first", ["append", "step"])
def test_what_is_appended_meanwhile_is_neither_lost_nor_doubled(step, first, store):
    make = TASKS["regression"]
    frames = [predictions(40, seed) for seed in range(3)]
    appended(store, make, frames[:2])
    steps = {
        "append": lambda: store.append(make().update(frames[2]), batch_id="late"),
        "step": {"compact": store.compact, "retain": lambda: store.retain("2026-01-03")}[step],
    }
    kept = pl.col("day") >= date(2026, 1, 3 if step == "retain" else 1)
    rest = pl.concat([*(frame.filter(kept) for frame in frames[:2]), frames[2]])  # late rows are none of those dropped
    (second,) = steps.keys() - {first}
    with rival(steps[second], *WRITES):
        steps[first]()
    require_same(store.query(by=["day", "country"]), make().update(rest))
    assert store.query().seen == rest.height
    late = pl.read_delta(store.uri).filter(batch_id="late")
    assert late["version"].unique().to_list() == [deltalake.DeltaTable(store.uri).transaction_version("late")]


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
