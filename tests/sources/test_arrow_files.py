"""Files that Polars does not read: IPC streams, Feather V1, and columns of types that Polars refuses."""

import json
from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from files import task

import streammetrics as sm

pytestmark = pytest.mark.usefixtures("folder")

TIMES = [datetime(2026, 1, 1, 3, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
ZONES = ["+05:30", "-03:30", "+0530", "Z", "Mars/Base"]
VALUES = {
    **{zone: (pa.array(TIMES, pa.timestamp("ms", zone)), TIMES) for zone in ZONES},
    "run ends": (pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), pa.array(["a", "b"])), ["a", "b"]),
    "dictionary of times": (pa.array(TIMES, pa.timestamp("us", "Z")).dictionary_encode(), TIMES),
    "decimal256": (pa.array(["1", "2"]).cast(pa.decimal128(5, 0)).cast(pa.decimal256(5, 0)), [1, 2]),
}
UNUSABLE = {
    "interval": pa.array([(1, 2, 3), (1, 2, 3)], pa.month_day_nano_interval()),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "views": pa.array([[1], [2]], pa.list_view(pa.int64())),
    "struct": pa.StructArray.from_arrays([pa.array(TIMES, pa.timestamp("us", "Z"))], ["t"]),
}


def rows(groups=None):
    return pa.table({"g": [None, None] if groups is None else groups, "p": [0.9, 0.1], "y": [1, 0]})


def put(path, table, form=pa.ipc.new_file, size=1):
    with pa.OSFile(path, "wb") as file, form(file, table.schema) as writer:
        writer.write_table(table, size)
    return path


def paths_of(table):
    """A stream, a file, and a Parquet file, if it can have these types."""
    yield put("a.arrow", table, pa.ipc.new_stream)
    yield put("b.arrow", table)
    if not pa.types.is_dictionary(table["g"].type):
        try:
            pq.write_table(table, "c.parquet")
            yield "c.parquet"
        except pa.ArrowNotImplementedError:
            pass


@pytest.mark.parametrize("kind", [*VALUES, *UNUSABLE])
def test_columns_that_are_not_in_use_can_have_any_type(kind):
    table = rows(UNUSABLE[kind] if kind in UNUSABLE else VALUES[kind][0])
    for source in (*paths_of(table), table, table.to_reader()):
        assert sm.evaluate(source, task())["rows"].value == 2
        if not isinstance(source, pa.RecordBatchReader):
            assert sm.evaluate(source, sm.Accumulator(task="binary"))["rows"].value == 2


@pytest.mark.parametrize("kind", VALUES)
def test_columns_in_use_have_their_values(kind):
    groups, values = VALUES[kind]
    for source in (*paths_of(rows(groups)), rows(groups)):
        found = sm.evaluate(source, task(by="g"))
        assert found.frame["g"].to_list() == values
        assert found.rollup()["rows"].value == 2


@pytest.mark.parametrize("kind", UNUSABLE)
def test_columns_in_use_that_cannot_be_read_are_named(kind):
    for path in paths_of(rows(UNUSABLE[kind])):
        with pytest.raises(
            sm.errors.SourceError, match=rf"Column 'g' of '{path}' has the type .*, which cannot be read"
        ):
            sm.evaluate(path, task(by="g"))
    if kind != "struct":
        with pytest.raises(sm.errors.ColumnError, match="Column 'g' has the unsupported type"):
            task(by="g").update(rows(UNUSABLE[kind]))


def test_zones_of_files_are_joined_in_utc():
    put("a.arrow", rows(VALUES["+05:30"][0]))
    put("b.arrow", rows(pa.array(TIMES, pa.timestamp("us", "UTC"))))
    put("c.arrow", rows(VALUES["Z"][0]), pa.ipc.new_stream)
    found = sm.evaluate(["a.arrow", "b.arrow", "c.arrow"], task(by="g"))
    assert found.frame["g"].to_list() == TIMES
    assert found.get("rows", g=TIMES[0]).value == 3


def test_nothing_of_polars_is_printed(capfd):
    put("a.arrow", rows(UNUSABLE["union"]))
    pq.write_table(rows(VALUES["Z"][0]), "b.parquet")
    for path, wanted in (("a.arrow", "g"), ("b.parquet", "y"), ("a.arrow", "y")):
        found = run("evaluate", path, "--y-true", "y", "--y-score", "p", "--by", wanted, code=2 * (wanted == "g"))
        assert found.startswith("Error: Column 'g' of 'a.arrow'") == (wanted == "g")
    assert capfd.readouterr().err == ""


