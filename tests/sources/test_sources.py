"""Which files and tables a source stands for, and errors that say where in it."""

import gzip
import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import deltalake
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from commands import run
from files import PAIR, put, rows, task

import streammetrics as sm
from streammetrics.data import open_files
from streammetrics.engines import partial


@pytest.fixture
def table(tmp_path):
    """A Delta table of two rows; its folder has files with five."""
    path = tmp_path / "lake" / "scores"
    PAIR.write_delta(path)
    PAIR.with_columns(p=0.5).write_delta(path, mode="overwrite")
    PAIR.head(1).write_delta(path, mode="append")
    deltalake.DeltaTable(path).delete("y = 0")
    return path


def test_a_delta_table_is_read_as_a_table(table):
    assert len(list(table.glob("*.parquet"))) > 2
    for source in (table, str(table), table.parent, f"{table.parent}/*", [table]):
        assert rows(source) == 2
    (table.parent / "other").mkdir()
    PAIR.write_delta(table.parent / "other")
    assert rows(table.parent) == 4


@pytest.mark.parametrize(
    ("sign", "package"), [("_delta_log/0.json", "deltalake"), ("metadata/v1.metadata.json", "pyiceberg")]
)
def test_packages_that_tables_need_are_named(sign, package, tmp_path, monkeypatch):
    (tmp_path / sign).parent.mkdir()
    (tmp_path / sign).touch()
    put(tmp_path / "a.parquet")
    found = util.find_spec
    monkeypatch.setattr(
        "streammetrics.data.sources.scans.find_spec", lambda name: None if name == package else found(name)
    )
    with pytest.raises(
        sm.errors.SourceError, match=f"requires the package '{package}'. Install it .*with: pip install"
    ):
        rows(tmp_path)


def test_iceberg_tables_that_say_their_version_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("streammetrics.data.sources.scans.find_spec", lambda name: name)
    monkeypatch.setattr(pl, "scan_iceberg", lambda path: PAIR.lazy() if Path(path) == tmp_path else None)
    put(tmp_path / "data" / "old.parquet")
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v2.metadata.json").touch()
    with pytest.raises(sm.errors.SourceError, match="Iceberg"):
        rows(tmp_path)
    (tmp_path / "metadata" / "version-hint.text").write_text("2")
    assert rows(tmp_path) == 2
    with pytest.raises(sm.errors.SourceError, match="Iceberg"):
        rows(tmp_path / "data")


def test_attempts_and_hidden_files_are_left_out(tmp_path):
    for day in (1, 2):
        put(tmp_path / f"_day={day}" / "part-0.parquet")
    for hidden in ("_temporary/attempt_1/part-0.parquet", "_day=1/.part-1.parquet", ".tmp/a.parquet", "_old.parquet"):
        put(tmp_path / hidden)
    assert rows(tmp_path) == 4
    assert rows(f"{tmp_path}/**/*.parquet") == 4
    assert rows(f"{tmp_path}/*/*.parquet") == 4
    assert rows(tmp_path / "_temporary") == 2
    assert rows(tmp_path / "_old.parquet") == 2
    assert rows(f"{tmp_path}/_*.parquet") == 2
    assert rows(f"{tmp_path}/_temporary/**/*.parquet") == 2


def test_a_file_is_read_once(tmp_path, monkeypatch):
    path = put(tmp_path / "a.parquet")
    put(tmp_path / "b.parquet")
    monkeypatch.chdir(tmp_path)
    for source in (["a.parquet", path], [".", f"{tmp_path}/a.*"], ["../" + tmp_path.name + "/a.parquet", "a.parquet"]):
        with pytest.raises(sm.errors.SourceError, match=r"a.parquet' .*2 times"):
            rows(source)
    (tmp_path / "latest.parquet").symlink_to(path)
    assert rows(tmp_path) == 4
    assert rows("latest.parquet") == 2


def test_extensions_are_read_in_any_case(tmp_path):
    put(tmp_path / "a.parquet").rename(tmp_path / "A.PARQUET")
    assert rows(tmp_path) == rows(tmp_path / "A.PARQUET") == 2


