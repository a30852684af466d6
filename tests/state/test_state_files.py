"""Which files a state is loaded from, and errors that name the one at fault."""

import json
import os
import warnings
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from states import header, state

import streammetrics as sm


def test_the_names_of_folders_are_no_columns(tmp_path):
    folder = tmp_path / "day=2026-01-01"
    folder.mkdir()
    acc = state("grouped")
    acc.save(folder / "a[1].parquet")
    assert sm.Accumulator.load(folder / "a[1].parquet").to_bytes() == acc.to_bytes()


def test_among_many_files_the_one_at_fault_is_named(tmp_path):
    good, bad, other = (tmp_path / name for name in ("good", "bad", "other"))
    acc = sm.binary(y_true="y", y_score="p").update({"y": [1, 0], "p": [0.2, 0.3]})
    acc.save(good)
    table = acc.to_arrow()
    counts = table["row_counts"].combine_chunks().to_pylist()
    counts[0][0]["rows"] = -1
    column = pa.array(counts, table.schema.field("row_counts").type)
    pq.write_table(table.set_column(0, table.schema.field("row_counts"), column), bad)
    sm.binary(y_true="y", y_score="q").update({"y": [1, 0], "q": [0.2, 0.3]}).save(other)
    with pytest.raises(sm.errors.StateError, match=r"Cannot read '.*bad': .*row_counts"):
        sm.Accumulator.load(good, bad)
    with pytest.raises(sm.errors.MergeError, match="y_score"):
        sm.Accumulator.load(good, other)


@pytest.mark.thorough
def test_a_folder_and_a_glob_are_loaded_without_what_is_hidden(tmp_path):
    acc = state("grouped")
    folder = tmp_path / "day=1" / "part"
    (tmp_path / "_temporary").mkdir()
    folder.mkdir(parents=True)
    for path in (
        tmp_path / "b.state",
        folder / "a.parquet",
        tmp_path / "_temporary" / "c.state",
        tmp_path / ".d.state",
    ):
        acc.save(path)
    for name in ("_SUCCESS", ".a.parquet.crc"):
        (folder / name).write_bytes(b"crc")
    for source in (tmp_path, str(tmp_path), f"{tmp_path}/**/*.*"):
        assert sm.Accumulator.load(source).to_bytes() == (acc + acc).to_bytes()
    assert sm.Accumulator.load(f"{tmp_path}/*.state").to_bytes() == acc.to_bytes()


def test_a_folder_in_a_folder_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    acc = state("grouped")
    (tmp_path / "private").mkdir()
    for path in (tmp_path / "a.state", tmp_path / "private" / "b.state"):
        acc.save(path)
    for name in ("listdir", "scandir"):  # which of them depends on the version of Python
        read = getattr(os, name)

        def refused(place, read=read):
            if Path(place).name == "private":
                raise PermissionError(13, "Permission denied", str(place))
            return read(place)

        monkeypatch.setattr(os, name, refused)
    with pytest.raises(sm.errors.StateError, match=r"Cannot read .*Permission denied: .*private"):
        sm.Accumulator.load(tmp_path)


def test_files_as_spark_writes_them_are_loaded(tmp_path):
    acc = state("grouped")
    fields = [
        {
            "name": "g",
            "type": "string",
            "nullable": True,
            "metadata": {"streammetrics": json.dumps(header(acc.to_arrow()))},
        }
    ]
    table = pl.DataFrame(acc.to_arrow()).to_arrow(compat_level=pl.CompatLevel.oldest())
    schema = {b"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})}
    for number, part in enumerate((table[:1], table[1:])):
        pq.write_table(part.replace_schema_metadata(schema), tmp_path / f"part-0000{number}.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sm.Accumulator.load(tmp_path).to_bytes() == acc.to_bytes()
