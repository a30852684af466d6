"""Saved states: round trips, states added up by other programs, and files that mean harm."""

import ast
import json
import math
import os
import random
import warnings
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from formats import of_format_1
from polars.testing import assert_frame_equal

import streammetrics as sm
from streammetrics.engines.tables import plain, restored
from streammetrics.state import header as headers
from streammetrics.state import saved as saved_form
from streammetrics.state import storage
from streammetrics.state.header import KEY

rng = np.random.default_rng(0)
SIZE = 300
DATA = pl.DataFrame(
    {
        "y": rng.random(SIZE) < 0.4,
        "p": rng.random(SIZE),
        "q": rng.random(SIZE),
        "w": rng.random(SIZE) + 0.1,
        "g": pl.Series(["DE", "FR", None]).gather(rng.integers(0, 3, SIZE)),
        "k": pl.Series(["a", "b", "c"]).gather(rng.integers(0, 3, SIZE)),
        "l": pl.Series([3, 5, 8]).gather(rng.integers(0, 3, SIZE)),
        "day": pl.Series(["2024-01-01", "2024-02-29"]).str.to_date().gather(rng.integers(0, 2, SIZE)),
        "u": rng.integers(0, 60, SIZE),
    }
).with_columns(pb=(1 - pl.col("p")) * pl.col("q"), pc=(1 - pl.col("p")) * (1 - pl.col("q")))
SCORES = {"a": "p", "b": "pb", "c": "pc"}
LEVELS = dict(zip(np.array([3, 5, 8]), SCORES.values(), strict=True))
TASKS = {
    "plain": lambda: sm.binary(y_true="y", y_score="p"),
    "coarse": lambda: sm.binary(y_true="y", y_score="p", capacity=80, atoms=(0.5,)),
    "grouped": lambda: sm.binary(y_true="y", y_score="p", by="g", capacity=16),
    "models": lambda: sm.binary(y_true="y", y_score={"a": "p", "b": "q"}, by="g"),
    "weighted": lambda: sm.binary(y_true="y", y_score="p", sample_weight="w"),
    "labels": lambda: sm.Accumulator(sm.ConfusionCounts(()), y_true="y", y_pred="y", positive=True, metrics=["f1"]),
    "days": lambda: sm.multiclass(y_true="day", y_pred="day", by="g"),
    "ordered": lambda: sm.multiclass(y_true="l", y_pred="l", order=[8, 3, 5], sample_weight="w"),
    "classes": lambda: sm.multiclass(y_true="k", y_score=SCORES, by="g", capacity=16, one_vs_one=True),
    "integer classes": lambda: sm.multiclass(y_true="l", y_score=LEVELS),
    "class models": lambda: sm.multiclass(y_true="k", y_pred={"m": "k"}, y_score={"m": SCORES}, labels=["c", "a", "b"]),
    "several labels": lambda: sm.multilabel(y_true={True: "y", False: "y"}, y_score={False: "p", True: "q"}, by="g"),
    "regression": lambda: sm.regression(y_true="p", y_pred="q", by="g", capacity=16, families=["log", "poisson"]),
    "weighted regression": lambda: sm.regression(y_true="p", y_pred={"a": "q", "b": "w"}, sample_weight="w"),
    "units": lambda: sm.regression(y_true="p", y_pred="q", by="g", unit="u", capacity=16),
    "values": lambda: sm.Accumulator(sm.Histogram(16, atoms=(), of="y_true"), task="regression", y_true="w"),
    "digest": lambda: sm.Accumulator(sm.TDigest(compression=50), y_true="p", y_pred="q", unit="u"),
}
task = pytest.mark.parametrize("make", TASKS.values(), ids=TASKS.keys())


@pytest.fixture
def table():
    return TASKS["grouped"]().update(DATA).to_arrow()


@pytest.fixture
def classes():
    return TASKS["classes"]().update(DATA).to_arrow()


@task
@pytest.mark.parametrize("rows", [0, SIZE])
def test_round_trips(make, rows, tmp_path):
    acc = make().update(DATA[:rows])
    frame = acc.finalize().frame
    for path in (tmp_path / "state", tmp_path / "state.arrow"):
        acc.save(path)
        loaded = sm.Accumulator.load(path)
        assert loaded.to_bytes() == acc.to_bytes()
    assert loaded.finalize().frame.equals(frame)
    assert sm.Accumulator.from_arrow(acc.to_arrow()).to_bytes() == acc.to_bytes()


def test_metadata_says_what_it_is(table):
    header = json.loads(table.schema.metadata[b"streammetrics"])
    assert header["format"] == 2
    assert header["version"] == sm.__version__
    assert header["columns"]["by"] == ["g"]
    assert [s["name"] for s in header["statistics"]] == table.column_names[1:]


def test_states_put_together_add_up():
    parts = [TASKS["grouped"]().update(part) for part in (DATA[:100], DATA[100:])]
    together = pa.concat_tables([p.to_arrow() for p in parts])
    assert (
        sm.Accumulator.from_arrow(together)
        .finalize(["roc_auc"])
        .frame.equals((parts[0] + parts[1]).finalize(["roc_auc"]).frame)
    )