def test_pipes_are_no_files_of_a_folder(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    put(tmp_path / "b.csv")
    assert rows(tmp_path) == rows(f"{tmp_path}/*.csv") == 2


@pytest.mark.parametrize(("suffix", "codec"), [("gz", "gzip"), ("zst", "zstd")])
def test_compressed_text_is_read(suffix, codec, tmp_path):
    def compress(name, content):
        with pa.CompressedOutputStream(str(tmp_path / f"{name}.{suffix}"), codec) as file:
            file.write(content.encode())
        return tmp_path / f"{name}.{suffix}"

    assert rows(compress("a.csv", PAIR.write_csv(separator=";"))) == 2
    assert rows([compress("a.csv", PAIR.write_csv()), compress("b.csv", PAIR.write_csv())]) == 4
    assert rows(compress("a.ndjson", PAIR.write_ndjson())) == 2
    (tmp_path / "bad").mkdir()
    compress("bad/a.csv", "y,p\n1,0.3\n0,1.3\n")
    with pytest.raises(sm.errors.DataError, match=rf"first: 1.3 at row 1 \(line 3\) of .*a.csv.{suffix}\)"):
        rows(tmp_path / "bad")


@pytest.mark.parametrize("kind", ["csv", "ndjson"])
def test_compressed_files_can_be_concatenated(kind, tmp_path):
    content = gzip.compress(getattr(PAIR, f"write_{kind}")().encode())
    path = tmp_path / f"a.{kind}.gz"
    path.write_bytes(content * 2 if kind == "ndjson" else content)
    assert rows(path) == (4 if kind == "ndjson" else 2)


URIS = {
    "a path": "file://{path}",
    "one slash": "file:{path}",
    "localhost": "file://localhost{path}",
    "capital letters": "FILE://{path}",
    "several slashes": "file:///{path}",
}


@pytest.mark.parametrize("uri", URIS.values(), ids=URIS)
@pytest.mark.parametrize(
    "name", ["a.parquet", "my scores [1].parquet", "100%.csv", "a%20b.csv", "grün.ndjson", "a#b?.csv"]
)
def test_file_uris_are_paths(uri, name, tmp_path):
    path = put(tmp_path / "run 1%" / name)
    for address in (str(path), path.as_uri().removeprefix("file://")):
        source = uri.format(path=address)
        assert open_files(source).paths == open_files(Path(source)).paths == (path,)
        assert rows(source) == rows([Path(source)]) == 2
        with pytest.raises(sm.errors.SourceError, match="2 times"):
            rows([source, path])
    folder = uri.format(path=path.parent.as_uri().removeprefix("file://"))
    assert rows(folder) == rows(f"{folder}/*") == 2
    with pytest.raises(sm.errors.SourceError, match=r"File '.*run 1%/none.csv' not found"):
        rows(f"{folder}/none.csv")


def test_states_have_file_uris(tmp_path):
    uri = f"file://{tmp_path}/my%20scores.state"
    task().update(PAIR).save(uri)
    assert (tmp_path / "my scores.state").is_file()
    assert sm.Accumulator.load(uri).seen == sm.Accumulator.load(Path(uri)).seen == 2


def test_commands_read_file_uris(tmp_path):
    put(tmp_path / "my scores" / "a.parquet")
    put(tmp_path / "my scores" / "b.parquet")
    options = ["--y-true", "y", "--y-score", "p", "--metric", "rows", "--format", "csv"]
    for folder in (f"file://{tmp_path}/my%20scores", f"file://localhost{tmp_path}/my scores/*.parquet"):
        assert "rows,4.0" in run("evaluate", folder, *options, "--save", tmp_path / "a b.state")
    for state in (f"file://{tmp_path}/a%20b.state", f"file://localhost{tmp_path}/a%20b.state"):
        assert "rows,4.0" in run("show", state, "--metric", "rows", "--format", "csv")


def test_an_open_delta_table_is_a_source(table):
    opened = deltalake.DeltaTable(table)
    assert rows(opened) == rows([opened]) == rows(deltalake.DeltaTable(table, version=0)) == 2
    assert rows(deltalake.DeltaTable(table, version=2)) == 3
    assert rows([opened, deltalake.DeltaTable(table, version=2)]) == 5
    with pytest.raises(sm.errors.ColumnError, match="'q' not found"):
        sm.evaluate(opened, sm.binary(y_true="y", y_score="q"))
    PAIR.with_columns(p=1.5).write_delta(table, mode="append")
    assert rows(opened) == 2
    with pytest.raises(sm.errors.DataError, match=r"first: 1.5 at row \d of .*lake/scores"):
        rows(deltalake.DeltaTable(table))


def test_a_list_of_many_columns_is_cut(tmp_path):
    wide = pl.DataFrame({f"column_{i}": [0] for i in range(1000)})
    for source in (wide.lazy(), put(tmp_path / "a.parquet", wide), ds.dataset(wide.to_arrow())):
        with pytest.raises(sm.errors.ColumnError, match=r"Columns 'y', 'p' not found. .* and 995 more") as caught:
            rows(source)
        assert len(str(caught.value)) < 200


def test_panics_are_errors_of_the_source(tmp_path, monkeypatch):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl, "scan_parquet", panic)
    with pytest.raises(sm.errors.SourceError, match=r"Cannot read .*a.parquet: called `Option::unwrap\(\)`"):
        rows(put(tmp_path / "a.parquet"))
    monkeypatch.setattr(pl.LazyFrame, "collect_batches", lambda *_, **__: (panic() for _ in range(1)))
    with pytest.raises(sm.errors.SourceError, match="Cannot read the plan: called"):
        rows(PAIR.lazy())


