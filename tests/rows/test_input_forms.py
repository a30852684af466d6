"""Forms of the same rows: every one of a batch, of a column, and of its type gives the state of the plain form."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import permutations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data import CLICKS, clicks

import streammetrics as sm

PLAIN = clicks()[:50].select(
    pl.col("clicked").cast(pl.Int64),
    pl.col("score").round(2),
    country=pl.when(pl.col("country") != "IN").then("country"),
    unused=pl.lit("text"),
)
SCORES = [0.75, 0.25, 0.5]


def state(batch, **columns):
    return sm.binary(**CLICKS | {"by": "country"} | columns).update(batch).to_bytes()


class OnlyAnArray:
    """A struct array by the PyCapsule protocol, as other libraries export it."""

    def __init__(self, table):
        self.batch = table.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)


class OnlyInterchange:
    """A frame of an older protocol."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, **options):
        return self.table.__dataframe__(**options)


def objects(frame):
    return pl.DataFrame({c: np.array(frame[c].to_list(), dtype=object) for c in frame.columns})


BATCHES = {
    "Arrow": lambda d: d.to_arrow(),
    "a batch of Arrow": lambda d: d.to_arrow().combine_chunks().to_batches()[0],
    "a reader of Arrow": lambda d: d.to_arrow().to_reader(),
    "a dictionary of Arrow": lambda d: d.to_arrow().set_column(
        2, "country", d["country"].to_arrow().dictionary_encode()
    ),
    "an array by a protocol": lambda d: OnlyAnArray(d.to_arrow()),
    "a frame by a protocol": lambda d: OnlyInterchange(d.to_arrow()),
    "DuckDB": lambda d: duckdb.from_arrow(d.to_arrow()),
    "pandas": lambda d: d.to_pandas(),
    "nullable types of pandas": lambda d: d.to_pandas().convert_dtypes(),
    "Arrow types of pandas": lambda d: d.to_pandas().convert_dtypes(dtype_backend="pyarrow"),
    "categories of pandas": lambda d: d.to_pandas().astype({"country": "category"}),
    "objects beside in pandas": lambda d: d.to_pandas().assign(unused=[object()] * d.height),
    "a month beside in Arrow": lambda d: d.to_arrow().append_column(
        "odd", pa.array([None] * d.height, pa.month_day_nano_interval())
    ),
    "arrays": lambda d: {c: d[c].to_numpy() for c in d.columns},
    "lists": lambda d: {c: d[c].to_list() for c in d.columns},
    "arrays of Arrow": lambda d: {c: d[c].to_arrow() for c in d.columns},
    "rows": lambda d: d.to_dicts(),
    "a tuple of rows": lambda d: tuple(d.to_dicts()),
    "rows of arrays": lambda d: [row | {"score": np.array(row["score"])} for row in d.to_dicts()],
    "objects of Polars": objects,
    "Booleans": lambda d: d.with_columns(pl.col("clicked").cast(pl.Boolean)),
    "integers of 8 bits": lambda d: d.with_columns(pl.col("clicked").cast(pl.UInt8)),
    "integers of 128 bits": lambda d: d.with_columns(pl.col("clicked").cast(pl.Int128)),
    "labels of floats": lambda d: d.with_columns(pl.col("clicked").cast(pl.Float32)),
    "categories": lambda d: d.with_columns(pl.col("country").cast(pl.Categorical)),
    "enumerations": lambda d: d.with_columns(pl.col("country").cast(pl.Enum(["FR", "DE"]))),
    "bytes": lambda d: d.with_columns(pl.col("country").cast(pl.Binary)),
    "chunks": lambda d: pl.concat([d[:9], d[9:]], rechunk=False),
}


@pytest.mark.whole
@pytest.mark.parametrize("convert", BATCHES.values(), ids=BATCHES)
def test_a_batch_of_any_library_is_its_rows(convert):
    assert state(convert(PLAIN)) == state(PLAIN)


