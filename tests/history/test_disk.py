"""A history in a directory: what an append acknowledged is on the disk, and what a power loss took is told."""

import os
from datetime import date
from pathlib import Path

import deltalake
import polars as pl
import pytest

import streammetrics as sm


def batch(day):
    acc = sm.Accumulator(y_true="y", by="day")
    return acc.update({"y": [1, 0], "day": [date(2026, 1, day)] * 2})


@pytest.fixture
def store(tmp_path):
    """Three batches, in the commits 1 to 3."""
    store = sm.MetricStore(tmp_path / "store")
    for day in (1, 2, 3):
        store.append(batch(day), batch_id=f"{day}")
    return store


def commit(store, version):
    return Path(store.uri, "_delta_log", f"{version:020}.json")


def lines(count):
    return lambda content: b"".join(content.splitlines(keepends=True)[:count])


LOSSES = {
    "nothing left": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "without the last byte": lambda content: content[:-1],
    "without the files": lines(1),
    "without the batch": lines(2),
    "of another kind": lambda content: b"[1]",
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("version", [1, 3])
def test_a_commit_that_was_cut_off_is_told_and_can_be_repaired(loss, version, store):
    path = commit(store, version)
    path.write_bytes(loss(path.read_bytes()))
    steps = [store.query, store.windows, store.compact, lambda: store.retain("2026-01-02")]
    for step in [*steps, lambda: store.append(batch(4), batch_id="4")]:
        with pytest.raises(sm.StateError, match=f"{path.name} is empty or truncated") as caught:
            step()
        assert 'Replace its content with {"commitInfo":{}}' in str(caught.value)
    path.write_text('{"commitInfo":{}}')
    assert store.query().seen == 4
    assert [day for day in (1, 2, 3) if store.append(batch(day), batch_id=f"{day}")] == [version]
    assert store.query().seen == 6
    store.compact()
    assert store.query().seen == 6


@pytest.mark.parametrize("count", [2, 3])
def test_a_compaction_that_was_cut_off_is_told(count, store):
    for day in (1, 2):
        store.append(batch(day), batch_id=f"late {day}")
    store.compact(vacuum=False)
    before = store.query().to_bytes()
    path = commit(store, 7)  # which removes four files and adds one
    path.write_bytes(lines(count)(path.read_bytes()))
    with pytest.raises(sm.StateError, match="is empty or truncated"):
        store.query()
    for later in sorted(path.parent.glob("*.json"))[8:]:
        later.unlink()
    path.write_text('{"commitInfo":{}}')
    assert store.query().to_bytes() == before


def test_the_first_commit_cannot_be_replaced(store):
    commit(store, 0).write_bytes(b"")
    with pytest.raises(sm.StateError, match="restore it, or delete"):
        store.query()


def test_commits_before_a_checkpoint_are_not_read_again(store):
    deltalake.DeltaTable(store.uri).create_checkpoint()
    commit(store, 1).write_bytes(b"")
    assert store.query().seen == 6
    store.append(batch(4), batch_id="4")
    commit(store, 4).write_bytes(b"")
    with pytest.raises(sm.StateError, match=commit(store, 4).name):
        store.query()


@pytest.mark.parametrize("loss", [LOSSES[name] for name in ("nothing left", "zeros", "half")])
def test_a_checkpoint_that_was_cut_off_is_told_and_can_be_repaired(loss, store):
    store.compact()
    before = store.query().to_bytes()
    (path,) = Path(store.uri, "_delta_log").glob("*.checkpoint.parquet")
    path.write_bytes(loss(path.read_bytes()))
    for step in (store.query, store.compact, lambda: store.append(batch(4), batch_id="4")):
        with pytest.raises(sm.StateError, match=f"{path.name} is empty or truncated.* Delete it and the file _last_"):
            step()
    path.unlink()
    path.with_name("_last_checkpoint").unlink()
    assert store.query().to_bytes() == before
    assert not store.append(batch(3), batch_id="3")


@pytest.mark.parametrize("size", [0, 700])
def test_a_data_file_that_was_cut_off_is_named(size, store, capfd):
    path = next(Path(store.uri).glob("*.parquet"))
    os.truncate(path, size)
    for step in (store.query, store.windows, store.compact):
        with pytest.raises(sm.StateError, match=f"{path.name} has {size} bytes instead of"):
            step()
    assert store.append(batch(4), batch_id="4")
    assert capfd.readouterr().err == ""


def test_a_panic_of_a_reader_is_an_error_of_the_table(store, monkeypatch):
    def panic(*arguments, **options):
        raise pl.exceptions.PanicException("assertion failed\nat some line")

    monkeypatch.setattr(pl, "scan_delta", panic)
    for step in (store.query, store.windows):
        with pytest.raises(sm.StateError, match=r"Cannot read the table at .*: assertion failed\.$"):
            step()
    with pytest.raises(sm.StateError, match=r"Cannot read the table at .*: assertion failed\.$"):
        store.compact()


@pytest.mark.skipif(os.name == "nt", reason="files are told apart by number")
def test_an_append_returns_when_its_files_are_on_the_disk(tmp_path, monkeypatch):
    synced, sync = set(), os.fsync

    def noting(descriptor):
        synced.add(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    store = sm.MetricStore(tmp_path / "store")
    for day, step in ((1, None), (1, store.compact), (2, lambda: store.retain("2026-01-02"))):
        store.append(batch(day), batch_id=f"{day} {step}")
        if step:
            step()
        files = [path for path in Path(store.uri).rglob("*") if path.name != "_last_checkpoint"]
        assert {path.stat().st_ino for path in [*files, Path(store.uri)]} <= synced


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_a_commit_succeeds_if_another_writer_deletes_its_attempt_at_it(store):
    attempt = commit(store, 4).with_suffix(".json#1")
    attempt.symlink_to("deleted")  # listed, and then not found
    assert store.append(batch(4), batch_id="4")
    assert store.query().seen == 8


@pytest.mark.parametrize("name", ["a[b]", "]", "a|b", "a^b", "a%20b", "a\tb", "a\x7fb", "a\\b"])
def test_directories_that_delta_lake_cannot_open_are_refused_before_they_are_made(name, tmp_path):
    for uri in (tmp_path / name, str(tmp_path / name), tmp_path / name / "store"):
        with pytest.raises(sm.SpecificationError, match="Delta Lake cannot open a path with"):
            sm.MetricStore(uri)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a b", "Märkte", "100%", "a{b}", "a'b\"", "a`b", "a<b>", "a;b&c=d", "a~b", "a?b"])
def test_directories_of_other_names_are_opened(name, tmp_path):
    store = sm.MetricStore(tmp_path / name)
    store.append(batch(1), batch_id="1")
    store.append(batch(1), batch_id="2")
    store.compact()
    assert store.query().seen == 4
    assert sm.MetricStore((tmp_path / name).as_uri()).query("2026-01-01").seen == 4


@pytest.mark.parametrize("uri", [None, 5, "", b"store"])
def test_what_is_no_place_is_refused(uri):
    with pytest.raises(sm.SpecificationError, match="uri= must be a directory"):
        sm.MetricStore(uri)
