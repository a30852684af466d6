"""A history in a directory: what an append acknowledged is on the disk."""

import os
from datetime import date
from pathlib import Path

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


def test_a_directory_that_delta_lake_cannot_open_is_not_made(tmp_path):
    """Other such names stand in ``tests/refusals/histories.py``."""
    with pytest.raises(sm.errors.SpecificationError):
        sm.MetricStore(tmp_path / "a[b]" / "store")
    assert not list(tmp_path.iterdir())


def test_directories_of_other_names_are_opened(tmp_path):
    for name in ("Märkte {b}~ 100%", "a'b\"`<>;&=?"):
        store = sm.MetricStore(tmp_path / name)
        store.append(batch(1), batch_id="1")
        store.append(batch(1), batch_id="2")
        store.compact()
        assert sm.MetricStore((tmp_path / name).as_uri()).query("2026-01-01").seen == store.query().seen == 4