def test_cells_summed_by_sql_are_brought_back_to_the_capacity(tmp_path):
    parts = [TASKS["grouped"]().update(part) for part in (DATA[:20], DATA[20:])]
    for n, part in enumerate(parts):
        part.save(tmp_path / f"{n}.state")
    columns = {"row_counts": [], "confusion_counts": ["threshold"], "score_histogram": ["shift", "bin"]}
    columns |= {"probability_loss": ["actual"], "calibration_bins": ["bin"]}
    total = parts[0].to_arrow()
    sums = []
    for name, keys in columns.items():
        cell = total.schema.field(name).type.value_type
        fields = ", ".join(
            f"c.{f.name}" if f.name in keys else f"sum(c.{f.name})::{sql(f.type)} AS {f.name}" for f in cell
        )
        cells = f"SELECT g, unnest({name}) AS c FROM read_parquet('{tmp_path}/*.state')"
        struct = ", ".join(f"{f.name} := {f.name}" for f in cell)
        grouped = f"SELECT g, {fields} FROM ({cells}) GROUP BY g {''.join(f', c.{k}' for k in keys)}"
        sums.append(f"(SELECT g, list(struct_pack({struct})) AS {name} FROM ({grouped}) GROUP BY g)")
    joined = (
        sums[0]
        + " a0"
        + "".join(f" JOIN {s} a{n} ON a0.g IS NOT DISTINCT FROM a{n}.g" for n, s in enumerate(sums[1:], 1))
    )
    found = duckdb.sql(f"SELECT a0.g, {', '.join(columns)} FROM {joined}").to_arrow_table()
    loaded = sm.Accumulator.from_arrow(found.cast(total.schema))
    metrics = ["rows", "roc_auc", "precision", "log_loss", "ece"]
    expected = (parts[0] + parts[1]).finalize(metrics).frame
    assert_frame_equal(loaded.finalize(metrics).frame, expected, rel_tol=1e-12)


def sql(kind):
    return {"int64": "BIGINT", "decimal128(38, 18)": "DECIMAL(38, 18)"}[str(kind)]


def load_or_refuse(content):
    """Loading either works or ends in a StateError."""
    try:
        return sm.Accumulator.from_bytes(content)
    except sm.StateError:
        return None