def test_lists_may_mix_integers_floats_and_truths():
    expected = state({"clicked": [1.0, 0.0, 1.0, 0.0], "score": [0.0, 0.5, 1.0, 0.25]}, by=())
    for clicked, score in (
        ([1, 0.0, True, 0], [0, 0.5, 1, 0.25]),
        ((1, 0, 1, 0), (0, np.float64(0.5), np.int64(1), 0.25)),
    ):
        assert state({"clicked": clicked, "score": score}, by=()) == expected
    mixed = [{"clicked": 1, "score": 0}, {"clicked": 0, "score": 0.5, "more": "text"}]
    assert state([*mixed, {"score": 1, "clicked": True}, {"score": 0.25, "clicked": 0}], by=()) == expected
    assert state([], by=()) == sm.binary(**CLICKS).to_bytes()


def tensor(values, protocol):
    """An array of another library that has only this protocol."""
    array = np.asarray(values) if protocol in ("__array__", "__dlpack__") else pa.array(values)
    if protocol == "__arrow_c_stream__":
        array = pa.chunked_array([array])
    plain = protocol in ("__array__", "__arrow_array__")
    methods = {protocol: lambda _, *a, **k: array if plain else getattr(array, protocol)(*a, **k)}
    if protocol == "__dlpack__":
        methods["__dlpack_device__"] = lambda _: array.__dlpack_device__()
    return type("Tensor", (), methods)()


