"""Small contents that would fill the memory are refused before anything is unpacked."""

import contextlib
import random
import re
import subprocess
import sys
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from states import DATA
from states import state as state_of

import streammetrics as sm

ROWS = 40_000_000  # of 8 bytes
TEXT = "x" * 900_000
GROUPS = 400  # with this text
LIMIT = 200 << 20  # bytes of memory for all attempts
LIMITED = f"""
import resource, sys
import streammetrics as sm
small, *bombs = sys.argv[1:]
sm.Accumulator.from_bytes(sm.Accumulator.load(small).to_bytes())  # which loads libraries
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + {LIMIT}, used + {LIMIT}))
for path in bombs:
    read = sm.Accumulator.from_bytes if path.endswith("stream") else sm.Accumulator.load
    try:
        read(open(path, "rb").read() if path.endswith("stream") else path)
        print("read")
    except sm.errors.StateError as error:
        print(error)
"""


def state(group=3):
    return sm.Accumulator(sm.statistics.RowCounts(), y_true="y", by="g").update({"y": [1], "g": [group]})


def with_counts(table, rows):
    """A state whose only group has this many cells of zeros."""
    cells = pa.StructArray.from_arrays([pa.repeat(0, rows)] * 2, names=["rows", "dropped"])
    lists = pa.LargeListArray.from_arrays(pa.array([0, rows], pa.int64()), cells)
    return table.set_column(1, "row_counts", lists)


def with_texts(groups):
    """A state of groups that have the same long text."""
    table = state("a").to_arrow()
    cells = pa.StructArray.from_arrays([pa.repeat(1, groups), pa.repeat(0, groups)], names=["rows", "dropped"])
    lists = pa.LargeListArray.from_arrays(pa.array(range(groups + 1), pa.int64()), cells)
    texts = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), groups), pa.array([TEXT]))
    return pa.table({"g": texts, "row_counts": lists}).replace_schema_metadata(table.schema.metadata)


def ipc(table, form, compression=None):
    sink = pa.BufferOutputStream()
    with form(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def parquet(table, **options):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "zstd"} | options)
    return sink.getvalue().to_pybytes()


def number(value, size=0):
    """An integer of Thrift's compact protocol, which can have more bytes than it needs."""
    value, parts = value * 2, []
    while value or len(parts) < size:
        parts.append(value & 127)
        value >>= 7
    return bytes(part | 128 for part in parts[:-1]) + bytes(parts[-1:])


def with_untrue_footer(content):
    """The same file whose footer says that its columns have one value each, of one byte."""
    columns = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0)
    size = int.from_bytes(content[-8:-4], "little")
    pages, footer = content[: -8 - size], content[-8 - size :]
    for i in range(columns.num_columns):
        column = columns.column(i)
        for said in (column.num_values, column.total_uncompressed_size):
            if said > 1_000_000:
                footer = footer.replace(number(said), number(1, len(number(said))))
    return pages + footer


def bombs():
    counts, texts = with_counts(state().to_arrow(), ROWS), with_texts(GROUPS)
    flat = parquet(counts, use_dictionary=False)
    deltas = {"use_dictionary": False, "column_encoding": {"g": "DELTA_BYTE_ARRAY"}}
    plain = with_texts(20).cast(pa.schema([("g", pa.string()), texts.schema.field(1)]))
    return {
        "texts.parquet": parquet(texts, store_schema=False),
        "texts.stream": ipc(texts, pa.ipc.new_stream),
        "texts.arrow": ipc(texts, pa.ipc.new_file),
        "dictionary.parquet": parquet(texts),
        "deltas.parquet": parquet(plain, **deltas),
        "zeros.stream": ipc(counts, pa.ipc.new_stream, "zstd"),
        "zeros.arrow": ipc(counts, pa.ipc.new_file, "zstd"),
        "lz4.arrow": ipc(counts, pa.ipc.new_file, "lz4"),
        "zeros.parquet": parquet(counts),
        "flat.parquet": flat,
        "untrue.parquet": with_untrue_footer(parquet(counts)),
        "untrue-flat.parquet": with_untrue_footer(flat),
    }


REFUSAL = r"The content has [\d,]+ bytes, but would take [\d,]+ in memory\.$|Texts are in a delta encoding"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
def test_small_contents_that_would_fill_the_memory_are_refused_within_little_memory(tmp_path):
    state().save(tmp_path / "small.state")
    contents = bombs()
    paths = [tmp_path / name for name in contents]
    for path in paths:
        path.write_bytes(contents[path.name])
    command = [sys.executable, "-W", "ignore", "-c", LIMITED, tmp_path / "small.state", *paths]
    done = subprocess.run(command, capture_output=True, text=True)
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        assert re.search(REFUSAL, line), (path.name, line)


@pytest.mark.parametrize("form", ["parquet", "dictionary", "file", "bytes", "table"])
def test_texts_that_many_groups_share_are_limited(form, tmp_path):
    table, path = with_texts(GROUPS), tmp_path / "state"
    if form in ("bytes", "table"):
        with pytest.raises(sm.errors.StateError, match=REFUSAL):
            sm.Accumulator.from_arrow(table) if form == "table" else sm.Accumulator.from_bytes(
                ipc(table, pa.ipc.new_stream)
            )
        return
    content = ipc(table, pa.ipc.new_file) if form == "file" else parquet(table, store_schema=form == "dictionary")
    path.write_bytes(content)
    with pytest.raises(sm.errors.StateError, match=REFUSAL):
        sm.Accumulator.load(path)


@pytest.mark.parametrize("compression", ["zstd", None])
def test_texts_of_many_groups_are_read(compression, tmp_path):
    """Their dictionary is large, and each text could be the longest."""
    names = [f"{i:06}" for i in range(40_000)]
    acc = sm.Accumulator(sm.statistics.RowCounts(), y_true="y", by="g").update({"y": [1] * 40_000, "g": names})
    path = tmp_path / "state"
    path.write_bytes(parquet(acc.to_arrow(), compression=compression, dictionary_pagesize_limit=1 << 24))
    with pytest.warns(sm.errors.StateWarning, match="No checksum"):
        assert sm.Accumulator.load(path).to_bytes() == acc.to_bytes()


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_compressed_ipc_of_other_programs_is_read(compression, tmp_path):
    acc = state_of("grouped")
    path = tmp_path / "state.arrow"
    path.write_bytes(ipc(acc.to_arrow(), pa.ipc.new_file, compression))
    with pytest.warns(sm.errors.StateWarning, match="No checksum"):
        assert sm.Accumulator.load(path).to_bytes() == acc.to_bytes()
    with pytest.warns(sm.errors.StateWarning, match="No checksum"):
        loaded = sm.Accumulator.from_bytes(ipc(acc.to_arrow(), pa.ipc.new_stream, compression))
    assert loaded.to_bytes() == acc.to_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(("version", "compression"), [("1.0", "zstd"), ("2.0", "none"), ("2.0", "zstd")])
def test_flipped_bits_of_parquet_headers_never_crash(version, compression, tmp_path):
    content = parquet(state_of("grouped", DATA[:40]).to_arrow(), compression=compression, data_page_version=version)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    chance, path = random.Random(0), tmp_path / "state"
    for _ in range(50):
        copy = bytearray(content)
        for _ in range(chance.randint(1, 3)):
            copy[chance.randrange(footer, len(copy))] ^= 1 << chance.randrange(8)
        path.write_bytes(copy)
        with contextlib.suppress(sm.StreamMetricsError), warnings.catch_warnings(action="ignore"):
            sm.Accumulator.load(path).finalize().frame  # noqa: B018