@task
def test_truncated_bytes_are_refused(make):
    content = make().update(DATA).to_bytes()
    for end in range(0, len(content) - 16, len(content) // 23):
        assert load_or_refuse(content[:end]) is None


@task
@pytest.mark.parametrize("name", ["state", "state.arrow"])
def test_truncated_files_are_refused(make, name, tmp_path):
    path = tmp_path / name
    make().update(DATA).save(path)
    content = path.read_bytes()
    for part in range(20):
        path.write_bytes(content[: len(content) * part // 20])
        with pytest.raises(sm.StateError, match=name):
            sm.Accumulator.load(path)


def broken(content, count):
    """Copies with a few bits flipped."""
    chance = random.Random(0)
    for _ in range(count):
        copy = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            copy[chance.randrange(len(copy))] ^= 1 << chance.randrange(8)
        yield bytes(copy)


def finalized(loaded):
    if loaded is not None:
        return loaded.finalize(["roc_auc", "log_loss"]).frame
    return None


def finalized_classes(loaded):
    if loaded is not None:
        return loaded.finalize(["accuracy", "f1(average=macro)", "roc_auc(average=micro)", "roc_auc_ovo"]).frame
    return None


@pytest.mark.parametrize(
    "task", ["weighted", *(pytest.param(t, marks=pytest.mark.thorough) for t in ("ordered", "weighted regression"))]
)
def test_null_and_nan_cells_are_refused_or_saved_as_they_were_read(task):
    table = TASKS[task]().update(DATA[:40]).to_arrow()
    frame, read = pl.DataFrame(table), 0
    for name, kind in frame.schema.items():
        for field in kind.inner.fields if isinstance(kind, pl.List) else []:
            for value in [None, math.nan][: 1 + field.dtype.is_float()]:
                cell = pl.element().struct.with_fields(pl.lit(value, field.dtype).alias(field.name))
                forged = frame.with_columns(pl.col(name).list.eval(cell)).to_arrow().cast(table.schema)
                try:
                    loaded = sm.Accumulator.from_arrow(forged.replace_schema_metadata(table.schema.metadata))
                except sm.StateError:
                    continue
                read += 1
                assert sm.Accumulator.from_bytes(loaded.to_bytes()).to_bytes() == loaded.to_bytes()
                if value is not None:
                    assert repr(loaded.to_arrow().to_pylist()) == repr(forged.to_pylist())
    assert read


@pytest.mark.parametrize(("task", "read"), [("grouped", finalized), ("classes", finalized_classes)])
def test_flipped_bits_never_crash(task, read):
    for content in broken(TASKS[task]().update(DATA[:40]).to_bytes(), 300):
        read(load_or_refuse(content))


@pytest.mark.parametrize("name", ["state", "state.arrow"])
def test_flipped_bits_of_files_never_crash(name, tmp_path):
    path = tmp_path / name
    TASKS["grouped"]().update(DATA[:40]).save(path)
    for content in broken(path.read_bytes(), 150):
        path.write_bytes(content)
        try:
            loaded = sm.Accumulator.load(path)
        except sm.StateError:
            continue
        finalized(loaded)


@pytest.mark.parametrize("name", ["missing", "folder", "empty", "text", "foreign.parquet", "foreign.arrow", "cut"])
def test_files_that_are_no_state(name, tmp_path):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif name == "empty":
        path.touch()
    elif name == "text":
        path.write_text("a,b\n1,2\n")
    elif name == "foreign.parquet":
        DATA.write_parquet(path)
    elif name == "foreign.arrow":
        DATA.write_ipc(path)
    elif name == "cut":
        TASKS["plain"]().update(DATA).save(path)
        path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(sm.StateError, match=name):
        sm.Accumulator.load(path)


def with_header(table, **changes):
    header = json.loads(table.schema.metadata[KEY]) | changes
    header = {k: v for k, v in header.items() if v != "gone"}
    return table.replace_schema_metadata({KEY: json.dumps(header).encode()})


def with_columns(table, **changes):
    columns = json.loads(table.schema.metadata[KEY])["columns"] | changes
    return with_header(table, columns=columns)


def with_options(table, name, **options):
    statistics = json.loads(table.schema.metadata[KEY])["statistics"]
    changed = [s | {"options": s["options"] | options} if s["name"] == name else s for s in statistics]
    return with_header(table, statistics=changed)


def with_cell(table, statistic, **values):
    frame = pl.DataFrame(pl.from_arrow(table))
    cell = pl.element().struct.with_fields(**{k: pl.lit(v, dtype_of(frame, statistic, k)) for k, v in values.items()})
    changed = frame.with_columns(pl.col(statistic).list.eval(cell)).to_arrow()
    return changed.cast(table.schema.remove_metadata()).replace_schema_metadata(table.schema.metadata)


def with_type(table, statistic, kind):
    """A state whose sums of a statistic have another type."""
    cell = pl.element().struct.with_fields(pl.element().struct.field("^.*_sum$").cast(kind))
    changed = pl.DataFrame(table).with_columns(pl.col(statistic).list.eval(cell)).to_arrow()
    return changed.replace_schema_metadata(table.schema.metadata)


def dtype_of(frame, statistic, field):
    return frame.schema[statistic].inner.to_schema()[field]


def with_column(table, name, value):
    position = table.column_names.index(name)
    return table.set_column(position, name, pa.array([value] * len(table), table.schema.field(name).type))


def without_first_statistic(table):
    statistics = json.loads(table.schema.metadata[KEY])["statistics"]
    return with_header(table, statistics=statistics[1:]).drop_columns("row_counts")


HARM = {
    "no metadata": (lambda t: t.replace_schema_metadata(None), "[Nn]ot a (streammetrics )?state"),
    "no json": (lambda t: t.replace_schema_metadata({KEY: b"{"}), "cannot be read"),
    "a list": (lambda t: t.replace_schema_metadata({KEY: b"[]"}), "has no format"),
    "newer": (lambda t: with_header(t, format=3, version="9.9"), "written by streammetrics 9.9.*Upgrade"),
    "no format": (lambda t: with_header(t, format="gone"), "has no format"),
    "odd format": (lambda t: with_header(t, format="1"), "has no format"),
    "no columns": (lambda t: with_header(t, columns="gone"), "'columns' is missing"),
    "no statistics": (lambda t: with_header(t, statistics={}), "'statistics' is missing"),
    "odd metrics": (lambda t: with_header(t, metrics=[1]), "'metrics' is not a list"),
    "odd by": (lambda t: with_columns(t, by="g"), "'columns' is invalid"),
    "extra role": (lambda t: with_columns(t, expressions={}), "'columns' is invalid"),
    "odd role": (lambda t: with_columns(t, y_true=3), "'columns' is invalid"),
    "odd scores": (lambda t: with_columns(t, y_score=["p"]), "'columns' is invalid"),
    "odd nulls": (lambda t: with_columns(t, nulls="eat"), "is invalid"),
    "nested label": (lambda t: with_columns(t, positive={"a": 1}), "'columns' is invalid"),
    "unknown statistic": (
        lambda t: with_header(t, statistics=[{"name": "os.system", "options": {}}]),
        "unknown statistic",
    ),
    "odd statistic": (lambda t: with_header(t, statistics=["rows"]), "unknown statistic"),
    "unknown option": (lambda t: with_options(t, "score_histogram", command="rm"), "is invalid"),
    "small capacity": (lambda t: with_options(t, "score_histogram", capacity=-1), "is invalid"),
    "text capacity": (lambda t: with_options(t, "score_histogram", capacity="9"), "is invalid"),
    "text bins": (lambda t: with_options(t, "calibration_bins", bins="9"), "is invalid"),
    "half bins": (lambda t: with_options(t, "calibration_bins", bins=9.5), "is invalid"),
    "text thresholds": (lambda t: with_options(t, "confusion_counts", thresholds=["x"]), "is invalid"),
    "other thresholds": (lambda t: with_options(t, "confusion_counts", thresholds=[0.1]), "invalid cells"),
    "missing column": (lambda t: t.drop_columns("row_counts"), "must have the columns"),
    "extra column": (lambda t: t.append_column("x", t.column("g")), "must have the columns"),
    "other type": (lambda t: t.set_column(1, "row_counts", t.column("g")), "is of type String"),
    "negative count": (lambda t: with_cell(t, "row_counts", rows=-1), "invalid cells"),
    "null count": (lambda t: with_cell(t, "confusion_counts", tp=None), "invalid cells"),
    "null sum": (lambda t: with_cell(t, "probability_loss", brier_sum=None), "invalid cells"),
    "NaN sum": (lambda t: with_cell(of_format_1(t), "probability_loss", brier_sum=float("nan")), "invalid cells"),
    "infinite sum": (
        lambda t: with_cell(of_format_1(t), "probability_loss", log_loss_sum=float("inf")),
        "invalid cells",
    ),
    "sum beyond decimals": (lambda t: with_cell(of_format_1(t), "calibration_bins", score_sum=1e30), "invalid cells"),
    "a sum of whole numbers": (lambda t: with_type(t, "probability_loss", pl.Int64()), "is of type"),
    "coarse decimals": (lambda t: with_type(t, "probability_loss", pl.Decimal(38, 6)), "is of type"),
    "third class": (lambda t: with_cell(t, "probability_loss", actual=2), "invalid cells"),
    "shift": (lambda t: with_cell(t, "score_histogram", shift=200), "invalid cells"),
    "bin below": (lambda t: with_cell(t, "score_histogram", bin=-5), "invalid cells"),
    "bin above": (lambda t: with_cell(t, "score_histogram", bin=2**63 - 1), "invalid cells"),
    "deep json": (lambda t: t.replace_schema_metadata({KEY: b"[" * 100_000}), "cannot be read"),
    "huge threshold": (lambda t: with_options(t, "confusion_counts", thresholds=[10**400]), "is invalid"),
    "half capacity": (
        lambda t: with_options(t, "score_histogram", capacity=99.5),
        "capacity= must be an integer, got 99.5",
    ),
    "endless capacity": (lambda t: with_options(t, "score_histogram", capacity=float("inf")), "is invalid"),
    "true bins": (
        lambda t: with_options(t, "calibration_bins", bins=True),
        "calibration bins must be an integer of at least 1, got True",
    ),
    "no scores": (lambda t: with_columns(t, y_score={}), "contradict"),
    "no labels": (lambda t: with_columns(t, y_true=[]), "contradict"),
    "scores of any size": (lambda t: with_columns(t, probability=False), "contradict"),
    "no row counts": (
        lambda t: without_first_statistic(t),
        "has no row_counts",
    ),
    "uncounted group": (lambda t: with_column(t, "row_counts", None), "groups without row counts"),
    "null cell": (lambda t: with_column(t, "row_counts", [None]), "invalid cells"),
    "nested group": (lambda t: t.set_column(0, "g", pa.array([[1]] * len(t))), "Group by plain values"),
    "bin number": (lambda t: with_cell(t, "calibration_bins", bin=10), "invalid cells"),
    "more rows than there are": (
        lambda t: with_cell(t, "confusion_counts", tp=10**6),
        "'confusion_counts' contradicts the row counts",
    ),
    "fewer rows than there are": (
        lambda t: with_cell(t, "score_histogram", neg=0),
        "'score_histogram' contradicts the row counts",
    ),
    "no cells": (lambda t: with_column(t, "score_histogram", []), "'score_histogram' contradicts the row counts"),
    "counts that wrap around": (
        lambda t: with_cell(t, "confusion_counts", tp=2**62, fp=2**62),
        "contradicts the row counts",
    ),
    "other losses": (
        lambda t: with_cell(t, "probability_loss", weight=700),
        "'probability_loss' contradicts the row counts",
    ),
    "more rows than can be": (lambda t: with_cell(t, "row_counts", rows=2**62), "invalid cells"),
    "more rows in total": (lambda t: with_cell(t, "row_counts", rows=2**53), "more than 9,007,199,254,740,992 rows"),
    "a score too high": (lambda t: with_cell(t, "calibration_bins", score_sum=1e9), "invalid cells"),
    "a score too low": (lambda t: with_cell(t, "calibration_bins", score_sum=-1.0), "invalid cells"),
    "more positives than rows": (lambda t: with_cell(t, "calibration_bins", pos=10**6), "invalid cells"),
    "a loss too high": (lambda t: with_cell(t, "probability_loss", log_loss_sum=1e9), "invalid cells"),
    "a negative loss": (lambda t: with_cell(t, "probability_loss", brier_sum=-1.0), "invalid cells"),
    "a null bin": (lambda t: with_cell(t, "score_histogram", bin=None), "invalid cells"),
    "a null shift": (lambda t: with_cell(t, "score_histogram", shift=None), "invalid cells"),
    "a null cell of a histogram": (lambda t: with_column(t, "score_histogram", [None]), "invalid cells"),
    "bins without end": (lambda t: with_options(t, "calibration_bins", bins=2**40), "must be at most 1,000,000"),
    "endless whole capacity": (lambda t: with_options(t, "score_histogram", capacity=2**70), "must be at most"),
}


@pytest.mark.parametrize(("harm", "message"), HARM.values(), ids=HARM.keys())
def test_harm_is_refused(table, harm, message):
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(table))


HARM_TO_CLASSES = {
    "number of a label": (
        lambda t: with_cell(t, "score_histogram", label=3),
        "'score_histogram' contains .* invalid cells",
    ),
    "no label": (lambda t: with_cell(t, "calibration_bins", label=None), "invalid cells"),
    "class": (lambda t: with_cell(t, "class_loss", actual=3), "'class_loss' contains .* invalid cells"),
    "rank": (lambda t: with_cell(t, "rank_counts", rank=4), "'rank_counts' contains .* invalid cells"),
    "rank below": (lambda t: with_cell(t, "rank_counts", rank=0), "invalid cells"),
    "class of a pair": (
        lambda t: with_cell(t, "pair_histograms", actual=3),
        "'pair_histograms' contains .* invalid cells",
    ),
    "score of a pair": (lambda t: with_cell(t, "pair_histograms", scored=2**32 - 1), "invalid cells"),
    "bin of a pair": (lambda t: with_cell(t, "pair_histograms", shift=64), "invalid cells"),
    "label": (
        lambda t: with_cell(t, "confusion_matrix", predicted="d"),
        "'confusion_matrix' contains .* invalid cells",
    ),
    "null label": (lambda t: with_cell(t, "confusion_matrix", actual=None), "invalid cells"),
    "count": (lambda t: with_cell(t, "confusion_matrix", count=-1), "invalid cells"),
    "labels of another type": (lambda t: with_columns(t, labels=[1, 2, 3]), "type String, but are declared as Int64"),
    "labels in two types": (
        lambda t: with_labels(t, actual=pl.String, predicted=pl.Int64, labels=["a", "b", "c"]),
        "'confusion_matrix' is of type",
    ),
    "labels in lists": (lambda t: with_labels(t, actual=pl.List(pl.String)), "'confusion_matrix' is of type"),
    "other labels": (lambda t: with_columns(t, labels=["a", "b", "d"]), "invalid cells"),
    "fewer labels": (lambda t: with_columns(t, labels=["a", "b"]), "3 columns for 2 labels"),
    "mixed labels": (lambda t: with_columns(t, labels=["a", 1, True]), "of one type"),
    "equal labels": (lambda t: with_columns(t, labels=["a", "a", "b"]), "is repeated"),
    "null among labels": (lambda t: with_columns(t, labels=["a", None, "b"]), "must not contain null or NaN"),
    "NaN among labels": (lambda t: with_columns(t, labels=[0.5, float("nan"), 1.0]), "must not contain null or NaN"),
    "nested labels": (lambda t: with_columns(t, labels=[["a"], ["b"], ["c"]]), "'columns' is invalid"),
    "text for labels": (lambda t: with_columns(t, labels="abc"), "'columns' is invalid"),
    "labels not declared": (lambda t: with_columns(t, labels=[]), "Map each label to a column"),
    "another task": (lambda t: with_columns(t, kind="multilabel"), "cannot be used in multilabel tasks"),
    "no task": (lambda t: with_columns(t, kind="several"), "task= must be one of"),
    "two truths": (lambda t: with_columns(t, y_true=["k", "l", "y"]), "y_true= has 3 columns"),
    "two predictions": (lambda t: with_columns(t, y_pred={"": ["k", "l"]}), "y_pred= has 2 columns"),
    "scores without columns": (lambda t: with_columns(t, y_score={"": []}), "y_score= has 0 columns"),
    "models without names": (lambda t: with_columns(t, y_score={"": ["p"], "m": ["q"]}), "model without a name"),
    "order of others": (lambda t: with_options(t, "confusion_matrix", order=["a", "b", "d"]), "orders the labels"),
    "mixed order": (lambda t: with_options(t, "confusion_matrix", order=["a", 1]), "of one type"),
    "fewer pairs": (lambda t: with_cell(t, "pair_histograms", count=0), "'pair_histograms' contradicts the row counts"),
    "more of a rank": (lambda t: with_cell(t, "rank_counts", count=10**6), "'rank_counts' contradicts the row counts"),
    "more of a label": (
        lambda t: with_cell(t, "confusion_matrix", count=10**6),
        "'confusion_matrix' contradicts the row counts",
    ),
    "a loss of a class": (lambda t: with_cell(t, "class_loss", brier_sum=1e6), "invalid cells"),
    "capacity of pairs": (lambda t: with_options(t, "pair_histograms", capacity=7), "capacity= must be at least"),
}


def with_labels(table, labels=None, **kinds):
    """The confusion matrix with labels of other types, as far as they can be cast."""
    frame = pl.DataFrame(pl.from_arrow(table))
    fields = [pl.element().struct.field(c) for c in ("actual", "predicted", "count")]
    cast = [
        pl.lit(None, kinds[c]).alias(c) if c in kinds else f
        for c, f in zip(("actual", "predicted", "count"), fields, strict=True)
    ]
    changed = frame.with_columns(pl.col("confusion_matrix").list.eval(pl.struct(cast))).to_arrow()
    return changed.replace_schema_metadata(table.schema.metadata)


@pytest.mark.parametrize(("harm", "message"), HARM_TO_CLASSES.values(), ids=HARM_TO_CLASSES.keys())
def test_harm_to_classes_is_refused(classes, harm, message):
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(classes))


def test_label_sets_with_a_threshold_that_is_no_number():
    table = TASKS["several labels"]().update(DATA).to_arrow()
    for threshold in ("0.5", None, float("nan")):
        with pytest.raises(sm.StateError, match="threshold= must be a number"):
            sm.Accumulator.from_arrow(with_options(table, "label_sets", threshold=threshold))
    with pytest.raises(sm.StateError, match="Map each label to a column"):
        sm.Accumulator.from_arrow(with_columns(table, labels=[]))


def test_predicted_labels_may_not_be_missing():
    table = TASKS["days"]().update(DATA).to_arrow()
    with pytest.raises(sm.StateError, match="confusion_matrix requires y_pred=, or y_score="):
        sm.Accumulator.from_arrow(with_columns(table, y_pred={}))


@pytest.mark.parametrize("kind", [pl.Int16, pl.UInt8, pl.Int64])
def test_labels_may_come_back_in_another_width(kind):
    acc = sm.multiclass(y_true="l", y_pred="l").update(DATA)
    table = acc.to_arrow()
    frame = pl.DataFrame(pl.from_arrow(table))
    cast = pl.element().struct.with_fields(pl.field(c).cast(kind) for c in ("actual", "predicted"))
    narrow = frame.with_columns(pl.col("confusion_matrix").list.eval(cast)).to_arrow()
    loaded = sm.Accumulator.from_arrow(narrow.replace_schema_metadata(table.schema.metadata))
    assert loaded.to_bytes() == acc.to_bytes()
    assert loaded.update(DATA).to_bytes() == (acc + acc).to_bytes()


def with_float_weights(table, weight):
    """The digest as it was saved when its weights were floats always."""
    cast = pl.element().struct.with_fields(weight=weight.cast(pl.Float64))
    frame = pl.DataFrame(pl.from_arrow(table)).with_columns(pl.col("tdigest").list.eval(cast))
    return frame.to_arrow().replace_schema_metadata(table.schema.metadata)


def test_whole_counts_may_be_stored_as_floats():
    acc = sm.Accumulator(sm.TDigest(), y_true="y", y_pred="p").update({"y": [1.0, 2.0], "p": [1.5, 3.0]})
    loaded = sm.Accumulator.from_arrow(with_float_weights(acc.to_arrow(), pl.field("weight")))
    assert loaded.to_bytes() == acc.to_bytes()
    for weight in (0.5, NAN, float("inf"), 1e300):
        with pytest.raises(sm.StateError, match=r"without weights, but its field 'weight' has 2 fractional values"):
            sm.Accumulator.from_arrow(with_float_weights(acc.to_arrow(), pl.lit(weight)))
    with pytest.raises(sm.StateError, match="invalid cells"):
        sm.Accumulator.from_arrow(with_float_weights(acc.to_arrow(), pl.lit(None)))


@pytest.mark.parametrize("null", [False, True], ids=["missing", "null"])
def test_fields_added_later_are_zero_in_states_without_them(null):
    acc = sm.regression(y_true="y", y_pred="p").update({"y": [0.1, 0.2, 0.4], "p": [0.5, 0.3, 0.1]})
    table = acc.to_arrow()
    frame = pl.DataFrame(pl.from_arrow(table))
    kept = [name for name in frame.schema["error_moments"].inner.to_schema() if not name.endswith("_rest")]
    rests = [pl.lit(None, pl.Float64).alias(f"{side}_mean_rest") for side in ("actual", "predicted")]
    cell = pl.element().struct.with_fields(*rests) if null else pl.struct(pl.element().struct.field(c) for c in kept)
    before = frame.with_columns(pl.col("error_moments").list.eval(cell)).to_arrow()
    for form in (before.replace_schema_metadata(table.schema.metadata), restored(before, acc)):
        loaded = sm.Accumulator.from_arrow(form)
        found, expected = (one.state.tables["error_moments"] for one in (loaded, acc))
        assert found.select("actual_mean_rest", "predicted_mean_rest").row(0) == (0, 0)
        assert found.drop("^.*_rest$").equals(expected.drop("^.*_rest$"))
        assert (loaded + acc).seen == 6


def cell_harm(statistic, **values):
    return lambda t: with_cell(t, statistic, **values), "invalid cells"


def fold_harm(values):
    return lambda t: t.set_column(t.column_names.index("fold"), "fold", values(t)), "folds are not numbers from 0 to 19"


NAN = float("nan")
HARM_OF_ERRORS = {
    "families": (lambda t: with_options(t, "error_moments", families=["log"]), "is of type"),
    "unknown family": (lambda t: with_options(t, "error_moments", families=["logs"]), "Unknown family 'logs'"),
    "text families": (lambda t: with_options(t, "error_moments", families="log"), "is invalid"),
    "nested families": (lambda t: with_options(t, "error_moments", families=[["log"]]), "is invalid"),
    "low power": (lambda t: with_options(t, "error_moments", power=0.5), "at least 1"),
    "text power": (lambda t: with_options(t, "error_moments", power="2"), "is invalid"),
    "negative weight": cell_harm("error_moments", weight=-1.0),
    "NaN weight": cell_harm("error_moments", weight=NAN),
    "infinite weight": cell_harm("error_moments", weight=float("inf")),
    "null mean": cell_harm("error_moments", actual_mean=None),
    "negative moment": cell_harm("error_moments", actual_m2=-1.0),
    "min above max": cell_harm("error_moments", actual_min=1e9),
    "other weight": (lambda t: with_cell(t, "error_moments", weight=5e3), "contradicts the row counts"),
    "mean outside": cell_harm("error_moments", actual_mean=7.0),
    "a loss too high": cell_harm("error_moments", over_sum=1e9),
    "a square too high": cell_harm("error_moments", square_error_sum=1e9),
    "other counts": (
        lambda t: with_cell(t, "error_histogram", count=1.5),
        "'error_histogram' contradicts the row counts",
    ),
    "other centroids": (lambda t: with_cell(t, "tdigest", weight=1.5), "'tdigest' contradicts the row counts"),
    "huge compression": (lambda t: with_options(t, "tdigest", compression=2**40), "at most 1,000,000"),
    "NaN count": cell_harm("error_histogram", count=NAN),
    "negative count": cell_harm("error_histogram", count=-1.0),
    "bin off the lattice": cell_harm("error_histogram", bin=2**63 - 1),
    "bin of another shift": cell_harm("error_histogram", shift=60, bin=2**40),
    "shift": cell_harm("error_histogram", shift=64),
    "probability": (lambda t: with_options(t, "error_histogram", domain="probability"), "real domain"),
    "NaN atom": (lambda t: with_options(t, "error_histogram", atoms=[NAN]), "is invalid"),
    "of": (lambda t: with_options(t, "histogram", of="y_false"), "of= must be one of"),
    "of no column": (lambda t: with_options(t, "histogram", of="y_score"), "contradict"),
    "of another type": (lambda t: with_options(t, "histogram", of=["y_pred"]), "is invalid"),
    "of of a digest": (lambda t: with_options(t, "tdigest", of="error "), "of= must be one of"),
    "compression": (lambda t: with_options(t, "tdigest", compression=-1), "is invalid"),
    "half compression": (lambda t: with_options(t, "tdigest", compression=100.5), "is invalid"),
    "no weight": cell_harm("tdigest", weight=0.0),
    "NaN centroid weight": cell_harm("tdigest", weight=NAN),
    "mean below min": cell_harm("tdigest", mean=-1e9),
    "NaN mean": cell_harm("tdigest", mean=NAN),
    "NaN max": cell_harm("tdigest", max=NAN),
    "all NaN": cell_harm("tdigest", mean=NAN, min=NAN, max=NAN),
    "text fold": fold_harm(lambda t: pa.array(["one"] * len(t))),
    "null fold": fold_harm(lambda t: pa.array([None] * len(t), pa.int64())),
    "half fold": fold_harm(lambda t: pa.array([0.5] * len(t))),
    "negative fold": fold_harm(lambda t: pa.array([-1] * len(t))),
    "high fold": fold_harm(lambda t: pa.array([20] * len(t))),
    "number as unit": (lambda t: with_columns(t, unit=3), "'columns' is invalid"),
    "no unit": (lambda t: with_columns(t, unit=None), "must have the columns"),
    "other task": (lambda t: with_columns(t, kind="binary"), "contradict"),
    "no such task": (lambda t: with_columns(t, kind="forecast"), "task= must be one of"),
}


@pytest.fixture
def errors():
    statistics = sm.ErrorMoments(), sm.ErrorHistogram(16), sm.Histogram(16, of="y_pred"), sm.TDigest(50)
    acc = sm.Accumulator(*statistics, y_true="p", y_pred="q", sample_weight="w", by="g", unit="u")
    return acc.update(DATA).to_arrow()


@pytest.mark.parametrize(("harm", "message"), HARM_OF_ERRORS.values(), ids=HARM_OF_ERRORS.keys())
def test_harm_of_a_regression_is_refused(errors, harm, message):
    assert sm.Accumulator.from_arrow(errors).seen == SIZE
    with pytest.raises(sm.StateError, match=message):
        sm.Accumulator.from_arrow(harm(errors))


def test_flipped_bits_of_a_regression_never_crash():
    for content in broken(TASKS["units"]().update(DATA[:40]).to_bytes(), 200):
        loaded = load_or_refuse(content)
        if loaded is not None:
            loaded.finalize(["r2", "mad", "median_error"], confidence=0.9).frame  # noqa: B018


def test_an_ungrouped_state_has_a_row():
    with pytest.raises(sm.StateError, match="neither groups nor a row"):
        sm.Accumulator.from_arrow(TASKS["plain"]().to_arrow()[:0])


def test_labels_that_json_cannot_hold_are_refused():
    with pytest.raises(sm.SpecificationError, match="Labels must be text"):
        sm.binary(y_true="y", y_score="p", positive=b"\xff").to_bytes()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (sm.binary(y_true="z", y_score="p"), r"y_true: 'y' and 'z'"),
        (sm.binary(y_true="y", y_score="p", by="g"), "by"),
        (sm.binary(y_true="y", y_score="p", nulls="drop"), "nulls"),
        (sm.binary(y_true="y", y_score="p", thresholds=[0.4]), r"thresholds=\(0.5,\).*thresholds=\(0.4,\)"),
        (sm.binary(y_true="y", y_score="p", capacity=8), "capacity=16384.*capacity=8"),
    ],
    ids=range(5),
)
def test_other_specifications_do_not_merge(other, message):
    with pytest.raises(sm.MergeError, match=message):
        TASKS["plain"]() + other