class Both:
    """A tensor of which one protocol fails, so that the next one is tried."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")

    def __dlpack__(self, **options):
        return np.array(SCORES).__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)


class Column:
    def __dataframe__(self, **options):
        return pa.table({"a": SCORES}).__dataframe__(**options)


TIME = datetime(2026, 4, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))
HOURS = np.array(["2026-04-01T01", "2026-04-01T02", "NaT"], dtype="datetime64[h]")
TWO_HOURS = [datetime(2026, 4, 1, 1), datetime(2026, 4, 1, 2), None]
DAYS = pd.Series(pd.date_range("2026-04-01", periods=4, freq="31D"))
TEXT = ["a", None, "b", "b"]
COLUMNS = [  # a column and its values
    *(
        (tensor(SCORES, f"__{name}__"), SCORES)
        for name in ("array", "dlpack", "arrow_array", "arrow_c_array", "arrow_c_stream")
    ),
    (Both(), SCORES),
    (Column(), SCORES),
    (pl.DataFrame({"a": SCORES}), SCORES),
    (pd.DataFrame({"a": SCORES}), SCORES),
    (pd.array([1, None, 0], "Int64"), [1, None, 0]),
    (pd.array([True, None, False], "boolean"), [True, None, False]),
    (pd.array(["a", None], "string"), ["a", None]),
    (pd.Categorical(["a", None, "a"]), ["a", None, "a"]),
    (pd.Categorical([1, 0]), [1, 0]),
    (pd.Index([1, 0]), [1, 0]),
    (pd.date_range("2026-04-01", periods=1, tz="UTC").array, [datetime(2026, 4, 1, tzinfo=UTC)]),
    (pd.DatetimeIndex([TIME]), [TIME]),
    (np.array([True, None, np.False_], dtype=object), [True, None, False]),
    (np.array(["a", np.nan], dtype=object), ["a", None]),
    (np.array([date(2026, 4, 1)], dtype=object), [date(2026, 4, 1)]),
    (np.array(SCORES)[:, None], SCORES),
    (np.array(SCORES)[:, None, None], SCORES),
    (np.matrix(SCORES).T, SCORES),
    (np.ma.array(SCORES, mask=[0, 1, 0])[:, None], [0.75, None, 0.5]),
    (np.array([[0.5], [None]], dtype=object), [0.5, None]),
    (np.ma.array(np.array([[0.5], [1.0]], dtype=object), mask=[[0], [1]]), [0.5, None]),
    ([*np.ma.array(SCORES, mask=[0, 1, 0])], [0.75, None, 0.5]),
    ([*np.ma.array([[1.0], [0.5]], mask=[[1], [0]])], [None, 0.5]),
    ([np.array([0.5]), None, np.array([1.0])], [0.5, None, 1.0]),
    ([np.array(0.5), np.array(1.0)], [0.5, 1.0]),
    ([tensor(0.5, "__array__"), None, tensor(1, "__array__")], [0.5, None, 1]),
    (np.array([0.5, 1], dtype=np.longdouble), [0.5, 1]),
    (HOURS, TWO_HOURS),
    (HOURS.astype("M8[s]"), TWO_HOURS),
    (HOURS.astype("M8[ns]"), TWO_HOURS),
    (HOURS.astype("M8[M]"), [date(2026, 4, 1), date(2026, 4, 1), None]),
    (HOURS - HOURS[0], [timedelta(0), timedelta(hours=1), None]),
    (np.array([2], "m8[D]"), [timedelta(days=2)]),
    *((pd.Series(TEXT, dtype=kind), TEXT) for kind in ("category", "string[pyarrow]", "string[python]", object)),
    (pd.Series([10, 10, 20, 20], dtype="category"), [10, 10, 20, 20]),
    (pd.Series([1.5, None, 2, 2], dtype="Float64"), [1.5, None, 2.0, 2.0]),
    (pd.Series([True, None, False, True], dtype=object), [True, None, False, True]),
    *((DAYS.astype(kind), DAYS.dt.to_pydatetime().tolist()) for kind in ("datetime64[ns]", "datetime64[s]")),
    (DAYS.dt.tz_localize("Europe/Berlin"), DAYS.dt.tz_localize("Europe/Berlin").dt.to_pydatetime().tolist()),
    (DAYS.dt.date, DAYS.dt.date.tolist()),
    (DAYS.dt.to_period("M").dt.start_time, [datetime(2026, month, 1) for month in (4, 5, 6, 7)]),
    (pd.cut(pd.Series([1, 3]), [0, 2, 4]).astype(str), ["(0, 2]", "(2, 4]"]),
    *((pl.Series([1, 2, None], dtype=kind), [1, 2, None]) for kind in (pl.Int8, pl.UInt16, pl.UInt32, pl.Int32)),
    *((pl.Series([0.1, 2.0, None], dtype=kind), [0.1, 2.0, None]) for kind in (pl.Float16, pl.Float32)),
    *((pl.Series([0.1, float("nan"), -0.0], dtype=kind), [0.1, None, 0.0]) for kind in (pl.Float32, pl.Float64)),
    *((pl.Series(TWO_HOURS, dtype=pl.Datetime(unit)), TWO_HOURS) for unit in ("ms", "us", "ns")),
    *((pl.Series([timedelta(1), None], dtype=pl.Duration(unit)), [timedelta(1), None]) for unit in ("ms", "us", "ns")),
    *((pl.Series(ends), ends) for ends in ([date.min, date.max], [datetime.min, datetime.max])),
    (pl.Series([None, None]), [None, None]),
]


def grouped(column):
    """The groups of a column in a saved state, in their order."""
    rows = 4 if not hasattr(column, "__len__") else len(column)
    rows = 3 if hasattr(column, "__dataframe__") or type(column).__name__ in ("Tensor", "Both") else rows
    acc = sm.Accumulator(y_true="y", by="g").update({"y": [0] * rows, "g": column})
    return sm.Accumulator.from_bytes(acc.to_bytes()).finalize(["rows"]).frame.select("g", "value").rows()


@pytest.mark.thorough
def test_a_column_of_any_library_is_its_values():
    for column, values in COLUMNS:
        assert grouped(column) == grouped(pl.Series(values, strict=False)), (type(column), values)


FAMILIES = [  # parts of a column whose types differ from batch to batch, and the groups of all
    (
        [pl.Series([0.1, 0.3, 16777216.0, -0.0, None], dtype=kind) for kind in (pl.Float32, pl.Float64)]
        + [pl.Series([0.1, 0.3], dtype=pl.Float16), pl.Series([0, 16777216])],
        [0.0, 0.1, 0.3, 16777216.0, None],
    ),
    (
        [
            pl.Series([Decimal("1.50"), Decimal(2)], dtype=pl.Decimal(10, 2)),
            pl.Series([Decimal("1.500"), Decimal("2.125")]),
            pl.Series([Decimal(10) ** 30, None], dtype=pl.Decimal(38, 0)),
        ],
        [Decimal("1.5"), Decimal(2), Decimal("2.125"), Decimal(10) ** 30, None],
    ),
    (
        [pl.Series([None, None], dtype=pl.Null), pl.Series([1, 2], dtype=pl.Int8), pl.Series([1, 3], dtype=pl.UInt32)],
        [1, 2, 3, None],
    ),
]


@pytest.mark.thorough
@pytest.mark.whole
@pytest.mark.parametrize(("parts", "groups"), FAMILIES, ids=["floats", "decimals", "integers"])
def test_types_that_differ_between_batches_are_brought_together_in_any_order(parts, groups):
    def updated(acc, part):
        return acc.update(pl.DataFrame({"y": [1] * len(part), "g": part}))

    task = sm.Accumulator(y_true="y", by="g", metrics=["rows"])
    states = [updated(task.empty(), part) for part in parts]
    wanted = sm.merge(states)
    assert wanted.finalize().frame["g"].to_list() == groups
    for order in permutations(range(len(parts))):
        assert sm.merge(states[i] for i in order).to_bytes() == wanted.to_bytes()
        in_turn, one_by_one = task.empty(), task.empty()
        for i in order:
            updated(in_turn, parts[i])
            for row in range(len(parts[i]) if order[0] == 1 else 0):
                updated(one_by_one, parts[i][row : row + 1])
        assert in_turn.to_bytes() == wanted.to_bytes()
        assert order[0] != 1 or one_by_one.finalize().frame["g"].to_list() == groups


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_floats_of_any_bits_are_written_as_numpy_does(dtype):
    bits = {np.float16: np.uint16, np.float32: np.uint32}[dtype]
    values = np.random.default_rng(1).integers(0, 2 ** (8 * dtype().itemsize), 500).astype(bits).view(dtype)
    values = values[np.isfinite(values) & (values != 0)]
    acc = sm.binary(y_true="y", y_pred="y", by="g").update({"y": [1] * len(values), "g": values})
    assert acc.finalize(["rows"]).frame["g"].to_list() == sorted({float(str(value)) for value in values})


def test_labels_of_32_bits_are_the_numbers_that_were_written():
    labels = np.array([0.1, 0.2], dtype=np.float32)
    for declared in (labels, [0.1, 0.2], None):
        options = {} if declared is None else {"labels": declared}
        acc = sm.multiclass(y_true="y", y_pred="p", **options).update({"y": labels, "p": labels.astype(float).round(1)})
        assert acc.finalize()["accuracy"].value == 1


def test_expressions_of_far_dates_and_of_bytes():
    far = pl.DataFrame({"y": [1], "p": [0.1], "g": pl.Series([2**30], dtype=pl.Int32).cast(pl.Date)})
    with pytest.raises(sm.errors.ColumnError, match="'g'"):
        sm.binary(y_true="y", y_score="p", by=pl.col("g").dt.truncate("1mo")).update(far)
    raw = {"y": [1, 0], "p": [0.9, 0.2], "g": [b"a", b"\xff\x00"]}
    by_text = sm.binary(y_true="y", y_score="p", by=pl.col("g").bin.encode("hex")).update(raw)
    assert by_text.finalize().rows("rows")["g"].to_list() == ["61", "ff00"]
    assert sm.binary(y_true="y", y_score="p", unit="g").update(raw).finalize()["rows"].value == 2


WRAPS = {
    "arrays": dict,
    "Polars": pl.DataFrame,
    "Arrow": lambda d: pa.table({k: pa.array(v) for k, v in d.items()}),
    "pandas": pd.DataFrame,
    "pandas without a copy": lambda d: pd.DataFrame(d, copy=False),
    "Polars of pandas": lambda d: pl.from_pandas(pd.DataFrame(d)),
}


@pytest.mark.parametrize("times", [2, 1])
def test_held_batches_share_no_memory(times):
    for wrap in WRAPS.values():
        columns = {"y": np.array([1, 0, 1]), "p": np.array([0.9, 0.8, 0.1]), "g": np.array([1, 2, 3])}
        acc, expected = (sm.binary(y_true="y", y_score="p", by="g") for _ in range(2))
        for _ in range(times):
            acc.update(wrap(columns))
            expected.update({k: v.tolist() for k, v in columns.items()})
        for values in columns.values():
            values[:] = 0
        assert acc.to_bytes() == expected.to_bytes()