def test_columns_that_are_not_in_use_can_share_a_name(capfd):
    plain = pa.table({"p": [0.9, 0.1], "y": [1, 0]})
    shared = pa.table([[0.9, 0.1], [1, 0], [1, 2], ["a", "b"]], names=["p", "y", "z", "z"])
    alone = put("a.arrow", plain)
    for path in (put("b.arrow", shared), put("c.arrow", shared, pa.ipc.new_stream), "d.parquet"):
        if path == "d.parquet":
            pq.write_table(shared, path)
            pq.write_table(plain, alone := "a.parquet")
        for source in (path, [path, alone], [alone, path]):
            assert sm.evaluate(source, task())["rows"].value == 2 * (1 if source == path else 2)
        with pytest.raises(sm.errors.SourceError, match=f"'{path}' has several columns named 'z'"):
            sm.evaluate([path, alone], task(by="z"))
    assert not capfd.readouterr().err


@pytest.mark.parametrize("suffix", ["arrow", "arrows", "ipc", "feather"])
def test_streams_are_read_in_batches(suffix, folder):
    table = pl.DataFrame({"y": [1, 0] * 5_000, "p": [0.9, 0.1] * 5_000, "g": ["a", "b"] * 5_000}).to_arrow()
    put(f"a.{suffix}", table, pa.ipc.new_stream, 1_000)
    assert sm.evaluate(f"a.{suffix}", task(by="g")).frame["value"].to_list() == [5_000, 5_000]
    assert sm.evaluate(folder, task(by="g")).rollup()["rows"].value == 10_000
    bad = table.set_column(1, "p", pa.array([0.5] * 9_999 + [1.5]))
    put(f"b.{suffix}", bad, pa.ipc.new_stream, 1_000)
    with pytest.raises(sm.errors.DataError, match=rf"first: 1.5 at row 9999 of b.{suffix}"):
        sm.evaluate([f"a.{suffix}", f"b.{suffix}"], task())


def test_streams_in_folders_have_the_columns_of_the_folders(folder):
    for day in ("2026-01-01", "2026-01-02"):
        (folder / f"day={day}" / "shop=007").mkdir(parents=True)
        put(f"day={day}/shop=007/a.arrow", rows(), pa.ipc.new_stream)
    found = sm.evaluate("*/*/*.arrow", task(by=["day", "shop"])).frame
    assert found["day"].to_list() == [datetime(2026, 1, 1).date(), datetime(2026, 1, 2).date()]
    assert set(found["shop"]) == {"007"}


def test_streams_with_a_filter(folder):
    put("a.arrow", rows(["a", "b"]), pa.ipc.new_stream)
    found = run("evaluate", "a.arrow", "--y-true", "y", "--y-score", "p", "--where", "g = 'a'", "--format", "json")
    assert {"metric": "rows", "value": 1.0}.items() <= json.loads(found.splitlines()[-1])[0].items()


def test_files_without_a_suffix_are_known_by_their_content(folder):
    pq.write_table(rows(), "a")
    put("b", rows())
    for path in "ab":
        assert sm.evaluate(path, task())["rows"].value == 2
    (folder / "SUCCESS").touch()
    (folder / "b").unlink()
    assert sm.evaluate(folder, task())["rows"].value == 2


def test_files_whose_dictionaries_grow(folder):
    schema = pa.schema([("y", pa.int64()), ("p", pa.float64()), ("g", pa.dictionary(pa.int8(), pa.string()))])
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.OSFile("a.arrow", "wb") as file, pa.ipc.new_file(file, schema, options=options) as out:
        for codes, names in (([0, 1], ["a", "b"]), ([2, 0], ["a", "b", "c"])):
            groups = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names))
            out.write_batch(pa.record_batch([pa.array([1, 0]), pa.array([0.9, 0.1]), groups], schema=schema))
    report = sm.evaluate("a.arrow", task(by="g"))
    assert dict(report.rows("rows").select("g", "value").iter_rows()) == {"a": 2, "b": 1, "c": 1}
    assert sm.evaluate("a.arrow", task())["rows"].value == 4