def test_plain_readers_can_read_a_state(tmp_path):
    TASKS["grouped"]().update(DATA).save(tmp_path / "state")
    rows = (
        pl.read_parquet(tmp_path / "state").select(pl.col("row_counts").list.first().struct.field("rows").sum()).item()
    )
    assert rows == SIZE


def test_other_programs_can_read_a_state(tmp_path):
    TASKS["grouped"]().update(DATA).save(tmp_path / "state.parquet")
    rows = duckdb.sql(f"SELECT sum(list_sum([c.rows for c in row_counts])) FROM '{tmp_path}/state.parquet'")
    assert rows.fetchall() == [(SIZE,)]


def test_a_group_column_may_come_back_in_another_width_or_as_a_dictionary():
    acc = TASKS["grouped"]().update(DATA)
    table = acc.to_arrow()
    encoded = table.set_column(0, "g", table["g"].dictionary_encode())
    loaded = sm.Accumulator.from_arrow(encoded)
    assert loaded.to_bytes() == acc.to_bytes()
    assert (loaded + acc).finalize(["rows"]).frame["value"].sum() == 2 * SIZE


@pytest.mark.parametrize("model", ["c", None])
def test_a_model_that_is_not_specified_is_refused(model):
    table = TASKS["models"]().update(DATA).to_arrow()
    other = table.set_column(1, "model", pa.array([model] * len(table), pa.string()))
    with pytest.raises(sm.StateError, match="have a model"):
        sm.Accumulator.from_arrow(other)


