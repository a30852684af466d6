"""Sources that cannot be read: which file, and which line or column of it."""

import gzip
import io
import os
from datetime import datetime

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import streammetrics as sm

PAIR = pl.DataFrame({"y": [1, 0], "p": [0.9, 0.1]})
LONG = pl.concat([PAIR] * 50)
TASK = sm.binary(y_true="y", y_score="p")
NAIVE = PAIR.with_columns(t=datetime(2026, 1, 1))
ZONED = NAIVE.with_columns(pl.col("t").dt.replace_time_zone("UTC"))
BERLIN = NAIVE.with_columns(pl.col("t").dt.replace_time_zone("Europe/Berlin"))
TWICE = pa.table([[1, 0], [0.3, 0.2], [0.4, 0.1]], names=["y", "p", "p"])
WRITERS = {
    **dict.fromkeys(("arrow", "ipc"), pl.DataFrame.write_ipc),
    **{suffix: getattr(pl.DataFrame, f"write_{suffix}") for suffix in ("parquet", "csv", "ndjson")},
}
FRAMES = ("parquet", "ipc", "ndjson", "csv")


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, pl.DataFrame):
        WRITERS[path.suffix[1:]](content, path)
    elif isinstance(content, pa.Table) and path.suffix == ".parquet":
        pq.write_table(content, path)
    elif isinstance(content, pa.Table):
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, content.schema) as writer:
            writer.write_table(content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def files(contents, *names, **options):
    """A call that writes files, and evaluates these of them; without names, their folder."""

    def call(folder):
        for name, content in contents.items():
            _write(folder / name, content)
        paths = [folder / name for name in names] or [folder]
        sm.evaluate(paths if len(paths) > 1 else paths[0], sm.binary(y_true="y", y_score="p", **options))

    return call


def blamed(call):
    """A call whose message ends with the words of another library, without these."""

    def cut(folder):
        try:
            call(folder)
        except sm.errors.SourceError as error:
            raise sm.errors.SourceError(f"{error}".partition(": ")[0]) from error

    return cut


def half(suffix):
    """The first half of a file."""
    file = io.BytesIO()
    WRITERS[suffix](LONG, file)
    return file.getvalue()[: len(file.getvalue()) // 2]


def csv(lines, header="y,p\n"):
    """A call that reads a CSV file after one without faults."""
    content = (header if isinstance(lines, str) else header.encode()) + lines
    return files({"a.csv": f"{header}1,0.3\n" if header == "y,p\n" else PAIR, "b.csv": content}, "a.csv", "b.csv")


def linked(name, target):
    def call(folder):
        _write(folder / "a.parquet", PAIR)
        (folder / name).symlink_to(target)
        sm.evaluate(folder if target == "gone" else [folder / "a.parquet", folder / name], TASK)

    return call


def pipe(folder):
    os.mkfifo(folder / "a.csv")
    sm.evaluate(folder / "a.csv", TASK)


@blamed
def half_a_stream(folder):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, TWICE.schema) as writer:
        writer.write_table(TWICE)
    content = sink.getvalue().to_pybytes()
    files({"a.arrow": content[: len(content) // 2]})(folder)


def called(function, *arguments):
    return lambda: function(*arguments)


def engine(module):
    """A frame of an engine."""
    return type("Frame", (), {"__module__": module})()


GZIP = gzip.compress(LONG.write_csv().encode())
JSON = gzip.compress(LONG.write_ndjson().encode())
REFUSALS = {
    "no such file": (files({}, "nowhere.parquet"), "nowhere.parquet"),
    "no file of a pattern": (files({}, "nowhere/*.parquet"), "nowhere/*.parquet"),
    "a pattern of folders": (files({"day=1/a.parquet": PAIR}, "day=*"), "day=*"),
    "a folder without data": (files({"readme.txt": "hello"}), "FOLDER", ".parquet"),
    "an unknown type of file": (files({"notes.txt": "hello"}, "notes.txt"), "notes.txt"),
    "no suffix and no content": (files({"SUCCESS": ""}, "SUCCESS"), "SUCCESS"),
    "two types of files": (files({"a.csv": PAIR, "b.ndjson": PAIR}), ".csv", ".ndjson"),
    "no path": (lambda: sm.evaluate("", TASK), "'.'"),
    "no path in a list": (lambda: sm.evaluate([""], TASK), "'.'"),
    "a pipe": (pipe, "a.csv"),
    "a path twice": (files({"a.parquet": PAIR}, "a.parquet", "./a.parquet"), "a.parquet", "2 times"),
    "a path and a link to it": (linked("latest.parquet", "a.parquet"), "2 times"),
    "a link to nothing": (linked("b.parquet", "gone"), "b.parquet"),
    "a path with a zero": (lambda: sm.evaluate("a\0b", TASK), "a"),
    "the home of nobody": (blamed(lambda _: sm.evaluate("~nobody-at-all/a.csv", TASK)), "nobody-at-all"),
    "a URL": (lambda: sm.evaluate("https://host/a.parquet", TASK), "https://", "s3://", "storage_options="),
    "a file of another machine": (lambda: sm.evaluate("file://server/share/a.csv", TASK), "file://", "path"),
    "a state of another machine": (lambda: sm.Accumulator.load("file://server/a.state"), "file://", "path"),
    "files of a Delta table": (
        files({"t/a.parquet": PAIR, "t/_delta_log/0.json": ""}, "t/a.parquet"),
        *("Delta", "FOLDER/t"),
    ),
    "a folder of a Delta table": (
        files({"t/day=1/a.parquet": PAIR, "t/_delta_log/0.json": ""}, "t/day=1"),
        *("Delta", "FOLDER/t"),
    ),
    "a Delta table that is broken": (blamed(files({"_delta_log/00000000000000000000.json": "no"})), "FOLDER"),
    "a pattern that cannot be": (blamed(lambda _: sm.evaluate("a**b/*.parquet", TASK)), "a**b"),
    "a name that is too long": (blamed(lambda _: sm.evaluate("x" * 5000, TASK)), "xxx"),
    "a Hudi table": (files({"a.parquet": PAIR, ".hoodie/a": ""}), "Hudi"),
    "no batch": (lambda: sm.evaluate([], TASK),),
    "no row in a frame": (lambda: sm.evaluate(PAIR.clear(), TASK),),
    "no row in files": (files({"a.csv": PAIR.clear(), "c.csv": PAIR.clear()}, "a.csv", "c.csv"), "c.csv"),
    "a number": (lambda: sm.evaluate(17, TASK), "int"),
    "a list of numbers": (lambda: sm.evaluate([1, 2], TASK), "int"),
    "a frame of Dask": (lambda: sm.evaluate(engine("dask.dataframe.core"), TASK), "engines.dask.evaluate"),
    "a frame of Spark": (lambda: sm.evaluate(engine("pyspark.sql.frame"), TASK), "engines.spark.evaluate"),
    "a dataset of Ray": (lambda: sm.evaluate(engine("ray.data.dataset"), TASK), "engines.ray.evaluate"),
    "a batch of Dask": (lambda: TASK.empty().update(engine("dask.dataframe.core")), "engines.dask.evaluate"),
    "no such column": (lambda: sm.evaluate(pl.LazyFrame({"y": [1]}), TASK), "'p'", "'y'"),
    "task= and into=": (lambda: sm.accumulate(PAIR, TASK, into=TASK.empty()), "task=", "into="),
    "no task=": (lambda: sm.accumulate(PAIR), "task="),
    **{
        f"a column twice in {name}": (files({name: content}), name, "'p'")
        for name, content in {
            "a.csv": '\ufeff"y";p;"p";note;note\n1;0.3;0.4;;\n',
            "a.parquet": TWICE,
            "a.arrow": TWICE,
        }.items()
    },
    **{f"an empty {suffix} file": (blamed(files({f"a.{suffix}": ""})), f"a.{suffix}") for suffix in FRAMES},
    **{
        f"half a {suffix} file": (blamed(files({f"a.{suffix}": LONG, f"b.{suffix}": half(suffix)})), f"b.{suffix}")
        for suffix in ("parquet", "ipc")
    },
    **{
        f"a file like a.{suffix} without a column": (
            files({f"a.{suffix}": PAIR, f"c.{suffix}": PAIR.rename({"p": "q"})}),
            *(f"a.{suffix}", f"c.{suffix}", "'p'"),
        )
        for suffix in FRAMES
    },
    "compressed text that is cut": (blamed(files({"a.csv.gz": GZIP[: len(GZIP) // 2]})), "a.csv.gz"),
    "compressed JSON that is cut": (blamed(files({"a.ndjson.gz": JSON[: len(JSON) // 2]})), "a.ndjson.gz"),
    "bytes after compressed text": (blamed(files({"a.csv.gz": GZIP + b"rest"})), "a.csv.gz"),
    "half a stream of Arrow": (half_a_stream, "a.arrow"),
    "Feather V1": (files({"a.feather": b"FEA1" + bytes(100)}), "a.feather", "pyarrow.feather"),
    "text in UTF-16": (files({"a.csv": PAIR.write_csv().encode("utf-16")}), "a.csv", "UTF-8"),
    "a line in Latin 1": (csv("1,0.3\n1,Köln\n".encode("latin-1")), "b.csv", "line 3", "UTF-8"),
    "a line with more fields": (csv("1,0.3\n0,0.2,7\n1\n"), "b.csv", "line 3", "3 fields", "header has 2"),
    "a line with fewer fields": (csv("1,0.3\n0\n"), "b.csv", "line 3", "1 field", "header has 2"),
    "a line with more fields after blank ones": (csv("1;0.9\n1;2;3\n", "\ny;p\n"), "line 4", "3 fields"),
    "a line of spaces": (csv("1,0.3\n   \n"), "b.csv", "line 3", "1 field"),
    "an open quote": (csv('1,0.3\n"0,0.2\n1,0.3\n'), "b.csv", "line 3"),
    "an open quote in the last row": (csv('0,0.1\n1,"0.5'), "b.csv", "line 3"),
    "an open quote in the last row with an end": (csv('0,0.1\n1,"0.5\n'), "b.csv", "line 3"),
    **{
        f"a line {line}": (
            files({"a.ndjson": PAIR, "b.ndjson": "\n" + LONG.write_ndjson() + line}),
            *("b.ndjson", "line 102"),
        )
        for line in ('{"y":1,"p":x}', '{"y":1,"p"', "[1]", '{"y":1 "p":2}', '{"y":1,"p":NaN}')
    },
    "a bad line in compressed JSON": (
        files({"a.ndjson.gz": gzip.compress(b"\n" + LONG.write_ndjson().encode() + b"[1]\n")}),
        *("a.ndjson.gz", "line 102"),
    ),
    "text and numbers in files": (
        files({"1.parquet": PAIR.with_columns(g=1), "2.parquet": PAIR.with_columns(g=pl.lit("a"))}, by="g"),
        *("'g'", "Int64", "String"),
    ),
    "two zones in files": (files({"1.parquet": ZONED, "2.parquet": BERLIN}, by="t"), "'t'", "'UTC'"),
    "a zone in the first file alone": (files({"1.parquet": ZONED, "2.parquet": NAIVE}, by="t"), "'t'"),
    "a zone in the last file alone": (files({"1.parquet": NAIVE, "2.parquet": ZONED}, by="t"), "'t'"),
    "labels of text in one file": (files({"a.ipc": PAIR, "b.ipc": PAIR.with_columns(y=pl.lit("no"))}), "'y'", "String"),
    "a column that folders name twice": (files({"k=1/k=2/a.parquet": PAIR}, by="k"), "'k'", "k=1/k=2"),
    "a column that folders name for some": (
        files({"day=1/a.parquet": PAIR, "z.parquet": PAIR}, by="day"),
        *("'day'", "z.parquet", "day=1/a.parquet"),
    ),
    **{
        f"arguments that are swapped, {function.__name__} {task}": (called(function, swapped, PAIR), "accumulator")
        for function in (sm.evaluate, sm.accumulate)
        for task, swapped in (("an accumulator", TASK), ("several", {"a": TASK}))
    },
    **{f"no accumulator, {task!r}": (called(sm.accumulate, PAIR, task), "task=") for task in ("x", {}, {"a": 1}, None)},
    "a function in place of an accumulator": (lambda: sm.evaluate(PAIR, sm.binary), "task="),
    "rows of text and numbers": (lambda: sm.evaluate([{"y": 1, "p": 0.5}, {"y": "no", "p": 0.5}], TASK), "'y'", '"no"'),
    "rows without a value": (lambda: sm.evaluate([{"y": 1, "p": 0.5}, {"y": 1}], TASK), "'p'", "row 1 of the list"),
}