@pytest.mark.thorough
def test_nothing_is_printed_after_an_error(tmp_path):
    bad = pl.DataFrame({"y": [0, 1] * 100_000, "p": [0.5, 1.5] * 100_000})
    bad.write_parquet(tmp_path / "a.parquet", row_group_size=5_000)
    code = "import streammetrics as sm; sm.evaluate('a.parquet', sm.binary(y_true='y', y_score='p'))"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1].startswith("streammetrics.errors.DataError: Column 'p' contains scores")
    assert "ignored" not in found.stderr


def good(height):
    return pl.DataFrame({"y": [1] * height, "p": [0.5] * height, "w": [1.0] * height})


@pytest.fixture
def bad(tmp_path):
    """Three files, the second and the third of which have bad rows; of the second the weight is bad first."""
    for day, height in enumerate((1000, 500, 2000)):
        frame = good(height).with_row_index("row")
        if day:
            frame = frame.with_columns(
                p=pl.when(pl.col("row").is_in([208, 300])).then(1.25).otherwise("p"),
                w=pl.when(pl.col("row") == 207 if day == 1 else False).then(-1.0).otherwise("w"),
            )
        for suffix in ("parquet", "csv", "ndjson", "ipc"):
            put(tmp_path / suffix / f"day={day}" / f"part.{suffix}", frame)
    return tmp_path


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "ndjson", "ipc"])
def test_a_bad_row_is_named_by_its_file(suffix, workers, bad):
    file = bad / suffix / "day=1" / f"part.{suffix}"
    for _ in range(3):
        with pytest.raises(sm.errors.DataError) as caught:
            sm.evaluate(bad / suffix, task(), workers=workers)
        line = {"csv": " (line 210)", "ndjson": " (line 209)"}.get(suffix, "")
        number = "2 of the first 1,500" if line else "4 of 3,500"
        assert f"in {number} rows (first: 1.25 at row 208{line} of {file})" in str(caught.value)


@pytest.mark.parametrize("workers", [1, 4])
def test_the_first_bad_row_is_named_whatever_its_fault(workers, bad):
    with pytest.raises(
        sm.errors.DataError, match=r"'w' contains negative .* at row 207 \(line 209\) of .*day=1/part.csv\)"
    ):
        sm.evaluate(bad / "csv", task(sample_weight="w"), workers=workers)


def test_a_bad_row_far_into_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr("streammetrics.pipeline.BATCH", 1000)
    for n in range(3):
        put(tmp_path / f"{n}.parquet", good(1500))
    put(tmp_path / "3.parquet", good(1500).with_columns(p=pl.when(pl.int_range(1500) == 1400).then(7.0).otherwise("p")))
    with pytest.raises(sm.errors.DataError, match=r"in 1 of 6,000 rows \(first: 7.0 at row 1400 of .*3.parquet\)"):
        rows(tmp_path)


def test_a_bad_row_of_other_sources(bad, table):
    files = [bad / "parquet" / f"day={day}" / "part.parquet" for day in range(3)]
    frame = pl.read_parquet(files)
    dataset = ds.dataset(files)
    for source, place in (
        (pl.scan_parquet(files), "the plan"),
        (frame, "the frame"),
        (frame.to_arrow(), "the table"),
        (dataset.filter(ds.field("row") != 5), "the dataset"),
        (ds.dataset(frame.to_arrow()), "the dataset"),
    ):
        with pytest.raises(sm.errors.DataError, match=rf"at row 120[678] of {place}\)"):
            sm.evaluate(source, task())
    with pytest.raises(sm.errors.DataError, match=rf"at row 208 of {files[1]}\)"):
        sm.evaluate(dataset, task())
    PAIR.with_columns(p=7.0).write_delta(table, mode="append")
    with pytest.raises(sm.errors.DataError, match=rf"at row \d of {table}\)"):
        rows(table)


@pytest.mark.parametrize("wrap", [iter, list, lambda batches: pl.concat(batches).to_arrow()])
def test_a_bad_row_of_a_part_of_an_engine(wrap, bad):
    source = wrap([good(100), good(100), good(100).with_columns(p=7.0)])
    with pytest.raises(sm.errors.DataError, match=r"at row 200 of partition 3\)"):
        partial(source, task(), "partition 3")
    with pytest.raises(sm.errors.DataError, match=r"at row 208 \(line 210\) of .*/day=1/part.csv\)"):
        partial(bad / "csv", task(), "partition 3")