@pytest.mark.parametrize("content", ["no bytes", b"", None, 3], ids=str)
def test_what_is_no_content_is_refused(content):
    with pytest.raises(sm.StateError):
        sm.Accumulator.from_bytes(content)
    with pytest.raises(sm.StateError):
        sm.Accumulator.from_arrow(content)


def test_the_names_of_folders_are_no_columns(tmp_path):
    folder = tmp_path / "day=2026-01-01"
    folder.mkdir()
    acc = TASKS["grouped"]().update(DATA)
    acc.save(folder / "a[1].parquet")
    assert sm.Accumulator.load(folder / "a[1].parquet").to_bytes() == acc.to_bytes()


@pytest.mark.parametrize("module", [headers, saved_form, storage], ids=lambda m: m.__name__)
def test_nothing_runs_code_of_a_file(module):
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    modules = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not {"pickle", "marshal", "importlib"} & modules
    assert not {"eval", "exec", "__import__"} & names


@pytest.mark.parametrize("by", [(), "g"], ids=["ungrouped", "grouped"])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_many_files_load_as_one(by, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "FILES", 4)
    task = sm.binary(y_true="y", y_score="p", by=by)
    rng = np.random.default_rng(5)
    parts = [
        task.empty().update({"y": rng.integers(0, 2, 50), "p": rng.random(50), "g": rng.integers(0, 3, 50)})
        for _ in range(6)
    ]
    paths = [tmp_path / f"{i}{suffix}" for i in range(6)]
    for part, path in zip(parts, paths, strict=True):
        part.save(path)
    loaded, merged = sm.Accumulator.load(*paths), sm.merge(parts)
    assert loaded.seen == 300
    assert_frame_equal(loaded.finalize().frame, merged.finalize().frame, rel_tol=1e-12)
    assert loaded.to_arrow()["score_histogram"].equals(merged.to_arrow()["score_histogram"])


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
    with pytest.raises(sm.StateError, match=r"Cannot read '.*bad': .*row_counts"):
        sm.Accumulator.load(good, bad)
    with pytest.raises(sm.MergeError, match="y_score"):
        sm.Accumulator.load(good, other)
    with pytest.raises(sm.MergeError, match="Nothing to merge"):
        sm.Accumulator.load()


def test_only_accumulators_are_merged():
    acc = sm.binary(y_true="y", y_score="p")
    with pytest.raises(sm.MergeError, match="Cannot merge an accumulator with a value of type list"):
        acc.merge([acc])
    with pytest.raises(sm.MergeError, match="Cannot merge an accumulator with a value of type str"):
        sm.merge(["a.state"])


def test_options_of_numpy_are_saved_as_those_of_python():
    options = {"capacity": 64, "calibration_bins": 5, "positive": 1}
    ours, theirs = (
        sm.binary(y_true="y", y_score="p", **{k: number(v) for k, v in options.items()}) for number in (int, np.int64)
    )
    assert theirs.to_bytes() == ours.to_bytes()
    assert sm.Accumulator.from_bytes(theirs.to_bytes()).merge(ours).seen == 0


def test_sets_of_labels_keep_to_their_rows():
    table = TASKS["several labels"]().update(DATA).to_arrow()
    for harm in ({"exact_match": 10**6}, {"label_errors": 10**6}, {"label_decisions": 10**6}, {"jaccard_sum": 1e6}):
        with pytest.raises(sm.StateError, match=r"'label_sets' contains .* invalid cells"):
            sm.Accumulator.from_arrow(with_cell(table, "label_sets", **harm))


def test_a_merge_of_more_rows_than_can_be_counted_is_refused_and_changes_nothing():
    acc = sm.Accumulator(sm.RowCounts(), y_true="y").update({"y": [1, 0]})
    huge = sm.Accumulator.from_arrow(with_cell(acc.to_arrow(), "row_counts", rows=2**53))
    acc.absorb(huge)
    for refused in (lambda: acc.absorb(huge), lambda: acc + huge, lambda: sm.merge([huge, huge])):
        with pytest.raises(sm.MergeError, match=r"more than 9,007,199,254,740,992 rows in total"):
            refused()
    assert acc.seen == 2**53 + 2


@pytest.mark.parametrize("weight", [1e-300, 0.1, 1e270])
def test_weights_of_any_size_agree_with_themselves(weight):
    rows = DATA.with_columns(w=weight * (1 + pl.int_range(pl.len()) / 7))
    acc = sm.binary(y_true="y", y_score="p", sample_weight="w", by="g").update(rows)
    assert sm.Accumulator.from_bytes(acc.to_bytes()).seen == SIZE


@pytest.mark.parametrize("score", [0.0, 5e-324, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("label", [0, 1])
def test_losses_of_scores_at_the_ends_agree_with_themselves(label, score):
    labels = sm.multiclass(y_true="y", y_score={0: 1 - pl.col("p"), 1: "p"})
    for acc in (sm.binary(y_true="y", y_score="p"), labels):
        acc.update({"y": [label] * 3, "p": [score] * 3})
        again = sm.Accumulator.from_bytes(acc.to_bytes()).finalize()
        assert again["log_loss"] == acc.finalize()["log_loss"]


@pytest.mark.parametrize("offset", [0.0, 1e12, -1e300])
def test_moments_of_any_size_agree_with_themselves(offset):
    acc = sm.regression(y_true=pl.col("p") + offset, y_pred=pl.col("q") + offset, by="g").update(DATA)
    assert sm.Accumulator.from_bytes((acc + acc).to_bytes()).seen == 2 * SIZE


def test_a_small_file_that_would_fill_the_memory_is_refused(tmp_path):
    acc = sm.Accumulator(sm.RowCounts(), y_true="y", by="g").update({"y": [1], "g": [3]})
    table, rows = acc.to_arrow(), 20_000_000
    cells = pa.StructArray.from_arrays([pa.repeat(1, rows), pa.repeat(0, rows)], names=["rows", "dropped"])
    lists = pa.LargeListArray.from_arrays(pa.array([0, rows], pa.int64()), cells)
    pq.write_table(table.set_column(1, "row_counts", lists), tmp_path / "bomb", compression="zstd")
    assert (tmp_path / "bomb").stat().st_size < 100_000
    with pytest.raises(sm.StateError, match=r"bomb': the file has .* bytes, but would take 320,000,\d+ in memory"):
        sm.Accumulator.load(tmp_path / "bomb")


@pytest.mark.parametrize(
    "make",
    [
        lambda: sm.CalibrationBins(bins=2**40),
        lambda: sm.ScoreHistogram(capacity=2**70),
        lambda: sm.TDigest(compression=2**40),
        lambda: sm.ConfusionCounts(thresholds=np.arange(1_000_001)),
    ],
)
def test_sizes_have_a_limit(make):
    with pytest.raises(sm.SpecificationError, match=r"must be at most [\d,]+, got \d+"):
        make()


def test_a_folder_and_a_glob_are_loaded_without_what_is_hidden(tmp_path):
    acc = TASKS["grouped"]().update(DATA)
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
    acc = TASKS["grouped"]().update(DATA)
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
    with pytest.raises(sm.StateError, match=r"Cannot read .*Permission denied: .*private"):
        sm.Accumulator.load(tmp_path)


def test_a_file_that_is_given_twice_is_not_counted_twice(tmp_path):
    acc, path = TASKS["grouped"]().update(DATA), tmp_path / "a.state"
    acc.save(path)
    (tmp_path / "link").symlink_to(path)
    for sources in ([path, path], [path, tmp_path / "*.state"], [tmp_path], [path, tmp_path / "." / "link"]):
        with pytest.raises(sm.StateError, match=r"a.state' is given 2 times, so its rows would be counted 2 times"):
            sm.Accumulator.load(*sources)


def test_a_link_to_a_file_that_is_gone_is_not_skipped(tmp_path):
    TASKS["grouped"]().update(DATA).save(tmp_path / "a.state")
    (tmp_path / "b.state").symlink_to("gone")
    for source in (tmp_path, tmp_path / "*.state"):
        with pytest.raises(sm.StateError, match=r"Cannot read .*b.state': file not found"):
            sm.Accumulator.load(source)


def test_an_empty_path_is_not_the_current_folder(tmp_path, monkeypatch):
    TASKS["grouped"]().update(DATA).save(tmp_path / "a.state")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sm.StateError, match=r"a path must not be empty. Pass '.' for the current folder"):
        sm.Accumulator.load("")
    assert sm.Accumulator.load(".").seen == DATA.height


@pytest.mark.parametrize("source", [None, 5, "no/such/file", "no*such", "a\0b"], ids=repr)
def test_what_is_no_file_is_refused(source):
    with pytest.raises(sm.StateError, match="Cannot read"):
        sm.Accumulator.load(source)


def test_files_as_spark_writes_them_are_loaded(tmp_path):
    acc = TASKS["grouped"]().update(DATA)
    table = plain(acc.to_arrow())
    header = table.schema.metadata[KEY].decode()
    fields = [{"name": "g", "type": "string", "nullable": True, "metadata": {"streammetrics": header}}]
    table = table.replace_schema_metadata({storage.SPARK: json.dumps({"type": "struct", "fields": fields})})
    pq.write_table(table[:1], tmp_path / "part-00000.parquet")
    pq.write_table(table[1:], tmp_path / "part-00001.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sm.Accumulator.load(tmp_path).to_bytes() == acc.to_bytes()
